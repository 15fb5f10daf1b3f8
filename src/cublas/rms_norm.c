/* SPDX-License-Identifier: MIT */
#include "cublas/rms_norm.h"

#include "base/error.h"
#include "common/args.h"
#include "cublas/build.h"

#define FEWEST 32       /* fewest threads: a warp */
#define MOST   1024
#define PIECE  8        /* elements per thread: 16 bytes */

gs_status gs_rms_norm_open(gs_rms_norm *norm, gs_device *device, gs_type type, bool rounds, gs_error *error)
{
    static const char *const headers[] = {"common/args.h", "common/block.cuh", "common/convert.cuh", "common/piece.cuh"};
    const gs_definition definitions[] = {{"GS_OUT", (int)type}, {"NORM_ROUNDS", rounds}};
    gs_function_info info;
    int dependent;
    *norm = (gs_rms_norm){.device = device};
    GS_TRY(gs_device_dependent(&dependent, error));
    norm->chains = dependent >= 0 && gs_device_is_programmatic(device);
    GS_TRY(gs_cublas_build(device, "rms_norm.cu", headers, GS_COUNT(headers), definitions, GS_COUNT(definitions), &norm->module, error));
    return device->ops->function(device, norm->module, "gs_rms_norm", &norm->function, &info, error);
}

void gs_rms_norm_close(gs_rms_norm *norm)
{
    if (norm->module) norm->device->ops->unload(norm->device, norm->module);
    *norm = (gs_rms_norm){0};
}

gs_status gs_rms_norm_run(const gs_rms_norm *norm, int64_t m, int64_t n, const void *x, int64_t ldx, const void *weight, float offset, float eps, void *result, gs_queue queue, gs_error *error)
{
    const gs_device_ops *const ops = norm->device->ops;
    uint32_t threads = FEWEST;
    while (threads < MOST && (int64_t)threads * PIECE < n) threads *= 2;
    const gs_predecessor before = norm->chains && ops->predecessor ? ops->predecessor(norm->device, queue) : GS_PREDECESSOR_UNKNOWN;
    gs_kernel_args args = {.a = x, .b = weight, .d = result, .lda = ldx, .ldd = n, .m = (int)m, .n = (int)n, .alpha = eps, .beta = offset};
    const gs_launch launch = {.function = norm->function, .grid = {(uint32_t)m, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1}, .dependent = true,
                              .mode = before == GS_PREDECESSOR_TRIGGERS ? GS_LAUNCH_DEPENDENT : GS_LAUNCH_AS_DEVICE, .params = (void *[]){&args}};
    GS_TRY(ops->launch(norm->device, &launch, queue, error));
    if (before != GS_PREDECESSOR_UNKNOWN && ops->triggers) ops->triggers(norm->device, queue);
    return GS_OK;
}

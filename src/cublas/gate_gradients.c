/* SPDX-License-Identifier: MIT */
#include "cublas/gate_gradients.h"

#include "base/error.h"
#include "common/args.h"
#include "cublas/build.h"

#define THREADS 128
#define PIECE   8       /* elements per thread: 16 bytes */
#define HIGHEST 65535   /* limit of a grid's y dimension */

gs_status gs_gate_gradients_open(gs_gate_gradients *gates, gs_device *device, gs_type type, gs_activation activation, gs_error *error)
{
    static const char *const headers[] = {"common/args.h", "common/convert.cuh", "common/epilogue.cuh", "common/piece.cuh"};
    const gs_definition definitions[] = {{"GS_OUT", (int)type}, {"GATE_ACTIVATION", (int)activation}};
    gs_function_info info;
    *gates = (gs_gate_gradients){.device = device};
    GS_TRY(gs_cublas_build(device, "gate_gradients.cu", headers, GS_COUNT(headers), definitions, GS_COUNT(definitions), &gates->module, error));
    return device->ops->function(device, gates->module, "gs_gate_gradients", &gates->function, &info, error);
}

void gs_gate_gradients_close(gs_gate_gradients *gates)
{
    if (gates->module) gates->device->ops->unload(gates->device, gates->module);
    *gates = (gs_gate_gradients){0};
}

gs_status gs_gate_gradients_run(const gs_gate_gradients *gates, int64_t m, int64_t n, const void *gradient, const void *kept, void *result, gs_queue queue, gs_error *error)
{
    const int64_t pieces = (n + PIECE - 1) / PIECE;
    uint32_t wide = 1;
    while (wide < THREADS && wide < pieces) wide *= 2;
    const uint32_t high = THREADS / wide;
    gs_kernel_args args = {.a = kept, .c = gradient, .d = result, .lda = 2 * n, .ldc = n, .ldd = 2 * n, .m = (int)m, .n = (int)n};
    const gs_launch launch = {.function = gates->function, .grid = {(uint32_t)((pieces + wide - 1) / wide), (uint32_t)GS_MIN((m + high - 1) / high, HIGHEST), 1}, .block = {wide, high, 1},
                              .cluster = {1, 1, 1}, .params = (void *[]){&args}};
    return gates->device->ops->launch(gates->device, &launch, queue, error);
}

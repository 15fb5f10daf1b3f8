/* SPDX-License-Identifier: MIT */
#include "cublas/finishing.h"

#include "base/error.h"
#include "common/args.h"
#include "cublas/build.h"
#include "kernel/kernel.h"
#include "problem/layout.h"

#define THREADS   128
#define MOST_SUMS 512    /* most rows of partial column sums: 64 for each thread that adds them up */

gs_status gs_finishing_open(gs_finishing *finishing, gs_device *device, const gs_problem *problem, gs_error *error)
{
    static const char *const headers[] = {"common/args.h", "common/block.cuh", "common/convert.cuh", "common/dbias.cuh", "common/epilogue.cuh", "common/piece.cuh"};
    const gs_definition definitions[] = {
        {"GS_OUT", (int)problem->out}, {"GS_BETA", problem->residual || (problem->scales && problem->beta != 0)}, {"GS_BIAS", gs_adds_bias(problem) ? (int)problem->bias : 0},
        {"GS_ACTIVATION", (int)problem->activation}, {"GS_RESIDUAL", (int)problem->residual}, {"GS_GATE", (int)problem->gate}, {"GS_AUX", (int)problem->aux}, {"GS_DBIAS", problem->bias == GS_DBIAS},
        {"GS_WIDE", gs_finishing_type(problem) != problem->out}, {"GS_SCALES", (int)problem->scales}, {"GS_MORE", 1}, {"GS_STRIDES", 1},
    };
    const unsigned wants = gs_problem_wants(problem);
    const int left_out = wants & GS_WANTS_STRIDES ? 0 : wants & (GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_SCALES) ? 1 : 2;   /* last definitions, not needed by this kernel */
    gs_function_info info;
    *finishing = (gs_finishing){.device = device, .problem = *problem};
    GS_TRY(gs_cublas_build(device, "finish.cu", headers, GS_COUNT(headers), definitions, (int)GS_COUNT(definitions) - left_out, &finishing->module, error));
    if (problem->bias == GS_DBIAS) GS_TRY(device->ops->function(device, finishing->module, "gs_column_sums", &finishing->sums, &info, error));
    return device->ops->function(device, finishing->module, "gs_finish", &finishing->function, &info, error);
}

void gs_finishing_close(gs_finishing *finishing)
{
    if (finishing->module) finishing->device->ops->unload(finishing->device, finishing->module);
    *finishing = (gs_finishing){0};
}

typedef struct shape {
    uint32_t wide, high, blocks_x, blocks_y;   /* threads per block along and across rows; blocks along and across rows */
} shape;

static shape shape_of(const gs_problem *p)
{
    const int64_t elements = 16 / (int64_t)gs_type_size(p->out), pieces = (p->n + elements - 1) / elements, rows = p->m * p->batch;
    shape s = {.wide = 1};
    while (s.wide < THREADS && (int64_t)s.wide < pieces) s.wide *= 2;
    s.high = THREADS / s.wide;
    s.blocks_x = (uint32_t)((pieces + s.wide - 1) / s.wide);
    s.blocks_y = (uint32_t)GS_MIN((rows + s.high - 1) / s.high, p->bias == GS_DBIAS ? MOST_SUMS / s.high : 65535);
    return s;
}

size_t gs_finishing_bytes(const gs_problem *p)
{
    const shape s = shape_of(p);
    return p->bias == GS_DBIAS ? (size_t)s.blocks_y * s.high * (size_t)p->n * sizeof(float) : 0;
}

gs_status gs_finishing_run(const gs_finishing *finishing, const void *product, int64_t ld, int64_t stride, void *sums, const gs_args *args, gs_queue queue, gs_error *error)
{
    const gs_problem *const p = &finishing->problem;
    const shape s = shape_of(p);
    gs_kernel_args own = {
        .a = product, .c = args->c, .d = args->d, .bias = args->bias, .aux = args->aux, .ldaux = gs_shape_of(p, 'g').ld, .stride_aux = gs_shape_of(p, 'g').stride, .lda = ld, .ldc = p->ldc, .ldd = p->ldd, .m = (int)p->m, .n = (int)p->n, .k = (int)(s.blocks_y * s.high), .workspace = sums,
        .batch = (int)p->batch, .alpha = !p->scales ? 1 : args->alpha ? *args->alpha : p->alpha, .scale_m = args->scale_m, .scale_n = args->scale_n, .beta = args->beta ? *args->beta : p->beta,
        .stride_a = stride, .stride_c = gs_shape_of(p, 'c').stride, .stride_d = gs_shape_of(p, 'd').stride, .stride_bias = gs_shape_of(p, 'e').stride,
    };
    const gs_launch launch = {
        .function = finishing->function, .grid = {s.blocks_x, s.blocks_y, 1},
        .block = {s.wide, s.high, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&own},
    };
    GS_TRY(finishing->device->ops->launch(finishing->device, &launch, queue, error));
    if (p->bias != GS_DBIAS) return GS_OK;
    own.batch = 1;
    const gs_launch add = {
        .function = finishing->sums, .grid = {(uint32_t)((p->n + GS_SUM_COLUMNS - 1) / GS_SUM_COLUMNS), 1, 1}, .block = {GS_SUM_COLUMNS, GS_SUM_LANES, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&own},
    };
    return finishing->device->ops->launch(finishing->device, &add, queue, error);
}

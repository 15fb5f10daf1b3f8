/* SPDX-License-Identifier: MIT */
#include "cublas/finishing.h"

#include <stdio.h>

#include "base/error.h"
#include "common/args.h"
#include "kernel/kernel.h"
#include "problem/layout.h"

#define THREADS   128
#define MOST_SUMS 512    /* rows of sums that are left: 64 for each thread that adds them up */

static gs_status load(gs_finishing *finishing, const gs_source *source, gs_error *error)
{
    gs_device *const device = finishing->device;
    GS_TRY(gs_device_build(device, source, &finishing->module, error));
    gs_function_info info;
    if (finishing->problem.bias == GS_DBIAS) GS_TRY(device->ops->function(device, finishing->module, "gs_column_sums", &finishing->sums, &info, error));
    return device->ops->function(device, finishing->module, "gs_finish", &finishing->function, &info, error);
}

gs_status gs_finishing_open(gs_finishing *finishing, gs_device *device, const gs_problem *problem, gs_error *error)
{
    static const char *const headers[] = {"common/args.h", "common/block.cuh", "common/convert.cuh", "common/dbias.cuh", "common/epilogue.cuh", "common/piece.cuh"};
    static const char *const names[] = {"GS_OUT", "GS_BETA", "GS_BIAS", "GS_ACTIVATION", "GS_RESIDUAL", "GS_GATE", "GS_AUX", "GS_DBIAS", "GS_WIDE", "GS_SCALES", "GS_MORE", "GS_STRIDES"};
    const int values[GS_COUNT(names)] = {(int)problem->out, problem->residual || (problem->scales && problem->beta != 0), gs_adds_bias(problem) ? (int)problem->bias : 0, (int)problem->activation, (int)problem->residual, (int)problem->gate, (int)problem->aux, problem->bias == GS_DBIAS,
                                         gs_finishing_type(problem) != problem->out, (int)problem->scales, 1, 1};
    const unsigned wants = gs_problem_wants(problem);
    const int left_out = wants & GS_WANTS_STRIDES ? 0 : wants & (GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_SCALES) ? 1 : 2;   /* the last ones */
    const char *texts[GS_COUNT(headers)], *options[GS_COUNT(names)];
    char option[GS_COUNT(names)][GS_OPTION];
    *finishing = (gs_finishing){.device = device, .problem = *problem};
    for (size_t i = 0; i < GS_COUNT(headers); i++) texts[i] = gs_embedded_find(headers[i]);
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        snprintf(option[i], sizeof option[i], "-D%s=%d", names[i], values[i]);
        options[i] = option[i];
    }
    const gs_source source = {.name = "finish.cu", .text = gs_embedded_find("finish.cu"), .options = options, .option_count = (int)GS_COUNT(options) - left_out,
                              .header_names = headers, .header_texts = texts, .header_count = (int)GS_COUNT(headers)};
    if (!source.text) return gs_fail(error, GS_ERROR_NOT_FOUND, source.name, "kernel source is not part of this build");
    return load(finishing, &source, error);
}

void gs_finishing_close(gs_finishing *finishing)
{
    if (finishing->module) finishing->device->ops->unload(finishing->device, finishing->module);
    *finishing = (gs_finishing){0};
}

typedef struct shape {
    uint32_t wide, high, blocks_x, blocks_y;   /* threads and blocks along a row, and along the rows */
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

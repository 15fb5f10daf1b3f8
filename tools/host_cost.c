/* SPDX-License-Identifier: MIT
 * The host time of a call of the library without the driver: gs_plan_run and gs_gemm with a driver whose launches and tensor map encodings
 * do nothing. Nothing is computed, and no GPU is needed:
 *
 *     GEMMSMITH_LIBCUDA=build/release/tests/fake/libfake_cuda.so host_cost
 *
 * Prints nanoseconds per call, the minimum and the median of 21 rounds of 20000 calls, and how many tensor maps a call encodes, each of which costs
 * about 140 ns in the real driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/clock.h"
#include "bench/stats.h"
#include "device/cuda/cuda.h"
#include "plan/plan_internal.h"

enum { ROUNDS = 21, CALLS = 20000, MOST_SETS = 64, SET_BYTES = 4096 };

static gs_cu_result no_launch(const gs_cu_launch_config *config, gs_cu_function function, void **params, void **extra)
{
    (void)config, (void)function, (void)params, (void)extra;
    return GS_CU_SUCCESS;
}

static long long encoded;

static gs_cu_result no_map(gs_cu_tensor_map *map, gs_cu_tensor_type type, unsigned int rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, gs_cu_tensor_interleave interleave,
                           gs_cu_tensor_swizzle swizzle, gs_cu_tensor_promotion promotion, gs_cu_tensor_fill fill)
{
    (void)type, (void)rank, (void)extents, (void)strides, (void)box, (void)element_strides, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    encoded++;
    map->word[0] = (uint64_t)(uintptr_t)address;
    return GS_CU_SUCCESS;
}

/* Makes launches of the context's device do nothing. */
static void empty_driver(gs_context *context)
{
    static gs_cuda_api empty;
    gs_cuda_device *const cuda = gs_cuda_of(context->device);
    empty = *cuda->api;
    empty.cuLaunchKernelEx = no_launch;
    empty.cuTensorMapEncodeTiled = no_map;
    cuda->api = &empty;
}

static char memory[4][MOST_SETS * SET_BYTES] __attribute__((aligned(256)));

/* Operand sets are contiguous, as an allocator would place them. */
static gs_args args_of(int set)
{
    const size_t at = (size_t)set * SET_BYTES;
    return gs_args_make(memory[0] + at, memory[1] + at, memory[2] + at, memory[3] + at);
}

static void report(const char *name, int sets, double *ns, double maps)
{
    double least = ns[0];
    for (int i = 1; i < ROUNDS; i++) least = ns[i] < least ? ns[i] : least;
    printf("%-44s %3d %8.1f %8.1f %8.2f\n", name, sets, least, gs_median(ns, ROUNDS), maps);
}

/* sets: number of operand sets that calls rotate through. context: time gs_gemm instead of the plan. */
static gs_status measure(gs_plan *plan, gs_context *context, int sets, const char *name)
{
    gs_args args[MOST_SETS];
    double ns[ROUNDS];
    long long before = 0;
    for (int i = 0; i < sets; i++) args[i] = args_of(i);
    for (int round = -1; round < ROUNDS; round++) {
        if (round == 0) before = encoded;
        const int64_t start = gs_clock_ns();
        for (int i = 0, set = 0; i < CALLS; i++, set = set + 1 == sets ? 0 : set + 1) {
            const gs_status status = context ? gs_gemm(context, gs_plan_problem(plan), &args[set], NULL, NULL) : gs_plan_run(plan, &args[set], NULL);
            if (status != GS_OK) return status;
        }
        if (round >= 0) ns[round] = (double)(gs_clock_ns() - start) / CALLS;
    }
    report(name, sets, ns, (double)(encoded - before) / ((double)ROUNDS * CALLS));
    return GS_OK;
}

int main(void)
{
    static const char *const cases[][2] = {
        {"f16:64x256x64:tn", "simple"}, {"f16:64x256x64:tn", "mma/16x32x64/w1x2/s2/g8"}, {"f16:64x256x64:tn", "ws/64x64x64/s4/c1x1/coop/g8"},
        {"f16:64x256x64:tn", "ws/64x64x64/s4/c2x1/coop/g8"},
    };
    static const int sets[] = {1, 2, 8, 32, 64};
    gs_config config = gs_config_default();
    gs_context *context = NULL;
    gs_error error = {0};
    config.device = "cuda:0";
    config.use_cublaslt = 0;
    config.dependent = 1;
    if (gs_open(&context, &config, &error) != GS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%-44s %3s %8s %8s %8s\n", "ns per call", "set", "least", "median", "maps");
    gs_status status = GS_OK;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && status == GS_OK; i++) {
        gs_problem problem;
        gs_plan *plan = NULL;
        char name[128];
        snprintf(name, sizeof name, "gs_plan_run %s", cases[i][1]);
        status = gs_problem_parse(&problem, cases[i][0], &error);
        if (status == GS_OK) status = gs_plan_create_schedule(context, &problem, cases[i][1], &plan, &error);
        if (status == GS_OK) empty_driver(context);
        for (size_t j = 0; j < sizeof sets / sizeof sets[0] && status == GS_OK; j++) status = measure(plan, NULL, sets[j], name);
        gs_plan_destroy(&plan);
    }
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 256, 64);
    gs_plan *plan = NULL;
    if (status == GS_OK) status = gs_plan_create(context, &problem, &plan, &error);
    if (status == GS_OK) status = measure(plan, context, 1, "gs_gemm, its choice");
    if (status != GS_OK) fprintf(stderr, "%s: %s\n", gs_status_string(status), error.text);
    gs_plan_destroy(&plan);
    gs_close(&context);
    return status != GS_OK;
}

/* SPDX-License-Identifier: MIT
 * A user's program: it multiplies with gs_gemm and contains nothing about recording, tuning or packs.
 * recorded_program DEVICE TIMES PROBLEM...     on an emulated device; runs each problem TIMES times
 * Before it runs a problem, it prints the plan's choice and the CPU time that making the plan took, in microseconds: other load on the machine does not change CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gemmsmith/gemmsmith.h>

#include "plan/plan_internal.h"

static double processor_us(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void *memory_of(gs_context *context, size_t bytes)
{
    gs_device *const device = context->device;
    gs_pointer at = 0;
    char *const zeros = calloc(1, bytes + 256);
    if (!zeros || device->ops->alloc(device, bytes + 256, &at, NULL) != GS_OK || device->ops->copy_in(device, at, zeros, bytes + 256, NULL) != GS_OK) at = 0;
    free(zeros);
    return (void *)(uintptr_t)at;
}

static int run(gs_context *context, const char *text, int times)
{
    gs_error error = {0};
    gs_problem problem;
    gs_plan *plan;
    if (gs_problem_parse(&problem, text, &error) != GS_OK) return fprintf(stderr, "%s: %s\n", text, error.text), 2;
    const double start = processor_us();
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) return fprintf(stderr, "%s: %s\n", text, error.text), 1;
    printf("%s  %.0f us  %s\n", text, processor_us() - start, gs_plan_why(plan));
    gs_plan_destroy(&plan);
    gs_args args = gs_args_make(memory_of(context, gs_problem_bytes(&problem, 'a')), memory_of(context, gs_problem_bytes(&problem, 'b')), memory_of(context, gs_problem_bytes(&problem, 'c')),
                                memory_of(context, gs_problem_bytes(&problem, 'd')));
    args.bias = problem.bias ? memory_of(context, gs_problem_bytes(&problem, 'e')) : NULL;
    for (int i = 0; i < times; i++)
        if (gs_gemm(context, &problem, &args, NULL, &error) != GS_OK) return fprintf(stderr, "%s: %s\n", text, error.text), 1;
    return 0;
}

int main(int argc, char **argv)
{
    gs_error error = {0};
    gs_context *context;
    gs_config config = gs_config_default();
    int code = 0;
    if (argc < 4) return 2;
    config.device = argv[1];
    if (gs_open(&context, &config, &error) != GS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (int i = 3; i < argc && code == 0; i++) code = run(context, argv[i], atoi(argv[2]));
    gs_close(&context);
    return code;
}

/* SPDX-License-Identifier: MIT
 * The speed of the emulated device: for one problem, and schedules of every family, the host time of one launch, in emulated
 * multiply-adds per second, with the race checker on and off, on one core and on all.
 *
 *     emu_bench [PROBLEM [SCHEDULE...]]
 *
 * Default: f16:256x256x256:tn with one schedule of each family. These are times of the host, not of a GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "loaded/contender.h"
#include "verify/verify.h"

enum { REPEATS = 5 };

static const char *const modes[] = {"emu:h200,check=1,threads=1", "emu:h200,check=0,threads=1", "emu:h200,check=1", "emu:h200,check=0"};
static const char *const usual[] = {"ws/128x128x64/s4/c1x1/coop/g8", "mma/128x128x32/w2x2/s3/g8", "simple"};

typedef struct operands {
    gs_pointer a, b, c, d;
} operands;

static gs_status make_operands(gs_device *device, gs_verifier *verifier, const gs_problem *problem, operands *out, gs_error *error)
{
    gs_pointer *const at[] = {&out->a, &out->b, &out->c, &out->d};
    for (int i = 0; i < 4; i++) {
        const char operand = "abcd"[i];
        GS_TRY(device->ops->alloc(device, gs_problem_bytes(problem, operand), at[i], error));
        if (operand != 'd') GS_TRY(gs_generate(verifier, problem, operand, GS_DATA_NORMAL, 1, *at[i], NULL, error));
    }
    return GS_OK;
}

/* The time of the fastest of some launches, in seconds. */
static gs_status time_schedule(gs_device *device, const gs_problem *problem, const char *schedule, const operands *o, double *seconds, gs_error *error)
{
    gs_contender contender;
    const gs_args args = {.a = (void *)(uintptr_t)o->a, .b = (void *)(uintptr_t)o->b, .c = (void *)(uintptr_t)o->c, .d = (void *)(uintptr_t)o->d};
    GS_TRY(gs_contender_schedule(&contender, device, schedule, error));
    gs_status status = contender.prepare(&contender, problem, error);
    *seconds = INFINITY;
    for (int i = 0; status == GS_OK && i < REPEATS; i++) {
        const int64_t start = gs_clock_ns();
        status = contender.run(&contender, &args, NULL, error);
        *seconds = fmin(*seconds, (double)(gs_clock_ns() - start) * 1e-9);
    }
    contender.destroy(&contender);
    return status;
}

static gs_status run_mode(const char *mode, const gs_problem *problem, const char *const *schedules, int count, gs_error *error)
{
    gs_device *device;
    gs_verifier *verifier = NULL;
    operands o = {0};
    GS_TRY(gs_device_open(&device, mode, NULL, error));
    gs_status status = gs_verifier_create(&verifier, device, error);
    if (status == GS_OK) status = make_operands(device, verifier, problem, &o, error);
    for (int i = 0; status == GS_OK && i < count; i++) {
        double seconds;
        status = time_schedule(device, problem, schedules[i], &o, &seconds, error);
        if (status == GS_OK)
            printf("%-28s %-36s %10.4f s %12.4g multiply-adds/s\n", mode, schedules[i], seconds, gs_problem_flops(problem) / 2 / seconds);
    }
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return status;
}

int main(int argc, char **argv)
{
    gs_problem problem;
    gs_error error = {0};
    char text[512];
    gs_status status = gs_problem_parse(&problem, argc > 1 ? argv[1] : "f16:256x256x256:tn", &error);
    for (size_t i = 0; status == GS_OK && i < GS_COUNT(modes); i++)
        status = argc > 2 ? run_mode(modes[i], &problem, (const char *const *)argv + 2, argc - 2, &error)
                          : run_mode(modes[i], &problem, usual, (int)GS_COUNT(usual), &error);
    if (status == GS_OK) return 0;
    fprintf(stderr, "%s\n", gs_error_format(&error, text, sizeof text));
    return 1;
}

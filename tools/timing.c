/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "baseline/baseline.h"

enum { REPLAY_US = 200 };

const char *timed_text(const timed *t, char text[GS_SCHEDULE_TEXT]) { return t->library ? LIBRARY_TEXT : gs_schedule_format(&t->schedule, text); }

static void complain(const gs_problem *problem, const timed *t, const gs_error *why)
{
    char text[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    fprintf(stderr, "%s %s: %s\n", gs_problem_format(problem, text), timed_text(t, schedule), why->text);
}

gs_status time_contenders(gs_device *device, gs_verifier *verifier, const gs_problem *problems, gs_contender *list, int count, int rounds, double *us, int *mhz,
                          gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    gs_bench_options options = gs_bench_defaults();
    options.rounds = rounds;
    options.replay_us = REPLAY_US;
    options.warmup_s = 0.02;
    options.check = false;
    options.seed = 1;
    gs_measurement *measured = NULL;
    const gs_status status = gs_bench(device, verifier, problems, list, count, &options, &measured, error);
    for (int i = 0; i < count; i++) us[i] = NAN;
    for (int i = 0; measured && i < measured->count; i++) {
        const gs_samples *const samples = &measured->samples[i];
        if (samples->status == GS_OK)
            us[i] = samples->device_median;
        else
            fprintf(stderr, "%s %s: %s\n", gs_problem_format(problems, text), list[i].name, samples->error.text);
    }
    if (measured) *mhz = measured->after.sm_mhz;
    gs_measurement_destroy(&measured);
    if (status == GS_OK || status == GS_ERROR_FAULT || status == GS_ERROR_TIMEOUT) return status;
    fprintf(stderr, "%s: %s\n", gs_problem_format(problems, text), error->text);
    return GS_OK;
}

static gs_status prepare(gs_contender *c, gs_device *device, const gs_problem *problem, const timed *t, gs_error *why)
{
    char text[GS_SCHEDULE_TEXT];
    GS_TRY(t->library ? gs_baseline_create(c, device, "cublaslt-heuristic", NULL, why) : gs_contender_schedule(c, device, timed_text(t, text), why));
    const gs_status status = c->prepare(c, problem, why);
    if (status != GS_OK && c->destroy) c->destroy(c);
    return status;
}

gs_status time_schedules(gs_device *device, gs_verifier *verifier, const gs_problem *problem, timed *list, int count, int rounds, int *mhz, gs_error *error)
{
    static gs_contender contenders[GS_MAX_CONTENDERS];
    static gs_problem problems[GS_MAX_CONTENDERS];
    int index[GS_MAX_CONTENDERS], ready = 0;
    memset(contenders, 0, sizeof contenders);
    *mhz = 0;
    for (int i = 0; i < count; i++) {
        gs_error why = {0};
        list[i].us = 0;
        if (prepare(&contenders[ready], device, problem, &list[i], &why) == GS_OK) {
            problems[ready] = *problem;
            index[ready++] = i;
        } else {
            complain(problem, &list[i], &why);
            contenders[ready] = (gs_contender){{0}};
        }
    }
    double us[GS_MAX_CONTENDERS];
    const gs_status status = ready > 0 ? time_contenders(device, verifier, problems, contenders, ready, rounds, us, mhz, error) : GS_OK;
    for (int i = 0; i < ready; i++) list[index[i]].us = isfinite(us[i]) ? us[i] : 0;
    for (int i = 0; i < ready; i++) contenders[i].destroy(&contenders[i]);
    return status;
}

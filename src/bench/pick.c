/* SPDX-License-Identifier: MIT
 * The timing behind cublaslt-autotuning: a short run of all suggestions, then a longer one of those that came near the best,
 * so that the one kept is not merely the luckiest of a hundred. That run looks at outputs too: one that is wrong is dropped, and
 * the next takes its place. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "bench/internal.h"

#define FIRST_ROUNDS  7
#define SECOND_ROUNDS 15
#define NEAR          1.05   /* times the best median of the first run */
#define MOST_NEAR     8

/* A large problem runs under the power limit, where another algorithm may be the fastest than in a burst at full clocks: before
 * the run that decides, the clocks settle. Where the floor is shorter, there is no such difference. */
#define POWER_FLOOR_US 20
#define SETTLE_S       0.3

static gs_status time_list(gs_device *device, gs_verifier *verifier, const gs_problem *problems, gs_contender *list, int count,
                           int rounds, double warmup_s, bool check, double *us, gs_error *error)
{
    gs_bench_options options = gs_bench_defaults();
    options.rounds = rounds;
    options.replay_us = 200;
    options.warmup_s = warmup_s;
    options.check = check;
    gs_measurement *measurement;
    GS_TRY(gs_bench(device, verifier, problems, list, count, &options, &measurement, error));
    for (int i = 0; i < count; i++)
        us[i] = measurement->samples[i].status == GS_OK && !measurement->samples[i].wrong ? measurement->samples[i].device_median : INFINITY;
    gs_measurement_destroy(&measurement);
    return GS_OK;
}

/* Indices of the fastest, best first, as long as they are near the best. */
static int nearest(const double *us, int count, int *index)
{
    int found = 0;
    while (found < MOST_NEAR) {
        int best = -1;
        for (int i = 0; i < count; i++) {
            bool taken = !isfinite(us[i]);
            for (int j = 0; j < found; j++) taken = taken || index[j] == i;
            if (!taken && (best < 0 || us[i] < us[best])) best = i;
        }
        if (best < 0 || (found > 0 && us[best] > us[index[0]] * NEAR)) break;
        index[found++] = best;
    }
    return found;
}

/* The second run's medians replace the first's; the others are scaled to the second run's clock, so that the order of the two groups stays. *done: the fastest was in it and is
 * right, or none is left. */
static gs_status refine(gs_device *device, gs_verifier *verifier, const gs_problem *problems, gs_contender *list, int count,
                        double *us, bool *done, gs_error *error)
{
    int index[MOST_NEAR];
    gs_contender finalists[MOST_NEAR];
    double again[MOST_NEAR];
    const int found = nearest(us, count, index);
    *done = found == 0;
    if (*done) return GS_OK;
    for (int i = 0; i < found; i++) finalists[i] = list[index[i]];
    const double warmup_s = gs_floor_us(&problems[0], &device->caps) > POWER_FLOOR_US ? SETTLE_S : 0.01;
    GS_TRY(time_list(device, verifier, problems, finalists, found, SECOND_ROUNDS, warmup_s, true, again, error));
    double slowest = 0, before = 0;
    for (int i = 0; i < found; i++) {
        if (!isfinite(again[i])) continue;
        slowest = fmax(slowest, again[i]);
        before = us[index[i]];
        *done = true;
    }
    for (int i = 0; i < count && *done; i++)
        if (isfinite(us[i])) us[i] = fmax(us[i] * slowest / before, slowest);
    for (int i = 0; i < found; i++) us[index[i]] = again[i];
    return GS_OK;
}

gs_status gs_bench_pick(gs_device *device, const gs_problem *problem, gs_contender *list, int count, double *us, gs_error *error)
{
    for (int i = 0; i < count; i++) us[i] = INFINITY;
    if (count < 1) return gs_fail(error, GS_ERROR_ARGUMENT, "count", "nothing to time");
    gs_problem *const problems = calloc((size_t)count, sizeof *problems);
    gs_verifier *verifier = NULL;
    if (!problems) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to time %d contenders", count);
    for (int i = 0; i < count; i++) problems[i] = *problem;
    gs_status status = gs_verifier_create(&verifier, device, error);
    if (status == GS_OK) status = time_list(device, verifier, problems, list, count, FIRST_ROUNDS, 0.01, false, us, error);
    for (bool done = false; status == GS_OK && !done;) status = refine(device, verifier, problems, list, count, us, &done, error);
    gs_verifier_destroy(&verifier);
    free(problems);
    return status;
}

/* SPDX-License-Identifier: MIT
 * The race: few paired rounds for all candidates, more for the best. Verification comes late, only for fast candidates,
 * because it costs more than a short timing; unverified kernels are timed in a process that may crash. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "tune/run.h"

enum { GROUP = 12, FIRST_ROUNDS = 5, SECOND_ROUNDS = 11, SECOND_MOST = 16 };
#define FIRST_WITHIN 1.5    /* relative to the best: limit for staying after the first rounds */
#define REQUEST_SHARE 0.1   /* of the budget: longest request on an emulated device */
#define ALONE_WITHIN 1.03   /* relative to the best: limit for verification if there is no reference, and so no interval */

static int by_ratio(const void *left, const void *right)
{
    const gs_candidate *const a = *(gs_candidate *const *)left, *const b = *(gs_candidate *const *)right;
    if (a->ratio.median != b->ratio.median) return a->ratio.median > b->ratio.median ? -1 : 1;
    return a->predicted_us < b->predicted_us ? -1 : a->predicted_us > b->predicted_us;
}

void gs_run_sort(const gs_run *run, gs_candidate **list, int count)
{
    gs_evaluator_uncompare(&run->evaluator, list, count);
    qsort(list, (size_t)count, sizeof *list, by_ratio);
}

/* Updates the best known time. */
static void learn_known(gs_run *run)
{
    for (int i = 0; i < run->count; i++) {
        const gs_candidate *const c = &run->list[i];
        if (c->measured && !c->doubted && !gs_candidate_out(c) && (run->evaluator.known_us == 0 || c->us < run->evaluator.known_us)) run->evaluator.known_us = c->us;
    }
}

/* The candidates that have not failed; measured: whether those that were measured or those that were not. The caller frees the list. */
static gs_candidate **still_in(gs_run *run, bool measured, int *count)
{
    gs_candidate **const list = calloc((size_t)run->count + 1, sizeof(gs_candidate *));
    *count = 0;
    for (int i = 0; list && i < run->count; i++)
        if (!gs_candidate_out(&run->list[i]) && run->list[i].measured == measured) list[(*count)++] = &run->list[i];
    return list;
}

/* Candidates per request. A request that is cancelled loses all its results. An emulated device may take minutes for a large problem, so there a request gets
 * only a small share of the budget, if possible. */
static int group_of(const gs_run *run)
{
    int group = GROUP;
    if (!run->evaluator.caps->emulated || run->evaluator.options.budget_s <= 0) return group;
    while (group > 1 && gs_emulated_seconds(run->evaluator.problem, group, 1 + group) > REQUEST_SHARE * run->evaluator.options.budget_s) group /= 2;
    return group;
}

/* Races in groups as long as there is time. must: the first group runs even in the time reserved for confirmation. */
static gs_status race_list(gs_run *run, gs_candidate **list, int count, int rounds, bool must, gs_error *error)
{
    const int most = group_of(run);
    for (int at = 0; at < count && (gs_run_may_explore(run) || (must && at == 0)); at += most) {
        GS_TRY(gs_evaluator_check(&run->evaluator, error));
        const int group = GS_MIN(most, count - at);
        gs_run_progress(run, GS_TUNE_RACE, at, count, list[at]->text);
        const int64_t began = gs_clock_ns();
        GS_TRY(gs_evaluator_group(&run->evaluator, list + at, group, rounds, GS_STAGE_RACE, error));
        GS_TRY(gs_evaluator_doubted(&run->evaluator, list + at, group, rounds, GS_STAGE_RACE, error));
        learn_known(run);
        run->longest_s = GS_MAX(run->longest_s, gs_clock_since(began));
    }
    gs_run_progress(run, GS_TUNE_RACE, count, count, NULL);
    return GS_OK;
}

gs_status gs_run_compile(gs_run *run, gs_error *error)
{
    gs_schedule *const list = calloc((size_t)run->count + 1, sizeof *list);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the compilation");
    for (int i = 0; i < run->count; i++) list[i] = run->list[i].schedule;
    int failed = 0;
    gs_run_progress(run, GS_TUNE_COMPILE, 0, run->count, NULL);
    const gs_status status = gs_precompile(run->evaluator.caps, run->evaluator.problem, list, run->count, run->options->jobs, run->evaluator.worker->until,
                                           run->options->cache_path, &failed, error);
    free(list);
    run->result->compiled = run->count - failed;
    if (status == GS_OK) gs_run_progress(run, GS_TUNE_COMPILE, run->count, run->count, NULL);
    return status;
}

gs_status gs_run_race(gs_run *run, gs_error *error)
{
    int count;
    gs_candidate **list = still_in(run, false, &count);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_status status = race_list(run, list, count, FIRST_ROUNDS, true, error);
    free(list);
    GS_TRY(status);
    if (run->evaluator.caps->emulated) return GS_OK;   /* more rounds would give the same times */

    list = still_in(run, true, &count);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_run_sort(run, list, count);
    int kept = 0;
    while (kept < count && kept < SECOND_MOST && list[kept]->ratio.median * FIRST_WITHIN >= list[0]->ratio.median) kept++;
    status = race_list(run, list, kept, SECOND_ROUNDS, false, error);
    free(list);
    return status;
}

/* Whether the candidate may still be as fast as the best. */
static bool in_reach(const gs_run *run, const gs_candidate *c, const gs_candidate *best)
{
    if (run->evaluator.caps->emulated) return true;   /* predictions have no confidence interval */
    if (gs_evaluator_lacks(&run->evaluator)) return c->us < best->us * ALONE_WITHIN;   /* without a reference there is no interval either */
    return c->ratio.high >= best->ratio.low;
}

gs_status gs_run_best(gs_run *run, gs_candidate **best, int most, int *count, gs_error *error)
{
    *count = 0;
    int all;
    gs_candidate **const list = still_in(run, true, &all);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_run_sort(run, list, all);
    gs_status status = GS_OK;
    for (int i = 0; i < all && *count < most && status == GS_OK; i++) {
        if (*count > 0 && !in_reach(run, list[i], best[0])) break;
        if (*count > 0 && !gs_run_may_explore(run)) break;
        if (!gs_candidate_passed(list[i])) {
            gs_run_progress(run, GS_TUNE_VERIFY, *count, most, list[i]->text);
            status = gs_evaluator_prove(&run->evaluator, list[i], error);
        }
        if (status == GS_OK && gs_candidate_passed(list[i])) best[(*count)++] = list[i];
    }
    free(list);
    return status;
}

/* SPDX-License-Identifier: MIT
 * The race: few paired rounds for everyone, more for those still in it. Verification comes late, only for those that are fast,
 * because it costs more than a short timing; what is timed before runs in a process that may die. */
#include <stdlib.h>

#include "base/error.h"
#include "evaluate/run.h"

enum { GROUP = 12, FIRST_ROUNDS = 5, SECOND_ROUNDS = 11, SECOND_MOST = 16 };
#define FIRST_WITHIN 1.5    /* of the best: stays in after the first rounds */

static int by_ratio(const void *left, const void *right)
{
    const gs_candidate *const a = *(gs_candidate *const *)left, *const b = *(gs_candidate *const *)right;
    if (a->ratio.median != b->ratio.median) return a->ratio.median > b->ratio.median ? -1 : 1;
    return a->predicted_us < b->predicted_us ? -1 : a->predicted_us > b->predicted_us;
}

void gs_run_sort(gs_candidate **list, int count) { qsort(list, (size_t)count, sizeof *list, by_ratio); }

gs_status gs_run_group(gs_run *run, gs_candidate **list, int count, int rounds, const char *stage, gs_error *error)
{
    gs_error why = {0};
    const gs_status status = gs_run_bench(run, list, count, rounds, stage, &why);
    if (!gs_worker_lost(status)) {
        if (status != GS_OK && error) *error = why;
        return status;
    }
    if (count == 1) return gs_tune_blame(run, list[0], status, &why, error);
    GS_TRY(gs_run_check(run, error));
    GS_TRY(gs_run_group(run, list, count / 2, rounds, stage, error));
    return gs_run_group(run, list + count / 2, count - count / 2, rounds, stage, error);
}

gs_status gs_run_doubted(gs_run *run, gs_candidate *const *list, int count, int rounds, const char *stage, gs_error *error)
{
    gs_candidate **const doubted = calloc((size_t)count + 1, sizeof(gs_candidate *));
    if (!doubted) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    int doubts = 0;
    for (int i = 0; i < count; i++) {
        if (!list[i]->doubted) continue;
        list[i]->again = true;
        doubted[doubts++] = list[i];
    }
    gs_status status = GS_OK;
    if (doubts > 0) {
        gs_worker_stop(run->worker);   /* the next request starts a fresh one and has another seed */
        status = gs_run_group(run, doubted, doubts, rounds, stage, error);
    }
    free(doubted);
    return status;
}

double gs_run_known_us(const gs_run *run, const gs_trials *known)
{
    double us = 0;
    for (int i = 0; i < known->count; i++) {
        const gs_trial *const t = &known->list[i];
        if (strcmp(t->verdict, "pass") != 0 || !(t->us > 0) || strcmp(t->version, run->session->version) != 0) continue;
        if (us == 0 || t->us < us) us = t->us;
    }
    return us;
}

/* What is known from now on. */
static void learn_known(gs_run *run)
{
    for (int i = 0; i < run->count; i++) {
        const gs_candidate *const c = &run->list[i];
        if (c->measured && !c->doubted && !gs_candidate_out(c) && (run->known_us == 0 || c->us < run->known_us)) run->known_us = c->us;
    }
}

/* Those that are still in, measured or not. The list is the caller's, free(). */
static gs_candidate **still_in(gs_run *run, bool measured, int *count)
{
    gs_candidate **const list = calloc((size_t)run->count + 1, sizeof(gs_candidate *));
    *count = 0;
    for (int i = 0; list && i < run->count; i++)
        if (!gs_candidate_out(&run->list[i]) && run->list[i].measured == measured) list[(*count)++] = &run->list[i];
    return list;
}

/* Group by group, as long as there is time; the first group even in the time that is kept for confirming, if it must. */
static gs_status race_list(gs_run *run, gs_candidate **list, int count, int rounds, bool must, gs_error *error)
{
    for (int at = 0; at < count && (gs_run_may_explore(run) || (must && at == 0)); at += GROUP) {
        GS_TRY(gs_run_check(run, error));
        const int group = GS_MIN(GROUP, count - at);
        gs_run_progress(run, "race", at, count, list[at]->text);
        GS_TRY(gs_run_group(run, list + at, group, rounds, "race", error));
        GS_TRY(gs_run_doubted(run, list + at, group, rounds, "race", error));
        learn_known(run);
    }
    gs_run_progress(run, "race", count, count, NULL);
    return GS_OK;
}

gs_status gs_run_race(gs_run *run, gs_error *error)
{
    int count;
    gs_candidate **list = still_in(run, false, &count);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_status status = race_list(run, list, count, FIRST_ROUNDS, true, error);
    free(list);
    GS_TRY(status);
    if (run->caps->emulated) return GS_OK;   /* more rounds would say the same */

    list = still_in(run, true, &count);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_run_sort(list, count);
    int kept = 0;
    while (kept < count && kept < SECOND_MOST && list[kept]->ratio.median * FIRST_WITHIN >= list[0]->ratio.median) kept++;
    status = race_list(run, list, kept, SECOND_ROUNDS, false, error);
    free(list);
    return status;
}

gs_status gs_run_prove(gs_run *run, gs_candidate *candidate, gs_error *error)
{
    gs_error why = {0};
    GS_TRY(gs_run_check(run, error));
    const int64_t began = gs_clock_ns();
    gs_status status = gs_run_verify(run, candidate, &why);
    if (gs_worker_lost(status))
        status = gs_tune_blame(run, candidate, status, &why, error);
    else if (status != GS_OK && error)
        *error = why;
    run->result->spent.verify += gs_run_since(began);
    return status;
}

gs_status gs_run_best(gs_run *run, gs_candidate **best, int most, int *count, gs_error *error)
{
    *count = 0;
    int all;
    gs_candidate **const list = still_in(run, true, &all);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the race");
    gs_run_sort(list, all);
    gs_status status = GS_OK;
    for (int i = 0; i < all && *count < most && status == GS_OK; i++) {
        /* how near two predictions must be to mean the same, nobody knows */
        if (*count > 0 && !run->caps->emulated && list[i]->ratio.high < best[0]->ratio.low) break;
        if (*count > 0 && !gs_run_may_explore(run)) break;
        if (!gs_candidate_passed(list[i])) {
            gs_run_progress(run, "verify", *count, most, list[i]->text);
            status = gs_run_prove(run, list[i], error);
        }
        if (status == GS_OK && gs_candidate_passed(list[i])) best[(*count)++] = list[i];
    }
    free(list);
    return status;
}

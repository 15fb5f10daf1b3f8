/* SPDX-License-Identifier: MIT
 * The end of tuning a problem: the final race, and the confirmation in a fresh process with fresh data. Only the
 * confirmed time is reported: the one by which a winner was selected is biased in its favour. */

#include "base/clock.h"
#include "base/error.h"
#include "tune/run.h"

/* More rounds for the best candidates; sorts them and removes those that failed. */
static gs_status final_race(gs_run *run, gs_candidate **list, int *count, gs_error *error)
{
    bool needed = false;
    for (int i = 0; i < *count && !run->evaluator.caps->emulated; i++) needed |= list[i]->rounds < GS_FINAL_ROUNDS;
    if (*count > 1 && needed && gs_run_may_explore(run)) {
        gs_run_progress(run, GS_TUNE_RACE, 0, *count, list[0]->text);
        const int64_t began = gs_clock_ns();
        GS_TRY(gs_evaluator_group(&run->evaluator, list, *count, GS_FINAL_ROUNDS, GS_STAGE_FINAL, error));
        GS_TRY(gs_evaluator_doubted(&run->evaluator, list, *count, GS_FINAL_ROUNDS, GS_STAGE_FINAL, error));
        run->result->spent.race += gs_clock_since(began);
    }
    int kept = 0;
    for (int i = 0; i < *count; i++)
        if (!gs_candidate_out(list[i])) list[kept++] = list[i];
    *count = kept;
    gs_run_sort(run, list, kept);
    return GS_OK;
}

/* If none of ours passed, cuBLASLt wins, but only if candidates were measured and the device has cuBLASLt. */
static gs_status nothing_passed(const gs_run *run, gs_error *error)
{
    GS_TRY(gs_evaluator_check(&run->evaluator, error));
    for (int i = 0; i < run->count; i++)
        if (!run->list[i].measured && !gs_candidate_out(&run->list[i]))
            return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the budget of %g s ran out before every candidate was measured",
                           gs_rounded_s(run->options->budget_s));
    if (run->evaluator.caps->emulated) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed on %s", run->evaluator.worker->device);
    return GS_OK;
}

gs_status gs_run_confirm(gs_run *run, gs_candidate **winner, gs_error *error)
{
    *winner = NULL;
    for (;;) {
        gs_candidate *best[GS_RUN_FINALISTS];
        int count;
        GS_TRY(gs_run_best(run, best, GS_RUN_FINALISTS, &count, error));
        if (count == 0) return nothing_passed(run, error);
        GS_TRY(final_race(run, best, &count, error));
        if (count == 0) continue;
        GS_TRY(gs_evaluator_check(&run->evaluator, error));
        gs_run_progress(run, GS_TUNE_CONFIRM, 0, 1, best[0]->text);
        const int64_t began = gs_clock_ns();
        gs_worker_stop(run->evaluator.worker);
        GS_TRY(gs_evaluator_group(&run->evaluator, best, 1, GS_CONFIRM_ROUNDS, GS_STAGE_CONFIRM, error));
        run->result->spent.confirm += gs_clock_since(began);
        if (gs_candidate_out(best[0])) continue;   /* the next best */
        gs_run_progress(run, GS_TUNE_CONFIRM, 1, 1, best[0]->text);
        *winner = best[0];
        return GS_OK;
    }
}

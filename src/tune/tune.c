/* SPDX-License-Identifier: MIT
 * Tuning one problem, at the top level: read the store, propose, compile, race, confirm, record. */
#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "tune/run.h"

enum { CANDIDATES = 48 };

/* ---- what the store knows ---- */

typedef struct wanted {
    const char *problem;
    gs_trial    trial;
    bool        found;
} wanted;

static bool find_winner(void *self, const gs_trial *trial)
{
    wanted *const w = self;
    if (strcmp(trial->problem, w->problem) != 0) return true;
    w->trial = *trial;
    w->found = true;
    return false;
}

gs_status gs_run_resume(gs_run *run, const gs_trials *known, const gs_trial *winner, gs_error *error)
{
    gs_tune_result *const result = run->result;
    gs_run_row(run, winner, &result->row);
    for (int i = 0; i < known->count && !result->best_own[0]; i++) {   /* sorted by ratio, best first */
        const gs_trial *const t = &known->list[i];
        gs_schedule schedule;
        if (gs_verdict_find(t->verdict) != GS_VERDICT_PASS || !(t->ratio > 0) || gs_schedule_parse(&schedule, t->candidate, NULL) != GS_OK) continue;
        memcpy(result->best_own, t->candidate, strlen(t->candidate) + 1);
        result->best_own_ratio = t->ratio;
        result->best_own_us = t->us;
    }
    if (!result->row.library) {
        gs_schedule_format(&result->row.schedule, result->best_own);
        result->best_own_ratio = winner->ratio;
        result->best_own_us = winner->us;
    }
    if (gs_row_alone(&result->row)) snprintf(result->alone, sizeof result->alone, "cuBLASLt computed nothing right when this was measured");
    result->resumed = result->confirmed = true;
    return gs_run_table(run->options->tuned_path, &result->row, true, error);
}

gs_status gs_run_winner(const gs_run *run, gs_trial *winner, bool *found, gs_error *error)
{
    wanted w = {.problem = run->evaluator.text};
    *found = false;
    GS_TRY(gs_store_winners(run->evaluator.store, run->evaluator.session->device, find_winner, &w, error));
    *winner = w.trial;
    *found = w.found && w.trial.cc == run->evaluator.caps->cc && w.trial.sms == run->evaluator.caps->sms;
    return GS_OK;
}

/* Uses the winner in the store, if any: nothing is measured, but a missing row is added to the table. */
static gs_status resume(gs_run *run, const gs_trials *known, bool *resumed, gs_error *error)
{
    gs_trial winner;
    GS_TRY(gs_run_winner(run, &winner, resumed, error));
    return *resumed ? gs_run_resume(run, known, &winner, error) : GS_OK;
}

/* ---- the whole ---- */

static gs_status compile_and_race(gs_run *run, gs_error *error)
{
    int64_t began = gs_clock_ns();
    GS_TRY(gs_run_compile(run, error));
    run->result->spent.compile += gs_clock_since(began);
    began = gs_clock_ns();
    GS_TRY(gs_run_race(run, error));
    run->result->spent.race += gs_clock_since(began);
    return GS_OK;
}

/* Adds the best known schedule, even if it is not proposed this time. */
static gs_status add_best_known(gs_run *run, const gs_trials *known, gs_error *error)
{
    char text[GS_SCHEDULE_TEXT];
    gs_schedule schedule;
    GS_TRY(gs_tune_best_own(run->evaluator.store, run->evaluator.session, run->evaluator.problem, text, error));
    const bool asked = text[0] && gs_schedule_parse(&schedule, text, NULL) == GS_OK && (!run->options->families || run->options->families >> schedule.family & 1);
    if (asked) gs_run_add(run, &schedule, 1, known);
    return GS_OK;
}

/* For a learning policy: half of the candidates first, then, after their outcomes, a quarter, and so on; else all at once. */
static gs_status search(gs_run *run, gs_policy *policy, const gs_trials *known, gs_error *error)
{
    const int most = gs_run_candidates(run->options, run->evaluator.caps->emulated, CANDIDATES);
    GS_TRY(gs_run_shortlist(run, policy, known, policy->learn ? (most + 1) / 2 : most, most + 1, NULL, 0, error));
    if (run->options->again || run->options->further) GS_TRY(add_best_known(run, known, error));
    /* only cuBLASLt, to find out early whether the device works */
    const int64_t began = gs_clock_ns();
    if (!run->evaluator.caps->emulated) GS_TRY(gs_evaluator_bench(&run->evaluator, NULL, 0, 5, GS_STAGE_RACE, error));
    run->result->spent.race += gs_clock_since(began);
    GS_TRY(compile_and_race(run, error));
    int taught = 0;
    while (policy->learn && run->count < most && run->count > taught && gs_run_may_explore(run)) {
        gs_run_teach(run, policy, taught);
        taught = run->count;
        GS_TRY(gs_run_more(run, policy, known, (most - run->count + 1) / 2, error));
        if (run->count > taught) GS_TRY(compile_and_race(run, error));
    }
    gs_run_teach(run, policy, taught);
    gs_candidate *winner;
    const gs_status status = gs_run_confirm(run, &winner, error);
    for (int i = 0; i < run->count && policy->judged; i++) policy->judged(policy, &run->list[i].schedule, run->list[i].verdict);
    return status == GS_OK ? gs_run_record(run, winner, error) : status;
}

static gs_status tune(gs_run *run, gs_error *error)
{
    gs_trials known;
    bool resumed = false;
    gs_status status = gs_run_known(run, &known, error);
    if (status == GS_OK && !run->options->again && !run->options->further) status = resume(run, &known, &resumed, error);
    run->evaluator.doubts = !run->evaluator.caps->emulated;   /* predicted times are always the same */
    run->evaluator.known_us = gs_run_known_us(run, &known);
    if (status == GS_OK && !resumed) {
        gs_policy policy;
        gs_found *found = NULL;
        gs_tune_options how = *run->options;
        gs_llm_options llm = how.llm ? *how.llm : (gs_llm_options){0};
        gs_kept_turns turns = {.store = run->evaluator.store, .session = run->evaluator.session};
        const gs_llm_sink sink = gs_kept_turns_sink(&turns);
        llm.sink = &sink;
        how.llm = &llm;
        status = gs_run_policy(&policy, &how, run->evaluator.seed, error);
        if (status == GS_OK && policy.asks_found && !policy.found) {
            status = gs_run_found(run->evaluator.store, run->evaluator.session, &found, &policy.found_count, error);
            policy.found = found;
        }
        if (status == GS_OK) status = search(run, &policy, &known, error);
        if (status == GS_OK && run->options->learn_path && policy.save) status = policy.save(&policy, run->options->learn_path, error);
        if (policy.destroy) policy.destroy(&policy);
        free(found);
    }
    free(known.list);
    gs_run_account(run);
    gs_run_close(run);
    return status;
}

/* Assumes that every candidate runs once, the finalists are verified, and the winner runs again. */
double gs_tune_seconds(const gs_problem *problem, const gs_tune_options *options)
{
    const int most = gs_run_candidates(options, true, CANDIDATES);
    return gs_emulated_seconds(problem, most + 1, 2) + GS_MIN(most, GS_RUN_FINALISTS) * gs_verify_seconds(problem, 0, true);
}

gs_status gs_tune(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                  const gs_tune_options *options, gs_tune_result *result, gs_error *error)
{
    *result = (gs_tune_result){0};
    GS_TRY(gs_evaluator_takes(problem, "tune", error));
    gs_run run = gs_run_open(store, session, worker, caps, problem, options, result);
    worker->until = options->budget_s > 0 ? run.evaluator.started + (int64_t)(options->budget_s * 1e9) : 0;
    const gs_status status = tune(&run, error);
    if (status == GS_ERROR_INTERRUPTED) gs_evaluator_check(&run.evaluator, error);   /* its message says how to continue, whichever stage was interrupted */
    worker->until = 0;
    result->seconds = gs_clock_since(run.evaluator.started);
    return status;
}

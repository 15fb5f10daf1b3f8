/* SPDX-License-Identifier: MIT
 * Tuning one problem from the outside in: what the store knows, what the policy proposes, then compile, race, confirm, record. */
#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "policy/policies.h"
#include "evaluate/run.h"

enum { CANDIDATES = 48, EMULATED_CANDIDATES = 8, MOST_CANDIDATES = 16384 };
#define CONFIRM_SHARE 0.35   /* of the budget, kept for verifying and confirming */

/* Seconds left of the budget, < 0 only where there is none; 0 once it is used up. */
static double left_s(const gs_run *run)
{
    if (run->options->budget_s <= 0) return -1;
    return GS_MAX(run->options->budget_s - gs_run_since(run->started), 0.0);
}

gs_status gs_run_check(const gs_run *run, gs_error *error)
{
    if (gs_stop_requested)
        return gs_fail(error, GS_ERROR_INTERRUPTED, NULL,
                       "stopped; what was measured is in the store, run the same command to go on");
    if (left_s(run) == 0)
        return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the budget of %g s ran out before a winner was confirmed",
                       run->options->budget_s);
    return GS_OK;
}

bool gs_run_may_explore(const gs_run *run)
{
    if (gs_stop_requested) return false;
    return run->options->budget_s <= 0 || left_s(run) > CONFIRM_SHARE * run->options->budget_s;
}

void gs_run_progress(const gs_run *run, const char *stage, int done, int total, const char *candidate)
{
    if (!run->options->progress) return;
    double best = 0;
    for (int i = 0; i < run->count; i++)
        if (!gs_candidate_out(&run->list[i])) best = GS_MAX(best, run->list[i].ratio.median);
    const gs_tune_progress progress = {run->text, stage, done, total, candidate, best, left_s(run)};
    run->options->progress(run->options->self, &progress);
}

/* ---- what the store knows ---- */

static bool remember(void *self, const gs_trial *trial)
{
    gs_trials *const t = self;
    t->failed = !gs_grow(&t->list, t->count, &t->capacity, sizeof *t->list);
    if (t->failed) return false;
    t->list[t->count++] = *trial;
    return true;
}

gs_status gs_run_known(const gs_run *run, gs_trials *known, gs_error *error)
{
    *known = (gs_trials){0};
    gs_status status = gs_store_trials(run->store, run->session->device, run->text, remember, known, error);
    if (status == GS_OK && known->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what the store knows");
    return status;
}

static const gs_trial *find_trial(const gs_trials *known, const char *candidate)
{
    for (int i = 0; i < known->count; i++)
        if (strcmp(known->list[i].candidate, candidate) == 0) return &known->list[i];
    return NULL;
}

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
    for (int i = 0; i < known->count && !result->best_own[0]; i++) {   /* best ratio first */
        const gs_trial *const t = &known->list[i];
        gs_schedule schedule;
        if (strcmp(t->verdict, "pass") != 0 || !(t->ratio > 0) || gs_schedule_parse(&schedule, t->candidate, NULL) != GS_OK) continue;
        memcpy(result->best_own, t->candidate, strlen(t->candidate) + 1);
        result->best_own_ratio = t->ratio;
        result->best_own_us = t->us;
    }
    if (!result->row.library) {
        gs_schedule_format(&result->row.schedule, result->best_own);
        result->best_own_ratio = winner->ratio;
        result->best_own_us = winner->us;
    }
    result->resumed = result->confirmed = true;
    return gs_run_table(run->options->tuned_path, &result->row, true, error);
}

gs_status gs_run_winner(const gs_run *run, gs_trial *winner, bool *found, gs_error *error)
{
    wanted w = {.problem = run->text};
    *found = false;
    GS_TRY(gs_store_winners(run->store, run->session->device, find_winner, &w, error));
    *winner = w.trial;
    *found = w.found && w.trial.cc == run->caps->cc && w.trial.sms == run->caps->sms;
    return GS_OK;
}

/* The winner that the store has already, if any: nothing is measured, but the table gets the row if it lost it. */
static gs_status resume(gs_run *run, const gs_trials *known, bool *resumed, gs_error *error)
{
    gs_trial winner;
    GS_TRY(gs_run_winner(run, &winner, resumed, error));
    return *resumed ? gs_run_resume(run, known, &winner, error) : GS_OK;
}

/* ---- candidates ---- */

static void add_candidate(gs_run *run, const gs_schedule *schedule, const gs_trials *known)
{
    char text[GS_SCHEDULE_TEXT];
    const gs_trial *trial = find_trial(known, gs_schedule_format(schedule, text));
    if (trial && strcmp(trial->version, run->session->version) != 0) trial = NULL;   /* about other kernel sources */
    if (trial && trial->verdict[0] && strcmp(trial->verdict, "pass") != 0) return;
    const gs_resources resources = gs_schedule_resources(schedule, run->problem, run->caps);
    gs_candidate *const c = &run->list[run->count++];
    *c = (gs_candidate){.schedule = *schedule, .registers = resources.registers, .smem = resources.smem};
    memcpy(c->text, text, sizeof text);
    c->predicted_us = gs_schedule_predict(schedule, run->problem, run->caps);
    if (!trial) return;
    snprintf(c->verdict, sizeof c->verdict, "%s", trial->verdict);
    c->compared = trial->ratio > 0;
    if (run->options->again || run->search || !c->compared) return;
    c->measured = true;
    c->us = trial->us;
    c->library_us = trial->library_us;
    c->ratio = (gs_ratio){trial->ratio, trial->low, trial->high, GS_UNCLEAR};
    c->rounds = trial->rounds;
    c->mhz = trial->mhz;
}

int gs_run_candidates(const gs_tune_options *options, bool emulated, int usual)
{
    if (options->candidates > 0) return GS_MIN(options->candidates, MOST_CANDIDATES);
    return emulated ? EMULATED_CANDIDATES : usual;
}

static bool is_candidate(const gs_run *run, const gs_schedule *schedule)
{
    for (int i = 0; i < run->count; i++)
        if (memcmp(&run->list[i].schedule, schedule, sizeof *schedule) == 0) return true;
    return false;
}

void gs_run_add(gs_run *run, const gs_schedule *list, int count, const gs_trials *known)
{
    for (int i = 0; i < count; i++) {
        if (gs_schedule_check(&list[i], run->problem, run->caps, NULL) != GS_OK || is_candidate(run, &list[i])) continue;
        run->result->proposed++;
        add_candidate(run, &list[i], known);
    }
}

gs_status gs_run_shortlist(gs_run *run, gs_policy *policy, const gs_trials *known, int most, int room, const gs_schedule *first, int first_count,
                           gs_error *error)
{
    run->list = calloc((size_t)room, sizeof *run->list);
    gs_schedule *const batch = calloc((size_t)most, sizeof *batch);
    if (first && run->list && batch) {
        gs_run_add(run, first, first_count, known);
        /* it was asked for as many; some are known to be bad: it goes on behind them */
        if (run->count < most && first_count == most) policy->propose(policy, run->problem, run->caps, batch, most);
    }
    for (int got = !first || first_count == most; run->list && batch && got > 0 && run->count < most;) {
        got = policy->propose(policy, run->problem, run->caps, batch, most - run->count);
        gs_run_add(run, batch, got, known);
    }
    const bool enough = run->list && batch;
    free(batch);
    return enough ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d candidates", most);
}

gs_status gs_run_more(gs_run *run, gs_policy *policy, const gs_trials *known, int more, gs_error *error)
{
    gs_schedule *const batch = calloc((size_t)more + 1, sizeof *batch);
    if (!batch) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d candidates", more);
    const int most = run->count + more;
    for (int got = 1; got > 0 && run->count < most;) {
        got = policy->propose(policy, run->problem, run->caps, batch, most - run->count);
        gs_run_add(run, batch, got, known);
    }
    free(batch);
    return GS_OK;
}

gs_status gs_run_compile(gs_run *run, gs_error *error)
{
    gs_schedule *const list = calloc((size_t)run->count + 1, sizeof *list);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the compilation");
    for (int i = 0; i < run->count; i++) list[i] = run->list[i].schedule;
    int failed = 0;
    gs_run_progress(run, "compile", 0, run->count, NULL);
    const gs_status status = gs_precompile(run->caps, run->problem, list, run->count, run->options->jobs,
                                           run->options->cache_path, &failed, error);
    free(list);
    run->result->compiled = run->count - failed;
    if (status == GS_OK) gs_run_progress(run, "compile", run->count, run->count, NULL);
    return status;
}

/* A list's search narrows: who left early was slower than the slowest that was in to the end, whatever the clock was then. */
static gs_candidate as_compared(const gs_run *run, const gs_candidate *candidate)
{
    gs_candidate told = *candidate;
    double us = 0;
    int rounds = 0;
    for (int i = 0; run->search && i < run->count; i++) {
        const gs_candidate *const c = &run->list[i];
        if (!c->measured || gs_candidate_out(c) || c->rounds < rounds) continue;
        us = c->rounds > rounds ? c->us : GS_MAX(us, c->us);
        rounds = c->rounds;
    }
    if (told.rounds < rounds) told.us = GS_MAX(told.us, us);
    return told;
}

void gs_run_teach(const gs_run *run, gs_policy *policy, int from)
{
    if (!policy->learn || run->count <= from) return;
    gs_feedback *const feedback = calloc((size_t)(run->count - from), sizeof *feedback);
    if (!feedback) return;
    int count = 0;
    for (int i = from; i < run->count; i++) {
        const gs_candidate c = as_compared(run, &run->list[i]);
        const bool out = gs_candidate_out(&c);
        if (!out && !c.measured) continue;
        feedback[count++] = (gs_feedback){c.schedule, run->list[i].verdict, out ? 0 : c.us, out ? 0 : c.ratio.median, gs_run_reward(run, &c),
                                            run->list[i].reason};
    }
    policy->learn(policy, run->problem, run->caps, feedback, count);
    free(feedback);
}

/* No answer is waited for so long that nothing could be confirmed any more. */
static gs_status create_policy(gs_policy *out, const char *name, const gs_tune_options *options, uint64_t seed, gs_error *error)
{
    const bool hybrid = strcmp(name, "hybrid") == 0;
    if (!hybrid && strcmp(name, "llm") != 0) return gs_policy_create(out, name, seed, error);
    gs_llm_options llm = options->llm ? *options->llm : (gs_llm_options){0};
    const double most = options->budget_s / 3;
    if (most > 0 && !(llm.answer_s > 0 && llm.answer_s < most)) llm.answer_s = most;
    return hybrid ? gs_policy_hybrid_with(out, &llm, options->learn_path, seed, error) : gs_policy_llm_with(out, &llm, seed, error);
}

gs_status gs_run_policy(gs_policy *out, const gs_tune_options *options, uint64_t seed, gs_error *error)
{
    GS_TRY(create_policy(out, options->policy ? options->policy : "enumerate", options, seed, error));
    out->families = options->families;
    out->found = options->found;
    out->found_count = options->found_count;
    if (!options->learn_path || !out->load || !gs_file_exists(options->learn_path)) return GS_OK;
    const gs_status status = out->load(out, options->learn_path, error);
    if (status != GS_OK) out->destroy(out);
    return status;
}

/* ---- the whole ---- */

static gs_status compile_and_race(gs_run *run, gs_error *error)
{
    int64_t began = gs_clock_ns();
    GS_TRY(gs_run_compile(run, error));
    run->result->spent.compile += gs_run_since(began);
    began = gs_clock_ns();
    GS_TRY(gs_run_race(run, error));
    run->result->spent.race += gs_run_since(began);
    return GS_OK;
}

/* What was measured before is not lost because it was not proposed this time. */
static gs_status add_best_known(gs_run *run, const gs_trials *known, gs_error *error)
{
    char text[GS_SCHEDULE_TEXT];
    gs_schedule schedule;
    GS_TRY(gs_tune_best_own(run->store, run->session, run->problem, text, error));
    const bool asked = text[0] && gs_schedule_parse(&schedule, text, NULL) == GS_OK && (!run->options->families || run->options->families >> schedule.family & 1);
    if (asked) gs_run_add(run, &schedule, 1, known);
    return GS_OK;
}

/* Half of the candidates; then, for a policy that learns, a quarter after what came of them, and so on. */
static gs_status search(gs_run *run, gs_policy *policy, const gs_trials *known, gs_error *error)
{
    const int most = gs_run_candidates(run->options, run->caps->emulated, CANDIDATES);
    GS_TRY(gs_run_shortlist(run, policy, known, policy->learn ? (most + 1) / 2 : most, most + 1, NULL, 0, error));
    if (run->options->again) GS_TRY(add_best_known(run, known, error));
    /* the library alone: finds out early whether anything works here */
    const int64_t began = gs_clock_ns();
    if (!run->caps->emulated) GS_TRY(gs_run_bench(run, NULL, 0, 5, "race", error));
    run->result->spent.race += gs_run_since(began);
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
    GS_TRY(gs_run_confirm(run, &winner, error));
    return gs_run_record(run, winner, error);
}

static gs_status tune(gs_run *run, gs_error *error)
{
    gs_trials known;
    bool resumed = false;
    gs_status status = gs_run_known(run, &known, error);
    if (status == GS_OK && !run->options->again) status = resume(run, &known, &resumed, error);
    run->doubts = !run->caps->emulated;   /* a family's predicted time is the same every time */
    run->known_us = gs_run_known_us(run, &known);
    if (status == GS_OK && !resumed) {
        gs_policy policy;
        gs_found *found = NULL;
        gs_tune_options how = *run->options;
        gs_llm_options llm = how.llm ? *how.llm : (gs_llm_options){0};
        llm.store = run->store;
        llm.session = run->session;
        how.llm = &llm;
        status = gs_run_policy(&policy, &how, run->seed, error);
        if (status == GS_OK && policy.asks_found && !policy.found) {
            status = gs_run_found(run->store, run->session, &found, &policy.found_count, error);
            policy.found = found;
        }
        if (status == GS_OK) status = search(run, &policy, &known, error);
        if (status == GS_OK && run->options->learn_path && policy.save) status = policy.save(&policy, run->options->learn_path, error);
        if (policy.destroy) policy.destroy(&policy);
        free(found);
    }
    free(known.list);
    gs_run_close(run);
    return status;
}

/* Every candidate runs once, the finalists are verified, the winner runs once more. */
double gs_tune_seconds(const gs_problem *problem, const gs_tune_options *options)
{
    const int most = gs_run_candidates(options, true, CANDIDATES);
    return gs_emulated_seconds(problem, most + 1, 2) + GS_MIN(most, GS_RUN_FINALISTS) * gs_verify_seconds(problem, 0, true);
}

gs_run gs_run_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                   const gs_tune_options *options, gs_tune_result *result)
{
    gs_run run = {
        .store = store, .session = session, .worker = worker, .caps = caps, .problem = problem, .options = options,
        .result = result, .floor_us = gs_floor_us(problem, caps), .started = gs_clock_ns(),
        .seed = options->seed ? options->seed : gs_random_entropy(),
    };
    gs_problem_format(problem, run.text);
    return run;
}

void gs_run_close(gs_run *run)
{
    free(run->list);
    run->list = NULL;
    run->count = 0;
}

gs_status gs_tune(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                  const gs_tune_options *options, gs_tune_result *result, gs_error *error)
{
    *result = (gs_tune_result){0};
    GS_TRY(gs_problem_check(problem, error));
    if (problem->m == 0 || problem->n == 0 || problem->k == 0 || problem->batch == 0)
        return gs_fail(error, GS_ERROR_RANGE, NULL, "an empty problem has nothing to tune");
    gs_run run = gs_run_open(store, session, worker, caps, problem, options, result);
    const gs_status status = tune(&run, error);
    if (status == GS_ERROR_INTERRUPTED) gs_run_check(&run, error);   /* says how to go on, whoever noticed first */
    result->seconds = gs_run_since(run.started);
    return status;
}

/* SPDX-License-Identifier: MIT
 * The candidates of a search: what a policy proposes, what the store knows about them, and what the policy is told. */
#include "tune/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stop.h"

enum { EMULATED_CANDIDATES = 8, MOST_CANDIDATES = 16384 };
#define CONFIRM_SHARE 0.35   /* of the budget, kept for verifying and confirming */

const char *gs_tune_stage_name(gs_tune_stage stage)
{
    static const char *const names[] = {
        [GS_TUNE_COMPILE] = "compile", [GS_TUNE_RACE] = "race", [GS_TUNE_VERIFY] = "verify", [GS_TUNE_CONFIRM] = "confirm", [GS_TUNE_OTHERS] = "others",
    };
    return (unsigned)stage < GS_COUNT(names) ? names[stage] : "";
}

bool gs_run_may_explore(const gs_run *run)
{
    if (gs_stop_requested) return false;
    return run->evaluator.options.budget_s <= 0 || gs_evaluator_left_s(&run->evaluator) > CONFIRM_SHARE * run->evaluator.options.budget_s + run->longest_s;
}

void gs_run_progress(const gs_run *run, gs_tune_stage stage, int done, int total, const char *candidate)
{
    if (!run->options->progress) return;
    double best = 0;
    for (int i = 0; i < run->count; i++)
        if (!gs_candidate_out(&run->list[i])) best = GS_MAX(best, run->list[i].ratio.median);
    const gs_tune_progress progress = {run->evaluator.text, stage, done, total, candidate, best, gs_evaluator_left_s(&run->evaluator)};
    run->options->progress(run->options->self, &progress);
}

gs_run gs_run_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                   const gs_tune_options *options, gs_tune_result *result)
{
    const gs_evaluator_options how = {
        .reward = options->reward, .dependent = options->dependent, .seed = options->seed, .cache_path = options->cache_path,
        .timeout_s = options->timeout_s, .budget_s = options->budget_s, .whole_s = options->whole_s,
    };
    gs_run run = {.evaluator = gs_evaluator_open(store, session, worker, caps, problem, &how), .options = options, .result = result};
    run.evaluator.may_lack = GS_LACK_WRONG;
    return run;
}

void gs_run_account(gs_run *run)
{
    run->result->verified = run->evaluator.counts.verified;
    run->result->measured = run->evaluator.counts.measured;
    run->result->rejected = run->evaluator.counts.rejected;
    run->result->spent.verify = run->evaluator.counts.verify_s;
}

void gs_run_close(gs_run *run)
{
    free(run->list);
    run->list = NULL;
    run->count = 0;
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
    gs_status status = gs_store_trials(run->evaluator.store, run->evaluator.session->device, run->evaluator.text, remember, known, error);
    if (status == GS_OK && known->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what the store knows");
    return status;
}

double gs_run_known_us(const gs_run *run, const gs_trials *known)
{
    double us = 0;
    for (int i = 0; i < known->count; i++) {
        const gs_trial *const t = &known->list[i];
        if (gs_verdict_find(t->verdict) != GS_VERDICT_PASS || !(t->us > 0) || strcmp(t->version, run->evaluator.session->version) != 0) continue;
        if (us == 0 || t->us < us) us = t->us;
    }
    return us;
}

/* ---- candidates ---- */

static const gs_trial *find_trial(const gs_trials *known, const char *candidate)
{
    for (int i = 0; i < known->count; i++)
        if (strcmp(known->list[i].candidate, candidate) == 0) return &known->list[i];
    return NULL;
}

static void add_candidate(gs_run *run, const gs_schedule *schedule, const gs_trials *known)
{
    char text[GS_SCHEDULE_TEXT];
    const gs_trial *trial = find_trial(known, gs_schedule_format(schedule, text));
    if (trial && strcmp(trial->version, run->evaluator.session->version) != 0) trial = NULL;   /* it belongs to other kernel sources */
    if (trial && trial->verdict[0] && gs_verdict_find(trial->verdict) != GS_VERDICT_PASS) return;   /* also a verdict that this version does not know */
    const gs_resources resources = gs_schedule_resources(schedule, run->evaluator.problem, run->evaluator.caps);
    gs_candidate *const c = &run->list[run->count++];
    *c = (gs_candidate){.schedule = *schedule, .registers = resources.registers, .smem = resources.smem};
    memcpy(c->text, text, sizeof text);
    c->predicted_us = gs_schedule_predict(schedule, run->evaluator.problem, run->evaluator.caps);
    if (!trial) return;
    c->verdict = gs_verdict_find(trial->verdict);
    c->compared = trial->ratio > 0;
    if (run->options->again || run->evaluator.search || !c->compared) return;
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
        if (gs_schedule_check(&list[i], run->evaluator.problem, run->evaluator.caps, NULL) != GS_OK || is_candidate(run, &list[i])) continue;
        run->result->proposed++;
        add_candidate(run, &list[i], known);
    }
}

/* ---- the policy ---- */

/* Limits the wait for a language model's answer, so that there is time left for confirmation. */
static gs_status create_policy(gs_policy *out, const char *name, const gs_tune_options *options, uint64_t seed, gs_error *error)
{
    gs_llm_options llm = options->llm ? *options->llm : (gs_llm_options){0};
    const double most = options->budget_s / 3;
    if (most > 0 && !(llm.answer_s > 0 && llm.answer_s < most)) llm.answer_s = most;
    return gs_policy_create_with(out, name, &llm, options->learn_path, seed, error);
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

gs_status gs_run_shortlist(gs_run *run, gs_policy *policy, const gs_trials *known, int most, int room, const gs_schedule *first, int first_count,
                           gs_error *error)
{
    run->list = calloc((size_t)room, sizeof *run->list);
    gs_schedule *const batch = calloc((size_t)most, sizeof *batch);
    if (first && run->list && batch) {
        gs_run_add(run, first, first_count, known);
        /* `first` came from another process's policy: let this one make, and discard, the same proposals, so that it continues after them */
        if (run->count < most && first_count == most) policy->propose(policy, run->evaluator.problem, run->evaluator.caps, batch, most);
    }
    for (int got = !first || first_count == most; run->list && batch && got > 0 && run->count < most;) {
        got = policy->propose(policy, run->evaluator.problem, run->evaluator.caps, batch, most - run->count);
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
        got = policy->propose(policy, run->evaluator.problem, run->evaluator.caps, batch, most - run->count);
        gs_run_add(run, batch, got, known);
    }
    free(batch);
    return GS_OK;
}

/* A list's race drops slow candidates early. One that left early was slower than the slowest that stayed to the end, even if its time, from another clock rate, says otherwise. */
static gs_candidate as_compared(const gs_run *run, const gs_candidate *candidate)
{
    gs_candidate compared = *candidate;
    double us = 0;
    int rounds = 0;
    for (int i = 0; run->evaluator.search && i < run->count; i++) {
        const gs_candidate *const c = &run->list[i];
        if (!c->measured || gs_candidate_out(c) || c->rounds < rounds) continue;
        us = c->rounds > rounds ? c->us : GS_MAX(us, c->us);
        rounds = c->rounds;
    }
    if (compared.rounds < rounds) compared.us = GS_MAX(compared.us, us);
    return compared;
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
        const bool alone = out || gs_evaluator_lacks(&run->evaluator);
        feedback[count++] = (gs_feedback){c.schedule, run->list[i].verdict, out ? 0 : c.us, alone ? 0 : c.ratio.median, gs_evaluator_reward(&run->evaluator, &c),
                                            run->list[i].reason};
    }
    policy->learn(policy, run->evaluator.problem, run->evaluator.caps, feedback, count);
    free(feedback);
}

/* SPDX-License-Identifier: MIT
 * The environment: one candidate from its text to its reward, with what is known of its problem. The steps are evaluate.h's. */
#include "evaluate/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "inspect/inspect.h"
#include "worker/contenders.h"
#include "evaluate/evaluate.h"
#include "evaluate/internal.h"

#define COMPILE_S 60.0

gs_status gs_environment_create(gs_environment **out, gs_worker *worker, const gs_caps *caps, gs_store *store, gs_session *session,
                                const gs_environment_options *options, gs_error *error)
{
    *out = NULL;
    if (!store != !session) return gs_fail(error, GS_ERROR_ARGUMENT, "store", "a store and its session come together");
    if (options && ((unsigned)options->reward >= GS_REWARDS || options->rounds < 0))
        return gs_fail(error, GS_ERROR_ARGUMENT, "options", "no such reward, or less than no rounds");
    gs_environment *const e = calloc(1, sizeof *e);
    if (!e) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an environment");
    *e = (gs_environment){.worker = worker, .caps = *caps, .store = store, .session = session};
    if (options) e->options = *options;
    e->seed = e->options.seed ? e->options.seed : gs_random_entropy();
    if (!(e->options.compile_s > 0)) e->options.compile_s = COMPILE_S;
    e->emulation = (gs_emulation){.worker = e->options.emulator, .compile_s = e->options.compile_s, .limit_s = e->options.emulator_s};
    *out = e;
    return GS_OK;
}

void gs_environment_destroy(gs_environment **environment)
{
    if (!environment || !*environment) return;
    free((*environment)->known);
    free((*environment)->ahead);
    free(*environment);
    *environment = NULL;
}

/* ---- what is known of a problem ---- */

static gs_known_best *find_known(const gs_environment *e, const char *problem)
{
    for (int i = 0; i < e->known_count; i++)
        if (strcmp(e->known[i].problem, problem) == 0) return &e->known[i];
    return NULL;
}

static gs_status remember(gs_environment *e, const char *problem, double us, gs_error *error)
{
    gs_known_best *known = find_known(e, problem);
    if (!known) {
        if (!gs_grow(&e->known, e->known_count, &e->known_capacity, sizeof *e->known)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what is known");
        known = &e->known[e->known_count++];
        snprintf(known->problem, sizeof known->problem, "%s", problem);
        known->us = us;
    }
    known->us = GS_MIN(known->us, us);
    return GS_OK;
}

gs_status gs_environment_take_known(const gs_environment *e, gs_evaluator *run, gs_error *error)
{
    const gs_known_best *const here = find_known(e, run->text);
    run->known_us = here ? here->us : 0;
    if (!e->store) return GS_OK;
    double us;
    GS_TRY(gs_store_best_us(e->store, e->session->device, run->text, e->session->version, &us, error));
    if (us > 0 && (run->known_us == 0 || us < run->known_us)) run->known_us = us;
    return GS_OK;
}

gs_evaluator gs_environment_evaluator(const gs_environment *e, const gs_problem *problem)
{
    const gs_evaluator_options options = {.cache_path = e->options.cache_path, .dependent = e->options.dependent, .timeout_s = e->options.timeout_s,
                                          .reward = e->options.reward, .seed = e->seed};
    gs_evaluator run = gs_evaluator_open(e->store, e->session, e->worker, &e->caps, problem, &options);
    run.may_lack = GS_LACK_REFUSED;
    return run;
}

gs_status gs_environment_known(const gs_environment *e, const gs_problem *problem, double *us, gs_error *error)
{
    gs_evaluator run = gs_environment_evaluator(e, problem);
    const gs_status status = gs_environment_take_known(e, &run, error);
    *us = run.known_us;
    return status;
}

/* ---- one candidate ---- */

char *gs_submission_name(const char *source, const char *manifest, char name[GS_CONTENDER_NAME])
{
    char hash[GS_HASH_TEXT];
    const char *const texts[] = {source, manifest};
    snprintf(name, GS_CONTENDER_NAME, GS_USER_KERNEL "%s", gs_hash_format(gs_hash_strings(texts, GS_COUNT(texts)), hash));
    return name;
}

/* Also finds a schedule's resources and predicted time. */
gs_status gs_evaluator_read_schedule(gs_evaluator *run, const char *text, gs_candidate *c, gs_error *error)
{
    gs_error why = {0};
    gs_status status = gs_schedule_parse(&c->schedule, text, &why);
    if (status == GS_OK) {
        gs_schedule_format(&c->schedule, c->text);
        status = gs_schedule_check(&c->schedule, run->problem, run->caps, &why);
    }
    if (status != GS_OK) return gs_evaluator_refuse(run, c, status, &why, error);
    const gs_resources resources = gs_schedule_resources(&c->schedule, run->problem, run->caps);
    c->registers = resources.registers;
    c->smem = resources.smem;
    c->predicted_us = gs_schedule_predict(&c->schedule, run->problem, run->caps);
    return GS_OK;
}

static gs_status read_kernel(gs_evaluator *run, const gs_submission *submission, gs_candidate *c, gs_error *error)
{
    gs_error why = {0};
    gs_manifest manifest;
    char name[GS_CONTENDER_NAME];
    snprintf(c->text, sizeof c->text, "%.*s", (int)sizeof c->text - 1, gs_submission_name(submission->source, submission->manifest, name));
    c->source = submission->source;
    c->manifest = submission->manifest;
    if (strlen(c->source) > GS_INSPECT_SOURCE_MAX || strlen(c->manifest) > GS_INSPECT_SOURCE_MAX)
        return gs_evaluator_reject(run, c, GS_VERDICT_FORBIDDEN, 0, "size: a text beyond the limits", error);
    if (run->store && *c->source && *c->manifest) GS_TRY(gs_store_source_put(run->store, c->text, c->source, c->manifest, error));
    const gs_status status = gs_manifest_parse(&manifest, c->manifest, &why);
    return status == GS_OK ? GS_OK : gs_evaluator_refuse(run, c, status, &why, error);
}

/* A user kernel for which the device lacks memory has asked for too large a workspace: the problem itself fitted before. */
static gs_status settle(gs_evaluator *run, gs_candidate *c, gs_status status, const gs_error *why, gs_error *error)
{
    if (status == GS_ERROR_DEVICE_MEMORY && c->source) return gs_evaluator_refuse(run, c, status, why, error);
    if (status != GS_OK && error) *error = *why;
    return status;
}

static gs_status prove(gs_evaluator *run, gs_candidate *c, gs_error *error)
{
    gs_error why = {0};
    return settle(run, c, gs_evaluator_prove(run, c, &why), &why, error);
}

/* Measures it as a group of one: a worker that it takes down is its verdict. */
static gs_status measure(gs_evaluator *run, gs_candidate *c, int rounds, gs_stage stage, gs_error *error)
{
    gs_error why = {0};
    GS_TRY(gs_evaluator_check(run, error));
    return settle(run, c, gs_evaluator_group(run, &c, 1, rounds, stage, &why), &why, error);
}

static int rounds_of(const gs_environment *e) { return e->options.rounds > 0 ? e->options.rounds : GS_FINAL_ROUNDS; }

/* Lists the valid schedules that are to be timed beside a candidate, each once. An invalid one is reported when it is evaluated. */
static gs_status list_beside(gs_environment *e, gs_evaluator *run, const gs_submission *submission, const gs_candidate *c, gs_error *error)
{
    gs_timed_ahead *const ahead = e->ahead;
    ahead->count = 0;
    snprintf(ahead->problem, sizeof ahead->problem, "%s", run->text);
    for (int i = 0; i < submission->besides && ahead->count < GS_BESIDE; i++) {
        gs_candidate *const one = &ahead->list[ahead->count];
        *one = (gs_candidate){.ahead = &ahead->samples[ahead->count]};
        one->ahead->count = 0;
        GS_TRY(gs_evaluator_read_schedule(run, submission->beside[i], one, error));
        bool known = gs_candidate_out(one) || strcmp(one->text, c->text) == 0;
        for (int j = 0; j < ahead->count; j++) known |= strcmp(one->text, ahead->list[j].text) == 0;
        ahead->count += !known;
    }
    return GS_OK;
}

/* Measures the candidate and those beside it in one run. The others' figures, if not doubted, are used when they are evaluated. */
static gs_status measure_together(gs_environment *e, gs_evaluator *run, gs_candidate *c, gs_error *error)
{
    gs_timed_ahead *const ahead = e->ahead;
    gs_candidate *list[1 + GS_BESIDE] = {c};
    for (int i = 0; i < ahead->count; i++) list[1 + i] = &ahead->list[i];
    const gs_status status = gs_evaluator_group(run, list, 1 + ahead->count, rounds_of(e), GS_STAGE_FINAL, error);
    if (status != GS_OK) ahead->count = 0;
    return status;
}

static gs_candidate *find_ahead(const gs_environment *e, const gs_evaluator *run, const gs_candidate *c)
{
    if (!e->ahead || strcmp(e->ahead->problem, run->text) != 0) return NULL;
    for (int i = 0; i < e->ahead->count; i++) {
        gs_candidate *const one = &e->ahead->list[i];
        if (strcmp(one->text, c->text) == 0) return one->measured && !one->doubted && !gs_candidate_out(one) ? one : NULL;
    }
    return NULL;
}

static gs_status measure_first(gs_environment *e, gs_evaluator *run, const gs_submission *submission, gs_candidate *c, gs_error *error)
{
    gs_candidate *const timed = c->source ? NULL : find_ahead(e, run, c);
    if (timed) {
        timed->measured = false;   /* used once: a later evaluation times it again */
        return gs_evaluator_take_ahead(run, c, timed, error);
    }
    if (c->source || submission->besides < 1 || e->caps.emulated || rounds_of(e) > GS_AHEAD_ROUNDS) return measure(run, c, rounds_of(e), GS_STAGE_FINAL, error);
    if (!e->ahead) e->ahead = calloc(1, sizeof *e->ahead);
    if (!e->ahead) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for those that are timed beside it");
    GS_TRY(gs_evaluator_check(run, error));
    GS_TRY(list_beside(e, run, submission, c, error));
    return measure_together(e, run, c, error);
}

static gs_status measure_second(gs_evaluator *run, gs_candidate *c, gs_evaluation *out, gs_error *error)
{
    const gs_ratio first = c->ratio;
    out->jumped = c->doubted;
    out->second = c->second = true;
    out->first_us = c->us;
    gs_worker_stop(run->worker);   /* the next request starts a fresh one, and has another seed */
    GS_TRY(measure(run, c, GS_CONFIRM_ROUNDS, GS_STAGE_CONFIRM, error));
    out->agreed = !gs_candidate_out(c) && gs_ratios_agree(&first, &c->ratio);
    return GS_OK;
}

static gs_status read_text(gs_evaluator *run, const gs_submission *submission, gs_candidate *c, gs_error *error)
{
    GS_TRY(gs_evaluator_check(run, error));
    return submission->schedule ? gs_evaluator_read_schedule(run, submission->schedule, c, error) : read_kernel(run, submission, c, error);
}

/* Runs it on the emulated device, unless the preparation has done so. */
static gs_status emulate(gs_environment *e, gs_evaluator *run, const gs_preparation *prepared, gs_candidate *c, gs_evaluation *out, gs_error *error)
{
    const int64_t began = gs_clock_ns();
    if (prepared && prepared->done) {
        snprintf(out->note, sizeof out->note, "%s", prepared->note);
        out->spent.emulator = prepared->emulator_s;
        out->spent.compile = prepared->compile_s;
        return GS_OK;
    }
    GS_TRY(gs_evaluator_emulate(run, &e->emulation, c, &out->step, out->note, error));
    out->spent.emulator = gs_clock_since(began);
    return GS_OK;
}

/* The steps that need no device. For an emulated device a user kernel is compiled and inspected in a worker of the same one. */
static gs_status prepare(gs_environment *e, gs_evaluator *run, const gs_submission *submission, gs_candidate *c, gs_evaluation *out, gs_error *error)
{
    GS_TRY(read_text(run, submission, c, error));
    if (gs_candidate_out(c)) return GS_OK;
    GS_TRY(emulate(e, run, NULL, c, out, error));
    if (gs_candidate_out(c)) return GS_OK;
    const int64_t began = gs_clock_ns();
    out->step = GS_STEP_COMPILE;
    if (c->source && e->caps.emulated) GS_TRY(gs_evaluator_prepare(run, c, e->options.compile_s, error));
    else GS_TRY(gs_evaluator_precompile(run, c, true, e->options.compile_s, error));
    out->spent.compile = gs_clock_since(began);
    return GS_OK;
}

static gs_status evaluate(gs_environment *e, gs_evaluator *run, const gs_submission *submission, gs_candidate *c, gs_evaluation *out, gs_error *error)
{
    GS_TRY(read_text(run, submission, c, error));
    if (gs_candidate_out(c)) return GS_OK;
    GS_TRY(emulate(e, run, submission->prepared, c, out, error));
    if (gs_candidate_out(c)) return GS_OK;

    int64_t began = gs_clock_ns();
    out->step = GS_STEP_COMPILE;
    GS_TRY(gs_evaluator_prepare(run, c, e->options.compile_s, error));
    out->spent.compile += gs_clock_since(began);
    if (gs_candidate_out(c)) return GS_OK;

    out->step = GS_STEP_VERIFY;
    began = gs_clock_ns();
    GS_TRY(prove(run, c, error));
    out->spent.verify = gs_clock_since(began);
    if (gs_candidate_out(c)) return GS_OK;

    out->step = GS_STEP_TIME;
    began = gs_clock_ns();
    GS_TRY(measure_first(e, run, submission, c, error));
    out->spent.time = gs_clock_since(began);
    if (gs_candidate_out(c) || !(c->doubted || e->options.confirm)) return GS_OK;

    began = gs_clock_ns();
    GS_TRY(measure_second(run, c, out, error));
    out->spent.second = gs_clock_since(began);
    return GS_OK;
}

void gs_evaluation_fill(const gs_evaluator *run, const gs_candidate *c, bool timed, gs_evaluation *out)
{
    snprintf(out->candidate, sizeof out->candidate, "%s", c->text);
    snprintf(out->reason, sizeof out->reason, "%s", c->reason);
    out->verdict = c->verdict;
    out->signal = c->signal;
    out->part = c->part;
    out->registers = c->registers;
    out->smem = c->smem;
    out->bytes = c->source ? (int)GS_MIN(strlen(c->source), (size_t)1 << 30) : 0;
    out->reward = gs_evaluator_reward(run, c);
    if (!timed) return;
    snprintf(out->untrusted, sizeof out->untrusted, "%s", c->untrusted);
    if (c->untrusted[0]) {
        out->untrusted_us = c->us;
        return;
    }
    out->us = c->us;
    out->library_us = c->library_us;
    out->ratio = c->ratio;
    out->rounds = c->rounds;
    out->mhz = c->mhz;
    if (!c->source) out->l2_hit = gs_l2_hit(&c->schedule, run->problem, run->caps);
}

static gs_status begin(gs_environment *e, const gs_problem *problem, const gs_submission *submission, gs_evaluator *run, gs_evaluation *out, gs_error *error)
{
    *out = (gs_evaluation){.step = GS_STEP_TEXT, .reward = -1, .l2_hit = -1, .predicted = e->caps.emulated};
    GS_TRY(gs_evaluator_takes(problem, "evaluate", error));
    if (!submission->schedule == !(submission->source && submission->manifest))
        return gs_fail(error, GS_ERROR_ARGUMENT, "candidate", "either a schedule, or a source and its manifest");
    *run = gs_environment_evaluator(e, problem);
    run->doubts = run->follows = true;
    run->compile_s = e->options.compile_s;
    out->floor_us = run->floor_us;
    return GS_OK;
}

gs_status gs_evaluate(gs_environment *e, const gs_problem *problem, const gs_submission *submission, gs_evaluation *out, gs_error *error)
{
    gs_evaluator run;
    gs_candidate c = {0};
    GS_TRY(begin(e, problem, submission, &run, out, error));
    gs_status status = gs_environment_take_known(e, &run, error);
    if (status == GS_OK) status = evaluate(e, &run, submission, &c, out, error);
    if (status == GS_OK) gs_evaluation_fill(&run, &c, gs_candidate_passed(&c), out);
    if (status == GS_OK) gs_evaluation_measure(e, &run, &c, out);
    if (status == GS_OK && gs_candidate_passed(&c) && out->us > 0 && !e->store) status = remember(e, run.text, c.us, error);
    e->seed = run.seed;
    out->spent.all = gs_clock_since(run.started);
    if (submission->prepared) out->spent.all += submission->prepared->emulator_s + submission->prepared->compile_s;
    return status;
}

gs_status gs_evaluate_prepare(gs_environment *e, const gs_problem *problem, const gs_submission *submission, gs_evaluation *out, gs_preparation *prepared, gs_error *error)
{
    gs_evaluator run;
    gs_candidate c = {0};
    *prepared = (gs_preparation){0};
    GS_TRY(begin(e, problem, submission, &run, out, error));
    const gs_status status = prepare(e, &run, submission, &c, out, error);
    if (status == GS_OK) gs_evaluation_fill(&run, &c, gs_candidate_passed(&c), out);
    e->seed = run.seed;
    out->spent.all = gs_clock_since(run.started);
    *prepared = (gs_preparation){.done = status == GS_OK, .compile_s = out->spent.compile, .emulator_s = out->spent.emulator};
    snprintf(prepared->note, sizeof prepared->note, "%s", out->note);
    return status;
}

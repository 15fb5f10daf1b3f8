/* SPDX-License-Identifier: MIT
 * The environment: a tuning run with one candidate, from its text to its reward. The stages are race.c's and ask.c's. */
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
#include "evaluate/emulate.h"
#include "evaluate/run.h"

#define COMPILE_S 60.0

/* The best time of a problem that passed here, where there is no store to ask. */
typedef struct best {
    char   problem[GS_PROBLEM_TEXT];
    double us;
} best;

struct gs_environment {
    gs_worker             *worker;
    gs_caps                caps;
    gs_store              *store;      /* NULL: nothing is kept */
    gs_session            *session;
    gs_environment_options options;
    gs_tune_options        how;        /* the same for the stages */
    gs_emulation           emulation;
    uint64_t               seed;       /* goes from run to run */
    best                  *known;
    int                    known_count, known_capacity;
};

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
    e->how = (gs_tune_options){.cache_path = e->options.cache_path, .dependent = e->options.dependent, .timeout_s = e->options.timeout_s,
                               .reward = e->options.reward};
    if (!(e->options.compile_s > 0)) e->options.compile_s = COMPILE_S;
    e->emulation = (gs_emulation){.worker = e->options.emulator, .compile_s = e->options.compile_s, .limit_s = e->options.emulator_s};
    *out = e;
    return GS_OK;
}

void gs_environment_destroy(gs_environment **environment)
{
    if (!environment || !*environment) return;
    free((*environment)->known);
    free(*environment);
    *environment = NULL;
}

/* ---- what is known of a problem ---- */

static best *find_known(const gs_environment *e, const char *problem)
{
    for (int i = 0; i < e->known_count; i++)
        if (strcmp(e->known[i].problem, problem) == 0) return &e->known[i];
    return NULL;
}

static gs_status remember(gs_environment *e, const char *problem, double us, gs_error *error)
{
    best *known = find_known(e, problem);
    if (known) {
        known->us = GS_MIN(known->us, us);
        return GS_OK;
    }
    if (!gs_grow(&e->known, e->known_count, &e->known_capacity, sizeof *e->known)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what is known");
    known = &e->known[e->known_count++];
    snprintf(known->problem, sizeof known->problem, "%s", problem);
    known->us = us;
    return GS_OK;
}

static gs_status take_known(const gs_environment *e, gs_run *run, gs_error *error)
{
    const best *const here = find_known(e, run->text);
    run->known_us = here ? here->us : 0;
    if (!e->store) return GS_OK;
    double us;
    GS_TRY(gs_store_best_us(e->store, e->session->device, run->text, e->session->version, &us, error));
    if (us > 0 && (run->known_us == 0 || us < run->known_us)) run->known_us = us;
    return GS_OK;
}

gs_status gs_environment_known(const gs_environment *e, const gs_problem *problem, double *us, gs_error *error)
{
    gs_tune_result ignored = {0};
    gs_run run = gs_run_open(e->store, e->session, e->worker, &e->caps, problem, &e->how, &ignored);
    const gs_status status = take_known(e, &run, error);
    *us = run.known_us;
    gs_run_close(&run);
    return status;
}

/* ---- one candidate ---- */

double gs_run_reward(const gs_run *run, const gs_candidate *c)
{
    const bool hit = run->options->reward == GS_REWARD_COMPOSITE && !c->source && !gs_candidate_out(c);
    const gs_judged outcome = {
        .passed = !gs_candidate_out(c), .alone = run->caps->emulated || run->search, .ratio = c->ratio, .us = c->us, .library_us = c->library_us,
        .floor_us = run->floor_us, .l2_hit = hit ? gs_l2_hit(&c->schedule, run->problem, run->caps) : -1,
    };
    return gs_reward_of(run->options->reward, &outcome);
}

char *gs_submission_name(const char *source, const char *manifest, char name[GS_CONTENDER_NAME])
{
    char hash[GS_HASH_TEXT];
    const char *const texts[] = {source, manifest};
    snprintf(name, GS_CONTENDER_NAME, GS_USER_KERNEL "%s", gs_hash_format(gs_hash_strings(texts, GS_COUNT(texts)), hash));
    return name;
}

/* What its text says before the worker has seen it. A candidate that is out has its verdict. */
static gs_status read_schedule(gs_run *run, const char *text, gs_candidate *c, gs_error *error)
{
    gs_error why = {0};
    gs_status status = gs_schedule_parse(&c->schedule, text, &why);
    if (status == GS_OK) {
        gs_schedule_format(&c->schedule, c->text);
        status = gs_schedule_check(&c->schedule, run->problem, run->caps, &why);
    }
    if (status != GS_OK) return gs_run_refuse(run, c, status, &why, error);
    const gs_resources resources = gs_schedule_resources(&c->schedule, run->problem, run->caps);
    c->registers = resources.registers;
    c->smem = resources.smem;
    c->predicted_us = gs_schedule_predict(&c->schedule, run->problem, run->caps);
    return GS_OK;
}

static gs_status read_kernel(gs_run *run, const gs_submission *submission, gs_candidate *c, gs_error *error)
{
    gs_error why = {0};
    gs_manifest manifest;
    char name[GS_CONTENDER_NAME];
    snprintf(c->text, sizeof c->text, "%.*s", (int)sizeof c->text - 1, gs_submission_name(submission->source, submission->manifest, name));
    c->source = submission->source;
    c->manifest = submission->manifest;
    if (strlen(c->source) > GS_INSPECT_SOURCE_MAX || strlen(c->manifest) > GS_INSPECT_SOURCE_MAX)
        return gs_run_reject(run, c, GS_VERDICT_FORBIDDEN, 0, "size: a text beyond the limits", error);
    if (run->store && *c->source && *c->manifest) GS_TRY(gs_store_source_put(run->store, c->text, c->source, c->manifest, error));
    const gs_status status = gs_manifest_parse(&manifest, c->manifest, &why);
    return status == GS_OK ? GS_OK : gs_run_refuse(run, c, status, &why, error);
}

/* A device that had memory enough for the problem before lacks it now: a user kernel has taken what it liked for its workspace. */
static gs_status settle(gs_run *run, gs_candidate *c, gs_status status, const gs_error *why, gs_error *error)
{
    if (status == GS_ERROR_DEVICE_MEMORY && c->source) return gs_run_refuse(run, c, status, why, error);
    if (status != GS_OK && error) *error = *why;
    return status;
}

static gs_status prove(gs_run *run, gs_candidate *c, gs_error *error)
{
    gs_error why = {0};
    return settle(run, c, gs_run_prove(run, c, &why), &why, error);
}

/* Figures, from one group of one: a worker that it takes down is its verdict. */
static gs_status measure(gs_run *run, gs_candidate *c, int rounds, const char *stage, gs_error *error)
{
    gs_error why = {0};
    GS_TRY(gs_run_check(run, error));
    return settle(run, c, gs_run_group(run, &c, 1, rounds, stage, &why), &why, error);
}

static gs_status measure_again(gs_run *run, gs_candidate *c, gs_evaluation *out, gs_error *error)
{
    const gs_ratio first = c->ratio;
    out->jumped = c->doubted;
    out->again = c->again = true;
    out->first_us = c->us;
    gs_worker_stop(run->worker);   /* the next request starts a fresh one, and has another seed */
    GS_TRY(measure(run, c, GS_RUN_CONFIRM_ROUNDS, "confirm", error));
    out->agreed = !gs_candidate_out(c) && gs_ratios_agree(&first, &c->ratio);
    return GS_OK;
}

static gs_status evaluate(gs_environment *e, gs_run *run, const gs_submission *submission, gs_candidate *c, gs_evaluation *out, gs_error *error)
{
    int64_t began = gs_clock_ns();
    GS_TRY(gs_run_check(run, error));
    GS_TRY(submission->schedule ? read_schedule(run, submission->schedule, c, error) : read_kernel(run, submission, c, error));
    if (gs_candidate_out(c)) return GS_OK;

    GS_TRY(gs_run_emulate(run, &e->emulation, c, &out->stage, out->note, error));
    out->spent.emulator = gs_run_since(began);
    if (gs_candidate_out(c)) return GS_OK;

    began = gs_clock_ns();
    out->stage = "compile";
    GS_TRY(gs_run_prepare(run, c, e->options.compile_s, error));
    out->spent.compile = gs_run_since(began);
    if (gs_candidate_out(c)) return GS_OK;

    out->stage = "verify";
    began = gs_clock_ns();
    GS_TRY(prove(run, c, error));
    out->spent.verify = gs_run_since(began);
    if (gs_candidate_out(c)) return GS_OK;

    out->stage = "time";
    began = gs_clock_ns();
    GS_TRY(measure(run, c, e->options.rounds > 0 ? e->options.rounds : GS_RUN_FINAL_ROUNDS, "final", error));
    out->spent.time = gs_run_since(began);
    if (gs_candidate_out(c) || !(c->doubted || e->options.confirm)) return GS_OK;

    began = gs_clock_ns();
    GS_TRY(measure_again(run, c, out, error));
    out->spent.again = gs_run_since(began);
    return GS_OK;
}

static void fill(const gs_run *run, const gs_candidate *c, gs_evaluation *out)
{
    const bool passed = gs_candidate_passed(c);
    snprintf(out->candidate, sizeof out->candidate, "%s", c->text);
    snprintf(out->reason, sizeof out->reason, "%s", c->reason);
    out->verdict = gs_verdict_name(gs_verdict_find(c->verdict));
    out->part = c->part;
    out->registers = c->registers;
    out->smem = c->smem;
    out->reward = gs_run_reward(run, c);
    if (!passed) return;
    out->us = c->us;
    out->library_us = c->library_us;
    out->ratio = c->ratio;
    out->rounds = c->rounds;
    out->mhz = c->mhz;
    if (!c->source) out->l2_hit = gs_l2_hit(&c->schedule, run->problem, run->caps);
}

gs_status gs_evaluate(gs_environment *e, const gs_problem *problem, const gs_submission *submission, gs_evaluation *out, gs_error *error)
{
    *out = (gs_evaluation){.verdict = "", .stage = "text", .reward = -1, .l2_hit = -1, .predicted = e->caps.emulated};
    GS_TRY(gs_problem_check(problem, error));
    if (problem->m == 0 || problem->n == 0 || problem->k == 0 || problem->batch == 0)
        return gs_fail(error, GS_ERROR_RANGE, NULL, "an empty problem has nothing to evaluate");
    if (!submission->schedule == !(submission->source && submission->manifest))
        return gs_fail(error, GS_ERROR_ARGUMENT, "candidate", "either a schedule, or a source and its manifest");
    gs_tune_result counts = {0};
    gs_run run = gs_run_open(e->store, e->session, e->worker, &e->caps, problem, &e->how, &counts);
    gs_candidate c = {0};
    run.seed = e->seed;
    run.doubts = true;
    run.compile_s = e->options.compile_s;
    out->floor_us = run.floor_us;
    gs_status status = take_known(e, &run, error);
    if (status == GS_OK) status = evaluate(e, &run, submission, &c, out, error);
    if (status == GS_OK) fill(&run, &c, out);
    if (status == GS_OK && gs_candidate_passed(&c) && !e->store) status = remember(e, run.text, c.us, error);
    e->seed = run.seed;
    out->spent.all = gs_run_since(run.started);
    gs_run_close(&run);
    return status;
}

/* SPDX-License-Identifier: MIT
 * The requests of a tuning run: how long they may take, and what their replies mean for the candidates. */
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "worker/wire.h"
#include "evaluate/run.h"

/* Seconds for a reply whatever the size, when the caller does not say; and how much slower than the floor a kernel may be before
 * it counts as hung. The generous factor covers the reference's own tuning, whose worst algorithms are slow. */
#define REPLY_S     60.0
#define ALONE_S     5.0       /* and for the library alone: who asks for shorter waits asks it of candidates */
#define SLOW        50.0
#define TUNE_RUNS   1500.0    /* calls for tuning the reference */
#define CHECK_RATE  2e10      /* flop/s that verification reaches at least, over all its parts */
#define PATIENCE    20.0      /* times the estimate, for an emulated device, of which kernels that never end are no danger */
#define IN_SANDBOX  0.8       /* of the time for a compilation: what takes longer ends there, and not with the worker */

#define WARMUP_S         0.5
#define LIST_WARMUP_S    0.1
#define SEARCH_WARMUP_S  0.005
#define SEARCH_REPLAY_US 200.0

static double base_timeout(const gs_run *run) { return run->options->timeout_s > 0 ? run->options->timeout_s : REPLY_S; }

static double bench_timeout(const gs_run *run, int count, int rounds)
{
    if (run->caps->emulated) return 10 * base_timeout(run) + PATIENCE * gs_emulated_seconds(run->problem, count, 1 + count);
    const double calls_us = (count + 1.0) * (rounds + 20.0) * (2000 + SLOW * run->floor_us);
    return (count > 0 ? base_timeout(run) : GS_MAX(base_timeout(run), ALONE_S)) + 1e-6 * (calls_us + TUNE_RUNS * 5 * run->floor_us);
}

static double verify_timeout(const gs_run *run, const gs_candidate *c)
{
    if (run->limit_s > 0) return run->limit_s;
    if (run->caps->emulated) return 10 * base_timeout(run) + PATIENCE * gs_verify_seconds(run->problem, 0, c->source || c->schedule.family != GS_FAMILY_SIMPLE);
    return base_timeout(run) + gs_problem_flops(run->problem) / CHECK_RATE + 200e-6 * c->us;
}

static int64_t next_seed(gs_run *run)
{
    gs_random random = {run->seed};
    run->seed = gs_random_next(&random);
    return (int64_t)(run->seed >> 1);
}

static gs_json begin_request(gs_run *run, gs_text *text, const char *op)
{
    gs_json json = gs_json_into(text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "op", op);
    gs_json_string(&json, "problem", run->text);
    if (run->options->cache_path) gs_json_string(&json, "cache", run->options->cache_path);
    gs_json_int(&json, "seed", next_seed(run));
    if (run->options->dependent) gs_json_bool(&json, "dependent", true);
    return json;
}

/* The text of a user kernel goes with every request: the worker may be a fresh one. */
static void put_kernel(const gs_run *run, gs_json *json, const gs_candidate *c)
{
    if (!c->source) return;
    gs_json_begin(json, "kernel", '{');
    gs_json_string(json, "name", c->text);
    gs_json_string(json, "source", c->source);
    gs_json_string(json, "manifest", c->manifest);
    if (run->compile_s > 0) gs_json_double(json, "compile_s", IN_SANDBOX * run->compile_s);
    gs_json_end(json, '}');
}

static gs_status send(gs_run *run, gs_text *text, double timeout_s, json_t **reply, gs_error *error)
{
    char *const line = gs_text_take(text);
    if (!line) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a request");
    const gs_status status = gs_worker_request(run->worker, line, timeout_s, reply, error);
    free(line);
    return status;
}

/* ---- keeping ---- */

/* Of a search only a measurement is put down that stands beside the library's, which a time alone does not. */
static gs_trial trial_of(const gs_run *run, const gs_candidate *c)
{
    gs_trial trial = {.registers = c->registers, .smem = c->smem, .predicted_us = c->predicted_us};
    snprintf(trial.problem, sizeof trial.problem, "%s", run->text);
    snprintf(trial.candidate, sizeof trial.candidate, "%s", c->text);
    snprintf(trial.verdict, sizeof trial.verdict, "%s", c->verdict);
    if (run->search && !run->caps->emulated && !(c->library_us > 0)) return trial;
    trial.us = c->us;
    trial.library_us = c->library_us;
    trial.ratio = c->ratio.median;
    trial.low = c->ratio.low;
    trial.high = c->ratio.high;
    trial.rounds = c->rounds;
    trial.mhz = c->mhz;
    return trial;
}

/* Puts the candidate as it stands into the store. stage, reason may be NULL. */
static gs_status keep(gs_run *run, const gs_candidate *c, const char *stage, int part, const char *reason, gs_error *error)
{
    if (!run->store || !c->text[0]) return GS_OK;   /* what cannot be read has no name */
    gs_trial trial = trial_of(run, c);
    trial.part = part;
    snprintf(trial.reason, sizeof trial.reason, "%s", reason ? reason : "");
    snprintf(trial.stage, sizeof trial.stage, "%s", stage ? stage : "");
    return gs_store_put(run->store, run->session, &trial, error);
}

gs_status gs_run_keep_times(gs_run *run, gs_error *error)
{
    gs_trial *const trials = calloc((size_t)run->count + 1, sizeof *trials);
    if (!trials) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what is to be kept");
    int count = 0;
    for (int i = 0; i < run->count; i++) {
        const gs_candidate *const c = &run->list[i];
        if (!c->measured || c->compared || gs_candidate_out(c)) continue;
        trials[count] = trial_of(run, c);
        trials[count].us = c->us;
        trials[count].rounds = c->rounds;
        trials[count].mhz = c->mhz;
        snprintf(trials[count++].stage, sizeof trials->stage, "search");
    }
    const gs_status status = gs_store_put_all(run->store, run->session, trials, count, error);
    free(trials);
    return status;
}

gs_status gs_run_reject(gs_run *run, gs_candidate *c, gs_verdict_code verdict, int part, const char *reason, gs_error *error)
{
    snprintf(c->verdict, sizeof c->verdict, "%s", gs_verdict_name(verdict));
    snprintf(c->reason, sizeof c->reason, "%s", reason && *reason ? reason : gs_verdict_text(verdict));
    c->part = part;
    if (c->doubted) {   /* figures that nobody believed are not kept beside a verdict either */
        c->us = c->library_us = 0;
        c->ratio = (gs_ratio){0};
        c->rounds = c->mhz = 0;
        c->doubted = false;
    }
    run->result->rejected++;
    return keep(run, c, c->emulated ? "emulator" : NULL, part, c->reason, error);
}

gs_status gs_run_refuse(gs_run *run, gs_candidate *c, gs_status status, const gs_error *why, gs_error *error)
{
    char reason[sizeof c->reason];
    const gs_verdict_code verdict = gs_verdict_from_status(status);
    if (verdict != GS_VERDICTS) return gs_run_reject(run, c, verdict, 0, gs_error_format(why, reason, sizeof reason), error);
    if (error) *error = *why;
    return status;
}

/* ---- bench ---- */

/* Statuses of a single contender that say something about the machine, not about the candidate. */
static bool machine_failed(gs_status status)
{
    return status == GS_ERROR_NO_COMPILER || status == GS_ERROR_MEMORY || status == GS_ERROR_NO_DRIVER ||
           status == GS_ERROR_DISK_FULL;
}

static gs_status reference_failed(const json_t *entry, gs_error *error)
{
    const gs_status status = gs_status_find(gs_reply_string(entry, "status", ""));
    if (status == GS_OK)
        return gs_fail(error, GS_ERROR_LIBRARY, NULL,
                       "the reference " GS_RUN_REFERENCE " computed a wrong result; nothing can be compared with it");
    return gs_fail(error, status, NULL, "the reference " GS_RUN_REFERENCE " cannot run: %s",
                   gs_reply_string(entry, "message", "no reason given"));
}

/* A predicted time has no library beside it: the floor stands in its place, exactly. */
static gs_ratio floor_ratio(const gs_run *run, double us)
{
    const double share = us > 0 ? run->floor_us / us : 0;
    return (gs_ratio){share, share, share, GS_UNCLEAR};
}

static gs_status keep_samples(gs_run *run, const gs_candidate *c, const json_t *entry, const json_t *reference, gs_error *error)
{
    const json_t *const ours = json_object_get(entry, "device_samples");
    const json_t *const theirs = json_object_get(reference, "device_samples");
    const size_t count = GS_MIN(json_array_size(ours), json_array_size(theirs));
    if (count == 0 || !run->store) return GS_OK;
    double *const us = calloc(2 * count, sizeof *us);
    if (!us) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for samples");
    for (size_t i = 0; i < count; i++) {
        us[i] = json_number_value(json_array_get(ours, i));
        us[count + i] = json_number_value(json_array_get(theirs, i));
    }
    const gs_status status = gs_store_samples(run->store, run->session, run->text, c->text, "device", us, us + count, (int)count,
                                              error);
    free(us);
    return status;
}

static bool searching(const char *stage) { return strcmp(stage, "search") == 0; }

static bool jumps(const gs_run *run, double us)
{
    const double known_us = run->known_us > 0 && run->library_us > 0 ? GS_MIN(run->known_us, run->library_us) : run->known_us + run->library_us;
    return run->doubts && gs_jumps(us, known_us);
}

/* One candidate's entry of a reply: a verdict or figures. reference NULL: times are predicted, or nothing stands beside them. */
static gs_status take_entry(gs_run *run, gs_candidate *c, const json_t *entry, const json_t *reference, int rounds,
                            const char *stage, gs_error *error)
{
    const gs_status status = gs_status_find(gs_reply_string(entry, "status", ""));
    const char *const message = gs_reply_string(entry, "message", "");
    if (machine_failed(status) || status == GS_ERROR_DEVICE_MEMORY || gs_verdict_from_status(status) == GS_VERDICTS)
        return gs_fail(error, status, NULL, "%s: %s", c->text, message);
    if (status != GS_OK) return gs_run_reject(run, c, gs_verdict_from_status(status), 0, message, error);
    if (gs_reply_bool(entry, "wrong", false)) return gs_run_reject(run, c, GS_VERDICT_TIMED, 0, NULL, error);

    const json_t *const ratio = json_object_get(entry, "device_ratio");
    const double us = gs_reply_number(entry, "device_us", 0);
    const gs_ratio measured = {gs_reply_number(ratio, "median", 0), gs_reply_number(ratio, "low", 0),
                               gs_reply_number(ratio, "high", 0), GS_UNCLEAR};
    const gs_ratio figures = reference ? measured : floor_ratio(run, us);
    if (!(us > 0) || !(figures.median > 0))
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s timed %s without a figure", run->worker->device,
                       c->text);
    if (gs_impossible(us, run->floor_us)) {
        char reason[128];
        snprintf(reason, sizeof reason, "%.3f us, but the device needs at least %.3f us", us, run->floor_us);
        return gs_run_reject(run, c, GS_VERDICT_FLOOR, 0, reason, error);
    }
    if (!c->measured) run->result->measured++;
    c->measured = true;
    c->us = us;
    c->library_us = run->library_us;
    c->ratio = figures;
    c->rounds = (int)gs_reply_int(entry, "rounds", rounds);
    c->mhz = run->mhz;
    if (searching(stage)) return GS_OK;
    c->doubted = !c->again && strcmp(stage, "confirm") != 0 && jumps(run, us);
    if (c->doubted) return GS_OK;
    GS_TRY(keep(run, c, stage, 0, NULL, error));
    return !reference || strcmp(stage, "race") == 0 ? GS_OK : keep_samples(run, c, entry, reference, error);
}

static gs_status take_bench(gs_run *run, gs_candidate *const *list, int count, const json_t *reply, const char *stage,
                            gs_error *error)
{
    const int first = run->caps->emulated || searching(stage) ? 0 : 1;
    const json_t *const entries = json_object_get(reply, "contenders"), *const reference = first ? json_array_get(entries, 0) : NULL;
    if (json_array_size(entries) != (size_t)(count + first))
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s answered for %d contenders instead of %d",
                       run->worker->device, (int)json_array_size(entries), count + first);
    if (reference && gs_reply_int(reply, "reference", -1) != 0) return reference_failed(reference, error);
    const json_t *const clocks = json_object_get(reply, "clocks");
    run->library_us = gs_reply_number(reference, "device_us", 0);
    run->suggestion = reference ? (int)gs_reply_int(reference, "suggestion", 1) : 0;
    run->mhz = (int)gs_reply_int(json_object_get(clocks, "after"), "sm_mhz", 0);
    const int rounds = (int)gs_reply_int(reply, "rounds", 0);
    for (int i = 0; i < count; i++)
        GS_TRY(take_entry(run, list[i], json_array_get(entries, (size_t)(i + first)), reference, rounds, stage, error));
    return GS_OK;
}

gs_status gs_run_bench(gs_run *run, gs_candidate *const *list, int count, int rounds, const char *stage, gs_error *error)
{
    gs_text text = {0};
    gs_json json = begin_request(run, &text, "bench");
    gs_json_begin(&json, "contenders", '[');
    if (!run->caps->emulated && !searching(stage)) gs_json_string(&json, NULL, GS_RUN_REFERENCE);
    for (int i = 0; i < count; i++) gs_json_string(&json, NULL, list[i]->text);
    gs_json_end(&json, ']');
    if (count == 1) put_kernel(run, &json, list[0]);
    gs_json_int(&json, "reference", 0);
    gs_json_int(&json, "rounds", rounds);
    const bool decides = strcmp(stage, "race") != 0 && !searching(stage);
    gs_json_bool(&json, "samples", decides);
    if (searching(stage)) {
        gs_json_bool(&json, "narrow", true);
        gs_json_bool(&json, "check", false);   /* the fastest is verified right away */
        gs_json_double(&json, "replay_us", SEARCH_REPLAY_US);
        gs_json_double(&json, "warmup_s", SEARCH_WARMUP_S);
    }
    /* under the power limit clocks take that long to settle, and who wins in a burst need not win then; in a list the reference's own tuning
     * has just settled them */
    if (decides && run->floor_us > 20) gs_json_double(&json, "warmup_s", run->search ? LIST_WARMUP_S : WARMUP_S);
    gs_json_end(&json, '}');
    json_t *reply;
    GS_TRY(send(run, &text, bench_timeout(run, count, rounds), &reply, error));
    const gs_status status = take_bench(run, list, count, reply, stage, error);
    json_decref(reply);
    return status;
}

/* ---- compile ---- */

gs_status gs_run_prepare(gs_run *run, gs_candidate *c, double timeout_s, gs_error *error)
{
    static atomic_flag complained = ATOMIC_FLAG_INIT;
    gs_text text = {0};
    gs_error why = {0};
    gs_json json = begin_request(run, &text, "compile");
    gs_json_string(&json, "candidate", c->text);
    put_kernel(run, &json, c);
    gs_json_end(&json, '}');
    json_t *reply;
    const gs_status status = send(run, &text, timeout_s, &reply, &why);
    if (status == GS_OK) {
        c->registers = (int)gs_reply_int(reply, "registers", c->registers);
        c->smem = (int)gs_reply_int(reply, "smem", c->smem);
        if (gs_reply_bool(reply, "unfiltered", false) && !atomic_flag_test_and_set(&complained))
            gs_log(GS_LOG_WARNING, "this system has no filter of system calls (seccomp): user kernels are compiled under limits of time and memory alone");
        json_decref(reply);
        return GS_OK;
    }
    if (gs_worker_lost(status)) {
        gs_caps caps;
        GS_TRY(gs_worker_hello(run->worker, &caps, NULL, NULL, error));
        return gs_run_reject(run, c, GS_VERDICT_COMPILE, 0, why.text, error);
    }
    return gs_run_refuse(run, c, status, &why, error);
}

/* ---- verify ---- */

gs_status gs_run_verify(gs_run *run, gs_candidate *c, gs_error *error)
{
    gs_text text = {0};
    gs_json json = begin_request(run, &text, "verify");
    gs_json_string(&json, "candidate", c->text);
    put_kernel(run, &json, c);
    gs_json_int(&json, "parts", run->parts ? run->parts : c->edges_passed ? GS_PART_ALL & ~GS_PART_EDGES : GS_PART_ALL);
    gs_json_end(&json, '}');
    json_t *reply;
    GS_TRY(send(run, &text, verify_timeout(run, c), &reply, error));
    const gs_verdict_code verdict = gs_verdict_find(gs_reply_string(reply, "verdict", ""));
    gs_status status;
    if (verdict == GS_VERDICT_PASS) {
        snprintf(c->verdict, sizeof c->verdict, "%s", gs_verdict_name(verdict));
        run->result->verified++;
        const char *const reason = "every test passed; its edge problems before, for another problem";
        snprintf(c->reason, sizeof c->reason, "%s", c->edges_passed ? reason : gs_reply_string(reply, "reason", ""));
        status = keep(run, c, NULL, 0, c->reason, error);
    } else if (verdict == GS_VERDICTS) {
        status = gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s gave no verdict that is known", run->worker->device);
    } else {
        status = gs_run_reject(run, c, verdict, (int)gs_reply_int(reply, "part", 0), gs_reply_string(reply, "reason", NULL), error);
    }
    json_decref(reply);
    return status;
}

gs_status gs_tune_blame(gs_run *run, gs_candidate *c, gs_status lost, const gs_error *why, gs_error *error)
{
    gs_caps caps;
    if (run->caps->emulated) GS_TRY(gs_worker_hello(run->worker, &caps, NULL, NULL, error));
    else GS_TRY(gs_run_bench(run, NULL, 0, 5, "race", error));
    return gs_run_reject(run, c, lost == GS_ERROR_WORKER_HUNG ? GS_VERDICT_HANG : GS_VERDICT_FAULT, 0, why->text, error);
}

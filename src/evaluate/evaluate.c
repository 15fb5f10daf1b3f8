/* SPDX-License-Identifier: MIT
 * One request about candidates: how long it may take, and what its reply means for them. */
#include "evaluate/evaluate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stop.h"
#include "worker/client.h"

/* Shortest timeout of a reply in seconds, unless the caller gives one; and how much slower than the floor a kernel may be before it counts as hung. The generous factor covers
 * the reference's own tuning, whose worst algorithms are slow. */
#define REPLY_S     60.0
#define ALONE_S     5.0       /* shortest for cuBLASLt alone: a caller's shorter timeout is meant for candidates */
#define SLOW        50.0
#define TUNE_RUNS   1500.0    /* calls for tuning the reference */
#define GROUPS_S    60.0      /* more for groups: a dozen sizes are tuned, in three ways */
#define CHECK_RATE  2e10      /* flop/s that verification reaches at least, over all its parts */
#define PATIENCE    20.0      /* times the estimate, for an emulated device, where an endless kernel does no harm */
#define IN_SANDBOX  0.8       /* of a compilation's time limit: a longer one is ended by the sandbox, not with the worker */

#define WARMUP_S         0.5
#define LIST_WARMUP_S    0.1
#define SEARCH_WARMUP_S  0.005
#define HOT_WARMUP_S     0.02  /* under the power limit, where the last candidate has kept the device busy */
#define SEARCH_REPLAY_US 200.0
#define HOT_S            0.3   /* if the device was busy so recently, its clocks have not moved yet */
#define SLOWER           1.25  /* times cuBLASLt: slower candidates are timed in fewer rounds, where candidates follow each other */

static const char *const stages[] = {
    [GS_STAGE_NONE] = "", [GS_STAGE_SEARCH] = "search", [GS_STAGE_RACE] = "race", [GS_STAGE_FINAL] = "final", [GS_STAGE_CONFIRM] = "confirm",
    [GS_STAGE_EMULATOR] = "emulator",
};

const char *gs_stage_name(gs_stage stage) { return (unsigned)stage < GS_COUNT(stages) ? stages[stage] : ""; }

const char *gs_step_name(gs_step step)
{
    static const char *const names[] = {
        [GS_STEP_NONE] = "", [GS_STEP_TEXT] = "text", [GS_STEP_COMPILE] = "compile", [GS_STEP_EMULATOR] = "emulator", [GS_STEP_VERIFY] = "verify", [GS_STEP_TIME] = "time",
    };
    return (unsigned)step < GS_COUNT(names) ? names[step] : "";
}

gs_evaluator gs_evaluator_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                               const gs_evaluator_options *options)
{
    gs_evaluator e = {.store = store, .session = session, .worker = worker, .caps = caps, .problem = problem,
                      .floor_us = gs_floor_us(problem, caps), .started = gs_clock_ns()};
    if (options) e.options = *options;
    e.seed = e.options.seed ? e.options.seed : gs_random_entropy();
    gs_problem_format(problem, e.text);
    return e;
}

gs_status gs_evaluator_takes(const gs_problem *problem, const char *what, gs_error *error)
{
    GS_TRY(gs_problem_check(problem, error));
    if (problem->m > 0 && problem->n > 0 && problem->k > 0 && problem->batch > 0) return GS_OK;
    return gs_fail(error, GS_ERROR_RANGE, NULL, "an empty problem has nothing to %s", what);
}

double gs_rounded_s(double seconds) { return seconds < 100 ? round(100 * seconds) / 100 : round(seconds); }

double gs_evaluator_left_s(const gs_evaluator *e)
{
    if (e->options.budget_s <= 0) return -1;
    return GS_MAX(e->options.budget_s - gs_clock_since(e->started), 0.0);
}

gs_status gs_evaluator_check(const gs_evaluator *e, gs_error *error)
{
    if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped before a winner was confirmed");
    if (gs_evaluator_left_s(e) != 0) return GS_OK;
    if (e->options.whole_s > 1.01 * e->options.budget_s)
        return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "its share of the budget of %g s, %g s, ran out before a winner was confirmed", e->options.whole_s,
                       gs_rounded_s(e->options.budget_s));
    return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the budget of %g s ran out before a winner was confirmed", gs_rounded_s(e->options.budget_s));
}

double gs_evaluator_reward(const gs_evaluator *e, const gs_candidate *c)
{
    const bool hit = e->options.reward == GS_REWARD_COMPOSITE && !c->source && !gs_candidate_out(c);
    const gs_judged outcome = {
        .passed = !gs_candidate_out(c), .alone = e->caps->emulated || e->search || gs_evaluator_lacks(e), .ratio = c->ratio, .us = c->us, .library_us = c->library_us,
        .untrusted = c->untrusted[0] != '\0', .floor_us = e->floor_us, .l2_hit = hit ? gs_l2_hit(&c->schedule, e->problem, e->caps) : -1,
        .bytes = c->source ? (double)strlen(c->source) : 0,
    };
    return gs_reward_of(e->options.reward, &outcome);
}

/* ---- how long ---- */

/* An emulated device runs a user kernel on one core, because it checks accesses between its blocks. */
static double slower(const gs_candidate *c) { return c->source ? gs_emulated_cores() : 1; }

static double base_timeout(const gs_evaluator *e) { return e->options.timeout_s > 0 ? e->options.timeout_s : REPLY_S; }

static double bench_timeout(const gs_evaluator *e, const gs_candidate *first, int count, int rounds)
{
    if (e->caps->emulated) return 10 * base_timeout(e) + PATIENCE * (count > 0 ? slower(first) : 1) * gs_emulated_seconds(e->problem, count, 1 + count);
    const double calls_us = (count + 1.0) * (rounds + 20.0) * (2000 + SLOW * e->floor_us);
    return (count > 0 ? base_timeout(e) : GS_MAX(base_timeout(e), ALONE_S)) + (e->problem->groups ? GROUPS_S : 0) + 1e-6 * (calls_us + TUNE_RUNS * 5 * e->floor_us);
}

static double verify_timeout(const gs_evaluator *e, const gs_candidate *c)
{
    if (e->limit_s > 0) return e->limit_s;
    if (e->caps->emulated) return 10 * base_timeout(e) + PATIENCE * slower(c) * gs_verify_seconds(e->problem, 0, c->source || c->schedule.family != GS_FAMILY_SIMPLE);
    return base_timeout(e) + gs_problem_flops(e->problem) / CHECK_RATE + 200e-6 * c->us;
}

static int64_t next_seed(gs_evaluator *e)
{
    gs_random random = {e->seed};
    e->seed = gs_random_next(&random);
    return (int64_t)(e->seed >> 1);
}

/* c NULL: the reference alone. */
static gs_worker_subject subject_of(gs_evaluator *e, const gs_candidate *c)
{
    gs_worker_subject subject = {.problem = e->text, .candidate = c ? c->text : NULL, .cache = e->options.cache_path, .seed = next_seed(e), .dependent = e->options.dependent};
    if (c && c->source) subject.kernel = (gs_worker_kernel){c->text, c->source, c->manifest, IN_SANDBOX * e->compile_s};
    return subject;
}

/* ---- keeping ---- */

/* What the store keeps. In a search figures are kept only if they were measured beside cuBLASLt. A time that stands alone because cuBLASLt computes nothing right is kept without
 * a ratio, unless the candidate was compared before. */
static gs_trial trial_of(const gs_evaluator *e, const gs_candidate *c)
{
    gs_trial trial = {.registers = c->registers, .smem = c->smem, .predicted_us = c->predicted_us};
    snprintf(trial.problem, sizeof trial.problem, "%s", e->text);
    snprintf(trial.candidate, sizeof trial.candidate, "%s", c->text);
    snprintf(trial.verdict, sizeof trial.verdict, "%s", gs_verdict_word(c->verdict));
    const bool lacks = gs_evaluator_lacks(e), beside = c->library_us > 0;
    if (c->untrusted[0]) return trial;
    if (!e->caps->emulated && !beside && (lacks ? c->compared : e->search)) return trial;
    trial.us = c->us;
    trial.rounds = c->rounds;
    trial.mhz = c->mhz;
    if (lacks && !beside) return trial;
    trial.library_us = c->library_us;
    trial.ratio = c->ratio.median;
    trial.low = c->ratio.low;
    trial.high = c->ratio.high;
    return trial;
}

/* Stores the candidate as it stands. reason may be NULL. */
static gs_status keep(gs_evaluator *e, const gs_candidate *c, gs_stage stage, int part, const char *reason, gs_error *error)
{
    if (!e->store || !c->text[0] || c->ahead) return GS_OK;   /* a text that cannot be read has no name */
    gs_trial trial = trial_of(e, c);
    trial.part = part;
    snprintf(trial.reason, sizeof trial.reason, "%s", reason ? reason : "");
    snprintf(trial.stage, sizeof trial.stage, "%s", gs_stage_name(stage));
    return gs_store_put(e->store, e->session, &trial, error);
}

gs_status gs_evaluator_keep_times(gs_evaluator *e, const gs_candidate *list, int all, gs_error *error)
{
    gs_trial *const trials = calloc((size_t)all + 1, sizeof *trials);
    if (!trials) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what is to be kept");
    int count = 0;
    for (int i = 0; i < all; i++) {
        const gs_candidate *const c = &list[i];
        if (!c->measured || c->compared || c->untrusted[0] || gs_candidate_out(c)) continue;
        trials[count] = trial_of(e, c);
        trials[count].us = c->us;
        trials[count].rounds = c->rounds;
        trials[count].mhz = c->mhz;
        snprintf(trials[count++].stage, sizeof trials->stage, "%s", gs_stage_name(GS_STAGE_SEARCH));
    }
    const gs_status status = gs_store_put_all(e->store, e->session, trials, count, error);
    free(trials);
    return status;
}

gs_status gs_evaluator_reject(gs_evaluator *e, gs_candidate *c, gs_verdict_code verdict, int part, const char *reason, gs_error *error)
{
    c->verdict = verdict;
    snprintf(c->reason, sizeof c->reason, "%s", reason && *reason ? reason : gs_verdict_text(verdict));
    c->part = part;
    if (c->doubted) {   /* doubted figures are not kept beside a verdict */
        c->us = c->library_us = 0;
        c->ratio = (gs_ratio){0};
        c->rounds = c->mhz = 0;
        c->doubted = false;
    }
    e->counts.rejected++;
    return keep(e, c, c->emulated ? GS_STAGE_EMULATOR : GS_STAGE_NONE, part, c->reason, error);
}

gs_status gs_evaluator_refuse(gs_evaluator *e, gs_candidate *c, gs_status status, const gs_error *why, gs_error *error)
{
    char reason[sizeof c->reason];
    const gs_verdict_code verdict = gs_verdict_from_status(status);
    if (verdict != GS_VERDICT_UNKNOWN) return gs_evaluator_reject(e, c, verdict, 0, gs_error_format(why, reason, sizeof reason), error);
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

bool gs_evaluator_lacks(const gs_evaluator *e) { return e->lacks[0] != '\0'; }

/* What the reference's failure says about the problem: no algorithm takes it, or one computes a wrong result; NEVER: nothing. */
static gs_lack lack_of(const gs_worker_timing *timing)
{
    return timing->status == GS_ERROR_UNSUPPORTED ? GS_LACK_REFUSED : timing->status == GS_OK && timing->wrong ? GS_LACK_WRONG : GS_LACK_NEVER;
}

static gs_status reference_failed(const gs_worker_timing *timing, gs_error *error)
{
    if (timing->status == GS_OK)
        return gs_fail(error, GS_ERROR_LIBRARY, NULL,
                       "the reference " GS_REFERENCE " computed a wrong result; nothing can be compared with it");
    return gs_fail(error, timing->status, NULL, "the reference " GS_REFERENCE " cannot run: %s", *timing->message ? timing->message : "no reason given");
}

/* A time without cuBLASLt beside it is compared with the floor. */
static gs_ratio floor_ratio(const gs_evaluator *e, double us)
{
    const double share = us > 0 ? e->floor_us / us : 0;
    return (gs_ratio){share, share, share, GS_UNCLEAR};
}

void gs_evaluator_uncompare(const gs_evaluator *e, gs_candidate *const *list, int count)
{
    for (int i = 0; i < count && gs_evaluator_lacks(e); i++) {
        if (!(list[i]->library_us > 0)) continue;
        list[i]->library_us = 0;
        list[i]->ratio = floor_ratio(e, list[i]->us);
    }
}

static gs_status keep_samples(gs_evaluator *e, const gs_candidate *c, const double *ours, const double *theirs, int count, gs_error *error)
{
    if (c->ahead) {
        c->ahead->count = GS_MIN(count, GS_AHEAD_ROUNDS);
        memcpy(c->ahead->ours, ours, (size_t)c->ahead->count * sizeof *ours);
        memcpy(c->ahead->theirs, theirs, (size_t)c->ahead->count * sizeof *theirs);
        return GS_OK;
    }
    if (count == 0 || !e->store) return GS_OK;
    return gs_store_samples(e->store, e->session, e->text, c->text, "device", ours, theirs, count, error);
}

static bool jumps(const gs_evaluator *e, double us)
{
    const double known_us = e->known_us > 0 && e->library_us > 0 ? GS_MIN(e->known_us, e->library_us) : e->known_us + e->library_us;
    return e->doubts && gs_jumps(us, known_us);
}

/* Takes one candidate's entry of a reply: a verdict or figures. reference NULL: times are predicted, or there is no reference. */
static gs_status take_timing(gs_evaluator *e, gs_candidate *c, const gs_worker_timing *timing, const gs_worker_timing *reference, int rounds, gs_stage stage,
                             gs_error *error)
{
    const gs_status status = timing->status;
    const double us = timing->device_us;
    if (machine_failed(status) || status == GS_ERROR_DEVICE_MEMORY || gs_verdict_from_status(status) == GS_VERDICT_UNKNOWN)
        return gs_fail(error, status, NULL, "%s: %s", c->text, timing->message);
    if (status != GS_OK) return gs_evaluator_reject(e, c, gs_verdict_from_status(status), 0, timing->message, error);
    if (timing->wrong) return gs_evaluator_reject(e, c, GS_VERDICT_TIMED, 0, NULL, error);

    const gs_ratio figures = reference ? timing->device_ratio : floor_ratio(e, us);
    if (!(us > 0) || !(figures.median > 0))
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s timed %s without a figure", e->worker->device,
                       c->text);
    if (gs_impossible(us, e->floor_us)) {
        char reason[128];
        snprintf(reason, sizeof reason, "%.3f us, but the device needs at least %.3f us", us, e->floor_us);
        return gs_evaluator_reject(e, c, GS_VERDICT_FLOOR, 0, reason, error);
    }
    if (!c->measured) e->counts.measured++;
    c->measured = true;
    c->us = us;
    c->library_us = e->library_us;
    c->ratio = figures;
    c->rounds = timing->rounds > 0 ? timing->rounds : rounds;
    c->mhz = e->mhz;
    snprintf(c->untrusted, sizeof c->untrusted, "%s", timing->untrusted ? timing->untrusted : "");
    if (stage == GS_STAGE_SEARCH) return GS_OK;
    c->doubted = !c->untrusted[0] && !c->second && stage != GS_STAGE_CONFIRM && jumps(e, us);
    if (c->doubted) return GS_OK;
    GS_TRY(keep(e, c, stage, 0, NULL, error));
    return !reference || stage == GS_STAGE_RACE ? GS_OK
                                                : keep_samples(e, c, timing->samples, reference->samples, GS_MIN(timing->sample_count, reference->sample_count), error);
}

gs_status gs_evaluator_take_ahead(gs_evaluator *e, gs_candidate *c, const gs_candidate *timed, gs_error *error)
{
    c->measured = true;
    c->us = timed->us;
    e->library_us = c->library_us = timed->library_us;
    c->ratio = timed->ratio;
    c->rounds = timed->rounds;
    e->mhz = c->mhz = timed->mhz;
    e->counts.measured++;
    GS_TRY(keep(e, c, GS_STAGE_FINAL, 0, NULL, error));
    return keep_samples(e, c, timed->ahead->ours, timed->ahead->theirs, timed->ahead->count, error);
}

static void note_lack(gs_evaluator *e, const gs_worker_timing *reference)
{
    const char *const why = reference->status == GS_OK ? "cuBLASLt computes a wrong result" : *reference->message ? reference->message : "cuBLASLt does not take it";
    snprintf(e->lacks, sizeof e->lacks, "%s", why);
}

static gs_status take_timings(gs_evaluator *e, gs_candidate *const *list, int count, const gs_worker_timings *timings, bool beside, gs_stage stage, gs_error *error)
{
    if (timings->count != count + beside)
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s answered for %d contenders instead of %d", e->worker->device, timings->count, count + beside);
    const gs_worker_timing *reference = beside ? &timings->list[0] : NULL;
    if (reference && timings->reference != 0) {
        const gs_lack lack = lack_of(reference);
        if (lack == GS_LACK_NEVER || lack > e->may_lack) return reference_failed(reference, error);
        note_lack(e, reference);
        reference = NULL;   /* the others were timed all the same */
    }
    e->library_us = reference ? reference->device_us : 0;
    e->suggestion = reference ? reference->suggestion : 0;
    e->mhz = timings->mhz;
    for (int i = 0; i < count; i++) GS_TRY(take_timing(e, list[i], &timings->list[i + beside], reference, timings->rounds, stage, error));
    return GS_OK;
}

gs_status gs_evaluator_bench(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error)
{
    const bool search = stage == GS_STAGE_SEARCH, beside = !e->caps->emulated && !search && !gs_evaluator_lacks(e), decides = stage != GS_STAGE_RACE && !search;
    if (count == 0 && !beside) {   /* nothing to time: only asks whether the worker lives */
        gs_caps caps;
        return gs_worker_hello(e->worker, &caps, NULL, NULL, error);
    }
    const char **const names = calloc((size_t)count + 1, sizeof *names);
    if (!names) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a request");
    if (beside) names[0] = GS_REFERENCE;
    for (int i = 0; i < count; i++) names[i + beside] = list[i]->text;
    gs_worker_bench_request request = {
        .subject = subject_of(e, count == 1 ? list[0] : NULL), .contenders = names, .count = count + beside, .rounds = rounds, .samples = decides,
        .warmup_s = -1, .narrow = search, .unchecked = search,   /* the fastest is verified right away */
    };
    const bool hot = e->follows && e->worker->busy && gs_clock_since(e->worker->busy) < HOT_S;
    if (search || (e->follows && !decides)) request.replay_us = SEARCH_REPLAY_US;
    if (beside && e->follows && stage == GS_STAGE_FINAL) request.slow = SLOWER;
    const bool settled = hot && (!decides || stage == GS_STAGE_FINAL);
    if (search || settled) request.warmup_s = SEARCH_WARMUP_S;
    /* under the power limit clocks take so long to settle, and the winner of a burst need not win then; in a list the reference's own tuning has just settled them, and where
     * candidates follow each other the last one has */
    if (decides && e->floor_us > 20) request.warmup_s = settled ? HOT_WARMUP_S : e->search || hot ? LIST_WARMUP_S : WARMUP_S;
    gs_worker_timings timings;
    gs_status status = gs_worker_bench(e->worker, &request, bench_timeout(e, count > 0 ? list[0] : NULL, count, rounds), &timings, error);
    free(names);
    GS_TRY(status);
    status = take_timings(e, list, count, &timings, beside, stage, error);
    gs_worker_timings_free(&timings);
    return status;
}

/* ---- compile ---- */

/* A failed compilation is the candidate's fault, also if it took the worker down and a fresh one answers; or the machine's. */
static gs_status not_compiled(gs_evaluator *e, gs_candidate *c, gs_status status, const gs_error *why, gs_error *error)
{
    if (!gs_worker_lost(status)) return gs_evaluator_refuse(e, c, status, why, error);
    const int signal = status == GS_ERROR_WORKER_DIED ? e->worker->signal : 0;   /* before the next worker starts */
    gs_caps caps;
    GS_TRY(gs_worker_hello(e->worker, &caps, NULL, NULL, error));
    c->signal = signal;
    return gs_evaluator_reject(e, c, GS_VERDICT_COMPILE, 0, why->text, error);
}

gs_status gs_evaluator_precompile(gs_evaluator *e, gs_candidate *c, bool edges, double timeout_s, gs_error *error)
{
    gs_error why = {0};
    const gs_worker_subject subject = subject_of(e, c);
    const gs_status status = gs_worker_precompile(e->worker, &subject, e->caps, false, timeout_s, &why);
    if (status != GS_OK) return not_compiled(e, c, status, &why, error);
    if (!edges || c->source) return GS_OK;
    /* failures of these do not count: verification compiles what is missing */
    return gs_worker_precompile(e->worker, &subject, e->caps, true, timeout_s, error) == GS_ERROR_INTERRUPTED ? GS_ERROR_INTERRUPTED : GS_OK;
}

gs_status gs_evaluator_prepare(gs_evaluator *e, gs_candidate *c, double timeout_s, gs_error *error)
{
    static atomic_flag complained = ATOMIC_FLAG_INIT;
    gs_error why = {0};
    gs_worker_compiled compiled = {.registers = c->registers, .smem = c->smem};
    const gs_worker_subject subject = subject_of(e, c);
    const gs_status status = gs_worker_compile(e->worker, &subject, timeout_s, &compiled, &why);
    if (status == GS_OK) {
        c->registers = compiled.registers;
        c->smem = compiled.smem;
        if (compiled.unfiltered && !atomic_flag_test_and_set(&complained))
            gs_log(GS_LOG_WARNING, "this system has no filter of system calls (seccomp): user kernels are compiled under limits of time and memory alone");
        return GS_OK;
    }
    return not_compiled(e, c, status, &why, error);
}

/* ---- verify ---- */

gs_status gs_evaluator_verify(gs_evaluator *e, gs_candidate *c, gs_error *error)
{
    gs_verdict verdict;
    const gs_worker_subject subject = subject_of(e, c);
    const uint32_t parts = e->parts ? e->parts : c->edges_passed ? GS_PART_ALL & ~GS_PART_EDGES : GS_PART_ALL;
    GS_TRY(gs_worker_verify(e->worker, &subject, parts, verify_timeout(e, c), &verdict, error));
    if (verdict.code != GS_VERDICT_PASS) return gs_evaluator_reject(e, c, verdict.code, verdict.part, verdict.reason, error);
    c->verdict = verdict.code;
    e->counts.verified++;
    const char *const reason = "every test passed; its edge problems before, for another problem";
    snprintf(c->reason, sizeof c->reason, "%s", c->edges_passed ? reason : verdict.reason);
    return keep(e, c, GS_STAGE_NONE, 0, c->reason, error);
}

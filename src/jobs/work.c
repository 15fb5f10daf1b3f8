/* SPDX-License-Identifier: MIT
 * A thread's work on a job: prepares it, or has it proved and timed; then hands it to the next stage, or stores its answer and only then tells the callers. */
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "jobs/internal.h"

#define PAUSE_NS INT64_C(500000000)   /* before another attempt */
enum { WAITS = 10 };

typedef struct loaded {
    json_t *request;
    int     attempts;
    int64_t expires;
    char   *answer;    /* stored by another service with the same store; NULL: none */
    bool    failed;
} loaded;

static void load(void *self, const gs_job *job)
{
    loaded *const out = self;
    out->request = json_loads(job->request, 0, NULL);
    out->attempts = job->attempts;
    out->expires = job->expires;
    out->answer = job->answer ? strdup(job->answer) : NULL;
    out->failed = job->failed;
}

static const char *text_of(const json_t *request, const char *name) { return json_string_value(json_object_get(request, name)); }

/* ---- answers ---- */

/* An answer without a result: the machine failed, or nobody needs it any more. A new request starts the job again. */
static char *excuse_of(const char *problem, const char *verdict, const char *reason)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", problem);
    gs_json_string(&json, "verdict", verdict);
    gs_json_string(&json, "reason", reason);
    gs_json_end(&json, '}');
    char *const answer = text.failed ? NULL : gs_text_take(&text);
    gs_text_free(&text);
    return answer;
}

/* ---- one job ---- */

/* The worker was killed by someone else: an operator, or the kernel's OOM killer. The candidate's device code cannot cause that. */
static bool was_killed(const gs_evaluation *got, int count)
{
    bool killed = false;
    for (int i = 0; i < count; i++) killed |= got[i].signal == SIGKILL || got[i].signal == SIGTERM;
    return killed;
}

/* Errors that may go away: a full disk, a locked store. */
static bool passes(gs_status status)
{
    return status == GS_ERROR_DISK_FULL || status == GS_ERROR_IO || status == GS_ERROR_STORE_BUSY || status == GS_ERROR_STORE || status == GS_ERROR_MEMORY;
}

/* Whether the failure is due to this problem or candidate and not to the device: it does not fit, or no family accepts it. */
static bool is_own(gs_status status)
{
    return status == GS_ERROR_DEVICE_MEMORY || status == GS_ERROR_MEMORY || status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_RANGE || status == GS_ERROR_ARGUMENT ||
           status == GS_ERROR_PARSE || status == GS_ERROR_CORRUPT;
}

bool gs_service_stops(gs_service_evaluator *e)
{
    return gs_stop_requested || gs_service_jobs_stopping(e->jobs);
}

/* Marks a device as failing, for health and metrics. Not shown for preparing threads, because devices can do their work. */
static void set_failing(gs_service_evaluator *e, bool failing)
{
    pthread_mutex_lock(&e->jobs->lock);
    e->state.failing = failing;
    pthread_mutex_unlock(&e->jobs->lock);
}

/* Repeats the call until it works, or the service stops. */
static gs_status patiently(gs_service_evaluator *e, gs_status (*call)(gs_service_evaluator *, const char *, const void *, gs_error *), const char *id, const void *with)
{
    gs_error error;
    gs_status status;
    bool waited = false;
    while (passes(status = call(e, id, with, &error)) && !gs_service_stops(e)) {
        waited = true;
        gs_log(GS_LOG_WARNING, "job %s waits: %s", id, error.text);
        set_failing(e, true);
        gs_clock_sleep_ns(PAUSE_NS);
    }
    if (status == GS_OK && waited) set_failing(e, false);
    if (status != GS_OK) gs_log(GS_LOG_ERROR, "job %s stays open: %s", id, error.text);
    return status;
}

/* Takes the job's lease and counts an attempt, unless another service holds it. */
static gs_status begin(gs_service_evaluator *e, const char *id, const void *lease, gs_error *error)
{
    return gs_store_job_begin(e->session.store, e->session.device, id, &e->jobs->who, GS_SERVICE_LEASE_S, (gs_lease *)lease, error);
}

static gs_status leave(gs_service_evaluator *e, const char *id, const void *with, gs_error *error)
{
    (void)with;
    return gs_store_job_leave(e->session.store, id, error);
}

static gs_status count_attempt(gs_service_evaluator *e, const char *id, const void *change, gs_error *error)
{
    return gs_store_job_attempt(e->session.store, id, *(const int *)change, error);
}

typedef struct ending {
    const char *answer;
    bool        failed;
    char      **kept;         /* the answer in the store */
    bool       *kept_failed;
} ending;

static void take_kept(void *self, const gs_job *job)
{
    const ending *const end = self;
    free(*end->kept);
    *end->kept = job->answer ? strdup(job->answer) : NULL;
    *end->kept_failed = job->failed;
}

/* Stores the answer; if another service stored one first, that is the answer. */
static gs_status keep_end(gs_service_evaluator *e, const char *id, const void *with, gs_error *error)
{
    GS_TRY(gs_store_job_end(e->session.store, id, ((const ending *)with)->answer, ((const ending *)with)->failed, error));
    return gs_store_job_get(e->session.store, id, take_kept, (void *)with, error);
}

/* Passes the answer to the callers. Takes ownership of it. */
static void tell(gs_service_evaluator *e, gs_service_job *job, char *answer, bool failed)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    e->state.done++;
    jobs->queue[e->stage].load.done++;
    gs_service_leave(e, job);
    gs_service_done(jobs, job, answer, failed);
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- is the answer still needed? ---- */

/* Whether nobody needs the answer any more: the job was cancelled or has expired. An expired job that was begun continues while nothing else waits. */
static bool is_unwanted(gs_service_jobs *jobs, const gs_service_job *job, bool begun)
{
    return job->cancelled || (gs_service_job_expired(job) && (!begun || gs_service_others_wait(jobs, job)));
}

bool gs_service_unwanted(void *self)
{
    gs_service_evaluator *const e = self;
    pthread_mutex_lock(&e->jobs->lock);
    const bool is = e->job && is_unwanted(e->jobs, e->job, true);
    pthread_mutex_unlock(&e->jobs->lock);
    return is;
}

typedef enum wish { WANTED, CANCELLED, EXPIRED } wish;

static const char *const wish_verdicts[] = {[WANTED] = NULL, [CANCELLED] = "cancelled", [EXPIRED] = "deadline"};

static wish wish_for(gs_service_evaluator *e, const gs_service_job *job, bool begun)
{
    pthread_mutex_lock(&e->jobs->lock);
    const wish is = !is_unwanted(e->jobs, job, begun) ? WANTED : job->cancelled ? CANCELLED : EXPIRED;
    pthread_mutex_unlock(&e->jobs->lock);
    return is;
}

/* ---- one stage of one job ---- */

typedef struct task {
    gs_service_job *job;
    const char     *text;          /* of the problem */
    gs_problem      problem;
    gs_submission   submission;    /* a candidate, or */
    const char    **race;          /* schedules of a race */
    int             count, part;   /* 1, or the number of schedules; which of them to prepare */
    bool            alone;         /* a race without cuBLASLt */
    json_t         *peer[GS_BESIDE];   /* requests of waiting schedules of the same problem, to be timed as well */
    const char     *beside[GS_BESIDE];
    gs_evaluation  *got;           /* one per schedule */
} task;

static gs_status step(gs_service_evaluator *e, gs_environment *environment, task *t, gs_error *error)
{
    if (t->race && e->stage == GS_JOBS_PREPARE) return gs_evaluate_race_prepare(environment, &t->problem, t->race[t->part], error);
    if (t->race) return gs_evaluate_race(environment, &t->problem, t->race, t->count, t->alone, t->got, error);
    if (e->stage == GS_JOBS_PREPARE) return gs_evaluate_prepare(environment, &t->problem, &t->submission, t->got, &t->job->prepared, error);
    t->submission.prepared = &t->job->prepared;
    return gs_evaluate(environment, &t->problem, &t->submission, t->got, error);
}

/* One evaluation, repeated once if its worker was killed or the machine failed. */
static gs_status evaluate(gs_service_evaluator *e, gs_environment *environment, task *t, gs_error *error)
{
    gs_service_counts *const counts = &e->jobs->counts;
    const char *const id = t->job->id;
    const bool device = e->stage == GS_JOBS_DEVICE;
    int waits = 0;
    for (int attempt = 0;; attempt++) {
        const int64_t began = gs_clock_ns();
        const gs_status status = step(e, environment, t, error);
        const bool killed = status == GS_OK && was_killed(t->got, t->count);
        if (device) counts->busy_us += (gs_clock_ns() - began) / 1000;
        if (status == GS_ERROR_INTERRUPTED) return status;
        if (gs_service_stops(e)) return killed ? GS_ERROR_INTERRUPTED : status;   /* whoever stops a service may kill its workers too */
        /* may be due to the candidate, so the number of retries is limited. A job that cannot be prepared goes to the device: no process, no pipe, no cache
         * file */
        waits += status == GS_ERROR_MEMORY || status == GS_ERROR_STORE || (!device && status == GS_ERROR_IO);
        if (passes(status) && waits < WAITS) {
            gs_log(GS_LOG_WARNING, "job %s is tried again: %s", id, gs_status_name(status));
            if (device) set_failing(e, true);
            gs_clock_sleep_ns(PAUSE_NS);
            attempt--;
            continue;
        }
        if (device) set_failing(e, status != GS_OK && !is_own(status));
        if (attempt > 0 || is_own(status) || (status == GS_OK && !killed)) return status;
        gs_log(GS_LOG_WARNING, "job %s is run again: %s", id, status == GS_OK ? "its worker was killed" : gs_status_name(status));
        counts->repeated++;
        if (status != GS_OK) gs_clock_sleep_ns(PAUSE_NS);
    }
}

/* Stores the answer and passes it on. false: it could not be stored, and the job must be given back. */
static bool finish(gs_service_evaluator *e, task *t, wish is, gs_status status, const gs_error *error)
{
    gs_service_jobs *const jobs = e->jobs;
    const char *const text = t->text ? t->text : "";
    char line[512], *kept = NULL;
    char *const answer = status != GS_OK ? excuse_of(text, is != WANTED ? wish_verdicts[is] : is_own(status) ? "problem" : "machine", gs_error_format(error, line, sizeof line))
                         : t->race       ? gs_service_race_answer(text, t->got, t->count)
                                         : jobs->options.answer(text, t->got);
    bool failed = false;
    const ending end = {.answer = answer, .failed = status != GS_OK, .kept = &kept, .kept_failed = &failed};
    const bool good = answer && patiently(e, keep_end, t->job->id, &end) == GS_OK && kept;
    free(answer);
    if (!good) {
        free(kept);
        return false;
    }
    jobs->counts.evaluated += status == GS_OK;
    jobs->counts.machine += status != GS_OK && is == WANTED && !is_own(status);
    jobs->counts.cancelled += is == CANCELLED;
    jobs->counts.expired += is == EXPIRED;
    jobs->counts.passed += status == GS_OK && !t->race && t->got->verdict == GS_VERDICT_PASS;
    jobs->counts.raced += status == GS_OK && t->race ? t->count : 0;
    tell(e, t->job, kept, failed);
    return true;
}

/* Queues the job for a device, also when preparing failed: the device then does that work. */
static void hand_on(gs_service_evaluator *e, gs_service_job *job)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    e->state.done++;
    jobs->queue[e->stage].load.done++;
    gs_service_leave(e, job);
    gs_service_enqueue(jobs, job, GS_JOBS_DEVICE, job->cancelled);   /* the thread that takes it sees that it was cancelled */
    pthread_mutex_unlock(&jobs->lock);
}

/* Another service has the job: waits for its answer. */
static void put_aside(gs_service_evaluator *e, gs_service_job *job)
{
    pthread_mutex_lock(&e->jobs->lock);
    gs_service_leave(e, job);
    gs_service_put_aside(e->jobs, job);
    pthread_mutex_unlock(&e->jobs->lock);
}

static gs_status read_task(task *t, const json_t *request, gs_error *error)
{
    t->text = text_of(request, "problem");
    t->submission = (gs_submission){.schedule = text_of(request, "schedule"), .source = text_of(request, "source"), .manifest = text_of(request, "manifest")};
    t->count = 1;
    t->race = gs_service_race_list(request, &t->count);
    t->alone = json_is_true(json_object_get(request, "alone"));
    t->got = calloc((size_t)t->count, sizeof *t->got);
    if (!t->got) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an evaluation");
    return t->text ? gs_problem_parse(&t->problem, t->text, error) : gs_fail(error, GS_ERROR_CORRUPT, "request", "cannot be read");
}

/* Finds waiting schedules of the same problem to be timed with this one. They stay in the queue; their figures are kept for when they are taken. */
static void find_peers(gs_service_evaluator *e, task *t)
{
    char ids[GS_BESIDE][GS_HASH_TEXT];
    if (e->stage != GS_JOBS_DEVICE || e->jobs->options.prepare < 1 || !t->submission.schedule || e->session.caps->emulated) return;   /* waiting jobs are compiled only if there
                                                                                                                                         are preparing threads */
    const int count = gs_service_peers(e, t->job, ids, GS_BESIDE);
    for (int i = 0; i < count; i++) {
        loaded one = {0};
        if (gs_store_job_get(e->session.store, ids[i], load, &one, NULL) != GS_OK) continue;
        const char *const schedule = text_of(one.request, "schedule"), *const problem = text_of(one.request, "problem");
        free(one.answer);
        if (schedule && problem && strcmp(problem, t->text) == 0) {
            t->peer[t->submission.besides] = one.request;
            t->beside[t->submission.besides++] = schedule;
        } else {
            json_decref(one.request);
        }
    }
    t->submission.beside = t->beside;
}

/* Checks before a job is begun: is it still needed, and was it not begun too often? */
static gs_status may_begin(wish is, const loaded *what, gs_error *error)
{
    if (is != WANTED) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "%s", is == CANCELLED ? "was cancelled before it was begun" : "was not begun before its deadline");
    if (what->attempts < GS_SERVICE_ATTEMPTS) return GS_OK;
    return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "was begun %d times, and the service ended each time", what->attempts);
}

/* Works on a candidate in either stage, or on a race on a device. */
static bool work_on(gs_service_evaluator *e, gs_environment *environment, task *t, const loaded *what, gs_status status, gs_error error)
{
    const int back = -1;
    gs_lease lease = GS_LEASE_HELD;
    const bool prepares = e->stage == GS_JOBS_PREPARE;
    wish is = wish_for(e, t->job, false);
    if (status == GS_OK || is != WANTED) status = may_begin(is, what, &error);
    if (status == GS_OK) {
        if (patiently(e, begin, t->job->id, &lease) != GS_OK) return false;
        if (lease != GS_LEASE_TAKEN) {
            put_aside(e, t->job);
            return true;
        }
        find_peers(e, t);
        status = evaluate(e, environment, t, &error);
        if (status == GS_ERROR_INTERRUPTED && !gs_service_stops(e)) is = wish_for(e, t->job, true);
        const bool stopped = status != GS_OK && is == WANTED && (status == GS_ERROR_INTERRUPTED || gs_service_stops(e));
        const bool on = prepares && !stopped && is == WANTED && (status != GS_OK || t->got->verdict == GS_VERDICT_UNKNOWN);
        if (stopped || on) patiently(e, count_attempt, t->job->id, &back);
        if (on && status != GS_OK) gs_log(GS_LOG_WARNING, "job %s goes to its device unprepared: %s", t->job->id, error.text);
        if (on) hand_on(e, t->job);
        if (stopped || on) return on;
    }
    return finish(e, t, is, status, &error);
}

/* ---- a race, prepared by several threads ---- */

/* The first thread of a race sets the number of parts and queues the race again for other threads. */
static void share(gs_service_evaluator *e, gs_service_job *job, int count)
{
    pthread_mutex_lock(&e->jobs->lock);
    if (job->parts == 0 && count > 1) {
        job->parts = count;
        if (!job->cancelled && !job->done) gs_service_enqueue(e->jobs, job, GS_JOBS_PREPARE, false);
    }
    pthread_mutex_unlock(&e->jobs->lock);
}

/* Ends the thread's part: the last one hands the race to a device. True: nobody needs the race any more, and the caller must end it. */
static bool leave_part(gs_service_evaluator *e, gs_service_job *job)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    const bool unwanted = is_unwanted(jobs, job, true);
    if (unwanted) gs_service_unqueue(jobs, job);
    const bool last = job->at_work == 1 && !job->queued && !job->done;
    const bool ends = last && unwanted && !jobs->stopping;
    if (!ends) {
        jobs->queue[e->stage].load.done++;
        gs_service_leave(e, job);
        if (last) gs_service_enqueue(jobs, job, job->next >= job->parts ? GS_JOBS_DEVICE : GS_JOBS_PREPARE, false);
    }
    pthread_mutex_unlock(&jobs->lock);
    return ends;
}

/* Compiles one schedule. Errors are only logged; the race on the device reports them. */
static bool work_on_part(gs_service_evaluator *e, gs_environment *environment, task *t)
{
    gs_error error = {0};
    gs_status status = GS_OK;
    share(e, t->job, t->count);
    if (wish_for(e, t->job, t->part > 0) == WANTED && t->part < t->count) status = evaluate(e, environment, t, &error);
    if (status != GS_OK && status != GS_ERROR_INTERRUPTED) gs_log(GS_LOG_INFO, "job %s, schedule %d is not compiled ahead: %s", t->job->id, t->part, error.text);
    if (!leave_part(e, t->job)) return true;
    const wish is = wish_for(e, t->job, true);
    return finish(e, t, is == WANTED ? EXPIRED : is, gs_fail(&error, GS_ERROR_INTERRUPTED, NULL, "was given up while its schedules were compiled"), &error);
}

/* ---- a job ---- */

bool gs_service_work(gs_service_evaluator *e, gs_environment *environment, gs_service_job *job, int part)
{
    loaded what = {0};
    task t = {.job = job, .part = part};
    gs_error error = {0};
    bool done = false;
    gs_status status = gs_store_job_get(e->session.store, job->id, load, &what, &error);
    if (status != GS_OK) gs_log(GS_LOG_ERROR, "job %s: %s", job->id, error.text);
    if (status == GS_ERROR_NOT_FOUND) what.answer = excuse_of("", "machine", "somebody took it out of the store");
    what.failed |= status == GS_ERROR_NOT_FOUND;
    if (status == GS_OK) {   /* another service may have extended its expiry in the store */
        pthread_mutex_lock(&e->jobs->lock);
        gs_service_want(job, what.expires);
        pthread_mutex_unlock(&e->jobs->lock);
    }
    if (what.answer) {
        if (status == GS_OK) patiently(e, leave, job->id, NULL);   /* its lease may have been taken here just after that */
        tell(e, job, what.answer, what.failed);
        done = true;
    } else if (status == GS_OK) {
        status = read_task(&t, what.request, &error);
        done = status == GS_OK && t.race && e->stage == GS_JOBS_PREPARE ? work_on_part(e, environment, &t) : work_on(e, environment, &t, &what, status, error);
    }
    free(t.race);
    free(t.got);
    for (int i = 0; i < t.submission.besides; i++) json_decref(t.peer[i]);
    json_decref(what.request);
    return done;
}

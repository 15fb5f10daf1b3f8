/* SPDX-License-Identifier: MIT
 * The evaluating thread of one device: takes the oldest job, has it evaluated in the device's worker, keeps the answer, and only then tells those who wait. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "service/internal.h"
#include "service/screen.h"

#define PAUSE_NS INT64_C(500000000)   /* before the machine is tried again */
enum { WAITS = 10 };

typedef struct loaded {
    json_t *request;
    int     attempts;
    char   *answer;    /* that the store has already: of another service with the same store; NULL: none */
    bool    failed;
} loaded;

static void load(void *self, const gs_job *job)
{
    loaded *const out = self;
    out->request = json_loads(job->request, 0, NULL);
    out->attempts = job->attempts;
    out->answer = job->answer ? strdup(job->answer) : NULL;
    out->failed = job->failed;
}

static const char *text_of(const json_t *request, const char *name) { return json_string_value(json_object_get(request, name)); }

/* ---- answers ---- */

/* Nothing is said of the candidate: the machine failed, or nobody wants the answer any more. Whoever asks again starts it again. */
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

/* Somebody else ended the worker: an operator, or the kernel for want of memory. That is nothing that the candidate's device code can do. */
static bool was_killed(const gs_evaluation *got)
{
    return got->signal == SIGKILL || got->signal == SIGTERM;
}

/* Passes in time: a full disk, a store that is held. */
static bool passes(gs_status status)
{
    return status == GS_ERROR_DISK_FULL || status == GS_ERROR_IO || status == GS_ERROR_STORE_BUSY || status == GS_ERROR_STORE || status == GS_ERROR_MEMORY;
}

/* Whether a failure is that of this problem or of this candidate's evaluation on a device that is well: it does not fit, or nothing takes it. */
static bool is_own(gs_status status)
{
    return status == GS_ERROR_DEVICE_MEMORY || status == GS_ERROR_MEMORY || status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_RANGE || status == GS_ERROR_ARGUMENT ||
           status == GS_ERROR_PARSE || status == GS_ERROR_CORRUPT;
}

static bool stopping(gs_service_evaluator *e)
{
    return gs_stop_requested || gs_service_jobs_stopping(e->jobs);
}

static void set_failing(gs_service_evaluator *e, bool failing)
{
    pthread_mutex_lock(&e->jobs->lock);
    e->state.failing = failing;
    pthread_mutex_unlock(&e->jobs->lock);
}

/* Until it works, or the service stops. */
static gs_status patiently(gs_service_evaluator *e, gs_status (*call)(gs_service_evaluator *, const char *, const void *, gs_error *), const char *id, const void *with)
{
    gs_error error;
    gs_status status;
    bool waited = false;
    while (passes(status = call(e, id, with, &error)) && !stopping(e)) {
        waited = true;
        gs_log(GS_LOG_WARNING, "job %s waits: %s", id, error.text);
        set_failing(e, true);
        gs_clock_sleep_ns(PAUSE_NS);
    }
    if (status == GS_OK && waited) set_failing(e, false);
    if (status != GS_OK) gs_log(GS_LOG_ERROR, "job %s stays open: %s", id, error.text);
    return status;
}

static gs_status count_attempt(gs_service_evaluator *e, const char *id, const void *change, gs_error *error)
{
    return gs_store_job_attempt(e->session.store, id, *(const int *)change, error);
}

typedef struct ending {
    const char *answer;
    bool        failed;
    char      **kept;         /* the answer that stands in the store */
    bool       *kept_failed;
} ending;

static void take_kept(void *self, const gs_job *job)
{
    const ending *const end = self;
    free(*end->kept);
    *end->kept = job->answer ? strdup(job->answer) : NULL;
    *end->kept_failed = job->failed;
}

/* The first answer stands: where another service with the same store was sooner, it is its. */
static gs_status keep_end(gs_service_evaluator *e, const char *id, const void *with, gs_error *error)
{
    GS_TRY(gs_store_job_end(e->session.store, id, ((const ending *)with)->answer, ((const ending *)with)->failed, error));
    return gs_store_job_get(e->session.store, id, take_kept, (void *)with, error);
}

/* Whoever waits is told. Takes the answer. */
static void tell(gs_service_evaluator *e, gs_service_job *job, char *answer, bool failed)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    e->state.done++;
    e->state.busy = false;
    e->job = NULL;
    jobs->running--;
    gs_service_done(jobs, job, answer, failed);
    pthread_mutex_unlock(&jobs->lock);
}

/* One evaluation, and a second where the first was lost with a worker that somebody killed, or to the machine. */
static gs_status evaluate(gs_service_evaluator *e, gs_environment *environment, const char *id, const gs_problem *problem, const gs_submission *submission,
                          gs_evaluation *got, gs_error *error)
{
    gs_service_counts *const counts = &e->jobs->counts;
    int waits = 0;
    for (int attempt = 0;; attempt++) {
        const int64_t began = gs_clock_ns();
        const gs_status status = gs_evaluate(environment, problem, submission, got, error);
        counts->busy_us += (gs_clock_ns() - began) / 1000;
        if (status == GS_ERROR_INTERRUPTED) return status;
        if (stopping(e)) return status == GS_OK && was_killed(got) ? GS_ERROR_INTERRUPTED : status;   /* who stops a service may stop its children, too */
        waits += status == GS_ERROR_MEMORY || status == GS_ERROR_STORE;   /* may be the candidate's own: the others shall not wait for ever */
        if (passes(status) && waits < WAITS) {
            gs_log(GS_LOG_WARNING, "job %s is tried again: %s", id, gs_status_name(status));
            set_failing(e, true);
            gs_clock_sleep_ns(PAUSE_NS);
            attempt--;
            continue;
        }
        set_failing(e, status != GS_OK && !is_own(status));
        if (attempt > 0 || is_own(status) || (status == GS_OK && !was_killed(got))) return status;
        gs_log(GS_LOG_WARNING, "job %s is run again: %s", id, status == GS_OK ? "its worker was killed" : gs_status_name(status));
        counts->repeated++;
        if (status != GS_OK) gs_clock_sleep_ns(PAUSE_NS);
    }
}

/* Whether nobody wants the job's answer any more: it was cancelled, or all who asked have given it up. What is under way goes on then as long as nothing else waits. */
static bool is_unwanted(gs_service_jobs *jobs, const gs_service_job *job, bool begun)
{
    return job->cancelled || (gs_service_job_expired(job) && (!begun || jobs->head));
}

/* Asked by the worker's call while it waits. */
static bool unwanted(void *self)
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

/* Returns false where the job was given back. */
static bool work_on(gs_service_evaluator *e, gs_environment *environment, gs_service_job *job, const loaded *what)
{
    gs_service_jobs *const jobs = e->jobs;
    const gs_submission submission = {.schedule = text_of(what->request, "schedule"), .source = text_of(what->request, "source"),
                                      .manifest = text_of(what->request, "manifest")};
    const char *const text = text_of(what->request, "problem");
    const int begun = 1, back = -1;
    gs_evaluation got = {0};
    gs_problem problem;
    gs_error error = {0};
    wish is = wish_for(e, job, false);
    gs_status status = text ? gs_problem_parse(&problem, text, &error) : gs_fail(&error, GS_ERROR_CORRUPT, "request", "cannot be read");
    if (is != WANTED) status = gs_fail(&error, GS_ERROR_INTERRUPTED, NULL, "%s", is == CANCELLED ? "was cancelled before it was begun" : "was not begun before its deadline");
    if (status == GS_OK && what->attempts >= GS_SERVICE_ATTEMPTS)
        status = gs_fail(&error, GS_ERROR_WORKER_DIED, NULL, "was begun %d times, and the service ended each time", what->attempts);
    if (status == GS_OK) {
        if (patiently(e, count_attempt, job->id, &begun) != GS_OK) return false;
        status = evaluate(e, environment, job->id, &problem, &submission, &got, &error);
        if (status == GS_ERROR_INTERRUPTED && !stopping(e)) is = wish_for(e, job, true);
        if (status != GS_OK && is == WANTED && (status == GS_ERROR_INTERRUPTED || stopping(e))) {
            patiently(e, count_attempt, job->id, &back);
            return false;
        }
    }
    char line[512], *kept = NULL;
    char *const answer = status == GS_OK ? gs_service_answer(text, &got)
                                         : excuse_of(text ? text : "", is != WANTED ? wish_verdicts[is] : is_own(status) ? "problem" : "machine", gs_error_format(&error, line, sizeof line));
    bool failed = false;
    const ending end = {.answer = answer, .failed = status != GS_OK, .kept = &kept, .kept_failed = &failed};
    const bool good = answer && patiently(e, keep_end, job->id, &end) == GS_OK && kept;
    free(answer);
    if (!good) {
        free(kept);
        return false;
    }
    jobs->counts.evaluated += status == GS_OK;
    jobs->counts.machine += status != GS_OK && is == WANTED && !is_own(status);
    jobs->counts.cancelled += is == CANCELLED;
    jobs->counts.expired += is == EXPIRED;
    jobs->counts.passed += status == GS_OK && got.verdict == GS_VERDICT_PASS;
    tell(e, job, kept, failed);
    return true;
}

/* ---- the thread ---- */

static gs_service_job *next_job(gs_service_evaluator *e)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->head && !jobs->stopping) pthread_cond_wait(&jobs->queued, &jobs->lock);
    gs_service_job *const job = jobs->stopping || gs_stop_requested ? NULL : jobs->head;
    if (job) {
        jobs->head = job->after;
        if (!jobs->head) jobs->tail = NULL;
        job->after = NULL;
        job->running = e->state.busy = true;
        e->job = job;
        jobs->running++;
    }
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

/* Goes to the front again; where the service stops, the store has it for the next one. */
static void give_back(gs_service_evaluator *e, gs_service_job *job)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    jobs->running--;
    job->running = e->state.busy = false;
    e->job = NULL;
    gs_service_enqueue(jobs, job, true);
    pthread_mutex_unlock(&jobs->lock);
    if (!stopping(e)) gs_clock_sleep_ns(PAUSE_NS);
}

static void work(gs_service_evaluator *e, gs_environment *environment)
{
    gs_service_job *job;
    while ((job = next_job(e))) {
        loaded what = {0};
        gs_error error;
        bool done = false;
        const gs_status status = gs_store_job_get(e->session.store, job->id, load, &what, &error);
        if (status != GS_OK) gs_log(GS_LOG_ERROR, "job %s: %s", job->id, error.text);
        if (status == GS_ERROR_NOT_FOUND) what.answer = excuse_of("", "machine", "somebody took it out of the store");
        what.failed |= status == GS_ERROR_NOT_FOUND;
        if (what.answer) tell(e, job, what.answer, what.failed);
        done = what.answer || (status == GS_OK && work_on(e, environment, job, &what));
        json_decref(what.request);
        if (!done) give_back(e, job);
    }
}

static gs_status start(gs_service_evaluator *e, gs_environment **environment, gs_error *error)
{
    const gs_service_options *const options = &e->jobs->options;
    gs_environment_options how = options->environment;
    GS_TRY(options->opener.open(options->opener.self, (int)(e - e->jobs->evaluator), &e->session, error));
    snprintf(e->state.name, sizeof e->state.name, "%s", e->session.worker->device);
    e->session.worker->unwanted = unwanted;
    e->session.worker->self = e;
    if (e->session.emulator) {
        e->session.emulator->unwanted = unwanted;
        e->session.emulator->self = e;
    }
    how.reward = GS_REWARD_HEADROOM;
    how.emulator = e->session.emulator;
    const gs_status status = gs_environment_create(environment, e->session.worker, e->session.caps, e->session.store, e->session.session, &how, error);
    if (status != GS_OK) options->opener.close(&e->session);
    return status;
}

/* The worker ends with the thread that started it, so this thread starts it. */
void *gs_service_main(void *self)
{
    gs_service_evaluator *const e = self;
    gs_environment *environment = NULL;
    gs_error error = {0};
    const gs_status status = start(e, &environment, &error);
    pthread_mutex_lock(&e->jobs->lock);
    e->status = status;
    e->error = error;
    e->ready = true;
    pthread_cond_broadcast(&e->jobs->changed);
    pthread_mutex_unlock(&e->jobs->lock);
    if (status == GS_OK) work(e, environment);
    gs_environment_destroy(&environment);
    if (status == GS_OK) e->jobs->options.opener.close(&e->session);
    return NULL;
}

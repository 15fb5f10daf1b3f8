/* SPDX-License-Identifier: MIT */
#include "jobs/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

enum { PRUNE_MOST = 256, KEEP_MS = 10000, GRACE_MS = 15000 };
#define BYTES_MOST ((int64_t)256 << 20)   /* of the requests of all open jobs */
#define PRUNE_S       60.0                /* seconds between looks for old answers */
#define PRUNE_NEXT_NS INT64_C(20000000)   /* if there are more to remove */

/* ---- the keeper ---- */

typedef struct stored {
    const char *request;   /* the request to compare with; NULL: none */
    char       *answer;
    int64_t     expires;
    bool        there, other, failed, no_memory;
} stored;

static void look(void *self, const gs_job *job)
{
    stored *const s = self;
    s->there = true;
    s->failed = job->failed;
    s->expires = job->expires;
    s->other = s->request && strcmp(s->request, job->request) != 0;
    s->answer = job->answer && !s->other ? strdup(job->answer) : NULL;
    s->no_memory = job->answer && !s->other && !s->answer;
}

static gs_status read_stored(gs_service_jobs *jobs, const char *id, stored *out, gs_error *error)
{
    const gs_status status = gs_store_job_get(jobs->store, id, look, out, error);
    if (status == GS_ERROR_NOT_FOUND) return GS_OK;
    if (status == GS_OK && out->no_memory) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    if (status == GS_OK && out->other) return gs_fail(error, GS_ERROR_CORRUPT, "id", "another request has the same id");
    return status;
}

/* Compares a request with a job that is not stored yet; its text is with the operation that brought it. */
static gs_status came_with(const gs_service_job *job, const gs_service_item *item, gs_error *error)
{
    const gs_service_op *const owner = job->owner;
    for (int i = 0; i < owner->request->count; i++)
        if (owner->found[i].job == job) {
            const bool same = strcmp(owner->request->item[i].request, item->request) == 0;
            return same ? GS_OK : gs_fail(error, GS_ERROR_CORRUPT, "id", "another request has the same id");
        }
    return GS_OK;
}

/* Another client wants the open job. The store is updated if it would drop the job much too early after a restart; a few seconds are not worth a write. */
static gs_status want(gs_service_jobs *jobs, gs_service_job *job, int64_t expires, gs_error *error)
{
    pthread_mutex_lock(&jobs->lock);
    const int64_t before = job->expires;
    gs_service_want(job, expires);
    const bool more = job->expires != before && (job->expires == 0 || job->expires - before > KEEP_MS);
    pthread_mutex_unlock(&jobs->lock);
    return more && !job->owner ? gs_store_job_keep(jobs->store, job->id, expires, error) : GS_OK;
}

/* Handles one item: open already, answered, or new and added to the table. Only the keeper adds to the table, so an item that is not in it is answered or
 * new. */
static gs_status take_item(gs_service_jobs *jobs, gs_service_op *op, const gs_service_item *item, gs_service_found *found)
{
    stored s = {.request = item->request};
    pthread_mutex_lock(&jobs->lock);
    gs_service_job *job = gs_service_open_find(jobs, item->id);
    if (job) gs_service_hold(found, job);
    pthread_mutex_unlock(&jobs->lock);
    if (job) GS_TRY(want(jobs, job, op->request->expires, &op->error));
    if (job && job->owner) return came_with(job, item, &op->error);
    const gs_status status = read_stored(jobs, item->id, &s, &op->error);
    if (status != GS_OK || job || (s.answer && !s.failed)) {
        if (!job) *found = (gs_service_found){.answer = s.answer};
        else free(s.answer);
        return status;
    }
    free(s.answer);
    pthread_mutex_lock(&jobs->lock);
    const int64_t bytes = (int64_t)strlen(item->request);
    const bool long_ones = jobs->bytes + bytes > BYTES_MOST, full = jobs->open >= jobs->options.queue || long_ones, stopping = jobs->stopping;
    job = full || stopping ? NULL : gs_service_open_add(jobs, item->id, bytes, op->request->expires);
    if (job) {
        job->owner = op;
        job->alike = gs_service_alike(&item->problem);
        job->schedule = item->schedule;
        gs_service_hold(found, job);
        op->fresh++;
    }
    pthread_mutex_unlock(&jobs->lock);
    if (job) return GS_OK;
    if (stopping) return gs_fail(&op->error, GS_ERROR_INTERRUPTED, NULL, "the service stops");
    if (long_ones) return gs_fail(&op->error, GS_ERROR_TIMEOUT, NULL, "candidates of %d MiB are waiting: come back later", (int)(BYTES_MOST >> 20));
    return full ? gs_fail(&op->error, GS_ERROR_TIMEOUT, NULL, "%d candidates are waiting: come back later", jobs->options.queue)
                : gs_fail(&op->error, GS_ERROR_MEMORY, NULL, "no memory for a job");
}

/* Removes the jobs that this operation added; no client knows of them yet. */
static void undo(gs_service_jobs *jobs, gs_service_op *op, int taken)
{
    pthread_mutex_lock(&jobs->lock);
    for (int i = 0; i < taken; i++) {
        gs_service_job *const job = op->found[i].job;
        if (!job || job->owner != op) continue;
        job->owner = NULL;
        gs_service_open_drop(jobs, job);
    }
    pthread_mutex_unlock(&jobs->lock);
}

static void take(gs_service_jobs *jobs, gs_service_op *op)
{
    const gs_service_request *const request = op->request;
    for (int i = 0; i < request->count && op->status == GS_OK; i++) {
        if (!request->item[i].request) continue;   /* nothing to evaluate */
        op->status = take_item(jobs, op, &request->item[i], &op->found[i]);
        if (op->status != GS_OK) undo(jobs, op, i);
    }
}

/* Cancels an open job: at once if it waits, otherwise its worker's call is aborted. */
static gs_status cancel(gs_service_jobs *jobs, gs_service_job *job, gs_error *error)
{
    static const char answer[] = "{\"verdict\":\"cancelled\",\"reason\":\"was cancelled before it was begun\"}";
    if (job->owner) return gs_fail(error, GS_ERROR_TIMEOUT, "id", "is just coming in: try again");
    pthread_mutex_lock(&jobs->lock);
    job->cancelled = true;
    const bool waits = gs_service_take_back(jobs, job) || (gs_service_unqueue(jobs, job) && job->at_work == 0);
    pthread_mutex_unlock(&jobs->lock);
    if (!waits) return GS_OK;
    const gs_status status = gs_store_job_end(jobs->store, job->id, answer, true, error);
    char *const copy = status == GS_OK ? strdup(answer) : NULL;
    pthread_mutex_lock(&jobs->lock);
    if (copy) gs_service_done(jobs, job, copy, true);
    else gs_service_enqueue(jobs, job, job->stage, true);   /* the thread that takes it sees that it was cancelled */
    jobs->counts.cancelled += copy != NULL;
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

/* Adds a job that another service has accepted, so that callers here can wait for it. */
static gs_service_job *find_elsewhere(gs_service_jobs *jobs, const gs_service_op *op, int64_t expires)
{
    pthread_mutex_lock(&jobs->lock);
    gs_service_job *const job = gs_service_id_valid(op->id) && !jobs->stopping ? gs_service_open_add(jobs, op->id, 0, expires) : NULL;
    if (job) {
        gs_service_put_aside(jobs, job);
        gs_service_hold(op->found, job);
    }
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

static void find(gs_service_jobs *jobs, gs_service_op *op)
{
    stored s = {0};
    pthread_mutex_lock(&jobs->lock);
    gs_service_job *job = gs_service_open_find(jobs, op->id);
    if (job) gs_service_hold(op->found, job);
    pthread_mutex_unlock(&jobs->lock);
    if (!job) {
        op->status = read_stored(jobs, op->id, &s, &op->error);
        if (op->status == GS_OK && s.there && !s.answer) job = find_elsewhere(jobs, op, s.expires);
    }
    if (job) {
        if (op->cancel) op->status = cancel(jobs, job, &op->error);
        else if (op->expires > 0) op->status = want(jobs, job, op->expires, &op->error);
        return;
    }
    *op->found = (gs_service_found){.answer = s.answer, .failed = s.failed};
    if (op->status == GS_OK && !s.answer) op->status = gs_fail(&op->error, GS_ERROR_NOT_FOUND, "id", "no such job");
}

static void library(gs_service_jobs *jobs, gs_service_op *op)
{
    char text[GS_PROBLEM_TEXT];
    op->status = gs_store_library_us(jobs->store, gs_service_jobs_slug(jobs), gs_problem_format(op->problem, text), &op->us, &op->error);
}

/* Stores the new jobs of all operations in one transaction. */
static gs_status commit(gs_service_jobs *jobs, const gs_service_op *ops, gs_error *error)
{
    int most = 0, count = 0;
    for (const gs_service_op *op = ops; op; op = op->next) most += op->status == GS_OK && op->fresh > 0 ? op->request->count : 0;
    if (most == 0) return GS_OK;
    gs_job *const list = calloc((size_t)most, sizeof *list);
    bool *const mine = calloc((size_t)most, sizeof *mine);
    if (!list || !mine) {
        free(list);
        free(mine);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for jobs");
    }
    for (const gs_service_op *op = ops; op; op = op->next)
        for (int i = 0; op->status == GS_OK && op->fresh > 0 && i < op->request->count; i++) {
            const gs_service_job *const job = op->found[i].job;
            if (job && job->owner == op)
                list[count++] = (gs_job){.id = job->id, .device = gs_service_jobs_slug(jobs), .request = op->request->item[i].request,
                                          .expires = job->expires};
        }
    const gs_status status = gs_store_jobs_claim(jobs->store, list, count, &jobs->who, GS_SERVICE_LEASE_S, mine, error);
    count = 0;
    pthread_mutex_lock(&jobs->lock);
    for (const gs_service_op *op = ops; status == GS_OK && op; op = op->next)
        for (int i = 0; op->status == GS_OK && op->fresh > 0 && i < op->request->count; i++)
            if (op->found[i].job && op->found[i].job->owner == op) op->found[i].job->aside = !mine[count++];
    pthread_mutex_unlock(&jobs->lock);
    free(list);
    free(mine);
    return status;
}

static void settle(gs_service_jobs *jobs, gs_service_op *ops, gs_status status, const gs_error *error)
{
    pthread_mutex_lock(&jobs->lock);
    for (gs_service_op *op = ops, *next; op; op = next) {
        next = op->next;
        int64_t turn = jobs->turn;
        for (int i = 0; op->request && op->status == GS_OK && i < op->request->count; i++) {
            gs_service_job *const job = op->found[i].job;
            if (!job || job->owner != op) continue;
            job->owner = NULL;
            job->status = status;
            if (status == GS_OK) {
                jobs->counts.accepted++;
                job->turn = ++turn;
                if (job->aside) gs_service_put_aside(jobs, job);
                else gs_service_enqueue(jobs, job, gs_service_first_stage(jobs), false);
            } else {
                gs_service_open_drop(jobs, job);
            }
        }
        for (int i = 0; op->request && op->status == GS_OK && i < op->request->count; i++)
            if (op->found[i].job && op->found[i].job->status != GS_OK) {
                op->status = status;
                op->error = *error;
            }
        op->done = true;
    }
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

static void keep(gs_service_jobs *jobs, gs_service_op *ops)
{
    gs_error error = {0};
    for (gs_service_op *op = ops; op; op = op->next) {
        if (op->request) take(jobs, op);
        else if (op->id) find(jobs, op);
        else library(jobs, op);
    }
    const gs_status status = commit(jobs, ops, &error);
    settle(jobs, ops, status, &error);
}

/* Removes some old answers, few enough not to delay requests. */
static void prune(gs_service_jobs *jobs)
{
    char before[GS_DATE_TEXT];
    gs_error error;
    int removed;
    bool more;
    const double keep_s = jobs->options.keep_s;
    if (keep_s <= 0 || gs_clock_ns() < jobs->prune_at) return;
    const gs_status status = gs_store_jobs_prune(jobs->store, gs_date_before(before, keep_s), PRUNE_MOST, &jobs->pruned, &removed, &more, &error);
    if (status != GS_OK) gs_log(GS_LOG_WARNING, "old answers stay for now: %s", error.text);
    jobs->counts.forgotten += removed;
    if (!more) jobs->pruned = 0;
    jobs->prune_at = gs_clock_ns() + (more ? PRUNE_NEXT_NS : (int64_t)(GS_MIN(PRUNE_S, keep_s / 2) * 1e9));
}

/* Waits for an operation, or until it is time to prune or to look at other services' jobs. */
static void wait_for_work(gs_service_jobs *jobs)
{
    const int64_t share_at = gs_service_share_at(jobs), at = jobs->options.keep_s > 0 ? GS_MIN(jobs->prune_at, share_at) : share_at;
    const struct timespec until = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)};
    pthread_cond_timedwait(&jobs->work, &jobs->lock, &until);
}

static void go_on(void *self, const gs_job *job)
{
    gs_service_jobs *const jobs = self;
    if (!gs_service_id_valid(job->id) || job->held) return;
    gs_service_job *const open = gs_service_open_add(jobs, job->id, job->bytes, job->expires);
    if (open) gs_service_enqueue(jobs, open, gs_service_first_stage(jobs), false);   /* all have turn 0 */
}

static void *keeper_main(void *self)
{
    gs_service_jobs *const jobs = self;
    gs_error error = {0};
    gs_status status = gs_store_open(&jobs->store, jobs->options.store, &error);
    pthread_mutex_lock(&jobs->lock);
    if (status == GS_OK) status = gs_store_jobs_open(jobs->store, gs_service_jobs_slug(jobs), &jobs->who, go_on, jobs, &error);
    jobs->keeper_status = status;
    jobs->keeper_error = error;
    jobs->keeper_ready = true;
    pthread_cond_broadcast(&jobs->changed);
    while (status == GS_OK) {
        if (!jobs->first && !jobs->ended) wait_for_work(jobs);
        gs_service_op *const ops = jobs->first;
        if (!ops && jobs->ended) break;
        jobs->first = jobs->last = NULL;
        pthread_mutex_unlock(&jobs->lock);
        if (ops) keep(jobs, ops);
        prune(jobs);
        gs_service_share(jobs);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (status == GS_OK && gs_store_release_run(jobs->store, jobs->who.run, &error) != GS_OK) gs_log(GS_LOG_WARNING, "other services wait for this one's jobs a while: %s", error.text);
    gs_store_close(&jobs->store);
    return NULL;
}

/* ---- callers ---- */

static gs_status ask(gs_service_jobs *jobs, gs_service_op *op, gs_error *error)
{
    pthread_mutex_lock(&jobs->lock);
    if (jobs->last) jobs->last->next = op;
    else jobs->first = op;
    jobs->last = op;
    pthread_cond_signal(&jobs->work);
    while (!op->done) pthread_cond_wait(&jobs->changed, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    if (op->status != GS_OK) *error = op->error;
    return op->status;
}

gs_status gs_service_jobs_accept(gs_service_jobs *jobs, const gs_service_request *request, gs_service_found *found, gs_error *error)
{
    gs_service_op op = {.request = request, .found = found};
    int candidates = 0;
    for (int i = 0; i < request->count; i++) candidates += request->item[i].request != NULL;
    memset(found, 0, (size_t)request->count * sizeof *found);
    const gs_status status = ask(jobs, &op, error);
    if (status == GS_OK) jobs->counts.joined += candidates - op.fresh;
    else {
        jobs->counts.refused += candidates;
        for (int i = 0; i < request->count; i++) gs_service_found_free(jobs, &found[i]);
    }
    return status;
}

int64_t gs_service_jobs_expiry(double deadline_s) { return gs_date_ms() + (int64_t)(deadline_s * 1000) + GRACE_MS; }

static gs_status ask_for(gs_service_jobs *jobs, gs_service_op *op, gs_error *error)
{
    *op->found = (gs_service_found){0};
    const gs_status status = ask(jobs, op, error);
    if (status != GS_OK) gs_service_found_free(jobs, op->found);
    return status;
}

gs_status gs_service_jobs_find(gs_service_jobs *jobs, const char *id, double wait_s, gs_service_found *found, gs_error *error)
{
    gs_service_op op = {.id = id, .found = found, .expires = wait_s > 0 ? gs_service_jobs_expiry(wait_s) : 0};
    return ask_for(jobs, &op, error);
}

gs_status gs_service_jobs_cancel(gs_service_jobs *jobs, const char *id, gs_service_found *found, gs_error *error)
{
    gs_service_op op = {.id = id, .found = found, .cancel = true};
    return ask_for(jobs, &op, error);
}

gs_status gs_service_jobs_library(gs_service_jobs *jobs, const gs_problem *problem, double *us, gs_error *error)
{
    gs_service_op op = {.problem = problem};
    const gs_status status = ask(jobs, &op, error);
    *us = op.us;
    return status;
}

bool gs_service_jobs_wait(gs_service_jobs *jobs, gs_service_found *found, int64_t until_ns)
{
    gs_service_job *const job = found->job;
    if (!job || found->answer) return true;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
    pthread_mutex_lock(&jobs->lock);
    while (!job->done && !jobs->closing && pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until) != ETIMEDOUT) {
    }
    found->running = job->at_work > 0;
    if (job->done && job->answer) found->answer = strdup(job->answer);
    found->failed = job->failed;
    const bool over = job->done || jobs->closing;
    pthread_mutex_unlock(&jobs->lock);
    return over;
}

void gs_service_found_free(gs_service_jobs *jobs, gs_service_found *found)
{
    free(found->answer);
    if (found->job) {
        pthread_mutex_lock(&jobs->lock);
        gs_service_release(found->job);
        pthread_mutex_unlock(&jobs->lock);
    }
    *found = (gs_service_found){0};
}

/* ---- start and end ---- */

static void prepare(gs_service_jobs *jobs)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, &monotonic);
    pthread_cond_init(&jobs->work, &monotonic);
    for (int i = 0; i < GS_JOBS_STAGES; i++) pthread_cond_init(&jobs->queue[i].filled, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Threads start one after another, so that their messages are in order. */
static gs_status start_thread(gs_service_jobs *jobs, gs_service_evaluator *e, gs_jobs_stage stage, gs_error *error)
{
    e->jobs = jobs;
    e->stage = stage;
    const int why = pthread_create(&e->thread, NULL, gs_service_main, e);
    if (why != 0) return gs_fail_errno(error, why, NULL, "no thread");
    e->started = true;
    pthread_mutex_lock(&jobs->lock);
    while (!e->ready) pthread_cond_wait(&jobs->changed, &jobs->lock);
    jobs->queue[stage].load.threads += e->status == GS_OK;
    pthread_mutex_unlock(&jobs->lock);
    if (e->status != GS_OK) *error = e->error;
    return e->status;
}

static gs_status start_evaluator(gs_service_jobs *jobs, int index, gs_error *error)
{
    gs_service_evaluator *const e = &jobs->evaluator[index], *const first = &jobs->evaluator[0];
    jobs->evaluators++;
    GS_TRY(start_thread(jobs, e, GS_JOBS_DEVICE, error));
    if (strcmp(e->session.device, first->session.device) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_ARGUMENT, "devices", "%s is %s and %s is %s; rewards of different GPUs are never mixed: start a service for each", e->state.name,
                   e->session.device, first->state.name, first->session.device);
}

static gs_status start_preparer(gs_service_jobs *jobs, int index, gs_error *error)
{
    jobs->preparers++;
    return start_thread(jobs, &jobs->preparer[index], GS_JOBS_PREPARE, error);
}

static gs_status start_keeper(gs_service_jobs *jobs, gs_error *error)
{
    const int why = pthread_create(&jobs->keeper, NULL, keeper_main, jobs);
    if (why != 0) return gs_fail_errno(error, why, NULL, "no thread");
    jobs->kept = true;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->keeper_ready) pthread_cond_wait(&jobs->changed, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->keeper_status != GS_OK) *error = jobs->keeper_error;
    return jobs->keeper_status;
}

gs_status gs_service_jobs_start(gs_service_jobs **out, const gs_jobs_options *options, gs_error *error)
{
    gs_service_jobs *const jobs = *out = calloc(1, sizeof *jobs);
    if (!jobs) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the service");
    jobs->options = *options;
    char run[GS_LEASE_RUN];
    gs_lessee_run(run);
    gs_lessee_of(&jobs->who, run, getpid());
    prepare(jobs);
    gs_status status = GS_OK;
    for (int i = 0; i < options->devices && status == GS_OK; i++) status = start_evaluator(jobs, i, error);
    for (int i = 0; i < options->prepare && status == GS_OK; i++) status = start_preparer(jobs, i, error);
    if (status == GS_OK) status = start_keeper(jobs, error);
    if (status != GS_OK) gs_service_jobs_free(out);
    return status;
}

static void join(gs_service_evaluator *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (list[i].started) pthread_join(list[i].thread, NULL);
        list[i].started = false;
    }
}

void gs_service_jobs_stop(gs_service_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    for (int i = 0; i < GS_JOBS_STAGES; i++) pthread_cond_broadcast(&jobs->queue[i].filled);
    pthread_mutex_unlock(&jobs->lock);
    join(jobs->preparer, jobs->preparers);
    join(jobs->evaluator, jobs->evaluators);
    pthread_mutex_lock(&jobs->lock);
    jobs->closing = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

void gs_service_jobs_free(gs_service_jobs **out)
{
    gs_service_jobs *const jobs = *out;
    if (!jobs) return;
    gs_service_jobs_stop(jobs);
    pthread_mutex_lock(&jobs->lock);
    jobs->ended = true;
    pthread_cond_broadcast(&jobs->work);
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->kept) pthread_join(jobs->keeper, NULL);
    for (int i = 0; i < GS_SERVICE_BUCKETS; i++)
        while (jobs->bucket[i]) gs_service_open_drop(jobs, jobs->bucket[i]);
    pthread_cond_destroy(&jobs->changed);
    pthread_cond_destroy(&jobs->work);
    for (int i = 0; i < GS_JOBS_STAGES; i++) pthread_cond_destroy(&jobs->queue[i].filled);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    *out = NULL;
}

/* ---- state for others ---- */

const gs_caps      *gs_service_jobs_caps(const gs_service_jobs *jobs) { return jobs->evaluator[0].session.caps; }
const char         *gs_service_jobs_slug(const gs_service_jobs *jobs) { return jobs->evaluator[0].session.device; }
const char         *gs_service_jobs_version(const gs_service_jobs *jobs) { return jobs->evaluator[0].session.version; }
const gs_service_counts *gs_service_jobs_counts(const gs_service_jobs *jobs) { return &jobs->counts; }

int gs_service_jobs_open(gs_service_jobs *jobs, int *running)
{
    pthread_mutex_lock(&jobs->lock);
    const int open = jobs->open;
    *running = jobs->running;
    pthread_mutex_unlock(&jobs->lock);
    return open;
}

int gs_service_jobs_devices(gs_service_jobs *jobs, gs_service_device *out)
{
    pthread_mutex_lock(&jobs->lock);
    for (int i = 0; i < jobs->evaluators; i++) {
        out[i] = jobs->evaluator[i].state;
        if (out[i].busy) out[i].busy_us += (gs_clock_ns() - out[i].since) / 1000;   /* includes the current job */
    }
    pthread_mutex_unlock(&jobs->lock);
    return jobs->evaluators;
}

gs_jobs_load gs_service_jobs_load(gs_service_jobs *jobs, gs_jobs_stage stage)
{
    pthread_mutex_lock(&jobs->lock);
    const gs_jobs_load load = jobs->queue[stage].load;
    pthread_mutex_unlock(&jobs->lock);
    return load;
}

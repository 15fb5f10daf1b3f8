/* SPDX-License-Identifier: MIT
 * Several services with one store. A service holds each of its jobs by a lease; a job of another service is put aside until its answer is in the store. When
 * a service is gone, its leases expire and another one takes its jobs over. docs/internals/serve.md. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "jobs/internal.h"

#define RENEW_NS     INT64_C(10000000000)   /* a third of GS_SERVICE_LEASE_S */
#define LOOK_NS      INT64_C(250000000)     /* while an answer is awaited */
#define LOOK_IDLE_NS INT64_C(3000000000)    /* for jobs that another service left */

/* ---- aside ---- */

void gs_service_put_aside(gs_service_jobs *jobs, gs_service_job *job)
{
    job->aside = true;
    job->seen = jobs->looks;
    job->after = jobs->aside;
    jobs->aside = job;
    jobs->look_at = GS_MIN(jobs->look_at, gs_clock_ns() + LOOK_NS);
    pthread_cond_signal(&jobs->work);
}

bool gs_service_take_back(gs_service_jobs *jobs, gs_service_job *job)
{
    for (gs_service_job **at = &jobs->aside; *at; at = &(*at)->after)
        if (*at == job) {
            *at = job->after;
            job->after = NULL;
            job->aside = false;
            return true;
        }
    return false;
}

int64_t gs_service_share_at(const gs_service_jobs *jobs) { return GS_MIN(jobs->renew_at, jobs->look_at); }

/* ---- reading the store ---- */

typedef struct open_job {
    char    id[GS_HASH_TEXT];
    bool    held;
    int64_t expires, bytes;
} open_job;

typedef struct open_list {
    open_job *list;
    int       count, room;
    bool      lost;   /* out of memory */
} open_list;

static void note(void *self, const gs_job *job)
{
    open_list *const all = self;
    if (!gs_service_id_valid(job->id)) return;
    if (all->lost || !gs_grow(&all->list, all->count, &all->room, sizeof *all->list)) {
        all->lost = true;
        return;
    }
    open_job *const one = &all->list[all->count++];
    memcpy(one->id, job->id, sizeof one->id);
    one->held = job->held;
    one->expires = job->expires;
    one->bytes = job->bytes;
}

typedef struct told {
    const gs_service_jobs *jobs;
    const char *id;
    char       *answer;
    bool        failed, there, ours;
} told;

static void take(void *self, const gs_job *job)
{
    told *const out = self;
    const gs_jobs_options *const options = &out->jobs->options;
    out->there = true;
    out->answer = job->answer ? strdup(job->answer) : NULL;
    out->failed = job->failed;
    out->ours = options->ours && options->ours(options->scope, out->jobs->evaluator[0].session.device, out->jobs->evaluator[0].session.version, job->request, out->id);
}

/* ---- looking at the store ---- */

/* The caller holds the lock. Takes back a job aside that nobody holds any more; true: the job is unknown here and nobody holds it. */
static bool sort(gs_service_jobs *jobs, const open_job *one)
{
    gs_service_job *const job = gs_service_open_find(jobs, one->id);
    if (!job) return !one->held && jobs->open < jobs->options.queue && !jobs->stopping;
    if (!job->aside || job->owner) return false;
    job->seen = jobs->looks;
    if (!one->held && gs_service_take_back(jobs, job)) gs_service_enqueue(jobs, job, GS_MAX(job->stage, gs_service_first_stage(jobs)), false);
    return false;
}

/* Takes over a job of a service that is gone, unless its options differ from this one's: then it stays for a service that would accept it. */
static void adopt(gs_service_jobs *jobs, const open_job *one)
{
    gs_error error;
    told s = {.jobs = jobs, .id = one->id};
    const gs_status status = gs_store_job_get(jobs->store, one->id, take, &s, &error);
    if (status != GS_OK || s.answer || !s.ours) {
        free(s.answer);
        return;
    }
    pthread_mutex_lock(&jobs->lock);
    gs_service_job *const job = gs_service_open_add(jobs, one->id, one->bytes, one->expires);
    if (job) {
        job->turn = jobs->turn + 1;
        gs_service_enqueue(jobs, job, gs_service_first_stage(jobs), false);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (job) gs_log(GS_LOG_INFO, "job %s was left by another service: it is gone on with here", one->id);
}

/* The job is no longer open in the store: passes the other service's answer on. */
static void end(gs_service_jobs *jobs, gs_service_job *job)
{
    gs_error error;
    told s = {.jobs = jobs, .id = job->id};
    const gs_status status = gs_store_job_get(jobs->store, job->id, take, &s, &error);
    const bool gone = status == GS_ERROR_NOT_FOUND;
    pthread_mutex_lock(&jobs->lock);
    if ((s.answer || gone) && gs_service_take_back(jobs, job)) {
        if (gone) gs_service_enqueue(jobs, job, GS_MAX(job->stage, gs_service_first_stage(jobs)), true);   /* its thread finds it missing and reports that */
        else gs_service_done(jobs, job, s.answer, s.failed);
        jobs->counts.shared += !gone;
        s.answer = NULL;
    }
    pthread_mutex_unlock(&jobs->lock);
    free(s.answer);
}

/* The next job aside that the last look did not find open. Only the keeper removes jobs from this list. */
static gs_service_job *next_ended(gs_service_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    gs_service_job *job = jobs->aside;
    while (job && job->seen == jobs->looks) job = job->after;
    if (job) job->seen = jobs->looks;
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

static void look(gs_service_jobs *jobs)
{
    gs_error error;
    open_list all = {0};
    pthread_mutex_lock(&jobs->lock);
    jobs->looks++;
    pthread_mutex_unlock(&jobs->lock);
    const gs_status status = gs_store_jobs_open(jobs->store, jobs->evaluator[0].session.device, &jobs->who, note, &all, &error);
    if (status != GS_OK || all.lost) {
        gs_log(GS_LOG_WARNING, "what other services have done is not known: %s", status != GS_OK ? error.text : "no memory");
        free(all.list);
        return;
    }
    for (int i = 0; i < all.count; i++) {
        pthread_mutex_lock(&jobs->lock);
        const bool left = sort(jobs, &all.list[i]);
        pthread_mutex_unlock(&jobs->lock);
        if (left) adopt(jobs, &all.list[i]);
    }
    free(all.list);
    for (gs_service_job *job; (job = next_ended(jobs));) end(jobs, job);
}

void gs_service_share(gs_service_jobs *jobs)
{
    gs_error error;
    const int64_t now = gs_clock_ns();
    pthread_mutex_lock(&jobs->lock);
    const bool renews = now >= jobs->renew_at, looks = now >= jobs->look_at, some = jobs->open > 0;
    if (renews) jobs->renew_at = now + RENEW_NS;
    if (looks) jobs->look_at = now + (jobs->aside ? LOOK_NS : LOOK_IDLE_NS);
    pthread_mutex_unlock(&jobs->lock);
    if (renews && some && gs_store_renew(jobs->store, &jobs->who, GS_SERVICE_LEASE_S, NULL, &error) != GS_OK)
        gs_log(GS_LOG_WARNING, "other services may take this one's jobs for left: %s", error.text);
    if (looks) look(jobs);
}

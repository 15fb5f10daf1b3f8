/* SPDX-License-Identifier: MIT
 * The open jobs: a table by id, and the queue in which they wait for a device. */
#include "service/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

/* ---- the table of open jobs ---- */

static gs_service_job **bucket_of(gs_service_jobs *jobs, const char *id) { return &jobs->bucket[gs_hash64(id, strlen(id)) % GS_SERVICE_BUCKETS]; }

gs_service_job *gs_service_open_find(gs_service_jobs *jobs, const char *id)
{
    for (gs_service_job *job = *bucket_of(jobs, id); job; job = job->next)
        if (strcmp(job->id, id) == 0) return job;
    return NULL;
}

gs_service_job *gs_service_open_add(gs_service_jobs *jobs, const char *id, int64_t bytes, int64_t expires)
{
    gs_service_job *const job = calloc(1, sizeof *job);
    if (!job) return NULL;
    memcpy(job->id, id, sizeof job->id);
    job->holders = 1;
    job->bytes = bytes;
    job->expires = expires;
    gs_service_job **const bucket = bucket_of(jobs, id);
    job->next = *bucket;
    *bucket = job;
    jobs->open++;
    jobs->bytes += bytes;
    return job;
}

void gs_service_release(gs_service_job *job)
{
    if (--job->holders > 0) return;
    free(job->answer);
    free(job);
}

void gs_service_open_drop(gs_service_jobs *jobs, gs_service_job *job)
{
    for (gs_service_job **at = bucket_of(jobs, job->id); *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            jobs->open--;
            jobs->bytes -= job->bytes;
            gs_service_release(job);
            return;
        }
}

void gs_service_enqueue(gs_service_jobs *jobs, gs_service_job *job, bool in_front)
{
    job->after = in_front ? jobs->head : NULL;
    if (!jobs->head) jobs->head = jobs->tail = job;
    else if (in_front) jobs->head = job;
    else jobs->tail = jobs->tail->after = job;
    pthread_cond_signal(&jobs->queued);
}

bool gs_service_unqueue(gs_service_jobs *jobs, gs_service_job *job)
{
    gs_service_job *before = NULL;
    for (gs_service_job *at = jobs->head; at; before = at, at = at->after) {
        if (at != job) continue;
        if (before) before->after = job->after;
        else jobs->head = job->after;
        if (jobs->tail == job) jobs->tail = before;
        job->after = NULL;
        return true;
    }
    return false;
}

void gs_service_want(gs_service_job *job, int64_t expires)
{
    if (job->expires != 0 && (expires == 0 || expires > job->expires)) job->expires = expires;
}

bool gs_service_job_expired(const gs_service_job *job) { return job->expires != 0 && gs_date_ms() > job->expires; }

void gs_service_done(gs_service_jobs *jobs, gs_service_job *job, char *answer, bool failed)
{
    job->done = true;
    job->running = false;
    job->failed = failed;
    job->answer = answer;
    gs_service_open_drop(jobs, job);
    pthread_cond_broadcast(&jobs->changed);
}

void gs_service_hold(gs_service_found *found, gs_service_job *job)
{
    job->holders++;
    *found = (gs_service_found){.job = job, .running = job->running};
}

bool gs_service_jobs_stopping(gs_service_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    const bool stopping = jobs->stopping;
    pthread_mutex_unlock(&jobs->lock);
    return stopping;
}

/* SPDX-License-Identifier: MIT
 * The open jobs: a table by id, and a queue per stage. Turns interleave requests: the first candidates of all requests come before the second ones, so that a
 * long batch does not block others. */
#include "jobs/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/stop.h"

enum { STREAK_MOST = 16, LOOK_MOST = 64 };

/* ---- the table of open jobs ---- */

bool gs_service_id_valid(const char *id) { return strlen(id) == GS_HASH_TEXT - 1 && strspn(id, "0123456789abcdef") == GS_HASH_TEXT - 1; }

static gs_service_job **bucket_of(gs_service_jobs *jobs, const char *id) { return &jobs->bucket[gs_hash64(id, strlen(id)) % GS_SERVICE_BUCKETS]; }

gs_service_job *gs_service_open_find(gs_service_jobs *jobs, const char *id)
{
    for (gs_service_job *job = *bucket_of(jobs, id); job; job = job->next_open)
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
    job->next_open = *bucket;
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
    for (gs_service_job **at = bucket_of(jobs, job->id); *at; at = &(*at)->next_open)
        if (*at == job) {
            *at = job->next_open;
            jobs->open--;
            jobs->bytes -= job->bytes;
            gs_service_release(job);
            return;
        }
}

void gs_service_enqueue(gs_service_jobs *jobs, gs_service_job *job, gs_jobs_stage stage, bool in_front)
{
    gs_jobs_queue *const q = &jobs->queue[stage];
    gs_service_job **at = &q->head;
    if (!in_front && q->tail && q->tail->turn <= job->turn) at = &q->tail->after;
    while (!in_front && *at && (*at)->turn <= job->turn) at = &(*at)->after;
    job->after = *at;
    *at = job;
    if (!job->after) q->tail = job;
    job->queued = true;
    job->stage = stage;
    q->load.waiting++;
    pthread_cond_signal(&q->filled);
}

bool gs_service_unqueue(gs_service_jobs *jobs, gs_service_job *job)
{
    gs_jobs_queue *const q = &jobs->queue[job->stage];
    gs_service_job *before = NULL;
    for (gs_service_job *at = job->queued ? q->head : NULL; at; before = at, at = at->after) {
        if (at != job) continue;
        if (before) before->after = job->after;
        else q->head = job->after;
        if (q->tail == job) q->tail = before;
        job->after = NULL;
        job->queued = false;
        q->load.waiting--;
        return true;
    }
    return false;
}

bool gs_service_others_wait(const gs_service_jobs *jobs, const gs_service_job *job)
{
    for (int i = 0; i < GS_JOBS_STAGES; i++) {
        const gs_service_job *const first = jobs->queue[i].head;
        if (first && (first != job || first->after)) return true;
    }
    return false;
}

gs_jobs_stage gs_service_first_stage(const gs_service_jobs *jobs) { return jobs->options.prepare > 0 ? GS_JOBS_PREPARE : GS_JOBS_DEVICE; }

uint64_t gs_service_alike(const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    return gs_hash64(text, strlen(text));
}

/* A device prefers the problem of its last job for a while: its worker has tuned cuBLASLt for it, which takes longer than timing a candidate. A job that
 * another device has timed already is left to that device while there are others. */
static gs_service_job *choose(const gs_jobs_queue *q, const gs_service_evaluator *e)
{
    if (e->stage != GS_JOBS_DEVICE) return q->head;
    gs_service_job *first = NULL, *job = q->head;
    for (int i = 0; job && i < LOOK_MOST; i++, job = job->after) {
        if (job->timed && job->timed != e) continue;
        if (!first) first = job;
        if (e->alike == 0 || e->streak >= STREAK_MOST) break;
        if (job->alike == e->alike) return job;
    }
    return first ? first : q->head;
}

gs_service_job *gs_service_take(gs_service_evaluator *e, int *part)
{
    gs_service_jobs *const jobs = e->jobs;
    gs_jobs_queue *const q = &jobs->queue[e->stage];
    pthread_mutex_lock(&jobs->lock);
    while (!q->head && !jobs->stopping) pthread_cond_wait(&q->filled, &jobs->lock);
    gs_service_job *const job = jobs->stopping || gs_stop_requested ? NULL : choose(q, e);
    if (job) {
        e->streak = job->alike != e->alike ? 0 : job == q->head ? e->streak : e->streak + 1;
        e->alike = job->alike;
        *part = e->stage == GS_JOBS_PREPARE ? job->next++ : 0;
        gs_service_unqueue(jobs, job);
        if (e->stage == GS_JOBS_PREPARE && job->next < job->parts) {   /* another thread may take the next part, in its turn */
            job->turn++;
            gs_service_enqueue(jobs, job, e->stage, false);
        }
        job->holders++;
        if (job->at_work++ == 0) jobs->running++;
        if (e->stage == GS_JOBS_DEVICE && job->turn > jobs->turn) jobs->turn = job->turn;   /* so that a new request does not get a turn before jobs that are prepared already */
        q->load.working++;
        e->job = job;
        e->state.busy = true;
        e->state.since = gs_clock_ns();
    }
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

int gs_service_peers(gs_service_evaluator *e, const gs_service_job *job, char (*ids)[GS_HASH_TEXT], int most)
{
    gs_service_jobs *const jobs = e->jobs;
    int count = 0, looked = 0;
    pthread_mutex_lock(&jobs->lock);
    for (gs_service_job *at = job->timed == e ? NULL : jobs->queue[GS_JOBS_DEVICE].head; at && count < most && looked < LOOK_MOST; at = at->after, looked++) {
        if (at->alike != job->alike || job->alike == 0 || at->cancelled || at->timed || !at->schedule) continue;
        at->timed = e;
        memcpy(ids[count++], at->id, sizeof at->id);
    }
    pthread_mutex_unlock(&jobs->lock);
    return count;
}

void gs_service_leave(gs_service_evaluator *e, gs_service_job *job)
{
    const int64_t us = (gs_clock_ns() - e->state.since) / 1000;
    gs_jobs_load *const load = &e->jobs->queue[e->stage].load;
    load->working--;
    load->busy_us += us;
    e->state.busy_us += us;
    e->state.busy = false;
    e->job = NULL;
    if (--job->at_work == 0) e->jobs->running--;
    gs_service_release(job);
}

void gs_service_want(gs_service_job *job, int64_t expires)
{
    if (job->expires != 0 && (expires == 0 || expires > job->expires)) job->expires = expires;
}

bool gs_service_job_expired(const gs_service_job *job) { return job->expires != 0 && gs_date_ms() > job->expires; }

void gs_service_done(gs_service_jobs *jobs, gs_service_job *job, char *answer, bool failed)
{
    if (job->turn > jobs->turn) jobs->turn = job->turn;
    gs_service_unqueue(jobs, job);
    job->done = true;
    job->failed = failed;
    job->answer = answer;
    gs_service_open_drop(jobs, job);
    pthread_cond_broadcast(&jobs->changed);
}

void gs_service_hold(gs_service_found *found, gs_service_job *job)
{
    job->holders++;
    *found = (gs_service_found){.job = job, .running = job->at_work > 0};
}

bool gs_service_jobs_stopping(gs_service_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    const bool stopping = jobs->stopping;
    pthread_mutex_unlock(&jobs->lock);
    return stopping;
}

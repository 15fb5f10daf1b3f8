/* SPDX-License-Identifier: MIT
 * The jobs of gemmsmith serve: which are open, in what order they are evaluated, and who waits for them.
 *
 * Threads: callers (any number); a keeper, which alone has the store in which jobs are kept and commits what came in together at once; some that prepare, each with a worker in which
 * candidates are compiled and user kernels emulated; and one per device, which takes what is prepared, with a worker, an environment and a store connection of its own. A job is in the store
 * before its caller hears that it is accepted, and its answer is before anybody hears that. docs/internals/serve.md. */
#ifndef GS_JOBS_JOBS_H
#define GS_JOBS_JOBS_H

#include <stdatomic.h>

#include "jobs/item.h"
#include "jobs/options.h"

/* A job that was begun so often, and whose service was gone each time, is taken for the cause. Where services are killed at random, three are too few: 4 of 4383 jobs of the kill test had that. */
enum { GS_SERVICE_ATTEMPTS = 5 };

typedef struct gs_service_counts {
    _Atomic int64_t accepted, joined, refused, evaluated, passed, raced, machine, repeated, forgotten, cancelled, expired, shared;
    _Atomic int64_t busy_us;   /* spent in evaluations */
} gs_service_counts;

typedef struct gs_service_device {   /* what health and metrics show of one */
    char    name[GS_WORKER_DEVICE];
    bool    busy, failing;
    long    done;
    int64_t busy_us, since;          /* spent on jobs; gs_clock_ns when it began the one under way */
} gs_service_device;

/* Every job is prepared, then a device proves and times it. Without processes that prepare there is the second stage alone. */
typedef enum gs_jobs_stage { GS_JOBS_PREPARE, GS_JOBS_DEVICE, GS_JOBS_STAGES } gs_jobs_stage;

typedef struct gs_jobs_load {   /* what metrics show of a stage */
    int     threads, waiting, working;
    int64_t done, busy_us;
} gs_jobs_load;

typedef struct gs_service_jobs gs_service_jobs;
typedef struct gs_service_job  gs_service_job;

/* Starts the threads, one device after another, and goes on with the jobs that the store has open. Codes: as gs_service_start. */
gs_status gs_service_jobs_start(gs_service_jobs **out, const gs_jobs_options *options, gs_error *error);
/* Evaluations under way are finished within ten seconds or given back; then everybody who waits is told. */
void gs_service_jobs_stop(gs_service_jobs *jobs);
void gs_service_jobs_free(gs_service_jobs **jobs);   /* when nobody asks any more */

const gs_caps      *gs_service_jobs_caps(const gs_service_jobs *jobs);
const char         *gs_service_jobs_slug(const gs_service_jobs *jobs);      /* the device's name in the store */
const char         *gs_service_jobs_version(const gs_service_jobs *jobs);
const gs_service_counts *gs_service_jobs_counts(const gs_service_jobs *jobs);
int                 gs_service_jobs_open(gs_service_jobs *jobs, int *running);   /* all open ones */
int                 gs_service_jobs_devices(gs_service_jobs *jobs, gs_service_device *out);
gs_jobs_load        gs_service_jobs_load(gs_service_jobs *jobs, gs_jobs_stage stage);

/* What became of an item: an answer, or a job to wait for. */
typedef struct gs_service_found {
    char           *answer;   /* owned by whoever asked: gs_service_found_free */
    gs_service_job *job;
    bool            running, failed;
} gs_service_found;

/* All of the request's items or none; each gets what was found or made for it, one without a candidate nothing. Codes: TIMEOUT (the queue is full), DISK_FULL, CORRUPT (an id that stands for another request:
 * a collision), INTERRUPTED (stopping), MEMORY, the store's. */
gs_status gs_service_jobs_accept(gs_service_jobs *jobs, const gs_service_request *request, gs_service_found *found, gs_error *error);
/* NOT_FOUND, the store's. */
gs_status gs_service_jobs_find(gs_service_jobs *jobs, const char *id, double wait_s, gs_service_found *found, gs_error *error);   /* wait_s: so long it will be waited for */

/* Ends an open job without an answer, for all who wait for it: found->job is it, done already or as soon as its worker is killed. One that is done stays as it is, found->answer.
 * NOT_FOUND, TIMEOUT (it is coming in at this moment), the store's. */
gs_status gs_service_jobs_cancel(gs_service_jobs *jobs, const char *id, gs_service_found *found, gs_error *error);

/* gs_service_request.expires of somebody who waits so long, and may ask once more a little later. */
int64_t gs_service_jobs_expiry(double deadline_s);
gs_status gs_service_jobs_library(gs_service_jobs *jobs, const gs_problem *problem, double *us, gs_error *error);

/* Waits until the job is done, the service stops, or the clock (gs_clock_ns) says until_ns, where it returns false. */
bool gs_service_jobs_wait(gs_service_jobs *jobs, gs_service_found *found, int64_t until_ns);
void gs_service_found_free(gs_service_jobs *jobs, gs_service_found *found);
bool gs_service_jobs_stopping(gs_service_jobs *jobs);

#endif

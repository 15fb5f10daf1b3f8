/* SPDX-License-Identifier: MIT
 * The jobs of gemmsmith serve: which are open, in what order they are evaluated, and who waits for them.
 * Threads: callers (any number); one keeper, which alone uses the store of the jobs and commits concurrent requests together; preparing threads, each with a worker that
 * compiles candidates and emulates user kernels; and one thread per device, with its own worker, environment and store connection, which proves and times prepared jobs.
 * A job is stored before its caller learns that it is accepted, and its answer before anybody gets it. docs/internals/serve.md. */
#ifndef GS_JOBS_JOBS_H
#define GS_JOBS_JOBS_H

#include <stdatomic.h>

#include "jobs/item.h"
#include "jobs/options.h"

/* A job that was begun this often, while the service died each time, is taken to be the cause. With 3, jobs failed where services are killed at random (4 of 4383 in the
 * kill test). */
enum { GS_SERVICE_ATTEMPTS = 5 };

typedef struct gs_service_counts {
    _Atomic int64_t accepted, joined, refused, evaluated, passed, raced, machine, repeated, forgotten, cancelled, expired, shared;
    _Atomic int64_t busy_us;   /* time of evaluations */
} gs_service_counts;

typedef struct gs_service_device {   /* what health and metrics show of a device */
    char    name[GS_WORKER_DEVICE];
    bool    busy, failing;
    long    done;
    int64_t busy_us, since;          /* microseconds spent on jobs; gs_clock_ns at the start of the current one */
} gs_service_device;

/* A job is first prepared, then proved and timed on a device. Without preparing threads there is only the second stage. */
typedef enum gs_jobs_stage { GS_JOBS_PREPARE, GS_JOBS_DEVICE, GS_JOBS_STAGES } gs_jobs_stage;

typedef struct gs_jobs_load {   /* what metrics show of a stage */
    int     threads, waiting, working;
    int64_t done, busy_us;
} gs_jobs_load;

typedef struct gs_service_jobs gs_service_jobs;
typedef struct gs_service_job  gs_service_job;

/* Starts the threads, one device after another, and continues the open jobs of the store. Codes: as gs_service_start. */
gs_status gs_service_jobs_start(gs_service_jobs **out, const gs_jobs_options *options, gs_error *error);
/* Finishes running evaluations within ten seconds or gives them back; then wakes all waiting callers. */
void gs_service_jobs_stop(gs_service_jobs *jobs);
void gs_service_jobs_free(gs_service_jobs **jobs);   /* no caller may be left */

const gs_caps      *gs_service_jobs_caps(const gs_service_jobs *jobs);
const char         *gs_service_jobs_slug(const gs_service_jobs *jobs);      /* the device's name in the store */
const char         *gs_service_jobs_version(const gs_service_jobs *jobs);
const gs_service_counts *gs_service_jobs_counts(const gs_service_jobs *jobs);
int                 gs_service_jobs_open(gs_service_jobs *jobs, int *running);   /* returns the number of open jobs */
int                 gs_service_jobs_devices(gs_service_jobs *jobs, gs_service_device *out);
gs_jobs_load        gs_service_jobs_load(gs_service_jobs *jobs, gs_jobs_stage stage);

/* The result for an item: an answer, or a job to wait for. */
typedef struct gs_service_found {
    char           *answer;   /* free with gs_service_found_free */
    gs_service_job *job;
    bool            running, failed;
} gs_service_found;

/* Accepts all items of the request or none; each gets its job or answer, one without a candidate gets neither. Codes: TIMEOUT (the queue is full), DISK_FULL, CORRUPT (an
 * id that stands for another request: a hash collision), INTERRUPTED (stopping), MEMORY, the store's. */
gs_status gs_service_jobs_accept(gs_service_jobs *jobs, const gs_service_request *request, gs_service_found *found, gs_error *error);
/* NOT_FOUND, the store's. */
gs_status gs_service_jobs_find(gs_service_jobs *jobs, const char *id, double wait_s, gs_service_found *found, gs_error *error);   /* wait_s: how long the caller will wait for it */

/* Ends an open job without an answer, for all who wait for it: found->job is done already, or as soon as its worker is killed. A finished job keeps its answer,
 * found->answer. NOT_FOUND, TIMEOUT (it is just being accepted), the store's. */
gs_status gs_service_jobs_cancel(gs_service_jobs *jobs, const char *id, gs_service_found *found, gs_error *error);

/* The value of gs_service_request.expires for a client that waits this long, with some time to ask once more. */
int64_t gs_service_jobs_expiry(double deadline_s);
gs_status gs_service_jobs_library(gs_service_jobs *jobs, const gs_problem *problem, double *us, gs_error *error);

/* Waits until the job is done or the service stops; false: until_ns (of gs_clock_ns) was reached first. */
bool gs_service_jobs_wait(gs_service_jobs *jobs, gs_service_found *found, int64_t until_ns);
void gs_service_found_free(gs_service_jobs *jobs, gs_service_found *found);
bool gs_service_jobs_stopping(gs_service_jobs *jobs);

#endif

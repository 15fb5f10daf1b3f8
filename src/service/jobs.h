/* SPDX-License-Identifier: MIT
 * The jobs of gemmsmith serve: which are open, in what order they are evaluated, and who waits for them.
 *
 * Threads: callers (any number), a keeper, which alone has the store in which jobs are kept and commits what came in together at once, and
 * one evaluating thread per device, with a worker, environments and a store connection of its own. A job is in the store before its caller hears that it is
 * accepted, and its answer is before anybody hears that. docs/internals/serve.md. */
#ifndef GS_SERVICE_JOBS_H
#define GS_SERVICE_JOBS_H

#include <stdatomic.h>

#include "command.h"
#include "service/request.h"
#include "session.h"
#include "evaluate/environment.h"

enum { SERVE_DEVICES = 64, SERVE_ATTEMPTS = 3 };

typedef struct serve_options {
    const char            *device[SERVE_DEVICES];   /* NULL: the default one */
    int                    devices;
    const char            *store;                   /* NULL: the default */
    const char            *command_line;
    int                    queue;                   /* open jobs, those under way included */
    double                 keep_s;                  /* how long answers are kept; 0: for ever */
    bool                   dependent;
    bool                   no_emulator;             /* user kernels reach the device at once */
    gs_environment_options environment;             /* its reward is not looked at */
} serve_options;

typedef struct serve_counts {
    _Atomic int64_t accepted, joined, refused, evaluated, passed, machine, repeated, forgotten;
    _Atomic int64_t busy_us;   /* spent in evaluations */
} serve_counts;

typedef struct serve_device {
    char name[GS_WORKER_DEVICE];
    bool busy, failing;
    long done;
} serve_device;

typedef struct serve_jobs serve_jobs;
typedef struct serve_job  serve_job;

/* Starts the threads, one device after another, and goes on with the jobs that the store has open. Returns -1, or the exit code after a line that says
 * what is missing. */
int  serve_jobs_start(serve_jobs **out, const cli_command *command, const serve_options *options);
/* Evaluations under way are finished within ten seconds or given back; then everybody who waits is told. */
void serve_jobs_stop(serve_jobs *jobs);
void serve_jobs_free(serve_jobs **jobs);   /* when nobody asks any more */

const gs_caps      *serve_jobs_caps(const serve_jobs *jobs);
const char         *serve_jobs_slug(const serve_jobs *jobs);      /* the device's name in the store */
const char         *serve_jobs_version(const serve_jobs *jobs);
const serve_counts *serve_jobs_counts(const serve_jobs *jobs);
int                 serve_jobs_open(serve_jobs *jobs, int *running);   /* all open ones */
int                 serve_jobs_devices(serve_jobs *jobs, serve_device *out);

/* What became of an item: an answer, or a job to wait for. */
typedef struct serve_found {
    char      *answer;   /* owned by whoever asked: serve_found_free */
    serve_job *job;
    bool       running, failed;
} serve_found;

/* All of the request's items or none; each gets what was found or made for it. Codes: TIMEOUT (the queue is full), DISK_FULL, CORRUPT (an id that stands for another request:
 * a collision), INTERRUPTED (stopping), MEMORY, the store's. */
gs_status serve_jobs_accept(serve_jobs *jobs, const serve_request *request, serve_found *found, gs_error *error);
/* NOT_FOUND, the store's. */
gs_status serve_jobs_find(serve_jobs *jobs, const char *id, serve_found *found, gs_error *error);
gs_status serve_jobs_library(serve_jobs *jobs, const gs_problem *problem, double *us, gs_error *error);

/* Waits until the job is done, the service stops, or the clock (gs_clock_ns) says until_ns, where it returns false. */
bool serve_jobs_wait(serve_jobs *jobs, serve_found *found, int64_t until_ns);
void serve_found_free(serve_jobs *jobs, serve_found *found);
bool serve_jobs_stopping(serve_jobs *jobs);

#endif

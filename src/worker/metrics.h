/* SPDX-License-Identifier: MIT
 * What a kernel does and takes, as lines "name value", under the same names whichever source they are from: the compiled kernel and its PTX, an emulated launch, or
 * Nsight Compute. docs/internals/metrics.md has the table. A name that a source does not know is not there. */
#ifndef GS_WORKER_METRICS_H
#define GS_WORKER_METRICS_H

#include "loaded/contender.h"
#include "worker/worker.h"

typedef struct gs_metric {
    const char *name, *unit, *what;
} gs_metric;

/* All names, ended by a NULL name. */
extern const gs_metric gs_metrics[];

/* Adds a line; a value that is not finite has none. */
void gs_metric_add(gs_text *out, const char *name, double value);

/* ---- in the worker ---- */

/* Of a contender that is prepared for the problem: registers, shared memory, threads, occupancy, instructions of its PTX by class. UNSUPPORTED: no kernel of ours or foreign. */
gs_status gs_metrics_static(gs_device *device, const gs_contender *contender, const gs_problem *problem, gs_text *out, gs_error *error);

/* Launches it once, on an emulated device: what it did there. Of a kernel with several entries the last one. UNSUPPORTED: the device counts nothing. FAULT and the other
 * codes of a launch. */
gs_status gs_metrics_launch(gs_device *device, gs_contender *contender, const gs_problem *problem, gs_text *out, gs_error *error);

/* ---- in the parent ---- */

typedef struct gs_metrics_request {
    const gs_problem *problem;
    const char       *candidate;           /* a schedule, or "source:<hash>" with both texts */
    const char       *source, *manifest;   /* NULL: a schedule */
    gs_worker        *worker;              /* of the device; NULL: none */
    gs_worker        *emulator;            /* of an emulated one, for counters; NULL: none. May be the same */
    const char       *cache;               /* of compiled kernels; NULL: default, "": none */
    const char       *profile;             /* the program that Nsight Compute shall run, and argv[0] of it; NULL: it is not asked */
    const char       *device;              /* "cuda:0", for the profiler */
    int64_t           most;                /* multiply-adds of a launch that is counted; beyond, a smaller problem is; 0: 2^30 */
    double            timeout_s;           /* for each source; 0: 60 */
} gs_metrics_request;

/* Adds what can be had, each name once, the profiler's word before the emulator's. A source that is not there, refuses or fails adds nothing; after a failure of a worker the
 * next request starts a fresh one. Codes: MEMORY, INTERRUPTED. */
gs_status gs_metrics_take(const gs_metrics_request *request, gs_text *out, gs_error *error);

/* ---- Nsight Compute (metrics_page.c, metrics_ncu.c) ---- */

/* Its raw page as CSV: names, units, a line per kernel, of which the last counts; whatever else was printed is skipped. PARSE: no kernel is in it. */
gs_status gs_metrics_read_ncu(const char *csv, gs_text *out, gs_error *error);

/* Runs ncu ($GEMMSMITH_NCU, else of the path, else of /usr/local/cuda/bin) on one launch of the candidate. NOT_FOUND: there is none; UNSUPPORTED: it gave no figures, as
 * where counters may not be read; TIMEOUT, INTERRUPTED, IO, MEMORY. */
gs_status gs_metrics_ncu(const gs_metrics_request *request, gs_text *out, gs_error *error);

#endif

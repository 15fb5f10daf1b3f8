/* SPDX-License-Identifier: MIT
 * What a kernel does and needs, as lines "name value". Names are the same whatever their source: the compiled kernel and its PTX, an emulated launch, or Nsight Compute.
 * docs/internals/metrics.md has the table. What a source does not know is left out. */
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

/* Metrics of a contender that is prepared for the problem: registers, shared memory, threads, occupancy, instructions of its PTX by class. UNSUPPORTED: it is neither a kernel of
 * ours nor a user's. */
gs_status gs_metrics_static(gs_device *device, const gs_contender *contender, const gs_problem *problem, gs_text *out, gs_error *error);

/* Launches it once on an emulated device and adds what was counted; with several entries, of the last one. UNSUPPORTED: the device is not emulated. FAULT and the other codes of
 * a launch. */
gs_status gs_metrics_launch(gs_device *device, gs_contender *contender, const gs_problem *problem, gs_text *out, gs_error *error);

/* ---- in the parent ---- */

typedef struct gs_metrics_request {
    const gs_problem *problem;
    const char       *candidate;           /* a schedule, or "source:<hash>" with both texts */
    const char       *source, *manifest;   /* NULL: a schedule */
    gs_worker        *worker;              /* of the device; NULL: none */
    gs_worker        *emulator;            /* of an emulated one, for counters; NULL: none. May be the same */
    const char       *cache;               /* of compiled kernels; NULL: default, "": none */
    const char       *profile;             /* the program (argv[0]) that Nsight Compute shall run; NULL: it is not used */
    const char       *device;              /* "cuda:0", for the profiler */
    int64_t           most;                /* most multiply-adds of an emulated launch: beyond, a smaller problem is counted; 0: 2^30 */
    double            timeout_s;           /* for each source; 0: 60 */
} gs_metrics_request;

/* Adds what is available, each name once; the profiler's value goes before the emulator's. A source that is not there, refuses or fails adds nothing; after a failure of a worker
 * the next request starts a fresh one. Codes: MEMORY, INTERRUPTED. */
gs_status gs_metrics_take(const gs_metrics_request *request, gs_text *out, gs_error *error);

/* ---- Nsight Compute (metrics_page.c, metrics_ncu.c) ---- */

/* Reads ncu's raw page as CSV: names, units, a line per kernel, of which the last counts; other output is skipped. PARSE: it has no kernel. */
gs_status gs_metrics_read_ncu(const char *csv, gs_text *out, gs_error *error);

/* Runs ncu ($GEMMSMITH_NCU, else from the path, else from /usr/local/cuda/bin) on one launch of the candidate. NOT_FOUND: there is no ncu; UNSUPPORTED: it gave no figures, for
 * example because counters may not be read; TIMEOUT, INTERRUPTED, IO, MEMORY. */
gs_status gs_metrics_ncu(const gs_metrics_request *request, gs_text *out, gs_error *error);

#endif

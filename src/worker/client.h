/* SPDX-License-Identifier: MIT
 * Requests to a worker and its replies as C structs. Only this client and the server know the lines of worker/worker.h. Each call sends one request and waits timeout_s for the
 * reply. Codes: those of gs_worker_call, and what the worker says of the candidate or the machine. A worker that was lost is replaced by the next call. */
#ifndef GS_WORKER_CLIENT_H
#define GS_WORKER_CLIENT_H

#include "bench/stats.h"
#include "verify/verify.h"
#include "worker/worker.h"

/* A user kernel. Its texts go with every request: the worker may be a fresh one. */
typedef struct gs_worker_kernel {
    const char *name;             /* "source:<hash>"; NULL: the request has none */
    const char *source, *manifest;
    double      compile_s;        /* time limit of one compilation in the sandbox; 0: the worker's own */
} gs_worker_kernel;

/* What a request is about. */
typedef struct gs_worker_subject {
    const char      *problem;
    const char      *candidate;   /* a schedule, a contender of cuBLAS or cuBLASLt, or the kernel's name; ignored by bench */
    gs_worker_kernel kernel;
    const char      *cache;       /* of compiled kernels; NULL: default, "": none */
    int64_t          seed;
    bool             dependent;
} gs_worker_subject;

/* What the worker's device can do, and the versions of the libraries it found (0: none). cublaslt, nvrtc may be NULL. */
gs_status gs_worker_hello(gs_worker *worker, gs_caps *caps, int *cublaslt, int *nvrtc, gs_error *error);

/* ---- compile ---- */

typedef struct gs_worker_compiled {
    int  registers, smem;         /* unchanged if the reply has none */
    bool unfiltered;              /* the compiler of a user kernel ran under limits, but without a filter of system calls */
} gs_worker_compiled;

gs_status gs_worker_compile(gs_worker *worker, const gs_worker_subject *subject, double timeout_s, gs_worker_compiled *out, gs_error *error);

/* Compiles into the cache for the device of caps, which the worker need not have. A kernel's source is inspected, its compiled code is not. edges: for the edge problems of
 * verification; failures of these are ignored. */
gs_status gs_worker_precompile(gs_worker *worker, const gs_worker_subject *subject, const gs_caps *caps, bool edges, double timeout_s, gs_error *error);

/* ---- verify ---- */

/* parts: GS_PART_* bits. WORKER_DIED: also if the reply's verdict is unknown. */
gs_status gs_worker_verify(gs_worker *worker, const gs_worker_subject *subject, uint32_t parts, double timeout_s, gs_verdict *out, gs_error *error);

/* ---- metrics ---- */

/* Adds lines of worker/metrics.h: of the compiled kernel, or, with launch, of one launch on zeros. */
gs_status gs_worker_metrics(gs_worker *worker, const gs_worker_subject *subject, bool launch, double timeout_s, gs_text *out, gs_error *error);

/* ---- bench ---- */

typedef struct gs_worker_bench_request {
    gs_worker_subject  subject;
    const char *const *contenders;
    int                count, reference;
    bool               server;      /* mode; else offline */
    int64_t            rounds;
    bool               warm, call_time, samples;
    double             warmup_s;    /* < 0: the worker's own */
    double             budget_s, target_qps;
    double             replay_us;   /* 0: the worker's own */
    bool               narrow, unchecked;
    bool               behind;      /* an element-wise kernel over A before each call; see gs_bench_options */
    double             slow;               /* 0: all stay to the end; see gs_bench_options */
    bool               skewed;      /* groups: GS_ROUTING_SKEWED, else GS_ROUTING_EVEN */
} gs_worker_bench_request;

/* One contender's figures. */
typedef struct gs_worker_timing {
    gs_status   status;
    const char *message;            /* the reply's */
    bool        wrong;
    const char *untrusted;          /* why a predicted time is not to be trusted; "": nothing speaks against it. The reply's */
    int         rounds;             /* 0: as many as the run */
    int         suggestion;
    double      device_us;          /* 0: not timed */
    gs_ratio    device_ratio;       /* all 0: none; without its comparison */
    double     *samples;            /* of the device, in rounds; NULL: none */
    int         sample_count;
} gs_worker_timing;

struct json_t;
typedef struct gs_worker_timings {
    int               count;        /* in the reply; the caller must check that it is the number asked for */
    gs_worker_timing *list;
    int               reference;    /* the contender that ratios refer to; -1: the one asked for could not run */
    int               rounds, mhz;  /* mhz: of the multiprocessors after the run */
    struct json_t    *json;         /* the reply itself, for a caller that keeps it */
} gs_worker_timings;

/* The request as the line that is sent; also part of the key by which `eval` finds what it measured, so it must not change for the same request. */
void      gs_worker_bench_text(const gs_worker_bench_request *request, gs_text *out);
gs_status gs_worker_bench(gs_worker *worker, const gs_worker_bench_request *request, double timeout_s, gs_worker_timings *out, gs_error *error);
void      gs_worker_timings_free(gs_worker_timings *timings);   /* not json, if the caller has taken it and set it to NULL */

#endif

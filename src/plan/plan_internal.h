/* SPDX-License-Identifier: MIT
 * What a context and a plan are made of. For src/plan alone. */
#ifndef GS_PLAN_PLAN_INTERNAL_H
#define GS_PLAN_PLAN_INTERNAL_H

#include <pthread.h>
#include <gemmsmith/plan.h>

#include "learn/weights.h"
#include "cublas/library.h"
#include "plan/loaded.h"
#include "plan/table.h"

struct gs_plan {
    gs_device  *device;                       /* the context's */
    gs_problem  problem;
    gs_origin   origin;
    gs_loaded  *loaded;                       /* an own kernel, or */
    gs_library *library;                      /* cuBLASLt, or neither: empty */
    gs_pointer  workspace;
    size_t      workspace_bytes;
    int         align[4];                     /* a b c d, bytes */
    char        schedule[GS_SCHEDULE_TEXT];
    char        why[256];
};

/* The plans of gs_gemm: open addressing, keyed by the problem, by whether pointers are less aligned than its plan needs, and for a
 * plan with a workspace by the stream: calls on two streams may overlap on the device, and must not share it. */
typedef struct gs_cached_plan {
    uint64_t  hash;                           /* 0: free */
    bool      unaligned;
    gs_stream stream;                         /* of the call that created it */
    gs_plan  *plan;
} gs_cached_plan;

struct gs_context {
    gs_device      *device;
    gs_config       config;                   /* strings not kept */
    gs_table       *table;
    gs_weights      weights;                  /* learned; empty where there are none for this device */
    pthread_mutex_t lock;                     /* the cached plans, and running them */
    gs_cached_plan *cached;
    size_t          cached_capacity, cached_count;
    gs_plan        *recent;                   /* of the last call of gs_gemm, for that problem as it stands there, and that stream */
    gs_problem      recent_problem;
    gs_stream       recent_stream;
};

/* Other values of alpha and beta for the next runs; whether beta is 0 must not change, nor may the accumulator be f16. */
void gs_plan_set_scalars(gs_plan *plan, float alpha, float beta);

/* The time model's choice among kernels that need no more than element-aligned pointers and rows. */
gs_status gs_plan_create_unaligned(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);

#endif

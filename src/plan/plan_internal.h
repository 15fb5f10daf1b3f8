/* SPDX-License-Identifier: MIT
 * What a context and a plan are made of. For src/plan alone. */
#ifndef GS_PLAN_PLAN_INTERNAL_H
#define GS_PLAN_PLAN_INTERNAL_H

#include <pthread.h>
#include <gemmsmith/plan.h>

#include "plan/library.h"
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

/* The plans of gs_gemm: open addressing, keyed by the problem and by whether pointers are less aligned than its plan needs. */
typedef struct gs_cached_plan {
    uint64_t hash;                            /* 0: free */
    bool     unaligned;
    gs_plan *plan;
} gs_cached_plan;

struct gs_context {
    gs_device      *device;
    gs_config       config;                   /* strings not kept */
    gs_table       *table;
    pthread_mutex_t lock;                     /* the cached plans, and running them */
    gs_cached_plan *cached;
    size_t          cached_capacity, cached_count;
};

/* The time model's choice among kernels that need no more than element-aligned pointers and rows. */
gs_status gs_plan_create_unaligned(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * What a context and a plan are made of. For src/plan alone. */
#ifndef GS_PLAN_PLAN_INTERNAL_H
#define GS_PLAN_PLAN_INTERNAL_H

#include <pthread.h>
#include <gemmsmith/plan.h>

#include "learn/weights.h"
#include "cublas/library.h"
#include "pack/pack.h"
#include "loaded/loaded.h"
#include "plan/measure.h"
#include "record/record.h"
#include "table/table.h"
#include "problem/layout.h"

/* Immutable once made: what a run changes belongs to its thread (loaded/states.h). */
struct gs_plan {
    gs_context *context;
    gs_device  *device;                       /* the context's */
    gs_problem  problem;
    gs_origin   origin;
    gs_recorder *recorder;                    /* counts its runs, as `via`; NULL: nobody does */
    const char *via;
    bool        empty;                        /* nothing to compute */
    bool        reads_c, reads_more;          /* reads_more: a bias, offsets, scalars in device memory, aux read or written, scales */
    uintptr_t   below[4];                     /* for a b c d: alignment - 1, the bits that must be 0 in the pointer; 0 for c if it is not read */
    gs_loaded  *loaded;                       /* one of our kernels, or */
    gs_library *library;                      /* cuBLASLt, or neither: empty */
    int         measured_chain;               /* what was measured of its dependent launches: 1 they win, -1 they lose, 0 nothing */
    bool        early_b;                      /* its dependent launches ask for B before the launch before has ended: B is constant, and it was measured to win */
    bool        chains;                       /* its launches are dependent behind one that lets them begin early */
    bool        joins;                        /* a run looks what it stands behind */
    gs_pointer  workspace;
    size_t      workspace_bytes;
    size_t      workspace_limit;
    int         measure_ms;                   /* time of the device that the choice may take for measuring; 0: it is not measured */
    gs_stream   stream;                       /* of the call that made it; NULL: not known */
    int         align[GS_OPERANDS];           /* a b c d, the bias, the offsets, aux, the scales; bytes */
    char        schedule[GS_SCHEDULE_TEXT];
    char        why[256];
};

/* Bytes that a call's pointer to A, B, C or D is a multiple of. */
static inline int gs_plan_pointer_alignment(const gs_plan *plan, int operand) { return plan->problem.matrices ? (int)sizeof(uint64_t) : plan->align[operand]; }

typedef struct gs_plan_cache gs_plan_cache;

#define GS_PACKS 16   /* most of a context */

struct gs_context {
    gs_device      *device;
    gs_pack        *pack[GS_PACKS];           /* those that fit, in the order in which they are asked */
    int             pack_count;
    gs_config       config;                   /* strings not kept */
    gs_table       *table;
    gs_weights      weights;                  /* learned; empty where there are none for this device */
    gs_measurer     measured;
    gs_plan_cache  *cache;                    /* of gs_gemm */
    gs_recorder    *recorder;                 /* of its plans */
    pthread_mutex_t making;                   /* see gs_context_enter */
    bool            chains, joins;            /* captured launches may be dependent; plans' runs look whether they are to be */
    gs_error        lost;                     /* what of tables and weights could not be read first; GS_OK: nothing */
    bool            logs;                     /* its log callback was set */
};

/* Called around everything that makes or destroys plans. An emulated device allows one thread at a time there; on a GPU they do nothing,
 * and several threads make plans at once. */
void gs_context_enter(gs_context *context);
void gs_context_leave(gs_context *context);

/* The start of making a plan: checks, and an empty plan. */
gs_status gs_plan_begin(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);
gs_plan  *gs_plan_new(gs_context *context, const gs_problem *problem, gs_error *error);

/* What gs_plan_destroy does, between gs_context_enter and gs_context_leave. */
void gs_plan_free(gs_plan *plan);

/* gs_plan_create for a call that has a stream. */
gs_status gs_plan_create_on(gs_context *context, const gs_problem *problem, gs_stream stream, gs_plan **out, gs_error *error);

/* Loads a schedule into the plan. shape: what the kernel is built for: the problem, or the problem with fewer promises. */
gs_status gs_plan_use_schedule(gs_plan *plan, const gs_schedule *schedule, const gs_problem *shape, gs_error *error);

/* Loads compiled code into the plan, which owns the image afterwards; the caller frees what is left of it. */
gs_status gs_plan_use_image(gs_plan *plan, const gs_manifest *manifest, gs_image *image, gs_error *error);

/* What a pack has for the plan's problem. NOT_FOUND: none has it. */
gs_status gs_plan_use_pack(gs_plan *plan, gs_error *error);

/* suggestion: which of cuBLASLt's suggestions, from 1; the first, if there are fewer now. 0: the one that the weights expect to be fastest. */
gs_status gs_plan_use_cublaslt(gs_plan *plan, int suggestion, gs_error *error);

/* The end: allocates the workspace. */
gs_status gs_plan_finish(gs_plan *plan, gs_origin origin, gs_error *error);

/* What gs_plan_run says to arguments before it launches anything. */
gs_status gs_plan_check_args(const gs_plan *plan, const gs_args *args);

/* The time model's choice among kernels that need no more than element-aligned pointers and rows. */
gs_status gs_plan_create_unaligned(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);

/* The plans of gs_gemm (plan/cache.c): at most `most`. */
gs_status gs_plan_cache_create(gs_plan_cache **out, size_t most, gs_error *error);
void      gs_plan_cache_destroy(gs_plan_cache **cache);

#endif

/* SPDX-License-Identifier: MIT
 * Contexts and plans from the inside. For src/plan alone. */
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

/* Immutable once made: state that a run changes belongs to its thread (loaded/states.h). */
struct gs_plan {
    gs_context *context;
    gs_device  *device;                       /* borrowed from the context */
    gs_problem  problem;
    gs_origin   origin;
    gs_recorder *recorder;                    /* counts its runs under the name `via`; NULL: not recorded */
    const char *via;
    bool        empty;                        /* nothing to compute */
    bool        reads_c, reads_more;          /* reads_more: a bias, offsets, scalars in device memory, aux read or written, or scales */
    uintptr_t   below[4];                     /* for a b c d: alignment - 1, the bits that must be 0 in the pointer; 0 for c if it is not read */
    gs_loaded  *loaded;                       /* one of our kernels, or */
    gs_library *library;                      /* cuBLASLt, or neither: empty */
    int         measured_chain;               /* what was measured about its dependent launches: 1 faster, -1 slower, 0 unknown */
    bool        early_b;                      /* its dependent launches load B before the previous kernel has ended: B is constant, and that was measured to be faster */
    bool        chains;                       /* its launches are dependent after a kernel that lets the next one begin early */
    bool        joins;                        /* a run asks the device for the previous kernel of the queue */
    gs_pointer  workspace;
    size_t      workspace_bytes;
    size_t      workspace_limit;
    int         measure_ms;                   /* device time for measuring the choice, ms; 0: it is not measured */
    gs_stream   stream;                       /* of the call that made it; NULL: unknown */
    int         align[GS_OPERANDS];           /* bytes, for a b c d, the bias, the offsets, aux, scale_m, scale_n */
    char        schedule[GS_SCHEDULE_TEXT];
    char        why[256];
};

/* Bytes that the pointer to A, B, C or D in gs_args must be a multiple of. */
static inline int gs_plan_pointer_alignment(const gs_plan *plan, int operand) { return plan->problem.matrices ? (int)sizeof(uint64_t) : plan->align[operand]; }

typedef struct gs_plan_cache gs_plan_cache;

#define GS_PACKS 16   /* most packs of a context */

struct gs_context {
    gs_device      *device;
    gs_pack        *pack[GS_PACKS];           /* those that fit this device, in order of search */
    int             pack_count;
    gs_config       config;                   /* the strings are not kept */
    gs_table       *table;
    gs_weights      weights;                  /* empty if there are none for this device */
    gs_measurer     measured;
    gs_plan_cache  *cache;                    /* for gs_gemm */
    gs_recorder    *recorder;                 /* counts the runs of its plans */
    pthread_mutex_t making;                   /* see gs_context_enter */
    bool            chains, joins;            /* chains: captured launches may be dependent; joins: each run asks whether its launch is to be */
    gs_error        lost;                     /* the first defect of a table, the weights or a pack; GS_OK: none */
    bool            logs;                     /* the config had a log callback */
};

/* Called around everything that makes or destroys plans. An emulated device allows one thread at a time there; for a GPU these do nothing, and several threads may
 * make plans at once. */
void gs_context_enter(gs_context *context);
void gs_context_leave(gs_context *context);

/* Begins a plan: checks the problem and allocates an empty plan. */
gs_status gs_plan_begin(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);
gs_plan  *gs_plan_new(gs_context *context, const gs_problem *problem, gs_error *error);

/* gs_plan_destroy without gs_context_enter and gs_context_leave, which the caller must call. */
void gs_plan_free(gs_plan *plan);

/* gs_plan_create for a run on a known stream. */
gs_status gs_plan_create_on(gs_context *context, const gs_problem *problem, gs_stream stream, gs_plan **out, gs_error *error);

/* Loads a schedule into the plan. shape: the problem the kernel is built for, the plan's or one with weaker guarantees of alignment. */
gs_status gs_plan_use_schedule(gs_plan *plan, const gs_schedule *schedule, const gs_problem *shape, gs_error *error);

/* Loads compiled code into the plan, which takes over the image; the caller still calls gs_image_free. */
gs_status gs_plan_use_image(gs_plan *plan, const gs_manifest *manifest, gs_image *image, gs_error *error);

/* Uses what a pack has for the plan's problem. NOT_FOUND: no pack has it. */
gs_status gs_plan_use_pack(gs_plan *plan, gs_error *error);

/* suggestion: number of cuBLASLt's suggestion, from 1; if there are fewer now, the first is used. 0: the one that the weights predict to be fastest. */
gs_status gs_plan_use_cublaslt(gs_plan *plan, int suggestion, gs_error *error);

/* Completes the plan and allocates its workspace. */
gs_status gs_plan_finish(gs_plan *plan, gs_origin origin, gs_error *error);

/* The checks of gs_plan_run before a launch. */
gs_status gs_plan_check_args(const gs_plan *plan, const gs_args *args);

/* The time model's choice among kernels that accept pointers and rows with element alignment. */
gs_status gs_plan_create_unaligned(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);

/* The plans of gs_gemm (plan/cache.c), at most `most`. */
gs_status gs_plan_cache_create(gs_plan_cache **out, size_t most, gs_error *error);
void      gs_plan_cache_destroy(gs_plan_cache **cache);

#endif

/* SPDX-License-Identifier: MIT
 * A program that calls cuBLAS and knows nothing of gemmsmith: its calls come here first (LD_PRELOAD), are served by a plan where they are exactly what a plan
 * computes, and go to the real function otherwise, unchanged, with its result.
 *
 *     GEMMSMITH_BLAS         run (default), off, record, check
 *     GEMMSMITH_BLAS_AFTER   the plan of a problem is made at its N-th call; 1 (default): the first
 *     GEMMSMITH_BLAS_REPORT  a file that gets the counts when the process ends
 *     GEMMSMITH_RECORD       the folder of record mode
 *     GEMMSMITH_LOG          3: a line per problem, with what serves it or why nothing does */
#ifndef GS_SHIM_SHIM_H
#define GS_SHIM_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/plan.h>

typedef enum gs_shim_function {
#define GS_SHIM(name, symbol, library) GS_SHIM_##name,
#include "shim/functions.def"
#undef GS_SHIM
    GS_SHIM_FUNCTIONS
} gs_shim_function;

typedef enum gs_shim_reason {
#define GS_SHIM_REASON(name, word, text) GS_SHIM_##name,
#include "shim/reasons.def"
#undef GS_SHIM_REASON
    GS_SHIM_REASONS
} gs_shim_reason;

typedef enum gs_shim_mode { GS_SHIM_OFF, GS_SHIM_RECORD, GS_SHIM_RUN, GS_SHIM_CHECK } gs_shim_mode;

/* ---- settings and counts (report.c) ---- */

gs_shim_mode gs_shim_mode_now(void);                       /* read once */
uint64_t     gs_shim_after_now(void);                      /* $GEMMSMITH_BLAS_AFTER, at least 1; read once */
const char  *gs_shim_symbol(gs_shim_function function);    /* "cublasGemmEx"; static */
const char  *gs_shim_reason_text(gs_shim_reason reason);
void         gs_shim_count(gs_shim_function function, gs_shim_reason reason);
void         gs_shim_count_check(bool good);               /* a result that was compared */

/* ---- a call of cuBLAS (multiply.c) ---- */

typedef struct gs_shim_call gs_shim_call;
struct gs_shim_call {
    gs_shim_function function;
    const struct gs_real_cublas *library;          /* the caller's */
    void       *handle;
    int         op_a, op_b, type_a, type_b, type_c, compute, algo;   /* as the caller gave them; column-major */
    int64_t     m, n, k, lda, ldb, ldc, batch;
    const void *alpha, *beta, *a, *b;
    void       *c;
    int       (*real)(const gs_shim_call *call);   /* the real function with these arguments */
    bool        pointers;                          /* a, b and c are arrays of them, in device memory */
    long long   stride_a, stride_b, stride_c;      /* of a batch that is none of pointers */
};

/* Serves the call or passes it on; what the caller gets. */
int gs_shim_multiply(const gs_shim_call *call);

/* Whether the calling thread is inside the real library or ours: what is called there is nobody's wish. */
bool gs_shim_is_inside(void);
void gs_shim_enter(void);
void gs_shim_leave(void);

/* ---- a call as a problem (describe.c) ---- */

/* The problem of a call, with alpha 1 and beta 0 or 1 by reads_c. SERVED: it is one. */
gs_shim_reason gs_shim_describe(const gs_shim_call *call, bool reads_c, gs_problem *out);

/* A number as problems say a batch's stride: 0 is the usual one, that of a matrix which all share its own word. false: negative. */
bool gs_shim_stride(long long given, int64_t ld, int64_t rows, int64_t *out);
bool gs_shim_type(int cuda, gs_type *out);   /* of a cudaDataType; false: none of ours */

/* ---- plans (plans.c, place.c) ---- */

/* A device whose context is current. */
typedef struct gs_shim_place gs_shim_place;

/* That of the calling thread, opened at first sight. NULL: there is none, for *why. emulated: gs_real_cublas.emulated. */
gs_shim_place *gs_shim_place_now(const char *emulated, gs_shim_reason *why);
gs_context    *gs_shim_place_context(gs_shim_place *place);
struct gs_device *gs_shim_place_device(gs_shim_place *place);
bool           gs_shim_place_captures(gs_shim_place *place, gs_stream stream);   /* work put there is recorded, or nothing can be said */
bool           gs_shim_place_capture(gs_shim_place *place, gs_stream stream, uint64_t *id);   /* which capture the stream is part of; 0: none. false: nobody knows */
void           gs_shim_place_ease(gs_shim_place *place, int *mode);   /* swaps the thread's capture mode with *mode; the first time for relaxed: 2 */
#define GS_SHIM_EASED 2

/* Puts the problem on the stream with its plan, which is made at first sight. SERVED: it is there. via: who asks, for the log. */
gs_shim_reason gs_shim_run(gs_shim_place *place, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_shim_function via);

bool gs_shim_is_forked(void);   /* a child of a process in which a plan was asked for */

#endif

/* SPDX-License-Identifier: MIT
 * Serves the cuBLAS calls of unmodified programs: the calls come here first (LD_PRELOAD). A call is served by a plan if the plan computes exactly the same; otherwise
 * the real function is called with the same arguments, and its result is returned.
 *
 *     GEMMSMITH_BLAS         run (default), off, record, check
 *     GEMMSMITH_BLAS_AFTER   the plan of a problem is made at its N-th call; 1 (default): the first
 *     GEMMSMITH_BLAS_REPORT  file to which the counts are written when the process ends
 *     GEMMSMITH_RECORD       the folder of record mode
 *     GEMMSMITH_LOG          3: a line per problem: what serves it, or why it is not served */
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
void         gs_shim_count_check(bool good);               /* counts a comparison of mode check */

/* ---- a call of cuBLAS (multiply.c) ---- */

typedef struct gs_shim_call gs_shim_call;
struct gs_shim_call {
    gs_shim_function function;
    const struct gs_real_cublas *library;          /* the library that the caller uses */
    void       *handle;
    int         op_a, op_b, type_a, type_b, type_c, compute, algo;   /* as the caller passed them; column-major */
    int64_t     m, n, k, lda, ldb, ldc, batch;
    const void *alpha, *beta, *a, *b;
    void       *c;
    int       (*real)(const gs_shim_call *call);   /* the real function with these arguments */
    bool        pointers;                          /* a, b and c are arrays of pointers in device memory */
    long long   stride_a, stride_b, stride_c;      /* for a batch by strides */
};

/* Serves the call or passes it on; returns the status for the caller. */
int gs_shim_multiply(const gs_shim_call *call);

/* Whether the thread is inside the real library or ours: calls made there are not the program's, and are not served or counted. */
bool gs_shim_is_inside(void);
void gs_shim_enter(void);
void gs_shim_leave(void);

/* ---- a call as a problem (describe.c) ---- */

/* The problem of a call, with alpha 1, and beta 1 if reads_c, else 0. SERVED: the call is a problem. */
gs_shim_reason gs_shim_describe(const gs_shim_call *call, bool reads_c, gs_problem *out);

/* Converts a batch stride to the form that problems use: 0 if packed, GS_SAME_MATRIX for 0. false: negative. */
bool gs_shim_stride(long long given, int64_t ld, int64_t rows, int64_t *out);
bool gs_shim_type(int cuda, gs_type *out);   /* from a cudaDataType; false: unsupported type */

/* ---- plans (plans.c, place.c) ---- */

/* A driver context that is current when calls are made, with a gemmsmith context on its device. */
typedef struct gs_shim_place gs_shim_place;

/* The calling thread's place, opened on demand. NULL: *why says the reason. emulated: gs_real_cublas.emulated. */
gs_shim_place *gs_shim_place_now(const char *emulated, gs_shim_reason *why);
gs_context    *gs_shim_place_context(gs_shim_place *place);
struct gs_device *gs_shim_place_device(gs_shim_place *place);
bool           gs_shim_place_captures(gs_shim_place *place, gs_stream stream);   /* the stream is being captured, or that cannot be determined */
bool           gs_shim_place_capture(gs_shim_place *place, gs_stream stream, uint64_t *id);   /* *id: the stream's capture; 0: none. false: cannot be determined */
void           gs_shim_place_ease(gs_shim_place *place, int *mode);   /* swaps the thread's capture mode with *mode, which is GS_SHIM_EASED (relaxed) in the first call */
#define GS_SHIM_EASED 2

/* Puts the problem on the stream with its plan, which is made on demand. SERVED: done. via: the function called, for the log. */
gs_shim_reason gs_shim_run(gs_shim_place *place, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_shim_function via);

bool gs_shim_is_forked(void);   /* this is the child of a process that had used a plan before it forked */

#endif

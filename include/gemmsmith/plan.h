/* SPDX-License-Identifier: MIT
 * Contexts and plans: choosing a kernel for a problem once, running it many times.
 *
 * A context belongs to one device and may be used by several threads. A plan is used by one thread at a time.
 * Nothing here allocates while a plan runs; everything that is loaded is loaded when the plan is created. */
#ifndef GEMMSMITH_PLAN_H
#define GEMMSMITH_PLAN_H

#include <gemmsmith/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gs_context gs_context;
typedef struct gs_plan    gs_plan;
typedef void             *gs_stream;   /* a CUstream / cudaStream_t; NULL is the default stream */

/* Where a plan's kernel came from, in the order in which the choices are tried. */
typedef enum gs_origin {
    GS_ORIGIN_TABLE    = 0,   /* the problem stands in a tuned table */
    GS_ORIGIN_NEAREST  = 1,   /* the same with the other input type does or, where there are no weights for the device, its nearest neighbour */
    GS_ORIGIN_DEFAULT  = 2,   /* the first choice of the learned weights or, where there are none, of the time model */
    GS_ORIGIN_LIBRARY  = 3,   /* cuBLASLt */
    GS_ORIGIN_EXPLICIT = 4,   /* the caller named the schedule */
    GS_ORIGIN_EMPTY    = 5    /* nothing to compute */
} gs_origin;

/* Settings of a context. Initialise with gs_config_default, then change fields. Strings are borrowed during gs_open only. */
typedef struct gs_config {
    const char *device;       /* "cuda:0"; "emu:h200"; NULL: $GEMMSMITH_DEVICE, which may name only a GPU here, else the first GPU */
    const char *tuned_path;   /* table file or directory, which must be there; NULL: $GEMMSMITH_TUNED, which must be there too; where that
                                 is not set, those of the user's and the installed tables that there are */
    const char *cache_path;   /* cubin cache directory; NULL: $GEMMSMITH_CACHE, else the user's cache directory */
    int         use_library;  /* 1: a plan may choose cuBLASLt (default); 0: own kernels only */
    int         use_own;      /* 1: a plan may choose an own kernel (default); 0: cuBLASLt only */
    int         dependent;    /* 1: a plan's launch may start before the kernel before it on the stream has ended, and waits on the device
                                 until it has (programmatic dependent launch; compute capability 9.0, CUDA 12.3; elsewhere no
                                 difference); -1: it does not; 0: $GEMMSMITH_DEPENDENT, else it does not (default) */
    void       *reserved[12];
} gs_config;

/* Pointers of one multiplication, all device memory on the context's device, owned by the caller and alive until the
 * stream has run the call. c may be NULL when the problem's beta is 0, and may equal d (then ldc must equal ldd). */
typedef struct gs_args {
    const void *a;             /* M x K, problem.in */
    const void *b;             /* nn: K x N, tn: N x K, problem.in */
    const void *c;             /* M x N, problem.out */
    void       *d;             /* M x N, problem.out */
    void       *workspace;     /* NULL: the plan's own, so that runs of a plan must not overlap on the device where gs_plan_workspace
                                  is not 0; otherwise at least that many bytes, 256-byte aligned, filled with
                                  zeros before the plan's first run with it and after any other use: a run leaves it
                                  as the plan's next run needs it */
} gs_args;

GS_API gs_config gs_config_default(void);

/* Opens a device. config may be NULL. *out is NULL on failure and *error (may be NULL) says what is missing.
 * Codes: NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, DEVICE_UNKNOWN, MEMORY, PARSE (a name or a variable); of a table that tuned_path or
 * $GEMMSMITH_TUNED names: NOT_FOUND, IO, CORRUPT (it is no table; a bad line of one is skipped, never fatal). */
GS_API gs_status gs_open(gs_context **out, const gs_config *config, gs_error *error);

/* Destroys the context, then sets *context to NULL. All its plans must be destroyed before. Accepts NULL and *context == NULL. */
GS_API void gs_close(gs_context **context);

/* Chooses, compiles or loads a kernel for the problem. Never call it while a stream is being captured.
 * Codes: those of gs_problem_check, COMPILE, NO_COMPILER, DEVICE_MEMORY, NO_LIBRARY, UNSUPPORTED. */
GS_API gs_status gs_plan_create(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);

/* As gs_plan_create, with a schedule ("ws/128x256x64/s4/...") instead of the choice, or "library" for cuBLASLt ("library/3" for the
 * third algorithm that it suggests, or its first if there are fewer). */
GS_API gs_status gs_plan_create_schedule(gs_context *context, const gs_problem *problem, const char *schedule, gs_plan **out, gs_error *error);

/* Puts one multiplication on the stream: compares pointers, launches. Allocates nothing; may be captured in a CUDA graph.
 * Codes: ARGUMENT (a pointer is missing), ALIGNMENT (a pointer is less aligned than gs_plan_alignment), LAUNCH, LIBRARY. */
GS_API gs_status gs_plan_run(gs_plan *plan, const gs_args *args, gs_stream stream);

/* Destroys the plan, then sets *plan to NULL. Work in flight must have finished. Accepts NULL and *plan == NULL. */
GS_API void gs_plan_destroy(gs_plan **plan);

/* Plan from a cache inside the context, created at the first call for a problem (where it has a workspace: for a problem and a
 * stream), and run. Thread-safe; capture-safe once cached.
 * Pointers that are less aligned than the planned kernel needs are served by a kernel that takes them. */
GS_API gs_status gs_gemm(gs_context *context, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_error *error);

GS_API const char       *gs_plan_why(const gs_plan *plan);        /* "tuned table, exact: ws/..., 1.04 of cuBLASLt"; lives with the plan */
GS_API const char       *gs_plan_schedule(const gs_plan *plan);   /* text form of the schedule, "library", "library/3" or "empty"; lives with the plan */
GS_API gs_origin         gs_plan_origin(const gs_plan *plan);
GS_API const gs_problem *gs_plan_problem(const gs_plan *plan);    /* lives with the plan */
GS_API size_t            gs_plan_workspace(const gs_plan *plan);  /* bytes */
GS_API size_t            gs_plan_alignment(const gs_plan *plan, char operand);  /* bytes that a pointer ('a' to 'd') must be a multiple of */

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT
 * Contexts and plans: choosing a kernel for a problem once, running it many times.
 *
 * A context belongs to one device. Any number of threads may use a context or a plan at once; a plan is immutable. Everything is loaded
 * when the plan is created. A run allocates nothing, except for a thread's first run of the plan. */
#ifndef GEMMSMITH_PLAN_H
#define GEMMSMITH_PLAN_H

#include <string.h>
#include <gemmsmith/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gs_context gs_context;
typedef struct gs_plan    gs_plan;
typedef struct gs_pending gs_pending;
typedef void             *gs_stream;   /* a CUstream / cudaStream_t; NULL is the default stream */

/* Where a plan's kernel came from, in the order in which the choices are tried. */
typedef enum gs_origin {
    GS_ORIGIN_TABLE    = 0,   /* the problem has its own row in a tuned table */
    GS_ORIGIN_NEAREST  = 1,   /* the row of the same problem with the other input type; without learned weights for the device also the row of the nearest problem */
    GS_ORIGIN_DEFAULT  = 2,   /* the first choice of the learned weights, or without weights of the time model */
    GS_ORIGIN_CUBLASLT = 3,   /* cuBLASLt */
    GS_ORIGIN_EXPLICIT = 4,   /* the caller named the schedule */
    GS_ORIGIN_EMPTY    = 5,   /* nothing to compute */
    GS_ORIGIN_MEASURED = 6,   /* measured when the plan was created, or for an earlier plan of the context; tried after TABLE */
    GS_ORIGIN_PACK     = 7    /* a pack has the problem; tried before TABLE. Nothing is compiled */
} gs_origin;

#define GS_NO_LIMIT ((size_t)-1)

/* Receives one line of the log, without a line end. level: 1 error, 2 warning, 3 information, 4 debugging. Called from any thread, possibly from several at once; it
 * must not call the library. */
typedef void (*gs_log_line)(void *self, int level, const char *line);

/* Settings of a context. Initialise with gs_config_default, then change fields. Strings are borrowed during gs_open only. */
typedef struct gs_config {
    uint32_t    size;         /* sizeof(gs_config) as the caller was compiled; see status.h */
    int         use_cublaslt; /* 1: a plan may choose cuBLASLt (default); 0: our kernels only */
    int         use_ours;     /* 1: a plan may choose one of our kernels (default); 0: cuBLASLt only */
    int         dependent;    /* programmatic dependent launches: a plan's kernel may start before the previous kernel on the stream has ended; it waits for that
                                 kernel on the device. Needs compute capability 9.0 and CUDA 12.3, has no effect elsewhere. 2: in captured streams, after a kernel that
                                 lets the next one begin early, where it is expected to be faster; 1: always; -1: never. 0 (default): as $GEMMSMITH_DEPENDENT says (1
                                 or 0), or as 2 if that is not set */
    const char *device;       /* "cuda:0"; "emu:h200"; NULL: $GEMMSMITH_DEVICE, which may only name a GPU here, else the first GPU */
    const char *tuned_path;   /* table file or directory; must exist. NULL: $GEMMSMITH_TUNED, which must exist too; if that is not set, the installed tables and the
                                 user's, where they exist */
    const char *cache_path;   /* cubin cache directory; NULL: $GEMMSMITH_CACHE, else the user's cache directory */
    size_t      workspace_limit;  /* bytes of device memory that a plan may use as its workspace; GS_NO_LIMIT (default). Choices that need more are
                                     skipped; a schedule that the caller names is refused with UNSUPPORTED */
    size_t      cached_plans; /* most plans that gs_gemm keeps, 256 (default); at least 1. A plan in use counts but is not dropped */
    gs_log_line log;          /* receives the log lines of the whole process until this context is closed; NULL (default): lines go to standard error, at the level of
                                 $GEMMSMITH_LOG */
    void       *log_self;     /* first argument of log */
    int         log_level;    /* 0 to 4: the most detailed level that log receives; has no effect without log. Default 2 */
    int         measure;      /* 1: for a problem that is in no table the plan is chosen by a race on the device, see gs_plan_create; -1: never; 0 (default): as
                                 $GEMMSMITH_MEASURE says ("on", "off"), else never */
    int         measure_ms;   /* device time that one race may take, milliseconds; 0 (default): 100 */
    int         measure_total_ms;   /* the same for all races of this process; after that plans are chosen without measuring. 0 (default): 10000 */
    const char *pack_path;    /* packs (gemmsmith pack) to take plans from, "one.pack" or "one.pack:two.pack"; the first one that has a problem is used. NULL:
                                 $GEMMSMITH_PACK, if set. A pack that is missing, damaged, or made for another device or version is logged and reported by
                                 gs_context_status */
    uint64_t    reserved[6];  /* zero */
} gs_config;

/* Settings of one plan. Start from gs_plan_options_default. */
typedef struct gs_plan_options {
    uint32_t    size;         /* sizeof(gs_plan_options) as the caller was compiled; see status.h */
    int         measure;      /* 1: the choice is measured, as with gs_config.measure; -1: it is not; 0 (default): as the context says */
    int         measure_ms;   /* 0 (default): the context's */
    int         reserved_int; /* zero */
    uint64_t    reserved[6];  /* zero */
} gs_plan_options;

/* Pointers of one multiplication. Start from gs_args_make. All point to memory of the context's device, except alpha and beta. The caller owns them; they must stay
 * valid until the stream has run the call. c may be NULL when beta is 0, and may equal d (then ldc must equal ldd).
 *
 * With GS_MATRICES_POINTERS a, b, c and d are arrays of `batch` device pointers in device memory, aligned to 8 bytes. The kernel reads the arrays when it runs, so a
 * replay of a graph uses their current contents; it does not write them. Each pointer in them must be a multiple of gs_plan_alignment: a plan assumes that matrices
 * are aligned as their leading dimension is, up to 16 bytes, and no call can check that. c and d may be the same array or hold the same pointers. */
typedef struct gs_args {
    uint32_t     size;         /* sizeof(gs_args) as the caller was compiled; see status.h */
    uint32_t     reserved_flags;   /* zero */
    const void  *a;            /* nn, tn: M x K; nt, tt: K x M; problem.in */
    const void  *b;            /* nn, nt: K x N; tn, tt: N x K; problem.in. With a gate 2N instead of N */
    const void  *c;            /* M x N, problem.out */
    void        *d;            /* M x N, problem.out */
    void        *workspace;    /* NULL: the plan's own. If gs_plan_workspace is not 0, runs that may overlap on the device, or that threads start
                                  at the same time, each need their own workspace: at least that many bytes, aligned to 256 bytes. Fill it with
                                  zeros before the plan's first run with it and after any other use; each run leaves it ready for the plan's next
                                  run */
    const float *alpha, *beta; /* host memory, read during the call; NULL: the problem's. beta must be 0 exactly where the problem's is. With GS_SCALARS_DEVICE device
                                  memory, read when the kernel runs; alpha is then required, and beta if the problem's is not 0 */
    const void  *bias;         /* N elements, with a gate 2N, or M elements; with groups N (2N) for each group; of type problem.out, aligned to an element. NULL where
                                  the problem has no bias. With GS_DBIAS it is written, N elements, with groups for each group, and must overlap no other operand */
    const int32_t *offsets;    /* int32 in device memory: problem.groups + 1 first rows; with GS_GROUPS_MASKED problem.groups counts; with GS_GROUPS_K problem.batch +
                                  1 positions along K; NULL without groups */
    void        *aux;          /* M x N, with a gate M x 2N, problem.out: written with problem.aux, read with the gradient of an activation; else NULL. Must overlap no
                                  other operand */
    const float *scale_m;      /* M factors, aligned to 4 bytes, with GS_SCALE_M; else NULL */
    const float *scale_n;      /* N factors, with a gate 2N, with groups so many for each group, aligned to 4 bytes, with GS_SCALE_N; else NULL */
    uint64_t     reserved[1];  /* zero */
} gs_args;

/* Arguments with these operands, the plan's own workspace and the problem's alpha and beta. */
static inline gs_args gs_args_make(const void *a, const void *b, const void *c, void *d)
{
    gs_args args;
    memset(&args, 0, sizeof args);
    args.size = (uint32_t)sizeof args;
    args.a = a;
    args.b = b;
    args.c = c;
    args.d = d;
    return args;
}

/* Used by gs_config_default. size is the caller's sizeof(gs_config); no byte beyond it is written. */
GS_API void gs_config_init(gs_config *config, size_t size);

/* The default settings. */
static inline gs_config gs_config_default(void)
{
    gs_config config;
    gs_config_init(&config, sizeof config);
    return config;
}

/* Used by gs_plan_options_default. */
GS_API void gs_plan_options_init(gs_plan_options *options, size_t size);

/* The default settings of a plan. */
static inline gs_plan_options gs_plan_options_default(void)
{
    gs_plan_options options;
    gs_plan_options_init(&options, sizeof options);
    return options;
}

/* Opens a device. config may be NULL. *out is NULL on failure and *error (may be NULL) says what is missing.
 * Codes: NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, DEVICE_UNKNOWN, MEMORY, PARSE (a name or a variable), ARGUMENT, UNSUPPORTED (config); of a table that tuned_path or
 * $GEMMSMITH_TUNED names: NOT_FOUND, IO, CORRUPT (it is no table; a bad line of one is skipped, never fatal). */
GS_API gs_status gs_open(gs_context **out, const gs_config *config, gs_error *error);

/* GS_OK, or the first defect that the context works around. *error (may be NULL) describes it: a fault of the weights that $GEMMSMITH_WEIGHTS names or that are
 * installed, of a table in its usual place or of a row of a table (CORRUPT, NOT_FOUND, IO), or of a pack (also UNSUPPORTED, RANGE). gs_open logged each of them; plans
 * are made without it. */
GS_API gs_status gs_context_status(const gs_context *context, gs_error *error);

/* Destroys the context, then sets *context to NULL. All its plans must be destroyed before. Accepts NULL and *context == NULL. */
GS_API void gs_close(gs_context **context);

/* Allocates memory of the context's device, for programs that have no other way to do so: an emulated device has no cudaMalloc. At least 256-byte aligned; *out is NULL
 * on failure. A program that uses only this memory may name an emulated device in gs_config.device.
 * Codes: ARGUMENT, DEVICE_MEMORY, DEVICE. */
GS_API gs_status gs_memory_create(gs_context *context, size_t bytes, void **out, gs_error *error);

/* Copies to memory of gs_memory_create, or to any part of it, and returns when the data have arrived. Codes: ARGUMENT, DEVICE, FAULT. */
GS_API gs_status gs_memory_write(gs_context *context, void *to, const void *from, size_t bytes, gs_error *error);

/* Copies from memory of gs_memory_create, after waiting for all work of the device. Codes: ARGUMENT, DEVICE, FAULT (of that work). */
GS_API gs_status gs_memory_read(gs_context *context, void *to, const void *from, size_t bytes, gs_error *error);

/* Frees memory of gs_memory_create. No work may be using it. Accepts NULL. */
GS_API void gs_memory_destroy(gs_context *context, void *memory);

/* Chooses a kernel for the problem and compiles or loads it. Never call it while a stream is being captured. With GEMMSMITH_COMPILE=off nothing is compiled: the
 * kernel is taken from a pack or the cubin cache; if neither has one, cuBLASLt is used.
 *
 * With gs_config.measure, a problem that is in no tuned table is measured: the most promising kernels and, where allowed, cuBLASLt's suggestions race on the device,
 * on a stream and operands of the library's own, which take at most an eighth of the free memory. The winner serves all plans of the context and is written to the
 * user's tuned table (or the table that tuned_path or $GEMMSMITH_TUNED names) for later processes; if that fails, it is logged. Kernels are compiled before the race,
 * which takes seconds once and does not count towards the time limits. Nothing is measured while the driver reports a capture: on a stream that synchronises with the
 * default stream, or on the stream given to gs_gemm. Then, and where a race is not possible, the plan is chosen as without measure, and the reason is logged.
 * Codes: those of gs_problem_check, COMPILE, NO_COMPILER, DEVICE_MEMORY, NO_LIBRARY, UNSUPPORTED. */
GS_API gs_status gs_plan_create(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error);

/* As gs_plan_create, with settings for this plan. options may be NULL. Also ARGUMENT, UNSUPPORTED (options). */
GS_API gs_status gs_plan_create_with(gs_context *context, const gs_problem *problem, const gs_plan_options *options, gs_plan **out, gs_error *error);

/* As gs_plan_create, with the given schedule ("ws/128x256x64/s4/..."), or "cublaslt" ("cublaslt/3" for the third algorithm that cuBLASLt suggests, or its first if
 * there are fewer). */
GS_API gs_status gs_plan_create_schedule(gs_context *context, const gs_problem *problem, const char *schedule, gs_plan **out, gs_error *error);

/* Puts one multiplication on the stream. Any number of threads may run one plan at once. Only a thread's first run of the plan allocates, and host memory only. May be
 * captured in a CUDA graph.
 * Codes: ARGUMENT (a pointer is missing; args' size is wrong; beta is 0 in args but not in the problem, or the reverse), ALIGNMENT (a pointer is less aligned than
 * gs_plan_alignment), UNSUPPORTED (a reserved field; scalars that cuBLASLt cannot take), MEMORY, LAUNCH, LIBRARY. */
GS_API gs_status gs_plan_run(const gs_plan *plan, const gs_args *args, gs_stream stream);

/* Whether gs_plan_run would accept the arguments; runs nothing. *error says which argument is wrong. Codes: ARGUMENT, ALIGNMENT, UNSUPPORTED. */
GS_API gs_status gs_plan_check(const gs_plan *plan, const gs_args *args, gs_error *error);

/* Destroys the plan, then sets *plan to NULL. No thread may be running it, and its work on the device must have finished. Accepts NULL and *plan == NULL. */
GS_API void gs_plan_destroy(gs_plan **plan);

/* Writes the plan to a buffer: problem, choice and compiled code, with the device's architecture, this version and a checksum. *size is the size of the buffer before
 * the call and the size needed after it; with buffer NULL only *size is set.
 * Codes: ARGUMENT, RANGE (the buffer is too small), MEMORY. */
GS_API gs_status gs_plan_save(const gs_plan *plan, void *buffer, size_t *size, gs_error *error);

/* Makes a plan from what gs_plan_save wrote. Needs no compiler, no cache and no writable disk; a plan that uses cuBLASLt needs cuBLASLt.
 * Codes: CORRUPT (not a plan, truncated or changed), UNSUPPORTED (another version of gemmsmith, or another GPU architecture), and those of gs_plan_create. */
GS_API gs_status gs_plan_load(gs_context *context, const void *buffer, size_t size, gs_plan **out, gs_error *error);

/* Starts gs_plan_create in a thread of the library. Call gs_plan_wait once for each start. Codes: ARGUMENT, MEMORY, those of gs_problem_check. */
GS_API gs_status gs_plan_start(gs_context *context, const gs_problem *problem, gs_pending **out, gs_error *error);

/* Returns 1 if gs_plan_wait would return at once, else 0. */
GS_API int gs_plan_ready(const gs_pending *pending);

/* Waits until the plan is made, returns what gs_plan_create returned, and sets *pending to NULL. */
GS_API gs_status gs_plan_wait(gs_pending **pending, gs_plan **out, gs_error *error);

/* Runs a problem with a plan from a cache inside the context. The first call for a problem creates the plan; plans with a workspace are kept per stream. Any number of
 * threads may call it; while one creates a plan, only calls for the same plan wait. The cache keeps gs_config.cached_plans plans. It drops the least recently used
 * one, after the device has finished its work. A CUDA graph that was captured with gs_gemm may therefore be launched only while its plans are in the cache; for
 * graphs, create plans. A call may be captured once its plan is cached. If a pointer is less aligned than the planned kernel needs, another kernel is used. */
GS_API gs_status gs_gemm(gs_context *context, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_error *error);

GS_API const char       *gs_plan_why(const gs_plan *plan);        /* a text that says where the kernel came from; lives with the plan */
GS_API const char       *gs_plan_schedule(const gs_plan *plan);   /* text form of the schedule, "cublaslt", "cublaslt/3" or "empty"; lives with the plan */
GS_API gs_origin         gs_plan_origin(const gs_plan *plan);    /* where the kernel came from */
GS_API const gs_problem *gs_plan_problem(const gs_plan *plan);    /* what it computes; lives with the plan */
GS_API size_t            gs_plan_workspace(const gs_plan *plan);  /* bytes of device memory that a run needs */
/* Bytes that a pointer must be a multiple of: 'a' to 'd', 'e' the bias, 'f' the offsets, 'g' aux, 'h' and 'i' the scales. For a batch by pointers, each pointer in the arrays. */
GS_API size_t            gs_plan_alignment(const gs_plan *plan, char operand);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT
 * The plans of a process: one for each problem and place, made at first sight, kept to the end. Found without a lock. */
#include "shim/shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/device.h"
#include "plan/made.h"

enum { PROBLEMS = 8192, SLOTS = 2 * PROBLEMS, ROOMS = 64 };   /* different problems; workspaces of a plan */

/* Runs on different streams may overlap on the device, and so may the replays of different graphs: each has its own workspace. */
typedef struct room room;
struct room {
    room           *next;
    gs_stream       stream;
    uint64_t        capture;    /* which the stream was part of: its kernels run when the graph does; 0: none */
    void           *workspace;
    pthread_mutex_t launching;  /* the kernels of a run follow each other */
};

typedef struct entry {
    uint64_t        hash;
    gs_shim_place  *place;
    gs_problem      problem;
    gs_shim_reason  reason;     /* SERVED: by the plan */
    gs_plan        *plan;
    size_t          workspace;  /* bytes */
    _Atomic(room *) rooms;
} entry;

static _Atomic(entry *) slots[SLOTS];
static int              entries;      /* under the lock */
static pthread_mutex_t  making = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of(const gs_shim_place *place, const gs_problem *problem)
{
    return gs_hash64(problem, sizeof *problem) ^ (uint64_t)(uintptr_t)place * 0x9e3779b97f4a7c15ull;
}

/* The entry, or NULL and where it would be. */
static entry *find(uint64_t hash, const gs_shim_place *place, const gs_problem *problem, size_t *at)
{
    for (*at = hash % SLOTS;; *at = (*at + 1) % SLOTS) {
        entry *const e = atomic_load_explicit(&slots[*at], memory_order_acquire);
        if (!e || (e->hash == hash && e->place == place && memcmp(&e->problem, problem, sizeof *problem) == 0)) return e;
    }
}

/* ---- making ---- */

static void say(const entry *e, gs_shim_function via, const char *text)
{
    char problem[GS_PROBLEM_TEXT];
    if (gs_log_level() < GS_LOG_INFO) return;
    gs_log(GS_LOG_INFO, "blas: %s %s: %s%s%s", gs_shim_symbol(via), gs_problem_format(&e->problem, problem), e->reason == GS_SHIM_SERVED ? "served: " : gs_shim_reason_text(e->reason),
           e->reason == GS_SHIM_SERVED || !*text ? "" : ": ", text);
}

static void choose(entry *e, gs_shim_function via)
{
    gs_error error = {0};
    int mode = GS_SHIM_EASED;
    gs_shim_place_ease(e->place, &mode);
    const gs_status status = gs_plan_create(gs_shim_place_context(e->place), &e->problem, &e->plan, &error);
    if (status == GS_ERROR_RANGE) e->reason = GS_SHIM_SIZES;
    else if (status != GS_OK) e->reason = GS_SHIM_NO_PLAN;
    else if (!gs_plan_loaded(e->plan)) e->reason = GS_SHIM_CUBLASLT;
    else e->reason = GS_SHIM_SERVED;
    e->workspace = status == GS_OK ? gs_plan_workspace(e->plan) : 0;
    say(e, via, status == GS_OK ? gs_plan_why(e->plan) : error.text);
    if (e->reason != GS_SHIM_SERVED) gs_plan_destroy(&e->plan);
    gs_shim_place_ease(e->place, &mode);
}

static gs_shim_reason make(entry **out, uint64_t hash, gs_shim_place *place, const gs_problem *problem, gs_shim_function via)
{
    size_t at;
    gs_shim_reason reason = GS_SHIM_MEMORY;
    if (pthread_mutex_lock(&making) != 0) return GS_SHIM_NO_PLAN;
    *out = find(hash, place, problem, &at);
    if (*out) {
        reason = GS_SHIM_SERVED;
    } else if (entries == PROBLEMS) {
        reason = GS_SHIM_FULL;
    } else if ((*out = calloc(1, sizeof **out)) != NULL) {
        **out = (entry){.hash = hash, .place = place, .problem = *problem};
        choose(*out, via);
        entries++;
        atomic_store_explicit(&slots[at], *out, memory_order_release);
        reason = GS_SHIM_SERVED;
    }
    pthread_mutex_unlock(&making);
    return reason;
}

/* ---- workspaces ---- */

static room *find_room(entry *e, gs_stream stream, uint64_t capture, int *count)
{
    *count = 0;
    for (room *r = atomic_load_explicit(&e->rooms, memory_order_acquire); r; r = r->next, ++*count)
        if (r->stream == stream && r->capture == capture) return r;
    return NULL;
}

static room *make_room(entry *e, gs_stream stream, uint64_t capture)
{
    int count;
    gs_pointer memory = 0;
    int mode = GS_SHIM_EASED;
    if (pthread_mutex_lock(&making) != 0) return NULL;
    room *r = find_room(e, stream, capture, &count);
    if (!r && count < ROOMS && (r = calloc(1, sizeof *r)) != NULL) {
        gs_shim_place_ease(e->place, &mode);
        const gs_status status = gs_loaded_alloc(gs_plan_loaded(e->plan), &memory, NULL);
        gs_shim_place_ease(e->place, &mode);
        if (status != GS_OK) {
            free(r);
            r = NULL;
        } else {
            *r = (room){.next = atomic_load(&e->rooms), .stream = stream, .capture = capture, .workspace = (void *)(uintptr_t)memory};
            pthread_mutex_init(&r->launching, NULL);
            atomic_store_explicit(&e->rooms, r, memory_order_release);
            gs_log(GS_LOG_DEBUG, "blas: a workspace of %zu bytes for %s", e->workspace, capture ? "a captured stream" : "a stream");
        }
    }
    pthread_mutex_unlock(&making);
    return r;
}

#define PER_THREAD ((gs_stream)2)   /* cudaStreamPerThread: one name of many streams */

static gs_shim_reason run_in_room(entry *e, gs_args *args, gs_stream stream, gs_status *status)
{
    int count;
    uint64_t capture;
    if (stream == PER_THREAD) return GS_SHIM_NO_PLAN;
    if (!gs_shim_place_capture(e->place, stream, &capture)) return GS_SHIM_CAPTURED;
    room *r = find_room(e, stream, capture, &count);
    if (!r && gs_shim_place_captures(e->place, NULL)) return GS_SHIM_CAPTURED;   /* memory is filled on the default stream */
    if (!r) r = make_room(e, stream, capture);
    if (!r) return GS_SHIM_MEMORY;
    args->workspace = r->workspace;
    pthread_mutex_lock(&r->launching);
    *status = gs_plan_run(e->plan, args, stream);
    pthread_mutex_unlock(&r->launching);
    return GS_SHIM_SERVED;
}

gs_shim_reason gs_shim_run(gs_shim_place *place, const gs_problem *problem, const gs_args *given, gs_stream stream, gs_shim_function via)
{
    size_t at;
    gs_status status = GS_OK;
    const uint64_t hash = hash_of(place, problem);
    entry *e = find(hash, place, problem, &at);
    if (__builtin_expect(!e, 0)) {
        if (gs_shim_place_captures(place, stream) || gs_shim_place_captures(place, NULL)) return GS_SHIM_CAPTURED;
        const gs_shim_reason reason = make(&e, hash, place, problem, via);
        if (reason != GS_SHIM_SERVED) return reason;
    }
    if (e->reason != GS_SHIM_SERVED) return e->reason;
    if (e->workspace == 0) {
        status = gs_plan_run(e->plan, given, stream);
    } else {
        gs_args args = *given;
        const gs_shim_reason reason = run_in_room(e, &args, stream, &status);
        if (reason != GS_SHIM_SERVED) return reason;
    }
    if (status == GS_OK) return GS_SHIM_SERVED;
    if (status == GS_ERROR_ALIGNMENT) return GS_SHIM_ALIGNMENT;
    gs_log(GS_LOG_WARNING, "blas: %s: a launch failed (%s); the call is passed on", gs_shim_symbol(via), gs_status_string(status));
    return GS_SHIM_LAUNCH;
}

/* SPDX-License-Identifier: MIT
 * The plans of a process: one for each problem and place, created on demand and kept until the process ends. Look-ups take no lock. */
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

enum { PROBLEMS = 8192, SLOTS = 2 * PROBLEMS, ROOMS = 64 };   /* most different problems; most workspaces of a plan */

/* A workspace. Runs on different streams, and replays of different graphs, may overlap on the device, so each has its own. */
typedef struct room room;
struct room {
    room           *next;
    gs_stream       stream;
    uint64_t        capture;    /* id of the capture that the stream was part of, whose kernels run when the graph does; 0: none */
    void           *workspace;
    pthread_mutex_t launching;  /* held during a run: the kernels of different runs must not interleave */
};

typedef struct entry {
    uint64_t        hash;
    gs_shim_place  *place;
    gs_problem      problem;
    atomic_int      reason;     /* gs_shim_reason. WAITING: not planned yet; SERVED: it has a plan */
    atomic_uint_fast64_t calls; /* calls while WAITING */
    gs_plan        *plan;
    size_t          workspace;  /* bytes */
    _Atomic(room *) rooms;
} entry;

static _Atomic(entry *) slots[SLOTS];
static int              entries;      /* changed under the lock */
static pthread_mutex_t  making = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of(const gs_shim_place *place, const gs_problem *problem)
{
    return gs_hash64(problem, sizeof *problem) ^ (uint64_t)(uintptr_t)place * 0x9e3779b97f4a7c15ull;
}

/* The entry, or NULL with *at the free slot for it. */
static entry *find(uint64_t hash, const gs_shim_place *place, const gs_problem *problem, size_t *at)
{
    for (*at = hash % SLOTS;; *at = (*at + 1) % SLOTS) {
        entry *const e = atomic_load_explicit(&slots[*at], memory_order_acquire);
        if (!e || (e->hash == hash && e->place == place && memcmp(&e->problem, problem, sizeof *problem) == 0)) return e;
    }
}

/* ---- making ---- */

static void say(const entry *e, gs_shim_reason reason, gs_shim_function via, const char *text)
{
    char problem[GS_PROBLEM_TEXT];
    if (gs_log_level() < GS_LOG_INFO) return;
    gs_log(GS_LOG_INFO, "blas: %s %s: %s%s%s", gs_shim_symbol(via), gs_problem_format(&e->problem, problem), reason == GS_SHIM_SERVED ? "served: " : gs_shim_reason_text(reason),
           reason == GS_SHIM_SERVED || !*text ? "" : ": ", text);
}

/* The caller holds the lock. */
static void choose(entry *e, gs_shim_function via)
{
    gs_error error = {0};
    int mode = GS_SHIM_EASED;
    gs_shim_place_ease(e->place, &mode);
    const gs_status status = gs_plan_create(gs_shim_place_context(e->place), &e->problem, &e->plan, &error);
    const gs_shim_reason reason = status == GS_ERROR_RANGE ? GS_SHIM_SIZES : status != GS_OK ? GS_SHIM_NO_PLAN : !gs_plan_loaded(e->plan) ? GS_SHIM_CUBLASLT : GS_SHIM_SERVED;
    e->workspace = status == GS_OK ? gs_plan_workspace(e->plan) : 0;
    say(e, reason, via, status == GS_OK ? gs_plan_why(e->plan) : error.text);
    if (reason != GS_SHIM_SERVED) gs_plan_destroy(&e->plan);
    gs_shim_place_ease(e->place, &mode);
    atomic_store_explicit(&e->reason, reason, memory_order_release);
}

/* Adds the entry of a new problem, in state WAITING. NULL: *why says the reason. */
static entry *add(uint64_t hash, gs_shim_place *place, const gs_problem *problem, gs_shim_reason *why)
{
    size_t at;
    if (pthread_mutex_lock(&making) != 0) return *why = GS_SHIM_NO_PLAN, NULL;
    entry *e = find(hash, place, problem, &at);
    if (!e) {
        *why = entries == PROBLEMS ? GS_SHIM_FULL : GS_SHIM_MEMORY;
        e = entries == PROBLEMS ? NULL : calloc(1, sizeof *e);
        if (e) {
            e->hash = hash;
            e->place = place;
            e->problem = *problem;
            e->reason = GS_SHIM_WAITING;
            entries++;
            atomic_store_explicit(&slots[at], e, memory_order_release);
        }
    }
    pthread_mutex_unlock(&making);
    return e;
}

/* Makes the plan of a waiting entry if enough calls have asked for it and nothing is being captured. */
static gs_shim_reason advance(entry *e, gs_stream stream, gs_shim_function via)
{
    if (atomic_fetch_add_explicit(&e->calls, 1, memory_order_relaxed) + 1 < gs_shim_after_now()) return GS_SHIM_WAITING;
    if (gs_shim_place_captures(e->place, stream) || gs_shim_place_captures(e->place, NULL)) return GS_SHIM_CAPTURED;
    if (pthread_mutex_lock(&making) != 0) return GS_SHIM_NO_PLAN;
    if (atomic_load_explicit(&e->reason, memory_order_relaxed) == GS_SHIM_WAITING) choose(e, via);
    pthread_mutex_unlock(&making);
    return (gs_shim_reason)atomic_load_explicit(&e->reason, memory_order_relaxed);
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

#define PER_THREAD ((gs_stream)2)   /* cudaStreamPerThread: one handle for a different stream in each thread */

static gs_shim_reason run_in_room(entry *e, gs_args *args, gs_stream stream, gs_status *status)
{
    int count;
    uint64_t capture;
    if (stream == PER_THREAD) return GS_SHIM_NO_PLAN;
    if (!gs_shim_place_capture(e->place, stream, &capture)) return GS_SHIM_CAPTURED;
    room *r = find_room(e, stream, capture, &count);
    if (!r && gs_shim_place_captures(e->place, NULL)) return GS_SHIM_CAPTURED;   /* a new workspace is filled on the default stream, which is captured */
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
    gs_shim_reason reason;
    if (__builtin_expect(!e, 0) && !(e = add(hash, place, problem, &reason))) return reason;
    reason = (gs_shim_reason)atomic_load_explicit(&e->reason, memory_order_acquire);
    if (__builtin_expect(reason == GS_SHIM_WAITING, 0)) reason = advance(e, stream, via);
    if (reason != GS_SHIM_SERVED) return reason;
    if (e->workspace == 0) {
        status = gs_plan_run(e->plan, given, stream);
    } else {
        gs_args args = *given;
        reason = run_in_room(e, &args, stream, &status);
        if (reason != GS_SHIM_SERVED) return reason;
    }
    if (status == GS_OK) return GS_SHIM_SERVED;
    if (status == GS_ERROR_ALIGNMENT) return GS_SHIM_ALIGNMENT;
    gs_log(GS_LOG_WARNING, "blas: %s: a launch failed (%s); the call is passed on", gs_shim_symbol(via), gs_status_string(status));
    return GS_SHIM_LAUNCH;
}

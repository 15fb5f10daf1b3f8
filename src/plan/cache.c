/* SPDX-License-Identifier: MIT
 * gs_gemm and its cache of plans. The lock is held for look-ups only, never while a plan is made or run: an entry is inserted before its plan is made, and other calls
 * that need the same plan wait for it. An entry in use has a count above 0 and is not dropped. */
#include "plan/plan_internal.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "problem/layout.h"
#include "problem/sized.h"

typedef struct entry entry;
struct entry {
    entry          *next;                 /* next entry of the same bucket */
    entry          *newer, *older;        /* by last use */
    uint64_t        hash;
    gs_problem      problem;
    bool            unaligned;            /* a plan for pointers that are less aligned than the usual plan needs */
    bool            made;                 /* the plan has been made, or making it has failed */
    gs_stream       stream;               /* of the call that made it. Matters only if the plan has a workspace: calls on two streams may overlap on the device and
                                             must not share it */
    gs_status       status;               /* of making the plan */
    gs_error        error;
    gs_plan        *plan;
    atomic_int      users;                /* raised under the lock */
    pthread_mutex_t launching;            /* held during a run if the plan has a workspace: the kernels of two runs must not interleave */
};

struct gs_plan_cache {
    pthread_mutex_t lock;
    pthread_cond_t  made;
    entry         **bucket;
    size_t          buckets;              /* a power of two */
    size_t          count, most;
    entry          *newest, *oldest;
};

gs_status gs_plan_cache_create(gs_plan_cache **out, size_t most, gs_error *error)
{
    gs_plan_cache *const cache = calloc(1, sizeof *cache);
    size_t buckets = 64;
    while (buckets < most && buckets < 65536) buckets *= 2;
    if (cache) cache->bucket = calloc(buckets, sizeof(entry *));
    if (!cache || !cache->bucket) {
        free(cache);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a cache of plans");
    }
    cache->buckets = buckets;
    cache->most = most;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->made, NULL);
    *out = cache;
    return GS_OK;
}

static void entry_free(entry *e)
{
    gs_plan_destroy(&e->plan);
    pthread_mutex_destroy(&e->launching);
    free(e);
}

void gs_plan_cache_destroy(gs_plan_cache **address)
{
    gs_plan_cache *const cache = *address;
    if (!cache) return;
    for (entry *e = cache->oldest, *newer; e; e = newer) {
        newer = e->newer;
        entry_free(e);
    }
    pthread_cond_destroy(&cache->made);
    pthread_mutex_destroy(&cache->lock);
    free(cache->bucket);
    free(cache);
    *address = NULL;
}

/* ---- the table, all under the lock ---- */

/* One plan serves every alpha and beta, as long as beta is 0 in both or in neither. With f16 accumulation cuBLASLt takes alpha and beta as f16, which not every value
 * fits; such problems must have equal scalars. */
static bool same_problem(const gs_problem *x, const gs_problem *y)
{
    if (x->acc == GS_F16 && (x->alpha != y->alpha || x->beta != y->beta)) return false;
    if (x->constant != y->constant || gs_problem_wants(x) != gs_problem_wants(y) || (gs_problem_wants(x) && !gs_same_wishes(x, y))) return false;
    return x->in == y->in && x->acc == y->acc && x->out == y->out && x->layout == y->layout && x->m == y->m && x->n == y->n && x->k == y->k &&
           x->lda == y->lda && x->ldb == y->ldb && x->ldc == y->ldc && x->ldd == y->ldd && x->batch == y->batch &&
           gs_same_epilogue(x, y);
}

static uint64_t hash_of(const gs_problem *p, bool unaligned)
{
    const int64_t key[] = {(int64_t)p->in | (int64_t)p->acc << 4 | (int64_t)p->out << 8 | (int64_t)p->layout << 12 | (int64_t)(p->beta != 0) << 16 |
                           (int64_t)unaligned << 17 | (int64_t)p->bias << 18 | (int64_t)p->activation << 20 | (int64_t)p->residual << 24 | (int64_t)p->scales << 25 | (int64_t)p->invariant << 27, p->m, p->n, p->k, p->lda, p->ldb, p->ldc, p->ldd, p->batch};
    return gs_hash64(key, sizeof key);
}

static entry **bucket_of(gs_plan_cache *cache, uint64_t hash) { return &cache->bucket[hash & (cache->buckets - 1)]; }

/* An entry whose plan is not made yet always matches: whether it needs a workspace is not known. enter() waits for it and looks again. */
static bool serves(const entry *e, gs_stream stream) { return !e->made || e->stream == stream || !e->plan || e->plan->workspace_bytes == 0; }

static entry *find(gs_plan_cache *cache, uint64_t hash, const gs_problem *problem, bool unaligned, gs_stream stream)
{
    for (entry *e = *bucket_of(cache, hash); e; e = e->next)
        if (e->hash == hash && e->unaligned == unaligned && same_problem(&e->problem, problem) && serves(e, stream)) return e;
    return NULL;
}

static void unlink_use(gs_plan_cache *cache, const entry *e)
{
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static void link_newest(gs_plan_cache *cache, entry *e)
{
    e->newer = NULL;
    e->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

static void insert(gs_plan_cache *cache, entry *e)
{
    entry **const bucket = bucket_of(cache, e->hash);
    e->next = *bucket;
    *bucket = e;
    link_newest(cache, e);
    cache->count++;
}

static void take_out(gs_plan_cache *cache, entry *e)
{
    entry **at = bucket_of(cache, e->hash);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    unlink_use(cache, e);
    cache->count--;
}

/* Removes the least recently used entry that is not in use and returns it, if the cache is over its limit; else NULL. */
static entry *too_many(gs_plan_cache *cache)
{
    if (cache->count <= cache->most) return NULL;
    for (entry *e = cache->oldest; e; e = e->newer) {
        if (!e->made || atomic_load_explicit(&e->users, memory_order_acquire) > 0) continue;
        take_out(cache, e);
        return e;
    }
    return NULL;
}

/* ---- finding or making ---- */

/* Frees surplus entries after the device has finished its work, which may still use them. If waiting for the device fails, they are not freed. */
static void drop_surplus(gs_context *context)
{
    gs_plan_cache *const cache = context->cache;
    gs_device *const device = context->device;
    for (;;) {
        pthread_mutex_lock(&cache->lock);
        entry *const e = too_many(cache);
        pthread_mutex_unlock(&cache->lock);
        if (!e) return;
        gs_error error = {0};
        if (device->ops->wait && device->ops->wait(device, &error) != GS_OK) {
            gs_log(GS_LOG_INFO, "a plan is kept though the cache is full: %s", error.text);
            pthread_mutex_lock(&cache->lock);
            insert(cache, e);
            pthread_mutex_unlock(&cache->lock);
            return;
        }
        entry_free(e);
    }
}

static gs_status make(gs_context *context, entry *e)
{
    gs_plan_cache *const cache = context->cache;
    gs_plan *plan = NULL;
    const gs_status status = e->unaligned ? gs_plan_create_unaligned(context, &e->problem, &plan, &e->error) : gs_plan_create_on(context, &e->problem, e->stream, &plan, &e->error);
    if (plan) plan->via = "gs_gemm";
    pthread_mutex_lock(&cache->lock);
    e->plan = plan;
    e->status = status;
    e->made = true;
    if (status != GS_OK) take_out(cache, e);   /* the next call tries again */
    pthread_cond_broadcast(&cache->made);
    pthread_mutex_unlock(&cache->lock);
    drop_surplus(context);
    return status;
}

static entry *entry_new(const gs_problem *problem, uint64_t hash, bool unaligned, gs_stream stream)
{
    entry *const e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->problem = *problem;
    e->hash = hash;
    e->unaligned = unaligned;
    e->stream = stream;
    pthread_mutex_init(&e->launching, NULL);
    return e;
}

/* A failed entry is already out of the table; its last user frees it. */
static void leave(gs_plan_cache *cache, entry *e)
{
    if (e->status == GS_OK) {
        atomic_fetch_sub_explicit(&e->users, 1, memory_order_release);
        return;
    }
    pthread_mutex_lock(&cache->lock);
    const bool last = atomic_fetch_sub(&e->users, 1) == 1;
    pthread_mutex_unlock(&cache->lock);
    if (last) entry_free(e);
}

/* The entry for the problem, with its plan made and its use counted; call leave() in any case. NULL: no memory. */
static entry *enter(gs_context *context, const gs_problem *problem, bool unaligned, gs_stream stream)
{
    gs_plan_cache *const cache = context->cache;
    const uint64_t hash = hash_of(problem, unaligned);
    pthread_mutex_lock(&cache->lock);
    entry *e = find(cache, hash, problem, unaligned, stream);
    while (e && !e->made) {
        atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
        while (!e->made) pthread_cond_wait(&cache->made, &cache->lock);
        if (e->status != GS_OK) {
            pthread_mutex_unlock(&cache->lock);
            return e;
        }
        atomic_fetch_sub_explicit(&e->users, 1, memory_order_relaxed);
        e = find(cache, hash, problem, unaligned, stream);
    }
    const bool ours = !e;
    if (ours && (e = entry_new(problem, hash, unaligned, stream)) != NULL) insert(cache, e);
    if (e) {
        atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
        if (cache->newest != e) {
            unlink_use(cache, e);
            link_newest(cache, e);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    if (ours && e) make(context, e);
    return e;
}

/* ---- the call ---- */

/* The arguments' alpha and beta, else those of the problem of this call: the plan may have been made for a problem with others. */
static gs_status run(entry *e, const gs_problem *problem, const gs_args *args, gs_stream stream)
{
    const gs_problem *const planned = &e->plan->problem;
    gs_args with;
    const bool other = (!args->alpha && problem->alpha != planned->alpha) || (!args->beta && problem->beta != planned->beta);
    if (other && problem->scalars == GS_SCALARS_HOST) {
        gs_sized_copy(&with, args, sizeof with);
        if (!with.alpha) with.alpha = &problem->alpha;
        if (!with.beta) with.beta = &problem->beta;
        args = &with;
    }
    const bool alone = e->plan->workspace_bytes > 0;
    if (alone) pthread_mutex_lock(&e->launching);
    const gs_status status = gs_plan_run(e->plan, args, stream);
    if (alone) pthread_mutex_unlock(&e->launching);
    return status;
}

static gs_status run_cached(gs_context *context, const gs_problem *problem, bool unaligned, const gs_args *args, gs_stream stream, gs_error *error)
{
    entry *const e = enter(context, problem, unaligned, stream);
    if (!e) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a plan");
    const gs_status status = e->status == GS_OK ? run(e, problem, args, stream) : e->status;
    if (e->status != GS_OK && error) *error = e->error;
    if (e->status == GS_OK && status != GS_OK && (unaligned || status != GS_ERROR_ALIGNMENT)) gs_plan_check(e->plan, args, error);   /* names the argument at fault, if any */
    leave(context->cache, e);
    return status;
}

/* Whether a struct needs the full check: another version's size, a reserved field set, or a feature that few problems use. */
static inline bool unusual(uint32_t size, size_t known, uint64_t flags) { return size != known || flags != 0; }

gs_status gs_gemm(gs_context *context, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_error *error)
{
    gs_problem own;
    if (!context || !problem || !args) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "context, problem and args must not be NULL");
    if (unusual(problem->size, sizeof *problem, gs_problem_wants(problem) | problem->grouping | problem->reserved[0])) {
        GS_TRY(gs_problem_check(problem, error));
        gs_sized_copy(&own, problem, sizeof own);
        problem = &own;
    }
    if (unusual(args->size, sizeof *args, args->reserved_flags | args->reserved[0])) {
        if (args->reserved_flags) return gs_fail(error, GS_ERROR_UNSUPPORTED, "reserved", "gs_args has a reserved field that is not zero; start from gs_args_make");
        GS_TRY(gs_sized_check(args, offsetof(gs_args, reserved), sizeof *args, "gs_args", "gs_args_make", error));
    }
    gs_status status = run_cached(context, problem, false, args, stream, error);
    if (status == GS_ERROR_ALIGNMENT) status = run_cached(context, problem, true, args, stream, error);
    if (status != GS_OK && error && error->status != status) gs_fail(error, status, NULL, "%s: GEMMSMITH_LOG=2 prints what is known of it", gs_status_string(status));
    return status;
}

/* SPDX-License-Identifier: MIT
 * Contexts: a device, the tuned tables for it, and the plans that gs_gemm keeps. */
#include "plan/plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

gs_config gs_config_default(void) { return (gs_config){.use_library = 1, .use_own = 1}; }

/* A table that is missing is no error; one that cannot be read is reported and the others still count. */
static void load_table(gs_context *context, const char *path)
{
    gs_error error = {0};
    int skipped = 0;
    const gs_status status = gs_table_load(context->table, path, &context->device->caps, &skipped, &error);
    char line[512];
    if (status != GS_OK && status != GS_ERROR_NOT_FOUND) gs_log(GS_LOG_ERROR, "%s", gs_error_format(&error, line, sizeof line));
    if (status == GS_OK && skipped > 0) gs_log(GS_LOG_WARNING, "%s: %d rows skipped; the first: %s", path, skipped, gs_error_format(&error, line, sizeof line));
}

/* Later tables override earlier ones: installed, then the user's. */
static void load_tables(gs_context *context, const char *path)
{
    const char *const environment = getenv("GEMMSMITH_TUNED");
    if (!path || !*path) path = environment;
    if (path && *path) {
        load_table(context, path);
        return;
    }
    load_table(context, GS_DATA_DIR "/tuned");
    char user[GS_PATH];
    if (gs_user_path(user, 'd', NULL, "tuned")) load_table(context, user);
}

gs_status gs_open(gs_context **out, const gs_config *config, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    *out = NULL;
    gs_context *context = calloc(1, sizeof *context);
    if (!context) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a context");
    context->config = config ? *config : gs_config_default();
    pthread_mutex_init(&context->lock, NULL);
    gs_status status = gs_device_open(&context->device, context->config.device, context->config.cache_path, error);
    if (status == GS_OK) status = gs_table_create(&context->table);
    if (status == GS_OK) load_tables(context, context->config.tuned_path);
    context->config.device = context->config.tuned_path = context->config.cache_path = NULL;
    if (status != GS_OK) {
        gs_close(&context);
        return status;
    }
    *out = context;
    return GS_OK;
}

void gs_close(gs_context **context)
{
    if (!context || !*context) return;
    gs_context *const c = *context;
    for (size_t i = 0; i < c->cached_capacity; i++) gs_plan_destroy(&c->cached[i].plan);
    free(c->cached);
    gs_table_destroy(&c->table);
    gs_device_close(&c->device);
    pthread_mutex_destroy(&c->lock);
    free(c);
    *context = NULL;
}

/* ---- gs_gemm ---- */

static bool same_problem(const gs_problem *x, const gs_problem *y)
{
    return x->in == y->in && x->acc == y->acc && x->out == y->out && x->layout == y->layout && x->m == y->m && x->n == y->n && x->k == y->k &&
           x->lda == y->lda && x->ldb == y->ldb && x->ldc == y->ldc && x->ldd == y->ldd && x->batch == y->batch && x->alpha == y->alpha &&
           x->beta == y->beta && x->epilogue == y->epilogue;
}

static uint64_t hash_problem(const gs_problem *p, bool unaligned)
{
    const int64_t key[] = {p->in, p->acc, p->out, p->layout, p->m, p->n, p->k, p->lda, p->ldb, p->ldc, p->ldd, p->batch, p->epilogue, unaligned};
    const float scalars[] = {p->alpha, p->beta};
    return (gs_hash64(key, sizeof key) ^ gs_hash64(scalars, sizeof scalars)) | 1;
}

/* The entry of that problem, or the free one where it belongs. The table always has a free entry. */
static gs_cached_plan *slot_of(gs_cached_plan *table, size_t capacity, const gs_problem *problem, uint64_t hash, bool unaligned)
{
    size_t i = hash & (capacity - 1);
    while (table[i].hash && !(table[i].hash == hash && table[i].unaligned == unaligned && same_problem(&table[i].plan->problem, problem))) i = (i + 1) & (capacity - 1);
    return &table[i];
}

static gs_status grow(gs_context *context, gs_error *error)
{
    if (context->cached_count * 2 < context->cached_capacity) return GS_OK;
    const size_t capacity = context->cached_capacity ? context->cached_capacity * 2 : 64;
    gs_cached_plan *const table = calloc(capacity, sizeof *table);
    if (!table) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu plans", capacity);
    for (size_t i = 0; i < context->cached_capacity; i++) {
        const gs_cached_plan *const old = &context->cached[i];
        if (old->hash) *slot_of(table, capacity, &old->plan->problem, old->hash, old->unaligned) = *old;
    }
    free(context->cached);
    context->cached = table;
    context->cached_capacity = capacity;
    return GS_OK;
}

static gs_status cached_plan(gs_context *context, const gs_problem *problem, bool unaligned, gs_plan **plan, gs_error *error)
{
    GS_TRY(grow(context, error));
    const uint64_t hash = hash_problem(problem, unaligned);
    gs_cached_plan *const slot = slot_of(context->cached, context->cached_capacity, problem, hash, unaligned);
    if (!slot->hash) {
        gs_plan *created;
        GS_TRY(unaligned ? gs_plan_create_unaligned(context, problem, &created, error) : gs_plan_create(context, problem, &created, error));
        *slot = (gs_cached_plan){.hash = hash, .unaligned = unaligned, .plan = created};
        context->cached_count++;
    }
    *plan = slot->plan;
    return GS_OK;
}

gs_status gs_gemm(gs_context *context, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_error *error)
{
    if (!context || !problem || !args) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "context, problem and args must not be NULL");
    pthread_mutex_lock(&context->lock);
    gs_plan *plan;
    gs_status status = cached_plan(context, problem, false, &plan, error);
    if (status == GS_OK) status = gs_plan_run(plan, args, stream);
    if (status == GS_ERROR_ALIGNMENT) {
        status = cached_plan(context, problem, true, &plan, error);
        if (status == GS_OK) status = gs_plan_run(plan, args, stream);
    }
    pthread_mutex_unlock(&context->lock);
    if (status != GS_OK && error && error->status != status) gs_fail(error, status, NULL, "the multiplication could not be started");
    return status;
}

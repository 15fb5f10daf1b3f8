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

/* Rows that cannot be read are skipped and reported. */
static gs_status load_table(gs_context *context, const char *path, gs_error *error)
{
    int skipped = 0;
    char line[512];
    const gs_status status = gs_table_load(context->table, path, &context->device->caps, &skipped, error);
    if (status == GS_OK && skipped > 0) gs_log(GS_LOG_WARNING, "%s: %d rows skipped; the first: %s", path, skipped, gs_error_format(error, line, sizeof line));
    return status;
}

/* One that was asked for by name: without it a program would run untuned and nobody would notice. */
static gs_status load_named(gs_context *context, const char *by, const char *path, gs_error *error)
{
    gs_error why = {0};
    const gs_status status = load_table(context, path, &why);
    if (status == GS_OK) return GS_OK;
    /* what is wrong in a file is no wrong argument */
    return gs_fail(error, status == GS_ERROR_PARSE ? GS_ERROR_CORRUPT : status, NULL, "%s: %.380s", by, why.text);
}

/* One that is missing is no error; one that cannot be read is reported and the others still count. */
static void load_usual(gs_context *context, const char *path)
{
    gs_error error = {0};
    char line[512];
    const gs_status status = load_table(context, path, &error);
    if (status != GS_OK && status != GS_ERROR_NOT_FOUND) gs_log(GS_LOG_ERROR, "%s", gs_error_format(&error, line, sizeof line));
}

/* Later tables override earlier ones: installed, then the user's. */
static gs_status load_tables(gs_context *context, const char *path, gs_error *error)
{
    const char *const environment = getenv("GEMMSMITH_TUNED");
    if (path && *path) return load_named(context, "tuned_path", path, error);
    if (environment && *environment) return load_named(context, "GEMMSMITH_TUNED", environment, error);
    load_usual(context, GS_DATA_DIR "/tuned");
    char user[GS_PATH];
    if (gs_user_path(user, 'd', NULL, "tuned")) load_usual(context, user);
    return GS_OK;
}

/* Weights that cannot be read are logged: the time model does without. */
static void load_weights(gs_context *context)
{
    const char *const path = gs_weights_path_for(&context->device->caps);
    gs_error error;
    char line[512];
    if (!path || gs_weights_load(&context->weights, path, &error) == GS_OK) return;
    context->weights = (gs_weights){0};
    gs_log(GS_LOG_ERROR, "%s: %s", path, gs_error_format(&error, line, sizeof line));
}

static gs_status open_device(gs_context *context, gs_error *error)
{
    const char *name = context->config.device;
    bool dependent = context->config.dependent > 0;
    if (context->config.dependent == 0) GS_TRY(gs_device_dependent(&dependent, error));
    if (!name || !*name) GS_TRY(gs_device_for_library(&name, error));
    GS_TRY(gs_device_open(&context->device, name, context->config.cache_path, error));
    context->device->dependent = dependent;
    return GS_OK;
}

gs_status gs_open(gs_context **out, const gs_config *config, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    *out = NULL;
    gs_context *context = calloc(1, sizeof *context);
    if (!context) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a context");
    context->config = config ? *config : gs_config_default();
    pthread_mutex_init(&context->lock, NULL);
    gs_status status = open_device(context, error);
    if (status == GS_OK) status = gs_table_create(&context->table);
    if (status == GS_OK) status = load_tables(context, context->config.tuned_path, error);
    if (status == GS_OK) load_weights(context);
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
    gs_weights_free(&c->weights);
    gs_device_close(&c->device);
    pthread_mutex_destroy(&c->lock);
    free(c);
    *context = NULL;
}

/* ---- gs_gemm ---- */

/* One plan serves every alpha and beta, as long as C is read or is not; cuBLAS with f16 accumulation takes its scalars as f16,
 * which not every value fits, so there they count. */
static bool same_problem(const gs_problem *x, const gs_problem *y)
{
    if (x->acc == GS_F16 && (x->alpha != y->alpha || x->beta != y->beta)) return false;
    return x->in == y->in && x->acc == y->acc && x->out == y->out && x->layout == y->layout && x->m == y->m && x->n == y->n && x->k == y->k &&
           x->lda == y->lda && x->ldb == y->ldb && x->ldc == y->ldc && x->ldd == y->ldd && x->batch == y->batch &&
           (x->beta != 0) == (y->beta != 0) && x->epilogue == y->epilogue;
}

static uint64_t hash_problem(const gs_problem *p, bool unaligned)
{
    const int64_t key[] = {p->in,  p->acc, p->out, p->layout, p->m,     p->n,        p->k,     p->lda,
                           p->ldb, p->ldc, p->ldd, p->batch,  p->beta != 0, p->epilogue, unaligned};
    return gs_hash64(key, sizeof key) | 1;
}

/* The entry of that problem, or the free one where it belongs. The table always has a free entry. */
static gs_cached_plan *slot_of(gs_cached_plan *table, size_t capacity, const gs_problem *problem, const gs_cached_plan *wanted)
{
    size_t i = wanted->hash & (capacity - 1);
    for (; table[i].hash; i = (i + 1) & (capacity - 1)) {
        const gs_cached_plan *const have = &table[i];
        if (have->hash == wanted->hash && have->unaligned == wanted->unaligned && same_problem(&have->plan->problem, problem) &&
            (have->stream == wanted->stream || have->plan->workspace_bytes == 0))
            break;
    }
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
        if (old->hash) *slot_of(table, capacity, &old->plan->problem, old) = *old;
    }
    free(context->cached);
    context->cached = table;
    context->cached_capacity = capacity;
    return GS_OK;
}

static gs_status cached_plan(gs_context *context, const gs_problem *problem, bool unaligned, gs_stream stream, gs_plan **plan, gs_error *error)
{
    GS_TRY(grow(context, error));
    gs_cached_plan wanted = {.hash = hash_problem(problem, unaligned), .unaligned = unaligned, .stream = stream};
    gs_cached_plan *const slot = slot_of(context->cached, context->cached_capacity, problem, &wanted);
    if (!slot->hash) {
        GS_TRY(unaligned ? gs_plan_create_unaligned(context, problem, &wanted.plan, error) : gs_plan_create(context, problem, &wanted.plan, error));
        *slot = wanted;
        context->cached_count++;
    }
    *plan = slot->plan;
    if (problem->acc != GS_F16) gs_plan_set_scalars(slot->plan, problem->alpha, problem->beta);
    return GS_OK;
}

/* The same for pointers as aligned as its plan needs; a call like the one before is spared the look-up. */
static gs_status recent_plan(gs_context *context, const gs_problem *problem, gs_stream stream, gs_plan **plan, gs_error *error)
{
    *plan = context->recent;
    if (*plan && memcmp(problem, &context->recent_problem, sizeof *problem) == 0 && (stream == context->recent_stream || (*plan)->workspace_bytes == 0))
        return GS_OK;
    context->recent = NULL;
    GS_TRY(cached_plan(context, problem, false, stream, plan, error));
    context->recent = *plan;
    context->recent_problem = *problem;
    context->recent_stream = stream;
    return GS_OK;
}

gs_status gs_gemm(gs_context *context, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_error *error)
{
    if (!context || !problem || !args) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "context, problem and args must not be NULL");
    pthread_mutex_lock(&context->lock);
    gs_plan *plan;
    gs_status status = recent_plan(context, problem, stream, &plan, error);
    if (status == GS_OK) status = gs_plan_run(plan, args, stream);
    if (status == GS_ERROR_ALIGNMENT) {
        status = cached_plan(context, problem, true, stream, &plan, error);
        if (status == GS_OK) status = gs_plan_run(plan, args, stream);
    }
    pthread_mutex_unlock(&context->lock);
    if (status != GS_OK && error && error->status != status) gs_fail(error, status, NULL, "the multiplication could not be started");
    return status;
}

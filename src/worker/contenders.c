/* SPDX-License-Identifier: MIT */
#include "worker/contenders.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "baseline/baseline.h"
#include "bench/bench.h"
#include "problem/layout.h"

static bool is_user_kernel(const char *name) { return strncmp(name, GS_USER_KERNEL, strlen(GS_USER_KERNEL)) == 0; }

gs_status gs_contender_split(const char *text, const gs_problem *problem, gs_layout *layout, char name[GS_CONTENDER_NAME],
                             gs_error *error)
{
    const char *const colon = is_user_kernel(text) ? NULL : strchr(text, ':');
    const char *const rest = colon ? colon + 1 : text;
    *layout = problem->layout;
    if (colon && colon != text) {
        char word[3];
        snprintf(word, sizeof word, "%.*s", (int)GS_MIN(colon - text, 3), text);
        if (colon - text != 2 || !gs_layout_parse(word, layout) || gs_is_a_transposed(*layout) != gs_is_a_transposed(problem->layout))
            return gs_fail(error, GS_ERROR_PARSE, "contender", "%.80s: the layout before ':' is %s or nothing", text, gs_is_a_transposed(problem->layout) ? "nt, tt" : "nn, tn");
    }
    if (!*rest || strlen(rest) >= GS_CONTENDER_NAME)
        return gs_fail(error, GS_ERROR_PARSE, "contender", "%.80s: a name of 1 to %d characters is needed", text,
                       GS_CONTENDER_NAME - 1);
    memcpy(name, rest, strlen(rest) + 1);
    return GS_OK;
}

/* ---- "plan", "measured": what the library would choose; the same by a race on the device, as with $GEMMSMITH_MEASURE ---- */

typedef struct planned {
    gs_context *context;   /* borrowed */
    gs_plan    *plan;
} planned;

static gs_status plan_prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    planned *const self = contender->self;
    gs_plan_destroy(&self->plan);
    GS_TRY(gs_plan_create(self->context, problem, &self->plan, error));
    snprintf(contender->detail, sizeof contender->detail, "%s", gs_plan_why(self->plan));
    contender->cublaslt = strncmp(gs_plan_schedule(self->plan), "cublaslt", strlen("cublaslt")) == 0;
    for (int i = 0; i < GS_OPERANDS; i++) contender->align[i] = (int)gs_plan_alignment(self->plan, GS_OPERAND_LETTERS[i]);
    return GS_OK;
}

static gs_status plan_run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    planned *const self = contender->self;
    gs_args own = *args;
    own.size = (uint32_t)sizeof own;   /* args come from this version of the library */
    const gs_status status = gs_plan_run(self->plan, &own, (gs_stream)queue);
    return status == GS_OK ? GS_OK : gs_fail(error, status, NULL, "the plan could not be run: %s", gs_status_string(status));
}

static void plan_destroy(gs_contender *contender)
{
    planned *const self = contender->self;
    if (self) gs_plan_destroy(&self->plan);
    free(self);
    contender->self = NULL;
}

static gs_status plan_contender(gs_contenders *cache, gs_contender *out, bool measured, gs_error *error)
{
    gs_context **const context = measured ? &cache->measuring : &cache->context;
    if (!*context) {
        gs_config config = gs_config_default();
        config.device = cache->device->name;
        config.dependent = cache->device->dependent ? 2 : -1;   /* where it was measured to win */
        config.measure = measured ? 1 : -1;
        if (measured) {
            config.measure_total_ms = INT_MAX;
            config.workspace_limit = GS_NO_LIMIT - 1;   /* keeps the winner out of the user's table, where "plan" must not find it */
        }
        GS_TRY(gs_open(context, &config, error));
    }
    planned *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    self->context = *context;
    *out = (gs_contender){.rounds_products = true, .self = self, .prepare = plan_prepare, .run = plan_run, .destroy = plan_destroy};
    snprintf(out->name, sizeof out->name, "%s", measured ? "measured" : "plan");
    return GS_OK;
}

gs_status gs_contender_named(gs_contenders *cache, gs_contender *out, const char *name, gs_error *error)
{
    *out = (gs_contender){0};
    if (strcmp(name, "plan") == 0 || strcmp(name, "measured") == 0) return plan_contender(cache, out, *name == 'm', error);
    for (int i = 0; i < GS_BASELINES; i++)
        if (strcmp(name, gs_baseline_names[i]) == 0) return gs_baseline_create(out, cache->device, name, gs_bench_pick, error);
    if (!is_user_kernel(name)) return gs_contender_schedule(out, cache->device, name, error);
    if (strcmp(name, cache->user.name) != 0) return gs_fail(error, GS_ERROR_NOT_FOUND, "contender", "%.80s: the request does not bring it", name);
    return gs_contender_kernel(out, cache->device, name, &cache->user.kernel, error);
}

/* ---- the cache ---- */

static void drop(gs_prepared *entry)
{
    if (entry->contender.destroy) entry->contender.destroy(&entry->contender);
    free(entry);
}

static void drop_all(gs_contenders *cache)
{
    for (int i = 0; i < cache->count; i++) drop(cache->entry[i]);
    cache->count = 0;
}

static int by_use(const void *x, const void *y)
{
    const gs_prepared *const a = *(gs_prepared *const *)x, *const b = *(gs_prepared *const *)y;
    return (a->used < b->used) - (a->used > b->used);
}

/* When the problem changes: keeps only the tuned cuBLASLt that were used last. */
static void drop_most(gs_contenders *cache)
{
    int kept = 0;
    qsort(cache->entry, (size_t)cache->count, sizeof(gs_prepared *), by_use);
    for (int i = 0; i < cache->count; i++) {
        gs_prepared *const entry = cache->entry[i];
        if (kept < GS_PREPARED_KEPT && entry->status == GS_OK && strcmp(entry->name, "cublaslt-autotuning") == 0) cache->entry[kept++] = entry;
        else drop(entry);
    }
    cache->count = kept;
}

/* ---- the user kernel ---- */

/* Also drops the entries of such a name, also of requests for one that was not there. */
void gs_contenders_forget_user_kernel(gs_contenders *cache)
{
    gs_user_kernel *const f = &cache->user;
    for (int i = cache->count - 1; i >= 0; i--) {
        if (!is_user_kernel(cache->entry[i]->name)) continue;
        drop(cache->entry[i]);
        cache->entry[i] = cache->entry[--cache->count];
    }
    free(f->source);
    free(f->manifest);
    *f = (gs_user_kernel){0};
}

gs_status gs_contenders_user_kernel(gs_contenders *cache, const char *name, const char *source, const char *manifest, gs_error *error)
{
    gs_user_kernel *const f = &cache->user;
    if (f->name[0] && strcmp(f->name, name) == 0 && strcmp(f->source, source) == 0 && strcmp(f->manifest, manifest) == 0) return GS_OK;
    gs_contenders_forget_user_kernel(cache);
    if (!is_user_kernel(name) || strlen(name) >= sizeof f->name)
        return gs_fail(error, GS_ERROR_PARSE, "kernel", "%.80s: a name begins with " GS_USER_KERNEL " and has less than %d characters", name, GS_CONTENDER_NAME);
    GS_TRY(gs_manifest_parse(&f->kernel.manifest, manifest, error));
    f->source = strdup(source);
    f->manifest = strdup(manifest);
    if (!f->source || !f->manifest) {
        gs_contenders_forget_user_kernel(cache);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel");
    }
    memcpy(f->name, name, strlen(name) + 1);
    f->kernel.name = "candidate.cu";
    f->kernel.source = f->source;
    return GS_OK;
}

/* ---- requests ---- */

void gs_contenders_begin(gs_contenders *cache, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, cache->base) != 0) drop_most(cache);
    snprintf(cache->base, sizeof cache->base, "%s", text);
    cache->request++;
}

/* Makes room for one entry: drops the least recently used one, but none of this request. */
static gs_status make_room(gs_contenders *cache, gs_error *error)
{
    if (cache->count < GS_PREPARED) return GS_OK;
    int oldest = 0;
    for (int i = 1; i < cache->count; i++)
        if (cache->entry[i]->used < cache->entry[oldest]->used) oldest = i;
    if (cache->entry[oldest]->used == cache->request)
        return gs_fail(error, GS_ERROR_RANGE, "contenders", "more than %d contenders in one request", GS_PREPARED);
    drop(cache->entry[oldest]);
    cache->entry[oldest] = cache->entry[--cache->count];
    return GS_OK;
}

gs_status gs_contenders_get(gs_contenders *cache, const char *text, const gs_problem *problem, gs_prepared **out, gs_error *error)
{
    gs_layout layout;
    char name[GS_CONTENDER_NAME];
    GS_TRY(gs_contender_split(text, problem, &layout, name, error));
    for (int i = 0; i < cache->count; i++) {
        gs_prepared *const entry = cache->entry[i];
        if (entry->layout != layout || strcmp(entry->name, name) != 0 || strcmp(entry->base, cache->base) != 0) continue;
        entry->used = cache->request;
        *out = entry;
        return GS_OK;
    }
    GS_TRY(make_room(cache, error));
    gs_prepared *const entry = calloc(1, sizeof *entry);
    if (!entry) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    entry->layout = layout;
    entry->problem = gs_problem_in_layout(problem, layout);
    entry->used = cache->request;
    memcpy(entry->name, name, sizeof name);
    memcpy(entry->base, cache->base, sizeof cache->base);
    entry->status = gs_contender_named(cache, &entry->contender, name, &entry->error);
    if (entry->status == GS_OK) entry->status = entry->contender.prepare(&entry->contender, &entry->problem, &entry->error);
    cache->entry[cache->count++] = entry;
    *out = entry;
    return GS_OK;
}

void gs_contenders_clear(gs_contenders *cache)
{
    drop_all(cache);
    gs_contenders_forget_user_kernel(cache);
    gs_close(&cache->context);
    gs_close(&cache->measuring);
    cache->base[0] = '\0';
}

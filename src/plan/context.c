/* SPDX-License-Identifier: MIT
 * Contexts: a device and the tuned tables for it. */
#include "plan/made.h"
#include "plan/plan_internal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/log.h"
#include "problem/sized.h"

void gs_config_init(gs_config *config, size_t size)
{
    const gs_config made = {.size = (uint32_t)size, .use_cublaslt = 1, .use_ours = 1, .workspace_limit = GS_NO_LIMIT, .cached_plans = 256, .log_level = GS_LOG_WARNING};
    memset(config, 0, size);
    memcpy(config, &made, GS_MIN(size, sizeof made));
}

/* Logs a defect that the context works around, and keeps the first one for gs_context_status. */
static void do_without(gs_context *context, int level, const char *what, const gs_error *why)
{
    char line[512];
    gs_log(level, "%s%s", what, gs_error_format(why, line, sizeof line));
    if (context->lost.status == GS_OK) gs_fail_at(&context->lost, why->status == GS_ERROR_PARSE ? GS_ERROR_CORRUPT : why->status, why->column, why->field, "%.120s%.250s", what, why->text);
}

/* Rows that cannot be read are skipped and reported; rows that were edited by hand are used and reported. */
static gs_status load_table(gs_context *context, const char *path, gs_error *error)
{
    int skipped = 0;
    char what[GS_PATH + 64] = "";
    const gs_status status = gs_table_load(context->table, path, &context->device->caps, &skipped, error);
    if (skipped > 1 || error->status != GS_ERROR_CORRUPT)
        snprintf(what, sizeof what, "%s: %d row%s skipped; the first: ", path, skipped, skipped == 1 ? "" : "s");
    if (status == GS_OK && skipped > 0) do_without(context, GS_LOG_WARNING, what, error);
    return status;
}

/* A table that was asked for by name must load: otherwise a program would run untuned without anyone noticing. */
static gs_status load_named(gs_context *context, const char *by, const char *path, gs_error *error)
{
    gs_error why = {0};
    const gs_status status = load_table(context, path, &why);
    if (status == GS_OK) return GS_OK;
    /* a fault in the file is not a fault of the argument, so not PARSE */
    return gs_fail(error, status == GS_ERROR_PARSE ? GS_ERROR_CORRUPT : status, NULL, "%s: %.380s", by, why.text);
}

/* A table in its usual place: a missing one is no error; an unreadable one is reported, and the others are still used. */
static void load_usual(gs_context *context, const char *path)
{
    gs_error error = {0};
    const gs_status status = load_table(context, path, &error);
    if (status != GS_OK && status != GS_ERROR_NOT_FOUND) do_without(context, GS_LOG_ERROR, "", &error);
}

/* Later tables override earlier ones: installed, then the user's. */
static gs_status load_tables(gs_context *context, const char *path, gs_error *error)
{
    const char *const environment = getenv("GEMMSMITH_TUNED");
    if (path && *path) return load_named(context, "tuned_path", path, error);
    if (environment && *environment) return load_named(context, "GEMMSMITH_TUNED", environment, error);
    char installed[GS_PATH], user[GS_PATH];
    if (snprintf(installed, sizeof installed, "%s/tuned", gs_installed_folder()) < (int)sizeof installed) load_usual(context, installed);
    if (gs_user_path(user, 'd', NULL, "tuned")) load_usual(context, user);
    return GS_OK;
}

/* A pack that cannot be used is reported; plans are then made without it. */
static void load_pack(gs_context *context, const char *path)
{
    gs_error error = {0};
    gs_pack *pack = NULL;
    gs_status status = gs_pack_open(&pack, path, &error);
    if (status == GS_OK) status = gs_pack_fits(pack, &context->device->caps, &error);
    if (status == GS_OK && context->pack_count == GS_PACKS) status = gs_fail(&error, GS_ERROR_RANGE, "pack_path", "%.200s is one pack too many: %d are possible", path, GS_PACKS);
    if (status == GS_OK) {
        context->pack[context->pack_count++] = pack;
        return;
    }
    gs_pack_close(&pack);
    do_without(context, GS_LOG_WARNING, "pack not used: ", &error);
}

static void load_packs(gs_context *context, const char *paths)
{
    if (!paths || !*paths) paths = getenv("GEMMSMITH_PACK");
    for (const char *at = paths; at && *at;) {
        char path[GS_PATH];
        const size_t length = strcspn(at, ":");
        if (length > 0 && length < sizeof path) {
            snprintf(path, sizeof path, "%.*s", (int)length, at);
            load_pack(context, path);
        } else if (length > 0) {
            gs_error error = {0};
            gs_fail(&error, GS_ERROR_RANGE, "pack_path", "%.40s... is a path of %zu bytes: at most %zu are possible", at, length, sizeof path - 1);
            do_without(context, GS_LOG_WARNING, "pack not used: ", &error);
        }
        at += length + (at[length] == ':');
    }
}

/* Weights that cannot be read are reported; the time model is then used instead. */
static void load_weights(gs_context *context)
{
    const char *const path = gs_weights_path_for(&context->device->caps);
    gs_error error;
    if (!path || gs_weights_load_used(&context->weights, path, &error) == GS_OK) return;
    context->weights = (gs_weights){0};
    do_without(context, GS_LOG_ERROR, "", &error);
}

const gs_row *gs_context_row(const gs_context *context, const gs_problem *problem) { return gs_table_find(context->table, problem); }
const gs_caps *gs_context_caps(const gs_context *context) { return &context->device->caps; }
const gs_table *gs_context_table(const gs_context *context) { return context->table; }

gs_status gs_context_status(const gs_context *context, gs_error *error)
{
    if (!context) return gs_fail(error, GS_ERROR_ARGUMENT, "context", "must not be NULL");
    if (error) *error = context->lost;
    return context->lost.status;
}

/* $GEMMSMITH_COMPILE: whether plans may compile. PARSE. */
static gs_status may_compile(bool *may, gs_error *error)
{
    const char *const text = getenv("GEMMSMITH_COMPILE");
    *may = !text || !*text || strcmp(text, "on") == 0;
    if (*may || strcmp(text, "off") == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_PARSE, "GEMMSMITH_COMPILE", "\"%.32s\" is neither on nor off", text);
}

static gs_status open_device(gs_context *context, gs_error *error)
{
    const char *name = context->config.device;
    int dependent = context->config.dependent;
    bool compiles;
    if (dependent == 0) GS_TRY(gs_device_dependent(&dependent, error));
    GS_TRY(may_compile(&compiles, error));
    if (!context->device) {
        if (!name || !*name) GS_TRY(gs_device_for_library(&name, error));
        GS_TRY(gs_device_open(&context->device, name, context->config.cache_path, error));
    }
    context->device->dependent = dependent == 1;
    context->chains = dependent >= 0 && gs_device_is_programmatic(context->device);
    context->joins = context->chains && dependent != 1;   /* otherwise every launch that can be dependent is so anyway */
    context->device->kept_only = !compiles;
    return GS_OK;
}

static gs_status take_config(gs_context *context, const gs_config *config, gs_error *error)
{
    context->config = gs_config_default();
    if (!config) return GS_OK;
    GS_TRY(gs_sized_check(config, offsetof(gs_config, reserved), sizeof *config, "gs_config", "gs_config_default", error));
    if (config->dependent < -1 || config->dependent > 2) return gs_fail(error, GS_ERROR_ARGUMENT, "dependent", "must be -1, 0, 1 or 2");
    if (config->measure < -1 || config->measure > 1) return gs_fail(error, GS_ERROR_ARGUMENT, "measure", "must be -1, 0 or 1");
    if (config->measure_ms < 0 || config->measure_total_ms < 0)
        return gs_fail(error, GS_ERROR_ARGUMENT, config->measure_ms < 0 ? "measure_ms" : "measure_total_ms", "must not be negative");
    if (config->cached_plans == 0) return gs_fail(error, GS_ERROR_ARGUMENT, "cached_plans", "must be at least 1");
    if (config->log && (config->log_level < GS_LOG_OFF || config->log_level > GS_LOG_DEBUG)) return gs_fail(error, GS_ERROR_ARGUMENT, "log_level", "must be from 0 to 4");
    gs_sized_copy(&context->config, config, sizeof context->config);
    return GS_OK;
}

gs_status gs_open(gs_context **out, const gs_config *config, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    const gs_status status = gs_context_open_on(out, config, NULL, error);
    if (status == GS_OK) (*out)->recorder = gs_recorder_of_environment();
    return status;
}

void gs_context_record(gs_context *context, gs_recorder *recorder) { context->recorder = recorder; }

gs_status gs_context_open_on(gs_context **out, const gs_config *config, gs_device *device, gs_error *error)
{
    *out = NULL;
    gs_context *context = calloc(1, sizeof *context);
    if (!context) {
        gs_device_close(&device);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a context");
    }
    context->device = device;
    pthread_mutex_init(&context->making, NULL);
    gs_status status = take_config(context, config, error);
    if (status == GS_OK && context->config.log) {
        gs_log_set_sink(context, context->config.log, context->config.log_self, context->config.log_level);
        context->logs = true;
    }
    if (status == GS_OK) status = open_device(context, error);
    if (status == GS_OK) status = gs_table_create(&context->table);
    if (status == GS_OK) status = gs_measurer_open(&context->measured, &context->config, &context->device->caps, error);
    if (status == GS_OK) status = load_tables(context, context->config.tuned_path, error);
    if (status == GS_OK) status = gs_plan_cache_create(&context->cache, context->config.cached_plans, error);
    if (status == GS_OK) load_packs(context, context->config.pack_path);
    if (status == GS_OK) load_weights(context);
    context->config.device = context->config.tuned_path = context->config.cache_path = context->config.pack_path = NULL;
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
    gs_plan_cache_destroy(&c->cache);
    gs_table_destroy(&c->table);
    gs_measurer_close(&c->measured);
    for (int i = 0; i < c->pack_count; i++) gs_pack_close(&c->pack[i]);
    gs_weights_free(&c->weights);
    gs_device_close(&c->device);
    if (c->logs) gs_log_drop_sink(c);
    pthread_mutex_destroy(&c->making);
    free(c);
    *context = NULL;
}

/* SPDX-License-Identifier: MIT
 * The entrants of a race, and what becomes of its winner: the plan, a row in the context's memory, a row in the user's table. */
#include "plan/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "plan/plan_internal.h"
#include "race/race.h"
#include <gemmsmith/gemmsmith.h>

enum {
    OWN        = 8,      /* most own kernels in a race */
    TRIED      = 12,     /* most kernels compiled for it */
    LOOKED_AT  = 32,     /* schedules requested from the weights or the time model */
    BEST       = 5,      /* how many of these are taken in order; after them, families that are not represented yet come first */
    SUGGESTED  = 8,      /* most suggestions of cuBLASLt */
    DEFAULT_MS = 100, DEFAULT_TOTAL_MS = 10000
};
_Static_assert(OWN + SUGGESTED <= GS_RACERS, "they all race");

/* One race at a time in a process: two would disturb each other's times. The lock also guards taken_us, the device time of all races so far. */
static pthread_mutex_t racing = PTHREAD_MUTEX_INITIALIZER;
static double          taken_us;

/* ---- settings and memory ---- */

static gs_status switched_on(int *measure, gs_error *error)
{
    const char *const text = getenv("GEMMSMITH_MEASURE");
    const bool on = text && strcmp(text, "on") == 0;
    *measure = on ? 1 : -1;
    if (on || !text || !*text || strcmp(text, "off") == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_PARSE, "GEMMSMITH_MEASURE", "\"%.32s\" is neither on nor off", text);
}

/* The table where this context would find a row again: the named file, the device's file in the named folder, or the user's table. */
static void choose_path(char path[GS_PATH], const char *named, const gs_caps *caps)
{
    char tail[128];
    struct stat status;
    snprintf(tail, sizeof tail, "tuned/%s.tuned", caps->slug);
    if (!named || !*named) named = getenv("GEMMSMITH_TUNED");
    bool there = true;
    if (!named || !*named)
        there = gs_user_path(path, 'd', NULL, tail);
    else if (stat(named, &status) == 0 && S_ISDIR(status.st_mode))
        there = snprintf(path, GS_PATH, "%s/%s.tuned", named, caps->slug) < GS_PATH;
    else
        there = snprintf(path, GS_PATH, "%s", named) < GS_PATH;
    if (!there) path[0] = '\0';
}

gs_status gs_measurer_open(gs_measurer *measured, gs_config *config, const gs_caps *caps, gs_error *error)
{
    if (config->measure == 0) GS_TRY(switched_on(&config->measure, error));
    if (config->measure_ms == 0) config->measure_ms = DEFAULT_MS;
    if (config->measure_total_ms == 0) config->measure_total_ms = DEFAULT_TOTAL_MS;
    choose_path(measured->path, config->tuned_path, caps);
    if (gs_table_create(&measured->rows) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    pthread_mutex_init(&measured->lock, NULL);
    return GS_OK;
}

void gs_measurer_close(gs_measurer *measured)
{
    if (!measured->rows) return;
    gs_table_destroy(&measured->rows);
    pthread_mutex_destroy(&measured->lock);
}

static bool remembered(gs_measurer *measured, const gs_problem *problem, gs_row *out)
{
    pthread_mutex_lock(&measured->lock);
    const gs_row *const row = gs_table_find(measured->rows, problem);
    if (row) *out = *row;
    pthread_mutex_unlock(&measured->lock);
    return row != NULL;
}

/* The row is kept in memory first: if the disk is full or the home directory is read-only, this process still has it and logs the failure. A result that was measured
 * with restricted choices is not written for other processes. */
static void remember(gs_context *context, const gs_row *row, bool replace)
{
    gs_measurer *const measured = &context->measured;
    const gs_config *const config = &context->config;
    gs_error error = {0};
    char line[512];
    pthread_mutex_lock(&measured->lock);
    gs_table_put(measured->rows, row);
    pthread_mutex_unlock(&measured->lock);
    if (!measured->path[0] || !config->use_ours || !config->use_cublaslt || config->workspace_limit != GS_NO_LIMIT) return;
    gs_row written = *row;
    if (row->library) written.ratio = written.low = written.high = 1;
    const gs_status status = gs_table_keep(measured->path, &written, !replace, &error);
    if (status == GS_OK) return;
    pthread_mutex_lock(&measured->lock);
    const bool told = measured->told;
    measured->told = true;
    pthread_mutex_unlock(&measured->lock);
    gs_log(told ? GS_LOG_INFO : GS_LOG_WARNING, "what was measured is kept for this process only: %s", gs_error_format(&error, line, sizeof line));
}

/* ---- who takes part ---- */

static bool is_among(const gs_schedule *schedule, const gs_schedule *list, int count, bool family)
{
    char wanted[GS_SCHEDULE_TEXT], have[GS_SCHEDULE_TEXT];
    gs_schedule_format(schedule, wanted);
    for (int i = 0; i < count; i++)
        if (family ? list[i].family == schedule->family : strcmp(gs_schedule_format(&list[i], have), wanted) == 0) return true;
    return false;
}

/* The nearest row's schedule, then the best choices, then the first choice of each family not yet in the list, then the rest. */
static int own_choices(const gs_context *context, const gs_plan *plan, const gs_row *near, gs_schedule list[LOOKED_AT + 1])
{
    const gs_problem *const problem = &plan->problem;
    const gs_caps *const caps = &plan->device->caps;
    gs_schedule all[LOOKED_AT];
    int count = 0;
    if (near && !near->library && gs_schedule_check(&near->schedule, problem, caps, NULL) == GS_OK) list[count++] = near->schedule;
    const int found = context->weights.surrogate.nets > 0 ? gs_weights_choose(&context->weights, problem, caps, 0, all, LOOKED_AT)
                                                               : gs_schedule_shortlist(problem, caps, 0, all, LOOKED_AT);
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < (pass == 0 ? GS_MIN(found, BEST) : found); i++)
            if (!is_among(&all[i], list, count, pass == 1)) list[count++] = all[i];
    return count;
}

typedef struct entrants {
    gs_racer racer[GS_RACERS];
    gs_plan *plan[GS_RACERS];        /* complete plans: the winner becomes the caller's */
    int      suggestion[GS_RACERS];  /* of cuBLASLt, from 1; 0: own */
    gs_schedule schedule[GS_RACERS]; /* own */
    int      count, own, suggested;
    int      asked, of_library;      /* suggestions tried so far, and how many there are; -1: not known yet */
} entrants;

static gs_status run_plan(void *self, const gs_args *args, gs_queue queue, gs_error *error)
{
    const gs_plan *const plan = self;
    return plan->loaded ? gs_loaded_run_in(plan->loaded, args, (void *)(uintptr_t)plan->workspace, queue, error) : gs_library_run(plan->library, args, queue, error);
}

/* Adds one contender. schedule NULL: cuBLASLt's next suggestion. */
static gs_status enter(entrants *e, gs_context *context, const gs_problem *problem, const gs_schedule *schedule, gs_error *error)
{
    const int suggestion = schedule ? 0 : ++e->asked;
    gs_plan *plan = gs_plan_new(context, problem, error);
    if (!plan) return GS_ERROR_MEMORY;
    gs_status status = schedule ? gs_plan_use_schedule(plan, schedule, problem, error) : gs_plan_use_cublaslt(plan, suggestion, error);
    if (status == GS_OK) status = gs_plan_finish(plan, GS_ORIGIN_MEASURED, error);
    if (plan->library) e->of_library = gs_library_count(plan->library);
    if (status != GS_OK || (suggestion && gs_library_parse(plan->schedule) != suggestion)) {   /* it rounds partial sums: its substitute takes part itself */
        gs_plan_free(plan);
        return status;
    }
    const int at = e->count++;
    if (schedule) e->schedule[at] = *schedule;
    *(schedule ? &e->own : &e->suggested) += 1;
    e->plan[at] = plan;
    e->suggestion[at] = suggestion;
    e->racer[at] = (gs_racer){.run = run_plan, .self = plan};
    snprintf(e->racer[at].name, sizeof e->racer[at].name, "%s", plan->schedule);
    return GS_OK;
}

/* Own kernels and suggestions alternate: if calls are so long that not all contenders can run, the most promising of both kinds still do. */
static gs_status gather(entrants *e, gs_context *context, const gs_plan *plan, const gs_row *near, gs_error *error)
{
    const gs_config *const config = &context->config;
    const gs_problem *const problem = &plan->problem;
    gs_schedule list[LOOKED_AT + 1];
    const int choices = config->use_ours ? own_choices(context, plan, near, list) : 0;
    bool library = config->use_cublaslt && !context->device->caps.emulated && !problem->invariant;
    int next = 0, tried = 0;
    gs_error why = {0};
    gs_status status = gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no kernel family takes this problem");
    for (bool own = true; own || library;) {
        own = own && next < choices && e->own < OWN && tried < TRIED;
        if (own) {
            why = (gs_error){0};
            const gs_status entered = enter(e, context, problem, &list[next++], &why);
            tried += entered == GS_OK || strcmp(why.field, "workspace_limit") != 0;   /* for those over the limit nothing was compiled */
            if (entered != GS_OK && e->own == 0) {
                status = entered;
                if (error) *error = why;
            }
            if (entered == GS_ERROR_FAULT) return entered;
            own = entered != GS_ERROR_NO_COMPILER && entered != GS_ERROR_DEVICE_MEMORY && entered != GS_ERROR_MEMORY;
        }
        library = library && e->suggested < SUGGESTED && (e->of_library < 0 || e->asked < e->of_library);
        if (library) library = enter(e, context, problem, NULL, &why) == GS_OK;
    }
    if (e->own > 0 || (!config->use_ours && e->suggested > 0)) return GS_OK;
    if (!config->use_ours && problem->invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "own kernels were not allowed");
    return config->use_ours ? status : gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "cuBLASLt suggests nothing: %.200s", why.text);
}

/* ---- the winner ---- */

/* The fastest own kernel, or the fastest suggestion; -1: none has a result. */
static int fastest(const entrants *e, bool library)
{
    int best = -1;
    for (int i = 0; i < e->count; i++) {
        const gs_racer *const racer = &e->racer[i];
        if (racer->status != GS_OK || racer->us <= 0 || (e->suggestion[i] != 0) != library) continue;
        if (best < 0 || racer->us < e->racer[best].us) best = i;
    }
    return best;
}

/* cuBLASLt's time over ours, with the lowest and highest ratio of single rounds. */
static void compare(gs_row *row, const gs_racer *own, const gs_racer *library)
{
    row->ratio = row->low = row->high = library->us / own->us;
    for (int i = 0; i < GS_MIN(own->rounds, library->rounds); i++) {
        const double ratio = (double)library->sample[i] / (double)own->sample[i];
        row->low = GS_MIN(row->low, ratio);
        row->high = GS_MAX(row->high, ratio);
    }
}

static void make_row(gs_row *row, const entrants *e, int winner, const gs_plan *plan)
{
    gs_device *const device = plan->device;
    const int own = fastest(e, false), library = fastest(e, true);
    *row = (gs_row){.problem = plan->problem, .library = e->suggestion[winner], .schedule = e->schedule[winner], .us = e->racer[winner].us, .cc = device->caps.cc, .sms = device->caps.sms};
    if (library >= 0) {
        row->library_us = e->racer[library].us;
        row->cublaslt = gs_library_version(NULL);
    }
    if (own >= 0 && library >= 0) compare(row, &e->racer[own], &e->racer[library]);
    if (device->caps.emulated) row->ratio = row->low = row->high = gs_floor_us(&plan->problem, &device->caps) / row->us;
    gs_clocks clocks;
    if (device->ops->clocks && device->ops->clocks(device, &clocks, NULL) == GS_OK) row->mhz = clocks.sm_mhz;
    snprintf(row->gpu, sizeof row->gpu, "%s", device->caps.slug);
    snprintf(row->by, sizeof row->by, "%s%s-%s", device->caps.emulated ? "predict" : "measure", device->dependent ? GS_DEPENDENT_SUFFIX : "", gs_version());
    gs_date_format(row->date);
}

static void say_why(gs_plan *plan, const gs_row *row)
{
    const char *const how = plan->device->caps.emulated ? "predicted" : "measured";
    char other[64] = "";
    if (row->library && row->ratio > 0 && !plan->device->caps.emulated) snprintf(other, sizeof other, ", the best own kernel %.2f us", row->us / row->ratio);
    if (!row->library && row->library_us > 0) snprintf(other, sizeof other, ", cuBLASLt %.2f us", row->library_us);
    snprintf(plan->why, sizeof plan->why, "measured when a plan was made: %s takes %.2f us (%s)%s", plan->schedule, row->us, how, other);
}

static gs_status use_row(gs_plan *plan, const gs_row *row, gs_error *error)
{
    if (row->library) GS_TRY(gs_plan_use_cublaslt(plan, row->library, error));
    else GS_TRY(gs_plan_use_schedule(plan, &row->schedule, &plan->problem, error));
    say_why(plan, row);
    return gs_plan_finish(plan, GS_ORIGIN_MEASURED, error);
}

/* Moves the winner's plan into the caller's. */
static void take(gs_plan *plan, gs_plan **winner, const gs_row *row)
{
    *plan = **winner;
    free(*winner);
    *winner = NULL;
    say_why(plan, row);
}

/* ---- the race ---- */

/* Device time for a race, from what the program may still spend; 0: none. */
static double allowance(const gs_config *config, const gs_plan *plan)
{
    const double left = config->measure_total_ms * 1000.0 - taken_us;
    return left > 0 ? GS_MIN(plan->measure_ms * 1000.0, left) : 0;
}

static gs_status hold(gs_context *context, gs_plan *plan, entrants *e, gs_row *row, int *winner, gs_error *error)
{
    double spent = 0;
    pthread_mutex_lock(&racing);
    const double budget = allowance(&context->config, plan);
    const bool known = remembered(&context->measured, &plan->problem, row);   /* another thread may have measured it meanwhile */
    gs_status status = GS_OK;
    *winner = -1;
    if (!known && budget <= 0)
        status = gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the %d ms that this process may take for measuring are used up", context->config.measure_total_ms);
    else if (!known)
        status = gs_race(context->device, &plan->problem, e->racer, e->count, budget, winner, &spent, error);
    taken_us += spent;
    pthread_mutex_unlock(&racing);
    if (status == GS_OK && !known) make_row(row, e, *winner, plan);
    return status;
}

static gs_status allowed(gs_context *context, const gs_plan *plan, gs_error *error)
{
    gs_device *const device = context->device;
    bool captured = false;
    if (device->ops->capturing) {
        GS_TRY(device->ops->capturing(device, NULL, &captured, error));
        if (!captured && plan->stream) GS_TRY(device->ops->capturing(device, plan->stream, &captured, error));
    }
    if (captured) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "a stream is being captured");
    pthread_mutex_lock(&racing);
    const bool left = allowance(&context->config, plan) > 0;
    pthread_mutex_unlock(&racing);
    if (!left) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the %d ms that this process may take for measuring are used up", context->config.measure_total_ms);
    return gs_race_fits(device, &plan->problem, error);
}

static gs_status measure(gs_context *context, gs_plan *plan, const gs_row *near, bool replace, gs_error *error)
{
    gs_row row;
    if (remembered(&context->measured, &plan->problem, &row)) return use_row(plan, &row, error);
    GS_TRY(allowed(context, plan, error));
    entrants *const e = calloc(1, sizeof *e);
    if (!e) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a race");
    e->of_library = -1;
    int winner = -1;
    gs_status status = gather(e, context, plan, near, error);
    if (status == GS_OK) status = hold(context, plan, e, &row, &winner, error);
    if (status == GS_OK && winner >= 0) take(plan, &e->plan[winner], &row);
    for (int i = 0; i < e->count; i++)
        if (e->plan[i]) gs_plan_free(e->plan[i]);
    free(e);
    GS_TRY(status);
    if (winner < 0) return use_row(plan, &row, error);
    remember(context, &row, replace);
    return GS_OK;
}

bool gs_plan_measure(gs_context *context, gs_plan *plan, const gs_row *near, bool replace)
{
    gs_error error = {0};
    char text[GS_PROBLEM_TEXT];
    if (plan->measure_ms <= 0) return false;
    const gs_status status = measure(context, plan, near, replace, &error);
    if (status == GS_OK) return true;
    gs_log(status == GS_ERROR_UNSUPPORTED ? GS_LOG_INFO : GS_LOG_WARNING, "%s: not measured: %s", gs_problem_format(&plan->problem, text), error.text);
    gs_loaded_destroy(&plan->loaded);
    gs_library_destroy(&plan->library);
    return false;
}

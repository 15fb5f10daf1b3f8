/* SPDX-License-Identifier: MIT
 * Plans: choosing for a problem (pack, table row, row of the other input type, weights or nearest row and time model, cuBLASLt), and running what was chosen. */
#include "plan/chain.h"
#include "plan/made.h"
#include "plan/plan_internal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "problem/sized.h"

enum {
    DEFAULT_TRIES = 4,     /* schedules that are compiled before giving up on own kernels */
    DEFAULT_CHOICES = 32   /* schedules that are considered: those that need too much workspace are skipped */
};

void gs_plan_destroy(gs_plan **plan)
{
    if (!plan || !*plan) return;
    gs_context *const context = (*plan)->context;
    gs_context_enter(context);
    gs_plan_free(*plan);
    gs_context_leave(context);
    *plan = NULL;
}

static gs_status choose_row(gs_context *context, gs_plan *plan, const gs_row *row, gs_origin origin, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(&row->problem, text);
    if (row->library) {
        const bool exact = origin == GS_ORIGIN_TABLE;
        if (!context->config.use_cublaslt) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the table says cuBLASLt, which was not allowed");
        GS_TRY(gs_plan_use_cublaslt(plan, exact && row->cublaslt == gs_library_version(NULL) ? row->library : 0, error));
        snprintf(plan->why, sizeof plan->why, "tuned table, %s%.100s%s: cuBLASLt was faster than every own kernel (%s)", exact ? "exact" : "nearest (", exact ? "" : text,
                 exact ? "" : ")", plan->schedule);
        return gs_plan_finish(plan, origin, error);
    }
    if (row->kernel[0] && plan->problem.invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "the table says a user kernel, whose order of summation may be its own");
    if (row->kernel[0]) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "the table says user kernel %s, which no pack here has (gemmsmith pack)", row->kernel);
    gs_schedule schedule = row->schedule;
    if (origin == GS_ORIGIN_NEAREST) gs_schedule_suit(&schedule, &plan->problem, &plan->device->caps);   /* if no parameter can be adapted, the next line refuses it */
    GS_TRY(gs_plan_use_schedule(plan, &schedule, &plan->problem, error));
    if (origin == GS_ORIGIN_TABLE && gs_row_predicted(row))
        snprintf(plan->why, sizeof plan->why, "tuned table, exact: %s, predicted %.2f us", plan->schedule, row->us);
    else if (origin == GS_ORIGIN_TABLE && gs_row_alone(row))
        snprintf(plan->why, sizeof plan->why, "tuned table, exact: %s, %.2f us, no time of cuBLASLt beside it", plan->schedule, row->us);
    else if (origin == GS_ORIGIN_TABLE)
        snprintf(plan->why, sizeof plan->why, "tuned table, exact: %s, %.3f of cuBLASLt's speed", plan->schedule, row->ratio);
    else
        snprintf(plan->why, sizeof plan->why, "tuned table, nearest (%.100s): %s", text, plan->schedule);
    return gs_plan_finish(plan, origin, error);
}

/* Refused for its workspace: nothing was compiled. */
static bool over_limit(gs_status status, const gs_error *error)
{
    return status == GS_ERROR_UNSUPPORTED && strcmp(error->field, "workspace_limit") == 0;
}

static bool has_weights(const gs_context *context) { return context->weights.surrogate.nets > 0; }

/* A table row for this very problem whose schedule cannot run it is a mistake in the table, and is logged as a warning. */
static int row_level(const gs_plan *plan, const gs_row *row)
{
    const bool bad = row->kernel[0] || (row->library && plan->problem.invariant) || (!row->library && gs_schedule_check(&row->schedule, &plan->problem, &plan->device->caps, NULL) != GS_OK);
    return bad ? GS_LOG_WARNING : GS_LOG_INFO;
}

/* Ends one attempt of the choice: if it failed, logs that at this level and resets the plan for the next attempt. */
static bool rung(gs_plan *plan, gs_status status, const gs_error *error, const char *name, int level)
{
    if (status == GS_OK) return true;
    if (status == GS_ERROR_COMPILE && level > GS_LOG_WARNING) level = GS_LOG_WARNING;   /* every supported compiler should compile every kernel */
    if (gs_log_level() >= level) {
        char text[GS_PROBLEM_TEXT];
        gs_log(level, "%s: %s not used: %s", gs_problem_format(&plan->problem, text), name, error->text);
    }
    gs_loaded_destroy(&plan->loaded);
    gs_library_destroy(&plan->library);
    return false;
}

/* Silent if no pack has the problem. */
static bool choose_pack(gs_plan *plan, gs_error *error)
{
    gs_status status = gs_plan_use_pack(plan, error);
    if (status == GS_ERROR_NOT_FOUND) return false;
    if (status == GS_OK) status = gs_plan_finish(plan, GS_ORIGIN_PACK, error);
    return rung(plan, status, error, "pack entry", GS_LOG_WARNING);
}

typedef struct expected { double own_us, cublaslt_us; } expected;   /* predicted by the weights; 0: unknown, for example for a family that they were not trained on */

/* The weights were not trained on groups. */
static bool has_weights_for(const gs_context *context, const gs_problem *shape) { return has_weights(context) && !gs_has_offsets(shape); }

static bool is_learned(const gs_context *context, const gs_problem *shape, const gs_schedule *schedule)
{
    return has_weights_for(context, shape) && gs_surrogate_knows(&context->weights.surrogate, (gs_family_id)schedule->family);
}

static expected expect(const gs_context *context, const gs_problem *shape, const gs_schedule *first)
{
    if (!is_learned(context, shape, first)) return (expected){0, 0};
    const gs_profile profile = gs_profile_of(&context->device->caps);
    const gs_surrogate *const surrogate = &context->weights.surrogate;
    const double product_us = gs_surrogate_library_us(surrogate, shape, &profile);
    return (expected){gs_surrogate_us(surrogate, first, shape, &profile), product_us > 0 ? product_us + gs_library_behind_us(shape, &context->device->caps) : 0};
}

static void say_choice(gs_plan *plan, bool learned, const expected *e)
{
    char than[96] = "";
    if (e->cublaslt_us > 0 && !plan->device->caps.emulated) snprintf(than, sizeof than, ", %.2f us expected, cuBLASLt %.2f us", e->own_us, e->cublaslt_us);
    snprintf(plan->why, sizeof plan->why, "no table entry: %s is %s choice%s", plan->schedule, learned ? "the learned weights'" : "the time model's", than);
}

/* Chooses cuBLASLt, because the best own choice is not predicted to be clearly faster. */
static gs_status doubt(gs_plan *plan, const gs_schedule *first, const expected *e, gs_error *error)
{
    char text[GS_SCHEDULE_TEXT];
    GS_TRY(gs_plan_use_cublaslt(plan, 0, error));
    snprintf(plan->why, sizeof plan->why, "no table entry: cuBLASLt, %.2f us expected; %s, the learned weights' choice, %.2f us", e->cublaslt_us,
             gs_schedule_format(first, text), e->own_us);
    return gs_plan_finish(plan, GS_ORIGIN_CUBLASLT, error);
}

/* doubted: cuBLASLt may be chosen instead. */
static gs_status choose_default(const gs_context *context, gs_plan *plan, const gs_problem *shape, bool doubted, gs_error *error)
{
    gs_schedule list[DEFAULT_CHOICES];
    gs_error local;
    int tried = 0, chosen = 0;
    expected e = {0, 0};
    if (!error) error = &local;
    const bool learned = has_weights_for(context, shape);
    const int count = learned ? gs_weights_choose(&context->weights, shape, &plan->device->caps, 0, list, DEFAULT_CHOICES)
                              : gs_schedule_shortlist(shape, &plan->device->caps, 0, list, DEFAULT_CHOICES);
    if (learned && count > 0) e = expect(context, shape, &list[0]);
    const bool doubtful = doubted && e.cublaslt_us > 0 && e.own_us > GS_CLEARLY_FASTER * e.cublaslt_us;
    if (doubtful && rung(plan, doubt(plan, &list[0], &e, error), error, "cuBLASLt", GS_LOG_INFO)) return GS_OK;
    gs_status status = gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no kernel family takes this problem");
    for (int i = 0; i < count && status != GS_OK && tried < DEFAULT_TRIES; i++) {
        chosen = i;
        status = gs_plan_use_schedule(plan, &list[i], shape, error);
        tried += !over_limit(status, error);
        if (status == GS_ERROR_NO_COMPILER || status == GS_ERROR_DEVICE_MEMORY || status == GS_ERROR_FAULT) return status;
    }
    if (status != GS_OK && (gs_has_offsets(shape) || shape->scalars || shape->matrices)) {   /* cuBLASLt may not support it: simple is the last resort */
        list[chosen = 0] = gs_schedule_first(GS_FAMILY_SIMPLE);
        status = gs_plan_use_schedule(plan, &list[0], shape, error);
    }
    GS_TRY(status);
    const expected of_chosen = expect(context, shape, &list[chosen]);
    say_choice(plan, is_learned(context, shape, &list[chosen]), &of_chosen);
    return gs_plan_finish(plan, GS_ORIGIN_DEFAULT, error);
}

static gs_status choose(gs_context *context, gs_plan *plan, gs_error *error)
{
    const gs_problem *const problem = &plan->problem;
    gs_error local;
    if (problem->m == 0 || problem->n == 0) {
        snprintf(plan->why, sizeof plan->why, "nothing to compute");
        snprintf(plan->schedule, sizeof plan->schedule, "empty");
        return gs_plan_finish(plan, GS_ORIGIN_EMPTY, error);
    }
    local = (gs_error){0};
    if (context->config.use_ours && problem->k > 0 && choose_pack(plan, &local)) return GS_OK;
    bool exact = false;
    const gs_row *row = NULL;
    if (context->config.use_ours && problem->k > 0) row = gs_table_choose(context->table, problem, &plan->device->caps, has_weights(context), &exact);
    if (row && exact && rung(plan, choose_row(context, plan, row, GS_ORIGIN_TABLE, &local), &local, "table entry", row_level(plan, row))) return GS_OK;
    if (problem->k > 0 && gs_plan_measure(context, plan, exact ? NULL : row, exact)) return GS_OK;
    if (row && !exact && rung(plan, choose_row(context, plan, row, GS_ORIGIN_NEAREST, &local), &local, "nearest entry", GS_LOG_INFO)) return GS_OK;
    const bool allowed = context->config.use_cublaslt && !problem->invariant, library = allowed && !plan->device->caps.emulated;
    if (context->config.use_ours && rung(plan, choose_default(context, plan, problem, library, &local), &local, "own kernel", GS_LOG_INFO)) return GS_OK;
    if (allowed && !(plan->device->caps.emulated && context->config.use_ours)) {
        GS_TRY(gs_plan_use_cublaslt(plan, context->config.use_ours ? 0 : 1, error));
        snprintf(plan->why, sizeof plan->why, "cuBLASLt: %.180s", context->config.use_ours ? local.text : "own kernels were not allowed");
        return gs_plan_finish(plan, GS_ORIGIN_CUBLASLT, error);
    }
    if (error) *error = local;
    if (local.status) return local.status;
    return problem->invariant ? gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "own kernels were not allowed, and the bits of cuBLASLt's rows depend on M")
                              : gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "neither own kernels nor cuBLASLt are allowed");
}

gs_status gs_plan_begin(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    *out = NULL;
    if (!context || !problem) return gs_fail(error, GS_ERROR_ARGUMENT, context ? "problem" : "context", "must not be NULL");
    GS_TRY(gs_problem_check(problem, error));
    *out = gs_plan_new(context, problem, error);
    return *out ? GS_OK : GS_ERROR_MEMORY;
}

/* Completes the plan that gs_plan_begin began. */
static gs_status make(gs_context *context, gs_plan **out, gs_error *error)
{
    gs_context_enter(context);
    const gs_status status = choose(context, *out, error);
    gs_context_leave(context);
    if (status != GS_OK) gs_plan_destroy(out);
    return status;
}

gs_status gs_plan_create(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error)
{
    return gs_plan_create_on(context, problem, NULL, out, error);
}

gs_status gs_plan_create_on(gs_context *context, const gs_problem *problem, gs_stream stream, gs_plan **out, gs_error *error)
{
    GS_TRY(gs_plan_begin(context, problem, out, error));
    (*out)->stream = stream;
    return make(context, out, error);
}

void gs_plan_options_init(gs_plan_options *options, size_t size)
{
    const gs_plan_options made = {.size = (uint32_t)size};
    memset(options, 0, size);
    memcpy(options, &made, GS_MIN(size, sizeof made));
}

static gs_status take_options(gs_plan *plan, const gs_plan_options *options, gs_error *error)
{
    GS_TRY(gs_sized_check(options, offsetof(gs_plan_options, reserved), sizeof *options, "gs_plan_options", "gs_plan_options_default", error));
    if (options->reserved_int)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "reserved", "gs_plan_options has a reserved field that is not zero; start from gs_plan_options_default");
    if (options->measure < -1 || options->measure > 1) return gs_fail(error, GS_ERROR_ARGUMENT, "measure", "must be -1, 0 or 1");
    if (options->measure_ms < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "measure_ms", "must not be negative");
    const gs_config *const config = &plan->context->config;
    const bool on = options->measure ? options->measure > 0 : config->measure > 0;
    plan->measure_ms = !on ? 0 : options->measure_ms ? options->measure_ms : config->measure_ms;
    return GS_OK;
}

gs_status gs_plan_create_with(gs_context *context, const gs_problem *problem, const gs_plan_options *options, gs_plan **out, gs_error *error)
{
    GS_TRY(gs_plan_begin(context, problem, out, error));
    const gs_status status = options ? take_options(*out, options, error) : GS_OK;
    if (status == GS_OK) return make(context, out, error);
    gs_plan_destroy(out);
    return status;
}

gs_status gs_plan_create_schedule(gs_context *context, const gs_problem *problem, const char *schedule, gs_plan **out, gs_error *error)
{
    GS_TRY(gs_plan_begin(context, problem, out, error));
    gs_plan *const plan = *out;
    gs_schedule parsed;
    gs_status status = schedule ? GS_OK : gs_fail(error, GS_ERROR_ARGUMENT, "schedule", "must not be NULL");
    const int suggestion = schedule ? gs_library_parse(schedule) : 0;
    gs_context_enter(context);
    if (suggestion) {
        status = gs_plan_use_cublaslt(plan, suggestion, error);
    } else if (status == GS_OK) {
        status = gs_schedule_parse(&parsed, schedule, error);
        if (status == GS_OK) status = gs_plan_use_schedule(plan, &parsed, &plan->problem, error);
    }
    if (status == GS_OK) {
        snprintf(plan->why, sizeof plan->why, "named by the caller: %s", plan->schedule);
        status = gs_plan_finish(plan, GS_ORIGIN_EXPLICIT, error);
    }
    gs_context_leave(context);
    if (status != GS_OK) gs_plan_destroy(out);
    return status;
}

gs_status gs_plan_create_unaligned(gs_context *context, const gs_problem *problem, gs_plan **out, gs_error *error)
{
    GS_TRY(gs_plan_begin(context, problem, out, error));
    if (!context->config.use_ours) {
        gs_plan_destroy(out);
        return gs_fail(error, GS_ERROR_ALIGNMENT, NULL, "pointers are less aligned than cuBLASLt needs, and own kernels were not allowed");
    }
    /* With odd leading dimensions the kernel is built for element alignment only; it is run with the real ones. */
    gs_problem shape = (*out)->problem;
    shape.lda |= 1;
    shape.ldb |= 1;
    shape.ldc |= 1;
    shape.ldd |= 1;
    gs_context_enter(context);
    const gs_status status = choose_default(context, *out, &shape, false, error);
    gs_context_leave(context);
    if (status != GS_OK) gs_plan_destroy(out);
    return status;
}

/* ---- running ---- */

/* Whether the arguments need the full check. Few calls do, and a few comparisons find that out. */
static inline bool unusual(const gs_plan *plan, const gs_args *args)
{
    typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
    _Static_assert(offsetof(gs_args, bias) + 3 * sizeof(pair) == sizeof *args && offsetof(gs_args, c) == offsetof(gs_args, a) + sizeof(pair), "as they are read here");
    const pair *const reserved = (const pair *)(const void *)&args->bias, *const pointers = (const pair *)&args->a, *const below = (const pair *)plan->below;
    const pair bits = reserved[0] | reserved[1] | reserved[2] | (pointers[0] & below[0]) | (pointers[1] & below[1]);
    const uint64_t missing = (uint64_t)!args->a | (uint64_t)!args->b | (uint64_t)!args->d | (uint64_t)(!args->c & plan->reads_c) | (uint64_t)plan->reads_more | (uint64_t)(uintptr_t)plan->recorder;
    const uint64_t odd = missing | (args->size ^ sizeof *args) | args->reserved_flags | (uintptr_t)args->beta | ((uintptr_t)args->workspace & 255) | bits[0] | bits[1];
    return odd != 0;
}

gs_status gs_plan_run(const gs_plan *plan, const gs_args *args, gs_stream stream)
{
    if (!plan || !args) return GS_ERROR_ARGUMENT;
    if (__builtin_expect(unusual(plan, args), 0)) {
        GS_TRY(gs_plan_check_args(plan, args));
        gs_recorder_count(plan->recorder, &plan->problem, plan->via);
    }
    if (__builtin_expect(plan->joins, 0) && plan->device->ops->predecessor(plan->device, stream) != GS_PREDECESSOR_UNKNOWN) return gs_plan_put(plan, args, stream, NULL, NULL);
    if (plan->loaded) return gs_loaded_run_in(plan->loaded, args, args->workspace ? args->workspace : (void *)(uintptr_t)plan->workspace, stream, NULL);
    return plan->library ? gs_library_run(plan->library, args, stream, NULL) : GS_OK;
}

/* ---- asking ---- */

const char       *gs_plan_why(const gs_plan *plan) { return plan->why; }
const char       *gs_plan_schedule(const gs_plan *plan) { return plan->schedule; }
const gs_loaded  *gs_plan_loaded(const gs_plan *plan) { return plan->loaded; }
int               gs_plan_measured_chain(const gs_plan *plan) { return plan->measured_chain; }
gs_origin         gs_plan_origin(const gs_plan *plan) { return plan->origin; }
const gs_problem *gs_plan_problem(const gs_plan *plan) { return &plan->problem; }
size_t            gs_plan_workspace(const gs_plan *plan) { return plan->workspace_bytes; }

size_t gs_plan_alignment(const gs_plan *plan, char operand)
{
    return operand >= 'a' && operand < 'a' + GS_OPERANDS ? (size_t)plan->align[operand - 'a'] : 0;
}

/* SPDX-License-Identifier: MIT */
#include "plan/member.h"

#include <stddef.h>

#include "base/error.h"
#include "plan/plan_internal.h"
#include "problem/sized.h"

const gs_context *gs_plan_context(const gs_plan *plan) { return plan->context; }
gs_device *gs_context_device(const gs_context *context) { return context->device; }
bool gs_context_chains(const gs_context *context) { return context->config.dependent >= 0 && gs_device_is_programmatic(context->device); }

/* ---- arguments ---- */

/* Which of the arguments gs_plan_check_args does not take. */
static gs_status explain(const gs_plan *plan, const gs_args *args, gs_status status, gs_error *error)
{
    const gs_problem *const problem = &plan->problem;
    const bool reads_c = problem->beta != 0;
    const struct {
        const char *name;
        const void *at;
        bool        needed;
        int         alignment;   /* 1: any */
    } operands[] = {
        {"a",       args->a,       problem->k > 0,                         gs_plan_pointer_alignment(plan, 0)},
        {"b",       args->b,       problem->k > 0,                         gs_plan_pointer_alignment(plan, 1)},
        {"c",       args->c,       reads_c,                                reads_c ? gs_plan_pointer_alignment(plan, 2) : 1},
        {"d",       args->d,       true,                                   gs_plan_pointer_alignment(plan, 3)},
        {"bias",    args->bias,    problem->bias != GS_BIAS_NONE,          problem->bias ? plan->align[4] : 1},
        {"offsets", args->offsets, gs_has_offsets(problem),                gs_has_offsets(problem) ? plan->align[5] : 1},
        {"aux",     args->aux,     gs_has_aux(problem),                    gs_has_aux(problem) ? plan->align[6] : 1},
        {"scale_m", args->scale_m, (problem->scales & GS_SCALE_M) != 0,    problem->scales & GS_SCALE_M ? plan->align[7] : 1},
        {"scale_n", args->scale_n, (problem->scales & GS_SCALE_N) != 0,    problem->scales & GS_SCALE_N ? plan->align[8] : 1},
        {"alpha",   args->alpha,   problem->scalars != GS_SCALARS_HOST,            1},
        {"beta",    args->beta,    problem->scalars != GS_SCALARS_HOST && reads_c, 1},
    };
    GS_TRY(gs_sized_check(args, offsetof(gs_args, reserved), sizeof *args, "gs_args", "gs_args_make", error));
    if (args->reserved_flags) return gs_fail(error, status, "reserved_flags", "gs_args has a reserved field that is not zero; start from gs_args_make");
    for (size_t i = 0; i < GS_COUNT(operands); i++)
        if (operands[i].needed && !operands[i].at) return gs_fail(error, status, operands[i].name, "the problem needs it, and it is NULL");
    for (size_t i = 0; i < GS_COUNT(operands) && status == GS_ERROR_ALIGNMENT; i++)
        if ((uintptr_t)operands[i].at % (uintptr_t)operands[i].alignment) return gs_fail(error, status, operands[i].name, "%p is no multiple of %d bytes, which the plan's kernel needs", operands[i].at, operands[i].alignment);
    return gs_fail(error, status, "beta", "must be 0 exactly where the problem's is, which is %g", (double)problem->beta);
}

gs_status gs_plan_check(const gs_plan *plan, const gs_args *args, gs_error *error)
{
    const gs_status status = gs_plan_check_args(plan, args);
    if (status != GS_OK) return explain(plan, args, status, error);
    return plan->library ? gs_library_check(plan->library, args, error) : GS_OK;
}

/* ---- in a graph ---- */

static void *workspace_of(const gs_plan *plan, const gs_args *args) { return args->workspace ? args->workspace : (void *)(uintptr_t)plan->workspace; }

gs_status gs_plan_capture(const gs_plan *plan, const gs_args *args, bool dependent, bool *triggers, gs_queue queue, gs_captured *out, gs_error *error)
{
    *out = (gs_captured){0};
    gs_recorder_count(plan->recorder, &plan->problem, "gs_sequence_build");
    if (plan->loaded) return gs_loaded_capture(plan->loaded, args, workspace_of(plan, args), dependent, triggers, queue, out, error);
    if (!plan->library) {
        out->changeable = true;
        return GS_OK;
    }
    *triggers = false;
    return gs_library_run(plan->library, args, queue, error);
}

gs_status gs_plan_change(const gs_plan *plan, const gs_args *args, gs_graph graph, const gs_captured *captured, gs_error *error)
{
    return plan->loaded ? gs_loaded_change(plan->loaded, args, workspace_of(plan, args), graph, captured, error) : GS_OK;
}

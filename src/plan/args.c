/* SPDX-License-Identifier: MIT
 * Checks the arguments of a run. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "plan/member.h"
#include "plan/plan_internal.h"
#include "problem/sized.h"

typedef struct operand {
    const char *name;
    const void *at;
    bool        needed;
    int         alignment;   /* bytes; 1: any */
} operand;

enum { MOST = 12, WORKSPACE_ALIGNMENT = 256 };

static void operands_of(const gs_plan *plan, const gs_args *args, operand out[MOST])
{
    const gs_problem *const problem = &plan->problem;
    const int *const align = plan->align;
    const bool reads_c = problem->beta != 0;
    const operand all[MOST] = {
        {"a",       args->a,       problem->k > 0,                      gs_plan_pointer_alignment(plan, 0)},
        {"b",       args->b,       problem->k > 0,                      gs_plan_pointer_alignment(plan, 1)},
        {"c",       args->c,       reads_c,                             gs_plan_pointer_alignment(plan, 2)},
        {"d",       args->d,       true,                                gs_plan_pointer_alignment(plan, 3)},
        {"bias",    args->bias,    problem->bias != GS_BIAS_NONE,       align[4]},
        {"offsets", args->offsets, gs_has_offsets(problem),             align[5]},
        {"aux",     args->aux,     gs_has_aux(problem),                 align[6]},
        {"scale_m", args->scale_m, (problem->scales & GS_SCALE_M) != 0, align[7]},
        {"scale_n", args->scale_n, (problem->scales & GS_SCALE_N) != 0, align[8]},
        {"alpha",   args->alpha,   problem->scalars != GS_SCALARS_HOST,            1},
        {"beta",    args->beta,    problem->scalars != GS_SCALARS_HOST && reads_c, 1},
        {"workspace", args->workspace, args->workspace != NULL && plan->workspace_bytes > 0, WORKSPACE_ALIGNMENT},   /* else the plan's own */
    };
    memcpy(out, all, sizeof all);
}

/* The first operand that is needed and NULL, or misaligned; NULL if there is none. */
static const operand *missing(const operand operands[MOST])
{
    for (int i = 0; i < MOST; i++)
        if (operands[i].needed && !operands[i].at) return &operands[i];
    return NULL;
}

static const operand *misaligned(const operand operands[MOST])
{
    for (int i = 0; i < MOST; i++)
        if (operands[i].needed && (uintptr_t)operands[i].at % (uintptr_t)operands[i].alignment) return &operands[i];
    return NULL;
}

/* error may be NULL. */
static gs_status check(const gs_plan *plan, const gs_args *args, gs_error *error)
{
    const gs_problem *const problem = &plan->problem;
    operand operands[MOST];
    GS_TRY(gs_sized_check(args, offsetof(gs_args, reserved), sizeof *args, "gs_args", "gs_args_make", error));
    if (args->reserved_flags) return gs_fail(error, GS_ERROR_UNSUPPORTED, "reserved_flags", "gs_args has a reserved field that is not zero; start from gs_args_make");
    if (plan->empty) return GS_OK;
    operands_of(plan, args, operands);
    const operand *const gone = missing(operands), *const odd = gone ? NULL : misaligned(operands);
    if (gone) return gs_fail(error, GS_ERROR_ARGUMENT, gone->name, "the problem needs it, and it is NULL");
    if (!problem->scalars && args->beta && (*args->beta != 0) != (problem->beta != 0))
        return gs_fail(error, GS_ERROR_ARGUMENT, "beta", "must be 0 exactly where the problem's is, which is %g", (double)problem->beta);
    return odd ? gs_fail(error, GS_ERROR_ALIGNMENT, odd->name, "%p is no multiple of %d bytes, which the plan's kernel needs", odd->at, odd->alignment) : GS_OK;
}

gs_status gs_plan_check_args(const gs_plan *plan, const gs_args *args) { return check(plan, args, NULL); }

gs_status gs_plan_check(const gs_plan *plan, const gs_args *args, gs_error *error)
{
    if (!plan || !args) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "plan and args must not be NULL");
    GS_TRY(check(plan, args, error));
    return plan->library ? gs_library_check(plan->library, args, error) : GS_OK;
}

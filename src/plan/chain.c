/* SPDX-License-Identifier: MIT
 * Dependent launches: whether a plan uses them, and launching a plan into a captured queue, where the previous launch is known. */
#include "plan/chain.h"

#include <string.h>

#include "plan/member.h"

/* Compares the ratios to cuBLASLt, which each run measured itself, because times of different runs are not comparable; without ratios, the times. */
static bool is_faster(const gs_row *chained, const gs_row *alone)
{
    return chained->ratio > 0 && alone->ratio > 0 ? chained->ratio > alone->ratio : chained->us < alone->us;
}

static bool is_dependent(const gs_loaded *loaded) { return gs_loaded_manifest(loaded)->entry[0].dependent; }

/* Own kernels are assumed to gain, except those whose blocks wait for each other's tickets: started early, they would delay the kernel that they wait for. A user
 * kernel's manifest is not verified in this respect. */
static bool gains(const gs_loaded *loaded) { return is_dependent(loaded) && gs_loaded_zeroed(loaded) == 0 && !gs_loaded_image(loaded)->user; }

/* The table's row for dependent launches, with or without an early read of a constant B. */
static const gs_row *dependent_row(const gs_plan *plan, uint32_t constant)
{
    gs_problem problem = plan->problem;
    problem.constant = constant;
    return gs_table_find_dependent(plan->context->table, &problem);
}

bool gs_plan_reads_early(const gs_plan *plan, const gs_schedule *schedule)
{
    if (!plan->problem.constant) return false;
    const gs_row *const alone = gs_table_find(plan->context->table, &plan->problem), *const chained = dependent_row(plan, GS_CONSTANT_NONE);
    const gs_row *const early = dependent_row(plan, plan->problem.constant);
    char text[GS_SCHEDULE_TEXT], own[GS_SCHEDULE_TEXT];
    if (!early || (alone && !is_faster(early, alone)) || (chained && !is_faster(early, chained))) return false;
    return strcmp(gs_row_choice(early, text), gs_schedule_format(schedule, own)) == 0;
}

/* What the table says about the chosen kernel: 1 it is faster with dependent launches, -1 slower, 0 unknown. */
static int measured(const gs_plan *plan)
{
    const gs_row *const alone = gs_table_find(plan->context->table, &plan->problem), *const chained = dependent_row(plan, GS_CONSTANT_NONE);
    char text[GS_SCHEDULE_TEXT];
    if (plan->early_b || !chained) return plan->early_b;
    if (chained != alone && !is_faster(chained, alone)) return -1;
    return strcmp(gs_row_choice(chained, text), plan->schedule) == 0;
}

void gs_plan_chain(gs_plan *plan)
{
    const gs_context *const context = plan->context;
    if (!plan->loaded) return;
    if (plan->origin == GS_ORIGIN_TABLE) plan->measured_chain = measured(plan);
    const int said = plan->measured_chain;
    plan->chains = context->chains && (said > 0 ? is_dependent(plan->loaded) : said == 0 && gains(plan->loaded));
    plan->joins = plan->chains && context->joins;
}

/* ---- in a captured queue ---- */

static void *workspace_of(const gs_plan *plan, const gs_args *args) { return args->workspace ? args->workspace : (void *)(uintptr_t)plan->workspace; }

gs_status gs_plan_put(const gs_plan *plan, const gs_args *args, gs_queue queue, gs_captured *out, gs_error *error)
{
    if (plan->loaded) return gs_loaded_capture(plan->loaded, args, workspace_of(plan, args), plan->chains, queue, out, error);
    if (out) *out = (gs_captured){.changeable = !plan->library};
    return plan->library ? gs_library_run(plan->library, args, queue, error) : GS_OK;
}

gs_status gs_plan_capture(const gs_plan *plan, const gs_args *args, gs_queue queue, gs_captured *out, gs_error *error)
{
    gs_recorder_count(plan->recorder, &plan->problem, "gs_sequence_build");
    return gs_plan_put(plan, args, queue, out, error);
}

gs_status gs_plan_change(const gs_plan *plan, const gs_args *args, gs_graph graph, const gs_captured *captured, gs_error *error)
{
    return plan->loaded ? gs_loaded_change(plan->loaded, args, workspace_of(plan, args), graph, captured, error) : GS_OK;
}

/* SPDX-License-Identifier: MIT
 * Fills a plan once a choice is made: one of our kernels or cuBLASLt, and a workspace. */
#include "plan/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "problem/sized.h"

gs_plan *gs_plan_new(gs_context *context, const gs_problem *problem, gs_error *error)
{
    gs_plan *const plan = calloc(1, sizeof *plan);
    if (!plan) {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a plan");
        return NULL;
    }
    plan->context = context;
    plan->device = context->device;
    plan->recorder = context->recorder;
    plan->via = "gs_plan_run";
    gs_sized_copy(&plan->problem, problem, sizeof plan->problem);
    plan->workspace_limit = context->config.workspace_limit;
    plan->measure_ms = context->config.measure > 0 ? context->config.measure_ms : 0;
    for (int i = 0; i < GS_OPERANDS; i++) plan->align[i] = 1;
    return plan;
}

void gs_plan_free(gs_plan *plan)
{
    gs_loaded_destroy(&plan->loaded);
    gs_library_destroy(&plan->library);
    if (plan->workspace) plan->device->ops->free(plan->device, plan->workspace);
    free(plan);
}

static gs_status check_workspace(const gs_plan *plan, const gs_manifest *manifest, gs_error *error)
{
    size_t need;
    GS_TRY(gs_loaded_need(manifest, &plan->problem, &plan->device->caps, &need, error));
    if (need <= plan->workspace_limit) return GS_OK;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "workspace_limit", "%zu bytes of workspace are needed, %zu are allowed", need, plan->workspace_limit);
}

gs_status gs_plan_use_image(gs_plan *plan, const gs_manifest *manifest, gs_image *image, gs_error *error)
{
    GS_TRY(check_workspace(plan, manifest, error));
    GS_TRY(gs_loaded_create_image(&plan->loaded, plan->device, manifest, image, &plan->problem, error));
    plan->workspace_bytes = gs_loaded_workspace(plan->loaded);
    gs_manifest_alignment(manifest, &plan->problem, plan->align);
    return GS_OK;
}

gs_status gs_plan_use_schedule(gs_plan *plan, const gs_schedule *schedule, const gs_problem *shape, gs_error *error)
{
    const gs_caps *const caps = &plan->device->caps;
    gs_kernel kernel;
    gs_problem built = *shape, run = plan->problem;
    plan->early_b = gs_plan_reads_early(plan, schedule);
    if (!plan->early_b) built.constant = run.constant = GS_CONSTANT_NONE;
    GS_TRY(gs_schedule_check(schedule, &built, caps, error));
    GS_TRY(gs_kernel_build(&kernel, schedule, &built, caps, error));
    gs_kernel_set_rows(&kernel, &plan->problem);
    GS_TRY(check_workspace(plan, &kernel.manifest, error));
    GS_TRY(gs_loaded_create(&plan->loaded, plan->device, &kernel, &run, error));
    plan->workspace_bytes = gs_loaded_workspace(plan->loaded);
    gs_manifest_alignment(&kernel.manifest, &plan->problem, plan->align);
    gs_schedule_format(schedule, plan->schedule);
    return GS_OK;
}

gs_status gs_plan_use_cublaslt(gs_plan *plan, int suggestion, gs_error *error)
{
    if (plan->problem.invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "the bits of cuBLASLt's rows depend on M");
    if (plan->device->paper) {   /* a device that cannot run anything: cuBLASLt is asked where the plan runs */
        if (gs_has_offsets(&plan->problem) || plan->problem.scalars) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "cuBLASLt does not take it");
        gs_row_choice(&(gs_row){.library = GS_MAX(suggestion, 1)}, plan->schedule);
        return GS_OK;
    }
    GS_TRY(gs_library_create_within(&plan->library, plan->device, &plan->problem, plan->workspace_limit, error));
    if (suggestion == 0) {
        gs_suggestion list[GS_LIBRARY_MOST];
        suggestion = gs_ranker_choose(&plan->context->weights.ranker, &plan->problem, &plan->device->caps, list, gs_library_suggestions(plan->library, list)) + 1;
    }
    /* if the suggestion does not exist or rounds its partial sums (an older table row may name it), the library's default choice stays */
    const gs_status chosen = gs_library_choose(plan->library, suggestion - 1);
    if (chosen != GS_OK && chosen != GS_ERROR_RANGE && chosen != GS_ERROR_UNSUPPORTED)
        return gs_fail(error, chosen, NULL, "cuBLASLt's suggestion %d cannot be prepared", suggestion);
    suggestion = gs_library_chosen(plan->library) + 1;
    for (int i = 0; i < GS_OPERANDS; i++) plan->align[i] = (int)gs_library_alignment(plan->library, GS_OPERAND_LETTERS[i]);
    gs_row_choice(&(gs_row){.library = suggestion}, plan->schedule);
    return GS_OK;
}

/* Appends to plan->why how the epilogue is computed, unless it is there already: loaded plans bring their text. */
static void say_epilogue(gs_plan *plan)
{
    const size_t length = strlen(plan->why);
    if ((!plan->problem.bias && !plan->problem.activation && !plan->problem.scales) || strstr(plan->why, "; epilogue ")) return;
    const bool fused = plan->loaded || (plan->library && gs_library_is_fused(plan->library));
    if (fused || plan->library) snprintf(plan->why + length, sizeof plan->why - length, "; epilogue %s", fused ? "fused" : "by a kernel behind the product");
}

gs_status gs_plan_finish(gs_plan *plan, gs_origin origin, gs_error *error)
{
    plan->origin = origin;
    say_epilogue(plan);
    plan->early_b = plan->early_b && plan->loaded;
    if (plan->early_b) snprintf(plan->why + strlen(plan->why), sizeof plan->why - strlen(plan->why), "; B early in chains");
    plan->empty = plan->problem.m == 0 || plan->problem.n == 0;
    plan->reads_c = plan->problem.beta != 0;
    plan->reads_more = plan->problem.bias != GS_BIAS_NONE || plan->problem.scalars || gs_has_offsets(&plan->problem) || gs_has_aux(&plan->problem) || plan->problem.scales;
    for (int i = 0; i < 4; i++) plan->below[i] = i == 2 && !plan->reads_c ? 0 : (uintptr_t)gs_plan_pointer_alignment(plan, i) - 1;
    if (plan->empty) {   /* nothing is launched, whatever was chosen */
        gs_loaded_destroy(&plan->loaded);
        gs_library_destroy(&plan->library);
    }
    /* The cuBLASLt object owns its workspace. Ours is allocated here, never during a run. */
    if (plan->loaded) GS_TRY(gs_loaded_alloc(plan->loaded, &plan->workspace, error));
    if (plan->library) plan->workspace_bytes = gs_library_workspace(plan->library);
    gs_plan_chain(plan);
    return GS_OK;
}

/* SPDX-License-Identifier: MIT
 * Access to plans for sequences (src/sequence). */
#ifndef GS_PLAN_MEMBER_H
#define GS_PLAN_MEMBER_H

#include <gemmsmith/plan.h>

#include "loaded/loaded.h"

const gs_context *gs_plan_context(const gs_plan *plan);
gs_device        *gs_context_device(const gs_context *context);

/* Puts the plan's run on a queue that is being captured, with arguments that gs_plan_check accepts. Dependent if the plan chains (plan/chain.h). */
gs_status gs_plan_capture(const gs_plan *plan, const gs_args *args, gs_queue queue, gs_captured *out, gs_error *error);

/* As gs_loaded_change, for a plan whose captured launches are changeable. */
gs_status gs_plan_change(const gs_plan *plan, const gs_args *args, gs_graph graph, const gs_captured *captured, gs_error *error);

#endif

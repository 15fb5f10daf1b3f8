/* SPDX-License-Identifier: MIT
 * Dependent launches of plans (docs/internals/plan.md#chains). For src/plan alone. */
#ifndef GS_PLAN_CHAIN_H
#define GS_PLAN_CHAIN_H

#include "plan/plan_internal.h"

/* Called at the end of making a plan: decides whether its launches are dependent after a kernel that lets the next one begin early. The table's rows with and without
 * dependent launches decide for the kernel that they name; other kernels use them unless their blocks wait for each other's tickets. */
void gs_plan_chain(gs_plan *plan);

/* Whether dependent launches of this schedule that read B early are fastest: the problem's B is constant, and the table's rows say so. Called before the kernel is
 * built. */
bool gs_plan_reads_early(const gs_plan *plan, const gs_schedule *schedule);

/* Puts a run of the plan on a queue that is being captured. out: where the launches are described for later changes, or NULL. */
gs_status gs_plan_put(const gs_plan *plan, const gs_args *args, gs_queue queue, gs_captured *out, gs_error *error);

#endif

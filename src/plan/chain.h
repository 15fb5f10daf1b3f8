/* SPDX-License-Identifier: MIT
 * Dependent launches of plans (docs/internals/plan.md#chains). For src/plan alone. */
#ifndef GS_PLAN_CHAIN_H
#define GS_PLAN_CHAIN_H

#include "plan/plan_internal.h"

/* The end of making a plan: whether its launches are dependent behind one that lets them begin early. As the table's rows with and without dependent launches say of its kernel; of others,
 * unless its blocks wait for each other's tickets. */
void gs_plan_chain(gs_plan *plan);

/* Whether dependent launches of this schedule, which read B early, win: the problem's B is constant, and the table's rows say so. Before its kernel is built. */
bool gs_plan_reads_early(const gs_plan *plan, const gs_schedule *schedule);

/* A run into a queue that is being captured. out: NULL where nobody will change the launches. */
gs_status gs_plan_put(const gs_plan *plan, const gs_args *args, gs_queue queue, gs_captured *out, gs_error *error);

#endif

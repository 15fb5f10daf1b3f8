/* SPDX-License-Identifier: MIT
 * What those inside the project ask of contexts and plans who keep what plans are made of: packs. */
#ifndef GS_PLAN_MADE_H
#define GS_PLAN_MADE_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "loaded/loaded.h"
#include "record/record.h"
#include "table/table.h"

/* gs_open on a device that is open, which is the context's afterwards, and closed if this fails. NULL: as gs_open. */
gs_status gs_context_open_on(gs_context **out, const gs_config *config, gs_device *device, gs_error *error);

/* Who counts the runs of plans that are made from here on: that of gs_open is $GEMMSMITH_RECORD's. NULL: nobody, for adapters that count calls under names of their own. */
void gs_context_record(gs_context *context, gs_recorder *recorder);

const gs_table *gs_context_table(const gs_context *context);   /* what its tables have for its device */
const gs_caps  *gs_context_caps(const gs_context *context);
const gs_row   *gs_context_row(const gs_context *context, const gs_problem *problem);   /* the problem's own; NULL: none */

const gs_loaded *gs_plan_loaded(const gs_plan *plan);   /* its kernel; NULL: it has none */
int              gs_plan_measured_chain(const gs_plan *plan);   /* what was measured of its dependent launches: 1 they win, -1 they lose, 0 nothing */

#endif

/* SPDX-License-Identifier: MIT
 * Contexts and plans for code inside the project that works with their parts: packs, adapters. */
#ifndef GS_PLAN_MADE_H
#define GS_PLAN_MADE_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "loaded/loaded.h"
#include "record/record.h"
#include "table/table.h"

/* gs_open on an open device. The context then owns the device; it is closed also if this fails. device NULL: as gs_open. */
gs_status gs_context_open_on(gs_context **out, const gs_config *config, gs_device *device, gs_error *error);

/* Sets the recorder that counts the runs of plans created from now on. gs_open sets the one of $GEMMSMITH_RECORD. NULL: none, for adapters that count calls under
 * names of their own. */
void gs_context_record(gs_context *context, gs_recorder *recorder);

const gs_table *gs_context_table(const gs_context *context);   /* the rows of its tables for its device */
const gs_caps  *gs_context_caps(const gs_context *context);
const gs_row   *gs_context_row(const gs_context *context, const gs_problem *problem);   /* the row of this very problem; NULL: none */

const gs_loaded *gs_plan_loaded(const gs_plan *plan);   /* NULL: it runs no kernel of ours */
int              gs_plan_measured_chain(const gs_plan *plan);   /* what was measured about its dependent launches: 1 faster, -1 slower, 0 unknown */

#endif

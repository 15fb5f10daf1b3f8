/* SPDX-License-Identifier: MIT
 * Choosing by measuring: the rung of the ladder behind an exact row of a table. For src/plan alone. */
#ifndef GS_PLAN_MEASURE_H
#define GS_PLAN_MEASURE_H

#include <pthread.h>
#include <gemmsmith/plan.h>

#include "base/file.h"
#include "table/table.h"

/* What a context has measured. */
typedef struct gs_measurer {
    pthread_mutex_t lock;
    gs_table       *rows;            /* of a library's row, ratio says how it did against the best own kernel */
    char            path[GS_PATH];   /* where rows go; "": nowhere */
    bool            told;            /* that they cannot be written */
} gs_measurer;

/* tuned_path: of the settings. Reads $GEMMSMITH_MEASURE where the settings do not say whether plans are measured, and fills in the defaults of
 * those fields. PARSE: it is neither on nor off. */
gs_status gs_measurer_open(gs_measurer *measured, gs_config *config, const gs_caps *caps, gs_error *error);
void      gs_measurer_close(gs_measurer *measured);

/* Fills the plan with the winner of a race, or of an earlier one of this context. near: the row of a problem like it, or NULL; replace: a row
 * that the table has does not work. False: a line in the log says why not, and the plan is as it was. */
bool gs_plan_measure(gs_context *context, gs_plan *plan, const gs_row *near, bool replace);

#endif

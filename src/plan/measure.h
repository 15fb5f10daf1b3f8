/* SPDX-License-Identifier: MIT
 * Choosing a kernel by measuring, if no table has an exact row. For src/plan alone. */
#ifndef GS_PLAN_MEASURE_H
#define GS_PLAN_MEASURE_H

#include <pthread.h>
#include <gemmsmith/plan.h>

#include "base/file.h"
#include "table/table.h"

/* What a context has measured so far. */
typedef struct gs_measurer {
    pthread_mutex_t lock;
    gs_table       *rows;            /* in a row that names cuBLASLt, ratio is its speed relative to the best own kernel */
    char            path[GS_PATH];   /* the table file that rows are written to; "": none */
    bool            told;            /* a failure to write has been logged */
} gs_measurer;

/* tuned_path: from the settings. If the settings do not say whether plans are measured, reads $GEMMSMITH_MEASURE; sets the defaults of the measuring fields. PARSE:
 * the variable is neither on nor off. */
gs_status gs_measurer_open(gs_measurer *measured, gs_config *config, const gs_caps *caps, gs_error *error);
void      gs_measurer_close(gs_measurer *measured);

/* Fills the plan with the winner of a race, or of an earlier race of this context. near: the row of a similar problem, or NULL; replace: the table has a row for the
 * problem that does not work, to be replaced. False: the plan is unchanged and the reason is logged. */
bool gs_plan_measure(gs_context *context, gs_plan *plan, const gs_row *near, bool replace);

#endif

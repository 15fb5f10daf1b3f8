/* SPDX-License-Identifier: MIT
 * A worker's reply made a row of eval (report/result.h): where it was measured is added, and how our times compare. */
#ifndef CLI_EVAL_ROW_H
#define CLI_EVAL_ROW_H

#include "report/result.h"
#include "session.h"

/* What the request and the machine add to a reply. */
typedef struct eval_context {
    const cli_session *session;
    const gs_problem  *problem;
    const char        *title, *cache, *own;   /* own: "plan" or a schedule; "own": those of own_in */
    char               own_in[2][GS_SCHEDULE_TEXT];   /* by layout; empty: none */
    int64_t            seed;
} eval_context;

void eval_row_complete(json_t *reply, const eval_context *context);   /* turns a reply into a row */

#endif

/* SPDX-License-Identifier: MIT
 * Turns a worker's reply into a row (compare/result.h): adds where it was measured, and the ratios of our times to the reference's. */
#ifndef GS_COMPARE_REPLY_H
#define GS_COMPARE_REPLY_H

#include "compare/result.h"
#include "evaluate/session.h"

/* What a row needs in addition to the reply. */
typedef struct gs_reply_context {
    const gs_device_session *session;
    const gs_problem *problem;
    const char *title, *cache, *own;   /* own: "plan" or a schedule; "own": see own_in */
    char        own_in[2][GS_SCHEDULE_TEXT];   /* by layout; empty: none */
    int64_t     seed;
} gs_reply_context;

void gs_reply_complete(json_t *reply, const gs_reply_context *context);   /* modifies reply */

#endif

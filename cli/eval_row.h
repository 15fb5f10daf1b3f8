/* SPDX-License-Identifier: MIT
 * One row of eval: a problem with everything that was measured for it. It is JSON everywhere (printed, stored, resumed from):
 * the worker's reply, plus where it was measured and how our times compare. Layouts are compared with their own kind:
 * every entry against the library's reference contender in the same layout, and our best against the reference's best. */
#ifndef CLI_EVAL_ROW_H
#define CLI_EVAL_ROW_H

#include <jansson.h>

#include "bench/stats.h"
#include "schedule/schedule.h"
#include "session.h"

#define EVAL_ENTRIES   64
#define EVAL_REFERENCE "cublaslt-autotuning"
#define EVAL_PLAN      "plan"
#define EVAL_OWN       "own"

typedef struct eval_entry {
    const char *name, *layout, *detail, *message;   /* the row's */
    bool        ran, wrong, own;
    double      device_us, call_us, p50, p95, p99;  /* NaN: not measured */
    bool        compared;
    gs_ratio    ratio;                              /* the reference's time / this time, same layout */
} eval_entry;

typedef struct eval_row {
    json_t     *json;              /* owned */
    gs_problem  problem;
    const char *title;             /* the problem's text with all its layouts */
    bool        server;            /* ratios are of call time; else of device time */
    bool        resumed;
    bool        dependent;         /* measured with dependent launches of ours */
    bool        predicted;         /* by an emulated device: nothing was measured */
    double      floor_us;
    int         band;
    int         count;
    eval_entry  entry[EVAL_ENTRIES];
    bool        best_compared;
    gs_ratio    best;              /* our best layout against the reference's best, where both were measured */
    int         best_own, best_reference;
} eval_row;

/* What the request and the machine add to a reply. */
typedef struct eval_context {
    const cli_session *session;
    const gs_problem  *problem;
    const char        *title, *cache, *own;   /* own: "plan" or a schedule; "own": those of own_in */
    char               own_in[2][GS_SCHEDULE_TEXT];   /* by layout; empty: none */
    int64_t            seed;
} eval_context;

extern const char *const eval_bands[];     /* "under 1", "1-5", ... microseconds */

void      eval_row_complete(json_t *reply, const eval_context *context);   /* turns a reply into a row */
gs_status eval_row_read(eval_row *row, json_t *json, gs_error *error);     /* takes the reference; CORRUPT: no such row */
void      eval_row_free(eval_row *row);

const char *eval_row_mode(const eval_row *row);   /* "offline", "server", "offline+dependent", ..., or "predicted": what a file of rows calls it */

#endif

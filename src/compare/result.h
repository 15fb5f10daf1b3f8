/* SPDX-License-Identifier: MIT
 * One row of eval: a problem with everything that was measured for it. It is JSON everywhere (printed, stored, resumed from): what the worker measured,
 * where, and how our times compare. Layouts are compared with their own kind: every entry against the library's reference contender in the same layout,
 * and our best against the reference's best. */
#ifndef GS_COMPARE_RESULT_H
#define GS_COMPARE_RESULT_H

#include <jansson.h>

#include "bench/stats.h"
#include "schedule/schedule.h"

#define GS_RESULT_ENTRIES   64
#define GS_RESULT_REFERENCE "cublaslt-autotuning"
#define GS_RESULT_CUBLAS_GROUPS   "cublas-groups"     /* of problems with groups the fastest of these is the reference */
#define GS_RESULT_CUBLASLT_GROUPS "cublaslt-groups"
#define GS_RESULT_CUBLASLT_AT_ONCE GS_RESULT_CUBLASLT_GROUPS "-8"
#define GS_RESULT_PLAN      "plan"
#define GS_RESULT_MEASURED  "measured"   /* the plan that races when it is made */
#define GS_RESULT_OWN       "own"

typedef struct gs_result_entry {
    const char *name, *layout, *detail, *message, *untrusted;   /* the row's */
    bool        ran, wrong, own, reference;         /* reference: what others in its layout are compared with */
    double      device_us, call_us, p50, p95, p99;  /* NaN: not measured */
    bool        compared;
    gs_ratio    ratio;                              /* the reference's time / this time, same layout */
} gs_result_entry;

typedef struct gs_result {
    json_t     *json;              /* owned */
    gs_problem  problem;
    const char *title;             /* the problem's text with all its layouts */
    bool        server;            /* ratios are of call time; else of device time */
    bool        resumed;
    bool        dependent;         /* measured with dependent launches of ours */
    bool        behind;            /* each call stood behind an element-wise kernel over A, whose time is in it */
    bool        skewed;            /* the first groups had most rows */
    bool        predicted;         /* by an emulated device: nothing was measured */
    double      floor_us;
    int         band;
    int         count;
    gs_result_entry  entry[GS_RESULT_ENTRIES];
    bool        best_compared;
    gs_ratio    best;              /* our best layout against the reference's best, where both were measured */
    int         best_own, best_reference;
} gs_result;

extern const char *const gs_result_bands[];     /* "under 1", "1-5", ... microseconds */

gs_status gs_result_read(gs_result *row, json_t *json, gs_error *error);     /* takes the reference; CORRUPT: no such row */
void      gs_result_free(gs_result *row);

/* "offline", "server", "offline+dependent", "offline+skewed", ..., or "predicted": what a file of rows calls it */
#define GS_RESULT_MODE   40
#define GS_RESULT_SKEWED "+skewed"
#define GS_RESULT_BEHIND "+behind"
const char *gs_result_mode(const gs_result *row, char text[GS_RESULT_MODE]);

/* Whether a contender of a problem with groups may be the reference. */
bool gs_result_is_reference_of_groups(const char *name);

/* Whether a contender of a row is ours: it has the mark, or the name. */
bool gs_result_is_own(const json_t *entry, const char *own);

#endif

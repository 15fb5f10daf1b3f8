/* SPDX-License-Identifier: MIT
 * One row of eval: a problem with everything that was measured for it. It is JSON everywhere (printed, stored, resumed from): what the worker measured,
 * where, and the ratios of our times. Every entry is compared with the reference contender (cuBLASLt) in the same layout, and the best of our layouts with
 * the best of the reference's. */
#ifndef GS_COMPARE_RESULT_H
#define GS_COMPARE_RESULT_H

#include <jansson.h>

#include "bench/stats.h"
#include "schedule/schedule.h"

#define GS_RESULT_ENTRIES   64
#define GS_RESULT_REFERENCE "cublaslt-autotuning"
#define GS_RESULT_CUBLAS_GROUPS   "cublas-groups"     /* for problems with groups the fastest of these is the reference */
#define GS_RESULT_CUBLASLT_GROUPS "cublaslt-groups"
#define GS_RESULT_CUBLASLT_AT_ONCE GS_RESULT_CUBLASLT_GROUPS "-8"
#define GS_RESULT_PLAN      "plan"
#define GS_RESULT_MEASURED  "measured"   /* a plan that times candidates when it is created */
#define GS_RESULT_OWN       "own"

typedef struct gs_result_entry {
    const char *name, *layout, *detail, *message, *untrusted;   /* owned by the row */
    bool        ran, wrong, own, reference;         /* reference: entries of the same layout are compared with it */
    double      device_us, call_us, p50, p95, p99;  /* NaN: not measured */
    bool        compared;
    gs_ratio    ratio;                              /* the reference's time divided by this one, same layout */
} gs_result_entry;

typedef struct gs_result {
    json_t     *json;              /* owned */
    gs_problem  problem;
    const char *title;             /* the problem's text with all its layouts */
    bool        server;            /* ratios are of call time; otherwise of device time */
    bool        resumed;
    bool        dependent;         /* our kernels used dependent launches */
    bool        behind;            /* each call followed an element-wise kernel over A, whose time is included */
    bool        skewed;            /* the first groups had most rows */
    bool        predicted;         /* by an emulated device: nothing was measured */
    double      floor_us;
    int         band;
    int         count;
    gs_result_entry  entry[GS_RESULT_ENTRIES];
    bool        best_compared;
    gs_ratio    best;              /* our best layout against the reference's best, if both were measured */
    int         best_own, best_reference;
} gs_result;

extern const char *const gs_result_bands[];     /* "under 1", "1-5", ... microseconds */

gs_status gs_result_read(gs_result *row, json_t *json, gs_error *error);     /* takes ownership of json; CORRUPT: not a valid row */
void      gs_result_free(gs_result *row);

/* "offline", "server", "offline+dependent", "offline+skewed", ..., or "predicted": the column mode in a file of rows */
#define GS_RESULT_MODE   40
#define GS_RESULT_SKEWED "+skewed"
#define GS_RESULT_BEHIND "+behind"
const char *gs_result_mode(const gs_result *row, char text[GS_RESULT_MODE]);

/* Whether this contender may be the reference of a problem with groups. */
bool gs_result_is_reference_of_groups(const char *name);

/* Whether a contender of a row is ours: by its mark or its name. */
bool gs_result_is_own(const json_t *entry, const char *own);

#endif

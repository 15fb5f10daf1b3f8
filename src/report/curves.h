/* SPDX-License-Identifier: MIT
 * Collects curves point by point, or from rows, for the store; and writes stored curves as rows
 *
 *     series,name,x,y
 *     regret/learned,f16:64x64x64:tn seed 1,4,0.031 */
#ifndef GS_REPORT_CURVES_H
#define GS_REPORT_CURVES_H

#include "base/text.h"
#include "store/store.h"

#define GS_CURVES_HEAD "series,name,x,y"

typedef struct gs_curve_points {
    char    series[GS_CURVE_NAME], name[GS_CURVE_NAME];
    double *x, *y;
    int     count, capacity;
} gs_curve_points;

typedef struct gs_curves {
    gs_curve_points *list;
    int        count, capacity;
} gs_curves;   /* zero-initialise */

/* Appends a point to the curve, which is created if missing. MEMORY. */
gs_status gs_curves_add(gs_curves *curves, const char *series, const char *name, double x, double y, gs_error *error);

/* Reads rows of a file; y may be empty: no number. CORRUPT, with the line; NOT_FOUND, IO, MEMORY. */
gs_status gs_curves_read(gs_curves *curves, const char *path, gs_error *error);

/* A stored curve as rows, and as a JSON object. */
void gs_curve_rows(gs_text *out, const gs_curve *curve);
void gs_curve_object(gs_text *out, const gs_curve *curve);

gs_status gs_curves_keep(const gs_curves *curves, gs_store *store, const gs_session *session, gs_error *error);
void      gs_curves_free(gs_curves *curves);

#endif

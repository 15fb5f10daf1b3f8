/* SPDX-License-Identifier: MIT
 * Totals over the rows of many problems: counts, and the ratios of our contender. */
#ifndef GS_COMPARE_TOTALS_H
#define GS_COMPARE_TOTALS_H

#include "compare/result.h"

typedef enum gs_totals_group { GS_TOTALS_NN, GS_TOTALS_TN, GS_TOTALS_BEST } gs_totals_group;   /* BEST: our best layout against the reference's best */

typedef struct gs_totals_point {
    gs_totals_group group;
    int             band;
    gs_ratio        ratio;
} gs_totals_point;

typedef struct gs_totals {
    gs_totals_point *points;
    int              count, capacity;
    int              problems, failed, wrong, resumed;   /* failed, wrong: contenders of ours */
    bool             server;
} gs_totals;

typedef struct gs_totals_figures {
    int    count, faster, slower;
    double mean, median, worst;   /* of the ratios; mean: geometric */
} gs_totals_figures;

void gs_totals_add(gs_totals *totals, const gs_result *row);
void gs_totals_free(gs_totals *totals);

/* band -1: all. false: nothing in that group and band, or no memory. */
bool gs_totals_of(const gs_totals *totals, gs_totals_group group, int band, gs_totals_figures *out);

#endif

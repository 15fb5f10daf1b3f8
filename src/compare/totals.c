/* SPDX-License-Identifier: MIT */
#include "compare/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void add_point(gs_totals *totals, gs_totals_group group, int band, const gs_ratio *ratio)
{
    if (!gs_grow(&totals->points, totals->count, &totals->capacity, sizeof *totals->points)) return;
    totals->points[totals->count++] = (gs_totals_point){group, band, *ratio};
}

void gs_totals_add(gs_totals *totals, const gs_result *row)
{
    totals->problems++;
    totals->resumed += row->resumed;
    totals->server = row->server;
    for (int i = 0; i < row->count; i++) {
        const gs_result_entry *const entry = &row->entry[i];
        if (!entry->own) continue;
        if (entry->wrong) totals->wrong++;
        if (!entry->ran) totals->failed++;
        if (entry->compared) add_point(totals, entry->layout[0] == 't' ? GS_TOTALS_TN : GS_TOTALS_NN, row->band, &entry->ratio);
    }
    if (row->best_compared) add_point(totals, GS_TOTALS_BEST, row->band, &row->best);
}

bool gs_totals_of(const gs_totals *totals, gs_totals_group group, int band, gs_totals_figures *out)
{
    double *const values = totals->count > 0 ? malloc((size_t)totals->count * sizeof *values) : NULL;
    *out = (gs_totals_figures){.worst = INFINITY};
    for (int i = 0; values && i < totals->count; i++) {
        const gs_totals_point *const point = &totals->points[i];
        if (point->group != group || (band >= 0 && point->band != band)) continue;
        values[out->count++] = point->ratio.median;
        out->faster += point->ratio.verdict == GS_FASTER;
        out->slower += point->ratio.verdict == GS_SLOWER;
        out->worst = fmin(out->worst, point->ratio.median);
    }
    if (out->count > 0) out->mean = gs_geomean(values, out->count);
    if (out->count > 0) out->median = gs_median(values, out->count);
    free(values);
    return out->count > 0;
}

void gs_totals_free(gs_totals *totals)
{
    free(totals->points);
    *totals = (gs_totals){0};
}

/* SPDX-License-Identifier: MIT
 * The time model: the floor of a problem, and the common parts of the families' models, which fill gs_work; work.c computes the time.
 * Predictions have to rank well, not to be exact; docs/internals/time-model.md has their errors. */
#include <math.h>

#include "base/error.h"
#include "problem/layout.h"
#include "schedule/model.h"

static double count(int64_t m, int64_t n, int64_t batch) { return (double)m * (double)n * (double)batch; }

/* ---- groups ---- */

double gs_groups_filled(const gs_problem *p)
{
    const double groups = (double)p->groups;
    if (gs_group_room(p)) return groups;
    return p->groups == 0 ? 1 : fmax(1, groups * (1 - pow(1 - 1 / groups, (double)p->m)));
}

gs_problem gs_problem_average(const gs_problem *p)
{
    gs_problem average = *p;
    if (p->grouping == GS_GROUPS_K) {
        average.grouping = 0;
        average.k = (p->k + p->batch - 1) / p->batch;
        return average;
    }
    if (!p->groups) return average;
    average.groups = average.grouping = 0;
    average.batch = (int64_t)lround(gs_groups_filled(p));
    average.m = (p->m + average.batch - 1) / average.batch;
    return average;
}

/* Sorted groups: on average the last tile of a group is half full. */
double gs_group_tiles(const gs_problem *p, double rows)
{
    const double filled = gs_groups_filled(p), room = (double)gs_group_room(p);
    if (room > 0) return filled * gs_ceil_div(room, rows);
    return fmax(filled, (double)p->m / rows + filled / 2);
}

/* ---- the floor ---- */

double gs_compulsory_bytes(const gs_problem *p)
{
    const double in = (double)gs_type_size(p->in), out = (double)gs_type_size(p->out);
    const double d = out * count(p->m, p->n, p->batch);
    if (p->grouping == GS_GROUPS_K) return in * (count(p->m, p->k, 1) + count(p->n, p->k, 1)) + (p->beta != 0 ? 2 * d : d);
    return in * (count(p->m, p->k, p->batch) + count(gs_columns_of_b(p), p->k, p->batch) * gs_groups_filled(p)) + (p->beta != 0 ? 2 * d : d);
}

double gs_roofline_us(const gs_problem *problem, const gs_caps *caps, const gs_rates *rates)
{
    const double peak = caps->tensor_flops * caps->sms * caps->clock_mhz;
    return fmax(gs_problem_flops(problem) / (rates->sustained * peak), gs_compulsory_bytes(problem) / (caps->memory_gbs * 1e3));
}

double gs_floor_us(const gs_problem *problem, const gs_caps *caps)
{
    return fmax(gs_roofline_us(problem, caps, gs_rates_of(caps)), caps->launch_us);
}

int gs_floor_band(const gs_problem *problem, const gs_caps *caps)
{
    static const double limits_us[] = {1, 5, 20, 100, 1000};
    const double us = gs_roofline_us(problem, caps, gs_rates_of(caps));
    int band = 0;
    while (band < (int)GS_COUNT(limits_us) && us >= limits_us[band]) band++;
    return band;
}

/* ---- device memory ---- */

/* Tiles are walked in groups of tile rows (or columns, with A and B exchanged). The operand across the groups is read once per group unless it stays in L2
 * as a whole; a group's own panel is read once if it fits in L2, else again for each set of resident tiles. */
double gs_memory_bytes(const gs_walk *w, const gs_problem *p, const gs_profile *profile)
{
    const double in = (double)gs_type_size(p->in), kept = profile->rates.l2_kept * profile->caps.l2_bytes;
    const double a = in * (double)p->m * (double)p->k, b = in * (double)p->n * (double)p->k;
    const double own = w->along_n ? b : a, across = w->along_n ? a : b;
    const double rows = fmax(1, gs_ceil_div((double)p->m, w->bm)), columns = fmax(1, gs_ceil_div((double)p->n, w->bn));
    const double own_tiles = w->along_n ? columns : rows, across_tiles = w->along_n ? rows : columns;
    const double group = fmin(w->group, own_tiles);
    const double panel = own / own_tiles * group;
    const double groups_at_once = fmax(1, floor(w->resident / (group * across_tiles)));
    const double sweeps = across <= kept ? 1 : gs_ceil_div(own_tiles, group * groups_at_once);
    const double rereads = panel <= kept ? 1 : gs_ceil_div(across_tiles, fmax(1, w->resident / group));
    return gs_compulsory_bytes(p) + (double)p->batch * (across * (sweeps - 1) + own * (rereads - 1));
}

/* ---- L2 ---- */

/* Assumes that single blocks fill one GPC after the other, and that clusters are dealt to the GPCs in turn (observed on an H200, docs/internals/time-model.md). */
double gs_fresh(const gs_order *o)
{
    const double clusters = fmax(1, fmin(fmin(floor(GS_GPC_SMS / o->cluster), floor(o->clusters / GS_GPCS)), o->lines * o->length));   /* in a GPC */
    const double group = fmin(o->group, o->lines), stride = o->cluster > 1 ? GS_GPCS : 1;
    double across = fmin(clusters, fmax(1, group / stride));
    const double along = fmin(clusters / across, fmax(1, o->length * fmin(1, group / stride)));
    across = clusters / along;
    const double different = across * o->line_blocks * o->line_rows + along * o->along_blocks * o->along_rows;
    return fmin(1, different / (clusters * o->line_blocks * o->along_blocks * (o->line_rows + o->along_rows)));
}

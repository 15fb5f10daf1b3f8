/* SPDX-License-Identifier: MIT
 * What the families' shares of the time model have in common. For src/schedule and src/family. */
#ifndef GS_SCHEDULE_MODEL_H
#define GS_SCHEDULE_MODEL_H

#include <math.h>

#include "schedule/work.h"

/* Bytes of A, B, D, and C where it is read, once each. */
double gs_compulsory_bytes(const gs_problem *problem);

/* The floor of a problem without the launch: its flops at the sustained rate, or its bytes. */
double gs_roofline_us(const gs_problem *problem, const gs_caps *caps, const gs_rates *rates);

/* Groups whose sizes nobody knows, by what they are where every row goes to any group, masked ones full: how many are not empty, a batch of these in place of the problem (any
 * other problem is returned as it is), and how many tiles of so many rows all of them have. */
double     gs_groups_filled(const gs_problem *problem);
gs_problem gs_problem_average(const gs_problem *problem);
double     gs_group_tiles(const gs_problem *problem, double rows);

/* Which tiles are walked together. */
typedef struct gs_walk {
    double bm, bn;        /* of a tile */
    double group;         /* tile rows, or columns, that are walked together */
    bool   along_n;       /* columns */
    double resident;      /* tiles that run together, whole device */
} gs_walk;

/* How blocks are launched tile by tile: lines of tiles (rows or columns of them) in groups, across the lines of a group first. */
typedef struct gs_order {
    double lines, length;               /* clusters: number of lines, and of clusters in a line */
    double group;                       /* lines */
    double line_rows, along_rows;       /* rows of the operands that a block reads: of the one that its line shares, and of the other one */
    double line_blocks, along_blocks;   /* blocks of a cluster across the lines and along them */
    double cluster;                     /* all its blocks, also those that share K */
    double clusters;                    /* of the launch */
} gs_order;

/* gs_work.fresh: of the rows that the blocks of a GPC read, how many are not the same. */
double gs_fresh(const gs_order *order);

/* Bytes between device memory and L2. */
double gs_memory_bytes(const gs_walk *walk, const gs_problem *problem, const gs_profile *profile);

static inline double gs_ceil_div(double a, double b) { return ceil(a / b); }

/* The part of a tile's extent that lies in the matrix, for most tiles. */
static inline double gs_inside(double tile, int64_t extent) { return fmin(tile, fmax((double)extent, 1)); }

/* Rows of a tile that lie outside the matrix, on average over the tiles that are not wholly outside. */
static inline double gs_outside(double tile, int64_t extent)
{
    const double inner = fmax((double)extent, 1);
    return tile - inner / gs_ceil_div(inner, tile);
}

#endif

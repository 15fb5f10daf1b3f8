/* SPDX-License-Identifier: MIT
 * Common parts of the families' time models. For src/schedule and src/family. */
#ifndef GS_SCHEDULE_MODEL_H
#define GS_SCHEDULE_MODEL_H

#include <math.h>

#include "schedule/work.h"

/* Bytes of A, B, D, and C if it is read, each counted once. */
double gs_compulsory_bytes(const gs_problem *problem);

/* The floor without the launch: the larger of flops at the sustained rate and bytes at the memory bandwidth, in microseconds. */
double gs_roofline_us(const gs_problem *problem, const gs_caps *caps, const gs_rates *rates);

/* Groups of unknown sizes: expected values if each row belongs to a random group (masked groups: all rows used). The number of groups that are not empty; a batch of equal matrices
 * that stands for the groups (other problems are returned unchanged); the number of tiles of `rows` rows in all groups. */
double     gs_groups_filled(const gs_problem *problem);
gs_problem gs_problem_average(const gs_problem *problem);
double     gs_group_tiles(const gs_problem *problem, double rows);

/* The order in which tiles are walked. */
typedef struct gs_walk {
    double bm, bn;        /* of a tile */
    double group;         /* number of tile rows, or columns, that are walked together */
    bool   along_n;       /* groups are of columns */
    double resident;      /* tiles that run at the same time on the whole device */
} gs_walk;

/* The order in which blocks are launched: lines of tiles (tile rows or columns) in groups; within a group, across its lines first. */
typedef struct gs_order {
    double lines, length;               /* in clusters: number of lines, and length of a line */
    double group;                       /* lines in a group */
    double line_rows, along_rows;       /* operand rows that a block reads: of the operand that its line shares, and of the other one */
    double line_blocks, along_blocks;   /* blocks of a cluster across the lines and along them */
    double cluster;                     /* blocks of a cluster, including those that share K */
    double clusters;                    /* of the launch */
} gs_order;

/* gs_work.fresh: distinct rows as a share of all rows that the blocks of a GPC read at about the same time. */
double gs_fresh(const gs_order *order);

/* Bytes between device memory and L2. */
double gs_memory_bytes(const gs_walk *walk, const gs_problem *problem, const gs_profile *profile);

static inline double gs_ceil_div(double a, double b) { return ceil(a / b); }

/* How much of a tile's extent lies in the matrix, for the first tile. */
static inline double gs_inside(double tile, int64_t extent) { return fmin(tile, fmax((double)extent, 1)); }

/* Rows of a tile that lie outside the matrix, on average over the tiles that are not wholly outside. */
static inline double gs_outside(double tile, int64_t extent)
{
    const double inner = fmax((double)extent, 1);
    return tile - inner / gs_ceil_div(inner, tile);
}

#endif

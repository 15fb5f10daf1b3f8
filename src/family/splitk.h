/* SPDX-License-Identifier: MIT
 * Family splitk: the order of its parameters, and the shape that a schedule string gives for a problem. For its own files and tests. */
#ifndef GS_FAMILY_SPLITK_H
#define GS_FAMILY_SPLITK_H

#include "schedule/schedule.h"

enum { GS_SPLITK_TILE, GS_SPLITK_STAGES, GS_SPLITK_ORDER, GS_SPLITK_CLUSTER, GS_SPLITK_SPLIT, GS_SPLITK_SIZES, GS_SPLITK_ROWS };

/* A splitk schedule string applied to a problem: the constants of kernels/splitk.cu. */
typedef struct gs_splitk_shape {
    int  bm, bn, bk, stages;
    bool swap_ab, fixed;           /* order ba; sizes compiled in */
    bool feeds, shifts;           /* threads load A or B; consumers shift the rows of both */
    int  cm, cn, ck, tickets;     /* blocks per cluster along M, N, K; shares of K that are combined in the workspace */
    int  shares;                  /* of K: ck * tickets */
    int  bx, by;                  /* tile on wgmma's 64-row side, and on its column side */
    int  consumers;               /* consumer warpgroups */
    int  accumulators;            /* per thread */
    int  slice_bytes;             /* bytes of sums that one of ck blocks stores */
    int  rows_a, rows_b;          /* rows per box of A, and of B in layout tn */
    int64_t tiles_m, tiles_n;
    int64_t blocks;               /* k-blocks of the largest share */
    int  stage;                   /* bytes of a stage, including padding */
    int  smem;                    /* bytes per block */
} gs_splitk_shape;
gs_splitk_shape gs_splitk_shape_of(const gs_schedule *schedule, const gs_problem *problem);

#endif

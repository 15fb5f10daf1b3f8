/* SPDX-License-Identifier: MIT
 * Family splitk: its parameters, in order, and what a schedule string means for a problem. For its own files and tests. */
#ifndef GS_FAMILY_SPLITK_H
#define GS_FAMILY_SPLITK_H

#include "schedule/schedule.h"

enum { GS_SPLITK_TILE, GS_SPLITK_STAGES, GS_SPLITK_ORDER, GS_SPLITK_CLUSTER, GS_SPLITK_SPLIT, GS_SPLITK_SIZES, GS_SPLITK_ROWS };

/* What a splitk schedule string means for a problem: the constants of kernels/splitk.cu. */
typedef struct gs_splitk_shape {
    int  bm, bn, bk, stages;
    bool swap_ab, fixed;           /* order ba; sizes compiled in */
    bool feeds, shifts;           /* threads bring A or B; consumers shift the rows of both */
    int  cm, cn, ck, tickets;     /* blocks of a cluster along M, N, K; shares of K that meet in the workspace */
    int  shares;                  /* of K: ck * tickets */
    int  bx, by;                  /* of the tile: wgmma's 64-row side, and its columns */
    int  consumers;               /* warpgroups */
    int  accumulators;            /* of a thread */
    int  slice_bytes;             /* of a tile's sums: what one of ck blocks stores */
    int  rows_a, rows_b;          /* of a box of A, and of B in layout tn */
    int64_t tiles_m, tiles_n;
    int64_t blocks;               /* k-blocks of the largest share */
    int  stage;                   /* bytes of a stage, as copies leave it */
    int  smem;                    /* of a block */
} gs_splitk_shape;
gs_splitk_shape gs_splitk_shape_of(const gs_schedule *schedule, const gs_problem *problem);

#endif

/* SPDX-License-Identifier: MIT
 * Family ws: the order of its parameters, and the shape that a schedule string gives for a block. For its own files and tests. */
#ifndef GS_FAMILY_WS_H
#define GS_FAMILY_WS_H

#include "schedule/schedule.h"

enum { GS_WS_TILE, GS_WS_STAGES, GS_WS_CLUSTER, GS_WS_MODE, GS_WS_RASTER, GS_WS_ROWS };

/* How the consumers of a ws block work. COOP: they share a tile. PP: each has its own, in alternation. LAG: they share a tile and store it during the next one. */
enum { GS_WS_COOP, GS_WS_PP, GS_WS_LAG };

/* A ws schedule string applied to a problem. Mirrors kernels/ws.cu. */
typedef struct gs_ws_shape {
    int  mode;           /* GS_WS_COOP, ... */
    bool first;          /* D is stored with the L2 policy evict_first */
    int  consumers;      /* consumer warpgroups */
    bool swap_ab;        /* B's columns are on wgmma's 64-row side: D is computed transposed */
    int  bx, by;         /* tile on wgmma's 64-row side, and on its column side */
    int  wx, wy;         /* the same per consumer */
    int  dy;             /* columns of D per consumer along the tile's column side: half of wy if gate and up alternate there */
    int  accumulators;   /* 32-bit accumulator registers per consumer thread */
    int  chunk;          /* elements of dy per part of the epilogue: 128 bytes */
    int  parts;          /* parts of a consumer's epilogue */
    int  slabs;          /* epilogue buffers per consumer warp: as many as are useful and fit beside the stages, at least 1 */
    int  smem;           /* bytes per block: alignment slack, stages, slabs, barriers */
} gs_ws_shape;
gs_ws_shape gs_ws_shape_of(const gs_schedule *schedule, const gs_problem *problem);

#endif

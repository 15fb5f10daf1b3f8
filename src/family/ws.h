/* SPDX-License-Identifier: MIT
 * Family ws: its parameters, in order, and what a schedule string means for a block. For its own files and tests. */
#ifndef GS_FAMILY_WS_H
#define GS_FAMILY_WS_H

#include "schedule/schedule.h"

enum { GS_WS_TILE, GS_WS_STAGES, GS_WS_CLUSTER, GS_WS_MODE, GS_WS_RASTER, GS_WS_ROWS };

/* How the consumers of a ws block work: they share a tile; each has its own, in turns; they share one, and store it during the next. */
enum { GS_WS_COOP, GS_WS_PP, GS_WS_LAG };

/* What a ws schedule string means for a block. Mirrors kernels/ws.cu. */
typedef struct gs_ws_shape {
    int  mode;           /* GS_WS_COOP, ... */
    bool first;          /* D is the first to leave L2 */
    int  consumers;      /* warpgroups */
    bool swap_ab;        /* B's columns meet wgmma's 64-row side: D is computed transposed */
    int  bx, by;         /* of the tile: wgmma's 64-row side, and its columns */
    int  wx, wy;         /* the same of a consumer */
    int  dy;             /* of D, what a consumer has along the tile's columns: half of wy where gate and up alternate there */
    int  accumulators;   /* 32-bit registers of a consumer thread */
    int  chunk;          /* of dy, what a part of the epilogue has: 128 bytes */
    int  parts;          /* of a consumer's epilogue */
    int  slabs;          /* epilogue buffers of a consumer warp: as many as are of use and fit beside the stages, at least 1 */
    int  smem;           /* bytes of a block: alignment slack, stages, slabs, barriers */
} gs_ws_shape;
gs_ws_shape gs_ws_shape_of(const gs_schedule *schedule, const gs_problem *problem);

#endif

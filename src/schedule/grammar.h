/* SPDX-License-Identifier: MIT
 * Access to the grammar tables, and the slots of each family by name. Inside the schedule layer and for the families' builders. */
#ifndef GS_SCHEDULE_GRAMMAR_H
#define GS_SCHEDULE_GRAMMAR_H

#include "schedule/schedule.h"

typedef struct gs_grammar {
    const gs_slot *slots;
    int            slot_count;
} gs_grammar;

extern const gs_grammar gs_grammars[GS_FAMILIES];

enum { GS_WS_TILE, GS_WS_STAGES, GS_WS_CLUSTER, GS_WS_MODE, GS_WS_RASTER };
enum { GS_MMA_TILE, GS_MMA_WARPS, GS_MMA_STAGES, GS_MMA_RASTER };
enum { GS_SLICEK_TILE, GS_SLICEK_WARPS, GS_SLICEK_DEPTH, GS_SLICEK_SPLIT, GS_SLICEK_SIZES, GS_SLICEK_FETCH };
enum { GS_SPLITK_TILE, GS_SPLITK_STAGES, GS_SPLITK_ORDER, GS_SPLITK_CLUSTER, GS_SPLITK_SPLIT, GS_SPLITK_SIZES };
enum { GS_GEMV_TILE, GS_GEMV_WARPS, GS_GEMV_DEPTH, GS_GEMV_RING, GS_GEMV_AHEAD, GS_GEMV_SPLIT, GS_GEMV_SIZES };

/* One family's rules: src/schedule/<family>.c. check assumes that the problem itself is valid. */
gs_status    gs_check_simple(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
gs_status    gs_check_mma(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
gs_status    gs_check_ws(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
gs_status    gs_check_slicek(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
gs_status    gs_check_splitk(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
gs_status    gs_check_gemv(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
gs_resources gs_resources_simple(const gs_schedule *, const gs_problem *, const gs_caps *);
gs_resources gs_resources_mma(const gs_schedule *, const gs_problem *, const gs_caps *);
gs_resources gs_resources_ws(const gs_schedule *, const gs_problem *, const gs_caps *);
gs_resources gs_resources_slicek(const gs_schedule *, const gs_problem *, const gs_caps *);
gs_resources gs_resources_splitk(const gs_schedule *, const gs_problem *, const gs_caps *);
gs_resources gs_resources_gemv(const gs_schedule *, const gs_problem *, const gs_caps *);

/* Blocks of an mma schedule that a multiprocessor is expected to hold: the compiler takes fewer registers than resources promise. */
int gs_mma_resident(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* How the consumers of a ws block work: they share a tile; each has its own, in turns; they share one, and store it during the next. */
enum { GS_WS_COOP, GS_WS_PP, GS_WS_LAG };

/* What a ws schedule string means for a block. Mirrors kernels/ws.cu. */
typedef struct gs_ws_shape {
    int  mode;           /* GS_WS_COOP, ... */
    bool first;          /* D is the first to leave L2 */
    int  consumers;      /* warpgroups */
    bool swap_ab;         /* B's columns meet wgmma's 64-row side: D is computed transposed */
    int  bx, by;         /* of the tile: wgmma's 64-row side, and its columns */
    int  wx, wy;         /* the same of a consumer */
    int  accumulators;   /* 32-bit registers of a consumer thread */
    int  chunk;          /* of wy, what a part of the epilogue has: 128 bytes */
    int  parts;          /* of a consumer's epilogue */
    int  slabs;          /* epilogue buffers of a consumer warp: as many as are of use and fit beside the stages, at least 1 */
    int  smem;           /* bytes of a block: alignment slack, stages, slabs, barriers */
} gs_ws_shape;
gs_ws_shape gs_ws_shape_of(const gs_schedule *schedule, const gs_problem *problem);

/* What a splitk schedule string means for a problem: the constants of kernels/splitk.cu. */
typedef struct gs_splitk_shape {
    int  bm, bn, bk, stages;
    bool swap_ab, fixed;           /* order ba; sizes compiled in */
    int  cm, cn, ck, tickets;     /* blocks of a cluster along M, N, K; shares of K that meet in the workspace */
    int  shares;                  /* of K: ck * tickets */
    int  bx, by;                  /* of the tile: wgmma's 64-row side, and its columns */
    int  consumers;               /* warpgroups */
    int  accumulators;            /* of a thread */
    int  slice_bytes;             /* of a tile's sums: what one of ck blocks stores */
    int  rows_a, rows_b;          /* of a box of A, and of B in layout tn */
    int64_t tiles_m, tiles_n;
    int64_t blocks;               /* k-blocks of the largest share */
    int  smem;                    /* bytes of a block */
} gs_splitk_shape;
gs_splitk_shape gs_splitk_shape_of(const gs_schedule *schedule, const gs_problem *problem);

/* D is stored by element: its rows do not start or end at multiples of 16 bytes; for f32 8, and whole pairs. */
bool gs_splitk_direct(const gs_problem *problem);

/* D is stored by element: a tensor copy needs rows that start at multiples of 16 bytes, and it writes whole 16-byte units, also
 * beyond the last column: into the rows' padding, and past the end of D. */
bool gs_ws_direct(const gs_problem *problem);

/* Whether gemv takes the few columns of B for the few rows of A: D is then computed transposed. Only tn is symmetric. */
bool gs_gemv_swapped(const gs_problem *problem);

/* Widest access, in elements (8, 4, 2, 1), that the leading dimensions of A and B allow, when pointers are 16-byte aligned. */
int gs_problem_vector(const gs_problem *problem);

#endif

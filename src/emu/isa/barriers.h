/* SPDX-License-Identifier: MIT
 * The state of a block's named barriers and of the cluster's barrier, for barriers.c and sync.c. */
#ifndef GS_EMU_ISA_BARRIERS_H
#define GS_EMU_ISA_BARRIERS_H

#include "emu/isa/sync.h"

#define GS_EMU_NAMED      16
#define GS_EMU_MOST_WARPS 32   /* per block: 1024 threads */

typedef struct gs_emu_named_barrier {
    uint32_t arrived;       /* threads */
    uint32_t expected;      /* number that the participants give; 0: all threads of the block */
    uint32_t generation;
    uint64_t waiting;       /* mask of warps that wait for this generation */
    uint32_t yes, voted;    /* for reductions: threads whose predicate is true, threads that voted */
    uint32_t result_yes[GS_EMU_MOST_WARPS], result_voted[GS_EMU_MOST_WARPS];   /* results of the generation that the warp waited for */
    gs_emu_vector *clock;
} gs_emu_named_barrier;

struct gs_emu_barriers {
    gs_emu_named_barrier named[GS_EMU_NAMED];
    gs_emu_vector *fence[GS_EMU_MOST_WARPS];     /* what a warp's last fence released; NULL: none */
    gs_emu_vector *looked;                       /* what warps of the block have seen by relaxed loads of flags in global memory; other warps can acquire it by a
                                                    barrier and a fence; NULL: nothing */
    gs_emu_vector *relaxed[GS_EMU_MOST_WARPS];   /* what a warp acquired by relaxed waits; its next fence makes it known; NULL: nothing */
    int held[GS_EMU_MOST_WARPS];   /* registers per thread that each warp holds */
    int spare;              /* free registers of the block, divided by 32 */
};

typedef struct gs_emu_cluster_lanes {
    uint32_t came;          /* lanes that arrived in the current generation */
    uint32_t owe;           /* lanes that arrived and have not waited since */
    uint32_t waited;        /* number of the last generation that a lane waited for; the first is 1 */
} gs_emu_cluster_lanes;

struct gs_emu_cluster_barrier {
    uint32_t arrivals;      /* in the current generation */
    uint32_t generation;    /* completed ones */
    gs_emu_cluster_lanes *warp;
    gs_emu_vector *now, *done;
};

#endif

/* SPDX-License-Identifier: MIT
 * The state of a block's named barriers and of the cluster's barrier, for barriers.c and sync.c. */
#ifndef GS_EMU_ISA_BARRIERS_H
#define GS_EMU_ISA_BARRIERS_H

#include "emu/isa/sync.h"

#define GS_EMU_NAMED      16
#define GS_EMU_MOST_WARPS 32   /* of a block: 1024 threads */

typedef struct gs_emu_named_barrier {
    uint32_t arrived;       /* threads */
    uint32_t expected;      /* as the participants say; 0: all threads of the block */
    uint32_t generation;
    uint64_t waiting;       /* warps that wait for this generation */
    uint32_t yes, voted;    /* of reductions: threads whose predicate holds, threads that voted */
    uint32_t result_yes[GS_EMU_MOST_WARPS], result_voted[GS_EMU_MOST_WARPS];   /* of the generation that the warp waited for */
    gs_emu_vector *clock;
} gs_emu_named_barrier;

struct gs_emu_barriers {
    gs_emu_named_barrier named[GS_EMU_NAMED];
    gs_emu_vector *fence[GS_EMU_MOST_WARPS];     /* what a warp's last fence released; NULL: none yet */
    gs_emu_vector *looked;                       /* what relaxed looks at flags in global memory showed one of its warps: others may hear of it at a barrier, and fence then; NULL: nothing yet */
    gs_emu_vector *relaxed[GS_EMU_MOST_WARPS];   /* what it saw by relaxed waits, which its next fence acquires; NULL: nothing yet */
    int held[GS_EMU_MOST_WARPS];   /* registers per thread that a warp holds */
    int spare;              /* registers of the block that nobody holds, per 32 threads */
};

typedef struct gs_emu_cluster_lanes {
    uint32_t came;          /* that arrived in the present generation */
    uint32_t owe;           /* that arrived and have not waited since */
    uint32_t waited;        /* number of the last generation that some of them waited for; the first is 1 */
} gs_emu_cluster_lanes;

struct gs_emu_cluster_barrier {
    uint32_t arrivals;      /* in the present generation */
    uint32_t generation;    /* completed ones */
    gs_emu_cluster_lanes *warp;
    gs_emu_vector *now, *done;
};

#endif

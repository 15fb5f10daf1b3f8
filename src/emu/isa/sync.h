/* SPDX-License-Identifier: MIT
 * Barriers of blocks, clusters and shared memory, and the end of warps: what the files of the instruction set ask of each other, and
 * those who run a launch of them. */
#ifndef GS_EMU_ISA_SYNC_H
#define GS_EMU_ISA_SYNC_H

#include "emu/isa/isa.h"
#include "emu/machine/warp.h"

/* ---- exit.c ---- */

gs_emu_exec gs_emu_exit;

/* ---- barriers.c and sync.c: named barriers, the cluster's barrier, setmaxnreg ---- */

bool gs_emu_barriers_create(gs_emu_block *block);
void gs_emu_barriers_reset(gs_emu_block *block);
void gs_emu_barriers_free(gs_emu_block *block);
void gs_emu_barriers_exit(gs_emu_warp *w);      /* a warp ended: barriers that wait for all threads may be complete */
void gs_emu_registers_end(gs_emu_warp *last, const gs_emu_op *op);   /* the last one of the block: the four of a warpgroup must have changed their registers together */
bool gs_emu_cluster_barrier_create(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_reset(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_free(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_check(gs_emu_cluster *cluster);   /* completes it when all have arrived */

/* A finding where nothing says that another block of the cluster has begun: neither their barrier nor anything that it did. */
void gs_emu_cluster_meet(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_block *block);
uint32_t gs_emu_cluster_waited(const gs_emu_warp *w);   /* number of the cluster barrier's last generation that w waited for; the first is 1 */
void gs_emu_fence_acquire(gs_emu_warp *w, const gs_emu_vector *from, bool relaxed);   /* knows of it now; relaxed: from w's next fence on. With the checker */
void gs_emu_fence_learn(gs_emu_warp *w, const uint32_t *clock, bool relaxed);   /* the same of what a flag in global memory carries; relaxed: each warp of the block from its next fence on that reaches other blocks */
void gs_emu_fence_release(gs_emu_warp *w, gs_emu_vector *into);   /* a relaxed arrival: joins what w's last fence released */
void gs_emu_sync_describe(gs_emu_warp *w, const gs_emu_op *op, char *text, size_t size);   /* what a waiting warp waits for */

/* ---- mbarrier.c ---- */

bool gs_emu_mbarriers_create(gs_emu_block *block);
void gs_emu_mbarriers_reset(gs_emu_block *block);
void gs_emu_mbarriers_free(gs_emu_block *block);
/* w's initialisations are visible to the asynchronous proxy; with `released` (fence.mbarrier_init) also to who waits for w's next arrival
 * at the cluster's barrier, be that relaxed. */
void gs_emu_mbarriers_fence(gs_emu_warp *w, bool released);
void gs_emu_mbarriers_announce(gs_emu_warp *w, uint32_t generation);   /* w arrives for that generation of the cluster's barrier */
void gs_emu_mbarrier_describe(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_fragment *fragment, char *text, size_t size);

#endif

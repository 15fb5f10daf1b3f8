/* SPDX-License-Identifier: MIT
 * Barriers of blocks, clusters and shared memory, and the end of warps: functions for other files of the instruction set, and for running a launch. */
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
void gs_emu_barriers_exit(gs_emu_warp *w);      /* a warp ended: completes barriers that wait for all threads */
void gs_emu_registers_end(gs_emu_warp *last, const gs_emu_op *op);   /* called for the last warp of the block: all four warps of a warpgroup must have changed their
                                                                        registers */
bool gs_emu_cluster_barrier_create(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_reset(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_free(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_check(gs_emu_cluster *cluster);   /* completes it if all have arrived */

/* Reports a finding if w does not know that another block of the cluster has begun, neither by their barrier nor by anything that the block did. */
void gs_emu_cluster_meet(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_block *block);
uint32_t gs_emu_cluster_waited(const gs_emu_warp *w);   /* number of the cluster barrier's last generation that w waited for; the first is 1 */
void gs_emu_fence_acquire(gs_emu_warp *w, const gs_emu_vector *from, bool relaxed);   /* w knows it now; relaxed: from its next fence on. Only with the checker */
void gs_emu_fence_learn(gs_emu_warp *w, const uint32_t *clock, bool relaxed);   /* the same for what a flag in global memory carries; relaxed: each warp of the block knows it from
                                                                                   its next fence of scope cluster or wider */
void gs_emu_fence_release(gs_emu_warp *w, gs_emu_vector *into);   /* a relaxed arrival: adds what w's last fence released */
void gs_emu_sync_describe(gs_emu_warp *w, const gs_emu_op *op, char *text, size_t size);   /* describes what a waiting warp waits for */

/* ---- mbarrier.c ---- */

bool gs_emu_mbarriers_create(gs_emu_block *block);
void gs_emu_mbarriers_reset(gs_emu_block *block);
void gs_emu_mbarriers_free(gs_emu_block *block);
/* w's initialisations become visible to the asynchronous proxy; with `released` (fence.mbarrier_init) also to warps that wait for w's next arrival at the cluster's
 * barrier, even a relaxed one. */
void gs_emu_mbarriers_fence(gs_emu_warp *w, bool released);
void gs_emu_mbarriers_announce(gs_emu_warp *w, uint32_t generation);   /* w arrives for this generation of the cluster's barrier */
void gs_emu_mbarrier_describe(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_fragment *fragment, char *text, size_t size);

#endif

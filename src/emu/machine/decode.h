/* SPDX-License-Identifier: MIT
 * What decoding and running share: control flow, turns of a warp, barriers; the calls between decode.c, flow.c, warp.c, run.c,
 * sync.c and mbarrier.c. */
#ifndef GS_EMU_MACHINE_DECODE_H
#define GS_EMU_MACHINE_DECODE_H

#include "emu/machine/machine.h"

/* ---- flow.c: where divergent lanes meet ---- */

/* Fills code->leader and code->reconverge from the branches: lanes meet where every path from the branch comes together
 * (the immediate post-dominator) but those that end, as the hardware's assembler arranges it. */
gs_status gs_emu_find_reconvergence(gs_emu_code *code, gs_error *error);

/* ---- warp.c: fragments ---- */

gs_emu_exec gs_emu_branch, gs_emu_exit;
void gs_emu_warp_start(gs_emu_warp *w);
void gs_emu_warp_split(gs_emu_warp *w, uint32_t lanes);   /* some lanes of the current fragment become another one at the same place */
void gs_emu_warp_merge(gs_emu_warp *w, int at);           /* a fragment of the same scope goes on with the current one */
bool gs_emu_warp_ready(const gs_emu_warp *w);   /* whether a fragment can execute */
void gs_emu_warp_ended(gs_emu_warp *w, const gs_emu_op *op);   /* run.c: its last lane exited */
/* Executes up to `budget` instructions of one ready fragment. false: a fatal finding. */
bool gs_emu_warp_turn(gs_emu_warp *w, uint32_t budget);

/* ---- sync.c: named barriers, the cluster's barrier, setmaxnreg ---- */

bool gs_emu_barriers_create(gs_emu_block *block);
void gs_emu_barriers_reset(gs_emu_block *block);
void gs_emu_barriers_free(gs_emu_block *block);
void gs_emu_barriers_exit(gs_emu_warp *w);      /* a warp ended: barriers that wait for all threads may be complete */
bool gs_emu_cluster_barrier_create(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_reset(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_free(gs_emu_cluster *cluster);
void gs_emu_cluster_barrier_check(gs_emu_cluster *cluster);   /* completes it when all have arrived */
uint32_t gs_emu_cluster_waited(const gs_emu_warp *w);   /* number of the cluster barrier's last generation that w waited for; the first is 1 */
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

/* SPDX-License-Identifier: MIT
 * Strong stores (volatile, relaxed, release) that other blocks do not see yet. On a GPU, a block's stores become visible late and in any order, unless a fence or a
 * release is in between. In a launch with gs_emu_launch.unseen, such a store to global memory or into another block's shared memory, and an atomic operation without a
 * result, is kept in a list of its block. It is applied to memory
 *   - when a warp of the block fences or releases for the device: all entries;
 *   - when a warp fences or releases for the cluster: for the cluster's other blocks only;
 *   - when an access other than a load touches its bytes, by the block or by another one that may see it;
 *   - by chance, or when others have polled for long: some entries, possibly a later one before an earlier one.
 * Only stores to the same bytes keep their order. A cluster that ends leaves its entries behind, until the launch ends at the latest. A release becomes visible late
 * like any other store, so what the same thread loads next may be older. Such a launch runs on one thread. */
#ifndef GS_EMU_ISA_UNSEEN_H
#define GS_EMU_ISA_UNSEEN_H

#include "emu/isa/access.h"

#define GS_EMU_UNSEEN_BYTES 32   /* most bytes per lane */

/* Whether a store of these lanes must be kept from other blocks. If so, the current contents are copied to `before`. */
bool gs_emu_unseen_begin(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES]);

/* Called after the store: records what it wrote and restores the previous contents. */
void gs_emu_unseen_keep(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES]);

/* The operation of an atomic: returns the new value of an element. */
typedef uint64_t gs_emu_combine(uint64_t old, uint64_t b, uint64_t c);

/* Records a reduction of one element of up to 8 bytes in global memory. There must be room. */
bool gs_emu_unseen_has_room(gs_emu_block *block, int entries);
void gs_emu_unseen_reduce(gs_emu_warp *w, uint8_t *at, uint32_t size, gs_emu_combine *function, uint64_t value);

/* Called before an access other than a load: makes visible the stores of its block that it touches, and those of other blocks of the cluster that were released to it. */
void gs_emu_unseen_touch(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size);
void gs_emu_unseen_touch_place(gs_emu_warp *w, const gs_emu_place *place, uint32_t size);

/* Called before and after a load: its block sees its own stores, others still do not. lend returns whether there are any, which restore then removes again. Reductions
 * become visible to all, because reading the sum fixes their place in the order of that word. */
bool gs_emu_unseen_lend(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size);
void gs_emu_unseen_restore(gs_emu_block *block);

/* A release by the block: of scope gpu or wider; of scope cluster. */
void gs_emu_unseen_show(gs_emu_block *block);
void gs_emu_unseen_show_cluster(gs_emu_block *block);

/* Applies what an access releases, according to the scope in its flags (GS_EMU_ACCESS_*). */
void gs_emu_unseen_release(gs_emu_block *block, uint32_t flags);

/* Applies some entries of the blocks of a cluster, and of ended clusters. stuck: a cluster is waiting. Returns whether there were any. */
bool gs_emu_unseen_show_some(gs_emu_cluster *cluster, gs_random *random, bool stuck);

/* The cluster has ended: its stores to global memory stay in the list. */
void gs_emu_unseen_leave(gs_emu_cluster *cluster);

/* Called before the launch ends: applies everything that was left behind. */
void gs_emu_unseen_end(gs_emu_launch *launch);
void gs_emu_unseen_free(gs_emu_block *block);

#endif

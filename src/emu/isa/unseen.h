/* SPDX-License-Identifier: MIT
 * Strong stores (volatile, relaxed, release) that other blocks do not see yet: on a GPU a block's stores become visible in any order, and late, unless a fence or a release is between. In a
 * launch that is told to (gs_emu_launch.unseen) such a store to global memory, or into another block's shared memory, and an atomic operation without a result, go into a list of their block,
 * and to memory
 *   - all of them when a warp of the block fences or releases for the device;
 *   - for the cluster's other blocks when it does so for the cluster: clusters of their own still do not see them;
 *   - those that an access touches which is no load, of the block or of another one that may see them;
 *   - some of them, a later one perhaps before an earlier one, by chance or when others have looked for them long.
 * Only stores to the same bytes keep their order. A cluster that ends leaves them behind, until the launch ends at the latest. A release is seen late like any other store: what the same
 * thread looks at next may be older. All on the one thread of such a launch. */
#ifndef GS_EMU_ISA_UNSEEN_H
#define GS_EMU_ISA_UNSEEN_H

#include "emu/isa/access.h"

#define GS_EMU_UNSEEN_BYTES 32   /* of a lane, at most */

/* Whether a store of these lanes is to be kept from others, in such a launch. Then what is there is copied to `before`. */
bool gs_emu_unseen_begin(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES]);

/* After the store: what it wrote is kept, and what was there before is put back. */
void gs_emu_unseen_keep(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES]);

/* What an atomic operation makes of an element: the new value. */
typedef uint64_t gs_emu_combine(uint64_t old, uint64_t b, uint64_t c);

/* A reduction of one element of up to 8 bytes in global memory, in such a launch. There is room. */
bool gs_emu_unseen_has_room(gs_emu_block *block, int entries);
void gs_emu_unseen_reduce(gs_emu_warp *w, uint8_t *at, uint32_t size, gs_emu_combine *function, uint64_t value);

/* Before an access that is no load: the stores of its block that it touches become visible, and those of its cluster's blocks that were released to it. */
void gs_emu_unseen_touch(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size);
void gs_emu_unseen_touch_place(gs_emu_warp *w, const gs_emu_place *place, uint32_t size);

/* Around a load: its block sees its own stores, and others still do not. lend: whether there are any, which restore then takes away again. Reductions are shown to all: who reads a sum
 * knows its place in the order of that word. */
bool gs_emu_unseen_lend(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size);
void gs_emu_unseen_restore(gs_emu_block *block);

/* A release of the block: of scope gpu or wider, or cluster. */
void gs_emu_unseen_show(gs_emu_block *block);
void gs_emu_unseen_show_cluster(gs_emu_block *block);

/* What an access releases first, by the scope in its flags (GS_EMU_ACCESS_*). */
void gs_emu_unseen_release(gs_emu_block *block, uint32_t flags);

/* Some of what the blocks of a cluster, and clusters that have ended, stored. stuck: somebody waits for it. Whether there was anything. */
bool gs_emu_unseen_show_some(gs_emu_cluster *cluster, gs_random *random, bool stuck);

/* The cluster has ended: what it stored to global memory stays unseen. */
void gs_emu_unseen_leave(gs_emu_cluster *cluster);

/* Before the launch ends: everything that was left behind. */
void gs_emu_unseen_end(gs_emu_launch *launch);
void gs_emu_unseen_free(gs_emu_block *block);

#endif

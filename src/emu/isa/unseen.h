/* SPDX-License-Identifier: MIT
 * Strong stores (volatile, relaxed) that other blocks do not see yet: on a GPU a block's stores may become visible in any order, and late, unless a fence or a release is between. In a
 * launch that is told to (gs_emu_launch.unseen) such a store to global memory, or into another block's shared memory, and a floating-point reduction, go into a list of their block, and to
 * memory when a warp of the block fences or releases for the device or the cluster, touches the same bytes again, when the block ends, or by chance. */
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

/* Before an access of the same block: all its stores become visible if it touches one of them. */
void gs_emu_unseen_touch(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size);

/* All stores of the block, or of a cluster's blocks, become visible. */
void gs_emu_unseen_show(gs_emu_block *block);
void gs_emu_unseen_show_all(gs_emu_cluster *cluster);
void gs_emu_unseen_free(gs_emu_block *block);

#endif

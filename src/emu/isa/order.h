/* SPDX-License-Identifier: MIT
 * The order of global memory between the blocks of one launch: what a block reads or overwrites that another block wrote in the same
 * launch must lie behind a release and an acquire: store; fence (membar.gl, fence.acq_rel.gpu); barriers; atomic operation on a flag
 * ... atomic operation, or strong load, of the flag; fence; access.
 *
 * Who writes is a warp of a cluster at a clock of the race checker (check.h). A fence makes everything that its warp knows of `published`
 * (check.c: a vector per warp, which barriers carry along). A flag is an address of integer atomics or strong stores; it carries what
 * those who released it had published or acquired. A cluster acquires what the flags carry that it looked at: at once where the
 * operation says so, else at its next fence. Inside a cluster `known` decides, inside a block nothing is asked.
 *
 * Only for launches whose clusters take turns on one thread: those that talk (machine.h), or are told to. The parts of one launch are
 * used by that thread alone. When memory runs out, findings are missed, never invented. */
#ifndef GS_EMU_ISA_ORDER_H
#define GS_EMU_ISA_ORDER_H

#include "emu/isa/access.h"
#include "emu/isa/tensor.h"

typedef struct gs_emu_order gs_emu_order;   /* of a launch */

gs_emu_order *gs_emu_order_create(int warps);   /* of a cluster. NULL: no memory */
void          gs_emu_order_destroy(gs_emu_order *order);

/* A cluster's part: what it has acquired. start: for each cluster anew. */
bool gs_emu_order_join(gs_emu_order *order, gs_emu_cluster *cluster);        /* sets cluster->order. false: no memory */
void gs_emu_order_start(gs_emu_cluster *cluster);
void gs_emu_order_leave(gs_emu_cluster *cluster);

/* These do nothing in a cluster without a part. */
void gs_emu_order_reach(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access);
void gs_emu_order_place(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t size, gs_emu_access access);
void gs_emu_order_fence(gs_emu_warp *w, bool releases, bool acquires);       /* of scope gpu or wider */

/* Bulk copies: reads when they are issued; stores from then until their group was waited for in full. */
void gs_emu_order_load(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile);
void gs_emu_order_store(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile, int lane, uint32_t group, bool reduces);
void gs_emu_order_stored(gs_emu_warp *w, uint32_t lanes, uint32_t pending);  /* all but the newest `pending` groups of these lanes */

#endif

/* SPDX-License-Identifier: MIT
 * Checks the order of global memory accesses between blocks of one launch: if a block reads or overwrites what another block wrote in the same launch, a release and
 * an acquire must be in between: store; fence (membar.gl, fence.acq_rel.gpu); barriers; atomic operation on a flag ... atomic operation on, or strong load of, the
 * flag; fence; access.
 *
 * A writer is a warp of a cluster at a clock of the race checker (check.h). A fence makes everything that its warp knows `published` (check.c: a vector per warp,
 * which barriers pass on). A flag is an address of integer atomics or strong stores; it carries what its releasers had published or acquired. A cluster acquires what
 * the flags that it has read carry: at once if the operation acquires, else at its next fence. Inside a cluster, `known` decides; inside a block nothing is checked.
 *
 * Only for launches whose clusters take turns on one thread: those whose blocks may communicate (machine.h), or if requested. The state of a launch is used by that
 * thread only. If memory runs out, findings are missed, but none are false. */
#ifndef GS_EMU_ISA_ORDER_H
#define GS_EMU_ISA_ORDER_H

#include "emu/isa/access.h"
#include "emu/isa/tensor.h"

typedef struct gs_emu_order gs_emu_order;   /* per launch */

gs_emu_order *gs_emu_order_create(int warps);   /* warps: per cluster. NULL: no memory */
void          gs_emu_order_destroy(gs_emu_order *order);

/* A cluster's state: what it has acquired. start: called for each cluster that reuses it. */
bool gs_emu_order_join(gs_emu_order *order, gs_emu_cluster *cluster);        /* sets cluster->order. false: no memory */
void gs_emu_order_start(gs_emu_cluster *cluster);
void gs_emu_order_leave(gs_emu_cluster *cluster);

/* These do nothing in a cluster without such state. */
void gs_emu_order_reach(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access);
void gs_emu_order_place(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t size, gs_emu_access access);
void gs_emu_order_fence(gs_emu_warp *w, bool releases, bool acquires);       /* of scope gpu or wider */

/* Bulk copies: reads happen at issue; stores from the issue until the completion of their group was waited for. */
void gs_emu_order_load(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile);
void gs_emu_order_store(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile, int lane, uint32_t group, bool reduces);
void gs_emu_order_stored(gs_emu_warp *w, uint32_t lanes, uint32_t pending);  /* all but the newest `pending` groups of these lanes are complete */

#endif

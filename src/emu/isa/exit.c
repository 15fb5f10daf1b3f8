/* SPDX-License-Identifier: MIT
 * exit, ret, and the end of warps and blocks, with the checks for unfinished work. */
#include "emu/isa/sync.h"

/* Some warp of the ending block must know of every access of other blocks to its shared memory; otherwise such an access might come too late. */
static void check_visits(gs_emu_warp *last, const gs_emu_op *op)
{
    const gs_emu_block *const block = last->block;
    const gs_emu_cluster *const cluster = last->cluster;
    for (int visitor = 0; block->remote && visitor < cluster->blocks * block->warps; visitor++) {
        if (!block->remote[visitor]) continue;
        bool known = false;
        for (int i = 0; i < block->warps && !known; i++) known = gs_emu_check_known(cluster->check, block->warp[i].number, visitor, block->remote[visitor]);
        if (known) continue;
        gs_emu_report(last, op, GS_EMU_EXIT_IN_USE_FINDING, "the block ends without knowing that warp %d of block %d is done with its shared memory: no barrier orders that",
                      visitor % block->warps, visitor / block->warps);
        return;
    }
}

static void end_warp(gs_emu_warp *w, const gs_emu_op *op)
{
    gs_emu_block *const block = w->block;
    gs_emu_bulk_exit(w, op);
    gs_emu_wgmma_exit(w, op);
    block->alive_warps--;
    gs_emu_barriers_exit(w);
    if (block->alive_warps > 0) return;
    if (block->copies_in > 0)
        gs_emu_report(w, op, GS_EMU_EXIT_IN_USE_FINDING, "the block ends while %d copies into its shared memory are under way", block->copies_in);
    check_visits(w, op);
    gs_emu_registers_end(w, op);
    block->exited = true;
}

gs_emu_result gs_emu_exit(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_warp_leave(w, op, lanes);
    gs_emu_happened(w->cluster);
    if (w->alive == 0)
        end_warp(w, op);
    else
        gs_emu_cluster_barrier_check(w->cluster);
    return w->cluster->failed ? GS_EMU_FAILED : GS_EMU_JUMPED;
}

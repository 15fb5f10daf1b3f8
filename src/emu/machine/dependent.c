/* SPDX-License-Identifier: MIT
 * Dependent launches: a kernel that may start while the previous launch still runs must not access global memory before it has executed griddepcontrol.wait. A thread
 * may rely on another thread's wait if barriers order the two, as the race checker knows; lanes of a warp may rely on each other's wait after bar.warp.sync, or after
 * any release by the warp. Parameters, constants, shared memory and prefetches are allowed at any time. Launches are executed one after the other here, so only the
 * order is checked. */
#include "emu/machine/pool.h"

gs_emu_result gs_emu_dependent_wait(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)op;
    gs_emu_check *const check = w->cluster->check;
    atomic_store_explicit(&w->cluster->launch->pool->waited, true, memory_order_relaxed);
    w->early &= ~lanes;
    if (check && !w->waited) w->waited = gs_emu_check_clock(check, w->number);
    return GS_EMU_NEXT;
}

void gs_emu_early_meet(gs_emu_warp *w, uint32_t lanes)
{
    if (w->waited && (lanes & ~w->early)) w->early &= ~lanes;
}

/* Whether the warp knows of some warp's wait. It knows of its own waits from its next release on. */
static bool knows_wait(const gs_emu_warp *w)
{
    const gs_emu_cluster *const cluster = w->cluster;
    if (w->waited && gs_emu_check_clock(cluster->check, w->number) > w->waited) return true;
    for (int b = 0; b < cluster->blocks; b++)
        for (int i = 0; i < cluster->block[b].warps; i++) {
            const gs_emu_warp *const other = &cluster->block[b].warp[i];
            if (other != w && other->waited && gs_emu_check_known(cluster->check, w->number, other->number, other->waited)) return true;
        }
    return false;
}

void gs_emu_early(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (!knows_wait(w))
        gs_emu_report(w, op, GS_EMU_EARLY_ACCESS_FINDING,
                      "%s of global memory by lanes %#x before griddepcontrol.wait: the launch before may still write or read it", op->name, w->early & lanes);
    w->early = 0;
}

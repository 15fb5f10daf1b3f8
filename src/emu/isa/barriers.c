/* SPDX-License-Identifier: MIT
 * Barriers of a block and of a cluster: creation and reset, completion of the cluster's barrier, and what a fence released. */
#include "emu/isa/barriers.h"

#include <stdlib.h>
#include <string.h>

/* ---- named barriers: creation, reset ---- */

bool gs_emu_barriers_create(gs_emu_block *block)
{
    struct gs_emu_barriers *const b = calloc(1, sizeof *b);
    block->barriers = b;
    if (!b) return false;
    const gs_emu_check *const check = block->cluster->check;
    for (int i = 0; check && i < GS_EMU_NAMED; i++)
        if (!(b->named[i].clock = gs_emu_vector_create(check))) return false;
    return true;
}

void gs_emu_barriers_reset(gs_emu_block *block)
{
    struct gs_emu_barriers *const b = block->barriers;
    for (int i = 0; i < GS_EMU_NAMED; i++) {
        gs_emu_vector *const clock = b->named[i].clock;
        b->named[i] = (gs_emu_named_barrier){.clock = clock};
        if (clock) gs_emu_vector_clear(clock);
    }
    if (b->looked) gs_emu_vector_clear(b->looked);
    for (int i = 0; i < GS_EMU_MOST_WARPS; i++) {
        if (b->fence[i]) gs_emu_vector_clear(b->fence[i]);
        if (b->relaxed[i]) gs_emu_vector_clear(b->relaxed[i]);
    }
    for (int i = 0; i < GS_EMU_MOST_WARPS; i++) b->held[i] = (block->cluster->launch->code->registers + 7) / 8 * 8;
    b->spare = 0;
}

void gs_emu_barriers_free(gs_emu_block *block)
{
    if (!block->barriers) return;
    for (int i = 0; i < GS_EMU_NAMED; i++) gs_emu_vector_destroy(block->barriers->named[i].clock);
    gs_emu_vector_destroy(block->barriers->looked);
    for (int i = 0; i < GS_EMU_MOST_WARPS; i++) {
        gs_emu_vector_destroy(block->barriers->fence[i]);
        gs_emu_vector_destroy(block->barriers->relaxed[i]);
    }
    free(block->barriers);
    block->barriers = NULL;
}

/* ---- the cluster's barrier ---- */

bool gs_emu_cluster_barrier_create(gs_emu_cluster *cluster)
{
    struct gs_emu_cluster_barrier *const b = calloc(1, sizeof *b);
    cluster->cluster_barrier = b;
    if (!b) return false;
    b->warp = calloc((size_t)cluster->blocks * GS_EMU_MOST_WARPS, sizeof *b->warp);
    if (!b->warp) return false;
    if (!cluster->check) return true;
    b->now = gs_emu_vector_create(cluster->check);
    b->done = gs_emu_vector_create(cluster->check);
    return b->now && b->done;
}

void gs_emu_cluster_barrier_reset(gs_emu_cluster *cluster)
{
    struct gs_emu_cluster_barrier *const b = cluster->cluster_barrier;
    b->arrivals = b->generation = 0;
    memset(b->warp, 0, (size_t)cluster->blocks * GS_EMU_MOST_WARPS * sizeof *b->warp);
    if (b->now) gs_emu_vector_clear(b->now);
    if (b->done) gs_emu_vector_clear(b->done);
}

void gs_emu_cluster_barrier_free(gs_emu_cluster *cluster)
{
    struct gs_emu_cluster_barrier *const b = cluster->cluster_barrier;
    if (!b) return;
    free(b->warp);
    gs_emu_vector_destroy(b->now);
    gs_emu_vector_destroy(b->done);
    free(b);
    cluster->cluster_barrier = NULL;
}

/* Threads that have exited count as arrived. */
void gs_emu_cluster_barrier_check(gs_emu_cluster *cluster)
{
    struct gs_emu_cluster_barrier *const b = cluster->cluster_barrier;
    if (b->arrivals == 0) return;
    for (int i = 0; i < cluster->blocks; i++)
        for (int j = 0; j < cluster->block[i].warps; j++) {
            const gs_emu_warp *const w = &cluster->block[i].warp[j];
            if (w->alive & ~b->warp[w->number].came) return;
        }
    b->generation++;
    b->arrivals = 0;
    for (int i = 0; i < cluster->blocks * cluster->block[0].warps; i++) b->warp[i].came = 0;
    if (b->now) {
        gs_emu_vector_clear(b->done);
        gs_emu_vector_join(b->done, b->now);
        gs_emu_vector_clear(b->now);
    }
    gs_emu_happened(cluster);
}

void gs_emu_cluster_meet(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_block *block)
{
    const gs_emu_check *const check = w->cluster->check;
    if (block == w->block || !check || w->cluster->cluster_barrier->generation > 0 || gs_emu_check_knows(check, w->number, block->rank)) return;
    gs_emu_report(w, op, GS_EMU_NOT_BEGUN_FINDING, "shared memory of block %d of the cluster, which may not have begun: wait at the cluster's barrier first", block->rank);
}

uint32_t gs_emu_cluster_waited(const gs_emu_warp *w) { return w->cluster->cluster_barrier->warp[w->number].waited; }

/* ---- fences ---- */

void gs_emu_fence_acquire(gs_emu_warp *w, const gs_emu_vector *from, bool relaxed)
{
    gs_emu_check *const check = w->cluster->check;
    gs_emu_vector **const later = &w->block->barriers->relaxed[w->index];
    if (!relaxed) gs_emu_check_acquire(check, w->number, from);
    else if (*later || (*later = gs_emu_vector_create(check))) gs_emu_vector_join(*later, from);
}

void gs_emu_fence_learn(gs_emu_warp *w, const uint32_t *clock, bool relaxed)
{
    gs_emu_check *const check = w->cluster->check;
    gs_emu_vector **const later = &w->block->barriers->looked;
    if (!relaxed) gs_emu_check_learn(check, w->number, clock);
    else if (*later || (*later = gs_emu_vector_create(check))) gs_emu_vector_learn(check, *later, clock);
}

void gs_emu_fence_release(gs_emu_warp *w, gs_emu_vector *into)
{
    const gs_emu_vector *const fence = w->block->barriers->fence[w->index];
    if (fence) gs_emu_vector_join(into, fence);
}

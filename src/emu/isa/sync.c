/* SPDX-License-Identifier: MIT
 * Barriers of a block and of a cluster, fences, setmaxnreg, griddepcontrol. A named barrier counts threads; a waiting warp acquires what the others have released when
 * the barrier completes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/isa/barriers.h"
#include "emu/isa/order.h"
#include "emu/isa/unseen.h"

enum { SYNC, ARRIVE, RED_POPC, RED_AND, RED_OR };

/* ---- named barriers: use ---- */

static uint32_t expected_by(const gs_emu_block *block, const gs_emu_named_barrier *barrier)
{
    return barrier->expected ? barrier->expected : block->alive_warps * GS_EMU_LANES;
}

static void complete(gs_emu_block *block, gs_emu_named_barrier *barrier)
{
    gs_emu_check *const check = block->cluster->check;
    for (int i = 0; i < block->warps; i++) {
        if (!(barrier->waiting >> i & 1)) continue;
        if (check) gs_emu_check_acquire(check, block->warp[i].number, barrier->clock);
        barrier->result_yes[i] = barrier->yes;
        barrier->result_voted[i] = barrier->voted;
    }
    barrier->generation++;
    barrier->arrived = barrier->expected = barrier->yes = barrier->voted = 0;
    barrier->waiting = 0;
    if (barrier->clock) gs_emu_vector_clear(barrier->clock);
    gs_emu_happened(block->cluster);
}

static gs_emu_result arrive(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, gs_emu_named_barrier *barrier, uint32_t threads)
{
    gs_emu_block *const block = w->block;
    if (threads % GS_EMU_LANES || threads > block->threads + GS_EMU_LANES - 1)
        gs_emu_report(w, op, GS_EMU_ARRIVAL_COUNT_FINDING, "a barrier for %u threads in a block of %u (a multiple of 32 is needed)", threads, block->threads);
    if (barrier->arrived && !threads != !barrier->expected)   /* on an H200 mixing an arrival with a count and a wait without one ends the kernel */
        gs_emu_report(w, op, GS_EMU_ARRIVAL_COUNT_FINDING, "one warp says how many threads take part (%u), another gives no number: an illegal instruction on a GPU", threads + barrier->expected);
    else if (barrier->arrived && barrier->expected != threads)
        gs_emu_report(w, op, GS_EMU_ARRIVAL_COUNT_FINDING, "this warp says that %u threads take part, another said %u", threads, barrier->expected);
    barrier->expected = threads;   /* 0: no count, all threads that have not exited */
    barrier->arrived += lanes == w->alive ? GS_EMU_LANES : (unsigned)__builtin_popcount(lanes);
    if (block->cluster->check) gs_emu_check_release(block->cluster->check, w->number, barrier->clock);
    if (op->count >= RED_POPC) {
        const uint32_t mask = *gs_emu_mask(w, op->src[2]);
        barrier->yes += (unsigned)__builtin_popcount(lanes & (op->flags & 1 ? ~mask : mask));
        barrier->voted += (unsigned)__builtin_popcount(lanes);
    }
    if (barrier->arrived > expected_by(block, barrier))
        gs_emu_report(w, op, GS_EMU_ARRIVAL_COUNT_FINDING, "%u threads at a barrier for %u", barrier->arrived, expected_by(block, barrier));
    return GS_EMU_NEXT;
}

static void give_result(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, const gs_emu_named_barrier *barrier)
{
    const uint32_t yes = barrier->result_yes[w->index], voted = barrier->result_voted[w->index];
    if (op->count < RED_POPC || op->dst == GS_EMU_NONE) return;
    if (op->count == RED_POPC) {
        for (int lane = 0; lane < GS_EMU_LANES; lane++)
            if (lanes >> lane & 1) gs_emu_u32(w, op->dst)[lane] = yes;
        return;
    }
    const bool value = op->count == RED_AND ? yes == voted : yes > 0;
    uint32_t *const p = gs_emu_mask(w, op->dst);
    *p = value ? *p | lanes : *p & ~lanes;
}

static gs_emu_result exec_barrier(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_fragment *const f = &w->fragment[w->current];
    const int lane = __builtin_ctz(lanes);
    const uint32_t number = gs_emu_u32(w, op->src[0])[lane];
    const uint32_t threads = op->src[1] == GS_EMU_NONE ? 0 : gs_emu_u32(w, op->src[1])[lane];
    if (number >= GS_EMU_NAMED) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "there is no barrier %u", number);
    gs_emu_named_barrier *const barrier = &w->block->barriers->named[number];
    if (f->phase) {   /* it has arrived already */
        if (barrier->generation == f->phase - 1) return GS_EMU_WAIT;
        f->phase = 0;
        give_result(w, op, lanes, barrier);
        return GS_EMU_NEXT;
    }
    if ((op->flags & 2) && lanes != w->alive)
        return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "only lanes %#x of %#x came to barrier %u", lanes, w->alive, number);
    arrive(w, op, lanes, barrier, threads);
    const uint32_t generation = barrier->generation;
    if (op->count != ARRIVE) barrier->waiting |= 1ull << w->index;
    if (barrier->arrived >= expected_by(w->block, barrier)) complete(w->block, barrier);
    if (op->count == ARRIVE) return GS_EMU_NEXT;
    if (barrier->generation != generation) {
        give_result(w, op, lanes, barrier);
        return GS_EMU_YIELD;
    }
    w->cluster->counters.barrier_waits++;
    f->phase = generation + 1;
    return GS_EMU_WAIT;
}

void gs_emu_barriers_exit(gs_emu_warp *w)
{
    for (int i = 0; i < GS_EMU_NAMED; i++) {
        gs_emu_named_barrier *const barrier = &w->block->barriers->named[i];
        if (barrier->arrived && !barrier->expected && barrier->arrived >= expected_by(w->block, barrier)) complete(w->block, barrier);
    }
    gs_emu_cluster_barrier_check(w->cluster);
}

/* bar{.cta}.sync a{, b}; bar.arrive a, b; bar.red.popc.u32 d, a{, b}, p; barrier... the same, .aligned or not */
static gs_status decode_barrier(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const known[] = {"cta", "sync", "arrive", "red", "popc", "and", "or", "aligned", "u32", "pred"};
    bool negated = false;
    for (int i = 1; i < in->parts; i++) {
        bool found = false;
        for (size_t j = 0; j < GS_COUNT(known); j++) found = found || strcmp(in->part[i], known[j]) == 0;
        if (!found) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
    }
    op->exec = exec_barrier;
    op->class = GS_EMU_BARRIER;
    int at = 0;
    const bool reduces = gs_emu_part(in, "red");
    const int reductions = gs_emu_part(in, "popc") + gs_emu_part(in, "and") + gs_emu_part(in, "or");
    if (reduces + gs_emu_part(in, "sync") + gs_emu_part(in, "arrive") != 1 || reductions != reduces ||
        (reduces && !gs_emu_part(in, gs_emu_part(in, "popc") ? "u32" : "pred")))
        return gs_emu_unsupported(d, "unknown form");
    if (reduces) {
        op->count = gs_emu_part(in, "popc") ? RED_POPC : gs_emu_part(in, "and") ? RED_AND : RED_OR;
        op->dst = gs_emu_destination(d, gs_emu_operand(d, at++), op->count == RED_POPC ? GS_PTX_B32 : GS_PTX_PRED);
    } else {
        op->count = gs_emu_part(in, "arrive") ? ARRIVE : SYNC;
    }
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, at++), GS_PTX_B32);
    if (in->operands - reduces > at) op->src[1] = gs_emu_source(d, gs_emu_operand(d, at++), GS_PTX_B32);
    if (reduces) op->src[2] = gs_emu_source_predicate(d, gs_emu_operand(d, at++), &negated);
    if (op->count == ARRIVE && op->src[1] == GS_EMU_NONE) return gs_emu_unsupported(d, "arrive needs the number of threads");
    op->flags = (uint16_t)(negated | (strcmp(in->part[0], "bar") == 0 || gs_emu_part(in, "aligned") ? 2 : 0));
    return d->status;
}

/* ---- the cluster's barrier ---- */

enum { RELAXED = 1, ALIGNED = 2 };   /* flags */

static gs_emu_result parted(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "only lanes %#x of %#x came to the cluster's barrier", lanes, w->alive);
}

static gs_emu_result exec_cluster_arrive(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_cluster_barrier *const b = w->cluster->cluster_barrier;
    gs_emu_cluster_lanes *const own = &b->warp[w->number];
    if ((op->flags & ALIGNED) && lanes != w->alive) return parted(w, op, lanes);
    if (!(op->flags & RELAXED)) gs_emu_unseen_show_cluster(w->block);
    if (own->owe & lanes) gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "a second arrival at the cluster's barrier without a wait between");
    own->came |= lanes;
    own->owe |= lanes;
    b->arrivals++;
    if (b->now && !(op->flags & RELAXED)) {
        gs_emu_check_to_cluster(w->cluster->check, w->number);
        gs_emu_check_release(w->cluster->check, w->number, b->now);
    }
    if (b->now && (op->flags & RELAXED)) gs_emu_fence_release(w, b->now);
    gs_emu_mbarriers_announce(w, b->generation + 1);
    gs_emu_cluster_barrier_check(w->cluster);
    return GS_EMU_YIELD;
}

static gs_emu_result exec_cluster_wait(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_cluster_barrier *const b = w->cluster->cluster_barrier;
    gs_emu_cluster_lanes *const own = &b->warp[w->number];
    if ((op->flags & ALIGNED) && lanes != w->alive) return parted(w, op, lanes);
    if (lanes & ~own->owe) {
        gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "a wait at the cluster's barrier without an arrival");
        return GS_EMU_NEXT;
    }
    if (own->came & lanes) {
        w->cluster->counters.barrier_waits++;
        return GS_EMU_WAIT;
    }
    own->owe &= ~lanes;
    own->waited = b->generation;
    if (b->done) gs_emu_check_acquire(w->cluster->check, w->number, b->done);
    return GS_EMU_NEXT;
}

static gs_status decode_cluster(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const known[] = {"cluster", "arrive", "wait", "release", "acquire", "relaxed", "aligned"};
    for (int i = 1; i < in->parts; i++) {
        bool found = false;
        for (size_t j = 0; j < GS_COUNT(known); j++) found = found || strcmp(in->part[i], known[j]) == 0;
        if (!found) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
    }
    if (gs_emu_part(in, "arrive") == gs_emu_part(in, "wait")) return gs_emu_unsupported(d, "neither .arrive nor .wait");
    op->class = GS_EMU_BARRIER;
    op->exec = gs_emu_part(in, "arrive") ? exec_cluster_arrive : exec_cluster_wait;
    op->flags = (uint16_t)((gs_emu_part(in, "relaxed") ? RELAXED : 0) | (gs_emu_part(in, "aligned") ? ALIGNED : 0));
    return GS_OK;
}

/* ---- fences ---- */

enum { RELEASES = 1, ACQUIRES = 2, TO_CLUSTER = 4, BEYOND = 8 };   /* flags of fences: RELEASES, ACQUIRES: of scope gpu or wider; TO_CLUSTER: releases to the cluster;
                                                                      BEYOND: of scope cluster or wider */

/* Memory of the emulated device is coherent. A fence matters to the checker: later relaxed arrivals and operations on flags carry what it releases. */
static gs_emu_result exec_fence(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_check *const check = w->cluster->check;
    gs_emu_vector **const fence = &w->block->barriers->fence[w->index];
    (void)lanes;
    if (op->flags & RELEASES) gs_emu_unseen_show(w->block);
    else if (op->flags & TO_CLUSTER) gs_emu_unseen_show_cluster(w->block);
    if (!check) return GS_EMU_NEXT;
    if (!*fence && !(*fence = gs_emu_vector_create(check))) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "no memory");
    gs_emu_vector *const relaxed = w->block->barriers->relaxed[w->index];
    if (relaxed) gs_emu_check_acquire(check, w->number, relaxed);
    if (op->flags & BEYOND && w->block->barriers->looked) gs_emu_check_acquire(check, w->number, w->block->barriers->looked);
    gs_emu_order_fence(w, op->flags & RELEASES, op->flags & ACQUIRES);
    if (op->flags & TO_CLUSTER) gs_emu_check_to_cluster(check, w->number);
    gs_emu_check_release(check, w->number, *fence);
    return GS_EMU_NEXT;
}

/* Fences of proxies that the checker does not distinguish, and waits for what is over before a kernel starts. */
static gs_emu_result exec_nothing(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)w, (void)op, (void)lanes;
    return GS_EMU_NEXT;
}

/* Bulk copies read memory directly, so stores of the block must be visible there. */
static gs_emu_result exec_fence_global(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)op, (void)lanes;
    gs_emu_unseen_show(w->block);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_fence_shared(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)op, (void)lanes;
    if (w->cluster->check) gs_emu_check_fence_async(w->cluster->check, w->number);
    gs_emu_mbarriers_fence(w, false);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_fence_async(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    exec_fence_global(w, op, lanes);
    return exec_fence_shared(w, op, lanes);
}

static gs_emu_result exec_fence_mbarrier(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)op, (void)lanes;
    gs_emu_mbarriers_fence(w, true);
    return GS_EMU_NEXT;
}

/* legend: opcode, function. In addition: fence{.sem}.scope, fence.proxy.tensormap::generic.sem.scope */
static const struct {
    const char  *name;
    gs_emu_exec *exec;
} fences[] = {
    {"membar.cta",                          exec_fence},       {"membar.gl",                         exec_fence},
    {"membar.sys",                          exec_fence},       {"fence.mbarrier_init.release.cluster", exec_fence_mbarrier},
    {"fence.proxy.async",                   exec_fence_async}, {"fence.proxy.async.shared::cta",     exec_fence_shared},
    {"fence.proxy.async.shared::cluster",   exec_fence_shared}, {"fence.proxy.async.global",          exec_fence_global},
    {"fence.proxy.alias",                   exec_nothing},
};

static bool is_one_of(const char *part, const char *const *list, size_t count)
{
    size_t at = 0;
    while (at < count && strcmp(list[at], part) != 0) at++;
    return at < count;
}

static bool is_scope(const char *part)
{
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    return is_one_of(part, scopes, GS_COUNT(scopes));
}

/* sem.scope from part `at` to the end. */
static bool has_order(const gs_ptx_instruction *in, int at)
{
    static const char *const orders[] = {"acq_rel", "sc", "acquire", "release"};
    return in->parts == at + 2 && is_one_of(in->part[at], orders, GS_COUNT(orders)) && is_scope(in->part[at + 1]);
}

static gs_status decode_fence(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const bool maps = gs_emu_part(in, "proxy") && strcmp(in->part[2], "tensormap::generic") == 0;
    op->class = GS_EMU_BARRIER;
    if (maps && has_order(in, 3)) {
        op->exec = exec_nothing;
        return GS_OK;
    }
    if (in->operands != 0) return gs_emu_unsupported(d, "no operands are expected");
    for (size_t i = 0; i < GS_COUNT(fences); i++)
        if (strcmp(in->name, fences[i].name) == 0) op->exec = fences[i].exec;
    if (strcmp(in->part[0], "fence") == 0 && (has_order(in, 1) || (in->parts == 2 && is_scope(in->part[1])))) op->exec = exec_fence;
    if (op->exec == exec_fence && (gs_emu_part(in, "gl") || gs_emu_part(in, "gpu") || gs_emu_part(in, "sys")))
        op->flags = (uint16_t)((gs_emu_part(in, "acquire") ? 0 : RELEASES) | (gs_emu_part(in, "release") ? 0 : ACQUIRES));
    if (op->exec == exec_fence && (op->flags & RELEASES || (gs_emu_part(in, "cluster") && !gs_emu_part(in, "acquire")))) op->flags |= TO_CLUSTER;
    if (op->exec == exec_fence && (op->flags || gs_emu_part(in, "cluster") || gs_emu_part(in, "gpu") || gs_emu_part(in, "sys"))) op->flags |= BEYOND;
    return op->exec ? GS_OK : gs_emu_unsupported(d, "the emulated device does not know this fence");
}

/* ---- registers ---- */

static gs_emu_result exec_setmaxnreg(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_barriers *const b = w->block->barriers;
    const int wanted = (int)op->immediate, held = b->held[w->index];
    if (lanes != w->alive) return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "only lanes %#x of %#x execute it", lanes, w->alive);
    if (held == 0) return GS_EMU_NEXT;   /* the number of registers at launch is unknown */
    const bool grows = op->flags & 1;
    if (grows ? wanted < held : wanted > held)
        return gs_emu_report(w, op, GS_EMU_REGISTERS_FINDING, "%s to %d, but the warp holds %d", grows ? "inc" : "dec", wanted, held);
    if (wanted - held > b->spare) return GS_EMU_WAIT;
    b->spare -= wanted - held;
    b->held[w->index] = wanted;
    gs_emu_happened(w->cluster);
    return GS_EMU_NEXT;
}

void gs_emu_registers_end(gs_emu_warp *last, const gs_emu_op *op)
{
    enum { WARPGROUP = 4 };
    const gs_emu_block *const block = last->block;
    const int *const held = block->barriers->held;
    for (int i = 0; i < block->warps; i++) {
        const int first = i / WARPGROUP * WARPGROUP, given = (last->cluster->launch->code->registers + 7) / 8 * 8;
        const int wanted = first + WARPGROUP > block->warps ? given : held[first];   /* an incomplete warpgroup cannot execute setmaxnreg */
        if (held[i] == wanted) continue;
        gs_emu_report(last, op, GS_EMU_REGISTERS_FINDING, "warp %d holds %d registers in the end, %d would be those of its warpgroup: all its four warps execute a setmaxnreg", i, held[i], wanted);
        return;
    }
}

static gs_status decode_setmaxnreg(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const gs_ptx_operand *const count = gs_emu_operand(d, 0);
    op->exec = exec_setmaxnreg;
    op->class = GS_EMU_OTHER;
    op->flags = strcmp(in->name, "setmaxnreg.inc.sync.aligned.u32") == 0;
    if (!op->flags && strcmp(in->name, "setmaxnreg.dec.sync.aligned.u32") != 0)
        return gs_emu_unsupported(d, "only setmaxnreg.inc and .dec, .sync.aligned.u32");
    if (!count || count->kind != GS_PTX_INTEGER || count->bits < 24 || count->bits > 256 || count->bits % 8)
        return gs_emu_unsupported(d, "the count must be a multiple of 8 from 24 to 256");
    op->immediate = (int64_t)count->bits;
    return GS_OK;
}

/* ---- description of waiting warps ---- */

void gs_emu_sync_describe(gs_emu_warp *w, const gs_emu_op *op, char *text, size_t size)
{
    text[0] = '\0';
    const struct gs_emu_barriers *const b = w->block->barriers;
    if (op->exec == exec_barrier) {
        const uint32_t number = gs_emu_u32(w, op->src[0])[__builtin_ctz(w->fragment[w->current].lanes)];
        if (number >= GS_EMU_NAMED) return;
        const gs_emu_named_barrier *const barrier = &b->named[number];
        snprintf(text, size, "barrier %u: %u of %u threads came", number, barrier->arrived, expected_by(w->block, barrier));
    } else if (op->exec == exec_cluster_wait) {
        snprintf(text, size, "the cluster's barrier: %u arrivals", w->cluster->cluster_barrier->arrivals);
    } else if (op->exec == exec_setmaxnreg) {
        snprintf(text, size, "%d registers per thread, %d are spare", (int)op->immediate - b->held[w->index], b->spare);
    }
}

gs_status gs_emu_decode_sync(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const char *const first = in->part[0];
    if (strcmp(first, "barrier") == 0 && in->parts > 1 && strcmp(in->part[1], "cluster") == 0) return decode_cluster(d, in, op);
    if (strcmp(first, "bar") == 0 || strcmp(first, "barrier") == 0) return decode_barrier(d, in, op);
    if (strcmp(first, "fence") == 0 || strcmp(first, "membar") == 0) return decode_fence(d, in, op);
    if (strcmp(first, "setmaxnreg") == 0) return decode_setmaxnreg(d, in, op);
    if (strcmp(first, "griddepcontrol") == 0) {
        if (in->operands || (strcmp(in->name, "griddepcontrol.wait") != 0 && strcmp(in->name, "griddepcontrol.launch_dependents") != 0))
            return gs_emu_unsupported(d, "only .wait and .launch_dependents");
        /* launches run one after the other: the previous one has ended, and the next one waits in any case */
        op->exec = strcmp(in->name, "griddepcontrol.wait") == 0 ? gs_emu_dependent_wait : exec_nothing;
        op->class = GS_EMU_BARRIER;
        return GS_OK;
    }
    return GS_ERROR_NOT_FOUND;
}

/* SPDX-License-Identifier: MIT
 * st.async: stores into shared memory of a block of the cluster that happen at some time after their issue, in any order, and count their
 * bytes on an mbarrier of that block. */
#include <stdlib.h>
#include <string.h>

#include "device/emu/access.h"

enum { WIDE_BARRIER = GS_EMU_ACCESS_OWN };   /* flags */
enum { MOST_BYTES = 16 };                    /* of a lane */

/* Lanes of one instruction whose bytes count on the same mbarrier. */
typedef struct store {
    gs_emu_task      task;
    const gs_emu_op *op;
    gs_emu_block    *to;
    gs_emu_mbarrier *barrier;
    uint32_t         copy;      /* the checker's number */
    uint32_t         all;       /* lanes */
    uint32_t         lanes;     /* of these: still to come */
    uint32_t         bytes, total;
    uint32_t         offset[GS_EMU_LANES];
    uint8_t          data[GS_EMU_LANES][MOST_BYTES];
} store;

/* ---- under way ---- */

static void finish(gs_emu_cluster *cluster, store *s)
{
    for (uint32_t left = cluster->check ? s->all : 0; left; left &= left - 1)
        gs_emu_check_copy_end(cluster->check, s->to->rank, s->offset[__builtin_ctz(left)], s->bytes, s->copy, gs_emu_mbarrier_agent(s->barrier),
                              gs_emu_mbarrier_clock(s->barrier));
    s->to->copies_in--;
    gs_emu_mbarrier_complete(cluster, s->barrier, s->total, s->op);
    gs_emu_happened(cluster);
}

/* Some lanes in one step, the others in the next. */
static bool step(gs_emu_cluster *cluster, gs_emu_task *task)
{
    store *const s = (store *)task;
    const uint32_t drawn = (uint32_t)gs_random_below(&cluster->random, UINT32_MAX), first = s->lanes & drawn;
    const uint32_t now = first ? first : s->lanes;
    for (uint32_t left = now; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        memcpy(s->to->shared + s->offset[l], s->data[l], s->bytes);
    }
    s->lanes &= ~now;
    if (s->lanes) return false;
    finish(cluster, s);
    return true;
}

/* ---- issue ---- */

/* An address of the cluster's shared memory. That block learns from its mbarrier when the store is over: no barrier need tell it of w. */
static bool resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint32_t bytes, gs_emu_place *place)
{
    const uint64_t named = address >> GS_EMU_RANK_SHIFT;   /* 0: the own block */
    gs_emu_block *const block = named > 0 && named <= (uint64_t)w->cluster->blocks ? &w->cluster->block[named - 1] : w->block;
    const uint32_t visit = block->remote ? block->remote[w->number] : 0;
    if (!gs_emu_resolve(w, op, lane, GS_PTX_SHARED, address, bytes, bytes, place)) return false;
    if (block->remote) block->remote[w->number] = visit;
    return true;
}

static uint64_t barrier_address(gs_emu_warp *w, const gs_emu_op *op, int lane)
{
    const uint64_t displacement = gs_emu_u64(w, op->src[2])[lane];
    if (op->src[1] == GS_EMU_NONE) return displacement;
    if (op->flags & WIDE_BARRIER) return gs_emu_u64(w, op->src[1])[lane] + displacement;
    return (uint32_t)(gs_emu_u32(w, op->src[1])[lane] + (uint32_t)displacement);
}

static void take_data(gs_emu_warp *w, const gs_emu_op *op, int lane, uint8_t *to)
{
    const uint32_t *const list = w->code->list + op->list, size = (uint32_t)gs_ptx_type_bits((gs_ptx_type)op->type) / 8;
    for (uint32_t i = 0; i < op->count; i++) memcpy(to + i * size, w->registers + list[i] + (size_t)lane * size, size);
}

/* What a lane stores where. */
typedef struct target {
    gs_emu_place data, barrier;
} target;

static gs_emu_result find_target(gs_emu_warp *w, const gs_emu_op *op, int lane, uint32_t bytes, target *t)
{
    if (!resolve(w, op, lane, gs_emu_lane_address(w, op, 0, lane), bytes, &t->data)) return GS_EMU_FAILED;
    if (!resolve(w, op, lane, barrier_address(w, op, lane), 8, &t->barrier)) return GS_EMU_FAILED;
    if (t->data.block == t->barrier.block) return GS_EMU_NEXT;
    gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "lane %d: a store into block %d of the cluster that completes on an mbarrier of block %d", lane,
                  t->data.block->rank, t->barrier.block->rank);
    return GS_EMU_FAILED;
}

static gs_emu_result issue(gs_emu_warp *w, const gs_emu_op *op, const target *targets, uint32_t lanes, uint32_t bytes)
{
    gs_emu_cluster *const cluster = w->cluster;
    const target *const first = &targets[__builtin_ctz(lanes)];
    gs_emu_mbarrier *const barrier = gs_emu_mbarrier_find(w, op, first->barrier.block, first->barrier.offset);
    if (!barrier) return cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
    store *const s = calloc(1, sizeof *s);
    if (!s) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "the emulated device has no memory for a store");
    s->task.step = step;
    s->op = op;
    s->to = first->data.block;
    s->barrier = barrier;
    s->copy = cluster->copy_number++;
    s->all = s->lanes = lanes;
    s->bytes = bytes;
    s->total = bytes * (uint32_t)__builtin_popcount(lanes);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        s->offset[l] = targets[l].data.offset;
        take_data(w, op, l, s->data[l]);
        if (cluster->check) gs_emu_check_copy_begin(cluster->check, w->number, gs_emu_index(w, op), s->to->rank, s->offset[l], bytes, s->copy);
    }
    gs_emu_mbarrier_expect_copy(w, op, barrier);
    cluster->counters.shared_store += s->total;
    cluster->counters.shared_passes += (s->total + 127) / 128;
    if (s->to != w->block) cluster->counters.distributed += s->total;
    gs_emu_block *const to = s->to;
    if (!gs_emu_task_add(cluster, &s->task)) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "the emulated device has no memory for a store");
    to->copies_in++;
    return cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
}

static gs_emu_result exec(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    target targets[GS_EMU_LANES];
    const uint32_t bytes = op->count * (uint32_t)gs_ptx_type_bits((gs_ptx_type)op->type) / 8;
    if (gs_emu_tasks_full(w->cluster)) return GS_EMU_WAIT;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (find_target(w, op, __builtin_ctz(left), bytes, &targets[__builtin_ctz(left)]) == GS_EMU_FAILED)
            return w->cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
    for (uint32_t left = lanes, same; left; left &= ~same) {
        const gs_emu_place *const first = &targets[__builtin_ctz(left)].barrier;
        same = 0;
        for (uint32_t rest = left; rest; rest &= rest - 1) {
            const int l = __builtin_ctz(rest);
            if (targets[l].barrier.block == first->block && targets[l].barrier.offset == first->offset) same |= 1u << l;
        }
        if (issue(w, op, targets, same, bytes) == GS_EMU_FAILED) return GS_EMU_FAILED;
    }
    w->cluster->quiet_steps = 0;
    return GS_EMU_NEXT;
}

/* ---- decoding ---- */

static gs_status read_parts(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    bool completes = false;
    op->count = 1;
    for (int i = 2; i < in->parts; i++) {
        const char *const part = in->part[i];
        const gs_ptx_type type = gs_ptx_type_of(part);
        const bool vector = strcmp(part, "v2") == 0 || strcmp(part, "v4") == 0;
        if (vector) op->count = (uint8_t)(part[1] - '0');
        else if (type != GS_PTX_NONE && op->type == GS_PTX_NONE) op->type = (uint8_t)type;
        else if (strcmp(part, "mbarrier::complete_tx::bytes") == 0) completes = true;
        else if (strcmp(part, "weak") != 0 && strcmp(part, "shared::cluster") != 0) return gs_emu_unsupported(d, "unknown modifier .%s", part);
    }
    const int bits = gs_ptx_type_bits((gs_ptx_type)op->type);
    if (!completes || (bits != 32 && bits != 64) || op->type == GS_PTX_TF32 || op->count * bits > 8 * MOST_BYTES)
        return gs_emu_unsupported(d, "only .mbarrier::complete_tx::bytes{.v2, .v4} of 32-bit types, and {.v2} of 64-bit types");
    return GS_OK;
}

/* st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [barrier] */
gs_status gs_emu_decode_store_async(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    GS_TRY(read_parts(d, in, op));
    GS_TRY(gs_emu_access_operands(d, 3, 3));
    op->exec = exec;
    op->class = GS_EMU_SHARED;
    gs_emu_access_address(d, gs_emu_operand(d, 2), GS_PTX_SHARED);
    const uint32_t base = op->src[0], displacement = gs_emu_constant(d, GS_PTX_B64, (uint64_t)op->immediate);
    const bool wide = op->flags & GS_EMU_ADDRESS_64;
    op->flags = 0;
    op->immediate = 0;
    gs_emu_access_address(d, gs_emu_operand(d, 0), GS_PTX_SHARED);
    op->src[1] = base;
    op->src[2] = displacement;
    if (wide) op->flags |= WIDE_BARRIER;
    const gs_ptx_operand *const value = gs_emu_operand(d, 1);
    const int elements = !value ? 0 : value->kind == GS_PTX_VECTOR ? value->children : 1;
    if (elements != op->count) return gs_emu_unsupported(d, "%d elements where %d are expected", elements, op->count);
    op->lists = (uint16_t)gs_emu_sources(d, value, (gs_ptx_type)op->type, &op->list);
    return d->status;
}

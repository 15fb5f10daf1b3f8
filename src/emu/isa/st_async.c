/* SPDX-License-Identifier: MIT
 * st.async: a store into shared memory of the cluster that completes on an mbarrier of the destination block. The values are read at issue and arrive some time later;
 * those of all lanes of an instruction with the same barrier arrive together. */
#include <stdlib.h>
#include <string.h>

#include "emu/isa/access.h"

enum { WIDE_BARRIER = GS_EMU_ACCESS_OWN, MOST_BYTES = 16, BARRIER_BYTES = 8 };

typedef struct store {
    gs_emu_task      task;
    const gs_emu_op *op;
    gs_emu_block    *to;
    gs_emu_mbarrier *barrier;
    uint32_t         lanes, size;      /* size: bytes per lane */
    uint32_t         copy;             /* number of the copy, for the checker */
    uint32_t         offset[GS_EMU_LANES];
    uint8_t          data[GS_EMU_LANES][MOST_BYTES];
} store;

/* ---- destinations ---- */

static uint64_t barrier_address(gs_emu_warp *w, const gs_emu_op *op, int lane)
{
    const int64_t displacement = (int32_t)op->list2;
    if (op->flags & WIDE_BARRIER) return gs_emu_u64(w, op->src[1])[lane] + (uint64_t)displacement;
    return (uint32_t)((op->src[1] == GS_EMU_NONE ? 0 : gs_emu_u32(w, op->src[1])[lane]) + (uint32_t)displacement);
}

typedef struct place_of_lane {
    gs_emu_place to, barrier;
} place_of_lane;

static bool find_lane(gs_emu_warp *w, const gs_emu_op *op, int lane, uint32_t size, place_of_lane *place)
{
    if (!gs_emu_resolve_target(w, op, lane, gs_emu_lane_address(w, op, 0, lane), size, size, &place->to)) return false;
    if (!gs_emu_resolve_target(w, op, lane, barrier_address(w, op, lane), BARRIER_BYTES, BARRIER_BYTES, &place->barrier)) return false;
    if (place->to.block == place->barrier.block) return true;
    gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "lane %d stores into block %d of the cluster and completes on an mbarrier of block %d", lane,
                  place->to.block->rank, place->barrier.block->rank);
    return false;
}

/* ---- pending stores ---- */

/* Called for the bytes of the lanes, with adjacent lanes merged. */
typedef void range_function(gs_emu_check *check, const store *s, int warp, uint32_t offset, uint32_t bytes);

static void each_range(gs_emu_check *check, const store *s, int warp, range_function *function)
{
    uint32_t start = 0, bytes = 0;
    for (int lane = 0; lane < GS_EMU_LANES; lane++) {
        if (!(s->lanes >> lane & 1)) continue;
        if (bytes && s->offset[lane] != start + bytes) {
            function(check, s, warp, start, bytes);
            bytes = 0;
        }
        if (!bytes) start = s->offset[lane];
        bytes += s->size;
    }
    function(check, s, warp, start, bytes);
}

static void begin_range(gs_emu_check *check, const store *s, int warp, uint32_t offset, uint32_t bytes)
{
    gs_emu_check_copy_begin(check, warp, (uint32_t)(s->op - s->to->warp[0].code->op), s->to->rank, offset, bytes, s->copy);
}

static void end_range(gs_emu_check *check, const store *s, int warp, uint32_t offset, uint32_t bytes)
{
    (void)warp;
    gs_emu_check_copy_end(check, s->to->rank, offset, bytes, s->copy, gs_emu_mbarrier_agent(s->barrier), gs_emu_mbarrier_clock(s->barrier));
}

static bool arrive(gs_emu_cluster *cluster, gs_emu_task *task)
{
    const store *const s = (const store *)task;
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        if (s->lanes >> lane & 1) memcpy(s->to->shared + s->offset[lane], s->data[lane], s->size);
    if (cluster->check) each_range(cluster->check, s, 0, end_range);
    s->to->copies_in--;
    gs_emu_mbarrier_complete(cluster, s->barrier, s->size * (uint32_t)__builtin_popcount(s->lanes), s->op);
    return true;
}

static void take_values(gs_emu_warp *w, const gs_emu_op *op, store *s)
{
    const uint32_t element = gs_ptx_type_bits((gs_ptx_type)op->type) / 8;
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        for (uint32_t i = 0; s->lanes >> lane & 1 && i < op->lists; i++) {
            const uint32_t value = w->code->list[op->list + i];
            memcpy(s->data[lane] + i * element, element == 8 ? (const void *)&gs_emu_u64(w, value)[lane] : &gs_emu_u32(w, value)[lane], element);
        }
}

/* Sends the lanes of one barrier, whose places are known. */
static gs_emu_result send(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, uint32_t size, const place_of_lane place[GS_EMU_LANES])
{
    gs_emu_cluster *const cluster = w->cluster;
    const gs_emu_place *const to = &place[__builtin_ctz(lanes)].barrier;
    gs_emu_mbarrier *const barrier = gs_emu_mbarrier_find(w, op, to->block, to->offset);
    if (!barrier) return cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
    store *const s = calloc(1, sizeof *s);
    if (!s) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "the emulated device has no memory for an asynchronous store");
    s->task.step = arrive;
    s->op = op;
    s->to = to->block;
    s->barrier = barrier;
    s->lanes = lanes;
    s->size = size;
    s->copy = cluster->copy_number++;
    for (int lane = 0; lane < GS_EMU_LANES; lane++) s->offset[lane] = lanes >> lane & 1 ? place[lane].to.offset : 0;
    take_values(w, op, s);
    gs_emu_mbarrier_expect_copy(w, op, barrier);
    if (cluster->check) each_range(cluster->check, s, w->number, begin_range);
    const uint32_t bytes = size * (uint32_t)__builtin_popcount(lanes);
    cluster->counters.shared_store += bytes;
    cluster->counters.shared_passes += (bytes + 127) / 128;
    if (to->block != w->block) cluster->counters.distributed += bytes;
    if (!gs_emu_task_add(cluster, &s->task)) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "the emulated device has no memory for an asynchronous store");
    to->block->copies_in++;
    return cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
}

static gs_emu_result issue(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t size = gs_ptx_type_bits((gs_ptx_type)op->type) / 8 * op->lists;
    place_of_lane place[GS_EMU_LANES];
    if (w->cluster->tasks + GS_EMU_LANES > GS_EMU_MOST_TASKS) return GS_EMU_WAIT;   /* each lane may have its own barrier */
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        if (lanes >> lane & 1 && !find_lane(w, op, lane, size, &place[lane])) return w->cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
    while (lanes) {
        const gs_emu_place *const first = &place[__builtin_ctz(lanes)].barrier;
        uint32_t same = 0;
        for (int lane = 0; lane < GS_EMU_LANES; lane++)
            if (lanes >> lane & 1 && place[lane].barrier.block == first->block && place[lane].barrier.offset == first->offset) same |= 1u << lane;
        lanes &= ~same;
        if (send(w, op, same, size, place) == GS_EMU_FAILED) return GS_EMU_FAILED;
    }
    return GS_EMU_NEXT;
}

/* ---- decoding ---- */

/* st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2, .v4}.type [a], b, [mbar] */
gs_status gs_emu_decode_store_async(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    int at = 2, vector = 1;
    if (at < in->parts && strcmp(in->part[at], "weak") == 0) at++;
    if (at < in->parts && strcmp(in->part[at], "shared::cluster") == 0) at++;
    if (at >= in->parts || strcmp(in->part[at++], "mbarrier::complete_tx::bytes") != 0)
        return gs_emu_unsupported(d, "only .shared::cluster.mbarrier::complete_tx::bytes");
    if (at < in->parts && (strcmp(in->part[at], "v2") == 0 || strcmp(in->part[at], "v4") == 0)) vector = in->part[at++][1] - '0';
    const gs_ptx_type type = at + 1 == in->parts ? gs_ptx_type_of(in->part[at]) : GS_PTX_NONE;
    const uint32_t bits = type == GS_PTX_NONE || type == GS_PTX_PRED ? 0 : (uint32_t)gs_ptx_type_bits(type);
    if ((bits != 32 && bits != 64) || bits / 8 * (uint32_t)vector > MOST_BYTES) return gs_emu_unsupported(d, "elements of 32 or 64 bits, up to 16 bytes");
    GS_TRY(gs_emu_access_operands(d, 3, 3));
    op->exec = issue;
    op->class = GS_EMU_COPY;
    op->space = GS_PTX_SHARED;
    op->type = (uint8_t)type;
    gs_emu_address(d, gs_emu_operand(d, 2), 1);
    if (op->immediate != (int32_t)op->immediate) gs_emu_unsupported(d, "the displacement does not fit");
    if (op->flags & GS_EMU_ADDRESS_64) op->flags = (uint16_t)((op->flags & ~GS_EMU_ADDRESS_64) | WIDE_BARRIER);
    op->list2 = (uint32_t)op->immediate;
    gs_emu_access_address(d, gs_emu_operand(d, 0), GS_PTX_SHARED);
    op->lists = (uint16_t)gs_emu_sources(d, gs_emu_operand(d, 1), type, &op->list);
    if (d->status == GS_OK && op->lists != vector) gs_emu_unsupported(d, "%d elements where %d are expected", op->lists, vector);
    return d->status;
}

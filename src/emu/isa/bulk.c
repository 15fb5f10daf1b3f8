/* SPDX-License-Identifier: MIT
 * Bulk copies: checks at issue, groups and waits.
 *
 * Where the PTX ISA is silent, behaviour was measured on an H200. There, a tensor copy whose inner coordinate is not a multiple of 16 bytes, a tensor store or
 * reduction at a negative coordinate, and a reduction that the map's type does not support end the kernel with an illegal instruction. */
#include "emu/isa/bulk.h"
#include "emu/isa/order.h"
#include "emu/isa/sync.h"

#include <stdlib.h>
#include <string.h>

#define UNIT         16u
#define TENSOR_ALIGN 128u   /* alignment of a box in shared memory */
#define MAP_ALIGN    64u

/* ---- operands of a lane ---- */

static uint32_t slot(const gs_emu_warp *w, const gs_emu_op *op, int which) { return w->code->list[op->list + (uint32_t)which]; }

static uint64_t address_of(gs_emu_warp *w, const gs_emu_op *op, int which, int lane)
{
    const uint32_t base = slot(w, op, which);
    const uint64_t displacement = gs_emu_u64(w, slot(w, op, which + 1))[lane];
    if (op->flags >> which / 2 & 1) return gs_emu_u64(w, base)[lane] + displacement;
    return (uint32_t)(gs_emu_u32(w, base)[lane] + (uint32_t)displacement);
}

/* The result after a finding was reported, here or in a called function. */
static gs_emu_result reported(const gs_emu_warp *w) { return w->cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT; }

static gs_emu_result no_memory(gs_emu_warp *w, const gs_emu_op *op)
{
    return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "the emulated device has no memory for a bulk copy");
}

/* ---- requests ---- */

/* One lane's copy. */
typedef struct request {
    gs_emu_warp     *w;
    const gs_emu_op *op;
    int              lane;
    gs_emu_map       map;               /* if GS_EMU_BULK_TENSOR */
    int32_t          coordinate[5];
    uint64_t         address;           /* otherwise */
    uint32_t         bytes;
    uint32_t         span;              /* bytes of shared memory */
} request;

static bool read_map(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_emu_map *map)
{
    gs_emu_place place;
    char text[160];
    const uint64_t address = address_of(w, op, GS_EMU_BULK_OTHER, lane);
    if (!gs_emu_resolve(w, op, lane, (gs_ptx_space)op->space, address, sizeof(gs_tensor_map), MAP_ALIGN, &place)) return false;
    if (place.space == GS_PTX_SHARED || place.space == GS_PTX_LOCAL) {
        gs_emu_report(w, op, GS_EMU_DESCRIPTOR_FINDING, "a tensor map in shared or local memory: a parameter, constant or global memory may hold it");
        return false;
    }
    memcpy(map, place.bytes, sizeof *map);
    if (gs_emu_map_check(map, text, sizeof text)) return true;
    gs_emu_report(w, op, GS_EMU_DESCRIPTOR_FINDING, "%s", text);
    return false;
}

static bool read_coordinates(request *r, bool stored)
{
    for (int i = 0; i < r->map.dimensions; i++) {
        r->coordinate[i] = (int32_t)gs_emu_u32(r->w, slot(r->w, r->op, GS_EMU_BULK_COORDINATE + i))[r->lane];
        if (!stored || r->coordinate[i] >= 0) continue;
        gs_emu_report(r->w, r->op, GS_EMU_TRAP_FINDING, "a tensor store at coordinate %d of dimension %d: stores must not begin before the tensor",
                      r->coordinate[i], i);
        return false;
    }
    const int64_t inner = (int64_t)r->coordinate[0] * r->map.element;
    if (inner % UNIT == 0) return true;
    gs_emu_report(r->w, r->op, GS_EMU_MISALIGNED_FINDING, "the inner coordinate %d is at byte %lld of a row: tensor copies need a multiple of 16",
                  r->coordinate[0], (long long)inner);
    return false;
}

static bool read_tensor(request *r, bool stored)
{
    if (!read_map(r->w, r->op, r->lane, &r->map)) return false;
    if (r->map.dimensions != r->op->count) {
        gs_emu_report(r->w, r->op, GS_EMU_DESCRIPTOR_FINDING, "a copy in %d dimensions with a tensor map of %d", r->op->count, r->map.dimensions);
        return false;
    }
    if (!read_coordinates(r, stored)) return false;
    gs_emu_tile tile;
    gs_emu_tile_box(&tile, &r->map, r->coordinate, 0, stored);
    r->span = gs_emu_tile_span(&tile);
    r->bytes = gs_emu_tile_bytes(&tile);
    return true;
}

static bool read_request(request *r, bool stored)
{
    if (r->op->flags & GS_EMU_BULK_TENSOR) return read_tensor(r, stored);
    r->address = address_of(r->w, r->op, GS_EMU_BULK_OTHER, r->lane);
    r->span = r->bytes = gs_emu_u32(r->w, slot(r->w, r->op, GS_EMU_BULK_SIZE))[r->lane];
    if (r->bytes % UNIT == 0) return true;
    gs_emu_report(r->w, r->op, GS_EMU_MISALIGNED_FINDING, "a bulk copy of %u bytes: the size must be a multiple of 16", r->bytes);
    return false;
}

static void make_tile(const request *r, uint32_t shared, bool stored, gs_emu_tile *tile)
{
    if (r->op->flags & GS_EMU_BULK_TENSOR)
        gs_emu_tile_box(tile, &r->map, r->coordinate, shared, stored);
    else
        gs_emu_tile_line(tile, r->address, r->bytes, shared);
}

/* Translates an address in shared memory. own: it must be in this block. */
static bool find_shared(gs_emu_warp *w, const gs_emu_op *op, int lane, int which, uint32_t bytes, uint32_t align, bool own, gs_emu_place *place)
{
    const uint64_t address = address_of(w, op, which, lane);
    if (!own) return gs_emu_resolve_target(w, op, lane, address, bytes, align, place);
    if (!gs_emu_resolve(w, op, lane, GS_PTX_SHARED, address, bytes, align, place)) return false;
    if (place->block == w->block) return true;
    gs_emu_report(w, op, GS_EMU_OUT_OF_BOUNDS_FINDING, "%#llx is in the shared memory of block %d of the cluster, not in the block's own",
                  (unsigned long long)address, place->block->rank);
    return false;
}

/* ---- global memory ---- */

/* Checks that the part inside the tensor is in one allocation and allowed for this kernel. */
static bool check_global(const request *r, const gs_emu_tile *tile, bool stores)
{
    const gs_emu_memory *const memory = r->w->cluster->launch->memory;
    for (uint32_t row = 0; row < tile->rows; row++) {
        char text[200];
        uint64_t address;
        uint32_t bytes;
        if (!gs_emu_tile_row(tile, row, &address, &bytes)) continue;
        const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, bytes);
        const char *const why = a ? gs_emu_forbidden(r->w->cluster->launch, a, address, bytes, stores) : gs_emu_memory_describe(memory, address, text, sizeof text);
        if (!why) continue;
        gs_emu_report(r->w, r->op, GS_EMU_OUT_OF_BOUNDS_FINDING, "row %u of the copy needs %u bytes at %#llx: %s", row, bytes, (unsigned long long)address, why);
        return false;
    }
    return true;
}

/* Checks that the part inside the tensor was written; reports once. */
static void check_written(const request *r, const gs_emu_tile *tile)
{
    const gs_emu_memory *const memory = r->w->cluster->launch->memory;
    for (uint32_t row = 0; r->w->cluster->check && row < tile->rows; row++) {
        uint64_t address;
        uint32_t bytes;
        if (!gs_emu_tile_row(tile, row, &address, &bytes)) continue;
        const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, bytes);
        if (!a || gs_emu_memory_written(a, address, bytes)) continue;
        gs_emu_report(r->w, r->op, GS_EMU_UNINITIALIZED_FINDING, "row %u of the copy reads %u bytes at %#llx, which nothing wrote", row, bytes,
                      (unsigned long long)address);
        return;
    }
}

static void count_shared(gs_emu_counters *counters, uint64_t *bytes, uint32_t more)
{
    *bytes += more;
    counters->shared_passes += (more + 127) / 128;
}

/* ---- loads ---- */

typedef struct range_user {
    gs_emu_warp *w;
    uint32_t     op;
    int          block;
    uint32_t     number;     /* number of the copy, or clock of the group */
} range_user;

static void begin_range(void *context, uint32_t offset, uint32_t bytes)
{
    const range_user *const u = context;
    gs_emu_check_copy_begin(u->w->cluster->check, u->w->number, u->op, u->block, offset, bytes, u->number);
}

static void read_range(void *context, uint32_t offset, uint32_t bytes)
{
    const range_user *const u = context;
    gs_emu_check_access(u->w->cluster->check, u->w->number, u->op, u->block, offset, bytes, GS_EMU_ASYNC_READ, GS_EMU_AGENT_BULK, u->number);
}

/* Loads into one block: one destination of a multicast, or the only one. */
static gs_emu_result load_into(const request *r, const gs_emu_tile *tile, gs_emu_block *from, gs_emu_block *to, uint32_t barrier_offset)
{
    gs_emu_warp *const w = r->w;
    gs_emu_cluster *const cluster = w->cluster;
    gs_emu_mbarrier *const barrier = gs_emu_mbarrier_find(w, r->op, to, barrier_offset);
    range_user user = {w, gs_emu_index(w, r->op), to->rank, cluster->copy_number++};
    if (!barrier) return reported(w);
    gs_emu_mbarrier_expect_copy(w, r->op, barrier);
    if (cluster->check) gs_emu_tile_ranges(tile, false, begin_range, &user);
    count_shared(&cluster->counters, &cluster->counters.shared_store, r->bytes);
    if (to != w->block) *(from ? &cluster->counters.distributed : &cluster->counters.multicast) += r->bytes;
    return gs_emu_bulk_load(w, r->op, tile, from, to, barrier, user.number) ? reported(w) : no_memory(w, r->op);
}

static gs_emu_result load_multicast(const request *r, const gs_emu_tile *tile, uint32_t barrier_offset)
{
    gs_emu_cluster *const cluster = r->w->cluster;
    const uint32_t mask = gs_emu_u16(r->w, slot(r->w, r->op, GS_EMU_BULK_MASK))[r->lane];
    if (mask == 0 || mask >> cluster->blocks)
        return gs_emu_report(r->w, r->op, GS_EMU_OUT_OF_BOUNDS_FINDING, "the multicast mask %#x does not fit a cluster of %d blocks", mask,
                             cluster->blocks);
    for (int i = 0; i < cluster->blocks; i++) {
        if (!(mask >> i & 1)) continue;
        if (cluster->block[i].exited)
            gs_emu_report(r->w, r->op, GS_EMU_EXIT_IN_USE_FINDING, "a copy into block %d of the cluster, which has ended", i);
        gs_emu_cluster_meet(r->w, r->op, &cluster->block[i]);
        if (load_into(r, tile, NULL, &cluster->block[i], barrier_offset) == GS_EMU_FAILED) return GS_EMU_FAILED;
    }
    return reported(r->w);
}

/* The source of a copy between blocks is this block's shared memory. The checker cannot tell whether it is overwritten too early, because the copy completes on a
 * barrier of another block; that shows only in the data. */
static bool find_source(request *r)
{
    gs_emu_place place;
    range_user user = {r->w, gs_emu_index(r->w, r->op), r->w->block->rank, 0};
    if (!find_shared(r->w, r->op, r->lane, GS_EMU_BULK_OTHER, r->bytes, UNIT, true, &place)) return false;
    r->address = place.offset;
    if (r->w->cluster->check) read_range(&user, place.offset, r->bytes);
    count_shared(&r->w->cluster->counters, &r->w->cluster->counters.shared_load, r->bytes);
    return true;
}

/* Whether the source is memory that, as the launch was told, is never written. */
static bool is_constant(const request *r)
{
    const gs_emu_span *const constant = &r->w->cluster->launch->constant;
    const uint64_t at = r->op->flags & GS_EMU_BULK_TENSOR ? r->map.address : r->address;
    return at >= constant->from && at < constant->to;
}

static bool find_global(const request *r, const gs_emu_tile *tile)
{
    gs_emu_counters *const counters = &r->w->cluster->counters;
    gs_emu_place place;
    const bool tensor = r->op->flags & GS_EMU_BULK_TENSOR;
    if (!tensor && !gs_emu_resolve(r->w, r->op, r->lane, GS_PTX_GLOBAL, r->address, r->bytes, UNIT, &place)) return false;
    if (tensor && !check_global(r, tile, false)) return false;
    if (!is_constant(r)) gs_emu_reach_out(r->w, r->op, 1u << r->lane);
    check_written(r, tile);
    gs_emu_order_load(r->w, r->op, tile);
    const uint64_t bytes = gs_emu_tile_sectors(tile);
    counters->global_load += bytes;
    counters->copy_load += bytes;
    return true;
}

static gs_emu_result load_lane(gs_emu_warp *w, const gs_emu_op *op, int lane)
{
    request r = {.w = w, .op = op, .lane = lane};
    const uint32_t align = op->flags & GS_EMU_BULK_TENSOR ? TENSOR_ALIGN : UNIT;
    const bool own = op->flags & GS_EMU_BULK_OWN;
    gs_emu_place to, barrier;
    gs_emu_tile tile;
    if (!read_request(&r, false)) return reported(w);
    if (r.bytes == 0) return GS_EMU_NEXT;
    if (!find_shared(w, op, lane, GS_EMU_BULK_SHARED, r.span, align, own, &to)) return reported(w);
    if (!find_shared(w, op, lane, GS_EMU_BULK_BARRIER, 8, 8, own, &barrier)) return reported(w);
    if (barrier.block != to.block)
        return gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "a copy into block %d of the cluster that completes on an mbarrier of block %d",
                             to.block->rank, barrier.block->rank);
    if (op->flags & GS_EMU_BULK_FROM_BLOCK && !find_source(&r)) return reported(w);
    make_tile(&r, to.offset, false, &tile);
    if (!(op->flags & GS_EMU_BULK_FROM_BLOCK) && !find_global(&r, &tile)) return reported(w);
    if (op->flags & GS_EMU_BULK_MULTICAST) return load_multicast(&r, &tile, barrier.offset);
    return load_into(&r, &tile, op->flags & GS_EMU_BULK_FROM_BLOCK ? w->block : NULL, to.block, barrier.offset);
}

gs_emu_result gs_emu_bulk_exec_load(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (gs_emu_tasks_full(w->cluster)) return GS_EMU_WAIT;
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        if (lanes >> lane & 1 && load_lane(w, op, lane) == GS_EMU_FAILED) return GS_EMU_FAILED;
    return GS_EMU_NEXT;
}

/* ---- stores ---- */

static bool has_state(gs_emu_warp *w)
{
    if (!w->bulk) w->bulk = calloc(1, sizeof *w->bulk);
    return w->bulk != NULL;
}

static gs_emu_result store_lane(gs_emu_warp *w, const gs_emu_op *op, int lane)
{
    request r = {.w = w, .op = op, .lane = lane};
    gs_emu_counters *const counters = &w->cluster->counters;
    const gs_emu_reduction reduction = (gs_emu_reduction)op->type2;
    const bool tensor = op->flags & GS_EMU_BULK_TENSOR;
    gs_emu_place from, to;
    gs_emu_tile tile, exact;
    if (!read_request(&r, true)) return reported(w);
    if (r.bytes == 0) return GS_EMU_NEXT;
    const gs_ptx_type type = (gs_ptx_type)(tensor ? r.map.type : op->type);
    if (reduction != GS_EMU_REDUCE_NONE && !gs_emu_reduction_exists(reduction, type))
        return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "elements of the tensor map's type do not have this reduction");
    if (!find_shared(w, op, lane, GS_EMU_BULK_SHARED, r.span, tensor ? TENSOR_ALIGN : UNIT, true, &from)) return reported(w);
    if (!tensor && !gs_emu_resolve(w, op, lane, GS_PTX_GLOBAL, r.address, r.bytes, UNIT, &to)) return reported(w);
    make_tile(&r, from.offset, true, &tile);
    make_tile(&r, from.offset, false, &exact);
    if (tensor && !check_global(&r, &tile, true)) return reported(w);
    gs_emu_reach_out(w, op, 1u << lane);
    if (reduction != GS_EMU_REDUCE_NONE) check_written(&r, &exact);
    if (!has_state(w)) return no_memory(w, op);
    range_user user = {w, gs_emu_index(w, op), w->block->rank, w->bulk->committed[lane] + 1};
    if (w->cluster->check) gs_emu_tile_ranges(&exact, true, read_range, &user);
    gs_emu_order_store(w, op, &tile, lane, user.number, reduction != GS_EMU_REDUCE_NONE);
    const uint64_t bytes = gs_emu_tile_sectors(&tile);
    counters->global_store += bytes;
    counters->copy_store += bytes;
    count_shared(counters, &counters->shared_load, r.bytes);
    return gs_emu_bulk_store_add(w, lane, &tile, reduction, type) ? reported(w) : no_memory(w, op);
}

gs_emu_result gs_emu_bulk_exec_store(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (gs_emu_tasks_full(w->cluster)) return GS_EMU_WAIT;
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        if (lanes >> lane & 1 && store_lane(w, op, lane) == GS_EMU_FAILED) return GS_EMU_FAILED;
    return GS_EMU_NEXT;
}

/* ---- groups ---- */

gs_emu_result gs_emu_bulk_exec_commit(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (!has_state(w)) return no_memory(w, op);
    for (int lane = 0; lane < GS_EMU_LANES; lane++) w->bulk->committed[lane] += lanes >> lane & 1;
    return GS_EMU_NEXT;
}

gs_emu_result gs_emu_bulk_exec_wait(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_bulk_state *const state = w->bulk;
    const uint32_t pending = (uint32_t)op->immediate;
    uint32_t clock = 0;
    if (!state) return GS_EMU_NEXT;
    if (gs_emu_bulk_pending(state, lanes, pending, op->flags & GS_EMU_BULK_ONLY_READ)) return GS_EMU_WAIT;
    for (int lane = 0; lane < GS_EMU_LANES; lane++) {
        if (!(lanes >> lane & 1) || state->committed[lane] < pending) continue;
        state->covered[lane] = GS_MAX(state->covered[lane], state->committed[lane] - pending);
        clock = GS_MAX(clock, state->covered[lane]);
    }
    if (w->cluster->check && clock) gs_emu_check_done(w->cluster->check, w->number, GS_EMU_AGENT_BULK, clock);
    if (!(op->flags & GS_EMU_BULK_ONLY_READ)) gs_emu_order_stored(w, lanes, pending);
    return GS_EMU_NEXT;
}

void gs_emu_bulk_free(gs_emu_warp *w)
{
    free(w->bulk);
    w->bulk = NULL;
}

void gs_emu_bulk_exit(gs_emu_warp *w, const gs_emu_op *op)
{
    const struct gs_emu_bulk_state *const state = w->bulk;
    for (int lane = 0; state && lane < GS_EMU_LANES; lane++) {
        if (state->last[lane] <= state->covered[lane]) continue;
        const bool open = state->last[lane] > state->committed[lane];
        gs_emu_report(w, op, GS_EMU_EXIT_STORES_FINDING, "bulk stores of lane %d (group %u) were never %s: %s_group is missing before the exit", lane,
                      state->last[lane], open ? "committed" : "waited for", open ? "cp.async.bulk.commit" : "cp.async.bulk.wait");
        return;
    }
}

/* ---- prefetches ---- */

/* A hint without effect, but its operand must be a valid map. */
gs_emu_result gs_emu_bulk_exec_prefetch_map(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    for (int lane = 0; lane < GS_EMU_LANES; lane++) {
        gs_emu_map map;
        if (lanes >> lane & 1 && !read_map(w, op, lane, &map)) return reported(w);
    }
    return GS_EMU_NEXT;
}

gs_emu_result gs_emu_bulk_exec_prefetch(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        if (lanes >> lane & 1 && !gs_emu_hint_resolve(w, op, lane, address_of(w, op, GS_EMU_BULK_OTHER, lane), gs_emu_u32(w, slot(w, op, GS_EMU_BULK_SIZE))[lane]))
            return reported(w);
    return GS_EMU_NEXT;
}

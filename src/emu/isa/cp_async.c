/* SPDX-License-Identifier: MIT
 * cp.async (without bulk): copies of 4, 8 or 16 bytes per lane from global to shared memory, which happen some time after their issue, in any order. Each lane has its
 * own groups, numbered from 1; pending copies are counted per group. */
#include <stdlib.h>
#include <string.h>

#include "emu/isa/cp_groups.h"
#include "emu/isa/order.h"
#include "emu/isa/unseen.h"

enum { WIDE_TO = GS_EMU_ACCESS_OWN, IGNORES = 2 * GS_EMU_ACCESS_OWN, IGNORES_NOT = 4 * GS_EMU_ACCESS_OWN };   /* flags */

typedef struct copy {
    gs_emu_task  task;
    gs_emu_warp *warp;
    uint32_t     lanes;
    uint32_t     size;                     /* bytes per lane of the destination */
    uint32_t     group[GS_EMU_LANES];
    uint32_t     bytes[GS_EMU_LANES];      /* bytes of the source; the rest is filled with zeros */
    uint8_t     *to[GS_EMU_LANES];
    const uint8_t *from[GS_EMU_LANES];
} copy;

/* ---- groups ---- */

static gs_emu_result commit(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (!gs_emu_copy_room(w, lanes, 1)) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "no memory for another group of copies");
    for (uint32_t left = lanes; left; left &= left - 1) w->copy->committed[__builtin_ctz(left)]++;
    return GS_EMU_NEXT;
}

/* The checker treats a warp as one agent, which may know only what every lane with copies knows: a lane that does not wait, or has not committed what the others have
 * committed, knows nothing new about its own copies. */
static uint32_t known_to_all(const struct gs_emu_copy_state *state, uint32_t lanes, uint32_t group)
{
    uint32_t most = 0;
    for (int l = 0; l < GS_EMU_LANES; l++) most = GS_MAX(most, state->committed[l]);
    for (int l = 0; l < GS_EMU_LANES; l++) {
        const bool waits = lanes >> l & 1, lags = state->issued[l] > state->committed[l] && state->committed[l] < most;
        if (state->issued[l] > state->waited[l] && (!waits || lags)) group = GS_MIN(group, state->waited[l]);
    }
    return group;
}

static void tell_done(gs_emu_warp *w, uint32_t group)
{
    if (w->cluster->check && group) gs_emu_check_done(w->cluster->check, w->number, GS_EMU_AGENT_COPY, group);
}

/* A lane's finished copies count as written by that lane now: other lanes may read them only after a __syncwarp. */
static void tell_lanes(gs_emu_warp *w)
{
    struct gs_emu_copy_state *const state = w->copy;
    for (uint32_t i = 0; i < GS_MIN(state->copies, (uint32_t)GS_COUNT(state->recent)); i++) {
        gs_emu_copied *const copied = &state->recent[i];
        uint32_t done = 0;
        for (uint32_t left = copied->to.lanes; left; left &= left - 1) {
            const int l = __builtin_ctz(left);
            if (copied->group[l] <= state->waited[l]) done |= 1u << l;
        }
        if (done) gs_emu_lanes_copied(w, &copied->to, done);
        copied->to.lanes &= ~done;
    }
}

/* Waits until all but the newest groups of each lane are complete. */
static gs_emu_result wait_group(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_copy_state *const state = w->copy;
    const uint64_t allowed = (uint64_t)op->immediate;
    uint32_t done = 0;
    for (uint32_t left = state ? lanes : 0; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t last = allowed < state->committed[l] ? state->committed[l] - (uint32_t)allowed : 0;
        if (gs_emu_copy_oldest(state, l) <= last) return GS_EMU_WAIT;
        done = GS_MAX(done, last);
        state->waited[l] = GS_MAX(state->waited[l], last);
    }
    if (state) tell_done(w, known_to_all(state, lanes, done));
    if (state && w->cluster->check) tell_lanes(w);
    return GS_EMU_NEXT;
}

/* Acts as a commit and a wait for all groups. */
static gs_emu_result wait_all(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint32_t done = 0;
    if (!w->copy) return GS_EMU_NEXT;
    if (!gs_emu_copy_idle(w, lanes)) return GS_EMU_WAIT;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        w->copy->waited[l] = w->copy->committed[l] + 1;
        done = GS_MAX(done, w->copy->waited[l]);
    }
    const gs_emu_result result = commit(w, op, lanes);
    tell_done(w, known_to_all(w->copy, lanes, done));
    if (w->cluster->check) tell_lanes(w);
    return result;
}

/* ---- copies ---- */

static bool step(gs_emu_cluster *cluster, gs_emu_task *task)
{
    copy *const c = (copy *)task;
    struct gs_emu_copy_state *const state = c->warp->copy;
    for (uint32_t left = c->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (c->bytes[l] == 16) {
            memcpy(c->to[l], c->from[l], 16);
        } else {
            if (c->bytes[l]) memcpy(c->to[l], c->from[l], c->bytes[l]);
            memset(c->to[l] + c->bytes[l], 0, c->size - c->bytes[l]);
        }
        if (state) state->under_way[c->group[l] % state->rows][l]--;
    }
    gs_emu_happened(cluster);
    return true;
}

/* Number of source bytes that each lane reads. */
static gs_emu_result find_bytes(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, copy *c)
{
    uint32_t ignored = 0;
    if (op->flags & IGNORES) ignored = op->flags & IGNORES_NOT ? ~*gs_emu_mask(w, op->src[2]) : *gs_emu_mask(w, op->src[2]);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        c->bytes[l] = op->flags & IGNORES ? (ignored >> l & 1 ? 0 : c->size) : op->src[2] != GS_EMU_NONE ? gs_emu_u32(w, op->src[2])[l] : c->size;
        if (c->bytes[l] > c->size)
            return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lane %d: a source of %u bytes for a copy of %u", l, c->bytes[l], c->size);
    }
    return GS_EMU_NEXT;
}

/* A lane that reads nothing needs no valid address. */
static gs_emu_result find_sources(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, copy *c)
{
    gs_emu_reach reach;
    uint32_t whole = 0, some = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (c->bytes[l] == c->size) whole |= 1u << l;
        else if (c->bytes[l]) some |= 1u << l;
    }
    gs_emu_reach_addresses(w, op->src[1], op->flags & GS_EMU_ADDRESS_64, op->immediate, &reach);
    for (uint32_t left = some; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        gs_emu_place place;
        if (!gs_emu_resolve(w, op, l, GS_PTX_GLOBAL, reach.address[l], c->bytes[l], c->size, &place)) return GS_EMU_FAILED;
        gs_emu_reach_out(w, op, 1u << l);
        gs_emu_unseen_touch_place(w, &place, c->bytes[l]);
        gs_emu_touch(w, op, &place, c->bytes[l], GS_EMU_READ);
        gs_emu_order_place(w, op, &place, c->bytes[l], GS_EMU_READ);
        c->from[l] = place.bytes;
        w->cluster->counters.global_load += 32;
        gs_emu_memory_touch(place.allocation, reach.address[l], c->bytes[l], false);
    }
    if (!whole) return GS_EMU_NEXT;
    if (!gs_emu_reach_find(w, op, GS_PTX_GLOBAL, whole, c->size, &reach)) return GS_EMU_FAILED;
    gs_emu_reach_touch(w, op, &reach, c->size, GS_EMU_READ);
    gs_emu_reach_count(w, &reach, c->size, false);
    for (uint32_t left = whole; left; left &= left - 1) c->from[__builtin_ctz(left)] = reach.at[__builtin_ctz(left)];
    return GS_EMU_NEXT;
}

/* Checks lanes of the same group together. Destinations are in the own block, because .shared::cluster is not supported by the instruction. */
static void check_destinations(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, const copy *c)
{
    gs_emu_range range[GS_EMU_LANES];
    for (uint32_t left = c->lanes, same; left; left &= ~same) {
        const uint32_t group = c->group[__builtin_ctz(left)];
        same = 0;
        GS_EMU_ACCESS_EACH(l, left, same |= (uint32_t)(c->group[l] == group) << l);
        const int count = gs_emu_reach_ranges(reach, same, c->size, range);
        for (int i = 0; i < count; i++)
            gs_emu_check_access(w->cluster->check, w->number, gs_emu_index(w, op), w->block->rank, (uint32_t)range[i].start, range[i].bytes,
                                GS_EMU_COPY_WRITE, GS_EMU_AGENT_COPY, group);
    }
}

static gs_emu_result find_destinations(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, copy *c)
{
    gs_emu_reach reach;
    gs_emu_reach_addresses(w, op->src[0], op->flags & WIDE_TO, (int32_t)op->list2, &reach);
    if (!gs_emu_reach_find(w, op, GS_PTX_SHARED, lanes, c->size, &reach)) return GS_EMU_FAILED;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        c->to[l] = reach.at[l];
        c->group[l] = w->copy->committed[l] + 1;
    }
    gs_emu_reach_count(w, &reach, c->size, true);
    if (!w->cluster->check) return GS_EMU_NEXT;
    check_destinations(w, op, &reach, c);
    gs_emu_copied *const copied = &w->copy->recent[w->copy->copies++ % GS_COUNT(w->copy->recent)];
    reach.lanes = lanes;
    copied->to = gs_emu_lanes_access(w, op, &reach, c->size);
    memcpy(copied->group, c->group, sizeof copied->group);
    return GS_EMU_NEXT;
}

static gs_emu_result issue(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (gs_emu_tasks_full(w->cluster)) return GS_EMU_WAIT;
    copy *const c = gs_emu_copy_room(w, lanes, 0) ? malloc(sizeof *c) : NULL;
    if (!c) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "no memory for another copy");
    c->task = (gs_emu_task){.step = step};
    c->warp = w;
    c->lanes = lanes;
    c->size = op->count;
    if (find_bytes(w, op, lanes, c) != GS_EMU_NEXT || find_sources(w, op, lanes, c) != GS_EMU_NEXT ||
        find_destinations(w, op, lanes, c) != GS_EMU_NEXT) {
        free(c);
        return GS_EMU_FAILED;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        w->copy->under_way[c->group[l] % w->copy->rows][l]++;
        w->copy->issued[l] = c->group[l];
    }
    return gs_emu_task_add(w->cluster, &c->task) ? GS_EMU_NEXT : GS_EMU_FAILED;
}

/* cp.async.mbarrier.arrive: lanes with the same address arrive together. */
static gs_emu_result arrive(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (gs_emu_tasks_full(w->cluster)) return GS_EMU_WAIT;
    while (lanes) {
        const int first = __builtin_ctz(lanes);
        const uint64_t address = gs_emu_lane_address(w, op, 0, first);
        uint32_t same = 0;
        gs_emu_place place;
        for (uint32_t left = lanes; left; left &= left - 1)
            if (gs_emu_lane_address(w, op, 0, __builtin_ctz(left)) == address) same |= left & -left;
        lanes &= ~same;
        if (!gs_emu_resolve(w, op, first, (gs_ptx_space)op->space, address, 8, 8, &place)) return GS_EMU_FAILED;
        if (place.block != w->block)
            return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lane %d: the mbarrier is not in the block's own shared memory", first);
        gs_emu_mbarrier *const barrier = gs_emu_mbarrier_find(w, op, place.block, place.offset);
        if (barrier) gs_emu_mbarrier_arrive_later(w, op, same, barrier, op->count);
    }
    return w->cluster->failed ? GS_EMU_FAILED : GS_EMU_NEXT;
}

/* ---- decoding ---- */

static gs_status read_parts(gs_emu_decoder *d, const gs_ptx_instruction *in, bool *hint)
{
    static const char *const prefetch[] = {"L2::64B", "L2::128B", "L2::256B"};
    if (in->parts < 5 || (strcmp(in->part[3], "shared") != 0 && strcmp(in->part[3], "shared::cta") != 0) || strcmp(in->part[4], "global") != 0)
        return gs_emu_unsupported(d, "only from .global to .shared");
    for (int i = 5; i < in->parts; i++) {
        size_t at = 0;
        while (at < GS_COUNT(prefetch) && strcmp(prefetch[at], in->part[i]) != 0) at++;
        if (strcmp(in->part[i], "L2::cache_hint") == 0)
            *hint = true;
        else if (at == GS_COUNT(prefetch))
            return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
    }
    return GS_OK;
}

/* The fourth operand: a number of bytes, or a predicate that says to read nothing. */
static void decode_amount(gs_emu_decoder *d, gs_emu_op *op, const gs_ptx_operand *operand)
{
    bool negated;
    if (!operand) return;
    if (operand->kind != GS_PTX_REGISTER || d->entry->reg[operand->index].type != GS_PTX_PRED) {
        op->src[2] = gs_emu_source(d, operand, GS_PTX_U32);
        return;
    }
    op->src[2] = gs_emu_source_predicate(d, operand, &negated);
    op->flags |= (uint16_t)(negated ? IGNORES | IGNORES_NOT : IGNORES);
}

static gs_status decode_issue(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const bool all_levels = strcmp(in->part[2], "ca") == 0;
    bool hint = false;
    GS_TRY(read_parts(d, in, &hint));
    GS_TRY(gs_emu_access_operands(d, 3 + hint, 4 + hint));
    const gs_ptx_operand *const size = gs_emu_operand(d, 2);
    if (size->kind != GS_PTX_INTEGER || (size->bits != 16 && (!all_levels || (size->bits != 4 && size->bits != 8))))
        return gs_emu_unsupported(d, "a copy has 16 bytes, with .ca also 4 or 8");
    op->exec = issue;
    op->class = GS_EMU_COPY;
    op->space = GS_PTX_SHARED;
    op->count = (uint8_t)size->bits;
    gs_emu_access_address(d, gs_emu_operand(d, 0), GS_PTX_SHARED);
    if (op->immediate != (int32_t)op->immediate) gs_emu_unsupported(d, "the displacement does not fit");
    if (op->flags & GS_EMU_ADDRESS_64) op->flags = (uint16_t)((op->flags & ~GS_EMU_ADDRESS_64) | WIDE_TO);
    op->list2 = (uint32_t)op->immediate;
    gs_emu_address(d, gs_emu_operand(d, 1), 1);
    if (in->operands == 4 + hint) decode_amount(d, op, gs_emu_operand(d, 3));
    if (hint) gs_emu_source(d, gs_emu_operand(d, 3 + (in->operands == 5)), GS_PTX_B64);
    return d->status;
}

/* cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 */
static gs_status decode_arrive(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    int part = 4;
    op->exec = arrive;
    const bool keeps = part < in->parts && strcmp(in->part[part], "noinc") == 0;
    part += keeps;
    const bool shared = part < in->parts && (strcmp(in->part[part], "shared") == 0 || strcmp(in->part[part], "shared::cta") == 0);
    part += shared;
    if (strcmp(in->part[3], "arrive") != 0 || part + 1 != in->parts || strcmp(in->part[part], "b64") != 0)
        return gs_emu_unsupported(d, "only .arrive{.noinc}{.shared{::cta}}.b64");
    GS_TRY(gs_emu_access_operands(d, 1, 1));
    op->space = (uint8_t)(shared ? GS_PTX_SHARED : GS_PTX_GENERIC);
    op->count = !keeps;
    gs_emu_access_address(d, gs_emu_operand(d, 0), (gs_ptx_space)op->space);
    return d->status;
}

static gs_status decode_wait(gs_emu_decoder *d, gs_emu_op *op)
{
    GS_TRY(gs_emu_access_operands(d, 1, 1));
    const gs_ptx_operand *const allowed = gs_emu_operand(d, 0);
    if (allowed->kind != GS_PTX_INTEGER) return gs_emu_unsupported(d, "a number of groups is expected");
    op->exec = wait_group;
    op->immediate = (int64_t)allowed->bits;
    return d->status;
}

gs_status gs_emu_decode_copy(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const char *const kind = in->parts >= 3 && strcmp(in->part[1], "async") == 0 ? in->part[2] : "bulk";
    if (strcmp(kind, "bulk") == 0) return GS_ERROR_NOT_FOUND;
    op->class = GS_EMU_BARRIER;
    if (strcmp(kind, "ca") == 0 || strcmp(kind, "cg") == 0) return decode_issue(d, in, op);
    if (strcmp(kind, "mbarrier") == 0 && in->parts >= 5) return decode_arrive(d, in, op);
    if (strcmp(kind, "wait_group") == 0 && in->parts == 3) return decode_wait(d, op);
    const bool waits = strcmp(kind, "wait_all") == 0;
    if (in->parts != 3 || (!waits && strcmp(kind, "commit_group") != 0)) return gs_emu_unsupported(d, "unknown form of cp.async");
    op->exec = waits ? wait_all : commit;
    return gs_emu_access_operands(d, 0, 0);
}

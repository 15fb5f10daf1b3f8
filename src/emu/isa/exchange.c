/* SPDX-License-Identifier: MIT
 * Warp-wide instructions: shuffles, votes, matches, reductions, elect, the warp barrier; and control instructions without memory: branches, exits, traps, clocks. If
 * lanes of a mask have diverged, they wait for each other at the instruction. */
#include <string.h>

#include "emu/isa/sync.h"

/* ---- convergence of a mask ---- */

#define EACH(lane, lanes) for (int lane = 0; lane < GS_EMU_LANES; lane++) if ((lanes) >> lane & 1)

/* Whether the fragment has lanes that wait at this instruction with the same mask. */
static bool waits_with(gs_emu_warp *w, const gs_emu_fragment *f, uint32_t pc, uint32_t offset, uint32_t mask)
{
    return f->pc == pc && f->pending && gs_emu_u32(w, offset)[__builtin_ctz(f->pending)] == mask;
}

/* Whether all members of the mask are at this instruction. If so, *lanes becomes all of them, and the fragments of the others advance; otherwise the current fragment
 * waits. */
static gs_emu_result meet(gs_emu_warp *w, const gs_emu_op *op, uint32_t *lanes, uint32_t offset)
{
    const uint32_t mask = gs_emu_u32(w, offset)[__builtin_ctz(*lanes)], members = mask & w->alive, pc = gs_emu_index(w, op);
    if (*lanes & ~mask) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lanes %#x execute it, but its mask names %#x", *lanes, mask);
    w->fragment[w->current].pending = *lanes == members ? 0 : *lanes;
    if (*lanes == members) return GS_EMU_NEXT;
    uint32_t together = 0;
    for (int i = 0; i < w->fragments; i++)
        if (waits_with(w, &w->fragment[i], pc, offset, mask)) together |= w->fragment[i].pending;
    if ((together & members) != members) return GS_EMU_WAIT;
    for (int i = w->fragments - 1; i >= 0; i--) {
        gs_emu_fragment *const f = &w->fragment[i];
        if (i == w->current || !waits_with(w, f, pc, offset, mask)) continue;   /* a fragment that has not executed it yet comes later */
        f->pending = 0;
        f->waiting = false;
        f->pc++;
        if (f->scope == w->fragment[w->current].scope) gs_emu_warp_merge(w, i);
    }
    w->fragment[w->current].pending = 0;
    *lanes = members;
    gs_emu_happened(w->cluster);
    return GS_EMU_NEXT;
}

static uint32_t lanes_with(const uint32_t *mask, uint32_t lanes, uint32_t value)
{
    uint32_t same = 0;
    for (int lane = 0; lane < GS_EMU_LANES; lane++) same |= (uint32_t)(mask[lane] == value) << lane;
    return same & lanes;
}

/* Lanes with equal masks act together once all lanes of the mask are here. Lanes with another mask act separately: now if they are complete as well, otherwise they
 * are split off. */
static gs_emu_result together(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, uint32_t offset, gs_emu_exec *act)
{
    const uint32_t *const mask = gs_emu_u32(w, offset);
    uint32_t first = lanes_with(mask, lanes, mask[__builtin_ctz(lanes)]);
    bool complete = first != lanes;
    for (uint32_t left = lanes, group; complete && left; left &= ~group) {
        group = lanes_with(mask, left, mask[__builtin_ctz(left)]);
        complete = group == (mask[__builtin_ctz(left)] & w->alive);
    }
    if (complete) {
        for (uint32_t left = lanes, group; left; left &= ~group) {
            group = lanes_with(mask, left, mask[__builtin_ctz(left)]);
            const gs_emu_result result = act(w, op, group);
            if (result != GS_EMU_NEXT) return result;
        }
        return GS_EMU_NEXT;
    }
    if (first != lanes) gs_emu_warp_split(w, lanes & ~first);
    const gs_emu_result met = meet(w, op, &first, offset);
    return met == GS_EMU_NEXT ? act(w, op, first) : met;
}

/* ---- shuffles ---- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* The lane that `lane` reads from; *in: whether it is within the bounds that c sets. */
static inline int source_lane(int mode, int lane, uint32_t b, uint32_t c, bool *in)
{
    const int offset = (int)(b & 31), clamp = (int)(c & 31), segment = (int)(c >> 8 & 31);
    const int most = (lane & segment) | (clamp & ~segment & 31);
    int from;
    switch (mode) {
    case SHFL_UP:   from = lane - offset, *in = from >= most; break;
    case SHFL_DOWN: from = lane + offset, *in = from <= most; break;
    case SHFL_BFLY: from = lane ^ offset, *in = from <= most; break;
    default:        from = (lane & segment) | (offset & ~segment & 31), *in = from <= most; break;
    }
    return *in ? from : lane;
}

static gs_emu_result shuffle(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, int mode)
{
    uint32_t value[GS_EMU_LANES], valid = 0;
    const uint32_t *const a = gs_emu_u32(w, op->src[0]), *const b = gs_emu_u32(w, op->src[1]), *const c = gs_emu_u32(w, op->src[2]);
    EACH(lane, lanes) {
        bool in = false;
        const int from = source_lane(mode, lane, b[lane], c[lane], &in);
        if (!(lanes >> from & 1))
            return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lane %d reads lane %d, which does not take part", lane, from);
        value[lane] = a[from];
        valid |= (uint32_t)in << lane;
    }
    uint32_t *const d = op->dst == GS_EMU_NONE ? NULL : gs_emu_u32(w, op->dst);
    EACH(lane, lanes) if (d) d[lane] = value[lane];
    if (op->dst2 != GS_EMU_NONE) {
        uint32_t *const p = gs_emu_mask(w, op->dst2);
        *p = (*p & ~lanes) | valid;
    }
    return GS_EMU_NEXT;
}

static gs_emu_result act_shfl(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    switch (op->count) {   /* one loop per mode */
    case SHFL_UP:   return shuffle(w, op, lanes, SHFL_UP);
    case SHFL_DOWN: return shuffle(w, op, lanes, SHFL_DOWN);
    case SHFL_BFLY: return shuffle(w, op, lanes, SHFL_BFLY);
    default:        return shuffle(w, op, lanes, SHFL_IDX);
    }
}

static gs_emu_result exec_shfl(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes) { return together(w, op, lanes, op->src[3], act_shfl); }

static gs_status decode_shfl(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    op->exec = exec_shfl;
    op->class = GS_EMU_EXCHANGE;
    if (in->parts != 4 || strcmp(in->part[1], "sync") != 0 || strcmp(in->part[3], "b32") != 0) return gs_emu_unsupported(d, "only shfl.sync.MODE.b32");
    for (op->count = 0; op->count < GS_COUNT(modes) && strcmp(in->part[2], modes[op->count]) != 0;) op->count++;
    if (op->count == GS_COUNT(modes)) return gs_emu_unsupported(d, "unknown mode .%s", in->part[2]);
    const gs_ptx_operand *to = gs_emu_operand(d, 0);
    if (to && to->kind == GS_PTX_PAIR) {
        op->dst2 = gs_emu_destination(d, gs_emu_child(d, to, 1), GS_PTX_PRED);
        to = gs_emu_child(d, to, 0);
    }
    op->dst = gs_emu_destination(d, to, GS_PTX_B32);
    for (int i = 0; i < 4; i++) op->src[i] = gs_emu_source(d, gs_emu_operand(d, 1 + i), GS_PTX_B32);
    return d->status;
}

/* ---- votes, matches, reductions ---- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static void set_predicate(gs_emu_warp *w, uint32_t offset, uint32_t lanes, bool value)
{
    if (offset == GS_EMU_NONE) return;
    uint32_t *const p = gs_emu_mask(w, offset);
    *p = value ? *p | lanes : *p & ~lanes;
}

static void set_all(gs_emu_warp *w, uint32_t offset, uint32_t lanes, uint32_t value)
{
    if (offset == GS_EMU_NONE) return;
    EACH(lane, lanes) gs_emu_u32(w, offset)[lane] = value;
}

static gs_emu_result act_vote(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t mask = *gs_emu_mask(w, op->src[0]), yes = lanes & (op->flags & 1 ? ~mask : mask);
    switch (op->count) {
    case VOTE_ALL: set_predicate(w, op->dst, lanes, yes == lanes); break;
    case VOTE_ANY: set_predicate(w, op->dst, lanes, yes != 0); break;
    case VOTE_UNI: set_predicate(w, op->dst, lanes, yes == lanes || yes == 0); break;
    default:       set_all(w, op->dst, lanes, yes); break;
    }
    return GS_EMU_NEXT;
}

static gs_emu_result exec_vote(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes) { return together(w, op, lanes, op->src[1], act_vote); }

static gs_status decode_vote(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    bool negated;
    op->exec = exec_vote;
    op->class = GS_EMU_EXCHANGE;
    if (in->parts != 4 || strcmp(in->part[1], "sync") != 0) return gs_emu_unsupported(d, "only vote.sync.MODE");
    for (op->count = 0; op->count < GS_COUNT(modes) && strcmp(in->part[2], modes[op->count]) != 0;) op->count++;
    if (op->count == GS_COUNT(modes)) return gs_emu_unsupported(d, "unknown mode .%s", in->part[2]);
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), op->count == VOTE_BALLOT ? GS_PTX_B32 : GS_PTX_PRED);
    op->src[0] = gs_emu_source_predicate(d, gs_emu_operand(d, 1), &negated);
    op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B32);
    op->flags = negated;
    return d->status;
}

static gs_emu_result act_match(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const bool wide = gs_ptx_type_bits((gs_ptx_type)op->type) == 64;
    uint64_t value[GS_EMU_LANES];
    uint32_t same[GS_EMU_LANES];
    EACH(lane, lanes) value[lane] = wide ? gs_emu_u64(w, op->src[0])[lane] : gs_emu_u32(w, op->src[0])[lane];
    bool all = true;
    EACH(lane, lanes) {
        same[lane] = 0;
        EACH(other, lanes) same[lane] |= (uint32_t)(value[other] == value[lane]) << other;
        all = all && same[lane] == lanes;
    }
    if (op->dst != GS_EMU_NONE)
        EACH(lane, lanes) gs_emu_u32(w, op->dst)[lane] = op->flags ? (all ? lanes : 0) : same[lane];
    set_predicate(w, op->dst2, lanes, all);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_match(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes) { return together(w, op, lanes, op->src[1], act_match); }

static gs_status decode_match(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    op->exec = exec_match;
    op->class = GS_EMU_EXCHANGE;
    if (in->parts != 4 || !gs_emu_part(in, "sync") || (!gs_emu_part(in, "any") && !gs_emu_part(in, "all"))) return gs_emu_unsupported(d, "unknown form");
    op->flags = gs_emu_part(in, "all");
    op->type = gs_ptx_type_of(in->part[3]);
    if (op->type != GS_PTX_B32 && op->type != GS_PTX_B64) return gs_emu_unsupported(d, "unknown type .%s", in->part[3]);
    const gs_ptx_operand *to = gs_emu_operand(d, 0);
    if (to && to->kind == GS_PTX_PAIR) {
        op->dst2 = gs_emu_destination(d, gs_emu_child(d, to, 1), GS_PTX_PRED);
        to = gs_emu_child(d, to, 0);
    }
    op->dst = gs_emu_destination(d, to, GS_PTX_B32);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), (gs_ptx_type)op->type);
    op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B32);
    return d->status;
}

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

static uint32_t combine(int how, bool is_signed, uint32_t a, uint32_t b)
{
    const bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    switch (how) {
    case REDUX_ADD: return a + b;
    case REDUX_MIN: return less ? a : b;
    case REDUX_MAX: return less ? b : a;
    case REDUX_AND: return a & b;
    case REDUX_OR:  return a | b;
    default:        return a ^ b;
    }
}

static gs_emu_result act_redux(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t *const a = gs_emu_u32(w, op->src[0]);
    uint32_t value = a[__builtin_ctz(lanes)];
    EACH(lane, lanes & (lanes - 1)) value = combine(op->count, op->type == GS_PTX_S32, value, a[lane]);
    set_all(w, op->dst, lanes, value);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_redux(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes) { return together(w, op, lanes, op->src[1], act_redux); }

static gs_status decode_redux(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const how[] = {"add", "min", "max", "and", "or", "xor"};
    op->exec = exec_redux;
    op->class = GS_EMU_EXCHANGE;
    if (in->parts != 4 || strcmp(in->part[1], "sync") != 0) return gs_emu_unsupported(d, "unknown form");
    op->type = gs_ptx_type_of(in->part[3]);
    for (op->count = 0; op->count < GS_COUNT(how) && strcmp(in->part[2], how[op->count]) != 0;) op->count++;
    if (op->count == GS_COUNT(how) || (op->type != GS_PTX_B32 && op->type != GS_PTX_U32 && op->type != GS_PTX_S32))
        return gs_emu_unsupported(d, "unknown operation or type");
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_B32);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), GS_PTX_B32);
    op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B32);
    return d->status;
}

/* ---- elect, activemask, the warp barrier ---- */

static gs_emu_result act_elect(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const int leader = __builtin_ctz(lanes);
    set_all(w, op->dst, lanes, (uint32_t)leader);
    set_predicate(w, op->dst2, lanes, false);
    set_predicate(w, op->dst2, 1u << leader, true);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_elect(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes) { return together(w, op, lanes, op->src[0], act_elect); }

static gs_status decode_elect(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    op->exec = exec_elect;
    op->class = GS_EMU_EXCHANGE;
    const gs_ptx_operand *const to = gs_emu_operand(d, 0);
    if (in->parts != 2 || strcmp(in->part[1], "sync") != 0 || !to || to->kind != GS_PTX_PAIR) return gs_emu_unsupported(d, "only elect.sync d|p, mask");
    op->dst = gs_emu_destination(d, gs_emu_child(d, to, 0), GS_PTX_B32);
    op->dst2 = gs_emu_destination(d, gs_emu_child(d, to, 1), GS_PTX_PRED);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), GS_PTX_B32);
    return d->status;
}

static gs_emu_result exec_activemask(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    set_all(w, op->dst, lanes, lanes);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_nothing(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)w, (void)op, (void)lanes;
    return GS_EMU_NEXT;
}

static gs_emu_result exec_meet(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)op;
    if (w->early) gs_emu_early_meet(w, lanes);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_warp_barrier(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes) { return together(w, op, lanes, op->src[0], exec_meet); }

/* ---- control ---- */

static gs_emu_result exec_trap(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "the kernel stopped itself in lanes %#x", lanes);
}

static gs_emu_result exec_sleep(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    (void)w, (void)op, (void)lanes;
    return GS_EMU_YIELD;
}

/* A monotonic clock: executed instructions of the cluster. */
static gs_emu_result exec_clock(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint64_t now = w->cluster->steps;
    if (op->type == GS_PTX_B64) {
        EACH(lane, lanes) gs_emu_u64(w, op->dst)[lane] = now;
    } else {
        set_all(w, op->dst, lanes, (uint32_t)now);
    }
    return GS_EMU_NEXT;
}

static gs_status decode_clock(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (in->operands != 2) return GS_ERROR_NOT_FOUND;
    const gs_ptx_operand *const from = gs_emu_operand(d, 1);
    if (!from || from->kind != GS_PTX_SPECIAL) return GS_ERROR_NOT_FOUND;
    const bool wide = strcmp(from->name, "%clock64") == 0 || strcmp(from->name, "%globaltimer") == 0;
    if (!wide && strcmp(from->name, "%clock") != 0 && strcmp(from->name, "%clock_hi") != 0 && strcmp(from->name, "%globaltimer_lo") != 0)
        return GS_ERROR_NOT_FOUND;
    if (in->parts != 2 || gs_ptx_type_bits(gs_ptx_type_of(in->part[1])) != (wide ? 64 : 32)) return gs_emu_unsupported(d, "a clock of another width");
    op->exec = exec_clock;
    op->class = GS_EMU_INTEGER;
    op->type = wide ? GS_PTX_B64 : GS_PTX_B32;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), (gs_ptx_type)op->type);
    if (op->dst == GS_EMU_NONE) return gs_emu_unsupported(d, "a clock needs a destination");
    return d->status;
}

static gs_status decode_branch(gs_emu_decoder *d, gs_emu_op *op)
{
    const gs_ptx_operand *const to = gs_emu_operand(d, 0);
    if (!to || to->kind != GS_PTX_LABEL) return gs_emu_unsupported(d, "a branch needs a label");
    op->exec = gs_emu_branch;
    op->class = GS_EMU_CONTROL;
    op->target = (uint32_t)to->index;
    return GS_OK;
}

gs_status gs_emu_decode_warp(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const char *const first = in->part[0];
    op->class = GS_EMU_CONTROL;
    if (strcmp(first, "mov") == 0) return decode_clock(d, in, op);
    if (strcmp(in->name, "bra") == 0 || strcmp(in->name, "bra.uni") == 0) return decode_branch(d, op);
    if (strcmp(first, "shfl") == 0) return decode_shfl(d, in, op);
    if (strcmp(first, "vote") == 0) return decode_vote(d, in, op);
    if (strcmp(first, "match") == 0) return decode_match(d, in, op);
    if (strcmp(first, "redux") == 0) return decode_redux(d, in, op);
    if (strcmp(first, "elect") == 0) return decode_elect(d, in, op);
    if (strcmp(in->name, "activemask.b32") == 0) {
        op->exec = exec_activemask;
        op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_B32);
        return d->status;
    }
    if (strcmp(in->name, "bar.warp.sync") == 0) {
        op->exec = exec_warp_barrier;
        op->class = GS_EMU_BARRIER;
        op->src[0] = gs_emu_source(d, gs_emu_operand(d, 0), GS_PTX_B32);
        return d->status;
    }
    if (strcmp(in->name, "nanosleep.u32") == 0) {
        op->exec = exec_sleep;
        gs_emu_source(d, gs_emu_operand(d, 0), GS_PTX_U32);
        return d->status;
    }
    if (strcmp(in->name, "exit") == 0 || strcmp(in->name, "ret") == 0 || strcmp(in->name, "ret.uni") == 0)
        op->exec = gs_emu_exit;
    else if (strcmp(in->name, "trap") == 0 || strcmp(in->name, "brkpt") == 0)
        op->exec = exec_trap;
    else if (strcmp(in->name, "pmevent") == 0)
        op->exec = exec_nothing;
    else
        return GS_ERROR_NOT_FOUND;
    return GS_OK;
}

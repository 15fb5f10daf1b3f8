/* SPDX-License-Identifier: MIT
 * Instructions on addresses (cvta, isspacep, mapa, getctarank), and cache hints, which have no effect on results. */
#include <string.h>

#include "emu/isa/order.h"

#define RANK_BITS ((1ull << GS_EMU_RANK_SHIFT) - 1)
#define NOBODY    0xffu   /* a rank that no block of a cluster has */

enum { NARROW = GS_EMU_ACCESS_OWN, GENERIC = 2 * GS_EMU_ACCESS_OWN, TO_L1 = 4 * GS_EMU_ACCESS_OWN };   /* flags: 32-bit addresses; generic addresses; an L1 hint */

typedef struct space {
    const char  *text;
    gs_ptx_space space;
    uint64_t     window;
    bool         cluster;   /* a shared address may be in any block */
} space;

static const space spaces[] = {
    {"global",          GS_PTX_GLOBAL, 0, false},
    {"const",           GS_PTX_CONST,  0, false},
    {"shared",          GS_PTX_SHARED, GS_EMU_SHARED_WINDOW, false},
    {"shared::cta",     GS_PTX_SHARED, GS_EMU_SHARED_WINDOW, false},
    {"shared::cluster", GS_PTX_SHARED, GS_EMU_SHARED_WINDOW, true},
    {"local",           GS_PTX_LOCAL,  GS_EMU_LOCAL_WINDOW, false},
    {"param",           GS_PTX_PARAM,  GS_EMU_PARAM_WINDOW, false},
    {"param::entry",    GS_PTX_PARAM,  GS_EMU_PARAM_WINDOW, false},
};

/* The space with this name; NULL: none. */
static const space *space_named(const char *part)
{
    for (int i = 0; i < (int)GS_COUNT(spaces); i++)
        if (strcmp(spaces[i].text, part) == 0) return &spaces[i];
    return NULL;
}

/* ---- execution ---- */

static gs_emu_result add_window(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint64_t *const to = gs_emu_u64(w, op->dst);
    const uint64_t *const from = gs_emu_u64(w, op->src[0]);
    for (int l = 0; l < GS_EMU_LANES; l++)
        if (lanes >> l & 1) to[l] = from[l] + (uint64_t)op->immediate;
    return GS_EMU_NEXT;
}

static uint64_t address_at(gs_emu_warp *w, const gs_emu_op *op, int lane)
{
    return op->flags & NARROW ? gs_emu_u32(w, op->src[0])[lane] : gs_emu_u64(w, op->src[0])[lane];
}

static bool is_in(const gs_emu_warp *w, const gs_emu_op *op, uint64_t address)
{
    const uint64_t window = gs_emu_window_of(address), named = (address - window) >> GS_EMU_RANK_SHIFT;
    switch (op->space) {
    case GS_PTX_SHARED:
        if (window != GS_EMU_SHARED_WINDOW) return false;
        return op->flags & GS_EMU_ACCESS_CLUSTER ? named <= (uint64_t)w->cluster->blocks : named == 0 || named == (uint64_t)w->block->rank + 1;
    case GS_PTX_LOCAL:  return window == GS_EMU_LOCAL_WINDOW;
    case GS_PTX_PARAM:  return window == GS_EMU_PARAM_WINDOW;
    case GS_PTX_GLOBAL: return window != GS_EMU_SHARED_WINDOW && window != GS_EMU_LOCAL_WINDOW;   /* parameters are in global memory */
    default:            return false;   /* the module has no constants */
    }
}

static gs_emu_result ask_space(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint32_t *const to = gs_emu_mask(w, op->dst);
    const uint64_t *const from = gs_emu_u64(w, op->src[0]);
    uint32_t yes = 0;
    for (int l = 0; l < GS_EMU_LANES; l++) yes |= (uint32_t)is_in(w, op, from[l]) << l;
    *to = (*to & ~lanes) | (yes & lanes);
    return GS_EMU_NEXT;
}

static gs_emu_result map_rank(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t *const rank = gs_emu_u32(w, op->src[1]);
    const uint64_t window = op->flags & GENERIC ? GS_EMU_SHARED_WINDOW : 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t field = rank[l] < (uint32_t)w->cluster->blocks ? rank[l] + 1 : NOBODY;
        const uint64_t mapped = window + (field << GS_EMU_RANK_SHIFT | (address_at(w, op, l) & RANK_BITS));
        if (op->flags & NARROW)
            gs_emu_u32(w, op->dst)[l] = (uint32_t)mapped;
        else
            gs_emu_u64(w, op->dst)[l] = mapped;
    }
    return GS_EMU_NEXT;
}

static gs_emu_result ask_rank(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint32_t rank[GS_EMU_LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t address = address_at(w, op, l) - (op->flags & GENERIC ? GS_EMU_SHARED_WINDOW : 0);
        const uint32_t named = (uint32_t)(address >> GS_EMU_RANK_SHIFT) & 0xff;
        rank[l] = named ? named - 1 : (uint32_t)w->block->rank;
    }
    for (uint32_t left = lanes; left; left &= left - 1) gs_emu_u32(w, op->dst)[__builtin_ctz(left)] = rank[__builtin_ctz(left)];
    return GS_EMU_NEXT;
}

static gs_emu_result give_policy(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) gs_emu_u64(w, op->dst)[__builtin_ctz(left)] = (uint64_t)op->immediate;
    return GS_EMU_NEXT;
}

/* A prefetch or a priority reads nothing, but must address memory of the launch. It counts as an early access if it loads into L1, which keeps the data even if the
 * previous launch stores there later. */
static gs_emu_result hint(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (op->flags & TO_L1) gs_emu_reach_out(w, op, lanes);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (op->space != GS_PTX_LOCAL && !gs_emu_hint_resolve(w, op, l, gs_emu_lane_address(w, op, 0, l), 1)) return GS_EMU_FAILED;
    }
    return GS_EMU_NEXT;
}

/* The contents become undefined: random bytes are stored. */
static gs_emu_result discard(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        gs_emu_place place;
        if (!gs_emu_resolve(w, op, l, (gs_ptx_space)op->space, gs_emu_lane_address(w, op, 0, l), 128, 128, &place)) return GS_EMU_FAILED;
        if (place.space != GS_PTX_GLOBAL) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lane %d: discard outside global memory", l);
        for (int i = 0; i < 128; i += 8) {
            const uint64_t junk = gs_random_next(&w->cluster->random);
            memcpy(place.bytes + i, &junk, sizeof junk);
        }
        gs_emu_reach_out(w, op, 1u << l);
        gs_emu_order_place(w, op, &place, 128, GS_EMU_WRITE);
    }
    return GS_EMU_NEXT;
}

/* ---- decoding ---- */

/* Reads the destination; a register is required, because the instruction has no other effect. */
static void result(gs_emu_decoder *d, gs_emu_op *op, gs_ptx_type type)
{
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), type);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
}

/* cvta.space.u64, cvta.to.space.u64 */
static gs_status decode_cvta(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const bool to = in->parts > 1 && strcmp(in->part[1], "to") == 0;
    const space *const named = in->parts == 3 + to ? space_named(in->part[1 + to]) : NULL;
    if (!named) return gs_emu_unsupported(d, "the state space is missing or not known");
    if (strcmp(in->part[2 + to], "u64") != 0) return gs_emu_unsupported(d, "only addresses of 64 bits");
    GS_TRY(gs_emu_access_operands(d, 2, 2));
    op->exec = add_window;
    op->immediate = to ? -(int64_t)named->window : (int64_t)named->window;
    result(d, op, GS_PTX_U64);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), GS_PTX_U64);
    return d->status;
}

static bool has_constants(const gs_ptx_module *module)
{
    for (int i = 0; i < module->variables; i++)
        if (module->variable[i].space == GS_PTX_CONST) return true;
    return false;
}

static gs_status decode_isspacep(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const space *const named = in->parts == 2 ? space_named(in->part[1]) : NULL;
    if (!named) return gs_emu_unsupported(d, "the state space is missing or not known");
    /* constants are ordinary allocations */
    if (has_constants(d->module) && (named->space == GS_PTX_CONST || named->space == GS_PTX_GLOBAL))
        return gs_emu_unsupported(d, "constant memory cannot be told from global memory");
    GS_TRY(gs_emu_access_operands(d, 2, 2));
    op->exec = ask_space;
    op->space = (uint8_t)named->space;
    if (named->cluster) op->flags |= GS_EMU_ACCESS_CLUSTER;
    result(d, op, GS_PTX_PRED);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), GS_PTX_U64);
    return d->status;
}

/* mapa, getctarank: {.shared::cluster}.u32 or .u64 */
static gs_status decode_rank(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const bool maps = strcmp(in->part[0], "mapa") == 0, named = in->parts == 3;
    const gs_ptx_type type = in->parts == 2 || named ? gs_ptx_type_of(in->part[in->parts - 1]) : GS_PTX_NONE;
    if ((named && strcmp(in->part[1], "shared::cluster") != 0) || (type != GS_PTX_U32 && type != GS_PTX_U64))
        return gs_emu_unsupported(d, "only {.shared::cluster}.u32 and .u64");
    if (!named && type == GS_PTX_U32) return gs_emu_unsupported(d, "a generic address has 64 bits");
    GS_TRY(gs_emu_access_operands(d, 2 + maps, 2 + maps));
    op->exec = maps ? map_rank : ask_rank;
    op->flags |= (uint16_t)((type == GS_PTX_U32 ? NARROW : 0) | (named ? 0 : GENERIC));
    result(d, op, maps ? type : GS_PTX_U32);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), type);
    if (maps) op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_U32);
    return d->status;
}

static gs_status check_parts(gs_emu_decoder *d, const gs_ptx_instruction *in, const char *const *known, size_t count)
{
    for (int i = 1; i < in->parts; i++) {
        size_t at = 0;
        while (at < count && strcmp(known[at], in->part[i]) != 0) at++;
        if (at == count) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
    }
    return GS_OK;
}

/* prefetch, prefetchu, applypriority, discard */
static gs_status decode_hint(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const known[] = {"global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal"};
    const bool discards = strcmp(in->part[0], "discard") == 0, sized = discards || strcmp(in->part[0], "applypriority") == 0;
    if (gs_emu_part(in, "tensormap")) return GS_ERROR_NOT_FOUND;
    GS_TRY(check_parts(d, in, known, GS_COUNT(known)));
    GS_TRY(gs_emu_access_operands(d, 1 + sized, 1 + sized));
    op->exec = discards ? discard : hint;
    op->class = GS_EMU_GLOBAL;
    op->space = gs_emu_part(in, "global") ? GS_PTX_GLOBAL : gs_emu_part(in, "local") ? GS_PTX_LOCAL : GS_PTX_GENERIC;
    if (gs_emu_part(in, "L1") && op->space != GS_PTX_LOCAL) op->flags |= TO_L1;
    gs_emu_access_address(d, gs_emu_operand(d, 0), (gs_ptx_space)op->space);
    const gs_ptx_operand *const size = sized ? gs_emu_operand(d, 1) : NULL;
    if (size && (size->kind != GS_PTX_INTEGER || size->bits != 128)) return gs_emu_unsupported(d, "only 128 bytes");
    return d->status;
}

static gs_status decode_policy(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const known[] = {
        "fractional", "range", "cvt", "global", "L2", "b64", "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged",
    };
    const bool range = gs_emu_part(in, "range"), converts = gs_emu_part(in, "cvt");
    GS_TRY(check_parts(d, in, known, GS_COUNT(known)));
    if (range + converts + gs_emu_part(in, "fractional") != 1) return gs_emu_unsupported(d, "one of .fractional, .range and .cvt is expected");
    GS_TRY(gs_emu_access_operands(d, range ? 4 : converts ? 2 : 1, range ? 4 : 2));
    if (range) {
        gs_emu_address(d, gs_emu_operand(d, 1), 0);
        gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_U32);
        gs_emu_source(d, gs_emu_operand(d, 3), GS_PTX_U32);
    } else if (in->operands == 2) {
        gs_emu_source(d, gs_emu_operand(d, 1), converts ? GS_PTX_B64 : GS_PTX_F32);
    }
    op->exec = give_policy;
    op->immediate = 0x1000000000000000;   /* the value is never inspected */
    result(d, op, GS_PTX_B64);
    return d->status;
}

gs_status gs_emu_decode_address(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const struct {
        const char    *name;
        gs_emu_decode *decode;
    } table[] = {
        {"cvta", decode_cvta}, {"isspacep", decode_isspacep}, {"mapa", decode_rank}, {"getctarank", decode_rank}, {"createpolicy", decode_policy},
    };
    op->class = GS_EMU_INTEGER;
    for (size_t i = 0; i < GS_COUNT(table); i++)
        if (strcmp(in->part[0], table[i].name) == 0) return table[i].decode(d, in, op);
    return decode_hint(d, in, op);
}

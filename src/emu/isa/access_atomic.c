/* SPDX-License-Identifier: MIT
 * atom and red. The operation is a function of the old value. In global memory, which other host threads share, it is applied by compare-and-exchange; in shared
 * memory directly, because a cluster runs on one thread. Lanes act in sequence, upwards or downwards, beginning with any lane. */
#include "emu/isa/access.h"
#include "emu/isa/unseen.h"

#include <string.h>

#include "base/half.h"

/* b and c are the operands. Only the bits of the type are used. */
typedef gs_emu_combine combine;

#define COMBINE(name, expression)                                                   \
    static uint64_t name(uint64_t old, uint64_t b, uint64_t c)                      \
    {                                                                               \
        (void)c;                                                                    \
        return (uint64_t)(expression);                                              \
    }

/* ---- integers ---- */

COMBINE(add_int, old + b)
COMBINE(inc_u32, (uint32_t)old >= (uint32_t)b ? 0 : (uint32_t)old + 1)
COMBINE(dec_u32, (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? (uint32_t)b : (uint32_t)old - 1)
COMBINE(min_u32, (uint32_t)old < (uint32_t)b ? old : b)
COMBINE(max_u32, (uint32_t)old > (uint32_t)b ? old : b)
COMBINE(min_s32, (int32_t)old < (int32_t)b ? old : b)
COMBINE(max_s32, (int32_t)old > (int32_t)b ? old : b)
COMBINE(min_u64, old < b ? old : b)
COMBINE(max_u64, old > b ? old : b)
COMBINE(min_s64, (int64_t)old < (int64_t)b ? old : b)
COMBINE(max_s64, (int64_t)old > (int64_t)b ? old : b)
COMBINE(and_int, old & b)
COMBINE(or_int,  old | b)
COMBINE(xor_int, old ^ b)
COMBINE(exch, ((void)old, b))
COMBINE(cas_16, (uint16_t)old == (uint16_t)b ? c : old)
COMBINE(cas_32, (uint32_t)old == (uint32_t)b ? c : old)
COMBINE(cas_64, old == b ? c : old)

/* ---- floating point ---- */

static uint32_t add_bits(uint32_t a, uint32_t b)
{
    const float sum = gs_bits_f32(a) + gs_bits_f32(b);
    return sum != sum ? 0x7fffffffu : gs_f32_bits(sum);
}

static uint32_t flush(uint32_t bits) { return bits & 0x7f800000u ? bits : bits & 0x80000000u; }

COMBINE(add_f32, add_bits((uint32_t)old, (uint32_t)b))
COMBINE(add_f32_ftz, flush(add_bits(flush((uint32_t)old), flush((uint32_t)b))))   /* global memory flushes subnormals */
COMBINE(add_f64, gs_f64_bits(gs_bits_f64(old) + gs_bits_f64(b)))

/* The sum of two halves is rounded twice, which changes nothing: an f32 has more than twice as many digits. */
static uint16_t add_half(uint16_t a, uint16_t b) { return gs_f32_to_f16(gs_f16_to_f32(a) + gs_f16_to_f32(b)); }
static uint16_t add_bhalf(uint16_t a, uint16_t b) { return gs_f32_to_bf16(gs_bf16_to_f32(a) + gs_bf16_to_f32(b)); }

/* Maps halves to integers in the order of their values; -0 is below +0. */
static int order_of(uint16_t half) { return half & 0x8000 ? -(int)(half & 0x7fff) - 1 : half; }

/* The smaller of two numbers (the larger if up); a number wins against a NaN. infinity: bits of the format's infinity. */
static uint16_t choose(uint16_t a, uint16_t b, uint16_t infinity, bool up)
{
    const bool nan_a = (a & 0x7fff) > infinity, nan_b = (b & 0x7fff) > infinity;
    if (nan_a || nan_b) return nan_a && nan_b ? 0x7fff : nan_a ? b : a;
    return (order_of(a) > order_of(b)) == up ? a : b;
}

static uint16_t min_half(uint16_t a, uint16_t b) { return choose(a, b, 0x7c00, false); }
static uint16_t max_half(uint16_t a, uint16_t b) { return choose(a, b, 0x7c00, true); }
static uint16_t min_bhalf(uint16_t a, uint16_t b) { return choose(a, b, 0x7f80, false); }
static uint16_t max_bhalf(uint16_t a, uint16_t b) { return choose(a, b, 0x7f80, true); }

#define HALVES(name)                                                                                       \
    COMBINE(name##_1, name((uint16_t)old, (uint16_t)b))                                                    \
    COMBINE(name##_2, (uint32_t)name((uint16_t)(old >> 16), (uint16_t)(b >> 16)) << 16 | name((uint16_t)old, (uint16_t)b))

HALVES(add_half) HALVES(min_half) HALVES(max_half) HALVES(add_bhalf) HALVES(min_bhalf) HALVES(max_bhalf)

/* ---- supported forms ---- */

enum { SCALAR = 1, VECTOR = 2 };

typedef struct form {
    uint8_t  operation, type, shape;   /* gs_emu_atomic, gs_ptx_type, SCALAR or VECTOR or both */
    bool     noftz;                    /* .noftz is required */
    combine *on_shared, *on_global;
} form;

#define FORM(operation, type, function)       {GS_EMU_ATOMIC_##operation, GS_PTX_##type, SCALAR, false, function, function}
#define HALF(operation, type, shape, function) {GS_EMU_ATOMIC_##operation, GS_PTX_##type, shape, true, function, function}

static const form forms[] = {
    FORM(ADD, U32, add_int), FORM(ADD, S32, add_int), FORM(ADD, U64, add_int), FORM(ADD, S64, add_int),
    FORM(INC, U32, inc_u32), FORM(DEC, U32, dec_u32),
    FORM(MIN, U32, min_u32), FORM(MIN, S32, min_s32), FORM(MIN, U64, min_u64), FORM(MIN, S64, min_s64),
    FORM(MAX, U32, max_u32), FORM(MAX, S32, max_s32), FORM(MAX, U64, max_u64), FORM(MAX, S64, max_s64),
    FORM(AND, B32, and_int), FORM(OR, B32, or_int), FORM(XOR, B32, xor_int),
    FORM(AND, B64, and_int), FORM(OR, B64, or_int), FORM(XOR, B64, xor_int),
    FORM(EXCH, B32, exch), FORM(EXCH, B64, exch), FORM(CAS, B16, cas_16), FORM(CAS, B32, cas_32), FORM(CAS, B64, cas_64),
    {GS_EMU_ATOMIC_ADD, GS_PTX_F32, SCALAR | VECTOR, false, add_f32, add_f32_ftz},
    FORM(ADD, F64, add_f64),
    HALF(ADD, F16, SCALAR | VECTOR, add_half_1),   HALF(ADD, F16X2, SCALAR | VECTOR, add_half_2),
    HALF(ADD, BF16, SCALAR | VECTOR, add_bhalf_1), HALF(ADD, BF16X2, SCALAR | VECTOR, add_bhalf_2),
    HALF(MIN, F16, VECTOR, min_half_1),   HALF(MIN, F16X2, VECTOR, min_half_2),
    HALF(MAX, F16, VECTOR, max_half_1),   HALF(MAX, F16X2, VECTOR, max_half_2),
    HALF(MIN, BF16, VECTOR, min_bhalf_1), HALF(MIN, BF16X2, VECTOR, min_bhalf_2),
    HALF(MAX, BF16, VECTOR, max_bhalf_1), HALF(MAX, BF16X2, VECTOR, max_bhalf_2),
};

/* ---- execution ---- */

/* Bytes of an element. */
static uint32_t size_of(const gs_emu_op *op) { return (uint32_t)gs_ptx_type_bits((gs_ptx_type)op->type) / 8; }

/* An element of 2, 4 or 8 bytes. */
static uint64_t get(const uint8_t *at, uint32_t size)
{
    uint64_t value = 0;   /* little-endian: the low bytes */
    if (size == 4) memcpy(&value, at, 4);
    else if (size == 8) memcpy(&value, at, 8);
    else memcpy(&value, at, 2);
    return value;
}

static void put(uint8_t *at, uint32_t size, uint64_t value)
{
    if (size == 4) memcpy(at, &value, 4);
    else if (size == 8) memcpy(at, &value, 8);
    else memcpy(at, &value, 2);
}

static uint64_t update_plain(uint8_t *at, uint32_t size, combine *function, uint64_t b, uint64_t c)
{
    const uint64_t old = get(at, size);
    put(at, size, function(old, b, c));
    return old;
}

#define UPDATE(type)                                                                                                     \
    static uint64_t update_##type(uint8_t *at, combine *function, uint64_t b, uint64_t c)                                \
    {                                                                                                                    \
        type *const word = (type *)(void *)at;                                                                           \
        type old = __atomic_load_n(word, __ATOMIC_RELAXED);                                                              \
        while (!__atomic_compare_exchange_n(word, &old, (type)function(old, b, c), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) continue; \
        return old;                                                                                                      \
    }
UPDATE(uint16_t) UPDATE(uint32_t) UPDATE(uint64_t)

static uint64_t update_global(uint8_t *at, uint32_t size, combine *function, uint64_t b, uint64_t c)
{
    return size == 2 ? update_uint16_t(at, function, b, c) : size == 4 ? update_uint32_t(at, function, b, c) : update_uint64_t(at, function, b, c);
}

/* Updates the elements of one lane; all are read before any register is written. Returns whether memory changed; *news: whether the result differs from the register's
 * old value. */
static bool update_lane(gs_emu_warp *w, const gs_emu_op *op, const form *how, int lane, uint8_t *at, bool global, bool *news)
{
    const uint32_t *const operand = w->code->list + op->list, *const result = w->code->list + op->list2;
    const uint32_t size = size_of(op), shift = (uint32_t)lane * size;
    uint64_t b[8], c = 0;
    bool changed = false;
    for (uint32_t i = 0; i < op->count; i++) b[i] = get(w->registers + operand[i] + shift, size);
    if (op->src[2] != GS_EMU_NONE) c = get(w->registers + op->src[2] + shift, size);
    for (uint32_t i = 0; i < op->count; i++) {
        combine *const function = global ? how->on_global : how->on_shared;
        const uint64_t old = global ? update_global(at + i * size, size, function, b[i], c) : update_plain(at + i * size, size, function, b[i], c);
        changed |= ((function(old, b[i], c) ^ old) << (64 - 8 * size)) != 0;
        b[i] = old;
    }
    for (uint32_t i = 0; i < op->lists2; i++) {
        if (result[i] == GS_EMU_NONE) continue;
        *news |= get(w->registers + result[i] + shift, size) != b[i];
        put(w->registers + result[i] + shift, size, b[i]);
    }
    return changed;
}

/* Other blocks see the effect late if the result is not read. */
static bool keep_lane(gs_emu_warp *w, const gs_emu_op *op, const form *how, int lane, uint8_t *at)
{
    const uint32_t *const operand = w->code->list + op->list, size = size_of(op);
    if (!gs_emu_unseen_has_room(w->block, op->count)) return false;
    for (uint32_t i = 0; i < op->count; i++) gs_emu_unseen_reduce(w, at + i * size, size, how->on_global, get(w->registers + operand[i] + (uint32_t)lane * size, size));
    return true;
}

static gs_ptx_space space_of(const gs_emu_reach *reach, int lane) { return reach->space == GS_PTX_GENERIC ? reach->place[lane].space : reach->space; }

/* Whether a program could observe the order of the lanes: by the result, or by a floating-point sum. The project's own kernels are run in lane order. */
static bool order_matters(const gs_emu_warp *w, const gs_emu_op *op)
{
    return w->code->reserved && (op->lists2 || op->type >= GS_PTX_F16);
}

/* An exchange whose result is not read is a store, and may be the first one to these bytes. In global memory it stays an atomic operation for the order between
 * blocks: earlier releases stay valid. */
static void touch(gs_emu_warp *w, const gs_emu_op *op, const form *how, const gs_emu_reach *reach, uint32_t size)
{
    const bool stores = how->operation == GS_EMU_ATOMIC_EXCH && op->flags & GS_EMU_ACCESS_UNREAD;
    for (uint32_t left = stores ? reach->lanes : 0; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const gs_emu_allocation *const a = reach->space == GS_PTX_GENERIC ? reach->place[l].allocation : reach->allocation;
        if (space_of(reach, l) == GS_PTX_GLOBAL) gs_emu_memory_mark(a, reach->address[l], size);
    }
    gs_emu_reach_touch(w, op, reach, size, stores && reach->space == GS_PTX_SHARED ? GS_EMU_STRONG_WRITE : GS_EMU_ATOMIC);
}

static gs_emu_result atomic(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_reach reach;
    const form *const how = &forms[op->type2];
    const uint32_t total = size_of(op) * op->count;
    if (gs_emu_reach_op(w, op, lanes, total, &reach) != GS_EMU_NEXT) return GS_EMU_FAILED;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const gs_ptx_space space = space_of(&reach, __builtin_ctz(left));
        if (space != GS_PTX_GLOBAL && (space != GS_PTX_SHARED || how->shape == VECTOR || op->count > 1))
            return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lane %d: an atomic operation that this memory does not have", __builtin_ctz(left));
        if (space == GS_PTX_SHARED && op->flags & GS_EMU_ACCESS_IN_BLOCK && reach.space == GS_PTX_GENERIC && reach.place[__builtin_ctz(left)].block != w->block)
            return gs_emu_report(w, op, GS_EMU_RACE_FINDING, "lane %d: an atomic operation of scope .cta on shared memory of block %d of the cluster, which it does not reach", __builtin_ctz(left),
                                 reach.place[__builtin_ctz(left)].block->rank);
    }
    touch(w, op, how, &reach, total);
    gs_emu_unseen_release(w->block, op->flags);
    gs_emu_reach_count(w, &reach, total, true);
    bool changed = false, news = false;
    const bool late = w->cluster->launch->unseen && (!op->lists2 || op->flags & GS_EMU_ACCESS_UNREAD) && op->src[2] == GS_EMU_NONE;
    const int first = order_matters(w, op) ? (int)gs_random_below(&w->cluster->random, 2 * GS_EMU_LANES) : 0;
    for (int i = 0; i < GS_EMU_LANES; i++) {
        const int l = (first + i) % GS_EMU_LANES ^ (first >= GS_EMU_LANES ? GS_EMU_LANES - 1 : 0);
        const bool global = space_of(&reach, l) == GS_PTX_GLOBAL;
        if (!(lanes >> l & 1)) continue;
        changed |= (late && global && keep_lane(w, op, how, l, reach.at[l])) || update_lane(w, op, how, l, reach.at[l], global, &news);
    }
    if (changed) w->cluster->quiet_steps = 0;   /* otherwise it may be polling */
    gs_emu_count_poll(w, reach.address[__builtin_ctz(lanes)], changed || news);
    return op->lists2 ? GS_EMU_YIELD : GS_EMU_NEXT;   /* code that reads the result may spin */
}

/* ---- decoding ---- */

static gs_status find_form(gs_emu_decoder *d, const gs_emu_access_parts *parts)
{
    const int shape = parts->vector > 1 ? VECTOR : SCALAR;
    for (size_t i = 0; i < GS_COUNT(forms); i++) {
        if (forms[i].operation != parts->operation || forms[i].type != parts->type || !(forms[i].shape & shape)) continue;
        if (forms[i].noftz != parts->noftz) return gs_emu_unsupported(d, parts->noftz ? ".noftz is not expected" : ".noftz is missing");
        d->op->type2 = (uint8_t)i;
        return GS_OK;
    }
    return gs_emu_unsupported(d, "there is no such operation on this type");
}

static gs_status decode_result(gs_emu_decoder *d, gs_emu_op *op)
{
    const gs_ptx_operand *const operand = gs_emu_operand(d, 0);
    if (!operand || operand->kind == GS_PTX_SINK) return d->status;
    op->lists2 = (uint16_t)gs_emu_destinations(d, operand, (gs_ptx_type)op->type, &op->list2);
    if (d->status == GS_OK && op->lists2 != op->count) gs_emu_unsupported(d, "a result of %d elements is expected", op->count);
    if (d->status == GS_OK && op->count == 1) op->dst = d->code->list[op->list2];
    return d->status;
}

gs_status gs_emu_decode_atomic(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_access_parts parts;
    const bool returns = strcmp(in->part[0], "atom") == 0;
    GS_TRY(gs_emu_access_parts_read(d, in, returns ? GS_EMU_ON_ATOM : GS_EMU_ON_RED, &parts));
    GS_TRY(find_form(d, &parts));
    const int swaps = parts.operation == GS_EMU_ATOMIC_CAS, operands = 2 + returns + swaps + parts.hint;
    GS_TRY(gs_emu_access_operands(d, operands, operands));
    if (parts.vector * gs_ptx_type_bits(parts.type) > 128) return gs_emu_unsupported(d, "an atomic operation on more than 16 bytes");
    if (parts.vector > 1 && parts.space == GS_PTX_SHARED) return gs_emu_unsupported(d, "vectors are for global memory only");
    op->exec = atomic;
    op->class = parts.space == GS_PTX_SHARED ? GS_EMU_SHARED : GS_EMU_GLOBAL;
    op->space = (uint8_t)parts.space;
    op->flags = parts.flags;
    op->type = (uint8_t)parts.type;
    op->count = (uint8_t)parts.vector;
    if (returns) GS_TRY(decode_result(d, op));
    gs_emu_access_address(d, gs_emu_operand(d, returns), parts.space);
    op->lists = (uint16_t)gs_emu_sources(d, gs_emu_operand(d, returns + 1), parts.type, &op->list);
    if (d->status == GS_OK && op->lists != op->count) gs_emu_unsupported(d, "an operand of %d elements is expected", op->count);
    if (swaps) op->src[2] = gs_emu_source(d, gs_emu_operand(d, 3), parts.type);
    if (parts.hint) gs_emu_source(d, gs_emu_operand(d, operands - 1), GS_PTX_B64);
    return d->status;
}

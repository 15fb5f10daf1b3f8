/* SPDX-License-Identifier: MIT
 * Comparisons: setp, set, testp. A comparison of two registers gives a mask of lanes. All of PTX's comparisons are made from a few by exchanging the operands or
 * inverting the mask. */
#include <string.h>

#include "emu/isa/alu.h"

/* ---- masks ---- */

typedef uint32_t compare_fn(const void *a, const void *b);

#define COMPARE(name, type, expression)                                                                  \
    static uint32_t name(const void *left, const void *right)                                            \
    {                                                                                                    \
        const type *const x = left, *const y = right;                                                    \
        uint32_t mask = 0;                                                                               \
        for (int l = 0; l < GS_EMU_LANES; l++) {                                                         \
            const type a = x[l], b = y[l];                                                               \
            mask |= (expression) ? gs_emu_lane_bit[l] : 0;                                               \
        }                                                                                                \
        return mask;                                                                                     \
    }
#define COMPARE_INTEGERS(suffix, type)             \
    COMPARE(eq_##suffix, type, a == b)             \
    COMPARE(ne_##suffix, type, a != b)             \
    COMPARE(lt_##suffix, type, a < b)              \
    COMPARE(le_##suffix, type, a <= b)
COMPARE_INTEGERS(u16, uint16_t)
COMPARE_INTEGERS(s16, int16_t)
COMPARE_INTEGERS(u32, uint32_t)
COMPARE_INTEGERS(s32, int32_t)
COMPARE_INTEGERS(u64, uint64_t)
COMPARE_INTEGERS(s64, int64_t)

/* ne for floating-point: neither is NaN, and they differ. */
#define COMPARE_FLOATS(suffix, type)               \
    COMPARE(eq_##suffix, type, a == b)             \
    COMPARE(ne_##suffix, type, a < b || a > b)     \
    COMPARE(lt_##suffix, type, a < b)              \
    COMPARE(le_##suffix, type, a <= b)             \
    COMPARE(num_##suffix, type, a == a && b == b)
COMPARE_FLOATS(f32, float)
COMPARE_FLOATS(f64, double)

/* Groups of types that are compared in the same way; f16 and bf16 are compared as f32. */
enum { EQ, NE, LT, LE, NUM, KINDS };
enum { OF_U16, OF_S16, OF_U32, OF_S32, OF_U64, OF_S64, OF_F64, OF_F32, OF_F16, OF_BF16, OF_F16X2, OF_BF16X2 };
static compare_fn *const compares[][KINDS] = {
    {eq_u16, ne_u16, lt_u16, le_u16, NULL}, {eq_s16, ne_s16, lt_s16, le_s16, NULL},
    {eq_u32, ne_u32, lt_u32, le_u32, NULL}, {eq_s32, ne_s32, lt_s32, le_s32, NULL},
    {eq_u64, ne_u64, lt_u64, le_u64, NULL}, {eq_s64, ne_s64, lt_s64, le_s64, NULL},
    {eq_f64, ne_f64, lt_f64, le_f64, num_f64}, {eq_f32, ne_f32, lt_f32, le_f32, num_f32},
};

/* ---- execution: op->type is the group of types, op->type2 the comparison ---- */

enum { INVERT = 1, FLUSH = 2, NOT_C = 4, WITH_AND = 8, WITH_OR = 16, WITH_XOR = 32 };   /* op->flags */

/* The 32 halves of a register as f32; part 1: the upper halves. */
static void widen(const gs_emu_op *op, const uint16_t *from, int part, float out[GS_EMU_LANES])
{
    const int step = op->type >= OF_F16X2 ? 2 : 1;
    uint16_t half[GS_EMU_LANES];
    for (int l = 0; l < GS_EMU_LANES; l++) half[l] = from[step * l + part];
    if (op->type == OF_BF16 || op->type == OF_BF16X2)
        for (int l = 0; l < GS_EMU_LANES; l++) out[l] = gs_bf16_to_f32(half[l]);
    else
        for (int l = 0; l < GS_EMU_LANES; l++) out[l] = gs_f16_to_f32(op->flags & FLUSH && !(half[l] & 0x7c00) ? half[l] & 0x8000 : half[l]);
}

static uint32_t compare(gs_emu_warp *w, const gs_emu_op *op, int part)
{
    const void *a = w->registers + op->src[0], *b = w->registers + op->src[1];
    float wide_a[GS_EMU_LANES], wide_b[GS_EMU_LANES];
    if (op->type >= OF_F16 || op->flags & FLUSH) {
        if (op->type >= OF_F16) {
            widen(op, a, part, wide_a);
            widen(op, b, part, wide_b);
        } else {
            for (int l = 0; l < GS_EMU_LANES; l++) wide_a[l] = gs_emu_flush(((const float *)a)[l]);
            for (int l = 0; l < GS_EMU_LANES; l++) wide_b[l] = gs_emu_flush(((const float *)b)[l]);
        }
        a = wide_a, b = wide_b;
    }
    const uint32_t mask = compares[op->type >= OF_F16 ? OF_F32 : op->type][op->type2](a, b);
    return op->flags & INVERT ? ~mask : mask;
}

static uint32_t combine(gs_emu_warp *w, const gs_emu_op *op, uint32_t mask)
{
    if (!(op->flags & (WITH_AND | WITH_OR | WITH_XOR))) return mask;
    const uint32_t c = *gs_emu_mask(w, op->src[2]) ^ (op->flags & NOT_C ? GS_EMU_FULL : 0);
    return op->flags & WITH_AND ? mask & c : op->flags & WITH_OR ? mask | c : mask ^ c;
}

/* The second predicate is that of the inverted comparison. */
static gs_emu_result setp(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t mask = compare(w, op, 0), first = combine(w, op, mask), second = combine(w, op, ~mask);
    gs_emu_set_mask(w, op->dst, lanes, first);
    gs_emu_set_mask(w, op->dst2, lanes, second);
    return GS_EMU_NEXT;
}

/* Two numbers in a register: one predicate for each, the lower one first. */
static gs_emu_result setp_x2(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t first = combine(w, op, compare(w, op, 0)), second = combine(w, op, compare(w, op, 1));
    gs_emu_set_mask(w, op->dst, lanes, first);
    gs_emu_set_mask(w, op->dst2, lanes, second);
    return GS_EMU_NEXT;
}

/* op->immediate: the result of a true comparison. */
static gs_emu_result set_16(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t mask = combine(w, op, compare(w, op, 0));
    uint16_t *const d = gs_emu_u16(w, op->dst);
    const uint16_t yes = (uint16_t)op->immediate;
    GS_EMU_EACH(l, lanes, d[l] = mask & gs_emu_lane_bit[l] ? yes : 0);
    return GS_EMU_NEXT;
}

static gs_emu_result set_32(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t mask = combine(w, op, compare(w, op, 0));
    uint32_t *const d = gs_emu_u32(w, op->dst);
    const uint32_t yes = (uint32_t)op->immediate;
    GS_EMU_EACH(l, lanes, d[l] = mask & gs_emu_lane_bit[l] ? yes : 0);
    return GS_EMU_NEXT;
}

static gs_emu_result set_x2(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t low = combine(w, op, compare(w, op, 0)), high = combine(w, op, compare(w, op, 1));
    uint32_t *const d = gs_emu_u32(w, op->dst);
    const uint32_t yes = (uint32_t)op->immediate;
    GS_EMU_EACH(l, lanes, d[l] = (low & gs_emu_lane_bit[l] ? yes & 0xffff : 0) | (high & gs_emu_lane_bit[l] ? yes & 0xffff0000 : 0));
    return GS_EMU_NEXT;
}

/* ---- testp: classes of floating-point numbers, by their bits; zeros count as normal ---- */

enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NOTANUMBER, TEST_NORMAL, TEST_SUBNORMAL };
static const char *const test_names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};

#define TESTP(name, type, infinity, least_normal)                                                                       \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                      \
    {                                                                                                                   \
        const type *const a = GS_EMU_AT(w, type, op->src[0]);                                                           \
        uint32_t finite = 0, infinite = 0, normal = 0, zero = 0;                                                        \
        for (int l = 0; l < GS_EMU_LANES; l++) {                                                                        \
            const type magnitude = a[l] & ((type)-1 >> 1);                                                              \
            finite |= magnitude < (infinity) ? gs_emu_lane_bit[l] : 0;                                                  \
            infinite |= magnitude == (infinity) ? gs_emu_lane_bit[l] : 0;                                               \
            normal |= magnitude < (infinity) && magnitude >= (least_normal) ? gs_emu_lane_bit[l] : 0;                   \
            zero |= magnitude == 0 ? gs_emu_lane_bit[l] : 0;                                                            \
        }                                                                                                               \
        const uint32_t result[] = {finite, infinite, finite | infinite, ~(finite | infinite), normal | zero, finite & ~normal & ~zero}; \
        gs_emu_set_mask(w, op->dst, lanes, result[op->count]);                                                          \
        return GS_EMU_NEXT;                                                                                             \
    }
TESTP(testp_f32, uint32_t, 0x7f800000u, 0x00800000u)
TESTP(testp_f64, uint64_t, 0x7ff0000000000000ull, 0x0010000000000000ull)

static gs_status decode_testp(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    const gs_ptx_type type = in->parts == 3 ? gs_ptx_type_of(in->part[2]) : GS_PTX_NONE;
    if (type != GS_PTX_F32 && type != GS_PTX_F64) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    while (op->count < GS_COUNT(test_names) && strcmp(in->part[1], test_names[op->count]) != 0) op->count++;
    if (op->count == GS_COUNT(test_names)) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[1]);
    if (!gs_emu_operand_count(d, 2, 2)) return d->status;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_PRED);
    op->src[0] = gs_emu_source(d, gs_emu_operand(d, 1), type);
    return gs_emu_finish_decode(d, op, type == GS_PTX_F32 ? testp_f32 : testp_f64, GS_EMU_INTEGER);
}

/* ---- decoding ---- */

#define FOR_EQUAL    1   /* any type */
#define FOR_SIGNED   2
#define FOR_UNSIGNED 4
#define FOR_FLOAT    8
static const struct comparison { const char *name; uint8_t kind; bool exchange, invert; uint8_t types; } comparisons[] = {
    {"eq",  EQ, false, false, FOR_EQUAL},                               {"ne",  NE, false, false, FOR_EQUAL},
    {"lt",  LT, false, false, FOR_SIGNED | FOR_UNSIGNED | FOR_FLOAT},   {"le",  LE, false, false, FOR_SIGNED | FOR_UNSIGNED | FOR_FLOAT},
    {"gt",  LT, true,  false, FOR_SIGNED | FOR_UNSIGNED | FOR_FLOAT},   {"ge",  LE, true,  false, FOR_SIGNED | FOR_UNSIGNED | FOR_FLOAT},
    {"lo",  LT, false, false, FOR_UNSIGNED},                            {"ls",  LE, false, false, FOR_UNSIGNED},
    {"hi",  LT, true,  false, FOR_UNSIGNED},                            {"hs",  LE, true,  false, FOR_UNSIGNED},
    {"equ", NE, false, true,  FOR_FLOAT},                               {"neu", EQ, false, true,  FOR_FLOAT},
    {"ltu", LE, true,  true,  FOR_FLOAT},                               {"leu", LT, true,  true,  FOR_FLOAT},
    {"gtu", LE, false, true,  FOR_FLOAT},                               {"geu", LT, false, true,  FOR_FLOAT},
    {"num", NUM, false, false, FOR_FLOAT},                              {"nan", NUM, false, true, FOR_FLOAT},
};

static const struct compared { uint8_t type, family, types; bool flushes; } compared[] = {
    {GS_PTX_B16, OF_U16, FOR_EQUAL, false},
    {GS_PTX_U16, OF_U16, FOR_EQUAL | FOR_UNSIGNED, false}, {GS_PTX_S16, OF_S16, FOR_EQUAL | FOR_SIGNED, false},
    {GS_PTX_B32, OF_U32, FOR_EQUAL, false},
    {GS_PTX_U32, OF_U32, FOR_EQUAL | FOR_UNSIGNED, false}, {GS_PTX_S32, OF_S32, FOR_EQUAL | FOR_SIGNED, false},
    {GS_PTX_B64, OF_U64, FOR_EQUAL, false},
    {GS_PTX_U64, OF_U64, FOR_EQUAL | FOR_UNSIGNED, false}, {GS_PTX_S64, OF_S64, FOR_EQUAL | FOR_SIGNED, false},
    {GS_PTX_F32, OF_F32, FOR_EQUAL | FOR_FLOAT, true}, {GS_PTX_F64, OF_F64, FOR_EQUAL | FOR_FLOAT, false},
    {GS_PTX_F16, OF_F16, FOR_EQUAL | FOR_FLOAT, true}, {GS_PTX_F16X2, OF_F16X2, FOR_EQUAL | FOR_FLOAT, true},
    {GS_PTX_BF16, OF_BF16, FOR_EQUAL | FOR_FLOAT, false}, {GS_PTX_BF16X2, OF_BF16X2, FOR_EQUAL | FOR_FLOAT, false},
};

static const struct result { uint8_t type, source; uint32_t yes; } results[] = {   /* of set; source NONE: any type but packed pairs */
    {GS_PTX_U32, GS_PTX_NONE, 0xffffffff}, {GS_PTX_S32, GS_PTX_NONE, 0xffffffff}, {GS_PTX_F32, GS_PTX_NONE, 0x3f800000},
    {GS_PTX_U16, GS_PTX_F16, 0xffff}, {GS_PTX_S16, GS_PTX_F16, 0xffff}, {GS_PTX_U16, GS_PTX_BF16, 0xffff}, {GS_PTX_S16, GS_PTX_BF16, 0xffff},
    {GS_PTX_F16, GS_PTX_NONE, 0x3c00}, {GS_PTX_BF16, GS_PTX_NONE, 0x3f80},
    {GS_PTX_U32, GS_PTX_F16X2, 0xffffffff}, {GS_PTX_S32, GS_PTX_F16X2, 0xffffffff}, {GS_PTX_U32, GS_PTX_BF16X2, 0xffffffff},
    {GS_PTX_S32, GS_PTX_BF16X2, 0xffffffff}, {GS_PTX_F16X2, GS_PTX_F16X2, 0x3c003c00}, {GS_PTX_BF16X2, GS_PTX_BF16X2, 0x3f803f80},
};

static gs_ptx_type refuse(gs_emu_decoder *d, const char *why)
{
    gs_emu_unsupported(d, "%s", why);
    return GS_PTX_NONE;
}

/* Reads comparison, boolean operation, .ftz and types. Fills op except for its operands; returns the source type, NONE on failure. */
static gs_ptx_type read_comparison(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op, gs_emu_parts *parts, bool *exchange)
{
    static const char *const boolean[] = {"and", "or", "xor"};
    size_t c = 0, t = 0;
    int next = 2;
    while (in->parts > 1 && c < GS_COUNT(comparisons) && strcmp(in->part[1], comparisons[c].name) != 0) c++;
    if (in->parts < 2 || c == GS_COUNT(comparisons)) return refuse(d, "unknown comparison");
    for (int i = 0; i < 3 && in->parts > 2 && next == 2; i++)
        if (strcmp(in->part[2], boolean[i]) == 0) {
            op->flags |= (uint16_t)(WITH_AND << i);
            next = 3;
        }
    if (gs_emu_read_parts(d, in, next, parts) != GS_OK) return GS_PTX_NONE;
    const gs_ptx_type type = parts->types > 0 ? parts->type[parts->types - 1] : GS_PTX_NONE;
    while (t < GS_COUNT(compared) && compared[t].type != type) t++;
    if (t == GS_COUNT(compared) || !(compared[t].types & comparisons[c].types) || (parts->modifiers & ~GS_EMU_M_FTZ) ||
        (parts->modifiers && !compared[t].flushes))
        return refuse(d, GS_EMU_NO_FORM);
    if (comparisons[c].invert) op->flags |= INVERT;
    if (parts->modifiers) op->flags |= FLUSH;
    op->type = compared[t].family;
    op->type2 = comparisons[c].kind;
    *exchange = comparisons[c].exchange;
    return type;
}

static void read_sources(gs_emu_decoder *d, gs_emu_op *op, gs_ptx_type type, bool exchange)
{
    const int predicate = op->flags & (WITH_AND | WITH_OR | WITH_XOR) ? 1 : 0;
    bool negated = false;
    if (!gs_emu_operand_count(d, 3 + predicate, 3 + predicate)) return;
    op->src[exchange] = gs_emu_source(d, gs_emu_operand(d, 1), type);
    op->src[!exchange] = gs_emu_source(d, gs_emu_operand(d, 2), type);
    if (predicate) op->src[2] = gs_emu_source_predicate(d, gs_emu_operand(d, 3), &negated);
    if (negated) op->flags |= NOT_C;
}

static gs_status decode_setp(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_parts parts;
    bool exchange;
    const gs_ptx_type type = read_comparison(d, in, op, &parts, &exchange);
    if (type == GS_PTX_NONE) return d->status;
    const bool pair = op->type >= OF_F16X2;
    const gs_ptx_operand *const to = gs_emu_operand(d, 0);
    if (!to || parts.types != 1 || (pair && to->kind != GS_PTX_PAIR)) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    if (to->kind == GS_PTX_PAIR) op->dst2 = gs_emu_destination(d, gs_emu_child(d, to, 1), GS_PTX_PRED);
    op->dst = gs_emu_destination(d, to->kind == GS_PTX_PAIR ? gs_emu_child(d, to, 0) : to, GS_PTX_PRED);
    read_sources(d, op, type, exchange);
    return gs_emu_finish_decode(d, op, pair ? setp_x2 : setp, GS_EMU_INTEGER);
}

static gs_status decode_set(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_parts parts;
    bool exchange;
    const gs_ptx_type type = read_comparison(d, in, op, &parts, &exchange);
    if (type == GS_PTX_NONE) return d->status;
    const bool pair = op->type >= OF_F16X2;
    size_t r = 0;
    while (r < GS_COUNT(results) && !(results[r].type == parts.type[0] && (results[r].source ? results[r].source == type : !pair))) r++;
    if (parts.types != 2 || r == GS_COUNT(results)) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), parts.type[0]);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    op->immediate = results[r].yes;
    read_sources(d, op, type, exchange);
    return gs_emu_finish_decode(d, op, pair ? set_x2 : gs_ptx_type_bits(parts.type[0]) == 16 ? set_16 : set_32, GS_EMU_INTEGER);
}

gs_status gs_emu_decode_compare(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "setp") == 0) return decode_setp(d, in, op);
    if (strcmp(in->part[0], "set") == 0) return decode_set(d, in, op);
    if (strcmp(in->part[0], "testp") == 0) return decode_testp(d, in, op);
    return GS_ERROR_NOT_FOUND;
}

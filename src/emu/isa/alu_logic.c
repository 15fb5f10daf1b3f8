/* SPDX-License-Identifier: MIT
 * Logic on registers and predicates, shifts, and lop3. */
#include <string.h>

#include "emu/isa/alu.h"

/* ---- and, or, xor, not ---- */

#define BITWISE(bits, wider)                                                                                                 \
    GS_EMU_EXEC2(and_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a & b)                                          \
    GS_EMU_EXEC2(or_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a | b)                                           \
    GS_EMU_EXEC2(xor_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a ^ b)                                          \
    GS_EMU_EXEC1(not_##bits, uint##bits##_t, uint##bits##_t, ~a)                                                             \
    GS_EMU_EXEC1(cnot_##bits, uint##bits##_t, uint##bits##_t, a == 0)                                                        \
    GS_EMU_EXEC2(shl_##bits, uint##bits##_t, uint##bits##_t, uint32_t, b < bits ? (wider)a << (b & (bits - 1)) : 0)          \
    GS_EMU_EXEC2(shr_u##bits, uint##bits##_t, uint##bits##_t, uint32_t, b < bits ? a >> (b & (bits - 1)) : 0)                \
    GS_EMU_EXEC2(shr_s##bits, int##bits##_t, int##bits##_t, uint32_t, a >> (b < bits ? b : bits - 1))
BITWISE(16, uint32_t)
BITWISE(32, uint32_t)
BITWISE(64, uint64_t)

#define ON_MASKS(name, sources, expression)                                                                        \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                 \
    {                                                                                                              \
        const uint32_t a = *gs_emu_mask(w, op->src[0]) ^ (op->flags & 1 ? GS_EMU_FULL : 0);                        \
        const uint32_t b = sources < 2 ? 0 : *gs_emu_mask(w, op->src[sources - 1]) ^ (op->flags & 2 ? GS_EMU_FULL : 0); \
        (void)b;                                                                                                   \
        gs_emu_set_mask(w, op->dst, lanes, expression);                                                            \
        return GS_EMU_NEXT;                                                                                        \
    }
ON_MASKS(and_pred, 2, a & b)
ON_MASKS(or_pred, 2, a | b)
ON_MASKS(xor_pred, 2, a ^ b)
ON_MASKS(not_pred, 1, ~a)

/* ---- funnel shifts: of {b, a} ---- */

static inline uint32_t funnel_left(uint32_t a, uint32_t b, uint32_t n)
{
    return n == 0 ? b : n < 32 ? b << n | a >> (32 - n) : a;
}

static inline uint32_t funnel_right(uint32_t a, uint32_t b, uint32_t n)
{
    return n == 0 ? a : n < 32 ? a >> n | b << (32 - n) : b;
}

#define FUNNEL(name, expression) GS_EMU_EXEC3(name, uint32_t, uint32_t, uint32_t, uint32_t, expression)
FUNNEL(shf_l_wrap, funnel_left(a, b, c & 31))
FUNNEL(shf_r_wrap, funnel_right(a, b, c & 31))
FUNNEL(shf_l_clamp, funnel_left(a, b, c < 32 ? c : 32))
FUNNEL(shf_r_clamp, funnel_right(a, b, c < 32 ? c : 32))

/* ---- lop3 ---- */

enum { LOP3_OR = 1, LOP3_AND = 2, LOP3_NOT = 4 };   /* op->flags: the predicate form */

/* A tree of selections: c selects between neighbours of the table, b between their pairs, a between the halves. */
static void table_of(uint32_t table, uint32_t base[4], uint32_t flip[4])
{
    for (int i = 0; i < 4; i++) {
        base[i] = table >> 2 * i & 1 ? GS_EMU_FULL : 0;
        flip[i] = (table >> 2 * i ^ table >> (2 * i + 1)) & 1 ? GS_EMU_FULL : 0;
    }
}

static gs_emu_result lop3(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t *const x = gs_emu_u32(w, op->src[0]), *const y = gs_emu_u32(w, op->src[1]), *const z = gs_emu_u32(w, op->src[2]);
    uint32_t *const d = gs_emu_u32(w, op->dst);
    uint32_t base[4], flip[4];
    table_of((uint32_t)op->immediate, base, flip);
    GS_EMU_EACH(l, lanes, const uint32_t a = x[l]; const uint32_t b = y[l]; const uint32_t c = z[l];
                const uint32_t p = base[0] ^ (flip[0] & c); const uint32_t q = base[1] ^ (flip[1] & c);
                const uint32_t r = base[2] ^ (flip[2] & c); const uint32_t s = base[3] ^ (flip[3] & c);
                const uint32_t low = p ^ ((p ^ q) & b); const uint32_t high = r ^ ((r ^ s) & b); d[l] = low ^ ((low ^ high) & a));
    return GS_EMU_NEXT;
}

/* dst2 = (result != 0) or/and a predicate; the result itself may be unused. */
static gs_emu_result lop3_predicate(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t *const x = gs_emu_u32(w, op->src[0]), *const y = gs_emu_u32(w, op->src[1]), *const z = gs_emu_u32(w, op->src[2]);
    uint32_t *const d = op->dst == GS_EMU_NONE ? NULL : gs_emu_u32(w, op->dst);
    const uint32_t given = *gs_emu_mask(w, op->src[3]) ^ (op->flags & LOP3_NOT ? GS_EMU_FULL : 0);
    uint32_t base[4], flip[4], set = 0;
    table_of((uint32_t)op->immediate, base, flip);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t a = x[l], b = y[l], c = z[l];
        const uint32_t p = base[0] ^ (flip[0] & c), q = base[1] ^ (flip[1] & c), r = base[2] ^ (flip[2] & c), s = base[3] ^ (flip[3] & c);
        const uint32_t low = p ^ ((p ^ q) & b), high = r ^ ((r ^ s) & b), result = low ^ ((low ^ high) & a);
        set |= (uint32_t)(result != 0) << l;
        if (d) d[l] = result;
    }
    gs_emu_set_mask(w, op->dst2, lanes, op->flags & LOP3_OR ? set | given : set & given);
    return GS_EMU_NEXT;
}

gs_status gs_emu_decode_logic(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "lop3") != 0) return GS_ERROR_NOT_FOUND;
    const bool predicate = in->parts == 3;
    if (predicate) op->flags = strcmp(in->part[1], "or") == 0 ? LOP3_OR : strcmp(in->part[1], "and") == 0 ? LOP3_AND : 0;
    if ((in->parts != 2 && !(predicate && op->flags)) || strcmp(in->part[in->parts - 1], "b32") != 0)
        return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    if (!gs_emu_operand_count(d, predicate ? 6 : 5, predicate ? 6 : 5)) return d->status;
    const gs_ptx_operand *first = gs_emu_operand(d, 0);
    if (predicate) {
        if (first->kind != GS_PTX_PAIR) return gs_emu_unsupported(d, "the first operand must be a pair d|p");
        bool negated = false;
        op->dst2 = gs_emu_destination(d, gs_emu_child(d, first, 1), GS_PTX_PRED);
        op->src[3] = gs_emu_source_predicate(d, gs_emu_operand(d, 5), &negated);
        if (negated) op->flags |= LOP3_NOT;
        first = gs_emu_child(d, first, 0);
    }
    op->dst = gs_emu_destination(d, first, GS_PTX_B32);
    if (op->dst == GS_EMU_NONE && !predicate) gs_emu_unsupported(d, "the result has no register");
    for (int i = 0; i < 3; i++) op->src[i] = gs_emu_source(d, gs_emu_operand(d, i + 1), GS_PTX_B32);
    const gs_ptx_operand *const table = gs_emu_operand(d, 4);
    if (table->kind != GS_PTX_INTEGER || table->bits > 255) return gs_emu_unsupported(d, "the table must be a number up to 255");
    op->immediate = (int64_t)table->bits;
    return gs_emu_finish_decode(d, op, predicate ? lop3_predicate : lop3, GS_EMU_INTEGER);
}

/* ---- the table ---- */

#define ROW(name, type, need, exec, ...) {name, GS_PTX_##type, GS_PTX_NONE, GS_EMU_INTEGER, need, 0, exec, {__VA_ARGS__}}
#define ONE(name, type, exec)            ROW(name, type, 0, exec, GS_PTX_##type, GS_PTX_##type)
#define TWO(name, type, exec)            ROW(name, type, 0, exec, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type)
#define SHIFT(name, type, exec)          ROW(name, type, 0, exec, GS_PTX_##type, GS_PTX_##type, GS_PTX_B32)
#define SHF(direction, mode, exec)       ROW("shf", B32, GS_EMU_M_##direction | GS_EMU_M_##mode, exec, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32)

#define ROWS(bits)                                                                                                             \
    TWO("and", B##bits, and_##bits), TWO("or", B##bits, or_##bits), TWO("xor", B##bits, xor_##bits),                           \
    ONE("not", B##bits, not_##bits), ONE("cnot", B##bits, cnot_##bits), SHIFT("shl", B##bits, shl_##bits),                     \
    SHIFT("shr", B##bits, shr_u##bits), SHIFT("shr", U##bits, shr_u##bits), SHIFT("shr", S##bits, shr_s##bits)

static const gs_emu_row rows[] = {
    ROWS(16), ROWS(32), ROWS(64),
    TWO("and", PRED, and_pred), TWO("or", PRED, or_pred), TWO("xor", PRED, xor_pred), ONE("not", PRED, not_pred),
    SHF(L, WRAP, shf_l_wrap), SHF(R, WRAP, shf_r_wrap), SHF(L, CLAMP, shf_l_clamp), SHF(R, CLAMP, shf_r_clamp),
};
const gs_emu_rows gs_emu_rows_logic = {rows, GS_COUNT(rows)};

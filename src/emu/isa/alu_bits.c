/* SPDX-License-Identifier: MIT
 * Counting, finding, moving and extracting bits and bytes. */
#include <string.h>

#include "emu/isa/alu.h"

/* ---- counting and finding ---- */

static inline uint32_t count_32(uint32_t a)
{
    a -= a >> 1 & 0x55555555u;
    a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
    return ((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

static inline uint32_t zeros_32(uint32_t a) { return a ? (uint32_t)__builtin_clz(a) : 32; }
static inline uint32_t zeros_64(uint64_t a) { return a >> 32 ? zeros_32((uint32_t)(a >> 32)) : 32 + zeros_32((uint32_t)a); }

/* Index of the highest bit that differs from the sign (for unsigned numbers: the highest set bit), or the shift that moves it to the top. */
#define FIND(bits, type, is_signed)                                                                    \
    static inline uint32_t find_##type(uint##bits##_t a, bool shift)                                   \
    {                                                                                                  \
        const uint32_t zeros = zeros_##bits(is_signed && a >> (bits - 1) ? ~a : a);                    \
        return zeros == bits ? 0xffffffffu : shift ? zeros : bits - 1 - zeros;                         \
    }
FIND(32, u32, false)
FIND(32, s32, true)
FIND(64, u64, false)
FIND(64, s64, true)

GS_EMU_EXEC1(popc_32, uint32_t, uint32_t, count_32(a))
GS_EMU_EXEC1(popc_64, uint32_t, uint64_t, count_32((uint32_t)a) + count_32((uint32_t)(a >> 32)))
GS_EMU_EXEC1(clz_32, uint32_t, uint32_t, zeros_32(a))
GS_EMU_EXEC1(clz_64, uint32_t, uint64_t, zeros_64(a))
GS_EMU_EXEC1(bfind_u32, uint32_t, uint32_t, find_u32(a, false))
GS_EMU_EXEC1(bfind_s32, uint32_t, uint32_t, find_s32(a, false))
GS_EMU_EXEC1(bfind_u64, uint32_t, uint64_t, find_u64(a, false))
GS_EMU_EXEC1(bfind_s64, uint32_t, uint64_t, find_s64(a, false))
GS_EMU_EXEC1(bfindshift_u32, uint32_t, uint32_t, find_u32(a, true))
GS_EMU_EXEC1(bfindshift_s32, uint32_t, uint32_t, find_s32(a, true))
GS_EMU_EXEC1(bfindshift_u64, uint32_t, uint64_t, find_u64(a, true))
GS_EMU_EXEC1(bfindshift_s64, uint32_t, uint64_t, find_s64(a, true))

static inline uint32_t reverse_32(uint32_t a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
    return a >> 16 | a << 16;
}
GS_EMU_EXEC1(brev_32, uint32_t, uint32_t, reverse_32(a))
GS_EMU_EXEC1(brev_64, uint64_t, uint64_t, (uint64_t)reverse_32((uint32_t)a) << 32 | reverse_32((uint32_t)(a >> 32)))

/* Index of the |offset|-th set bit at or above `base` (below, if offset is negative); with offset 0, `base` if its bit is set. */
static uint32_t nth_set(uint32_t mask, uint32_t base, int32_t offset)
{
    if (offset == 0) return base < 32 && (mask >> base & 1) ? base : 0xffffffffu;
    const int32_t step = offset > 0 ? 1 : -1;
    uint32_t wanted = offset > 0 ? (uint32_t)offset : 0u - (uint32_t)offset;
    for (int32_t at = base < 32 ? (int32_t)base : 32; at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) && --wanted == 0) return (uint32_t)at;
    return 0xffffffffu;
}
GS_EMU_EXEC3(fns_32, uint32_t, uint32_t, uint32_t, int32_t, nth_set(a, b, c))

/* ---- fields ---- */

/* The lowest n bits, n up to the width. */
static inline uint32_t low_32(uint32_t n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1; }
static inline uint64_t low_64(uint32_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

/* Position and length are taken from one byte each. Bits beyond the number are copies of its sign bit, or of the last bit of the field (zero if unsigned). */
#define FIELDS(bits)                                                                                                              \
    static inline uint##bits##_t extract_u##bits(uint##bits##_t a, uint32_t position, uint32_t length)                            \
    {                                                                                                                             \
        position &= 0xff, length &= 0xff;                                                                                         \
        return (position < bits ? a >> position : 0) & low_##bits(length);                                                        \
    }                                                                                                                             \
    static inline uint##bits##_t extract_s##bits(uint##bits##_t a, uint32_t position, uint32_t length)                            \
    {                                                                                                                             \
        position &= 0xff, length &= 0xff;                                                                                         \
        const uint32_t last = position + length - 1;                                                                              \
        const uint##bits##_t sign = length && (a >> (last < bits ? last : bits - 1) & 1) ? ~(uint##bits##_t)0 : 0;                \
        const uint32_t taken = position >= bits ? 0 : length < bits - position ? length : bits - position;                        \
        return (sign & ~low_##bits(taken)) | (extract_u##bits(a, position, length) & low_##bits(taken));                          \
    }                                                                                                                             \
    static inline uint##bits##_t insert_##bits(uint##bits##_t a, uint##bits##_t b, uint32_t position, uint32_t length)            \
    {                                                                                                                             \
        position &= 0xff, length &= 0xff;                                                                                         \
        const uint##bits##_t field = position < bits ? low_##bits(length) << position : 0;                                        \
        return (b & ~field) | ((position < bits ? a << position : 0) & field);                                                    \
    }                                                                                                                             \
    GS_EMU_EXEC3(bfe_u##bits, uint##bits##_t, uint##bits##_t, uint32_t, uint32_t, extract_u##bits(a, b, c))                       \
    GS_EMU_EXEC3(bfe_s##bits, uint##bits##_t, uint##bits##_t, uint32_t, uint32_t, extract_s##bits(a, b, c))                       \
    static gs_emu_result bfi_##bits(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                          \
    {                                                                                                                             \
        const uint##bits##_t *const a = GS_EMU_AT(w, uint##bits##_t, op->src[0]), *const b = GS_EMU_AT(w, uint##bits##_t, op->src[1]); \
        const uint32_t *const position = gs_emu_u32(w, op->src[2]), *const length = gs_emu_u32(w, op->src[3]);                    \
        uint##bits##_t *const d = GS_EMU_AT(w, uint##bits##_t, op->dst);                                                          \
        GS_EMU_EACH(l, lanes, d[l] = insert_##bits(a[l], b[l], position[l], length[l]));                                          \
        return GS_EMU_NEXT;                                                                                                       \
    }
FIELDS(32)
FIELDS(64)

static inline uint32_t mask_of(uint32_t start, uint32_t width, bool clamp)
{
    if (clamp && start >= 32) return 0;
    const uint32_t from = start & 31, count = clamp && width >= 32 ? 32 : width & 31;
    return low_32(count) << from;
}
GS_EMU_EXEC2(bmsk_clamp, uint32_t, uint32_t, uint32_t, mask_of(a, b, true))
GS_EMU_EXEC2(bmsk_wrap, uint32_t, uint32_t, uint32_t, mask_of(a, b, false))

static inline uint32_t widen(uint32_t a, uint32_t bits, bool is_signed, bool clamp)
{
    if (clamp && bits >= 32) return a;
    const uint32_t count = bits & 31, low = low_32(count);
    return count && is_signed && (a >> (count - 1) & 1) ? a | ~low : a & low;
}
GS_EMU_EXEC2(szext_clamp_u32, uint32_t, uint32_t, uint32_t, widen(a, b, false, true))
GS_EMU_EXEC2(szext_clamp_s32, uint32_t, uint32_t, uint32_t, widen(a, b, true, true))
GS_EMU_EXEC2(szext_wrap_u32, uint32_t, uint32_t, uint32_t, widen(a, b, false, false))
GS_EMU_EXEC2(szext_wrap_s32, uint32_t, uint32_t, uint32_t, widen(a, b, true, false))

/* ---- bytes ---- */

/* Each nibble of the selector chooses a byte of {b, a}; if its highest bit is set, the result is eight copies of that byte's sign. */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t nibble = selector >> 4 * i & 15, byte = (uint32_t)(bytes >> 8 * (nibble & 7)) & 0xff;
        out |= (nibble & 8 ? (byte & 0x80 ? 0xffu : 0) : byte) << 8 * i;
    }
    return out;
}
GS_EMU_EXEC3(prmt, uint32_t, uint32_t, uint32_t, uint32_t, permute(a, b, c))

/* The named modes: the two lowest bits of the selector choose one of four selectors. */
static const struct mode { const char *name; uint16_t selector[4]; } modes[] = {
    {"f4e",  {0x3210, 0x4321, 0x5432, 0x6543}},
    {"b4e",  {0x5670, 0x6701, 0x7012, 0x0123}},
    {"rc8",  {0x0000, 0x1111, 0x2222, 0x3333}},
    {"ecl",  {0x3210, 0x3211, 0x3222, 0x3333}},
    {"ecr",  {0x0000, 0x1110, 0x2210, 0x3210}},
    {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
};

static gs_emu_result prmt_mode(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const uint32_t *const a = gs_emu_u32(w, op->src[0]), *const b = gs_emu_u32(w, op->src[1]), *const c = gs_emu_u32(w, op->src[2]);
    const uint16_t *const selector = modes[op->count].selector;
    uint32_t *const d = gs_emu_u32(w, op->dst);
    GS_EMU_EACH(l, lanes, d[l] = permute(a[l], b[l], selector[c[l] & 3]));
    return GS_EMU_NEXT;
}

gs_status gs_emu_decode_permute(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "prmt") != 0) return GS_ERROR_NOT_FOUND;
    if (in->parts < 2 || in->parts > 3 || strcmp(in->part[1], "b32") != 0) return gs_emu_unsupported(d, GS_EMU_NO_FORM);
    uint8_t mode = 0;
    if (in->parts == 3) {
        while (mode < GS_COUNT(modes) && strcmp(in->part[2], modes[mode].name) != 0) mode++;
        if (mode == GS_COUNT(modes)) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[2]);
    }
    if (!gs_emu_operand_count(d, 4, 4)) return d->status;
    op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_B32);
    if (op->dst == GS_EMU_NONE) gs_emu_unsupported(d, "the result has no register");
    for (int i = 0; i < 3; i++) op->src[i] = gs_emu_source(d, gs_emu_operand(d, i + 1), GS_PTX_B32);
    op->count = mode;
    return gs_emu_finish_decode(d, op, in->parts == 3 ? prmt_mode : prmt, GS_EMU_INTEGER);
}

/* ---- the table ---- */

#define ROW(name, type, need, exec, ...) {name, GS_PTX_##type, GS_PTX_NONE, GS_EMU_INTEGER, need, 0, exec, {__VA_ARGS__}}
#define FIND_ROWS(upper, lower)                                                  \
    ROW("bfind", upper, 0, bfind_##lower, GS_PTX_B32, GS_PTX_##upper),           \
    ROW("bfind", upper, GS_EMU_M_SHIFTAMT, bfindshift_##lower, GS_PTX_B32, GS_PTX_##upper)
#define EXTRACT(upper, lower) ROW("bfe", upper, 0, bfe_##lower, GS_PTX_##upper, GS_PTX_##upper, GS_PTX_B32, GS_PTX_B32)

static const gs_emu_row rows[] = {
    ROW("popc", B32, 0, popc_32, GS_PTX_B32, GS_PTX_B32), ROW("popc", B64, 0, popc_64, GS_PTX_B32, GS_PTX_B64),
    ROW("clz", B32, 0, clz_32, GS_PTX_B32, GS_PTX_B32),   ROW("clz", B64, 0, clz_64, GS_PTX_B32, GS_PTX_B64),
    FIND_ROWS(U32, u32), FIND_ROWS(S32, s32), FIND_ROWS(U64, u64), FIND_ROWS(S64, s64),
    ROW("brev", B32, 0, brev_32, GS_PTX_B32, GS_PTX_B32), ROW("brev", B64, 0, brev_64, GS_PTX_B64, GS_PTX_B64),
    ROW("fns", B32, 0, fns_32, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32),
    EXTRACT(U32, u32), EXTRACT(S32, s32), EXTRACT(U64, u64), EXTRACT(S64, s64),
    ROW("bfi", B32, 0, bfi_32, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32),
    ROW("bfi", B64, 0, bfi_64, GS_PTX_B64, GS_PTX_B64, GS_PTX_B64, GS_PTX_B32, GS_PTX_B32),
    ROW("bmsk", B32, GS_EMU_M_CLAMP, bmsk_clamp, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32),
    ROW("bmsk", B32, GS_EMU_M_WRAP, bmsk_wrap, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32),
    ROW("szext", U32, GS_EMU_M_CLAMP, szext_clamp_u32, GS_PTX_U32, GS_PTX_U32, GS_PTX_U32),
    ROW("szext", S32, GS_EMU_M_CLAMP, szext_clamp_s32, GS_PTX_S32, GS_PTX_S32, GS_PTX_U32),
    ROW("szext", U32, GS_EMU_M_WRAP, szext_wrap_u32, GS_PTX_U32, GS_PTX_U32, GS_PTX_U32),
    ROW("szext", S32, GS_EMU_M_WRAP, szext_wrap_s32, GS_PTX_S32, GS_PTX_S32, GS_PTX_U32),
};
const gs_emu_rows gs_emu_rows_bits = {rows, GS_COUNT(rows)};

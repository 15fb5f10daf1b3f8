/* SPDX-License-Identifier: MIT
 * f16 and bf16 arithmetic, on one number or two in a register, rounded once.
 *
 * Sums and products are computed in f32. Rounding twice, to 24 bits and then to 11 or 8, gives the same as rounding once, because 24 is at least 2 x 11 + 2. If
 * results become subnormal, nothing is lost before the second rounding: sums are multiples of the smallest subnormal, products of f16 have 22 bits and are at least
 * 2^-48, and products of bf16 (16 bits) are exact as soon as they reach half of its smallest subnormal.
 *
 * fma of f16 is computed in f64, where the product is exact. If the product has a bit below 2^-24, it is less than 2^-1 and a multiple of 2^-48; else product and
 * addend are multiples of 2^-24, and a product of 2^17 or more overflows whatever is added. So the sum is exact unless the addend is more than 2^30 times the product;
 * then the addend is an f16 number that the product cannot change by half of its unit, and both roundings give the addend. In bf16 the far smaller number can be the
 * addend, and decide a tie: there the sum is rounded to odd. */
#include "emu/isa/alu.h"

/* ---- one number ---- */

static inline float wide_f16(uint16_t a)  { return gs_f16_to_f32(a); }
static inline float wide_bf16(uint16_t a) { return gs_bf16_to_f32(a); }

static inline uint16_t add_f16(uint16_t a, uint16_t b)  { return gs_f32_to_f16(wide_f16(a) + wide_f16(b)); }
static inline uint16_t sub_f16(uint16_t a, uint16_t b)  { return gs_f32_to_f16(wide_f16(a) - wide_f16(b)); }
static inline uint16_t mul_f16(uint16_t a, uint16_t b)  { return gs_f32_to_f16(wide_f16(a) * wide_f16(b)); }
static inline uint16_t add_bf16(uint16_t a, uint16_t b) { return gs_f32_to_bf16(wide_bf16(a) + wide_bf16(b)); }
static inline uint16_t sub_bf16(uint16_t a, uint16_t b) { return gs_f32_to_bf16(wide_bf16(a) - wide_bf16(b)); }
static inline uint16_t mul_bf16(uint16_t a, uint16_t b) { return gs_f32_to_bf16(wide_bf16(a) * wide_bf16(b)); }

static inline uint16_t relu(uint16_t a) { return (uint16_t)(a == GS_EMU_NAN_F16 || !(a & 0x8000) ? a : 0); }

static inline uint16_t flush_f16(uint16_t a, bool flush) { return (uint16_t)(flush && !(a & 0x7c00) ? a & 0x8000 : a); }

/* ---- signs, minimum and maximum, on the bits; `infinity` is the type's ---- */

#define F16_INFINITY  0x7c00
#define BF16_INFINITY 0x7f80

static inline bool is_nan(uint16_t a, uint16_t infinity) { return (a & 0x7fff) > infinity; }
static inline uint16_t canonical(uint16_t a, uint16_t infinity) { return (uint16_t)(is_nan(a, infinity) ? GS_EMU_NAN_F16 : a); }
static inline int16_t key(uint16_t a) { return (int16_t)(a & 0x8000 ? ~(a & 0x7fff) : a); }   /* as an integer with the order of the values: -0 below +0 */

static inline uint16_t bound(uint16_t a, uint16_t b, bool greatest, uint32_t flags, uint16_t infinity)
{
    const uint16_t sign = (uint16_t)(flags & GS_EMU_M_XORSIGN ? (a ^ b) & 0x8000 : 0);
    if (flags & GS_EMU_M_FTZ) a = flush_f16(a, true), b = flush_f16(b, true);
    if (flags & GS_EMU_M_XORSIGN) a &= 0x7fff, b &= 0x7fff;
    const uint16_t chosen = (key(a) < key(b)) == greatest ? b : a;
    const uint16_t number = is_nan(a, infinity) ? b : is_nan(b, infinity) ? a : chosen;
    const bool nan = is_nan(number, infinity) || (flags & GS_EMU_M_NAN && (is_nan(a, infinity) || is_nan(b, infinity)));
    return (uint16_t)(nan ? GS_EMU_NAN_F16 : number | sign);
}

/* ---- execution: 32 numbers, or 64 in 32 registers ---- */

#define IN_PAIRS(at, lanes, statement)                                                                    \
    do {                                                                                                  \
        if ((lanes) == GS_EMU_FULL) GS_EMU_ALL(at, 2 * GS_EMU_LANES, statement);                          \
        else                                                                                              \
            for (uint32_t left_ = (lanes); left_; left_ &= left_ - 1)                                     \
                for (int at = 2 * __builtin_ctz(left_), end_ = at + 2; at < end_; at++) { statement; }    \
    } while (0)

/* Defines both functions of an operation: name and name_x2. */
#define HALVES(name, sources, expression)                                                                                         \
    HALVES_OF(name, GS_EMU_EACH, sources, expression)                                                                             \
    HALVES_OF(name##_x2, IN_PAIRS, sources, expression)
#define HALVES_OF(name, EACH, sources, expression)                                                                                \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                                \
    {                                                                                                                             \
        const uint16_t *const x = gs_emu_u16(w, op->src[0]), *const y = gs_emu_u16(w, op->src[sources > 1 ? 1 : 0]);              \
        const uint16_t *const z = gs_emu_u16(w, op->src[sources > 2 ? 2 : 0]);                                                    \
        const uint32_t flags = op->flags;                                                                                         \
        uint16_t *const d = gs_emu_u16(w, op->dst);                                                                               \
        EACH(l_, lanes, const uint16_t a = x[l_]; const uint16_t b = y[l_]; const uint16_t c = z[l_]; (void)b; (void)c; d[l_] = (expression)); \
        (void)flags;                                                                                                              \
        return GS_EMU_NEXT;                                                                                                       \
    }
HALVES(exec_add_f16, 2, add_f16(a, b))
HALVES(exec_sub_f16, 2, sub_f16(a, b))
HALVES(exec_mul_f16, 2, mul_f16(a, b))
HALVES(exec_abs_f16, 1, canonical((uint16_t)(flush_f16(a, flags & GS_EMU_M_FTZ) & 0x7fff), F16_INFINITY))
HALVES(exec_neg_f16, 1, canonical((uint16_t)(flush_f16(a, flags & GS_EMU_M_FTZ) ^ 0x8000), F16_INFINITY))
HALVES(exec_min_f16, 2, bound(a, b, false, flags, F16_INFINITY))
HALVES(exec_max_f16, 2, bound(a, b, true, flags, F16_INFINITY))

HALVES(exec_add_bf16, 2, add_bf16(a, b))
HALVES(exec_sub_bf16, 2, sub_bf16(a, b))
HALVES(exec_mul_bf16, 2, mul_bf16(a, b))
HALVES(exec_abs_bf16, 1, canonical((uint16_t)(a & 0x7fff), BF16_INFINITY))
HALVES(exec_neg_bf16, 1, canonical((uint16_t)(a ^ 0x8000), BF16_INFINITY))
HALVES(exec_min_bf16, 2, bound(a, b, false, flags, BF16_INFINITY))
HALVES(exec_max_bf16, 2, bound(a, b, true, flags, BF16_INFINITY))

/* ---- through f64, in passes: fma, and f16 with modifiers ---- */

#define MOST (2 * GS_EMU_LANES)

static inline void load_halves(gs_emu_warp *w, const gs_emu_op *op, int source, int count, bool brain, double out[MOST])
{
    const uint16_t *const from = gs_emu_u16(w, op->src[source]);
    float wide[MOST];
    if (brain) for (int i = 0; i < count; i++) wide[i] = wide_bf16(from[i]);
    else for (int i = 0; i < count; i++) wide[i] = wide_f16(from[i]);
    for (int i = 0; i < count; i++) out[i] = wide[i];
    if (op->flags & GS_EMU_M_FTZ)
        for (int i = 0; i < count; i++) out[i] = fabs(out[i]) < 0x1p-14 ? copysign(0, out[i]) : out[i];
}

/* .ftz: a number that, with an unlimited exponent range, would be rounded to less than 2^-14 becomes zero. */
static inline void store_halves(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, int count, bool brain, double value[MOST])
{
    uint16_t half[MOST], *const d = gs_emu_u16(w, op->dst);
    const int each = count / GS_EMU_LANES;
    if (op->flags & GS_EMU_M_FTZ)
        for (int i = 0; i < count; i++) value[i] = fabs(value[i]) < 0x1p-14 - 0x1p-26 ? copysign(0, value[i]) : value[i];
    if (brain) for (int i = 0; i < count; i++) half[i] = gs_f64_to_bf16(value[i]);
    else for (int i = 0; i < count; i++) half[i] = gs_f64_to_f16(value[i]);
    if (op->flags & GS_EMU_M_SAT)
        for (int i = 0; i < count; i++) half[i] = (uint16_t)(half[i] > 0x7c00 ? 0 : half[i] > 0x3c00 ? 0x3c00 : half[i]);
    if (op->flags & GS_EMU_M_RELU)
        for (int i = 0; i < count; i++) half[i] = relu(half[i]);
    for (int i = 0; i < count; i++) d[i] = lanes >> (i / each) & 1 ? half[i] : d[i];
}

#define PASSES(name, count, brain, sources, expression)                                             \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                  \
    {                                                                                               \
        double a[MOST], b[MOST], c[MOST], out[MOST];                                                \
        load_halves(w, op, 0, count, brain, a);                                                     \
        load_halves(w, op, 1, count, brain, b);                                                     \
        if (sources > 2) load_halves(w, op, 2, count, brain, c);                                    \
        for (int i = 0; i < count; i++) out[i] = (expression);                                      \
        store_halves(w, op, lanes, count, brain, out);                                              \
        return GS_EMU_NEXT;                                                                         \
    }
#define BOTH_PASSES(name, brain, sources, expression)                                               \
    PASSES(name, GS_EMU_LANES, brain, sources, expression)                                          \
    PASSES(name##_x2, MOST, brain, sources, expression)
BOTH_PASSES(exec_add_f16_modified, false, 2, a[i] + b[i])
BOTH_PASSES(exec_sub_f16_modified, false, 2, a[i] - b[i])
BOTH_PASSES(exec_mul_f16_modified, false, 2, a[i] * b[i])
BOTH_PASSES(exec_fma_f16, false, 3, a[i] * b[i] + c[i])
BOTH_PASSES(exec_fma_bf16, true, 3, gs_emu_add_odd(a[i] * b[i], c[i]))

/* ---- the table ---- */

#define ROW(name, type, need, may, exec, ...) {name, GS_PTX_##type, GS_PTX_NONE, GS_EMU_FLOAT, need, may, exec, {__VA_ARGS__}}
#define ONE(name, type, may, exec)         ROW(name, type, 0, may, exec, GS_PTX_##type, GS_PTX_##type)
#define TWO(name, type, need, may, exec)   ROW(name, type, need, may, exec, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type)
#define THREE(name, type, need, may, exec) ROW(name, type, need, may, exec, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type)
#define RN    GS_EMU_M_RN
#define FTZ   GS_EMU_M_FTZ
#define SAT   GS_EMU_M_SAT
#define RELU  GS_EMU_M_RELU
#define NANS  GS_EMU_M_NAN
#define SIGNS GS_EMU_M_XORSIGN | GS_EMU_M_ABS

#define F16_ROWS(type, x)                                                                                                            \
    TWO("add", type, 0, RN, exec_add_f16##x), TWO("add", type, 0, RN | FTZ | SAT, exec_add_f16_modified##x),                         \
    TWO("sub", type, 0, RN, exec_sub_f16##x), TWO("sub", type, 0, RN | FTZ | SAT, exec_sub_f16_modified##x),                         \
    TWO("mul", type, 0, RN, exec_mul_f16##x), TWO("mul", type, 0, RN | FTZ | SAT, exec_mul_f16_modified##x),                         \
    THREE("fma", type, RN, FTZ | SAT, exec_fma_f16##x), THREE("fma", type, RN, FTZ | RELU, exec_fma_f16##x),                         \
    ONE("abs", type, FTZ, exec_abs_f16##x), ONE("neg", type, FTZ, exec_neg_f16##x),                                                  \
    TWO("min", type, 0, FTZ | NANS, exec_min_f16##x), TWO("min", type, SIGNS, FTZ | NANS, exec_min_f16##x),                          \
    TWO("max", type, 0, FTZ | NANS, exec_max_f16##x), TWO("max", type, SIGNS, FTZ | NANS, exec_max_f16##x)
#define BF16_ROWS(type, x)                                                                                                           \
    TWO("add", type, 0, RN, exec_add_bf16##x), TWO("sub", type, 0, RN, exec_sub_bf16##x), TWO("mul", type, 0, RN, exec_mul_bf16##x), \
    THREE("fma", type, RN, RELU, exec_fma_bf16##x),                                                                                  \
    ONE("abs", type, 0, exec_abs_bf16##x), ONE("neg", type, 0, exec_neg_bf16##x),                                                    \
    TWO("min", type, 0, NANS, exec_min_bf16##x), TWO("min", type, SIGNS, NANS, exec_min_bf16##x),                                    \
    TWO("max", type, 0, NANS, exec_max_bf16##x), TWO("max", type, SIGNS, NANS, exec_max_bf16##x)

static const gs_emu_row rows[] = {
    F16_ROWS(F16, ), F16_ROWS(F16X2, _x2), BF16_ROWS(BF16, ), BF16_ROWS(BF16X2, _x2),
};
const gs_emu_rows gs_emu_rows_half = {rows, GS_COUNT(rows)};

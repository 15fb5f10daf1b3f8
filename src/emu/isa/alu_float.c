/* SPDX-License-Identifier: MIT
 * f32 arithmetic with one rounding: add, sub, mul, div, rcp, sqrt, min, max, abs, neg, copysign. Rounding to nearest without modifiers uses the host's instructions;
 * otherwise the result is computed in f64 (a sum with its error) and rounded once from there. A quotient or a root of f32 numbers needs no error: unless it is an f32
 * number, or the midpoint of two, it differs from them by at least 2^-49 of itself, so its f64 neighbour is on the same side of them. */
#include "emu/isa/alu.h"

/* ---- results with modifiers ---- */

#define NARROW_ALL(round)                                                                                                            \
    do {                                                                                                                             \
        if (flush) GS_EMU_ALL(l, GS_EMU_LANES, out[l] = gs_emu_canonical(gs_emu_narrow(gs_emu_flush_exact(value[l], round), round))); \
        else GS_EMU_ALL(l, GS_EMU_LANES, out[l] = gs_emu_canonical(gs_emu_narrow(value[l], round)));                                 \
    } while (0)

static void narrow_all(const double *value, gs_emu_round round, bool flush, float *out)
{
    switch (round) {
    case GS_EMU_RN: NARROW_ALL(GS_EMU_RN); break;
    case GS_EMU_RZ: NARROW_ALL(GS_EMU_RZ); break;
    case GS_EMU_RM: NARROW_ALL(GS_EMU_RM); break;
    case GS_EMU_RP: NARROW_ALL(GS_EMU_RP); break;
    }
}

void gs_emu_store_rounded(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, const double value[GS_EMU_LANES])
{
    float out[GS_EMU_LANES];
    narrow_all(value, gs_emu_round_of(op->flags), op->flags & GS_EMU_M_FTZ, out);
    if (op->flags & GS_EMU_M_SAT)
        for (int l = 0; l < GS_EMU_LANES; l++) out[l] = out[l] > 0 ? (out[l] < 1 ? out[l] : 1) : 0;
    float *const d = gs_emu_f32(w, op->dst);
    GS_EMU_EACH(l, lanes, d[l] = out[l]);
}

void gs_emu_load_f32(gs_emu_warp *w, const gs_emu_op *op, uint32_t offset, double out[GS_EMU_LANES])
{
    const float *const from = gs_emu_f32(w, offset);
    if (op->flags & GS_EMU_M_FTZ)
        for (int l = 0; l < GS_EMU_LANES; l++) out[l] = gs_emu_flush(from[l]);
    else
        for (int l = 0; l < GS_EMU_LANES; l++) out[l] = from[l];
}

/* ---- sums, products, quotients, roots ---- */

#define EXEC1(name, expression)        GS_EMU_EXEC1(name, float, float, gs_emu_canonical(expression))
#define EXEC2(name, expression)        GS_EMU_EXEC2(name, float, float, float, gs_emu_canonical(expression))

/* With modifiers; `down` is the expression for rounding down. */
#define ROUNDED1(name, expression)                                                                     \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                     \
    {                                                                                                  \
        double a_[GS_EMU_LANES], out[GS_EMU_LANES];                                                    \
        gs_emu_load_f32(w, op, op->src[0], a_);                                                        \
        for (int l = 0; l < GS_EMU_LANES; l++) {                                                       \
            const double a = a_[l];                                                                    \
            out[l] = (expression);                                                                     \
        }                                                                                              \
        gs_emu_store_rounded(w, op, lanes, out);                                                       \
        return GS_EMU_NEXT;                                                                            \
    }
#define ROUNDED2(name, expression, down)                                                               \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                     \
    {                                                                                                  \
        double a_[GS_EMU_LANES], b_[GS_EMU_LANES], out[GS_EMU_LANES];                                  \
        gs_emu_load_f32(w, op, op->src[0], a_);                                                        \
        gs_emu_load_f32(w, op, op->src[1], b_);                                                        \
        if (op->flags & GS_EMU_M_RM) GS_EMU_ALL(l, GS_EMU_LANES, const double a = a_[l]; const double b = b_[l]; out[l] = (down)); \
        else GS_EMU_ALL(l, GS_EMU_LANES, const double a = a_[l]; const double b = b_[l]; out[l] = (expression)); \
        gs_emu_store_rounded(w, op, lanes, out);                                                       \
        return GS_EMU_NEXT;                                                                            \
    }

EXEC2(add, a + b)
EXEC2(sub, a - b)
EXEC2(mul, a * b)
EXEC2(div, a / b)
EXEC1(rcp, 1 / a)
EXEC1(root, sqrtf(a))
ROUNDED2(add_rounded, gs_emu_add_odd(a, b), gs_emu_add_odd_down(a, b))
ROUNDED2(sub_rounded, gs_emu_add_odd(a, -b), gs_emu_add_odd_down(a, -b))
ROUNDED2(mul_rounded, a * b, a * b)   /* exact: 48 bits */
ROUNDED2(div_rounded, a / b, a / b)
ROUNDED1(rcp_rounded, 1 / a)
ROUNDED1(root_rounded, sqrt(a))

/* ---- signs ---- */

static inline float from_bits(uint32_t bits) { return gs_emu_canonical(gs_bits_f32(bits)); }

EXEC1(absolute, gs_bits_f32(gs_f32_bits(a) & 0x7fffffffu))
EXEC1(negative, gs_bits_f32(gs_f32_bits(a) ^ 0x80000000u))
EXEC1(absolute_ftz, gs_bits_f32(gs_f32_bits(gs_emu_flush(a)) & 0x7fffffffu))
EXEC1(negative_ftz, gs_bits_f32(gs_f32_bits(gs_emu_flush(a)) ^ 0x80000000u))
GS_EMU_EXEC2(copy_sign, uint32_t, uint32_t, uint32_t, (a & 0x80000000u) | (b & 0x7fffffffu))

/* ---- minimum and maximum ---- */

/* As an integer with the order of the values: -0 below +0. */
static inline int32_t key(float value)
{
    const int32_t bits = (int32_t)gs_f32_bits(value);
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

/* If one operand is NaN, the other one; with .NaN, NaN. */
static inline float least(float a, float b, bool nan)
{
    const float chosen = key(a) < key(b) ? a : b;
    const float number = a != a ? b : b != b ? a : chosen;
    return gs_emu_canonical(nan && (a != a || b != b) ? gs_bits_f32(GS_EMU_NAN_F32) : number);
}

static inline float greatest(float a, float b, bool nan)
{
    const float chosen = key(a) < key(b) ? b : a;
    const float number = a != a ? b : b != b ? a : chosen;
    return gs_emu_canonical(nan && (a != a || b != b) ? gs_bits_f32(GS_EMU_NAN_F32) : number);
}

#define BOUND(name, choose)                                                                                          \
    EXEC2(name, choose(a, b, false))                                                                                 \
    static gs_emu_result name##_modified(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                        \
    {                                                                                                                \
        const float *const x = gs_emu_f32(w, op->src[0]), *const y = gs_emu_f32(w, op->src[1]);                      \
        float *const d = gs_emu_f32(w, op->dst);                                                                     \
        const bool flush = op->flags & GS_EMU_M_FTZ, nan = op->flags & GS_EMU_M_NAN;                                 \
        const uint32_t magnitude = op->flags & GS_EMU_M_XORSIGN ? 0x7fffffffu : 0xffffffffu;                         \
        GS_EMU_EACH(l, lanes, const uint32_t a = gs_f32_bits(flush ? gs_emu_flush(x[l]) : x[l]);                 \
                    const uint32_t b = gs_f32_bits(flush ? gs_emu_flush(y[l]) : y[l]);                           \
                    const float chosen = choose(gs_bits_f32(a & magnitude), gs_bits_f32(b & magnitude), nan); \
                    d[l] = from_bits(gs_f32_bits(chosen) ^ ((a ^ b) & ~magnitude)));                             \
        return GS_EMU_NEXT;                                                                                          \
    }
BOUND(minimum, least)
BOUND(maximum, greatest)

/* ---- the table ---- */

#define F32 GS_PTX_F32
#define ROW(name, class, need, may, exec, ...) {name, GS_PTX_F32, GS_PTX_NONE, GS_EMU_##class, need, may, exec, {__VA_ARGS__}}
#define SIMPLE      GS_EMU_M_RN
#define MODIFIED    GS_EMU_M_ROUND | GS_EMU_M_FTZ | GS_EMU_M_SAT
#define BOUNDS      GS_EMU_M_FTZ | GS_EMU_M_NAN
#define SIGNS       GS_EMU_M_XORSIGN | GS_EMU_M_ABS
#define TWO(name, plain, rounded)  ROW(name, FLOAT, 0, SIMPLE, plain, F32, F32, F32), ROW(name, FLOAT, 0, MODIFIED, rounded, F32, F32, F32)

/* Division and roots require a rounding modifier. */
#define EACH_ROUNDING(name, rounded, ...)                                                                                       \
    ROW(name, SPECIAL, GS_EMU_M_RN, GS_EMU_M_FTZ, rounded, __VA_ARGS__), ROW(name, SPECIAL, GS_EMU_M_RZ, GS_EMU_M_FTZ, rounded, __VA_ARGS__), \
    ROW(name, SPECIAL, GS_EMU_M_RM, GS_EMU_M_FTZ, rounded, __VA_ARGS__), ROW(name, SPECIAL, GS_EMU_M_RP, GS_EMU_M_FTZ, rounded, __VA_ARGS__)

static const gs_emu_row rows[] = {
    TWO("add", add, add_rounded), TWO("sub", sub, sub_rounded), TWO("mul", mul, mul_rounded),
    ROW("div", SPECIAL, GS_EMU_M_RN, 0, div, F32, F32, F32), EACH_ROUNDING("div", div_rounded, F32, F32, F32),
    ROW("rcp", SPECIAL, GS_EMU_M_RN, 0, rcp, F32, F32), EACH_ROUNDING("rcp", rcp_rounded, F32, F32),
    ROW("sqrt", SPECIAL, GS_EMU_M_RN, 0, root, F32, F32), EACH_ROUNDING("sqrt", root_rounded, F32, F32),
    ROW("abs", FLOAT, 0, 0, absolute, F32, F32), ROW("abs", FLOAT, GS_EMU_M_FTZ, 0, absolute_ftz, F32, F32),
    ROW("neg", FLOAT, 0, 0, negative, F32, F32), ROW("neg", FLOAT, GS_EMU_M_FTZ, 0, negative_ftz, F32, F32),
    ROW("copysign", FLOAT, 0, 0, copy_sign, F32, F32, F32),
    ROW("min", FLOAT, 0, 0, minimum, F32, F32, F32), ROW("min", FLOAT, 0, BOUNDS, minimum_modified, F32, F32, F32),
    ROW("min", FLOAT, SIGNS, BOUNDS, minimum_modified, F32, F32, F32),
    ROW("max", FLOAT, 0, 0, maximum, F32, F32, F32), ROW("max", FLOAT, 0, BOUNDS, maximum_modified, F32, F32, F32),
    ROW("max", FLOAT, SIGNS, BOUNDS, maximum_modified, F32, F32, F32),
};
const gs_emu_rows gs_emu_rows_float = {rows, GS_COUNT(rows)};

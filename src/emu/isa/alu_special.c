/* SPDX-License-Identifier: MIT
 * Approximations: div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh with .approx or .full. The GPU's results are within a few units in the last place (2^-20.5 for sin
 * and cos, 2^-22 for lg2 near 1), but their bits are not documented. Here the C library computes the result in f64, it is rounded once, and for half of the results
 * one unit in the last place is added or subtracted. As on the GPU a quotient is a product with a reciprocal, and a square root a product with a reciprocal square
 * root, so that even 49 / 49 may be less than 1. tanh has a relative error of up to 2^-16.5 on an H200 (PTX says 2^-11): here it has 16 bits. */
#include "emu/isa/alu.h"

/* A result near the exact value, or exactly the value if it is an f32 number (such as a power of two). It depends on the significand alone, so that it is always the
 * same for one value. */
static inline double near(double value)
{
    const float nearest = (float)value;
    if ((double)nearest == value || !(fabsf(nearest) > 0x1p-100f && fabsf(nearest) < 0x1p120f)) return value;
    const uint32_t bits = gs_f32_bits(nearest), draw = (bits & 0x7fffff) * 0x9e3779b1u >> 30;
    return (double)gs_bits_f32(draw == 0 ? bits + 1 : draw == 1 ? bits - 1 : bits);
}

/* The same for an absolute error: a multiple of `step`. 0 and 1 stay exact. */
static inline double near_by(double value, double step)
{
    if (value == trunc(value) || value != value) return value;
    const double steps = nearbyint(value / step);
    const uint32_t draw = (uint32_t)(int64_t)steps * 0x9e3779b1u >> 30;
    return step * (draw == 0 ? steps + 1 : draw == 1 ? steps - 1 : steps);
}

/* The angle is reduced to turns in f32, so large angles lose most of their bits. Results for small angles keep full f32 precision. */
static inline double wave(double angle, double (*of)(double))
{
    if (angle == 0 || isinf(angle)) return of(angle);
    if (of == sin && fabs(angle) < 0x1p-8) return near(sin(angle));
    const double result = near_by(of((float)(angle * 0x1.45f306p-3) * 0x1.921fb54442d18p+2), 0x1p-22);
    return isnan(result) ? result : fmin(fmax(result, -1), 1);
}

static inline double logarithm(double a) { return a > 0.5 && a < 2 ? near_by(log2(a), 0x1p-23) : near(log2(a)); }

static inline double divide_full(double a, double b) { return a * near(1 / b); }

/* A divisor above 2^126 gives zero, as on the GPU: its reciprocal would be subnormal. */
static inline double divide(double a, double b)
{
    return fabs(b) > 0x1p126 && isfinite(b) ? a * copysign(0, b) : divide_full(a, b);
}

static inline double root(double a) { return a > 0 && isfinite(a) ? a * near(1 / sqrt(a)) : sqrt(a); }

static double rounded_to_16_bits(double value)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    return isfinite(value) ? ldexp(nearbyint(fraction * 0x1p16), exponent - 16) : value;
}

#define APPROXIMATE(name, expression)                                                              \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                 \
    {                                                                                              \
        double a_[GS_EMU_LANES], out[GS_EMU_LANES];                                                \
        gs_emu_load_f32(w, op, op->src[0], a_);                                                    \
        for (int l = 0; l < GS_EMU_LANES; l++) {                                                   \
            const double a = a_[l];                                                                \
            out[l] = lanes >> l & 1 ? (expression) : 0;                                            \
        }                                                                                          \
        gs_emu_store_rounded(w, op, lanes, out);                                                   \
        return GS_EMU_NEXT;                                                                        \
    }
#define APPROXIMATE2(name, expression)                                                             \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                 \
    {                                                                                              \
        double a[GS_EMU_LANES], b[GS_EMU_LANES], out[GS_EMU_LANES];                                \
        gs_emu_load_f32(w, op, op->src[0], a);                                                     \
        gs_emu_load_f32(w, op, op->src[1], b);                                                     \
        for (int l = 0; l < GS_EMU_LANES; l++) out[l] = (expression);                              \
        gs_emu_store_rounded(w, op, lanes, out);                                                   \
        return GS_EMU_NEXT;                                                                        \
    }
APPROXIMATE2(div_approx, divide(a[l], b[l]))
APPROXIMATE2(div_full, divide_full(a[l], b[l]))
APPROXIMATE(rcp_approx, near(1 / a))
APPROXIMATE(sqrt_approx, root(a))
APPROXIMATE(rsqrt_approx, near(1 / sqrt(a)))
APPROXIMATE(sin_approx, wave(a, sin))
APPROXIMATE(cos_approx, wave(a, cos))
APPROXIMATE(lg2_approx, logarithm(a))
APPROXIMATE(ex2_approx, near(exp2(a)))
APPROXIMATE(tanh_approx, rounded_to_16_bits(tanh(a)))

/* ---- halves ---- */

static uint16_t half_ex2_f16(uint16_t a)  { return gs_f64_to_f16(exp2(gs_f16_to_f32(a))); }
static uint16_t half_tanh_f16(uint16_t a) { return gs_f64_to_f16(tanh(gs_f16_to_f32(a))); }
static uint16_t half_ex2_bf16(uint16_t a)   /* always with .ftz */
{
    const double result = exp2(gs_emu_flush(gs_bf16_to_f32(a)));
    return gs_f64_to_bf16(result < 0x1p-126 ? 0 : result);
}
static uint16_t half_tanh_bf16(uint16_t a) { return gs_f64_to_bf16(tanh(gs_bf16_to_f32(a))); }

#define HALVES(name)                                                                                                 \
    GS_EMU_EXEC1(name, uint16_t, uint16_t, half_##name(a))                                                           \
    GS_EMU_EXEC1(name##_x2, uint32_t, uint32_t, half_##name((uint16_t)a) | (uint32_t)half_##name((uint16_t)(a >> 16)) << 16)
HALVES(ex2_f16)
HALVES(tanh_f16)
HALVES(ex2_bf16)
HALVES(tanh_bf16)

/* ---- f64: the GPU reads only the upper half of the operand and computes only the upper half of the result ---- */

static inline double upper(double value, bool flush)
{
    const uint64_t bits = gs_f64_bits(value) & 0xffffffff00000000ull;
    return gs_bits_f64(!flush || bits & 0x7ff0000000000000ull ? bits : bits & 0x8000000000000000ull);
}

GS_EMU_EXEC1(rcp_f64, double, double, upper(1 / upper(a, true), true))
GS_EMU_EXEC1(rsqrt_f64_ftz, double, double, upper(1 / sqrt(upper(a, true)), true))
GS_EMU_EXEC1(rsqrt_f64, double, double, 1 / sqrt(a))

/* ---- the table ---- */

#define ROW(name, type, need, may, exec, ...) {name, GS_PTX_##type, GS_PTX_NONE, GS_EMU_SPECIAL, need, may, exec, {__VA_ARGS__}}
#define ONE(name, type, need, may, exec)      ROW(name, type, need, may, exec, GS_PTX_##type, GS_PTX_##type)
#define APPROX GS_EMU_M_APPROX
#define FTZ    GS_EMU_M_FTZ

static const gs_emu_row rows[] = {
    ROW("div", F32, APPROX, FTZ, div_approx, GS_PTX_F32, GS_PTX_F32, GS_PTX_F32),
    ROW("div", F32, GS_EMU_M_FULL, FTZ, div_full, GS_PTX_F32, GS_PTX_F32, GS_PTX_F32),
    ONE("rcp", F32, APPROX, FTZ, rcp_approx), ONE("sqrt", F32, APPROX, FTZ, sqrt_approx), ONE("rsqrt", F32, APPROX, FTZ, rsqrt_approx),
    ONE("sin", F32, APPROX, FTZ, sin_approx), ONE("cos", F32, APPROX, FTZ, cos_approx), ONE("lg2", F32, APPROX, FTZ, lg2_approx),
    ONE("ex2", F32, APPROX, FTZ, ex2_approx), ONE("tanh", F32, APPROX, 0, tanh_approx),
    ONE("ex2", F16, APPROX, 0, ex2_f16), ONE("ex2", F16X2, APPROX, 0, ex2_f16_x2),
    ONE("ex2", BF16, APPROX | FTZ, 0, ex2_bf16), ONE("ex2", BF16X2, APPROX | FTZ, 0, ex2_bf16_x2),
    ONE("tanh", F16, APPROX, 0, tanh_f16), ONE("tanh", F16X2, APPROX, 0, tanh_f16_x2),
    ONE("tanh", BF16, APPROX, 0, tanh_bf16), ONE("tanh", BF16X2, APPROX, 0, tanh_bf16_x2),
    ONE("rcp", F64, APPROX | FTZ, 0, rcp_f64), ONE("rsqrt", F64, APPROX | FTZ, 0, rsqrt_f64_ftz), ONE("rsqrt", F64, APPROX, 0, rsqrt_f64),
};
const gs_emu_rows gs_emu_rows_special = {rows, GS_COUNT(rows)};

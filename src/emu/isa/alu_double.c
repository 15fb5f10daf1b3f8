/* SPDX-License-Identifier: MIT
 * f64 arithmetic. Rounding to nearest uses the host's arithmetic. For directed rounding the host's rounding mode is set during one warp instruction, and operands and
 * results pass through volatile memory, so that the compiler moves no computation out of that section. */
#include <fenv.h>

#include "emu/isa/alu.h"

#define EXEC1(name, expression) GS_EMU_EXEC1(name, double, double, expression)
#define EXEC2(name, expression) GS_EMU_EXEC2(name, double, double, double, expression)

EXEC2(add, a + b)
EXEC2(sub, a - b)
EXEC2(mul, a * b)
EXEC2(div, a / b)
EXEC1(rcp, 1 / a)
EXEC1(root, sqrt(a))

/* ---- directed roundings ---- */

static int mode_of(const gs_emu_op *op)
{
    switch (gs_emu_round_of(op->flags)) {
    case GS_EMU_RZ: return FE_TOWARDZERO;
    case GS_EMU_RM: return FE_DOWNWARD;
    case GS_EMU_RP: return FE_UPWARD;
    default:        return FE_TONEAREST;
    }
}

/* A missing source is read as the first one. */
#define DIRECTED(name, sources, expression)                                                                        \
    static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                                 \
    {                                                                                                              \
        const double *const x = gs_emu_f64(w, op->src[0]), *const y = gs_emu_f64(w, op->src[sources > 1 ? 1 : 0]);  \
        const double *const z = gs_emu_f64(w, op->src[sources > 2 ? 2 : 0]);                                       \
        double *const d = gs_emu_f64(w, op->dst);                                                                  \
        const int before = fegetround();                                                                           \
        fesetround(mode_of(op));                                                                                   \
        for (uint32_t left = lanes; left; left &= left - 1) {                                                      \
            const int l = __builtin_ctz(left);                                                                     \
            const volatile double a = x[l], b = y[l], c = z[l];                                                    \
            const volatile double result = (expression);                                                           \
            (void)b, (void)c;                                                                                      \
            d[l] = result;                                                                                         \
        }                                                                                                          \
        fesetround(before);                                                                                        \
        return GS_EMU_NEXT;                                                                                        \
    }
DIRECTED(add_directed, 2, a + b)
DIRECTED(sub_directed, 2, a - b)
DIRECTED(mul_directed, 2, a * b)
DIRECTED(div_directed, 2, a / b)
DIRECTED(rcp_directed, 1, 1 / a)
DIRECTED(root_directed, 1, sqrt(a))
DIRECTED(fma_directed, 3, fma(a, b, c))

/* ---- signs, minimum and maximum ---- */

#define SIGN 0x8000000000000000ull
GS_EMU_EXEC1(absolute, uint64_t, uint64_t, a & ~SIGN)
GS_EMU_EXEC1(negative, uint64_t, uint64_t, a ^ SIGN)
GS_EMU_EXEC2(copy_sign, uint64_t, uint64_t, uint64_t, (a & SIGN) | (b & ~SIGN))

/* As an integer with the order of the values: -0 below +0. */
static inline int64_t key(double value)
{
    const int64_t bits = (int64_t)gs_f64_bits(value);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

EXEC2(minimum, a != a ? b : b != b || key(a) < key(b) ? a : b)
EXEC2(maximum, a != a ? b : b != b || key(a) > key(b) ? a : b)

/* ---- the table ---- */

#define F64 GS_PTX_F64
#define ROW(name, class, need, may, exec, ...) {name, GS_PTX_F64, GS_PTX_NONE, GS_EMU_##class, need, may, exec, {__VA_ARGS__}}
#define DIRECTED_ROWS(name, class, exec, ...)                                                                                  \
    ROW(name, class, GS_EMU_M_RZ, 0, exec, __VA_ARGS__), ROW(name, class, GS_EMU_M_RM, 0, exec, __VA_ARGS__),                  \
    ROW(name, class, GS_EMU_M_RP, 0, exec, __VA_ARGS__)

static const gs_emu_row rows[] = {
    ROW("add", DOUBLE, 0, GS_EMU_M_RN, add, F64, F64, F64), DIRECTED_ROWS("add", DOUBLE, add_directed, F64, F64, F64),
    ROW("sub", DOUBLE, 0, GS_EMU_M_RN, sub, F64, F64, F64), DIRECTED_ROWS("sub", DOUBLE, sub_directed, F64, F64, F64),
    ROW("mul", DOUBLE, 0, GS_EMU_M_RN, mul, F64, F64, F64), DIRECTED_ROWS("mul", DOUBLE, mul_directed, F64, F64, F64),
    DIRECTED_ROWS("fma", DOUBLE, fma_directed, F64, F64, F64, F64), DIRECTED_ROWS("mad", DOUBLE, fma_directed, F64, F64, F64, F64),
    ROW("div", SPECIAL, GS_EMU_M_RN, 0, div, F64, F64, F64), DIRECTED_ROWS("div", SPECIAL, div_directed, F64, F64, F64),
    ROW("rcp", SPECIAL, GS_EMU_M_RN, 0, rcp, F64, F64), DIRECTED_ROWS("rcp", SPECIAL, rcp_directed, F64, F64),
    ROW("sqrt", SPECIAL, GS_EMU_M_RN, 0, root, F64, F64), DIRECTED_ROWS("sqrt", SPECIAL, root_directed, F64, F64),
    ROW("abs", DOUBLE, 0, 0, absolute, F64, F64), ROW("neg", DOUBLE, 0, 0, negative, F64, F64),
    ROW("copysign", DOUBLE, 0, 0, copy_sign, F64, F64, F64),
    ROW("min", DOUBLE, 0, 0, minimum, F64, F64, F64), ROW("max", DOUBLE, 0, 0, maximum, F64, F64, F64),
};
const gs_emu_rows gs_emu_rows_double = {rows, GS_COUNT(rows)};

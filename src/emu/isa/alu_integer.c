/* SPDX-License-Identifier: MIT
 * Integer arithmetic: sums, products, divisions, minimum and maximum, sums of byte products. Everything wraps as on the GPU; signed operands are added as unsigned
 * ones, to avoid undefined overflow in C. */
#include "emu/isa/alu.h"

/* ---- the operations ---- */

static inline uint32_t upper_u16(uint32_t a, uint32_t b) { return a * b >> 16; }
static inline uint32_t upper_s16(uint32_t a, uint32_t b) { return (uint32_t)((int32_t)a * (int32_t)b) >> 16; }

static inline int32_t clamp_s32(int64_t value) { return (int32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value); }

static inline int64_t low24_s(int32_t a)  { return (int32_t)((uint32_t)a << 8) / 256; }
static inline uint64_t low24_u(uint32_t a) { return a & 0xffffff; }
static inline uint32_t mul24_lo_s(int32_t a, int32_t b)   { return (uint32_t)(low24_s(a) * low24_s(b)); }
static inline uint32_t mul24_hi_s(int32_t a, int32_t b)   { return (uint32_t)((uint64_t)(low24_s(a) * low24_s(b)) >> 16); }
static inline uint32_t mul24_lo_u(uint32_t a, uint32_t b) { return (uint32_t)(low24_u(a) * low24_u(b)); }
static inline uint32_t mul24_hi_u(uint32_t a, uint32_t b) { return (uint32_t)(low24_u(a) * low24_u(b) >> 16); }

#define HIGH_u16(a, b) upper_u16(a, b)
#define HIGH_s16(a, b) upper_s16((uint32_t)(a), (uint32_t)(b))
#define HIGH_u32(a, b) gs_emu_high_u32(a, b)
#define HIGH_s32(a, b) gs_emu_high_s32((uint32_t)(a), (uint32_t)(b))
#define HIGH_u64(a, b) gs_emu_high_u64(a, b)
#define HIGH_s64(a, b) gs_emu_high_s64((uint64_t)(a), (uint64_t)(b))

/* Division by zero gives all ones for quotient and remainder. The smallest number divided by -1 is itself. */
#define DIVISIONS(bits)                                                                                                          \
    static inline uint##bits##_t div_u##bits(uint##bits##_t a, uint##bits##_t b) { return (uint##bits##_t)(b ? a / b : UINT##bits##_MAX); } \
    static inline uint##bits##_t rem_u##bits(uint##bits##_t a, uint##bits##_t b) { return (uint##bits##_t)(b ? a % b : UINT##bits##_MAX); } \
    static inline uint##bits##_t div_s##bits(int##bits##_t a, int##bits##_t b)                                                   \
    {                                                                                                                            \
        return (uint##bits##_t)(b == 0 ? UINT##bits##_MAX : b == -1 ? (uint##bits##_t)(0u - (uint##bits##_t)a) : (uint##bits##_t)(a / b)); \
    }                                                                                                                            \
    static inline uint##bits##_t rem_s##bits(int##bits##_t a, int##bits##_t b)                                                   \
    {                                                                                                                            \
        return (uint##bits##_t)(b == 0 ? UINT##bits##_MAX : b == -1 ? 0 : (uint##bits##_t)(a % b));                              \
    }
DIVISIONS(16)
DIVISIONS(32)
DIVISIONS(64)

#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))
#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))

/* ---- one type ---- */

#define SAME1(name, type, expression) GS_EMU_EXEC1(name, type, type, expression)
#define SAME2(name, type, expression) GS_EMU_EXEC2(name, type, type, type, expression)
#define SAME3(name, type, expression) GS_EMU_EXEC3(name, type, type, type, type, expression)

#define SIGNLESS(bits, unsigned_type, wider)                                       \
    SAME2(add_##bits, unsigned_type, a + b)                                        \
    SAME2(sub_##bits, unsigned_type, a - b)                                        \
    SAME2(mul_##bits, unsigned_type, (wider)a * b)                                 \
    SAME3(mad_##bits, unsigned_type, (wider)a * b + c)                             \
    SAME1(neg_##bits, unsigned_type, (wider)0 - a)
SIGNLESS(16, uint16_t, uint32_t)
SIGNLESS(32, uint32_t, uint32_t)
SIGNLESS(64, uint64_t, uint64_t)

#define SIGNED_OR_NOT(suffix, type, bits)                                                              \
    SAME2(div_##suffix##_exec, type, div_##suffix(a, b))                                               \
    SAME2(rem_##suffix##_exec, type, rem_##suffix(a, b))                                               \
    SAME2(min_##suffix, type, MINIMUM(a, b))                                                           \
    SAME2(max_##suffix, type, MAXIMUM(a, b))                                                           \
    SAME2(mulhi_##suffix, type, HIGH_##suffix(a, b))                                                   \
    SAME3(madhi_##suffix, type, (uint##bits##_t)HIGH_##suffix(a, b) + (uint64_t)c)                     \
    SAME3(sad_##suffix, type, (uint64_t)c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b))
SIGNED_OR_NOT(u16, uint16_t, 16)
SIGNED_OR_NOT(s16, int16_t, 16)
SIGNED_OR_NOT(u32, uint32_t, 32)
SIGNED_OR_NOT(s32, int32_t, 32)
SIGNED_OR_NOT(u64, uint64_t, 64)
SIGNED_OR_NOT(s64, int64_t, 64)

SAME1(abs_s16, uint16_t, (int16_t)a < 0 ? 0u - a : a)
SAME1(abs_s32, uint32_t, (int32_t)a < 0 ? 0u - a : a)
SAME1(abs_s64, uint64_t, (int64_t)a < 0 ? 0u - a : a)

GS_EMU_EXEC2(mulwide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a * b)
GS_EMU_EXEC2(mulwide_s16, uint32_t, int16_t, int16_t, (int32_t)a * b)
GS_EMU_EXEC2(mulwide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a * b)
GS_EMU_EXEC2(mulwide_s32, uint64_t, int32_t, int32_t, (int64_t)a * b)
GS_EMU_EXEC3(madwide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a * b + c)
GS_EMU_EXEC3(madwide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)((int32_t)a * b) + c)
GS_EMU_EXEC3(madwide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a * b + c)
GS_EMU_EXEC3(madwide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a * b) + c)

/* ---- saturation ---- */

SAME2(addsat_s32, int32_t, clamp_s32((int64_t)a + b))
SAME2(subsat_s32, int32_t, clamp_s32((int64_t)a - b))
SAME3(madhisat_s32, int32_t, clamp_s32((int64_t)(int32_t)gs_emu_high_s32((uint32_t)a, (uint32_t)b) + c))
SAME3(mad24hisat_s32, int32_t, clamp_s32((int64_t)(int32_t)mul24_hi_s(a, b) + c))
SAME2(minrelu_s32, int32_t, MAXIMUM(MINIMUM(a, b), 0))
SAME2(maxrelu_s32, int32_t, MAXIMUM(MAXIMUM(a, b), 0))

SAME2(mul24lo_s32, int32_t, mul24_lo_s(a, b))
SAME2(mul24hi_s32, int32_t, mul24_hi_s(a, b))
SAME2(mul24lo_u32, uint32_t, mul24_lo_u(a, b))
SAME2(mul24hi_u32, uint32_t, mul24_hi_u(a, b))
SAME3(mad24lo_s32, int32_t, mul24_lo_s(a, b) + (uint32_t)c)
SAME3(mad24hi_s32, int32_t, mul24_hi_s(a, b) + (uint32_t)c)
SAME3(mad24lo_u32, uint32_t, mul24_lo_u(a, b) + c)
SAME3(mad24hi_u32, uint32_t, mul24_hi_u(a, b) + c)

/* ---- two 16-bit numbers in a register ---- */

#define PAIRS(name, type, expression)                                                                                 \
    static inline uint16_t name##_half(type a, type b) { return (uint16_t)(expression); }                             \
    SAME2(name, uint32_t, (uint32_t)name##_half((type)a, (type)b) | (uint32_t)name##_half((type)(a >> 16), (type)(b >> 16)) << 16)
PAIRS(add_x2, uint16_t, a + b)
PAIRS(min_u16x2, uint16_t, MINIMUM(a, b))
PAIRS(max_u16x2, uint16_t, MAXIMUM(a, b))
PAIRS(min_s16x2, int16_t, MINIMUM(a, b))
PAIRS(max_s16x2, int16_t, MAXIMUM(a, b))
PAIRS(minrelu_s16x2, int16_t, MAXIMUM(MINIMUM(a, b), 0))
PAIRS(maxrelu_s16x2, int16_t, MAXIMUM(MAXIMUM(a, b), 0))

/* ---- sums of products of bytes ---- */

static inline uint32_t byte_u(uint32_t value, int i)  { return value >> 8 * i & 0xff; }
static inline uint32_t byte_s(uint32_t value, int i)  { return (uint32_t)(int8_t)(value >> 8 * i); }
static inline uint32_t short_u(uint32_t value, int i) { return value >> 16 * i & 0xffff; }
static inline uint32_t short_s(uint32_t value, int i) { return (uint32_t)(int16_t)(value >> 16 * i); }

#define DOTS(sa, sb)                                                                                                                        \
    SAME3(dp4a_##sa##sb, uint32_t, c + byte_##sa(a, 0) * byte_##sb(b, 0) + byte_##sa(a, 1) * byte_##sb(b, 1) + byte_##sa(a, 2) * byte_##sb(b, 2) + \
                                       byte_##sa(a, 3) * byte_##sb(b, 3))                                                                   \
    SAME3(dp2alo_##sa##sb, uint32_t, c + short_##sa(a, 0) * byte_##sb(b, 0) + short_##sa(a, 1) * byte_##sb(b, 1))                           \
    SAME3(dp2ahi_##sa##sb, uint32_t, c + short_##sa(a, 0) * byte_##sb(b, 2) + short_##sa(a, 1) * byte_##sb(b, 3))
DOTS(u, u)
DOTS(u, s)
DOTS(s, u)
DOTS(s, s)

/* ---- the table ---- */

#define ROW(name, type, need, exec, ...)          {name, GS_PTX_##type, GS_PTX_NONE, GS_EMU_INTEGER, need, 0, exec, {__VA_ARGS__}}
#define SLOW(name, type, exec, ...)               {name, GS_PTX_##type, GS_PTX_NONE, GS_EMU_SPECIAL, 0, 0, exec, {__VA_ARGS__}}
#define ONE(name, type, need, exec)               ROW(name, type, need, exec, GS_PTX_##type, GS_PTX_##type)
#define TWO(name, type, need, exec)               ROW(name, type, need, exec, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type)
#define THREE(name, type, need, exec)             ROW(name, type, need, exec, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type, GS_PTX_##type)
#define PAIR(name, type, need, exec)              ROW(name, NONE, GS_EMU_M_##type | need, exec, GS_PTX_B32, GS_PTX_B32, GS_PTX_B32)
#define LO   GS_EMU_M_LO
#define HI   GS_EMU_M_HI
#define SAT  GS_EMU_M_SAT
#define RELU GS_EMU_M_RELU

#define ROWS(upper, lower, bits)                                                                                            \
    TWO("add", upper, 0, add_##bits), TWO("sub", upper, 0, sub_##bits), TWO("mul", upper, LO, mul_##bits),                  \
    TWO("mul", upper, HI, mulhi_##lower), THREE("mad", upper, LO, mad_##bits), THREE("mad", upper, HI, madhi_##lower),      \
    TWO("min", upper, 0, min_##lower), TWO("max", upper, 0, max_##lower), THREE("sad", upper, 0, sad_##lower),              \
    SLOW("div", upper, div_##lower##_exec, GS_PTX_##upper, GS_PTX_##upper, GS_PTX_##upper),                                 \
    SLOW("rem", upper, rem_##lower##_exec, GS_PTX_##upper, GS_PTX_##upper, GS_PTX_##upper)

#define WIDE(upper, lower, to)                                                                                              \
    ROW("mul", upper, GS_EMU_M_WIDE, mulwide_##lower, GS_PTX_##to, GS_PTX_##upper, GS_PTX_##upper),                         \
    ROW("mad", upper, GS_EMU_M_WIDE, madwide_##lower, GS_PTX_##to, GS_PTX_##upper, GS_PTX_##upper, GS_PTX_##to)

#define DOT(name, ta, tb, need, exec, tc)                                                                                   \
    {name, GS_PTX_##ta, GS_PTX_##tb, GS_EMU_INTEGER, need, 0, exec, {GS_PTX_##tc, GS_PTX_##ta, GS_PTX_##tb, GS_PTX_##tc}}
#define DOT_ROWS(ta, tb, suffix, tc)                                                                                        \
    DOT("dp4a", ta, tb, 0, dp4a_##suffix, tc), DOT("dp2a", ta, tb, LO, dp2alo_##suffix, tc), DOT("dp2a", ta, tb, HI, dp2ahi_##suffix, tc)

static const gs_emu_row rows[] = {
    ROWS(U16, u16, 16), ROWS(S16, s16, 16), ROWS(U32, u32, 32), ROWS(S32, s32, 32), ROWS(U64, u64, 64), ROWS(S64, s64, 64),
    WIDE(U16, u16, U32), WIDE(S16, s16, S32), WIDE(U32, u32, U64), WIDE(S32, s32, S64),
    ONE("neg", S16, 0, neg_16), ONE("neg", S32, 0, neg_32), ONE("neg", S64, 0, neg_64),
    ONE("abs", S16, 0, abs_s16), ONE("abs", S32, 0, abs_s32), ONE("abs", S64, 0, abs_s64),
    TWO("add", S32, SAT, addsat_s32), TWO("sub", S32, SAT, subsat_s32), THREE("mad", S32, HI | SAT, madhisat_s32),
    TWO("min", S32, RELU, minrelu_s32), TWO("max", S32, RELU, maxrelu_s32),
    TWO("mul24", S32, LO, mul24lo_s32), TWO("mul24", S32, HI, mul24hi_s32), TWO("mul24", U32, LO, mul24lo_u32), TWO("mul24", U32, HI, mul24hi_u32),
    THREE("mad24", S32, LO, mad24lo_s32), THREE("mad24", S32, HI, mad24hi_s32), THREE("mad24", S32, HI | SAT, mad24hisat_s32),
    THREE("mad24", U32, LO, mad24lo_u32), THREE("mad24", U32, HI, mad24hi_u32),
    PAIR("add", U16X2, 0, add_x2), PAIR("add", S16X2, 0, add_x2),
    PAIR("min", U16X2, 0, min_u16x2), PAIR("max", U16X2, 0, max_u16x2), PAIR("min", S16X2, 0, min_s16x2), PAIR("max", S16X2, 0, max_s16x2),
    PAIR("min", S16X2, RELU, minrelu_s16x2), PAIR("max", S16X2, RELU, maxrelu_s16x2),
    DOT_ROWS(U32, U32, uu, U32), DOT_ROWS(U32, S32, us, S32), DOT_ROWS(S32, U32, su, S32), DOT_ROWS(S32, S32, ss, S32),
};
const gs_emu_rows gs_emu_rows_integer = {rows, GS_COUNT(rows)};

/* SPDX-License-Identifier: MIT
 * Shared by the files of the emulated arithmetic: modifiers of opcodes, tables of instructions, loops over lanes, exact rounding. */
#ifndef GS_EMU_ISA_ALU_H
#define GS_EMU_ISA_ALU_H

#include <math.h>

#include "base/half.h"
#include "emu/isa/isa.h"

/* ---- loops over lanes ---- */

/* Lanes are independent, even if the destination is also a source. */
#if defined(__GNUC__) && !defined(__clang__)
#define GS_EMU_INDEPENDENT _Pragma("GCC ivdep")
#else
#define GS_EMU_INDEPENDENT   /* relies on the compiler's own analysis */
#endif

#define GS_EMU_ALL(lane, count, statement) \
    do {                                   \
        GS_EMU_INDEPENDENT                 \
        for (int lane = 0; lane < (count); lane++) { statement; } \
    } while (0)

/* Executes the statement for each of the lanes; for a full warp in a plain loop, which is vectorised. */
#define GS_EMU_EACH(lane, lanes, statement)                                                       \
    do {                                                                                          \
        if ((lanes) == GS_EMU_FULL) GS_EMU_ALL(lane, GS_EMU_LANES, statement);                    \
        else                                                                                      \
            for (uint32_t left_ = (lanes); left_; left_ &= left_ - 1) {                           \
                const int lane = __builtin_ctz(left_);                                            \
                statement;                                                                        \
            }                                                                                     \
    } while (0)

#define GS_EMU_AT(w, type, offset) ((type *)(void *)((w)->registers + (offset)))

/* Execution functions of one to four sources a, b, c, e of one type each. */
#define GS_EMU_EXEC1(name, to, from, expression)                                                                  \
    GS_EMU_WIDE static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                    \
    {                                                                                                             \
        to *const d_ = GS_EMU_AT(w, to, op->dst);                                                                 \
        const from *const a_ = GS_EMU_AT(w, from, op->src[0]);                                                    \
        GS_EMU_EACH(l_, lanes, const from a = a_[l_]; d_[l_] = (to)(expression));                                 \
        return GS_EMU_NEXT;                                                                                       \
    }
#define GS_EMU_EXEC2(name, to, from_a, from_b, expression)                                                        \
    GS_EMU_WIDE static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                    \
    {                                                                                                             \
        to *const d_ = GS_EMU_AT(w, to, op->dst);                                                                 \
        const from_a *const a_ = GS_EMU_AT(w, from_a, op->src[0]);                                                \
        const from_b *const b_ = GS_EMU_AT(w, from_b, op->src[1]);                                                \
        GS_EMU_EACH(l_, lanes, const from_a a = a_[l_]; const from_b b = b_[l_]; d_[l_] = (to)(expression));      \
        return GS_EMU_NEXT;                                                                                       \
    }
#define GS_EMU_EXEC3(name, to, from_a, from_b, from_c, expression)                                                \
    GS_EMU_WIDE static gs_emu_result name(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)                    \
    {                                                                                                             \
        to *const d_ = GS_EMU_AT(w, to, op->dst);                                                                 \
        const from_a *const a_ = GS_EMU_AT(w, from_a, op->src[0]);                                                \
        const from_b *const b_ = GS_EMU_AT(w, from_b, op->src[1]);                                                \
        const from_c *const c_ = GS_EMU_AT(w, from_c, op->src[2]);                                                \
        GS_EMU_EACH(l_, lanes, const from_a a = a_[l_]; const from_b b = b_[l_]; const from_c c = c_[l_];         \
                    d_[l_] = (to)(expression));                                                                   \
        return GS_EMU_NEXT;                                                                                       \
    }

/* 1 << lane, as a table in memory: masks can then be computed by vector code. */
extern const uint32_t gs_emu_lane_bit[GS_EMU_LANES];

static inline void gs_emu_set_mask(gs_emu_warp *w, uint32_t offset, uint32_t lanes, uint32_t value)
{
    if (offset == GS_EMU_NONE) return;
    uint32_t *const mask = gs_emu_mask(w, offset);
    *mask = (*mask & ~lanes) | (value & lanes);
}

/* ---- modifiers ---- */

/* legend: name, part of the opcode. The first fifteen go into op->flags, whose last bit is GS_EMU_ADDRESS_64. */
#define GS_EMU_MODIFIERS(X)                                                                                               \
    X(RN, "rn") X(RZ, "rz") X(RM, "rm") X(RP, "rp") X(RNA, "rna") X(RNI, "rni") X(RZI, "rzi") X(RMI, "rmi") X(RPI, "rpi")   \
    X(FTZ, "ftz") X(SAT, "sat") X(RELU, "relu") X(NAN, "NaN") X(XORSIGN, "xorsign") X(SATFINITE, "satfinite")             \
    X(ABS, "abs") X(APPROX, "approx") X(FULL, "full") X(LO, "lo") X(HI, "hi") X(WIDE, "wide") X(CC, "cc")                 \
    X(SHIFTAMT, "shiftamt") X(CLAMP, "clamp") X(WRAP, "wrap") X(L, "l") X(R, "r") X(U16X2, "u16x2") X(S16X2, "s16x2")
#define GS_EMU_FLAGS 0x7fff
typedef enum gs_emu_modifier_index {
#define GS_EMU_MODIFIER(name, text) GS_EMU_INDEX_##name,
    GS_EMU_MODIFIERS(GS_EMU_MODIFIER)
#undef GS_EMU_MODIFIER
    GS_EMU_MODIFIER_COUNT
} gs_emu_modifier_index;
typedef enum gs_emu_modifier {
#define GS_EMU_MODIFIER(name, text) GS_EMU_M_##name = 1 << GS_EMU_INDEX_##name,
    GS_EMU_MODIFIERS(GS_EMU_MODIFIER)
#undef GS_EMU_MODIFIER
    GS_EMU_M_DIRECTED = GS_EMU_M_RZ | GS_EMU_M_RM | GS_EMU_M_RP,
    GS_EMU_M_ROUND    = GS_EMU_M_DIRECTED | GS_EMU_M_RN
} gs_emu_modifier;

/* An opcode's parts after the first: modifiers, and types in their order. */
typedef struct gs_emu_parts {
    uint32_t    modifiers;
    int         types;
    gs_ptx_type type[4];
} gs_emu_parts;

/* Reads the parts from `first` on; UNSUPPORTED: a part is neither a modifier nor a type, or is given twice. */
gs_status gs_emu_read_parts(gs_emu_decoder *d, const gs_ptx_instruction *in, int first, gs_emu_parts *out);

/* ---- tables of instructions ---- */

#define GS_EMU_ROW_OPERANDS 5

/* One form of an instruction: op->flags gets its modifiers, op->type and type2 its types. */
typedef struct gs_emu_row {
    const char  *name;                           /* first part of the opcode */
    uint8_t      type, type2;                    /* gs_ptx_type; NONE: the opcode has fewer types */
    uint8_t      class;                          /* gs_emu_class */
    uint32_t     need, may;                      /* required and allowed modifiers */
    gs_emu_exec *exec;
    uint8_t      operand[GS_EMU_ROW_OPERANDS];   /* gs_ptx_type of destination and sources; NONE after the last */
} gs_emu_row;

typedef struct gs_emu_rows {
    const gs_emu_row *row;
    size_t            rows;
} gs_emu_rows;

extern const gs_emu_rows gs_emu_rows_integer, gs_emu_rows_bits, gs_emu_rows_logic, gs_emu_rows_float, gs_emu_rows_fma,
                         gs_emu_rows_double, gs_emu_rows_half, gs_emu_rows_special;

/* A faster equivalent function, if this processor has the instructions for it; else exec itself. */
gs_emu_exec *gs_emu_faster(gs_emu_exec *exec);

/* a * b + c, rounded once; the flags negate the product or c. */
enum { GS_EMU_FUSED_LESS_PRODUCT = 1, GS_EMU_FUSED_LESS_OTHER = 2 };
gs_emu_exec gs_emu_fused_f32, gs_emu_fused_f64;

/* Instructions whose operands are not described by a table. */
gs_emu_decode gs_emu_decode_move, gs_emu_decode_compare, gs_emu_decode_carry, gs_emu_decode_logic, gs_emu_decode_permute;

#define GS_EMU_NO_FORM "the emulated device does not know this form"
gs_status gs_emu_finish_decode(gs_emu_decoder *d, gs_emu_op *op, gs_emu_exec *exec, gs_emu_class class);
bool      gs_emu_operand_count(gs_emu_decoder *d, int least, int most);   /* false, and UNSUPPORTED, if there are more or fewer */

/* ---- upper halves of products; signed operands are passed as unsigned bits ---- */

static inline uint32_t gs_emu_high_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static inline uint32_t gs_emu_high_s32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32); }

static inline uint64_t gs_emu_high_u64(uint64_t a, uint64_t b)
{
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (uint32_t)middle;
    return ah * bh + (middle >> 32) + (other >> 32);
}

static inline uint64_t gs_emu_high_s64(uint64_t a, uint64_t b) { return gs_emu_high_u64(a, b) - (a >> 63 ? b : 0) - (b >> 63 ? a : 0); }

/* ---- exact rounding ---- */

#define GS_EMU_NAN_F32 0x7fffffffu   /* results of f32 instructions; those of f64 keep the operand's NaN, as on the host */
#define GS_EMU_NAN_F16 0x7fffu       /* also for bf16 */

static inline float gs_emu_canonical(float value) { return value != value ? gs_bits_f32(GS_EMU_NAN_F32) : value; }

/* Subnormal numbers become zero, with their sign. */
static inline float gs_emu_flush(float value)
{
    const uint32_t bits = gs_f32_bits(value);
    return gs_bits_f32((bits & 0x7f800000u) ? bits : bits & 0x80000000u);
}

/* Rounds to odd. value: the f64 nearest to an exact result; rest: any number with the sign of exact - value. Further rounding of the result to fewer than 52 bits is
 * correct. */
static inline double gs_emu_to_odd(double value, double rest)
{
    const uint64_t bits = gs_f64_bits(value);
    const uint64_t inexact = 0u - (uint64_t)((rest != 0) & (value - value == 0) & !(bits & 1));
    const uint64_t step = 1 - 2 * (uint64_t)((rest > 0) != (value > 0));
    return gs_bits_f64(bits + (step & inexact));
}

/* Returns the rounded sum; *rest is its exact error, if nothing overflows. */
static inline double gs_emu_two_sum(double a, double b, double *rest)
{
    const double sum = a + b, of_b = sum - a, of_a = sum - of_b;
    *rest = (a - of_a) + (b - of_b);
    return sum;
}

static inline double gs_emu_add_odd(double a, double b)
{
    double rest;
    const double sum = gs_emu_two_sum(a, b, &rest);
    return gs_emu_to_odd(sum, rest);
}

/* The sum for rounding down: an exact zero is negative unless both addends are positive zeros. */
static inline double gs_emu_add_odd_down(double a, double b)
{
    const double sum = gs_emu_add_odd(a, b);
    return sum == 0 && ((gs_f64_bits(a) | gs_f64_bits(b)) >> 63) ? -0.0 : sum;
}

/* Rounds to f32 in a directed mode: the nearest number, or its neighbour if that is on the wrong side. */
typedef enum gs_emu_round { GS_EMU_RN, GS_EMU_RZ, GS_EMU_RM, GS_EMU_RP } gs_emu_round;

static inline gs_emu_round gs_emu_round_of(uint32_t modifiers)
{
    return modifiers & GS_EMU_M_RZ ? GS_EMU_RZ : modifiers & GS_EMU_M_RM ? GS_EMU_RM : modifiers & GS_EMU_M_RP ? GS_EMU_RP : GS_EMU_RN;
}

static inline float gs_emu_narrow(double value, gs_emu_round round)
{
    const float near = (float)value;
    const uint32_t bits = gs_f32_bits(near);
    const bool above = (double)near > value, below = (double)near < value, negative = value < 0;
    uint32_t step = 0;
    if (round == GS_EMU_RZ) step = negative ? (below ? -1u : 0) : (above ? -1u : 0);
    if (round == GS_EMU_RM) step = above ? (negative ? 1u : -1u) : 0;
    if (round == GS_EMU_RP) step = below ? (negative ? -1u : 1u) : 0;
    return gs_bits_f32(bits + step);
}

/* .ftz: a result that, with an unlimited exponent range, would be rounded to a number below the normal range becomes zero. */
static inline double gs_emu_flush_exact(double value, gs_emu_round round)
{
    return fabsf(gs_emu_narrow(value * 0x1p64, round)) < 0x1p-62f ? copysign(0, value) : value;
}

/* alu_float.c: completes an f32 instruction with modifiers: rounds as op->flags say, flushes, saturates and stores. value: the exact results, or results rounded so
 * that further rounding is correct. */
void gs_emu_store_rounded(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, const double value[GS_EMU_LANES]);
/* Sources as f64, flushed with .ftz. */
void gs_emu_load_f32(gs_emu_warp *w, const gs_emu_op *op, uint32_t offset, double out[GS_EMU_LANES]);

#endif

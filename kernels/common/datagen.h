/* SPDX-License-Identifier: MIT
 * Test data for verification and timing, and the single rounding of a reference. Read by the host compiler and by NVRTC: plain C.
 *
 * A value depends on (kind, seed, operand, batch, logical row, logical column) and the plan only, so that both layouts hold the
 * same matrix. For integer data (INTEGER, CANCEL, INDEX, QUIET, LOUD) src/operands/data.c chooses the plan so that all sums are exact. */
#ifndef GS_KERNELS_DATAGEN_H
#define GS_KERNELS_DATAGEN_H

#include "common/placed.h"

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

typedef unsigned long long gs_u64;

enum {                     /* the first five are the values of gs_data */
    GS_VALUES_NORMAL,      /* N(0,1); in C, a bias and an aux one element in sixteen is multiplied by 2 to 32 */
    GS_VALUES_INTEGER,     /* small integers, and one odd integer of many bits per segment of K */
    GS_VALUES_CANCEL,      /* K's second half mirrors the first with the opposite sign, plus a small remainder */
    GS_VALUES_INDEX,       /* A: one nonzero code in each row, B: codes everywhere */
    GS_VALUES_SPECIAL,     /* NORMAL with inf and NaN here and there, some of them beside blocks of zeros */
    GS_VALUES_QUIET,       /* -1, 0, 1: every partial sum stays below 2048 */
    GS_VALUES_LOUD,        /* small positive integers: sums of thousands, but no input needs more than four bits */
    GS_VALUES_ZERO,
    GS_VALUES_NAN,
    GS_VALUES_RANGE,       /* one product per output, over the whole range of the types: subnormals, overflow, zero lines, inf, NaN */
    GS_VALUES_IDLE,        /* a bias for RANGE: zeros, and one element in eleven alternately an inf or a NaN */
    GS_VALUES_STEEP,       /* an aux for RANGE: small integers; one element in eight is inf, NaN, -0, large, small or subnormal */
    GS_VALUES_POWERS,      /* scales for integers and scalars of few bits: 1 to 1/8 of either sign; one in sixteen is 0 */
    GS_VALUES_WIDE,        /* scales for NORMAL and for scalars of many bits: random bits, 1/4 to 4; one in sixteen is near 2^-20, one is 0 */
    GS_VALUES_SIGNS        /* scales for RANGE and SPECIAL: 1 and -1, zeros, inf and NaN */
};

enum { GS_LINE_ZERO, GS_LINE_NAN, GS_LINE_INF, GS_LINE_OVER, GS_LINE_UNDER, GS_LINE_PLAIN };   /* classes of lines in RANGE */

#define GS_RANGE_SPREAD 3   /* exponents at a k are at most this far from the middle one */

/* RANGE. Exponents are binary, of the leading bit. A line is a row of A or a column of B. The lone operand has one number per line and zeros; the other one is full. */
typedef struct gs_data_range {
    int lone;              /* the lone operand: 0 a, 1 b */
    int lone_bits, bits, c_bits;   /* significant bits of the lone operand, the full one and C */
    int low, high, step;   /* lowest and highest exponent of inputs; between the middle exponents of one k and the next */
    int plain[2], over[2], under[2];   /* lowest and highest exponent of products in lines of these classes; lowest > highest: none */
    int lone_classes, full_classes;    /* in so many neighbouring lines of the operand one is zero, one holds an inf and one a NaN; 0: none */
    int idle_c;            /* 1: beta is 0; C is full of numbers that must not matter */
    int bias;              /* of a bias: > 0: it has numbers at places i where i + bias - 1 is a multiple of 16, because all products there are zero; 0: nowhere */
} gs_data_range;

typedef struct gs_data_plan {
    int light;             /* largest magnitude of the small integers; INDEX: of B's codes */
    int heavy;             /* largest magnitude of the odd integers of many bits; CANCEL: of one such number in each row's remainder; 0: none */
    int segment;           /* length of a segment of K, even; A's odd integer stands on an even k, B's on an odd one */
    int sparse;            /* > 0: only one small integer in 2^sparse is not 0 */
    gs_data_range range;   /* of RANGE only */
} gs_data_plan;

/* NORMAL with lines of different size, as activations of language models are: rows of A and columns of B are multiplied by powers of two, and in all lines the elements of A at some
 * places along K, one in 64, and those of B at others. */
typedef struct gs_uneven {
    gs_u64 seed;
    int    low, count;     /* exponents of lines: low to low + count - 1; count 0: no such data */
    int    most;           /* exponents along K: 3 to `most` */
} gs_uneven;

typedef struct gs_datagen {
    void        *to;       /* first element */
    long long    rows, cols, ld;   /* as stored, of one matrix */
    long long    batch, stride;    /* matrices, and elements from one to the next */
    long long    k;        /* the problem's */
    gs_u64       seed;
    int          type;     /* gs_type of the elements */
    int          transposed;   /* stored rows are logical columns */
    int          kind;
    int          operand;  /* 0 a, 1 b, 2 c, and vectors and aux with a seed of their own */
    int          scattered;    /* 1: row i, 2: column i is row or column (i * step + from) % pool of a pool; 0: off */
    long long    pool, step, from;
    int          tall;     /* C and a bias: one element in eight is an odd number of eight bits times 2^i, i < tall; 0: none */
    int          styled;   /* > 0: each style (GS_STYLE_*) has one line in `styled`: INTEGER and SPECIAL, all operands; NORMAL, a bias and scales. 0: no styles */
    int          shift;    /* scales, A and B of CANCEL, and INTEGER with f16 sums: values are multiplied by 2^shift, mostly because alpha is far from 1 */
    gs_data_plan plan;
    gs_uneven    uneven;
} gs_datagen;

GS_SHARED gs_placed gs_datagen_placed(const gs_datagen *g)
{
    const gs_placed placed = {g->rows, g->cols, g->ld, g->stride, g->batch};
    return placed;
}

GS_SHARED gs_u64 gs_mix(gs_u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Random bits for a position; each salt gives an independent draw. */
GS_SHARED gs_u64 gs_draw(const gs_datagen *g, int salt, long long batch, long long row, long long col)
{
    const gs_u64 key = gs_mix(g->seed + 0x9e3779b97f4a7c15ull * (gs_u64)(1 + g->kind * 64 + g->operand * 16 + salt));
    return gs_mix(gs_mix(key + (gs_u64)row * 0xd1342543de82ef95ull + (gs_u64)batch * 0xaf251af3b0f025b5ull) + (gs_u64)col * 0x9e3779b97f4a7c15ull);
}

GS_SHARED float gs_infinity(void)
{
    union { unsigned int u; float f; } bits = {0x7f800000u};
    return bits.f;
}

/* Uniform in [0, limit), limit <= 2^32. */
GS_SHARED long long gs_pick_below(gs_u64 bits, long long limit)
{
    return (long long)(((bits >> 32) * (gs_u64)limit) >> 32);
}

GS_SHARED float gs_normal(gs_u64 bits)
{
    const float radius = ((float)(bits >> 40) + 0.5f) * 0x1p-24f;
    const float angle = (float)((bits >> 16) & 0xffffff) * (6.2831853f * 0x1p-24f);
    return sqrtf(-2.0f * logf(radius)) * cosf(angle);
}

GS_SHARED float gs_small_integer(const gs_datagen *g, gs_u64 bits)
{
    if (g->plan.sparse && (bits & ((1ull << g->plan.sparse) - 1))) return 0.0f;
    return (float)(gs_pick_below(bits, 2 * g->plan.light + 1) - g->plan.light);
}

/* line: row of A or column of B; k: position in the sum. */
GS_SHARED float gs_value_integer(const gs_datagen *g, long long batch, long long line, long long k)
{
    if (g->plan.heavy) {
        const long long segment = k / g->plan.segment;
        const gs_u64 bits = gs_draw(g, 1, batch, line, segment);
        const long long at = 2 * gs_pick_below(bits, g->plan.segment / 2) + (g->operand == 1);
        if (k - segment * g->plan.segment == at) {
            const int half = (g->plan.heavy + 1) / 2;   /* odd and in the upper half: uses every bit that the type has */
            const float magnitude = (float)(2 * (half / 2 + gs_pick_below(bits << 24, (half + 1) / 2)) + 1);
            return bits & 1 ? magnitude : -magnitude;
        }
    }
    return gs_small_integer(g, gs_draw(g, 0, batch, line, k));
}

/* Kinds of lines that real programs have and independent draws never give: of one sign, all zero, nearly empty, constant, ascending, without negative numbers, two of
 * every four elements zero. No style exceeds the largest magnitude. */
enum { GS_STYLE_POSITIVE, GS_STYLE_NEGATIVE, GS_STYLE_ZERO, GS_STYLE_FEW, GS_STYLE_CONSTANT, GS_STYLE_SIGNS, GS_STYLE_ASCENDING, GS_STYLE_ALIKE, GS_STYLE_RELU, GS_STYLE_PRUNED, GS_STYLES };

/* Whether a line of A or B is in a block of eight zero lines: one block in sixteen, if there are at least 16 lines; at least one if there are 64. */
GS_SHARED int gs_in_empty_block(const gs_datagen *g, long long batch, long long line)
{
    const long long lines = (g->operand == 0) != g->transposed ? g->rows : g->cols;
    const long long block = line / 8, blocks = (lines + 7) / 8;
    const int few = blocks >= 8 && blocks < 16;
    return g->operand < 2 && lines >= 16 && gs_pick_below(gs_draw(g, 7, batch, few ? 0 : block / 16, 0), few ? blocks : 16) == (few ? block : block % 16);
}

/* Whether the element at `at` is one of the two in four neighbours that are zero. */
GS_SHARED int gs_is_pruned(gs_u64 bits, long long at)
{
    const gs_u64 pair = gs_mix(bits + (gs_u64)(at / 4)), first = pair & 3, second = (first + 1 + (pair >> 2) % 3) & 3;
    return (gs_u64)(at & 3) == first || (gs_u64)(at & 3) == second;
}

/* `value` in the style of its line. most: largest magnitude of a constant; 0: zeros must stay zero (sparse lines). at: position in the line, of `count`. */
GS_SHARED float gs_in_style(const gs_datagen *g, long long batch, long long line, long long at, long long count, long long most, float value)
{
    if (!g->styled) return value;
    const gs_u64 bits = gs_draw(g, 5, batch, line, 0);
    const int style = gs_in_empty_block(g, batch, line) ? GS_STYLE_ZERO : (int)gs_pick_below(bits, g->styled);
    const float size = value < 0 ? -value : value, one = (float)(most ? 1 + gs_pick_below(gs_mix(bits), most) : 0);
    switch (style) {
    case GS_STYLE_POSITIVE: return size;
    case GS_STYLE_NEGATIVE: return -size;
    case GS_STYLE_ZERO:     return (gs_mix(bits + (gs_u64)at) & 1) ? -0.0f : 0.0f;
    case GS_STYLE_FEW:      return gs_pick_below(gs_draw(g, 6, batch, line, at), count) < 3 ? value : 0.0f;
    case GS_STYLE_RELU:     return value > 0 ? value : 0.0f;
    case GS_STYLE_PRUNED:   return gs_is_pruned(bits, at) ? 0.0f : value;
    default: break;
    }
    if (!most) return value;
    switch (style) {
    case GS_STYLE_CONSTANT:  return bits & 1 ? -one : one;
    case GS_STYLE_SIGNS:     return value < 0 ? -one : one;
    case GS_STYLE_ASCENDING: return (float)(2 * most * at / count - most);
    case GS_STYLE_ALIKE:     return (gs_mix(bits + (gs_u64)(at / 4)) & 1) ? -one : one;   /* the same for four neighbours */
    default:                 return value;
    }
}

GS_SHARED float gs_value_cancel(const gs_datagen *g, long long batch, long long line, long long k)
{
    const long long mirrored = k < g->k - 1 - k ? k : g->k - 1 - k;
    const int second = k > g->k - 1 - k, middle = k == g->k - 1 - k;
    const gs_u64 bits = gs_draw(g, 0, batch, line, mirrored);
    float value = (float)(1 + gs_pick_below(bits, g->plan.light));
    if (gs_draw(g, 1, batch, line, 0) & 1) value = -value;
    if (g->operand == 1) return value;
    if (middle || (g->plan.sparse && (bits & ((1ull << g->plan.sparse) - 1)))) value = 0.0f;
    if (!second && !middle) return value;
    const gs_u64 small = gs_draw(g, 2, batch, line, k);
    if (g->plan.heavy) {
        const gs_u64 one = gs_draw(g, 3, batch, line, 0);
        const int magnitude = g->plan.heavy - 2 * (int)gs_pick_below(one << 8, g->plan.heavy / 4);
        if ((g->k + 1) / 2 + gs_pick_below(one, g->k / 2) == k) return (one & 1 ? -(float)magnitude : (float)magnitude) - value;
    }
    const float remainder = small & 0x70 ? 0.0f : small & 1 ? 1.0f : -1.0f;
    return remainder - value;
}

/* The k whose code row `line` of A selects. */
GS_SHARED long long gs_index_column(const gs_datagen *g, long long batch, long long line)
{
    return gs_pick_below(gs_draw(g, 1, batch, line, 0), g->k);
}

GS_SHARED float gs_value_index(const gs_datagen *g, long long batch, long long line, long long k)
{
    if (g->operand == 0) {
        if (gs_index_column(g, batch, line) != k) return 0.0f;
        const gs_u64 bits = gs_draw(g, 0, batch, line, 0);
        const float factor = (float)(1 + 2 * (bits >> 61));   /* 1, 3, ... 15 */
        return bits & 1 ? factor : -factor;
    }
    const gs_u64 bits = gs_draw(g, 0, batch, line, k);
    const float code = (float)(1 + gs_pick_below(bits, g->plan.light));
    return bits & 1 ? code : -code;
}

GS_SHARED float gs_value_normal(const gs_datagen *g, long long batch, long long line, long long k)
{
    const gs_u64 drawn = gs_draw(g, 0, batch, line, k);
    /* C, a bias and an aux have some larger values, as a residual stream has: normal numbers hardly ever exceed 5, and integers have few bits. */
    const float value = gs_normal(drawn) * (g->operand == 2 && (drawn & 15) == 0 ? (float)(2 << gs_pick_below(drawn << 28, 5)) : 1.0f);
    const int vector = g->kind == GS_VALUES_NORMAL;   /* in NORMAL only a bias and scales have styles */
    if (!g->styled) return value;
    const gs_u64 bits = gs_draw(g, 5, batch, line, 0);
    const float one = gs_normal(gs_mix(bits));
    switch ((int)gs_pick_below(bits, g->styled)) {
    case GS_STYLE_POSITIVE:  return value < 0 ? -value : value;
    case GS_STYLE_NEGATIVE:  return value < 0 ? value : -value;
    case GS_STYLE_ZERO:      return vector ? 0.0f : value;
    case GS_STYLE_FEW:       return vector ? value / 64 : value;
    case GS_STYLE_CONSTANT:  return one;
    case GS_STYLE_RELU:      return value < 0 ? 0.0f : value;
    case GS_STYLE_PRUNED:    return gs_is_pruned(bits, k) ? 0.0f : value;
    case GS_STYLE_SIGNS:     return !vector ? value : value < 0 ? -one : one;   /* two such lines may sum to rounding errors only, which an infinite scale turns into anything */
    default:                 return value;
    }
}

/* If K is long, one operand is zero in the first 64 k and the other in the last 64: a kernel that skips blocks of zeros loses the other operand's inf and NaN there. */
GS_SHARED int gs_special_zero(const gs_datagen *g, long long k)
{
    const long long width = g->operand < 2 && g->k >= 192 ? 64 : 0;
    return width > 0 && (g->operand == (int)(g->seed >> 40 & 1) ? k < width : k >= g->k - width);
}

GS_SHARED float gs_value_special(const gs_datagen *g, long long batch, long long line, long long k, long long extent)
{
    if (gs_special_zero(g, k)) return 0.0f;
    const long long number = line + (long long)(g->seed % 48);
    if (number % 3 == 0) {   /* one element of every third line; in C at a random column */
        const gs_u64 bits = gs_draw(g, 1, batch, line, 0);
        const long long turn = number / 3 % 8, few = turn < extent ? turn : extent - 1;
        /* one of the first eight k in turn, then of the last eight, where kernels often have separate code */
        const long long place = g->operand == 2 ? gs_pick_below(bits, extent) : number / 24 % 2 ? extent - 1 - few : few;
        if (place == k) return bits & 2 ? gs_infinity() - gs_infinity() : bits & 1 ? gs_infinity() : -gs_infinity();
    }
    return gs_value_normal(g, batch, line, k);
}

GS_SHARED float gs_range_number(gs_u64 bits, int exponent, int length);

/* A bias, generated as a row of C. One of fewer than 11 elements has no inf or NaN. */
GS_SHARED float gs_value_idle(const gs_datagen *g, long long batch, long long row, long long col)
{
    const gs_u64 bits = gs_draw(g, 0, batch, row, col);
    if (g->plan.range.bias && (col + g->plan.range.bias - 1) % 16 == GS_LINE_ZERO) {   /* where products are zero: small, large and arbitrary numbers in turn */
        const int half = g->type == 0, turn = (int)(((gs_u64)col / 16 + (g->seed >> 8 & 3)) % 3), subnormal = (int)(bits >> 1 & 1), most = half ? 15 : 100;
        const int least = turn ? (half ? -24 : -100) : subnormal ? (half ? -24 : -133) : half ? -14 : -30;
        const int low = turn == 1 ? most - 2 : least, high = turn ? most : subnormal ? (half ? -15 : -127) : -11;
        return gs_range_number(bits, turn == 0 && bits >> 2 & 1 ? low : low + (int)gs_pick_below(bits << 20, high - low + 1), 8);
    }
    if (g->cols < 11 || (gs_u64)col % 11 != (g->seed >> 32) % 11) return 0.0f;
    return (g->seed + (gs_u64)col / 11) & 1 ? gs_infinity() - gs_infinity() : bits & 1 ? gs_infinity() : -gs_infinity();
}

GS_SHARED float gs_value_steep(const gs_datagen *g, long long batch, long long row, long long col)
{
    const gs_u64 bits = gs_draw(g, 0, batch, row, col);
    const float sign = bits & 8 ? -1.0f : 1.0f;
    if (bits & 7) return (float)(gs_pick_below(bits, 31) - 15);
    switch (bits >> 4 & 7) {
    case 0:  return gs_infinity() - gs_infinity();
    case 1:  return sign * gs_infinity();
    case 2:  return sign * 0.0f;
    case 3:  return sign * (g->type ? 0x1p100f : 0x1p15f);   /* type 0 is f16 */
    case 4:  return sign * 0x1p-14f;
    case 5:  return sign * (g->type == 0 ? 0x1p-24f : g->type == 1 ? 0x1p-133f : 0x1p-140f);   /* subnormal; type 1 is bf16 */
    case 6:  return sign * (g->type == 0 ? 0x1p-20f : 0x1p-60f);
    default: return sign * (16.0f + (float)(bits >> 8 & 127));
    }
}

/* 2^exponent, a normal f32. */
GS_SHARED float gs_power_of_two(int exponent)
{
    union { unsigned int u; float f; } number = {(unsigned int)(exponent + 127) << 23};
    return number.f;
}

/* Scales. POWERS keep sums of integers exact; WIDE have any bits and sizes; SIGNS suit sums of any size, and include inf and NaN. */
GS_SHARED float gs_value_factor(const gs_datagen *g, long long batch, long long row, long long col)
{
    const gs_u64 bits = gs_draw(g, 0, batch, row, col), more = gs_mix(bits);
    const float sign = (bits & 1 ? -1.0f : 1.0f) * gs_power_of_two(g->shift);
    if (g->kind == GS_VALUES_SIGNS) {   /* of sixteen neighbours one is 0, one an infinity and one NaN */
        const gs_u64 place = (gs_u64)col + (g->seed >> 40 & 31);
        const int odd = place % 16 == 5 || place % 16 == 12;   /* two places, so that a line of NaN cannot hide all of them */
        return place % 16 == 0 ? 0.0f : !odd ? sign : (place / 16 + (place % 16 == 12)) & 1 ? gs_infinity() - gs_infinity() : sign * gs_infinity();
    }
    if ((bits >> 4 & 15) == 0) return 0.0f;
    const float power = 1.0f / (float)(1 << (more >> 8 & 3));
    if (g->kind == GS_VALUES_POWERS && g->styled) {   /* all of one sign, or all the same */
        const gs_u64 style = gs_pick_below(gs_draw(g, 5, batch, row, 0), g->styled);
        const float whole = gs_power_of_two(g->shift);
        return style == GS_STYLE_POSITIVE ? whole * power : style == GS_STYLE_NEGATIVE ? -whole * power : style == GS_STYLE_CONSTANT ? whole * 0.5f : sign * power;
    }
    if (g->kind == GS_VALUES_POWERS) return sign * power;
    float any = sign * (1.0f + (float)(more >> 40) * 0x1p-24f) * power * ((bits >> 4 & 15) == 1 ? 0x1p-20f : 2.0f);
    const int style = g->styled ? (int)gs_pick_below(gs_draw(g, 5, batch, row, 0), g->styled) : GS_STYLES;
    if ((style == GS_STYLE_POSITIVE && any < 0) || (style == GS_STYLE_NEGATIVE && any > 0)) any = -any;
    return style == GS_STYLE_CONSTANT ? 0.7f * gs_power_of_two(g->shift) : style == GS_STYLE_FEW ? any / 32 : any;
}

/* ---- RANGE ---- */

/* The class of a line. In 16 or 8 neighbouring lines of the lone operand each class before PLAIN has one, in 4 lines those up to OVER; in 16 lines of the full operand ZERO,
 * NAN and INF have one. */
GS_SHARED int gs_range_class(const gs_datagen *g, int lone, long long line)
{
    const gs_data_range *const r = &g->plan.range;
    const int classes = lone ? r->lone_classes : r->full_classes;
    const int place = (int)((line + (long long)(g->seed >> (lone ? 60 : 56) & 15)) % (classes ? classes : 16));
    if (place <= GS_LINE_INF) return classes ? place : GS_LINE_PLAIN;
    return lone && place < GS_LINE_PLAIN ? place : GS_LINE_PLAIN;
}

/* At each k the full operand's exponents lie around a middle. There are gs_range_middles of these, `step` apart; they repeat along K, and the seed chooses the first. */
GS_SHARED int gs_range_middles(const gs_datagen *g)
{
    return (g->plan.range.high - g->plan.range.low - 2 * GS_RANGE_SPREAD) / g->plan.range.step + 1;
}
GS_SHARED int gs_range_start(const gs_datagen *g) { return (int)((g->seed & 0xffffffu) % (unsigned)gs_range_middles(g)); }
GS_SHARED int gs_range_middle(const gs_datagen *g, long long k)
{
    const int which = (int)((unsigned)(k + gs_range_start(g)) % (unsigned)gs_range_middles(g));   /* K fits an int */
    return g->plan.range.low + GS_RANGE_SPREAD + g->plan.range.step * which;
}

GS_SHARED int gs_range_between(gs_u64 bits, int low, int high) { return low + (int)gs_pick_below(bits, high - low + 1); }

/* The gap is a block of K, from gs_range_gap on, where the lone operand is zero in every line and the full one has half of its inf and NaN: a kernel that skips blocks of zeros
 * loses them. Its width; 0: K is too short for it. */
GS_SHARED long long gs_range_gap_width(const gs_datagen *g)
{
    const long long room = g->k / 2 - gs_range_middles(g);   /* so that gs_range_beside can leave it by a multiple of the middles */
    return room >= 80 ? 64 : room >= 48 ? 32 : room >= 16 ? 16 : 0;   /* leaves 16 for gs_range_hole_width, except the shortest */
}
GS_SHARED long long gs_range_gap(const gs_datagen *g)
{
    const long long width = gs_range_gap_width(g);
    return width ? gs_pick_below(gs_mix(g->seed + 0x3c6ef372u), g->k / width) * width : 0;
}

/* The hole is a block next to the gap where the full operand is zero except for inf and NaN, and the lone one has half of its NaN. Its width; 0: K is too short for both. */
GS_SHARED long long gs_range_hole_width(const gs_datagen *g)
{
    const long long width = gs_range_gap_width(g), room = width ? g->k / 2 - gs_range_middles(g) - width : 0;
    return room >= 64 ? 64 : room >= 32 ? 32 : room >= 16 ? 16 : 0;
}
GS_SHARED long long gs_range_hole(const gs_datagen *g)
{
    const long long width = gs_range_hole_width(g), gap = gs_range_gap(g), behind = gap + gs_range_gap_width(g);
    return behind + width <= g->k ? behind : gap - width;
}

/* Moves a k out of gap and hole, by a multiple of `step`. */
GS_SHARED long long gs_range_beside(const gs_datagen *g, long long k, long long step)
{
    const long long gap = gs_range_gap(g), hole = gs_range_hole(g), least = hole < gap ? hole : gap;
    const long long width = gs_range_gap_width(g) + gs_range_hole_width(g), far = (width + step - 1) / step * step;
    if (k < least || k >= least + width) return k;
    return k + far < g->k ? k + far : k - far;
}

/* The k of a line's lone number, and its exponent: its product with the full operand's number at that k has the line's class or, if K is short, is a plain one. */
GS_SHARED long long gs_range_place(const gs_datagen *g, long long batch, long long line, int *exponent)
{
    const gs_data_range *const r = &g->plan.range;
    const int kind = gs_range_class(g, 1, line), middles = gs_range_middles(g), first = r->low + GS_RANGE_SPREAD;
    const int *const wanted = kind == GS_LINE_OVER && r->over[0] <= r->over[1] ? r->over
                            : kind == GS_LINE_UNDER && r->under[0] <= r->under[1] ? r->under : r->plain;
    const gs_u64 bits = gs_mix(gs_mix(g->seed + (gs_u64)line * 0xd1342543de82ef95ull) + (gs_u64)batch * 0xaf251af3b0f025b5ull);
    const int product = gs_range_between(bits, wanted[0], wanted[1]);
    const int below = product - r->high - first, above = product - r->low - first;   /* of the middle, relative to the first one */
    const int least = below > 0 ? (below + r->step - 1) / r->step : 0, most = above < (middles - 1) * r->step ? above / r->step : middles - 1;
    if (above >= 0 && least <= most && g->k >= middles) {
        const int which = gs_range_between(bits << 20, least, most), from = (which - gs_range_start(g) + middles) % middles;
        *exponent = product - first - r->step * which;
        return gs_range_beside(g, from + middles * gs_pick_below(bits << 40, (g->k - from + middles - 1) / middles), middles);
    }
    const long long k = gs_range_beside(g, gs_pick_below(bits << 40, g->k), 1);
    *exponent = product - gs_range_middle(g, k);
    if (*exponent >= r->low && *exponent <= r->high) return k;
    *exponent = (r->plain[0] + r->plain[1]) / 2 - gs_range_middle(g, k);   /* in the middle of the plain products */
    if (*exponent < r->low) *exponent = r->low;
    if (*exponent > r->high) *exponent = r->high;
    return k;
}

/* A number of at most `length` significant bits. */
GS_SHARED float gs_range_number(gs_u64 bits, int exponent, int length)
{
    const unsigned int wanted = (bits >> 13 & 15) == 0 ? 0x7fffffu : (unsigned int)(bits >> 33);   /* one in sixteen: all of them set, the largest of its exponent */
    union { unsigned int u; float f; } number = {wanted & 0x7fffffu & ~((1u << (24 - length)) - 1)};
    float value;
    if (exponent >= -126) {
        number.u |= (unsigned int)(exponent + 127) << 23;
        value = number.f;
    } else {   /* a subnormal f32 keeps the bits that its exponent leaves */
        number.u = (number.u | 0x800000u) >> (-126 - exponent);
        value = number.f;
    }
    return bits & 1 ? value : -value;
}

/* Whether the inf or NaN of a line of that class lies where the other operand is zero: so in every second NaN line, the first included, and in every second inf line. */
GS_SHARED int gs_range_meets_zeros(const gs_datagen *g, int lone, int kind, long long batch, long long line)
{
    const int classes = lone ? g->plan.range.lone_classes : g->plan.range.full_classes;
    return classes && ((line / classes + batch + (kind == GS_LINE_INF)) & 1) == 0;
}

/* The k of an inf or a NaN: often among the first or the last eight, where kernels often have separate code. */
GS_SHARED long long gs_special_place(gs_u64 bits, long long k)
{
    const long long few = k < 8 ? k : 8, at = gs_pick_below(bits, few);
    return bits & 4 ? gs_pick_below(bits, k) : bits & 8 ? at : k - 1 - at;
}

GS_SHARED float gs_range_inf(gs_u64 bits) { return bits & 1 ? gs_infinity() : -gs_infinity(); }

GS_SHARED float gs_value_range(const gs_datagen *g, long long batch, long long line, long long k)
{
    const gs_data_range *const r = &g->plan.range;
    const int lone = g->operand == r->lone, kind = gs_range_class(g, lone, line);
    int exponent;
    if (kind == GS_LINE_ZERO) return 0.0f;
    if (kind == GS_LINE_NAN || (kind == GS_LINE_INF && !lone)) {
        const gs_u64 where = gs_draw(g, 1, batch, line, 0);
        const long long width = lone ? gs_range_hole_width(g) : gs_range_gap_width(g), place = gs_special_place(where, g->k);
        const long long zeros = lone ? gs_range_hole(g) : gs_range_gap(g);   /* where the other operand is zero */
        if ((width && gs_range_meets_zeros(g, lone, kind, batch, line) ? zeros + gs_pick_below(where << 8, width) : lone ? gs_range_beside(g, place, 1) : place) == k)
            return kind == GS_LINE_NAN ? gs_infinity() - gs_infinity() : gs_range_inf(where);
    }
    if (lone) {
        if (gs_range_place(g, batch, line, &exponent) != k) return 0.0f;
        const gs_u64 bits = gs_draw(g, 0, batch, line, k);
        return kind == GS_LINE_INF ? gs_range_inf(bits) : gs_range_number(bits, exponent, kind == GS_LINE_UNDER ? 1 : r->lone_bits);
    }
    if (k >= gs_range_hole(g) && k < gs_range_hole(g) + gs_range_hole_width(g)) return 0.0f;
    const gs_u64 bits = gs_draw(g, 0, batch, line, k);
    return gs_range_number(bits, gs_range_middle(g, k) + (int)(bits >> 8 & 7) % (2 * GS_RANGE_SPREAD + 1) - GS_RANGE_SPREAD, r->bits);
}

/* C is zero wherever there is a product, so that every output is rounded only once. With beta 0, where C must not matter, it is full of numbers. */
GS_SHARED float gs_value_range_c(const gs_datagen *g, long long batch, long long row, long long col)
{
    const gs_u64 bits = gs_draw(g, 0, batch, row, col);
    const int least = g->type == 0 ? -24 : -100, most = g->type == 0 ? 15 : 100;
    if (g->plan.range.idle_c) return gs_range_number(bits, gs_range_between(bits << 20, -6, 6), 8);
    if (gs_range_class(g, 1, g->plan.range.lone == 0 ? row : col) != GS_LINE_ZERO) return 0.0f;
    if ((bits >> 4 & 15) == 0) return bits & 2 ? gs_infinity() - gs_infinity() : gs_range_inf(bits);
    return gs_range_number(bits, gs_range_between(bits << 20, least, most), g->plan.range.c_bits);
}

/* Rows of a pool of A that differ from the others: a row's result must not depend on its neighbours. */
enum { GS_ROW_NAN, GS_ROW_INF, GS_ROW_LARGE, GS_ROW_ZERO };
GS_SHARED int gs_row_is_odd(int which, long long pool, long long row) { return row == pool - 1 - which; }

/* Three rows in four cancel in the product with B, whose second half along K mirrors the first. Only the rounding errors of the sum remain, so that even a 16-bit output shows in
 * which order it was added up. */
GS_SHARED float gs_value_of_pool(const gs_datagen *g, long long batch, long long row, long long k)
{
    const int second = k > g->k - 1 - k, cancels = row % 4 != 0;
    float value = gs_value_factor(g, batch, row, second && cancels ? g->k - 1 - k : k);
    if (second && cancels) value = -value;
    const long long place = gs_pick_below(gs_draw(g, 2, 0, row, 0), g->k);
    if (gs_row_is_odd(GS_ROW_NAN, g->pool, row)) return k == place ? gs_infinity() - gs_infinity() : value;
    if (gs_row_is_odd(GS_ROW_INF, g->pool, row)) return k == place ? gs_infinity() : value;
    return gs_row_is_odd(GS_ROW_LARGE, g->pool, row) ? value * 1024.0f : gs_row_is_odd(GS_ROW_ZERO, g->pool, row) ? 0.0f : value;
}

/* Of a row of A (operand 0) or a column of B (1), as they are numbered in their matrix. */
GS_SHARED int gs_uneven_exponent(const gs_uneven *u, int operand, long long line)
{
    return u->count ? u->low + (int)gs_pick_below(gs_mix(u->seed + 0x9e3779b97f4a7c15ull * (gs_u64)(2 * line + operand + 1)), u->count) : 0;
}

GS_SHARED float gs_uneven_factor(const gs_datagen *g, long long line, long long k)
{
    const gs_uneven *const u = &g->uneven;
    if (!u->count || g->operand > 1) return 1.0f;
    const gs_u64 bits = gs_mix(u->seed + 0xd1342543de82ef95ull * (gs_u64)(k + 1));
    const long long sure = gs_pick_below(gs_mix(u->seed), g->k);   /* one of A is large in any case, and its neighbour of B */
    const bool large = gs_pick_below(bits, 64) == g->operand || k == (sure + g->operand) % g->k;
    return gs_power_of_two(gs_uneven_exponent(u, g->operand, line) + (large ? 3 + (int)gs_pick_below(gs_mix(bits), u->most - 2) : 0));
}

/* The padding between rows and matrices: NaN; for INTEGER a number, because a kernel may read padding and drop NaN. */
GS_SHARED float gs_between_rows(const gs_datagen *g) { return g->kind == GS_VALUES_INTEGER ? 3.0f : gs_infinity() - gs_infinity(); }

/* Value at a logical position: A (m, k), B (k, n), C (m, n). */
GS_SHARED float gs_value(const gs_datagen *g, long long batch, long long row, long long col)
{
    if (g->scattered == 1) row = (row * g->step + g->from) % g->pool;
    if (g->scattered == 2) col = (col * g->step + g->from) % g->pool;
    const long long line = g->operand == 1 ? col : row, k = g->operand == 1 ? row : col;
    switch (g->kind) {
    case GS_VALUES_NORMAL:  return gs_value_normal(g, batch, line, k) * gs_uneven_factor(g, line, k);
    case GS_VALUES_SPECIAL: return gs_value_special(g, batch, line, k, g->operand == 2 ? g->cols : g->k);
    case GS_VALUES_ZERO:    return 0.0f;
    case GS_VALUES_NAN:     return gs_infinity() - gs_infinity();
    case GS_VALUES_IDLE:    return gs_value_idle(g, batch, row, col);
    case GS_VALUES_STEEP:   return gs_value_steep(g, batch, row, col);
    case GS_VALUES_POWERS:
    case GS_VALUES_WIDE:
    case GS_VALUES_SIGNS:
        if (g->scattered == 1 && g->operand == 0) return gs_value_of_pool(g, batch, row, col);
        if (g->pool && g->operand == 1 && k > g->k - 1 - k) return gs_value_factor(g, batch, g->k - 1 - k, col);
        return gs_value_factor(g, batch, row, col);
    case GS_VALUES_RANGE:   return g->operand == 2 ? gs_value_range_c(g, batch, row, col) : gs_value_range(g, batch, line, k);
    default: break;
    }
    if (g->tall) {
        const gs_u64 bits = gs_draw(g, 2, batch, line, k);
        const int magnitude = (1 + (int)(bits >> 8 & 254)) << gs_pick_below(bits, g->tall);
        if ((bits & 7) == 0) return gs_in_style(g, batch, line, k, g->cols, 15, bits & 8 ? -(float)magnitude : (float)magnitude);
    }
    if (g->operand == 2) return gs_in_style(g, batch, line, k, g->cols, 15, (float)(gs_pick_below(gs_draw(g, 0, batch, line, k), 31) - 15));   /* C: integers up to 15 */
    switch (g->kind) {
    case GS_VALUES_INTEGER: return gs_in_style(g, batch, line, k, g->k, g->plan.sparse ? 0 : g->plan.light, gs_value_integer(g, batch, line, k)) * gs_power_of_two(g->shift);
    case GS_VALUES_CANCEL:  return gs_value_cancel(g, batch, line, k) * gs_power_of_two(g->shift);
    case GS_VALUES_INDEX:   return gs_value_index(g, batch, line, k);
    case GS_VALUES_QUIET:   return gs_small_integer(g, gs_draw(g, 0, batch, line, k));
    default:                break;
    }
    const gs_u64 bits = gs_draw(g, 0, batch, line, k);   /* LOUD */
    if (g->operand == 0 && g->plan.sparse && (bits & ((1ull << g->plan.sparse) - 1))) return 0.0f;
    return (float)(1 + gs_pick_below(bits, g->plan.light));
}

/* f64 -> f32, rounded to odd: rounding the result to 16 bits then gives the same as rounding the f64 value once. */
GS_SHARED float gs_round_to_odd(double value)
{
    union { float f; unsigned int u; } near = {(float)value};
    const double back = (double)near.f;
    if (back == value || value != value) return near.f;
    if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) near.u--;   /* towards zero; infinity becomes the largest finite */
    near.u |= 1;
    return near.f;
}

#endif

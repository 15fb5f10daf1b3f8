/* SPDX-License-Identifier: MIT
 * Test data of verification and timing, and rounding a reference once. Read by the host compiler and by NVRTC: plain C.
 *
 * A value depends on (kind, seed, operand, batch, logical row, logical column) and the plan only, so that both layouts hold the
 * same matrix. Every kind but NORMAL and SPECIAL gives integers; src/verify/data.c chooses the plan so that all sums are exact. */
#ifndef GS_KERNELS_DATAGEN_H
#define GS_KERNELS_DATAGEN_H

#ifdef __CUDACC_RTC__
#define GS_SHARED static __device__ __forceinline__
#else
#include <math.h>
#define GS_SHARED static inline
#endif

typedef unsigned long long gs_u64;

enum {                     /* the first five are gs_data */
    GS_VALUES_NORMAL,      /* N(0,1) */
    GS_VALUES_INTEGER,     /* small integers everywhere, one long odd integer per segment of K */
    GS_VALUES_CANCEL,      /* K's second half mirrors the first with the opposite sign, plus a small remainder */
    GS_VALUES_INDEX,       /* A: one code in each row, B: codes everywhere */
    GS_VALUES_SPECIAL,     /* NORMAL with inf and NaN here and there */
    GS_VALUES_QUIET,       /* -1, 0, 1: every partial sum stays below 2048 */
    GS_VALUES_LOUD,        /* small positive integers: sums of thousands, but no input needs more than four bits */
    GS_VALUES_ZERO,
    GS_VALUES_NAN
};

typedef struct gs_data_plan {
    int light;             /* largest magnitude of the small integers; INDEX: of B's codes */
    int heavy;             /* largest magnitude of the long odd integers; 0: none */
    int segment;           /* length of a segment of K, even; A's long integer stands on an even k, B's on an odd one */
    int sparse;            /* small integers are 0 but for one in 2^sparse */
} gs_data_plan;

typedef struct gs_datagen {
    void        *to;       /* first element */
    long long    rows, cols, ld;   /* as stored, of one matrix */
    long long    batch;
    long long    k;        /* the problem's */
    gs_u64       seed;
    int          type;     /* gs_type of the elements */
    int          transposed;   /* stored rows are logical columns */
    int          kind;
    int          operand;  /* 0 a, 1 b, 2 c */
    gs_data_plan plan;
} gs_datagen;

GS_SHARED gs_u64 gs_mix(gs_u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Random bits of a position; salt tells apart independent draws. */
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
            const int half = (g->plan.heavy + 1) / 2;   /* odd magnitudes of the upper half: all the bits that the type has */
            const float magnitude = (float)(2 * (half / 2 + gs_pick_below(bits << 24, (half + 1) / 2)) + 1);
            return bits & 1 ? magnitude : -magnitude;
        }
    }
    return gs_small_integer(g, gs_draw(g, 0, batch, line, k));
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

GS_SHARED float gs_value_special(const gs_datagen *g, long long batch, long long line, long long k, long long extent)
{
    if ((line + (long long)(g->seed % 7)) % 7 == 3) {   /* one element of every seventh line; C's special columns are its own */
        const gs_u64 bits = gs_draw(g, 1, batch, line, 0);
        if (gs_pick_below(bits, extent) == k) {
            const int which = (int)((bits & 0xff) % 3);
            return which == 0 ? gs_infinity() - gs_infinity() : which == 1 ? gs_infinity() : -gs_infinity();
        }
    }
    return gs_normal(gs_draw(g, 0, batch, line, k));
}

/* Value at a logical position: A (m, k), B (k, n), C (m, n). */
GS_SHARED float gs_value(const gs_datagen *g, long long batch, long long row, long long col)
{
    const long long line = g->operand == 1 ? col : row, k = g->operand == 1 ? row : col;
    switch (g->kind) {
    case GS_VALUES_NORMAL:  return gs_normal(gs_draw(g, 0, batch, line, k));
    case GS_VALUES_SPECIAL: return gs_value_special(g, batch, line, k, g->operand == 2 ? g->cols : g->k);
    case GS_VALUES_ZERO:    return 0.0f;
    case GS_VALUES_NAN:     return gs_infinity() - gs_infinity();
    default: break;
    }
    if (g->operand == 2) return (float)(gs_pick_below(gs_draw(g, 0, batch, line, k), 31) - 15);   /* C: integers up to 15 */
    switch (g->kind) {
    case GS_VALUES_INTEGER: return gs_value_integer(g, batch, line, k);
    case GS_VALUES_CANCEL:  return gs_value_cancel(g, batch, line, k);
    case GS_VALUES_INDEX:   return gs_value_index(g, batch, line, k);
    case GS_VALUES_QUIET:   return gs_small_integer(g, gs_draw(g, 0, batch, line, k));
    default:                break;
    }
    const gs_u64 bits = gs_draw(g, 0, batch, line, k);   /* LOUD */
    if (g->operand == 0 && g->plan.sparse && (bits & ((1ull << g->plan.sparse) - 1))) return 0.0f;
    return (float)(1 + gs_pick_below(bits, g->plan.light));
}

/* f64 -> f32 to odd: rounding the result once more, to 16 bits, is rounding the f64 value once. */
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

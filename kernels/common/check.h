/* SPDX-License-Identifier: MIT
 * What the host passes to the kernels of kernels/verify.cu, and what they count. Read by the host compiler and by NVRTC: plain C.
 * Memory is looked at in units of 16 bits, the size of the smallest element. */
#ifndef GS_KERNELS_CHECK_H
#define GS_KERNELS_CHECK_H

#include "common/epilogue.h"

#ifdef __CUDACC_RTC__
#define GS_KERNEL extern "C" __global__
#else
#define GS_KERNEL static
#endif

/* A range of device memory. */
typedef struct gs_range {
    void        *at;
    gs_u64       units;
    gs_u64       seed;        /* guard: of the pattern; poison: the 32-bit pattern itself */
    gs_u64      *count;       /* guard check: adds the changed units */
} gs_range;

/* An operand in units. */
typedef struct gs_rows {
    const void  *at;
    gs_placed    placed;
    gs_u64       pattern;     /* padding: the 32-bit pattern that must still be there */
    gs_u64      *out;         /* hash: adds the hash; padding: adds the changed units */
} gs_rows;

#define GS_BANDS 18   /* in front of and behind each operand */

/* Guard bands of a size, two for each counter. */
typedef struct gs_bands {
    const void  *at[GS_BANDS];
    unsigned int pattern[GS_BANDS];   /* that must still be there */
    gs_u64       units;       /* of a band */
    gs_u64       count;       /* of bands */
    gs_u64      *out;         /* adds the changed units: of two bands to each */
} gs_bands;

typedef struct gs_check_counts {
    double reference2;        /* sum of squares of the finite references */
    gs_u64 finite;            /* how many there are */
    double sums2;             /* with a gate: the same of the sums, two for each element; reference2 is of their products. With scales: of the sums before these */
    gs_u64 sums;
    double error2, signed_error, absolute_error;   /* over finite references; signed: away from zero is positive */
    gs_u64 worst;             /* largest error over its bound: the bits of a double >= 0 */
    gs_u64 first;             /* smallest row * n + column of a mismatch, all ones if none */
    gs_u64 row_low, row_high, col_low, col_high;   /* the least rectangle that holds every mismatch; row_low all ones if there is none */
    gs_u64 mismatches;
    gs_u64 unwritten;         /* of these: still the poison */
    gs_u64 nans;              /* of these: another NaN where a number should be */
    gs_u64 zeros;             /* of these: 0 where it should not be */
    gs_u64 truncated;         /* of these: the neighbour towards zero of the right value */
} gs_check_counts;

typedef struct gs_check {
    const void      *d;
    const double    *reference;      /* rows x cols, with a gate rows x 2 cols, packed: what the epilogue is applied to */
    gs_epilogue      epilogue;
    gs_placed        placed;         /* of d */
    gs_u64           rows, cols;     /* rows of the whole batch */
    int              type;           /* gs_type of d */
    int              exact;          /* 1: bit for bit after one rounding (zeros of either sign are equal) */
    int              once;           /* 1: the bound is that of the value before it was rounded; with exact of no effect */
    double           relative;       /* bound: relative * |R| + spread * rms(R) + absolute */
    double           spread;
    double           absolute;
    double           activation;     /* more: of what the activation gave; 0 where it is exact */
    unsigned int     poison;         /* 32-bit pattern */
    gs_check_counts *counts;
} gs_check;

/* The sums of D's columns beside it, behind the comparison of D, which was right. */
typedef struct gs_check_sums {
    gs_check         of;
    const void      *at;
    gs_u64           vectors;        /* of so many parts of the rows */
    long long        stride;         /* from one to the next */
    double           relative, absolute;   /* bound of the rounding of a sum */
    double           added;          /* and of adding, of the sum of magnitudes */
    double           element;        /* what an element may be wrong by before, of its sum; and */
    double           least;          /* at least */
} gs_check_sums;

enum { GS_TIMED_D, GS_TIMED_AUX, GS_TIMED_SUMS, GS_TIMED_OUTPUTS };

/* The operands of one call that was timed. Between begin and end lies nothing but an output, in poison. */
typedef struct gs_timed_set {
    gs_u64 a, b, c, d, bias, offsets, aux, scale_m, scale_n;   /* addresses; of 4 bytes */
    gs_u64 begin[GS_TIMED_OUTPUTS], end[GS_TIMED_OUTPUTS];
} gs_timed_set;

/* What a replay wrote, set by set. A warp looks at a row of an output, and so many at what lies around it: the guard bands alone are 64 KiB. */
#define GS_TIMED_AROUND 64
typedef struct gs_timed {
    const gs_timed_set *sets;
    gs_u64       count, samples, seed;   /* samples: elements of D that are computed anew */
    long long    m, n, k, batch, lda, ldb, stride_a, stride_b, stride_bias;
    gs_placed    placed_c, placed_d, placed_aux;
    gs_placed    looked_at;              /* the output whose elements are all looked at, */
    int          output;                 /* GS_TIMED_D or another */
    int          writes_aux;             /* samples of it are computed anew, too */
    int          dbias;                  /* how many vectors of sums of D's columns there are, of which samples are added up anew */
    int          in, out, layout;        /* gs_type, gs_type, gs_layout */
    double       alpha, beta;
    int          activation, along, residual, gate, groups;   /* as in gs_epilogue */
    long long    room;
    int          scales;                 /* gs_scales */
    int          k_groups;               /* 1: offsets along K, of a batch that shares A and B */
    double       least;
    double       relative, spread, absolute;   /* bound as in gs_check, with the root of the sum of squared products for rms; and what an activation adds */
    unsigned int poison;                 /* 32-bit pattern */
    gs_u64      *found;                  /* adds elements without a value and places beside that output that were written; and samples that are wrong */
} gs_timed;

#endif

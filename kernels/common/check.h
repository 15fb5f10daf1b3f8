/* SPDX-License-Identifier: MIT
 * What the host passes to the kernels of kernels/verify.cu, and what they count. Read by the host compiler and by NVRTC: plain C.
 * A unit is 16 bits, the size of the smallest element. */
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
    gs_u64       units;       /* of 16 bits; gs_verify_veil: of 64 bits */
    gs_u64       seed;        /* guard: of the pattern; poison: the 32-bit pattern itself */
    gs_u64      *count;       /* guard check: adds the number of changed units; gs_verify_words: adds the hash */
} gs_range;

/* An output whose elements are changed a little. */
typedef struct gs_changed {
    void        *at;
    gs_placed    placed;      /* in elements */
    int          type;        /* of an element */
    int          bits;        /* of these lowest bits one is flipped */
} gs_changed;

/* An operand, placed in units. */
typedef struct gs_rows {
    const void  *at;
    gs_placed    placed;
    gs_u64       pattern;     /* padding: the 32-bit pattern that must still be there */
    gs_u64      *out;         /* hash: adds the hash; padding: adds the number of changed units */
} gs_rows;

#define GS_BANDS 18   /* one before and one after each operand */

/* Guard bands of the same size. */
typedef struct gs_bands {
    const void  *at[GS_BANDS];
    unsigned int pattern[GS_BANDS];   /* 32-bit pattern that must still be there */
    gs_u64       units;       /* in a band */
    gs_u64       count;       /* number of bands */
    gs_u64      *out;         /* out[i]: adds the number of changed units of bands 2 i and 2 i + 1 */
} gs_bands;

typedef struct gs_check_counts {
    double reference2;        /* sum of squares of the finite references */
    gs_u64 finite;            /* number of finite references */
    double sums2;             /* sum of squares of the finite sums; with a gate: before the gate, two for each element; with scales: before the scales; else not used */
    gs_u64 sums;              /* number of those */
    double error2, signed_error, absolute_error;   /* over finite elements; signed: positive away from zero */
    gs_u64 worst;             /* largest error over its bound: the bits of a double >= 0 */
    gs_u64 first;             /* smallest row * n + column of a mismatch, all ones if none */
    gs_u64 row_low, row_high, col_low, col_high;   /* bounding box of the mismatches; row_low is all ones if there are none */
    gs_u64 mismatches;
    gs_u64 unwritten;         /* mismatches that still hold the poison */
    gs_u64 nans;              /* mismatches that are another NaN instead of a number */
    gs_u64 zeros;             /* mismatches that are 0 */
    gs_u64 truncated;         /* mismatches that are the right value's neighbour towards zero */
} gs_check_counts;

typedef struct gs_check {
    const void      *d;
    const double    *reference;      /* before the epilogue; rows x cols, with a gate rows x 2 cols, packed */
    gs_epilogue      epilogue;
    gs_placed        placed;         /* of d */
    gs_u64           rows, cols;     /* rows of the whole batch */
    int              type;           /* gs_type of d */
    int              exact;          /* 1: bit for bit after one rounding (zeros of either sign are equal) */
    int              once;           /* 1: the bound applies to the value before it is rounded to the type; ignored if `exact` */
    double           relative;       /* bound: relative * |R| + spread * (rms(R) + what a bias or C cancelled) + absolute */
    double           spread;
    double           least_rms;      /* taken for rms(R) where that is smaller */
    double           absolute;
    double           activation;     /* added to the bound: error of the activation relative to its result; 0 if it is exact */
    unsigned int     poison;         /* 32-bit pattern */
    gs_uneven        uneven;         /* of A and B: `spread` is of lines of the usual size */
    gs_check_counts *counts;
} gs_check;

/* The sums of D's columns (the gradient of a bias), checked after D, which was right. */
typedef struct gs_check_sums {
    gs_check         of;             /* of D */
    const void      *at;             /* the sums */
    gs_u64           vectors;        /* number of vectors of sums, one for each group or equal part of the rows */
    long long        stride;         /* elements from a vector to the next */
    double           relative, absolute;   /* bound on the rounding of a sum to the type */
    double           added;          /* error of the additions, relative to the partial sums */
    double           element;        /* error of each element that is added, relative to its value before the epilogue, */
    double           least;          /* plus this */
} gs_check_sums;

enum { GS_TIMED_D, GS_TIMED_AUX, GS_TIMED_SUMS, GS_TIMED_OUTPUTS };

/* The operands of one timed call. From begin to end of an output there is nothing else, and all of it was poisoned before the call. */
typedef struct gs_timed_set {
    gs_u64 a, b, c, d, bias, offsets, aux, scale_m, scale_n;   /* addresses, multiples of 4 */
    gs_u64 begin[GS_TIMED_OUTPUTS], end[GS_TIMED_OUTPUTS];
} gs_timed_set;

/* A check of what a replay wrote, for each set of operands. A warp checks a row of an output; GS_TIMED_AROUND warps check the memory around it: the guard bands alone are 64 KiB. */
#define GS_TIMED_AROUND 64
typedef struct gs_timed {
    const gs_timed_set *sets;
    gs_u64       count, samples, seed;   /* count: of sets; samples: elements of D that are computed again */
    long long    m, n, k, batch, lda, ldb, stride_a, stride_b, stride_bias;
    gs_placed    placed_c, placed_d, placed_aux;
    gs_placed    looked_at;              /* of the output whose elements are all checked for poison */
    int          output;                 /* which one: GS_TIMED_D ... */
    int          writes_aux;             /* 1: samples of aux are computed again, too */
    int          dbias;                  /* number of vectors of sums of D's columns; samples of them are added up again */
    int          in, out, layout;        /* gs_type, gs_type, gs_layout */
    double       alpha, beta;
    int          activation, along, residual, gate, groups;   /* as in gs_epilogue */
    long long    room;
    int          scales;                 /* gs_scales */
    int          k_groups;               /* 1: offsets along K, of a batch that shares A and B */
    double       least;
    double       relative, spread, absolute;   /* bound as in gs_check, with the root of the sum of squared products for rms; the activation's error is added */
    unsigned int poison;                 /* 32-bit pattern */
    gs_u64      *found;                  /* found[0]: adds elements that hold poison and places around the output that do not; found[1]: adds wrong samples */
} gs_timed;

#endif

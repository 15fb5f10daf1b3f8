/* SPDX-License-Identifier: MIT
 * What the host passes to the kernels of kernels/race.cu. Read by the host compiler and by NVRTC: plain C. */
#ifndef GS_KERNELS_RACE_H
#define GS_KERNELS_RACE_H

#include "common/epilogue.h"

typedef struct gs_race_fill {
    void  *to;
    gs_u64 elements;
    gs_u64 seed;
    int    type;               /* gs_type */
} gs_race_fill;

/* A result to check. Elements of D, the corners and random others, are compared with sums that are computed again. */
typedef struct gs_race_check {
    const void  *a, *b, *c, *d, *bias, *aux;
    const float *scale_m, *scale_n;   /* NULL: none */
    long long    lda, ldb, ldc, ldd, ldaux;
    long long    stride_a, stride_b, stride_c, stride_d, stride_bias, stride_aux;   /* 0: all matrices of the batch share one */
    long long    m, n, k, batch;
    int          in, out, layout;   /* gs_type, gs_type, gs_layout */
    int          samples;
    float        alpha, beta;
    int          activation, along, residual, gate;   /* as in gs_epilogue */
    int          writes_aux, dbias;   /* dbias: number of vectors of sums of D's columns */
    double       relative, spread;   /* allowed error: relative * |right| + spread * root of the sum of squared products */
    const int   *offsets;
    int          groups;
    long long    room;               /* as in gs_epilogue */
    int          k_groups;           /* 1: offsets along K, of a batch that shares A and B */
    gs_u64       seed;
    gs_u64      *wrong;        /* adds the samples that are wrong and the elements that are NaN */
} gs_race_check;

#endif

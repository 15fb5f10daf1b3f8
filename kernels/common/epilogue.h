/* SPDX-License-Identifier: MIT
 * The epilogue in f64, for what judges results: verify.cu and race.cu. Read by the host compiler and by NVRTC: plain C. Kernels have epilogue.cuh. */
#ifndef GS_KERNELS_EPILOGUE_H
#define GS_KERNELS_EPILOGUE_H

#include "common/datagen.h"
#include "common/groups.h"

/* What follows alpha A B + beta C, or with a residual alpha A B. */
typedef struct gs_epilogue {
    const void *c, *bias;              /* c: read with a residual only */
    long long   ldc, m;                /* m: rows of a matrix of the batch */
    int         activation, along;     /* gs_activation, gs_bias */
    int         residual;
    double      beta;
    double      least;                 /* smaller numbers overflow where they are summed up */
    const int  *offsets;               /* of groups, each of which has a bias of n elements of its own along N */
    int         groups, n;             /* groups: 0: none */
} gs_epilogue;

/* Where the bias of an element is. row: of the whole batch. */
GS_SHARED gs_u64 gs_bias_place(const gs_epilogue *e, gs_u64 row, gs_u64 col)
{
    if (e->along != 1) return row % (gs_u64)e->m;
    return e->groups ? (gs_u64)gs_group_of(e->offsets, e->groups, (long long)row) * (gs_u64)e->n + col : col;
}

/* The accumulator cannot tell it from minus infinity, of which 0 and NaN are right with a smooth activation. */
GS_SHARED bool gs_is_open(int activation, double x, double least) { return activation >= 2 && x < least; }

/* gs_activation of problem.h */
GS_SHARED double gs_activate(int activation, double x)
{
    if (activation >= 2 && x < -1e150) x = -1e150;   /* as its limit; a NaN stays */
    switch (activation) {
    case 1:  return x < 0 ? 0 : x;
    case 2:  return x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    case 3:  return 0.5 * x * erfc(-0.70710678118654752 * x);
    case 4:  return x / (1 + exp(-x));
    default: return x;
    }
}

/* How wrong an activation in f32 may be, relative to its value: exp in f32 of arguments up to 100. */
GS_SHARED double gs_activation_error(int activation) { return activation >= 2 ? 0x1p-15 : 0; }

#endif

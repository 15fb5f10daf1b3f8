/* SPDX-License-Identifier: MIT
 * The epilogue in f64, for what judges results: verify.cu and race.cu. Read by the host compiler and by NVRTC: plain C. Kernels have epilogue.cuh. */
#ifndef GS_KERNELS_EPILOGUE_H
#define GS_KERNELS_EPILOGUE_H

#include "common/datagen.h"

/* What follows alpha A B + beta C, or with a residual alpha A B. */
typedef struct gs_epilogue {
    const void *c, *bias;              /* c: read with a residual only */
    gs_placed   placed_c;
    long long   m, stride_bias;        /* m: rows of a matrix of the batch */
    int         activation, along;     /* gs_activation, gs_bias */
    int         residual;
    double      beta;
    double      least;                 /* smaller numbers overflow where they are summed up */
} gs_epilogue;

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

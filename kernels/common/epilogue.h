/* SPDX-License-Identifier: MIT
 * The epilogue in f64, for the checks of results in verify.cu and race.cu. Read by the host compiler and by NVRTC: plain C. Kernels that compute D use epilogue.cuh. */
#ifndef GS_KERNELS_EPILOGUE_H
#define GS_KERNELS_EPILOGUE_H

#include "common/datagen.h"
#include "common/groups.h"

/* What is applied to alpha A B + beta C or, with a residual, to alpha A B. */
typedef struct gs_epilogue {
    const void *c, *bias;              /* c: read with a residual only */
    gs_placed   placed_c;
    long long   m, stride_bias;        /* m: rows of a matrix of the batch */
    int         activation, along;     /* gs_activation, gs_bias */
    int         residual;
    int         gate;                  /* gs_gate; plus GS_GATE_EXCHANGED when verification diagnoses a wrong result */
    long long   n;                     /* columns of D */
    double      beta;
    double      least;                 /* smallest sum (< 0) that does not overflow the accumulator; the largest is -least */
    const void *aux;                   /* read with the gradient of an activation */
    gs_placed   placed_aux;
    const int  *offsets;               /* of groups; each has its own bias along N, n elements, with a gate 2n */
    int         groups;                /* 0: none */
    long long   room;                  /* rows reserved for each masked group; 0: groups are consecutive rows */
    const float *scale_m, *scale_n;    /* NULL: none */
    int         joins;                 /* 1: the epilogue gets alpha A B and adds beta C after the scales */
} gs_epilogue;

/* Index of an element's bias. row: of the whole batch; col: with a gate, of B. */
GS_SHARED gs_u64 gs_bias_place(const gs_epilogue *e, gs_u64 row, gs_u64 col)
{
    const gs_u64 in_matrix = e->along == 1 ? col : row % (gs_u64)e->m;
    if (e->groups) return (e->along == 1 ? (gs_u64)gs_group_in(e->offsets, e->groups, e->room, (long long)row) * (gs_u64)(e->gate ? 2 * e->n : e->n) : 0) + in_matrix;
    return (e->stride_bias ? row / (gs_u64)e->m * (gs_u64)e->stride_bias : 0) + in_matrix;
}

/* The scales of an element of alpha A B, and how they change errors. */
typedef struct gs_scaling {
    double value;              /* product of the scales */
    double size;               /* its magnitude, 1 if that is not finite: an error of the sum is multiplied by it */
    bool   lost;               /* the result depends on the sum's error, or on an overflow of the accumulator: any result is right */
} gs_scaling;

/* error: of the sum. A factor below 1 brings a sum back into range in f64, but not if the accumulator has overflowed. An infinite factor gives NaN if the sum is 0, else an
 * infinity with the sum's sign. row: of the whole batch; col: with a gate, of B. */
GS_SHARED gs_scaling gs_scaling_of(const gs_epilogue *e, double sum, double error, gs_u64 row, gs_u64 col)
{
    gs_scaling s = {1, 1, false};
    const double huge = (double)gs_infinity();
    if (!e->scale_m && !e->scale_n) return s;
    if (e->scale_m) s.value *= e->scale_m[row % (gs_u64)e->m];
    if (e->scale_n) s.value *= e->scale_n[(e->groups ? (gs_u64)gs_group_in(e->offsets, e->groups, e->room, (long long)row) * (gs_u64)(e->gate ? 2 * e->n : e->n) : 0) + col];
    const double size = fabs(s.value), magnitude = fabs(sum);
    if (size < huge) s.size = size;
    if (!(magnitude < huge)) return s;
    if (size == huge) s.lost = sum != 0 && (magnitude <= error || magnitude < 0x1p-14);
    if (size < 1) s.lost = magnitude > -e->least;
    return s;
}

/* Which gs_activation (problem.h) are gradients, and which contain an exponential. */
GS_SHARED bool gs_reads_aux(int activation) { return activation >= 5; }
GS_SHARED bool gs_is_smooth(int activation) { return activation >= 2 && activation != 5; }

/* x overflows the accumulator to minus infinity, for which a smooth activation may give 0 or NaN. */
GS_SHARED bool gs_is_open(int activation, double x, double least) { return gs_is_smooth(activation) && !gs_reads_aux(activation) && x < least; }

#define GS_GATE_EXCHANGED 4            /* gate and up have exchanged their columns */

/* The column of B that gives the gate or, if `up`, the up value of a column of D. */
GS_SHARED long long gs_gate_column(int gate, long long n, long long col, bool up)
{
    const bool second = up != ((gate & GS_GATE_EXCHANGED) != 0);
    return (gate & 3) == 1 ? col + (second ? n : 0) : 2 * col + second;
}

/* gs_activation of problem.h */
GS_SHARED double gs_activate(int activation, double x)
{
    if (activation >= 2 && x < -1e150) x = -1e150;   /* the limit: an infinite x would give NaN. NaN stays NaN */
    switch (activation) {
    case 1:  return x < 0 ? 0 : x;
    case 2:  return x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    case 3:  return 0.5 * x * erfc(-0.70710678118654752 * x);
    case 4:  return x / (1 + exp(-x));
    default: return x;
    }
}

/* The derivative of an activation, and the sum of the magnitudes of its two terms: its error in f32 is relative to that. */
typedef struct gs_slope {
    double value, size;
} gs_slope;

GS_SHARED gs_slope gs_slope_of(int activation, double z)
{
    const double most = activation == 6 ? 12 : activation == 7 ? 16 : 120;   /* beyond it the derivative is 0 or 1 in f32 */
    gs_slope slope = {z <= 0 ? 0.0 : 1.0, 0};
    if (activation == 5) return slope;
    z = z > most ? most : z < -most ? -most : z;   /* a NaN stays */
    const double inner = activation == 6 ? 1.5957691216057308 * (z + 0.044715 * z * z * z) : z, steep = activation == 6 ? 1.5957691216057308 * (1 + 0.134145 * z * z) : 1;
    const double e = exp(-fabs(inner)), high = activation == 7 ? 0.5 * erfc(-0.70710678118654752 * z) : inner > 0 ? 1 / (1 + e) : e / (1 + e);
    const double more = z * (activation == 7 ? 0.39894228040143268 * exp(-0.5 * z * z) : steep * e / ((1 + e) * (1 + e)));
    slope.value = high + more;
    slope.size = high + fabs(more);
    return slope;
}

/* x times the derivative; slack: its error beyond a rounding. */
typedef struct gs_sloped_value {
    double value, slack;
    bool   lost;               /* x overflows the accumulator, or is infinite where the derivative is 0 in f32: any result is right */
} gs_sloped_value;

GS_SHARED gs_sloped_value gs_slope_result(int activation, double x, double z, double relative, double least)
{
    const gs_slope slope = gs_slope_of(activation, z);
    gs_sloped_value of = {activation == 5 ? (z <= 0 ? 0 : x) : x * slope.value, 0, false};
    if (activation == 5) return of;
    of.slack = fabs(x) * (relative * slope.size + 0x1p-110);
    const bool finite = fabs(x) < (double)gs_infinity();
    of.lost = x == x && z == z && (finite ? fabs(x) > -least : fabs(slope.value) < 0x1p-100);
    return of;
}

/* The error of an activation in f32, relative to its value: exp in f32 of arguments up to 100; a gate adds two roundings. */
GS_SHARED double gs_activation_error(int activation, int gate) { return gs_is_smooth(activation) ? 0x1p-15 : gate ? 0x1p-22 : 0; }

/* The result of a gate; slack: its error beyond a rounding. */
typedef struct gs_gated {
    double value, slack;
    bool   open;               /* NaN is right as well */
    bool   lost;               /* one of the sums overflows the accumulator, or the sign of an infinity is uncertain: any result is right */
} gs_gated;

/* x, y: the sums of gate and up with their biases. error_x, error_y: their errors, the first one times the activation's derivative. relative: error of the activation. */
GS_SHARED gs_gated gs_gate_result(int activation, double x, double y, double error_x, double error_y, double relative, double least)
{
    const double huge = (double)gs_infinity(), active = gs_activate(activation, x);
    const bool finite_x = fabs(x) < huge, finite_y = fabs(y) < huge;
    gs_gated of = {active * y, 0, gs_is_open(activation, x, least), (finite_x && fabs(x) > -least) || (finite_y && fabs(y) > -least)};
    if (activation >= 2 && fabs(active) < 0x1p-110 && active != 0 && !finite_y) of.open = true;   /* it is 0 in f32 */
    if ((!finite_y && y == y && fabs(x) <= error_x) || (!finite_x && x == x && fabs(y) <= error_y)) of.lost = true;   /* an infinity of uncertain sign */
    if (!finite_x) error_x = 0;
    if (finite_y) of.slack = relative * fabs(active * y) + 0x1p-119 * fabs(y) + error_x * (fabs(y) + error_y) + fabs(active) * error_y;
    return of;
}

#endif

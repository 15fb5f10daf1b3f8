/* SPDX-License-Identifier: MIT
 * The error model of part 4: how large errors may be. Pure arithmetic, no device. */
#ifndef GS_CHECKS_BOUNDS_H
#define GS_CHECKS_BOUNDS_H

#include "checks/checks.h"
#include "common/check.h"

/* Bound of one element: relative * |R| + spread * rms(R) + absolute. */
typedef struct gs_bound {
    double relative, spread, absolute;
    double least_rms;    /* taken for rms(R) where that is smaller */
    double activation;   /* relative to the activation's result */
    double rounding, least;   /* the shares of relative and absolute that are for the last rounding */
} gs_bound;
/* If alpha times a sum is below this, the sum may have been minus infinity in the accumulator. */
double gs_least_sum(const gs_problem *problem);

/* Bound of the sums of D's columns; the rest of the struct is 0. For tolerances from GS_TOLERANCE_ROUNDED on, here and below, products may be rounded to D's type before they are
 * added up or anything is added to them. */
gs_check_sums gs_sums_bound(const gs_problem *problem, double tolerance);

gs_bound gs_bound_make(const gs_problem *problem, double tolerance);

/* The tolerance for integers, whose sums are exact: 0, bit for bit. With scalars of many bits it is below 1 (f16 sums: 1) and allows only the error of scaling in f32 before the
 * last rounding, however long the sum. */
double gs_exact_tolerance(const gs_problem *problem);

/* Largest Frobenius error and bias accepted on normal data. rms: root mean square of the reference's finite elements; elements: their number; yardstick NULL: from the error
 * model of the accumulator. */
double gs_frobenius_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements);
double gs_bias_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements);

#endif

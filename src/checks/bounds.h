/* SPDX-License-Identifier: MIT
 * The error model of part 4: what results may be wrong by. Pure arithmetic, no device. */
#ifndef GS_CHECKS_BOUNDS_H
#define GS_CHECKS_BOUNDS_H

#include "checks/checks.h"
#include "common/check.h"

/* Bound of one element: relative * |R| + spread * rms(R) + absolute. */
typedef struct gs_bound {
    double relative, spread, absolute;
    double activation;   /* relative, of what an activation gave */
    double rounding, least;   /* of relative and absolute, what the last rounding may take */
} gs_bound;
/* alpha times sums below this one may have been minus infinity before. */
double gs_least_sum(const gs_problem *problem);

/* What the sums of D's columns may be wrong by; the rest of the struct is 0. From GS_TOLERANCE_ROUNDED on, here and below, products may be rounded to D's type before they are added up or
 * anything is added to them. */
gs_check_sums gs_sums_bound(const gs_problem *problem, double tolerance);

gs_bound gs_bound_make(const gs_problem *problem, double tolerance);

/* The tolerance for integers, whose sums are exact: 0, bit for bit; with scalars of many bits one below 1, so that what scaling may be wrong by in f32, however long the sum, is all
 * that is allowed before the last rounding. */
double gs_exact_tolerance(const gs_problem *problem);

/* Largest Frobenius error and bias to be accepted on normal data, of so many finite elements, whose references have that root mean square; yardstick NULL: what the declared
 * accumulator may make. */
double gs_frobenius_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements);
double gs_bias_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements);

#endif

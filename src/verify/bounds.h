/* SPDX-License-Identifier: MIT
 * The error model of part 4: what results may be wrong by. Pure arithmetic, no device. */
#ifndef GS_VERIFY_BOUNDS_H
#define GS_VERIFY_BOUNDS_H

#include "common/check.h"
#include "verify/verify.h"

/* Bound of one element: relative * |R| + spread * rms(R) + absolute. */
typedef struct gs_bound {
    double relative, spread, absolute;
    double activation;   /* relative, of what an activation gave */
} gs_bound;
/* alpha times sums below this one may have been minus infinity before. */
double gs_least_sum(const gs_problem *problem);

/* What the sums of D's columns may be wrong by; the rest of the struct is 0. */
gs_check_sums gs_sums_bound(const gs_problem *problem, double tolerance);

gs_bound gs_bound_make(const gs_problem *problem, double tolerance);

/* Largest Frobenius error and bias to be accepted on normal data, of so many finite elements, whose references have that root mean square; yardstick NULL: what the declared
 * accumulator may make. */
double gs_frobenius_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements);
double gs_bias_limit(const gs_problem *problem, const gs_compare *yardstick, double rms, double elements);

#endif

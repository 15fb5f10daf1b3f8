/* SPDX-License-Identifier: MIT
 * Which test data a problem gets: plans that keep every sum exact in the declared accumulator, and the bounds of part 4.
 * Pure arithmetic, no device. */
#ifndef GS_VERIFY_DATA_H
#define GS_VERIFY_DATA_H

#include <stdbool.h>

#include "common/check.h"
#include "common/datagen.h"
#include "verify/verify.h"

/* The problem with alpha 1 and beta 1 (or 0, if it is 0) unless its own scalars are multiples of 1/4 up to 4, with which integer
 * data stay exact. Parts 1 to 3 use this problem, part 4 the one asked for. */
gs_problem gs_problem_exact(const gs_problem *problem);
bool       gs_scalars_exact(const gs_problem *problem);   /* they are such multiples */

/* The plan of an integer kind (GS_VALUES_*). False: no such data are exact for this problem (f16 accumulation over a very long K).
 * RANGE: also where alpha or K is 0. NORMAL, SPECIAL, ZERO and NAN need no plan: true, all zero. */
bool gs_data_plan_make(const gs_problem *problem, int kind, gs_data_plan *plan);

/* Bounds that a plan was chosen by: on the sum of the magnitudes of all products of one output, and (but for one chance in 1e9)
 * on the size of the sum. Without heavy integers the second also holds for every partial sum in an order that does not depend
 * on the data. */
double gs_data_largest(const gs_problem *problem, int kind, const gs_data_plan *plan);
double gs_data_likely(const gs_problem *problem, int kind, const gs_data_plan *plan);

/* What gs_value and the device's generator take. operand 'a', 'b', 'c'. */
/* Where an operand's matrices lie. */
gs_placed gs_placed_of(const gs_problem *problem, char operand);

/* UNSUPPORTED: matrices of an operand overlap, so that none can hold what it should. */
gs_status gs_placed_check(const gs_problem *problem, gs_error *error);

gs_datagen gs_datagen_make(const gs_problem *problem, char operand, int kind, uint64_t seed);

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

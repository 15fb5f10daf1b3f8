/* SPDX-License-Identifier: MIT
 * Which test data a problem gets: plans that keep every sum exact in the declared accumulator. Pure arithmetic, no device. */
#ifndef GS_OPERANDS_DATA_H
#define GS_OPERANDS_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "common/datagen.h"

/* The problem with alpha 1 and beta 1 (or 0, if it is 0) unless its own scalars are multiples of 1/4 up to 4, with which integer
 * data stay exact. Parts 1 to 3 use this problem, part 4 the one asked for. */
gs_problem gs_problem_exact(const gs_problem *problem);
bool       gs_scalars_exact(const gs_problem *problem);   /* they are such multiples */

/* Of a problem with scales whose alpha is above 2^20, or below 2^-20: its exponent, by which scales are smaller than otherwise, so that results have the usual size. 0 else. */
int        gs_scale_shift(const gs_problem *problem);

/* By how many powers of two the products of CANCEL may be larger (or smaller, below 0), by the bits; an alpha that is so the other way leaves results as they are. 0: none, beside scales, which have an
 * alpha of their own, and of sums in f16. gs_datagen_move: A's or B's share of it. */
int        gs_data_far(const gs_problem *problem, bool large, uint64_t bits);
void       gs_datagen_move(gs_datagen *g, int far);

/* Beside an alpha that stays, results may be so large or small as well: D holds them, and nothing is added to them that they would swallow. */
bool       gs_data_lifts(const gs_problem *problem);

/* A number of f32 from 1/2 to 2, of either sign, half way between two of 16 bits, of either kind: neither rounding nor truncation keeps it. */
float      gs_scalar_of_many_bits(uint64_t bits);

/* The plan of an integer kind (GS_VALUES_*). False: no such data are exact for this problem (f16 accumulation over a very long K).
 * RANGE: also where alpha or K is 0. NORMAL, SPECIAL, ZERO and NAN need no plan: true, all zero. */
bool gs_data_plan_make(const gs_problem *problem, int kind, gs_data_plan *plan);

/* Bounds that a plan was chosen by: on the sum of the magnitudes of all products of one output, and (but for one chance in 1e9)
 * on the size of the sum. Without heavy integers the second also holds for every partial sum in an order that does not depend
 * on the data. */
double gs_data_largest(const gs_problem *problem, int kind, const gs_data_plan *plan);
double gs_data_likely(const gs_problem *problem, int kind, const gs_data_plan *plan);

/* Where an operand's matrices lie. */
gs_placed gs_placed_of(const gs_problem *problem, char operand);

/* UNSUPPORTED: matrices of an operand overlap, so that none can hold what it should. */
gs_status gs_placed_check(const gs_problem *problem, gs_error *error);

/* What gs_value and the device's generator take. operand 'a', 'b', 'c'. */
gs_datagen gs_datagen_make(const gs_problem *problem, char operand, int kind, uint64_t seed);

#endif

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
bool       gs_scalars_exact(const gs_problem *problem);   /* its scalars are such multiples */

/* For a problem with scales and an alpha above 2^20 or below 2^-20: alpha's exponent, by which scales are made smaller, so that results have the usual size. Else 0. */
int        gs_scale_shift(const gs_problem *problem);

/* The exponent of a random power of two by which the products of CANCEL may be made larger (large) or smaller (< 0); with the inverse alpha results stay as they are. 0: not with
 * scales, which have such an alpha already. gs_datagen_move: multiplies the data of A or B by its share of it. */
int        gs_data_far(const gs_problem *problem, bool large, uint64_t bits);
void       gs_datagen_move(gs_datagen *g, int far);

/* Whether results may be made as large or small too, with alpha unchanged: D holds them, and nothing is added to them that they would swallow. */
bool       gs_data_lifts(const gs_problem *problem);

/* A random f32 of either sign, from 1/2 to 2, near the middle between two neighbours of f16 and of bf16: neither rounding nor truncation to 16 bits keeps it. */
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

/* The parameters of gs_value and of the device's generator. operand: a letter of GS_OPERAND_LETTERS but 'f'. */
gs_datagen gs_datagen_make(const gs_problem *problem, char operand, int kind, uint64_t seed);

#endif

/* SPDX-License-Identifier: MIT
 * For part 8 where D has 16 bits: normal data in which the last bits of a few elements are changed so that some results are near ties. They lie so close to the middle between
 * two numbers of D's type that the order of additions decides how they are rounded. A kernel can recognise such data only by computing the sum. */
#ifndef GS_VERIFY_TIES_H
#define GS_VERIFY_TIES_H

#include "verify/check_run.h"

#define GS_TIE_STEPS 10   /* elements that change in a line */

typedef struct gs_tie {
    int64_t  matrix, line;   /* line: a row of the pool (A), or a column of B */
    int64_t  k[GS_TIE_STEPS];
    uint16_t element[GS_TIE_STEPS];
} gs_tie;

typedef struct gs_ties {
    int     operand;         /* 0: elements of A change, one tie per row; 1: of B, one per column */
    int     count;
    gs_tie *tie;             /* caller frees it */
} gs_ties;

/* The most ties of a problem. 0: none are made, because D is f32 or has so many elements that it shows any other order anyway, sums are f16, there are groups, alpha is 0 or K is
 * short. */
int64_t gs_ties_most(const gs_problem *problem);

/* Finds ties for the data in place, whose rows must stand in the pool's order. matrices: only the first ones are used. */
gs_status gs_ties_find(gs_check_run *trial, int64_t matrices, gs_ties *out, gs_error *error);

/* Writes the changed elements, wherever the pool's rows stand now. */
gs_status gs_ties_put(gs_check_run *trial, const gs_ties *ties, const gs_pool_rows *rows, gs_error *error);

#endif

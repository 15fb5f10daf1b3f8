/* SPDX-License-Identifier: MIT
 * For part 8, where D has 16 bits: data as in timing, but for a few last bits, of which some results lie so near the middle between two numbers of D's type that the order of
 * additions decides to which of them they are rounded. Nothing tells such data from others, but for the sum itself: who computes that knows whether its order matters. */
#ifndef GS_VERIFY_TIES_H
#define GS_VERIFY_TIES_H

#include "verify/check_run.h"

#define GS_TIE_STEPS 10   /* elements of a line that change */

typedef struct gs_tie {
    int64_t  matrix, line;   /* row of A, of the pool, or column of B */
    int64_t  k[GS_TIE_STEPS];
    uint16_t element[GS_TIE_STEPS];
} gs_tie;

typedef struct gs_ties {
    int     operand;         /* 0: of rows of A, one each; 1: of columns of B */
    int     count;
    gs_tie *tie;             /* the caller's: free() */
} gs_ties;

/* Elements of D that can be such, at most, with all of the data; 0: D shows every order, or sums are rounded to what it has, or rows are those of groups. */
int64_t gs_ties_most(const gs_problem *problem);

/* Finds them for the data that are in place, rows as they are. matrices: no others than the first ones. */
gs_status gs_ties_find(gs_check_run *trial, int64_t matrices, gs_ties *out, gs_error *error);

/* Puts them there, wherever the rows stand. */
gs_status gs_ties_put(gs_check_run *trial, const gs_ties *ties, const gs_pool_rows *rows, gs_error *error);

#endif

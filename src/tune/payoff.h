/* SPDX-License-Identifier: MIT
 * What further search of a problem is worth to a program that asks for it so often. Arithmetic alone; by_worth.c spends the time. */
#ifndef GS_TUNE_PAYOFF_H
#define GS_TUNE_PAYOFF_H

#include "learn/weights.h"
#include "schedule/caps.h"

enum { GS_PAYOFF_SLICES = 4 };   /* a problem's search in so many parts, each with twice the candidates of the one before, those included */

typedef struct gs_payoff {
    double calls;
    double floor_us;
    double expected_library_us, expected_us;   /* before anything is known: cuBLASLt's, and the best of ours */
    int    slices;                             /* done */
    double own_us, us;                         /* the best of ours, and what a program gets now, which may be cuBLASLt's */
    double gained_us;                          /* by the last slice: of own_us */
    double last_s;                             /* it took; 0: not in this run */
} gs_payoff;

/* What is expected of a problem: by the weights, of cuBLASLt too where they know it; without them by the time model. weights NULL: there are none. */
gs_payoff gs_payoff_expect(const gs_problem *problem, double calls, const gs_caps *caps, const gs_weights *weights);

/* Candidates of slice 0, 1, ... of `most` in all; the last has all of them. */
int gs_payoff_candidates(int most, int slice);

/* The slices that so many candidates were in. */
int gs_payoff_slices(int most, int tried);

/* What came of a slice. */
void gs_payoff_update(gs_payoff *p, double own_us, double us, double seconds);

/* Microseconds of each call that the next slice is expected to save: of the first, what our best is expected to be faster than cuBLASLt; of further ones half of what the last one gained,
 * at least a share that halves with each slice, at most what is left to the floor; and less where cuBLASLt is still ahead. */
double gs_payoff_gain(const gs_payoff *p);

/* Seconds of the program that a second of search is expected to save. usual_s: of a first slice. */
double gs_payoff_seconds(const gs_payoff *p, double usual_s);
double gs_payoff_rate(const gs_payoff *p, double usual_s);

#endif

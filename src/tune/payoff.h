/* SPDX-License-Identifier: MIT
 * The value of further search of a problem for a program with a given number of calls. Only arithmetic; by_worth.c spends the time. */
#ifndef GS_TUNE_PAYOFF_H
#define GS_TUNE_PAYOFF_H

#include "learn/weights.h"
#include "schedule/caps.h"

enum { GS_PAYOFF_SLICES = 4 };   /* slices of a problem's search; each has twice as many candidates as the one before, including those */

typedef struct gs_payoff {
    double calls;
    double floor_us;
    double expected_library_us, expected_us;   /* predictions before the first slice: of cuBLASLt's time, and of our best */
    int    slices;                             /* number done */
    double own_us, us;                         /* our best time, and what a program gets now (ours or cuBLASLt's) */
    double gained_us;                          /* by how much the last slice lowered own_us */
    double last_s;                             /* duration of the last slice; 0: not in this run */
} gs_payoff;

/* Predictions for a problem: by the weights (also for cuBLASLt, if they predict it), or by the time model if weights is NULL. */
gs_payoff gs_payoff_expect(const gs_problem *problem, double calls, const gs_caps *caps, const gs_weights *weights);

/* Number of candidates up to and including slice 0, 1, ...; `most` for the last one. */
int gs_payoff_candidates(int most, int slice);

/* Number of slices that are complete after `tried` candidates. */
int gs_payoff_slices(int most, int tried);

/* Enters the result of a slice. */
void gs_payoff_update(gs_payoff *p, double own_us, double us, double seconds);

/* Microseconds per call that the next slice is expected to save. First slice: the predicted lead of our best over cuBLASLt. Later ones: half of the last gain, but at least a share
 * of own_us that halves with each slice, and at most the distance to the floor; less if cuBLASLt is still faster. */
double gs_payoff_gain(const gs_payoff *p);

/* gs_payoff_seconds: expected duration of the next slice (usual_s: of a first one); gs_payoff_rate: expected seconds saved for the program per second of search. */
double gs_payoff_seconds(const gs_payoff *p, double usual_s);
double gs_payoff_rate(const gs_payoff *p, double usual_s);

#endif

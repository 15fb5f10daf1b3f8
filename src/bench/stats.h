/* SPDX-License-Identifier: MIT
 * Statistics of paired timings: medians of per-round ratios with bootstrap intervals, percentiles, geometric means. */
#ifndef GS_BENCH_STATS_H
#define GS_BENCH_STATS_H

#include <stdint.h>

typedef enum gs_comparison { GS_SAME, GS_FASTER, GS_SLOWER, GS_UNCLEAR } gs_comparison;

typedef struct gs_ratio {
    double        median, low, high;   /* 95 % bootstrap interval of the median */
    gs_comparison verdict;             /* FASTER or SLOWER: the whole interval lies beyond 1 % of 1; SAME: the median within 1 % or
                                          the interval within 1 %; UNCLEAR: the median beyond 1 %, the interval not */
} gs_ratio;

#define GS_DEAD_ZONE 0.01

double gs_median(double *values, int count);                      /* reorders values; NaN for count 0 */
double gs_percentile(double *values, int count, double percent);  /* reorders values; linear interpolation */
double gs_geomean(const double *values, int count);               /* of positive values; NaN for count 0 */

typedef struct gs_spread {
    double mean, deviation;   /* the standard deviation of a sample */
} gs_spread;
gs_spread gs_spread_of(const double *values, int count);          /* deviation 0 for count 1, both for count 0 */

/* Ratio of paired times, reference[i] / candidate[i]: over 1, the candidate is faster. Deterministic for a seed. count >= 1. */
gs_ratio gs_ratio_paired(const double *reference, const double *candidate, int count, uint64_t seed);

const char *gs_comparison_name(gs_comparison comparison);         /* "same", "faster", "slower", "unclear" */

#endif

/* SPDX-License-Identifier: MIT
 * Medians, percentiles, geometric means, and the percentile bootstrap of a median. */
#include "bench/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define RESAMPLES 1000

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between the two nearest ranks; 0 to 100. */
static double sorted_percentile(const double *values, int count, double percent)
{
    const double position = percent / 100 * (count - 1);
    const int below = position < 0 ? 0 : position > count - 1 ? count - 1 : (int)position;
    const int above = below + 1 < count ? below + 1 : below;
    return values[below] + (position - below) * (values[above] - values[below]);
}

double gs_percentile(double *values, int count, double percent)
{
    if (count < 1) return NAN;
    qsort(values, (size_t)count, sizeof *values, by_value);
    return sorted_percentile(values, count, percent);
}

double gs_median(double *values, int count) { return gs_percentile(values, count, 50); }

double gs_geomean(const double *values, int count)
{
    if (count < 1) return NAN;
    double sum = 0;
    for (int i = 0; i < count; i++) sum += log(values[i]);
    return exp(sum / count);
}

/* Median of a resample of a sorted list, from how often each rank was drawn. */
static double resampled_median(const double *sorted, int count, int *drawn, gs_random *random)
{
    memset(drawn, 0, (size_t)count * sizeof *drawn);
    for (int i = 0; i < count; i++) drawn[gs_random_below(random, (uint64_t)count)]++;
    const int low = (count - 1) / 2, high = count / 2;   /* the ranks of the middle one or two */
    double value[2] = {0, 0};
    for (int rank = 0, seen = 0; rank < count; seen += drawn[rank++]) {
        if (seen <= low && low < seen + drawn[rank]) value[0] = sorted[rank];
        if (seen <= high && high < seen + drawn[rank]) value[1] = sorted[rank];
    }
    return (value[0] + value[1]) / 2;
}

static void bootstrap(const double *sorted, int count, uint64_t seed, double *medians, int *drawn, gs_ratio *ratio)
{
    gs_random random = {seed};
    for (int i = 0; i < RESAMPLES; i++) medians[i] = resampled_median(sorted, count, drawn, &random);
    qsort(medians, RESAMPLES, sizeof *medians, by_value);
    ratio->low = sorted_percentile(medians, RESAMPLES, 2.5);
    ratio->high = sorted_percentile(medians, RESAMPLES, 97.5);
}

static gs_comparison judge(const gs_ratio *ratio)
{
    const double low = 1 - GS_DEAD_ZONE, high = 1 + GS_DEAD_ZONE;
    if (ratio->low > high) return GS_FASTER;
    if (ratio->high < low) return GS_SLOWER;
    if (ratio->median >= low && ratio->median <= high) return GS_SAME;
    return GS_UNCLEAR;
}

gs_ratio gs_ratio_paired(const double *reference, const double *candidate, int count, uint64_t seed)
{
    gs_ratio ratio = {NAN, NAN, NAN, GS_UNCLEAR};
    if (count < 1) return ratio;
    double *const sorted = malloc((size_t)count * sizeof *sorted);
    double *const medians = malloc(RESAMPLES * sizeof *medians);
    int *const drawn = malloc((size_t)count * sizeof *drawn);
    bool usable = sorted && medians && drawn;
    for (int i = 0; usable && i < count; i++) {
        sorted[i] = reference[i] / candidate[i];
        usable = isfinite(sorted[i]);
    }
    if (usable) {
        ratio.median = gs_median(sorted, count);
        bootstrap(sorted, count, seed, medians, drawn, &ratio);
        ratio.verdict = judge(&ratio);
    }
    free(sorted);
    free(medians);
    free(drawn);
    return ratio;
}

gs_spread gs_spread_of(const double *values, int count)
{
    gs_spread s = {0};
    for (int i = 0; i < count; i++) s.mean += values[i] / count;
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (values[i] - s.mean) * (values[i] - s.mean);
    s.deviation = count > 1 ? sqrt(sum / (count - 1)) : 0;
    return s;
}

const char *gs_comparison_name(gs_comparison comparison)
{
    static const char *const names[] = {"same", "faster", "slower", "unclear"};
    return comparison >= GS_SAME && comparison <= GS_UNCLEAR ? names[comparison] : "unclear";
}

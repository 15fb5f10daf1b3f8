/* SPDX-License-Identifier: MIT
 * Medians, percentiles and geometric means are right; bootstrap intervals cover the true value; verdicts follow the 1 % rule. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "bench/stats.h"
#include "leaks.h"

static double normal(gs_random *random)
{
    const double radius = sqrt(-2 * log(1 - gs_random_unit(random)));
    return radius * cos(2 * 3.14159265358979323846 * gs_random_unit(random));
}

static void near(double value, double want) { assert_true(fabs(value - want) <= 1e-12 * fabs(want)); }

static void known_values(void **state)
{
    (void)state;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, one[] = {7};
    near(gs_median(odd, 3), 5);
    near(gs_median(even, 4), 2.5);
    near(gs_median(one, 1), 7);
    near(gs_percentile(ten, 11, 0) + 1, 1);
    near(gs_percentile(ten, 11, 95), 9.5);
    near(gs_percentile(ten, 11, 100), 10);
    near(gs_percentile(one, 1, 99), 7);
    near(gs_geomean((const double[]){1, 4, 16}, 3), 4);
    near(gs_geomean((const double[]){0.5, 2}, 2), 1);
    assert_true(isnan(gs_median(odd, 0)) && isnan(gs_percentile(odd, 0, 50)) && isnan(gs_geomean(odd, 0)));
}

static void paired_ratio_ignores_the_clock(void **state)
{
    (void)state;
    double reference[30], candidate[30];
    for (int i = 0; i < 30; i++) {
        const double clock = 1 + 0.5 * i / 30;   /* the power limit slows the device down by half */
        reference[i] = 110 * clock;
        candidate[i] = 100 * clock;
    }
    const gs_ratio ratio = gs_ratio_paired(reference, candidate, 30, 1);
    near(ratio.median, 1.1);
    near(ratio.low, 1.1);
    near(ratio.high, 1.1);
    assert_int_equal(ratio.verdict, GS_FASTER);
    assert_int_equal(gs_ratio_paired(candidate, reference, 30, 1).verdict, GS_SLOWER);
}

static void equal_contenders_are_the_same(void **state)
{
    (void)state;
    gs_random random = {3};
    double x[30], y[30];
    for (int trial = 0; trial < 100; trial++) {
        for (int i = 0; i < 30; i++) {
            x[i] = 100 * (1 + 0.005 * normal(&random));
            y[i] = 100 * (1 + 0.005 * normal(&random));
        }
        assert_int_equal(gs_ratio_paired(x, y, 30, (uint64_t)trial).verdict, GS_SAME);
    }
}

static void verdicts(void **state)
{
    (void)state;
    const double unit[4] = {1, 1, 1, 1}, over[4] = {1.009, 1.009, 1.009, 1.009}, wide[4] = {0.9, 1.1, 0.9, 1.1},
                 mixed[4] = {0.8, 1.2, 1.2, 1.2};
    const double broken[4] = {1, 0, 1, 1};
    assert_int_equal(gs_ratio_paired(over, unit, 4, 1).verdict, GS_SAME);
    assert_int_equal(gs_ratio_paired(wide, unit, 4, 1).verdict, GS_SAME);      /* the median is 1 */
    assert_int_equal(gs_ratio_paired(mixed, unit, 4, 1).verdict, GS_UNCLEAR);  /* median 1.2, interval down to 0.8 */
    assert_int_equal(gs_ratio_paired(unit, broken, 4, 1).verdict, GS_UNCLEAR);
    assert_true(isnan(gs_ratio_paired(unit, broken, 4, 1).median));
    assert_true(isnan(gs_ratio_paired(unit, unit, 0, 1).median));
    assert_string_equal(gs_comparison_name(GS_SAME), "same");
    assert_string_equal(gs_comparison_name(GS_FASTER), "faster");
    assert_string_equal(gs_comparison_name(GS_SLOWER), "slower");
    assert_string_equal(gs_comparison_name(GS_UNCLEAR), "unclear");
}

static void same_seed_same_interval(void **state)
{
    (void)state;
    gs_random random = {11};
    double x[21], y[21];
    for (int i = 0; i < 21; i++) {
        x[i] = 50 + normal(&random);
        y[i] = 49 + normal(&random);
    }
    const gs_ratio first = gs_ratio_paired(x, y, 21, 5), second = gs_ratio_paired(x, y, 21, 5);
    assert_true(first.low == second.low && first.high == second.high);
    assert_true(first.low < first.median && first.median < first.high);
}

/* Skewed, paired noise with outliers, as in timings: the interval must contain the true ratio in about 95 of 100 cases. */
static void interval_covers_the_truth(void **state)
{
    (void)state;
    gs_random random = {2026};
    int covered = 0;
    const int trials = 300;
    for (int trial = 0; trial < trials; trial++) {
        double x[30], y[30];
        for (int i = 0; i < 30; i++) {
            const double clock = exp(0.1 * normal(&random));
            const double spike_x = gs_random_unit(&random) < 0.03 ? 1.5 : 1, spike_y = gs_random_unit(&random) < 0.03 ? 1.5 : 1;
            x[i] = 103 * clock * exp(0.02 * normal(&random)) * spike_x;
            y[i] = 100 * clock * exp(0.02 * normal(&random)) * spike_y;
        }
        const gs_ratio ratio = gs_ratio_paired(x, y, 30, (uint64_t)trial);
        covered += ratio.low <= 1.03 && 1.03 <= ratio.high;
    }
    print_message("true ratio inside the interval in %d of %d trials\n", covered, trials);
    assert_true(covered >= trials * 93 / 100);
    assert_true(covered < trials);   /* an interval that always covers the ratio is too wide for 95 % */
}

static void of_nothing_nothing_is_known(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3}, zero[] = {1, 0, 1};
    const gs_ratio none = gs_ratio_paired(x, x, 0, 1), broken = gs_ratio_paired(x, zero, 3, 1);
    assert_true(isnan(none.median) && isnan(none.low) && isnan(none.high) && none.verdict == GS_UNCLEAR);
    assert_true(isnan(broken.median) && isnan(broken.low) && isnan(broken.high) && broken.verdict == GS_UNCLEAR);
    assert_true(isnan(gs_geomean(x, 0)));
    const gs_spread one = gs_spread_of(x + 1, 1), of_none = gs_spread_of(x, 0);
    assert_true(one.mean == 2 && one.deviation == 0 && of_none.mean == 0 && of_none.deviation == 0);
    assert_string_equal(gs_comparison_name((gs_comparison)-1), "unclear");
    assert_string_equal(gs_comparison_name((gs_comparison)(GS_UNCLEAR + 1)), "unclear");
    assert_string_equal(gs_comparison_name(GS_SAME), "same");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(paired_ratio_ignores_the_clock),
        cmocka_unit_test(equal_contenders_are_the_same),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(of_nothing_nothing_is_known),
        cmocka_unit_test(same_seed_same_interval),
        cmocka_unit_test(interval_covers_the_truth),
    };
    return run_without_leaks("bench/stats", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * The error model in numbers: the bounds of results and of sums of columns, worked out by hand for problems whose square roots are integers. What the bounds tell apart,
 * and how tolerances and lengths change them, is tested in verify.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "checks/bounds.h"
#include "texts.h"

static void near(const char *what, const char *part, double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) fail_msg("%s: %s is %.17g, not %.17g", what, part, value, expected);
}

#define F32 0x1p-24
#define F16 0x1p-11
#define BF16 0x1p-8
#define MORE (1 + 0x1p-10)

/* One element. k is 1024: the accumulation error of the worst element is 8 + 256 + 128 = 392 units of f32, or 4 + 64 = 68 units of f16. */
static void bounds_of_elements(void **state)
{
    (void)state;
    static const struct { const char *problem; double tolerance, rounding, least, relative, spread, absolute; } cases[] = {
        {"f16:64x64x1024:tn", 1, F16 * MORE, 0x1p-25, F16 * MORE + 392 * F32, 392 * F32, 0x1p-25},
        {"f16:64x64x1024:tn:d=f32", 1, F32 * MORE, 0x1p-150, F32 * MORE + 392 * F32, 392 * F32, 0x1p-150},
        {"bf16:64x64x1024:tn", 1, BF16 * MORE, 0x1p-134, BF16 * MORE + 392 * F32, 392 * F32, 0x1p-134},
        {"bf16:64x64x1024:tn", 0.5, BF16 * MORE, 0x1p-134, BF16 * MORE + 196 * F32, 196 * F32, 0x1p-134},   /* tolerances below 1 do not shrink the rounding term */
        {"bf16:64x64x1024:tn", 3, 3 * BF16 * MORE, 3 * 0x1p-134, 3 * BF16 * MORE + 3 * 392 * F32, 3 * 392 * F32, 3 * 0x1p-134},
        {"f16:64x64x1024:tn:acc=f16", 1, F16 * MORE, 0x1p-25, F16 * MORE + 68 * F16, 68 * F16, 0x1p-25},
        {"f16:64x64x1024:tn:ep=relu", 1, F16 * MORE, 0x1p-25, F16 * MORE + 392 * F32, 392 * F32, 0x1p-25},
        {"f16:64x64x1024:tn:ep=gelu", 1, F16 * MORE, 0x1p-25, F16 * MORE + 392 * F32, 392 * F32 * 1.13, 0x1p-25 + 0x1p-119},   /* gelu's slope is at most 1.13 */
        {"f16:64x64x1024:tn:acc=f16:ep=gelu", 1, F16 * MORE, 0x1p-25, F16 * MORE + F16 + 68 * F16, 68 * F16 * 1.13, 0x1p-25 + 1.13 * 0x1p-25 + 0x1p-119},
        {"f16:64x64x1024:tn:acc=f16:beta=1", 1, F16 * MORE, 0x1p-25, F16 * MORE + 68 * F16, 68 * F16, 0x1p-25},
        {"f16:1x7x1024:tn:acc=f16:beta=1", 1, F16 * MORE, 0x1p-25, F16 * MORE + 68 * F16, 8 * 68 * F16, 0x1p-25},   /* fewer than 8 results, and C is added */
        {"f16:1x7x1024:tn:acc=f16", 1, F16 * MORE, 0x1p-25, F16 * MORE + 68 * F16, 68 * F16, 0x1p-25},
        {"f16:1x7x1024:tn:beta=1", 1, F16 * MORE, 0x1p-25, F16 * MORE + 392 * F32, 392 * F32, 0x1p-25},
        {"f16:1x2x1024:tn:b=3:acc=f16:beta=1", 1, F16 * MORE, 0x1p-25, F16 * MORE + 68 * F16, 8 * 68 * F16, 0x1p-25},
        {"f16:1x2x1024:tn:b=4:acc=f16:beta=1", 1, F16 * MORE, 0x1p-25, F16 * MORE + 68 * F16, 68 * F16, 0x1p-25},
        {"f16:64x64x1024:nt:gk=16", 1, F16 * MORE, 0x1p-25, F16 * MORE + 392 * F32, 4 * 392 * F32, 0x1p-25},
        {"f16:64x64x1024:tn:beta=1", 5, 5 * F16 * MORE, 5 * 0x1p-25, 5 * F16 * MORE + 5 * 392 * F32, 4 * F16 + 5 * 392 * F32, 5 * 0x1p-25},   /* product rounded before C is added, */
        {"f16:64x64x1024:tn:ep=bias+gelu", 5, 5 * F16 * MORE, 5 * 0x1p-25, 5 * F16 * MORE + 5 * 392 * F32, (4 * F16 + 5 * 392 * F32) * 1.13, 5 * 0x1p-25 + 0x1p-119},   /* or a bias */
        {"f16:64x64x1024:tn", 5, 5 * F16 * MORE, 5 * 0x1p-25, 5 * F16 * MORE + 5 * 392 * F32, 5 * 392 * F32, 5 * 0x1p-25},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        const gs_bound bound = gs_bound_make(&p, cases[i].tolerance);
        near(cases[i].problem, "rounding", bound.rounding, cases[i].rounding);
        near(cases[i].problem, "least", bound.least, cases[i].least);
        near(cases[i].problem, "relative", bound.relative, cases[i].relative);
        near(cases[i].problem, "spread", bound.spread, cases[i].spread);
        near(cases[i].problem, "absolute", bound.absolute, cases[i].absolute);
    }
}

/* Sums of D's columns: the error over 256 rows is 8 + 16 + 64 = 88 units of f32, over 1024 rows 8 + 64 + 128 = 200. */
static void bounds_of_sums(void **state)
{
    (void)state;
    static const struct { const char *problem; double tolerance, relative, absolute, added, element, least; } cases[] = {
        {"f16:256x64x64:nn:ep=dbias", 1, F16 * MORE, 0x1p-25, 88 * F32, 0, 0},
        {"f16:256x64x64:nn:ep=dbias", 0.25, F16 * MORE, 0x1p-25, 88 * F32, 0, 0},
        {"f16:256x64x64:nn:ep=dbias", 3, F16 * MORE, 0x1p-25, 3 * 88 * F32, 0, 0},
        {"f16:256x64x64:nn:ep=dbias", 5, F16 * MORE, 0x1p-25, 5 * 88 * F32, F16, 0},
        {"bf16:256x64x64:nn:ep=dbias", 5, BF16 * MORE, 0x1p-134, 5 * 88 * F32, BF16, 0},
        {"bf16:256x64x64:nn:d=f32:ep=dbias", 5, F32 * MORE, 0x1p-150, 5 * 88 * F32, F32, 0},
        {"f16:256x64x64:nn:acc=f16:ep=dbias", 1, F16 * MORE, 0x1p-25, 88 * F32, F16, 1.13 * 0x1p-25},
        {"bf16:256x64x64:nn:ep=dgelu+dbias", 1, BF16 * MORE, 0x1p-134, 88 * F32, 0, 0x1p-119},
        {"bf16:256x64x64:nn:ep=drelu+dbias", 1, BF16 * MORE, 0x1p-134, 88 * F32, 0, 0},
        {"f16:256x64x64:nn:b=4:ep=dbias", 1, F16 * MORE, 0x1p-25, 200 * F32, 0, 0},
        {"f16:256x64x64:nn:b=4:se=64:ep=dbias", 1, F16 * MORE, 0x1p-25, 88 * F32, 0, 0},
        {"f16:1024x64x64:nn:g=4:ep=dbias", 1, F16 * MORE, 0x1p-25, 200 * F32, 0, 0},   /* one group may have all rows */
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        const gs_check_sums sums = gs_sums_bound(&p, cases[i].tolerance);
        near(cases[i].problem, "relative", sums.relative, cases[i].relative);
        near(cases[i].problem, "absolute", sums.absolute, cases[i].absolute);
        near(cases[i].problem, "added", sums.added, cases[i].added);
        near(cases[i].problem, "element", sums.element, cases[i].element);
        near(cases[i].problem, "least", sums.least, cases[i].least);
    }
}

static void bounds_of_scaled_integers(void **state)
{
    (void)state;
    static const struct { const char *problem; double tolerance, least_sum; } cases[] = {
        {"f16:64x64x1024:tn", 0, -0x1.fffffep127},
        {"f16:64x64x1024:tn:alpha=0.3", 16 / 392.0, -(double)0.3f * 0x1.fffffep127},
        {"f16:64x64x1024:tn:alpha=-0.3:d=f32", 16 / 392.0, -(double)0.3f * 0x1.fffffep127},
        {"f16:64x64x4:tn:alpha=3.3", 0.5, -0x1.fffffep127},   /* 16 of 17 units, but at most half */
        {"f16:64x64x1024:tn:acc=f16", 0, -65504},
        {"f16:64x64x1024:tn:acc=f16:alpha=0.3", 1, -(double)0.3f * 65504},
        {"f16:64x64x1024:tn:beta=0.3", 16 / 392.0, -0x1.fffffep127},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        near(cases[i].problem, "the tolerance", gs_exact_tolerance(&p), cases[i].tolerance);
        near(cases[i].problem, "the least sum", gs_least_sum(&p), cases[i].least_sum);
    }
}

/* What few results have for their root mean square at least: that of sums of normal data. */
static void few_results(void **state)
{
    (void)state;
    static const struct { const char *problem; double tolerance, least; } cases[] = {
        {"f16:7x1x64:tn:alpha=-0.5", 1, 4}, {"f16:1x1x64:tn:b=7:acc=f16", 4, 8}, {"f16:1x8x64:tn", 1, 0}, {"f16:1x1x64:tn:b=8", 1, 0}, {"f16:7x1x64:tn:alpha=0.3", 0.5, 0}, {"f16:7x1x64:tn", 0, 0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        near(cases[i].problem, "the least root mean square", gs_bound_make(&p, cases[i].tolerance).least_rms, cases[i].least);
    }
}

/* Relative error of an honest kernel: 0.45 units for rounding D; k is 1024, so f16 sums add 1 + 16 units of f16, f32 sums 4 + 64 + 32 units of f32. A single result may be
 * a whole unit off. */
static void frobenius_limits(void **state)
{
    (void)state;
    const double f16 = hypot(0.45 * F16, 100 * F32), sums = hypot(0.45 * F16, 17 * F16), gated = hypot(0.45 * F16, 160 * F32);
    const gs_compare theirs = {.frobenius = 0.01, .bias = -0.125}, better = {.frobenius = 1e-9};
    const struct { const char *problem; const gs_compare *yardstick; double rms, elements, limit; } cases[] = {
        {"f16:100x100x1024:tn", NULL, 1, 1e9, 1.51 * f16},       /* 10000 results: a hundredth more */
        {"f16:100x100x1024:tn", NULL, 1, 100, 1.6 * f16},        /* 100 finite results: a tenth more */
        {"f16:100x100x1024:tn", NULL, 1, 0, f16 * (1.5 + 2.33)},
        {"f16:2x2x1024:tn", NULL, 32, 1e9, f16 * (1.5 + 2.83 / 2 - 0.5)},   /* four deviations of the root mean square of four errors */
        {"f16:2x2x1024:tn:alpha=0.5", NULL, 1, 1e9, hypot(0.45 * F16, 16 * 100 * F32) * (1.5 + 2.83 / 2 - 0.5)},   /* four sums whose products cancel */
        {"f16:2x4x1024:tn", NULL, 1, 1e9, f16 * (1.5 + 2.83 / sqrt(8) - 0.5)},
        {"f16:100x100x1024:tn:b=4", NULL, 1, 1e9, 1.505 * f16},
        {"f16:100x100x1024:tn:b=4:sa=0:sb=0", NULL, 1, 1e9, 1.51 * f16},   /* the same result four times */
        {"f16:100x100x1024:tn", &theirs, 1, 1e9, 0.015},
        {"f16:100x100x1024:tn", &better, 1, 1e9, f16 * (1 + 1.5 * 0.01)},
        {"f16:100x100x1024:tn", NULL, 0, 1e9, 1.51 * f16},
        {"f16:100x100x1024:tn", NULL, 0x1p-20, 1e9, 1.51 * f16},
        {"f16:100x100x1024:tn:acc=f16", NULL, 1, 1e9, 1.51 * sums},
        {"f16:100x100x1024:tn:acc=f16:beta=1", NULL, 1, 8, sums * (1.5 + 2.83 / sqrt(8) - 0.5)},
        {"f16:100x100x1024:tn:acc=f16:beta=1", NULL, 1, 7, 0.1 - 0x1p-25},
        {"f16:100x100x1024:tn:ep=scale_m", NULL, 1, 1e9, f16 * (1.5 + 1 / sqrt(3000))},   /* few elements have most of the error */
        {"f16:100x100x1024:tn:ep=silu+gate", NULL, 1, 1e9, 1.51 * gated},
        {"f16:100x100x1024:tn:ep=scale_m+silu+gate", NULL, 1, 1e9, gated * (1.5 + 1 / sqrt(1000))},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const double subnormal = cases[i].rms > 0 ? 0x1p-25 / cases[i].rms : 0;   /* subnormal results have few bits */
        const gs_problem p = problem_of(cases[i].problem);
        near(cases[i].problem, "the limit", gs_frobenius_limit(&p, cases[i].yardstick, cases[i].rms, cases[i].elements), cases[i].limit + subnormal);
    }
}

/* 6 / 100 for chance, 0.25, and k / 65536 for the truncated sums, relative to D's rounding. A limit of 2 accepts everything. */
static void bias_limits(void **state)
{
    (void)state;
    const gs_compare theirs = {.frobenius = 0.01, .bias = -0.125};
    const double k = 1024 / 65536.0;
    const struct { const char *problem; const gs_compare *yardstick; double rms, elements, limit; } cases[] = {
        {"f16:100x100x1024:tn", NULL, 1, 1e9, 0.06 + 0.25 + k},
        {"f16:100x100x1024:tn", &theirs, 1, 1e9, 0.125 + 0.06 + 0.25 + k},
        {"bf16:100x100x1024:tn", NULL, 1, 1e9, 0.06 + 0.25 + k / 8},
        {"f16:100x100x1024:tn:ep=silu+gate", NULL, 1, 1e9, 0.06 + 0.25 + 2 * k},
        {"f16:100x100x1024:tn:d=f32", NULL, 1, 1e9, 2},
        {"f16:100x100x1024:tn:acc=f16", NULL, 1, 1e9, 2},
        {"f16:100x100x1024:tn", NULL, 65504 / 8.0, 1e9, 0.06 + 0.25 + k},
        {"f16:100x100x1024:tn", NULL, 65505 / 8.0, 1e9, 2},       /* results that overflow are not counted, so the others lean */
        {"f16:100x100x1024:tn", NULL, 0x1p-19, 1e9, 0.06 + 0.25 + k},
        {"f16:100x100x1024:tn", NULL, 0x1.fp-20, 1e9, 2},         /* results that underflow all lean towards zero */
        {"bf16:100x100x1024:tn", NULL, 65505, 1e9, 0.06 + 0.25 + k / 8},
        {"bf16:100x100x1024:tn", NULL, 0x1p124, 1e9, 0.06 + 0.25 + k / 8},
        {"bf16:100x100x1024:tn", NULL, 0x1.1p124, 1e9, 2},
        {"bf16:100x100x0:tn:beta=1", NULL, 1, 1e9, 6 / sqrt(128) + 0.25},       /* C alone, which has 128 mantissas */
        {"f16:100x100x1024:tn:alpha=0:beta=1", NULL, 1, 1e9, 6 / sqrt(1024) + 0.25 + k},
        {"bf16:100x9x0:tn:ep=bias", NULL, 1, 1e9, 6 / 3.0 + 0.25},              /* a bias alone: nine different results */
        {"bf16:100x9x0:tn:ep=bias_m", NULL, 1, 1e9, 0.6 + 0.25},
        {"bf16:100x9x0:tn", NULL, 1, 1e9, 6.25},                                /* all zero */
        {"bf16:25x9x0:tn:b=4:ep=bias_m:beta=1", NULL, 1, 1e9, 0.6 + 0.25},
        {"bf16:25x9x0:tn:b=4:ep=bias_m:beta=1:sc=0", NULL, 1, 1e9, 6 / 5.0 + 0.25},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        near(cases[i].problem, "the limit", gs_bias_limit(&p, cases[i].yardstick, cases[i].rms, cases[i].elements), cases[i].limit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_elements), cmocka_unit_test(bounds_of_sums), cmocka_unit_test(bounds_of_scaled_integers), cmocka_unit_test(few_results), cmocka_unit_test(frobenius_limits),
        cmocka_unit_test(bias_limits)};
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * What an order of measured groups is worth beside cuBLASLt, on groups whose figures are known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"
#include "networks.h"
#include "leaks.h"

enum { MOST = 16 };       /* the last of so many is expected to take longer than the first */
#define TIMES_FLOOR 2.5   /* what the weights expect of cuBLASLt */

/* One unit of each layer hears of cuBLASLt; schedules keep the time model's prediction. */
static void expect_of_library(gs_weights *weights)
{
    gs_net *const net = &weights->surrogate.net[0];
    float *const first = net->weights, *const second = first + (net->width[0] + 1) * net->width[1], *const last = second + (net->width[1] + 1) * net->width[2];
    memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
    first[(GS_PROBLEM_FEATURES + GS_WORK_FEATURES + gs_token_of(GS_FAMILIES, -1, 0)) * net->width[1]] = 1;
    second[0] = 1;
    last[0] = (float)log(TIMES_FLOOR);
}

/* A group of two choices, in the weights' order, and of cuBLASLt; 0: it has no time. */
static int add_group(gs_sample *samples, int group, const gs_weights *weights, const char *text, double first_us, double second_us, double library_us)
{
    const gs_problem problem = problem_of(text);
    const gs_profile *const profile = gs_profile_find("h200");
    gs_schedule list[MOST];
    const int last = gs_surrogate_shortlist(&weights->surrogate, &problem, h200(), 0, list, MOST) - 1;
    assert_true(last > 0 && gs_surrogate_us(&weights->surrogate, &list[last], &problem, profile) > gs_surrogate_us(&weights->surrogate, &list[0], &problem, profile));
    samples[0] = (gs_sample){problem, list[last], second_us, group, false};
    samples[1] = (gs_sample){.problem = problem, .us = library_us, .group = group, .library = true};
    samples[library_us > 0 ? 2 : 1] = (gs_sample){problem, list[0], first_us, group, false};
    return library_us > 0 ? 3 : 2;
}

static bool is_doubted(const gs_weights *weights, const gs_profile *profile, const char *text)
{
    const gs_problem problem = problem_of(text);
    gs_schedule first;
    assert_int_equal(gs_surrogate_shortlist(&weights->surrogate, &problem, h200(), 0, &first, 1), 1);
    return gs_surrogate_us(&weights->surrogate, &first, &problem, profile) > GS_CLEARLY_FASTER * gs_surrogate_library_us(&weights->surrogate, &problem, profile);
}

static void expect_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9)) fail_msg("%.12g, expected %.12g", value, expected);
}

static void expect_gain(const gs_gain *gain, double mean, double fine, double worst)
{
    expect_near(gain->mean, mean);
    expect_near(gain->fine, fine);
    expect_near(gain->worst, worst);
}

/* A large one is trusted, deep ones are doubted: once rightly, once wrongly. */
static const char *const trusted = "f16:4096x4096x4096:tn", *const rightly = "f16:64x64x16384:tn", *const wrongly = "f16:72x72x16392:tn", *const alone = "f16:63x65x67:tn";

static void gains_are_those_of_the_choices(void **state)
{
    (void)state;
    const gs_profile *const profile = gs_profile_find("h200");
    gs_sample samples[16];
    gs_weights weights;
    int count = 0;
    fresh(&weights);
    expect_of_library(&weights);
    assert_true(!is_doubted(&weights, profile, trusted) && is_doubted(&weights, profile, rightly) && is_doubted(&weights, profile, wrongly));
    count += add_group(samples + count, 1, &weights, trusted, 10, 8, 12);
    count += add_group(samples + count, 2, &weights, rightly, 10, 20, 5);
    count += add_group(samples + count, 3, &weights, wrongly, 10, 10, 30);
    count += add_group(samples + count, 4, &weights, alone, 10, 4, 0);

    const gs_worth all = gs_train_worth(&weights, samples, count, 2, GS_TRAIN_ALL, profile);
    assert_true(all.groups == 4 && all.beside == 3 && all.doubts == 2);
    expect_gain(&all.own, cbrt(1.2 * 0.5 * 3), 2.0 / 3, 0.5);
    expect_gain(&all.doubted, cbrt(1.2 * 1 * 1), 1, 1);
    expect_gain(&all.faster, cbrt(1.2 * 1 * 3), 1, 1);
    expect_near(all.at[0], pow(0.8 * 0.4, 0.25));
    for (int i = 1; i < 4; i++) expect_near(all.at[i], 1);

    const gs_worth of_64 = gs_train_worth(&weights, samples, count, 2, GS_TRAIN_OF_64, profile);
    assert_true(of_64.groups == 2 && of_64.beside == 2 && of_64.doubts == 1);
    expect_gain(&of_64.own, sqrt(0.6), 0.5, 0.5);
    expect_gain(&of_64.doubted, sqrt(1.2), 1, 1);
    expect_near(of_64.at[0], sqrt(0.8));

    const gs_worth of_8 = gs_train_worth(&weights, samples, count, 2, GS_TRAIN_OF_8, profile);
    assert_true(of_8.groups == 1 && of_8.beside == 1 && of_8.doubts == 1);
    expect_gain(&of_8.own, 3, 1, 3);
    expect_gain(&of_8.doubted, 1, 1, 1);
    expect_gain(&of_8.faster, 3, 1, 3);

    const gs_worth any = gs_train_worth(&weights, samples, count, 2, GS_TRAIN_ANY, profile);
    assert_true(any.groups == 1 && any.beside == 0);
    expect_near(any.at[0], 0.4);
    gs_weights_free(&weights);
}

/* The bound belongs to those that are not slower. */
static void a_fiftieth_slower_is_not_slower(void **state)
{
    (void)state;
    const gs_profile *const profile = gs_profile_find("h200");
    gs_sample samples[6];
    gs_weights weights;
    fresh(&weights);
    expect_of_library(&weights);
    int count = add_group(samples, 1, &weights, trusted, 100, 100, 98);
    count += add_group(samples + count, 2, &weights, trusted, 100, 100, 97.9);
    const gs_worth worth = gs_train_worth(&weights, samples, count, 2, GS_TRAIN_ALL, profile);
    expect_gain(&worth.doubted, sqrt(0.98 * 0.979), 0.5, 0.979);
    gs_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_are_those_of_the_choices),
        cmocka_unit_test(a_fiftieth_slower_is_not_slower),
    };
    return run_without_leaks("learn/worth", tests, GS_COUNT(tests));
}

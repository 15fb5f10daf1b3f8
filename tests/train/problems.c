/* SPDX-License-Identifier: MIT
 * Proves what problems training draws at random: every kind in its share, every extent within its bounds; and that a learner leaves nothing behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "leaks.h"
#include "problem/layout.h"
#include "train/train.h"

enum { DRAWN = 20000 };

static bool about(int count, int of, double share) { return fabs((double)count / of - share) < 0.01; }

static void kinds_have_their_shares(void **state)
{
    (void)state;
    gs_random random = {7};
    int bf16 = 0, tn = 0, narrow = 0, powers = 0, of_64 = 0, of_8 = 0, odd = 0, small = 0, large = 0;
    for (int i = 0; i < DRAWN; i++) {
        const gs_problem p = gs_train_problem(&random);
        assert_int_equal(gs_problem_check(&p, NULL), GS_OK);
        assert_true((p.in == GS_F16 || p.in == GS_BF16) && (p.layout == GS_TN || p.layout == GS_NN) && p.batch == 1 && p.out == p.in);
        assert_true(p.acc == GS_F32 || (p.acc == GS_F16 && p.in == GS_F16));
        bf16 += p.in == GS_BF16;
        tn += p.layout == GS_TN;
        narrow += p.acc == GS_F16;
        const int64_t extents[] = {p.m, p.n, p.k};
        for (int e = 0; e < 3; e++) {
            assert_in_range(extents[e], 1, 16384);
            powers += (extents[e] & (extents[e] - 1)) == 0;
            of_64 += extents[e] % 64 == 0;
            of_8 += extents[e] % 8 == 0;
            odd += extents[e] % 2;
            small += extents[e] < 8;
            large += extents[e] > 8192;
        }
    }
    assert_true(about(bf16, DRAWN, 0.5) && about(tn, DRAWN, 0.5) && about(narrow, DRAWN - bf16, 0.25));
    /* a quarter are drawn as powers of two, a quarter as multiples of 64, a quarter of 8, the rest as anything, small or beside a multiple of 8 */
    assert_true(about(powers, 3 * DRAWN, 0.531) && about(of_64, 3 * DRAWN, 0.420) && about(of_8, 3 * DRAWN, 0.711) && about(odd, 3 * DRAWN, 0.145));
    assert_true(about(small, 3 * DRAWN, 0.104) && about(large, 3 * DRAWN, 0.070));
}

/* What is timed teaches; of one time, or of none, nothing changes. */
static void a_learner_leaves_nothing(void **state)
{
    (void)state;
    gs_error error;
    gs_weights weights;
    gs_learner learner;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 1024, 1024, 1024);
    const gs_profile *const profile = gs_profile_find("h200");
    gs_measured measured[3] = {{.us = 10}, {.us = 0}, {.us = 12}};
    assert_int_equal(gs_weights_create(&weights, 2, 3, &error), GS_OK);
    gs_schedule list[2];
    assert_int_equal(gs_schedule_shortlist(&problem, &profile->caps, 0, list, 2), 2);
    measured[0].schedule = measured[1].schedule = list[0];
    measured[2].schedule = list[1];
    const double before = gs_surrogate_us(&weights.surrogate, &list[0], &problem, profile);
    assert_int_equal(gs_learner_create(&learner, &weights, &error), GS_OK);
    assert_int_equal(learner.nets, weights.surrogate.nets);
    assert_int_equal(gs_learner_step(&learner, &weights, &problem, &profile->caps, measured, 2, &error), GS_OK);   /* one is timed */
    assert_int_equal(gs_learner_step(&learner, &weights, &problem, &profile->caps, measured, 0, &error), GS_OK);
    assert_true(gs_surrogate_us(&weights.surrogate, &list[0], &problem, profile) == before);
    assert_int_equal(gs_learner_step(&learner, &weights, &problem, &profile->caps, measured, 3, &error), GS_OK);
    assert_true(gs_surrogate_us(&weights.surrogate, &list[0], &problem, profile) != before);
    gs_learner_free(&learner);
    assert_true(learner.gradient == NULL && learner.nets == 0);
    gs_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_have_their_shares), cmocka_unit_test(a_learner_leaves_nothing)};
    return run_without_leaks("train/problems", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Random problems and schedules: valid, the same for the same numbers, of the families that are asked for, small on an emulated device. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "schedule/profile.h"
#include "random/random.h"

enum { TRIES = 200 };

static gs_caps device(bool emulated)
{
    gs_caps caps = *gs_caps_find("h200");
    caps.emulated = emulated;
    return caps;
}

static void problems_are_valid_and_repeat(void **state)
{
    (void)state;
    for (int emulated = 0; emulated < 2; emulated++) {
        const gs_caps caps = device(emulated);
        gs_random one = {7}, two = {7}, other = {8};
        int differ = 0, padded = 0, scaled = 0, invariant = 0;
        int activations[GS_SILU + 1] = {0};
        int64_t most = 0;
        for (int i = 0; i < TRIES; i++) {
            char a[GS_PROBLEM_TEXT], b[GS_PROBLEM_TEXT];
            const gs_problem p = gs_random_problem(&one, 0, &caps), q = gs_random_problem(&two, 0, &caps), r = gs_random_problem(&other, 0, &caps);
            assert_int_equal(gs_problem_check(&p, NULL), GS_OK);
            assert_string_equal(gs_problem_format(&p, a), gs_problem_format(&q, b));
            differ += strcmp(a, gs_problem_format(&r, b)) != 0;
            padded += p.lda > p.k;
            scaled += p.alpha != 1 || p.beta != 0;
            invariant += p.invariant != 0;
            if (p.activation <= GS_SILU) activations[p.activation]++;
            if (p.m > most) most = p.m;
        }
        for (int i = 0; i <= GS_SILU; i++) assert_true(activations[i] > 0);
        assert_true(differ > TRIES / 2 && padded > TRIES / 10 && scaled > TRIES / 2 && padded < TRIES);
        assert_true(invariant > 0 && invariant < TRIES / 4);
        assert_true(emulated ? most <= 200 : most > 500);
    }
}

static void families_that_are_asked_for(void **state)
{
    const gs_caps caps = device(true);
    (void)state;
    for (int family = 0; family < GS_FAMILIES; family++) {
        gs_random random = {3};
        int taken = 0;
        for (int i = 0; i < 40; i++) {
            gs_schedule schedule;
            const gs_problem problem = gs_random_problem(&random, 1u << family, &caps);
            assert_int_equal(gs_problem_check(&problem, NULL), GS_OK);
            if (!gs_random_schedule(&random, (gs_family_id)family, &problem, &caps, &schedule)) continue;
            assert_int_equal(schedule.family, family);
            assert_int_equal(gs_schedule_check(&schedule, &problem, &caps, NULL), GS_OK);
            taken++;
        }
        if (taken < 20) fail_msg("%s takes %d of 40", gs_family_name((gs_family_id)family), taken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(problems_are_valid_and_repeat), cmocka_unit_test(families_that_are_asked_for)};
    return cmocka_run_group_tests_name("random/random", tests, NULL, NULL);
}

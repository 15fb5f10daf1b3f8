/* SPDX-License-Identifier: MIT
 * Family toy: it is found by its name, its schedules are enumerated and predicted, and its result passes verification on the emulated device. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 4 1 12 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "loaded/contender.h"
#include "texts.h"
#include "verify/verify.h"

static void test_schedules(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:20x70x33:tn:d=f32");
    gs_schedule list[4];
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 1u << GS_FAMILY_TOY, list, 4), 1);   /* schedules that differ in the number of threads count as twins */
    assert_int_equal(list[0].family, GS_FAMILY_TOY);
    assert_true(gs_schedule_predict(&list[0], &problem, gs_caps_find("h200")) > 0);
    refuse("toy/t32", "f16:20x70x33:tn", gs_caps_find("h200"), "d");
}

static void test_verified(void **state)
{
    (void)state;
    static const char *const schedules[] = {"toy/t32", "toy/t128"}, *const problems[] = {"f16:20x70x33:tn:d=f32", "f16:33x40x17:nn:d=f32:alpha=0.5"};
    gs_error error = {0};
    gs_device *device;
    gs_verifier *verifier;
    if (gs_device_open(&device, "emu:h200", NULL, &error) != GS_OK || gs_verifier_create(&verifier, device, &error) != GS_OK) fail_msg("%s", error.text);
    for (int i = 0; i < 2; i++) {
        const gs_problem problem = problem_of(problems[i]);
        const gs_verify_options options = {.parts = GS_PART_EXACT | GS_PART_INDEX | GS_PART_MEMORY, .seed = 5};
        gs_contender contender;
        gs_verdict verdict;
        if (gs_contender_schedule(&contender, device, schedules[i], &error) != GS_OK ||
            gs_verify(verifier, &contender, &problem, &options, &verdict, &error) != GS_OK)
            fail_msg("%s %s: %s", schedules[i], problems[i], error.text);
        if (verdict.code != GS_VERDICT_PASS) fail_msg("%s %s: %s", schedules[i], problems[i], verdict.reason);
        contender.destroy(&contender);
    }
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schedules), cmocka_unit_test(test_verified)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

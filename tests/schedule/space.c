/* SPDX-License-Identifier: MIT
 * Proves that a space holds every valid schedule of its families once, in order, finds those and no other, and keeps nothing where memory is short. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "support/leaks.h"
#include "base/error.h"
#include "schedule/space.h"
#include "support/allocations.h"
#include "texts.h"

static const gs_caps *h200(void) { return gs_caps_find("h200"); }

static void all_that_are_valid_for(const char *text, size_t sets)
{
    static const uint32_t families[] = {0, 1u << GS_FAMILY_MMA, 1u << GS_FAMILY_SIMPLE | 1u << GS_FAMILY_SPLITK, 1u << GS_FAMILIES};
    const gs_problem problem = problem_of(text);
    for (size_t i = 0; i < sets; i++) {
        gs_space space;
        int valid = 0;
        assert_int_equal(gs_space_create(&space, &problem, h200(), families[i], NULL), GS_OK);
        assert_memory_equal(&space.problem, &problem, sizeof problem);
        for (int family = 0; family < GS_FAMILIES; family++) {
            gs_schedule schedule = gs_schedule_first((gs_family_id)family);
            do {
                const bool in = (families[i] == 0 || families[i] >> family & 1) && gs_schedule_check(&schedule, &problem, h200(), NULL) == GS_OK;
                const int at = gs_space_find(&space, &schedule);
                if (in) assert_true(valid < space.count && same(&space.list[valid], &schedule));
                assert_int_equal(at, in ? valid : -1);
                valid += in;
            } while (gs_schedule_next(&schedule));
        }
        assert_int_equal(space.count, valid);
        assert_true(valid > (i < 3 ? 1 : -1));
        gs_space_free(&space);
        assert_true(!space.list && space.count == 0);
    }
}

/* What only some values of the last parameters take, too. */
static void all_that_are_valid(void **state)
{
    (void)state;
    all_that_are_valid_for("f16:136x128x256:tn", 4);
    all_that_are_valid_for("f16:72x88x137:nn:lda=139:ep=silu+gate", 1);
    all_that_are_valid_for("bf16:64x64x64:tn:b=64", 1);
}

static void short_of_memory(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:136x128x256:tn");
    gs_status status;
    int count = 0;
    do {
        gs_space space;
        gs_error error = {0};
        fail_at = ++count;
        status = gs_space_create(&space, &problem, h200(), 0, &error);
        fail_at = 0;
        if (status == GS_OK) {
            gs_space_free(&space);
            continue;
        }
        assert_int_equal(status, GS_ERROR_MEMORY);
        assert_string_equal(error.text, "no memory for the valid schedules of a problem");
        assert_true(!space.list && space.count == 0);
    } while (status != GS_OK);
    assert_true(count > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_that_are_valid), cmocka_unit_test(short_of_memory)};
    return run_without_leaks("schedule/space", tests, sizeof tests / sizeof *tests);
}

/* SPDX-License-Identifier: MIT
 * No memory for the candidates that a search asks for: it says so, and asks nobody for them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "allocations.h"
#include "base/error.h"
#include "leaks.h"
#include "tune/run.h"

static void no_memory_for_more_candidates(void **state)
{
    (void)state;
    gs_run run = {0};
    gs_error error = {0};
    fail_at = 1;
    assert_int_equal(gs_run_more(&run, NULL, NULL, 3, &error), GS_ERROR_MEMORY);
    assert_int_equal(fail_at, 0);
    assert_string_equal(error.text, "no memory for 3 candidates");
    assert_int_equal(run.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory_for_more_candidates)};
    return run_without_leaks("tune/memory", tests, GS_COUNT(tests));
}

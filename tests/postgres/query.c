/* SPDX-License-Identifier: MIT
 * Statements for a server when memory is short: there is none, and nothing is left. What a server answers is in tests/store. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "allocations.h"
#include "leaks.h"
#include "postgres/postgres.h"

static void no_memory_for_a_statement(void **state)
{
    (void)state;
    const int before = allocations;
    gs_pg_query *query = gs_pg_query_new(NULL, "SELECT ?, ?2");
    const int all = allocations - before;
    assert_non_null(query);
    gs_pg_query_free(&query);
    assert_null(query);
    assert_true(all >= 3);   /* itself, what is sent, and its text */
    for (int at = 1; at <= all; at++) {
        fail_at = at;
        query = gs_pg_query_new(NULL, "SELECT ?, ?2");
        fail_at = 0;
        assert_null(query);
    }
}

int main(void)
{
    gs_pg_query *query = gs_pg_query_new(NULL, "SELECT 1");
    if (!query) {
        printf("skipped: built without libpq\n");
        return 77;
    }
    gs_pg_query_free(&query);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory_for_a_statement)};
    return run_without_leaks("postgres/query", tests, GS_COUNT(tests));
}

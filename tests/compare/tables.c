/* SPDX-License-Identifier: MIT
 * Two tuned tables side by side, and winners from a store into a table and back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "compare/tables.h"
#include "compare/winners.h"
#include "comparing.h"

#define ROW(problem, choice, us, gpu) problem "  " choice "  " us "  20.00  1.0  1.0  1.0  1755  " gpu "  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0\n"

static gs_error error;

static gs_status compare(gs_table_comparison *c, const char *left, const char *right, const char *gpu, const char **failed)
{
    error = (gs_error){0};
    return gs_tables_compare(c, left, right, gpu, failed, &error);
}

static void two_tables(void **state)
{
    gs_table_comparison c;
    const char *failed;
    (void)state;
    write_text("a.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "10.00", "nvidia-h200") ROW("f16:128x128x128:tn", "simple", "10.05", "nvidia-h200")
                          ROW("f16:256x256x256:tn", "simple", "10.00", "nvidia-h200"));
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "20.00", "nvidia-h200") ROW("f16:128x128x128:tn", OWN, "10.00", "nvidia-h200")
                          ROW("f16:512x512x512:tn", "simple", "10.00", "nvidia-h200"));
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_OK);
    assert_int_equal(c.count, 4);
    assert_true(c.both == 2 && c.only[0] == 1 && c.only[1] == 1 && c.alike == 1 && c.faster[0] == 1 && c.faster[1] == 0 && c.same == 1);
    assert_true(fabs(c.pairs[0].ratio - 0.5) < 1e-6 && gs_tables_faster(c.pairs[0].ratio) == 0 && gs_tables_faster(c.pairs[1].ratio) == -1);
    assert_true(fabs(gs_tables_geomean(&c.where_alike) - 0.5) < 1e-6 && gs_tables_geomean(&(gs_tables_mean){0}) == 0);
    assert_string_equal(c.side[0].gpu, "nvidia-h200");
    gs_tables_compare_free(&c);

    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "20.00", "nvidia-h200") ROW("f16:64x64x64:nn", OWN, "20.00", "nvidia-a100"));
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_ERROR_ARGUMENT);   /* which? */
    assert_string_equal(failed, "b.tuned");
    gs_tables_compare_free(&c);
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", "nvidia-h200", &failed), GS_OK);
    assert_int_equal(c.both, 1);
    gs_tables_compare_free(&c);
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "20.00", "emu-h200"));
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_ERROR_UNSUPPORTED);   /* a prediction beside a measurement */
    assert_null(failed);
    gs_tables_compare_free(&c);
    write_text("b.tuned", "nonsense\n");
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_ERROR_CORRUPT);
    assert_string_equal(failed, "b.tuned");
    gs_tables_compare_free(&c);
    assert_int_equal(compare(&c, "absent.tuned", "b.tuned", NULL, &failed), GS_ERROR_NOT_FOUND);
    assert_string_equal(failed, "absent.tuned");
    gs_tables_compare_free(&c);
}

static void winners_to_a_table_and_back(void **state)
{
    bench *const b = *state;
    gs_store *other;
    gs_error first;
    gs_table_comparison c;
    const char *failed;
    int winners, written, taken, skipped;
    assert_int_equal(gs_winners_export(b->session.store, "nvidia-h200", "out.tuned", &winners, &written, &error), GS_ERROR_NOT_FOUND);
    assert_false(gs_file_exists("out.tuned"));
    write_text("in.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "10.00", "nvidia-h200") "f16:64x64x64:tn  magic/1  1\n"
                           ROW("f16:128x128x128:tn", "library", "20.00", "nvidia-h200"));
    assert_int_equal(gs_winners_import(b->session.store, "in.tuned", &taken, &skipped, &first, &error), GS_OK);
    assert_true(taken == 2 && skipped == 1 && first.text[0]);

    gs_trial kernel = {.us = 5, .ratio = 2, .verdict = "pass", .problem = "f16:256x256x256:tn", .candidate = "source:0123456789abcdef"};   /* no table can hold it */
    assert_int_equal(gs_store_win(b->session.store, &b->session.session, &kernel, &error), GS_OK);
    assert_int_equal(gs_winners_export(b->session.store, "nvidia-h200", "out.tuned", &winners, &written, &error), GS_OK);
    assert_true(winners == 3 && written == 2);
    assert_int_equal(gs_winners_export(b->session.store, "nvidia-h200", "worker/out.tuned", &winners, &written, &error), GS_ERROR_IO);

    assert_int_equal(gs_store_open(&other, "other.db", &error), GS_OK);
    assert_int_equal(gs_winners_import(other, "out.tuned", &taken, &skipped, &first, &error), GS_OK);
    assert_true(taken == 2 && skipped == 0);
    gs_store_close(&other);
    assert_int_equal(compare(&c, "other.db", "in.tuned", NULL, &failed), GS_OK);   /* a store beside the table that it was made of */
    assert_true(c.both == 2 && c.same == 2 && c.alike == 2 && c.only[0] + c.only[1] == 0);
    gs_tables_compare_free(&c);

    assert_int_equal(gs_winners_import(b->session.store, "absent.tuned", &taken, &skipped, &first, &error), GS_ERROR_NOT_FOUND);
    write_text("in.tuned", "nonsense\n");
    assert_int_equal(gs_winners_import(b->session.store, "in.tuned", &taken, &skipped, &first, &error), GS_ERROR_CORRUPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {TEST(two_tables), TEST(winners_to_a_table_and_back)};
    return cmocka_run_group_tests_name("compare/tables", tests, NULL, NULL);
}

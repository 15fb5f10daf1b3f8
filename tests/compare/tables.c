/* SPDX-License-Identifier: MIT
 * Two tuned tables side by side, and winners from a store into a table and back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/log.h"
#include "compare/tables.h"
#include "compare/winners.h"
#include "allocations.h"
#include "comparing.h"
#include "leaks.h"

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
    assert_true(gs_tables_faster(1.01) == -1 && gs_tables_faster(1.0101) == 1 && gs_tables_faster(0.9902) == -1 && gs_tables_faster(0.99) == 0);
    assert_true(fabs(gs_tables_geomean(&c.where_alike) - 0.5) < 1e-6 && gs_tables_geomean(&(gs_tables_mean){0}) == 0);
    assert_true(c.library.count == 2 && fabs(gs_tables_geomean(&c.library) - 1) < 1e-6);
    assert_string_equal(c.side[0].gpu, "nvidia-h200");
    gs_tables_compare_free(&c);
    write_text("c.tuned", "gemmsmith-tuned 1\nf16:64x64x64:tn  " OWN "  10.00  0  1.0  1.0  1.0  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0\n");
    assert_int_equal(compare(&c, "c.tuned", "b.tuned", NULL, &failed), GS_OK);   /* the library was not timed there */
    assert_true(c.both == 1 && c.library.count == 0);
    gs_tables_compare_free(&c);
    assert_int_equal(compare(&c, "b.tuned", "c.tuned", NULL, &failed), GS_OK);
    assert_true(c.both == 1 && c.library.count == 0);
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

/* What db compare --json prints, to the last comma. */
#define CHAINED(problem, us) problem "  simple  " us "  20.00  1.0  1.0  1.0  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune+dependent-0.1.0\n"

/* A problem may have a row with dependent launches beside the plain one: each stands beside its like, the only one of a problem beside any. */
static void rows_of_both_kinds(void **state)
{
    (void)state;
    gs_table_comparison c;
    const char *failed;
    write_text("a.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", "simple", "10.00", "nvidia-h200") CHAINED("f16:64x64x64:tn", "8.00") CHAINED("f16:96x96x96:tn", "7.00"));
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", "simple", "11.00", "nvidia-h200") CHAINED("f16:64x64x64:tn", "9.00") ROW("f16:96x96x96:tn", "simple", "6.00", "nvidia-h200"));
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_OK);
    assert_int_equal(c.count, 3);
    for (int i = 0; i < 3; i++) assert_true(c.pairs[i].a && c.pairs[i].b && c.pairs[i].b->us == (c.pairs[i].a->us == 10 ? 11 : c.pairs[i].a->us == 8 ? 9 : 6));
    gs_tables_compare_free(&c);
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", "simple", "11.00", "nvidia-h200"));
    for (int turned = 0; turned < 2; turned++) {
        assert_int_equal(turned ? compare(&c, "b.tuned", "a.tuned", NULL, &failed) : compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_OK);
        assert_int_equal(c.count, 3);
        int paired = 0;
        for (int i = 0; i < 3; i++) paired += c.pairs[i].a && c.pairs[i].b;
        assert_int_equal(paired, 1);
        gs_tables_compare_free(&c);
    }
}

static void two_tables_as_json(void **state)
{
    gs_table_comparison c;
    const char *failed;
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    (void)state;
    write_text("a.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "10.00", "nvidia-h200") ROW("f16:128x128x128:tn", "simple", "30.00", "nvidia-h200")
                          "f16:8x8x8:tn  magic/1  1\n");
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "20.00", "nvidia-h200") ROW("f16:128x128x128:tn", "simple", "0", "nvidia-h200")
                          ROW("f16:512x512x512:tn", "library", "10.00", "nvidia-h200"));
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_OK);
    assert_true(c.count == 3 && c.untimed == 1 && c.both == 2 && c.alike == 2 && c.all.count == 1 && c.pairs[1].ratio == 0);
    gs_json_begin(&json, NULL, '{');
    gs_tables_pair_put(&json, &c, &c.pairs[0]);
    gs_tables_summary_put(&json, &c);
    gs_json_end(&json, '}');
    assert_string_equal(gs_text_string(&text),
        "{\"problem\":\"f16:64x64x64:tn\",\"a\":{\"choice\":\"" OWN "\",\"us\":10,\"cublaslt_us\":20,\"ratio\":1,\"low\":1,\"high\":1,\"mhz\":1755,\"cublaslt\":130100,"
        "\"date\":\"2026-11-20T12:00:00Z\",\"by\":\"tune-0.1.0\"},\"b\":{\"choice\":\"" OWN "\",\"us\":20,\"cublaslt_us\":20,\"ratio\":1,\"low\":1,\"high\":1,\"mhz\":1755,"
        "\"cublaslt\":130100,\"date\":\"2026-11-20T12:00:00Z\",\"by\":\"tune-0.1.0\"},\"time_ratio\":0.5,\"faster\":\"a\","
        "\"summary\":{\"a\":{\"file\":\"a.tuned\",\"gpu\":\"nvidia-h200\",\"cc\":90,\"sms\":132,\"problems\":2,\"skipped\":1,\"only_here\":0,\"faster\":1},"
        "\"b\":{\"file\":\"b.tuned\",\"gpu\":\"nvidia-h200\",\"cc\":90,\"sms\":132,\"problems\":3,\"skipped\":0,\"only_here\":1,\"faster\":0},"
        "\"both\":2,\"same\":0,\"untimed\":1,\"chose_alike\":2,\"time_ratio\":{\"problems\":1,\"geomean\":0.5},\"time_ratio_where_alike\":{\"problems\":1,\"geomean\":0.5},"
        "\"cublaslt_time_ratio\":{\"problems\":2,\"geomean\":1}}}");
    gs_text_free(&text);
    json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_tables_pair_put(&json, &c, &c.pairs[2]);   /* only B has it */
    gs_json_end(&json, '}');
    assert_non_null(strstr(gs_text_string(&text), "{\"problem\":\"f16:512x512x512:tn\",\"a\":null,\"b\":{\"choice\":\"cublaslt\",\"us\":10,"));
    assert_null(strstr(gs_text_string(&text), "time_ratio"));
    gs_text_free(&text);
    gs_tables_compare_free(&c);
    write_text("a.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", "simple", "10.00", "emu-h200"));
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", "simple", "9.95", "emu-h200"));
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_OK);
    assert_true(c.predicted && c.same == 1);
    json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_tables_pair_put(&json, &c, &c.pairs[0]);
    gs_tables_summary_put(&json, &c);
    gs_json_end(&json, '}');
    assert_non_null(strstr(gs_text_string(&text), "\"faster\":\"same\",\"predicted\":true,\"summary\":"));
    assert_non_null(strstr(gs_text_string(&text), "\"problems\":1,\"geomean\":1},\"predicted\":true}}"));
    gs_text_free(&text);
    gs_tables_compare_free(&c);
}

static void a_trial_as_json(void **state)
{
    gs_trial trial = {.us = 5, .library_us = 10, .ratio = 2, .low = 1.5, .high = 2.5, .predicted_us = 4, .rounds = 31, .registers = 168, .smem = 1024, .mhz = 1755, .verdict = "pass",
                      .reason = "none", .stage = "final", .problem = "f16:64x64x64:tn", .candidate = OWN, .date = "2026-11-20T12:00:00Z"};
    gs_text text = {0};
    (void)state;
    gs_trial_object(&text, &trial, "nvidia-h200");
    assert_string_equal(gs_text_string(&text),
        "{\"problem\":\"f16:64x64x64:tn\",\"candidate\":\"" OWN "\",\"gpu\":\"nvidia-h200\",\"verdict\":\"pass\",\"reason\":\"none\",\"stage\":\"final\",\"predicted_us\":4,"
        "\"us\":5,\"cublaslt_us\":10,\"ratio\":2,\"low\":1.5,\"high\":2.5,\"rounds\":31,\"registers\":168,\"smem\":1024,\"mhz\":1755,\"date\":\"2026-11-20T12:00:00Z\"}");
    gs_text_clear(&text);
    gs_trial_object(&text, &trial, "emu-h200");
    assert_non_null(strstr(gs_text_string(&text), "\"us\":5,\"predicted\":true,\"cublaslt_us\":10,"));
    gs_text_free(&text);
}

static void hear(void *self, int level, const char *text)
{
    assert_int_equal(level, GS_LOG_WARNING);
    snprintf(self, 1024, "%s", text);
}

static void what_cannot_be_compared_is_said(void **state)
{
    char said[1024] = "", name[80];
    gs_table_comparison c;
    const char *failed = "";
    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof c.side[0].gpu] = '\0';
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", name, &failed), GS_ERROR_ARGUMENT);   /* a character too long */
    assert_string_equal(error.field, "gpu");
    assert_null(failed);
    gs_tables_compare_free(&c);
    write_text("a.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "10.00", "nvidia-h200") "f16:8x8x8:tn  magic/1  1\nf16:9x9x9:tn  magic/1  1\n");
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "10.00", "nvidia-h200")
                          "f16:64x64x32:tn  simple  10  20.00  1.0  1.0  1.0  1755  nvidia-h200  90  78  130100  2026-11-20T12:00:00Z  tune-0.1.0\n");
    assert_int_equal(compare(&c, "a.tuned", "b.tuned", NULL, &failed), GS_OK);
    assert_true(c.side[1].others == 1 && c.count == 1);   /* of another H200 */
    gs_log_set_sink(&c, hear, said, GS_LOG_WARNING);
    gs_tables_warn(&c);
    gs_log_drop_sink(&c);
    assert_non_null(strstr(said, "a.tuned: 2 rows skipped (the first: "));
    gs_tables_compare_free(&c);
    assert_null(c.pairs);
    assert_null(c.side[0].table);
}

/* Each allocation fails in turn: a comparison without a row is none. */
static void without_memory_nothing_is_compared(void **state)
{
    enum { MOST = 200 };
    gs_table_comparison c;
    const char *failed;
    int n = 1, said = 0;
    (void)state;
    write_text("a.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "10.00", "nvidia-h200"));
    write_text("b.tuned", "gemmsmith-tuned 1\n" ROW("f16:64x64x64:tn", OWN, "20.00", "nvidia-h200"));
    for (bool over = false; !over && n < MOST; n++) {
        fail_at = n;
        const gs_status status = compare(&c, "a.tuned", "b.tuned", NULL, &failed);
        over = !allocation_failed();
        assert_true(status == GS_OK ? c.both == 1 : error.text[0] != '\0');
        said += status != GS_OK;
        gs_tables_compare_free(&c);
    }
    assert_true(n < MOST && said >= 3);
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

    error = (gs_error){0};
    assert_int_equal(gs_winners_import(b->session.store, "absent.tuned", &taken, &skipped, &first, &error), GS_ERROR_NOT_FOUND);
    assert_string_equal(error.text, first.text);
    assert_true(*error.text != '\0');
    write_text("in.tuned", "nonsense\n");
    assert_int_equal(gs_winners_import(b->session.store, "in.tuned", &taken, &skipped, &first, &error), GS_ERROR_CORRUPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(two_tables), TEST(rows_of_both_kinds), TEST(two_tables_as_json), TEST(a_trial_as_json), TEST(what_cannot_be_compared_is_said), TEST(without_memory_nothing_is_compared), TEST(winners_to_a_table_and_back)};
    return run_without_leaks("compare/tables", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Rows: what a worker's reply becomes, the file of rows that a run goes on behind, and the figures over many of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "allocations.h"
#include "compare/reply.h"
#include "compare/rows.h"
#include "compare/totals.h"
#include "comparing.h"
#include "leaks.h"

static gs_error error;

/* A row of a reply of this problem. */
static void row_of(bench *b, gs_result *row, const char *text, double own_us, double reference_us, bool wrong)
{
    gs_problem problem;
    assert_int_equal(gs_problem_parse(&problem, text, NULL), GS_OK);
    write_reply("plan", own_us, reference_us, wrong);
    json_t *const reply = json_loads(read_text("bench.json"), 0, NULL);
    assert_non_null(reply);
    gs_reply_complete(reply, &(gs_reply_context){.session = &b->session, .problem = &problem, .title = text, .cache = "cold", .own = GS_RESULT_PLAN, .seed = 7});
    assert_int_equal(gs_result_read(row, reply, &error), GS_OK);
}

static void a_reply_becomes_a_row(void **state)
{
    bench *const b = *state;
    gs_result row;
    row_of(b, &row, "f16:1024x1024x1024:nn", 200, 210, false);
    assert_int_equal(row.count, 4);
    assert_true(row.entry[0].own && !row.entry[1].own && row.entry[0].compared);
    assert_true(fabs(row.entry[0].ratio.median - 1.05) < 0.01 && fabs(row.entry[2].ratio.median - 1.02) < 0.01);   /* each in its own layout */
    assert_true(row.best_compared && row.best_own == 0 && row.best_reference == 1);
    assert_true(row.floor_us > 0 && !row.server && !row.predicted && !row.dependent);
    char mode[GS_RESULT_MODE];
    assert_string_equal(gs_result_mode(&row, mode), "offline");
    assert_string_equal(json_string_value(json_object_get(row.json, "commit")), "c0");
    assert_string_equal(json_string_value(json_object_get(row.json, "command")), "test");
    assert_null(json_object_get(row.json, "ok"));
    gs_result_free(&row);
}

static void what_is_no_row(void **state)
{
    static const char *const bad[] = {"{}", "{\"contenders\":[],\"band\":9,\"title\":\"t\",\"problem\":\"f16:64x64x64:tn\"}",
                                      "{\"contenders\":[],\"band\":1,\"title\":\"t\",\"problem\":\"f16:64\"}"};
    gs_result row;
    (void)state;
    for (size_t i = 0; i < GS_COUNT(bad); i++) assert_int_equal(gs_result_read(&row, json_loads(bad[i], 0, NULL), &error), GS_ERROR_CORRUPT);
}

static void add(bench *b, gs_rows_file *rows, const char *problem)
{
    gs_result row;
    row_of(b, &row, problem, 200, 210, false);
    assert_int_equal(gs_rows_file_add(rows, &row, &error), GS_OK);
    gs_result_free(&row);
}

static bool have(const gs_rows_file *rows, const char *text, const char *mode)
{
    gs_problem problem;
    assert_int_equal(gs_problem_parse(&problem, text, NULL), GS_OK);
    return gs_rows_file_have(rows, &problem, mode);
}

static void a_file_goes_on(void **state)
{
    bench *const b = *state;
    gs_rows_file rows;
    assert_int_equal(gs_rows_file_open(&rows, "rows.csv", false, &b->session, &error), GS_OK);
    assert_false(have(&rows, "f16:64x64x64:tn", "offline"));
    add(b, &rows, "f16:64x64x64:nn");
    add(b, &rows, "f16:128x128x128:nn");
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);
    assert_int_equal(lines_of("rows.csv"), 3 + 8);
    assert_non_null(strstr(read_text("rows.csv"), "problem,mode,cache,layout,contender,choice,device_us,ratio"));
    assert_non_null(strstr(read_text("rows.csv"), "\n\"f16:64x64x64:tn\",offline,cold,tn,own,"));

    assert_int_equal(gs_rows_file_open(&rows, "rows.csv", false, &b->session, &error), GS_OK);
    assert_true(have(&rows, "f16:64x64x64:nn", "offline") && have(&rows, "f16:128x128x128:tn", "offline"));   /* in whatever layout */
    assert_false(have(&rows, "f16:64x64x64:nn", "server") || have(&rows, "f16:64x64x6:nn", "offline") || have(&rows, "bf16:64x64x64:nn", "offline"));
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);

    assert_int_equal(gs_rows_file_open(&rows, "rows.csv", true, &b->session, &error), GS_OK);   /* anew */
    assert_false(have(&rows, "f16:64x64x64:nn", "offline"));
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);
    assert_int_equal(lines_of("rows.csv"), 3);
}

/* Where no best of all was compared, ours and the reference of its layout are marked, and no other. */
static void the_best_of_a_layout_is_marked(void **state)
{
    static const int marked[] = {1, 1, 0, 0};   /* ours and theirs of nn, then of tn */
    bench *const b = *state;
    gs_rows_file rows;
    gs_result row;
    row_of(b, &row, "f16:64x64x64:nn", 200, 210, false);
    row.best_compared = false;
    assert_true(row.count == 4 && row.entry[0].device_us < row.entry[2].device_us);
    assert_int_equal(gs_rows_file_open(&rows, "rows.csv", true, &b->session, &error), GS_OK);
    assert_int_equal(gs_rows_file_add(&rows, &row, &error), GS_OK);
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);
    gs_result_free(&row);
    const char *at = strstr(read_text("rows.csv"), ",is_best,");
    for (size_t i = 0; i < GS_COUNT(marked); i++) {
        assert_non_null(at = strchr(at, '\n'));
        for (int column = 0; column < 10; column++) assert_non_null(at = strchr(at + 1, ','));
        assert_int_equal(at[1] - '0', marked[i]);
    }
}

static void a_line_that_was_cut_off_does_not_count(void **state)
{
    bench *const b = *state;
    gs_rows_file rows;
    write_text("rows.csv", "# head\nproblem,mode\n\"f16:64x64x64:nn\",offline,cold\n\"f16:128x128x128:nn\",offl");
    assert_int_equal(gs_rows_file_open(&rows, "rows.csv", false, &b->session, &error), GS_OK);
    assert_true(have(&rows, "f16:64x64x64:nn", "offline"));
    assert_false(have(&rows, "f16:128x128x128:nn", "offline"));
    add(b, &rows, "f16:128x128x128:nn");
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);
    assert_non_null(strstr(read_text("rows.csv"), "offl\n# NVIDIA H200"));   /* the next one begins a line */
    assert_int_equal(gs_rows_file_open(&rows, "rows.csv", false, &b->session, &error), GS_OK);
    assert_true(have(&rows, "f16:128x128x128:nn", "offline"));
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);
    assert_int_equal(gs_rows_file_open(&rows, "absent/rows.csv", false, &b->session, &error), GS_ERROR_IO);
    for (int again = 0; again < 2; again++) {   /* what is no file of rows is neither written on nor emptied */
        write_text("list.txt", "f16:64x64x64:tn\n");
        assert_int_equal(gs_rows_file_open(&rows, "list.txt", again, &b->session, &error), GS_ERROR_CORRUPT);
        assert_string_equal(read_text("list.txt"), "f16:64x64x64:tn\n");
    }
}

/* Without memory nothing counts as done, and what stands in the file stays. */
static void no_memory_for_rows(void **state)
{
    bench *const b = *state;
    gs_rows_file rows;
    int failures = 0;
    write_text("rows.csv", "# head\nproblem,mode\n\"f16:64x64x64:nn\",offline,cold\n");
    for (int at = 1;; at++) {
        fail_at = at;
        const gs_status status = gs_rows_file_open(&rows, "rows.csv", false, &b->session, &error);
        const bool reached = allocation_failed();
        if (status != (reached ? GS_ERROR_MEMORY : GS_OK)) fail_msg("allocation %d: %s: %s", at, gs_status_name(status), error.text);
        failures += reached;
        if (!reached) break;
    }
    assert_true(failures >= 2);
    failures = 0;
    for (bool reached = true; reached; failures += reached) {
        fail_at = failures + 1;
        const bool there = have(&rows, "f16:64x64x64:nn", "offline");
        reached = allocation_failed();
        fail_at = failures + 1;
        const bool absent = have(&rows, "f16:64x64x128:nn", "offline");
        assert_true(allocation_failed() == reached);
        assert_true(there == !reached && !absent);
    }
    assert_true(failures >= 1);
    assert_int_equal(gs_rows_file_close(&rows, &error), GS_OK);
    assert_non_null(strstr(read_text("rows.csv"), "\"f16:64x64x64:nn\",offline,cold\n"));
}

static void figures_over_many_rows(void **state)
{
    bench *const b = *state;
    gs_totals totals = {0};
    gs_totals_figures f;
    const double us[] = {100, 210, 400};
    assert_false(gs_totals_of(&totals, GS_TOTALS_NN, -1, &f));
    for (size_t i = 0; i < GS_COUNT(us); i++) {
        gs_result row;
        row_of(b, &row, "f16:1024x1024x1024:nn", us[i], 200, i == 2);
        gs_totals_add(&totals, &row);
        gs_result_free(&row);
    }
    assert_int_equal(totals.problems, 3);
    assert_int_equal(totals.wrong, 1);
    assert_true(gs_totals_of(&totals, GS_TOTALS_NN, -1, &f));
    assert_true(f.faster == 1 && f.slower >= 1 && fabs(f.worst - (f.count == 3 ? 0.5 : 200.0 / 210)) < 0.01);
    assert_true(gs_totals_of(&totals, GS_TOTALS_TN, -1, &f));
    assert_int_equal(f.count, 3);
    assert_true(f.worst < f.median && f.median < f.mean * 1.5);
    assert_false(gs_totals_of(&totals, GS_TOTALS_TN, 5, &f));   /* none of that size */
    gs_totals_free(&totals);
    assert_null(totals.points);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(a_reply_becomes_a_row), TEST(what_is_no_row), TEST(a_file_goes_on), TEST(the_best_of_a_layout_is_marked), TEST(a_line_that_was_cut_off_does_not_count), TEST(figures_over_many_rows), TEST(no_memory_for_rows),
    };
    return run_without_leaks("compare/rows", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Proves the edges of a tuned table: the order of its rows, which rows are kept apart, and the ends of what its numbers and words may be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "table/table.h"
#include "texts.h"

#define HEAD "gemmsmith-tuned 1\n"

static gs_row row_of(const char *problem, const char *gpu, int cc, int sms)
{
    gs_row row = {.us = 1, .library = 1, .cc = cc, .sms = sms, .by = "b"};
    row.problem = problem_of(problem);
    snprintf(row.gpu, sizeof row.gpu, "%s", gpu);
    return row;
}

/* The table's text, read again. */
static gs_table *again(const gs_table *table)
{
    gs_text text = {0};
    gs_table *out;
    gs_error error;
    int skipped;
    gs_table_format(table, &text);
    assert_int_equal(gs_table_create(&out), GS_OK);
    assert_int_equal(gs_table_read(out, text.data, NULL, &skipped, &error), GS_OK);
    if (skipped) fail_msg("%s", error.text);
    gs_text_free(&text);
    return out;
}

/* Each row differs from the one before in the next thing that counts, and is before it in what counts less. */
static void the_order_is_total(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *gpu;
        int         cc, sms;
    } sorted[] = {
        {"f16:512x512x512:nn:d=f32:b=2",  "z", 90, 132}, {"f16:256x512x512:tn:acc=f16:b=2", "z", 90, 132}, {"f16:128x512x512:tn:b=2", "z", 90, 132},
        {"f16:64x512x512:tn:d=f32:b=2",   "z", 90, 132}, {"f16:128x256x512:tn:d=f32:b=2",   "z", 90, 132}, {"f16:128x512x256:tn:d=f32:b=2", "z", 90, 132},
        {"f16:128x512x512:tn:d=f32",      "z", 90, 132}, {"f16:128x512x512:tn:d=f32:b=2",   "b", 90, 132}, {"f16:128x512x512:tn:d=f32:b=2", "c", 80, 132},
        {"f16:128x512x512:tn:d=f32:b=2",  "c", 90, 100}, {"f16:128x512x512:tn:d=f32:b=2",   "c", 90, 132}, {"bf16:64x64x64:nn", "a", 80, 1},
    };
    enum { ROWS = (int)GS_COUNT(sorted) };
    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    for (int i = 0; i < ROWS; i++) {
        const int from = i * 5 % ROWS;
        const gs_row row = row_of(sorted[from].problem, sorted[from].gpu, sorted[from].cc, sorted[from].sms);
        assert_int_equal(gs_table_put(table, &row), GS_OK);
    }
    gs_table *read = again(table);
    assert_int_equal(gs_table_size(read), ROWS);   /* also those that differ in the device alone */
    for (int i = 0; i < ROWS; i++) {
        char text[GS_PROBLEM_TEXT];
        const gs_row *const row = gs_table_row(read, i);
        assert_string_equal(gs_problem_format(&row->problem, text), sorted[i].problem);
        assert_string_equal(row->gpu, sorted[i].gpu);
        assert_int_equal(row->cc, sorted[i].cc);
        assert_int_equal(row->sms, sorted[i].sms);
    }
    gs_table_destroy(&read);
    gs_table_destroy(&table);
}

/* What no reader would take is written as what is nearest. */
static void written_numbers_have_ends(void **state)
{
    (void)state;
    static const struct {
        double value, us, ratio;   /* three and four decimals */
    } cases[] = {
        {0, 0, 0}, {-1, 0, 0}, {NAN, 0, 0}, {INFINITY, 0, 0}, {0.00004, 0, 0}, {0.00006, 0, 0.0001}, {0.0004, 0, 0.0004}, {0.0006, 0.001, 0.0006}, {1.99999, 2, 2},
        {7.0625, 7.063, 7.0625}, {1e11, 1e11, 1e11}, {1e12, 1e12, 1e11}, {1e300, 1e12, 1e11},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_table *table;
        gs_row row = row_of("f16:64x64x64:nn", "g", 90, -1);
        row.us = row.ratio = cases[i].value;
        assert_int_equal(gs_table_create(&table), GS_OK);
        assert_int_equal(gs_table_put(table, &row), GS_OK);
        gs_table *read = again(table);
        const gs_row *const have = gs_table_row(read, 0);
        if (have->us != cases[i].us || have->ratio != cases[i].ratio) fail_msg("%g: %.17g and %.17g", cases[i].value, have->us, have->ratio);
        assert_int_equal(have->sms, 0);
        gs_table_destroy(&read);
        gs_table_destroy(&table);
    }
}

static gs_status status_of(const char *format, const char *cell)
{
    gs_text text = {0};
    gs_table *table;
    gs_error error = {0};
    gs_text_add(&text, HEAD);
    gs_text_add_bytes(&text, format, strcspn(format, "%"));
    gs_text_addf(&text, "%s%s\n", cell, strchr(format, '%') + 1);
    assert_int_equal(gs_table_create(&table), GS_OK);
    assert_int_equal(gs_table_read(table, text.data, NULL, NULL, &error), GS_OK);
    assert_int_equal(gs_table_size(table), error.status == GS_OK);
    gs_table_destroy(&table);
    gs_text_free(&text);
    return error.status;
}

static void read_cells_have_ends(void **state)
{
    (void)state;
    static const char in_us[] = "f16:64x64x64:nn cublaslt % 1 1 1 1 1 g 90 132 1 - b", in_mhz[] = "f16:64x64x64:nn cublaslt 1 1 1 1 1 % g 90 132 1 - b",
                      in_gpu[] = "f16:64x64x64:nn cublaslt 1 1 1 1 1 1 % 90 132 1 - b", in_problem[] = "% cublaslt 1 1 1 1 1 1 g 90 132 1 - b",
                      in_by[] = "f16:64x64x64:nn cublaslt 1 1 1 1 1 1 g 90 132 1 - b%";
    char longest[GS_PROBLEM_TEXT + 1], gpu[sizeof ((gs_row *)0)->gpu + 1];
    memset(longest, 'x', sizeof longest);
    longest[GS_PROBLEM_TEXT] = '\0';
    memset(gpu, 'x', sizeof gpu);
    gpu[sizeof gpu - 1] = '\0';
    const struct {
        const char *format, *cell;
        gs_status   status;
    } cases[] = {
        {in_us, "0", GS_OK},      {in_us, "1e-6", GS_OK},       {in_us, "9.9e-7", GS_ERROR_PARSE},     {in_us, "1e12", GS_OK}, {in_us, "1.1e12", GS_ERROR_PARSE}, {in_us, "1x", GS_ERROR_PARSE},
        {in_mhz, "0", GS_OK},     {in_mhz, "-1", GS_ERROR_PARSE}, {in_mhz, "2147483647", GS_OK},       {in_mhz, "2147483648", GS_ERROR_PARSE}, {in_mhz, "1x", GS_ERROR_PARSE},
        {in_gpu, gpu, GS_ERROR_RANGE}, {in_gpu, gpu + 1, GS_OK}, {in_gpu, "\x1f", GS_ERROR_PARSE}, {in_gpu, "g\x1f", GS_ERROR_PARSE}, {in_gpu, "!", GS_OK},
        {in_problem, longest, GS_ERROR_RANGE}, {in_problem, longest + 1, GS_ERROR_PARSE}, {in_by, " \t\r", GS_OK}, {in_by, " c", GS_ERROR_PARSE}, {in_by, "\tc", GS_ERROR_PARSE},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_status status = status_of(cases[i].format, cases[i].cell);
        if (status != cases[i].status) fail_msg("case %zu, %.20s: %d", i, cases[i].cell, (int)status);
    }
}

/* Measured on a device, its own kernel, and nothing beside it. */
static void rows_that_stand_alone(void **state)
{
    (void)state;
    static const struct {
        gs_row row;
        bool   predicted, alone;
    } cases[] = {
        {{.gpu = "g"}, false, true},                     {{.gpu = "g", .library = 1}, false, false}, {{.gpu = "g", .library_us = 1e-6}, false, false},
        {{.gpu = "g", .ratio = 0.5}, false, false},      {{.gpu = "emu-h200"}, true, false},         {{.gpu = "emu-"}, true, false},
        {{.gpu = "emu"}, false, true},                   {{.gpu = "nemu-h200"}, false, true},        {{.gpu = "g", .library_us = NAN, .ratio = NAN}, false, true},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        assert_int_equal(gs_row_predicted(&cases[i].row), cases[i].predicted);
        assert_int_equal(gs_row_alone(&cases[i].row), cases[i].alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_total),
        cmocka_unit_test(written_numbers_have_ends),
        cmocka_unit_test(read_cells_have_ends),
        cmocka_unit_test(rows_that_stand_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

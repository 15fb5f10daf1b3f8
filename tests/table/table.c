/* SPDX-License-Identifier: MIT
 * Proves that tuned tables round-trip, skip what they must and nothing else, find and approximate problems, and survive any
 * input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "table/table.h"
#include "texts.h"

#define HEAD  "gemmsmith-tuned 1\n"
#define TAIL  " 1755 nvidia-h200 90 132 130100 2026-11-20T12:00:00Z tune-0.1.0\n"
#define TIMES " 196.200 199.100 1.0150 1.0120 1.0170"
#define WS    "ws/128x256x64/s4/c2x1/coop/g8"

static gs_table *read_table(const char *text, const gs_caps *caps, int want_skipped)
{
    gs_table *table;
    gs_error error;
    int skipped = -1;
    assert_int_equal(gs_table_create(&table), GS_OK);
    assert_int_equal(gs_table_read(table, text, caps, &skipped, &error), GS_OK);
    if (skipped != want_skipped) fail_msg("skipped %d rows: %s", skipped, error.text);
    return table;
}

static const gs_row *find(const gs_table *table, const char *text)
{
    const gs_problem problem = problem_of(text);
    return gs_table_find(table, &problem);
}

static gs_row make_row(const char *problem, const char *schedule)
{
    gs_row row = {.us = 1.25, .library_us = 1.5, .ratio = 1.2, .low = 1.1, .high = 1.3, .mhz = 1755, .gpu = "nvidia-h200",
                  .cc = 90, .sms = 132, .cublaslt = 130100, .date = "2026-11-20T12:00:00Z", .by = "tune-0.1.0"};
    row.problem = problem_of(problem);
    row.library = gs_library_parse(schedule);
    if (!row.library) assert_int_equal(gs_schedule_parse(&row.schedule, schedule, NULL), GS_OK);
    return row;
}

static void reads_every_column(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "# a comment\n\n  \t\n   # another\nf16:4096x4096x4096:tn\t" WS TIMES TAIL
                                 "bf16:257x4096x4096:nn:d=f32:lda=4104:beta=0.5 library 1 2 3 4 5 0 nvidia-h200 90 132 0 - -\r\n",
                                 gs_caps_find("h200"), 0);
    assert_int_equal(gs_table_size(table), 2);
    const gs_row *row = find(table, "f16:4096x4096x4096:tn");
    assert_non_null(row);
    assert_ptr_equal(row, gs_table_row(table, 0));
    char schedule[GS_SCHEDULE_TEXT];
    assert_string_equal(gs_schedule_format(&row->schedule, schedule), WS);
    assert_false(row->library);
    assert_true(row->us == 196.2 && row->library_us == 199.1 && row->ratio == 1.015 && row->low == 1.012 && row->high == 1.017);
    assert_int_equal(row->mhz, 1755);
    assert_string_equal(row->gpu, "nvidia-h200");
    assert_int_equal(row->cc * 1000 + row->sms, 90132);
    assert_int_equal(row->cublaslt, 130100);
    assert_string_equal(row->date, "2026-11-20T12:00:00Z");
    assert_string_equal(row->by, "tune-0.1.0");
    row = gs_table_row(table, 1);
    assert_true(row->library);
    assert_true(row->problem.beta == 1);
    assert_string_equal(row->by, "");
    assert_null(gs_table_row(table, 2));
    assert_null(gs_table_row(table, -1));
    gs_table_destroy(&table);
    assert_null(table);
    gs_table_destroy(&table);
}

static void suggestions_have_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int         number;
    } forms[] = {{"cublaslt", 1}, {"cublaslt/2", 2}, {"cublaslt/200", 200}, {"cublaslt/0", 0}, {"cublaslt/201", 0}, {"cublaslt/-1", 0},
                 {"cublaslt/", 0}, {"cublaslt/2x", 0}, {"cublaslt2", 0}, {"cublaslt-autotuning", 0}, {"", 0}, {"simple", 0},
                 {"library", 1}, {"library/7", 7}, {"library/0", 0}, {"library2", 0}};   /* "library": in older files */
    for (size_t i = 0; i < GS_COUNT(forms); i++) assert_int_equal(gs_library_parse(forms[i].text), forms[i].number);
    char text[GS_SCHEDULE_TEXT];
    assert_string_equal(gs_row_choice(&(gs_row){.library = 1}, text), "cublaslt");
    assert_string_equal(gs_row_choice(&(gs_row){.library = 7}, text), "cublaslt/7");
    gs_row user = {0};
    assert_true(gs_kernel_parse("source:00112233445566778899aabbccddeeff", user.kernel));
    assert_string_equal(gs_row_choice(&user, text), "kernel/00112233445566778899aabbccddeeff");
    assert_true(gs_kernel_parse(text, user.kernel));
    assert_false(gs_kernel_parse("kernel/00112233", user.kernel));
}

static void round_trips_sorted_and_aligned(void **state)
{
    (void)state;
    static const char *const problems[] = {"bf16:64x64x64:nn", "f16:4096x64x64:tn", "f16:64x64x64:tn:acc=f16", "f16:512x64x64:tn",
                                           "f16:512x8x64:tn", "f16:64x64x64:nn", "f16:512x64x64:tn:b=3",
                                           "f16:512x64x64:tn:beta=1"};
    static const char *const sorted[] = {"f16:64x64x64:nn", "f16:64x64x64:tn:acc=f16", "f16:512x8x64:tn",
                                         "f16:512x64x64:tn", "f16:512x64x64:tn:b=3", "f16:512x64x64:tn:beta=1",
                                         "f16:4096x64x64:tn", "bf16:64x64x64:nn"};
    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        gs_row row = make_row(problems[i], i % 3 == 1 ? "cublaslt" : i % 3 == 2 ? "cublaslt/3" : "simple");
        row.us = 0.125 + 1000.5 * (double)i;
        assert_int_equal(gs_table_put(table, &row), GS_OK);
    }
    gs_text first = {0}, second = {0};
    gs_table_format(table, &first);
    gs_table *again = read_table(first.data, gs_caps_find("h200"), 0);
    assert_int_equal(gs_table_size(again), GS_COUNT(problems));
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        char text[GS_PROBLEM_TEXT];
        const gs_row *const row = gs_table_row(again, (int)i);
        assert_string_equal(gs_problem_format(&row->problem, text), sorted[i]);
        const gs_row *const before = find(table, sorted[i]);
        assert_true(before->us == row->us && before->ratio == row->ratio && before->library == row->library);
        assert_memory_equal(&before->schedule, &row->schedule, sizeof row->schedule);
    }
    gs_table_format(again, &second);
    assert_string_equal(first.data, second.data);

    /* every column begins at the same place in every line below the title, which follows the checksum */
    assert_int_equal(strncmp(strchr(first.data, '\n') + 1, "# checksum ", 11), 0);
    const char *const title = strchr(strchr(first.data, '\n') + 1, '\n') + 1, *const gpu = strstr(title, "gpu");
    int lines = 0;
    for (const char *line = strchr(title, '\n') + 1; *line; line = strchr(line, '\n') + 1, lines++) {
        assert_memory_equal(line + (gpu - title), "nvidia-h200 ", 12);
        assert_int_not_equal(strchr(line, '\n')[-1], ' ');
    }
    assert_int_equal(lines, GS_COUNT(problems));
    gs_text_free(&first);
    gs_text_free(&second);
    gs_table_destroy(&table);
    gs_table_destroy(&again);
}

/* Faults that are told of a text: of its rows, of its checksum, or that it is no table at all. */
static int faults_of(const char *text)
{
    gs_table *table;
    gs_error error = {0};
    int skipped = 0;
    assert_int_equal(gs_table_create(&table), GS_OK);
    const gs_status status = gs_table_read(table, text, NULL, &skipped, &error);
    gs_table_destroy(&table);
    return skipped + (status != GS_OK);
}

/* Any change of a row that was written is told, also one that leaves a good row; what people do to a text is not. */
static void damage_is_told(void **state)
{
    (void)state;
    gs_table *table;
    gs_text text = {0};
    gs_error error;
    int skipped;
    assert_int_equal(gs_table_create(&table), GS_OK);
    const gs_row rows[] = {make_row("f16:64x64x64:nn", "simple"), make_row("f16:512x64x64:tn", "cublaslt/3"), make_row("bf16:8x64x64:tn", "simple")};
    for (size_t i = 0; i < GS_COUNT(rows); i++) assert_int_equal(gs_table_put(table, &rows[i]), GS_OK);
    gs_table_format(table, &text);
    assert_int_equal(faults_of(text.data), 0);
    char *const title = strchr(strchr(text.data, '\n') + 1, '\n') + 1, *const first = strchr(title, '\n') + 1;
    for (char *p = first; *p; p++) {
        const char before = *p;
        *p = before == '7' ? '8' : '7';
        if (faults_of(text.data) == 0) fail_msg("a change of byte %d is not told", (int)(p - text.data));
        *p = before;
    }
    for (char *p = strchr(first, '\n'); *p; p++) {   /* cut off */
        const char before = p[1];
        p[1] = '\0';
        if (before && (before != '\n' || p[2]) && faults_of(text.data) == 0) fail_msg("an end at byte %d is not told", (int)(p - text.data));
        p[1] = before;
    }
    char *const digit = strstr(text.data, "# checksum ") + 11;
    *digit = *digit == '1' ? '2' : '1';
    assert_int_equal(gs_table_read(table, text.data, NULL, &skipped, &error), GS_OK);
    assert_int_equal(skipped, 1);
    assert_int_equal(error.status, GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, "not those that were written"));

    gs_text_clear(&text);   /* comments, blanks at the ends, the line ends of another system; the line taken out */
    gs_table_format(table, &text);
    gs_text other = {0};
    for (const char *p = text.data; *p; p++) gs_text_add_bytes(&other, *p == '\n' ? "  \r\n# said by hand\n" : p, *p == '\n' ? 20 : 1);
    assert_int_equal(faults_of(other.data), 0);
    gs_text_clear(&other);
    gs_text_addf(&other, "%.*s%s", (int)strcspn(text.data, "\n") + 1, text.data, strstr(text.data, "# problem"));
    strstr(other.data, "f16:64")[4] = '9';
    assert_int_equal(faults_of(other.data), 0);
    gs_text_free(&other);
    gs_text_free(&text);
    gs_table_destroy(&table);
}

static void words_of_callers_stay_one_word(void **state)
{
    (void)state;
    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    gs_row row = make_row("f16:64x64x64:nn", "simple");
    snprintf(row.gpu, sizeof row.gpu, "a gpu\n# 1");
    row.by[0] = '\0';
    row.us = -1;
    row.ratio = 1e300;
    assert_int_equal(gs_table_put(table, &row), GS_OK);
    gs_text text = {0};
    gs_table_format(table, &text);
    gs_table *again = read_table(text.data, NULL, 0);
    assert_int_equal(gs_table_size(again), 1);
    assert_string_equal(gs_table_row(again, 0)->gpu, "a_gpu_#_1");
    assert_string_equal(gs_table_row(again, 0)->by, "");
    assert_true(gs_table_row(again, 0)->us == 0);
    gs_text_free(&text);
    gs_table_destroy(&table);
    gs_table_destroy(&again);
}

static void a_bad_row_costs_only_itself(void **state)
{
    (void)state;
    static const struct {
        const char *row, *field, *place;   /* the error stands where this part of the row begins */
    } bad[] = {
        {"f16:4096x40q6x4096:tn " WS TIMES TAIL,                                        "k",          "q6x"},
        {"f16:64x64x64:tn ws/128x256x64/s99/c2x1/coop/g8" TIMES TAIL,                   "stages",     "s99"},
        {"f16:64x64x64:tn " WS " 196,2 199.1 1.0150 1.0120 1.0170" TAIL,                "us",         "196,2"},
        {"f16:64x64x64:tn " WS " 196.2 -1 1.0150 1.0120 1.0170" TAIL,                   "cublaslt_us", "-1"},
        {"f16:64x64x64:tn " WS " 196.2 1 1e999 1.0120 1.0170" TAIL,                     "ratio",      "1e999"},
        {"f16:64x64x64:tn " WS " nan 1 1 1.0120 1.0170" TAIL,                           "us",         "nan"},
        {"f16:64x64x64:tn " WS " 1e-300 1 1 1.0120 1.0170" TAIL,                        "us",         "1e-300"},
        {"f16:64x64x64:tn " WS " 196.2 1e13 1 1.0120 1.0170" TAIL,                      "cublaslt_us", "1e13"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1 nvidia-h200 90 132 130100 9999-99-99 b\n", "date",       "9999-99-99"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1 nvidia-h200 90 132 130100 2026-11-20T12:60:00Z b\n", "date", "2026-11-20T12"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1.5 nvidia-h200 90 132 130100 - b\n",        "mhz",        "1.5"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1 nvidia-h200 90 99999999999 130100 - b\n",  "sms",        "99999999999"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1 nvidia-h200 90 132 130100 2026-01-31\n",         "by",         "\n"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1 nvidia-h200 90 132 130100 2026-01-31 b extra\n", "",           "extra"},
        {"f16:64x64x64:tn simple 1 1 1 1 1 1 an-extremely-long-name-of-a-gpu-that-nobody-ever-made 90 132 1 2026-01-31 b\n", "gpu",
         "an-extremely"},
    };
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        gs_text text = {0};
        gs_text_addf(&text, HEAD "f16:64x64x128:tn simple" TIMES TAIL "%sf16:64x64x256:tn simple" TIMES TAIL, bad[i].row);
        gs_table *table;
        gs_error error;
        int skipped;
        assert_int_equal(gs_table_create(&table), GS_OK);
        assert_int_equal(gs_table_read(table, text.data, gs_caps_find("h200"), &skipped, &error), GS_OK);
        assert_int_equal(skipped, 1);
        assert_int_equal(gs_table_size(table), 2);
        if (!strstr(error.text, "line 3: ")) fail_msg("row %zu: %s", i, error.text);
        const int column = (int)(strstr(bad[i].row, bad[i].place) - bad[i].row) + 1;
        if (strcmp(error.field, bad[i].field) != 0 || error.column != column)
            fail_msg("row %zu: %s, column %d: %s", i, error.field, error.column, error.text);
        gs_text_free(&text);
        gs_table_destroy(&table);
    }
}

static void the_first_error_is_the_one_told(void **state)
{
    (void)state;
    gs_table *table;
    gs_error error;
    int skipped;
    assert_int_equal(gs_table_create(&table), GS_OK);
    assert_int_equal(gs_table_read(table, HEAD "\nx\nf16:64x64x256:tn simple" TIMES TAIL "f16:64x64x64:tn nothing" TIMES TAIL,
                                   NULL, &skipped, &error),
                     GS_OK);
    assert_int_equal(skipped, 2);
    assert_non_null(strstr(error.text, "line 3: "));
    assert_int_equal(gs_table_read(table, HEAD, NULL, NULL, &error), GS_OK);
    assert_int_equal(error.status, GS_OK);
    assert_int_equal(gs_table_size(table), 1);
    gs_table_destroy(&table);
}

static void refuses_what_is_no_table(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n", "# only a comment\n", "gemmsmith-tuned\n", "gemmsmith-tuned 2\n",
                                        "gemmsmith-tuned one\n", "gemmsmith-tuned 1x\n", "gemmsmith-tuned1\n", "{\"json\": 1}\n",
                                        "f16:64x64x64:tn simple" TIMES TAIL};
    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_error error;
        assert_int_equal(gs_table_read(table, texts[i], NULL, NULL, &error), GS_ERROR_PARSE);
        assert_int_equal(error.status, GS_ERROR_PARSE);
        const bool versioned = strncmp(texts[i], "gemmsmith-tuned", 15) == 0 && strchr(" \n", texts[i][15]);
        if (versioned) assert_memory_equal(error.text, "tuned table of version \"", strlen("tuned table of version \""));
        else assert_string_equal(error.text, "not a tuned table: it must begin with \"gemmsmith-tuned 1\"");
        assert_int_equal(gs_table_read(table, texts[i], NULL, NULL, NULL), GS_ERROR_PARSE);
    }
    assert_int_equal(gs_table_size(table), 0);
    gs_table_destroy(&table);
}

static void rows_of_other_devices_are_left_out(void **state)
{
    (void)state;
    static const char text[] = HEAD "f16:64x64x64:tn simple" TIMES TAIL
        "f16:64x64x128:tn simple" TIMES " 1755 nvidia-h100 90 132 130100 - b\n"
        "f16:64x64x256:tn simple" TIMES " 1755 nvidia-h200 90 114 130100 - b\n"
        "f16:64x64x512:tn simple" TIMES " 1755 nvidia-h200 80 132 130100 - b\n";
    gs_table *table = read_table(text, gs_caps_find("h200"), 0);
    assert_int_equal(gs_table_size(table), 1);
    assert_non_null(find(table, "f16:64x64x64:tn"));
    assert_null(find(table, "f16:64x64x128:tn"));
    gs_table_destroy(&table);
    table = read_table(text, NULL, 0);
    assert_int_equal(gs_table_size(table), 4);
    gs_table_destroy(&table);
}

/* Nothing is wrong with them, so they are no skipped rows; whoever asks for the log learns where they are. */
static void rows_left_out_are_logged(void **state)
{
    (void)state;
    static const char text[] = HEAD "f16:64x64x64:tn simple" TIMES TAIL
        "f16:64x64x256:tn simple" TIMES " 1755 nvidia-h200 90 114 130100 - b\n"
        "f16:64x64x128:tn simple" TIMES " 1755 nvidia-h100 90 132 130100 - b\n";
    char log[] = "/tmp/gs-table-log-XXXXXX", *said;
    size_t size;
    close(mkstemp(log));
    const int level = gs_log_level();
    for (int asked = GS_LOG_WARNING; asked <= GS_LOG_INFO; asked++) {
        fflush(stderr);
        const int saved = dup(STDERR_FILENO);
        assert_non_null(freopen(log, "w", stderr));
        gs_log_set_level(asked);
        gs_table *table = read_table(text, gs_caps_find("h200"), 0);
        gs_table *all = read_table(text, NULL, 0);
        gs_log_set_level(level);
        fflush(stderr);
        dup2(saved, STDERR_FILENO);
        close(saved);
        assert_int_equal(gs_file_read(log, 10000, &said, &size, NULL), GS_OK);
        if (asked < GS_LOG_INFO) assert_int_equal(size, 0);
        else assert_non_null(strstr(said, "2 rows of other devices left out; the first, line 3, is of nvidia-h200, compute capability 90, 114 "
                                          "multiprocessors; here: nvidia-h200, 90, 132\n"));
        free(said);
        gs_table_destroy(&table);
        gs_table_destroy(&all);
    }
    unlink(log);
}

static void later_rows_replace_earlier_ones(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "f16:64x64x64:tn simple 1 1 1 1 1" TAIL "f16:64x64x128:tn simple 2 1 1 1 1" TAIL
                                 "f16:64x64x64:tn library 3 1 1 1 1" TAIL
                                 "f16:64x64x64:tn library 4 1 1 1 1 1755 other 90 132 1 - b\n", NULL, 0);
    assert_int_equal(gs_table_size(table), 3);
    assert_true(gs_table_row(table, 0)->us == 3 && gs_table_row(table, 0)->library);
    assert_true(gs_table_row(table, 1)->us == 2);
    assert_true(gs_table_row(table, 2)->us == 4);
    assert_true(find(table, "f16:64x64x64:tn")->us == 3);
    const gs_row copy = *gs_table_row(table, 2);
    assert_int_equal(gs_table_put(table, &copy), GS_OK);
    assert_int_equal(gs_table_size(table), 3);
    gs_table_destroy(&table);
}

static void scalars_count_only_as_zero_or_not(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "f16:64x64x64:tn:alpha=2:beta=3 simple 1 1 1 1 1" TAIL
                                 "f16:64x64x64:nn:ldc=72 simple 2 1 1 1 1" TAIL, NULL, 0);
    assert_true(gs_table_row(table, 0)->problem.alpha == 1 && gs_table_row(table, 0)->problem.beta == 1);
    assert_non_null(find(table, "f16:64x64x64:tn:beta=1"));
    assert_non_null(find(table, "f16:64x64x64:tn:alpha=-0.5:beta=-7"));
    assert_null(find(table, "f16:64x64x64:tn"));
    assert_null(find(table, "f16:64x64x64:tn:beta=1:ldc=72"));
    assert_non_null(find(table, "f16:64x64x64:nn"));           /* C is not read: its leading dimension does not count */
    assert_null(find(table, "f16:64x64x64:nn:ldd=72"));
    assert_null(find(table, "f16:64x64x64:nn:b=2"));
    assert_null(find(table, "f16:64x64x64:nn:acc=f16"));
    assert_null(find(table, "f16:64x64x64:nn:d=f32"));
    gs_table_destroy(&table);
}

/* All of one shape, each with a kernel of its own. */
static void what_takes_another_kernel_has_another_row(void **state)
{
    static const char *const problems[] = {
        "bf16:64x128x256:nt", "f16:64x128x256:nt", "bf16:64x128x256:tt", "bf16:64x128x256:nt:beta=1", "bf16:64x128x256:nt:d=f32", "bf16:64x128x256:nt:lda=72", "bf16:64x128x256:nt:ldb=136",
        "bf16:64x128x256:nt:ldd=136", "bf16:64x128x256:nt:beta=1:ldc=136", "bf16:64x128x256:nt:b=4", "bf16:64x128x256:nt:b=4:sa=0", "bf16:64x128x256:nt:b=4:sb=0",
        "bf16:64x128x256:nt:b=4:sd=16384", "bf16:64x128x256:nt:b=4:beta=1:sc=0", "bf16:64x128x256:nt:b=4:matrices=pointers", "bf16:64x128x256:nt:g=4", "bf16:64x128x256:nt:gm=4", "bf16:64x128x256:nt:gk=4",
        "bf16:64x128x256:nt:inv=1", "bf16:64x128x256:nt:scalars=device", "bf16:64x128x256:nt:ep=bias", "bf16:64x128x256:nt:ep=bias_m", "bf16:64x128x256:nt:ep=relu", "bf16:64x128x256:nt:ep=silu",
        "bf16:64x128x256:nt:ep=silu+gate", "bf16:64x128x256:nt:ep=relu+aux", "bf16:64x128x256:nt:ldaux=136:ep=relu+aux", "bf16:64x128x256:nt:b=4:ep=bias", "bf16:64x128x256:nt:b=4:ep=bias:se=136",
        "bf16:64x128x256:nt:beta=1:ep=relu", "bf16:64x128x256:nt:beta=1:ep=relu+residual", "bf16:64x128x256:nt:ep=scale_m", "bf16:64x128x256:nt:ep=scale_n", "bf16:64x128x256:nt:ep=dbias",
    };
    gs_table *table;
    (void)state;
    assert_int_equal(gs_table_create(&table), GS_OK);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        gs_row row = make_row(problems[i], "library");
        row.us = 1 + (double)i;
        if (find(table, problems[i])) fail_msg("%s has the row of another", problems[i]);
        assert_int_equal(gs_table_put(table, &row), GS_OK);
    }
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) assert_true(find(table, problems[i])->us == 1 + (double)i);
    gs_table_destroy(&table);
}

/* With dependent launches a problem with a constant B has a row of its own, which no other call finds. Plain launches are the same with it. */
static void a_constant_b_has_a_dependent_row(void **state)
{
    (void)state;
    gs_table *table;
    gs_problem constant = problem_of("f16:64x128x256:tn:const=b"), varying = problem_of("f16:64x128x256:tn"), near = problem_of("f16:64x128x512:tn"), twin = problem_of("bf16:64x128x256:tn");
    gs_row row = make_row("f16:64x128x256:tn:const=b", "simple");
    assert_int_equal(gs_table_create(&table), GS_OK);
    row.us = 1;
    snprintf(row.by, sizeof row.by, "tune+dependent-1.0.0");
    assert_int_equal(gs_table_put(table, &row), GS_OK);
    assert_int_equal(gs_table_find_dependent(table, &constant)->us, 1);
    assert_int_equal(gs_table_find_dependent(table, &constant)->problem.constant, GS_CONSTANT_B);
    assert_true(!gs_table_find(table, &constant) && !gs_table_find(table, &varying) && !gs_table_find_dependent(table, &varying) && !gs_table_nearest(table, &near, NULL) && !gs_table_twin(table, &twin));
    snprintf(row.by, sizeof row.by, "tune-1.0.0");
    row.us = 2;
    assert_int_equal(gs_table_put(table, &row), GS_OK);
    assert_int_equal(gs_table_size(table), 2);
    assert_true(gs_table_find(table, &constant)->us == 2 && gs_table_find(table, &varying)->us == 2 && gs_table_find(table, &varying)->problem.constant == GS_CONSTANT_NONE);
    assert_int_equal(gs_table_find_dependent(table, &constant)->us, 1);
    gs_text text = {0};
    gs_table *again;
    gs_table_format(table, &text);
    assert_int_equal(gs_table_create(&again), GS_OK);
    assert_int_equal(gs_table_read(again, text.data, NULL, NULL, NULL), GS_OK);
    assert_int_equal(gs_table_size(again), 2);
    assert_int_equal(gs_table_find_dependent(again, &constant)->us, 1);
    gs_text_free(&text);
    gs_table_destroy(&again);
    gs_table_destroy(&table);
}

static void rows_say_who_found_them(void **state)
{
    (void)state;
    static const struct {
        const char *gpu, *version, *left, *by;
    } cases[] = {
        {"nvidia-h200",           "0.1.0+1234abcd",       "nvidia-h200", "tune-0.1.0+1234abcd"},
        {"nvidia-h200+dependent", "0.1.0+1234abcd",       "nvidia-h200", "tune+dependent-0.1.0+1234abcd"},
        {"emu-h200",              "0.1.0",                "emu-h200",    "predict-0.1.0"},
        {"nvidia-h200",           "tune-0.0.9",           "nvidia-h200", "tune-0.0.9"},
        {"nvidia-h200+dependent", "tune+dependent-0.0.9", "nvidia-h200", "tune+dependent-0.0.9"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_row row = {0};
        snprintf(row.gpu, sizeof row.gpu, "%s", cases[i].gpu);
        gs_row_sign(&row, cases[i].version);
        assert_string_equal(row.gpu, cases[i].left);
        assert_string_equal(row.by, cases[i].by);
        assert_int_equal(gs_row_dependent(&row), strchr(cases[i].gpu, '+') != NULL);
    }
}

static const gs_row *nearest(const gs_table *table, const char *text)
{
    const gs_problem problem = problem_of(text);
    return gs_table_nearest(table, &problem, gs_caps_find("h200"));
}

static void nearest_is_near_and_can_run(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "f16:4096x4096x4096:tn " WS " 1 1 1 1 1" TAIL
                                 "f16:1024x4096x4096:tn simple 2 1 1 1 1" TAIL
                                 "f16:3000x4096x4096:tn library 3 1 1 1 1" TAIL
                                 "f16:4096x4096x4096:nn simple 4 1 1 1 1" TAIL
                                 "f16:3000x4096x4096:tn simple 6 1 1 1 1 1755 other 90 132 1 - b\n", NULL, 0);
    /* not the library, not another device */
    assert_true(nearest(table, "f16:3000x4096x4096:tn")->us == 1);
    assert_true(nearest(table, "f16:1500x4096x4096:tn")->us == 2);
    assert_true(nearest(table, "f16:4096x4096x4096:nn")->us == 4);
    assert_true(nearest(table, "f16:4096x4096x4097:tn")->us == 2);        /* K odd: TMA cannot load it */
    assert_true(nearest(table, "f16:8192x8192x8192:tn")->us == 1);        /* distance 3 */
    assert_null(nearest(table, "f16:8200x8192x8192:tn"));                 /* a little more */
    assert_null(nearest(table, "f16:64x64x64:tn"));
    assert_null(nearest(table, "bf16:4096x4096x4096:tn"));
    assert_null(nearest(table, "f16:0x4096x4096:tn"));
    gs_table_destroy(&table);
    table = read_table(HEAD "f16:1x1x1:tn simple 1 1 1 1 1" TAIL, NULL, 0);
    static const char *const empty[] = {"f16:0x1x1:tn", "f16:1x0x1:tn", "f16:1x1x0:tn"};
    assert_non_null(nearest(table, "f16:1x1x2:tn"));
    for (size_t i = 0; i < GS_COUNT(empty); i++) assert_null(nearest(table, empty[i]));
    gs_table_destroy(&table);
    table = read_table(HEAD "f16:2048x64x64:tn simple 1 1 1 1 1" TAIL
                       "f16:512x64x64:tn simple 2 1 1 1 1" TAIL
                       "f16:0x64x64:tn simple 3 1 1 1 1" TAIL, NULL, 0);
    assert_true(nearest(table, "f16:1024x64x64:tn")->us == 1);            /* equal distance: the earlier row */
    gs_table_destroy(&table);
}

static const gs_row *twin(const gs_table *table, const char *text)
{
    const gs_problem problem = problem_of(text);
    return gs_table_twin(table, &problem);
}

static void the_twin_has_the_other_input_type(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "f16:64x64x64:tn simple 1 1 1 1 1" TAIL
                                 "bf16:64x64x64:nn library 2 1 1 1 1" TAIL
                                 "f16:64x64x64:nn:d=f32 simple 3 1 1 1 1" TAIL
                                 "f16:128x64x64:tn:acc=f16 simple 4 1 1 1 1" TAIL
                                 "bf16:128x64x64:tn:lda=72 simple 5 1 1 1 1" TAIL, NULL, 0);
    assert_true(twin(table, "bf16:64x64x64:tn")->us == 1);
    assert_true(twin(table, "f16:64x64x64:nn")->us == 2);            /* cuBLASLt, too */
    assert_true(twin(table, "bf16:64x64x64:nn:d=f32")->us == 3);
    assert_true(twin(table, "f16:128x64x64:tn:lda=72")->us == 5);
    assert_null(twin(table, "f16:64x64x64:tn"));                     /* itself */
    assert_null(twin(table, "bf16:64x64x64:tn:d=f32"));
    assert_null(twin(table, "bf16:128x64x64:tn"));                   /* other sums, other rows */
    assert_null(twin(table, "f16:64x64x64:tn:acc=f16"));

    /* what a plan takes: its own, the twin, and the nearest where there are no weights */
    static const struct { const char *problem; bool weights, exact; double us; } choices[] = {
        {"f16:64x64x64:tn", false, true, 1}, {"bf16:64x64x64:tn", true, false, 1}, {"f16:64x64x128:tn", false, false, 1}, {"f16:64x64x128:tn", true, false, 0},
    };
    for (size_t i = 0; i < GS_COUNT(choices); i++) {
        const gs_problem problem = problem_of(choices[i].problem);
        bool exact = !choices[i].exact;
        const gs_row *const row = gs_table_choose(table, &problem, gs_caps_find("h200"), choices[i].weights, &exact);
        assert_true((row ? row->us : 0) == choices[i].us && exact == choices[i].exact);
    }
    gs_table_destroy(&table);
}

/* Of groups the nearest row, with weights too; but not one whose tiles are too few for this problem: 32 blocks of N on 132 multiprocessors, where another
 * schedule has 64. */
static void what_groups_take(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "bf16:8x4096x14336:tn:g=8 ws/16x256x64/s5/c1x2/lag/g4 1 1 1 1 1" TAIL
                                 "bf16:32x4096x14336:tn:g=8 ws/16x256x64/s4/c1x2/coop/h4 2 1 1 1 1" TAIL, NULL, 0);
    static const struct { const char *problem; double us; } choices[] = {
        {"bf16:8x4096x14336:tn:g=8", 1}, {"bf16:10x4096x14336:tn:g=8", 1}, {"bf16:40x4096x14336:tn:g=8", 2}, {"bf16:2x4096x14336:tn:g=8", 0},
    };
    for (size_t i = 0; i < GS_COUNT(choices); i++) {
        const gs_problem problem = problem_of(choices[i].problem);
        bool exact = false;
        const gs_row *const row = gs_table_choose(table, &problem, gs_caps_find("h200"), true, &exact);
        if ((row ? row->us : 0) != choices[i].us) fail_msg("%s: row %g", choices[i].problem, row ? row->us : 0);
    }
    gs_table_destroy(&table);
}

/* Its own row; the twin's, the plain one, that of the sums: those that keep the order of summation. */
static void what_an_invariant_problem_takes(void **state)
{
    (void)state;
    gs_table *table = read_table(HEAD "f16:64x4096x4096:tn:inv=1 mma/64x64x64/w2x2/s3/g1 1 1 1 1 1" TAIL
                                 "f16:64x4096x4096:tn mma/64x64x64/w2x2/s3/g1/k4 2 1 1 1 1" TAIL
                                 "f16:96x4096x4096:tn mma/64x64x64/w2x2/s3/g1 3 1 1 1 1" TAIL
                                 "f16:80x4096x4096:tn mma/64x64x64/w2x2/s3/g1/k4 4 1 1 1 1" TAIL
                                 "f16:88x4096x4096:tn cublaslt 5 1 1 1 1" TAIL
                                 "f16:72x4096x4096:tn kernel/0123456789abcdef0123456789abcdef 6 1 1 1 1" TAIL
                                 "bf16:72x4096x4096:tn:inv=1 mma/64x64x64/w2x2/s3/g1 7 1 1 1 1" TAIL, NULL, 0);
    static const struct { const char *problem; bool weights, exact; double us; } choices[] = {
        {"f16:64x4096x4096:tn:inv=1", true, true, 1},      {"f16:64x4096x4096:tn", true, true, 2},           {"bf16:64x4096x4096:tn:inv=1", true, false, 1},
        {"f16:64x4096x4096:tn:inv=1:ep=gelu", true, false, 1}, {"f16:96x4096x4096:tn:inv=1", true, false, 3}, {"bf16:96x4096x4096:tn:inv=1:ep=bias", true, false, 3},
        {"f16:80x4096x4096:tn:inv=1", true, false, 0},     {"f16:88x4096x4096:tn:inv=1", true, false, 0},     {"f16:72x4096x4096:tn:inv=1", true, false, 7},
        {"f16:80x4096x4096:tn:inv=1", false, false, 3},    {"bf16:80x4096x4096:tn:inv=1", false, false, 7},   {"bf16:76x4096x4096:tn:inv=1", false, false, 7},
        {"bf16:76x4096x4096:tn", false, false, 0},         {"f16:8192x4096x4096:tn:inv=1", false, false, 0},  {"f16:100x4096x4096:tn:inv=1", false, false, 3},
        {"bf16:96x4096x4096:tn:inv=1:b=3:sb=0", true, false, 0},
    };
    for (size_t i = 0; i < GS_COUNT(choices); i++) {
        const gs_problem problem = problem_of(choices[i].problem);
        bool exact = !choices[i].exact;
        const gs_row *const row = gs_table_choose(table, &problem, gs_caps_find("h200"), choices[i].weights, &exact);
        if ((row ? row->us : 0) != choices[i].us || exact != choices[i].exact) fail_msg("%s: row %g, exact %d", choices[i].problem, row ? row->us : 0, exact);
    }
    gs_table_destroy(&table);
}

static void look_up_stays_fast_when_big(void **state)
{
    (void)state;
    enum { ROWS = 5000, LOOKUPS = 20000 };
    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    gs_row row = make_row("f16:64x64x64:tn", "simple");
    for (int i = 0; i < ROWS; i++) {
        row.problem = gs_problem_make(GS_F16, GS_TN, 64 + i % 100, 64 + i / 100, 64);
        row.mhz = i;
        assert_int_equal(gs_table_put(table, &row), GS_OK);
    }
    assert_int_equal(gs_table_size(table), ROWS);
    const int64_t start = gs_clock_ns();
    for (int i = 0; i < LOOKUPS; i++) {
        const int wanted = (int)((int64_t)i * 7919 % (2 * ROWS));
        const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64 + wanted % 100, 64 + wanted / 100, 64);
        const gs_row *const found = gs_table_find(table, &problem);
        if (wanted < ROWS)
            assert_true(found && found->mhz == wanted);
        else
            assert_null(found);
    }
    const double average_us = (double)(gs_clock_ns() - start) * 1e-3 / LOOKUPS;
    if (average_us > 20) fail_msg("%.1f us for a look-up", average_us);
    gs_text text = {0};
    gs_table_format(table, &text);
    gs_table *again = read_table(text.data, gs_caps_find("h200"), 0);
    assert_int_equal(gs_table_size(again), ROWS);
    gs_text_free(&text);
    gs_table_destroy(&table);
    gs_table_destroy(&again);
}

/* Every prefix, and every single byte replaced by something awkward, from memory that ends where the text ends. */
static void no_text_crashes_the_reader(void **state)
{
    (void)state;
    static const char text[] = HEAD "# problem\nf16:4096x4096x4096:tn:d=f32  " WS "  " TIMES TAIL
                                    "bf16:64x64x64:nn library 1 2 3 4 5 6 g 90 132 1 - -\n";
    static const char awkward[] = {'\n', ' ', ':', '/', '-', '9', '\x80', '#', '\0'};
    const size_t size = sizeof text;
    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    for (size_t cut = 0; cut < size; cut++) {
        char *const copy = strndup(text, cut);
        int skipped;
        gs_error error;
        const gs_status status = gs_table_read(table, copy, NULL, &skipped, &error);
        assert_true(status == GS_OK || status == GS_ERROR_PARSE);
        free(copy);
        for (size_t i = 0; cut < size - 1 && i < sizeof awkward; i++) {
            char *const changed = strdup(text);
            changed[cut] = awkward[i];
            const gs_status result = gs_table_read(table, changed, NULL, &skipped, &error);
            assert_true(result == GS_OK || result == GS_ERROR_PARSE);
            free(changed);
        }
    }
    gs_text formatted = {0};
    gs_table_format(table, &formatted);
    gs_table *again = read_table(formatted.data, NULL, 0);
    assert_int_equal(gs_table_size(again), gs_table_size(table));
    gs_text_free(&formatted);
    gs_table_destroy(&again);
    gs_table_destroy(&table);
}

static void save(const char *folder, const char *name, const char *text, size_t size)
{
    char path[GS_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(gs_file_write(path, text, size, NULL), GS_OK);
}

static void loads_files_and_folders(void **state)
{
    (void)state;
    const char *const base = getenv("TMPDIR");
    char folder[256], path[GS_PATH], command[GS_PATH];
    snprintf(folder, sizeof folder, "%s/gs-table-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    static const char one[] = HEAD "f16:64x64x64:tn simple 1 1 1 1 1" TAIL,
                      two[] = HEAD "f16:64x64x64:tn simple 2 1 1 1 1" TAIL "bad\n";
    static const char zero[] = HEAD "# a \0 comment\nf16:8x8x8:tn simple 1 1 1\0 1 1" TAIL "f16:8x8x16:tn simple 4 1 1 1 1" TAIL;
    save(folder, "b.tuned", two, sizeof two - 1);
    save(folder, "a.tuned", one, sizeof one - 1);
    save(folder, "c.tuned", "not a table\n", 12);
    save(folder, "d.tuned", zero, sizeof zero - 1);
    save(folder, "z.txt", "ignored\n", 8);
    save(folder, ".hidden.tuned", "ignored\n", 8);
    snprintf(path, sizeof path, "%s/e.tuned", folder);
    assert_int_equal(mkdir(path, 0700), 0);

    gs_table *table;
    gs_error error;
    int skipped;
    assert_int_equal(gs_table_create(&table), GS_OK);
    assert_int_equal(gs_table_load(table, folder, gs_caps_find("h200"), &skipped, &error), GS_OK);
    assert_int_equal(skipped, 4);
    assert_int_equal(gs_table_size(table), 2);
    assert_true(gs_table_row(table, 0)->us == 2);   /* b comes after a */
    assert_true(gs_table_row(table, 1)->us == 4);
    assert_non_null(strstr(error.text, "b.tuned: line 3: "));

    snprintf(path, sizeof path, "%s/a.tuned", folder);
    assert_int_equal(gs_table_load(table, path, gs_caps_find("h200"), &skipped, &error), GS_OK);
    assert_int_equal(skipped, 0);
    assert_true(gs_table_row(table, 0)->us == 1);
    snprintf(path, sizeof path, "%s/c.tuned", folder);
    assert_int_equal(gs_table_load(table, path, NULL, NULL, &error), GS_ERROR_PARSE);
    assert_non_null(strstr(error.text, "c.tuned: "));
    snprintf(path, sizeof path, "%s/d.tuned", folder);   /* a zero byte costs its row, as any other that does not belong there */
    assert_int_equal(gs_table_load(table, path, NULL, &skipped, &error), GS_OK);
    assert_int_equal(skipped, 1);
    assert_non_null(strstr(error.text, "d.tuned: line 3: "));
    assert_string_equal(error.field, "ratio");
    snprintf(path, sizeof path, "%s/none.tuned", folder);
    assert_int_equal(gs_table_load(table, path, NULL, NULL, &error), GS_ERROR_NOT_FOUND);
    gs_table_destroy(&table);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_column),
        cmocka_unit_test(suggestions_have_a_number),
        cmocka_unit_test(round_trips_sorted_and_aligned),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(words_of_callers_stay_one_word),
        cmocka_unit_test(a_bad_row_costs_only_itself),
        cmocka_unit_test(the_first_error_is_the_one_told),
        cmocka_unit_test(refuses_what_is_no_table),
        cmocka_unit_test(rows_of_other_devices_are_left_out),
        cmocka_unit_test(rows_left_out_are_logged),
        cmocka_unit_test(later_rows_replace_earlier_ones),
        cmocka_unit_test(scalars_count_only_as_zero_or_not), cmocka_unit_test(what_takes_another_kernel_has_another_row),
        cmocka_unit_test(a_constant_b_has_a_dependent_row), cmocka_unit_test(rows_say_who_found_them),
        cmocka_unit_test(nearest_is_near_and_can_run),
        cmocka_unit_test(the_twin_has_the_other_input_type), cmocka_unit_test(what_groups_take), cmocka_unit_test(what_an_invariant_problem_takes),
        cmocka_unit_test(look_up_stays_fast_when_big),
        cmocka_unit_test(no_text_crashes_the_reader),
        cmocka_unit_test(loads_files_and_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Proves the foundations: growing texts, scanning, JSON, hashes, error lines, and files including every way in which they fail. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/installed.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "base/seal.h"
#include "base/version.h"

/* ---- text ---- */

static void texts_grow(void **state)
{
    (void)state;
    gs_text text = {0};
    assert_string_equal(gs_text_string(&text), "");
    for (int i = 0; i < 5000; i++) gs_text_addf(&text, "%d,", i % 10);
    assert_int_equal(text.size, 10000);
    assert_int_equal(strlen(text.data), 10000);
    assert_false(text.failed);
    gs_text_add(&text, "b \n\n");
    gs_text_trim(&text, "\n");
    assert_string_equal(text.data + 10000, "b ");
    const size_t capacity = text.capacity;
    gs_text_clear(&text);
    gs_text_trim(&text, "\n");
    assert_string_equal(gs_text_string(&text), "");
    assert_int_equal(text.capacity, capacity);
    gs_text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "a\0b", 4);
    char *const taken = gs_text_take(&text);
    assert_non_null(taken);
    assert_null(text.data);
    free(taken);
    assert_null(gs_text_take(&text));
}

static void texts_that_cannot_grow_stay_valid(void **state)
{
    (void)state;
    gs_text text = {0};
    gs_text_add(&text, "kept");
    gs_text_add_bytes(&text, "x", SIZE_MAX / 2);   /* refused before anything is copied */
    assert_true(text.failed);
    assert_string_equal(gs_text_string(&text), "kept");
    gs_text_add(&text, "not added");
    assert_null(gs_text_take(&text));
    assert_false(text.failed);   /* as new */
    gs_text_add(&text, "of one line");
    gs_seal_put(&text);   /* which has no end */
    assert_string_equal(gs_text_string(&text), "of one line");
    gs_text_add(&text, "\n");
    gs_text_add_bytes(&text, "x", SIZE_MAX / 2);
    gs_seal_put(&text);
    assert_string_equal(gs_text_string(&text), "of one line\n");
    gs_text_free(&text);
}

/* ---- scan ---- */

static void integers_are_scanned(void **state)
{
    (void)state;
    int64_t value = 7;
    gs_scan scan = gs_scan_from("-12x9223372036854775807y9223372036854775808-+1");
    assert_true(gs_scan_int(&scan, &value));
    assert_int_equal(value, -12);
    assert_int_equal(gs_scan_column(&scan), 4);
    assert_false(gs_scan_int(&scan, &value));
    assert_true(gs_scan_take(&scan, "x"));
    assert_true(gs_scan_int(&scan, &value));
    assert_true(value == INT64_MAX);
    assert_true(gs_scan_take(&scan, "y"));
    const int column = gs_scan_column(&scan);
    assert_false(gs_scan_int(&scan, &value));
    assert_int_equal(gs_scan_column(&scan), column);
    assert_true(gs_scan_take(&scan, "9223372036854775808"));
    assert_false(gs_scan_int(&scan, &value));   /* a sign alone */
    assert_true(gs_scan_take(&scan, "-"));
    assert_false(gs_scan_int(&scan, &value));   /* no plus */
    assert_true(value == INT64_MAX);
}

static void decimals_are_scanned(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      value;
        int         column;
    } cases[] = {
        {"0", 0, 2}, {"1.5", 1.5, 4}, {"-2.25e2", -225, 8}, {"1e-3", 1e-3, 5}, {"0x10", 0, 2}, {"5e0x", 5, 4},
        {"123456789.5", 123456789.5, 12}, {"1E2", 100, 4}, {"0.1", 0.1, 4}, {"1e-9999", 0, 8},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_scan scan = gs_scan_from(cases[i].text);
        double value = -1;
        assert_true(gs_scan_double(&scan, &value));
        if (value != cases[i].value || gs_scan_column(&scan) != cases[i].column)
            fail_msg("%s: %.17g, column %d", cases[i].text, value, gs_scan_column(&scan));
    }
    static const char *const bad[] = {"", "-", ".5", "+1", "inf", "nan", "e5", "-x", "3.", "1e", "1e+"};
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        gs_scan scan = gs_scan_from(bad[i]);
        double value;
        assert_false(gs_scan_double(&scan, &value));
        assert_int_equal(gs_scan_column(&scan), 1);
    }
    gs_scan scan = gs_scan_from("1e9999");
    double value = 0;
    assert_true(gs_scan_double(&scan, &value));
    assert_true(value >= 1e308);
}

/* Written with 17 digits, every double comes back bit by bit; in a locale with a decimal comma as well, where this machine has one. */
static void written_doubles_are_read_back(void **state)
{
    (void)state;
    const char *const comma = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    gs_random random = {7};
    for (int i = 0; i < 100000; i++) {
        const uint64_t bits = gs_random_next(&random);
        double value, back = NAN;
        char text[64];
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        snprintf(text, sizeof text, "%.17g", value);
        if (comma && strchr(text, ',')) *strchr(text, ',') = '.';
        gs_scan scan = gs_scan_from(text);
        if (!gs_scan_double(&scan, &back) || !gs_scan_end(&scan) || memcmp(&back, &value, sizeof value) != 0)
            fail_msg("%s became %.17g at column %d", text, back, gs_scan_column(&scan));
    }
    setlocale(LC_NUMERIC, "C");
}

static void seconds_are_told_in_their_unit(void **state)
{
    (void)state;
    static const struct {
        double      seconds;
        const char *text;
    } cases[] = {{0, "0 s"}, {2.674e-6, "2.674 us"}, {-5.5e-4, "-550 us"}, {0.0125, "12.5 ms"}, {1, "1 s"}, {-90.25, "-90.25 s"}};
    char text[GS_SECONDS_TEXT];
    for (size_t i = 0; i < GS_COUNT(cases); i++) assert_string_equal(gs_text_seconds(text, cases[i].seconds), cases[i].text);
}

/* What is installed on this machine is none of the tests' business. */
static void tests_have_an_installation_of_their_own(void **state)
{
    (void)state;
    setenv("GEMMSMITH_DATA", GS_BINARY_DIR "/tests/no_data", 0);
    const char *const folder = gs_installed_folder();
    assert_string_equal(folder, getenv("GEMMSMITH_DATA"));
    assert_true(gs_file_exists(folder));
}

static void words_are_scanned(void **state)
{
    (void)state;
    char word[6] = "";
    gs_scan scan = gs_scan_from(" \tab_.- abcdef");
    assert_int_equal(gs_scan_word(&scan, word, sizeof word), 0);
    gs_scan_space(&scan);
    assert_int_equal(gs_scan_word(&scan, word, sizeof word), 5);
    assert_string_equal(word, "ab_.-");
    gs_scan_space(&scan);
    assert_int_equal(gs_scan_word(&scan, word, sizeof word), 0);   /* does not fit: not moved */
    assert_int_equal(gs_scan_column(&scan), 9);
    assert_false(gs_scan_take(&scan, "abcdefg"));
    assert_true(gs_scan_take(&scan, "abcdef"));
    assert_true(gs_scan_end(&scan));
}

/* ---- json: what is written is what an independent parser reads ---- */

/* At most two letters changed, put in or left out; one where fewer than four were typed. */
static void the_word_that_was_meant(void **state)
{
    static const char *const words[] = {"verify", "tune", "eval", "export", "serve", "db", NULL};
    static const struct { const char *typed, *meant; } cases[] = {
        {"verify", "verify"}, {"verfy", "verify"}, {"verrify", "verify"}, {"varify", "verify"}, {"varyfy", "verify"}, {"varyfi", NULL}, {"tun", "tune"}, {"tunes", "tune"},
        {"dune", "tune"}, {"enut", NULL}, {"sevre", "serve"}, {"exprot", "export"}, {"bd", NULL}, {"d", "db"}, {"dbx", "db"}, {"xyz", NULL}, {"", NULL}, {"eval ", "eval"},
        {"verifyverifyverifyverifyverifyverify", NULL},
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const char *const found = gs_text_nearest(words, cases[i].typed, strlen(cases[i].typed));
        if (!found != !cases[i].meant || (found && strcmp(found, cases[i].meant) != 0)) fail_msg("%s: %s", cases[i].typed, found ? found : "none");
    }
}

static void json_reads_back(void **state)
{
    (void)state;
    static const double numbers[] = {0, 1, -1.5, 0.1, 1e-300, 1.7976931348623157e308, 123456789, 1.0 / 3, 4.9e-324};
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "name", "a \"quoted\" \\ line\n\ttab \xc3\xa9 \xf0\x9f\x98\x80");
    gs_json_string(&json, "broken", "x\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe2\x82");
    gs_json_string(&json, "none", NULL);
    gs_json_int(&json, "least", INT64_MIN);
    gs_json_bool(&json, "yes", true);
    gs_json_double(&json, "infinite", INFINITY);
    gs_json_double(&json, "nan", NAN);
    gs_json_begin(&json, "numbers", '[');
    for (size_t i = 0; i < GS_COUNT(numbers); i++) gs_json_double(&json, NULL, numbers[i]);
    gs_json_end(&json, ']');
    gs_json_begin(&json, "empty", '{');
    gs_json_end(&json, '}');
    gs_json_bool(&json, "last", false);
    gs_json_end(&json, '}');

    json_error_t why;
    json_t *const root = json_loads(gs_text_string(&text), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!root) fail_msg("%s in %s", why.text, text.data);
    assert_int_equal(json_object_size(root), 10);
    assert_string_equal(json_string_value(json_object_get(root, "name")), "a \"quoted\" \\ line\n\ttab \xc3\xa9 \xf0\x9f\x98\x80");
    assert_non_null(strstr(json_string_value(json_object_get(root, "broken")), "x\xef\xbf\xbd"));
    assert_true(json_is_null(json_object_get(root, "none")));
    assert_true(json_integer_value(json_object_get(root, "least")) == INT64_MIN);
    assert_true(json_is_true(json_object_get(root, "yes")));
    assert_true(json_is_null(json_object_get(root, "infinite")) && json_is_null(json_object_get(root, "nan")));
    for (size_t i = 0; i < GS_COUNT(numbers); i++)
        assert_true(json_number_value(json_array_get(json_object_get(root, "numbers"), i)) == numbers[i]);
    json_decref(root);
    gs_text_free(&text);
}

/* ---- hash ---- */

static void hashes_tell_apart(void **state)
{
    (void)state;
    char text[GS_HASH_TEXT];
    const gs_hash empty = gs_hash_bytes("", 0);
    assert_string_equal(gs_hash_format(empty, text), "99aa06d3014798d86001c324468d497f");   /* XXH3-128 of nothing, as published */
    assert_true(gs_hash64("", 0) == 0x2d06800538d394c2ull);
    const gs_hash joined = gs_hash_strings((const char *const[]){"ab", ""}, 2),
                  split = gs_hash_strings((const char *const[]){"a", "b"}, 2);
    assert_false(joined.low == split.low && joined.high == split.high);
    const gs_hash again = gs_hash_strings((const char *const[]){"a", "b"}, 2);
    assert_memory_equal(&split, &again, sizeof split);
    assert_true(gs_hash64("a", 1) != gs_hash64("b", 1));
}

/* ---- errors, log, clock, random ---- */

static void errors_become_one_line(void **state)
{
    (void)state;
    gs_error error;
    char line[512];
    assert_int_equal(gs_fail_at(&error, GS_ERROR_PARSE, 12, "k", "must be %s", "a number"), GS_ERROR_PARSE);
    assert_string_equal(gs_error_format(&error, line, sizeof line), "k, column 12: must be a number (text cannot be read)");
    gs_fail(&error, GS_ERROR_RANGE, "lda", "too small");
    assert_string_equal(gs_error_format(&error, line, sizeof line), "lda: too small (value out of range)");
    gs_fail_at(&error, GS_ERROR_PARSE, 3, NULL, "odd");
    assert_string_equal(gs_error_format(&error, line, sizeof line), "column 3: odd (text cannot be read)");
    gs_fail(&error, GS_ERROR_NO_DRIVER, NULL, "libcuda.so.1 cannot be opened");
    assert_string_equal(gs_error_format(&error, line, sizeof line), "libcuda.so.1 cannot be opened (no NVIDIA driver)");
    gs_error_format(&error, line, 10);
    assert_string_equal(line, "libcuda.s");
    assert_int_equal(gs_fail(NULL, GS_ERROR_RANGE, "x", "y"), GS_ERROR_RANGE);

    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    gs_fail(&error, GS_ERROR_RANGE, longest, "%s", longest);
    assert_int_equal(strlen(error.field), sizeof error.field - 1);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);

    assert_int_equal(gs_fail_errno(&error, ENOSPC, "/there", "cannot be written"), GS_ERROR_DISK_FULL);
    assert_non_null(strstr(error.text, "/there: cannot be written"));
    assert_int_equal(gs_fail_errno(NULL, ENOMEM, NULL, "x"), GS_ERROR_MEMORY);
    assert_int_equal(gs_fail_errno(NULL, EINTR, NULL, "x"), GS_ERROR_INTERRUPTED);
    assert_int_equal(gs_fail_errno(NULL, EACCES, NULL, "x"), GS_ERROR_IO);
}

static void every_status_has_words(void **state)
{
    (void)state;
    static const gs_status all[] = {
#define GS_STATUS(name, number, text) GS_##name,
#include <gemmsmith/status.def>
#undef GS_STATUS
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        assert_true(strncmp(gs_status_name(all[i]), "GS_", 3) == 0);
        assert_true(gs_status_string(all[i])[0] != '\0');
        for (size_t j = 0; j < i; j++) assert_true(all[i] != all[j]);
    }
    assert_string_equal(gs_status_name((gs_status)9999), "GS_UNKNOWN");
    assert_string_equal(gs_status_string((gs_status)9999), "unknown status");
    assert_int_equal(GS_ERROR_PARSE, 11);   /* numbers never change */
}

static void log_level_can_be_set(void **state)
{
    (void)state;
    gs_log_set_level(GS_LOG_OFF);
    assert_int_equal(gs_log_level(), GS_LOG_OFF);
    gs_log(GS_LOG_ERROR, "not to be seen");
    gs_log_set_level(GS_LOG_WARNING);
    assert_int_equal(gs_log_level(), GS_LOG_WARNING);
    gs_log_set_level(GS_LOG_OFF);
}

static void dates_are_checked(void **state)
{
    (void)state;
    static const struct { const char *text; bool valid; } cases[] = {
        {"2026-01-31", true}, {"1970-12-01", true}, {"2026-01-31T23:59:60Z", true}, {"9998-01-31T00:00:00Z", true},
        {"", false}, {"2026-01-3", false}, {"2026/01-31", false}, {"2026-01/31", false}, {"1969-01-31", false}, {"9999-01-31", false}, {"2026-00-31", false}, {"2026-13-31", false},
        {"2026-01-00", false}, {"2026-01-32", false}, {"2026-01-31T", false}, {"2026-01-31 23:59:00Z", false}, {"2026-01-31T23.59:00Z", false}, {"2026-01-31T23:59.00Z", false},
        {"2026-01-31T23:59:00z", false}, {"2026-01-31T24:59:00Z", false}, {"2026-01-31T23:60:00Z", false}, {"2026-01-31T23:59:61Z", false}, {"2026-01-31T23:59:00Z ", false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++)
        if (gs_date_valid(cases[i].text) != cases[i].valid) fail_msg("\"%s\"", cases[i].text);
}

static void clock_and_random_behave(void **state)
{
    (void)state;
    char date[GS_DATE_TEXT];
    const int64_t start = gs_clock_ns();
    gs_clock_sleep_ns(300000);
    assert_true(gs_clock_ns() - start >= 300000);
    const int64_t short_start = gs_clock_ns();
    gs_clock_sleep_ns(60000);   /* short enough to be polled from its beginning */
    assert_true(gs_clock_ns() - short_start >= 60000);
    gs_date_format(date);
    int year = 0, month = 0, day = 0;
    char z = 0;
    assert_int_equal(sscanf(date, "%d-%d-%dT%*d:%*d:%*d%c", &year, &month, &day, &z), 4);
    assert_true(z == 'Z' && year >= 2024 && month <= 12);
    gs_random a = {5}, b = {5};
    int counts[3] = {0};
    for (int i = 0; i < 30000; i++) {
        assert_true(gs_random_next(&a) == gs_random_next(&b));
        counts[gs_random_below(&a, 3)]++;
        const double unit = gs_random_unit(&a);
        assert_true(unit >= 0 && unit < 1);
        b.state = a.state;
    }
    for (int i = 0; i < 3; i++) assert_in_range(counts[i], 9500, 10500);
}

static void arrays_grow_and_stay_what_they_were(void **state)
{
    (void)state;
    int *list = NULL, count = 0, capacity = 0;
    for (; count < 1000; list[count] = 3 * count, count++) assert_true(gs_grow(&list, count, &capacity, sizeof *list) && capacity > count);
    for (int i = 0; i < count; i++) assert_int_equal(list[i], 3 * i);
    int *const before = list, room = capacity;
    assert_true(gs_grow(&list, count, &capacity, sizeof *list));   /* there is room */
    assert_true(list == before && capacity == room);
    int most = INT_MAX / 2 + 1;
    assert_false(gs_grow(&list, most, &most, 1));
    assert_true(list == before && most == INT_MAX / 2 + 1);
    free(list);
}

static void versions_of_cuda(void **state)
{
    (void)state;
    /* legend: a number, as the version of CUDA, as that of a library */
    static const struct { int version; const char *cuda, *library; } cases[] = {
        {0, "none", "none"}, {13000, "13.0", "1.30.0"}, {12090, "12.9", "1.20.90"}, {11080, "11.8", "1.10.80"}, {130100, "130.10", "13.1.0"}, {120911, "120.91", "12.9.11"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[GS_CUDA_VERSION_TEXT];
        assert_string_equal(gs_format_cuda_version(cases[i].version, text), cases[i].cuda);
        assert_string_equal(gs_format_library_version(cases[i].version, text), cases[i].library);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_grow_and_stay_what_they_were),
        cmocka_unit_test(texts_grow), cmocka_unit_test(versions_of_cuda), cmocka_unit_test(the_word_that_was_meant),
        cmocka_unit_test(texts_that_cannot_grow_stay_valid),
        cmocka_unit_test(integers_are_scanned),
        cmocka_unit_test(decimals_are_scanned),
        cmocka_unit_test(written_doubles_are_read_back),
        cmocka_unit_test(tests_have_an_installation_of_their_own),
        cmocka_unit_test(words_are_scanned),
        cmocka_unit_test(seconds_are_told_in_their_unit),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(hashes_tell_apart),
        cmocka_unit_test(errors_become_one_line),
        cmocka_unit_test(every_status_has_words),
        cmocka_unit_test(log_level_can_be_set),
        cmocka_unit_test(dates_are_checked), cmocka_unit_test(clock_and_random_behave),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

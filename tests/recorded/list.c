/* SPDX-License-Identifier: MIT
 * Proves that a list has each problem once with all its calls, from whatever it was put together, in the layouts and the share that were asked for, and that a failure names its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "recorded/list.h"
#include "support/folder.h"
#include "support/leaks.h"

static char     folder[64], path[96];
static gs_error error;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gs_list_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/list.txt", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    return remove_all(folder);
}

static void put(const char *text) { assert_int_equal(gs_file_write(path, text, strlen(text), NULL), GS_OK); }

static void expect(const gs_problem_list *list, int index, const char *problem, uint64_t calls)
{
    char text[GS_PROBLEM_TEXT];
    assert_true(index < list->count);
    assert_string_equal(gs_problem_format(&list->list[index], text), problem);
    assert_true(list->calls.rows[index].count == calls);
}

static void test_recorded_and_typed(void **state)
{
    (void)state;
    gs_problem_list list = {.acc = -1};
    put("gemmsmith recorded 1\n2\ta\tf16:64x64x64:tn\n3\tb\tf16:64x64x64:tn\n1000\ta\tbf16:512x64x64:tn\n9\ta\tf16:0x64x64:tn\n1\ta\tf16:64x64x6");
    assert_int_equal(gs_problem_list_add_text(&list, "f16:64x64x64:tn:ldc=64", "a word", &error), GS_OK);
    assert_int_equal(gs_problem_list_add_file(&list, path, &error), GS_OK);
    assert_int_equal(gs_problem_list_add_text(&list, "64_64_64", "a word", &error), GS_OK);
    assert_int_equal(list.count, 3);
    expect(&list, 0, "f16:64x64x64:tn", 6);
    expect(&list, 1, "bf16:512x64x64:tn", 1000);
    expect(&list, 2, "f16:64x64x64:nn", 1);
    assert_true(list.recorded);
    assert_int_equal(list.cut, 1);
    gs_problem_list_free(&list);
    assert_int_equal(list.count, 0);
}

static void test_layouts_and_shards(void **state)
{
    (void)state;
    gs_problem_list list = {.acc = GS_F16, .layouts = 3, .shard = 1, .shards = 2};
    put("64_64_64\n\n  128_64_64  # a remark\n64_128_64\n64_64_128\n");
    assert_int_equal(gs_problem_list_add_file(&list, path, &error), GS_OK);
    assert_int_equal(list.count, 4);
    expect(&list, 0, "f16:128x64x64:nn:acc=f16", 1);
    expect(&list, 1, "f16:128x64x64:tn:acc=f16", 1);
    expect(&list, 2, "f16:64x64x128:nn:acc=f16", 1);
    assert_false(list.recorded);
    gs_problem_list_free(&list);
}

static void test_words(void **state)
{
    (void)state;
    gs_problem_list list = {.acc = -1};
    put("64_64_64\n128_64_64\n");
    assert_int_equal(gs_problem_list_add_word(&list, path, &error), GS_OK);
    assert_int_equal(gs_problem_list_add_word(&list, "64_64_64", &error), GS_OK);
    put("gemmsmith recorded 1\n5\tgs_gemm\tf16:128x64x64:nn\n");
    assert_int_equal(gs_problem_list_add_word(&list, path, &error), GS_OK);
    assert_int_equal(list.count, 2);
    expect(&list, 0, "f16:64x64x64:nn", 2);
    expect(&list, 1, "f16:128x64x64:nn", 6);
    assert_int_equal(gs_problem_list_add_word(&list, "/nonexistent", &error), GS_ERROR_PARSE);
    assert_string_equal(list.where, "/nonexistent");
    assert_non_null(strstr(error.text, "no such file"));
    for (const char *const *word = (const char *const[]){"64_64", "64_64_64_64", "f16:64x64", "nothere.txt:tn", "nothere.txt", "f16", NULL}; *word; word++) {
        assert_int_equal(gs_problem_list_add_word(&list, *word, &error), GS_ERROR_PARSE);
        assert_int_equal(strstr(error.text, "no such file") != NULL, strcmp(*word, "nothere.txt") == 0 || strcmp(*word, "f16") == 0);
    }
    gs_problem_list_free(&list);
}

/* Blanks and tabs around a problem, remarks, ends of lines of other systems, and a mark in front of the text. */
static void test_lines(void **state)
{
    (void)state;
    gs_problem_list list = {.acc = -1};
    put("\xef\xbb\xbf" " \t64_64_64\t \r\n#all of it\n \t \n\t128_64_64#a remark\n256_64_64");
    assert_int_equal(gs_problem_list_add_file(&list, path, &error), GS_OK);
    assert_int_equal(list.count, 3);
    expect(&list, 0, "f16:64x64x64:nn", 1);
    expect(&list, 1, "f16:128x64x64:nn", 1);
    expect(&list, 2, "f16:256x64x64:nn", 1);
    gs_problem_list_free(&list);
    put("");
    assert_int_equal(gs_problem_list_add_file(&list, path, &error), GS_OK);
    assert_int_equal(list.count, 0);
    gs_problem_list_free(&list);
}

static void test_many(void **state)
{
    (void)state;
    gs_problem_list list = {.acc = -1};
    for (int turn = 0; turn < 2; turn++)
        for (int m = 1; m <= 3000; m++) {
            const gs_problem p = gs_problem_make(GS_F16, GS_TN, m, 64, 64);
            assert_int_equal(gs_problem_list_add(&list, &p, 2, &error), GS_OK);
        }
    assert_int_equal(list.count, 3000);
    expect(&list, 2999, "f16:3000x64x64:tn", 4);
    gs_problem_list_free(&list);
}

static void test_places(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *why;
    } cases[] = {
        {"64_64_64\nrubbish\n", " line 2", ""},
        {"64_64_64\n\nf16:64x64x64:tn:lda=1\n", " line 3", ""},
        {"gemmsmith recorded 1\nrubbish\n", "", "list.txt: 'rubbish'"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem_list list = {.acc = -1};
        put(cases[i].text);
        assert_int_not_equal(gs_problem_list_add_file(&list, path, &error), GS_OK);
        if (!strstr(list.where, cases[i].where) || (!cases[i].where[0] && list.where[0]) || !strstr(error.text, cases[i].why)) fail_msg("%zu: %s: %s", i, list.where, error.text);
        gs_problem_list_free(&list);
    }
    gs_problem_list list = {.acc = -1};
    assert_int_equal(gs_problem_list_add_text(&list, "rubbish", "the first place", &error), GS_ERROR_PARSE);
    assert_int_equal(gs_problem_list_add_text(&list, "rubbish", "another", &error), GS_ERROR_PARSE);
    assert_string_equal(list.where, "the first place");
    assert_int_equal(gs_problem_list_add_text(&list, "64_64_64", "another", &error), GS_OK);
    assert_int_equal(list.count, 1);
    gs_problem_list_free(&list);
    assert_int_equal(gs_problem_list_add_text(&list, "64_64_64", "a good place", &error), GS_OK);
    assert_string_equal(list.where, "");   /* nothing was wrong */
    gs_problem_list_free(&list);
    assert_true(list.acc == -1);
    assert_int_equal(gs_problem_list_add_file(&list, "/nonexistent", &error), GS_ERROR_NOT_FOUND);
    gs_problem_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_recorded_and_typed, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_layouts_and_shards, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_words, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_lines, make_folder, drop_folder),
        cmocka_unit_test(test_many),
        cmocka_unit_test_setup_teardown(test_places, make_folder, drop_folder),
    };
    return run_without_leaks("recorded/list", tests, GS_COUNT(tests));
}

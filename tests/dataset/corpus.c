/* SPDX-License-Identifier: MIT
 * The corpus: every file that the program carries is in it, as it is, section by section; rows that name a held-out problem are not; the same call gives the same bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/text.h"
#include "dataset/dataset.h"

static gs_text lines;
static int     stop_after;   /* rows; 0: never */
static gs_error error;

static bool take(void *self, const char *text)
{
    int *const count = self;
    gs_text_add(&lines, text);
    return stop_after == 0 || ++*count < stop_after;
}

static gs_dataset_counts export(int held_out)
{
    int taken = 0;
    gs_dataset_counts counts;
    gs_text_clear(&lines);
    assert_int_equal(gs_dataset_corpus(&(gs_dataset_options){.held_out = held_out, .line = take, .self = &taken}, &counts, &error), GS_OK);
    return counts;
}

static const char *column(const json_t *row, const char *name)
{
    const char *const text = json_string_value(json_object_get(row, name));
    if (!text) fail_msg("a row without %s", name);
    return text;
}

/* The texts of a path, one after the other; sections: how many. */
static char *text_of(const char *path, int *sections)
{
    gs_text whole = {0};
    *sections = 0;
    for (const char *at = gs_text_string(&lines); *at; at += strcspn(at, "\n") + 1) {
        json_t *const row = json_loadb(at, strcspn(at, "\n"), 0, NULL);
        assert_non_null(row);
        assert_int_equal(json_object_size(row), 4);
        assert_string_equal(column(row, "license"), "MIT");
        if (strcmp(column(row, "path"), path) == 0) {
            gs_text_add(&whole, column(row, "text"));
            ++*sections;
        }
        json_decref(row);
    }
    return gs_text_take(&whole);
}

static void are_in(const gs_embedded *files, const char *folder, int at_least)
{
    int count = 0;
    for (const gs_embedded *file = files; file->name; file++, count++) {
        char path[256];
        int sections;
        snprintf(path, sizeof path, "%s%s", folder, file->name);
        char *const text = text_of(path, &sections);
        if (!text || strcmp(text, file->text) != 0) fail_msg("%s is not in the corpus as it is", path);
        free(text);
    }
    assert_true(count >= at_least);
}

static void every_file_is_in_it(void **state)
{
    (void)state;
    const gs_dataset_counts counts = export(0);
    assert_true(counts.rows > 200 && counts.leaking == 0);
    are_in(gs_embedded_files, "kernels/", 20);
    are_in(gs_embedded_headers, "include/gemmsmith/", 3);
    are_in(gs_embedded_notes, "share/notes/", 5);
    are_in(gs_embedded_pages, "docs/", 25);
    are_in(gs_embedded_prompts, "share/prompts/", 15);
    int sections;
    free(text_of("docs/internals/design.md", &sections));
    assert_int_equal(sections, 7);   /* its title and six headings */
    free(text_of("share/prompts/source-system.md", &sections));
    assert_int_equal(sections, 1);
}

static void nothing_held_out_is_named(void **state)
{
    (void)state;
    const int64_t all = export(0).rows;
    for (int of = 1; of <= 3; of++) {
        const gs_dataset_counts counts = export(of);
        assert_int_equal(counts.rows + counts.leaking, all);
        assert_false(gs_dataset_mentions_held_out(gs_text_string(&lines), of));
        if (of == 1) assert_true(counts.leaking > 5);   /* pages name problems */
    }
}

static void the_same_every_time(void **state)
{
    (void)state;
    export(10);
    char *const first = strdup(gs_text_string(&lines));
    export(10);
    assert_string_equal(first, gs_text_string(&lines));
    free(first);
}

static void a_row_that_cannot_be_written(void **state)
{
    (void)state;
    int taken = 0;
    gs_dataset_counts counts;
    gs_text_clear(&lines);
    stop_after = 3;
    assert_int_equal(gs_dataset_corpus(&(gs_dataset_options){.line = take, .self = &taken}, &counts, &error), GS_ERROR_IO);
    assert_int_equal(counts.rows, 3);
    stop_after = 0;
}

static int end(void **state)
{
    (void)state;
    gs_text_free(&lines);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_in_it), cmocka_unit_test(nothing_held_out_is_named), cmocka_unit_test(the_same_every_time), cmocka_unit_test(a_row_that_cannot_be_written),
    };
    return cmocka_run_group_tests_name("dataset/corpus", tests, NULL, end);
}

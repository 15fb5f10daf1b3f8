/* SPDX-License-Identifier: MIT
 * Proves that edits are applied where their lines stand once and nowhere else, that what is wrong with them is said, and that edits made from a parent and
 * its child give that child exactly: for every kernel of the project and for random texts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "llm/answer.h"
#include "llm/completion.h"
#include "llm/edit.h"
#include "leaks.h"

#define S "<<<<<<< SEARCH\n"
#define M "=======\n"
#define R ">>>>>>> REPLACE\n"
#define PARENT "one\ntwo\n  three(1); // what it does\n\n/* more\n   of it */\nfour\nsame\nfive\nsame\n"

/* ---- a table ---- */

static void edits_are_applied(void **state)
{
    (void)state;
    /* legend: parent, edits, what comes out */
    static const struct { const char *parent, *edits, *want; } cases[] = {
        {"a\nb\nc\n", S "b\n" M "x\ny\n" R, "a\nx\ny\nc\n"},
        {"a\nb\nc\n", "\n \n" S "b\n" M R "\n", "a\nc\n"},
        {"a\nb\nc", S "c\n" M "d\n" R, "a\nb\nd\n"},
        {"a\nb\nc", S "a\n" M "d\n" R, "d\nb\nc\n"},
        {"a\r\nb  \r\nc\r\n", S "a\nb\n" M "x\r\n" R, "x\nc\n"},                         /* line ends and white space before them do not count */
        {"a\nb\nc\n", S "b \t\n" M "x\n" R, "a\nx\nc\n"},
        {"a\nb\nc\n", S "c\n" M "z\n" R S "a\n" M "x\n" R, "x\nb\nz\n"},                /* in any order */
        {"a\nb\nc\n", S "a\n" M "b\n" R S "b\n" M "a\n" R, "b\na\nc\n"},                /* each is searched in the parent */
        {"a\na\nb\n", S "a\nb\n" M "c\n" R, "a\nc\n"},
        {"a\nb\n", "<<<<< SEARCH\na\n=====\nx\n>>>>> REPLACE\n", "x\nb\n"},
        {"a\n=======\nb\n", "<<<<<<<< SEARCH\n=======\n========\n" R ">>>>>>>> REPLACE\n", "a\n" R "b\n"},
        {"x\n", "<<<<<<<SEARCH\nx\n=======  \ny\n>>>>>>> REPLACE", "y\n"},
        {PARENT, S "two\n  three(1);\nfour\n" M "3\n" R, "one\n3\nsame\nfive\nsame\n"}, /* as prompts show it */
        {"one /* two * three / four */ five\nsix\n", S "one five\n" M "1\n" R, "1\nsix\n"},   /* neither sign ends a comment alone */
        {PARENT, S "three( 1 );\n" M "3\n" R, "one\ntwo\n3\n\n/* more\n   of it */\nfour\nsame\nfive\nsame\n"},
        {"f(\"a b\");\n", S "f( \"a b\" );\n" M "g\n" R, "g\n"},
        {"f(\"// a\");\n", S "f(\"// a\") ;\n" M "g\n" R, "g\n"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_text got = {0};
        gs_error error = {0};
        if (gs_edit_apply(&got, cases[i].parent, cases[i].edits, "kernel.cu", &error) != GS_OK) fail_msg("case %zu: %s: %s", i, error.field, error.text);
        assert_string_equal(gs_text_string(&got), cases[i].want);
        gs_text_free(&got);
    }
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    /* legend: edits of PARENT, the field, words of the reason */
    static const struct { const char *edits, *field, *text; } cases[] = {
        {S "one\ntwo!\n" M "x\n" R, "edit 1 of kernel.cu", "the nearest are lines 1 to 2, of which 1 of 2 are the same; the first that differs is line 2 of SEARCH"},
        {S "two\nthree(1);\nfour!\n" M "x\n" R, "edit 1 of kernel.cu", "the nearest are lines 2 to 7, of which 2 of 3 are the same; the first that differs is line 3 of SEARCH"},
        {S "one\n" M "1\n" R S "5\n" M "x\n" R, "edit 2 of kernel.cu", "not even one of them"},
        {S "same\n" M "x\n" R, "edit 1 of kernel.cu", "are there 2 times"},
        {S "s a m e\n" M "x\n" R, "edit 1 of kernel.cu", "are there 2 times"},
        {S "f(\"ab\");\n" M "x\n" R, "edit 1 of kernel.cu", "not even one"},
        {S "one\ntwo\n" M "x\n" R S "two\n" M "y\n" R, "edit 2 of kernel.cu", "overlap with those of edit 1"},
        {S "two\n" M "y\n" R S "one\ntwo\n" M "x\n" R, "edit 2 of kernel.cu", "overlap with those of edit 1"},
        {S "two\n" M "y\n" R S "two\n" M "y\n" R, "edit 2 of kernel.cu", "overlap"},
        {S M "x\n" R, "edit 1 of kernel.cu", "are empty"},
        {S "\n \n" M "x\n" R, "edit 1 of kernel.cu", "are empty"},
        {S "/* x */\n" M "x\n" R, "edit 1 of kernel.cu", "not even one"},
        {S "two\n" M "two\n" R, "edit 1 of kernel.cu", "change nothing"},
        {S PARENT M "\n" R, "edit 1 of kernel.cu", "nothing is left"},
        {S "two\n" M "x\n", "edit 1 of kernel.cu", "was the answer cut"},
        {S "two\n", "edit 1 of kernel.cu", "no line ======="},
        {S "two\n" R, "edit 1 of kernel.cu", "no line ======= before"},
        {S "two\n" M "x\n" M "y\n" R, "edit 1 of kernel.cu", "two lines ======="},
        {S "two\n" S "x\n" M R, "edit 1 of kernel.cu", "another edit begins"},
        {S "two\n" M "x\n" S M R, "edit 1 of kernel.cu", "another edit begins"},
        {S "two\n" M "2\n" R "and\n" S "one\n" M R, "edit 2 of kernel.cu", "outside of the edits"},
        {S "two\n" M "2\n>>>>>> REPLACE\n", "edit 1 of kernel.cu", "does not end with"},   /* six signs */
        {"}\n" S "two\n" M "2\n" R, "edit 1 of kernel.cu", "outside of the edits"},
        {"", "edit 1 of kernel.cu", "no edit"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_text got = {0};
        gs_error error = {0};
        gs_text_add(&got, "kept");
        assert_int_equal(gs_edit_apply(&got, PARENT, cases[i].edits, "kernel.cu", &error), GS_ERROR_PARSE);
        assert_string_equal(error.field, cases[i].field);
        if (!strstr(error.text, cases[i].text)) fail_msg("case %zu: there is no '%s' in: %s", i, cases[i].text, error.text);
        assert_string_equal(gs_text_string(&got), "kept");
        gs_text_free(&got);
    }
}

/* More lines of SEARCH than are compared to find the nearest ones: the first that differs is told all the same. */
static void the_last_of_many_lines_differs(void **state)
{
    (void)state;
    static const int counts[] = {2, 63, 64, 65, 66, 100};
    for (size_t i = 0; i < GS_COUNT(counts); i++) {
        gs_text parent = {0}, edits = {0}, got = {0};
        gs_error error = {0};
        char want[32];
        gs_text_add(&edits, S);
        for (int k = 0; k < counts[i]; k++) {
            gs_text_addf(&parent, "line %d\n", k);
            gs_text_addf(&edits, k < counts[i] - 1 ? "line %d\n" : "another %d\n", k);
        }
        gs_text_add(&edits, M "x\n" R);
        assert_int_equal(gs_edit_apply(&got, gs_text_string(&parent), gs_text_string(&edits), "kernel.cu", &error), GS_ERROR_PARSE);
        snprintf(want, sizeof want, "is line %d of SEARCH", counts[i]);
        if (!strstr(error.text, want)) fail_msg("there is no '%s' in: %s", want, error.text);
        gs_text_free(&parent);
        gs_text_free(&edits);
        gs_text_free(&got);
    }
}

/* A hundred thousand equal lines, and as many edits as there may be. */
static void limits(void **state)
{
    (void)state;
    gs_text parent = {0}, edits = {0}, got = {0};
    gs_error error = {0};
    for (int i = 0; i < 100000; i++) gs_text_add(&parent, "a\n");
    gs_text_add(&parent, "b\n");
    gs_text_add(&edits, S);
    for (int i = 0; i < 50000; i++) gs_text_add(&edits, "a\n");
    gs_text_add(&edits, "b\n" M "c\n" R);
    assert_int_equal(gs_edit_apply(&got, gs_text_string(&parent), gs_text_string(&edits), "kernel.cu", &error), GS_OK);
    assert_int_equal(got.size, 2 * 50001);
    gs_text_clear(&edits);
    for (int i = 0; i < GS_EDITS + 1; i++) gs_text_addf(&edits, S "%d\n" M R, i);
    assert_int_equal(gs_edit_apply(&got, "a\n", gs_text_string(&edits), "kernel.cu", &error), GS_ERROR_RANGE);
    gs_text_clear(&edits);
    gs_text_add(&edits, S "b\n" M);
    for (int i = 0; i < GS_EDIT_BYTES / 2; i++) gs_text_add(&edits, "c\n");
    gs_text_add(&edits, R);
    assert_int_equal(gs_edit_apply(&got, "a\nb\n", gs_text_string(&edits), "kernel.cu", &error), GS_ERROR_RANGE);
    gs_text_free(&parent);
    gs_text_free(&edits);
    gs_text_free(&got);
}

/* ---- a kernel of blocks ---- */

static void kernels_of_blocks(void **state)
{
    (void)state;
    const gs_parent parent = {"a\nb\n", "m\nn\n"}, nothing = {0};
    /* legend: parent, the blocks, the kernel ("": refused), whether it is made from the parent */
    static const struct { bool parent; const char *source_block, *manifest_block, *source, *manifest; bool edited; } cases[] = {
        {true, S "b\n" M "c\n" R, NULL, "a\nc\n", "m\nn\n", true},
        {true, NULL, S "m\n" M "o\n" R, "a\nb\n", "o\nn\n", true},
        {true, S "b\n" M "c\n" R, S "m\n" M "o\n" R, "a\nc\n", "o\nn\n", true},
        {true, "whole\n", S "m\n" M "o\n" R, "whole\n", "o\nn\n", true},
        {true, S "b\n" M "c\n" R, "whole\n", "a\nc\n", "whole\n", true},
        {true, "whole\n", NULL, "whole\n", "m\nn\n", true},
        {true, "whole\n", "its\n", "whole\n", "its\n", false},
        {false, "whole\n", "its\n", "whole\n", "its\n", false},
        {false, S "b\n" M "c\n" R, "its\n", "", "", false},
        {false, "whole\n", NULL, "", "", false},
        {true, NULL, NULL, "", "", false},
        {true, S "c\n" M "b\n" R, NULL, "", "", false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char *source, *manifest;
        bool edited;
        gs_error error = {0};
        const gs_status status = gs_edit_kernel(&source, &manifest, &edited, cases[i].parent ? &parent : i % 2 ? &nothing : NULL, cases[i].source_block, cases[i].manifest_block, &error);
        if ((status == GS_OK) != (cases[i].source[0] != '\0')) fail_msg("case %zu: %s: %s", i, error.field, error.text);
        if (status == GS_OK) {
            assert_string_equal(source, cases[i].source);
            assert_string_equal(manifest, cases[i].manifest);
            assert_int_equal(edited, cases[i].edited);
        } else {
            assert_int_equal(status, GS_ERROR_PARSE);
            assert_true(!source && !manifest && error.field[0] && error.text[0]);
        }
        free(source);
        free(manifest);
    }
}

/* ---- edits of a pair ---- */

/* Whether there are edits of the pair; they give the child, also through the readers of answers. */
static bool round_trip(const char *parent, const char *child)
{
    gs_text edits = {0}, got = {0}, answer = {0};
    gs_error error = {0};
    const gs_status status = gs_edit_make(&edits, parent, child, &error);
    if (status != GS_OK) {
        assert_int_equal(status, GS_ERROR_UNSUPPORTED);
        assert_int_equal(edits.size, 0);
        return false;
    }
    assert_true(gs_edit_is(gs_text_string(&edits)));
    if (gs_edit_apply(&got, parent, gs_text_string(&edits), "kernel.cu", &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
    assert_string_equal(gs_text_string(&got), child);
    gs_text_free(&edits);
    gs_text_free(&got);
    const gs_parent from = {parent, "manifest 1\n"}, to = {child, "manifest 1\nmore\n"};
    gs_text_add(&answer, "# Analysis\nIt waits.\n# Plan\nIt shall not.\n# Code\n");
    assert_int_equal(gs_edit_blocks(&answer, &from, &to, NULL), GS_OK);
    gs_completion found;
    assert_int_equal(gs_completion_read_edit(&found, gs_text_string(&answer), answer.size, &from, NULL), GS_OK);
    assert_string_equal(found.fault.text, "");
    assert_non_null(found.source);
    assert_string_equal(found.source, child);
    assert_string_equal(found.manifest, to.manifest);
    gs_completion_free(&found);
    gs_text_free(&answer);
    return true;
}

static void random_pairs(void **state)
{
    (void)state;
    gs_random random = {7};
    static const char *const words[] = {"a", "b", "a ", " a", "", "// c", "x = 1;", "=======", "<<<<<<< SEARCH", "```", "/*", "*/", "\"", "}"};
    int made = 0;
    for (int round = 0; round < 3000; round++) {
        gs_text parent = {0}, child = {0};
        const int lines = 1 + (int)gs_random_below(&random, 24), kinds = 1 + (int)gs_random_below(&random, GS_COUNT(words));
        for (int i = 0; i < lines; i++) {
            const char *const word = words[gs_random_below(&random, (uint64_t)kinds)];
            const uint64_t what = gs_random_below(&random, 12);
            gs_text_addf(&parent, "%s\n", word);
            if (what != 0) gs_text_addf(&child, "%s\n", what == 1 ? words[gs_random_below(&random, GS_COUNT(words))] : word);
            if (what == 2) gs_text_addf(&child, "%s\n", words[gs_random_below(&random, GS_COUNT(words))]);
        }
        made += round_trip(gs_text_string(&parent), gs_text_string(&child));
        gs_text_free(&parent);
        gs_text_free(&child);
    }
    assert_int_equal(made, 2584);   /* with this seed; the others are the same, or blank */
}

static void each_edit_is_as_small_as_it_can_be(void **state)
{
    (void)state;
    gs_text edits = {0};
    assert_int_equal(gs_edit_make(&edits, "a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\nf\n", NULL), GS_OK);
    assert_string_equal(gs_text_string(&edits), S "b\n" M "B\n" R S "e\n" M "e\nf\n" R);
    gs_text_clear(&edits);
    assert_int_equal(gs_edit_make(&edits, "x\na\nb\ny\na\nb\n", "x\na\nb\ny\na\nc\n", NULL), GS_OK);
    assert_string_equal(gs_text_string(&edits), S "y\na\nb\n" M "y\na\nc\n" R);
    gs_text_clear(&edits);
    assert_int_equal(gs_edit_make(&edits, "a\nb\nx\nd\nc\nb\nx\nd\n", "a\nb\ny\nd\nc\nb\nx\nd\n", NULL), GS_OK);   /* the line below was asked for, and is not needed */
    assert_string_equal(gs_text_string(&edits), S "a\nb\nx\n" M "a\nb\ny\n" R);
    gs_text_clear(&edits);
    assert_int_equal(gs_edit_make(&edits, "a\nb\nc\n", "A\nb\nx\nc\n", NULL), GS_OK);   /* the line above the second difference is the one below the first */
    assert_string_equal(gs_text_string(&edits), S "a\nb\n" M "A\nb\nx\n" R);
    gs_text_clear(&edits);
    assert_int_equal(gs_edit_make(&edits, "a\n", "a\n", NULL), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_edit_make(&edits, "a\n", "b", NULL), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_edit_make(&edits, "a\n", "b\r\n", NULL), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_edit_make(&edits, "", "b\n", NULL), GS_ERROR_UNSUPPORTED);
    assert_int_equal(edits.size, 0);
    gs_text_free(&edits);
}

/* No search for lines around the difference that would take hours. */
static void among_thousands_of_equal_lines(void **state)
{
    enum { LINES = 30000 };
    gs_text parent = {0}, child = {0}, edits = {0};
    (void)state;
    for (int i = 0; i < LINES; i++) {
        gs_text_add(&parent, "x;\n");
        gs_text_add(&child, i == LINES / 2 ? "y;\n" : "x;\n");
    }
    assert_int_equal(gs_edit_make(&edits, gs_text_string(&parent), gs_text_string(&child), NULL), GS_ERROR_UNSUPPORTED);
    gs_text_clear(&parent);
    gs_text_clear(&child);
    for (int i = 0; i < LINES; i++) {   /* thousands of differences in so many lines */
        gs_text_add(&parent, i % 3 ? "x;\n" : "p;\n");
        gs_text_add(&child, i % 3 ? "x;\n" : i < LINES / 10 ? "c;\n" : "p;\n");
    }
    assert_int_equal(gs_edit_make(&edits, gs_text_string(&parent), gs_text_string(&child), NULL), GS_ERROR_UNSUPPORTED);
    assert_int_equal(edits.size, 0);
    gs_text_free(&parent);
    gs_text_free(&child);
    gs_text_free(&edits);
}

/* Differences that are not unique with as many lines as may be around them, and are when joined. The text is a row of lines, a line, and the first 150 of the row again; or
 * the same from its end. A difference of five lines near an end has more lines around it than an insertion beside it. */
static void what_is_unique_only_when_joined(void **state)
{
    enum { ROW = 203, LINES = ROW + 151, AT_BEGIN = 0, AT_END = 1, ALONE = 2 };   /* ALONE: at the end, with a unique line that only the five lines reach */
    (void)state;
    for (int where = AT_BEGIN; where <= ALONE; where++) {
        const int reversed = where != AT_BEGIN;
        gs_text parent = {0}, child = {0};
        for (int i = 0; i < LINES; i++) {
            const int at = reversed ? LINES - 1 - i : i, in_row = at % (ROW + 1);
            const bool five = in_row >= 10 && in_row < 15;
            const char *const line = at == ROW ? "end of the row;\n" : where == ALONE && at == 104 ? "unique;\n" : five ? "w;\n" : "x;\n";
            gs_text_add(&parent, line);
            if (at + reversed == 30 || (where != ALONE && at + reversed == 153)) gs_text_add(&child, "z;\n");
            gs_text_add(&child, five && at < ROW ? "y;\n" : line);
        }
        if (!round_trip(gs_text_string(&parent), gs_text_string(&child))) fail_msg("case %d: there are no edits", where);
        gs_text_free(&parent);
        gs_text_free(&child);
    }
}

/* Marks are longer or shorter than those of the texts; where these have all lengths, there are no edits. */
static void marks_differ_from_the_texts(void **state)
{
    (void)state;
    static const char *const taken[] = {"", "=======\n", "<<<<<<<< SEARCH\n", ">>>>>>>>> REPLACE\n", "======\n", "=====\n"};
    static const int signs[] = {7, 8, 9, 6, 5, 0};
    for (size_t last = 0; last < GS_COUNT(taken); last++)
        for (int in_child = 0; in_child < 2; in_child++) {
            gs_text parent = {0}, child = {0}, edits = {0};
            gs_error error = {0};
            gs_text_add(&parent, "a\n");
            gs_text_add(&child, "b\n");
            for (size_t i = 0; i <= last; i++) gs_text_add(in_child && i == last ? &child : &parent, taken[i]);
            const gs_status status = gs_edit_make(&edits, gs_text_string(&parent), gs_text_string(&child), &error);
            assert_int_equal(status, signs[last] ? GS_OK : GS_ERROR_UNSUPPORTED);
            assert_int_equal(strspn(gs_text_string(&edits), "<"), signs[last]);
            if (!signs[last]) assert_non_null(strstr(error.text, "has lines like the marks of edits, of every length"));
            gs_text_free(&parent);
            gs_text_free(&child);
            gs_text_free(&edits);
        }
}

enum { SOURCES_MOST = 256 };

static void read_sources(const char *folder, const char *kind, char *texts[SOURCES_MOST], int *count)
{
    char path[GS_PATH];
    DIR *const all = opendir(folder);
    assert_non_null(all);
    for (const struct dirent *one; (one = readdir(all));) {
        const char *const end = strrchr(one->d_name, '.');
        size_t size;
        if (one->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
        if (one->d_type == DT_DIR) read_sources(path, kind, texts, count);
        else if (end && strncmp(end, kind, strlen(kind)) == 0 && *count < SOURCES_MOST)
            assert_int_equal(gs_file_read(path, 1 << 20, &texts[(*count)++], &size, NULL), GS_OK);
    }
    closedir(all);
}

/* Lines taken out, twice there and changed, as a model would; and from each kernel to the next. */
static void all_kernels(void **state)
{
    (void)state;
    gs_random random = {3};
    char *texts[SOURCES_MOST];
    int count = 0;
    read_sources(GS_SOURCE_DIR "/kernels", ".cu", texts, &count);
    read_sources(GS_SOURCE_DIR "/docs/performance/written", ".md", texts, &count);   /* answers that have kernels in them */
    read_sources(GS_SOURCE_DIR "/tests/hacks", ".cu", texts, &count);
    assert_in_range(count, 30, SOURCES_MOST - 1);
    for (int i = 0; i < count; i++) {
        for (int round = 0; round < 4; round++) {
            gs_text child = {0};
            int changed = 0;
            for (const char *at = texts[i], *next; *at; at = next) {
                const size_t size = strcspn(at, "\n");
                const uint64_t what = gs_random_below(&random, 40);
                next = at + size + (at[size] == '\n');
                changed += what < 3;
                if (what == 0) continue;
                gs_text_addf(&child, "%s%.*s\n", what == 1 ? "  x += 1; " : "", (int)size, at);
                if (what == 2) gs_text_addf(&child, "%.*s\n", (int)size, at);
            }
            if (changed > 0) assert_true(round_trip(texts[i], gs_text_string(&child)));
            gs_text_free(&child);
        }
        if (i > 0 && strcmp(texts[i - 1], texts[i]) != 0) assert_true(round_trip(texts[i - 1], texts[i]));
    }
    while (count > 0) free(texts[--count]);
}

/* ---- completions ---- */

static void completions_of_a_parent(void **state)
{
    (void)state;
    const gs_parent parent = {"a\nb\nc\n", "m\n"};
    /* legend: text, the source, the manifest, words of the fault */
    static const struct { const char *text, *source, *manifest, *fault; } cases[] = {
        {"I do this:\n```cuda\n" S "b\n" M "x\n" R "```\n", "a\nx\nc\n", "m\n", ""},
        {"```cuda kernel.cu\n" S "b\n" M "x\n" R "```\n```text manifest\n" S "m\n" M "n\n" R "```<|im_end|>", "a\nx\nc\n", "n\n", ""},
        {"```cuda\n" S "a\n" M "x\n" R "```\nand\n```cuda\n" S "c\n" M "z\n" R "```\n", "x\nb\nz\n", "m\n", ""},   /* an edit in each block */
        {"So:\n\n" S "b\n" M "x\n" R "\nand\n" S "c\n" M "y\n" R "That is all.\n", "a\nx\ny\n", "m\n", ""},        /* without blocks */
        {"<think>\n" S "a\n" M "x\n" R "</think>\n```cuda\n" S "b\n" M "x\n" R "```\n", "a\nx\nc\n", "m\n", ""},
        {"```cuda\nwhole\n```\n```manifest\nits\n```\n", "whole\n", "its\n", ""},
        {"```cuda\nwhole\n```\n", "whole\n", "m\n", ""},
        {"```cuda\n" S "d\n" M "x\n" R "```\n", NULL, NULL, "not there"},
        {"```cuda\n" S "b\n" M "x\n```\n", NULL, NULL, "was the answer cut"},
        {"nothing\n", NULL, NULL, ""},
        {"", NULL, NULL, ""},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_completion found;
        assert_int_equal(gs_completion_read_edit(&found, cases[i].text, strlen(cases[i].text), &parent, NULL), GS_OK);
        if (!found.source != !cases[i].source) fail_msg("case %zu: %s", i, found.source ? found.source : found.fault.text);
        if (found.source) assert_string_equal(found.source, cases[i].source);
        if (found.source) assert_string_equal(found.manifest, cases[i].manifest);
        if (!*cases[i].fault) assert_string_equal(found.fault.text, "");
        else if (!strstr(found.fault.text, cases[i].fault)) fail_msg("case %zu: %s", i, found.fault.text);
        gs_completion_free(&found);
    }
    /* one of our kernels is no answer beside a parent; a kernel beside it is */
    static const char *const schedules[] = {"```schedule\nmma/64x64x64/w2x2/s3/h4\n```\n", "[\"mma/64x64x64/w2x2/s3/h4\"]", "```json\n[\"mma/64x64x64/w2x2/s3/h4\"]\n```\n"};
    gs_completion found;
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        assert_int_equal(gs_completion_read_edit(&found, schedules[i], strlen(schedules[i]), &parent, NULL), GS_OK);
        assert_null(found.schedule);
        assert_null(found.source);
        assert_non_null(strstr(found.fault.text, "a schedule is no answer"));
        gs_completion_free(&found);
    }
    static const char both[] = "```schedule\nmma/64x64x64/w2x2/s3/h4\n```\n```cuda\n" S "b\n" M "x\n" R "```\n";
    assert_int_equal(gs_completion_read_edit(&found, both, strlen(both), &parent, NULL), GS_OK);
    assert_null(found.schedule);
    assert_non_null(found.source);
    gs_completion_free(&found);
}

/* Whoever is shown a kernel is not paid for giving it back: comments and white space are no answer, in whichever form they come. */
static void the_parent_is_no_answer(void **state)
{
    (void)state;
    static const gs_parent parent = {"int a = 1; // one\nchar b = '/';\n", "entry k\nblock 1 1 1\n"};
    static const struct { const char *answer; bool taken; } cases[] = {
        {"```text manifest\nentry k\nblock 1 1 1\n```\n", false},
        {"```cuda kernel.cu\nint a = 1;\nchar b = '/';\n```\n", false},
        {"```cuda kernel.cu\n/* two */ int a=1;\n\nchar  b='/'; // */\n```\n```text manifest\nentry  k\nblock 1 1 1\n```\n", false},
        {"```cuda kernel.cu\n" S "char b = '/';\n" M "char b = '/'; /* other */\n" R "```\n", false},
        {"```text manifest\n# mine\nentry k # own\nblock 1 1 1\n```\n", false},
        {"```cuda kernel.cu\n# define c 1\nint a = 1;\nchar b = '/';\n```\n", true},
        {"```cuda kernel.cu\nint a = 2;\nchar b = '/';\n```\n", true},
        {"```cuda kernel.cu\nint a = 1;\nchar b = '//';\n```\n", true},
        {"```text manifest\nentry k\nblock 2 1 1\n```\n", true},
        {"```cuda kernel.cu\n" S "char b = '/';\n" M "char b = '.'; /* other */\n" R "```\n", true},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_completion got;
        assert_int_equal(gs_completion_read_edit(&got, cases[i].answer, strlen(cases[i].answer), &parent, NULL), GS_OK);
        if ((got.source != NULL) != cases[i].taken) fail_msg("case %zu: %s", i, got.fault.text);
        if (!cases[i].taken && !strstr(got.fault.text, "is its parent")) fail_msg("case %zu: %s", i, got.fault.text);
        gs_completion_free(&got);
    }
}

/* What stands between quotes is code, and where they end is decided as a compiler does. */
static void what_is_quoted_is_no_comment(void **state)
{
    (void)state;
    static const struct { const char *one, *other; bool same; } cases[] = {
        {"s = \"a\\\"//b\"; // x", "s = \"a\\\"//b\";", true}, {"s = \"a\\\"//b\";", "s = \"a\\\"//c\";", false}, {"s = \"a\\\\\"; // x", "s = \"a\\\\\"; // y", true},
        {"s = \"a b\";", "s = \"ab\";", false}, {"s = 'a/*b*/';", "s = 'a';", false}, {"c = '\"'; // x", "c = '\"';", true}, {"c = '\\''; // x", "c = '\\'';", true},
        {"c = \"'\"; // x", "c = \"'\";", true}, {"a / b", "a/b", true}, {"a /* b", "a", true}, {"a /*/ b */ c", "ac", true}, {"a/**/b", "ab", true}, {"a\t\v\f\rb", "ab", true},
        {"a // b\nc", "ac", true}, {"s = \"a\n// b\n", "s = \"a\n", true}, {"a # b", "a", false}, {"a", "ab", false}, {"ab", "a", false}, {"s = \"\\\\\\\"//\";", "s = \"\\\\\\\"\";", false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++)
        for (int turned = 0; turned < 2; turned++) {
            char parent_text[80], text[160];
            gs_completion got;
            snprintf(parent_text, sizeof parent_text, "%s\n", turned ? cases[i].other : cases[i].one);
            snprintf(text, sizeof text, "```cuda\n%s\n```\n", turned ? cases[i].one : cases[i].other);
            const gs_parent parent = {parent_text, "m\n"};
            assert_int_equal(gs_completion_read_edit(&got, text, strlen(text), &parent, NULL), GS_OK);
            if ((got.source == NULL) != cases[i].same) fail_msg("%s beside %s", text, parent_text);
            gs_completion_free(&got);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits_are_applied), cmocka_unit_test(what_is_wrong_is_said), cmocka_unit_test(the_last_of_many_lines_differs), cmocka_unit_test(limits), cmocka_unit_test(kernels_of_blocks),
        cmocka_unit_test(random_pairs), cmocka_unit_test(each_edit_is_as_small_as_it_can_be), cmocka_unit_test(among_thousands_of_equal_lines), cmocka_unit_test(what_is_unique_only_when_joined),
        cmocka_unit_test(marks_differ_from_the_texts),
        cmocka_unit_test(all_kernels), cmocka_unit_test(the_parent_is_no_answer), cmocka_unit_test(what_is_quoted_is_no_comment), cmocka_unit_test(completions_of_a_parent),
    };
    return run_without_leaks("llm/edit", tests, GS_COUNT(tests));
}

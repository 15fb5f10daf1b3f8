/* SPDX-License-Identifier: MIT
 * Texts of prompts: which folder they are from, their fields, and what is no such text. What a command makes of them is policy/llm's. */
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
#include "base/file.h"
#include "leaks.h"
#include "llm/prompt.h"

#define OURS "source-ask.md"

static gs_text  out;
static gs_error error;

static gs_status add(const char *folder, const char *name)
{
    static const gs_prompt_field fields[] = {{"word", "said"}, {"words", "more"}, {"none", ""}};
    gs_text_clear(&out);
    error = (gs_error){0};
    return gs_prompt_add(&out, folder, name, fields, GS_COUNT(fields), &error);
}

static void fields_are_filled(void **state)
{
    (void)state;
    /* legend: the text, what comes of it; NULL: words of the error */
    static const struct { const char *text, *want, *error; } cases[] = {
        {"a {{word}} b {{words}}{{none}}\nc {d}", "a said b more\nc {d}", NULL},
        {"a\nb {{wor}}\n", NULL, "line 2: there is no field 'wor'"},
        {"{{word}}\n\n{{words\n}}", NULL, "line 3: a field does not end with }}"},
        {"{{word}", NULL, "line 1: a field does not end with }}"},
    };
    char folder[] = "/tmp/gs-prompts-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mine.md", folder);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        assert_int_equal(gs_file_write(path, cases[i].text, strlen(cases[i].text), NULL), GS_OK);
        assert_int_equal(add(folder, "mine.md"), cases[i].want ? GS_OK : GS_ERROR_PARSE);
        assert_string_equal(gs_text_string(&out), cases[i].want ? cases[i].want : "");
        if (cases[i].error) assert_string_equal(error.text, cases[i].error);
    }
    unlink(path);
    rmdir(folder);
}

static void what_is_no_text(void **state)
{
    (void)state;
    char folder[GS_PATH] = "/tmp";
    unsetenv(GS_PROMPT_FOLDER);
    assert_int_equal(add(NULL, "no such.md"), GS_ERROR_NOT_FOUND);
    assert_string_equal(error.text, "there is no text 'no such.md'");
    assert_int_equal(add("/nonexistent", OURS), GS_ERROR_NOT_FOUND);
    assert_string_equal(error.text, "there is no folder '/nonexistent'");
    assert_int_equal(add(GS_SOURCE_DIR "/CMakeLists.txt", OURS), GS_ERROR_NOT_FOUND);
    /* a path of the longest length, and of one byte more: the first has none of its own, so it is the library's, whose fields are others */
    size_t size = strlen(folder);
    while (size + 2 + 1 + strlen(OURS) < GS_PATH - 1) size += (size_t)snprintf(folder + size, sizeof folder - size, "/.");
    while (size + 1 + strlen(OURS) < GS_PATH - 1) size += (size_t)snprintf(folder + size, sizeof folder - size, "/");
    assert_int_equal(add(folder, OURS), GS_ERROR_PARSE);
    snprintf(folder + size, sizeof folder - size, "/");
    assert_int_equal(add(folder, OURS), GS_ERROR_RANGE);
    assert_string_equal(error.text, "the path of the folder is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_are_filled), cmocka_unit_test(what_is_no_text)};
    const int failed = run_without_leaks("llm/prompt", tests, GS_COUNT(tests));
    gs_text_free(&out);
    return failed;
}

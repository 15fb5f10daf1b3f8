/* SPDX-License-Identifier: MIT
 * Proves that the candidate in a completion is found as tests/service/completions.json has it, which the test of python/gemmsmith/reward.py reads too, and that
 * one that is too long is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "leaks.h"
#include "llm/completion.h"

static void same(const char *name, const char *what, const char *got, const json_t *want)
{
    const char *const expected = json_string_value(json_object_get(want, what));
    if (!got != !expected || (got && strcmp(got, expected) != 0)) fail_msg("%s: %s is \"%s\", and not \"%s\"", name, what, got ? got : "(none)", expected ? expected : "(none)");
}

static void table(void **state)
{
    (void)state;
    json_error_t why;
    json_t *const cases = json_load_file(GS_SOURCE_DIR "/tests/service/completions.json", JSON_ALLOW_NUL, &why), *one;
    size_t i;
    if (!cases) fail_msg("completions.json: %s", why.text);
    assert_true(json_array_size(cases) > 40);
    json_array_foreach(cases, i, one) {
        const json_t *const text = json_array_get(one, 1), *const want = json_array_get(one, 2);
        const char *const name = json_string_value(json_array_get(one, 0));
        gs_completion found;
        char *const exact = malloc(json_string_length(text) + 1);   /* so that a sanitizer sees what is read behind its end */
        assert_non_null(exact);
        memcpy(exact, json_string_value(text), json_string_length(text));
        assert_int_equal(gs_completion_read(&found, exact, json_string_length(text), NULL), GS_OK);
        same(name, "schedule", found.schedule, want);
        same(name, "source", found.source, want);
        same(name, "manifest", found.manifest, want);
        gs_completion_free(&found);
        free(exact);
    }
    json_decref(cases);
}

/* A completion with blocks of these sizes; 0: none. */
static bool has_candidate(size_t schedule, size_t source, size_t manifest)
{
    static const char *const opens[] = {"```schedule\n", "```cuda\n", "```manifest\n"};
    const size_t sizes[] = {schedule, source, manifest};
    gs_text text = {0};
    gs_completion found;
    for (int i = 0; i < 3; i++) {
        if (sizes[i] == 0) continue;
        gs_text_add(&text, opens[i]);
        for (size_t byte = 0; byte + (i > 0) < sizes[i]; byte++) gs_text_add_bytes(&text, "x", 1);
        gs_text_add(&text, "\n```\n");
    }
    assert_false(text.failed);
    assert_int_equal(gs_completion_read(&found, gs_text_string(&text), text.size, NULL), GS_OK);
    const bool has = found.schedule || found.source;
    gs_completion_free(&found);
    gs_text_free(&text);
    return has;
}

static void limits(void **state)
{
    (void)state;
    assert_true(has_candidate(GS_COMPLETION_SCHEDULE, 0, 0));
    assert_false(has_candidate(GS_COMPLETION_SCHEDULE + 1, 0, 0));
    assert_false(has_candidate(GS_COMPLETION_SCHEDULE + 1, 10, 10));
    assert_true(has_candidate(0, GS_COMPLETION_SOURCE, GS_COMPLETION_MANIFEST));
    assert_false(has_candidate(0, GS_COMPLETION_SOURCE + 1, 10));
    assert_false(has_candidate(0, 10, GS_COMPLETION_MANIFEST + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(limits)};
    return run_without_leaks("llm/completion", tests, GS_COUNT(tests));
}

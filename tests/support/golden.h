/* SPDX-License-Identifier: MIT
 * Compares what a test prints, line by line, with a file of the expected output. UPDATE=1 in the environment rewrites the file, and its diff shows what a change does.
 * Included after cmocka. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

enum { GOLDEN_LINE = 2048 };

/* The two lines are identical. */
static inline bool golden_exact(const char *line, const char *wanted) { return strcmp(line, wanted) == 0; }

static inline void golden_write(const char *path, const gs_text *found, bool whole)
{
    gs_error error = {0};
    if (!whole) fail_msg("%s is not written: this build knows its beginning only", path);
    if (gs_file_write(path, gs_text_string(found), found->size, &error) != GS_OK) fail_msg("%s", error.text);
}

/* whole: `found` must be all of the file; otherwise it must be its beginning, and the file is never rewritten. Lines include their line feeds, also those that `same` is
 * given. */
static inline void golden_check(const char *path, const gs_text *found, bool whole, bool (*same)(const char *line, const char *wanted))
{
    char line[GOLDEN_LINE], wanted[GOLDEN_LINE], head[GOLDEN_LINE] = "";
    assert_false(found->failed);
    if (getenv("UPDATE")) {
        golden_write(path, found, whole);
        return;
    }
    FILE *const file = fopen(path, "r");
    if (!file) fail_msg("%s cannot be read: UPDATE=1 writes it", path);
    for (const char *at = gs_text_string(found); *at; at += strlen(line)) {
        const size_t length = strcspn(at, "\n") + 1;
        assert_true(length < sizeof line);
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        if (!fgets(wanted, sizeof wanted, file)) fail_msg("the file ends before\n%s", line);
        if (*wanted != ' ') strcpy(head, wanted);   /* the heading of the indented lines after it */
        if (!same(line, wanted)) fail_msg("\n%s%sis now\n%s(UPDATE=1 writes it, if that is meant)", *wanted == ' ' ? head : "", wanted, line);
    }
    if (whole && fgets(wanted, sizeof wanted, file)) fail_msg("the file goes on: %s", wanted);
    fclose(file);
}

#endif

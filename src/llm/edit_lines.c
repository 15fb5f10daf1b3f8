/* SPDX-License-Identifier: MIT */
#include "llm/edit_lines.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

gs_status gs_edit_lines_add(gs_edit_lines *out, const char *at, size_t size, gs_error *error)
{
    size_t bare = size;
    while (bare > 0 && isspace((unsigned char)at[bare - 1])) bare--;
    if (!gs_grow(&out->line, out->count, &out->capacity, sizeof *out->line)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for edits");
    out->line[out->count++] = (gs_edit_line){at, size, bare, gs_hash64(at, bare)};
    return GS_OK;
}

gs_status gs_edit_lines_read(gs_edit_lines *out, const char *text, gs_error *error)
{
    *out = (gs_edit_lines){0};
    while (*text) {
        const size_t size = strcspn(text, "\n");
        const gs_status status = gs_edit_lines_add(out, text, size, error);
        if (status != GS_OK) {
            free(out->line);
            *out = (gs_edit_lines){0};
            return status;
        }
        text += size + (text[size] == '\n');
    }
    return GS_OK;
}

static bool same(const gs_edit_line *a, const gs_edit_line *b) { return a->hash == b->hash && a->bare == b->bare && memcmp(a->at, b->at, a->bare) == 0; }

/* Knuth-Morris-Pratt: linear time also for texts with many equal lines. */
int gs_edit_find(const gs_edit_lines *text, const gs_edit_line *lines, int count, int *at)
{
    int found = 0, matched = 0;
    int *const back = malloc(((size_t)count + 1) * sizeof *back);
    if (!back) return -1;
    back[0] = 0;
    for (int i = 1, k = 0; i < count; i++) {
        while (k > 0 && !same(&lines[i], &lines[k])) k = back[k - 1];
        k += same(&lines[i], &lines[k]);
        back[i] = k;
    }
    for (int i = 0; i < text->count && count > 0; i++) {
        while (matched > 0 && !same(&text->line[i], &lines[matched])) matched = back[matched - 1];
        matched += same(&text->line[i], &lines[matched]);
        if (matched < count) continue;
        *at = i - count + 1;
        found++;
        matched = back[matched - 1];
    }
    free(back);
    return found;
}

int gs_edit_mark(const gs_edit_line *line, char sign)
{
    const char *const word = sign == '<' ? "SEARCH" : sign == '>' ? "REPLACE" : "";
    size_t signs = 0;
    while (signs < line->bare && line->at[signs] == sign) signs++;
    size_t rest = signs;
    while (rest < line->bare && line->at[rest] == ' ') rest++;
    return signs >= 5 && signs <= 9 && line->bare - rest == strlen(word) && memcmp(line->at + rest, word, strlen(word)) == 0 ? (int)signs : 0;
}

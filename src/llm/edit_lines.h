/* SPDX-License-Identifier: MIT
 * Texts as lines, and where lines stand in them: what edit.c and edit_make.c share. */
#ifndef GS_LLM_EDIT_LINES_H
#define GS_LLM_EDIT_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

typedef struct gs_edit_line {
    const char *at;
    size_t      size, bare;   /* without its end; and without white space before that */
    uint64_t    hash;         /* of the bare line */
} gs_edit_line;

typedef struct gs_edit_lines {
    gs_edit_line *line;
    int           count, capacity;
} gs_edit_lines;              /* zero-initialise; free(line) */

gs_status gs_edit_lines_read(gs_edit_lines *out, const char *text, gs_error *error);   /* MEMORY */
gs_status gs_edit_lines_add(gs_edit_lines *out, const char *at, size_t size, gs_error *error);

/* The number of places where `count` lines stand in the text, bare; *at: the last of them. MEMORY: -1. */
int gs_edit_find(const gs_edit_lines *text, const gs_edit_line *lines, int count, int *at);

/* The number of signs of a mark, "<<<<<<< SEARCH", "=======" or ">>>>>>> REPLACE", by its sign; 0: it is none. */
int gs_edit_mark(const gs_edit_line *line, char sign);

#endif

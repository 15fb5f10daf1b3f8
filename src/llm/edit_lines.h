/* SPDX-License-Identifier: MIT
 * Texts as lists of lines, and searching lines in them; shared by edit.c and edit_make.c. */
#ifndef GS_LLM_EDIT_LINES_H
#define GS_LLM_EDIT_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

typedef struct gs_edit_line {
    const char *at;
    size_t      size, bare;   /* without the line end; and without trailing white space */
    uint64_t    hash;         /* of the first `bare` bytes */
} gs_edit_line;

typedef struct gs_edit_lines {
    gs_edit_line *line;
    int           count, capacity;
} gs_edit_lines;              /* zero-initialise; free(line) */

gs_status gs_edit_lines_read(gs_edit_lines *out, const char *text, gs_error *error);   /* MEMORY */
gs_status gs_edit_lines_add(gs_edit_lines *out, const char *at, size_t size, gs_error *error);

/* Counts the places where `count` lines occur in the text, trailing white space ignored; *at: the last place. MEMORY: -1. */
int gs_edit_find(const gs_edit_lines *text, const gs_edit_line *lines, int count, int *at);

/* The number of signs if the line is a marker, "<<<<<<< SEARCH", "=======" or ">>>>>>> REPLACE", for its sign; 0: it is not. */
int gs_edit_mark(const gs_edit_line *line, char sign);

#endif

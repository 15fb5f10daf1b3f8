/* SPDX-License-Identifier: MIT
 * The folder of --keep: the best kernel of each kind, as <hash>/kernel.cu and <hash>/manifest, and elites.jsonl with a line for each. Candidates are named by
 * the hash of their texts. Also the JSON and text lines for a turn and a result. */
#ifndef GS_AUTHOR_KEEP_H
#define GS_AUTHOR_KEEP_H

#include "author/author.h"
#include "base/json.h"

typedef struct gs_kept {
    const char *folder;   /* not owned */
    gs_text     rows;     /* lines of elites.jsonl, old and new */
} gs_kept;

/* Creates the folder and reads what earlier runs kept there. Codes: PARSE (elites.jsonl has other lines), IO, ARGUMENT (the path is too long). */
gs_status gs_kept_open(gs_kept *kept, const char *folder, gs_error *error);

/* Writes the kernels of a result; they replace rows of the same problem on the same GPU (caps->slug). Locks the folder against other processes. */
gs_status gs_kept_put(gs_kept *kept, const char *problem, const gs_caps *caps, const gs_author_result *result, gs_error *error);
void      gs_kept_free(gs_kept *kept);

/* Appends a JSON line with its line end. spent: usage of the model so far. */
void gs_author_turn_line(gs_text *line, const char *problem, const gs_author_turn *turn);
void gs_author_result_line(gs_text *line, const char *problem, const gs_caps *caps, const gs_author_result *result, const gs_spent *spent);

/* A line for a person: for a turn whose kernel passed, and for the end of a problem. seconds: the duration as text. */
void gs_author_turn_text(gs_text *line, const char *problem, const gs_author_turn *turn);
void gs_author_result_text(gs_text *line, const char *problem, const gs_caps *caps, const gs_author_result *result, const char *seconds);

#endif

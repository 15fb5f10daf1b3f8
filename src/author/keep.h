/* SPDX-License-Identifier: MIT
 * The folder of --keep: the best kernel of each kind, as <hash>/kernel.cu and <hash>/manifest, and elites.jsonl, a line for each of them. Candidates are
 * called by the hash of their texts. Also how a turn, a kernel and a result are written as JSON. */
#ifndef GS_AUTHOR_KEEP_H
#define GS_AUTHOR_KEEP_H

#include "author/author.h"
#include "base/json.h"

typedef struct gs_kept {
    const char *folder;   /* the caller's */
    gs_text     rows;     /* of elites.jsonl: what was there, and what was put */
} gs_kept;

/* Makes the folder, and reads what earlier runs kept there. Codes: PARSE (other lines stand there), IO, ARGUMENT (the path is too long). */
gs_status gs_kept_open(gs_kept *kept, const char *folder, gs_error *error);

/* Writes the kernels of a result; rows of the same problem on the same GPU (caps->slug) make room for them. Processes that keep in one folder wait for each other. */
gs_status gs_kept_put(gs_kept *kept, const char *problem, const gs_caps *caps, const gs_author_result *result, gs_error *error);
void      gs_kept_free(gs_kept *kept);

/* A line of JSON with its end. spent: what the model was asked for so far. */
void gs_author_turn_line(gs_text *line, const char *problem, const gs_author_turn *turn);
void gs_author_result_line(gs_text *line, const char *problem, const gs_caps *caps, const gs_author_result *result, const gs_spent *spent);

/* A line for a person: of a turn whose kernel passed, and of a problem's end. seconds: in words. */
void gs_author_turn_text(gs_text *line, const char *problem, const gs_author_turn *turn);
void gs_author_result_text(gs_text *line, const char *problem, const gs_caps *caps, const gs_author_result *result, const char *seconds);

#endif

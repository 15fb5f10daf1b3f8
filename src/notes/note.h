/* SPDX-License-Identifier: MIT
 * Notes for whoever writes a kernel, found by full-text search (SQLite's FTS5, in memory): what this project learned about kernels (share/notes, carried by the program; one
 * fact per section), and what was fastest for the nearest problems of a store. A gs_notes belongs to one thread. */
#ifndef GS_NOTES_NOTE_H
#define GS_NOTES_NOTE_H

#include "base/text.h"
#include "store/store.h"

#define GS_NOTE_FOLDER "GEMMSMITH_NOTES"

typedef struct gs_notes gs_notes;

typedef struct gs_note_query {
    const gs_problem *problem;
    const gs_caps    *caps;
    const char       *family;      /* "ws"; NULL: any */
    const char       *failure;     /* verdict and reason of the last failure: its words are looked for, nothing of it is shown; NULL: none */
} gs_note_query;

/* folder: *.md files beside the carried ones, of which one of the same name takes the place; NULL: $GEMMSMITH_NOTES, or none. Codes: UNSUPPORTED (fts5: the SQLite at
 * hand has no full-text search), NOT_FOUND (the folder), MEMORY, IO. */
gs_status gs_notes_open(gs_notes **out, const char *folder, gs_error *error);
void      gs_notes_close(gs_notes **notes);

/* Takes in the confirmed winners of a device that is measured in the store, instead of those that it had. Codes: the store's, MEMORY. */
gs_status gs_notes_learn(gs_notes *notes, gs_store *store, const char *device, gs_error *error);

/* Adds the sections that suit best, whole ones, at most `limit` bytes: "### title" and text. Nothing where nothing suits. Codes: STORE, MEMORY. */
gs_status gs_notes_find(gs_notes *notes, const gs_note_query *query, size_t limit, gs_text *out, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Notes for the author of a kernel, found by full-text search (SQLite's FTS5, in memory): facts about kernels (share/notes, built into the program; one
 * fact per section), and the fastest candidates for the nearest problems of a store. A gs_notes belongs to one thread. */
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
    const char       *failure;     /* verdict and reason of the last failure: its words are searched for, but its text is never printed; NULL: none */
} gs_note_query;

/* folder: *.md files that are added to the built-in ones and replace those of the same name; NULL: $GEMMSMITH_NOTES, or none. Codes: UNSUPPORTED (this
 * SQLite has no FTS5), NOT_FOUND (the folder), MEMORY, IO. */
gs_status gs_notes_open(gs_notes **out, const char *folder, gs_error *error);
void      gs_notes_close(gs_notes **notes);

/* Replaces the notes' winners by the confirmed ones of the store for this device. Codes: the store's, MEMORY. */
gs_status gs_notes_learn(gs_notes *notes, gs_store *store, const char *device, gs_error *error);

/* Appends the best matching sections, each as "### title" and text, whole ones only, at most `limit` bytes; nothing if none match. Codes: STORE, MEMORY. */
gs_status gs_notes_find(gs_notes *notes, const gs_note_query *query, size_t limit, gs_text *out, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * The texts of which prompts are made: files that a person can read and edit, with {{fields}} that a program fills in. The repository has them in
 * share/prompts, the library carries a copy. */
#ifndef GS_LLM_PROMPT_H
#define GS_LLM_PROMPT_H

#include <stddef.h>
#include <gemmsmith/status.h>

#include "base/text.h"

#define GS_PROMPT_FOLDER "GEMMSMITH_PROMPTS"

enum { GS_PROMPT_BYTES = 64 << 10 };   /* of a text */

typedef struct gs_prompt_field {
    const char *name, *value;          /* letters, digits and _; the value is put in as it is, its braces mean nothing */
} gs_prompt_field;

/* Adds the text of this name, "schedules-ask.md", with its fields filled in. Of this folder, NULL: $GEMMSMITH_PROMPTS, else the installed one;
 * a text that the folder has not is the one that the library carries. *out keeps what it had on failure.
 * NOT_FOUND: the folder that was named, or the text. PARSE (field: the text's name): a field that there is not, or one that does not end. */
gs_status gs_prompt_add(gs_text *out, const char *folder, const char *name, const gs_prompt_field *fields, int count, gs_error *error);

#endif

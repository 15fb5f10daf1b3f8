/* SPDX-License-Identifier: MIT
 * Prompt templates: editable text files with {{fields}} that a program fills in. They are in share/prompts, and the library contains a copy. */
#ifndef GS_LLM_PROMPT_H
#define GS_LLM_PROMPT_H

#include <stddef.h>
#include <gemmsmith/status.h>

#include "base/text.h"

#define GS_PROMPT_FOLDER "GEMMSMITH_PROMPTS"

enum { GS_PROMPT_BYTES = 64 << 10 };   /* of a template */

typedef struct gs_prompt_field {
    const char *name, *value;          /* letters, digits and _; the value is inserted as it is, braces in it are not expanded */
} gs_prompt_field;

/* Appends the template of this name ("schedules-ask.md") with its fields filled in. folder NULL: $GEMMSMITH_PROMPTS, else the installed folder; a template
 * missing there is taken from the library's copy. *out is unchanged on failure.
 * NOT_FOUND: the named folder, or the template. PARSE (field: the template's name): an unknown field, or one that is not closed. */
gs_status gs_prompt_add(gs_text *out, const char *folder, const char *name, const gs_prompt_field *fields, int count, gs_error *error);

#endif

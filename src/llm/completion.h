/* SPDX-License-Identifier: MIT
 * Finds the candidate in the completion of a model in training: free text, of which only fenced blocks count.
 *
 *     ```schedule                        ```cuda                 or ```cuda kernel.cu                  ```json
 *     ws/128x256x64/s4/c2x1/coop/g8      ...                                                           ["ws/128x256x64/s4/c2x1/coop/g8"]
 *     ```                                ```                                                           ```
 *                                        ```manifest             or ```text manifest
 *                                        ...                                                           or such an array without a block
 *                                        ```
 *
 * Of several blocks with one name the last that is not blank counts. A schedule is preferred to a kernel, and both to an array, of which the first schedule
 * string counts. This covers answers to our prompts (answer.h) and to other people's. A fence begins its line and has three backticks or more; the closing
 * fence has at least as many and nothing else on its line. End-of-text marks like <|im_end|>, which some trainers leave, and everything up to the last
 * </think> are skipped. A completion without a candidate, or with one that no service accepts (longer than below, or a NUL in the text), is not an error.
 * tests/service/completions.json has texts and their candidates, for the tests of this and of the service. */
#ifndef GS_LLM_COMPLETION_H
#define GS_LLM_COMPLETION_H

#include <stddef.h>
#include <gemmsmith/status.h>

#include "llm/edit.h"

enum { GS_COMPLETION_SCHEDULE = 512, GS_COMPLETION_SOURCE = 512 << 10, GS_COMPLETION_MANIFEST = 64 << 10 };   /* longest texts, in bytes */

typedef struct gs_completion {
    char *schedule;             /* without surrounding blanks; or NULL and */
    char *source, *manifest;    /* as written, with LF line ends; all three owned; all NULL: no candidate */
    gs_error fault;             /* of gs_completion_read_edit: why the edits give no kernel; empty text: they are not the problem */
} gs_completion;

/* Fails with MEMORY only. */
gs_status gs_completion_read(gs_completion *out, const char *text, size_t size, gs_error *error);

/* The same for a model that was shown a parent kernel. It may answer with edits of it (edit.h): in blocks, those with one name taken together, or without
 * blocks anywhere in the text. A text (source or manifest) that the answer lacks is the parent's. A schedule is not accepted here: it would be a kernel of
 * ours. */
gs_status gs_completion_read_edit(gs_completion *out, const char *text, size_t size, const gs_parent *parent, gs_error *error);
void      gs_completion_free(gs_completion *completion);

#endif

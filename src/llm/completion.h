/* SPDX-License-Identifier: MIT
 * The candidate in what a model answered while it was trained: a free text, of which only fenced blocks are looked at.
 *
 *     ```schedule                        ```cuda                 or ```cuda kernel.cu                  ```json
 *     ws/128x256x64/s4/c2x1/coop/g8      ...                                                           ["ws/128x256x64/s4/c2x1/coop/g8"]
 *     ```                                ```                                                           ```
 *                                        ```manifest             or ```text manifest
 *                                        ...                                                           or such an array alone
 *                                        ```
 *
 * The last block of a name that is not blank counts; a schedule before a kernel, both before an array, whose first schedule string is meant. So the answers are read
 * that our prompts ask for (answer.h), and what anybody else's may. A fence begins its line and has three backticks or more; what closes a block has as many, and
 * nothing else on its line, but for marks like <|im_end|> at the end of the text, which some trainers leave there. Thoughts, up to the last </think>, are not
 * looked at. Where the model wrote no candidate, or one that no service takes (longer than below; a NUL in the text), that is its fault and no error.
 * tests/service/completions.json has texts and their candidates, for the tests of this and of the service. */
#ifndef GS_LLM_COMPLETION_H
#define GS_LLM_COMPLETION_H

#include <stddef.h>
#include <gemmsmith/status.h>

#include "llm/edit.h"

enum { GS_COMPLETION_SCHEDULE = 512, GS_COMPLETION_SOURCE = 512 << 10, GS_COMPLETION_MANIFEST = 64 << 10 };   /* bytes, the longest */

typedef struct gs_completion {
    char *schedule;             /* without blanks around it; or NULL and */
    char *source, *manifest;    /* as they were, with LF alone; all owned, all NULL: no candidate */
    gs_error fault;             /* of gs_completion_read_edit: why the edits make no kernel; no text: that is not what is wrong */
} gs_completion;

/* MEMORY alone. */
gs_status gs_completion_read(gs_completion *out, const char *text, size_t size, gs_error *error);

/* The same of a model that was shown a kernel: it may answer with edits of it (edit.h), in blocks, of which those of one name are taken together, or, where there are
 * no blocks, as they stand in the text; and a text that is not in the answer is the parent's. A schedule is no candidate here: it would be one of our kernels. */
gs_status gs_completion_read_edit(gs_completion *out, const char *text, size_t size, const gs_parent *parent, gs_error *error);
void      gs_completion_free(gs_completion *completion);

#endif

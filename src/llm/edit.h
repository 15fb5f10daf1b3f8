/* SPDX-License-Identifier: MIT
 * Search/replace edits of a kernel: a model answers with its changes instead of the whole text.
 *
 *     <<<<<<< SEARCH
 *     lines of the parent
 *     =======
 *     lines that replace them; none: they are removed
 *     >>>>>>> REPLACE
 *
 * One or more such edits, with only blank lines around them. Their order does not matter: each is searched in the parent. The markers of an edit have
 * five to nine signs, the same number in all three, so that texts that contain such markers can be edited too. SEARCH has whole lines, which must occur in the parent exactly
 * once. White space and CR at the end of a line do not count. If the lines are not found, they are compared without comments, blank lines and white space, because prompts
 * show code without comments. Error messages name edits and lines, and quote neither the answer nor the parent. */
#ifndef GS_LLM_EDIT_H
#define GS_LLM_EDIT_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "base/text.h"

enum { GS_EDITS = 128, GS_EDIT_BYTES = 512 << 10 };   /* edits per text; bytes of the result */

/* The kernel that edits apply to; both texts or none. */
typedef struct gs_parent {
    const char *source, *manifest;
} gs_parent;

/* Whether the first line that is not blank begins an edit. */
bool gs_edit_is(const char *text);

/* Appends the edited parent; every line gets a line end. name: the parent text's name, for error messages. PARSE, "edit 2 of kernel.cu": wrong markers,
 * SEARCH lines that are empty, missing or ambiguous, overlapping edits, no change, an empty result. RANGE: too many, or too long; MEMORY. *out is then
 * unchanged. */
gs_status gs_edit_apply(gs_text *out, const char *parent, const char *edits, const char *name, gs_error *error);

/* The kernel of an answer with these blocks (NULL: there is no such block): a block of edits is applied to the parent's text, another block is the text
 * itself, and a missing block means the parent's text. *edited: the parent was used. Codes: those of gs_edit_apply; PARSE also if the parent or both blocks
 * are missing. */
gs_status gs_edit_kernel(char **source, char **manifest, bool *edited, const gs_parent *parent, const char *source_block, const char *manifest_block, gs_error *error);

/* Appends edits that turn parent into exactly child, each with the fewest context lines that make it unique. UNSUPPORTED: the texts are equal, or no edits
 * give the child (it has a CR or no line end at its end, or the parent is empty). MEMORY. */
gs_status gs_edit_make(gs_text *out, const char *parent, const char *child, gs_error *error);

/* Appends the blocks of an answer (llm/answer.h) that give the child: edits of both texts; an unchanged text has no block. UNSUPPORTED, MEMORY. */
gs_status gs_edit_blocks(gs_text *out, const gs_parent *parent, const gs_parent *child, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Search/replace edits of a kernel: how a model answers with what it changes instead of the whole text.
 *
 *     <<<<<<< SEARCH
 *     lines of the parent
 *     =======
 *     lines that take their place; none: they are taken out
 *     >>>>>>> REPLACE
 *
 * One or more such edits, with nothing but blank lines around them; their order means nothing, because every one is searched in the parent. The marks of an edit have
 * five to nine signs, all three as many, so that a text may have lines like those of other marks. What is searched are whole lines, which must stand in the parent exactly
 * once. White space and CR at a line's end do not count. Only where the lines are not there so, they are compared without comments, blank lines and white space: prompts
 * show code without comments. Reasons name edits and lines and quote nothing, neither of the answer nor of the parent. */
#ifndef GS_LLM_EDIT_H
#define GS_LLM_EDIT_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "base/text.h"

enum { GS_EDITS = 128, GS_EDIT_BYTES = 512 << 10 };   /* edits of a text; bytes of what comes out of them */

/* What edits are applied to; both texts or none. */
typedef struct gs_parent {
    const char *source, *manifest;
} gs_parent;

/* Whether the first line that is not blank begins an edit. */
bool gs_edit_is(const char *text);

/* Appends the parent with its edits; every line gets an end. name: of the parent's text, for reasons. PARSE, "edit 2 of kernel.cu": the marks are wrong, the searched
 * lines are empty, not there, or there more than once, edits overlap, nothing is changed, nothing is left. RANGE: too many, or too long; MEMORY. Then *out is as it was. */
gs_status gs_edit_apply(gs_text *out, const char *parent, const char *edits, const char *name, gs_error *error);

/* The kernel that an answer's blocks mean (NULL: there is no such block): a block of edits is applied to the parent's text, another is the text itself, and what there
 * is no block for is the parent's. *edited: it is made from the parent. Codes: those of gs_edit_apply; PARSE also where there is no parent, or no block. */
gs_status gs_edit_kernel(char **source, char **manifest, bool *edited, const gs_parent *parent, const char *source_block, const char *manifest_block, gs_error *error);

/* Appends edits that make the child of the parent, exactly: each with as few lines around it as make it the only one. UNSUPPORTED: they are the same, or no edits mean
 * that child (a CR in it, a last line without an end, an empty parent). MEMORY. */
gs_status gs_edit_make(gs_text *out, const char *parent, const char *child, gs_error *error);

/* Appends the blocks of an answer (llm/answer.h) that mean the child: edits of both texts; what stays has no block. UNSUPPORTED, MEMORY. */
gs_status gs_edit_blocks(gs_text *out, const gs_parent *parent, const gs_parent *child, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Answers as edits: what a turn's kernel changes in the one that it was made from. */
#ifndef GS_DATASET_EDITS_H
#define GS_DATASET_EDITS_H

#include "dataset/rows.h"

/* Whether an answer of source mode is edits, whole or in part: it means nothing without the kernel that its own prompt shows. */
bool gs_answer_is_edits(const char *answer);

/* The prompt's second part and the answer of a pair: edits that make the turn's kernel of its base, both as prompts show them, so that every searched line stands in the
 * prompt. *made: false where there are none: a text is not in the stores, or is not shown whole, or the two are the same. Codes: MEMORY, the stores', gs_prompt_add's. */
gs_status gs_edits_of_turn(const gs_known *known, const gs_turn *turn, gs_text *ask, gs_text *completion, bool *made, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Turns as answers by edits: how a turn's kernel differs from the one that it was derived from. */
#ifndef GS_DATASET_EDITS_H
#define GS_DATASET_EDITS_H

#include "dataset/rows.h"

/* Whether an answer of source mode consists of edits, in whole or in part: then it is meaningless without the kernel in its own prompt. */
bool gs_answer_is_edits(const char *answer);

/* A pair's question and answer: edits that turn the base's kernel into the turn's, both as prompts show them, so that all SEARCH lines are in the prompt.
 * *made: false if there are none: a text is missing in the stores or not shown in full, or the two are equal. Codes: MEMORY, the stores', gs_prompt_add's. */
gs_status gs_edits_of_turn(const gs_known *known, const gs_turn *turn, gs_text *ask, gs_text *completion, bool *made, gs_error *error);

#endif

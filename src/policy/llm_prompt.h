/* SPDX-License-Identifier: MIT
 * The prompt of the policy "llm", from the texts of share/prompts and from numbers. What is in it of earlier answers are schedules alone, as
 * gs_schedule_format writes them. */
#ifndef GS_POLICY_LLM_PROMPT_H
#define GS_POLICY_LLM_PROMPT_H

#include "base/random.h"
#include "base/text.h"
#include "learn/actor.h"

typedef struct gs_llm_tried {
    gs_schedule schedule;
    double      us, ratio;       /* 0: not timed, not beside the library */
    char        verdict[24], reason[200];
} gs_llm_tried;

typedef struct gs_llm_view {
    const char         *folder;
    const gs_caps      *caps;
    const gs_space     *space;   /* the problem, and what is valid for it */
    const gs_llm_tried *tried;   /* in the order in which they came */
    int                 tried_count;
    const char         *dropped; /* lines of what was wrong with the last answer; "": nothing */
    int                 count;   /* schedule strings to be answered */
} gs_llm_view;

/* On one line, and of characters that every model knows: for verdict and reason. from NULL: empty. */
void gs_llm_plain(char *to, size_t size, const char *from);

/* random: which of those that were neither best nor failed are shown. */
gs_status gs_llm_prompt(const gs_llm_view *view, gs_random *random, gs_text *system, gs_text *ask, gs_error *error);

/* Of every prompt: the problem with its floor; what the device has. */
void gs_llm_add_problem(gs_text *text, const gs_problem *problem, const gs_caps *caps);
void gs_llm_add_device(gs_text *text, const gs_caps *caps);

#endif

/* SPDX-License-Identifier: MIT
 * The prompt of the policy "llm", made from the texts of share/prompts and numbers. Of earlier answers it contains only schedules, as
 * gs_schedule_format writes them. */
#ifndef GS_POLICY_LLM_PROMPT_H
#define GS_POLICY_LLM_PROMPT_H

#include "base/random.h"
#include "base/text.h"
#include "schedule/space.h"

typedef struct gs_llm_tried {
    gs_schedule schedule;
    double      us, ratio;       /* us 0: not timed; ratio 0: not timed beside cuBLASLt */
    char        verdict[24], reason[200];
} gs_llm_tried;

typedef struct gs_llm_view {
    const char         *folder;
    const gs_caps      *caps;
    const gs_space     *space;   /* the problem and its valid schedules */
    const gs_llm_tried *tried;   /* in the order in which they came */
    int                 tried_count;
    const char         *dropped; /* lines that say what was wrong with the last answer; "": nothing */
    int                 count;   /* how many schedule strings to ask for */
} gs_llm_view;

/* Copies a verdict or a reason as one line of ASCII. from NULL: empty. */
void gs_llm_plain(char *to, size_t size, const char *from);

/* random chooses which schedules are shown beside the best and the failed ones. */
gs_status gs_llm_prompt(const gs_llm_view *view, gs_random *random, gs_text *system, gs_text *ask, gs_error *error);

/* Parts of every prompt: the problem with its floor; the device. */
void gs_llm_add_problem(gs_text *text, const gs_problem *problem, const gs_caps *caps);
void gs_llm_add_device(gs_text *text, const gs_caps *caps);

#endif

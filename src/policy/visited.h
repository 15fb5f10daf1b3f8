/* SPDX-License-Identifier: MIT
 * The valid schedules of the problem that a policy works on, and which of them were proposed or told of. */
#ifndef GS_POLICY_VISITED_H
#define GS_POLICY_VISITED_H

#include "learn/actor.h"
#include "tune/tune.h"

typedef struct gs_taken {
    char     problem[GS_PROBLEM_TEXT];   /* whose space this is */
    uint32_t families;
    gs_space space;
    bool    *at;                         /* of the space; NULL: no memory */
    int      count;                      /* of these that are taken */
} gs_taken;                              /* zero-initialise */

/* Whether the policy must forget what it knew: it is another problem, or other families. */
bool gs_taken_other(const gs_taken *taken, const gs_policy *policy, const gs_problem *problem);

/* The space of that problem with nothing taken. false: no memory. */
bool gs_taken_begin(gs_taken *taken, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps);
void gs_taken_free(gs_taken *taken);

/* Whether it is valid and was not taken before. */
bool gs_taken_take(gs_taken *taken, const gs_schedule *schedule);

#endif

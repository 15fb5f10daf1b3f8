/* SPDX-License-Identifier: MIT
 * The valid schedules of the problem that a policy works on, and which of them were proposed or told of. */
#ifndef GS_POLICY_VISITED_H
#define GS_POLICY_VISITED_H

#include "learn/actor.h"
#include "policy/policy.h"

typedef struct gs_visited {
    char     problem[GS_PROBLEM_TEXT];   /* whose space this is */
    uint32_t families;
    gs_space space;
    bool    *at;                         /* of the space; NULL: no memory */
    int      count;                      /* of these that are visited */
} gs_visited;                              /* zero-initialise */

/* Whether the policy must forget what it knew: it is another problem, or other families. */
bool gs_visited_other(const gs_visited *visited, const gs_policy *policy, const gs_problem *problem);

/* The space of that problem with nothing visited. false: no memory. */
bool gs_visited_begin(gs_visited *visited, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps);
void gs_visited_free(gs_visited *visited);

/* Whether it is valid and was not visited before. */
bool gs_visited_add(gs_visited *visited, const gs_schedule *schedule);

#endif

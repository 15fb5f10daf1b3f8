/* SPDX-License-Identifier: MIT
 * The valid schedules of the problem that a policy works on, and which of them were proposed or observed. */
#ifndef GS_POLICY_VISITED_H
#define GS_POLICY_VISITED_H

#include "schedule/space.h"
#include "policy/policy.h"

typedef struct gs_visited {
    char     problem[GS_PROBLEM_TEXT];   /* the problem of this space */
    uint32_t families;
    gs_space space;
    bool    *at;                         /* per schedule of the space: whether it was visited; NULL: no memory */
    int      count;                      /* how many are visited */
} gs_visited;                              /* zero-initialise */

/* Whether the problem or the families changed, so that the policy must start anew. */
bool gs_visited_other(const gs_visited *visited, const gs_policy *policy, const gs_problem *problem);

/* Creates the space of a problem with nothing visited. False: no memory. */
bool gs_visited_begin(gs_visited *visited, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps);
void gs_visited_free(gs_visited *visited);

/* Marks a schedule as visited. True: it is valid and was not visited before. */
bool gs_visited_add(gs_visited *visited, const gs_schedule *schedule);

#endif

/* SPDX-License-Identifier: MIT */
#include "policy/visited.h"

#include <stdlib.h>
#include <string.h>

bool gs_visited_other(const gs_visited *visited, const gs_policy *policy, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    return strcmp(gs_problem_format(problem, text), visited->problem) != 0 || policy->families != visited->families;
}

bool gs_visited_begin(gs_visited *visited, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps)
{
    gs_visited_free(visited);
    gs_problem_format(problem, visited->problem);
    visited->families = policy->families;
    if (gs_space_create(&visited->space, problem, caps, visited->families, NULL) != GS_OK) return false;
    visited->at = calloc((size_t)visited->space.count + 1, sizeof *visited->at);
    return visited->at != NULL;
}

void gs_visited_free(gs_visited *visited)
{
    gs_space_free(&visited->space);
    free(visited->at);
    *visited = (gs_visited){0};
}

bool gs_visited_add(gs_visited *visited, const gs_schedule *schedule)
{
    const int at = gs_space_find(&visited->space, schedule);
    if (at < 0 || visited->at[at]) return false;
    visited->at[at] = true;
    visited->count++;
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "policy/visited.h"

#include <stdlib.h>
#include <string.h>

bool gs_taken_other(const gs_taken *taken, const gs_policy *policy, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    return strcmp(gs_problem_format(problem, text), taken->problem) != 0 || policy->families != taken->families;
}

bool gs_taken_begin(gs_taken *taken, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps)
{
    gs_taken_free(taken);
    gs_problem_format(problem, taken->problem);
    taken->families = policy->families;
    if (gs_space_create(&taken->space, problem, caps, taken->families, NULL) != GS_OK) return false;
    taken->at = calloc((size_t)taken->space.count + 1, sizeof *taken->at);
    return taken->at != NULL;
}

void gs_taken_free(gs_taken *taken)
{
    gs_space_free(&taken->space);
    free(taken->at);
    *taken = (gs_taken){0};
}

bool gs_taken_take(gs_taken *taken, const gs_schedule *schedule)
{
    const int at = gs_space_find(&taken->space, schedule);
    if (at < 0 || taken->at[at]) return false;
    taken->at[at] = true;
    taken->count++;
    return true;
}

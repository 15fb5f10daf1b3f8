/* SPDX-License-Identifier: MIT */
#include "problem/layout.h"

/* Elements of a packed row of B; a row has at least one, whatever the extents. */
static int64_t row_of(const gs_problem *problem, gs_layout layout)
{
    const int64_t row = layout == GS_TN ? problem->k : problem->n;
    return row > 0 ? row : 1;
}

gs_problem gs_problem_in_layout(const gs_problem *problem, gs_layout layout)
{
    gs_problem other = *problem;
    other.layout = layout;
    other.ldb += row_of(problem, layout) - row_of(problem, problem->layout);
    return other;
}

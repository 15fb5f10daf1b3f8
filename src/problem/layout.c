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

gs_problem gs_problem_resized(const gs_problem *problem, int64_t m, int64_t n, int64_t k)
{
    const gs_problem was = gs_problem_make(problem->in, problem->layout, problem->m, problem->n, problem->k);
    const gs_problem is = gs_problem_make(problem->in, problem->layout, m, n, k);
    gs_problem other = *problem;
    other.m = m;
    other.n = n;
    other.k = k;
    other.lda += is.lda - was.lda;
    other.ldb += is.ldb - was.ldb;
    other.ldc += is.ldc - was.ldc;
    other.ldd += is.ldd - was.ldd;
    return other;
}

/* SPDX-License-Identifier: MIT
 * Which row of a tuned table a plan uses. */
#include "table/table.h"

#include "base/error.h"
#include "problem/layout.h"

#define CLEARLY_SLOWER 1.1   /* ratio of predicted times; the model's errors are about as large */

/* User kernels are used only for their own problem. */
static const gs_row *for_others(const gs_row *row) { return row && !row->kernel[0] ? row : NULL; }

const gs_row *gs_table_twin(const gs_table *table, const gs_problem *problem)
{
    gs_problem twin = *problem;
    if (problem->acc != GS_F32) return NULL;   /* bf16 always accumulates in f32 */
    twin.in = problem->in == GS_F16 ? GS_BF16 : GS_F16;
    if (problem->out == problem->in) twin.out = twin.in;
    return for_others(gs_table_find(table, &twin));
}

/* The row of the problem, or of its twin with the other input type. */
static const gs_row *row_of(const gs_table *table, gs_problem problem)
{
    const gs_row *const row = for_others(gs_table_find(table, &problem));
    return row ? row : gs_table_twin(table, &problem);
}

/* The row, if its schedule can run the invariant problem, i.e. adds in the required order; else NULL. */
static const gs_row *keeps(const gs_row *row, const gs_problem *problem, const gs_caps *caps)
{
    return row && !row->library && !row->kernel[0] && gs_schedule_check(&row->schedule, problem, caps, NULL) == GS_OK ? row : NULL;
}

/* For an invariant problem without a row: the rows of the same problem, its plain product and its packed form; after each, the row of that problem without `inv`. */
static const gs_row *choose_invariant(const gs_table *table, const gs_problem *problem, const gs_caps *caps)
{
    const gs_problem near[] = {*problem, gs_problem_sums(problem), gs_problem_packed(problem)};
    const int kinds = gs_problem_wants(problem) & (GS_WANTS_STRIDES | GS_WANTS_POINTERS) ? 3 : 2;
    const gs_row *row = NULL;
    for (int i = 0; i < 2 * kinds && !row; i++) {
        gs_problem other = near[i / 2];
        other.invariant = i % 2 == 0;
        row = keeps(gs_table_find(table, &other), problem, caps);
        if (!row) row = keeps(gs_table_twin(table, &other), problem, caps);
    }
    return row;
}

/* The nearest row; for groups not if the time model predicts a schedule to be clearly faster: the number of groups with rows changes most with the extents, so
 * the nearest row's tiles may suit four times as many rows. */
static const gs_row *near_enough(const gs_table *table, const gs_problem *problem, const gs_caps *caps)
{
    const gs_row *const row = gs_table_nearest(table, problem, caps);
    gs_schedule best;
    if (!row || !problem->groups || gs_schedule_shortlist(problem, caps, 0, &best, 1) < 1) return row;
    return gs_schedule_predict(&row->schedule, problem, caps) > CLEARLY_SLOWER * gs_schedule_predict(&best, problem, caps) ? NULL : row;
}

const gs_row *gs_table_choose(const gs_table *table, const gs_problem *problem, const gs_caps *caps, bool weights, bool *exact)
{
    const bool invariant = problem->invariant != 0;
    const gs_row *row = gs_table_find(table, problem);
    *exact = row != NULL;
    if (!row) row = invariant ? choose_invariant(table, problem, caps) : gs_table_twin(table, problem);
    if (!row && !invariant && (gs_has_epilogue(problem) || problem->scalars)) row = row_of(table, gs_problem_sums(problem));   /* a schedule that is fast for the plain product, */
    if (!row && !invariant && gs_problem_wants(problem) & (GS_WANTS_STRIDES | GS_WANTS_POINTERS)) row = row_of(table, gs_problem_packed(problem));   /* or packed ones */
    return row || (weights && !problem->groups) ? row : near_enough(table, problem, caps);
}

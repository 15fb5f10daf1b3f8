/* SPDX-License-Identifier: MIT
 * Which row a plan takes. */
#include "table/table.h"

#include "base/error.h"
#include "problem/layout.h"

#define CLEARLY_SLOWER 1.1   /* times of the time model, whose errors are about as large */

/* A user kernel is used for its own problem alone. */
static const gs_row *for_others(const gs_row *row) { return row && !row->kernel[0] ? row : NULL; }

const gs_row *gs_table_twin(const gs_table *table, const gs_problem *problem)
{
    gs_problem twin = *problem;
    if (problem->acc != GS_F32) return NULL;   /* bf16 has no other */
    twin.in = problem->in == GS_F16 ? GS_BF16 : GS_F16;
    if (problem->out == problem->in) twin.out = twin.in;
    return for_others(gs_table_find(table, &twin));
}

/* Of the problem or of its twin with the other input type. */
static const gs_row *row_of(const gs_table *table, gs_problem problem)
{
    const gs_row *const row = for_others(gs_table_find(table, &problem));
    return row ? row : gs_table_twin(table, &problem);
}

/* One whose schedule keeps the order of summation. */
static const gs_row *keeps(const gs_row *row, const gs_problem *problem, const gs_caps *caps)
{
    return row && !row->library && !row->kernel[0] && gs_schedule_check(&row->schedule, problem, caps, NULL) == GS_OK ? row : NULL;
}

/* For an invariant problem without a row: the next ones, and behind each that of the same problem without that wish. */
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

/* The nearest row. Of groups, not where the time model knows a schedule that is clearly faster here: which groups have rows, and how many, changes with the
 * extents more than anything else does, and tiles for four times as many rows may be too few for these. */
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
    if (!row && !invariant && (gs_has_epilogue(problem) || problem->scalars)) row = row_of(table, gs_problem_sums(problem));   /* what is fast for the sums alone, */
    if (!row && !invariant && gs_problem_wants(problem) & (GS_WANTS_STRIDES | GS_WANTS_POINTERS)) row = row_of(table, gs_problem_packed(problem));   /* and for packed matrices */
    return row || (weights && !problem->groups) ? row : near_enough(table, problem, caps);
}

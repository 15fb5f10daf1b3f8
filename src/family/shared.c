/* SPDX-License-Identifier: MIT
 * Shared by several families. */
#include "family/shared.h"

#include "problem/layout.h"

/* tiles are visited in groups of so many tile rows (g) or tile columns (h): second value 0 or 1 */
const gs_parameter_value gs_raster_values[10] = {
    {"g1", {1, 0}}, {"g2", {2, 0}}, {"g4", {4, 0}}, {"g8", {8, 0}}, {"g16", {16, 0}},
    {"h1", {1, 1}}, {"h2", {2, 1}}, {"h4", {4, 1}}, {"h8", {8, 1}}, {"h16", {16, 1}},
};

const gs_parameter_value gs_sizes_values[2] = {{"any", {0}}, {"fixed", {1}}};   /* extents as arguments, or compiled in */

int gs_units_of(const gs_problem *problem)
{
    const int64_t size = (int64_t)gs_type_size(problem->out);
    const int units = problem->beta != 0 ? 1 : gs_is_gradient(problem->activation) ? 2 : problem->aux && problem->gate != GS_GATE_INTERLEAVED ? 3 : 0;
    return units && gs_rows_unit(problem, units == 1 ? 'c' : 'g') * size % 16 == 0 && problem->n * size % 16 == 0 ? units : 0;
}

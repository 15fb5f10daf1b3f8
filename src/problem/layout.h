/* SPDX-License-Identifier: MIT
 * The same problem with its B stored the other way, or with other extents. */
#ifndef GS_PROBLEM_LAYOUT_H
#define GS_PROBLEM_LAYOUT_H

#include <gemmsmith/problem.h>

/* The same matrices; the rows of B keep their padding. */
gs_problem gs_problem_in_layout(const gs_problem *problem, gs_layout layout);

/* With other extents; every row keeps its padding. */
gs_problem gs_problem_resized(const gs_problem *problem, int64_t m, int64_t n, int64_t k);

#endif

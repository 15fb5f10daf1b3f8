/* SPDX-License-Identifier: MIT
 * The same problem with its B stored the other way. */
#ifndef GS_PROBLEM_LAYOUT_H
#define GS_PROBLEM_LAYOUT_H

#include <gemmsmith/problem.h>

/* The same matrices; the rows of B keep their padding. */
gs_problem gs_problem_in_layout(const gs_problem *problem, gs_layout layout);

#endif

/* SPDX-License-Identifier: MIT
 * Family mma: its parameters, in order, and the access that its copies have. For its own files and tests. */
#ifndef GS_FAMILY_MMA_H
#define GS_FAMILY_MMA_H

#include "schedule/schedule.h"

enum { GS_MMA_TILE, GS_MMA_WARPS, GS_MMA_STAGES, GS_MMA_RASTER };

/* Widest access, in elements (8, 4, 2, 1), that the leading dimensions of A and B allow, when pointers are 16-byte aligned. */
int gs_problem_vector(const gs_problem *problem);

#endif

/* SPDX-License-Identifier: MIT
 * What several families have: lists of values of parameters, and what their kernels may read by units. */
#ifndef GS_FAMILY_SHARED_H
#define GS_FAMILY_SHARED_H

#include "schedule/schedule.h"

extern const gs_parameter_value gs_raster_values[10];   /* g1 ... g16, h1 ... h16: in which order tiles are walked */
extern const gs_parameter_value gs_sizes_values[2];     /* any, fixed: extents as arguments, or compiled in */

/* What a kernel that has registers for it may read by units of 16 bytes, as its GS_UNITS: 1 C, 2 where C is not read aux of a gradient; 0: neither, or its rows do not begin and end at
 * multiples of 16 bytes. Its manifest asks for `c` at such multiples then, which aux of a gradient is held to as well. */
int gs_read_by_units(const gs_problem *problem);

#endif

/* SPDX-License-Identifier: MIT
 * What several families have: lists of values of parameters, and what their kernels may read by units. */
#ifndef GS_FAMILY_SHARED_H
#define GS_FAMILY_SHARED_H

#include "schedule/schedule.h"

extern const gs_parameter_value gs_raster_values[10];   /* g1 ... g16, h1 ... h16: in which order tiles are walked */
extern const gs_parameter_value gs_sizes_values[2];     /* any, fixed: extents as arguments, or compiled in */

/* What a kernel may read or write by units of 16 bytes beside D, as its GS_UNITS: 1 reads C, 2, where C is not read, aux of a gradient, 3 writes aux. 0: nothing, or its rows do not begin
 * and end at multiples of 16 bytes, or gate and up stand in turn there. The manifest of who reads so asks for `c` at such multiples, which aux of a gradient is held to as well, of who
 * writes so for `d`, which aux is. */
int gs_units_of(const gs_problem *problem);

#endif

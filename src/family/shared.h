/* SPDX-License-Identifier: MIT
 * Shared by several families: values of parameters, and which operands kernels may access by 16-byte units. */
#ifndef GS_FAMILY_SHARED_H
#define GS_FAMILY_SHARED_H

#include "schedule/schedule.h"

extern const gs_parameter_value gs_raster_values[10];   /* g1 ... g16, h1 ... h16: the order in which tiles are visited */
extern const gs_parameter_value gs_sizes_values[2];     /* any, fixed: extents as arguments, or compiled in */

/* Which operand, besides D, a kernel may access by units of 16 bytes; the value of GS_UNITS. 1: it reads C. 2: it reads the aux of a gradient (C is not read). 3: it
 * writes aux. 0: none, or its rows do not begin and end at multiples of 16 bytes, or gate and up alternate in it. If units are read, the manifest must require 16-byte
 * alignment of `c`, which also applies to the aux of a gradient; if units are written, of `d`, which also applies to aux. */
int gs_units_of(const gs_problem *problem);

#endif

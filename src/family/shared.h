/* SPDX-License-Identifier: MIT
 * Lists of values that parameters of several families have. */
#ifndef GS_FAMILY_SHARED_H
#define GS_FAMILY_SHARED_H

#include "schedule/schedule.h"

extern const gs_parameter_value gs_raster_values[10];   /* g1 ... g16, h1 ... h16: in which order tiles are walked */
extern const gs_parameter_value gs_sizes_values[2];     /* any, fixed: extents as arguments, or compiled in */

#endif

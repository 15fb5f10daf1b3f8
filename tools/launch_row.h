/* SPDX-License-Identifier: MIT
 * Prints the counters of an emulated launch as further fields of a row: the fields of gs_launch_shape and gs_launch_counts in order. */
#ifndef GS_TOOLS_LAUNCH_ROW_H
#define GS_TOOLS_LAUNCH_ROW_H

#include <stdio.h>

#include "schedule/predict.h"

#define LAUNCH_ROW_HEAD ",shape and counts"   /* the column's name */

static inline void print_launch(const gs_launch_shape *shape, const gs_launch_counts *counts)
{
    const double *const count = (const double *)(const void *)counts;
    printf(",%.0f,%d,%d,%d,%d", shape->grid, shape->threads, shape->cluster, shape->smem, shape->registers);
    for (size_t i = 0; i < sizeof *counts / sizeof *count; i++) printf(",%.0f", count[i]);
}

#endif

/* SPDX-License-Identifier: MIT
 * Family mma: the order of its parameters. For its own files and tests. */
#ifndef GS_FAMILY_MMA_H
#define GS_FAMILY_MMA_H

#include "schedule/schedule.h"

enum { GS_MMA_TILE, GS_MMA_WARPS, GS_MMA_STAGES, GS_MMA_RASTER, GS_MMA_SPLIT };

#endif

/* SPDX-License-Identifier: MIT
 * Family slicek: the order of its parameters. For its own files and tests. */
#ifndef GS_FAMILY_SLICEK_H
#define GS_FAMILY_SLICEK_H

#include "schedule/schedule.h"

enum { GS_SLICEK_TILE, GS_SLICEK_WARPS, GS_SLICEK_DEPTH, GS_SLICEK_SPLIT, GS_SLICEK_SIZES, GS_SLICEK_FETCH };

#endif

/* SPDX-License-Identifier: MIT
 * Family gemv: the order of its parameters. For its own files and tests. */
#ifndef GS_FAMILY_GEMV_H
#define GS_FAMILY_GEMV_H

#include "schedule/schedule.h"

enum { GS_GEMV_TILE, GS_GEMV_WARPS, GS_GEMV_DEPTH, GS_GEMV_RING, GS_GEMV_AHEAD, GS_GEMV_SPLIT, GS_GEMV_SIZES };

#endif

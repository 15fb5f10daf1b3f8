/* SPDX-License-Identifier: MIT
 * Family tiny: the order of its parameters. For its own files and tests. */
#ifndef GS_FAMILY_TINY_H
#define GS_FAMILY_TINY_H

#include "schedule/schedule.h"

enum { GS_TINY_MATRICES, GS_TINY_ROWS, GS_TINY_FEED, GS_TINY_WARPS };

enum { GS_TINY_MOST = 64, GS_TINY_LEAST_BATCH = 64 };   /* largest M, N and K; smallest batch */

#endif

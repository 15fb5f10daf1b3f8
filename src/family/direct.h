/* SPDX-License-Identifier: MIT
 * The time model's share of the families whose ring is registers: slicek and gemv. */
#ifndef GS_FAMILY_DIRECT_H
#define GS_FAMILY_DIRECT_H

#include "schedule/work.h"

/* A block that loads operands straight into fragments. */
typedef struct gs_direct {
    double bm, bn;             /* its tile, as multiplied */
    double rows, columns;      /* warps along them */
    double parts;              /* warps along K */
    double depth;              /* steps of 32 k in flight */
    int    split;              /* blocks of a cluster along K */
    bool   raw_a, raw_b;       /* rows of any alignment: loaded word by word, and put together */
    bool   shift_a, shift_b;   /* the same, by aligned units of 16 bytes: shifted into place with those of neighbouring lanes */
    bool   swap_ab;            /* fragments of B are transposed between lanes */
} gs_direct;

gs_work gs_direct_work(const gs_direct *direct, const gs_resources *resources, const gs_problem *problem, const gs_profile *profile);

#endif

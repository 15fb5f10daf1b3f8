/* SPDX-License-Identifier: MIT
 * Time model of the families that keep their pipeline in registers: slicek and gemv. */
#ifndef GS_FAMILY_DIRECT_H
#define GS_FAMILY_DIRECT_H

#include "schedule/work.h"

/* A block that loads operands directly into fragments. */
typedef struct gs_direct {
    double bm, bn;             /* tile, as multiplied */
    double rows, columns;      /* warps along M and N */
    double parts;              /* warps along K */
    double depth;              /* steps of 32 k in flight */
    int    split;              /* blocks per cluster along K */
    bool   raw_a, raw_b;       /* rows of any alignment: loaded by word and assembled */
    bool   shift_a, shift_b;   /* rows of any alignment: loaded as aligned 16-byte units and shifted into place with words of neighbouring lanes */
    bool   swap_ab;            /* fragments of B are transposed between lanes */
} gs_direct;

gs_work gs_direct_work(const gs_direct *direct, const gs_resources *resources, const gs_problem *problem, const gs_profile *profile);

#endif

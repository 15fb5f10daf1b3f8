/* SPDX-License-Identifier: MIT
 * Predicted device time of any launch: from what a schedule is known to do (gs_work), or from counters of an emulated launch of a
 * kernel whose structure is not known (gs_launch_counts). Always a prediction, never a measurement. */
#ifndef GS_SCHEDULE_PREDICT_H
#define GS_SCHEDULE_PREDICT_H

#include "schedule/profile.h"

/* What a launch did, summed over all its blocks. Warp instructions unless said otherwise; the classes are those of
 * emu/machine/counters.h, whose numbers fill this struct one to one. */
typedef struct gs_launch_counts {
    double integer, floating, doubles, special, control, global, shared, other, copy, matrix, barrier, exchange;
    double global_load, global_store;   /* bytes asked of L2 */
    double copy_load, copy_store;       /* of these: by bulk copies */
    double multicast;                   /* bytes that arrived from another block's copy */
    double distributed;                 /* bytes to and from shared memory of other blocks */
    double shared_passes;               /* of 128 bytes, bank conflicts included */
    double matrix_flops;                /* multiply and add, each counted */
    double wgmma_flops;                 /* of these: by wgmma; the rest is mma */
    double wgmma, mma;                  /* warp-level matrix operations: a warpgroup's wgmma counts four */
    double footprint_load;              /* distinct bytes read from device memory */
    double footprint_store;             /* distinct bytes written */
} gs_launch_counts;

/* How it was launched. */
typedef struct gs_launch_shape {
    double grid;                        /* blocks in all */
    int    threads;                     /* of a block */
    int    cluster;                     /* blocks of a cluster; 1: none */
    int    smem;                        /* bytes of shared memory of a block, static and dynamic */
    int    registers;                   /* per thread; 0: not known, taken as what lets two blocks stay */
} gs_launch_shape;

/* What the block, or the cluster, of a launch did that took longest, for gs_launch_bound_us. */
typedef struct gs_launch_peak {
    gs_launch_counts counts;
    double           share;             /* instructions of its longest warp, to the average of its warps, >= 1 */
} gs_launch_peak;

/* Blocks of that shape on a multiprocessor at the same time; 0: it does not fit. */
int gs_launch_resident(const gs_launch_shape *shape, const gs_profile *profile);

/* Predicted device time in microseconds: the launch floor, and waves of blocks, each as long as the slowest of issue slots, matrix
 * units, shared memory, L2, device memory and the chain of dependent instructions. */
double gs_launch_us(const gs_launch_counts *counts, const gs_launch_shape *shape, const gs_profile *profile);

/* us, that of gs_launch_us, which spreads the work evenly; or more: what the slowest block takes alone, with the chain of its longest warp. */
double gs_launch_bound_us(double us, const gs_launch_peak *peak, const gs_launch_shape *shape, const gs_profile *profile);

#endif

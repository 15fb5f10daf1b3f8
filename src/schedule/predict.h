/* SPDX-License-Identifier: MIT
 * Predicted device time of a launch, from a schedule (gs_work) or, for a kernel of unknown structure, from the counters of an emulated
 * launch (gs_launch_counts). Always a prediction, never a measurement. */
#ifndef GS_SCHEDULE_PREDICT_H
#define GS_SCHEDULE_PREDICT_H

#include "schedule/profile.h"

/* Counters of a launch, summed over all blocks, in warp instructions unless stated otherwise. The classes are those of
 * emu/machine/counters.h, which fills this struct one to one. */
typedef struct gs_launch_counts {
    double integer, floating, doubles, special, control, global, shared, other, copy, matrix, barrier, exchange;
    double global_load, global_store;   /* bytes requested from L2 */
    double copy_load, copy_store;       /* of these: by bulk copies */
    double multicast;                   /* bytes that arrived from another block's copy */
    double distributed;                 /* bytes to and from shared memory of other blocks */
    double shared_passes;               /* of 128 bytes each, including bank conflicts */
    double matrix_flops;                /* multiplications and additions counted separately */
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
    int    registers;                   /* per thread; 0: unknown, then two blocks per multiprocessor are assumed */
} gs_launch_shape;

/* The block or cluster that took longest, for gs_launch_bound_us. */
typedef struct gs_launch_peak {
    gs_launch_counts counts;
    double           share;             /* instructions of its longest warp relative to the average of its warps, >= 1 */
} gs_launch_peak;

/* Resident blocks per multiprocessor for a launch of this shape; 0: a block does not fit. */
int gs_launch_resident(const gs_launch_shape *shape, const gs_profile *profile);

/* Predicted device time in microseconds: the launch floor, and waves of blocks, each as long as the slowest of issue slots, matrix
 * units, shared memory, L2, device memory and the chain of dependent instructions. */
double gs_launch_us(const gs_launch_counts *counts, const gs_launch_shape *shape, const gs_profile *profile);

/* The larger of us, from gs_launch_us (which assumes evenly spread work), and the time of the slowest block alone, with the chain of its longest warp. */
double gs_launch_bound_us(double us, const gs_launch_peak *peak, const gs_launch_shape *shape, const gs_profile *profile);

#endif

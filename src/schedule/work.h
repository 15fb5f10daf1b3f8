/* SPDX-License-Identifier: MIT
 * What a launch does, in the units of the time model, and its predicted time. The one function of time is gs_work_us: a schedule
 * (gs_schedule_work) and the counters of an emulated launch (gs_launch_work) only fill the struct. */
#ifndef GS_SCHEDULE_WORK_H
#define GS_SCHEDULE_WORK_H

#include <stdbool.h>

#include "schedule/predict.h"
#include "schedule/schedule.h"

enum { GS_GPCS = 8, GS_GPC_SMS = 16 };   /* parts of the chip that ask L2 together; multiprocessors of one, about */

typedef struct gs_work {
    /* how it is cut */
    double blocks;         /* of the launch; tiles of a persistent one */
    int    cluster;        /* blocks that start together */
    int    resident;       /* blocks of a multiprocessor at the same time, >= 1 */
    bool   persistent;     /* a block takes one tile after another; the next tile's loads overlap this one's end */
    double steps;          /* k-blocks of a block; 1 where there is no such structure */

    /* a k-block of one block. Down to feed: shared by the blocks of a multiprocessor. */
    double matrix;         /* cycles of the matrix units */
    double port;           /* cycles of shared memory and the load unit */
    double issue;          /* warp instructions */
    double feed;           /* bytes from L2 */
    double fresh;          /* share of them that no other block of the same GPC asks for at about the same time; 0: not known */
    double outside;        /* rows of tensor copies that lie outside the matrix: they meet in one place of L2 */
    double chain;          /* dependent cycles */
    double latency;        /* cycles from the request of a k-block to its first data */
    double ahead;          /* k-blocks that have a place in shared memory while one is computed, > 0 */
    double held;           /* k-blocks' computing for which a place stays taken after its data came */

    /* a block's ends */
    double start;          /* dependent cycles before the first request; less than 0 where the launch time holds the first round trip */
    double finish;         /* dependent cycles after the last k-block */
    double finish_port;    /* cycles of shared memory and the load unit */
    double store;          /* bytes to L2 */

    /* the whole launch */
    double memory_bytes;   /* between device memory and L2 */
    double floor_us;       /* that no kernel beats; 0: not known */
} gs_work;

/* For a schedule that passes gs_schedule_check. */
gs_work gs_schedule_work(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile);
gs_work gs_launch_work(const gs_launch_counts *counts, const gs_launch_shape *shape, const gs_profile *profile);

/* Predicted device time in microseconds. */
double gs_work_us(const gs_work *work, const gs_profile *profile);

/* Parts that overlap: the slowest, and a little more where another is nearly as slow (the norm with exponent 6). */
double gs_together(double a, double b);

/* The same choice as gs_schedule_shortlist, with a profile of the caller's: for fitting. */
int gs_shortlist(const gs_problem *problem, const gs_profile *profile, uint32_t families, gs_schedule *list, int most);

#endif

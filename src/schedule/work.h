/* SPDX-License-Identifier: MIT
 * The work of a launch in the units of the time model, and its predicted time. gs_work_us is the only function that computes a time; gs_schedule_work and
 * gs_launch_work fill the struct from a schedule or from the counters of an emulated launch. */
#ifndef GS_SCHEDULE_WORK_H
#define GS_SCHEDULE_WORK_H

#include <stdbool.h>

#include "schedule/predict.h"
#include "schedule/schedule.h"

enum { GS_GPCS = 8, GS_GPC_SMS = 16 };   /* GPCs of the chip, which request from L2 together, and multiprocessors of one (about) */

typedef struct gs_work {
    /* how the work is divided */
    double blocks;         /* blocks of the launch; for a persistent kernel tiles */
    int    cluster;        /* blocks that start together */
    int    resident;       /* resident blocks of a multiprocessor, >= 1 */
    bool   persistent;     /* a block takes one tile after another; the next tile's loads overlap this one's end */
    double steps;          /* k-blocks per block; 1 if the kernel has no such loop */

    /* per k-block of one block; matrix to feed are shared by the blocks of a multiprocessor */
    double matrix;         /* cycles of the matrix units */
    double port;           /* cycles of shared memory and the load unit */
    double issue;          /* warp instructions */
    double feed;           /* bytes from L2 */
    double fresh;          /* share of these that no other block of the GPC requests at about the same time; 0: unknown */
    double outside;        /* rows of tensor copies outside the matrix, all of which are served by one place of L2 */
    double chain;          /* dependent cycles */
    double latency;        /* cycles from the request of a k-block to its first data */
    double ahead;          /* k-blocks that fit in shared memory while one is computed, > 0 */
    double held;           /* time that a stage stays occupied after its data came, in k-blocks of computing */

    /* start and end of a block */
    double start;          /* dependent cycles before the first request; negative if launch_us already contains the first round trip */
    double finish;         /* dependent cycles after the last k-block */
    double finish_port;    /* cycles of shared memory and the load unit */
    double store;          /* bytes to L2 */

    /* the whole launch */
    double memory_bytes;   /* between device memory and L2 */
    double floor_us;       /* lower bound of any kernel; 0: unknown */
} gs_work;

/* For a schedule that passes gs_schedule_check. */
gs_work gs_schedule_work(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile);
gs_work gs_launch_work(const gs_launch_counts *counts, const gs_launch_shape *shape, const gs_profile *profile);

/* Predicted device time in microseconds. */
double gs_work_us(const gs_work *work, const gs_profile *profile);

/* Time of two overlapping parts: the slower one, plus a little if the other is nearly as slow (norm with exponent 6). */
double gs_together(double a, double b);

/* gs_schedule_shortlist with a given profile: for fitting the model. */
int gs_shortlist(const gs_problem *problem, const gs_profile *profile, uint32_t families, gs_schedule *list, int most);

#endif

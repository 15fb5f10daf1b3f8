/* SPDX-License-Identifier: MIT
 * A race: contenders that compute the same problem are timed against each other for a limited time of the device, and the slower half is dropped again and again. It has its own
 * operands, which are never in the cache, and drops a contender with a wrong result at once. For programs that make a plan: quick, and good to a few percent. src/bench measures
 * with confidence intervals. */
#ifndef GS_RACE_RACE_H
#define GS_RACE_RACE_H

#include <gemmsmith/plan.h>

#include "device/device.h"

#define GS_RACERS       20
#define GS_RACE_SAMPLES 64

typedef struct gs_racer {
    gs_status (*run)(void *self, const gs_args *args, gs_queue queue, gs_error *error);   /* may be captured; args has no workspace */
    void      *self;
    char       name[GS_DEVICE_NAME + 64];   /* for the log */
    /* results of the race */
    gs_status  status;                  /* not GS_OK: why it was dropped; VERIFY: its result was wrong */
    double     us;                      /* time of a call, median; 0: never timed */
    int        rounds;                  /* samples */
    float      sample[GS_RACE_SAMPLES]; /* one of each round, in order: those of two contenders in the same round are a pair */
} gs_racer;

/* DEVICE_MEMORY: the operands do not fit into the share of the memory that a race takes. */
gs_status gs_race_fits(gs_device *device, const gs_problem *problem, gs_error *error);

/* Times at most GS_RACERS contenders for about budget_us microseconds of the device, at least one call of the first two. *winner: the fastest; *spent_us: time used, also on
 * failure. Takes at most an eighth of the device's free memory.
 * DEVICE_MEMORY: the operands do not fit into that; UNSUPPORTED: no contender gave a result; FAULT and others that make a device useless; COMPILE, NO_COMPILER: of the race's own
 * kernels (kernels/race.cu). */
gs_status gs_race(gs_device *device, const gs_problem *problem, gs_racer *racers, int count, double budget_us, int *winner, double *spent_us, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * A race: contenders that compute the same problem are timed against each other, for a bounded time of the device, and the slower half leaves
 * again and again. It has operands of its own, which no contender finds in the cache, and a contender whose result is wrong leaves at once.
 * This is for programs that make a plan: quick, and good to a few percent. src/bench measures with confidence intervals. */
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
    /* what the race found */
    gs_status  status;                  /* not GS_OK: why it left; VERIFY: its result was wrong */
    double     us;                      /* time of a call, median; 0: never timed */
    int        rounds;                  /* samples */
    float      sample[GS_RACE_SAMPLES]; /* one of each round, in order: rounds of two that stayed equally long are pairs */
} gs_racer;

/* DEVICE_MEMORY: the operands do not fit into the share of the memory that a race takes. */
gs_status gs_race_fits(gs_device *device, const gs_problem *problem, gs_error *error);

/* Times at most GS_RACERS for about so many microseconds of the device, at least one call of the first two. *winner: the fastest; *spent_us: what
 * it took, also on failure. Takes at most an eighth of the free memory of the device.
 * DEVICE_MEMORY: the operands do not fit into that; UNSUPPORTED: no contender came to a result; FAULT and what else makes a device useless;
 * COMPILE, NO_COMPILER: its own kernels (kernels/race.cu). */
gs_status gs_race(gs_device *device, const gs_problem *problem, gs_racer *racers, int count, double budget_us, int *winner, double *spent_us, gs_error *error);

#endif

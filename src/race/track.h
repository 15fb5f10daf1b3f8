/* SPDX-License-Identifier: MIT
 * What a race runs on: operands, a queue and events of its own, the clock, and the kernels that fill and check (kernels/race.cu). For src/race
 * alone. */
#ifndef GS_RACE_TRACK_H
#define GS_RACE_TRACK_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "problem/layout.h"

typedef struct gs_track {
    gs_device  *device;
    gs_problem  problem;                /* as it lies in memory: gs_problem_pool */
    bool        by_pointers;            /* calls are given pointers to the matrices */
    gs_queue    queue;
    gs_module   module;
    gs_function fill, sample, scan;
    gs_event    lead, start, end;       /* lead: before the cache is filled */
    gs_pointer  memory, wrong;
    gs_pointer  at[GS_OPERANDS];        /* set 0 of a b c d, the bias, the offsets, aux and the scales; 0 if it is neither read nor written */
    size_t      room[GS_OPERANDS];                /* bytes from a set to the next */
    gs_pointer  pointers;               /* gs_pool_pointers of each set */
    gs_pointer  scratch;                /* filled before every replay; 0: nothing is */
    size_t      scratch_bytes;
    size_t      bytes;                  /* of memory */
    int         sets;
    int         calls;                  /* that the function makes which is timed or recorded: one for each of the first sets */
    double      spent_us;               /* time of the device so far */
} gs_track;

typedef gs_status gs_track_call(void *self, int index, gs_queue queue, gs_error *error);

/* How many sets there will be, and what they take. DEVICE_MEMORY: more than an eighth of the free memory. */
gs_status gs_track_size(gs_track *track, gs_error *error);

/* DEVICE_MEMORY also where more than an eighth of the free memory would be needed. Close it in any case. */
gs_status gs_track_open(gs_track *track, gs_device *device, const gs_problem *problem, gs_error *error);
void      gs_track_close(gs_track *track);

gs_args   gs_track_args(const gs_track *track, int set);

gs_status gs_track_poison(gs_track *track, gs_error *error);                  /* D of set 0: all NaN */
gs_status gs_track_check(gs_track *track, bool *wrong, gs_error *error);      /* D of set 0. Waits */

/* Runs the calls; us: what they took. Waits. */
gs_status gs_track_time(gs_track *track, gs_track_call *call, void *self, int index, double *us, gs_error *error);
gs_status gs_track_record(gs_track *track, gs_track_call *call, void *self, int index, gs_graph *graph, gs_error *error);
gs_status gs_track_replay(gs_track *track, gs_graph graph, double *us, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * What a race runs on: its own operands, queue and events, the clock, and the kernels that fill and check (kernels/race.cu). For src/race alone. */
#ifndef GS_RACE_TRACK_H
#define GS_RACE_TRACK_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "problem/layout.h"

typedef struct gs_track {
    gs_device  *device;
    gs_problem  problem;                /* as it lies in memory: gs_problem_pool */
    bool        by_pointers;            /* calls get arrays of pointers */
    gs_queue    queue;
    gs_module   module;
    gs_function fill, sample, scan;
    gs_event    lead, start, end;       /* lead: before the cache is filled */
    gs_pointer  memory, wrong;
    gs_pointer  at[GS_OPERANDS];        /* set 0 of a b c d, the bias, the offsets, aux and the scales; 0 if it is neither read nor written */
    size_t      room[GS_OPERANDS];                /* bytes from a set to the next */
    gs_pointer  pointers;               /* gs_pool_pointers of each set */
    gs_pointer  scratch;                /* filled before every replay to clear the cache; 0: nothing is */
    size_t      scratch_bytes;
    size_t      bytes;                  /* of memory */
    int         sets;
    int         calls;                  /* that a gs_track_call makes: one on each of the first sets */
    double      spent_us;               /* time of the device so far */
} gs_track;

typedef gs_status gs_track_call(void *self, int index, gs_queue queue, gs_error *error);

/* Computes the number of sets and their bytes. DEVICE_MEMORY: one takes more than an eighth of the free memory. */
gs_status gs_track_size(gs_track *track, gs_error *error);

/* DEVICE_MEMORY also if more than an eighth of the free memory would be needed. gs_track_close is needed in any case. */
gs_status gs_track_open(gs_track *track, gs_device *device, const gs_problem *problem, gs_error *error);
void      gs_track_close(gs_track *track);

gs_args   gs_track_args(const gs_track *track, int set);

gs_status gs_track_poison(gs_track *track, gs_error *error);                  /* D of set 0: all NaN */
gs_status gs_track_check(gs_track *track, bool *wrong, gs_error *error);      /* D of set 0. Waits */

/* Run the calls, directly or as a graph; us: what they took. Wait, but for recording. */
gs_status gs_track_time(gs_track *track, gs_track_call *call, void *self, int index, double *us, gs_error *error);
gs_status gs_track_record(gs_track *track, gs_track_call *call, void *self, int index, gs_graph *graph, gs_error *error);
gs_status gs_track_replay(gs_track *track, gs_graph graph, double *us, gs_error *error);

#endif

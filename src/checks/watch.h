/* SPDX-License-Identifier: MIT */
#ifndef GS_CHECKS_WATCH_H
#define GS_CHECKS_WATCH_H

#include "checks/calls.h"
#include "loaded/contender.h"

/* ---- watching what a contender allocates ----
 * Between begin and end, the device's alloc and free keep a list of what the contender allocates on this thread, so that its
 * workspace can be poisoned, and add a guard band behind it. Not nested. */
#define GS_WATCHED 32

typedef struct gs_watch {
    gs_verifier         *verifier;
    const gs_device_ops *ops;          /* the device's own */
    gs_device_ops        watched;      /* its copy with alloc and free replaced */
    int                  count;
    struct {
        gs_pointer at;
        size_t     bytes;              /* without the guard band, even */
    } block[GS_WATCHED];
} gs_watch;

void      gs_watch_begin(gs_watch *watch, gs_verifier *verifier);
void      gs_watch_end(gs_watch *watch);
void      gs_watch_pause(gs_watch *watch, bool pause);   /* what is allocated meanwhile is not the contender's */

/* Poison the listed blocks and fill their guard bands; count changed units of these in counter `slot`. The part that the owner declared zeroed is left alone, because launches
 * need its zeros and keep them, unless the pattern is 0. */
gs_status gs_watch_fill(gs_watch *watch, const gs_contender *owner, uint32_t pattern, uint64_t seed, gs_queue queue, gs_error *error);
gs_status gs_watch_check(gs_watch *watch, uint64_t seed, int slot, gs_queue queue, gs_error *error);

#endif

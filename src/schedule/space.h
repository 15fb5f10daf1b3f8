/* SPDX-License-Identifier: MIT
 * All valid schedules for a problem on a device, sorted by their bytes. */
#ifndef GS_SCHEDULE_SPACE_H
#define GS_SCHEDULE_SPACE_H

#include "schedule/schedule.h"

typedef struct gs_space {
    gs_problem   problem;
    gs_schedule *list;
    int          count;
} gs_space;

/* families: a bit set, 0: all. May be empty. MEMORY. */
gs_status gs_space_create(gs_space *space, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_error *error);
void      gs_space_free(gs_space *space);
int       gs_space_find(const gs_space *space, const gs_schedule *schedule);   /* its index; -1: not valid */

#endif

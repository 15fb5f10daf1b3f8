/* SPDX-License-Identifier: MIT
 * Random problems and schedules for verification, deterministic for the state of *random. */
#ifndef GS_RANDOM_RANDOM_H
#define GS_RANDOM_RANDOM_H

#include "base/random.h"
#include "schedule/schedule.h"

/* A random problem, smaller on an emulated device. families: a bit for each family; the problem is one that one of them takes, if one is found soon. 0: any problem. */
gs_problem gs_random_problem(gs_random *random, uint32_t families, const gs_caps *caps);

/* A schedule of the family for the problem; false: none was found. */
bool gs_random_schedule(gs_random *random, gs_family_id family, const gs_problem *problem, const gs_caps *caps, gs_schedule *schedule);

#endif

/* SPDX-License-Identifier: MIT
 * Random problems and schedules for the verification: the same random numbers give the same. */
#ifndef GS_RANDOM_RANDOM_H
#define GS_RANDOM_RANDOM_H

#include "base/random.h"
#include "schedule/schedule.h"

/* A problem, smaller on an emulated device; one that one of the families (a bit each; 0: any) takes, if one is drawn soon. */
gs_problem gs_random_problem(gs_random *random, uint32_t families, const gs_caps *caps);

/* A schedule of the family for the problem; false: none was found. */
bool gs_random_schedule(gs_random *random, gs_family_id family, const gs_problem *problem, const gs_caps *caps, gs_schedule *schedule);

#endif

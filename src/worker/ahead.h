/* SPDX-License-Identifier: MIT
 * Compiling a schedule before a device needs it: into the cubin cache, without a device. */
#ifndef GS_WORKER_AHEAD_H
#define GS_WORKER_AHEAD_H

#include "schedule/schedule.h"

/* Uses the cache key that a device of caps will ask for. cache: a directory. Codes: those of gs_schedule_check and of the compiler. */
gs_status gs_compile_ahead(const gs_caps *caps, const gs_problem *problem, const gs_schedule *schedule, const char *cache, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Compiling a schedule before a device needs it: into the cubin cache, without a device. */
#ifndef GS_WORKER_AHEAD_H
#define GS_WORKER_AHEAD_H

#include "schedule/schedule.h"

/* As the device of caps will ask the cache for it. cache: a directory. Codes: what gs_schedule_check and the compiler say. */
gs_status gs_compile_ahead(const gs_caps *caps, const gs_problem *problem, const gs_schedule *schedule, const char *cache, gs_error *error);

#endif

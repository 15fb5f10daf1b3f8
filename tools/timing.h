/* SPDX-License-Identifier: MIT
 * Times schedules of one problem against each other, for the programs of this folder: device time by docs/internals/protocol.md (offline, cold, interleaved),
 * all of them in one run. Nothing is verified. */
#ifndef GS_TOOLS_TIMING_H
#define GS_TOOLS_TIMING_H

#include "bench/bench.h"
#include "schedule/schedule.h"

#define LIBRARY_TEXT "cublaslt/1"   /* in place of a schedule: cuBLASLt's first suggestion */

typedef struct timed {
    gs_schedule schedule;
    bool        library;
    double      us;        /* 0: it could not be timed; the reason is on standard error */
} timed;

/* Its schedule string, written to text, or a constant. */
const char *timed_text(const timed *t, char text[GS_SCHEDULE_TEXT]);

/* Fills in the times; count: at most GS_MAX_CONTENDERS. *mhz: the clock at the end. A fault or a hang is an error; any other failure leaves the times 0. */
gs_status time_schedules(gs_device *device, gs_verifier *verifier, const gs_problem *problem, timed *list, int count, int rounds, int *mhz, gs_error *error);

/* The same for prepared contenders of one problem (problems: `count` copies of it): us[i] is NAN if it could not be timed, with the reason on standard error. */
gs_status time_contenders(gs_device *device, gs_verifier *verifier, const gs_problem *problems, gs_contender *list, int count, int rounds, double *us, int *mhz,
                          gs_error *error);

#endif

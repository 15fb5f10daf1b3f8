/* SPDX-License-Identifier: MIT
 * What needs no device to be refused: a problem that does not fit its memory, a candidate whose text cannot be read or does not take the problem. It is answered at once
 * and never waits in the queue. */
#ifndef GS_SERVICE_SCREEN_H
#define GS_SERVICE_SCREEN_H

#include "evaluate/environment.h"

/* RANGE with the field: the operands alone, and what the result is compared with, take more memory than the device has. */
gs_status gs_service_screen_problem(const gs_problem *problem, const gs_caps *caps, const char *field, gs_error *error);

/* *refused: *answer is the candidate's, as gs_service_answer makes it. Codes: MEMORY. */
gs_status gs_service_screen_candidate(char **answer, bool *refused, const gs_problem *problem, const gs_caps *caps, const char *schedule, const char *source, const char *manifest,
                                      gs_error *error);

/* What is kept and sent of an evaluation: its fields and all kinds of reward, so that one serves whoever asks for whichever. The caller's; NULL: no memory. */
char *gs_service_answer(const char *problem, const gs_evaluation *got);

#endif

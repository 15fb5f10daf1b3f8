/* SPDX-License-Identifier: MIT
 * Refusals that need no device: a problem that does not fit into its memory, a candidate whose text is invalid or does not accept the problem. They are
 * answered at once and never queued. */
#ifndef GS_SERVICE_SCREEN_H
#define GS_SERVICE_SCREEN_H

#include "evaluate/environment.h"

/* RANGE with the field: the operands and the reference that verification needs exceed the device's memory. */
gs_status gs_service_screen_problem(const gs_problem *problem, const gs_caps *caps, const char *field, gs_error *error);

/* *refused: *answer is the candidate's answer, as from gs_service_answer. Codes: MEMORY. */
gs_status gs_service_screen_candidate(char **answer, bool *refused, const gs_problem *problem, const gs_caps *caps, const char *schedule, const char *source, const char *manifest,
                                      gs_error *error);

/* The stored answer of an evaluation: its fields and all kinds of reward, so that it serves requests for any kind. The caller frees it; NULL: no memory. */
char *gs_service_answer(const char *problem, const gs_evaluation *got);

#endif

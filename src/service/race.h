/* SPDX-License-Identifier: MIT
 * POST /v1/races: many schedules of one problem, timed against each other. */
#ifndef GS_SERVICE_RACE_H
#define GS_SERVICE_RACE_H

#include "service/trainer.h"

enum { GS_SERVICE_RACERS = 256 };

/* Body: {"problem":P,"schedules":[S,...],"reward":KIND,"deadline_s":S}; unknown fields are errors. Returns the HTTP status; *out is the answer, or NULL with
 * *error. */
int gs_service_race(json_t **out, gs_service_jobs *jobs, const char *body, size_t size, const gs_service_terms *terms, const gs_service_caller *caller, gs_error *error);

#endif

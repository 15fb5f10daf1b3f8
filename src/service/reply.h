/* SPDX-License-Identifier: MIT
 * Answers of gemmsmith serve, as JSON objects and as text: results, errors, health, metrics. */
#ifndef GS_SERVICE_REPLY_H
#define GS_SERVICE_REPLY_H

#include <jansson.h>

#include "base/text.h"
#include "jobs/jobs.h"

/* The HTTP status of a failed call. */
int gs_service_reply_status(gs_status status);

json_t *gs_service_reply_error(int http, const gs_error *error);

/* The result of a finished job: its stored answer with id, state and the reward of that kind. Otherwise the verdict is "deadline" or "stopping". NULL: no
 * memory, or the answer cannot be parsed. */
json_t *gs_service_reply_result(const char *id, const gs_service_found *found, gs_reward_kind kind, bool waited, bool stopping);
/* The result of a completion without a candidate: verdict "text", reward -1, no id. */
json_t *gs_service_reply_no_candidate(const gs_service_item *item);

/* The result of any item; found is used only if the item has a job. */
json_t *gs_service_reply_item(const gs_service_item *item, const gs_service_found *found, gs_reward_kind kind, bool waited, bool stopping);

/* The families with their parameters and allowed values, in the order of a schedule string. */
json_t *gs_service_reply_grammar(void);

json_t *gs_service_reply_health(gs_service_jobs *jobs, double uptime_s, bool all);

/* codes: number of requests per HTTP status. */
enum { GS_SERVICE_CODES = 600 };
void gs_service_reply_metrics(gs_text *out, gs_service_jobs *jobs, const _Atomic int64_t codes[GS_SERVICE_CODES], int64_t active, double uptime_s);

#endif

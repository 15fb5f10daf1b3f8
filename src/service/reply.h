/* SPDX-License-Identifier: MIT
 * What gemmsmith serve answers, as JSON objects and as text: results, errors, health, metrics. */
#ifndef GS_SERVICE_REPLY_H
#define GS_SERVICE_REPLY_H

#include <jansson.h>

#include "base/text.h"
#include "service/jobs.h"

/* The HTTP status of a failed call. */
int serve_reply_status(gs_status status);

json_t *serve_reply_error(int http, const gs_error *error);

/* A job that is done: its stored answer with id, state and the reward of that kind. One that is not: verdict "deadline", or "stopping". NULL: no memory, or an
 * answer that cannot be read. */
json_t *serve_reply_result(const char *id, const serve_found *found, gs_reward_kind kind, bool waited, bool stopping);

/* The families with their slots and words, in the order of a schedule string. */
json_t *serve_reply_grammar(void);

json_t *serve_reply_health(serve_jobs *jobs, double uptime_s, bool all);

/* Requests by HTTP status, counted by whoever answers. */
enum { SERVE_CODES = 600 };
void serve_reply_metrics(gs_text *out, serve_jobs *jobs, const _Atomic int64_t codes[SERVE_CODES], int64_t active, double uptime_s);

#endif

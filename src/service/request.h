/* SPDX-License-Identifier: MIT
 * Requests of clients of gemmsmith serve, parsed strictly: an unknown field, a wrong type or a text that is too long is an error that names the field. An
 * accepted request has one canonical text, from which its id is computed. docs/howto/serve.md has the fields. */
#ifndef GS_SERVICE_REQUEST_H
#define GS_SERVICE_REQUEST_H

#include <jansson.h>
#include <gemmsmith/problem.h>

#include "base/text.h"
#include "jobs/item.h"
#include "schedule/caps.h"

enum { GS_SERVICE_BATCH = 256, GS_SERVICE_SCHEDULE = 512, GS_SERVICE_MANIFEST = 64 << 10 };
#define GS_SERVICE_SCOPE    "serve 2"
#define GS_SERVICE_DEADLINE 86400.0   /* seconds, the longest */

/* What a service accepts. */
typedef struct gs_service_terms {
    const char       *scope[4];     /* GS_SERVICE_SCOPE, device, version, options: what an answer depends on besides the request */
    double            deadline_s;   /* if the client gives none */
    const gs_problem *offered;      /* NULL: any problem */
    int               offered_count;
    const char       *store;        /* store with the kernels that `parent` names, if stored is true; may be NULL */
    bool              stored;
    const gs_caps    *caps;         /* of the devices: a problem that does not fit is refused; NULL: unknown, not checked */
} gs_service_terms;

/* {"problem":...}, or with batch {"requests":[{"problem":...},...]}. Codes: PARSE, ARGUMENT, RANGE, UNSUPPORTED, all with a field; MEMORY. */
gs_status gs_service_request_parse(gs_service_request *out, const char *body, size_t size, bool batch, const gs_service_terms *terms, gs_error *error);

/* A request for a schedule that is known to be valid. */
gs_status gs_service_request_schedule(gs_service_request *out, const gs_problem *problem, const char *schedule, const gs_service_terms *terms, gs_error *error);
void      gs_service_request_free(gs_service_request *request);

/* Parts that other endpoints use. Parses the body as a JSON object; flags: of jansson, in addition to the usual ones. */
gs_status gs_service_json_read(json_t **out, const char *body, size_t size, size_t flags, gs_error *error);
bool      gs_service_number_read(const char *text, double low, double high, double *out);   /* of a URL; text NULL: *out is unchanged and the result true */
/* Parses a problem of a request: valid, not empty, and offered. field: its name in messages. */
gs_status gs_service_problem_read(gs_problem *out, const char *text, const gs_service_terms *terms, const char *field, gs_error *error);
/* The fields of a race except its schedules: deadline, problem, reward, alone; other fields are allowed. */
gs_status gs_service_race_head(const json_t *object, gs_service_request *out, gs_problem *problem, gs_reward_kind *kind, bool *alone, const gs_service_terms *terms, gs_error *error);
/* Whether a request with this text would have this id on a service with this device, version and options. */
bool      gs_service_request_ours(const char *scope, const char *device, const char *version, const char *request, const char *id);
/* The item takes ownership of this text, and gets its id. */
gs_status gs_service_item_take(gs_service_item *item, gs_text *text, const gs_service_terms *terms, gs_error *error);
/* Makes the text and the id of an item whose problem is set; schedule, or source and manifest. */
gs_status gs_service_item_finish(gs_service_item *item, const char *schedule, const char *source, const char *manifest, const gs_service_terms *terms, gs_error *error);

/* Compares in constant time, so that the duration does not tell how much of the value is right. */
bool gs_service_token_equal(const char *token, const char *given);

#endif

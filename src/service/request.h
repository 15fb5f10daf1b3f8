/* SPDX-License-Identifier: MIT
 * What a client of gemmsmith serve sends, read strictly: a field that nobody knows, a type that is not meant or a text that is too long is
 * refused with the field's name. What is accepted has one text, from which its id is made. docs/howto/serve.md has the fields. */
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

/* What a service takes. */
typedef struct gs_service_terms {
    const char       *scope[4];     /* GS_SERVICE_SCOPE, device, version, options: what an answer depends on beside the request */
    double            deadline_s;   /* where the client names none */
    const gs_problem *offered;      /* NULL: any problem */
    int               offered_count;
    const char       *store;        /* where kernels are that `parent` names, if stored */
    bool              stored;
    const gs_caps    *caps;         /* of the devices: what does not fit them is refused; NULL: nobody knows */
} gs_service_terms;

/* {"problem":...}, or with batch {"requests":[{"problem":...},...]}. Codes: PARSE, ARGUMENT, RANGE, UNSUPPORTED, all with a field; MEMORY. */
gs_status gs_service_request_parse(gs_service_request *out, const char *body, size_t size, bool batch, const gs_service_terms *terms, gs_error *error);

/* The same from a candidate that is known to be good. */
gs_status gs_service_request_schedule(gs_service_request *out, const gs_problem *problem, const char *schedule, const gs_service_terms *terms, gs_error *error);
void      gs_service_request_free(gs_service_request *request);

/* The pieces that other calls are read with. The body's object; flags: of jansson, beside what is always asked for. */
gs_status gs_service_json_read(json_t **out, const char *body, size_t size, size_t flags, gs_error *error);
bool      gs_service_number_read(const char *text, double low, double high, double *out);   /* of a URL; text NULL: *out stays, and that is good */
/* A problem as requests name it: valid, not empty, and among those offered. field: its name in reasons. */
gs_status gs_service_problem_read(gs_problem *out, const char *text, const gs_service_terms *terms, const char *field, gs_error *error);
/* The fields of a race but its schedules: deadline, problem, reward; whether there are others. */
gs_status gs_service_race_head(const json_t *object, gs_service_request *out, gs_problem *problem, gs_reward_kind *kind, bool *alone, const gs_service_terms *terms, gs_error *error);
/* Whether a request of this text has this id on a service with such a device, version and options. */
bool      gs_service_request_ours(const char *scope, const char *device, const char *version, const char *request, const char *id);
/* The item takes this text, and has its id. */
gs_status gs_service_item_take(gs_service_item *item, gs_text *text, const gs_service_terms *terms, gs_error *error);
/* The text and the id of an item whose problem is set; schedule, or source and manifest. */
gs_status gs_service_item_finish(gs_service_item *item, const char *schedule, const char *source, const char *manifest, const gs_service_terms *terms, gs_error *error);

/* The value in constant time, whatever it is: how much of it is right cannot be told from how long this takes. */
bool gs_service_token_equal(const char *token, const char *given);

#endif

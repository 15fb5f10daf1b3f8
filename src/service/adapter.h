/* SPDX-License-Identifier: MIT
 * The calls of trainers that ask a URL for rewards, as their own code makes them: what they send, read as strictly as everything else, and what they
 * expect. docs/howto/serve.md says how each is told the URL; tests/service/trainers has the calls. */
#ifndef GS_SERVICE_ADAPTER_H
#define GS_SERVICE_ADAPTER_H

#include <jansson.h>

#include "service/request.h"

typedef enum gs_service_adapter { GS_SERVICE_OPENRLHF, GS_SERVICE_SLIME } gs_service_adapter;

/* What is asked about: completions of a model, each of which has a candidate or not. */
typedef struct gs_service_completions {
    gs_service_request request;   /* the candidates; deadline_s is the terms' */
    int               *place;     /* of each completion's candidate in the request; -1: it has none */
    int                count;
} gs_service_completions;

/* openrlhf: {"query":[...],"prompts":[...],"labels":[...]}, a query being its prompt with the response behind it. slime: {"prompt":...,"response":...,"label":...}. A label is a
 * problem, or an object with one, and with `parent` as requests have it. Codes: PARSE, ARGUMENT, RANGE, UNSUPPORTED, all with a field; MEMORY. */
gs_status gs_service_adapter_parse(gs_service_completions *out, gs_service_adapter which, const char *body, size_t size, const gs_service_terms *terms, gs_error *error);
void      gs_service_completions_free(gs_service_completions *completions);

/* results: of each candidate of the request, as gs_service_reply_result makes them. A completion without candidate has the reward -1. Where a candidate has no
 * reward, *unknown is it; without one (NULL) the trainer is told to ask again: TIMEOUT. NULL with *error otherwise: MEMORY. details: slime's answer is an object, with the
 * reward among others, and not a number. */
json_t *gs_service_adapter_reply(gs_service_adapter which, const gs_service_completions *asked, json_t *const *results, gs_reward_kind kind, const double *unknown, bool details,
                            gs_error *error);

#endif

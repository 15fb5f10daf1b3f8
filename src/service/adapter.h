/* SPDX-License-Identifier: MIT
 * Requests of trainers that call a URL for rewards: parses what each trainer's own code sends, strictly, and makes the reply that it expects.
 * docs/howto/serve.md says how each is given the URL; tests/service/trainers has the calls. */
#ifndef GS_SERVICE_ADAPTER_H
#define GS_SERVICE_ADAPTER_H

#include <jansson.h>

#include "service/request.h"

typedef enum gs_service_adapter { GS_SERVICE_OPENRLHF, GS_SERVICE_SLIME } gs_service_adapter;

/* Completions of a model, each with or without a candidate. */
typedef struct gs_service_completions {
    gs_service_request request;   /* the candidates; deadline_s from the terms */
    int               *place;     /* index of each completion's candidate in the request; -1: none */
    int                count;
} gs_service_completions;

/* openrlhf: {"query":[...],"prompts":[...],"labels":[...]}; a query is its prompt followed by the response. slime: {"prompt":...,"response":...,"label":...}.
 * A label is a problem, or an object with "problem" and, as in requests, "parent". Codes: PARSE, ARGUMENT, RANGE, UNSUPPORTED, all with a field; MEMORY. */
gs_status gs_service_adapter_parse(gs_service_completions *out, gs_service_adapter which, const char *body, size_t size, const gs_service_terms *terms, gs_error *error);
void      gs_service_completions_free(gs_service_completions *completions);

/* results: from gs_service_reply_result, one per candidate. A completion without a candidate has reward -1. A candidate without a reward gets *unknown; if
 * unknown is NULL, the call fails with TIMEOUT, and the trainer asks again. NULL and *error otherwise: MEMORY. details: slime gets an object that contains
 * the reward, instead of a number. */
json_t *gs_service_adapter_reply(gs_service_adapter which, const gs_service_completions *asked, json_t *const *results, gs_reward_kind kind, const double *unknown, bool details,
                            gs_error *error);

#endif

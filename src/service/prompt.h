/* SPDX-License-Identifier: MIT
 * POST /v1/prompt: the prompt of a problem, with what the service's store has at this moment. It opens the store for reading with a connection of its own, so
 * that neither the keeper nor an evaluation waits for it. docs/howto/serve.md has the fields. */
#ifndef GS_SERVICE_PROMPT_H
#define GS_SERVICE_PROMPT_H

#include "service/request.h"

enum { GS_SERVICE_QUESTION = 256 << 10 };   /* longest body in bytes; mostly a result that is sent back */

typedef enum gs_service_mode { GS_SERVICE_SCHEDULES, GS_SERVICE_SOURCE, GS_SERVICE_EDITS, GS_SERVICE_MODES } gs_service_mode;

typedef struct gs_service_question {
    gs_problem      problem;
    gs_service_mode mode;
    bool            examples;
    char            device[64];      /* "": the service's own */
    char            id[GS_HASH_TEXT];   /* of the last attempt's result; "": none */
    json_t         *result;          /* the last attempt's result itself; owned; NULL: none */
} gs_service_question;

/* Codes: PARSE, ARGUMENT, RANGE, UNSUPPORTED, all with a field; MEMORY. */
gs_status gs_service_question_parse(gs_service_question *out, const char *body, size_t size, const gs_service_terms *terms, gs_error *error);
void      gs_service_question_free(gs_service_question *question);

/* Returns the HTTP status; *out is the answer, or NULL with *error. slug: the service's device in the store. */
int gs_service_prompt(json_t **out, const char *body, size_t size, const gs_service_terms *terms, const char *slug, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * One question to a language model: a chat completion of any OpenAI-compatible endpoint, over libcurl, with retries, time limits and a budget.
 *
 *     gs_chat_answer answer;
 *     const gs_chat_message ask[] = {{"system", rules}, {"user", question}};
 *     gs_chat(&(gs_chat_options){.model = "a-model", .max_tokens = 4096, .stop = &gs_stop_requested}, ask, 2, &answer, &error);
 *     printf("%s", answer.choice[0].text);
 *     gs_chat_answer_free(&answer);
 *
 * The key is read from the environment when the request is made. It and the values of headers are written nowhere: in no message, log or ledger; what a server
 * says of them is blotted out. Redirects are not followed, so it goes to the host of the URL alone. Calls of several threads do not disturb each other. */
#ifndef GS_LLM_CHAT_H
#define GS_LLM_CHAT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#include "llm/ledger.h"

#define GS_CHAT_CHOICES  16
#define GS_CHAT_MESSAGES 64
#define GS_CHAT_HEADERS  32
#define GS_CHAT_URL      "GEMMSMITH_LLM_URL"
#define GS_CHAT_KEY      "OPENAI_API_KEY"

typedef struct gs_chat_message {
    const char *role, *content;        /* UTF-8; the caller's */
} gs_chat_message;

typedef struct gs_chat_options {
    const char *url;                   /* NULL: $GEMMSMITH_LLM_URL. "http://host:8000" means .../v1/chat/completions of it, "https://host/some/v1"
                                          .../chat/completions; one that ends in /chat/completions is taken as it is. A query stays */
    const char *model;
    const char *key_variable;          /* the variable that has the key; NULL: OPENAI_API_KEY. None is sent where it is unset or empty */
    const char *const *headers;        /* "Name: value", ended by NULL; NULL: none. With an Authorization the key is not sent */
    const char *ca_path;               /* certificates of authorities, PEM; NULL: the system's */
    double      connect_s, attempt_s;  /* most for the connection and for one attempt; 0: 10, 300 */
    double      total_s;               /* for all attempts and the waits between them; 0: 900, or one attempt where that is more */
    int         retries;               /* after 429, 5xx and connection errors; 0: 4, < 0: none */
    double      wait_s, wait_most_s;   /* before the first retry, doubled each time and drawn from its upper half; most. 0: 1, 60. What the server asks
                                          for in Retry-After is waited for; if that is more than wait_most_s, or than is left, there is no retry */
    size_t      reply_most;            /* bytes; 0: 8 MiB */
    int         max_tokens;            /* of one choice, its reasoning included; 0: the server's limit */
    int         choices;               /* 0: 1; at most GS_CHAT_CHOICES */
    const double *temperature;         /* NULL: the server's */
    const char *effort;                /* "low", ...: how much a reasoning model shall think; NULL: the server's */
    bool        stream;                /* as server-sent events; a server that does not is understood too */
    uint64_t    seed;                  /* of the waits; 0: from the operating system */
    gs_ledger  *ledger;                /* every attempt is asked for there and settled; NULL: unlimited, not recorded */
    const volatile sig_atomic_t *stop; /* looked at every 20 ms; nonzero: INTERRUPTED. NULL: none */
} gs_chat_options;

typedef enum gs_finish {
    GS_FINISH_STOP,       /* it said all it had to say */
    GS_FINISH_LENGTH,     /* cut at max_tokens */
    GS_FINISH_FILTER,     /* cut by the provider's filter */
    GS_FINISH_REFUSAL,    /* it would not */
    GS_FINISH_OTHER       /* tools, which nobody offered, or no word about it */
} gs_finish;

typedef struct gs_chat_choice {
    char     *text;         /* terminated, never NULL in an answer; empty where all was reasoning */
    size_t    size;
    char     *refusal;      /* why it would not; NULL: it did not refuse */
    size_t    reasoning;    /* bytes of reasoning beside the text; they are not kept */
    gs_finish finish;
} gs_chat_choice;

typedef struct gs_chat_answer {
    gs_chat_choice choice[GS_CHAT_CHOICES];
    int     count;                /* 0 on failure */
    bool    usage_known;
    int64_t prompt_tokens, completion_tokens, reasoning_tokens;   /* the last are part of the second; 0 unless usage_known */
    /* also on failure */
    double  seconds;              /* of the whole call */
    int     attempts;             /* requests that were sent or tried */
    int     http;                 /* of the last attempt; 0: no reply */
} gs_chat_answer;

/* Asks. *out must be freed by gs_chat_answer_free when the call is OK, and may be otherwise. A server that knows max_completion_tokens instead of
 * max_tokens, or no temperature, effort, choices or stream_options, and says so with 400 or 422, is asked again its way.
 * ARGUMENT: options (field: which), the key ("key": 401, 403) or the request ("http 400", ...) are wrong. NOT_FOUND "http 404": no such URL or model.
 * IO: "connection", "stream" (cut in the middle) or "http 429", "http 503", ... to the end. TIMEOUT: a time limit. INTERRUPTED: stop.
 * PARSE "reply": not what an endpoint says. RANGE: "reply", longer than reply_most; or the name of the budget that is used up (ledger.h). */
gs_status gs_chat(const gs_chat_options *options, const gs_chat_message *messages, int count, gs_chat_answer *out, gs_error *error);
void      gs_chat_answer_free(gs_chat_answer *answer);   /* back to zero */

/* Whether headers may have the line: "Name: value", nothing that ends it, and not one of the request's own (Content-Type, ...). */
bool gs_chat_header_valid(const char *line);

#endif

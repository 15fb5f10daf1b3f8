/* SPDX-License-Identifier: MIT
 * One question to a language model: a chat completion of any OpenAI-compatible endpoint, over libcurl, with retries, time limits and a budget.
 *
 *     gs_chat_answer answer;
 *     const gs_chat_message ask[] = {{"system", rules}, {"user", question}};
 *     gs_chat(&(gs_chat_options){.model = "a-model", .max_tokens = 4096, .stop = &gs_stop_requested}, ask, 2, &answer, &error);
 *     printf("%s", answer.choice[0].text);
 *     gs_chat_answer_free(&answer);
 *
 * The API key is read from the environment when the request is made. Neither the key nor the values of headers appear in messages, logs or the ledger; they
 * are masked in what the server says. Redirects are not followed, so the key is sent to the host of the URL only. Threads may call this concurrently. */
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
    const char *role, *content;        /* UTF-8; not owned */
} gs_chat_message;

typedef struct gs_chat_options {
    const char *url;                   /* NULL: $GEMMSMITH_LLM_URL. "http://host:8000" stands for http://host:8000/v1/chat/completions, "https://host/some/v1" for
                                          https://host/some/v1/chat/completions; a URL that ends in /chat/completions is used as it is. A query string is kept */
    const char *model;
    const char *key_variable;          /* environment variable with the key; NULL: OPENAI_API_KEY. If it is unset or empty, no key is sent */
    const char *const *headers;        /* "Name: value", ended by NULL; NULL: none. With an Authorization header the key is not sent */
    const char *ca_path;               /* CA certificates, PEM; NULL: the system's */
    double      connect_s, attempt_s;  /* limits in seconds for connecting and for one attempt; 0: 10, 300 */
    double      total_s;               /* limit in seconds for all attempts and the waits between them; 0: 900, or attempt_s if that is more */
    int         retries;               /* after 429, 5xx and connection errors; 0: 4, < 0: none */
    double      wait_s, wait_most_s;   /* seconds before the first retry, doubled for each further one up to wait_most_s, then randomised by 0.5 to 1; 0: 1, 60. A longer
                                          Retry-After of the server is obeyed; if it exceeds wait_most_s or the time left, there is no retry */
    size_t      reply_most;            /* bytes; 0: 8 MiB */
    int         max_tokens;            /* tokens per choice, reasoning included; 0: the server's limit */
    int         choices;               /* 0: 1; at most GS_CHAT_CHOICES */
    const double *temperature;         /* NULL: the server's default */
    const char *effort;                /* reasoning_effort: "low", ...; NULL: the server's default */
    bool        stream;                /* ask for server-sent events; a reply that is not a stream is accepted too */
    uint64_t    seed;                  /* for the random waits; 0: from the operating system */
    gs_ledger  *ledger;                /* every attempt is booked there; NULL: unlimited, not recorded */
    const volatile sig_atomic_t *stop; /* polled every 20 ms; nonzero: INTERRUPTED. NULL: none */
} gs_chat_options;

typedef enum gs_finish {
    GS_FINISH_STOP,       /* complete */
    GS_FINISH_LENGTH,     /* cut at max_tokens */
    GS_FINISH_FILTER,     /* cut by the provider's content filter */
    GS_FINISH_REFUSAL,    /* the model refused */
    GS_FINISH_OTHER       /* tool calls, which were not offered, or no reason given */
} gs_finish;

typedef struct gs_chat_choice {
    char     *text;         /* terminated, never NULL in an answer; empty if there was only reasoning */
    size_t    size;
    char     *refusal;      /* the model's reason; NULL: it did not refuse */
    size_t    reasoning;    /* bytes of separate reasoning text, which is not kept */
    gs_finish finish;
} gs_chat_choice;

typedef struct gs_chat_answer {
    gs_chat_choice choice[GS_CHAT_CHOICES];
    int     count;                /* 0 on failure */
    bool    usage_known;
    int64_t prompt_tokens, completion_tokens, reasoning_tokens;   /* reasoning_tokens are part of completion_tokens; 0 unless usage_known */
    /* also on failure */
    double  seconds;              /* of the whole call */
    int     attempts;             /* requests sent or tried */
    int     http;                 /* of the last attempt; 0: no reply */
} gs_chat_answer;

/* Sends the question. *out must be freed by gs_chat_answer_free when the call is OK, and may be otherwise. A server that rejects max_tokens, temperature,
 * reasoning_effort, n or stream_options with 400 or 422 and names it is asked again without it, or with max_completion_tokens.
 * ARGUMENT: options (field: which), the key ("key": 401, 403) or the request ("http 400", ...) are wrong. NOT_FOUND "http 404": no such URL or model.
 * IO: "connection", "stream" (cut) or "http 429", "http 503", ... after the last retry. TIMEOUT: a time limit. INTERRUPTED: stop.
 * PARSE "reply": not a chat completion. RANGE: "reply", longer than reply_most; or the name of the budget that is used up (ledger.h). */
gs_status gs_chat(const gs_chat_options *options, const gs_chat_message *messages, int count, gs_chat_answer *out, gs_error *error);
void      gs_chat_answer_free(gs_chat_answer *answer);   /* frees the texts and zeroes *answer */

/* Whether a line is allowed in headers: "Name: value" on one line, and not a header that the request sets itself (Content-Type, ...). */
bool gs_chat_header_valid(const char *line);

#endif

/* SPDX-License-Identifier: MIT
 * One POST over libcurl, whose body goes into a gs_reply as it comes. Inside the llm layer. */
#ifndef GS_LLM_HTTP_H
#define GS_LLM_HTTP_H

#include "llm/reply.h"

typedef struct gs_http_post {
    const char *url, *body;
    size_t      body_size;
    const char *const *headers;        /* whole lines, ended by NULL */
    const char *ca_path;
    double      connect_s, total_s;
    size_t      reply_most;
    const volatile sig_atomic_t *stop;
} gs_http_post;

typedef struct gs_http_outcome {
    int    http;            /* 0: no reply */
    bool   sent;            /* the request reached the other side, or may have */
    bool   retry;           /* it failed in a way that may not last */
    double retry_after_s;   /* that the server asks for; 0: it does not */
} gs_http_outcome;

/* The URL that a base stands for, "url" and ARGUMENT if it is none; *out is the caller's (free()). */
gs_status gs_http_url(const char *base, char **out, gs_error *error);

/* GS_OK: all of the body of a 2xx is in reply. reply->stream is set by what the server says that it sends. */
gs_status gs_http_send(const gs_http_post *post, gs_reply *reply, gs_http_outcome *outcome, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * One POST over libcurl, whose reply is fed to a gs_reply as it arrives. Internal to the llm room. */
#ifndef GS_LLM_HTTP_H
#define GS_LLM_HTTP_H

#include "llm/reply.h"

typedef struct gs_http_post {
    const char *url, *body;
    size_t      body_size;
    const char *const *headers;        /* whole header lines, ended by NULL */
    const char *ca_path;
    double      connect_s, total_s;
    size_t      reply_most;
    const volatile sig_atomic_t *stop;
} gs_http_post;

typedef struct gs_http_outcome {
    int    http;            /* 0: no reply */
    bool   sent;            /* the request reached the server, or may have */
    bool   retry;           /* the failure may be temporary */
    double retry_after_s;   /* the server's Retry-After; 0: none */
} gs_http_outcome;

/* The complete URL for a base URL; ARGUMENT "url" if it is not valid. The caller frees *out. */
gs_status gs_http_url(const char *base, char **out, gs_error *error);

/* GS_OK: the status was 2xx and the whole body is in reply. reply->stream is set from the reply's content type. */
gs_status gs_http_send(const gs_http_post *post, gs_reply *reply, gs_http_outcome *outcome, gs_error *error);

#endif

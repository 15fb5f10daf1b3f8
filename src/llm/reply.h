/* SPDX-License-Identifier: MIT
 * Parses an endpoint's reply: one JSON object, or server-sent events with an object each; also error objects. Does no network access. */
#ifndef GS_LLM_REPLY_H
#define GS_LLM_REPLY_H

#include "base/text.h"
#include "llm/chat.h"

typedef struct gs_reply_choice {
    gs_text   text, refusal;
    size_t    reasoning;
    gs_finish finish;
    bool      finished;
} gs_reply_choice;

typedef struct gs_reply {
    bool        stream;              /* to be set before the first bytes, as secrets */
    const char *const *secrets;      /* masked in messages that quote the server; ended by NULL; NULL: none. Not owned */
    gs_text     pending;             /* a stream's unfinished line; without a stream the whole body */
    gs_text     event;               /* data lines of the current event */
    bool        first, after_return; /* a line was read; its end was CR, so an LF may follow */
    bool        done;                /* the stream sent [DONE] */
    gs_reply_choice choice[GS_CHAT_CHOICES];
    int         count;
    bool        usage_known;
    int64_t     prompt_tokens, completion_tokens, reasoning_tokens;
    int         code;                /* of an error object, as an HTTP status: 429, 503, ...; 400 if it gives none; 0: no error object */
} gs_reply;                          /* zero-initialise */

/* PARSE "reply"; MEMORY; for an error object IO or ARGUMENT, "http CODE", as gs_reply_refused. After a failure only gs_reply_free may be called. */
gs_status gs_reply_feed(gs_reply *reply, const char *bytes, size_t size, gs_error *error);

/* The reply is complete: *out gets the choices and the usage, and belongs to the caller. IO "stream": it was cut. */
gs_status gs_reply_end(gs_reply *reply, gs_chat_answer *out, gs_error *error);
void      gs_reply_free(gs_reply *reply);

/* The error of a failed request, from its status and the body that was fed to a reply that is not a stream; never GS_OK. */
gs_status gs_reply_refused(gs_reply *reply, int http, gs_error *error);

#endif

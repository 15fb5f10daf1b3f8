/* SPDX-License-Identifier: MIT
 * What an endpoint says: one JSON object, or server-sent events with an object each; what went wrong, as an error object. Knows no network. */
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
    bool        stream;              /* set before the first bytes, as secrets */
    const char *const *secrets;      /* blotted out of what the server says, ended by NULL; NULL: none. The caller's */
    gs_text     pending;             /* a stream's unfinished line; else all of it */
    gs_text     event;               /* data lines of the event so far */
    bool        first, after_return; /* a line was seen; its end was CR, an LF may follow */
    bool        done;                /* the stream said that it ends */
    gs_reply_choice choice[GS_CHAT_CHOICES];
    int         count;
    bool        usage_known;
    int64_t     prompt_tokens, completion_tokens, reasoning_tokens;
    int         code;                /* of an error object, as in HTTP: 429, 503, ...; 400 where it says none; 0: there was none */
} gs_reply;                          /* zero-initialise */

/* PARSE "reply"; MEMORY; what an error object says: IO or ARGUMENT, "http CODE" as gs_reply_refused. After a failure only gs_reply_free may follow. */
gs_status gs_reply_feed(gs_reply *reply, const char *bytes, size_t size, gs_error *error);

/* Nothing more comes: *out has the choices and the usage, and is the caller's. IO "stream": it was cut. */
gs_status gs_reply_end(gs_reply *reply, gs_chat_answer *out, gs_error *error);
void      gs_reply_free(gs_reply *reply);

/* What a failed request means, from its status and the body that was fed to a reply that is no stream; never GS_OK. */
gs_status gs_reply_refused(gs_reply *reply, int http, gs_error *error);

#endif

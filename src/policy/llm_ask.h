/* SPDX-License-Identifier: MIT
 * Asking a language model: completes the options, asks one question and reads its answer, stops asking for good. */
#ifndef GS_POLICY_LLM_ASK_H
#define GS_POLICY_LLM_ASK_H

#include "base/text.h"
#include "llm/chat.h"
#include "policy/llm.h"

enum { GS_LLM_REASON = 512 };

typedef struct gs_llm_asker {
    gs_llm_options options;          /* completed from the environment; strings are the caller's or the environment's */
    gs_llm         own;              /* used if options.shared is NULL */
    gs_llm        *llm;
    char          *header_text;      /* the file, as lines that end with '\0' */
    size_t         header_size;
    const char    *headers[GS_CHAT_HEADERS + 1];
} gs_llm_asker;                      /* must not move while it is open */

/* text: a prompt text with the field "reason"; it is read at once, so that a missing folder is found early. ARGUMENT: "llm_url", "llm_model", "llm_key_env",
 * "llm_headers", "llm_ca"; those of gs_file_read, gs_llm_open and gs_prompt_add. Close it whatever is returned. */
gs_status gs_llm_asker_open(gs_llm_asker *out, const gs_llm_options *options, const char *text, gs_error *error);
void      gs_llm_asker_close(gs_llm_asker *asker);

/* No more questions, also of others that share the budget; reports why, once. */
void gs_llm_give_up(gs_llm_asker *asker, const gs_error *why);

/* Reads an answer. An error other than MEMORY says why it cannot be read; its field and text must quote nothing of the answer. */
typedef gs_status (*gs_llm_read)(void *self, const char *text, size_t size, gs_error *error);

/* Asks one question. OK with a reason (a line for the model, with its end): the answer was cut, was a refusal, or cannot be read. shorter: advice for the model if
 * its answer was cut. answer: receives the unchanged text, also of a refusal; may be NULL. Codes: those of gs_chat, MEMORY. */
gs_status gs_llm_ask(const gs_llm_asker *asker, const char *system, const char *question, const char *shorter, gs_llm_read read, void *self, gs_text *answer,
                     char reason[GS_LLM_REASON], gs_error *error);

#endif

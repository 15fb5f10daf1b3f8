/* SPDX-License-Identifier: MIT
 * A language model as whoever tunes reaches it: options that are complete, one question with what was wrong with its answer, and the end of asking.
 * */
#ifndef GS_POLICY_LLM_ASK_H
#define GS_POLICY_LLM_ASK_H

#include "base/text.h"
#include "llm/chat.h"
#include "policy/llm.h"

enum { GS_LLM_REASON = 512 };

typedef struct gs_llm_asker {
    gs_llm_options options;          /* with what the environment says; strings are the caller's or the environment's */
    gs_llm         own;              /* where nobody shares one */
    gs_llm        *llm;
    char          *header_text;      /* the file, as lines that end with '\0' */
    size_t         header_size;
    const char    *headers[GS_CHAT_HEADERS + 1];
} gs_llm_asker;                      /* does not move while it is open */

/* text: one with the field "reason" that prompts will need, by which it is found out whether the folder is there. ARGUMENT: "llm_url", "llm_model", "llm_key_env",
 * "llm_headers", "llm_ca"; those of gs_file_read, gs_llm_open and gs_prompt_add. Closed, whatever it returns, by close. */
gs_status gs_llm_asker_open(gs_llm_asker *out, const gs_llm_options *options, const char *text, gs_error *error);
void      gs_llm_asker_close(gs_llm_asker *asker);

/* No question any more, of whoever shares it; says why, once. */
void gs_llm_give_up(gs_llm_asker *asker, const gs_error *why);

/* Reads an answer. A failure that is not MEMORY is the reason why it cannot be read: its field and text quote nothing of it. */
typedef gs_status (*gs_llm_read)(void *self, const char *text, size_t size, gs_error *error);

/* Asks one question. OK with a reason (a line with its end, to be shown to the model): the answer was cut, a refusal, or cannot be read. shorter: what one whose
 * answer was cut is told to do. answer: gets the text as it came, a refusal's too; NULL: not wanted. Codes: those of gs_chat, MEMORY. */
gs_status gs_llm_ask(const gs_llm_asker *asker, const char *system, const char *question, const char *shorter, gs_llm_read read, void *self, gs_text *answer,
                     char reason[GS_LLM_REASON], gs_error *error);

#endif

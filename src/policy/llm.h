/* SPDX-License-Identifier: MIT
 * How the policy "llm" reaches a language model, and what it may cost. Options are text as users write it; one that is NULL is read from its environment
 * variable, and has its default if that is unset or empty. */
#ifndef GS_POLICY_LLM_H
#define GS_POLICY_LLM_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "base/text.h"
#include "llm/ledger.h"
#include "policy/policy.h"

/* Outcomes of the questions of the policy "llm" and of the schedules in the answers. */
typedef struct gs_llm_tally {
    int    asked, answered, readable;            /* questions; answers received; answers that were arrays of schedules */
    int    strings, parsed, valid;               /* in the answers; that parse; that are valid for the problem and new */
    int    compiled, timed, right, wrong;        /* right: passed verification; wrong: failed it, whatever the verdict */
    double best_us;                              /* of the fastest that was timed and not wrong; 0: none */
    char   best[GS_SCHEDULE_TEXT];
    bool   unreachable;                          /* stopped by a failure, not by a budget */
} gs_llm_tally;

/* Two lines for the user: counts, and the fastest if there is one. Nothing if no answer came. */
void gs_llm_tally_format(const gs_llm_tally *tally, bool predicted, gs_text *text);

/* Shared by the searches of several problems: the budget, and whether to stop asking. */
typedef struct gs_llm {
    gs_ledger   *ledger;
    bool         silent;         /* no more questions: a budget is used up, or the endpoint failed for good */
    gs_llm_tally tally;          /* of the searches that have ended */
} gs_llm;                        /* zero-initialise */

/* A question and its answer, before it is evaluated. */
typedef struct gs_llm_turn {
    const gs_problem *problem;
    const char       *model;
    int               number;        /* of the problem: 1, 2, ... */
    const char       *system, *ask;  /* the prompt */
    const char       *answer;        /* unchanged */
    const char       *fault;         /* why it could not be read; "": it was read */
} gs_llm_turn;

/* Receives the turns of the policy "llm". */
typedef struct gs_llm_sink {
    void      *self;
    gs_status (*asked)(void *self, const gs_llm_turn *turn, gs_error *error);
    gs_status (*ended)(void *self, const gs_feedback *outcomes, int count, gs_error *error);   /* the outcomes of the last turn's schedules */
} gs_llm_sink;

typedef struct gs_llm_options {
    const char *url;             /* $GEMMSMITH_LLM_URL; needed */
    const char *model;           /* $GEMMSMITH_LLM_MODEL; needed */
    const char *key_variable;    /* $GEMMSMITH_LLM_KEY_ENV, else OPENAI_API_KEY: the NAME of the variable with the key; unset: no key is sent */
    const char *budget;          /* $GEMMSMITH_LLM_BUDGET: "requests=20,tokens=200000,seconds=600,cost=5", each at most once; else none */
    const char *price;           /* $GEMMSMITH_LLM_PRICE: "0.5,2": price of a million prompt tokens and of a million answer tokens; needed by a budget for cost */
    const char *ledger;          /* $GEMMSMITH_LLM_LEDGER: file that records what was spent; processes with the same file share the budget; else memory */
    const char *prompts;         /* folder of the prompts' texts (llm/prompt.h) */
    const char *headers;         /* $GEMMSMITH_LLM_HEADERS: file with extra HTTP headers, a line "Name: value" each; else none */
    const char *ca;              /* $GEMMSMITH_LLM_CA: CA bundle (PEM); else the system's */
    double      attempt_s;       /* timeout of one attempt; 0: 300 */
    int         retries;         /* after 429, 5xx and failed connections; 0: 4, < 0: none */
    bool        stream;          /* ask for the answer in pieces, which keeps proxies from timing out */
    int         max_tokens;      /* of an answer, reasoning included; 0: 16384 */
    double      answer_s;        /* timeout of a question with all its attempts; 0: gs_chat's default. gs_tune: at most a third of its budget */
    double      wait_s;          /* before the first retry; 0: gs_chat's default */
    const gs_llm_sink *sink;     /* the caller's; receives questions and answers; may be NULL. gs_tune uses its own, which writes to the store */
    gs_llm     *shared;          /* the caller's, opened; NULL: nothing is shared */
    void      (*note)(const char *text);   /* called once with the reason why there are no more questions; NULL: the log */
} gs_llm_options;

/* ARGUMENT, RANGE: "llm_budget", "llm_price"; the ledger's. options NULL: all from the environment. */
gs_status gs_llm_open(gs_llm *out, const gs_llm_options *options, gs_error *error);
void      gs_llm_close(gs_llm *llm);

#endif

/* SPDX-License-Identifier: MIT
 * How the policy "llm" reaches a language model, and what it may cost. Words as a person writes them: each that is NULL is read from its environment
 * variable, and has its default where that is unset or empty, too. */
#ifndef GS_POLICY_LLM_H
#define GS_POLICY_LLM_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#include "llm/ledger.h"
#include "policy/policy.h"

/* What the tunings of several problems share: one budget, and whether the endpoint is given up. */
typedef struct gs_llm {
    gs_ledger *ledger;
    bool       silent;           /* no question any more: a budget is used up, or the endpoint failed for good */
} gs_llm;                        /* zero-initialise */

/* A question and its answer, before anything came of it. */
typedef struct gs_llm_turn {
    const gs_problem *problem;
    const char       *model;
    int               number;        /* of the problem: 1, 2, ... */
    const char       *system, *ask;  /* the prompt */
    const char       *answer;        /* as it came */
    const char       *fault;         /* why it could not be read; "": it could */
} gs_llm_turn;

/* Keeps the turns of the policy "llm". */
typedef struct gs_llm_sink {
    void      *self;
    gs_status (*asked)(void *self, const gs_llm_turn *turn, gs_error *error);
    gs_status (*ended)(void *self, const gs_feedback *outcomes, int count, gs_error *error);   /* what came of the last turn's schedules */
} gs_llm_sink;

typedef struct gs_llm_options {
    const char *url;             /* $GEMMSMITH_LLM_URL; needed */
    const char *model;           /* $GEMMSMITH_LLM_MODEL; needed */
    const char *key_variable;    /* $GEMMSMITH_LLM_KEY_ENV, else OPENAI_API_KEY: the NAME of the variable that has the key; none is sent where it is unset */
    const char *budget;          /* $GEMMSMITH_LLM_BUDGET: "requests=20,tokens=200000,seconds=600,cost=5", each at most once; else none */
    const char *price;           /* $GEMMSMITH_LLM_PRICE: "0.5,2", of a million tokens of prompts and of answers; a budget for cost needs it */
    const char *ledger;          /* $GEMMSMITH_LLM_LEDGER: file in which it is kept what was spent, and by which processes share the budget; else memory */
    const char *prompts;         /* folder of the prompts' texts (llm/prompt.h) */
    const char *headers;         /* $GEMMSMITH_LLM_HEADERS: file with a line "Name: value" for each that every request has beside its own; else none */
    const char *ca;              /* $GEMMSMITH_LLM_CA: file with the certificates of authorities (PEM); else the system's */
    double      attempt_s;       /* for one attempt; 0: 300 */
    int         retries;         /* after 429, 5xx and connections that fail; 0: 4, < 0: none */
    bool        stream;          /* the answer comes as it is made, which keeps proxies awake */
    int         max_tokens;      /* of an answer, reasoning included; 0: 16384 */
    double      answer_s;        /* for a question with all its attempts; 0: as gs_chat has it. gs_tune: a third of its budget at most */
    double      wait_s;          /* before the first retry; 0: as gs_chat has it */
    const gs_llm_sink *sink;     /* the caller's; gets what was asked and answered. NULL: nobody does. gs_tune: its own, which writes to the store */
    gs_llm     *shared;          /* the caller's, opened; NULL: of one problem alone */
    void      (*note)(const char *text);   /* is told once why there are no more questions; NULL: the log */
} gs_llm_options;

/* ARGUMENT, RANGE: "llm_budget", "llm_price"; the ledger's. options NULL: all from the environment. */
gs_status gs_llm_open(gs_llm *out, const gs_llm_options *options, gs_error *error);
void      gs_llm_close(gs_llm *llm);

#endif

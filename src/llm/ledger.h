/* SPDX-License-Identifier: MIT
 * What a run asks of language models: requests, tokens, seconds, cost, and a hard budget for each. A request is asked for before it is sent, with the most
 * that it can take, and settled afterwards with what it took. One that could exceed a budget is refused.
 *
 * With a path the ledger is a file of JSON lines, of which each is on the disk before the call returns. Several processes may share it: the budget is
 * of all. After a crash the same path goes on; a request that was never settled counts with the most that it could take, because nobody
 * knows whether it was paid for. A last line that was not written to its end is removed. */
#ifndef GS_LLM_LEDGER_H
#define GS_LLM_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

typedef struct gs_spent {
    int64_t requests;
    int64_t tokens;                    /* prompts and answers */
    double  seconds, cost;
} gs_spent;

typedef struct gs_ledger_options {
    const char *path;                  /* the folder exists; NULL: kept in memory */
    double      price_in, price_out;   /* of a million tokens of prompts and of answers, in any currency; finite, not negative */
    gs_spent    most;                  /* 0: no budget for that */
} gs_ledger_options;

typedef struct gs_ledger_use {
    int64_t tokens_in, tokens_out;
    double  seconds;
} gs_ledger_use;

typedef struct gs_ledger gs_ledger;    /* any number of threads; gs_ledger_take: alone */

/* ARGUMENT: a price or a budget that is none. CORRUPT, "line N": a damaged file, which stays as it is. */
gs_status gs_ledger_open(gs_ledger **out, const gs_ledger_options *options, gs_error *error);
void      gs_ledger_close(gs_ledger **ledger);

/* May a request be sent that takes at most that? *id is for settling it. RANGE: no; the field is the budget: "requests", "tokens", "seconds" or "cost".
 * Tokens of answers that have no bound (tokens_out 0) are refused with ARGUMENT "max_tokens" where there is a budget for tokens or cost.
 * most->seconds is cut to what is left of them. IO, DISK_FULL: it could not be written down, so nothing may be sent. */
gs_status gs_ledger_ask(gs_ledger *ledger, gs_ledger_use *most, uint64_t *id, gs_error *error);

/* What it took, which may be more than was asked for where a server heeds no limit. Where it cannot be written down, the ledger goes on with the most. */
gs_status gs_ledger_settle(gs_ledger *ledger, uint64_t id, const gs_ledger_use *took, int http, gs_error *error);

/* So far, requests that are not settled yet with the most that they can take; of a shared file as it was at the last call. */
gs_spent gs_ledger_spent(gs_ledger *ledger);

/* Takes in one line of the file; also what is left of the budget is computed from lines alone. PARSE for one that is none. For reading and for tests. */
gs_status gs_ledger_take(gs_ledger *ledger, const char *line, size_t size, gs_error *error);

#endif

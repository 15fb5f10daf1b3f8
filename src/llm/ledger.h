/* SPDX-License-Identifier: MIT
 * What a run spends on language models: requests, tokens, seconds and cost, with a hard budget for each. Before a request is sent, the most that it can use is
 * reserved; afterwards the reservation is replaced by what it used. A request that could exceed a budget is refused.
 *
 * With a path the ledger is a file of JSON lines; each line is on disk before the call returns. Several processes may share the file and its
 * budget. After a crash a run with the same path continues; a request that was never settled counts with its reservation, because it may
 * have been paid for. An unfinished last line is removed. */
#ifndef GS_LLM_LEDGER_H
#define GS_LLM_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

typedef struct gs_spent {
    int64_t requests;
    int64_t tokens;                    /* of prompts and answers */
    double  seconds, cost;
} gs_spent;

typedef struct gs_ledger_options {
    const char *path;                  /* its folder must exist; NULL: in memory only */
    double      price_in, price_out;   /* per million tokens of prompts and of answers, in any currency; finite, not negative */
    gs_spent    most;                  /* the budget; 0: unlimited */
} gs_ledger_options;

typedef struct gs_ledger_use {
    int64_t tokens_in, tokens_out;
    double  seconds;
} gs_ledger_use;

typedef struct gs_ledger gs_ledger;    /* for any number of threads; gs_ledger_take for one only */

/* ARGUMENT: an invalid price or budget. CORRUPT, "line N": the file is damaged; it is not changed. */
gs_status gs_ledger_open(gs_ledger **out, const gs_ledger_options *options, gs_error *error);
void      gs_ledger_close(gs_ledger **ledger);

/* Reserves budget for a request that uses at most *most; *id is for gs_ledger_settle. RANGE: refused; the field names the budget: "requests", "tokens",
 * "seconds" or "cost".
 * If there is a budget for tokens or cost, answers without a limit (tokens_out 0) are refused with ARGUMENT "max_tokens".
 * most->seconds is reduced to the seconds left. IO, DISK_FULL: the reservation could not be written, so the request must not be sent. */
gs_status gs_ledger_ask(gs_ledger *ledger, gs_ledger_use *most, uint64_t *id, gs_error *error);

/* Replaces the reservation by what the request used, which may be more if the server ignored a limit. If it cannot be written, the reservation remains. */
gs_status gs_ledger_settle(gs_ledger *ledger, uint64_t id, const gs_ledger_use *took, int http, gs_error *error);

/* The sum so far, with the reservations of requests not settled yet; for a shared file as of the last call. */
gs_spent gs_ledger_spent(gs_ledger *ledger);

/* Reads one line of the file; all sums come from lines read by this function. PARSE if it is not valid. For readers and tests. */
gs_status gs_ledger_take(gs_ledger *ledger, const char *line, size_t size, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * What is accepted as a job: candidates, or a race, each with its text and the id that is made from it. */
#ifndef GS_JOBS_ITEM_H
#define GS_JOBS_ITEM_H

#include <gemmsmith/problem.h>

#include "base/hash.h"
#include "evaluate/reward.h"

/* One candidate of one problem. The reward is no part of the id: one evaluation gives all kinds. */
typedef struct gs_service_item {
    char          *request;   /* {"problem":P,"schedule":S} or {"problem":P,"source":T,"manifest":T}; owned; NULL: a completion that has no candidate */
    char          *answer;     /* of a candidate that is refused for its text, which no device needs to look at: as jobs have it; owned. Then there is no request */
    char          *fault;      /* why a completion's edits make no candidate, in one line; owned; NULL: there is nothing to say */
    char           id[GS_HASH_TEXT];   /* empty without a candidate, or with one that is refused */
    gs_problem     problem;
    bool           schedule;  /* the candidate is one */
    gs_reward_kind reward;
} gs_service_item;

typedef struct gs_service_request {
    gs_service_item *item;
    int              count;
    double           deadline_s;
    bool             timed;      /* the client named the deadline */
    bool             as_ready;   /* a batch whose results are sent one by one */
    int64_t          expires;    /* gs_date_ms until which somebody wants the answers; 0: always. Whoever has the request accepted sets it */
} gs_service_request;

bool gs_service_id_valid(const char *id);   /* 32 digits, as gs_hash_format writes them */

#endif

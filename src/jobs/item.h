/* SPDX-License-Identifier: MIT
 * What can be accepted as a job: candidates, or a race, each with its text and the id that is computed from it. */
#ifndef GS_JOBS_ITEM_H
#define GS_JOBS_ITEM_H

#include <gemmsmith/problem.h>

#include "base/hash.h"
#include "evaluate/reward.h"

/* One candidate of one problem. The kind of reward is not part of the id: one evaluation gives all kinds. */
typedef struct gs_service_item {
    char          *request;   /* {"problem":P,"schedule":S} or {"problem":P,"source":T,"manifest":T}; owned; NULL: a completion without a candidate */
    char          *answer;     /* the answer of a candidate that is refused for its text, without a device; owned. Then request is NULL */
    char          *fault;      /* why a completion's edits give no candidate, in one line; owned; NULL: nothing to say */
    char           id[GS_HASH_TEXT];   /* empty without a candidate, or if it is refused */
    gs_problem     problem;
    bool           schedule;  /* the candidate is a schedule */
    gs_reward_kind reward;
} gs_service_item;

typedef struct gs_service_request {
    gs_service_item *item;
    int              count;
    double           deadline_s;
    bool             timed;      /* the client set the deadline */
    bool             as_ready;   /* a batch whose results are sent as they are ready */
    int64_t          expires;    /* gs_date_ms until which the answers are needed; 0: for ever. Set by the caller of gs_service_jobs_accept */
} gs_service_request;

bool gs_service_id_valid(const char *id);   /* 32 hexadecimal digits, as gs_hash_format writes them */

#endif

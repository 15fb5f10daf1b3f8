/* SPDX-License-Identifier: MIT
 * A policy proposes schedules for a problem and learns from their outcomes. It does not use devices, workers or the store. */
#ifndef GS_POLICY_POLICY_H
#define GS_POLICY_POLICY_H

#include "schedule/schedule.h"
#include "verdict/verdict.h"

typedef struct gs_feedback {
    gs_schedule schedule;
    gs_verdict_code verdict;    /* UNKNOWN: not verified; it may have been timed */
    double      us;             /* device time; 0 if not timed */
    double      ratio;          /* time of cuBLASLt / time of the candidate; 0 if not timed beside cuBLASLt */
    double      reward;         /* [-1, 1] */
    const char *reason;         /* of a verdict that is not PASS; NULL: none */
} gs_feedback;

/* A schedule that an earlier search found for a problem. */
typedef struct gs_found {
    gs_problem  problem;
    gs_schedule schedule;
} gs_found;

typedef struct gs_policy gs_policy;
struct gs_policy {
    const char *name;
    void       *self;
    uint32_t    families;       /* bit set, 0: all; set by the caller before it asks */
    bool        asks_found;     /* reads `found` */
    bool        builds_on_found;/* it searches a problem also if something was found for it earlier */
    bool        one_by_one;     /* works on one problem at a time: it cannot propose ahead for a list */
    const gs_found *found;      /* set by the caller, used if asks_found */
    int         found_count;
    /* Writes up to `most` schedules that it has not proposed for this problem before; returns how many. 0: it has no more. */
    int  (*propose)(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most);
    /* New outcomes of schedules of this problem, whoever proposed them. NULL: it does not learn. */
    void (*learn)(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count);
    /* At the end of a search: the verdict on a schedule, whoever proposed it. NULL: not needed. */
    void (*judged)(gs_policy *policy, const gs_schedule *schedule, gs_verdict_code verdict);
    /* save: if another process has saved to the file since, adds what was learned since loading to its weights. NULL: nothing to save. */
    gs_status (*save)(gs_policy *policy, const char *path, gs_error *error);
    gs_status (*load)(gs_policy *policy, const char *path, gs_error *error);
    void (*destroy)(gs_policy *policy);
};

/* "enumerate": the time model's shortlist, then every other valid schedule by predicted time. "spread": the first choices of every family, then all families'
 * shortlists by predicted time. "refine": what was found for this problem and for those nearest to it, then alternately its variations and the shortlist.
 * "learned": what was found for the problem with the other input type, then what the weights of $GEMMSMITH_WEIGHTS (gemmsmith train) predict to be fastest,
 * corrected by the measurements, and neighbours of the best. "random": valid schedules, uniformly. "evolve":
 * some at random, then children of the best: one or two values changed, or the values of two mixed.
 * "llm": the answers of a language model that is shown the measurements (policy/llm.h); it must learn the outcomes of a batch before it proposes another.
 * "hybrid": "learned" (without weights "evolve") and "llm" in turn.
 * NOT_FOUND for an unknown name. */
gs_status gs_policy_create(gs_policy *out, const char *name, uint64_t seed, gs_error *error);
gs_status gs_policy_check(const char *name, gs_error *error);   /* NOT_FOUND likewise */
const char *gs_policy_usual(const gs_caps *caps);               /* the default: "learned" on a GPU with weights, else "enumerate" */

/* The same, with options for policies that ask a language model (NULL: from the environment). The struct is copied, the strings are not. keeps: as in
 * policies.h. */
struct gs_llm_options;
gs_status gs_policy_create_with(gs_policy *out, const char *name, const struct gs_llm_options *options, bool keeps, uint64_t seed, gs_error *error);

#endif

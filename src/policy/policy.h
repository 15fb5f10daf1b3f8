/* SPDX-License-Identifier: MIT
 * Who proposes candidates: a policy is asked for schedules of a problem, and learns what came of them. It knows no device, no worker and no store. */
#ifndef GS_POLICY_POLICY_H
#define GS_POLICY_POLICY_H

#include "schedule/schedule.h"
#include "verify/verdict.h"

typedef struct gs_feedback {
    gs_schedule schedule;
    gs_verdict_code verdict;    /* UNKNOWN: timed, or not, and nothing spoke against it yet */
    double      us;             /* device time; 0 if not timed */
    double      ratio;          /* library time / candidate time; 0 if not timed beside it */
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
    bool        asks_found;     /* wants to know what was found */
    bool        builds_on_found;/* and so searches where something was found, too */
    bool        one_by_one;     /* works on one problem at a time: it cannot propose for a list ahead */
    const gs_found *found;      /* the caller's, as families; read where asks_found */
    int         found_count;
    /* Writes up to most schedules not proposed before for this problem; returns how many, 0: nothing more to propose. */
    int  (*propose)(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most);
    /* What came of schedules of this problem, its own or others', as far as they are new. NULL: it does not learn. */
    void (*learn)(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count);
    /* save: adds what it has learned since it was loaded or saved, where another one has saved there since. NULL: nothing to keep. */
    gs_status (*save)(gs_policy *policy, const char *path, gs_error *error);
    gs_status (*load)(gs_policy *policy, const char *path, gs_error *error);
    void (*destroy)(gs_policy *policy);
};

/* "enumerate": the shortlist of the time model, then every other valid schedule in the order of its predicted time. "spread": the first
 * choices of every family, then the shortlists of all of them by predicted time. "refine": what was found for this problem and for those
 * nearest to it, then its variations and the shortlist in turn. "learned": what was found for the problem with the other input
 * type, then what the weights of $GEMMSMITH_WEIGHTS (gemmsmith train) find fastest, corrected by what is measured, and neighbours of what was best. "random": valid schedules, each as probable as any other. "evolve":
 * some at random, then children of what was best: a word changed, or words of two.
 * "llm": what a language model answers that is shown what was measured (policy/llm.h); it must learn what came of a batch before it proposes another.
 * "hybrid": "learned", or "evolve" where there are no weights, and "llm" in turn.
 * NOT_FOUND for an unknown name. */
gs_status gs_policy_create(gs_policy *out, const char *name, uint64_t seed, gs_error *error);
gs_status gs_policy_check(const char *name, gs_error *error);   /* NOT_FOUND likewise */
const char *gs_policy_usual(const gs_caps *caps);               /* "learned" on a GPU that there are weights for, else "enumerate" */

/* The same, for those that ask a language model with options, which are copied, but not what they point to (NULL: from the environment); keeps: weights
 * are loaded or saved, so "hybrid" has some even where none are installed. */
struct gs_llm_options;
gs_status gs_policy_create_with(gs_policy *out, const char *name, const struct gs_llm_options *options, bool keeps, uint64_t seed, gs_error *error);

#endif

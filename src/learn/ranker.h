/* SPDX-License-Identifier: MIT
 * Which of cuBLASLt's suggestions is fastest: small networks that have learned from times of all that it suggests for a problem. They know suggestions
 * from each other by how these compute; of the time itself they say nothing. */
#ifndef GS_LEARN_RANKER_H
#define GS_LEARN_RANKER_H

#include "cublas/suggestion.h"
#include "learn/features.h"
#include "learn/net.h"

enum {
    GS_SUGGESTION_FEATURES = 50,
    GS_RANKER_NETS         = 4
};

typedef struct gs_ranker {
    gs_net net[GS_RANKER_NETS];
    int    nets;            /* 0: it has learned nothing */
} gs_ranker;

/* The time of one of a problem's suggestions. Those of a problem lie side by side. */
typedef struct gs_suggestion_time {
    gs_problem    problem;
    gs_suggestion suggestion;
    int           place;    /* among the problem's suggestions, from 0 */
    double        us;
    int           group;
} gs_suggestion_time;

/* UNSUPPORTED, MEMORY; *ranker is to be freed only after GS_OK. */
gs_status gs_ranker_create(gs_ranker *ranker, uint64_t seed, gs_error *error);
void      gs_ranker_free(gs_ranker *ranker);

/* The place of the suggestion that is expected to be fastest, of those that can be chosen: the first of these, unless another one is expected to be 1 % faster.
 * The first of these, too, where nothing was learned: of batches, groups, gates, f16 sums, a transposed A and D of another type than A. -1: none can be chosen. */
int gs_ranker_choose(const gs_ranker *ranker, const gs_problem *problem, const gs_caps *caps, const gs_suggestion *list, int count);

/* epochs: passes over the groups; those of one time teach nothing. MEMORY; CORRUPT: gs_net_diverged. */
gs_status gs_ranker_train(gs_ranker *ranker, const gs_suggestion_time *times, int count, const gs_caps *caps, int epochs, uint64_t seed, gs_error *error);

/* Geometric mean over groups of the fastest time over that of what is chosen, and of the first; and how often each is within 2 % of the fastest. */
typedef struct gs_ranker_worth {
    int    groups;
    double chosen, first, chosen_fine, first_fine;
} gs_ranker_worth;
gs_ranker_worth gs_ranker_judge(const gs_ranker *ranker, const gs_suggestion_time *times, int count, const gs_caps *caps);

/* The end of the group that begins there. */
int gs_suggestion_group_end(const gs_suggestion_time *times, int count, int begin);

#endif

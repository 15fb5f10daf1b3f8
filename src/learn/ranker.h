/* SPDX-License-Identifier: MIT
 * The ranker: small networks that predict which algorithm that cuBLASLt suggests (its heuristic's results) is fastest. Trained on measured times of all suggestions for a
 * problem. They compare suggestions by the attributes of the algorithms and do not predict absolute times. */
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
    int    nets;            /* 0: not trained */
} gs_ranker;

/* The measured time of one suggestion. Those of one problem are adjacent. */
typedef struct gs_suggestion_time {
    gs_problem    problem;
    gs_suggestion suggestion;
    int           place;    /* index among the problem's suggestions, from 0 */
    double        us;
    int           group;
} gs_suggestion_time;

/* UNSUPPORTED, MEMORY; after an error *ranker must not be freed. */
gs_status gs_ranker_create(gs_ranker *ranker, uint64_t seed, gs_error *error);
void      gs_ranker_free(gs_ranker *ranker);

/* The index of the suggestion that is expected to be fastest, among those that can be chosen: the first one unless another is expected to be 1 % faster. Always the first one
 * where there is no training data: batches, groups, gates, f16 accumulation, a transposed A, D of another type than A. -1: none can be chosen. */
int gs_ranker_choose(const gs_ranker *ranker, const gs_problem *problem, const gs_caps *caps, const gs_suggestion *list, int count);

/* epochs: passes over the groups. Groups with a single time are ignored. MEMORY; CORRUPT: gs_net_diverged. */
gs_status gs_ranker_train(gs_ranker *ranker, const gs_suggestion_time *times, int count, const gs_caps *caps, int epochs, uint64_t seed, gs_error *error);

/* Over groups: the geometric mean of the fastest time divided by the chosen suggestion's time, and by the first one's; and the share of groups in which each is within
 * 2 % of the fastest. */
typedef struct gs_ranker_worth {
    int    groups;
    double chosen, first, chosen_fine, first_fine;
} gs_ranker_worth;
gs_ranker_worth gs_ranker_judge(const gs_ranker *ranker, const gs_suggestion_time *times, int count, const gs_caps *caps);

/* The index after the last element of the group that starts at `begin`. */
int gs_suggestion_group_end(const gs_suggestion_time *times, int count, int begin);

#endif

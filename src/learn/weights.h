/* SPDX-License-Identifier: MIT
 * The learned weights, surrogate, actor and ranker, as a file. Values of parameters stand in it by name, so that a file outlives values that are added
 * to the grammar. */
#ifndef GS_LEARN_WEIGHTS_H
#define GS_LEARN_WEIGHTS_H

#include "learn/actor.h"
#include "learn/ranker.h"
#include "learn/surrogate.h"

enum { GS_WEIGHTS_BYTES = 1 << 22 };   /* most of a file */

/* A plan takes cuBLASLt unless its own choice is expected to take less than this share of the time that is expected of cuBLASLt's first suggestion: that of a
 * choice is the least of many predictions, so some 2 % too low, and the suggestion that is taken is faster than the first (docs/performance/sizes). */
#define GS_CLEARLY_FASTER 0.92

typedef struct gs_weights {
    gs_surrogate surrogate;
    gs_actor     actor;
    gs_ranker    ranker;       /* of cuBLASLt's suggestions; nets 0: the weights know nothing of them */
    char         about[256];   /* one line: what they were trained on, by which command */
} gs_weights;

/* Untrained: the time model's prediction, by an ensemble of 1 to GS_MOST_NETS networks, and values at random. MEMORY. */
gs_status gs_weights_create(gs_weights *weights, int nets, uint64_t seed, gs_error *error);
void      gs_weights_free(gs_weights *weights);

/* Of as many networks as the file has. NOT_FOUND, IO, CORRUPT (cut, changed, numbers that are not finite, or other numbers than this program sees), MEMORY. Words that the grammar has no longer are dropped;
 * new ones say nothing. *weights is to be freed only after GS_OK. */
gs_status gs_weights_load(gs_weights *weights, const char *path, gs_error *error);
gs_status gs_weights_parse(gs_weights *weights, const char *data, size_t size, gs_error *error);

/* What the weights would try first, best first, at most `most`: valid schedules among those that the actor finds most probable,
 * in the surrogate's order. Some milliseconds; where the actor says nothing valid, gs_surrogate_shortlist. Of families that the weights do not know
 * (gs_surrogate_knows) the time model's choices, before the others if it finds them faster than the first of those. Returns how many. */
int gs_weights_choose(const gs_weights *weights, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most);

/* The file to use: what $GEMMSMITH_WEIGHTS names, else the installed one; NULL: that is not there. */
const char *gs_weights_path(void);
const char *gs_weights_path_for(const gs_caps *caps);   /* the same; NULL for other devices: what was learned on Hopper is for Hopper */

/* gs_weights_load of one of these paths: the message names the variable, if it did name the file. */
gs_status gs_weights_load_used(gs_weights *weights, const char *path, gs_error *error);

/* GS_OK where $GEMMSMITH_WEIGHTS is not set, or names weights; *named (may be NULL): whether it is set. */
gs_status gs_weights_check_named(bool *named, gs_error *error);

/* Replaces the file as a whole. CORRUPT: some weights are not finite; nothing is written. */
gs_status gs_weights_save(const gs_weights *weights, const char *path, gs_error *error);

#endif

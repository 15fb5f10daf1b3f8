/* SPDX-License-Identifier: MIT
 * The file of learned weights: surrogate, actor and ranker. Values of parameters are stored by name, so a file stays usable when values are added to the
 * grammar. */
#ifndef GS_LEARN_WEIGHTS_H
#define GS_LEARN_WEIGHTS_H

#include "learn/actor.h"
#include "learn/ranker.h"
#include "learn/surrogate.h"

enum { GS_WEIGHTS_BYTES = 1 << 22 };   /* largest file */

/* A plan uses cuBLASLt unless the predicted time of its own choice is less than this share of that of cuBLASLt's first suggestion. The margin is needed because the choice is
 * the minimum of many predictions, so about 2 % too low, and because the suggestion that is used is faster than the first one (docs/performance/sizes). */
#define GS_CLEARLY_FASTER 0.92

typedef struct gs_weights {
    gs_surrogate surrogate;
    gs_actor     actor;
    gs_ranker    ranker;       /* of cuBLASLt's suggestions; nets 0: the file has none */
    char         about[256];   /* one line: what they were trained on, by which command */
} gs_weights;

/* Untrained weights: the surrogate (1 to GS_MOST_NETS networks) predicts as the time model does, the actor chooses at random. MEMORY. */
gs_status gs_weights_create(gs_weights *weights, int nets, uint64_t seed, gs_error *error);
void      gs_weights_free(gs_weights *weights);

/* Loads a file, with as many networks as it has. NOT_FOUND, IO, CORRUPT (truncated, changed, numbers that are not finite, or features that this program does not have),
 * MEMORY. Names that are no longer in the grammar are dropped; new ones get weights 0. After an error *weights must not be freed. */
gs_status gs_weights_load(gs_weights *weights, const char *path, gs_error *error);
gs_status gs_weights_parse(gs_weights *weights, const char *data, size_t size, gs_error *error);

/* The schedules to try first, best first, at most `most`: valid ones among the actor's most probable, ordered by the surrogate. Takes some milliseconds. If the actor proposes
 * nothing valid: gs_surrogate_shortlist. From families that the weights do not know (gs_surrogate_knows), the time model's choices are put first if it predicts them to be
 * faster than the first of the others. Returns how many. */
int gs_weights_choose(const gs_weights *weights, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most);

/* The file to use: $GEMMSMITH_WEIGHTS, else the installed one, or NULL if that does not exist. */
const char *gs_weights_path(void);
const char *gs_weights_path_for(const gs_caps *caps);   /* the same; NULL for devices other than Hopper, on which the weights were trained */

/* gs_weights_load of such a path; the error message names the variable if the path comes from it. */
gs_status gs_weights_load_used(gs_weights *weights, const char *path, gs_error *error);

/* GS_OK if $GEMMSMITH_WEIGHTS is not set or names readable weights; *named (may be NULL): whether it is set. */
gs_status gs_weights_check_named(bool *named, gs_error *error);

/* Replaces the file atomically. CORRUPT: some weights are not finite; nothing is written. */
gs_status gs_weights_save(const gs_weights *weights, const char *path, gs_error *error);

#endif

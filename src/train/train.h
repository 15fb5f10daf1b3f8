/* SPDX-License-Identifier: MIT
 * Training of the weights: the surrogate on measured times, the actor on what was best among them. Without measurements the surrogate predicts what the
 * time model predicts, and the actor imitates its choices for problems at random. */
#ifndef GS_TRAIN_TRAIN_H
#define GS_TRAIN_TRAIN_H

#include "base/random.h"
#include "learn/weights.h"

/* surrogate: the value is the root of the loss. imitate, steps: it has none. distill: mean over problems of the time that the surrogate predicts for its own
 * choice over what it predicts for the actor's. */
typedef enum gs_train_stage { GS_TRAIN_SURROGATE, GS_TRAIN_IMITATE, GS_TRAIN_DISTILL, GS_TRAIN_STEPS } gs_train_stage;

const char *gs_train_stage_name(gs_train_stage stage);   /* "surrogate", "imitate", "distill", "steps" */

typedef struct gs_train_options {
    int      epochs;        /* over the measured groups; 0: they are not imitated either */
    int      problems;      /* at random, for which the actor imitates the surrogate's choices; half of them near those that were measured, if any were */
    int      steps;         /* of a learner (below), in the end, each on some times of a group */
    uint64_t seed;
    /* What goes on; false ends the training, with what has been learned. NULL: nobody looks. */
    bool   (*progress)(void *self, gs_train_stage stage, int done, int total, double value);
    void    *self;
} gs_train_options;

/* Goes on from what the weights already are. MEMORY; CORRUPT: gs_net_diverged. */
gs_status gs_train(gs_weights *weights, const gs_sample *samples, int count, const gs_profile *profile, const gs_train_options *options, gs_error *error);

/* Adds the gradient by which the actor imitates a group, the fastest most: a schedule that is 2 % slower counts 1 / e of it. The shares add up to `weight`. */
void gs_train_imitate(const gs_actor *actor, const gs_sample *samples, int count, const gs_caps *caps, double weight, float *gradient);

/* A network that learns, and the weights that it began with. */
typedef struct gs_taught {
    gs_adam adam;
    float  *began;
} gs_taught;

/* One problem's times as they come: a step for each network of the surrogate, and one for the actor, which imitates the fastest of them; both are held near the
 * weights of gs_learner_create. */
typedef struct gs_learner {
    gs_taught surrogate[GS_MOST_NETS], actor;
    int       nets;            /* that learn */
    float    *gradient;        /* of the largest network */
} gs_learner;

typedef struct gs_measured {
    gs_schedule schedule;
    double      us;       /* 0: it was not timed; nothing is learned of it */
    bool        library;  /* not the schedule's: cuBLASLt's, of its first suggestion */
} gs_measured;

gs_status gs_learner_create(gs_learner *learner, const gs_weights *weights, gs_error *error);
void      gs_learner_free(gs_learner *learner);
gs_status gs_learner_step(gs_learner *learner, gs_weights *weights, const gs_problem *problem, const gs_caps *caps, const gs_measured *measured, int count,
                          gs_error *error);   /* MEMORY, CORRUPT (gs_net_diverged): some of it may have been learned */

/* A problem as it may be asked for: extents from 1 to 16384, powers of two and others, either layout, f16 or bf16; now and then f16 sums. */
gs_problem gs_train_problem(gs_random *random);

/* Whether a problem is kept from training: one in `of`, by its extents alone, so that layouts and types of one go together. */
bool gs_train_held_out(const gs_problem *problem, int of);

/* Which groups: those whose N and K are multiples of 64, the others of 8, the others. */
typedef enum gs_train_sizes { GS_TRAIN_OF_64, GS_TRAIN_OF_8, GS_TRAIN_ANY, GS_TRAIN_ALL } gs_train_sizes;

/* cuBLASLt's time over that of what is taken: geometric mean, share of groups where it is 0.98 at least, and the least. */
typedef struct gs_gain {
    double mean, fine, worst;
} gs_gain;

/* What an order of measured groups is worth: the geometric mean over groups of `least` samples and more of the best time over the best time
 * among the first 1, 4, 8, 16. weights NULL: the time model's order. Over groups that have a time of cuBLASLt, too: what the weights expect the
 * first choice to gain over it, over what it gains: the geometric mean, and the deviation of its logarithm; and what is gained by the first
 * choice alone, with a plan's doubt (GS_CLEARLY_FASTER), and by the faster of both each time. */
typedef struct gs_worth {
    int     groups;
    double  at[4];
    int     beside;     /* groups with a time of cuBLASLt; 0 also: the weights know nothing of it */
    int     doubts;     /* of these, where the doubt takes cuBLASLt */
    double  expected, deviation;
    gs_gain own, doubted, faster;
} gs_worth;
gs_worth gs_train_worth(const gs_weights *weights, const gs_sample *samples, int count, int least, gs_train_sizes sizes, const gs_profile *profile);

#endif

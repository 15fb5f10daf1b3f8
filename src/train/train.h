/* SPDX-License-Identifier: MIT
 * Training the weights: the surrogate on measured times, the actor on the best schedules among them. Without measurements the surrogate predicts what the
 * time model predicts, and the actor imitates the surrogate's choices for random problems. */
#ifndef GS_TRAIN_TRAIN_H
#define GS_TRAIN_TRAIN_H

#include "base/random.h"
#include "learn/weights.h"

/* What gs_train_options.progress gets as value, by stage. surrogate: the root of the loss. imitate, steps: nothing. distill: the time that the surrogate predicts for its own
 * choice divided by what it predicts for the actor's choice, mean over problems. */
typedef enum gs_train_stage { GS_TRAIN_SURROGATE, GS_TRAIN_IMITATE, GS_TRAIN_DISTILL, GS_TRAIN_STEPS } gs_train_stage;

const char *gs_train_stage_name(gs_train_stage stage);   /* "surrogate", "imitate", "distill", "steps" */

typedef struct gs_train_options {
    int      epochs;        /* passes over the measured groups; 0: the actor does not imitate them either */
    int      problems;      /* number of random problems for which the actor imitates the surrogate; half of them are near measured ones, if there are any */
    int      steps;         /* final steps of a learner (below), each on some times of a group */
    uint64_t seed;
    /* Reports progress; returns false to end the training with what was learned. May be NULL. */
    bool   (*progress)(void *self, gs_train_stage stage, int done, int total, double value);
    void    *self;
} gs_train_options;

/* Continues from the current weights. MEMORY; CORRUPT: gs_net_diverged. */
gs_status gs_train(gs_weights *weights, const gs_sample *samples, int count, const gs_profile *profile, const gs_train_options *options, gs_error *error);

/* Adds the actor's gradient for imitating a group, mainly its fastest schedules: one that is 2 % slower has 1 / e of the weight. The weights add up to `weight`. */
void gs_train_imitate(const gs_actor *actor, const gs_sample *samples, int count, const gs_caps *caps, double weight, float *gradient);

/* A network in training, and its initial weights. */
typedef struct gs_taught {
    gs_adam adam;
    float  *began;
} gs_taught;

/* Learns from one problem's times at a time: one step for each network of the surrogate, and one for the actor, which imitates the fastest; both are pulled towards the
 * weights of gs_learner_create. */
typedef struct gs_learner {
    gs_taught surrogate[GS_MOST_NETS], actor;
    int       nets;            /* networks of the surrogate */
    float    *gradient;        /* room for the largest network */
} gs_learner;

typedef struct gs_measured {
    gs_schedule schedule;
    double      us;       /* 0: not timed; ignored */
    bool        library;  /* the time is that of cuBLASLt's first suggestion, not of a schedule */
} gs_measured;

gs_status gs_learner_create(gs_learner *learner, const gs_weights *weights, gs_error *error);
void      gs_learner_free(gs_learner *learner);
gs_status gs_learner_step(gs_learner *learner, gs_weights *weights, const gs_problem *problem, const gs_caps *caps, const gs_measured *measured, int count,
                          gs_error *error);   /* MEMORY, CORRUPT (gs_net_diverged): part of it may have been learned */

/* A random problem: extents from 1 to 16384, powers of two and others, layout nn or tn, f16 or bf16, sometimes f16 accumulation. */
gs_problem gs_train_problem(gs_random *random);

/* Whether a problem is held out from training: one in `of`, decided by its extents only, so that its layouts and types stay together. */
bool gs_train_held_out(const gs_problem *problem, int of);

/* Which groups: N and K are multiples of 64; else of 8; the rest; all. */
typedef enum gs_train_sizes { GS_TRAIN_OF_64, GS_TRAIN_OF_8, GS_TRAIN_ANY, GS_TRAIN_ALL } gs_train_sizes;

/* cuBLASLt's time divided by that of a choice: geometric mean, share of groups where it is at least 0.98, and the minimum. */
typedef struct gs_gain {
    double mean, fine, worst;
} gs_gain;

/* The quality of a ranking, over groups of at least `least` samples: at: the geometric mean of the best time divided by the best time among the first 1, 4, 8, 16. weights
 * NULL: the time model's ranking. Over the groups with a time of cuBLASLt: expected: the predicted speed-up of the first choice over cuBLASLt divided by the measured one,
 * geometric mean; deviation: standard deviation of its logarithm; and the speed-up if the first choice is always used (own), with a plan's margin (GS_CLEARLY_FASTER;
 * doubted), and if always the faster of both is used (faster). */
typedef struct gs_worth {
    int     groups;
    double  at[4];
    int     beside;     /* groups with a time of cuBLASLt; also 0 if the weights do not predict it */
    int     doubts;     /* of these, those where the margin makes a plan use cuBLASLt */
    double  expected, deviation;
    gs_gain own, doubted, faster;
} gs_worth;
gs_worth gs_train_worth(const gs_weights *weights, const gs_sample *samples, int count, int least, gs_train_sizes sizes, const gs_profile *profile);

#endif

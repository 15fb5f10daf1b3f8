/* SPDX-License-Identifier: MIT
 * The actor: a policy that says a schedule string of the grammar value by value, each from the problem and the values before it. Values that no valid
 * schedule string goes on with have probability 0, so every schedule string that it says is valid. It learns from rewards by clipped policy gradient, and
 * from schedule strings that others found to be good. */
#ifndef GS_LEARN_ACTOR_H
#define GS_LEARN_ACTOR_H

#include "base/random.h"
#include "learn/features.h"
#include "learn/net.h"

/* All valid schedule strings for a problem on a device, in the order of their bytes. */
typedef struct gs_space {
    gs_problem   problem;
    float        features[GS_PROBLEM_FEATURES];
    gs_schedule *list;
    int          count;
} gs_space;

/* families: a bit set, 0: all. May be empty. MEMORY. */
gs_status gs_space_create(gs_space *space, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_error *error);
void      gs_space_free(gs_space *space);
int       gs_space_find(const gs_space *space, const gs_schedule *schedule);   /* its place, -1: not valid */

typedef struct gs_actor {
    gs_net net;
} gs_actor;

/* Untrained, it draws each value evenly from those that are possible. */
gs_status gs_actor_create(gs_actor *actor, uint64_t seed, gs_error *error);
void      gs_actor_free(gs_actor *actor);

/* A schedule string from a space that is not empty; *log_probability (may be NULL) is that of the whole schedule string. */
gs_schedule gs_actor_say(const gs_actor *actor, const gs_space *space, gs_random *random, double *log_probability);

/* The most probable value each time. */
gs_schedule gs_actor_best(const gs_actor *actor, const gs_space *space);

/* Without a space, in microseconds, and so without masks: how probable each family is, and the most probable schedule strings of one by a beam of that
 * width (GS_MOST_BEAM at most), most probable first. Not all of them need be valid. Returns how many. */
enum { GS_MOST_BEAM = 32 };
void gs_actor_families(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, double p[GS_FAMILIES]);
int  gs_actor_beam(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, gs_family_id family, int width, gs_schedule *list);

double gs_actor_log_probability(const gs_actor *actor, const gs_space *space, const gs_schedule *schedule);

/* What came of a schedule string that was said with that probability; for gs_actor_imitate weight is how much it counts. */
typedef struct gs_outcome {
    gs_schedule schedule;
    double      log_probability, reward;
} gs_outcome;

typedef struct gs_lesson {
    double clip;       /* the new probability over the old one counts within 1 - clip to 1 + clip; 0.2 */
    double entropy;    /* what a value's entropy is worth, in rewards; 0.002 */
    double valid;      /* what it is worth that a value is valid without masks too, as gs_actor_beam needs it; 0.1 */
} gs_lesson;
extern const gs_lesson gs_usual_lesson;   /* these values */

/* Adds the gradient of a group of outcomes in one space (2 at least), each reward against the mean of the others', in units of their
 * spread; down which gs_adam_step goes. */
void gs_actor_learn(const gs_actor *actor, const gs_space *space, const gs_outcome *outcomes, int count, const gs_lesson *lesson, float *gradient);

/* Adds the gradient that makes a valid schedule string more probable, weight times; without a space: values are set against all values of their parameter. */
void gs_actor_imitate(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule, double weight, float *gradient);

#endif

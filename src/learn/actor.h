/* SPDX-License-Identifier: MIT
 * The actor: a policy network that builds a schedule parameter by parameter, each value given the problem and the values before it. It is trained to imitate
 * fast schedules. It does not know which schedules are valid: its proposals must be checked. */
#ifndef GS_LEARN_ACTOR_H
#define GS_LEARN_ACTOR_H

#include "learn/features.h"
#include "learn/net.h"

typedef struct gs_actor {
    gs_net net;
} gs_actor;

/* Untrained, all values of a parameter are equally probable. */
gs_status gs_actor_create(gs_actor *actor, uint64_t seed, gs_error *error);
void      gs_actor_free(gs_actor *actor);

/* The probability of each family; the most probable schedules of a family, found by a beam search of the given width (at most GS_MOST_BEAM), most probable
 * first, not necessarily valid. Returns how many. Both take microseconds. */
enum { GS_MOST_BEAM = 64 };
void gs_actor_families(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, double p[GS_FAMILIES]);
int  gs_actor_beam(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, gs_family_id family, int width, gs_schedule *list);

double gs_actor_log_probability(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule);

/* Adds the gradient of -weight * gs_actor_log_probability to `gradient`, for gs_adam_step. */
void gs_actor_imitate(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule, double weight, float *gradient);

#endif

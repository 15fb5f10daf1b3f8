/* SPDX-License-Identifier: MIT
 * The actor: a policy that builds a schedule string of the grammar value by value, each from the problem and the values before it. It learns by imitating
 * schedule strings that were fast. It knows no validity: what it proposes is checked, and what it imitates is valid. */
#ifndef GS_LEARN_ACTOR_H
#define GS_LEARN_ACTOR_H

#include "learn/features.h"
#include "learn/net.h"

typedef struct gs_actor {
    gs_net net;
} gs_actor;

/* Untrained, each value is as probable as the others of its parameter. */
gs_status gs_actor_create(gs_actor *actor, uint64_t seed, gs_error *error);
void      gs_actor_free(gs_actor *actor);

/* In microseconds: how probable each family is, and the most probable schedule strings of one by a beam of that width (GS_MOST_BEAM at most), most probable
 * first. Not all of them need be valid. Returns how many. */
enum { GS_MOST_BEAM = 64 };
void gs_actor_families(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, double p[GS_FAMILIES]);
int  gs_actor_beam(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, gs_family_id family, int width, gs_schedule *list);

double gs_actor_log_probability(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule);

/* Adds the gradient of -weight * gs_actor_log_probability, down which gs_adam_step goes. */
void gs_actor_imitate(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule, double weight, float *gradient);

#endif

/* SPDX-License-Identifier: MIT
 * The actor's most probable schedules, found by beam search. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/actor.h"

enum {
    ROOM   = 2 * (GS_HIDDEN + GS_HIDDEN + GS_MOST_TOKENS),
    MOST_WORDS = 256
};

/* A schedule whose first parameters are set. */
typedef struct ray {
    gs_schedule schedule;
    double      log_probability;
} ray;

typedef struct beam {
    int width, count;
    ray rays[GS_MOST_BEAM];   /* best first */
} beam;

static void insert(beam *to, const ray *r)
{
    if (to->count == to->width && r->log_probability <= to->rays[to->count - 1].log_probability) return;
    int at = to->count < to->width ? to->count++ : to->count - 1;
    for (; at > 0 && to->rays[at - 1].log_probability < r->log_probability; at--) to->rays[at] = to->rays[at - 1];
    to->rays[at] = *r;
}

/* The network's inputs that are not zero: the problem, the family, and a ray's values so far. */
typedef struct inputs {
    gs_net_input list[GS_PROBLEM_FEATURES + GS_MAX_PARAMETERS + 1];
    int          count;
} inputs;

static void add_token(inputs *x, int token) { x->list[x->count++] = (gs_net_input){GS_PROBLEM_FEATURES + token, 1}; }

static inputs inputs_of(const gs_problem *problem, const gs_caps *caps)
{
    inputs x = {.count = GS_PROBLEM_FEATURES};
    float numbers[GS_PROBLEM_FEATURES];
    gs_problem_features(problem, caps, numbers);
    for (int i = 0; i < GS_PROBLEM_FEATURES; i++) x.list[i] = (gs_net_input){i, numbers[i]};
    return x;
}

/* The logarithms of the probabilities of `count` consecutive tokens. */
static void say(const gs_actor *actor, const inputs *x, int first, int count, double *log_probability)
{
    float room[ROOM];
    const float *const logits = gs_net_forward_inputs(&actor->net, x->list, x->count, room, first, first + count);
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < count; i++) most = fmax(most, logits[i]);
    for (int i = 0; i < count; i++) sum += exp(logits[i] - most);
    for (int i = 0; i < count; i++) log_probability[i] = logits[i] - most - log(sum);
}

static void go_on(const gs_actor *actor, inputs *x, const beam *from, beam *to, gs_family_id family, int parameter)
{
    const int count = gs_family_parameter(family, parameter)->count;
    double said[MOST_WORDS];
    to->count = 0;
    for (int i = 0; i < from->count; i++) {
        ray next = from->rays[i];
        const int before = x->count;
        for (int s = 0; s < parameter; s++) add_token(x, gs_token_of(family, s, next.schedule.value[s]));
        say(actor, x, gs_token_of(family, parameter, 0), count, said);
        x->count = before;
        for (int value = 0; value < count; value++) {
            next.schedule.value[parameter] = (uint8_t)value;
            next.log_probability = from->rays[i].log_probability + said[value];
            insert(to, &next);
        }
    }
}

int gs_actor_beam(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, gs_family_id family, int width, gs_schedule *list)
{
    width = GS_MIN(width, GS_MOST_BEAM);
    if (width < 1) return 0;
    beam beams[2] = {{.width = width, .count = 1, .rays = {{.schedule = {.family = (uint8_t)family}}}}, {.width = width}};
    inputs x = inputs_of(problem, caps);
    const int parameters = gs_family_parameters(family);
    add_token(&x, gs_token_of(family, -1, 0));
    for (int parameter = 0; parameter < parameters; parameter++) go_on(actor, &x, &beams[parameter % 2], &beams[(parameter + 1) % 2], family, parameter);
    const beam *const last = &beams[parameters % 2];
    for (int i = 0; i < last->count; i++) list[i] = last->rays[i].schedule;
    return last->count;
}

void gs_actor_families(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, double p[GS_FAMILIES])
{
    const inputs x = inputs_of(problem, caps);
    double sum = 0, most = -INFINITY;
    for (int f = 0; f < GS_FAMILIES; f++) {
        float room[ROOM];
        const int token = gs_token_of((gs_family_id)f, -1, 0);
        most = fmax(most, p[f] = *gs_net_forward_inputs(&actor->net, x.list, x.count, room, token, token + 1));
    }
    for (int f = 0; f < GS_FAMILIES; f++) sum += p[f] = exp(p[f] - most);
    for (int f = 0; f < GS_FAMILIES; f++) p[f] /= sum;
}

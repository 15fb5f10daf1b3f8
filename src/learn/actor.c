/* SPDX-License-Identifier: MIT
 * The actor: probabilities of schedules, and the gradient for imitation. beam.c finds the most probable ones. */
#include "learn/actor.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum {
    INPUTS    = GS_PROBLEM_FEATURES + GS_MOST_TOKENS,
    ROOM      = 2 * (GS_HIDDEN + GS_HIDDEN + GS_MOST_TOKENS),
    MOST_ROWS = 256   /* most choices at one step */
};

gs_status gs_actor_create(gs_actor *actor, uint64_t seed, gs_error *error)
{
    static const int width[] = {INPUTS, GS_HIDDEN, GS_HIDDEN, GS_MOST_TOKENS};
    if (gs_token_count() > GS_MOST_TOKENS) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "more than %d tokens", GS_MOST_TOKENS);
    return gs_net_create(&actor->net, 3, width, seed, error);
}

void gs_actor_free(gs_actor *actor) { gs_net_free(&actor->net); }

/* ---- a schedule string, value by value: step 0 is the family, step s > 0 the value of parameter s - 1 ---- */

static int steps_of(const gs_schedule *schedule) { return 1 + gs_family_parameters((gs_family_id)schedule->family); }
static int byte_of(const gs_schedule *schedule, int step) { return step == 0 ? schedule->family : schedule->value[step - 1]; }

static int choices_at(const gs_schedule *schedule, int step)
{
    return step == 0 ? GS_FAMILIES : GS_MIN(gs_family_parameter((gs_family_id)schedule->family, step - 1)->count, MOST_ROWS);
}

static int token_at(const gs_schedule *schedule, int step, int which)
{
    return step == 0 ? gs_token_of((gs_family_id)which, -1, 0) : gs_token_of((gs_family_id)schedule->family, step - 1, which);
}

/* The probabilities of the choices at a step; x holds the problem and the earlier choices. */
static void predict(const gs_actor *actor, const float *x, const gs_schedule *schedule, int step, float *room, double p[MOST_ROWS])
{
    const float *const logits = gs_net_forward(&actor->net, x, room);
    const int count = choices_at(schedule, step);
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < count; i++) most = fmax(most, logits[token_at(schedule, step, i)]);
    for (int i = 0; i < count; i++) sum += p[i] = exp(logits[token_at(schedule, step, i)] - most);
    for (int i = 0; i < count; i++) p[i] /= sum;
}

double gs_actor_log_probability(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule)
{
    float x[INPUTS] = {0}, room[ROOM];
    double p[MOST_ROWS], sum = 0;
    gs_problem_features(problem, caps, x);
    for (int step = 0; step < steps_of(schedule); step++) {
        predict(actor, x, schedule, step, room, p);
        sum += log(p[byte_of(schedule, step)]);
        x[GS_PROBLEM_FEATURES + token_at(schedule, step, byte_of(schedule, step))] = 1;
    }
    return sum;
}

void gs_actor_imitate(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule, double weight, float *gradient)
{
    float x[INPUTS] = {0}, room[ROOM], d_out[GS_MOST_TOKENS];
    double p[MOST_ROWS];
    gs_problem_features(problem, caps, x);
    for (int step = 0; step < steps_of(schedule); step++) {
        const int said = byte_of(schedule, step);
        predict(actor, x, schedule, step, room, p);
        memset(d_out, 0, sizeof d_out);
        for (int i = 0; i < choices_at(schedule, step); i++) d_out[token_at(schedule, step, i)] = (float)(weight * (p[i] - (i == said)));
        gs_net_backward(&actor->net, x, room, d_out, gradient);
        x[GS_PROBLEM_FEATURES + token_at(schedule, step, said)] = 1;
    }
}

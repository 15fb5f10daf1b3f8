/* SPDX-License-Identifier: MIT
 * Learning from one problem after the other, as a tuner measures them. The measured schedules were proposed by the surrogate, not sampled from the actor, so the
 * actor imitates them, weighted by speed, which is correct whoever proposed them. Every step also pulls both networks towards their initial
 * weights, so no weight can move away by more than Adam's longest step (3.2 learning rates) divided by HOLD. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "train/train.h"

#define SURROGATE_RATE 1e-4f
#define ACTOR_RATE     1e-4f
#define STEEPEST       1.0f
#define HOLD           5.0f
#define NEAR           0.02   /* as in the surrogate, but smaller: only the best are imitated */
#define LEAST_WEIGHT   0.03

void gs_train_imitate(const gs_actor *actor, const gs_sample *samples, int count, const gs_caps *caps, double weight, float *gradient)
{
    const double best = gs_sample_best(samples, count);
    double sum = 0;
    for (int i = 0; i < count; i++)
        if (!samples[i].library) sum += exp(-log(samples[i].us / best) / NEAR);
    for (int i = 0; i < count; i++) {
        const double share = exp(-log(samples[i].us / best) / NEAR) / sum;
        if (!samples[i].library && share > LEAST_WEIGHT) gs_actor_imitate(actor, &samples[i].problem, caps, &samples[i].schedule, share * weight, gradient);
    }
}

static gs_status taught_create(gs_taught *taught, const gs_net *net, float rate, gs_error *error)
{
    taught->began = malloc((size_t)net->count * sizeof *taught->began);
    if (!taught->began) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the weights that learning begins with");
    memcpy(taught->began, net->weights, (size_t)net->count * sizeof *taught->began);
    return gs_adam_create(&taught->adam, net, rate, error);
}

static void taught_free(gs_taught *taught)
{
    gs_adam_free(&taught->adam);
    free(taught->began);
}

static bool taught_step(gs_taught *taught, gs_net *net, float *gradient)
{
    if (!gs_adam_step(&taught->adam, net, gradient, STEEPEST)) return false;
    for (int i = 0; i < net->count; i++) net->weights[i] += HOLD * taught->adam.rate * (taught->began[i] - net->weights[i]);
    return true;
}

gs_status gs_learner_create(gs_learner *learner, const gs_weights *weights, gs_error *error)
{
    *learner = (gs_learner){.gradient = calloc((size_t)GS_MAX(weights->surrogate.net[0].count, weights->actor.net.count), sizeof *learner->gradient)};
    gs_status status = learner->gradient ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a gradient");
    while (status == GS_OK && learner->nets < weights->surrogate.nets) {
        const int i = learner->nets++;
        status = taught_create(&learner->surrogate[i], &weights->surrogate.net[i], SURROGATE_RATE, error);
    }
    if (status == GS_OK) status = taught_create(&learner->actor, &weights->actor.net, ACTOR_RATE, error);
    if (status != GS_OK) gs_learner_free(learner);
    return status;
}

void gs_learner_free(gs_learner *learner)
{
    for (int i = 0; i < learner->nets; i++) taught_free(&learner->surrogate[i]);
    taught_free(&learner->actor);
    free(learner->gradient);
    *learner = (gs_learner){0};
}

gs_status gs_learner_step(gs_learner *learner, gs_weights *weights, const gs_problem *problem, const gs_caps *caps, const gs_measured *measured, int count,
                          gs_error *error)
{
    const gs_profile profile = gs_profile_of(caps);
    gs_sample *const samples = malloc(((size_t)count + 1) * sizeof *samples);
    if (!samples) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", count);
    int timed = 0;
    gs_status status = GS_OK;
    for (int i = 0; i < count; i++)
        if (measured[i].us > 0 && isfinite(measured[i].us) && (measured[i].library || gs_schedule_check(&measured[i].schedule, problem, caps, NULL) == GS_OK))
            samples[timed++] = (gs_sample){*problem, measured[i].schedule, measured[i].us, 0, measured[i].library};
    if (timed > 1) {
        for (int i = 0; i < learner->nets && status == GS_OK; i++) {
            gs_net *const net = &weights->surrogate.net[i];
            if (isnan(gs_surrogate_learn(net, samples, timed, &profile, learner->gradient)))
                status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", count);
            else if (!taught_step(&learner->surrogate[i], net, learner->gradient))
                status = gs_net_diverged("surrogate", error);
        }
        gs_surrogate_learned(&weights->surrogate, samples, timed);
        if (status == GS_OK) gs_train_imitate(&weights->actor, samples, timed, caps, 1, learner->gradient);
        if (status == GS_OK && !taught_step(&learner->actor, &weights->actor.net, learner->gradient)) status = gs_net_diverged("actor", error);
    }
    free(samples);
    return status;
}

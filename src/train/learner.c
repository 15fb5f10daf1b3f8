/* SPDX-License-Identifier: MIT
 * Learning from one problem after the other, as a tuner measures them. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "train/train.h"

#define SURROGATE_RATE 1e-4f
#define ACTOR_RATE     5e-4f
#define STEEPEST       1.0f

gs_status gs_learner_create(gs_learner *learner, const gs_weights *weights, gs_error *error)
{
    *learner = (gs_learner){.gradient = calloc((size_t)GS_MAX(weights->surrogate.net.count, weights->actor.net.count), sizeof *learner->gradient)};
    gs_status status = learner->gradient ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a gradient");
    if (status == GS_OK) status = gs_adam_create(&learner->surrogate, &weights->surrogate.net, SURROGATE_RATE, error);
    if (status == GS_OK) status = gs_adam_create(&learner->actor, &weights->actor.net, ACTOR_RATE, error);
    if (status != GS_OK) gs_learner_free(learner);
    return status;
}

void gs_learner_free(gs_learner *learner)
{
    gs_adam_free(&learner->surrogate);
    gs_adam_free(&learner->actor);
    free(learner->gradient);
    *learner = (gs_learner){0};
}

static gs_status learn_times(gs_learner *learner, gs_weights *weights, const gs_problem *problem, const gs_caps *caps, const gs_measured *measured, int count,
                             gs_error *error)
{
    const gs_profile profile = gs_profile_of(caps);
    gs_sample *const samples = malloc(((size_t)count + 1) * sizeof *samples);
    if (!samples) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", count);
    int timed = 0;
    for (int i = 0; i < count; i++)
        if (measured[i].us > 0 && isfinite(measured[i].us) && gs_schedule_check(&measured[i].schedule, problem, caps, NULL) == GS_OK)
            samples[timed++] = (gs_sample){*problem, measured[i].schedule, measured[i].us, 0};
    const double loss = timed > 1 ? gs_surrogate_learn(&weights->surrogate, samples, timed, &profile, learner->gradient) : 0;
    free(samples);
    if (isnan(loss)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", count);
    if (timed > 1 && !gs_adam_step(&learner->surrogate, &weights->surrogate.net, learner->gradient, STEEPEST)) return gs_net_diverged("surrogate", error);
    return GS_OK;
}

/* What was measured was said by others as well as by the actor: each counts as said with the probability that the actor gives it now. */
static gs_status learn_rewards(gs_learner *learner, gs_weights *weights, const gs_problem *problem, const gs_caps *caps, const gs_measured *measured, int count,
                               gs_error *error)
{
    gs_space space;
    GS_TRY(gs_space_create(&space, problem, caps, 0, error));
    gs_outcome *const outcomes = malloc(((size_t)count + 1) * sizeof *outcomes);
    gs_status status = outcomes ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d rewards", count);
    int valid = 0;
    for (int i = 0; outcomes && i < count; i++)
        if (gs_space_find(&space, &measured[i].schedule) >= 0)
            outcomes[valid++] = (gs_outcome){measured[i].schedule, gs_actor_log_probability(&weights->actor, &space, &measured[i].schedule), measured[i].reward};
    if (valid > 1) {
        gs_actor_learn(&weights->actor, &space, outcomes, valid, &gs_usual_lesson, learner->gradient);
        if (!gs_adam_step(&learner->actor, &weights->actor.net, learner->gradient, STEEPEST)) status = gs_net_diverged("actor", error);
    }
    free(outcomes);
    gs_space_free(&space);
    return status;
}

gs_status gs_learner_step(gs_learner *learner, gs_weights *weights, const gs_problem *problem, const gs_caps *caps, const gs_measured *measured, int count,
                          gs_error *error)
{
    GS_TRY(learn_times(learner, weights, problem, caps, measured, count, error));
    return learn_rewards(learner, weights, problem, caps, measured, count, error);
}

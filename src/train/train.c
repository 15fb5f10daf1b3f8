/* SPDX-License-Identifier: MIT
 * The stages of training, and random problems. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

enum {
    IMITATE_EPOCHS = 2, IMITATE_BATCH = 8,
    TOGETHER = 8,         /* problems per step: with a single one the actor would only learn that one */
    TELL = 10 * TOGETHER, /* problems between progress reports */
    TIMES = 16,           /* times per problem and step: as many as a tuner measures */
    FEWEST = 4,
    TELL_STEPS = 1000
};
#define SURROGATE_RATE 1e-3f
#define IMITATE_RATE   1e-3f
#define DISTILL_RATE   2e-3f  /* falls to a tenth */
#define STEEPEST       1.0f

/* ---- problems ---- */

static int64_t extent(gs_random *random)
{
    const double octave = 14 * gs_random_unit(random);
    switch (gs_random_below(random, 4)) {
    case 0: return (int64_t)1 << gs_random_below(random, 15);
    case 1: return gs_random_below(random, 2) ? (int64_t)exp2(octave) : (int64_t)gs_random_below(random, 4) + 1 + (int64_t)exp2(octave) / 8 * 8;
    case 2: return GS_MAX((int64_t)exp2(octave) / 64 * 64, 64);
    default: return GS_MAX((int64_t)exp2(octave) / 8 * 8, 8);
    }
}

gs_problem gs_train_problem(gs_random *random)
{
    /* separate statements: the evaluation order of arguments is unspecified */
    const gs_type in = gs_random_below(random, 2) ? GS_BF16 : GS_F16;
    const gs_layout layout = gs_random_below(random, 2) ? GS_TN : GS_NN;
    const int64_t m = extent(random), n = extent(random), k = extent(random);
    gs_problem p = gs_problem_make(in, layout, m, n, k);
    if (in == GS_F16 && gs_random_below(random, 4) == 0) p.acc = GS_F16;
    return p;
}

bool gs_train_held_out(const gs_problem *problem, int of)
{
    const int64_t extents[] = {problem->m, problem->n, problem->k};
    return of > 0 && gs_hash64(extents, sizeof extents) % (uint64_t)of == 0;
}

/* One of the measured problems, or one with slightly different extents. */
static gs_problem near_measured(const gs_sample *samples, int count, gs_random *random)
{
    gs_problem p = samples[gs_random_below(random, (uint64_t)count)].problem;
    if (gs_random_below(random, 2)) return p;
    const int64_t m = p.m + 8 * ((int64_t)gs_random_below(random, 17) - 8), n = p.n + 8 * ((int64_t)gs_random_below(random, 17) - 8);
    gs_problem moved = gs_problem_make(p.in, p.layout, GS_MAX(1, m), GS_MAX(8, n), p.k);
    moved.acc = p.acc;
    moved.out = p.out;
    return moved;
}

/* ---- stages ---- */

typedef struct train {
    gs_weights             *weights;
    const gs_sample        *samples;
    int                     count;
    const gs_profile       *profile;
    const gs_train_options *options;
    float                  *gradient;
    gs_adam                 adam;
    gs_random               random;
    bool                    ended;
} train;

const char *gs_train_stage_name(gs_train_stage stage)
{
    static const char *const names[] = {"surrogate", "imitate", "distill", "steps"};
    return names[stage];
}

static void tell(train *t, gs_train_stage stage, int done, int total, double value)
{
    if (t->options->progress && !t->options->progress(t->options->self, stage, done, total, value)) t->ended = true;
}

static bool after_epoch(void *self, int epoch, double loss)
{
    train *const t = self;
    tell(t, GS_TRAIN_SURROGATE, epoch + 1, t->options->epochs, sqrt(loss));
    return !t->ended;
}

static gs_status imitate(train *t, gs_error *error)
{
    bool finite = true;
    t->adam.rate = IMITATE_RATE;
    for (int epoch = 0; epoch < IMITATE_EPOCHS && !t->ended; epoch++) {
        int groups = 0;
        for (int begin = 0, end; begin < t->count; begin = end) {
            end = gs_sample_group_end(t->samples, t->count, begin);
            gs_train_imitate(&t->weights->actor, t->samples + begin, end - begin, &t->profile->caps, 1.0 / IMITATE_BATCH, t->gradient);
            if (++groups % IMITATE_BATCH == 0) finite &= gs_adam_step(&t->adam, &t->weights->actor.net, t->gradient, STEEPEST);
        }
        finite &= gs_adam_step(&t->adam, &t->weights->actor.net, t->gradient, STEEPEST);
        if (!finite) return gs_net_diverged("actor", error);
        tell(t, GS_TRAIN_IMITATE, epoch + 1, IMITATE_EPOCHS, 0);
    }
    return GS_OK;
}

/* The surrogate's choices for a problem, as if they had been measured. Returns how many; 0: no family supports the problem. */
static int ask_surrogate(const train *t, const gs_problem *problem, gs_sample samples[TIMES])
{
    gs_schedule list[TIMES];
    const int count = gs_surrogate_shortlist(&t->weights->surrogate, problem, &t->profile->caps, 0, list, TIMES);
    for (int i = 0; i < count; i++)
        samples[i] = (gs_sample){*problem, list[i], gs_surrogate_us(&t->weights->surrogate, &list[i], problem, t->profile), 0};
    return count;
}

/* best_us divided by the surrogate's prediction for the actor's choice (the most probable valid schedule of its most probable family); 0: none is valid. */
static double share_of(const train *t, const gs_problem *problem, double best_us)
{
    double p[GS_FAMILIES];
    gs_schedule beam[GS_MOST_BEAM];
    int family = 0;
    gs_actor_families(&t->weights->actor, problem, &t->profile->caps, p);
    for (int f = 1; f < GS_FAMILIES; f++)
        if (p[f] > p[family]) family = f;
    const int count = gs_actor_beam(&t->weights->actor, problem, &t->profile->caps, (gs_family_id)family, GS_MOST_BEAM, beam);
    for (int i = 0; i < count; i++)
        if (gs_schedule_check(&beam[i], problem, &t->profile->caps, NULL) == GS_OK)
            return best_us / gs_surrogate_us(&t->weights->surrogate, &beam[i], problem, t->profile);
    return 0;
}

/* The actor imitates the surrogate on random problems. */
static gs_status distill(train *t, gs_error *error)
{
    double share = 0;
    for (int done = 0, told = 0, taken = 0; done < t->options->problems && !t->ended;) {
        const int count = GS_MIN(TOGETHER, t->options->problems - done);
        t->adam.rate = DISTILL_RATE * (float)pow(0.1, (double)done / t->options->problems);
        for (int i = 0; i < count; i++) {
            gs_sample samples[TIMES];
            const gs_problem problem = t->count > 0 && i % 2 ? near_measured(t->samples, t->count, &t->random) : gs_train_problem(&t->random);
            const int known = ask_surrogate(t, &problem, samples);
            if (known == 0) continue;
            share += share_of(t, &problem, gs_sample_best(samples, known));
            taken++;
            gs_train_imitate(&t->weights->actor, samples, known, &t->profile->caps, 1.0 / TOGETHER, t->gradient);
        }
        if (!gs_adam_step(&t->adam, &t->weights->actor.net, t->gradient, STEEPEST)) return gs_net_diverged("actor", error);
        done += count;
        if (done - told < TELL && done < t->options->problems) continue;
        tell(t, GS_TRAIN_DISTILL, done, t->options->problems, taken > 0 ? share / taken : 0);
        told = done;
        taken = 0;
        share = 0;
    }
    return GS_OK;
}

/* The first indices of the groups that a tuner could have measured. */
static int *find_groups(const train *t, int *count)
{
    int *const first = malloc(((size_t)t->count + 1) * sizeof *first);
    *count = 0;
    for (int begin = 0, end; first && begin < t->count; begin = end) {
        end = gs_sample_group_end(t->samples, t->count, begin);
        if (end - begin >= FEWEST) first[(*count)++] = begin;
    }
    return first;
}

static gs_status take_step(train *t, gs_learner *learner, gs_random *random, int begin, gs_error *error)
{
    gs_measured measured[TIMES + 1];
    const int end = gs_sample_group_end(t->samples, t->count, begin);
    const int from = begin + (end - begin > TIMES ? (int)gs_random_below(random, (uint64_t)(end - begin - TIMES + 1)) : 0);
    int count = 0;
    for (int i = from; i < end && count < TIMES; i++)
        if (!t->samples[i].library) measured[count++] = (gs_measured){t->samples[i].schedule, t->samples[i].us, false};
    for (int i = begin; i < end && count <= TIMES; i++)   /* always included: otherwise the prediction for cuBLASLt would lag behind the others */
        if (t->samples[i].library) measured[count++] = (gs_measured){t->samples[i].schedule, t->samples[i].us, true};
    return gs_learner_step(learner, t->weights, &t->samples[begin].problem, &t->profile->caps, measured, count, error);
}

/* Trains as a tuner does, problem by problem. */
static gs_status take_steps(train *t, gs_error *error)
{
    gs_random random = {t->options->seed};
    gs_learner learner;
    int groups;
    if (t->options->steps == 0 || t->count == 0) return GS_OK;
    int *const first = find_groups(t, &groups);
    if (!first) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the groups");
    gs_status status = groups > 0 ? gs_learner_create(&learner, t->weights, error) : GS_OK;
    for (int step = 1; groups > 0 && status == GS_OK && step <= t->options->steps && !t->ended; step++) {
        status = take_step(t, &learner, &random, first[gs_random_below(&random, (uint64_t)groups)], error);
        if (step % TELL_STEPS == 0 || step == t->options->steps) tell(t, GS_TRAIN_STEPS, step, t->options->steps, 0);
    }
    if (groups > 0) gs_learner_free(&learner);
    free(first);
    return status;
}

gs_status gs_train(gs_weights *weights, const gs_sample *samples, int count, const gs_profile *profile, const gs_train_options *options, gs_error *error)
{
    train t = {.weights = weights, .samples = samples, .count = count, .profile = profile, .options = options, .random = {options->seed}};
    if (count > 0) {
        const gs_training training = {.epochs = options->epochs, .rate = SURROGATE_RATE, .seed = options->seed, .epoch = after_epoch, .self = &t};
        GS_TRY(gs_surrogate_train(&weights->surrogate, samples, count, profile, &training, error));
    }
    t.gradient = calloc((size_t)weights->actor.net.count, sizeof *t.gradient);
    if (!t.gradient) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a gradient");
    gs_status status = gs_adam_create(&t.adam, &weights->actor.net, IMITATE_RATE, error);
    if (status == GS_OK && count > 0 && options->epochs > 0) {
        status = imitate(&t, error);
        gs_adam_free(&t.adam);   /* start with new moments: the old ones belong to other gradients and would undo what was learned */
        if (status == GS_OK) status = gs_adam_create(&t.adam, &weights->actor.net, DISTILL_RATE, error);
    }
    if (status == GS_OK) status = distill(&t, error);
    if (status == GS_OK) status = take_steps(&t, error);
    gs_adam_free(&t.adam);
    free(t.gradient);
    return status;
}

/* SPDX-License-Identifier: MIT
 * The stages of training, and problems at random. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

enum {
    IMITATE_EPOCHS = 2, IMITATE_BATCH = 8,
    GROUP = 16,           /* schedule strings of a problem, which are set against each other */
    TOGETHER = 8,         /* problems of a step: more than one, or the actor learns the last one by heart */
    DRAWS = 64,           /* for a problem that is small enough */
    STEPS = 2,            /* on the same schedule strings */
    TELL = 10 * TOGETHER, /* problems of a word about how it goes */
    TIMES = 16,           /* of a group, in a step: as many as a tuner measures */
    FEWEST = 4,
    TELL_STEPS = 1000
};
#define SURROGATE_RATE 1e-3f
#define IMITATE_RATE   1e-3f
#define ACTOR_RATE     2e-3f  /* falls to a tenth */
#define STEEPEST       1.0f
#define SMALLEST_US    4.0    /* floor of the first problems at random */
#define OCTAVES        20.0   /* by which that grows to the end: beyond the largest of all from half way on */

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
    /* one after the other: the order of a call's arguments is the compiler's */
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

/* One of those that were measured, with extents that differ a little. */
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
    static const char *const names[] = {"surrogate", "imitate", "actor", "steps"};
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

/* From small to large: what fits a small problem is a part of what fits a large one. */
static double largest_us(double done) { return SMALLEST_US * exp2(OCTAVES * done); }

static gs_problem some_problem(train *t, int turn, double most_us)
{
    gs_problem problem;
    for (int i = 0; i < DRAWS; i++) {
        problem = t->count > 0 && turn % 2 ? near_measured(t->samples, t->count, &t->random) : gs_train_problem(&t->random);
        if (gs_floor_us(&problem, &t->profile->caps) <= most_us) break;
    }
    return problem;
}

/* A problem, what the actor said for it, and what that was worth beside the surrogate's own choice. */
typedef struct attempt {
    gs_space    space;
    gs_outcome  outcomes[GROUP];
    double      share;   /* 0: nobody takes the problem */
} attempt;

static gs_status try_problem(train *t, attempt *trial, const gs_problem *problem, gs_error *error)
{
    const gs_weights *const w = t->weights;
    gs_schedule chosen;
    double sum = 0;
    GS_TRY(gs_space_create(&trial->space, problem, &t->profile->caps, 0, error));
    if (gs_surrogate_shortlist(&w->surrogate, problem, &t->profile->caps, 0, &chosen, 1) == 0) return GS_OK;
    const double best = gs_surrogate_us(&w->surrogate, &chosen, problem, t->profile);
    for (int i = 0; i < GROUP; i++) {
        gs_outcome *const o = &trial->outcomes[i];
        o->schedule = gs_actor_say(&w->actor, &trial->space, &t->random, &o->log_probability);
        o->reward = log(best / gs_surrogate_us(&w->surrogate, &o->schedule, problem, t->profile));
        sum += o->reward;
    }
    trial->share = exp(sum / GROUP);
    return GS_OK;
}

static gs_status learn_together(train *t, const attempt *trials, int count, gs_error *error)
{
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < count; i++)
            if (trials[i].share > 0) gs_actor_learn(&t->weights->actor, &trials[i].space, trials[i].outcomes, GROUP, &gs_usual_lesson, t->gradient);
        for (int i = 0; i < t->weights->actor.net.count; i++) t->gradient[i] /= TOGETHER;
        if (!gs_adam_step(&t->adam, &t->weights->actor.net, t->gradient, STEEPEST)) return gs_net_diverged("actor", error);
    }
    return GS_OK;
}

static gs_status try_together(train *t, attempt trials[TOGETHER], int count, double most_us, double *share, gs_error *error)
{
    gs_status status = GS_OK;
    memset(trials, 0, TOGETHER * sizeof *trials);
    for (int i = 0; status == GS_OK && i < count; i++) {
        const gs_problem problem = some_problem(t, i, most_us);
        status = try_problem(t, &trials[i], &problem, error);
        *share += trials[i].share;
    }
    if (status == GS_OK) status = learn_together(t, trials, count, error);
    for (int i = 0; i < count; i++) gs_space_free(&trials[i].space);
    return status;
}

static gs_status try_problems(train *t, gs_error *error)
{
    attempt *const trials = malloc(TOGETHER * sizeof *trials);
    gs_status status = trials ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for trials");
    double share = 0;
    for (int done = 0, told = 0; status == GS_OK && done < t->options->problems && !t->ended;) {
        const int count = GS_MIN(TOGETHER, t->options->problems - done);
        const double gone = (double)done / t->options->problems;
        t->adam.rate = ACTOR_RATE * (float)pow(0.1, gone);
        status = try_together(t, trials, count, largest_us(gone), &share, error);
        done += count;
        if (status != GS_OK || (done % TELL != 0 && done < t->options->problems)) continue;
        tell(t, GS_TRAIN_ACTOR, done, t->options->problems, share / (done - told));
        told = done;
        share = 0;
    }
    free(trials);
    return status;
}

/* Where groups begin that a tuner could have measured. */
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
    gs_measured measured[TIMES];
    const int end = gs_sample_group_end(t->samples, t->count, begin);
    const int from = begin + (end - begin > TIMES ? (int)gs_random_below(random, (uint64_t)(end - begin - TIMES)) : 0);
    int count = 0;
    for (int i = from; i < end && count < TIMES; i++)
        if (!t->samples[i].library) measured[count++] = (gs_measured){t->samples[i].schedule, t->samples[i].us};
    return gs_learner_step(learner, t->weights, &t->samples[begin].problem, &t->profile->caps, measured, count, error);
}

/* As a tuner learns, problem by problem. */
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
        gs_adam_free(&t.adam);   /* its moments are those of other gradients: steps by them would undo what was learned */
        if (status == GS_OK) status = gs_adam_create(&t.adam, &weights->actor.net, ACTOR_RATE, error);
    }
    if (status == GS_OK) status = try_problems(&t, error);
    if (status == GS_OK) status = take_steps(&t, error);
    gs_adam_free(&t.adam);
    free(t.gradient);
    return status;
}

/* SPDX-License-Identifier: MIT
 * What the weights say without a list of what is valid, what they choose, how what was measured corrects them, and what a step of learning
 * while a problem is tuned does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/residual.h"
#include "train/train.h"
#include "networks.h"

#define PROBLEM "f16:1024x1024x1024:tn"

static double surrogate_us(const gs_weights *weights, const gs_schedule *schedule, const gs_problem *problem)
{
    const gs_profile profile = gs_profile_of(h200());
    return gs_surrogate_us(&weights->surrogate, schedule, problem, &profile);
}

/* ---- some outputs ---- */

static void some_outputs_are_the_same(void **state)
{
    (void)state;
    enum { IN = 7, OUT = 13 };
    static const int widths[] = {IN, 9, 6, OUT};
    gs_net net;
    assert_int_equal(gs_net_create(&net, 3, widths, 4, NULL), GS_OK);
    random_weights(&net, 5);
    float *const room = malloc((size_t)gs_net_room(&net) * sizeof *room);
    const float x[IN] = {0.3f, -0.7f, 0, 1.1f, 0.2f, 0, -0.4f};
    const gs_net_input inputs[] = {{0, x[0]}, {1, x[1]}, {3, x[3]}, {4, x[4]}, {6, x[6]}};   /* those that are not zero */
    float all[OUT];
    memcpy(all, gs_net_forward(&net, x, room), sizeof all);
    for (int begin = 0; begin < OUT; begin++)
        for (int end = begin; end <= OUT; end++)
            assert_memory_equal(gs_net_forward_inputs(&net, inputs, (int)GS_COUNT(inputs), room, begin, end), all + begin, (size_t)(end - begin) * sizeof *all);
    free(room);
    gs_net_free(&net);
}

/* ---- beams ---- */

static void families_add_up_to_one(void **state)
{
    (void)state;
    gs_weights weights;
    const gs_problem problem = problem_of(PROBLEM);
    double p[GS_FAMILIES], sum = 0;
    fresh(&weights);
    gs_actor_families(&weights.actor, &problem, h200(), p);
    for (int i = 0; i < GS_FAMILIES; i++) assert_true(fabs(p[i] - 1.0 / GS_FAMILIES) < 1e-9);
    random_weights(&weights.actor.net, 6);
    for (int i = 0; i < weights.actor.net.count; i++) weights.actor.net.weights[i] *= 8;   /* logits far apart */
    gs_actor_families(&weights.actor, &problem, h200(), p);
    for (int i = 0; i < GS_FAMILIES; i++) assert_true(p[i] >= 0 && p[i] <= 1);
    for (int i = 0; i < GS_FAMILIES; i++) sum += p[i];
    assert_true(fabs(sum - 1) < 1e-9);
    gs_weights_free(&weights);
}

/* The logarithm of how probable a schedule string is among all of its family, valid or not. */
static double unmasked(const gs_actor *actor, const gs_problem *problem, const gs_schedule *schedule)
{
    float x[GS_PROBLEM_FEATURES + GS_MOST_TOKENS] = {0};
    float *const room = malloc((size_t)gs_net_room(&actor->net) * sizeof *room);
    const gs_family_id family = (gs_family_id)schedule->family;
    double sum = 0;
    gs_problem_features(problem, h200(), x);
    x[GS_PROBLEM_FEATURES + gs_token_of(family, -1, 0)] = 1;
    for (int slot = 0; slot < gs_family_parameters(family); slot++) {
        const float *const logits = gs_net_forward(&actor->net, x, room) + gs_token_of(family, slot, 0);
        double all = 0;
        for (int word = 0; word < gs_family_parameter(family, slot)->count; word++) all += exp((double)logits[word]);
        sum += (double)logits[schedule->value[slot]] - log(all);
        x[GS_PROBLEM_FEATURES + gs_token_of(family, slot, schedule->value[slot])] = 1;
    }
    free(room);
    return sum;
}

static long sentences_of(gs_family_id family)
{
    long count = 1;
    for (int slot = 0; slot < gs_family_parameters(family); slot++) count *= gs_family_parameter(family, slot)->count;
    return count;
}

/* The family with fewest schedule strings, but not one. */
static gs_family_id small_family(void)
{
    int small = -1;
    for (int f = 0; f < GS_FAMILIES; f++)
        if (sentences_of((gs_family_id)f) > 1 && (small < 0 || sentences_of((gs_family_id)f) < sentences_of((gs_family_id)small))) small = f;
    return (gs_family_id)small;
}

typedef struct scored {
    gs_schedule schedule;
    double      log_probability;
} scored;

static int by_probability(const void *left, const void *right)
{
    const double a = ((const scored *)left)->log_probability, b = ((const scored *)right)->log_probability;
    return (a < b) - (a > b);
}

/* Against all schedule strings of a family. As long as no slot's prefixes are more than the beam is wide, it finds the most probable ones; weights that
 * make the first words certain see to that. */
static void a_beam_finds_the_most_probable(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    const gs_family_id family = small_family();
    const long count = sentences_of(family);
    gs_weights weights;
    gs_schedule list[GS_MOST_BEAM], few[GS_MOST_BEAM];
    fresh(&weights);
    random_weights(&weights.actor.net, 7);
    /* all but the last two slots: one word far ahead of the others */
    gs_net *const net = &weights.actor.net;
    float *const bias = net->weights + net->count - net->width[3];
    for (int slot = 0; slot < gs_family_parameters(family) - 2; slot++) bias[gs_token_of(family, slot, gs_family_parameter(family, slot)->count - 1)] += 200;
    scored *const all = malloc((size_t)count * sizeof *all);
    long n = 0;
    gs_schedule schedule = gs_schedule_first(family);
    do all[n++] = (scored){schedule, unmasked(&weights.actor, &problem, &schedule)};
    while (gs_schedule_next(&schedule));
    assert_int_equal(n, count);
    qsort(all, (size_t)count, sizeof *all, by_probability);
    const int got = gs_actor_beam(&weights.actor, &problem, h200(), family, GS_MOST_BEAM, list);
    assert_true(got > 1 && got <= GS_MOST_BEAM);
    for (int i = 0; i < got; i++) {
        if (!same(&list[i], &all[i].schedule)) fail_msg("%d: %g, not %g", i, unmasked(&weights.actor, &problem, &list[i]), all[i].log_probability);
        for (int j = 0; j < i; j++) assert_false(same(&list[i], &list[j]));
    }
    /* a narrower one has the first of them, and nothing is written behind what was asked for */
    memset(few, 0xee, sizeof few);
    assert_int_equal(gs_actor_beam(&weights.actor, &problem, h200(), family, 3, few), 3);
    assert_true(same(&few[0], &all[0].schedule));
    for (size_t i = 3 * sizeof *few; i < sizeof few; i++) assert_int_equal(((const unsigned char *)few)[i], 0xee);
    assert_int_equal(gs_actor_beam(&weights.actor, &problem, h200(), family, 0, few), 0);
    assert_int_equal(gs_actor_beam(&weights.actor, &problem, h200(), family, 1000, list), got);
    free(all);
    gs_weights_free(&weights);
}

/* Whatever the family: in order of their probability, each once, words of the grammar. */
static void beams_are_in_order(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("bf16:257x520x4096:nn");
    gs_weights weights;
    gs_schedule list[GS_MOST_BEAM];
    fresh(&weights);
    random_weights(&weights.actor.net, 8);
    for (int f = 0; f < GS_FAMILIES; f++) {
        const int count = gs_actor_beam(&weights.actor, &problem, h200(), (gs_family_id)f, GS_MOST_BEAM, list);
        assert_int_equal(count, GS_MIN(sentences_of((gs_family_id)f), GS_MOST_BEAM));
        for (int i = 0; i < count; i++) {
            assert_int_equal(list[i].family, f);
            for (int slot = 0; slot < gs_family_parameters((gs_family_id)f); slot++) assert_true(list[i].value[slot] < gs_family_parameter((gs_family_id)f, slot)->count);
            if (i > 0) assert_true(unmasked(&weights.actor, &problem, &list[i]) <= unmasked(&weights.actor, &problem, &list[i - 1]) + 1e-6);
            for (int j = 0; j < i; j++) assert_false(same(&list[i], &list[j]));
        }
    }
    gs_weights_free(&weights);
}

/* ---- what the weights choose ---- */

enum { ROOM = 64 };

static void expect_chosen(const gs_weights *weights, const gs_problem *problem, uint32_t families, const gs_schedule *list, int count, int most)
{
    assert_true(count <= most);
    for (int i = 0; i < count; i++) {
        assert_int_equal(gs_schedule_check(&list[i], problem, h200(), NULL), GS_OK);
        assert_true(families == 0 || families >> list[i].family & 1);
        if (i > 0) assert_true(surrogate_us(weights, &list[i - 1], problem) <= surrogate_us(weights, &list[i], problem));
        for (int j = 0; j < i; j++) assert_false(same(&list[i], &list[j]));
    }
}

static void imitate(gs_weights *weights, const gs_problem *problem, const gs_schedule *shown, int steps)
{
    gs_adam adam;
    assert_int_equal(gs_adam_create(&adam, &weights->actor.net, 3e-3f, NULL), GS_OK);
    float *const gradient = calloc((size_t)weights->actor.net.count, sizeof *gradient);
    for (int i = 0; i < steps; i++) {
        gs_actor_imitate(&weights->actor, problem, h200(), shown, 1, gradient);
        gs_adam_step(&adam, &weights->actor.net, gradient, 1);
    }
    free(gradient);
    gs_adam_free(&adam);
}

static void what_is_chosen_is_valid_and_in_order(void **state)
{
    (void)state;
    static const char *const problems[] = {PROBLEM, "bf16:257x520x4096:tn", "f16:16x8192x128:nn", "f16:512x512x64:tn:acc=f16", "f16:1x1x1:tn"};
    static const uint32_t families[] = {0, 1u << GS_FAMILY_MMA, 1u << GS_FAMILY_WS | 1u << GS_FAMILY_SIMPLE};
    static const int most[] = {1, 3, 16, ROOM};
    gs_schedule list[ROOM + 1];
    for (uint64_t seed = 0; seed < 3; seed++) {
        gs_weights weights;
        fresh(&weights);
        if (seed > 0) random_weights(&weights.actor.net, seed);
        if (seed > 1) random_weights(&weights.surrogate.net[0], seed);
        for (size_t i = 0; i < GS_COUNT(problems) * GS_COUNT(families) * GS_COUNT(most); i++) {
            const gs_problem problem = problem_of(problems[i % GS_COUNT(problems)]);
            const uint32_t only = families[i / GS_COUNT(problems) % GS_COUNT(families)];
            const int asked = most[i / GS_COUNT(problems) / GS_COUNT(families)];
            gs_schedule one;
            memset(list, 0xee, sizeof list);
            const int count = gs_weights_choose(&weights, &problem, h200(), only, list, asked);
            assert_int_equal(count > 0, gs_schedule_shortlist(&problem, h200(), only, &one, 1) > 0);
            expect_chosen(&weights, &problem, only, list, count, asked);
            for (size_t byte = (size_t)asked * sizeof *list; byte < sizeof list; byte++) assert_int_equal(((const unsigned char *)list)[byte], 0xee);
        }
        const gs_problem problem = problem_of(PROBLEM);
        assert_int_equal(gs_weights_choose(&weights, &problem, h200(), 0, list, 0), 0);
        gs_weights_free(&weights);
    }
}

/* What the actor is sure of is what the descent begins with. */
static void choosing_follows_the_actor(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    const gs_schedule shown = schedule_of("splitk/64x128x64/s8/ab/c1x1/k1/fixed");
    gs_weights weights;
    gs_schedule list[16];
    fresh(&weights);
    imitate(&weights, &problem, &shown, 150);
    assert_int_equal(gs_schedule_check(&shown, &problem, h200(), NULL), GS_OK);
    const int count = gs_weights_choose(&weights, &problem, h200(), 0, list, 16);
    expect_chosen(&weights, &problem, 0, list, count, 16);
    assert_int_equal(list[0].family, GS_FAMILY_SPLITK);
    assert_true(surrogate_us(&weights, &list[0], &problem) <= surrogate_us(&weights, &shown, &problem));
    gs_weights_free(&weights);
}

/* The actor's beam in ws holds nothing that can run: the list is what the surrogate finds fastest from its shortlist on. */
static void nothing_valid_in_the_beam_is_the_shortlist(void **state)
{
    (void)state;
    enum { FEW = 8 };
    const gs_problem problem = problem_of(PROBLEM);
    const uint32_t ws = 1u << GS_FAMILY_WS;
    gs_schedule list[FEW], shortlist[FEW], invalid = gs_schedule_first(GS_FAMILY_WS);
    gs_weights weights;
    fresh(&weights);
    random_weights(&weights.surrogate.net[0], 12);
    gs_net *const net = &weights.actor.net;
    float *const bias = net->weights + net->count - net->width[3];
    /* the first two words of schedule strings of which none is valid */
    bool none = false;
    for (int tile = 0; tile < gs_family_parameter(GS_FAMILY_WS, 0)->count && !none; tile++)
        for (int stages = 0; stages < gs_family_parameter(GS_FAMILY_WS, 1)->count && !none; stages++) {
            gs_schedule schedule = gs_schedule_first(GS_FAMILY_WS);
            none = true;
            do
                if (schedule.value[0] == tile && schedule.value[1] == stages && gs_schedule_check(&schedule, &problem, h200(), NULL) == GS_OK) none = false;
            while (none && gs_schedule_next(&schedule));
            invalid.value[0] = (uint8_t)tile, invalid.value[1] = (uint8_t)stages;
        }
    assert_true(none);
    for (int slot = 0; slot < 2; slot++) bias[gs_token_of(GS_FAMILY_WS, slot, invalid.value[slot])] += 100;
    const int count = gs_weights_choose(&weights, &problem, h200(), ws, list, FEW);
    assert_int_equal(count, gs_surrogate_shortlist(&weights.surrogate, &problem, h200(), ws, shortlist, FEW));
    expect_chosen(&weights, &problem, ws, list, count, FEW);
    for (int i = 0; i < count; i++) assert_true(surrogate_us(&weights, &list[i], &problem) <= surrogate_us(&weights, &shortlist[i], &problem));
    gs_weights_free(&weights);
}

/* Untrained weights whose surrogate likes one word of ws: it is reached word by word, whatever the beam began with. */
static void the_descent_reaches_what_the_surrogate_likes(void **state)
{
    (void)state;
    enum { FEW = 8 };
    const gs_problem problem = problem_of("f16:4096x4096x4096:tn");
    const gs_schedule shown = schedule_of("ws/128x128x64/s4/c1x1/coop/g8"), liked = schedule_of("ws/128x256x64/s3/c1x1/coop/g4");
    gs_weights weights;
    gs_schedule list[FEW];
    fresh(&weights);
    assert_int_equal(gs_schedule_check(&liked, &problem, h200(), NULL), GS_OK);
    imitate(&weights, &problem, &shown, 200);
    /* one hidden unit that a liked word switches on, through both layers, to an output that takes off half */
    gs_net *const net = &weights.surrogate.net[0];
    memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
    float *const second = net->weights + (net->width[0] + 1) * net->width[1], *const third = second + (net->width[1] + 1) * net->width[2];
    for (int slot = 0; slot < gs_family_parameters(GS_FAMILY_WS); slot++)
        net->weights[(GS_PROBLEM_FEATURES + GS_WORK_FEATURES + gs_token_of(GS_FAMILY_WS, slot, liked.value[slot])) * net->width[1]] = 1;
    second[0] = 1;
    third[0] = -3;
    const int count = gs_weights_choose(&weights, &problem, h200(), 1u << GS_FAMILY_WS, list, FEW);
    expect_chosen(&weights, &problem, 1u << GS_FAMILY_WS, list, count, FEW);
    if (!same(&list[0], &liked)) {
        char text[GS_SCHEDULE_TEXT];
        fail_msg("%s", gs_schedule_format(&list[0], text));
    }
    gs_weights_free(&weights);
}

static void choosing_is_quick(void **state)
{
    (void)state;
    gs_weights weights;
    gs_schedule list[16];
    const gs_problem problem = problem_of(PROBLEM);
    double best = INFINITY;
    fresh(&weights);
    random_weights(&weights.actor.net, 13);
    const gs_schedule shown = schedule_of("ws/128x128x64/s4/c1x1/coop/g8");
    imitate(&weights, &problem, &shown, 100);   /* so that the beam has something */
    for (int i = 0; i < 10; i++) {
        const int64_t began = gs_clock_ns();
        assert_true(gs_weights_choose(&weights, &problem, h200(), 0, list, 16) > 0);
        best = fmin(best, (double)(gs_clock_ns() - began) / 1e6);
    }
    print_message("a choice takes %.2f ms\n", best);
    assert_true(best < 200);   /* also with sanitizers: fifty times what it takes without */
    gs_weights_free(&weights);
}

/* ---- what is not finite ---- */

static void learning_refuses_what_is_not_finite(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    const gs_measured measured[] = {{schedule_of("ws/128x128x64/s4/c1x1/coop/g8"), 12}, {schedule_of("ws/128x128x64/s3/c1x1/coop/g8"), 13}};
    gs_weights weights;
    gs_learner learner;
    gs_error error = {0};
    fresh(&weights);
    gs_net *const net = &weights.actor.net;
    const size_t bytes = (size_t)net->count * sizeof *net->weights;
    for (int i = 0; i < net->count; i++) net->weights[i] = 3e38f;   /* finite, but their products are not */
    float *const before = malloc(bytes);
    memcpy(before, net->weights, bytes);
    assert_int_equal(gs_learner_create(&learner, &weights, NULL), GS_OK);
    for (int i = 0; i < 2; i++) {   /* nothing of it stays in the gradient: the second time is as the first */
        assert_int_equal(gs_learner_step(&learner, &weights, &problem, h200(), measured, 2, &error), GS_ERROR_CORRUPT);
        assert_non_null(strstr(error.text, "actor"));
        assert_memory_equal(before, net->weights, bytes);
        assert_true(gs_net_finite(&weights.surrogate.net[0]));
    }
    memset(net->weights, 0, bytes);
    memset(learner.actor.began, 0, bytes);
    assert_int_equal(gs_learner_step(&learner, &weights, &problem, h200(), measured, 2, &error), GS_OK);
    gs_learner_free(&learner);
    gs_weights_free(&weights);
    free(before);
}

/* An actor that is sure of one family gave ratios of nothing to nothing, once: now it learns of the others. */
static void a_sure_actor_learns_of_other_families(void **state)
{
    (void)state;
    enum { STEPS = 200 };
    const gs_problem problem = problem_of(PROBLEM);
    const gs_measured measured[] = {{schedule_of("ws/128x128x64/s4/c1x1/coop/g8"), 12}, {schedule_of("ws/128x128x64/s3/c1x1/coop/g8"), 13}};
    gs_weights weights;
    gs_learner learner;
    double p[GS_FAMILIES];
    fresh(&weights);
    gs_net *const net = &weights.actor.net;
    net->weights[net->count - net->width[3] + gs_token_of(GS_FAMILY_SIMPLE, -1, 0)] = 1e4f;
    gs_actor_families(&weights.actor, &problem, h200(), p);
    assert_int_equal(gs_learner_create(&learner, &weights, NULL), GS_OK);
    for (int i = 0; i < STEPS; i++) assert_int_equal(gs_learner_step(&learner, &weights, &problem, h200(), measured, 2, NULL), GS_OK);
    assert_true(gs_net_finite(net));
    const float *const bias = net->weights + net->count - net->width[3], *const began = learner.actor.began + net->count - net->width[3];
    assert_true(bias[gs_token_of(GS_FAMILY_WS, -1, 0)] > began[gs_token_of(GS_FAMILY_WS, -1, 0)]);
    assert_true(p[GS_FAMILY_SIMPLE] > 0.999);
    gs_learner_free(&learner);
    gs_weights_free(&weights);
}

static void training_refuses_what_is_not_finite(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    const gs_sample samples[] = {{problem, schedule_of("ws/128x128x64/s4/c1x1/coop/g8"), 12, 1}, {problem, schedule_of("ws/128x128x64/s3/c1x1/coop/g8"), 13, 1}};
    const gs_profile profile = gs_profile_of(h200());
    const gs_train_options measured = {.epochs = 1, .seed = 1}, tried = {.problems = 4, .seed = 1};
    gs_error error = {0};
    for (int i = 0; i < 3; i++) {
        gs_weights weights;
        fresh(&weights);
        (i == 0 ? &weights.surrogate.net[0] : &weights.actor.net)->weights[0] = 3e38f;   /* finite, but their products are not */
        for (int j = 0; j < weights.actor.net.count && i > 0; j++) weights.actor.net.weights[j] = 3e38f;
        for (int j = 0; j < weights.surrogate.net[0].count && i == 0; j++) weights.surrogate.net[0].weights[j] = 3e38f;
        assert_int_equal(gs_train(&weights, samples, i < 2 ? 2 : 0, &profile, i < 2 ? &measured : &tried, &error), GS_ERROR_CORRUPT);
        assert_non_null(strstr(error.text, i == 0 ? "surrogate" : "actor"));
        gs_weights_free(&weights);
    }
}

typedef struct told_share {
    int    times;
    double value;
} told_share;

static bool note_share(void *self, gs_train_stage stage, int done, int total, double value)
{
    told_share *const s = self;
    (void)done;
    (void)total;
    if (stage == GS_TRAIN_DISTILL) s->times++, s->value = value;
    return true;
}

/* What an actor that knows little proposes is some schedule, and seldom the surrogate's own choice. */
static void distilling_tells_what_the_actor_is_worth(void **state)
{
    (void)state;
    const gs_profile profile = gs_profile_of(h200());
    gs_weights weights;
    gs_error error = {0};
    told_share told = {0};
    const gs_train_options tried = {.problems = 8, .seed = 1, .progress = note_share, .self = &told};
    fresh(&weights);
    assert_int_equal(gs_train(&weights, NULL, 0, &profile, &tried, &error), GS_OK);
    gs_weights_free(&weights);
    assert_true(told.times > 0);
    if (!(told.value > 0.01 && told.value < 0.98)) fail_msg("the actor reaches %g of the surrogate's choice", told.value);
}

/* Without passes nothing is imitated; steps then move both networks, the same for the same seed, and are told. */
static bool count_steps(void *self, gs_train_stage stage, int done, int total, double value)
{
    int *const told = self;
    (void)value;
    if (stage != GS_TRAIN_STEPS) return true;
    assert_int_equal(total, 40);
    assert_int_equal(done, 40);
    ++*told;
    return true;
}

static void steps_come_last(void **state)
{
    (void)state;
    enum { N = 6 };
    const gs_problem problem = problem_of(PROBLEM);
    const gs_profile profile = gs_profile_of(h200());
    gs_schedule list[N];
    gs_sample samples[N];
    gs_weights a, b, untouched;
    int told = 0;
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, list, N), N);
    for (int i = 0; i < N; i++) samples[i] = (gs_sample){problem, list[i], 10.0 - i, 1};
    gs_train_options how = {.epochs = 0, .steps = 0, .seed = 3, .progress = count_steps, .self = &told};
    fresh(&a);
    fresh(&b);
    fresh(&untouched);
    assert_int_equal(gs_train(&a, samples, N, &profile, &how, NULL), GS_OK);
    assert_memory_equal(a.actor.net.weights, untouched.actor.net.weights, (size_t)a.actor.net.count * sizeof(float));
    how.steps = 40;
    assert_int_equal(gs_train(&a, samples, 3, &profile, &how, NULL), GS_OK);   /* a group that no tuner would have measured */
    assert_memory_equal(a.actor.net.weights, untouched.actor.net.weights, (size_t)a.actor.net.count * sizeof(float));
    assert_int_equal(told, 0);
    assert_int_equal(gs_train(&a, samples, N, &profile, &how, NULL), GS_OK);
    assert_int_equal(gs_train(&b, samples, N, &profile, &how, NULL), GS_OK);
    assert_int_equal(told, 2);
    assert_memory_equal(a.actor.net.weights, b.actor.net.weights, (size_t)a.actor.net.count * sizeof(float));
    assert_memory_equal(a.surrogate.net[0].weights, b.surrogate.net[0].weights, (size_t)a.surrogate.net[0].count * sizeof(float));
    assert_true(memcmp(a.actor.net.weights, untouched.actor.net.weights, (size_t)a.actor.net.count * sizeof(float)) != 0);
    assert_true(surrogate_us(&a, &list[N - 1], &problem) / surrogate_us(&a, &list[0], &problem) <
                surrogate_us(&untouched, &list[N - 1], &problem) / surrogate_us(&untouched, &list[0], &problem));
    gs_weights_free(&a);
    gs_weights_free(&b);
    gs_weights_free(&untouched);
}

/* ---- residuals ---- */

static double distance(const gs_schedule *a, const gs_schedule *b)
{
    int changed = 0;
    if (a->family != b->family) return 0.09;
    for (int slot = 0; slot < GS_MAX_PARAMETERS; slot++) changed += a->value[slot] != b->value[slot];
    return 0.09 + 0.01 + 0.0036 * exp(-changed / 2.0);
}

/* Solves a x = b by elimination; n <= 8. */
static void solve(int n, double a[8][8], double *b, double *x)
{
    for (int i = 0; i < n; i++)
        for (int row = i + 1; row < n; row++) {
            const double factor = a[row][i] / a[i][i];
            for (int column = i; column < n; column++) a[row][column] -= factor * a[i][column];
            b[row] -= factor * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        x[i] = b[i];
        for (int j = i + 1; j < n; j++) x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
}

static void residuals_are_what_the_matrix_says(void **state)
{
    (void)state;
    enum { N = 6 };
    static const char *const texts[N] = {"ws/128x128x64/s4/c1x1/coop/g8", "ws/128x128x64/s3/c1x1/coop/g8", "ws/128x256x64/s3/c1x1/coop/g4",
                                         "splitk/64x128x64/s8/ab/c1x1/k1/fixed", "simple", "ws/128x128x64/s4/c1x1/coop/g1"};
    const double said[N] = {0.2, 0.21, -0.1, 0.5, -0.3, 0.17};
    gs_schedule schedules[N], others[3] = {schedule_of("ws/128x128x64/s2/c1x1/coop/g8"), schedule_of("simple"), gs_schedule_first(GS_FAMILY_MMA)};
    gs_residual residual;
    for (int i = 0; i < N; i++) schedules[i] = schedule_of(texts[i]);
    gs_residual_fit(&residual, schedules, said, N);
    for (int t = 0; t < 3 + N; t++) {
        const gs_schedule *const at = t < 3 ? &others[t] : &schedules[t - 3];
        double a[8][8], b[8], k[N], x[8], mean = 0, variance = distance(at, at), deviation;
        for (int turn = 0; turn < 2; turn++) {   /* the mean, and what is known of it */
            for (int i = 0; i < N; i++) {
                k[i] = distance(at, &schedules[i]);
                b[i] = turn ? k[i] : said[i];
                for (int j = 0; j < N; j++) a[i][j] = distance(&schedules[i], &schedules[j]) + (i == j ? 1e-4 : 0);
            }
            solve(N, a, b, x);
            for (int i = 0; i < N; i++) *(turn ? &variance : &mean) += (turn ? -1 : 1) * k[i] * x[i];
        }
        const double got = gs_residual_at(&residual, at, &deviation);
        if (fabs(got - mean) > 1e-9 || fabs(deviation - sqrt(variance)) > 1e-9) fail_msg("%d: %g +- %g, not %g +- %g", t, got, deviation, mean, sqrt(variance));
        if (t >= 3) assert_true(fabs(got - said[t - 3]) < 0.03 && deviation < 0.011);
    }
}

static void residuals_carry_over(void **state)
{
    (void)state;
    const gs_schedule told = schedule_of("ws/128x128x64/s4/c1x1/coop/g8"), near = schedule_of("ws/128x128x64/s3/c1x1/coop/g8"),
                      far = schedule_of("ws/128x256x64/s3/c2x1/pp/g1"), other = schedule_of("simple");
    const double said = 0.4;
    gs_residual residual;
    double full, at_told, at_near, at_far, at_other;
    gs_residual_fit(&residual, NULL, NULL, 0);
    assert_true(gs_residual_at(&residual, &told, &full) == 0);
    assert_true(fabs(full - sqrt(0.09 + 0.01 + 0.0036)) < 1e-12);
    gs_residual_fit(&residual, &told, &said, 1);
    const double means[] = {gs_residual_at(&residual, &told, &at_told), gs_residual_at(&residual, &near, &at_near), gs_residual_at(&residual, &far, &at_far),
                            gs_residual_at(&residual, &other, &at_other)};
    assert_true(fabs(means[0] - said) < 0.001);
    for (int i = 1; i < 4; i++) assert_true(means[i] < means[i - 1] && means[i] > 0);
    assert_true(at_told < at_near && at_near < at_far && at_far < at_other && at_other < full);

    /* three of a family that agree say it of the family, beside three of another one that say the opposite */
    const gs_schedule both[] = {told, near, far, schedule_of("splitk/64x128x64/s8/ab/c1x1/k1/fixed"), schedule_of("splitk/64x128x64/s4/ab/c1x1/k1/fixed"),
                                schedule_of("splitk/64x256x64/s4/ab/c1x1/k1/fixed")};
    const double apart[] = {0.2, 0.2, 0.2, -0.2, -0.2, -0.2};
    const gs_schedule ws = schedule_of("ws/128x128x64/s2/c1x1/coop/g1"), splitk = schedule_of("splitk/64x64x64/s4/ab/c1x1/k1/fixed");
    gs_residual_fit(&residual, both, apart, 6);
    assert_true(gs_residual_at(&residual, &ws, &full) > 0.1 && gs_residual_at(&residual, &splitk, &full) < -0.1);
    assert_true(fabs(gs_residual_at(&residual, &other, &full)) < 0.02);
}

static void residuals_may_be_many(void **state)
{
    (void)state;
    enum { MUCH = GS_MOST_RESIDUALS + 40 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule list[MUCH];
    double said[MUCH], deviation;
    gs_residual *const residual = malloc(sizeof *residual);
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, list, MUCH / 2), MUCH / 2);
    for (int i = 0; i < MUCH; i++) {
        if (i >= MUCH / 2) list[i] = list[i - MUCH / 2];   /* told twice: the mean of both */
        said[i] = i % 7 * 0.05 - (i >= MUCH / 2 ? 0.01 : 0);
    }
    gs_residual_fit(residual, list, said, MUCH);
    assert_int_equal(residual->count, GS_MOST_RESIDUALS);
    for (int i = 0; i < MUCH / 2; i++) {
        const double at = gs_residual_at(residual, &list[i], &deviation);
        assert_true(isfinite(at) && deviation >= 0 && deviation < 0.05);
    }
    free(residual);
}

/* ---- a step of learning ---- */

static void learn_steps(gs_weights *weights, const gs_problem *problem, const gs_measured *measured, int count, int steps)
{
    gs_learner learner;
    assert_int_equal(gs_learner_create(&learner, weights, NULL), GS_OK);
    for (int i = 0; i < steps; i++) assert_int_equal(gs_learner_step(&learner, weights, problem, h200(), measured, count, NULL), GS_OK);
    gs_learner_free(&learner);
}

static void a_step_moves_towards_what_was_measured(void **state)
{
    (void)state;
    enum { N = 6, STEPS = 40 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_weights weights;
    gs_schedule list[N];
    gs_measured measured[N];
    fresh(&weights);
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, list, N), N);
    for (int i = 0; i < N; i++)   /* the time model's order, the other way round */
        measured[i] = (gs_measured){list[i], 10.0 - i};
    double apart[2], probable[2];
    for (int turn = 0; turn < 2; turn++) {
        apart[turn] = log(surrogate_us(&weights, &list[N - 1], &problem) / surrogate_us(&weights, &list[0], &problem));
        probable[turn] = gs_actor_log_probability(&weights.actor, &problem, h200(), &list[N - 1]);
        if (turn == 0) learn_steps(&weights, &problem, measured, N, STEPS);
    }
    if (!(apart[1] < apart[0] - 0.001)) fail_msg("%g, after it %g", apart[0], apart[1]);
    assert_true(probable[1] > probable[0] + 0.05);
    gs_weights_free(&weights);
}

static bool equal(const gs_weights *a, const gs_weights *b, bool actor)
{
    const gs_net *const left = actor ? &a->actor.net : &a->surrogate.net[0], *const right = actor ? &b->actor.net : &b->surrogate.net[0];
    return memcmp(left->weights, right->weights, (size_t)left->count * sizeof *left->weights) == 0;
}

/* What cannot be learned from changes nothing, beside what can be and alone. */
static void what_is_no_measurement_is_harmless(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule list[2], invalid = gs_schedule_first(GS_FAMILY_WS), nonsense;
    gs_weights a, b, untouched;
    memset(&nonsense, 0xff, sizeof nonsense);
    while (gs_schedule_check(&invalid, &problem, h200(), NULL) == GS_OK) assert_true(gs_schedule_next(&invalid));
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, list, 2), 2);
    const gs_measured good[] = {{list[0], 5}, {list[1], 6}},
                      mixed[] = {{invalid, 3}, {list[0], 5}, {nonsense, 4}, {list[1], 6}, {invalid, 0}},
                      bad[] = {{invalid, 3}, {nonsense, 4}, {list[0], 0}},
                      alone[] = {{list[0], 5}},
                      untimed[] = {{list[0], 0}, {list[1], 0}},
                      endless[] = {{list[0], INFINITY}, {list[1], NAN}};
    fresh(&a);
    fresh(&b);
    fresh(&untouched);
    learn_steps(&a, &problem, good, 2, 2);
    learn_steps(&b, &problem, mixed, 5, 2);
    for (int actor = 0; actor < 2; actor++) assert_true(equal(&a, &b, actor) && !equal(&a, &untouched, actor));
    gs_weights_free(&b);
    fresh(&b);
    learn_steps(&b, &problem, bad, 3, 2);
    learn_steps(&b, &problem, alone, 1, 2);
    learn_steps(&b, &problem, NULL, 0, 2);
    learn_steps(&b, &problem, untimed, 2, 1);
    learn_steps(&b, &problem, endless, 2, 1);
    for (int actor = 0; actor < 2; actor++) assert_true(equal(&b, &untouched, actor));
    gs_weights_free(&a);
    gs_weights_free(&b);
    gs_weights_free(&untouched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_outputs_are_the_same),
        cmocka_unit_test(families_add_up_to_one),
        cmocka_unit_test(a_beam_finds_the_most_probable),
        cmocka_unit_test(beams_are_in_order),
        cmocka_unit_test(what_is_chosen_is_valid_and_in_order),
        cmocka_unit_test(choosing_follows_the_actor),
        cmocka_unit_test(nothing_valid_in_the_beam_is_the_shortlist),
        cmocka_unit_test(the_descent_reaches_what_the_surrogate_likes),
        cmocka_unit_test(choosing_is_quick),
        cmocka_unit_test(residuals_are_what_the_matrix_says),
        cmocka_unit_test(residuals_carry_over),
        cmocka_unit_test(residuals_may_be_many),
        cmocka_unit_test(learning_refuses_what_is_not_finite),
        cmocka_unit_test(a_sure_actor_learns_of_other_families),
        cmocka_unit_test(training_refuses_what_is_not_finite),
        cmocka_unit_test(distilling_tells_what_the_actor_is_worth),
        cmocka_unit_test(steps_come_last),
        cmocka_unit_test(a_step_moves_towards_what_was_measured),
        cmocka_unit_test(what_is_no_measurement_is_harmless),
    };
    return cmocka_run_group_tests_name("train/online", tests, NULL, NULL);
}

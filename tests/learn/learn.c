/* SPDX-License-Identifier: MIT
 * The networks and what is made of them: gradients against differences, schedule strings that are valid, and training that learns what was
 * planted. Files of weights: weights.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"
#include "networks.h"

/* ---- networks ---- */

enum { IN = 7, OUT = 3 };
static const int widths[] = {IN, 9, 6, OUT};

/* Of one row; a sum of the outputs with weights that are not the same. */
static double value_of_net(const gs_net *net, const float *x, float *room)
{
    const float *const y = gs_net_forward(net, x, room);
    double sum = 0;
    for (int i = 0; i < OUT; i++) sum += (i + 1) * (double)y[i];
    return sum;
}

static void gradients_are_differences(void **state)
{
    (void)state;
    gs_net net;
    assert_int_equal(gs_net_create(&net, 3, widths, 4, NULL), GS_OK);
    assert_int_equal(net.count, 8 * 9 + 10 * 6 + 7 * 3);
    random_weights(&net, 5);
    float *const room = malloc((size_t)gs_net_room(&net) * sizeof *room), *const gradient = calloc((size_t)net.count, sizeof *gradient);
    const float x[IN] = {0.3f, -0.7f, 0, 1.1f, 0.2f, 0, -0.4f};
    float d_out[OUT] = {1, 2, 3};
    value_of_net(&net, x, room);
    gs_net_backward(&net, x, room, d_out, gradient);
    int alive = 0;
    for (int i = 0; i < net.count; i++) {
        const float step = 1e-3f, kept = net.weights[i];
        net.weights[i] = kept + step;
        const double more = value_of_net(&net, x, room);
        net.weights[i] = kept - step;
        const double less = value_of_net(&net, x, room);
        net.weights[i] = kept;
        const double expected = (more - less) / (2 * (double)step);
        if (fabs(expected - (double)gradient[i]) > 2e-3 * (1 + fabs(expected))) fail_msg("weight %d: %g, the difference says %g", i, (double)gradient[i], expected);
        alive += fabs(expected) > 1e-3;
    }
    assert_true(alive > net.count / 3);
    free(room);
    free(gradient);
    gs_net_free(&net);
}

static void networks_are_the_same_for_a_seed(void **state)
{
    (void)state;
    gs_net a, b, c;
    assert_int_equal(gs_net_create(&a, 3, widths, 4, NULL), GS_OK);
    assert_int_equal(gs_net_create(&b, 3, widths, 4, NULL), GS_OK);
    assert_int_equal(gs_net_create(&c, 3, widths, 5, NULL), GS_OK);
    assert_memory_equal(a.weights, b.weights, (size_t)a.count * sizeof *a.weights);
    assert_true(memcmp(a.weights, c.weights, (size_t)a.count * sizeof *a.weights) != 0);
    float *const room = malloc((size_t)gs_net_room(&a) * sizeof *room);
    const float x[IN] = {1, 2, 3, 4, 5, 6, 7};
    assert_true(value_of_net(&a, x, room) == 0);   /* untrained */
    free(room);
    gs_net_free(&a);
    gs_net_free(&b);
    gs_net_free(&c);
}

/* Fits a line; the gradient is cleared by each step, and its norm limited. */
static void adam_goes_down(void **state)
{
    (void)state;
    gs_net net;
    gs_adam adam;
    const int line[] = {2, 1};
    assert_int_equal(gs_net_create(&net, 1, line, 4, NULL), GS_OK);
    assert_int_equal(gs_adam_create(&adam, &net, 0.02f, NULL), GS_OK);
    float room[2], gradient[3] = {0};
    gs_random random = {9};
    for (int i = 0; i < 3000; i++) {
        const float x[2] = {(float)gs_random_unit(&random), (float)gs_random_unit(&random)};
        float d_out = 2 * (*gs_net_forward(&net, x, room) - (3 * x[0] - 2 * x[1] + 0.5f));
        gs_net_backward(&net, x, room, &d_out, gradient);
        gs_adam_step(&adam, &net, gradient, 1);
        for (int j = 0; j < 3; j++) assert_true(gradient[j] == 0);
    }
    assert_true(fabsf(net.weights[0] - 3) < 0.05f && fabsf(net.weights[1] + 2) < 0.05f && fabsf(net.weights[2] - 0.5f) < 0.05f);
    gs_adam_free(&adam);
    gs_net_free(&net);
}

static void networks_have_a_widest_layer(void **state)
{
    (void)state;
    gs_net net;
    gs_error error;
    static const int too_wide[][3] = {{GS_NET_WIDEST + 1, 4, 1}, {4, GS_NET_WIDEST + 1, 1}, {4, 0, 1}};
    for (size_t i = 0; i < GS_COUNT(too_wide); i++) assert_int_equal(gs_net_create(&net, 2, too_wide[i], 1, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_net_create(&net, 2, (const int[]){GS_NET_WIDEST, 33, 1}, 1, &error), GS_OK);
    gs_net_free(&net);
}

/* ---- tokens ---- */

static void tokens_have_names_of_their_own(void **state)
{
    (void)state;
    const int count = gs_token_count();
    assert_true(count > 300 && count <= GS_MOST_TOKENS);
    char (*const names)[96] = malloc((size_t)count * sizeof *names);
    for (int i = 0; i < count; i++) {
        gs_token_name(i, names[i]);
        assert_true(names[i][0] != '\0');
        for (int j = 0; j < i; j++) assert_string_not_equal(names[i], names[j]);
    }
    assert_string_equal(names[gs_token_of(GS_FAMILY_WS, -1, 0)], "ws");
    assert_string_equal(names[gs_token_of(GS_FAMILY_WS, 1, 0)], "ws/stages/s2");
    assert_string_equal(names[gs_token_of(GS_FAMILIES, -1, 0)], "cublaslt");
    char text[96];
    assert_string_equal(gs_token_name(count, text), "");
    free(names);
}

/* ---- the actor ---- */

static void a_space_is_all_that_is_valid(void **state)
{
    (void)state;
    gs_space space;
    space_of(&space, "f16:300x520x128:tn", 1u << GS_FAMILY_MMA | 1u << GS_FAMILY_SIMPLE);
    int valid = 0;
    for (int family = 0; family <= GS_FAMILY_MMA; family++) {
        gs_schedule schedule = gs_schedule_first((gs_family_id)family);
        do {
            const bool can = gs_schedule_check(&schedule, &space.problem, h200(), NULL) == GS_OK;
            valid += can;
            const int place = gs_space_find(&space, &schedule);
            assert_true(can ? place >= 0 && memcmp(&space.list[place], &schedule, sizeof schedule) == 0 : place < 0);
        } while (gs_schedule_next(&schedule));
    }
    assert_int_equal(space.count, valid);
    gs_space_free(&space);
}

/* Probabilities of all schedule strings of a family, valid or not, add up to how probable the family is, whatever the weights. */
static void probabilities_add_up(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("bf16:257x520x4096:tn");
    gs_weights weights;
    fresh(&weights);
    random_weights(&weights.actor.net, 6);
    double p[GS_FAMILIES], sum = 0;
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_GEMV);
    do sum += exp(gs_actor_log_probability(&weights.actor, &problem, h200(), &schedule));
    while (gs_schedule_next(&schedule));
    gs_actor_families(&weights.actor, &problem, h200(), p);
    assert_true(fabs(sum / p[GS_FAMILY_GEMV] - 1) < 1e-5);
    gs_weights_free(&weights);
}

static void imitation_goes_down_the_gradient(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:300x520x128:nn");
    const gs_schedule shown = schedule_of("splitk/64x128x64/s8/ab/c1x1/k1/fixed");
    const double weight = 0.7;
    gs_weights weights;
    fresh(&weights);
    gs_net *const net = &weights.actor.net;
    random_weights(net, 9);   /* none of those that are looked at turns a unit on or off within a step */
    float *const gradient = calloc((size_t)net->count, sizeof *gradient);
    gs_actor_imitate(&weights.actor, &problem, h200(), &shown, weight, gradient);
    int checked = 0;
    for (int i = 0; i < net->count && checked < 60; i += 11) {
        if (fabsf(gradient[i]) < 3e-2f) continue;
        const float step = 1e-3f, kept = net->weights[i];
        net->weights[i] = kept + step;
        const double more = gs_actor_log_probability(&weights.actor, &problem, h200(), &shown);
        net->weights[i] = kept - step;
        const double less = gs_actor_log_probability(&weights.actor, &problem, h200(), &shown);
        net->weights[i] = kept;
        const double expected = -weight * (more - less) / (2 * (double)step);
        if (fabs(expected - (double)gradient[i]) > 0.03 * fabs(expected) + 3e-3) fail_msg("weight %d: %g, the difference says %g", i, (double)gradient[i], expected);
        checked++;
    }
    assert_int_equal(checked, 60);
    free(gradient);
    gs_weights_free(&weights);
}

static void imitation_makes_a_schedule_likely(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:1024x1024x1024:tn");
    const gs_schedule shown = schedule_of("splitk/64x128x64/s8/ab/c1x1/k1/fixed");
    gs_weights weights;
    gs_adam adam;
    gs_schedule best;
    fresh(&weights);
    assert_int_equal(gs_adam_create(&adam, &weights.actor.net, 3e-3f, NULL), GS_OK);
    float *const gradient = calloc((size_t)weights.actor.net.count, sizeof *gradient);
    assert_true(gs_actor_log_probability(&weights.actor, &problem, h200(), &shown) < log(0.01));
    for (int i = 0; i < 120; i++) {
        gs_actor_imitate(&weights.actor, &problem, h200(), &shown, 1, gradient);
        gs_adam_step(&adam, &weights.actor.net, gradient, 1);
    }
    assert_true(gs_actor_log_probability(&weights.actor, &problem, h200(), &shown) > log(0.8));
    assert_int_equal(gs_actor_beam(&weights.actor, &problem, h200(), GS_FAMILY_SPLITK, 1, &best), 1);
    assert_memory_equal(&best, &shown, sizeof best);
    free(gradient);
    gs_adam_free(&adam);
    gs_weights_free(&weights);
}

/* ---- training ---- */

/* Times that the time model gets wrong in a way that can be learned: mma takes a third of what it says, and s2 of every family twice. */
static double planted_us(const gs_schedule *schedule, const gs_problem *problem)
{
    const bool shallow = strcmp(gs_family_parameter((gs_family_id)schedule->family, schedule->family == GS_FAMILY_MMA ? 2 : 1)->values
                                    [schedule->value[schedule->family == GS_FAMILY_MMA ? 2 : 1]].text, "s2") == 0;
    return gs_schedule_predict(schedule, problem, h200()) * (schedule->family == GS_FAMILY_MMA ? 0.33 : 1) * (shallow ? 2 : 1);
}

/* `groups` problems at random, twenty schedules of ws, splitk and mma each. */
static int planted_samples(gs_sample *samples, int groups, uint64_t seed)
{
    enum { EACH = 20 };
    gs_random random = {seed};
    int count = 0;
    for (int group = 0; group < groups; group++) {
        gs_problem problem = gs_train_problem(&random);
        problem.acc = GS_F32;
        gs_space space;
        assert_int_equal(gs_space_create(&space, &problem, h200(), 1u << GS_FAMILY_MMA | 1u << GS_FAMILY_WS | 1u << GS_FAMILY_SPLITK, NULL), GS_OK);
        for (int i = 0; i < EACH && space.count > 0; i++) {
            const gs_schedule schedule = space.list[gs_random_below(&random, (uint64_t)space.count)];
            samples[count++] = (gs_sample){problem, schedule, planted_us(&schedule, &problem), group, false};
        }
        gs_space_free(&space);
    }
    return count;
}

static bool count_calls(void *self, gs_train_stage stage, int done, int total, double value)
{
    int *const calls = self;
    assert_true(done >= 1 && done <= total && value >= 0);
    calls[stage]++;
    return true;
}

static void the_surrogate_learns_what_the_time_model_gets_wrong(void **state)
{
    (void)state;
    enum { GROUPS = 80, TESTS = 20, EPOCHS = 10 };
    const gs_profile *const profile = gs_profile_find("h200");
    gs_sample *const samples = malloc((GROUPS + TESTS) * 20 * sizeof *samples);
    const int count = planted_samples(samples, GROUPS, 41);
    gs_sample *const tests = samples + count;
    const int test_count = planted_samples(tests, TESTS, 42);
    gs_weights weights, again;
    int calls[3] = {0};
    const gs_train_options how = {.epochs = EPOCHS, .problems = 2, .seed = 5, .progress = count_calls, .self = calls};
    fresh(&weights);
    fresh(&again);
    const gs_worth before = gs_train_worth(&weights, tests, test_count, 8, GS_TRAIN_ALL, profile), model = gs_train_worth(NULL, tests, test_count, 8, GS_TRAIN_ALL, profile);
    assert_int_equal(gs_train(&weights, samples, count, profile, &how, NULL), GS_OK);
    assert_int_equal(calls[0], EPOCHS);
    assert_int_equal(calls[1], 2);
    assert_int_equal(calls[2], 1);
    const gs_worth after = gs_train_worth(&weights, tests, test_count, 8, GS_TRAIN_ALL, profile);
    assert_int_equal(after.groups, model.groups);
    assert_true(after.groups >= TESTS - 2);
    for (int i = 0; i < 4; i++) assert_true(before.at[i] == model.at[i]);   /* untrained: the time model's order */
    if (!(after.at[0] > 0.95 && after.at[0] > model.at[0] + 0.03)) fail_msg("best of 1: %g, the time model %g", after.at[0], model.at[0]);
    assert_true(after.at[0] <= after.at[1] && after.at[1] <= after.at[2] && after.at[2] <= after.at[3] && after.at[3] <= 1);

    /* the same again, bit by bit */
    assert_int_equal(gs_train(&again, samples, count, profile, &how, NULL), GS_OK);
    assert_memory_equal(again.surrogate.net[0].weights, weights.surrogate.net[0].weights, (size_t)weights.surrogate.net[0].count * sizeof(float));
    assert_memory_equal(again.actor.net.weights, weights.actor.net.weights, (size_t)weights.actor.net.count * sizeof(float));

    /* an ensemble: each of its networks learns, in another order, and a pass is told once */
    gs_weights several;
    const gs_train_options few = {.epochs = 4, .seed = 5, .progress = count_calls, .self = calls};
    assert_int_equal(gs_weights_create(&several, 2, 3, NULL), GS_OK);
    memset(calls, 0, sizeof calls);
    assert_int_equal(gs_train(&several, samples, count, profile, &few, NULL), GS_OK);
    assert_int_equal(calls[0], 4);
    const gs_worth mean = gs_train_worth(&several, tests, test_count, 8, GS_TRAIN_ALL, profile);
    if (!(mean.at[0] > model.at[0] + 0.03)) fail_msg("an ensemble's best of 1: %g, the time model %g", mean.at[0], model.at[0]);
    for (int i = 0; i < 2; i++) assert_true(several.surrogate.net[i].weights[several.surrogate.net[i].count - 1] != 0);   /* a bias that begins as 0 */
    assert_memory_not_equal(several.surrogate.net[0].weights, several.surrogate.net[1].weights, (size_t)several.surrogate.net[0].count * sizeof(float));
    gs_weights_free(&several);
    free(samples);
    gs_weights_free(&weights);
    gs_weights_free(&again);
}

/* cuBLASLt takes half of what the best schedule of a group takes where A and B lie one way, twice of it where they lie the other way. */
static void the_surrogate_learns_what_cublaslt_takes(void **state)
{
    (void)state;
    enum { GROUPS = 80, EACH = 20, EPOCHS = 25 };
    const gs_profile *const profile = gs_profile_find("h200");
    gs_sample *const own = malloc(GROUPS * EACH * sizeof *own), *const samples = malloc(GROUPS * (EACH + 1) * sizeof *samples);
    const int own_count = planted_samples(own, GROUPS, 43);
    int count = 0;
    for (int begin = 0, end; begin < own_count; begin = end) {
        end = gs_sample_group_end(own, own_count, begin);
        const double best = gs_sample_best(own + begin, end - begin);
        memcpy(samples + count, own + begin, (size_t)(end - begin) * sizeof *own);
        count += end - begin;
        samples[count++] = (gs_sample){.problem = own[begin].problem, .us = best * (own[begin].problem.layout == GS_TN ? 0.5 : 2), .group = own[begin].group, .library = true};
        assert_true(gs_sample_best(samples + count - 1, 1) == INFINITY);
        assert_true(gs_sample_best(samples + count - (end - begin) - 1, end - begin + 1) == best);
    }
    gs_weights weights;
    fresh(&weights);
    assert_true(gs_surrogate_library_us(&weights.surrogate, &own[0].problem, profile) == 0);   /* it knows nothing of it */
    const gs_train_options how = {.epochs = EPOCHS, .problems = 2, .seed = 5};
    assert_int_equal(gs_train(&weights, own, own_count, profile, &how, NULL), GS_OK);
    assert_true(gs_surrogate_library_us(&weights.surrogate, &own[0].problem, profile) == 0);
    assert_int_equal(gs_train(&weights, samples, count, profile, &how, NULL), GS_OK);
    int right = 0, groups = 0;
    for (int begin = 0, end; begin < own_count; begin = end, groups++) {
        end = gs_sample_group_end(own, own_count, begin);
        double best = INFINITY;
        for (int i = begin; i < end; i++) best = fmin(best, gs_surrogate_us(&weights.surrogate, &own[i].schedule, &own[i].problem, profile));
        right += (gs_surrogate_library_us(&weights.surrogate, &own[begin].problem, profile) < best) == (own[begin].problem.layout == GS_TN);
    }
    if (right < 0.8 * groups) fail_msg("right for %d of %d", right, groups);
    const gs_worth worth = gs_train_worth(&weights, samples, count, EACH, GS_TRAIN_ALL, profile), without = gs_train_worth(&weights, own, own_count, EACH, GS_TRAIN_ALL, profile);
    for (int i = 0; i < 4; i++) assert_true(fabs(worth.at[i] - without.at[i]) < 1e-12);   /* an order is one of schedules */
    assert_true(without.beside == 0 && worth.beside == worth.groups && worth.expected > 0.7 && worth.expected < 1.4 && worth.deviation < 1);
    for (int i = 0; i < count; i++)
        if (samples[i].library) samples[i].us *= 2;   /* it gains twice as much: half of that is expected */
    const gs_worth slower = gs_train_worth(&weights, samples, count, EACH, GS_TRAIN_ALL, profile);
    assert_true(fabs(slower.expected * 2 - worth.expected) < 1e-9 && fabs(slower.deviation - worth.deviation) < 1e-9);
    free(own);
    free(samples);
    gs_weights_free(&weights);
}

static bool stop_at_once(void *self, gs_train_stage stage, int done, int total, double value)
{
    (void)stage, (void)total, (void)value;
    assert_int_equal(done, 1);
    ++*(int *)self;
    return false;
}

static void training_ends_when_it_is_told_to(void **state)
{
    (void)state;
    enum { GROUPS = 3 };
    gs_sample samples[GROUPS * 20];
    gs_weights weights;
    int calls = 0;
    const gs_train_options how = {.epochs = 5, .problems = 100, .seed = 5, .progress = stop_at_once, .self = &calls};
    fresh(&weights);
    const int count = planted_samples(samples, GROUPS, 43);
    assert_true(count > 20);
    assert_int_equal(gs_train(&weights, samples, count, gs_profile_find("h200"), &how, NULL), GS_OK);
    assert_int_equal(calls, 1);
    gs_weights_free(&weights);
}

/* What the actor's beam is worth: predicted best of the shortlist over the best of the valid ones among the eight most probable of each family; 0.01: none is. */
static double mean_share(const gs_actor *actor, const char *const *problems, int count)
{
    enum { BEAM = 8 };
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const gs_problem problem = problem_of(problems[i]);
        gs_schedule first, beam[BEAM];
        assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, &first, 1), 1);
        const double best = gs_schedule_predict(&first, &problem, h200());
        double reached = 0.01;
        for (int family = 0; family < GS_FAMILIES; family++)
            for (int j = gs_actor_beam(actor, &problem, h200(), (gs_family_id)family, BEAM, beam) - 1; j >= 0; j--)
                if (gs_schedule_check(&beam[j], &problem, h200(), NULL) == GS_OK) reached = fmax(reached, best / gs_schedule_predict(&beam[j], &problem, h200()));
        sum += log(reached);
    }
    return exp(sum / count);
}

static void training_on_the_time_model_beats_chance(void **state)
{
    (void)state;
    static const char *const problems[] = {"f16:1024x1024x1024:nn", "bf16:257x4096x4096:tn", "f16:3000x2000x1000:tn", "bf16:16x8192x8192:tn"};
    gs_weights weights;
    fresh(&weights);
    const double before = mean_share(&weights.actor, problems, GS_COUNT(problems));
    const gs_train_options how = {.problems = 120, .seed = 7};
    assert_int_equal(gs_train(&weights, NULL, 0, gs_profile_find("h200"), &how, NULL), GS_OK);
    const double after = mean_share(&weights.actor, problems, GS_COUNT(problems));
    print_message("the actor's beam is worth %g, before %g\n", after, before);
    if (!(after > 1.2 * before)) fail_msg("the actor's beam is worth %g, before %g", after, before);
    gs_weights_free(&weights);
}

static void sizes_are_held_out_as_a_whole(void **state)
{
    (void)state;
    int held = 0;
    gs_random random = {61};
    for (int i = 0; i < 2000; i++) {
        gs_problem problem = gs_train_problem(&random);
        assert_int_equal(gs_problem_check(&problem, NULL), GS_OK);
        const bool out = gs_train_held_out(&problem, 10);
        held += out;
        gs_problem other = gs_problem_make(GS_BF16, problem.layout == GS_NN ? GS_TN : GS_NN, problem.m, problem.n, problem.k);
        assert_int_equal(gs_train_held_out(&other, 10), out);
        assert_false(gs_train_held_out(&problem, 0));
    }
    assert_true(held > 120 && held < 280);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(networks_are_the_same_for_a_seed),
        cmocka_unit_test(adam_goes_down),
        cmocka_unit_test(networks_have_a_widest_layer),
        cmocka_unit_test(tokens_have_names_of_their_own),
        cmocka_unit_test(a_space_is_all_that_is_valid),
        cmocka_unit_test(probabilities_add_up),
        cmocka_unit_test(imitation_goes_down_the_gradient),
        cmocka_unit_test(imitation_makes_a_schedule_likely),
        cmocka_unit_test(the_surrogate_learns_what_the_time_model_gets_wrong),
        cmocka_unit_test(the_surrogate_learns_what_cublaslt_takes),
        cmocka_unit_test(training_ends_when_it_is_told_to),
        cmocka_unit_test(training_on_the_time_model_beats_chance),
        cmocka_unit_test(sizes_are_held_out_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

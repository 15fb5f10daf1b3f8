/* SPDX-License-Identifier: MIT
 * Thousands of steps of learning while tuning, over times that were measured on an H200, from the shipped weights: the weights stay finite and
 * near where they began, and the choice for sizes that no step sees stays as good. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dataset/samples.h"
#include "train/train.h"
#include "networks.h"

#ifdef __SANITIZE_ADDRESS__   /* ten times slower, and only there to see mistakes in memory */
enum { STEPS = 300, LONG = 200 };
#else
enum { STEPS = 5000, LONG = 4000 };
#endif
enum { EACH = 16, HELD_OUT = 5, LEAST = 17 };
#define MOST_LOST 0.002

static void read_times(gs_sample_set *set)
{
    char command[600], path[] = "/tmp/gemmsmith-times-XXXXXX", *const paths[] = {path};
    const int file = mkstemp(path);
    gs_error error = {0};
    assert_true(file >= 0);
    snprintf(command, sizeof command, "gzip -dc %s/docs/performance/sizes/times.csv.gz > %s", GS_SOURCE_DIR, path);
    assert_int_equal(system(command), 0);
    *set = (gs_sample_set){.caps = h200()};
    if (gs_sample_set_read(set, "nvidia-h200", paths, 1, &error) != GS_OK) fail_msg("%s", error.text);
    close(file);
    unlink(path);
}

/* Up to EACH times of a group, as a tuner measures them. */
static int some_times(gs_measured *measured, const gs_sample *samples, int count, gs_random *random)
{
    const int first = count > EACH ? (int)gs_random_below(random, (uint64_t)(count - EACH)) : 0;
    int taken = 0;
    for (int i = first; i < count && taken < EACH; i++)
        if (!samples[i].library) measured[taken++] = (gs_measured){samples[i].schedule, samples[i].us};
    return taken;
}

static double furthest(const gs_net *net, const float *from)
{
    double most = 0;
    for (int i = 0; i < net->count; i++) most = fmax(most, fabs((double)net->weights[i] - from[i]));
    return most;
}

static void thousands_of_steps_do_no_harm(void **state)
{
    (void)state;
    const gs_profile profile = gs_profile_of(h200());
    gs_sample_set set;
    gs_weights weights;
    gs_learner learner;
    gs_random random = {11};
    gs_error error = {0};
    int kept;
    read_times(&set);
    assert_int_equal(gs_sample_set_hold_out(&set, HELD_OUT, &kept, NULL), GS_OK);
    assert_true(kept > 40000 && set.count - kept > 10000);
    assert_int_equal(gs_weights_load(&weights, GS_SOURCE_DIR "/tuned/nvidia-h200.weights", &error), GS_OK);
    assert_int_equal(gs_learner_create(&learner, &weights, NULL), GS_OK);
    const gs_worth before = gs_train_worth(&weights, set.list + kept, set.count - kept, LEAST, GS_TRAIN_ALL, &profile);
    assert_true(before.groups > 100);
    for (int step = 0; step < STEPS; step++) {
        gs_measured measured[EACH];
        int begin = (int)gs_random_below(&random, (uint64_t)kept);
        while (begin > 0 && set.list[begin - 1].group == set.list[begin].group) begin--;
        const int count = some_times(measured, set.list + begin, gs_sample_group_end(set.list, kept, begin) - begin, &random);
        if (gs_learner_step(&learner, &weights, &set.list[begin].problem, h200(), measured, count, &error) != GS_OK) fail_msg("step %d: %s", step, error.text);
    }
    assert_true(gs_net_finite(&weights.surrogate.net[0]) && gs_net_finite(&weights.actor.net));
    assert_true(furthest(&weights.surrogate.net[0], learner.surrogate[0].began) > 0 && furthest(&weights.actor.net, learner.actor.began) > 0);
    assert_true(furthest(&weights.surrogate.net[0], learner.surrogate[0].began) < 0.5 && furthest(&weights.actor.net, learner.actor.began) < 0.5);
    const gs_worth after = gs_train_worth(&weights, set.list + kept, set.count - kept, LEAST, GS_TRAIN_ALL, &profile);
    print_message("%d steps: the first choice for %d sizes that they do not see reaches %.4f of the fastest, before them %.4f\n", STEPS, after.groups, after.at[0],
                  before.at[0]);
    for (int i = 0; i < 4; i++)
        if (after.at[i] < before.at[i] - MOST_LOST) fail_msg("choice %d: %g, before %g", i, after.at[i], before.at[i]);
    gs_learner_free(&learner);
    gs_weights_free(&weights);
    gs_sample_set_free(&set);
}

/* What pulls at the weights for ever moves them only so far: the same times again and again, those of a machine that is upside down. */
static void what_is_told_for_ever_moves_weights_so_far(void **state)
{
    (void)state;
    enum { N = 4 };
    const gs_problem problem = problem_of("f16:1024x1024x1024:tn");
    gs_weights weights;
    gs_learner learner;
    gs_schedule list[N];
    gs_measured measured[N];
    double half = 0;
    fresh(&weights);
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, list, N), N);
    for (int i = 0; i < N; i++) measured[i] = (gs_measured){list[i], exp2(N - i)};
    assert_int_equal(gs_learner_create(&learner, &weights, NULL), GS_OK);
    for (int step = 0; step < LONG; step++) {
        assert_int_equal(gs_learner_step(&learner, &weights, &problem, h200(), measured, N, NULL), GS_OK);
        if (step == LONG / 2) half = furthest(&weights.actor.net, learner.actor.began);
    }
    assert_true(half > 0.005);
    assert_true(furthest(&weights.actor.net, learner.actor.began) < half + 0.1 && furthest(&weights.actor.net, learner.actor.began) < 0.2 * 3.2);
    gs_learner_free(&learner);
    gs_weights_free(&weights);
}

/* Steps know what cuBLASLt takes, too: else what is expected of it would stay where it was while schedules move. */
static void steps_learn_what_cublaslt_takes(void **state)
{
    (void)state;
    enum { N = 24 };   /* more than a step takes of a group: its time of cuBLASLt is taken all the same */
    const gs_problem problem = problem_of("f16:1024x1024x1024:tn");
    const gs_profile profile = gs_profile_of(h200());
    gs_schedule list[N];
    gs_sample samples[N + 1];
    gs_weights weights;
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 0, list, N), N);
    for (int i = 0; i < N; i++) samples[i] = (gs_sample){problem, list[i], 10.0 + i, 1, false};
    samples[N] = (gs_sample){.problem = problem, .us = 30, .group = 1, .library = true};
    const gs_train_options how = {.steps = 200, .seed = 3};
    fresh(&weights);
    assert_true(gs_surrogate_library_us(&weights.surrogate, &problem, &profile) == 0);
    assert_int_equal(gs_train(&weights, samples, N, &profile, &how, NULL), GS_OK);
    assert_true(gs_surrogate_library_us(&weights.surrogate, &problem, &profile) == 0);   /* nobody measured it */
    assert_int_equal(gs_train(&weights, samples, N + 1, &profile, &how, NULL), GS_OK);
    assert_true(gs_surrogate_library_us(&weights.surrogate, &problem, &profile) > 0);
    gs_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_steps_do_no_harm),
        cmocka_unit_test(what_is_told_for_ever_moves_weights_so_far),
        cmocka_unit_test(steps_learn_what_cublaslt_takes),
    };
    return cmocka_run_group_tests_name("train/steady", tests, NULL, NULL);
}

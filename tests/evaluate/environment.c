/* SPDX-License-Identifier: MIT
 * The environment with a scripted worker: each candidate's verdict and reward, what is measured twice and which times count then, what the store keeps, and which
 * failures are the machine's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "schedule/work.h"
#include "evaluating.h"
#include "verify/verify.h"

/* ---- rewards ---- */

static void rewards_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < GS_REWARDS; i++) assert_int_equal(gs_reward_find(gs_reward_name((gs_reward_kind)i)), i);
    assert_int_equal(gs_reward_find("applause"), GS_REWARDS);
    assert_int_equal(gs_reward_find("milestones"), GS_REWARD_MILESTONES);
    assert_int_equal(gs_reward_find("room"), GS_REWARD_HEADROOM);   /* its former name */
    for (int i = 0; i < GS_REWARDS; i++) assert_non_null(strstr(GS_REWARD_WORDS, gs_reward_name((gs_reward_kind)i)));
}

static double reward_at(gs_reward_kind kind, double low)
{
    const gs_judged judged = {.passed = true, .ratio = {1.2 * low, low, 1.4 * low, GS_UNCLEAR}, .us = 10, .library_us = 20, .floor_us = 10, .l2_hit = 0.6};
    return gs_reward_of(kind, &judged);
}

static void rewards_of_measured_times(void **state)
{
    (void)state;
    const double room = log(1.2) / log(2);
    assert_float_equal(reward_at(GS_REWARD_HEADROOM, 1.2), room, 1e-12);
    assert_float_equal(reward_at(GS_REWARD_COMPOSITE, 1.2), 0.8 * room + 0.15 * 0.6 + 0.05, 1e-12);
    assert_float_equal(reward_at(GS_REWARD_COMPOSITE, 1.005), 0.15 * 0.6 + 0.05, 1e-12);   /* within the dead zone: counts as equally fast */
    assert_float_equal(reward_at(GS_REWARD_COMPOSITE, 0.01), -0.8 + 0.15 * 0.6 + 0.05, 1e-12);
    /* cases: lower end of the ratio, milestone */
    static const double milestones[][2] = {{0.5, 1 / 3.0}, {0.989, 1 / 3.0}, {0.991, 2 / 3.0}, {1.0, 2 / 3.0}, {1.009, 2 / 3.0}, {1.049, 2 / 3.0}, {1.051, 1}, {3, 1}};
    for (size_t i = 0; i < GS_COUNT(milestones); i++)
        assert_float_equal(reward_at(GS_REWARD_MILESTONES, milestones[i][0]), milestones[i][1], 1e-12);
    const gs_judged unknown = {.passed = true, .ratio = {1.3, 1.2, 1.4, GS_FASTER}, .us = 10, .library_us = 20, .floor_us = 10, .l2_hit = -1};
    assert_float_equal(gs_reward_of(GS_REWARD_COMPOSITE, &unknown), 0.95 * room + 0.05, 1e-12);
    for (int kind = 0; kind < GS_REWARDS; kind++) {
        double last = -2;
        for (double low = 0.3; low < 3; low *= 1.01) {
            const double reward = reward_at((gs_reward_kind)kind, low);
            assert_true(reward >= last && reward >= -1 && reward <= 1);
            last = reward;
        }
        /* A positive reward needs a right result and a time. */
        gs_judged wrong = {.ratio = {2, 2, 2, GS_FASTER}, .us = 10, .library_us = 20, .floor_us = 10, .l2_hit = 1};
        assert_float_equal(gs_reward_of((gs_reward_kind)kind, &wrong), -1, 0);
        wrong.alone = true;
        assert_float_equal(gs_reward_of((gs_reward_kind)kind, &wrong), -1, 0);
        wrong = (gs_judged){.passed = true, .l2_hit = 1};
        assert_float_equal(gs_reward_of((gs_reward_kind)kind, &wrong), -1, 0);
        wrong = (gs_judged){.passed = true, .us = 10, .ratio = {NAN, NAN, NAN, GS_UNCLEAR}, .l2_hit = 1};
        assert_float_equal(gs_reward_of((gs_reward_kind)kind, &wrong), -1, 0);
    }
}

static void rewards_of_predicted_times(void **state)
{
    (void)state;
    gs_judged judged = {.passed = true, .alone = true, .us = 20, .floor_us = 10, .l2_hit = 0.5};
    assert_float_equal(gs_reward_of(GS_REWARD_HEADROOM, &judged), gs_reward_predicted(20, 10), 0);
    assert_float_equal(gs_reward_of(GS_REWARD_COMPOSITE, &judged), 0.8 * gs_reward_predicted(20, 10) + 0.075 + 0.05, 1e-12);
    assert_float_equal(gs_reward_of(GS_REWARD_MILESTONES, &judged), 2 / 3.0, 1e-12);
    judged.us = 20.1;
    assert_float_equal(gs_reward_of(GS_REWARD_MILESTONES, &judged), 1 / 3.0, 1e-12);
    judged.us = 10.4;
    assert_float_equal(gs_reward_of(GS_REWARD_MILESTONES, &judged), 1, 0);
}

/* Rewards as in the paper; expected numbers computed by hand. */
static void rewards_of_the_paper(void **state)
{
    (void)state;
    /* cases: lower end of the ratio, bytes of source, difference, length, clipped */
    static const double measured[][5] = {
        {1.25, 16384, 0.2, 0.175, 0.7}, {1.25, 0, 0.2, 0.2, 0.8}, {2, 65536, 0.5, 0.4, 1}, {2, 1 << 20, 0.5, 0.4, 1}, {1.005, 32768, 0, -0.05, -0.2}, {0.995, 0, 0, 0, 0},
        {0.8, 0, -0.25, -0.25, -1}, {0.96, 6553.6, -1 / 24.0, -1 / 24.0 - 0.01, -4 / 24.0 - 0.04}, {0.5, 65536, -1, -1, -1}, {0.1, 0, -1, -1, -1},
    };
    for (size_t i = 0; i < GS_COUNT(measured); i++) {
        const gs_judged judged = {.passed = true, .ratio = {1.1 * measured[i][0], measured[i][0], 1.2 * measured[i][0], GS_UNCLEAR}, .us = 10, .library_us = 20, .floor_us = 5,
                                  .l2_hit = -1, .bytes = measured[i][1]};
        assert_float_equal(gs_reward_of(GS_REWARD_DIFFERENCE, &judged), measured[i][2], 1e-12);
        assert_float_equal(gs_reward_of(GS_REWARD_LENGTH, &judged), measured[i][3], 1e-12);
        assert_float_equal(gs_reward_of(GS_REWARD_CLIPPED, &judged), measured[i][4], 1e-12);
    }
    gs_judged alone = {.passed = true, .alone = true, .us = 60, .floor_us = 8, .l2_hit = -1, .bytes = 32768};   /* 60 us of 80 */
    assert_float_equal(gs_reward_of(GS_REWARD_DIFFERENCE, &alone), 0.25, 1e-12);
    assert_float_equal(gs_reward_of(GS_REWARD_LENGTH, &alone), 0.2, 1e-12);
    assert_float_equal(gs_reward_of(GS_REWARD_CLIPPED, &alone), 0.8, 1e-12);
    alone.untrusted = true;
    assert_float_equal(gs_reward_of(GS_REWARD_DIFFERENCE, &alone), 0, 0);
    assert_float_equal(gs_reward_of(GS_REWARD_LENGTH, &alone), -0.05, 1e-12);
    alone.us = 100;
    assert_float_equal(gs_reward_of(GS_REWARD_DIFFERENCE, &alone), -0.25, 1e-12);
    alone.us = 1000;
    assert_float_equal(gs_reward_of(GS_REWARD_LENGTH, &alone), -1, 0);
}

/* An untrusted time earns nothing beyond being right, but a slow time still counts. */
static void rewards_of_times_that_nobody_trusts(void **state)
{
    (void)state;
    gs_judged judged = {.passed = true, .alone = true, .untrusted = true, .us = 11, .floor_us = 10, .l2_hit = 0.9};
    assert_float_equal(gs_reward_of(GS_REWARD_HEADROOM, &judged), 0, 0);
    assert_float_equal(gs_reward_of(GS_REWARD_COMPOSITE, &judged), 0.05, 1e-12);
    assert_float_equal(gs_reward_of(GS_REWARD_MILESTONES, &judged), 1 / 3.0, 1e-12);
    judged.us = 500;
    assert_float_equal(gs_reward_of(GS_REWARD_HEADROOM, &judged), gs_reward_predicted(500, 10), 0);
    judged.passed = false;
    assert_float_equal(gs_reward_of(GS_REWARD_HEADROOM, &judged), -1, 0);
}

static void the_hit_rate_follows_the_traffic(void **state)
{
    (void)state;
    const gs_problem large = problem_of("f16:8192x8192x8192:tn"), thin = problem_of("f16:64x64x8192:tn");
    const gs_schedule schedule = schedule_of("mma/64x64x64/w2x2/s3/g8");
    const double reused = gs_l2_hit(&schedule, &large, gs_caps_find("h200")), once = gs_l2_hit(&schedule, &thin, gs_caps_find("h200"));
    print_message("L2 hit rate by the model: %.3f of a large problem, %.3f of a thin one\n", reused, once);
    assert_true(once >= 0 && reused <= 1 && reused > once);
    gs_schedule list[16];
    const int count = gs_schedule_shortlist(&large, gs_caps_find("h200"), 0, list, 16);
    for (int i = 0; i < count; i++) {
        const double hit = gs_l2_hit(&list[i], &large, gs_caps_find("h200"));
        assert_true(hit > 0 && hit < 1);
    }
}

static void the_rules_of_disbelief(void **state)
{
    (void)state;
    assert_true(gs_impossible(8.9, 10) && !gs_impossible(9.1, 10) && !gs_impossible(1, 0));
    assert_true(gs_jumps(7.6, 10) && !gs_jumps(7.8, 10) && !gs_jumps(1, 0) && !gs_jumps(0, 10));
    const gs_ratio a = {1.2, 1.19, 1.21, GS_FASTER}, near = {1.23, 1.22, 1.24, GS_FASTER}, far = {1.3, 1.29, 1.31, GS_FASTER};
    assert_true(gs_ratios_agree(&a, &a) && gs_ratios_agree(&a, &near) && gs_ratios_agree(&near, &a));
    assert_false(gs_ratios_agree(&a, &far) || gs_ratios_agree(&far, &a));
}

/* What a learning policy is told about a candidate during a run. */
static void rewards_of_a_run(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_evaluator e = {.options = {.reward = GS_REWARD_MILESTONES}, .caps = gs_caps_find("h200"), .problem = &problem, .floor_us = 3};
    gs_candidate c = {.schedule = schedule_of("mma/64x64x64/w2x2/s3/g8"), .us = 5, .library_us = 6, .ratio = {1.2, 1.15, 1.25, GS_FASTER}};
    assert_float_equal(gs_evaluator_reward(&e, &c), 1, 0);
    e.options.reward = GS_REWARD_HEADROOM;
    assert_float_equal(gs_evaluator_reward(&e, &c), log(1.15) / log(2), 1e-12);
    e.options.reward = GS_REWARD_COMPOSITE;
    const double hit = gs_l2_hit(&c.schedule, &problem, e.caps);
    assert_float_equal(gs_evaluator_reward(&e, &c), 0.8 * log(1.15) / log(2) + 0.15 * hit + 0.05, 1e-12);
    e.options.reward = GS_REWARD_LENGTH;
    assert_float_equal(gs_evaluator_reward(&e, &c), 1 - 1 / 1.15, 1e-12);
    c.source = "0123456789abcdef", c.manifest = "";
    assert_float_equal(gs_evaluator_reward(&e, &c), 1 - 1 / 1.15 - 0.1 * 16 / 65536, 1e-12);
    e.options.reward = GS_REWARD_COMPOSITE;
    c.source = c.manifest = "";
    assert_float_equal(gs_evaluator_reward(&e, &c), 0.95 * log(1.15) / log(2) + 0.05, 1e-12);
    e.options.reward = GS_REWARD_HEADROOM;
    e.search = true;   /* raced without cuBLASLt */
    assert_float_equal(gs_evaluator_reward(&e, &c), gs_reward_predicted(5, 3), 1e-12);
    c.verdict = GS_VERDICT_EXACT;
    assert_float_equal(gs_evaluator_reward(&e, &c), -1, 0);
}

/* ---- candidates ---- */

static void a_good_schedule_gets_figures(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    right_answers(PROBLEM, best);
    for (int kind = 0; kind < GS_REWARDS; kind++) {
        gs_environment *e = environment_of(b, "", &(gs_environment_options){.reward = (gs_reward_kind)kind}, true);
        const gs_evaluation got = evaluate_schedule(e, best[0].text);
        assert_string_equal(gs_verdict_word(got.verdict), "pass");
        assert_string_equal(got.candidate, best[0].text);
        assert_float_equal(got.us / best[0].us, 1, 0.01);
        assert_float_equal(got.library_us / library_us(PROBLEM, LIBRARY), 1, 0.01);
        assert_float_equal(got.ratio.median / (library_us(PROBLEM, LIBRARY) / best[0].us), 1, 0.01);
        assert_true(got.ratio.low <= got.ratio.median && got.ratio.median <= got.ratio.high);
        const gs_problem problem = problem_of(PROBLEM);
        assert_float_equal(got.floor_us, gs_floor_us(&problem, gs_caps_find("h200")), 0);
        assert_int_equal(got.rounds, 31);
        assert_int_equal(got.registers, 64);
        assert_int_equal(got.smem, 1024);
        assert_int_equal(got.mhz, 1755);
        assert_true(!got.predicted && got.l2_hit > 0 && got.l2_hit < 1);
        const gs_judged judged = {.passed = true, .ratio = got.ratio, .us = got.us, .library_us = got.library_us, .floor_us = got.floor_us, .l2_hit = got.l2_hit};
        assert_float_equal(got.reward, gs_reward_of((gs_reward_kind)kind, &judged), 1e-12);
        assert_true(got.reward > 0 && got.spent.all > 0 && got.spent.all >= got.spent.compile + got.spent.verify + got.spent.time);
        const gs_trial trial = trial_of(b, PROBLEM, best[0].text);
        assert_string_equal(trial.verdict, "pass");
        assert_float_equal(trial.us, got.us, 1e-9);
        assert_float_equal(trial.low, got.ratio.low, 1e-9);
        gs_environment_destroy(&e);
    }
}

static void a_good_kernel_too(void **state)
{
    bench *const b = *state;
    char source[64], name[GS_CONTENDER_NAME];
    const double us = 0.9 * library_us(PROBLEM, LIBRARY);
    snprintf(source, sizeof source, "// fake: us=%.6f", us);
    gs_environment *e = environment_of(b, "", &(gs_environment_options){.reward = GS_REWARD_COMPOSITE}, true);
    const gs_evaluation got = evaluate_source(e, source);
    assert_string_equal(gs_verdict_word(got.verdict), "pass");
    assert_string_equal(got.candidate, gs_submission_name(source, SIMPLE_MANIFEST, name));
    assert_float_equal(got.us / us, 1, 0.01);
    assert_float_equal(got.l2_hit, -1, 0);
    assert_string_equal(trial_of(b, PROBLEM, name).verdict, "pass");
    char *kept, *manifest;
    assert_int_equal(gs_store_source_get(b->store, name, &kept, &manifest, &error), GS_OK);
    assert_string_equal(kept, source);
    assert_string_equal(manifest, SIMPLE_MANIFEST);
    free(kept);
    free(manifest);

    /* The store must not take it for the best schedule. */
    char own[GS_SCHEDULE_TEXT];
    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(gs_tune_best_own(b->store, &b->session, &problem, own, &error), GS_OK);
    assert_string_equal(own, "");
    assert_string_not_equal(gs_submission_name(source, "", name), got.candidate);
    gs_environment_destroy(&e);
}

static void without_a_store(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    right_answers(PROBLEM, best);
    gs_environment *e = environment_of(b, "", &(gs_environment_options){0}, false);
    const gs_problem problem = problem_of(PROBLEM);
    double us;
    assert_int_equal(gs_environment_known(e, &problem, &us, &error), GS_OK);
    assert_float_equal(us, 0, 0);
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[3].text).verdict), "pass");
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[1].text).verdict), "pass");
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[5].text).verdict), "pass");
    assert_int_equal(gs_environment_known(e, &problem, &us, &error), GS_OK);
    assert_float_equal(us / best[1].us, 1, 0.01);
    assert_int_equal(trials(b, PROBLEM), 0);
    gs_environment_destroy(&e);
    assert_null(e);
    gs_environment_destroy(&e);
}

static int requests(bench *b, const char *op)
{
    char line[65536];
    int count = 0;
    FILE *const log = fopen(b->log_path, "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log)) count += strstr(line, op) != NULL;
    fclose(log);
    return count;
}

static gs_evaluation evaluate_beside(gs_environment *e, const char *schedule, const char *const *beside, int count)
{
    return evaluate(e, &(gs_submission){.schedule = schedule, .beside = beside, .besides = count});
}

/* One run times all of them; nothing is stored about a schedule before it is evaluated itself. */
static void schedules_are_timed_together(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char rules[256];
    right_answers(PROBLEM, best);
    snprintf(rules, sizeof rules, "wrong=%s;timed=%s;leap=%s", best[3].text, best[4].text, best[5].text);
    gs_environment *e = environment_of(b, rules, &(gs_environment_options){0}, true);
    const char *const beside[] = {best[2].text, best[0].text, "nonsense", best[3].text, best[2].text, best[4].text, best[5].text};
    const gs_evaluation first = evaluate_beside(e, best[0].text, beside, GS_COUNT(beside));
    assert_string_equal(gs_verdict_word(first.verdict), "pass");
    assert_int_equal(requests(b, "\"op\":\"bench\""), 1);
    assert_int_equal(trials(b, PROBLEM), 1);

    const gs_evaluation second = evaluate_schedule(e, best[2].text);   /* verified, but not timed again */
    assert_string_equal(gs_verdict_word(second.verdict), "pass");
    assert_int_equal(requests(b, "\"op\":\"bench\""), 1);
    assert_int_equal(requests(b, "\"op\":\"verify\""), 2);
    assert_float_equal(second.us / best[2].us, 1, 0.01);
    assert_float_equal(second.library_us, first.library_us, 0);
    assert_true(second.rounds == first.rounds && second.ratio.low > 0 && second.mhz == first.mhz);
    assert_string_equal(trial_of(b, PROBLEM, best[2].text).stage, "final");
    assert_float_equal(evaluate_schedule(e, best[2].text).us / best[2].us, 1, 0.01);   /* the second time it is measured */
    assert_int_equal(requests(b, "\"op\":\"bench\""), 2);

    /* Faults of the schedules beside it become their own verdicts. */
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[3].text).verdict), "exact");
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[4].text).verdict), "timed");
    assert_int_equal(requests(b, "\"op\":\"bench\""), 3);
    assert_int_equal(requests(b, "\"warmup_s\":0.005"), 3);            /* the verification just before has kept the device busy */
    assert_true(evaluate_schedule(e, best[5].text).jumped);   /* implausibly fast, so it is measured again */
    assert_int_equal(requests(b, "\"warmup_s\":0.005"), 4);            /* by a fresh worker with the usual warm-up */
    assert_int_equal(requests(b, "\"op\":\"bench\""), 5);
    gs_environment_destroy(&e);

    /* A schedule that crashes the worker is left out and costs the others nothing. */
    snprintf(rules, sizeof rules, "crash=%s", best[1].text);
    e = environment_of(b, rules, &(gs_environment_options){0}, false);
    const char *const bad[] = {best[1].text, best[2].text};
    assert_string_equal(gs_verdict_word(evaluate_beside(e, best[0].text, bad, 2).verdict), "pass");
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[1].text).verdict), "fault");
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[2].text).verdict), "pass");
    gs_environment_destroy(&e);
}

static void bad_ones_get_verdicts(void **state)
{
    /* cases: what the kernel does, the expected verdict */
    static const char *const bad[][2] = {
        {"stuck", "compile"}, {"choke", "compile"}, {"compile", "compile"}, {"hang", "hang"}, {"crash", "fault"}, {"garbage", "hang"},
        {"wrong", "exact"}, {"fault", "fault"}, {"timed", "timed"}, {"fast", "floor"},
        {"hungry", "memory"},
    };
    bench *const b = *state;
    char source[64], rules[256], name[GS_CONTENDER_NAME];
    answer best[CANDIDATES];
    right_answers(PROBLEM, best);
    gs_environment *e = environment_of(b, "", &(gs_environment_options){.timeout_s = 1, .compile_s = 0.3}, true);
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        snprintf(source, sizeof source, "// fake: %s\n// fake: us=%g", bad[i][0], best[0].us);
        const gs_evaluation got = evaluate_source(e, source);
        if (strcmp(gs_verdict_word(got.verdict), bad[i][1]) != 0 && strcmp(bad[i][0], "garbage") != 0) fail_msg("%s: %s (%s)", bad[i][0], gs_verdict_word(got.verdict), got.reason);
        const gs_trial trial = trial_of(b, PROBLEM, gs_submission_name(source, SIMPLE_MANIFEST, name));
        assert_string_equal(trial.verdict, gs_verdict_word(got.verdict));
        assert_string_equal(trial.reason, got.reason);
        assert_int_equal(got.part, strcmp(bad[i][0], "wrong") == 0 ? 1 : 0);
    }
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[0].text).verdict), "pass");
    gs_environment_destroy(&e);

    snprintf(rules, sizeof rules, "hang=%s;crash=%s", best[0].text, best[1].text);
    e = environment_of(b, rules, &(gs_environment_options){.timeout_s = 1}, true);
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[0].text).verdict), "hang");
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, best[1].text).verdict), "fault");
    gs_environment_destroy(&e);
}

static void texts_that_cannot_be_read(void **state)
{
    bench *const b = *state;
    gs_environment *e = environment_of(b, "", &(gs_environment_options){0}, true);
    gs_evaluation got = evaluate_schedule(e, "ws/enormous");
    assert_string_equal(gs_verdict_word(got.verdict), "launch");
    assert_string_equal(got.candidate, "");
    assert_int_equal(trials(b, PROBLEM), 0);
    assert_string_equal(gs_verdict_word(evaluate_schedule(e, "").verdict), "launch");
    got = evaluate_schedule(e, "gemv/w4/r16/c1/k16/s1/g1");   /* refused for K and its few rows, or no longer a valid schedule string */
    assert_true(strcmp(gs_verdict_word(got.verdict), "unsupported") == 0 || strcmp(gs_verdict_word(got.verdict), "launch") == 0);
    static const char *const manifests[] = {"", "manifest 2\n", "\x01\xff{{{", SIMPLE_MANIFEST "entry", "manifest 1\naccumulator f64\n"};
    for (size_t i = 0; i < GS_COUNT(manifests); i++) {
        got = evaluate(e, &(gs_submission){.source = "// fake: us=9", .manifest = manifests[i]});
        assert_string_equal(gs_verdict_word(got.verdict), "launch");
    }
    char *const huge = malloc((2u << 20) + 1);
    assert_non_null(huge);
    memset(huge, ' ', 2u << 20);
    huge[2u << 20] = '\0';
    got = evaluate_source(e, huge);
    assert_string_equal(gs_verdict_word(got.verdict), "forbidden");
    assert_non_null(strstr(got.reason, "size"));
    free(huge);
    assert_false(gs_file_exists(b->log_path));   /* none of them reached the worker */
    gs_environment_destroy(&e);
}

/* ---- what is measured twice ---- */

static void a_jump_is_measured_again(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char rules[256];
    right_answers(PROBLEM, best);
    snprintf(rules, sizeof rules, "once=%s;leap=%s", best[9].text, best[8].text);
    gs_environment *e = environment_of(b, rules, &(gs_environment_options){0}, true);
    gs_evaluation got = evaluate_schedule(e, best[0].text);
    assert_true(!got.jumped && !got.second);
    const int before = b->worker.started;

    got = evaluate_schedule(e, best[9].text);   /* twice as fast, but not in a fresh process */
    assert_string_equal(gs_verdict_word(got.verdict), "pass");
    assert_true(got.jumped && got.second && !got.agreed);
    assert_float_equal(got.first_us / (best[9].us / 2), 1, 0.01);
    assert_float_equal(got.us / best[9].us, 1, 0.01);
    assert_int_equal(got.rounds, 51);
    assert_int_equal(b->worker.started, before + 1);
    assert_true(got.spent.second > 0 && got.reward < 1);
    const gs_trial trial = trial_of(b, PROBLEM, best[9].text);
    assert_float_equal(trial.us, got.us, 1e-9);
    assert_string_equal(trial.stage, "confirm");
    double us;
    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(gs_environment_known(e, &problem, &us, &error), GS_OK);
    assert_float_equal(us / best[0].us, 1, 0.01);

    got = evaluate_schedule(e, best[8].text);   /* equally fast the second time */
    assert_true(got.jumped && got.second && got.agreed);
    assert_float_equal(got.us / (best[8].us / 2), 1, 0.01);
    got = evaluate_schedule(e, best[8].text);   /* no longer a jump */
    assert_true(!got.jumped && !got.second);
    gs_environment_destroy(&e);
}

/* The implausible time of a candidate that fails when it is measured again must not appear anywhere. */
static void a_jump_that_does_not_survive(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char rules[256];
    right_answers(PROBLEM, best);
    snprintf(rules, sizeof rules, "once=%s;frail=%s", best[0].text, best[0].text);
    gs_environment *e = environment_of(b, rules, &(gs_environment_options){0}, true);
    const gs_evaluation got = evaluate_schedule(e, best[0].text);
    assert_string_equal(gs_verdict_word(got.verdict), "fault");
    assert_true(got.jumped && got.second && !got.agreed && got.first_us > 0 && got.us == 0 && got.ratio.median == 0);
    const gs_trial trial = trial_of(b, PROBLEM, best[0].text);
    assert_string_equal(trial.verdict, "fault");
    assert_true(trial.us == 0 && trial.ratio == 0);
    double us;
    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(gs_environment_known(e, &problem, &us, &error), GS_OK);
    assert_float_equal(us, 0, 0);
    gs_environment_destroy(&e);
}

/* What a jump is compared with: cuBLASLt's time, and stored times of this version's kernels. */
static void what_a_jump_is_over(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char source[64];
    const double library = library_us(PROBLEM, LIBRARY);
    right_answers(PROBLEM, best);
    snprintf(source, sizeof source, "// fake: us=%.6f", library / 1.35);
    gs_environment *e = environment_of(b, "", &(gs_environment_options){0}, true);
    assert_true(evaluate_source(e, source).jumped);
    gs_environment_destroy(&e);

    gs_trial trial = {.verdict = "pass", .us = library / 1.3, .library_us = library, .ratio = 1.3, .low = 1.3, .high = 1.3, .rounds = 31, .stage = "final"};
    snprintf(trial.problem, sizeof trial.problem, "%s", PROBLEM);
    snprintf(trial.candidate, sizeof trial.candidate, "%s", best[7].text);
    gs_session other = b->session;
    assert_int_equal(gs_store_put(b->store, &b->session, &trial, &error), GS_OK);
    e = environment_of(b, "", &(gs_environment_options){0}, true);
    double us;
    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(gs_environment_known(e, &problem, &us, &error), GS_OK);
    snprintf(source, sizeof source, "// fake: us=%.6f", us / 1.2);
    assert_false(evaluate_source(e, source).jumped);
    gs_environment_destroy(&e);

    other.version = "another";
    assert_int_equal(gs_store_begin(b->store, &other, &error), GS_OK);
    b->session = other;
    e = environment_of(b, "", &(gs_environment_options){0}, true);
    assert_int_equal(gs_environment_known(e, &problem, &us, &error), GS_OK);
    assert_float_equal(us, 0, 0);
    gs_environment_destroy(&e);
}

static void confirmed_on_request(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    right_answers(PROBLEM, best);
    gs_environment *e = environment_of(b, "", &(gs_environment_options){.confirm = true, .rounds = 7}, true);
    const gs_evaluation got = evaluate_schedule(e, best[0].text);
    assert_true(got.second && got.agreed && !got.jumped);
    assert_int_equal(got.rounds, 51);
    assert_int_equal(asked(b, "\"rounds\":7"), 1);
    assert_string_equal(trial_of(b, PROBLEM, best[0].text).stage, "confirm");
    gs_environment_destroy(&e);

    /* every request uses its own seed */
    char *text, seed[32];
    size_t size;
    assert_int_equal(gs_file_read(b->log_path, 1 << 24, &text, &size, &error), GS_OK);
    int seeds = 0;
    for (const char *at = text; (at = strstr(at, "\"seed\":")); at++) {
        snprintf(seed, sizeof seed, "%.*s", (int)strcspn(at, ",}"), at);
        assert_null(strstr(at + 1, seed));
        seeds++;
    }
    assert_int_equal(seeds, 4);   /* compile, verify, time, time again */
    free(text);
}

/* Tuning does not believe a time that a candidate got only in its race. */
static void tuning_measures_jumps_again(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    char rules[256];
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    snprintf(rules, sizeof rules, "log=%s;library=1.05;once=%s", b->log_path, best[20].text);
    assert_int_equal(tune_with(b, PROBLEM, rules, &options, &result), GS_OK);
    assert_string_equal(result.best_own, best[0].text);
    const gs_trial trial = trial_of(b, PROBLEM, best[20].text);
    assert_float_equal(trial.us / best[20].us, 1, 0.01);
    assert_string_equal(trial.stage, "race");
    char pair[256];
    snprintf(pair, sizeof pair, "\"contenders\":[\"cublaslt-autotuning\",\"%s\"]", best[20].text);
    assert_int_equal(asked(b, pair), 1);   /* measured again alone, and only once */
}

/* ---- the machine ---- */

static void what_is_not_the_candidates_fault(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_evaluation got;
    const gs_problem problem = problem_of(PROBLEM), empty = problem_of("f16:0x64x64:tn");
    const gs_submission good = {.schedule = (right_answers(PROBLEM, best), best[0].text)};
    gs_environment *e = environment_of(b, "", &(gs_environment_options){0}, true);
    assert_int_equal(gs_evaluate(e, &empty, &good, &got, &error), GS_ERROR_RANGE);
    assert_int_equal(gs_evaluate(e, &problem, &(gs_submission){0}, &got, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_evaluate(e, &problem, &(gs_submission){.source = "x"}, &got, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_evaluate(e, &problem, &(gs_submission){best[0].text, "x", SIMPLE_MANIFEST}, &got, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(gs_verdict_word(got.verdict), "");
    gs_stop_requested = 1;
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_ERROR_INTERRUPTED);
    gs_stop_requested = 0;
    gs_environment_destroy(&e);

    char rules[160];
    snprintf(rules, sizeof rules, "hungry=%s", best[0].text);   /* no schedule needs that much memory */
    e = environment_of(b, rules, &(gs_environment_options){0}, true);
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_ERROR_DEVICE_MEMORY);
    gs_environment_destroy(&e);

    e = environment_of(b, "reference=GS_ERROR_NO_LIBRARY", &(gs_environment_options){0}, true);
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_ERROR_NO_LIBRARY);
    gs_environment_destroy(&e);

    e = environment_of(b, "reference=GS_ERROR_UNSUPPORTED", &(gs_environment_options){0}, true);   /* cuBLASLt does not support the problem: the reward depends on the time alone */
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_OK);
    assert_int_equal(got.verdict, GS_VERDICT_PASS);
    assert_true(got.us > 0 && got.library_us == 0 && fabs(got.reward - gs_reward_predicted(got.us, got.floor_us)) < 1e-12);
    gs_environment_destroy(&e);

    e = environment_of(b, "reference=wrong", &(gs_environment_options){0}, true);   /* cuBLASLt's result is wrong, which a candidate might have caused: no comparison, no reward */
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_ERROR_LIBRARY);
    assert_non_null(strstr(error.text, "nothing can be compared with it"));
    gs_environment_destroy(&e);

    /* the worker always exits: no candidate is blamed */
    e = environment_of(b, "mode=exit", &(gs_environment_options){0}, true);
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_ERROR_WORKER_DIED);
    assert_non_null(strstr(error.text, "no device left"));
    gs_environment_destroy(&e);
    e = environment_of(b, "hang=cublaslt-autotuning", &(gs_environment_options){.timeout_s = 0.2}, true);
    assert_int_equal(gs_evaluate(e, &problem, &good, &got, &error), GS_ERROR_WORKER_HUNG);
    gs_environment_destroy(&e);
    assert_int_equal(gs_environment_create(&e, &b->worker, gs_caps_find("h200"), b->store, NULL, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_environment_create(&e, &b->worker, gs_caps_find("h200"), NULL, NULL, &(gs_environment_options){.reward = GS_REWARDS}, &error),
                     GS_ERROR_ARGUMENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(rewards_have_names), TEST(rewards_of_measured_times), TEST(rewards_of_predicted_times), TEST(rewards_of_the_paper), TEST(rewards_of_times_that_nobody_trusts), TEST(the_hit_rate_follows_the_traffic),
        TEST(the_rules_of_disbelief), TEST(rewards_of_a_run), TEST(a_good_schedule_gets_figures), TEST(a_good_kernel_too), TEST(without_a_store), TEST(schedules_are_timed_together), TEST(bad_ones_get_verdicts),
        TEST(texts_that_cannot_be_read), TEST(a_jump_is_measured_again), TEST(a_jump_that_does_not_survive), TEST(what_a_jump_is_over), TEST(confirmed_on_request),
        TEST(tuning_measures_jumps_again), TEST(what_is_not_the_candidates_fault),
    };
    return cmocka_run_group_tests_name("the environment", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Tuning with policies that learn, against a scripted worker: the rounds of one problem, the second round of a list, what policies are told, and
 * the file in which they keep it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/weights.h"
#include "tune/run.h"
#include "tuning_list.h"

static const char *const learners[] = {"evolve", "learned"};

/* The fastest of all that was measured of a problem, by the simulated times. */
typedef struct fastest {
    gs_problem problem;
    double     us;
    char       text[GS_SCHEDULE_TEXT];
    uint32_t   families;
} fastest;

static bool is_faster(void *self, const gs_trial *trial)
{
    fastest *const f = self;
    const gs_schedule schedule = schedule_of(trial->candidate);
    f->families |= 1u << schedule.family;
    if (trial->verdict[0] && strcmp(trial->verdict, "pass") != 0) return true;
    if (fake_us(&schedule, &f->problem) >= f->us) return true;
    f->us = fake_us(&schedule, &f->problem);
    memcpy(f->text, trial->candidate, strlen(trial->candidate) + 1);
    return true;
}

static fastest fastest_tried(bench *b, const char *problem)
{
    fastest f = {.problem = problem_of(problem), .us = 1e30};
    assert_int_equal(gs_store_trials(b->store, gs_caps_find("h200")->slug, problem, is_faster, &f, NULL), GS_OK);
    return f;
}

static int from_scratch(void **state)
{
    unsetenv("GEMMSMITH_WEIGHTS");
    return start(state);
}

/* ---- the rounds of one problem ---- */

static void one_problem_has_rounds(void **state)
{
    bench *const b = *state;
    char script[160];
    gs_tune_options options = options_of(b);
    options.candidates = 16;
    for (size_t i = 0; i < GS_COUNT(learners); i++) {
        gs_tune_result result;
        const char *const problem = three[i];
        options.policy = learners[i];
        snprintf(script, sizeof script, "library=1.5;log=%s.%zu", b->log_path, i);
        assert_int_equal(tune_with(b, problem, script, &options, &result), GS_OK);
        assert_int_equal(result.proposed, 16);
        assert_int_equal(result.measured, 16);
        assert_int_equal(result.compiled, 16);
        assert_int_equal(trials(b, problem), 16);
        assert_string_equal(result.best_own, fastest_tried(b, problem).text);
    }
}

/* As few as there can be. */
static void one_candidate_is_enough(void **state)
{
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    gs_tune_result result;
    options.policy = "evolve";
    for (options.candidates = 1; options.candidates <= 3; options.candidates++) {
        const char *const problem = three[options.candidates - 1];
        assert_int_equal(tune_with(b, problem, "", &options, &result), GS_OK);
        assert_int_equal(result.measured, options.candidates);
        options.again = true;
        assert_int_equal(list_with(b, &problem, 1, "", &options), GS_OK);
        assert_int_equal(seen.status[0], GS_OK);
    }
}

/* ---- what policies are told ---- */

static gs_feedback heard[8];
static int         heard_count;

static void hear(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    (void)policy, (void)problem, (void)caps;
    heard_count = count;
    memcpy(heard, feedback, (size_t)count * sizeof *heard);
}

/* Who left a narrowing run early has a time of other clocks: it is not told to be faster than who was in to the end. */
static void who_left_early_was_slower(void **state)
{
    bench *const b = *state;
    const gs_tune_options options = options_of(b);
    const gs_problem problem = problem_of(PROBLEM);
    gs_tune_result result = {0};
    gs_schedule schedules[6];
    gs_policy policy = {.learn = hear};
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 0, schedules, 6), 6);
    gs_candidate list[6] = {
        {.measured = true, .us = 10, .rounds = 24}, {.measured = true, .us = 12, .rounds = 24}, {.measured = true, .us = 7, .rounds = 3},
        {.measured = true, .us = 30, .rounds = 3},  {.verdict = GS_VERDICT_HANG, .us = 1, .rounds = 30}, {.us = 1},
    };
    for (int i = 0; i < 6; i++) list[i].schedule = schedules[i];
    gs_run run = gs_run_open(b->store, &b->session, &b->worker, gs_caps_find("h200"), &problem, &options, &result);
    run.list = list;
    run.count = 6;
    run.evaluator.search = true;
    static const double told[] = {10, 12, 12, 30, 0};
    gs_run_teach(&run, &policy, 0);
    assert_int_equal(heard_count, 5);   /* of the last one nothing is known */
    for (int i = 0; i < 5; i++) assert_float_equal(heard[i].us, told[i], 0);
    assert_true(heard[2].reward == heard[1].reward && heard[0].reward > heard[1].reward && heard[4].reward == -1);
    assert_int_equal(heard[4].verdict, GS_VERDICT_HANG);
    gs_run_teach(&run, &policy, 2);   /* also where those of the end are not among them */
    assert_int_equal(heard_count, 3);
    assert_float_equal(heard[0].us, 12, 0);
    heard_count = 0;
    gs_run_teach(&run, &policy, 6);
    assert_int_equal(heard_count, 0);
    run.evaluator.search = false;   /* rounds then say how near the best it was */
    gs_run_teach(&run, &policy, 0);
    assert_float_equal(heard[2].us, 7, 0);
}

/* ---- the second round of a list ---- */

static void a_list_has_two_rounds(void **state)
{
    enum { SOME = 12 };
    bench *const b = *state;
    char script[160], log[96];
    gs_tune_options options = options_of(b);
    options.candidates = SOME;
    options.unconfirmed = true;
    memcpy(log, b->log_path, sizeof log);
    for (size_t i = 0; i < GS_COUNT(learners); i++) {
        options.policy = learners[i];
        options.again = true;
        snprintf(b->log_path, sizeof b->log_path, "%.80s.%zu", log, i);
        snprintf(script, sizeof script, "log=%s", b->log_path);
        assert_int_equal(list_with(b, three + i, 1, script, &options), GS_OK);
        assert_int_equal(asked(b, "\"narrow\":true"), 2);
        assert_int_equal(seen.result[0].proposed, SOME);
        assert_int_equal(seen.result[0].compiled, SOME);
        assert_int_equal(trials(b, three[i]), SOME);
        assert_string_equal(seen.result[0].best_own, fastest_tried(b, three[i]).text);

        /* the best of the first round were in the second: eight candidates, then four with three of those */
        char *text;
        size_t size;
        assert_int_equal(gs_file_read(b->log_path, 1 << 24, &text, &size, NULL), GS_OK);
        char *const first = strstr(text, "\"narrow\":true"), *const second = strstr(first + 1, "\"narrow\":true");
        assert_non_null(second);
        int in_both = 0;
        gs_policy policy;
        const gs_problem problem = problem_of(three[i]);
        gs_schedule list[SOME];
        assert_int_equal(gs_policy_create(&policy, learners[i], options.seed, NULL), GS_OK);
        assert_int_equal(policy.propose(&policy, &problem, gs_caps_find("h200"), list, 8), 8);
        policy.destroy(&policy);
        char *line = second;
        while (line > text && line[-1] != '\n') line--;
        line[strcspn(line, "\n")] = '\0';
        double worst_in = 0, best_out = 1e30;
        for (int c = 0; c < 8; c++) {
            char name[GS_SCHEDULE_TEXT], quoted[GS_SCHEDULE_TEXT + 2];
            snprintf(quoted, sizeof quoted, "\"%s\"", gs_schedule_format(&list[c], name));
            const bool in = strstr(line, quoted) != NULL;
            in_both += in;
            if (in) worst_in = GS_MAX(worst_in, fake_us(&list[c], &problem));
            if (!in) best_out = GS_MIN(best_out, fake_us(&list[c], &problem));
        }
        assert_int_equal(in_both, 3);
        assert_true(worst_in <= best_out);
        free(text);
    }
}

static void several_problems_have_two_rounds_each(void **state)
{
    enum { SOME = 9 };
    bench *const b = *state;
    char script[160];
    gs_tune_options options = options_of(b);
    options.candidates = SOME;
    options.policy = "evolve";
    snprintf(script, sizeof script, "library=1.5;log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &options), GS_OK);
    assert_int_equal(asked(b, "\"narrow\":true"), 6);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seen.status[i], GS_OK);
        assert_true(seen.result[i].confirmed && seen.result[i].proposed == SOME);
        assert_int_equal(trials(b, three[i]), SOME);
        assert_string_equal(seen.result[i].best_own, fastest_tried(b, three[i]).text);
    }
    assert_int_equal(b->worker.started, 2);
    assert_int_equal(winners(b), 3);
}

static void weights_are_loaded_and_written(void **state)
{
    bench *const b = *state;
    char path[96], usual[GS_SCHEDULE_TEXT];
    gs_tune_options options = options_of(b);
    gs_weights before, after;
    char *data;
    size_t size;
    snprintf(path, sizeof path, "%s/learned.weights", b->folder);
    options.policy = "learned";
    options.unconfirmed = options.again = true;
    options.candidates = 9;
    options.learn_path = path;
    assert_int_equal(list_with(b, three, 1, "", &options), GS_OK);
    assert_int_equal(gs_weights_load(&before, path, NULL), GS_OK);
    memcpy(usual, seen.result[0].best_own, sizeof usual);

    /* a file that has nothing good to say of any family that was tried */
    const uint32_t tried = fastest_tried(b, three[0]).families;
    gs_net *const net = &before.surrogate.net[0];
    memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
    float *const second = net->weights + (net->width[0] + 1) * net->width[1], *const third = second + (net->width[1] + 1) * net->width[2];
    for (int family = 0; family < GS_FAMILIES; family++)
        if (tried >> family & 1) net->weights[(GS_PROBLEM_FEATURES + GS_WORK_FEATURES + gs_token_of((gs_family_id)family, -1, 0)) * net->width[1]] = 1;
    second[0] = 1;
    third[0] = 8;
    assert_int_equal(gs_weights_save(&before, path, NULL), GS_OK);
    assert_int_equal(list_with(b, three + 1, 1, "", &options), GS_OK);
    const gs_schedule best = schedule_of(seen.result[0].best_own);
    assert_false(tried >> best.family & 1);

    /* and what was measured then is in it; the usual way too */
    assert_int_equal(gs_weights_load(&after, path, NULL), GS_OK);
    assert_true(memcmp(after.actor.net.weights, before.actor.net.weights, (size_t)after.actor.net.count * sizeof(float)) != 0);
    gs_weights_free(&before);
    before = after;
    gs_tune_result result;
    assert_int_equal(tune_with(b, three[2], "", &options, &result), GS_OK);
    assert_int_equal(gs_weights_load(&after, path, NULL), GS_OK);
    assert_true(memcmp(after.actor.net.weights, before.actor.net.weights, (size_t)after.actor.net.count * sizeof(float)) != 0);
    gs_weights_free(&before);
    gs_weights_free(&after);

    /* an actor whose numbers are finite, and their products are not: said in one line, and the file stays as it was */
    gs_weights sure;
    char *then;
    size_t then_size;
    assert_int_equal(gs_weights_load(&sure, path, NULL), GS_OK);
    gs_net *const actor = &sure.actor.net;
    for (int i = 0; i < actor->count; i++) actor->weights[i] = 3e38f;
    assert_int_equal(gs_weights_save(&sure, path, NULL), GS_OK);
    gs_weights_free(&sure);
    assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &then, &then_size, NULL), GS_OK);
    assert_int_equal(list_with(b, three, 1, "", &options), GS_ERROR_CORRUPT);
    assert_int_equal(tune_with(b, three[2], "", &options, &result), GS_ERROR_CORRUPT);
    assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
    assert_int_equal(size, then_size);
    assert_memory_equal(data, then, size);
    free(data);
    free(then);

    /* what is no weights is somebody's: nothing is tuned with it, and nothing written */
    assert_int_equal(gs_file_write(path, "mine", 4, NULL), GS_OK);
    assert_int_equal(list_with(b, three, 1, "", &options), GS_ERROR_CORRUPT);
    assert_int_equal(tune_with(b, three[0], "", &options, &result), GS_ERROR_CORRUPT);
    assert_int_equal(gs_file_read(path, 100, &data, &size, NULL), GS_OK);
    assert_string_equal(data, "mine");
    free(data);
}

/* What the last search found races along, once. */
static void what_was_found_races_along(void **state)
{
    enum { SOME = 6 };
    static const char *const names[] = {"learned", "evolve", "enumerate"};
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    options.candidates = SOME;
    options.unconfirmed = options.again = true;
    options.families = 1u << GS_FAMILY_WS;
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        const answer found = fastest_of(three[i], options.families);
        put_found(b, "0", three[i], found.text);
        options.policy = names[i];
        assert_int_equal(list_with(b, three + i, 1, "", &options), GS_OK);
        assert_string_equal(seen.result[0].best_own, found.text);
        assert_int_equal(trials(b, three[i]), SOME + 1);
        assert_int_equal(seen.result[0].proposed, SOME + 1);
    }
    /* it is proposed as well */
    options.policy = "enumerate";
    options.families = 0;
    options.candidates = CANDIDATES;
    answer best[CANDIDATES];
    static const char *const other = "f16:2048x512x1024:tn";
    right_answers(other, best);
    put_found(b, "0", other, best[4].text);
    assert_int_equal(list_with(b, &other, 1, "", &options), GS_OK);
    assert_int_equal(seen.result[0].proposed, CANDIDATES);
    assert_int_equal(trials(b, other), CANDIDATES);
    assert_string_equal(seen.result[0].best_own, best[0].text);
}

/* ---- what goes wrong in the second round ---- */

/* A candidate that the second round asked about and the first did not: of the last search in the log. */
static void second_round(const bench *b, char name[GS_SCHEDULE_TEXT], int which)
{
    char *text;
    size_t size;
    assert_int_equal(gs_file_read(b->log_path, 1 << 24, &text, &size, NULL), GS_OK);
    char *const first = strstr(text, "\"narrow\":true"), *second = first ? strstr(first + 1, "\"narrow\":true") : NULL;
    assert_non_null(second);
    while (second > text && second[-1] != '\n') second--;
    second[-1] = '\0';
    char *at = strstr(second, "\"contenders\"");
    assert_non_null(at);
    at = strchr(at, '[');
    for (int i = 0, found = 0; found <= which; i++) {
        char quoted[GS_SCHEDULE_TEXT + 2];
        at = strchr(at, '"');
        assert_true(at && i < 64);
        const int length = (int)strcspn(at + 1, "\"");
        snprintf(quoted, sizeof quoted, "\"%.*s\"", length, at + 1);
        snprintf(name, GS_SCHEDULE_TEXT, "%.*s", length, at + 1);
        found += strstr(text, quoted) == NULL;
        at += length + 2;
    }
    free(text);
}

static void a_hang_costs_only_its_candidate(void **state)
{
    enum { SOME = 12 };
    bench *const b = *state;
    char script[320], name[GS_SCHEDULE_TEXT];
    gs_tune_options options = options_of(b);
    options.candidates = SOME;
    options.unconfirmed = true;
    options.policy = "evolve";
    options.timeout_s = 1;
    snprintf(script, sizeof script, "log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 1, script, &options), GS_OK);
    second_round(b, name, 1);

    gs_store_close(&b->store);   /* nobody knows anything */
    snprintf(b->store_path, sizeof b->store_path, "%s/another.db", b->folder);
    open_store(b);
    snprintf(script, sizeof script, "hang=%s", name);
    assert_int_equal(list_with(b, three, 2, script, &options), GS_OK);
    assert_string_equal(trial_of(b, three[0], name).verdict, "hang");
    assert_int_equal(seen.status[0], GS_OK);
    assert_int_equal(seen.status[1], GS_OK);
    assert_int_equal(seen.result[0].rejected, 1);
    assert_int_equal(seen.result[1].rejected, 0);
    assert_int_equal(trials(b, three[0]), SOME);
    assert_string_equal(seen.result[0].best_own, fastest_tried(b, three[0]).text);
}

static int races;

static void stop_in_the_second(void *self, const gs_tune_progress *progress)
{
    (void)self;
    if (progress->stage == GS_TUNE_RACE && ++races == 2) gs_stop_requested = 1;
}

static void a_stop_in_the_second_round_goes_on(void **state)
{
    enum { SOME = 12 };
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    options.candidates = SOME;
    options.policy = "evolve";
    options.progress = stop_in_the_second;
    races = 0;
    assert_int_equal(list_with(b, three, 1, "library=1.5", &options), GS_ERROR_INTERRUPTED);
    assert_int_equal(races, 2);
    assert_int_equal(seen.count, 0);
    assert_int_equal(winners(b), 0);
    assert_false(gs_file_exists(b->table_path));
    gs_stop_requested = 0;
    options.progress = NULL;
    assert_int_equal(list_with(b, three, 1, "library=1.5", &options), GS_OK);
    assert_int_equal(seen.status[0], GS_OK);
    assert_true(seen.result[0].confirmed);
    assert_int_equal(trials(b, three[0]), SOME);
    assert_string_equal(seen.result[0].best_own, fastest_tried(b, three[0]).text);

    /* of one problem alone, with its rounds */
    gs_tune_result result;
    races = 0;
    options.progress = stop_in_the_second;
    assert_int_equal(tune_with(b, three[1], "library=1.5", &options, &result), GS_ERROR_INTERRUPTED);
    assert_int_equal(winners(b), 1);
    gs_stop_requested = 0;
    options.progress = NULL;
    assert_int_equal(tune_with(b, three[1], "library=1.5", &options, &result), GS_OK);
    assert_string_equal(result.best_own, fastest_tried(b, three[1]).text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, from_scratch, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_problem_has_rounds), CASE(one_candidate_is_enough), CASE(who_left_early_was_slower), CASE(a_list_has_two_rounds),
        CASE(several_problems_have_two_rounds_each), CASE(weights_are_loaded_and_written), CASE(what_was_found_races_along),
        CASE(a_hang_costs_only_its_candidate), CASE(a_stop_in_the_second_round_goes_on),
    };
    return cmocka_run_group_tests_name("tune/learn", tests, NULL, NULL);
}

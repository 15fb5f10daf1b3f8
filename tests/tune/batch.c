/* SPDX-License-Identifier: MIT
 * Proves the tuning of a list against a scripted worker: every problem gets its fastest schedule, only it is verified, one fresh worker
 * confirms a batch, what is bad falls out and what was found is found again, and kernels are compiled ahead. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "device/device.h"
#include "tune/run.h"
#include "tuning_list.h"

static void every_problem_gets_its_fastest(void **state)
{
    bench *const b = *state;
    char script[160];
    const gs_tune_options options = options_of(b);
    snprintf(script, sizeof script, "library=1.5;log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &options), GS_OK);
    for (int i = 0; i < 3; i++) {
        expect_best(b, i, three[i], 0);
        assert_true(seen.result[i].confirmed && !seen.result[i].row.library);
        assert_int_equal(seen.result[i].verified, 1);
        assert_int_equal(seen.result[i].measured, CANDIDATES);
        assert_int_equal(trials(b, three[i]), CANDIDATES);
    }
    assert_int_equal(b->worker.started, 2);   /* one fresh worker confirmed all */
    assert_int_equal(asked(b, "\"narrow\":true"), 3);
    assert_int_equal(asked(b, "\"op\":\"verify\""), 3);
    assert_int_equal(asked(b, "\"op\":\"bench\""), 6);
    assert_int_equal(asked(b, "cublaslt-autotuning"), 3);
    assert_int_equal(winners(b), 3);

    /* the same again, and the usual way: from the store */
    assert_int_equal(list_with(b, three, 3, "mode=abort", &options), GS_OK);
    for (int i = 0; i < 3; i++) assert_true(seen.result[i].resumed && seen.result[i].confirmed);
    assert_int_equal(b->worker.started, 0);
    gs_tune_result result;
    assert_int_equal(tune_with(b, three[1], "mode=abort", &options, &result), GS_OK);
    assert_true(result.resumed);
}

static void the_library_may_win(void **state)
{
    bench *const b = *state;
    const gs_tune_options options = options_of(b);
    assert_int_equal(list_with(b, three, 1, "library=0.7", &options), GS_OK);
    assert_int_equal(seen.result[0].row.library, 3);
    assert_true(seen.result[0].best_own_ratio > 0.5 && seen.result[0].best_own_ratio < 0.95);
}

/* Times of a search stand in the store, but as no comparison with the library; a figure beside it stays. */
static void a_search_compares_nothing(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    assert_int_equal(tune_with(b, PROBLEM, "library=1.5", &options, &result), GS_OK);
    const gs_trial before = trial_of(b, PROBLEM, best[3].text);
    options.again = options.unconfirmed = true;
    assert_int_equal(list_with(b, three, 2, "library=1.5", &options), GS_OK);
    const gs_trial after = trial_of(b, PROBLEM, best[3].text);
    assert_true(before.ratio > 0 && before.ratio == after.ratio && before.us == after.us);
    assert_string_equal(before.stage, after.stage);
    right_answers(three[1], best);
    const gs_trial alone = trial_of(b, three[1], best[3].text);
    assert_true(alone.us > 0 && alone.ratio == 0 && alone.library_us == 0);
    assert_string_equal(alone.stage, "search");
    assert_string_equal(alone.verdict, "");

    /* the usual tuning measures it beside the library */
    options.again = options.unconfirmed = false;
    assert_int_equal(tune_with(b, three[1], "library=1.5", &options, &result), GS_OK);
    assert_int_equal(result.measured, CANDIDATES);
    assert_true(trial_of(b, three[1], best[3].text).ratio > 0);
}

static void unconfirmed_is_found_again(void **state)
{
    bench *const b = *state;
    char script[160], text[GS_SCHEDULE_TEXT];
    gs_problem problem;
    gs_tune_options options = options_of(b);
    options.unconfirmed = true;
    assert_int_equal(list_with(b, three, 3, "library=1.5", &options), GS_OK);
    for (int i = 0; i < 3; i++) {
        expect_best(b, i, three[i], 0);
        assert_false(seen.result[i].confirmed || seen.result[i].resumed);
        problem = problem_of(three[i]);
        assert_int_equal(gs_tune_best_own(b->store, &b->session, &problem, text, NULL), GS_OK);
        assert_string_equal(text, seen.result[i].best_own);
    }
    assert_int_equal(winners(b), 0);
    assert_false(gs_file_exists(b->table_path));
    assert_int_equal(b->worker.started, 1);

    assert_int_equal(list_with(b, three, 3, "mode=abort", &options), GS_OK);
    for (int i = 0; i < 3; i++) {
        expect_best(b, i, three[i], 0);
        assert_true(seen.result[i].resumed);
    }
    assert_int_equal(b->worker.started, 0);

    /* of other kernels nothing is known */
    gs_session other = b->session;
    other.version = "1";
    assert_int_equal(gs_tune_best_own(b->store, &other, &problem, text, NULL), GS_OK);
    assert_string_equal(text, "");

    /* confirming needs no search */
    options.unconfirmed = false;
    snprintf(script, sizeof script, "library=1.5;log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &options), GS_OK);
    for (int i = 0; i < 3; i++) expect_best(b, i, three[i], 0);
    assert_int_equal(asked(b, "\"narrow\":true"), 0);
    assert_int_equal(asked(b, "\"op\":\"verify\""), 0);
    assert_int_equal(winners(b), 3);
}

static void bad_ones_fall_out(void **state)
{
    /* legend: rule of the script, verdict that follows; applied to the fastest ones in this order */
    static const char *const bad[][2] = {
        {"hang", "hang"}, {"crash", "fault"}, {"wrong", "exact"}, {"fault", "fault"}, {"timed", "timed"}, {"fast", "floor"},
        {"compile", "compile"}, {"late", "timed"},
    };
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_text rules = {0};
    gs_tune_options options = options_of(b);
    options.timeout_s = 2;
    right_answers(PROBLEM, best);
    gs_text_add(&rules, "library=1.5");
    for (size_t i = 0; i < GS_COUNT(bad); i++) gs_text_addf(&rules, ";%s=%s", bad[i][0], best[i].text);
    assert_int_equal(list_with(b, three, 2, rules.data, &options), GS_OK);
    expect_best(b, 0, PROBLEM, (int)GS_COUNT(bad));
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        const gs_trial trial = trial_of(b, PROBLEM, best[i].text);
        if (strcmp(trial.verdict, bad[i][1]) != 0) print_error("%s: %s\n", bad[i][0], trial.verdict);
        assert_string_equal(trial.verdict, bad[i][1]);
        assert_true(trial.reason[0] != '\0');
    }
    assert_int_equal(seen.status[1], GS_OK);

    /* they are not proposed again */
    gs_text_clear(&rules);
    gs_text_addf(&rules, "library=1.5;log=%s", b->log_path);
    options.again = true;
    assert_int_equal(list_with(b, three, 1, rules.data, &options), GS_OK);
    assert_int_equal(seen.result[0].rejected, 0);
    assert_int_equal(seen.result[0].measured, CANDIDATES);   /* others took their places */
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        gs_text_clear(&rules);
        gs_text_addf(&rules, "\"%s\"", best[i].text);
        assert_int_equal(asked(b, rules.data), 0);
    }
    gs_text_free(&rules);
}

/* What hangs costs its time once. */
static void suspects_are_left_out(void **state)
{
    static const char *const texts[] = {PROBLEM, "f16:1024x1024x1024:tn:lda=1088", "f16:1024x1024x1024:nn"};
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_text rules = {0}, name = {0};
    gs_tune_options options = options_of(b);
    options.timeout_s = 2;
    options.unconfirmed = true;
    right_answers(PROBLEM, best);
    gs_text_addf(&rules, "library=1.5;hang=%s;log=%s", best[4].text, b->log_path);
    gs_text_addf(&name, "\"%s\"", best[4].text);
    assert_int_equal(list_with(b, texts, 2, rules.data, &options), GS_OK);
    assert_string_equal(trial_of(b, PROBLEM, best[4].text).verdict, "hang");
    assert_int_equal(seen.result[0].measured, CANDIDATES - 1);
    assert_int_equal(seen.result[1].measured, CANDIDATES - 1);
    assert_int_equal(seen.result[1].rejected, 0);       /* it was not tried, so nothing is said about it */
    const int times = asked(b, name.data);
    assert_true(times >= 2 && times <= 6);              /* the halves that it was in */
    gs_text_free(&rules);
    gs_text_free(&name);
}

static void one_bad_problem_stops_no_other(void **state)
{
    static const char *const texts[] = {PROBLEM, "f16:0x64x64:tn", "f16:256x512x1024:tn"};
    bench *const b = *state;
    const gs_tune_options options = options_of(b);
    assert_int_equal(list_with(b, texts, 3, "library=1.5", &options), GS_OK);
    assert_int_equal(seen.status[1], GS_ERROR_RANGE);
    expect_best(b, 0, texts[0], 0);
    expect_best(b, 2, texts[2], 0);

    /* a machine without the library: each problem says so, and who watches may end it */
    seen.end_after = 1;
    const gs_tune_options again = {.candidates = 4, .seed = 7, .cache_path = "", .timeout_s = 30, .again = true};
    assert_int_equal(list_with(b, three, 3, "reference=GS_ERROR_NO_LIBRARY", &again), GS_OK);
    seen.end_after = 0;
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.status[0], GS_ERROR_NO_LIBRARY);
}

/* Where cuBLASLt computes nothing right, the fastest of ours is taken without it; where ours fails too, nothing is. */
static void alone_where_the_library_fails(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_options options = options_of(b);
    gs_row row;
    gs_text rules = {0};
    right_answers(PROBLEM, best);
    gs_text_addf(&rules, "reference=wrong;wrong=%s", best[0].text);
    assert_int_equal(list_with(b, three, 1, rules.data, &options), GS_OK);
    assert_int_equal(seen.status[0], GS_OK);
    assert_true(gs_row_alone(&seen.result[0].row));
    assert_non_null(strstr(seen.result[0].alone, "wrong result"));
    assert_string_equal(seen.result[0].best_own, best[1].text);
    assert_true(table_row(b, PROBLEM, &row) && gs_row_alone(&row) && row.us > 0);
    const gs_trial trial = trial_of(b, PROBLEM, best[1].text);
    assert_string_equal(trial.stage, "confirm");
    assert_true(trial.us > 0 && trial.ratio == 0 && trial.library_us == 0);

    gs_text_clear(&rules);   /* of the second problem, whose candidates all fail, nothing is recorded */
    gs_text_add(&rules, "reference=GS_ERROR_UNSUPPORTED");
    const gs_problem second = problem_of(three[1]);
    gs_schedule list[CANDIDATES];
    gs_policy policy;
    char text[GS_SCHEDULE_TEXT];
    assert_int_equal(gs_policy_create(&policy, "enumerate", 0, NULL), GS_OK);
    const int count = policy.propose(&policy, &second, gs_caps_find("h200"), list, CANDIDATES);
    policy.destroy(&policy);
    for (int i = 0; i < count; i++) gs_text_addf(&rules, ";wrong=%s", gs_schedule_format(&list[i], text));
    assert_int_equal(list_with(b, &three[1], 1, rules.data, &options), GS_OK);
    assert_int_equal(seen.status[0], GS_ERROR_UNSUPPORTED);
    assert_int_equal(winners(b), 1);
    gs_text_free(&rules);
}

static void nothing_passes(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_options options = options_of(b);
    gs_text rules = {0};
    right_answers(PROBLEM, best);
    gs_text_add(&rules, "library=1.5");
    for (int i = 0; i < CANDIDATES; i++) gs_text_addf(&rules, ";wrong=%s", best[i].text);
    options.unconfirmed = true;
    assert_int_equal(list_with(b, three, 2, rules.data, &options), GS_OK);
    assert_int_equal(seen.status[0], GS_ERROR_UNSUPPORTED);
    assert_int_equal(seen.status[1], GS_OK);
    options.unconfirmed = false;
    options.candidates = 1;
    gs_text_clear(&rules);
    gs_text_add(&rules, "library=1.5;wrong=ws/128x128x64/s4/c1x1/coop/g1");
    assert_int_equal(list_with(b, three, 1, rules.data, &options), GS_OK);   /* all that were tried are bad: another one */
    gs_text_free(&rules);
}

static void stop_at(void *self, const gs_tune_progress *progress)
{
    if (strcmp(gs_tune_stage_name(progress->stage), self) == 0) gs_stop_requested = 1;
}

static void a_stopped_list_goes_on(void **state)
{
    static const char *const stages[] = {"race", "verify", "confirm"};
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    for (size_t i = 0; i < GS_COUNT(stages); i++) {
        char stage[16];
        snprintf(stage, sizeof stage, "%s", stages[i]);
        gs_stop_requested = 0;
        options.progress = stop_at;
        options.self = stage;
        assert_int_equal(list_with(b, three, 3, "library=1.5", &options), GS_ERROR_INTERRUPTED);
        assert_int_equal(seen.count, 0);
        assert_int_equal(winners(b), 0);
        assert_false(gs_file_exists(b->table_path));
    }
    gs_stop_requested = 0;
    options.progress = NULL;
    assert_int_equal(list_with(b, three, 3, "library=1.5", &options), GS_OK);
    for (int i = 0; i < 3; i++) expect_best(b, i, three[i], 0);
}

static void a_budget_ends_the_list(void **state)
{
    bench *const b = *state;
    char text[MOST][GS_PROBLEM_TEXT];
    const char *texts[MOST];
    gs_tune_options options = options_of(b);
    for (int i = 0; i < MOST; i++) {
        snprintf(text[i], sizeof text[i], "f16:%dx512x1024:tn", 64 * (i + 1));
        texts[i] = text[i];
    }
    options.budget_s = 6;
    options.candidates = 4;
    const int64_t began = gs_clock_ns();
    assert_int_equal(list_with(b, texts, MOST, "delay=300", &options), GS_ERROR_INTERRUPTED);
    assert_true(gs_clock_since(began) < 16);
    assert_true(seen.count >= 1 && seen.count < MOST);
    assert_int_equal(winners(b), seen.count);   /* what was begun was confirmed */
    const int first = seen.count;
    options.budget_s = 0;
    assert_int_equal(list_with(b, texts, MOST, "", &options), GS_OK);
    assert_int_equal(seen.count, MOST);
    int resumed = 0;
    for (int i = 0; i < MOST; i++) resumed += seen.result[i].resumed;
    assert_int_equal(resumed, first);
}

/* Where the floor is a millisecond or less, more rounds. */
static void short_calls_have_more_rounds(void **state)
{
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    const gs_caps *const caps = gs_caps_find("h200");
    char script[160], text[2][GS_PROBLEM_TEXT];
    gs_problem problem = problem_of("f16:1000x8192x8192:tn");
    snprintf(script, sizeof script, "log=%s", b->log_path);
    while (gs_floor_us(&problem, caps) <= 1000) problem.m++;
    gs_problem_format(&problem, text[1]);
    problem.m--;
    assert_true(gs_floor_us(&problem, caps) > 999 && gs_floor_us(&problem, caps) <= 1000);
    gs_problem_format(&problem, text[0]);
    options.candidates = 4;
    for (int i = 0; i < 2; i++) {
        unlink(b->log_path);
        assert_int_equal(list_with(b, (const char *const[]){text[i]}, 1, script, &options), GS_OK);
        assert_int_equal(asked(b, i ? "\"rounds\":9," : "\"rounds\":15,"), 1);    /* of a search */
        assert_int_equal(asked(b, i ? "\"rounds\":11," : "\"rounds\":21,"), 1);   /* of what confirms it */
    }
}

/* Where each answer takes long, a batch is small enough for all that was searched in it to be proved and confirmed in time. */
static void a_budget_reckons_with_a_slow_worker(void **state)
{
    static const char *const texts[] = {PROBLEM, "f16:256x512x1024:tn", "f16:512x4096x256:nn", "f16:64x512x1024:tn", "f16:128x512x1024:tn"};
    bench *const b = *state;
    char script[160];
    gs_tune_options options = options_of(b);
    options.budget_s = 8;
    options.candidates = 4;
    snprintf(script, sizeof script, "delay=1200;log=%s", b->log_path);
    assert_int_equal(list_with(b, texts, 5, script, &options), GS_ERROR_INTERRUPTED);
    assert_in_range(seen.count, 1, 3);
    assert_int_equal(winners(b), seen.count);
    assert_int_equal(asked(b, "\"narrow\":true"), seen.count);
}

/* Without a search, what the usual tuning found fastest. */
static void own_is_known_from_tuning_too(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char text[GS_SCHEDULE_TEXT];
    const gs_problem problem = problem_of(PROBLEM);
    gs_tune_result result;
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    assert_int_equal(gs_tune_best_own(b->store, &b->session, &problem, text, NULL), GS_OK);
    assert_string_equal(text, "");
    assert_int_equal(tune_with(b, PROBLEM, "library=0.8", &options, &result), GS_OK);   /* also where the library won */
    assert_int_equal(gs_tune_best_own(b->store, &b->session, &problem, text, NULL), GS_OK);
    assert_string_equal(text, best[0].text);
    /* a race that shows another one a little faster than what was confirmed says nothing; much faster, it does */
    gs_trial confirmed = trial_of(b, PROBLEM, best[0].text), raced = trial_of(b, PROBLEM, best[1].text);
    snprintf(confirmed.stage, sizeof confirmed.stage, "confirm");
    snprintf(raced.stage, sizeof raced.stage, "race");
    snprintf(raced.verdict, sizeof raced.verdict, "%s", confirmed.verdict);
    for (int percent = 0; percent < 3; percent += 2) {
        raced.us = confirmed.us / (1.005 + 0.01 * percent);
        raced.ratio = confirmed.ratio * (1.005 + 0.01 * percent);
        assert_int_equal(gs_store_put(b->store, &b->session, &confirmed, NULL), GS_OK);
        assert_int_equal(gs_store_put(b->store, &b->session, &raced, NULL), GS_OK);
        assert_int_equal(gs_tune_best_own(b->store, &b->session, &problem, text, NULL), GS_OK);
        assert_string_equal(text, best[percent > 0].text);
    }
}

/* The same kernel on the same edge problems is asked about once. */
static void edges_are_proved_once(void **state)
{
    static const char *const texts[] = {PROBLEM, "f16:1024x1024x1024:tn:lda=1088", "f16:1024x1024x1024:nn"};
    bench *const b = *state;
    char script[160];
    gs_tune_options options = options_of(b);
    options.candidates = 1;
    options.families = 1u << GS_FAMILY_WS;
    options.unconfirmed = true;
    snprintf(script, sizeof script, "log=%s", b->log_path);
    assert_int_equal(list_with(b, texts, 3, script, &options), GS_OK);
    assert_string_equal(seen.result[0].best_own, seen.result[1].best_own);
    assert_int_equal(asked(b, "\"parts\":255"), 2);   /* the other layout is another kernel */
    assert_int_equal(asked(b, "\"parts\":239"), 1);
    assert_non_null(strstr(trial_of(b, texts[1], seen.result[1].best_own).reason, "before"));
}

static void kernels_are_compiled_ahead(void **state)
{
    bench *const b = *state;
    if (gs_compiler_version(NULL) == 0) skip();
    char cache[96];
    gs_problem problems[2];
    gs_schedule first[4], second[4];
    gs_policy policy;
    gs_ahead *ahead;
    gs_error error = {0};
    int count, failed;
    snprintf(cache, sizeof cache, "%s/cache", b->folder);
    const gs_tune_options options = {.cache_path = cache, .seed = 1, .families = 1u << GS_FAMILY_WS};
    for (int i = 0; i < 2; i++) problems[i] = problem_of(three[i]);
    assert_int_equal(gs_ahead_start(&ahead, gs_caps_find("h200"), problems, 2, 4, &options, 0, &error), GS_OK);
    assert_int_equal(gs_ahead_take(ahead, 1, second, &count, &failed, &error), GS_OK);
    assert_int_equal(count, 4);
    assert_int_equal(failed, 0);
    assert_int_equal(gs_ahead_take(ahead, 0, first, &count, &failed, &error), GS_OK);

    /* what the policy proposes here */
    gs_schedule expected[4];
    assert_int_equal(gs_policy_create(&policy, "enumerate", 1, NULL), GS_OK);
    policy.families = options.families;
    assert_int_equal(policy.propose(&policy, &problems[0], gs_caps_find("h200"), expected, 4), 4);
    policy.destroy(&policy);
    assert_memory_equal(first, expected, sizeof expected);

    const int before = files_in(cache);
    assert_true(before >= 4 && before <= 8);
    gs_ahead_edges(ahead, 0, &first[0]);
    assert_int_equal(gs_ahead_wait_edges(ahead, &error), GS_OK);
    const int after = files_in(cache);
    assert_true(after > before);                       /* with C, and by element where rows are not aligned */
    gs_ahead_edges(ahead, 0, &first[0]);               /* not twice */
    assert_int_equal(gs_ahead_wait_edges(ahead, &error), GS_OK);
    assert_int_equal(files_in(cache), after);
    int again;
    assert_int_equal(gs_precompile(gs_caps_find("h200"), &problems[0], first, 4, 1, 0, cache, &again, &error), GS_OK);
    assert_int_equal(files_in(cache), after);          /* nothing was left to do */
    gs_ahead_end(&ahead);
    assert_null(ahead);
    gs_ahead_end(&ahead);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- the policy "refine" ---- */

static double fake_time(const char *problem_text, const char *schedule_text)
{
    const gs_problem problem = problem_of(problem_text);
    const gs_schedule schedule = schedule_of(schedule_text);
    return fake_us(&schedule, &problem);
}

static bool is_shortlisted(const char *problem_text, const char *schedule_text, int most)
{
    const gs_problem problem = problem_of(problem_text);
    gs_schedule list[CANDIDATES];
    char text[GS_SCHEDULE_TEXT];
    const int count = gs_schedule_shortlist(&problem, gs_caps_find("h200"), 0, list, most);
    for (int i = 0; i < count; i++)
        if (strcmp(gs_schedule_format(&list[i], text), schedule_text) == 0) return true;
    return false;
}

static void refine_searches_what_was_found_again(void **state)
{
    enum { SOME = 6, FEW = 3 };
    bench *const b = *state;
    char script[160], before[3][GS_SCHEDULE_TEXT], text[GS_SCHEDULE_TEXT];
    gs_problem problem;
    gs_tune_options options = options_of(b);
    options.unconfirmed = true;
    options.candidates = SOME;
    assert_int_equal(list_with(b, three, 3, "", &options), GS_OK);
    int beyond = 0;
    for (int i = 0; i < 3; i++) {
        memcpy(before[i], seen.result[i].best_own, sizeof before[i]);
        beyond += !is_shortlisted(three[i], before[i], FEW);
    }
    assert_true(beyond > 0);   /* a new search of so few would lose these */

    gs_tune_options refine = options;
    refine.policy = "refine";
    refine.candidates = FEW;
    snprintf(script, sizeof script, "log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &refine), GS_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(asked(b, "\"narrow\":true"), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seen.status[i], GS_OK);
        assert_false(seen.result[i].resumed || seen.result[i].confirmed);
        assert_int_equal(seen.result[i].measured, FEW);
        assert_true(fake_time(three[i], seen.result[i].best_own) <= fake_time(three[i], before[i]));
    }

    /* more of them find faster ones, which the store then knows */
    refine.candidates = CANDIDATES;
    assert_int_equal(list_with(b, three, 3, "", &refine), GS_OK);
    int faster = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seen.result[i].measured, CANDIDATES);
        assert_true(fake_time(three[i], seen.result[i].best_own) <= fake_time(three[i], before[i]));
        faster += fake_time(three[i], seen.result[i].best_own) < fake_time(three[i], before[i]);
        memcpy(before[i], seen.result[i].best_own, sizeof before[i]);
        problem = problem_of(three[i]);
        assert_int_equal(gs_tune_best_own(b->store, &b->session, &problem, text, NULL), GS_OK);
        assert_string_equal(text, before[i]);
    }
    assert_true(faster > 0);
    options.unconfirmed = false;
    snprintf(script, sizeof script, "library=1.5;log=%s.2", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &options), GS_OK);
    for (int i = 0; i < 3; i++) assert_string_equal(seen.result[i].best_own, before[i]);
    assert_int_equal(winners(b), 3);

    /* a winner is not searched again */
    assert_int_equal(list_with(b, three, 3, "mode=abort", &refine), GS_OK);
    for (int i = 0; i < 3; i++) assert_true(seen.result[i].resumed);
    assert_int_equal(b->worker.started, 0);
}

static void refine_asks_the_neighbours(void **state)
{
    static const char *const near = "f16:256x640x1024:tn";
    bench *const b = *state;
    char best[GS_SCHEDULE_TEXT];
    gs_tune_options options = options_of(b);
    options.unconfirmed = true;
    assert_int_equal(list_with(b, three, 2, "", &options), GS_OK);
    memcpy(best, seen.result[1].best_own, sizeof best);
    assert_string_not_equal(best, seen.result[0].best_own);   /* three[0] is farther away */
    assert_false(is_shortlisted(near, best, 1));
    options.policy = "refine";
    options.candidates = 1;
    assert_int_equal(list_with(b, &near, 1, "", &options), GS_OK);
    assert_string_equal(seen.result[0].best_own, best);

    /* nobody has found anything of that kind */
    static const char *const alone = "bf16:1024x1024x1024:tn";
    options.candidates = 4;
    assert_int_equal(list_with(b, &alone, 1, "", &options), GS_OK);
    assert_int_equal(seen.result[0].measured, 4);
    assert_true(is_shortlisted(alone, seen.result[0].best_own, 4));
}

static void refine_races_what_other_kernels_found(void **state)
{
    bench *const b = *state;
    char text[GS_SCHEDULE_TEXT];
    gs_found *found;
    int count;
    gs_tune_options options = options_of(b);
    const answer fastest = fastest_of(PROBLEM, ~0u);
    assert_int_equal(gs_run_found(b->store, &b->session, &found, &count, NULL), GS_OK);
    assert_int_equal(count, 0);
    free(found);

    put_found(b, "other-kernels", PROBLEM, fastest.text);
    put_found(b, "other-kernels", three[1], "no/such/schedule");
    put_found(b, "other-kernels", "f16:nonsense", fastest.text);
    assert_int_equal(gs_store_result_put(b->store, &b->session, "search 1 nvidia-h200 other-kernels", fastest.text, NULL), GS_OK);
    assert_int_equal(gs_store_result_put(b->store, &b->session, "search 1 nvidia-h200 other-kernels f16:64x64x64:tn", fastest.text, NULL), GS_OK);
    b->session.device = "nvidia-h200" GS_DEPENDENT_SUFFIX;
    put_found(b, "other-kernels", three[1], fastest.text);
    b->session.device = "nvidia-h200";
    assert_int_equal(gs_run_found(b->store, &b->session, &found, &count, NULL), GS_OK);
    assert_int_equal(count, 1);
    assert_string_equal(gs_problem_format(&found[0].problem, (char[GS_PROBLEM_TEXT]){0}), PROBLEM);
    assert_string_equal(gs_schedule_format(&found[0].schedule, text), fastest.text);
    free(found);

    options.unconfirmed = true;
    options.candidates = 8;
    assert_int_equal(list_with(b, three, 1, "", &options), GS_OK);
    assert_string_not_equal(seen.result[0].best_own, fastest.text);
    options.policy = "refine";
    assert_int_equal(list_with(b, three, 1, "", &options), GS_OK);
    assert_int_equal(seen.result[0].measured, 8);
    assert_string_equal(seen.result[0].best_own, fastest.text);
    assert_string_equal(trial_of(b, PROBLEM, fastest.text).stage, "search");

    /* the caller knows better */
    gs_found given;
    given.problem = problem_of(PROBLEM);
    assert_int_equal(gs_schedule_shortlist(&given.problem, gs_caps_find("h200"), 1u << GS_FAMILY_MMA, &given.schedule, 1), 1);
    options.found = &given;
    options.found_count = options.candidates = 1;
    assert_int_equal(list_with(b, three, 1, "", &options), GS_OK);
    assert_string_equal(seen.result[0].best_own, gs_schedule_format(&given.schedule, text));
}

static void what_was_found_may_be_much(void **state)
{
    enum { MUCH = 300 };
    bench *const b = *state;
    const answer fastest = fastest_of(PROBLEM, ~0u);
    gs_found *found;
    int count, sum = 0;
    for (int i = 1; i <= MUCH; i++) {
        char problem[GS_PROBLEM_TEXT];
        snprintf(problem, sizeof problem, "f16:%dx64x64:tn", 8 * i);
        put_found(b, "0", problem, fastest.text);
    }
    assert_int_equal(gs_run_found(b->store, &b->session, &found, &count, NULL), GS_OK);
    assert_int_equal(count, MUCH);
    for (int i = 0; i < count; i++) sum += (int)found[i].problem.m / 8;
    assert_int_equal(sum, MUCH * (MUCH + 1) / 2);
    free(found);
}

static void what_learns_is_no_list(void **state)
{
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    options.policy = "oracle";
    assert_int_equal(list_with(b, three, 1, "", &options), GS_ERROR_NOT_FOUND);
    options.policy = NULL;
    assert_int_equal(list_with(b, three, 0, "", &options), GS_OK);
    assert_int_equal(seen.count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_problem_gets_its_fastest), CASE(the_library_may_win), CASE(a_search_compares_nothing), CASE(unconfirmed_is_found_again),
        CASE(bad_ones_fall_out), CASE(suspects_are_left_out), CASE(one_bad_problem_stops_no_other), CASE(alone_where_the_library_fails), CASE(nothing_passes), CASE(a_stopped_list_goes_on),
        CASE(a_budget_ends_the_list), CASE(short_calls_have_more_rounds),
        CASE(a_budget_reckons_with_a_slow_worker), CASE(own_is_known_from_tuning_too), CASE(edges_are_proved_once),
        CASE(kernels_are_compiled_ahead), CASE(refine_searches_what_was_found_again), CASE(refine_asks_the_neighbours),
        CASE(refine_races_what_other_kernels_found), CASE(what_was_found_may_be_much), CASE(what_learns_is_no_list),
    };
    return cmocka_run_group_tests_name("tune/batch", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Proves where the time of a recorded list goes: the order by expected saving, diminishing returns, and, at a scripted worker, that the search of what is called most comes first and
 * goes deepest, that all of it ends as one whole search does, that a run goes on where it was stopped, and that tuners share it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/stop.h"
#include "tune/payoff.h"
#include "tuning_list.h"

/* ---- arithmetic ---- */

static void slices_double(void **state)
{
    (void)state;
    static const int sizes[][1 + GS_PAYOFF_SLICES] = {{48, 6, 12, 24, 48}, {30, 3, 7, 15, 30}, {8, 1, 2, 4, 8}, {1, 1, 1, 1, 1}};
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        for (int k = 0; k < GS_PAYOFF_SLICES; k++) assert_int_equal(gs_payoff_candidates(sizes[i][0], k), sizes[i][k + 1]);
        assert_int_equal(gs_payoff_slices(sizes[i][0], sizes[i][0]), GS_PAYOFF_SLICES);
    }
    assert_int_equal(gs_payoff_slices(48, 0), 0);
    assert_int_equal(gs_payoff_slices(48, 5), 0);
    assert_int_equal(gs_payoff_slices(48, 6), 1);
    assert_int_equal(gs_payoff_slices(48, 23), 2);
    assert_int_equal(gs_payoff_slices(48, 47), 3);
}

static void gains_diminish(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_payoff p = gs_payoff_expect(&problem, 1000, gs_caps_find("h200"), NULL);
    assert_true(p.floor_us > 0 && p.expected_us >= p.floor_us && p.expected_library_us > p.expected_us);
    assert_float_equal(gs_payoff_gain(&p), p.expected_library_us - p.expected_us, 1e-5);
    assert_float_equal(gs_payoff_rate(&p, 10), 1000 * gs_payoff_gain(&p) * 1e-6 / 10, 1e-5);
    p = (gs_payoff){.calls = 1, .floor_us = 50, .expected_library_us = 110, .expected_us = 90};
    gs_payoff_update(&p, 100, 100, 4);
    assert_float_equal(gs_payoff_gain(&p), 5, 1e-5);         /* half of the 10 that were gained */
    assert_float_equal(gs_payoff_seconds(&p, 99), 6, 1e-5);
    gs_payoff_update(&p, 99, 99, 6);
    assert_float_equal(gs_payoff_gain(&p), 0.03 * 99 / 2, 1e-5);   /* what is usual, more than half of 1 */
    const double before = gs_payoff_gain(&p);
    gs_payoff_update(&p, 99, 99, 6);
    assert_true(gs_payoff_gain(&p) < before);
    p.floor_us = 98.9;
    assert_float_equal(gs_payoff_gain(&p), 0.1, 1e-5);       /* no more than is left */
    p.floor_us = 50;
    p.us = 80;                                               /* cuBLASLt is far ahead */
    assert_true(gs_payoff_gain(&p) > 0 && gs_payoff_gain(&p) < before / 5);
    gs_payoff none = {.calls = 1, .floor_us = 1, .expected_library_us = 10, .expected_us = 12};
    assert_float_equal(gs_payoff_gain(&none), 0.12, 1e-5);   /* nothing is expected, but a first look is worth something */
    gs_payoff_update(&none, 0, 10, 1);                       /* none of ours passed */
    assert_float_equal(none.own_us, 10, 1e-5);
    gs_payoff slower = {.calls = 1, .floor_us = 1, .expected_library_us = 10, .expected_us = 12};
    gs_payoff_update(&slower, 11, 10, 1);                    /* cuBLASLt is the fastest */
    assert_true(slower.own_us == 11 && slower.us == 10);
}

/* ---- lists ---- */

static gs_status worth_with(bench *b, const char *const *texts, const double *calls, int count, const char *script, const gs_tune_options *options)
{
    gs_problem problems[MOST];
    gs_error error = {0};
    const int end_after = seen.end_after;
    seen = (reports){.end_after = end_after};
    for (int i = 0; i < count; i++) problems[i] = problem_of(texts[i]);
    setenv("FAKE_WORKER", script, 1);
    gs_worker_stop(&b->worker);
    const gs_status status = gs_tune_by_worth(b->store, &b->session, &b->worker, gs_caps_find("h200"), problems, calls, count, options, NULL, on_finished, &seen, &error);
    if (status != GS_OK) print_message("%s: %s\n", gs_status_name(status), error.text);
    if (status != GS_OK) assert_true(error.text[0] != '\0');
    return status;
}

static int order[4 * MOST], begun;

static void note_begin(void *self, int index)
{
    (void)self;
    order[begun++] = index;
}

static void what_is_called_most_comes_first(void **state)
{
    bench *const b = *state;
    static const double calls[] = {10, 100000, 1000};
    gs_problem problems[3];
    gs_error error;
    gs_tune_options options = options_of(b);
    options.candidates = 1;
    begun = 0;
    seen = (reports){0};
    for (int i = 0; i < 3; i++) problems[i] = problem_of(PROBLEM);   /* alike but for their calls */
    for (int i = 1; i < 3; i++) problems[i] = gs_problem_make(GS_F16, GS_TN, 1024, 1024 + 8 * i, 1024);
    setenv("FAKE_WORKER", "library_us=100", 1);
    assert_int_equal(gs_tune_by_worth(b->store, &b->session, &b->worker, gs_caps_find("h200"), problems, calls, 3, &options, note_begin, on_finished, &seen, &error), GS_OK);
    assert_int_equal(begun, 3);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 0);
}

static int finished_once;

/* Stops as soon as the first problem is done with all its slices. */
static bool stop_then(void *self, int index, gs_status status, const gs_tune_result *result, const gs_error *error)
{
    on_finished(self, index, status, result, error);
    if (++finished_once == 1) gs_stop_requested = 2;
    return true;
}

static const char *const two[] = {PROBLEM, "f16:512x4096x256:nn"};

static void expect_whole(const bench *b, int index)
{
    answer best[CANDIDATES];
    gs_row row;
    right_answers(two[index], best);
    assert_int_equal(seen.status[index], GS_OK);
    assert_int_equal(seen.times[index], 1);
    assert_string_equal(seen.result[index].best_own, best[0].text);
    assert_true(table_row(b, two[index], &row));
}

/* In slices, and stopped in between, it ends as one whole search does; a third time nothing is measured. */
static void it_goes_on_where_it_was_stopped(void **state)
{
    bench *const b = *state;
    static const double calls[] = {1, 1e9};
    gs_problem problems[2];
    gs_error error;
    const gs_tune_options options = options_of(b);
    seen = (reports){0};
    finished_once = 0;
    for (int i = 0; i < 2; i++) problems[i] = problem_of(two[i]);
    setenv("FAKE_WORKER", "library_us=100", 1);
    assert_int_equal(gs_tune_by_worth(b->store, &b->session, &b->worker, gs_caps_find("h200"), problems, calls, 2, &options, NULL, stop_then, &seen, &error), GS_ERROR_INTERRUPTED);
    gs_stop_requested = 0;
    assert_int_equal(winners(b), 1);   /* all slices of what is called a billion times, before the first of the other */
    expect_whole(b, 1);
    assert_int_equal(seen.result[1].measured, CANDIDATES);
    assert_int_equal(worth_with(b, two, calls, 2, "library_us=100", &options), GS_OK);
    expect_whole(b, 0);
    expect_whole(b, 1);
    assert_true(seen.result[1].resumed && !seen.result[0].resumed);
    assert_int_equal(winners(b), 2);
    assert_int_equal(worth_with(b, two, calls, 2, "mode=abort", &options), GS_OK);
    for (int i = 0; i < 2; i++) assert_true(seen.times[i] == 1 && seen.result[i].resumed);
}

static void what_cannot_be_searched_is_named(void **state)
{
    bench *const b = *state;
    static const char *const texts[] = {"f16:0x64x64:tn", PROBLEM};
    static const double calls[] = {5, 5};
    gs_tune_options options = options_of(b);
    options.candidates = 1;
    assert_int_equal(worth_with(b, texts, calls, 2, "library_us=100", &options), GS_OK);
    assert_int_not_equal(seen.status[0], GS_OK);
    assert_int_equal(seen.times[0], 1);
    assert_int_equal(seen.status[1], GS_OK);
}

static void a_budget_that_is_too_short_says_so(void **state)
{
    bench *const b = *state;
    static const double calls[] = {5, 5, 5};
    gs_lessee mine, theirs;
    gs_lease lease;
    gs_tune_options options = options_of(b);
    gs_lessee_of(&mine, "run", getpid());
    gs_lessee_of(&theirs, "run", getppid());
    options.lessee = &mine;
    options.budget_s = 0.5;
    assert_int_equal(worth_with(b, three, calls, 3, "library_us=100", &options), GS_ERROR_INTERRUPTED);
    assert_int_equal(seen.count, 0);
    for (int i = 0; i < 3; i++) {   /* free for another tuner, as nobody did them */
        assert_int_equal(gs_store_lease(b->store, b->session.device, three[i], &theirs, 100, &lease, NULL), GS_OK);
        assert_int_equal(lease, GS_LEASE_TAKEN);
    }
}

/* What a slice takes is not known of a result that the store had: there must be time for a usual one. */
static void what_was_found_goes_on_with_time_alone(void **state)
{
    bench *const b = *state;
    static const double calls[] = {5, 5, 5};
    gs_tune_options options = options_of(b);
    options.candidates = 1;
    assert_int_equal(worth_with(b, three, calls, 3, "library_us=100", &options), GS_OK);
    options.candidates = CANDIDATES;
    options.budget_s = 8;
    assert_int_equal(worth_with(b, three, calls, 3, "mode=abort", &options), GS_OK);   /* the worker is not asked */
    for (int i = 0; i < 3; i++) assert_true(seen.times[i] == 1 && seen.result[i].resumed);
}

static void tuners_share_it(void **state)
{
    bench *const b = *state;
    static const double calls[] = {5, 5, 5};
    gs_lessee mine, theirs;
    gs_lease lease;
    gs_tune_options options = options_of(b);
    gs_lessee_of(&mine, "run", getpid());
    gs_lessee_of(&theirs, "run", getppid());
    options.lessee = &mine;
    options.candidates = 1;
    assert_int_equal(gs_store_lease(b->store, b->session.device, three[0], &theirs, 100, &lease, NULL), GS_OK);
    assert_int_equal(gs_store_release(b->store, b->session.device, three[0], &theirs, true, NULL), GS_OK);   /* they are done with it */
    assert_int_equal(worth_with(b, three, calls, 3, "library_us=100", &options), GS_OK);
    assert_int_equal(seen.times[0], 0);
    assert_int_equal(seen.times[1], 1);
    assert_int_equal(seen.times[2], 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gs_store_lease(b->store, b->session.device, three[i], &theirs, 100, &lease, NULL), GS_OK);
        assert_int_equal(lease, GS_LEASE_DONE);
    }
    assert_int_equal(worth_with(b, three, calls, 3, "mode=abort", &options), GS_OK);
    assert_int_equal(seen.count, 0);
}

static void savings_are_of_what_was_measured(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    double plain, now;
    gs_row row = {.problem = problem, .us = 8, .library_us = 10};
    assert_true(gs_tune_saving(gs_caps_find("h200"), &row, &plain, &now));
    assert_true(plain == 10 && now == 8);
    row.library = 3;
    assert_true(gs_tune_saving(gs_caps_find("h200"), &row, &plain, &now));
    assert_true(plain == 10 && now == 10);
    row = (gs_row){.problem = problem, .us = 8};   /* alone: nobody knows what cuBLASLt would take */
    assert_false(gs_tune_saving(gs_caps_find("h200"), &row, &plain, &now));
    gs_caps emulated = *gs_caps_find("h200");
    emulated.emulated = true;
    assert_true(gs_tune_saving(&emulated, &row, &plain, &now));
    assert_true(plain == 0 && now == 8);   /* its time and the time model's are not of one scale */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_double),
        cmocka_unit_test(gains_diminish),
        cmocka_unit_test_setup_teardown(what_is_called_most_comes_first, start, finish),
        cmocka_unit_test_setup_teardown(it_goes_on_where_it_was_stopped, start, finish),
        cmocka_unit_test_setup_teardown(what_cannot_be_searched_is_named, start, finish),
        cmocka_unit_test_setup_teardown(a_budget_that_is_too_short_says_so, start, finish),
        cmocka_unit_test_setup_teardown(what_was_found_goes_on_with_time_alone, start, finish),
        cmocka_unit_test_setup_teardown(tuners_share_it, start, finish),
        cmocka_unit_test(savings_are_of_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

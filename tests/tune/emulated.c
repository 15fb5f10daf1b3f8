/* SPDX-License-Identifier: MIT
 * Proves, against a scripted worker, what tuning does with a device whose times are predicted: no library is asked for, the best
 * prediction that passes verification wins, and the row and the store say that nothing was measured. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "leaks.h"
#include "tuning.h"
#include "verify/verify.h"

static gs_caps    caps;
static gs_problem problem;
static gs_error   error;

static int begin(void **state)
{
    if (start(state) != 0) return -1;
    bench *const b = *state;
    caps = *gs_caps_find("h200");
    caps.emulated = true;
    snprintf(caps.slug, sizeof caps.slug, "emu-h200");
    problem = problem_of(PROBLEM);
    gs_worker_init(&b->worker, "emu:h200", PROGRAM);
    b->session.device = caps.slug;
    b->session.cublaslt = 0;
    assert_int_equal(gs_store_begin(b->store, &b->session, &error), GS_OK);
    return 0;
}

static gs_status tune(bench *b, const char *script, gs_tune_result *result)
{
    char rules[4096];
    gs_tune_options options = options_of(b);
    options.candidates = 0;
    snprintf(rules, sizeof rules, "log=%s;%s", b->log_path, script);
    setenv("FAKE_WORKER", rules, 1);
    gs_worker_stop(&b->worker);
    const gs_status status = gs_tune(b->store, &b->session, &b->worker, &caps, &problem, &options, result, &error);
    if (status != GS_OK) print_message("%s: %s\n", gs_status_name(status), error.text);
    return status;
}

/* The i-th of the schedules that are looked at, by the simulated times. */
static void fastest(int place, char text[GS_SCHEDULE_TEXT], double *us)
{
    gs_schedule list[8];
    bool taken[8] = {false};
    gs_policy policy;
    assert_int_equal(gs_policy_create(&policy, "enumerate", 1, NULL), GS_OK);
    assert_int_equal(policy.propose(&policy, &problem, &caps, list, 8), 8);
    policy.destroy(&policy);
    for (int found = 0, best = 0; found <= place; found++) {
        best = -1;
        for (int i = 0; i < 8; i++)
            if (!taken[i] && (best < 0 || fake_us(&list[i], &problem) < fake_us(&list[best], &problem))) best = i;
        taken[best] = true;
        gs_schedule_format(&list[best], text);
        *us = fake_us(&list[best], &problem);
    }
}

static void the_best_prediction_wins(void **state)
{
    bench *const b = *state;
    char best[GS_SCHEDULE_TEXT], second[GS_SCHEDULE_TEXT], script[160];
    double us, ignored;
    gs_tune_result result;
    fastest(0, best, &us);
    fastest(1, second, &ignored);
    snprintf(script, sizeof script, "wrong=%s", second);
    assert_int_equal(tune(b, script, &result), GS_OK);
    assert_string_equal(result.best_own, best);
    assert_int_equal(result.proposed, 8);
    assert_int_equal(result.measured, 8);
    assert_int_equal(result.verified, 6);
    assert_int_equal(result.rejected, 1);
    assert_int_equal(asked(b, "cublas"), 0);

    const gs_row *const row = &result.row;
    assert_true(gs_row_predicted(row));
    assert_int_equal(row->library, 0);
    assert_true(row->library_us == 0 && row->cublaslt == 0);
    assert_float_equal(row->us / us, 1, 0.005);
    assert_float_equal(row->ratio, gs_floor_us(&problem, &caps) / row->us, 1e-9);
    assert_true(row->low == row->ratio && row->high == row->ratio);
    assert_string_equal(row->gpu, "emu-h200");
    assert_string_equal(row->by, "predict-0");

    gs_table *table;
    assert_int_equal(gs_table_create(&table), GS_OK);
    assert_int_equal(gs_table_load(table, b->table_path, gs_caps_find("h200"), NULL, NULL), GS_OK);
    assert_null(gs_table_find(table, &problem));   /* not for the GPU */
    assert_int_equal(gs_table_load(table, b->table_path, &caps, NULL, NULL), GS_OK);
    assert_non_null(gs_table_find(table, &problem));
    gs_table_destroy(&table);

    const int before = asked(b, "\"op\"");
    assert_int_equal(tune(b, "", &result), GS_OK);
    assert_true(result.resumed && gs_row_predicted(&result.row));
    assert_string_equal(result.best_own, best);
    assert_int_equal(asked(b, "\"op\""), before);
}

/* A candidate that takes its process down is found without a reference. */
static void a_crash_is_blamed(void **state)
{
    bench *const b = *state;
    char best[GS_SCHEDULE_TEXT], second[GS_SCHEDULE_TEXT], script[160];
    double us;
    gs_tune_result result;
    fastest(0, best, &us);
    fastest(1, second, &us);
    snprintf(script, sizeof script, "crash=%s", best);
    assert_int_equal(tune(b, script, &result), GS_OK);
    assert_string_equal(result.best_own, second);
    assert_int_equal(result.rejected, 1);
    assert_int_equal(asked(b, "cublas"), 0);
}

/* There is no library to fall back on. */
static void nothing_passes(void **state)
{
    bench *const b = *state;
    char text[GS_SCHEDULE_TEXT], script[2048] = "";
    double us;
    gs_tune_result result;
    for (int i = 0; i < 8; i++) {
        fastest(i, text, &us);
        snprintf(script + strlen(script), sizeof script - strlen(script), "wrong=%s;", text);
    }
    assert_int_equal(tune(b, script, &result), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "emu:h200"));
    assert_int_equal(result.rejected, 8);
    assert_false(gs_file_exists(b->table_path));
}

static void rewards_and_estimates(void **state)
{
    (void)state;
    assert_float_equal(gs_reward_predicted(10, 10), 1, 1e-12);
    assert_float_equal(gs_reward_predicted(100, 10), 0, 1e-12);
    assert_float_equal(gs_reward_predicted(1e6, 10), -1, 0);
    assert_float_equal(gs_reward_predicted(5, 10), 1, 0);
    assert_float_equal(gs_reward_predicted(0, 10), -1, 0);
    assert_float_equal(gs_reward_predicted(NAN, 10), -1, 0);

    const gs_problem larger = gs_problem_make(GS_F16, GS_TN, 2048, 1024, 1024);
    const gs_tune_options few = {.candidates = 2}, none = {0};
    assert_true(gs_verify_seconds(&problem, 0, true) > gs_verify_seconds(&problem, GS_PART_EXACT, true));
    assert_true(gs_verify_seconds(&problem, 0, false) > gs_verify_seconds(&problem, 0, true));
    assert_true(gs_verify_seconds(&larger, 0, true) > gs_verify_seconds(&problem, 0, true));
    assert_true(gs_tune_seconds(&problem, &none) > gs_tune_seconds(&problem, &few));
    assert_true(gs_tune_seconds(&problem, &few) > gs_verify_seconds(&problem, 0, true));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_best_prediction_wins), CASE(a_crash_is_blamed), CASE(nothing_passes), CASE(rewards_and_estimates),
    };
    return run_without_leaks("tune/emulated", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Proves the tuner end to end against a scripted worker with simulated times: it finds the fastest schedule, every kind of bad
 * candidate becomes its verdict and the run goes on, nothing is reported unconfirmed, and store and table survive stops and
 * second tuners. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sys/wait.h>

#include "device/device.h"
#include "patience.h"
#include "tuning.h"
#include "support/fork.h"

static void expect_winner(bench *b, const gs_tune_result *result, const char *problem, const answer *best, double library)
{
    char text[GS_SCHEDULE_TEXT];
    gs_row row;
    assert_false(result->row.library);
    assert_string_equal(gs_schedule_format(&result->row.schedule, text), best->text);
    assert_string_equal(result->best_own, best->text);
    assert_float_equal(result->row.us / best->us, 1, 0.005);
    assert_float_equal(result->row.ratio / (library / best->us), 1, 0.005);
    assert_true(result->row.low <= result->row.ratio && result->row.ratio <= result->row.high);
    assert_true(table_row(b, problem, &row));
    assert_string_equal(gs_schedule_format(&row.schedule, text), best->text);
    assert_string_equal(row.gpu, gs_caps_find("h200")->slug);
    assert_int_equal(row.cublaslt, 130100);
    assert_int_equal(row.mhz, 1755);
}

/* ---- the usual way ---- */

static void finds_the_fastest(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    expect_winner(b, &result, PROBLEM, &best[0], library_us(PROBLEM, 1.05));
    assert_int_equal(result.proposed, CANDIDATES);
    assert_int_equal(result.measured, CANDIDATES);
    assert_int_equal(result.rejected, 0);
    assert_true(result.verified >= 1 && result.verified < CANDIDATES);
    assert_int_equal(trials(b, PROBLEM), CANDIDATES);
    const gs_trial trial = trial_of(b, PROBLEM, best[0].text);
    assert_string_equal(trial.stage, "confirm");
    assert_string_equal(trial.verdict, "pass");
    assert_true(trial.rounds >= 31);
    assert_true(trial.predicted_us > 0 && trial.registers > 0);
    assert_int_equal(winners(b), 1);
    assert_int_equal(b->worker.started, 2);   /* the winner was confirmed by a fresh one */
}

static void library_wins(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_row row;
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    assert_int_equal(tune_with(b, PROBLEM, "library=0.7", &options, &result), GS_OK);
    assert_int_equal(result.row.library, 3);   /* the suggestion that the reference used */
    assert_string_equal(result.best_own, best[0].text);
    assert_true(result.best_own_ratio > 0.5 && result.best_own_ratio < 0.95);
    assert_float_equal(result.row.ratio, 1, 0);
    assert_float_equal(result.row.us / library_us(PROBLEM, 0.7), 1, 0.005);
    assert_true(table_row(b, PROBLEM, &row));
    assert_true(row.library);
    assert_string_equal(trial_of(b, PROBLEM, best[0].text).stage, "confirm");
}

/* An invariant problem has a kernel of ours or none: cuBLASLt, faster or not, has other bits for another M. */
static void library_has_other_bits(void **state)
{
    static const char problem[] = PROBLEM ":inv=1";
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_row row;
    char text[GS_SCHEDULE_TEXT];
    const gs_tune_options options = options_of(b);
    right_answers(problem, best);
    assert_int_equal(tune_with(b, problem, "library=0.7", &options, &result), GS_OK);
    assert_int_equal(result.row.library, 0);
    assert_true(result.row.ratio > 0.5 && result.row.ratio < 0.95);
    assert_true(table_row(b, problem, &row));
    assert_string_equal(gs_schedule_format(&row.schedule, text), best[0].text);
    assert_false(table_row(b, PROBLEM, &row));
}

/* Nor has a plan for groups any other: what NVIDIA's calls took for the sizes that their host was told is what it is compared with. */
static void groups_have_no_library(void **state)
{
    static const char *const problems[] = {"f16:1024x1024x1024:tn:g=4", "f16:1024x1024x1024:tn:gm=4", "f16:1024x1024x1024:nt:gk=4"};
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    options.candidates = 6;
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        gs_tune_result result;
        gs_row row;
        assert_int_equal(tune_with(b, problems[i], "library=0.7", &options, &result), GS_OK);
        assert_int_equal(result.row.library, 0);
        assert_true(result.row.ratio > 0.3 && result.row.ratio < 0.95 && result.row.library_us > 0);
        assert_string_equal(result.alone, "");
        assert_float_equal(result.best_own_ratio, result.row.ratio, 0);
        assert_true(table_row(b, problems[i], &row) && !row.library);
    }
    gs_error error = {0};
    gs_row row;
    const gs_problem problem = problem_of(problems[0]);
    const gs_confirmed none = {.library_us = 10, .suggestion = 2};
    assert_int_equal(gs_tune_record(b->store, &b->session, gs_caps_find("h200"), &problem, &none, b->table_path, &row, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "g");
    assert_int_equal(winners(b), (int)GS_COUNT(problems));
}

/* Its tuning takes longer than that of one product, and a worker that is at it does not hang. */
static void groups_may_take_longer(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    options.candidates = 1;
    options.timeout_s = 0.1;
    assert_int_equal(tune_with(b, "f16:1024x1024x1024:tn:g=4", "delay=1000", &options, &result), GS_OK);
    assert_int_equal(result.rejected, 0);
}

/* ---- bad candidates ---- */

static void bad_candidates_become_verdicts(void **state)
{
    /* legend: rule of the script, verdict that follows; applied to the fastest ones in this order */
    static const char *const bad[][2] = {
        {"hang", "hang"}, {"crash", "fault"}, {"wrong", "exact"}, {"fault", "fault"}, {"timed", "timed"}, {"fast", "floor"},
        {"compile", "compile"},
    };
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_text rules = {0};
    gs_tune_options options = options_of(b);
    options.timeout_s = 2;
    right_answers(PROBLEM, best);
    gs_text_add(&rules, "library=1.3");
    for (size_t i = 0; i < GS_COUNT(bad); i++) gs_text_addf(&rules, ";%s=%s", bad[i][0], best[i].text);
    assert_int_equal(tune_with(b, PROBLEM, rules.data, &options, &result), GS_OK);
    expect_winner(b, &result, PROBLEM, &best[GS_COUNT(bad)], library_us(PROBLEM, 1.3));
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        const gs_trial trial = trial_of(b, PROBLEM, best[i].text);
        if (strcmp(trial.verdict, bad[i][1]) != 0) print_error("%s: %s\n", bad[i][0], trial.verdict);
        assert_string_equal(trial.verdict, bad[i][1]);
        assert_true(trial.reason[0] != '\0');
    }
    assert_int_equal(result.rejected, GS_COUNT(bad));
    assert_int_equal(trials(b, PROBLEM), CANDIDATES);

    /* They are not tried again, not even when everything is to be measured again. */
    gs_tune_options again = options;
    again.again = true;
    gs_text_clear(&rules);
    gs_text_addf(&rules, "log=%s", b->log_path);
    assert_int_equal(tune_with(b, PROBLEM, rules.data, &again, &result), GS_OK);
    char *log;
    size_t size;
    assert_int_equal(gs_file_read(b->log_path, 1 << 24, &log, &size, NULL), GS_OK);
    for (size_t i = 0; i <= GS_COUNT(bad); i++) {
        gs_text_clear(&rules);
        gs_text_addf(&rules, "\"%s\"", best[i].text);
        assert_int_equal(strstr(log, rules.data) != NULL, i == GS_COUNT(bad));
    }
    free(log);
    gs_text_free(&rules);
    assert_false(result.resumed);
    assert_int_equal(result.rejected, 0);
}

static void nothing_passes(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule list[3];
    gs_text rules = {0};
    char text[GS_SCHEDULE_TEXT];
    options.candidates = 3;
    gs_policy policy;
    assert_int_equal(gs_policy_create(&policy, "enumerate", 1, NULL), GS_OK);
    assert_int_equal(policy.propose(&policy, &problem, gs_caps_find("h200"), list, 3), 3);
    policy.destroy(&policy);
    gs_text_add(&rules, "library=1.5");
    for (int i = 0; i < 3; i++) gs_text_addf(&rules, ";wrong=%s", gs_schedule_format(&list[i], text));
    assert_int_equal(tune_with(b, PROBLEM, rules.data, &options, &result), GS_OK);
    gs_text_free(&rules);
    assert_true(result.row.library);
    assert_int_equal(result.rejected, 3);
    assert_int_equal(result.verified, 0);
    assert_string_equal(result.best_own, "");
}

/* A machine on which the reference does not run blames no candidate. */
static void no_reference_blames_nobody(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    options.timeout_s = 2;
    assert_int_equal(tune_with(b, PROBLEM, "reference=GS_ERROR_NO_LIBRARY", &options, &result), GS_ERROR_NO_LIBRARY);
    assert_int_equal(tune_with(b, PROBLEM, "mode=abort", &options, &result), GS_ERROR_WORKER_DIED);
    assert_int_equal(tune_with(b, PROBLEM, "hang=cublaslt-autotuning", &options, &result), GS_ERROR_WORKER_HUNG);
    assert_int_equal(trials(b, PROBLEM), 0);
    assert_int_equal(winners(b), 0);
    assert_false(gs_file_exists(b->table_path));
}

/* ---- no reference ---- */

static void expect_alone(bench *b, const gs_tune_result *result, const answer *best, const char *why)
{
    char text[GS_SCHEDULE_TEXT];
    gs_row row;
    assert_true(gs_row_alone(&result->row));
    assert_string_equal(gs_schedule_format(&result->row.schedule, text), best->text);
    assert_string_equal(result->best_own, best->text);
    assert_non_null(strstr(result->alone, why));
    assert_float_equal(result->row.us / best->us, 1, 0.005);
    assert_true(table_row(b, PROBLEM, &row));
    assert_true(gs_row_alone(&row));
    assert_true(row.library_us == 0 && row.ratio == 0 && row.low == 0 && row.high == 0);
    assert_string_equal(gs_schedule_format(&row.schedule, text), best->text);
    const gs_trial trial = trial_of(b, PROBLEM, best->text);
    assert_string_equal(trial.stage, "confirm");
    assert_string_equal(trial.verdict, "pass");
    assert_true(trial.us > 0 && trial.library_us == 0 && trial.ratio == 0);
    assert_int_equal(winners(b), 1);
}

/* Where cuBLASLt has no algorithm or a wrong one, ours is verified and used all the same. */
static void alone_where_the_library_fails(void **state)
{
    static const char *const rules[][2] = {{"reference=wrong", "wrong result"}, {"reference=GS_ERROR_UNSUPPORTED", "as the script says"}};
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    for (int i = 0; i < 2; i++) {
        options.again = i > 0;
        assert_int_equal(tune_with(b, PROBLEM, rules[i][0], &options, &result), GS_OK);
        expect_alone(b, &result, &best[0], rules[i][1]);
        assert_true(result.verified >= (i == 0));
        assert_int_equal(result.rejected, 0);
    }
    options.again = false;
    assert_int_equal(tune_with(b, PROBLEM, "mode=abort", &options, &result), GS_OK);   /* the store has it */
    assert_true(result.resumed && gs_row_alone(&result.row) && result.alone[0]);

    options.again = true;   /* and a cuBLASLt that is right takes part again */
    assert_int_equal(tune_with(b, PROBLEM, "library=0.7", &options, &result), GS_OK);
    assert_int_equal(result.row.library, 3);
    assert_string_equal(result.alone, "");
}

/* Lost when some were compared with it: all are ranked by time then. */
static void reference_lost_on_the_way(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    assert_int_equal(tune_with(b, PROBLEM, "reference=wrong;reference_from=4", &options, &result), GS_OK);
    assert_true(gs_row_alone(&result.row));
    assert_string_equal(result.best_own, best[0].text);
    assert_int_equal(result.measured, CANDIDATES);
}

static void alone_bad_candidates_become_verdicts(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_text rules = {0};
    gs_tune_options options = options_of(b);
    options.timeout_s = 2;
    right_answers(PROBLEM, best);
    gs_text_addf(&rules, "reference=wrong;crash=%s;wrong=%s;hang=%s", best[0].text, best[1].text, best[2].text);
    assert_int_equal(tune_with(b, PROBLEM, rules.data, &options, &result), GS_OK);
    expect_alone(b, &result, &best[3], "wrong result");
    assert_string_equal(trial_of(b, PROBLEM, best[0].text).verdict, "fault");
    assert_string_equal(trial_of(b, PROBLEM, best[1].text).verdict, "exact");
    assert_string_equal(trial_of(b, PROBLEM, best[2].text).verdict, "hang");
    gs_text_free(&rules);
}

/* Neither ours nor the library's: nothing is recorded. */
static void alone_nothing_passes(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_text rules = {0};
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    gs_text_add(&rules, "reference=wrong");
    for (int i = 0; i < CANDIDATES; i++) gs_text_addf(&rules, ";wrong=%s", best[i].text);
    assert_int_equal(tune_with(b, PROBLEM, rules.data, &options, &result), GS_ERROR_UNSUPPORTED);
    assert_int_equal(winners(b), 0);
    assert_false(gs_file_exists(b->table_path));
    gs_text_free(&rules);
}

/* ---- stopping and going on ---- */

static void second_run_resumes(void **state)
{
    bench *const b = *state;
    gs_tune_result first, second;
    gs_row row;
    const gs_tune_options options = options_of(b);
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &first), GS_OK);
    assert_int_equal(unlink(b->table_path), 0);
    const int started = b->worker.started;
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &second), GS_OK);
    assert_true(second.resumed);
    assert_int_equal(second.measured, 0);
    assert_int_equal(b->worker.started, started);
    assert_memory_equal(&first.row.schedule, &second.row.schedule, sizeof first.row.schedule);
    assert_float_equal(first.row.ratio, second.row.ratio, 0);
    assert_string_equal(first.best_own, second.best_own);
    assert_true(table_row(b, PROBLEM, &row));
    assert_memory_equal(&first.row.schedule, &row.schedule, sizeof row.schedule);
}

/* Where cuBLASLt won, or cannot be compared, the store still says which of ours was the fastest: of those that passed, with its ratio and its time. */
static void a_resumed_best_own(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    char rules[256];
    gs_tune_result first, second;
    const gs_tune_options options = options_of(b);
    right_answers(PROBLEM, best);
    snprintf(rules, sizeof rules, "library=0.7;wrong=%s", best[0].text);
    assert_int_equal(tune_with(b, PROBLEM, rules, &options, &first), GS_OK);
    assert_int_equal(first.row.library, 3);
    assert_string_equal(first.best_own, best[1].text);
    const int started = b->worker.started;
    assert_int_equal(tune_with(b, PROBLEM, rules, &options, &second), GS_OK);
    assert_true(second.resumed && second.confirmed);
    assert_int_equal(b->worker.started, started);
    assert_int_equal(second.row.library, 3);
    assert_string_equal(second.best_own, best[1].text);
    assert_float_equal(second.best_own_ratio, trial_of(b, PROBLEM, best[1].text).ratio, 1e-12);
    assert_float_equal(second.best_own_us, trial_of(b, PROBLEM, best[1].text).us, 1e-12);
    assert_true(second.best_own_ratio > 0 && second.best_own_us > 0);
    /* where ours won, it is the winner as it was confirmed */
    gs_tune_options again = options;
    again.again = true;
    assert_int_equal(tune_with(b, PROBLEM, "library=1.3", &again, &first), GS_OK);
    assert_int_equal(tune_with(b, PROBLEM, "library=1.3", &options, &second), GS_OK);
    assert_true(second.resumed && !second.row.library);
    assert_string_equal(second.best_own, first.best_own);
    assert_float_equal(second.best_own_ratio, second.row.ratio, 1e-12);
    assert_float_equal(second.best_own_us, second.row.us, 1e-12);
}

static void stop_in_the_race(void *self, const gs_tune_progress *progress)
{
    const int *const after = self;
    if (progress->stage == GS_TUNE_RACE && progress->done >= *after) gs_stop_requested = 1;
}

static void a_stopped_run_goes_on(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    int after = 12;
    right_answers(PROBLEM, best);
    options.progress = stop_in_the_race;
    options.self = &after;
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_ERROR_INTERRUPTED);
    assert_int_equal(trials(b, PROBLEM), 12);
    assert_int_equal(winners(b), 0);
    assert_false(gs_file_exists(b->table_path));

    gs_stop_requested = 0;
    options.progress = NULL;
    char script[128];
    snprintf(script, sizeof script, "log=%s", b->log_path);
    assert_int_equal(tune_with(b, PROBLEM, script, &options, &result), GS_OK);
    expect_winner(b, &result, PROBLEM, &best[0], library_us(PROBLEM, 1.05));
    assert_false(result.resumed);
    assert_int_equal(result.measured, CANDIDATES - 12);
}

static void a_budget_ends_the_run(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    options.budget_s = 0.3;
    assert_int_equal(tune_with(b, PROBLEM, "delay=400", &options, &result), GS_ERROR_INTERRUPTED);
    assert_true(result.seconds < 5 * patience());
    assert_int_equal(winners(b), 0);
    assert_false(gs_file_exists(b->table_path));

    /* inside a request, too */
    options.budget_s = 1.5;
    assert_int_equal(tune_with(b, PROBLEM, "delay=60000", &options, &result), GS_ERROR_INTERRUPTED);
    assert_true(result.seconds < 5 * patience());
    assert_int_equal(winners(b), 0);

    options.budget_s = 60;
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    assert_int_equal(winners(b), 1);
}

/* The part of the budget that is kept lets a run confirm the best of what it has seen. */
static void a_short_budget_still_confirms(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    assert_int_equal(tune_with(b, "f16:512x512x1024:nn", "", &options, &result), GS_OK);   /* what this machine takes where no timing takes long */
    options.budget_s = 8 + 4 * result.seconds;
    /* Everything would take eight timings of 1 s. */
    assert_int_equal(tune_with(b, PROBLEM, "delay=1000;library=1.5", &options, &result), GS_OK);
    assert_true(result.measured >= 12 && result.measured <= CANDIDATES);
    assert_false(result.row.library);
    assert_true(result.seconds < options.budget_s + 2 * patience());
    assert_string_equal(trial_of(b, PROBLEM, result.best_own).stage, "confirm");
}

/* ---- several at once ---- */

static void two_tuners_share_store_and_table(void **state)
{
    static const char *const problems[2][3] = {
        {"f16:256x512x1024:tn", "f16:512x512x1024:nn", PROBLEM},
        {"bf16:256x512x1024:tn", "f16:128x4096x1024:tn", PROBLEM},
    };
    bench *const b = *state;
    gs_store_close(&b->store);
    pid_t pid[2];
    for (int i = 0; i < 2; i++) {
        pid[i] = test_fork();
        assert_true(pid[i] >= 0);
        if (pid[i] != 0) continue;
        int failed = 0;
        gs_tune_result result;
        gs_tune_options options = options_of(b);
        options.candidates = 6;
        open_store(b);
        for (int p = 0; p < 3; p++) failed += tune_with(b, problems[i][p], "", &options, &result) != GS_OK;
        gs_worker_stop(&b->worker);
        gs_store_close(&b->store);
        _exit(failed);
    }
    for (int i = 0; i < 2; i++) {
        int code = 0;
        assert_int_equal(waitpid(pid[i], &code, 0), pid[i]);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 0);
    }
    open_store(b);
    assert_int_equal(winners(b), 5);
    gs_row row;
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < 3; p++) {
            assert_true(table_row(b, problems[i][p], &row));
            assert_int_equal(trials(b, problems[i][p]), 6);
        }
}

/* Dependent launches: asked for in every request, kept apart in the store, told by the row. */
static void dependent_results_are_kept_apart(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    gs_row row;
    char script[160], *log;
    size_t size;
    options.candidates = 4;
    options.dependent = true;
    snprintf(script, sizeof script, "log=%s", b->log_path);
    b->session.device = "nvidia-h200" GS_DEPENDENT_SUFFIX;
    assert_int_equal(gs_store_begin(b->store, &b->session, NULL), GS_OK);
    assert_int_equal(tune_with(b, PROBLEM, script, &options, &result), GS_OK);
    assert_int_equal(gs_file_read(b->log_path, 1 << 24, &log, &size, NULL), GS_OK);
    int requests = 0, dependent = 0;
    for (const char *at = log; (at = strstr(at, "\"op\":\"")); at++) requests += strncmp(at, "\"op\":\"hello", 12) != 0;
    for (const char *at = log; (at = strstr(at, "\"dependent\":true")); at++) dependent++;
    free(log);
    assert_true(requests > 4);
    assert_int_equal(dependent, requests);
    assert_int_equal(trials(b, PROBLEM), 0);   /* of the device as it is */
    assert_int_equal(winners(b), 0);
    assert_true(table_row(b, PROBLEM, &row));
    assert_string_equal(row.gpu, "nvidia-h200");
    assert_string_equal(row.by, "tune+dependent-0");
    assert_true(gs_row_dependent(&row));
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    assert_true(result.resumed && gs_row_dependent(&result.row));

    b->session.device = "nvidia-h200";
    options.dependent = false;
    assert_int_equal(gs_store_begin(b->store, &b->session, NULL), GS_OK);
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    assert_false(result.resumed || gs_row_dependent(&result.row));
    assert_int_equal(winners(b), 1);
}

/* Rows that this version cannot read are somebody's work: the table is left alone, the winner is in the store. */
static void an_unreadable_row_is_not_lost(void **state)
{
    static const char text[] = "gemmsmith-tuned 1\nf16:64x64x64:tn  no/such/schedule  what\n";
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    options.candidates = 4;
    assert_int_equal(gs_file_write(b->table_path, text, sizeof text - 1, NULL), GS_OK);
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_ERROR_PARSE);
    char *kept;
    size_t size;
    assert_int_equal(gs_file_read(b->table_path, 1 << 20, &kept, &size, NULL), GS_OK);
    assert_string_equal(kept, text);
    free(kept);
    assert_int_equal(winners(b), 1);
    assert_int_equal(unlink(b->table_path), 0);
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    assert_true(result.resumed);
}

/* ---- pieces ---- */

/* One problem alone: what the store knows races, of other kernels too, unless the caller says what was found. */
static void refine_tunes_with_what_was_found(void **state)
{
    bench *const b = *state;
    answer best[CANDIDATES];
    gs_tune_result result;
    gs_schedule slow[8];
    char text[GS_SCHEDULE_TEXT];
    gs_tune_options options = options_of(b);
    const answer fastest = fastest_of(PROBLEM, ~0u);
    right_answers(PROBLEM, best);
    assert_true(fastest.us < best[0].us);
    put_found(b, "other-kernels", PROBLEM, fastest.text);
    options.policy = "refine";
    options.candidates = 8;
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    expect_winner(b, &result, PROBLEM, &fastest, library_us(PROBLEM, 1.05));
    assert_int_equal(result.measured, 8);

    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 1u << GS_FAMILY_WS, slow, 8), 8);
    const gs_found found[] = {{problem, slow[7]}};
    options.again = true;
    options.candidates = 1;
    options.found = found;
    options.found_count = 1;
    assert_int_equal(tune_with(b, PROBLEM, "library=1.5", &options, &result), GS_OK);
    assert_int_equal(result.measured, 2);   /* and the best that was known, which --again does not lose */
    assert_true(trial_of(b, PROBLEM, gs_schedule_format(&slow[7], text)).us > 0);
    assert_string_equal(result.best_own, fastest.text);
}

static void families_are_respected(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    options.families = 1u << GS_FAMILY_MMA;
    options.candidates = 5;
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_OK);
    assert_int_equal(result.measured, 5);
    assert_true(strncmp(result.best_own, "mma/", 4) == 0);
}

static void wrong_requests_are_refused(void **state)
{
    bench *const b = *state;
    gs_tune_result result;
    gs_tune_options options = options_of(b);
    assert_int_equal(tune_with(b, "f16:0x64x64:tn", "", &options, &result), GS_ERROR_RANGE);
    options.policy = "oracle";
    assert_int_equal(tune_with(b, PROBLEM, "", &options, &result), GS_ERROR_NOT_FOUND);
    assert_int_equal(b->worker.started, 0);
}

static void reward_is_the_share_of_the_room(void **state)
{
    (void)state;
    assert_float_equal(gs_reward(&(gs_ratio){1.2, 1.1, 1.3, GS_FASTER}, 20, 10), log(1.1) / log(2), 1e-12);
    assert_float_equal(gs_reward(&(gs_ratio){2.1, 2.0, 2.2, GS_FASTER}, 20, 10), 1, 1e-12);
    assert_float_equal(gs_reward(&(gs_ratio){9, 8, 10, GS_FASTER}, 20, 10), 1, 0);
    assert_float_equal(gs_reward(&(gs_ratio){0.9, 0.8, 1.0, GS_UNCLEAR}, 20, 10), log(0.8) / log(2), 1e-12);
    assert_float_equal(gs_reward(&(gs_ratio){0.01, 0.01, 0.01, GS_SLOWER}, 20, 10), -1, 0);
    assert_float_equal(gs_reward(&(gs_ratio){1.0, 0.995, 1.02, GS_SAME}, 20, 10), 0, 0);
    /* Little room counts as a quarter. */
    assert_float_equal(gs_reward(&(gs_ratio){1.05, 1.05, 1.05, GS_FASTER}, 10.1, 10), log(1.05) / log(1.25), 1e-12);
    assert_float_equal(gs_reward(&(gs_ratio){0}, 20, 10), -1, 0);
    assert_float_equal(gs_reward(&(gs_ratio){NAN, NAN, NAN, GS_UNCLEAR}, 20, 10), -1, 0);
}

static void precompile_fills_the_cache(void **state)
{
    bench *const b = *state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule list[2];
    char cache[96];
    int failed = -1;
    snprintf(cache, sizeof cache, "%s/cache", b->folder);
    list[0] = gs_schedule_first(GS_FAMILY_SIMPLE);
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 1u << GS_FAMILY_WS, &list[1], 1), 1);
    assert_int_equal(gs_precompile(gs_caps_find("h200"), &problem, list, 2, 2, 0, cache, &failed, &error), GS_OK);
    assert_int_equal(failed, 0);
    assert_int_equal(files_in(cache), 2);
    assert_int_equal(gs_precompile(gs_caps_find("h200"), &problem, list, 2, 0, 0, cache, &failed, &error), GS_OK);
    assert_int_equal(failed, 0);
    assert_int_equal(files_in(cache), 2);

    /* pairs: the same kernel serves problems of other sizes, not of the other layout */
    gs_problem pairs[3] = {problem, problem, problem};
    const gs_schedule same[3] = {list[1], list[1], list[1]};
    pairs[1].m = 2048;
    pairs[2].layout = GS_NN;
    pairs[2].ldb = pairs[2].n;
    assert_int_equal(gs_precompile_pairs(gs_caps_find("h200"), pairs, same, 3, 2, 0, cache, &failed, &error), GS_OK);
    assert_int_equal(failed, 0);
    assert_int_equal(files_in(cache), 3);
    assert_int_equal(gs_precompile_pairs(gs_caps_find("h200"), pairs, same, 0, 2, 0, cache, &failed, &error), GS_OK);

    gs_caps nonsense = *gs_caps_find("h200");
    snprintf(nonsense.target, sizeof nonsense.target, "sm_1");
    assert_int_equal(gs_precompile(&nonsense, &problem, list, 2, 1, 0, cache, &failed, &error), GS_OK);
    assert_int_equal(failed, 2);
    gs_stop_requested = 1;
    assert_int_equal(gs_precompile(gs_caps_find("h200"), &problem, list, 2, 1, 0, cache, &failed, &error), GS_ERROR_INTERRUPTED);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(finds_the_fastest), CASE(library_wins), CASE(library_has_other_bits), CASE(bad_candidates_become_verdicts), CASE(nothing_passes),
        CASE(groups_have_no_library), CASE(groups_may_take_longer), CASE(no_reference_blames_nobody), CASE(alone_where_the_library_fails), CASE(reference_lost_on_the_way),
        CASE(alone_bad_candidates_become_verdicts), CASE(alone_nothing_passes), CASE(second_run_resumes), CASE(a_resumed_best_own), CASE(a_stopped_run_goes_on), CASE(a_budget_ends_the_run),
        CASE(a_short_budget_still_confirms), CASE(two_tuners_share_store_and_table), CASE(an_unreadable_row_is_not_lost),
        CASE(dependent_results_are_kept_apart), CASE(families_are_respected), CASE(wrong_requests_are_refused), CASE(precompile_fills_the_cache),
        CASE(refine_tunes_with_what_was_found), cmocka_unit_test(reward_is_the_share_of_the_room),
    };
    return cmocka_run_group_tests_name("tune/tune", tests, NULL, NULL);
}

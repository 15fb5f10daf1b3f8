/* SPDX-License-Identifier: MIT
 * A list of problems tuned with a scripted worker, for tests: the report of each problem, and the worker's requests. Included after cmocka. */
#ifndef TESTS_TUNING_LIST_H
#define TESTS_TUNING_LIST_H

#include <sys/wait.h>

#include "tune/run.h"
#include "tuning.h"

enum { MOST = 40 };

static const char *const three[] = {PROBLEM, "f16:256x512x1024:tn", "f16:512x4096x256:nn"};

/* Reports by problem. */
typedef struct reports {
    gs_tune_result result[MOST];
    gs_status      status[MOST];
    int            times[MOST], count, end_after;
} reports;

static reports seen;

static inline bool on_finished(void *self, int index, gs_status status, const gs_tune_result *result, const gs_error *error)
{
    reports *const r = self;
    if (status != GS_OK) print_message("%d: %s\n", index, error->text);
    if (status != GS_OK) assert_true(error->text[0] != '\0');
    r->result[index] = *result;
    r->status[index] = status;
    r->times[index]++;
    r->count++;
    return r->end_after == 0 || r->count < r->end_after;
}

static inline gs_status list_with(bench *b, const char *const *texts, int count, const char *script, const gs_tune_options *options)
{
    gs_problem problems[MOST];
    gs_error error = {0};
    const int end_after = seen.end_after;
    seen = (reports){.end_after = end_after};
    for (int i = 0; i < count; i++) problems[i] = problem_of(texts[i]);
    setenv("FAKE_WORKER", script, 1);
    gs_worker_stop(&b->worker);
    b->worker.started = 0;
    const gs_status status = gs_tune_list(b->store, &b->session, &b->worker, gs_caps_find("h200"), problems, count, options, on_finished, &seen,
                                          &error);
    if (status != GS_OK) print_message("%s: %s\n", gs_status_name(status), error.text);
    if (status != GS_OK) assert_true(error.text[0] != '\0');
    assert_int_equal(waitpid(-1, NULL, WNOHANG), b->worker.pid > 0 ? 0 : -1);   /* no child process is left except the worker */
    return status;
}

static inline void expect_best(bench *b, int index, const char *problem, int place)
{
    answer best[CANDIDATES];
    gs_row row;
    right_answers(problem, best);
    const gs_tune_result *const result = &seen.result[index];
    assert_int_equal(seen.status[index], GS_OK);
    assert_int_equal(seen.times[index], 1);
    assert_string_equal(result->best_own, best[place].text);
    assert_float_equal(result->best_own_us / best[place].us, 1, 0.005);
    if (!result->confirmed) return;
    assert_float_equal(result->row.ratio / (library_us(problem, 1.5) / best[place].us), 1, 0.005);
    assert_true(table_row(b, problem, &row));
    assert_float_equal(row.us / best[place].us, 1, 0.005);
    assert_string_equal(trial_of(b, problem, best[place].text).stage, "confirm");
}

#endif

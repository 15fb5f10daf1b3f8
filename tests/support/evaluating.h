/* SPDX-License-Identifier: MIT
 * The environment with a scripted worker, and candidates that it evaluates. Included after cmocka. */
#ifndef TESTS_EVALUATING_H
#define TESTS_EVALUATING_H

#include "evaluate/environment.h"
#include "tuning.h"

#define LIBRARY 1.0   /* us; close enough to the fastest candidate that its speedup is not doubted as implausible */

static gs_error error;

/* Stops a running worker first: the script is passed in the child's environment. */
static inline gs_environment *environment_of(bench *b, const char *rules, const gs_environment_options *asked, bool with_store)
{
    gs_environment *e;
    gs_environment_options options = *asked;
    options.seed = 5;
    options.cache_path = "";
    if (!(options.timeout_s > 0)) options.timeout_s = 20;
    char script[4096];
    snprintf(script, sizeof script, "library=%g;log=%s;%s", LIBRARY, b->log_path, rules);
    setenv("FAKE_WORKER", script, 1);
    gs_worker_stop(&b->worker);
    remove(b->log_path);
    assert_int_equal(gs_environment_create(&e, &b->worker, gs_caps_find("h200"), with_store ? b->store : NULL, with_store ? &b->session : NULL,
                                           &options, &error), GS_OK);
    return e;
}

static inline gs_evaluation evaluate(gs_environment *e, const gs_submission *submission)
{
    const gs_problem problem = problem_of(PROBLEM);
    gs_evaluation got;
    const gs_status status = gs_evaluate(e, &problem, submission, &got, &error);
    if (status != GS_OK) fail_msg("%s: %s", gs_status_name(status), error.text);
    assert_true(got.verdict != GS_VERDICT_UNKNOWN && got.reward >= -1 && got.reward <= 1);
    assert_true((got.verdict == GS_VERDICT_PASS) == (got.us > 0));
    assert_true(got.us > 0 || (got.reward == -1 && got.reason[0]));
    return got;
}

static inline gs_evaluation evaluate_schedule(gs_environment *e, const char *schedule) { return evaluate(e, &(gs_submission){.schedule = schedule}); }
static inline gs_evaluation evaluate_source(gs_environment *e, const char *source)
{
    return evaluate(e, &(gs_submission){.source = source, .manifest = SIMPLE_MANIFEST});
}

#endif

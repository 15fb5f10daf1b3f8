/* SPDX-License-Identifier: MIT
 * The llm policy with a scripted endpoint, for tests: the policy, its proposals and an environment for it. Included after cmocka. */
#ifndef TESTS_LLM_POLICY_H
#define TESTS_LLM_POLICY_H

#include "llm_endpoint.h"
#include "policy/policies.h"
#include "tuning_list.h"

#define BODY(content, finish) "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"" content "\"},\"finish_reason\":\"" finish "\"}]," \
                              "\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}"
#define SAYS(content) {200, "application/json", .body = BODY(content, "stop")}

static gs_policy      policy;
static gs_llm_options how;
static gs_problem     problem;
static gs_schedule    said_now[64];
static gs_error       error;

static inline const gs_caps *caps(void) { return gs_caps_find("h200"); }

static inline int begin(void **state)
{
    (void)state;
    unset_models();
    setenv("GEMMSMITH_WEIGHTS", "", 1);
    how = (gs_llm_options){.model = "tiny", .note = note, .wait_s = 0.01};
    problem = problem_of("f16:1024x1024x1024:tn");
    notes = 0;
    error = (gs_error){0};
    return 0;
}

static inline int begin_tuning(void **state)
{
    begin(state);
    return start(state);
}

static inline void close_policy(void)
{
    policy.destroy(&policy);
    assert_null(policy.self);
    endpoint_stop(&server);
}

static inline int propose(int most) { return policy.propose(&policy, &problem, caps(), said_now, most); }

static inline bool says_now(int at, const char *text)
{
    char name[GS_SCHEDULE_TEXT];
    return strcmp(gs_schedule_format(&said_now[at], name), text) == 0;
}

/* The policy proposes for one problem at a time and refuses a list. */
static inline void refuses_lists(bench *b, const char *name)
{
    gs_tune_options options = options_of(b);
    const gs_llm_options llm = {.url = "http://127.0.0.1:1", .model = "m"};
    options.policy = name;
    options.llm = &llm;
    assert_int_equal(list_with(b, three, 2, "", &options), GS_ERROR_UNSUPPORTED);
    assert_int_equal(seen.count, 0);
}

#define CASE(name)   cmocka_unit_test_setup(name, begin)
#define TUNING(name) cmocka_unit_test_setup_teardown(name, begin_tuning, finish)

#endif

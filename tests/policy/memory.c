/* SPDX-License-Identifier: MIT
 * Policies without memory: each allocation of a search fails in turn. What is proposed is valid and never repeated, less of it perhaps; and nothing is left when a policy ends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"
#include "allocations.h"
#include "leaks.h"
#include "schedule/caps.h"

enum { BATCH = 6, BATCHES = 3, MOST = 8 };

/* Searches for a while. Returns how many were proposed; -1: the policy could not be made. */
static int search(const char *name, bool fails_at_once)
{
    static const gs_verdict_code verdicts[] = {GS_VERDICT_PASS, GS_VERDICT_UNKNOWN, GS_VERDICT_EXACT};
    const gs_caps *const caps = gs_caps_find("h200");
    gs_schedule list[BATCH * BATCHES], *at = list;
    gs_policy policy;
    gs_problem problem;
    gs_error error = {0};
    assert_int_equal(gs_problem_parse(&problem, "f16:64x64x64:tn", NULL), GS_OK);
    const gs_found found = {.problem = problem, .schedule = gs_schedule_first(GS_FAMILY_MMA)};
    const gs_status status = gs_policy_create(&policy, name, 3, &error);
    if (status != GS_OK) {
        if (status != GS_ERROR_MEMORY) fail_msg("%s: %s", name, error.text);
        assert_memory_equal(error.text, "no memory for ", strlen("no memory for "));
        assert_null(policy.self);
        return -1;
    }
    assert_false(fails_at_once);
    policy.families = 1u << GS_FAMILY_MMA | 1u << GS_FAMILY_SPLITK;
    policy.found = &found;
    policy.found_count = 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        gs_feedback told[BATCH];
        const int count = policy.propose(&policy, &problem, caps, at, BATCH);
        assert_in_range(count, 0, BATCH);
        for (int i = 0; i < count; i++) {
            assert_int_equal(gs_schedule_check(&at[i], &problem, caps, NULL), GS_OK);
            for (const gs_schedule *other = list; other < at + i; other++) assert_memory_not_equal(other, &at[i], sizeof *other);
            told[i] = (gs_feedback){.schedule = at[i], .verdict = verdicts[i % 3], .us = i % 3 == 2 ? 0 : 5 + i, .ratio = 1};
        }
        if (policy.learn) policy.learn(&policy, &problem, caps, told, count);
        at += count;
    }
    if (policy.learn) {   /* of another problem, of which nothing was proposed */
        const gs_problem other = gs_problem_make(GS_F16, GS_TN, 32, 32, 64);
        const gs_feedback told = {.schedule = gs_schedule_first(GS_FAMILY_MMA), .us = 5, .ratio = 1};
        policy.learn(&policy, &other, caps, &told, 1);
    }
    policy.destroy(&policy);
    assert_null(policy.self);
    return (int)(at - list);
}

static void search_without_memory(const char *name)
{
    int n = 1, failed = 0;
    const int usual = search(name, false);
    assert_true(usual > BATCH);
    for (bool over = false; !over && n < MOST; n++) {
        fail_at = n;
        const int count = search(name, n == 1);
        over = !allocation_failed();
        failed += count < 0;
        if (over) assert_int_equal(count, usual);
    }
    assert_true(failed >= 1);
}

static void no_policy_needs_memory_that_is_not_there(void **state)
{
    static const char *const names[] = {"enumerate", "spread", "refine", "random", "evolve", "learned"};
    (void)state;
    setenv("GEMMSMITH_WEIGHTS", "", 1);
    for (size_t i = 0; i < GS_COUNT(names); i++) search_without_memory(names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_policy_needs_memory_that_is_not_there)};
    return run_without_leaks("policy/memory", tests, GS_COUNT(tests));
}

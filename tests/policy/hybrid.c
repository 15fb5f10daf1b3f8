/* SPDX-License-Identifier: MIT
 * The policy "hybrid" at a scripted endpoint: whose turn it is, that both are told of everything, who goes on alone, and the weights that it keeps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "llm_policy.h"
#include "learn/weights.h"
#include "schedule/space.h"
#include "leaks.h"

#define GOOD_A "ws/64x64x64/s2/c1x1/coop/g1"
#define GOOD_B "ws/64x128x64/s2/c1x1/coop/g1"
#define GOOD_C "ws/64x64x64/s3/c1x1/coop/g1"

static void open_policy(bool keeps, const said *script, int count)
{
    endpoint_start(&server, script, count);
    how.url = server.url;
    assert_int_equal(gs_policy_hybrid_with(&policy, &how, keeps, 7, NULL), GS_OK);
    policy.families = 1u << GS_FAMILY_WS;
}

#define open_with(keeps, ...) open_policy(keeps, (const said[]){__VA_ARGS__}, GS_COUNT(((const said[]){__VA_ARGS__})))

static void told(int count)
{
    gs_feedback feedback[64];
    for (int i = 0; i < count; i++) feedback[i] = (gs_feedback){said_now[i], GS_VERDICT_PASS, 100 + i, 0.5, 0.1 * i - 0.5, NULL};
    policy.learn(&policy, &problem, caps(), feedback, count);
}

static bool question_has(int request, const char *what) { return strstr(server.request[request], what) != NULL; }

/* ---- turns ---- */

static void they_take_turns(void **state)
{
    (void)state;
    char name[GS_SCHEDULE_TEXT], line[128];
    open_with(true, SAYS("[\\\"" GOOD_A "\\\", \\\"" GOOD_B "\\\"]"), SAYS("[\\\"" GOOD_C "\\\"]"));
    assert_int_equal(propose(8), 8);
    gs_schedule_format(&said_now[0], name);
    told(8);
    assert_int_equal(server.requests, 0);
    assert_int_equal(propose(6), 2);          /* without the time model's first ones: there are measurements */
    assert_int_equal(server.requests, 1);
    assert_true(says_now(0, GOOD_A) && says_now(1, GOOD_B));
    snprintf(line, sizeof line, "- %s: 100 us", name);
    assert_true(question_has(0, line));              /* what the weights found */
    assert_int_equal(propose(4), 0);          /* fewer than asked for: the turn is over all the same */
    told(2);
    assert_int_equal(propose(40), 40);
    for (int i = 0; i < 40; i++) assert_false(says_now(i, GOOD_A) || says_now(i, GOOD_B));   /* it was told of them */
    assert_int_equal(server.requests, 1);
    told(40);
    assert_int_equal(propose(1), 1);
    assert_true(says_now(0, GOOD_C));
    problem = problem_of("f16:2048x1024x1024:tn");
    assert_int_equal(propose(4), 4);          /* another problem: from the beginning */
    assert_int_equal(server.requests, 2);
    close_policy();
}

/* All of them known to be bad to the caller, who says nothing of it. */
static void a_turn_of_which_nothing_was_taken_goes_on(void **state)
{
    (void)state;
    open_with(true, SAYS("[\\\"" GOOD_A "\\\"]"), SAYS("[\\\"" GOOD_B "\\\"]"), SAYS("none"));
    told(propose(8));
    assert_int_equal(propose(6), 1);
    assert_int_equal(propose(6), 1);
    assert_true(says_now(0, GOOD_B));
    assert_int_equal(propose(6), 6);   /* two answers without anything: the weights' turn */
    assert_int_equal(server.requests, 6);
    close_policy();
}

static void what_the_weights_said_is_not_new(void **state)
{
    (void)state;
    gs_schedule first[8];
    char body[1024], name[GS_SCHEDULE_TEXT];
    open_with(true, SAYS("[]"));
    assert_int_equal(propose(8), 8);
    memcpy(first, said_now, sizeof first);
    close_policy();
    snprintf(body, sizeof body, "{\"choices\":[{\"message\":{\"content\":\"[\\\"%s\\\", \\\"" GOOD_A "\\\"]\"},\"finish_reason\":\"stop\"}]}", gs_schedule_format(&first[3], name));
    open_with(true, {200, "application/json", .body = body});
    told(propose(8));
    assert_int_equal(propose(8), 1);
    assert_true(says_now(0, GOOD_A));
    close_policy();
}

/* As learned would begin alone. */
static void what_was_found_goes_first(void **state)
{
    (void)state;
    const gs_found found = {problem_of("bf16:1024x1024x1024:tn"), schedule_of(GOOD_C)};
    open_with(true, SAYS("[]"));
    assert_true(policy.asks_found);
    policy.found = &found;
    policy.found_count = 1;
    assert_int_equal(propose(8), 8);
    assert_true(says_now(0, GOOD_C));
    close_policy();
}

static void alone_without_an_endpoint(void **state)
{
    (void)state;
    open_with(true, {404, "application/json", .body = "{}"});
    for (int turn = 0; turn < 4; turn++) {
        assert_int_equal(propose(4), 4);
        told(4);
    }
    assert_int_equal(server.requests, 1);
    assert_int_equal(notes, 1);
    close_policy();
}

static void alone_when_the_budget_is_used_up(void **state)
{
    (void)state;
    how.budget = "requests=1";
    open_with(true, SAYS("[\\\"" GOOD_A "\\\"]"));
    const int expected[] = {4, 1, 4, 4, 4};
    for (size_t turn = 0; turn < GS_COUNT(expected); turn++) {
        assert_int_equal(propose(4), expected[turn]);
        told(expected[turn]);
    }
    assert_int_equal(server.requests, 1);
    assert_int_equal(notes, 1);
    close_policy();
}

/* Everything that there is to say was said by the other one. */
static void the_model_goes_on_where_the_weights_have_no_more(void **state)
{
    (void)state;
    gs_space space;
    assert_int_equal(gs_space_create(&space, &problem, caps(), 1u << GS_FAMILY_SIMPLE, NULL), GS_OK);
    assert_int_equal(space.count, 1);
    gs_space_free(&space);
    open_with(true, SAYS("[\\\"simple\\\"]"));
    policy.families = 1u << GS_FAMILY_SIMPLE;
    assert_int_equal(propose(4), 1);
    told(1);
    assert_int_equal(propose(4), 0);
    assert_int_equal(server.requests, 0);   /* nothing is left to ask for */
    close_policy();
}

/* ---- weights ---- */

static void without_weights_it_evolves(void **state)
{
    (void)state;
    open_with(false, SAYS("[\\\"" GOOD_A "\\\"]"));
    assert_null(policy.save);
    assert_null(policy.load);
    gs_schedule first[8], evolved[8];
    assert_int_equal(propose(8), 8);
    memcpy(first, said_now, sizeof first);
    gs_policy evolve;
    assert_int_equal(gs_policy_evolve(&evolve, 7, NULL), GS_OK);
    evolve.families = policy.families;
    assert_int_equal(evolve.propose(&evolve, &problem, caps(), evolved, 8), 8);
    evolve.destroy(&evolve);
    assert_memory_equal(first, evolved, sizeof first);
    close_policy();
}

static double distance(const char *left, const char *right)
{
    gs_weights a, b;
    double sum = 0;
    assert_int_equal(gs_weights_load(&a, left, NULL), GS_OK);
    assert_int_equal(gs_weights_load(&b, right, NULL), GS_OK);
    for (int i = 0; i < a.surrogate.net[0].count; i++) sum += fabs((double)a.surrogate.net[0].weights[i] - b.surrogate.net[0].weights[i]);
    gs_weights_free(&a);
    gs_weights_free(&b);
    return sum;
}

/* What it is told of the model's schedules, in its turn, is in the weights. */
static void answers_are_learned_from(void **state)
{
    const bench *const b = *state;
    char before[128], after[128];
    snprintf(before, sizeof before, "%s/before.weights", b->folder);
    snprintf(after, sizeof after, "%s/after.weights", b->folder);
    open_with(true, SAYS("[\\\"" GOOD_A "\\\", \\\"" GOOD_B "\\\", \\\"" GOOD_C "\\\"]"));
    told(propose(4));
    assert_int_equal(policy.save(&policy, before, NULL), GS_OK);
    assert_int_equal(propose(4), 3);
    told(3);
    assert_int_equal(policy.save(&policy, after, NULL), GS_OK);
    assert_true(distance(before, after) > 0);
    close_policy();
    open_with(true, SAYS("[]"));
    assert_int_equal(policy.load(&policy, after, NULL), GS_OK);
    assert_int_equal(gs_file_write(before, "mine", 4, NULL), GS_OK);
    assert_int_not_equal(policy.load(&policy, before, NULL), GS_OK);
    close_policy();
}

/* ---- a search ---- */

static void a_search_has_both(void **state)
{
    bench *const b = *state;
    char weights[128];
    gs_tune_options options = options_of(b);
    gs_tune_result result;
    snprintf(weights, sizeof weights, "%s/kept.weights", b->folder);
    const said script[] = {SAYS("[\\\"" GOOD_A "\\\", \\\"" GOOD_B "\\\"]")};
    endpoint_start(&server, script, 1);
    how.url = server.url;
    options.policy = "hybrid";
    options.llm = &how;
    options.learn_path = weights;
    options.families = 1u << GS_FAMILY_WS;
    options.candidates = 16;
    assert_int_equal(tune_with(b, PROBLEM, "library=1.5", &options, &result), GS_OK);
    endpoint_stop(&server);
    assert_true(server.requests >= 1);
    assert_int_equal(result.proposed, 8 + 2 + 3 + 2 + 1);   /* 8 by weights; of 4 asked for, 2; 3 by weights; then the model has nothing new */
    assert_true(gs_file_exists(weights));
    assert_int_equal(notes, 0);
}

static void lists_are_refused(void **state) { refuses_lists(*state, "hybrid"); }

static void an_endpoint_is_needed(void **state)
{
    (void)state;
    assert_int_not_equal(gs_policy_create(&policy, "hybrid", 1, &error), GS_OK);
    assert_string_equal(error.field, "llm_url");
    assert_null(policy.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(they_take_turns), CASE(a_turn_of_which_nothing_was_taken_goes_on), CASE(what_the_weights_said_is_not_new), CASE(what_was_found_goes_first), CASE(alone_without_an_endpoint),
        CASE(alone_when_the_budget_is_used_up), CASE(the_model_goes_on_where_the_weights_have_no_more), CASE(without_weights_it_evolves),
        TUNING(answers_are_learned_from), TUNING(a_search_has_both), TUNING(lists_are_refused), CASE(an_endpoint_is_needed),
    };
    return run_without_leaks("policy/hybrid", tests, GS_COUNT(tests));
}

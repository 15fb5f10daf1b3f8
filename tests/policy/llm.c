/* SPDX-License-Identifier: MIT
 * The policy "llm" at a scripted endpoint: what it asks, what it makes of answers good and bad, when it falls silent, and that nothing of an answer
 * but schedules comes back in a prompt. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "llm_policy.h"
#include "llm/chat.h"
#include "leaks.h"

#define MARK "MARK-of-the-model"
#define GOOD_A "ws/128x256x64/s4/c2x1/coop/g8"
#define GOOD_B "ws/128x128x64/s4/c1x1/pp/g8"
#define GOOD_C "ws/256x128x64/s3/c2x1/coop/h4"

static void open_policy(const said *script, int count)
{
    endpoint_start(&server, script, count);
    how.url = server.url;
    if (gs_policy_llm_with(&policy, &how, 7, &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
    policy.families = 1u << GS_FAMILY_WS;
}

#define open_with(...) open_policy((const said[]){__VA_ARGS__}, GS_COUNT(((const said[]){__VA_ARGS__})))

static void told(gs_verdict_code verdict, const char *reason, int count)
{
    gs_feedback feedback[64];
    for (int i = 0; i < count; i++) feedback[i] = (gs_feedback){said_now[i], verdict, reason ? 0 : 100 + i, reason ? 0 : 0.5, 0, reason};
    policy.learn(&policy, &problem, caps(), feedback, count);
}

static void first_ones(int most, int expected)
{
    assert_int_equal(propose(most), expected);
    told(GS_VERDICT_PASS, NULL, expected);
}

/* The texts of a request's messages. */
static const char *prompt(int request)
{
    static char text[65536];
    json_t *const body = json_loads(strstr(server.request[request], "\r\n\r\n") + 4, 0, NULL);
    assert_non_null(body);
    const json_t *const messages = json_object_get(body, "messages");
    assert_int_equal(json_array_size(messages), 2);
    snprintf(text, sizeof text, "%s\n%s", json_string_value(json_object_get(json_array_get(messages, 0), "content")),
             json_string_value(json_object_get(json_array_get(messages, 1), "content")));
    json_decref(body);
    return text;
}

/* ---- a search ---- */

/* Turns with what came of them, as the store has them. */
static bool tell_turn(void *self, const gs_turn *turn)
{
    gs_text *const text = self;
    assert_string_equal(turn->mode, "schedule");
    assert_string_equal(turn->model, "tiny");
    assert_non_null(strstr(turn->ask, "1024"));
    gs_text_addf(text, "%d%s", turn->number, turn->fault[0] ? "?" : "");
    for (int i = 0; i < turn->count; i++) {
        const gs_turn_outcome *const o = &turn->outcomes[i];
        gs_text_addf(text, " %s=%s", o->candidate, o->verdict);
        assert_true(o->us > 0 && o->ratio > 0);   /* raced; those that are fast are verified behind that */
    }
    gs_text_add(text, "; ");
    return true;
}

static void the_planted_one_wins(void **state)
{
    bench *const b = *state;
    const answer planted = fastest_of(PROBLEM, 1u << GS_FAMILY_WS);
    char body[1024];
    gs_tune_options options = options_of(b);
    gs_tune_result result;
    snprintf(body, sizeof body, BODY("```json\\n[\\\"ws/64x64x64/s2/c1x1/coop/g1\\\", \\\"ws/1x1x1/s4/c2x1/coop/g8\\\", \\\"%s\\\", \\\"ws/64x128x64/s2/c1x1/coop/g1\\\"]\\n```", "stop"),
             planted.text);
    const said script[] = {{200, "application/json", .body = body}, SAYS("[\\\"" GOOD_A "\\\", \\\"" GOOD_B "\\\"]"), SAYS("no idea")};
    endpoint_start(&server, script, 3);
    how.url = server.url;
    options.policy = "llm";
    options.llm = &how;
    options.families = 1u << GS_FAMILY_WS;
    options.candidates = 16;
    assert_int_equal(tune_with(b, PROBLEM, "library=1.5", &options, &result), GS_OK);
    endpoint_stop(&server);
    assert_string_equal(result.best_own, planted.text);
    assert_true(server.requests >= 3);
    assert_int_equal(result.measured, result.proposed);
    assert_true(result.proposed >= 4 + 3 + 2 - 2);   /* the time model's, and of both answers what these did not have */
    has(prompt(1), planted.text);                    /* it was told what came of it */
    has(prompt(1), "times the speed of cuBLASLt");
    gs_text turns = {0};
    char line[256];
    assert_int_equal(gs_store_turns(b->store, b->session.device, PROBLEM, tell_turn, &turns, &error), GS_OK);
    assert_true(strncmp(gs_text_string(&turns), "1 ws/", 5) == 0);
    snprintf(line, sizeof line, " %s=", planted.text);
    has(gs_text_string(&turns), line);
    has(gs_text_string(&turns), "; 2 " GOOD_A "=");
    has(gs_text_string(&turns), "; 3?; 3?; ");
    gs_text_free(&turns);
    assert_int_equal(notes, 0);
}

static void without_an_endpoint_tuning_ends(void **state)
{
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    gs_tune_result result;
    endpoint_start(&server, &(said){404, "application/json", .body = "{}"}, 1);
    how.url = server.url;
    options.policy = "llm";
    options.llm = &how;
    options.candidates = 8;
    assert_int_equal(tune_with(b, PROBLEM, "library=1.5", &options, &result), GS_OK);
    endpoint_stop(&server);
    assert_int_equal(server.requests, 1);
    assert_int_equal(notes, 1);
    has(noted, "http 404");
    assert_int_equal(result.proposed, 2);   /* the time model's */
    assert_true(result.best_own[0] != '\0');
}

static void lists_are_refused(void **state) { refuses_lists(*state, "llm"); }

/* ---- what is asked ---- */

static void the_prompt_has_what_it_must(void **state)
{
    (void)state;
    char name[GS_SCHEDULE_TEXT], line[256];
    open_with(SAYS("[\\\"" GOOD_A "\\\"]"), SAYS("[\\\"" GOOD_B "\\\"]"));
    assert_int_equal(propose(8), 4);
    assert_int_equal(propose(4), 0);   /* it was not told what came of them */
    assert_int_equal(server.requests, 0);
    told(GS_VERDICT_PASS, NULL, 3);
    gs_schedule_format(&said_now[0], name);
    policy.learn(&policy, &problem, caps(), &(gs_feedback){said_now[3], GS_VERDICT_SPILL, .reason = "uses 12 bytes\nof stack"}, 1);
    char failed[GS_SCHEDULE_TEXT];
    gs_schedule_format(&said_now[3], failed);
    assert_int_equal(propose(5), 1);
    assert_true(says_now(0, GOOD_A));
    const char *const text = prompt(0);
    has(text, "f16:1024x1024x1024:tn");
    snprintf(line, sizeof line, "cannot be: %.4g us", gs_floor_us(&problem, caps()));
    has(text, line);
    has(text, "2.14748e+09 FLOP");
    has(text, "NVIDIA H200");
    has(text, "132 multiprocessors");
    has(text, "## ws");
    has_not(text, "## mma");   /* not searched */
    has(text, "128x256x64");
    snprintf(line, sizeof line, "- %s: 100 us", name);
    has(text, line);
    snprintf(line, sizeof line, "- %s: spill: uses 12 bytes of stack", failed);
    has(text, line);
    has(text, "JSON array of 5 new schedule strings");
    has_not(text, "{{");
    close_policy();
}

/* Of those between the fastest and the slowest some of every bucket are shown, not all. */
static void examples_are_contrastive(void **state)
{
    (void)state;
    gs_feedback feedback[60];
    gs_schedule list[60];
    int shown = 0;
    open_with(SAYS("[\\\"" GOOD_A "\\\"]"));
    first_ones(8, 4);
    assert_int_equal(gs_schedule_shortlist(&problem, caps(), policy.families, list, 60), 60);
    for (int i = 0; i < 60; i++) feedback[i] = (gs_feedback){list[i], GS_VERDICT_PASS, 10 * (1 + 0.05 * i), 0, 0, NULL};
    policy.learn(&policy, &problem, caps(), feedback, 60);
    propose(1);
    const char *const text = prompt(0);
    for (int i = 0; i < 60; i++) {
        char line[256], name[GS_SCHEDULE_TEXT];
        snprintf(line, sizeof line, "- %s: ", gs_schedule_format(&list[i], name));
        const bool there = strstr(text, line);
        shown += there;
        if (i < 3) assert_true(there);
    }
    assert_in_range(shown, 3 + 3 * 2, 3 + 5 * 2);
    has(text, "60 so far");
    close_policy();
}

static void nothing_of_an_answer_but_schedules_comes_back(void **state)
{
    (void)state;
    open_with(SAYS("[\\\"" MARK "\\\", \\\"ws/" MARK "/s4/c2x1/coop/g8\\\", \\\"" GOOD_A "\\\", \\\"ws/256x256x64/s12/c1x1/pp/g1\\\", \\\"simple\\\"]"),
              SAYS("I think " MARK), SAYS("[\\\"" GOOD_A "\\\", \\\"" GOOD_B "\\\"]"), SAYS("[\\\"" GOOD_C "\\\"]"));
    first_ones(8, 4);
    assert_int_equal(propose(8), 1);
    assert_true(says_now(0, GOOD_A));
    told(GS_VERDICT_PASS, NULL, 1);
    assert_int_equal(propose(8), 1);
    assert_true(says_now(0, GOOD_B));
    told(GS_VERDICT_PASS, NULL, 1);
    assert_int_equal(server.requests, 3);
    has(prompt(1), "- schedule string 1: not of the grammar, what is wrong is: family");
    has(prompt(1), "- schedule string 2: not of the grammar, what is wrong is: tile");
    has(prompt(1), "- ws/256x256x64/s12/c1x1/pp/g1: ");
    has(prompt(1), "- simple: of a family that is not searched");
    has_not(prompt(1), " more\n");
    has(prompt(2), "could not be read");
    assert_int_equal(propose(8), 1);
    has(prompt(3), "- " GOOD_A ": was proposed before");
    for (int i = 0; i < 4; i++) has_not(server.request[i], MARK);
    close_policy();
}

/* Of many that are wrong the first are said, and how many there are more. */
static void what_was_wrong_is_said_in_a_few_lines(void **state)
{
    (void)state;
    open_with(SAYS("[\\\"a\\\",\\\"b\\\",\\\"c\\\",\\\"d\\\",\\\"e\\\",\\\"f\\\",\\\"g\\\",\\\"h\\\",\\\"i\\\",\\\"j\\\",\\\"k\\\",\\\"l\\\",\\\"m\\\",\\\"n\\\"]"),
              SAYS("[\\\"" GOOD_A "\\\"]"));
    first_ones(8, 4);
    assert_int_equal(propose(8), 1);
    assert_int_equal(server.requests, 2);
    has(prompt(1), "- schedule string 12: not of the grammar");
    has_not(prompt(1), "- schedule string 13:");
    has(prompt(1), "- and 2 more\n");
    close_policy();
}

/* What became of the schedules is counted once the problem is left, with the fastest that is not wrong. */
static void the_tally_has_the_fastest_that_is_right(void **state)
{
    static const struct {
        const char     *schedule;
        gs_verdict_code verdict;
        double          us;
    } fates[] = {{GOOD_A, GS_VERDICT_PASS, 9}, {GOOD_B, GS_VERDICT_PASS, 7}, {GOOD_C, GS_VERDICT_EXACT, 5}};
    gs_feedback feedback[3];
    gs_llm shared = {0};
    gs_text text = {0};
    (void)state;
    assert_int_equal(gs_llm_open(&shared, &how, &error), GS_OK);
    how.shared = &shared;
    open_with(SAYS("[\\\"" GOOD_A "\\\", \\\"" GOOD_B "\\\", \\\"" GOOD_C "\\\", \\\"nonsense\\\"]"));
    first_ones(8, 4);
    assert_int_equal(propose(8), 3);
    for (int i = 0; i < 3; i++) {
        feedback[i] = (gs_feedback){.schedule = said_now[i], .verdict = fates[i].verdict, .us = fates[i].us, .ratio = 1};
        assert_true(says_now(i, fates[i].schedule));
    }
    policy.learn(&policy, &problem, caps(), feedback, 3);
    gs_llm_tally_format(&shared.tally, false, &text);
    assert_null(strstr(gs_text_string(&text), "its fastest"));   /* of the searches that have ended */
    close_policy();
    const gs_llm_tally *const t = &shared.tally;
    assert_true(t->asked == 1 && t->answered == 1 && t->readable == 1 && t->strings == 4 && t->parsed == 3 && t->valid == 3 && t->timed == 3 && t->right == 2 && t->wrong == 1);
    assert_true(t->best_us == 7);
    assert_string_equal(t->best, GOOD_B);
    gs_text_clear(&text);
    gs_llm_tally_format(t, true, &text);
    assert_string_equal(gs_text_string(&text), "language model: 1 of 1 questions answered, 1 readable; 4 schedules, 3 of the grammar, 3 valid and new; "
                                               "of these 3 compiled, 3 timed, 2 proved right, 1 refused\nits fastest: " GOOD_B ", predicted 7.00 us\n");
    gs_text_free(&text);
    gs_llm_close(&shared);
}

/* ---- answers that are none ---- */

static void a_second_question_repairs(void **state)
{
    (void)state;
    open_with({200, "application/json", .body = BODY("[\\\"" GOOD_A "\\\", \\\"ws/12", "length")}, SAYS("[\\\"" GOOD_B "\\\"]"));
    first_ones(8, 4);
    assert_int_equal(propose(8), 1);
    assert_true(says_now(0, GOOD_B));
    assert_int_equal(server.requests, 2);
    has_not(prompt(0), "could not be read");
    has(prompt(1), "cut at 16384 tokens");
    has(prompt(1), "f16:1024x1024x1024:tn");
    close_policy();
}

static void refusals_end_a_problem_and_no_other(void **state)
{
    (void)state;
    open_with({200, "application/json", .body = "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"" MARK "\"},\"finish_reason\":\"stop\"}]}"});
    first_ones(8, 4);
    assert_int_equal(propose(8), 0);
    assert_int_equal(server.requests, 4);   /* two questions, each twice */
    has(prompt(2), "- It was no answer, but a refusal.");
    has_not(server.request[3], MARK);
    assert_int_equal(propose(8), 0);
    assert_int_equal(server.requests, 4);
    assert_int_equal(notes, 0);
    problem = problem_of("f16:2048x1024x1024:tn");
    first_ones(8, 4);
    assert_int_equal(propose(8), 0);
    assert_int_equal(server.requests, 8);
    close_policy();
}

static void a_server_that_is_busy(void **state)
{
    (void)state;
    open_with({429, "application/json", .body = "{}"}, {429, "application/json", .body = "{}"}, SAYS("[\\\"" GOOD_A "\\\"]"), {429, "application/json", .body = "{}"});
    first_ones(8, 4);
    assert_int_equal(propose(8), 1);
    assert_int_equal(server.requests, 3);
    assert_int_equal(notes, 0);
    told(GS_VERDICT_PASS, NULL, 1);
    assert_int_equal(propose(8), 0);
    const int requests = server.requests;
    assert_int_equal(notes, 1);
    has(noted, "http 429");
    told(GS_VERDICT_PASS, NULL, 0);
    assert_int_equal(propose(8), 0);   /* for good */
    assert_int_equal(server.requests, requests);
    assert_int_equal(notes, 1);
    close_policy();
}

static void nobody_listens(void **state)
{
    (void)state;
    open_with({0});   /* connections are closed */
    first_ones(8, 4);
    assert_int_equal(propose(8), 0);
    assert_int_equal(notes, 1);
    has(noted, "is the endpoint up, and its URL right?");
    close_policy();
}

static void a_budget_is_of_all_problems(void **state)
{
    (void)state;
    gs_llm shared;
    how.budget = "requests=2,tokens=1e6";
    assert_int_equal(gs_llm_open(&shared, &how, &error), GS_OK);
    how.shared = &shared;
    open_with(SAYS("[\\\"" GOOD_A "\\\"]"));
    first_ones(8, 4);
    assert_int_equal(propose(8), 1);
    policy.destroy(&policy);
    assert_int_equal(gs_policy_llm_with(&policy, &how, 7, &error), GS_OK);   /* the next problem */
    first_ones(8, 4);
    assert_int_equal(propose(8), 1);
    told(GS_VERDICT_PASS, NULL, 1);
    assert_int_equal(propose(8), 0);
    assert_int_equal(server.requests, 2);
    assert_int_equal(notes, 1);
    has(noted, "requests");
    assert_true(shared.silent);
    assert_int_equal(gs_ledger_spent(shared.ledger).tokens, 220);
    close_policy();
    gs_llm_close(&shared);
}

static void a_stop_is_no_failure(void **state)
{
    (void)state;
    open_with({.mute = true});
    first_ones(8, 4);
    gs_stop_requested = 1;
    assert_int_equal(propose(8), 0);
    gs_stop_requested = 0;
    assert_int_equal(notes, 0);
    close_policy();
}

static void an_answer_that_does_not_come(void **state)
{
    (void)state;
    how.answer_s = 0.5;
    open_with({.mute = true});
    first_ones(8, 4);
    assert_int_equal(propose(8), 0);
    assert_int_equal(notes, 1);
    has(noted, "no whole answer within 0.5 s");
    assert_int_equal(endpoint_requests(&server, 1), 1);
    close_policy();
}

/* The third of a budget: without it the test would take minutes. */
static void tuning_does_not_wait_for_ever(void **state)
{
    bench *const b = *state;
    gs_tune_options options = options_of(b);
    gs_tune_result result;
    gs_status status = GS_OK;
    endpoint_start(&server, &(said){.mute = true}, 1);
    how.url = server.url;
    options.policy = "llm";
    options.llm = &how;
    options.candidates = 8;
    for (int i = 0; i < 3 && notes == 0; i++) {   /* on a slow machine the first question comes late; what was measured is not measured again */
        options.budget_s = (int[]){9, 27, 81}[i];
        status = tune_with(b, (const char *[]){PROBLEM, "f16:512x1024x1024:tn", "f16:1024x512x1024:tn"}[i], "library=1.5", &options, &result);
    }
    endpoint_stop(&server);
    assert_int_equal(notes, 1);
    assert_true(status == GS_OK || status == GS_ERROR_INTERRUPTED);   /* there the rest of the budget may not do either */
    assert_true(result.seconds < options.budget_s + 50);
}

/* ---- options and texts ---- */

static void wrong(const char *field)
{
    assert_int_not_equal(gs_policy_create(&policy, "llm", 1, &error), GS_OK);
    assert_string_equal(error.field, field);
    assert_null(policy.self);
}

static void wrong_headers(void)
{
    char folder[] = "/tmp/gs-headers-XXXXXX", path[64], many[512] = "";
    for (int i = 0; i <= GS_CHAT_HEADERS; i++) strcat(many, "X: y\n");
    const char *const texts[] = {"# one\n\nX-A: 1\r\nno header sk-secret\n", "Content-Type: text/html\n", "X: y", many};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/headers", folder);
    setenv("GEMMSMITH_LLM_HEADERS", path, 1);
    assert_int_not_equal(gs_policy_create(&policy, "llm", 1, &error), GS_OK);   /* not there */
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        assert_int_equal(gs_file_write(path, texts[i], i == 2 ? 5 : strlen(texts[i]), NULL), GS_OK);   /* the third with a byte 0 */
        wrong("llm_headers");
        assert_null(strstr(error.text, "secret"));
        assert_true(i > 0 || strstr(error.text, "line 4: "));
    }
    unsetenv("GEMMSMITH_LLM_HEADERS");
    unlink(path);
    rmdir(folder);
}

static void wrong_options(void **state)
{
    (void)state;
    static const char *const budgets[] = {"requests", "requests=", "requests=0", "requests=1.5", "tokens=-1", "euros=1", "requests=1,", "requests=1,requests=2",
                                          "requests=1;tokens=2", "cost=1", "seconds=1e13"};
    wrong("llm_url");
    setenv("GEMMSMITH_LLM_URL", "http://127.0.0.1:1", 1);
    wrong("llm_model");
    setenv("GEMMSMITH_LLM_MODEL", "tiny", 1);
    for (size_t i = 0; i < GS_COUNT(budgets); i++) {
        setenv("GEMMSMITH_LLM_BUDGET", budgets[i], 1);
        wrong("llm_budget");
    }
    setenv("GEMMSMITH_LLM_BUDGET", "requests=1,tokens=1.5", 1);
    wrong("llm_budget");
    assert_string_equal(error.text, "expected a whole number over 0");
    setenv("GEMMSMITH_LLM_BUDGET", "seconds=0", 1);
    wrong("llm_budget");
    assert_string_equal(error.text, "expected a number over 0");
    setenv("GEMMSMITH_LLM_BUDGET", "cost=0.5,seconds=1.5", 1);
    setenv("GEMMSMITH_LLM_PRICE", "1", 1);
    wrong("llm_price");
    setenv("GEMMSMITH_LLM_PRICE", "1,0.5", 1);
    setenv("GEMMSMITH_LLM_KEY_ENV", "sk-secret", 1);
    wrong("llm_key_env");
    assert_null(strstr(error.text, "secret"));
    setenv("GEMMSMITH_LLM_KEY_ENV", "MY_KEY", 1);
    setenv("GEMMSMITH_LLM_CA", "/nonexistent.pem", 1);
    wrong("llm_ca");
    unsetenv("GEMMSMITH_LLM_CA");
    wrong_headers();
    setenv("GEMMSMITH_PROMPTS", "/nonexistent", 1);
    wrong("prompts");
    unsetenv("GEMMSMITH_PROMPTS");
    assert_int_equal(gs_policy_create(&policy, "llm", 1, &error), GS_OK);
    policy.destroy(&policy);
}

/* Of a folder of one's own; what it has not is the library's copy. */
static void own_texts(void **state)
{
    bench *const b = *state;
    char path[128];
    static const char own[] = "Own text for {{problem}}, {{count}} please.", bad[] = "line\n{{wishes}}";
    snprintf(path, sizeof path, "%s/schedules-ask.md", b->folder);
    assert_int_equal(gs_file_write(path, own, strlen(own), NULL), GS_OK);
    how.prompts = b->folder;
    open_with(SAYS("[\\\"" GOOD_A "\\\"]"), SAYS("[\\\"" GOOD_B "\\\"]"));
    first_ones(8, 4);
    assert_int_equal(propose(3), 1);
    has(prompt(0), "You are an expert");
    has(prompt(0), "Own text for f16:1024x1024x1024:tn");
    has(prompt(0), ", 3 please.");
    told(GS_VERDICT_PASS, NULL, 1);
    assert_int_equal(gs_file_write(path, bad, strlen(bad), NULL), GS_OK);
    assert_int_equal(propose(3), 0);
    assert_int_equal(server.requests, 1);
    has(noted, "schedules-ask.md: line 2: there is no field 'wishes'");
    close_policy();
}

int main(void)
{
    const struct CMUnitTest questions[] = {
        CASE(the_prompt_has_what_it_must), CASE(examples_are_contrastive), CASE(nothing_of_an_answer_but_schedules_comes_back),
        CASE(what_was_wrong_is_said_in_a_few_lines), CASE(the_tally_has_the_fastest_that_is_right), CASE(a_second_question_repairs),
        CASE(refusals_end_a_problem_and_no_other), CASE(a_server_that_is_busy), CASE(nobody_listens), CASE(a_stop_is_no_failure),
        CASE(an_answer_that_does_not_come),
    };
    const struct CMUnitTest others[] = {
        TUNING(the_planted_one_wins), TUNING(without_an_endpoint_tuning_ends), TUNING(lists_are_refused), TUNING(tuning_does_not_wait_for_ever),
        CASE(a_budget_is_of_all_problems), CASE(wrong_options), TUNING(own_texts),
    };
    const int failed = run_without_leaks("policy/llm, questions", questions, GS_COUNT(questions));
    return failed + cmocka_run_group_tests_name("policy/llm", others, NULL, NULL);
}

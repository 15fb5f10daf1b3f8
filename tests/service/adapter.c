/* SPDX-License-Identifier: MIT
 * Proves how trainers' requests are read and answered, and how results become replies: where a response begins, which completion has which reward, and what is said of what is
 * not done. How the service answers over HTTP is in service.py and trainers.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "leaks.h"
#include "problem/layout.h"
#include "service/adapter.h"
#include "service/reply.h"

#define P      "f16:64x64x64:tn"
#define SIMPLE "\\n```schedule\\nsimple\\n```\\n"

static const gs_service_terms terms = {.scope = {GS_SERVICE_SCOPE, "d", "v", "o"}, .deadline_s = 30};
static gs_error error;

static gs_status parse(gs_service_completions *out, gs_service_adapter which, const char *body)
{
    memset(&error, 0, sizeof error);
    return gs_service_adapter_parse(out, which, body, strlen(body), &terms, &error);
}

static void what_a_trainer_sends(void **state)
{
    (void)state;
    static const struct { gs_service_adapter which; const char *body; gs_status status; const char *field, *text; } cases[] = {
        {GS_SERVICE_OPENRLHF, "{}", GS_ERROR_ARGUMENT, "query", "is missing"}, {GS_SERVICE_OPENRLHF, "{\"query\":[],\"prompts\":[]}", GS_ERROR_ARGUMENT, "labels", "is missing"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[],\"prompts\":[],\"labels\":[],\"more\":1}", GS_ERROR_ARGUMENT, "body", "has another field than the trainer sends"},
        {GS_SERVICE_OPENRLHF, "{\"query\":1,\"prompts\":[],\"labels\":[]}", GS_ERROR_PARSE, "query", "must be a list"}, {GS_SERVICE_OPENRLHF, "{\"query\":[],\"prompts\":[],\"labels\":1}", GS_ERROR_PARSE, "labels", "must be a list"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\"],\"prompts\":[],\"labels\":[\"" P "\"]}", GS_ERROR_RANGE, "prompts", "must be as long as query"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[],\"prompts\":[],\"labels\":[]}", GS_ERROR_RANGE, "query", "must have from 1 to 256 texts, not 0"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[1],\"prompts\":[\"\"],\"labels\":[\"" P "\"]}", GS_ERROR_PARSE, "query[0]", "must be a text"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\"],\"prompts\":[1],\"labels\":[\"" P "\"]}", GS_ERROR_PARSE, "prompts", "must be texts"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"ab\"],\"prompts\":[\"c\"],\"labels\":[\"" P "\"]}", GS_ERROR_ARGUMENT, "query[0]", "does not have the end of its prompt: where the response begins cannot be told"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\",\"b\"],\"prompts\":[\"a\",\"b\"],\"labels\":[\"" P "\",1]}", GS_ERROR_PARSE, "labels[1]", "must be a problem, as \"f16:4096x4096x4096:tn\", or an object with one in \"problem\""},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\"],\"prompts\":[\"a\"],\"labels\":[\"\"]}", GS_ERROR_PARSE, "labels[0]", "is no problem"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\"],\"prompts\":[\"a\"],\"labels\":[\"" P "\\u0000\"]}", GS_ERROR_PARSE, "labels[0]", "is no problem"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\"],\"prompts\":[\"a\"],\"labels\":[\"{\"]}", GS_ERROR_PARSE, "labels[0]", "begins as an object and is not JSON"},
        {GS_SERVICE_OPENRLHF, "{\"query\":[\"a\"],\"prompts\":[\"a\"],\"labels\":[{\"other\":1}]}", GS_ERROR_PARSE, "labels[0]", "must be a problem, as \"f16:4096x4096x4096:tn\", or an object with one in \"problem\""},
        {GS_SERVICE_SLIME, "{\"prompt\":1,\"response\":\"\",\"label\":\"" P "\"}", GS_ERROR_PARSE, "prompt", "must be a text or a list of messages"},
        {GS_SERVICE_SLIME, "{\"prompt\":[],\"response\":1,\"label\":\"" P "\"}", GS_ERROR_PARSE, "response", "must be a text"},
        {GS_SERVICE_SLIME, "{\"prompt\":\"\",\"response\":\"\",\"label\":1}", GS_ERROR_PARSE, "label", "must be a problem, as \"f16:4096x4096x4096:tn\", or an object with one in \"problem\""},
        {GS_SERVICE_SLIME, "{\"prompt\":\"\",\"response\":\"\",\"label\":{\"problem\":\"" P "\",\"parent\":1}}", GS_ERROR_PARSE, "label", "must have the texts source and manifest, or be source:HASH of a stored kernel"},
        {GS_SERVICE_SLIME, "{\"prompt\":\"\",\"response\":\"\"}", GS_ERROR_ARGUMENT, "label", "is missing"},
    };
    gs_service_completions out;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_status status = parse(&out, cases[i].which, cases[i].body);
        if (status != cases[i].status || strcmp(error.field, cases[i].field) != 0 || strcmp(error.text, cases[i].text) != 0) fail_msg("%s: %s: %s", cases[i].body, error.field, error.text);
        assert_true(out.place == NULL && out.count == 0);
    }
}

/* Behind the prompt, or behind the last place that has its last 64 bytes; nothing of the prompt is taken for an answer. */
static void where_a_response_begins(void **state)
{
    (void)state;
#define END64 "the last sixty-four bytes of a prompt, by which its end is found"
    static const struct { const char *query, *prompt; bool candidate; } cases[] = {
        {"ask " SIMPLE, "ask", true}, {"ask " SIMPLE " answer", "ask " SIMPLE, false}, {"ask " SIMPLE, "ask " SIMPLE, false}, {SIMPLE, "", true}, {"<s>ask " SIMPLE, "ask", true},
        {SIMPLE " ask nothing", "ask", false}, {"ask " SIMPLE " ask nothing", "ask", true},          /* it begins with the prompt itself */
        {"x " END64 " " SIMPLE, "lost beginning " END64, true}, {"x " END64 " " SIMPLE " " END64, "lost beginning " END64, false},   /* the last place counts */
    };
    gs_service_completions out;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char body[600];
        snprintf(body, sizeof body, "{\"query\":[\"%s\"],\"prompts\":[\"%s\"],\"labels\":[\"" P "\"]}", cases[i].query, cases[i].prompt);
        if (parse(&out, GS_SERVICE_OPENRLHF, body) != GS_OK) fail_msg("%s: %s: %s", body, error.field, error.text);
        if ((out.request.count == 1) != cases[i].candidate || out.count != 1 || out.place[0] != (cases[i].candidate ? 0 : -1)) fail_msg("%s", body);
        gs_service_completions_free(&out);
    }
}

static void completions_and_their_places(void **state)
{
    (void)state;
    gs_service_completions out;
    assert_int_equal(parse(&out, GS_SERVICE_OPENRLHF, "{\"query\":[\"nothing\",\"" SIMPLE "\",\"no\",\"" SIMPLE "\"],\"prompts\":[\"\",\"\",\"\",\"\"],\"labels\":[\"" P "\",{\"problem\":\"" P "\",\"parent\":null},"
                                                 "\"{\\\"problem\\\":\\\"" P "\\\"}\",\"f16:8x8x8:nn\"]}"), GS_OK);
    assert_true(out.count == 4 && out.request.count == 2 && out.place[0] == -1 && out.place[1] == 0 && out.place[2] == -1 && out.place[3] == 1 && out.request.deadline_s == 30);
    assert_string_equal(out.request.item[0].request, "{\"problem\":\"" P "\",\"schedule\":\"simple\"}");
    assert_string_equal(out.request.item[1].request, "{\"problem\":\"f16:8x8x8:nn\",\"schedule\":\"simple\"}");

    json_t *results[] = {json_loads("{\"verdict\":\"pass\",\"us\":2,\"ratio\":1.5,\"rewards\":{\"headroom\":0.5,\"length\":0.25}}", 0, NULL), json_loads("{\"verdict\":\"deadline\"}", 0, NULL)};
    const double unknown = -3;
    assert_null(gs_service_adapter_reply(GS_SERVICE_OPENRLHF, &out, results, GS_REWARD_HEADROOM, NULL, false, &error));
    assert_int_equal(error.status, GS_ERROR_TIMEOUT);
    assert_string_equal(error.field, "deadline_s");
    assert_string_equal(error.text, "1 of 4 completions have no reward yet: ask again, or give unknown=NUMBER");
    json_t *reply = gs_service_adapter_reply(GS_SERVICE_OPENRLHF, &out, results, GS_REWARD_HEADROOM, &unknown, false, &error);
    char *text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text, "{\"rewards\":[-1.0,0.5,-1.0,-3.0],\"scores\":[0.0,0.75,0.0,0.0],\"extra_logs\":{\"passed\":[0.0,1.0,0.0,0.0],\"us\":[0.0,2.0,0.0,0.0],\"ratio\":[0.0,1.5,0.0,0.0]}}");
    free(text);
    json_decref(reply);
    json_decref(results[1]);
    results[1] = NULL;   /* a reply that could not be made */
    assert_null(gs_service_adapter_reply(GS_SERVICE_OPENRLHF, &out, results, GS_REWARD_HEADROOM, &unknown, false, &error));
    assert_int_equal(error.status, GS_ERROR_MEMORY);
    gs_service_completions_free(&out);

    assert_int_equal(parse(&out, GS_SERVICE_SLIME, "{\"prompt\":[],\"response\":\"" SIMPLE "\",\"label\":\"" P "\"}"), GS_OK);
    static const struct { bool details; gs_reward_kind kind; const char *text; } replies[] = {
        {false, GS_REWARD_HEADROOM, "0.5"}, {false, GS_REWARD_LENGTH, "0.25"}, {true, GS_REWARD_HEADROOM, "{\"reward\":0.5,\"verdict\":\"pass\",\"passed\":true,\"us\":2.0,\"ratio\":1.5}"},
        {true, GS_REWARD_CLIPPED, "{\"reward\":-3.0,\"verdict\":\"pass\",\"passed\":true,\"us\":2.0,\"ratio\":1.5}"},
    };
    for (size_t i = 0; i < GS_COUNT(replies); i++) {
        reply = gs_service_adapter_reply(GS_SERVICE_SLIME, &out, results, replies[i].kind, &unknown, replies[i].details, &error);
        text = json_dumps(reply, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        assert_string_equal(text, replies[i].text);
        free(text);
        json_decref(reply);
    }
    json_decref(results[0]);
    gs_service_completions_free(&out);
}

/* ---- replies ---- */

static void is(json_t *reply, const char *want)
{
    char *const text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (!text || strcmp(text, want) != 0) fail_msg("%s\ninstead of\n%s", text, want);
    free(text);
    json_decref(reply);
}

static void results_become_replies(void **state)
{
    (void)state;
    gs_service_found found = {.running = true};
    is(gs_service_reply_result("i", &found, GS_REWARD_HEADROOM, false, false), "{\"id\":\"i\",\"state\":\"running\"}");
    is(gs_service_reply_result("i", &found, GS_REWARD_HEADROOM, true, true), "{\"id\":\"i\",\"state\":\"running\",\"verdict\":\"stopping\",\"reward\":null,\"metrics\":null,\"metrics_note\":\"none: it is not done\","
                                                                              "\"reason\":\"the service stops; it goes on with this when it is started again\"}");
    found.running = false;
    is(gs_service_reply_result("i", &found, GS_REWARD_HEADROOM, true, false), "{\"id\":\"i\",\"state\":\"queued\",\"verdict\":\"deadline\",\"reward\":null,\"metrics\":null,\"metrics_note\":\"none: it is not done\","
                                                                               "\"reason\":\"the evaluation goes on: GET /v1/result/<id> has it later\"}");
    static const struct { const char *answer, *reply; } cases[] = {
        {"{\"verdict\":\"pass\",\"metrics\":{\"a\":1},\"rewards\":{\"headroom\":0.5}}", "{\"verdict\":\"pass\",\"metrics\":{\"a\":1},\"rewards\":{\"headroom\":0.5},\"id\":\"i\",\"state\":\"done\",\"reward\":0.5,\"reward_kind\":\"headroom\"}"},
        {"{\"verdict\":\"machine\"}", "{\"verdict\":\"machine\",\"id\":\"i\",\"state\":\"done\",\"metrics\":null,\"metrics_note\":\"none: nothing is said of the candidate\",\"reward\":null,\"reward_kind\":\"headroom\"}"},
        {"{\"race\":[]}", "{\"race\":[],\"id\":\"i\",\"state\":\"done\",\"reward\":null,\"reward_kind\":\"headroom\"}"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        found.answer = (char *)(uintptr_t)cases[i].answer;
        is(gs_service_reply_result("i", &found, GS_REWARD_HEADROOM, true, true), cases[i].reply);
    }
    found.answer = (char *)(uintptr_t)"no object";
    assert_null(gs_service_reply_result("i", &found, GS_REWARD_HEADROOM, true, true));

    /* of an item: its job's, its own answer, or that there is no candidate */
    gs_service_item item = {.problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64), .reward = GS_REWARD_LENGTH, .id = "abc", .request = (char *)(uintptr_t)"{}"};
    found.answer = (char *)(uintptr_t)"{\"race\":[]}";
    is(gs_service_reply_item(&item, &found, GS_REWARD_HEADROOM, true, true), "{\"race\":[],\"id\":\"abc\",\"state\":\"done\",\"reward\":null,\"reward_kind\":\"headroom\"}");
    item.request = NULL;
    item.answer = (char *)(uintptr_t)"{\"race\":[],\"rewards\":{\"length\":-1}}";
    is(gs_service_reply_item(&item, &found, GS_REWARD_LENGTH, true, true), "{\"race\":[],\"rewards\":{\"length\":-1},\"id\":null,\"state\":\"done\",\"reward\":-1,\"reward_kind\":\"length\"}");
    item.answer = NULL;
    for (int fault = 0; fault < 2; fault++) {
        char want[800];
        item.fault = fault ? (char *)(uintptr_t)"edit 1" : NULL;
        snprintf(want, sizeof want, "{\"id\":null,\"state\":\"done\",\"problem\":\"" P "\",\"verdict\":\"text\",\"stage\":\"text\",\"reason\":\"%s\",\"metrics\":null,\"metrics_note\":\"none: there is no candidate\",\"reward\":-1.0,"
                                    "\"reward_kind\":\"length\",\"rewards\":{\"headroom\":-1.0,\"composite\":-1.0,\"milestones\":-1.0,\"difference\":-1.0,\"length\":-1.0,\"clipped\":-1.0}}",
                 fault ? "edit 1" : "no candidate: write a block named schedule, or one named cuda and one named manifest");
        is(gs_service_reply_item(&item, &found, GS_REWARD_LENGTH, true, true), want);
    }
}

static void statuses_become_codes(void **state)
{
    (void)state;
    static const struct { gs_status status; int code; } cases[] = {
        {GS_OK, 200}, {GS_ERROR_ARGUMENT, 400}, {GS_ERROR_PARSE, 400}, {GS_ERROR_RANGE, 400}, {GS_ERROR_UNSUPPORTED, 400}, {GS_ERROR_NOT_FOUND, 404}, {GS_ERROR_CORRUPT, 409}, {GS_ERROR_TIMEOUT, 429},
        {GS_ERROR_DISK_FULL, 507}, {GS_ERROR_MEMORY, 503}, {GS_ERROR_IO, 503}, {GS_ERROR_STORE_BUSY, 503},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) assert_int_equal(gs_service_reply_status(cases[i].status), cases[i].code);
    gs_error why = {.status = GS_ERROR_RANGE, .field = "f", .text = "t"};
    is(gs_service_reply_error(400, &why), "{\"error\":{\"status\":400,\"code\":\"GS_ERROR_RANGE\",\"field\":\"f\",\"reason\":\"t\"}}");
    why.field[0] = '\0';
    is(gs_service_reply_error(503, &why), "{\"error\":{\"status\":503,\"code\":\"GS_ERROR_RANGE\",\"field\":null,\"reason\":\"t\"}}");
}

/* Every value of every parameter, in the order of the tables. */
static void the_grammar_is_whole(void **state)
{
    (void)state;
    json_t *const grammar = gs_service_reply_grammar();
    const json_t *const families = json_object_get(grammar, "families");
    assert_int_equal(json_array_size(families), GS_FAMILIES);
    for (int f = 0; f < GS_FAMILIES; f++) {
        const gs_family_id id = (gs_family_id)f;
        const json_t *const family = json_array_get(families, (size_t)f), *const parameters = json_object_get(family, "parameters");
        assert_string_equal(json_string_value(json_object_get(family, "name")), gs_family_name(id));
        assert_string_equal(json_string_value(json_object_get(family, "summary")), gs_family_summary(id));
        assert_int_equal(json_array_size(parameters), gs_family_parameters(id));
        for (int p = 0; p < gs_family_parameters(id); p++) {
            const gs_parameter *const parameter = gs_family_parameter(id, p);
            const json_t *const one = json_array_get(parameters, (size_t)p), *const values = json_object_get(one, "values");
            assert_string_equal(json_string_value(json_object_get(one, "name")), parameter->name);
            assert_true(json_is_true(json_object_get(one, "optional")) == parameter->optional);
            assert_int_equal(json_array_size(values), parameter->count);
            for (int v = 0; v < parameter->count; v++) assert_string_equal(json_string_value(json_array_get(values, (size_t)v)), parameter->values[v].text);
        }
    }
    json_decref(grammar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_trainer_sends), cmocka_unit_test(where_a_response_begins), cmocka_unit_test(completions_and_their_places), cmocka_unit_test(results_become_replies),
        cmocka_unit_test(statuses_become_codes), cmocka_unit_test(the_grammar_is_whole),
    };
    return run_without_leaks("service/adapter", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Proves how strictly requests and questions are read: which field is wrong, why, and to the byte where a limit lies; and what ids and tokens depend on. How the service
 * answers them is in service.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "base/error.h"
#include "leaks.h"
#include "problem/layout.h"
#include "service/headers.h"
#include "service/prompt.h"
#include "service/service.h"

#define P "\"problem\":\"f16:64x64x64:tn\""
#define SAYS "a candidate is a schedule, or a source and a manifest, or a completion"

static const gs_service_terms terms = {.scope = {GS_SERVICE_SCOPE, "d", "v", "o"}, .deadline_s = 30};
static gs_error error;

typedef struct wrong {
    const char *body;
    gs_status   status;
    const char *field, *text;
} wrong;

static void expect(gs_status got, const wrong *want)
{
    if (got != want->status || strcmp(error.field, want->field) != 0 || strcmp(error.text, want->text) != 0) fail_msg("%s: %s, %s: %s", want->body, gs_status_name(got), error.field, error.text);
}

static gs_status parse(gs_service_request *out, const char *body, bool batch, const gs_service_terms *with)
{
    memset(&error, 0, sizeof error);
    return gs_service_request_parse(out, body, strlen(body), batch, with, &error);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const wrong cases[] = {
        {"", GS_ERROR_PARSE, "body", "is not JSON: line 1, column 0: '[' or '{' expected near end of file"}, {"[]", GS_ERROR_PARSE, "body", "must be an object"},
        {"{\"a\":1,\"a\":2}", GS_ERROR_PARSE, "body", "is not JSON: line 1, column 10: duplicate object key near '\"a\"'"},
        {"{}", GS_ERROR_ARGUMENT, "problem", "is missing"}, {"{\"problem\":1}", GS_ERROR_PARSE, "problem", "must be a text"}, {"{\"problem\":\"\"}", GS_ERROR_ARGUMENT, "problem", "must not be empty"},
        {"{\"problem\":\"a\\u0000\"}", GS_ERROR_PARSE, "problem", "must not contain a NUL"}, {"{\"problem\":\"f16:0x1x1:nn\"}", GS_ERROR_RANGE, "problem", "is empty (value out of range)"},
        {"{\"problem\":\"f16:1x0x1:nn\"}", GS_ERROR_RANGE, "problem", "is empty (value out of range)"}, {"{\"problem\":\"f16:1x1x0:nn\"}", GS_ERROR_RANGE, "problem", "is empty (value out of range)"},
        {"{\"problem\":\"f16:8x8x8:tn:lda=1\"}", GS_ERROR_RANGE, "problem", "lda, column 18: must be at least the row length, 8 (value out of range)"},
        {"{" P "}", GS_ERROR_ARGUMENT, "schedule", SAYS}, {"{" P ",\"manifest\":\"m\"}", GS_ERROR_ARGUMENT, "schedule", SAYS},
        {"{" P ",\"schedule\":\"simple\",\"source\":\"s\"}", GS_ERROR_ARGUMENT, "schedule", "and a source: one of them"},
        {"{" P ",\"schedule\":\"simple\",\"manifest\":\"m\"}", GS_ERROR_ARGUMENT, "schedule", "and a source: one of them"},
        {"{" P ",\"source\":\"s\"}", GS_ERROR_ARGUMENT, "manifest", "is missing: a source needs one"},
        {"{" P ",\"completion\":\"c\",\"schedule\":\"simple\"}", GS_ERROR_ARGUMENT, "completion", "and a schedule or a source: one of them"},
        {"{" P ",\"completion\":\"c\",\"source\":\"s\"}", GS_ERROR_ARGUMENT, "completion", "and a schedule or a source: one of them"},
        {"{" P ",\"completion\":\"c\",\"manifest\":\"m\"}", GS_ERROR_ARGUMENT, "completion", "and a schedule or a source: one of them"},
        {"{" P ",\"completion\":1}", GS_ERROR_PARSE, "completion", "must be a text"}, {"{" P ",\"parent\":\"source:1\"}", GS_ERROR_ARGUMENT, "parent", "is of a completion, and there is none"},
        {"{" P ",\"completion\":\"c\",\"parent\":1}", GS_ERROR_PARSE, "parent", "must have the texts source and manifest, or be source:HASH of a stored kernel"},
        {"{" P ",\"completion\":\"c\",\"parent\":{\"source\":\"s\"}}", GS_ERROR_PARSE, "parent", "must have the texts source and manifest, or be source:HASH of a stored kernel"},
        {"{" P ",\"completion\":\"c\",\"parent\":{\"source\":\"s\",\"manifest\":\"\"}}", GS_ERROR_PARSE, "parent", "must have the texts source and manifest, or be source:HASH of a stored kernel"},
        {"{" P ",\"completion\":\"c\",\"parent\":{\"source\":\"s\\u0000\",\"manifest\":\"m\"}}", GS_ERROR_PARSE, "parent", "must not contain a NUL"},
        {"{" P ",\"completion\":\"c\",\"parent\":{\"source\":\"s\",\"manifest\":\"m\",\"more\":1}}", GS_ERROR_PARSE, "parent", "must have the texts source and manifest, or be source:HASH of a stored kernel"},
        {"{" P ",\"completion\":\"c\",\"parent\":\"source:1\"}", GS_ERROR_ARGUMENT, "parent", "there is no store here: give its source and manifest"},
        {"{" P ",\"schedule\":\"simple\",\"reward\":\"fame\"}", GS_ERROR_ARGUMENT, "reward", "must be headroom, composite, milestones, difference, length or clipped"},
        {"{" P ",\"schedule\":\"simple\",\"reward\":\"123456789012345678901234567890123\"}", GS_ERROR_RANGE, "reward", "33 bytes; at most 32"},
        {"{" P ",\"schedule\":\"simple\",\"deadline_s\":\"1\"}", GS_ERROR_PARSE, "deadline_s", "must be a number of seconds"},
        {"{" P ",\"schedule\":\"simple\",\"deadline_s\":-0.001}", GS_ERROR_RANGE, "deadline_s", "must be from 0 to 86400"},
        {"{" P ",\"schedule\":\"simple\",\"deadline_s\":86400.001}", GS_ERROR_RANGE, "deadline_s", "must be from 0 to 86400"},
        {"{" P ",\"schedule\":\"simple\",\"a_field_that_nobody_knows\":1}", GS_ERROR_ARGUMENT, "a_field_that_nobody_kno", "no such field"},   /* as much of it as is shown */
        {"{" P ",\"\":1}", GS_ERROR_ARGUMENT, "(empty)", "no such field"}, {"{" P ",\"a\\u0001\\u00e4\":1}", GS_ERROR_ARGUMENT, "a???", "no such field"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_service_request out;
        expect(parse(&out, cases[i].body, false, &terms), &cases[i]);
        assert_true(out.item == NULL && out.count == 0);
    }
    static const wrong batches[] = {
        {"{}", GS_ERROR_PARSE, "requests", "must be a list of candidates"}, {"{\"requests\":[]}", GS_ERROR_RANGE, "requests", "must have from 1 to 256 candidates, not 0"},
        {"{\"requests\":[1]}", GS_ERROR_PARSE, "requests[0]", "must be an object"}, {"{\"requests\":[{" P ",\"schedule\":\"simple\"},{}]}", GS_ERROR_ARGUMENT, "requests[1].problem", "is missing"},
        {"{\"requests\":[{" P ",\"deadline_s\":1}]}", GS_ERROR_ARGUMENT, "requests[0].deadline_s", "no such field"}, {"{\"requests\":[{}],\"as_ready\":1}", GS_ERROR_PARSE, "as_ready", "must be true or false"},
        {"{\"requests\":[{}],\"schedule\":\"simple\"}", GS_ERROR_ARGUMENT, "schedule", "no such field"}, {"{\"requests\":[{}],\"deadline_s\":-1}", GS_ERROR_RANGE, "deadline_s", "must be from 0 to 86400"},
    };
    for (size_t i = 0; i < GS_COUNT(batches); i++) {
        gs_service_request out;
        expect(parse(&out, batches[i].body, true, &terms), &batches[i]);
        assert_true(out.item == NULL && out.count == 0);
    }
}

static void what_is_right_is_taken(void **state)
{
    (void)state;
    static const struct { const char *body, *request; bool schedule; gs_reward_kind reward; double deadline_s; bool timed; } cases[] = {
        {"{" P ",\"schedule\":\"simple\"}", "{" P ",\"schedule\":\"simple\"}", true, GS_REWARD_HEADROOM, 30, false},
        {"{\"deadline_s\":0,\"reward\":\"composite\",\"schedule\":\"simple\",\"problem\":\"f16:64x64x64:tn:ldc=64\"}", "{" P ",\"schedule\":\"simple\"}", true, GS_REWARD_COMPOSITE, 0, true},
        {"{" P ",\"manifest\":\"m\",\"source\":\"s\",\"deadline_s\":86400}", "{" P ",\"source\":\"s\",\"manifest\":\"m\"}", false, GS_REWARD_HEADROOM, 86400, true},
        {"{" P ",\"completion\":\"```schedule\\nsimple\\n```\"}", "{" P ",\"schedule\":\"simple\"}", true, GS_REWARD_HEADROOM, 30, false},
        {"{\"problem\":\"f16:1x1x1:tn\",\"schedule\":\"simple\"}", "{\"problem\":\"f16:1x1x1:tn\",\"schedule\":\"simple\"}", true, GS_REWARD_HEADROOM, 30, false},   /* the smallest */
        {"{" P ",\"completion\":\"nothing\\u0000\"}", NULL, false, GS_REWARD_HEADROOM, 30, false}, {"{" P ",\"completion\":\"\"}", NULL, false, GS_REWARD_HEADROOM, 30, false},
        {"{" P ",\"completion\":\"```cuda\\nt\\n```\",\"parent\":{\"source\":\"s\\n\",\"manifest\":\"m\\n\"}}", "{" P ",\"source\":\"t\\n\",\"manifest\":\"m\\n\"}", false, GS_REWARD_HEADROOM, 30, false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_service_request out;
        if (parse(&out, cases[i].body, false, &terms) != GS_OK) fail_msg("%s: %s: %s", cases[i].body, error.field, error.text);
        assert_int_equal(out.count, 1);
        assert_true(!out.item[0].request == !cases[i].request && (!cases[i].request || strcmp(out.item[0].request, cases[i].request) == 0));
        assert_true(out.item[0].schedule == cases[i].schedule && out.item[0].reward == cases[i].reward && out.deadline_s == cases[i].deadline_s && out.timed == cases[i].timed && !out.as_ready);
        gs_service_request_free(&out);
    }
    gs_service_request out;   /* what the whole says is of those that do not say it */
    assert_int_equal(parse(&out, "{" P ",\"reward\":\"length\",\"as_ready\":true,\"requests\":[{\"schedule\":\"simple\"},{\"problem\":\"f16:8x8x8:nn\",\"reward\":\"clipped\",\"schedule\":\"tiny\"}]}", true, &terms), GS_OK);
    assert_true(out.count == 2 && out.as_ready && !out.timed && out.item[0].reward == GS_REWARD_LENGTH && out.item[1].reward == GS_REWARD_CLIPPED);
    assert_string_equal(out.item[0].request, "{" P ",\"schedule\":\"simple\"}");
    assert_string_equal(out.item[1].request, "{\"problem\":\"f16:8x8x8:nn\",\"schedule\":\"tiny\"}");
    gs_service_request_free(&out);
    assert_int_equal(parse(&out, "{\"requests\":[{" P ",\"completion\":\"a\"}],\"as_ready\":false}", true, &terms), GS_OK);
    assert_false(out.as_ready);
    gs_service_request_free(&out);
}

/* A body with a text of so many bytes. */
static void limit(const char *before, size_t size, const char *after, gs_status status, const char *field, const char *text)
{
    gs_text body = {0};
    gs_service_request out;
    gs_text_addf(&body, "{" P ",%s\"", before);
    for (size_t i = 0; i < size; i++) gs_text_add(&body, "x");
    gs_text_addf(&body, "\"%s}", after);
    const gs_status got = parse(&out, gs_text_string(&body), false, &terms);
    expect(got, &(wrong){before, status, field, text});
    if (got == GS_OK) gs_service_request_free(&out);
    gs_text_free(&body);
}

static void limits(void **state)
{
    (void)state;
    limit("\"schedule\":", 512, "", GS_OK, "", "");
    limit("\"schedule\":", 513, "", GS_ERROR_RANGE, "schedule", "513 bytes; at most 512");
    limit("\"source\":\"s\",\"manifest\":", 65536, "", GS_OK, "", "");
    limit("\"source\":\"s\",\"manifest\":", 65537, "", GS_ERROR_RANGE, "manifest", "65537 bytes; at most 65536");
    for (size_t size = GS_PROBLEM_TEXT - 1; size <= GS_PROBLEM_TEXT; size++) {   /* of a problem's text, here and where a prompt is asked for; and of a device's name */
        char body[2 * GS_PROBLEM_TEXT], want[60];
        gs_service_request request;
        gs_service_question question;
        snprintf(body, sizeof body, "{\"problem\":\"%0*d\"}", (int)size, 1);
        snprintf(want, sizeof want, "%zu bytes; at most %d", size, GS_PROBLEM_TEXT - 1);
        assert_int_not_equal(parse(&request, body, false, &terms), GS_OK);
        assert_true((strcmp(error.text, want) == 0) == (size == GS_PROBLEM_TEXT));
        assert_int_not_equal(gs_service_question_parse(&question, body, strlen(body), &terms, &error), GS_OK);
        assert_true((strcmp(error.text, want) == 0) == (size == GS_PROBLEM_TEXT));
    }
    for (int size = 63; size <= 64; size++) {
        char body[200];
        gs_service_question question;
        snprintf(body, sizeof body, "{" P ",\"mode\":\"source\",\"device\":\"%0*d\"}", size, 1);
        assert_int_equal(gs_service_question_parse(&question, body, strlen(body), &terms, &error), size == 63 ? GS_OK : GS_ERROR_RANGE);
        if (size == 63) assert_int_equal(strlen(question.device), 63);
        gs_service_question_free(&question);
    }
    for (int values = 16384; values <= 16385; values++) {   /* with the one of the object itself, and one of its problem */
        gs_text body = {0};
        json_t *root;
        gs_text_add(&body, "{\"a\\\":,[\":[1");   /* what looks so within a text is none; four values are here */
        for (int i = 3; i < values; i++) gs_text_add(&body, ",1");
        gs_text_add(&body, "]}");
        assert_int_equal(gs_service_json_read(&root, gs_text_string(&body), body.size, 0, &error), values == 16384 ? GS_OK : GS_ERROR_RANGE);
        if (values == 16384) json_decref(root);
        else assert_string_equal(error.text, "has more than 16384 values");
        gs_text_free(&body);
    }
    for (int count = GS_SERVICE_BATCH; count <= GS_SERVICE_BATCH + 1; count++) {
        gs_text body = {0};
        gs_service_request out;
        gs_text_add(&body, "{" P ",\"requests\":[");
        for (int i = 0; i < count; i++) gs_text_add(&body, i ? ",{\"schedule\":\"simple\"}" : "{\"schedule\":\"simple\"}");
        gs_text_add(&body, "]}");
        const gs_status status = parse(&out, gs_text_string(&body), true, &terms);
        assert_int_equal(status, count == GS_SERVICE_BATCH ? GS_OK : GS_ERROR_RANGE);
        if (status == GS_OK) gs_service_request_free(&out);
        else assert_string_equal(error.text, "must have from 1 to 256 candidates, not 257");
        gs_text_free(&body);
    }
}

static void problems_that_are_offered(void **state)
{
    (void)state;
    const gs_problem offered[] = {gs_problem_make(GS_F16, GS_TN, 8, 8, 8), gs_problem_make(GS_F16, GS_TN, 64, 64, 64)};
    gs_service_terms few = terms;
    gs_service_request out;
    few.offered = offered;
    few.offered_count = 2;
    assert_int_equal(parse(&out, "{" P ",\"schedule\":\"simple\"}", false, &few), GS_OK);
    gs_service_request_free(&out);
    assert_int_equal(parse(&out, "{\"problem\":\"f16:8x8x8:tn\",\"schedule\":\"simple\"}", false, &few), GS_OK);   /* the first of them */
    gs_service_request_free(&out);
    few.offered_count = 1;
    assert_int_equal(parse(&out, "{" P ",\"schedule\":\"simple\"}", false, &few), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "is not offered here: GET /v1/tasks lists what is");
    /* operands and result in memory: 2 * 64 * 64 * 3 + 8 * 64 * 64 bytes */
    gs_caps caps = *gs_caps_find("h200");
    few = terms;
    few.caps = &caps;
    caps.memory_bytes = 57344;
    assert_int_equal(parse(&out, "{" P ",\"schedule\":\"simple\"}", false, &few), GS_OK);
    gs_service_request_free(&out);
    caps.memory_bytes = 57343;
    assert_int_equal(parse(&out, "{" P ",\"schedule\":\"simple\"}", false, &few), GS_ERROR_RANGE);
    assert_string_equal(error.text, "needs at least 0.0 GiB, and the device has 0.0 GiB");
    for (int less = 0; less < 2; less++) {   /* C is read too, with beta */
        caps.memory_bytes = 65536 - (size_t)less;
        assert_int_equal(parse(&out, "{\"problem\":\"f16:64x64x64:tn:beta=1\",\"schedule\":\"simple\"}", false, &few), less ? GS_ERROR_RANGE : GS_OK);
        if (!less) gs_service_request_free(&out);
    }
    caps.memory_bytes = 0;   /* nobody knows */
    assert_int_equal(parse(&out, "{\"problem\":\"f16:65536x65536x65536:tn:beta=1\",\"schedule\":\"no such\"}", false, &few), GS_OK);
    assert_null(out.item[0].request);   /* refused, and answered, at once */
    static const char *const parts[] = {"\"verdict\":\"launch\",", "\"stage\":\"text\",\"reward\":-1,", "\"rewards\":{\"headroom\":-1,\"composite\":-1,"};
    for (size_t i = 0; i < GS_COUNT(parts); i++)
        if (!strstr(out.item[0].answer, parts[i])) fail_msg("%s", out.item[0].answer);
    gs_service_request_free(&out);
}

/* Of the text of the request, and of everything that an answer depends on beside it. */
static void ids(void **state)
{
    (void)state;
    gs_service_request one, other;
    assert_int_equal(parse(&one, "{" P ",\"schedule\":\"simple\"}", false, &terms), GS_OK);
    assert_int_equal(parse(&other, "{\"schedule\":\"simple\"," P ",\"reward\":\"length\",\"deadline_s\":1}", false, &terms), GS_OK);
    assert_string_equal(one.item[0].id, other.item[0].id);
    gs_service_request_free(&other);
    assert_true(gs_service_request_ours("o", "d", "v", one.item[0].request, one.item[0].id));
    assert_false(gs_service_request_ours("p", "d", "v", one.item[0].request, one.item[0].id));
    assert_false(gs_service_request_ours("o", "e", "v", one.item[0].request, one.item[0].id));
    assert_false(gs_service_request_ours("o", "d", "w", one.item[0].request, one.item[0].id));
    assert_false(gs_service_request_ours("o", "d", "v", "{}", one.item[0].id));
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    assert_int_equal(gs_service_request_schedule(&other, &problem, "simple", &terms, &error), GS_OK);
    assert_string_equal(one.item[0].id, other.item[0].id);
    assert_string_equal(one.item[0].request, other.item[0].request);
    assert_true(other.deadline_s == 30 && other.count == 1);
    gs_service_request_free(&other);
    gs_service_request_free(&one);
}

static void races(void **state)
{
    (void)state;
    static const wrong cases[] = {
        {"{}", GS_ERROR_ARGUMENT, "problem", "is missing"}, {"{" P ",\"alone\":1}", GS_ERROR_PARSE, "alone", "must be true or false"}, {"{" P ",\"requests\":1}", GS_ERROR_ARGUMENT, "requests", "no such field"},
        {"{" P ",\"reward\":\"x\"}", GS_ERROR_ARGUMENT, "reward", "must be headroom, composite, milestones, difference, length or clipped"}, {"{" P ",\"deadline_s\":-1}", GS_ERROR_RANGE, "deadline_s", "must be from 0 to 86400"},
        {"{" P "}", GS_OK, "", ""}, {"{" P ",\"alone\":true,\"reward\":\"clipped\",\"deadline_s\":5,\"schedules\":[]}", GS_OK, "", ""},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        json_t *root;
        gs_problem problem;
        gs_reward_kind kind;
        bool alone;
        gs_service_request out = {.deadline_s = 30};
        memset(&error, 0, sizeof error);
        assert_int_equal(gs_service_json_read(&root, cases[i].body, strlen(cases[i].body), 0, &error), GS_OK);
        const gs_status status = gs_service_race_head(root, &out, &problem, &kind, &alone, &terms, &error);
        expect(status, &cases[i]);
        const bool all = strstr(cases[i].body, "alone\":true") != NULL;
        if (status == GS_OK) assert_true(problem.m == 64 && alone == all && kind == (all ? GS_REWARD_CLIPPED : GS_REWARD_HEADROOM) && out.deadline_s == (all ? 5 : 30) && out.timed == all);
        json_decref(root);
    }
}

/* ---- questions ---- */

static void questions(void **state)
{
    (void)state;
#define ID "0123456789abcdef0123456789abcdef"
#define NEITHER "must be an id of 32 hexadecimal digits, or a result"
    static const wrong cases[] = {
        {"{" P ",\"mode\":\"source\"}", GS_OK, "", ""}, {"{\"mode\":\"source\"}", GS_ERROR_ARGUMENT, "problem", "is missing"}, {"{" P "}", GS_ERROR_ARGUMENT, "mode", "is missing: schedules, source or edits"},
        {"{" P ",\"mode\":\"verse\"}", GS_ERROR_ARGUMENT, "mode", "must be schedules, source or edits"}, {"{" P ",\"mode\":1}", GS_ERROR_PARSE, "mode", "must be a text"},
        {"{" P ",\"mode\":\"\"}", GS_ERROR_ARGUMENT, "mode", "must not be empty"}, {"{" P ",\"mode\":\"123456789012345678901234567890123\"}", GS_ERROR_RANGE, "mode", "33 bytes; at most 32"},
        {"{" P ",\"mode\":\"edits\\u0000\"}", GS_ERROR_PARSE, "mode", "must not contain a NUL"}, {"{" P ",\"mode\":\"edits\",\"examples\":1}", GS_ERROR_PARSE, "examples", "must be true or false"},
        {"{" P ",\"mode\":\"edits\",\"more\":1}", GS_ERROR_ARGUMENT, "body", "has a field beside problem, mode, examples, device and previous"},
        {"{" P ",\"mode\":\"edits\",\"device\":\"a b\"}", GS_ERROR_ARGUMENT, "device", "must be a device's name in the store, as GET /v1/health tells it"},
        {"{" P ",\"mode\":\"edits\",\"previous\":\"1\"}", GS_ERROR_ARGUMENT, "previous", NEITHER}, {"{" P ",\"mode\":\"edits\",\"previous\":\"" ID "\\u0000\"}", GS_ERROR_ARGUMENT, "previous", NEITHER},
        {"{" P ",\"mode\":\"edits\",\"previous\":1}", GS_ERROR_PARSE, "previous", NEITHER " with its verdict"}, {"{" P ",\"mode\":\"edits\",\"previous\":{\"verdict\":1}}", GS_ERROR_PARSE, "previous", NEITHER " with its verdict"},
        {"[]", GS_ERROR_PARSE, "body", "must be an object"},
    };
    gs_service_question out;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        memset(&error, 0, sizeof error);
        expect(gs_service_question_parse(&out, cases[i].body, strlen(cases[i].body), &terms, &error), &cases[i]);
        if (cases[i].status == GS_OK) assert_true(out.mode == GS_SERVICE_SOURCE && out.examples && !out.device[0] && !out.id[0] && !out.result && out.problem.m == 64);
        gs_service_question_free(&out);
    }
    static const char *const modes[] = {"schedules", "source", "edits"};
    for (int i = 0; i < GS_SERVICE_MODES; i++) {
        char body[300];
        snprintf(body, sizeof body, "{" P ",\"mode\":\"%s\",\"examples\":false,\"device\":\"emu-h200+_Z9\",\"previous\":%s}", modes[i], i == 0 ? "\"" ID "\"" : i == 1 ? "null" : "{\"verdict\":\"pass\",\"reason\":\"\\u0000\"}");
        assert_int_equal(gs_service_question_parse(&out, body, strlen(body), &terms, &error), GS_OK);
        assert_true(out.mode == (gs_service_mode)i && !out.examples && (out.result != NULL) == (i == 2));
        assert_string_equal(out.device, "emu-h200+_Z9");
        assert_string_equal(out.id, i == 0 ? ID : "");
        gs_service_question_free(&out);
    }
    char *const large = malloc(GS_SERVICE_QUESTION + 1);
    memset(large, ' ', GS_SERVICE_QUESTION + 1);
    memcpy(large, "{" P ",\"mode\":\"edits\"}", strlen("{" P ",\"mode\":\"edits\"}"));
    assert_int_equal(gs_service_question_parse(&out, large, GS_SERVICE_QUESTION, &terms, &error), GS_OK);
    gs_service_question_free(&out);
    assert_int_equal(gs_service_question_parse(&out, large, GS_SERVICE_QUESTION + 1, &terms, &error), GS_ERROR_RANGE);
    assert_string_equal(error.text, "262145 bytes; at most 262144");
    free(large);
}

/* ---- small things ---- */

static void numbers_tokens_and_addresses(void **state)
{
    (void)state;
    static const struct { const char *text; bool good; double value; } numbers[] = {
        {NULL, true, 7}, {"1", true, 1}, {"5", true, 5}, {"0.999", false, 0}, {"5.001", false, 0}, {"", false, 0}, {"2x", false, 0}, {"nan", false, 0}, {"2.5", true, 2.5},
    };
    for (size_t i = 0; i < GS_COUNT(numbers); i++) {
        double value = 7;
        assert_true(gs_service_number_read(numbers[i].text, 1, 5, &value) == numbers[i].good);
        if (numbers[i].good) assert_true(value == numbers[i].value);
    }
    static const struct { const char *token, *given; bool same; } tokens[] = {
        {"secret", "secret", true}, {"secret", "secreT", false}, {"secret", "Secret", false}, {"secret", "secre", false}, {"secret", "secretsecret", false}, {"secret", "", false}, {"", "", false}, {"", "a", false}, {"a", "aa", false}, {"a", "a", true},
    };
    for (size_t i = 0; i < GS_COUNT(tokens); i++) assert_true(gs_service_token_equal(tokens[i].token, tokens[i].given) == tokens[i].same);
    static const struct { const char *address; bool loops; } addresses[] = {
        {"localhost", true}, {"127.0.0.1", true}, {"127.255.0.3", true}, {"::1", true}, {"0.0.0.0", false}, {"126.0.0.1", false}, {"128.0.0.1", false}, {"1.0.0.127", false}, {"::", false}, {"::2", false}, {"localhost.x", false}, {"", false}, {"Localhost", false},
    };
    for (size_t i = 0; i < GS_COUNT(addresses); i++)
        if (gs_service_address_loopback(addresses[i].address) != addresses[i].loops) fail_msg("%s", addresses[i].address);
}

/* Whichever allocation of ours fails, that is said, and nothing is left. */
static void no_memory_for_a_request(void **state)
{
    (void)state;
    static const struct { const char *body; bool batch; } cases[] = {
        {"{" P ",\"schedule\":\"simple\"}", false}, {"{" P ",\"source\":\"s\",\"manifest\":\"m\"}", false}, {"{" P ",\"completion\":\"```schedule\\nsimple\\n```\"}", false},
        {"{" P ",\"completion\":\"```cuda\\nt\\n```\",\"parent\":{\"source\":\"s\\n\",\"manifest\":\"m\\n\"}}", false}, {"{" P ",\"requests\":[{\"schedule\":\"simple\"},{\"schedule\":\"tiny\"}]}", true},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        int failures = 0;
        for (int at = 1;; at++) {
            gs_service_request out;
            fail_at = at;
            const gs_status status = parse(&out, cases[i].body, cases[i].batch, &terms);
            const bool reached = allocation_failed();
            if (status != (reached ? GS_ERROR_MEMORY : GS_OK)) fail_msg("%s, allocation %d: %s: %s", cases[i].body, at, gs_status_name(status), error.text);
            failures += reached;
            if (status == GS_OK) gs_service_request_free(&out);
            else assert_null(out.item);
            if (!reached) break;
        }
        assert_true(failures >= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_named), cmocka_unit_test(what_is_right_is_taken), cmocka_unit_test(limits), cmocka_unit_test(problems_that_are_offered), cmocka_unit_test(ids),
        cmocka_unit_test(races), cmocka_unit_test(questions), cmocka_unit_test(numbers_tokens_and_addresses),
        cmocka_unit_test(no_memory_for_a_request),
    };
    return run_without_leaks("service/request", tests, GS_COUNT(tests));
}

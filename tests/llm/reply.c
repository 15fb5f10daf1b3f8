/* SPDX-License-Identifier: MIT
 * Proves what an endpoint's bytes mean, without an endpoint: refusals by their status and their words, error objects, choices and what servers call their parts, and
 * server-sent events wherever the bytes are cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "allocations.h"
#include "base/error.h"
#include "leaks.h"
#include "llm/reply.h"

static gs_error error;

/* ---- refusals ---- */

static void refuse(int http, const char *body, gs_status status, const char *field, const char *text)
{
    gs_reply reply = {0};
    memset(&error, 0, sizeof error);
    assert_int_equal(gs_reply_feed(&reply, body, strlen(body), &error), GS_OK);
    const gs_status got = gs_reply_refused(&reply, http, &error);
    if (got != status || strcmp(error.field, field) != 0 || strcmp(error.text, text) != 0) fail_msg("%d %s: %s, %s: %s", http, body, gs_status_name(got), error.field, error.text);
    gs_reply_free(&reply);
}

static void statuses(void **state)
{
    (void)state;
    static const struct { int http; gs_status status; const char *field; const char *text; } cases[] = {
        {199, GS_ERROR_ARGUMENT, "http 199", "no"}, {300, GS_ERROR_ARGUMENT, "http 300", "a redirect, which is not followed: give the URL it leads to"},
        {399, GS_ERROR_ARGUMENT, "http 399", "a redirect, which is not followed: give the URL it leads to"}, {299, GS_ERROR_ARGUMENT, "http 299", "no"},
        {400, GS_ERROR_ARGUMENT, "http 400", "no"}, {401, GS_ERROR_ARGUMENT, "key", "refused with 401: no"}, {402, GS_ERROR_ARGUMENT, "http 402", "no"},
        {403, GS_ERROR_ARGUMENT, "key", "refused with 403: no"}, {404, GS_ERROR_NOT_FOUND, "http 404", "no such URL or model: no"}, {405, GS_ERROR_ARGUMENT, "http 405", "no"},
        {407, GS_ERROR_ARGUMENT, "http 407", "no"}, {408, GS_ERROR_IO, "http 408", "no"}, {409, GS_ERROR_ARGUMENT, "http 409", "no"}, {428, GS_ERROR_ARGUMENT, "http 428", "no"},
        {429, GS_ERROR_IO, "http 429", "no"}, {430, GS_ERROR_ARGUMENT, "http 430", "no"}, {499, GS_ERROR_ARGUMENT, "http 499", "no"}, {500, GS_ERROR_IO, "http 500", "no"},
        {599, GS_ERROR_IO, "http 599", "no"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) refuse(cases[i].http, "no", cases[i].status, cases[i].field, cases[i].text);
}

static void words_of_a_refusal(void **state)
{
    (void)state;
    static const struct { const char *body, *text; } cases[] = {
        {"", "the server gave no reason"}, {"plain", "plain"}, {"two\nlines\t\x7f.", "two lines  ."}, {"{\"error\":\"a\"}", "a"}, {"{\"error\":{\"message\":\"b\"}}", "b"},
        {"{\"error\":{\"detail\":\"c\"}}", "c"}, {"{\"message\":\"d\",\"detail\":\"e\"}", "d"}, {"{\"detail\":\"e\"}", "e"}, {"{\"error\":{}}", "{\"error\":{}}"},
        {"\"f\"", "\"f\""}, {"{\"message\":1}", "{\"message\":1}"}, {"{\"error\":{\"message\":\"\"}}", "the server gave no reason"}, {"[1]", "[1]"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) refuse(400, cases[i].body, GS_ERROR_ARGUMENT, "http 400", cases[i].text);
}

/* At most 236 bytes, and no half of a character; secrets go whole, the longest that stands there. */
static void words_are_cut_and_blotted(void **state)
{
    (void)state;
    char body[400], want[400];
    for (int size = 234; size <= 240; size++)
        for (int wide = 0; wide < 2; wide++) {
            memset(body, 'a', sizeof body);
            snprintf(body + size, sizeof body - (size_t)size, "%s", wide ? "\xe2\x82\xac" "b" : "bcde");
            const int whole = wide && size + 3 > 236 ? size : size + (int)strlen(body + size);
            snprintf(want, sizeof want, "%.*s", GS_MIN(whole, 236), body);
            refuse(400, body, GS_ERROR_ARGUMENT, "http 400", want);
        }
    static const char *const secrets[] = {"12345678", "1234567", "12345678secret", NULL};
    static const struct { const char *body, *text; } cases[] = {
        {"a 12345678 b", "a *** b"}, {"a 1234567 b", "a 1234567 b"}, {"12345678secret12345678", "******"}, {"x12345678secre", "x***secre"}, {"1234567812345678", "******"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_reply reply = {.secrets = secrets};
        assert_int_equal(gs_reply_feed(&reply, cases[i].body, strlen(cases[i].body), &error), GS_OK);
        assert_int_equal(gs_reply_refused(&reply, 400, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.text, cases[i].text);
        gs_reply_free(&reply);
    }
}

/* ---- objects ---- */

/* Of a reply that is no stream; the reply and the answer are the caller's. */
static gs_status read_object(gs_reply *reply, gs_chat_answer *answer, const char *body)
{
    memset(&error, 0, sizeof error);
    *reply = (gs_reply){0};
    *answer = (gs_chat_answer){0};
    assert_int_equal(gs_reply_feed(reply, body, strlen(body), &error), GS_OK);
    return gs_reply_end(reply, answer, &error);
}

static void error_objects(void **state)
{
    (void)state;
    static const struct { const char *error; int code; gs_status status; const char *field; } cases[] = {
        {"\"x\"", 400, GS_ERROR_ARGUMENT, "http 400"}, {"{}", 400, GS_ERROR_ARGUMENT, "http 400"}, {"1", 400, GS_ERROR_ARGUMENT, "http 400"},
        {"{\"code\":429}", 429, GS_ERROR_IO, "http 429"}, {"{\"code\":\"503\"}", 503, GS_ERROR_IO, "http 503"}, {"{\"code\":399}", 400, GS_ERROR_ARGUMENT, "http 400"},
        {"{\"code\":400}", 400, GS_ERROR_ARGUMENT, "http 400"}, {"{\"code\":599}", 599, GS_ERROR_IO, "http 599"}, {"{\"code\":600}", 400, GS_ERROR_ARGUMENT, "http 400"},
        {"{\"code\":401}", 401, GS_ERROR_ARGUMENT, "key"}, {"{\"code\":404}", 404, GS_ERROR_NOT_FOUND, "http 404"},
        {"{\"type\":\"rate_limit_error\"}", 429, GS_ERROR_IO, "http 429"}, {"{\"code\":\"rate_limit_exceeded\"}", 429, GS_ERROR_IO, "http 429"},
        {"{\"type\":\"overloaded_error\"}", 503, GS_ERROR_IO, "http 503"}, {"{\"code\":\"service_unavailable\"}", 503, GS_ERROR_IO, "http 503"},
        {"{\"type\":\"server_error\"}", 500, GS_ERROR_IO, "http 500"}, {"{\"type\":\"internal\"}", 500, GS_ERROR_IO, "http 500"}, {"{\"code\":\"InternalError\"}", 500, GS_ERROR_IO, "http 500"},
        {"{\"type\":\"invalid_request_error\",\"code\":429}", 429, GS_ERROR_IO, "http 429"}, {"{\"type\":\"other\",\"code\":\"other\"}", 400, GS_ERROR_ARGUMENT, "http 400"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_reply reply;
        gs_chat_answer answer;
        char body[128];
        snprintf(body, sizeof body, "{\"error\":%s}", cases[i].error);
        const gs_status status = read_object(&reply, &answer, body);
        if (status != cases[i].status || strcmp(error.field, cases[i].field) != 0 || reply.code != cases[i].code) fail_msg("%s: %d, %s", cases[i].error, reply.code, error.field);
        gs_reply_free(&reply);
    }
}

static void objects_that_are_none(void **state)
{
    (void)state;
    static const struct { const char *body, *text; } cases[] = {
        {"", "empty"}, {"[]", "JSON, but no object"}, {"{", "not JSON (line 1, column 1 of it)"}, {"{}", "no choices in it"}, {"{\"error\":null}", "no choices in it"},
        {"{\"choices\":[1]}", "a choice is no object"}, {"{\"choices\":[{\"index\":16}]}", "choice 16 of at most 16"}, {"{\"choices\":[{\"index\":-1}]}", "choice -1 of at most 16"},
        {"{\"choices\":[]}", "no choices in it"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_reply reply;
        gs_chat_answer answer;
        assert_int_equal(read_object(&reply, &answer, cases[i].body), GS_ERROR_PARSE);
        assert_string_equal(error.field, "reply");
        assert_string_equal(error.text, cases[i].text);
        gs_reply_free(&reply);
    }
}

static void choices_and_their_parts(void **state)
{
    (void)state;
    static const struct { const char *choice, *text, *refusal; size_t reasoning; gs_finish finish; } cases[] = {
        {"\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"", "a", NULL, 0, GS_FINISH_STOP},
        {"\"message\":{\"content\":\"a\"},\"finish_reason\":\"eos\"", "a", NULL, 0, GS_FINISH_STOP},
        {"\"message\":{\"content\":\"a\"},\"finish_reason\":\"end_turn\"", "a", NULL, 0, GS_FINISH_STOP},
        {"\"message\":{\"content\":null},\"finish_reason\":\"length\"", "", NULL, 0, GS_FINISH_LENGTH},
        {"\"finish_reason\":\"max_tokens\"", "", NULL, 0, GS_FINISH_LENGTH},
        {"\"finish_reason\":\"content_filter\"", "", NULL, 0, GS_FINISH_FILTER},
        {"\"finish_reason\":\"refusal\"", "", NULL, 0, GS_FINISH_REFUSAL},
        {"\"finish_reason\":\"tool_calls\"", "", NULL, 0, GS_FINISH_OTHER},
        {"\"finish_reason\":null", "", NULL, 0, GS_FINISH_OTHER}, {"\"finish_reason\":\"\"", "", NULL, 0, GS_FINISH_OTHER},
        {"\"message\":{\"content\":\"a\",\"refusal\":\"never\"},\"finish_reason\":\"stop\"", "a", "never", 0, GS_FINISH_REFUSAL},
        {"\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"},{\"text\":\"b\"}]},\"finish_reason\":\"stop\"", "ab", NULL, 0, GS_FINISH_STOP},
        {"\"message\":{\"reasoning_content\":\"12345\",\"reasoning\":\"123\"},\"finish_reason\":\"stop\"", "", NULL, 5, GS_FINISH_STOP},
        {"\"message\":{\"reasoning\":\"123\"},\"finish_reason\":\"stop\"", "", NULL, 3, GS_FINISH_STOP},
        {"\"delta\":{\"content\":\"d\"},\"message\":{\"content\":\"m\"},\"finish_reason\":\"stop\"", "d", NULL, 0, GS_FINISH_STOP},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_reply reply;
        gs_chat_answer answer;
        char body[400];
        snprintf(body, sizeof body, "{\"choices\":[{%s},{\"index\":2,%s}]}", cases[i].choice, cases[i].choice);
        assert_int_equal(read_object(&reply, &answer, body), GS_OK);
        assert_int_equal(answer.count, 3);
        for (int c = 0; c < 3; c += 2) {
            const gs_chat_choice *const choice = &answer.choice[c];
            assert_string_equal(choice->text, cases[i].text);
            assert_int_equal(choice->size, strlen(cases[i].text));
            if (!choice->refusal != !cases[i].refusal || (choice->refusal && strcmp(choice->refusal, cases[i].refusal) != 0)) fail_msg("%s", cases[i].choice);
            assert_int_equal(choice->reasoning, cases[i].reasoning);
            assert_int_equal(choice->finish, cases[i].finish);
        }
        assert_string_equal(answer.choice[1].text, "");   /* the one between was not there */
        assert_int_equal(answer.choice[1].finish, GS_FINISH_OTHER);
        gs_chat_answer_free(&answer);
        gs_reply_free(&reply);
    }
    gs_reply reply;
    gs_chat_answer answer;
    assert_int_equal(read_object(&reply, &answer, "{\"choices\":[{\"index\":15}]}"), GS_OK);
    assert_int_equal(answer.count, GS_CHAT_CHOICES);
    gs_chat_answer_free(&answer);
    gs_reply_free(&reply);
}

static void usage(void **state)
{
    (void)state;
    static const struct { const char *usage; bool known; int64_t prompt, completion, reasoning; } cases[] = {
        {"{\"prompt_tokens\":11,\"completion_tokens\":7,\"completion_tokens_details\":{\"reasoning_tokens\":3}}", true, 11, 7, 3}, {"{\"prompt_tokens\":0}", true, 0, 0, 0},
        {"{\"prompt_tokens\":-5,\"completion_tokens\":1.9}", true, 0, 1, 0}, {"{\"prompt_tokens\":1e30,\"completion_tokens\":1e12}", true, 1000000000000, 1000000000000, 0},
        {"{\"completion_tokens\":7}", false, 0, 0, 0}, {"null", false, 0, 0, 0}, {"{\"prompt_tokens\":\"11\"}", false, 0, 0, 0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_reply reply;
        gs_chat_answer answer;
        char body[200];
        snprintf(body, sizeof body, "{\"choices\":[{}],\"usage\":%s}", cases[i].usage);
        assert_int_equal(read_object(&reply, &answer, body), GS_OK);
        assert_true(answer.usage_known == cases[i].known && answer.prompt_tokens == cases[i].prompt && answer.completion_tokens == cases[i].completion && answer.reasoning_tokens == cases[i].reasoning);
        gs_chat_answer_free(&answer);
        gs_reply_free(&reply);
    }
}

/* ---- server-sent events ---- */

#define SAYS(text) "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}"
#define ENDS "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"

/* In two pieces, wherever that may be. */
static void stream(const char *bytes, gs_status status, const char *text)
{
    const size_t size = strlen(bytes);
    for (size_t cut = 0; cut <= size; cut++) {
        gs_reply reply = {.stream = true};
        gs_chat_answer answer = {0};
        memset(&error, 0, sizeof error);
        gs_status got = gs_reply_feed(&reply, bytes, cut, &error);
        if (got == GS_OK) got = gs_reply_feed(&reply, bytes + cut, size - cut, &error);
        if (got == GS_OK) got = gs_reply_end(&reply, &answer, &error);
        if (got != status) fail_msg("%s: cut at %zu: %s: %s", bytes, cut, gs_status_name(got), error.text);
        if (got == GS_OK) assert_string_equal(answer.choice[0].text, text);
        else assert_string_equal(error.text, text);
        gs_chat_answer_free(&answer);
        gs_reply_free(&reply);
    }
}

static void events(void **state)
{
    (void)state;
    static const struct { const char *bytes; gs_status status; const char *text; } cases[] = {
        {"data: " SAYS("a") "\n\ndata: " SAYS("b") "\n\ndata: [DONE]\n\n", GS_OK, "ab"}, {"data: " SAYS("a") "\r\n\r\ndata: " SAYS("b") "\r\n\r\ndata: [DONE]\r\n\r\n", GS_OK, "ab"},
        {"data: " SAYS("a") "\r\rdata: " SAYS("b") "\r\rdata: [DONE]\r\r", GS_OK, "ab"}, {"\xef\xbb\xbf" "data:" SAYS("a") "\n\ndata:[DONE]\n\n", GS_OK, "a"},
        {": a comment\nevent: x\nid: 7\ndata: " SAYS("a") "\nretry: 5\n\ndata: [DONE]\n\n", GS_OK, "a"}, {"data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", GS_OK, "a"},
        {"\n\ndata\n\ndata:\n\ndata: " SAYS("a") "\n\ndata: [DONE]", GS_OK, "a"}, {"data: " SAYS("a") "\n\ndata: [DONE]\n", GS_OK, "a"},
        {"data: " SAYS("a") "\n\ndata: [DONE]\n\ndata: rubbish\n\n", GS_OK, "a"}, {"data: " SAYS("a") "\n\ndata: " ENDS "\n\n", GS_OK, "a"}, {"database: x\ndata: " SAYS("a") "\n\ndata: " ENDS "\n\n", GS_OK, "a"},
        {"data: " SAYS("a") "\n\n", GS_ERROR_IO, "cut before its end"}, {"data: " SAYS("a") "\n\ndata: " ENDS, GS_ERROR_IO, "cut before its end"}, {"", GS_ERROR_IO, "cut before its end"},
        {"data: [DONE]\n\n", GS_ERROR_PARSE, "a stream without choices"}, {"data: x\n\n", GS_ERROR_PARSE, "not JSON (line 1, column 1 of it)"}, {"data:  {}x\n\n", GS_ERROR_PARSE, "not JSON (line 1, column 4 of it)"},
        {"data: [1]\n\n", GS_ERROR_PARSE, "JSON, but no object"}, {"data: " SAYS("a") "\n\ndata: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n", GS_ERROR_IO, "busy"},
        {"data: {\"choices\":[{\"finish_reason\":\"stop\"},{\"index\":1}]}\n\n", GS_ERROR_IO, "cut before its end"},   /* one of them has not ended */
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) stream(cases[i].bytes, cases[i].status, cases[i].text);
}

/* Whichever allocation of ours fails, that is said, and nothing is left. */
static void no_memory_for_a_reply(void **state)
{
    (void)state;
    static const struct { bool stream; const char *bytes; } cases[] = {
        {false, "{\"choices\":[{\"message\":{\"content\":\"a\",\"refusal\":\"b\"}},{\"index\":2}]}"},
        {true, "data: " SAYS("a") "\n\ndata: {\"choices\":[{\"delta\":{\"refusal\":\"no\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        int failures = 0;
        for (int at = 1;; at++) {
            gs_reply reply = {.stream = cases[i].stream};
            gs_chat_answer answer = {0};
            fail_at = at;
            gs_status status = gs_reply_feed(&reply, cases[i].bytes, strlen(cases[i].bytes), &error);
            if (status == GS_OK) status = gs_reply_end(&reply, &answer, &error);
            const bool reached = allocation_failed();
            if (status != (reached ? GS_ERROR_MEMORY : GS_OK)) fail_msg("%zu, allocation %d: %s: %s", i, at, gs_status_name(status), error.text);
            assert_true((status == GS_OK) == (answer.count > 0));
            failures += reached;
            gs_chat_answer_free(&answer);
            gs_reply_free(&reply);
            if (!reached) break;
        }
        assert_true(failures > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses), cmocka_unit_test(words_of_a_refusal), cmocka_unit_test(words_are_cut_and_blotted), cmocka_unit_test(error_objects),
        cmocka_unit_test(objects_that_are_none), cmocka_unit_test(choices_and_their_parts), cmocka_unit_test(usage), cmocka_unit_test(events), cmocka_unit_test(no_memory_for_a_reply),
    };
    return run_without_leaks("llm/reply", tests, GS_COUNT(tests));
}

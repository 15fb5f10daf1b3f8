/* SPDX-License-Identifier: MIT
 * Proves that a chat completion comes out right, or fails with the right reason, whatever an endpoint does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <time.h>

#include "base/error.h"
#include "endpoint.h"
#include "leaks.h"
#include "llm/chat.h"
#include "llm/http.h"
#include "patience.h"

#define KEY  "sk-test-0123456789abcdef"
#define JSON "application/json"
#define SSE  "text/event-stream; charset=utf-8"
#define USAGE "\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,\"completion_tokens_details\":{\"reasoning_tokens\":3}}"
#define CHOICE(text, finish) "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":" text "},\"finish_reason\":" finish "}"
#define GOOD "{\"id\":\"x\",\"choices\":[" CHOICE("\"fine\"", "\"stop\"") "]," USAGE "}"
#define DELTA(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"},\"finish_reason\":null}],\"usage\":null}\n\n"
#define ENDED "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

static const gs_chat_message hello[] = {{"system", "be brief"}, {"user", "say \"hi\"\n\xc3\xa9"}};
static const gs_chat_options usual = {.model = "tiny", .retries = 2, .wait_s = 0.01, .wait_most_s = 2, .attempt_s = 5, .total_s = 10, .seed = 1, .max_tokens = 100};

static endpoint       server;
static gs_chat_answer answer;
static gs_error       error;

static gs_status ask_with(const gs_chat_options *options, const said *script, int count)
{
    endpoint_start(&server, script, count);
    gs_chat_options o = *options;
    if (!o.url) o.url = server.url;
    gs_chat_answer_free(&answer);
    error = (gs_error){0};
    const gs_status status = gs_chat(&o, hello, 2, &answer, &error);
    endpoint_stop(&server);
    assert_true(status == GS_OK || (error.status == status && error.text[0]));
    assert_null(strstr(error.text, KEY));
    return status;
}

#define ask(...) ask_with(&usual, (const said[]){__VA_ARGS__}, GS_COUNT(((const said[]){__VA_ARGS__})))
#define ask_stream(...) ask_with(&streamed, (const said[]){__VA_ARGS__}, GS_COUNT(((const said[]){__VA_ARGS__})))
#define expect_text(wanted) assert_string_equal(answer.choice[0].text, wanted)

static gs_chat_options streamed;

static int begin(void **state)
{
    (void)state;
    setenv("OPENAI_API_KEY", KEY, 1);
    unsetenv("GEMMSMITH_LLM_URL");
    streamed = usual;
    streamed.stream = true;
    return 0;
}

/* Behind each test. */
static int forget(void **state)
{
    (void)state;
    gs_chat_answer_free(&answer);
    return 0;
}

/* ---- what is sent ---- */

static void request(void **state)
{
    (void)state;
    gs_chat_options o = usual;
    o.headers = (const char *const[]){"X-One: 1", "x-two: a b", NULL};
    const double cold = 0.5;
    o.temperature = &cold;
    o.effort = "low";
    o.choices = 2;
    assert_int_equal(ask_with(&o, &(said){200, JSON, .body = GOOD}, 1), GS_OK);
    const char *const text = server.request[0];
    assert_ptr_equal(strstr(text, "POST /v1/chat/completions HTTP/1.1\r\n"), text);
    assert_non_null(strstr(text, "\r\nAuthorization: Bearer " KEY "\r\n"));
    assert_non_null(strstr(text, "\r\nX-One: 1\r\nx-two: a b\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: application/json\r\n"));
    json_t *const body = json_loads(strstr(text, "\r\n\r\n") + 4, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(body, "model")), "tiny");
    assert_int_equal(json_integer_value(json_object_get(body, "max_tokens")), 100);
    assert_int_equal(json_integer_value(json_object_get(body, "n")), 2);
    assert_true(json_real_value(json_object_get(body, "temperature")) == 0.5);
    assert_string_equal(json_string_value(json_object_get(body, "reasoning_effort")), "low");
    assert_true(json_is_false(json_object_get(body, "stream")));
    const json_t *const user = json_array_get(json_object_get(body, "messages"), 1);
    assert_string_equal(json_string_value(json_object_get(user, "role")), "user");
    assert_string_equal(json_string_value(json_object_get(user, "content")), hello[1].content);
    assert_int_equal(json_array_size(json_object_get(body, "messages")), 2);
    json_decref(body);
}

static void key_of_another_variable_and_none(void **state)
{
    (void)state;
    gs_chat_options o = usual;
    o.key_variable = "GS_TEST_KEY";
    unsetenv("GS_TEST_KEY");
    assert_int_equal(ask_with(&o, &(said){200, JSON, .body = GOOD}, 1), GS_OK);
    assert_null(strcasestr(server.request[0], "authorization"));
    setenv("GS_TEST_KEY", "another-key", 1);
    assert_int_equal(ask_with(&o, &(said){200, JSON, .body = GOOD}, 1), GS_OK);
    assert_non_null(strstr(server.request[0], "Bearer another-key\r\n"));
    setenv("GS_TEST_KEY", "two\r\nX-Evil: 1", 1);
    assert_int_equal(ask_with(&o, &(said){200, JSON, .body = GOOD}, 1), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "key");
    assert_null(strstr(error.text, "X-Evil"));
    assert_int_equal(server.requests, 0);
}

/* A header that says who asks goes before the key; what a server says of headers is blotted out. */
static void keys_in_headers(void **state)
{
    (void)state;
    gs_chat_options o = usual;
    o.retries = -1;
    o.headers = (const char *const[]){"authorization: Token my-own-secret", "api-key:abcdefgh-1", "X-Short: abc", NULL};
    const said refusal = {401, JSON, .body = "{\"error\":{\"message\":\"no my-own-secret, Token my-own-secret, abcdefgh-1 or abc\"}}"};
    assert_int_equal(ask_with(&o, &refusal, 1), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "key");
    assert_string_equal(error.text, "refused with 401: no ***, ***, *** or abc");
    assert_non_null(strstr(server.request[0], "\r\nauthorization: Token my-own-secret\r\napi-key:abcdefgh-1\r\n"));
    assert_null(strstr(server.request[0], "Bearer"));
    static const char *const wrong[] = {"Content-Length: 1", "content-type: x", "Transfer-Encoding: chunked", "X", ": x", "X:", "X: ", "X y: z", "X: a\rY: b", ""};
    for (size_t i = 0; i < GS_COUNT(wrong); i++) assert_false(gs_chat_header_valid(wrong[i]));
    assert_true(gs_chat_header_valid("X-A_b.c: \xc3\xa4"));
}

static void urls(void **state)
{
    (void)state;
    static const char *const right[][2] = {
        {"http://host:8000", "http://host:8000/v1/chat/completions"},
        {"http://host:8000/", "http://host:8000/v1/chat/completions"},
        {"https://api.example.com/v1", "https://api.example.com/v1/chat/completions"},
        {"https://h/openai/v3/", "https://h/openai/v3/chat/completions"},
        {"https://h/v1/chat/completions", "https://h/v1/chat/completions"},
        {"https://h/d/chat/completions?api-version=1#x", "https://h/d/chat/completions?api-version=1"},
        {"https://[::1]:1/v1?a=b", "https://[::1]:1/v1/chat/completions?a=b"},
    };
    for (size_t i = 0; i < GS_COUNT(right); i++) {
        char *url;
        assert_int_equal(gs_http_url(right[i][0], &url, &error), GS_OK);
        assert_string_equal(url, right[i][1]);
        free(url);
    }
    static const char *const wrong[] = {"", "host:8000/v1", "ftp://h/v1", "file:///etc/passwd", "http://", "http://u:p@h/v1", "https://key@h/v1", "http://a b/"};
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        char *url;
        if (gs_http_url(wrong[i], &url, &error) != GS_ERROR_ARGUMENT) fail_msg("%s is accepted", wrong[i]);
        assert_null(url);
        assert_string_equal(error.field, "url");
    }
}

static void options(void **state)
{
    (void)state;
    const double hot = 11, cold = -1;
    const char *const header[] = {"X: 1", "no header", NULL}, *const evil[] = {"X: 1\r\nY: 2", NULL};
    const struct {
        gs_chat_options o;
        const char     *field;
    } wrong[] = {
        {{.url = "http://h"}, "model"},
        {{.url = "http://h", .model = ""}, "model"},
        {{.url = "http://h", .model = "m", .connect_s = -1}, "timeout"},
        {{.url = "http://h", .model = "m", .attempt_s = -1}, "timeout"},
        {{.url = "http://h", .model = "m", .total_s = 1.0 / 0.0}, "timeout"},
        {{.url = "http://h", .model = "m", .wait_s = 0.0 / 0.0}, "wait"},
        {{.url = "http://h", .model = "m", .wait_most_s = -1}, "wait"},
        {{.url = "http://h", .model = "m", .max_tokens = -1}, "max_tokens"},
        {{.url = "http://h", .model = "m", .choices = -1}, "choices"},
        {{.url = "http://h", .model = "m", .choices = GS_CHAT_CHOICES + 1}, "choices"},
        {{.url = "http://h", .model = "m", .temperature = &hot}, "temperature"},
        {{.url = "http://h", .model = "m", .temperature = &cold}, "temperature"},
        {{.url = "http://h", .model = "m", .headers = header}, "headers"},
        {{.url = "http://h", .model = "m", .headers = evil}, "headers"},
        {{.model = "m"}, "url"},
    };
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        assert_int_equal(gs_chat(&wrong[i].o, hello, 2, &answer, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, wrong[i].field);
        assert_int_equal(answer.attempts, 0);
    }
    assert_non_null(strstr(error.text, "is not given: set " GS_CHAT_URL));   /* the last one's */
    static const gs_chat_message many[GS_CHAT_MESSAGES + 1], nobody[] = {{"system", "x"}, {NULL, "y"}}, nothing[] = {{"system", "x"}, {"user", NULL}};
    const struct {
        const gs_chat_message *list;
        int                    count;
        const char            *says;
    } asked[] = {{hello, 0, "must be 1 to"}, {many, (int)GS_COUNT(many), "must be 1 to"}, {nobody, 2, "message 2 has no role"}, {nothing, 2, "message 2 has no role"}};
    for (size_t i = 0; i < GS_COUNT(asked); i++) {
        assert_int_equal(gs_chat(&(gs_chat_options){.url = "http://h", .model = "m"}, asked[i].list, asked[i].count, &answer, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, "messages");
        assert_non_null(strstr(error.text, asked[i].says));
    }
    const gs_chat_options o = {.url = "https://127.0.0.1:1", .model = "m", .ca_path = "/nowhere.pem", .retries = 1, .wait_s = 0.01};
    assert_int_equal(gs_chat(&o, hello, 2, &answer, &error), GS_ERROR_IO);   /* nobody listens: the certificates are not looked at yet */
    assert_int_equal(answer.attempts, 2);
}

/* ---- answers ---- */

static void plain(void **state)
{
    (void)state;
    assert_int_equal(ask({200, JSON "; charset=utf-8", .body = "{\"choices\":[" CHOICE("\"gr\\u00fc\xc3\x9f dich \\ud83d\\ude00\"", "\"stop\"") "]," USAGE "}", .piece = 1}), GS_OK);
    expect_text("gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x98\x80");
    assert_int_equal(answer.choice[0].size, strlen(answer.choice[0].text));
    assert_int_equal(answer.choice[0].finish, GS_FINISH_STOP);
    assert_true(answer.usage_known);
    assert_int_equal(answer.prompt_tokens, 11);
    assert_int_equal(answer.completion_tokens, 7);
    assert_int_equal(answer.reasoning_tokens, 3);
    assert_int_equal(answer.attempts, 1);
    assert_int_equal(answer.http, 200);
    assert_true(answer.seconds > 0 && answer.seconds < 5 * patience());
}

static void finishes(void **state)
{
    (void)state;
    static const struct {
        const char *choice, *text;
        gs_finish   finish;
        size_t      reasoning;
        const char *refusal;
    } cases[] = {
        {CHOICE("\"half an\"", "\"length\""), "half an", GS_FINISH_LENGTH, 0, NULL},
        {CHOICE("\"\"", "\"content_filter\""), "", GS_FINISH_FILTER, 0, NULL},
        {CHOICE("null", "null"), "", GS_FINISH_OTHER, 0, NULL},
        {"{\"message\":{\"content\":null,\"reasoning_content\":\"hmm\"},\"finish_reason\":\"length\"}", "", GS_FINISH_LENGTH, 3, NULL},
        {"{\"message\":{\"content\":\"a\",\"reasoning\":\"hm\",\"tool_calls\":[{\"id\":1}],\"function_call\":null},\"finish_reason\":\"tool_calls\"}", "a", GS_FINISH_OTHER, 2, NULL},
        {"{\"message\":{\"content\":null,\"refusal\":\"I will not\"},\"finish_reason\":\"stop\"}", "", GS_FINISH_REFUSAL, 0, "I will not"},
        {"{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]},\"finish_reason\":\"stop\"}", "ab", GS_FINISH_STOP, 0, NULL},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char body[1024];
        snprintf(body, sizeof body, "{\"choices\":[%s],\"usage\":null,\"unknown\":[{}]}", cases[i].choice);
        assert_int_equal(ask({200, JSON, .body = body}), GS_OK);
        expect_text(cases[i].text);
        assert_int_equal(answer.choice[0].finish, cases[i].finish);
        assert_int_equal(answer.choice[0].reasoning, cases[i].reasoning);
        assert_false(answer.usage_known);
        if (cases[i].refusal) assert_string_equal(answer.choice[0].refusal, cases[i].refusal);
        else assert_null(answer.choice[0].refusal);
    }
}

static void several_choices(void **state)
{
    (void)state;
    assert_int_equal(ask({200, JSON, .body = "{\"choices\":[{\"index\":1,\"message\":{\"content\":\"b\"}},{\"index\":0,\"message\":{\"content\":\"a\"}}]}"}), GS_OK);
    assert_int_equal(answer.count, 2);
    expect_text("a");
    assert_string_equal(answer.choice[1].text, "b");
    assert_int_equal(ask({200, JSON, .body = "{\"choices\":[{\"index\":16,\"message\":{\"content\":\"b\"}}]}"}), GS_ERROR_PARSE);
    assert_int_equal(ask({200, JSON, .body = "{\"choices\":[{\"index\":-1,\"message\":{\"content\":\"b\"}}]}"}), GS_ERROR_PARSE);
}

static void streams(void **state)
{
    (void)state;
    static const char usage[] = "data: {\"choices\":[]," USAGE "}\n\n";
    char body[2048];
    snprintf(body, sizeof body, "\xef\xbb\xbf: hello\n\nevent: x\nid: 1\n" DELTA("gr\xc3\xbc") DELTA("\xc3\x9f \\u00e9") "%s" ENDED "data:[DONE]\n\nnonsense", usage);
    assert_int_equal(ask_stream({200, SSE, .body = body, .piece = 1, .hang = true}), GS_OK);   /* [DONE] ends it */
    expect_text("gr\xc3\xbc\xc3\x9f \xc3\xa9");
    assert_true(answer.usage_known);
    assert_int_equal(answer.completion_tokens, 7);
    assert_true(answer.seconds < 3 * patience());
    assert_non_null(strstr(server.request[0], "\"stream\":true,\"stream_options\":{\"include_usage\":true}"));

    assert_int_equal(ask_stream({200, SSE, .body = "data: {\"choices\":\r\ndata: [{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":"
                                                   "\"xy\"},\"finish_reason\":\"stop\"}]}\r\rdata: [DONE]"}), GS_OK);
    expect_text("a");
    assert_int_equal(answer.choice[0].reasoning, 2);
    assert_int_equal(ask_stream({200, SSE, .body = DELTA("no word") ENDED}), GS_OK);   /* of the end, but it finished */
    expect_text("no word");
    assert_int_equal(ask_stream({200, JSON, .body = GOOD}), GS_OK);                   /* does not stream */
    expect_text("fine");
    assert_int_equal(ask({200, SSE, .body = DELTA("streams") ENDED}), GS_OK);         /* streams unasked */
    expect_text("streams");
    assert_int_equal(ask({200, NULL, .body = GOOD}), GS_OK);
    expect_text("fine");
}

/* ---- failures that pass ---- */

static void retries(void **state)
{
    (void)state;
    assert_int_equal(ask({500, "text/plain", .body = "oops"}, {200, JSON, .body = GOOD}), GS_OK);
    assert_int_equal(answer.attempts, 2);
    assert_int_equal(ask({503, NULL}, {0}, {200, JSON, .body = GOOD}), GS_OK);
    assert_int_equal(answer.attempts, 3);
    assert_int_equal(ask({200, JSON, .body = GOOD, .claim = 10}, {200, JSON, .body = GOOD}), GS_OK);
    assert_int_equal(answer.attempts, 2);
    assert_int_equal(ask_stream({200, SSE, .body = DELTA("cut") "data: {\"choi"}, {200, SSE, .body = DELTA("whole") ENDED}), GS_OK);
    expect_text("whole");
    assert_int_equal(answer.attempts, 2);
    assert_int_equal(ask({200, JSON, .body = "{\"error\":{\"code\":429,\"message\":\"slow down\"}}"}, {200, JSON, .body = GOOD}), GS_OK);
    assert_int_equal(ask({200, JSON, .body = "{\"error\":{\"type\":\"overloaded_error\"}}"}, {200, JSON, .body = GOOD}), GS_OK);
    assert_int_equal(ask({429, JSON, "Retry-After: 1\r\n", "{}"}, {200, JSON, .body = GOOD}), GS_OK);
    assert_true(answer.seconds >= 1 && answer.seconds < 3 * patience());
    gs_chat_options o = usual;
    o.wait_most_s = 0.5;   /* less than the server asks for: no retry, also where there was time for it */
    assert_int_equal(ask_with(&o, &(said){429, JSON, "Retry-After: 1\r\n", "{}"}, 1), GS_ERROR_IO);
    assert_int_equal(answer.attempts, 1);
    assert_true(answer.seconds < 0.5 * patience());
}

static void failures_that_stay(void **state)
{
    (void)state;
    static const struct {
        said        reply;
        gs_status   status;
        const char *field;
        int         attempts;
    } cases[] = {
        {{503, JSON, .body = "{\"error\":{\"message\":\"busy\"}}"}, GS_ERROR_IO, "http 503", 3},
        {{429, JSON, "Retry-After: 3600\r\n", "{}"}, GS_ERROR_IO, "http 429", 1},
        {{0}, GS_ERROR_IO, "connection", 3},
        {{200, JSON, .body = GOOD, .claim = 1}, GS_ERROR_IO, "connection", 3},
        {{200, SSE, .body = DELTA("cut")}, GS_ERROR_IO, "stream", 3},
        {{200, SSE, .body = ""}, GS_ERROR_PARSE, "reply", 1},
        {{200, SSE, .body = "data: [DONE]\n\n"}, GS_ERROR_PARSE, "reply", 1},
        {{200, SSE, .body = "data: {\"choices\":[}\n\n"}, GS_ERROR_PARSE, "reply", 1},
        {{200, SSE, .body = DELTA("a") "data: {\"error\":{\"message\":\"x\"}}\n\n"}, GS_ERROR_ARGUMENT, "http 400", 1},
        {{200, JSON, .body = ""}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "{\"choices\":[{\"mess"}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "{\"choices\":[]}"}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "{\"choices\":[7]}"}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "[1]"}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}"}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "{\"choices\":[{\"message\":{\"content\":\"\\u0000\"}}]}"}, GS_ERROR_PARSE, "reply", 1},
        {{200, "text/html", .body = GOOD}, GS_ERROR_PARSE, "reply", 1},
        {{200, JSON, .body = "{\"error\":\"no such thing\"}"}, GS_ERROR_ARGUMENT, "http 400", 1},
        {{200, JSON, .body = "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}"}, GS_ERROR_ARGUMENT, "http 400", 1},
        {{401, JSON, .body = "{\"error\":{\"message\":\"wrong key " KEY " given\"}}"}, GS_ERROR_ARGUMENT, "key", 1},
        {{403, "text/plain", .body = KEY}, GS_ERROR_ARGUMENT, "key", 1},
        {{404, JSON, .body = "{\"detail\":\"Not Found\"}"}, GS_ERROR_NOT_FOUND, "http 404", 1},
        {{400, JSON, .body = "{\"error\":{\"message\":\"bad\\nrequest\"}}"}, GS_ERROR_ARGUMENT, "http 400", 1},
        {{300, "text/html", .body = ""}, GS_ERROR_ARGUMENT, "http 300", 1},
        {{302, "text/html", "Location: http://127.0.0.1:1/\r\n", ""}, GS_ERROR_ARGUMENT, "http 302", 1},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_status status = ask_with(&usual, &cases[i].reply, 1);
        if (status != cases[i].status || strcmp(error.field, cases[i].field) != 0 || answer.attempts != cases[i].attempts)
            fail_msg("case %zu: %s %s after %d attempts: %s", i, gs_status_name(status), error.field, answer.attempts, error.text);
        assert_int_equal(server.requests, cases[i].attempts);
        assert_int_equal(answer.count, 0);
        assert_null(strchr(error.text, '\n'));
        if (strstr(cases[i].reply.body ? cases[i].reply.body : "", "too long")) assert_string_equal(error.text, "too long");
        assert_int_equal(strstr(error.text, "a redirect") != NULL, cases[i].reply.http >= 300 && cases[i].reply.http < 400);
    }
    assert_int_equal(ask_with(&usual, &(said){200, JSON, .body = ""}, 1), GS_ERROR_PARSE);
    assert_string_equal(error.text, "empty");
    assert_int_equal(ask_with(&usual, &(said){200, JSON, .body = "{"}, 1), GS_ERROR_PARSE);
    assert_non_null(strstr(error.text, "not JSON (line 1"));
}

/* Five, unless it is said: four retries. */
static void attempts_that_were_not_said(void **state)
{
    (void)state;
    gs_chat_options o = usual;
    o.retries = 0;
    o.wait_most_s = 0.01;
    assert_int_equal(ask_with(&o, &(said){500, NULL}, 1), GS_ERROR_IO);
    assert_int_equal(answer.attempts, 5);
    o.retries = -1;
    assert_int_equal(ask_with(&o, &(said){500, NULL}, 1), GS_ERROR_IO);
    assert_int_equal(answer.attempts, 1);
}

/* A key that the cut of a long message would leave half of. */
static void key_at_the_cut(void **state)
{
    (void)state;
    for (int before = 190; before < 240; before++) {
        char body[512];
        snprintf(body, sizeof body, "%0*d" KEY, before, 0);
        assert_int_equal(ask({401, "text/plain", .body = body}), GS_ERROR_ARGUMENT);
        assert_null(strstr(error.text, "sk-"));
    }
}

static void bounds(void **state)
{
    (void)state;
    gs_chat_options o = usual;
    o.reply_most = 100000;
    assert_int_equal(ask_with(&o, &(said){200, SSE, .body = DELTA("more and more"), .repeat = 100000}, 1), GS_ERROR_RANGE);
    assert_string_equal(error.field, "reply");
    assert_int_equal(answer.attempts, 1);
    assert_int_equal(ask_with(&o, &(said){200, JSON, .body = "                ", .repeat = 100000}, 1), GS_ERROR_RANGE);
    assert_int_equal(ask_with(&o, &(said){400, JSON, .body = "                ", .repeat = 100000}, 1), GS_ERROR_ARGUMENT);
    char blank[4097];   /* 8 MiB of it are what a reply may have, unless it is said */
    memset(blank, ' ', sizeof blank - 1);
    blank[sizeof blank - 1] = '\0';
    assert_int_equal(usual.reply_most, 0);
    assert_int_equal(ask_with(&usual, &(said){200, JSON, .body = blank, .repeat = 2049}, 1), GS_ERROR_RANGE);
    assert_int_equal(ask_with(&usual, &(said){200, JSON, .body = blank, .repeat = 2048}, 1), GS_ERROR_PARSE);
}

static void times(void **state)
{
    (void)state;
    gs_chat_options o = usual;
    o.attempt_s = 0.2;
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    assert_int_equal(ask_with(&o, &(said){.mute = true}, 1), GS_ERROR_TIMEOUT);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    assert_true(difftime(after.tv_sec, before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9 < 0.1);   /* it sleeps while it waits */
    assert_string_equal(error.field, "attempt");
    assert_int_equal(answer.attempts, 1);
    assert_true(answer.seconds < 2 * patience());
    assert_int_equal(ask_with(&o, &(said){200, SSE, .body = DELTA("slow"), .hang = true}, 1), GS_ERROR_TIMEOUT);
    o = usual;
    o.total_s = 0.3;
    o.retries = 1000;
    assert_int_equal(ask_with(&o, &(said){500, NULL}, 1), GS_ERROR_IO);   /* the last one's reason, not the clock's */
    assert_string_equal(error.field, "http 500");
    assert_true(answer.attempts > 1 && answer.seconds < 2 * patience());
}

static void adapts(void **state)
{
    (void)state;
    const double cold = 0;
    gs_chat_options o = streamed;
    o.temperature = &cold;
    const said script[] = {
        {400, JSON, .body = "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.\"}}"},
        {400, JSON, .body = "{\"error\":{\"message\":\"no\",\"param\":\"temperature\"}}"},
        {422, JSON, .body = "{\"detail\":\"extra field stream_options\"}"},
        {200, JSON, .body = GOOD},
    };
    assert_int_equal(ask_with(&o, script, 4), GS_OK);
    assert_int_equal(answer.attempts, 4);
    assert_non_null(strstr(server.request[0], "\"max_tokens\":100"));
    assert_non_null(strstr(server.request[2], "\"max_completion_tokens\":100"));
    assert_null(strstr(server.request[2], "temperature"));
    assert_null(strstr(server.request[3], "stream_options"));
    assert_int_equal(ask_with(&o, script, 1), GS_ERROR_ARGUMENT);   /* says the same again: once is enough */
    assert_int_equal(answer.attempts, 2);
}

/* ---- stopping ---- */

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* As Ctrl-C does: by a signal, which also interrupts what the thread waits in. */
static void *stop_soon(void *self)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    pthread_kill(*(const pthread_t *)self, SIGUSR1);
    return NULL;
}

static void stops(void **state)
{
    (void)state;
    const said mute = {.mute = true}, later = {429, JSON, "Retry-After: 2\r\n", "{}"}, slow = {200, SSE, .body = DELTA("a"), .hang = true};
    const said *const all[] = {&mute, &later, &slow};
    const pthread_t self = pthread_self();
    signal(SIGUSR1, on_signal);
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        gs_chat_options o = usual;
        o.stop = &stop;
        stop = 0;
        pthread_t thread;
        pthread_create(&thread, NULL, stop_soon, (void *)&self);
        assert_int_equal(ask_with(&o, all[i], 1), GS_ERROR_INTERRUPTED);
        pthread_join(thread, NULL);
        assert_int_equal(answer.attempts, 1);
        assert_true(answer.seconds >= 0.09 && answer.seconds < 0.6 * patience());
    }
    gs_chat_options o = usual;
    o.stop = &stop;
    assert_int_equal(ask_with(&o, &mute, 1), GS_ERROR_INTERRUPTED);   /* before anything was sent */
    assert_int_equal(answer.attempts, 0);
}

/* ---- the ledger ---- */

static gs_status ask_on(gs_ledger *ledger, const said *reply)
{
    gs_chat_options o = usual;
    o.ledger = ledger;
    return ask_with(&o, reply, 1);
}

static void budget(void **state)
{
    (void)state;
    gs_ledger *ledger;
    assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.price_in = 1e6, .price_out = 2e6, .most.requests = 5}, &error), GS_OK);
    assert_int_equal(ask_on(ledger, &(said){200, JSON, .body = GOOD}), GS_OK);
    gs_spent spent = gs_ledger_spent(ledger);
    assert_int_equal(spent.requests, 1);
    assert_int_equal(spent.tokens, 18);
    assert_true(spent.cost == 11 + 2 * 7);
    assert_true(spent.seconds > 0 && spent.seconds < 3 * patience());
    assert_int_equal(ask_on(ledger, &(said){500, NULL}), GS_ERROR_IO);   /* three attempts, nothing to pay */
    spent = gs_ledger_spent(ledger);
    assert_int_equal(spent.requests, 4);
    assert_int_equal(spent.tokens, 18);
    assert_int_equal(ask_on(ledger, &(said){200, SSE, .body = DELTA("cut")}), GS_ERROR_RANGE);   /* paid for, and no second attempt */
    assert_string_equal(error.field, "requests");
    assert_int_equal(server.requests, 1);
    spent = gs_ledger_spent(ledger);
    assert_int_equal(spent.requests, 5);
    assert_true(spent.tokens > 18 + 100);
    gs_ledger_close(&ledger);

    assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.most.tokens = 120}, &error), GS_OK);
    assert_int_equal(ask_on(ledger, &(said){200, JSON, .body = GOOD}), GS_ERROR_RANGE);
    assert_string_equal(error.field, "tokens");
    assert_int_equal(server.requests, 0);
    assert_int_equal(gs_ledger_spent(ledger).requests, 0);
    gs_ledger_close(&ledger);

    int64_t most = 16 + usual.max_tokens;   /* the most that a request may take is enough */
    for (int i = 0; i < 2; i++) most += 16 + (int64_t)(strlen(hello[i].role) + strlen(hello[i].content));
    for (int less = 0; less < 2; less++) {
        assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.most.tokens = most - less}, &error), GS_OK);
        assert_int_equal(ask_on(ledger, &(said){200, JSON, .body = GOOD}), less ? GS_ERROR_RANGE : GS_OK);
        gs_ledger_close(&ledger);
    }

    assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.most.seconds = 0.2}, &error), GS_OK);
    assert_int_equal(ask_on(ledger, &(said){.mute = true}), GS_ERROR_TIMEOUT);   /* cut to what is left */
    assert_true(answer.seconds < 1 * patience());
    assert_int_equal(ask_on(ledger, &(said){200, JSON, .body = GOOD}), GS_ERROR_RANGE);
    assert_string_equal(error.field, "seconds");
    gs_ledger_close(&ledger);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(request),
        cmocka_unit_test(key_of_another_variable_and_none),
        cmocka_unit_test(keys_in_headers),
        cmocka_unit_test(urls),
        cmocka_unit_test(options),
        cmocka_unit_test(plain),
        cmocka_unit_test(finishes),
        cmocka_unit_test(several_choices),
        cmocka_unit_test(streams),
        cmocka_unit_test(retries),
        cmocka_unit_test(failures_that_stay), cmocka_unit_test(attempts_that_were_not_said),
        cmocka_unit_test(key_at_the_cut),
        cmocka_unit_test(bounds),
        cmocka_unit_test(times),
        cmocka_unit_test(adapts),
        cmocka_unit_test(stops),
        cmocka_unit_test(budget),
    };
    for (size_t i = 0; i < GS_COUNT(tests); i++) tests[i].teardown_func = forget;
    return run_group_without_leaks("llm/chat", tests, GS_COUNT(tests), begin, NULL);
}

/* SPDX-License-Identifier: MIT
 * Every allocation of a conversation, of the ledger and of the parsers fails once, ours, jansson's and those of libcurl's lists: what comes is MEMORY, and nothing is left over.
 * jansson takes some of its own for faults of the text (its lexer does not tell them apart): then it is PARSE. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <curl/curl.h>
#include <jansson.h>

#include "base/error.h"
#include "endpoint.h"
#include "leaks.h"
#include "llm/answer.h"
#include "llm/chat.h"
#include "llm/completion.h"
#include "llm/edit.h"

/* ---- memory that fails on demand: linked with --wrap ---- */

static _Thread_local int calls, fail_at, open_blocks;   /* the call of this number fails; 0: none. Of the test's own thread alone */
static _Thread_local bool watched, failed_in_jansson, failed_in_list;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
struct curl_slist *__real_curl_slist_append(struct curl_slist *list, const char *text);
struct curl_slist *__wrap_curl_slist_append(struct curl_slist *list, const char *text);

static bool fails(void) { return watched && ++calls == fail_at; }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return fails() ? NULL : __real_realloc(memory, size); }
char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }
struct curl_slist *__wrap_curl_slist_append(struct curl_slist *list, const char *text)
{
    const bool none = fails();
    failed_in_list |= none;
    return none ? NULL : __real_curl_slist_append(list, text);
}

static void *json_malloc_here(size_t size)
{
    const bool none = fails();
    failed_in_jansson |= none;
    void *const memory = none ? NULL : __real_malloc(size);
    open_blocks += memory != NULL;
    return memory;
}

static void json_free_here(void *memory)
{
    open_blocks -= memory != NULL;
    free(memory);
}

/* ---- what is tried ---- */

static gs_error error;
static endpoint server;

#define EVENT(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"},\"finish_reason\":null}]}\n\n"
static const said streaming = {200, "text/event-stream", .body = EVENT("one") EVENT("two") "data: [DONE]\n\n"};
static const said whole = {200, "application/json", .body = "{\"choices\":[{\"message\":{\"content\":\"onetwo\",\"refusal\":\"\"},\"finish_reason\":\"stop\"}]}"};

static gs_status chat(void)
{
    gs_ledger *ledger;
    const gs_ledger_options budget = {.most.requests = 1000000};
    const gs_status opened = gs_ledger_open(&ledger, &budget, &error);
    if (opened != GS_OK) return opened;
    const gs_chat_message ask = {"user", "count"};
    const gs_chat_options options = {.url = server.url, .model = "tiny", .retries = -1, .stream = server.script == &streaming, .ledger = ledger, .seed = 1};
    gs_chat_answer answer;
    const gs_status status = gs_chat(&options, &ask, 1, &answer, &error);
    if (status == GS_OK && strcmp(answer.choice[0].text, "onetwo") != 0) fail_msg("the answer is %s", answer.choice[0].text);
    if (status != GS_OK && answer.count != 0) fail_msg("an answer of %d choices with %s", answer.count, gs_status_name(status));
    gs_chat_answer_free(&answer);
    gs_ledger_close(&ledger);
    return status;
}

static gs_status kernel(void)
{
    static const char text[] = "# Analysis\na\n# Plan\nb\n# Code\n```cuda kernel.cu\nint a;\n```\n";
    gs_answer answer;
    const gs_status status = gs_answer_parse(&answer, text, sizeof text - 1, (const char *const[]){"kernel.cu", NULL}, &error);
    gs_answer_free(&answer);
    return status;
}

static gs_status schedule_strings(void)
{
    static const char text[] = "[\"simple\", \"ws/128x256x64\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]";
    static gs_sentences got;
    return gs_answer_sentences(&got, text, sizeof text - 1, 9, &error);
}

/* Edits are made, and read again from an answer. The second edit's lines stand in the parent without its comment. */
static gs_status edits(void)
{
    static const gs_parent parent = {"a\nb  // why\nc\nd\n", "m\nn\n"}, child = {"a\nb\nx\nd\ne\n", "m\no\n"};
    static const char other[] = "```cuda\n<<<<<<< SEARCH\nb\nc\n=======\nx\n>>>>>>> REPLACE\n```\n";
    gs_text text = {0};
    gs_completion found;
    gs_status status = gs_edit_blocks(&text, &parent, &child, &error);
    if (status != GS_OK) {
        gs_text_free(&text);
        return status;
    }
    status = gs_completion_read_edit(&found, gs_text_string(&text), text.size, &parent, &error);
    if (status == GS_OK && (!found.source || strcmp(found.source, child.source) != 0)) fail_msg("the child is %s", found.source ? found.source : found.fault.text);
    gs_completion_free(&found);
    gs_text_free(&text);
    if (status != GS_OK) return status;
    status = gs_completion_read_edit(&found, other, sizeof other - 1, &parent, &error);
    if (status == GS_OK && !found.source) fail_msg("%s", found.fault.text);
    gs_completion_free(&found);
    return status;
}

/* An edit that needs lines above and below, of which one is dropped again. */
static gs_status edit_among_equal_lines(void)
{
    gs_text text = {0};
    const gs_status status = gs_edit_make(&text, "a\nb\nx\nd\nc\nb\nx\nd\n", "a\nb\ny\nd\nc\nb\nx\nd\n", &error);
    gs_text_free(&text);
    return status;
}

/* Fails each allocation in turn until none is left; least: how many there are at least. settle: what a ledger that has no memory leaves unsettled is no failure. */
static void each(gs_status (*what)(void), int least, bool settle)
{
    int failed = 0;
    for (int at = 1;; at++) {
        error = (gs_error){0};
        calls = 0;
        fail_at = at;
        watched = true;
        failed_in_jansson = failed_in_list = false;
        const gs_status status = what();
        watched = false;
        assert_int_equal(open_blocks, 0);
        if (calls < at) {
            assert_int_equal(status, GS_OK);
            break;
        }
        if (status == GS_OK && settle && !failed_in_list) continue;   /* nothing is sent without one of its headers */
        if (status != GS_ERROR_MEMORY && !(failed_in_jansson && status == GS_ERROR_PARSE)) fail_msg("allocation %d: %s: %s", at, gs_status_name(status), error.text);
        assert_int_equal(error.status, status);
        failed++;
        assert_true(at < 1000);
    }
    assert_true(failed >= least);
}

static void conversations(void **state)
{
    (void)state;
    const said *const scripts[] = {&streaming, &whole};
    for (size_t i = 0; i < GS_COUNT(scripts); i++) {
        endpoint_start(&server, scripts[i], 1);
        each(chat, 15, true);
        endpoint_stop(&server);
    }
}

static void answers(void **state)
{
    (void)state;
    each(kernel, 1, false);
    each(schedule_strings, 10, false);
    each(edits, 30, false);
    each(edit_among_equal_lines, 15, false);
}

int main(void)
{
    json_set_alloc_funcs(json_malloc_here, json_free_here);
    const struct CMUnitTest tests[] = {cmocka_unit_test(conversations), cmocka_unit_test(answers)};
    return run_without_leaks("llm/memory", tests, GS_COUNT(tests));
}

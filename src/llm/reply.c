/* SPDX-License-Identifier: MIT
 * Parses replies: fields of reasoning models, tool calls and unknown fields are ignored; invalid JSON and a stream that ends early are errors. */
#include "llm/reply.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MESSAGE = 240 };   /* bytes of a server's message that are passed on */

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, "reply", "no memory for the reply"); }

static gs_status not_understood(gs_error *error, const char *what) { return gs_fail(error, GS_ERROR_PARSE, "reply", "%s", what); }

/* The length of the longest secret at this position; 0: none. Strings shorter than 8 bytes are not treated as secrets. */
static size_t secret_at(const gs_reply *reply, const char *said)
{
    size_t longest = 0;
    for (const char *const *secret = reply->secrets; secret && *secret; secret++) {
        const size_t size = strlen(*secret);
        if (size >= 8 && size > longest && strncmp(said, *secret, size) == 0) longest = size;
    }
    return longest;
}

/* The server's message on one line, with secrets masked, cut at a character boundary. */
static void quote(const gs_reply *reply, const char *said, char text[MESSAGE])
{
    size_t size = 0;
    while (*said && size + 4 < MESSAGE) {
        const size_t secret = secret_at(reply, said);
        if (secret > 0) {
            memcpy(text + size, "***", 3);
            size += 3;
            said += secret;
        } else {
            const unsigned char c = (unsigned char)*said++;
            text[size++] = c < ' ' || c == 0x7f ? ' ' : (char)c;
        }
    }
    if (*said) while (size > 0 && ((unsigned char)*said & 0xc0) == 0x80) said--, size--;
    text[size] = '\0';
}

static const char *string_of(const json_t *object, const char *name)
{
    const char *const value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

/* The HTTP status that an error object stands for. */
static int code_of(const json_t *object)
{
    const json_t *const code = json_object_get(object, "code");
    json_int_t number = json_integer_value(code);
    if (json_is_string(code)) number = atoi(json_string_value(code));
    if (number >= 400 && number <= 599) return (int)number;
    const char *const words[] = {string_of(object, "type"), string_of(object, "code")};
    for (size_t i = 0; i < GS_COUNT(words); i++) {
        if (strstr(words[i], "rate_limit")) return 429;
        if (strstr(words[i], "overloaded") || strstr(words[i], "unavailable")) return 503;
        if (strstr(words[i], "server_error") || strstr(words[i], "internal") || strstr(words[i], "Internal")) return 500;
    }
    return 400;
}

/* The error for a status and the server's message: "http 429: ..."; the code says whether the caller is at fault. */
static gs_status refused(int http, const char *words, gs_error *error)
{
    char field[32];
    snprintf(field, sizeof field, "http %d", http);
    const char *const said = *words ? words : "the server gave no reason";
    if (http == 401 || http == 403) return gs_fail(error, GS_ERROR_ARGUMENT, "key", "refused with %d: %s", http, said);
    if (http == 404) return gs_fail(error, GS_ERROR_NOT_FOUND, field, "no such URL or model: %s", said);
    if (http >= 300 && http < 400) return gs_fail(error, GS_ERROR_ARGUMENT, field, "a redirect, which is not followed: give the URL it leads to");
    return gs_fail(error, http == 408 || http == 429 || http >= 500 ? GS_ERROR_IO : GS_ERROR_ARGUMENT, field, "%s", said);
}

static gs_status take_error(gs_reply *reply, const json_t *object, gs_error *error)
{
    char words[MESSAGE] = "";
    if (json_is_string(object)) quote(reply, json_string_value(object), words);
    else quote(reply, string_of(object, "message"), words);
    reply->code = code_of(object);
    return refused(reply->code, words, error);
}

gs_status gs_reply_refused(gs_reply *reply, int http, gs_error *error)
{
    json_t *const root = json_loadb(gs_text_string(&reply->pending), reply->pending.size, 0, NULL);
    const json_t *object = json_object_get(root, "error");
    if (!object) object = root;
    char words[MESSAGE] = "";
    if (json_is_string(object)) quote(reply, json_string_value(object), words);
    else if (json_is_string(json_object_get(object, "message"))) quote(reply, string_of(object, "message"), words);
    else if (json_is_string(json_object_get(object, "detail"))) quote(reply, string_of(object, "detail"), words);
    else quote(reply, gs_text_string(&reply->pending), words);
    json_decref(root);
    return refused(http, words, error);
}

/* Content is a string, null, or an array of parts, of which text parts have a "text". */
static void add_content(gs_text *text, const json_t *content)
{
    if (json_is_string(content)) gs_text_add_bytes(text, json_string_value(content), json_string_length(content));
    size_t i;
    const json_t *part;
    json_array_foreach(content, i, part) gs_text_add(text, string_of(part, "text"));
}

static gs_finish finish_of(const char *reason)
{
    static const struct {
        const char *word;
        gs_finish   finish;
    } words[] = {
        {"stop", GS_FINISH_STOP},     {"eos", GS_FINISH_STOP},         {"end_turn", GS_FINISH_STOP},          {"length", GS_FINISH_LENGTH},
        {"max_tokens", GS_FINISH_LENGTH}, {"content_filter", GS_FINISH_FILTER}, {"refusal", GS_FINISH_REFUSAL},
    };
    for (size_t i = 0; i < GS_COUNT(words); i++)
        if (strcmp(reason, words[i].word) == 0) return words[i].finish;
    return GS_FINISH_OTHER;
}

static gs_status take_choice(gs_reply *reply, const json_t *choice, size_t place, gs_error *error)
{
    if (!json_is_object(choice)) return not_understood(error, "a choice is no object");
    const json_t *const number = json_object_get(choice, "index");
    const json_int_t index = json_is_integer(number) ? json_integer_value(number) : (json_int_t)place;
    if (index < 0 || index >= GS_CHAT_CHOICES) return gs_fail(error, GS_ERROR_PARSE, "reply", "choice %lld of at most %d", (long long)index, GS_CHAT_CHOICES);
    gs_reply_choice *const c = &reply->choice[index];
    reply->count = GS_MAX(reply->count, (int)index + 1);
    const json_t *message = json_object_get(choice, "delta");
    if (!json_is_object(message)) message = json_object_get(choice, "message");
    add_content(&c->text, json_object_get(message, "content"));
    gs_text_add(&c->refusal, string_of(message, "refusal"));
    /* servers use one of two names for reasoning; if both are there, only the first is counted */
    const char *const thought = string_of(message, "reasoning_content");
    c->reasoning += strlen(*thought ? thought : string_of(message, "reasoning"));
    const char *const reason = string_of(choice, "finish_reason");
    if (*reason) {
        c->finish = finish_of(reason);
        c->finished = true;
    }
    return c->text.failed || c->refusal.failed ? no_memory(error) : GS_OK;
}

static int64_t tokens_of(const json_t *object, const char *name)
{
    const double value = json_number_value(json_object_get(object, name));
    return value > 0 ? (int64_t)GS_MIN(value, 1e12) : 0;
}

static gs_status take_object(gs_reply *reply, const json_t *root, gs_error *error)
{
    if (!json_is_object(root)) return not_understood(error, "JSON, but no object");
    const json_t *const failed = json_object_get(root, "error");
    if (failed && !json_is_null(failed)) return take_error(reply, failed, error);
    size_t i;
    const json_t *choice;
    json_array_foreach(json_object_get(root, "choices"), i, choice) GS_TRY(take_choice(reply, choice, i, error));
    const json_t *const usage = json_object_get(root, "usage");
    if (json_is_object(usage) && json_is_number(json_object_get(usage, "prompt_tokens"))) {
        reply->usage_known = true;
        reply->prompt_tokens = tokens_of(usage, "prompt_tokens");
        reply->completion_tokens = tokens_of(usage, "completion_tokens");
        reply->reasoning_tokens = tokens_of(json_object_get(usage, "completion_tokens_details"), "reasoning_tokens");
    }
    return GS_OK;
}

static gs_status take_text(gs_reply *reply, const char *text, size_t size, gs_error *error)
{
    json_error_t why;
    json_t *const root = json_loadb(text, size, 0, &why);
    if (!root && json_error_code(&why) == json_error_out_of_memory) return no_memory(error);
    if (!root && size == 0) return not_understood(error, "empty");
    if (!root) return gs_fail(error, GS_ERROR_PARSE, "reply", "not JSON (line %d, column %d of it)", why.line, why.column);
    const gs_status status = take_object(reply, root, error);
    json_decref(root);
    return status;
}

/* ---- server-sent events ---- */

static gs_status take_event(gs_reply *reply, gs_error *error)
{
    if (reply->event.size == 0) return GS_OK;
    gs_status status = GS_OK;
    const size_t size = reply->event.size - 1;   /* without the line end after the last data line */
    if (size == 6 && memcmp(reply->event.data, "[DONE]", 6) == 0) reply->done = true;
    else if (size > 0) status = take_text(reply, reply->event.data, size, error);
    gs_text_clear(&reply->event);
    return status;
}

static gs_status take_line(gs_reply *reply, gs_error *error)
{
    const char *line = gs_text_string(&reply->pending);
    size_t size = reply->pending.size;
    if (!reply->first && size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) line += 3, size -= 3;
    reply->first = true;
    gs_status status = GS_OK;
    if (size == 0) {
        status = take_event(reply, error);
    } else if (size >= 4 && memcmp(line, "data", 4) == 0 && (size == 4 || line[4] == ':')) {   /* comments and other fields are ignored */
        size_t at = GS_MIN(size, 5);
        if (at < size && line[at] == ' ') at++;
        gs_text_add_bytes(&reply->event, line + at, size - at);
        gs_text_add_bytes(&reply->event, "\n", 1);
        if (reply->event.failed) status = no_memory(error);
    }
    gs_text_clear(&reply->pending);
    return status;
}

static gs_status feed_events(gs_reply *reply, const char *bytes, size_t size, gs_error *error)
{
    for (size_t at = 0; at < size && !reply->done;) {
        if (reply->after_return && bytes[at] == '\n') {
            reply->after_return = false;
            at++;
            continue;
        }
        reply->after_return = false;
        size_t end = at;
        while (end < size && bytes[end] != '\n' && bytes[end] != '\r') end++;
        gs_text_add_bytes(&reply->pending, bytes + at, end - at);
        if (reply->pending.failed) return no_memory(error);
        if (end == size) break;
        reply->after_return = bytes[end] == '\r';
        GS_TRY(take_line(reply, error));
        at = end + 1;
    }
    return GS_OK;
}

gs_status gs_reply_feed(gs_reply *reply, const char *bytes, size_t size, gs_error *error)
{
    if (reply->stream) return feed_events(reply, bytes, size, error);
    gs_text_add_bytes(&reply->pending, bytes, size);
    return reply->pending.failed ? no_memory(error) : GS_OK;
}

/* ---- the end ---- */

static gs_status end_stream(gs_reply *reply, gs_error *error)
{
    if (!reply->done && reply->pending.size > 0) GS_TRY(take_line(reply, error));   /* a last line without a line end */
    if (!reply->done && reply->event.size == 7 && memcmp(reply->event.data, "[DONE]\n", 7) == 0) reply->done = true;
    if (reply->done && reply->count > 0) return GS_OK;
    bool finished = reply->count > 0;   /* some servers do not send [DONE] */
    for (int i = 0; i < reply->count; i++) finished = finished && reply->choice[i].finished;
    if (finished) return GS_OK;
    if (reply->done) return not_understood(error, "a stream without choices");
    return gs_fail(error, GS_ERROR_IO, "stream", "cut before its end");
}

gs_status gs_reply_end(gs_reply *reply, gs_chat_answer *out, gs_error *error)
{
    if (reply->stream) GS_TRY(end_stream(reply, error));
    else GS_TRY(take_text(reply, gs_text_string(&reply->pending), reply->pending.size, error));
    if (reply->count == 0) return not_understood(error, "no choices in it");
    for (int i = 0; i < reply->count; i++) {
        gs_text_add(&reply->choice[i].text, "");   /* so that data is not NULL */
        if (reply->choice[i].text.failed) return no_memory(error);
    }
    for (int i = 0; i < reply->count; i++) {
        gs_reply_choice *const from = &reply->choice[i];
        gs_chat_choice *const to = &out->choice[i];
        to->size = from->text.size;
        to->text = gs_text_take(&from->text);
        to->refusal = from->refusal.size > 0 ? gs_text_take(&from->refusal) : NULL;
        to->reasoning = from->reasoning;
        to->finish = to->refusal ? GS_FINISH_REFUSAL : from->finished ? from->finish : GS_FINISH_OTHER;
    }
    out->count = reply->count;
    out->usage_known = reply->usage_known;
    out->prompt_tokens = reply->prompt_tokens;
    out->completion_tokens = reply->completion_tokens;
    out->reasoning_tokens = reply->reasoning_tokens;
    return GS_OK;
}

void gs_reply_free(gs_reply *reply)
{
    for (int i = 0; i < GS_CHAT_CHOICES; i++) {
        gs_text_free(&reply->choice[i].text);
        gs_text_free(&reply->choice[i].refusal);
    }
    gs_text_free(&reply->pending);
    gs_text_free(&reply->event);
    *reply = (gs_reply){0};
}

void gs_chat_answer_free(gs_chat_answer *answer)
{
    for (int i = 0; i < GS_CHAT_CHOICES; i++) {
        free(answer->choice[i].text);
        free(answer->choice[i].refusal);
    }
    *answer = (gs_chat_answer){0};
}

/* SPDX-License-Identifier: MIT
 * A chat completion: the request's JSON, attempts with waits between them, booking in the ledger. */
#include "llm/chat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "llm/http.h"

enum { FOREVER_S = 1000000 };

/* Fields that some servers reject; the request is repeated without them, or with max_completion_tokens (OTHER_TOKENS). */
enum { NO_TEMPERATURE = 1, NO_EFFORT = 2, NO_CHOICES = 4, NO_USAGE = 8, OTHER_TOKENS = 16 };

typedef struct conversation {
    const gs_chat_options *o;
    const gs_chat_message *messages;
    int       message_count;
    double    connect_s, attempt_s, total_s, wait_s, wait_most_s;
    size_t    reply_most;
    int       retries, choices;
    char     *url;
    gs_text   authorization;
    const char *headers[GS_CHAT_HEADERS + 6];
    const char *secrets[2 * GS_CHAT_HEADERS + 2];   /* the key, values of headers */
    unsigned  without;
    gs_random random;
    int64_t   begun;
} conversation;

/* ---- the options ---- */

static bool is_duration(double s) { return isfinite(s) && s >= 0 && s <= FOREVER_S; }

/* Without control characters, so that a value cannot end a header and begin another. */
static bool is_line(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f) return false;
    return true;
}

bool gs_chat_header_valid(const char *line)
{
    static const char *const own[] = {"content-length:", "content-type:", "transfer-encoding:", "connection:", "expect:"};   /* set by the request itself */
    const size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.");
    for (size_t i = 0; i < GS_COUNT(own); i++)
        if (strncasecmp(line, own[i], strlen(own[i])) == 0) return false;
    return name > 0 && line[name] == ':' && line[name + 1 + strspn(line + name + 1, " \t")] && is_line(line);
}

/* Keeps a header's value and its last word: of "Bearer KEY", servers quote KEY. */
static void keep_secret(conversation *c, int *count, const char *line)
{
    const char *value = strchr(line, ':') + 1;
    value += strspn(value, " \t");
    const char *const blank = strrchr(value, ' ');
    c->secrets[(*count)++] = value;
    if (blank) c->secrets[(*count)++] = blank + 1;
}

static gs_status check(const conversation *c, gs_error *error)
{
    const gs_chat_options *const o = c->o;
    if (!o->model || !*o->model) return gs_fail(error, GS_ERROR_ARGUMENT, "model", "must be named");
    if (!is_duration(o->connect_s) || !is_duration(o->attempt_s) || !is_duration(o->total_s)) return gs_fail(error, GS_ERROR_ARGUMENT, "timeout", "must be seconds, 0 or more");
    if (!is_duration(o->wait_s) || !is_duration(o->wait_most_s)) return gs_fail(error, GS_ERROR_ARGUMENT, "wait", "must be seconds, 0 or more");
    if (o->max_tokens < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "max_tokens", "must be 0 (the server's) or more");
    if (o->choices < 0 || o->choices > GS_CHAT_CHOICES) return gs_fail(error, GS_ERROR_ARGUMENT, "choices", "must be within 1 and %d", GS_CHAT_CHOICES);
    if (o->temperature && !(*o->temperature >= 0 && *o->temperature <= 10)) return gs_fail(error, GS_ERROR_ARGUMENT, "temperature", "must be within 0 and 10");
    if (c->message_count < 1 || c->message_count > GS_CHAT_MESSAGES) return gs_fail(error, GS_ERROR_ARGUMENT, "messages", "must be 1 to %d", GS_CHAT_MESSAGES);
    for (int i = 0; i < c->message_count; i++)
        if (!c->messages[i].role || !c->messages[i].content) return gs_fail(error, GS_ERROR_ARGUMENT, "messages", "message %d has no role or no content", i + 1);
    return GS_OK;
}

static gs_status set_headers(conversation *c, gs_error *error)
{
    static const char *const own[] = {"Content-Type: application/json", "Accept: application/json, text/event-stream", "Expect:", "User-Agent: gemmsmith"};
    int count = 0, secrets = 0;
    bool authorized = false;
    for (size_t i = 0; i < GS_COUNT(own); i++) c->headers[count++] = own[i];
    for (const char *const *line = c->o->headers; line && *line; line++) {
        if (line - c->o->headers >= GS_CHAT_HEADERS) return gs_fail(error, GS_ERROR_ARGUMENT, "headers", "at most %d", GS_CHAT_HEADERS);
        if (!gs_chat_header_valid(*line)) return gs_fail(error, GS_ERROR_ARGUMENT, "headers", "number %d is not \"Name: value\"", (int)(line - c->o->headers) + 1);
        authorized |= strncasecmp(*line, "authorization:", 14) == 0;
        c->headers[count++] = *line;
        keep_secret(c, &secrets, *line);
    }
    const char *const variable = c->o->key_variable ? c->o->key_variable : GS_CHAT_KEY;
    const char *const key = getenv(variable);
    if (key && *key && !authorized) {
        if (!is_line(key)) return gs_fail(error, GS_ERROR_ARGUMENT, "key", "what %.64s holds is no key: it has line ends or control characters", variable);
        c->secrets[secrets++] = key;
        gs_text_addf(&c->authorization, "Authorization: Bearer %s", key);
        if (c->authorization.failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the request");
        c->headers[count++] = c->authorization.data;
    }
    c->headers[count] = NULL;
    c->secrets[secrets] = NULL;
    return GS_OK;
}

static double or_else(double value, double otherwise) { return value > 0 ? value : otherwise; }

static gs_status prepare(conversation *c, gs_error *error)
{
    const gs_chat_options *const o = c->o;
    GS_TRY(check(c, error));
    c->connect_s = or_else(o->connect_s, 10);
    c->attempt_s = or_else(o->attempt_s, 300);
    c->total_s = or_else(o->total_s, GS_MAX(900, c->attempt_s));
    c->wait_s = or_else(o->wait_s, 1);
    c->wait_most_s = or_else(o->wait_most_s, 60);
    c->reply_most = o->reply_most > 0 ? o->reply_most : (size_t)8 << 20;
    c->retries = o->retries > 0 ? o->retries : o->retries < 0 ? 0 : 4;
    c->choices = GS_MAX(o->choices, 1);
    c->random.state = o->seed ? o->seed : gs_random_entropy();
    const char *const environment = getenv(GS_CHAT_URL);
    const char *const base = o->url ? o->url : environment && *environment ? environment : NULL;
    if (!base) return gs_fail(error, GS_ERROR_ARGUMENT, "url", "of the endpoint is not given: set " GS_CHAT_URL);
    GS_TRY(gs_http_url(base, &c->url, error));
    return set_headers(c, error);
}

static void release(conversation *c)
{
    if (c->authorization.data) explicit_bzero(c->authorization.data, c->authorization.capacity);
    gs_text_free(&c->authorization);
    free(c->url);
}

/* ---- the request ---- */

static void write_body(const conversation *c, gs_text *body)
{
    const gs_chat_options *const o = c->o;
    gs_json json = gs_json_into(body);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "model", o->model);
    gs_json_begin(&json, "messages", '[');
    for (int i = 0; i < c->message_count; i++) {
        gs_json_begin(&json, NULL, '{');
        gs_json_string(&json, "role", c->messages[i].role);
        gs_json_string(&json, "content", c->messages[i].content);
        gs_json_end(&json, '}');
    }
    gs_json_end(&json, ']');
    if (o->temperature && !(c->without & NO_TEMPERATURE)) gs_json_double(&json, "temperature", *o->temperature);
    if (o->effort && !(c->without & NO_EFFORT)) gs_json_string(&json, "reasoning_effort", o->effort);
    if (o->max_tokens > 0) gs_json_int(&json, c->without & OTHER_TOKENS ? "max_completion_tokens" : "max_tokens", o->max_tokens);
    if (c->choices > 1 && !(c->without & NO_CHOICES)) gs_json_int(&json, "n", c->choices);
    gs_json_bool(&json, "stream", o->stream);
    if (o->stream && !(c->without & NO_USAGE)) {
        gs_json_begin(&json, "stream_options", '{');
        gs_json_bool(&json, "include_usage", true);
        gs_json_end(&json, '}');
    }
    gs_json_end(&json, '}');
}

/* Whether the server rejected a field that was sent; the next request omits it. */
static bool adapt(conversation *c, const gs_reply *reply, int http)
{
    if ((http != 400 && http != 422) || reply->stream) return false;
    const char *const said = gs_text_string(&reply->pending);
    const gs_chat_options *const o = c->o;
    const struct {
        const char *word;
        unsigned    flag;
        bool        sent;
    } fields[] = {   /* max_completion_tokens first: messages about it also mention max_tokens */
        {"max_completion_tokens", OTHER_TOKENS, o->max_tokens > 0}, {"temperature", NO_TEMPERATURE, o->temperature != NULL},
        {"reasoning_effort", NO_EFFORT, o->effort != NULL},         {"stream_options", NO_USAGE, o->stream},
        {"'n'", NO_CHOICES, c->choices > 1},                        {"\"n\"", NO_CHOICES, c->choices > 1},
    };
    for (size_t i = 0; i < GS_COUNT(fields); i++)
        if (fields[i].sent && !(c->without & fields[i].flag) && strstr(said, fields[i].word)) {
            c->without |= fields[i].flag;
            gs_log(GS_LOG_INFO, "llm: the server does not know a field (%s); asking without it", fields[i].word);
            return true;
        }
    return false;
}

/* ---- attempts ---- */

static double since(int64_t ns) { return (double)(gs_clock_ns() - ns) * 1e-9; }

/* An upper bound: a token has at least one byte, and a message adds a few tokens. */
static gs_ledger_use most_of(const conversation *c, double seconds)
{
    gs_ledger_use use = {.tokens_in = 16, .tokens_out = (int64_t)c->o->max_tokens * c->choices, .seconds = seconds};
    for (int i = 0; i < c->message_count; i++) use.tokens_in += 16 + (int64_t)strlen(c->messages[i].role) + (int64_t)strlen(c->messages[i].content);
    return use;
}

/* What an attempt used: nothing if it was refused; the bound if no answer came; an upper estimate from its length if the answer has no usage. */
static gs_ledger_use took(const gs_ledger_use *most, const gs_http_outcome *outcome, gs_status status, const gs_chat_answer *answer, double seconds)
{
    gs_ledger_use use = {.seconds = seconds};
    if (status == GS_OK && answer->usage_known) {
        use.tokens_in = answer->prompt_tokens;
        use.tokens_out = answer->completion_tokens;
    } else if (status == GS_OK) {
        use.tokens_in = most->tokens_in;
        for (int i = 0; i < answer->count; i++) use.tokens_out += (int64_t)(answer->choice[i].size + answer->choice[i].reasoning) + 16;
        if (most->tokens_out > 0) use.tokens_out = GS_MIN(use.tokens_out, most->tokens_out);
    } else if (outcome->sent && outcome->http < 300) {
        use.tokens_in = most->tokens_in;
        use.tokens_out = most->tokens_out;
    }
    return use;
}

static gs_status attempt(conversation *c, gs_chat_answer *answer, gs_http_outcome *outcome, bool *again, gs_error *error)
{
    *outcome = (gs_http_outcome){0};
    gs_ledger_use most = most_of(c, GS_MIN(c->attempt_s, c->total_s - since(c->begun)));
    if (!(most.seconds > 0)) return gs_fail(error, GS_ERROR_TIMEOUT, "total", "no answer within %.3g s", c->total_s);
    gs_text body = {0};
    write_body(c, &body);
    uint64_t id = 0;
    gs_status status = body.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the request") : GS_OK;
    if (status == GS_OK && c->o->ledger) status = gs_ledger_ask(c->o->ledger, &most, &id, error);
    if (status != GS_OK) {
        gs_text_free(&body);
        return status;
    }
    const gs_http_post post = {
        .url = c->url, .body = body.data, .body_size = body.size, .headers = c->headers, .ca_path = c->o->ca_path,
        .connect_s = c->connect_s, .total_s = most.seconds, .reply_most = c->reply_most, .stop = c->o->stop,
    };
    gs_reply reply = {.stream = c->o->stream, .secrets = c->secrets};
    const int64_t from = gs_clock_ns();
    answer->attempts++;
    status = gs_http_send(&post, &reply, outcome, error);
    if (status == GS_OK && (status = gs_reply_end(&reply, answer, error)) != GS_OK)
        outcome->retry = status == GS_ERROR_IO && (reply.code == 0 || reply.code == 429 || reply.code >= 500);   /* cut, or an error object that may be temporary */
    answer->http = outcome->http;
    *again = status == GS_ERROR_ARGUMENT && adapt(c, &reply, outcome->http);
    if (c->o->ledger) {
        const gs_ledger_use use = took(&most, outcome, status, answer, since(from));
        gs_error why = {0};
        if (gs_ledger_settle(c->o->ledger, id, &use, outcome->http, &why) != GS_OK) gs_log(GS_LOG_WARNING, "llm: %s", why.text);
    }
    gs_reply_free(&reply);
    gs_text_free(&body);
    return status;
}

static bool stopped(const conversation *c) { return c->o->stop && *c->o->stop; }

/* Waits before the next attempt; *next false: there is no time for one. */
static gs_status pause_before(conversation *c, int retry, double asked_s, bool *next, gs_error *error)
{
    double wait = ldexp(c->wait_s, GS_MIN(retry, 30));
    wait = GS_MIN(wait, c->wait_most_s) * (0.5 + 0.5 * gs_random_unit(&c->random));
    *next = asked_s <= c->wait_most_s;
    wait = GS_MAX(wait, asked_s);
    *next = *next && wait < c->total_s - since(c->begun);
    if (!*next) return GS_OK;
    gs_log(GS_LOG_INFO, "llm: again in %.1f s", wait);
    for (const int64_t from = gs_clock_ns(); since(from) < wait && !stopped(c);)
        nanosleep(&(struct timespec){.tv_nsec = (long)(GS_MIN(0.02, GS_MAX(wait - since(from), 0)) * 1e9)}, NULL);
    return stopped(c) ? gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped before the model was asked again") : GS_OK;
}

static gs_status converse(conversation *c, gs_chat_answer *answer, gs_error *error)
{
    for (int retry = 0;;) {
        if (stopped(c)) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped before the model was asked");
        gs_http_outcome outcome;
        bool again = false, next = false;
        const gs_status status = attempt(c, answer, &outcome, &again, error);
        if (status == GS_OK) return status;
        if (again) continue;   /* without waiting; this ends because each field is omitted once */
        if (!outcome.retry || retry >= c->retries) return status;
        const gs_status waited = pause_before(c, retry++, outcome.retry_after_s, &next, error);
        if (waited != GS_OK) return waited;
        if (!next) return status;
    }
}

gs_status gs_chat(const gs_chat_options *options, const gs_chat_message *messages, int count, gs_chat_answer *out, gs_error *error)
{
    *out = (gs_chat_answer){0};
    conversation c = {.o = options, .messages = messages, .message_count = count, .begun = gs_clock_ns()};
    gs_status status = prepare(&c, error);
    if (status == GS_OK) status = converse(&c, out, error);
    release(&c);
    out->seconds = since(c.begun);
    if (status != GS_OK) out->count = 0;
    return status;
}

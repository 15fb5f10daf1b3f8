/* SPDX-License-Identifier: MIT */
#include "service/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "service/headers.h"
#include "service/prompt.h"
#include "service/race.h"
#include "service/reply.h"
#include "service/stream.h"
#include "service/trainer.h"
#include "service/watch.h"

enum {
    HEADER_BYTES = 32 << 10,    /* of the request line and the headers */
    EXTRA        = 16,          /* further connections, which are told that there are too many */
    IDLE_S       = 30,          /* a silent connection is closed after this time */
    STACK_BYTES  = 2 << 20,     /* of a connection's thread; only the used part takes memory */
    DRAIN_MS     = 5000,
    TASKS_MOST   = 1000,
    FULL_NS      = 250000000    /* between looks whether the queue has room */
};
#define LOOK_S 1.0                          /* seconds between looks whether a waiting client is still there */
#define BODIES_MOST ((int64_t)256 << 20)   /* bytes of all bodies that are being read or answered */

struct gs_service_http {
    struct MHD_Daemon  *daemon;
    gs_service_jobs    *jobs;
    gs_service_options  options;
    gs_service_terms    terms;
    int                 port;
    int64_t             started, swept;
    gs_service_watch    watch;
    _Atomic int64_t     active, bodies;
    _Atomic int64_t     codes[GS_SERVICE_CODES];
};

/* One request, from its first to its last byte. */
typedef struct exchange {
    gs_service_http       *http;
    struct MHD_Connection *connection;
    int                    socket_number;
    gs_service_guest      *guest;
    gs_text                body;
    int64_t                reserved;   /* its bytes of BODIES_MOST */
    bool                   answered, remove;   /* remove: DELETE */
    bool                   last;               /* the connection is closed afterwards, because the end of this request is uncertain */
} exchange;

/* ---- answers ---- */

/* The connection is beyond the limit: it gets an error and is closed. */
static bool is_extra(const exchange *x) { return gs_service_watch_among(x->guest) > x->http->options.connections; }

static enum MHD_Result respond(exchange *x, int code, const char *type, struct MHD_Response *response)
{
    if (gs_service_jobs_stopping(x->http->jobs) || is_extra(x) || x->last) MHD_add_response_header(response, "Connection", "close");
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (code == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (code == 429 || code == 503 || code == 507) MHD_add_response_header(response, "Retry-After", code == 429 ? "1" : "5");
    const enum MHD_Result result = MHD_queue_response(x->connection, (unsigned)code, response);
    MHD_destroy_response(response);
    x->answered = true;
    x->http->codes[code]++;
    return result;
}

static enum MHD_Result send_text(exchange *x, int code, const char *type, char *text)
{
    struct MHD_Response *const response =
        text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    if (!text) code = 503;
    gs_service_watch_turn(&x->http->watch, x->guest, GS_SERVICE_ANSWER, text ? strlen(text) : 0);
    return respond(x, code, type, response);
}

static enum MHD_Result send_json(exchange *x, int code, json_t *value)
{
    char *const text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    return send_text(x, code, "application/json", text);
}

static enum MHD_Result send_error(exchange *x, int code, const gs_error *error) { return send_json(x, code, gs_service_reply_error(code, error)); }

static enum MHD_Result refuse(exchange *x, int code, gs_status status, const char *field, const char *reason)
{
    gs_error error = {0};
    gs_fail(&error, status, field, "%s", reason);
    return send_error(x, code, &error);
}

static enum MHD_Result failed(exchange *x, const gs_error *error) { return send_error(x, gs_service_reply_status(error->status), error); }

/* ---- arguments of a query ---- */

typedef struct allowed {
    const char *const *names;
    bool               good;
} allowed;

static enum MHD_Result check_argument(void *self, enum MHD_ValueKind kind, const char *key, const char *value)
{
    allowed *const a = self;
    bool known = false;
    (void)kind;
    for (int i = 0; a->names[i]; i++) known |= strcmp(a->names[i], key) == 0;
    a->good &= known && value != NULL;
    return MHD_YES;
}

static bool only(exchange *x, const char *const *names)
{
    allowed a = {names, true};
    MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, check_argument, &a);
    return a.good;
}

static const char *argument(exchange *x, const char *name) { return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name); }

static bool number(exchange *x, const char *name, double low, double high, double *out)
{
    return gs_service_number_read(argument(x, name), low, high, out);
}

/* ---- waiting ---- */

static int64_t after(double seconds) { return gs_clock_ns() + (int64_t)(seconds * 1e9); }

/* While the thread waits for an evaluation, the connection is silent and must not time out. */
static void wait_for(exchange *x, gs_service_found *found, int count, int64_t until)
{
    bool gone = false;
    MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    gs_service_watch_turn(&x->http->watch, x->guest, GS_SERVICE_WAIT, 0);
    for (int i = 0; i < count; i++)
        for (bool over = false; !over;) {   /* a client that has gone must not occupy a thread */
            const int64_t look = gone ? 0 : GS_MIN(until, after(LOOK_S));
            over = gs_service_jobs_wait(x->http->jobs, &found[i], look) || gone || look == until;
            gone = gone || (!over && gs_service_watch_gone(x->socket_number));
        }
    MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_S);
}

static int status_of(exchange *x, const gs_service_found *found) { return !found->answer && gs_service_jobs_stopping(x->http->jobs) ? 503 : 200; }

static json_t *result_of(exchange *x, const char *id, const gs_service_found *found, gs_reward_kind kind, bool waited)
{
    return gs_service_reply_result(id, found, kind, waited, gs_service_jobs_stopping(x->http->jobs));
}

/* Sends results as they become ready. Takes ownership of the content of request and of found. */
static enum MHD_Result send_stream(exchange *x, gs_service_request *request, gs_service_found *found, int64_t until)
{
    const gs_service_listener listener = {x->connection, &x->http->watch, x->guest, x->socket_number, IDLE_S};
    struct MHD_Response *const response = gs_service_stream_response(x->http->jobs, request, found, until, &listener);
    return response ? respond(x, 200, "application/x-ndjson", response) : MHD_NO;
}

/* ---- the endpoints ---- */

static enum MHD_Result evaluate_parsed(exchange *x, gs_service_request *request, bool batch, bool wait)
{
    gs_service_found *const found = calloc((size_t)request->count, sizeof *found);
    const int64_t until = after(request->deadline_s);
    gs_error error = {0};
    request->expires = wait || request->timed ? gs_service_jobs_expiry(request->deadline_s) : 0;
    if (!found) return refuse(x, 503, GS_ERROR_MEMORY, NULL, "no memory for a request");
    if (gs_service_jobs_accept(x->http->jobs, request, found, &error) != GS_OK) {
        free(found);
        return failed(x, &error);
    }
    if (request->as_ready) return send_stream(x, request, found, until);
    if (wait) wait_for(x, found, request->count, until);
    json_t *const list = json_array();
    int code = 200;
    for (int i = 0; i < request->count; i++) {
        const gs_service_item *const item = &request->item[i];
        if (!item->request) {
            json_array_append_new(list, gs_service_reply_item(item, NULL, item->reward, wait, false));
            continue;
        }
        if (wait) code = GS_MAX(code, status_of(x, &found[i]));
        else if (!found[i].answer) code = 202;
        json_array_append_new(list, result_of(x, item->id, &found[i], item->reward, wait));
        gs_service_found_free(x->http->jobs, &found[i]);
    }
    free(found);
    json_t *const whole = json_array_size(list) < (size_t)request->count ? NULL : batch ? json_pack("{s:O}", "results", list) : json_incref(json_array_get(list, 0));
    json_decref(list);
    return send_json(x, code, whole);
}

static enum MHD_Result evaluate_body(exchange *x, bool batch, bool wait)
{
    static const char *const none[] = {NULL};
    gs_service_request request;
    gs_error error = {0};
    if (!only(x, none)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes no arguments");
    if (gs_service_request_parse(&request, gs_text_string(&x->body), x->body.size, batch, &x->http->terms, &error) != GS_OK) return failed(x, &error);
    const enum MHD_Result result = evaluate_parsed(x, &request, batch, wait);
    gs_service_request_free(&request);
    return result;
}

static enum MHD_Result post_evaluate(exchange *x, const char *rest) { (void)rest; return evaluate_body(x, false, true); }
static enum MHD_Result post_batch(exchange *x, const char *rest)    { (void)rest; return evaluate_body(x, true, true); }
static enum MHD_Result post_submit(exchange *x, const char *rest)   { (void)rest; return evaluate_body(x, false, false); }

static const char *argument_of(void *self, const char *name) { return argument(self, name); }
static void wait_of(void *self, gs_service_found *found, int count, int64_t until) { wait_for(self, found, count, until); }

static bool pause_of(void *self)
{
    exchange *const x = self;
    MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    gs_service_watch_turn(&x->http->watch, x->guest, GS_SERVICE_WAIT, 0);
    gs_clock_sleep_ns(FULL_NS);
    return !gs_service_watch_gone(x->socket_number);
}

static enum MHD_Result adapt(exchange *x, gs_service_adapter which)
{
    static const char *const names[] = {"reward", "deadline_s", "unknown", "details", NULL};
    const gs_service_caller caller = {x, argument_of, wait_of, pause_of};
    json_t *out;
    gs_error error = {0};
    if (!only(x, names)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes reward, deadline_s, unknown and details");
    const int code = gs_service_trainer_answer(&out, x->http->jobs, which, gs_text_string(&x->body), x->body.size, &x->http->terms, &caller, &error);
    return out ? send_json(x, code, out) : send_error(x, code, &error);
}

static enum MHD_Result post_openrlhf(exchange *x, const char *rest) { (void)rest; return adapt(x, GS_SERVICE_OPENRLHF); }
static enum MHD_Result post_slime(exchange *x, const char *rest)    { (void)rest; return adapt(x, GS_SERVICE_SLIME); }

static enum MHD_Result post_races(exchange *x, const char *rest)
{
    static const char *const none[] = {NULL};
    const gs_service_caller caller = {x, argument_of, wait_of, pause_of};
    json_t *out;
    gs_error error = {0};
    (void)rest;
    if (!only(x, none)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes no arguments");
    const int code = gs_service_race(&out, x->http->jobs, gs_text_string(&x->body), x->body.size, &x->http->terms, &caller, &error);
    return out ? send_json(x, code, out) : send_error(x, code, &error);
}

static enum MHD_Result post_prompt(exchange *x, const char *rest)
{
    static const char *const none[] = {NULL};
    json_t *out;
    gs_error error = {0};
    (void)rest;
    if (!only(x, none)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes no arguments");
    const int code = gs_service_prompt(&out, gs_text_string(&x->body), x->body.size, &x->http->terms, gs_service_jobs_slug(x->http->jobs), &error);
    return out ? send_json(x, code, out) : send_error(x, code, &error);
}

static enum MHD_Result get_result(exchange *x, const char *id)
{
    static const char *const names[] = {"reward", "deadline_s", NULL};
    gs_service_found found;
    gs_error error = {0};
    double seconds = 0;
    const char *const reward = argument(x, "reward");
    const gs_reward_kind kind = reward ? gs_reward_find(reward) : GS_REWARD_HEADROOM;
    if (!only(x, names)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes reward and deadline_s");
    if (kind == GS_REWARDS) return refuse(x, 400, GS_ERROR_ARGUMENT, "reward", "must be " GS_REWARD_WORDS);
    if (!number(x, "deadline_s", 0, GS_SERVICE_DEADLINE, &seconds)) return refuse(x, 400, GS_ERROR_ARGUMENT, "deadline_s", "must be a number of seconds up to a day");
    if (!gs_service_id_valid(id)) return refuse(x, 400, GS_ERROR_ARGUMENT, "id", "must be 32 hexadecimal digits");
    if (gs_service_jobs_find(x->http->jobs, id, seconds, &found, &error) != GS_OK) return failed(x, &error);
    if (seconds > 0) wait_for(x, &found, 1, after(seconds));
    const int code = found.answer ? 200 : 202;
    json_t *const out = result_of(x, id, &found, kind, false);
    gs_service_found_free(x->http->jobs, &found);
    return send_json(x, code, out);
}

/* 200: cancelled, nobody works on it; 202: its worker is being stopped. */
static enum MHD_Result delete_result(exchange *x, const char *id)
{
    static const char *const none[] = {NULL};
    gs_service_found found;
    gs_error error = {0};
    if (!only(x, none)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes no arguments");
    if (!gs_service_id_valid(id)) return refuse(x, 400, GS_ERROR_ARGUMENT, "id", "must be 32 hexadecimal digits");
    if (gs_service_jobs_cancel(x->http->jobs, id, &found, &error) != GS_OK) return failed(x, &error);
    const bool done = found.answer != NULL;
    if (!done) gs_service_jobs_wait(x->http->jobs, &found, after(0));
    const bool gone = !done && found.answer;
    gs_service_found_free(x->http->jobs, &found);
    if (done) return refuse(x, 409, GS_ERROR_ARGUMENT, "id", "is done already: its result stays");
    return send_json(x, gone ? 200 : 202, json_pack("{s:s, s:s}", "id", id, "state", gone ? "cancelled" : "cancelling"));
}

static enum MHD_Result get_tasks(exchange *x, const char *rest)
{
    static const char *const names[] = {"offset", "limit", NULL};
    const gs_service_options *const offered = &x->http->options;
    double offset = 0, limit = TASKS_MOST;
    (void)rest;
    if (!only(x, names)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes offset and limit");
    if (!number(x, "offset", 0, 1e9, &offset)) return refuse(x, 400, GS_ERROR_ARGUMENT, "offset", "must be a number from 0 on");
    if (!number(x, "limit", 1, TASKS_MOST, &limit)) return refuse(x, 400, GS_ERROR_ARGUMENT, "limit", "must be a number from 1 to 1000");
    json_t *const list = json_array();
    for (int i = (int)offset; i < offered->task_count && i < (int)offset + (int)limit; i++) {
        char text[GS_PROBLEM_TEXT];
        const gs_problem *const p = &offered->tasks[i];
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "problem", gs_problem_format(p, text), "flops", gs_problem_flops(p), "floor_us",
                                              gs_floor_us(p, gs_service_jobs_caps(x->http->jobs))));
    }
    return send_json(x, 200, json_pack("{s:s, s:i, s:i, s:b, s:o}", "device", gs_service_jobs_slug(x->http->jobs), "count", offered->task_count, "offset", (int)offset,
                                       "only_these", offered->only_tasks, "tasks", list));
}

/* Evaluates the time model's first choice, because cuBLASLt is timed along with it. Returns the HTTP status of a failure, 0: none. */
static int measure(exchange *x, const gs_problem *problem, double seconds, gs_error *error)
{
    gs_schedule first;
    char text[GS_SCHEDULE_TEXT];
    gs_service_request request;
    gs_service_found found = {0};
    if (gs_schedule_shortlist(problem, gs_service_jobs_caps(x->http->jobs), 0, &first, 1) < 1) {
        gs_fail(error, GS_ERROR_UNSUPPORTED, "problem", "no family takes it on this device");
        return 400;
    }
    gs_status status = gs_service_request_schedule(&request, problem, gs_schedule_format(&first, text), &x->http->terms, error);
    request.expires = gs_service_jobs_expiry(seconds);
    if (status == GS_OK) status = gs_service_jobs_accept(x->http->jobs, &request, &found, error);
    if (status == GS_OK) wait_for(x, &found, 1, after(seconds));
    gs_service_found_free(x->http->jobs, &found);
    gs_service_request_free(&request);
    return status == GS_OK ? 0 : gs_service_reply_status(status);
}

static enum MHD_Result get_baselines(exchange *x, const char *rest)
{
    static const char *const names[] = {"problem", "measure", "deadline_s", NULL};
    const char *const text = argument(x, "problem"), *const asked = argument(x, "measure");
    const gs_caps *const caps = gs_service_jobs_caps(x->http->jobs);
    double seconds = x->http->terms.deadline_s, us = 0;
    char canonical[GS_PROBLEM_TEXT];
    gs_problem problem;
    gs_error error = {0};
    (void)rest;
    if (!only(x, names)) return refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes problem, measure and deadline_s");
    if (!text) return refuse(x, 400, GS_ERROR_ARGUMENT, "problem", "is missing");
    if (asked && strcmp(asked, "true") != 0 && strcmp(asked, "false") != 0) return refuse(x, 400, GS_ERROR_ARGUMENT, "measure", "must be true or false");
    if (!number(x, "deadline_s", 0, GS_SERVICE_DEADLINE, &seconds)) return refuse(x, 400, GS_ERROR_ARGUMENT, "deadline_s", "must be a number of seconds up to a day");
    if (gs_service_problem_read(&problem, text, &x->http->terms, "problem", &error) != GS_OK) return failed(x, &error);
    gs_status status = gs_service_jobs_library(x->http->jobs, &problem, &us, &error);
    if (status == GS_ERROR_NOT_FOUND && asked && strcmp(asked, "true") == 0 && !caps->emulated) {
        const int code = measure(x, &problem, seconds, &error);
        if (code != 0) return send_error(x, code, &error);
        status = gs_service_jobs_library(x->http->jobs, &problem, &us, &error);
    }
    if (status != GS_OK && status != GS_ERROR_NOT_FOUND) return failed(x, &error);
    return send_json(x, 200, json_pack("{s:s, s:s, s:o, s:f, s:b}", "problem", gs_problem_format(&problem, canonical), "device", gs_service_jobs_slug(x->http->jobs), "cublaslt_us",
                                       us > 0 ? json_real(us) : json_null(), "floor_us", gs_floor_us(&problem, caps), "predicted", caps->emulated));
}

static bool authorized(exchange *x) { return !x->http->options.token || gs_service_header_token(x->connection, x->http->options.token); }

static enum MHD_Result get_grammar(exchange *x, const char *rest)
{
    static const char *const none[] = {NULL};
    (void)rest;
    return only(x, none) ? send_json(x, 200, gs_service_reply_grammar()) : refuse(x, 400, GS_ERROR_ARGUMENT, "query", "takes no arguments");
}

static double uptime(const gs_service_http *http) { return (double)(gs_clock_ns() - http->started) / 1e9; }

static enum MHD_Result get_health(exchange *x, const char *rest)
{
    (void)rest;
    json_t *const out = gs_service_reply_health(x->http->jobs, uptime(x->http), authorized(x));
    return send_json(x, json_is_true(json_object_get(out, "ok")) ? 200 : 503, out);
}

static enum MHD_Result get_metrics(exchange *x, const char *rest)
{
    gs_text text = {0};
    (void)rest;
    gs_service_reply_metrics(&text, x->http->jobs, x->http->codes, x->http->active, uptime(x->http));
    char *const whole = text.failed ? NULL : gs_text_take(&text);
    gs_text_free(&text);
    return send_text(x, 200, "text/plain; version=0.0.4; charset=utf-8", whole);
}

typedef struct endpoint {
    const char *path;          /* ends in '/' if more follows */
    bool        post, open;    /* open: without a token */
    enum MHD_Result (*answer)(exchange *, const char *rest);
    enum MHD_Result (*remove)(exchange *, const char *rest);   /* for DELETE; NULL: not allowed */
} endpoint;

static const endpoint endpoints[] = {
    {"/v1/evaluate",          true,  false, post_evaluate},
    {"/v1/evaluate/batch",    true,  false, post_batch},
    {"/v1/submit",            true,  false, post_submit},
    {"/v1/races",             true,  false, post_races},
    {"/v1/prompt",            true,  false, post_prompt},
    {"/v1/adapters/openrlhf", true,  false, post_openrlhf},
    {"/v1/adapters/slime",    true,  false, post_slime},
    {"/v1/result/",           false, false, get_result, delete_result},
    {"/v1/tasks",             false, false, get_tasks},
    {"/v1/baselines",         false, false, get_baselines},
    {"/v1/grammar",           false, false, get_grammar},
    {"/v1/health",            false, true,  get_health},
    {"/v1/metrics",           false, false, get_metrics},
};

static const endpoint *find(const char *url)
{
    for (size_t i = 0; i < GS_COUNT(endpoints); i++) {
        const size_t size = strlen(endpoints[i].path);
        if (endpoints[i].path[size - 1] == '/' ? strncmp(url, endpoints[i].path, size) == 0 : strcmp(url, endpoints[i].path) == 0) return &endpoints[i];
    }
    return NULL;
}

/* ---- a request ---- */

/* Checks before the body is read. True: the request was refused and answered. */
static bool refuse_early(exchange *x, const endpoint *to, const char *method, enum MHD_Result *result)
{
    x->last = true;   /* if it is refused here, its body is not read */
    const char *const length = gs_service_header(x->connection, "Content-Length"), *const twice = gs_service_header_twice(x->connection);
    gs_scan scan = gs_scan_from(length ? length : "0");
    int64_t size = 0;
    const bool good = gs_scan_int(&scan, &size) && gs_scan_end(&scan) && size >= 0;
    const bool post = strcmp(method, "POST") == 0, chunked = gs_service_header(x->connection, "Transfer-Encoding") != NULL;
    const bool known = to && (x->remove ? to->remove != NULL : post == to->post && (post || strcmp(method, "GET") == 0));
    if (is_extra(x)) *result = refuse(x, 429, GS_ERROR_TIMEOUT, "connections", "all are taken: come back later");
    else if (twice) *result = refuse(x, 400, GS_ERROR_ARGUMENT, twice, "is there twice");
    else if (!x->http->options.token && !gs_service_header_loopback(x->connection)) *result = refuse(x, 403, GS_ERROR_ARGUMENT, "Host", "names another machine: without a token only loopback names are answered");
    else if (!to) *result = refuse(x, 404, GS_ERROR_NOT_FOUND, "path", "no such endpoint: docs/howto/serve.md lists them");
    else if (!to->open && !authorized(x)) *result = refuse(x, 401, GS_ERROR_ARGUMENT, "Authorization", "needs the service's token: Authorization: Bearer TOKEN");
    else if (!known) *result = refuse(x, 405, GS_ERROR_ARGUMENT, "method", to->post ? "takes POST" : to->remove ? "takes GET and DELETE" : "takes GET");
    else if (!good) *result = refuse(x, 400, GS_ERROR_PARSE, "Content-Length", "must be a number");
    else if (!post && (size > 0 || chunked)) *result = refuse(x, 400, GS_ERROR_ARGUMENT, "body", "takes none");
    else if (post && (!length || chunked)) *result = refuse(x, 411, GS_ERROR_ARGUMENT, "Content-Length", "is needed");
    else if (post && !gs_service_header_json(x->connection)) *result = refuse(x, 415, GS_ERROR_ARGUMENT, "Content-Type", "must be application/json");
    else if (size > (int64_t)x->http->options.most_body) *result = refuse(x, 413, GS_ERROR_RANGE, "body", "is too long");
    else if (atomic_fetch_add(&x->http->bodies, x->reserved = size) + size > BODIES_MOST) *result = refuse(x, 429, GS_ERROR_TIMEOUT, "body", "too many long requests at once");
    else x->last = false;
    return x->last;
}

static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url, const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    gs_service_http *const http = self;
    exchange *x = *state;
    const endpoint *const to = find(url);
    enum MHD_Result result = MHD_YES;
    (void)version;
    if (!x) {
        *state = x = calloc(1, sizeof *x);
        if (!x) return MHD_NO;
        x->http = http;
        x->connection = connection;
        x->remove = strcmp(method, "DELETE") == 0;
        x->socket_number = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        x->guest = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
        http->active++;
        if (!refuse_early(x, to, method, &result)) gs_service_watch_turn(&http->watch, x->guest, GS_SERVICE_BODY, (size_t)x->reserved);
        return result;
    }
    if (x->answered) {
        *size = 0;
        return MHD_YES;
    }
    if (*size > 0) {
        if (x->body.size + *size <= http->options.most_body) gs_text_add_bytes(&x->body, data, *size);
        *size = 0;
        return x->body.failed ? MHD_NO : MHD_YES;
    }
    gs_log(GS_LOG_INFO, "%s %s", method, to->path);   /* the path from the table, not the client's text */
    return (x->remove ? to->remove : to->answer)(x, url + strlen(to->path));
}

static void completed(void *self, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode how)
{
    exchange *const x = *state;
    (void)self, (void)connection, (void)how;
    if (!x) return;
    x->http->bodies -= x->reserved;
    x->http->active--;
    gs_service_watch_turn(&x->http->watch, x->guest, GS_SERVICE_HEADERS, 0);
    gs_text_free(&x->body);
    free(x);
    *state = NULL;
}

static void connected(void *self, struct MHD_Connection *connection, void **guest, enum MHD_ConnectionNotificationCode what)
{
    gs_service_http *const http = self;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *guest = gs_service_watch_add(&http->watch, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                                      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr, http->options.connections);
    } else {
        gs_service_watch_remove(&http->watch, *guest);
        *guest = NULL;
    }
}

/* ---- listening ---- */

static gs_status listen_at(const char *address, int port, int *out, gs_error *error)
{
    char service[16];
    struct addrinfo *found = NULL;
    const struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    snprintf(service, sizeof service, "%d", port);
    const int why = getaddrinfo(address, service, &want, &found);
    if (why != 0) return gs_fail(error, GS_ERROR_ARGUMENT, "address", "%.100s: %s", address, gai_strerror(why));
    const int one = 1;
    const int made = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made >= 0) setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const bool good = made >= 0 && bind(made, found->ai_addr, found->ai_addrlen) == 0 && listen(made, 128) == 0;
    const int number = errno;
    freeaddrinfo(found);
    if (good) {
        *out = made;
        return GS_OK;
    }
    if (made >= 0) close(made);
    return gs_fail(error, GS_ERROR_IO, NULL, "cannot listen at %.100s, port %d: %s%s", address, port, strerror(number), number == EADDRINUSE ? "; --port takes another one" : "");
}

static int port_of(int socket_number)
{
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof name;
    if (getsockname(socket_number, (struct sockaddr *)&name, &size) != 0) return 0;
    return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port : ((struct sockaddr_in *)&name)->sin_port);
}

/* A %00 must not end a URL early: the URL is replaced by one that does not exist. */
static size_t unescape(void *self, struct MHD_Connection *connection, char *text)
{
    const size_t size = MHD_http_unescape(text);
    return (void)self, (void)connection, size == strlen(text) ? size : strlen(strcpy(text, "?"));
}

gs_status gs_service_http_start(gs_service_http **out, gs_service_jobs *jobs, const gs_service_options *options, gs_error *error)
{
    int listener = -1;
    gs_service_http *const http = *out = calloc(1, sizeof *http);
    if (!http) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the service");
    *http = (gs_service_http){.jobs = jobs, .options = *options, .started = gs_clock_ns()};
    http->terms = (gs_service_terms){.scope = {GS_SERVICE_SCOPE, gs_service_jobs_slug(jobs), gs_service_jobs_version(jobs), options->scope}, .deadline_s = options->deadline_s,
                                     .offered = options->only_tasks ? options->tasks : NULL, .offered_count = options->task_count, .store = options->jobs.store, .stored = true, .caps = gs_service_jobs_caps(jobs)};
    gs_service_watch_open(&http->watch);
    gs_status status = listen_at(options->address, options->port, &listener, error);
    if (status == GS_OK) {
        http->port = port_of(listener);
        http->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL, NULL, handle, http,
                                        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_NOTIFY_COMPLETED, completed, http, MHD_OPTION_NOTIFY_CONNECTION, connected, http,
                                        MHD_OPTION_CONNECTION_LIMIT, (unsigned)options->connections + EXTRA, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                                        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
                                        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
        if (!http->daemon) {
            close(listener);
            status = gs_fail(error, GS_ERROR_IO, NULL, "libmicrohttpd cannot be started: %s", strerror(errno));
        }
    }
    if (status != GS_OK) {
        gs_service_watch_close(&http->watch);
        free(http);
        *out = NULL;
    }
    return status;
}

void gs_service_http_tend(gs_service_http *http)
{
    const int64_t now = gs_clock_ns();
    if (now - http->swept < INT64_C(1000000000)) return;
    http->swept = now;
    gs_service_watch_sweep(&http->watch, now);
}

int gs_service_http_port(const gs_service_http *http) { return http->port; }

void gs_service_http_refuse(gs_service_http *http)
{
    const MHD_socket listener = MHD_quiesce_daemon(http->daemon);
    if (listener != MHD_INVALID_SOCKET) close(listener);
}

void gs_service_http_stop(gs_service_http **out)
{
    gs_service_http *const http = *out;
    if (!http) return;
    const int64_t until = gs_clock_ns() + DRAIN_MS * INT64_C(1000000);
    while (http->active > 0 && gs_clock_ns() < until) gs_clock_sleep_ns(5000000);
    MHD_stop_daemon(http->daemon);
    gs_service_watch_close(&http->watch);
    free(http);
    *out = NULL;
}

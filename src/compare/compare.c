/* SPDX-License-Identifier: MIT */
#include "compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/stop.h"
#include "compare/reply.h"
#include "compare/rounds.h"
#include "compare/rows.h"
#include "compare/torch.h"
#include "learn/weights.h"
#include "table/table.h"
#include "problem/layout.h"
#include "tune/tune.h"
#include "verify/verify.h"

#define PATIENCE          20      /* timeout on an emulated device, as a multiple of the estimate */
#define ROUNDS_IN_TIME    10000   /* most rounds when a time limit was given instead */
#define QUICK_ROUNDS      21
#define QUICK_ROUNDS_LONG 11      /* if a call takes more than LONG_US */
#define LONG_US           1000
#define QUICK_CALLS       10000   /* timeout of the worker, in calls at the floor's time */

struct gs_contest {
    gs_device_session    *session;
    gs_contest_options o;
    gs_table             *table;     /* the user's, to detect that the plan's choice changed */
    uint64_t              weights;   /* hash of the weights that a plan uses; 0: none */
    FILE                 *csv;
    gs_rows_file          rows;
    int                   fresh;
};

/* The request for one problem. */
typedef struct asked {
    const gs_problem *problem;
    char              title[GS_PROBLEM_TEXT + 4], own_in[2][GS_SCHEDULE_TEXT];
    gs_contender_list list;
} asked;

#define TELL(c, event, arguments)                           \
    do {                                                    \
        const gs_contest_events *const e = &(c)->o.events; \
        if (e->event) e->event arguments;                   \
    } while (0)

/* ---- the request ---- */

static int64_t rounds_of(const gs_contest_options *o, double floor_us)
{
    if (o->rounds > 0) return o->rounds;
    if (o->benchmark_s > 0) return ROUNDS_IN_TIME;
    if (o->server) return 200;
    return !o->quick ? 30 : floor_us > LONG_US ? QUICK_ROUNDS_LONG : QUICK_ROUNDS;
}

static gs_worker_bench_request request_of(const gs_contest_options *o, const asked *a, double floor_us, const char *text)
{
    const gs_contender_list *const of = &a->list;
    return (gs_worker_bench_request){
        .subject = {.problem = text, .seed = o->seed, .dependent = o->dependent}, .contenders = of->list, .count = of->count, .reference = of->reference,
        .server = o->server, .rounds = rounds_of(o, floor_us), .warm = o->warm, .warmup_s = o->warmup_s, .budget_s = o->benchmark_s,
        .target_qps = o->target_qps, .call_time = o->call_time < 0 ? !o->quick : o->call_time, .samples = true, .skewed = o->skewed && a->problem->groups,
        .behind = o->behind,
    };
}

/* A rough estimate for an emulated device; 0 for a GPU. */
static double seconds_of(const gs_contest *c, const gs_problem *problem)
{
    const double layouts = c->o.layouts == 3 ? 2 : 1;
    return c->session->caps.emulated ? gs_emulated_seconds(problem, layouts * c->o.names.count, 1) : 0;
}

/* When the worker counts as hung: time for compiling and auto-tuning, then for the measurement. In quick mode, where the kernels of many problems were
 * compiled and verified before, the first part is short. */
static double timeout_of(const gs_contest_options *o, double floor_us)
{
    const double calls = o->server ? 2.0 * (double)rounds_of(o, 0) * o->names.count / o->target_qps : 0;
    return (o->quick ? 120 + QUICK_CALLS * 1e-6 * floor_us : 900) + 2 * (fmax(o->warmup_s, 0) + o->benchmark_s + (o->benchmark_s > 0 ? 0 : calls));
}

/* The problem's text with all measured layouts: "f16:4096x4096x4096:nn,tn". */
static void write_title(const gs_contest_options *o, const char *problem, char *title, size_t size)
{
    const char *at = strstr(problem, ":nn");
    if (o->layouts == 3 && at)
        snprintf(title, size, "%.*s:nn,tn%s", (int)(at - problem), problem, at + 3);
    else
        snprintf(title, size, "%s", problem);
}

/* ---- resuming ---- */

/* The table need not exist yet: tune and --record write it. */
static gs_status load_table(gs_contest *c, gs_error *error)
{
    if (gs_table_create(&c->table) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the table");
    if (!c->o.table) return GS_OK;
    const gs_status status = gs_table_load(c->table, c->o.table, &c->session->caps, NULL, error);
    if (status == GS_ERROR_PARSE) return error->status = GS_ERROR_CORRUPT;   /* PARSE would mean wrong usage; this is a wrong file */
    return status == GS_ERROR_NOT_FOUND ? GS_OK : status;
}

static void load_weights(gs_contest *c)
{
    const char *const path = gs_weights_path_for(&c->session->caps);
    char *data;
    size_t size;
    if (!path || gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL) != GS_OK) return;
    c->weights = gs_hash64(data, size);
    free(data);
}

/* The whole request, the machine, and what determines a plan's choice (the tuned table, or the weights where it has no row): results of another choice must
 * not be reused. */
static void write_key(const gs_contest *c, const char *request, const gs_problem *problem, gs_text *key)
{
    const gs_device_session *const session = c->session;
    gs_text_addf(key, "eval 1 %s sms=%d driver=%d cublaslt=%d %s%s %s", session->caps.slug, session->caps.sms,
                 session->caps.driver, session->cublaslt, session->session.version, c->o.torch ? " torch" : "", request);
    for (gs_layout layout = GS_NN; layout <= GS_TN && c->table && gs_contender_names_have(&c->o.names, GS_RESULT_PLAN); layout++) {
        const gs_problem one = gs_problem_in_layout(problem, layout);
        char text[GS_SCHEDULE_TEXT];
        bool exact;
        const gs_row *const row = gs_table_choose(c->table, &one, &session->caps, c->weights != 0, &exact);
        if (row) gs_text_addf(key, " %s", gs_row_choice(row, text));
        else gs_text_addf(key, " %016llx", (unsigned long long)c->weights);
    }
}

static json_t *stored_row(const gs_contest *c, const char *key)
{
    char *value;
    gs_error error;
    if (c->o.again || gs_store_result_get(c->session->store, key, &value, &error) != GS_OK) return NULL;
    json_t *const json = json_loads(value, 0, NULL);
    free(value);
    return json;
}

/* ---- one problem ---- */

static json_t *torch_of(const gs_contest *c, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    if (c->session->caps.emulated) return json_pack("{s:s}", "message", "torch.matmul needs a GPU");
    if (c->o.server || c->o.warm) return json_pack("{s:s}", "message", "timed in offline mode with a cold cache only");
    return gs_torch_measure(gs_problem_format(problem, text), c->session->worker.device, c->o.dependent, c->o.rounds);
}

static gs_status measure(const gs_contest *c, const asked *a, const gs_worker_bench_request *request, const char *key, json_t **out, gs_error *error)
{
    gs_device_session *const session = c->session;
    gs_worker_timings timings;
    const double seconds = seconds_of(c, a->problem);
    GS_TRY(gs_worker_bench(&session->worker, request, timeout_of(&c->o, gs_floor_us(a->problem, &session->caps)) + PATIENCE * seconds, &timings, error));
    json_t *const reply = timings.json;   /* the row is the reply with additional fields */
    timings.json = NULL;
    gs_worker_timings_free(&timings);
    if (c->o.torch) json_object_set_new(reply, "torch", torch_of(c, a->problem));
    gs_reply_context context = {
        .session = session, .problem = a->problem, .title = a->title, .cache = c->o.warm ? "warm" : "cold",
        .own = gs_contender_names_have(&c->o.names, GS_RESULT_OWN) ? GS_RESULT_OWN : c->o.schedule ? c->o.schedule : GS_RESULT_PLAN, .seed = c->o.seed,
    };
    memcpy(context.own_in, a->own_in, sizeof context.own_in);
    gs_reply_complete(reply, &context);
    char *const text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(9));
    const gs_status status = text ? gs_store_result_put(session->store, &session->session, key, text, error)
                                  : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    free(text);
    if (status != GS_OK)
        json_decref(reply);
    else
        *out = reply;
    return status;
}

static gs_status write_files(const gs_contest *c, const gs_result *row, const char *text, gs_error *error)
{
    char name[GS_PROBLEM_TEXT], path[GS_PATH], mode[GS_RESULT_MODE];
    if (c->csv) gs_rounds_row(c->csv, row);
    if (c->csv && ferror(c->csv)) return gs_fail_errno(error, errno, c->o.csv, "cannot be written");
    if (!c->o.base_dir) return GS_OK;
    snprintf(name, sizeof name, "%s", row->title);
    for (char *p = name; *p; p++)
        if (strchr(":,=", *p)) *p = '_';
    const int size = snprintf(path, sizeof path, "%s/%s_%s_%s.json", c->o.base_dir, name, gs_result_mode(row, mode), c->o.warm ? "warm" : "cold");
    if (size >= (int)sizeof path) return gs_fail(error, GS_ERROR_ARGUMENT, "base_dir", "path too long");
    return gs_file_write(path, text, strlen(text), error);
}

static gs_status report(gs_contest *c, const gs_result *row, gs_error *error)
{
    char *const text = json_dumps(row->json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    TELL(c, finished, (e->self, row, text));
    gs_status status = write_files(c, row, text, error);
    free(text);
    if (status == GS_OK && c->o.record && !row->resumed) status = gs_own_record(c->session, row, c->o.record_table, error);
    /* last, because a problem in the file counts as done */
    return status == GS_OK ? gs_rows_file_add(&c->rows, row, error) : status;
}

static gs_status find_own(const gs_contest *c, const gs_problem *problem, char own_in[2][GS_SCHEDULE_TEXT], gs_error *error)
{
    const bool own = gs_contender_names_have(&c->o.names, GS_RESULT_OWN);
    own_in[GS_NN][0] = own_in[GS_TN][0] = '\0';
    for (gs_layout layout = GS_NN; layout <= GS_TN && own; layout++) {
        const gs_problem one = gs_problem_in_layout(problem, layout);
        if (c->o.layouts & 1u << layout) GS_TRY(gs_own_list_find(&c->o.own, c->session, &one, own_in[layout], error));
    }
    if (c->o.names.count == 1 && own && !own_in[GS_NN][0] && !own_in[GS_TN][0])
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no own schedule is known for it, and nothing else was asked for");
    return GS_OK;
}

/* The row of a problem, from the store or measured; row->json is then set. */
static gs_status find_row(gs_contest *c, const asked *a, gs_result *row, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    gs_text line = {0}, key = {0};
    const gs_worker_bench_request request = request_of(&c->o, a, gs_floor_us(a->problem, &c->session->caps), gs_problem_format(a->problem, text));
    gs_worker_bench_text(&request, &line);
    write_key(c, gs_text_string(&line), a->problem, &key);
    gs_status status = GS_OK;
    if (line.failed || key.failed) {   /* a truncated key could be another row's */
        gs_text_free(&line);
        gs_text_free(&key);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    }
    json_t *json = stored_row(c, gs_text_string(&key));
    const bool stored = json && gs_result_read(row, json, NULL) == GS_OK;
    if (!stored) {
        status = measure(c, a, &request, gs_text_string(&key), &json, error);
        if (status == GS_OK) status = gs_result_read(row, json, error);
        c->fresh++;
    }
    row->resumed = stored;
    gs_text_free(&line);
    gs_text_free(&key);
    return status;
}

/* Whether the list's time limit, and not a stop request, ended a request. */
static bool is_late(const gs_contest *c, gs_status status)
{
    return status == GS_ERROR_INTERRUPTED && !gs_stop_requested && c->session->worker.until != 0 && gs_clock_ns() >= c->session->worker.until;
}

static gs_status compare(gs_contest *c, const gs_problem *problem, int at, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    asked a = {.problem = problem};
    write_title(&c->o, gs_problem_format(problem, text), a.title, sizeof a.title);
    gs_status status = find_own(c, problem, a.own_in, error);
    gs_contender_list_make(&a.list, &c->o.names, problem, c->o.layouts, a.own_in);
    TELL(c, begins, (e->self, at, a.title, c->fresh));
    gs_result *const row = calloc(1, sizeof *row);
    if (!row) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    if (status == GS_OK) {
        status = find_row(c, &a, row, error);
        if (status == GS_OK) status = report(c, row, error);
        gs_result_free(row);
    }
    free(row);
    if (status != GS_OK && !is_late(c, status)) TELL(c, failed, (e->self, a.title, error));
    return status;
}

/* ---- the list ---- */

/* Whether the file of rows already has this problem in this mode. */
static bool have_row(const gs_contest *c, const gs_problem *problem)
{
    const gs_result like = {.server = c->o.server, .dependent = c->o.dependent, .predicted = c->session->caps.emulated, .skewed = c->o.skewed && problem->groups, .behind = c->o.behind};
    char mode[GS_RESULT_MODE];
    return gs_rows_file_have(&c->rows, problem, gs_result_mode(&like, mode));
}

/* Compiles the schedules of "own" on all cores before the first measurement: the worker would compile them one by one while the device is idle. Errors are
 * left to the worker. */
static void compile_own(const gs_contest *c, const gs_problem *problems, int problem_count)
{
    gs_problem *const list = calloc((size_t)problem_count * 2 + 1, sizeof *list);
    gs_schedule *const schedules = calloc((size_t)problem_count * 2 + 1, sizeof *schedules);
    int count = 0, failed = 0;
    for (int i = 0; list && schedules && i < problem_count; i++) {
        char own_in[2][GS_SCHEDULE_TEXT];
        if (have_row(c, &problems[i]) || find_own(c, &problems[i], own_in, NULL) != GS_OK) continue;
        for (gs_layout layout = GS_NN; layout <= GS_TN; layout++) {
            if (!own_in[layout][0] || gs_schedule_parse(&schedules[count], own_in[layout], NULL) != GS_OK) continue;
            list[count++] = gs_problem_in_layout(&problems[i], layout);
        }
    }
    if (count > 0) TELL(c, compiling, (e->self));
    gs_precompile_pairs(&c->session->caps, list, schedules, count, 0, 0, NULL, &failed, NULL);
    TELL(c, compiled, (e->self));
    free(list);
    free(schedules);
}

/* Reports the estimated duration of all measurements before anything is compiled. */
static void tell_estimate(const gs_contest *c, const gs_problem *problems, int problem_count)
{
    char title[GS_PROBLEM_TEXT + 4], text[GS_PROBLEM_TEXT];
    double seconds = 0;
    int count = 0;
    for (int i = 0; i < problem_count; i++) {
        if (have_row(c, &problems[i])) continue;
        seconds += seconds_of(c, &problems[i]);
        if (count++ == 0) write_title(&c->o, gs_problem_format(&problems[i], text), title, sizeof title);
    }
    if (count == 0) return;
    if (count > 1) snprintf(title, sizeof title, "%d problems", count);
    TELL(c, estimate, (e->self, title, seconds));
}

/* A worker that hung or died costs only its problem; a failure of the machine ends the run. */
static bool goes_on(gs_status status)
{
    return status == GS_OK || status == GS_ERROR_WORKER_DIED || status == GS_ERROR_WORKER_HUNG || status == GS_ERROR_FAULT ||
           status == GS_ERROR_DEVICE_MEMORY || status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_LAUNCH ||
           status == GS_ERROR_DEVICE || status == GS_ERROR_CORRUPT;
}

static gs_status run(gs_contest *c, const gs_problem *problems, int count, int64_t started, gs_contest_end *end, gs_error *error)
{
    gs_error local;
    if (!error) error = &local;
    *end = (gs_contest_end){0};
    tell_estimate(c, problems, count);
    if (gs_contender_names_have(&c->o.names, GS_RESULT_OWN)) compile_own(c, problems, count);
    for (; end->at < count; end->at++) {
        if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped");
        if (have_row(c, &problems[end->at])) {
            end->there++;
            continue;
        }
        end->late = c->o.budget_s > 0 && 1e-9 * (double)(gs_clock_ns() - started) >= c->o.budget_s;
        if (end->late) break;
        *error = (gs_error){0};
        const gs_status status = compare(c, &problems[end->at], end->at, error);
        end->late = is_late(c, status);
        if (end->late) break;
        if (!goes_on(status)) return status;
    }
    return GS_OK;
}

gs_status gs_contest_run(gs_contest *c, const gs_problem *problems, int count, gs_contest_end *end, gs_error *error)
{
    const int64_t started = gs_clock_ns();
    if (c->o.budget_s > 0) c->session->worker.until = started + (int64_t)(c->o.budget_s * 1e9);
    const gs_status status = run(c, problems, count, started, end, error);
    c->session->worker.until = 0;
    return status;
}

gs_status gs_contest_open(gs_contest **out, gs_device_session *session, const gs_contest_options *options, gs_error *error)
{
    gs_contest *const c = *out = calloc(1, sizeof *c);
    if (!c) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the contenders");
    c->session = session;
    c->o = *options;
    gs_status status = load_table(c, error);
    load_weights(c);
    if (status == GS_OK && options->csv) {
        status = gs_file_stream(&c->csv, options->csv, false, error);
        if (status == GS_OK) gs_rounds_head(c->csv);
    }
    if (status == GS_OK && options->record) status = gs_tune_check_table(options->record_table, error);
    if (status == GS_OK && options->base_dir) status = gs_directory_add(options->base_dir, error);
    if (status == GS_OK) status = gs_rows_file_open(&c->rows, options->rows, options->again, session, error);
    if (status != GS_OK) gs_contest_close(out, NULL);
    return status;
}

gs_status gs_contest_close(gs_contest **contest, gs_error *error)
{
    gs_contest *const c = *contest;
    gs_status status = GS_OK;
    if (!c) return GS_OK;
    if (c->csv && fclose(c->csv) != 0) status = gs_fail_errno(error, errno, c->o.csv, "cannot be written");
    const gs_status closed = gs_rows_file_close(&c->rows, status == GS_OK ? error : NULL);
    gs_table_destroy(&c->table);
    free(c);
    *contest = NULL;
    return status == GS_OK ? closed : status;
}

/* SPDX-License-Identifier: MIT
 * gemmsmith eval: times contenders against each other, problem by problem, through the worker. What was finished is taken from
 * the store, so that a run that was stopped goes on. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "command.h"
#include "device/device.h"
#include "eval_own.h"
#include "eval_print.h"
#include "eval_rows.h"
#include "learn/weights.h"
#include "output.h"
#include "plan/table.h"
#include "problem/layout.h"
#include "problems.h"
#include "schedule/schedule.h"
#include "session.h"
#include "torch.h"
#include "tune/tune.h"
#include "tuned.h"
#include "verify/verify.h"
#include "worker/client.h"

#define DEFAULT_CONTENDERS "plan,cublas,cublaslt-heuristic,cublaslt-autotuning"
#define PATIENCE           20      /* times the estimate, on an emulated device */
#define ROUNDS_IN_TIME     10000   /* most rounds when a time was given instead */
#define NAMES              (GS_RESULT_ENTRIES / 2 - 1)
#define QUICK_ROUNDS       21
#define QUICK_ROUNDS_LONG  11      /* where a call takes more than LONG_US */
#define LONG_US            1000
#define QUICK_CALLS        10000   /* at the floor's speed: longer than that, and the worker counts as hung */

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    double      warmup, benchmark, qps, budget;
    const char *base_dir, *csv, *rows, *store, *device, *contenders, *schedule, *own, *tuned;
    int64_t     gpu, rounds, seed;
    int         mode, cache, call_time;
    bool        json, resume, again, torch, dependent, quick, record;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "how B is stored; default both, and the best of both"),
    {"mode",              0, CLI_CHOICE,  offsetof(settings, mode),       "offline|server", "calls back to back, or at random gaps; default offline"},
    {"target_qps",        0, CLI_NUMBER,  offsetof(settings, qps),        "Q",     "server: calls per second; default 100", 1e-3, 1e6},
    {"cache",             0, CLI_CHOICE,  offsetof(settings, cache),      "cold|warm", "operands beyond the L2 cache, or the same again; default cold"},
    {"rounds",            0, CLI_INT,     offsetof(settings, rounds),     "N",     "interleaved rounds (server: calls per contender);\n"
     "default 30 (server 200)", 5, 1e5},
    {"warmup_seconds",    0, CLI_SECONDS, offsetof(settings, warmup),     "TIME",  "before the first round; default 0.05", 0, 3600},
    {"benchmark_seconds", 0, CLI_SECONDS, offsetof(settings, benchmark),  "TIME",  "measure that long instead of a number of rounds", 1e-3, 86400},
    {"contenders",        0, CLI_TEXT,    offsetof(settings, contenders), "LIST",  "default " DEFAULT_CONTENDERS ";\n"
     "schedules may stand in the list too; own: what a search found"},
    {"own",               0, CLI_TEXT,    offsetof(settings, own),        "FILE",  "own: from lines 'PROBLEM SCHEDULE', a tuned table or tune --json,\n"
     "not from the store"},
    {"record",            0, CLI_FLAG,    offsetof(settings, record),     NULL,    "own beside cublaslt-autotuning decides who wins: store and table"},
    {"tuned",             0, CLI_TEXT,    offsetof(settings, tuned),      "FILE",  "--record: table to write; default: the user's table of this GPU"},
    {"schedule",          0, CLI_TEXT,    offsetof(settings, schedule),   "S",     "this schedule in place of the plan's choice"},
    {"quick",             0, CLI_FLAG,    offsetof(settings, quick),      NULL,    "for many problems: 21 rounds, 11 where a call takes a millisecond,\n"
     "and no call time, unless they are asked for"},
    {"call_time",         0, CLI_CHOICE,  offsetof(settings, call_time),  "yes|no", "offline: the host's clock too; default yes, with --quick no"},
    {"budget",            0, CLI_SECONDS, offsetof(settings, budget),     "TIME",  "begin no problem after that; default: no limit", 1, 1e9},
    {"torch",             0, CLI_FLAG,    offsetof(settings, torch),      NULL,    "also torch.matmul beside our plan, in a Python process"},
    {"base_dir",          0, CLI_TEXT,    offsetof(settings, base_dir),   "DIR",   "also write every result there, one JSON file per problem"},
    {"csv",               0, CLI_TEXT,    offsetof(settings, csv),        "FILE",  "also write the raw rows: every round of every contender"},
    {"rows",              0, CLI_TEXT,    offsetof(settings, rows),       "FILE",  "also write a line per contender with medians and ratios, behind\n"
     "what is there; problems that stand there are left out"},
    {"store",             0, CLI_TEXT,    offsetof(settings, store),      "FILE",  "where finished problems are kept;\n"
     "default $GEMMSMITH_STORE, else the user's"},
    {"resume",            0, CLI_FLAG,    offsetof(settings, resume),     NULL,    "take finished problems from the store (the default)"},
    {"again",             0, CLI_FLAG,    offsetof(settings, again),      NULL,    "measure everything anew"},
    {"seed",              0, CLI_INT,     offsetof(settings, seed),       "N",     "seed of the data and of the gaps; default 1", 1, 9e15},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"gpu_device_id",     0, CLI_INT,     offsetof(settings, gpu),        "N",     "the same as --device cuda:N", 0, 1023},
    {"json",              0, CLI_FLAG,    offsetof(settings, json),       NULL,    "one JSON object per problem"},
    {NULL},
};

/* ---- what is asked ---- */

typedef struct names {
    int  count;
    char name[NAMES][GS_CONTENDER_NAME];
} names;

static int read_names(const cli_command *command, const settings *s, const char *list, names *out)
{
    static const char *const known[] = {GS_RESULT_PLAN, GS_RESULT_OWN, "cublas", "cublaslt-heuristic", GS_RESULT_REFERENCE};
    out->count = 0;
    for (const char *at = list; *at;) {
        const int length = (int)strcspn(at, ",");
        char name[GS_CONTENDER_NAME];
        snprintf(name, sizeof name, "%.*s", length, at);
        at += length + (at[length] != '\0');
        if (s->schedule && strcmp(name, GS_RESULT_PLAN) == 0) snprintf(name, sizeof name, "%s", s->schedule);
        size_t which = 0;
        while (which < GS_COUNT(known) && strcmp(name, known[which]) != 0) which++;
        gs_schedule schedule;
        gs_error error;
        if (which == GS_COUNT(known) && !strchr(name, '/') && strcmp(name, "simple") != 0)
            return cli_usage(command, "--contenders: '%s' is none of " GS_RESULT_OWN "," DEFAULT_CONTENDERS ", and no schedule", name);
        if (which == GS_COUNT(known) && gs_schedule_parse(&schedule, name, &error) != GS_OK)
            return cli_fail(command, name, &error);
        if (out->count == NAMES) return cli_usage(command, "--contenders: more than %d", NAMES);
        memcpy(out->name[out->count++], name, sizeof name);
    }
    return out->count > 0 ? -1 : cli_usage(command, "--contenders: the list is empty");
}

/* Every problem once, in the first of its layouts: the others are measured with it. */
static int read_problems(const cli_command *command, const settings *s, int count, char *const *words, cli_problems *out)
{
    const cli_asked asked = {.mnk = s->asked.mnk, .file = s->asked.file, .shard = s->asked.shard, .acc = s->asked.acc};
    cli_problems written;
    int code = cli_problems_read(command, &written, &asked, count, words);
    if (code >= 0) return code;
    *out = (cli_problems){0};
    for (int i = 0; i < written.count && code < 0; i++) {
        const gs_problem first = gs_problem_in_layout(&written.list[i], s->asked.layouts & 1u ? GS_NN : GS_TN);
        code = cli_problems_add(command, out, &first);
    }
    cli_problems_free(&written);
    if (code < 0 && out->count == 0) code = cli_usage(command, CLI_NEEDS_PROBLEM);
    if (code >= 0) cli_problems_free(out);
    return code;
}

static bool has(const names *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0) return true;
    return false;
}

static int64_t rounds_of(const settings *s, double floor_us)
{
    if (s->rounds > 0) return s->rounds;
    if (s->benchmark > 0) return ROUNDS_IN_TIME;
    if (s->mode) return 200;
    return !s->quick ? 30 : floor_us > LONG_US ? QUICK_ROUNDS_LONG : QUICK_ROUNDS;
}

/* The contenders of a request, layout by layout. */
typedef struct contenders {
    char        name[GS_RESULT_ENTRIES][GS_CONTENDER_NAME + 8];
    const char *list[GS_RESULT_ENTRIES];
    int         count, reference;
} contenders;

/* own_in: our schedule by layout, in place of "own"; empty: it is left out there. */
static void list_contenders(contenders *out, const settings *s, const names *list, char (*own_in)[GS_SCHEDULE_TEXT])
{
    *out = (contenders){0};
    for (gs_layout layout = GS_NN; layout <= GS_TN; layout++) {
        if (!(s->asked.layouts & 1u << layout)) continue;
        for (int i = 0; i < list->count; i++) {
            const char *const name = strcmp(list->name[i], GS_RESULT_OWN) == 0 ? own_in[layout] : list->name[i];
            if (!*name) continue;
            snprintf(out->name[out->count], sizeof out->name[0], "%s:%s", layout == GS_TN ? "tn" : "nn", name);
            out->list[out->count] = out->name[out->count];
            if (strcmp(name, GS_RESULT_REFERENCE) == 0) out->reference = out->count;
            out->count++;
        }
    }
}

static gs_worker_bench_request request_of(const settings *s, const contenders *of, double floor_us, const char *problem)
{
    return (gs_worker_bench_request){
        .subject = {.problem = problem, .seed = s->seed, .dependent = s->dependent}, .contenders = of->list, .count = of->count, .reference = of->reference,
        .server = s->mode != 0, .rounds = rounds_of(s, floor_us), .warm = s->cache != 0, .warmup_s = s->warmup, .budget_s = s->benchmark,
        .target_qps = s->qps, .call_time = s->call_time < 0 ? !s->quick : s->call_time == 0, .samples = true,
    };
}

/* How long an emulated device will need, roughly; 0 for a GPU. */
static double seconds_of(const cli_session *session, const settings *s, const names *list, const gs_problem *problem)
{
    const double layouts = s->asked.layouts == 3 ? 2 : 1;
    return session->caps.emulated ? gs_emulated_seconds(problem, layouts * list->count, 1) : 0;
}

/* How long the worker may take before it counts as hung: compiling and auto-tuning, then the measurement itself. Among many problems
 * whose kernels were compiled and verified before there is no waiting for a quarter of an hour. */
static double timeout_of(const settings *s, const names *list, double floor_us)
{
    const double calls = s->mode ? 2.0 * (double)rounds_of(s, 0) * list->count / s->qps : 0;
    return (s->quick ? 120 + QUICK_CALLS * 1e-6 * floor_us : 900) + 2 * (fmax(s->warmup, 0) + s->benchmark + (s->benchmark > 0 ? 0 : calls));
}

/* "f16:4096x4096x4096:nn,tn": the text of the problem with every layout that is measured. */
static void write_title(const settings *s, const char *problem, char *title, size_t size)
{
    const char *at = strstr(problem, ":nn");
    if (s->asked.layouts == 3 && at)
        snprintf(title, size, "%.*s:nn,tn%s", (int)(at - problem), problem, at + 3);
    else
        snprintf(title, size, "%s", problem);
}

/* ---- resuming ---- */

typedef struct run_state {
    const cli_command *command;
    cli_session       *session;
    const settings    *s;
    names              list;
    gs_table          *table;   /* the user's tuned table, to notice that the plan's choice changed */
    uint64_t           weights; /* hash of those that a plan asks; 0: of none */
    FILE              *csv;
    eval_rows          rows;
    eval_choices       choices;
    const char        *tuned_path;   /* table that --record writes */
    eval_totals        totals;
    int64_t            started;
    int                at, fresh, there;   /* there: stand in --rows already */
} run_state;

/* None yet is fine: tune and --record write it. */
static int load_table(run_state *state)
{
    char path[GS_PATH];
    gs_error error = {0};
    if (gs_table_create(&state->table) != GS_OK || !cli_tuned_path(path, state->session->caps.slug)) return -1;
    const gs_status status = gs_table_load(state->table, path, &state->session->caps, NULL, &error);
    if (status == GS_ERROR_PARSE) error.status = GS_ERROR_CORRUPT;   /* what is wrong in a file is no wrong usage */
    return status == GS_OK || status == GS_ERROR_NOT_FOUND ? -1 : cli_fail(state->command, NULL, &error);
}

static void load_weights(run_state *state)
{
    const char *const path = gs_weights_path_for(&state->session->caps);
    char *data;
    size_t size;
    if (!path || gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL) != GS_OK) return;
    state->weights = gs_hash64(data, size);
    free(data);
}

/* The whole request, the machine, and what the tuned table or, where it has no row, the weights say: results of another choice must not be taken for these. */
static void write_key(const run_state *state, const char *request, const gs_problem *problem, gs_text *key)
{
    const cli_session *const session = state->session;
    gs_text_addf(key, "eval 1 %s sms=%d driver=%d cublaslt=%d %s%s %s", session->caps.slug, session->caps.sms,
                 session->caps.driver, session->cublaslt, session->session.version, state->s->torch ? " torch" : "", request);
    for (gs_layout layout = GS_NN; layout <= GS_TN && state->table && has(&state->list, GS_RESULT_PLAN); layout++) {
        const gs_problem one = gs_problem_in_layout(problem, layout);
        char text[GS_SCHEDULE_TEXT];
        bool exact;
        const gs_row *const row = gs_table_choose(state->table, &one, &session->caps, state->weights != 0, &exact);
        if (row) gs_text_addf(key, " %s", gs_row_choice(row, text));
        else gs_text_addf(key, " %016llx", (unsigned long long)state->weights);
    }
}

static json_t *stored_row(const run_state *state, const char *key)
{
    char *value;
    gs_error error;
    if (state->s->again || gs_store_result_get(state->session->store, key, &value, &error) != GS_OK) return NULL;
    json_t *const json = json_loads(value, 0, NULL);
    free(value);
    return json;
}

/* ---- one problem ---- */

static json_t *torch_of(const run_state *state, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    if (state->session->caps.emulated) return json_pack("{s:s}", "message", "torch.matmul needs a GPU");
    if (state->s->mode || state->s->cache) return json_pack("{s:s}", "message", "timed in offline mode with a cold cache only");
    return torch_measure(gs_problem_format(problem, text), state->session->worker.device, state->s->dependent, state->s->rounds);
}

static gs_status measure(const run_state *state, const gs_problem *problem, char (*own_in)[GS_SCHEDULE_TEXT], const char *title,
                         const gs_worker_bench_request *request, const char *key, json_t **out, gs_error *error)
{
    gs_worker_timings timings;
    char what[GS_PROBLEM_TEXT + 32];
    const double seconds = seconds_of(state->session, state->s, &state->list, problem);
    snprintf(what, sizeof what, "evaluating %s", title);
    cli_announce(&state->session->caps, state->session->worker.device, what, seconds);
    GS_TRY(gs_worker_bench(&state->session->worker, request, timeout_of(state->s, &state->list, gs_floor_us(problem, &state->session->caps)) + PATIENCE * seconds, &timings, error));
    json_t *const reply = timings.json;   /* the row is the reply, and more */
    timings.json = NULL;
    gs_worker_timings_free(&timings);
    if (state->s->torch) json_object_set_new(reply, "torch", torch_of(state, problem));
    eval_context context = {
        .session = state->session, .problem = problem, .title = title, .cache = state->s->cache ? "warm" : "cold",
        .own = has(&state->list, GS_RESULT_OWN) ? GS_RESULT_OWN : state->s->schedule ? state->s->schedule : GS_RESULT_PLAN, .seed = state->s->seed,
    };
    memcpy(context.own_in, own_in, sizeof context.own_in);
    eval_row_complete(reply, &context);
    char *const text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(9));
    const gs_status status = text ? gs_store_result_put(state->session->store, &state->session->session, key, text, error)
                                  : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    free(text);
    if (status != GS_OK)
        json_decref(reply);
    else
        *out = reply;
    return status;
}

static gs_status write_files(const run_state *state, const gs_result *row, const char *text, gs_error *error)
{
    char name[GS_PROBLEM_TEXT], path[GS_PATH];
    if (state->csv) eval_csv_row(state->csv, row);
    if (state->csv && ferror(state->csv)) return gs_fail_errno(error, errno, state->s->csv, "cannot be written");
    if (!state->s->base_dir) return GS_OK;
    snprintf(name, sizeof name, "%s", row->title);
    for (char *p = name; *p; p++)
        if (strchr(":,=", *p)) *p = '_';
    const int size = snprintf(path, sizeof path, "%s/%s_%s_%s.json", state->s->base_dir, name, gs_result_mode(row),
                              state->s->cache ? "warm" : "cold");
    if (size >= (int)sizeof path) return gs_fail(error, GS_ERROR_ARGUMENT, "base_dir", "path too long");
    return gs_file_write(path, text, strlen(text), error);
}

static gs_status report(run_state *state, const gs_result *row, gs_error *error)
{
    cli_progress_clear();
    eval_totals_add(&state->totals, row);
    char *const text = json_dumps(row->json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    if (state->s->json)
        printf("%s\n", text);
    else
        eval_print_row(row);
    fflush(stdout);
    gs_status status = write_files(state, row, text, error);
    free(text);
    if (status == GS_OK && state->s->record && !row->resumed) status = eval_record(state->session, row, state->tuned_path, error);
    /* last: what stands there is done */
    return status == GS_OK ? eval_rows_add(&state->rows, row, error) : status;
}

static gs_status find_own(const run_state *state, const gs_problem *problem, char own_in[2][GS_SCHEDULE_TEXT], gs_error *error)
{
    own_in[GS_NN][0] = own_in[GS_TN][0] = '\0';
    for (gs_layout layout = GS_NN; layout <= GS_TN && has(&state->list, GS_RESULT_OWN); layout++) {
        const gs_problem one = gs_problem_in_layout(problem, layout);
        if (state->s->asked.layouts & 1u << layout) GS_TRY(eval_choices_find(&state->choices, state->session, &one, own_in[layout], error));
    }
    if (state->list.count == 1 && has(&state->list, GS_RESULT_OWN) && !own_in[GS_NN][0] && !own_in[GS_TN][0])
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no own schedule is known for it, and nothing else was asked for");
    return GS_OK;
}

/* Compiles what "own" is going to run, on all cores, before the first measurement: the worker would do it one by one, and the device would
 * wait. What does not compile is the worker's to say. */
static void compile_own(const run_state *state, const cli_problems *problems, const char *mode)
{
    gs_problem *const list = calloc((size_t)problems->count * 2 + 1, sizeof *list);
    gs_schedule *const schedules = calloc((size_t)problems->count * 2 + 1, sizeof *schedules);
    int count = 0, failed = 0;
    for (int i = 0; list && schedules && i < problems->count; i++) {
        char own_in[2][GS_SCHEDULE_TEXT];
        if (eval_rows_have(&state->rows, &problems->list[i], mode) || find_own(state, &problems->list[i], own_in, NULL) != GS_OK) continue;
        for (gs_layout layout = GS_NN; layout <= GS_TN; layout++) {
            if (!own_in[layout][0] || gs_schedule_parse(&schedules[count], own_in[layout], NULL) != GS_OK) continue;
            list[count++] = gs_problem_in_layout(&problems->list[i], layout);
        }
    }
    if (count > 0) cli_progress("compiling for %d problems", problems->count);
    gs_precompile_pairs(&state->session->caps, list, schedules, count, 0, NULL, &failed, NULL);
    cli_progress_clear();
    free(list);
    free(schedules);
}

/* Returns -1 to go on with the next problem, else the exit code. */
static int evaluate(run_state *state, const cli_problems *problems)
{
    const gs_problem *const problem = &problems->list[state->at];
    char text[GS_PROBLEM_TEXT], title[GS_PROBLEM_TEXT + 4], left[CLI_TIME_TEXT], own_in[2][GS_SCHEDULE_TEXT];
    gs_text line = {0}, key = {0};
    gs_error error = {0};
    gs_problem_format(problem, text);
    write_title(state->s, text, title, sizeof title);
    const gs_status found = find_own(state, problem, own_in, &error);
    contenders of;
    list_contenders(&of, state->s, &state->list, own_in);
    const gs_worker_bench_request request = request_of(state->s, &of, gs_floor_us(problem, &state->session->caps), text);
    gs_worker_bench_text(&request, &line);
    write_key(state, gs_text_string(&line), problem, &key);
    cli_progress("%d of %d  %s  %s left", state->at + 1, problems->count, title,
                 cli_time_left(left, state->started, state->fresh, state->fresh + problems->count - state->at));

    json_t *json = found == GS_OK ? stored_row(state, gs_text_string(&key)) : NULL;
    gs_result *const row = calloc(1, sizeof *row);
    gs_status status = row ? found : gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    const bool stored = json && row && gs_result_read(row, json, NULL) == GS_OK;
    if (json && !row) json_decref(json);
    if (!stored && status == GS_OK) {
        status = measure(state, problem, own_in, title, &request, gs_text_string(&key), &json, &error);
        if (status == GS_OK) status = gs_result_read(row, json, &error);
        state->fresh++;
    }
    gs_text_free(&line);
    gs_text_free(&key);
    if (status == GS_OK) {
        row->resumed = stored;
        status = report(state, row, &error);
        gs_result_free(row);
    }
    free(row);
    if (status == GS_OK) return -1;
    const int code = cli_fail(state->command, title, &error);
    state->totals.failed++;
    /* A worker that hung or died costs its problem; what is wrong with the machine ends the run. */
    const bool goes_on = status == GS_ERROR_WORKER_DIED || status == GS_ERROR_WORKER_HUNG || status == GS_ERROR_FAULT ||
                         status == GS_ERROR_DEVICE_MEMORY || status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_LAUNCH ||
                         status == GS_ERROR_DEVICE || status == GS_ERROR_CORRUPT;
    return goes_on && !cli_stopped() ? -1 : code;
}

/* ---- the command ---- */

static int evaluate_all(run_state *state, const cli_problems *problems)
{
    int code = -1;
    state->started = gs_clock_ns();
    if (!state->s->json) eval_print_head(state->session);
    const gs_result like = {.server = state->s->mode != 0, .dependent = state->s->dependent, .predicted = state->session->caps.emulated};
    const char *const mode = gs_result_mode(&like);
    if (has(&state->list, GS_RESULT_OWN)) compile_own(state, problems, mode);
    for (state->at = 0; state->at < problems->count && code < 0; state->at++) {
        if (cli_stopped()) code = cli_stopped();
        if (code < 0 && eval_rows_have(&state->rows, &problems->list[state->at], mode)) {
            state->there++;
            continue;
        }
        if (code < 0 && state->s->budget > 0 && 1e-9 * (double)(gs_clock_ns() - state->started) >= state->s->budget) {
            cli_note("the time is up: %d of %d problems done; the same command goes on from here", state->at, problems->count);
            code = CLI_MORE;
            break;
        }
        if (code < 0) code = evaluate(state, problems);
    }
    cli_progress_clear();
    if (!state->s->json && state->totals.problems > 1) eval_totals_print(&state->totals);
    if (state->there > 0) cli_note("%d of %d problems stand in %s already", state->there, problems->count, state->s->rows);
    if (state->totals.resumed > 0)
        cli_note("%d of %d problems came from the store; --again measures them anew", state->totals.resumed, problems->count);
    if (cli_stopped()) {
        cli_note("stopped after %d of %d problems; they are kept in %s, and the same command goes on from there",
                 state->totals.problems, problems->count, gs_store_path(state->session->store));
        return cli_stopped();
    }
    if (code >= 0) return code;
    return state->totals.wrong ? CLI_VERIFY : state->totals.failed ? CLI_FAILED : CLI_OK;
}

static int open_csv(run_state *state)
{
    if (!state->s->csv) return -1;
    state->csv = fopen(state->s->csv, "w");
    if (state->csv) {
        eval_csv_head(state->csv);
        return -1;
    }
    gs_error error;
    gs_fail_errno(&error, errno, state->s->csv, "cannot be written");
    return cli_fail(state->command, NULL, &error);
}

static int check_record(const cli_command *command, const settings *s, const names *list)
{
    if (s->own && !has(list, GS_RESULT_OWN)) return cli_usage(command, "--own says which schedules the contender own has; name it in --contenders");
    if (s->tuned && !s->record) return cli_usage(command, "--tuned needs --record");
    if (!s->record) return -1;
    if (!has(list, GS_RESULT_OWN)) return cli_usage(command, "--record is about the contender own; name it in --contenders");
    if (s->mode || s->cache) return cli_usage(command, "--record goes by device time with a cold cache");
    return -1;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked = {.layouts = 3, .acc = -1}, .warmup = -1, .qps = 100, .gpu = -1, .seed = 1, .call_time = -1};
    cli_session session = {0};
    run_state state = {.command = command, .session = &session, .s = &s};
    cli_problems problems;
    char device[GS_DEVICE_NAME];
    int words;
    cli_session_command(&session, argc, argv);
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    code = cli_dependent(command, &s.dependent);
    if (code >= 0) return code;
    if (s.resume && s.again) return cli_usage(command, "--resume and --again exclude each other");
    if (s.gpu >= 0) {
        snprintf(device, sizeof device, "cuda:%d", (int)s.gpu);
        s.device = device;
    }
    code = read_names(command, &s, s.contenders ? s.contenders : DEFAULT_CONTENDERS, &state.list);
    if (code >= 0) return code;
    code = check_record(command, &s, &state.list);
    if (code >= 0) return code;
    code = eval_choices_read(command, &state.choices, s.own);
    if (code >= 0) return code;
    code = read_problems(command, &s, words, argv + 1, &problems);
    if (code < 0) {
        code = cli_session_open(command, &session, s.device, s.dependent, true, s.store);
        if (code >= 0) cli_problems_free(&problems);
    }
    if (code < 0) {
        if (session.caps.emulated && !s.contenders) read_names(command, &s, GS_RESULT_PLAN, &state.list);   /* there are no libraries */
        code = load_table(&state);
        load_weights(&state);
        char path[GS_PATH];
        state.tuned_path = s.tuned ? s.tuned : cli_tuned_path(path, session.caps.slug) ? path : NULL;
        if (code >= 0)
            ;
        else if (s.record && !state.tuned_path)
            code = cli_usage(command, "no home directory for the table: name one with --tuned");
        else if (s.record && !session.caps.emulated && !has(&state.list, GS_RESULT_REFERENCE))
            code = cli_usage(command, "--record sets own beside " GS_RESULT_REFERENCE "; name it in --contenders");
        else
            code = open_csv(&state);
        if (code < 0) code = eval_rows_open(command, &state.rows, s.rows, s.again, &session);
        if (code < 0) code = evaluate_all(&state, &problems);
        if (state.csv && fclose(state.csv) != 0 && code == CLI_OK) code = CLI_FAILED;
        const int closed = eval_rows_close(command, &state.rows, s.rows);
        if (closed >= 0 && code == CLI_OK) code = closed;
        gs_table_destroy(&state.table);
        eval_totals_free(&state.totals);
        cli_session_close(&session);
        cli_problems_free(&problems);
    }
    eval_choices_free(&state.choices);
    return code;
}

const cli_command cli_eval = {
    .name     = "eval",
    .words    = "PROBLEM...",
    .summary  = "time this library against cuBLAS and cuBLASLt",
    .about    = "All contenders of a problem run in one process in interleaved rounds, with operands beyond the cache, random data and\n"
                "verified outputs. Device time (a CUDA graph of calls between events) and call time (host clock around launch and wait)\n"
                "are kept apart; ratios are medians of paired rounds with a bootstrap interval. Finished problems are kept in the\n"
                "store: a run that was stopped goes on where it was.",
    .options  = options,
    .examples = "  gemmsmith eval --mnk 4096_4096_4096\n"
                "  gemmsmith eval --file shapes.txt --layouts tn --csv rows.csv --json > results.jsonl\n"
                "  gemmsmith eval f16:64x4096x4096:tn --mode server --target_qps 200 --benchmark_seconds 10\n"
                "  gemmsmith eval --file thousand.txt --contenders own,cublaslt-autotuning --quick --record --rows rows.csv",
    .run      = run,
};

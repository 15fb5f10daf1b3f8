/* SPDX-License-Identifier: MIT
 * The child's side of the worker: one request line in, one reply line out. Owns the device, the verifier and the prepared
 * contenders. Nothing here survives a fault: the reply is sent, marked as the last one, and the process ends. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "baseline/baseline.h"
#include "bench/bench.h"
#include "cublas/library.h"
#include "device/cache.h"
#include "inspect/inspect.h"
#include "loaded/loaded.h"
#include "problem/layout.h"
#include "schedule/schedule.h"
#include "worker/ahead.h"
#include "worker/contenders.h"
#include "worker/metrics.h"
#include "worker/wire.h"
#include "sandbox/sandbox.h"
#include "worker/worker.h"

typedef struct server {
    const char   *name;
    gs_device    *device;      /* NULL until a request needs it */
    gs_verifier  *verifier;
    gs_sandbox    sandbox;     /* where user kernels are compiled */
    gs_contenders contenders;
    gs_contender  yardstick;   /* cuBLAS, for part 4 */
    bool          yardstick_tried;
    bool          lost;        /* a kernel faulted: this reply is the last */
} server;

static gs_status need_device(server *s, const json_t *request, gs_error *error)
{
    if (!s->device) GS_TRY(gs_device_open(&s->device, s->name, gs_reply_string(request, "cache", NULL), error));
    s->contenders.device = s->device;
    s->device->user_compiler = &s->sandbox.compiler;
    s->device->inspector = &gs_inspect_user_kernels;
    const bool dependent = gs_reply_bool(request, "dependent", false);
    if (dependent != s->device->dependent) gs_contenders_clear(&s->contenders);   /* plans were made for the other setting */
    s->device->dependent = dependent;
    return GS_OK;
}

static gs_status need_verifier(server *s, const json_t *request, gs_error *error)
{
    GS_TRY(need_device(s, request, error));
    return s->verifier ? GS_OK : gs_verifier_create(&s->verifier, s->device, error);
}

static gs_status need_problem(const json_t *request, gs_problem *problem, gs_error *error)
{
    const char *const text = gs_reply_string(request, "problem", NULL);
    if (!text) return gs_fail(error, GS_ERROR_ARGUMENT, "problem", "the request names no problem");
    GS_TRY(gs_problem_parse(problem, text, error));
    return gs_problem_check(problem, error);
}

/* Takes the user kernel of a request. A request without one drops the previous kernel with its workspace, which may be large. */
static gs_status take_kernel(server *s, const json_t *request, gs_error *error)
{
    const json_t *const kernel = json_object_get(request, "kernel");
    if (!kernel) {
        gs_contenders_forget_user_kernel(&s->contenders);
        return GS_OK;
    }
    s->sandbox.limit_s = gs_reply_number(kernel, "compile_s", 0);
    return gs_contenders_user_kernel(&s->contenders, gs_reply_string(kernel, "name", ""), gs_reply_string(kernel, "source", ""),
                                 gs_reply_string(kernel, "manifest", ""), error);
}

static void put_problem(gs_json *json, const gs_problem *problem)
{
    char text[GS_PROBLEM_TEXT];
    gs_json_string(json, "problem", gs_problem_format(problem, text));
}

/* The candidate of a request, compiled and loaded. Nothing is launched: a failure is about the candidate's text, or the machine. */
static gs_status need_candidate(server *s, const json_t *request, gs_prepared **entry, gs_error *error)
{
    gs_problem problem;
    GS_TRY(need_problem(request, &problem, error));
    GS_TRY(need_device(s, request, error));
    gs_contenders_begin(&s->contenders, &problem);
    GS_TRY(take_kernel(s, request, error));
    GS_TRY(gs_contenders_get(&s->contenders, gs_reply_string(request, "candidate", ""), &problem, entry, error));
    if ((*entry)->status != GS_OK) *error = (*entry)->error;
    return (*entry)->status;
}

/* ---- hello ---- */

static gs_status hello(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    GS_TRY(need_device(s, request, error));
    const gs_caps *const caps = &s->device->caps;
    gs_json_string(json, "device", s->device->name);
    gs_json_int(json, "cublaslt", caps->emulated ? 0 : gs_library_version(NULL));
    gs_json_int(json, "nvrtc", gs_compiler_version(NULL));
    gs_caps_put(json, caps);
    return GS_OK;
}

/* ---- compile ---- */

static gs_status compile(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    gs_prepared *entry;
    GS_TRY(need_candidate(s, request, &entry, error));
    gs_json_int(json, "registers", entry->contender.registers);
    gs_json_int(json, "smem", entry->contender.smem);
    gs_json_string(json, "detail", entry->contender.detail);
    if (s->sandbox.unfiltered) gs_json_bool(json, "unfiltered", true);
    return GS_OK;
}

/* ---- precompile ---- */

/* Inspects the source and compiles it; forbidden PTX and errors of the assembler are found when it is loaded. */
static gs_status precompile_user(server *s, const gs_caps *caps, const char *cache, gs_error *error)
{
    const gs_kernel *const kernel = &s->contenders.user.kernel;
    gs_kernel_source source;
    gs_image image = {0};
    GS_TRY(gs_inspect_user_kernels.source(kernel->name, kernel->source, error));
    gs_kernel_to_source(kernel, &source);
    source.source.ptx = true;
    source.source.compiler = &s->sandbox.compiler;
    const gs_status status = gs_compile_cached(caps->target, cache, &source.source, &image, error);
    gs_image_free(&image);
    return status;
}

/* For a device that this process does not open. Edge problems that the schedule refuses are skipped. */
static gs_status precompile(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    gs_caps caps;
    gs_problem problem;
    gs_schedule schedule;
    char cache[GS_PATH];
    (void)json;
    GS_TRY(need_problem(request, &problem, error));
    gs_caps_take(request, &caps);
    gs_cache_choose(cache, gs_reply_string(request, "cache", NULL));
    GS_TRY(take_kernel(s, request, error));
    if (json_object_get(request, "kernel")) return precompile_user(s, &caps, cache, error);
    GS_TRY(gs_schedule_parse(&schedule, gs_reply_string(request, "candidate", ""), error));
    if (!gs_reply_bool(request, "edges", false)) return gs_compile_ahead(&caps, &problem, &schedule, cache, error);
    for (int i = 0; i < gs_verify_edges_count(); i++) {
        const gs_problem edge = gs_verify_edge(&problem, i);
        gs_compile_ahead(&caps, &edge, &schedule, cache, NULL);
    }
    return GS_OK;
}

/* ---- metrics ---- */

/* Of the kernel as it is compiled, or of one launch. */
static gs_status metrics(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    gs_prepared *entry;
    GS_TRY(need_candidate(s, request, &entry, error));
    gs_text lines = {0};
    gs_status status = gs_reply_bool(request, "launch", false) ? gs_metrics_launch(s->device, &entry->contender, &entry->problem, &lines, error)
                                                               : gs_metrics_static(s->device, &entry->contender, &entry->problem, &lines, error);
    if (status == GS_OK && lines.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for metrics");
    if (status == GS_OK) gs_json_string(json, "metrics", gs_text_string(&lines));
    gs_text_free(&lines);
    return status;
}

/* ---- verify ---- */

/* cuBLAS; NULL where it is not available: part 4 then uses its analytic bound. */
static gs_contender *need_yardstick(server *s)
{
    gs_error why = {0};
    if (s->device->caps.emulated) return NULL;
    if (!s->yardstick_tried && gs_baseline_create(&s->yardstick, s->device, "cublaslt-heuristic", NULL, &why) != GS_OK) {
        s->yardstick = (gs_contender){0};
        gs_log(GS_LOG_WARNING, "no yardstick: %s", why.text);
    }
    s->yardstick_tried = true;
    return s->yardstick.prepare ? &s->yardstick : NULL;
}

static void put_resources(gs_json *json, const char *name, const gs_problem *problem, const gs_caps *caps)
{
    gs_schedule schedule;
    gs_resources resources = {0};
    if (gs_schedule_parse(&schedule, name, NULL) == GS_OK && gs_schedule_check(&schedule, problem, caps, NULL) == GS_OK)
        resources = gs_schedule_resources(&schedule, problem, caps);
    gs_json_int(json, "registers", resources.registers);
    gs_json_int(json, "smem", resources.smem);
}

static void put_verdict(gs_json *json, const gs_verdict *verdict, const gs_problem *problem)
{
    gs_json_string(json, "verdict", gs_verdict_name(verdict->code));
    gs_json_int(json, "part", verdict->part);
    if (verdict->problem[0])
        gs_json_string(json, "problem", verdict->problem);
    else
        put_problem(json, problem);
    gs_json_int(json, "mismatches", verdict->mismatches);
    gs_json_int(json, "row", verdict->row);
    gs_json_int(json, "col", verdict->col);
    gs_json_double(json, "got", verdict->got);
    gs_json_double(json, "want", verdict->want);
    gs_json_double(json, "error", verdict->error);
    gs_json_double(json, "limit", verdict->limit);
    gs_json_string(json, "reason", verdict->reason);
}

static gs_status verify(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    gs_problem problem;
    gs_layout layout;
    char name[GS_CONTENDER_NAME];
    GS_TRY(need_problem(request, &problem, error));
    GS_TRY(gs_contender_split(gs_reply_string(request, "candidate", ""), &problem, &layout, name, error));
    GS_TRY(need_verifier(s, request, error));
    gs_contenders_begin(&s->contenders, &problem);
    GS_TRY(take_kernel(s, request, error));
    problem = gs_problem_in_layout(&problem, layout);

    const int64_t started = gs_clock_ns();
    gs_contender contender;
    gs_verdict verdict = {.row = -1, .col = -1};
    gs_status status = gs_contender_named(&s->contenders, &contender, name, error);
    if (status != GS_OK) return status;
    gs_verify_options options = {
        .parts     = (uint32_t)gs_reply_int(request, "parts", GS_PART_ALL),
        .seed      = (uint64_t)gs_reply_int(request, "seed", 0),
        .repeats   = (int)gs_reply_int(request, "repeats", 0),
        .yardstick = need_yardstick(s),
    };
    status = gs_verify(s->verifier, &contender, &problem, &options, &verdict, error);
    if (status == GS_OK) {
        s->lost = verdict.code == GS_VERDICT_FAULT && !s->device->caps.emulated;
        put_verdict(json, &verdict, &problem);
        gs_json_string(json, "detail", contender.detail);
        gs_json_bool(json, "cublaslt", contender.cublaslt);
        gs_json_bool(json, "yardstick", options.yardstick != NULL);
        put_resources(json, name, &problem, &s->device->caps);
        gs_json_double(json, "seconds", (double)(gs_clock_ns() - started) * 1e-9);
    }
    if (!s->lost && status != GS_ERROR_FAULT) contender.destroy(&contender);
    return status;
}

/* ---- bench ---- */

typedef struct bench_list {
    int          asked, runs;
    gs_prepared *asked_entry[GS_MAX_CONTENDERS];
    int          place[GS_MAX_CONTENDERS];        /* index of an asked entry among those that run; -1: it cannot run */
    gs_contender contenders[GS_MAX_CONTENDERS];   /* those that run; copies, the cache owns them */
    gs_problem   problems[GS_MAX_CONTENDERS];
} bench_list;

static gs_status prepare_list(server *s, const json_t *request, const gs_problem *problem, bench_list *list, gs_error *error)
{
    const json_t *const names = json_object_get(request, "contenders");
    list->asked = (int)json_array_size(names);
    if (list->asked < 1 || list->asked > GS_MAX_CONTENDERS)
        return gs_fail(error, GS_ERROR_RANGE, "contenders", "a bench request takes 1 to %d contenders", GS_MAX_CONTENDERS);
    for (int i = 0; i < list->asked; i++) {
        const char *const text = json_string_value(json_array_get(names, (size_t)i));
        if (!text) return gs_fail(error, GS_ERROR_PARSE, "contenders", "entry %d is no string", i);
        gs_prepared *entry;
        GS_TRY(gs_contenders_get(&s->contenders, text, problem, &entry, error));
        if (entry->status == GS_ERROR_FAULT) {
            *error = entry->error;
            return GS_ERROR_FAULT;
        }
        list->asked_entry[i] = entry;
        list->place[i] = -1;
        if (entry->status != GS_OK) continue;
        list->place[i] = list->runs;
        list->contenders[list->runs] = entry->contender;
        list->problems[list->runs++] = entry->problem;
    }
    return GS_OK;
}

static gs_status bench_options_from(const json_t *request, int asked, gs_bench_options *options, gs_error *error)
{
    const char *const mode = gs_reply_string(request, "mode", "offline");
    *options = gs_bench_defaults();
    if (strcmp(mode, "offline") != 0 && strcmp(mode, "server") != 0)
        return gs_fail(error, GS_ERROR_PARSE, "mode", "%.20s: offline or server", mode);
    options->mode = strcmp(mode, "server") == 0 ? GS_MODE_SERVER : GS_MODE_OFFLINE;
    options->warm = gs_reply_bool(request, "warm", options->warm);
    options->rounds = (int)gs_reply_int(request, "rounds", options->rounds);
    options->warmup_s = gs_reply_number(request, "warmup_s", options->warmup_s);
    options->budget_s = gs_reply_number(request, "budget_s", options->budget_s);
    options->replay_us = gs_reply_number(request, "replay_us", options->replay_us);
    options->target_qps = gs_reply_number(request, "target_qps", options->target_qps);
    options->call_time = gs_reply_bool(request, "call_time", options->call_time);
    options->check = gs_reply_bool(request, "check", true);
    options->narrow = gs_reply_bool(request, "narrow", false);
    options->slow = gs_reply_number(request, "slow", 0);
    options->behind = gs_reply_bool(request, "behind", false);
    options->seed = (uint64_t)gs_reply_int(request, "seed", (int64_t)(options->seed & INT64_MAX));
    if (!gs_routing_parse(gs_reply_string(request, "routing", "random"), &options->routing))
        return gs_fail(error, GS_ERROR_PARSE, "routing", "%.20s: random or skewed", gs_reply_string(request, "routing", ""));
    options->reference = (int)gs_reply_int(request, "reference", 0);
    if (options->reference < 0 || options->reference >= asked)
        return gs_fail(error, GS_ERROR_RANGE, "reference", "%d is not the index of a contender", options->reference);
    return GS_OK;
}

static void put_ratio(gs_json *json, const char *name, const gs_ratio *ratio)
{
    gs_json_begin(json, name, '{');
    gs_json_double(json, "median", ratio->median);
    gs_json_double(json, "low", ratio->low);
    gs_json_double(json, "high", ratio->high);
    gs_json_string(json, "verdict", gs_comparison_name(ratio->verdict));
    gs_json_end(json, '}');
}

static void put_samples(gs_json *json, const char *name, const double *us, int count)
{
    gs_json_begin(json, name, '[');
    for (int i = 0; i < count; i++) gs_json_double(json, NULL, us[i]);
    gs_json_end(json, ']');
}

static void put_clocks(gs_json *json, const char *name, const gs_clocks *clocks)
{
    gs_json_begin(json, name, '{');
    gs_json_int(json, "sm_mhz", clocks->sm_mhz);
    gs_json_int(json, "memory_mhz", clocks->memory_mhz);
    gs_json_double(json, "power_w", clocks->power_w);
    gs_json_double(json, "temperature_c", clocks->temperature_c);
    gs_json_end(json, '}');
}

static void put_figures(gs_json *json, const gs_samples *samples, int rounds, bool ratios, bool raw)
{
    if (samples->device_us) {
        gs_json_double(json, "device_us", samples->device_median);
        if (samples->untrusted[0]) gs_json_string(json, "untrusted", samples->untrusted);
        if (ratios) put_ratio(json, "device_ratio", &samples->device);
        if (raw) put_samples(json, "device_samples", samples->device_us, rounds);
    }
    if (samples->call_us) {
        gs_json_double(json, "call_us", samples->call_median);
        gs_json_double(json, "call_p50", samples->call_p50);
        gs_json_double(json, "call_p95", samples->call_p95);
        gs_json_double(json, "call_p99", samples->call_p99);
        if (ratios) put_ratio(json, "call_ratio", &samples->call);
        if (raw) put_samples(json, "call_samples", samples->call_us, rounds);
    }
}

static void put_entry(gs_json *json, const gs_prepared *entry, const gs_samples *samples, int all_rounds, bool ratios, bool raw)
{
    const int rounds = samples ? samples->rounds : 0;
    const gs_status status = samples ? samples->status : entry->status;
    const gs_error *const why = samples ? &samples->error : &entry->error;
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "name", entry->name);
    gs_json_string(json, "layout", gs_layout_name(entry->layout));
    put_problem(json, &entry->problem);
    gs_json_string(json, "status", gs_status_name(status));
    gs_json_string(json, "message", status == GS_OK ? "" : why->text);
    gs_json_string(json, "detail", entry->contender.detail);
    gs_json_int(json, "suggestion", entry->contender.suggestion);
    gs_json_bool(json, "wrong", samples && samples->wrong);
    gs_json_int(json, "mismatches", samples ? samples->compare.mismatches : 0);
    if (samples && rounds < all_rounds) gs_json_int(json, "rounds", rounds);
    if (samples && status == GS_OK && !samples->wrong) put_figures(json, samples, rounds, ratios, raw);
    gs_json_end(json, '}');
}

static void put_measurement(gs_json *json, const bench_list *list, const gs_bench_options *options,
                            const gs_measurement *measured, int reference, bool dependent, bool raw)
{
    const int rounds = measured ? measured->rounds : 0;
    gs_json_int(json, "reference", reference);
    gs_json_string(json, "mode", options->mode == GS_MODE_SERVER ? "server" : "offline");
    if (measured && measured->predicted) gs_json_bool(json, "predicted", true);
    if (dependent) gs_json_bool(json, "dependent", true);
    if (options->behind) gs_json_bool(json, "behind", true);
    if (list->asked_entry[0]->problem.groups) gs_json_string(json, "routing", gs_routing_name(options->routing));
    gs_json_int(json, "rounds", rounds);
    gs_json_int(json, "calls", measured ? measured->calls : 0);
    gs_json_int(json, "sets", measured ? measured->sets : 0);
    gs_json_double(json, "seconds", measured ? measured->seconds : 0);
    if (measured) {
        gs_json_begin(json, "clocks", '{');
        put_clocks(json, "before", &measured->before);
        put_clocks(json, "after", &measured->after);
        gs_json_end(json, '}');
    }
    gs_json_begin(json, "contenders", '[');
    for (int i = 0; i < list->asked; i++) {
        const gs_samples *const samples = measured && list->place[i] >= 0 ? &measured->samples[list->place[i]] : NULL;
        put_entry(json, list->asked_entry[i], samples, rounds, reference >= 0, raw);
    }
    gs_json_end(json, ']');
}

static gs_status bench(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    gs_problem problem;
    GS_TRY(need_problem(request, &problem, error));
    GS_TRY(need_verifier(s, request, error));
    gs_contenders_begin(&s->contenders, &problem);
    GS_TRY(take_kernel(s, request, error));
    bench_list *const list = calloc(1, sizeof *list);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a bench request");
    gs_measurement *measured = NULL;
    gs_bench_options options;
    gs_status status = prepare_list(s, request, &problem, list, error);
    if (status == GS_OK) status = bench_options_from(request, list->asked, &options, error);
    if (status == GS_OK) {
        /* If the reference cannot run, the others are still timed, against the first that can, and no ratio is given. */
        int reference = options.reference;
        options.reference = GS_MAX(list->place[reference], 0);
        if (list->runs > 0)
            status = gs_bench(s->device, s->verifier, list->problems, list->contenders, list->runs, &options, &measured, error);
        for (int i = 0; i < list->asked; i++)   /* the timing may have updated it */
            if (list->place[i] >= 0) memcpy(list->asked_entry[i]->contender.detail, list->contenders[list->place[i]].detail, sizeof list->contenders[0].detail);
        if (list->place[reference] < 0 ||
            (measured && (measured->samples[options.reference].status != GS_OK || measured->samples[options.reference].wrong)))
            reference = -1;
        if (status == GS_OK)
            put_measurement(json, list, &options, measured, reference, s->device->dependent, gs_reply_bool(request, "samples", false));
    }
    gs_measurement_destroy(&measured);
    free(list);
    return status;
}

/* ---- the loop ---- */

/* legend: op, what answers it: writes the reply's fields, or returns why not */
static const struct {
    const char *op;
    gs_status (*answer)(server *, const json_t *, gs_json *, gs_error *);
} answers[] = {
    {"hello",   hello},
    {"compile", compile},
    {"precompile", precompile},
    {"metrics", metrics},
    {"verify",  verify},
    {"bench",   bench},
};

static gs_status answer(server *s, const json_t *request, gs_json *json, gs_error *error)
{
    const char *const op = gs_reply_string(request, "op", "");
    for (size_t i = 0; i < GS_COUNT(answers); i++)
        if (strcmp(op, answers[i].op) == 0) return answers[i].answer(s, request, json, error);
    return gs_fail(error, GS_ERROR_NOT_FOUND, "op", "'%.40s' is not an operation of the worker", op);
}

static void put_failure(gs_text *text, gs_status status, const gs_error *error)
{
    gs_text_clear(text);
    gs_json json = gs_json_into(text);
    gs_json_begin(&json, NULL, '{');
    gs_json_bool(&json, "ok", false);
    gs_json_string(&json, "status", gs_status_name(status));
    gs_json_string(&json, "field", error->field);
    gs_json_int(&json, "column", error->column);
    gs_json_string(&json, "message", error->text);
}

static void reply_to(server *s, const char *line, gs_text *text)
{
    gs_error error = {0};
    json_error_t parse;
    json_t *const request = json_loads(line, 0, &parse);
    gs_text_clear(text);
    gs_json json = gs_json_into(text);
    gs_json_begin(&json, NULL, '{');
    gs_json_bool(&json, "ok", true);
    gs_status status = json_is_object(request)
                           ? answer(s, request, &json, &error)
                           : gs_fail_at(&error, GS_ERROR_PARSE, parse.column, "request", "no JSON object: %.200s", parse.text);
    json_decref(request);
    if (status == GS_OK && text->failed) status = gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory for the reply");
    if (status == GS_ERROR_FAULT || s->sandbox.pid == 0) s->lost = true;   /* only a fresh process can fork another sandbox */
    if (status != GS_OK) put_failure(text, status, &error);
    gs_text_add(text, s->lost ? ",\"last\":true}\n" : "}\n");
}

static bool write_all(int to, const gs_text *text)
{
    for (size_t at = 0; at < text->size;) {
        const ssize_t wrote = write(to, text->data + at, text->size - at);
        if (wrote < 0) return false;
        at += (size_t)wrote;
    }
    return !text->failed;
}

static void close_device(server *s)
{
    if (s->yardstick.destroy) s->yardstick.destroy(&s->yardstick);
    gs_contenders_clear(&s->contenders);
    gs_verifier_destroy(&s->verifier);
    gs_device_close(&s->device);
}

int gs_worker_serve(const char *device)
{
    const int to = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (to < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
    server s = {.name = device};
    gs_error error = {0};
    if (gs_sandbox_start(&s.sandbox, &error) != GS_OK) fprintf(stderr, "%s\n", error.text);   /* then every reply ends this process */
    gs_text text = {0};
    char *line = NULL;
    size_t capacity = 0;
    bool written = true;
    while (written && !s.lost && getline(&line, &capacity, stdin) > 0) {
        reply_to(&s, line, &text);
        written = write_all(to, &text);
    }
    free(line);
    gs_text_free(&text);
    gs_sandbox_stop(&s.sandbox);
    close(to);
    if (s.lost) return GS_WORKER_LOST;   /* what is left on the device goes with the process */
    close_device(&s);
    return written ? 0 : 1;
}

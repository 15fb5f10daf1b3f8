/* SPDX-License-Identifier: MIT
 * gemmsmith eval: times contenders against each other, problem by problem (src/compare). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/version.h"
#include "command.h"
#include "compare/compare.h"
#include "compare/totals.h"
#include "device/device.h"
#include "output.h"
#include "problem/layout.h"
#include "problems.h"
#include "session.h"
#include "tune/tune.h"

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    double      warmup, benchmark, qps, budget;
    const char *base_dir, *csv, *rows, *store, *device, *contenders, *schedule, *own, *tuned;
    int64_t     gpu, rounds, seed;
    int         mode, cache, call_time, routing;
    bool        json, resume, again, torch, dependent, quick, record, behind;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "how B is stored; default both, and the best of both"),
    {"mode",              0, CLI_CHOICE,  offsetof(settings, mode),       "offline|server", "calls back to back, or with random pauses; default offline"},
    {"target-qps",        0, CLI_NUMBER,  offsetof(settings, qps),        "Q",     "server: calls per second; default 100", 1e-3, 1e6},
    {"cache",             0, CLI_CHOICE,  offsetof(settings, cache),      "cold|warm", "operands outside the L2 cache, or the same ones again; default cold"},
    {"routing",           0, CLI_CHOICE,  offsetof(settings, routing),    "random|skewed", "groups: every row to any, or half of the rows to the first\neighth; default random"},
    {"behind",            0, CLI_FLAG,    offsetof(settings, behind),     NULL,    "offline: an element-wise kernel over A before each call, as in a\nmodel; its time is part of every figure"},
    {"rounds",            0, CLI_INT,     offsetof(settings, rounds),     "N",     "interleaved rounds (server: calls per contender);\n"
     "default 30 (server 200)", 5, 1e5},
    {"warmup-seconds",    0, CLI_SECONDS, offsetof(settings, warmup),     "TIME",  "warm-up before the first round; default 0.05", 0, 3600},
    {"benchmark-seconds", 0, CLI_SECONDS, offsetof(settings, benchmark),  "TIME",  "measure that long instead of a number of rounds", 1e-3, 86400},
    {"contenders",        0, CLI_TEXT,    offsetof(settings, contenders), "LIST",  "default " GS_CONTENDERS_DEFAULT ";\n"
     "also schedule strings, measured: a plan that races when it is made,\n"
     "own: the schedule that a search found. Behind a schedule @plain or\n@dependent: its launches are so, whatever --dependent says"},
    {"own",               0, CLI_TEXT,    offsetof(settings, own),        "FILE",  "schedules of the contender own: lines 'PROBLEM SCHEDULE', a tuned\n"
     "table or output of tune --json; default: from the store"},
    {"record",            0, CLI_FLAG,    offsetof(settings, record),     NULL,    "write the faster of own and cublaslt-autotuning to store and table"},
    {"tuned",             0, CLI_KEPT,    offsetof(settings, tuned),      "FILE",  "--record: tuned table to write; default: the user's of this GPU"},
    {"schedule",          0, CLI_TEXT,    offsetof(settings, schedule),   "S",     "use this schedule in place of the plan's choice"},
    {"quick",             0, CLI_FLAG,    offsetof(settings, quick),      NULL,    "for many problems: 21 rounds (11 where a call takes a millisecond)\n"
     "and no call time, unless --rounds or --call-time is given"},
    {"call-time",         0, CLI_CHOICE,  offsetof(settings, call_time),  "yes|no", "offline: also measure with the host's clock; default yes,\nwith --quick no"},
    {"budget",            0, CLI_SECONDS, offsetof(settings, budget),     "TIME",  "start no problem after this time; default: no limit", 1, 1e9},
    {"torch",             0, CLI_FLAG,    offsetof(settings, torch),      NULL,    "also compare torch.matmul with our plan, in a Python process"},
    {"base-dir",          0, CLI_TEXT,    offsetof(settings, base_dir),   "DIR",   "also write every result to this folder, one JSON file per problem"},
    {"csv",               0, CLI_OUTPUT,  offsetof(settings, csv),        "FILE",  "also write the raw rows: every round of every contender"},
    {"rows",              0, CLI_OUTPUT,  offsetof(settings, rows),       "FILE",  "also append a line per contender with medians and ratios;\n"
     "problems that the file has already are skipped"},
    {"store",             0, CLI_TEXT,    offsetof(settings, store),      "FILE",  "database of finished problems;\n"
     "default $GEMMSMITH_STORE, else the user's"},
    {"resume",            0, CLI_FLAG,    offsetof(settings, resume),     NULL,    "take finished problems from the store (the default)"},
    {"again",             0, CLI_FLAG,    offsetof(settings, again),      NULL,    "measure everything again"},
    {"seed",              0, CLI_INT,     offsetof(settings, seed),       "N",     "random seed of the data and of the pauses; default 1", 1, 9e15},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"gpu-device-id",     0, CLI_INT,     offsetof(settings, gpu),        "N",     "the same as --device cuda:N", 0, 1023},
    {"json",              0, CLI_FLAG,    offsetof(settings, json),       NULL,    "one JSON object per problem"},
    {NULL},
};

/* ---- what is asked ---- */

static int read_names(const cli_command *command, const settings *s, const char *list, gs_contender_names *out)
{
    char failed[GS_CONTENDER_NAME];
    gs_error error;
    if (gs_contender_names_read(out, list, s->schedule, failed, &error) == GS_OK) return -1;
    return *failed ? cli_fail(command, failed, &error) : cli_usage(command, "--contenders: %s", error.text);
}

/* Each problem once, in the first of its layouts: its other layouts are measured together with it. */
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

static int check_record(const cli_command *command, const settings *s, const gs_contender_names *names)
{
    if (s->own && !gs_contender_names_have(names, GS_RESULT_OWN)) return cli_usage(command, "--own needs the contender own in --contenders");
    if (s->tuned && !s->record) return cli_usage(command, "--tuned, a table to write, needs --record; GEMMSMITH_TUNED=FILE names one to read");
    if (s->behind && s->mode) return cli_usage(command, "--behind is of offline mode");
    if (!s->record) return -1;
    if (!gs_contender_names_have(names, GS_RESULT_OWN)) return cli_usage(command, "--record needs the contender own in --contenders");
    if (s->mode || s->cache || s->behind) return cli_usage(command, "--record needs offline mode, a cold cache and no --behind");
    return -1;
}

/* ---- what is printed ---- */

static void print_head(const cli_session *session)
{
    char driver[GS_CUDA_VERSION_TEXT], cublaslt[GS_CUDA_VERSION_TEXT], nvrtc[GS_CUDA_VERSION_TEXT];
    if (session->caps.emulated) {
        printf("%s, NVRTC %s, gemmsmith %s\n%s\n", session->caps.name, gs_format_cuda_version(session->nvrtc, nvrtc), session->session.version,
               session->command);
        printf("times are predicted by %s, none is measured; cuBLAS and cuBLASLt, which need a GPU, are left out\n", session->worker.device);
        return;
    }
    printf("%s, driver CUDA %s, cuBLASLt %s, NVRTC %s, gemmsmith %s\n%s\n", session->caps.name,
           gs_format_cuda_version(session->caps.driver, driver), gs_format_library_version(session->cublaslt, cublaslt),
           gs_format_cuda_version(session->nvrtc, nvrtc), session->session.version, session->command);
    printf("ratio: time of " GS_RESULT_REFERENCE " in the same layout / this time, over 1 is faster; 95 %% interval\n");
}

static void print_ratio(const gs_ratio *ratio)
{
    const char *const colour = ratio->verdict == GS_FASTER ? cli_green() : ratio->verdict == GS_SLOWER ? cli_red() : "";
    printf("%s%.3f%s [%.3f, %.3f] %s", colour, ratio->median, *colour ? cli_plain() : "", ratio->low, ratio->high,
           gs_comparison_name(ratio->verdict));
}

/* A column of microseconds; "-" where nothing was measured. */
static void print_us(double us)
{
    if (isnan(us))
        printf("  %10s", "-");
    else
        printf("  %10.2f", us);
}

static void print_entry(const gs_result *row, const gs_result_entry *entry)
{
    printf("  %-32s %s", entry->name, entry->layout);
    if (!entry->ran) {
        printf("  not run: %s\n", entry->message);
        return;
    }
    if (entry->wrong) {
        printf("  %sWRONG RESULT%s in a timed run: no figures\n", cli_red(), cli_plain());
        return;
    }
    print_us(entry->device_us);
    if (row->server) {
        print_us(entry->p50);
        print_us(entry->p95);
        print_us(entry->p99);
    } else {
        if (isnan(entry->device_us))
            printf("  %8s  %7s", "-", "-");
        else
            printf("  %8.1f  %6.1f%%", gs_problem_flops(&row->problem) / entry->device_us * 1e-6,
                   100 * row->floor_us / entry->device_us);
        print_us(entry->call_us);
    }
    printf("  ");
    if (entry->compared) print_ratio(&entry->ratio);
    printf("\n");
}

/* torch.matmul: times and ratios from a separate run. */
static void print_torch(const json_t *torch)
{
    static const char *const layouts[] = {"nn", "tn"};
    const char *const message = json_string_value(json_object_get(torch, "message"));
    if (message) printf("  torch.matmul not run: %s\n", message);
    const json_t *const contenders = json_object_get(torch, "contenders"), *const ratios = json_object_get(torch, "ratio");
    for (size_t i = 0; i < GS_COUNT(layouts) && contenders; i++) {
        char name[32];
        snprintf(name, sizeof name, "torch-%s", layouts[i]);
        const json_t *const theirs = json_object_get(contenders, name);
        snprintf(name, sizeof name, "gemmsmith-%s", layouts[i]);
        const json_t *const ours = json_object_get(contenders, name), *const ratio = json_object_get(ratios, layouts[i]);
        printf("  in a Python process, %s: torch.matmul %.2f us%s, plan %.2f us%s, ratio %.3f [%.3f, %.3f]\n", layouts[i],
               json_number_value(json_object_get(theirs, "us")), json_is_true(json_object_get(theirs, "wrong")) ? " WRONG" : "",
               json_number_value(json_object_get(ours, "us")), json_is_true(json_object_get(ours, "wrong")) ? " WRONG" : "",
               json_number_value(json_object_get(ratio, "median")), json_number_value(json_object_get(ratio, "low")),
               json_number_value(json_object_get(ratio, "high")));
    }
}

static void print_details(const gs_result *row)
{
    const char *const asked = json_string_value(json_object_get(row->json, "own"));
    bool known = !asked || strcmp(asked, GS_RESULT_OWN) != 0;
    for (int i = 0; i < row->count; i++) known |= row->entry[i].own;
    if (!known) printf("  own not run: no search has a schedule for this problem; gemmsmith tune finds one\n");
    for (int i = 0; i < row->count; i++)
        if (row->entry[i].own && row->entry[i].ran && *row->entry[i].detail)
            printf("  %s %s: %s\n", row->entry[i].name, row->entry[i].layout, row->entry[i].detail);
    print_torch(json_object_get(row->json, "torch"));
}

/* An emulated device's result has one clock, no spread and nothing to compare with. */
static void print_predicted(const gs_result *row)
{
    printf("\n%s  floor %.2f us (work %s us)%s\n", row->title, row->floor_us, gs_result_bands[row->band], row->resumed ? "  (from the store)" : "");
    printf("  %-32s %s  %12s  %8s  %7s\n", "contender", "B ", "predicted us", "TFLOP/s", "% floor");
    for (int i = 0; i < row->count; i++) {
        const gs_result_entry *const entry = &row->entry[i];
        if (!entry->ran || entry->wrong || isnan(entry->device_us))
            print_entry(row, entry);
        else
            printf("  %-32s %s  %12.2f  %8.1f  %6.1f%%\n", entry->name, entry->layout, entry->device_us,
                   gs_problem_flops(&row->problem) / entry->device_us * 1e-6, 100 * row->floor_us / entry->device_us);
        if (*entry->untrusted) printf("    not to be trusted: %s\n", entry->untrusted);
    }
    print_details(row);
}

static void print_row(const gs_result *row)
{
    const json_t *const clocks = json_object_get(row->json, "clocks");
    const json_t *const before = json_object_get(json_object_get(clocks, "before"), "sm_mhz");
    const json_t *const after = json_object_get(json_object_get(clocks, "after"), "sm_mhz");
    const char *const cache = json_string_value(json_object_get(row->json, "cache"));
    if (row->predicted) {
        print_predicted(row);
        return;
    }
    printf("\n%s  floor %.2f us (work %s us), %d %s, %s cache", row->title, row->floor_us, gs_result_bands[row->band],
           (int)json_integer_value(json_object_get(row->json, "rounds")), row->server ? "requests" : "rounds", cache ? cache : "?");
    printf("%s%s%s", row->behind ? ", behind an element-wise kernel" : "", row->dependent ? ", dependent launches" : "", !row->problem.groups ? "" : row->skewed ? ", skewed routing" : ", random routing");
    if (json_integer_value(before) > 0)
        printf(", SM clock %d -> %d MHz", (int)json_integer_value(before), (int)json_integer_value(after));
    printf("%s\n", row->resumed ? "  (from the store)" : "");
    if (row->problem.invariant) printf("  cuBLAS and cuBLASLt compute the product: the bits of their rows depend on M\n");
    if (row->server)
        printf("  %-32s %s  %10s  %10s  %10s  %10s  %s\n", "contender", "B ", "device us", "call p50", "call p95", "call p99",
               "ratio of call time");
    else
        printf("  %-32s %s  %10s  %8s  %7s  %10s  %s\n", "contender", "B ", "device us", "TFLOP/s", "% floor", "call us",
               "ratio of device time");
    for (int i = 0; i < row->count; i++) print_entry(row, &row->entry[i]);
    if (row->best_compared) {
        const gs_result_entry *const own = &row->entry[row->best_own], *const reference = &row->entry[row->best_reference];
        printf("  best of both: ");
        print_ratio(&row->best);
        printf(" (%s %s against %s-max, %s)\n", own->name, own->layout, reference->name, reference->layout);
    }
    print_details(row);
}

/* ---- over many problems ---- */

/* band -1: all bands. */
static void print_group(const gs_totals *totals, const char *label, gs_totals_group group, int band)
{
    gs_totals_figures f;
    if (!gs_totals_of(totals, group, band, &f)) return;
    printf("  %-22s %8d  %8.3f  %8.3f  %7.1f%%  %7.1f%%  %8.3f\n", label, f.count, f.mean, f.median, 100.0 * f.faster / f.count, 100.0 * f.slower / f.count, f.worst);
}

static void print_totals(const gs_totals *totals)
{
    if (totals->count == 0) return;
    printf("\n%d problems against " GS_RESULT_REFERENCE ", ratios of %s time\n", totals->problems, totals->server ? "call" : "device");
    printf("  %-22s %8s  %8s  %8s  %8s  %8s  %8s\n", "", "problems", "geomean", "median", "faster", "slower", "worst");
    print_group(totals, "nn", GS_TOTALS_NN, -1);
    print_group(totals, "tn", GS_TOTALS_TN, -1);
    print_group(totals, "best of both", GS_TOTALS_BEST, -1);
    for (int band = 0; band < 6; band++) {
        char label[32];
        snprintf(label, sizeof label, "  work %s us", gs_result_bands[band]);
        print_group(totals, label, GS_TOTALS_BEST, band);
    }
}

/* ---- the command ---- */

typedef struct evaluation {
    const cli_command *command;
    cli_session       *session;
    const settings    *s;
    gs_totals          sum;
    int                problems;
    int64_t            started;
} evaluation;

static void on_compiling(void *self)
{
    const evaluation *const v = self;
    cli_progress("compiling for %d problems", v->problems);
}

static void on_compiled(void *self)
{
    (void)self;
    cli_progress_clear();
}

static void on_begin(void *self, int at, const char *title, int fresh)
{
    const evaluation *const v = self;
    char left[CLI_TIME_TEXT];
    cli_progress("%d of %d  %s  %s left", at + 1, v->problems, title, cli_time_left(left, v->started, fresh, fresh + v->problems - at));
}

static void on_estimate(void *self, const char *title, double seconds)
{
    const evaluation *const v = self;
    char what[GS_PROBLEM_TEXT + 32];
    snprintf(what, sizeof what, "evaluating %s", title);
    cli_announce(&v->session->caps, v->session->worker.device, what, seconds);
}

static void on_finished(void *self, const gs_result *row, const char *text)
{
    evaluation *const v = self;
    cli_progress_clear();
    gs_totals_add(&v->sum, row);
    if (v->s->json)
        printf("%s\n", text);
    else
        print_row(row);
    fflush(stdout);
}

static void on_failed(void *self, const char *title, const gs_error *error)
{
    evaluation *const v = self;
    cli_fail(v->command, title, error);
    v->sum.failed++;
}

static int evaluate(evaluation *v, gs_contest *contest, const cli_problems *problems)
{
    const settings *const s = v->s;
    gs_contest_end end;
    gs_error error;
    v->problems = problems->count;
    v->started = gs_clock_ns();
    if (!s->json) print_head(v->session);
    const gs_status status = gs_contest_run(contest, problems->list, problems->count, &end, &error);
    if (end.late) cli_note("time limit reached: %d of %d problems done; run the same command again to continue", end.at, problems->count);
    cli_progress_clear();
    if (!s->json && v->sum.problems > 1) print_totals(&v->sum);
    if (end.there > 0) cli_note("%d of %d problems were in %s already", end.there, problems->count, s->rows);
    if (v->sum.resumed > 0) cli_note("%d of %d problems came from the store; --again measures them again", v->sum.resumed, problems->count);
    if (cli_stopped()) {
        if (v->sum.problems > 0) cli_note("stopped after %d of %d problems; they are kept in %s; run the same command again to continue", v->sum.problems, problems->count, gs_store_path(v->session->store));
        else cli_note("stopped before the first of %d problems was measured", problems->count);
        return cli_stopped();
    }
    if (end.late) return CLI_MORE;
    if (status != GS_OK) return cli_exit_code(status);
    return v->sum.wrong ? CLI_VERIFY : v->sum.failed ? CLI_FAILED : CLI_OK;
}

static int open_and_evaluate(evaluation *v, gs_contest_options *how, const cli_problems *problems)
{
    const settings *const s = v->s;
    char path[GS_PATH];
    gs_contest *contest;
    gs_error error = {0};
    how->table = gs_tune_table_path(path, v->session->caps.slug) ? path : NULL;
    how->record_table = s->tuned ? s->tuned : how->table;
    if (s->record && !how->record_table) return cli_usage(v->command, "no home directory for the table: name one with --tuned");
    if (s->record && !v->session->caps.emulated && !gs_contender_names_have(&how->names, GS_RESULT_REFERENCE))
        return cli_usage(v->command, "--record needs the contender " GS_RESULT_REFERENCE " in --contenders");
    if (gs_contest_open(&contest, v->session, how, &error) != GS_OK) return cli_fail(v->command, NULL, &error);
    int code = evaluate(v, contest, problems);
    if (gs_contest_close(&contest, &error) != GS_OK && code == CLI_OK) code = cli_fail(v->command, NULL, &error);
    gs_totals_free(&v->sum);
    return code;
}

static gs_contest_options options_of(const settings *s, evaluation *v)
{
    return (gs_contest_options){
        .layouts = s->asked.layouts, .schedule = s->schedule, .server = s->mode != 0, .warm = s->cache != 0, .dependent = s->dependent, .skewed = s->routing != 0, .behind = s->behind,
        .torch = s->torch, .again = s->again, .quick = s->quick, .call_time = s->call_time < 0 ? -1 : s->call_time == 0, .rounds = s->rounds,
        .seed = s->seed, .warmup_s = s->warmup, .benchmark_s = s->benchmark, .target_qps = s->qps, .budget_s = s->budget,
        .base_dir = s->base_dir, .csv = s->csv, .rows = s->rows, .record = s->record,
        .events = {v, on_compiling, on_compiled, on_begin, on_estimate, on_finished, on_failed},
    };
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked = {.layouts = 3, .acc = -1}, .warmup = -1, .qps = 100, .gpu = -1, .seed = 1, .call_time = -1};
    cli_session session = {0};
    evaluation v = {.command = command, .session = &session, .s = &s};
    cli_problems problems;
    char device[GS_DEVICE_NAME], where[GS_OWN_WHERE];
    gs_error error;
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
    gs_contest_options how = options_of(&s, &v);
    code = read_names(command, &s, s.contenders ? s.contenders : GS_CONTENDERS_DEFAULT, &how.names);
    if (code < 0) code = check_record(command, &s, &how.names);
    if (code >= 0) return code;
    if (gs_own_list_read(&how.own, s.own, where, &error) != GS_OK) return cli_fail(command, *where ? where : NULL, &error);
    code = read_problems(command, &s, words, argv + 1, &problems);
    if (code < 0) {
        code = cli_session_open(command, &session, s.device, s.dependent, true, s.store);
        if (code < 0 && session.caps.emulated && !s.contenders) code = read_names(command, &s, GS_RESULT_PLAN, &how.names);   /* an emulated device has no cuBLAS */
        if (code < 0) code = open_and_evaluate(&v, &how, &problems);
        cli_session_close(&session);   /* safe also if it was not opened */
        cli_problems_free(&problems);
    }
    gs_own_list_free(&how.own);
    return code;
}

const cli_command cli_eval = {
    .name     = "eval",
    .words    = "PROBLEM...",
    .summary  = "time this library against cuBLAS and cuBLASLt",
    .about    = "All contenders of a problem run in one process in interleaved rounds, with operands outside the\ncache, random data and verified outputs. Device time (a CUDA graph of calls between events) and call\n"
                "time (host clock around launch and wait) are kept apart; ratios are medians of paired rounds with a\nbootstrap interval. Finished problems are kept in the store: run the same command again to continue\n"
                "a run that was stopped.",
    .options  = options,
    .examples = "  gemmsmith eval --mnk 4096_4096_4096\n"
                "  gemmsmith eval --file shapes.txt --layouts tn --csv rows.csv --json > results.jsonl\n"
                "  gemmsmith eval f16:64x4096x4096:tn --mode server --target-qps 200 --benchmark-seconds 10\n"
                "  gemmsmith eval --file thousand.txt --contenders own,cublaslt-autotuning --quick --record --rows rows.csv",
    .run      = run,
};

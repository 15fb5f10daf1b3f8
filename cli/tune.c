/* SPDX-License-Identifier: MIT
 * gemmsmith tune: finds the fastest schedule of every problem and writes the tuned table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "command.h"
#include "output.h"
#include "problems.h"
#include "session.h"
#include "tune/tune.h"
#include "tuned.h"

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    double      budget;
    int64_t     candidates, jobs, seed;
    uint32_t    families;
    const char *policy, *tuned, *store, *device;
    bool        dependent, again, json;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts to tune; default: as the problem says"),
    {"budget",     0, CLI_SECONDS, offsetof(settings, budget),     "TIME", "for all problems together: 90s, 10m, 2h; default: no limit", 1, 1e9},
    {"candidates", 0, CLI_INT,     offsetof(settings, candidates), "N",    "most schedules that are measured per problem;\n"
     "default 48 (emulated device: 8)", 1, 1e6},
    {"families",   0, CLI_CHOICES, offsetof(settings, families),   cli_family_words, "families to search; default: all"},
    {"policy",     0, CLI_TEXT,    offsetof(settings, policy),     "NAME", "who proposes candidates; default enumerate"},
    {"seed",       0, CLI_INT,     offsetof(settings, seed),       "N",    "seed of data and policy; default 1", 1, 9e15},
    {"jobs",       0, CLI_INT,     offsetof(settings, jobs),       "N",    "parallel compiles; default: all cores", 1, 1024},
    {"tuned",      0, CLI_TEXT,    offsetof(settings, tuned),      "FILE", "table to write; default: the user's table of this GPU"},
    {"store",      0, CLI_TEXT,    offsetof(settings, store),      "FILE", "notebook of everything tried;\n"
     "default $GEMMSMITH_STORE, else the user's"},
    {"again",      0, CLI_FLAG,    offsetof(settings, again),      NULL,   "measure even what the store already has a winner for"},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"json",       0, CLI_FLAG,    offsetof(settings, json),       NULL,   "one JSON object per problem"},
    {NULL},
};

typedef struct watch {
    int     at, total;
    int64_t started;
} watch;

static void on_progress(void *self, const gs_tune_progress *progress)
{
    const watch *const w = self;
    char left[CLI_TIME_TEXT], best[40] = "", time[64] = "";
    if (progress->best_ratio > 0) snprintf(best, sizeof best, ", best %.3f", progress->best_ratio);
    if (progress->left_s >= 0) snprintf(time, sizeof time, ", %s of its time left", cli_time(left, progress->left_s));
    cli_progress("%d of %d  %s  %s %d/%d%s%s  %s", w->at + 1, w->total, progress->problem, progress->stage, progress->done,
                 progress->total, best, time, progress->candidate ? progress->candidate : "");
}

/* ---- one result ---- */

/* What an emulated device predicts has no library beside it, so there is no ratio either. */
static void put_figures(gs_json *json, const gs_problem *problem, const cli_session *session, const gs_tune_result *result)
{
    const gs_row *const row = &result->row;
    gs_json_double(json, "us", row->us);
    if (gs_row_predicted(row)) {
        gs_json_bool(json, "predicted", true);
        gs_json_double(json, "floor_us", gs_floor_us(problem, &session->caps));
        gs_json_string(json, "best_own", result->best_own);
        return;
    }
    gs_json_double(json, "library_us", row->library_us);
    gs_json_double(json, "ratio", row->ratio);
    gs_json_double(json, "low", row->low);
    gs_json_double(json, "high", row->high);
    gs_json_string(json, "best_own", result->best_own);
    gs_json_double(json, "best_own_ratio", result->best_own_ratio);
}

static void print_json(const gs_problem *problem, const cli_session *session, const gs_tune_result *result)
{
    char text[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    const gs_row *const row = &result->row;
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", gs_problem_format(problem, text));
    gs_json_string(&json, "choice", gs_row_choice(row, schedule));
    put_figures(&json, problem, session, result);
    gs_json_string(&json, "gpu", row->gpu);
    if (gs_row_dependent(row)) gs_json_bool(&json, "dependent", true);
    gs_json_int(&json, "mhz", row->mhz);
    gs_json_int(&json, "proposed", result->proposed);
    gs_json_int(&json, "compiled", result->compiled);
    gs_json_int(&json, "verified", result->verified);
    gs_json_int(&json, "measured", result->measured);
    gs_json_int(&json, "rejected", result->rejected);
    gs_json_bool(&json, "resumed", result->resumed);
    gs_json_double(&json, "seconds", result->seconds);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_line(const gs_problem *problem, const cli_session *session, const gs_tune_result *result)
{
    char text[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT], spent[CLI_TIME_TEXT];
    const gs_row *const row = &result->row;
    gs_problem_format(problem, text);
    if (gs_row_predicted(row))
        printf("%-32s  %s  predicted %.2f us, floor %.2f us", text, gs_row_choice(row, schedule), row->us, gs_floor_us(problem, &session->caps));
    else if (row->library)
        printf("%-32s  %s  %.2f us", text, gs_row_choice(row, schedule), row->library_us);
    else
        printf("%-32s  %s  %.2f us, %s%.3f%s [%.3f, %.3f] of cuBLASLt's speed", text,
               gs_schedule_format(&row->schedule, schedule), row->us, cli_green(), row->ratio, cli_plain(), row->low, row->high);
    if (row->library && result->best_own[0]) printf(", best own %s %.3f", result->best_own, result->best_own_ratio);
    if (result->resumed)
        printf("  (from the store)\n");
    else
        printf("  (%d %s, %d rejected, %s)\n", result->measured, gs_row_predicted(row) ? "run" : "measured", result->rejected, cli_time(spent, result->seconds));
}

/* ---- the command ---- */

typedef struct totals {
    int    tuned, won, failed;
    double log_sum;
} totals;

static void announce(const cli_session *session, const gs_problem *problem, const gs_tune_options *how)
{
    char what[GS_PROBLEM_TEXT + 16], text[GS_PROBLEM_TEXT];
    snprintf(what, sizeof what, "tuning %s", gs_problem_format(problem, text));
    cli_announce(&session->caps, session->worker.device, what, gs_tune_seconds(problem, how));
}

static int tune_all(const cli_command *command, cli_session *session, const settings *s, const cli_problems *problems,
                    const char *table, totals *sum)
{
    watch w = {.total = problems->count, .started = gs_clock_ns()};
    gs_tune_options how = {
        .policy = s->policy,
        .families = s->families,
        .candidates = (int)s->candidates,
        .jobs = (int)s->jobs,
        .seed = (uint64_t)s->seed,
        .tuned_path = table,
        .dependent = s->dependent,
        .again = s->again,
        .progress = on_progress,
        .self = &w,
    };
    int code = -1;
    for (w.at = 0; w.at < problems->count && code < 0; w.at++) {
        const gs_problem *const problem = &problems->list[w.at];
        gs_tune_result result = {0};
        gs_error error = {0};
        char text[GS_PROBLEM_TEXT];
        if (s->budget > 0) {
            const double left = s->budget - 1e-9 * (double)(gs_clock_ns() - w.started);
            how.budget_s = left / (problems->count - w.at);
            if (left < 1) {
                cli_note("the time is up: %d of %d problems tuned; the same command goes on from here", w.at, w.total);
                break;
            }
        }
        announce(session, problem, &how);
        const gs_status status = gs_tune(session->store, &session->session, &session->worker, &session->caps, problem, &how,
                                         &result, &error);
        cli_progress_clear();
        if (status == GS_OK) {
            (s->json ? print_json : print_line)(problem, session, &result);
            fflush(stdout);
            sum->tuned++;
            sum->won += !result.row.library;
            sum->log_sum += result.row.library || session->caps.emulated ? 0 : log(result.row.ratio);
            continue;
        }
        const int failed = cli_fail(command, gs_problem_format(problem, text), &error);
        sum->failed++;
        /* What is wrong with one problem does not stop the others; what is wrong with the machine does. */
        const bool fatal = failed == CLI_NO_DEVICE || failed == CLI_STORE || status == GS_ERROR_NOT_FOUND || cli_stopped() ||
                           status == GS_ERROR_DISK_FULL || status == GS_ERROR_NO_LIBRARY || status == GS_ERROR_NO_COMPILER;
        if (fatal) code = failed;
    }
    return code;
}

static void print_totals(const settings *s, const cli_session *session, const char *table, const totals *sum)
{
    if (sum->tuned > 0 && !s->json && session->caps.emulated) {
        printf("\n%d %s; every time is predicted by %s, none is measured\ntable: %s\n", sum->tuned, sum->tuned == 1 ? "problem" : "problems",
               session->worker.device, table);
    } else if (sum->tuned > 0 && !s->json) {
        printf("\nown kernels won %d of %d", sum->won, sum->tuned);
        if (sum->won > 0) printf("; geometric mean over all %.3f of cuBLASLt's speed", exp(sum->log_sum / sum->tuned));
        printf("\ntable: %s\n", table);
    }
    if (cli_stopped()) {
        cli_note("stopped: what was measured is kept in %s; the same command goes on from there", gs_store_path(session->store));
    } else if (sum->tuned > 0 && session->caps.emulated) {
        cli_note("programs on a GPU do not use these rows; gemmsmith eval --device %s does", session->worker.device);
    } else if (sum->tuned > 0 && s->tuned) {
        cli_note("programs use this table with GEMMSMITH_TUNED=%s; gemmsmith eval shows what it brings", table);
    } else if (sum->tuned > 0) {
        cli_note("every program of this user finds this table; gemmsmith eval shows what it brings");
    }
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1, .policy = "enumerate", .seed = 1};
    cli_session session = {0};
    cli_problems problems;
    int words;
    cli_session_command(&session, argc, argv);
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    code = cli_dependent(command, &s.dependent);
    if (code < 0) code = cli_problems_read(command, &problems, &s.asked, words, argv + 1);
    if (code >= 0) return code;
    if (problems.count == 0) return cli_usage(command, CLI_NEEDS_PROBLEM);
    code = cli_session_open(command, &session, s.device, s.dependent, true, s.store);
    if (code < 0) {
        char path[GS_PATH] = "";
        totals sum = {0};
        if (!s.tuned && !cli_tuned_path(path, session.caps.slug))
            code = cli_usage(command, "no home directory for the table: name one with --tuned");
        const char *const table = s.tuned ? s.tuned : path;
        if (code < 0) code = tune_all(command, &session, &s, &problems, table, &sum);
        print_totals(&s, &session, table, &sum);
        if (code < 0) code = cli_stopped() ? cli_stopped() : sum.failed ? CLI_FAILED : CLI_OK;
        cli_session_close(&session);
    }
    cli_problems_free(&problems);
    return code;
}

const cli_command cli_tune = {
    .name     = "tune",
    .words    = "PROBLEM...",
    .summary  = "find the fastest kernel of every problem on this GPU",
    .about    = "Compiles, verifies and times schedules against auto-tuned cuBLASLt, and writes the winners to the tuned table that\n"
                "programs read. Every winner is measured again in a fresh process with fresh data, and only that figure counts.\n"
                "Everything tried is kept in the store: stop with Ctrl-C, and the same command goes on from there.",
    .options  = options,
    .examples = "  gemmsmith tune f16:4096x4096x4096:tn\n"
                "  gemmsmith tune --file shapes.txt --layouts tn --budget 2h\n"
                "  gemmsmith tune --mnk 64_4096_64 --families mma --candidates 200",
    .run      = run,
};

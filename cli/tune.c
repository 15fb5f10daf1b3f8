/* SPDX-License-Identifier: MIT
 * gemmsmith tune: finds the fastest schedule of every problem and writes the tuned table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "output.h"
#include "problems.h"
#include "session.h"
#include "worker/pool.h"
#include "tune/device_group.h"
#include "tune/tune.h"
#include "tune_write.h"

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    double      budget;
    int64_t     candidates, jobs, seed, llm_retries;   /* llm_retries: -1 if not given */
    uint32_t    families;
    int         reward, mode, edits;          /* mode, edits: -1 if not given */
    int64_t     islands, turns, patience, asks;
    const char *from, *keep;
    const char *policy, *learn, *tuned, *store, *device, *devices, *run;
    gs_llm_options llm;
    bool        dependent, again, json, quick, unconfirmed, no_emulator;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts of B to tune; default: the one in the problem"),
    {"budget",     0, CLI_SECONDS, offsetof(settings, budget),     "TIME", "time limit for all problems together: 90s, 10m, 2h, without a unit\nseconds; default: none", 1, 1e9},
    {"time",       0, CLI_SECONDS, offsetof(settings, budget),     "TIME", "the same as --budget; for recorded problems, spent where it saves most", 1, 1e9},
    {"candidates", 0, CLI_INT,     offsetof(settings, candidates), "N",    "measure at most so many schedules per problem, in addition to those\nof the store; "
     "default 48, with --quick 16 (emulated device: 8)", 1, 1e6},
    {"quick",      0, CLI_FLAG,    offsetof(settings, quick),      NULL,   "for many problems: compile in the background, search without timing\n"
     "the library, verify only the fastest, confirm in batches"},
    {"unconfirmed", 0, CLI_FLAG,   offsetof(settings, unconfirmed), NULL,  "with --quick: search only; confirm the results later with\n"
     "eval --contenders own --record"},
    {"families",   0, CLI_CHOICES, offsetof(settings, families),   cli_family_words, "kernel families to search; default: all"},
    {"policy",     0, CLI_TEXT,    offsetof(settings, policy),     "enumerate|spread|refine|learned|llm|hybrid|random|evolve", "how candidates are chosen. enumerate: in the order of the time\nmodel; spread: some of every family; refine: near schedules that\nearlier searches found; learned: by a network ($GEMMSMITH_WEIGHTS)\nthat learns from the measurements; llm: by a language model;\nhybrid: learned and llm in turn; random; evolve.\nDefault: learned on a GPU that there are weights for (compute\ncapability 9.0), else enumerate"},
    {"learn",      0, CLI_KEPT,    offsetof(settings, learn),      "FILE", "weights of policy learned, which this chooses, or hybrid: read if the\nfile exists, updated after every problem; all of --devices share it"},
    {"mode",       0, CLI_CHOICE,  offsetof(settings, mode),       "schedule|source", "what --policy llm asks for: schedule strings, or the source of\nkernels, which tuned tables cannot hold; default schedule"},
    {"from",       0, CLI_TEXT,    offsetof(settings, from),       "NAME", "with --mode source: family whose kernel the model is given to\nimprove, or nothing; default: the family of the best schedule"},
    {"islands",    0, CLI_INT,     offsetof(settings, islands),    "N",    "with --mode source: number of independent lineages; default 4", 1, GS_AUTHOR_ISLANDS},
    {"turns",      0, CLI_INT,     offsetof(settings, turns),      "N",    "with --mode source: answers per lineage, including those that the\nstore has already; default 8", 1, 1e6},
    {"patience",   0, CLI_INT,     offsetof(settings, patience),   "N",    "with --mode source: turns without improvement after which a\nlineage continues from another one's kernel; default 3", 1, 1e6},
    {"edits",      0, CLI_CHOICE,  offsetof(settings, edits),      "no|also|only", "with --mode source: whether the model may, or must, answer with\nsearch/replace edits of the kernel that it is shown; default also"},
    {"asks",       0, CLI_INT,     offsetof(settings, asks),       "N",    "with --mode source: questions under way at once for each device, of\ndifferent lineages of a problem; default 1", 1, GS_AUTHOR_ISLANDS},
    {"keep",       0, CLI_TEXT,    offsetof(settings, keep),       "DIR",  "with --mode source: folder for the best kernel of each kind"},
    {"no-emulator", 0, CLI_FLAG,   offsetof(settings, no_emulator), NULL,  "with --mode source: run kernels on the GPU without running them\non the emulated device first"},
    {"llm-url",    0, CLI_TEXT,    offsetof(settings, llm.url),    "URL",  "OpenAI-compatible endpoint of --policy llm:\nhttp://host:8000, https://host/v1; default $GEMMSMITH_LLM_URL"},
    {"llm-model",  0, CLI_TEXT,    offsetof(settings, llm.model),  "NAME", "name of the model; default $GEMMSMITH_LLM_MODEL"},
    {"llm-key-env", 0, CLI_TEXT,   offsetof(settings, llm.key_variable), "NAME", "environment variable that holds the API key, if one is needed;\ndefault $GEMMSMITH_LLM_KEY_ENV, else OPENAI_API_KEY"},
    {"llm-headers", 0, CLI_TEXT,   offsetof(settings, llm.headers), "FILE", "extra HTTP headers, one \"Name: value\" per line;\ndefault $GEMMSMITH_LLM_HEADERS, else none"},
    {"llm-ca",     0, CLI_TEXT,    offsetof(settings, llm.ca),     "FILE", "CA bundle (PEM) to verify the endpoint's certificate with;\ndefault $GEMMSMITH_LLM_CA, else the system's"},
    {"llm-timeout", 0, CLI_SECONDS, offsetof(settings, llm.attempt_s), "TIME", "time limit of one request; default 5m", 0.1, 86400},
    {"llm-retries", 0, CLI_INT,    offsetof(settings, llm_retries), "N",   "retries after HTTP 429, 5xx and failed connections, with growing\npauses; default 4", 0, 100},
    {"llm-stream", 0, CLI_FLAG,    offsetof(settings, llm.stream), NULL,   "stream the answer, so that proxies do not time out"},
    {"llm-budget", 0, CLI_TEXT,    offsetof(settings, llm.budget), "LIST", "limits on requests to the model, for all problems together:\nrequests=20,tokens=200000,seconds=600,cost=5;\ndefault $GEMMSMITH_LLM_BUDGET, else no limit"},
    {"llm-price",  0, CLI_TEXT,    offsetof(settings, llm.price),  "IN,OUT", "price of a million tokens of input and of output, for cost=;\ndefault $GEMMSMITH_LLM_PRICE"},
    {"llm-ledger", 0, CLI_KEPT,    offsetof(settings, llm.ledger), "FILE", "file that records what was spent; runs that share it share the\nbudget; default $GEMMSMITH_LLM_LEDGER, else nothing is recorded"},
    {"llm-prompts", 0, CLI_TEXT,   offsetof(settings, llm.prompts), "DIR", "folder of prompts instead of share/prompts;\ndefault $GEMMSMITH_PROMPTS"},
    {"reward",     0, CLI_CHOICE,  offsetof(settings, reward),     "headroom|composite|milestones|difference|length|clipped", "reward that policies learn from; default headroom"},
    {"seed",       0, CLI_INT,     offsetof(settings, seed),       "N",    "random seed of the data and of the policy; default 1", 1, 9e15},
    {"jobs",       0, CLI_INT,     offsetof(settings, jobs),       "N",    "parallel compilations, of all devices together; default: all cores", 1, 1024},
    {"tuned",      0, CLI_KEPT,    offsetof(settings, tuned),      "FILE", "tuned table to write; default: the user's table of this GPU"},
    {"store",      0, CLI_TEXT,    offsetof(settings, store),      "FILE", "database of everything that was tried;\n"
     "default $GEMMSMITH_STORE, else the user's"},
    {"again",      0, CLI_FLAG,    offsetof(settings, again),      NULL,   "also measure problems that the store already has a winner for"},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"devices",    0, CLI_TEXT,    offsetof(settings, devices),    "NAMES", "several devices, which share the problems, one store and one\n"
     "table: cuda:0,cuda:1 or all (every GPU)"},
    {"run",        0, CLI_TEXT,    offsetof(settings, run),        "NAME", "share the problems with all tuners of this run that have the same\nstore, on any machine: each is done by one of them"},
    {"json",       0, CLI_FLAG,    offsetof(settings, json),       NULL,   "one JSON object per problem"},
    {NULL},
};

enum { MODE_SCHEDULE, MODE_SOURCE };   /* in the order of the words of --mode */

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
    cli_progress("%d of %d  %s  %s %d/%d%s%s  %s", w->at + 1, w->total, progress->problem, gs_tune_stage_name(progress->stage), progress->done,
                 progress->total, best, time, progress->candidate ? progress->candidate : "");
}

/* ---- one result ---- */

static void print_json(const gs_problem *problem, const cli_session *session, const gs_tune_result *result)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_tune_result_put(&json, problem, &session->session, &session->caps, result);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static bool asks_model(const settings *s) { return s->policy && (strcmp(s->policy, "llm") == 0 || strcmp(s->policy, "hybrid") == 0); }

static void print_line(const settings *s, const gs_problem *problem, const cli_session *session, const gs_tune_result *result)
{
    char text[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT], spent[CLI_TIME_TEXT];
    const gs_row *const row = &result->row;
    gs_problem_format(problem, text);
    if (!result->confirmed)
        printf("%-32s  %s  %s%.2f us, unconfirmed", text, result->best_own, session->caps.emulated ? "predicted " : "", result->best_own_us);
    else if (gs_row_predicted(row))
        printf("%-32s  %s  predicted %.2f us, floor %.2f us", text, gs_row_choice(row, schedule), row->us, gs_floor_us(problem, &session->caps));
    else if (gs_row_alone(row))
        printf("%-32s  %s  %.2f us, alone: %s", text, gs_row_choice(row, schedule), row->us, result->alone);
    else if (row->library)
        printf("%-32s  %s  %.2f us", text, gs_row_choice(row, schedule), row->library_us);
    else
        printf("%-32s  %s  %.2f us, %s%.3f%s [%.3f, %.3f] of cuBLASLt's speed", text,
               gs_schedule_format(&row->schedule, schedule), row->us, cli_green(), row->ratio, cli_plain(), row->low, row->high);
    if (row->library && result->best_own[0]) printf(", best own %s %.3f", result->best_own, result->best_own_ratio);
    if (result->resumed)
        printf("  (from the store%s)\n", asks_model(s) ? "; --again asks the model" : "");
    else
        printf("  (%d candidate%s %s, %d rejected, %s)\n", result->measured, result->measured == 1 ? "" : "s", session->caps.emulated ? "run" : "measured", result->rejected, cli_time(spent, result->seconds));
}

/* ---- a list ---- */

/* State shared by the problems of a list. */
typedef struct tuning {
    const cli_command  *command;
    cli_session        *session;
    const settings     *s;
    const cli_problems *problems;
    const gs_group_member   *member;  /* if one of several devices; NULL: the only one */
    gs_group_totals         *sum;
    const gs_tune_options *how;
    watch               w;
    int                 code;    /* -1: go on; else the exit code */
    int                 failed;  /* exit code of the failed problems, if all failed alike; else CLI_FAILED */
} tuning;

static void on_begin(void *self, int index)
{
    const tuning *const t = self;
    const gs_problem *const problem = &t->problems->list[index];
    char what[GS_PROBLEM_TEXT + 16], text[GS_PROBLEM_TEXT];
    snprintf(what, sizeof what, "tuning %s", gs_problem_format(problem, text));
    cli_announce(&t->session->caps, t->session->worker.device, what, gs_tune_seconds(problem, t->how));
}

/* How often a recorded program called the problem; 0: unknown. */
static double calls_of(const tuning *t, int index) { return t->problems->recorded ? (double)t->problems->calls.rows[index].count : 0; }

static void add_saving(tuning *t, int index, const gs_row *row)
{
    double plain, now;
    if (!(calls_of(t, index) > 0) || !gs_tune_saving(&t->session->caps, row, &plain, &now)) return;
    t->sum->plain_s += calls_of(t, index) * plain * 1e-6;
    t->sum->now_s += calls_of(t, index) * now * 1e-6;
    t->sum->compared++;
}

/* Handles one problem's result, or the reason why there is none. */
static void take_result(tuning *t, int index, gs_status status, const gs_tune_result *result, const gs_error *error)
{
    const gs_problem *const problem = &t->problems->list[index];
    char text[GS_PROBLEM_TEXT];
    gs_group_totals *const sum = t->sum;
    cli_progress_clear();
    if (status == GS_OK) {
        if (t->s->json) print_json(problem, t->session, result);
        else print_line(t->s, problem, t->session, result);
        fflush(stdout);
        sum->tuned++;
        sum->won += result->confirmed && !result->row.library;
        const bool alone = result->confirmed && gs_row_alone(&result->row);
        sum->alone += alone;
        if (result->confirmed) add_saving(t, index, &result->row);
        sum->log_sum += !result->confirmed || result->row.library || t->session->caps.emulated || alone ? 0 : log(result->row.ratio);
        return;
    }
    sum->measured += result->measured;
    if (status == GS_ERROR_INTERRUPTED && !cli_stopped()) {
        cli_note("%s: %s", gs_problem_format(problem, text), error->text);
        sum->late++;
        return;
    }
    if (status == GS_ERROR_UNSUPPORTED && t->problems->recorded) {   /* as in pack */
        cli_note("left out: %s: %s", gs_problem_format(problem, text), error->text);
        return;
    }
    const int failed = cli_fail(t->command, gs_problem_format(problem, text), error);
    t->failed = sum->failed == 0 || t->failed == failed ? failed : CLI_FAILED;
    sum->failed++;
    /* An error of one problem does not stop the others; an error of the machine does. If a device can no longer run even the reference, the rest of the list is left
     * to the other devices. */
    const bool lost = t->member && (status == GS_ERROR_WORKER_HUNG || status == GS_ERROR_WORKER_DIED || status == GS_ERROR_FAULT);
    const bool fatal = failed == CLI_NO_DEVICE || failed == CLI_STORE || status == GS_ERROR_NOT_FOUND || cli_stopped() ||
                       status == GS_ERROR_DISK_FULL || status == GS_ERROR_NO_LIBRARY || status == GS_ERROR_NO_COMPILER || lost;
    if (fatal) t->code = failed;
}

static bool on_finished(void *self, int index, gs_status status, const gs_tune_result *result, const gs_error *error)
{
    tuning *const t = self;
    t->w.at++;
    take_result(t, index, status, result, error);
    return t->code < 0;
}

/* Says what an unfinished list leaves in the store, and how to continue. */
static void note_kept(const gs_group_totals *sum, const char *why, const char *store)
{
    if (sum->measured > 0) cli_note("%s; %d timings of unfinished problems are kept in %s; run the same command again to continue", why, sum->measured, store);
    else cli_note("%s; run the same command again to continue", why);
}

static void note_time(const settings *s, const gs_group_totals *sum, int problems, const char *store)
{
    char why[128], budget[CLI_TIME_TEXT];
    snprintf(why, sizeof why, "time limit of %s reached: %d of %d problems done", cli_time(budget, s->budget), sum->tuned + sum->failed, problems);
    note_kept(sum, why, store);
}

/* Reports the use of the language model. Returns an exit code if it was the policy and never answered. */
static int say_model(const tuning *t, const gs_llm_tally *m)
{
    gs_text text = {0};
    if (m->asked == 0 || t->member) return -1;
    gs_llm_tally_format(m, t->session->caps.emulated, &text);
    if (text.size > 0) cli_note("%.*s", (int)text.size - 1, text.data);
    gs_text_free(&text);
    if (m->answered > 0 || !m->unreachable || strcmp(t->s->policy, "llm") != 0) return -1;
    fprintf(stderr, "gemmsmith tune: no question to the language model was answered: every candidate was the time model's\n");
    return CLI_FAILED;
}

static int tune_all(tuning *t, const char *table)
{
    const settings *const s = t->s;
    cli_session *const session = t->session;
    const gs_group_member *const member = t->member;
    gs_error error = {0};
    gs_llm shared = {0};
    gs_llm_options llm = s->llm;
    llm.shared = &shared;
    t->code = -1;
    t->w = (watch){.total = t->problems->count, .started = gs_clock_ns()};
    gs_tune_options how = {
        .policy = s->policy ? s->policy : gs_policy_usual(&session->caps),
        .learn_path = s->learn,
        .llm = &llm,
        .families = s->families,
        .candidates = (int)s->candidates,
        .jobs = (int)s->jobs,
        .seed = (uint64_t)s->seed,
        .reward = (gs_reward_kind)s->reward,
        .tuned_path = table,
        .dependent = s->dependent,
        .again = s->again,
        .unconfirmed = s->unconfirmed,
        .budget_s = s->budget,
        .progress = member ? NULL : on_progress,
        .self = &t->w,
        .lessee = member ? &member->lessee : NULL,
        .first = member ? (int)((int64_t)t->problems->count * member->index / member->count) : 0,
    };
    t->how = &how;
    if (!s->quick && asks_model(s) && gs_llm_open(&shared, &llm, &error) != GS_OK) return cli_fail(t->command, NULL, &error);
    const gs_problem *const list = t->problems->list;
    const int count = t->problems->count;
    double *const calls = t->problems->recorded && !s->quick && !asks_model(s) ? calloc((size_t)count, sizeof *calls) : NULL;
    for (int i = 0; i < count && calls; i++) calls[i] = calls_of(t, i);
    const gs_status status =
        calls    ? gs_tune_by_worth(session->store, &session->session, &session->worker, &session->caps, list, calls, count, &how, on_begin, on_finished, t, &error)
        : s->quick ? gs_tune_list(session->store, &session->session, &session->worker, &session->caps, list, count, &how, on_finished, t, &error)
                 : gs_tune_singly(session->store, &session->session, &session->worker, &session->caps, list, count, member ? member->count : 1, &how, on_begin,
                                  on_finished, t, &error);
    free(calls);
    cli_progress_clear();
    const gs_llm_tally tally = shared.tally;
    gs_llm_close(&shared);
    const int unanswered = say_model(t, &tally);
    if (t->code >= 0) return t->code;
    if (status != GS_OK && status != GS_ERROR_INTERRUPTED) return cli_fail(t->command, NULL, &error);
    if (cli_stopped()) return cli_stopped();
    const bool late = status == GS_ERROR_INTERRUPTED || t->sum->late > 0;
    if (late && !member) note_time(s, t->sum, t->problems->count, gs_store_path(session->store));
    return late ? CLI_MORE : unanswered;
}

/* Names for the closing lines. */
typedef struct place {
    const char *device, *table, *store;
    bool        emulated;
    const char *one;        /* one of the devices, as for --device */
} place;

static void print_saving(const place *where, const gs_group_totals *sum)
{
    char now[GS_SECONDS_TEXT], plain[GS_SECONDS_TEXT], saved[GS_SECONDS_TEXT];
    if (sum->compared == 0) return;
    printf("a run as recorded spends %s in %d problem%s, ", gs_text_seconds(now, sum->now_s), sum->compared, sum->compared == 1 ? "" : "s");
    if (where->emulated) printf("predicted\n");
    else printf("%s with cuBLASLt: %s saved\n", gs_text_seconds(plain, sum->plain_s), gs_text_seconds(saved, sum->plain_s - sum->now_s));
}

static void print_totals(const settings *s, const place *where, const gs_group_totals *sum)
{
    if (s->unconfirmed) {
        if (sum->tuned > 0 && !s->json) printf("\n%d searched, none confirmed; the table is unchanged\n", sum->tuned);
    } else if (sum->tuned > 0 && !s->json && where->emulated) {
        printf("\n%d %s; every time is predicted by %s, none is measured\ntable: %s\n", sum->tuned, sum->tuned == 1 ? "problem" : "problems",
               where->device, where->table);
    } else if (sum->tuned > 0 && !s->json) {
        printf("\nown kernels won %d of %d", sum->won, sum->tuned);
        const int compared = sum->tuned - sum->alone;
        if (sum->alone > 0) printf(", %d of them alone, where cuBLASLt refuses the problem or is wrong", sum->alone);
        if (sum->won > sum->alone) printf("; geometric mean over %s %.3f of cuBLASLt's speed", sum->alone > 0 ? "the others" : "all", exp(sum->log_sum / compared));
        printf("\ntable: %s\n", where->table);
    }
    if (!s->json) print_saving(where, sum);
    if (cli_stopped()) {
        note_kept(sum, "stopped", where->store);
    } else if (s->unconfirmed) {
        cli_note("confirm the results with gemmsmith eval --contenders own,cublaslt-autotuning --record");
    } else if (sum->tuned > 0 && where->emulated) {
        cli_note("programs on a GPU do not use these rows; gemmsmith eval --device %s does", where->one);
    } else if (sum->tuned > 0 && s->tuned) {
        cli_note("programs use this table with GEMMSMITH_TUNED=%s; measure its effect with gemmsmith eval", where->table);
    } else if (sum->tuned > 0) {
        cli_note("programs of this user find this table; measure its effect with gemmsmith eval");
    }
}

/* Tunes on one device. In a group, its results are stored in member. */
static int run_device(const cli_command *command, cli_session *session, const settings *s, const cli_problems *problems, gs_group_member *member)
{
    char path[GS_PATH] = "";
    gs_error error;
    gs_group_totals alone = {0};
    tuning t = {.command = command, .session = session, .s = s, .problems = problems, .member = member, .sum = member ? &member->sum : &alone};
    int code = cli_session_open(command, session, member ? member->device : s->device, s->dependent, true, s->store);
    if (code >= 0) return code;
    if (!s->tuned && !gs_tune_table_path(path, session->caps.slug))
        code = cli_usage(command, "no home directory for the table: name one with --tuned");
    const place where = {session->worker.device, s->tuned ? s->tuned : path, gs_store_path(session->store), session->caps.emulated,
                         session->worker.device};
    if (code < 0 && gs_tune_check_table(where.table, &error) != GS_OK) code = cli_fail(command, NULL, &error);   /* checked before anything is measured */
    if (member) {
        snprintf(member->device, sizeof member->device, "%s", where.device);
        snprintf(member->slug, sizeof member->slug, "%s", session->caps.slug);
        snprintf(member->table, sizeof member->table, "%s", where.table);
        member->emulated = where.emulated;
    }
    if (code < 0) code = tune_all(&t, where.table);
    if (member) member->complete = code < 0;
    if (!member) print_totals(s, &where, t.sum);
    if (code < 0) code = cli_stopped() ? cli_stopped() : t.sum->failed == 0 ? CLI_OK : t.sum->tuned == 0 ? t.failed : CLI_FAILED;
    cli_session_close(session);
    return code;
}

/* ---- several devices ---- */

typedef struct gang {
    const cli_command  *command;
    cli_session        *session;
    const settings     *s;
    const cli_problems *problems;
    int                 devices;
} gang;

/* member: NULL: the only device */
static int write_kernels(const cli_command *command, cli_session *session, const settings *s, const cli_problems *problems, gs_group_member *member)
{
    const cli_write_settings how = {
        .from = s->from, .keep = s->keep, .device = member ? member->device : s->device, .store = s->store, .islands = s->islands, .turns = s->turns, .patience = s->patience, .seed = s->seed,
        .budget = s->budget, .reward = s->reward, .dependent = s->dependent, .again = s->again, .json = s->json, .no_emulator = s->no_emulator, .llm = s->llm,
        .asks = s->asks, .edits = s->edits < 0 ? GS_EDITS_ALSO : (gs_edits)s->edits, .member = member,
    };
    return cli_write(command, session, &how, problems);
}

static int work_on(void *self, gs_group_member *member)
{
    const gang *const g = self;
    return g->s->mode == MODE_SOURCE ? write_kernels(g->command, g->session, g->s, g->problems, member) : run_device(g->command, g->session, g->s, g->problems, member);
}

static void on_group_progress(void *self, int done)
{
    const gang *const g = self;
    cli_progress("%d of %d problems  %d devices", done, g->problems->count, g->devices);
}

static void print_ends(const gs_device_group *group)
{
    for (int i = 0; i < group->count; i++) {
        const gs_group_member *const m = &group->member[i];
        if (m->signal) cli_note("%s: its process was ended by signal %d; %s", m->device, m->signal, m->covered ? "the others did its remaining problems" : "run the same command again to continue");
    }
}

/* Lists the string at this offset of each member, without duplicates. */
static void list_words(const gs_device_group *group, size_t at, gs_text *text)
{
    for (int i = 0; i < group->count; i++) {
        const char *const word = (const char *)&group->member[i] + at;
        bool there = !*word;
        for (int k = 0; k < i && !there; k++) there = strcmp((const char *)&group->member[k] + at, word) == 0;
        if (!there) gs_text_addf(text, "%s%s", text->size > 0 ? ", " : "", word);
    }
}

static void print_group(const settings *s, const gs_device_group *group, int problems, int code)
{
    gs_text devices = {0}, tables = {0};
    gs_group_totals sum = {0};
    bool emulated = true;
    for (int i = 0; i < group->count; i++) {
        const gs_group_member *const m = &group->member[i];
        sum.tuned += m->sum.tuned;
        sum.won += m->sum.won;
        sum.alone += m->sum.alone;
        sum.failed += m->sum.failed;
        sum.late += m->sum.late;
        sum.measured += m->sum.measured;
        sum.log_sum += m->sum.log_sum;
        sum.plain_s += m->sum.plain_s;
        sum.now_s += m->sum.now_s;
        sum.compared += m->sum.compared;
        emulated &= m->emulated || !m->slug[0];
    }
    list_words(group, offsetof(gs_group_member, device), &devices);
    list_words(group, offsetof(gs_group_member, table), &tables);
    const place where = {gs_text_string(&devices), gs_text_string(&tables), group->store ? gs_store_path(group->store) : "the store", emulated,
                         group->member[0].device};
    if (code == CLI_MORE) note_time(s, &sum, problems, where.store);
    if (s->run && code == CLI_OK && sum.tuned == 0) cli_note("run %s: nothing is left of its %d problem%s; another name begins another pass", s->run, problems, problems == 1 ? "" : "s");
    print_totals(s, &where, &sum);
    gs_text_free(&devices);
    gs_text_free(&tables);
}

static int run_group(const cli_command *command, cli_session *session, settings *s, const cli_problems *problems)
{
    gang g = {command, session, s, problems};
    gs_device_group group = {.store_path = s->store, .run = s->run, .work = work_on, .progress = on_group_progress, .self = &g, .late = CLI_MORE};
    gs_error error;
    int code = cli_devices(command, &group, s->devices ? s->devices : s->device && *s->device ? s->device : NULL);
    if (code >= 0) return code;
    g.devices = group.count;
    s->jobs = GS_MAX((s->jobs > 0 ? (int)s->jobs : gs_pool_cores()) / group.count, 1);
    cli_signals();
    const gs_status status = gs_device_group_run(&group, &code, &error);
    cli_progress_clear();
    if (status != GS_OK) code = cli_fail(command, NULL, &error);
    else if (cli_stopped()) code = cli_stopped();
    else print_ends(&group);
    if (s->mode != MODE_SOURCE) print_group(s, &group, problems->count, code);
    gs_store_close(&group.store);
    gs_device_group_free(&group);
    return code;
}

/* ---- the command ---- */

/* An option and whether it was given. */
typedef struct given {
    const char *name;
    bool        given;
} given;

static const char *first_given(const given *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].given) return list[i].name;
    return NULL;
}

/* An option that would have no effect; NULL: none. */
static const char *idle_option(const settings *s)
{
    const given models[] = {
        {"llm-url", s->llm.url}, {"llm-model", s->llm.model}, {"llm-key-env", s->llm.key_variable}, {"llm-budget", s->llm.budget}, {"llm-price", s->llm.price},
        {"llm-ledger", s->llm.ledger}, {"llm-prompts", s->llm.prompts}, {"llm-headers", s->llm.headers}, {"llm-ca", s->llm.ca}, {"llm-timeout", s->llm.attempt_s > 0},
        {"llm-retries", s->llm_retries >= 0}, {"llm-stream", s->llm.stream},
    };
    const given writers[] = {{"from", s->from}, {"islands", s->islands > 0}, {"turns", s->turns > 0}, {"patience", s->patience > 0},
                             {"edits", s->edits >= 0}, {"asks", s->asks > 0}, {"keep", s->keep}, {"no-emulator", s->no_emulator}};
    const given searchers[] = {{"candidates", s->candidates > 0}, {"quick", s->quick}, {"families", s->families}, {"learn", s->learn}, {"jobs", s->jobs > 0},
                               {"tuned", s->tuned}};
    const char *idle = asks_model(s) ? NULL : first_given(models, GS_COUNT(models));
    if (!idle) idle = s->mode == MODE_SOURCE ? first_given(searchers, GS_COUNT(searchers)) : first_given(writers, GS_COUNT(writers));
    return idle;
}

/* Returns -1 to go on. */
static int check_models(const cli_command *command, const settings *s)
{
    const char *const idle = idle_option(s);
    gs_error error;
    if (s->policy && gs_policy_check(s->policy, &error) != GS_OK) return cli_usage(command, "--policy: %s", error.text);
    if (s->mode >= 0 && !(s->policy && strcmp(s->policy, "llm") == 0)) return cli_usage(command, "--mode needs --policy llm");
    if (idle && strncmp(idle, "llm-", 4) == 0) return cli_usage(command, "--%s needs --policy llm or hybrid", idle);
    if (s->learn && s->policy && strcmp(s->policy, "learned") != 0 && strcmp(s->policy, "hybrid") != 0) return cli_usage(command, "--learn needs --policy learned or hybrid");
    if (idle && s->mode == MODE_SOURCE) return cli_usage(command, "--%s has no effect with --mode source", idle);
    if (idle) return cli_usage(command, "--%s needs --policy llm --mode source", idle);
    return -1;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1, .seed = 1, .mode = -1, .edits = -1, .llm_retries = -1};
    cli_session session = {0};
    cli_problems problems;
    gs_error error;
    int words;
    cli_session_command(&session, argc, argv);
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    code = check_models(command, &s);
    if (code >= 0) return code;
    if (s.learn && !s.policy) s.policy = "learned";
    s.llm.retries = s.llm_retries > 0 ? (int)s.llm_retries : s.llm_retries == 0 ? -1 : 0;
    if (s.run && gs_lessee_run_check(s.run, &error) != GS_OK) return cli_usage(command, "--run: %s", error.text);
    if (s.unconfirmed && !s.quick) return cli_usage(command, "--unconfirmed needs --quick");
    if (s.device && s.devices) return cli_usage(command, "--device and --devices exclude each other");
    if ((s.devices || s.run) && asks_model(&s) && !s.llm.ledger && !getenv("GEMMSMITH_LLM_LEDGER"))
        return cli_usage(command, "--%s with --policy %s needs --llm-ledger, so that the devices share one budget", s.devices ? "devices" : "run", s.policy);
    code = cli_dependent(command, &s.dependent);
    if (code < 0) code = cli_problems_read(command, &problems, &s.asked, words, argv + 1);
    if (code >= 0) return code;
    if (problems.count == 0) return cli_usage(command, CLI_NEEDS_PROBLEM);
    code = s.devices || s.run ? run_group(command, &session, &s, &problems) : s.mode == MODE_SOURCE ? write_kernels(command, &session, &s, &problems, NULL) : run_device(command, &session, &s, &problems, NULL);
    cli_problems_free(&problems);
    return code;
}

const cli_command cli_tune = {
    .name     = "tune",
    .words    = "PROBLEM...",
    .summary  = "find the fastest kernel of every problem on this GPU",
    .about    = "Compiles, verifies and times schedules against auto-tuned cuBLASLt, and writes the winners to the\ntuned table that programs read. Every winner is measured again in a fresh process with fresh data,\n"
                "and only that time counts.\nEverything tried is kept in the store: stop with Ctrl-C, and run the same command again to continue.\n"
                "Recorded problems are tuned in order of the time that they can save the program; the order changes\nas they improve.",
    .options  = options,
    .examples = "  gemmsmith tune f16:4096x4096x4096:tn\n"
                "  gemmsmith tune --file shapes.txt --layouts tn --budget 2h\n"
                "  gemmsmith tune problems.txt --time 2h\n"
                "  gemmsmith tune --file thousand.txt --layouts nn,tn --quick --shard 0/4 --device cuda:0 --store 0.db\n"
                "  gemmsmith tune --file thousand.txt --layouts nn,tn --quick --devices all\n"
                "  gemmsmith tune --file thousand.txt --run night --devices all --store postgresql://db.example/gemm\n"
                "  gemmsmith tune --mnk 64_4096_64 --families mma --candidates 200\n"
                "  gemmsmith tune f16:4096x4096x4096:tn --policy llm --mode source --llm-budget cost=5 --llm-price 0.5,2 --keep kernels",
    .run      = run,
};

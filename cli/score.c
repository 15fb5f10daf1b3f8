/* SPDX-License-Identifier: MIT
 * gemmsmith score: the environment's verdict, figures and reward for candidates, once, or repeatedly to see how stable they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "output.h"
#include "problems.h"
#include "session.h"
#include "evaluate/environment.h"

#define MOST_BYTES ((size_t)4 << 20)   /* most bytes of a source; the inspection allows less */

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    cli_list    schedules;
    const char *source, *manifest, *store, *device;
    int64_t     repeat, rounds, seed;
    double      over, timeout;
    int         reward;
    bool        confirm, dependent, no_emulator, json;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts of B to score; default: the one in the problem"),
    {"schedule", 0, CLI_LIST,    offsetof(settings, schedules), "S",    "schedule; may be repeated; default: the time model's first choice"},
    {"source",   0, CLI_TEXT,    offsetof(settings, source),    "FILE", "CUDA C of a user kernel; it is inspected before it is compiled"},
    {"manifest", 0, CLI_TEXT,    offsetof(settings, manifest),  "FILE", "manifest of the user kernel: how it is launched"},
    {"reward",   0, CLI_CHOICE,  offsetof(settings, reward),    "headroom|composite|milestones|difference|length|clipped", "kind of reward; default headroom"},
    {"repeat",   0, CLI_INT,     offsetof(settings, repeat),    "N",    "score every candidate N times, in turn, and print the spread", 1, 1e6},
    {"over",     0, CLI_SECONDS, offsetof(settings, over),      "TIME", "spread the repeats over this time: 10m, 1h", 1, 1e9},
    {"confirm",  0, CLI_FLAG,    offsetof(settings, confirm),   NULL,   "measure again in a fresh process with fresh data; that time counts"},
    {"rounds",   0, CLI_INT,     offsetof(settings, rounds),    "N",    "paired rounds of the first timing; default 31", 1, 1000},
    {"timeout",  0, CLI_SECONDS, offsetof(settings, timeout),   "TIME", "time limit of a compilation, a verification, a timing; time for the\n"
     "problem's size is added; default 60s (emulated device: ten times)", 0.1, 1e6},
    {"no-emulator", 0, CLI_FLAG, offsetof(settings, no_emulator), NULL, "run a user kernel on the GPU without the emulated device first"},
    {"seed",     0, CLI_INT,     offsetof(settings, seed),      "N",    "random seed of the data; default: a new one each time", 1, 9e15},
    {"store",    0, CLI_TEXT,    offsetof(settings, store),     "FILE", "store for the results; default: nothing is stored"},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"json",     0, CLI_FLAG,    offsetof(settings, json),      NULL,   "one JSON object per evaluation, and one per candidate with --repeat"},
    {NULL},
};

/* One candidate of one problem, and its results. */
typedef struct scored {
    gs_submission submission;
    char          schedule[GS_SCHEDULE_TEXT];
    char          name[GS_CONTENDER_NAME];
    int           evaluations, passed;
    bool          predicted;        /* ratio is floor over time, not relative to cuBLASLt */
    double       *ratio, *reward;   /* of the repeats that passed */
} scored;

typedef struct scoring {
    const cli_command *command;
    cli_session       *session;
    const settings    *s;
    gs_environment    *environment;
    char              *source, *manifest;   /* of the user kernel; NULL: none */
    int64_t            done, total, started;
    bool               failed, unstable;
} scoring;

/* ---- printing ---- */

static void print_json(const char *problem, const gs_evaluation *got)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_evaluation_put(&json, problem, got);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_line(const char *problem, const char *name, const gs_evaluation *got)
{
    if (got->untrusted[0]) {
        printf("%spass%s  %s  %s  predicted %.2f us, not to be trusted: %s  (reward %.3f)\n", cli_green(), cli_plain(), problem, name, got->untrusted_us, got->untrusted,
               got->reward);
        return;
    }
    if (!(got->us > 0)) {
        char part[16] = "";
        if (got->part > 0) snprintf(part, sizeof part, ", part %d", got->part);
        printf("%sFAIL%s  %s  %s  %s%s: %s  (reward %.3f)\n", cli_red(), cli_plain(), problem, name, gs_verdict_word(got->verdict), part, got->reason, got->reward);
        return;
    }
    printf("%spass%s  %s  %s  ", cli_green(), cli_plain(), problem, name);
    if (got->predicted) printf("predicted %.2f us, floor %.2f us", got->us, got->floor_us);
    else printf("%.2f us, %.3f [%.3f, %.3f] of cuBLASLt's speed", got->us, got->ratio.median, got->ratio.low, got->ratio.high);
    if (got->jumped && !got->predicted) printf(", measured again for its %.2f us", got->first_us);
    printf("  (reward %.3f)\n", got->reward);
}

static void put_spread(gs_json *json, const char *name, const gs_spread *s)
{
    gs_json_begin(json, name, '{');
    gs_json_double(json, "mean", s->mean);
    gs_json_double(json, "deviation", s->deviation);
    gs_json_bool(json, "stable", s->deviation < GS_DEAD_ZONE);
    gs_json_end(json, '}');
}

static void print_spread_json(const char *problem, const scored *c, const gs_spread *ratio, const gs_spread *reward)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", problem);
    gs_json_string(&json, "candidate", c->name);
    gs_json_int(&json, "evaluations", c->evaluations);
    gs_json_int(&json, "passed", c->passed);
    gs_json_double(&json, "dead_zone", GS_DEAD_ZONE);
    if (c->passed > 0) {
        put_spread(&json, "ratio", ratio);
        put_spread(&json, "reward", reward);
    }
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_spread(const char *what, const gs_spread *s)
{
    const bool stable = s->deviation < GS_DEAD_ZONE;
    printf("  %-7s mean %8.4f, standard deviation %.4f: %s%s the dead zone of %g%s\n", what, s->mean, s->deviation, stable ? cli_green() : cli_red(),
           stable ? "under" : "NOT under", GS_DEAD_ZONE, cli_plain());
}

static void sum_up(scoring *t, const char *problem, const scored *c)
{
    const gs_spread ratio = gs_spread_of(c->ratio, c->passed), reward = gs_spread_of(c->reward, c->passed);
    t->unstable |= (!c->predicted && ratio.deviation >= GS_DEAD_ZONE) || reward.deviation >= GS_DEAD_ZONE;
    cli_progress_clear();
    if (t->s->json) {
        print_spread_json(problem, c, &ratio, &reward);
        return;
    }
    printf("%s  %s  %d of %d passed\n", problem, c->name, c->passed, c->evaluations);
    if (c->passed == 0) return;
    if (!c->predicted) print_spread("ratio", &ratio);
    print_spread("reward", &reward);
}

/* ---- scoring ---- */

/* Returns -1 to go on, else the exit code: a failure of the machine, not of the candidate. */
static int score_one(scoring *t, const gs_problem *problem, scored *c)
{
    char text[GS_PROBLEM_TEXT];
    gs_error error = {0};
    gs_evaluation got;
    gs_problem_format(problem, text);
    cli_progress("%lld of %lld  %s  %s", (long long)t->done + 1, (long long)t->total, text, c->name);
    const gs_status status = gs_evaluate(t->environment, problem, &c->submission, &got, &error);
    cli_progress_clear();
    if (status == GS_ERROR_INTERRUPTED && cli_stopped()) return cli_stopped();
    if (status != GS_OK) return cli_fail(t->command, text, &error);
    t->done++;
    c->evaluations++;
    if (got.candidate[0]) memcpy(c->name, got.candidate, sizeof c->name);
    c->predicted |= got.predicted;
    if (got.us > 0) {
        c->ratio[c->passed] = got.ratio.median;
        c->reward[c->passed++] = got.reward;
    }
    t->failed |= !(got.us > 0 || got.untrusted_us > 0);
    if (t->s->json) print_json(text, &got);
    else if (t->s->repeat == 1 || !(got.us > 0)) print_line(text, c->name, &got);
    fflush(stdout);
    return -1;
}

/* Announces the duration of one evaluation on an emulated device, which runs the candidate for its time and for its verification. */
static void announce(const scoring *t, const gs_problem *problem)
{
    char what[GS_PROBLEM_TEXT + 16], text[GS_PROBLEM_TEXT];
    snprintf(what, sizeof what, "scoring %s", gs_problem_format(problem, text));
    cli_announce(&t->session->caps, t->session->worker.device, what, (t->source ? gs_emulated_cores() : 1) * (gs_emulated_seconds(problem, 1, 2) + gs_verify_seconds(problem, 0, true)));
}

/* Waits until this repeat's share of the total time begins. Returns -1, or the exit code of the signal that ended the wait. */
static int wait_for_turn(const scoring *t)
{
    if (!(t->s->over > 0) || t->total < 2) return -1;
    const int64_t at = t->started + (int64_t)(1e9 * t->s->over * (double)t->done / (double)(t->total - 1));
    while (gs_clock_ns() < at && !cli_stopped()) gs_clock_sleep_ns(GS_MIN(at - gs_clock_ns() + 1, 100000000));
    return cli_stopped() ? cli_stopped() : -1;
}

static int name_candidates(scoring *t, const gs_problem *problem, scored *list, int *count)
{
    const settings *const s = t->s;
    *count = 0;
    for (int i = 0; i < s->schedules.count; i++) {
        scored *const c = &list[(*count)++];
        c->submission.schedule = s->schedules.item[i];
        snprintf(c->name, sizeof c->name, "%.100s", s->schedules.item[i]);
    }
    if (t->source) {
        scored *const c = &list[(*count)++];
        c->submission = (gs_submission){.source = t->source, .manifest = t->manifest};
        snprintf(c->name, sizeof c->name, "%.100s", s->source);
    }
    gs_schedule first;
    if (*count > 0) return -1;
    if (gs_schedule_shortlist(problem, &t->session->caps, 0, &first, 1) < 1) {
        gs_error error;
        gs_fail(&error, GS_ERROR_UNSUPPORTED, NULL, "no family takes it on this device");
        return cli_fail(t->command, "score", &error);
    }
    list[0].submission.schedule = gs_schedule_format(&first, list[0].schedule);
    snprintf(list[0].name, sizeof list[0].name, "%s", list[0].schedule);
    *count = 1;
    return -1;
}

static int score_problem(scoring *t, const gs_problem *problem, scored *list, int count)
{
    char text[GS_PROBLEM_TEXT];
    int code = -1;
    for (int i = 0; i < count && code < 0; i++) {
        list[i].ratio = calloc((size_t)t->s->repeat, sizeof(double));
        list[i].reward = calloc((size_t)t->s->repeat, sizeof(double));
        gs_error error;
        if (!list[i].ratio || !list[i].reward) {
            gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory for %lld evaluations", (long long)t->s->repeat);
            return cli_fail(t->command, NULL, &error);
        }
    }
    if (code < 0) announce(t, problem);
    for (int64_t repeat = 0; repeat < t->s->repeat && code < 0; repeat++)
        for (int i = 0; i < count && code < 0; i++) {
            code = wait_for_turn(t);
            if (code < 0) code = score_one(t, problem, &list[i]);
        }
    for (int i = 0; i < count && t->s->repeat > 1; i++)
        if (list[i].evaluations > 1) sum_up(t, gs_problem_format(problem, text), &list[i]);
    return code;
}

static int score_all(scoring *t, const cli_problems *problems)
{
    int code = -1;
    t->total = (int64_t)problems->count * t->s->repeat * GS_MAX(t->s->schedules.count + (t->source != NULL), 1);
    t->started = gs_clock_ns();
    for (int i = 0; i < problems->count && code < 0; i++) {
        scored *const list = calloc(CLI_LIST_MAX + 1, sizeof *list);
        gs_error error;
        int count = 0;
        if (!list) {
            gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory for the candidates");
            return cli_fail(t->command, NULL, &error);
        }
        code = name_candidates(t, &problems->list[i], list, &count);
        if (code < 0) code = score_problem(t, &problems->list[i], list, count);
        for (int j = 0; j < count; j++) {
            free(list[j].ratio);
            free(list[j].reward);
        }
        free(list);
    }
    return code >= 0 ? code : t->failed ? CLI_VERIFY : t->unstable ? CLI_FAILED : CLI_OK;
}

static int open_texts(scoring *t)
{
    gs_error error;
    if (!t->s->source) return -1;
    if (gs_file_read_text(t->s->source, MOST_BYTES, &t->source, &error) == GS_OK && gs_file_read_text(t->s->manifest, MOST_BYTES, &t->manifest, &error) == GS_OK)
        return -1;
    return cli_fail(t->command, NULL, &error);
}

static int score(scoring *t, const cli_problems *problems)
{
    const settings *const s = t->s;
    cli_session *const session = t->session;
    gs_error error;
    gs_environment_options how = {.reward = (gs_reward_kind)s->reward, .confirm = s->confirm, .rounds = (int)s->rounds,
                                        .dependent = s->dependent, .seed = (uint64_t)s->seed, .compile_s = s->timeout, .timeout_s = s->timeout};
    int code = open_texts(t);
    if (code < 0) code = cli_session_open(t->command, session, s->device, s->dependent, s->store != NULL, s->store);
    if (code >= 0) return code;
    if (t->source && !s->no_emulator) how.emulator = cli_session_emulator(session);
    if (gs_environment_create(&t->environment, &session->worker, &session->caps, session->store, session->store ? &session->session : NULL, &how,
                              &error) == GS_OK)
        code = score_all(t, problems);
    else
        code = cli_fail(t->command, NULL, &error);
    gs_environment_destroy(&t->environment);
    cli_session_close(session);
    return code;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1, .repeat = 1};
    cli_session session = {0};
    cli_problems problems;
    int words;
    cli_session_command(&session, argc, argv);
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (s.over > 0 && s.repeat < 2) return cli_usage(command, "--over needs --repeat");
    if (!s.source != !s.manifest) return cli_usage(command, "--source and --manifest come together");
    code = cli_dependent(command, &s.dependent);
    if (code < 0) code = cli_problems_read(command, &problems, &s.asked, words, argv + 1);
    if (code >= 0) return code;
    if (problems.count == 0) return cli_usage(command, CLI_NEEDS_PROBLEM);
    scoring t = {.command = command, .session = &session, .s = &s};
    code = score(&t, &problems);
    free(t.source);
    free(t.manifest);
    cli_problems_free(&problems);
    return code;
}

const cli_command cli_score = {
    .name     = "score",
    .words    = "PROBLEM...",
    .summary  = "evaluate candidates as in reinforcement learning: verdict, times, reward",
    .about    = "Candidates, schedules or user kernels with their manifests, go through the environment: compiled,\ninspected where they are user kernels, verified, timed against auto-tuned cuBLASLt, and rewarded.\n"
                "With --repeat the same candidates are scored several times, in turn, and the spread of ratio and\nreward is compared with the dead zone (1 %). Exit code 4 if any did not pass, 1 if a spread is\n"
                "beyond the dead zone.",
    .options  = options,
    .examples = "  gemmsmith score f16:4096x4096x4096:tn --reward milestones\n"
                "  gemmsmith score f16:512x512x512:tn --source mine.cu --manifest mine.manifest --json\n"
                "  gemmsmith score f16:4096x4096x4096:tn --repeat 50 --over 1h",
    .run      = run,
};

/* SPDX-License-Identifier: MIT
 * gemmsmith verify: runs the whole verification on schedules, in the worker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "command.h"
#include "output.h"
#include "problems.h"
#include "schedule/schedule.h"
#include "session.h"
#include "random/random.h"
#include "verify/verify.h"
#include "worker/client.h"

#define TIMEOUT_S 600
#define PATIENCE  20     /* limit as a multiple of the estimate, on an emulated device */

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    const char *device;
    cli_list    schedules;
    uint32_t    families, parts;
    int64_t     seed, random;
    bool        dependent, json;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts of B to verify; default: the one in the problem"),
    {"schedule", 0, CLI_LIST,    offsetof(settings, schedules), "S", "schedule or library contender; may be repeated;\n"
     "default: the time model's first choice of every family"},
    {"families", 0, CLI_CHOICES, offsetof(settings, families),  cli_family_words, "kernel families to choose schedules from; default: all"},
    {"parts",    0, CLI_CHOICES, offsetof(settings, parts),     "exact,cancellation,index,normal,edges,memory,repeat,invariant", "parts to run; default: all"},
    {"random",   0, CLI_INT,     offsetof(settings, random),    "COUNT", "number of random problems, each with a random schedule per family", 0, 1e6},
    {"seed",     0, CLI_INT,     offsetof(settings, seed),      "N", "random seed of the data and of --random; default 1", 1, 9e15},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {"json",     0, CLI_FLAG,    offsetof(settings, json),      NULL, "one JSON object per line"},
    {NULL},
};

typedef struct tally {
    int passed, failed, skipped;
} tally;

/* Estimated seconds on an emulated device; 0 for a GPU. */
static double seconds_of(const cli_session *session, const settings *s, const gs_problem *problem, const char *candidate)
{
    return session->caps.emulated ? gs_verify_seconds(problem, s->parts, strcmp(candidate, "simple") != 0) : 0;
}

/* ---- one candidate ---- */

static void print_verdict(const settings *s, const char *problem, const char *candidate, gs_verdict_code verdict, int part,
                          const char *where, const char *reason)
{
    const bool passed = verdict == GS_VERDICT_PASS, skipped = verdict == GS_VERDICT_UNSUPPORTED;
    cli_progress_clear();
    if (s->json) {
        gs_text line = {0};
        gs_json json = gs_json_into(&line);
        gs_json_begin(&json, NULL, '{');
        gs_json_string(&json, "problem", problem);
        gs_json_string(&json, "candidate", candidate);
        gs_json_string(&json, "verdict", gs_verdict_name(verdict));
        gs_json_int(&json, "part", part);
        if (verdict != GS_VERDICT_PASS) gs_json_string(&json, "failed_on", where);
        gs_json_string(&json, "reason", reason);
        gs_json_end(&json, '}');
        printf("%s\n", gs_text_string(&line));
        gs_text_free(&line);
    } else if (passed || skipped) {
        printf("%s%s%s  %s  %s%s%s\n", passed ? cli_green() : "", passed ? "pass" : "skip", passed ? cli_plain() : "", problem,
               candidate, skipped && *reason ? "  " : "", skipped ? reason : "");
    } else {
        char place[GS_PROBLEM_TEXT + 32] = "";
        if (part > 0) snprintf(place, sizeof place, ", part %d", part);
        if (*where && strcmp(where, problem) != 0) snprintf(place + strlen(place), sizeof place - strlen(place), ", on %s", where);
        printf("%sFAIL%s  %s  %s  %s%s: %s\n", cli_red(), cli_plain(), problem, candidate, gs_verdict_name(verdict), place, reason);
    }
    fflush(stdout);
}

/* Returns -1 to go on, else the exit code: a failure of the machine, not of the candidate. */
static int verify_one(const cli_command *command, cli_session *session, const settings *s, const gs_problem *problem,
                      const char *candidate, tally *count)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    cli_progress("verifying %s %s (%d passed, %d failed)", text, candidate, count->passed, count->failed);
    const gs_worker_subject subject = {.problem = text, .candidate = candidate, .seed = s->seed, .dependent = s->dependent};
    gs_verdict verdict;
    gs_error error;
    const double seconds = seconds_of(session, s, problem, candidate);
    char what[GS_PROBLEM_TEXT + GS_CONTENDER_NAME + 16];
    snprintf(what, sizeof what, "verifying %s %s", text, candidate);
    cli_announce(&session->caps, session->worker.device, what, seconds);
    const gs_status status = gs_worker_verify(&session->worker, &subject, s->parts ? s->parts : GS_PART_ALL, TIMEOUT_S + PATIENCE * seconds, &verdict, &error);
    /* an error without a verdict is the machine's fault, not the candidate's */
    if (status == GS_ERROR_INTERRUPTED || cli_exit_code(status) == CLI_NO_DEVICE || cli_exit_code(status) == CLI_USAGE ||
        (status != GS_OK && gs_verdict_from_status(status) == GS_VERDICT_UNKNOWN))
        return cli_fail(command, candidate, &error);
    if (status != GS_OK) {
        print_verdict(s, text, candidate, gs_verdict_from_status(status), 0, text, error.text);
        ++*(status == GS_ERROR_UNSUPPORTED ? &count->skipped : &count->failed);
        return -1;
    }
    print_verdict(s, text, candidate, verdict.code, verdict.part, verdict.problem, verdict.reason);
    ++*(verdict.code == GS_VERDICT_PASS ? &count->passed : verdict.code == GS_VERDICT_UNSUPPORTED ? &count->skipped : &count->failed);
    return -1;
}

/* ---- the command ---- */

static int verify_problem(const cli_command *command, cli_session *session, const settings *s, const gs_problem *problem,
                          tally *count)
{
    int code = -1;
    for (int i = 0; i < s->schedules.count && code < 0; i++)
        code = verify_one(command, session, s, problem, s->schedules.item[i], count);
    if (s->schedules.count > 0) return code;
    int found = 0;
    for (unsigned family = 0; family < GS_FAMILIES && code < 0; family++) {
        gs_schedule schedule;
        char text[GS_SCHEDULE_TEXT];
        if (s->families && !(s->families & 1u << family)) continue;
        if (gs_schedule_shortlist(problem, &session->caps, 1u << family, &schedule, 1) < 1) continue;
        found++;
        code = verify_one(command, session, s, problem, gs_schedule_format(&schedule, text), count);
    }
    if (found == 0 && code < 0) {
        char text[GS_PROBLEM_TEXT];
        print_verdict(s, gs_problem_format(problem, text), "no schedule", GS_VERDICT_UNSUPPORTED, 0, "",
                      "no family takes it on this device");
        count->skipped++;
    }
    return code;
}

static int verify_random(const cli_command *command, cli_session *session, const settings *s, tally *count)
{
    gs_random random = {(uint64_t)s->seed};
    int code = -1;
    for (int64_t i = 0; i < s->random && code < 0; i++) {
        const gs_problem problem = gs_random_problem(&random, s->families, &session->caps);
        for (unsigned family = 0; family < GS_FAMILIES && code < 0; family++) {
            gs_schedule schedule;
            char text[GS_SCHEDULE_TEXT];
            if (s->families && !(s->families & 1u << family)) continue;
            if (!gs_random_schedule(&random, (gs_family_id)family, &problem, &session->caps, &schedule)) continue;
            code = verify_one(command, session, s, &problem, gs_schedule_format(&schedule, text), count);
        }
    }
    return code;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1, .seed = 1};
    cli_session session = {0};
    cli_problems problems;
    int words;
    cli_session_command(&session, argc, argv);
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (s.families && s.schedules.count > 0 && s.random == 0) return cli_usage(command, "--families has no effect beside --schedule");
    code = cli_dependent(command, &s.dependent);
    if (code < 0) code = cli_problems_read(command, &problems, &s.asked, words, argv + 1);
    if (code >= 0) return code;
    if (problems.count == 0 && s.random == 0) return cli_usage(command, CLI_NEEDS_PROBLEM ", or --random 100");
    code = cli_session_open(command, &session, s.device, s.dependent, false, NULL);
    if (code < 0) {
        tally count = {0};
        for (int i = 0; i < problems.count && code < 0; i++)
            code = verify_problem(command, &session, &s, &problems.list[i], &count);
        if (code < 0) code = verify_random(command, &session, &s, &count);
        cli_progress_clear();
        const bool summed = !s.json && (code < 0 || count.passed + count.failed + count.skipped > 0);   /* no summary after a usage error */
        if (summed) printf("%d passed, %d failed", count.passed, count.failed);
        if (summed) printf(count.skipped ? ", %d skipped\n" : "\n", count.skipped);
        if (code < 0) code = count.failed ? CLI_VERIFY : count.passed ? CLI_OK : CLI_SKIPPED;
        cli_session_close(&session);
    }
    cli_problems_free(&problems);
    return code;
}

const cli_command cli_verify = {
    .name     = "verify",
    .words    = "PROBLEM...",
    .summary  = "prove that schedules compute what they should",
    .about    = "Every candidate goes through seven parts: exact integers, cancellation, index-coded inputs, normal\ndata against an f64 reference, edges (odd sizes, K = 1, leading dimensions, alpha and beta), memory\n"
                "(guard bands, inputs unchanged, poisoned outputs) and repeatability; of problems with inv=1 through\nan eighth: bits of rows over M and other rows.\n"
                "One line each on standard output; exit code 4 if any failed, 77 if none ran.",
    .options  = options,
    .examples = "  gemmsmith verify f16:4096x4096x4096:tn\n"
                "  gemmsmith verify bf16:257x1000x31:nn --schedule mma/64x64x64/w2x2/s3/g8\n"
                "  gemmsmith verify --random 500 --seed 7",
    .run      = run,
};

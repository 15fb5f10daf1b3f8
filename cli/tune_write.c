/* SPDX-License-Identifier: MIT
 * Kernels that a model writes: what is printed. Candidates are called by the hash of their texts. */
#include "tune_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "author/keep.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "evaluate/environment.h"
#include "output.h"
#include "verify/verify.h"

typedef struct writing {
    const cli_command        *command;
    cli_session              *session;
    const cli_write_settings *s;
    gs_llm                   *llm;
    gs_worker                *emulator;  /* where kernels run before they reach the GPU; NULL: nowhere */
    char                      problem[GS_PROBLEM_TEXT];
    char                      program[GS_PATH];   /* this one, for the profiler: "" where it is not known */
    gs_kept                   kept;      /* --keep */
    int64_t                   started;
    int                       passed, bare, failed;   /* problems with a kernel; with turns and no kernel; without an end or an answer */
    bool                      late;                /* the time was up in one of them */
} writing;

/* ---- turns ---- */

static void on_begin(void *self, int done, int total, int island)
{
    const writing *const w = self;
    cli_progress("%s  turn %d of %d  island %d", w->problem, done + 1, total, island);
}

static void print_turn_json(const writing *w, const gs_author_turn *turn)
{
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_author_turn_put(&json, w->problem, turn);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_figures(const writing *w, double us, double ratio, double floor_us)
{
    if (w->session->caps.emulated) printf("predicted %.2f us, floor %.2f us", us, floor_us);
    else printf("%.2f us, %.3f of cuBLASLt's speed", us, ratio);
}

static void on_turn(void *self, const gs_author_turn *turn)
{
    const writing *const w = self;
    cli_progress_clear();
    if (w->s->json) {
        print_turn_json(w, turn);
    } else if (turn->best) {
        printf("%s  %s  ", w->problem, turn->got->candidate);
        print_figures(w, turn->got->us, turn->got->ratio.median, turn->got->floor_us);
        printf("  (turn %d of %d, from %s)\n", turn->done, turn->total, turn->base[0] ? turn->base : GS_AUTHOR_NOTHING);
    }
    fflush(stdout);
}

/* ---- a problem's end ---- */

static void print_result_json(const writing *w, const gs_author_result *r)
{
    const gs_spent spent = gs_ledger_spent(w->llm->ledger);
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_author_result_put(&json, w->problem, &w->session->caps, r, &spent);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&line));
    gs_text_free(&line);
}

static void print_result(const writing *w, const gs_author_result *r)
{
    char spent[CLI_TIME_TEXT];
    printf("%-32s  ", w->problem);
    if (r->count > 0) {
        printf("%s  ", r->elite[0].candidate);
        print_figures(w, r->elite[0].us, r->elite[0].ratio, r->floor_us);
        if (r->schedule_us > 0) printf(", %.3f of the speed of %s", r->schedule_us / r->elite[0].us, r->schedule);
    } else {
        printf("no kernel passed");
    }
    printf("  (%d turns, here %d judged, %d passed, %d answers unreadable, %s)\n", r->turns, r->judged, r->passed, r->unread, cli_time(spent, r->seconds));
}

/* ---- all problems ---- */

static double left_s(const writing *w) { return w->s->budget - 1e-9 * (double)(gs_clock_ns() - w->started); }

static void announce(const writing *w, const gs_problem *problem)
{
    char what[GS_PROBLEM_TEXT + 32];
    snprintf(what, sizeof what, "a kernel for %s", w->problem);
    cli_announce(&w->session->caps, w->session->worker.device, what, gs_emulated_seconds(problem, 1, 0) + gs_verify_seconds(problem, 0, true));
}

/* Returns -1 to go on, else the exit code. */
static int write_problem(writing *w, const gs_problem *problem, int left)
{
    const cli_write_settings *const s = w->s;
    gs_llm_options llm = s->llm;
    gs_author_result result;
    gs_error error = {0};
    llm.shared = w->llm;
    const gs_environment_options environment = {.reward = (gs_reward_kind)s->reward, .dependent = s->dependent, .emulator = w->emulator};
    const gs_author_options how = {
        .llm = &llm, .environment = &environment, .from = s->from, .islands = (int)s->islands, .turns = (int)s->turns, .patience = (int)s->patience, .again = s->again,
        .budget_s = s->budget > 0 ? left_s(w) / left : 0, .seed = (uint64_t)s->seed, .profile = w->program[0] ? w->program : NULL,
        .begins = on_begin, .told = on_turn, .self = w,
    };
    gs_problem_format(problem, w->problem);
    announce(w, problem);
    gs_status status = gs_author_run(w->session->store, &w->session->session, &w->session->worker, &w->session->caps, problem, &how, &result, &error);
    cli_progress_clear();
    if (status == GS_OK && s->keep) status = gs_kept_put(&w->kept, w->problem, &w->session->caps, &result, &error);
    if (status == GS_OK) (s->json ? print_result_json : print_result)(w, &result);
    fflush(stdout);
    w->passed += result.count > 0;
    w->bare += status == GS_OK && result.count == 0 && result.turns > 0;
    w->late |= result.end == GS_AUTHOR_TIME;
    w->failed += status != GS_OK || (result.end == GS_AUTHOR_SILENT && result.turns == result.before);   /* nobody answered */
    gs_author_free(&result);
    if (cli_stopped()) return cli_stopped();
    if (status == GS_OK) return -1;
    const int failed = cli_fail(w->command, w->problem, &error);
    return status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_RANGE ? -1 : failed;   /* the problem's own matter, or everybody's */
}

static int write_all(writing *w, const cli_problems *problems)
{
    int code = -1;
    for (int i = 0; i < problems->count && code < 0; i++) {
        w->late |= w->s->budget > 0 && left_s(w) < 1;
        if (w->s->budget > 0 && left_s(w) < 1) break;
        code = write_problem(w, &problems->list[i], problems->count - i);
    }
    const char *const store = gs_store_path(w->session->store);
    if (cli_stopped()) cli_note("stopped: every answer is kept in %s; run the same command again to continue", store);
    else if (w->late) cli_note("time limit reached: every answer is kept in %s; run the same command again to continue", store);
    else if (w->passed > 0 && !w->s->keep) cli_note("the kernels are in %s; the same command with --keep DIR writes the best kernel of each kind to DIR", store);
    if (w->bare > 0 && !cli_stopped()) cli_note("to see why no kernel passed: sqlite3 -readonly %s \"SELECT problem, candidate, verdict, reason, fault FROM turns WHERE mode = 'source'\"", store);
    return code >= 0 ? code : w->failed ? CLI_FAILED : CLI_OK;
}

int cli_write(const cli_command *command, cli_session *session, const cli_write_settings *s, const cli_problems *problems)
{
    gs_llm llm = {0};
    gs_error error = {0};
    writing w = {.command = command, .session = session, .s = s, .llm = &llm, .started = gs_clock_ns()};
    int code = cli_session_open(command, session, s->device, s->dependent, true, s->store);
    if (code >= 0) return code;
    const ssize_t length = readlink("/proc/self/exe", w.program, sizeof w.program - 1);
    if (length < 0) w.program[0] = '\0';
    w.emulator = s->no_emulator ? NULL : cli_session_emulator(session);
    gs_status status = s->keep ? gs_kept_open(&w.kept, s->keep, &error) : GS_OK;   /* before anything is paid for */
    if (status == GS_OK) status = gs_llm_open(&llm, &s->llm, &error);
    code = status == GS_OK ? write_all(&w, problems) : cli_fail(command, NULL, &error);
    gs_llm_close(&llm);
    gs_kept_free(&w.kept);
    cli_session_close(session);
    return code;
}

/* SPDX-License-Identifier: MIT
 * Kernels written by a language model: printing. Candidates are named by the hash of their texts. */
#include "tune_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "author/keep.h"
#include "base/clock.h"
#include "base/error.h"
#include "evaluate/environment.h"
#include "output.h"
#include "tune/tune.h"
#include "verify/verify.h"

typedef struct writing {
    const cli_command        *command;
    cli_session              *session;
    const cli_write_settings *s;
    gs_llm                   *llm;
    gs_worker                *emulator;  /* runs kernels before they reach the GPU; NULL: none */
    char                      problem[GS_PROBLEM_TEXT];
    char                      program[GS_PATH];   /* path of this program, for the profiler; "" if unknown */
    gs_kept                   kept;      /* --keep */
    int64_t                   started;
    int                       passed, bare, failed;   /* problems with an accepted kernel; with turns but no kernel; ended by an error or without an answer */
    bool                      late;                /* time ran out during one of them */
} writing;

/* ---- turns ---- */

static void on_begin(void *self, int done, int total, int island)
{
    const writing *const w = self;
    cli_progress("%s  turn %d of %d  island %d", w->problem, done + 1, total, island);
}

static void on_turn(void *self, const gs_author_turn *turn)
{
    const writing *const w = self;
    cli_progress_clear();
    gs_text line = {0};
    if (w->s->json || turn->best) (w->s->json ? gs_author_turn_line : gs_author_turn_text)(&line, w->problem, turn);
    fputs(gs_text_string(&line), stdout);
    gs_text_free(&line);
    fflush(stdout);
}

static void print_result(const writing *w, const gs_author_result *r)
{
    char spent[CLI_TIME_TEXT];
    const gs_spent asked = gs_ledger_spent(w->llm->ledger);
    gs_text line = {0};
    if (w->s->json) gs_author_result_line(&line, w->problem, &w->session->caps, r, &asked);
    else gs_author_result_text(&line, w->problem, &w->session->caps, r, cli_time(spent, r->seconds));
    fputs(gs_text_string(&line), stdout);
    gs_text_free(&line);
}

/* ---- all problems ---- */

static double left_s(const writing *w) { return w->s->budget - 1e-9 * (double)(gs_clock_ns() - w->started); }

/* Returns -1 to go on, else the exit code. */
static int write_problem(writing *w, const gs_problem *problem, int left)
{
    const cli_write_settings *const s = w->s;
    gs_llm_options llm = s->llm;
    gs_author_result result;
    gs_error error = {0};
    char what[GS_PROBLEM_TEXT + 32];
    llm.shared = w->llm;
    const gs_environment_options environment = {.reward = (gs_reward_kind)s->reward, .dependent = s->dependent, .emulator = w->emulator, .without_metrics = true};
    const gs_author_options how = {
        .llm = &llm, .environment = &environment, .from = s->from, .islands = (int)s->islands, .turns = (int)s->turns, .patience = (int)s->patience, .again = s->again,
        .budget_s = s->budget > 0 ? GS_MIN(left_s(w) * (s->member ? s->member->count : 1) / left, left_s(w)) : 0, .asks = (int)s->asks, .edits = s->edits, .seed = (uint64_t)s->seed, .profile = w->program[0] ? w->program : NULL,
        .begins = on_begin, .told = on_turn, .self = w,
    };
    gs_problem_format(problem, w->problem);
    snprintf(what, sizeof what, "a kernel for %s", w->problem);
    cli_announce(&w->session->caps, w->session->worker.device, what, gs_emulated_cores() * (gs_emulated_seconds(problem, 1, 0) + gs_verify_seconds(problem, 0, true)));
    gs_status status = gs_author_run(w->session->store, &w->session->session, &w->session->worker, &w->session->caps, problem, &how, &result, &error);
    cli_progress_clear();
    if (status == GS_OK && s->keep) status = gs_kept_put(&w->kept, w->problem, &w->session->caps, &result, &error);
    if (status == GS_OK) print_result(w, &result);
    fflush(stdout);
    w->passed += result.count > 0;
    w->bare += status == GS_OK && result.count == 0 && result.turns > 0;
    w->late |= result.end == GS_AUTHOR_TIME;
    w->failed += status != GS_OK || (result.end == GS_AUTHOR_SILENT && result.turns == result.before);   /* the model never answered */
    gs_author_free(&result);
    if (cli_stopped()) return cli_stopped();
    if (status == GS_OK) return -1;
    const int failed = cli_fail(w->command, w->problem, &error);
    return status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_RANGE ? -1 : failed;   /* these errors concern one problem only, all others everything */
}

/* Works through the problems; in a group, those that no other device has taken. */
static int write_list(writing *w, const cli_problems *problems, gs_group_member *member)
{
    const gs_tune_options how = {.lessee = member ? &member->lessee : NULL, .first = member ? (int)((int64_t)problems->count * member->index / member->count) : 0};
    gs_work_queue *queue;
    gs_error error;
    int code = -1, index = -1;
    if (gs_work_queue_create(&queue, w->session->store, &w->session->session, problems->list, problems->count, &how, &error) != GS_OK) return cli_fail(w->command, NULL, &error);
    while (code < 0 && gs_work_queue_left(queue) > 0) {
        w->late |= w->s->budget > 0 && left_s(w) < 1;
        if (w->s->budget > 0 && left_s(w) < 1) break;
        if (gs_work_queue_next(queue, &index, &error) != GS_OK) {
            code = cli_fail(w->command, NULL, &error);
        } else if (index >= 0) {
            code = write_problem(w, &problems->list[index], gs_work_queue_left(queue));
            gs_work_queue_end(queue, index, code < 0);
            if (member) member->sum.tuned++;
        } else if (gs_work_queue_left(queue) > 0) {   /* held by other devices */
            code = cli_stopped() ? cli_stopped() : -1;
            gs_clock_sleep_ns(100000000);
        }
    }
    if (member) member->complete = gs_work_queue_left(queue) == 0;
    gs_work_queue_destroy(&queue);
    return code;
}

static int write_all(writing *w, const cli_problems *problems)
{
    gs_group_member *const member = w->s->member;
    if (member) snprintf(member->slug, sizeof member->slug, "%s", w->session->caps.slug);
    if (member) snprintf(member->device, sizeof member->device, "%s", w->session->worker.device);
    const int code = write_list(w, problems, member);
    if (member && member->index > 0) return code >= 0 ? code : w->failed ? CLI_FAILED : CLI_OK;   /* the first member reports for all */
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
    gs_status status = s->keep ? gs_kept_open(&w.kept, s->keep, &error) : GS_OK;   /* opened before anything is paid for */
    if (status == GS_OK) status = gs_llm_open(&llm, &s->llm, &error);
    code = status == GS_OK ? write_all(&w, problems) : cli_fail(command, NULL, &error);
    gs_llm_close(&llm);
    gs_kept_free(&w.kept);
    cli_session_close(session);
    return code;
}

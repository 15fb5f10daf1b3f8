/* SPDX-License-Identifier: MIT
 * Kernels that a model writes: what is printed, and the files of --keep. Candidates are called by the hash of their texts, in paths too. */
#include "tune_write.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "evaluate/environment.h"
#include "output.h"
#include "verify/verify.h"

#define MOST_KEPT (256u << 20)   /* bytes of rows */

typedef struct writing {
    const cli_command        *command;
    cli_session              *session;
    const cli_write_settings *s;
    gs_llm                   *llm;
    gs_worker                *emulator;  /* where kernels run before they reach the GPU; NULL: nowhere */
    char                      problem[GS_PROBLEM_TEXT];
    char                      program[GS_PATH];   /* this one, for the profiler: "" where it is not known */
    gs_text                   rows;      /* of elites, for --keep: what is in the folder, and of all problems of this run */
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
    gs_json_int(&json, "island", turn->island);
    gs_json_int(&json, "turn", turn->number);
    gs_json_string(&json, "base", turn->base);
    if (turn->got) {
        gs_evaluation shown = *turn->got;
        snprintf(shown.reason, sizeof shown.reason, "%s", turn->reason);
        gs_json_bool(&json, "repeated", turn->again);
        gs_json_bool(&json, "improved", turn->improved);
        gs_json_bool(&json, "best", turn->best);
        gs_evaluation_put(&json, w->problem, &shown);
    } else {
        gs_json_string(&json, "problem", w->problem);
        gs_text fault = {0};
        gs_text_add_bytes(&fault, turn->fault, strcspn(turn->fault, "\n"));
        gs_json_string(&json, "fault", gs_text_string(&fault));
        gs_text_free(&fault);
    }
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

static void put_elite(gs_json *json, const gs_author_kernel *e, bool emulated)
{
    gs_json_string(json, "candidate", e->candidate);
    gs_json_string(json, "base", e->base);
    gs_json_string(json, "kind", e->kind);
    gs_json_double(json, "us", e->us);
    if (emulated) gs_json_bool(json, "predicted", true);
    gs_json_double(json, "ratio", e->ratio);
    gs_json_double(json, "reward", e->reward);
    gs_json_int(json, "registers", e->registers);
    gs_json_int(json, "smem", e->smem);
    gs_json_int(json, "island", e->island);
}

static void print_result_json(const writing *w, const gs_author_result *r)
{
    const gs_spent spent = gs_ledger_spent(w->llm->ledger);
    const bool emulated = w->session->caps.emulated;
    gs_text line = {0};
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", w->problem);
    gs_json_string(&json, "gpu", w->session->caps.slug);
    gs_json_string(&json, "ended", gs_author_end_name(r->end));
    gs_json_int(&json, "turns", r->turns);
    gs_json_int(&json, "before", r->before);
    gs_json_int(&json, "judged", r->judged);
    gs_json_int(&json, "passed", r->passed);
    gs_json_int(&json, "unread", r->unread);
    gs_json_int(&json, "elites", r->count);
    if (r->count > 0) {
        gs_json_begin(&json, "best", '{');
        put_elite(&json, &r->elite[0], emulated);
        gs_json_end(&json, '}');
    }
    if (r->schedule[0]) {
        gs_json_string(&json, "schedule", r->schedule);
        gs_json_double(&json, "schedule_us", r->schedule_us);
    }
    if (r->library_us > 0) gs_json_double(&json, "library_us", r->library_us);
    gs_json_double(&json, "floor_us", r->floor_us);
    gs_json_double(&json, "seconds", r->seconds);
    gs_json_begin(&json, "asked", '{');
    gs_json_int(&json, "requests", spent.requests);
    gs_json_int(&json, "tokens", spent.tokens);
    gs_json_double(&json, "seconds", spent.seconds);
    gs_json_double(&json, "cost", spent.cost);
    gs_json_end(&json, '}');
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

/* ---- the files of --keep ---- */

static gs_status keep_text(const char *folder, const char *hash, const char *name, const char *text, gs_error *error)
{
    char path[GS_PATH];
    if (snprintf(path, sizeof path, "%s/%s/%s", folder, hash, name) >= (int)sizeof path) return gs_fail(error, GS_ERROR_ARGUMENT, "keep", "the path is too long");
    return gs_file_write(path, text, strlen(text), error);
}

static gs_status keep_elite(writing *w, const gs_author_kernel *e, gs_error *error)
{
    char name[GS_CONTENDER_NAME];
    gs_json json = gs_json_into(&w->rows);
    const char *const hash = strchr(gs_submission_name(e->source, e->manifest, name), ':') + 1;   /* of the texts, whatever a store calls them: digits alone */
    GS_TRY(keep_text(w->s->keep, hash, "kernel.cu", e->source, error));
    GS_TRY(keep_text(w->s->keep, hash, "manifest", e->manifest, error));
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", w->problem);
    gs_json_string(&json, "gpu", w->session->caps.slug);
    put_elite(&json, e, w->session->caps.emulated);
    gs_json_end(&json, '}');
    gs_text_add(&w->rows, "\n");
    return GS_OK;
}

static gs_status rows_path(const writing *w, char path[GS_PATH], gs_error *error)
{
    if (snprintf(path, GS_PATH, "%s/elites.jsonl", w->s->keep) >= GS_PATH) return gs_fail(error, GS_ERROR_ARGUMENT, "keep", "the path is too long");
    return GS_OK;
}

/* Whether the line is a row of this problem on this GPU; PARSE: of none. */
static gs_status is_row_of(const char *line, size_t size, const char *problem, const char *gpu, bool *is, gs_error *error)
{
    json_t *const row = json_loadb(line, size, 0, NULL);
    const char *const its = json_string_value(json_object_get(row, "problem")), *const there = json_string_value(json_object_get(row, "gpu"));
    const gs_status status = its && there ? GS_OK : gs_fail(error, GS_ERROR_PARSE, "keep", "a line of elites.jsonl is none of --keep's: name another folder");
    *is = status == GS_OK && strcmp(its, problem) == 0 && strcmp(there, gpu) == 0;
    json_decref(row);
    return status;
}

/* Rows of this problem on this GPU make room for new ones. */
static gs_status drop_rows(writing *w, gs_error *error)
{
    gs_text kept = {0};
    gs_status status = GS_OK;
    bool is = false;
    for (const char *line = gs_text_string(&w->rows); status == GS_OK && *line;) {
        const size_t size = strcspn(line, "\n");
        status = is_row_of(line, size, w->problem, w->session->caps.slug, &is, error);
        if (status == GS_OK && !is) {
            gs_text_add_bytes(&kept, line, size);
            gs_text_add(&kept, "\n");
        }
        line += size + (line[size] == '\n');
    }
    kept.failed = kept.failed || w->rows.failed;
    gs_text_free(&w->rows);
    w->rows = kept;
    return status;
}

/* Makes the folder, and reads what earlier runs kept there. */
static gs_status open_kept(writing *w, gs_error *error)
{
    char path[GS_PATH], *text;
    size_t size;
    GS_TRY(gs_directory_make(w->s->keep, error));
    GS_TRY(rows_path(w, path, error));
    const gs_status status = gs_file_read(path, MOST_KEPT, &text, &size, error);
    if (status == GS_ERROR_NOT_FOUND) return GS_OK;
    if (status != GS_OK) return status;
    gs_text_add_bytes(&w->rows, text, size);
    free(text);
    return drop_rows(w, error);   /* of no problem yet: it says whether they are rows */
}

static gs_status keep(writing *w, const gs_author_result *r, gs_error *error)
{
    char path[GS_PATH];
    if (!w->s->keep) return GS_OK;
    GS_TRY(drop_rows(w, error));
    for (int i = 0; i < r->count; i++) GS_TRY(keep_elite(w, &r->elite[i], error));
    if (w->rows.failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the rows of --keep");
    GS_TRY(rows_path(w, path, error));
    return gs_file_write(path, gs_text_string(&w->rows), w->rows.size, error);
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
    if (status == GS_OK) status = keep(w, &result, &error);
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
    if (cli_stopped()) cli_note("stopped: every answer is kept in %s; the same command goes on from there", store);
    else if (w->late) cli_note("the time is up: every answer is kept in %s; the same command goes on from there", store);
    else if (w->passed > 0 && !w->s->keep) cli_note("the kernels are in %s; the same command with --keep DIR writes the best of each kind there", store);
    if (w->bare > 0 && !cli_stopped()) cli_note("why no kernel passed: sqlite3 %s \"SELECT problem, candidate, verdict, reason, fault FROM turns WHERE mode = 'source'\"", store);
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
    gs_status status = s->keep ? open_kept(&w, &error) : GS_OK;   /* before anything is paid for */
    if (status == GS_OK) status = gs_llm_open(&llm, &s->llm, &error);
    code = status == GS_OK ? write_all(&w, problems) : cli_fail(command, NULL, &error);
    gs_llm_close(&llm);
    gs_text_free(&w.rows);
    cli_session_close(session);
    return code;
}

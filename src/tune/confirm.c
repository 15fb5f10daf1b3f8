/* SPDX-License-Identifier: MIT
 * The end of a tuning: the final race, the confirmation in a fresh process with fresh data, and what is written down. Only the
 * confirmed figure is reported: the one that picked a winner flatters it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "evaluate/run.h"
#include <gemmsmith/gemmsmith.h>

/* More rounds for the best; leaves them sorted, those that failed removed. */
static gs_status final_race(gs_run *run, gs_candidate **list, int *count, gs_error *error)
{
    bool needed = false;
    for (int i = 0; i < *count && !run->caps->emulated; i++) needed |= list[i]->rounds < GS_RUN_FINAL_ROUNDS;
    if (*count > 1 && needed && gs_run_may_explore(run)) {
        gs_run_progress(run, "race", 0, *count, list[0]->text);
        const int64_t began = gs_clock_ns();
        GS_TRY(gs_run_group(run, list, *count, GS_RUN_FINAL_ROUNDS, "final", error));
        GS_TRY(gs_run_doubted(run, list, *count, GS_RUN_FINAL_ROUNDS, "final", error));
        run->result->spent.race += gs_run_since(began);
    }
    int kept = 0;
    for (int i = 0; i < *count; i++)
        if (!gs_candidate_out(list[i])) list[kept++] = list[i];
    *count = kept;
    gs_run_sort(list, kept);
    return GS_OK;
}

/* The library wins by default, but only over candidates that were looked at, and where there is one. */
static gs_status nothing_passed(const gs_run *run, gs_error *error)
{
    GS_TRY(gs_run_check(run, error));
    for (int i = 0; i < run->count; i++)
        if (!run->list[i].measured && !gs_candidate_out(&run->list[i]))
            return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "the budget of %g s ran out before every candidate was measured",
                           run->options->budget_s);
    if (run->caps->emulated) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed on %s", run->worker->device);
    return GS_OK;
}

gs_status gs_run_confirm(gs_run *run, gs_candidate **winner, gs_error *error)
{
    *winner = NULL;
    for (;;) {
        gs_candidate *best[GS_RUN_FINALISTS];
        int count;
        GS_TRY(gs_run_best(run, best, GS_RUN_FINALISTS, &count, error));
        if (count == 0) return nothing_passed(run, error);
        GS_TRY(final_race(run, best, &count, error));
        if (count == 0) continue;
        GS_TRY(gs_run_check(run, error));
        gs_run_progress(run, "confirm", 0, 1, best[0]->text);
        const int64_t began = gs_clock_ns();
        gs_worker_stop(run->worker);
        GS_TRY(gs_run_group(run, best, 1, GS_RUN_CONFIRM_ROUNDS, "confirm", error));
        run->result->spent.confirm += gs_run_since(began);
        if (gs_candidate_out(best[0])) continue;   /* the next best */
        gs_run_progress(run, "confirm", 1, 1, best[0]->text);
        *winner = best[0];
        return GS_OK;
    }
}

/* ---- writing it down ---- */

static void make_row(const gs_session *session, const gs_caps *caps, const gs_problem *problem, const gs_trial *winner, gs_row *row)
{
    *row = (gs_row){
        .problem = *problem, .us = winner->us, .library_us = winner->library_us, .ratio = winner->ratio, .low = winner->low,
        .high = winner->high, .mhz = winner->mhz, .cc = caps->cc, .sms = caps->sms,
        .cublaslt = winner->date[0] ? winner->cublaslt : session->cublaslt,   /* of a stored winner: when it was measured */
    };
    row->problem.alpha = 1;
    row->problem.beta = problem->beta != 0;
    row->library = gs_library_parse(winner->candidate);
    if (!row->library && gs_schedule_parse(&row->schedule, winner->candidate, NULL) != GS_OK) row->library = 1;
    snprintf(row->gpu, sizeof row->gpu, "%s", session->device);
    if (winner->date[0])
        snprintf(row->date, sizeof row->date, "%s", winner->date);
    else
        gs_date_format(row->date);
    gs_row_sign(row, winner->version[0] ? winner->version : session->version);
}

void gs_run_row(const gs_run *run, const gs_trial *winner, gs_row *row) { make_row(run->session, run->caps, run->problem, winner, row); }

gs_status gs_run_lock(const char *path, int *lock, gs_error *error)
{
    char name[GS_PATH];
    if ((size_t)snprintf(name, sizeof name, "%s.lock", path) >= sizeof name)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s: path too long", path);
    GS_TRY(gs_file_need_regular(path, error));   /* no lock is left beside a device */
    *lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*lock < 0 && errno == ENOENT) {
        char directory[GS_PATH];
        snprintf(directory, sizeof directory, "%s", path);
        char *const slash = strrchr(directory, '/');
        if (slash && slash != directory) {
            *slash = '\0';
            GS_TRY(gs_directory_make(directory, error));
        }
        *lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    }
    if (*lock < 0) return gs_fail_errno(error, errno, name, "cannot be opened");
    while (flock(*lock, LOCK_EX) != 0) {
        if (errno == EINTR && !gs_stop_requested) continue;
        const int why = errno;
        close(*lock);
        return gs_fail_errno(error, why, name, "cannot be locked");
    }
    return GS_OK;
}

static gs_status update_table(gs_table *table, const char *path, const gs_row *row, bool only_if_absent, gs_error *error)
{
    int skipped = 0;
    gs_error first = {0};
    const gs_status loaded = gs_table_load(table, path, NULL, &skipped, &first);
    if (loaded != GS_OK && loaded != GS_ERROR_NOT_FOUND) {
        if (error) *error = first;
        return loaded;
    }
    if (skipped > 0)
        return gs_fail(error, GS_ERROR_PARSE, NULL, "%s has %d rows that cannot be read (%.200s); repair or remove them first",
                       path, skipped, first.text);
    if (only_if_absent)
        for (int i = 0; i < gs_table_size(table); i++) {
            const gs_row *const other = gs_table_row(table, i);
            char a[GS_PROBLEM_TEXT], b[GS_PROBLEM_TEXT];
            if (strcmp(gs_problem_format(&other->problem, a), gs_problem_format(&row->problem, b)) == 0 &&
                strcmp(other->gpu, row->gpu) == 0)
                return GS_OK;
        }
    if (gs_table_put(table, row) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    gs_text text = {0};
    gs_table_format(table, &text);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table")
                                         : gs_file_write(path, gs_text_string(&text), text.size, error);
    gs_text_free(&text);
    return status;
}

gs_status gs_run_table(const char *path, const gs_row *row, bool only_if_absent, gs_error *error)
{
    if (!path || !*path) return GS_OK;
    int lock;
    GS_TRY(gs_run_lock(path, &lock, error));
    gs_table *table = NULL;
    gs_status status = gs_table_create(&table);
    if (status != GS_OK)
        gs_fail(error, status, NULL, "no memory for a table");
    else
        status = update_table(table, path, row, only_if_absent, error);
    gs_table_destroy(&table);
    close(lock);
    return status;
}

gs_status gs_tune_record(gs_store *store, gs_session *session, const gs_caps *caps, const gs_problem *problem, const gs_confirmed *confirmed,
                         const char *tuned_path, gs_row *row, gs_error *error)
{
    const gs_ratio *const ratio = &confirmed->ratio;
    gs_trial trial = {.rounds = confirmed->rounds, .stage = "confirm", .verdict = "pass", .mhz = confirmed->mhz};
    gs_problem_format(problem, trial.problem);
    if (confirmed->us > 0 && (caps->emulated || (ratio->median >= 1 && ratio->low >= 1 - GS_DEAD_ZONE))) {
        const gs_resources resources = gs_schedule_resources(&confirmed->schedule, problem, caps);
        gs_schedule_format(&confirmed->schedule, trial.candidate);
        trial.registers = resources.registers;
        trial.smem = resources.smem;
        trial.predicted_us = gs_schedule_predict(&confirmed->schedule, problem, caps);
        trial.us = confirmed->us;
        trial.library_us = confirmed->library_us;
        trial.ratio = ratio->median;
        trial.low = ratio->low;
        trial.high = ratio->high;
    } else {
        gs_row_choice(&(gs_row){.library = GS_MAX(confirmed->suggestion, 1)}, trial.candidate);
        trial.us = trial.library_us = confirmed->library_us;
        trial.ratio = trial.low = trial.high = 1;
    }
    GS_TRY(gs_store_win(store, session, &trial, error));
    make_row(session, caps, problem, &trial, row);
    return gs_run_table(tuned_path, row, false, error);
}

gs_status gs_run_record(gs_run *run, const gs_candidate *winner, gs_error *error)
{
    gs_confirmed confirmed = {.library_us = run->library_us, .suggestion = run->suggestion, .mhz = run->mhz};
    gs_tune_result *const result = run->result;
    if (winner) {
        confirmed.schedule = winner->schedule;
        confirmed.us = winner->us;
        confirmed.ratio = winner->ratio;
        confirmed.rounds = winner->rounds;
        confirmed.library_us = winner->library_us;
        snprintf(result->best_own, sizeof result->best_own, "%s", winner->text);
        result->best_own_ratio = winner->ratio.median;
        result->best_own_us = winner->us;
    }
    result->confirmed = true;
    return gs_tune_record(run->store, run->session, run->caps, run->problem, &confirmed, run->options->tuned_path, &result->row, error);
}

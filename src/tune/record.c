/* SPDX-License-Identifier: MIT
 * What a confirmed search leaves: the winner in the store, and its row in the tuned table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "tune/run.h"

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

void gs_run_row(const gs_run *run, const gs_trial *winner, gs_row *row) { make_row(run->evaluator.session, run->evaluator.caps, run->evaluator.problem, winner, row); }

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
    GS_TRY(gs_file_lock(path, &lock, error));
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
    gs_trial trial = {.rounds = confirmed->rounds, .mhz = confirmed->mhz};
    snprintf(trial.stage, sizeof trial.stage, "%s", gs_stage_name(GS_STAGE_CONFIRM));
    snprintf(trial.verdict, sizeof trial.verdict, "%s", gs_verdict_name(GS_VERDICT_PASS));
    gs_problem_format(problem, trial.problem);
    if (confirmed->us > 0 && (caps->emulated || confirmed->alone || (ratio->median >= 1 && ratio->low >= 1 - GS_DEAD_ZONE))) {
        const gs_resources resources = gs_schedule_resources(&confirmed->schedule, problem, caps);
        gs_schedule_format(&confirmed->schedule, trial.candidate);
        trial.registers = resources.registers;
        trial.smem = resources.smem;
        trial.predicted_us = gs_schedule_predict(&confirmed->schedule, problem, caps);
        trial.us = confirmed->us;
        if (!confirmed->alone) {
            trial.library_us = confirmed->library_us;
            trial.ratio = ratio->median;
            trial.low = ratio->low;
            trial.high = ratio->high;
        }
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
    gs_confirmed confirmed = {.library_us = run->evaluator.library_us, .suggestion = run->evaluator.suggestion, .mhz = run->evaluator.mhz};
    gs_tune_result *const result = run->result;
    const bool alone = gs_evaluator_lacks(&run->evaluator);
    if (alone && !winner) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "no schedule passed, and %s", run->evaluator.lacks);
    snprintf(result->alone, sizeof result->alone, "%s", run->evaluator.lacks);
    confirmed.alone = alone;
    if (winner) {
        confirmed.schedule = winner->schedule;
        confirmed.us = winner->us;
        confirmed.ratio = winner->ratio;
        confirmed.rounds = winner->rounds;
        confirmed.library_us = winner->library_us;
        snprintf(result->best_own, sizeof result->best_own, "%s", winner->text);
        result->best_own_ratio = alone ? 0 : winner->ratio.median;
        result->best_own_us = winner->us;
    }
    result->confirmed = true;
    return gs_tune_record(run->evaluator.store, run->evaluator.session, run->evaluator.caps, run->evaluator.problem, &confirmed, run->options->tuned_path, &result->row, error);
}

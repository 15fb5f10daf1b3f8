/* SPDX-License-Identifier: MIT
 * Recording a confirmed search: the winner in the store, and its row in the tuned table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "problem/layout.h"
#include "tune/run.h"

static void make_row(const gs_session *session, const gs_caps *caps, const gs_problem *problem, const gs_trial *winner, gs_row *row)
{
    *row = (gs_row){
        .problem = *problem, .us = winner->us, .library_us = winner->library_us, .ratio = winner->ratio, .low = winner->low,
        .high = winner->high, .mhz = winner->mhz, .cc = caps->cc, .sms = caps->sms,
        .cublaslt = winner->cublaslt,   /* the version at the measurement */
    };
    row->problem.alpha = 1;
    row->problem.beta = problem->beta != 0;
    row->library = gs_library_parse(winner->candidate);
    if (!row->library && gs_schedule_parse(&row->schedule, winner->candidate, NULL) != GS_OK) row->library = 1;
    snprintf(row->gpu, sizeof row->gpu, "%s", session->device);
    snprintf(row->date, sizeof row->date, "%s", winner->date);
    gs_row_sign(row, winner->version[0] ? winner->version : session->version);
}

void gs_run_row(const gs_run *run, const gs_trial *winner, gs_row *row) { make_row(run->evaluator.session, run->evaluator.caps, run->evaluator.problem, winner, row); }

gs_status gs_run_table(const char *path, const gs_row *row, bool only_if_absent, gs_error *error)
{
    return path && *path ? gs_table_keep(path, row, only_if_absent, error) : GS_OK;
}

bool gs_tune_table_path(char path[GS_PATH], const char *slug)
{
    const char *const set = getenv("GEMMSMITH_TUNED");
    char tail[128];
    struct stat status;
    if (!set || !*set) {
        snprintf(tail, sizeof tail, "tuned/%s.tuned", slug);
        return gs_user_path(path, 'd', NULL, tail);
    }
    const size_t length = strlen(set);
    const bool directory = stat(set, &status) == 0 ? S_ISDIR(status.st_mode)
                                                   : length < 6 || strcmp(set + length - 6, ".tuned") != 0;
    const int size = directory ? snprintf(path, GS_PATH, "%s/%s.tuned", set, slug) : snprintf(path, GS_PATH, "%s", set);
    return size > 0 && size < GS_PATH;
}

gs_status gs_tune_check_table(const char *path, gs_error *error)
{
    gs_table *table = NULL;
    gs_error first = {0};
    int skipped = 0;
    GS_TRY(gs_file_need_place(path, error));
    GS_TRY(gs_file_need_regular(path, error));
    if (!gs_file_exists(path)) return GS_OK;
    if (gs_table_create(&table) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    const gs_status status = gs_table_load(table, path, NULL, &skipped, &first);
    gs_table_destroy(&table);
    if (status == GS_OK && skipped == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.300s: it is left as it is: repair or remove it first", first.text);
}

/* Plans of such problems use only our kernels, even if a library call was measured. */
static bool ours_alone(const gs_problem *problem) { return problem->invariant || gs_has_offsets(problem); }

gs_status gs_tune_record(gs_store *store, gs_session *session, const gs_caps *caps, const gs_problem *problem, const gs_confirmed *confirmed,
                         const char *tuned_path, gs_row *row, gs_error *error)
{
    const gs_ratio *const ratio = &confirmed->ratio;
    gs_trial trial = {.rounds = confirmed->rounds, .mhz = confirmed->mhz, .cublaslt = session->cublaslt};
    gs_date_format(trial.date);   /* one reading of the clock for store and table */
    snprintf(trial.stage, sizeof trial.stage, "%s", gs_stage_name(GS_STAGE_CONFIRM));
    snprintf(trial.verdict, sizeof trial.verdict, "%s", gs_verdict_name(GS_VERDICT_PASS));
    gs_problem_format(problem, trial.problem);
    if (problem->invariant && confirmed->us <= 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "no schedule passed, and the bits of cuBLASLt's rows depend on M");
    if (gs_has_offsets(problem) && confirmed->us <= 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "g", "no schedule passed, and cuBLASLt takes no groups whose sizes are on the device");
    if (confirmed->us > 0 && (caps->emulated || confirmed->alone || ours_alone(problem) || (ratio->median >= 1 && ratio->low >= 1 - GS_DEAD_ZONE))) {
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

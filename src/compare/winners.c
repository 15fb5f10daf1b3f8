/* SPDX-License-Identifier: MIT */
#include "compare/winners.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "verdict/verdict.h"

bool gs_table_row_of(gs_row *row, const gs_trial *trial, const char *gpu)
{
    *row = (gs_row){
        .library = gs_library_parse(trial->candidate),
        .us = trial->us,
        .library_us = trial->library_us,
        .ratio = trial->ratio,
        .low = trial->low,
        .high = trial->high,
        .mhz = trial->mhz,
        .cc = trial->cc,
        .sms = trial->sms,
        .cublaslt = trial->cublaslt,
    };
    if (gs_problem_parse(&row->problem, trial->problem, NULL) != GS_OK) return false;
    if (!row->library && !gs_kernel_parse(trial->candidate, row->kernel) && gs_schedule_parse(&row->schedule, trial->candidate, NULL) != GS_OK) return false;
    snprintf(row->gpu, sizeof row->gpu, "%s", gpu);
    snprintf(row->date, sizeof row->date, "%s", trial->date);
    gs_row_sign(row, trial->version);
    return true;
}

/* ---- export ---- */

typedef struct exported {
    const char *gpu;
    gs_table   *table;
    int         winners;
    gs_status   status;
} exported;

/* Skips and counts winners that a table cannot represent. */
static bool take_winner(void *self, const gs_trial *trial)
{
    exported *const e = self;
    gs_row row;
    e->winners++;
    if (!gs_table_row_of(&row, trial, e->gpu)) return true;
    e->status = gs_table_put(e->table, &row);
    return e->status == GS_OK;
}

gs_status gs_winners_export(gs_store *store, const char *gpu, const char *path, int *winners, int *written, gs_error *error)
{
    exported e = {.gpu = gpu};
    gs_text text = {0};
    *winners = *written = 0;
    if (gs_table_create(&e.table) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    gs_status status = gs_store_winners(store, gpu, take_winner, &e, error);
    if (status == GS_OK && e.status != GS_OK) status = gs_fail(error, e.status, NULL, "no memory for a table");
    if (status == GS_OK && e.winners == 0) status = gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "no winners on %s in %s: nothing to write", gpu, gs_store_path(store));
    if (status == GS_OK) {
        gs_table_format(e.table, &text);
        status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table") : gs_file_write(path, text.data, text.size, error);
    }
    *winners = e.winners;
    *written = gs_table_size(e.table);
    gs_text_free(&text);
    gs_table_destroy(&e.table);
    return status;
}

/* ---- import ---- */

static gs_status import_row(gs_store *store, const gs_row *row, gs_error *error)
{
    char device[64];
    snprintf(device, sizeof device, "%s%s", row->gpu, gs_row_dependent(row) ? GS_DEPENDENT_SUFFIX : "");
    gs_session session = {.command = "gemmsmith db import",
                          .version = row->by,
                          .commit = "",
                          .device = device,
                          .cc = row->cc,
                          .sms = row->sms,
                          .cublaslt = row->cublaslt};
    gs_trial trial = {.verdict = "pass",
                      .us = row->us,
                      .library_us = row->library_us,
                      .ratio = row->ratio,
                      .low = row->low,
                      .high = row->high,
                      .mhz = row->mhz,
                      .stage = "import"};
    char schedule[GS_SCHEDULE_TEXT];
    gs_problem_format(&row->problem, trial.problem);
    if (row->kernel[0]) snprintf(trial.candidate, sizeof trial.candidate, "source:%s", row->kernel);   /* the store's name of a user kernel */
    else snprintf(trial.candidate, sizeof trial.candidate, "%s", gs_row_choice(row, schedule));
    snprintf(trial.date, sizeof trial.date, "%s", row->date);
    GS_TRY(gs_store_begin(store, &session, error));
    return gs_store_win(store, &session, &trial, error);
}

gs_status gs_winners_import(gs_store *store, const char *path, int *taken, int *skipped, gs_error *first, gs_error *error)
{
    gs_table *table = NULL;
    *taken = *skipped = 0;
    *first = (gs_error){0};
    if (gs_table_create(&table) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    gs_status status = gs_table_load(table, path, NULL, skipped, first);
    if (status != GS_OK) *error = *first;
    if (status == GS_ERROR_PARSE) error->status = status = GS_ERROR_CORRUPT;   /* PARSE would mean wrong usage; this is a wrong file */
    for (; status == GS_OK && *taken < gs_table_size(table); ++*taken) {
        status = import_row(store, gs_table_row(table, *taken), error);
        if (status != GS_OK) break;
    }
    gs_table_destroy(&table);
    return status;
}

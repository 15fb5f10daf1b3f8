/* SPDX-License-Identifier: MIT
 * Winners of a store as rows of a tuned table, and back. */
#ifndef GS_COMPARE_WINNERS_H
#define GS_COMPARE_WINNERS_H

#include "table/table.h"
#include "store/store.h"

/* The row of a table that a winner of the store makes; gpu as the store names it. false: no table can hold it (a user kernel). */
bool gs_table_row_of(gs_row *row, const gs_trial *trial, const char *gpu);

/* Writes the winners of a GPU as a tuned table; *winners of them, *written of these are in it. NOT_FOUND: there are none, and nothing is written. */
gs_status gs_winners_export(gs_store *store, const char *gpu, const char *path, int *winners, int *written, gs_error *error);

/* Takes the rows of a tuned table, or of every table of a directory, as winners: *taken of them. *skipped rows could not be read; *first says why the first
 * of them could not. */
gs_status gs_winners_import(gs_store *store, const char *path, int *taken, int *skipped, gs_error *first, gs_error *error);

#endif

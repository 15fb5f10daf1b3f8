/* SPDX-License-Identifier: MIT
 * Converts winners of a store into rows of a tuned table, and back. */
#ifndef GS_COMPARE_WINNERS_H
#define GS_COMPARE_WINNERS_H

#include "table/table.h"
#include "store/store.h"

/* Converts a winner into a row; gpu: its name in the store. false: a table cannot represent it (a user kernel). */
bool gs_table_row_of(gs_row *row, const gs_trial *trial, const char *gpu);

/* Writes the winners of a GPU as a tuned table; *winners: how many there are, *written: how many are in the table. NOT_FOUND: there are none, and nothing is
 * written. */
gs_status gs_winners_export(gs_store *store, const char *gpu, const char *path, int *winners, int *written, gs_error *error);

/* Stores the rows of a tuned table, or of every table of a directory, as winners; *taken: how many. *skipped: rows that could not be parsed; *first: the
 * error of the first of them. */
gs_status gs_winners_import(gs_store *store, const char *path, int *taken, int *skipped, gs_error *first, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * What the files of `gemmsmith db` share. */
#ifndef CLI_DB_H
#define CLI_DB_H

#include <stdbool.h>

#include "command.h"
#include "store/store.h"

/* Sets two tables side by side; left and right are tuned tables, directories of them, or stores. gpu: of both; NULL: that of their rows, and of
 * a store this machine's. Returns the exit code. */
typedef struct cli_db_comparison {
    const char *left, *right, *gpu;
    bool        json;
} cli_db_comparison;
int cli_db_compare(const cli_command *command, const cli_db_comparison *what);

/* gemmsmith db curves: path NULL: prints all as rows, or as an object per curve; else keeps those of the file, which were made on `device`
 * ("": not said). Returns the exit code. */
int cli_db_curves(const cli_command *command, gs_store *store, const char *path, const char *device, bool json);

#endif

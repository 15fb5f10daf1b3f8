/* SPDX-License-Identifier: MIT
 * The file of --rows: a line per problem, layout and contender, with medians and ratios, written as problems are finished. A run goes on
 * behind what stands there. scripts/report_grid.py makes tables of it. */
#ifndef CLI_EVAL_ROWS_H
#define CLI_EVAL_ROWS_H

#include <stdio.h>

#include "eval_row.h"

typedef struct eval_rows {
    FILE *file;       /* NULL: not asked for */
    char *known;      /* keys of the problems that stand there already, a line each */
} eval_rows;

/* Opens it to add to what is there; again: begins anew. path NULL: nothing happens. Returns -1 to go on, else the exit code. */
int  eval_rows_open(const cli_command *command, eval_rows *rows, const char *path, bool again, const cli_session *session);
int  eval_rows_close(const cli_command *command, eval_rows *rows, const char *path);

/* Whether the problem stands there, in whatever layouts; mode as gs_result_mode says it, which the emulated device calls predicted. */
bool eval_rows_have(const eval_rows *rows, const gs_problem *problem, const char *mode);
gs_status eval_rows_add(eval_rows *rows, const gs_result *row, gs_error *error);

#endif

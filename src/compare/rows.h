/* SPDX-License-Identifier: MIT
 * The file of --rows: a line per problem, layout and contender, with medians and ratios, written as problems are finished. A run goes on
 * behind what stands there. scripts/report_grid.py makes tables of it. */
#ifndef GS_COMPARE_ROWS_H
#define GS_COMPARE_ROWS_H

#include <stdio.h>

#include "compare/result.h"
#include "evaluate/session.h"

typedef struct gs_rows_file {
    const char *path;
    FILE       *file;    /* NULL: not asked for */
    char       *known;   /* keys of the problems that stand there already, a line each */
} gs_rows_file;

/* Opens it to add to what is there; again: begins anew. path, a string that lives as long, NULL: nothing happens. */
gs_status gs_rows_file_open(gs_rows_file *rows, const char *path, bool again, const gs_device_session *session, gs_error *error);
gs_status gs_rows_file_close(gs_rows_file *rows, gs_error *error);

/* Whether the problem stands there, in whatever layouts; mode as gs_result_mode says it, which the emulated device calls predicted. */
bool gs_rows_file_have(const gs_rows_file *rows, const gs_problem *problem, const char *mode);
gs_status gs_rows_file_add(gs_rows_file *rows, const gs_result *row, gs_error *error);

#endif

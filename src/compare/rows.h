/* SPDX-License-Identifier: MIT
 * The file of --rows: a line per problem, layout and contender, with medians and ratios, written as problems are finished. A run continues an existing file.
 * scripts/report_grid.py makes tables of it. */
#ifndef GS_COMPARE_ROWS_H
#define GS_COMPARE_ROWS_H

#include <stdio.h>

#include "compare/result.h"
#include "evaluate/session.h"

typedef struct gs_rows_file {
    const char *path;
    FILE       *file;    /* NULL: not wanted */
    char       *known;   /* keys of the problems in the file, one per line */
} gs_rows_file;

/* Opens the file for appending; again: overwrites it. path must stay valid until close; NULL: does nothing. */
gs_status gs_rows_file_open(gs_rows_file *rows, const char *path, bool again, const gs_device_session *session, gs_error *error);
gs_status gs_rows_file_close(gs_rows_file *rows, gs_error *error);

/* Whether the file has the problem, in any layouts; mode as from gs_result_mode. */
bool gs_rows_file_have(const gs_rows_file *rows, const gs_problem *problem, const char *mode);
gs_status gs_rows_file_add(gs_rows_file *rows, const gs_result *row, gs_error *error);

#endif

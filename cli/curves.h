/* SPDX-License-Identifier: MIT
 * Curves on their way into the store and out of it: collected point by point, or read from rows
 *
 *     series,name,x,y
 *     regret/learned,f16:64x64x64:tn seed 1,4,0.031 */
#ifndef CLI_CURVES_H
#define CLI_CURVES_H

#include "command.h"
#include "store/store.h"

#define CLI_CURVES_HEAD "series,name,x,y"

typedef struct cli_curve {
    char    series[GS_CURVE_NAME], name[GS_CURVE_NAME];
    double *x, *y;
    int     count, capacity;
} cli_curve;

typedef struct cli_curves {
    cli_curve *list;
    int        count, capacity;
} cli_curves;   /* zero-initialise */

/* A point at the end of the curve, which is made if there is none. MEMORY. */
gs_status cli_curves_add(cli_curves *curves, const char *series, const char *name, double x, double y, gs_error *error);

/* Rows of a file; y may be empty: no number. CORRUPT, with the line; NOT_FOUND, IO, MEMORY. */
gs_status cli_curves_read(cli_curves *curves, const char *path, gs_error *error);

gs_status cli_curves_keep(const cli_curves *curves, gs_store *store, const gs_session *session, gs_error *error);
void      cli_curves_free(cli_curves *curves);

/* gemmsmith db curves: path NULL: prints all as rows, or as an object per curve; else keeps those of the file, which were made on `device`
 * ("": not said). Returns the exit code. */
int cli_curves_run(const cli_command *command, gs_store *store, const char *path, const char *device, bool json);

#endif

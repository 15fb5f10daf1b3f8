/* SPDX-License-Identifier: MIT
 * gemmsmith db curves: prints the curves of a store, or keeps those of a file. */
#include <math.h>
#include <stdio.h>
#include <gemmsmith/gemmsmith.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json.h"
#include "db.h"
#include "output.h"
#include "store/curves.h"

static bool print_rows(void *self, const gs_curve *curve)
{
    int *const count = self;
    gs_text text = {0};
    if ((*count)++ == 0) printf(GS_CURVES_HEAD "\n");
    for (int i = 0; i < curve->count; i++) {
        gs_csv_put(&text, curve->series);
        gs_text_add(&text, ",");
        gs_csv_put(&text, curve->name);
        gs_text_addf(&text, isnan(curve->y[i]) ? ",%.9g,\n" : ",%.9g,%.9g\n", curve->x[i], curve->y[i]);
    }
    fputs(gs_text_string(&text), stdout);
    gs_text_free(&text);
    return true;
}

static void put_numbers(gs_json *json, const char *name, const double *value, int count)
{
    gs_json_begin(json, name, '[');
    for (int i = 0; i < count; i++) gs_json_double(json, NULL, value[i]);
    gs_json_end(json, ']');
}

static bool print_json(void *self, const gs_curve *curve)
{
    int *const count = self;
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    ++*count;
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "series", curve->series);
    gs_json_string(&json, "name", curve->name);
    gs_json_string(&json, "gpu", curve->device);
    gs_json_string(&json, "date", curve->date);
    put_numbers(&json, "x", curve->x, curve->count);
    put_numbers(&json, "y", curve->y, curve->count);
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&text));
    gs_text_free(&text);
    return true;
}

static int keep_file(const cli_command *command, gs_store *store, const char *path, const char *device)
{
    gs_error error;
    gs_curves curves = {0};
    gs_session session = {.command = "gemmsmith db curves", .version = gs_version(), .commit = GS_COMMIT, .device = device};
    gs_status status = gs_curves_read(&curves, path, &error);
    if (status == GS_OK && curves.count > 0) status = gs_store_begin(store, &session, &error);
    if (status == GS_OK) status = gs_curves_keep(&curves, store, &session, &error);
    if (status == GS_OK) printf("%s: %d curves\n", path, curves.count);
    gs_curves_free(&curves);
    return status == GS_OK ? CLI_OK : cli_fail(command, NULL, &error);
}

int cli_db_curves(const cli_command *command, gs_store *store, const char *path, const char *device, bool json)
{
    gs_error error;
    int count = 0;
    if (path) return keep_file(command, store, path, device);
    if (gs_store_curves(store, "", json ? print_json : print_rows, &count, &error) != GS_OK) return cli_fail(command, NULL, &error);
    if (count == 0) cli_note("no curves in %s", gs_store_path(store));
    return CLI_OK;
}

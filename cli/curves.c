/* SPDX-License-Identifier: MIT */
#include "curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/csv.h"
#include "output.h"

enum { MOST_BYTES = 1 << 28 };   /* of a file of rows */

/* ---- collecting ---- */

static bool is(const cli_curve *curve, const char *series, const char *name)
{
    return strcmp(curve->series, series) == 0 && strcmp(curve->name, name) == 0;
}

/* The last one is looked at first: points of a curve come together. */
static cli_curve *find(cli_curves *curves, const char *series, const char *name)
{
    for (int i = curves->count - 1; i >= 0; i--)
        if (is(&curves->list[i], series, name)) return &curves->list[i];
    if (!gs_grow(&curves->list, curves->count, &curves->capacity, sizeof *curves->list)) return NULL;
    cli_curve *const curve = &curves->list[curves->count++];
    *curve = (cli_curve){0};
    snprintf(curve->series, sizeof curve->series, "%s", series);
    snprintf(curve->name, sizeof curve->name, "%s", name);
    return curve;
}

gs_status cli_curves_add(cli_curves *curves, const char *series, const char *name, double x, double y, gs_error *error)
{
    cli_curve *const curve = find(curves, series, name);
    int other = curve ? curve->capacity : 0;
    if (!curve || !gs_grow(&curve->x, curve->count, &other, sizeof *curve->x) ||
        !gs_grow(&curve->y, curve->count, &curve->capacity, sizeof *curve->y))
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for curves");
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
    return GS_OK;
}

gs_status cli_curves_keep(const cli_curves *curves, gs_store *store, const gs_session *session, gs_error *error)
{
    for (int i = 0; i < curves->count; i++) {
        const cli_curve *const c = &curves->list[i];
        GS_TRY(gs_store_curve(store, session, c->series, c->name, c->x, c->y, c->count, error));
    }
    return GS_OK;
}

void cli_curves_free(cli_curves *curves)
{
    for (int i = 0; i < curves->count; i++) {
        free(curves->list[i].x);
        free(curves->list[i].y);
    }
    free(curves->list);
    *curves = (cli_curves){0};
}

/* ---- rows ---- */

static bool read_number(const char *text, double *value)
{
    gs_scan scan = gs_scan_from(text);
    return gs_scan_double(&scan, value) && gs_scan_end(&scan) && isfinite(*value);
}

static gs_status read_row(cli_curves *curves, const char *path, int number, char *line, gs_error *error)
{
    char *field[4];
    double x, y = NAN;
    if (cli_csv_split(line, field, 4) != 4 || !read_number(field[2], &x) || (field[3][0] != '\0' && !read_number(field[3], &y)))
        return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.200s, line %d: not '" CLI_CURVES_HEAD "'", path, number);
    for (int i = 0; i < 2; i++) {
        for (const char *c = field[i]; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 127) return gs_fail(error, GS_ERROR_CORRUPT, i ? "name" : "series", "%.200s, line %d: a control character", path, number);
        if (field[i][0] == '\0' || strlen(field[i]) >= GS_CURVE_NAME)
            return gs_fail(error, GS_ERROR_CORRUPT, i ? "name" : "series", "%.200s, line %d: must have 1 to %d characters", path, number, GS_CURVE_NAME - 1);
    }
    return cli_curves_add(curves, field[0], field[1], x, y, error);
}

gs_status cli_curves_read(cli_curves *curves, const char *path, gs_error *error)
{
    char *text;
    size_t size;
    GS_TRY(gs_file_read(path, MOST_BYTES, &text, &size, error));
    gs_status status = GS_OK;
    bool head = false;
    int number = 0;
    for (char *at = text, *line; status == GS_OK && (line = cli_csv_line(&at));) {
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0' || *line == '#') continue;
        if (head)
            status = read_row(curves, path, number, line, error);
        else if (strcmp(line, CLI_CURVES_HEAD) != 0)
            status = gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.200s, line %d: the head '" CLI_CURVES_HEAD "' is expected", path, number);
        head = true;
    }
    free(text);
    return status;
}

/* ---- gemmsmith db curves ---- */

static bool print_rows(void *self, const gs_curve *curve)
{
    int *const count = self;
    gs_text text = {0};
    if ((*count)++ == 0) printf(CLI_CURVES_HEAD "\n");
    for (int i = 0; i < curve->count; i++) {
        cli_csv_put(&text, curve->series);
        gs_text_add(&text, ",");
        cli_csv_put(&text, curve->name);
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
    cli_curves curves = {0};
    gs_session session = {.command = "gemmsmith db curves", .version = gs_version(), .commit = GS_COMMIT, .device = device};
    gs_status status = cli_curves_read(&curves, path, &error);
    if (status == GS_OK && curves.count > 0) status = gs_store_begin(store, &session, &error);
    if (status == GS_OK) status = cli_curves_keep(&curves, store, &session, &error);
    if (status == GS_OK) printf("%s: %d curves\n", path, curves.count);
    cli_curves_free(&curves);
    return status == GS_OK ? CLI_OK : cli_fail(command, NULL, &error);
}

int cli_curves_run(const cli_command *command, gs_store *store, const char *path, const char *device, bool json)
{
    gs_error error;
    int count = 0;
    if (path) return keep_file(command, store, path, device);
    if (gs_store_curves(store, "", json ? print_json : print_rows, &count, &error) != GS_OK) return cli_fail(command, NULL, &error);
    if (count == 0) cli_note("no curves in %s", gs_store_path(store));
    return CLI_OK;
}

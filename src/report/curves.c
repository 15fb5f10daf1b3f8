/* SPDX-License-Identifier: MIT */
#include "report/curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum { MOST_BYTES = 1 << 28 };   /* of a file of rows */

/* ---- collecting ---- */

static bool is(const gs_curve_points *curve, const char *series, const char *name)
{
    return strcmp(curve->series, series) == 0 && strcmp(curve->name, name) == 0;
}

/* Searches from the end, because points of a curve come together. */
static gs_curve_points *find(gs_curves *curves, const char *series, const char *name)
{
    for (int i = curves->count - 1; i >= 0; i--)
        if (is(&curves->list[i], series, name)) return &curves->list[i];
    if (!gs_grow(&curves->list, curves->count, &curves->capacity, sizeof *curves->list)) return NULL;
    gs_curve_points *const curve = &curves->list[curves->count++];
    *curve = (gs_curve_points){0};
    snprintf(curve->series, sizeof curve->series, "%s", series);
    snprintf(curve->name, sizeof curve->name, "%s", name);
    return curve;
}

gs_status gs_curves_add(gs_curves *curves, const char *series, const char *name, double x, double y, gs_error *error)
{
    gs_curve_points *const curve = find(curves, series, name);
    int other = curve ? curve->capacity : 0;
    if (!curve || !gs_grow(&curve->x, curve->count, &other, sizeof *curve->x) ||
        !gs_grow(&curve->y, curve->count, &curve->capacity, sizeof *curve->y))
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for curves");
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
    return GS_OK;
}

gs_status gs_curves_keep(const gs_curves *curves, gs_store *store, const gs_session *session, gs_error *error)
{
    for (int i = 0; i < curves->count; i++) {
        const gs_curve_points *const c = &curves->list[i];
        GS_TRY(gs_store_curve(store, session, c->series, c->name, c->x, c->y, c->count, error));
    }
    return GS_OK;
}

void gs_curves_free(gs_curves *curves)
{
    for (int i = 0; i < curves->count; i++) {
        free(curves->list[i].x);
        free(curves->list[i].y);
    }
    free(curves->list);
    *curves = (gs_curves){0};
}

/* ---- rows ---- */

static bool read_number(const char *text, double *value)
{
    gs_scan scan = gs_scan_from(text);
    return gs_scan_double(&scan, value) && gs_scan_end(&scan) && isfinite(*value);
}

static gs_status read_row(gs_curves *curves, const char *path, int number, char *line, gs_error *error)
{
    char *field[4];
    double x, y = NAN;
    if (gs_csv_split(line, field, 4) != 4 || !read_number(field[2], &x) || (field[3][0] != '\0' && !read_number(field[3], &y)))
        return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.200s, line %d: not '" GS_CURVES_HEAD "'", path, number);
    for (int i = 0; i < 2; i++) {
        for (const char *c = field[i]; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 127) return gs_fail(error, GS_ERROR_CORRUPT, i ? "name" : "series", "%.200s, line %d: a control character", path, number);
        if (field[i][0] == '\0' || strlen(field[i]) >= GS_CURVE_NAME)
            return gs_fail(error, GS_ERROR_CORRUPT, i ? "name" : "series", "%.200s, line %d: must have 1 to %d characters", path, number, GS_CURVE_NAME - 1);
    }
    return gs_curves_add(curves, field[0], field[1], x, y, error);
}

gs_status gs_curves_read(gs_curves *curves, const char *path, gs_error *error)
{
    char *text;
    size_t size;
    GS_TRY(gs_file_read(path, MOST_BYTES, &text, &size, error));
    gs_status status = GS_OK;
    bool head = false;
    int number = 0;
    for (char *at = text, *line; status == GS_OK && (line = gs_csv_line(&at));) {
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0' || *line == '#') continue;
        if (head)
            status = read_row(curves, path, number, line, error);
        else if (strcmp(line, GS_CURVES_HEAD) != 0)
            status = gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.200s, line %d: the head '" GS_CURVES_HEAD "' is expected", path, number);
        head = true;
    }
    free(text);
    return status;
}

/* ---- writing ---- */

void gs_curve_rows(gs_text *out, const gs_curve *curve)
{
    for (int i = 0; i < curve->count; i++) {
        gs_csv_put(out, curve->series);
        gs_text_add(out, ",");
        gs_csv_put(out, curve->name);
        gs_text_addf(out, isnan(curve->y[i]) ? ",%.9g,\n" : ",%.9g,%.9g\n", curve->x[i], curve->y[i]);
    }
}

static void put_numbers(gs_json *json, const char *name, const double *value, int count)
{
    gs_json_begin(json, name, '[');
    for (int i = 0; i < count; i++) gs_json_double(json, NULL, value[i]);
    gs_json_end(json, ']');
}

void gs_curve_object(gs_text *out, const gs_curve *curve)
{
    gs_json json = gs_json_into(out);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "series", curve->series);
    gs_json_string(&json, "name", curve->name);
    gs_json_string(&json, "gpu", curve->device);
    gs_json_string(&json, "date", curve->date);
    put_numbers(&json, "x", curve->x, curve->count);
    put_numbers(&json, "y", curve->y, curve->count);
    gs_json_end(&json, '}');
}

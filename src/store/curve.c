/* SPDX-License-Identifier: MIT
 * Curves: a row each, with their points in a table of their own. A session has one curve per series and name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/sql.h"

/* ---- writing ---- */

static gs_status check_name(const char *what, const char *name, gs_error *error)
{
    const size_t length = name ? strlen(name) : 0;
    if (length == 0 || length >= GS_CURVE_NAME) return gs_fail(error, GS_ERROR_ARGUMENT, what, "must have 1 to %d characters", GS_CURVE_NAME - 1);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) return gs_fail(error, GS_ERROR_ARGUMENT, what, "must be one line without control characters");
    return GS_OK;
}

static gs_status check(const gs_session *session, const char *series, const char *name, const double *x, int count, gs_error *error)
{
    GS_TRY(gs_sql_need_session(session, error));
    GS_TRY(check_name("series", series, error));
    GS_TRY(check_name("name", name, error));
    if (count < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "count", "must not be negative");
    for (int i = 0; i < count; i++)
        if (!isfinite(x[i])) return gs_fail(error, GS_ERROR_ARGUMENT, "x", "point %d of %s has no place", i, series);
    return GS_OK;
}

static int put_points(gs_store *store, const gs_session *session, const char *series, const char *name, const double *x, const double *y, int count)
{
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && i < count; i++) {
        gs_query point = gs_sql(store, GS_SQL_PUT_POINT);
        gs_sql_int(&point, session->id);
        gs_sql_text(&point, series);
        gs_sql_text(&point, name);
        gs_sql_int(&point, i);
        gs_sql_real(&point, x[i]);
        gs_sql_real(&point, isfinite(y[i]) ? y[i] : NAN);
        code = gs_sql_run(&point);
    }
    return code;
}

static int put_curve(gs_store *store, gs_sql_id statement, const gs_session *session, const char *series, const char *name, const char *date)
{
    gs_query curve = gs_sql(store, statement);
    gs_sql_int(&curve, session->id);
    gs_sql_text(&curve, series);
    gs_sql_text(&curve, name);
    if (date) gs_sql_text(&curve, date);
    return gs_sql_run(&curve);
}

gs_status gs_store_curve(gs_store *store, const gs_session *session, const char *series, const char *name, const double *x, const double *y, int count,
                         gs_error *error)
{
    char date[GS_DATE_TEXT];
    GS_TRY(check(session, series, name, x, count, error));
    GS_TRY(gs_sql_begin(store, error));
    int code = put_curve(store, GS_SQL_DROP_POINTS, session, series, name, NULL);
    if (code == SQLITE_OK) code = put_curve(store, GS_SQL_PUT_CURVE, session, series, name, gs_date_format(date));
    if (code == SQLITE_OK) code = put_points(store, session, series, name, x, y, count);
    return gs_sql_end(store, gs_sql_status(store, code, error), error);
}

/* ---- reading ---- */

/* A curve without points has one row whose step is NULL. */
#define CURVES_READ                                                                                                        \
    "SELECT c.id, c.series, c.name, s.device, s.version, c.date, p.x, p.y, p.step FROM curve c JOIN session s ON s.id = c.session" \
    " LEFT JOIN point p ON p.curve = c.id WHERE substr(c.series, 1, length(?1)) = ?1 ORDER BY c.series, c.name, c.date, c.id, p.step"

typedef struct reading {
    gs_curve curve;
    int64_t  id;       /* 0: none yet */
    double  *x, *y;
    int      capacity;
} reading;

static void copy_text(char *to, size_t size, const gs_query *row, int column)
{
    const char *const text = gs_sql_get_text(row, column);
    snprintf(to, size, "%s", text ? text : "");
}

static void begin_curve(reading *r, const gs_query *row)
{
    r->id = gs_sql_get_int(row, 0);
    r->curve = (gs_curve){0};
    copy_text(r->curve.series, sizeof r->curve.series, row, 1);
    copy_text(r->curve.name, sizeof r->curve.name, row, 2);
    copy_text(r->curve.device, sizeof r->curve.device, row, 3);
    copy_text(r->curve.version, sizeof r->curve.version, row, 4);
    copy_text(r->curve.date, sizeof r->curve.date, row, 5);
}

static bool add_point(reading *r, const gs_query *row)
{
    if (gs_sql_is_null(row, 8)) return true;
    if (r->curve.count == r->capacity) {
        const int capacity = r->capacity ? 2 * r->capacity : 256;
        double *const x = realloc(r->x, (size_t)capacity * sizeof *x);
        if (x) r->x = x;
        double *const y = realloc(r->y, (size_t)capacity * sizeof *y);
        if (y) r->y = y;
        if (!x || !y) return false;
        r->capacity = capacity;
    }
    r->x[r->curve.count] = gs_sql_get_real(row, 6);
    r->y[r->curve.count++] = gs_sql_is_null(row, 7) ? NAN : gs_sql_get_real(row, 7);
    return true;
}

static bool show(reading *r, gs_curve_visit visit, void *self)
{
    if (r->id == 0) return true;
    r->curve.x = r->x;
    r->curve.y = r->y;
    return visit(self, &r->curve);
}

gs_status gs_store_curves(gs_store *store, const char *prefix, gs_curve_visit visit, void *self, gs_error *error)
{
    reading r = {0};
    gs_status status = GS_OK;
    bool on = true;
    int code = SQLITE_DONE;
    gs_query rows = gs_sql_ad_hoc(store, CURVES_READ);
    gs_sql_text(&rows, prefix);
    while (on && (code = gs_sql_step(&rows)) == SQLITE_ROW) {
        if (gs_sql_get_int(&rows, 0) != r.id) {
            on = show(&r, visit, self);
            begin_curve(&r, &rows);
        }
        if (!add_point(&r, &rows)) {
            status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a curve of %d points", r.curve.count);
            on = false;
        }
    }
    if (on && code != SQLITE_DONE) status = gs_sql_status(store, code, error);
    if (on && code == SQLITE_DONE) show(&r, visit, self);
    gs_sql_leave(&rows);
    free(r.x);
    free(r.y);
    return status;
}

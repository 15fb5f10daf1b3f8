/* SPDX-License-Identifier: MIT
 * The curves of a report. A series is a picture and its names are the lines in it; all series that begin with "regret/" share one picture per device,
 * with a line for each policy, the word behind it: the median of its curves (problems, seeds) and their middle half. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/table.h"
#include "report/report.h"

enum { MOST_LINES = 8, MOST_POINTS = 200, TABLE_POINTS = 16 };

#define REGRET "regret/"

static bool is_regret(const report_curve *c) { return strncmp(c->points.series, REGRET, strlen(REGRET)) == 0; }

static bool same_picture(const report_curve *a, const report_curve *b)
{
    return strcmp(a->device, b->device) == 0 && ((is_regret(a) && is_regret(b)) || strcmp(a->points.series, b->points.series) == 0);
}

/* The line that a curve belongs to; together: where a picture has too many names, all are one. */
static void line_of(const report_curve *c, bool together, char name[GS_CURVE_NAME])
{
    if (is_regret(c))
        snprintf(name, GS_CURVE_NAME, "%.*s", (int)strcspn(c->points.series + strlen(REGRET), "/"), c->points.series + strlen(REGRET));
    else
        snprintf(name, GS_CURVE_NAME, "%s", together ? "all" : c->points.name);
}

/* ---- a line ---- */

typedef struct line {
    char    name[GS_CURVE_NAME];
    int     members, count;
    double *x, *middle, *low, *high;   /* one memory, x's */
} line;

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* What the curve says at x: its last point up to there. NaN: nothing yet. */
static double value_at(const cli_curve *c, double x)
{
    double value = NAN;
    for (int i = 0; i < c->count && c->x[i] <= x; i++)
        if (isfinite(c->y[i])) value = c->y[i];
    return value;
}

/* Every x that a member has, evenly thinned out where they are too many. Returns how many. */
static int places(const report_curve *const *members, int count, double *x, int most)
{
    int all = 0, kept = 0;
    for (int i = 0; i < count; i++) all += members[i]->points.count;
    double *const sorted = malloc(((size_t)all + 1) * sizeof *sorted);
    if (!sorted) return -1;
    all = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < members[i]->points.count; j++) sorted[all++] = members[i]->points.x[j];
    qsort(sorted, (size_t)all, sizeof *sorted, ascending);
    int different = 0;
    for (int i = 0; i < all; i++)
        if (i == 0 || sorted[i] > sorted[different - 1]) sorted[different++] = sorted[i];
    kept = GS_MIN(different, most);
    for (int i = 0; i < kept; i++) x[i] = kept > 1 ? sorted[(int)((int64_t)i * (different - 1) / (kept - 1))] : sorted[0];
    free(sorted);
    return kept;
}

static bool make_line(line *out, const report_curve *const *members, int count)
{
    out->members = count;
    out->x = malloc(4 * MOST_POINTS * sizeof *out->x);
    double *const values = malloc((size_t)count * sizeof *values);
    const int found = out->x && values ? places(members, count, out->x, MOST_POINTS) : -1;
    if (found >= 0) {
        out->middle = out->x + MOST_POINTS;
        out->low = out->middle + MOST_POINTS;
        out->high = out->low + MOST_POINTS;
    }
    for (int i = 0; i < found; i++) {
        report_numbers numbers = {values, 0};
        for (int j = 0; j < count; j++) {
            const double value = value_at(&members[j]->points, out->x[i]);
            if (isfinite(value)) values[numbers.count++] = value;
        }
        if (numbers.count == 0) continue;   /* nobody has begun yet */
        qsort(values, (size_t)numbers.count, sizeof *values, ascending);
        out->x[out->count] = out->x[i];
        out->middle[out->count] = report_quantile(&numbers, 0.5);
        out->low[out->count] = report_quantile(&numbers, 0.25);
        out->high[out->count++] = report_quantile(&numbers, 0.75);
    }
    free(values);
    return found >= 0;
}

static void put_line(gs_json *json, const line *l)
{
    const struct {
        const char   *name;
        const double *list;
    } lists[] = {{"x", l->x}, {"y", l->middle}, {"low", l->low}, {"high", l->high}};
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "name", l->name);
    gs_json_int(json, "members", l->members);
    for (size_t i = 0; i < GS_COUNT(lists) - (l->members > 1 ? 0 : 2); i++) {
        gs_json_begin(json, lists[i].name, '[');
        for (int j = 0; j < l->count; j++) gs_json_double(json, NULL, lists[i].list[j]);
        gs_json_end(json, ']');
    }
    gs_json_end(json, '}');
}

static void write_rows(gs_text *page, const line *l)
{
    const int shown = GS_MIN(l->count, TABLE_POINTS);
    for (int i = 0; i < shown; i++) {
        const int at = shown > 1 ? (int)((int64_t)i * (l->count - 1) / (shown - 1)) : 0;
        gs_text_add(page, "<tr><th>");
        report_escape(page, l->name);
        gs_text_addf(page, "</th><td>%d</td>", l->members);
        report_number(page, "%.6g", l->x[at]);
        report_number(page, "%.4g", l->middle[at]);
        report_number(page, "%.4g", l->low[at]);
        report_number(page, "%.4g", l->high[at]);
        gs_text_add(page, "</tr>\n");
    }
}

/* ---- a picture ---- */

/* legend: series, title, what x and y are */
static const struct known {
    const char *series, *title, *x, *y;
} known[] = {
    {"train/surrogate", "Training of the surrogate", "epochs", "error, in logarithms"},
    {"train/actor", "Training of the actor", "problems", "share of the surrogate's choice"},
    {REGRET, "Regret by policy", "measured schedules", "regret"},
};

static const struct known *find_known(const report_curve *c)
{
    for (size_t i = 0; i < GS_COUNT(known); i++)
        if (strcmp(c->points.series, known[i].series) == 0 || (is_regret(c) && strcmp(known[i].series, REGRET) == 0)) return &known[i];
    return NULL;
}

static int by_line(const void *left, const void *right)
{
    const report_curve *const a = *(const report_curve *const *)left, *const b = *(const report_curve *const *)right;
    char first[GS_CURVE_NAME], second[GS_CURVE_NAME];
    line_of(a, false, first);
    line_of(b, false, second);
    return strcmp(first, second);
}

static int count_lines(const report_curve *const *list, int count)
{
    int lines = 0;
    for (int i = 0; i < count; i++) lines += i == 0 || by_line(&list[i], &list[i - 1]) != 0;
    return lines;
}

static void write_lines(gs_text *page, const report_figure *figure, const struct known *names, const report_curve *const *list, int count, bool together)
{
    static const char *const heads[] = {"line", "curves", "x", "median", "25 %", "75 %"};
    gs_text data = {0}, rows = {0};
    gs_json json;
    report_figure_begin(page, figure, &data, &json);
    gs_json_string(&json, "x", names ? names->x : "step");
    gs_json_string(&json, "y", names ? names->y : "value");
    gs_json_begin(&json, "lines", '[');
    for (int from = 0, to; from < count; from = to) {
        line l = {0};
        for (to = from + 1; to < count && (together || by_line(&list[to], &list[from]) == 0);) to++;
        line_of(list[from], together, l.name);
        if (make_line(&l, list + from, to - from)) {
            put_line(&json, &l);
            write_rows(&rows, &l);
        } else {
            page->failed = true;
        }
        free(l.x);
    }
    gs_json_end(&json, ']');
    report_figure_table(page, figure, &data, &json);
    report_table_begin(page, heads, (int)GS_COUNT(heads));
    gs_text_addf(page, "%s</tbody></table>", gs_text_string(&rows));
    report_figure_end(page);
    page->failed |= rows.failed;
    gs_text_free(&rows);
}

static void write_picture(gs_text *page, const report_curve **list, int count)
{
    const report_curve *const first = list[0];
    const struct known *const names = find_known(first);
    const bool predicted = gs_gpu_emulated(first->device), together = !is_regret(first) && count_lines(list, count) > MOST_LINES;
    char title[2 * GS_CURVE_NAME];
    gs_text note = {0};
    snprintf(title, sizeof title, "%s%s%s%s", predicted ? "Predicted: " : "", names ? names->title : first->points.series, *first->device ? ", " : "", first->device);
    gs_text_addf(&note, count == 1 ? "%d curve." : "%d curves.", count);
    if (is_regret(first) || together) gs_text_add(&note, " Line: the median; surface: the middle half.");
    if (!*first->device) gs_text_add(&note, " No measured times of a device went in.");
    const report_figure figure = {.kind = "lines", .title = title, .note = gs_text_string(&note), .predicted = predicted};
    write_lines(page, &figure, names, list, count, together);
    gs_text_free(&note);
}

void report_curve_figures(gs_text *page, const report *r)
{
    const report_curve **const list = malloc(((size_t)r->curve_count + 1) * sizeof *list);
    page->failed |= !list;
    for (int i = 0; list && i < r->curve_count; i++) {
        int count = 0;
        bool first = true;
        for (int j = 0; j < i && first; j++) first = !same_picture(&r->curves[j], &r->curves[i]);
        for (int j = i; first && j < r->curve_count; j++)
            if (same_picture(&r->curves[j], &r->curves[i])) list[count++] = &r->curves[j];
        if (!first) continue;
        qsort(list, (size_t)count, sizeof *list, by_line);
        write_picture(page, list, count);
    }
    free(list);
}

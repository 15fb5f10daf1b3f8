/* SPDX-License-Identifier: MIT
 * The pictures of a set: heat maps over M, N and K, the ratio by band, the share of the floor, latencies, and the table of all problems. Each picture
 * is an object for the page's script and the same numbers as a table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/report.h"

enum { MOST_CLASSES = 16, MOST_MAPS = 12, ALL_CLASSES = 32, MOST_NAMED = 12 };

static const char PREDICTED[] = "Predicted: ";

/* ---- classes of an extent ---- */

typedef struct axis {
    int64_t low[ALL_CLASSES], high[ALL_CLASSES];
    int     count;
} axis;

static int64_t extent(const report_point *p, char which) { return which == 'm' ? p->parsed.m : which == 'n' ? p->parsed.n : p->parsed.k; }

static int class_of(const axis *a, int64_t value)
{
    int i = 0;
    while (i < a->count && !(value >= a->low[i] && value <= a->high[i])) i++;
    return i < a->count ? i : -1;
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Ranges between powers of two, those that are not empty. */
static void make_ranges(axis *a, const int64_t *values, int count)
{
    a->count = 0;
    for (int i = 0; i < count; i++) {
        int64_t high = 1;
        while (high < values[i]) high *= 2;
        if (a->count > 0 && a->high[a->count - 1] == high) continue;
        a->low[a->count] = high / 2 + (high > 1);
        a->high[a->count++] = high;
    }
}

/* Every extent by itself where there are at most so many of them. */
static axis make_axis(const report_point *const *list, int count, char which, int most)
{
    axis a = {0};
    int64_t *const values = malloc(((size_t)count + 1) * sizeof *values);
    if (!values) return a;
    for (int i = 0; i < count; i++) values[i] = extent(list[i], which);
    qsort(values, (size_t)count, sizeof *values, by_value);
    bool fits = true;
    for (int i = 0; i < count && fits; i++) {
        if (a.count > 0 && a.high[a.count - 1] == values[i]) continue;
        fits = a.count < most;
        if (fits) a.low[a.count] = a.high[a.count] = values[i], a.count++;
    }
    if (!fits) make_ranges(&a, values, count);
    free(values);
    return a;
}

static const char *class_name(const axis *a, int i, char text[48])
{
    if (a->low[i] == a->high[i])
        snprintf(text, 48, "%lld", (long long)a->low[i]);
    else
        snprintf(text, 48, "%lld-%lld", (long long)a->low[i], (long long)a->high[i]);
    return text;
}

static void put_classes(gs_json *json, const char *name, const axis *a)
{
    char text[48];
    gs_json_begin(json, name, '[');
    for (int i = 0; i < a->count; i++) gs_json_string(json, NULL, class_name(a, i, text));
    gs_json_end(json, ']');
}

/* ---- heat maps ---- */

typedef struct cell {
    double sum;     /* of logarithms */
    int    count;
} cell;

typedef struct heat {
    axis   m, n, k;
    double most;      /* where the colours end */
    cell   cells[ALL_CLASSES][ALL_CLASSES][ALL_CLASSES];   /* k, m, n */
} heat;

static void write_map(gs_text *page, const report_set *set, const heat *h, int k)
{
    char title[96], name[48];
    snprintf(title, sizeof title, "%sK = %s", set->predicted ? PREDICTED : "", class_name(&h->k, k, name));
    const report_figure figure = {.kind = "heat", .title = title, .predicted = set->predicted};
    gs_text data = {0};
    gs_json json;
    report_figure_begin(page, &figure, &data, &json);
    gs_json_string(&json, "scale", set->predicted ? "share" : "ratio");
    gs_json_double(&json, "most", h->most);
    gs_json_string(&json, "k", name);
    put_classes(&json, "n", &h->n);
    put_classes(&json, "m", &h->m);
    gs_json_begin(&json, "cells", '[');
    for (int m = 0; m < h->m.count; m++)
        for (int n = 0; n < h->n.count; n++) {
            const cell *const c = &h->cells[k][m][n];
            if (c->count == 0) continue;
            gs_json_begin(&json, NULL, '[');
            gs_json_int(&json, NULL, n);
            gs_json_int(&json, NULL, m);
            gs_json_double(&json, NULL, round(exp(c->sum / c->count) * 1e4) / 1e4);
            gs_json_int(&json, NULL, c->count);
            gs_json_end(&json, ']');
        }
    gs_json_end(&json, ']');
    report_figure_table(page, &figure, &data, &json);
    gs_text_addf(page, "<table><thead><tr><th>M \\ N</th>");
    for (int n = 0; n < h->n.count; n++) gs_text_addf(page, "<th>%s</th>", class_name(&h->n, n, name));
    gs_text_add(page, "</tr></thead><tbody>\n");
    for (int m = h->m.count - 1; m >= 0; m--) {
        gs_text_addf(page, "<tr><th>%s</th>", class_name(&h->m, m, name));
        for (int n = 0; n < h->n.count; n++) {
            const cell *const c = &h->cells[k][m][n];
            report_number(page, "%.3f", c->count ? exp(c->sum / c->count) : NAN);
        }
        gs_text_add(page, "</tr>\n");
    }
    gs_text_add(page, "</tbody></table>");
    report_figure_end(page);
}

static int by_kind(const void *left, const void *right)
{
    const report_point *const a = *(const report_point *const *)left, *const b = *(const report_point *const *)right;
    return strcmp(a->kind, b->kind);
}

static int kind_end(const report_point *const *list, int from, int count)
{
    int to = from + 1;
    while (to < count && strcmp(list[to]->kind, list[from]->kind) == 0) to++;
    return to;
}

/* All maps of a kind; the one with the most problems is open. */
static void write_kind(gs_text *page, const report_set *set, const report_point *const *list, int count, heat *h, double most, bool open)
{
    *h = (heat){.most = most, .m = make_axis(list, count, 'm', MOST_CLASSES), .n = make_axis(list, count, 'n', MOST_CLASSES), .k = make_axis(list, count, 'k', MOST_MAPS)};
    for (int i = 0; i < count; i++) {
        const int m = class_of(&h->m, extent(list[i], 'm')), n = class_of(&h->n, extent(list[i], 'n')), k = class_of(&h->k, extent(list[i], 'k'));
        if (m < 0 || n < 0 || k < 0) continue;
        h->cells[k][m][n].sum += log(list[i]->ratio);
        h->cells[k][m][n].count++;
    }
    gs_text_addf(page, "<details class=\"maps\"%s><summary>", open ? " open" : "");
    report_escape(page, list[0]->kind);
    gs_text_addf(page, ": %d problem%s, %d map%s</summary>\n<p class=\"legend\" data-scale=\"%s\" data-most=\"%g\"></p>\n<div class=\"grid\">\n", count, count == 1 ? "" : "s", h->k.count,
                 h->k.count == 1 ? "" : "s", set->predicted ? "share" : "ratio", most);
    for (int k = 0; k < h->k.count; k++) write_map(page, set, h, k);
    gs_text_add(page, "</div></details>\n");
}

/* Colours end at a ratio that nineteen of twenty problems do not exceed. */
static double colour_range(const report_set *set)
{
    report_numbers numbers = report_collect(set, -1, report_ratio_of);
    const double high = report_quantile(&numbers, 0.95);
    free(numbers.list);
    return high > 2 ? 3 : high > 1.5 ? 2 : 1.5;
}

static void write_maps(gs_text *page, const report_set *set)
{
    const report_point **const list = malloc(((size_t)set->count + 1) * sizeof *list);
    heat *const h = malloc(sizeof *h);
    int count = 0;
    for (int i = 0; list && i < set->count; i++)
        if (isfinite(set->list[i].ratio) && set->list[i].ratio > 0) list[count++] = &set->list[i];
    page->failed |= !list || !h;
    gs_text_addf(page, "<h3>%s</h3>\n", set->predicted ? "Predicted share of the floor over M, N and K" : "Speedup over M, N and K");
    gs_text_add(page, set->predicted ? "<p>The floor over the predicted time: 1 is the least time that the problem can take. Nothing was measured.</p>\n"
                                     : "<p>The library's time over ours: above 1 ours is faster. A cell with several problems shows their geometric mean.</p>\n");
    if (count == 0) gs_text_add(page, "<p class=\"none\">No problem here has a ratio.</p>\n");
    if (count > 1) qsort(list, (size_t)count, sizeof *list, by_kind);
    const double most = colour_range(set);
    int largest = 0;
    for (int from = 0, to; from < count; from = to) {
        to = kind_end(list, from, count);
        largest = GS_MAX(largest, to - from);
    }
    for (int from = 0, to; h && from < count; from = to) {
        to = kind_end(list, from, count);
        write_kind(page, set, list + from, to - from, h, most, to - from == largest);
    }
    free(list);
    free(h);
}

/* ---- by band ---- */

static const double shares[] = {0.05, 0.25, 0.5, 0.75, 0.95};

static double share_at_least(const report_numbers *numbers, double least)
{
    int count = 0;
    for (int i = 0; i < numbers->count; i++) count += numbers->list[i] >= least;
    return numbers->count ? 100.0 * count / numbers->count : NAN;
}

static void write_bands(gs_text *page, const report_set *set, const report_figure *figure, const char *what, double line, report_value of)
{
    static const char *const heads[] = {"floor, us", "problems", "geometric mean", "least", "5 %", "25 %", "median", "75 %", "95 %", "most", "at least 0.99, %"};
    gs_text data = {0}, rows = {0};
    gs_json json;
    report_figure_begin(page, figure, &data, &json);
    gs_json_string(&json, "what", what);
    gs_json_double(&json, "line", line);
    gs_json_begin(&json, "boxes", '[');
    for (int band = 0; band <= REPORT_BANDS; band++) {   /* the last: all */
        report_numbers numbers = report_collect(set, band < REPORT_BANDS ? band : -1, of);
        const char *const name = band < REPORT_BANDS ? eval_bands[band] : "all";
        page->failed |= !numbers.list;
        if (numbers.count > 0) {
            gs_json_begin(&json, NULL, '{');
            gs_json_string(&json, "name", name);
            gs_json_int(&json, "count", numbers.count);
            gs_json_double(&json, "mean", report_mean(&numbers));
            gs_json_begin(&json, "at", '[');
            for (size_t i = 0; i < GS_COUNT(shares); i++) gs_json_double(&json, NULL, report_quantile(&numbers, shares[i]));
            gs_json_end(&json, ']');
            gs_json_end(&json, '}');
            gs_text_addf(&rows, "<tr><th>%s</th><td>%d</td>", name, numbers.count);
            report_number(&rows, "%.3f", report_mean(&numbers));
            report_number(&rows, "%.3f", report_quantile(&numbers, 0));
            for (size_t i = 0; i < GS_COUNT(shares); i++) report_number(&rows, "%.3f", report_quantile(&numbers, shares[i]));
            report_number(&rows, "%.3f", report_quantile(&numbers, 1));
            if (line > 0) report_number(&rows, "%.1f", share_at_least(&numbers, 0.99));
            gs_text_add(&rows, "</tr>\n");
        }
        free(numbers.list);
    }
    gs_json_end(&json, ']');
    report_figure_table(page, figure, &data, &json);
    report_table_begin(page, heads, (int)GS_COUNT(heads) - (line > 0 ? 0 : 1));
    gs_text_addf(page, "%s</tbody></table>", gs_text_string(&rows));
    report_figure_end(page);
    page->failed |= rows.failed;
    gs_text_free(&rows);
}

static bool have(const report_set *set, report_value of)
{
    report_numbers all = report_collect(set, -1, of);
    free(all.list);
    return all.count > 0;
}

static const char *share_name(const report_set *set)
{
    return set->predicted ? "floor / predicted time" : set->server ? "floor / call time" : "floor / device time";
}

static double library_share_of(const report_point *p) { return p->floor_us / p->library_us; }

static void put_points(gs_json *json, const report_set *set, const char *name, report_value of)
{
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "name", name);
    gs_json_begin(json, "points", '[');
    for (int i = 0; i < set->count; i++) {
        const report_point *const p = &set->list[i];
        const double share = of(p);
        if (!isfinite(share) || !(share > 0) || !(p->floor_us > 0)) continue;
        gs_json_begin(json, NULL, '[');
        gs_json_double(json, NULL, round(p->floor_us * 1e3) / 1e3);
        gs_json_double(json, NULL, round(share * 1e4) / 1e4);
        gs_json_string(json, NULL, p->problem);
        gs_json_end(json, ']');
    }
    gs_json_end(json, ']');
    gs_json_end(json, '}');
}

static void write_shares(gs_text *page, const report_set *set)
{
    static const char *const heads[] = {"floor, us", "problems", "ours, median", "library, median"};
    const report_figure figure = {.kind = "scatter", .title = set->predicted ? "Predicted: share of the floor, problem by problem" : "Share of the floor, problem by problem",
                                  .note = "1 is the least time that the device can need: arithmetic at the rate that it keeps up, every operand moved once, a launch.",
                                  .predicted = set->predicted, .wide = true};
    gs_text data = {0};
    gs_json json;
    report_figure_begin(page, &figure, &data, &json);
    gs_json_string(&json, "x", "floor, us");
    gs_json_string(&json, "y", share_name(set));
    gs_json_begin(&json, "series", '[');
    put_points(&json, set, *set->mode ? "ours" : "winner", report_share_of);
    if (!set->predicted) put_points(&json, set, "library", library_share_of);
    gs_json_end(&json, ']');
    report_figure_table(page, &figure, &data, &json);
    report_table_begin(page, heads, set->predicted ? 3 : 4);
    for (int band = 0; band < REPORT_BANDS; band++) {
        report_numbers ours = report_collect(set, band, report_share_of), library = report_collect(set, band, library_share_of);
        page->failed |= !ours.list || !library.list;
        if (ours.count > 0) {
            gs_text_addf(page, "<tr><th>%s</th><td>%d</td>", eval_bands[band], ours.count);
            report_number(page, "%.3f", report_quantile(&ours, 0.5));
            if (!set->predicted) report_number(page, "%.3f", report_quantile(&library, 0.5));
            gs_text_add(page, "</tr>\n");
        }
        free(ours.list);
        free(library.list);
    }
    gs_text_add(page, "</tbody></table>");
    report_figure_end(page);
}

/* ---- latencies ---- */

#define PERCENTILE(name, side, which) static double name(const report_point *p) { return p->side[which]; }
PERCENTILE(own_50, own, REPORT_P50)
PERCENTILE(own_95, own, REPORT_P95)
PERCENTILE(own_99, own, REPORT_P99)
PERCENTILE(reference_50, reference, REPORT_P50)
PERCENTILE(reference_95, reference, REPORT_P95)
PERCENTILE(reference_99, reference, REPORT_P99)

static const struct bar {
    const char  *name;
    report_value of;
} bars[] = {
    {"ours p50", own_50},          {"ours p95", own_95},          {"ours p99", own_99},
    {"library p50", reference_50}, {"library p95", reference_95}, {"library p99", reference_99},
};

typedef struct bar_row {
    char   name[GS_PROBLEM_TEXT + 4];
    int    count;
    double value[GS_COUNT(bars)];
} bar_row;

/* A row per problem where they are few, else a row per band with geometric means. */
static int make_bars(const report_set *set, bar_row *rows)
{
    int count = 0;
    for (int i = 0; set->count <= MOST_NAMED && i < set->count; i++) {
        bar_row *const row = &rows[count];
        if (!isfinite(set->list[i].own[REPORT_P50])) continue;
        snprintf(row->name, sizeof row->name, "%s", set->list[i].problem);
        row->count = 1;
        for (size_t b = 0; b < GS_COUNT(bars); b++) row->value[b] = bars[b].of(&set->list[i]);
        count++;
    }
    for (int band = 0; set->count > MOST_NAMED && band < REPORT_BANDS; band++) {
        bar_row *const row = &rows[count];
        for (size_t b = 0; b < GS_COUNT(bars); b++) {
            report_numbers numbers = report_collect(set, band, bars[b].of);
            row->value[b] = report_mean(&numbers);
            if (b == 0) row->count = numbers.count;
            free(numbers.list);
        }
        snprintf(row->name, sizeof row->name, "%s", eval_bands[band]);
        count += row->count > 0;
    }
    return count;
}

static void write_latencies(gs_text *page, const report_set *set)
{
    static const char *const heads[] = {"", "problems", "ours p50", "p95", "p99", "library p50", "p95", "p99"};
    const bool named = set->count <= MOST_NAMED;
    const report_figure figure = {.kind = "bars", .title = "Latency of single requests: percentiles of call time",
                                  .note = named ? "From the launch until the host knows that it ended."
                                                : "From the launch until the host knows that it ended; by floor in microseconds, geometric means over problems.",
                                  .predicted = set->predicted, .wide = true};
    bar_row *const rows = calloc(GS_MAX(MOST_NAMED, REPORT_BANDS) + 1, sizeof *rows);
    page->failed |= !rows;
    const int count = rows ? make_bars(set, rows) : 0;
    if (count == 0) {
        free(rows);
        return;
    }
    gs_text data = {0};
    gs_json json;
    report_figure_begin(page, &figure, &data, &json);
    gs_json_string(&json, "y", "call time, us");
    gs_json_begin(&json, "labels", '[');
    for (int i = 0; i < count; i++) gs_json_string(&json, NULL, rows[i].name);
    gs_json_end(&json, ']');
    gs_json_begin(&json, "bars", '[');
    for (size_t b = 0; b < GS_COUNT(bars); b++) {
        gs_json_begin(&json, NULL, '{');
        gs_json_string(&json, "name", bars[b].name);
        gs_json_begin(&json, "values", '[');
        for (int i = 0; i < count; i++) gs_json_double(&json, NULL, rows[i].value[b]);
        gs_json_end(&json, ']');
        gs_json_end(&json, '}');
    }
    gs_json_end(&json, ']');
    report_figure_table(page, &figure, &data, &json);
    report_table_begin(page, heads, (int)GS_COUNT(heads));
    for (int i = 0; i < count; i++) {
        gs_text_add(page, "<tr><th>");
        report_escape(page, rows[i].name);
        gs_text_addf(page, "</th><td>%d</td>", rows[i].count);
        for (size_t b = 0; b < GS_COUNT(bars); b++) report_number(page, "%.2f", rows[i].value[b]);
        gs_text_add(page, "</tr>\n");
    }
    gs_text_add(page, "</tbody></table>");
    report_figure_end(page);
    free(rows);
}

/* ---- all problems ---- */

static void write_row(gs_text *page, const report_set *set, const report_point *p)
{
    char day[sizeof "2026-01-31"];
    gs_text_add(page, "<tr><th>");
    report_escape(page, p->problem);
    gs_text_addf(page, "</th><td>%lld</td><td>%lld</td><td>%lld</td>", (long long)p->parsed.m, (long long)p->parsed.n, (long long)p->parsed.k);
    gs_text_add(page, p->library ? "<td class=\"library\">" : "<td>");
    report_escape(page, p->choice);
    gs_text_add(page, "</td>");
    report_number(page, "%.2f", p->us);
    if (!set->predicted) {
        report_number(page, "%.2f", p->library_us);
        report_number(page, "%.3f", p->ratio);
        if (isfinite(p->low) && isfinite(p->high))
            gs_text_addf(page, "<td>%.3f-%.3f</td>", p->low, p->high);
        else
            gs_text_add(page, "<td></td>");
    }
    report_number(page, "%.2f", p->floor_us);
    report_number(page, "%.3f", report_share_of(p));
    snprintf(day, sizeof day, "%s", p->date);
    report_cell(page, day);
    gs_text_add(page, "</tr>\n");
}

static void write_table(gs_text *page, const report_set *set)
{
    const char *const choice = *set->mode ? "ours" : "winner", *const us = set->predicted ? "predicted us" : set->server ? "call us" : "us";
    const char *const measured[] = {"problem", "M", "N", "K", choice, us, "library us", "ratio", "interval", "floor us", "share of floor", "date"};
    const char *const predicted[] = {"problem", "M", "N", "K", choice, us, "floor us", "share of floor", "date"};
    gs_text_addf(page, "<h3>%s</h3>\n<div class=\"find\" hidden><label>Search <input type=\"search\" placeholder=\"tn 4096 ws/\"></label> <output></output></div>\n"
                 "<div class=\"scroll sortable\">", *set->mode ? "Every problem" : "Winners");
    if (set->predicted)
        report_table_begin(page, predicted, (int)GS_COUNT(predicted));
    else
        report_table_begin(page, measured, (int)GS_COUNT(measured));
    for (int i = 0; i < set->count; i++) write_row(page, set, &set->list[i]);
    gs_text_add(page, "</tbody></table></div>\n");
}

/* ---- a set ---- */

static void card(gs_text *page, const char *name, const char *format, double value)
{
    if (!isfinite(value)) return;
    gs_text_add(page, "<div><b>");
    gs_text_addf(page, format, value);
    gs_text_addf(page, "</b><span>%s</span></div>", name);
}

static void write_cards(gs_text *page, const report_set *set)
{
    report_numbers ratios = report_collect(set, -1, report_ratio_of), floors = report_collect(set, -1, report_share_of);
    int library = 0, faster = 0;
    for (int i = 0; i < set->count; i++) library += set->list[i].library;
    for (int i = 0; i < ratios.count; i++) faster += ratios.list[i] > 1.01;
    page->failed |= !ratios.list || !floors.list;
    gs_text_add(page, "<div class=\"cards\">");
    card(page, "problems", "%.0f", set->count);
    if (!set->predicted && ratios.count > 0) {
        card(page, "ratio, geometric mean", "%.3f", report_mean(&ratios));
        card(page, "ratio, median", "%.3f", report_quantile(&ratios, 0.5));
        card(page, "faster than 1.01", "%.1f %%", 100.0 * faster / ratios.count);
        card(page, "not slower than 0.99", "%.1f %%", share_at_least(&ratios, 0.99));
        card(page, "worst ratio", "%.3f", report_quantile(&ratios, 0));
        if (!*set->mode) card(page, "won by the library", "%.0f", library);
    }
    card(page, set->predicted ? "share of floor, predicted, median" : "share of floor, median", "%.3f", report_quantile(&floors, 0.5));
    gs_text_add(page, "</div>\n");
    if (!set->predicted && ratios.count < set->count)
        gs_text_addf(page, "<p>%d of them have no ratio: the library was not measured beside them, or nothing of ours came out right.</p>\n", set->count - ratios.count);
    if (set->faults > 0) gs_text_addf(page, "<p class=\"warning\">%d times something of ours was wrong or did not run; it counts nowhere.</p>\n", set->faults);
    free(ratios.list);
    free(floors.list);
}

static const char BOXES[] = "Box: the middle half of the problems; line: 5 to 95 %; dot: geometric mean; stroke: median.";

void report_set_figures(gs_text *page, const report_set *set)
{
    const bool ratios = !set->predicted && have(set, report_ratio_of), floors = have(set, report_share_of);
    write_cards(page, set);
    write_maps(page, set);
    if (floors) gs_text_add(page, "<h3>By the time that a problem needs at least</h3>\n<div class=\"grid pair\">\n");
    if (ratios && floors) {
        const report_figure figure = {.kind = "boxes", .title = "Ratio by floor",
                                      .note = BOXES};
        write_bands(page, set, &figure, "library's time / ours", 1, report_ratio_of);
    }
    if (floors) {
        const report_figure figure = {.kind = "boxes", .title = set->predicted ? "Predicted: share of the floor by floor" : "Share of the floor by floor",
                                      .note = BOXES, .predicted = set->predicted};
        write_bands(page, set, &figure, share_name(set), NAN, report_share_of);
        gs_text_add(page, "</div>\n");
        write_shares(page, set);
    } else {
        gs_text_add(page, "<p class=\"none\">The floor of this GPU is not known here: no device profile has its name, and it is not this machine's. "
                          "So nothing is shown by floor.</p>\n");
    }
    if (set->server) write_latencies(page, set);
    write_table(page, set);
}

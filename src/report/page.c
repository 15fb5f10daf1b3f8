/* SPDX-License-Identifier: MIT
 * The page: a single HTML file that loads nothing. It has the report's data as one JSON object; style, scripts and the plotting library are embedded in the
 * program and copied into it. share/report/build.js makes tables and charts of the data, page.js draws the charts. */
#include <math.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/json.h"
#include "table/table.h"
#include "report/internal.h"

extern const gs_embedded gs_embedded_report[];   /* share/report/ */
extern const gs_embedded gs_embedded_chart[];    /* Chart.js */

/* ---- the data ---- */

static void put_numbers(gs_json *json, const char *name, const double *list, int count)
{
    gs_json_begin(json, name, '[');
    for (int i = 0; i < count; i++) gs_json_double(json, NULL, list[i]);
    gs_json_end(json, ']');
}

/* In the order of put_point. */
static const char *const columns[] = {"problem", "kind", "m", "n", "k", "choice", "cublaslt", "us", "cublaslt_us", "ratio", "low", "high", "floor", "band", "date", "ours", "reference"};

static void put_point(gs_json *json, const gs_report_point *p)
{
    gs_json_begin(json, NULL, '[');
    gs_json_string(json, NULL, p->problem);
    gs_json_string(json, NULL, p->kind);
    gs_json_int(json, NULL, p->parsed.m);
    gs_json_int(json, NULL, p->parsed.n);
    gs_json_int(json, NULL, p->parsed.k);
    gs_json_string(json, NULL, p->choice);
    gs_json_bool(json, NULL, p->library);
    gs_json_double(json, NULL, p->us);
    gs_json_double(json, NULL, p->library_us);
    gs_json_double(json, NULL, p->ratio);
    gs_json_double(json, NULL, p->low);
    gs_json_double(json, NULL, p->high);
    gs_json_double(json, NULL, p->floor_us);
    gs_json_int(json, NULL, p->band);
    gs_json_string(json, NULL, p->date);
    put_numbers(json, NULL, p->own, GS_REPORT_PERCENTILES);
    put_numbers(json, NULL, p->reference, GS_REPORT_PERCENTILES);
    gs_json_end(json, ']');
}

static void put_set(gs_json *json, const gs_report_set *set)
{
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "gpu", set->gpu);
    gs_json_string(json, "mode", set->mode);
    gs_json_bool(json, "predicted", set->predicted);
    gs_json_bool(json, "dependent", set->dependent);
    gs_json_bool(json, "server", set->server);
    gs_json_int(json, "faults", set->faults);
    gs_json_begin(json, "points", '[');
    for (int i = 0; i < set->count; i++) put_point(json, &set->list[i]);
    gs_json_end(json, ']');
    gs_json_end(json, '}');
}

static void put_machine(gs_json *json, const gs_report_machine *m)
{
    gs_json_begin(json, NULL, '[');
    gs_json_string(json, NULL, m->device);
    gs_json_double(json, NULL, m->sms > 0 ? m->sms : NAN);
    const char *const versions[] = {m->driver, m->cublaslt, m->nvrtc, m->version, m->commit};
    for (size_t i = 0; i < GS_COUNT(versions); i++) gs_json_string(json, NULL, versions[i]);
    gs_json_int(json, NULL, m->runs);
    gs_json_string(json, NULL, m->from);
    gs_json_string(json, NULL, m->to);
    gs_json_end(json, ']');
}

static void put_curve(gs_json *json, const gs_report_curve *curve)
{
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "series", curve->points.series);
    gs_json_string(json, "name", curve->points.name);
    gs_json_string(json, "device", curve->device);
    gs_json_bool(json, "predicted", gs_gpu_emulated(curve->device));
    put_numbers(json, "x", curve->points.x, curve->points.count);
    put_numbers(json, "y", curve->points.y, curve->points.count);
    gs_json_end(json, '}');
}

/* The report's source files; `at` has one per line. */
static void put_sources(gs_json *json, const char *at)
{
    gs_json_begin(json, "sources", '[');
    while (*at) {
        char name[256];
        const size_t length = strcspn(at, "\n");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        gs_json_string(json, NULL, name);
        at += length + (at[length] != '\0');
    }
    gs_json_end(json, ']');
}

static void put_strings(gs_json *json, const char *name, const char *const *list, int count)
{
    gs_json_begin(json, name, '[');
    for (int i = 0; i < count; i++) gs_json_string(json, NULL, list[i]);
    gs_json_end(json, ']');
}

static void put_report(gs_json *json, const gs_report *r, const char *made)
{
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "made", made);
    gs_json_string(json, "version", gs_version());
    put_sources(json, gs_text_string(&r->sources));
    gs_json_int(json, "unread", r->unread);
    put_strings(json, "bands", gs_result_bands, GS_REPORT_BANDS);
    put_strings(json, "columns", columns, (int)GS_COUNT(columns));
    gs_json_begin(json, "machines", '[');
    for (int i = 0; i < r->machine_count; i++) put_machine(json, &r->machines[i]);
    gs_json_end(json, ']');
    gs_json_begin(json, "sets", '[');
    for (int i = 0; i < r->set_count; i++) put_set(json, &r->sets[i]);
    gs_json_end(json, ']');
    gs_json_begin(json, "curves", '[');
    for (int i = 0; i < r->curve_count; i++) put_curve(json, &r->curves[i]);
    gs_json_end(json, ']');
    gs_report_put_lineages(json, r);
    gs_json_end(json, '}');
}

/* Escapes "<", which occurs only in strings, so that the data cannot end the script element. */
static void add_data(gs_text *page, const gs_report *r, const char *made)
{
    gs_text data = {0};
    gs_json json = gs_json_into(&data);
    put_report(&json, r, made);
    page->failed |= data.failed;
    for (const char *at = gs_text_string(&data); *at;) {
        const size_t plain = strcspn(at, "<");
        gs_text_add_bytes(page, at, plain);
        at += plain;
        if (*at && *at++ == '<') gs_text_add(page, "\\u003c");
    }
    gs_text_free(&data);
}

/* ---- the page ---- */

/* An embedded file for a script or style element. It must not contain the closing tag, which the page's test checks. */
static void add_embedded(gs_text *page, const gs_embedded *files, const char *name)
{
    while (files->name && name && strcmp(files->name, name) != 0) files++;
    if (files->name) gs_text_add(page, files->text);
}

static void add_script(gs_text *page, const gs_embedded *files, const char *name)
{
    gs_text_add(page, "<script>\n");
    add_embedded(page, files, name);
    gs_text_add(page, "</script>\n");
}

void gs_report_page(gs_text *page, const gs_report *r, const char *made)
{
    gs_text_add(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<title>gemmsmith report</title>\n<style>\n");
    add_embedded(page, gs_embedded_report, "page.css");
    gs_text_add(page, "</style></head>\n<body>\n<header><h1>gemmsmith report</h1>\n<div id=\"about\"></div>\n<p id=\"trouble\" class=\"warning\" hidden></p>"
                      "<noscript><p class=\"warning\">This page shows its tables and pictures with scripts, which are part of it: allow them.</p></noscript></header>\n"
                      "<main></main>\n<footer><details><summary>Licences of what is in this page</summary><pre>");
    add_embedded(page, gs_embedded_report, "licences.txt");
    gs_text_add(page, "</pre></details></footer>\n<script type=\"application/json\" id=\"data\">");
    add_data(page, r, made);
    gs_text_add(page, "</script>\n");
    add_script(page, gs_embedded_chart, NULL);
    add_script(page, gs_embedded_report, "build.js");
    add_script(page, gs_embedded_report, "page.js");
    gs_text_add(page, "</body></html>\n");
}

/* SPDX-License-Identifier: MIT
 * The page: one file that loads nothing. Style, script and the plotting library are embedded in the program and copied into it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/embedded.h"
#include "base/error.h"
#include "report/report.h"

extern const gs_embedded gs_embedded_report[];   /* cli/report/ */
extern const gs_embedded gs_embedded_chart[];    /* Chart.js, as it is installed */

/* ---- pieces ---- */

void report_escape(gs_text *page, const char *text)
{
    for (const char *at = text; *at;) {
        const size_t plain = strcspn(at, "&<>\"'");
        gs_text_add_bytes(page, at, plain);
        at += plain;
        if (*at) gs_text_addf(page, "&#%d;", *at++);
    }
}

void report_figure_begin(gs_text *page, const report_figure *figure, gs_text *data, gs_json *json)
{
    gs_text_addf(page, "<figure class=\"%s%s\"><figcaption>", figure->kind, figure->wide ? " wide" : "");
    report_escape(page, figure->title);
    if (figure->predicted) gs_text_add(page, " <em class=\"predicted\">predicted, not measured</em>");
    if (figure->note) gs_text_addf(page, "<small>%s</small>", figure->note);
    gs_text_add(page, "</figcaption>\n<div class=\"plot\"><canvas role=\"img\" aria-label=\"");
    report_escape(page, figure->title);
    gs_text_add(page, ": the numbers stand in the table below\"></canvas></div>\n");
    *json = gs_json_into(data);
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "kind", figure->kind);
    gs_json_string(json, "title", figure->title);
    gs_json_bool(json, "predicted", figure->predicted);
}

/* "<" stands in strings alone, where it may be written another way: so nothing ends the element early. */
static void add_data(gs_text *page, const char *json)
{
    while (*json) {
        const size_t plain = strcspn(json, "<");
        gs_text_add_bytes(page, json, plain);
        json += plain;
        if (*json && *json++ == '<') gs_text_add(page, "\\u003c");
    }
}

void report_figure_table(gs_text *page, const report_figure *figure, gs_text *data, gs_json *json)
{
    (void)figure;
    gs_json_end(json, '}');
    gs_text_add(page, "<script type=\"application/json\">");
    add_data(page, gs_text_string(data));
    gs_text_add(page, "</script>\n<details class=\"numbers\"><summary>numbers</summary><div class=\"scroll\">");
    page->failed |= data->failed;
    gs_text_free(data);
}

void report_figure_end(gs_text *page) { gs_text_add(page, "</div></details></figure>\n"); }

void report_table_begin(gs_text *page, const char *const *heads, int count)
{
    gs_text_add(page, "<table><thead><tr>");
    for (int i = 0; i < count; i++) gs_text_addf(page, "<th scope=\"col\">%s</th>", heads[i]);
    gs_text_add(page, "</tr></thead><tbody>\n");
}

void report_cell(gs_text *page, const char *text)
{
    gs_text_add(page, "<td>");
    report_escape(page, text);
    gs_text_add(page, "</td>");
}

void report_number(gs_text *page, const char *format, double value)
{
    gs_text_add(page, "<td>");
    if (isfinite(value)) gs_text_addf(page, format, value);
    gs_text_add(page, "</td>");
}

/* A file of the program that goes into a script or style element. "</" within ends none of ours: neither has a closing tag in it, which the test
 * of the page checks. */
static void add_embedded(gs_text *page, const gs_embedded *files, const char *name)
{
    while (files->name && name && strcmp(files->name, name) != 0) files++;
    if (files->name) gs_text_add(page, files->text);
}

/* ---- parts ---- */

static void write_machines(gs_text *page, const report *r)
{
    static const char *const heads[] = {"device", "SMs", "driver CUDA", "cuBLASLt", "NVRTC", "gemmsmith", "commit", "runs", "from", "to"};
    if (r->machine_count == 0) return;
    gs_text_add(page, "<h2 id=\"environment\">Environment</h2>\n<div class=\"scroll\">");
    report_table_begin(page, heads, (int)GS_COUNT(heads));
    for (int i = 0; i < r->machine_count; i++) {
        const report_machine *const m = &r->machines[i];
        gs_text_add(page, "<tr><th>");
        report_escape(page, m->device);
        gs_text_add(page, "</th>");
        report_number(page, "%.0f", m->sms > 0 ? m->sms : NAN);
        report_cell(page, m->driver);
        report_cell(page, m->cublaslt);
        report_cell(page, m->nvrtc);
        report_cell(page, m->version);
        report_cell(page, m->commit);
        gs_text_addf(page, "<td>%d</td>", m->runs);
        report_cell(page, m->from);
        report_cell(page, m->to);
        gs_text_add(page, "</tr>\n");
    }
    gs_text_add(page, "</tbody></table></div>\n");
}

static void name_set(const report_set *set, char *name, size_t size)
{
    const char *const what = !*set->mode ? "Winners" : set->server ? "Evaluated, single requests" : "Evaluated, calls back to back";
    snprintf(name, size, "%s: %s%s%s", what, set->gpu, *set->mode && set->dependent ? ", dependent launches" : "",
             set->predicted ? " (predicted)" : "");
}

/* What the numbers of a set are. */
static void explain_set(gs_text *page, const report_set *set)
{
    if (set->predicted)
        gs_text_add(page, "<p class=\"warning\">An emulated device predicted every time here; nothing was measured, and nothing is compared with a library.</p>\n");
    else if (!*set->mode)
        gs_text_add(page, "<p>The confirmed choice of every problem that was tuned, by device time, against auto-tuned cuBLASLt in the same layout. Where the library was "
                          "faster it is the choice: its ratio to itself is 1, and it counts.</p>\n");
    else
        gs_text_addf(page, "<p>Ours against auto-tuned cuBLASLt in one interleaved run, the faster layout of each where both were measured, cold cache, %s.</p>\n",
                     set->server ? "call time of single requests at random gaps" : "device time");
}

static void write_sets(gs_text *page, const report *r)
{
    char name[256];
    for (int i = 0; i < r->set_count; i++) {
        const report_set *const set = &r->sets[i];
        name_set(set, name, sizeof name);
        gs_text_addf(page, "<section%s><h2 id=\"set%d\">", set->predicted ? " class=\"emulated\"" : "", i);
        report_escape(page, name);
        gs_text_add(page, "</h2>\n");
        explain_set(page, set);
        report_set_figures(page, set);
        gs_text_add(page, "</section>\n");
    }
    if (r->set_count == 0)
        gs_text_add(page, "<p class=\"none\">Nothing was measured: there is no winner and no result of eval here. <code>gemmsmith tune</code> and "
                          "<code>gemmsmith eval</code> bring some.</p>\n");
}

static void write_curves(gs_text *page, const report *r)
{
    gs_text_add(page, "<h2 id=\"curves\">Learning and regret</h2>\n");
    if (r->curve_count == 0)
        gs_text_add(page, "<p class=\"none\">No curves here. <code>gemmsmith train --store FILE</code> keeps how training went, <code>gemmsmith db curves FILE</code> "
                          "takes others.</p>\n");
    gs_text_add(page, "<div class=\"grid pair\">\n");
    report_curve_figures(page, r);
    gs_text_add(page, "</div>\n");
}

static void write_contents(gs_text *page, const report *r)
{
    char name[256];
    gs_text_add(page, "<nav><ul>");
    if (r->machine_count > 0) gs_text_add(page, "<li><a href=\"#environment\">Environment</a></li>");
    for (int i = 0; i < r->set_count; i++) {
        name_set(&r->sets[i], name, sizeof name);
        gs_text_addf(page, "<li><a href=\"#set%d\">", i);
        report_escape(page, name);
        gs_text_add(page, "</a></li>");
    }
    gs_text_add(page, "<li><a href=\"#curves\">Learning and regret</a></li></ul></nav>\n");
}

static void write_sources(gs_text *page, const report *r, const char *made)
{
    gs_text_addf(page, "<p class=\"made\">Made %s by gemmsmith %s from: ", made, gs_version());
    for (const char *at = gs_text_string(&r->sources); *at;) {
        char name[256];
        const size_t length = strcspn(at, "\n");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        report_escape(page, name);
        at += length + (at[length] != '\0');
        gs_text_add(page, *at ? ", " : ".</p>\n");
    }
    if (r->unread > 0) gs_text_addf(page, "<p class=\"warning\">%d rows could not be read and are missing.</p>\n", r->unread);
}

void report_page(gs_text *page, const report *r, const char *made)
{
    gs_text_add(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<title>gemmsmith report</title>\n<style>\n");
    add_embedded(page, gs_embedded_report, "page.css");
    gs_text_add(page, "</style></head>\n<body>\n<header><h1>gemmsmith report</h1>\n");
    write_sources(page, r, made);
    write_contents(page, r);
    gs_text_add(page, "<p id=\"trouble\" class=\"warning\" hidden></p><noscript><p class=\"warning\">Without scripts there are no pictures; every picture's numbers stand in "
                      "the table below it.</p></noscript></header>\n<main>\n");
    write_machines(page, r);
    write_sets(page, r);
    write_curves(page, r);
    gs_text_add(page, "</main>\n<footer><details><summary>Licences of what is in this page</summary><pre>");
    add_embedded(page, gs_embedded_report, "licences.txt");
    gs_text_add(page, "</pre></details></footer>\n<script>\n");
    add_embedded(page, gs_embedded_chart, NULL);
    gs_text_add(page, "</script>\n<script>\n");
    add_embedded(page, gs_embedded_report, "page.js");
    gs_text_add(page, "</script>\n</body></html>\n");
}

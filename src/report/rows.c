/* SPDX-License-Identifier: MIT
 * Fills a report from rows of eval: objects (--json, the store's results) and lines of values (--rows). If a problem was measured several times, the last run
 * counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/csv.h"
#include "base/version.h"
#include "table/table.h"
#include "problem/layout.h"
#include "report/internal.h"
#include "report/training.h"

enum { MOST_BYTES = 1 << 30, COLUMNS = 64 };

/* Clears the point for a newer run. false: the point is newer. */
static bool renew(gs_report_point *p, const char *date)
{
    if (strcmp(p->date, date) > 0) return false;
    p->us = p->library_us = p->ratio = p->low = p->high = NAN;
    for (int i = 0; i < GS_REPORT_PERCENTILES; i++) p->own[i] = p->reference[i] = NAN;
    p->choice[0] = '\0';
    p->marked = false;
    p->layouts = 0;
    snprintf(p->date, sizeof p->date, "%s", date);
    return true;
}

/* An emulated device has no cuBLASLt: the ratio is to the floor. */
static void predict(gs_report_point *p)
{
    p->ratio = p->floor_us / p->us;
    p->low = p->high = NAN;
}

/* ---- objects ---- */

static void take_percentiles(double to[GS_REPORT_PERCENTILES], const gs_result_entry *e)
{
    to[GS_REPORT_P50] = e->p50;
    to[GS_REPORT_P95] = e->p95;
    to[GS_REPORT_P99] = e->p99;
}

/* The entry of ours that counts, and what it is compared with; -1: none. */
static void choose(const gs_result *row, int *own, int *reference, const gs_ratio **ratio)
{
    *own = *reference = -1;
    *ratio = NULL;
    if (row->best_compared) {
        *own = row->best_own;
        *reference = row->best_reference;
        *ratio = &row->best;
        return;
    }
    for (int i = 0; i < row->count; i++) {
        const gs_result_entry *const e = &row->entry[i];
        if (!e->own || !e->ran || e->wrong || (*own >= 0 && !(e->device_us < row->entry[*own].device_us))) continue;
        *own = i;
        *ratio = e->compared ? &e->ratio : NULL;
    }
    for (int i = 0; i < row->count && *own >= 0; i++)
        if (row->entry[i].reference && strcmp(row->entry[i].layout, row->entry[*own].layout) == 0) *reference = i;
}

static const char *text_of(const json_t *json, const char *name)
{
    const char *const text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static int int_of(const json_t *json, const char *name) { return (int)json_integer_value(json_object_get(json, name)); }

void gs_report_add_row(gs_report *r, const gs_result *row)
{
    int own, reference;
    const gs_ratio *ratio;
    char mode[GS_RESULT_MODE];
    if (strcmp(text_of(row->json, "cache"), "warm") == 0) return;
    gs_report_set *const set = gs_report_find_set(r, text_of(row->json, "gpu"), gs_result_mode(row, mode), row->predicted);
    gs_report_point *const p = set ? gs_report_find_point(r, set, row->title, &row->problem) : NULL;
    if (!p || !renew(p, text_of(row->json, "date"))) return;
    for (int i = 0; i < row->count; i++) set->faults += row->entry[i].own && (row->entry[i].wrong || !row->entry[i].ran);
    p->floor_us = row->floor_us;
    p->band = row->band;
    choose(row, &own, &reference, &ratio);
    if (own < 0 || row->entry[own].wrong) return;
    const gs_result_entry *const ours = &row->entry[own];
    gs_schedule schedule;
    snprintf(p->choice, sizeof p->choice, "%s %s", ours->layout, gs_schedule_parse(&schedule, ours->name, NULL) == GS_OK ? ours->name : ours->detail);
    p->us = row->server ? ours->call_us : ours->device_us;
    take_percentiles(p->own, ours);
    if (row->predicted) {
        predict(p);
        return;
    }
    if (ratio) p->ratio = ratio->median, p->low = ratio->low, p->high = ratio->high;
    if (reference < 0) return;
    p->library_us = row->server ? row->entry[reference].call_us : row->entry[reference].device_us;
    take_percentiles(p->reference, &row->entry[reference]);
}

static void add_row_machine(gs_report *r, const json_t *json)
{
    gs_report_machine machine = {.sms = int_of(json, "sms"), .runs = 1};
    snprintf(machine.device, sizeof machine.device, "%s", text_of(json, "gpu"));
    if (int_of(json, "driver") > 0) gs_format_cuda_version(int_of(json, "driver"), machine.driver);
    if (int_of(json, "cublaslt") > 0) gs_format_library_version(int_of(json, "cublaslt"), machine.cublaslt);
    if (int_of(json, "nvrtc") > 0) gs_format_cuda_version(int_of(json, "nvrtc"), machine.nvrtc);
    snprintf(machine.version, sizeof machine.version, "%s", text_of(json, "version"));
    snprintf(machine.commit, sizeof machine.commit, "%s", text_of(json, "commit"));
    snprintf(machine.from, sizeof machine.from, "%s", text_of(json, "date"));
    snprintf(machine.to, sizeof machine.to, "%s", text_of(json, "date"));
    gs_report_add_machine(r, &machine);
}

static bool add_object(gs_report *r, const char *line)
{
    gs_result *const row = calloc(1, sizeof *row);
    json_t *const json = json_loads(line, 0, NULL);
    if (!row) r->failed = true;
    const bool read = row && json && gs_result_read(row, json, NULL) == GS_OK;
    if (read) {
        add_row_machine(r, row->json);
        gs_report_add_row(r, row);
        gs_result_free(row);
    } else {
        r->unread++;
        if (!row) json_decref(json);
    }
    free(row);
    return read;
}

static gs_status add_objects(gs_report *r, const char *path, char *text, gs_error *error)
{
    int lines = 0, read = 0;
    for (char *at = text, *line; !r->failed && (line = gs_csv_line(&at));)
        if (*line != '\0') lines++, read += add_object(r, line);
    return lines == 0 || read > 0 || r->failed ? GS_OK : gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.200s: no line is an object of eval --json", path);
}

/* ---- lines of values ---- */

/* legend: name of a column; its index in the file is in `place` (-1: absent) */
enum { PROBLEM, MODE, CACHE, LAYOUT, CONTENDER, CHOICE, DEVICE_US, RATIO, LOW, HIGH, IS_BEST, BEST_RATIO, BEST_LOW, BEST_HIGH, VERIFIED, FLOOR_US, BAND,
       CALL_US, CALL_P50, CALL_P95, CALL_P99, DATE, KNOWN };
static const char *const names[KNOWN] = {"problem", "mode", "cache", "layout", "contender", "choice", "device_us", "ratio", "low", "high", "is_best",
                                         "best_ratio", "best_low", "best_high", "verified", "floor_us", "band", "call_us", "call_p50", "call_p95", "call_p99",
                                         "date"};

typedef struct lines {
    gs_report  *r;
    char        gpu[96];        /* from the last comment */
    int         place[KNOWN], columns;
    char      **field;
} lines;

static const char *field_of(const lines *l, int column) { return l->field[l->place[column]]; }

static double number_of(const lines *l, int column)
{
    gs_scan scan = gs_scan_from(field_of(l, column));
    double value;
    return gs_scan_double(&scan, &value) && gs_scan_end(&scan) ? value : NAN;
}

/* "# NVIDIA H200, driver CUDA 13.0, cuBLASLt 13.1.0, NVRTC 13.0, gemmsmith 0.1.0+d21e1b27 c79996c, 2026-11-21T15:58:11Z" */
static void read_comment(lines *l, const char *text)
{
    gs_report_machine m = {.runs = 1};
    char date[24];
    if (sscanf(text, "# %95[^,], driver CUDA %23[^,], cuBLASLt %23[^,], NVRTC %23[^,], gemmsmith %63[^, ] %47[^, ], %23s", m.device, m.driver, m.cublaslt, m.nvrtc,
               m.version, m.commit, date) != 7) {
        m.commit[0] = '\0';   /* built outside a git checkout: there is no commit */
        if (sscanf(text, "# %95[^,], driver CUDA %23[^,], cuBLASLt %23[^,], NVRTC %23[^,], gemmsmith %63[^, ] , %23s", m.device, m.driver, m.cublaslt, m.nvrtc,
                   m.version, date) != 6)
            return;
    }
    memcpy(m.from, date, sizeof m.from);
    memcpy(m.to, date, sizeof m.to);
    snprintf(l->gpu, sizeof l->gpu, "%s", m.device);
    gs_report_add_machine(l->r, &m);
}

static gs_status read_head(lines *l, const char *path, char **field, int count, gs_error *error)
{
    for (int i = 0; i < KNOWN; i++) {
        int at = 0;
        while (at < count && strcmp(field[at], names[i]) != 0) at++;
        if (at == count) return gs_fail(error, GS_ERROR_CORRUPT, names[i], "%.200s: no such column: is it of eval --rows?", path);
        l->place[i] = at;
    }
    l->columns = count;
    return GS_OK;
}

static void take_own(const lines *l, gs_report_set *set, gs_report_point *p, bool best)
{
    const double us = number_of(l, set->server ? CALL_US : DEVICE_US);
    if (strcmp(field_of(l, VERIFIED), "ok") != 0) {
        set->faults++;
        return;
    }
    if (p->marked || (!best && p->us <= us)) return;
    p->marked = best;
    p->us = us;
    snprintf(p->choice, sizeof p->choice, "%s %s", field_of(l, LAYOUT), field_of(l, CHOICE));
    for (int i = 0; i < GS_REPORT_PERCENTILES; i++) p->own[i] = number_of(l, CALL_P50 + i);
    if (best) {
        p->ratio = number_of(l, BEST_RATIO);
        p->low = number_of(l, BEST_LOW);
        p->high = number_of(l, BEST_HIGH);
    }
    if (set->predicted) predict(p);
}

static void take_reference(const lines *l, const gs_report_set *set, gs_report_point *p)
{
    p->library_us = number_of(l, set->server ? CALL_US : DEVICE_US);
    for (int i = 0; i < GS_REPORT_PERCENTILES; i++) p->reference[i] = number_of(l, CALL_P50 + i);
}

/* With all measured layouts, as eval --json writes it. */
static void name_problem(char *name, size_t size, const gs_problem *problem, unsigned layouts)
{
    char text[GS_PROBLEM_TEXT];
    const gs_problem one = gs_problem_in_layout(problem, GS_NN);
    const bool a = gs_is_a_transposed(problem->layout);
    const char *const at = strstr(gs_problem_format(&one, text), a ? ":nt" : ":nn");
    static const char *const words[2][4] = {{"", "nn", "tn", "nn,tn"}, {"", "nt", "tt", "nt,tt"}};
    snprintf(name, size, "%.*s:%s%s", at ? (int)(at - text) : (int)strlen(text), text, words[a][layouts & 3], at ? at + 3 : "");
}

static bool known_mode(const char *mode)
{
    static const char *const modes[] = {"offline", "offline" GS_DEPENDENT_SUFFIX, "server", "server" GS_DEPENDENT_SUFFIX, "predicted"};
    size_t length = strlen(mode);
    static const char *const suffixes[] = {GS_RESULT_BEHIND, GS_RESULT_SKEWED};
    for (size_t i = 0; i < GS_COUNT(suffixes); i++) {
        const size_t size = strlen(suffixes[i]);
        if (length > size && strncmp(mode + length - size, suffixes[i], size) == 0) length -= size;
    }
    size_t i = 0;
    while (i < GS_COUNT(modes) && (strlen(modes[i]) != length || strncmp(mode, modes[i], length) != 0)) i++;
    return i < GS_COUNT(modes);
}

static bool is_reference(const char *contender)
{
    return strcmp(contender, GS_RESULT_REFERENCE) == 0 || gs_result_is_reference_of_groups(contender);
}

static void add_line(lines *l, char **field)
{
    gs_problem problem;
    char name[GS_PROBLEM_TEXT + 4];
    l->field = field;
    const double band = number_of(l, BAND);
    if (gs_problem_parse(&problem, field_of(l, PROBLEM), NULL) != GS_OK || !(band >= 0 && band < GS_REPORT_BANDS) || !known_mode(field_of(l, MODE))) {
        l->r->unread++;
        return;
    }
    if (strcmp(field_of(l, CACHE), "cold") != 0) return;
    name_problem(name, sizeof name, &problem, 3);
    const char *const mode = field_of(l, MODE), *const date = field_of(l, DATE), *const contender = field_of(l, CONTENDER);
    gs_report_set *const set = gs_report_find_set(l->r, l->gpu, mode, strncmp(mode, "predicted", 9) == 0);
    gs_report_point *const p = set ? gs_report_find_point(l->r, set, name, &problem) : NULL;
    const bool best = strcmp(field_of(l, IS_BEST), "1") == 0;
    if (!p || (strcmp(p->date, date) != 0 && !renew(p, date))) return;
    p->layouts |= field_of(l, LAYOUT)[0] == 't' ? 2u : 1u;
    name_problem(name, sizeof name, &problem, p->layouts);
    gs_report_name_point(p, name);
    p->floor_us = number_of(l, FLOOR_US);
    p->band = (int)band;
    if (strcmp(contender, GS_RESULT_OWN) == 0) take_own(l, set, p, best);
    if (is_reference(contender) && best) take_reference(l, set, p);
}

static gs_status add_lines(gs_report *r, const char *path, char *text, gs_error *error)
{
    lines l = {.r = r, .gpu = "unknown GPU"};
    char *field[COLUMNS];
    for (char *at = text, *line; !r->failed && (line = gs_csv_line(&at));) {
        if (*line == '#') read_comment(&l, line);
        if (*line == '#' || *line == '\0') continue;
        const int count = gs_csv_split(line, field, COLUMNS);
        if (count > 0 && strcmp(field[0], "problem") == 0)
            GS_TRY(read_head(&l, path, field, count, error));
        else if (l.columns == 0)
            return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%.200s: neither the rows nor the objects of eval", path);
        else if (count != l.columns)
            r->unread++;
        else
            add_line(&l, field);
    }
    return GS_OK;
}

/* ---- logs of trainers ---- */

static gs_status add_training(gs_report *r, const char *path, const char *text, gs_error *error)
{
    gs_curves curves = {0};
    gs_error why = {0};
    char name[GS_CURVE_NAME];
    gs_training_name(name, path);
    gs_status status = gs_training_read(&curves, name, text, &r->unread, &why);
    if (status != GS_OK) status = gs_fail(error, status, NULL, "%.200s: %s", path, why.text);
    if (status == GS_OK) gs_report_take_curves(r, &curves, "");
    gs_curves_free(&curves);
    r->training |= status == GS_OK;
    return status;
}

gs_status gs_report_add_file(gs_report *r, const char *path, gs_error *error)
{
    char *text;
    size_t size;
    GS_TRY(gs_file_read(path, MOST_BYTES, &text, &size, error));
    const char *const slash = strrchr(path, '/');
    const bool training = gs_training_is(text);
    gs_text_addf(&r->sources, "%s %s\n", training ? "log" : "rows", slash ? slash + 1 : path);
    gs_status status = training ? add_training(r, path, text, error) : *text == '{' ? add_objects(r, path, text, error) : add_lines(r, path, text, error);
    free(text);
    if (status == GS_OK && r->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a report");
    return status;
}

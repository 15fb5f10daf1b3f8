/* SPDX-License-Identifier: MIT
 * The columns are one table, so that the head and the lines agree. */
#include "compare/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "problem/layout.h"
#include "schedule/schedule.h"

#define FILE_LIMIT (1024u << 20)
#define BUFFER     (256u << 10)
#define HEAD       "problem,mode"   /* beginning of the column line */

/* ---- reading an existing file ---- */

/* One key for both layouts of a problem. */
static void write_key(gs_text *key, const gs_problem *problem, const char *mode)
{
    char text[GS_PROBLEM_TEXT];
    const gs_problem one = gs_problem_in_layout(problem, GS_TN);
    gs_text_addf(key, "%s %s\n", gs_problem_format(&one, text), mode);
}

/* A line begins with "problem",mode, */
static void read_line(gs_text *known, char *line)
{
    gs_problem problem;
    char *const quote = *line == '"' ? strchr(line + 1, '"') : NULL;
    if (!quote || quote[1] != ',') return;
    *quote = '\0';
    char *const mode = quote + 2;
    mode[strcspn(mode, ",")] = '\0';
    if (gs_problem_parse(&problem, line + 1, NULL) == GS_OK) write_key(known, &problem, mode);
}

/* An incomplete last line is ignored: its problem is measured again. */
static gs_status read_known(gs_rows_file *rows, const char *path, bool *cut, gs_error *error)
{
    char *data;
    size_t size;
    gs_text known = {0};
    *cut = false;
    if (strcmp(path, "-") == 0 || !gs_file_exists(path) || gs_file_need_regular(path, NULL) != GS_OK) return GS_OK;   /* a pipe is only written to */
    GS_TRY(gs_file_read(path, FILE_LIMIT, &data, &size, error));
    if (size > 0 && !strstr(data, HEAD)) {   /* another kind of file, such as a list of problems */
        free(data);
        return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%s: is no file of rows: it is left as it is", path);
    }
    char *line = data;
    for (char *next; (next = strchr(line, '\n')); line = next + 1) {
        *next = '\0';
        read_line(&known, line);
    }
    *cut = *line != '\0';
    free(data);
    const bool whole = !known.failed;
    rows->known = whole ? gs_text_take(&known) : NULL;
    gs_text_free(&known);
    return whole ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the rows of %s", path);
}

bool gs_rows_file_have(const gs_rows_file *rows, const gs_problem *problem, const char *mode)
{
    gs_text key = {0};
    if (!rows->known) return false;
    gs_text_add(&key, "\n");
    write_key(&key, problem, mode);
    const char *const text = gs_text_string(&key);   /* out of memory: the problem is measured again */
    const bool have = !key.failed && (strstr(rows->known, text) != NULL || strncmp(rows->known, text + 1, strlen(text + 1)) == 0);
    gs_text_free(&key);
    return have;
}

/* ---- columns ---- */

typedef struct line {
    const gs_result   *row;
    const gs_result_entry *entry;
    const json_t     *json;       /* of the entry */
    const gs_ratio   *best;       /* NULL: unknown */
    bool              is_best;    /* the entry is one of the two that `best` compares */
} line;

static void put_number(FILE *file, double value)
{
    if (isfinite(value)) fprintf(file, "%.6g", value);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *const value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static double clock_of(const line *l, const char *when)
{
    const json_t *const value = json_object_get(json_object_get(json_object_get(l->row->json, "clocks"), when), "sm_mhz");
    return json_is_integer(value) && json_integer_value(value) > 0 ? (double)json_integer_value(value) : NAN;
}

static double count_of(const line *l, const char *name) { return (double)json_integer_value(json_object_get(l->row->json, name)); }

static void put_contender(FILE *file, const line *l) { fprintf(file, "%s", l->entry->own ? "own" : l->entry->name); }

/* Our schedule, or the index of the suggestion that cuBLASLt's auto-tuning chose. */
static void put_choice(FILE *file, const line *l)
{
    gs_schedule schedule;
    const int suggestion = (int)json_integer_value(json_object_get(l->json, "suggestion"));
    if (gs_schedule_parse(&schedule, l->entry->name, NULL) == GS_OK)
        fprintf(file, "%s", l->entry->name);
    else if (suggestion > 0)
        fprintf(file, "cublaslt/%d", suggestion);
}

/* Replaces quotes and control characters, so that the line can be parsed. */
static void put_quoted(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) fputc(*text == '"' ? '\'' : (unsigned char)*text < ' ' ? ' ' : *text, file);
    fputc('"', file);
}

/* The verification of the last round's output. */
static const char *verified(const line *l)
{
    if (!l->entry->ran) return "failed";
    return l->entry->wrong ? "wrong" : "ok";
}

#define NUMBER(name, value) static void put_##name(FILE *file, const line *l) { put_number(file, value); }
NUMBER(device_us, l->entry->device_us)
NUMBER(ratio, l->entry->compared ? l->entry->ratio.median : NAN)
NUMBER(low, l->entry->compared ? l->entry->ratio.low : NAN)
NUMBER(high, l->entry->compared ? l->entry->ratio.high : NAN)
NUMBER(best_ratio, l->best ? l->best->median : NAN)
NUMBER(best_low, l->best ? l->best->low : NAN)
NUMBER(best_high, l->best ? l->best->high : NAN)
NUMBER(rounds, count_of(l, "rounds"))
NUMBER(calls, count_of(l, "calls"))
NUMBER(mhz_before, clock_of(l, "before"))
NUMBER(mhz_after, clock_of(l, "after"))
NUMBER(floor_us, l->row->floor_us)
NUMBER(call_us, l->entry->call_us)
NUMBER(call_p50, l->row->server ? l->entry->p50 : NAN)
NUMBER(call_p95, l->row->server ? l->entry->p95 : NAN)
NUMBER(call_p99, l->row->server ? l->entry->p99 : NAN)

static void put_problem(FILE *file, const line *l)
{
    char text[GS_PROBLEM_TEXT];
    const gs_problem own = gs_problem_in_layout(&l->row->problem, l->entry->layout[0] == 't' ? GS_TN : GS_NN);
    put_quoted(file, gs_problem_format(&own, text));
}

static void put_mode(FILE *file, const line *l)
{
    char mode[GS_RESULT_MODE];
    fprintf(file, "%s", gs_result_mode(l->row, mode));
}
static void put_cache(FILE *file, const line *l) { fprintf(file, "%s", text_of(l->row->json, "cache")); }
static void put_layout(FILE *file, const line *l) { fprintf(file, "%s", l->entry->layout); }
static void put_algorithm(FILE *file, const line *l) { put_quoted(file, l->entry->detail); }
static void put_is_best(FILE *file, const line *l) { fprintf(file, "%d", l->is_best); }
static void put_verified(FILE *file, const line *l) { fprintf(file, "%s", verified(l)); }
static void put_band(FILE *file, const line *l) { fprintf(file, "%d", l->row->band); }
static void put_message(FILE *file, const line *l) { put_quoted(file, l->entry->message); }
static void put_date(FILE *file, const line *l) { fprintf(file, "%s", text_of(l->row->json, "date")); }

/* legend: column name, function that writes it */
static const struct {
    const char *name;
    void (*put)(FILE *, const line *);
} columns[] = {
    {"problem", put_problem},     {"mode", put_mode},           {"cache", put_cache},         {"layout", put_layout},
    {"contender", put_contender}, {"choice", put_choice},       {"device_us", put_device_us}, {"ratio", put_ratio},
    {"low", put_low},             {"high", put_high},           {"is_best", put_is_best},     {"best_ratio", put_best_ratio},
    {"best_low", put_best_low},   {"best_high", put_best_high}, {"verified", put_verified},   {"rounds", put_rounds},
    {"calls", put_calls},         {"mhz_before", put_mhz_before}, {"mhz_after", put_mhz_after}, {"floor_us", put_floor_us},
    {"band", put_band},           {"call_us", put_call_us},     {"call_p50", put_call_p50},   {"call_p95", put_call_p95},
    {"call_p99", put_call_p99},   {"algorithm", put_algorithm}, {"message", put_message},     {"date", put_date},
};

static gs_status flush(gs_rows_file *rows, gs_error *error)
{
    if (fflush(rows->file) == 0 && !ferror(rows->file)) return GS_OK;
    return gs_fail_errno(error, errno, "rows", "cannot be written");
}

static void put_line(FILE *file, const line *l)
{
    for (size_t i = 0; i < GS_COUNT(columns); i++) {
        if (i > 0) fputc(',', file);
        columns[i].put(file, l);
    }
    fputc('\n', file);
}

/* Marks the two entries of `best`; if only one layout was measured, our fastest there and its reference. */
gs_status gs_rows_file_add(gs_rows_file *rows, const gs_result *row, gs_error *error)
{
    if (!rows->file) return GS_OK;
    int own = row->best_compared ? row->best_own : -1, reference = row->best_compared ? row->best_reference : -1;
    for (int i = 0; i < row->count && !row->best_compared; i++) {
        const gs_result_entry *const e = &row->entry[i];
        if (!e->own || !e->compared || (own >= 0 && e->device_us >= row->entry[own].device_us)) continue;
        own = i;
        for (int j = 0; j < row->count; j++)
            if (row->entry[j].reference && strcmp(row->entry[j].layout, e->layout) == 0) reference = j;
    }
    for (int i = 0; i < row->count; i++) {
        const line l = {
            .row = row, .entry = &row->entry[i], .json = json_array_get(json_object_get(row->json, "contenders"), (size_t)i),
            .best = own < 0 ? NULL : row->best_compared ? &row->best : &row->entry[own].ratio, .is_best = i == own || i == reference,
        };
        put_line(rows->file, &l);
    }
    return flush(rows, error);
}

/* ---- the file ---- */

static void put_head(FILE *file, const gs_device_session *session, bool columns_too)
{
    char date[GS_DATE_TEXT], driver[GS_CUDA_VERSION_TEXT], cublaslt[GS_CUDA_VERSION_TEXT], nvrtc[GS_CUDA_VERSION_TEXT];
    fprintf(file, "# %s, driver CUDA %s, cuBLASLt %s, NVRTC %s, gemmsmith %s %s, %s\n# %s\n", session->caps.name,
            gs_format_cuda_version(session->caps.driver, driver), gs_format_library_version(session->cublaslt, cublaslt),
            gs_format_cuda_version(session->nvrtc, nvrtc), session->session.version, session->session.commit, gs_date_format(date), session->command);
    for (size_t i = 0; columns_too && i < GS_COUNT(columns); i++) fprintf(file, "%s%s", i > 0 ? "," : "", columns[i].name);
    if (columns_too) fputc('\n', file);
}

gs_status gs_rows_file_open(gs_rows_file *rows, const char *path, bool again, const gs_device_session *session, gs_error *error)
{
    bool cut = false;
    *rows = (gs_rows_file){.path = path};
    if (!path) return GS_OK;
    GS_TRY(read_known(rows, path, &cut, error));
    if (again) free(rows->known), rows->known = NULL;
    const bool more = rows->known != NULL;
    GS_TRY(gs_file_stream(&rows->file, path, !again, error));
    setvbuf(rows->file, NULL, _IOFBF, BUFFER);   /* the lines of a problem are written together */
    if (cut) fputc('\n', rows->file);
    put_head(rows->file, session, !more);
    return flush(rows, error);
}

gs_status gs_rows_file_close(gs_rows_file *rows, gs_error *error)
{
    FILE *const file = rows->file;
    const char *const path = rows->path;
    free(rows->known);
    *rows = (gs_rows_file){0};
    return !file || fclose(file) == 0 ? GS_OK : gs_fail_errno(error, errno, path, "cannot be written");
}

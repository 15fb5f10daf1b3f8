/* SPDX-License-Identifier: MIT */
#include "report/training.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/csv.h"
#include "base/error.h"

enum { MOST_KEYS = 4 };

/* legend: series, names of the figure in trainers' logs (the first that an entry has counts; * is a wildcard) */
static const struct {
    const char *series, *key[MOST_KEYS];
} figures[] = {
    {"training/reward",   {"reward", "critic/rewards/mean", "critic/score/mean"}},
    {"training/passed",   {"gemmsmith/passed", "val-aux/*/passed/mean@*"}},
    {"training/best",     {"gemmsmith/best", "critic/rewards/max", "critic/score/max"}},
    {"training/distinct", {"gemmsmith/distinct"}},
    {"training/entropy",  {"entropy", "actor/entropy"}},
    {"training/kl",       {"kl", "actor/kl_loss", "actor/reward_kl_penalty"}},
    {"training/loss",     {"loss", "actor/pg_loss", "train/loss"}},
    {"training/check",    {"eval_loss", "val/loss"}},
    {"training/length",   {"completions/mean_length", "response_length/mean"}},
    {"training/gradient", {"grad_norm", "actor/grad_norm", "train/grad_norm"}},
};

/* ---- reading ---- */

/* Python writes NaN and Infinity, which JSON does not have: replaces them by null, except in strings. */
static json_t *parse(const char *text)
{
    static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
    gs_text plain = {0};
    bool string = false;
    for (const char *at = text; *at;) {
        size_t length = 1;
        bool word = false;
        for (size_t i = 0; i < GS_COUNT(words) && !string && !word; i++)
            if ((word = strncmp(at, words[i], strlen(words[i])) == 0)) length = strlen(words[i]);
        if (string && *at == '\\' && at[1]) length = 2;
        else if (*at == '"') string = !string;
        if (word) gs_text_add(&plain, "null");
        else gs_text_add_bytes(&plain, at, length);
        at += length;
    }
    json_t *const root = plain.failed ? NULL : json_loads(gs_text_string(&plain), 0, NULL);
    gs_text_free(&plain);
    return root;
}

static const json_t *value_of(const json_t *entry, const char *pattern)
{
    const char *key;
    json_t *value;
    if (!strchr(pattern, '*')) return json_object_get(entry, pattern);
    json_object_foreach((json_t *)entry, key, value)
        if (fnmatch(pattern, key, 0) == 0) return value;
    return NULL;
}

static gs_status add_figures(gs_curves *curves, const char *name, const json_t *entry, double step, gs_error *error)
{
    for (size_t i = 0; i < GS_COUNT(figures); i++) {
        const json_t *value = NULL;
        for (int k = 0; k < MOST_KEYS && figures[i].key[k] && !json_is_number(value); k++) value = value_of(entry, figures[i].key[k]);
        const double y = json_number_value(value);
        if (json_is_number(value) && isfinite(y)) GS_TRY(gs_curves_add(curves, figures[i].series, name, step, y, error));
    }
    return GS_OK;
}

/* false: not an entry of a log. */
static bool step_of(const json_t *entry, double *step)
{
    const json_t *const said = json_object_get(entry, "step");
    *step = json_number_value(said);
    return json_is_number(said) && isfinite(*step) && *step >= 0;
}

static gs_status add_entry(gs_curves *curves, const char *name, const json_t *entry, int *read, int *unread, gs_error *error)
{
    const json_t *const data = json_object_get(entry, "data");
    double step;
    if (!step_of(entry, &step)) {
        ++*unread;
        return GS_OK;
    }
    ++*read;
    return add_figures(curves, name, json_is_object(data) ? data : entry, step, error);
}

static gs_status add_lines(gs_curves *curves, const char *name, const char *text, int *read, int *unread, gs_error *error)
{
    char *const copy = strdup(text);
    gs_status status = copy ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a log");
    for (char *at = copy, *line; status == GS_OK && (line = gs_csv_line(&at));) {
        if (line[strspn(line, " \t\r")] == '\0') continue;
        json_t *const entry = parse(line);
        status = add_entry(curves, name, entry, read, unread, error);
        json_decref(entry);
    }
    free(copy);
    return status;
}

gs_status gs_training_read(gs_curves *curves, const char *name, const char *text, int *unread, gs_error *error)
{
    json_t *const root = parse(text);
    const json_t *const history = json_object_get(root, "log_history");
    int read = 0;
    gs_status status = GS_OK;
    if (json_is_array(history))
        for (size_t i = 0; i < json_array_size(history) && status == GS_OK; i++)
            status = add_entry(curves, name, json_array_get(history, i), &read, unread, error);
    else
        status = add_lines(curves, name, text, &read, unread, error);
    json_decref(root);
    if (status == GS_OK && read == 0) status = gs_fail(error, GS_ERROR_CORRUPT, "log", "no entry of a trainer's log");
    return status;
}

/* An object with log_history; or a first line with a step, which rows of eval do not have. */
bool gs_training_is(const char *text)
{
    double step;
    json_t *root = strstr(text, "\"log_history\"") ? parse(text) : NULL;
    bool is = json_is_array(json_object_get(root, "log_history"));
    json_decref(root);
    if (is || *text != '{') return is;
    char *const first = strndup(text, strcspn(text, "\n"));
    root = first ? parse(first) : NULL;
    is = step_of(root, &step) && !json_object_get(root, "problem");
    json_decref(root);
    free(first);
    return is;
}

/* The last folder of the path that is not a checkpoint; NULL: none. Truncates the path. */
static const char *folder_of(char *path)
{
    for (char *slash; (slash = strrchr(path, '/'));) {
        *slash = '\0';
        char *const before = strrchr(path, '/'), *const name = before ? before + 1 : path;
        if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strncmp(name, "checkpoint", 10) != 0) return name;
    }
    return NULL;
}

void gs_training_name(char name[GS_CURVE_NAME], const char *path)
{
    static const char *const alike[] = {"trainer_state.json", "log.jsonl"};   /* names that all runs use */
    char copy[1024];
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path, *run = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (size_t i = 0; i < GS_COUNT(alike) && !run; i++)
        if (strcmp(file, alike[i]) == 0) run = folder_of(copy);
    const char *const dot = strrchr(file, '.');
    if (run) snprintf(name, GS_CURVE_NAME, "%s", run);
    else snprintf(name, GS_CURVE_NAME, "%.*s", dot && dot > file ? (int)(dot - file) : (int)strlen(file), file);
    if (!*name) snprintf(name, GS_CURVE_NAME, "run");
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* SPDX-License-Identifier: MIT */
#include "dataset/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "store/store.h"
#include "train/train.h"
#include "verdict/verdict.h"

enum { MOST_BYTES = 1 << 30 };   /* of a file of rows */

#define LIBRARY "cublaslt/1"   /* in the place of a schedule: the time of cuBLASLt's first suggestion */

/* key: identifies the group. Schedules that are no longer valid for the problem are skipped, because grammars change. false: no memory. */
static bool take(gs_sample_set *s, const char *key, const char *problem, const char *schedule, double us)
{
    gs_sample sample = {.us = us, .library = strcmp(schedule, LIBRARY) == 0};
    if (gs_problem_parse(&sample.problem, problem, NULL) != GS_OK) return true;
    if (!sample.library && gs_schedule_parse(&sample.schedule, schedule, NULL) != GS_OK) return true;
    if (!sample.library && gs_schedule_check(&sample.schedule, &sample.problem, s->caps, NULL) != GS_OK) return true;
    s->failed = !gs_grow(&s->list, s->count, &s->capacity, sizeof *s->list);
    if (s->failed) return false;
    if (strcmp(key, s->key) != 0) s->group++;
    snprintf(s->key, sizeof s->key, "%s", key);
    sample.group = s->group;
    s->list[s->count++] = sample;
    return true;
}

static bool take_trial(void *self, const gs_trial *trial)
{
    gs_sample_set *const s = self;
    char key[sizeof s->key];
    if (!(trial->us > 0) || !isfinite(trial->us) || (!gs_verdict_passed(trial->verdict) && trial->verdict[0] != '\0')) return true;
    snprintf(key, sizeof key, "%s %s %d", trial->problem, trial->version, s->store);
    return take(s, key, trial->problem, trial->candidate, trial->us);
}

#define ROWS "group,problem,schedule,us\n"

gs_status gs_sample_set_parse(gs_sample_set *s, const char *name, char *text, gs_error *error)
{
    int line = 1;
    if (strncmp(text, ROWS, strlen(ROWS)) != 0) return gs_fail(error, GS_ERROR_CORRUPT, "rows", "%.200s does not begin with 'group,problem,schedule,us'", name);
    for (char *at = text + strlen(ROWS), *row; (row = gs_csv_line(&at));) {
        char *field[4], key[sizeof s->key];
        double us;
        const int fields = gs_csv_split(row, field, 4);
        line++;
        gs_scan scan = gs_scan_from(fields == 4 ? field[3] : "");
        if (!gs_scan_double(&scan, &us) || !gs_scan_end(&scan) || !(us > 0) || !isfinite(us))
            return gs_fail(error, GS_ERROR_CORRUPT, "rows", "%.200s, line %d: not 'group,problem,schedule,us'", name, line);
        snprintf(key, sizeof key, "%.60s %d", field[0], s->store);
        if (!take(s, key, field[1], field[2], us)) break;
    }
    return GS_OK;
}

static int by_group(const void *left, const void *right)
{
    const gs_sample *const a = left, *const b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->library != b->library) return a->library ? 1 : -1;
    return memcmp(&a->schedule, &b->schedule, sizeof a->schedule);
}

static gs_status read_store(gs_sample_set *s, const char *gpu, const char *path, gs_error *error)
{
    gs_store *store;
    GS_TRY(gs_store_open_read(&store, path, error));
    const gs_status status = gs_store_trials(store, gpu, NULL, take_trial, s, error);
    gs_store_close(&store);
    return status;
}

static bool is_rows(const char *path)
{
    char head[sizeof ROWS];
    FILE *const file = fopen(path, "r");
    const bool rows = file && fgets(head, sizeof head, file) && strcmp(head, ROWS) == 0;
    if (file) fclose(file);
    return rows;
}

static gs_status read_file(gs_sample_set *s, const char *gpu, const char *path, gs_error *error)
{
    char *text = NULL;
    size_t size;
    gs_status status = GS_OK;
    if (gs_store_is_server(path)) return read_store(s, gpu, path, error);
    if (!gs_file_exists(path)) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%.200s: no such file", path);
    GS_TRY(gs_file_need_regular(path, error));   /* a pipe would lose the bytes that were read to detect the format */
    if (gs_suggestion_set_is(path)) return gs_suggestion_set_read(&s->suggestions, path, error);
    if (is_rows(path)) {
        GS_TRY(gs_file_read(path, MOST_BYTES, &text, &size, error));
        status = gs_sample_set_parse(s, path, text, error);
    } else {
        status = read_store(s, gpu, path, error);
    }
    free(text);
    if (status == GS_OK && s->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", s->count);
    return status;
}

gs_status gs_sample_set_read(gs_sample_set *s, const char *gpu, char *const *paths, int count, gs_error *error)
{
    for (s->store = 0; s->store < count; s->store++) GS_TRY(read_file(s, gpu, paths[s->store], error));
    if (s->count > 1) qsort(s->list, (size_t)s->count, sizeof *s->list, by_group);
    return GS_OK;
}

gs_status gs_sample_set_write(const gs_sample_set *s, const char *path, gs_error *error)
{
    gs_text text = {0};
    char problem[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    gs_text_add(&text, ROWS);
    for (int i = 0; i < s->count; i++)
        gs_text_addf(&text, "%d,%s,%s,%.5g\n", s->list[i].group, gs_problem_format(&s->list[i].problem, problem),
                     s->list[i].library ? LIBRARY : gs_schedule_format(&s->list[i].schedule, schedule),
                     s->list[i].us);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d rows", s->count) : gs_file_write(path, text.data, text.size, error);
    gs_text_free(&text);
    return status;
}

gs_status gs_sample_set_hold_out(gs_sample_set *s, int of, int *kept, gs_error *error)
{
    gs_sample *const sorted = malloc(((size_t)s->count + 1) * sizeof *sorted);
    *kept = 0;
    if (!sorted) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to sort %d times", s->count);
    for (int pass = 0, at = 0; pass < 2; pass++) {
        for (int i = 0; i < s->count; i++)
            if (gs_train_held_out(&s->list[i].problem, of) == (pass == 1)) sorted[at++] = s->list[i];
        if (pass == 0) *kept = at;
    }
    free(s->list);
    s->list = sorted;
    return gs_suggestion_set_hold_out(&s->suggestions, of, error);
}

void gs_sample_set_free(gs_sample_set *s)
{
    free(s->list);
    s->list = NULL;
    s->count = s->capacity = 0;
    gs_suggestion_set_free(&s->suggestions);
}

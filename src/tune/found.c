/* SPDX-License-Identifier: MIT
 * Results of searches in the store: one per device, version of the kernels and problem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "tune/run.h"

static void search_key(const gs_session *session, const char *problem, gs_text *key)
{
    gs_text_addf(key, "search 1 %s %s %s", session->device, session->version, problem);
}

/* Parses "schedule us"; false also if the grammar no longer has the schedule's words. */
static bool parse_found(const char *value, gs_schedule *schedule, double *us)
{
    char text[GS_SCHEDULE_TEXT];
    const size_t length = strcspn(value, " ");
    if (length >= sizeof text) return false;
    memcpy(text, value, length);
    text[length] = '\0';
    gs_scan scan = gs_scan_from(value[length] ? value + length + 1 : "");
    return gs_scan_double(&scan, us) && gs_schedule_parse(schedule, text, NULL) == GS_OK;
}

typedef struct founds {
    gs_found *list;
    int       count, capacity;
    size_t    prefix;
    bool      failed;
} founds;

static bool add_found(void *self, const char *key, const char *value)
{
    founds *const f = self;
    double us;
    f->failed = !gs_grow(&f->list, f->count, &f->capacity, sizeof *f->list);
    if (f->failed) return false;
    gs_found *const found = &f->list[f->count];
    const char *const problem = strchr(key + f->prefix, ' ');   /* after the version */
    f->count += problem && gs_problem_parse(&found->problem, problem + 1, NULL) == GS_OK && parse_found(value, &found->schedule, &us);
    return true;
}

gs_status gs_run_found(gs_store *store, const gs_session *session, gs_found **out, int *count, gs_error *error)
{
    char prefix[128];
    snprintf(prefix, sizeof prefix, "search 1 %s ", session->device);
    founds f = {.prefix = strlen(prefix)};
    gs_status status = gs_store_results(store, prefix, add_found, &f, error);
    if (status == GS_OK && f.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was found");
    if (status != GS_OK) free(f.list), f = (founds){0};
    *out = f.list;
    *count = f.count;
    return status;
}

gs_status gs_run_find_search(gs_store *store, const gs_session *session, const char *problem, gs_schedule *schedule, double *us, bool *found,
                             gs_error *error)
{
    gs_text key = {0};
    char *value = NULL;
    gs_error why = {0};
    search_key(session, problem, &key);
    const gs_status status = key.failed ? gs_fail(&why, GS_ERROR_MEMORY, NULL, "no memory for what was found") : gs_store_result_get(store, gs_text_string(&key), &value, &why);
    gs_text_free(&key);
    *found = false;
    if (status == GS_OK) *found = parse_found(value, schedule, us);
    free(value);
    if (status == GS_OK || status == GS_ERROR_NOT_FOUND) return GS_OK;
    if (error) *error = why;
    return status;
}

gs_status gs_run_keep_search(const gs_run *run, const gs_candidate *best, gs_error *error)
{
    gs_text key = {0}, value = {0};
    search_key(run->evaluator.session, run->evaluator.text, &key);
    gs_text_addf(&value, "%s %.4f", best->text, best->us);
    const gs_status status = key.failed || value.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was found")
                                                        : gs_store_result_put(run->evaluator.store, run->evaluator.session, key.data, value.data, error);
    gs_text_free(&key);
    gs_text_free(&value);
    return status;
}

#define SAME 1.01   /* times within 1 % count as equal */

typedef struct fastest {
    const char *version;    /* only trials of these kernel sources count */
    char        text[GS_SCHEDULE_TEXT];
    double      us, ratio;  /* with the bonus below */
} fastest;

static bool find_fastest(void *self, const gs_trial *trial)
{
    fastest *const f = self;
    if (gs_verdict_find(trial->verdict) != GS_VERDICT_PASS || !(trial->us > 0) || strlen(trial->candidate) >= sizeof f->text) return true;
    gs_schedule schedule;   /* must parse: user kernels do not count */
    if (strcmp(trial->version, f->version) != 0 || gs_schedule_parse(&schedule, trial->candidate, NULL) != GS_OK) return true;
    /* a confirmed time gets a bonus of SAME, so that it beats an equal time of a single race */
    const double edge = strcmp(trial->stage, gs_stage_name(GS_STAGE_CONFIRM)) == 0 ? SAME : 1, us = trial->us / edge, ratio = trial->ratio * edge;
    if (f->us > 0 && (ratio < f->ratio || (ratio == f->ratio && us >= f->us))) return true;
    f->us = us;
    f->ratio = ratio;
    memcpy(f->text, trial->candidate, strlen(trial->candidate) + 1);
    return true;
}

gs_status gs_tune_best_own(gs_store *store, const gs_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT], gs_error *error)
{
    char name[GS_PROBLEM_TEXT];
    gs_schedule schedule;
    double us;
    bool found;
    text[0] = '\0';
    GS_TRY(gs_run_find_search(store, session, gs_problem_format(problem, name), &schedule, &us, &found, error));
    if (found) {
        gs_schedule_format(&schedule, text);
        return GS_OK;
    }
    fastest f = {.version = session->version};
    GS_TRY(gs_store_trials(store, session->device, name, find_fastest, &f, error));
    memcpy(text, f.text, sizeof f.text);
    return GS_OK;
}

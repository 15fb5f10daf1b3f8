/* SPDX-License-Identifier: MIT */
#include "compare/own.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "compare/json.h"
#include "base/file.h"
#include "problem/layout.h"
#include "schedule/schedule.h"
#include "tune/tune.h"
#include "verify/verify.h"

#define FILE_LIMIT (64u << 20)

/* ---- reading ---- */

/* Ignores `constant`: a schedule for a problem is the same whether B is constant or not. */
static bool same_problem(const gs_problem *a, const gs_problem *b)
{
    char x[GS_PROBLEM_TEXT], y[GS_PROBLEM_TEXT];
    gs_problem varying = *b;
    varying.constant = a->constant;
    return strcmp(gs_problem_format(a, x), gs_problem_format(&varying, y)) == 0;
}

static gs_status add_choice(gs_own_list *choices, const gs_problem *problem, const char *schedule, gs_error *error)
{
    gs_schedule parsed;
    int at = 0;
    if (gs_library_parse(schedule) > 0) return GS_OK;
    GS_TRY(gs_schedule_parse(&parsed, schedule, error));
    while (at < choices->count && !same_problem(&choices->list[at].problem, problem)) at++;
    if (!gs_grow(&choices->list, at, &choices->capacity, sizeof *choices->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no room for %d schedules", at + 1);
    if (at == choices->count) choices->count++;
    choices->list[at].problem = *problem;
    gs_schedule_format(&parsed, choices->list[at].schedule);
    return GS_OK;
}

/* Reads a line of tune --json. */
static gs_status add_json(gs_own_list *choices, const char *line, gs_error *error)
{
    json_t *const json = json_loads(line, 0, NULL);
    const char *const name = json_string_value(json_object_get(json, "problem"));
    const char *const schedule = json_string_value(json_object_get(json, "best_own"));
    gs_problem problem;
    gs_status status = name && schedule ? gs_problem_parse(&problem, name, error)
                                        : gs_fail(error, GS_ERROR_PARSE, NULL, "not an object with problem and best_own");
    if (status == GS_OK && *schedule) status = add_choice(choices, &problem, schedule, error);
    json_decref(json);
    return status;
}

static gs_status add_line(gs_own_list *choices, char *line, gs_error *error)
{
    static const char blanks[] = " \t\r";
    gs_problem problem;
    char *rest = NULL;
    if (*line == '{') return add_json(choices, line, error);
    line[strcspn(line, "#")] = '\0';
    const char *const name = strtok_r(line, blanks, &rest), *const schedule = strtok_r(NULL, blanks, &rest);
    if (!name || strcmp(name, "gemmsmith-tuned") == 0) return GS_OK;
    if (!schedule) return gs_fail(error, GS_ERROR_PARSE, NULL, "%.80s: a problem and a schedule are expected", name);
    GS_TRY(gs_problem_parse(&problem, name, error));
    return add_choice(choices, &problem, schedule, error);
}

gs_status gs_own_list_read(gs_own_list *choices, const char *path, char where[GS_OWN_WHERE], gs_error *error)
{
    char *data;
    size_t size;
    where[0] = '\0';
    *choices = (gs_own_list){.from_file = path != NULL};
    if (!path) return GS_OK;
    GS_TRY(gs_file_read(path, FILE_LIMIT, &data, &size, error));
    gs_status status = GS_OK;
    int number = 0;
    for (char *line = data, *next; line && status == GS_OK; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        number++;
        status = add_line(choices, line, error);
    }
    free(data);
    if (status != GS_OK) snprintf(where, GS_OWN_WHERE, "%s line %d", path, number);
    if (status != GS_OK) gs_own_list_free(choices);
    return status;
}

void gs_own_list_free(gs_own_list *choices)
{
    free(choices->list);
    *choices = (gs_own_list){0};
}

gs_status gs_own_list_find(const gs_own_list *choices, const gs_device_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT],
                            gs_error *error)
{
    text[0] = '\0';
    if (!choices->from_file) return gs_tune_best_own(session->store, &session->session, problem, text, error);
    for (int i = 0; i < choices->count && !text[0]; i++)
        if (same_problem(&choices->list[i].problem, problem)) snprintf(text, GS_SCHEDULE_TEXT, "%s", choices->list[i].schedule);
    return GS_OK;
}

/* ---- recording ---- */

static int own_of(const gs_result *row, const char *layout)
{
    for (int i = 0; i < row->count; i++)
        if (row->entry[i].own && strcmp(row->entry[i].layout, layout) == 0) return i;
    return -1;
}

static int64_t int_of(const json_t *object, const char *name) { return json_integer_value(json_object_get(object, name)); }

static gs_status put_trial(gs_device_session *session, const gs_problem *problem, const gs_confirmed *c, bool wrong, gs_error *error)
{
    const gs_resources resources = gs_schedule_resources(&c->schedule, problem, &session->caps);
    gs_trial trial = {.registers = resources.registers, .smem = resources.smem,
                      .predicted_us = gs_schedule_predict(&c->schedule, problem, &session->caps)};
    gs_problem_format(problem, trial.problem);
    gs_schedule_format(&c->schedule, trial.candidate);
    if (wrong) {
        snprintf(trial.verdict, sizeof trial.verdict, "%s", gs_verdict_name(GS_VERDICT_TIMED));
        snprintf(trial.reason, sizeof trial.reason, "%s", gs_verdict_text(GS_VERDICT_TIMED));
        return gs_store_put(session->store, &session->session, &trial, error);
    }
    snprintf(trial.stage, sizeof trial.stage, "confirm");
    trial.us = c->us;
    trial.library_us = c->library_us;
    trial.ratio = c->ratio.median;
    trial.low = c->ratio.low;
    trial.high = c->ratio.high;
    trial.rounds = c->rounds;
    trial.mhz = c->mhz;
    return gs_store_put(session->store, &session->session, &trial, error);
}

/* Whether the reference failed because of the problem: it has no algorithm, or a wrong result. Other failures say nothing about the problem. */
static bool computes_nothing_right(const json_t *reply)
{
    return json_is_true(json_object_get(reply, "wrong")) || strcmp(gs_compare_string(reply, "status"), gs_status_name(GS_ERROR_UNSUPPORTED)) == 0;
}

static const json_t *reply_of(const gs_result *row, int entry) { return json_array_get(json_object_get(row->json, "contenders"), (size_t)entry); }

/* The reference entry; with groups, the one that ours was compared with. If no reference computed the problem, one that failed for an unrelated reason is
 * preferred. */
static int reference_of(const gs_result *row, const char *layout)
{
    int found = -1;
    for (int i = 0; i < row->count; i++) {
        const gs_result_entry *const e = &row->entry[i];
        const bool may_be = row->problem.groups ? gs_result_is_reference_of_groups(e->name) : strcmp(e->name, GS_RESULT_REFERENCE) == 0;
        if (!may_be || strcmp(e->layout, layout) != 0) continue;
        if (e->reference) return i;
        if (found < 0 || computes_nothing_right(reply_of(row, found))) found = i;
    }
    return found;
}

static gs_status record_layout(gs_device_session *session, const gs_result *row, gs_layout layout, const char *table, gs_error *error)
{
    const char *const name = gs_layout_name(gs_layout_with_b(row->problem.layout, layout));
    const int own = own_of(row, name), reference = reference_of(row, name);
    const bool emulated = session->caps.emulated;
    const gs_result_entry *const ours = own >= 0 ? &row->entry[own] : NULL, *const theirs = reference >= 0 ? &row->entry[reference] : NULL;
    const json_t *const reply = reference >= 0 ? reply_of(row, reference) : NULL;
    const bool alone = !emulated && reply && computes_nothing_right(reply);
    if (!emulated && !alone && (!theirs || !theirs->ran || isnan(theirs->device_us))) return GS_OK;   /* there is nothing to compare with */
    const json_t *const clocks = json_object_get(json_object_get(row->json, "clocks"), "after");
    gs_problem problem = gs_problem_in_layout(&row->problem, layout);
    gs_confirmed c = {.rounds = (int)int_of(row->json, "rounds"), .mhz = (int)int_of(clocks, "sm_mhz"), .alone = alone};
    if (theirs && !alone) c.library_us = theirs->device_us;
    if (reply) c.suggestion = (int)int_of(reply, "suggestion");
    const bool parsed = ours && gs_schedule_parse(&c.schedule, ours->name, NULL) == GS_OK;
    const bool timed = parsed && ours->ran && !ours->wrong && ours->device_us > 0 && (emulated || alone || ours->compared);
    if (timed) {
        const double share = row->floor_us / ours->device_us;
        c.us = ours->device_us;
        if (!alone) c.ratio = emulated ? (gs_ratio){share, share, share, GS_UNCLEAR} : ours->ratio;
    }
    if (timed || (parsed && ours->wrong)) GS_TRY(put_trial(session, &problem, &c, ours->wrong, error));
    if ((emulated || alone) && !timed) return GS_OK;
    gs_row out;
    return gs_tune_record(session->store, &session->session, &session->caps, &problem, &c, table, &out, error);
}

gs_status gs_own_record(gs_device_session *session, const gs_result *row, const char *table, gs_error *error)
{
    for (gs_layout layout = GS_NN; layout <= GS_TN; layout++) {
        const char *const name = gs_layout_name(gs_layout_with_b(row->problem.layout, layout));
        if (own_of(row, name) < 0 && reference_of(row, name) < 0) continue;
        GS_TRY(record_layout(session, row, layout, table, error));
    }
    return GS_OK;
}

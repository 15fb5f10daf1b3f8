/* SPDX-License-Identifier: MIT
 * A race is one job: its text names each schedule once, in canonical form. Schedules with an invalid text are answered here and do not take part. */
#include "service/race.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "schedule/schedule.h"
#include "service/reply.h"
#include "service/screen.h"

/* The parsed request. For each schedule: its index in the race, or the answer that it has already. */
typedef struct asked {
    gs_service_request request;   /* the race; no item if no schedule takes part */
    int                count, racing;
    int               *place;
    char             **answer;
    char             (*racer)[GS_SCHEDULE_TEXT];
} asked;

static void free_asked(asked *a)
{
    for (int i = 0; a->answer && i < a->count; i++) free(a->answer[i]);
    free(a->answer);
    free(a->place);
    free(a->racer);
    gs_service_request_free(&a->request);
}

/* ---- reading ---- */

static int place_of(asked *a, const char *text)
{
    for (int i = 0; i < a->racing; i++)
        if (strcmp(a->racer[i], text) == 0) return i;
    memcpy(a->racer[a->racing], text, strlen(text) + 1);
    return a->racing++;
}

static gs_status take_schedule(asked *a, int index, const json_t *value, const gs_problem *problem, const gs_service_terms *terms, gs_error *error)
{
    const char *const text = json_string_value(value);
    char canonical[GS_SCHEDULE_TEXT];
    gs_schedule schedule;
    bool refused;
    if (!text || json_string_length(value) != strlen(text)) return gs_fail(error, GS_ERROR_PARSE, "schedules", "entry %d must be a text", index);
    if (!*text || strlen(text) > GS_SERVICE_SCHEDULE) return gs_fail(error, GS_ERROR_RANGE, "schedules", "entry %d must have from 1 to %d bytes", index, GS_SERVICE_SCHEDULE);
    a->place[index] = -1;
    GS_TRY(gs_service_screen_candidate(&a->answer[index], &refused, problem, terms->caps, text, NULL, NULL, error));
    if (refused) return GS_OK;
    GS_TRY(gs_schedule_parse(&schedule, text, error));
    a->place[index] = place_of(a, gs_schedule_format(&schedule, canonical));
    return GS_OK;
}

static gs_status read_schedules(asked *a, const json_t *list, const gs_problem *problem, const gs_service_terms *terms, gs_error *error)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count < 1 || count > GS_SERVICE_RACERS)
        return gs_fail(error, json_is_array(list) ? GS_ERROR_RANGE : GS_ERROR_PARSE, "schedules", "must be a list of 1 to %d schedules", GS_SERVICE_RACERS);
    a->place = calloc(count, sizeof *a->place);
    a->answer = calloc(count, sizeof *a->answer);
    a->racer = calloc(count, sizeof *a->racer);
    if (!a->place || !a->answer || !a->racer) return gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for %zu schedules", count);
    a->count = (int)count;
    for (int i = 0; i < a->count; i++) GS_TRY(take_schedule(a, i, json_array_get(list, (size_t)i), problem, terms, error));
    return GS_OK;
}

static gs_status read_race(asked *a, const json_t *root, const gs_service_terms *terms, gs_error *error)
{
    gs_problem problem;
    gs_reward_kind kind;
    bool alone;
    GS_TRY(gs_service_race_head(root, &a->request, &problem, &kind, &alone, terms, error));
    GS_TRY(read_schedules(a, json_object_get(root, "schedules"), &problem, terms, error));
    a->request.item = calloc(1, sizeof *a->request.item);
    if (!a->request.item) return gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for a race");
    a->request.count = 1;
    a->request.item[0].problem = problem;
    a->request.item[0].reward = kind;
    if (a->racing == 0) return GS_OK;
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    char named[GS_PROBLEM_TEXT];
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", gs_problem_format(&problem, named));
    gs_json_begin(&json, "race", '[');
    for (int i = 0; i < a->racing; i++) gs_json_string(&json, NULL, a->racer[i]);
    gs_json_end(&json, ']');
    if (alone) gs_json_bool(&json, "alone", true);
    gs_json_end(&json, '}');
    return gs_service_item_take(&a->request.item[0], &text, terms, error);
}

/* ---- answering ---- */

static void set_reward(json_t *entry, gs_reward_kind kind)
{
    json_t *const reward = json_object_get(json_object_get(entry, "rewards"), gs_reward_name(kind));
    json_object_set_new(entry, "reward", reward ? json_deep_copy(reward) : json_null());
}

/* The job's answer, with an entry for each requested schedule, in order. */
static json_t *reply(const asked *a, const gs_service_found *found, bool stopping)
{
    const gs_service_item *const item = &a->request.item[0];
    char problem[GS_PROBLEM_TEXT];
    json_t *const out = item->request ? gs_service_reply_result(item->id, found, item->reward, true, stopping)
                                      : json_pack("{s:n, s:s, s:s}", "id", "state", "done", "problem", gs_problem_format(&item->problem, problem));
    if (!out || (item->request && !json_object_get(out, "race"))) return out;   /* not done, or without a result */
    json_t *const list = json_array(), *const race = json_object_get(out, "race");
    for (int i = 0; i < a->count; i++) {
        json_t *const entry = a->place[i] >= 0 ? json_deep_copy(json_array_get(race, (size_t)a->place[i])) : json_loads(a->answer[i], 0, NULL);
        json_object_del(entry, "problem");
        set_reward(entry, item->reward);
        json_array_append_new(list, entry);
    }
    json_object_set_new(out, "race", list);
    json_object_set_new(out, "reward_kind", json_string(gs_reward_name(item->reward)));
    json_object_del(out, "reward");
    return out;
}

static int run(json_t **out, asked *a, gs_service_jobs *jobs, const gs_service_caller *caller, gs_error *error)
{
    gs_service_found found = {0};
    const int64_t until = gs_clock_ns() + (int64_t)(a->request.deadline_s * 1e9);
    a->request.expires = gs_service_jobs_expiry(a->request.deadline_s);
    if (a->racing > 0) {
        const gs_status status = gs_service_jobs_accept(jobs, &a->request, &found, error);
        if (status != GS_OK) return gs_service_reply_status(status);
        caller->wait(caller->self, &found, 1, until);
    }
    const bool stopping = gs_service_jobs_stopping(jobs);
    const int code = a->racing > 0 && !found.answer && stopping ? 503 : 200;
    *out = reply(a, &found, stopping);
    gs_service_found_free(jobs, &found);
    if (*out) return code;
    gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    return 503;
}

int gs_service_race(json_t **out, gs_service_jobs *jobs, const char *body, size_t size, const gs_service_terms *terms, const gs_service_caller *caller, gs_error *error)
{
    asked a = {.request.deadline_s = terms->deadline_s};
    json_t *root;
    *out = NULL;
    gs_status status = gs_service_json_read(&root, body, size, 0, error);
    if (status != GS_OK) return gs_service_reply_status(status);
    status = read_race(&a, root, terms, error);
    const int code = status == GS_OK ? run(out, &a, jobs, caller, error) : gs_service_reply_status(status);
    json_decref(root);
    free_asked(&a);
    return code;
}

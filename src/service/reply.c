/* SPDX-License-Identifier: MIT */
#include "service/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"

int gs_service_reply_status(gs_status status)
{
    switch (status) {
    case GS_OK:                return 200;
    case GS_ERROR_ARGUMENT:
    case GS_ERROR_PARSE:
    case GS_ERROR_RANGE:
    case GS_ERROR_UNSUPPORTED: return 400;
    case GS_ERROR_NOT_FOUND:   return 404;
    case GS_ERROR_CORRUPT:     return 409;
    case GS_ERROR_TIMEOUT:     return 429;
    case GS_ERROR_DISK_FULL:   return 507;
    default:                   return 503;
    }
}

json_t *gs_service_reply_error(int http, const gs_error *error)
{
    json_t *const what = json_pack("{s:i, s:s, s:s?, s:s?}", "status", http, "code", gs_status_name(error->status), "field",
                                   error->field[0] ? error->field : NULL, "reason", error->text);
    return json_pack("{s:o*}", "error", what);
}

/* Every result has the field metrics; here it is null, with a note. */
static void without_metrics(json_t *out, const char *why)
{
    if (!out || json_object_get(out, "metrics")) return;
    json_object_set_new(out, "metrics", json_null());
    json_object_set_new(out, "metrics_note", json_string(why));
}

static json_t *unfinished(const char *id, const gs_service_found *found, bool waited, bool stopping)
{
    json_t *const out = json_pack("{s:s, s:s}", "id", id, "state", found->running ? "running" : "queued");
    if (!waited) return out;
    json_object_set_new(out, "verdict", json_string(stopping ? "stopping" : "deadline"));
    json_object_set_new(out, "reward", json_null());
    without_metrics(out, "none: it is not done");
    json_object_set_new(out, "reason", json_string(stopping ? "the service stops; it goes on with this when it is started again"
                                                            : "the evaluation goes on: GET /v1/result/<id> has it later"));
    return out;
}

json_t *gs_service_reply_result(const char *id, const gs_service_found *found, gs_reward_kind kind, bool waited, bool stopping)
{
    if (!found->answer) return unfinished(id, found, waited, stopping);
    json_t *const out = json_loads(found->answer, 0, NULL);
    if (!json_is_object(out)) {
        json_decref(out);
        return NULL;
    }
    json_t *const reward = json_object_get(json_object_get(out, "rewards"), gs_reward_name(kind));
    json_object_set_new(out, "id", json_string(id));
    json_object_set_new(out, "state", json_string("done"));
    if (!json_object_get(out, "race")) without_metrics(out, "none: nothing is said of the candidate");
    json_object_set_new(out, "reward", reward ? json_deep_copy(reward) : json_null());
    json_object_set_new(out, "reward_kind", json_string(gs_reward_name(kind)));
    return out;
}

json_t *gs_service_reply_item(const gs_service_item *item, const gs_service_found *found, gs_reward_kind kind, bool waited, bool stopping)
{
    if (item->request) return gs_service_reply_result(item->id, found, kind, waited, stopping);
    if (!item->answer) return gs_service_reply_no_candidate(item);
    json_t *const out = gs_service_reply_result("", &(gs_service_found){.answer = item->answer}, kind, waited, stopping);
    if (out) json_object_set_new(out, "id", json_null());   /* it is not stored */
    return out;
}

json_t *gs_service_reply_no_candidate(const gs_service_item *item)
{
    char problem[GS_PROBLEM_TEXT];
    json_t *const rewards = json_object();
    for (int kind = 0; kind < GS_REWARDS; kind++) json_object_set_new(rewards, gs_reward_name((gs_reward_kind)kind), json_real(-1));
    return json_pack("{s:n, s:s, s:s, s:s, s:s, s:s, s:n, s:s, s:f, s:s, s:o}", "id", "state", "done", "problem", gs_problem_format(&item->problem, problem), "verdict", "text", "stage", "text",
                     "reason", item->fault ? item->fault : "no candidate: write a block named schedule, or one named cuda and one named manifest", "metrics", "metrics_note",
                     "none: there is no candidate", "reward", -1.0, "reward_kind", gs_reward_name(item->reward),
                     "rewards", rewards);
}

json_t *gs_service_reply_health(gs_service_jobs *jobs, double uptime_s, bool all)
{
    gs_service_device device[GS_SERVICE_DEVICES];
    int running;
    const int open = gs_service_jobs_open(jobs, &running), count = gs_service_jobs_devices(jobs, device);
    bool well = false;
    json_t *const list = json_array();
    for (int i = 0; i < count; i++) {
        well |= !device[i].failing;
        json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", device[i].name, "state", device[i].failing ? "failing" : device[i].busy ? "busy" : "idle",
                                              "done", (json_int_t)device[i].done));
    }
    json_t *const out = json_pack("{s:b}", "ok", well);
    if (all)
        json_object_update_new(out, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:O}", "version", gs_version(), "device", gs_service_jobs_slug(jobs), "kernels",
                                              gs_service_jobs_version(jobs), "queued", open - running, "running", running, "uptime_s", uptime_s, "devices", list));
    json_decref(list);
    return out;
}

json_t *gs_service_reply_grammar(void)
{
    json_t *const families = json_array();
    for (int f = 0; f < GS_FAMILIES; f++) {
        json_t *const parameters = json_array();
        for (int i = 0; i < gs_family_parameters((gs_family_id)f); i++) {
            const gs_parameter *const parameter = gs_family_parameter((gs_family_id)f, i);
            json_t *const values = json_array();
            for (int w = 0; w < parameter->count; w++) json_array_append_new(values, json_string(parameter->values[w].text));
            json_array_append_new(parameters, json_pack("{s:s, s:o, s:b}", "name", parameter->name, "values", values, "optional", parameter->optional));
        }
        json_array_append_new(families, json_pack("{s:s, s:s, s:o}", "name", gs_family_name((gs_family_id)f), "summary", gs_family_summary((gs_family_id)f), "parameters", parameters));
    }
    return json_pack("{s:o}", "families", families);
}

/* ---- metrics ---- */

static void metric(gs_text *out, const char *name, const char *kind, const char *help, double value)
{
    gs_text_addf(out, "# HELP gemmsmith_%s %s\n# TYPE gemmsmith_%s %s\ngemmsmith_%s %.15g\n", name, help, name, kind, name, value);
}

/* Per stage and per device, as counters, from which the reader computes rates. */
static void put_stages(gs_text *out, gs_service_jobs *jobs, const gs_service_device *device, int devices)
{
    static const char *const stages[] = {[GS_JOBS_PREPARE] = "prepare", [GS_JOBS_DEVICE] = "device"};
    static const struct { const char *name, *kind, *help; } of[] = {
        {"stage_waiting", "gauge", "jobs that wait for a stage"},         {"stage_working", "gauge", "threads of a stage that are at work"}, {"stage_threads", "gauge", "threads of a stage"},
        {"stage_done_total", "counter", "jobs that a stage was done with"}, {"stage_seconds_total", "counter", "time of a stage's threads at work"},
    };
    for (size_t i = 0; i < GS_COUNT(of); i++) {
        gs_text_addf(out, "# HELP gemmsmith_%s %s\n# TYPE gemmsmith_%s %s\n", of[i].name, of[i].help, of[i].name, of[i].kind);
        for (int stage = 0; stage < GS_JOBS_STAGES; stage++) {
            const gs_jobs_load load = gs_service_jobs_load(jobs, (gs_jobs_stage)stage);
            const double values[] = {load.waiting, load.working, load.threads, (double)load.done, (double)load.busy_us / 1e6};
            gs_text_addf(out, "gemmsmith_%s{stage=\"%s\"} %.15g\n", of[i].name, stages[stage], values[i]);
        }
    }
    gs_text_add(out, "# HELP gemmsmith_device_busy_seconds_total time of a device on jobs\n# TYPE gemmsmith_device_busy_seconds_total counter\n");
    for (int i = 0; i < devices; i++) gs_text_addf(out, "gemmsmith_device_busy_seconds_total{index=\"%d\",device=\"%s\"} %.15g\n", i, device[i].name, (double)device[i].busy_us / 1e6);
    gs_text_add(out, "# HELP gemmsmith_device_done_total jobs of a device\n# TYPE gemmsmith_device_done_total counter\n");
    for (int i = 0; i < devices; i++) gs_text_addf(out, "gemmsmith_device_done_total{index=\"%d\",device=\"%s\"} %ld\n", i, device[i].name, device[i].done);
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void gs_service_reply_metrics(gs_text *out, gs_service_jobs *jobs, const _Atomic int64_t codes[GS_SERVICE_CODES], int64_t active, double uptime_s)
{
    const gs_service_counts *const counts = gs_service_jobs_counts(jobs);
    gs_service_device device[GS_SERVICE_DEVICES];
    int running, failing = 0;
    const int open = gs_service_jobs_open(jobs, &running), devices = gs_service_jobs_devices(jobs, device);
    for (int i = 0; i < devices; i++) failing += device[i].failing;
    gs_text_add(out, "# HELP gemmsmith_requests_total HTTP requests by status\n# TYPE gemmsmith_requests_total counter\n");
    for (int code = 0; code < GS_SERVICE_CODES; code++)
        if (codes[code] > 0) gs_text_addf(out, "gemmsmith_requests_total{code=\"%d\"} %" PRId64 "\n", code, (int64_t)codes[code]);
    metric(out, "requests_active", "gauge", "requests being answered", (double)active);
    metric(out, "jobs_accepted_total", "counter", "candidates accepted that were new", (double)counts->accepted);
    metric(out, "jobs_joined_total", "counter", "candidates that were there already, done or under way", (double)counts->joined);
    metric(out, "jobs_refused_total", "counter", "candidates that could not be kept or queued", (double)counts->refused);
    metric(out, "evaluations_total", "counter", "evaluations with a verdict", (double)counts->evaluated);
    metric(out, "evaluations_passed_total", "counter", "evaluations with the verdict pass", (double)counts->passed);
    metric(out, "schedules_raced_total", "counter", "schedules timed in races", (double)counts->raced);
    metric(out, "evaluations_failed_total", "counter", "jobs that the machine failed", (double)counts->machine);
    metric(out, "jobs_cancelled_total", "counter", "jobs ended because a client said so", (double)counts->cancelled);
    metric(out, "jobs_expired_total", "counter", "jobs ended because their deadline passed while others waited, or before they were begun", (double)counts->expired);
    metric(out, "evaluations_repeated_total", "counter", "attempts that were lost and run again", (double)counts->repeated);
    metric(out, "jobs_shared_total", "counter", "jobs that another service with the same store has answered", (double)counts->shared);
    metric(out, "jobs_forgotten_total", "counter", "answers removed for their age", (double)counts->forgotten);
    metric(out, "evaluation_seconds_total", "counter", "time spent in evaluations, all devices", (double)counts->busy_us / 1e6);
    metric(out, "jobs_queued", "gauge", "candidates that wait for a stage", open - running);
    metric(out, "jobs_running", "gauge", "candidates under way", running);
    put_stages(out, jobs, device, devices);
    metric(out, "devices", "gauge", "devices", devices);
    metric(out, "devices_failing", "gauge", "devices whose last attempt the machine failed", failing);
    metric(out, "resident_bytes", "gauge", "memory of the service, without its workers", resident_bytes());
    metric(out, "uptime_seconds", "gauge", "since the start", uptime_s);
}

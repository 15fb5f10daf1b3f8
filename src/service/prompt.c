/* SPDX-License-Identifier: MIT */
#include "service/prompt.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "dataset/ask.h"
#include "service/reply.h"
#include "verdict/verdict.h"

enum { NICE = 10 };   /* as for preparing threads, so that measurements are not disturbed */

static const char *const modes[GS_SERVICE_MODES + 1] = {[GS_SERVICE_SCHEDULES] = "schedules", [GS_SERVICE_SOURCE] = "source", [GS_SERVICE_EDITS] = "edits"};

/* ---- the request ---- */

static gs_status text_of(const json_t *root, const char *field, size_t most, const char **out, gs_error *error)
{
    const json_t *const value = json_object_get(root, field);
    *out = NULL;
    if (!value) return GS_OK;
    const size_t size = json_string_length(value);
    if (!json_is_string(value)) return gs_fail(error, GS_ERROR_PARSE, field, "must be a text");
    if (size == 0) return gs_fail(error, GS_ERROR_ARGUMENT, field, "must not be empty");
    if (size > most) return gs_fail(error, GS_ERROR_RANGE, field, "%zu bytes; at most %zu", size, most);
    if (strlen(json_string_value(value)) != size) return gs_fail(error, GS_ERROR_PARSE, field, "must not contain a NUL");
    *out = json_string_value(value);
    return GS_OK;
}

static gs_status take_mode(gs_service_question *out, const char *mode, gs_error *error)
{
    if (!mode) return gs_fail(error, GS_ERROR_ARGUMENT, "mode", "is missing: schedules, source or edits");
    while (modes[out->mode] && strcmp(modes[out->mode], mode) != 0) out->mode++;
    return modes[out->mode] ? GS_OK : gs_fail(error, GS_ERROR_ARGUMENT, "mode", "must be schedules, source or edits");
}

static gs_status take_device(gs_service_question *out, const char *device, gs_error *error)
{
    if (!device) return GS_OK;
    for (const char *at = device; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-+_", *at)) return gs_fail(error, GS_ERROR_ARGUMENT, "device", "must be a device's name in the store, as GET /v1/health tells it");
    snprintf(out->device, sizeof out->device, "%s", device);
    return GS_OK;
}

/* The id of a result, or a result as it was answered (one that is not stored has no id). */
static gs_status take_previous(gs_service_question *out, json_t *value, gs_error *error)
{
    if (!value || json_is_null(value)) return GS_OK;
    const char *const id = json_string_value(value);
    if (id && (strlen(id) != json_string_length(value) || !gs_service_id_valid(id))) return gs_fail(error, GS_ERROR_ARGUMENT, "previous", "must be an id of 32 hexadecimal digits, or a result");
    if (id) {
        snprintf(out->id, sizeof out->id, "%s", id);
        return GS_OK;
    }
    if (!json_is_object(value) || !json_is_string(json_object_get(value, "verdict"))) return gs_fail(error, GS_ERROR_PARSE, "previous", "must be an id of 32 hexadecimal digits, or a result with its verdict");
    out->result = json_incref(value);
    return GS_OK;
}

static gs_status read_question(gs_service_question *out, const json_t *root, const gs_service_terms *terms, gs_error *error)
{
    static const char *const fields[] = {"problem", "mode", "examples", "device", "previous"};
    const json_t *const examples = json_object_get(root, "examples");
    const char *text, *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value) {
        bool known = false;
        for (size_t i = 0; i < GS_COUNT(fields); i++) known |= strcmp(fields[i], key) == 0;
        if (!known) return gs_fail(error, GS_ERROR_ARGUMENT, "body", "has a field beside problem, mode, examples, device and previous");
    }
    GS_TRY(text_of(root, "problem", GS_PROBLEM_TEXT - 1, &text, error));
    if (!text) return gs_fail(error, GS_ERROR_ARGUMENT, "problem", "is missing");
    GS_TRY(gs_service_problem_read(&out->problem, text, terms, "problem", error));
    GS_TRY(text_of(root, "mode", 32, &text, error));
    GS_TRY(take_mode(out, text, error));
    GS_TRY(text_of(root, "device", sizeof out->device - 1, &text, error));
    GS_TRY(take_device(out, text, error));
    if (examples && !json_is_boolean(examples)) return gs_fail(error, GS_ERROR_PARSE, "examples", "must be true or false");
    out->examples = !examples || json_is_true(examples);
    return take_previous(out, json_object_get(root, "previous"), error);
}

gs_status gs_service_question_parse(gs_service_question *out, const char *body, size_t size, const gs_service_terms *terms, gs_error *error)
{
    json_t *root;
    *out = (gs_service_question){0};
    if (size > GS_SERVICE_QUESTION) return gs_fail(error, GS_ERROR_RANGE, "body", "%zu bytes; at most %d", size, GS_SERVICE_QUESTION);
    GS_TRY(gs_service_json_read(&root, body, size, JSON_ALLOW_NUL, error));   /* a result's reason may contain a model's text with a NUL */
    const gs_status status = read_question(out, root, terms, error);
    json_decref(root);
    if (status != GS_OK) gs_service_question_free(out);
    return status;
}

void gs_service_question_free(gs_service_question *question)
{
    json_decref(question->result);
    *question = (gs_service_question){0};
}

/* ---- the last attempt ---- */

/* Figures and texts of the last attempt. Strings of the attempt belong to the result or to this struct. */
typedef struct previous {
    gs_attempt attempt;
    char      *source, *manifest;
    gs_text    metrics;
    bool       known;      /* the result says something about a candidate */
} previous;

static void free_previous(previous *p)
{
    free(p->source);
    free(p->manifest);
    gs_text_free(&p->metrics);
}

static void take_answer(void *self, const gs_job *job)
{
    json_t **const out = self;
    *out = job->answer ? json_loads(job->answer, JSON_ALLOW_NUL, NULL) : json_null();
}

static gs_status find_result(gs_store *store, const char *id, json_t **out, gs_error *error)
{
    gs_error why = {0};
    *out = NULL;
    const gs_status status = gs_store_job_get(store, id, take_answer, out, &why);
    if (status == GS_ERROR_NOT_FOUND) return gs_fail(error, GS_ERROR_ARGUMENT, "previous", "no such result is kept");
    if (status != GS_OK) {
        if (error) *error = why;
        return status;
    }
    if (json_is_null(*out)) return gs_fail(error, GS_ERROR_ARGUMENT, "previous", "is not done yet: GET /v1/result/ID waits for it");
    if (json_object_get(*out, "race")) return gs_fail(error, GS_ERROR_ARGUMENT, "previous", "is a race: an attempt is one candidate");
    return GS_OK;
}

static double number_of(const json_t *result, const char *name)
{
    const double value = json_number_value(json_object_get(result, name));
    return isfinite(value) && value > 0 ? value : 0;
}

static const char *string_of(const json_t *result, const char *name)
{
    const char *const text = json_string_value(json_object_get(result, name));
    return text ? text : "";
}

static void add_metrics(gs_text *out, const json_t *metrics)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metrics, name, value)
        if (json_is_number(value) && !strpbrk(name, " \n")) gs_text_addf(out, "%.40s %.9g\n", name, json_number_value(value));
}

static gs_status take_result(previous *p, gs_store *store, const json_t *result, const gs_problem *problem, gs_error *error)
{
    const char *const verdict = string_of(result, "verdict"), *const candidate = string_of(result, "candidate"), *const of = string_of(result, "problem");
    const json_t *const reward = json_object_get(result, "reward") ? json_object_get(result, "reward") : json_object_get(json_object_get(result, "rewards"), "headroom");
    gs_problem its;
    char asked[GS_PROBLEM_TEXT], other[GS_PROBLEM_TEXT];
    if (*of && (gs_problem_parse(&its, of, NULL) != GS_OK || strcmp(gs_problem_format(&its, other), gs_problem_format(problem, asked)) != 0))
        return gs_fail(error, GS_ERROR_ARGUMENT, "previous", "is of another problem");
    p->known = json_is_string(json_object_get(result, "stage"));   /* results without a stage are the service's own verdicts, which say nothing about a candidate */
    if (!p->known) return GS_OK;
    add_metrics(&p->metrics, json_object_get(result, "metrics"));
    const bool passed = gs_verdict_passed(verdict);
    p->attempt = (gs_attempt){.name = candidate, .base = "", .verdict = verdict, .reason = string_of(result, "reason"), .metrics = gs_text_string(&p->metrics),
                              .us = passed ? number_of(result, "us") : 0, .ratio = passed && !json_is_true(json_object_get(result, "predicted")) ? number_of(result, "ratio") : 0,
                              .reward = json_number_value(reward), .registers = (int)GS_MIN(number_of(result, "registers"), 1024), .smem = (int)GS_MIN(number_of(result, "smem"), 1 << 20)};
    if (strncmp(candidate, "source:", 7) != 0) return GS_OK;
    const gs_status status = gs_store_source_get(store, candidate, &p->source, &p->manifest, error);
    p->attempt.source = p->source;
    p->attempt.manifest = p->manifest;
    return status == GS_ERROR_NOT_FOUND || status == GS_ERROR_ARGUMENT ? GS_OK : status;   /* its code is not stored: only its outcome is shown */
}

static gs_status find_previous(previous *p, gs_store *store, const gs_service_question *asked, json_t **result, gs_error *error)
{
    if (asked->id[0]) GS_TRY(find_result(store, asked->id, result, error));
    else *result = json_incref(asked->result);
    return *result ? take_result(p, store, *result, &asked->problem, error) : GS_OK;
}

/* ---- the reply ---- */

static json_t *number_or_null(double value) { return value > 0 ? json_real(value) : json_null(); }

/* The value for `parent` in a later request, so that its completion may edit the kernel in this prompt. */
static json_t *parent_of(const previous *p, const gs_asked *made)
{
    if (p->attempt.source) return json_string(p->attempt.name);
    if (made->source.size == 0) return json_null();
    return json_pack("{s:s, s:s}", "source", gs_text_string(&made->source), "manifest", gs_text_string(&made->manifest));
}

static json_t *reply(const gs_service_question *asked, const previous *p, const gs_asked *made, const char *device)
{
    char problem[GS_PROBLEM_TEXT];
    const char *const system = gs_text_string(&made->system), *const ask = gs_text_string(&made->ask);
    json_t *const before = p->known ? json_pack("{s:s, s:s}", "candidate", p->attempt.name, "verdict", p->attempt.verdict) : json_null();
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:i, s:i, s:o, s:o, s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "problem", gs_problem_format(&asked->problem, problem), "device", device,
                     "mode", modes[asked->mode], "examples", asked->examples, "predicted", made->predicted, "floor_us", number_or_null(made->floor_us), "cublaslt_us",
                     number_or_null(made->library_us), "timed", made->timed, "failed", made->failed, "previous", before, "parent", asked->mode == GS_SERVICE_SCHEDULES ? json_null() : parent_of(p, made),
                     "system", system, "ask", ask, "messages", "role", "system", "content", system, "role", "user", "content", ask);
}

static gs_status make(json_t **out, const gs_service_question *asked, const gs_service_terms *terms, const char *slug, gs_error *error)
{
    const char *const device = asked->device[0] ? asked->device : slug;
    gs_store *store = NULL;
    gs_asked made = {0};
    previous last = {0};
    json_t *result = NULL;
    GS_TRY(gs_store_open_read(&store, terms->store, error));
    gs_status status = find_previous(&last, store, asked, &result, error);
    const gs_ask how = {.store = store, .device = device, .caps = strcmp(device, slug) == 0 ? terms->caps : NULL, .problem = &asked->problem, .source = asked->mode != GS_SERVICE_SCHEDULES,
                        .examples = asked->examples, .edits = asked->mode == GS_SERVICE_EDITS ? GS_EDITS_ONLY : GS_EDITS_NONE, .last = last.known ? &last.attempt : NULL};
    if (status == GS_OK) status = gs_dataset_ask(&how, &made, error);
    if (status == GS_OK) {
        *out = reply(asked, &last, &made, device);
        if (!*out) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    }
    gs_asked_free(&made);
    free_previous(&last);
    json_decref(result);
    gs_store_close(&store);
    return status;
}

int gs_service_prompt(json_t **out, const char *body, size_t size, const gs_service_terms *terms, const char *slug, gs_error *error)
{
    gs_service_question asked;
    *out = NULL;
    gs_status status = gs_service_question_parse(&asked, body, size, terms, error);
    if (status != GS_OK) return gs_service_reply_status(status);
    setpriority(PRIO_PROCESS, 0, NICE);   /* for this connection's thread only */
    status = make(out, &asked, terms, slug, error);
    gs_service_question_free(&asked);
    return status == GS_OK ? 200 : gs_service_reply_status(status);
}

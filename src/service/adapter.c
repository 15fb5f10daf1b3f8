/* SPDX-License-Identifier: MIT */
#include "service/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "llm/completion.h"
#include "service/parent.h"
#include "verdict/verdict.h"

enum { TAIL = 64 };   /* bytes at the end of a prompt by which it is found */

/* ---- requests ---- */

static gs_status only_fields(const json_t *root, const char *const *fields, gs_error *error)
{
    for (int i = 0; fields[i]; i++)
        if (!json_object_get(root, fields[i])) return gs_fail(error, GS_ERROR_ARGUMENT, fields[i], "is missing");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value) {
        bool known = false;
        for (int i = 0; fields[i]; i++) known |= strcmp(fields[i], key) == 0;
        if (!known) return gs_fail(error, GS_ERROR_ARGUMENT, "body", "has another field than the trainer sends");
    }
    return GS_OK;
}

/* A label is the problem's text, or an object that contains it. */
static gs_status problem_of(gs_problem *out, const json_t *label, const gs_service_terms *terms, const char *field, gs_error *error)
{
    if (json_is_object(label)) label = json_object_get(label, "problem");
    if (!json_is_string(label)) return gs_fail(error, GS_ERROR_PARSE, field, "must be a problem, as \"f16:4096x4096x4096:tn\", or an object with one in \"problem\"");
    const char *const text = json_string_value(label);
    const size_t size = json_string_length(label);
    if (size == 0 || size >= GS_PROBLEM_TEXT || strlen(text) != size) return gs_fail(error, GS_ERROR_PARSE, field, "is no problem");
    return gs_service_problem_read(out, text, terms, field, error);
}

/* A label that is an object may have the kernel that the model was shown in "parent": its completion may be edits of that. Edits that cannot be applied give
 * no candidate. */
static gs_status add_of(gs_service_completions *out, const char *text, size_t size, const json_t *label, const gs_service_terms *terms, const char *field, gs_error *error)
{
    gs_problem problem;
    gs_completion found;
    const json_t *const parent = json_object_get(label, "parent");
    GS_TRY(problem_of(&problem, label, terms, field, error));
    GS_TRY(gs_service_completion_read(&found, text, size, parent && !json_is_null(parent) ? parent : NULL, terms, field, error));
    gs_status status = GS_OK;
    out->place[out->count] = -1;
    if (found.schedule || found.source) {
        gs_service_item *const item = &out->request.item[out->request.count];
        item->problem = problem;
        status = gs_service_item_finish(item, found.schedule, found.source, found.manifest, terms, error);
        if (status == GS_OK) out->place[out->count] = out->request.count++;   /* also if it is refused already: then it has an answer */
    }
    out->count++;
    gs_completion_free(&found);
    return status;
}

/* Data sets often have text columns only, so the object may come as a string. */
static gs_status add(gs_service_completions *out, const char *text, size_t size, const json_t *label, const gs_service_terms *terms, const char *field, gs_error *error)
{
    const char *const written = json_string_value(label);
    json_t *object = NULL;
    if (written && written[0] == '{' && gs_service_json_read(&object, written, json_string_length(label), JSON_ALLOW_NUL, NULL) != GS_OK)
        return gs_fail(error, GS_ERROR_PARSE, field, "begins as an object and is not JSON");
    const gs_status status = add_of(out, text, size, object ? object : label, terms, field, error);
    json_decref(object);
    return status;
}

static gs_status reserve(gs_service_completions *out, size_t count, gs_error *error)
{
    out->request.item = calloc(count, sizeof *out->request.item);
    out->place = calloc(count, sizeof *out->place);
    return out->request.item && out->place ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for %zu completions", count);
}

/* The start of the response in a query: after the prompt, or, since a tokenizer may alter the text and truncate a long prompt at its beginning, after the
 * last occurrence of the prompt's end. No part of a prompt, which may have examples, is taken for the answer. SIZE_MAX: not found. */
static size_t response_at(const char *query, size_t size, const char *prompt, size_t prompt_size)
{
    if (size >= prompt_size && memcmp(query, prompt, prompt_size) == 0) return prompt_size;
    const size_t tail = GS_MIN(prompt_size, (size_t)TAIL);
    for (size_t end = size; end >= tail; end--)
        if (memcmp(query + end - tail, prompt + prompt_size - tail, tail) == 0) return end;
    return SIZE_MAX;
}

static gs_status read_openrlhf(gs_service_completions *out, const json_t *root, const gs_service_terms *terms, gs_error *error)
{
    static const char *const fields[] = {"query", "prompts", "labels", NULL};
    const json_t *list[3];
    GS_TRY(only_fields(root, fields, error));
    for (int i = 0; i < 3; i++) {
        list[i] = json_object_get(root, fields[i]);
        if (!json_is_array(list[i])) return gs_fail(error, GS_ERROR_PARSE, fields[i], "must be a list");
        if (json_array_size(list[i]) != json_array_size(list[0])) return gs_fail(error, GS_ERROR_RANGE, fields[i], "must be as long as query");
    }
    const size_t count = json_array_size(list[0]);
    if (count < 1 || count > GS_SERVICE_BATCH) return gs_fail(error, GS_ERROR_RANGE, "query", "must have from 1 to %d texts, not %zu", GS_SERVICE_BATCH, count);
    GS_TRY(reserve(out, count, error));
    for (size_t i = 0; i < count; i++) {
        const json_t *const query = json_array_get(list[0], i), *const prompt = json_array_get(list[1], i);
        char field[32];
        snprintf(field, sizeof field, "query[%zu]", i);
        if (!json_is_string(query)) return gs_fail(error, GS_ERROR_PARSE, field, "must be a text");
        if (!json_is_string(prompt)) return gs_fail(error, GS_ERROR_PARSE, "prompts", "must be texts");
        const char *const text = json_string_value(query);
        const size_t size = json_string_length(query), from = response_at(text, size, json_string_value(prompt), json_string_length(prompt));
        if (from == SIZE_MAX) return gs_fail(error, GS_ERROR_ARGUMENT, field, "does not have the end of its prompt: where the response begins cannot be told");
        snprintf(field, sizeof field, "labels[%zu]", i);
        GS_TRY(add(out, text + from, size - from, json_array_get(list[2], i), terms, field, error));
    }
    return GS_OK;
}

static gs_status read_slime(gs_service_completions *out, const json_t *root, const gs_service_terms *terms, gs_error *error)
{
    static const char *const fields[] = {"prompt", "response", "label", NULL};
    GS_TRY(only_fields(root, fields, error));
    const json_t *const prompt = json_object_get(root, "prompt"), *const response = json_object_get(root, "response");
    if (!json_is_string(prompt) && !json_is_array(prompt)) return gs_fail(error, GS_ERROR_PARSE, "prompt", "must be a text or a list of messages");
    if (!json_is_string(response)) return gs_fail(error, GS_ERROR_PARSE, "response", "must be a text");
    GS_TRY(reserve(out, 1, error));
    return add(out, json_string_value(response), json_string_length(response), json_object_get(root, "label"), terms, "label", error);
}

gs_status gs_service_adapter_parse(gs_service_completions *out, gs_service_adapter which, const char *body, size_t size, const gs_service_terms *terms, gs_error *error)
{
    json_t *root;
    *out = (gs_service_completions){.request.deadline_s = terms->deadline_s};
    GS_TRY(gs_service_json_read(&root, body, size, JSON_ALLOW_NUL, error));   /* a NUL in a model's text is not the trainer's mistake */
    const gs_status status = which == GS_SERVICE_OPENRLHF ? read_openrlhf(out, root, terms, error) : read_slime(out, root, terms, error);
    json_decref(root);
    if (status != GS_OK) gs_service_completions_free(out);
    return status;
}

void gs_service_completions_free(gs_service_completions *completions)
{
    gs_service_request_free(&completions->request);
    free(completions->place);
    completions->place = NULL;
    completions->count = 0;
}

/* ---- replies ---- */

typedef struct outcome {
    const char *verdict;
    double      reward, us, ratio;
} outcome;

/* false: there is no reward yet. */
static bool outcome_of(outcome *out, const json_t *result, gs_reward_kind kind, const double *unknown)
{
    *out = (outcome){.verdict = "text", .reward = -1};
    if (!result) return true;
    const json_t *const reward = json_object_get(json_object_get(result, "rewards"), gs_reward_name(kind)), *const verdict = json_object_get(result, "verdict");
    out->verdict = json_is_string(verdict) ? json_string_value(verdict) : "deadline";
    out->us = json_number_value(json_object_get(result, "us"));
    out->ratio = json_number_value(json_object_get(result, "ratio"));
    if (!json_is_number(reward) && !unknown) return false;
    out->reward = json_is_number(reward) ? json_number_value(reward) : *unknown;
    return true;
}

/* OpenRLHF's scores are in [0, 1]: its dynamic filtering can drop groups whose mean is 0 or 1. It logs numbers only. */
static json_t *reply_openrlhf(const outcome *o, int count)
{
    json_t *const rewards = json_array(), *const scores = json_array(), *const passed = json_array(), *const us = json_array(), *const ratio = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(rewards, json_real(o[i].reward));
        json_array_append_new(scores, json_real(GS_MIN(GS_MAX((o[i].reward + 1) / 2, 0.0), 1.0)));
        json_array_append_new(passed, json_real(gs_verdict_passed(o[i].verdict)));
        json_array_append_new(us, json_real(o[i].us));
        json_array_append_new(ratio, json_real(o[i].ratio));
    }
    return json_pack("{s:o, s:o, s:{s:o, s:o, s:o}}", "rewards", rewards, "scores", scores, "extra_logs", "passed", passed, "us", us, "ratio", ratio);
}

json_t *gs_service_adapter_reply(gs_service_adapter which, const gs_service_completions *asked, json_t *const *results, gs_reward_kind kind, const double *unknown, bool details,
                            gs_error *error)
{
    outcome *const o = calloc((size_t)asked->count, sizeof *o);
    json_t *out = NULL;
    int missing = 0;
    bool lost = !o;   /* no memory: a result could not be made */
    for (int i = 0; o && i < asked->count; i++) {
        const json_t *const result = asked->place[i] < 0 ? NULL : results[asked->place[i]];
        lost |= asked->place[i] >= 0 && !result;
        missing += !outcome_of(&o[i], result, kind, unknown);
    }
    if (lost) {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    } else if (missing > 0) {
        gs_fail(error, GS_ERROR_TIMEOUT, "deadline_s", "%d of %d completions have no reward yet: ask again, or give unknown=NUMBER", missing, asked->count);
    } else {
        if (which == GS_SERVICE_OPENRLHF) out = reply_openrlhf(o, asked->count);
        else if (!details) out = json_real(o->reward);
        else out = json_pack("{s:f, s:s, s:b, s:f, s:f}", "reward", o->reward, "verdict", o->verdict, "passed", gs_verdict_passed(o->verdict), "us", o->us, "ratio", o->ratio);
    }
    if (!out && missing == 0 && !lost) gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer");
    free(o);
    return out;
}

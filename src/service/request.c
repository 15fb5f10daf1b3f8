/* SPDX-License-Identifier: MIT */
#include "service/request.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "service/parent.h"
#include "service/screen.h"

enum { VALUES_MOST = 16384 };

/* The path of a field for messages: "problem", "requests[3].problem". */
typedef struct place {
    char prefix[32];
    char name[64];   /* the size of a gs_error's field */
} place;

static const char *at(place *where, const char *field)
{
    snprintf(where->name, sizeof where->name, "%s%.30s", where->prefix, field);
    return where->name;
}

/* A client's text in a message: printable ASCII on one line, because it may be cut anywhere. */
static void plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || (unsigned char)*text >= 127) *text = '?';
}

/* ---- fields ---- */

static gs_status only(const json_t *object, const char *const *fields, place *where, gs_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        bool known = false;
        for (int i = 0; fields[i]; i++) known |= strcmp(fields[i], key) == 0;
        if (known) continue;
        char shown[24];
        snprintf(shown, sizeof shown, "%s", *key ? key : "(empty)");
        plain(shown);
        return gs_fail(error, GS_ERROR_ARGUMENT, at(where, shown), "no such field");
    }
    return GS_OK;
}

/* *out is NULL if the field is absent. */
static gs_status text_of(const json_t *object, const char *field, size_t most, const char **out, place *where, gs_error *error)
{
    const json_t *const value = json_object_get(object, field);
    *out = NULL;
    if (!value) return GS_OK;
    if (!json_is_string(value)) return gs_fail(error, GS_ERROR_PARSE, at(where, field), "must be a text");
    const size_t size = json_string_length(value);
    if (size == 0) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, field), "must not be empty");
    if (size > most) return gs_fail(error, GS_ERROR_RANGE, at(where, field), "%zu bytes; at most %zu", size, most);
    if (strlen(json_string_value(value)) != size) return gs_fail(error, GS_ERROR_PARSE, at(where, field), "must not contain a NUL");
    *out = json_string_value(value);
    return GS_OK;
}

static gs_status deadline_of(const json_t *object, gs_service_request *out, place *where, gs_error *error)
{
    const json_t *const value = json_object_get(object, "deadline_s");
    if (!value) return GS_OK;
    if (!json_is_number(value)) return gs_fail(error, GS_ERROR_PARSE, at(where, "deadline_s"), "must be a number of seconds");
    const double seconds = json_number_value(value);
    if (!(seconds >= 0 && seconds <= GS_SERVICE_DEADLINE))
        return gs_fail(error, GS_ERROR_RANGE, at(where, "deadline_s"), "must be from 0 to %g", GS_SERVICE_DEADLINE);
    out->deadline_s = seconds;
    out->timed = true;
    return GS_OK;
}

bool gs_service_number_read(const char *text, double low, double high, double *out)
{
    if (!text) return true;
    gs_scan scan = gs_scan_from(text);
    return gs_scan_double(&scan, out) && gs_scan_end(&scan) && *out >= low && *out <= high;
}

gs_status gs_service_problem_read(gs_problem *out, const char *text, const gs_service_terms *terms, const char *field, gs_error *error)
{
    gs_error why = {0};
    gs_status status = gs_problem_parse(out, text, &why);
    if (status == GS_OK) status = gs_problem_check(out, &why);
    if (status == GS_OK && (out->m < 1 || out->n < 1 || out->k < 1 || out->batch < 1)) status = gs_fail(&why, GS_ERROR_RANGE, NULL, "is empty");
    if (status != GS_OK) {
        char line[512];
        gs_error_format(&why, line, sizeof line);
        plain(line);
        return gs_fail(error, status, field, "%.200s", line);
    }
    if (terms->caps) GS_TRY(gs_service_screen_problem(out, terms->caps, field, error));
    if (!terms->offered) return GS_OK;
    char asked[GS_PROBLEM_TEXT], other[GS_PROBLEM_TEXT];
    gs_problem_format(out, asked);
    for (int i = 0; i < terms->offered_count; i++)
        if (strcmp(gs_problem_format(&terms->offered[i], other), asked) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, field, "is not offered here: GET /v1/tasks lists what is");
}

static gs_status problem_of(const json_t *object, gs_problem *out, const gs_service_terms *terms, place *where, gs_error *error)
{
    const char *text;
    GS_TRY(text_of(object, "problem", GS_PROBLEM_TEXT - 1, &text, where, error));
    if (!text) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "problem"), "is missing");
    return gs_service_problem_read(out, text, terms, at(where, "problem"), error);
}

/* ---- one candidate ---- */

static void hash_request(const char *const scope[4], const char *request, char id[GS_HASH_TEXT])
{
    const char *parts[5];
    for (size_t i = 0; i < 4; i++) parts[i] = scope[i] ? scope[i] : "";
    parts[4] = request;
    gs_hash_format(gs_hash_strings(parts, GS_COUNT(parts)), id);
}

bool gs_service_request_ours(const char *scope, const char *device, const char *version, const char *request, const char *id)
{
    char own[GS_HASH_TEXT];
    hash_request((const char *const[4]){GS_SERVICE_SCOPE, device, version, scope}, request, own);
    return strcmp(own, id) == 0;
}

gs_status gs_service_item_take(gs_service_item *item, gs_text *text, const gs_service_terms *terms, gs_error *error)
{
    item->request = text->failed ? NULL : gs_text_take(text);
    gs_text_free(text);
    if (!item->request) return gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for a request");
    hash_request(terms->scope, item->request, item->id);
    return GS_OK;
}

gs_status gs_service_item_finish(gs_service_item *item, const char *schedule, const char *source, const char *manifest, const gs_service_terms *terms, gs_error *error)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    char problem[GS_PROBLEM_TEXT];
    if (terms->caps) {
        bool refused;
        GS_TRY(gs_service_screen_candidate(&item->answer, &refused, &item->problem, terms->caps, schedule, source, manifest, error));
        if (refused) return GS_OK;
    }
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", gs_problem_format(&item->problem, problem));
    if (schedule) gs_json_string(&json, "schedule", schedule);
    if (source) gs_json_string(&json, "source", source);
    if (manifest) gs_json_string(&json, "manifest", manifest);
    gs_json_end(&json, '}');
    item->schedule = schedule != NULL;
    return gs_service_item_take(item, &text, terms, error);
}

/* The candidate of a model's raw text. Whatever the model wrote, even nothing or a NUL, is not the client's error: there may be no candidate. */
static gs_status finish_completion(gs_service_item *item, const json_t *text, const json_t *parent, const gs_service_terms *terms, place *where, gs_error *error)
{
    gs_completion found;
    if (!json_is_string(text)) return gs_fail(error, GS_ERROR_PARSE, at(where, "completion"), "must be a text");
    GS_TRY(gs_service_completion_read(&found, json_string_value(text), json_string_length(text), parent, terms, at(where, "parent"), error));
    const bool any = found.schedule || found.source;
    if (found.fault.text[0]) return gs_service_fault_keep(item, &found.fault, error);
    const gs_status status = any ? gs_service_item_finish(item, found.schedule, found.source, found.manifest, terms, error) : GS_OK;
    gs_completion_free(&found);
    return status;
}

static gs_status read_item(gs_service_item *item, const json_t *object, const char *const *fields, const gs_service_terms *terms, size_t most, place *where,
                           gs_error *error)
{
    const char *schedule, *source, *manifest, *reward;
    GS_TRY(only(object, fields, where, error));
    GS_TRY(problem_of(object, &item->problem, terms, where, error));
    GS_TRY(text_of(object, "schedule", GS_SERVICE_SCHEDULE, &schedule, where, error));
    GS_TRY(text_of(object, "source", most, &source, where, error));
    GS_TRY(text_of(object, "manifest", GS_SERVICE_MANIFEST, &manifest, where, error));
    GS_TRY(text_of(object, "reward", 32, &reward, where, error));
    const json_t *const completion = json_object_get(object, "completion");
    item->reward = reward ? gs_reward_find(reward) : GS_REWARD_HEADROOM;
    if (item->reward == GS_REWARDS) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "reward"), "must be " GS_REWARD_WORDS);
    if (completion && (schedule || source || manifest)) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "completion"), "and a schedule or a source: one of them");
    if (completion) return finish_completion(item, completion, json_object_get(object, "parent"), terms, where, error);
    if (json_object_get(object, "parent")) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "parent"), "is of a completion, and there is none");
    if (!schedule && !source) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "schedule"), "a candidate is a schedule, or a source and a manifest, or a completion");
    if (schedule && (source || manifest)) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "schedule"), "and a source: one of them");
    if (source && !manifest) return gs_fail(error, GS_ERROR_ARGUMENT, at(where, "manifest"), "is missing: a source needs one");
    return gs_service_item_finish(item, schedule, source, manifest, terms, error);
}

gs_status gs_service_race_head(const json_t *object, gs_service_request *out, gs_problem *problem, gs_reward_kind *kind, bool *alone, const gs_service_terms *terms, gs_error *error)
{
    static const char *const fields[] = {"problem", "schedules", "alone", "reward", "deadline_s", NULL};
    const json_t *const value = json_object_get(object, "alone");
    place where = {0};
    const char *reward;
    GS_TRY(only(object, fields, &where, error));
    GS_TRY(deadline_of(object, out, &where, error));
    GS_TRY(problem_of(object, problem, terms, &where, error));
    GS_TRY(text_of(object, "reward", 32, &reward, &where, error));
    *kind = reward ? gs_reward_find(reward) : GS_REWARD_HEADROOM;
    if (value && !json_is_boolean(value)) return gs_fail(error, GS_ERROR_PARSE, "alone", "must be true or false");
    *alone = json_is_true(value);
    return *kind == GS_REWARDS ? gs_fail(error, GS_ERROR_ARGUMENT, "reward", "must be " GS_REWARD_WORDS) : GS_OK;
}

static gs_status reserve(gs_service_request *out, int count, gs_error *error)
{
    out->item = calloc((size_t)count, sizeof *out->item);
    if (!out->item) return gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for %d candidates", count);
    out->count = count;
    return GS_OK;
}

static gs_status read_one(gs_service_request *out, const json_t *root, const gs_service_terms *terms, size_t most, gs_error *error)
{
    static const char *const fields[] = {"problem", "schedule", "source", "manifest", "completion", "parent", "reward", "deadline_s", NULL};
    place where = {0};
    GS_TRY(deadline_of(root, out, &where, error));
    GS_TRY(reserve(out, 1, error));
    return read_item(&out->item[0], root, fields, terms, most, &where, error);
}

static gs_status read_batch(gs_service_request *out, const json_t *root, const gs_service_terms *terms, size_t most, gs_error *error)
{
    static const char *const top[] = {"requests", "problem", "reward", "as_ready", "deadline_s", NULL}, *const common[] = {"problem", "reward"};
    static const char *const fields[] = {"problem", "schedule", "source", "manifest", "completion", "parent", "reward", NULL};
    place where = {0};
    GS_TRY(only(root, top, &where, error));
    GS_TRY(deadline_of(root, out, &where, error));
    const json_t *const list = json_object_get(root, "requests"), *const as_ready = json_object_get(root, "as_ready");
    if (as_ready && !json_is_boolean(as_ready)) return gs_fail(error, GS_ERROR_PARSE, "as_ready", "must be true or false");
    out->as_ready = json_is_true(as_ready);
    if (!json_is_array(list)) return gs_fail(error, GS_ERROR_PARSE, "requests", "must be a list of candidates");
    const size_t count = json_array_size(list);
    if (count < 1 || count > GS_SERVICE_BATCH) return gs_fail(error, GS_ERROR_RANGE, "requests", "must have from 1 to %d candidates, not %zu", GS_SERVICE_BATCH, count);
    GS_TRY(reserve(out, (int)count, error));
    for (int i = 0; i < out->count; i++) {
        json_t *const item = json_array_get(list, (size_t)i);
        snprintf(where.prefix, sizeof where.prefix, "requests[%d]", i);
        if (!json_is_object(item)) return gs_fail(error, GS_ERROR_PARSE, where.prefix, "must be an object");
        snprintf(where.prefix, sizeof where.prefix, "requests[%d].", i);
        for (size_t c = 0; c < GS_COUNT(common); c++)   /* defaults for requests that do not have the field */
            if (json_object_get(root, common[c]) && !json_object_get(item, common[c])) json_object_set(item, common[c], json_object_get(root, common[c]));
        GS_TRY(read_item(&out->item[i], item, fields, terms, most, &where, error));
    }
    return GS_OK;
}

/* Estimates the number of JSON values from commas, colons and brackets: the parser needs hundreds of bytes for each, however short its text is. */
static bool too_many_values(const char *body, size_t size)
{
    size_t count = 0;
    bool text = false;
    for (size_t i = 0; i < size; i++) {
        if (body[i] == '"') text = !text;
        else if (text) i += body[i] == '\\';
        else count += body[i] == ',' || body[i] == ':' || body[i] == '{' || body[i] == '[';
    }
    return count > VALUES_MOST;
}

gs_status gs_service_json_read(json_t **out, const char *body, size_t size, size_t flags, gs_error *error)
{
    json_error_t why;
    *out = NULL;
    if (too_many_values(body ? body : "", size)) return gs_fail(error, GS_ERROR_RANGE, "body", "has more than %d values", VALUES_MOST);
    *out = json_loadb(body ? body : "", size, JSON_REJECT_DUPLICATES | flags, &why);
    if (!*out) {
        plain(why.text);
        return gs_fail(error, GS_ERROR_PARSE, "body", "is not JSON: line %d, column %d: %.120s", GS_MAX(why.line, 1), GS_MAX(why.column, 0), why.text);
    }
    if (json_is_object(*out)) return GS_OK;
    json_decref(*out);
    *out = NULL;
    return gs_fail(error, GS_ERROR_PARSE, "body", "must be an object");
}

gs_status gs_service_request_parse(gs_service_request *out, const char *body, size_t size, bool batch, const gs_service_terms *terms, gs_error *error)
{
    json_t *root;
    *out = (gs_service_request){.deadline_s = terms->deadline_s};
    GS_TRY(gs_service_json_read(&root, body, size, JSON_ALLOW_NUL, error));   /* a completion may contain a NUL; other texts with one are refused */
    const gs_status status = batch ? read_batch(out, root, terms, size, error) : read_one(out, root, terms, size, error);
    json_decref(root);
    if (status != GS_OK) gs_service_request_free(out);
    return status;
}

gs_status gs_service_request_schedule(gs_service_request *out, const gs_problem *problem, const char *schedule, const gs_service_terms *terms, gs_error *error)
{
    *out = (gs_service_request){.deadline_s = terms->deadline_s};
    GS_TRY(reserve(out, 1, error));
    out->item[0].problem = *problem;
    const gs_status status = gs_service_item_finish(&out->item[0], schedule, NULL, NULL, terms, error);
    if (status != GS_OK) gs_service_request_free(out);
    return status;
}

void gs_service_request_free(gs_service_request *request)
{
    for (int i = 0; i < request->count; i++) {
        free(request->item[i].request);
        free(request->item[i].answer);
        free(request->item[i].fault);
    }
    free(request->item);
    request->item = NULL;
    request->count = 0;
}

bool gs_service_token_equal(const char *token, const char *given)
{
    const size_t size = strlen(token), other = strlen(given);
    volatile unsigned char differs = size != other || size == 0;
    for (size_t i = 0; i < other; i++) differs |= (unsigned char)(given[i] ^ token[size ? i % size : 0]);
    return !differs;
}

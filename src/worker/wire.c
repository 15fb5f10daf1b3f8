/* SPDX-License-Identifier: MIT
 * Replies of the worker as JSON objects. */
#include "worker/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "worker/worker.h"

gs_status gs_status_find(const char *name)
{
#define GS_STATUS(id, number, text) \
    if (strcmp(name, "GS_" #id) == 0) return GS_##id;
#include <gemmsmith/status.def>
#undef GS_STATUS
    return GS_ERROR_DEVICE;
}

double gs_reply_number(const json_t *object, const char *name, double otherwise)
{
    const json_t *const value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

int64_t gs_reply_int(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *const value = json_object_get(object, name);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

bool gs_reply_bool(const json_t *object, const char *name, bool otherwise)
{
    const json_t *const value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

const char *gs_reply_string(const json_t *object, const char *name, const char *otherwise)
{
    const json_t *const value = json_object_get(object, name);
    return json_is_string(value) ? json_string_value(value) : otherwise;
}

void gs_caps_put(gs_json *json, const gs_caps *caps)
{
    gs_json_begin(json, "caps", '{');
    gs_json_string(json, "name", caps->name);
    gs_json_string(json, "slug", caps->slug);
    gs_json_string(json, "uuid", caps->uuid);
    gs_json_string(json, "target", caps->target);
#define INT(field)  gs_json_int(json, #field, caps->field);
#define REAL(field) gs_json_double(json, #field, caps->field);
    GS_CAPS_INTS(INT)
    GS_CAPS_REALS(REAL)
#undef INT
#undef REAL
    gs_json_int(json, "memory_bytes", (int64_t)caps->memory_bytes);
    gs_json_bool(json, "emulated", caps->emulated);
    gs_json_end(json, '}');
}

static void take_string(const json_t *object, const char *name, char *to, size_t size)
{
    snprintf(to, size, "%s", gs_reply_string(object, name, ""));
}

void gs_caps_take(const json_t *object, gs_caps *caps)
{
    const json_t *const from = json_object_get(object, "caps");
    *caps = (gs_caps){0};
    take_string(from, "name", caps->name, sizeof caps->name);
    take_string(from, "slug", caps->slug, sizeof caps->slug);
    take_string(from, "uuid", caps->uuid, sizeof caps->uuid);
    take_string(from, "target", caps->target, sizeof caps->target);
#define INT(field)  caps->field = (int)gs_reply_int(from, #field, 0);
#define REAL(field) caps->field = gs_reply_number(from, #field, 0);
    GS_CAPS_INTS(INT)
    GS_CAPS_REALS(REAL)
#undef INT
#undef REAL
    caps->memory_bytes = (size_t)gs_reply_int(from, "memory_bytes", 0);
    caps->emulated = gs_reply_bool(from, "emulated", false);
}

gs_status gs_worker_request(gs_worker *worker, const char *request, double timeout_s, struct json_t **reply, gs_error *error)
{
    *reply = NULL;
    char *line;
    GS_TRY(gs_worker_call(worker, request, timeout_s, &line, error));
    json_t *const object = json_loads(line, 0, NULL);
    if (!json_is_object(object) || !json_is_boolean(json_object_get(object, "ok"))) {
        const gs_status status = gs_fail(error, GS_ERROR_WORKER_DIED, NULL,
                                         "the worker of %s wrote something that is no reply: %.60s", worker->device, line);
        free(line);
        json_decref(object);
        gs_worker_kill(worker);
        return status;
    }
    free(line);
    if (json_is_true(json_object_get(object, "ok"))) {
        *reply = object;
        return GS_OK;
    }
    gs_status status = gs_status_find(gs_reply_string(object, "status", ""));
    if (status == GS_OK) status = GS_ERROR_DEVICE;
    const char *const field = gs_reply_string(object, "field", "");
    gs_fail_at(error, status, (int)gs_reply_int(object, "column", 0), *field ? field : NULL, "%s",
               gs_reply_string(object, "message", "the worker gave no reason"));
    json_decref(object);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "service/parent.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/store.h"

/* A text of the object; *out belongs to the object. */
static gs_status text_of(const json_t *object, const char *name, size_t most, const char **out, const char *field, gs_error *error)
{
    const json_t *const value = json_object_get(object, name);
    if (!json_is_string(value) || json_string_length(value) == 0) return gs_fail(error, GS_ERROR_PARSE, field, "must have the texts source and manifest, or be source:HASH of a stored kernel");
    if (json_string_length(value) > most) return gs_fail(error, GS_ERROR_RANGE, field, "its %s has %zu bytes; at most %zu", name, json_string_length(value), most);
    if (strlen(json_string_value(value)) != json_string_length(value)) return gs_fail(error, GS_ERROR_PARSE, field, "must not contain a NUL");
    *out = json_string_value(value);
    return GS_OK;
}

static gs_status stored(char **source, char **manifest, const char *name, const gs_service_terms *terms, const char *field, gs_error *error)
{
    gs_store *store;
    if (!terms->stored) return gs_fail(error, GS_ERROR_ARGUMENT, field, "there is no store here: give its source and manifest");
    GS_TRY(gs_store_open_read(&store, terms->store, error));
    const gs_status status = gs_store_source_get(store, name, source, manifest, error);
    gs_store_close(&store);
    if (status == GS_ERROR_NOT_FOUND || status == GS_ERROR_ARGUMENT) return gs_fail(error, GS_ERROR_ARGUMENT, field, "no such kernel is stored");
    return status;
}

gs_status gs_service_completion_read(gs_completion *out, const char *text, size_t size, const json_t *value, const gs_service_terms *terms, const char *field, gs_error *error)
{
    gs_parent parent = {0};
    char *source = NULL, *manifest = NULL;
    if (!value) return gs_completion_read(out, text, size, error);
    if (json_is_string(value)) {
        GS_TRY(stored(&source, &manifest, json_string_value(value), terms, field, error));
        parent = (gs_parent){source, manifest};
    } else {
        if (!json_is_object(value) || json_object_size(value) != 2) return gs_fail(error, GS_ERROR_PARSE, field, "must have the texts source and manifest, or be source:HASH of a stored kernel");
        GS_TRY(text_of(value, "source", GS_COMPLETION_SOURCE, &parent.source, field, error));
        GS_TRY(text_of(value, "manifest", GS_COMPLETION_MANIFEST, &parent.manifest, field, error));
    }
    const gs_status status = gs_completion_read_edit(out, text, size, &parent, error);
    free(source);
    free(manifest);
    return status;
}

gs_status gs_service_fault_keep(gs_service_item *item, const gs_error *fault, gs_error *error)
{
    char line[512];
    gs_error_format(fault, line, sizeof line);
    item->fault = strdup(line);
    return item->fault ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for a reason");
}

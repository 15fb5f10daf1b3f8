/* SPDX-License-Identifier: MIT
 * Texts of user kernels, by the hash in their candidate's name. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/sql.h"

#define NAME "source:"

/* The hash in a candidate's name. */
static gs_status hash_of(const char *candidate, const char **hash, gs_error *error)
{
    const size_t size = strlen(NAME);
    if (!candidate || strncmp(candidate, NAME, size) != 0 || !candidate[size])
        return gs_fail(error, GS_ERROR_ARGUMENT, "candidate", "must be source:<hash>");
    *hash = candidate + size;
    return GS_OK;
}

gs_status gs_store_source_put(gs_store *store, const char *candidate, const char *source, const char *manifest, gs_error *error)
{
    char date[GS_DATE_TEXT];
    const char *hash = NULL;
    GS_TRY(hash_of(candidate, &hash, error));
    if (!source || !*source) return gs_fail(error, GS_ERROR_ARGUMENT, "source", "must not be empty");
    if (!manifest || !*manifest) return gs_fail(error, GS_ERROR_ARGUMENT, "manifest", "must not be empty");
    GS_TRY(gs_sql_begin(store, error));
    gs_query put = gs_sql(store, GS_SQL_PUT_SOURCE);
    gs_sql_text(&put, hash);
    gs_sql_text(&put, source);
    gs_sql_text(&put, manifest);
    gs_sql_text(&put, gs_date_format(date));
    return gs_sql_end(store, gs_sql_status(store, gs_sql_run(&put), error), error);
}

static gs_status take(const gs_query *row, char **source, char **manifest, gs_error *error)
{
    const char *const first = gs_sql_get_text(row, 0), *const second = gs_sql_get_text(row, 1);
    *source = first ? strdup(first) : NULL;
    *manifest = second ? strdup(second) : NULL;
    if (*source && *manifest) return GS_OK;
    free(*source);
    free(*manifest);
    *source = *manifest = NULL;
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel's texts");
}

gs_status gs_store_source_get(gs_store *store, const char *candidate, char **source, char **manifest, gs_error *error)
{
    const char *hash = NULL;
    *source = *manifest = NULL;
    GS_TRY(hash_of(candidate, &hash, error));
    gs_query get = gs_sql(store, GS_SQL_GET_SOURCE);
    gs_sql_text(&get, hash);
    const int code = gs_sql_step(&get);
    const gs_status status = code == SQLITE_ROW    ? take(&get, source, manifest, error)
                             : code == SQLITE_DONE ? gs_fail(error, GS_ERROR_NOT_FOUND, "candidate", "%s has not the texts of this kernel", gs_sql_tail(store->path))
                                                   : gs_sql_status(store, code, error);
    gs_sql_leave(&get);
    return status;
}

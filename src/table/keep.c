/* SPDX-License-Identifier: MIT
 * Adding a row to a tuned table file that other processes may write at the same time. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "table/table.h"

static gs_status update_table(gs_table *table, const char *path, const gs_row *row, bool only_if_absent, gs_error *error)
{
    int skipped = 0;
    gs_error first = {0};
    const gs_status loaded = gs_table_load(table, path, NULL, &skipped, &first);
    if (loaded != GS_OK && loaded != GS_ERROR_NOT_FOUND) {
        if (error) *error = first;
        return loaded;
    }
    if (skipped > 0)
        return gs_fail(error, GS_ERROR_PARSE, NULL, "%s has %d rows that cannot be read (%.200s); repair or remove them first", path, skipped, first.text);
    if (only_if_absent)
        for (int i = 0; i < gs_table_size(table); i++) {
            const gs_row *const other = gs_table_row(table, i);
            char a[GS_PROBLEM_TEXT], b[GS_PROBLEM_TEXT];
            if (strcmp(gs_problem_format(&other->problem, a), gs_problem_format(&row->problem, b)) == 0 &&
                strcmp(other->gpu, row->gpu) == 0 && gs_row_dependent(other) == gs_row_dependent(row))
                return GS_OK;
        }
    if (gs_table_put(table, row) != GS_OK) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table");
    gs_text text = {0};
    gs_table_format(table, &text);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a table")
                                         : gs_file_write(path, gs_text_string(&text), text.size, error);
    gs_text_free(&text);
    return status;
}

gs_status gs_table_keep(const char *path, const gs_row *row, bool only_if_absent, gs_error *error)
{
    int lock;
    GS_TRY(gs_file_lock(path, &lock, error));
    gs_table *table = NULL;
    gs_status status = gs_table_create(&table);
    status = status == GS_OK ? update_table(table, path, row, only_if_absent, error) : gs_fail(error, status, NULL, "no memory for a table");
    gs_table_destroy(&table);
    close(lock);
    return status;
}

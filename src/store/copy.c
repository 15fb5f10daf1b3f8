/* SPDX-License-Identifier: MIT
 * Copies the rows of another store into tables beside this one's, for a merge in which at least one of the two is on a server. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "store/sql.h"

/* The tables that are merged. Both stores were made by the same schema steps, so their columns have the same order. */
static const struct table {
    const char *name, *key;   /* key: the column that other tables refer to; NULL: none do */
} tables[] = {
    {"session", "id"}, {"problem", "id"}, {"trial", "id"}, {"winner", NULL}, {"measurement", "id"}, {"sample", NULL}, {"result", NULL}, {"curve", "id"},
    {"point", NULL}, {"source", NULL}, {"prompt", NULL}, {"turn", "id"}, {"outcome", NULL},
};

static int make(gs_store *store, const struct table *t)
{
    char sql[320];
    const char *const form = store->pg ? "CREATE TEMP TABLE other_%s (LIKE %s) ON COMMIT DROP" : "CREATE TABLE other.%s AS SELECT * FROM main.%s WHERE 0";
    snprintf(sql, sizeof sql, form, t->name, t->name);
    const int code = gs_sql_text_run(store, sql);
    if (code != SQLITE_OK || !t->key) return code;
    if (store->pg) snprintf(sql, sizeof sql, "CREATE INDEX ON other_%s (%s)", t->name, t->key);
    else snprintf(sql, sizeof sql, "CREATE INDEX other.by_%s ON %s (%s)", t->name, t->name, t->key);
    return gs_sql_text_run(store, sql);
}

static void bind(gs_query *to, const gs_query *from, int column)
{
    if (gs_sql_is_null(from, column)) gs_sql_text(to, NULL);
    else if (gs_sql_is_number(from, column, false)) gs_sql_int(to, gs_sql_get_int(from, column));
    else if (gs_sql_is_number(from, column, true)) gs_sql_real(to, gs_sql_get_real(from, column));
    else gs_sql_text(to, gs_sql_get_text(from, column));
}

static int put_row(gs_store *store, const struct table *t, const gs_query *row)
{
    char sql[200];
    const int columns = gs_sql_columns(row);
    int size = snprintf(sql, sizeof sql, "INSERT INTO other%c%s VALUES (?", store->pg ? '_' : '.', t->name);
    for (int i = 1; i < columns; i++) size += snprintf(sql + size, sizeof sql - (size_t)size, ", ?");
    snprintf(sql + size, sizeof sql - (size_t)size, ")");
    gs_query put = gs_sql_ad_hoc(store, sql);
    for (int i = 0; i < columns; i++) bind(&put, row, i);
    return gs_sql_run(&put);
}

static gs_status copy(gs_store *store, gs_store *other, const struct table *t, gs_error *error)
{
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT * FROM %s", t->name);
    GS_TRY(gs_sql_status(store, make(store, t), error));
    gs_query rows = gs_sql_ad_hoc(other, sql);
    int code, put = SQLITE_OK;
    while ((code = gs_sql_step(&rows)) == SQLITE_ROW && put == SQLITE_OK) put = put_row(store, t, &rows);
    gs_sql_leave(&rows);
    if (put != SQLITE_OK) return gs_sql_status(store, put, error);
    if (code != SQLITE_DONE) return gs_sql_status(other, code, error);
    snprintf(sql, sizeof sql, "ANALYZE other_%s", t->name);   /* the server's query planner needs statistics */
    return store->pg ? gs_sql_status(store, gs_sql_text_run(store, sql), error) : GS_OK;
}

gs_status gs_copy_tables(gs_store *store, gs_store *other, gs_error *error)
{
    for (size_t i = 0; i < GS_COUNT(tables); i++) GS_TRY(copy(store, other, &tables[i], error));
    return GS_OK;
}

bool gs_copy_same(gs_store *a, gs_store *b)
{
    static const char which[] = "SELECT 'gemmsmith'::regclass::oid::bigint + 4294967296 * (SELECT system_identifier % 1000000007 FROM pg_control_system())";
    int64_t one, two;
    return a->pg && b->pg && gs_sql_number(a, which, &one) == SQLITE_OK && gs_sql_number(b, which, &two) == SQLITE_OK && one == two;
}

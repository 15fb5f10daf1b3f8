/* SPDX-License-Identifier: MIT
 * Finds the damaged table and row of a store, for the error message. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "pages/pages.h"
#include "store/sql.h"

/* The tables, and the column that identifies a row in messages. */
static const struct table {
    const char *name, *key;
} tables[] = {
    {"session", "id"}, {"problem", "text"}, {"trial", "candidate"}, {"winner", "candidate"}, {"measurement", "uid"}, {"sample", "measurement"},
    {"result", "key"}, {"lease", "problem"}, {"curve", "id"}, {"point", "curve"}, {"job", "id"}, {"source", "hash"}, {"prompt", "hash"},
    {"turn", "uid"}, {"outcome", "turn"},
};

/* Reads every row of a table; row: the key of the last one that could be read. */
static int read_table(gs_store *store, const char *database, const struct table *table, char *row, size_t size)
{
    char sql[160];
    sqlite3_stmt *statement;
    *row = '\0';
    sqlite3_snprintf(sizeof sql, sql, "SELECT %s, * FROM %s.%s NOT INDEXED", table->key, database, table->name);
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (code == SQLITE_ERROR) return SQLITE_OK;   /* the table does not exist in an older version */
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        snprintf(row, size, "%s", gs_sql_or_empty((const char *)sqlite3_column_text(statement, 0)));
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Finds the first table that cannot be read: "damaged in table trial behind row simple/64x64". False: all can be read. */
static bool find_table(gs_store *store, const char *database, char *where, size_t size)
{
    static const struct table names = {"sqlite_master", "name"};
    char row[80];
    if ((read_table(store, database, &names, row, sizeof row) & 0xff) == SQLITE_CORRUPT) {
        snprintf(where, size, "damaged in its list of tables");
        return true;
    }
    for (size_t i = 0; i < GS_COUNT(tables); i++) {
        const int code = read_table(store, database, &tables[i], row, sizeof row);
        if ((code & 0xff) != SQLITE_CORRUPT) continue;
        if (*row)
            snprintf(where, size, "damaged in table %s behind row '%s'", tables[i].name, row);
        else
            snprintf(where, size, "damaged in table %s at its first row", tables[i].name);
        return true;
    }
    return false;
}

gs_status gs_damage_tell(gs_store *store, const char *database, const char *name, int code, gs_error *error)
{
    char where[176] = "";
    const bool hash = code == GS_PAGES_DAMAGED;
    snprintf(where, sizeof where, "%s", hash ? "damaged" : sqlite3_errstr(code));
    if (error && store->db && (code & 0xff) == SQLITE_CORRUPT) find_table(store, database, where, sizeof where);
    if (strcmp(database, "main") != 0)
        return gs_fail(error, GS_ERROR_STORE_CORRUPT, NULL, "%.80s cannot be read: %s", name, where);
    if ((code & 0xff) == SQLITE_NOTADB)   /* usually a wrong path */
        return gs_fail(error, GS_ERROR_STORE_CORRUPT, NULL, "%.80s is not a store: %s. Name another one, or move it aside with its -wal and -shm, and a new one will be made", name, where);
    return gs_fail(error, GS_ERROR_STORE_CORRUPT, NULL,
                   "%.80s: %s. %s it aside with its -wal and -shm, a new one will be made; `gemmsmith db merge MOVED-FILE` brings back what can be read",
                   name, where, hash ? "If sqlite3 changed it, `gemmsmith db seal` takes it as it is; else move" : "Move");
}

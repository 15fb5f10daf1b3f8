/* SPDX-License-Identifier: MIT
 * Replaces the room in a build without libpq: gs_pg_open fails, so nothing else is ever called. */
#include <stddef.h>

#include "base/error.h"
#include "postgres/postgres.h"

gs_status gs_pg_open(gs_pg **out, const char *name, bool read_only, gs_error *error)
{
    (void)name, (void)read_only;
    *out = NULL;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "store", "this gemmsmith was built without PostgreSQL: install libpq-dev and build it again, or name a file");
}

void          gs_pg_close(gs_pg **pg) { *pg = NULL; }
const char   *gs_pg_label(const gs_pg *pg) { return (void)pg, ""; }
const char   *gs_pg_message(const gs_pg *pg) { return (void)pg, ""; }
bool          gs_pg_moved(const gs_pg *pg) { return (void)pg, false; }
gs_pg_query  *gs_pg_query_new(gs_pg *pg, const char *sql) { return (void)pg, (void)sql, NULL; }
void          gs_pg_text(gs_pg_query *query, const char *value) { (void)query, (void)value; }
void          gs_pg_int(gs_pg_query *query, int64_t value) { (void)query, (void)value; }
void          gs_pg_real(gs_pg_query *query, double value) { (void)query, (void)value; }
gs_status     gs_pg_step(gs_pg_query *query, bool *row) { return (void)query, *row = false, GS_ERROR_UNSUPPORTED; }
int64_t       gs_pg_changed(const gs_pg *pg) { return (void)pg, 0; }
void          gs_pg_query_free(gs_pg_query **query) { *query = NULL; }
int           gs_pg_columns(const gs_pg_query *query) { return (void)query, 0; }
gs_pg_type    gs_pg_column_type(const gs_pg_query *query, int column) { return (void)query, (void)column, GS_PG_NULL; }
const char   *gs_pg_column(const gs_pg_query *query, int column) { return (void)query, (void)column, NULL; }
gs_status     gs_pg_text_run(gs_pg *pg, const char *sql) { return (void)pg, (void)sql, GS_ERROR_UNSUPPORTED; }
gs_status     gs_pg_begin(gs_pg *pg, bool again) { return (void)pg, (void)again, GS_ERROR_UNSUPPORTED; }
gs_status     gs_pg_end(gs_pg *pg, bool commit) { return (void)pg, (void)commit, GS_ERROR_UNSUPPORTED; }
bool          gs_pg_in_transaction(const gs_pg *pg) { return (void)pg, false; }

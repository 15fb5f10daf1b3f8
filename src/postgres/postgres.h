/* SPDX-License-Identifier: MIT
 * A connection to a PostgreSQL server that survives a lost connection: work is replayed, and takes effect once.
 * A transaction is kept as the list of its statements. When the connection or the transaction breaks (server restart, deadlock), it is replayed on a new
 * connection; if a statement then returns other rows than the first time, the transaction fails. Each connection has a row in the table writer, updated by
 * each transaction, which tells whether a transaction whose COMMIT got no answer was committed.
 * Without libpq every call fails and says so. */
#ifndef GS_POSTGRES_POSTGRES_H
#define GS_POSTGRES_POSTGRES_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#define GS_PG_WAIT_S  10   /* seconds that a statement waits for another process's lock */
#define GS_PG_RETRY_S 60   /* seconds for which a lost connection is tried again */
#define GS_PG_VALUES  20   /* most parameters of a statement */

/* Replayable transactions record their number here. */
#define GS_PG_WRITER_TABLE "CREATE TABLE writer (uid TEXT PRIMARY KEY, number BIGINT NOT NULL, date TIMESTAMPTZ NOT NULL);"

typedef struct gs_pg gs_pg;

/* Whether a store's name is a connection string: "postgresql://...", "host=... dbname=...". */
bool gs_pg_is_name(const char *name);

gs_status   gs_pg_open(gs_pg **out, const char *name, bool read_only, gs_error *error);   /* IO, MEMORY; UNSUPPORTED: built without libpq */
void        gs_pg_close(gs_pg **pg);
const char *gs_pg_label(const gs_pg *pg);     /* user, host and database, for messages: no password */
const char *gs_pg_message(const gs_pg *pg);   /* why the last call failed */
bool        gs_pg_moved(const gs_pg *pg);     /* the last call failed because a replayed transaction read other rows than before: the caller may do the whole again */

/* A statement; its parameters are "?" or "?1", "?2", ..., as in SQLite. gs_pg_step reports failures of binding. */
typedef struct gs_pg_query gs_pg_query;
gs_pg_query *gs_pg_query_new(gs_pg *pg, const char *sql);   /* NULL: no memory */
void         gs_pg_text(gs_pg_query *query, const char *value);   /* NULL: SQL's NULL; copied */
void         gs_pg_int(gs_pg_query *query, int64_t value);
void         gs_pg_real(gs_pg_query *query, double value);        /* NaN: SQL's NULL */
gs_status    gs_pg_step(gs_pg_query *query, bool *row);           /* STORE_BUSY, STORE, IO, DISK_FULL, MEMORY */
int64_t      gs_pg_changed(const gs_pg *pg);                      /* rows that the last statement wrote */
void         gs_pg_query_free(gs_pg_query **query);

typedef enum gs_pg_type { GS_PG_NULL, GS_PG_INT, GS_PG_REAL, GS_PG_TEXT } gs_pg_type;
int         gs_pg_columns(const gs_pg_query *query);
gs_pg_type  gs_pg_column_type(const gs_pg_query *query, int column);
const char *gs_pg_column(const gs_pg_query *query, int column);   /* NULL: SQL's NULL; valid until the query is freed */

/* Statements without parameters; not recorded for a replay. */
gs_status gs_pg_text_run(gs_pg *pg, const char *sql);

/* again: the transaction is replayed if it breaks. end: COMMIT, or ROLLBACK if commit is false. */
gs_status gs_pg_begin(gs_pg *pg, bool again);
gs_status gs_pg_end(gs_pg *pg, bool commit);
bool      gs_pg_in_transaction(const gs_pg *pg);

#endif

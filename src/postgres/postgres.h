/* SPDX-License-Identifier: MIT
 * A connection to a PostgreSQL server, which survives the server: what was lost is done again where that is the same as doing it once.
 * A transaction is kept as the statements it was made of. When the connection or the transaction breaks (the server was ended, two transactions held
 * each other up), it is played again on a new connection; if it then reads something else than the first time, it is given up. A row per connection,
 * written by the transaction itself, says whether a transaction whose COMMIT got no answer was done.
 * Without libpq every call fails and says so. */
#ifndef GS_POSTGRES_POSTGRES_H
#define GS_POSTGRES_POSTGRES_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#define GS_PG_WAIT_S  10   /* how long a statement waits for another process's transaction */
#define GS_PG_RETRY_S 60   /* how long a server that went away is asked again */
#define GS_PG_VALUES  20   /* of a statement, at most */

/* Transactions that are played again write here that they are done. */
#define GS_PG_WRITER_TABLE "CREATE TABLE writer (uid TEXT PRIMARY KEY, number BIGINT NOT NULL, date TIMESTAMPTZ NOT NULL);"

typedef struct gs_pg gs_pg;

/* Whether a store's name is a connection string: "postgresql://...", "host=... dbname=...". */
bool gs_pg_is_name(const char *name);

gs_status   gs_pg_open(gs_pg **out, const char *name, bool read_only, gs_error *error);   /* IO, MEMORY; ARGUMENT: built without libpq */
void        gs_pg_close(gs_pg **pg);
const char *gs_pg_label(const gs_pg *pg);     /* user, host and database, for messages: no password */
const char *gs_pg_message(const gs_pg *pg);   /* why the last call failed */
bool        gs_pg_moved(const gs_pg *pg);     /* the last call failed because a transaction, played again, read something else: try the whole again */

/* A statement: its parameters are "?" or "?1", "?2", ..., as for SQLite. Failures while it is bound are told by step. */
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
const char *gs_pg_column(const gs_pg_query *query, int column);   /* NULL: SQL's NULL; lives as long as the query */

/* Statements without parameters; no part of a transaction that can be played again. */
gs_status gs_pg_text_run(gs_pg *pg, const char *sql);

/* again: it is played again if need be. end: commit, or take everything back. */
gs_status gs_pg_begin(gs_pg *pg, bool again);
gs_status gs_pg_end(gs_pg *pg, bool commit);
bool      gs_pg_in_transaction(const gs_pg *pg);

#endif

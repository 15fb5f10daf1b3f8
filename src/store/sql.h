/* SPDX-License-Identifier: MIT
 * Internal to the store: SQL on an SQLite file or a PostgreSQL server: prepared statements, typed binding, transactions, result codes mapped to gs_status.
 * Result codes are SQLite's for both; gs_sql_status turns a server's failure back into its own status and message. Both understand most statements;
 * server_statements[] of sql.c has the exceptions. */
#ifndef GS_STORE_SQL_H
#define GS_STORE_SQL_H

#include <sqlite3.h>

#include "base/file.h"
#include "postgres/postgres.h"
#include "store/store.h"

#define GS_STORE_WAIT_MS 10000   /* how long a call waits for another process's lock */

/* Every statement that is kept prepared; the texts are in statements[] of sql.c. */
typedef enum gs_sql_id {
    GS_SQL_BEGIN, GS_SQL_COMMIT, GS_SQL_ROLLBACK,
    GS_SQL_PUT_SESSION, GS_SQL_FIND_SESSION, GS_SQL_PUT_PROBLEM, GS_SQL_PUT_TRIAL, GS_SQL_PUT_MEASUREMENT, GS_SQL_PUT_SAMPLE, GS_SQL_PUT_WINNER,
    GS_SQL_PUT_RESULT, GS_SQL_GET_RESULT,
    GS_SQL_PUT_CURVE, GS_SQL_PUT_POINT, GS_SQL_DROP_POINTS,
    GS_SQL_GET_LEASE, GS_SQL_LOCK_LEASE, GS_SQL_PUT_LEASE, GS_SQL_MOVE_LEASE, GS_SQL_RENEW_LEASE, GS_SQL_DONE_LEASE, GS_SQL_DROP_LEASE, GS_SQL_DROP_LEASES, GS_SQL_LEAVE_LEASES,
    GS_SQL_PUT_JOB, GS_SQL_GET_JOB, GS_SQL_TRY_JOB, GS_SQL_KEEP_JOB, GS_SQL_END_JOB, GS_SQL_LEAVE_JOB, GS_SQL_OPEN_JOBS, GS_SQL_LOOK_JOBS, GS_SQL_DROP_JOBS, GS_SQL_GET_LIBRARY, GS_SQL_BEST_US,
    GS_SQL_PUT_SOURCE, GS_SQL_GET_SOURCE, GS_SQL_PUT_PROMPT, GS_SQL_PUT_TURN, GS_SQL_LOCK_TURN, GS_SQL_FIND_TURN, GS_SQL_PUT_OUTCOME, GS_SQL_GET_OUTCOMES,
    GS_SQL_IDS
} gs_sql_id;

static inline const char *gs_sql_or_empty(const char *text) { return text ? text : ""; }

struct gs_store {
    gs_pg        *pg;                      /* connection to a server; NULL: the store is the file db */
    sqlite3      *db;
    sqlite3_stmt *statement[GS_SQL_IDS];   /* prepared at first use */
    char          path[GS_PATH];
    bool          unchecked;               /* page checksums are written, but not verified */
};

/* A statement being bound and run. code keeps the first failure; gs_sql_step returns it. */
typedef struct gs_query {
    gs_store     *store;
    sqlite3_stmt *statement;
    gs_pg_query  *pg;
    bool          ad_hoc;   /* prepared for this query only, finalised with it */
    int           code;     /* an SQLite code */
    int           at;       /* index of the last parameter that was bound */
} gs_query;

gs_query gs_sql(gs_store *store, gs_sql_id id);
gs_query gs_sql_ad_hoc(gs_store *store, const char *sql);     /* prepared for this query; several may be open at the same time */
void     gs_sql_text(gs_query *query, const char *value);     /* NULL: SQL's NULL; the text must live until the next step */
void     gs_sql_int(gs_query *query, int64_t value);
void     gs_sql_real(gs_query *query, double value);          /* NaN: SQL's NULL */
int      gs_sql_step(gs_query *query);                        /* SQLITE_ROW, SQLITE_DONE or an error */
int      gs_sql_run(gs_query *query);                         /* runs to the end, then gs_sql_leave: SQLITE_OK or an error */
void     gs_sql_leave(gs_query *query);                       /* resets the statement (finalises an ad hoc one); allowed before the last row was read */

/* Columns of the current row. A text is valid until the next step. */
int64_t     gs_sql_get_int(const gs_query *query, int column);
double      gs_sql_get_real(const gs_query *query, int column);
const char *gs_sql_get_text(const gs_query *query, int column);   /* NULL: SQL's NULL */
bool        gs_sql_is_null(const gs_query *query, int column);
bool        gs_sql_is_number(const gs_query *query, int column, bool real);   /* its type is REAL (real is true) or INTEGER */
int         gs_sql_columns(const gs_query *query);

int64_t gs_sql_changed(gs_store *store);   /* rows that the last statement wrote */
bool    gs_sql_moved(gs_store *store);     /* gs_pg_moved; false for a file */

int gs_sql_text_run(gs_store *store, const char *sql);        /* one or more statements without parameters */
int gs_sql_number(gs_store *store, const char *sql, int64_t *value);   /* first column of the first row; 0 if there is none */

/* begin: BEGIN IMMEDIATE. end: COMMIT if status is GS_OK, else ROLLBACK; returns status, or why the commit failed. */
gs_status gs_sql_begin(gs_store *store, gs_error *error);
int       gs_sql_begin_once(gs_store *store);   /* on a server: a long transaction, which is not replayed when the connection is lost */
gs_status gs_sql_end(gs_store *store, gs_status status, gs_error *error);

/* Maps a result code to gs_status, with a message that names the store and says what to do. SQLITE_OK is GS_OK. */
gs_status gs_sql_status(gs_store *store, int code, gs_error *error);

/* The same for a failure in another file that is attached to this store's connection. */
gs_status gs_sql_status_of(gs_store *store, const char *other_path, int code, gs_error *error);

/* store.c. Within a transaction: adds the problem's row if there is none; problem[GS_PROBLEM_TEXT] receives the canonical form of its text. */
gs_status gs_sql_problem(gs_store *store, const char *text, char *problem, gs_error *error);
gs_status gs_sql_need_session(const gs_session *session, gs_error *error);   /* ARGUMENT: gs_store_begin was not called for it */

/* The last part of a path, short enough for a message. */
const char *gs_sql_tail(const char *path);

/* damage.c: the error for a damaged page: which table and row it was found at, and what can be done about it. */
gs_status gs_damage_tell(gs_store *store, const char *database, const char *name, int code, gs_error *error);

/* log.c: warns if the write-ahead log beside the store is damaged. To be called before the store is opened, because opening may remove the log. */
void gs_log_examine(const char *path);

/* copy.c: within a transaction, creates tables other.session, ... (on a server: other_session, ...) with copies of the other store's rows. */
gs_status gs_copy_tables(gs_store *store, gs_store *other, gs_error *error);
bool      gs_copy_same(gs_store *a, gs_store *b);   /* both names refer to the same database */

/* schema.c: migrates an open database to this version, or says why it cannot be used. */
gs_status gs_schema_prepare(gs_store *store, gs_error *error);

/* server.c: the same for a database on a server; an empty one gets the tables. */
gs_status gs_schema_server(gs_store *store, bool read_only, gs_error *error);

/* schema.c: the migration steps from an empty database to this version; *count: their number, which is the version. */
const char *const *gs_schema_steps(int *count);

/* schema.c: the errors for a database of a newer version and for one of another program. */
gs_status gs_schema_newer(const char *path, int64_t version, gs_error *error);
gs_status gs_schema_foreign(const char *path, gs_error *error);

/* schema.c: checks a database that is only read; writes nothing. *old: it has an older version. STORE also: it is empty. */
gs_status gs_schema_look(gs_store *store, bool *old, gs_error *error);

/* schema.c: computes every page's checksum again; *accepted: how many did not match. */
gs_status gs_schema_seal(gs_store *store, int64_t *accepted, gs_error *error);

/* schema.c: GS_OK if the attached database "other", whose file is path, is a store of exactly this version. */
gs_status gs_schema_check_other(gs_store *store, const char *path, gs_error *error);

/* ---- leases, within a transaction of other calls (lease.c) ---- */

/* As gs_store_lease. */
gs_status gs_lease_take(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, gs_lease *out, gs_error *error);
/* Takes the lease only if nobody holds it or ever held it: *taken. A single INSERT; nothing is read. */
gs_status gs_lease_add(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, bool *taken, gs_error *error);
/* Columns run, host, pid, born, expires, done of a row, in the order of LEASE_READ: whether somebody other than `who` holds the lease now. */
bool      gs_lease_held(const gs_query *query, const gs_lessee *who);

#endif

/* SPDX-License-Identifier: MIT
 * SQL as the store uses it, on SQLite or on a PostgreSQL server: statements, typed binding, transactions, and result codes turned into gs_status.
 * Codes are SQLite's; what a server says is told by gs_sql_status. Statements are written so that both understand them; sql.c has those few that differ.
 * Inside the store only. */
#ifndef GS_STORE_SQL_H
#define GS_STORE_SQL_H

#include <sqlite3.h>

#include "base/file.h"
#include "postgres/postgres.h"
#include "store/store.h"

#define GS_STORE_WAIT_MS 10000   /* how long a call waits for another process's transaction */

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
    gs_pg        *pg;                      /* a server; NULL: a file, db */
    sqlite3      *db;
    sqlite3_stmt *statement[GS_SQL_IDS];   /* prepared at first use */
    char          path[GS_PATH];
    bool          unchecked;               /* hashes of pages are written, not looked at */
};

/* A statement being bound and run. The first failure is kept in code; step returns it. */
typedef struct gs_query {
    gs_store     *store;
    sqlite3_stmt *statement;
    gs_pg_query  *pg;
    bool          ad_hoc;   /* the statement is this query's alone */
    int           code;     /* an SQLite code */
    int           at;       /* last parameter that was bound */
} gs_query;

gs_query gs_sql(gs_store *store, gs_sql_id id);
gs_query gs_sql_ad_hoc(gs_store *store, const char *sql);     /* prepared for this call, which may be one of several at a time */
void     gs_sql_text(gs_query *query, const char *value);     /* NULL: SQL's NULL; the text must live until the next step */
void     gs_sql_int(gs_query *query, int64_t value);
void     gs_sql_real(gs_query *query, double value);          /* NaN: SQL's NULL */
int      gs_sql_step(gs_query *query);                        /* SQLITE_ROW, SQLITE_DONE or an error */
int      gs_sql_run(gs_query *query);                         /* to the end, then leaves it: SQLITE_OK or an error */
void     gs_sql_leave(gs_query *query);                       /* ready for its next use, whether it was read to the end or not */

/* Of the row that step came to. A text lives until the next step. */
int64_t     gs_sql_get_int(const gs_query *query, int column);
double      gs_sql_get_real(const gs_query *query, int column);
const char *gs_sql_get_text(const gs_query *query, int column);   /* NULL: SQL's NULL */
bool        gs_sql_is_null(const gs_query *query, int column);
bool        gs_sql_is_number(const gs_query *query, int column, bool real);   /* a whole number, or one with a fraction */
int         gs_sql_columns(const gs_query *query);

int64_t gs_sql_changed(gs_store *store);   /* rows that the last statement wrote */
bool    gs_sql_moved(gs_store *store);     /* gs_pg_moved; false of a file */

int gs_sql_text_run(gs_store *store, const char *sql);        /* one or more statements without parameters */
int gs_sql_number(gs_store *store, const char *sql, int64_t *value);   /* first column of the first row; 0 if there is none */

/* BEGIN IMMEDIATE; and, by status, COMMIT or ROLLBACK. end returns status, or why the commit failed. */
gs_status gs_sql_begin(gs_store *store, gs_error *error);
int       gs_sql_begin_once(gs_store *store);   /* on a server: a transaction that is not done again when the connection is lost, since it is long */
gs_status gs_sql_end(gs_store *store, gs_status status, gs_error *error);

/* The gs_status of an SQLite code, with a message about the store that says how to go on. SQLITE_OK is GS_OK. */
gs_status gs_sql_status(gs_store *store, int code, gs_error *error);

/* The same where the failure is about another file, attached to this store's connection. */
gs_status gs_sql_status_of(gs_store *store, const char *other_path, int code, gs_error *error);

/* store.c. Within a transaction, the row of a problem, whose text is brought into its one canonical form: problem[GS_PROBLEM_TEXT]. */
gs_status gs_sql_problem(gs_store *store, const char *text, char *problem, gs_error *error);
gs_status gs_sql_need_session(const gs_session *session, gs_error *error);   /* ARGUMENT: it has not begun */

/* The last part of a path, short enough for a message. */
const char *gs_sql_tail(const char *path);

/* damage.c: says which table and row a damaged page was met at, what can be done about it. */
gs_status gs_damage_tell(gs_store *store, const char *database, const char *name, int code, gs_error *error);

/* log.c: warns of a write-ahead log beside the store that is damaged. Before the store is opened, which may remove it. */
void gs_log_examine(const char *path);

/* copy.c: within a transaction, tables other.session, ... (on a server: other_session, ...) with the other store's rows, as they are. */
gs_status gs_copy_tables(gs_store *store, gs_store *other, gs_error *error);
bool      gs_copy_same(gs_store *a, gs_store *b);   /* two names of one database */

/* schema.c: brings an open database to this version, or says why it cannot be used. */
gs_status gs_schema_prepare(gs_store *store, gs_error *error);

/* server.c: the same of a database on a server, which is empty at first. */
gs_status gs_schema_server(gs_store *store, bool read_only, gs_error *error);

/* schema.c: the steps from no tables to those of this version; *count: how many, which is the version. */
const char *const *gs_schema_steps(int *count);

/* schema.c: "it is of a newer version", "it is another program's". */
gs_status gs_schema_newer(const char *path, int64_t version, gs_error *error);
gs_status gs_schema_foreign(const char *path, gs_error *error);

/* schema.c: the same of a database that is only to be read: nothing is written. *old: it is of an older version. STORE also: it is empty. */
gs_status gs_schema_look(gs_store *store, bool *old, gs_error *error);

/* schema.c: gives every page a new hash; *accepted had others. */
gs_status gs_schema_seal(gs_store *store, int64_t *accepted, gs_error *error);

/* schema.c: GS_OK if the attached database "other", whose file is path, is a store of exactly this version. */
gs_status gs_schema_check_other(gs_store *store, const char *path, gs_error *error);

/* ---- leases, within a transaction of other calls (lease.c) ---- */

/* As gs_store_lease. */
gs_status gs_lease_take(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, gs_lease *out, gs_error *error);
/* Only where nobody has it, or ever had: *taken. One statement, and nothing is read. */
gs_status gs_lease_add(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, bool *taken, gs_error *error);
/* Of columns run, host, pid, born, expires, done of a row, as LEASE_READ has them: whether another one than `who` has it now. */
bool      gs_lease_held(const gs_query *query, const gs_lessee *who);

#endif

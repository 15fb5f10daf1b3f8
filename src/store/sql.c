/* SPDX-License-Identifier: MIT
 * The texts of the statements, binding, transactions, and the error message of each result code. */
#include "store/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Updating a trial keeps the stored value where the new one is 0 or empty. part and reason belong to the verdict and change with it. */
#define UNLESS(condition, column) #column " = CASE WHEN " condition " THEN trial." #column " ELSE excluded." #column " END"
#define KEEP_NUMBER(column)       UNLESS("excluded." #column " = 0", column)
#define KEEP_TEXT(column)         UNLESS("excluded." #column " = ''", column)
#define KEEP_VERDICT(column, empty) UNLESS("excluded.verdict IN ('', trial.verdict) AND excluded." #column " = " empty, column)
#define KEEP_ORIGIN(column)       UNLESS("excluded.us = 0 AND trial.us <> 0", column)   /* session and date of the measurement */

#define TRIAL_VALUES                                                                                                     \
    " (device, problem, candidate, verdict, part, reason, registers, smem, predicted_us, us, library_us, ratio, low, high," \
    "  rounds, mhz, stage, session, date)"                                                                               \
    " SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19 FROM problem WHERE text = ?2"

#define REPLACE(column) #column " = excluded." #column
#define LEASE_VALUES "(device, problem, run, host, pid, born, expires, done) VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (device, problem) DO "
#define LEASE_READ "SELECT run, host, pid, born, expires, done FROM lease WHERE device = ? AND problem = ?"
#define THE_CURVE "session = ?1 AND series = ?2 AND name = ?3"
#define LESSEE "run = ?1 AND host = ?2 AND pid = ?3 AND born = ?4"

static const char *const statements[GS_SQL_IDS] = {
    [GS_SQL_BEGIN]       = "BEGIN IMMEDIATE",
    [GS_SQL_COMMIT]      = "COMMIT",
    [GS_SQL_ROLLBACK]    = "ROLLBACK",
    [GS_SQL_PUT_SESSION] = "INSERT INTO session (uid, date, command, version, revision, device, cc, sms, driver, cublaslt, nvrtc)"
                           " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [GS_SQL_FIND_SESSION] = "SELECT id FROM session WHERE uid = ?",
    [GS_SQL_PUT_PROBLEM] = "INSERT INTO problem (text, m, n, k) VALUES (?, ?, ?, ?) ON CONFLICT (text) DO NOTHING",
    [GS_SQL_PUT_TRIAL]   = "INSERT INTO trial" TRIAL_VALUES " ON CONFLICT (device, problem, candidate) DO UPDATE SET "
                           KEEP_VERDICT(part, "0") ", " KEEP_VERDICT(reason, "''") ", " KEEP_TEXT(verdict) ", "
                           KEEP_NUMBER(registers) ", " KEEP_NUMBER(smem) ", " KEEP_NUMBER(predicted_us) ", " KEEP_NUMBER(us) ", "
                           KEEP_NUMBER(library_us) ", " KEEP_NUMBER(ratio) ", " KEEP_NUMBER(low) ", " KEEP_NUMBER(high) ", "
                           KEEP_NUMBER(rounds) ", " KEEP_NUMBER(mhz) ", " KEEP_TEXT(stage) ", "
                           KEEP_ORIGIN(session) ", " KEEP_ORIGIN(date),
    [GS_SQL_PUT_WINNER]  = "INSERT INTO winner" TRIAL_VALUES " ON CONFLICT (device, problem) DO UPDATE SET " REPLACE(candidate) ", " REPLACE(verdict) ", " REPLACE(part) ", "
                           REPLACE(reason) ", " REPLACE(registers) ", " REPLACE(smem) ", " REPLACE(predicted_us) ", " REPLACE(us) ", " REPLACE(library_us) ", "
                           REPLACE(ratio) ", " REPLACE(low) ", " REPLACE(high) ", " REPLACE(rounds) ", " REPLACE(mhz) ", " REPLACE(stage) ", " REPLACE(session) ", "
                           REPLACE(date),
    [GS_SQL_PUT_MEASUREMENT] = "INSERT INTO measurement (uid, trial, session, clock, date)"
                               " SELECT ?1, t.id, ?2, ?3, ?4 FROM trial t JOIN problem p ON p.id = t.problem"
                               " WHERE t.device = ?5 AND p.text = ?6 AND t.candidate = ?7",
    [GS_SQL_PUT_SAMPLE]  = "INSERT INTO sample (measurement, round, us, reference_us) VALUES ((SELECT id FROM measurement WHERE uid = ?), ?, ?, ?)",
    [GS_SQL_PUT_RESULT]  = "INSERT INTO result (key, value, session, date) VALUES (?, ?, ?, ?)"
                           " ON CONFLICT (key) DO UPDATE SET value = excluded.value, session = excluded.session, date = excluded.date",
    [GS_SQL_GET_RESULT]  = "SELECT value FROM result WHERE key = ?",
    [GS_SQL_PUT_CURVE]   = "INSERT INTO curve (session, series, name, date) VALUES (?, ?, ?, ?)"
                           " ON CONFLICT (session, series, name) DO UPDATE SET date = excluded.date",
    [GS_SQL_PUT_POINT]   = "INSERT INTO point (curve, step, x, y) SELECT id, ?4, ?5, ?6 FROM curve WHERE " THE_CURVE,
    [GS_SQL_DROP_POINTS] = "DELETE FROM point WHERE curve = (SELECT id FROM curve WHERE " THE_CURVE ")",
    [GS_SQL_GET_LEASE]   = LEASE_READ,
    [GS_SQL_LOCK_LEASE]  = LEASE_READ,
    [GS_SQL_PUT_LEASE]   = "INSERT INTO lease " LEASE_VALUES "NOTHING",
    [GS_SQL_MOVE_LEASE]  = "INSERT INTO lease " LEASE_VALUES "UPDATE SET run = excluded.run, host = excluded.host, pid = excluded.pid, born = excluded.born,"
                           " expires = excluded.expires, done = excluded.done",
    [GS_SQL_RENEW_LEASE] = "UPDATE lease SET expires = ?5 WHERE " LESSEE " AND done = 0",
    [GS_SQL_DONE_LEASE]  = "UPDATE lease SET done = 1, expires = ?7 WHERE " LESSEE " AND device = ?5 AND problem = ?6",
    [GS_SQL_DROP_LEASE]  = "DELETE FROM lease WHERE " LESSEE " AND device = ?5 AND problem = ?6 AND done = 0",
    [GS_SQL_DROP_LEASES] = "DELETE FROM lease WHERE run = ? OR expires < ?",
    [GS_SQL_LEAVE_LEASES] = "DELETE FROM lease WHERE " LESSEE " AND done = 0",
    [GS_SQL_PUT_JOB]     = "INSERT INTO job (id, device, request, attempts, answer, failed, date, expires) VALUES (?, ?, ?, 0, NULL, 0, ?, ?)"
                           " ON CONFLICT (id) DO UPDATE SET attempts = 0, answer = NULL, failed = 0, expires = excluded.expires WHERE job.failed = 1 AND job.request = excluded.request",
    [GS_SQL_GET_JOB]     = "SELECT request, attempts, answer, failed, expires FROM job WHERE id = ?",
    [GS_SQL_TRY_JOB]     = "UPDATE job SET attempts = CASE WHEN attempts + ?2 > 0 THEN attempts + ?2 ELSE 0 END WHERE id = ?1 AND answer IS NULL",
    [GS_SQL_KEEP_JOB]    = "UPDATE job SET expires = CASE WHEN expires = 0 OR ?2 = 0 THEN 0 WHEN expires > ?2 THEN expires ELSE ?2 END WHERE id = ?1 AND answer IS NULL",
    [GS_SQL_END_JOB]     = "UPDATE job SET answer = ?2, failed = ?3, date = ?4 WHERE id = ?1 AND answer IS NULL",
    [GS_SQL_LOOK_JOBS]   = "SELECT count(*), max(number), min(date) FROM (SELECT number, date FROM job WHERE number > ? ORDER BY number LIMIT ?) AS stretch",
    [GS_SQL_DROP_JOBS]   = "DELETE FROM job WHERE number > ? AND number <= ? AND answer IS NOT NULL AND date < ?",
    [GS_SQL_LEAVE_JOB]   = "DELETE FROM lease WHERE device = (SELECT device FROM job WHERE id = ?1) AND problem = 'job:' || ?1",
    [GS_SQL_OPEN_JOBS]   = "SELECT run, host, pid, born, lease.expires, done, id, job.expires, length(request) FROM job LEFT JOIN lease ON lease.device = job.device"
                           " AND lease.problem = 'job:' || job.id WHERE job.device = ? AND answer IS NULL ORDER BY number",
    [GS_SQL_PUT_SOURCE]  = "INSERT INTO source (hash, source, manifest, date) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
    [GS_SQL_GET_SOURCE]  = "SELECT source, manifest FROM source WHERE hash = ?",
    [GS_SQL_PUT_PROMPT]  = "INSERT INTO prompt (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
    [GS_SQL_PUT_TURN]    = "INSERT INTO turn (uid, session, device, problem, mode, model, island, number, base, system, ask, answer, fault, date)"
                           " SELECT ?1, ?2, ?3, id, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 FROM problem WHERE text = ?4",
    [GS_SQL_LOCK_TURN]   = "SELECT id FROM turn WHERE uid = ?",
    [GS_SQL_FIND_TURN]   = "SELECT (SELECT count(*) FROM outcome WHERE outcome.turn = turn.id) FROM turn WHERE uid = ?",
    [GS_SQL_PUT_OUTCOME] = "INSERT INTO outcome (turn, position, candidate, verdict, part, reason, us, library_us, ratio, low, high, reward, registers, smem,"
                           " metrics) VALUES ((SELECT id FROM turn WHERE uid = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [GS_SQL_GET_OUTCOMES] = "SELECT candidate, verdict, reason, metrics, part, registers, smem, us, library_us, ratio, low, high, reward FROM outcome"
                           " WHERE turn = ? ORDER BY position",
    [GS_SQL_GET_LIBRARY] = "SELECT t.library_us, t.date FROM trial t JOIN problem p ON p.id = t.problem WHERE t.device = ? AND p.text = ?"
                           " AND t.library_us > 0 ORDER BY t.date DESC, t.id DESC LIMIT 1",
    [GS_SQL_BEST_US]     = "SELECT min(t.us) FROM trial t JOIN problem p ON p.id = t.problem JOIN session s ON s.id = t.session"
                           " WHERE t.device = ? AND p.text = ? AND s.version = ? AND t.verdict = 'pass' AND t.us > 0",
};

/* Statements that differ on a server, where several transactions write at the same time; a file has one writer at a time. */
static const char *const server_statements[GS_SQL_IDS] = {
    [GS_SQL_LOCK_LEASE] = LEASE_READ " FOR UPDATE SKIP LOCKED",
    [GS_SQL_LOCK_TURN]  = "SELECT id FROM turn WHERE uid = ? FOR UPDATE",
};

static gs_query ask_server(gs_store *store, const char *sql)
{
    gs_query query = {.store = store, .pg = gs_pg_query_new(store->pg, sql)};
    if (!query.pg) query.code = SQLITE_NOMEM;
    return query;
}

gs_query gs_sql_ad_hoc(gs_store *store, const char *sql)
{
    if (store->pg) return ask_server(store, sql);
    gs_query query = {.store = store, .ad_hoc = true};
    query.code = sqlite3_prepare_v2(store->db, sql, -1, &query.statement, NULL);
    return query;
}

gs_query gs_sql(gs_store *store, gs_sql_id id)
{
    if (store->pg) return ask_server(store, server_statements[id] ? server_statements[id] : statements[id]);
    gs_query query = {.store = store};
    if (!store->statement[id])
        query.code = sqlite3_prepare_v3(store->db, statements[id], -1, SQLITE_PREPARE_PERSISTENT, &store->statement[id], NULL);
    query.statement = store->statement[id];
    return query;
}

static void note(gs_query *query, int code)
{
    if (query->code == SQLITE_OK) query->code = code;
}

void gs_sql_text(gs_query *query, const char *value)
{
    if (query->pg) gs_pg_text(query->pg, value);
    if (query->statement) note(query, sqlite3_bind_text(query->statement, ++query->at, value, -1, SQLITE_STATIC));
}

void gs_sql_int(gs_query *query, int64_t value)
{
    if (query->pg) gs_pg_int(query->pg, value);
    if (query->statement) note(query, sqlite3_bind_int64(query->statement, ++query->at, value));
}

void gs_sql_real(gs_query *query, double value)
{
    if (query->pg) gs_pg_real(query->pg, value);
    if (query->statement) note(query, sqlite3_bind_double(query->statement, ++query->at, value));
}

/* Encodes a server's status as an extended code that SQLite does not use. */
static int code_of(gs_status status) { return status == GS_OK ? SQLITE_OK : SQLITE_ERROR | (int)status << 8; }

int gs_sql_step(gs_query *query)
{
    bool row;
    if (query->code != SQLITE_OK) return query->code;
    if (!query->pg) return sqlite3_step(query->statement);
    const gs_status status = gs_pg_step(query->pg, &row);
    return status != GS_OK ? code_of(status) : row ? SQLITE_ROW : SQLITE_DONE;
}

int gs_sql_run(gs_query *query)
{
    int code;
    do {
        code = gs_sql_step(query);
    } while (code == SQLITE_ROW);
    gs_sql_leave(query);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

void gs_sql_leave(gs_query *query)
{
    gs_pg_query_free(&query->pg);
    if (!query->statement) return;
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
    if (query->ad_hoc) sqlite3_finalize(query->statement);
    query->statement = NULL;
}

int64_t gs_sql_get_int(const gs_query *query, int column)
{
    if (!query->pg) return sqlite3_column_int64(query->statement, column);
    const char *const text = gs_pg_column(query->pg, column);
    return text ? strtoll(text, NULL, 10) : 0;
}

double gs_sql_get_real(const gs_query *query, int column)
{
    if (!query->pg) return sqlite3_column_double(query->statement, column);
    const char *const text = gs_pg_column(query->pg, column);
    return text ? strtod(text, NULL) : 0;
}

const char *gs_sql_get_text(const gs_query *query, int column)
{
    return query->pg ? gs_pg_column(query->pg, column) : (const char *)sqlite3_column_text(query->statement, column);
}

bool gs_sql_is_null(const gs_query *query, int column)
{
    return query->pg ? !gs_pg_column(query->pg, column) : sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

bool gs_sql_is_number(const gs_query *query, int column, bool real)
{
    if (query->pg) return gs_pg_column_type(query->pg, column) == (real ? GS_PG_REAL : GS_PG_INT);
    return sqlite3_column_type(query->statement, column) == (real ? SQLITE_FLOAT : SQLITE_INTEGER);
}

int gs_sql_columns(const gs_query *query) { return query->pg ? gs_pg_columns(query->pg) : sqlite3_column_count(query->statement); }

int64_t gs_sql_changed(gs_store *store) { return store->pg ? gs_pg_changed(store->pg) : sqlite3_changes(store->db); }
bool    gs_sql_moved(gs_store *store) { return store->pg && gs_pg_moved(store->pg); }

int gs_sql_text_run(gs_store *store, const char *sql)
{
    return store->pg ? code_of(gs_pg_text_run(store->pg, sql)) : sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

int gs_sql_number(gs_store *store, const char *sql, int64_t *value)
{
    *value = 0;
    gs_query query = gs_sql_ad_hoc(store, sql);
    const int code = gs_sql_step(&query);
    if (code == SQLITE_ROW) *value = gs_sql_get_int(&query, 0);
    gs_sql_leave(&query);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

gs_status gs_sql_begin(gs_store *store, gs_error *error)
{
    if (store->pg) return gs_sql_status(store, code_of(gs_pg_begin(store->pg, true)), error);
    gs_query query = gs_sql(store, GS_SQL_BEGIN);
    return gs_sql_status(store, gs_sql_run(&query), error);
}

int gs_sql_begin_once(gs_store *store) { return code_of(gs_pg_begin(store->pg, false)); }

gs_status gs_sql_end(gs_store *store, gs_status status, gs_error *error)
{
    if (store->pg) {
        const gs_status ended = gs_pg_end(store->pg, status == GS_OK);
        return status != GS_OK ? status : gs_sql_status(store, code_of(ended), error);
    }
    if (status == GS_OK) {
        gs_query commit = gs_sql(store, GS_SQL_COMMIT);
        status = gs_sql_status(store, gs_sql_run(&commit), error);
    }
    if (status != GS_OK && !sqlite3_get_autocommit(store->db)) {   /* after some failures SQLite has rolled back already */
        gs_query rollback = gs_sql(store, GS_SQL_ROLLBACK);
        gs_sql_run(&rollback);
    }
    return status;
}

const char *gs_sql_tail(const char *path)
{
    const size_t size = strlen(path), most = 160;
    return size > most ? path + size - most : path;
}

/* errno of a failed system call, 0 if there was none. When a commit cannot write, errno is found at the file, not at the connection; SQLite itself maps only
 * ENOSPC to a full disk, not a quota (EDQUOT) or a size limit (EFBIG). */
static int system_error(gs_store *store, int code)
{
    const int primary = code & 0xff;
    if (!store->db || (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN)) return 0;
    int number = sqlite3_system_errno(store->db);
    sqlite3_file *journal = NULL;
    if (number == 0) sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods) journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &number);
    if (number == 0) sqlite3_file_control(store->db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

static gs_status status_of_code(int code, int system)
{
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return GS_ERROR_STORE_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return GS_ERROR_STORE_BUSY;
    case SQLITE_FULL:
        return GS_ERROR_DISK_FULL;
    case SQLITE_NOMEM:
        return GS_ERROR_MEMORY;
    case SQLITE_INTERRUPT:
        return GS_ERROR_INTERRUPTED;
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM) return GS_ERROR_MEMORY;
        return system == ENOSPC || system == EDQUOT || system == EFBIG ? GS_ERROR_DISK_FULL : GS_ERROR_IO;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return GS_ERROR_IO;
    default:
        return GS_ERROR_STORE;
    }
}

gs_status gs_sql_status_of(gs_store *store, const char *other_path, int code, gs_error *error)
{
    if (code == SQLITE_OK) return GS_OK;
    if (store->pg && code != SQLITE_NOMEM) return gs_fail(error, (gs_status)(code >> 8), NULL, "%s: %s", gs_sql_tail(store->path), gs_pg_message(store->pg));
    const int system = system_error(store, code);
    const gs_status status = status_of_code(code, system);
    const char *const name = gs_sql_tail(other_path);
    switch (status) {
    case GS_ERROR_STORE_CORRUPT:
        return gs_fail(error, status, NULL, "%s cannot be read: %s", name, sqlite3_errstr(code));
    case GS_ERROR_STORE_BUSY:
        return gs_fail(error, status, NULL, "%s: another process has held it for %d s: wait for it, or end it, then try again",
                       name, GS_STORE_WAIT_MS / 1000);
    case GS_ERROR_DISK_FULL:
        return gs_fail(error, status, NULL, "%s: no room to write: free some space, then start again; what was kept is safe", name);
    case GS_ERROR_IO:
        return gs_fail(error, status, NULL,
                       "%s: %s%s%s: check the path and its permissions, or name another file in $GEMMSMITH_STORE", name,
                       sqlite3_errstr(code), system ? ": " : "", system ? strerror(system) : "");
    case GS_ERROR_STORE:
        return gs_fail(error, status, NULL, "%s: %s", name, store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(code));
    default:
        return gs_fail(error, status, NULL, "%s: %s", name, sqlite3_errstr(code));
    }
}

gs_status gs_sql_status(gs_store *store, int code, gs_error *error)
{
    const int primary = code & 0xff;
    if (primary != SQLITE_CORRUPT && primary != SQLITE_NOTADB) return gs_sql_status_of(store, store->path, code, error);
    return gs_damage_tell(store, "main", gs_sql_tail(store->path), code, error);
}

/* SPDX-License-Identifier: MIT
 * The store's calls: opening, writing and reading rows. Every call is one transaction. The SQL is in sql.c. */
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "pages/pages.h"
#include "postgres/postgres.h"
#include "store/sql.h"

/* ---- opening ---- */

bool gs_store_is_server(const char *path) { return gs_pg_is_name(path); }
bool gs_store_may_be(const char *path) { return gs_pg_is_name(path) || gs_file_exists(path); }

static gs_status choose_path(char chosen[GS_PATH], const char *path, gs_error *error)
{
    if (!path) path = getenv("GEMMSMITH_STORE");
    if (path && *path) {
        if ((size_t)snprintf(chosen, GS_PATH, "%s", path) < GS_PATH) return GS_OK;
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the store's path is longer than %d bytes", GS_PATH - 1);
    }
    if (gs_user_path(chosen, 'd', NULL, "store.db")) return GS_OK;
    return gs_fail(error, GS_ERROR_IO, NULL, "no home directory for the store: name a file in $GEMMSMITH_STORE");
}

static bool is_wal(gs_store *store)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(store->db, "PRAGMA journal_mode", -1, &statement, NULL) != SQLITE_OK) return false;
    const bool wal = sqlite3_step(statement) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
    sqlite3_finalize(statement);
    return wal;
}

/* Switching to WAL needs the file exclusively for a moment, and SQLite's busy timeout does not cover that. Where WAL is impossible (a network file system, a
 * read-only folder) the store keeps the rollback journal. */
static gs_status switch_to_wal(gs_store *store, gs_error *error)
{
    const int64_t deadline = gs_clock_ns() + GS_STORE_WAIT_MS * INT64_C(1000000);
    while (!is_wal(store)) {
        const int code = gs_sql_text_run(store, "PRAGMA journal_mode = WAL");
        if ((code & 0xff) == SQLITE_BUSY) {
            if (gs_clock_ns() > deadline) return gs_sql_status(store, code, error);
            gs_clock_sleep_ns(5000000);
            continue;
        }
        if (code == SQLITE_OK && is_wal(store)) break;
        gs_log(GS_LOG_INFO, "%s: no write-ahead log here; writers wait for readers", store->path);
        break;
    }
    return GS_OK;
}

static gs_status connect(gs_store *store, int flags, gs_error *error)
{
    const char *const vfs = gs_pages_vfs(!store->unchecked);
    if (!vfs) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a store");
    int code = sqlite3_open_v2(flags & SQLITE_OPEN_MEMORY ? ":memory:" : store->path, &store->db, flags, vfs);
    if (code != SQLITE_OK) return gs_sql_status(store, store->db ? sqlite3_extended_errcode(store->db) : code, error);
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, GS_STORE_WAIT_MS);
    code = gs_sql_text_run(store, "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL");
    return gs_sql_status(store, code, error);
}

static void disconnect(gs_store *store)
{
    for (int i = 0; i < GS_SQL_IDS; i++) {
        sqlite3_finalize(store->statement[i]);
        store->statement[i] = NULL;
    }
    sqlite3_close(store->db);
    store->db = NULL;
    gs_pg_close(&store->pg);
}

static gs_status open_database(gs_store *store, gs_error *error)
{
    GS_TRY(gs_file_need_regular(store->path, error));   /* a FIFO would block, a device would be written to */
    if (!gs_file_exists(store->path)) GS_TRY(gs_file_need_writable(store->path, error));   /* SQLite's message would be "no such file" */
    gs_log_examine(store->path);
    GS_TRY(connect(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error));
    GS_TRY(gs_schema_prepare(store, error));
    return switch_to_wal(store, error);
}

/* Copies the file into memory as it is and migrates the copy. */
static gs_status convert_copy(gs_store *store, gs_error *error)
{
    gs_store file = *store;
    memset(store->statement, 0, sizeof store->statement);
    store->db = NULL;
    gs_status status = connect(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, error);
    if (status == GS_OK) {
        sqlite3_backup *const backup = sqlite3_backup_init(store->db, "main", file.db, "main");
        const int step = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(store->db), end = backup ? sqlite3_backup_finish(backup) : step;
        status = gs_sql_status(store, step == SQLITE_DONE ? end : step, error);
    }
    disconnect(&file);
    return status == GS_OK ? gs_schema_prepare(store, error) : status;
}

/* Opened read-write, then made query_only: a read-only connection could not remove the WAL file that it creates. A log that was there before is not
 * checkpointed. */
static gs_status open_to_read(gs_store *store, gs_error *error)
{
    char log[GS_PATH + 8];
    bool old;
    if (!gs_file_exists(store->path)) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: no such store", gs_sql_tail(store->path));
    GS_TRY(gs_file_need_regular(store->path, error));
    snprintf(log, sizeof log, "%s-wal", store->path);
    struct stat about;
    const bool logged = stat(log, &about) == 0 && about.st_size > 0;
    gs_log_examine(store->path);
    GS_TRY(connect(store, SQLITE_OPEN_READWRITE, error));
    if (logged) sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    GS_TRY(gs_sql_status(store, gs_sql_text_run(store, "PRAGMA query_only = ON"), error));
    GS_TRY(gs_schema_look(store, &old, error));
    if (!old) return GS_OK;
    GS_TRY(convert_copy(store, error));
    return gs_sql_status(store, gs_sql_text_run(store, "PRAGMA query_only = ON"), error);
}

/* Opens without verifying checksums: pages that are written get new ones. */
static gs_status open_unchecked(gs_store *store, gs_error *error)
{
    if (!gs_file_exists(store->path)) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: no such store", gs_sql_tail(store->path));
    GS_TRY(gs_file_need_regular(store->path, error));
    store->unchecked = true;
    GS_TRY(connect(store, SQLITE_OPEN_READWRITE, error));
    bool old;
    return gs_schema_look(store, &old, error);
}

static gs_status open_to_write(gs_store *store, gs_error *error)
{
    GS_TRY(gs_file_make_folder(store->path, error));
    return open_database(store, error);
}

/* A server. path becomes the connection string without its password, for messages. */
static gs_status open_server(gs_store *store, bool read_only, gs_error *error)
{
    GS_TRY(gs_pg_open(&store->pg, store->path, read_only, error));
    snprintf(store->path, sizeof store->path, "%s", gs_pg_label(store->pg));
    return gs_schema_server(store, read_only, error);
}

static gs_status open_with(gs_store **out, const char *path, gs_status (*open)(gs_store *, gs_error *), gs_error *error)
{
    *out = NULL;
    gs_store *store = calloc(1, sizeof *store);
    if (!store) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a store");
    gs_status status = choose_path(store->path, path, error);
    const bool server = status == GS_OK && gs_pg_is_name(store->path);
    if (server && open == open_unchecked) status = gs_fail(error, GS_ERROR_UNSUPPORTED, "store", "a PostgreSQL server keeps its own checksums: there is nothing to seal");
    else if (server) status = open_server(store, open == open_to_read, error);
    else if (status == GS_OK) status = open(store, error);
    if (status != GS_OK) gs_store_close(&store);
    *out = store;
    return status;
}

gs_status gs_store_open(gs_store **out, const char *path, gs_error *error) { return open_with(out, path, open_to_write, error); }

gs_status gs_store_open_read(gs_store **out, const char *path, gs_error *error) { return open_with(out, path, open_to_read, error); }

gs_status gs_store_seal(const char *path, int64_t *accepted, gs_error *error)
{
    gs_store *store;
    *accepted = 0;
    GS_TRY(open_with(&store, path, open_unchecked, error));
    gs_status status = gs_schema_seal(store, accepted, error);
    gs_store_close(&store);
    return status;
}

void gs_store_close(gs_store **store)
{
    if (!store || !*store) return;
    disconnect(*store);
    free(*store);
    *store = NULL;
}

const char *gs_store_path(const gs_store *store) { return store->path; }

/* ---- writing ---- */

gs_status gs_sql_need_session(const gs_session *session, gs_error *error)
{
    if (session && session->id > 0 && session->device) return GS_OK;
    return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the session has not begun: gs_store_begin comes first");
}

/* A random name, unique among all stores, by which copies of a row are recognised. */
void gs_store_uid(char uid[GS_STORE_UID])
{
    snprintf(uid, GS_STORE_UID, "%016llx%016llx", (unsigned long long)gs_random_entropy(), (unsigned long long)gs_random_entropy());
}

gs_status gs_store_begin(gs_store *store, gs_session *session, gs_error *error)
{
    char uid[GS_STORE_UID], date[GS_DATE_TEXT];
    gs_store_uid(uid);
    gs_date_format(date);
    GS_TRY(gs_sql_begin(store, error));
    gs_query put = gs_sql(store, GS_SQL_PUT_SESSION);
    gs_sql_text(&put, uid);
    gs_sql_text(&put, date);
    gs_sql_text(&put, gs_sql_or_empty(session->command));
    gs_sql_text(&put, gs_sql_or_empty(session->version));
    gs_sql_text(&put, gs_sql_or_empty(session->commit));
    gs_sql_text(&put, gs_sql_or_empty(session->device));
    gs_sql_int(&put, session->cc);
    gs_sql_int(&put, session->sms);
    gs_sql_int(&put, session->driver);
    gs_sql_int(&put, session->cublaslt);
    gs_sql_int(&put, session->nvrtc);
    GS_TRY(gs_sql_end(store, gs_sql_status(store, gs_sql_run(&put), error), error));
    gs_query find = gs_sql(store, GS_SQL_FIND_SESSION);   /* found by uid: a transaction that was replayed may have given the row another id */
    gs_sql_text(&find, uid);
    const int code = gs_sql_step(&find);
    if (code == SQLITE_ROW) session->id = gs_sql_get_int(&find, 0);
    gs_sql_leave(&find);
    if (code == SQLITE_DONE) return gs_fail(error, GS_ERROR_STORE, NULL, "%s: the session that was put in is not there", gs_sql_tail(store->path));
    return code == SQLITE_ROW ? GS_OK : gs_sql_status(store, code, error);
}

/* Parses a problem's text and formats it in its canonical form. */
static gs_status canonical(const char *text, gs_problem *problem, char out[GS_PROBLEM_TEXT], gs_error *error)
{
    GS_TRY(gs_problem_parse(problem, text, error));
    gs_problem_format(problem, out);
    return GS_OK;
}

static int put_problem(gs_store *store, const gs_problem *problem, const char *text)
{
    gs_query put = gs_sql(store, GS_SQL_PUT_PROBLEM);
    gs_sql_text(&put, text);
    gs_sql_int(&put, problem->m);
    gs_sql_int(&put, problem->n);
    gs_sql_int(&put, problem->k);
    return gs_sql_run(&put);
}

static double known(double value) { return isfinite(value) ? value : 0; }

/* statement: GS_SQL_PUT_TRIAL or GS_SQL_PUT_WINNER, which take the same values. */
static int put_trial(gs_store *store, gs_sql_id statement, const gs_session *session, const char *problem, const gs_trial *trial)
{
    char date[GS_DATE_TEXT];
    gs_query put = gs_sql(store, statement);
    gs_sql_text(&put, session->device);
    gs_sql_text(&put, problem);
    gs_sql_text(&put, trial->candidate);
    gs_sql_text(&put, trial->verdict);
    gs_sql_int(&put, trial->part);
    gs_sql_text(&put, trial->reason);
    gs_sql_int(&put, trial->registers);
    gs_sql_int(&put, trial->smem);
    gs_sql_real(&put, known(trial->predicted_us));
    gs_sql_real(&put, known(trial->us));
    gs_sql_real(&put, known(trial->library_us));
    gs_sql_real(&put, known(trial->ratio));
    gs_sql_real(&put, known(trial->low));
    gs_sql_real(&put, known(trial->high));
    gs_sql_int(&put, trial->rounds);
    gs_sql_int(&put, trial->mhz);
    gs_sql_text(&put, trial->stage);
    gs_sql_int(&put, session->id);
    gs_sql_text(&put, trial->date[0] ? trial->date : gs_date_format(date));
    return gs_sql_run(&put);
}

gs_status gs_sql_problem(gs_store *store, const char *text, char *problem, gs_error *error)
{
    gs_problem parsed;
    GS_TRY(canonical(text, &parsed, problem, error));
    return gs_sql_status(store, put_problem(store, &parsed, problem), error);
}

/* Within a transaction. */
static gs_status put_one(gs_store *store, gs_sql_id statement, const gs_session *session, const gs_trial *trial, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    if (!trial->candidate[0]) return gs_fail(error, GS_ERROR_ARGUMENT, "candidate", "must not be empty");
    GS_TRY(gs_sql_problem(store, trial->problem, text, error));
    return gs_sql_status(store, put_trial(store, statement, session, text, trial), error);
}

static gs_status put(gs_store *store, gs_sql_id statement, const gs_session *session, const gs_trial *list, int count, gs_error *error)
{
    GS_TRY(gs_sql_need_session(session, error));
    GS_TRY(gs_sql_begin(store, error));
    gs_status status = GS_OK;
    for (int i = 0; i < count && status == GS_OK; i++) status = put_one(store, statement, session, &list[i], error);
    return gs_sql_end(store, status, error);
}

gs_status gs_store_put(gs_store *store, const gs_session *session, const gs_trial *trial, gs_error *error)
{
    return put(store, GS_SQL_PUT_TRIAL, session, trial, 1, error);
}

gs_status gs_store_put_all(gs_store *store, const gs_session *session, const gs_trial *trials, int count, gs_error *error)
{
    return put(store, GS_SQL_PUT_TRIAL, session, trials, count, error);
}

gs_status gs_store_win(gs_store *store, const gs_session *session, const gs_trial *winner, gs_error *error)
{
    return put(store, GS_SQL_PUT_WINNER, session, winner, 1, error);
}

static int put_measurement(gs_store *store, const char *uid, const gs_session *session, const char *problem, const char *candidate, const char *clock)
{
    char date[GS_DATE_TEXT];
    gs_query measurement = gs_sql(store, GS_SQL_PUT_MEASUREMENT);
    gs_sql_text(&measurement, uid);
    gs_sql_int(&measurement, session->id);
    gs_sql_text(&measurement, clock);
    gs_sql_text(&measurement, gs_date_format(date));
    gs_sql_text(&measurement, session->device);
    gs_sql_text(&measurement, problem);
    gs_sql_text(&measurement, candidate);
    return gs_sql_run(&measurement);
}

static int put_samples(gs_store *store, const char *measurement, const double *us, const double *reference_us, int count)
{
    int code = SQLITE_OK;
    for (int round = 0; code == SQLITE_OK && round < count; round++) {
        gs_query sample = gs_sql(store, GS_SQL_PUT_SAMPLE);
        gs_sql_text(&sample, measurement);
        gs_sql_int(&sample, round);
        gs_sql_real(&sample, us[round]);
        gs_sql_real(&sample, reference_us ? reference_us[round] : NAN);
        code = gs_sql_run(&sample);
    }
    return code;
}

gs_status gs_store_samples(gs_store *store, const gs_session *session, const char *problem, const char *candidate,
                           const char *clock, const double *us, const double *reference_us, int count, gs_error *error)
{
    gs_problem parsed;
    char text[GS_PROBLEM_TEXT], uid[GS_STORE_UID];
    gs_trial trial = {0};
    GS_TRY(gs_sql_need_session(session, error));
    if (count < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "count", "must not be negative");
    if (!*candidate || strlen(candidate) >= sizeof trial.candidate)
        return gs_fail(error, GS_ERROR_ARGUMENT, "candidate", "must have 1 to %zu characters", sizeof trial.candidate - 1);
    GS_TRY(canonical(problem, &parsed, text, error));
    snprintf(trial.candidate, sizeof trial.candidate, "%s", candidate);
    gs_store_uid(uid);
    GS_TRY(gs_sql_begin(store, error));
    int code = put_problem(store, &parsed, text);
    if (code == SQLITE_OK) code = put_trial(store, GS_SQL_PUT_TRIAL, session, text, &trial);
    if (code == SQLITE_OK) code = put_measurement(store, uid, session, text, candidate, clock);
    if (code == SQLITE_OK) code = put_samples(store, uid, us, reference_us, count);
    return gs_sql_end(store, gs_sql_status(store, code, error), error);
}

/* ---- reading ---- */

#define TRIAL_READ                                                                                             \
    "SELECT t.id, p.text, t.candidate, t.verdict, t.part, t.reason, t.registers, t.smem, t.predicted_us, t.us, " \
    "t.library_us, t.ratio, t.low, t.high, t.rounds, t.mhz, t.stage, s.cc, s.sms, s.cublaslt, s.version, t.date FROM "
#define TRIAL_JOIN " t JOIN problem p ON p.id = t.problem JOIN session s ON s.id = t.session WHERE t.device = ?1 "
#define TRIAL_ORDER "ORDER BY t.ratio DESC, t.id"

static void copy_text(char *to, size_t size, const gs_query *row, int column)
{
    const char *const text = gs_sql_get_text(row, column);
    snprintf(to, size, "%s", gs_sql_or_empty(text));
}

static void read_trial(const gs_query *row, gs_trial *trial)
{
    *trial = (gs_trial){
        .id           = gs_sql_get_int(row, 0),
        .part         = gs_sql_get_int(row, 4),
        .registers    = gs_sql_get_int(row, 6),
        .smem         = gs_sql_get_int(row, 7),
        .predicted_us = gs_sql_get_real(row, 8),
        .us           = gs_sql_get_real(row, 9),
        .library_us   = gs_sql_get_real(row, 10),
        .ratio        = gs_sql_get_real(row, 11),
        .low          = gs_sql_get_real(row, 12),
        .high         = gs_sql_get_real(row, 13),
        .rounds       = gs_sql_get_int(row, 14),
        .mhz          = gs_sql_get_int(row, 15),
        .cc           = gs_sql_get_int(row, 17),
        .sms          = gs_sql_get_int(row, 18),
        .cublaslt     = gs_sql_get_int(row, 19),
    };
    copy_text(trial->problem, sizeof trial->problem, row, 1);
    copy_text(trial->candidate, sizeof trial->candidate, row, 2);
    copy_text(trial->verdict, sizeof trial->verdict, row, 3);
    copy_text(trial->reason, sizeof trial->reason, row, 5);
    copy_text(trial->stage, sizeof trial->stage, row, 16);
    copy_text(trial->version, sizeof trial->version, row, 20);
    copy_text(trial->date, sizeof trial->date, row, 21);
}

/* Prepared for each call, because visit may start another query. problem NULL: the statement has no second parameter. */
static gs_status visit_rows(gs_store *store, const char *sql, const char *device, const char *problem, gs_trial_visit visit,
                            void *self, gs_error *error)
{
    gs_query rows = gs_sql_ad_hoc(store, sql);
    gs_sql_text(&rows, device);
    if (problem) gs_sql_text(&rows, problem);
    int code;
    while ((code = gs_sql_step(&rows)) == SQLITE_ROW) {
        gs_trial trial;
        read_trial(&rows, &trial);
        if (!visit(self, &trial)) break;
    }
    const gs_status status = code == SQLITE_ROW || code == SQLITE_DONE ? GS_OK : gs_sql_status(store, code, error);
    gs_sql_leave(&rows);
    return status;
}

gs_status gs_store_trials(gs_store *store, const char *device, const char *problem, gs_trial_visit visit, void *self,
                          gs_error *error)
{
    if (!problem) return visit_rows(store, TRIAL_READ "trial" TRIAL_JOIN TRIAL_ORDER, device, NULL, visit, self, error);
    gs_problem parsed;
    char text[GS_PROBLEM_TEXT];
    GS_TRY(canonical(problem, &parsed, text, error));
    return visit_rows(store, TRIAL_READ "trial" TRIAL_JOIN "AND p.text = ?2 " TRIAL_ORDER, device, text, visit, self, error);
}

gs_status gs_store_winners(gs_store *store, const char *device, gs_trial_visit visit, void *self, gs_error *error)
{
    return visit_rows(store, TRIAL_READ "winner" TRIAL_JOIN TRIAL_ORDER, device, NULL, visit, self, error);
}

gs_status gs_store_sessions(gs_store *store, gs_session_visit visit, void *self, gs_error *error)
{
    static const char sql[] = "SELECT id, cc, sms, driver, cublaslt, nvrtc, command, version, revision, device, date FROM session ORDER BY id";
    int code;
    gs_query rows = gs_sql_ad_hoc(store, sql);
    while ((code = gs_sql_step(&rows)) == SQLITE_ROW) {
        const char *text[5];
        for (int i = 0; i < 5; i++) text[i] = gs_sql_or_empty(gs_sql_get_text(&rows, 6 + i));
        const gs_session session = {
            .id = gs_sql_get_int(&rows, 0), .cc = gs_sql_get_int(&rows, 1), .sms = gs_sql_get_int(&rows, 2),
            .driver = gs_sql_get_int(&rows, 3), .cublaslt = gs_sql_get_int(&rows, 4), .nvrtc = gs_sql_get_int(&rows, 5),
            .command = text[0], .version = text[1], .commit = text[2], .device = text[3],
        };
        if (!visit(self, &session, text[4])) break;
    }
    const gs_status status = code == SQLITE_ROW || code == SQLITE_DONE ? GS_OK : gs_sql_status(store, code, error);
    gs_sql_leave(&rows);
    return status;
}

/* ---- results ---- */

gs_status gs_store_result_put(gs_store *store, const gs_session *session, const char *key, const char *value, gs_error *error)
{
    char date[GS_DATE_TEXT];
    GS_TRY(gs_sql_need_session(session, error));
    GS_TRY(gs_sql_begin(store, error));
    gs_query result = gs_sql(store, GS_SQL_PUT_RESULT);
    gs_sql_text(&result, key);
    gs_sql_text(&result, value);
    gs_sql_int(&result, session->id);
    gs_sql_text(&result, gs_date_format(date));
    return gs_sql_end(store, gs_sql_status(store, gs_sql_run(&result), error), error);
}

gs_status gs_store_results(gs_store *store, const char *prefix, gs_result_visit visit, void *self, gs_error *error)
{
    gs_query rows = gs_sql_ad_hoc(store, "SELECT key, value FROM result WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key");
    gs_sql_text(&rows, prefix);
    int code;
    while ((code = gs_sql_step(&rows)) == SQLITE_ROW)
        if (!visit(self, gs_sql_or_empty(gs_sql_get_text(&rows, 0)), gs_sql_or_empty(gs_sql_get_text(&rows, 1)))) break;
    const gs_status status = code == SQLITE_ROW || code == SQLITE_DONE ? GS_OK : gs_sql_status(store, code, error);
    gs_sql_leave(&rows);
    return status;
}

gs_status gs_store_result_get(gs_store *store, const char *key, char **value, gs_error *error)
{
    *value = NULL;
    gs_query result = gs_sql(store, GS_SQL_GET_RESULT);
    gs_sql_text(&result, key);
    const int code = gs_sql_step(&result);
    gs_status status;
    if (code == SQLITE_ROW) {
        *value = strdup(gs_sql_or_empty(gs_sql_get_text(&result, 0)));
        status = *value ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a result");
    } else if (code == SQLITE_DONE) {
        status = gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s has no result for this request", gs_sql_tail(store->path));
    } else {
        status = gs_sql_status(store, code, error);
    }
    gs_sql_leave(&result);
    return status;
}

/* SPDX-License-Identifier: MIT
 * The connection, transactions, and their recovery. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/random.h"
#include "postgres/internal.h"

/* ---- classifying a result ---- */

typedef enum outcome {
    DONE,    /* success */
    LOST,    /* no connection, or the server is starting or shutting down */
    AGAIN,   /* the server aborted the transaction because of another one (serialisation failure, deadlock) */
    WRONG    /* trying again would not help */
} outcome;

static const char *state_of(const PGresult *result)
{
    const char *const state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    return state ? state : "";
}

static outcome judge(const gs_pg *pg, const PGresult *result)
{
    const ExecStatusType kind = PQresultStatus(result);
    if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK || kind == PGRES_EMPTY_QUERY) return DONE;
    const char *const state = state_of(result);
    /* SQLSTATE 57P01 to 57P03 (shut down, crashed, starting) and class 08 (connection exceptions) */
    const bool ending = strncmp(state, "57P0", 4) == 0 || strncmp(state, "08", 2) == 0;
    if (!*state) return LOST;   /* an error of libpq itself; it may report a closed connection and still have status OK */
    if (ending || PQstatus(pg->connection) != CONNECTION_OK) return LOST;
    return strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0 ? AGAIN : WRONG;
}

/* Keeps the first line of the server's message, and returns the matching status. */
static gs_status explain(gs_pg *pg, const PGresult *result)
{
    const char *const text = result ? PQresultErrorMessage(result) : "", *const state = state_of(result);
    const char *const message = *text ? text : PQerrorMessage(pg->connection);
    snprintf(pg->message, sizeof pg->message, "%.*s", (int)strcspn(message, "\n"), message);
    if (strcmp(state, "55P03") == 0) {
        snprintf(pg->message, sizeof pg->message, "another process has held it for %d s: wait for it, or end it, then try again", GS_PG_WAIT_S);
        return GS_ERROR_STORE_BUSY;
    }
    if (strcmp(state, "53100") == 0) return GS_ERROR_DISK_FULL;
    if (strcmp(state, "25006") == 0 || strcmp(state, "42501") == 0 || PQstatus(pg->connection) != CONNECTION_OK) return GS_ERROR_IO;
    return GS_ERROR_STORE;
}

static uint64_t answer_of(const PGresult *rows)
{
    uint64_t hash = (uint64_t)PQntuples(rows);
    for (int r = 0; r < PQntuples(rows); r++)
        for (int c = 0; c < PQnfields(rows); c++) {
            const char *const value = PQgetisnull(rows, r, c) ? "" : PQgetvalue(rows, r, c);
            hash = hash * 31 + gs_hash64(value, strlen(value)) + (uint64_t)PQgetisnull(rows, r, c);
        }
    return hash;
}

/* ---- connecting ---- */

/* Keepalives and tcp_user_timeout detect a server that vanished, as after a power failure. */
static PGconn *dial(const char *name)
{
    const char *const keys[] = {"connect_timeout", "fallback_application_name", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
                                "dbname", "client_encoding", NULL};
    const char *const values[] = {"10", "gemmsmith", "10", "5", "3", "30000", name, "UTF8", NULL};
    return PQconnectdbParams(keys, values, 1);
}

static void ignore(void *self, const char *message) { (void)self, (void)message; }   /* by default libpq prints warnings on stderr */

static void roll_back(gs_pg *pg)
{
    if (PQstatus(pg->connection) == CONNECTION_OK && PQtransactionStatus(pg->connection) != PQTRANS_IDLE) PQclear(PQexec(pg->connection, "ROLLBACK"));
}

static gs_status set_up(gs_pg *pg)
{
    PQsetNoticeProcessor(pg->connection, ignore, NULL);
    char sql[240];
    snprintf(sql, sizeof sql,
             "SET client_min_messages = warning; SET lock_timeout = '%ds'; SET default_transaction_isolation = 'read committed'; SET extra_float_digits = 3%s",
             GS_PG_WAIT_S, pg->read_only ? "; SET default_transaction_read_only = on" : "");
    PGresult *const result = PQexec(pg->connection, sql);
    const gs_status status = judge(pg, result) == DONE ? GS_OK : explain(pg, result);
    PQclear(result);
    return status;
}

static gs_status connect_once(gs_pg *pg)
{
    PQfinish(pg->connection);
    pg->connection = dial(pg->name);
    if (!pg->connection) return snprintf(pg->message, sizeof pg->message, "no memory for a connection"), GS_ERROR_MEMORY;
    if (PQstatus(pg->connection) == CONNECTION_OK) return set_up(pg);
    const char *const message = PQerrorMessage(pg->connection);
    snprintf(pg->message, sizeof pg->message, "%.*s", (int)strcspn(message, "\n"), message);
    return GS_ERROR_IO;
}

/* Reconnects until it succeeds or the deadline has passed. */
static gs_status connect_again(gs_pg *pg, int64_t deadline)
{
    int64_t pause = 20000000;
    gs_status status;
    gs_log(GS_LOG_INFO, "%s: the connection is lost; connecting again", pg->label);
    while ((status = connect_once(pg)) != GS_OK && gs_clock_ns() < deadline) {
        gs_clock_sleep_ns(pause);
        pause = GS_MIN(2 * pause, INT64_C(1000000000));
    }
    return status;
}

/* ---- sending ---- */

static PGresult *send(gs_pg *pg, const gs_pg_sent *sent)
{
    return PQexecParams(pg->connection, sent->sql, sent->count, sent->type, (const char *const *)sent->value, NULL, NULL, 0);
}

/* Begins the transaction and writes its number into this connection's row. *done: the number is there already, so the transaction was committed. */
static PGresult *send_begin(gs_pg *pg, bool *done)
{
    char sql[320];
    *done = false;
    if (!pg->again) return PQexec(pg->connection, "BEGIN");
    snprintf(sql, sizeof sql,
             "BEGIN; INSERT INTO writer (uid, number, date) VALUES ('%s', %lld, now()) ON CONFLICT (uid) DO UPDATE SET number = excluded.number, date = excluded.date"
             " WHERE writer.number < excluded.number", pg->uid, (long long)pg->number);
    PGresult *const result = PQexec(pg->connection, sql);
    *done = PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdTuples(result), "0") == 0;
    return result;
}

/* Replays the transaction up to the current statement. */
static outcome play(gs_pg *pg, bool *done, gs_status *status)
{
    roll_back(pg);
    PGresult *result = send_begin(pg, done);
    outcome is = judge(pg, result);
    for (int i = 0; i < pg->count && is == DONE && !*done; i++) {
        PQclear(result);
        result = send(pg, pg->sent[i]);
        is = judge(pg, result);
        pg->moved = is == DONE && answer_of(result) != pg->sent[i]->answer;
        if (pg->moved) is = WRONG;
    }
    if (is != DONE) *status = explain(pg, result);
    if (pg->moved) {
        *status = GS_ERROR_STORE_BUSY;
        snprintf(pg->message, sizeof pg->message, "the connection was lost, and others have changed what was read before: try again");
    }
    PQclear(result);
    return is;
}

/* After LOST or AGAIN: reconnects and replays the transaction. *done: the transaction turned out to be committed. */
static gs_status recover(gs_pg *pg, outcome is, int64_t deadline, bool *done)
{
    gs_status status = GS_OK;
    *done = false;
    if (pg->in && !pg->again) {
        pg->in = false;
        if (is == LOST) connect_again(pg, deadline);
        else roll_back(pg);
        return GS_ERROR_IO;   /* its earlier statements were not recorded */
    }
    do {
        if (is == LOST) GS_TRY(connect_again(pg, deadline));
        if (!pg->in) return GS_OK;
        is = play(pg, done, &status);
        if (is == DONE) return GS_OK;
        if (is == AGAIN) gs_clock_sleep_ns((int64_t)(gs_random_entropy() % 20000000));
    } while (is != WRONG && gs_clock_ns() < deadline);
    return status;
}

static int64_t deadline_from_now(void) { return gs_clock_ns() + GS_PG_RETRY_S * INT64_C(1000000000); }

/* Handles the result of a statement; if it had to be sent again, *result is replaced by the new result. */
static gs_status settle(gs_pg *pg, const gs_pg_sent *sent, PGresult **result)
{
    const int64_t deadline = deadline_from_now();
    outcome is = judge(pg, *result);
    bool done;
    while (is == LOST || is == AGAIN) {
        explain(pg, *result);
        PQclear(*result);
        *result = NULL;
        GS_TRY(recover(pg, is, deadline, &done));
        if (is == LOST) gs_clock_sleep_ns(10000000);
        *result = send(pg, sent);
        is = judge(pg, *result);
        if (gs_clock_ns() > deadline) break;
    }
    return is == DONE ? GS_OK : explain(pg, *result);
}

gs_status gs_pg_run(gs_pg *pg, gs_pg_sent **sent, PGresult **rows)
{
    pg->moved = false;
    *rows = send(pg, *sent);
    GS_TRY(settle(pg, *sent, rows));
    pg->changed = strtoll(PQcmdTuples(*rows), NULL, 10);
    if (!pg->in || !pg->again) return GS_OK;
    if (!gs_grow(&pg->sent, pg->count, &pg->capacity, sizeof(gs_pg_sent *))) return snprintf(pg->message, sizeof pg->message, "no memory for a transaction"), GS_ERROR_MEMORY;
    (*sent)->answer = answer_of(*rows);
    pg->sent[pg->count++] = *sent;
    *sent = NULL;
    return GS_OK;
}

gs_status gs_pg_text_run(gs_pg *pg, const char *sql)
{
    PGresult *const result = PQexec(pg->connection, sql);
    const outcome is = judge(pg, result);
    const gs_status status = is == DONE ? GS_OK : explain(pg, result);
    if (is == DONE) pg->changed = strtoll(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return status;
}

int64_t gs_pg_changed(const gs_pg *pg) { return pg->changed; }

/* ---- transactions ---- */

void gs_pg_sent_free(gs_pg_sent *sent)
{
    if (!sent) return;
    for (int i = 0; i < sent->count; i++) free(sent->value[i]);
    free(sent->sql);
    free(sent);
}

static void forget(gs_pg *pg)
{
    for (int i = 0; i < pg->count; i++) gs_pg_sent_free(pg->sent[i]);
    pg->count = 0;
    pg->in = false;
}

gs_status gs_pg_begin(gs_pg *pg, bool again)
{
    bool done;
    gs_status status = GS_OK;
    pg->again = again;
    pg->moved = false;
    pg->number++;
    pg->in = true;
    PGresult *const result = send_begin(pg, &done);
    const outcome is = judge(pg, result);
    if (is != DONE) status = explain(pg, result);
    if (is == LOST || is == AGAIN) {
        pg->again = true;   /* it is empty so far, so it can be replayed */
        status = recover(pg, is, deadline_from_now(), &done);
        pg->again = again;
    }
    PQclear(result);
    if (again) pg->marked = true;
    if (status != GS_OK) {
        roll_back(pg);
        forget(pg);
    }
    return status;
}

/* The server answers COMMIT of a failed transaction with "ROLLBACK" and no error; here that is a failure. */
static gs_status commit(gs_pg *pg)
{
    const int64_t deadline = deadline_from_now();
    bool done = false;
    while (!done) {
        PGresult *const result = PQexec(pg->connection, "COMMIT");
        const outcome is = judge(pg, result);
        const bool taken_back = is == DONE && strcmp(PQcmdStatus(result), "COMMIT") != 0;
        gs_status status = is == DONE ? GS_OK : explain(pg, result);
        PQclear(result);
        if (taken_back) return snprintf(pg->message, sizeof pg->message, "the transaction was taken back"), GS_ERROR_STORE;
        if (is == DONE || is == WRONG) return status;
        GS_TRY(recover(pg, is, deadline, &done));
    }
    roll_back(pg);   /* ends the transaction in which the replay looked; the replayed one is committed */
    return GS_OK;
}

gs_status gs_pg_end(gs_pg *pg, bool keep)
{
    gs_status status = GS_OK;
    if (!pg->in) return GS_OK;
    if (keep) status = commit(pg);
    if (!keep || status != GS_OK) roll_back(pg);
    forget(pg);
    return status;
}

bool gs_pg_in_transaction(const gs_pg *pg) { return pg->in; }

/* ---- opening ---- */

/* The connection string for messages; rebuilt without the password if there may be one in it. */
static void make_label(gs_pg *pg)
{
    const char *const at = strstr(pg->name, "://"), *const end = at ? strchr(at + 3, '@') : NULL;
    const bool secret = strstr(pg->name, "password") || (end && memchr(at + 3, ':', (size_t)(end - at - 3)));
    if (!secret) {
        snprintf(pg->label, sizeof pg->label, "%s", pg->name);
        return;
    }
    const char *const host = PQhost(pg->connection), *const user = PQuser(pg->connection), *const database = PQdb(pg->connection);
    snprintf(pg->label, sizeof pg->label, "postgresql://%.60s@%.60s/%.60s", user ? user : "", host ? host : "", database ? database : "");
}

gs_status gs_pg_open(gs_pg **out, const char *name, bool read_only, gs_error *error)
{
    gs_pg *pg = calloc(1, sizeof *pg);
    if (pg) pg->name = strdup(name);
    *out = pg;
    if (!pg || !pg->name) return gs_pg_close(out), gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a store");
    pg->read_only = read_only;
    snprintf(pg->uid, sizeof pg->uid, "%016llx%016llx", (unsigned long long)gs_random_entropy(), (unsigned long long)gs_random_entropy());
    gs_status status = connect_once(pg);
    make_label(pg);
    if (status == GS_OK) return GS_OK;
    gs_fail(error, status, "store", "%s: %s", pg->label, pg->message);
    gs_pg_close(out);
    return status;
}

void gs_pg_close(gs_pg **out)
{
    gs_pg *const pg = *out;
    if (!pg) return;
    forget(pg);
    if (pg->marked && PQstatus(pg->connection) == CONNECTION_OK) {   /* removes this connection's row, and rows of killed processes after 30 days */
        char sql[160];
        roll_back(pg);
        snprintf(sql, sizeof sql, "DELETE FROM writer WHERE uid = '%s' OR date < now() - interval '30 days'", pg->uid);
        PQclear(PQexec(pg->connection, sql));
    }
    PQfinish(pg->connection);
    free(pg->sent);
    free(pg->name);
    free(pg);
    *out = NULL;
}

const char *gs_pg_label(const gs_pg *pg) { return pg->label; }
const char *gs_pg_message(const gs_pg *pg) { return pg->message; }
bool        gs_pg_moved(const gs_pg *pg) { return pg->moved; }

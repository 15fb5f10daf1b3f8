/* SPDX-License-Identifier: MIT
 * Replaces libpq and the clock by a PostgreSQL server that answers as the test says: the test is linked with --wrap for every libpq call that src/postgres makes. What
 * is sent is logged: statements are separated by "; ", a new connection is "<dial>". Include in one file of the test, after cmocka.h. */
#ifndef GS_TESTS_FAKE_LIBPQ_H
#define GS_TESTS_FAKE_LIBPQ_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"

enum { FAKE_COLUMNS = 2, FAKE_VALUE = 64 };

struct pg_conn {
    bool up, in_transaction;
};

/* state: SQLSTATE of a failure, "" for an error of libpq itself; NULL: no failure */
struct pg_result {
    const char *state, *message, *tag, *tuples;
    int         rows;
    Oid         type[FAKE_COLUMNS];
    char        value[FAKE_COLUMNS][FAKE_VALUE];
    bool        null[FAKE_COLUMNS];
};

/* The answer to statement number `at` (1, 2, ...), instead of success without rows. */
typedef struct fake_answer {
    int         at;
    const char *state;      /* as above */
    bool        down;       /* the connection is lost with this answer */
    bool        gone;       /* PQexec returns NULL */
    const char *tag, *tuples, *value, *second;   /* value: a text in each row's first column; second: in its second column, NULL: SQL NULL */
    int         rows;       /* 0: one row if there is a value */
} fake_answer;

static struct {
    const fake_answer *answer;
    int                answers, sent, dials, fails;   /* fails: how many of the next connection attempts fail */
    int                open, results;                 /* connections and results that were not freed */
    char               log[4096], values[1024];
    const char        *host, *user, *database;
    PQnoticeProcessor  notice;
    int64_t            now, longest, slept;
    int                sleeps;
} fake;

static void fake_begin(const fake_answer *answer, int answers)
{
    memset(&fake, 0, sizeof fake);
    fake.answer = answer;
    fake.answers = answers;
    fake.now = 1000;
}

static void fake_note(const char *text) { snprintf(fake.log + strlen(fake.log), sizeof fake.log - strlen(fake.log), "%s%s", fake.log[0] ? "; " : "", text); }

/* What was sent since the last call. */
static const char *fake_sent(void)
{
    static char text[sizeof fake.log];
    snprintf(text, sizeof text, "%s", fake.log);
    fake.log[0] = '\0';
    return text;
}

/* ---- the clock ---- */

int64_t __wrap_gs_clock_ns(void);
void    __wrap_gs_clock_sleep_ns(int64_t ns);

int64_t __wrap_gs_clock_ns(void) { return fake.now; }

void __wrap_gs_clock_sleep_ns(int64_t ns)
{
    fake.now += ns;
    fake.slept += ns;
    fake.sleeps++;
    if (ns > fake.longest) fake.longest = ns;
}

/* ---- connections ---- */

PGconn *__wrap_PQconnectdbParams(const char *const *keys, const char *const *values, int expand);
void    __wrap_PQfinish(PGconn *connection);
ConnStatusType __wrap_PQstatus(const PGconn *connection);
PGTransactionStatusType __wrap_PQtransactionStatus(const PGconn *connection);
PQnoticeProcessor __wrap_PQsetNoticeProcessor(PGconn *connection, PQnoticeProcessor notice, void *self);
char   *__wrap_PQerrorMessage(const PGconn *connection);
char   *__wrap_PQhost(const PGconn *connection);
char   *__wrap_PQuser(const PGconn *connection);
char   *__wrap_PQdb(const PGconn *connection);

static char fake_dialled[512];

PGconn *__wrap_PQconnectdbParams(const char *const *keys, const char *const *values, int expand)
{
    fake_dialled[0] = '\0';
    for (int i = 0; keys[i]; i++) snprintf(fake_dialled + strlen(fake_dialled), sizeof fake_dialled - strlen(fake_dialled), "%s=%s ", keys[i], values[i]);
    if (!expand) fake_dialled[0] = '\0';   /* with expand_dbname unset, a connection string would be taken as a database name */
    fake_note("<dial>");
    fake.dials++;
    PGconn *const made = __real_calloc(1, sizeof *made);
    if (!made) return NULL;
    fake.open++;
    made->up = fake.fails <= 0;
    fake.fails--;
    return made;
}

void __wrap_PQfinish(PGconn *connection)
{
    if (connection) fake.open--;
    free(connection);
}

ConnStatusType __wrap_PQstatus(const PGconn *connection) { return connection && connection->up ? CONNECTION_OK : CONNECTION_BAD; }
PGTransactionStatusType __wrap_PQtransactionStatus(const PGconn *connection) { return connection->in_transaction ? PQTRANS_INTRANS : PQTRANS_IDLE; }

PQnoticeProcessor __wrap_PQsetNoticeProcessor(PGconn *connection, PQnoticeProcessor notice, void *self)
{
    (void)connection, (void)self;
    fake.notice = notice;
    return NULL;
}

char *__wrap_PQerrorMessage(const PGconn *connection)
{
    static char message[] = "nobody listens\nis a server running there?";
    (void)connection;
    return message;
}

static char *fake_text(const char *text) { return (char *)(uintptr_t)text; }
char *__wrap_PQhost(const PGconn *connection) { return (void)connection, fake_text(fake.host); }
char *__wrap_PQuser(const PGconn *connection) { return (void)connection, fake_text(fake.user); }
char *__wrap_PQdb(const PGconn *connection) { return (void)connection, fake_text(fake.database); }

/* ---- statements ---- */

PGresult *__wrap_PQexec(PGconn *connection, const char *sql);
PGresult *__wrap_PQexecParams(PGconn *connection, const char *sql, int count, const Oid *types, const char *const *values, const int *lengths, const int *formats, int binary);

static PGresult *fake_answered(PGconn *connection, const char *sql)
{
    const fake_answer *answer = NULL;
    fake_note(sql);
    fake.sent++;
    for (int i = 0; i < fake.answers && !answer; i++)
        if (fake.answer[i].at == fake.sent) answer = &fake.answer[i];
    if (answer && answer->down) connection->up = connection->in_transaction = false;
    else if (strncmp(sql, "BEGIN", 5) == 0) connection->in_transaction = true;
    else if (strcmp(sql, "ROLLBACK") == 0 || (strcmp(sql, "COMMIT") == 0 && (!answer || !answer->state))) connection->in_transaction = false;
    if (answer && answer->gone) return NULL;
    PGresult *const result = __real_calloc(1, sizeof *result);
    fake.results++;
    *result = (PGresult){.tag = strcmp(sql, "COMMIT") == 0 ? "COMMIT" : "", .tuples = "1", .message = ""};
    if (!answer) return result;
    if (answer->state) result->state = answer->state, result->message = "the first line\nthe second";
    if (answer->tag) result->tag = answer->tag;
    if (answer->tuples) result->tuples = answer->tuples;
    if (answer->value) {
        result->rows = answer->rows ? answer->rows : 1;
        result->type[0] = result->type[1] = 25;
        snprintf(result->value[0], FAKE_VALUE, "%s", answer->value);
        result->null[1] = !answer->second;
        snprintf(result->value[1], FAKE_VALUE, "%s", answer->second ? answer->second : "");
    }
    return result;
}

PGresult *__wrap_PQexec(PGconn *connection, const char *sql) { return fake_answered(connection, sql); }

PGresult *__wrap_PQexecParams(PGconn *connection, const char *sql, int count, const Oid *types, const char *const *values, const int *lengths, const int *formats, int binary)
{
    fake.values[0] = '\0';
    for (int i = 0; i < count; i++)
        snprintf(fake.values + strlen(fake.values), sizeof fake.values - strlen(fake.values), "%s%u:%s", i ? " " : "", types[i], values[i] ? values[i] : "-");
    return lengths || formats || binary ? NULL : fake_answered(connection, sql);
}

/* ---- results ---- */

ExecStatusType __wrap_PQresultStatus(const PGresult *result);
char *__wrap_PQresultErrorField(const PGresult *result, int field);
char *__wrap_PQresultErrorMessage(const PGresult *result);
char *__wrap_PQcmdStatus(PGresult *result);
char *__wrap_PQcmdTuples(PGresult *result);
void  __wrap_PQclear(PGresult *result);
int   __wrap_PQntuples(const PGresult *result);
int   __wrap_PQnfields(const PGresult *result);
char *__wrap_PQgetvalue(const PGresult *result, int row, int column);
int   __wrap_PQgetisnull(const PGresult *result, int row, int column);
Oid   __wrap_PQftype(const PGresult *result, int column);

ExecStatusType __wrap_PQresultStatus(const PGresult *result) { return !result || result->state ? PGRES_FATAL_ERROR : result->rows > 0 ? PGRES_TUPLES_OK : PGRES_COMMAND_OK; }

char *__wrap_PQresultErrorField(const PGresult *result, int field)
{
    return field == PG_DIAG_SQLSTATE && result->state && *result->state ? fake_text(result->state) : NULL;
}

char *__wrap_PQresultErrorMessage(const PGresult *result) { return fake_text(result->message); }
char *__wrap_PQcmdStatus(PGresult *result) { return fake_text(result->tag); }
char *__wrap_PQcmdTuples(PGresult *result) { return fake_text(result->tuples); }

void __wrap_PQclear(PGresult *result)
{
    if (result) fake.results--;
    free(result);
}

int   __wrap_PQntuples(const PGresult *result) { return result->rows; }
int   __wrap_PQnfields(const PGresult *result) { return result->rows > 0 ? FAKE_COLUMNS : 0; }

/* Fails the test where libpq would print a warning and return NULL. */
static void fake_need(const PGresult *result, int row, int column)
{
    if (row < 0 || row >= result->rows || column < 0 || column >= FAKE_COLUMNS) fail_msg("there is no row %d with a column %d", row, column);
}

char *__wrap_PQgetvalue(const PGresult *result, int row, int column) { return fake_need(result, row, column), (char *)(uintptr_t)result->value[column]; }
int   __wrap_PQgetisnull(const PGresult *result, int row, int column) { return fake_need(result, row, column), result->null[column]; }
static Oid fake_type;   /* the type of every column; 0: each column's own */
Oid   __wrap_PQftype(const PGresult *result, int column) { return fake_need(result, 0, column), fake_type ? fake_type : result->type[column]; }

#endif

/* SPDX-License-Identifier: MIT
 * Proves what is done when a server goes away or takes a transaction back, with one that does so at the statement that the test says: what is sent again,
 * in which order, after which pauses, and when it is given up. A real server's answers are in tests/store. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/error.h"
#include "base/log.h"
#include "leaks.h"
#include "postgres/postgres.h"

#if __has_include(<libpq-fe.h>)
#include "fake_libpq.h"

#define SECOND INT64_C(1000000000)
#define SET_UP \
    "SET client_min_messages = warning; SET lock_timeout = '10s'; SET default_transaction_isolation = 'read committed'; SET extra_float_digits = 3"

static gs_error error;

static gs_pg *open_at(const fake_answer *answer, int answers)
{
    gs_pg *pg;
    fake_begin(answer, answers);
    assert_int_equal(gs_pg_open(&pg, "postgresql://tuner@db/gemm", false, &error), GS_OK);
    fake_sent();
    return pg;
}

#define OPEN(...) open_at((const fake_answer[]){__VA_ARGS__}, (int)GS_COUNT(((const fake_answer[]){__VA_ARGS__})))

/* Nothing is left of the connection. */
static void close_it(gs_pg *pg)
{
    gs_pg_close(&pg);
    assert_null(pg);
    assert_int_equal(fake.open, 0);
    assert_int_equal(fake.results, 0);
}

/* Sends a statement; the value of the first row goes to `value`, "" if there is none. */
static gs_status ask_for(gs_pg *pg, const char *sql, char value[FAKE_VALUE])
{
    bool row;
    gs_pg_query *query = gs_pg_query_new(pg, sql);
    const gs_status status = gs_pg_step(query, &row);
    snprintf(value, FAKE_VALUE, "%s", status == GS_OK && row ? gs_pg_column(query, 0) : "");
    gs_pg_query_free(&query);
    return status;
}

static gs_status ask(gs_pg *pg, const char *sql)
{
    char value[FAKE_VALUE];
    return ask_for(pg, sql, value);
}

/* What was sent, where the connection's own name, which is random, is a "U". */
static const char *sent(void)
{
    static char text[4096];
    snprintf(text, sizeof text, "%s", fake_sent());
    for (char *at = text; (at = strstr(at, "'")); at++)
        if (strspn(at + 1, "0123456789abcdef") == 32) memmove(at + 2, at + 33, strlen(at + 33) + 1), at[1] = 'U', at += 2;
    return text;
}

#define BEGIN(number)                                                                                                                       \
    "BEGIN; INSERT INTO writer (uid, number, date) VALUES ('U', " #number ", now()) ON CONFLICT (uid) DO UPDATE SET number = excluded.number, " \
    "date = excluded.date WHERE writer.number < excluded.number"

/* ---- opening ---- */

static void a_connection_is_set_up(void **state)
{
    (void)state;
    gs_pg *pg;
    fake_begin(NULL, 0);
    assert_int_equal(gs_pg_open(&pg, "dbname=gemm", false, &error), GS_OK);
    assert_string_equal(fake_sent(), "<dial>; " SET_UP);
    assert_string_equal(fake_dialled, "connect_timeout=10 fallback_application_name=gemmsmith keepalives_idle=10 keepalives_interval=5 keepalives_count=3 "
                                      "tcp_user_timeout=30000 dbname=dbname=gemm client_encoding=UTF8 ");
    assert_non_null(fake.notice);   /* libpq's own writes to the terminal */
    fake.notice(NULL, "nothing is done with it");
    assert_false(gs_pg_in_transaction(pg) || gs_pg_moved(pg));
    gs_pg_close(&pg);
    assert_string_equal(fake_sent(), "");   /* no row of writers to take away */
    assert_int_equal(gs_pg_open(&pg, "dbname=gemm", true, &error), GS_OK);
    assert_string_equal(fake_sent(), "<dial>; " SET_UP "; SET default_transaction_read_only = on");
    gs_pg_close(&pg);
    gs_pg_close(&pg);   /* once more does nothing */
    assert_true(fake.open == 0 && fake.results == 0);
}

static void what_is_not_there_is_told_in_one_line(void **state)
{
    (void)state;
    gs_pg *pg;
    fake_begin(NULL, 0);
    fake.fails = 1;
    assert_int_equal(gs_pg_open(&pg, "dbname=gemm", false, &error), GS_ERROR_IO);
    assert_null(pg);
    assert_string_equal(error.text, "dbname=gemm: nobody listens");
    assert_string_equal(error.field, "store");
    assert_true(fake.dials == 1 && fake.sleeps == 0 && fake.open == 0);   /* a server that was never there is not waited for */
    fake_begin(&(fake_answer){.at = 1, .state = "42601"}, 1);
    assert_int_equal(gs_pg_open(&pg, "dbname=gemm", false, &error), GS_ERROR_STORE);
    assert_string_equal(error.text, "dbname=gemm: the first line");
    assert_true(fake.open == 0 && fake.results == 0);
}

static void a_label_has_no_password(void **state)
{
    (void)state;
    static const struct { const char *name, *label; } cases[] = {
        {"postgresql://tuner@db:5432/gemm", "postgresql://tuner@db:5432/gemm"},
        {"postgresql://tuner:geheim@db/gemm", "postgresql://u@h/d"},
        {"postgresql://tuner:@db/gemm", "postgresql://u@h/d"},
        {"postgresql://:geheim@db/gemm", "postgresql://u@h/d"},
        {"postgresql://db/gemm?password=geheim", "postgresql://u@h/d"},
        {"host=db password=geheim", "postgresql://u@h/d"},
        {"host=db user=a:b", "host=db user=a:b"},
    };
    gs_pg *pg;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        fake_begin(NULL, 0);
        fake.host = "h", fake.user = "u", fake.database = "d";
        assert_int_equal(gs_pg_open(&pg, cases[i].name, false, &error), GS_OK);
        assert_string_equal(gs_pg_label(pg), cases[i].label);
        close_it(pg);
    }
    fake_begin(NULL, 0);
    assert_int_equal(gs_pg_open(&pg, "password=geheim", false, &error), GS_OK);
    assert_string_equal(gs_pg_label(pg), "postgresql://@/");   /* libpq knows neither */
    close_it(pg);
}

static void names_of_databases_are_told_from_files(void **state)
{
    (void)state;
    static const char *const names[] = {"postgresql://a", "postgres://a", "host=a", "hostaddr=::1", "port=1", "dbname=a", "user=a", "password=a", "service=a", "passfile=a", "sslmode=a"};
    static const char *const files[] = {"", "store.db", "./host=a", "postgresql:/a", "host", "HOST=a", " host=a"};
    for (size_t i = 0; i < GS_COUNT(names); i++) assert_true(gs_pg_is_name(names[i]));
    for (size_t i = 0; i < GS_COUNT(files); i++) assert_false(gs_pg_is_name(files[i]));
}

/* ---- one statement ---- */

static void what_would_fail_again_is_sent_once(void **state)
{
    (void)state;
    static const struct { const char *state; gs_status status; const char *message; } cases[] = {
        {"55P03", GS_ERROR_STORE_BUSY, "another process has held it for 10 s: wait for it, or end it, then try again"},
        {"53100", GS_ERROR_DISK_FULL, "the first line"}, {"25006", GS_ERROR_IO, "the first line"}, {"42501", GS_ERROR_IO, "the first line"},
        {"42P01", GS_ERROR_STORE, "the first line"}, {"57014", GS_ERROR_STORE, "the first line"}, {"0A000", GS_ERROR_STORE, "the first line"},
        {"57P10", GS_ERROR_STORE, "the first line"}, {"40002", GS_ERROR_STORE, "the first line"}, {"58030", GS_ERROR_STORE, "the first line"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_pg *const pg = OPEN({.at = 2, .state = cases[i].state}, {.at = 3, .state = cases[i].state});
        assert_int_equal(ask(pg, "one"), cases[i].status);
        assert_string_equal(gs_pg_message(pg), cases[i].message);
        assert_int_equal(gs_pg_text_run(pg, "two"), cases[i].status);
        assert_string_equal(fake_sent(), "one; two");
        assert_int_equal(fake.sleeps, 0);
        close_it(pg);
    }
}

static void a_lost_connection_is_made_again_and_asked_again(void **state)
{
    (void)state;
    static const fake_answer lost[] = {
        {.at = 2, .state = "57P01"}, {.at = 2, .state = "57P03"}, {.at = 2, .state = "08006"}, {.at = 2, .state = "08P01"},
        {.at = 2, .state = ""}, {.at = 2, .state = "42P01", .down = true}, {.at = 2, .gone = true, .down = true},
    };
    char value[FAKE_VALUE];
    for (size_t i = 0; i < GS_COUNT(lost); i++) {
        gs_pg *const pg = OPEN(lost[i], {.at = 4, .value = "it", .tuples = "7"});
        assert_int_equal(ask_for(pg, "one", value), GS_OK);
        assert_string_equal(value, "it");
        assert_int_equal(gs_pg_changed(pg), 7);
        assert_string_equal(fake_sent(), "one; <dial>; " SET_UP "; one");
        assert_int_equal(fake.sleeps, 1);
        close_it(pg);
        /* what is no part of what can be played again is sent once */
        gs_pg *const text = OPEN(lost[i]);
        assert_int_not_equal(gs_pg_text_run(text, "one"), GS_OK);
        assert_string_equal(fake_sent(), "one");
        close_it(text);
    }
}

static void what_gave_way_is_asked_again_on_the_same_connection(void **state)
{
    (void)state;
    static const char *const states[] = {"40001", "40P01"};
    for (size_t i = 0; i < GS_COUNT(states); i++) {
        gs_pg *const pg = OPEN({.at = 2, .state = states[i]}, {.at = 3, .state = states[i]});
        assert_int_equal(ask(pg, "one"), GS_OK);
        assert_string_equal(fake_sent(), "one; one; one");
        close_it(pg);
    }
}

static void a_server_is_waited_for_a_minute(void **state)
{
    (void)state;
    gs_pg *pg = OPEN({.at = 2, .state = "", .down = true});
    fake.fails = 5;
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(fake.dials, 7);
    assert_int_equal(fake.slept, (20 + 40 + 80 + 160 + 320 + 10) * (SECOND / 1000));   /* each pause is twice the one before */
    close_it(pg);

    pg = OPEN({.at = 2, .state = "", .down = true});
    fake.fails = 1000;
    assert_int_equal(ask(pg, "one"), GS_ERROR_IO);
    assert_string_equal(gs_pg_message(pg), "nobody listens");
    assert_int_equal(fake.longest, SECOND);
    assert_true(fake.slept >= 60 * SECOND && fake.slept <= 61 * SECOND);
    close_it(pg);

    /* it is there each time, and gone at the statement: given up too */
    static fake_answer ever[10000];
    for (int i = 0; i < (int)GS_COUNT(ever); i++) ever[i] = (fake_answer){.at = 2 * i + 2, .state = "57P03", .down = true};
    pg = open_at(ever, (int)GS_COUNT(ever));
    assert_int_equal(ask(pg, "one"), GS_ERROR_IO);
    assert_true(fake.slept >= 60 * SECOND && fake.slept <= 61 * SECOND);
    close_it(pg);
}

/* ---- transactions ---- */

static void a_transaction_is_played_again_from_its_beginning(void **state)
{
    (void)state;
    gs_pg *const pg = OPEN({.at = 3, .value = "1"}, {.at = 4, .state = "57P01", .down = true}, {.at = 7, .value = "1"}, {.at = 8, .value = "it", .tuples = "3"});
    char value[FAKE_VALUE];
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_true(gs_pg_in_transaction(pg));
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(ask_for(pg, "two", value), GS_OK);
    assert_string_equal(value, "it");
    assert_int_equal(gs_pg_changed(pg), 3);
    assert_int_equal(gs_pg_end(pg, true), GS_OK);
    assert_false(gs_pg_in_transaction(pg));
    assert_string_equal(sent(), BEGIN(1) "; one; two; <dial>; " SET_UP "; " BEGIN(1) "; one; two; COMMIT");
    assert_int_equal(gs_pg_end(pg, true), GS_OK);   /* there is none */
    assert_string_equal(sent(), "");
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(gs_pg_end(pg, false), GS_OK);
    assert_string_equal(sent(), BEGIN(2) "; ROLLBACK");
    close_it(pg);
    assert_string_equal(sent(), "DELETE FROM writer WHERE uid = 'U' OR date < now() - interval '30 days'");
}

static void what_stands_outside_is_no_part_of_the_next(void **state)
{
    (void)state;
    gs_pg *const pg = OPEN({.at = 7, .state = "57P01"});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(gs_pg_end(pg, true), GS_OK);
    assert_int_equal(ask(pg, "outside"), GS_OK);
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    sent();
    assert_int_equal(ask(pg, "two"), GS_OK);
    assert_string_equal(sent(), "two; <dial>; " SET_UP "; " BEGIN(2) "; two");
    close_it(pg);
}

static void no_memory_for_a_transaction(void **state)
{
    (void)state;
    gs_pg *const pg = OPEN({.at = 1});
    gs_pg_query *query = gs_pg_query_new(pg, "one");
    bool row = true;
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    fail_at = 1;
    assert_int_equal(gs_pg_step(query, &row), GS_ERROR_MEMORY);
    fail_at = 0;
    assert_string_equal(gs_pg_message(pg), "no memory for a transaction");
    assert_false(row);
    gs_pg_query_free(&query);
    close_it(pg);

    gs_pg *none;
    fail_at = 1;
    assert_int_equal(gs_pg_open(&none, "dbname=gemm", false, &error), GS_ERROR_MEMORY);
    fail_at = 0;
    assert_null(none);
}

static void take_line(void *self, int level, const char *text) { snprintf(self, 100, "%d %s", level, text); }

static void a_lost_connection_is_logged(void **state)
{
    (void)state;
    char line[100] = "";
    gs_log_set_sink(line, take_line, line, GS_LOG_INFO);
    gs_pg *const pg = OPEN({.at = 2, .state = "57P01"});
    assert_int_equal(ask(pg, "one"), GS_OK);
    gs_log_drop_sink(line);
    assert_string_equal(line, "3 postgresql://tuner@db/gemm: the connection is lost; connecting again");
    close_it(pg);
}

static void one_that_gave_way_is_taken_back_first(void **state)
{
    (void)state;
    gs_pg *const pg = OPEN({.at = 4, .state = "40P01"}, {.at = 7, .state = "40001"});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(ask(pg, "two"), GS_OK);
    /* the second time it is "one" that has to give way */
    assert_string_equal(sent(), BEGIN(1) "; one; two; ROLLBACK; " BEGIN(1) "; one; ROLLBACK; " BEGIN(1) "; one; two");
    assert_true(fake.sleeps == 1 && fake.slept < SECOND / 50);   /* so that two do not meet again and again */
    assert_int_equal(gs_pg_end(pg, true), GS_OK);
    close_it(pg);
}

/* Others have changed what it read: value, its being none, and how many rows there are. */
static void one_that_reads_something_else_is_given_up(void **state)
{
    (void)state;
    static const struct { fake_answer before, after; bool moved; } cases[] = {
        {{.at = 3, .value = "1"}, {.at = 7, .value = "2"}, true},
        {{.at = 3, .value = "1", .second = "2"}, {.at = 7, .value = "1", .second = "3"}, true},
        {{.at = 3, .value = "1", .second = ""}, {.at = 7, .value = "1"}, true},
        {{.at = 3, .value = "1", .second = "2"}, {.at = 7, .value = "2", .second = "1"}, true},
        {{.at = 3, .value = "1"}, {.at = 7, .value = "1", .rows = 2}, true},
        {{.at = 3, .value = "1"}, {.at = 7}, true},
        {{.at = 3, .value = "1", .rows = 2}, {.at = 7, .value = "1", .rows = 2}, false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_pg *const pg = OPEN(cases[i].before, {.at = 4, .state = "57P01"}, cases[i].after);
        assert_int_equal(gs_pg_begin(pg, true), GS_OK);
        assert_int_equal(ask(pg, "one"), GS_OK);
        const gs_status status = ask(pg, "two");
        assert_int_equal(status, cases[i].moved ? GS_ERROR_STORE_BUSY : GS_OK);
        assert_true(gs_pg_moved(pg) == cases[i].moved);
        if (cases[i].moved) assert_string_equal(gs_pg_message(pg), "the connection was lost, and others have changed what was read before: try again");
        assert_string_equal(sent(), cases[i].moved ? BEGIN(1) "; one; two; <dial>; " SET_UP "; " BEGIN(1) "; one" : BEGIN(1) "; one; two; <dial>; " SET_UP "; " BEGIN(1) "; one; two");
        assert_int_equal(gs_pg_end(pg, false), GS_OK);
        assert_string_equal(sent(), "ROLLBACK");
        assert_int_equal(gs_pg_begin(pg, true), GS_OK);
        assert_false(gs_pg_moved(pg));   /* that was the last one */
        close_it(pg);
    }
}

static void a_failure_while_it_is_played_again_is_its_own(void **state)
{
    (void)state;
    gs_pg *pg = OPEN({.at = 4, .state = "57P01"}, {.at = 7, .state = "53100"});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(ask(pg, "two"), GS_ERROR_DISK_FULL);
    assert_string_equal(gs_pg_message(pg), "the first line");
    assert_false(gs_pg_moved(pg));
    close_it(pg);

    pg = OPEN({.at = 4, .state = "57P01"}, {.at = 7, .state = "57P01"}, {.at = 10, .state = "57P01"});   /* lost again and again */
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(ask(pg, "two"), GS_OK);
    assert_int_equal(fake.dials, 4);
    close_it(pg);
}

/* COMMIT got no answer: the row of writers says whether it was done. */
static void a_commit_without_an_answer_is_done_once(void **state)
{
    (void)state;
    for (int done = 0; done < 2; done++) {
        gs_pg *const pg = OPEN({.at = 4, .state = "", .down = true}, {.at = 6, .tuples = done ? "0" : "1"});
        assert_int_equal(gs_pg_begin(pg, true), GS_OK);
        assert_int_equal(ask(pg, "one"), GS_OK);
        assert_int_equal(gs_pg_end(pg, true), GS_OK);
        assert_string_equal(sent(), done ? BEGIN(1) "; one; COMMIT; <dial>; " SET_UP "; " BEGIN(1) "; ROLLBACK"
                                         : BEGIN(1) "; one; COMMIT; <dial>; " SET_UP "; " BEGIN(1) "; one; COMMIT");
        assert_false(gs_pg_in_transaction(pg));
        close_it(pg);
    }
}

static void a_commit_that_was_none_fails(void **state)
{
    (void)state;
    gs_pg *pg = OPEN({.at = 4, .tag = "ROLLBACK"});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(gs_pg_end(pg, true), GS_ERROR_STORE);
    assert_string_equal(gs_pg_message(pg), "the transaction was taken back");
    assert_false(gs_pg_in_transaction(pg));
    close_it(pg);

    pg = OPEN({.at = 3, .state = "53100"});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(gs_pg_end(pg, true), GS_ERROR_DISK_FULL);
    assert_string_equal(sent(), BEGIN(1) "; COMMIT; ROLLBACK");
    assert_false(gs_pg_in_transaction(pg));
    close_it(pg);
}

static void one_that_cannot_be_played_again_fails(void **state)
{
    (void)state;
    gs_pg *pg = OPEN({.at = 4, .state = "57P01", .down = true});
    assert_int_equal(gs_pg_begin(pg, false), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    assert_int_equal(ask(pg, "two"), GS_ERROR_IO);
    assert_false(gs_pg_in_transaction(pg));
    assert_string_equal(gs_pg_message(pg), "the first line");
    assert_string_equal(sent(), "BEGIN; one; two; <dial>; " SET_UP);   /* what comes behind it finds a connection */
    assert_int_equal(gs_pg_end(pg, true), GS_OK);
    close_it(pg);
    assert_string_equal(sent(), "");   /* it has no row of writers */

    pg = OPEN({.at = 3, .state = "40001"});
    assert_int_equal(gs_pg_begin(pg, false), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_ERROR_IO);
    assert_string_equal(sent(), "BEGIN; one; ROLLBACK");
    assert_int_equal(fake.dials, 1);
    close_it(pg);
}

static void a_beginning_is_made_again_whatever_it_begins(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        gs_pg *pg = OPEN({.at = 2, .state = "57P01", .down = true});
        assert_int_equal(gs_pg_begin(pg, again), GS_OK);
        assert_true(gs_pg_in_transaction(pg));
        assert_int_equal(fake.dials, 2);
        sent();
        assert_int_equal(ask(pg, "one"), GS_OK);
        assert_int_equal(gs_pg_end(pg, true), GS_OK);
        assert_string_equal(sent(), "one; COMMIT");
        close_it(pg);

        pg = OPEN({.at = 2, .state = "53100"});
        assert_int_equal(gs_pg_begin(pg, again), GS_ERROR_DISK_FULL);
        assert_false(gs_pg_in_transaction(pg));
        assert_string_equal(sent(), again ? BEGIN(1) "; ROLLBACK" : "BEGIN; ROLLBACK");
        close_it(pg);
    }
}

static void an_open_transaction_is_taken_back_at_the_end(void **state)
{
    (void)state;
    gs_pg *pg = OPEN({.at = 1});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_equal(ask(pg, "one"), GS_OK);
    sent();
    close_it(pg);
    assert_string_equal(sent(), "ROLLBACK; DELETE FROM writer WHERE uid = 'U' OR date < now() - interval '30 days'");

    pg = OPEN({.at = 3, .state = "57P01", .down = true});
    assert_int_equal(gs_pg_begin(pg, true), GS_OK);
    assert_int_not_equal(gs_pg_text_run(pg, "one"), GS_OK);
    sent();
    close_it(pg);
    assert_string_equal(sent(), "");   /* to nobody */
}

/* ---- values ---- */

static void values_are_sent_with_their_types(void **state)
{
    (void)state;
    bool row;
    gs_pg *const pg = OPEN({.at = 2, .value = "text", .tuples = "12"});
    gs_pg_query *query = gs_pg_query_new(pg, "SELECT ?, ?2, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?");
    gs_pg_int(query, INT64_MIN);
    gs_pg_int(query, 0);
    gs_pg_real(query, 0.1);
    gs_pg_real(query, -INFINITY);
    gs_pg_real(query, NAN);
    gs_pg_text(query, "");
    gs_pg_text(query, NULL);
    assert_int_equal(gs_pg_step(query, &row), GS_OK);
    assert_string_equal(fake.values, "20:-9223372036854775808 20:0 701:0.10000000000000001 701:-inf 701:- 25: 25:-");
    assert_string_equal(fake_sent(), "SELECT $1, $2, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11");
    assert_true(row);
    assert_int_equal(gs_pg_columns(query), 2);
    assert_string_equal(gs_pg_column(query, 0), "text");
    assert_null(gs_pg_column(query, 1));
    assert_int_equal(gs_pg_changed(pg), 12);
    assert_int_equal(gs_pg_step(query, &row), GS_OK);
    assert_false(row);
    assert_string_equal(fake_sent(), "");   /* asked once */
    gs_pg_query_free(&query);

    /* as many values as there is room for, and one more */
    for (int more = 0; more < 2; more++) {
        query = gs_pg_query_new(pg, "SELECT");
        for (int i = 0; i < GS_PG_VALUES + more; i++) gs_pg_text(query, "a");
        assert_int_equal(gs_pg_step(query, &row), more ? GS_ERROR_RANGE : GS_OK);
        assert_string_equal(gs_pg_message(pg), more ? "no memory for a statement" : "");
        assert_false(row);
        gs_pg_query_free(&query);
    }
    close_it(pg);
}

static void types_of_columns_are_the_servers(void **state)
{
    (void)state;
    static const struct { Oid type; gs_pg_type is; } cases[] = {{20, GS_PG_INT}, {23, GS_PG_INT}, {701, GS_PG_REAL}, {700, GS_PG_REAL}, {25, GS_PG_TEXT}, {1043, GS_PG_TEXT}};
    bool row;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_pg *const pg = OPEN({.at = 2, .value = "1"});
        gs_pg_query *query = gs_pg_query_new(pg, "SELECT");
        assert_int_equal(gs_pg_step(query, &row), GS_OK);
        fake_type = cases[i].type;
        assert_int_equal(gs_pg_column_type(query, 0), cases[i].is);
        assert_int_equal(gs_pg_column_type(query, 1), GS_PG_NULL);
        fake_type = 0;
        gs_pg_query_free(&query);
        close_it(pg);
    }
}

/* A server takes UTF-8 alone: what is none goes there as characters that mean nothing, and comes back as it was. */
static void bytes_that_are_no_text_come_back(void **state)
{
    (void)state;
    static const struct { const char *text, *sent; } cases[] = {
        {"a\x7f", "25:a\x7f"}, {"\xc2\x80", "25:\xc2\x80"}, {"\xdf\xbf", "25:\xdf\xbf"}, {"\xe0\xa0\x80", "25:\xe0\xa0\x80"}, {"\xed\x9f\xbf", "25:\xed\x9f\xbf"},
        {"\xee\x80\x80", "25:\xee\x80\x80"}, {"\xef\xbf\xbf", "25:\xef\xbf\xbf"}, {"\xef\x9d\xbf", "25:\xef\x9d\xbf"}, {"\xef\xa0\x80", "25:\xef\xa0\x80"},
        {"\xf0\x90\x80\x80", "25:\xf0\x90\x80\x80"}, {"\xf4\x8f\xbf\xbf", "25:\xf4\x8f\xbf\xbf"},
        {"\x80", "25:\xef\x9e\x80"}, {"\xff", "25:\xef\x9f\xbf"}, {"\xbf", "25:\xef\x9e\xbf"}, {"\xc0", "25:\xef\x9f\x80"},             /* alone */
        {"\xc1\xbf", "25:\xef\x9f\x81\xef\x9e\xbf"}, {"\xe0\x9f\xbf", "25:\xef\x9f\xa0\xef\x9e\x9f\xef\x9e\xbf"},                         /* too long for what they are */
        {"\xed\xa0\x80", "25:\xef\x9f\xad\xef\x9e\xa0\xef\x9e\x80"},                                                                       /* half of a pair */
        {"\xf0\x8f\xbf\xbf", "25:\xef\x9f\xb0\xef\x9e\x8f\xef\x9e\xbf\xef\x9e\xbf"}, {"\xf4\x90\x80\x80", "25:\xef\x9f\xb4\xef\x9e\x90\xef\x9e\x80\xef\x9e\x80"},   /* outside of all */
        {"\xf5\x80\x80\x80", "25:\xef\x9f\xb5\xef\x9e\x80\xef\x9e\x80\xef\x9e\x80"},
        {"\xc3", "25:\xef\x9f\x83"}, {"\xe2\x82", "25:\xef\x9f\xa2\xef\x9e\x82"}, {"\xe2\x82z", "25:\xef\x9f\xa2\xef\x9e\x82z"}, {"\xf0\x9f\x98", "25:\xef\x9f\xb0\xef\x9e\x9f\xef\x9e\x98"},   /* cut off */
        {"\xef\x9e\x80", "25:\xef\x9f\xaf\xef\x9e\x9e\xef\x9e\x80"}, {"\xef\x9f\xbf!", "25:\xef\x9f\xaf\xef\x9e\x9f\xef\x9e\xbf!"},     /* the characters themselves */
    };
    bool row;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_pg *const pg = OPEN({.at = 2, .value = cases[i].sent + 3, .second = "\xc3\xa4"});
        gs_pg_query *query = gs_pg_query_new(pg, "SELECT ?");
        gs_pg_text(query, cases[i].text);
        assert_int_equal(gs_pg_step(query, &row), GS_OK);
        assert_string_equal(fake.values, cases[i].sent);
        assert_string_equal(gs_pg_column(query, 0), cases[i].text);
        assert_string_equal(gs_pg_column(query, 1), "\xc3\xa4");
        gs_pg_query_free(&query);
        close_it(pg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_set_up),
        cmocka_unit_test(what_is_not_there_is_told_in_one_line),
        cmocka_unit_test(a_label_has_no_password),
        cmocka_unit_test(names_of_databases_are_told_from_files),
        cmocka_unit_test(what_would_fail_again_is_sent_once),
        cmocka_unit_test(a_lost_connection_is_made_again_and_asked_again),
        cmocka_unit_test(what_gave_way_is_asked_again_on_the_same_connection),
        cmocka_unit_test(a_server_is_waited_for_a_minute),
        cmocka_unit_test(a_transaction_is_played_again_from_its_beginning),
        cmocka_unit_test(what_stands_outside_is_no_part_of_the_next),
        cmocka_unit_test(no_memory_for_a_transaction),
        cmocka_unit_test(a_lost_connection_is_logged),
        cmocka_unit_test(one_that_gave_way_is_taken_back_first),
        cmocka_unit_test(one_that_reads_something_else_is_given_up),
        cmocka_unit_test(a_failure_while_it_is_played_again_is_its_own),
        cmocka_unit_test(a_commit_without_an_answer_is_done_once),
        cmocka_unit_test(a_commit_that_was_none_fails),
        cmocka_unit_test(one_that_cannot_be_played_again_fails),
        cmocka_unit_test(a_beginning_is_made_again_whatever_it_begins),
        cmocka_unit_test(an_open_transaction_is_taken_back_at_the_end),
        cmocka_unit_test(values_are_sent_with_their_types),
        cmocka_unit_test(types_of_columns_are_the_servers),
        cmocka_unit_test(bytes_that_are_no_text_come_back),
    };
    return run_without_leaks("postgres/connection", tests, GS_COUNT(tests));
}
#else
int main(void) { return 77; }   /* built without libpq */
#endif

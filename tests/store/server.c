/* SPDX-License-Identifier: MIT
 * Proves what only a store on a PostgreSQL server has: its name, what is refused, and copies between files and servers. Run with a server by
 * tests/store/postgres.sh; without one only names are looked at. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "store/sql.h"
#include "store/store.h"
#include "store_folder.h"

#define SERVER_ONLY()                \
    do {                             \
        if (!store_server()) skip(); \
    } while (0)

static void a_connection_string_is_told_from_a_file(void **state)
{
    (void)state;
    assert_true(gs_store_is_server("postgresql://tuner@db/gemm") && gs_store_is_server("postgres://db") && gs_store_is_server("dbname=x"));
    assert_false(gs_store_is_server("store.db") || gs_store_is_server("/a/host=b") || gs_store_is_server("./host=b") || gs_store_is_server(""));
}

static void no_server_is_told_without_the_password(void **state)
{
    (void)state;
    gs_store *store;
    const gs_status status = gs_store_open(&store, "postgresql://me:geheim@127.0.0.1:1/nothing", &error);
    assert_true(status == GS_ERROR_IO || status == GS_ERROR_UNSUPPORTED);   /* built without libpq */
    assert_null(store);
    assert_null(strstr(error.text, "geheim"));
}

static void what_files_alone_have_is_refused(void **state)
{
    (void)state;
    SERVER_ONLY();
    char path[GS_PATH];
    int64_t count = -1;
    gs_store *store = open_store("check");
    assert_int_equal(gs_store_check(store, &count, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_store_seal(path_of(path, "check"), &count, &error), GS_ERROR_UNSUPPORTED);
    gs_store_close(&store);
}

static void versions_and_other_databases(void **state)
{
    (void)state;
    SERVER_ONLY();
    char path[GS_PATH];
    gs_store *store = open_store("newer");
    assert_int_equal(gs_sql_text_run(store, "UPDATE gemmsmith SET version = 1000"), SQLITE_OK);
    gs_store_close(&store);
    assert_int_equal(gs_store_open(&store, path_of(path, "newer"), &error), GS_ERROR_STORE_VERSION);
    store = open_store("foreign");
    assert_int_equal(gs_sql_text_run(store, "DROP TABLE gemmsmith"), SQLITE_OK);
    gs_store_close(&store);
    assert_int_equal(gs_store_open(&store, path_of(path, "foreign"), &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_open_read(&store, path_of(path, "empty"), &error), GS_ERROR_STORE);
}

static void a_reader_writes_nothing(void **state)
{
    (void)state;
    SERVER_ONLY();
    char path[GS_PATH];
    gs_session session = {.device = DEVICE};
    gs_store *store = open_store("read");
    gs_store_close(&store);
    CHECK(gs_store_open_read(&store, path_of(path, "read"), &error));
    assert_int_equal(gs_store_begin(store, &session, &error), GS_ERROR_IO);
    gs_store_close(&store);
}

static void fill(gs_store *store)
{
    gs_session session = {.device = DEVICE, .command = "tune"};
    const double us[] = {1, 2, 3};
    CHECK(gs_store_begin(store, &session, &error));
    gs_trial trial = {.us = 2, .ratio = 1.5, .rounds = 3};
    for (int i = 0; i < 20; i++) {
        snprintf(trial.problem, sizeof trial.problem, "f16:64x64x%d:tn", 64 * (i + 1));
        snprintf(trial.candidate, sizeof trial.candidate, "source:%d\xff", i);
        CHECK(gs_store_samples(store, &session, trial.problem, trial.candidate, "device", us, us, 3, &error));
        CHECK(gs_store_win(store, &session, &trial, &error));
    }
    CHECK(gs_store_curve(store, &session, "train/x", "a", us, us, 3, &error));
    CHECK(gs_store_result_put(store, &session, "key", "value", &error));
    CHECK(gs_store_turn_put(store, &session, &(gs_turn){.problem = trial.problem, .mode = "source", .ask = "?"}, &error));
}

/* From a file to the server and from there to another file: everything arrives, once. */
static void copies_go_both_ways(void **state)
{
    (void)state;
    SERVER_ONLY();
    enum { ROWS = 1 + 20 + 20 + 20 + 20 + 60 + 1 + 1 + 3 + 2 + 1 };   /* session, problems, trials, winners, measurements, samples, result, curve, points, prompts, turn */
    char first[GS_PATH], last[GS_PATH], name[GS_PATH];
    int64_t copied;
    gs_store *file, *end, *server = open_store("between");
    snprintf(first, sizeof first, "%s/first.db", folder);
    snprintf(last, sizeof last, "%s/last.db", folder);
    path_of(name, "between");
    CHECK(gs_store_open(&file, first, &error));
    CHECK(gs_store_open(&end, last, &error));
    fill(file);
    CHECK(gs_store_merge(server, first, &copied, &error));
    assert_int_equal(copied, ROWS);
    CHECK(gs_store_merge(server, first, &copied, &error));
    assert_int_equal(copied, 0);
    CHECK(gs_store_merge(end, name, &copied, &error));
    assert_int_equal(copied, ROWS);
    CHECK(gs_store_merge(file, last, &copied, &error));
    assert_int_equal(copied, 0);   /* what came back is what went */
    gs_store_close(&file);
    gs_store_close(&end);
    gs_store_close(&server);
}

/* The server ends every connection of the store, between calls and within one: the next statement goes on. */
static void a_lost_connection_is_made_again(void **state)
{
    (void)state;
    SERVER_ONLY();
    int64_t count;
    gs_session session = {.device = DEVICE};
    gs_store *store = open_store("lost"), *other = open_store("lost");
    static const char end[] = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'gemmsmith'";
    assert_int_equal(gs_sql_number(other, end, &count), SQLITE_OK);
    assert_true(count >= 1);
    CHECK(gs_store_begin(store, &session, &error));
    CHECK(gs_sql_begin(store, &error));
    char problem[GS_PROBLEM_TEXT];
    CHECK(gs_sql_problem(store, "f16:64x64x64:tn", problem, &error));
    assert_int_equal(gs_sql_number(other, end, &count), SQLITE_OK);
    CHECK(gs_sql_problem(store, "f16:64x64x128:tn", problem, &error));
    assert_int_equal(gs_sql_number(other, end, &count), SQLITE_OK);
    CHECK(gs_sql_end(store, GS_OK, &error));
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM problem", &count), SQLITE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(gs_sql_number(store, "SELECT max(m) FROM problem WHERE false", &count), SQLITE_OK);
    assert_int_equal(count, 0);   /* NULL, as SQLite reads it */
    gs_store_close(&store);
    gs_store_close(&other);
}

/* A transaction that is not done again fails, and what comes behind it finds a connection outside of any: that was lost, or that another one had to give way to. */
static void a_long_transaction_fails_once(void **state)
{
    (void)state;
    SERVER_ONLY();
    int64_t count;
    gs_store *store = open_store("long"), *other = open_store("long");
    static const char end[] = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'gemmsmith'";
    static const char way[] = "CREATE FUNCTION pg_temp.give_way() RETURNS int AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$ LANGUAGE plpgsql";
    for (int lost = 0; lost < 2; lost++) {
        if (!lost) assert_int_equal(gs_sql_text_run(store, way), SQLITE_OK);
        assert_int_equal(gs_sql_begin_once(store), SQLITE_OK);
        if (lost) assert_int_equal(gs_sql_number(other, end, &count), SQLITE_OK);
        assert_int_not_equal(gs_sql_number(store, lost ? "SELECT 1" : "SELECT pg_temp.give_way()", &count), SQLITE_OK);
        assert_int_equal(gs_sql_end(store, GS_ERROR_IO, &error), GS_ERROR_IO);
        assert_int_equal(gs_sql_text_run(store, "SELECT 1"), SQLITE_OK);   /* which is sent once, whatever becomes of it */
        assert_int_equal(gs_sql_number(store, lost ? "SELECT 5" : "SELECT 5 + count(*) - 1 FROM pg_proc WHERE proname = 'give_way'", &count), SQLITE_OK);
        assert_int_equal(count, 5);   /* on the same connection, where it was not lost */
    }
    gs_store_close(&store);
    gs_store_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_string_is_told_from_a_file), cmocka_unit_test(no_server_is_told_without_the_password),
        cmocka_unit_test(what_files_alone_have_is_refused),        cmocka_unit_test(versions_and_other_databases),
        cmocka_unit_test(a_reader_writes_nothing),                 cmocka_unit_test(copies_go_both_ways),
        cmocka_unit_test(a_lost_connection_is_made_again),         cmocka_unit_test(a_long_transaction_fails_once),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

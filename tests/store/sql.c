/* SPDX-License-Identifier: MIT
 * Proves what SQLite's codes become: a status, and a message that says how to go on; and that a query keeps its first failure. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "leaks.h"
#include "store/sql.h"
#include "store_folder.h"

static void codes_become_statuses(void **state)
{
    (void)state;
    static const char busy[] = "a.db: another process has held it for 10 s: wait for it, or end it, then try again";
    static const char full[] = "a.db: no room to write: free some space, then start again; what was kept is safe";
    static const struct { int code; gs_status status; const char *text; } cases[] = {
        {SQLITE_CORRUPT, GS_ERROR_STORE_CORRUPT, "a.db cannot be read: database disk image is malformed"},
        {SQLITE_CORRUPT_INDEX, GS_ERROR_STORE_CORRUPT, "a.db cannot be read: database disk image is malformed"},
        {SQLITE_NOTADB, GS_ERROR_STORE_CORRUPT, "a.db cannot be read: file is not a database"},
        {SQLITE_BUSY, GS_ERROR_STORE_BUSY, busy}, {SQLITE_BUSY_SNAPSHOT, GS_ERROR_STORE_BUSY, busy}, {SQLITE_LOCKED, GS_ERROR_STORE_BUSY, busy},
        {SQLITE_PROTOCOL, GS_ERROR_STORE_BUSY, busy}, {SQLITE_FULL, GS_ERROR_DISK_FULL, full},
        {SQLITE_NOMEM, GS_ERROR_MEMORY, "a.db: out of memory"}, {SQLITE_IOERR_NOMEM, GS_ERROR_MEMORY, "a.db: disk I/O error"},
        {SQLITE_INTERRUPT, GS_ERROR_INTERRUPTED, "a.db: interrupted"},
        {SQLITE_IOERR, GS_ERROR_IO, "a.db: disk I/O error: check the path and its permissions, or name another file in $GEMMSMITH_STORE"},
        {SQLITE_IOERR_READ, GS_ERROR_IO, "a.db: disk I/O error: check the path"}, {SQLITE_READONLY, GS_ERROR_IO, "a.db: attempt to write a readonly database: check"},
        {SQLITE_CANTOPEN, GS_ERROR_IO, "a.db: unable to open database file: check"}, {SQLITE_PERM, GS_ERROR_IO, "a.db: access permission denied: check"},
        {SQLITE_AUTH, GS_ERROR_IO, "a.db: authorization denied: check"}, {SQLITE_CONSTRAINT, GS_ERROR_STORE, "a.db: constraint failed"}, {SQLITE_ERROR, GS_ERROR_STORE, "a.db: SQL logic error"},
    };
    gs_store *const none = calloc(1, sizeof *none);   /* not open: no system's number, and no words of a connection */
    strcpy(none->path, "a.db");
    assert_int_equal(gs_sql_status(none, SQLITE_OK, &error), GS_OK);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        memset(&error, 0, sizeof error);
        assert_int_equal(gs_sql_status_of(none, "a.db", cases[i].code, &error), cases[i].status);
        if (strncmp(error.text, cases[i].text, strlen(cases[i].text)) != 0) fail_msg("%d: %s", cases[i].code, error.text);
        if (cases[i].status == GS_ERROR_STORE_CORRUPT) continue;
        memset(&error, 0, sizeof error);
        assert_int_equal(gs_sql_status(none, cases[i].code, &error), cases[i].status);   /* of its own path */
        assert_int_equal(strncmp(error.text, cases[i].text, strlen(cases[i].text)), 0);
    }
    free(none);
}

static void long_paths_keep_their_end(void **state)
{
    (void)state;
    char path[200];
    for (size_t size = 159; size <= 162; size++) {
        memset(path, 'a', size);
        path[size] = '\0';
        const char *const tail = gs_sql_tail(path);
        assert_int_equal(strlen(tail), GS_MIN(size, 160));
        assert_ptr_equal(tail + strlen(tail), path + size);
    }
    assert_string_equal(gs_sql_tail(""), "");
}

/* What is wrong with one parameter is told by step, whatever is bound behind it; the next use of a kept statement knows nothing of it. */
static void a_failed_query_fails_once(void **state)
{
    (void)state;
    int64_t value = 7;
    gs_store *store = open_store("sql.db");
    gs_query query = gs_sql_ad_hoc(store, "SELECT ?, ?");
    gs_sql_int(&query, 1);
    gs_sql_text(&query, "a");
    gs_sql_real(&query, 1);   /* there is no third one */
    assert_int_equal(gs_sql_step(&query), SQLITE_RANGE);
    gs_sql_leave(&query);
    query = gs_sql_ad_hoc(store, "SELECT nonsense");
    assert_int_equal(gs_sql_run(&query), SQLITE_ERROR);
    assert_int_equal(gs_sql_number(store, "SELECT nonsense", &value), SQLITE_ERROR);
    assert_int_equal(gs_sql_number(store, "SELECT 5 WHERE 0", &value), SQLITE_OK);
    assert_int_equal(value, 0);
    assert_int_equal(gs_sql_number(store, "SELECT 9007199254740993", &value), SQLITE_OK);
    assert_true(value == INT64_C(9007199254740993));

    query = gs_sql_ad_hoc(store, "SELECT ?, ?, ?, ?, ?");
    gs_sql_int(&query, INT64_MIN);
    gs_sql_real(&query, 0.1);
    gs_sql_real(&query, NAN);
    gs_sql_text(&query, "text");
    gs_sql_text(&query, NULL);
    assert_int_equal(gs_sql_step(&query), SQLITE_ROW);
    assert_int_equal(gs_sql_columns(&query), 5);
    assert_true(gs_sql_get_int(&query, 0) == INT64_MIN && gs_sql_get_real(&query, 1) == 0.1);
    assert_string_equal(gs_sql_get_text(&query, 3), "text");
    assert_null(gs_sql_get_text(&query, 4));
    static const bool null[] = {false, false, true, false, true}, whole[] = {true, false, false, false, false}, real[] = {false, true, false, false, false};
    for (int i = 0; i < 5; i++)
        assert_true(gs_sql_is_null(&query, i) == null[i] && gs_sql_is_number(&query, i, false) == whole[i] && gs_sql_is_number(&query, i, true) == real[i]);
    assert_int_equal(gs_sql_step(&query), SQLITE_DONE);
    gs_sql_leave(&query);
    assert_false(gs_sql_moved(store));
    gs_store_close(&store);
}

/* Taken back if what is in it failed, or if it cannot be kept; and then there is none any more. */
static void a_transaction_ends_by_its_status(void **state)
{
    (void)state;
    int64_t count;
    gs_store *store = open_store("ends.db");
    assert_int_equal(gs_sql_text_run(store, "CREATE TABLE t (a); CREATE TABLE u (b REFERENCES v(c) DEFERRABLE INITIALLY DEFERRED); PRAGMA foreign_keys = ON"), SQLITE_OK);
    CHECK(gs_sql_begin(store, &error));
    assert_int_equal(gs_sql_text_run(store, "INSERT INTO t VALUES (1), (2)"), SQLITE_OK);
    assert_int_equal(gs_sql_changed(store), 2);
    assert_int_equal(gs_sql_begin(store, &error), GS_ERROR_STORE);   /* within one */
    CHECK(gs_sql_end(store, GS_OK, &error));
    CHECK(gs_sql_begin(store, &error));
    assert_int_equal(gs_sql_text_run(store, "INSERT INTO t VALUES (3)"), SQLITE_OK);
    assert_int_equal(gs_sql_end(store, GS_ERROR_PARSE, &error), GS_ERROR_PARSE);
    assert_int_equal(gs_sql_end(store, GS_ERROR_RANGE, &error), GS_ERROR_RANGE);   /* there is none */
    CHECK(gs_sql_begin(store, &error));
    assert_int_equal(gs_sql_text_run(store, "INSERT INTO t VALUES (4); INSERT INTO u VALUES (1)"), SQLITE_ERROR);   /* no table v */
    assert_int_equal(gs_sql_text_run(store, "CREATE TABLE v (c PRIMARY KEY); INSERT INTO u VALUES (1)"), SQLITE_OK);
    assert_int_equal(gs_sql_end(store, GS_OK, &error), GS_ERROR_STORE);
    assert_non_null(strstr(error.text, "FOREIGN KEY constraint failed"));
    CHECK(gs_sql_begin(store, &error));
    CHECK(gs_sql_end(store, GS_OK, &error));
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM t", &count), SQLITE_OK);
    assert_int_equal(count, 2);
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_become_statuses), cmocka_unit_test(long_paths_keep_their_end), cmocka_unit_test(a_failed_query_fails_once),
        cmocka_unit_test(a_transaction_ends_by_its_status),
    };
    return run_group_without_leaks("store/sql", tests, GS_COUNT(tests), make_folder, remove_folder);
}

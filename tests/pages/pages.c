/* SPDX-License-Identifier: MIT
 * Proves that damage of a store's file is told wherever it is, that what is not damaged stays usable, that a store changed by another program is
 * told from a sound one until it is sealed, and that stores of versions without checksums get them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/log.h"
#include "pages/pages.h"
#include "store/sql.h"
#include "store_folder.h"

enum { PAGE = 4096, ROWS = 400 };

static gs_status put(gs_store *store, const gs_session *session, int number)
{
    gs_trial trial = {.us = number + 1, .ratio = 1, .verdict = "pass"};
    snprintf(trial.problem, sizeof trial.problem, "f16:64x64x64:tn");
    snprintf(trial.candidate, sizeof trial.candidate, "source:%d", number);
    memset(trial.reason, 'r', sizeof trial.reason - 1);
    return gs_store_put(store, session, &trial, &error);
}

static void make_store(const char *name)
{
    gs_session session = {.device = DEVICE, .command = "test"};
    gs_store *store = open_store(name);
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < ROWS; i++) CHECK(put(store, &session, i));
    CHECK(gs_store_result_put(store, &session, "key", "value", &error));
    gs_store_close(&store);
}

static char *load(const char *name, size_t *size)
{
    char path[GS_PATH], *data;
    CHECK(gs_file_read(path_of(path, name), 1u << 26, &data, size, &error));
    return data;
}

static void save(const char *name, const void *data, size_t size)
{
    char path[GS_PATH];
    FILE *const file = fopen(path_of(path, name), "wb");   /* gs_file_write replaces no store, and waits for the disk */
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static bool add_trial(void *self, const gs_trial *trial)
{
    *(double *)self += trial->us;
    return true;
}

static gs_status check(const char *name)
{
    char path[GS_PATH];
    gs_store *store;
    int64_t pages;
    GS_TRY(gs_store_open_read(&store, path_of(path, name), &error));
    const gs_status status = gs_store_check(store, &pages, &error);
    gs_store_close(&store);
    return status;
}

/* Reads every trial; the sum of their times. */
static gs_status sum(const char *name, double *out)
{
    char path[GS_PATH];
    gs_store *store;
    *out = 0;
    GS_TRY(gs_store_open_read(&store, path_of(path, name), &error));
    const gs_status status = gs_store_trials(store, DEVICE, NULL, add_trial, out, &error);
    gs_store_close(&store);
    return status;
}

static const double whole = ROWS * (ROWS + 1) / 2.0;

/* One bit, everywhere in turn: the check tells each; reading tells it or reads what was written. */
static void every_changed_bit_is_told(void **state)
{
    (void)state;
    size_t size;
    double got;
    make_store("bits.db");
    char *const data = load("bits.db", &size);
    assert_true(size > 20 * PAGE && size % PAGE == 0);
    assert_int_equal(check("bits.db"), GS_OK);
    int told = 0, tries = 0;
    for (size_t at = 3; at < size; at += 1031, tries++) {
        data[at] = (char)(data[at] ^ 1 << at % 8);
        save("bits.db", data, size);
        data[at] = (char)(data[at] ^ 1 << at % 8);
        assert_int_equal(check("bits.db"), GS_ERROR_STORE_CORRUPT);
        const gs_status status = sum("bits.db", &got);
        told += status == GS_ERROR_STORE_CORRUPT;
        if (status != GS_ERROR_STORE_CORRUPT) assert_true(status == GS_OK && got == whole);
    }
    assert_true(told > tries / 2);
    free(data);
}

static void swapped_and_cut_pages_are_told(void **state)
{
    (void)state;
    size_t size;
    make_store("swap.db");
    char *const data = load("swap.db", &size), page[PAGE];
    memcpy(page, data + size - PAGE, PAGE);
    memcpy(data + size - PAGE, data + size - 2 * PAGE, PAGE);
    memcpy(data + size - 2 * PAGE, page, PAGE);
    save("swap.db", data, size);
    assert_int_equal(check("swap.db"), GS_ERROR_STORE_CORRUPT);
    memcpy(data + size - 2 * PAGE, data + size - PAGE, PAGE);
    memcpy(data + size - PAGE, page, PAGE);
    save("swap.db", data, size - 1);   /* SQLite takes a last page that is cut for one that ends with zeros */
    assert_int_equal(check("swap.db"), GS_ERROR_STORE_CORRUPT);
    save("swap.db", data, size);
    assert_int_equal(check("swap.db"), GS_OK);
    free(data);
}

/* Where a leaf of the trials lies: a page full of reasons. */
static size_t find_leaf(const char *data, size_t size)
{
    for (size_t at = size / 2 / PAGE * PAGE; at < size; at += PAGE)
        if (data[at] == 13 && memmem(data + at, PAGE, "rrrrrrrrrrrrrrrr", 16)) return at;
    fail_msg("no leaf");
    return 0;
}

static void says_where_and_brings_back_the_rest(void **state)
{
    (void)state;
    size_t size;
    char path[GS_PATH];
    double got = 0;
    int64_t copied;
    make_store("rest.db");
    char *const data = load("rest.db", &size);
    data[find_leaf(data, size) + 2000] ^= 4;
    save("rest.db", data, size);
    free(data);
    assert_int_equal(sum("rest.db", &got), GS_ERROR_STORE_CORRUPT);
    assert_non_null(strstr(error.text, "rest.db: damaged in table trial behind row 'source:"));
    assert_non_null(strstr(error.text, "gemmsmith db merge"));
    assert_non_null(strstr(error.text, "gemmsmith db seal"));

    gs_store *store = open_store("new.db");
    assert_int_equal(gs_store_merge(store, path_of(path, "rest.db"), &copied, &error), GS_ERROR_STORE_CORRUPT);
    assert_non_null(strstr(error.text, "rest.db is damaged: "));
    gs_store_close(&store);
    CHECK(check("new.db"));
    CHECK(sum("new.db", &got));
    assert_true(got < whole && got > whole / 2);
    store = open_store("new.db");
    int64_t rows;
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM trial", &rows), SQLITE_OK);
    assert_true(rows < ROWS && rows >= ROWS - 20);   /* those of one page are gone */
    gs_store_close(&store);
}

/* As another program does: with SQLite alone. */
static void change(const char *name, const char *sql)
{
    char path[GS_PATH];
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path_of(path, name), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void a_changed_store_can_be_sealed(void **state)
{
    (void)state;
    char path[GS_PATH];
    int64_t accepted;
    double got;
    make_store("changed.db");
    change("changed.db", "SELECT * FROM trials; PRAGMA integrity_check");   /* reading leaves it as it was */
    CHECK(check("changed.db"));
    change("changed.db", "UPDATE trial SET us = 1000 WHERE candidate = 'source:0'");
    assert_int_equal(sum("changed.db", &got), GS_ERROR_STORE_CORRUPT);
    assert_non_null(strstr(error.text, "gemmsmith db seal"));
    CHECK(gs_store_seal(path_of(path, "changed.db"), &accepted, &error));
    assert_true(accepted >= 1 && accepted < 10);
    CHECK(check("changed.db"));
    CHECK(sum("changed.db", &got));
    assert_true(got == whole + 999);
    CHECK(gs_store_seal(path, &accepted, &error));
    assert_int_equal(accepted, 0);
}

/* What is no sound database is not sealed, nor what is no store. */
static void damage_is_not_sealed(void **state)
{
    (void)state;
    char path[GS_PATH];
    int64_t accepted;
    size_t size;
    make_store("broken.db");
    char *const data = load("broken.db", &size);
    data[find_leaf(data, size) + 4] ^= 1;   /* how many rows it has */
    save("broken.db", data, size);
    assert_int_equal(gs_store_seal(path_of(path, "broken.db"), &accepted, &error), GS_ERROR_STORE_CORRUPT);
    assert_int_equal(check("broken.db"), GS_ERROR_STORE_CORRUPT);
    change("foreign.db", "CREATE TABLE trial (id)");
    assert_int_equal(gs_store_seal(path_of(path, "foreign.db"), &accepted, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_seal(path_of(path, "absent.db"), &accepted, &error), GS_ERROR_NOT_FOUND);
    free(data);
}

/* The same tables and rows, in a file as programs before version 9 wrote it. */
static void make_old(const char *from, const char *to)
{
    char path[GS_PATH], sql[GS_PATH + 400];
    sqlite3 *db;
    sqlite3_stmt *rows;
    assert_int_equal(sqlite3_open(path_of(path, to), &db), SQLITE_OK);
    sqlite3_snprintf((int)sizeof sql, sql, "ATTACH %Q AS old; PRAGMA main.journal_mode = WAL; PRAGMA main.user_version = 8; PRAGMA main.application_id = 0x47534d54", path_of(path, from));
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sql, CASE type WHEN 'table' THEN 'INSERT INTO main.' || name || ' SELECT * FROM old.' || name END"
                                            " FROM old.sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'view', rowid", -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW)
        for (int i = 0; i < 2; i++) {
            const char *const text = (const char *)sqlite3_column_text(rows, i);
            if (text && sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", text, sqlite3_errmsg(db));
        }
    sqlite3_finalize(rows);
    sqlite3_close(db);
}

static void an_older_store_gets_checksums(void **state)
{
    (void)state;
    char path[GS_PATH];
    size_t size;
    double got;
    int64_t pages;
    make_store("pattern.db");
    make_old("pattern.db", "old.db");
    gs_store *store;
    CHECK(gs_store_open_read(&store, path_of(path, "old.db"), &error));   /* in a copy */
    gs_store_close(&store);
    char *data = load("old.db", &size);
    assert_int_equal(data[20], 0);
    free(data);
    CHECK(sum("old.db", &got));
    assert_true(got == whole);

    store = open_store("old.db");
    assert_true(gs_pages_sealed(store->db, "main"));
    gs_session session = {.device = DEVICE, .command = "test"};
    CHECK(gs_store_begin(store, &session, &error));
    CHECK(put(store, &session, ROWS));
    CHECK(gs_store_check(store, &pages, &error));
    gs_store_close(&store);
    data = load("old.db", &size);
    assert_int_equal(data[20], GS_PAGES_RESERVED);
    CHECK(sum("old.db", &got));
    assert_true(got == whole + ROWS + 1);
    data[find_leaf(data, size) + 2000] ^= 4;
    save("old.db", data, size);
    assert_int_equal(sum("old.db", &got), GS_ERROR_STORE_CORRUPT);
    free(data);
}

/* A file whose header says that its pages have no hashes, though its version has them. */
static void hashes_cannot_be_left_out(void **state)
{
    (void)state;
    size_t size;
    double got;
    make_store("bare.db");
    char *const data = load("bare.db", &size);
    data[20] = 0;
    save("bare.db", data, size);
    assert_int_equal(sum("bare.db", &got), GS_ERROR_STORE_CORRUPT);
    free(data);
}

/* Of a file that changes while it is open. */
static void no_pages_have_such_a_size(void **state)
{
    (void)state;
    char path[GS_PATH];
    size_t size;
    sqlite3 *db;
    int64_t pages, bad;
    make_store("sizes.db");
    char *const data = load("sizes.db", &size);
    assert_int_equal(sqlite3_open_v2(path_of(path, "sizes.db"), &db, SQLITE_OPEN_READONLY, gs_pages_vfs(true)), SQLITE_OK);
    assert_int_equal(gs_pages_count(db, "main", &pages, &bad), SQLITE_OK);
    assert_true(pages > 0 && bad == 0);
    static const struct { unsigned char high, low; int code; } sizes[] = {{0x10, 0, SQLITE_OK}, {0x18, 0, SQLITE_NOTADB}, {0x01, 0, SQLITE_NOTADB}, {0, 3, SQLITE_NOTADB}};
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        data[16] = (char)sizes[i].high;
        data[17] = (char)sizes[i].low;
        save("sizes.db", data, size);
        assert_int_equal(gs_pages_count(db, "main", &pages, &bad), sizes[i].code);
    }
    sqlite3_close(db);
    free(data);
}

/* What SQLite asks for behind the end is not there, which is no damage: it takes such a page for an empty one. */
static void behind_the_end_is_no_page(void **state)
{
    (void)state;
    char path[GS_PATH], page[PAGE];
    size_t size;
    sqlite3 *db;
    sqlite3_file *file;
    make_store("end.db");
    char *const data = load("end.db", &size);
    assert_int_equal(sqlite3_open_v2(path_of(path, "end.db"), &db, SQLITE_OPEN_READONLY, gs_pages_vfs(true)), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT * FROM trial", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file), SQLITE_OK);
    const sqlite3_int64 end = (sqlite3_int64)size;
    assert_int_equal(file->pMethods->xRead(file, page, PAGE, end - PAGE), SQLITE_OK);
    assert_int_equal(file->pMethods->xRead(file, page, PAGE, end), SQLITE_IOERR_SHORT_READ);
    save("end.db", data, size - 1);
    assert_int_equal(file->pMethods->xRead(file, page, PAGE, end - PAGE), GS_PAGES_DAMAGED);
    sqlite3_close(db);
    free(data);
}

static void take_line(void *self, int level, const char *text)
{
    assert_int_equal(level, GS_LOG_WARNING);
    snprintf(self, 400, "%s", text);
}

/* What opening the store says of its log; "": nothing. */
static double said(const char *name, char text[400])
{
    double got;
    text[0] = '\0';
    gs_log_set_sink(text, take_line, text, GS_LOG_WARNING);
    assert_int_equal(sum(name, &got), GS_OK);
    gs_log_drop_sink(text);
    return got;
}

/* A log as a killed process leaves it: whole it says nothing, damaged it is told, and what stands before the damage counts. */
static void a_damaged_log_is_told(void **state)
{
    (void)state;
    enum { HEAD = 32, FRAME = 24 + PAGE };
    char path[GS_PATH], text[400];
    size_t size, logged;
    make_store("from.db");
    gs_store *store = open_store("from.db");
    gs_session session = {.device = DEVICE, .command = "test"};
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < 5; i++) CHECK(put(store, &session, ROWS + i));
    char *const data = load("from.db", &size), *const log = load("from.db-wal", &logged);
    gs_store_close(&store);
    assert_true(logged > HEAD + 5 * FRAME);
    const double all = whole + 5 * ROWS + 1 + 2 + 3 + 4 + 5;

    static const struct {
        size_t at;
        const char *said;
    } damage[] = {{0, ""}, {HEAD + 3 * FRAME + 500, "killed.db-wal is damaged or was cut off at frame 4"}, {9, "killed.db-wal is damaged at its head"}};
    for (size_t i = 0; i < GS_COUNT(damage); i++) {
        save("killed.db", data, size);
        unlink(path_of(path, "killed.db-shm"));
        if (damage[i].at) log[damage[i].at] ^= 16;
        save("killed.db-wal", log, logged);
        if (damage[i].at) log[damage[i].at] ^= 16;
        const double got = said("killed.db", text);
        assert_true(damage[i].at ? got < all : got == all);
        if (*damage[i].said) assert_non_null(strstr(text, damage[i].said));
        else assert_string_equal(text, "");
    }
    save("killed.db", data, size);
    unlink(path_of(path, "killed.db-shm"));
    save("killed.db-wal", log, logged - 7);
    said("killed.db", text);
    assert_non_null(strstr(text, "cut off at frame"));
    free(data);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_changed_bit_is_told),
        cmocka_unit_test(swapped_and_cut_pages_are_told),
        cmocka_unit_test(says_where_and_brings_back_the_rest),
        cmocka_unit_test(a_changed_store_can_be_sealed),
        cmocka_unit_test(damage_is_not_sealed),
        cmocka_unit_test(an_older_store_gets_checksums),
        cmocka_unit_test(hashes_cannot_be_left_out), cmocka_unit_test(no_pages_have_such_a_size), cmocka_unit_test(behind_the_end_is_no_page),
        cmocka_unit_test(a_damaged_log_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

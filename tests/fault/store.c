/* SPDX-License-Identifier: MIT
 * The store when the machine fails it: no permission, no space, damaged and foreign files, a locked file, a killed writer. Each gives its code and a message, keeps what
 * was confirmed, and never crashes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pages/pages.h"
#include "store/sql.h"
#include "store_folder.h"
#include "support/fork.h"

#define NOBODY 65534

static gs_status put(gs_store *store, const gs_session *session, int number)
{
    gs_trial trial = {.us = number + 1, .ratio = 1};
    snprintf(trial.problem, sizeof trial.problem, "f16:64x64x64:tn");
    snprintf(trial.candidate, sizeof trial.candidate, "source:%d", number);
    memset(trial.reason, 'r', sizeof trial.reason - 1);   /* larger rows fill pages sooner */
    return gs_store_put(store, session, &trial, &error);
}

/* Stores a turn with two outcomes. */
static gs_status put_turn(gs_store *store, const gs_session *session)
{
    const gs_turn_outcome outcomes[] = {{.candidate = "source:01", .verdict = "pass"}, {.candidate = "source:02", .verdict = "exact"}};
    const gs_turn turn = {.problem = "f16:64x64x64:tn", .mode = "source", .model = "m", .number = 1, .base = "ws", .system = "s", .ask = "a", .outcomes = outcomes, .count = 2};
    return gs_store_turn_put(store, session, &turn, &error);
}

static bool count_turn(void *self, const gs_turn *turn)
{
    assert_int_equal(turn->count, 2);
    ++*(int *)self;
    return true;
}

static int count_turns(gs_store *store)
{
    int count = 0;
    CHECK(gs_store_turns(store, NULL, NULL, count_turn, &count, &error));
    return count;
}

static gs_status open_and_begin(gs_store **store, gs_session *session, const char *name)
{
    char path[GS_PATH];
    *session = (gs_session){.device = DEVICE, .command = "test"};
    GS_TRY(gs_store_open(store, path_of(path, name), &error));
    const gs_status status = gs_store_begin(*store, session, &error);
    if (status != GS_OK) gs_store_close(store);
    return status;
}

static bool count_one(void *self, const gs_trial *trial)
{
    assert_true(trial->us >= 1);
    ++*(int *)self;
    return true;
}

static int count_trials(gs_store *store)
{
    int count = 0;
    CHECK(gs_store_trials(store, DEVICE, NULL, count_one, &count, &error));
    return count;
}

static void make_store(const char *name, int rows)
{
    gs_store *store;
    gs_session session;
    CHECK(open_and_begin(&store, &session, name));
    for (int i = 0; i < rows; i++) CHECK(put(store, &session, i));
    gs_store_close(&store);
}

static bool is_sound(gs_store *store)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, "PRAGMA integrity_check", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const bool ok = strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    sqlite3_finalize(statement);
    return ok;
}

static size_t load(const char *name, char **data)
{
    char path[GS_PATH];
    size_t size;
    CHECK(gs_file_read(path_of(path, name), 1u << 26, data, &size, &error));
    return size;
}

/* Writes a file without the companions that an earlier use left beside it. */
static void save(const char *name, const void *data, size_t size)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    char path[GS_PATH], beside[GS_PATH + 16];
    for (size_t i = 0; i < GS_COUNT(tails); i++) {
        snprintf(beside, sizeof beside, "%s%s", path_of(path, name), tails[i]);
        unlink(beside);
    }
    CHECK(gs_file_write(path, data, size, &error));
}

/* Runs a check in a child without root's rights. The child exits with 0 if all is well. */
static void as_nobody(int (*run)(void))
{
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)) _exit(99);
        _exit(access(folder, R_OK | X_OK) == 0 ? run() : 77);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();   /* the temporary folder is readable by root only */
    if (WEXITSTATUS(status) != 0) fail_msg("the child's check %d failed", WEXITSTATUS(status));
}

static int open_in_closed_folder(void)
{
    char path[GS_PATH];
    gs_store *store = (gs_store *)path;
    if (gs_store_open(&store, path_of(path, "closed/new.db"), &error) != GS_ERROR_IO || store) return 1;
    if (!strstr(error.text, "closed/new.db") || !strstr(error.text, "Permission denied")) return 2;
    if (gs_store_open(&store, path_of(path, "closed/deeper/new.db"), &error) != GS_ERROR_NOT_FOUND) return 3;
    if (gs_store_open(&store, path_of(path, "closed/new.db"), NULL) != GS_ERROR_IO) return 4;
    return 0;
}

static void a_closed_folder_is_io(void **state)
{
    (void)state;
    char path[GS_PATH];
    assert_int_equal(mkdir(path_of(path, "closed"), 0555), 0);
    as_nobody(open_in_closed_folder);
    gs_store *store;
    assert_int_equal(gs_store_open(&store, folder, &error), GS_ERROR_IO);
    assert_int_equal(gs_store_open(&store, "/proc/gemmsmith/store.db", &error), GS_ERROR_NOT_FOUND);
    char longer[GS_PATH + 100];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(gs_store_open(&store, longer, &error), GS_ERROR_ARGUMENT);
}

static int use_read_only_file(void)
{
    char path[GS_PATH];
    gs_store *store;
    if (gs_store_open(&store, path_of(path, "open/readonly.db"), &error) != GS_OK) return 1;
    int count = 0;
    if (gs_store_trials(store, DEVICE, NULL, count_one, &count, &error) != GS_OK || count != 3) return 2;
    gs_session session = {.device = DEVICE};
    if (gs_store_begin(store, &session, &error) != GS_ERROR_IO || session.id != 0) return 3;
    if (!strstr(error.text, "open/readonly.db")) return 4;
    session.id = 1;
    if (put(store, &session, 7) != GS_ERROR_IO) return 5;
    gs_lessee who;
    gs_lease lease;
    gs_lessee_of(&who, "run", getpid());
    if (gs_store_lease(store, DEVICE, "f16:64x64x64:tn", &who, 9, &lease, &error) != GS_ERROR_IO || lease != GS_LEASE_HELD) return 6;
    if (gs_store_release_run(store, "run", &error) != GS_ERROR_IO) return 7;
    gs_store_close(&store);
    return 0;
}

static void a_read_only_file_can_be_read(void **state)
{
    (void)state;
    char path[GS_PATH];
    assert_int_equal(mkdir(path_of(path, "open"), 0755), 0);
    make_store("open/readonly.db", 3);
    assert_int_equal(chmod(path_of(path, "open/readonly.db"), 0444), 0);
    assert_int_equal(chmod(path_of(path, "open"), 0777), 0);
    as_nobody(use_read_only_file);
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    gs_store *store;
    gs_session session;
    CHECK(open_and_begin(&store, &session, "full.db"));
    assert_int_equal(sqlite3_exec(store->db, "PRAGMA max_page_count = 24", NULL, NULL, NULL), SQLITE_OK);
    int kept = 0;
    gs_status status;
    while ((status = put(store, &session, kept)) == GS_OK) assert_true(++kept < 10000);
    assert_int_equal(status, GS_ERROR_DISK_FULL);
    assert_non_null(strstr(error.text, "full.db"));
    double us[20000] = {0};
    assert_int_equal(gs_store_samples(store, &session, "f16:64x64x64:nn", "simple", "device", us, us, 20000, &error),
                     GS_ERROR_DISK_FULL);
    assert_int_equal(count_trials(store), kept);   /* their trial was rolled back with the samples */
    gs_lessee who;
    gs_lease lease;
    int leases = -1;
    gs_lessee_of(&who, "run", getpid());
    do {
        char problem[GS_PROBLEM_TEXT];
        snprintf(problem, sizeof problem, "f16:64x64x%d:tn", 8 * ++leases);
        status = gs_store_lease(store, DEVICE, problem, &who, 9, &lease, &error);
        assert_int_equal(lease, status == GS_OK ? GS_LEASE_TAKEN : GS_LEASE_HELD);
    } while (status == GS_OK && leases < 10000);
    assert_int_equal(status, GS_ERROR_DISK_FULL);
    int renewed;
    CHECK(gs_store_renew(store, &who, 9, &renewed, &error));   /* needs no space */
    assert_int_equal(renewed, leases);
    int turns = 0;
    while ((status = put_turn(store, &session)) == GS_OK) assert_true(++turns < 10000);
    assert_int_equal(status, GS_ERROR_DISK_FULL);
    assert_int_equal(count_turns(store), turns);               /* each with all of its outcomes */
    static char long_text[200000];
    memset(long_text, 'x', sizeof long_text - 1);
    assert_int_equal(gs_store_source_put(store, "source:01", long_text, "m", &error), GS_ERROR_DISK_FULL);
    assert_int_equal(sqlite3_exec(store->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL), SQLITE_OK);
    CHECK(put(store, &session, kept));
    assert_int_equal(count_trials(store), kept + 1);
    CHECK(put_turn(store, &session));
    assert_int_equal(count_turns(store), turns + 1);
    CHECK(gs_store_source_put(store, "source:01", long_text, "m", &error));
    assert_true(is_sound(store));
    gs_store_close(&store);
}

static int fill_to_the_limit(int report)
{
    gs_store *store;
    gs_session session;
    const struct rlimit limit = {300000, 300000};
    signal(SIGXFSZ, SIG_IGN);
    if (open_and_begin(&store, &session, "limit.db") != GS_OK) return 1;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    int kept = 0;
    gs_status status;
    while ((status = put(store, &session, kept)) == GS_OK)
        if (++kept > 10000) return 3;
    if (status != GS_ERROR_DISK_FULL) return fprintf(stderr, "%s: %s\n", gs_status_name(status), error.text), 4;
    if (count_trials(store) != kept) return 5;
    gs_store_close(&store);
    return write(report, &kept, sizeof kept) == sizeof kept ? 0 : 6;
}

static void a_file_size_limit_loses_nothing(void **state)
{
    (void)state;
    int ends[2], status, kept = -1;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) _exit(fill_to_the_limit(ends[1]));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(read(ends[0], &kept, sizeof kept), sizeof kept);
    close(ends[0]);
    close(ends[1]);
    gs_store *store;
    gs_session session;
    CHECK(open_and_begin(&store, &session, "limit.db"));
    assert_true(kept > 10);
    assert_int_equal(count_trials(store), kept);
    assert_true(is_sound(store));
    gs_store_close(&store);
}

static void damaged_headers_are_told(void **state)
{
    (void)state;
    char path[GS_PATH], *data;
    gs_store *store;
    make_store("header.db", 20);
    const size_t size = load("header.db", &data);
    path_of(path, "header.db");
    save("header.db", "hello, this is no database", 26);
    assert_int_equal(gs_store_open(&store, path, &error), GS_ERROR_STORE_CORRUPT);
    assert_null(store);
    assert_non_null(strstr(error.text, "header.db is not a store"));

    for (size_t at = 0; at < 100; at++) {   /* Each byte of the header changed: a status, never a crash, and no wrong data. */
        char *const copy = malloc(size);
        memcpy(copy, data, size);
        copy[at] = (char)(copy[at] ^ 0xff);
        save("header.db", copy, size);
        free(copy);
        const gs_status status = gs_store_open(&store, path, &error);
        if (at < 16) assert_int_equal(status, GS_ERROR_STORE_CORRUPT);
        if (status == GS_OK) {
            int count = 0;
            if (gs_store_trials(store, DEVICE, NULL, count_one, &count, &error) == GS_OK) assert_int_equal(count, 20);
        }
        gs_store_close(&store);
    }
    free(data);
}

/* The first error of opening, reading and writing the file. */
static gs_status use(const char *name)
{
    gs_store *store;
    gs_session session;
    int count = 0;
    GS_TRY(open_and_begin(&store, &session, name));
    gs_status status = gs_store_trials(store, DEVICE, NULL, count_one, &count, &error);
    for (int i = 0; i < 3 && status == GS_OK; i++) status = put(store, &session, 10000 + i);
    gs_store_close(&store);
    return status;
}

static void damaged_pages_are_told(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    char path[GS_PATH], *data;
    make_store("pages.db", 120);
    const size_t size = load("pages.db", &data);
    assert_true(size > 12 * PAGE);
    int found = 0;
    for (size_t page = 1; page < size / PAGE; page++) {
        char *const copy = malloc(size);
        memcpy(copy, data, size);
        memset(copy + page * PAGE, 0xa5, PAGE);
        save("pages.db", copy, size);
        const gs_status status = use("pages.db");
        if (status == GS_ERROR_STORE_CORRUPT)
            found++;
        else
            assert_int_equal(status, GS_OK);   /* the page was part of an index that was not needed */

        save("pages.db", copy, size);          /* intact rows can be merged into a new store, which stays sound */
        free(copy);
        save("salvage.db", "", 0);
        gs_store *store;
        gs_session session;
        int64_t copied;
        CHECK(open_and_begin(&store, &session, "salvage.db"));
        const gs_status merged = gs_store_merge(store, path_of(path, "pages.db"), &copied, &error);
        assert_true(merged == GS_OK || merged == GS_ERROR_STORE_CORRUPT);
        assert_true(is_sound(store));
        CHECK(put(store, &session, 1));
        gs_store_close(&store);
    }
    assert_true(found >= 10);
    free(data);
}

static void truncated_files_are_told(void **state)
{
    (void)state;
    char *data;
    make_store("short.db", 60);
    const size_t size = load("short.db", &data);
    for (size_t cut = 2; cut < size; cut += cut < 600 ? 53 : 2048) {   /* SQLite treats a file of 0 or 1 bytes as new */
        save("short.db", data, cut);
        assert_int_equal(use("short.db"), GS_ERROR_STORE_CORRUPT);
    }
    save("short.db", data, size);
    assert_int_equal(use("short.db"), GS_OK);
    free(data);
}

static void change(const char *name, const char *sql)
{
    char path[GS_PATH];
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path_of(path, name), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, gs_pages_vfs(true)), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void other_versions_and_programs_are_refused(void **state)
{
    (void)state;
    char path[GS_PATH], *before, *after;
    gs_store *store;
    gs_session session;
    int64_t copied;
    make_store("newer.db", 1);
    change("newer.db", "PRAGMA user_version = 99");
    change("foreign.db", "CREATE TABLE trial (id)");
    CHECK(open_and_begin(&store, &session, "target.db"));

    gs_store *refused;
    size_t size = load("newer.db", &before);
    assert_int_equal(gs_store_open(&refused, path_of(path, "newer.db"), &error), GS_ERROR_STORE_VERSION);
    assert_non_null(strstr(error.text, "version 99"));
    assert_non_null(strstr(error.text, "up to 9:"));
    assert_int_equal(gs_store_merge(store, path, &copied, &error), GS_ERROR_STORE_VERSION);
    assert_int_equal(load("newer.db", &after), size);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);

    size = load("foreign.db", &before);
    assert_int_equal(gs_store_open(&refused, path_of(path, "foreign.db"), &error), GS_ERROR_STORE);
    assert_non_null(strstr(error.text, "another program"));
    assert_int_equal(gs_store_merge(store, path, &copied, &error), GS_ERROR_STORE);
    assert_int_equal(load("foreign.db", &after), size);
    assert_memory_equal(before, after, size);   /* not even its journal mode was changed */
    free(before);
    free(after);

    save("empty.db", "", 0);
    assert_int_equal(gs_store_merge(store, path_of(path, "empty.db"), &copied, &error), GS_ERROR_STORE);
    save("text.db", "this is a text and no database, long enough to be looked at", 59);
    assert_int_equal(gs_store_merge(store, path_of(path, "text.db"), &copied, &error), GS_ERROR_STORE_CORRUPT);
    assert_non_null(strstr(error.text, "text.db"));
    assert_null(strstr(error.text, "target.db"));
    CHECK(put(store, &session, 1));
    gs_store_close(&store);
}

/* A writer that reports each row that the store has accepted; it is killed, or ends in the middle of a large transaction. */
static int write_and_report(int report, int rows)
{
    gs_store *store;
    gs_session session;
    if (open_and_begin(&store, &session, "killed.db") != GS_OK) return 1;
    for (int i = 0; rows == 0 || i < rows; i++) {
        if (put(store, &session, i) != GS_OK) return 2;
        if (write(report, &i, sizeof i) != sizeof i) return 3;
    }
    sqlite3_exec(store->db, "PRAGMA cache_size = 4; BEGIN IMMEDIATE; UPDATE trial SET us = 0.5, reason = reason || reason", NULL,
                 NULL, NULL);
    kill(getpid(), SIGKILL);
    return 4;
}

static void run_killed_writer(int rows)
{
    int ends[2], status, last = -1, kept = 0;
    save("killed.db", "", 0);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(write_and_report(ends[1], rows));
    }
    close(ends[1]);
    while (read(ends[0], &last, sizeof last) == sizeof last)
        if (++kept == 25 && rows == 0) kill(child, SIGKILL);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));

    gs_store *store;
    gs_session session;
    CHECK(open_and_begin(&store, &session, "killed.db"));
    const int have = count_trials(store);   /* also checks the value of each us */
    assert_true(have >= kept && have <= kept + 1);
    assert_true(is_sound(store));
    CHECK(put(store, &session, 20000));
    gs_store_close(&store);
}

static void a_killed_writer_loses_nothing_kept(void **state)
{
    (void)state;
    run_killed_writer(60);
    run_killed_writer(0);
}

static void a_held_lock_is_busy(void **state)
{
    (void)state;
    int ready[2], done[2], status;
    char byte = 0;
    make_store("busy.db", 2);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(done), 0);
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        char path[GS_PATH];
        gs_store *holder;
        close(done[1]);
        if (gs_store_open(&holder, path_of(path, "busy.db"), NULL) != GS_OK || gs_sql_begin(holder, NULL) != GS_OK) _exit(1);
        const bool told = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) >= 0;
        gs_store_close(&holder);
        _exit(told ? 0 : 2);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);

    char path[GS_PATH];
    gs_store *store;
    gs_session session = {.device = DEVICE, .id = 1};
    CHECK(gs_store_open(&store, path_of(path, "busy.db"), &error));   /* readers are not blocked */
    assert_int_equal(count_trials(store), 2);
    sqlite3_busy_timeout(store->db, 100);
    assert_int_equal(put(store, &session, 5), GS_ERROR_STORE_BUSY);
    assert_non_null(strstr(error.text, "busy.db"));
    gs_lessee who;
    gs_lease lease;
    int renewed;
    gs_lessee_of(&who, "run", getpid());
    assert_int_equal(gs_store_lease(store, DEVICE, "f16:64x64x64:tn", &who, 9, &lease, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(lease, GS_LEASE_HELD);
    assert_int_equal(gs_store_renew(store, &who, 9, &renewed, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(renewed, 0);
    assert_int_equal(gs_store_release(store, DEVICE, "f16:64x64x64:tn", &who, true, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(gs_store_release_run(store, "run", &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(gs_store_release_all(store, &who, &error), GS_ERROR_STORE_BUSY);
    const gs_job job = {.id = "a", .device = DEVICE, .request = "r"};
    bool mine = false;
    assert_int_equal(gs_store_jobs_claim(store, &job, 1, &who, 9, &mine, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(gs_store_job_begin(store, DEVICE, "a", &who, 9, &lease, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(lease, GS_LEASE_HELD);
    assert_int_equal(gs_store_job_leave(store, "a", &error), GS_ERROR_STORE_BUSY);
    make_store("quiet.db", 1);
    assert_int_equal(gs_store_merge(store, path_of(path, "quiet.db"), NULL, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(put_turn(store, &session), GS_ERROR_STORE_BUSY);
    assert_int_equal(gs_store_turn_end(store, "x", NULL, 0, &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(gs_store_source_put(store, "source:01", "s", "m", &error), GS_ERROR_STORE_BUSY);
    assert_int_equal(count_turns(store), 0);
    sqlite3_busy_timeout(store->db, GS_STORE_WAIT_MS);
    close(done[1]);                                                   /* the lock holder ends, and the waiting call continues */
    CHECK(put(store, &session, 5));
    assert_int_equal(count_trials(store), 3);
    CHECK(gs_store_lease(store, DEVICE, "f16:64x64x64:tn", &who, 9, &lease, &error));
    assert_int_equal(lease, GS_LEASE_TAKEN);
    CHECK(gs_store_jobs_claim(store, &job, 1, &who, 9, &mine, &error));
    assert_true(mine);
    assert_int_equal(sqlite3_exec(store->db, "DROP TABLE lease", NULL, NULL, NULL), SQLITE_OK);   /* after damage, calls return errors instead of crashing */
    const gs_job other = {.id = "b", .device = DEVICE, .request = "r"};
    int64_t jobs;
    assert_int_equal(gs_store_jobs_claim(store, &other, 1, &who, 9, &mine, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_job_begin(store, DEVICE, "a", &who, 9, &lease, &error), GS_ERROR_STORE);
    assert_int_equal(lease, GS_LEASE_HELD);
    assert_int_equal(gs_store_job_end(store, "a", "yes", false, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_job_leave(store, "a", &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_jobs_open(store, DEVICE, &who, NULL, NULL, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_release_all(store, &who, NULL), GS_ERROR_STORE);
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM job WHERE attempts = 0 AND answer IS NULL", &jobs), SQLITE_OK);
    assert_int_equal(jobs, 1);   /* all or nothing */
    assert_int_equal(gs_store_lease(store, DEVICE, "f16:64x64x64:tn", &who, 9, &lease, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_renew(store, &who, 9, NULL, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_release(store, DEVICE, "f16:64x64x64:tn", &who, false, &error), GS_ERROR_STORE);
    assert_int_equal(gs_store_release_run(store, "run", NULL), GS_ERROR_STORE);
    CHECK(put_turn(store, &session));
    assert_int_equal(sqlite3_exec(store->db, "DROP VIEW turns; DROP TABLE outcome; DROP TABLE source", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(gs_store_turns(store, NULL, NULL, count_turn, &renewed, &error), GS_ERROR_STORE);
    assert_int_equal(put_turn(store, &session), GS_ERROR_STORE);
    char *source, *manifest;
    assert_int_equal(gs_store_source_get(store, "source:01", &source, &manifest, &error), GS_ERROR_STORE);
    assert_true(!source && !manifest);
    CHECK(put(store, &session, 6));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    gs_store_close(&store);
    close(ready[0]);
    close(done[0]);
}

static void a_log_left_behind_is_not_taken_over(void **state)
{
    (void)state;
    char path[GS_PATH], *wal;
    gs_store *store;
    gs_session session;
    CHECK(open_and_begin(&store, &session, "old.db"));
    CHECK(put(store, &session, 1));
    const size_t size = load("old.db-wal", &wal);
    assert_true(size > 0);
    gs_store_close(&store);
    CHECK(gs_file_write(path_of(path, "new.db-wal"), wal, size, &error));
    free(wal);
    CHECK(open_and_begin(&store, &session, "new.db"));
    assert_int_equal(count_trials(store), 0);
    CHECK(put(store, &session, 1));
    assert_true(is_sound(store));
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_folder_is_io),
        cmocka_unit_test(a_read_only_file_can_be_read),
        cmocka_unit_test(a_full_disk_loses_nothing),
        cmocka_unit_test(a_file_size_limit_loses_nothing),
        cmocka_unit_test(damaged_headers_are_told),
        cmocka_unit_test(damaged_pages_are_told),
        cmocka_unit_test(truncated_files_are_told),
        cmocka_unit_test(other_versions_and_programs_are_refused),
        cmocka_unit_test(a_killed_writer_loses_nothing_kept),
        cmocka_unit_test(a_held_lock_is_busy),
        cmocka_unit_test(a_log_left_behind_is_not_taken_over),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: MIT
 * Proves leases: a problem has one owner at a time, who keeps it as long as it is renewed and its process lives; what a run is done with
 * it does not take again; nobody gives back what is another one's by now. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/sql.h"
#include "store_folder.h"
#include "support/fork.h"

#define PROBLEM "f16:64x64x64:tn"
#define LONG    1000.0
#define MS      INT64_C(1000000)

static gs_lessee lessee(const char *run)
{
    gs_lessee who;
    gs_lessee_of(&who, run, getpid());
    assert_true(who.born > 0 && who.host[0] != '\0');
    return who;
}

static gs_lease take(gs_store *store, const char *problem, const gs_lessee *who, double seconds)
{
    gs_lease lease;
    CHECK(gs_store_lease(store, DEVICE, problem, who, seconds, &lease, &error));
    return lease;
}

static void give(gs_store *store, const gs_lessee *who, bool done) { CHECK(gs_store_release(store, DEVICE, PROBLEM, who, done, &error)); }

static int renew(gs_store *store, const gs_lessee *who, double seconds)
{
    int renewed = -1;
    CHECK(gs_store_renew(store, who, seconds, &renewed, &error));
    return renewed;
}

static int rows(gs_store *store)
{
    int64_t count;
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM lease", &count), SQLITE_OK);
    return (int)count;
}

/* Another tuner that lives as long as this process, as far as anybody can see: its parent. */
static gs_lessee other(const char *run)
{
    gs_lessee who;
    gs_lessee_of(&who, run, getppid());
    return who;
}

static void one_owner_at_a_time(void **state)
{
    (void)state;
    gs_store *a = open_store("one.db"), *b = open_store("one.db");
    const gs_lessee mine = lessee("run"), theirs = other("run");
    gs_lease lease;
    assert_int_equal(take(a, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(b, PROBLEM, &theirs, LONG), GS_LEASE_HELD);
    assert_int_equal(take(a, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(b, "f16:64x64x64:nn", &theirs, LONG), GS_LEASE_TAKEN);   /* another layout is another problem */
    CHECK(gs_store_lease(b, "other-gpu", PROBLEM, &theirs, LONG, &lease, &error));
    assert_int_equal(lease, GS_LEASE_TAKEN);
    give(b, &theirs, false);                                                        /* not its own: nothing happens */
    give(b, &theirs, true);
    assert_int_equal(take(b, PROBLEM, &theirs, LONG), GS_LEASE_HELD);
    give(a, &mine, false);
    assert_int_equal(take(b, PROBLEM, &theirs, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(a, PROBLEM, &mine, LONG), GS_LEASE_HELD);
    gs_store_close(&a);
    gs_store_close(&b);
}

static void what_a_run_has_done_it_does_not_take_again(void **state)
{
    (void)state;
    gs_store *store = open_store("done.db");
    const gs_lessee mine = lessee("run"), theirs = other("run"), later = other("later");
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    give(store, &mine, true);
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_DONE);
    assert_int_equal(take(store, PROBLEM, &theirs, LONG), GS_LEASE_DONE);
    give(store, &mine, false);                                                      /* done is done */
    assert_int_equal(take(store, PROBLEM, &theirs, LONG), GS_LEASE_DONE);
    assert_int_equal(renew(store, &mine, LONG), 0);
    assert_int_equal(take(store, PROBLEM, &later, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_HELD);

    assert_int_equal(take(store, "f16:64x64x64:nn", &mine, LONG), GS_LEASE_TAKEN);
    CHECK(gs_store_release_run(store, "run", &error));
    assert_int_equal(rows(store), 1);
    CHECK(gs_store_release_run(store, "later", &error));
    assert_int_equal(rows(store), 0);
    gs_store_close(&store);
}

static void it_expires_unless_it_is_renewed(void **state)
{
    (void)state;
    gs_store *a = open_store("time.db"), *b = open_store("time.db");
    const gs_lessee mine = lessee("run"), theirs = other("run");
    assert_int_equal(take(a, PROBLEM, &mine, 0.5), GS_LEASE_TAKEN);
    assert_int_equal(renew(b, &mine, LONG), 1);                                     /* somebody else may do it for it */
    gs_clock_sleep_ns(600 * MS);
    assert_int_equal(take(b, PROBLEM, &theirs, LONG), GS_LEASE_HELD);

    assert_int_equal(renew(a, &mine, 0.05), 1);
    gs_clock_sleep_ns(60 * MS);
    assert_int_equal(take(b, PROBLEM, &theirs, LONG), GS_LEASE_TAKEN);
    assert_int_equal(renew(a, &mine, LONG), 0);                                     /* too late */
    give(a, &mine, false);
    give(a, &mine, true);
    assert_int_equal(take(a, PROBLEM, &mine, LONG), GS_LEASE_HELD);
    give(b, &theirs, true);
    assert_int_equal(take(a, PROBLEM, &mine, LONG), GS_LEASE_DONE);

    assert_int_equal(take(a, "f16:64x64x64:nn", &mine, 0.01), GS_LEASE_TAKEN);      /* what expired is forgotten at the end of any run */
    gs_clock_sleep_ns(20 * MS);
    CHECK(gs_store_release_run(b, "no such run", &error));
    assert_int_equal(rows(a), 1);
    gs_store_close(&a);
    gs_store_close(&b);
}

static void a_killed_owner_ends_it(void **state)
{
    (void)state;
    int ends[2], status;
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        gs_store *const store = open_store("killed.db");
        const gs_lessee who = lessee("run");
        if (take(store, PROBLEM, &who, LONG) != GS_LEASE_TAKEN || write(ends[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    gs_store *store = open_store("killed.db");
    gs_lessee mine = lessee("run"), unknown = mine;
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_HELD);
    kill(child, SIGKILL);
    unknown.host[0] = '\0';                                                         /* numbers of processes say nothing to that one */
    assert_int_equal(take(store, PROBLEM, &unknown, LONG), GS_LEASE_HELD);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);            /* though nobody has waited for it yet */
    assert_int_equal(waitpid(child, &status, 0), child);
    gs_store_close(&store);
    close(ends[0]);
    close(ends[1]);
}

static void a_number_used_again_is_no_owner(void **state)
{
    (void)state;
    gs_store *store = open_store("number.db");
    const gs_lessee mine = lessee("run");
    gs_lessee before = other("run"), elsewhere = mine;
    before.born++;
    assert_int_equal(take(store, PROBLEM, &before, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    give(store, &mine, false);
    snprintf(elsewhere.host, sizeof elsewhere.host, "another machine");
    elsewhere.pid = 1 << 30;
    assert_int_equal(take(store, PROBLEM, &elsewhere, 1.5), GS_LEASE_TAKEN);
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_HELD);             /* only time can tell */
    gs_clock_sleep_ns(1510 * MS);
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    gs_lessee nobody;
    gs_lessee_of(&nobody, "run", 1 << 30);
    assert_int_equal(nobody.born, 0);
    gs_store_close(&store);
}

/* ---- many tuners ---- */

enum { TUNERS = 4, PROBLEMS = 40 };

/* Takes what it can until all is done; reports what it has done. Every so often it is killed with a lease. */
static int work(int report, int self, bool may_die)
{
    bool over[PROBLEMS] = {0};
    gs_store *store = open_store("many.db");
    const gs_lessee who = lessee("many");
    int mine = 0;
    for (int left = PROBLEMS; left > 0;) {
        for (int n = 0; n < PROBLEMS; n++) {
            const int i = (n + self * PROBLEMS / TUNERS) % PROBLEMS;
            char problem[GS_PROBLEM_TEXT];
            snprintf(problem, sizeof problem, "f16:64x64x%d:tn", 8 * (i + 1));
            if (over[i]) continue;
            const gs_lease lease = take(store, problem, &who, LONG);
            if (lease == GS_LEASE_HELD) continue;
            over[i] = true;
            left--;
            if (lease == GS_LEASE_DONE) continue;
            if (may_die && ++mine == 5) kill(getpid(), SIGKILL);
            if (write(report, &i, sizeof i) != sizeof i) return 2;
            if (gs_store_release(store, DEVICE, problem, &who, true, &error) != GS_OK) return 3;
        }
        usleep(2000);
    }
    gs_store_close(&store);
    return 0;
}

static void many_do_everything_once(void **state)
{
    (void)state;
    int ends[2], index, times[PROBLEMS] = {0}, killed = 0;
    pid_t children[TUNERS];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < TUNERS; i++) {
        children[i] = test_fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) _exit(work(ends[1], i, i % 2 == 1));
    }
    close(ends[1]);
    while (read(ends[0], &index, sizeof index) == sizeof index) times[index]++;
    close(ends[0]);
    for (int i = 0; i < TUNERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        killed += WIFSIGNALED(status);
        if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_true(killed <= TUNERS / 2);
    for (int i = 0; i < PROBLEMS; i++) assert_int_equal(times[i], 1);
}

/* ---- the table, and bad input ---- */

static void an_older_store_gets_the_table(void **state)
{
    FILES_ONLY();
    (void)state;
    gs_store *store = open_store("older.db");
    gs_session session = {.device = DEVICE, .command = "test"};
    gs_trial trial = {.us = 1, .problem = PROBLEM, .candidate = "simple"};
    CHECK(gs_store_begin(store, &session, &error));
    CHECK(gs_store_win(store, &session, &trial, &error));
    assert_int_equal(gs_sql_text_run(store, DROP_STEP_4 "DROP TABLE job; DROP VIEW curves; DROP TABLE point; DROP TABLE curve; DROP TABLE lease; PRAGMA user_version = 1"), SQLITE_OK);
    gs_store_close(&store);

    store = open_store("older.db");
    const gs_lessee mine = lessee("run");
    int64_t count, version;
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM winner", &count), SQLITE_OK);
    assert_int_equal(gs_sql_number(store, "PRAGMA user_version", &version), SQLITE_OK);
    assert_true(count == 1 && version == 9);

    char path[GS_PATH];
    gs_store *fresh = open_store("fresh.db");
    CHECK(gs_store_merge(fresh, path_of(path, "older.db"), NULL, &error));
    assert_int_equal(rows(fresh), 0);                                               /* a copy has no owners */
    gs_store_close(&fresh);
    gs_store_close(&store);
}

static void refuses_bad_input(void **state)
{
    (void)state;
    gs_store *store = open_store("input.db");
    const gs_lessee mine = lessee("run"), none = {0};
    gs_lease lease = GS_LEASE_TAKEN;
    const struct { const char *device, *problem; const gs_lessee *who; const char *field; } bad[] = {
        {"", PROBLEM, &mine, "device"}, {NULL, PROBLEM, &mine, "device"}, {DEVICE, "", &mine, "problem"}, {DEVICE, NULL, &mine, "problem"}, {DEVICE, PROBLEM, &none, "run"},
    };
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        lease = GS_LEASE_TAKEN;
        assert_int_equal(gs_store_lease(store, bad[i].device, bad[i].problem, bad[i].who, LONG, &lease, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, bad[i].field);
        assert_int_equal(lease, GS_LEASE_HELD);
        assert_int_equal(gs_store_release(store, bad[i].device, bad[i].problem, bad[i].who, true, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, bad[i].field);
    }
    assert_int_equal(gs_store_lease(store, DEVICE, PROBLEM, &none, LONG, &lease, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(rows(store), 0);
    char a[GS_LEASE_RUN], b[GS_LEASE_RUN];
    gs_lessee_run(a);
    gs_lessee_run(b);
    assert_true(strlen(a) == GS_LEASE_RUN - 1 && strcmp(a, b) != 0);
    gs_store_close(&store);
}

static void a_failure_takes_nothing(void **state)
{
    (void)state;
    gs_store *store = open_store("failure.db");
    const gs_lessee mine = lessee("run");
    gs_lease lease = GS_LEASE_TAKEN;
    assert_int_equal(gs_sql_text_run(store, store_server() ? "ALTER TABLE lease ADD CHECK (problem <> 'b')"
                                                           : "CREATE TRIGGER no BEFORE INSERT ON lease WHEN new.problem = 'b' BEGIN SELECT raise(ABORT, 'no'); END"), SQLITE_OK);
    assert_int_equal(gs_store_lease(store, DEVICE, "b", &mine, LONG, &lease, &error), GS_ERROR_STORE);
    assert_int_equal(lease, GS_LEASE_HELD);
    assert_int_equal(take(store, "a", &mine, LONG), GS_LEASE_TAKEN);
    assert_int_equal(rows(store), 1);
    gs_store_close(&store);
}

static void a_named_run_keeps_its_marks(void **state)
{
    (void)state;
    gs_store *store = open_store("named.db");
    const gs_lessee mine = lessee("march"), theirs = other("march");
    assert_int_equal(take(store, PROBLEM, &mine, LONG), GS_LEASE_TAKEN);
    give(store, &mine, true);
    assert_int_equal(take(store, "b", &mine, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(store, "c", &theirs, LONG), GS_LEASE_TAKEN);
    CHECK(gs_store_release_all(store, &mine, &error));
    assert_int_equal(take(store, PROBLEM, &theirs, LONG), GS_LEASE_DONE);
    assert_int_equal(take(store, "b", &theirs, LONG), GS_LEASE_TAKEN);
    assert_int_equal(take(store, "c", &mine, LONG), GS_LEASE_HELD);
    gs_store_close(&store);
    static const char *const good[] = {"a", "march-2027.b_1", "0123456789abcdef0123456789ABCDEF"}, *const bad[] = {"", "a b", "a/b", "0123456789abcdef0123456789abcdef0", "\xc3\xa4"};
    for (size_t i = 0; i < GS_COUNT(good); i++) assert_int_equal(gs_lessee_run_check(good[i], &error), GS_OK);
    for (size_t i = 0; i < GS_COUNT(bad); i++) assert_int_equal(gs_lessee_run_check(bad[i], &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.text, "has 1 to 32 letters, digits and any of ._-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_owner_at_a_time),
        cmocka_unit_test(what_a_run_has_done_it_does_not_take_again),
        cmocka_unit_test(it_expires_unless_it_is_renewed),
        cmocka_unit_test(a_killed_owner_ends_it),
        cmocka_unit_test(a_number_used_again_is_no_owner),
        cmocka_unit_test(many_do_everything_once),
        cmocka_unit_test(an_older_store_gets_the_table),
        cmocka_unit_test(refuses_bad_input),
        cmocka_unit_test(a_failure_takes_nothing),
        cmocka_unit_test(a_named_run_keeps_its_marks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

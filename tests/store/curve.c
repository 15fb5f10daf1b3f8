/* SPDX-License-Identifier: MIT
 * Proves that curves come back as they were put in, are replaced within a session and kept apart between sessions, are merged both ways also
 * when they were copied before they were complete, and that a store from before there were curves gets them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leaks.h"
#include "store/sql.h"
#include "store/store.h"
#include "store_folder.h"

static gs_session begin(gs_store *store)
{
    gs_session session = {.command = "train", .version = "0.1.0", .commit = "abc", .device = DEVICE, .cc = 90, .sms = 132, .driver = 13000,
                          .cublaslt = 130100, .nvrtc = 12090};
    CHECK(gs_store_begin(store, &session, &error));
    return session;
}

/* What was visited, as "series|name: x=y x=y; " of each. */
typedef struct told {
    char text[1024];
    int  count, most;
} told;

static bool tell(void *self, const gs_curve *curve)
{
    told *const t = self;
    size_t size = strlen(t->text);
    assert_string_equal(curve->device, DEVICE);
    assert_string_equal(curve->version, "0.1.0");
    assert_int_equal(strlen(curve->date), 20);
    size += (size_t)snprintf(t->text + size, sizeof t->text - size, "%s|%s:", curve->series, curve->name);
    for (int i = 0; i < curve->count; i++) {
        if (isnan(curve->y[i]))
            size += (size_t)snprintf(t->text + size, sizeof t->text - size, " %g=", curve->x[i]);
        else
            size += (size_t)snprintf(t->text + size, sizeof t->text - size, " %g=%g", curve->x[i], curve->y[i]);
    }
    snprintf(t->text + size, sizeof t->text - size, "; ");
    return ++t->count != t->most;
}

static void expect(gs_store *store, const char *prefix, const char *wanted)
{
    told got = {0};
    CHECK(gs_store_curves(store, prefix, tell, &got, &error));
    assert_string_equal(got.text, wanted);
}

static const double steps[] = {1, 2, 4, 8}, values[] = {0.5, NAN, 0.25, INFINITY}, other[] = {9, 8, 7, 6};

static void comes_back_as_it_was(void **state)
{
    (void)state;
    gs_store *store = open_store("back.db");
    const gs_session session = begin(store);
    expect(store, "", "");
    CHECK(gs_store_curve(store, &session, "train/surrogate", "a \"b\", c", steps, values, 4, &error));
    CHECK(gs_store_curve(store, &session, "regret/learned", "3", steps, other, 2, &error));
    CHECK(gs_store_curve(store, &session, "regret/learned", "2", steps, other, 0, &error));
    CHECK(gs_store_curve(store, &session, "regret_", "2", steps, other, 1, &error));
    gs_store_close(&store);
    store = open_store("back.db");
    expect(store, "train/", "train/surrogate|a \"b\", c: 1=0.5 2= 4=0.25 8=; ");
    expect(store, "", "regret/learned|2:; regret/learned|3: 1=9 2=8; regret_|2: 1=9; train/surrogate|a \"b\", c: 1=0.5 2= 4=0.25 8=; ");
    expect(store, "regret/", "regret/learned|2:; regret/learned|3: 1=9 2=8; ");
    expect(store, "%", "");
    told two = {.most = 2};
    CHECK(gs_store_curves(store, "", tell, &two, &error));
    assert_int_equal(two.count, 2);
    gs_store_close(&store);
}

static void a_session_has_one_of_a_name(void **state)
{
    (void)state;
    gs_store *store = open_store("again.db");
    const gs_session first = begin(store), second = begin(store);
    CHECK(gs_store_curve(store, &first, "s", "n", steps, values, 3, &error));
    CHECK(gs_store_curve(store, &first, "s", "n", steps, other, 2, &error));
    expect(store, "", "s|n: 1=9 2=8; ");
    CHECK(gs_store_curve(store, &second, "s", "n", steps, other, 1, &error));
    expect(store, "", "s|n: 1=9 2=8; s|n: 1=9; ");
    gs_store_close(&store);
}

static void a_long_curve(void **state)
{
    enum { POINTS = 3000 };
    (void)state;
    static double x[POINTS], y[POINTS];
    gs_store *store = open_store("long.db");
    const gs_session session = begin(store);
    int64_t count, last;
    for (int i = 0; i < POINTS; i++) x[i] = i, y[i] = 2.0 * i;
    CHECK(gs_store_curve(store, &session, "s", "n", x, y, POINTS, &error));
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM curves WHERE device = '" DEVICE "' AND y = 2 * x AND step = x", &count), SQLITE_OK);
    assert_int_equal(gs_sql_number(store, "SELECT max(x) FROM curves", &last), SQLITE_OK);
    assert_true(count == POINTS && last == POINTS - 1);
    gs_store_close(&store);
}

static void merges_both_ways(void **state)
{
    (void)state;
    char path[GS_PATH];
    gs_store *ours = open_store("ours.db"), *theirs = open_store("theirs.db");
    const gs_session mine = begin(ours), other_session = begin(theirs);
    int64_t copied;
    CHECK(gs_store_curve(ours, &mine, "s", "ours", steps, other, 2, &error));
    CHECK(gs_store_curve(theirs, &other_session, "s", "theirs", steps, other, 2, &error));
    CHECK(gs_store_merge(ours, path_of(path, "theirs.db"), &copied, &error));
    assert_int_equal(copied, 1 + 1 + 2);                  /* session, curve, points */
    expect(ours, "", "s|ours: 1=9 2=8; s|theirs: 1=9 2=8; ");
    CHECK(gs_store_merge(ours, path, &copied, &error));
    assert_int_equal(copied, 0);
    CHECK(gs_store_curve(theirs, &other_session, "s", "theirs", steps, other, 4, &error));   /* it goes on */
    CHECK(gs_store_merge(ours, path, &copied, &error));
    assert_int_equal(copied, 2);
    expect(ours, "", "s|ours: 1=9 2=8; s|theirs: 1=9 2=8 4=7 8=6; ");
    CHECK(gs_store_merge(theirs, gs_store_path(ours), &copied, &error));
    assert_int_equal(copied, 1 + 1 + 2);
    expect(theirs, "", "s|ours: 1=9 2=8; s|theirs: 1=9 2=8 4=7 8=6; ");
    gs_store_close(&ours);
    gs_store_close(&theirs);
}

static void an_older_store_gets_the_tables(void **state)
{
    FILES_ONLY();
    (void)state;
    char path[GS_PATH];
    gs_store *store = open_store("older.db"), *fresh = open_store("fresh.db");
    gs_session session = begin(store);
    const gs_trial trial = {.us = 1, .problem = "f16:64x64x64:tn", .candidate = "simple"};
    int64_t count, version;
    CHECK(gs_store_win(store, &session, &trial, &error));
    assert_int_equal(gs_sql_text_run(store, DROP_STEP_4 "DROP TABLE job; DROP VIEW curves; DROP TABLE point; DROP TABLE curve; PRAGMA user_version = 2"), SQLITE_OK);
    assert_int_equal(gs_store_merge(fresh, path_of(path, "older.db"), NULL, &error), GS_ERROR_STORE_VERSION);
    gs_store_close(&store);

    store = open_store("older.db");
    assert_int_equal(gs_sql_number(store, "PRAGMA user_version", &version), SQLITE_OK);
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM winner", &count), SQLITE_OK);
    assert_true(version == 9 && count == 1);
    CHECK(gs_store_curve(store, &session, "s", "n", steps, other, 1, &error));
    CHECK(gs_store_merge(fresh, path, NULL, &error));
    expect(fresh, "", "s|n: 1=9; ");
    gs_store_close(&fresh);
    gs_store_close(&store);
}

static void refuses_bad_input(void **state)
{
    (void)state;
    char longest[GS_CURVE_NAME + 1];
    const double nowhere[] = {1, NAN};
    gs_store *store = open_store("input.db");
    const gs_session session = begin(store), unbegun = {.device = DEVICE};
    memset(longest, 'x', sizeof longest);
    longest[GS_CURVE_NAME] = '\0';
    const char *const wrong[] = {"", NULL, "a\nb", "a\x7f", longest};
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        assert_int_equal(gs_store_curve(store, &session, wrong[i], "n", steps, other, 1, &error), GS_ERROR_ARGUMENT);
        assert_int_equal(gs_store_curve(store, &session, "s", wrong[i], steps, other, 1, &error), GS_ERROR_ARGUMENT);
    }
    assert_int_equal(gs_store_curve(store, &session, "s", "n", nowhere, other, 2, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_curve(store, &session, "s", "n", steps, other, -1, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_curve(store, &unbegun, "s", "n", steps, other, 1, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_curve(store, NULL, "s", "n", steps, other, 1, &error), GS_ERROR_ARGUMENT);
    expect(store, "", "");
    assert_int_equal(gs_store_curve(store, &session, longest, "n", steps, other, 1, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.text, "must have 1 to 127 characters");
    longest[GS_CURVE_NAME - 1] = '\0';
    CHECK(gs_store_curve(store, &session, longest, "\xc3\xa4", steps, other, 1, &error));
    gs_store_close(&store);
}

static bool visit_session(void *self, const gs_session *session, const char *date)
{
    int *const count = self;
    assert_true(session->cc == 90 && session->sms == 132 && session->driver == 13000 && session->cublaslt == 130100 && session->nvrtc == 12090);
    assert_string_equal(session->command, "train");
    assert_string_equal(session->version, "0.1.0");
    assert_string_equal(session->commit, "abc");
    assert_string_equal(session->device, DEVICE);
    assert_int_equal(strlen(date), 20);
    return ++*count < 2;
}

static void sessions_are_visited(void **state)
{
    (void)state;
    gs_store *store = open_store("sessions.db");
    int count = 0;
    CHECK(gs_store_sessions(store, visit_session, &count, &error));
    assert_int_equal(count, 0);
    for (int i = 0; i < 3; i++) begin(store);
    CHECK(gs_store_sessions(store, visit_session, &count, &error));
    assert_int_equal(count, 2);                           /* stopped by the visitor */
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_was),
        cmocka_unit_test(a_session_has_one_of_a_name),
        cmocka_unit_test(a_long_curve),
        cmocka_unit_test(merges_both_ways),
        cmocka_unit_test(an_older_store_gets_the_tables),
        cmocka_unit_test(refuses_bad_input),
        cmocka_unit_test(sessions_are_visited),
    };
    return run_group_without_leaks("store/curve", tests, GS_COUNT(tests), make_folder, remove_folder);
}

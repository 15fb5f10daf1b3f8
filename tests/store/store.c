/* SPDX-License-Identifier: MIT
 * Proves that the store keeps what it is given, keeps what it had where a field is empty, merges both ways, and serves two
 * processes at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pages/pages.h"
#include "store/store.h"
#include "store/sql.h"
#include "store_folder.h"
#include "support/fork.h"
#include "support/leaks.h"

static gs_session begin(gs_store *store)
{
    gs_session session = {.command = "tune", .version = "0.1.0", .commit = "abc", .device = DEVICE, .cc = 90, .sms = 132,
                          .driver = 13000, .cublaslt = 130100, .nvrtc = 13000};
    CHECK(gs_store_begin(store, &session, &error));
    assert_true(session.id > 0);
    return session;
}

static gs_trial make_trial(const char *problem, const char *candidate, double ratio)
{
    gs_trial trial = {.verdict = "pass", .registers = 168, .smem = 200000, .predicted_us = 9, .us = 10, .library_us = 10 * ratio,
                      .ratio = ratio, .low = ratio - 0.01, .high = ratio + 0.01, .rounds = 30, .mhz = 1755, .stage = "race"};
    snprintf(trial.problem, sizeof trial.problem, "%s", problem);
    snprintf(trial.candidate, sizeof trial.candidate, "%s", candidate);
    return trial;
}

typedef struct seen {
    gs_trial trials[512];
    int      count, most;
} seen;

static bool collect(void *self, const gs_trial *trial)
{
    seen *const s = self;
    assert_true(s->count < 512);
    s->trials[s->count++] = *trial;
    return s->count != s->most;
}

static seen list;   /* too large for a stack */

static int trials(gs_store *store, const char *problem)
{
    list.count = 0;
    list.most = 0;
    CHECK(gs_store_trials(store, DEVICE, problem, collect, &list, &error));
    return list.count;
}

static int winners(gs_store *store, const char *device)
{
    list.count = 0;
    list.most = 0;
    CHECK(gs_store_winners(store, device, collect, &list, &error));
    return list.count;
}

/* What a person with sqlite3 would get. */
static double ask(const char *name, const char *sql)
{
    char path[GS_PATH];
    sqlite3 *db;
    sqlite3_stmt *statement;
    if (store_server()) {
        gs_store *store = open_store(name);
        gs_query query = gs_sql_ad_hoc(store, sql);
        assert_int_equal(gs_sql_step(&query), SQLITE_ROW);
        const double found = gs_sql_get_real(&query, 0);
        gs_sql_leave(&query);
        gs_store_close(&store);
        return found;
    }
    assert_int_equal(sqlite3_open_v2(path_of(path, name), &db, SQLITE_OPEN_READWRITE, gs_pages_vfs(true)), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static void keeps_every_field(void **state)
{
    (void)state;
    gs_store *store = open_store("fields.db");
    const gs_session session = begin(store);
    gs_trial put = make_trial("f16:64x128x256:tn", "ws/128x256x64/s4/c2x1/coop/g8", 1.5);
    put.part = 3;
    snprintf(put.verdict, sizeof put.verdict, "index");
    snprintf(put.reason, sizeof put.reason, "it's \"wrong\"; DROP TABLE trial; \xc3\xa4");
    CHECK(gs_store_put(store, &session, &put, &error));
    gs_store_close(&store);
    assert_null(store);
    gs_store_close(&store);

    store = open_store("fields.db");
    assert_int_equal(trials(store, put.problem), 1);
    const gs_trial *const got = &list.trials[0];
    assert_true(got->id > 0);
    assert_string_equal(got->problem, put.problem);
    assert_string_equal(got->candidate, put.candidate);
    assert_string_equal(got->verdict, "index");
    assert_string_equal(got->reason, put.reason);
    assert_string_equal(got->stage, "race");
    assert_true(got->part == 3 && got->registers == 168 && got->smem == 200000 && got->rounds == 30 && got->mhz == 1755);
    assert_true(got->predicted_us == 9 && got->us == 10 && got->library_us == 15 && got->ratio == 1.5);
    assert_true(got->low == put.low && got->high == put.high);
    assert_true(got->cc == 90 && got->sms == 132 && got->cublaslt == 130100);
    assert_string_equal(got->version, "0.1.0");
    assert_int_equal(strlen(got->date), 20);
    gs_store_close(&store);
}

static void empty_fields_keep_what_is_stored(void **state)
{
    (void)state;
    gs_store *store = open_store("keep.db");
    const gs_session first = begin(store), second = begin(store);
    assert_int_not_equal(first.id, second.id);
    gs_trial trial = make_trial("f16:64x64x64:nn", "simple", 1.25);
    trial.part = 2;
    snprintf(trial.reason, sizeof trial.reason, "first");
    CHECK(gs_store_put(store, &first, &trial, &error));

    gs_trial bare = {.predicted_us = 4, .us = NAN, .ratio = INFINITY, .mhz = 1600};
    snprintf(bare.problem, sizeof bare.problem, "64_64_64");
    snprintf(bare.candidate, sizeof bare.candidate, "simple");
    CHECK(gs_store_put(store, &second, &bare, &error));
    assert_int_equal(trials(store, NULL), 1);
    const gs_trial *const got = &list.trials[0];
    assert_string_equal(got->problem, "f16:64x64x64:nn");
    assert_string_equal(got->verdict, "pass");
    assert_string_equal(got->reason, "first");
    assert_string_equal(got->stage, "race");
    assert_true(got->part == 2 && got->us == 10 && got->ratio == 1.25 && got->registers == 168);
    assert_true(got->predicted_us == 4 && got->mhz == 1600);

    snprintf(bare.verdict, sizeof bare.verdict, "pass");            /* the same verdict: nothing is lost */
    CHECK(gs_store_put(store, &second, &bare, &error));
    trials(store, NULL);
    assert_string_equal(got->reason, "first");
    assert_int_equal(got->part, 2);
    snprintf(bare.verdict, sizeof bare.verdict, "hang");            /* another one: its part and reason with it */
    CHECK(gs_store_put(store, &second, &bare, &error));
    trials(store, NULL);
    assert_string_equal(got->verdict, "hang");
    assert_string_equal(got->reason, "");
    assert_int_equal(got->part, 0);
    gs_store_close(&store);
    assert_true(ask("keep.db", "SELECT count(*) FROM trial") == 1);
    assert_true(ask("keep.db", "SELECT session FROM trial") == (double)first.id);   /* who measured it */
    assert_true(ask("keep.db", "SELECT m + n + k FROM trials WHERE candidate = 'simple'") == 192);
}

static bool reads_within(void *self, const gs_trial *trial)
{
    gs_store *const store = self;
    seen inner = {0};
    CHECK(gs_store_trials(store, DEVICE, trial->problem, collect, &inner, &error));
    assert_true(inner.count >= 1);
    return true;
}

static void lists_best_first_of_one_device(void **state)
{
    (void)state;
    gs_store *store = open_store("order.db");
    gs_session session = begin(store);
    static const double ratios[] = {0.9, 1.2, 0, 1.1};
    for (size_t i = 0; i < GS_COUNT(ratios); i++) {
        char candidate[32];
        snprintf(candidate, sizeof candidate, "source:%zu", i);
        const gs_trial trial = make_trial("f16:64x64x64:tn", candidate, ratios[i]);
        CHECK(gs_store_put(store, &session, &trial, &error));
    }
    gs_trial trial = make_trial("f16:64x64x128:tn", "simple", 5);
    CHECK(gs_store_put(store, &session, &trial, &error));
    session.device = "other";
    trial = make_trial("f16:64x64x64:tn", "simple", 7);
    CHECK(gs_store_put(store, &session, &trial, &error));

    assert_int_equal(trials(store, "f16:64x64x64:tn"), 4);
    for (int i = 0; i + 1 < 4; i++) assert_true(list.trials[i].ratio >= list.trials[i + 1].ratio);
    assert_int_equal(trials(store, NULL), 5);
    assert_true(list.trials[0].ratio == 5);
    assert_int_equal(trials(store, "f16:8x8x8:tn"), 0);
    seen two = {.most = 2};
    CHECK(gs_store_trials(store, DEVICE, NULL, collect, &two, &error));
    assert_int_equal(two.count, 2);
    CHECK(gs_store_trials(store, DEVICE, NULL, reads_within, store, &error));
    gs_store_close(&store);
}

static void keeps_raw_samples(void **state)
{
    (void)state;
    gs_store *store = open_store("samples.db");
    const gs_session session = begin(store);
    const double us[] = {10.5, 11.25, NAN}, reference[] = {12, 13, 14};
    CHECK(gs_store_samples(store, &session, "f16:64x64x64:tn", "simple", "device", us, reference, 3, &error));
    CHECK(gs_store_samples(store, &session, "f16:64x64x64:tn", "simple", "device", us, reference, 2, &error));
    CHECK(gs_store_samples(store, &session, "f16:64x64x64:tn", "simple", "call", us, NULL, 2, &error));
    CHECK(gs_store_samples(store, &session, "f16:64x64x64:tn", "simple", "call", NULL, NULL, 0, &error));
    assert_int_equal(trials(store, "f16:64x64x64:tn"), 1);
    assert_true(list.trials[0].us == 0);
    assert_int_equal(gs_store_samples(store, &session, "f16:64x64x64:tn", "simple", "call", us, NULL, -1, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_samples(store, &session, "f16:64x64x64:tn", "", "call", us, NULL, 1, NULL), GS_ERROR_ARGUMENT);
    gs_store_close(&store);
    assert_true(ask("samples.db", "SELECT count(*) FROM samples") == 7);
    assert_true(ask("samples.db", "SELECT count(DISTINCT measurement) FROM samples WHERE clock = 'device'") == 2);
    assert_true(ask("samples.db", "SELECT us + reference_us FROM samples WHERE clock = 'device' AND round = 1") == 24.25);
    assert_true(ask("samples.db", "SELECT count(*) FROM samples WHERE us IS NULL") == 1);
    assert_true(ask("samples.db", "SELECT count(*) FROM samples WHERE reference_us IS NULL") == 2);
}

static void a_problem_has_one_winner(void **state)
{
    (void)state;
    gs_store *store = open_store("winners.db");
    const gs_session session = begin(store);
    gs_trial winner = make_trial("f16:64x64x64:tn", "simple", 1.1);
    CHECK(gs_store_win(store, &session, &winner, &error));
    winner = make_trial("f16:64x64x64:tn", "cublaslt", 0);
    winner.ratio = winner.registers = 0;
    CHECK(gs_store_win(store, &session, &winner, &error));
    winner = make_trial("f16:64x64x128:tn", "simple", 1.3);
    snprintf(winner.date, sizeof winner.date, "2026-01-31T12:00:00Z");
    CHECK(gs_store_win(store, &session, &winner, &error));
    assert_int_equal(winners(store, DEVICE), 2);
    assert_string_equal(list.trials[0].problem, "f16:64x64x128:tn");
    assert_string_equal(list.trials[0].date, "2026-01-31T12:00:00Z");
    assert_string_equal(list.trials[1].candidate, "cublaslt");
    assert_true(list.trials[1].registers == 0 && list.trials[1].cublaslt == 130100);
    assert_int_equal(winners(store, "other"), 0);
    gs_store_close(&store);
    assert_true(ask("winners.db", "SELECT count(*) FROM winners WHERE candidate = 'cublaslt'") == 1);
}

static void finished_results_come_back(void **state)
{
    (void)state;
    gs_store *store = open_store("results.db");
    const gs_session session = begin(store);
    char *value = NULL;
    assert_int_equal(gs_store_result_get(store, "key", &value, &error), GS_ERROR_NOT_FOUND);
    assert_null(value);
    CHECK(gs_store_result_put(store, &session, "key", "{\"us\":1}", &error));
    CHECK(gs_store_result_put(store, &session, "key", "{\"us\":2}", &error));
    CHECK(gs_store_result_put(store, &session, "Key", "", &error));
    CHECK(gs_store_result_get(store, "key", &value, &error));
    assert_string_equal(value, "{\"us\":2}");
    free(value);
    CHECK(gs_store_result_get(store, "Key", &value, &error));
    assert_string_equal(value, "");
    free(value);
    gs_store_close(&store);
}

/* What was visited, as "key=value;" of each. */
typedef struct visited {
    gs_store *store;
    char      text[256];
    int       count, most;
} visited;

static bool join(void *self, const char *key, const char *value)
{
    visited *const v = self;
    char *got;
    CHECK(gs_store_result_get(v->store, key, &got, &error));
    assert_string_equal(got, value);
    free(got);
    const size_t length = strlen(v->text);
    snprintf(v->text + length, sizeof v->text - length, "%s=%s;", key, value);
    return ++v->count != v->most;
}

static void results_are_visited_by_prefix(void **state)
{
    /* legend: prefix, what is visited */
    static const char *const wanted[][2] = {
        {"a ", "a 1=first;a 2=;"}, {"a 1", "a 1=first;"}, {"a 1 and more", ""}, {"A", "A 1=capital;"}, {"a%", "a%x=percent;"},
        {"a_", "a_x=underscore;"}, {"\xc3\xa4", "\xc3\xa4 1=umlaut;"}, {"z", ""}, {"%", ""}, {"_", ""}, {"a*", ""},
        {"", "A 1=capital;a 1=first;a 2=;a%x=percent;a_x=underscore;abx=letter;b a 1=behind;\xc3\xa4 1=umlaut;"},
    };
    static const char *const put[][2] = {
        {"b a 1", "behind"}, {"a 2", ""}, {"abx", "letter"}, {"a_x", "underscore"}, {"\xc3\xa4 1", "umlaut"}, {"a%x", "percent"},
        {"A 1", "capital"}, {"a 1", "first"},
    };
    (void)state;
    gs_store *store = open_store("prefix.db");
    const gs_session session = begin(store);
    for (size_t i = 0; i < GS_COUNT(put); i++) CHECK(gs_store_result_put(store, &session, put[i][0], put[i][1], &error));
    for (size_t i = 0; i < GS_COUNT(wanted); i++) {
        visited all = {.store = store};
        CHECK(gs_store_results(store, wanted[i][0], join, &all, &error));
        assert_string_equal(all.text, wanted[i][1]);
    }
    visited two = {.store = store, .most = 2};
    CHECK(gs_store_results(store, "a", join, &two, &error));
    assert_string_equal(two.text, "a 1=first;a 2=;");
    gs_store_close(&store);
}

static void refuses_bad_input(void **state)
{
    (void)state;
    gs_store *store = open_store("input.db");
    const gs_session session = begin(store), unbegun = {.device = DEVICE};
    gs_trial trial = make_trial("f16:64x64x64:tn", "simple", 1);
    assert_int_equal(gs_store_put(store, &unbegun, &trial, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_put(store, NULL, &trial, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_result_put(store, &unbegun, "k", "v", &error), GS_ERROR_ARGUMENT);
    trial.candidate[0] = '\0';
    assert_int_equal(gs_store_put(store, &session, &trial, &error), GS_ERROR_ARGUMENT);
    trial = make_trial("f16:64x64:tn", "simple", 1);
    assert_int_equal(gs_store_put(store, &session, &trial, &error), GS_ERROR_PARSE);
    assert_int_equal(gs_store_trials(store, DEVICE, "nonsense", collect, &list, &error), GS_ERROR_PARSE);
    assert_int_equal(trials(store, NULL), 0);
    gs_store_close(&store);
}

static void merges_what_is_missing(void **state)
{
    (void)state;
    char path[GS_PATH], self[GS_PATH];
    gs_store *ours = open_store("ours.db"), *theirs = open_store("the%irs's.db");
    const gs_session mine = begin(ours);
    begin(theirs);
    const gs_session other = begin(theirs);
    const double us[] = {1, 2, 3};

    gs_trial trial = make_trial("f16:64x64x64:tn", "simple", 1.5);   /* known to both: ours stays */
    CHECK(gs_store_put(ours, &mine, &trial, &error));
    CHECK(gs_store_win(ours, &mine, &trial, &error));
    trial.ratio = 9;
    CHECK(gs_store_put(theirs, &other, &trial, &error));
    CHECK(gs_store_win(theirs, &other, &trial, &error));
    trial = make_trial("f16:64x64x64:tn", "cublaslt", 1);             /* ours knows nothing but the name */
    CHECK(gs_store_put(theirs, &other, &trial, &error));
    gs_trial bare = {0};
    memcpy(bare.problem, trial.problem, sizeof bare.problem);
    memcpy(bare.candidate, trial.candidate, sizeof bare.candidate);
    CHECK(gs_store_put(ours, &mine, &bare, &error));
    trial = make_trial("bf16:64x64x64:tn", "simple", 1.25);          /* known to them only */
    CHECK(gs_store_put(theirs, &other, &trial, &error));
    CHECK(gs_store_win(theirs, &other, &trial, &error));
    CHECK(gs_store_samples(theirs, &other, trial.problem, trial.candidate, "device", us, us, 3, &error));
    CHECK(gs_store_result_put(theirs, &other, "theirs", "1", &error));
    CHECK(gs_store_result_put(theirs, &other, "both", "1", &error));
    CHECK(gs_store_result_put(ours, &mine, "both", "2", &error));

    int64_t copied = -1;
    CHECK(gs_store_merge(ours, path_of(path, "the%irs's.db"), &copied, &error));
    assert_int_equal(copied, 2 + 1 + 2 + 1 + 1 + 3 + 1);   /* sessions, problem, trials, winner, measurement, samples, result */
    assert_int_equal(trials(ours, "f16:64x64x64:tn"), 2);
    assert_true(list.trials[0].ratio == 1.5 && list.trials[1].ratio == 1 && list.trials[1].registers == 168);
    assert_string_equal(list.trials[1].verdict, "pass");
    assert_int_equal(trials(ours, "bf16:64x64x64:tn"), 1);
    assert_int_equal(winners(ours, DEVICE), 2);
    assert_true(list.trials[0].ratio == 1.5 && list.trials[1].ratio == 1.25);
    char *value;
    CHECK(gs_store_result_get(ours, "both", &value, &error));
    assert_string_equal(value, "2");
    free(value);

    CHECK(gs_store_merge(ours, path, &copied, &error));
    assert_int_equal(copied, 0);
    CHECK(gs_store_merge(theirs, gs_store_path(ours), NULL, &error));
    assert_int_equal(trials(theirs, NULL), 3);
    CHECK(gs_store_put(ours, &mine, &trial, &error));     /* still usable */
    assert_int_equal(gs_store_merge(ours, path_of(self, "ours.db"), &copied, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_merge(ours, path_of(self, "none.db"), &copied, NULL), store_server() ? GS_ERROR_STORE : GS_ERROR_NOT_FOUND);
    assert_int_equal(access(self, F_OK), -1);
    gs_store_close(&ours);
    gs_store_close(&theirs);
    assert_true(ask("ours.db", "SELECT sum(us + reference_us) FROM samples WHERE problem LIKE 'bf16%'") == 12);
    if (!store_server()) assert_true(ask("ours.db", "SELECT count(*) FROM pragma_foreign_key_check") == 0);
}

static void finds_its_default_place(void **state)
{
    FILES_ONLY();
    (void)state;
    char path[GS_PATH], wanted[GS_PATH + 32];
    gs_store *store;
    setenv("GEMMSMITH_STORE", path_of(path, "named/by/environment.db"), 1);   /* folders that somebody named are not made */
    assert_int_equal(gs_store_open(&store, NULL, &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(access(path_of(wanted, "named"), F_OK), -1);
    CHECK(gs_directory_make(path_of(wanted, "named/by"), &error));
    CHECK(gs_store_open(&store, NULL, &error));
    assert_string_equal(gs_store_path(store), path);
    gs_store_close(&store);
    unsetenv("GEMMSMITH_STORE");
    setenv("XDG_DATA_HOME", path_of(path, "data"), 1);
    CHECK(gs_store_open(&store, NULL, &error));
    snprintf(wanted, sizeof wanted, "%s/gemmsmith/store.db", path);
    assert_string_equal(gs_store_path(store), wanted);
    gs_store_close(&store);
    unsetenv("XDG_DATA_HOME");
}

/* In a child: opens the store, which may not be there yet, and writes. */
static int write_some(int child, int count)
{
    char path[GS_PATH];
    gs_store *store;
    gs_session session = {.device = DEVICE, .command = "child"};
    if (gs_store_open(&store, path_of(path, "shared.db"), &error) != GS_OK) return fprintf(stderr, "open: %s\n", error.text), 1;
    if (gs_store_begin(store, &session, &error) != GS_OK) return fprintf(stderr, "begin: %s\n", error.text), 1;
    const double us[] = {1, 2, 3, 4};
    for (int i = 0; i < count; i++) {
        gs_trial trial = {.us = child + 1};
        snprintf(trial.problem, sizeof trial.problem, "f16:64x64x%d:tn", 8 * (i + 1));
        snprintf(trial.candidate, sizeof trial.candidate, "source:%d", child);
        gs_status status = gs_store_put(store, &session, &trial, &error);
        if (status == GS_OK)
            status = gs_store_samples(store, &session, trial.problem, trial.candidate, "device", us, us, 4, &error);
        if (status != GS_OK) return fprintf(stderr, "put: %s\n", error.text), 1;
    }
    gs_store_close(&store);
    return 0;
}

static void processes_share_a_store(void **state)
{
    (void)state;
    enum { CHILDREN = 4, EACH = 40 };
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = test_fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) _exit(write_some(i, EACH));
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    gs_store *store = open_store("shared.db");
    assert_int_equal(trials(store, NULL), CHILDREN * EACH);
    gs_store_close(&store);
    assert_true(ask("shared.db", "SELECT count(*) FROM samples") == CHILDREN * EACH * 4);
    assert_true(ask("shared.db", "SELECT count(*) FROM problem") == EACH);
    assert_true(ask("shared.db", "SELECT count(*) FROM session") == CHILDREN);
}

/* Another program makes the store at the worst moment: after its version was read, before the rest. */
static struct {
    char path[GS_PATH], sql[160];
    int  tried;
} maker;

static int make_between(unsigned event, void *unused, void *statement, void *sql)
{
    (void)event, (void)unused, (void)statement;
    sqlite3 *db;
    if (!strstr(sql, "application_id") || maker.tried++) return 0;
    assert_int_equal(sqlite3_open_v2(maker.path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, gs_pages_vfs(true)), SQLITE_OK);
    assert_int_equal(gs_pages_reserve(db), SQLITE_OK);
    const int code = sqlite3_exec(db, maker.sql, NULL, NULL, NULL);
    assert_true(code == SQLITE_OK || code == SQLITE_BUSY);
    sqlite3_close(db);
    return 0;
}

static int watch(sqlite3 *db, const char **message, const void *routines)
{
    (void)message, (void)routines;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, make_between, NULL);
}

static void opens_while_another_makes_it(void **state)
{
    FILES_ONLY();
    (void)state;
    gs_store *store = open_store("pattern.db");
    gs_store_close(&store);
    snprintf(maker.sql, sizeof maker.sql, "BEGIN; CREATE TABLE session (id); PRAGMA user_version = %.0f; PRAGMA application_id = %.0f; COMMIT",
             ask("pattern.db", "PRAGMA user_version"), ask("pattern.db", "PRAGMA application_id"));
    path_of(maker.path, "made.db");
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch), SQLITE_OK);
    const gs_status status = gs_store_open(&store, maker.path, &error);
    sqlite3_cancel_auto_extension((void (*)(void))watch);
    assert_true(maker.tried > 0);
    CHECK(status);
    gs_store_close(&store);
}

/* ---- reading only ---- */

static void change(const char *name, const char *sql)
{
    char path[GS_PATH];
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path_of(path, name), &db, SQLITE_OPEN_READWRITE, gs_pages_vfs(true)), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static gs_store *open_read(const char *name)
{
    char path[GS_PATH];
    gs_store *store;
    CHECK(gs_store_open_read(&store, path_of(path, name), &error));
    return store;
}

static void expect_bytes(const char *name, const char *before, size_t size)
{
    char path[GS_PATH], *now;
    size_t have;
    CHECK(gs_file_read(path_of(path, name), 1 << 24, &now, &have, &error));
    assert_int_equal(have, size);
    assert_memory_equal(now, before, size);
    free(now);
}

static size_t bytes_of(const char *name, char **bytes)
{
    char path[GS_PATH];
    size_t size;
    CHECK(gs_file_read(path_of(path, name), 1 << 24, bytes, &size, &error));
    return size;
}

static bool is_there(const char *name)
{
    char path[GS_PATH];
    return gs_file_exists(path_of(path, name));
}

static void reading_makes_nothing(void **state)
{
    FILES_ONLY();
    (void)state;
    char path[GS_PATH], *before;
    gs_store *store = (gs_store *)path;
    assert_int_equal(gs_store_open_read(&store, path_of(path, "deep/absent.db"), &error), GS_ERROR_NOT_FOUND);
    assert_null(store);
    assert_non_null(strstr(error.text, "absent.db"));
    assert_false(is_there("deep"));
    CHECK(gs_file_write(path_of(path, "empty.txt"), "", 0, &error));
    assert_int_equal(gs_store_open_read(&store, path, &error), GS_ERROR_STORE);
    expect_bytes("empty.txt", "", 0);
    assert_int_equal(gs_store_open_read(&store, folder, &error), GS_ERROR_IO);

    store = open_store("read.db");
    gs_session session = begin(store);
    const gs_trial trial = make_trial("f16:64x64x64:tn", "simple", 1.1);
    CHECK(gs_store_put(store, &session, &trial, &error));
    gs_store_close(&store);
    const size_t size = bytes_of("read.db", &before);
    store = open_read("read.db");
    gs_store *twice = open_read("read.db");
    assert_int_equal(trials(store, NULL), 1);
    assert_int_equal(trials(twice, NULL), 1);
    assert_int_equal(gs_store_put(store, &session, &trial, &error), GS_ERROR_IO);
    gs_session other = {.device = DEVICE};
    assert_int_equal(gs_store_begin(store, &other, &error), GS_ERROR_IO);
    gs_store_close(&store);
    gs_store_close(&twice);
    expect_bytes("read.db", before, size);
    assert_false(is_there("read.db-wal") || is_there("read.db-shm"));
    free(before);
}

/* A copy is converted, in memory; the file is of the old version afterwards. */
static void an_old_store_is_read_as_it_is(void **state)
{
    FILES_ONLY();
    (void)state;
    char *before;
    gs_store *store = open_store("old.db");
    gs_session session = begin(store);
    const gs_trial trial = make_trial("f16:64x64x64:tn", "simple", 1.1);
    const double us[] = {1, 2};
    CHECK(gs_store_put(store, &session, &trial, &error));
    CHECK(gs_store_samples(store, &session, trial.problem, trial.candidate, "device", us, NULL, 2, &error));
    gs_store_close(&store);
    change("old.db", DROP_STEP_4 "DROP TABLE job; DROP VIEW curves; DROP TABLE point; DROP TABLE curve; DROP TABLE lease; PRAGMA user_version = 1");
    assert_true(ask("old.db", "PRAGMA user_version") == 1);
    const size_t size = bytes_of("old.db", &before);
    for (int i = 0; i < 2; i++) {
        store = open_read("old.db");
        assert_int_equal(trials(store, NULL), 1);
        assert_string_equal(list.trials[0].candidate, "simple");
        assert_non_null(strstr(gs_store_path(store), "old.db"));
        char *source = NULL, *manifest = NULL;   /* of a table that the file has not */
        assert_int_equal(gs_store_source_get(store, "source:0123456789abcdef", &source, &manifest, &error), GS_ERROR_NOT_FOUND);
        assert_int_equal(gs_store_put(store, &session, &trial, &error), GS_ERROR_IO);
        gs_store_close(&store);
        expect_bytes("old.db", before, size);
    }
    assert_true(ask("old.db", "PRAGMA user_version") == 1);
    free(before);
    store = open_store("old.db");   /* who writes converts */
    gs_store_close(&store);
    assert_true(ask("old.db", "PRAGMA user_version") == 9);
}

/* What a killed writer left in the log is read, and stays where it is. */
static void a_log_left_behind_is_read(void **state)
{
    FILES_ONLY();
    (void)state;
    char path[GS_PATH], *bytes, *log;
    gs_store *store = open_store("live.db");
    gs_session session = begin(store);
    const gs_trial trial = make_trial("f16:64x64x64:tn", "simple", 1.1);
    CHECK(gs_store_put(store, &session, &trial, &error));
    const size_t size = bytes_of("live.db", &bytes), logged = bytes_of("live.db-wal", &log);
    assert_true(logged > 0);
    gs_store_close(&store);
    CHECK(gs_file_write(path_of(path, "left.db"), bytes, size, &error));
    CHECK(gs_file_write(path_of(path, "left.db-wal"), log, logged, &error));
    store = open_read("left.db");
    assert_int_equal(trials(store, NULL), 1);
    gs_store_close(&store);
    expect_bytes("left.db", bytes, size);
    expect_bytes("left.db-wal", log, logged);
    free(bytes);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_field),
        cmocka_unit_test(empty_fields_keep_what_is_stored),
        cmocka_unit_test(lists_best_first_of_one_device),
        cmocka_unit_test(keeps_raw_samples),
        cmocka_unit_test(a_problem_has_one_winner),
        cmocka_unit_test(finished_results_come_back),
        cmocka_unit_test(results_are_visited_by_prefix),
        cmocka_unit_test(refuses_bad_input),
        cmocka_unit_test(merges_what_is_missing),
        cmocka_unit_test(finds_its_default_place),
        cmocka_unit_test(processes_share_a_store),
        cmocka_unit_test(opens_while_another_makes_it),
        cmocka_unit_test(reading_makes_nothing),
        cmocka_unit_test(an_old_store_is_read_as_it_is),
        cmocka_unit_test(a_log_left_behind_is_read),
    };
    return run_group_without_leaks("store/store", tests, GS_COUNT(tests), make_folder, remove_folder);
}

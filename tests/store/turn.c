/* SPDX-License-Identifier: MIT
 * Proves that the texts of user kernels and the turns in which models wrote them come back as they were put, prompts once each, that they are merged
 * both ways without anything twice, and that a store from before there were any gets the tables. */
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

#define PROBLEM "f16:64x128x256:tn"

static gs_session begin(gs_store *store, const char *device)
{
    gs_session session = {.command = "tune", .device = device};
    CHECK(gs_store_begin(store, &session, &error));
    return session;
}

static int64_t number(gs_store *store, const char *sql)
{
    int64_t value;
    assert_int_equal(gs_sql_number(store, sql, &value), SQLITE_OK);
    return value;
}

static gs_turn make_turn(int island, int turn)
{
    return (gs_turn){.problem = PROBLEM, .mode = "source", .model = "m", .island = island, .number = turn, .base = "ws", .system = "be good", .ask = "write"};
}

/* What was visited, as "island.number base:candidate=verdict,...; " of each. */
typedef struct told {
    gs_store *store;
    char      text[512];
    int       count, most;
} told;

static bool tell(void *self, const gs_turn *turn)
{
    told *const t = self;
    size_t size = strlen(t->text);
    size += (size_t)snprintf(t->text + size, sizeof t->text - size, "%d.%d %s:", turn->island, turn->number, turn->base);
    for (int i = 0; i < turn->count; i++)
        size += (size_t)snprintf(t->text + size, sizeof t->text - size, "%s%s=%s", i ? "," : "", turn->outcomes[i].candidate, turn->outcomes[i].verdict);
    snprintf(t->text + size, sizeof t->text - size, "; ");
    return ++t->count != t->most;
}

static void expect(gs_store *store, const char *device, const char *problem, const char *wanted)
{
    told got = {0};
    CHECK(gs_store_turns(store, device, problem, tell, &got, &error));
    assert_string_equal(got.text, wanted);
}

/* Whatever bytes it has: characters of every length, the first and the last of each, and what is none. */
#define GOOD_UTF8 "\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"
#define NO_UTF8   "\x80 \xc1\xbf \xe0\x9f\xbf \xed\xa0\x80 \xf0\x8f\xbf\xbf \xf4\x90\x80\x80 \xf5\x80\x80\x80 \xff \xef\x9e\x80 \xef\x9f\xbf \xf0\x9f\x98 \xe0\xa0"
#define CODE      "it's \"code\"; " GOOD_UTF8 " " NO_UTF8 "\n\tDROP TABLE source;"

static void texts_come_back(void **state)
{
    (void)state;
    char *source, *manifest;
    gs_store *store = open_store("source.db");
    CHECK(gs_store_source_put(store, "source:01", CODE, "manifest 1\n", &error));
    CHECK(gs_store_source_put(store, "source:01", "another", "one", &error));   /* a hash has its texts */
    gs_store_close(&store);
    store = open_store("source.db");
    CHECK(gs_store_source_get(store, "source:01", &source, &manifest, &error));
    assert_string_equal(source, CODE);
    assert_string_equal(manifest, "manifest 1\n");
    free(source);
    free(manifest);
    assert_int_equal(gs_store_source_get(store, "source:02", &source, &manifest, &error), GS_ERROR_NOT_FOUND);
    assert_true(!source && !manifest);
    static const char *const names[] = {NULL, "", "source:", "ws/128x256x64", "01"};
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        assert_int_equal(gs_store_source_put(store, names[i], "s", "m", &error), GS_ERROR_ARGUMENT);
        assert_int_equal(gs_store_source_get(store, names[i], &source, &manifest, &error), GS_ERROR_ARGUMENT);
        assert_true(!source && !manifest);
    }
    assert_int_equal(gs_store_source_put(store, "source:03", "", "m", &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_source_put(store, "source:03", "s", NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(number(store, "SELECT count(*) FROM source"), 1);
    gs_store_close(&store);
}

static bool is_whole(void *self, const gs_turn *turn)
{
    int *const count = self;
    assert_true(++*count == 1 && turn->id > 0);
    assert_int_equal(strlen(turn->uid), 32);
    assert_int_equal(strlen(turn->date), 20);
    assert_string_equal(turn->device, DEVICE);
    assert_string_equal(turn->problem, PROBLEM);
    assert_string_equal(turn->mode, "schedule");
    assert_string_equal(turn->model, "a model");
    assert_string_equal(turn->base, "source:01");
    assert_string_equal(turn->system, "sys");
    assert_string_equal(turn->ask, "a'sk");
    assert_string_equal(turn->answer, "an \xff answer\n");
    assert_string_equal(turn->fault, "line 3: what?");
    assert_true(turn->island == 2 && turn->number == 5 && turn->count == 2);
    const gs_turn_outcome *const o = turn->outcomes;
    assert_string_equal(o[0].candidate, "source:02");
    assert_string_equal(o[0].verdict, "pass");
    assert_string_equal(o[0].reason, "good");
    assert_string_equal(o[0].metrics, "registers 168\nsmem 9\n");
    assert_true(o[0].part == 3 && o[0].us == 1.5 && o[0].library_us == 3 && o[0].ratio == 2 && o[0].low == 1.9 && o[0].high == 2.1 && o[0].reward == 0.5);
    assert_true(o[0].registers == 168 && o[0].smem == 9);
    assert_string_equal(o[1].candidate, "ws/x");
    assert_string_equal(o[1].metrics, "");
    assert_true(o[1].us == 0 && o[1].ratio == 0 && o[1].reward == -1);
    return true;
}

static void every_field_comes_back(void **state)
{
    (void)state;
    gs_store *store = open_store("fields.db");
    const gs_session session = begin(store, DEVICE);
    const gs_turn_outcome outcomes[] = {
        {.candidate = "source:02", .verdict = "pass", .reason = "good", .part = 3, .us = 1.5, .library_us = 3, .ratio = 2, .low = 1.9, .high = 2.1, .reward = 0.5,
         .registers = 168, .smem = 9, .metrics = "registers 168\nsmem 9\n"},
        {.candidate = "ws/x", .us = INFINITY, .ratio = NAN, .reward = -1},
    };
    const gs_turn turn = {.problem = "f16:64x128x256:tn", .mode = "schedule", .model = "a model", .island = 2, .number = 5, .base = "source:01", .system = "sys",
                          .ask = "a'sk", .answer = "an \xff answer\n", .fault = "line 3: what?", .outcomes = outcomes, .count = 2};
    int count = 0;
    CHECK(gs_store_turn_put(store, &session, &turn, &error));
    gs_store_close(&store);
    store = open_store("fields.db");
    CHECK(gs_store_turns(store, NULL, NULL, is_whole, &count, &error));
    assert_int_equal(count, 1);
    assert_int_equal(number(store, "SELECT count(*) FROM turns WHERE candidate = 'source:02' AND ratio = 2 AND problem = '" PROBLEM "'"), 1);
    gs_store_close(&store);
}

static bool reads_within(void *self, const gs_turn *turn)
{
    told *const t = self;
    char *source, *manifest;
    CHECK(gs_store_source_get(t->store, "source:01", &source, &manifest, &error));
    assert_string_equal(source, "s");
    free(source);
    free(manifest);
    return tell(self, turn);
}

static void are_visited_in_their_order(void **state)
{
    (void)state;
    gs_store *store = open_store("order.db");
    const gs_session here = begin(store, DEVICE), there = begin(store, "emu-h200");
    const gs_turn_outcome one = {.candidate = "source:01", .verdict = "compile"};
    gs_turn turn = make_turn(0, 1);
    turn.outcomes = &one;
    turn.count = 1;
    CHECK(gs_store_source_put(store, "source:01", "s", "m", &error));
    CHECK(gs_store_turn_put(store, &here, &turn, &error));
    turn = make_turn(1, 1);
    turn.base = NULL;
    CHECK(gs_store_turn_put(store, &there, &turn, &error));
    turn = make_turn(0, 2);
    turn.problem = "f16:64x64x64:nn";
    CHECK(gs_store_turn_put(store, &here, &turn, &error));
    turn = make_turn(0, 2);
    turn.ask = "another";
    CHECK(gs_store_turn_put(store, &here, &turn, &error));
    expect(store, NULL, NULL, "0.1 ws:source:01=compile; 1.1 :; 0.2 ws:; 0.2 ws:; ");
    expect(store, DEVICE, PROBLEM, "0.1 ws:source:01=compile; 0.2 ws:; ");
    expect(store, "emu-h200", PROBLEM, "1.1 :; ");
    expect(store, "emu-h200", "f16:64x64x64:nn", "");
    expect(store, NULL, "64_64_64", "0.2 ws:; ");
    expect(store, DEVICE, NULL, "0.1 ws:source:01=compile; 0.2 ws:; 0.2 ws:; ");
    told two = {.most = 2, .store = store};
    CHECK(gs_store_turns(store, NULL, NULL, reads_within, &two, &error));
    assert_int_equal(two.count, 2);
    assert_int_equal(number(store, "SELECT count(*) FROM prompt"), 3);   /* each once */
    assert_int_equal(gs_store_turns(store, NULL, "nonsense", tell, &two, &error), GS_ERROR_PARSE);
    gs_store_close(&store);
}

/* What an answer was paid for is kept before anything is done with it. */
static void the_end_may_come_later(void **state)
{
    (void)state;
    char path[GS_PATH], uid[GS_STORE_UID], other[GS_STORE_UID];
    gs_store *store = open_store("later.db"), *copy = open_store("copy.db");
    const gs_session session = begin(store, DEVICE);
    const gs_turn_outcome first = {.candidate = "source:01", .verdict = "pass"}, second = {.candidate = "source:02", .verdict = "exact"};
    gs_turn turn = make_turn(0, 1);
    gs_store_uid(uid);
    gs_store_uid(other);
    assert_string_not_equal(uid, other);
    turn.uid = uid;
    CHECK(gs_store_turn_put(store, &session, &turn, &error));
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_STORE);   /* a name is used once */
    expect(store, NULL, NULL, "0.1 ws:; ");
    CHECK(gs_store_merge(copy, path_of(path, "later.db"), NULL, &error));
    assert_int_equal(gs_store_turn_end(store, other, &first, 1, &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(gs_store_turn_end(store, uid, &(gs_turn_outcome){.verdict = "pass"}, 1, &error), GS_ERROR_ARGUMENT);
    CHECK(gs_store_turn_end(store, uid, NULL, 0, &error));
    CHECK(gs_store_turn_end(store, uid, &first, 1, &error));
    CHECK(gs_store_turn_end(store, uid, &second, 1, &error));
    expect(store, NULL, NULL, "0.1 ws:source:01=pass; ");
    CHECK(gs_store_merge(copy, path, NULL, &error));
    expect(copy, NULL, NULL, "0.1 ws:source:01=pass; ");
    gs_store_close(&copy);
    gs_store_close(&store);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    gs_store *store = open_store("input.db");
    const gs_session session = begin(store, DEVICE), unbegun = {.device = DEVICE};
    const gs_turn_outcome good = {.candidate = "source:01"}, nameless[] = {good, {.verdict = "pass"}};
    gs_turn turn = make_turn(0, 1);
    assert_int_equal(gs_store_turn_put(store, &unbegun, &turn, &error), GS_ERROR_ARGUMENT);
    turn.mode = "poetry";
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_ARGUMENT);
    turn.mode = NULL;
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_ARGUMENT);
    turn = make_turn(0, 1);
    turn.count = -1;
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_ARGUMENT);
    turn.count = 2;
    turn.outcomes = nameless;
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_ARGUMENT);
    turn = make_turn(0, 1);
    turn.problem = "f16:64x64:tn";
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_PARSE);
    turn.problem = NULL;
    assert_int_equal(gs_store_turn_put(store, &session, &turn, &error), GS_ERROR_ARGUMENT);
    expect(store, NULL, NULL, "");
    assert_int_equal(number(store, "SELECT (SELECT count(*) FROM prompt) + (SELECT count(*) FROM problem)"), 0);
    gs_store_close(&store);
}

static void are_merged_both_ways(void **state)
{
    (void)state;
    char path[GS_PATH];
    gs_store *ours = open_store("ours.db"), *theirs = open_store("theirs.db");
    begin(theirs, "x");                                                  /* so that the rows of the two differ */
    const gs_session mine = begin(ours, DEVICE), other = begin(theirs, DEVICE);
    const gs_turn_outcome outcomes[] = {{.candidate = "source:01", .verdict = "pass"}, {.candidate = "source:02", .verdict = "exact"}};
    int64_t copied;
    gs_turn turn = make_turn(0, 1);
    CHECK(gs_store_turn_put(ours, &mine, &turn, &error));
    turn = make_turn(3, 1);
    turn.ask = "theirs";
    turn.outcomes = outcomes;
    turn.count = 2;
    CHECK(gs_store_turn_put(theirs, &other, &turn, &error));
    CHECK(gs_store_source_put(ours, "source:02", "second", "m", &error));
    CHECK(gs_store_source_put(theirs, "source:01", "first", "m", &error));
    CHECK(gs_store_source_put(theirs, "source:02", "other", "m", &error));

    CHECK(gs_store_merge(ours, path_of(path, "theirs.db"), &copied, &error));
    assert_int_equal(copied, 2 + 1 + 1 + 1 + 2);                         /* sessions, source, prompt, turn, outcomes */
    expect(ours, DEVICE, PROBLEM, "0.1 ws:; 3.1 ws:source:01=pass,source:02=exact; ");
    CHECK(gs_store_merge(ours, path, &copied, &error));
    assert_int_equal(copied, 0);
    CHECK(gs_store_merge(theirs, gs_store_path(ours), &copied, &error));
    assert_int_equal(copied, 1 + 1 + 1);                                 /* session, prompt, turn */
    expect(theirs, DEVICE, PROBLEM, "3.1 ws:source:01=pass,source:02=exact; 0.1 ws:; ");
    char *source, *manifest;
    CHECK(gs_store_source_get(ours, "source:02", &source, &manifest, &error));
    assert_string_equal(source, "second");
    free(source);
    free(manifest);
    if (!store_server()) assert_int_equal(number(ours, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    gs_store_close(&ours);
    gs_store_close(&theirs);
}

static void an_older_store_gets_the_tables(void **state)
{
    FILES_ONLY();
    (void)state;
    gs_store *store = open_store("older.db");
    gs_session session = begin(store, DEVICE);
    const gs_trial trial = {.us = 1, .problem = PROBLEM, .candidate = "source:01"};
    CHECK(gs_store_put(store, &session, &trial, &error));
    assert_int_equal(gs_sql_text_run(store, DROP_STEP_4 "ALTER TABLE job DROP COLUMN expires; PRAGMA user_version = 4"), SQLITE_OK);
    gs_store_close(&store);
    store = open_store("older.db");
    assert_int_equal(number(store, "PRAGMA user_version"), 9);
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), 1);
    const gs_turn turn = make_turn(0, 1);
    CHECK(gs_store_turn_put(store, &session, &turn, &error));
    expect(store, DEVICE, PROBLEM, "0.1 ws:; ");
    gs_store_close(&store);
}

/* Families had other names before version 6, and cuBLASLt before version 7. */
static void old_names_become_the_new_ones(void **state)
{
    FILES_ONLY();
    (void)state;
    static const char *const names[][2] = {{"sliced/16x16", "slicek/16x16"}, {"wave/64x16x64", "splitk/64x16x64"}, {"dot/8x8", "gemv/8x8"},
                                           {"ws/128x128x64", "ws/128x128x64"}, {"waves/1", "waves/1"}, {"library", "cublaslt"}, {"library/3", "cublaslt/3"}, {"source:01", "source:01"}};
    gs_store *store = open_store("names.db");
    gs_session session = begin(store, DEVICE);
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        gs_trial trial = {.us = 1, .problem = PROBLEM};
        snprintf(trial.candidate, sizeof trial.candidate, "%s", names[i][0]);
        CHECK(gs_store_put(store, &session, &trial, &error));
    }
    assert_int_equal(gs_sql_text_run(store, "UPDATE outcome SET candidate = 'dot/8x8'; ALTER TABLE job DROP COLUMN expires; PRAGMA user_version = 5"), SQLITE_OK);
    gs_store_close(&store);
    store = open_store("names.db");
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM trial WHERE candidate = '%s'", names[i][1]);
        assert_int_equal(number(store, sql), 1);
    }
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), GS_COUNT(names));
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(are_visited_in_their_order),
        cmocka_unit_test(the_end_may_come_later),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(are_merged_both_ways),
        cmocka_unit_test(an_older_store_gets_the_tables),
        cmocka_unit_test(old_names_become_the_new_ones),
    };
    return run_group_without_leaks("store/turn", tests, GS_COUNT(tests), make_folder, remove_folder);
}

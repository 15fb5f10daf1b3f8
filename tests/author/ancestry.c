/* SPDX-License-Identifier: MIT
 * Who came from whom, as it is printed: generations, the fastest and its ancestors, kernels that failed, and stores whose lineages are circles. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "author/ancestry.h"
#include "author/lineages.h"
#include "base/error.h"
#include "store/sql.h"
#include "store_folder.h"
#include "evaluate/environment.h"
#include "leaks.h"

#define PROBLEM "f16:64x64x64:tn"

static gs_store *store;

static const char *name_of(const char *source, char name[GS_CONTENDER_NAME]) { return gs_submission_name(source, "manifest 1\n", name); }

/* A turn of an island with its kernel. base: a source, "" or a family. us 0: it failed. */
static void put(const gs_session *session, int island, int number, const char *base, bool family, const char *source, double us)
{
    char name[GS_CONTENDER_NAME], from[GS_CONTENDER_NAME] = "";
    if (*base) snprintf(from, sizeof from, "%s", family ? base : name_of(base, name));
    name_of(source, name);
    CHECK(gs_store_source_put(store, name, source, "manifest 1\n", &error));
    const gs_turn_outcome outcome = {.candidate = name, .verdict = us > 0 ? "pass" : "exact", .us = us, .ratio = us > 0 ? 10 / us : 0, .low = us > 0 ? 10 / us : 0, .reward = us > 0 ? 0.5 : -1};
    const gs_turn turn = {.problem = PROBLEM, .mode = "source", .model = "m", .island = island, .number = number, .base = from, .system = "s", .ask = "a", .answer = "x",
                          .outcomes = &outcome, .count = 1};
    CHECK(gs_store_turn_put(store, session, &turn, &error));
}

static char *printed(bool json)
{
    gs_text out = {0}, shown = {0};
    int count;
    CHECK(gs_ancestry_print(&out, store, "nvidia-h200", PROBLEM, false, json, &count, &error));
    for (const char *at = gs_text_string(&out); *at; at++) {   /* four digits of each hash */
        gs_text_add_bytes(&shown, at, 1);
        if (at - gs_text_string(&out) >= 6 && strncmp(at - 6, "source:", 7) == 0) {
            gs_text_add_bytes(&shown, at + 1, 4);
            at += strspn(at + 1, "0123456789abcdef");
        }
    }
    gs_text_free(&out);
    return gs_text_take(&shown);
}

/* The names of sources in a text, "{one}", are filled in. */
static char *expected(const char *text)
{
    gs_text out = {0};
    for (; *text; text++) {
        char source[16], name[GS_CONTENDER_NAME];
        if (*text != '{') {
            gs_text_add_bytes(&out, text, 1);
            continue;
        }
        const size_t size = strcspn(text + 1, "}");
        snprintf(source, sizeof source, "%.*s\n", (int)size, text + 1);
        gs_text_addf(&out, "%.11s", name_of(source, name));
        text += size + 1;
    }
    return gs_text_take(&out);
}

static void generations(void **state)
{
    const gs_session session = {.device = "nvidia-h200", .version = "1"};
    char path[GS_PATH];
    (void)state;
    CHECK(gs_store_open(&store, path_of(path, "s.db"), &error));
    gs_session begun = session;
    CHECK(gs_store_begin(store, &begun, &error));
    put(&begun, 0, 1, "mma", true, "one\n", 20);
    put(&begun, 1, 1, "mma", true, "two\n", 0);
    put(&begun, 0, 2, "one\n", false, "three\n", 10);
    put(&begun, 1, 2, "", false, "four\n", 30);
    put(&begun, 0, 3, "one\n", false, "five\n", 12);
    put(&begun, 0, 4, "three\n", false, "six\n", 11);
    char *got = printed(false), *want = expected("mma\n*   {one}  20.00 us  0.500  island 0\n*     {three}  10.00 us  1.000  island 0\n        {six}  11.00 us  0.909  island 0\n"
                                                 "      {five}  12.00 us  0.833  island 0\n    {two}  exact  island 1\nnothing\n    {four}  30.00 us  0.333  island 1\n");
    assert_string_equal(got, want);
    free(got);
    free(want);
    got = printed(true);
    want = expected("\"candidate\":\"{six}\",\"base\":\"{three}\",\"generation\":3");
    assert_non_null(strstr(got, want));
    free(want);
    assert_non_null(strstr(got, "\"generation\":3,\"island\":0,\"verdict\":\"pass\",\"us\":11"));
    assert_non_null(strstr(got, "\"generation\":1,\"island\":1,\"verdict\":\"exact\",\"best_line\":false"));
    free(got);
    /* of a circle each is shown once */
    put(&begun, 2, 1, "eight\n", false, "seven\n", 40);
    put(&begun, 2, 2, "seven\n", false, "eight\n", 41);
    put(&begun, 2, 3, "nine\n", false, "nine\n", 5);
    got = printed(false);
    want = expected("{eight}  41.00 us");
    assert_non_null(strstr(got, want));
    assert_null(strstr(strstr(got, want) + 1, want));
    free(want);
    want = expected("{nine}  5.00 us");
    assert_non_null(strstr(got, want));
    free(want);
    free(got);
    gs_store_close(&store);
}

static void put_trial(const gs_session *session, const char *source, const char *stage, const char *verdict)
{
    gs_trial trial = {.us = 9, .ratio = 1};
    snprintf(trial.problem, sizeof trial.problem, PROBLEM);
    snprintf(trial.stage, sizeof trial.stage, "%s", stage);
    snprintf(trial.verdict, sizeof trial.verdict, "%s", verdict);
    name_of(source, trial.candidate);
    CHECK(gs_store_put(store, session, &trial, &error));
}

/* Second figures are those of a kernel that passed when it was confirmed. */
static void what_was_confirmed_is_known(void **state)
{
    static const char *const sources[] = {"one\n", "two\n", "three\n", "four\n"};
    gs_session session = {.device = "nvidia-h200", .version = "1"};
    gs_lineages lineages;
    char path[GS_PATH];
    (void)state;
    CHECK(gs_store_open(&store, path_of(path, "s.db"), &error));
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < 4; i++) put(&session, 0, i + 1, "mma", true, sources[i], 20);
    put_trial(&session, "one\n", "final", "pass");
    put_trial(&session, "two\n", "confirm", "pass");
    put_trial(&session, "three\n", "confirm", "exact");
    put_trial(&session, "five\n", "confirm", "pass");   /* of nobody here */
    CHECK(gs_lineages_read(&lineages, store, "nvidia-h200", PROBLEM, "m", 3, &error));
    assert_int_equal(lineages.count, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(lineages.attempt[i].again, i == 1);
    gs_lineages_free(&lineages);
    gs_store_close(&store);
}

/* What cannot be read is no search without attempts. */
static void a_store_that_fails_is_said(void **state)
{
    gs_session session = {.device = "nvidia-h200", .version = "1"};
    gs_lineages lineages;
    gs_text out = {0};
    char path[GS_PATH];
    int count;
    (void)state;
    CHECK(gs_store_open(&store, path_of(path, "s.db"), &error));
    CHECK(gs_store_begin(store, &session, &error));
    put(&session, 0, 1, "mma", true, "one\n", 20);
    put(&session, 0, 2, "one\n", false, "two\n", 0);
    CHECK(gs_lineages_read(&lineages, store, "nvidia-h200", PROBLEM, "m", 3, &error));
    assert_int_equal(lineages.count, 2);
    gs_lineages_free(&lineages);
    static const char *const tables[] = {"source", "turn", "trial"};
    for (size_t i = 0; i < GS_COUNT(tables); i++) {
        char away[64], back[64];
        snprintf(away, sizeof away, "ALTER TABLE %s RENAME TO away", tables[i]);
        snprintf(back, sizeof back, "ALTER TABLE away RENAME TO %s", tables[i]);
        assert_int_equal(gs_sql_text_run(store, away), 0);
        error = (gs_error){0};
        const gs_status status = gs_lineages_read(&lineages, store, "nvidia-h200", PROBLEM, "m", 3, &error);
        if (status == GS_OK) fail_msg("without %s nothing is missed", tables[i]);
        assert_true(error.text[0] != '\0');
        gs_lineages_free(&lineages);
        if (i == 1) assert_true(gs_ancestry_print(&out, store, "nvidia-h200", PROBLEM, false, false, &count, &error) != GS_OK);
        assert_int_equal(gs_sql_text_run(store, back), 0);
    }
    gs_text_free(&out);
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(generations, make_folder, remove_folder),
                                       cmocka_unit_test_setup_teardown(what_was_confirmed_is_known, make_folder, remove_folder),
                                       cmocka_unit_test_setup_teardown(a_store_that_fails_is_said, make_folder, remove_folder)};
    return run_without_leaks("author/ancestry", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Which stores are opened; one prompt for one problem, and what is known of it; and that short memory is an error and not a row less. */
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
#include "texts.h"
#include "store_folder.h"   /* behind texts.h, whose functions have errors of their own */
#include "dataset/ask.h"
#include "dataset/dataset.h"
#include "support/allocations.h"

#define PROBLEM "f16:1024x1024x1024:tn"
#define FAST "ws/128x256x64/s4/c2x1/coop/g8"
#define SLOW "mma/64x64x32/w2x2/s3/g8"

static gs_store  *store;
static gs_session session;

static int begin(void **state)
{
    if (make_folder(state) != 0) return -1;
    setenv("GEMMSMITH_PROMPTS", GS_SOURCE_DIR "/share/prompts", 1);
    store = open_store("a.db");
    session = (gs_session){.command = "tune", .version = "1", .commit = "", .device = DEVICE, .cublaslt = 130100};
    CHECK(gs_store_begin(store, &session, &error));
    return 0;
}

static int end(void **state)
{
    gs_store_close(&store);
    unsetenv("GEMMSMITH_STORE");
    return remove_folder(state);
}

static void put_trial(const char *candidate, const char *verdict, double us, double ratio)
{
    gs_trial trial = {.us = us, .library_us = us * ratio, .ratio = ratio, .low = ratio * 0.99, .high = ratio * 1.01, .problem = PROBLEM};
    snprintf(trial.candidate, sizeof trial.candidate, "%s", candidate);
    snprintf(trial.verdict, sizeof trial.verdict, "%s", verdict);
    CHECK(gs_store_put(store, &session, &trial, &error));
}

/* ---- which stores ---- */

static void the_stores_that_were_named(void **state)
{
    (void)state;
    FILES_ONLY();
    char a[GS_PATH], b[GS_PATH], none[GS_PATH];
    gs_store *list[3] = {NULL}, *const other = open_store("b.db");
    gs_store *other_again = other;
    gs_store_close(&other_again);
    path_of(a, "a.db"), path_of(b, "b.db"), path_of(none, "none.db");
    int count = 7;
    setenv("GEMMSMITH_STORE", none, 1);
    CHECK(gs_dataset_open(list, &count, (const char *const[]){a, b}, 2, &error));   /* these, and not the user's */
    assert_int_equal(count, 2);
    for (int i = 0; i < 2; i++) gs_store_close(&list[i]);
    assert_int_equal(gs_dataset_open(list, &count, (const char *const[]){a, none, b}, 3, &error), GS_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.text, "none.db: no such file"));
    assert_int_equal(count, 1);   /* which are open */
    gs_store_close(&list[0]);
    assert_false(gs_file_exists(none));   /* nothing is made */
    setenv("GEMMSMITH_STORE", b, 1);
    CHECK(gs_dataset_open(list, &count, NULL, 0, &error));
    assert_int_equal(count, 1);
    assert_non_null(list[0]);
    gs_store_close(&list[0]);
}

/* ---- one prompt ---- */

static gs_ask how_of(const gs_problem *problem)
{
    return (gs_ask){.store = store, .device = DEVICE, .caps = gs_caps_find("h200"), .problem = problem};
}

static void what_is_known_of_a_problem(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_asked out;
    put_trial(FAST, "pass", 10, 0.9);
    put_trial(SLOW, "spill", 0, 0);
    put_trial("ws/64x64x64/s2/c1x1/coop/g1", "pass", 0, 0);   /* whose time nobody kept */
    put_trial("source:01", "pass", 12, 0.8);
    put_trial("source:02", "exact", 0, 0);
    put_trial("source:03", "compile", 0, 0);
    for (int examples = 0; examples < 2; examples++) {
        for (int source = 0; source < 2; source++) {
            gs_ask how = how_of(&problem);
            how.examples = examples;
            how.source = source;
            CHECK(gs_dataset_ask(&how, &out, &error));
            assert_true(out.system.size > 100 && strstr(gs_text_string(&out.ask), PROBLEM));
            assert_int_equal(out.timed, examples ? 1 : 0);
            assert_int_equal(out.failed, !examples ? 0 : source ? 2 : 1);
            assert_true(out.floor_us > 0 && out.library_us > 9 && !out.predicted);
            assert_true((strstr(gs_text_string(&out.ask), FAST) != NULL) == (examples != 0));
            if (!source) assert_true(out.source.size == 0 && out.manifest.size == 0);
            gs_asked_free(&out);
            assert_true(!out.system.data && !out.ask.data);
        }
    }
}

/* A kernel prompt begins with the kernel of a schedule that was the last attempt; one of a schedule, or behind a kernel, does not. */
static void what_a_prompt_begins_with(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    const gs_attempt schedule = {.name = SLOW, .base = "", .verdict = "pass", .reason = "", .metrics = "", .us = 20};
    const gs_attempt kernel = {.name = "source:01", .source = "int mine;\n", .manifest = "manifest 1\n", .base = "", .verdict = "compile", .reason = "no",
                               .metrics = ""};
    const gs_attempt unknown = {.name = "no/such", .base = "", .verdict = "launch", .reason = "", .metrics = ""};
    gs_asked out;
    gs_ask how = how_of(&problem);
    how.source = true;
    how.last = &schedule;
    CHECK(gs_dataset_ask(&how, &out, &error));
    assert_non_null(strstr(gs_text_string(&out.source), "gs_mma"));
    assert_non_null(strstr(gs_text_string(&out.manifest), "manifest 1\n"));
    assert_non_null(strstr(gs_text_string(&out.ask), "gs_mma"));
    gs_asked_free(&out);
    how.last = &kernel;
    CHECK(gs_dataset_ask(&how, &out, &error));
    assert_int_equal(out.source.size, 0);
    assert_non_null(strstr(gs_text_string(&out.ask), "int mine;"));
    gs_asked_free(&out);
    how.last = &unknown;
    CHECK(gs_dataset_ask(&how, &out, &error));
    assert_null(strstr(gs_text_string(&out.ask), "int mine;"));
    gs_asked_free(&out);
    how.source = false;
    how.last = &schedule;
    CHECK(gs_dataset_ask(&how, &out, &error));
    assert_true(out.source.size == 0 && out.manifest.size == 0);
    gs_asked_free(&out);
}

static void a_folder_of_notes_that_is_missing(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_ask how = how_of(&problem);
    gs_asked out;
    how.source = true;   /* only then there are notes */
    setenv("GEMMSMITH_NOTES", "/nowhere/notes", 1);
    error = (gs_error){0};
    assert_int_equal(gs_dataset_ask(&how, &out, &error), GS_ERROR_NOT_FOUND);
    assert_string_equal(error.text, "there is no folder '/nowhere/notes'");
    unsetenv("GEMMSMITH_NOTES");
}

static void which_device(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_asked out;
    gs_ask how = how_of(&problem);
    how.caps = NULL;   /* of its profile */
    CHECK(gs_dataset_ask(&how, &out, &error));
    assert_true(out.floor_us > 0);
    gs_asked_free(&out);
    how.device = "emu-h200";
    CHECK(gs_dataset_ask(&how, &out, &error));
    assert_true(out.predicted && out.library_us == 0);
    assert_non_null(strstr(gs_text_string(&out.ask), "The device is emulated"));
    gs_asked_free(&out);
    static const char *const unknown[] = {"toaster", "emu-toaster", ""};
    for (size_t i = 0; i < GS_COUNT(unknown); i++) {
        how.device = unknown[i];
        assert_int_equal(gs_dataset_ask(&how, &out, &error), GS_ERROR_UNSUPPORTED);
        assert_string_equal(error.field, "device");
        assert_string_equal(error.text, "there is no profile of such a device");
        gs_asked_free(&out);
    }
    how.device = DEVICE;
    how.folder = "/nonexistent";
    assert_int_equal(gs_dataset_ask(&how, &out, &error), GS_ERROR_NOT_FOUND);
    gs_asked_free(&out);
}

/* ---- short of memory ---- */

static gs_text rows;

static bool keep(void *self, const char *line)
{
    (void)self;
    const int kept = fail_at;
    fail_at = 0;
    gs_text_add(&rows, line);
    fail_at = kept;
    return true;
}

static gs_status export(gs_status (*run)(const gs_dataset_options *, gs_dataset_counts *, gs_error *))
{
    const gs_dataset_options how = {.stores = &store, .store_count = 1, .caps = gs_caps_find("h200"), .kinds = GS_DATASET_PREFERENCES,
                                    .apart = 0.02, .line = keep};
    gs_dataset_counts counts;
    gs_text_clear(&rows);
    error = (gs_error){0};
    return run(&how, &counts, &error);
}

/* Whichever allocation fails: an export says so, and never leaves out a row. */
static void no_row_is_lost(void **state)
{
    (void)state;
    static gs_status (*const runs[])(const gs_dataset_options *, gs_dataset_counts *, gs_error *) = {gs_dataset_trajectories, gs_dataset_pairs};
    put_trial(FAST, "pass", 10, 0.9);
    put_trial(SLOW, "pass", 20, 0.45);
    put_trial("ws/64x64x64/s2/c1x1/coop/g1", "spill", 0, 0);
    for (size_t r = 0; r < GS_COUNT(runs); r++) {
        assert_int_equal(export(runs[r]), GS_OK);
        assert_true(rows.size > 100);
        char *const want = strdup(gs_text_string(&rows));
        const int before = allocations;
        assert_int_equal(export(runs[r]), GS_OK);
        const int all = allocations - before;
        for (int at = 1; at <= all; at += at < 30 ? 1 : 40) {
            fail_at = at;
            const gs_status status = export(runs[r]);
            fail_at = 0;
            if (status == GS_OK ? strcmp(gs_text_string(&rows), want) != 0 : status != GS_ERROR_MEMORY)
                fail_msg("%zu, allocation %d of %d: %s: %s", r, at, all, gs_status_name(status), error.text);
        }
        free(want);
    }
    gs_text_free(&rows);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_stores_that_were_named), CASE(what_is_known_of_a_problem), CASE(what_a_prompt_begins_with), CASE(a_folder_of_notes_that_is_missing), CASE(which_device),
        CASE(no_row_is_lost),
    };
    return run_without_leaks("dataset/ask", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * Proves what the store says of earlier searches, whose turn a problem of a list is, and how a result is printed. Nothing is tuned here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "leaks.h"
#include "store_folder.h"
#include "tune/run.h"
#include "tune/tune.h"

#define SLOW "simple"
#define FAST "ws/128x256x64/s4/c2x1/coop/g8"
#define MORE "ws/128x256x64/s4/c2x1/coop/g4"

static gs_session session_of(gs_store *store, const char *device, const char *version)
{
    gs_session session = {.command = "test", .version = version, .device = device, .cc = 90, .sms = 132};
    CHECK(gs_store_begin(store, &session, &error));
    return session;
}

/* ---- what was found ---- */

typedef struct trial {
    const char *candidate, *verdict, *stage, *version;
    double      us, ratio;
} trial;

static void the_best_of_ours(void **state)
{
    (void)state;
    static const struct { trial trials[4]; const char *best; } cases[] = {
        {{{SLOW, "pass", "race", "1", 10, 1}}, SLOW},
        {{{SLOW, "pass", "race", "1", 10, 1}, {FAST, "pass", "race", "1", 5, 2}}, FAST},
        {{{FAST, "pass", "race", "1", 5, 2}, {SLOW, "pass", "race", "1", 10, 1}}, FAST},
        {{{SLOW, "pass", "race", "1", 9, 1}, {FAST, "pass", "race", "1", 10, 1}}, SLOW},               /* as good: the shorter time */
        {{{FAST, "pass", "race", "1", 10, 1}, {SLOW, "pass", "race", "1", 9, 1}}, SLOW},
        {{{FAST, "pass", "confirm", "1", 10, 1}, {SLOW, "pass", "race", "1", 9.95, 1.005}}, FAST},       /* one that was confirmed, before one that is less than a per cent faster */
        {{{FAST, "pass", "confirm", "1", 10, 1}, {SLOW, "pass", "race", "1", 9.8, 1.02}}, SLOW},
        {{{SLOW, "pass", "race", "1", 10, 1}, {FAST, "exact", "race", "1", 5, 2}}, SLOW},                /* what is wrong, was not timed, */
        {{{SLOW, "pass", "race", "1", 10, 1}, {FAST, "pass", "race", "1", 0, 0}}, SLOW},
        {{{SLOW, "pass", "race", "1", 10, 1}, {FAST, "pass", "race", "2", 5, 2}}, SLOW},                 /* is of other kernels, */
        {{{SLOW, "pass", "race", "1", 10, 1}, {"source:0123456789abcdef", "pass", "race", "1", 5, 2}}, SLOW},   /* or a user's */
        {{{FAST, "pass", "race", "2", 5, 2}}, ""},
    };
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    char name[32], text[GS_SCHEDULE_TEXT];
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        snprintf(name, sizeof name, "best%zu.db", i);
        gs_store *store = open_store(name);
        for (int t = 0; t < 4 && cases[i].trials[t].candidate; t++) {
            const trial *const from = &cases[i].trials[t];
            const gs_session session = session_of(store, DEVICE, from->version);
            gs_trial put = {.problem = "f16:64x64x64:tn", .us = from->us, .ratio = from->ratio, .rounds = 5};
            snprintf(put.candidate, sizeof put.candidate, "%s", from->candidate);
            snprintf(put.verdict, sizeof put.verdict, "%s", from->verdict);
            snprintf(put.stage, sizeof put.stage, "%s", from->stage);
            CHECK(gs_store_put(store, &session, &put, &error));
        }
        const gs_session session = session_of(store, DEVICE, "1"), elsewhere = session_of(store, "other", "1");
        CHECK(gs_tune_best_own(store, &session, &problem, text, &error));
        if (strcmp(text, cases[i].best) != 0) fail_msg("%zu: %s", i, text);
        CHECK(gs_tune_best_own(store, &elsewhere, &problem, text, &error));
        assert_string_equal(text, "");
        CHECK(gs_store_result_put(store, &session, "search 1 " DEVICE " 1 f16:64x64x64:tn", MORE " 3.5000", &error));   /* a search that was ended goes before all */
        CHECK(gs_tune_best_own(store, &session, &problem, text, &error));
        assert_string_equal(text, MORE);
        gs_store_close(&store);
    }
}

static void searches_of_a_device(void **state)
{
    (void)state;
    static const struct { const char *key, *value; bool found; } results[] = {
        {"search 1 " DEVICE " 1 f16:64x64x64:tn", FAST " 3.5", true}, {"search 1 " DEVICE " 2 f16:64x64x64:tn", SLOW " 4.5", true}, {"search 1 " DEVICE " 1 f16:64x64x128:tn", "nothing 1", false},
        {"search 1 " DEVICE " 1 f16:64x64x192:tn", FAST, false}, {"search 1 " DEVICE " 1 f16:64x64x256:tn", FAST " x", false}, {"search 1 " DEVICE " 1 nonsense", FAST " 3.5", false},
        {"search 1 " DEVICE "x 1 f16:64x64x64:tn", FAST " 3.5", false}, {"search 1 " DEVICE " 1", FAST " 3.5", false}, {"eval 1 " DEVICE " 1 f16:64x64x64:tn", FAST " 3.5", false},
    };
    gs_store *store = open_store("search.db");
    const gs_session session = session_of(store, DEVICE, "1");
    gs_found *list;
    int count;
    CHECK(gs_run_found(store, &session, &list, &count, &error));
    assert_true(count == 0);
    free(list);
    for (size_t i = 0; i < GS_COUNT(results); i++) CHECK(gs_store_result_put(store, &session, results[i].key, results[i].value, &error));
    CHECK(gs_run_found(store, &session, &list, &count, &error));
    assert_int_equal(count, 2);   /* also with other kernels */
    for (int i = 0; i < 2; i++) {
        char text[GS_SCHEDULE_TEXT];
        assert_int_equal(list[i].problem.k, 64);
        assert_string_equal(gs_schedule_format(&list[i].schedule, text), i == 0 ? FAST : SLOW);
    }
    free(list);
    for (size_t i = 0; i < GS_COUNT(results); i++) {
        const char *const problem = strrchr(results[i].key, ' ') + 1;
        if (strncmp(results[i].key, "search 1 " DEVICE " 1 f16", 14 + strlen(DEVICE)) != 0) continue;
        gs_schedule schedule;
        double us = 0;
        bool found;
        CHECK(gs_run_find_search(store, &session, problem, &schedule, &us, &found, &error));
        if (found != results[i].found || (found && us != 3.5)) fail_msg("%s", results[i].key);
    }
    gs_store_close(&store);
}

/* Whichever allocation of ours fails, that is said, and nothing is left. */
static void no_memory_for_what_was_found(void **state)
{
    (void)state;
    gs_store *store = open_store("memory.db");
    const gs_session session = session_of(store, DEVICE, "1");
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    CHECK(gs_store_result_put(store, &session, "search 1 " DEVICE " 1 f16:64x64x64:tn", FAST " 3.5", &error));
    for (int call = 0; call < 2; call++) {
        int failures = 0;
        for (int at = 1;; at++) {
            gs_found *list = NULL;
            int count = 0;
            char text[GS_SCHEDULE_TEXT] = "";
            fail_at = at;
            const gs_status status = call == 0 ? gs_run_found(store, &session, &list, &count, &error) : gs_tune_best_own(store, &session, &problem, text, &error);
            const bool reached = allocation_failed();
            if (status != (reached ? GS_ERROR_MEMORY : GS_OK)) fail_msg("%d, allocation %d: %s: %s", call, at, gs_status_name(status), error.text);
            assert_true(status == GS_OK || (count == 0 && !text[0]));
            failures += reached;
            free(list);
            if (!reached) break;
        }
        assert_true(failures > 0);
    }
    gs_store_close(&store);
}

/* ---- turns ---- */

static void turns_of_one_tuner(void **state)
{
    (void)state;
    const gs_problem problems[] = {gs_problem_make(GS_F16, GS_TN, 8, 8, 8), gs_problem_make(GS_F16, GS_TN, 16, 8, 8), gs_problem_make(GS_F16, GS_TN, 24, 8, 8)};
    const gs_session session = {.device = DEVICE};
    for (int first = 0; first < 5; first++) {
        gs_work_queue *queue;
        const gs_tune_options options = {.first = first};
        int index;
        CHECK(gs_work_queue_create(&queue, NULL, &session, problems, 3, &options, &error));
        assert_int_equal(gs_work_queue_left(queue), 3);
        for (int i = 0; i < 3; i++) {
            CHECK(gs_work_queue_next(queue, &index, &error));
            assert_int_equal(index, (first + i) % 3);
            assert_int_equal(gs_work_queue_left(queue), 2 - i);
            gs_work_queue_end(queue, index, true);
        }
        CHECK(gs_work_queue_next(queue, &index, &error));
        assert_int_equal(index, -1);
        gs_work_queue_destroy(&queue);
        assert_null(queue);
    }
    gs_work_queue *none;
    int index = 7;
    CHECK(gs_work_queue_create(&none, NULL, &session, NULL, 0, &(gs_tune_options){.first = 2}, &error));
    CHECK(gs_work_queue_next(none, &index, &error));
    assert_int_equal(index, -1);
    gs_work_queue_destroy(&none);
}

/* What another one holds is passed over and asked for again; what another one has done is not. */
static void turns_of_several_tuners(void **state)
{
    (void)state;
    const gs_problem problems[] = {gs_problem_make(GS_F16, GS_TN, 8, 8, 8), gs_problem_make(GS_F16, GS_TN, 16, 8, 8)};
    const gs_session session = {.device = DEVICE};
    gs_store *store = open_store("turns.db");
    gs_lessee mine, theirs;
    gs_work_queue *a, *b;
    int index, other;
    gs_lessee_of(&mine, "run", getpid());
    gs_lessee_of(&theirs, "run", getppid());
    CHECK(gs_work_queue_create(&a, store, &session, problems, 2, &(gs_tune_options){.lessee = &mine}, &error));
    CHECK(gs_work_queue_create(&b, store, &session, problems, 2, &(gs_tune_options){.lessee = &theirs}, &error));
    CHECK(gs_work_queue_next(a, &index, &error));
    CHECK(gs_work_queue_next(b, &other, &error));
    assert_true(index == 0 && other == 1);
    CHECK(gs_work_queue_next(b, &other, &error));
    assert_true(other == -1 && gs_work_queue_left(b) == 1);   /* the first may still come free */
    gs_work_queue_end(a, 0, false);                           /* as it does */
    CHECK(gs_work_queue_next(b, &other, &error));
    assert_true(other == 0 && gs_work_queue_left(b) == 0);
    gs_work_queue_end(b, 1, true);
    CHECK(gs_work_queue_next(a, &index, &error));
    assert_true(index == -1 && gs_work_queue_left(a) == 0);   /* done by the other */
    gs_work_queue_destroy(&a);
    gs_work_queue_destroy(&b);
    gs_store_close(&store);
}

/* ---- results ---- */

#define TAIL "\"proposed\":1,\"compiled\":2,\"verified\":3,\"measured\":4,\"rejected\":5,\"resumed\":true,\"seconds\":6.5,\"spent\":{\"compile\":1.5,\"race\":2.5,\"verify\":3.5,\"confirm\":4.5}}"

static void results_as_they_are_printed(void **state)
{
    (void)state;
    gs_caps caps = *gs_caps_find("h200");
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    gs_tune_result r = {.proposed = 1, .compiled = 2, .verified = 3, .measured = 4, .rejected = 5, .best_own = FAST, .best_own_ratio = 1.5, .best_own_us = 7.5, .alone = "why", .resumed = true,
                        .seconds = 6.5, .spent = {1.5, 2.5, 3.5, 4.5}};
    r.row = (gs_row){.problem = problem, .us = 10, .library_us = 15, .ratio = 1.5, .low = 1.25, .high = 1.75, .mhz = 1980, .gpu = "nvidia-h200"};
    assert_int_equal(gs_schedule_parse(&r.row.schedule, FAST, NULL), GS_OK);
    static const struct { bool confirmed, alone, predicted; const char *device, *text; } cases[] = {
        {false, false, false, "nvidia-h200", "{\"problem\":\"f16:64x64x64:tn\",\"best_own\":\"" FAST "\",\"best_own_us\":7.5,\"gpu\":\"nvidia-h200\"," TAIL},
        {true, false, false, "nvidia-h200", "{\"problem\":\"f16:64x64x64:tn\",\"choice\":\"" FAST "\",\"us\":10,\"cublaslt_us\":15,\"ratio\":1.5,\"low\":1.25,\"high\":1.75,\"best_own\":\"" FAST
                                            "\",\"best_own_ratio\":1.5,\"gpu\":\"nvidia-h200\",\"mhz\":1980," TAIL},
        {true, true, false, "nvidia-h200+dependent", "{\"problem\":\"f16:64x64x64:tn\",\"choice\":\"" FAST "\",\"us\":10,\"alone\":true,\"why_alone\":\"why\",\"best_own\":\"" FAST
                                                     "\",\"gpu\":\"nvidia-h200\",\"dependent\":true,\"mhz\":1980," TAIL},
        {true, true, true, "nvidia-h200", "{\"problem\":\"f16:64x64x64:tn\",\"choice\":\"" FAST "\",\"us\":10,\"predicted\":true,\"floor_us\":%,\"best_own\":\"" FAST "\",\"gpu\":\"nvidia-h200\",\"mhz\":1980," TAIL},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_text text = {0};
        gs_json json = gs_json_into(&text);
        char want[1000];
        r.confirmed = cases[i].confirmed;
        r.row.library_us = cases[i].alone ? 0 : 15;
        r.row.ratio = cases[i].alone ? 0 : 1.5;
        snprintf(r.row.gpu, sizeof r.row.gpu, "%s", cases[i].predicted ? "emu-h200" : "nvidia-h200");
        const gs_session session = {.device = cases[i].device};
        gs_json_begin(&json, NULL, '{');
        gs_tune_result_put(&json, &problem, &session, &caps, &r);
        gs_json_end(&json, '}');
        const char *const floor = strchr(cases[i].text, '%');   /* where the floor stands: a figure of the device */
        snprintf(want, sizeof want, "%.*s", floor ? (int)(floor - cases[i].text) : (int)strlen(cases[i].text), cases[i].text);
        if (floor) snprintf(want + strlen(want), sizeof want - strlen(want), "%.17g%s", gs_floor_us(&problem, &caps), floor + 1);
        assert_string_equal(gs_text_string(&text), want);
        gs_text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_ours), cmocka_unit_test(searches_of_a_device), cmocka_unit_test(no_memory_for_what_was_found), cmocka_unit_test(turns_of_one_tuner), cmocka_unit_test(turns_of_several_tuners),
        cmocka_unit_test(results_as_they_are_printed),
    };
    return run_group_without_leaks("tune/found", tests, GS_COUNT(tests), make_folder, remove_folder);
}

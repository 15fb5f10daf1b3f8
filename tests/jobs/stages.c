/* SPDX-License-Identifier: MIT
 * Proves what those do that prepare candidates before a device is free: what reaches the device, and with which attempts counted; what is
 * cancelled in either stage; races, compiled by many and
 * run once; schedules of a problem that are timed together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "evaluate/emulate.h"
#include "fake/times.h"
#include "serving.h"
#include "worker/pool.h"
#include "leaks.h"

#define ONE(text)  "{\"problem\":\"" PROBLEM "\",\"schedule\":\"" text "\"}"
#define RACE       "{\"problem\":\"" PROBLEM "\",\"race\":[\"simple\",\"ws/128x256x64/s4/c2x1/coop/g8\",\"nonsense/1\"]}"
#define RACE_ALONE "{\"problem\":\"" PROBLEM "\",\"race\":[\"simple\",\"ws/128x256x64/s4/c2x1/coop/g8\"],\"alone\":true}"

static gs_jobs_load load(gs_jobs_stage stage) { return gs_service_jobs_load(s.jobs, stage); }

static void what_is_prepared_is_handed_on(void **state)
{
    (void)state;
    s.options.prepare = 2;
    serve("");
    assert_int_equal(load(GS_JOBS_PREPARE).threads, 2);
    assert_int_equal(load(GS_JOBS_DEVICE).threads, 1);
    gs_service_found found = accept_one(ONE("simple"));
    assert_int_equal(gs_service_first_stage(s.jobs), GS_JOBS_PREPARE);
    expect_verdict(&found, "pass", false);
    assert_true(load(GS_JOBS_PREPARE).done == 1 && load(GS_JOBS_DEVICE).done == 1);
    assert_true(load(GS_JOBS_PREPARE).working == 0 && load(GS_JOBS_PREPARE).waiting == 0 && load(GS_JOBS_PREPARE).busy_us > 0);
    assert_true(asked("\"op\":\"precompile\"") >= 1 && asked("\"op\":\"verify\"") == 1);
    assert_int_equal(row_of(ONE("simple")).attempts, 1);   /* preparing is no attempt of its own */
    assert_int_equal(counts()->evaluated, 1);
}

static void what_does_not_compile_never_reaches_the_device(void **state)
{
    char request[REQUEST];
    (void)state;
    s.options.prepare = 1;
    serve("");
    gs_service_found found = accept_one(kernel(request, 1, "compile"));
    expect_verdict(&found, "compile", false);
    assert_int_equal(asked("\"op\":\"precompile\""), 1);
    assert_int_equal(asked("\"op\":\"verify\"") + asked("\"op\":\"bench\"") + asked("\"op\":\"compile\""), 0);
    assert_true(load(GS_JOBS_PREPARE).done == 1 && load(GS_JOBS_DEVICE).done == 0);
    assert_true(counts()->evaluated == 1 && counts()->passed == 0);
    assert_int_equal(row_of(request).attempts, 1);
}

static void where_nothing_can_be_prepared_the_device_does_without(void **state)
{
    char request[REQUEST];
    gs_service_device device[DEVICES];
    (void)state;
    s.options.prepare = 1;
    serve("refuse=NO_COMPILER");
    gs_service_found found = accept_one(kernel(request, 1, "us=10"));
    WAIT_FOR(load(GS_JOBS_PREPARE).done == 1);
    assert_true(said("goes to its device unprepared"));
    expect_verdict(&found, "pass", false);
    gs_service_jobs_devices(s.jobs, device);
    assert_false(device[0].failing);
    assert_true(counts()->machine == 0 && counts()->evaluated == 1);
    assert_int_equal(row_of(request).attempts, 1);
}

static void jobs_are_cancelled_in_each_stage(void **state)
{
    char busy[REQUEST], prepared[REQUEST], compiled[REQUEST], waits[REQUEST];
    (void)state;
    s.options.prepare = 1;
    serve("");
    gs_service_found held = occupy(busy, 1), second = accept_one(kernel(prepared, 2, "us=10"));
    WAIT_FOR(load(GS_JOBS_DEVICE).waiting == 1);
    gs_service_found third = accept_one(kernel(compiled, 3, "prepare=60000"));
    WAIT_FOR(asked("prepare=60000") == 1);
    gs_service_found fourth = accept_one(kernel(waits, 4, "us=10"));
    assert_true(load(GS_JOBS_PREPARE).waiting == 1 && load(GS_JOBS_PREPARE).working == 1 && load(GS_JOBS_DEVICE).working == 1);
    assert_int_equal(count_open(), 4);
    assert_int_equal(count_running(), 2);
    cancel_job(compiled);
    expect_verdict(&third, "cancelled", true);
    WAIT_FOR(load(GS_JOBS_DEVICE).waiting == 2);
    cancel_job(prepared);
    expect_verdict(&second, "cancelled", true);
    cancel_job(waits);
    expect_verdict(&fourth, "cancelled", true);
    release(busy, &held);
    assert_int_equal(asked("// 2") + asked("// 4") + asked("// 3"), 3);   /* each was prepared, and no more */
    assert_true(counts()->cancelled == 4 && counts()->evaluated == 0 && counts()->machine == 0);
    assert_int_equal(count_open() + count_running(), 0);
}

static void a_race_is_compiled_in_parts_and_run_once(void **state)
{
    gs_service_found found;
    (void)state;
    s.options.prepare = 2;
    serve("");
    found = accept_one(RACE);
    assert_true(gs_service_jobs_wait(s.jobs, &found, gs_clock_ns() + 40 * SECOND));
    assert_non_null(found.answer);
    assert_non_null(strstr(found.answer, "{\"problem\":\"" PROBLEM "\",\"floor_us\":"));
    assert_non_null(strstr(found.answer, "\"candidate\":\"simple\""));
    assert_non_null(strstr(found.answer, "\"rank\":1,\"relative\":1,"));
    assert_non_null(strstr(found.answer, "\"rank\":2,\"relative\":0."));
    assert_non_null(strstr(found.answer, "\"cublaslt_us\":"));
    assert_non_null(strstr(found.answer, "\"reason\":"));   /* of the nonsense */
    assert_null(strstr(found.answer, "\"rank\":3"));
    assert_false(found.failed);
    gs_service_found_free(s.jobs, &found);
    assert_int_equal(asked("\"op\":\"precompile\""), 2);
    assert_true(load(GS_JOBS_PREPARE).done == 3 && load(GS_JOBS_DEVICE).done == 1);
    assert_true(counts()->raced == 3 && counts()->evaluated == 1 && counts()->passed == 0);
    assert_int_equal(row_of(RACE).attempts, 1);
    assert_int_equal(count_open() + count_running(), 0);
    const int with = asked("cublaslt-autotuning");
    found = accept_one(RACE_ALONE);
    expect_answer(&found, "\"rank\":2", false);
    assert_true(with > 0 && asked("cublaslt-autotuning") == with);
    assert_int_equal(counts()->raced, 5);
}

static void a_race_that_is_given_up_is_not_run(void **state)
{
    char waiting[] = RACE_ALONE;
    (void)state;
    s.options.prepare = 1;
    serve("prepare=300");
    gs_service_found found = accept_one(RACE);
    WAIT_FOR(asked("\"op\":\"precompile\"") == 1);
    gs_service_found other = accept_one(waiting);
    cancel_job(RACE);
    expect_answer(&found, "was given up while its schedules were compiled", true);
    assert_non_null(strstr(row_of(RACE).answer, "\"verdict\":\"cancelled\""));
    expect_answer(&other, "\"rank\":1", false);
    assert_true(counts()->cancelled == 1 && counts()->raced == 2 && counts()->evaluated == 1);
    assert_int_equal(count_open() + count_running(), 0);
    assert_int_equal(load(GS_JOBS_PREPARE).waiting + load(GS_JOBS_DEVICE).waiting, 0);
}

static void a_race_that_is_stopped_is_begun_again(void **state)
{
    (void)state;
    s.options.prepare = 1;
    serve("prepare=200");
    gs_service_found found = accept_one(RACE);
    WAIT_FOR(asked("\"op\":\"precompile\"") == 1);
    gs_service_jobs_stop(s.jobs);
    assert_true(gs_service_jobs_wait(s.jobs, &found, 0));
    assert_null(found.answer);
    gs_service_found_free(s.jobs, &found);
    assert_true(row_of(RACE).open && row_of(RACE).attempts == 0);
    assert_int_equal(count_running(), 0);
}

/* The library is as fast as the fastest schedule: none is doubted, and timed again. */
static void serve_evenly(void)
{
    char rule[64];
    gs_problem problem;
    CHECK(gs_problem_parse(&problem, PROBLEM, &error));
    snprintf(rule, sizeof rule, "library_us=%g", fake_library_us(&problem, 1));
    serve(rule);
}

static void schedules_of_a_problem_share_their_rounds(void **state)
{
    static const char *const schedules[] = {ONE("simple"), ONE("ws/128x128x64/s4/c1x1/coop/g8"), ONE("ws/128x256x64/s4/c2x1/coop/g8")};
    char busy[REQUEST];
    gs_service_found found[3];
    (void)state;
    s.options.prepare = 1;
    serve_evenly();
    gs_service_found held = occupy(busy, 1);
    for (int i = 0; i < 3; i++) found[i] = accept_one(schedules[i]);
    WAIT_FOR(load(GS_JOBS_DEVICE).waiting == 3);
    release(busy, &held);
    for (int i = 0; i < 3; i++) expect_verdict(&found[i], "pass", false);
    assert_int_equal(asked("\"op\":\"verify\""), 1 + 3);
    assert_int_equal(asked("\"op\":\"bench\""), 1);
    assert_int_equal(counts()->passed, 3);
}

static void alone_a_device_times_what_it_has(void **state)
{
    static const char *const schedules[] = {ONE("simple"), ONE("ws/128x128x64/s4/c1x1/coop/g8")};
    char busy[REQUEST];
    gs_service_found found[2];
    (void)state;
    serve_evenly();   /* nobody prepares: what waits may not compile, and is not timed beside others */
    gs_service_found held = occupy(busy, 1);
    for (int i = 0; i < 2; i++) found[i] = accept_one(schedules[i]);
    release(busy, &held);
    for (int i = 0; i < 2; i++) expect_verdict(&found[i], "pass", false);
    assert_int_equal(asked("\"op\":\"bench\""), 2);
    assert_int_equal(asked("\"op\":\"precompile\""), 0);
    assert_int_equal(load(GS_JOBS_PREPARE).threads, 0);
}

static void those_that_prepare_have_a_worker_of_their_own(void **state)
{
    char name[GS_WORKER_DEVICE], wanted[2 * GS_WORKER_DEVICE];
    gs_caps unknown = *gs_caps_find("h200");
    (void)state;
    s.options.prepare = 2;
    serve("");
    assert_non_null(gs_emulation_device(gs_caps_find("h200"), name));
    snprintf(wanted, sizeof wanted, "%s,threads=%d", name, GS_MAX(gs_pool_cores() / 2, 1));
    for (int i = 0; i < 2; i++) assert_string_equal(s.jobs->preparer[i].state.name, wanted);
    gs_service_jobs_free(&s.jobs);
    snprintf(unknown.target, sizeof unknown.target, "sm_1");   /* no emulated device stands for it */
    s.caps = &unknown;
    serve("");
    assert_string_equal(s.jobs->preparer[1].state.name, "emu:none");
    gs_service_jobs_free(&s.jobs);
    unknown.emulated = true;
    serve("");
    assert_string_equal(s.jobs->preparer[0].state.name, "cuda:0");   /* what the device is, which is no GPU */
}

static void each_device_has_cores_of_its_own(void **state)
{
    (void)state;
    const int cores = gs_pool_cores();
    assert_int_equal(gs_jobs_preparers(0), GS_MIN(cores, GS_SERVICE_PREPARERS));
    assert_int_equal(gs_jobs_preparers(cores), 1);
    assert_int_equal(gs_jobs_preparers(-GS_SERVICE_PREPARERS), GS_SERVICE_PREPARERS);
    assert_int_equal(gs_jobs_preparers(-1), GS_MIN(cores + 2, GS_SERVICE_PREPARERS));
}

/* ---- what is said of a race ---- */

static gs_evaluation timed(const char *candidate, double us, double library_us)
{
    gs_evaluation got = {.us = us, .library_us = library_us, .floor_us = 4, .rounds = 9, .verdict = GS_VERDICT_UNKNOWN, .l2_hit = -1};
    snprintf(got.candidate, sizeof got.candidate, "%s", candidate);
    got.ratio = (gs_ratio){.median = (library_us > 0 ? library_us : 4) / us, .low = 0.125, .high = 8};
    return got;
}

static void a_race_is_told_by_rank(void **state)
{
    gs_evaluation got[4] = {timed("slow", 16, 8), timed("fast", 4, 8),
                            {.verdict = GS_VERDICT_COMPILE, .part = 2, .reason = "no such thing", .floor_us = 4}, timed("doubted", 0, 0)};
    (void)state;
    snprintf(got[2].candidate, sizeof got[2].candidate, "bad");
    snprintf(got[3].untrusted, sizeof got[3].untrusted, "the model does not know");
    got[3].untrusted_us = 2.5;
    char *const text = gs_service_race_answer("P", got, 4);
    assert_non_null(text);
    assert_ptr_equal(strstr(text, "{\"problem\":\"P\",\"floor_us\":4,\"predicted\":false,\"race\":[{\"candidate\":\"slow\",\"rank\":2,"
                                  "\"relative\":0.25,\"us\":16,\"cublaslt_us\":8,\"ratio\":0.5,\"low\":0.125,\"high\":8,\"rounds\":9,\"metrics\":"), text);
    assert_non_null(strstr(text, "{\"candidate\":\"fast\",\"rank\":1,\"relative\":1,\"us\":4,\"cublaslt_us\":8,\"ratio\":2,"));
    assert_non_null(strstr(text, "{\"candidate\":\"bad\",\"verdict\":\"compile\",\"part\":2,\"reason\":\"no such thing\",\"metrics\":"));
    assert_non_null(strstr(text, "{\"candidate\":\"doubted\",\"untrusted\":\"the model does not know\",\"untrusted_us\":2.5,\"metrics\":"));
    assert_null(strstr(text, "\"rank\":3"));
    const char *rewards = text;
    for (int i = 0; i < 4; i++) {
        rewards = strstr(rewards + 1, "\"rewards\":{\"");
        assert_non_null(rewards);
        for (int kind = 0; kind < GS_REWARDS; kind++) {
            char name[64];
            snprintf(name, sizeof name, "\"%s\":", gs_reward_name((gs_reward_kind)kind));
            assert_true(strstr(rewards, name) && strstr(rewards, name) < strchr(rewards, '}'));
        }
    }
    assert_string_equal(text + strlen(text) - 4, "}}]}");
    free(text);
    char *const none = gs_service_race_answer("P", got, 0);
    assert_string_equal(none, "{\"problem\":\"P\",\"floor_us\":0,\"predicted\":false,\"race\":[]}");
    free(none);
    got[0].predicted = true;
    got[0].library_us = 0;
    char *const predicted = gs_service_race_answer("P", got, 1);
    assert_non_null(strstr(predicted, "\"predicted\":true"));
    assert_null(strstr(predicted, "cublaslt_us"));
    free(predicted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_prepared_is_handed_on), TEST(what_does_not_compile_never_reaches_the_device),
        TEST(where_nothing_can_be_prepared_the_device_does_without), TEST(jobs_are_cancelled_in_each_stage),
        TEST(a_race_is_compiled_in_parts_and_run_once), TEST(a_race_that_is_given_up_is_not_run), TEST(a_race_that_is_stopped_is_begun_again),
        TEST(schedules_of_a_problem_share_their_rounds), TEST(alone_a_device_times_what_it_has), TEST(those_that_prepare_have_a_worker_of_their_own),
        cmocka_unit_test(each_device_has_cores_of_its_own), cmocka_unit_test(a_race_is_told_by_rank)};
    return run_without_leaks("jobs/stages", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * On a simulated device with its own clock: contenders are timed in rotation and compared in pairs, outputs are checked, failing and cheating contenders are found, a
 * lost device ends the run, and nothing leaks. The arithmetic, and cold operands, are tested in arithmetic.c. Needs no GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/clock.h"
#include "bench_device.h"
#include "allocations.h"
#include "leaks.h"

/* ---- offline ---- */

static void ratios_survive_a_falling_clock(void **state)
{
    (void)state;
    sim.slowdown = 1e-5;
    const gs_bench_options options = quick();
    gs_measurement *measurement = measure(3, &options);
    const gs_samples *const samples = measurement->samples;
    assert_int_equal(measurement->rounds, 30);
    assert_true(samples[0].device_us[29] > 1.1 * samples[0].device_us[0]);
    assert_int_equal(samples[0].device.verdict, GS_SAME);
    assert_int_equal(samples[1].device.verdict, GS_SAME);
    assert_int_equal(samples[2].device.verdict, GS_FASTER);
    assert_true(fabs(samples[2].device.median - 1.25) < 0.02);
    assert_true(measurement->calls * samples[2].device_us[0] >= 500);
    for (int i = 0; i < 3; i++) assert_false(samples[i].wrong);
    assert_null(samples[0].call_us);
    gs_measurement_destroy(&measurement);
    gs_measurement_destroy(&measurement);
}

static void rounds_are_rotated(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.rounds = 6;
    gs_measurement *measurement = measure(3, &options);
    const int *const replays = sim.replays + sim.replay_count - 18;
    for (int round = 0; round < 6; round++)
        for (int place = 0; place < 3; place++) assert_int_equal(replays[3 * round + place], (round + place) % 3);
    gs_measurement_destroy(&measurement);
}

/* Before every timed call another kernel reads and writes all of A. */
static void calls_stand_behind_another_kernel(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.rounds = 5;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(sim.passes, 0);
    gs_measurement_destroy(&measurement);
    options.behind = true;
    measurement = measure(2, &options);
    assert_true(sim.passes >= 2 * measurement->calls);   /* graphs are captured once and replayed */
    assert_int_equal(sim.passed, gs_problem_bytes(&problems[0], 'a'));
    gs_measurement_destroy(&measurement);
}

static void call_time_is_the_host_clock(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.call_time = true;
    gs_measurement *measurement = measure(2, &options);
    const gs_samples *const samples = measurement->samples;
    assert_non_null(samples[0].call_us);
    assert_true(samples[0].call_median > 0 && samples[0].call_median < 10);   /* the simulated 10 us take no host time */
    assert_true(samples[0].call_p50 <= samples[0].call_p95 && samples[0].call_p95 <= samples[0].call_p99);
    assert_true(fabs(samples[0].device_median - 10) < 0.01);
    gs_measurement_destroy(&measurement);
}

static void idle_contender_is_caught(void **state)
{
    (void)state;
    const gs_bench_options options = quick();
    static const int until[] = {1, 3, TRIALS};   /* until the first run, until the trials, until the capture */
    for (size_t i = 0; i < GS_COUNT(until); i++) {
        fresh(NULL);
        players[1].honest_runs = until[i];   /* afterwards it "computes" a hundred times faster */
        gs_measurement *measurement = measure(3, &options);
        assert_true(measurement->samples[1].wrong);
        assert_true(measurement->samples[1].compare.mismatches > 0);
        assert_int_equal(measurement->samples[1].device.verdict, GS_UNCLEAR);
        assert_true(isnan(measurement->samples[1].device.median));
        assert_false(measurement->samples[0].wrong || measurement->samples[2].wrong);
        assert_int_equal(measurement->samples[2].device.verdict, GS_FASTER);
        gs_measurement_destroy(&measurement);
    }
}

/* Its D is right at the end of every replay, so it is caught only by computing the same data twice in a row. */
static void remembering_contender_is_caught(void **state)
{
    (void)state;
    for (int warm = 0; warm < 2; warm++)
        for (int server = 0; server < 2; server++) {
            gs_bench_options options = quick();
            fresh(NULL);
            options.warm = warm;
            options.mode = server ? GS_MODE_SERVER : GS_MODE_OFFLINE;
            options.target_qps = server ? 20000 : options.target_qps;
            players[1].remembers = true;
            gs_measurement *measurement = measure(3, &options);
            assert_true(measurement->samples[1].wrong && !measurement->samples[0].wrong && !measurement->samples[2].wrong);
            gs_measurement_destroy(&measurement);
        }
}

/* A contender overwrites an input, and it is unknown which one: nobody's times count. */
static void spoilt_inputs_count_for_nobody(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.mode = GS_MODE_SERVER;
    options.rounds = 5;
    options.target_qps = 1e6;
    players[1].spoils_at = 3;
    players[2].fails_at = 1;
    players[2].status = GS_ERROR_LIBRARY;
    gs_measurement *measurement = measure(3, &options);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(measurement->samples[i].wrong, i < 2);
        assert_int_equal(measurement->samples[i].compare.mismatches, i < 2);
    }
    gs_measurement_destroy(&measurement);
}

/* C has its own memory in every call, whether it is read or not, so its address does not tell a kernel that it is being timed. */
static void arguments_are_those_of_verification(void **state)
{
    (void)state;
    for (int server = 0; server < 2; server++)
        for (int beta = 0; beta < 2; beta++) {
            gs_bench_options options = quick();
            fresh(NULL);
            options.mode = server ? GS_MODE_SERVER : GS_MODE_OFFLINE;
            options.target_qps = server ? 20000 : options.target_qps;
            for (int i = 0; i < PLAYERS; i++) problems[i].beta = (float)beta;
            gs_measurement *measurement = measure(2, &options);
            const player *const p = &players[1];
            for (int i = 0; i < GS_MIN(p->runs, GS_BENCH_SETS); i++) {
                assert_non_null(p->c[i]);
                assert_true(p->c[i] != p->a[i] && p->c[i] != p->b[i] && p->c[i] != p->d[i] && (uintptr_t)p->c[i] % 256 == 0);
            }
            assert_int_equal(sim.generated[2], measurement->sets);
            gs_measurement_destroy(&measurement);
        }
}

/* The reference can be read only while it is computed and compared, never while a contender runs; `measure` asserts that. */
static void reference_is_out_of_reach(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    gs_measurement *measurement = measure(3, &options);
    assert_int_equal(sim.references, 1 + 3);   /* outputs after the last round are compared by hash */
    assert_null(sim.reference);
    gs_measurement_destroy(&measurement);
    fresh(NULL);
    players[1].wobbles = true;
    measurement = measure(3, &options);
    assert_int_equal(sim.references, 1 + 3 + GS_BENCH_AGAIN);
    assert_false(measurement->samples[1].wrong);
    gs_measurement_destroy(&measurement);
    fresh(NULL);
    options.check = false;
    measurement = measure(3, &options);
    assert_int_equal(sim.references, 0);
    gs_measurement_destroy(&measurement);
}

static void failing_contender_is_left_out(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.call_time = true;
    for (int at = 1; at < 800; at += 47) {   /* in the first run, a trial, a capture, a timed round */
        fresh(NULL);
        players[1].fails_at = at;
        players[1].status = GS_ERROR_LIBRARY;
        gs_measurement *measurement = measure(3, &options);
        assert_int_equal(measurement->samples[1].status, GS_ERROR_LIBRARY);
        assert_string_equal(measurement->samples[1].error.text, "refused");
        assert_true(isnan(measurement->samples[1].device.median));
        assert_int_equal(players[1].runs, at);   /* it is not called again */
        assert_int_equal(measurement->samples[2].status, GS_OK);
        assert_int_equal(measurement->samples[2].device.verdict, GS_FASTER);
        gs_measurement_destroy(&measurement);
    }
}

static void nobody_left(void **state)
{
    (void)state;
    const gs_bench_options options = quick();
    players[0].fails_at = players[1].fails_at = 1;
    players[0].status = players[1].status = GS_ERROR_UNSUPPORTED;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->rounds, 0);
    assert_true(isnan(measurement->samples[0].device_median) && isnan(measurement->samples[1].device.median));
    gs_measurement_destroy(&measurement);
}

static void lost_device_ends_the_run(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    for (int mode = 0; mode < 2; mode++) {
        options.mode = mode ? GS_MODE_SERVER : GS_MODE_OFFLINE;
        options.target_qps = 1e6;
        for (int at = 1; at < 100; at += 33) {
            fresh(NULL);
            players[1].faults_at = at;
            gs_error error = {0};
            gs_measurement *measurement = (gs_measurement *)&error;
            assert_int_equal(gs_bench(&device, verifier, problems, contenders, 3, &options, &measurement, &error), GS_ERROR_FAULT);
            assert_null(measurement);
            assert_int_equal(error.status, GS_ERROR_FAULT);
            assert_int_equal(sim.live, 0);
        }
    }
}

/* A contender whose kernel never ends also ends the run, and is named. */
static void a_contender_that_hangs_ends_the_run(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_measurement *measurement = NULL;
    const gs_bench_options options = quick();
    players[1].fails_at = 1;
    players[1].status = GS_ERROR_TIMEOUT;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 3, &options, &measurement, &error), GS_ERROR_TIMEOUT);
    assert_null(measurement);
    assert_string_equal(error.text, "player-1: refused");
    assert_int_equal(sim.live, 0);
}

/* Each allocation fails in turn. */
static void without_memory_nothing_is_measured(void **state)
{
    enum { MOST = 300 };
    (void)state;
    int n = 1, failed = 0;
    gs_bench_options options = quick();
    options.rounds = 5;
    options.call_time = true;
    for (bool over = false; !over && n < MOST; n++) {
        gs_error error = {0};
        gs_measurement *measurement = NULL;
        fresh(NULL);
        fail_at = n;
        const gs_status status = gs_bench(&device, verifier, problems, contenders, 3, &options, &measurement, &error);
        over = !allocation_failed();
        assert_int_equal(sim.live, 0);
        assert_true(status == GS_OK || ((status == GS_ERROR_MEMORY || status == GS_ERROR_DEVICE_MEMORY) && error.text[0] && !measurement));
        failed += status != GS_OK;
        gs_measurement_destroy(&measurement);
        assert_null(measurement);
        gs_measurement_destroy(&measurement);   /* measurement is NULL: does nothing */
    }
    gs_measurement_destroy(NULL);
    assert_true(n < MOST && failed >= 10);
}

/* The rate is a maximum. The minimum duration does not depend on the machine's speed. */
static void requests_come_as_often_as_was_asked(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.mode = GS_MODE_SERVER;
    options.rounds = 8;
    options.target_qps = 20;
    const int64_t began = gs_clock_ns();
    gs_measurement *measurement = measure(3, &options);
    assert_true((double)(gs_clock_ns() - began) * 1e-9 > 0.6);   /* 24 requests; at 100 a second they would take 0.24 s */
    gs_measurement_destroy(&measurement);
}

static void budget_ends_at_a_round(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.rounds = 1000;
    options.budget_s = 1e-9;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->rounds, GS_BENCH_ROUNDS);
    assert_true(isfinite(measurement->samples[1].device.low));
    gs_measurement_destroy(&measurement);
}

/* Default rounds, length of a replay and warm-up. */
static void what_is_not_given(void **state)
{
    (void)state;
    int calls[2], runs[2];
    for (int given = 0; given < 2; given++) {
        gs_bench_options options = gs_bench_defaults();
        fresh(NULL);
        options.seed = 7;
        options.rounds = given ? 30 : 0;
        options.replay_us = given ? GS_OPERAND_REPLAY_US : 0;
        options.warmup_s = given ? 0 : -1;
        gs_measurement *measurement = measure(2, &options);
        assert_int_equal(measurement->rounds, 30);
        calls[given] = measurement->calls;
        runs[given] = sim.replay_count;
        gs_measurement_destroy(&measurement);
    }
    assert_int_equal(calls[0], calls[1]);
    assert_true(runs[0] > runs[1]);   /* more, because of the warm-up */
    gs_bench_options options = quick();
    fresh(NULL);
    options.replay_us = 100;
    gs_measurement *measurement = measure(2, &options);
    assert_true(measurement->calls < calls[0] && measurement->calls >= 10);
    gs_measurement_destroy(&measurement);
}

/* ---- server ---- */

static void server_mode(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.mode = GS_MODE_SERVER;
    options.rounds = 40;
    options.target_qps = 2000;
    players[1].honest_runs = 20;
    const int64_t began = gs_clock_ns();
    gs_measurement *measurement = measure(3, &options);
    const double seconds = (double)(gs_clock_ns() - began) * 1e-9;
    assert_true(seconds > 0.03);   /* 120 gaps with a mean of 0.5 ms */
    assert_int_equal(measurement->rounds, 40);
    const gs_samples *const samples = measurement->samples;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(players[i].runs, 41 + (i == 1 ? 0 : GS_BENCH_AGAIN));
        assert_true(samples[i].call_p50 < 200);   /* microseconds: the simulated device needs no time */
        assert_true(samples[i].call_p50 > 0 && samples[i].call_p50 <= samples[i].call_p95 &&
                    samples[i].call_p95 <= samples[i].call_p99);
    }
    assert_true(fabs(samples[0].device_median - 10) < 0.01 && fabs(samples[2].device_median - 8) < 0.01);
    assert_true(samples[1].wrong && !samples[0].wrong && !samples[2].wrong);
    assert_int_equal(samples[2].device.verdict, GS_FASTER);
    gs_measurement_destroy(&measurement);
}

/* A contender that fails in the warm-up is left out; the others are timed. */
static void server_mode_warms_up(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.mode = GS_MODE_SERVER;
    options.rounds = 5;
    options.target_qps = 1e6;
    options.warmup_s = 0.002;
    players[1].fails_at = 2;
    players[1].status = GS_ERROR_LIBRARY;
    gs_measurement *measurement = measure(3, &options);
    for (int i = 0; i < 3; i++) assert_int_equal(measurement->samples[i].status, i == 1 ? GS_ERROR_LIBRARY : GS_OK);
    assert_int_equal(players[1].runs, 2);
    assert_true(players[0].runs > 6 + GS_BENCH_AGAIN && players[2].runs > 6 + GS_BENCH_AGAIN);
    gs_measurement_destroy(&measurement);
}

/* A contender that fails in some round is left out from then on, with its own status. A lost device ends the run. */
static void server_mode_leaves_out_who_fails(void **state)
{
    (void)state;
    for (int at = 2; at <= 4; at++) {
        gs_bench_options options = quick();
        fresh(NULL);
        options.mode = GS_MODE_SERVER;
        options.rounds = 6;
        options.target_qps = 1e6;
        players[1].fails_at = at;
        players[1].status = GS_ERROR_LIBRARY;
        players[2].fails_at = at + 1;
        players[2].status = GS_ERROR_UNSUPPORTED;
        gs_measurement *measurement = measure(3, &options);
        assert_int_equal(measurement->rounds, 6);
        assert_int_equal(measurement->samples[0].status, GS_OK);
        assert_int_equal(measurement->samples[1].status, GS_ERROR_LIBRARY);
        assert_int_equal(measurement->samples[2].status, GS_ERROR_UNSUPPORTED);
        assert_int_equal(players[1].runs, at);
        assert_int_equal(players[2].runs, at + 1);
        assert_true(players[0].runs >= 7 && !measurement->samples[0].wrong && isfinite(measurement->samples[0].device_median));
        gs_measurement_destroy(&measurement);
    }
}

/* ---- how cublaslt-autotuning picks a suggestion ---- */

static void pick_finds_the_fastest(void **state)
{
    (void)state;
    gs_error error = {0};
    double us[4];
    players[1].fails_at = 3;
    players[1].status = GS_ERROR_LIBRARY;
    players[3].cost_us = 8.2;
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    assert_int_equal(sim.live, 0);
    assert_true(us[2] < us[3] && us[3] < us[0]);
    assert_true(fabs(us[2] - 8) < 0.01 && fabs(us[3] - 8.2) < 0.01);
    assert_true(isinf(us[1]));
    for (int i = 0; i < 4; i++) {
        players[i].fails_at = 1;
        players[i].status = GS_ERROR_LIBRARY;
    }
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    for (int i = 0; i < 4; i++) assert_true(isinf(us[i]));
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 0, us, &error), GS_ERROR_ARGUMENT);
}

/* A suggestion with a wrong output gets no time, however fast it is; then the next fastest are checked, until one is right or none is left. */
static void pick_drops_wrong_ones(void **state)
{
    (void)state;
    gs_error error = {0};
    double us[4];
    players[2].honest_runs = 1;   /* afterwards it "computes" a hundred times faster, so it is the only one near the best */
    players[3].cost_us = 8.2;
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    assert_true(isinf(us[2]));
    assert_true(fabs(us[3] - 8.2) < 0.01 && us[3] < us[0] && us[3] < us[1] && isfinite(us[0]) && isfinite(us[1]));
    assert_int_equal(sim.live, 0);
    fresh(NULL);
    players[2].honest_runs = 1;   /* two wrong ones with equal times in the same run */
    players[3].honest_runs = 1;
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    assert_true(isinf(us[2]) && isinf(us[3]) && fabs(us[0] - 10) < 0.01 && fabs(us[1] - 10) < 0.01);
    for (int i = 0; i < 4; i++) players[i].honest_runs = 1;
    assert_int_equal(gs_bench_pick(&device, &problems[0], contenders, 4, us, &error), GS_OK);
    for (int i = 0; i < 4; i++) assert_true(isinf(us[i]));
    assert_int_equal(sim.live, 0);
}

static void impossible_requests(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_measurement *measurement;
    gs_bench_options options = quick();
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 0, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "count");
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, GS_MAX_CONTENDERS + 1, &options, &measurement, &error),
                     GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "count");
    for (options.reference = -1; options.reference <= 2; options.reference += 3) {
        assert_int_equal(gs_bench(&device, verifier, problems, contenders, 2, &options, &measurement, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, "reference");
    }
    options.reference = 0;
    problems[1].n = 128;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 2, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "problem");
    problems[0].k = problems[1].k = 0;
    assert_int_equal(gs_bench(&device, verifier, problems, contenders, 1, &options, &measurement, &error), GS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "an extent is 0"));
    assert_int_equal(sim.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ratios_survive_a_falling_clock, fresh),
        cmocka_unit_test_setup(rounds_are_rotated, fresh),
        cmocka_unit_test_setup(calls_stand_behind_another_kernel, fresh),
        cmocka_unit_test_setup(call_time_is_the_host_clock, fresh),
        cmocka_unit_test_setup(idle_contender_is_caught, fresh),
        cmocka_unit_test_setup(remembering_contender_is_caught, fresh),
        cmocka_unit_test_setup(spoilt_inputs_count_for_nobody, fresh),
        cmocka_unit_test_setup(arguments_are_those_of_verification, fresh),
        cmocka_unit_test_setup(reference_is_out_of_reach, fresh),
        cmocka_unit_test_setup(failing_contender_is_left_out, fresh),
        cmocka_unit_test_setup(nobody_left, fresh),
        cmocka_unit_test_setup(lost_device_ends_the_run, fresh),
        cmocka_unit_test_setup(a_contender_that_hangs_ends_the_run, fresh),
        cmocka_unit_test_setup(without_memory_nothing_is_measured, fresh),
        cmocka_unit_test_setup(requests_come_as_often_as_was_asked, fresh),
        cmocka_unit_test_setup(budget_ends_at_a_round, fresh),
        cmocka_unit_test_setup(what_is_not_given, fresh),
        cmocka_unit_test_setup(server_mode, fresh),
        cmocka_unit_test_setup(server_mode_warms_up, fresh),
        cmocka_unit_test_setup(server_mode_leaves_out_who_fails, fresh),
        cmocka_unit_test_setup(pick_finds_the_fastest, fresh),
        cmocka_unit_test_setup(pick_drops_wrong_ones, fresh),
        cmocka_unit_test_setup(impossible_requests, fresh),
    };
    return run_without_leaks("bench/bench", tests, GS_COUNT(tests));
}

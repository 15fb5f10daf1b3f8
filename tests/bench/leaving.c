/* SPDX-License-Identifier: MIT
 * On a simulated device with its own clock: which contenders leave a run before its end, and what slow ones cost. Their outputs are checked like those of the others.
 * Needs no GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "bench_device.h"
#include "leaks.h"

/* Eight, four, three contenders: the slower ones leave, the others stay to the end; ratios use the rounds that both ran. */
static void slow_ones_leave(void **state)
{
    static const double cost[PLAYERS] = {10, 30, 8, 12, 9, 11, 40, 8.5};
    static const int rounds[PLAYERS] = {4, 2, 12, 2, 12, 2, 2, 12};
    (void)state;
    for (int i = 0; i < PLAYERS; i++) players[i].cost_us = cost[i];
    gs_bench_options options = quick();
    options.narrow = true;
    options.rounds = 12;
    gs_measurement *measurement = measure(PLAYERS, &options);
    assert_int_equal(measurement->rounds, 12);
    int replays[PLAYERS] = {0}, timed = 0;
    for (int i = 0; i < PLAYERS; i++) {
        const gs_samples *const samples = &measurement->samples[i];
        assert_int_equal(samples->rounds, rounds[i]);
        assert_true(fabs(samples->device_median - cost[i]) < 0.01);
        assert_true(fabs(samples->device.median - cost[0] / cost[i]) < 0.01);
        assert_false(samples->wrong);
        timed += rounds[i];
    }
    for (int i = sim.replay_count - timed; i < sim.replay_count; i++) replays[sim.replays[i]]++;
    assert_memory_equal(replays, rounds, sizeof replays);
    gs_measurement_destroy(&measurement);

    options.narrow = false;
    measurement = measure(PLAYERS, &options);
    for (int i = 0; i < PLAYERS; i++) assert_int_equal(measurement->samples[i].rounds, 12);
    gs_measurement_destroy(&measurement);
}

/* A contender that is surely slower than requested leaves, and its output is checked like the others'. The reference stays as long as anyone else. */
static void known_slow_ones_leave(void **state)
{
    static const double cost[PLAYERS] = {10, 13, 12, 45, 9, 10, 400, 12.4};
    static const int rounds[PLAYERS] = {15, 11, 15, 3, 15, 15, 3, 15};
    (void)state;
    gs_bench_options options = quick();
    options.slow = 1.25;
    options.rounds = 15;
    for (int cheats = 0; cheats < 2; cheats++) {
        fresh(NULL);
        for (int i = 0; i < PLAYERS; i++) players[i].cost_us = cost[i];
        players[3].remembers = cheats;
        gs_measurement *measurement = measure(PLAYERS, &options);
        for (int i = 0; i < PLAYERS; i++) {
            const gs_samples *const samples = &measurement->samples[i];
            assert_int_equal(samples->rounds, rounds[i]);
            assert_int_equal(samples->wrong, cheats && i == 3);
            if (!samples->wrong) assert_true(fabs(samples->device.median - cost[0] / cost[i]) < 0.01);
            for (int round = rounds[i]; round < options.rounds; round++) assert_true(isnan(samples->device_us[round]));   /* its last round is repeated, and there is none after it */
        }
        gs_measurement_destroy(&measurement);
    }
    fresh(NULL);
    players[1].cost_us = 500;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->rounds, 3);
    assert_int_equal(measurement->samples[0].rounds, 3);
    assert_false(measurement->samples[0].wrong || measurement->samples[1].wrong);
    assert_int_equal(sim.references, 1 + 2);   /* both outputs were compared completely */
    gs_measurement_destroy(&measurement);
}

/* One that is slower by far only in some rounds is not dropped after the first three. One that is alone ends after the fewest rounds. */
static void doubtfully_slow_ones_stay(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.slow = 1.25;
    int left[2] = {0};
    for (uint64_t luck = 0; luck < 16; luck++) {
        fresh(NULL);
        players[1].cost_us = 50;
        players[1].varies = 0.5;
        sim.luck = (gs_random){luck};
        gs_measurement *measurement = measure(2, &options);
        const double *const us = measurement->samples[1].device_us;
        const bool soon = measurement->samples[1].rounds == 3;
        assert_true(us[0] > 40 && us[1] > 40 ? soon || us[2] <= 40 : !soon);   /* a third round in which it was dropped is repeated */
        assert_true(soon || measurement->samples[1].rounds == 11);
        left[soon]++;
        gs_measurement_destroy(&measurement);
    }
    assert_true(left[0] > 0 && left[1] > 0);
    gs_measurement *measurement = measure(1, &options);
    assert_int_equal(measurement->rounds, GS_BENCH_ROUNDS);
    gs_measurement_destroy(&measurement);
}

/* Calls of milliseconds are tried only as often as an estimate needs. */
static void long_calls_are_tried_once(void **state)
{
    (void)state;
    players[0].cost_us = players[1].cost_us = 5000;
    gs_bench_options options = quick();
    options.rounds = 7;
    gs_measurement *measurement = measure(2, &options);
    assert_int_equal(measurement->calls, 1);
    assert_int_equal(players[0].runs, 3 + GS_BENCH_AGAIN);   /* the first run, a trial, the capture */
    assert_int_equal(sim.replay_count, 2 * (1 + 7));
    gs_measurement_destroy(&measurement);
}

/* Next to a fast contender, a slow one has fewer calls in a replay, which would otherwise take half a second. */
static void slow_ones_have_fewer_calls(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    players[1].cost_us = 1000;
    gs_measurement *measurement = measure(3, &options);
    assert_true(measurement->calls > 50);
    assert_true(fabs(measurement->samples[1].device_median - 1000) < 1 && fabs(measurement->samples[0].device_median - 10) < 0.01);
    assert_false(measurement->samples[1].wrong);
    assert_true(players[1].runs <= TRIALS + 2 * 4 + GS_BENCH_AGAIN && players[0].runs > measurement->calls);
    gs_measurement_destroy(&measurement);
}

/* Where direct calls wait for the host, the number of calls is found in a second attempt: not again with a contender that keeps its own number. */
static void slow_ones_are_tried_once(void **state)
{
    (void)state;
    gs_bench_options options = quick();
    options.rounds = 5;
    options.check = false;
    players[1].cost_us = 1000;
    sim.host_us = 10;
    gs_measurement *measurement = measure(3, &options);
    int replays[PLAYERS] = {0};
    for (int i = 0; i < sim.replay_count; i++) replays[sim.replays[i]]++;
    assert_int_equal(players[1].runs, TRIALS + 1);
    assert_int_equal(replays[1], 1 + 5);
    assert_int_equal(replays[2], 2 * 2 + 5);
    assert_true(measurement->calls * 8 >= 500);
    assert_true(fabs(measurement->samples[1].device_median - 1000) < 1);
    gs_measurement_destroy(&measurement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slow_ones_leave, fresh),
        cmocka_unit_test_setup(known_slow_ones_leave, fresh),
        cmocka_unit_test_setup(doubtfully_slow_ones_stay, fresh),
        cmocka_unit_test_setup(long_calls_are_tried_once, fresh),
        cmocka_unit_test_setup(slow_ones_have_fewer_calls, fresh),
        cmocka_unit_test_setup(slow_ones_are_tried_once, fresh),
    };
    return run_without_leaks("bench/leaving", tests, GS_COUNT(tests));
}

/* SPDX-License-Identifier: MIT
 * The arithmetic of timing (numbers of operand sets, of calls and of remaining contenders, turns, gaps, shuffles), and, on a simulated device, that the operand sets of
 * a run are cold. Other requirements of a run are tested in bench.c. Needs no GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "bench_device.h"
#include "schedule/model.h"
#include "leaks.h"

/* ---- arithmetic ---- */

/* The bytes that a call reads or writes. */
static void bytes_of_a_set(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:64x128x32:tn", "f16:64x128x32:tn:beta=1", "f16:64x128x32:tn:ep=bias", "f16:64x128x32:tn:ep=drelu", "f16:512x128x32:tn:g=8"};
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_problem p;
        size_t want = 0;
        assert_int_equal(gs_problem_parse(&p, texts[i], NULL), GS_OK);
        const gs_problem average = gs_problem_average(&p);
        for (const char *operand = p.beta != 0 ? "acdefghi" : "adefghi"; *operand; operand++) want += gs_problem_bytes(&p, *operand);
        assert_int_equal(gs_operand_used(&p), want + gs_problem_bytes(&average, 'b'));
    }
}

/* A multiple of the granularity, plus room for a random start. */
static void room_of_an_operand(void **state)
{
    (void)state;
    const size_t gap = gs_operand_room(0);
    assert_true(gap > 0 && gap % GS_OPERAND_GRAIN == 0);
    assert_int_equal(gs_operand_room(1), gap + GS_OPERAND_GRAIN);
    assert_int_equal(gs_operand_room(GS_OPERAND_GRAIN - 1), gap + GS_OPERAND_GRAIN);
    assert_int_equal(gs_operand_room(GS_OPERAND_GRAIN), gap + GS_OPERAND_GRAIN);
    assert_int_equal(gs_operand_room(GS_OPERAND_GRAIN + 1), gap + 2 * GS_OPERAND_GRAIN);
}

static void number_of_sets(void **state)
{
    (void)state;
    const size_t mib = (size_t)1 << 20, gib = (size_t)1 << 30;
    for (size_t used = 1000; used < gib; used = used * 3 / 2) {
        const int sets = gs_operand_sets(used, used, 50 * mib, 100 * gib, 1, false);
        assert_true(sets >= 2 && sets <= GS_BENCH_SETS);
        assert_true(sets == GS_BENCH_SETS || (size_t)sets * used > 200 * mib);
        assert_true(sets == 2 || (size_t)(sets - 1) * used <= 200 * mib);
    }
    assert_int_equal(gs_operand_sets(gib, gib, 50 * mib, 100 * gib, 1, false), 2);
    assert_int_equal(gs_operand_sets(mib, mib, 50 * mib, 100 * mib, 1, false), 60);    /* at most 60 % of the free memory */
    assert_int_equal(gs_operand_sets(mib, mib, 50 * mib, mib, 1, false), 2);
    assert_int_equal(gs_operand_sets(1, 1, 50 * mib, gib, 1, true), 1);
    assert_int_equal(gs_operand_most_sets(0, 500), GS_BENCH_SETS);
    assert_in_range(gs_operand_most_sets(2, 500), 550, 551);   /* one for each call of 1 us, and a tenth more */
    assert_int_equal(gs_operand_most_sets(0.1, 500), GS_BENCH_SETS);
    assert_int_equal(gs_operand_most_sets(1e6, 500), 2);
}

static void number_of_calls(void **state)
{
    (void)state;
    assert_int_equal(gs_bench_calls(10, 500), 50);
    assert_int_equal(gs_bench_calls(9.9, 500), 51);
    assert_int_equal(gs_bench_calls(600, 500), 1);
    assert_int_equal(gs_bench_calls(0.01, 500), GS_BENCH_CALLS);
    assert_int_equal(gs_bench_calls(0, 500), GS_BENCH_CALLS);
    assert_int_equal(gs_bench_calls(NAN, 500), GS_BENCH_CALLS);
    assert_int_equal(gs_bench_calls(INFINITY, 500), 1);
}

static void turns(void **state)
{
    (void)state;
    for (int count = 1; count < 6; count++)
        for (int round = 0; round < 20; round++) {
            int seen = 0;
            for (int place = 0; place < count; place++) seen |= 1 << gs_bench_turn(round, place, count);
            assert_int_equal(seen, (1 << count) - 1);
            assert_int_equal(gs_bench_turn(round + 1, 0, count), gs_bench_turn(round, count > 1, count));
        }
}

static void gaps_are_exponential(void **state)
{
    (void)state;
    gs_random random = {5};
    double sum = 0, square = 0;
    int beyond = 0;
    const int count = 100000;
    for (int i = 0; i < count; i++) {
        const double gap = gs_bench_gap(&random, 10);
        assert_true(gap >= 0 && isfinite(gap));
        sum += gap;
        square += gap * gap;
        beyond += gap > 20;
    }
    const double mean = sum / count;
    assert_true(fabs(mean - 10) < 0.15);
    assert_true(fabs(sqrt(square / count - mean * mean) - 10) < 0.3);
    assert_true(fabs((double)beyond / count - exp(-2)) < 0.005);
}

static void shuffles_are_fair(void **state)
{
    (void)state;
    gs_random random = {9};
    int first[3] = {0};
    for (int i = 0; i < 30000; i++) {
        int list[3] = {0, 1, 2};
        gs_bench_shuffle(&random, list, 3);
        assert_int_equal((1 << list[0]) | (1 << list[1]) | (1 << list[2]), 7);
        first[list[0]]++;
    }
    for (int i = 0; i < 3; i++) assert_true(abs(first[i] - 10000) < 400);
}

static void numbers_that_are_kept(void **state)
{
    (void)state;
    assert_int_equal(gs_bench_keep(1, 16), 16);
    assert_int_equal(gs_bench_keep(2, 16), 8);
    assert_int_equal(gs_bench_keep(3, 8), 8);
    assert_int_equal(gs_bench_keep(4, 8), 4);
    assert_int_equal(gs_bench_keep(8, 4), 3);
    assert_int_equal(gs_bench_keep(16, 3), 3);
    assert_int_equal(gs_bench_keep(2, 1), 1);
    assert_int_equal(gs_bench_keep(2, 17), 9);
    assert_int_equal(gs_bench_keep(0, 9), 9);
}

/* ---- operand sets ---- */

static void operands_are_cold(void **state)
{
    (void)state;
    problems[1].layout = GS_NN;
    gs_bench_options options = quick();
    gs_measurement *measurement = measure(2, &options);
    const size_t used = 3 * 64 * 64 * 2;
    const int sets = measurement->sets;
    assert_true((size_t)sets * used > 4 * L2);
    assert_int_equal(sim.generated[0], sets);
    assert_int_equal(sim.generated[1], 2 * sets);   /* once per layout */
    assert_int_equal(sim.generated[2], sets);       /* C has its own memory although beta is 0 */
    int odd_steps = 0;
    const player *const tn = &players[0], *const nn = &players[1];
    for (int i = TRIALS; i < 40; i++) {   /* the first capture uses the sets in order */
        assert_true((uintptr_t)tn->a[i] % 256 == 0 && (uintptr_t)tn->b[i] % 256 == 0);
        odd_steps += (const char *)tn->a[i + 1] - (const char *)tn->a[i] != (const char *)tn->a[TRIALS + 1] - (const char *)tn->a[TRIALS];
    }
    assert_true(odd_steps > 10);
    assert_ptr_equal(tn->a[0], nn->a[0]);
    assert_ptr_not_equal(tn->b[0], nn->b[0]);
    gs_measurement_destroy(&measurement);

    /* No more sets than a replay has calls; a replay uses all of them. */
    device.caps.launch_us = 10;
    measurement = measure(2, &options);
    device.caps.launch_us = 0;
    assert_in_range(measurement->sets, 110, 111);   /* calls of 5 us in 550 us */
    assert_true(measurement->calls <= measurement->sets);
    gs_measurement_destroy(&measurement);

    options.warm = true;
    measurement = measure(2, &options);
    assert_int_equal(measurement->sets, 1);
    assert_int_equal(measurement->samples[1].device.verdict, GS_SAME);
    gs_measurement_destroy(&measurement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_set), cmocka_unit_test(room_of_an_operand), cmocka_unit_test(number_of_sets),
        cmocka_unit_test(number_of_calls),
        cmocka_unit_test(turns),
        cmocka_unit_test(gaps_are_exponential),
        cmocka_unit_test(shuffles_are_fair),
        cmocka_unit_test(numbers_that_are_kept),
        cmocka_unit_test_setup(operands_are_cold, fresh),
    };
    return run_without_leaks("bench/arithmetic", tests, GS_COUNT(tests));
}

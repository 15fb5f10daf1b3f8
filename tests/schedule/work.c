/* SPDX-License-Identifier: MIT
 * Proves the time function: whole waves, overlap, each part's own limit, and that no part may grow and make a launch faster; and that
 * launches known by their counters alone are held by the same limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/error.h"
#include "schedule/work.h"

static const gs_profile *h200(void) { return gs_profile_find("h200"); }

static void near(double value, double expected, double share)
{
    if (!(fabs(value - expected) <= share * expected)) fail_msg("%g is not %g", value, expected);
}

/* A part's own time, and at most an eighth more: it is counted for the multiprocessor and for the block. */
static void about(double us, double part_us)
{
    if (!(us >= part_us && us <= 1.15 * part_us)) fail_msg("%g is not %g", us, part_us);
}

/* Something like a tile of 128 x 128 and 64 k-blocks. */
static gs_work plain(void)
{
    return (gs_work){.blocks = 132, .cluster = 1, .resident = 2, .steps = 64, .matrix = 600, .port = 300, .issue = 200, .feed = 32768,
                     .chain = 300, .latency = 1000, .ahead = 3, .start = 500, .finish = 800, .finish_port = 200, .store = 32768,
                     .memory_bytes = 2e7, .floor_us = 2};
}

static void overlap_is_the_slowest_and_a_little(void **state)
{
    (void)state;
    assert_true(gs_together(0, 0) == 0);
    assert_true(gs_together(3, 0) == 3);
    assert_true(gs_together(0, 3) == 3);
    assert_true(gs_together(2, 5) == gs_together(5, 2));
    near(gs_together(1, 1), pow(2, 1 / 6.0), 1e-12);
    near(gs_together(10, 1), 10, 1e-6);
    for (double x = 0.01; x < 2; x += 0.01) {
        near(gs_together(1, x), pow(1 + pow(x, 6), 1 / 6.0), 1e-8);
        assert_true(gs_together(1, x + 0.01) > gs_together(1, x));
    }
}

/* One block more than there are multiprocessors costs another turn where a block is limited by its own chain. */
static void waves_are_whole(void **state)
{
    (void)state;
    gs_work w = plain();
    w.resident = 1;
    const double one = gs_work_us(&w, h200());
    w.blocks = 100;
    assert_true(gs_work_us(&w, h200()) <= one);
    w.blocks = 133;
    const double two = gs_work_us(&w, h200());
    assert_true(two > 1.6 * one);
    w.blocks = 264;
    near(gs_work_us(&w, h200()), two, 0.01);
    w.persistent = true;
    assert_true(gs_work_us(&w, h200()) < two);   /* loads overlap the end of the tile before */
    w.blocks = 132;
    w.cluster = 8;                                /* 16 clusters of 8: 4 multiprocessors stay idle */
    const double clusters = gs_work_us(&w, h200());
    w.cluster = 1;
    assert_true(clusters > gs_work_us(&w, h200()));
}

static void parts_have_their_limits(void **state)
{
    (void)state;
    const gs_caps *const caps = &h200()->caps;
    gs_work w = plain();
    w.matrix = 1e6;
    about(gs_work_us(&w, h200()), 64e6 / caps->clock_mhz);
    w = plain();
    w.memory_bytes = 44e9;
    near(gs_work_us(&w, h200()), 44e9 / (caps->memory_gbs * 1e3), 0.01);
    w = plain();
    w.feed = 1e7;   /* L2, all multiprocessors together */
    about(gs_work_us(&w, h200()), 132 * 64 * 1e7 / (caps->l2_gbs * 1e3));
    w.blocks = 1;   /* the port of one */
    about(gs_work_us(&w, h200()), 64 * 1e7 / h200()->rates.feed_bytes / caps->clock_mhz);
    w = plain();
    w.ahead = 1;
    w.latency = 1e5;
    near(gs_work_us(&w, h200()), 63 * 1e5 / caps->clock_mhz, 0.05);
    w = plain();
    w.floor_us = 1000;
    near(gs_work_us(&w, h200()), 1000, 0.001);
}

/* More of anything is never faster; more loads under way never slower. */
static void more_work_takes_longer(void **state)
{
    (void)state;
    static const size_t costs[] = {offsetof(gs_work, blocks), offsetof(gs_work, steps), offsetof(gs_work, matrix), offsetof(gs_work, port),
                                   offsetof(gs_work, issue), offsetof(gs_work, feed), offsetof(gs_work, chain), offsetof(gs_work, latency),
                                   offsetof(gs_work, held), offsetof(gs_work, start), offsetof(gs_work, finish), offsetof(gs_work, finish_port),
                                   offsetof(gs_work, store), offsetof(gs_work, memory_bytes), offsetof(gs_work, outside),
                                   offsetof(gs_work, floor_us)};
    for (int persistent = 0; persistent < 2; persistent++)
        for (size_t i = 0; i < GS_COUNT(costs); i++) {
            gs_work w = plain();
            w.persistent = persistent;
            double *const cost = (double *)(void *)((char *)&w + costs[i]);
            double before = 0;
            for (*cost = 1; *cost < 1e5; *cost *= 1.7) {
                const double us = gs_work_us(&w, h200());
                if (!(isfinite(us) && us >= before * (1 - 1e-9))) fail_msg("part %zu: %g us, %g us with less", i, us, before);
                before = us;
            }
        }
    gs_work w = plain();
    double before = INFINITY;
    for (w.ahead = 1; w.ahead < 100; w.ahead++) {
        const double us = gs_work_us(&w, h200());
        assert_true(us <= before * (1 + 1e-9));
        before = us;
    }
}

/* ---- by counters ---- */

static void blocks_fit_as_the_limits_say(void **state)
{
    (void)state;
    static const struct {
        gs_launch_shape shape;
        int             resident;
    } cases[] = {
        {{1, 256, 1, 0, 32},       8},    /* threads */
        {{1, 256, 1, 0, 128},      2},    /* registers */
        {{1, 384, 1, 205872, 168}, 1},    /* shared memory */
        {{1, 32, 1, 0, 16},        32},   /* blocks */
        {{1, 128, 1, 76800, 33},   3},    /* registers are granted by eight */
        {{1, 256, 1, 0, 0},        2},    /* registers not known: half of them */
        {{1, 1024, 1, 0, 255},     0},
        {{1, 0, 1, 0, 0},          0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) assert_int_equal(gs_launch_resident(&cases[i].shape, h200()), cases[i].resident);
}

static void counters_have_their_limits(void **state)
{
    (void)state;
    const gs_caps *const caps = &h200()->caps;
    const gs_rates *const rates = &h200()->rates;
    const gs_launch_shape shape = {132, 384, 1, 200000, 168};
    gs_launch_counts c = {0};
    const double idle = gs_launch_us(&c, &shape, h200());
    assert_true(idle >= caps->launch_us && idle < 3);
    c = (gs_launch_counts){.wgmma = 4e6, .matrix_flops = 1e12, .wgmma_flops = 1e12, .matrix = 4e6};
    const double peak_us = 1e12 / (caps->tensor_flops * caps->sms * caps->clock_mhz);
    assert_true(gs_launch_us(&c, &shape, h200()) > peak_us);
    about(gs_launch_us(&c, &shape, h200()), peak_us / rates->wgmma_share);
    c = (gs_launch_counts){.mma = 2.5e8, .matrix_flops = 1e12, .matrix = 2.5e8};
    assert_true(gs_launch_us(&c, &shape, h200()) >= peak_us / rates->mma_share);
    c = (gs_launch_counts){.global = 1e7, .global_load = 4e9, .global_store = 4e9, .footprint_load = 1e9, .footprint_store = 4e9};
    assert_true(gs_launch_us(&c, &shape, h200()) >= 8e9 / (caps->l2_gbs * 1e3) / 2);
    assert_true(gs_launch_us(&c, &shape, h200()) >= 5e9 / (caps->memory_gbs * 1e3));
    c = (gs_launch_counts){.integer = 1e9};
    assert_true(gs_launch_us(&c, &shape, h200()) >= 1e9 / 132 / rates->issue_width / caps->clock_mhz);
    c = (gs_launch_counts){.shared = 1e7, .shared_passes = 1e9};
    assert_true(gs_launch_us(&c, &shape, h200()) >= 1e9 / 132 * 128 / rates->port_bytes / caps->clock_mhz);
    for (int i = 0; i < 2; i++) {   /* a multiplication of doubles takes two turns, an exchange four, what is special twelve: in what is issued and in a warp's chain */
        const double few = i ? 1e4 : 1e9;
        const gs_launch_counts other[] = {{.doubles = few / 2}, {.exchange = few / 4}, {.special = few / 12}};
        c = (gs_launch_counts){.floating = few};
        for (size_t j = 0; j < GS_COUNT(other); j++) near(gs_launch_us(&other[j], &shape, h200()), gs_launch_us(&c, &shape, h200()), 1e-9);
    }
    c = (gs_launch_counts){.shared = 1e7, .shared_passes = 1e9};
    const gs_launch_shape one = {1, 384, 1, 200000, 168};   /* the same by one multiprocessor */
    near(gs_launch_us(&c, &one, h200()) / gs_launch_us(&c, &shape, h200()), 132, 0.05);
}

static void more_counted_takes_longer(void **state)
{
    (void)state;
    const gs_launch_shape shape = {500, 256, 1, 49152, 96};
    const size_t parts = sizeof(gs_launch_counts) / sizeof(double);
    for (size_t i = 0; i < parts; i++) {
        gs_launch_counts c = {.integer = 1e6, .global = 1e5, .shared = 1e5, .matrix = 1e5, .mma = 1e5, .barrier = 1e4, .global_load = 1e7,
                              .global_store = 1e6, .shared_passes = 4e5, .matrix_flops = 4e8};
        double *const part = (double *)(void *)&c + i;
        if (part == &c.wgmma_flops || part == &c.footprint_load || part == &c.footprint_store || part == &c.global_store) continue;   /* shares */
        double before = 0;
        for (*part = 1; *part < 1e9; *part *= 3) {
            const double us = gs_launch_us(&c, &shape, h200());
            if (!(isfinite(us) && us >= before * 0.999)) fail_msg("count %zu = %g: %g us, %g us with less", i, *part, us, before);
            before = us;
        }
    }
}

/* A little shared memory beside what goes past it costs nothing, more of it never makes slower where as many blocks stay. */
static void shared_memory_is_no_cliff(void **state)
{
    (void)state;
    const gs_launch_counts once = {.integer = 1e6, .global = 3e5, .barrier = 640, .global_load = 4e7, .shared = 640};
    gs_launch_counts often = once;
    often.barrier = 64000;
    gs_launch_shape shape = {20, 256, 1, 0, 40};
    const double without = gs_launch_us(&once, &shape, h200());
    for (shape.smem = 4; shape.smem <= 24576; shape.smem *= 2) near(gs_launch_us(&once, &shape, h200()) / without, 1, 0.3);
    shape.smem = 0;
    double before = gs_launch_us(&often, &shape, h200());
    for (shape.smem = 4; shape.smem <= 24576; shape.smem += 1024) {
        const double us = gs_launch_us(&often, &shape, h200());
        assert_true(us <= before * 1.0001 && us > before / 3);
        before = us;
    }
}

/* Blocks and warps that do nothing do not hide the one that does. */
static void idle_blocks_hide_nothing(void **state)
{
    (void)state;
    const gs_launch_counts one = {.integer = 4e5, .floating = 2e5, .control = 1e5, .global = 2e5, .global_load = 6e6};
    const gs_launch_peak peak = {one, 32};
    gs_launch_shape alone = {1, 32, 1, 0, 32}, shape = {1, 1024, 1, 0, 32};
    const double least = gs_launch_us(&one, &alone, h200());
    double before = 0;
    for (shape.grid = 1; shape.grid <= 8192; shape.grid *= 2) {
        gs_launch_counts all = one;
        all.integer += 32 * 3 * shape.grid;
        all.control += 32 * 2 * shape.grid;
        const double us = gs_launch_bound_us(gs_launch_us(&all, &shape, h200()), &peak, &shape, h200());
        assert_true(us > 0.9 * least && us < 1.1 * least + 20 && us >= 0.999 * before);
        before = us;
    }
    /* beside as many as one likes, the slowest block takes what it takes */
    const gs_launch_peak longest = {one, 1};
    assert_true(gs_launch_bound_us(0.6 * least, &longest, &alone, h200()) == gs_launch_bound_us(0.9 * least, &longest, &alone, h200()));
    /* where all do the same, nothing changes */
    gs_launch_counts many = one;
    for (size_t i = 0; i < sizeof many / sizeof(double); i++) ((double *)(void *)&many)[i] *= 500;
    const gs_launch_peak even = {one, 1};
    shape.grid = 500;
    const double us = gs_launch_us(&many, &shape, h200());
    assert_true(gs_launch_bound_us(us, &even, &shape, h200()) == us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_no_cliff),
        cmocka_unit_test(idle_blocks_hide_nothing),
        cmocka_unit_test(overlap_is_the_slowest_and_a_little),
        cmocka_unit_test(waves_are_whole),
        cmocka_unit_test(parts_have_their_limits),
        cmocka_unit_test(more_work_takes_longer),
        cmocka_unit_test(blocks_fit_as_the_limits_say),
        cmocka_unit_test(counters_have_their_limits),
        cmocka_unit_test(more_counted_takes_longer),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}

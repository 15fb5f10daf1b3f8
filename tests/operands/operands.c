/* SPDX-License-Identifier: MIT
 * The operands of a launch: the number of operand sets, where they lie, the memory around the scalars, and the pointers of a call. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/datagen.h"
#include "operands/operands.h"
#include "schedule/model.h"
#include "texts.h"
#include "emu_group.h"

/* ---- how many sets ---- */

static void numbers_of_sets(void **state)
{
    (void)state;
    static const struct { size_t used, set, l2, free; int calls; bool warm; int sets; } cases[] = {
        {100, 100, 1000, 1000000, 1, true, 1},
        {100, 100, 1000, 1000000, 1, false, 41},        /* more than four times the cache */
        {101, 101, 1000, 1000000, 1, false, 40},
        {4001, 4001, 1000, 1000000, 1, false, 2},       /* at least two */
        {100, 100, 1000, 1000000, 41, false, 41},
        {100, 100, 1000, 1000000, 42, false, 42},       /* as many as a replay has calls */
        {100, 100, 1000, 1000000, 2001, false, 2000},   /* at most 2000 */
        {100, 100, 50000, 1000000, 1, false, 2000},
        {100, 100, 1000, 6670, 1, false, 40},           /* at most 60 % of the free memory */
        {100, 100, 1000, 6660, 1, false, 39},
        {100, 100, 1000, 10, 1, false, 2},
        {0, 0, 100, 1000000, 1, false, 401},            /* an empty problem uses no memory */
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const int sets = gs_operand_sets(cases[i].used, cases[i].set, cases[i].l2, cases[i].free, cases[i].calls, cases[i].warm);
        if (sets != cases[i].sets) fail_msg("case %d: %d sets, not %d", (int)i, sets, cases[i].sets);
    }
}

static void numbers_of_calls(void **state)
{
    (void)state;
    static const struct { double launch, replay; int sets; } cases[] = {
        {0, 500, 2000}, {-1, 500, 2000}, {NAN, 500, 2000}, {2, 500, 550}, {2.5, 500, 440}, {1000, 10, 2}, {4, 10, 6}, {0.1, 500, 2000}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) assert_int_equal(gs_operand_most_sets(cases[i].launch, cases[i].replay), cases[i].sets);
    const gs_problem large = problem_of("f16:4096x4096x4096:tn"), small = problem_of("f16:16x16x16:tn");
    const double floor_us = gs_floor_us(&large, &device->caps);
    for (int replay = 100; replay <= 10000; replay *= 10) {
        const int calls = gs_operand_calls(&large, &device->caps, replay);
        assert_true(calls >= 1.1 * replay / floor_us && calls - 1 < 1.1 * replay / floor_us);   /* a tenth more than fit */
    }
    assert_int_equal(gs_operand_calls(&small, &device->caps, 1e6), GS_OPERAND_SETS);
}

/* Bytes that a call uses; 8 x 16 x 32 in f16: A 512, B 1024, C and D 256. */
static void bytes_that_are_used(void **state)
{
    (void)state;
    static const struct { const char *problem; size_t bytes; } cases[] = {
        {"f16:8x16x32:tn", 512 + 1024 + 256},
        {"f16:8x16x32:tn:beta=1", 512 + 1024 + 256 + 256},
        {"f16:8x16x32:tn:ep=bias", 512 + 1024 + 256 + 32},
        {"f16:8x16x32:tn:ep=scale_m+scale_n+bias+relu+aux", 512 + 1024 + 256 + 32 + 256 + 32 + 64},
        {"f16:8x16x32:tn:g=2", 512 + 2 * 1024 + 256 + 12},
        {"f16:8x16x32:tn:g=64", 512 + 8 * 1024 + 256 + 260},   /* no more groups than there are rows */
        {"f16:8x16x32:tn:gm=2", 512 + 2 * 1024 + 256 + 8},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        const size_t used = gs_operand_used(&p);
        if (used != cases[i].bytes) fail_msg("%s: %zu bytes, not %zu", cases[i].problem, used, cases[i].bytes);
    }
}

static size_t free_now;

static gs_status memory_of(gs_device *d, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)d;
    *free_bytes = *total_bytes = free_now;
    return free_now ? GS_OK : gs_fail(error, GS_ERROR_DEVICE, NULL, "nobody knows");
}

/* A GPU gets as many as for a cold run; an emulated device, or a GPU where not even two fit, gets one. */
static void sets_of_a_device(void **state)
{
    (void)state;
    static const gs_device_ops ops = {.memory_info = memory_of};
    const gs_problem p = problem_of("f16:64x64x64:tn"), large = problem_of("f16:4096x4096x4096:tn");
    gs_device gpu = {.ops = &ops, .caps = device->caps};
    gs_error error = {0};
    int sets = 0;
    OK(gs_operand_sets_of(device, &p, &sets, &error));
    assert_int_equal(sets, 1);
    gpu.caps.emulated = false;
    gpu.caps.launch_us = 0;
    free_now = (size_t)1 << 36;
    OK(gs_operand_sets_of(&gpu, &p, &sets, &error));
    assert_int_equal(sets, GS_OPERAND_SETS);
    gpu.caps.launch_us = 2;
    OK(gs_operand_sets_of(&gpu, &p, &sets, &error));
    assert_int_equal(sets, gs_operand_most_sets(2, GS_OPERAND_REPLAY_US));
    OK(gs_operand_sets_of(&gpu, &large, &sets, &error));
    assert_int_equal(sets, GS_MAX(4 * (size_t)gpu.caps.l2_bytes / gs_operand_used(&large) + 1, (size_t)gs_operand_calls(&large, &gpu.caps, GS_OPERAND_REPLAY_US)));
    const size_t each = 4 * gs_operand_room(8192);
    free_now = (2 * each + 5) / 6 * 10;
    OK(gs_operand_sets_of(&gpu, &p, &sets, &error));
    assert_int_equal(sets, 2);
    free_now = (2 * each - 5) / 6 * 10;
    OK(gs_operand_sets_of(&gpu, &p, &sets, &error));
    assert_int_equal(sets, 1);
    free_now = 0;
    assert_int_equal(gs_operand_sets_of(&gpu, &p, &sets, &error), GS_ERROR_DEVICE);
}

/* ---- where operands lie ---- */

static int ascending(const void *x, const void *y) { return *(const gs_pointer *)x < *(const gs_pointer *)y ? -1 : *(const gs_pointer *)x > *(const gs_pointer *)y; }

static void places_of_sets(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 256, 257, 5000};
    enum { SETS = 40 };
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        const size_t grains = (sizes[i] + 255) / 256;
        gs_random random = {i + 1};
        gs_error error = {0};
        gs_pointer memory, at[SETS], sorted[SETS], gap_least = UINT64_MAX, gap_most = 0;
        int moved = 0;
        assert_int_equal(gs_operand_room(sizes[i]), 256 * (grains + 32));
        assert_int_equal(gs_operand_size(device, sizes[i], SETS), SETS * 256 * (grains + 32) + 2 * gs_guard(device));
        OK(gs_operand_alloc(device, sizes[i], SETS, &random, &memory, at, &error));
        memcpy(sorted, at, sizeof at);
        qsort(sorted, SETS, sizeof *sorted, ascending);
        assert_true(sorted[0] >= memory + gs_guard(device));
        assert_true(sorted[SETS - 1] + sizes[i] + gs_guard(device) <= memory + gs_operand_size(device, sizes[i], SETS));
        for (int j = 0; j < SETS; j++) {
            const gs_pointer gap = sorted[j] - memory - gs_guard(device) - gs_operand_room(sizes[i]) * (size_t)j;
            assert_int_equal(at[j] % 256, 0);
            assert_true(gap < 32 * 256);   /* each operand has its own space, away from all others */
            gap_least = GS_MIN(gap_least, gap), gap_most = GS_MAX(gap_most, gap);
            moved += at[j] != sorted[j];
        }
        assert_true(gap_least < 4 * 256 && gap_most >= 28 * 256 && moved > SETS / 2);
        device->ops->free(device, memory);
    }
    gs_device gpu = {.ops = device->ops, .caps = device->caps};
    gpu.caps.emulated = false;
    assert_int_equal(gs_operand_size(&gpu, 256, 3), 3 * 33 * 256 + 2 * 65536);
}

/* Each of the six orders of three is equally likely. */
static void orders(void **state)
{
    (void)state;
    gs_random random = {7};
    int count[27] = {0}, seen = 0, none[1] = {-1};
    for (int i = 0; i < 1200; i++) {
        int order[3];
        gs_operand_order(&random, 3, order);
        assert_int_equal(1 << order[0] | 1 << order[1] | 1 << order[2], 7);
        count[9 * order[0] + 3 * order[1] + order[2]]++;
    }
    for (int i = 0; i < 27; i++) {
        seen += count[i] > 0;
        assert_true(count[i] == 0 || (count[i] > 150 && count[i] < 250));
    }
    assert_int_equal(seen, 6);
    gs_operand_order(&random, 0, none);
    assert_int_equal(none[0], -1);
}

static void operands_with_memory(void **state)
{
    (void)state;
    static const struct { const char *problem; int count; } cases[] = {
        {"f16:8x16x32:tn", 4}, {"f16:8x16x32:tn:ep=bias", 5}, {"f16:8x16x32:tn:g=2", 6}, {"f16:8x16x32:nt:gk=2", 6}, {"f16:8x16x32:tn:g=2:ep=bias", 6}, {"f16:8x16x32:tn:ep=relu+aux", 7},
        {"f16:8x16x32:nn:ep=drelu", 7}, {"f16:8x16x32:tn:ep=scale_m", 9}, {"f16:8x16x32:tn:ep=scale_n", 9}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        assert_int_equal(gs_operand_count(&p), cases[i].count);
    }
    const gs_pointer at[GS_OPERANDS] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const gs_args args = gs_operand_args(at);
    const void *const given[GS_OPERANDS] = {args.a, args.b, args.c, args.d, args.bias, args.offsets, args.aux, args.scale_m, args.scale_n};
    for (int i = 0; i < GS_OPERANDS; i++) assert_int_equal((uintptr_t)given[i], i + 1);
    assert_true(!args.alpha && !args.beta);
}

/* ---- scalars ---- */

static void scalars_on_the_device(void **state)
{
    (void)state;
    const gs_problem host = problem_of("f16:8x16x32:tn:alpha=2:beta=3"), p = problem_of("f16:8x16x32:tn:alpha=2:beta=3:scalars=device");
    gs_error error = {0};
    gs_pointer at = 1;
    bool kept = false;
    OK(gs_operand_scalars(device, &host, &at, &error));
    assert_int_equal(at, 0);
    gs_args args = {0};
    gs_operand_set_scalars(&args, true, 0);
    assert_true(!args.alpha && !args.beta);
    OK(gs_operand_scalars_kept(device, &host, true, 0, &kept, &error));
    assert_true(kept);
    OK(gs_operand_scalars(device, &p, &at, &error));
    for (int apart = 1; apart >= 0; apart--) {
        float number[8];
        if (!apart) OK(gs_operand_put_scalars(device, &p, false, at, &error));
        OK(device->ops->copy_out(device, number, at, sizeof number, &error));
        gs_operand_set_scalars(&args, apart, at);
        const size_t alpha = ((uintptr_t)args.alpha - at) / sizeof(float), beta = ((uintptr_t)args.beta - at) / sizeof(float);
        assert_true(alpha < 8 && beta < 8 && (apart ? alpha > beta + 1 : beta == alpha + 1));
        for (size_t i = 0; i < 8; i++) assert_true(i == alpha ? number[i] == 2 : i == beta ? number[i] == 3 : isnan(number[i]));
        for (size_t i = 0; i < 8; i++) {   /* neither the scalars nor the memory around them may be written */
            const float was = number[i];
            number[i] = 7;
            OK(device->ops->copy_in(device, at, number, sizeof number, &error));
            OK(gs_operand_scalars_kept(device, &p, apart, at, &kept, &error));
            assert_false(kept);
            number[i] = was;
        }
        OK(device->ops->copy_in(device, at, number, sizeof number, &error));
        OK(gs_operand_scalars_kept(device, &p, apart, at, &kept, &error));
        assert_true(kept);
        OK(gs_operand_scalars_kept(device, &p, !apart, at, &kept, &error));
        assert_false(kept);
    }
    device->ops->free(device, at);
    assert_int_not_equal(gs_operand_scalars_kept(device, &p, true, at, &kept, &error), GS_OK);
}

/* ---- pointers ---- */

static void pointers_to_matrices(void **state)
{
    (void)state;
    const gs_problem asked = problem_of("f16:16x16x16:tn:b=5:matrices=pointers"), pool = gs_problem_pool(&asked);
    const gs_pointer at[4] = {0x10000, 0x20000, 0x30000, 0x40000};
    gs_args args = {.a = (const void *)1, .d = (void *)2};
    uint64_t expected[20], found[20];
    gs_error error = {0};
    gs_pointer to;
    gs_operand_set_pointers(&args, &pool, 0);
    assert_true((uintptr_t)args.a == 1 && !args.b && !args.c && (uintptr_t)args.d == 2);
    gs_operand_set_pointers(&args, &pool, 4096);
    assert_true((uintptr_t)args.a == 4096 && (uintptr_t)args.b == 4096 + 40 && (uintptr_t)args.c == 4096 + 80 && (uintptr_t)args.d == 4096 + 120);
    OK(device->ops->alloc(device, sizeof found, &to, &error));
    OK(gs_operand_put_pointers(device, &pool, at, 3, to, &error));
    OK(device->ops->copy_out(device, found, to, sizeof found, &error));
    gs_pool_pointers(&pool, at, 3, expected);
    assert_memory_equal(found, expected, sizeof found);
    device->ops->free(device, to);
    assert_int_not_equal(gs_operand_put_pointers(device, &pool, at, 3, to, &error), GS_OK);
}

/* Unread C holds NaN, except for the kinds cancel and range. */
static void data_of_c(void **state)
{
    (void)state;
    const gs_problem with = problem_of("f16:8x16x32:tn:beta=1"), without = problem_of("f16:8x16x32:tn");
    static const int kinds[] = {GS_VALUES_NORMAL, GS_VALUES_SPECIAL, GS_VALUES_ZERO, GS_VALUES_NAN, GS_VALUES_CANCEL, GS_VALUES_RANGE, GS_VALUES_WIDE};
    for (size_t i = 0; i < GS_COUNT(kinds); i++) {
        assert_int_equal(gs_operand_c_kind(&with, kinds[i]), kinds[i]);
        assert_int_equal(gs_operand_c_kind(&without, kinds[i]), kinds[i] == GS_VALUES_CANCEL || kinds[i] == GS_VALUES_RANGE ? kinds[i] : GS_VALUES_NAN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_sets), cmocka_unit_test(numbers_of_calls), cmocka_unit_test(bytes_that_are_used), cmocka_unit_test(sets_of_a_device),
        cmocka_unit_test(places_of_sets), cmocka_unit_test(orders), cmocka_unit_test(operands_with_memory), cmocka_unit_test(scalars_on_the_device),
        cmocka_unit_test(pointers_to_matrices), cmocka_unit_test(data_of_c)};
    return cmocka_run_group_tests_name("operands", tests, open_group, close_group);
}

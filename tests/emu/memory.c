/* SPDX-License-Identifier: MIT
 * The emulated device's memory: reproducible, separate addresses; finding and describing them; and an exact record of the written bytes, also if threads mark
 * neighbouring bytes at the same time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/leaks.h"
#include "base/error.h"
#include "base/random.h"
#include "emu/machine/memory.h"

static gs_emu_memory *make(uint64_t capacity, bool bitmap)
{
    gs_emu_memory *memory;
    gs_error error;
    assert_int_equal(gs_emu_memory_create(&memory, capacity, bitmap, &error), GS_OK);
    return memory;
}

static uint64_t alloc(gs_emu_memory *memory, uint64_t size)
{
    uint64_t address;
    gs_error error;
    assert_int_equal(gs_emu_memory_alloc(memory, size, &address, &error), GS_OK);
    return address;
}

static void addresses_are_aligned_separated_and_reused(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1 << 20, true);
    const uint64_t a = alloc(memory, 1000), b = alloc(memory, 1), c = alloc(memory, 4096);
    assert_int_equal(a, GS_EMU_GLOBAL_BASE);
    assert_int_equal(b % 256, 0);
    assert_int_equal(c % 256, 0);
    assert_true(b >= a + 1000 + 4096 && c >= b + 1 + 4096);
    assert_int_equal(gs_emu_memory_used(memory), 1000 + 1 + 4096);
    assert_false(gs_emu_memory_free(memory, a + 1));
    assert_true(gs_emu_memory_free(memory, a));
    assert_false(gs_emu_memory_free(memory, a));
    assert_int_equal(gs_emu_memory_used(memory), 4097);
    const uint64_t d = alloc(memory, 1300);
    assert_true(d > c);                              /* too wide for the gap */
    assert_int_equal(alloc(memory, 900), a);         /* fits where a was */
    const uint64_t at[] = {a, b, c, d}, size[] = {900, 1, 4096, 1300};
    for (int i = 0; i < 4; i++) {                    /* those after the gap did not move */
        const gs_emu_allocation *const found = gs_emu_memory_find(memory, at[i], size[i]);
        assert_non_null(found);
        assert_int_equal(found->address, at[i]);
        assert_int_equal(found->size, size[i]);
    }
    gs_emu_memory_destroy(&memory);
    assert_null(memory);
}

static void capacity_is_a_limit(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(10000, false);
    uint64_t address;
    gs_error error;
    const uint64_t a = alloc(memory, 6000);
    assert_int_equal(gs_emu_memory_alloc(memory, 4001, &address, &error), GS_ERROR_DEVICE_MEMORY);
    assert_string_equal(error.text, "4001 bytes asked for, 4000 of 10000 free");
    assert_int_equal(address, 0);
    assert_int_equal(gs_emu_memory_alloc(memory, UINT64_MAX, &address, &error), GS_ERROR_DEVICE_MEMORY);
    alloc(memory, 4000);
    assert_true(gs_emu_memory_free(memory, a));
    alloc(memory, 6000);
    assert_int_equal(gs_emu_memory_alloc(memory, 0, &address, &error), GS_OK);
    assert_int_equal(address, 0);
    gs_emu_memory_destroy(&memory);
}

static void a_huge_buffer_costs_what_is_touched(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1ull << 40, true);
    const uint64_t a = alloc(memory, 1ull << 34), last = a + (1ull << 34) - 8;
    memset(gs_emu_memory_at(memory, last, 8), 7, 8);
    gs_emu_memory_mark(gs_emu_memory_find(memory, last, 8), last, 8);
    assert_true(gs_emu_memory_written(gs_emu_memory_find(memory, last, 8), last, 8));
    assert_false(gs_emu_memory_written(gs_emu_memory_find(memory, a, 8), a, 8));
    assert_int_equal(*gs_emu_memory_at(memory, a, 1), 0);
    gs_emu_memory_destroy(&memory);
}

static void ranges_are_found_only_within_one_allocation(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1 << 20, false), *other = make(1 << 20, false);
    const uint64_t a = alloc(memory, 1000), b = alloc(memory, 300), c = alloc(other, 64);
    for (int round = 0; round < 2; round++) {
        const gs_emu_allocation *const found = gs_emu_memory_find(memory, a + 999, 1);
        assert_non_null(found);
        assert_int_equal(found->address, a);
        assert_ptr_equal(gs_emu_memory_at(memory, a + 10, 990), found->bytes + 10);
        assert_int_equal(gs_emu_memory_find(memory, b, 300)->address, b);
    }
    assert_null(gs_emu_memory_find(memory, a + 999, 2));
    assert_null(gs_emu_memory_find(memory, a, 1001));
    assert_null(gs_emu_memory_find(memory, a - 1, 1));
    assert_null(gs_emu_memory_find(memory, a + 8, UINT64_MAX));
    assert_null(gs_emu_memory_find(memory, UINT64_MAX, 8));
    assert_null(gs_emu_memory_find(memory, 0, 1));
    /* the thread's cache is valid for one memory and one state of it */
    assert_int_equal(gs_emu_memory_find(memory, a, 1000)->size, 1000);
    assert_int_equal(c, a);
    assert_null(gs_emu_memory_find(other, a, 1000));
    assert_int_equal(gs_emu_memory_find(memory, a, 1000)->size, 1000);
    assert_true(gs_emu_memory_free(memory, a));
    assert_null(gs_emu_memory_find(memory, a, 1));
    assert_int_equal(gs_emu_memory_find(memory, b, 1)->address, b);
    gs_emu_memory_destroy(&memory);
    gs_emu_memory_destroy(&other);
}

static void many_allocations_are_told_apart(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    gs_emu_memory *memory = make(1 << 30, true);
    gs_random random = {5};
    uint64_t address[COUNT], size[COUNT];
    for (int i = 0; i < COUNT; i++) address[i] = alloc(memory, size[i] = 1 + gs_random_below(&random, 20000));
    for (int i = 0; i < COUNT; i += 3) assert_true(gs_emu_memory_free(memory, address[i]));
    for (int i = 0; i < COUNT; i += 3) address[i] = alloc(memory, size[i] = 1 + gs_random_below(&random, 20000));
    for (int i = 0; i < COUNT; i++) {
        const gs_emu_allocation *const a = gs_emu_memory_find(memory, address[i] + size[i] / 2, 1);
        assert_non_null(a);
        assert_int_equal(a->address, address[i]);
        assert_int_equal(a->size, size[i]);
        assert_null(gs_emu_memory_find(memory, address[i] + size[i], 1));
        for (int j = 0; j < i; j++)
            assert_true(address[j] + size[j] + 4096 <= address[i] || address[i] + size[i] + 4096 <= address[j]);
    }
    gs_emu_memory_destroy(&memory);
}

static void a_stray_address_is_described_by_its_neighbour(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1 << 20, false);
    char text[200];
    assert_string_equal(gs_emu_memory_describe(memory, 0x10, text, sizeof text), "0x10 is near no allocation");
    const uint64_t a = alloc(memory, 1024);
    alloc(memory, 256);
    assert_int_equal(a, 0x700000000);
    assert_string_equal(gs_emu_memory_describe(memory, a + 1040, text, sizeof text),
                        "0x700000410 is 16 bytes past the end of the allocation 0x700000000 of 1024 bytes");
    assert_string_equal(gs_emu_memory_describe(memory, a + 1024, text, sizeof text),
                        "0x700000400 is the end of the allocation 0x700000000 of 1024 bytes");
    assert_string_equal(gs_emu_memory_describe(memory, a + 1020, text, sizeof text),
                        "0x7000003fc is 4 bytes before the end of the allocation 0x700000000 of 1024 bytes");
    assert_string_equal(gs_emu_memory_describe(memory, a + 0x13fe, text, sizeof text),
                        "0x7000013fe is 2 bytes before the allocation 0x700001400 of 256 bytes");
    assert_string_equal(gs_emu_memory_describe(memory, a - 1, text, sizeof text),
                        "0x6ffffffff is 1 bytes before the allocation 0x700000000 of 1024 bytes");
    assert_string_equal(gs_emu_memory_describe(memory, 0, text, sizeof text), "0 is near no allocation");
    gs_emu_memory_destroy(&memory);
}

static void the_bitmap_is_exact(void **state)
{
    (void)state;
    enum { SIZE = 700 };
    bool expected[SIZE] = {0};
    int seen[2] = {0};
    gs_random random = {11};
    gs_emu_memory *memory = make(1 << 20, true);
    const uint64_t address = alloc(memory, SIZE);
    const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, SIZE);
    assert_false(gs_emu_memory_written(a, address, SIZE));
    for (int round = 0; round < 40; round++) {
        const uint64_t at = gs_random_below(&random, SIZE), size = gs_random_below(&random, round % 5 ? 20 : 200);
        const uint64_t end = at + size < SIZE ? at + size : SIZE;
        gs_emu_memory_mark(a, address + at, end - at);
        for (uint64_t i = at; i < end; i++) expected[i] = true;
        for (uint64_t i = 0; i < SIZE; i++) assert_int_equal(gs_emu_memory_written(a, address + i, 1), expected[i]);
        for (int j = 0; j < 200; j++) {
            const uint64_t from = gs_random_below(&random, SIZE), bytes = gs_random_below(&random, SIZE - from + 1);
            bool all = true;
            for (uint64_t i = from; i < from + bytes; i++) all = all && expected[i];
            assert_int_equal(gs_emu_memory_written(a, address + from, bytes), all);
        }
        for (int j = 0; j < 60; j++) {   /* mostly where something was marked before, so that sometimes all are written */
            const uint32_t bytes = 1u << gs_random_below(&random, 6);
            uint64_t each[32];
            bool all = true;
            for (int i = 0; i < 32; i++) {
                each[i] = gs_random_below(&random, i == j ? SIZE - 31 : GS_MAX(end - at, 1u)) + (i == j ? 0 : at);
                each[i] = address + GS_MIN(each[i], SIZE - 32u) / bytes * bytes;
                for (uint64_t b = each[i]; b < each[i] + bytes; b++) all = all && expected[b - address];
            }
            assert_int_equal(gs_emu_memory_written_each(a, each, bytes), all);
            seen[all]++;
        }
    }
    assert_true(seen[0] > 100 && seen[1] > 100);
    gs_emu_memory_mark(a, address, SIZE);
    assert_true(gs_emu_memory_written(a, address, SIZE));
    gs_emu_memory_destroy(&memory);
}

static void without_a_bitmap_everything_counts_as_written(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1 << 20, false);
    const uint64_t address = alloc(memory, 100);
    const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, 100);
    assert_null(a->written);
    gs_emu_memory_mark(a, address, 100);
    assert_true(gs_emu_memory_written(a, address, 100));
    gs_emu_memory_destroy(&memory);
}

/* High words of addresses differ, every second allocation contains a multiple of 4 GiB, and existing allocations are avoided. */
static void scattered_allocations_share_no_high_word(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    gs_emu_memory *memory = make(1ull << 40, false);
    uint64_t at[COUNT], again[COUNT];
    int across = 0, near = 0;
    for (int turn = 0; turn < 2; turn++) {
        gs_emu_memory_scatter(memory, 7);
        for (int i = 0; i < COUNT; i++) again[i] = alloc(memory, 4096 + 256 * (uint64_t)i);
        for (int i = 0; i < COUNT; i++) assert_true(gs_emu_memory_free(memory, again[i]));
        if (turn == 1) assert_memory_equal(at, again, sizeof at);
        memcpy(at, again, sizeof at);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_true(at[i] % 256 == 0 && at[i] >= GS_EMU_GLOBAL_BASE && at[i] < 1ull << 47);
        across += at[i] >> 32 != (at[i] + 4096 + 256 * (uint64_t)i - 1) >> 32;
        for (int k = 0; k < i; k++) near += at[i] >> 32 == at[k] >> 32;
    }
    assert_in_range(across, COUNT / 3, 2 * COUNT / 3);
    assert_in_range(near, 0, 5);
    for (int i = 0; i < 100; i++) alloc(memory, 7ull << 30);   /* longer than a window */
    gs_emu_memory_destroy(&memory);
}

static void a_new_allocation_is_unwritten_zeros(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1 << 20, true);
    for (int round = 0; round < 2; round++) {
        const uint64_t address = alloc(memory, 5000);
        const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, 5000);
        assert_int_equal(address, GS_EMU_GLOBAL_BASE);
        for (int i = 0; i < 5000; i++) assert_int_equal(a->bytes[i], 0);
        for (int i = 0; i < 5000; i++) assert_false(gs_emu_memory_written(a, address + (uint64_t)i, 1));
        memset(a->bytes, 1, 5000);
        gs_emu_memory_mark(a, address, 5000);
        assert_true(gs_emu_memory_free(memory, address));
    }
    gs_emu_memory_destroy(&memory);
}

enum { THREADS = 4, EACH = 1 << 16, ROUNDS = 20 };

typedef struct marker {
    const gs_emu_memory *memory;
    pthread_barrier_t   *start;
    uint64_t             address[ROUNDS];
    int                  number;
} marker;

static void *mark_every_fourth(void *argument)
{
    const marker *const m = argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(m->start);
        for (int i = m->number; i < EACH; i += THREADS) {
            const uint64_t at = m->address[round] + (uint64_t)i;
            gs_emu_memory_mark(gs_emu_memory_find(m->memory, at, 1), at, 1);
        }
    }
    return NULL;
}

static void threads_do_not_lose_marks_of_each_other(void **state)
{
    (void)state;
    gs_emu_memory *memory = make(1 << 24, true);
    pthread_t thread[THREADS];
    pthread_barrier_t start;
    marker argument[THREADS] = {{.memory = memory, .start = &start}};
    pthread_barrier_init(&start, NULL, THREADS);
    for (int round = 0; round < ROUNDS; round++) argument[0].address[round] = alloc(memory, EACH);
    for (int i = 0; i < THREADS; i++) {
        argument[i] = argument[0];
        argument[i].number = i;
        assert_int_equal(pthread_create(&thread[i], NULL, mark_every_fourth, &argument[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t at = argument[0].address[round];
        assert_true(gs_emu_memory_written(gs_emu_memory_find(memory, at, EACH), at, EACH));
    }
    pthread_barrier_destroy(&start);
    gs_emu_memory_destroy(&memory);
}

/* Each 32-byte sector counts once, separately for loads and stores, until the counts are reset; until then it is known which sectors were stored to. */
static void test_footprint(void **state)
{
    (void)state;
    gs_emu_memory *memory;
    gs_error error;
    uint64_t at, other, loaded, stored;
    assert_int_equal(gs_emu_memory_create(&memory, 1 << 20, false, &error), GS_OK);
    assert_int_equal(gs_emu_memory_alloc(memory, 100000, &at, &error), GS_OK);
    assert_int_equal(gs_emu_memory_alloc(memory, 50, &other, &error), GS_OK);
    const gs_emu_allocation *a = gs_emu_memory_find(memory, at, 1);
    gs_emu_memory_touch(a, at + 31, 2, false);          /* two sectors */
    gs_emu_memory_touch(a, at, 4, false);               /* one of them again */
    gs_emu_memory_touch(a, at + 64, 100000 - 64, true); /* all but two, the last one partly */
    a = gs_emu_memory_find(memory, other, 1);
    gs_emu_memory_touch(a, other + 49, 1, false);
    gs_emu_memory_touch(a, other, 0, true);
    gs_emu_memory_footprint(memory, &loaded, &stored);
    assert_int_equal(loaded, 3 * 32);
    assert_int_equal(stored, (100000 / 32 - 2) * 32);
    assert_true(gs_emu_memory_stored(memory, at, 65) && gs_emu_memory_stored(memory, at + 99999, 1) && gs_emu_memory_stored(memory, at, 100000));
    assert_false(gs_emu_memory_stored(memory, at, 64) || gs_emu_memory_stored(memory, other, 50) || gs_emu_memory_stored(memory, at + 64, 0) || gs_emu_memory_stored(memory, at, 1 << 19));
    gs_emu_memory_settle(memory);
    assert_false(gs_emu_memory_stored(memory, at, 100000));
    gs_emu_memory_footprint(memory, &loaded, &stored);
    assert_int_equal(loaded + stored, 0);
    gs_emu_memory_destroy(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footprint), cmocka_unit_test(addresses_are_aligned_separated_and_reused),
        cmocka_unit_test(scattered_allocations_share_no_high_word),
        cmocka_unit_test(capacity_is_a_limit),
        cmocka_unit_test(a_huge_buffer_costs_what_is_touched),
        cmocka_unit_test(ranges_are_found_only_within_one_allocation),
        cmocka_unit_test(many_allocations_are_told_apart),
        cmocka_unit_test(a_stray_address_is_described_by_its_neighbour),
        cmocka_unit_test(the_bitmap_is_exact),
        cmocka_unit_test(without_a_bitmap_everything_counts_as_written),
        cmocka_unit_test(a_new_allocation_is_unwritten_zeros),
        cmocka_unit_test(threads_do_not_lose_marks_of_each_other),
    };
    return run_without_leaks("memory", tests, sizeof tests / sizeof *tests);
}

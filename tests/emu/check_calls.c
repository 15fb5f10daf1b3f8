/* SPDX-License-Identifier: MIT
 * The calls of the race checker, apart from finding races: unwritten bytes, marks of barriers, clocks, one report of each kind for an access, no state left after a
 * reset, and no false finding when its tables are full. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "emu/check/check.h"
#include "emu/check/check_internal.h"

#define SHARED 65543u   /* not a multiple of a cell */

static int  found[GS_EMU_FINDING_KINDS];
static char said[1024];

static void report(void *context, gs_emu_finding_kind kind, int warp, uint32_t op, const char *text)
{
    (void)context, (void)warp, (void)op;
    snprintf(said, sizeof said, "%s", text);
    found[kind]++;
}

static void describe(void *context, uint32_t op, char *text, unsigned long size)
{
    (void)context;
    snprintf(text, size, "op %u", op);
}

static int start(void **state)
{
    memset(found, 0, sizeof found);
    said[0] = '\0';
    *state = gs_emu_check_create(2, 3, SHARED, false, report, describe, NULL);
    return *state ? 0 : -1;
}

static int stop(void **state)
{
    gs_emu_check_destroy(*state);
    return 0;
}

static void touch(gs_emu_check *check, int warp, uint32_t offset, uint32_t bytes, gs_emu_access access)
{
    gs_emu_check_access(check, warp, 1, 0, offset, bytes, access, GS_EMU_AGENT_WGMMA, 1);
}

static int total(void)
{
    int sum = 0;
    for (int i = 0; i < GS_EMU_FINDING_KINDS; i++) sum += found[i];
    return sum;
}

static void barrier(gs_emu_check *check, int warps)
{
    gs_emu_vector *const vector = gs_emu_vector_create(check);
    assert_non_null(vector);
    for (int warp = 0; warp < warps; warp++) gs_emu_check_release(check, warp, vector);
    for (int warp = 0; warp < warps; warp++) gs_emu_check_acquire(check, warp, vector);
    gs_emu_vector_destroy(vector);
}

static void unwritten_bytes_are_found(void **state)
{
    static const gs_emu_access readers[] = {GS_EMU_READ, GS_EMU_ATOMIC, GS_EMU_ASYNC_READ};
    gs_emu_check *const check = *state;
    touch(check, 0, 0, 13, GS_EMU_WRITE);
    gs_emu_check_fence_async(check, 0);
    for (int i = 0; i < 3; i++) {
        if (readers[i] != GS_EMU_ATOMIC) touch(check, 0, 0, 13, readers[i]);
        assert_int_equal(found[GS_EMU_UNINITIALIZED_FINDING], i);
        touch(check, 0, 16 * (uint32_t)i + 12, 4, readers[i]);
        assert_int_equal(found[GS_EMU_UNINITIALIZED_FINDING], i + 1);
    }
    assert_int_equal(total(), 3);
    touch(check, 0, SHARED - 3, 3, GS_EMU_READ);
    assert_string_equal(said, "read of 3 bytes at 0x10004 by warp 0 of block 0; never written");
    touch(check, 0, SHARED - 3, 3, GS_EMU_WRITE);
    touch(check, 0, SHARED - 3, 3, GS_EMU_READ);
    touch(check, 0, SHARED - 3, 0, GS_EMU_READ);
    assert_int_equal(total(), 4);
}

static void barrier_operations_do_not_race(void **state)
{
    gs_emu_check *const check = *state;
    for (int warp = 0; warp < 3; warp++) touch(check, warp, 64, 8, GS_EMU_SYNC);
    touch(check, 2, 64, 8, GS_EMU_READ);
    assert_int_equal(total(), 0);
    touch(check, 1, 64, 8, GS_EMU_READ);   /* an access that is no barrier operation races with them */
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
    touch(check, 0, 64, 8, GS_EMU_SYNC);
    assert_int_equal(total(), 1);
}

static void an_access_reports_each_kind_once(void **state)
{
    gs_emu_check *const check = *state;
    for (uint32_t i = 0; i < 1024; i++) gs_emu_check_access(check, 0, i, 0, 16 * i, 8 + i % 5, GS_EMU_WRITE, GS_EMU_AGENT_GENERIC, 0);
    touch(check, 1, 0, 16384, GS_EMU_READ);
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
    assert_int_equal(found[GS_EMU_UNINITIALIZED_FINDING], 1);
    touch(check, 1, 0, 16384, GS_EMU_READ);   /* the next access reports again */
    assert_int_equal(found[GS_EMU_RACE_FINDING], 2);
    assert_int_equal(total(), 4);
    for (int i = 0; i < 4; i++) touch(check, 1, 0, 4, GS_EMU_READ);
    assert_int_equal(found[GS_EMU_RACE_FINDING], 6);
}

static void strong_accesses_race_only_with_others(void **state)
{
    gs_emu_check *const check = *state;
    touch(check, 0, 0, 4, GS_EMU_STRONG_WRITE);   /* a write may be first: it reads nothing */
    touch(check, 1, 0, 4, GS_EMU_STRONG_READ);
    touch(check, 2, 0, 4, GS_EMU_STRONG_WRITE);
    touch(check, 1, 0, 4, GS_EMU_ATOMIC);
    touch(check, 0, 0, 4, GS_EMU_STRONG_READ);
    assert_int_equal(total(), 0);
    touch(check, 0, 0, 4, GS_EMU_READ);
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
    barrier(check, 3);
    touch(check, 1, 0, 4, GS_EMU_READ);
    touch(check, 1, 0, 4, GS_EMU_STRONG_READ);
    touch(check, 2, 0, 4, GS_EMU_STRONG_READ);
    assert_int_equal(total(), 1);
    touch(check, 2, 0, 4, GS_EMU_STRONG_WRITE);   /* races with the read that is not strong */
    assert_int_equal(found[GS_EMU_RACE_FINDING], 2);
    touch(check, 1, 8, 4, GS_EMU_STRONG_READ);
    assert_int_equal(found[GS_EMU_UNINITIALIZED_FINDING], 1);
}

/* The second atomic on the first word replaces the state that the first atomic made; the other word's state is separate. */
static void repeated_accesses_keep_cells_apart(void **state)
{
    gs_emu_check *const check = *state;
    touch(check, 0, 0, 8, GS_EMU_WRITE);
    barrier(check, 2);
    touch(check, 0, 0, 4, GS_EMU_ATOMIC);
    touch(check, 0, 0, 4, GS_EMU_ATOMIC);
    touch(check, 0, 4, 4, GS_EMU_ATOMIC);
    touch(check, 0, 64, 4, GS_EMU_WRITE);
    touch(check, 0, 68, 2, GS_EMU_WRITE);
    touch(check, 1, 0, 8, GS_EMU_ATOMIC);
    assert_int_equal(total(), 0);
    touch(check, 1, 64, 4, GS_EMU_ATOMIC);
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
}

/* If several warps read a cell in turn, only the last read is kept. */
static void reads_before_others_are_forgotten(void **state)
{
    gs_emu_check *const check = *state;
    touch(check, 0, 0, 4, GS_EMU_WRITE);
    for (int i = 0; i < 10; i++) {
        barrier(check, 3);
        touch(check, i % 3, 0, 4, GS_EMU_READ);
        assert_int_equal(check->state[check->shadow[0]].traces, 1 + 1);
    }
    assert_true(check->states < 16);
    barrier(check, 3);
    touch(check, 0, 0, 4, GS_EMU_READ);
    barrier(check, 2);
    touch(check, 1, 0, 1, GS_EMU_READ);
    assert_int_equal(total(), 0);
    touch(check, 2, 1, 1, GS_EMU_WRITE);   /* the last read of this byte */
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
}

static void clocks_tell_what_is_known_and_fenced(void **state)
{
    gs_emu_check *const check = *state;
    gs_emu_vector *const a = gs_emu_vector_create(check), *const b = gs_emu_vector_create(check);
    assert_true(a && b);
    const uint32_t clock = gs_emu_check_clock(check, 0);
    assert_true(clock > 0 && gs_emu_check_known(check, 0, 0, clock) && !gs_emu_check_known(check, 1, 0, clock));
    assert_false(gs_emu_check_fenced(check, 0, 0, clock));
    gs_emu_check_release(check, 0, a);
    assert_true(gs_emu_check_clock(check, 0) > clock);
    gs_emu_vector_join(b, a);
    gs_emu_vector_join(b, b);
    gs_emu_check_acquire(check, 1, b);
    assert_true(gs_emu_check_known(check, 1, 0, clock) && !gs_emu_check_known(check, 1, 0, clock + 1) && !gs_emu_check_fenced(check, 1, 0, clock));
    gs_emu_check_fence_async(check, 1);
    assert_true(gs_emu_check_fenced(check, 1, 0, clock));
    gs_emu_vector_clear(b);
    gs_emu_check_acquire(check, 2, b);
    assert_false(gs_emu_check_known(check, 2, 0, clock));
    gs_emu_check_release(check, 1, b);
    gs_emu_check_acquire(check, 2, b);
    assert_true(gs_emu_check_known(check, 2, 0, clock) && gs_emu_check_fenced(check, 2, 0, clock));
    gs_emu_vector_destroy(a);
    gs_emu_vector_destroy(b);
}

static void nothing_is_left_after_a_reset(void **state)
{
    gs_emu_check *const check = *state;
    for (int round = 0; round < 3; round++) {
        memset(found, 0, sizeof found);
        const int agent = gs_emu_check_mbarrier(check, 1, 24);
        assert_int_equal(gs_emu_check_mbarrier(check, 1, 24), agent);
        assert_int_equal(gs_emu_check_mbarrier(check, 0, 24), agent + 1);
        touch(check, 0, 0, 256, GS_EMU_WRITE);
        gs_emu_check_copy_begin(check, 0, 2, 1, 0, 64, 7);
        if (round == 1) gs_emu_check_copy_end(check, 1, 0, 64, 7, agent, 1);
        barrier(check, 6);
        gs_emu_check_fence_async(check, 1);
        gs_emu_check_done(check, 1, GS_EMU_AGENT_WGMMA, 9);
        assert_int_equal(total(), 0);
        gs_emu_check_reset(check);
        touch(check, 1, 0, 256, GS_EMU_WRITE);
        assert_int_equal(total(), 0);
        touch(check, 1, 256, 4, GS_EMU_READ);
        assert_int_equal(found[GS_EMU_UNINITIALIZED_FINDING], 1);
        touch(check, 1, 0, 4, GS_EMU_ASYNC_READ);
        assert_int_equal(found[GS_EMU_PROXY_FENCE_FINDING], 1);
        touch(check, 1, 0, 4, GS_EMU_WRITE);
        assert_int_equal(found[GS_EMU_OVERWRITE_FINDING], 1);
        touch(check, 0, 0, 4, GS_EMU_READ);
        assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
        assert_false(gs_emu_check_known(check, 1, 0, 1));
        assert_int_equal(total(), 4);
        gs_emu_check_reset(check);
    }
}

static void a_repeated_access_starts_anew_after_a_reset(void **state)
{
    gs_emu_check *const check = *state;
    for (uint32_t bytes = 2; bytes <= 4; bytes += 2) {
        for (uint32_t round = 0; round < 3; round++) {
            gs_emu_check_reset(check);
            assert_int_equal(check->states, GS_EMU_STATE_LOST + 1);
            touch(check, 0, 4 * round, bytes, GS_EMU_WRITE);
            assert_int_equal(check->states, GS_EMU_STATE_LOST + 2);
        }
    }
}

static void barriers_beyond_the_limit_are_believed(void **state)
{
    gs_emu_check *const check = *state;
    gs_emu_vector *const vector = gs_emu_vector_create(check);
    assert_non_null(vector);
    for (uint32_t i = 0; i < GS_EMU_CHECK_BARRIERS; i++) assert_true(gs_emu_check_mbarrier(check, 0, 8 * i) >= 0);
    assert_int_equal(gs_emu_check_mbarrier(check, 0, 8 * GS_EMU_CHECK_BARRIERS), -1);
    assert_true(gs_emu_check_mbarrier(check, 0, 8) >= 0 && gs_emu_check_mbarrier(check, 1, 8 * GS_EMU_CHECK_BARRIERS) >= 0);
    gs_emu_check_copy_begin(check, 0, 1, 0, 0x4000, 64, 1);
    touch(check, 1, 0x4000, 16, GS_EMU_READ);
    assert_int_equal(found[GS_EMU_EARLY_READ_FINDING], 1);
    gs_emu_check_copy_end(check, 0, 0x4000, 64, 1, -1, 1);
    gs_emu_check_phase(check, -1, 1, vector);
    touch(check, 1, 0x4000, 64, GS_EMU_READ);
    assert_int_equal(total(), 1);
    touch(check, 2, 0x4000, 64, GS_EMU_WRITE);   /* reads since then are remembered */
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
    gs_emu_vector_destroy(vector);
}

/* Two blocks: a block's writes are visible to another block only if it released them to the cluster itself; reads are ordered by any release. */
static void other_blocks_read_what_was_released_to_them(void **state)
{
    gs_emu_check *const check = *state;
    gs_emu_vector *const vector = gs_emu_vector_create(check);
    const uint32_t clock = gs_emu_check_clock(check, 0);
    memset(found, 0, sizeof found);
    assert_non_null(vector);
    touch(check, 0, 0, 16, GS_EMU_WRITE);
    touch(check, 0, 64, 16, GS_EMU_WRITE);
    touch(check, 0, 64, 16, GS_EMU_READ);
    gs_emu_check_release(check, 0, vector);          /* within its block */
    gs_emu_check_acquire(check, 1, vector);          /* a warp of the same block */
    touch(check, 1, 0, 16, GS_EMU_READ);
    assert_int_equal(total(), 0);
    gs_emu_check_acquire(check, 3, vector);          /* a warp of the other block */
    assert_true(gs_emu_check_known(check, 3, 0, clock) && !gs_emu_check_clustered(check, 3, 0, clock) && gs_emu_check_clustered(check, 1, 0, clock));
    touch(check, 3, 64, 16, GS_EMU_WRITE);           /* ordered: warp 0 has only read it */
    assert_int_equal(total(), 0);
    touch(check, 3, 0, 16, GS_EMU_READ);
    assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
    gs_emu_check_to_cluster(check, 3);               /* the other block cannot release it to the cluster */
    assert_false(gs_emu_check_clustered(check, 3, 0, clock));
    gs_emu_check_to_cluster(check, 1);               /* another warp of the writer's block can */
    gs_emu_check_release(check, 1, vector);
    gs_emu_check_acquire(check, 4, vector);
    memset(found, 0, sizeof found);
    touch(check, 4, 0, 16, GS_EMU_READ);
    assert_int_equal(total(), 0);
    gs_emu_check_learn(check, 5, gs_emu_check_released(check, 1));   /* through a flag */
    touch(check, 5, 0, 16, GS_EMU_READ);
    assert_int_equal(total(), 0);
    gs_emu_vector_clear(vector);
    gs_emu_vector_learn(check, vector, gs_emu_check_released(check, 1));
    gs_emu_check_acquire(check, 3, vector);
    assert_true(gs_emu_check_clustered(check, 3, 0, clock));
    gs_emu_vector_destroy(vector);
}

/* Cells with separate histories fill all the space of the tables. */
static void full_tables_invent_nothing(void **state)
{
    enum { CELLS = GS_EMU_CHECK_TRACES / 4 + 1000 };
    gs_emu_check *const check = gs_emu_check_create(1, 2, 4 * CELLS, true, report, describe, NULL);
    (void)state;
    memset(found, 0, sizeof found);
    assert_non_null(check);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < CELLS; i++) gs_emu_check_access(check, 0, i, 0, 4 * i, 4, GS_EMU_WRITE, GS_EMU_AGENT_GENERIC, 0);
        assert_true(check->traces <= GS_EMU_CHECK_TRACES && check->traces > GS_EMU_CHECK_TRACES - 8);
        touch(check, 0, 0, 4 * CELLS, GS_EMU_READ);
        gs_emu_check_copy_begin(check, 0, 1, 0, 4 * CELLS - 16, 16, 1);
        gs_emu_check_copy_end(check, 0, 4 * CELLS - 16, 16, 1, -1, 1);
        barrier(check, 2);
        touch(check, 1, 0, 4 * CELLS, GS_EMU_WRITE);
        assert_int_equal(total(), 0);
        touch(check, 0, 0, 4 * CELLS, GS_EMU_READ);   /* there is space again, so races are found again */
        assert_int_equal(found[GS_EMU_RACE_FINDING], 1);
        memset(found, 0, sizeof found);
        gs_emu_check_reset(check);
    }
    gs_emu_check_destroy(check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unwritten_bytes_are_found, start, stop),
        cmocka_unit_test_setup_teardown(other_blocks_read_what_was_released_to_them, start, stop),
        cmocka_unit_test_setup_teardown(barrier_operations_do_not_race, start, stop),
        cmocka_unit_test_setup_teardown(an_access_reports_each_kind_once, start, stop),
        cmocka_unit_test_setup_teardown(strong_accesses_race_only_with_others, start, stop),
        cmocka_unit_test_setup_teardown(repeated_accesses_keep_cells_apart, start, stop),
        cmocka_unit_test_setup_teardown(reads_before_others_are_forgotten, start, stop),
        cmocka_unit_test_setup_teardown(clocks_tell_what_is_known_and_fenced, start, stop),
        cmocka_unit_test_setup_teardown(nothing_is_left_after_a_reset, start, stop),
        cmocka_unit_test_setup_teardown(a_repeated_access_starts_anew_after_a_reset, start, stop),
        cmocka_unit_test_setup_teardown(barriers_beyond_the_limit_are_believed, start, stop),
        cmocka_unit_test(full_tables_invent_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Where matrices of a batch by pointers lie, and in which order their pointers stand; how many bytes an operand takes where they are nearly too many. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "problem/layout.h"
#include "problem/pool.h"
#include "texts.h"

static void batches_by_pointers_lie_apart(void **state)
{
    (void)state;
    gs_problem p = problem_of("f16:3x5x7:tn:b=4:matrices=pointers"), pool = gs_problem_pool(&p);
    assert_int_equal(gs_problem_check(&pool, NULL), GS_OK);
    assert_int_equal(pool.matrices, GS_MATRICES_STRIDED);
    assert_int_equal(pool.stride_a, 3 * 7 + 48);   /* rows begin anywhere, and so do matrices */
    assert_int_equal(pool.stride_d, 3 * 5 + 96);
    p = problem_of("f16:3x8x12:tn:d=f32:b=4:matrices=pointers"), pool = gs_problem_pool(&p);
    assert_int_equal(pool.stride_a % 8, 4);
    assert_int_equal(pool.stride_d % 16, 8);
    assert_true(pool.stride_d > 3 * 8);
    p.matrices = GS_MATRICES_STRIDED, pool = gs_problem_pool(&p);
    assert_memory_equal(&pool, &p, sizeof p);
}

/* Multiples of 256 bytes apart, at least as far as before. */
static void aligned_pools(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:3x5x7:tn:b=4:matrices=pointers", "bf16:64x64x64:nn:d=f32:b=3:matrices=pointers", "f16:128x128x128:tn:b=2:matrices=pointers"};
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        const gs_problem p = problem_of(texts[i]), pool = gs_problem_pool(&p);
        gs_problem aligned = pool;
        gs_pool_align(&aligned, false);
        const int64_t before[] = {pool.stride_a, pool.stride_b, pool.stride_c, pool.stride_d}, after[] = {aligned.stride_a, aligned.stride_b, aligned.stride_c, aligned.stride_d};
        for (int j = 0; j < 4; j++) {
            const int64_t size = (int64_t)gs_type_size(gs_shape_of(&pool, "abcd"[j]).type);
            assert_true(after[j] * size % 256 == 0 && after[j] >= before[j] && (after[j] - before[j]) * size < 256);
        }
        gs_pool_align(&aligned, true);
        assert_true(aligned.stride_a == p.lda * p.m && aligned.stride_d == p.ldd * p.m);
    }
    gs_problem one = problem_of("f16:3x5x7:tn:matrices=pointers"), pool = gs_problem_pool(&one);
    gs_pool_align(&pool, false);
    assert_true(pool.stride_a == 0 && pool.stride_d == 0);   /* of one matrix there is no next */
}

/* Each matrix once, in the same order of all four, and of three or more never as far apart as each other: that could be taken for a stride. */
static void orders_of_pointers(void **state)
{
    (void)state;
    for (int64_t batch = 1; batch <= 6; batch++) {
        gs_problem p = problem_of("f16:3x5x7:tn:d=f32:matrices=pointers");
        p.batch = batch;
        const gs_problem pool = gs_problem_pool(&p);
        const uint64_t at[4] = {0x100000, 0x200000, 0x300000, 0x400000};
        const uint64_t step[4] = {2 * (uint64_t)pool.stride_a, 2 * (uint64_t)pool.stride_b, 4 * (uint64_t)pool.stride_c, 4 * (uint64_t)pool.stride_d};
        uint64_t first[24], out[24];
        int others = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            gs_pool_pointers(&pool, at, seed, out);
            unsigned seen = 0;
            bool even = batch > 2;
            for (int64_t i = 0; i < batch; i++) {
                const uint64_t place = batch > 1 ? (out[i] - at[0]) / step[0] : 0;
                seen |= 1u << place;
                for (int64_t j = 0; j < 4; j++) assert_int_equal(out[j * batch + i], at[j] + place * step[j]);
                if (i > 1) even = even && out[i] - out[i - 1] == out[1] - out[0];
            }
            assert_int_equal(seen, (1u << batch) - 1);
            assert_false(even);
            if (seed == 0) memcpy(first, out, sizeof first);
            else others += memcmp(first, out, (size_t)(4 * batch) * sizeof *out) != 0;
        }
        assert_true(batch == 1 ? others == 0 : others > 20);
        gs_pool_pointers(&pool, at, GS_POOL_IN_ORDER, out);
        for (int64_t i = 0; i < 4 * batch; i++) assert_int_equal(out[i], at[i / batch] + (uint64_t)(i % batch) * step[i / batch]);
    }
}

/* Offsets: one more than there are groups, or a count for each; also of one group. */
static void bytes_of_offsets(void **state)
{
    (void)state;
    static const struct { const char *problem; size_t bytes; } cases[] = {
        {"f16:8x8x8:tn", 0}, {"f16:8x8x8:tn:b=3", 0}, {"f16:8x8x8:tn:g=1", 8}, {"f16:8x8x8:tn:g=2", 12}, {"f16:8x8x8:tn:gm=1", 4}, {"f16:8x8x8:tn:gm=4", 16}, {"f16:8x8x8:nt:gk=1", 8}, {"f16:8x8x8:nt:gk=3", 16}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        if (gs_problem_bytes(&p, 'f') != cases[i].bytes) fail_msg("%s: %zu bytes", cases[i].problem, gs_problem_bytes(&p, 'f'));
    }
}

/* The last size that is told, and the first that is too large for any memory. */
static void bytes_that_are_too_many(void **state)
{
    (void)state;
    gs_problem p = problem_of("f16:8x8x8:tn:b=65537");
    const int64_t most = (1ll << 46) - 1;   /* 2^16 of them are just below 2^62 */
    p.stride_a = most;
    assert_true(gs_problem_bytes(&p, 'a') == 2 * (65536ull * (uint64_t)most + 64));
    p.stride_a = most + 1;
    assert_true(gs_problem_bytes(&p, 'a') == SIZE_MAX);
    p = problem_of("f16:3x8x8:tn");
    p.lda = INT64_MAX / 4;   /* two rows in front of the last, of a quarter each, would leave no room for it */
    assert_true(gs_problem_bytes(&p, 'a') == SIZE_MAX);
    p.lda = INT64_MAX / 4 - 4;
    assert_true(gs_problem_bytes(&p, 'a') == 2 * (2 * (uint64_t)(INT64_MAX / 4 - 4) + 8));
    p.out = GS_F32;
    p.ldd = INT64_MAX / 4 - 4;
    assert_true(gs_problem_bytes(&p, 'd') == SIZE_MAX);
    p.ldd = INT64_MAX / 8 - 4;
    assert_true(gs_problem_bytes(&p, 'd') == 4 * (2 * (uint64_t)(INT64_MAX / 8 - 4) + 8));
    static const char *const empty[] = {"f16:0x8x8:tn", "f16:8x8x0:tn"};
    for (int i = 0; i < 2; i++) {
        p = problem_of(empty[i]);
        assert_int_equal(gs_problem_bytes(&p, 'a'), 0);
    }
    p.batch = 0;
    assert_int_equal(gs_problem_bytes(&p, 'd'), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_by_pointers_lie_apart), cmocka_unit_test(aligned_pools), cmocka_unit_test(orders_of_pointers), cmocka_unit_test(bytes_of_offsets), cmocka_unit_test(bytes_that_are_too_many)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

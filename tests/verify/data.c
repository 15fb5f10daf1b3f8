/* SPDX-License-Identifier: MIT
 * Special features of single kinds of verification data: blocks of zeros, rows of a pool; and where the matrices of a batch lie. Tests of the types' whole range are in
 * range.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/error.h"
#include "operands/data.h"

/* Data with infinities and NaN: long lines of A and B start or end with a block of zeros; short lines and C have none. */
static void blocks_of_zeros(void **state)
{
    (void)state;
    static const int64_t sums[] = {8, 191, 192, 300};
    enum { COLUMNS = 400 };
    for (int i = 0; i < 2 * 3 * 4; i++) {
        const gs_datagen g = {.kind = GS_VALUES_SPECIAL, .operand = i / 2 % 3, .k = sums[i / 6], .cols = COLUMNS, .seed = (gs_u64)(i % 2) << 40};
        const bool has = g.operand < 2 && g.k >= 192, first = g.operand == i % 2;
        const int64_t length = g.operand < 2 ? g.k : COLUMNS;
        for (int64_t line = 0; line < 5; line++)
            for (int64_t k = 0; k < length; k++) {
                const bool zero = gs_value(&g, 0, g.operand == 1 ? k : line, g.operand == 1 ? line : k) == 0;
                assert_int_equal(zero, has && (first ? k < 64 : k >= length - 64));
            }
    }
}

/* Rows of a pool: three of four repeat their first half reversed and negated; one has a NaN, one an infinity, one is zero. */
static void rows_of_a_pool(void **state)
{
    (void)state;
    enum { POOL = 13 };
    for (int64_t k = 8; k <= 9; k++) {
        const gs_datagen g = {.kind = GS_VALUES_WIDE, .operand = 0, .k = k, .scattered = 1, .pool = POOL, .step = 1, .seed = 3};
        for (int64_t row = 0; row < POOL; row++) {
            int nans = 0, infinities = 0, zeros = 0, alone = 0;
            for (int64_t i = 0; i < k; i++) {
                const float value = gs_value(&g, 0, row, i), other = gs_value(&g, 0, row, k - 1 - i);
                nans += isnan(value);
                infinities += isinf(value);
                zeros += value == 0;
                alone += i != k - 1 - i && isfinite(value) && isfinite(other) && value != -other;
            }
            assert_int_equal(nans, row == POOL - 1);
            assert_int_equal(infinities, row == POOL - 2);
            assert_int_equal(zeros == k, row == POOL - 4);
            assert_int_equal(alone > 0, row % 4 == 0);
        }
    }
}

/* Matrices one after the other, side by side, and overlapping. */
static void places_of_matrices(void **state)
{
    (void)state;
    static const struct { gs_placed placed; bool behind, apart; int64_t at; } cases[] = {   /* at: offset of row 1, column 2 of the last matrix */
        {{3, 4, 5, 14, 2}, true, true, 21}, {{3, 4, 5, 15, 2}, true, true, 22}, {{3, 4, 5, 13, 2}, false, false, 0}, {{3, 4, 10, 5, 2}, false, true, 17},
        {{3, 4, 10, 6, 2}, false, true, 18}, {{3, 4, 10, 7, 2}, false, false, 0}, {{3, 4, 10, 3, 2}, false, false, 0}, {{3, 4, 5, 0, 1}, true, true, 7},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_placed *const p = &cases[i].placed;
        long long matrix, row, col;
        assert_int_equal(gs_placed_behind(p), cases[i].behind);
        assert_int_equal(gs_placed_apart(p), cases[i].apart);
        if (!cases[i].apart) continue;
        assert_true(gs_placed_find(p, cases[i].at, &matrix, &row, &col));
        assert_true(matrix == p->matrices - 1 && row == 1 && col == 2);
        assert_false(gs_placed_find(p, 4, &matrix, &row, &col));   /* place 4 is behind the first row */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_of_zeros), cmocka_unit_test(rows_of_a_pool), cmocka_unit_test(places_of_matrices)};
    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}

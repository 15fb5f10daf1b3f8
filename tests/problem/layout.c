/* SPDX-License-Identifier: MIT
 * Proves where the elements of a problem's operands lie, how many bytes they take, and what becomes of padding in another layout or with other extents. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "problem/layout.h"
#include "texts.h"

static void the_other_layout_keeps_the_padding(void **state)
{
    (void)state;
    gs_problem nn = gs_problem_make(GS_F16, GS_NN, 100, 200, 300);
    const gs_problem tn = gs_problem_in_layout(&nn, GS_TN);
    assert_int_equal(tn.layout, GS_TN);
    assert_int_equal(tn.ldb, 300);
    assert_int_equal(tn.lda, nn.lda);
    assert_int_equal(tn.ldd, nn.ldd);
    nn.ldb = 208;
    const gs_problem padded = gs_problem_in_layout(&nn, GS_TN);
    assert_int_equal(padded.ldb, 308);
    assert_int_equal(gs_problem_check(&padded, NULL), GS_OK);
    const gs_problem back = gs_problem_in_layout(&padded, GS_NN);
    char text[GS_PROBLEM_TEXT], want[GS_PROBLEM_TEXT];
    assert_string_equal(gs_problem_format(&back, text), gs_problem_format(&nn, want));

    /* a row of B has one element even where its extent is 0 */
    const gs_problem empty = gs_problem_make(GS_F16, GS_NN, 100, 0, 300), other = gs_problem_in_layout(&empty, GS_TN);
    assert_int_equal(other.ldb, 300);
}

/* A and B by the letters: where elements are, how long rows are, what changes with B alone. */
static void letters_say_how_operands_are_stored(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t     lda, ldb, rows_a, rows_b, a, b;   /* a: place of A(row 8 of 10 a matrix, k 3); b: of B(k 3, column 5), both of the second matrix */
    } cases[] = {
        {"f16:10x20x30:nn:b=2", 30, 20, 10, 30, 18 * 30 + 3, (30 + 3) * 20 + 5},
        {"f16:10x20x30:tn:b=2", 30, 30, 10, 20, 18 * 30 + 3, (20 + 5) * 30 + 3},
        {"f16:10x20x30:nt:b=2", 10, 20, 30, 30, (30 + 3) * 10 + 8, (30 + 3) * 20 + 5},
        {"f16:10x20x30:tt:b=2", 10, 30, 30, 20, (30 + 3) * 10 + 8, (20 + 5) * 30 + 3},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].text);
        char text[GS_PROBLEM_TEXT];
        assert_string_equal(gs_problem_format(&p, text), cases[i].text);
        assert_int_equal(p.layout, i);
        assert_int_equal(p.lda, cases[i].lda);
        assert_int_equal(p.ldb, cases[i].ldb);
        assert_int_equal(gs_shape_of(&p, 'a').rows, cases[i].rows_a);
        assert_int_equal(gs_shape_of(&p, 'b').rows, cases[i].rows_b);
        assert_int_equal(gs_place_in_a(&p, 18, 3), cases[i].a);
        assert_int_equal(gs_place_in_b(&p, 1, 3, 5), cases[i].b);
        assert_int_equal(gs_problem_bytes(&p, 'a'), 2 * 2 * 300);
        assert_int_equal(gs_problem_check(&p, NULL), GS_OK);
        for (gs_layout b = GS_NN; b <= GS_TT; b++) {
            const gs_problem other = gs_problem_in_layout(&p, b);
            assert_int_equal(gs_is_a_transposed(other.layout), gs_is_a_transposed(p.layout));
            assert_int_equal(gs_is_b_transposed(other.layout), gs_is_b_transposed(b));
            assert_int_equal(other.lda, p.lda);
        }
    }
    gs_layout layout = GS_TT;
    assert_false(gs_layout_parse("n", &layout) || gs_layout_parse("nnn", &layout) || gs_layout_parse("", &layout));
    assert_int_equal(layout, GS_TT);
}

static void other_extents_keep_the_padding(void **state)
{
    (void)state;
    gs_problem p = problem_of("f16:100x200x300:nn:lda=304:ldb=208:ldc=200:ldd=201:b=3:beta=1");
    gs_problem want = problem_of("f16:10x20x30:nn:lda=34:ldb=28:ldc=20:ldd=21:b=3:beta=1"), got = gs_problem_resized(&p, 10, 20, 30);
    assert_memory_equal(&got, &want, sizeof got);
    got = gs_problem_resized(&got, 100, 200, 300);
    assert_memory_equal(&got, &p, sizeof got);
    p = problem_of("f16:100x200x300:tn:ldb=301");
    want = problem_of("f16:100x200x7:tn:ldb=8");
    got = gs_problem_resized(&p, 100, 200, 7);
    assert_memory_equal(&got, &want, sizeof got);
}

static void strides_say_where_matrices_are(void **state)
{
    (void)state;
    gs_problem p = problem_of("f16:3x5x7:tn:lda=14:ldd=12:b=2:sa=7:sb=0:sd=6:ep=bias_m:se=4");
    assert_int_equal(gs_problem_bytes(&p, 'a'), (7 + 2 * 14 + 7) * 2);
    assert_int_equal(gs_problem_bytes(&p, 'b'), 5 * 7 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'd'), (6 + 2 * 12 + 5) * 2);
    assert_int_equal(gs_problem_bytes(&p, 'e'), (4 + 3) * 2);
    assert_int_equal(gs_place_in_a(&p, 4, 2), 7 + 14 + 2);
    assert_int_equal(gs_place_in_b(&p, 1, 2, 3), 3 * 7 + 2);
    assert_int_equal(gs_place_in_d(&p, 5, 1), 6 + 2 * 12 + 1);
    assert_int_equal(gs_rows_unit(&p, 'd') % 2, 0);
    assert_int_equal(gs_rows_unit(&p, 'a') % 2, 1);
    const gs_problem larger = gs_problem_resized(&p, 4, 9, 7);
    assert_int_equal(gs_problem_check(&larger, NULL), GS_OK);
    assert_int_equal(larger.stride_d, 10);
    assert_int_equal(larger.ldd, 20);
    assert_int_equal(larger.stride_b, GS_SAME_MATRIX);
    p = problem_of("f16:3x5x7:tn:ldaux=6:b=2:saux=20:ep=relu+aux");
    assert_int_equal(gs_problem_bytes(&p, 'g'), (20 + 2 * 6 + 5) * 2);
    assert_int_equal(gs_problem_resized(&p, 4, 9, 7).ldaux, 10);
    assert_int_equal(gs_problem_resized(&p, 4, 9, 7).stride_aux, 4 * 10 + 2);
    assert_int_equal(gs_problem_of_aux(&p).ldd, 6);
    assert_int_equal(gs_problem_sums(&p).ldaux, 0);
    p = problem_of("f16:3x5x7:tn:b=2:ep=drelu");
    assert_int_equal(gs_problem_bytes(&p, 'g'), 2 * 3 * 5 * 2);
    assert_int_equal(gs_problem_resized(&p, 4, 9, 7).ldaux, 0);
    p = problem_of("f16:3x5x7:tn:ep=relu");
    assert_int_equal(gs_problem_bytes(&p, 'g'), 0);
    p = problem_of("f16:3x5x7:tn:b=2:sa=30");
    assert_int_equal(gs_problem_resized(&p, 4, 5, 7).stride_a, 37);
}

static void bytes_and_flops(void **state)
{
    (void)state;
    gs_problem p = problem_of("f16:3x5x7:nn:d=f32:lda=8:ldb=6:b=2");
    assert_int_equal(gs_problem_bytes(&p, 'a'), ((6 - 1) * 8 + 7) * 2);
    assert_int_equal(gs_problem_bytes(&p, 'b'), ((14 - 1) * 6 + 5) * 2);
    assert_int_equal(gs_problem_bytes(&p, 'c'), 6 * 5 * 4);
    assert_int_equal(gs_problem_bytes(&p, 'd'), 6 * 5 * 4);
    p.layout = GS_TN, p.ldb = 8;
    assert_int_equal(gs_problem_bytes(&p, 'b'), ((10 - 1) * 8 + 7) * 2);
    p.k = 0;
    assert_int_equal(gs_problem_bytes(&p, 'a'), 0);
    p = problem_of("f16:2147483647x2147483647x1:nn:b=2147483647");
    assert_true(gs_problem_bytes(&p, 'd') == SIZE_MAX);   /* unchecked: saturates */
    /* the most that can be counted, and one more */
    gs_problem most = gs_problem_make(GS_F16, GS_NN, 1, 1, 1);
    most.ldd = 1;
    most.m = INT64_MAX / 2;
    assert_true(gs_problem_bytes(&most, 'd') == (size_t)(INT64_MAX / 2) * 2);
    most.m++;
    assert_true(gs_problem_bytes(&most, 'd') == SIZE_MAX);
    p = problem_of("bf16:64x128x256:tn:g=5:ep=bias+silu+gate");
    assert_int_equal(gs_problem_bytes(&p, 'b'), 5 * 256 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'e'), 5 * 256 * 2);
    p = problem_of("bf16:64x128x256:tn:g=5:ep=bias");
    assert_int_equal(gs_problem_bytes(&p, 'a'), 64 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'b'), 5 * 128 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'd'), 64 * 128 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'e'), 5 * 128 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'f'), 6 * 4);
    assert_true(gs_problem_flops(&p) == 2.0 * 64 * 128 * 256);
    p = problem_of("bf16:60x128x256:nt:gk=5");
    assert_int_equal(p.batch, 5);
    assert_int_equal(gs_problem_bytes(&p, 'a'), 60 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'b'), 128 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'd'), 5 * 60 * 128 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'f'), 6 * 4);
    assert_true(gs_problem_flops(&p) == 2.0 * 60 * 128 * 256);
    p = problem_of("bf16:60x128x256:tn:gm=5");
    assert_int_equal(gs_problem_bytes(&p, 'a'), 60 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'b'), 5 * 128 * 256 * 2);
    assert_int_equal(gs_problem_bytes(&p, 'f'), 5 * 4);
    p = problem_of("f16:64x128x256:nn:b=3");
    assert_true(gs_problem_flops(&p) == 2.0 * 64 * 128 * 256 * 3);
    assert_int_equal(gs_type_size(GS_F32), 4);
    assert_int_equal(gs_type_size(GS_BF16), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_layout_keeps_the_padding),
        cmocka_unit_test(letters_say_how_operands_are_stored),
        cmocka_unit_test(other_extents_keep_the_padding),
        cmocka_unit_test(strides_say_where_matrices_are),
        cmocka_unit_test(bytes_and_flops),
    };
    return cmocka_run_group_tests_name("problem/layout", tests, NULL, NULL);
}

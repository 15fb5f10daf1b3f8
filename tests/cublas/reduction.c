/* SPDX-License-Identifier: MIT
 * Of cuBLASLt's suggestions, none that rounds split-K sums to a type narrower than the accumulator may be chosen. All others keep their numbers, because tuned tables
 * refer to them. The library is a fake (fake/libcublaslt.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline/baseline.h"
#include "cublas/cublas.h"
#include "cublas/library.h"

static gs_status some_memory(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device;
    (void)error;
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return GS_OK;
}

static void free_nothing(gs_device *device, gs_pointer pointer)
{
    (void)device;
    (void)pointer;
}

static const gs_device_ops ops = {.memory_info = some_memory, .free = free_nothing};
static gs_device device = {.ops = &ops};

static gs_problem problem_of(gs_type in, gs_type acc, gs_type out)
{
    gs_problem problem = gs_problem_make(in, GS_TN, 65, 8204, 437);
    problem.acc = acc;
    problem.out = out;
    return problem;
}

static gs_status open_with(gs_library **out, const gs_problem *problem, const char *all, const char *masked, gs_error *error)
{
    setenv("FAKE_CUBLASLT", all, 1);
    setenv("FAKE_CUBLASLT_MASKED", masked, 1);
    return gs_library_create(out, &device, problem, error);
}

/* The id of the algorithm at a place of the list, 0 if it must not be chosen. */
static int algo_at(gs_library *library, int index)
{
    char text[256];
    int id = 0;
    if (gs_library_choose(library, index) != GS_OK) return 0;
    gs_library_describe(library, text, sizeof text);
    assert_int_equal(sscanf(text, "algo %d", &id), 1);
    return id;
}

static void scheme(void **state)
{
    (void)state;
    const gs_problem narrow[] = {problem_of(GS_F16, GS_F32, GS_F16), problem_of(GS_BF16, GS_F32, GS_BF16)};
    const gs_problem wide[] = {problem_of(GS_F16, GS_F32, GS_F32), problem_of(GS_F16, GS_F16, GS_F16), problem_of(GS_BF16, GS_F32, GS_F32)};
    for (int i = 0; i < 2; i++) {
        assert_true(gs_library_accumulates(&narrow[i], GS_LT_REDUCTION_NONE));
        assert_true(gs_library_accumulates(&narrow[i], GS_LT_REDUCTION_COMPUTE_TYPE));
        assert_false(gs_library_accumulates(&narrow[i], GS_LT_REDUCTION_INPLACE));
        assert_false(gs_library_accumulates(&narrow[i], GS_LT_REDUCTION_OUTPUT_TYPE));
    }
    for (int i = 0; i < 3; i++)
        for (uint32_t reduction = 0; reduction <= 4; reduction += reduction ? reduction : 1) assert_true(gs_library_accumulates(&wide[i], reduction));
}

static void nothing_is_left_out(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_library *library;
    const gs_problem half = problem_of(GS_F16, GS_F16, GS_F16), usual = problem_of(GS_F16, GS_F32, GS_F16);
    assert_int_equal(open_with(&library, &half, "24:4 23:1 7:0", "", &error), GS_OK);   /* f16 sums were requested */
    assert_int_equal(gs_library_count(library), 3);
    assert_int_equal(gs_library_chosen(library), 0);
    assert_int_equal(algo_at(library, 1), 23);
    gs_library_destroy(&library);
    assert_int_equal(open_with(&library, &usual, "66:0 24:2 7:0", "9:0", &error), GS_OK);   /* so no second request with a mask */
    assert_int_equal(gs_library_count(library), 3);
    assert_int_equal(gs_library_chosen(library), 0);
    assert_int_equal(algo_at(library, 1), 24);
    assert_int_equal(gs_library_choose(library, 3), GS_ERROR_RANGE);
    gs_library_destroy(&library);
}

static void others_keep_their_places(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_library *library;
    const gs_problem problem = problem_of(GS_F16, GS_F32, GS_F16);
    /* algorithm 66 is in both lists, 31 only in the second */
    assert_int_equal(open_with(&library, &problem, "24:4 66:0 23:1 24:2", "31:2 66:0", &error), GS_OK);
    assert_int_equal(gs_library_count(library), 5);
    assert_int_equal(gs_library_chosen(library), 4);   /* cuBLASLt's first choice with the mask */
    static const int algos[] = {0, 66, 0, 24, 31};
    for (int i = 0; i < 5; i++) assert_int_equal(algo_at(library, i), algos[i]);
    assert_int_equal(gs_library_choose(library, 0), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_library_chosen(library), 4);   /* unchanged */
    gs_library_destroy(&library);

    assert_int_equal(open_with(&library, &problem, "24:4 66:0 7:0", "66:0", &error), GS_OK);
    assert_int_equal(gs_library_count(library), 3);
    assert_int_equal(gs_library_chosen(library), 1);
    gs_library_destroy(&library);
    assert_int_equal(open_with(&library, &problem, "24:4 66:0 7:0", "", &error), GS_OK);   /* no suggestions with the mask: the best known one */
    assert_int_equal(gs_library_chosen(library), 1);
    gs_library_destroy(&library);
    /* With the mask, only suggestions that must not be chosen: the best known one. */
    static const char *const useless[] = {"24:4", "24:1 24:4", "31:4 23:1"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(open_with(&library, &problem, "24:4 66:0 7:0", useless[i], &error), GS_OK);
        assert_int_equal(gs_library_chosen(library), 1);
        assert_int_equal(algo_at(library, 2), 7);
        gs_library_destroy(&library);
    }
}

static void only_such(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_library *library;
    const gs_problem problem = problem_of(GS_BF16, GS_F32, GS_BF16);
    assert_int_equal(open_with(&library, &problem, "24:4 24:1", "24:2", &error), GS_OK);
    assert_int_equal(gs_library_chosen(library), 2);
    gs_library_destroy(&library);
    assert_int_equal(open_with(&library, &problem, "24:4 24:1", "24:4", &error), GS_ERROR_UNSUPPORTED);   /* cuBLASLt ignores the mask */
    assert_null(library);
    assert_non_null(strstr(error.text, "round"));
    assert_int_equal(open_with(&library, &problem, "", "", &error), GS_ERROR_UNSUPPORTED);
    assert_null(library);
}

static double fake_us[8];
static int    picked_from;

static gs_status pick(gs_device *on, const gs_problem *problem, gs_contender *list, int count, double *us, gs_error *error)
{
    (void)on; (void)problem; (void)list; (void)error;
    picked_from = count;
    memcpy(us, fake_us, (size_t)count * sizeof *us);
    return GS_OK;
}

/* Only suggestions that may be chosen are timed. One with a wrong result has no time, and the next is chosen. */
static void tuned(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_contender contender;
    const gs_problem problem = problem_of(GS_F16, GS_F32, GS_F16);
    setenv("FAKE_CUBLASLT", "24:4 66:0 23:1 24:2", 1);
    setenv("FAKE_CUBLASLT_MASKED", "66:0", 1);
    assert_int_equal(gs_baseline_create(&contender, &device, "cublaslt-autotuning", pick, &error), GS_OK);
    fake_us[0] = 2, fake_us[1] = 1;
    assert_int_equal(contender.prepare(&contender, &problem, &error), GS_OK);
    assert_int_equal(picked_from, 2);
    assert_int_equal(contender.suggestion, 4);
    fake_us[1] = (double)INFINITY;
    assert_int_equal(contender.prepare(&contender, &problem, &error), GS_OK);
    assert_int_equal(contender.suggestion, 2);
    fake_us[0] = (double)INFINITY;
    assert_int_equal(contender.prepare(&contender, &problem, &error), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "right result"));
    contender.destroy(&contender);
}

/* The fake refuses matrices that do not fit together. */
static void every_layout_fits(void **state)
{
    (void)state;
    for (gs_layout layout = GS_NN; layout <= GS_TT; layout++)
        for (int i = 0; i < 4; i++) {
            gs_problem problem = gs_problem_make(GS_BF16, layout, 65, 8204, 437);
            gs_library *library;
            gs_error error = {0};
            problem.beta = i % 2;
            problem.batch = i < 2 ? 1 : 3;
            if (open_with(&library, &problem, "7:0", "7:0", &error) != GS_OK) fail_msg("layout %d: %s", layout, error.text);
            assert_int_equal(algo_at(library, 0), 7);
            gs_library_destroy(&library);
        }
}

int main(void)
{
    setenv("GEMMSMITH_CUBLASLT", GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheme),    cmocka_unit_test(nothing_is_left_out), cmocka_unit_test(others_keep_their_places),
        cmocka_unit_test(only_such), cmocka_unit_test(tuned), cmocka_unit_test(every_layout_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

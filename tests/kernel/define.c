/* SPDX-License-Identifier: MIT
 * What a kernel is told of its problem: the options of each kind of problem, sizes as constants, the entry that adds up columns, which arguments it takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "texts.h"

/* All options behind each other, without -DGS_. */
static const char *options_of(const gs_kernel *kernel)
{
    static char text[GS_MAX_OPTIONS * GS_OPTION];
    size_t size = 0;
    text[0] = '\0';
    for (int i = 0; i < kernel->option_count; i++) {
        assert_int_equal(strncmp(kernel->option[i], "-DGS_", 5), 0);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", i ? " " : "", kernel->option[i] + 5);
    }
    return text;
}

static void each_kind_of_problem(void **state)
{
    (void)state;
    static const struct { const char *problem, *options; } cases[] = {
        {"f16:8x8x8:nn",                          "IN=0 ACC=2 OUT=0 LAYOUT=0 BETA=0"},
        {"bf16:8x8x8:tt:d=f32:beta=2",            "IN=1 ACC=2 OUT=2 LAYOUT=3 BETA=1"},
        {"f16:8x8x8:tn:acc=f16:ep=bias",          "IN=0 ACC=0 OUT=0 LAYOUT=1 BETA=0 BIAS=1"},
        {"f16:8x8x8:tn:ep=bias_m+gelu_erf",       "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 BIAS=2 ACTIVATION=3"},
        {"f16:8x8x8:tn:ep=dbias",                 "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 DBIAS=1 MORE=1"},
        {"f16:8x8x8:tn:b=2:se=8:ep=dbias",        "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 DBIAS=2 MORE=1 STRIDES=1"},
        {"f16:8x8x8:tn:beta=1:ep=relu+residual",  "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=1 ACTIVATION=1 RESIDUAL=1"},
        {"f16:8x8x8:tn:ep=silu+gate",             "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 ACTIVATION=4 GATE=1"},
        {"f16:8x8x8:tn:ep=silu+gate_i",           "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 ACTIVATION=4 GATE=2"},
        {"f16:8x8x8:tn:ep=relu+aux",              "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 ACTIVATION=1 MORE=1 AUX=1"},
        {"f16:8x8x8:tn:b=2:sa=0",                 "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 STRIDES=1 SAME=1"},
        {"f16:8x8x8:tn:b=2:sb=0",                 "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 STRIDES=1 SAME=2"},
        {"f16:8x8x8:tn:b=2:sa=0:sb=0",            "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 STRIDES=1 SAME=3"},
        {"f16:8x8x8:tn:b=2:sa=128",               "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 STRIDES=1"},
        {"bf16:8x8x8:nt:gk=2",                    "IN=1 ACC=2 OUT=1 LAYOUT=2 BETA=0 MORE=1 SAME=3 K_GROUPS=1"},
        {"f16:8x8x8:tn:scalars=device",           "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 SCALARS=1"},
        {"f16:8x8x8:tn:ep=scale_m",               "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 SCALES=1"},
        {"f16:8x8x8:tn:ep=scale_m+scale_n",       "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 MORE=1 SCALES=3"},
        {"bf16:8x8x8:tn:g=4",                     "IN=1 ACC=2 OUT=1 LAYOUT=1 BETA=0 MORE=1 GROUPED=4"},
        {"bf16:8x8x8:tn:gm=4",                    "IN=1 ACC=2 OUT=1 LAYOUT=1 BETA=0 MORE=1 GROUPED=4 MASKED=1"},
        {"f16:8x8x8:tn:b=2:matrices=pointers",    "IN=0 ACC=2 OUT=0 LAYOUT=1 BETA=0 POINTERS=1"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        gs_kernel kernel = {0};
        gs_kernel_define_problem(&kernel, &problem);
        if (strcmp(options_of(&kernel), cases[i].options) != 0) fail_msg("%s: %s", cases[i].problem, options_of(&kernel));
    }
}

static void sizes_as_constants(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:11x12x13:tn:lda=14:ldb=15:ldc=16:ldd=17:beta=1");
    gs_kernel kernel = {0};
    gs_kernel_define_sizes(&kernel, &problem);
    assert_string_equal(options_of(&kernel), "FIXED=1 M=11 N=12 K=13 LDA=14 LDB=15 LDC=16 LDD=17");
}

/* One vector, or one for each matrix of a batch. */
static void sums_of_columns(void **state)
{
    (void)state;
    for (int each = 0; each < 2; each++) {
        for (int dependent = 0; dependent < 2; dependent++) {
            const gs_problem problem = problem_of(each ? "f16:200x100x8:tn:b=3:se=100:ep=dbias" : "f16:200x100x8:tn:b=3:ep=dbias");
            gs_kernel kernel = {.manifest = {.entry_count = 1, .entry = {{.dependent = dependent}}}};
            gs_error error = {0};
            assert_int_equal(gs_kernel_add_column_sums(&kernel, &problem, 64, 1, &error), GS_OK);
            assert_int_equal(kernel.manifest.entry_count, 2);
            const gs_entry *const entry = &kernel.manifest.entry[1];
            assert_string_equal(entry->name, "gs_column_sums");
            assert_int_equal(entry->dependent, dependent);
            assert_true(entry->block[0] == 32 && entry->block[1] == 8 && entry->block[2] == 1);
            assert_true(entry->cluster[0] == 1 && entry->cluster[1] == 1 && entry->cluster[2] == 1);
            assert_int_equal(value_of(&entry->grid[0], &problem), 4);
            assert_int_equal(value_of(&entry->grid[1], &problem), each ? 3 : 1);
            assert_int_equal(value_of(&entry->grid[2], &problem), 1);
            assert_int_equal(value_of(&kernel.manifest.workspace, &problem), 4 * 3 * 4 * 100);
        }
    }
    /* several rows of sums for as many rows; and of groups, which begin anywhere, one more each */
    const gs_problem problem = problem_of("f16:200x100x8:tn:b=3:ep=dbias"), groups = problem_of("f16:200x100x8:tn:g=7:ep=dbias");
    gs_kernel kernel = {.manifest = {.entry_count = 1}}, of_groups = kernel;
    gs_error error = {0};
    assert_int_equal(gs_kernel_add_column_sums(&kernel, &problem, 64, 8, &error), GS_OK);
    assert_int_equal(value_of(&kernel.manifest.workspace, &problem), 4 * 3 * 4 * 8 * 100);
    assert_int_equal(gs_kernel_add_column_sums(&of_groups, &groups, 8, 1, &error), GS_OK);
    assert_int_equal(value_of(&of_groups.manifest.workspace, &groups), 4 * (25 + 7) * 100);
    assert_int_equal(value_of(&of_groups.manifest.entry[1].grid[1], &groups), 7);
}

/* What a compiled kernel says of its parameter counts; else what its problem wants. */
static void arguments_that_are_taken(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 8, GS_ARGS_BYTES, GS_ARGS_MORE_BYTES};
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        const gs_problem plain = problem_of("f16:8x8x8:tn:beta=1:ep=bias"), more = problem_of("bf16:8x8x8:tn:g=4");
        assert_int_equal(gs_args_taken(&plain, sizes[i]), i == 3 ? GS_ARGS_MORE_BYTES : GS_ARGS_BYTES);
        assert_int_equal(gs_args_taken(&more, sizes[i]), i == 2 ? GS_ARGS_BYTES : GS_ARGS_MORE_BYTES);
    }
}

/* A count of options that says that one did not fit stays, whatever comes then. */
static void what_does_not_fit(void **state)
{
    (void)state;
    gs_kernel kernel = {0};
    gs_kernel_define(&kernel, "GS_A_NAME_OF_FORTY_ONE_CHARACTERS_AND_NO_X", 1);
    const int first = kernel.option_count;
    gs_kernel_define(&kernel, "GS_A_NAME_THAT_IS_MUCH_TOO_LONG_FOR_ONE_OPTION_OF_A_KERNEL", 1);
    assert_true(first == 1 && kernel.option_count == GS_MAX_OPTIONS + 1);
    gs_kernel_define(&kernel, "GS_X", 1);
    assert_int_equal(kernel.option_count, GS_MAX_OPTIONS + 1);
    gs_error error = {0};
    const gs_problem problem = problem_of("f16:8x8x8:tn");
    assert_int_equal(gs_kernel_build(&kernel, &(gs_schedule){.family = GS_FAMILIES}, &problem, gs_caps_find("h200"), &error), GS_ERROR_RANGE);
    assert_string_equal(error.field, "family");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_problem), cmocka_unit_test(sizes_as_constants), cmocka_unit_test(sums_of_columns),
        cmocka_unit_test(arguments_that_are_taken),
        cmocka_unit_test(what_does_not_fit),
    };
    return cmocka_run_group_tests_name("kernel/define", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Plans that use cuBLASLt, on a fake driver with a fake cuBLASLt: which suggestion a table row means, also if the row is older than the rule that leaves out some
 * suggestions; and the choice between our schedule and cuBLASLt by the times that the weights predict. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "device/device.h"
#include "folder.h"
#include "learn/weights.h"

static char folder[] = "/tmp/gemmsmith-lt-XXXXXX";

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    setenv("GEMMSMITH_LIBCUDA", GS_BINARY_DIR "/tests/fake/libfake_cuda.so", 1);
    setenv("GEMMSMITH_CUBLASLT", GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so", 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return remove_all(folder);
}

/* Checks a plan's choice when the table has this row, measured with this version of cuBLASLt, for the plan's problem or for a similar one. */
static void expect_choice_of(const char *problem_of_row, const char *row, int version, const char *all, const char *masked, gs_origin origin, const char *choice)
{
    char path[64], text[256];
    gs_error error = {0};
    gs_context *context = NULL;
    gs_plan *plan = NULL;
    setenv("FAKE_CUBLASLT", all, 1);
    setenv("FAKE_CUBLASLT_MASKED", masked, 1);
    snprintf(path, sizeof path, "%s/t.tuned", folder);
    snprintf(text, sizeof text, "gemmsmith-tuned 1\n%s %s 2.0 2.0 1 1 1 1755 nvidia-h200 90 132 %d 2026-01-01T00:00:00Z test\n", problem_of_row, row, version);
    assert_int_equal(gs_file_write(path, text, strlen(text), &error), GS_OK);
    gs_config config = gs_config_default();
    config.tuned_path = path;
    if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 65, 8204, 437);
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(gs_plan_origin(plan), origin);
    assert_string_equal(gs_plan_schedule(plan), choice);
    gs_plan_destroy(&plan);
    gs_close(&context);
}

static void expect_choice(const char *row, const char *all, const char *masked, const char *choice)
{
    expect_choice_of("f16:65x8204x437:tn", row, 130100, all, masked, GS_ORIGIN_TABLE, choice);
}

/* The number of a suggestion counts only for the cuBLASLt version and the problem with which it was measured. Otherwise cuBLASLt's first suggestion is used. */
static void numbers_of_others_do_not_count(void **state)
{
    (void)state;
    expect_choice_of("f16:65x8204x437:tn", "cublaslt/3", 130100, "66:0 24:2 7:0", "", GS_ORIGIN_TABLE, "cublaslt/3");
    expect_choice_of("f16:65x8204x437:tn", "cublaslt/3", 130099, "66:0 24:2 7:0", "", GS_ORIGIN_TABLE, "cublaslt");
    expect_choice_of("f16:65x8204x437:tn", "cublaslt/3", 130101, "66:0 24:2 7:0", "", GS_ORIGIN_TABLE, "cublaslt");
    expect_choice_of("bf16:65x8204x437:tn", "cublaslt/3", 130100, "66:0 24:2 7:0", "", GS_ORIGIN_NEAREST, "cublaslt");
}

static void rows_keep_their_meaning(void **state)
{
    (void)state;
    expect_choice("cublaslt/2", "66:0 24:2 7:0", "", "cublaslt/2");
    expect_choice("cublaslt", "66:0 24:2 7:0", "", "cublaslt");
    expect_choice("cublaslt/9", "66:0 24:2 7:0", "", "cublaslt");              /* there are fewer suggestions */
    expect_choice("cublaslt/3", "24:4 66:0 7:0", "7:0 66:0", "cublaslt/3");    /* a suggestion before it is left out */
}

static void rows_of_what_is_left_out(void **state)
{
    (void)state;
    expect_choice("cublaslt", "24:4 66:0 7:0", "7:0 66:0", "cublaslt/3");      /* the first suggestion is left out: cuBLASLt's first with the mask is used */
    expect_choice("cublaslt/2", "66:0 24:1 7:0", "66:0 7:0", "cublaslt");
    expect_choice("cublaslt", "24:4", "24:2", "cublaslt/2");
    expect_choice("cublaslt/2", "24:4", "24:2", "cublaslt/2");                 /* numbered after the complete list */
}

/* Writes weights that predict, for cuBLASLt, `times` its lower bound; for every schedule, what the time model predicts; and for cuBLASLt's first suggestion, `first` more
 * in the logarithm of its time than for the others. */
static void write_weights(const char *path, double times, double first)
{
    gs_weights weights;
    gs_error error = {0};
    if (gs_weights_create(&weights, 1, 1, &error) != GS_OK) fail_msg("%s", error.text);
    gs_net *const net = &weights.surrogate.net[0];   /* hidden 0 -> 0 -> out, and only cuBLASLt's token has a weight to hidden 0 */
    memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
    net->weights[(GS_PROBLEM_FEATURES + GS_WORK_FEATURES + gs_token_of(GS_FAMILIES, -1, 0)) * GS_HIDDEN] = (float)log(times);
    net->weights[net->width[0] * GS_HIDDEN + GS_HIDDEN] = 1;
    net->weights[net->count - 1 - GS_HIDDEN] = 1;
    if (gs_ranker_create(&weights.ranker, 1, &error) != GS_OK) fail_msg("%s", error.text);
    for (int i = 0; i < weights.ranker.nets; i++) {
        gs_net *const ranks = &weights.ranker.net[i];
        memset(ranks->weights, 0, (size_t)ranks->count * sizeof *ranks->weights);
        ranks->weights[GS_PROBLEM_FEATURES * GS_HIDDEN] = (float)first;
        ranks->weights[(ranks->width[0] + 1) * GS_HIDDEN] = 1;
        ranks->weights[ranks->count - 1 - GS_HIDDEN] = 1;
    }
    if (gs_weights_save(&weights, path, &error) != GS_OK) fail_msg("%s", error.text);
    gs_weights_free(&weights);
}

static void a_choice_is_doubted(void **state)
{
    (void)state;
    /* times: cuBLASLt's predicted time over its lower bound; first: log of how much slower its first suggestion is; choice: the plan's schedule, NULL: any */
    static const struct { double times; const char *suggestions; gs_origin origin; double first; const char *choice, *epilogue; } cases[] = {
        {1.0001, "66:0", GS_ORIGIN_CUBLASLT, 0, "cublaslt"}, {100, "66:0", GS_ORIGIN_DEFAULT, 0, NULL}, {1.0001, "", GS_ORIGIN_DEFAULT, 0, NULL},
        {1.0001, "66:0 24:2", GS_ORIGIN_CUBLASLT, 0, "cublaslt"}, {1.0001, "66:0 24:2", GS_ORIGIN_CUBLASLT, 0.2, "cublaslt/2"},
        {1.0001, "66:0 7:0 24:2", GS_ORIGIN_CUBLASLT, 0.2, "cublaslt/3"},   /* no times were measured for algorithm 7 */
        {2.6, "66:0", GS_ORIGIN_DEFAULT, 0, NULL, ":ep=silu"},                 /* a kernel of ours follows the product */
        {2.6, "66:0", GS_ORIGIN_CUBLASLT, 0, "cublaslt", ":ep=bias+gelu"},
    };
    char path[64];
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    snprintf(path, sizeof path, "%s/d.weights", folder);
    setenv("GEMMSMITH_WEIGHTS", path, 1);
    setenv("GEMMSMITH_CACHE", folder, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_context *context = NULL;
        gs_plan *plan = NULL;
        write_weights(path, cases[i].times, cases[i].first);
        setenv("FAKE_CUBLASLT", cases[i].suggestions, 1);
        setenv("FAKE_CUBLASLT_MASKED", "", 1);
        gs_config config = gs_config_default();
        if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
        gs_problem problem;
        char text[64];
        snprintf(text, sizeof text, "f16:333x504x520:tn%s", cases[i].epilogue ? cases[i].epilogue : "");
        assert_int_equal(gs_problem_parse(&problem, text, &error), GS_OK);
        if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s", error.text);
        if (gs_plan_origin(plan) != cases[i].origin) fail_msg("%zu: %s", i, gs_plan_why(plan));
        const bool doubted = cases[i].origin == GS_ORIGIN_CUBLASLT;
        assert_non_null(strstr(gs_plan_why(plan), doubted ? "no table entry: cuBLASLt, " : "is the learned weights' choice, "));
        assert_non_null(strstr(gs_plan_why(plan), doubted ? "the learned weights' choice, " : "us expected, cuBLASLt "));
        if (cases[i].choice) assert_string_equal(gs_plan_schedule(plan), cases[i].choice);
        gs_plan_destroy(&plan);
        gs_close(&context);
    }
    unsetenv("GEMMSMITH_WEIGHTS");
    unsetenv("GEMMSMITH_CACHE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_keep_their_meaning), cmocka_unit_test(rows_of_what_is_left_out),
                                       cmocka_unit_test(numbers_of_others_do_not_count), cmocka_unit_test(a_choice_is_doubted)};
    return cmocka_run_group_tests_name("plan/cublaslt", tests, group_setup, group_teardown);
}

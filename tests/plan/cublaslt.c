/* SPDX-License-Identifier: MIT
 * Plans that use cuBLASLt, on a fake driver and a fake cuBLASLt: which of its suggestions a row of a table stands for, also where the row is older
 * than the rule that leaves some out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "folder.h"

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

/* The choice of a plan whose table has this row for its problem. */
static void expect_choice(const char *row, const char *all, const char *masked, const char *choice)
{
    char path[64], text[256];
    gs_error error = {0};
    gs_context *context = NULL;
    gs_plan *plan = NULL;
    setenv("FAKE_CUBLASLT", all, 1);
    setenv("FAKE_CUBLASLT_MASKED", masked, 1);
    snprintf(path, sizeof path, "%s/t.tuned", folder);
    snprintf(text, sizeof text, "gemmsmith-tuned 1\nf16:65x8204x437:tn %s 2.0 2.0 1 1 1 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n", row);
    assert_int_equal(gs_file_write(path, text, strlen(text), &error), GS_OK);
    gs_config config = gs_config_default();
    config.tuned_path = path;
    if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 65, 8204, 437);
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    assert_string_equal(gs_plan_schedule(plan), choice);
    gs_plan_destroy(&plan);
    gs_close(&context);
}

static void rows_keep_their_meaning(void **state)
{
    (void)state;
    expect_choice("cublaslt/2", "66:0 24:2 7:0", "", "cublaslt/2");
    expect_choice("cublaslt", "66:0 24:2 7:0", "", "cublaslt");
    expect_choice("cublaslt/9", "66:0 24:2 7:0", "", "cublaslt");              /* there are fewer */
    expect_choice("cublaslt/3", "24:4 66:0 7:0", "7:0 66:0", "cublaslt/3");    /* one before it is left out */
}

static void rows_of_what_is_left_out(void **state)
{
    (void)state;
    expect_choice("cublaslt", "24:4 66:0 7:0", "7:0 66:0", "cublaslt/3");      /* what the library would rather have instead */
    expect_choice("cublaslt/2", "66:0 24:1 7:0", "66:0 7:0", "cublaslt");
    expect_choice("cublaslt", "24:4", "24:2", "cublaslt/2");
    expect_choice("cublaslt/2", "24:4", "24:2", "cublaslt/2");                 /* its place behind the list */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_keep_their_meaning), cmocka_unit_test(rows_of_what_is_left_out)};
    return cmocka_run_group_tests_name("plan/cublaslt", tests, group_setup, group_teardown);
}

/* SPDX-License-Identifier: MIT
 * Which calls are counted while $GEMMSMITH_RECORD names a folder: each run of a plan and each gs_gemm, once, under its problem; and that a context with its own recorder
 * is not counted twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "plan/made.h"
#include "recorded/recorded.h"
#include "support/folder.h"

#define FAKE GS_BINARY_DIR "/tests/fake/libfake_cuda.so"
#define OK(call)                                                                    \
    do {                                                                            \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static gs_error error;
static char     folder[] = "/tmp/gs_counted_XXXXXX";

static uint64_t count_of(const gs_recorded *r, const char *problem, const char *via)
{
    char text[GS_PROBLEM_TEXT];
    for (int i = 0; i < r->count; i++)
        if (strcmp(gs_problem_format(&r->rows[i].problem, text), problem) == 0 && strcmp(r->rows[i].via, via) == 0) return r->rows[i].count;
    return 0;
}

static void test_counted(void **state)
{
    (void)state;
    gs_context *context;
    gs_plan *plan, *silent;
    gs_recorded r = {0};
    gs_config config = gs_config_default();
    config.measure = -1;
    OK(gs_open(&context, &config, &error));
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    void *memory;
    OK(gs_memory_create(context, 65536, &memory, &error));
    char *const at = memory;
    const gs_args args = gs_args_make(at, at + 16384, at + 32768, at + 32768);
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) {
        print_message("%s\n", error.text);
        gs_memory_destroy(context, memory);
        gs_close(&context);
        skip();
    }
    for (int i = 0; i < 70; i++) assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
    problem.alpha = 2;
    for (int i = 0; i < 3; i++) OK(gs_gemm(context, &problem, &args, NULL, &error));
    const gs_args none = gs_args_make(NULL, NULL, NULL, NULL);
    assert_int_not_equal(gs_plan_run(plan, &none, NULL), GS_OK);   /* a refused call does not count */
    gs_context_record(context, NULL);
    OK(gs_plan_create(context, &problem, &silent, &error));
    assert_int_equal(gs_plan_run(silent, &args, NULL), GS_OK);
    gs_recorder_flush(gs_recorder_of_environment());
    OK(gs_recorded_read(&r, folder, &error));
    assert_int_equal(count_of(&r, "f16:64x64x64:tn", "gs_plan_run"), 70);
    assert_int_equal(count_of(&r, "f16:64x64x64:tn", "gs_gemm"), 3);
    assert_int_equal(r.count, 2);
    gs_recorded_free(&r);
    gs_plan_destroy(&silent);
    gs_plan_destroy(&plan);
    gs_memory_destroy(context, memory);
    gs_close(&context);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CACHE", "", 1);
    setenv("GEMMSMITH_RECORD", folder, 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counted)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_all(folder);
    return failed;
}

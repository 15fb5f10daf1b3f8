/* SPDX-License-Identifier: MIT
 * Plans of batch-invariant problems on a fake driver: only schedules with a fixed order of summation, never cuBLASLt, and only table rows whose schedule keeps that
 * order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "device/device.h"
#include "fake/opened.h"
#include "schedule/schedule.h"
#include "texts.h"

static char folder[] = "/tmp/gemmsmith-invariant-XXXXXX";
static char cache[64], table[64];

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(table, sizeof table, "%s/t.tuned", folder);
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent", 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    open_fake();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void need_compiler(void)
{
    gs_error error;
    if (gs_compiler_version(&error) == 0) skip();
}

#define TAIL " 2.0 2.1 1.05 1.04 1.06 1755 nvidia-h200 90 132 130100 2026-01-01T00:00:00Z test\n"

static gs_context *open_with(const char *rows, int use_ours)
{
    char text[2048];
    gs_error error = {0};
    snprintf(text, sizeof text, "gemmsmith-tuned 1\n%s", rows);
    assert_int_equal(gs_file_write(table, text, strlen(text), &error), GS_OK);
    gs_config config = gs_config_default();
    config.tuned_path = table;
    config.cache_path = cache;
    config.use_ours = use_ours;
    gs_context *context = NULL;
    if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
    return context;
}

static void the_order_of_choices(void **state)
{
    (void)state;
    need_compiler();
    gs_context *context = open_with("f16:64x256x512:tn:inv=1 mma/32x32x64/w2x2/s4/g1" TAIL
                                    "f16:64x256x512:tn mma/16x32x64/w1x2/s4/g1/k4" TAIL
                                    "f16:48x256x512:tn mma/32x32x64/w2x2/s3/g1" TAIL
                                    "f16:40x256x512:tn mma/16x32x64/w1x2/s4/g1/k4" TAIL
                                    "f16:56x256x512:tn:inv=1 cublaslt/2" TAIL
                                    "f16:24x256x512:tn:inv=1 kernel/0123456789abcdef0123456789abcdef" TAIL
                                    "f16:8x256x512:tn:inv=1 mma/16x32x64/w1x2/s4/g1/k4" TAIL, 1);
    /* schedule NULL: any that keeps the order */
    static const struct {
        const char *problem, *schedule;
        gs_origin   origin;
    } cases[] = {
        {"f16:64x256x512:tn:inv=1", "mma/32x32x64/w2x2/s4/g1", GS_ORIGIN_TABLE},
        {"f16:64x256x512:tn", "mma/16x32x64/w1x2/s4/g1/k4", GS_ORIGIN_TABLE},
        {"f16:64x256x512:tn:inv=1:ep=bias", "mma/32x32x64/w2x2/s4/g1", GS_ORIGIN_NEAREST},
        {"bf16:48x256x512:tn:inv=1", "mma/32x32x64/w2x2/s3/g1", GS_ORIGIN_NEAREST},
        {"f16:40x256x512:tn:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:56x256x512:tn:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:24x256x512:tn:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:8x256x512:tn:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:1x256x512:tn:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:1x255x511:tn:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:64x256x0:tn:beta=1:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"f16:64x256x512:nn:b=3:matrices=pointers:inv=1", NULL, GS_ORIGIN_DEFAULT},
        {"bf16:64x256x512:tn:g=4:inv=1", NULL, GS_ORIGIN_DEFAULT},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        gs_plan *plan = NULL;
        gs_error error = {0};
        gs_schedule schedule;
        if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) fail_msg("%s: %s", cases[i].problem, error.text);
        assert_int_equal(gs_schedule_parse(&schedule, gs_plan_schedule(plan), NULL), GS_OK);
        assert_int_equal(gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), &error), GS_OK);
        if (cases[i].schedule) assert_string_equal(gs_plan_schedule(plan), cases[i].schedule);
        if (gs_plan_origin(plan) != cases[i].origin && !(i >= 4 && gs_plan_origin(plan) == GS_ORIGIN_NEAREST))
            fail_msg("%s: %s, %s", cases[i].problem, gs_plan_schedule(plan), gs_plan_why(plan));
        gs_plan_destroy(&plan);
    }
    gs_close(&context);
}

/* Schedules that change the order of summation are refused, even if nothing slower is left. */
static void what_is_refused(void **state)
{
    (void)state;
    static const char *const schedules[] = {"cublaslt", "cublaslt/2", "simple", "mma/16x32x64/w1x2/s4/g1/k4", "gemv/8x32/w8/d1/r128/p0/k1/any", "slicek/16x32/w1x1x8/d1/k1/any/f128",
                                            "splitk/64x16x64/s4/ab/c1x1/k2/any"};
    gs_context *context = open_with("", 1), *library = open_with("", 0);
    const gs_problem problem = problem_of("f16:16x256x512:tn:inv=1"), of_f16 = problem_of("f16:16x256x512:tn:acc=f16:inv=1"), empty = problem_of("f16:0x256x512:tn:inv=1");
    gs_plan *plan = NULL;
    gs_error error = {0};
    for (size_t i = 0; i < GS_COUNT(schedules); i++) {
        const gs_status status = gs_plan_create_schedule(context, &problem, schedules[i], &plan, &error);
        if (status != GS_ERROR_UNSUPPORTED || (strcmp(error.field, "inv") != 0 && strcmp(error.field, "split") != 0)) fail_msg("%s: %d %s: %s", schedules[i], (int)status, error.field, error.text);
        assert_null(plan);
    }
    assert_int_equal(gs_plan_create_schedule(context, &of_f16, "splitk/64x16x64/s4/ab/c1x1/k1/any", &plan, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "inv");
    assert_int_equal(gs_plan_create(library, &problem, &plan, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "inv");
    assert_int_equal(gs_plan_create(library, &empty, &plan, &error), GS_OK);
    gs_plan_destroy(&plan);
    gs_close(&context);
    gs_close(&library);
}

/* A cached plan is used only for problems with the same invariance. */
static void gs_gemm_tells_them_apart(void **state)
{
    (void)state;
    need_compiler();
    static char operand[1 << 16] __attribute__((aligned(256)));
    const gs_args args = {.size = sizeof args, .a = operand, .b = operand + 16384, .c = operand + 32768, .d = operand + 49152};
    gs_context *context = open_with("f16:16x32x256:tn mma/16x32x64/w1x2/s2/g1/k2" TAIL, 1);
    const gs_problem plain = problem_of("f16:16x32x256:tn"), invariant = problem_of("f16:16x32x256:tn:inv=1");
    gs_error error = {0};
    for (int i = 0; i < 4; i++) {
        const int before = calls("cuModuleLoadDataEx");
        if (gs_gemm(context, i % 2 ? &invariant : &plain, &args, NULL, &error) != GS_OK) fail_msg("%s", error.text);
        assert_int_equal(calls("cuModuleLoadDataEx") - before, i < 2 ? 1 : 0);
    }
    gs_close(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_choices),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(gs_gemm_tells_them_apart),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}

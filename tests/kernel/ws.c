/* SPDX-License-Identifier: MIT
 * Family ws: every tile compiles for sm_90a without spills or serialised matrix instructions, in every layout, type and accumulator
 * that gs_check_ws admits; the sentence's resources agree with the manifest; what it must refuse is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "kernel/kernel.h"
#include "plan/loaded.h"
#include "schedule/grammar.h"

static gs_schedule parsed(const char *text)
{
    gs_schedule schedule;
    gs_error error;
    if (gs_schedule_parse(&schedule, text, &error) != GS_OK) fail_msg("%s: %s", text, error.text);
    return schedule;
}

static gs_problem problem_of(const char *text)
{
    gs_problem problem;
    gs_error error;
    if (gs_problem_parse(&problem, text, &error) != GS_OK) fail_msg("%s: %s", text, error.text);
    return problem;
}

/* legend: problem; together they cover layouts, input types, accumulators, output types, beta, rows of D that start anywhere */
static const char *const problems[] = {
    "f16:4096x4096x4096:tn",
    "f16:4096x4096x4096:nn",
    "bf16:4096x4096x4096:tn:beta=1",
    "bf16:4096x4096x4096:nn:d=f32",
    "f16:4096x4096x4096:nn:acc=f16",
    "f16:4096x4096x4096:tn:acc=f16:d=f32:beta=1",
    "f16:4096x4096x4096:tn:ldd=4097",
    "bf16:4096x4096x4096:nn:d=f32:ldd=4097:beta=1",
};

static void compile(const gs_schedule *schedule, const gs_problem *problem)
{
    gs_error error = {0};
    gs_kernel kernel;
    assert_int_equal(gs_kernel_build(&kernel, schedule, problem, gs_caps_find("h200"), &error), GS_OK);
    assert_int_equal(gs_manifest_check(&kernel.manifest, &error), GS_OK);
    gs_kernel_source source;
    gs_kernel_to_source(&kernel, &source);
    gs_image image;
    char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
    if (gs_compile_for("sm_90a", &source.source, &image, &error) != GS_OK)
        fail_msg("%s %s: %s\n%s", gs_schedule_format(schedule, text), gs_problem_format(problem, what), error.text, image.log);
    if (image.spill_bytes || image.serialized)
        fail_msg("%s %s: %d bytes spilled, serialized %d", gs_schedule_format(schedule, text), gs_problem_format(problem, what), image.spill_bytes, image.serialized);
    assert_true(image.registers <= gs_schedule_resources(schedule, problem, gs_caps_find("h200")).registers);
    gs_image_free(&image);
}

static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    static const char *const clusters[] = {"c1x1", "c2x1", "c1x2"};
    int compiled = 0;
    for (int tile = 0; tile < gs_family_slot(GS_FAMILY_WS, GS_WS_TILE)->count; tile++) {
        for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
            const gs_problem problem = problem_of(problems[i]);
            char text[GS_SCHEDULE_TEXT];
            snprintf(text, sizeof text, "ws/%s/s3/%s/coop/%s", gs_family_slot(GS_FAMILY_WS, GS_WS_TILE)->words[tile].text, clusters[(size_t)tile % 3], i % 2 ? "h4" : "g8");
            gs_schedule schedule = parsed(text);
            if (gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL) != GS_OK) continue;
            compile(&schedule, &problem);
            compiled++;
        }
    }
    assert_true(compiled >= 90);
}

/* The manifest is what the kernel needs: the sentence must have promised the same. */
static void test_resources(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:4000x4000x4000:tn");
    int valid = 0;
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_WS);
    do {
        if (gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL) != GS_OK) continue;
        gs_kernel kernel;
        assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
        const gs_resources resources = gs_schedule_resources(&schedule, &problem, gs_caps_find("h200"));
        const gs_formula_names names = {.m = 4000, .n = 4000, .k = 4000, .sms = 132};
        int64_t smem = 0, grid = 0;
        assert_int_equal(gs_formula_value(&kernel.manifest.entry[0].smem, &names, &smem, NULL), GS_OK);
        assert_int_equal(gs_formula_value(&kernel.manifest.entry[0].grid[0], &names, &grid, NULL), GS_OK);
        assert_int_equal(smem, resources.smem);
        assert_true(smem <= gs_caps_find("h200")->smem_block);
        assert_int_equal(kernel.manifest.entry[0].block[0], resources.threads);
        assert_int_equal(kernel.manifest.entry[0].cluster[0], resources.cluster);
        assert_true(grid >= 1 && grid <= 132 && grid % resources.cluster == 0);
        assert_true(resources.registers * resources.threads <= 65536);
        valid++;
    } while (gs_schedule_next(&schedule));
    assert_true(valid > 500);
}

static void refuse(const char *schedule, const char *problem, const gs_caps *caps, const char *field)
{
    const gs_schedule s = parsed(schedule);
    const gs_problem p = problem_of(problem);
    gs_error error = {0};
    assert_int_equal(gs_schedule_check(&s, &p, caps, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, field);
    assert_true(error.text[0] != '\0');
}

static void test_refuses(void **state)
{
    (void)state;
    const char *const good = "ws/128x128x64/s4/c1x1/coop/g8";
    refuse(good, "f16:4096x4096x4096:tn", gs_caps_find("a100"), "family");
    refuse(good, "f16:2147483600x8x8:tn", gs_caps_find("h200"), "m");
    refuse(good, "f16:4096x4096x4095:tn", gs_caps_find("h200"), "lda");
    refuse(good, "f16:4096x4095x4096:nn", gs_caps_find("h200"), "ldb");
    refuse(good, "f16:4096x4096x4096:tn:b=2", gs_caps_find("h200"), "b");
    refuse(good, "f16:4096x4096x0:tn", gs_caps_find("h200"), "m");
    refuse(good, "f16:64x64x64:tn:ep=bias", gs_caps_find("h200"), "ep");
    refuse("ws/256x256x64/s2/c1x1/coop/g8", "f16:4096x4096x4096:tn", gs_caps_find("h200"), "tile");
    refuse("ws/128x256x64/s8/c1x1/coop/g8", "f16:4096x4096x4096:tn", gs_caps_find("h200"), "stages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

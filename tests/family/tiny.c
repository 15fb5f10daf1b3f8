/* SPDX-License-Identifier: MIT
 * Family tiny: a spread of its schedule strings compiles for sm_90a and sm_80 without spills or stack, over layouts, types, odd sizes and epilogues; the schedule
 * string's resources agree with the manifest; what it must refuse is refused; a plan may choose it even if the weights were trained without it. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 26 26 339
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  f16:16x16x16:tn:b=1000               tiny/b8/r16/s3/w4
 * memcheck  bf16:17x19x23:nn:b=301:beta=1        tiny/b4/r32/s2/w2
 * memcheck  f16:63x61x59:tt:b=200:d=f32          tiny/b2/r32/s2/w4
 * memcheck  f16:24x40x56:nt:b=300                tiny/b1/r16/direct/w4
 * memcheck  bf16:33x35x37:tn:b=100               tiny/b1/r16/direct/w4
 * racecheck f16:64x64x64:nn:b=1000               tiny/b2/r32/s2/w4
 * racecheck bf16:32x32x32:tn:b=3000              tiny/b8/r16/s2/w8
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "kernel/kernel.h"
#include "learn/weights.h"
#include "loaded/loaded.h"
#include "family/tiny.h"
#include "schedule/family.h"
#include "texts.h"

/* legend: problem; together they cover layouts, types, beta, epilogues, extents that do and do not fill tiles and steps of K, and rows with the alignment of one element */
static const char *const problems[] = {
    "f16:16x16x16:tn:b=32768",
    "f16:64x64x64:nn:b=4096:d=f32",
    "bf16:32x32x32:nt:b=8192:beta=1",
    "f16:24x40x56:tt:b=1000:beta=-1:ep=gelu_erf+residual",
    "bf16:17x19x23:tn:b=1000:ep=bias+gelu_erf",
    "f16:24x40x56:tn:b=1000:beta=1:ep=scale_m+scale_n+bias+gelu",
    "f16:63x61x59:nn:b=1000:beta=0.5",
    "f16:8x64x32:tn:b=512:acc=f16:ep=bias_m+silu",
    "bf16:1x1x1:nt:b=64",
    "f16:50x12x36:tn:b=100:lda=52:ldb=40:ldd=14:ldc=16:beta=1:d=f32",
    "f16:48x48x48:tt:b=2000:lda=100:ldb=49",
    "f16:32x32x32:tn:b=1000:sa=1040:sb=0:sc=0:sd=1028:beta=1",
    "bf16:24x20x33:nn:lda=40:b=500:sa=0:sb=663:ep=bias+silu:se=24",
    "f16:24x16x16:tn:lda=1600:ldd=1600:b=100:sa=16:sd=16",
    "f16:33x32x48:tn:b=1000:matrices=pointers",
    "bf16:24x20x32:nt:d=f32:b=1000:matrices=pointers:beta=1:ep=bias+gelu",
};

/* ---- rules ---- */

/* Required alignment of pointers: that of the rows, at most 16 bytes. */
static void test_alignment(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int         align[4];
    } cases[] = {
        {"f16:16x16x16:tn:b=64", {16, 16, 2, 16}},  {"f16:16x16x20:tn:b=64", {8, 8, 2, 16}}, {"f16:16x16x17:tn:b=64:beta=1", {2, 2, 16, 16}},
        {"f16:16x16x16:tn:b=64:sa=260:sb=257:sd=264", {8, 2, 2, 16}}, {"f16:16x16x16:tn:b=64:sa=0:sb=0:sc=0:sd=258:beta=1", {16, 16, 16, 4}},
        {"f16:16x18x16:nn:b=64:d=f32:beta=1", {16, 4, 8, 8}}, {"f16:16x16x17:tn:b=64:lda=24", {16, 2, 2, 16}}, {"f16:15x17x16:nt:b=64", {2, 2, 2, 2}},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        const gs_schedule schedule = schedule_of("tiny/b1/r16/s2/w1");
        gs_kernel kernel;
        assert_int_equal(gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
        assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
        for (int o = 0; o < 4; o++)
            if (kernel.manifest.align[o] != cases[i].align[o]) fail_msg("%s: operand %d: %d", cases[i].problem, o, kernel.manifest.align[o]);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    const gs_caps *const h200 = gs_caps_find("h200"), *const a100 = gs_caps_find("a100");
    const char *const good = "f16:16x16x16:tn:b=1000";
    gs_caps turing = *a100;
    turing.cc = 75;
    allow("tiny/b4/r16/s2/w4", good, h200);
    allow("tiny/b4/r16/direct/w4", good, a100);
    refuse("tiny/b4/r16/direct/w4", good, &turing, "family");
    refuse("tiny/b4/r16/s2/w4", good, a100, "feed");
    refuse("tiny/b4/r16/s2/w4", "f16:65x16x16:tn:b=1000", h200, "m");
    refuse("tiny/b4/r16/s2/w4", "f16:16x65x16:tn:b=1000", h200, "n");
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x65:tn:b=1000", h200, "k");
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x0:tn:b=1000", h200, "k");
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x16:tn:b=63", h200, "batch");
    refuse("tiny/b4/r16/direct/w4", "f16:16x16x16:tn:b=1000:lda=3000000000", h200, "lda");
    refuse("tiny/b4/r16/direct/w4", "f16:16x16x16:tn:b=1000:ldd=3000000000", h200, "ldd");
    refuse("tiny/b4/r16/s2/w8", good, h200, "warps");
    refuse("tiny/b4/r32/s2/w4", good, h200, "rows");
    allow("tiny/b4/r16/s2/w4", "f16:16x16x16:tn:b=1000:sa=0:sb=300:sd=272", h200);
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x16:tn:b=1000:sb=248", h200, "feed");   /* matrices overlap */
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x16:tn:b=1000:lda=16000:sa=16", h200, "feed");
    allow("tiny/b4/r16/direct/w4", "f16:16x16x16:tn:b=1000:lda=16000:sa=16:sb=248", a100);
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x16:tn:b=1000:sb=400000", h200, "feed");
    refuse("tiny/b4/r16/s2/w4", "f16:16x16x16:tn:b=1000:matrices=pointers", h200, "feed");
    allow("tiny/b4/r16/direct/w4", "f16:16x16x16:tn:b=1000:matrices=pointers", a100);
    refuse("tiny/b4/r64/s2/w4", "f16:32x16x16:tn:b=1000", h200, "rows");
    refuse("tiny/b8/r16/s8/w4", "f16:64x64x64:tn:b=1000", h200, "feed");
    refuse("tiny/b2/r16/s2/w2", "f16:16x16x16:tn:b=1000:lda=40000", h200, "feed");
    refuse("tiny/b4/r64/s2/w4", "f16:64x64x64:tn:b=1000:beta=1:ep=gelu", h200, "rows");
    refuse("tiny/b4/r64/direct/w4", "f16:64x64x64:tn:b=1000", h200, "matrices");
}

/* Blocks get equal numbers of chunks, and all blocks are resident at once. */
static void test_resources(void **state)
{
    (void)state;
    const gs_caps *const caps = gs_caps_find("h200");
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        const gs_problem problem = problem_of(problems[i]);
        gs_schedule schedule = gs_schedule_first(GS_FAMILY_TINY);
        int valid = 0;
        do {
            if (gs_schedule_check(&schedule, &problem, caps, NULL) != GS_OK) continue;
            gs_kernel kernel;
            assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, caps, NULL), GS_OK);
            const gs_resources resources = gs_schedule_resources(&schedule, &problem, caps);
            const gs_entry *const entry = &kernel.manifest.entry[0];
            assert_int_equal(kernel.manifest.accumulator, GS_F32);
            assert_int_equal(entry->block[0], resources.threads);
            assert_int_equal(value_of(&entry->smem, &problem), resources.smem);
            assert_true(resources.smem <= caps->smem_block && resources.blocks_sm * (resources.smem + 1024) <= caps->smem_sm + 1024);
            assert_true(resources.blocks_sm >= 1 && resources.blocks_sm * resources.threads <= caps->threads_sm);
            assert_true(resources.registers >= 32 && resources.registers * resources.threads * resources.blocks_sm <= caps->registers_sm);
            const int64_t blocks = value_of(&entry->grid[0], &problem);
            assert_true(blocks >= 1 && blocks <= 132 * resources.blocks_sm && blocks <= problem.batch * 4);
            assert_true(gs_schedule_predict(&schedule, &problem, caps) >= gs_floor_us(&problem, caps));
            valid++;
        } while (gs_schedule_next(&schedule));
        if (valid < (problem.matrices || problem.stride_d == 16 ? 12 : 40)) fail_msg("%s: %d schedule strings", problems[i], valid);
    }
}

/* Instructions for 16 rows, 8 columns and 16 k: two loads of A and one of B, each of two words, for each store; and one mma. */
static void test_work(void **state)
{
    (void)state;
    const gs_schedule schedule = schedule_of("tiny/b4/r16/direct/w4");
    double issue[2];
    for (int i = 0; i < 2; i++) {
        const gs_problem problem = problem_of(i ? "f16:16x8x32:tn:b=1000" : "f16:16x8x16:tn:b=1000");
        const gs_work work = gs_families[GS_FAMILY_TINY]->work(&schedule, &problem, gs_profile_find("h200"));
        issue[i] = work.issue / (work.resident * 16);   /* four warps with four matrices each */
    }
    assert_true(fabs(issue[1] - issue[0] - (2 * 3 + 1)) < 1e-9);
}

/* ---- compilation ---- */

static void compile(const char *target, const gs_caps *caps, const gs_schedule *schedule, const gs_problem *problem)
{
    gs_error error = {0};
    gs_kernel kernel;
    assert_int_equal(gs_kernel_build(&kernel, schedule, problem, caps, &error), GS_OK);
    gs_kernel_source source;
    gs_kernel_to_source(&kernel, &source);
    gs_image image = {0};
    char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
    gs_schedule_format(schedule, text);
    gs_problem_format(problem, what);
    if (gs_compile_cached(target, getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
        fail_msg("%s %s %s: %s\n%s", target, text, what, error.text, image.log ? image.log : "");
    const int most = gs_schedule_resources(schedule, problem, caps).registers;
    if (image.spill_bytes || image.stack_bytes || image.registers > most)
        fail_msg("%s %s %s: %d bytes spilled, %d of stack, %d registers of %d", target, text, what, image.spill_bytes, image.stack_bytes, image.registers, most);
    gs_image_free(&image);
}

/* Every so-many-th valid schedule string of a problem, in the order of the tables. */
static int compile_spread(const char *target, const gs_caps *caps, const char *text, int each)
{
    const gs_problem problem = problem_of(text);
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_TINY);
    int valid = 0, compiled = 0;
    do {
        if (gs_schedule_check(&schedule, &problem, caps, NULL) != GS_OK || valid++ % each != each / 2) continue;
        compile(target, caps, &schedule, &problem);
        compiled++;
    } while (gs_schedule_next(&schedule));
    return compiled;
}

static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) {
        print_message("no NVRTC: %s\n", error.text);
        skip();
    }
    int compiled = 0;
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        compiled += compile_spread("sm_90a", gs_caps_find("h200"), problems[i], 37);
        compiled += compile_spread("sm_80", gs_caps_find("a100"), problems[i], 13);
    }
    if (compiled < 30) fail_msg("%d compiled", compiled);
    gs_schedule schedule;   /* this one spilled once: matrices by pointers, single elements and an activation */
    const gs_problem problem = problem_of("f16:6x7x34:nn:lda=51:acc=f16:d=f32:ldd=31:b=70:matrices=pointers:ep=gelu");
    assert_int_equal(gs_schedule_parse(&schedule, "tiny/b2/r16/direct/w1", &error), GS_OK);
    compile("sm_90a", gs_caps_find("h200"), &schedule, &problem);
    compile("sm_80", gs_caps_find("a100"), &schedule, &problem);
}

/* ---- the choice ---- */

/* Weights trained before the family existed: their ranking of other families stays, and tiny comes first where the time model predicts it faster. */
static void test_choice(void **state)
{
    (void)state;
    const gs_caps *const caps = gs_caps_find("h200");
    const gs_profile profile = gs_profile_of(caps);
    gs_weights weights;
    gs_error error = {0};
    if (gs_weights_load(&weights, GS_SOURCE_DIR "/tuned/nvidia-h200.weights", &error) != GS_OK) fail_msg("%s", error.text);
    static const char *const taken[] = {"f16:16x16x16:tn:b=32768", "f16:32x32x32:nn:b=8192", "bf16:24x40x56:nt:b=4096"};
    static const char *const not_taken[] = {"f16:16x16x16:tn", "f16:64x64x64:nn:b=8", "f16:128x64x64:tn:b=4096"};
    gs_schedule list[8];
    const bool known = gs_surrogate_knows(&weights.surrogate, GS_FAMILY_TINY);
    for (size_t i = 0; i < GS_COUNT(taken); i++) {
        const gs_problem problem = problem_of(taken[i]);
        const int count = gs_weights_choose(&weights, &problem, caps, 0, list, 8);
        if (count < 2 || list[0].family != GS_FAMILY_TINY) fail_msg("%s: %d choices, the first of another family", taken[i], count);
        if (!known) assert_true(fabs(gs_surrogate_us(&weights.surrogate, &list[0], &problem, &profile) / gs_schedule_predict(&list[0], &problem, caps) - 1) < 1e-5);
        for (int k = 0; k < count; k++) assert_int_equal(gs_schedule_check(&list[k], &problem, caps, NULL), GS_OK);
    }
    for (size_t i = 0; i < GS_COUNT(not_taken); i++) {
        const gs_problem problem = problem_of(not_taken[i]);
        const int count = gs_weights_choose(&weights, &problem, caps, 0, list, 8);
        assert_true(count >= 1);
        for (int k = 0; k < count; k++) assert_true(list[k].family != GS_FAMILY_TINY);
    }
    gs_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment), cmocka_unit_test(test_refuses), cmocka_unit_test(test_resources), cmocka_unit_test(test_work), cmocka_unit_test(test_compiles),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

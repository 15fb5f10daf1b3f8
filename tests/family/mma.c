/* SPDX-License-Identifier: MIT
 * Family mma: every tile compiles for sm_80 and sm_90a without spills or stack, over layouts, types, accumulators and widths of access;
 * the schedule string's resources agree with the manifest; what it must refuse is refused; the raster visits every tile once. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 31 31 11
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  f16:129x131x133:nn                   mma/64x64x64/w2x2/s3/g8
 * memcheck  bf16:130x72x136:tn:d=f32             mma/64x128x32/w2x2/s3/g4
 * memcheck  bf16:33x69x1499:tn                   mma/32x32x64/w2x2/s2/g1/k4
 * memcheck  f16:133x72x77:nt                     mma/64x64x32/w2x2/s3/g4
 * memcheck  bf16:136x69x131:tt                   mma/128x32x64/w4x1/s3/g4
 * racecheck bf16:130x72x136:tn:d=f32             mma/64x128x32/w2x2/s3/g4
 * racecheck bf16:136x72x136:nt                   mma/64x64x64/w2x2/s3/g4
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "family/mma.h"
#include "texts.h"

#define __device__ static
#define __forceinline__ inline
#include "common/raster.cuh"

/* ---- raster ---- */

static void visit_all(int tiles_m, int tiles_n, int group, bool along_n)
{
    const int count = tiles_m * tiles_n;
    unsigned char *const seen = calloc((size_t)count, 1);
    assert_non_null(seen);
    for (int tile = 0; tile < count; tile++) {
        int m = -1, n = -1;
        gs_raster(tile, tiles_m, tiles_n, group, along_n, &m, &n);
        if (m < 0 || m >= tiles_m || n < 0 || n >= tiles_n || seen[m * tiles_n + n])
            fail_msg("%d x %d tiles, group %d, along_n %d: tile %d went to (%d, %d)", tiles_m, tiles_n, group, along_n, tile, m, n);
        seen[m * tiles_n + n] = 1;
        /* a tile is in the group that its number implies */
        const int line = along_n ? n : m, length = along_n ? tiles_m : tiles_n;
        if (line / group != tile / (group * length)) fail_msg("tile %d left its group of %d", tile, group);
    }
    free(seen);
}

static void test_raster(void **state)
{
    (void)state;
    static const int extents[] = {1, 2, 3, 5, 7, 8, 16, 17, 31, 33, 64, 100};
    static const int groups[] = {1, 2, 3, 4, 8, 16};
    for (size_t m = 0; m < GS_COUNT(extents); m++)
        for (size_t n = 0; n < GS_COUNT(extents); n++)
            for (size_t g = 0; g < GS_COUNT(groups); g++)
                for (int along_n = 0; along_n < 2; along_n++) visit_all(extents[m], extents[n], groups[g], along_n);
}

/* Sizes whose products are close to 2^31. */
static void test_raster_large(void **state)
{
    (void)state;
    int m, n;
    gs_raster(2147483646, 2147483647, 1, 16, false, &m, &n);
    assert_true(m == 2147483646 && n == 0);
    gs_raster(2147483646, 1, 2147483647, 16, false, &m, &n);
    assert_true(m == 0 && n == 2147483646);
    gs_raster(46340 * 46340 - 1, 46340, 46340, 16, true, &m, &n);
    assert_true(m == 46339 && n == 46339);
    gs_raster(15, 1000, 1000, 8, false, &m, &n);
    assert_true(m == 7 && n == 1);
    gs_raster(15, 1000, 1000, 8, true, &m, &n);
    assert_true(m == 1 && n == 7);
}

/* ---- rules ---- */

/* Required alignment of A and B: 16 bytes, or one element where their rows may start at any element. */
static void test_alignment(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int         a, b;
    } cases[] = {
        {"f16:64x64x64:tn", 16, 16}, {"f16:64x64x68:tn", 2, 2}, {"f16:64x64x65:tn", 2, 2}, {"f16:64x65x64:nn", 16, 2}, {"f16:64x64x65:nn", 2, 16},
        {"f16:64x65x65:tn:lda=72:ldb=68", 16, 2}, {"f16:63x64x64:nn:ldd=65", 16, 16}, {"f16:64x64x65:nt", 16, 16}, {"f16:65x64x64:tt", 2, 16},
    };
    const gs_schedule schedule = schedule_of("mma/16x16x64/w1x1/s2/g1");
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        gs_kernel kernel;
        assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
        assert_int_equal(kernel.manifest.align[0], cases[i].a);
        assert_int_equal(kernel.manifest.align[1], cases[i].b);
    }
}

/* Each block of a cluster computes a share of K; /k1 is the default. */
static void test_split(void **state)
{
    (void)state;
    char text[GS_SCHEDULE_TEXT];
    const gs_schedule whole = schedule_of("mma/16x16x64/w1x1/s2/g1"), same_whole = schedule_of("mma/16x16x64/w1x1/s2/g1/k1");
    const gs_schedule parts = schedule_of("mma/16x16x64/w1x1/s2/g1/k4");
    assert_true(same(&whole, &same_whole));
    assert_string_equal(gs_schedule_format(&whole, text), "mma/16x16x64/w1x1/s2/g1");
    assert_string_equal(gs_schedule_format(&parts, text), "mma/16x16x64/w1x1/s2/g1/k4");
    refuse("mma/16x16x64/w1x1/s2/g1/k4", "f16:64x64x448:tn", gs_caps_find("h200"), "split");
    refuse("mma/64x64x32/w2x1/s2/g1", "f16:64x64x64:tn:ep=scale_m+dsilu", gs_caps_find("h200"), "warps");   /* spills */
    refuse("mma/16x16x64/w1x1/s2/g1/k4", "f16:64x64x4096:tn", gs_caps_find("a100"), "split");
    refuse("mma/16x16x64/w1x1/s2/g1/k8", "f16:2147483647x32x4096:tn", gs_caps_find("h200"), "split");
}

static int count_agreeing(const gs_problem *problem, const gs_caps *caps)
{
    int valid = 0;
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_MMA);
    do {
        if (gs_schedule_check(&schedule, problem, caps, NULL) != GS_OK) continue;
        gs_kernel kernel;
        assert_int_equal(gs_kernel_build(&kernel, &schedule, problem, caps, NULL), GS_OK);
        const gs_resources resources = gs_schedule_resources(&schedule, problem, caps);
        const gs_entry *const entry = &kernel.manifest.entry[0];
        const int16_t *const tile = gs_schedule_value(&schedule, GS_MMA_TILE);
        const int64_t tiles = (problem->m + tile[0] - 1) / tile[0] * ((problem->n + tile[1] - 1) / tile[1]);
        const int split = gs_schedule_value(&schedule, GS_MMA_SPLIT)[0];
        assert_int_equal(kernel.manifest.entry_count, 1);
        assert_int_equal(problem->ldd * (int64_t)gs_type_size(problem->out) % kernel.manifest.align[3], 0);
        assert_int_equal(value_of(&entry->smem, problem), resources.smem);
        assert_int_equal(value_of(&entry->grid[0], problem), tiles * split);
        assert_int_equal(entry->cluster[0], split);
        assert_true(value_of(&entry->grid[1], problem) * value_of(&entry->grid[2], problem) >= problem->batch);
        assert_int_equal(entry->block[0], resources.threads);
        assert_int_equal(resources.cluster, split);
        assert_true(resources.smem <= caps->smem_block);
        assert_true(resources.blocks_sm >= 1 && resources.blocks_sm * resources.threads <= caps->threads_sm);
        assert_true(resources.registers >= 16 && resources.registers <= 255);
        assert_true(resources.registers * resources.threads * resources.blocks_sm <= caps->registers_sm);
        valid++;
    } while (gs_schedule_next(&schedule));
    return valid;
}

static void test_resources(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "f16:4000x4000x4000:tn", "f16:100x77x4001:nn", "bf16:4000x4000x4002:tn:d=f32:b=70000", "f16:4000x4000x4004:nn:acc=f16:beta=1", "f16:1x1x0:nn:b=3",
        "bf16:4000x4000x4001:nt", "f16:4001x77x4000:tt:beta=1", "f16:4000x4000x4001:tn:b=3:matrices=pointers:beta=-1",
    };
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        const gs_problem problem = problem_of(problems[i]);
        assert_true(count_agreeing(&problem, gs_caps_find("h200")) > 1000);
        assert_true(count_agreeing(&problem, gs_caps_find("a100")) > 1000);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    const char *const good = "mma/128x128x32/w2x2/s3/g8";
    const gs_schedule s = schedule_of(good);
    const gs_problem p = problem_of("f16:4096x4096x4096:tn");
    gs_caps turing = *gs_caps_find("a100"), small = *gs_caps_find("a100");
    turing.cc = 75;
    small.cc = 86;
    small.smem_block = 101376;
    small.smem_sm = 102400;
    assert_int_equal(gs_schedule_check(&s, &p, gs_caps_find("a100"), NULL), GS_OK);
    assert_int_equal(gs_schedule_check(&s, &p, &small, NULL), GS_OK);
    refuse(good, "f16:4096x4096x4096:tn", &turing, "family");
    refuse("mma/16x16x64/w2x1/s2/g1", "f16:64x64x64:tn", gs_caps_find("h200"), "warps");
    refuse("mma/16x16x64/w1x4/s2/g1", "f16:64x64x64:tn", gs_caps_find("h200"), "warps");
    refuse("mma/128x256x32/w2x2/s2/g1", "f16:4096x4096x4096:tn", gs_caps_find("h200"), "warps");
    refuse("mma/128x128x32/w2x2/s3/g8", "f16:4096x4096x4095:tn", gs_caps_find("h200"), "warps");
    refuse("mma/128x128x64/w2x4/s4/g8", "f16:4096x4096x4096:tn", &small, "stages");
    refuse("mma/16x16x64/w1x1/s2/g1", "f16:2147483647x2147483647x1:tn", gs_caps_find("h200"), "tile");
}

/* ---- compilation ---- */

/* tile, warps and stages */
static const char *const schedule_strings[] = {
    "16x16x64/w1x2/s4",   "16x32x64/w1x4/s4",   "16x64x64/w1x4/s4",   "16x128x64/w1x4/s3",  "32x32x64/w2x2/s4",   "32x64x64/w2x2/s4",   "32x128x64/w2x4/s3",
    "64x32x64/w4x2/s4",   "64x64x32/w2x2/s4",   "64x64x64/w2x4/s3",   "64x128x32/w2x2/s4",  "64x128x64/w2x4/s3",  "128x32x64/w4x1/s3",  "128x64x32/w4x1/s4",
    "128x64x64/w4x2/s3",  "128x128x32/w2x2/s4", "128x128x64/w4x2/s3", "128x256x32/w2x4/s3", "256x128x32/w4x2/s3",
};

/* The first two for every tile; the others in turn: types, accumulators, beta, access widths of A and B (8, 4, 2, 1 elements) and of D. */
static const char *const problems[] = {
    "f16:4096x4096x4096:tn",                    "f16:4096x4096x4096:nn",                "f16:4096x4096x4095:tn:ldd=4097",
    "bf16:4096x4096x4098:nn:ldb=4100:beta=1",   "f16:4096x4096x4096:nn:acc=f16",        "f16:4096x4098x4098:tn:acc=f16:beta=1",
    "f16:4096x4096x4096:nt",                    "bf16:4095x4096x4096:nt:beta=1",        "f16:4096x4096x4096:tt:acc=f16",
    "bf16:4096x4096x4100:tn:d=f32:ldd=4098",    "f16:4096x4095x4095:nn:d=f32:beta=1",   "f16:4096x4092x4096:nn:d=bf16:beta=1",
    "bf16:4096x4096x4096:tn:ep=bias+gelu+aux",  "f16:4096x4095x4095:tt:acc=f16:d=f32:beta=1:ep=bias_m+gelu_erf+residual+aux", "f16:4096x4095x4096:nt:beta=1:ep=relu+aux",
    "f16:4096x4096x4096:nn:ep=dgelu",           "bf16:4096x4095x4095:tn:d=f32:beta=1:ep=dgelu_erf+residual", "f16:4096x4095x4095:tt:acc=f16:d=f32:beta=1:ep=dsilu",
    "bf16:4096x4096x4096:nn:ep=dgelu+dbias",    "f16:4096x4095x4095:tt:acc=f16:d=f32:beta=1:ep=dbias", "bf16:4096x4096x4096:tn:beta=1:ep=dsilu+residual+dbias",
    "f16:4096x4095x4095:tt:acc=f16:d=f32:beta=1:ep=scale_m+scale_n+bias_m+gelu_erf+residual+aux", "bf16:4096x4096x4096:tn:ep=scale_m+scale_n+bias+silu+gate",
    "bf16:4096x4096x4096:tn:ep=silu+gate",      "f16:4096x4095x4095:tt:acc=f16:ep=bias+gelu+gate_i", "bf16:4096x4095x4096:nn:beta=1:ep=silu+gate+residual",
    "f16:4096x4096x4096:nn:ep=bias+gelu+gate",  "f16:4096x4096x4096:nt:d=f32:beta=1:ep=bias+gelu_erf+gate_i+residual",
    "bf16:4096x4096x4096:tn:ep=silu+gate+aux",  "f16:4096x4095x4095:tt:acc=f16:d=f32:beta=1:ep=scale_m+scale_n+bias+gelu_erf+gate_i+residual+aux", "f16:4096x4095x4096:nn:ep=bias+gelu+gate+aux",
};

static bool compile(const char *target, const gs_caps *caps, const char *schedule_string, const char *problem_text)
{
    const gs_schedule schedule = schedule_of(schedule_string);
    const gs_problem problem = problem_of(problem_text);
    if (gs_schedule_check(&schedule, &problem, caps, NULL) != GS_OK) return false;
    gs_error error = {0};
    gs_kernel kernel;
    assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, caps, &error), GS_OK);
    gs_kernel_source source;
    gs_kernel_to_source(&kernel, &source);
    gs_image image = {0};
    if (gs_compile_cached(target, getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
        fail_msg("%s %s %s: %s\n%s", target, schedule_string, problem_text, error.text, image.log ? image.log : "");
    if (image.spill_bytes || image.stack_bytes)
        fail_msg("%s %s %s: %d bytes spilled, %d bytes of stack", target, schedule_string, problem_text, image.spill_bytes, image.stack_bytes);
    const int most = gs_schedule_resources(&schedule, &problem, caps).registers;
    if (image.registers > most) fail_msg("%s %s %s: %d registers, %d promised", target, schedule_string, problem_text, image.registers, most);
    gs_image_free(&image);
    return true;
}

static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) {
        print_message("no NVRTC: %s\n", error.text);
        skip();
    }
    assert_int_equal(GS_COUNT(schedule_strings), gs_family_parameter(GS_FAMILY_MMA, GS_MMA_TILE)->count);
    int compiled = 0;
    const size_t others = GS_COUNT(problems) - 2;
    for (size_t i = 0; i < GS_COUNT(schedule_strings); i++) {
        char text[GS_SCHEDULE_TEXT];
        snprintf(text, sizeof text, "mma/%s/%s", schedule_strings[i], i % 2 ? "h4" : "g8");
        compiled += compile("sm_80", gs_caps_find("a100"), text, problems[i % 2]);
        compiled += compile("sm_90a", gs_caps_find("h200"), text, problems[1 - i % 2]);
        compiled += compile("sm_80", gs_caps_find("a100"), text, problems[2 + 2 * i % others]);
        snprintf(text, sizeof text, "mma/%s/%s/%s", schedule_strings[i], i % 2 ? "h4" : "g8", i % 3 == 0 ? "k8" : i % 3 == 1 ? "k1" : "k2");
        compiled += compile("sm_90a", gs_caps_find("h200"), text, problems[2 + (2 * i + 1) % others]);
    }
    assert_true(compiled >= 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raster), cmocka_unit_test(test_raster_large), cmocka_unit_test(test_alignment), cmocka_unit_test(test_split),
        cmocka_unit_test(test_resources), cmocka_unit_test(test_refuses), cmocka_unit_test(test_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

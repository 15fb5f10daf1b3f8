/* SPDX-License-Identifier: MIT
 * Family splitk: every tile, order, split and cluster compiles for sm_90a without spills or serialised matrix instructions; the schedule string's resources agree with
 * the manifest, and its grid with the problem; impossible and pointless schedules are refused. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 39 25 322
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  f16:257x136x328:nn                   splitk/136x64x64/s3/ba/c1x1/k2/any
 * memcheck  bf16:256x136x1032:tt                 splitk/64x64x64/s4/ab/c1x1/k2/any
 * memcheck  bf16:200x144x1032:tn:beta=1          splitk/128x64x64/s4/ab/c1x1/t2/any
 * memcheck  bf16:256x256x1032:tn                 splitk/64x64x64/s5/ab/c2x1/k4/fixed
 * synccheck bf16:256x256x1032:tn                 splitk/64x64x64/s5/ab/c2x1/k4/fixed
 * synccheck f16:201x137x331:tn                   splitk/64x64x64/s3/ab/c1x1/k2/fixed/cpasync
 * memcheck  f16:201x137x1331:tn                  splitk/64x64x64/s5/ba/c1x1/k2/fixed/shift
 * synccheck f16:201x137x1331:tn                  splitk/64x64x64/s5/ab/c1x1/t2/fixed/shift
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "family/splitk.h"
#include "texts.h"

static const gs_caps *h200(void) { return gs_caps_find("h200"); }

/* ---- compiling ---- */

static void compile(const gs_schedule *schedule, const gs_problem *problem)
{
    gs_error error = {0};
    gs_kernel kernel;
    char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
    gs_schedule_format(schedule, text);
    gs_problem_format(problem, what);
    if (gs_kernel_build(&kernel, schedule, problem, h200(), &error) != GS_OK) fail_msg("%s %s: %s", text, what, error.text);
    gs_kernel_source source;
    gs_kernel_to_source(&kernel, &source);
    gs_image image;
    if (gs_compile_cached("sm_90a", getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK) fail_msg("%s %s: %s\n%s", text, what, error.text, image.log);
    if (image.spill_bytes || image.serialized) fail_msg("%s %s: %d bytes spilled, serialized %d", text, what, image.spill_bytes, image.serialized);
    const int allowed = gs_schedule_resources(schedule, problem, h200()).registers;
    if (image.registers > allowed) fail_msg("%s %s: %d registers, promised are %d", text, what, image.registers, allowed);
    gs_image_free(&image);
}

/* legend: problem; together they cover layouts, input and output types, accumulators, beta, rows of D with any alignment, few rows, few columns */
static const char *const problems[] = {
    "f16:256x256x4096:tn",
    "f16:256x256x4096:nn:acc=f16",
    "bf16:256x256x4096:tn:d=f32:beta=1",
    "bf16:256x256x4096:nn:ldd=257:beta=1",
    "f16:256x256x4096:nn:d=f32:ldd=257",
    "f16:13x4096x4096:tn",
    "bf16:4096x20x4096:tn:ldd=21",
    "f16:256x256x4096:nt:acc=f16",
    "bf16:256x256x4096:tt:d=f32:beta=1",
    "f16:256x256x4096:tn:b=4:beta=1",
    "bf16:256x264x4096:nn:ldd=265:ep=bias+gelu",
    "bf16:256x264x4096:tn:ldd=265:ep=bias+gelu_erf+aux",
    "f16:64x256x4096:nn:b=8:ep=dgelu",
    "bf16:64x256x4096:nt:b=8:d=f32:beta=1:ep=bias_m+silu+residual",
    "bf16:256x128x4096:tn:ep=silu+gate",
    "f16:64x4096x4096:tn:ldd=4097:beta=1:ep=bias+gelu_erf+gate_i+residual",
    "bf16:256x128x4096:nn:ep=silu+gate",
    "f16:64x4096x4097:nt:d=f32:ep=bias+gelu+gate_i",
    "bf16:256x128x4096:tn:ep=silu+gate+aux",
    "f16:64x4096x4096:tn:ldd=4097:ep=scale_m+scale_n+bias+gelu_erf+gate_i+aux",
    "bf16:256x256x4096:tn:ep=scale_m+scale_n",
    "f16:64x256x4096:nn:b=8:beta=1:ep=scale_n+bias+silu",
};

/* Valid schedules, a few for each tile and order, spread over the other parameters. */
static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    int compiled = 0, seen = 0;
    const int tiles = gs_family_parameter(GS_FAMILY_SPLITK, GS_SPLITK_TILE)->count;
    for (int i = 0; i < tiles * 2; i++) {
        const gs_problem problem = problem_of(problems[(size_t)i % GS_COUNT(problems)]);
        gs_schedule schedule = gs_schedule_first(GS_FAMILY_SPLITK);
        do {
            if (schedule.value[GS_SPLITK_TILE] != i / 2 || schedule.value[GS_SPLITK_ORDER] != i % 2) continue;
            if (gs_schedule_check(&schedule, &problem, h200(), NULL) != GS_OK || seen++ % 29 != 0) continue;
            compile(&schedule, &problem);
            compiled++;
        } while (gs_schedule_next(&schedule));
    }
    assert_true(compiled >= 60);
}

/* The schedules with the most registers, and those whose tiles have slices of unequal size. */
static void test_compiles_extremes(void **state)
{
    static const struct {
        const char *schedule, *problem;
    } rows[] = {
        {"splitk/128x256x64/s4/ab/c1x1/k1/any",    "f16:2048x2048x2048:tn"},
        {"splitk/256x128x64/s4/ba/c1x1/k1/any",    "bf16:2048x2048x2048:nn:d=f32"},
        {"splitk/256x128x64/s4/ab/c2x1/k1/fixed",  "f16:2048x2048x2048:nn:ldd=2049"},
        {"splitk/128x256x64/s2/ba/c1x1/t2/any",    "bf16:1024x2048x2048:nn:d=f32"},
        {"splitk/64x256x64/s4/ab/c1x1/t2/any",     "f16:512x1024x4096:tn"},
        {"splitk/256x64x64/s4/ab/c1x1/t4/any",     "bf16:512x512x4096:tn:beta=1"},
        {"splitk/64x256x64/s4/ba/c1x1/t4/any",     "bf16:512x512x4096:nn:beta=1:d=f32:ldd=513"},
        {"splitk/112x128x64/s4/ba/c1x1/t4/any",    "f16:448x512x4096:nn:beta=1"},
        {"splitk/64x64x64/s4/ab/c1x1/t4/any",      "f16:512x512x4096:tn"},
        {"splitk/64x96x64/s4/ab/c1x1/t4/any",      "f16:512x512x4096:tn:d=f32"},
        {"splitk/128x192x64/s4/ab/c1x1/k1/any",    "f16:1024x1152x1024:tn:beta=1"},
        {"splitk/136x128x64/s2/ba/c1x1/k1/any",    "f16:130x128x24:nn:ep=bias_m+gelu_erf"},
        {"splitk/128x96x64/s4/ab/c1x1/k8/any",     "f16:256x288x8192:tn"},
        {"splitk/64x96x64/s4/ab/c1x1/k8t4/any",    "f16:64x96x8192:tn"},
        {"splitk/24x64x64/s6/ba/c1x4/k2/any",      "f16:20x4096x4096:nn"},
        {"splitk/8x64x128/s6/ba/c1x1/k2/fixed",    "f16:1x4096x4096:tn"},
        {"splitk/32x256x64/s4/ba/c1x1/k3/any",     "bf16:32x8192x4096:tn:beta=1:d=f32"},
        {"splitk/64x64x64/s4/ba/c1x1/k16/fixed",   "f16:64x128x16384:nn"},
        {"splitk/128x128x64/s4/ab/c1x1/k2/any/cpasync", "bf16:512x511x4097:nn"},
        {"splitk/128x128x64/s4/ba/c1x1/k2/any/cpasync", "f16:512x511x4097:tn:beta=1:d=f32"},
        {"splitk/64x64x64/s4/ba/c1x1/k2/any/cpasync",   "f16:512x512x4104:nn"},
        {"splitk/64x32x128/s4/ab/c1x1/t2/fixed/cpasync", "f16:511x511x4095:tn"},
        {"splitk/16x128x128/s2/ba/c1x1/k8t4/any/cpasync", "f16:11x100x8191:nn"},
        {"splitk/256x128x64/s3/ab/c1x1/k1/any/cpasync",  "f16:2000x2001x2043:tn"},
        {"splitk/128x128x64/s4/ba/c1x1/k2/any/shift",   "f16:512x511x4097:tn:beta=1:d=f32"},
        {"splitk/64x64x64/s6/ab/c1x1/t3/fixed/shift",   "bf16:511x511x4095:tn:beta=1:ep=bias+gelu"},
        {"splitk/24x128x64/s6/ba/c1x1/k8t4/any/shift",  "f16:20x100x8191:tn:ep=silu"},
        {"splitk/192x104x64/s3/ab/c1x1/k1/any/shift",   "bf16:2000x2001x2043:tn"},
        {"splitk/128x128x64/s4/ab/c1x1/k1/fixed/shift", "f16:2000x2001x2043:tn:ep=bias+relu"},
        {"splitk/64x128x64/s4/ab/c1x1/k2/fixed/pack", "bf16:512x511x4097:nn:beta=1:d=f32"},
        {"splitk/128x256x64/s4/ab/c1x1/k1/any",    "f16:2048x2048x2048:nt"},
        {"splitk/128x128x64/s4/ba/c1x1/k2/any/cpasync", "bf16:511x512x4096:tt:beta=1"},
        {"splitk/64x128x64/s4/ab/c1x1/k2/fixed/pack", "bf16:511x512x4097:nt:beta=1:d=f32"},
    };
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        const gs_schedule schedule = schedule_of(rows[i].schedule);
        const gs_problem problem = problem_of(rows[i].problem);
        if (gs_schedule_check(&schedule, &problem, h200(), &error) != GS_OK) fail_msg("%s %s: %s", rows[i].schedule, rows[i].problem, error.text);
        compile(&schedule, &problem);
    }
}

/* ---- schedule strings and manifests ---- */

static void check_manifest(const gs_schedule *schedule, const gs_problem *problem)
{
    gs_kernel kernel;
    gs_error error = {0};
    if (gs_kernel_build(&kernel, schedule, problem, h200(), &error) != GS_OK) fail_msg("%s", error.text);
    const gs_entry *const entry = &kernel.manifest.entry[kernel.manifest.entry_count - 1];
    const gs_resources resources = gs_schedule_resources(schedule, problem, h200());
    const gs_splitk_shape s = gs_splitk_shape_of(schedule, problem);
    assert_int_equal(value_of(&entry->smem, problem), resources.smem);
    assert_true(resources.smem <= h200()->smem_block && resources.blocks_sm * (resources.smem + 1024) <= h200()->smem_sm);
    assert_int_equal(entry->block[0], resources.threads);
    assert_int_equal(entry->cluster[0] * entry->cluster[1] * entry->cluster[2], resources.cluster);
    assert_true(resources.registers * resources.threads * resources.blocks_sm <= 65536);
    int64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        const int64_t along = value_of(&entry->grid[i], problem);
        assert_true(along % entry->cluster[i] == 0 && along <= 65535);
        blocks *= along;
    }
    assert_int_equal(blocks, s.tiles_m * s.tiles_n * s.shares);
    assert_true(s.shares <= (problem->k + s.bk - 1) / s.bk);
    /* a counter and a tile of sums for each tile and share; without tickets nothing */
    const int64_t zeroed = value_of(&kernel.manifest.zeroed, problem), workspace = value_of(&kernel.manifest.workspace, problem);
    assert_true(s.tickets > 1 ? zeroed >= s.tiles_m * s.tiles_n * s.ck * 4 : zeroed == 0 && (workspace == 0) == !(kernel.manifest.packed[0] || kernel.manifest.packed[1]));
    if (s.tickets > 1) assert_true(workspace - zeroed >= s.tiles_m * s.tiles_n * s.tickets * s.bm * s.bn * 4);
    /* copies bring no more rows than the matrix has */
    assert_int_equal(s.feeds, entry->map_count < 2);
    if (!s.feeds) assert_int_equal(entry->map[0].outer, problem->m < s.bm ? problem->m : s.bm);
    if (!s.feeds && problem->layout == GS_TN) assert_int_equal(entry->map[1].outer, problem->n < s.bn ? problem->n : s.bn);
}

static int check_all(const char *text)
{
    const gs_problem problem = problem_of(text);
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_SPLITK);
    int valid = 0;
    do {
        if (gs_schedule_check(&schedule, &problem, h200(), NULL) != GS_OK) continue;
        if (valid++ % 5 == 0) check_manifest(&schedule, &problem);
    } while (gs_schedule_next(&schedule));
    return valid;
}

/* Enough schedules to choose from, but not more than a tuner can enumerate. */
static void test_resources(void **state)
{
    static const char *const of[] = {
        "f16:512x512x512:nn", "f16:1024x1024x4096:tn", "f16:256x256x16384:nn", "f16:64x4096x4096:nn", "f16:1x4096x4096:tn", "f16:257x4096x4096:tn",
        "bf16:100x3000x1000:tn:d=f32:ldd=3001", "f16:8192x64x8192:nn:acc=f16",
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(of); i++) {
        const int valid = check_all(of[i]);
        if (valid < 300 || valid > 12000) fail_msg("%s: %d schedule strings", of[i], valid);
    }
    assert_int_equal(check_all("f16:16384x16384x16384:tn"), 0);
}

static bool has_some(const char *problem)
{
    const gs_caps *const caps = h200();
    const gs_problem p = problem_of(problem);
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_SPLITK);
    do
        if (gs_schedule_check(&schedule, &p, caps, NULL) == GS_OK) return true;
    while (gs_schedule_next(&schedule));
    return false;
}

/* Some schedule is valid for each combination of extents. */
static void test_always_some(void **state)
{
    static const int extents[] = {1, 7, 8, 33, 64, 65, 128, 200, 257, 1000};
    char text[96];
    (void)state;
    for (size_t m = 0; m < GS_COUNT(extents); m++)
        for (size_t n = 0; n < GS_COUNT(extents); n++)
            for (int i = 0; i < 4; i++) {
                const int k = i < 2 ? 24 : 2000;
                snprintf(text, sizeof text, "f16:%dx%dx%d:%s:lda=2000:ldb=2000", extents[m], extents[n], k, i % 2 ? "nn" : "tn");
                if (!has_some(text)) fail_msg("%s: none", text);
            }
}

#define GOOD "splitk/64x64x64/s4/ab/c1x1/k1/any"

static void test_refuses(void **state)
{
    /* legend: schedule, problem, the field that the refusal names, the device if not an H200 */
    static const struct {
        const char *schedule, *problem, *field, *device;
    } rows[] = {
        {GOOD,                                "f16:512x512x512:tn",                "family", "a100"},
        {GOOD,                                "f16:512x512x512:tn:b=65536",        "b"},
        {GOOD,                                "f16:0x512x512:tn",                  "m"},
        {GOOD,                                "f16:512x0x512:tn",                  "m"},
        {GOOD,                                "f16:512x512x0:tn",                  "m"},
        {GOOD,                                "f16:2147483600x8x8:tn",             "m"},
        {GOOD,                                "f16:8x2147483600x8:tn",             "m"},
        {GOOD,                                "f16:8x8x2147483600:tn",             "m"},
        {GOOD,                                "f16:512x512x511:tn",                "lda"},
        {GOOD,                                "f16:512x511x512:nn",                "ldb"},
        {"splitk/64x64x64/s4/ab/c1x1/k1/fixed", "f16:512x512x512:tn:lda=5000000000", "sizes"},
        {"splitk/64x64x64/s4/ab/c1x1/k1/fixed", "f16:512x512x512:tn:ldb=5000000000", "sizes"},
        {"splitk/64x64x64/s4/ab/c1x1/k1/fixed", "f16:512x512x512:tn:beta=1:ldc=5000000000", "sizes"},
        {"splitk/64x64x64/s4/ab/c1x1/k1/fixed", "f16:512x512x512:tn:ldd=5000000000", "sizes"},
        /* not supported by wgmma */
        {"splitk/16x64x64/s4/ab/c1x1/k1/any",   "f16:512x512x512:tn",                "order"},
        {"splitk/64x96x64/s4/ba/c1x1/k1/any",   "f16:512x512x512:tn",                "order"},
        {"splitk/64x32x64/s4/ab/c1x1/k1/any",   "f16:512x512x512:nn",                "tile"},
        {"splitk/128x256x64/s4/ab/c1x1/k1/any", "f16:512x512x512:tn:beta=1",         "tile"},
        {"splitk/128x192x64/s4/ab/c1x1/k1/any", "f16:512x576x512:tn:ep=gelu",        "tile"},   /* spills */
        {"splitk/64x64x128/s3/ab/c1x1/k1/fixed", "f16:64x50x384:nn:ldb=56:beta=1",   "sizes"},
        {"splitk/128x128x64/s8/ab/c1x1/k1/any", "f16:1024x1024x4096:tn",             "stages"},
        {"splitk/64x64x64/s4/ab/c2x1/k8/any",   "f16:512x512x4096:tn",               "cluster"},
        {"splitk/64x64x64/s4/ab/c2x1/k1/any",   "f16:320x512x512:tn",                "cluster"},
        {"splitk/64x64x64/s4/ab/c1x1/k16/any",  "f16:64x64x960:tn",                  "split"},
        /* pointless */
        {GOOD,                                "f16:8192x8192x512:tn",              "tile"},
        {"splitk/128x64x64/s4/ab/c1x1/k1/any",  "f16:64x512x512:tn",                 "tile"},
        {"splitk/64x128x64/s4/ab/c1x1/k1/any",  "f16:512x64x512:tn",                 "tile"},
        {"splitk/64x64x128/s2/ab/c1x1/k1/any",  "f16:512x64x64:tn",                  "tile"},
        {"splitk/64x64x64/s12/ab/c1x1/k1/any",  "f16:512x512x512:tn",                "stages"},
        {"splitk/64x64x64/s2/ab/c1x1/k1/any",   "f16:512x512x512:tn",                "stages"},
        {"splitk/64x64x64/s5/ab/c1x1/k1/any",   "f16:512x512x512:tn",                "stages"},   /* there is room for six */
        {"splitk/64x64x64/s4/ab/c1x1/k4/any",   "f16:1024x512x2048:tn",              "split"},
        {GOOD,                                "f16:64x64x16384:tn",                "split"},
    };
    (void)state;
    allow(GOOD, "f16:512x512x512:tn", h200());
    for (size_t i = 0; i < GS_COUNT(rows); i++)
        refuse(rows[i].schedule, rows[i].problem, rows[i].device ? gs_caps_find(rows[i].device) : h200(), rows[i].field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_always_some),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_compiles_extremes),
        cmocka_unit_test(test_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Family slicek: schedule strings with every parameter value compile for sm_90a and (without clusters) sm_80 without spills or stack, over layouts, types and guards;
 * the schedule string's resources agree with the manifest; where all of K fits the ring, every load precedes the first product; what it must refuse is refused. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 14 10 417
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  f16:60x72x136:tn                     slicek/32x16/w1x1x4/d1/k2/fixed/f128
 * memcheck  f16:60x72x136:nn                     slicek/16x32/w1x1x4/d1/k1/any/f128
 * racecheck f16:60x72x136:tn                     slicek/32x16/w1x1x4/d1/k1/any/f128
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
#include "base/random.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "problem/layout.h"
#include "family/slicek.h"
#include "texts.h"

enum { TRIES = 200000 };

/* ---- resources ---- */

static void agrees(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_SLICEK_TILE), *const warps = gs_schedule_value(schedule, GS_SLICEK_WARPS);
    const int split = gs_schedule_value(schedule, GS_SLICEK_SPLIT)[0];
    const gs_resources resources = gs_schedule_resources(schedule, problem, caps);
    gs_kernel kernel;
    assert_int_equal(gs_kernel_build(&kernel, schedule, problem, caps, NULL), GS_OK);
    const gs_entry *const entry = &kernel.manifest.entry[0];
    assert_int_equal(kernel.manifest.entry_count, 1);
    assert_int_equal(kernel.manifest.accumulator, GS_F32);
    assert_int_equal(kernel.manifest.align[0], gs_rows_unit(problem, 'a') % 8 || problem->k % 8 ? 2 : 16);
    assert_int_equal(kernel.manifest.align[1], gs_rows_unit(problem, 'b') % 8 || (problem->layout == GS_TN ? problem->k : problem->n) % 8 ? 2 : 16);
    assert_int_equal(problem->ldd * (int64_t)gs_type_size(problem->out) % kernel.manifest.align[3], 0);
    assert_int_equal(value_of(&entry->grid[0], problem), (problem->m + tile[0] - 1) / tile[0] * split);
    assert_int_equal(value_of(&entry->grid[1], problem), (problem->n + tile[1] - 1) / tile[1]);
    assert_int_equal(value_of(&entry->grid[2], problem), problem->batch);
    assert_true(value_of(&entry->grid[1], problem) <= 65535);
    assert_int_equal(value_of(&entry->smem, problem), resources.smem);
    assert_int_equal(entry->block[0], resources.threads);
    assert_int_equal(resources.threads, 32 * warps[0] * warps[1] * warps[2]);
    assert_int_equal(entry->cluster[0], split);
    assert_int_equal(resources.cluster, split);
    assert_int_equal(entry->dependent, caps->cc >= 90);
    assert_true(resources.smem <= caps->smem_block);
    assert_true(resources.blocks_sm >= 1 && resources.blocks_sm * resources.threads <= caps->threads_sm);
    assert_true(resources.blocks_sm * (resources.smem + 1024) <= caps->smem_sm);
    assert_true(resources.registers >= 32 && resources.registers <= 255);
    assert_true(resources.registers * resources.threads * resources.blocks_sm <= caps->registers_sm);
}

static int count_agreeing(const gs_problem *problem, const gs_caps *caps)
{
    int valid = 0;
    gs_schedule schedule = gs_schedule_first(GS_FAMILY_SLICEK);
    do {
        if (gs_schedule_check(&schedule, problem, caps, NULL) != GS_OK) continue;
        agrees(&schedule, problem, caps);
        valid++;
    } while (gs_schedule_next(&schedule));
    return valid;
}

static void test_resources(void **state)
{
    static const struct { const char *problem; int least[2]; } cases[] = {
        {"f16:64x64x64:tn", {50, 50}},                     {"f16:512x512x512:nn", {3000, 1000}},
        {"bf16:64x64x16384:tn:d=f32", {5000, 1000}},       {"f16:100x72x1000:nn:acc=f16:beta=1:ldc=77:ldd=75", {1000, 400}},
        {"f16:500x16x8:tn:b=65535", {10, 10}},             {"f16:8x8x0:nn:lda=8", {2, 2}},
        {"f16:64x64x512:tn:b=9:sa=40001:sb=0:sd=4100:beta=1:ep=bias:se=64", {100, 50}},
    };
    (void)state;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        const int hopper = count_agreeing(&problem, gs_caps_find("h200")), ampere = count_agreeing(&problem, gs_caps_find("a100"));
        if (hopper < cases[i].least[0] || ampere < cases[i].least[1]) fail_msg("%s: %d and %d schedule strings", cases[i].problem, hopper, ampere);
    }
}

/* The family has few enough schedules to rank them for each problem. */
static void test_size(void **state)
{
    int all = 1;
    (void)state;
    for (int parameter = 0; parameter < gs_family_parameters(GS_FAMILY_SLICEK); parameter++) all *= gs_family_parameter(GS_FAMILY_SLICEK, parameter)->count;
    assert_in_range(all, 1000, 60000);
}

/* ---- rules ---- */

static void test_refuses(void **state)
{
    const char *const good = "slicek/32x32/w1x1x4/d2/k2/any/f128", *const small = "slicek/16x16/w1x1x1/d1/k1/fixed/f128";
    const gs_caps *const h200 = gs_caps_find("h200"), *const a100 = gs_caps_find("a100");
    gs_caps turing = *a100, little = *h200;
    (void)state;
    turing.cc = 75;
    little.smem_block = 65536;
    allow(good, "f16:256x256x512:tn", h200);
    allow(small, "f16:16x16x32:nn", a100);
    refuse(small, "f16:16x16x32:tn", &turing, "family");
    refuse(good, "f16:256x256x512:tn", a100, "split");
    refuse(small, "f16:0x16x32:tn", h200, "m");
    refuse(small, "f16:16x0x32:tn", h200, "n");
    allow(good, "f16:256x256x512:tn:lda=513", h200);                        /* rows with any alignment */
    allow(good, "f16:256x256x507:tn:lda=512:ldb=512", h200);
    allow(good, "f16:256x256x512:tn:lda=4096:b=8:sa=512:sb=0:sd=65537", h200);   /* matrices at any element */
    allow(good, "f16:256x251x512:nn:ldb=255", h200);
    allow(good, "f16:256x252x512:tn", h200);
    refuse(small, "f16:16x1048577x32:tn", h200, "tile");                  /* more than the grid's y */
    refuse(small, "f16:16x16x32:tn:b=65536", h200, "b");
    refuse(small, "f16:16x16x32:tn:lda=1073741824", h200, "lda");
    refuse(small, "f16:16x16x32:tn:ldb=1073741824", h200, "ldb");
    refuse(small, "f16:16x16x32:tn:beta=1:ldc=1073741825", h200, "ldc");
    refuse(small, "f16:16x16x32:tn:ldd=1073741825", h200, "ldd");
    refuse("slicek/16x16/w1x2x1/d1/k1/any/f128", "f16:256x256x32:tn", h200, "warps");     /* 16 x 8 for each warp */
    refuse("slicek/32x32/w4x1x1/d1/k1/any/f128", "f16:256x256x32:tn", h200, "warps");     /* 8 x 32 */
    refuse("slicek/32x16/w1x1x1/d1/k1/any/f128", "f16:16x16x32:tn", h200, "tile");        /* half the tile suffices */
    refuse("slicek/16x32/w1x1x1/d1/k1/any/f128", "f16:16x16x32:tn", h200, "tile");
    allow("slicek/32x32/w1x1x1/d1/k1/any/f128", "f16:17x17x32:tn", h200);
    refuse("slicek/32x32/w1x1x8/d1/k1/any/f128", "f16:256x256x128:tn", h200, "warps");    /* some parts of K would be idle */
    allow("slicek/32x32/w1x1x8/d1/k1/any/f128", "f16:256x256x160:tn", h200);
    refuse("slicek/32x32/w1x1x1/d1/k8/any/f128", "f16:256x256x128:tn", h200, "split");
    refuse("slicek/32x32/w1x1x4/d4/k1/any/f128", "f16:256x256x256:tn", h200, "depth");    /* K has two steps, which d2 already holds */
    allow("slicek/32x32/w1x1x4/d2/k1/any/f128", "f16:256x256x256:tn", h200);
    refuse("slicek/64x64/w1x1x1/d2/k1/any/f128", "f16:512x512x512:tn", h200, "depth");    /* too many registers for a thread */
    refuse("slicek/32x32/w1x1x16/d4/k1/any/f128", "f16:64x64x16384:tn", h200, "depth");   /* too many registers for a multiprocessor */
    refuse("slicek/64x64/w2x2x4/d1/k2/any/f128", "f16:512x512x512:tn", &little, "warps"); /* too much shared memory for the partial tiles */
}

/* ---- compilation ---- */

static const char *const problems[] = {
    "f16:512x512x2048:tn",               "f16:512x512x2048:nn",                      "bf16:500x504x2056:tn:beta=1",
    "bf16:500x504x2056:nn:d=f32:beta=1:ldc=511:ldd=509", "f16:512x512x512:nn:acc=f16:b=3", "f16:500x500x520:tn:d=f32:ldd=501",
    "f16:128x128x256:nn:beta=1:ldc=129", "f16:128x128x256:tn:d=bf16",        "f16:500x501x2049:tn",
    "bf16:500x501x2048:nn:beta=1",       "f16:500x504x2051:nn",
    "f16:512x512x512:nn:b=3:sb=0:sd=262152:beta=1", "bf16:500x500x2048:tn:b=3:sa=1024001:ep=bias:se=501",
    "f16:500x503x2048:tn",               "bf16:500x503x2048:tn:beta=1:ldc=512",       "f16:500x502x2048:tn:ldd=511:d=f32",
};

static gs_image compiled(const char *target, const gs_caps *caps, const gs_schedule *schedule, const gs_problem *problem)
{
    char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
    gs_schedule_format(schedule, text);
    gs_problem_format(problem, what);
    gs_error error = {0};
    gs_kernel kernel;
    assert_int_equal(gs_kernel_build(&kernel, schedule, problem, caps, &error), GS_OK);
    gs_kernel_source source;
    gs_kernel_to_source(&kernel, &source);
    source.source.ptx = true;
    gs_image image = {0};
    if (gs_compile_cached(target, getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
        fail_msg("%s %s %s: %s\n%s", target, text, what, error.text, image.log ? image.log : "");
    if (image.spill_bytes || image.stack_bytes || image.serialized)
        fail_msg("%s %s %s: %d bytes spilled, %d bytes of stack", target, text, what, image.spill_bytes, image.stack_bytes);
    const int most = gs_schedule_resources(schedule, problem, caps).registers;
    if (image.registers > most) fail_msg("%s %s %s: %d registers, %d promised", target, text, what, image.registers, most);
    return image;
}

/* A valid schedule with this value of the parameter and random values of the others. */
static bool draw(gs_random *random, int parameter, int word, const gs_problem *problem, const gs_caps *caps, gs_schedule *schedule)
{
    for (int i = 0; i < TRIES; i++) {
        *schedule = gs_schedule_first(GS_FAMILY_SLICEK);
        for (int other = 0; other < gs_family_parameters(GS_FAMILY_SLICEK); other++)
            schedule->value[other] = (uint8_t)gs_random_below(random, (uint64_t)gs_family_parameter(GS_FAMILY_SLICEK, other)->count);
        schedule->value[parameter] = (uint8_t)word;
        if (gs_schedule_check(schedule, problem, caps, NULL) == GS_OK) return true;
    }
    return false;
}

static int compile_words(const char *target, const gs_caps *caps, int first_parameter, int parameters)
{
    gs_random random = {(uint64_t)caps->cc};
    int compilations = 0;
    for (int parameter = first_parameter; parameter < first_parameter + parameters; parameter++)
        for (int word = 0; word < gs_family_parameter(GS_FAMILY_SLICEK, parameter)->count; word++) {
            gs_schedule schedule;
            gs_problem problem = problem_of(problems[compilations % (int)GS_COUNT(problems)]);
            for (size_t i = 0; i < GS_COUNT(problems) && !draw(&random, parameter, word, &problem, caps, &schedule); i++) problem = problem_of(problems[i]);
            if (gs_schedule_check(&schedule, &problem, caps, NULL) != GS_OK) continue;   /* a split needs clusters */
            gs_image image = compiled(target, caps, &schedule, &problem);
            gs_image_free(&image);
            compilations++;
        }
    return compilations;
}

static bool has_compiler(void)
{
    gs_error error = {0};
    if (gs_compiler_version(&error) != 0) return true;
    print_message("no NVRTC: %s\n", error.text);
    return false;
}

static void test_compiles(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    assert_true(compile_words("sm_90a", gs_caps_find("h200"), 0, gs_family_parameters(GS_FAMILY_SLICEK)) >= 55);
    assert_true(compile_words("sm_80", gs_caps_find("a100"), GS_SLICEK_TILE, 1) >= 15);
}

static int count(const char *text, const char *end, const char *word)
{
    int times = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL && at < end; at++) times++;
    return times;
}

/* All loads of operands precede the first product; their numbers follow from the schedule and the problem. */
static void test_loads_first(void **state)
{
    static const struct { const char *schedule, *problem; int loads, products; } cases[] = {
        {"slicek/16x16/w1x1x1/d2/k1/fixed/f128", "f16:64x64x64:tn", 8, 8},
        {"slicek/32x32/w1x1x8/d1/k1/fixed/f256", "f16:256x256x256:nn", 12, 16},
        {"slicek/32x32/w1x1x8/d4/k16/fixed/f128", "f16:64x64x16384:tn", 32, 64},
        {"slicek/64x32/w1x1x8/d2/k1/fixed/f128", "f16:512x512x512:nn", 32, 64},
        {"slicek/32x64/w1x1x8/d3/k8/fixed/f128", "f16:64x64x4096:tn", 24, 64},
    };
    (void)state;
    if (!has_compiler()) skip();
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_schedule schedule = schedule_of(cases[i].schedule);
        const gs_problem problem = problem_of(cases[i].problem);
        gs_image image = compiled("sm_90a", gs_caps_find("h200"), &schedule, &problem);
        const char *const end = image.ptx + image.ptx_size, *const product = strstr(image.ptx, "mma.sync");
        assert_non_null(product);
        const int loads = count(image.ptx, product, "ld.global"), products = count(product, end, "mma.sync");
        if (loads != cases[i].loads || products != cases[i].products || count(product, end, "ld.global") != 0)
            fail_msg("%s: %d loads before %d products, %d behind", cases[i].schedule, loads, products, count(product, end, "ld.global"));
        gs_image_free(&image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources), cmocka_unit_test(test_size), cmocka_unit_test(test_refuses), cmocka_unit_test(test_compiles),
        cmocka_unit_test(test_loads_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

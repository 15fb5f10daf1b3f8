/* SPDX-License-Identifier: MIT
 * Family ws: every tile compiles for sm_90a without spills or serialised matrix instructions in every mode that the family allows; the walk over tiles follows the
 * raster; the schedule string's resources agree with the manifest; what it must refuse is refused. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 33 33 66
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  f16:200x136x104:tn                   ws/128x128x64/s4/c2x1/coop/g8
 * memcheck  f16:200x136x104:nt                   ws/128x128x64/s4/c2x1/coop/g8
 * memcheck  bf16:200x136x104:nn:ldd=137:beta=1   ws/64x64x64/s4/c1x1/coop/h4
 * memcheck  f16:200x136x104:tn                   ws/88x128x64/s4/c1x1/pp/g8
 * memcheck  f16:200x344x104:tn                   ws/128x168x64/s4/c1x1/lag/g8
 * memcheck  f16:201x137x331:nn                   ws/128x128x64/s4/c1x1/coop/g8/cpasync
 * synccheck f16:201x137x331:tn                   ws/88x128x64/s4/c1x1/pp/g8/cpasync
 * synccheck f16:201x137x331:nn                   ws/128x128x64/s4/c1x1/coop/g8/cpasync
 * memcheck  f16:201x137x331:tn                   ws/128x128x64/s3/c1x1/coop/g8/shift
 * synccheck f16:201x137x331:tn                   ws/88x128x64/s3/c1x1/coop/g8/shift
 * synccheck f16:200x136x104:tn                   ws/128x128x64/s4/c2x1/coop/g8
 * memcheck  bf16:200x136x104:tn:ep=silu+gate     ws/128x128x64/s4/c2x1/coop/g8
 * memcheck  bf16:72x136x104:tn:ep=bias+gelu+gate_i ws/72x128x64/s4/c1x1/pp/g8
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
#include "family/shared.h"
#include "family/ws.h"
#include "learn/weights.h"
#include "texts.h"

#define __device__ static
#define __forceinline__ inline
#include "common/raster.cuh"
#include "common/walk.cuh"

/* ---- the walk ---- */

/* A worker that starts at tile `first` and takes every step-th tile visits them in the raster's order, and then stops. */
static void walk(unsigned lines, unsigned length, unsigned group, unsigned first, unsigned step)
{
    gs_tile_walk w = gs_tile_walk_start(first, step, group, length);
    gs_tile_walk_step(&w, group, length);
    unsigned line, along;
    for (unsigned tile = first; tile < lines * length; tile += step) {
        int m, n;
        gs_raster((int)tile, (int)lines, (int)length, (int)group, false, &m, &n);
        if (!gs_tile_walk_at(&w, group, lines, length, &line, &along) || (int)line != m || (int)along != n)
            fail_msg("%u lines of %u, groups of %u, from %u by %u: tile %u", lines, length, group, first, step, tile);
        gs_tile_walk_on(&w, group, length);
    }
    assert_false(gs_tile_walk_at(&w, group, lines, length, &line, &along));
    gs_tile_walk_on(&w, group, length);
    assert_false(gs_tile_walk_at(&w, group, lines, length, &line, &along));
}

static void test_walk(void **state)
{
    (void)state;
    static const unsigned extents[] = {1, 2, 3, 5, 8, 17, 32, 63}, groups[] = {1, 2, 4, 8, 16}, steps[] = {1, 2, 33, 66, 132, 264};
    for (size_t l = 0; l < GS_COUNT(extents); l++)
        for (size_t a = 0; a < GS_COUNT(extents); a++)
            for (size_t g = 0; g < GS_COUNT(groups); g++)
                for (size_t s = 0; s < GS_COUNT(steps); s++)
                    for (unsigned first = 0; first < steps[s]; first += 1 + steps[s] / 5) walk(extents[l], extents[a], groups[g], first, steps[s]);
}

/* ---- compiling ---- */

/* legend: problem; together they cover layouts, input types, accumulators, output types, beta, rows of D with any alignment, batches, epilogues */
static const char *const problems[] = {
    "f16:4096x4096x4096:tn",
    "f16:4096x4096x4096:nn",
    "bf16:4096x4096x4096:tn:beta=1",
    "f16:4096x4096x4096:nn:acc=f16",
    "bf16:4096x4096x4096:nn:d=f32",
    "f16:4096x4096x4096:tn:acc=f16",
    "f16:4096x4096x4096:tn:acc=f16:d=f32:beta=1",
    "f16:4096x4096x4096:tn:ldd=4097",
    "bf16:4096x4096x4096:nn:d=f32:ldd=4097:beta=1",
    "f16:4096x4096x4096:nt",
    "f16:4096x4096x4104:tn:lda=4105:beta=1",
    "bf16:4096x4096x4096:tt:d=f32:beta=1",
    "bf16:4096x4096x4096:tn:ep=bias+gelu",
    "bf16:4096x4096x4096:tn:ep=bias+gelu+aux",
    "f16:4096x4096x4096:nn:d=f32:ep=dgelu_erf",
    "bf16:512x512x512:tt:b=64:ep=dsilu",
    "f16:4096x4096x4096:nn:acc=f16:ldd=4097:ep=bias_m+gelu_erf+aux",
    "f16:512x512x512:nn:b=64:beta=1",
    "bf16:512x512x512:tt:d=f32:b=64:ep=bias_m+silu",
    "f16:4096x4096x4096:tn:acc=f16:ldd=4097:beta=1:ep=gelu_erf+residual",
    "bf16:4096x4096x4096:tn:g=8",
    "bf16:4096x4096x4096:nn:d=f32:g=256:beta=1:ep=bias+silu",
    "f16:4096x4096x4096:tn:g=8:ldd=4097:ep=gelu",
    "bf16:4096x4096x4096:tn:gm=8",
    "bf16:4096x4096x4096:nt:gk=8",
    "bf16:4096x4096x4096:nt:d=f32:gk=64:ldd=4097:beta=1",
    "bf16:4096x4096x4096:nn:d=f32:gm=256:ldd=4097:beta=1:ep=bias+silu",
    "bf16:4096x4096x4096:tn:ep=scale_m+scale_n+bias+gelu",
    "f16:4096x4096x4096:nn:acc=f16:ldd=4097:beta=1:ep=scale_m+scale_n+bias+gelu_erf",
    "bf16:4096x4096x4096:nn:ep=dgelu+dbias",
    "f16:4096x4096x4096:tn:acc=f16:ldd=4097:ep=scale_m+dgelu_erf+dbias",
    "bf16:4096x4096x4096:tn:g=8:ep=dbias",
    "bf16:4096x4096x4096:nn:d=f32:gm=8:beta=1:ep=dbias",
    "f16:4096x4096x4096:tn:g=8:ep=bias+gelu+aux",
};
static const char *const gated[] = {
    "bf16:4096x4096x4096:tn:ep=silu+gate",
    "f16:4096x4096x4096:tn:acc=f16:ep=bias+silu+gate_i",
    "bf16:512x4096x4096:tt:d=f32:b=8:beta=1:ep=bias+gelu+gate+residual",
    "f16:4096x4096x4096:tn:ldd=4097:beta=1:ep=bias+gelu_erf+gate+residual",
    "bf16:4096x4096x4096:tn:g=8:ep=silu+gate",
    "f16:4096x4096x4096:tn:d=f32:g=64:beta=1:ep=bias+gelu+gate_i+residual",
    "f16:4096x4096x4096:tn:acc=f16:ldd=4097:g=8:ep=bias+gelu_erf+gate",
    "bf16:4096x4096x4096:nn:ep=silu+gate",
    "f16:4096x4096x4096:nt:d=f32:beta=1:ep=bias+gelu+gate_i+residual",
    "f16:4096x4096x4099:tn:ldd=4097:beta=1:ep=bias+gelu_erf+gate+residual",
    "bf16:4096x4096x4096:tn:g=8:ep=scale_m+scale_n+silu+gate",
    "bf16:4096x4096x4096:tn:ep=silu+gate+aux",
    "f16:4096x4096x4096:tn:acc=f16:ldd=4097:ep=scale_m+scale_n+bias+gelu_erf+gate_i+aux",
    "bf16:4096x4096x4096:nn:d=f32:ep=bias+silu+gate+aux",
    "bf16:4096x4096x4096:tn:g=8:ep=bias+silu+gate+aux",
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
    if (gs_compile_cached("sm_90a", getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
        fail_msg("%s %s: %s\n%s", gs_schedule_format(schedule, text), gs_problem_format(problem, what), error.text, image.log);
    if (image.spill_bytes || image.serialized)
        fail_msg("%s %s: %d bytes spilled, serialized %d", gs_schedule_format(schedule, text), gs_problem_format(problem, what), image.spill_bytes, image.serialized);
    assert_true(image.registers <= gs_schedule_resources(schedule, problem, gs_caps_find("h200")).registers);
    gs_image_free(&image);
}

/* Half of the tiles in mode coop and a quarter of them in each other mode, with varying problems and clusters. Many more combinations were compiled by hand
 * (docs/internals/ws.md). */
static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    const gs_parameter *const tiles = gs_family_parameter(GS_FAMILY_WS, GS_WS_TILE), *const modes = gs_family_parameter(GS_FAMILY_WS, GS_WS_MODE);
    const gs_parameter *const clusters = gs_family_parameter(GS_FAMILY_WS, GS_WS_CLUSTER);
    int compiled = 0, turn = 0;
    for (int tile = 0; tile < tiles->count; tile++) {
        for (int mode = 0; mode < modes->count; mode++) {
            int left = (mode == 0 && tile % 2 == 0) || (tile + mode) % 4 == 1;
            for (size_t i = 0; i < GS_COUNT(problems) && left > 0; i++, turn++) {
                const gs_problem problem = problem_of(problems[(size_t)turn % GS_COUNT(problems)]);
                char text[GS_SCHEDULE_TEXT];
                const char *const cluster = clusters->values[(tile + turn) % clusters->count].text;
                snprintf(text, sizeof text, "ws/%s/s3/%s/%s/%s", tiles->values[tile].text, cluster, modes->values[mode].text, turn % 2 ? "h4" : "g8");
                const gs_schedule schedule = schedule_of(text);
                if (gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL) != GS_OK) continue;
                compile(&schedule, &problem);
                compiled++;
                left--;
            }
        }
    }
    assert_true(compiled >= 100);
}

/* The same for gates, every fourth combination of tile and mode; with packed copies where tensor copies cannot interleave the columns of B. */
static void test_compiles_gates(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    const gs_parameter *const tiles = gs_family_parameter(GS_FAMILY_WS, GS_WS_TILE), *const modes = gs_family_parameter(GS_FAMILY_WS, GS_WS_MODE);
    int compiled = 0;
    for (int i = 0; i < tiles->count * modes->count; i += 4) {
        for (size_t turn = 0; turn < GS_COUNT(gated); turn++) {
            const gs_problem problem = problem_of(gated[((size_t)i / 4 + turn) % GS_COUNT(gated)]);
            char text[GS_SCHEDULE_TEXT];
            const bool copied = problem.layout == GS_NN || problem.layout == GS_NT || problem.ldb % 8 != 0;
            snprintf(text, sizeof text, "ws/%s/s3/%s/%s/g8%s", tiles->values[i / modes->count].text, i % 8 ? "c1x1" : "c2x1", modes->values[i % modes->count].text, copied ? "/pack" : "");
            const gs_schedule schedule = schedule_of(text);
            if (gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL) != GS_OK) continue;
            compile(&schedule, &problem);
            compiled++;
            break;
        }
    }
    assert_true(compiled >= 30);
}

/* The resources of the schedule string equal those in the manifest. */
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
        const int64_t smem = value_of(&kernel.manifest.entry[0].smem, &problem), grid = value_of(&kernel.manifest.entry[0].grid[0], &problem);
        assert_int_equal(smem, resources.smem);
        assert_true(smem <= gs_caps_find("h200")->smem_block);
        assert_int_equal(kernel.manifest.entry[0].block[0], resources.threads);
        assert_int_equal(kernel.manifest.entry[0].cluster[0], resources.cluster);
        assert_true(grid >= 1 && grid <= 132 && grid % resources.cluster == 0);
        assert_true(resources.registers * resources.threads <= 65536);
        valid++;
    } while (gs_schedule_next(&schedule));
    assert_true(valid > 5000);
}

/* Packed copies: which operands, their bytes in the workspace, and the launch that makes them. */
static void test_pack(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        bool        a, b;
        int64_t     bytes;
    } cases[] = {
        {"f16:100x200x301:tn", true, true, (100 + 200) * 640}, {"f16:100x200x301:nn", true, true, 100 * 640 + 301 * 512},
        {"f16:100x201x320:nn", false, true, 320 * 512},        {"f16:100x208x301:nn", true, false, 100 * 640},
        {"f16:100x200x304:tn:ldb=312", false, true, 200 * 640}, {"f16:101x208x304:nt", true, false, 304 * 256},
    };
    const gs_schedule schedule = schedule_of("ws/128x128x64/s4/c1x1/coop/g8/pack");
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        gs_kernel kernel;
        assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
        const gs_manifest *const m = &kernel.manifest;
        int64_t bytes;
        const gs_formula_names names = {.m = problem.m, .n = problem.n, .k = problem.k};
        assert_int_equal(gs_formula_value(&m->workspace, &names, &bytes, NULL), GS_OK);
        assert_int_equal(bytes, cases[i].bytes);
        assert_true(m->packed[0] == cases[i].a && m->packed[1] == cases[i].b);
        assert_int_equal(m->align[0], cases[i].a ? 2 : 16);
        assert_int_equal(m->align[1], cases[i].b ? 2 : 16);
        assert_int_equal(m->entry_count, 2);
        assert_string_equal(m->entry[0].name, "gs_pack");
        assert_string_equal(m->entry[1].name, "gs_ws");
        assert_int_equal(gs_manifest_check(m, NULL), GS_OK);
    }
}

/* Operands that threads copy have no tensor map. Rows that start at any element need less alignment and more shared memory. */
static void test_cpasync(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int         maps, align_a, align_b;
        int         beside;   /* extra bytes of each stage */
    } cases[] = {
        {"f16:104x200x301:tn", 1, 2, 2, (128 + 128) * 16}, {"f16:104x208x301:nn", 2, 2, 16, 128 * 16}, {"f16:104x200x320:nn", 2, 16, 16, 0},
        {"f16:104x201x320:nn:ldd=208", 2, 16, 2, 128 * 16}, {"f16:104x200x328:tn", 1, 16, 16, 0}, {"f16:104x200x320:tn:ldb=328", 2, 16, 16, 0},
    };
    const gs_schedule schedule = schedule_of("ws/128x128x64/s3/c1x1/coop/g8/cpasync"), given = schedule_of("ws/128x128x64/s3/c1x1/coop/g8");
    const gs_problem aligned = problem_of("f16:104x208x320:tn");
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        gs_kernel kernel;
        gs_error error = {0};
        if (gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), &error) != GS_OK) fail_msg("%s: %s", cases[i].problem, error.text);
        const gs_manifest *const m = &kernel.manifest;
        const bool direct = problem.ldd % 8 != 0 || problem.n % 8 != 0;
        assert_int_equal(m->entry_count, 1);
        assert_false(m->packed[0] || m->packed[1]);
        assert_int_equal(m->align[0], cases[i].align_a);
        assert_int_equal(m->align[1], cases[i].align_b);
        assert_int_equal(m->entry[0].map_count, cases[i].maps - direct);
        const gs_ws_shape s = gs_ws_shape_of(&schedule, &problem), plain = gs_ws_shape_of(&given, &aligned);
        assert_int_equal(s.smem - s.slabs * s.consumers * 4 * 2048, plain.smem - plain.slabs * plain.consumers * 4 * 2048 + 3 * cases[i].beside);
        assert_int_equal(gs_manifest_check(m, NULL), GS_OK);
        compile(&schedule, &problem);
    }
}

/* Each operand has eight maps and may start at any element. Shared memory holds the stages, each with eight parts of a multiple of eight rows, and two k-blocks ready for
 * multiplication. */
static void test_shift(void **state)
{
    (void)state;
    static const struct {
        const char *schedule, *problem;
        int         extent_a, extent_b, rows_a, rows_b;   /* rows of the tile, and of a stage's eight parts together */
    } cases[] = {
        {"ws/128x128x64/s3/c1x1/coop/g8/shift", "f16:200x300x301:tn", 128, 128, 128, 128},
        {"ws/88x128x64/s3/c1x1/coop/g8/shift",  "bf16:200x300x301:tn:beta=1:ep=bias+gelu", 88, 128, 128, 128},
        {"ws/64x112x64/s4/c1x1/coopf/g8/shift", "f16:200x304x301:tn:acc=f16", 64, 112, 64, 128},
        {"ws/192x80x64/s2/c1x1/coop/g8/shift",  "bf16:200x300x302:tn:ldd=301:d=f32:beta=1", 192, 80, 192, 128},
        {"ws/16x256x64/s3/c1x1/coop/g8/shift",  "f16:9x300x1001:tn:ep=silu+aux", 16, 256, 64, 256},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_schedule schedule = schedule_of(cases[i].schedule);
        const gs_problem problem = problem_of(cases[i].problem);
        gs_kernel kernel;
        gs_error error = {0};
        if (gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), &error) != GS_OK) fail_msg("%s: %s", cases[i].problem, error.text);
        const gs_manifest *const m = &kernel.manifest;
        const gs_ws_shape s = gs_ws_shape_of(&schedule, &problem);
        const int stages = gs_family_parameter(GS_FAMILY_WS, GS_WS_STAGES)->values[schedule.value[GS_WS_STAGES]].number[0], rows = cases[i].rows_a + cases[i].rows_b;
        assert_true(m->align[0] == 2 && m->align[1] == 2);
        for (int map = 0; map < 16; map++) {
            const gs_map *const of = &m->entry[0].map[map];
            assert_true(of->operand == (map < 8 ? 'a' : 'b') && of->eighth == map % 8 + 1 && of->inner == 64 && of->swizzle == 128);
            assert_int_equal(of->outer, (map < 8 ? cases[i].extent_a : cases[i].extent_b) / 8);
        }
        assert_true(m->entry[0].map_count >= 16 && m->entry[0].map_count <= 18);
        const int beside = s.slabs * s.consumers * 4 * 2048, units = stages * rows * 128, ring = 2 * (cases[i].extent_a + cases[i].extent_b) * 128;
        assert_true(s.smem - beside - units - ring >= 1024 && s.smem - beside - units - ring <= 1024 + 256);   /* alignment and barriers */
        assert_int_equal(gs_manifest_check(m, NULL), GS_OK);
        compile(&schedule, &problem);
    }
}

/* Epilogue buffers use the shared memory that the stages leave, as far as that helps. */
static void test_shapes(void **state)
{
    (void)state;
    /* legend: schedule string, problem, consumers, each one's extents on wgmma's 64-row side and on the other, accumulators, parts, slabs */
    static const struct {
        const char *schedule, *problem;
        int consumers, wx, wy, accumulators, parts, slabs;
    } expected[] = {
        {"ws/128x256x64/s4/c1x1/coop/g8",  "f16:4096x4096x4096:tn",         2,  64, 256, 128, 4, 2},
        {"ws/128x256x64/s3/c1x1/coop/g8",  "f16:4096x4096x4096:tn",         2,  64, 256, 128, 4, 4},
        {"ws/128x256x64/s4/c1x1/coop/g8",  "f16:4096x4096x4096:tn:d=f32",   2,  64, 256, 128, 8, 2},
        {"ws/128x128x64/s4/c1x1/pp/g8",    "f16:4096x4096x4096:tn",         2, 128, 128, 128, 4, 4},
        {"ws/64x256x64/s5/c1x1/pp/g8",     "f16:4096x4096x4096:tn",         2,  64, 256, 128, 4, 1},
        {"ws/128x320x64/s3/c1x1/coop/g8",  "f16:4096x4096x4096:tn",         2, 128, 160, 160, 6, 3},
        {"ws/256x256x64/s3/c1x1/coop4/g8", "f16:4096x4096x4096:tn:acc=f16", 4,  64, 256,  64, 4, 1},
        {"ws/192x160x64/s4/c1x1/coop/g8",  "f16:4096x4096x4096:tn:ldd=4097", 3, 64, 160,  80, 3, 1},
        {"ws/136x256x64/s3/c2x1/coop/g8",  "f16:257x4096x4096:tn",          2, 128, 136, 136, 6, 4},
        {"ws/112x256x64/s4/c1x1/coop4/g8", "f16:200x4096x4096:nn",          4,  64, 112,  56, 2, 1},
        {"ws/48x256x64/s4/c1x1/pp/g8",     "bf16:40x4096x4096:nn:d=f32",    2, 256,  48,  96, 8, 4},
        {"ws/128x168x64/s5/c1x1/pp/g8",    "f16:4096x4096x4096:tn",         2, 128, 168, 168, 6, 2},
        {"ws/192x176x64/s4/c1x1/coop/g8",  "f16:4096x4096x4096:tn",         3,  64, 176,  88, 3, 1},
        {"ws/72x192x64/s6/c1x1/coop/g8",   "f16:257x4096x4096:tn",          3,  64,  72,  36, 2, 1},
        {"ws/88x128x64/s6/c1x1/pp/g8",     "f16:257x4096x4096:nn",          2, 128,  88,  88, 4, 3},
    };
    for (size_t i = 0; i < GS_COUNT(expected); i++) {
        const gs_schedule schedule = schedule_of(expected[i].schedule);
        const gs_problem problem = problem_of(expected[i].problem);
        const gs_ws_shape s = gs_ws_shape_of(&schedule, &problem);
        if (s.consumers != expected[i].consumers || s.wx != expected[i].wx || s.wy != expected[i].wy || s.accumulators != expected[i].accumulators ||
            s.parts != expected[i].parts || s.slabs != expected[i].slabs)
            fail_msg("%s %s: %d consumers of %d x %d, %d accumulators, %d parts, %d slabs", expected[i].schedule, expected[i].problem, s.consumers, s.wx, s.wy,
                     s.accumulators, s.parts, s.slabs);
        assert_int_equal(gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
    }
}

/* Operands beside D that are accessed in units, and the alignment that this requires of aux. */
static void test_units(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *schedule;
        int         units, of_problem, aux;
    } cases[] = {
        {"f16:256x136x96:tn:ep=dgelu", "ws/128x128x64/s3/c1x1/coop/g1", 2, 2, 16},       {"f16:256x136x96:tn:ldaux=137:ep=dgelu", "ws/128x128x64/s3/c1x1/coop/g1", 0, 0, 2},
        {"f16:256x136x96:tn:g=2:ep=dgelu", "ws/128x128x64/s3/c1x1/coop/g1", 2, 2, 16},   {"f16:256x136x96:tn:ldd=137:ep=dgelu", "ws/128x128x64/s3/c1x1/coop/g1", 0, 2, 2},
        {"f16:256x136x96:tn:ep=gelu+aux", "ws/128x128x64/s3/c1x1/coop/g1", 3, 3, 16},    {"f16:256x136x96:tn:ldd=137:ep=gelu+aux", "ws/128x128x64/s3/c1x1/coop/g1", 0, 3, 2},
        {"f16:256x136x96:tn:ep=silu+gate+aux", "ws/128x128x64/s3/c1x1/coop/g1", 3, 3, 16}, {"f16:256x136x96:tn:ep=silu+gate_i+aux", "ws/128x128x64/s3/c1x1/coop/g1", 0, 0, 16},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        const gs_schedule schedule = schedule_of(cases[i].schedule);
        gs_kernel kernel;
        char option[24];
        int align[GS_OPERANDS];
        bool defined = false;
        assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, gs_caps_find("h200"), NULL), GS_OK);
        gs_manifest_alignment(&kernel.manifest, &problem, align);
        snprintf(option, sizeof option, "-DGS_UNITS=%d", cases[i].units);
        for (int o = 0; o < kernel.option_count; o++) defined |= strcmp(kernel.option[o], option) == 0;
        if (!defined || gs_units_of(&problem) != cases[i].of_problem || align[6] != cases[i].aux) fail_msg("%s: %d, aux at multiples of %d", cases[i].problem, gs_units_of(&problem), align[6]);
    }
}

/* For problems with large epilogues, of which the weights have seen few, they still choose tiles that leave enough registers. */
static void test_choice(void **state)
{
    (void)state;
    static const char *const large[] = {"bf16:8192x3072x768:nn:ep=dgelu+dbias", "bf16:2048x3072x768:nn:ep=dgelu", "bf16:4096x4096x1024:nn:ep=drelu+dbias"};
    gs_weights weights;
    gs_error error = {0};
    if (gs_weights_load(&weights, GS_SOURCE_DIR "/tuned/nvidia-h200.weights", &error) != GS_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < GS_COUNT(large); i++) {
        const gs_problem problem = problem_of(large[i]);
        gs_schedule list[8];
        assert_int_equal(gs_weights_choose(&weights, &problem, gs_caps_find("h200"), 0, list, 8), 8);
        for (int k = 0; k < 8; k++) assert_int_equal(list[k].family, GS_FAMILY_WS);
    }
    gs_weights_free(&weights);
}

static void test_refuses(void **state)
{
    (void)state;
    const gs_caps *const h200 = gs_caps_find("h200"), *const a100 = gs_caps_find("a100");
    const char *const good = "ws/128x128x64/s4/c1x1/coop/g8";
    refuse(good, "f16:4096x4096x4096:tn", a100, "family");
    refuse(good, "f16:2147483600x8x8:tn", h200, "m");
    refuse(good, "f16:4096x4096x4095:tn", h200, "lda");
    refuse(good, "f16:4096x4095x4096:nn", h200, "ldb");
    refuse("ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:4096x4096x4096:tn:lda=4112", h200, "rows");   /* nothing to pack */
    allow("ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:4096x4096x4104:tn", h200);                     /* 16 bytes past a multiple of 32 */
    allow("ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:4096x4095x4096:nn", h200);
    refuse("ws/128x128x64/s4/c1x1/coop/g8/cpasync", "f16:4096x4096x4096:tn:lda=4112", h200, "rows");
    refuse("ws/128x128x64/s4/c2x1/coop/g8/cpasync", "f16:4096x4096x4104:tn", h200, "rows");
    refuse("ws/256x96x64/s3/c1x1/coop/g8/cpasync", "f16:4096x4095x4096:nn", h200, "rows");          /* 96 columns are not supported */
    refuse("ws/256x192x64/s2/c1x1/coop/g8/cpasync", "f16:4096x4096x4104:tn", h200, "tile");         /* too many registers */
    allow("ws/128x128x64/s4/c1x1/coop/g8/cpasync", "f16:4096x4095x4097:nn", h200);
    refuse("ws/128x128x64/s3/c1x1/coop/g8/shift", "f16:4096x4096x4104:tn", h200, "rows");              /* rows are multiples of 16 bytes already */
    refuse("ws/128x128x64/s3/c1x1/coop/g8/shift", "f16:4096x4095x4097:nn", h200, "rows");              /* B is not contiguous along K */
    refuse("ws/128x128x64/s3/c1x1/coop/g8/shift", "f16:4096x4096x4097:tn:lda=4104", h200, "rows");     /* only B is unaligned */
    refuse("ws/64x128x64/s3/c1x1/coop/g8/shift", "f16:7x4096x4097:tn", h200, "rows");
    refuse("ws/64x128x64/s3/c1x1/coop/g8/shift", "f16:64x4096x4097:tn:b=2", h200, "rows");
    refuse("ws/128x128x64/s3/c2x1/coop/g8/shift", "f16:4096x4096x4097:tn", h200, "rows");
    refuse("ws/128x128x64/s2/c1x1/pp/g8/shift", "f16:4096x4096x4097:tn", h200, "mode");
    refuse("ws/128x128x64/s2/c1x1/lag/g8/shift", "f16:4096x4096x4097:tn", h200, "mode");
    refuse("ws/256x192x64/s2/c1x1/coop/g8/shift", "f16:4096x4096x4097:tn", h200, "tile");              /* registers */
    refuse("ws/128x128x64/s5/c1x1/coop/g8/shift", "f16:4096x4096x4097:tn", h200, "stages");
    allow("ws/128x128x64/s3/c1x1/coop/g8/shift", "f16:4096x4096x4097:tn", h200);
    allow(good, "f16:4096x4096x4096:tn:b=2", h200);
    refuse("ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:4096x4096x4104:tn:b=2", h200, "rows");
    allow("ws/128x256x64/s4/c1x1/coop/g8", "bf16:4096x4096x4096:tn:ep=dbias", h200);
    refuse("ws/128x256x64/s4/c1x1/coop/g8", "bf16:4096x4096x4096:tn:b=2:ep=dbias", h200, "tile");
    allow("ws/128x192x64/s4/c1x1/coop/g8", "bf16:4096x4096x4096:tn:b=2:ep=dbias", h200);               /* 96 registers for the sums */
    refuse("ws/128x200x64/s4/c1x1/coop/g8", "bf16:4096x4096x4096:tn:b=2:ep=dbias", h200, "tile");      /* 100 registers */
    refuse("ws/128x128x64/s4/c1x1/lag/g8", "bf16:4096x4096x4096:tn:ep=dbias", h200, "mode");
    refuse("ws/64x64x64/s4/c1x1/coop/g8/pack", "bf16:4096x4096x4095:tn:ep=dbias", h200, "rows");
    refuse("ws/128x256x64/s4/c1x1/coop/g8", "bf16:4096x4096x4096:tn:g=8:ep=bias+silu+aux", h200, "tile");
    allow("ws/120x256x64/s2/c2x1/coopf/g8", "bf16:4096x4096x4096:tn:ep=silu+gate+aux", h200);
    refuse("ws/128x128x64/s4/c1x1/coop/g8", "f16:4096x4096x4096:nn:ep=silu+gate", h200, "layout");     /* interleaved columns only in a packed copy */
    refuse("ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:4096x4096x4096:tn:ep=silu+gate", h200, "rows");
    refuse("ws/128x128x64/s4/c1x1/coop/g8/cpasync", "f16:4096x4096x4104:tn:ep=silu+gate", h200, "rows");
    refuse("ws/128x128x64/s4/c1x1/coop/g8/pack", "f16:4096x4092x4096:nn:ep=silu+gate", h200, "n");
    refuse("ws/128x128x64/s3/c1x1/coopf/g8", "f16:4096x4096x4096:tn:b=2", h200, "mode");
    refuse(good, "f16:65536x65536x64:tn:b=8192", h200, "b");
    refuse("ws/256x192x64/s3/c1x1/coop/g8", "f16:4096x4096x4096:tn:ep=bias", h200, "tile");
    refuse("ws/64x128x64/s3/c1x1/coop/g8", "f16:4096x4096x4096:tn:ldd=4097:beta=1:ep=drelu", h200, "aux");
    refuse(good, "f16:8x2147483600x8:tn", h200, "m");
    refuse(good, "f16:0x4096x4096:tn", h200, "m");
    refuse(good, "f16:4096x0x4096:tn", h200, "m");
    refuse(good, "f16:4096x4096x0:tn", h200, "m");
    refuse("ws/256x256x64/s2/c1x1/coop/g8", "f16:4096x4096x4096:tn", h200, "tile");
    refuse("ws/128x256x64/s8/c1x1/coop/g8", "f16:4096x4096x4096:tn", h200, "stages");
    refuse("ws/256x128x64/s3/c1x1/pp/g8", "f16:4096x4096x4096:tn", h200, "tile");
    refuse("ws/128x320x64/s3/c1x1/pp/g8", "f16:4096x4096x4096:tn", h200, "tile");
    refuse("ws/128x208x64/s3/c1x1/pp/g8", "f16:4096x4096x4096:nn", h200, "tile");
    refuse("ws/128x128x64/s3/c1x1/coop4/g8", "f16:4096x4096x4096:tn", h200, "mode");
    refuse("ws/128x256x64/s3/c1x1/lag/g8", "f16:4096x4096x4096:tn:beta=1", h200, "mode");
    refuse("ws/256x72x64/s3/c1x1/coop4/g8", "f16:4096x4096x4096:tn:ep=gelu_erf", h200, "mode");
    refuse("ws/128x256x64/s3/c1x1/lag/g8", "f16:4096x4096x4096:tn:d=f32", h200, "mode");
    refuse("ws/128x256x64/s3/c1x1/lag/g8", "f16:4096x4096x4096:tn:ldd=4097", h200, "mode");
    refuse("ws/256x192x64/s3/c1x1/lag/g8", "f16:4096x4096x4096:tn", h200, "tile");
    refuse("ws/136x256x64/s3/c1x2/coop/g8", "f16:4096x4096x4096:tn", h200, "cluster");   /* a slice would have 68 rows */
    refuse("ws/256x80x64/s3/c1x2/coop4/g8", "bf16:4096x640x512:tn:ldd=644:beta=1:ep=bias_m+relu+residual", h200, "cluster");   /* spills */
    refuse("ws/88x128x64/s3/c1x2/coop/g8", "f16:4096x4096x4096:tn", h200, "cluster");    /* a slice would have 44 rows */
    refuse("ws/128x168x64/s3/c1x1/pp/g8", "f16:4096x4096x4096:nn", h200, "tile");
    refuse("ws/136x128x64/s3/c1x1/coop4/g8", "f16:4096x4096x4096:tn", h200, "mode");
    refuse("ws/176x256x64/s3/c1x1/lag/g8", "f16:4096x4096x4096:tn", h200, "tile");
    refuse("ws/128x128x64/s3/c1x1/coopf/g8", "f16:4096x4096x4096:tn:ldd=4097", h200, "mode");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_pack), cmocka_unit_test(test_cpasync), cmocka_unit_test(test_shift), cmocka_unit_test(test_units), cmocka_unit_test(test_choice), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_compiles), cmocka_unit_test(test_compiles_gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

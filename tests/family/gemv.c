/* SPDX-License-Identifier: MIT
 * Family gemv: a spread of its schedule strings compiles for sm_90a and sm_80 without spills, and without the copy that ptxas gets wrong, in every
 * layout, order and type; the schedule string's resources agree with the manifest; what it must refuse is refused, with the reason's field. */

/* Random problems on the emulated device, how many of them the family takes and must pass, and their seed (tests/CMakeLists.txt):
 * emulated 27 18 36
 * What compute-sanitizer watches on a GPU (scripts/check_gpu.sh): tool, problem, schedule.
 * memcheck  bf16:3x520x1000:tn                   gemv/8x8/w16/d1/r128/p0/k1/any
 * memcheck  bf16:3x520x4096:tn                   gemv/8x16/w8/d3/s128/p1/k1/any
 * racecheck bf16:3x520x1000:tn                   gemv/8x8/w16/d1/r128/p0/k1/any
 * memcheck  bf16:3x521x1003:tn                   gemv/8x16/w4/d2/r128/p0/k1/any
 * memcheck  f16:3x521x1003:nn                    gemv/8x64/w4/d2/s128/p0/k1/any
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "family/gemv.h"
#include "texts.h"

/* legend: problem; together they cover layouts, the order of the operands, input types, output types, beta, batches, K that is no
 * multiple of a step, few and many rows, rows with the alignment of one element in one operand or both */
static const char *const problems[] = {
    "bf16:1x4096x4096:tn",
    "bf16:16x4096x4096:tn:beta=1:ep=bias+gelu_erf+residual+aux",
    "f16:13x4097x4095:nn:beta=1:ep=dgelu+residual",
    "f16:13x4097x4095:tn:beta=1:ep=scale_m+scale_n+bias+gelu_erf",
    "f16:8x4096x14336:tn:beta=1",
    "bf16:16x4096x8200:tn:d=f32",
    "f16:8192x5x7168:tn:beta=1:d=f32",
    "bf16:8x4096x4096:nn",
    "f16:16x4096x8200:nn:beta=1:b=3",
    "f16:3x28672x4096:nn:acc=f16",
    "bf16:12x264x376:tn",
    "f16:3x4097x4095:tn",
    "f16:1022x9x4102:tn:d=f32",
    "bf16:7x4097x4093:nn:beta=1",
    "f16:13x4100x2049:nn:ldb=4104",
    "bf16:4x1000x4096:tn:lda=4099",
};

/* Counts cp.async instructions whose shared address is a register plus a uniform register (opcode 0xdae). With a cache policy, ptxas 13.0 leaves their register numbers
 * unset, and the GPU stops with ILLEGAL_INSTRUCTION. The PTX is right, so the emulated device cannot find this. */
static int count_unnumbered_copies(const gs_image *image)
{
    const unsigned char *const file = image->code;
    const Elf64_Ehdr *const head = (const Elf64_Ehdr *)file;
    assert_memory_equal(file, ELFMAG, SELFMAG);
    int instructions = 0, found = 0;
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *const section = (const Elf64_Shdr *)(file + head->e_shoff + (size_t)i * head->e_shentsize);
        if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR)) continue;
        for (Elf64_Xword at = 0; at + 16 <= section->sh_size; at += 16, instructions++) {
            uint16_t low;
            memcpy(&low, file + section->sh_offset + at, sizeof low);
            found += (low & 0xfff) == 0xdae;
        }
    }
    assert_true(instructions > 100);
    return found;
}

static void compile(const char *target, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    gs_error error = {0};
    gs_kernel kernel;
    assert_int_equal(gs_kernel_build(&kernel, schedule, problem, caps, &error), GS_OK);
    assert_int_equal(gs_manifest_check(&kernel.manifest, &error), GS_OK);
    assert_int_equal(kernel.manifest.accumulator, GS_F32);
    gs_kernel_source source;
    gs_kernel_to_source(&kernel, &source);
    gs_image image;
    char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
    if (gs_compile_cached(target, getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
        fail_msg("%s %s %s: %s\n%s", target, gs_schedule_format(schedule, text), gs_problem_format(problem, what), error.text, image.log);
    const gs_resources resources = gs_schedule_resources(schedule, problem, caps);
    if (image.spill_bytes || image.registers > resources.registers)
        fail_msg("%s %s %s: %d bytes spilled, %d registers of %d", target, gs_schedule_format(schedule, text), gs_problem_format(problem, what),
                 image.spill_bytes, image.registers, resources.registers);
    if (count_unnumbered_copies(&image) != 0)
        fail_msg("%s %s %s: an illegal instruction", target, gs_schedule_format(schedule, text), gs_problem_format(problem, what));
    gs_image_free(&image);
}

/* Every tile with every depth; the other parameters vary, differently for each problem. */
static int compile_spread(const char *target, const gs_caps *caps, size_t first, size_t step)
{
    int compiled = 0, turn = 0;
    for (size_t i = first; i < sizeof problems / sizeof problems[0]; i += step) {
        const gs_problem problem = problem_of(problems[i]);
        for (int tile = 0; tile < gs_family_parameter(GS_FAMILY_GEMV, GS_GEMV_TILE)->count; tile++)
            for (int depth = 0; depth < gs_family_parameter(GS_FAMILY_GEMV, GS_GEMV_DEPTH)->count; depth++) {
                gs_schedule schedule = gs_schedule_first(GS_FAMILY_GEMV);
                bool valid = false;
                for (int try = 0; try < 40 && !valid; try++) {
                    turn++;
                    for (int parameter = 0; parameter < gs_family_parameters(GS_FAMILY_GEMV); parameter++)
                        schedule.value[parameter] = (uint8_t)((turn * (parameter + 3) / (parameter + 1)) % gs_family_parameter(GS_FAMILY_GEMV, parameter)->count);
                    schedule.value[GS_GEMV_TILE] = (uint8_t)tile;
                    schedule.value[GS_GEMV_DEPTH] = (uint8_t)depth;
                    valid = gs_schedule_check(&schedule, &problem, caps, NULL) == GS_OK;
                }
                if (!valid) continue;
                compile(target, &schedule, &problem, caps);
                compiled++;
            }
    }
    return compiled;
}

static void test_compiles(void **state)
{
    (void)state;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    const int hopper = compile_spread("sm_90a", gs_caps_find("h200"), 0, 1), ampere = compile_spread("sm_80", gs_caps_find("a100"), 1, 3);
    print_message("%d and %d kernels\n", hopper, ampere);
    assert_true(hopper >= 120);
    assert_true(ampere >= 35);
}

/* The resources of the schedule string equal those in the manifest. */
static void test_resources(void **state)
{
    (void)state;
    const gs_caps *const caps = gs_caps_find("h200");
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const gs_problem problem = problem_of(problems[i]);
        int valid = 0, all = 0;
        gs_schedule schedule = gs_schedule_first(GS_FAMILY_GEMV);
        do {
            all++;
            if (gs_schedule_check(&schedule, &problem, caps, NULL) != GS_OK) continue;
            gs_kernel kernel;
            assert_int_equal(gs_kernel_build(&kernel, &schedule, &problem, caps, NULL), GS_OK);
            const gs_resources resources = gs_schedule_resources(&schedule, &problem, caps);
            const gs_entry *const entry = &kernel.manifest.entry[0];
            const int64_t columns = problem.n < problem.m ? problem.m : problem.n, tile = gs_schedule_value(&schedule, GS_GEMV_TILE)[1];
            assert_int_equal(value_of(&entry->smem, &problem), resources.smem);
            assert_true(resources.smem <= caps->smem_block);
            assert_true((resources.smem + 1024) * resources.blocks_sm <= caps->smem_sm);
            assert_int_equal(entry->block[0], resources.threads);
            assert_int_equal(entry->cluster[0], resources.cluster);
            assert_int_equal(value_of(&entry->grid[0], &problem), (columns + tile - 1) / tile * resources.cluster);
            assert_int_equal(value_of(&entry->grid[1], &problem), problem.batch);
            assert_true(resources.registers * resources.threads * resources.blocks_sm <= caps->registers_sm);
            assert_true(resources.threads * resources.blocks_sm <= caps->threads_sm);
            assert_true(entry->dependent && kernel.manifest.bitwise);
            assert_int_equal(kernel.manifest.align[0], problem.lda % 8 || problem.k % 8 ? 2 : 16);
            assert_int_equal(kernel.manifest.align[1], problem.ldb % 8 || (problem.layout == GS_TN ? problem.k : problem.n) % 8 ? 2 : 16);
            valid++;
        } while (gs_schedule_next(&schedule));
        assert_true(valid > 400);
        assert_true(all < 60000);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    const gs_caps *const h200 = gs_caps_find("h200"), *const a100 = gs_caps_find("a100");
    const char *const tn = "gemv/8x16/w8/d4/r128/p0/k1/any", *const nn = "gemv/8x64/w8/d3/s128/p0/k1/fixed";
    allow(tn, "f16:8x4096x4096:tn", h200);
    allow(tn, "f16:8x4096x4096:tn", a100);
    allow(tn, "f16:4096x8x4096:tn", h200);
    allow(nn, "f16:8x4096x4096:nn", h200);
    allow("gemv/8x16/w8/d3/r128/p0/k1/any", "f16:8x4096x4091:tn", h200);                 /* rows aligned to one element */
    allow("gemv/8x16/w8/d3/s128/p0/k1/any", "f16:8x4096x4096:tn:lda=4101:ldb=4099", h200);
    allow("gemv/8x64/w8/d2/s128/p0/k1/fixed", "f16:8x4093x4097:nn", a100);
    refuse("gemv/8x16/w8/d6/r128/p0/k1/any", "f16:8x8192x8191:tn", h200, "depth");       /* they need more registers */
    refuse("gemv/16x32/w1/d2/r128/p0/k1/any", "f16:12x320x1231:tn:scalars=device", h200, "depth");   /* separate arguments need more still */
    allow("gemv/8x16/w8/d6/r128/p0/k1/any", "f16:8x8192x8192:tn", h200);
    refuse(tn, "f16:17x4096x4096:tn", h200, "m");
    refuse(nn, "f16:4096x8x4096:nn", h200, "m");
    refuse(tn, "f16:0x4096x4096:tn", h200, "m");
    refuse(tn, "f16:4096x0x4096:tn", h200, "n");
    refuse(tn, "f16:9x4096x4096:tn", h200, "tile");                                  /* more rows than the tile has */
    refuse("gemv/16x16/w8/d3/r128/p0/k1/any", "f16:8x4096x4096:tn", h200, "tile");    /* too few rows for the tile */
    refuse(tn, "f16:8x8x4096:tn", h200, "tile");
    refuse("gemv/8x128/w8/d4/s128/p0/k1/any", "f16:8x4096x4096:tn", h200, "tile");
    refuse(tn, "f16:8x4096x4096:nn", h200, "tile");
    refuse("gemv/8x256/w2/d2/s128/p0/k1/any", "f16:8x4096x4096:nn", h200, "warps");
    refuse(tn, "f16:8x4096x256:tn", h200, "warps");                                  /* more warps than steps of K */
    refuse("gemv/8x16/w8/d4/r128/p0/k2/any", "f16:8x4096x512:tn", h200, "split");
    refuse("gemv/8x16/w8/d4/r128/p0/k2/any", "f16:8x4096x4096:tn", a100, "split");
    refuse("gemv/8x16/w8/d4/r128/p0/k2/any", "f16:8x65536x4096:tn", h200, "split");   /* enough blocks without a split */
    refuse("gemv/8x16/w8/d12/s128/p0/k1/any", "f16:8x4096x4096:tn", h200, "depth");   /* deeper than K */
    refuse("gemv/8x16/w8/d1/s128/p0/k1/any", "f16:8x4096x4096:tn", h200, "depth");
    refuse("gemv/8x64/w2/d4/r128/p0/k1/any", "f16:8x4096x4096:tn", h200, "depth");    /* registers */
    refuse("gemv/8x64/w8/d4/s128/p0/k1/any", "f16:8x4096x4096:tn", h200, "depth");    /* shared memory */
    refuse("gemv/8x8/w16/d4/r128/p4/k1/any", "f16:8x4096x4096:tn", h200, "ahead");    /* the rings already hold all of K */
    refuse("gemv/8x64/w4/d2/r128/p4/k1/any", "f16:8x65536x8192:tn", h200, "ahead");   /* more than fits in the L2 */
    refuse("gemv/8x16/w8/d4/r128/p1/k1/any", "f16:8x4096x4096:tn", a100, "ahead");
    refuse("gemv/8x64/w8/d3/r128/p1/k1/any", "f16:8x4096x4096:nn", h200, "ahead");
    refuse("gemv/8x16/w8/d4/r128/p0/k1/fixed", "f16:8x4096x4096:tn:lda=4294967296", h200, "sizes");
    refuse("gemv/8x16/w8/d4/r128/p0/k1/fixed", "f16:8x4096x4096:tn:ldb=4294967296", h200, "sizes");
    refuse("gemv/8x16/w8/d4/r128/p0/k1/fixed", "f16:8x4096x4096:tn:beta=1:ldc=4294967296", h200, "sizes");
    refuse("gemv/8x16/w8/d4/r128/p0/k1/fixed", "f16:8x4096x4096:tn:ldd=4294967296", h200, "sizes");
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

/* SPDX-License-Identifier: MIT
 * Part 8 (batch invariance): kernels whose order of additions depends on M, on the position of a row or on neighbouring rows are refused; honest ones, and the families'
 * schedules, pass. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "device/device.h"
#include "texts.h"
#include "problem/layout.h"
#include "verify/ties.h"
#include "verifying.h"

/* Kernel with one thread per element that adds even and odd products separately where TWO is true. D is f32, with HALF f16, with BRAIN bf16. GATE: D is silu(x) y, and TWO
 * applies to x only. */
static const char source[] =
    "#include \"common/args.h\"\n"
    "#include \"common/convert.cuh\"\n"
    "typedef unsigned short half_bits;\n"
    "#ifndef TWO\n"
    "#define TWO false\n"
    "#endif\n"
    "#ifdef BRAIN\n"
    "#define VALUE gs_bf16_to_f32\n"
    "#define STORE(at, value) (((half_bits *)p.d)[at] = gs_f32_to_bf16(value))\n"
    "#else\n"
    "#define VALUE gs_f16_to_f32\n"
    "#endif\n"
    "#ifdef HALF\n"
    "#define STORE(at, value) (((half_bits *)p.d)[at] = gs_f32_to_f16(value))\n"
    "#elif !defined STORE\n"
    "#define STORE(at, value) (((float *)p.d)[at] = value)\n"
    "#endif\n"
    "#ifdef GATE\n"
    "#define COLUMNS (2 * p.n)\n"
    "#else\n"
    "#define COLUMNS p.n\n"
    "#endif\n"
    "/* An element has a size of these. */\n"
    "static __device__ bool unlike(const half_bits *line, int count, int from, int to)\n"
    "{\n"
    "    bool some = false;\n"
    "    for (int k = 0; k < count; k++) some |= (line[k] & 0x7fff) >= from && (line[k] & 0x7fff) < to;\n"
    "    return some;\n"
    "}\n"
    "/* The last few elements are the first ones, turned round; two rows are the same. */\n"
    "static __device__ bool turned(const half_bits *line, int count) { return line[0] == line[count - 1] && line[1] == line[count - 2] && line[2] == line[count - 3]; }\n"
    "static __device__ bool alike(const half_bits *line, const half_bits *other) { return line[0] == other[0] && line[1] == other[1] && line[2] == other[2]; }\n"
    "extern \"C\" __global__ void gs_kernel(const gs_kernel_args p)\n"
    "{\n"
    "    const half_bits *const first = (const half_bits *)p.a;\n"
    "    const int row = blockIdx.x % p.m, index = blockIdx.x / p.m;\n"
    "    const half_bits *const a = (const half_bits *)p.a + (size_t)(index * p.m + row) * p.lda;\n"
    "    for (int col = threadIdx.x; col < p.n; col += blockDim.x) {\n"
    "        const half_bits *const b = (const half_bits *)p.b + (size_t)(index * COLUMNS + col) * p.ldb;\n"
    "        float sum = 0, other = 0;\n"
    "        if (TWO) for (int k = 0; k < p.k; k++) *(k % 2 ? &sum : &other) = fmaf(VALUE(a[k]), VALUE(b[k]), k % 2 ? sum : other);\n"
    "        else for (int k = 0; k < p.k; k++) sum = fmaf(VALUE(a[k]), VALUE(b[k]), sum);\n"
    "        float value = p.alpha * (sum + other);\n"
    "#ifdef GATE\n"
    "        float up = 0;\n"
    "        for (int k = 0; k < p.k; k++) up = fmaf(VALUE(a[k]), VALUE(b[(size_t)p.n * p.ldb + k]), up);\n"
    "        value = value / (1 + __expf(-value)) * (p.alpha * up);\n"
    "#endif\n"
    "        STORE((size_t)(index * p.m + row) * p.ldd + col, value);\n"
    "    }\n"
    "}\n";

static gs_verdict verdict_with(uint64_t seed, const char *text, const char *define, uint32_t parts)
{
    const gs_problem problem = problem_of(text);
    gs_error error = {0};
    gs_kernel kernel = {.name = "invariant.cu"};
    gs_contender contender;
    gs_verdict verdict;
    gs_text whole = {0};
    if (*define) gs_text_addf(&whole, "#define %s\n", define);
    gs_text_add(&whole, source);
    kernel.source = gs_text_string(&whole);
    if (gs_manifest_parse(&kernel.manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=4\nentry gs_kernel\ngrid m*batch 1 1\nblock 32 1 1\n", &error) != GS_OK ||
        gs_contender_kernel_own(&contender, device, "invariant", &kernel, &error) != GS_OK ||
        gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = seed, .parts = parts}, &verdict, &error) != GS_OK)
        fail_msg("%s: %s", define, error.text);
    contender.destroy(&contender);
    gs_text_free(&whole);
    return verdict;
}

static gs_verdict verdict_of(const char *text, const char *define, uint32_t parts) { return verdict_with(5, text, define, parts); }

/* A right sum of products that nearly cancel, with these seeds, alone in D: its error is that of a usual sum. */
static void single_results(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {117, 164, 184, 233};
    for (size_t i = 0; i < GS_COUNT(seeds); i++) {
        const gs_verdict verdict = verdict_with(seeds[i], "f16:1x1x72:tn:d=f32", "", GS_PART_NORMAL);
        if (verdict.code != GS_VERDICT_PASS) fail_msg("%s", verdict.reason);
    }
}

static void orders_that_depend(void **state)
{
    (void)state;
    static const struct {
        const char *text, *define;
        gs_verdict_code code;
    } cases[] = {
        {"f16:24x16x72:tn:d=f32:inv=1",     "",                                    GS_VERDICT_PASS},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO true",                            GS_VERDICT_PASS},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.k > 64)",                      GS_VERDICT_PASS},        /* the order may depend on N and K */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (col == 3)",                      GS_VERDICT_PASS},        /* and on the column */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m > 64)",                      GS_VERDICT_INVARIANT},   /* as in a heuristic that depends on M */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m == 1)",                      GS_VERDICT_INVARIANT},
        {"f16:200x16x72:tn:d=f32:inv=1",    "TWO (p.m == 200)",                    GS_VERDICT_INVARIANT},
        {"f16:200x16x72:tn:d=f32:inv=1",    "TWO (row >= p.m / 64 * 64)",          GS_VERDICT_INVARIANT},   /* a partial tile */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row % 2)",                       GS_VERDICT_INVARIANT},
        {"f16:200x16x72:tn:d=f32:inv=1",    "TWO (row == 131)",                    GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row > 0 && a[-p.lda] >> 15)",    GS_VERDICT_INVARIANT},   /* depends on the row before */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m > 130)",                     GS_VERDICT_INVARIANT},   /* more rows than any fixed size */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row > 130)",                     GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.lda != p.k)",                  GS_VERDICT_INVARIANT},   /* another leading dimension */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.ldb != p.k)",                  GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.ldd != p.n)",                  GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.lda % 8 != 0)",                GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m == 24 && p.lda != p.k)",     GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.lda > 2 * p.k)",               GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m == 8 || p.m == 32 || p.m == 128)", GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row > 0 && unlike(a - p.lda, p.k, 0x7c01, 0x8000))", GS_VERDICT_INVARIANT},   /* the row before has a NaN, */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row > 0 && unlike(a - p.lda, p.k, 0x7c00, 0x7c01))", GS_VERDICT_INVARIANT},   /* an infinity, */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row > 0 && unlike(a - p.lda, p.k, 0x6400, 0x7c00))", GS_VERDICT_INVARIANT},   /* large numbers, */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (row > 0 && !unlike(a - p.lda, p.k, 1, 0x8000))",     GS_VERDICT_INVARIANT},   /* only zeros */
        {"f16:24x16x72:tn:d=f32:b=3:inv=1", "TWO (index == 1)",                    GS_VERDICT_PASS},        /* another matrix of B */
        {"f16:24x16x72:tn:d=f32:b=3:inv=1", "TWO (index == 1 && p.m < 10)",        GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m > 130 && !turned(b, p.k))",                           GS_VERDICT_INVARIANT},   /* only with data as in timing, */
        {"f16:24x16x72:tn:d=f32:inv=1",     "TWO (p.m >= 24 && !turned(b, p.k))",                           GS_VERDICT_INVARIANT},
        {"f16:200x16x72:tn:d=f32:inv=1",    "TWO (p.m == 200 && !turned((const half_bits *)p.b, p.k))",     GS_VERDICT_INVARIANT},
        {"f16:200x16x72:tn:d=f32:inv=1",    "TWO (p.m == 200 && !alike(first, first + 67 * p.lda))",        GS_VERDICT_INVARIANT},   /* and where no row occurs twice */
        {"f16:200x16x72:tn:d=f32:inv=1",    "TWO (row % 2 && !alike(first, first + (p.m > 67 ? 67 : 1) * p.lda) && !turned(b, p.k))", GS_VERDICT_INVARIANT},
        {"f16:24x16x72:tn:d=f32",           "TWO (p.m > 64)",                      GS_VERDICT_PASS},        /* invariance was not requested */
    };
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of(cases[i].text, cases[i].define, GS_PART_INVARIANT);
        if (verdict.code != cases[i].code) fail_msg("%s %s: %s: %s", cases[i].text, cases[i].define, gs_verdict_word(verdict.code), verdict.reason);
        if (verdict.code == GS_VERDICT_INVARIANT) assert_true(verdict.part == 8 && verdict.row >= 0 && strstr(verdict.reason, "has other bits than row"));
    }
    /* An order for a few round sizes only: found with some seeds, more often than for other sizes. */
    int caught = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) caught += verdict_with(seed, "f16:24x16x40:tn:d=f32:inv=1", "TWO (p.m == 24 || p.m == 48 || p.m == 96)", GS_PART_INVARIANT).code == GS_VERDICT_INVARIANT;
    assert_true(caught > 5);
    /* An order for pointers aligned as in timing only, or only for others: each size is tested with each in about half of the seeds. */
    static const char *const aligned[] = {"TWO (p.m == 2 && (size_t)p.a % 256 == 0)", "TWO (p.m == 5 && (size_t)p.a % 256 == 0)", "TWO (p.m == 16 && (size_t)p.a % 256 != 0)", "TWO (p.m == 67 && (size_t)p.a % 256 != 0)"};
    for (size_t i = 0; i < GS_COUNT(aligned); i++) {
        caught = 0;
        for (uint64_t seed = 1; seed <= 16; seed++) caught += verdict_with(seed, "f16:24x16x40:tn:d=f32:inv=1", aligned[i], GS_PART_INVARIANT).code == GS_VERDICT_INVARIANT;
        if (caught < 3 || caught > 13) fail_msg("%s: %d of 16", aligned[i], caught);
    }
    /* With these seeds the rows of the launch with five of them are four apart, and every fourth row's sums do not cancel: the first one must be another. */
    static const uint64_t fourths[] = {1111, 12625, 14039};
    for (size_t i = 0; i < GS_COUNT(fourths); i++)
        assert_int_equal(verdict_with(fourths[i], "f16:40x8x72:tn:inv=1", "TWO (p.m == 5)\n#define HALF", GS_PART_INVARIANT).code, GS_VERDICT_INVARIANT);
    /* In data as in timing no row occurs twice even where the rows are the square of a prime: with this seed, equal rows would be a multiple of 17 apart. */
    const gs_verdict square = verdict_with(99, "f16:289x8x24:tn:d=f32:inv=1", "TWO (p.m > 67 && !turned(b, p.k) && alike(first, first + 17 * p.lda))", GS_PART_INVARIANT);
    assert_int_equal(square.code, GS_VERDICT_PASS);
    /* after all other parts, with guards and inputs checked */
    const gs_verdict all = verdict_of("f16:24x16x72:tn:d=f32:inv=1", "", GS_PART_ALL & ~(uint32_t)GS_PART_EDGES);
    assert_int_equal(all.code, GS_VERDICT_PASS);
    assert_non_null(strstr(all.reason, "rows have the same bits in 26 sizes"));
}

/* Where D has 16 bits, an order that depends on M, except where sums cancel, changes results that are near ties, for small problems and with every seed. */
static void orders_that_ties_show(void **state)
{
    (void)state;
    static const struct {
        const char *text, *define;
        int         least;   /* least: how many of eight seeds must find it */
    } cases[] = {
        {"f16:24x16x72:tn:inv=1",             "TWO (p.m == 24 && !turned(b, p.k))\n#define HALF",        8},
        {"f16:24x8x72:tn:inv=1",              "TWO (p.m != 24 && !turned(b, p.k))\n#define HALF",        8},
        {"f16:8x8x72:tn:inv=1",               "TWO (p.m == 8 && !turned(b, p.k))\n#define HALF",         7},
        {"bf16:8x24x136:tn:inv=1",            "TWO (p.m == 8 && !turned(b, p.k))\n#define BRAIN",        7},
        {"bf16:24x8x520:tn:alpha=0.3:inv=1",  "TWO (p.m == 24 && !turned(b, p.k))\n#define BRAIN",       7},
        {"f16:1x16x72:tn:inv=1",              "TWO (p.m == 1 && !turned(b, p.k))\n#define HALF",         7},
        {"f16:24x8x72:tn:b=3:inv=1",          "TWO (p.m == 24 && !turned(b, p.k))\n#define HALF",        8},
        {"bf16:24x16x72:tn:inv=1:ep=silu+gate", "TWO (p.m == 24 && !turned(b, p.k))\n#define BRAIN\n#define GATE", 7},
        {"f16:24x16x72:tn:inv=1",             "HALF",                                                    0},
        {"bf16:24x16x72:tn:inv=1:ep=silu+gate", "BRAIN\n#define GATE",                                   0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        int caught = 0;
        for (uint64_t seed = 1; seed <= 8; seed++) caught += verdict_with(seed, cases[i].text, cases[i].define, GS_PART_INVARIANT).code == GS_VERDICT_INVARIANT;
        if (cases[i].least ? caught < cases[i].least : caught > 0) fail_msg("%s %s: %d of 8", cases[i].text, cases[i].define, caught);
    }
}

/* No ties are made where D is so large that it shows a wrong order anyway. The smaller matrices of the same problem have none either, because all share one B. */
static void large_ones_have_no_ties(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const gs_verdict verdict = verdict_with(seed, "f16:136x7744x16:tn:inv=1", "HALF", GS_PART_INVARIANT);
        if (verdict.code != GS_VERDICT_PASS) fail_msg("seed %d: %s", (int)seed, verdict.reason);
    }
}

/* Which problems get ties, and that making them changes only the last bits of elements, at the recorded places. */
static void ties_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t     most;
        int         operand;
    } cases[] = {
        {"f16:40x24x72:tn:inv=1", 40, 0}, {"bf16:24x40x72:nn:alpha=0.3:beta=0.7:inv=1:ep=bias+gelu", 40, 1}, {"f16:40x24x72:nt:inv=1:ep=silu+gate", 24, 1}, {"bf16:40x24x72:tn:b=3:inv=1", 40, 0},
        {"f16:40x24x72:tn:inv=1:ep=scale_m+scale_n", 40, 0}, {"bf16:200x24x72:tn:inv=1", 96, 0}, {"f16:40x24x72:tn:inv=1:ep=dgelu", 40, 0}, {"f16:24x16x10:tn:inv=1", 24, 0},
        {"f16:40x24x72:tn:d=f32:inv=1", 0, 0}, {"f16:40x24x72:tn:acc=f16:inv=1", 0, 0}, {"f16:40x24x9:tn:inv=1", 0, 0}, {"f16:40x24x72:tn:g=3:inv=1", 0, 0}, {"f16:40x24x72:tn:alpha=0:inv=1", 0, 0},
        {"f16:1024x1024x72:tn:inv=1", 96, 0}, {"f16:1024x1032x72:tn:inv=1", 0, 0},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_verdict verdict = {.code = GS_VERDICT_PASS};
        gs_contender none = {0};
        gs_check_run trial = {.verifier = verifier, .contender = &none, .verdict = &verdict, .seed = 11, .asked = problem_of(cases[i].text), .bare = true};
        const gs_pool_rows rows = {1009, 1, 0};
        gs_error error = {0};
        gs_ties ties;
        trial.problem = gs_problem_pool(&trial.asked);
        assert_int_equal(gs_ties_most(&trial.problem), cases[i].most);
        if (cases[i].most == 0 || trial.problem.m > 500) continue;
        gs_watch_begin(&trial.watch, verifier);
        assert_int_equal(gs_check_run_alloc(&trial, false, false, &error), GS_OK);
        assert_int_equal(gs_check_run_rows(&trial, GS_VALUES_NORMAL, &rows, &error), GS_OK);
        assert_int_equal(gs_ties_find(&trial, 8, &ties, &error), GS_OK);
        assert_int_equal(ties.operand, cases[i].operand);
        if (ties.count < cases[i].most * 3 / 4 || ties.count > cases[i].most) fail_msg("%s: %d", cases[i].text, ties.count);
        const gs_problem *const p = &trial.problem;
        const uint64_t before = trial.hash[ties.operand];
        for (int j = 0; j < ties.count; j++)
            for (int step = 0; step < GS_TIE_STEPS; step++) {
                const gs_tie *const t = &ties.tie[j];
                const int64_t at = ties.operand ? gs_place_in_b(p, t->matrix, t->k[step], t->line) : gs_place_in_a(p, t->matrix * p->m + t->line, t->k[step]);
                uint16_t element;
                assert_int_equal(device->ops->copy_out(device, &element, trial.operand[ties.operand].at + (gs_pointer)at * 2, 2, &error), GS_OK);
                assert_true(abs((int)element - (int)t->element[step]) <= 128);
            }
        assert_int_equal(gs_ties_put(&trial, &ties, &rows, &error), GS_OK);
        assert_true(trial.hash[ties.operand] != before);
        free(ties.tie);
        gs_check_run_free(&trial);
        gs_watch_end(&trial.watch);
    }
}

static void schedules_keep_the_order(void **state)
{
    (void)state;
    static const struct {
        const char *text, *schedule;
        gs_verdict_code code;
    } cases[] = {
        {"f16:24x72x136:tn:inv=1",                                              "mma/32x32x64/w2x2/s3/g1",             GS_VERDICT_PASS},
        {"bf16:24x72x136:nt:lda=144:inv=1:ep=bias_m+relu",                      "mma/16x32x64/w1x2/s3/g1",             GS_VERDICT_PASS},
        {"f16:24x72x136:tn:beta=0.7:alpha=0.3:inv=1:ep=bias+gelu+residual+aux", "mma/32x32x64/w2x2/s3/g1",             GS_VERDICT_PASS},
        {"f16:24x72x136:tn:b=3:matrices=pointers:beta=1:inv=1:ep=scale_m",      "mma/32x32x64/w2x2/s3/g1",             GS_VERDICT_PASS},
        {"bf16:40x72x136:tn:inv=1:ep=dgelu",                                    "ws/64x64x64/s4/c1x1/coop/g1",         GS_VERDICT_PASS},
        {"bf16:48x72x136:tn:g=3:inv=1:ep=bias",                                 "ws/64x64x64/s4/c1x1/coop/g1",         GS_VERDICT_PASS},
        {"bf16:48x72x136:tn:gm=3:inv=1",                                        "ws/64x64x64/s4/c1x1/coop/g1",         GS_VERDICT_PASS},
        {"f16:16x72x136:tn:inv=1:ep=bias",                                      "splitk/64x16x64/s3/ab/c1x1/k1/any",   GS_VERDICT_PASS},
        {"f16:16x72x136:tn:inv=1",                                              "mma/32x32x64/w2x2/s3/g1/k2",          GS_VERDICT_UNSUPPORTED},
        {"f16:16x72x136:tn:inv=1",                                              "simple",                              GS_VERDICT_UNSUPPORTED},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].text);
        gs_error error = {0};
        gs_contender contender;
        gs_verdict verdict;
        assert_int_equal(gs_contender_schedule(&contender, device, cases[i].schedule, &error), GS_OK);
        if (gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = 5, .parts = GS_PART_INVARIANT | GS_PART_MEMORY}, &verdict, &error) != GS_OK) fail_msg("%s", error.text);
        if (verdict.code != cases[i].code) fail_msg("%s %s: %s: %s", cases[i].text, cases[i].schedule, gs_verdict_word(verdict.code), verdict.reason);
        contender.any_order = true;   /* like NVIDIA's library, whose bits are not compared */
        if (gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = 5, .parts = GS_PART_INVARIANT}, &verdict, &error) != GS_OK) fail_msg("%s", error.text);
        assert_null(strstr(verdict.reason, "same bits"));
        contender.destroy(&contender);
    }
}

/* Computes D with a schedule and copies it to the host; false: the schedule does not support the problem. */
static bool multiply(const gs_problem *p, const char *schedule, const gs_pointer at[GS_OPERANDS], void *d, size_t bytes)
{
    gs_error error = {0};
    gs_contender contender;
    const gs_args args = gs_operand_args(at);
    assert_int_equal(gs_contender_schedule(&contender, device, schedule, &error), GS_OK);
    const gs_status prepared = contender.prepare(&contender, p, &error);
    if (prepared == GS_OK && (contender.run(&contender, &args, verifier->queue, &error) != GS_OK || device->ops->queue_wait(device, verifier->queue, &error) != GS_OK)) fail_msg("%s", error.text);
    if (prepared == GS_OK) assert_int_equal(device->ops->copy_out(device, d, at[3], bytes, &error), GS_OK);
    contender.destroy(&contender);
    return prepared == GS_OK;
}

/* Plans of different M may use different schedules, which must give the same bits. tests/gpu/invariant.c tests many more. */
static void schedules_agree(void **state)
{
    (void)state;
    static const char *const problems[] = {"f16:40x72x136:tn:alpha=0.3:beta=0.7:inv=1:ep=bias+gelu+residual", "bf16:40x72x152:tn:alpha=0.3:d=f32:inv=1:ep=scale_m+scale_n+bias",
                                           "f16:40x64x72:tn:alpha=0.3:inv=1:ep=bias+silu+gate", "f16:40x72x0:tn:alpha=-2:inv=1"};   /* results are -0 */
    static const char *const schedules[] = {"mma/32x32x64/w2x2/s3/g1", "mma/64x64x32/w2x2/s3/g1", "ws/64x64x64/s4/c1x1/coop/g1", "ws/16x128x64/s4/c1x1/coop/g1",
                                            "splitk/64x16x64/s3/ab/c1x1/k1/any", "splitk/8x64x64/s3/ba/c1x1/k1/any"};
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        const gs_problem p = problem_of(problems[i]);
        const size_t bytes = gs_problem_bytes(&p, 'd');
        gs_pointer at[GS_OPERANDS] = {0};
        gs_error error = {0};
        static char first[40 * 72 * 4], other[40 * 72 * 4];
        assert_true(bytes <= sizeof first);
        for (int operand = 0; operand < GS_OPERANDS; operand++) {
            const char letter = GS_OPERAND_LETTERS[operand];
            if (letter != 'd' && !gs_is_read(&p, letter)) continue;
            assert_int_equal(device->ops->alloc(device, gs_problem_bytes(&p, letter), &at[operand], &error), GS_OK);
            if (letter != 'd') assert_int_equal(gs_generate(verifier, &p, letter, GS_DATA_NORMAL, 3, at[operand], verifier->queue, &error), GS_OK);
        }
        int taken = 0;
        for (size_t j = 0; j < GS_COUNT(schedules); j++) {
            if (!multiply(&p, schedules[j], at, taken ? other : first, bytes)) continue;
            if (taken++ && memcmp(first, other, bytes) != 0) fail_msg("%s: %s has other bits than the schedules before it", problems[i], schedules[j]);
        }
        assert_true(taken >= (p.k > 0 ? 4 : 2));
        for (int operand = 0; operand < GS_OPERANDS; operand++)
            if (at[operand]) device->ops->free(device, at[operand]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_results), cmocka_unit_test(orders_that_depend),
        cmocka_unit_test(orders_that_ties_show),
        cmocka_unit_test(large_ones_have_no_ties),
        cmocka_unit_test(ties_are_found),
        cmocka_unit_test(schedules_keep_the_order),
        cmocka_unit_test(schedules_agree),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}

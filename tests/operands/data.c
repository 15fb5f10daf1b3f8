/* SPDX-License-Identifier: MIT
 * The test data of a problem: the scalars with which integers stay exact, how far data may be from 1, and, for each kind, the plan and each operand's generator,
 * compared with plans.txt (kind, operand, last part of the seed). A change there must be intended: UPDATE=1 rewrites the file. That plans keep sums exact is tested in
 * verify/verify.c and range.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/error.h"
#include "base/half.h"
#include "base/text.h"
#include "golden.h"
#include "operands/data.h"
#include "problem/layout.h"
#include "texts.h"

/* ---- scalars ---- */

static void scalars_of_exact_data(void **state)
{
    (void)state;
    static const struct { float alpha, beta; bool exact; } cases[] = {
        {1, 0, true}, {4, 4, true}, {-4, 0.25f, true}, {0.25f, -0.75f, true}, {0, 1, true}, {4.25f, 0, false}, {1, 4.25f, false}, {1, -4.25f, false}, {0.125f, 0, false}, {1, 0.125f, false}, {0.3f, 0, false},
        {3.75f, 3.25f, true}, {5, 0, false}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem p = problem_of("f16:8x8x8:tn");
        p.alpha = cases[i].alpha, p.beta = cases[i].beta;
        assert_int_equal(gs_scalars_exact(&p), cases[i].exact);
        const gs_problem exact = gs_problem_exact(&p);
        if (cases[i].exact) assert_memory_equal(&exact, &p, sizeof p);
        else assert_true(exact.alpha == 1 && exact.beta == (p.beta != 0) && exact.m == p.m);
    }
}

static void exponents_of_scales(void **state)
{
    (void)state;
    static const struct { float alpha; int shift; } cases[] = {
        {1, 0}, {0x1p19f, 0}, {0x1.8p19f, 0}, {0x1p20f, 21}, {-0x1p20f, 21}, {0x1p-21f, 0}, {0x1p-22f, -21}, {0x1p98f, 99}, {0x1p99f, 100}, {0x1p120f, 100}, {0x1p-102f, -100}, {0x1p-126f, -100}, {0, 0}, {INFINITY, 0}, {NAN, 0}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem p = problem_of("f16:8x8x8:tn:ep=scale_m"), plain = problem_of("f16:8x8x8:tn");
        p.alpha = plain.alpha = cases[i].alpha;
        assert_int_equal(gs_scale_shift(&p), cases[i].shift);
        assert_int_equal(gs_scale_shift(&plain), 0);
    }
}

/* The minimum and maximum over many seeds, both of which must occur. */
static void how_far_data_are(void **state)
{
    (void)state;
    static const struct { const char *problem; int large[2], small[2]; bool lifts; } cases[] = {
        {"f16:8x8x8:tn", {8, 13}, {-48, -24}, false},
        {"f16:8x8x8:tn:d=f32", {8, 13}, {-48, -24}, true},
        {"bf16:8x8x8:tn", {24, 60}, {-60, -24}, true},
        {"f16:8x8x8:tn:acc=f16", {1, 3}, {-11, -8}, true},
        {"bf16:8x8x8:tn:beta=1", {24, 60}, {-60, -24}, false},
        {"bf16:8x8x8:tn:ep=relu", {24, 60}, {-60, -24}, false},
        {"bf16:8x8x8:tn:ep=scale_n", {0, 0}, {0, 0}, false},
        {"f16:8x8x8:tn:acc=f16:ep=scale_n", {0, 0}, {0, 0}, false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        int most[2] = {-1000, -1000}, least[2] = {1000, 1000};
        for (uint64_t seed = 0; seed < 2000; seed++)
            for (int large = 0; large < 2; large++) {
                const int far = gs_data_far(&p, large, gs_mix(seed + 1));
                most[large] = GS_MAX(most[large], far), least[large] = GS_MIN(least[large], far);
            }
        if (least[1] != cases[i].large[0] || most[1] != cases[i].large[1] || least[0] != cases[i].small[0] || most[0] != cases[i].small[1])
            fail_msg("%s: %d to %d, %d to %d", cases[i].problem, least[1], most[1], least[0], most[0]);
        assert_int_equal(gs_data_lifts(&p), cases[i].lifts);
    }
    static const struct { int type, far, of_a, of_b; } moves[] = {{GS_F16, 13, 5, 8}, {GS_F16, 8, 4, 4}, {GS_F16, 9, 4, 5}, {GS_F16, -48, -24, -24}, {GS_F16, -25, -12, -13}, {GS_BF16, 60, 30, 30}, {GS_BF16, -61, -30, -31}, {GS_F16, 0, 0, 0}};
    for (size_t i = 0; i < GS_COUNT(moves); i++)
        for (int operand = 0; operand < 2; operand++) {
            gs_datagen g = {.type = moves[i].type, .operand = operand};
            gs_datagen_move(&g, moves[i].far);
            assert_int_equal(g.shift, operand ? moves[i].of_b : moves[i].of_a);
        }
}

/* From 1/2 to 2, of either sign; neither f16 nor bf16 represents it, rounded or truncated, not even approximately. */
static void scalars_of_many_bits(void **state)
{
    (void)state;
    int negative = 0, small = 0, kinds = 0;
    float last = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        const float value = gs_scalar_of_many_bits(gs_mix(i + 1)), size = fabsf(value);
        assert_true(size >= 0.5f && size < 2);
        const float of_f16 = gs_f16_to_f32(gs_f32_to_f16(value)), of_bf16 = gs_bf16_to_f32(gs_f32_to_bf16(value));
        const uint32_t bits = gs_f32_bits(value);
        assert_true(fabsf(of_bf16 - value) >= size * 0x1p-11f && fabsf(gs_bits_f32(bits & 0xffff0000u) - value) >= size * 0x1p-11f);
        assert_true(of_f16 != value);
        negative += value < 0, small += size < 1, kinds += value != last;
        last = value;
    }
    assert_in_range(negative, 900, 1100);
    assert_in_range(small, 900, 1100);
    assert_int_equal(kinds, 2000);
}

/* ---- overlapping operands ---- */

static void operands_that_overlap(void **state)
{
    (void)state;
    static const struct { const char *problem, *operand; } cases[] = {
        {"f16:8x8x8:tn:b=3", NULL}, {"f16:8x8x8:tn:b=3:sa=0", NULL}, {"f16:8x8x8:tn:b=3:sa=63", "a"}, {"f16:8x8x8:tn:b=3:sb=8", "b"}, {"f16:8x8x8:tn:b=3:beta=1:sc=60", "c"},
        {"f16:8x8x8:tn:lda=32:b=3:sa=8", NULL}, {"f16:8x8x8:tn:b=3:se=4:ep=bias", "e"}, {"f16:8x8x8:tn:b=3:se=8:ep=bias", NULL}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        gs_error error = {0};
        const gs_status status = gs_placed_check(&p, &error);
        if (status != (cases[i].operand ? GS_ERROR_UNSUPPORTED : GS_OK)) fail_msg("%s: %d, %s", cases[i].problem, (int)status, error.field);
        if (cases[i].operand) assert_string_equal(error.field, cases[i].operand);
    }
}

/* ---- plans ---- */

static const struct { int kind; const char *name; } kinds[] = {{GS_VALUES_INTEGER, "integer"}, {GS_VALUES_CANCEL, "cancel"}, {GS_VALUES_INDEX, "index"}, {GS_VALUES_QUIET, "quiet"}, {GS_VALUES_LOUD, "loud"},
    {GS_VALUES_RANGE, "range"}, {GS_VALUES_NORMAL, "normal"}, {GS_VALUES_SPECIAL, "special"}};

static const char *const problems[] = {
    "f16:64x64x64:tn", "bf16:64x64x64:nn", "f16:64x64x64:nt:d=f32", "f16:64x64x64:tt:acc=f16", "f16:7x5x1:tn", "bf16:1x4096x4096:tn", "f16:4096x1x16384:nn", "f16:16x16x1000000:tn", "bf16:16x16x1000000:tn:d=f32",
    "f16:64x64x100000:tn:acc=f16", "f16:3x3x30000000:tn", "f16:64x64x64:tn:alpha=0.75:beta=-2", "bf16:64x64x64:tn:alpha=0.3:beta=0.7", "bf16:64x64x64:tn:alpha=2000", "bf16:64x64x64:tn:alpha=1024:beta=0.001",
    "bf16:64x64x64:tn:alpha=0.5:beta=0.0009", "f16:64x64x64:tn:alpha=3", "f16:64x64x4096:tn:alpha=4:beta=4", "f16:64x64x64:tn:alpha=0:beta=1", "f16:64x64x0:tn:beta=1", "f16:64x64x64:tn:ep=bias+gelu",
    "bf16:64x64x64:tn:ep=bias_m+relu", "bf16:5x64x64:tn:ep=bias", "f16:64x64x512:tn:ep=silu+gate", "bf16:64x64x512:tn:d=f32:ep=bias+silu+gate_i+aux", "f16:64x64x512:tn:acc=f16:ep=gelu+gate", "bf16:64x64x64:nn:ep=dgelu",
    "f16:64x64x64:nn:beta=1:ep=dbias", "bf16:64x64x2048:tn:ep=scale_m", "bf16:64x64x2048:tn:alpha=1e9:ep=scale_m+scale_n", "f16:64x64x2048:tn:alpha=1e-9:ep=scale_n+bias", "bf16:64x64x64:tn:alpha=0.3:ep=scale_m+scale_n",
    "f16:64x64x64:tn:acc=f16:alpha=2:beta=1", "f16:64x64x64:tn:acc=f16:d=f16:alpha=0.75", "bf16:64x512x256:tn:g=8", "bf16:64x512x256:tn:gm=8:ep=bias", "bf16:64x64x512:nt:gk=4", "f16:3x5x7:tn:b=4",
    "f16:8x8x8:tn:b=4:sa=0:sc=100:beta=1", "bf16:2x3x64:tn:ep=bias",
};

static void say_plan(gs_text *out, const gs_problem *p, int kind)
{
    gs_data_plan plan;
    const bool made = gs_data_plan_make(p, kind, &plan);
    const gs_data_range *const r = &plan.range;
    gs_text_addf(out, " %s %d, %d of %d, %d: %.6g, %.6g", made ? "made" : "none", plan.light, plan.heavy, plan.segment, plan.sparse, gs_data_largest(p, kind, &plan), gs_data_likely(p, kind, &plan));
    if (kind == GS_VALUES_RANGE)
        gs_text_addf(out, " lone=%d %d/%d/%d bits %d to %d by %d plain=%d..%d over=%d..%d under=%d..%d classes=%d/%d idle=%d", r->lone, r->lone_bits, r->bits, r->c_bits, r->low, r->high, r->step, r->plain[0], r->plain[1],
                     r->over[0], r->over[1], r->under[0], r->under[1], r->lone_classes, r->full_classes, r->idle_c);
    for (int operand = 0; operand < GS_OPERANDS; operand++) {
        const char letter = GS_OPERAND_LETTERS[operand];
        if (letter == 'd' || letter == 'f' || gs_problem_bytes(p, letter) == 0) continue;
        const gs_datagen g = gs_datagen_make(p, letter, kind, 0x123456789abcdefull);
        gs_text_addf(out, " %c %d/%d/%llu", letter, g.kind, g.operand, g.seed % 1000);
        if (g.tall || g.styled || g.shift || g.plan.range.bias) gs_text_addf(out, "/tall=%d/styled=%d/shift=%d/bias=%d", g.tall, g.styled, g.shift, g.plan.range.bias);
    }
    gs_text_add(out, "\n");
}

static void say_shapes(gs_text *out, const gs_problem *p)
{
    for (int operand = 0; operand < GS_OPERANDS; operand++) {
        const char letter = GS_OPERAND_LETTERS[operand];
        if (letter == 'd' || letter == 'f' || gs_problem_bytes(p, letter) == 0) continue;
        const gs_datagen g = gs_datagen_make(p, letter, GS_VALUES_NORMAL, 1);
        gs_text_addf(out, " | %c %lldx%lld, %lld, %lld of %lld, k %lld, type %d%s", letter, g.rows, g.cols, g.ld, g.batch, g.stride, g.k, g.type, g.transposed ? ", transposed" : "");
    }
    gs_text_add(out, "\n");
}

static void plans_of_problems(void **state)
{
    (void)state;
    gs_text out = {0};
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        const gs_problem p = problem_of(problems[i]);
        gs_text_addf(&out, "%s", problems[i]);
        say_shapes(&out, &p);
        for (size_t j = 0; j < GS_COUNT(kinds); j++) {
            gs_text_addf(&out, "  %s", kinds[j].name);
            say_plan(&out, &p, kinds[j].kind);
        }
    }
    golden_check(GS_SOURCE_DIR "/tests/operands/plans.txt", &out, true, golden_exact);
    gs_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_of_exact_data), cmocka_unit_test(exponents_of_scales), cmocka_unit_test(how_far_data_are), cmocka_unit_test(scalars_of_many_bits),
        cmocka_unit_test(operands_that_overlap), cmocka_unit_test(plans_of_problems)};
    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * The test data have the properties that verification relies on (sums exact in any order; f16 sums and rounded inputs show), the CPU reference matches results worked
 * out by hand, verdict names are right, and the device code compiles without spills. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"
#include "loaded/loaded.h"
#include "operands/data.h"
#include "checks/bounds.h"
#include "schedule/family.h"
#include "verify/verify.h"

/* ---- names ---- */

static void verdict_names_come_back(void **state)
{
    (void)state;
    for (int code = GS_VERDICT_PASS; code < GS_VERDICTS; code++) {
        assert_int_equal(gs_verdict_find(gs_verdict_name((gs_verdict_code)code)), code);
        assert_true(strlen(gs_verdict_text((gs_verdict_code)code)) > 4);
    }
    assert_int_equal(gs_verdict_find("accumulator"), GS_VERDICT_ACCUMULATOR);
    assert_int_equal(gs_verdict_find("no such verdict"), GS_VERDICT_UNKNOWN);
    assert_string_equal(gs_verdict_name(GS_VERDICTS), "unknown");
    assert_int_equal(gs_verdict_find("unknown"), GS_VERDICT_UNKNOWN);
    assert_int_equal(GS_VERDICT_UNKNOWN, 0);   /* an unset verdict must not mean pass */
    assert_string_equal(gs_verdict_word(GS_VERDICT_UNKNOWN), "");
    assert_int_equal(gs_verdict_from_status(GS_OK), GS_VERDICT_PASS);
    assert_int_equal(gs_verdict_from_status(GS_ERROR_SPILL), GS_VERDICT_SPILL);
    assert_int_equal(gs_verdict_from_status(GS_ERROR_FAULT), GS_VERDICT_FAULT);
    assert_int_equal(gs_verdict_from_status(GS_ERROR_NO_COMPILER), GS_VERDICT_UNKNOWN);
}

/* ---- the CPU reference ---- */

static void reference_by_hand(void **state)
{
    (void)state;
    /* A = [1 2 3; 4 5 6], B = [1 -1; 2 0; 3 4], C = [10 20; 30 40], alpha 0.5, beta -1: all layouts, padded rows */
    const float a_values[] = {1, 2, 3, 99, 4, 5, 6, 99}, nn_values[] = {1, -1, 99, 2, 0, 99, 3, 4, 99},
                tn_values[] = {1, 2, 3, -1, 0, 4}, nt_values[] = {1, 4, 99, 99, 2, 5, 99, 99, 3, 6};
    const float c[] = {10, 20, 30, 40};
    uint16_t a[8], nn[9], tn[6], nt[10];
    for (int i = 0; i < 8; i++) a[i] = gs_f32_to_f16(a_values[i]);
    for (int i = 0; i < 9; i++) nn[i] = gs_f32_to_f16(nn_values[i]);
    for (int i = 0; i < 6; i++) tn[i] = gs_f32_to_f16(tn_values[i]);
    for (int i = 0; i < 10; i++) nt[i] = gs_f32_to_f16(nt_values[i]);
    const double want[] = {7 - 10, 5.5 - 20, 16 - 30, 10 - 40};
    for (gs_layout layout = GS_NN; layout <= GS_TT; layout++) {
        gs_problem p = gs_problem_make(GS_F16, layout, 2, 2, 3);
        p.out = GS_F32;
        p.lda = 4;
        p.ldb = 3;
        p.alpha = 0.5f;
        p.beta = -1;
        double out[4];
        gs_reference_cpu(&p, layout == GS_NN || layout == GS_TN ? a : nt, layout == GS_TN || layout == GS_TT ? tn : nn, c, out);
        for (int i = 0; i < 4; i++) assert_true(out[i] == want[i]);
    }
}

static void reference_of_a_batch_and_of_nothing(void **state)
{
    (void)state;
    const uint16_t a[] = {0x3f80, 0x4000, 0x4040, 0x4080};   /* bf16 1, 2; 3, 4: two matrices 1 x 2 */
    const uint16_t b[] = {0x3f80, 0x3f80, 0x4000, 0x4000};   /* (1, 1), (2, 2): tn, one column each */
    gs_problem p = gs_problem_make(GS_BF16, GS_TN, 1, 1, 2);
    p.batch = 2;
    double out[2];
    gs_reference_cpu(&p, a, b, NULL, out);
    assert_true(out[0] == 3 && out[1] == 14);

    const uint16_t c[] = {0x4000, 0x3f80};
    p.k = 0;
    p.beta = 3;
    gs_reference_cpu(&p, a, b, c, out);
    assert_true(out[0] == 6 && out[1] == 3);
}

/* ---- plans ---- */

typedef struct variant {
    const char *text;
    gs_type     in, acc, out;
    float       alpha, beta;
} variant;

static const variant variants[] = {
    {"f16",             GS_F16,  GS_F32, GS_F16,  1,    0},
    {"f16 to f32",      GS_F16,  GS_F32, GS_F32,  1,    0},
    {"f16 with scalars", GS_F16, GS_F32, GS_F16,  0.5f, -1.5f},
    {"f16, alpha 3.75", GS_F16,  GS_F32, GS_F16,  3.75f, 4},
    {"f16 sums",        GS_F16,  GS_F16, GS_F16,  1,    0},
    {"f16 sums, scalars", GS_F16, GS_F16, GS_F16, 0.5f, -1.5f},
    {"bf16",            GS_BF16, GS_F32, GS_BF16, 1,    0},
    {"bf16 to f32",     GS_BF16, GS_F32, GS_F32,  1,    1},
};

static const int64_t extents[] = {1, 2, 3, 7, 16, 17, 33, 64, 65, 128, 200, 256, 512, 777, 1024, 2048, 4096, 5120, 8192, 12288,
                                  16384, 28672};

static const int integer_kinds[] = {GS_VALUES_INTEGER, GS_VALUES_CANCEL, GS_VALUES_INDEX, GS_VALUES_QUIET, GS_VALUES_LOUD};

static gs_problem problem_of(const variant *v, int64_t k)
{
    gs_problem p = gs_problem_make(v->in, GS_TN, 64, 64, k);
    p.acc = v->acc;
    p.out = v->out;
    p.alpha = v->alpha;
    p.beta = v->beta;
    return p;
}

static void every_plan_keeps_its_bounds(void **state)
{
    (void)state;
    for (size_t v = 0; v < GS_COUNT(variants); v++)
        for (size_t e = 0; e < GS_COUNT(extents); e++)
            for (size_t i = 0; i < GS_COUNT(integer_kinds); i++) {
                const gs_problem p = problem_of(&variants[v], extents[e]);
                gs_data_plan plan;
                const bool made = gs_data_plan_make(&p, integer_kinds[i], &plan);
                if (integer_kinds[i] == GS_VALUES_LOUD && p.acc == GS_F16) {
                    assert_false(made);
                    continue;
                }
                if (!made) fail_msg("no plan of kind %d for %s, k = %lld", integer_kinds[i], variants[v].text, (long long)p.k);
                if (gs_data_largest(&p, integer_kinds[i], &plan) >= 4194304)
                    fail_msg("kind %d of %s, k = %lld is not exact", integer_kinds[i], variants[v].text, (long long)p.k);
                if (p.acc == GS_F16) assert_true(gs_data_likely(&p, integer_kinds[i], &plan) <= 2048);
            }
}

/* Parts 1 to 3 use 1 instead of scalars that would make results round; other scalars stay. */
static void scalars_that_round_are_replaced(void **state)
{
    (void)state;
    gs_problem p = gs_problem_make(GS_F16, GS_NN, 8, 8, 8);
    p.alpha = 0.3f;
    p.beta = 2;
    gs_problem exact = gs_problem_exact(&p);
    assert_true(exact.alpha == 1 && exact.beta == 1);
    p.beta = 0;
    exact = gs_problem_exact(&p);
    assert_true(exact.alpha == 1 && exact.beta == 0);
    p.alpha = -1.25f;
    exact = gs_problem_exact(&p);
    assert_true(exact.alpha == -1.25f && exact.beta == 0);
}

/* ---- values, one row of A times one column of B at a time ---- */

typedef struct line {
    int64_t k;
    float  *a, *b;
} line;

static line line_of(const gs_problem *p, int kind, uint64_t seed, int64_t row, int64_t col)
{
    const line l = {p->k, malloc((size_t)p->k * sizeof(float)), malloc((size_t)p->k * sizeof(float))};
    assert_non_null(l.a);
    assert_non_null(l.b);
    const gs_datagen a = gs_datagen_make(p, 'a', kind, seed), b = gs_datagen_make(p, 'b', kind, seed);
    for (int64_t k = 0; k < p->k; k++) {
        l.a[k] = gs_value(&a, 0, row, k);
        l.b[k] = gs_value(&b, 0, k, col);
    }
    return l;
}

static void line_free(line l)
{
    free(l.a);
    free(l.b);
}

static float to_type(gs_type type, float value)
{
    return type == GS_F16 ? gs_f16_to_f32(gs_f32_to_f16(value)) : type == GS_BF16 ? gs_bf16_to_f32(gs_f32_to_bf16(value)) : value;
}

/* Rounds to four bits of significand, as in e4m3. */
static float to_four_bits(float value)
{
    int exponent;
    const float fraction = frexpf(value, &exponent);
    return ldexpf(rintf(fraction * 16), exponent - 4);
}

static double exact_sum(const line *l)
{
    double sum = 0;
    for (int64_t k = 0; k < l->k; k++) sum += (double)l->a[k] * (double)l->b[k];
    return sum;
}

static float f16_sum(const line *l)
{
    float sum = 0;
    for (int64_t k = 0; k < l->k; k++) sum = to_type(GS_F16, sum + l->a[k] * l->b[k]);
    return sum;
}

static double four_bit_sum(const line *l)
{
    double sum = 0;
    for (int64_t k = 0; k < l->k; k++) sum += (double)to_four_bits(l->a[k]) * (double)to_four_bits(l->b[k]);
    return sum;
}

/* Partial sums of blocks of K, rounded to f16 and added in f32. */
static double f16_partials(const line *l, int64_t block)
{
    float sum = 0;
    for (int64_t first = 0; first < l->k; first += block) {
        float partial = 0;
        for (int64_t k = first; k < l->k && k < first + block; k++) partial += l->a[k] * l->b[k];
        sum += to_type(GS_F16, partial);
    }
    return (double)sum;
}

static void integers_are_exact_in_every_order(void **state)
{
    (void)state;
    gs_random random = {11};
    for (size_t v = 0; v < GS_COUNT(variants); v++)
        for (size_t e = 0; e < GS_COUNT(extents); e++)
            for (size_t i = 0; i < GS_COUNT(integer_kinds); i++) {
                const gs_problem p = problem_of(&variants[v], extents[e]);
                gs_data_plan plan;
                if (!gs_data_plan_make(&p, integer_kinds[i], &plan)) continue;
                const int64_t col = (int64_t)gs_random_below(&random, 5000);
                const line l = line_of(&p, integer_kinds[i], gs_random_next(&random), (int64_t)gs_random_below(&random, 5000), col);
                double magnitudes = 0;
                float forward = 0, backward = 0, strided = 0;
                for (int64_t k = 0; k < p.k; k++) {
                    if (l.a[k] != to_type(p.in, l.a[k]) || l.b[k] != to_type(p.in, l.b[k]) || l.a[k] != rintf(l.a[k]) ||
                        l.b[k] != rintf(l.b[k]))
                        fail_msg("%s, kind %d: %g or %g is no integer of the type", variants[v].text, integer_kinds[i],
                                 (double)l.a[k], (double)l.b[k]);
                    magnitudes += fabs((double)l.a[k] * (double)l.b[k]);
                    forward += l.a[k] * l.b[k];
                    backward += l.a[p.k - 1 - k] * l.b[p.k - 1 - k];
                    if (p.acc == GS_F16 && fabsf(forward) > 2048)
                        fail_msg("%s, kind %d, k = %lld: a partial sum of %g", variants[v].text, integer_kinds[i], (long long)p.k,
                                 (double)forward);
                }
                for (int64_t first = 0; first < 16; first++)
                    for (int64_t k = first; k < p.k; k += 16) strided += l.a[k] * l.b[k];
                if (magnitudes > gs_data_largest(&p, integer_kinds[i], &plan))
                    fail_msg("%s, kind %d, k = %lld: magnitudes sum to %g", variants[v].text, integer_kinds[i], (long long)p.k,
                             magnitudes);
                const double sum = exact_sum(&l);
                assert_true((double)forward == sum && (double)backward == sum && (double)strided == sum);
                if (p.acc == GS_F16) assert_true((double)f16_sum(&l) == sum);
                if (p.out == GS_F16) assert_true(fabs((double)p.alpha * sum) + 15 * fabs((double)p.beta) < 65504);
                line_free(l);
            }
}

/* Share of outputs that a fault gets wrong, after rounding to the output type. */
typedef double (*fault)(const line *);
static double sum_f16(const line *l) { return (double)f16_sum(l); }
static double sum_f16_halves(const line *l) { return f16_partials(l, (l->k + 1) / 2); }

static double share_wrong(const gs_problem *p, int kind, fault sum)
{
    int wrong = 0;
    for (int i = 0; i < 40; i++) {
        const line l = line_of(p, kind, 5, i, 100 + i);
        wrong += to_type(p->out, (float)sum(&l)) != to_type(p->out, (float)exact_sum(&l));
        line_free(l);
    }
    return wrong / 40.0;
}

static void faults_show_where_they_should(void **state)
{
    (void)state;
    for (size_t v = 0; v < GS_COUNT(variants); v++) {
        if (variants[v].acc == GS_F16) continue;
        for (size_t e = 0; e < GS_COUNT(extents); e++) {
            if (extents[e] < 64) continue;
            const gs_problem p = problem_of(&variants[v], extents[e]);
            const double accumulator = share_wrong(&p, GS_VALUES_INTEGER, sum_f16),
                         inputs = share_wrong(&p, GS_VALUES_INTEGER, four_bit_sum);
            if (accumulator < 0.1)
                fail_msg("%s, k = %lld: f16 sums are wrong in %g of the outputs only", variants[v].text, (long long)p.k,
                         accumulator);
            if (inputs < 0.5)
                fail_msg("%s, k = %lld: four-bit inputs are wrong in %g of the outputs only", variants[v].text, (long long)p.k,
                         inputs);
            /* Data that tell the two faults apart. */
            assert_true(share_wrong(&p, GS_VALUES_QUIET, sum_f16) == 0);
            assert_true(share_wrong(&p, GS_VALUES_QUIET, four_bit_sum) == 0);
            assert_true(share_wrong(&p, GS_VALUES_LOUD, four_bit_sum) == 0);
            if (p.out != GS_BF16) assert_true(share_wrong(&p, GS_VALUES_LOUD, sum_f16) > 0.2);
            assert_true(share_wrong(&p, GS_VALUES_CANCEL, sum_f16_halves) > 0.3);
        }
    }
}

/* Each half of K sums to thousands, the whole to a small number that D can hold, but mostly not with the precision of f16. */
static void cancellation_leaves_a_small_remainder(void **state)
{
    (void)state;
    for (size_t e = 0; e < GS_COUNT(extents); e++) {
        if (extents[e] < 64) continue;
        const gs_problem p = problem_of(&variants[0], extents[e]);
        int remainders = 0, fine = 0;
        for (int i = 0; i < 20; i++) {
            line l = line_of(&p, GS_VALUES_CANCEL, 3, i, i);
            const double sum = exact_sum(&l);
            remainders += sum != 0;
            fine += gs_f16_to_f32(gs_f32_to_f16((float)sum)) != (float)sum;
            assert_true(fabs(sum) <= 32768);
            l.k = p.k / 2;
            assert_true(fabs(exact_sum(&l)) > 4096);
            line_free(l);
        }
        assert_true(remainders > 10 && fine >= 5);
    }
}

/* Every output is a single product, not 0, and almost always differs from its neighbours and its transpose. */
static void index_codes_name_their_place(void **state)
{
    (void)state;
    const gs_problem p = problem_of(&variants[0], 96);
    enum { SIDE = 48 };
    double out[SIDE][SIDE];
    for (int row = 0; row < SIDE; row++)
        for (int col = 0; col < SIDE; col++) {
            const line l = line_of(&p, GS_VALUES_INDEX, 9, row, col);
            int products = 0;
            for (int64_t k = 0; k < p.k; k++) products += l.a[k] * l.b[k] != 0;
            assert_int_equal(products, 1);
            out[row][col] = exact_sum(&l);
            line_free(l);
        }
    int same = 0;
    for (int row = 0; row < SIDE; row++)
        for (int col = 0; col < SIDE; col++)
            same += (row != col && out[row][col] == out[col][row]) + (out[row][col] == out[row][(col + 8) % SIDE]) +
                    (out[row][col] == out[(row + 8) % SIDE][col]);
    assert_true(same < SIDE * SIDE * 3 / 50);
}

static void normal_data_are_normal(void **state)
{
    (void)state;
    const gs_problem p = gs_problem_make(GS_F16, GS_TN, 512, 512, 512);
    const gs_datagen a = gs_datagen_make(&p, 'a', GS_VALUES_NORMAL, 1), b = gs_datagen_make(&p, 'b', GS_VALUES_NORMAL, 1),
                     c = gs_datagen_make(&p, 'a', GS_VALUES_NORMAL, 2);
    double sum = 0, squares = 0, fourth = 0, with_b = 0, with_next = 0, with_seed = 0, beyond = 0;
    const double count = 512 * 512;
    for (int row = 0; row < 512; row++)
        for (int col = 0; col < 512; col++) {
            const double x = (double)gs_value(&a, 0, row, col);
            sum += x;
            squares += x * x;
            fourth += x * x * x * x;
            beyond += fabs(x) > 1.959964;
            with_b += x * (double)gs_value(&b, 0, row, col);
            with_next += x * (double)gs_value(&a, 0, row, col + 1);
            with_seed += x * (double)gs_value(&c, 0, row, col);
        }
    const double deviation = 1 / sqrt(count);
    assert_true(fabs(sum / count) < 5 * deviation);
    assert_true(fabs(squares / count - 1) < 8 * deviation);
    assert_true(fabs(fourth / count - 3) < 50 * deviation);
    assert_true(fabs(beyond / count - 0.05) < 5 * 0.22 * deviation);
    assert_true(fabs(with_b / count) < 5 * deviation && fabs(with_next / count) < 5 * deviation &&
                fabs(with_seed / count) < 5 * deviation);
}

static void special_data_hold_each_kind(void **state)
{
    (void)state;
    const gs_problem p = gs_problem_make(GS_F16, GS_NN, 136, 264, 200);
    for (uint64_t seed = 1; seed < 6; seed++)
        for (char operand = 'a'; operand <= 'b'; operand++) {
            const gs_datagen g = gs_datagen_make(&p, operand, GS_VALUES_SPECIAL, seed);
            const int64_t rows = operand == 'a' ? p.m : p.k, cols = operand == 'a' ? p.k : p.n;
            const gs_datagen other = gs_datagen_make(&p, operand == 'a' ? 'b' : 'a', GS_VALUES_SPECIAL, seed);
            int nans = 0, infinities = 0, beside = 0;
            for (int64_t row = 0; row < rows; row++)
                for (int64_t col = 0; col < cols; col++) {
                    const float x = gs_value(&g, 0, row, col);
                    const int64_t k = operand == 'a' ? col : row;
                    beside += isnan(x) && gs_special_zero(&other, k);
                    if (gs_special_zero(&g, k)) assert_true(x == 0);
                    nans += isnan(x) != 0;
                    infinities += isinf(x) != 0;
                }
            assert_in_range(nans, 5, 70);
            assert_in_range(infinities, 5, 70);
            assert_true(beside > 0);
        }
}

/* ---- the error model ---- */

static void bounds_tell_the_accumulators_apart(void **state)
{
    (void)state;
    for (int64_t k = 64; k <= 16384; k *= 4) {
        gs_problem f32 = gs_problem_make(GS_F16, GS_TN, 512, 512, k), f16 = f32;
        f16.acc = GS_F16;
        assert_true(gs_frobenius_limit(&f32, NULL, 1, 1e9) * 2 < gs_frobenius_limit(&f16, NULL, 1, 1e9));
        const gs_compare theirs = {.frobenius = 0.01, .bias = 0.1};
        assert_true(fabs(gs_frobenius_limit(&f32, &theirs, 1, 1e9) - 1.5 * 0.01) < 1e-6);
        assert_true(gs_frobenius_limit(&f32, NULL, 0x1p-24, 1e9) > 0.4);   /* results of one or two bits */
        gs_problem added = f16;
        added.beta = 0.7f;
        assert_true(gs_frobenius_limit(&added, NULL, 1, 1e9) == gs_frobenius_limit(&f16, NULL, 1, 1e9));
        added.m = added.n = 1;   /* C may cancel the only product */
        const double usual = sqrt((double)k), limit = gs_frobenius_limit(&added, NULL, usual, 1);
        assert_true(limit >= 0.1 && limit < 0.2);
        assert_true(gs_frobenius_limit(&added, NULL, usual / 100, 1) > 9 * limit);   /* so may products each other */
        assert_true(gs_bias_limit(&f32, NULL, 60000, 1e9) == 2 && gs_bias_limit(&f32, NULL, 0x1p-22, 1e9) == 2);
        gs_problem wide = f32;
        wide.out = GS_F32;
        assert_true(gs_bias_limit(&f16, NULL, 1, 1e9) == 2 && gs_bias_limit(&wide, NULL, 1, 1e9) == 2);   /* truncation is the only error, and no wider rounding hides it */
        assert_true(gs_bias_limit(&f32, NULL, 1, 1e9) < 0.6);   /* truncation gives 1 */
        assert_true(gs_bias_limit(&f32, &theirs, 1, 1e9) < 0.7);
        assert_true(gs_bias_limit(&f32, NULL, 1, 16) > 1.5);   /* with only 16 results, chance alone gives a large bias */
        gs_problem rows = f32;   /* No products: a row's rounding error depends on its bias alone, or without a bias on C's mantissas. */
        rows.k = 0, rows.beta = -1, rows.bias = GS_BIAS_M, rows.n = 4096;
        assert_true(fabs(gs_bias_limit(&rows, NULL, 1, 512 * 4096) - 0.25 - 6 / sqrt(512)) < 1e-9);
        rows.bias = GS_BIAS_NONE;
        assert_true(fabs(gs_bias_limit(&rows, NULL, 1, 512 * 4096) - 0.25 - 6 / sqrt(1024)) < 1e-9);
        gs_problem biased = f32;   /* A product as large as the bias is rounded, and both cancel. */
        biased.bias = GS_BIAS_N;
        assert_true(fabs(gs_bound_make(&biased, GS_TOLERANCE_ROUNDED).spread - gs_bound_make(&f32, GS_TOLERANCE_ROUNDED).spread - 4 * 0x1p-11) < 1e-9);
        assert_true(gs_bound_make(&biased, 4).spread == gs_bound_make(&f32, 4).spread);
        const gs_bound once = gs_bound_make(&f32, 1), twice = gs_bound_make(&f32, 2);
        const gs_check_sums strict = gs_sums_bound(&f32, 1), loose = gs_sums_bound(&f32, GS_TOLERANCE_ROUNDED);   /* loose: timed cuBLASLt runs may round products */
        assert_true(strict.element == 0 && gs_sums_bound(&f32, 4).element == 0 && loose.element == 0x1p-11 && gs_sums_bound(&f16, 1).element == 0x1p-11);
        assert_true(once.relative >= 0x1p-11 && twice.relative == 2 * once.relative && twice.spread == 2 * once.spread);
        assert_true(twice.rounding == 2 * once.rounding && twice.least == 2 * once.least && once.least <= once.absolute);
        assert_true(once.rounding >= 0x1p-11 && once.relative - once.rounding > 0 && once.relative - once.rounding < 0x1p-10);
        for (int64_t terms = 1; terms <= 1 << 20; terms *= 4) {   /* for integers only the error of scaling counts, however long the sum */
            gs_problem p = f32, sums = f32;
            p.k = sums.k = terms;
            assert_true(gs_exact_tolerance(&p) == 0);
            p.alpha = sums.alpha = 0.3f;
            const gs_bound bound = gs_bound_make(&p, gs_exact_tolerance(&p));
            assert_true(gs_exact_tolerance(&p) > 0 && gs_exact_tolerance(&p) < 1 && bound.spread <= 0x1.1p-20 && bound.spread > 0x1p-22);
            assert_true(bound.relative - bound.rounding <= 0x1.1p-20);
            sums.acc = GS_F16;
            assert_true(gs_exact_tolerance(&sums) == 1);
        }
        f32.grouping = GS_GROUPS_K;   /* one of nine matrices may have all terms: its sums are three times as large as the average */
        f32.batch = 9;
        assert_true(gs_bound_make(&f32, 1).spread == 3 * once.spread && gs_bound_make(&f32, 1).relative == once.relative);
    }
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    gs_problem p = gs_problem_make(GS_F16, GS_TN, 8, 8, 8);
    gs_contender contender = {0};
    gs_verdict verdict;
    gs_error error;
    assert_int_equal(gs_verify(NULL, &contender, &p, &(gs_verify_options){.parts = 1024}, &verdict, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "parts");
    assert_int_equal(gs_verify(NULL, &contender, &p, &(gs_verify_options){.repeats = -1}, &verdict, &error), GS_ERROR_ARGUMENT);
    p.reserved[0] = 1;
    assert_int_equal(gs_verify(NULL, &contender, &p, NULL, &verdict, &error), GS_ERROR_UNSUPPORTED);
    p = gs_problem_make(GS_F16, GS_TN, -8, 8, 8);
    assert_int_not_equal(gs_verify(NULL, &contender, &p, NULL, &verdict, &error), GS_OK);
}

/* ---- the device code ---- */

static void compile(const char *target, const gs_kernel *kernel)
{
    gs_kernel_source source;
    gs_kernel_to_source(kernel, &source);
    gs_image image = {0};
    gs_error error = {0};
    if (gs_compile_cached(target, getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
        fail_msg("%s for %s: %s\n%s", kernel->name, target, error.text, image.log ? image.log : "");
    if (image.spill_bytes) fail_msg("%s for %s spills %d bytes", kernel->name, target, image.spill_bytes);
    assert_true(image.size > 0 && image.registers > 0);
    if (image.log && strstr(image.log, "warning")) fail_msg("%s for %s: %s", kernel->name, target, image.log);
    gs_image_free(&image);
}

static void device_code_compiles(void **state)
{
    (void)state;
    if (!gs_compiler_version(NULL)) {
        print_message("skipped: no NVRTC\n");
        skip();
    }
    static const char *const targets[] = {"sm_80", "sm_90a"};
    for (size_t t = 0; t < GS_COUNT(targets); t++) {
        const gs_kernel verify = {.name = "verify.cu", .source = gs_embedded_find("verify.cu")};
        assert_non_null(verify.source);
        compile(targets[t], &verify);
        for (int types = 0; types < 3; types++)          /* f16 with f32 sums, f16 with f16 sums, bf16 */
            for (int out = GS_F16; out <= GS_F32; out++)
                for (int layout = GS_NN; layout <= GS_TT; layout++) {
                    gs_problem p = gs_problem_make(types == 2 ? GS_BF16 : GS_F16, (gs_layout)layout, 64, 64, 64);
                    p.acc = types == 1 ? GS_F16 : GS_F32;
                    p.out = (gs_type)out;
                    p.beta = (float)(layout == out % 2);   /* with and without C for every type, but not in every combination */
                    const gs_schedule schedule = {.family = GS_FAMILY_SIMPLE};
                    gs_kernel kernel = {0};
                    gs_error error = {0};
                    if (gs_kernel_build(&kernel, &schedule, &p, gs_caps_find("h200"), &error) != GS_OK) fail_msg("%s", error.text);
                    assert_int_equal(kernel.manifest.entry_count, 1);
                    compile(targets[t], &kernel);
                }
    }
}

/* The grid covers every element and stays within the hardware's limits. */
static void simple_grid(void **state)
{
    (void)state;
    gs_problem p = gs_problem_make(GS_F16, GS_NN, 2147483647, 9, 1);
    const gs_schedule schedule = {.family = GS_FAMILY_SIMPLE};
    gs_kernel kernel = {0};
    assert_int_equal(gs_kernel_build(&kernel, &schedule, &p, gs_caps_find("h200"), NULL), GS_OK);
    const gs_entry *const entry = &kernel.manifest.entry[0];
    const gs_formula_names names = {.m = p.m, .n = 5000000, .k = 1, .batch = 100000};
    int64_t grid[3];
    for (int i = 0; i < 3; i++) assert_int_equal(gs_formula_value(&entry->grid[i], &names, &grid[i], NULL), GS_OK);
    assert_true(grid[0] * entry->block[1] >= p.m && grid[0] <= 2147483647);
    assert_true(grid[1] <= 65535 && grid[2] <= 65535);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_names_come_back),
        cmocka_unit_test(reference_by_hand),
        cmocka_unit_test(reference_of_a_batch_and_of_nothing),
        cmocka_unit_test(every_plan_keeps_its_bounds),
        cmocka_unit_test(scalars_that_round_are_replaced),
        cmocka_unit_test(integers_are_exact_in_every_order),
        cmocka_unit_test(faults_show_where_they_should),
        cmocka_unit_test(cancellation_leaves_a_small_remainder),
        cmocka_unit_test(index_codes_name_their_place),
        cmocka_unit_test(normal_data_are_normal),
        cmocka_unit_test(special_data_hold_each_kind),
        cmocka_unit_test(bounds_tell_the_accumulators_apart),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(device_code_compiles),
        cmocka_unit_test(simple_grid),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}

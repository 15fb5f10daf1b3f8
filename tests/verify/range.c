/* SPDX-License-Identifier: MIT
 * The data that cover the whole range of the types: every honest kernel computes the same result, whatever the order of summation and however the scalars are applied,
 * and the data contain all values that they must contain. Also the likely sums of integer data, and the time estimated for an emulated device. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/half.h"
#include "operands/data.h"
#include "operands/operands.h"
#include "verify/verify.h"

typedef struct variant {
    const char *text;
    gs_type     in, acc, out;
    float       alpha, beta;
} variant;

static const variant variants[] = {
    {"f16",                  GS_F16,  GS_F32, GS_F16,  1,     0},
    {"f16 to f32",           GS_F16,  GS_F32, GS_F32,  1,     0},
    {"f16 to bf16",          GS_F16,  GS_F32, GS_BF16, 1,     1},
    {"f16 with scalars",     GS_F16,  GS_F32, GS_F16,  0.5f,  -1.5f},
    {"f16, alpha 3.75",      GS_F16,  GS_F32, GS_F32,  3.75f, 4},
    {"f16, alpha 0.25",      GS_F16,  GS_F32, GS_F16,  0.25f, 3.75f},
    {"f16 sums",             GS_F16,  GS_F16, GS_F16,  1,     0},
    {"f16 sums to f32",      GS_F16,  GS_F16, GS_F32,  1,     0},
    {"f16 sums, alpha 1.75", GS_F16,  GS_F16, GS_F16,  1.75f, 0.5f},
    {"bf16",                 GS_BF16, GS_F32, GS_BF16, 1,     0},
    {"bf16 to f32",          GS_BF16, GS_F32, GS_F32,  -1,    1},
    {"bf16 to f16",          GS_BF16, GS_F32, GS_F16,  1,     0},
    {"bf16 with scalars",    GS_BF16, GS_F32, GS_BF16, 0.75f, 2},
    {"bf16, alpha 4",        GS_BF16, GS_F32, GS_F32,  4,     0},
    {"f16, alpha 0.3",       GS_F16,  GS_F32, GS_F16,  0.3f,  0.7f},
    {"f16 to f32, odd",      GS_F16,  GS_F32, GS_F32,  -5.1f, 0},
    {"bf16, alpha 0.0123",   GS_BF16, GS_F32, GS_BF16, 0.0123f, 0},
    {"bf16 to f16, beta 0.3", GS_BF16, GS_F32, GS_F16, 1,     0.3f},
};

static gs_problem problem_of(const variant *v, int64_t m, int64_t n, int64_t k)
{
    gs_problem p = gs_problem_make(v->in, GS_TN, m, n, k);
    p.acc = v->acc;
    p.out = v->out;
    p.alpha = v->alpha;
    p.beta = v->beta;
    return p;
}

static float to_type(gs_type type, float value)
{
    return type == GS_F16 ? gs_f16_to_f32(gs_f32_to_f16(value)) : type == GS_BF16 ? gs_bf16_to_f32(gs_f32_to_bf16(value)) : value;
}

static float round_once(gs_type type, double value) { return type == GS_F32 ? (float)value : to_type(type, gs_round_to_odd(value)); }

static bool same(float a, float b) { return a == b || (isnan(a) && isnan(b)); }

typedef struct seen {
    int subnormal_inputs, subnormal_results, overflows, nans, infinities, zeros, plain, zero_times_inf, large, fractions;
} seen;

/* Computes one output in every way that an honest kernel may, and compares with the reference rounded once. */
static void check_output(const variant *v, const gs_problem *p, const float *a, const float *b, float c, seen *s)
{
    const double least = p->in == GS_F16 ? 0x1p-14 : 0x1p-126;
    double sum = 0;
    float forward = 0, backward = 0, parts[2] = {0};
    int products = 0;
    bool special = false, zero_times_inf = false;
    for (int64_t k = 0; k < p->k; k++) {
        const float up = a[k] * b[k], down = a[p->k - 1 - k] * b[p->k - 1 - k];
        sum += (double)a[k] * (double)b[k];
        forward = p->acc == GS_F16 ? to_type(GS_F16, forward + up) : forward + up;
        backward = p->acc == GS_F16 ? to_type(GS_F16, backward + down) : backward + down;
        parts[k % 2] = p->acc == GS_F16 ? to_type(GS_F16, parts[k % 2] + up) : parts[k % 2] + up;
        special = special || !isfinite(a[k]) || !isfinite(b[k]);
        zero_times_inf = zero_times_inf || (a[k] == 0 && isinf(b[k])) || (b[k] == 0 && isinf(a[k]));
        if (a[k] == 0 || b[k] == 0) continue;
        products++;
        if (special) continue;
        s->subnormal_inputs += (fabs((double)a[k]) < least) + (fabs((double)b[k]) < least);
        s->large += fabsf(a[k]) > 2047 || fabsf(b[k]) > 2047;
        s->fractions += (fabsf(a[k]) > 6 && a[k] != truncf(a[k])) || (fabsf(b[k]) > 6 && b[k] != truncf(b[k]));
    }
    double value = (double)p->alpha * sum;
    if (p->beta != 0) value = fma((double)p->beta, (double)c, value);
    const float want = round_once(p->out, value), split = parts[0] + parts[1];
    const float sums[] = {forward, backward, p->acc == GS_F16 ? to_type(GS_F16, split) : split};
    if (!special && products > 1) fail_msg("%s: %d products in one output", v->text, products);
    for (size_t i = 0; i < GS_COUNT(sums); i++) {
        const float scaled = p->alpha * sums[i];
        const float apart = p->beta != 0 ? scaled + p->beta * c : scaled, fused = p->beta != 0 ? fmaf(p->beta, c, scaled) : scaled;
        if (!same(to_type(p->out, apart), want) || !same(to_type(p->out, fused), want))
            fail_msg("%s: order %zu gives %a or %a for %a (product %a, C %a)", v->text, i, (double)apart, (double)fused, (double)want, sum, (double)c);
    }
    s->nans += isnan(want);
    s->infinities += isinf(want) && special;
    s->overflows += isinf(want) && !special;
    s->zeros += want == 0;
    s->zero_times_inf += zero_times_inf;
    s->subnormal_results += want != 0 && fabs((double)want) < (p->out == GS_F16 ? 0x1p-14 : 0x1p-126);
    s->plain += isfinite(want) && want != 0;
}

static seen check_problem(const variant *v, int64_t m, int64_t n, int64_t k, uint64_t seed)
{
    const gs_problem p = problem_of(v, m, n, k);
    const gs_datagen a = gs_datagen_make(&p, 'a', GS_VALUES_RANGE, seed), b = gs_datagen_make(&p, 'b', GS_VALUES_RANGE, seed),
                     c = gs_datagen_make(&p, 'c', GS_VALUES_RANGE, seed);
    float *const rows = malloc((size_t)(m * k) * sizeof *rows), *const cols = malloc((size_t)(n * k) * sizeof *cols);
    seen s = {0};
    assert_non_null(rows);
    assert_non_null(cols);
    for (int64_t i = 0; i < m * k; i++) rows[i] = to_type(p.in, gs_value(&a, 0, i / k, i % k));
    for (int64_t i = 0; i < n * k; i++) cols[i] = to_type(p.in, gs_value(&b, 0, i % k, i / k));
    for (int64_t row = 0; row < m; row++)
        for (int64_t col = 0; col < n; col++) check_output(v, &p, rows + row * k, cols + col * k, to_type(p.out, gs_value(&c, 0, row, col)), &s);
    free(rows);
    free(cols);
    return s;
}

static void every_order_gives_the_same(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{64, 48, 80}, {40, 56, 72}, {1, 130, 33}, {90, 1, 64}, {17, 19, 1}, {1, 1, 7}, {3, 5, 200}, {33, 16, 2}};
    for (size_t v = 0; v < GS_COUNT(variants); v++)
        for (size_t i = 0; i < GS_COUNT(sizes); i++)
            for (uint64_t seed = 1; seed <= 4; seed++) {
                const seen s = check_problem(&variants[v], sizes[i][0], sizes[i][1], sizes[i][2], seed * 977 + i);
                if (sizes[i][0] * sizes[i][1] > 100) assert_true(s.plain > 0);
            }
}

/* In one block of K, one operand is zero in every line and the other has NaN and infinities; in another block it is the other way round. Kernels that skip blocks of zeros
 * lose the NaN. */
static void a_block_of_zeros_meets_nan(void **state)
{
    (void)state;
    static const int64_t depths[] = {128, 160, 200, 1000};
    for (size_t i = 0; i < GS_COUNT(depths); i++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            const int64_t k = depths[i], lines = 96;
            const gs_problem p = problem_of(&variants[0], lines, lines, k);
            const gs_datagen both[] = {gs_datagen_make(&p, 'a', GS_VALUES_RANGE, seed * 977), gs_datagen_make(&p, 'b', GS_VALUES_RANGE, seed * 977)};
            const gs_datagen *const lone = &both[both->plan.range.lone], *const full = &both[!both->plan.range.lone];
            const int64_t gap = gs_range_gap(lone), width = gs_range_gap_width(lone);
            int found = 0;
            assert_true(width >= (k >= 200 ? 32 : 16) && gap % width == 0 && gap + width <= k && gap == gs_range_gap(full));
            for (int64_t line = 0; line < lines; line++)
                for (int64_t at = gap; at < gap + width; at++) {
                    const float zero = lone->operand == 0 ? gs_value(lone, 0, line, at) : gs_value(lone, 0, at, line), other = full->operand == 0 ? gs_value(full, 0, line, at) : gs_value(full, 0, at, line);
                    if (zero != 0) fail_msg("K %lld, seed %llu: %g at line %lld, %lld", (long long)k, (unsigned long long)seed, (double)zero, (long long)line, (long long)at);
                    found += !isfinite(other);
                }
            assert_true(found > 0);

            const int64_t hole = gs_range_hole(full), length = gs_range_hole_width(full);
            int nans = 0;
            assert_true(length >= (k >= 160 ? 16 : 0) && (length == 0 || (hole % length == 0 && hole >= 0 && hole + length <= k && (hole >= gap + width || hole + length <= gap))));
            for (int64_t line = 0; line < lines; line++)
                for (int64_t at = hole; at < hole + length; at++) {
                    const float other = lone->operand == 0 ? gs_value(lone, 0, line, at) : gs_value(lone, 0, at, line), zero = full->operand == 0 ? gs_value(full, 0, line, at) : gs_value(full, 0, at, line);
                    if ((zero != 0 && isfinite(zero)) || (other != 0 && !isnan(other))) fail_msg("K %lld, seed %llu: %g beside %g at line %lld, %lld", (long long)k, (unsigned long long)seed, (double)zero, (double)other, (long long)line, (long long)at);
                    nans += isnan(other);
                }
            assert_true(length == 0 || nans > 0);
        }
}

/* For every seed, the data contain every kind of value. */
static void each_kind_of_value_is_there(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const seen f16 = check_problem(&variants[0], 40, 56, 72, seed), bf16 = check_problem(&variants[9], 56, 40, 72, seed), f32 = check_problem(&variants[1], 48, 48, 96, seed);
        assert_true(f16.subnormal_inputs > 20 && f16.subnormal_results > 20 && f16.overflows > 10 && f16.large > 20 && f16.fractions > 20);
        assert_true(f16.nans > 50 && f16.zeros > 50 && f16.zero_times_inf > 50 && f16.infinities > 0);
        assert_true(bf16.subnormal_results > 5 && bf16.overflows > 10 && bf16.large > 20 && bf16.nans > 50 && bf16.zeros > 50);
        assert_true(f32.subnormal_inputs > 20 && f32.large > 20 && f32.nans > 50 && f32.overflows == 0);
        const seen row = check_problem(&variants[0], 1, 400, 72, seed);   /* a single row of A, which must not be special itself */
        assert_true(row.nans >= 25 && row.nans < 200 && row.infinities >= 20 && row.overflows >= 10 && row.zeros >= 25);
        const seen col = check_problem(&variants[0], 400, 1, 72, seed);
        assert_true(col.nans >= 25 && col.nans < 200 && col.infinities >= 20 && col.overflows >= 10 && col.zeros >= 25);
    }
}

static void no_such_data_where_nothing_is_multiplied(void **state)
{
    (void)state;
    gs_data_plan plan;
    gs_problem p = gs_problem_make(GS_F16, GS_TN, 8, 8, 0);
    assert_false(gs_data_plan_make(&p, GS_VALUES_RANGE, &plan));
    p.k = 8;
    assert_true(gs_data_plan_make(&p, GS_VALUES_RANGE, &plan));
    p.alpha = 0;
    assert_false(gs_data_plan_make(&p, GS_VALUES_RANGE, &plan));
}

/* Where beta is 0, C must not be read: it holds finite numbers in some parts of verification and NaN in the others. */
static void idle_c_is_finite_and_nan(void **state)
{
    (void)state;
    gs_problem p = gs_problem_make(GS_F16, GS_TN, 32, 32, 8);
    assert_int_equal(gs_operand_c_kind(&p, GS_VALUES_INTEGER), GS_VALUES_NAN);
    assert_int_equal(gs_operand_c_kind(&p, GS_VALUES_NORMAL), GS_VALUES_NAN);
    assert_int_equal(gs_operand_c_kind(&p, GS_VALUES_CANCEL), GS_VALUES_CANCEL);
    assert_int_equal(gs_operand_c_kind(&p, GS_VALUES_RANGE), GS_VALUES_RANGE);
    for (int kind = GS_VALUES_CANCEL; kind <= GS_VALUES_RANGE; kind += GS_VALUES_RANGE - GS_VALUES_CANCEL) {
        const gs_datagen c = gs_datagen_make(&p, 'c', kind, 3);
        int numbers = 0;
        for (int i = 0; i < 1024; i++) {
            const float x = to_type(GS_F16, gs_value(&c, 0, i / 32, i % 32));
            assert_true(isfinite(x));
            numbers += x != 0;
        }
        assert_true(numbers > 900);
    }
    p.beta = 1;
    assert_int_equal(gs_operand_c_kind(&p, GS_VALUES_INTEGER), GS_VALUES_INTEGER);
}

/* ---- likely sums of integers ---- */

/* Worked out by hand from the definitions in data.c. If a likely sum were too small, f16 outputs could overflow. */
static void likely_sums_by_hand(void **state)
{
    (void)state;
    const gs_problem p = gs_problem_make(GS_F16, GS_TN, 64, 64, 4096);
    static const struct {
        int          kind;
        gs_data_plan plan;
        double       largest, likely;
    } rows[] = {
        {GS_VALUES_INTEGER, {.light = 3},                                             36864,   5760},
        {GS_VALUES_INTEGER, {.light = 3, .sparse = 2},                                4032,    1800},                 /* 256 + 8 * 16 + 64 products */
        {GS_VALUES_INTEGER, {.light = 3, .heavy = 63, .segment = 1024},               38376,   3929.1983915297533},   /* 5 sqrt(576^2 + 2 * 756^2 / 4) */
        {GS_VALUES_INTEGER, {.light = 1, .heavy = 127, .segment = 2048},              4604,    1148},                 /* 2 * 254 + 10 * 64 */
        {GS_VALUES_QUIET,   {.light = 1, .sparse = 1},                                1344,    360},
        {GS_VALUES_CANCEL,  {.light = 2},                                             17898.03867196751, 6818.193359837562},
    };
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        const double largest = gs_data_largest(&p, rows[i].kind, &rows[i].plan), likely = gs_data_likely(&p, rows[i].kind, &rows[i].plan);
        if (fabs(likely - rows[i].likely) > 1e-6 * likely || fabs(largest - rows[i].largest) > 1e-6 * largest)
            fail_msg("row %zu: at most %.9g, likely %.9g", i, largest, likely);
    }
}

/* The likely sum is at least five standard deviations of a sum, or the largest possible sum. */
static void likely_sums_hold(void **state)
{
    (void)state;
    static const int64_t depths[] = {64, 512, 4096, 16384};
    for (size_t v = 0; v < GS_COUNT(variants); v++)
        for (size_t d = 0; d < GS_COUNT(depths); d++) {
            const gs_problem p = problem_of(&variants[v], 64, 64, depths[d]);
            gs_data_plan plan;
            if (!gs_data_plan_make(&p, GS_VALUES_INTEGER, &plan)) continue;
            const double k = (double)p.k, light = plan.light, density = ldexp(1, -plan.sparse), square = density * light * (light + 1) / 3;
            const double upper = plan.heavy ? plan.heavy * 0.78 : 0, count = plan.heavy ? ceil(k / plan.segment) : 0;   /* upper: rms of the upper half */
            const double deviation = sqrt(k * square * square + 2 * count * upper * upper * square), heavies = 2 * count * plan.heavy * light;
            const double likely = gs_data_likely(&p, GS_VALUES_INTEGER, &plan), largest = gs_data_largest(&p, GS_VALUES_INTEGER, &plan);
            if (likely < fmin(largest, fmin(5 * deviation, heavies + 5 * sqrt(k) * square)))
                fail_msg("%s, k = %lld: sums deviate by %g, %g is called likely", variants[v].text, (long long)p.k, deviation, likely);
        }
}

/* ---- styles: lines of A, B and C, and vectors, with special patterns ---- */

/* Counts the lines of each style, or a vector as one line. */
static void count_styles(const gs_datagen *g, int64_t lines, int64_t length, int found[GS_STYLES])
{
    for (int64_t line = 0; line < lines; line++) {
        int64_t positive = 0, negative = 0, zero = 0, minus_zero = 0, pairs = 0, same = 0, size = 0, rising = 0, alike = 0;
        const float first = g->operand == 1 ? gs_value(g, 0, 0, line) : gs_value(g, 0, line, 0);
        float before = first;
        for (int64_t k = 0; k < length; k++) {
            const float x = g->operand == 1 ? gs_value(g, 0, k, line) : gs_value(g, 0, line, k);
            positive += x > 0, negative += x < 0, zero += x == 0, minus_zero += x == 0 && signbit(x);
            same += x == first, size += fabsf(x) == fabsf(first), rising += x >= before, alike += k % 4 == 0 || x == before;
            pairs += k % 4 == 3 && zero >= (k + 1) / 2;
            before = x;
        }
        found[GS_STYLE_POSITIVE] += positive > length / 2 && negative == 0 && same < length;
        found[GS_STYLE_NEGATIVE] += negative > length / 2 && positive == 0 && same < length;
        found[GS_STYLE_ZERO] += zero == length && minus_zero > 0 && minus_zero < length;
        found[GS_STYLE_FEW] += zero > length * 3 / 4 && zero < length;
        found[GS_STYLE_CONSTANT] += first != 0 && same == length;
        found[GS_STYLE_SIGNS] += first != 0 && size == length && same < length && alike < length;
        found[GS_STYLE_ASCENDING] += rising == length && same < length && first < 0 && before >= 0;
        found[GS_STYLE_RELU] += negative == 0 && positive > length / 4 && zero > length / 4;
        found[GS_STYLE_PRUNED] += pairs == length / 4 && positive > length / 8 && negative > length / 8;
        found[GS_STYLE_ALIKE] += first != 0 && size == length && alike == length && same < length;
    }
}

/* For some seed, eight neighbouring lines are zero; for none, all lines of a matrix are. */
static bool neighbours_are_zero(const gs_problem *p, char operand)
{
    bool found = false;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        const gs_datagen g = gs_datagen_make(p, operand, GS_VALUES_INTEGER, seed);
        const int64_t lines = operand == 'a' ? p->m : p->n;
        int64_t empty = 0;
        for (int64_t line = 0; line < lines; line += 8) {
            int numbers = 0;
            for (int64_t at = 0; at < 8 * p->k; at++) {
                const float x = operand == 'a' ? gs_value(&g, 0, line + at % 8, at / 8) : gs_value(&g, 0, at / 8, line + at % 8);
                numbers += x != 0;
            }
            empty += numbers == 0;
        }
        assert_true(empty < lines / 8);
        found |= empty > 0;
    }
    return found;
}

/* Every style occurs in each operand, and sums stay within the bounds that keep them exact. */
static void lines_have_styles(void **state)
{
    (void)state;
    static const struct { const char *text; bool both; double most; } rows[] = {
        {"bf16:256x256x64:tn", true, 0}, {"f16:256x256x64:nn:d=f32", true, 0}, {"f16:256x256x64:tn", false, 0}, {"f16:64x64x64:tn:acc=f16", false, 2048}, {"bf16:256x256x64:tn:ep=silu+gate", false, 0},
    };
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        gs_problem p;
        gs_data_plan plan;
        int of_a = 0, of_b = 0, sum_of_a[GS_STYLES] = {0}, sum_of_b[GS_STYLES] = {0}, sum_of_c[GS_STYLES] = {0};
        assert_int_equal(gs_problem_parse(&p, rows[i].text, NULL), GS_OK);
        assert_true(gs_data_plan_make(&p, GS_VALUES_INTEGER, &plan) && plan.sparse == 0);
        const double most = rows[i].most > 0 ? rows[i].most : gs_data_largest(&p, GS_VALUES_INTEGER, &plan);
        for (uint64_t seed = 1; seed <= 16; seed++) {
            const gs_datagen a = gs_datagen_make(&p, 'a', GS_VALUES_INTEGER, seed), b = gs_datagen_make(&p, 'b', GS_VALUES_INTEGER, seed), c = gs_datagen_make(&p, 'c', GS_VALUES_INTEGER, seed);
            of_a += a.styled > 0, of_b += b.styled > 0;
            assert_true(rows[i].both ? a.styled && b.styled : !a.styled != !b.styled);
            count_styles(&a, p.m, p.k, sum_of_a);
            count_styles(&b, p.n, p.k, sum_of_b);
            count_styles(&c, p.m, p.n, sum_of_c);
            for (int64_t m = 0; m < 64; m++)
                for (int64_t n = 0; n < 64; n++) {
                    double sum = 0;
                    for (int64_t k = 0; k < p.k; k++) {
                        sum += (double)gs_value(&a, 0, m, k) * (double)gs_value(&b, 0, k, n);
                        if (fabs(sum) > most) fail_msg("%s, seed %d: %g", rows[i].text, (int)seed, sum);
                    }
                }
        }
        assert_true(of_a > 2 && of_b > 2);
        assert_true(p.m < 256 || (neighbours_are_zero(&p, 'a') && neighbours_are_zero(&p, 'b')));
        for (int style = 0; style < GS_STYLES; style++)
            if (sum_of_a[style] == 0 || sum_of_b[style] == 0 || sum_of_c[style] == 0) fail_msg("%s: style %d", rows[i].text, style);
    }
}

/* A vector counts as one line. */
static void vectors_have_styles(void **state)
{
    (void)state;
    gs_problem p;
    int of_bias[GS_STYLES] = {0}, positive = 0, negative = 0, same = 0;
    assert_int_equal(gs_problem_parse(&p, "bf16:64x64x72:tn:ep=scale_n+bias", NULL), GS_OK);
    for (uint64_t seed = 1; seed <= 600; seed++) {
        const gs_datagen bias = gs_datagen_make(&p, 'e', GS_VALUES_INTEGER, seed), scale = gs_datagen_make(&p, 'i', GS_VALUES_INTEGER, seed);
        int above = 0, below = 0, as_first = 0;
        count_styles(&bias, 1, 64, of_bias);
        for (int j = 0; j < 64; j++) {
            const float x = gs_value(&scale, 0, 0, j), of_size = fabsf(x);
            assert_true(x == 0 || (of_size <= 1 && of_size >= 0.125f));
            above += x > 0, below += x < 0, as_first += x != 0 && x == gs_value(&scale, 0, 0, 63 - j);
        }
        positive += below == 0 && as_first < 60, negative += above == 0, same += as_first >= 48;
    }
    for (int style = 0; style < GS_STYLES; style++)
        if (of_bias[style] == 0) fail_msg("style %d", style);
    assert_true(positive > 5 && negative > 5 && same > 5);
    assert_int_equal(gs_datagen_make(&p, 'a', GS_VALUES_NORMAL, 1).styled, 0);
    /* with normal data, styles of whole vectors: one sign, small, constant, zero */
    int of_one_sign[2] = {0}, small[2] = {0}, constant[2] = {0}, empty = 0, usual = 0;
    for (uint64_t seed = 1; seed <= 200; seed++)
        for (int which = 0; which < 2; which++) {
            const gs_datagen g = gs_datagen_make(&p, which ? 'i' : 'e', GS_VALUES_NORMAL, seed);
            int above = 0, below = 0, zeros = 0, large = 0, as_first = 0;
            for (int j = 0; j < 64; j++) {
                const float x = gs_value(&g, 0, 0, j);
                above += x > 0, below += x < 0, zeros += x == 0, large += fabsf(x) > 0.2f, as_first += x != 0 && x == gs_value(&g, 0, 0, 63 - j);
            }
            of_one_sign[which] += (above == 0) != (below == 0), small[which] += large == 0 && above > 0 && below > 0, constant[which] += as_first > 40;
            empty += zeros == 64, usual += which == 0 && large > 30 && above > 10 && below > 10;
        }
    for (int which = 0; which < 2; which++) assert_true(of_one_sign[which] > 20 && small[which] > 5 && constant[which] > 5);
    assert_true(empty > 5 && usual > 20);
    assert_int_equal(gs_datagen_make(&p, 'a', GS_VALUES_CANCEL, 1).styled, 0);
}

/* ---- a bias and an aux ---- */

/* Some elements of a bias are larger than those of C, except with f16 sums and gates; all of them have at most eight bits. */
static void a_bias_is_large_now_and_then(void **state)
{
    (void)state;
    static const struct { const char *text; bool large; } rows[] = {
        {"f16:64x512x72:tn:ep=bias", true}, {"bf16:512x64x72:tn:ep=bias_m+relu", true}, {"f16:64x512x72:tn:acc=f16:ep=bias", false}, {"f16:64x512x72:tn:ep=bias+silu+gate", false},
    };
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        gs_problem p;
        gs_data_plan plan;
        assert_int_equal(gs_problem_parse(&p, rows[i].text, NULL), GS_OK);
        gs_datagen g = gs_datagen_make(&p, 'e', GS_VALUES_INTEGER, 7);
        assert_int_equal(g.styled, 32);
        g.styled = 0;   /* styles are tested separately */
        int large = 0, negative = 0;
        float most = 0;
        for (int j = 0; j < 512; j++) {
            const float x = gs_value(&g, 0, 0, j);
            assert_true(x == rintf(x) && to_type(GS_BF16, x) == x);
            large += fabsf(x) > 15, negative += x < -15;
            most = fmaxf(most, fabsf(x));
        }
        if (rows[i].large) assert_true(large > 20 && large < 128 && negative > 5 && negative < large - 5 && most > 2048 && most <= 4080);
        else assert_int_equal(large, 0);
        assert_true(gs_data_plan_make(&p, GS_VALUES_INTEGER, &plan));
        assert_int_equal(gs_datagen_make(&p, 'c', GS_VALUES_INTEGER, 7).tall, 0);
        p.beta = 1;   /* now C is read: it has large elements too */
        assert_true((gs_datagen_make(&p, 'c', GS_VALUES_INTEGER, 7).tall > 0) == rows[i].large);
        assert_int_equal(gs_datagen_make(&p, 'g', GS_VALUES_INTEGER, 7).tall, 0);
    }
}

/* An aux that is read has numbers that underflow in f16, and the smallest number of its own type. */
static void an_aux_is_small_now_and_then(void **state)
{
    (void)state;
    static const struct { const char *text; gs_type type; float least; } rows[] = {
        {"f16:64x64x72:tn:ep=drelu", GS_F16, 0x1p-24f}, {"bf16:64x64x72:tn:ep=dgelu", GS_BF16, 0x1p-133f}, {"f16:64x64x72:tn:d=f32:ep=dsilu", GS_F32, 0x1p-140f},
    };
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        gs_problem p;
        assert_int_equal(gs_problem_parse(&p, rows[i].text, NULL), GS_OK);
        const gs_datagen g = gs_datagen_make(&p, 'g', GS_VALUES_RANGE, 7);
        int least = 0, small = 0;
        for (int j = 0; j < 4096; j++) {
            const float x = fabsf(gs_value(&g, 0, j / 64, j % 64));
            least += x == rows[i].least, small += x > rows[i].least && x < 0x1p-15f;
            assert_true(isnan(x) || to_type(rows[i].type, x) == x || isinf(x));
        }
        assert_true(least > 20 && small > 20);
    }
}

/* ---- scalars of many bits, and scales beside them ---- */

static void scalars_of_many_bits(void **state)
{
    (void)state;
    int negative = 0, large = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const float x = gs_scalar_of_many_bits(gs_mix(i));
        int exponent;
        frexpf(x, &exponent);
        const double step = ldexp(1, exponent - 1 - 10), coarse = ldexp(1, exponent - 1 - 7);
        assert_true(fabsf(x) >= 0.5f && fabsf(x) < 2);
        assert_true(fabs(remainder(x, step)) > 0.46 * step);       /* f16, and tf32 */
        assert_true(fabs(remainder(x, coarse)) > 0.4 * coarse);    /* bf16 */
        negative += x < 0, large += fabsf(x) > 1;
    }
    assert_true(negative > 400 && negative < 600 && large > 400 && large < 600);
}

/* A large alpha is balanced by small scales, and the reverse: results have the usual magnitude, and the sums' data stay the same. */
static void scales_go_with_alpha(void **state)
{
    (void)state;
    static const struct {
        float    alpha;
        uint32_t scales;
        int      shift, of_m, of_n;   /* shift: of the exponents; of_m, of_n: the middle exponent of each scale */
    } rows[] = {
        {0x1.8p30f, GS_SCALE_M | GS_SCALE_N, 31, -100, 69}, {0x1.8p30f, GS_SCALE_M, 31, -31, 0}, {0x1.8p30f, GS_SCALE_N, 31, 0, -31}, {-0x1.8p-30f, GS_SCALE_M | GS_SCALE_N, -29, 100, -71},
        {0x1.8p98f, GS_SCALE_M | GS_SCALE_N, 99, -100, 1}, {0x1.8p126f, GS_SCALE_M, 100, -100, 0}, {0x1.8p-126f, GS_SCALE_N, -100, 0, 100}, {0x1.8p19f, GS_SCALE_M | GS_SCALE_N, 0, 0, 0}, {0x1p-21f, GS_SCALE_N, 0, 0, 0}, {1.3f, GS_SCALE_M | GS_SCALE_N, 0, 0, 0},
        {0x1.8p30f, 0, 0, 0, 0}, {0, GS_SCALE_M, 0, 0, 0},
    };
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        gs_problem p = gs_problem_make(GS_F16, GS_TN, 64, 64, 72);
        gs_data_plan plan, usual;
        gs_data_plan_make(&p, GS_VALUES_CANCEL, &usual);
        p.alpha = rows[i].alpha, p.scales = rows[i].scales;
        assert_int_equal(gs_scale_shift(&p), rows[i].shift);
        if (rows[i].shift && abs(rows[i].shift) < 100) {
            assert_true(gs_data_plan_make(&p, GS_VALUES_CANCEL, &plan) && plan.heavy > 16 && usual.heavy > 16);
            plan.heavy = usual.heavy;   /* a scale of up to 4 leaves less room for the others */
            assert_memory_equal(&plan, &usual, sizeof plan);
        }
        for (int n = 0; n < 2; n++) {
            if (!(p.scales & (n ? GS_SCALE_N : GS_SCALE_M))) continue;
            const gs_datagen g = gs_datagen_make(&p, n ? 'i' : 'h', GS_VALUES_CANCEL, 5);
            const bool many = !gs_scalars_exact(&p);
            int bits = 0;
            for (int j = 0; j < 64; j++) {
                const float x = n ? gs_value(&g, 0, 0, j) : gs_value(&g, 0, j, 0);
                int exponent;
                bits += x != 0 && fabsf(frexpf(x, &exponent)) != 0.5f;
                if (x != 0 && !(many && fabsf(x) < ldexpf(1, (n ? rows[i].of_n : rows[i].of_m) - 15))) assert_true(abs(exponent - (n ? rows[i].of_n : rows[i].of_m)) <= 3);
            }
            assert_true(many ? bits > 50 : bits == 0);
        }
    }
}

/* ---- time on an emulated device ---- */

static void time_is_that_of_the_launches_and_references(void **state)
{
    (void)state;
    const gs_problem p = gs_problem_make(GS_F16, GS_TN, 512, 512, 512);
    const double edges = gs_verify_seconds(&p, GS_PART_EDGES, true);
    static const struct { uint32_t parts; double launches, references; } rows[] = {
        {GS_PART_EXACT, 2, 1}, {GS_PART_CANCELLATION, 2, 1}, {GS_PART_INDEX, 3, 2}, {GS_PART_NORMAL, 1, 1}, {GS_PART_REPEAT, GS_VERIFY_REPEATS, 1},
        {GS_PART_MEMORY, 3, 1}, {GS_PART_EXACT | GS_PART_MEMORY, 3, 1}, {GS_PART_CANCELLATION | GS_PART_MEMORY, 2, 1},
        {GS_PART_NORMAL | GS_PART_REPEAT, GS_VERIFY_REPEATS + 1, 2}, {GS_PART_ALL & ~(uint32_t)GS_PART_EDGES, 17, 6},
    };
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        const double matrix = gs_verify_seconds(&p, rows[i].parts, true), scalar = gs_verify_seconds(&p, rows[i].parts, false);
        assert_true(fabs(matrix - gs_emulated_seconds(&p, rows[i].launches, rows[i].references)) < 1e-9 * matrix);
        assert_true(fabs(scalar - gs_emulated_seconds(&p, 0, rows[i].launches + rows[i].references)) < 1e-9 * scalar);
    }
    assert_true(fabs(gs_verify_seconds(&p, 0, true) - edges - gs_verify_seconds(&p, GS_PART_ALL & ~(uint32_t)GS_PART_EDGES, true)) < 1e-9);
    /* On one core of the machine on which it was measured: 2^27 products take 0.09 s on matrix units, 1.3 s by threads; 3 * 2^18 elements take 0.03 s. */
    const double cores = gs_emulated_seconds(&p, 0, 1) > 0 ? (0x1p27 / 1e8 + 3 * 0x1p18 / 3e7) / gs_emulated_seconds(&p, 0, 1) : 0;
    assert_true(cores > 0.99 && fabs(cores - round(cores)) < 1e-6 && cores <= (double)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(fabs(gs_emulated_seconds(&p, 1, 0) * cores - (0x1p27 / 1.5e9 + 3 * 0x1p18 / 3e7)) < 1e-6);
    assert_true(fabs(edges * cores - 1.5) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_same),
        cmocka_unit_test(a_block_of_zeros_meets_nan), cmocka_unit_test(each_kind_of_value_is_there),
        cmocka_unit_test(no_such_data_where_nothing_is_multiplied),
        cmocka_unit_test(idle_c_is_finite_and_nan),
        cmocka_unit_test(likely_sums_by_hand),
        cmocka_unit_test(likely_sums_hold),
        cmocka_unit_test(lines_have_styles),
        cmocka_unit_test(vectors_have_styles),
        cmocka_unit_test(a_bias_is_large_now_and_then),
        cmocka_unit_test(an_aux_is_small_now_and_then),
        cmocka_unit_test(scalars_of_many_bits),
        cmocka_unit_test(scales_go_with_alpha),
        cmocka_unit_test(time_is_that_of_the_launches_and_references),
    };
    return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 * Random combinations: valid, the same for the same numbers, what they say of themselves, every value of every feature often, and every pair of values that can be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "problem/layout.h"
#include "random/combine.h"

enum { TRIES = 12000, VALUES = 16, LARGEST = 256 };

static int feature_of(const char *name)
{
    for (int f = 0; f < gs_feature_count(); f++)
        if (strcmp(gs_feature_name(f), name) == 0) return f;
    fail_msg("there is no feature %s", name);
    return 0;
}

static const char *value_of(const gs_combination *c, const char *feature)
{
    const int f = feature_of(feature);
    return gs_feature_value(f, c->value[f]);
}

static bool is(const gs_combination *c, const char *feature, const char *value) { return strcmp(value_of(c, feature), value) == 0; }

static void valid_and_repeated(void **state)
{
    (void)state;
    gs_random one = {7}, two = {7}, other = {8};
    int differ = 0;
    for (int i = 0; i < 300; i++) {
        const int64_t largest = i % 2 ? 2048 : LARGEST;
        char a[GS_PROBLEM_TEXT], b[GS_PROBLEM_TEXT];
        const gs_combination p = gs_random_combination(&one, largest), q = gs_random_combination(&two, largest), r = gs_random_combination(&other, largest);
        assert_int_equal(gs_problem_check(&p.problem, NULL), GS_OK);
        assert_string_equal(gs_problem_format(&p.problem, a), gs_problem_format(&q.problem, b));
        assert_memory_equal(p.value, q.value, sizeof p.value);
        differ += strcmp(a, gs_problem_format(&r.problem, b)) != 0;
        gs_problem back;
        assert_int_equal(gs_problem_parse(&back, a, NULL), GS_OK);
        assert_string_equal(gs_problem_format(&back, b), a);
        const gs_problem *const x = &p.problem;
        assert_true(x->m <= largest + 40 && x->n <= largest && x->k <= largest);
        assert_true(x->k <= 8 || x->m * x->n * x->k * (x->grouping == GS_GROUPS_K ? 1 : x->batch) <= largest * largest * largest / 4);
    }
    assert_true(differ > 290);
}

/* What a combination says is what its problem is. */
static void values_are_those_of_the_problem(void **state)
{
    (void)state;
    gs_random random = {21};
    for (int i = 0; i < 3000; i++) {
        const gs_combination c = gs_random_combination(&random, LARGEST);
        const gs_problem *const p = &c.problem;
        assert_string_equal(value_of(&c, "layout"), gs_layout_name(p->layout));
        assert_int_equal(is(&c, "in", "bf16"), p->in == GS_BF16);
        assert_int_equal(is(&c, "acc", "f16"), p->acc == GS_F16);
        assert_int_equal(is(&c, "d", "f32"), p->out == GS_F32);
        assert_int_equal(is(&c, "scalars", "device"), p->scalars == GS_SCALARS_DEVICE);
        assert_int_equal(is(&c, "beta", "0"), p->beta == 0);
        assert_int_equal(c.value[feature_of("bias")], p->bias);
        assert_int_equal(c.value[feature_of("activation")], p->activation);
        assert_int_equal(c.value[feature_of("gate")], p->gate);
        assert_int_equal(is(&c, "residual", "behind"), p->residual);
        assert_int_equal(is(&c, "aux", "written"), p->aux);
        assert_int_equal(is(&c, "matrices", "groups"), p->groups && p->grouping == GS_GROUPS_SORTED);
        assert_int_equal(is(&c, "matrices", "masked"), p->groups && p->grouping == GS_GROUPS_MASKED);
        assert_int_equal(is(&c, "matrices", "along K"), p->grouping == GS_GROUPS_K);
        assert_int_equal(is(&c, "batch of A", "same"), p->stride_a == GS_SAME_MATRIX);
        assert_int_equal(is(&c, "batch of D", "behind"), p->stride_d == 0);
        assert_int_equal(is(&c, "biases", "each"), p->stride_bias != 0);
        assert_int_equal(is(&c, "found by", "pointers"), p->matrices == GS_MATRICES_POINTERS);
        assert_int_equal(is(&c, "bits of rows", "invariant"), p->invariant);
        assert_int_equal(is(&c, "B", "constant"), p->constant);
        if (p->batch == 1) assert_true(!p->stride_a && !p->stride_b && !p->stride_c && !p->stride_d && !p->stride_bias && !p->stride_aux);
        if (is(&c, "empty", "K")) assert_int_equal(p->k, 0);
        if (is(&c, "batch of A", "beside")) assert_true(p->lda >= p->batch * p->stride_a && p->stride_a > 0);
        if (is(&c, "rows of B", "eights")) assert_int_equal(p->ldb % 8, 0);
    }
}

static void every_value_and_pair_is_drawn(void **state)
{
    (void)state;
    static int drawn[GS_FEATURES_MOST][VALUES], pair[GS_FEATURES_MOST][VALUES][GS_FEATURES_MOST][VALUES];
    gs_random random = {5};
    for (int i = 0; i < TRIES; i++) {
        const gs_combination c = gs_random_combination(&random, LARGEST);
        for (int f = 0; f < gs_feature_count(); f++) {
            drawn[f][c.value[f]]++;
            for (int g = 0; g < gs_feature_count(); g++) pair[f][c.value[f]][g][c.value[g]]++;
        }
    }
    for (int f = 0; f < gs_feature_count(); f++)
        for (int v = 0; v < gs_feature_values(f); v++)
            if (drawn[f][v] < TRIES / 60) fail_msg("%s=%s: %d of %d", gs_feature_name(f), gs_feature_value(f, v), drawn[f][v], TRIES);
    static const char *const alone[][4] = {   /* what belongs together only now and then */
        {"layout", "tt", "gate", "stacked"}, {"gate", "interleaved", "residual", "behind"}, {"gate", "stacked", "matrices", "masked"}, {"gate", "stacked", "scalars", "device"},
        {"matrices", "along K", "beta", "inexact"}, {"bias", "dbias", "activation", "dgelu"}, {"bias", "dbias", "matrices", "groups"}, {"bias", "dbias", "matrices", "masked"}, {"aux", "written", "batch of aux", "beside"}, {"aux", "written", "gate", "stacked"}, {"aux", "written", "gate", "interleaved"}, {"bias", "m", "biases", "each"},
        {"matrices", "groups", "aux", "written"}, {"acc", "f16", "gate", "stacked"}, {"batch of D", "beside", "batch of aux", "beside"}, {"empty", "K", "beta", "1"},
        {"empty", "M", "bias", "dbias"}, {"matrices", "tiny", "gate", "interleaved"}, {"in", "bf16", "matrices", "along K"}, {"residual", "behind", "activation", "dsilu"},
        {"bits of rows", "invariant", "matrices", "masked"}, {"bits of rows", "invariant", "acc", "f16"}, {"bits of rows", "invariant", "found by", "pointers"},
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        const int f = feature_of(alone[i][0]), g = feature_of(alone[i][2]);
        int v = 0, w = 0;
        while (strcmp(gs_feature_value(f, v), alone[i][1]) != 0) v++;
        while (strcmp(gs_feature_value(g, w), alone[i][3]) != 0) w++;
        if (pair[f][v][g][w] < 5) fail_msg("%s=%s with %s=%s: %d", alone[i][0], alone[i][1], alone[i][2], alone[i][3], pair[f][v][g][w]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(valid_and_repeated), cmocka_unit_test(values_are_those_of_the_problem), cmocka_unit_test(every_value_and_pair_is_drawn)};
    return cmocka_run_group_tests_name("random/combine", tests, NULL, NULL);
}

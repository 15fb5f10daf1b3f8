/* SPDX-License-Identifier: MIT
 * The ranker of cuBLASLt's suggestions: it learns what was planted, and what it does not know it leaves as it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "leaks.h"
#include "learn/ranker.h"
#include "networks.h"

enum { GROUPS = 150, HELD_OUT = 50, EACH = 6, TIMES = (GROUPS + HELD_OUT) * EACH };

static const gs_problem *plain(void)
{
    static gs_problem problem;
    problem = problem_of("f16:500x520x528:tn");
    return &problem;
}

/* A kernel that any problem may have, the cost of which follows from what a network sees of it. */
static gs_suggestion at_random(gs_random *random)
{
    static const uint8_t ids[] = {66, 24, 23}, tiles[] = {15, 20, 23, 24, 10};
    return (gs_suggestion){.id = ids[gs_random_below(random, 3)], .tile = tiles[gs_random_below(random, 5)], .stages = 35, .splitk = 1 + (uint32_t)gs_random_below(random, 3),
                           .cluster = 2 + (uint32_t)gs_random_below(random, 6), .custom = (uint32_t)gs_random_below(random, 4), .waves = 1, .can_choose = true};
}

static double planted_us(const gs_suggestion *s) { return 10 * (1 + 0.3 * (s->custom == 3) + 0.2 * (s->splitk > 1) + 0.25 * (s->id == 24)); }

static void it_learns_what_is_planted(void **state)
{
    (void)state;
    static gs_suggestion_time times[TIMES];
    gs_random random = {7};
    gs_ranker ranker, again;
    for (int i = 0; i < TIMES; i++) {
        times[i] = (gs_suggestion_time){.suggestion = at_random(&random), .place = i % EACH, .group = i / EACH};
        if (i % EACH) times[i].problem = times[i - 1].problem;
        else times[i].problem = gs_problem_make(GS_BF16, i / EACH % 2 ? GS_TN : GS_NN, 1 + (int64_t)gs_random_below(&random, 4096), 8 + (int64_t)gs_random_below(&random, 8192), 64 * (1 + (int64_t)gs_random_below(&random, 64)));
        times[i].us = planted_us(&times[i].suggestion);
    }
    const gs_suggestion_time *const held_out = times + GROUPS * EACH;
    assert_int_equal(gs_ranker_create(&ranker, 1, NULL), GS_OK);
    const gs_ranker_worth before = gs_ranker_judge(&ranker, held_out, HELD_OUT * EACH, h200());
    assert_int_equal(before.groups, HELD_OUT);
    assert_true(before.chosen == before.first && before.first < 0.88 && before.first_fine < 0.5);   /* an untrained network says 0 of all */
    assert_int_equal(gs_ranker_train(&ranker, times, GROUPS * EACH, h200(), 30, 1, NULL), GS_OK);
    const gs_ranker_worth after = gs_ranker_judge(&ranker, held_out, HELD_OUT * EACH, h200());
    assert_true(after.first == before.first && after.first_fine == before.first_fine);
    if (after.chosen < 0.985 || after.chosen_fine < 0.9) fail_msg("%.4f of the fastest, %.3f", after.chosen, after.chosen_fine);
    /* the same seed and times, the same numbers */
    assert_int_equal(gs_ranker_create(&again, 1, NULL), GS_OK);
    assert_int_equal(gs_ranker_train(&again, times, GROUPS * EACH, h200(), 30, 1, NULL), GS_OK);
    for (int i = 0; i < GS_RANKER_NETS; i++) assert_memory_equal(ranker.net[i].weights, again.net[i].weights, (size_t)ranker.net[i].count * sizeof(float));
    gs_ranker_free(&again);
    gs_ranker_free(&ranker);
    assert_int_equal(ranker.nets, 0);
}

/* All networks say that a suggestion takes `more` (log) longer for each unit of one of its numbers. */
static void plant(gs_ranker *ranker, int number, float more)
{
    for (int i = 0; i < ranker->nets; i++) {
        gs_net *const net = &ranker->net[i];   /* hidden 0 -> 0 -> out */
        memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
        net->weights[(GS_PROBLEM_FEATURES + number) * GS_HIDDEN] = more;
        net->weights[(net->width[0] + 1) * GS_HIDDEN] = 1;
        net->weights[net->count - 1 - GS_HIDDEN] = 1;
    }
}

enum { FIRST_NUMBER = 0 };   /* 1 of the first suggestion */

/* Times are judged by the places of their suggestions, in whichever order they come; some have none. */
static void times_are_judged_by_place(void **state)
{
    (void)state;
    static const gs_suggestion s = {.id = 66, .can_choose = true};
    const gs_problem p = *plain();
    const gs_suggestion_time all[] = {{p, s, 3, 10, 0}, {p, s, 0, 20, 0}, {p, s, 5, 40, 0}};
    gs_ranker ranker;
    assert_int_equal(gs_ranker_create(&ranker, 1, NULL), GS_OK);
    plant(&ranker, FIRST_NUMBER, 1);   /* any other one, so the next place */
    const gs_ranker_worth worth = gs_ranker_judge(&ranker, all, 3, h200()), without_first = gs_ranker_judge(&ranker, all + 2, 1, h200());
    assert_true(worth.groups == 1 && fabs(worth.first - 0.5) < 1e-9 && worth.chosen == 1 && worth.chosen_fine == 1 && worth.first_fine == 0);
    assert_int_equal(without_first.groups, 0);   /* a single time */
    const gs_suggestion_time later[] = {{p, s, 2, 10, 0}, {p, s, 1, 40, 0}};
    const gs_ranker_worth rest = gs_ranker_judge(&ranker, later, 2, h200());
    assert_true(fabs(rest.first - 0.25) < 1e-9 && fabs(rest.chosen - 0.25) < 1e-9);
    gs_ranker_free(&ranker);
}

static void the_first_one_gives_way(void **state)
{
    (void)state;
    gs_ranker ranker;
    gs_suggestion list[] = {{.id = 66, .can_choose = true}, {.id = 24, .can_choose = true}, {.id = 66, .can_choose = true}};
    gs_suggestion none[] = {{.id = 66}, {.id = 24}};
    const gs_ranker nothing = {.nets = 0};
    assert_int_equal(gs_ranker_create(&ranker, 1, NULL), GS_OK);
    assert_int_equal(gs_ranker_choose(&nothing, plain(), h200(), list, 3), 0);
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 3), 0);
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), none, 2), -1);
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 0), -1);
    plant(&ranker, FIRST_NUMBER, 0.009f);   /* not by so little */
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 3), 0);
    plant(&ranker, FIRST_NUMBER, 0.011f);
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 3), 1);
    list[1].id = 7;   /* an algorithm without times */
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 3), 2);
    list[2].can_choose = false;
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 3), 0);
    list[0].can_choose = false;
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 3), 1);   /* the only one */
    assert_int_equal(gs_ranker_choose(&nothing, plain(), h200(), list, 3), 1);
    gs_ranker_free(&ranker);
}

static void a_product_alone_does_not_stand_for_a_fused_one(void **state)
{
    (void)state;
    gs_ranker ranker;
    gs_suggestion list[] = {{.id = 66, .can_choose = true}, {.id = 66, .can_choose = true, .apart = true}};
    assert_int_equal(gs_ranker_create(&ranker, 1, NULL), GS_OK);
    plant(&ranker, FIRST_NUMBER, 0.2f);
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 2), 0);
    list[0].apart = true;
    assert_int_equal(gs_ranker_choose(&ranker, plain(), h200(), list, 2), 1);
    gs_ranker_free(&ranker);
}

static void of_other_problems_it_says_nothing(void **state)
{
    (void)state;
    static const struct { const char *problem; int chosen; } cases[] = {
        {"bf16:500x520x528:nn", 1}, {"f16:500x520x528:tn:beta=1", 1}, {"f16:500x520x528:tn:ep=bias+gelu", 1}, {"f16:500x520x528:tn:b=2", 0}, {"f16:500x520x528:tn:acc=f16", 0},
        {"f16:500x520x528:tn:d=f32", 0}, {"f16:500x520x528:nt", 0}, {"f16:500x520x528:tt", 0}, {"f16:500x520x528:tn:ep=silu+gate", 0}, {"f16:500x520x528:tn:g=4", 0},
    };
    const gs_suggestion list[] = {{.id = 66, .can_choose = true}, {.id = 24, .can_choose = true}};
    gs_ranker ranker;
    assert_int_equal(gs_ranker_create(&ranker, 1, NULL), GS_OK);
    plant(&ranker, FIRST_NUMBER, 0.2f);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        if (gs_ranker_choose(&ranker, &problem, h200(), list, 2) != cases[i].chosen) fail_msg("%s", cases[i].problem);
    }
    gs_ranker_free(&ranker);
}

static void tiles_have_their_sizes(void **state)
{
    (void)state;
    static const struct { uint32_t tile; int rows, cols; } known[] = {
        {1, 8, 8}, {2, 8, 16}, {3, 16, 8}, {15, 64, 64}, {20, 128, 128}, {23, 128, 256}, {24, 256, 128}, {29, 128, 160}, {312, 64, 16}, {393, 128, 8}, {502, 256, 160}, {634, 512, 1024},
    };
    int rows, cols;
    for (size_t i = 0; i < GS_COUNT(known); i++) {
        assert_true(gs_suggestion_tile(known[i].tile, &rows, &cols));
        if (rows != known[i].rows || cols != known[i].cols) fail_msg("tile %u: %d x %d", known[i].tile, rows, cols);
    }
    /* no two have the same size, and all are made of 8 x 8 */
    bool seen[128][256] = {{false}};
    for (uint32_t tile = 1; tile <= 634; tile++) {
        assert_true(gs_suggestion_tile(tile, &rows, &cols));
        assert_true(rows > 0 && cols > 0 && rows < 1024 && cols < 2048);
        if (rows % 8 || cols % 8 || seen[rows / 8][cols / 8]) fail_msg("tile %u: %d x %d", tile, rows, cols);
        seen[rows / 8][cols / 8] = true;
    }
    assert_false(gs_suggestion_tile(0, &rows, &cols));
    assert_false(gs_suggestion_tile(635, &rows, &cols));
}

/* ---- what a network sees ---- */

enum { SEEN = GS_PROBLEM_FEATURES + GS_SUGGESTION_FEATURES };

/* Networks whose result is input `at` of a suggestion; that of the first one is larger by `first`. */
static void probe(gs_ranker *ranker, int at, float first)
{
    for (int i = 0; i < ranker->nets; i++) {
        gs_net *const net = &ranker->net[i];
        float *const one = net->weights, *const two = one + (SEEN + 1) * GS_HIDDEN, *const three = two + (GS_HIDDEN + 1) * GS_HIDDEN;
        memset(net->weights, 0, (size_t)net->count * sizeof *net->weights);
        one[at * GS_HIDDEN] = 1;                            /* what is more than 0, */
        one[at * GS_HIDDEN + 1] = -1;                       /* and what is less */
        one[GS_PROBLEM_FEATURES * GS_HIDDEN + 2] = first;   /* of the input that is 1 at the first place alone */
        one[GS_PROBLEM_FEATURES * GS_HIDDEN + 3] = -first;
        for (int j = 0; j < 4; j++) two[j * GS_HIDDEN + j] = 1;
        three[0] = three[2] = 1;
        three[1] = three[3] = -1;
    }
}

/* Input `at` of a suggestion at that place, less that of an empty suggestion at the first place. */
static double seen(gs_ranker *ranker, const gs_problem *problem, const gs_suggestion *suggestion, int place, int at)
{
    gs_suggestion list[10] = {{.can_choose = true}};
    double low = -8, high = 8;
    list[place] = *suggestion;
    for (int i = 0; i < 24; i++) {
        const double middle = (low + high) / 2;
        probe(ranker, at, (float)middle);
        if (gs_ranker_choose(ranker, problem, h200(), list, place + 1) == place) high = middle;
        else low = middle;
    }
    return high - 0.01;   /* so much better it must be */
}

static void a_suggestion_is_seen_as_it_was_in_training(void **state)
{
    (void)state;
    static const struct { const char *problem; gs_suggestion suggestion; int place; float x[GS_SUGGESTION_FEATURES]; } cases[] = {
        {"f16:500x520x528:tn", {.id = 66, .tile = 20, .stages = 35, .splitk = 3, .reduction = 2, .cluster = 4, .custom = 3, .waves = 1.25f, .workspace = 1 << 20, .can_choose = true}, 1, {
            -1, 0.125f, 0.04024f, 0.625f, 0.19812f, 1, 1, 1.0938f, 1, 0.625f, 0.08476f, 1, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0,
            0, 0, 0, 1, 0, 1, 0.875f, 0.875f, 1.75f, 0.73836f, 0.45455f, 0.97656f, 0.8125f, 0.93243f, 0.18391f, 0, 0, 0, 0}},
        {"bf16:4096x1000x8192:nn", {.id = 11, .tile = 24, .stages = 20, .splitk = 1, .reduction = 4, .cluster = 9, .custom = 7, .waves = 0.75f, .can_choose = true}, 5, {
            -1, 0.625f, -0.05188f, 0.75f, 0, 0, 0, 0.625f, 0, 0, 0.05188f, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0,
            1, 1, 0.875f, 1, 1.875f, 0.875f, 0.9697f, 1, 0.97656f, 1.625f, 0.00983f, 0, 0, 0, 0}},
        {"f16:64x64x64:tn", {.id = 24, .stages = 5, .cluster = 0, .custom = 0, .reduction = 1, .can_choose = true}, 9, {
            -1, 1.125f, 0, 0, 0, 0, 0, 0.15625f, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0}},
    };
    gs_ranker ranker;
    assert_int_equal(gs_ranker_create(&ranker, 1, NULL), GS_OK);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].problem);
        for (int k = 0; k < GS_SUGGESTION_FEATURES; k++) {
            const double x = seen(&ranker, &problem, &cases[i].suggestion, cases[i].place, GS_PROBLEM_FEATURES + k);
            if (fabs(x - (double)cases[i].x[k]) > 1e-4) fail_msg("%zu, %d: %.5f", i, k, x);
        }
    }
    gs_ranker_free(&ranker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_what_is_planted), cmocka_unit_test(times_are_judged_by_place), cmocka_unit_test(the_first_one_gives_way), cmocka_unit_test(a_product_alone_does_not_stand_for_a_fused_one),
        cmocka_unit_test(of_other_problems_it_says_nothing), cmocka_unit_test(tiles_have_their_sizes), cmocka_unit_test(a_suggestion_is_seen_as_it_was_in_training),
    };
    return run_without_leaks("learn/ranker", tests, GS_COUNT(tests));
}

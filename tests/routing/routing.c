/* SPDX-License-Identifier: MIT
 * Offsets and counts: the properties of each way to draw them, over many seeds; reading them back, and what is refused; and the rows of a group. The edges of each draw,
 * and groups along K, are tested in verify/groups.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "problem/layout.h"
#include "routing/routing.h"
#include "texts.h"
#include "emu_group.h"

enum { SEEDS = 400, MOST = 65 };

static void names(void **state)
{
    (void)state;
    static const struct { const char *name; bool known; gs_routing routing; } cases[] = {
        {"random", true, GS_ROUTING_EVEN}, {"skewed", true, GS_ROUTING_SKEWED}, {"", false, GS_ROUTING_EVEN}, {"even", false, GS_ROUTING_EVEN}, {"skewed ", false, GS_ROUTING_EVEN}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_routing routing = GS_ROUTING_NONE;
        assert_int_equal(gs_routing_parse(cases[i].name, &routing), cases[i].known);
        if (cases[i].known) assert_int_equal(routing, cases[i].routing);
        if (cases[i].known) assert_string_equal(gs_routing_name(routing), cases[i].name);
    }
}

/* ---- draws ---- */

/* How many of 24 rows belong to a group: usually all but one, otherwise from half to all of them. */
static void short_draws(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:24x8x8:tn:g=3");
    int32_t offsets[MOST];
    int count[25] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gs_offsets_draw(&p, GS_ROUTING_SHORT, seed, offsets);
        count[offsets[3]]++;
    }
    for (int rows = 0; rows < 12; rows++) assert_int_equal(count[rows], 0);
    for (int rows = 12; rows <= 24; rows++) assert_true(rows == 23 ? count[rows] > SEEDS * 6 / 10 && count[rows] < SEEDS * 9 / 10 : count[rows] > 0 && count[rows] < SEEDS / 10);
}

/* In half of the draws every masked group is full. */
static void full_draws(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:96x8x8:tn:gm=4");
    int32_t counts[MOST];
    int full = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gs_offsets_draw(&p, GS_ROUTING_SHORT, seed, counts);
        full += gs_rows_used(&p, counts) == p.m;
    }
    assert_in_range(full, SEEDS * 4 / 10, SEEDS * 6 / 10);
}

static void few_draws(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:96x8x8:tn:g=4"), one = problem_of("f16:2x8x8:tn:g=4");
    int32_t offsets[MOST];
    int count[4] = {0}, of_group[4] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gs_offsets_draw(&p, GS_ROUTING_FEW, seed, offsets);
        assert_in_range(offsets[4], 1, 3);
        count[offsets[4]]++;
        for (int i = 0; i < 4; i++) of_group[i] += offsets[i + 1] - offsets[i];
        gs_offsets_draw(&one, GS_ROUTING_FEW, seed, offsets);
        assert_in_range(offsets[4], 1, 2);   /* there are only two */
    }
    for (int i = 1; i <= 3; i++) assert_in_range(count[i], SEEDS / 4, SEEDS / 2);
    for (int i = 0; i < 4; i++) assert_in_range(of_group[i], SEEDS * 2 / 5, SEEDS * 3 / 5);
}

/* Even: each group is equally likely. Skewed: half of the rows go to the first eighth of the groups. */
static void even_and_skewed_draws(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:8000x8x8:tn:g=64");
    int32_t even[MOST], skewed[MOST];
    gs_offsets_draw(&p, GS_ROUTING_EVEN, 5, even);
    gs_offsets_draw(&p, GS_ROUTING_SKEWED, 5, skewed);
    for (int i = 0; i < 64; i++) assert_in_range(even[i + 1] - even[i], 80, 180);   /* 125 on average */
    assert_in_range(skewed[8], 3800, 4200);
    assert_in_range(skewed[1], 1850, 2150);   /* a quarter of the rows, approximately */
    assert_true(skewed[64] - skewed[63] < 80);
    int32_t other[MOST];
    gs_offsets_draw(&p, GS_ROUTING_EVEN, 6, other);
    assert_memory_not_equal(even, other, sizeof even);   /* different seeds give different offsets, the same seed the same */
    gs_offsets_draw(&p, GS_ROUTING_EVEN, 5, other);
    assert_memory_equal(even, other, sizeof even);
}

/* Groups begin at multiples of 8. In every draw one group in the middle is empty, which one depends on the seed; about half of all groups are empty. */
static void sparse_draws(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:4096x8x8:tn:g=5");
    for (int behind = 0; behind < 2; behind++) {
        int32_t offsets[MOST];
        int empty[5] = {0}, all = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            int here = 0;
            gs_offsets_draw(&p, behind ? GS_ROUTING_BEHIND : GS_ROUTING_SPARSE, seed, offsets);
            assert_int_equal(offsets[5], 4096);
            for (int i = 0; i < 5; i++) {
                assert_int_equal(offsets[i] % 8, 0);
                const bool none = offsets[i] == offsets[i + 1];
                empty[i] += none;
                here += none && i > 0 && i < 4;
            }
            assert_true(here > 0);
            all += here;
        }
        assert_true(behind ? empty[0] == SEEDS : empty[0] > SEEDS * 4 / 10 && empty[0] < SEEDS * 6 / 10);
        for (int i = 1; i < 4; i++) assert_in_range(empty[i], SEEDS * 4 / 10, SEEDS * 8 / 10);
        assert_true(empty[4] < SEEDS * 6 / 10);
        assert_in_range(all, SEEDS * 3 / 2, SEEDS * 9 / 4);
    }
}

/* Of two groups the first is empty; a single group has all rows. */
static void sparse_draws_of_few_groups(void **state)
{
    (void)state;
    const gs_problem two = problem_of("f16:64x8x8:tn:g=2"), one = problem_of("f16:64x8x8:tn:g=1");
    for (uint64_t seed = 0; seed < 50; seed++)
        for (int routing = GS_ROUTING_SPARSE; routing <= GS_ROUTING_BEHIND; routing++) {
            int32_t offsets[MOST];
            gs_offsets_draw(&two, (gs_routing)routing, seed, offsets);
            assert_true(offsets[1] == 0 && offsets[2] == 64);
            gs_offsets_draw(&one, (gs_routing)routing, seed, offsets);
            assert_int_equal(offsets[1], 64);
        }
}

/* Tokens: 1, 2, 4 or 8 rows for each group, as long as there are rows. Equal: the remainder belongs to no group; if there are too few rows, the first groups get one each. */
static void equal_draws(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:50x8x8:tn:g=8"), few = problem_of("f16:5x8x8:tn:g=8");
    int32_t offsets[MOST];
    int count[9] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        gs_offsets_draw(&p, GS_ROUTING_TOKENS, seed, offsets);
        const int each = offsets[1];
        assert_true(each == 1 || each == 2 || each == 4 || each == 8);
        for (int i = 0; i <= 8; i++) assert_int_equal(offsets[i], GS_MIN(each * i, 50));
        count[each]++;
    }
    for (int each = 1; each <= 8; each *= 2) assert_in_range(count[each], SEEDS / 6, SEEDS / 3);
    gs_offsets_draw(&p, GS_ROUTING_EQUAL, 0, offsets);
    for (int i = 0; i <= 8; i++) assert_int_equal(offsets[i], 6 * i);
    gs_offsets_draw(&few, GS_ROUTING_EQUAL, 0, offsets);
    for (int i = 0; i <= 8; i++) assert_int_equal(offsets[i], GS_MIN(i, 5));
}

/* Masked: all groups have 1 or 2 rows, or 4, or a multiple of 8, except that in the latter two cases one group has one to three rows. */
static void masked_tokens(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:240x8x8:tn:gm=6"), narrow = problem_of("f16:12x8x8:tn:gm=6");
    int draws[4] = {0}, of[41] = {0}, where[6] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int32_t counts[MOST];
        int most = 0, odd = 0, eights = 0, at = 0;
        gs_offsets_draw(&p, GS_ROUTING_TOKENS, seed, counts);
        for (int i = 0; i < 6; i++) {
            assert_in_range(counts[i], 0, 40);
            most = GS_MAX(most, counts[i]);
            eights += counts[i] % 8 == 0;
            if (counts[i] >= 1 && counts[i] <= 3) odd++, at = i;
        }
        if (eights >= 5) {
            assert_true(odd == 1 && eights == 5);
            draws[3]++;
            for (int i = 0; i < 6; i++) of[counts[i]]++;
            where[at]++;
        } else if (most == 4) {
            assert_int_equal(odd, 1);
            draws[2]++;
            for (int i = 0; i < 6; i++) assert_true(i == at || counts[i] == 4);
        } else {
            assert_true(odd == 6 && (most == 1 || most == 2));
            for (int i = 0; i < 6; i++) assert_int_equal(counts[i], most);
            draws[most - 1]++;
        }
        gs_offsets_draw(&narrow, GS_ROUTING_TOKENS, seed, counts);
        for (int i = 0; i < 6; i++) assert_in_range(counts[i], 0, 2);   /* the capacity of each group */
    }
    for (int i = 0; i < 4; i++) assert_in_range(draws[i], SEEDS / 6, SEEDS / 3);
    for (int i = 0; i <= 40; i += i < 3 ? 1 : i == 3 ? 5 : 8) assert_true(of[i] > 0);   /* 0 to 3, and multiples of 8 up to the capacity */
    for (int i = 0; i < 6; i++) assert_true(where[i] > 0);
}

/* ---- to the device and back ---- */

typedef struct read_case {
    const char *problem;
    int32_t     offsets[4];
    const char *wrong;   /* NULL: accepted */
} read_case;

static void what_is_read_back(void **state)
{
    (void)state;
    static const read_case cases[] = {
        {"f16:20x8x8:tn:g=3", {0, 5, 5, 20}, NULL},
        {"f16:20x8x8:tn:g=3", {0, 0, 0, 0}, NULL},
        {"f16:20x8x8:tn:g=3", {0, 5, 5, 21}, "must ascend from 0 to at most M, 20"},
        {"f16:20x8x8:tn:g=3", {1, 5, 5, 20}, "must ascend from 0 to at most M, 20"},
        {"f16:20x8x8:tn:g=3", {0, 6, 5, 20}, "must ascend from 0 to at most M, 20"},
        {"f16:20x8x8:tn:g=3", {0, 5, 6, 5}, "must ascend from 0 to at most M, 20"},
        {"f16:20x8x8:tn:g=3", {0, -1, 6, 9}, "must ascend from 0 to at most M, 20"},
        {"f16:20x8x9:nt:gk=3", {0, 5, 5, 9}, NULL},
        {"f16:20x8x9:nt:gk=3", {0, 5, 5, 10}, "must ascend from 0 to at most K, 9"},
        {"f16:21x8x8:tn:gm=3", {7, 0, 7, -1}, NULL},   /* there is no fourth group */
        {"f16:21x8x8:tn:gm=3", {7, 8, 7, 0}, "counts of masked groups must be from 0 to their rows, 7"},
        {"f16:21x8x8:tn:gm=3", {7, 0, -1, 0}, "counts of masked groups must be from 0 to their rows, 7"},
    };
    gs_error error = {0};
    gs_pointer at;
    OK(device->ops->alloc(device, 256, &at, &error));
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        int32_t *read = NULL;
        OK(device->ops->copy_in(device, at, cases[i].offsets, sizeof cases[i].offsets, &error));
        const gs_status status = gs_offsets_get(device, &p, at, &read, &error);
        if (status != (cases[i].wrong ? GS_ERROR_CORRUPT : GS_OK)) fail_msg("case %d: %d", (int)i, (int)status);
        if (status == GS_OK) {
            assert_memory_equal(read, cases[i].offsets, gs_problem_bytes(&p, 'f'));
            free(read);
        } else {
            assert_string_equal(error.field, "offsets");
            assert_mentions(&error, cases[i].wrong);
        }
    }
    device->ops->free(device, at);
}

static void what_is_put(void **state)
{
    (void)state;
    const gs_problem p = problem_of("f16:100x8x8:tn:g=7"), plain = problem_of("f16:100x8x8:tn");
    int32_t drawn[8], *read;
    gs_error error = {0};
    gs_pointer at;
    OK(gs_offsets_put(device, &plain, GS_ROUTING_EVEN, 1, 0, &error));   /* a problem without groups: nothing is written */
    OK(device->ops->alloc(device, 256, &at, &error));
    OK(gs_offsets_put(device, &p, GS_ROUTING_SKEWED, 9, at, &error));
    gs_offsets_draw(&p, GS_ROUTING_SKEWED, 9, drawn);
    OK(gs_offsets_get(device, &p, at, &read, &error));
    assert_memory_equal(read, drawn, sizeof drawn);
    free(read);
    device->ops->free(device, at);
    assert_int_not_equal(gs_offsets_put(device, &p, GS_ROUTING_SKEWED, 9, at, &error), GS_OK);
    assert_int_not_equal(gs_offsets_get(device, &p, at, &read, &error), GS_OK);
}

/* ---- rows of groups ---- */

static void rows_of_groups(void **state)
{
    (void)state;
    const gs_problem sorted = problem_of("f16:20x8x8:tn:g=3"), masked = problem_of("f16:21x8x8:tn:gm=3"), along = problem_of("f16:20x8x9:nt:gk=3"), plain = problem_of("f16:20x8x9:tn:b=2");
    static const int32_t offsets[4] = {0, 5, 5, 17}, counts[3] = {7, 0, 4}, terms[4] = {0, 4, 4, 9};
    static const gs_group_rows of_sorted[3] = {{0, 5, 0}, {5, 0, 0}, {5, 12, 3}}, of_masked[3] = {{0, 7, 0}, {7, 0, 7}, {14, 4, 3}}, of_k[3] = {{0, 20, 0}, {20, 20, 0}, {40, 20, 0}};
    for (int i = 0; i < 3; i++) {
        const gs_group_rows a = gs_rows_of_group(&sorted, offsets, i), b = gs_rows_of_group(&masked, counts, i), c = gs_rows_of_group(&along, terms, i);
        assert_memory_equal(&a, &of_sorted[i], sizeof a);
        assert_memory_equal(&b, &of_masked[i], sizeof b);
        assert_memory_equal(&c, &of_k[i], sizeof c);
        const gs_group_terms some = gs_terms_of_group(&along, terms, i), all = gs_terms_of_group(&sorted, offsets, i), none = gs_terms_of_group(&along, NULL, i);
        assert_true(some.first == terms[i] && some.count == terms[i + 1] - terms[i]);
        assert_true(all.first == 0 && all.count == 8 && none.first == 0 && none.count == 9);
    }
    assert_int_equal(gs_rows_used(&sorted, offsets), 17);
    assert_int_equal(gs_rows_used(&masked, counts), 11);
    assert_int_equal(gs_rows_used(&along, terms), 60);
    assert_int_equal(gs_rows_used(&plain, NULL), 40);
    assert_int_equal(gs_row_used(&masked, counts, 6), 6);
    assert_int_equal(gs_row_used(&masked, counts, 7), 14);   /* the group between has no rows */
    assert_int_equal(gs_row_used(&masked, counts, 10), 17);
    assert_int_equal(gs_row_used(&sorted, offsets, 9), 9);
    assert_int_equal(gs_row_used(&plain, NULL, 9), 9);
    assert_int_equal(gs_group_of_row(&sorted, offsets, 4), 0);
    assert_int_equal(gs_group_of_row(&sorted, offsets, 5), 2);   /* the group between is empty */
    assert_int_equal(gs_group_of_row(&along, terms, 39), 1);
    assert_int_equal(gs_group_of_row(&masked, counts, 14), 2);
}

static void rows_that_are_written(void **state)
{
    (void)state;
    static const struct { const char *problem; int32_t end; int64_t rows; } cases[] = {
        {"f16:20x8x8:tn:g=3", 17, 17}, {"f16:20x8x8:tn:g=3", 20, 20}, {"f16:20x8x8:tn:g=3", 0, 0}, {"f16:20x8x8:tn:g=3", 21, 20}, {"f16:20x8x8:tn:g=3", -1, 0},
        {"f16:21x8x8:tn:gm=3", 1, 21}, {"f16:20x8x9:nt:gk=3", 1, 60}, {"f16:20x8x9:tn:b=4", 1, 80}};
    gs_error error = {0};
    gs_pointer at;
    OK(device->ops->alloc(device, 256, &at, &error));
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        const int32_t offsets[4] = {0, 0, 0, cases[i].end};
        int64_t rows = -1;
        OK(device->ops->copy_in(device, at, offsets, sizeof offsets, &error));
        OK(gs_rows_written(device, &p, at, &rows, &error));
        if (rows != cases[i].rows) fail_msg("%s, to %d: %d rows", cases[i].problem, (int)cases[i].end, (int)rows);
    }
    device->ops->free(device, at);
    int64_t rows;
    const gs_problem p = problem_of(cases[0].problem);
    assert_int_not_equal(gs_rows_written(device, &p, at, &rows, &error), GS_OK);
}

static void rows_of_a_sum(void **state)
{
    (void)state;
    static const int32_t offsets[4] = {0, 5, 5, 17};
    static const struct { const char *problem; int64_t vector, first, rows; } cases[] = {
        {"f16:20x8x8:nn:ep=dbias", 0, 0, 20}, {"f16:20x8x8:nn:b=3:ep=dbias", 0, 0, 60}, {"f16:20x8x8:nn:b=3:se=8:ep=dbias", 0, 0, 20}, {"f16:20x8x8:nn:b=3:se=8:ep=dbias", 2, 40, 20},
        {"f16:20x8x8:nn:g=3:ep=dbias", 0, 0, 5}, {"f16:20x8x8:nn:g=3:ep=dbias", 1, 5, 0}, {"f16:20x8x8:nn:g=3:ep=dbias", 2, 5, 12}};
    gs_error error = {0};
    gs_pointer at;
    OK(device->ops->alloc(device, 256, &at, &error));
    OK(device->ops->copy_in(device, at, offsets, sizeof offsets, &error));
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem p = problem_of(cases[i].problem);
        gs_group_rows rows;
        OK(gs_rows_of_sum(device, &p, p.groups ? at : 0, cases[i].vector, &rows, &error));
        if (rows.first != cases[i].first || rows.rows != cases[i].rows) fail_msg("%s, %d: %d rows from %d on", cases[i].problem, (int)cases[i].vector, (int)rows.rows, (int)rows.first);
    }
    device->ops->free(device, at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names), cmocka_unit_test(short_draws), cmocka_unit_test(full_draws), cmocka_unit_test(few_draws), cmocka_unit_test(even_and_skewed_draws),
        cmocka_unit_test(sparse_draws), cmocka_unit_test(sparse_draws_of_few_groups), cmocka_unit_test(equal_draws), cmocka_unit_test(masked_tokens),
        cmocka_unit_test(what_is_read_back), cmocka_unit_test(what_is_put), cmocka_unit_test(rows_of_groups), cmocka_unit_test(rows_that_are_written),
        cmocka_unit_test(rows_of_a_sum)};
    return cmocka_run_group_tests_name("routing", tests, open_group, close_group);
}

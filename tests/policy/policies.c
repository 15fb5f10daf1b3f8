/* SPDX-License-Identifier: MIT
 * The policies, without a tuner: what each proposes, in which order, nothing twice and nothing that cannot run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "learn/weights.h"
#include "texts.h"
#include "tune/tune.h"

#define PROBLEM "f16:1024x1024x1024:tn"

/* ---- enumerate, spread ---- */

static int by_bytes(const void *left, const void *right) { return memcmp(left, right, sizeof(gs_schedule)); }

static void enumerate_proposes_every_valid_schedule_once(void **state)
{
    (void)state;
    enum { MOST = 500000 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_policy policy;
    assert_int_equal(gs_policy_create(&policy, "enumerate", 1, NULL), GS_OK);
    gs_schedule *const list = calloc(MOST, sizeof *list);
    assert_non_null(list);
    int count = 0, valid = 0;
    for (int got; (got = policy.propose(&policy, &problem, gs_caps_find("h200"), list + count, GS_MIN(48, MOST - count))) > 0;)
        count += got;
    for (int family = 0; family < GS_FAMILIES; family++) {
        gs_schedule schedule = gs_schedule_first((gs_family_id)family);
        do valid += gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL) == GS_OK;
        while (gs_schedule_next(&schedule));
    }
    assert_int_equal(count, valid);
    for (int i = 0; i < count; i++) assert_int_equal(gs_schedule_check(&list[i], &problem, gs_caps_find("h200"), NULL), GS_OK);
    for (int i = 49; i + 1 < count; i++)
        assert_true(gs_schedule_predict(&list[i], &problem, gs_caps_find("h200")) <=
                    gs_schedule_predict(&list[i + 1], &problem, gs_caps_find("h200")));
    qsort(list, (size_t)count, sizeof *list, by_bytes);
    for (int i = 0; i + 1 < count; i++) assert_true(memcmp(&list[i], &list[i + 1], sizeof *list) != 0);
    free(list);
    policy.destroy(&policy);
}

static void spread_asks_every_family(void **state)
{
    (void)state;
    enum { MOST = 16 };
    const gs_caps *const caps = gs_caps_find("h200");
    const gs_problem problem = problem_of(PROBLEM);
    gs_policy policy;
    gs_schedule list[MOST], first, again[MOST];
    assert_int_equal(gs_policy_create(&policy, "spread", 1, NULL), GS_OK);
    assert_int_equal(policy.propose(&policy, &problem, caps, list, MOST), MOST);
    double best = 1e30;
    for (int i = 0; i < MOST; i++) best = GS_MIN(best, gs_schedule_predict(&list[i], &problem, caps));
    int there[GS_FAMILIES] = {0};
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(gs_schedule_check(&list[i], &problem, caps, NULL), GS_OK);
        there[list[i].family]++;
        for (int j = 0; j < i; j++) assert_true(memcmp(&list[i], &list[j], sizeof list[i]) != 0);
    }
    int asked = 0;
    for (int family = 0; family < GS_FAMILIES; family++) {
        if (gs_schedule_shortlist(&problem, caps, 1u << family, &first, 1) == 0) continue;
        const bool near = gs_schedule_predict(&first, &problem, caps) <= 4 * best;
        assert_true(near ? there[family] >= 1 : there[family] == 0);
        asked += near;
    }
    assert_true(asked >= 2);

    /* the two that slicek is granted differ in more than whether sizes are compiled in */
    gs_schedule small[8];
    const gs_problem narrow = problem_of("f16:64x4096x64:tn");
    policy.families = 1u << GS_FAMILY_SLICEK;
    assert_int_equal(policy.propose(&policy, &narrow, caps, small, 8), 8);
    bool differ = false;
    for (int slot = 0; slot < gs_family_parameters(GS_FAMILY_SLICEK); slot++)
        differ |= small[0].value[slot] != small[1].value[slot] && strcmp(gs_family_parameter(GS_FAMILY_SLICEK, slot)->name, "sizes") != 0;
    assert_true(differ);
    policy.families = 0;
    assert_int_equal(policy.propose(&policy, &problem, caps, list, MOST), MOST);

    /* no schedule twice, families as they were asked for, and then no more */
    int count = MOST;
    for (int got; (got = policy.propose(&policy, &problem, caps, again, MOST)) > 0; count += got)
        for (int i = 0; i < got; i++)
            for (int j = 0; j < MOST; j++) assert_true(memcmp(&again[i], &list[j], sizeof list[j]) != 0);
    assert_true(count > MOST && count <= GS_FAMILIES * MOST);
    policy.families = 1u << GS_FAMILY_MMA;
    assert_int_equal(policy.propose(&policy, &problem, caps, list, 4), 4);
    for (int i = 0; i < 4; i++) assert_int_equal(list[i].family, GS_FAMILY_MMA);
    policy.destroy(&policy);
}

/* ---- refine ---- */

enum { ROOM = 512 };

/* Those of the family ws that the model takes for the fastest, in the opposite order. */
static void slowest_first(gs_schedule *list, int count)
{
    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 1u << GS_FAMILY_WS, list, count), count);
    for (int i = 0; i < count / 2; i++) {
        const gs_schedule swap = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = swap;
    }
}

/* All that it proposes for PROBLEM, `most` at a time. */
static int refined(uint32_t families, const gs_found *found, int found_count, int most, gs_schedule list[ROOM])
{
    const gs_problem problem = problem_of(PROBLEM);
    gs_policy policy;
    int count = 0;
    assert_int_equal(gs_policy_create(&policy, "refine", 1, NULL), GS_OK);
    assert_true(policy.asks_found && policy.builds_on_found);
    policy.families = families;
    policy.found = found;
    policy.found_count = found_count;
    for (int got; (got = policy.propose(&policy, &problem, gs_caps_find("h200"), list + count, GS_MIN(most, ROOM - count))) > 0; count += got)
        assert_true(got <= most);
    assert_true(count < ROOM);
    assert_int_equal(policy.propose(&policy, &problem, gs_caps_find("h200"), list, most), 0);
    policy.destroy(&policy);
    return count;
}

static void refine_begins_with_what_was_found_nearest(void **state)
{
    (void)state;
    gs_schedule own[4], list[ROOM];
    slowest_first(own, 4);
    const gs_found found[] = {
        {problem_of("f16:1024x4096x2048:tn"), own[3]}, {problem_of("f16:1024x1024x512:tn"), own[2]},
        {problem_of(PROBLEM), own[0]}, {problem_of("f16:1024x1024x1024:nn"), own[1]},
    };
    assert_true(refined(0, found, 4, 16, list) > 16);
    for (int i = 0; i < 4; i++) assert_true(same(&list[i], &own[i]));

    /* half of what is asked for, but at least one */
    assert_true(refined(0, found, 4, 4, list) > 4);
    assert_true(same(&list[0], &own[0]) && same(&list[1], &own[1]));
    assert_false(same(&list[2], &own[2]));
    assert_int_equal(words_changed(&list[2], &own[0]), 1);
    assert_true(refined(0, found, 4, 1, list) > 1);
    assert_true(same(&list[0], &own[0]));
}

static void refine_builds_on_its_own_kind_only(void **state)
{
    (void)state;
    const gs_problem problem = problem_of(PROBLEM);
    gs_found found[8];
    gs_schedule schedule, plain[ROOM], list[ROOM];
    slowest_first(plain, 8);
    schedule = plain[0];
    for (int i = 0; i < 8; i++) found[i] = (gs_found){problem, schedule};
    found[0].problem.in = GS_BF16;
    found[1].problem.acc = GS_F16;
    found[2].problem.out = GS_F32;
    found[3].problem.batch = 3;
    found[4].problem.batch = 2;
    found[5].problem.beta = 1;
    found[6].problem = problem_of("f16:64x256x512:tn");   /* seven octaves */
    found[7].problem = problem_of("f16:1024x1024x0:tn");
    const int count = refined(0, NULL, 0, 16, plain);
    assert_false(same(&plain[0], &schedule));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(refined(0, &found[i], 1, 16, list), count);
        assert_memory_equal(list, plain, (size_t)count * sizeof *list);
    }
    found[0].problem = problem_of("f16:64x512x512:tn");   /* six */
    assert_true(refined(0, found, 1, 16, list) > count);
    assert_true(same(&list[0], &schedule));
}

static void refine_leaves_out_what_cannot_run(void **state)
{
    (void)state;
    const gs_caps *const caps = gs_caps_find("h200");
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule valid[4], invalid = gs_schedule_first(GS_FAMILY_WS), plain[ROOM], list[ROOM];
    while (gs_schedule_check(&invalid, &problem, caps, NULL) == GS_OK) assert_true(gs_schedule_next(&invalid));
    slowest_first(valid, 4);
    const gs_found found[] = {{problem, invalid}, {problem_of("f16:1024x1024x2048:tn"), valid[0]}};
    const int count = refined(0, found + 1, 1, 16, plain);
    assert_int_equal(refined(0, found, 2, 16, list), count);
    assert_memory_equal(list, plain, (size_t)count * sizeof *list);

    /* families that nobody asked for */
    const int others = refined(1u << GS_FAMILY_MMA, NULL, 0, 16, plain);
    assert_int_equal(refined(1u << GS_FAMILY_MMA, found, 2, 16, list), others);
    for (int i = 0; i < others; i++) assert_int_equal(list[i].family, GS_FAMILY_MMA);
    assert_memory_equal(list, plain, (size_t)others * sizeof *list);
    assert_true(refined(1u << GS_FAMILY_MMA | 1u << GS_FAMILY_WS, found, 2, 16, list) > others);
    assert_true(same(&list[0], &valid[0]));
}

/* What was found, then its variations and the shortlist in turn; nothing twice, and nothing else. */
static void refine_varies_the_first_by_one_word(void **state)
{
    (void)state;
    enum { MOST = 16 };
    const gs_caps *const caps = gs_caps_find("h200");
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule own[2], list[ROOM], shortlist[MOST];
    slowest_first(own, 2);
    const gs_schedule first = own[0];
    const gs_found found[] = {
        {problem, first}, {problem_of("f16:1024x1024x2048:tn"), own[1]}, {problem_of("f16:1024x1024x4096:tn"), first}, {problem, first},
    };
    const int count = refined(0, found, 4, MOST, list);
    gs_schedule variations[ROOM];
    int variation_count = 0;
    for (int slot = 0; slot < gs_family_parameters(GS_FAMILY_WS); slot++)
        for (int word = 0; word < gs_family_parameter(GS_FAMILY_WS, slot)->count; word++) {
            gs_schedule schedule = first;
            schedule.value[slot] = (uint8_t)word;
            if (same(&schedule, &first) || same(&schedule, &own[1]) || gs_schedule_check(&schedule, &problem, caps, NULL) != GS_OK) continue;
            assert_true(is_among(&schedule, list, count));
            variations[variation_count++] = schedule;
        }
    assert_true(variation_count > 2);
    assert_true(same(&list[0], &first) && same(&list[1], &own[1]));
    assert_int_equal(gs_schedule_shortlist(&problem, caps, 0, shortlist, MOST), MOST);
    int at = 2, from_shortlist = 0;
    double us = 0;
    for (int next = 0; at < count;) {
        int left = 0;
        for (int i = 0; i < variation_count; i++) left += !is_among(&variations[i], list, at);
        if (left > 0) {
            assert_true(is_among(&list[at], variations, variation_count));
            assert_true(us <= gs_schedule_predict(&list[at], &problem, caps));
            us = gs_schedule_predict(&list[at++], &problem, caps);
        }
        while (next < MOST && is_among(&shortlist[next], list, at)) next++;
        assert_true(left > 0 || next < MOST);
        if (next == MOST) continue;
        assert_true(at < count && same(&list[at++], &shortlist[next++]));
        from_shortlist++;
    }
    assert_true(from_shortlist > 2);
    for (int i = 0; i < count; i++) assert_false(is_among(&list[i], list, i));
}

static void refine_without_a_find_is_the_shortlist(void **state)
{
    (void)state;
    enum { MOST = 12 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule list[ROOM], shortlist[MOST];
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 0, shortlist, MOST), MOST);
    assert_int_equal(refined(0, NULL, 0, MOST, list), MOST);
    assert_memory_equal(list, shortlist, sizeof shortlist);
}

static void refine_begins_anew_for_another_problem(void **state)
{
    (void)state;
    enum { MOST = 8 };
    const gs_caps *const caps = gs_caps_find("h200");
    const gs_problem problem = problem_of(PROBLEM), other = problem_of("f16:2048x1024x1024:nn");
    gs_schedule own[2], list[MOST], again[MOST];
    gs_policy policy;
    slowest_first(own, 2);
    const gs_found found[] = {{problem, own[0]}, {other, own[1]}};
    assert_int_equal(gs_policy_create(&policy, "refine", 1, NULL), GS_OK);
    policy.found = found;
    policy.found_count = 2;
    assert_int_equal(policy.propose(&policy, &problem, caps, list, MOST), MOST);
    assert_true(same(&list[0], &own[0]) && same(&list[1], &own[1]));
    assert_int_equal(policy.propose(&policy, &other, caps, again, MOST), MOST);
    assert_true(same(&again[0], &own[1]) && same(&again[1], &own[0]));
    assert_int_equal(policy.propose(&policy, &problem, caps, again, MOST), MOST);
    assert_memory_equal(again, list, sizeof list);
    policy.families = 1u << GS_FAMILY_MMA;
    assert_int_equal(policy.propose(&policy, &problem, caps, again, MOST), MOST);
    for (int i = 0; i < MOST; i++) assert_int_equal(again[i].family, GS_FAMILY_MMA);
    policy.destroy(&policy);
}

/* ---- learned ---- */

static int propose_all(gs_policy *policy, const char *problem, gs_schedule *list, int room)
{
    const gs_problem p = problem_of(problem);
    int count = 0;
    for (int got; (got = policy->propose(policy, &p, gs_caps_find("h200"), list + count, GS_MIN(16, room - count))) > 0;) count += got;
    return count;
}

static void learned_without_weights_follows_the_time_model(void **state)
{
    (void)state;
    enum { MOST = 4096, KEPT = 2048 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_policy policy, again;
    gs_schedule *const list = malloc(2 * MOST * sizeof *list), *const second = list + MOST, first;
    unsetenv("GEMMSMITH_WEIGHTS");
    assert_int_equal(gs_policy_create(&policy, "learned", 1, NULL), GS_OK);
    assert_int_equal(gs_policy_create(&again, "learned", 1, NULL), GS_OK);
    const int count = propose_all(&policy, PROBLEM, list, MOST);
    assert_true(count > KEPT / 2 && count <= KEPT);
    for (int i = 0; i < count; i++) {
        assert_int_equal(gs_schedule_check(&list[i], &problem, gs_caps_find("h200"), NULL), GS_OK);
    }
    memcpy(second, list, (size_t)count * sizeof *list);
    qsort(second, (size_t)count, sizeof *second, by_bytes);
    for (int i = 1; i < count; i++) assert_false(same(&second[i - 1], &second[i]));
    assert_int_equal(gs_schedule_shortlist(&problem, gs_caps_find("h200"), 0, &first, 1), 1);
    assert_true(gs_schedule_predict(&list[0], &problem, gs_caps_find("h200")) <= gs_schedule_predict(&first, &problem, gs_caps_find("h200")));
    assert_int_equal(propose_all(&again, "f16:64x64x64:tn", second, MOST) > 0, 1);   /* another problem in between changes nothing */
    assert_int_equal(propose_all(&again, PROBLEM, second, MOST), count);
    assert_memory_equal(list, second, (size_t)count * sizeof *list);
    policy.families = 1u << GS_FAMILY_MMA;
    assert_true(propose_all(&policy, PROBLEM, second, MOST) > 16);
    for (int i = 0; i < 16; i++) assert_int_equal(second[i].family, GS_FAMILY_MMA);
    free(list);
    policy.destroy(&policy);
    again.destroy(&again);
}

static void learned_follows_its_weights(void **state)
{
    (void)state;
    enum { MOST = 1024 };
    char path[] = "/tmp/gemmsmith-policy-XXXXXX";
    const gs_profile profile = gs_profile_of(gs_caps_find("h200"));
    const gs_problem problem = problem_of(PROBLEM);
    gs_weights weights;
    gs_policy policy;
    gs_random random = {3};
    gs_error error;
    gs_schedule *const list = malloc(MOST * sizeof *list);
    assert_true(close(mkstemp(path)) == 0);
    assert_int_equal(gs_weights_create(&weights, 1, 1, NULL), GS_OK);
    gs_net *const net = &weights.surrogate.net[0];
    for (int i = net->count - net->width[2] - 1; i < net->count; i++) net->weights[i] = (float)(gs_random_unit(&random) - 0.5);
    assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
    assert_int_equal(setenv("GEMMSMITH_WEIGHTS", path, 1), 0);
    assert_int_equal(gs_policy_create(&policy, "learned", 1, NULL), GS_OK);
    const int count = propose_all(&policy, PROBLEM, list, MOST);
    int later = 0;   /* the twins begin once, at the fastest of them */
    for (int i = 1; i < count; i++)
        later += gs_surrogate_us(&weights.surrogate, &list[i], &problem, &profile) < gs_surrogate_us(&weights.surrogate, &list[i - 1], &problem, &profile);
    assert_true(later <= 1);
    assert_true(gs_surrogate_us(&weights.surrogate, &list[0], &problem, &profile) != gs_schedule_predict(&list[0], &problem, gs_caps_find("h200")));
    assert_int_equal(policy.save(&policy, path, NULL), GS_OK);
    assert_int_equal(policy.load(&policy, path, NULL), GS_OK);
    assert_int_equal(policy.load(&policy, "/nowhere/at/all", &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(propose_all(&policy, PROBLEM, list, MOST), count);   /* still those that it had */
    policy.destroy(&policy);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gs_policy_create(&policy, "learned", 1, &error), GS_ERROR_NOT_FOUND);
    unsetenv("GEMMSMITH_WEIGHTS");
    gs_weights_free(&weights);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enumerate_proposes_every_valid_schedule_once),
        cmocka_unit_test(spread_asks_every_family),
        cmocka_unit_test(refine_begins_with_what_was_found_nearest),
        cmocka_unit_test(refine_builds_on_its_own_kind_only),
        cmocka_unit_test(refine_leaves_out_what_cannot_run),
        cmocka_unit_test(refine_varies_the_first_by_one_word),
        cmocka_unit_test(refine_without_a_find_is_the_shortlist),
        cmocka_unit_test(refine_begins_anew_for_another_problem),
        cmocka_unit_test(learned_without_weights_follows_the_time_model),
        cmocka_unit_test(learned_follows_its_weights),
    };
    return cmocka_run_group_tests_name("policy/policies", tests, NULL, NULL);
}

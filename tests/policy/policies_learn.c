/* SPDX-License-Identifier: MIT
 * The policies random, evolve and learned, without a tuner: what they propose after what they were told, and what learned keeps in a file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "schedule/space.h"
#include "learn/weights.h"
#include "texts.h"
#include "tune/tune.h"
#include "leaks.h"

#define PROBLEM "f16:1024x1024x1024:tn"

static const gs_caps *h200(void) { return gs_caps_find("h200"); }

static gs_policy policy_of(const char *name, uint64_t seed, uint32_t families)
{
    gs_policy policy;
    assert_int_equal(gs_policy_create(&policy, name, seed, NULL), GS_OK);
    policy.families = families;
    return policy;
}

static int propose(gs_policy *policy, gs_schedule *list, int most)
{
    const gs_problem problem = problem_of(PROBLEM);
    return policy->propose(policy, &problem, h200(), list, most);
}

static void tell(gs_policy *policy, const gs_schedule *list, int count, double (*us)(const gs_schedule *schedule))
{
    const gs_problem problem = problem_of(PROBLEM);
    gs_feedback *const feedback = calloc((size_t)count + 1, sizeof *feedback);
    for (int i = 0; i < count; i++) {
        const double took = us(&list[i]);
        feedback[i] = (gs_feedback){.schedule = list[i], .verdict = took > 0 ? GS_VERDICT_UNKNOWN : GS_VERDICT_EXACT, .us = took,
                                    .reward = took > 0 ? gs_reward_predicted(took, gs_floor_us(&problem, h200())) : -1};
    }
    policy->learn(policy, &problem, h200(), feedback, count);
    free(feedback);
}

static double predicted(const gs_schedule *schedule)
{
    const gs_problem problem = problem_of(PROBLEM);
    return gs_schedule_predict(schedule, &problem, h200());
}

/* ---- random ---- */

static int by_bytes(const void *left, const void *right) { return memcmp(left, right, sizeof(gs_schedule)); }

/* Proposes until nothing is left. */
static void expect_every_valid_schedule_once(gs_policy *policy, const char *text)
{
    const gs_problem problem = problem_of(text);
    gs_space space;
    assert_int_equal(gs_space_create(&space, &problem, h200(), policy->families, NULL), GS_OK);
    gs_schedule *const list = malloc(((size_t)space.count + 7) * sizeof *list);
    int count = 0;
    for (int got; (got = policy->propose(policy, &problem, h200(), list + count, 7)) > 0; count += got) assert_true(count < space.count);
    assert_int_equal(count, space.count);
    assert_int_equal(policy->propose(policy, &problem, h200(), list + count, 7), 0);
    qsort(list, (size_t)count, sizeof *list, by_bytes);
    assert_memory_equal(list, space.list, (size_t)count * sizeof *list);
    free(list);
    gs_space_free(&space);
}

static void random_proposes_every_valid_schedule_once(void **state)
{
    (void)state;
    gs_policy policy = policy_of("random", 1, 1u << GS_FAMILY_MMA);
    assert_null(policy.learn);
    expect_every_valid_schedule_once(&policy, PROBLEM);
    policy.destroy(&policy);
}

/* Families have the share of what is proposed first that they have of what is valid; the order is the seed's. */
static void random_is_even(void **state)
{
    (void)state;
    enum { DRAWN = 2000 };
    const gs_problem problem = problem_of(PROBLEM), other = problem_of("f16:64x64x64:tn");
    gs_space space;
    gs_schedule *const list = malloc(2 * DRAWN * sizeof *list), *const again = list + DRAWN;
    gs_policy policy = policy_of("random", 5, 0), another = policy_of("random", 6, 0);
    int drawn[GS_FAMILIES] = {0}, all[GS_FAMILIES] = {0};
    assert_int_equal(gs_space_create(&space, &problem, h200(), 0, NULL), GS_OK);
    assert_true(space.count > 4 * DRAWN);
    assert_int_equal(propose(&policy, list, DRAWN), DRAWN);
    for (int i = 0; i < DRAWN; i++) drawn[list[i].family]++;
    for (int i = 0; i < space.count; i++) all[space.list[i].family]++;
    for (int i = 0; i < GS_FAMILIES; i++) {
        const double share = (double)all[i] / space.count;
        if (fabs((double)drawn[i] / DRAWN - share) > 5 * sqrt(share / DRAWN) + 1e-9) fail_msg("family %d: %d of %d, %g are", i, drawn[i], DRAWN, share);
    }
    /* another problem in between begins anew, and so does the first one */
    assert_int_equal(policy.propose(&policy, &other, h200(), again, 16), 16);
    assert_int_equal(propose(&policy, again, DRAWN), DRAWN);
    assert_memory_equal(again, list, DRAWN * sizeof *list);
    assert_int_equal(propose(&another, again, DRAWN), DRAWN);
    assert_true(memcmp(again, list, DRAWN * sizeof *list) != 0);
    free(list);
    gs_space_free(&space);
    policy.destroy(&policy);
    another.destroy(&another);
}

/* ---- evolve ---- */

/* Every word that is not the planted one costs a tenth more. */
static double planted(const gs_schedule *schedule)
{
    const gs_schedule target = schedule_of("ws/128x256x64/s3/c1x1/coop/g4");
    return 10 * pow(1.1, words_changed(schedule, &target));
}

static int slowest_first(const void *left, const void *right)
{
    const double a = planted(left), b = planted(right);
    return (a < b) - (a > b);
}

static void evolve_stays_near_the_fastest(void **state)
{
    (void)state;
    enum { FIRST = 24, NEXT = 32, PARENTS = 4 };
    gs_schedule list[FIRST + NEXT];
    gs_policy policy = policy_of("evolve", 2, 1u << GS_FAMILY_WS);
    assert_int_equal(propose(&policy, list, FIRST), FIRST);
    tell(&policy, list, FIRST, planted);
    qsort(list, FIRST, sizeof *list, slowest_first);
    assert_int_equal(propose(&policy, list + FIRST, NEXT), NEXT);
    int near = 0;
    const double worst_parent = planted(&list[FIRST - PARENTS]);
    for (int i = FIRST; i < FIRST + NEXT; i++) {
        assert_false(is_among(&list[i], list, i));
        int strange = 0;   /* words of none of the parents */
        for (int slot = 0; slot < gs_family_parameters(GS_FAMILY_WS); slot++) {
            bool inherited = false;
            for (int p = 0; p < FIRST; p++) inherited |= planted(&list[p]) <= worst_parent && list[p].value[slot] == list[i].value[slot];
            strange += !inherited;
        }
        near += strange <= 2;
    }
    assert_int_equal(near, NEXT);
    policy.destroy(&policy);
}

static double plainest(const gs_schedule *schedule) { return schedule->family == GS_FAMILY_SIMPLE ? 1 : 2 + planted(schedule); }

/* The family simple has no word that a child could have changed. */
static void evolve_takes_the_plainest_parent(void **state)
{
    (void)state;
    enum { FIRST = 8, NEXT = 32 };
    gs_schedule list[FIRST + NEXT];
    gs_policy policy = policy_of("evolve", 2, 1u << GS_FAMILY_SIMPLE | 1u << GS_FAMILY_WS);
    assert_int_equal(propose(&policy, list, FIRST), FIRST);
    list[0] = schedule_of("simple");
    tell(&policy, list, FIRST, plainest);
    assert_int_equal(propose(&policy, list + FIRST, NEXT), NEXT);
    for (int i = FIRST; i < FIRST + NEXT; i++) assert_int_equal(list[i].family, GS_FAMILY_WS);
    policy.destroy(&policy);
}

/* Asked for four at a time, and told. */
static double best_of(const char *name, uint64_t seed, int budget)
{
    gs_policy policy = policy_of(name, seed, 0);
    gs_schedule list[4];
    double best = INFINITY;
    for (int i = 0; i < budget; i += 4) {
        assert_int_equal(propose(&policy, list, 4), 4);
        for (int j = 0; j < 4; j++) best = fmin(best, planted(&list[j]));
        if (policy.learn) tell(&policy, list, 4, planted);
    }
    policy.destroy(&policy);
    return best;
}

static void evolve_beats_chance(void **state)
{
    (void)state;
    enum { SEEDS = 16, BUDGET = 64 };   /* six seeds said 1.05 by chance where 24 say 1.09 */
    double evolved = 0, drawn = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        evolved += log(best_of("evolve", seed, BUDGET)) / SEEDS;
        drawn += log(best_of("random", seed, BUDGET)) / SEEDS;
    }
    print_message("evolve %.3f, random %.3f, the fastest 10\n", exp(evolved), exp(drawn));
    assert_true(evolved < drawn - log(1.05));
    assert_true(best_of("evolve", 1, BUDGET) == best_of("evolve", 1, BUDGET));
}

static double untimed(const gs_schedule *schedule)
{
    (void)schedule;
    return 0;
}

/* What somebody else tried is not tried again, whatever came of it, and what cannot run has no children. */
static void evolve_is_told_of_others(void **state)
{
    (void)state;
    enum { OTHERS = 20 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_space space;
    gs_schedule others[OTHERS], invalid = gs_schedule_first(GS_FAMILY_WS);
    gs_policy policy = policy_of("evolve", 3, 1u << GS_FAMILY_MMA);
    while (gs_schedule_check(&invalid, &problem, h200(), NULL) == GS_OK) assert_true(gs_schedule_next(&invalid));
    assert_int_equal(gs_space_create(&space, &problem, h200(), policy.families, NULL), GS_OK);
    assert_true(space.count > 100);
    for (int i = 0; i < OTHERS; i++) others[i] = space.list[i * (space.count / OTHERS)];
    tell(&policy, others, OTHERS / 2, untimed);
    tell(&policy, others + OTHERS / 2, OTHERS / 2, planted);
    tell(&policy, &invalid, 1, planted);
    gs_schedule *const list = malloc(((size_t)space.count + 64) * sizeof *list);
    int count = 0;
    for (int got; (got = propose(&policy, list + count, 64)) > 0; count += got) {
        assert_true(count + got <= space.count);
        tell(&policy, list + count, got, planted);
    }
    assert_int_equal(count, space.count - OTHERS);
    for (int i = 0; i < count; i++) assert_true(gs_space_find(&space, &list[i]) >= 0 && !is_among(&list[i], others, OTHERS));
    qsort(list, (size_t)count, sizeof *list, by_bytes);
    for (int i = 1; i < count; i++) assert_false(same(&list[i - 1], &list[i]));
    free(list);
    gs_space_free(&space);
    policy.destroy(&policy);
}

/* ---- learned ---- */

static int disliked;   /* a family */

/* That family takes three times what is predicted. */
static double contradicted(const gs_schedule *schedule) { return predicted(schedule) * (schedule->family == disliked ? 3 : 1); }

static int count_of(const gs_schedule *list, int count, int family)
{
    int there = 0;
    for (int i = 0; i < count; i++) there += list[i].family == family;
    return there;
}

/* As long as they are not more than it keeps. */
static void learned_proposes_every_valid_schedule_once(void **state)
{
    (void)state;
    unsetenv("GEMMSMITH_WEIGHTS");
    gs_policy policy = policy_of("learned", 1, 1u << GS_FAMILY_SLICEK);
    expect_every_valid_schedule_once(&policy, "f16:64x64x64:tn");
    policy.destroy(&policy);
}

static void learned_follows_what_was_measured(void **state)
{
    (void)state;
    enum { TOLD = 8, NEXT = 16, LATER = 400 };
    gs_schedule first[NEXT], other[TOLD], next[NEXT];
    unsetenv("GEMMSMITH_WEIGHTS");
    gs_policy policy = policy_of("learned", 1, 0), indifferent = policy_of("learned", 1, 0);
    const gs_problem problem = problem_of(PROBLEM);
    assert_int_equal(propose(&policy, first, TOLD), TOLD);
    disliked = first[0].family;
    uint32_t others = 0;
    for (int family = 0; family < GS_FAMILIES; family++) others |= family == disliked ? 0 : 1u << family;
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), others, other, TOLD / 2), TOLD / 2);
    assert_true(predicted(&other[0]) < 2 * predicted(&first[0]));
    memcpy(other + TOLD / 2, first, TOLD / 2 * sizeof *first);
    tell(&policy, other, TOLD, contradicted);
    assert_int_equal(propose(&policy, next, NEXT), NEXT);
    if (count_of(next, NEXT, disliked) > 0) fail_msg("%d of %d are of the slow family", count_of(next, NEXT, disliked), NEXT);
    for (int i = 0; i < NEXT; i++) assert_false(is_among(&next[i], other, TOLD) || is_among(&next[i], first, TOLD) || is_among(&next[i], next, i));

    /* measured as predicted: the family stays, behind a look at others */
    gs_schedule later[LATER];
    assert_int_equal(propose(&indifferent, first, TOLD), TOLD);
    tell(&indifferent, first, TOLD, predicted);
    assert_int_equal(propose(&indifferent, later, LATER), LATER);
    if (count_of(later, LATER, disliked) == 0) fail_msg("none of %d is of the family that was as fast as predicted", LATER);
    policy.destroy(&policy);
    indifferent.destroy(&indifferent);
}

static gs_schedule surprise;

static double surprising(const gs_schedule *schedule) { return predicted(schedule) * (same(schedule, &surprise) ? 0.02 : 1); }

/* Something that the time model finds slow is fast: its neighbours come in, which were not on the list before. */
static void learned_looks_around_the_fastest(void **state)
{
    (void)state;
    enum { TOLD = 8, NEXT = 8 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_space space;
    gs_schedule told[TOLD], next[NEXT];
    gs_policy policy = policy_of("learned", 1, 0);
    assert_int_equal(gs_space_create(&space, &problem, h200(), 1u << GS_FAMILY_SPLITK, NULL), GS_OK);
    surprise = space.list[0];
    for (int i = 1; i < space.count; i++)
        if (predicted(&space.list[i]) > predicted(&surprise)) surprise = space.list[i];
    assert_int_equal(propose(&policy, told, TOLD), TOLD);
    told[3] = surprise;
    tell(&policy, told, TOLD, surprising);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(propose(&policy, next, NEXT), NEXT);
        int near = 0;
        for (int j = 0; j < NEXT; j++) near += words_changed(&next[j], &surprise) == 1;
        if (near > 0) break;
        assert_true(i < 39);
    }
    gs_space_free(&space);
    policy.destroy(&policy);
}

/* Also when it is told of what it never said, of what failed, and of what is no schedule of this problem. */
static void learned_says_nothing_twice(void **state)
{
    (void)state;
    enum { ROOM = 8192 };
    const gs_problem problem = problem_of(PROBLEM);
    gs_schedule *const list = malloc(ROOM * sizeof *list), others[12], invalid = gs_schedule_first(GS_FAMILY_WS), nonsense;
    gs_policy policy = policy_of("learned", 4, 0);
    memset(&nonsense, 0xff, sizeof nonsense);
    while (gs_schedule_check(&invalid, &problem, h200(), NULL) == GS_OK) assert_true(gs_schedule_next(&invalid));
    assert_int_equal(gs_schedule_shortlist(&problem, h200(), 1u << GS_FAMILY_MMA, others, 12), 12);
    disliked = GS_FAMILY_WS;
    tell(&policy, others, 6, contradicted);
    tell(&policy, others + 6, 6, untimed);
    tell(&policy, others, 6, contradicted);   /* again */
    const gs_feedback strange[] = {{invalid, GS_VERDICT_UNKNOWN, 0.01, 0, 1}, {nonsense, GS_VERDICT_UNKNOWN, 0.01, 0, 1}};
    policy.learn(&policy, &problem, h200(), strange, 2);
    int count = 0, rounds = 0;
    for (int got; (got = propose(&policy, list + count, GS_MIN(64, ROOM - count))) > 0; count += got)
        if (rounds++ < 6) tell(&policy, list + count, got, contradicted);
    assert_true(count > 768);
    for (int i = 0; i < count; i++) assert_int_equal(gs_schedule_check(&list[i], &problem, h200(), NULL), GS_OK);
    for (int i = 0; i < count; i++) assert_false(is_among(&list[i], others, 12));
    qsort(list, (size_t)count, sizeof *list, by_bytes);
    for (int i = 1; i < count; i++) assert_false(same(&list[i - 1], &list[i]));
    free(list);
    policy.destroy(&policy);
}

/* ---- what learned keeps ---- */

static char folder[40];

static char *path_of(char path[96], const char *name)
{
    snprintf(path, 96, "%s/%s", folder, name);
    return path;
}

static unsigned salt;

static double salted(const gs_schedule *schedule)
{
    unsigned sum = salt;
    for (int slot = 0; slot < GS_MAX_PARAMETERS; slot++) sum += (unsigned)(slot + 1) * schedule->value[slot];
    return predicted(schedule) * (1 + 0.3 * (sum % 3));
}

static gs_policy taught(const char *file, unsigned how)
{
    gs_policy policy = policy_of("learned", 1, 0);
    gs_schedule list[8];
    assert_int_equal(policy.load(&policy, file, NULL), GS_OK);
    assert_int_equal(propose(&policy, list, 8), 8);
    salt = how;
    tell(&policy, list, 8, salted);
    return policy;
}

static void kept(const char *file, gs_weights *weights) { assert_int_equal(gs_weights_load(weights, file, NULL), GS_OK); }

/* base + what the first learned + what the second learned = what the file says. */
static void expect_sum(const gs_net *base, const gs_net *first, const gs_net *second, const gs_net *got)
{
    int moved = 0;
    for (int i = 0; i < base->count; i++) {
        const double sum = (double)first->weights[i] + (double)second->weights[i] - (double)base->weights[i];
        if (fabs(sum - (double)got->weights[i]) > 1e-6 * (1 + fabs(sum))) fail_msg("weight %d: %g, not %g", i, (double)got->weights[i], sum);
        moved += first->weights[i] != base->weights[i] && second->weights[i] != base->weights[i];
    }
    assert_true(moved > 10);
}

static void learned_begins_with_what_the_other_type_found(void **state)
{
    (void)state;
    gs_schedule wanted, other, list[4];
    assert_int_equal(gs_schedule_parse(&wanted, "ws/64x64x64/s3/c1x1/coop/g1", NULL), GS_OK);   /* which nobody else would say first */
    assert_int_equal(gs_schedule_parse(&other, "ws/64x128x64/s3/c1x1/coop/g1", NULL), GS_OK);
    const gs_found found[] = {
        {problem_of("bf16:1024x1024x2048:tn"), other}, {problem_of("bf16:1024x1024x1024:nn"), other}, {problem_of("f16:1024x1024x1024:tn:acc=f16"), other},
        {problem_of("bf16:1024x1024x1024:tn"), wanted}, {problem_of("bf16:1024x1024x1024:tn:d=f32"), other},
    };
    gs_policy policy = policy_of("learned", 1, 0);
    assert_true(policy.asks_found);
    policy.found = found;
    policy.found_count = (int)(sizeof found / sizeof *found);
    assert_int_equal(propose(&policy, list, 4), 4);
    assert_true(same(&list[0], &wanted));
    assert_false(is_among(&other, list, 4));
    assert_false(is_among(&wanted, list + 1, 3));
    policy.destroy(&policy);
}

static void steps_of_two_add_up(void **state)
{
    (void)state;
    char shared[96], alone[2][96];
    gs_weights base, single[2], both, again;
    gs_policy policy[2];
    path_of(shared, "deeper/still/shared");
    assert_int_equal(gs_weights_create(&base, 1, 9, NULL), GS_OK);
    snprintf(base.about, sizeof base.about, "by a test");
    for (int i = 0; i < 2; i++) {
        path_of(alone[i], i ? "second" : "first");
        assert_int_equal(gs_weights_save(&base, alone[i], NULL), GS_OK);
        gs_policy one = taught(alone[i], (unsigned)i);
        assert_int_equal(one.save(&one, alone[i], NULL), GS_OK);
        one.destroy(&one);
        kept(alone[i], &single[i]);
    }
    char begin[96];
    assert_int_equal(gs_weights_save(&base, path_of(begin, "begin"), NULL), GS_OK);
    gs_weights_free(&base);
    kept(begin, &base);   /* without what tokens to come would say */
    for (int i = 0; i < 2; i++) policy[i] = taught(begin, (unsigned)i);   /* both from the same */
    assert_int_equal(policy[0].save(&policy[0], shared, NULL), GS_ERROR_NOT_FOUND);   /* no folder is made */
    char made[96];
    assert_int_equal(gs_directory_make(path_of(made, "deeper/still"), NULL), GS_OK);
    assert_int_equal(policy[0].save(&policy[0], shared, NULL), GS_OK);   /* makes the file as it is */
    kept(shared, &both);
    assert_memory_equal(both.actor.net.weights, single[0].actor.net.weights, (size_t)both.actor.net.count * sizeof(float));
    gs_weights_free(&both);
    assert_int_equal(policy[1].save(&policy[1], shared, NULL), GS_OK);
    kept(shared, &both);
    assert_string_equal(both.about, "by a test");
    expect_sum(&base.surrogate.net[0], &single[0].surrogate.net[0], &single[1].surrogate.net[0], &both.surrogate.net[0]);
    expect_sum(&base.actor.net, &single[0].actor.net, &single[1].actor.net, &both.actor.net);

    /* nothing new: nothing is added */
    for (int i = 0; i < 2; i++) assert_int_equal(policy[i].save(&policy[i], shared, NULL), GS_OK);
    kept(shared, &again);
    assert_memory_equal(again.actor.net.weights, both.actor.net.weights, (size_t)both.actor.net.count * sizeof(float));
    assert_memory_equal(again.surrogate.net[0].weights, both.surrogate.net[0].weights, (size_t)both.surrogate.net[0].count * sizeof(float));
    for (int i = 0; i < 2; i++) gs_weights_free(&single[i]), policy[i].destroy(&policy[i]);
    gs_weights_free(&base);
    gs_weights_free(&both);
    gs_weights_free(&again);
}

/* Files of one network and of several take each other's place when they are loaded, but their steps cannot be added up. */
static void ensembles_are_loaded_and_kept(void **state)
{
    (void)state;
    char one[96], most[96], *before, *after;
    size_t size, now;
    gs_error error = {0};
    gs_weights weights;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gs_weights_create(&weights, i ? GS_MOST_NETS : 1, 9, NULL), GS_OK);
        assert_int_equal(gs_weights_save(&weights, path_of(i ? most : one, i ? "most" : "one"), NULL), GS_OK);
        gs_weights_free(&weights);
    }
    gs_policy policy = taught(most, 0);
    assert_int_equal(policy.save(&policy, most, NULL), GS_OK);
    kept(most, &weights);
    assert_int_equal(weights.surrogate.nets, GS_MOST_NETS);
    for (int i = 0; i < GS_MOST_NETS; i++) assert_true(weights.surrogate.net[i].weights[weights.surrogate.net[i].count - 1] != 0);   /* each has learned */
    gs_weights_free(&weights);
    assert_int_equal(gs_file_read(one, GS_WEIGHTS_BYTES, &before, &size, NULL), GS_OK);
    assert_int_equal(policy.save(&policy, one, &error), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "networks"));
    assert_int_equal(gs_file_read(one, GS_WEIGHTS_BYTES, &after, &now, NULL), GS_OK);
    assert_int_equal(size, now);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
    assert_int_equal(policy.load(&policy, one, NULL), GS_OK);
    assert_int_equal(policy.save(&policy, one, NULL), GS_OK);
    kept(one, &weights);
    assert_int_equal(weights.surrogate.nets, 1);
    gs_weights_free(&weights);
    policy.destroy(&policy);
}

static void what_cannot_be_kept_is_said(void **state)
{
    (void)state;
    char file[96], *data;
    size_t size;
    gs_error error;
    gs_schedule list[4], again[4];
    gs_policy policy = policy_of("learned", 1, 0);
    path_of(file, "corrupt");
    assert_int_equal(gs_file_write(file, "gemmsmith-weights 1\nnonsense\n", 29, NULL), GS_OK);
    assert_int_equal(propose(&policy, list, 4), 4);
    assert_int_equal(policy.load(&policy, file, &error), GS_ERROR_CORRUPT);
    assert_true(error.text[0] != '\0');
    assert_int_equal(policy.load(&policy, "/nowhere/at/all", &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(policy.save(&policy, file, &error), GS_ERROR_CORRUPT);
    assert_int_equal(gs_file_read(file, 1000, &data, &size, NULL), GS_OK);
    assert_int_equal(size, 29);
    assert_string_equal(data, "gemmsmith-weights 1\nnonsense\n");   /* somebody's: left alone */
    free(data);
    assert_true(policy.save(&policy, "/dev/null/there", &error) != GS_OK);
    assert_true(error.text[0] != '\0');
    assert_int_equal(propose(&policy, again, 4), 4);   /* it goes on where it was */
    for (int i = 0; i < 4; i++) assert_false(is_among(&again[i], list, 4));
    policy.destroy(&policy);
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("GEMMSMITH_WEIGHTS");
    snprintf(folder, sizeof folder, "/tmp/gemmsmith-policies-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_proposes_every_valid_schedule_once),
        cmocka_unit_test(random_is_even),
        cmocka_unit_test(evolve_stays_near_the_fastest), cmocka_unit_test(evolve_takes_the_plainest_parent),
        cmocka_unit_test(evolve_beats_chance),
        cmocka_unit_test(evolve_is_told_of_others),
        cmocka_unit_test(learned_proposes_every_valid_schedule_once),
        cmocka_unit_test(learned_follows_what_was_measured),
        cmocka_unit_test(learned_looks_around_the_fastest),
        cmocka_unit_test(learned_says_nothing_twice),
        cmocka_unit_test(learned_begins_with_what_the_other_type_found),
        cmocka_unit_test(steps_of_two_add_up),
        cmocka_unit_test(ensembles_are_loaded_and_kept),
        cmocka_unit_test(what_cannot_be_kept_is_said),
    };
    return run_group_without_leaks("policy/policies_learn", tests, GS_COUNT(tests), set_up, tear_down);
}

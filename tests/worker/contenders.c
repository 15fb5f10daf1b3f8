/* SPDX-License-Identifier: MIT
 * What is prepared is kept for the next request, how long, and what makes room for what. Without a device: the contenders are entries whose preparation
 * failed, and some that the test puts there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "support/allocations.h"
#include "support/leaks.h"
#include "support/memory_in_use.h"
#include "texts.h"
#include "worker/contenders.h"

static gs_contenders cache;
static gs_error      error;
static int           destroyed;

static int start(void **state)
{
    (void)state;
    cache = (gs_contenders){0};
    error = (gs_error){0};
    destroyed = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    gs_contenders_clear(&cache);
    return cache.count != 0 || cache.user.source || cache.base[0];
}

static void destroy(gs_contender *contender)
{
    (void)contender;
    destroyed++;
}

static gs_prepared *get(const char *name, const gs_problem *problem)
{
    gs_prepared *entry = NULL;
    if (gs_contenders_get(&cache, name, problem, &entry, &error) != GS_OK) fail_msg("%s: %s", name, error.text);
    return entry;
}

/* As if it had been tuned. */
static gs_prepared *tuned(const gs_problem *problem)
{
    gs_prepared *const entry = get("no/such", problem);
    snprintf(entry->name, sizeof entry->name, "cublaslt-autotuning");
    entry->status = GS_OK;
    entry->contender.destroy = destroy;
    return entry;
}

/* Which is prepared once, by name, layout and problem. */
static void one_for_each_name_and_layout(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:8x16x24:nn:ldb=20");
    gs_contenders_begin(&cache, &problem);
    gs_prepared *const first = get("source:1", &problem);
    assert_int_equal(first->status, GS_ERROR_NOT_FOUND);
    assert_string_equal(first->error.text, "source:1: the request does not bring it");
    assert_string_equal(first->error.field, "contender");
    assert_string_equal(first->name, "source:1");
    assert_string_equal(first->base, "f16:8x16x24:nn:ldb=20");
    assert_true(first->layout == GS_NN && first->problem.layout == GS_NN && first->problem.ldb == 20 && first->used == 1);
    gs_prepared *const unknown = get("no/such", &problem), *const turned = get("tn:no/such", &problem);
    assert_int_equal(unknown->status, GS_ERROR_PARSE);
    assert_true(turned->layout == GS_TN && turned->problem.layout == GS_TN && turned->problem.ldb == 28);   /* a row of K, with as much behind it */
    assert_string_equal(turned->name, "no/such");
    assert_int_equal(cache.count, 3);
    gs_contenders_begin(&cache, &problem);
    assert_ptr_equal(get("source:1", &problem), first);
    assert_ptr_equal(get("nn:no/such", &problem), unknown);
    assert_ptr_equal(get("tn:no/such", &problem), turned);
    assert_true(cache.count == 3 && first->used == 2 && cache.request == 2);
    gs_prepared *none;
    assert_int_equal(gs_contenders_get(&cache, "xx:no/such", &problem, &none, &error), GS_ERROR_PARSE);
    assert_string_equal(error.text, "xx:no/such: the layout before ':' is nn, tn or nothing");
    assert_int_equal(gs_contenders_get(&cache, "tn:", &problem, &none, &error), GS_ERROR_PARSE);
    assert_string_equal(error.text, "tn:: a name of 1 to 127 characters is needed");
    const gs_problem other = problem_of("f16:8x8x8:tt");
    assert_int_equal(gs_contenders_get(&cache, "nn:no/such", &other, &none, &error), GS_ERROR_PARSE);
    assert_string_equal(error.text, "nn:no/such: the layout before ':' is nt, tt or nothing");
    assert_int_equal(cache.count, 3);
}

/* Of another problem stays what took long: a few tuned ones, those used last. They are found again. */
static void what_another_problem_leaves(void **state)
{
    (void)state;
    const gs_problem first = problem_of("f16:8x8x8:nn"), second = problem_of("f16:8x8x16:nn");
    gs_prepared *list[GS_PREPARED_KEPT + 2];
    for (int i = 0; i < GS_PREPARED_KEPT + 2; i++) {
        char name[32];
        gs_contenders_begin(&cache, &first);
        list[i] = tuned(&first);
        snprintf(name, sizeof name, "f16:%dx9x9:nn", i + 1);
        snprintf(list[i]->base, sizeof list[i]->base, "%s", name);   /* each of a problem of its own */
    }
    gs_prepared *const failed = tuned(&first);
    failed->status = GS_ERROR_UNSUPPORTED;
    snprintf(failed->base, sizeof failed->base, "f16:99x9x9:nn");
    get("no/such", &first);
    assert_int_equal(cache.count, GS_PREPARED_KEPT + 4);
    gs_contenders_begin(&cache, &first);
    assert_int_equal(cache.count, GS_PREPARED_KEPT + 4);   /* the same problem */
    gs_contenders_begin(&cache, &second);
    assert_int_equal(cache.count, GS_PREPARED_KEPT);
    assert_int_equal(destroyed, 3);
    for (int i = 0; i < GS_PREPARED_KEPT; i++) assert_ptr_equal(cache.entry[i], list[GS_PREPARED_KEPT + 1 - i]);
    assert_string_equal(cache.base, "f16:8x8x16:nn");
    const gs_problem again = problem_of("f16:18x9x9:nn");
    gs_contenders_begin(&cache, &again);
    assert_ptr_equal(get("cublaslt-autotuning", &again), list[GS_PREPARED_KEPT + 1]);
}

static void what_makes_room(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:8x8x8:nn");
    char name[32];
    gs_prepared *entry;
    gs_contenders_begin(&cache, &problem);
    for (int i = 0; i < GS_PREPARED; i++) {
        snprintf(name, sizeof name, "source:%d", i);
        entry = get(name, &problem);
        entry->contender.destroy = destroy;
    }
    assert_int_equal(gs_contenders_get(&cache, "source:x", &problem, &entry, &error), GS_ERROR_RANGE);   /* none of the same request */
    snprintf(name, sizeof name, "more than %d contenders in one request", GS_PREPARED);
    assert_non_null(strstr(error.text, name));
    assert_string_equal(error.field, "contenders");
    gs_contenders_begin(&cache, &problem);
    for (int i = 0; i < GS_PREPARED; i++) {
        snprintf(name, sizeof name, "source:%d", i);
        if (i != 5) get(name, &problem);
    }
    assert_int_equal(destroyed, 0);
    entry = get("source:x", &problem);   /* in place of the one that was not used */
    assert_int_equal(destroyed, 1);
    assert_int_equal(cache.count, GS_PREPARED);
    for (int i = 0; i < GS_PREPARED; i++) assert_string_not_equal(cache.entry[i]->name, "source:5");
    assert_int_equal(gs_contenders_get(&cache, "source:5", &problem, &entry, &error), GS_ERROR_RANGE);
}

#define MANIFEST "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry mine\ngrid 1 1 1\nblock 32 1 1\n"

/* Another kernel, or none, takes with it what was prepared under such names; the same one leaves it. */
static void one_user_kernel(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:8x8x8:nn");
    gs_contenders_begin(&cache, &problem);
    assert_int_equal(gs_contenders_user_kernel(&cache, "source:1", "text", MANIFEST, &error), GS_OK);
    assert_string_equal(cache.user.name, "source:1");
    assert_string_equal(cache.user.kernel.name, "candidate.cu");
    assert_string_equal(cache.user.kernel.source, "text");
    assert_string_equal(cache.user.kernel.manifest.entry[0].name, "mine");
    const char *const source = cache.user.source;
    for (int i = 0; i < 5; i++) {
        static const char *const names[] = {"no/a", "source:2", "no/b", "source:3", "no/c"};
        get(names[i], &problem)->contender.destroy = destroy;
    }
    assert_int_equal(gs_contenders_user_kernel(&cache, "source:1", "text", MANIFEST, &error), GS_OK);
    assert_ptr_equal(cache.user.source, source);
    assert_int_equal(cache.count, 5);
    static const char *const others[][3] = {{"source:2", "text", MANIFEST}, {"source:2", "other", MANIFEST}, {"source:2", "other", MANIFEST "# other\n"}};
    for (size_t i = 0; i < GS_COUNT(others); i++) {
        assert_int_equal(gs_contenders_user_kernel(&cache, others[i][0], others[i][1], others[i][2], &error), GS_OK);
        assert_string_equal(cache.user.name, others[i][0]);
        assert_string_equal(cache.user.source, others[i][1]);
        assert_string_equal(cache.user.manifest, others[i][2]);
        assert_int_equal(cache.count, 3);
        assert_int_equal(destroyed, 2);
        for (int e = 0; e < 3; e++) assert_int_equal(strncmp(cache.entry[e]->name, "no/", 3), 0);
    }
    char lengthy[GS_CONTENDER_NAME + 1] = GS_USER_KERNEL;
    memset(lengthy + strlen(GS_USER_KERNEL), '1', sizeof lengthy - 1 - strlen(GS_USER_KERNEL));
    static const char *const wrong[] = {"", "mine", "source"};
    for (size_t i = 0; i <= GS_COUNT(wrong); i++) {
        assert_int_equal(gs_contenders_user_kernel(&cache, "source:1", "text", MANIFEST, &error), GS_OK);
        assert_int_equal(gs_contenders_user_kernel(&cache, i < GS_COUNT(wrong) ? wrong[i] : lengthy, "text", MANIFEST, &error), GS_ERROR_PARSE);
        assert_string_equal(error.field, "kernel");
        assert_non_null(strstr(error.text, "a name begins with source: and has less than 128 characters"));
        assert_true(!cache.user.source && !cache.user.name[0]);
    }
    assert_int_equal(gs_contenders_user_kernel(&cache, "source:1", "text", "nonsense", &error), GS_ERROR_PARSE);
    assert_true(!cache.user.source && !cache.user.name[0]);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) { return allocation_fails() ? NULL : __real_strdup(text); }

static void short_of_memory(void **state)
{
    (void)state;
    const gs_problem problem = problem_of("f16:8x8x8:nn");
    gs_prepared *entry = NULL;
    gs_contenders_begin(&cache, &problem);
    fail_at = 1;
    const gs_status status = gs_contenders_get(&cache, "source:1", &problem, &entry, &error);
    fail_at = 0;
    assert_int_equal(status, GS_ERROR_MEMORY);
    assert_string_equal(error.text, "no memory for a contender");
    assert_true(!entry && cache.count == 0);
    for (int i = 1; i <= 2; i++) {   /* its source, its manifest */
        fail_at = i;
        const gs_status lacks = gs_contenders_user_kernel(&cache, "source:1", "text", MANIFEST, &error);
        fail_at = 0;
        assert_int_equal(lacks, GS_ERROR_MEMORY);
        assert_true(!cache.user.source && !cache.user.manifest && !cache.user.name[0]);
    }
}

static void nothing_is_kept(void **state)
{
    (void)state;
    memory_watch watch = {0};
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        const gs_problem problem = problem_of(i % 2 ? "f16:8x8x8:nn" : "f16:8x8x16:nn");
        memory_round(&watch);
        gs_contenders_begin(&cache, &problem);
        assert_int_equal(gs_contenders_user_kernel(&cache, i % 2 ? "source:1" : "source:2", "text", MANIFEST, &error), GS_OK);
        get("source:3", &problem);
        get("no/such", &problem);
        tuned(&problem);
        gs_contenders_clear(&cache);
    }
    assert_false(memory_grows(&watch));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_for_each_name_and_layout), CASE(what_another_problem_leaves), CASE(what_makes_room), CASE(one_user_kernel),
        CASE(short_of_memory), CASE(nothing_is_kept),
    };
    return run_without_leaks("worker/contenders", tests, GS_COUNT(tests));
}

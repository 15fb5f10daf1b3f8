/* SPDX-License-Identifier: MIT
 * Proves a list that several tuners share, at a scripted worker: what others have or have done is theirs, what they leave is taken, what
 * they found is not searched again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/sql.h"
#include "tuning_list.h"

static gs_lessee lessee_of(const char *run, pid_t pid)
{
    gs_lessee who;
    gs_lessee_of(&who, run, pid);
    return who;
}

static gs_lease lease_of(const bench *b, const char *problem, const gs_lessee *who)
{
    gs_lease lease;
    assert_int_equal(gs_store_lease(b->store, b->session.device, problem, who, 100, &lease, NULL), GS_OK);
    return lease;
}

static void others_problems_are_left_to_them(void **state)
{
    bench *const b = *state;
    char script[160];
    const gs_lessee mine = lessee_of("run", getpid()), theirs = lessee_of("run", getppid()), strange = lessee_of("other run", getppid());
    gs_tune_options options = options_of(b);
    options.lessee = &mine;
    options.first = 2;
    assert_int_equal(lease_of(b, three[0], &theirs), GS_LEASE_TAKEN);
    assert_int_equal(gs_store_release(b->store, b->session.device, three[0], &theirs, true, NULL), GS_OK);
    assert_int_equal(lease_of(b, three[1], &strange), GS_LEASE_TAKEN);
    assert_int_equal(gs_store_release(b->store, b->session.device, three[1], &strange, true, NULL), GS_OK);
    snprintf(script, sizeof script, "library=1.5;log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &options), GS_OK);
    assert_int_equal(seen.times[0], 0);
    for (int i = 1; i < 3; i++) expect_best(b, i, three[i], 0);   /* what another run has done is not what this one was asked for */
    assert_int_equal(asked(b, "\"narrow\":true"), 2);
    assert_int_equal(winners(b), 2);
    for (int i = 0; i < 3; i++) assert_int_equal(lease_of(b, three[i], &theirs), GS_LEASE_DONE);
    assert_int_equal(list_with(b, three, 3, "mode=abort", &options), GS_OK);
    assert_int_equal(seen.count, 0);
}

typedef struct neighbour {
    bench    *b;
    gs_lessee who;
    int       looks;
} neighbour;

/* Another tuner gives back what it had, while this one waits for it. */
static void give_back(void *self, const gs_tune_progress *progress)
{
    neighbour *const n = self;
    if (progress->stage != GS_TUNE_OTHERS || ++n->looks != 2) return;
    assert_int_equal(progress->done, 2);
    assert_int_equal(winners(n->b), 2);   /* nobody waits with a batch of his own */
    assert_int_equal(gs_store_release(n->b->store, n->b->session.device, three[1], &n->who, false, NULL), GS_OK);
}

static void it_waits_for_what_others_have(void **state)
{
    bench *const b = *state;
    const gs_lessee mine = lessee_of("run", getpid());
    neighbour n = {.b = b, .who = lessee_of("run", getppid())};
    gs_tune_options options = options_of(b);
    options.lessee = &mine;
    options.progress = give_back;
    options.self = &n;
    assert_int_equal(lease_of(b, three[1], &n.who), GS_LEASE_TAKEN);
    assert_int_equal(list_with(b, three, 3, "library=1.5", &options), GS_OK);
    assert_int_equal(n.looks, 2);
    for (int i = 0; i < 3; i++) expect_best(b, i, three[i], 0);
}

static void stop_while_waiting(void *self, const gs_tune_progress *progress)
{
    (void)self;
    if (progress->stage == GS_TUNE_OTHERS) gs_stop_requested = 1;
}

static void waiting_ends_with_a_stop(void **state)
{
    bench *const b = *state;
    const gs_lessee mine = lessee_of("run", getpid()), theirs = lessee_of("run", getppid());
    gs_tune_options options = options_of(b);
    options.lessee = &mine;
    options.progress = stop_while_waiting;
    assert_int_equal(lease_of(b, three[0], &theirs), GS_LEASE_TAKEN);
    assert_int_equal(list_with(b, three, 2, "library=1.5", &options), GS_ERROR_INTERRUPTED);
    assert_int_equal(seen.times[0], 0);
    expect_best(b, 1, three[1], 0);

    gs_stop_requested = 0;
    options.progress = NULL;
    options.budget_s = 3;
    assert_int_equal(list_with(b, three, 2, "library=1.5", &options), GS_ERROR_INTERRUPTED);   /* or with the budget */
}

/* Another tuner wins the second problem while this one races the first; and is killed before it says that it is done. */
static void win_meanwhile(void *self, const gs_tune_progress *progress)
{
    neighbour *const n = self;
    answer best[CANDIDATES];
    gs_trial winner = {.us = 5, .library_us = 6, .ratio = 1.2, .low = 1.1, .high = 1.3, .rounds = 51, .stage = "confirm", .verdict = "pass"};
    if (progress->stage != GS_TUNE_RACE || strcmp(progress->problem, three[0]) != 0 || n->looks++ > 0) return;
    right_answers(three[1], best);
    snprintf(winner.problem, sizeof winner.problem, "%s", three[1]);
    snprintf(winner.candidate, sizeof winner.candidate, "%s", best[2].text);
    assert_int_equal(gs_store_win(n->b->store, &n->b->session, &winner, NULL), GS_OK);
    right_answers(three[2], best);
    put_found(n->b, n->b->session.version, three[2], best[1].text);
}

static void what_others_found_is_not_searched(void **state)
{
    bench *const b = *state;
    char script[160];
    const gs_lessee mine = lessee_of("run", getpid());
    neighbour n = {.b = b};
    gs_tune_options options = options_of(b);
    options.lessee = &mine;
    options.progress = win_meanwhile;
    options.self = &n;
    snprintf(script, sizeof script, "library=1.5;log=%s", b->log_path);
    assert_int_equal(list_with(b, three, 3, script, &options), GS_OK);
    assert_true(n.looks > 0);
    assert_int_equal(asked(b, "\"narrow\":true"), 1);
    assert_true(seen.result[1].resumed && seen.result[1].row.us == 5);
    answer best[CANDIDATES];
    right_answers(three[2], best);
    assert_string_equal(seen.result[2].best_own, best[1].text);
    assert_true(seen.result[2].confirmed && !seen.result[2].resumed);
}

static void what_ends_a_tuner_is_left_to_others(void **state)
{
    bench *const b = *state;
    const gs_lessee mine = lessee_of("run", getpid()), theirs = lessee_of("run", getppid());
    gs_tune_options options = options_of(b);
    options.lessee = &mine;
    seen.end_after = 1;
    assert_int_equal(list_with(b, three, 3, "reference=GS_ERROR_NO_LIBRARY", &options), GS_OK);
    seen.end_after = 0;
    assert_int_equal(seen.status[0], GS_ERROR_NO_LIBRARY);
    for (int i = 0; i < 3; i++) assert_int_equal(lease_of(b, three[i], &theirs), GS_LEASE_TAKEN);
}

/* What was found before stays; nobody goes on without leases. */
static void lose_the_leases(void *self, const gs_tune_progress *progress)
{
    bench *const b = self;
    if (progress->stage == GS_TUNE_CONFIRM) gs_sql_text_run(b->store, "DROP TABLE IF EXISTS lease");
}

static void a_store_that_fails_ends_the_list(void **state)
{
    static const char *const twice[] = {PROBLEM, "f16:256x512x1024:tn"};
    bench *const b = *state;
    char script[160];
    const gs_lessee mine = lessee_of("run", getpid()), theirs = lessee_of("run", getppid());
    gs_tune_options options = options_of(b);
    options.lessee = &mine;
    options.progress = lose_the_leases;
    options.self = b;
    assert_int_equal(lease_of(b, twice[1], &theirs), GS_LEASE_TAKEN);
    assert_int_equal(list_with(b, twice, 2, "library=1.5", &options), GS_ERROR_STORE);
    expect_best(b, 0, twice[0], 0);
    assert_int_equal(seen.times[1], 0);
    assert_int_equal(winners(b), 1);
    snprintf(script, sizeof script, "log=%s", b->log_path);
    assert_int_equal(list_with(b, twice, 2, script, &options), GS_ERROR_STORE);
    assert_int_equal(seen.count, 0);
    assert_false(gs_file_exists(b->log_path));   /* the worker was not asked */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(others_problems_are_left_to_them), CASE(it_waits_for_what_others_have), CASE(waiting_ends_with_a_stop),
        CASE(what_others_found_is_not_searched), CASE(what_ends_a_tuner_is_left_to_others),
        CASE(a_store_that_fails_ends_the_list),
    };
    return cmocka_run_group_tests_name("tune/shared", tests, NULL, NULL);
}

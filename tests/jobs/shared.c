/* SPDX-License-Identifier: MIT
 * Proves what a service does about others with the same store: their jobs are waited for and never evaluated twice, their answers are told
 * here, and what they leave is gone on with, where
 * it would have been accepted here as well. The other service is a connection of the test's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "serving.h"
#include "leaks.h"

#define ELSEWHERE "{\"verdict\":\"elsewhere\"}"
#define BAD_ID    "0123456789ABCDEF0123456789ABCDEF"

static void end_elsewhere(const char *request, bool failed)
{
    char id[GS_HASH_TEXT];
    CHECK(gs_store_job_end(s.store, id_of(id, request), ELSEWHERE, failed, &error));
}

static void leave_elsewhere(const char *request)
{
    char id[GS_HASH_TEXT];
    CHECK(gs_store_job_leave(s.store, id_of(id, request), &error));
}

static gs_service_found find(const char *request)
{
    char id[GS_HASH_TEXT];
    gs_service_found found;
    CHECK(gs_service_jobs_find(s.jobs, id_of(id, request), 0, &found, &error));
    return found;
}

static gs_status cancel(const char *request, gs_service_found *found)
{
    char id[GS_HASH_TEXT];
    return gs_service_jobs_cancel(s.jobs, id_of(id, request), found, &error);
}

static bool held_elsewhere(const gs_service_found *found)
{
    pthread_mutex_lock(&s.jobs->lock);
    const bool is = found->job->aside;
    pthread_mutex_unlock(&s.jobs->lock);
    return is;
}

static int waiting(void) { return gs_service_jobs_load(s.jobs, GS_JOBS_DEVICE).waiting; }

static void anothers_job_is_waited_for(void **state)
{
    char request[REQUEST], second[REQUEST];
    (void)state;
    serve("");
    claim(kernel(request, 1, "us=10"));
    claim(kernel(second, 2, "us=10"));
    gs_service_found found = accept_one(request), failed = accept_one(second);
    assert_true(held_elsewhere(&found) && held_elsewhere(&failed));
    assert_true(waiting() == 0 && count_open() == 2 && count_running() == 0);
    assert_true(counts()->accepted == 2 && counts()->joined == 0);
    look_now();   /* it is still at it */
    assert_true(held_elsewhere(&found));
    assert_false(gs_service_jobs_wait(s.jobs, &found, 0));
    end_elsewhere(request, false);
    end_elsewhere(second, true);
    look_now();
    expect_answer(&found, ELSEWHERE, false);
    expect_answer(&failed, ELSEWHERE, true);
    assert_true(counts()->shared == 2 && counts()->evaluated == 0);
    assert_int_equal(count_open(), 0);
    assert_null(s.jobs->aside);
    assert_int_equal(asked("\"op\""), 0);
}

/* Nobody asks for a look: an answer of another service is seen within a quarter of a second. */
static void an_answer_elsewhere_is_seen_soon(void **state)
{
    char request[REQUEST];
    (void)state;
    serve("");
    claim(kernel(request, 1, "us=10"));
    gs_service_found found = accept_one(request);
    end_elsewhere(request, false);
    const int64_t before = gs_clock_ns();
    expect_answer(&found, ELSEWHERE, false);
    assert_true(gs_clock_ns() - before < (int64_t)(1.5 * patience() * 1e9));
}

static void what_another_gives_up_is_gone_on_with(void **state)
{
    char request[REQUEST], gone[REQUEST];
    (void)state;
    serve("");
    claim(kernel(request, 1, "us=10"));
    claim(kernel(gone, 2, "us=10"));
    gs_service_found found = accept_one(request), lost = accept_one(gone);
    sql("DELETE FROM job WHERE request LIKE '%// 2%'");
    leave_elsewhere(request);
    look_now();
    expect_verdict(&found, "pass", false);
    expect_answer(&lost, "somebody took it out of the store", true);
    assert_int_equal(counts()->shared, 0);
    assert_int_equal(counts()->evaluated, 1);
    assert_int_equal(row_of(request).attempts, 1);
}

static void a_job_that_another_has_accepted_is_found_here(void **state)
{
    char request[REQUEST], busy[REQUEST];
    gs_service_found more;
    (void)state;
    serve("");
    claim(kernel(request, 1, "us=10"));
    CHECK(gs_store_jobs_put(s.store, &(gs_job){.id = BAD_ID, .device = "nvidia-h200", .request = request}, 1, &error));
    gs_service_found found = find(request);
    assert_true(found.job && !found.answer && !found.running && held_elsewhere(&found));
    more = find(request);
    assert_ptr_equal(more.job, found.job);
    gs_service_found_free(s.jobs, &more);
    assert_int_equal(count_open(), 1);
    assert_int_equal(gs_service_jobs_find(s.jobs, BAD_ID, 0, &more, &error), GS_ERROR_NOT_FOUND);   /* no id of ours: it is not waited for */
    assert_int_equal(count_open(), 1);
    CHECK(cancel(request, &more));   /* for the other one, too */
    assert_true(gs_service_jobs_wait(s.jobs, &more, 0));
    expect_verdict(&more, "cancelled", true);
    expect_verdict(&found, "cancelled", true);
    assert_null(s.jobs->aside);
    assert_true(counts()->cancelled == 1 && counts()->shared == 0);
    claim(kernel(busy, 2, "us=10"));
    gs_service_jobs_stop(s.jobs);
    char id[GS_HASH_TEXT];
    assert_int_equal(gs_service_jobs_find(s.jobs, id_of(id, busy), 0, &more, &error), GS_ERROR_NOT_FOUND);   /* nobody would look after it */
    assert_int_equal(count_open(), 0);
}

static void what_another_takes_on_meanwhile_is_left_to_it(void **state)
{
    char busy[REQUEST], request[REQUEST];
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), found = accept_one(kernel(request, 2, "us=10"));
    leave_elsewhere(request);   /* its lease has run out, say */
    claim(request);
    assert_false(held_elsewhere(&found));
    release(busy, &held);
    WAIT_FOR(held_elsewhere(&found));
    assert_int_equal(row_of(request).attempts, 0);
    assert_true(count_running() == 0 && count_open() == 1);
    end_elsewhere(request, false);
    look_now();
    expect_answer(&found, ELSEWHERE, false);
    assert_true(counts()->shared == 1 && counts()->evaluated == 0);
    assert_int_equal(asked("// 2"), 0);
}

static void an_answer_that_is_there_is_not_made_again(void **state)
{
    char busy[REQUEST], request[REQUEST];
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), found = accept_one(kernel(request, 2, "us=10"));
    end_elsewhere(request, false);
    claim(request);   /* taken on a moment later */
    release(busy, &held);
    expect_answer(&found, ELSEWHERE, false);
    assert_int_equal(asked("// 2"), 0);
    assert_true(counts()->evaluated == 0 && counts()->shared == 0);
    int64_t leases = -1;
    assert_int_equal(gs_sql_number(s.store, "SELECT count(*) FROM lease", &leases), 0);
    assert_int_equal(leases, 0);
}

static void the_first_answer_stands(void **state)
{
    char request[REQUEST];
    (void)state;
    serve("delay=150");
    gs_service_found found = accept_one(kernel(request, 1, "us=10"));
    WAIT_FOR(asked("\"op\":\"bench\"") > 0);
    end_elsewhere(request, false);
    expect_answer(&found, ELSEWHERE, false);
    assert_string_equal(row_of(request).answer, ELSEWHERE);
}

static void another_may_wait_longer(void **state)
{
    char busy[REQUEST], request[REQUEST], id[GS_HASH_TEXT];
    gs_service_found found;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1);
    CHECK(try_accept(kernel(request, 2, "us=10"), gs_date_ms() - 1, &found));
    CHECK(gs_store_job_keep(s.store, id_of(id, request), gs_date_ms() + 60000, &error));   /* the other service has told the store */
    release(busy, &held);
    expect_verdict(&found, "pass", false);
    assert_int_equal(counts()->expired, 0);
}

/* ---- what is left ---- */

static const char *strange;   /* what would not have been accepted here */

static bool ours(const char *scope, const char *device, const char *version, const char *request, const char *id)
{
    char wanted[GS_HASH_TEXT];
    assert_string_equal(scope, "the scope");
    assert_string_equal(device, "nvidia-h200");
    assert_string_equal(version, VERSION);
    if (strcmp(id, BAD_ID) != 0) assert_string_equal(id, id_of(wanted, request));
    return !strange || strcmp(request, strange) != 0;
}

static void what_nobody_has_any_more_is_taken_on(void **state)
{
    char left[REQUEST], other[REQUEST], kept[REQUEST], done[REQUEST];
    gs_service_found found;
    (void)state;
    s.options.ours = ours;
    s.options.scope = "the scope";
    serve("");
    look_no_more();
    put_job(kernel(left, 1, "us=10"));
    put_job(kernel(other, 2, "us=10"));
    put_job(kernel(done, 4, "us=10"));
    end_elsewhere(done, false);
    claim(kernel(kept, 3, "us=10"));
    CHECK(gs_store_jobs_put(s.store, &(gs_job){.id = BAD_ID, .device = "nvidia-h200", .request = left}, 1, &error));
    strange = other;
    look_now();
    assert_true(said("was left by another service: it is gone on with here"));
    found = find(left);
    expect_verdict(&found, "pass", false);
    WAIT_FOR(count_open() == 0);
    assert_true(row_of(other).open && row_of(other).attempts == 0);
    assert_true(row_of(kept).open && row_of(kept).attempts == 0);
    assert_int_equal(counts()->evaluated, 1);
    assert_int_equal(asked("// 2") + asked("// 3") + asked("// 4"), 0);
    strange = NULL;
}

static void without_knowing_ids_nothing_is_taken_on(void **state)
{
    char left[REQUEST];
    (void)state;
    serve("");
    put_job(kernel(left, 1, "us=10"));
    look_now();
    assert_int_equal(count_open(), 0);
    assert_true(row_of(left).open);
}

static void a_full_service_takes_on_no_more(void **state)
{
    char busy[REQUEST], left[REQUEST];
    gs_service_found found;
    (void)state;
    s.options.ours = ours;
    s.options.scope = "the scope";
    s.options.queue = 1;
    serve("");
    gs_service_found held = occupy(busy, 1);
    put_job(kernel(left, 2, "us=10"));
    look_now();
    assert_int_equal(count_open(), 1);
    release(busy, &held);
    look_now();
    found = find(left);
    expect_verdict(&found, "pass", false);
}

static void a_service_that_ends_leaves_its_jobs_to_others(void **state)
{
    char request[REQUEST], waits[REQUEST];
    bool mine = false;
    char id[GS_HASH_TEXT];
    (void)state;
    serve("delay=200");
    gs_service_found found = accept_one(kernel(request, 1, "us=10")), second = accept_one(kernel(waits, 2, "us=10"));
    CHECK(gs_store_jobs_claim(s.store, &(gs_job){.id = id_of(id, waits), .device = "nvidia-h200", .request = waits}, 1, another(), 60, &mine, &error));
    assert_false(mine);   /* as long as it lives */
    WAIT_FOR(asked("\"op\":\"bench\"") > 0);
    gs_service_jobs_stop(s.jobs);
    gs_service_found_free(s.jobs, &found);
    gs_service_found_free(s.jobs, &second);
    gs_service_jobs_free(&s.jobs);
    claim(waits);
    assert_true(row_of(waits).open);
}

/* ---- the store fails ---- */

static void leases_are_renewed_while_something_is_open(void **state)
{
    char busy[REQUEST];
    int64_t expires = 0;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1);
    sql("UPDATE lease SET expires = 5");
    look_now();
    assert_int_equal(gs_sql_number(s.store, "SELECT expires FROM lease", &expires), 0);
    assert_true(expires > gs_date_ms() + 20000 && expires <= gs_date_ms() + 30000);
    sql("ALTER TABLE lease RENAME TO lease_away");
    look_now();
    sql("ALTER TABLE lease_away RENAME TO lease");
    assert_true(said("other services may take this one's jobs for left: "));
    assert_true(said("what other services have done is not known: "));
    release(busy, &held);
    forget_what_was_said();
    sql("ALTER TABLE lease RENAME TO lease_away");
    look_now();   /* nothing is open: there is no lease to lose */
    sql("ALTER TABLE lease_away RENAME TO lease");
    assert_false(said("other services may take this one's jobs for left: "));
}

static void what_cannot_be_read_is_not_taken_for_ended(void **state)
{
    char request[REQUEST];
    (void)state;
    serve("");
    claim(kernel(request, 1, "us=10"));
    gs_service_found found = accept_one(request);
    break_store();
    look_now();
    mend_store();
    assert_true(said("what other services have done is not known: "));
    assert_true(held_elsewhere(&found));
    assert_int_equal(waiting(), 0);
    end_elsewhere(request, false);
    look_now();
    expect_answer(&found, ELSEWHERE, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(anothers_job_is_waited_for), TEST(an_answer_elsewhere_is_seen_soon), TEST(what_another_gives_up_is_gone_on_with),
        TEST(a_job_that_another_has_accepted_is_found_here), TEST(what_another_takes_on_meanwhile_is_left_to_it),
        TEST(an_answer_that_is_there_is_not_made_again), TEST(the_first_answer_stands), TEST(another_may_wait_longer),
        TEST(what_nobody_has_any_more_is_taken_on), TEST(without_knowing_ids_nothing_is_taken_on), TEST(a_full_service_takes_on_no_more),
        TEST(a_service_that_ends_leaves_its_jobs_to_others), TEST(leases_are_renewed_while_something_is_open),
        TEST(what_cannot_be_read_is_not_taken_for_ended)};
    return run_without_leaks("jobs/shared", tests, GS_COUNT(tests));
}

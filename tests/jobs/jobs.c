/* SPDX-License-Identifier: MIT
 * Proves what becomes of a job from its acceptance to its answer: who is told what, what stands in the store, what is counted, and that a job
 * which is refused, cancelled, too late or given up
 * leaves nothing behind; what a device says that fails, and how a service starts, stops and goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "leaks.h"
#include "serving.h"

#define SCHEDULE "{\"problem\":\"" PROBLEM "\",\"schedule\":\"simple\"}"
#define UNKNOWN  "0123456789abcdef0123456789abcdef"

static void expect_error(gs_status got, gs_status wanted, const char *field, const char *part)
{
    assert_int_equal(got, wanted);
    if (!strstr(error.text, part)) fail_msg("\"%s\" has no \"%s\"", error.text, part);
    assert_string_equal(error.field, field);
}

static gs_status find(const char *request, double wait_s, gs_service_found *found)
{
    char id[GS_HASH_TEXT];
    return gs_service_jobs_find(s.jobs, id_of(id, request), wait_s, found, &error);
}

static gs_status cancel(const char *request, gs_service_found *found)
{
    char id[GS_HASH_TEXT];
    return gs_service_jobs_cancel(s.jobs, id_of(id, request), found, &error);
}

/* ---- an answer ---- */

static void an_answer_is_kept_and_given_again(void **state)
{
    gs_service_device device[DEVICES];
    gs_service_found found;
    (void)state;
    serve("");
    found = accept_one(SCHEDULE);
    assert_non_null(found.job);
    assert_null(found.answer);
    expect_verdict(&found, "pass", false);
    assert_true(counts()->accepted == 1 && counts()->evaluated == 1 && counts()->passed == 1);
    assert_true(counts()->joined == 0 && counts()->refused == 0 && counts()->raced == 0 && counts()->cancelled == 0);
    assert_true(counts()->machine == 0 && counts()->repeated == 0);
    assert_true(counts()->busy_us > 0 && counts()->busy_us < 60 * 1000000);
    assert_int_equal(count_open(), 0);
    WAIT_FOR(count_running() == 0);
    const row kept = row_of(SCHEDULE);
    assert_true(!kept.open && !kept.failed && kept.attempts == 1);
    assert_non_null(strstr(kept.answer, "\"verdict\":\"pass\""));
    assert_int_equal(gs_service_jobs_devices(s.jobs, device), 1);
    assert_string_equal(device[0].name, "cuda:0");
    assert_true(!device[0].busy && !device[0].failing && device[0].done == 1 && device[0].busy_us > 0);
    const gs_jobs_load load = gs_service_jobs_load(s.jobs, GS_JOBS_DEVICE);
    assert_true(load.threads == 1 && load.waiting == 0 && load.working == 0 && load.done == 1 && load.busy_us == device[0].busy_us);

    found = accept_one(SCHEDULE);   /* once more: it is there at once */
    assert_string_equal(found.answer, kept.answer);
    assert_null(found.job);
    assert_true(gs_service_jobs_wait(s.jobs, &found, 0));
    gs_service_found_free(s.jobs, &found);
    assert_true(counts()->accepted == 1 && counts()->joined == 1 && counts()->evaluated == 1);
    CHECK(find(SCHEDULE, 0, &found));
    assert_string_equal(found.answer, kept.answer);
    assert_false(found.failed);
    gs_service_found_free(s.jobs, &found);
    assert_int_equal(asked("\"op\":\"verify\""), 1);
}

static void a_verdict_is_an_answer_as_well(void **state)
{
    (void)state;
    serve("");
    gs_service_found found = accept_kernel(1, "wrong");
    expect_verdict(&found, "exact", false);
    assert_true(counts()->evaluated == 1 && counts()->passed == 0 && counts()->machine == 0);
}

static void a_request_with_many_gets_each(void **state)
{
    char request[3][REQUEST];
    gs_service_item item[4];
    gs_service_found found[4];
    (void)state;
    serve("");
    item[0] = item_of(kernel(request[0], 1, "us=10"));
    item[1] = (gs_service_item){0};   /* no candidate: nothing to evaluate */
    item[2] = item_of(kernel(request[1], 2, "wrong"));
    item[3] = item_of(request[0]);    /* the same as the first */
    CHECK(gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = item, .count = 4}, found, &error));
    assert_true(!found[1].job && !found[1].answer);
    assert_ptr_equal(found[3].job, found[0].job);
    expect_verdict(&found[0], "pass", false);
    expect_verdict(&found[2], "exact", false);
    expect_verdict(&found[3], "pass", false);
    gs_service_found_free(s.jobs, &found[1]);
    assert_true(counts()->accepted == 2 && counts()->joined == 1 && counts()->evaluated == 2 && counts()->refused == 0);
    assert_int_equal(count_open(), 0);
}

static void another_request_with_the_same_id_is_refused(void **state)
{
    char request[REQUEST], other[REQUEST], third[REQUEST];
    gs_service_found found[3], one;
    (void)state;
    serve("");
    gs_service_item item[3] = {item_of(kernel(third, 3, "us=9")), item_of(kernel(request, 1, "us=10")), item_of(kernel(other, 2, "us=10"))};
    memcpy(item[2].id, item[1].id, sizeof item[2].id);
    expect_error(gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = item, .count = 3}, found, &error), GS_ERROR_CORRUPT, "id",
                 "another request has the same id");
    for (int i = 0; i < 3; i++) assert_true(!found[i].job && !found[i].answer);
    assert_int_equal(count_open(), 0);   /* all of them or none */
    assert_false(in_store(request) || in_store(third));
    assert_true(counts()->refused == 3 && counts()->accepted == 0);
    one = accept_one(request);
    expect_verdict(&one, "pass", false);
    expect_error(gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = &item[2], .count = 1}, found, &error), GS_ERROR_CORRUPT, "id",
                 "another request has the same id");
    assert_true(!found[0].job && !found[0].answer);
    gs_service_found held = occupy(request, 4);
    item[0] = item_of(request);
    memcpy(item[2].id, item[0].id, sizeof item[2].id);   /* of one that is open */
    expect_error(gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = &item[2], .count = 1}, found, &error), GS_ERROR_CORRUPT, "id",
                 "another request has the same id");
    assert_int_equal(count_open(), 1);
    release(request, &held);
}

static void who_asks_for_an_open_job_waits_with_the_others(void **state)
{
    char request[REQUEST];
    gs_service_found second, third;
    (void)state;
    serve("");
    gs_service_found first = occupy(request, 1);
    second = accept_one(request);
    assert_ptr_equal(second.job, first.job);
    assert_true(second.running);
    CHECK(find(request, 0, &third));
    assert_ptr_equal(third.job, first.job);
    assert_true(third.running && !third.answer);
    const int64_t before = gs_clock_ns();
    assert_false(gs_service_jobs_wait(s.jobs, &third, before + SECOND / 50));
    assert_true(gs_clock_ns() - before >= SECOND / 50);
    assert_true(third.running && !third.answer && !third.failed);
    assert_true(counts()->accepted == 1 && counts()->joined == 1);
    release(request, &first);
    expect_verdict(&second, "cancelled", true);
    expect_verdict(&third, "cancelled", true);
    assert_int_equal(count_open(), 0);
    CHECK(find(request, 0, &third));
    assert_true(third.failed && third.answer && !third.job);
    gs_service_found_free(s.jobs, &third);
    expect_error(gs_service_jobs_find(s.jobs, UNKNOWN, 1, &third, &error), GS_ERROR_NOT_FOUND, "id", "no such job");
    assert_true(!third.job && !third.answer);
}

/* ---- too many ---- */

static void a_full_queue_refuses_a_request_as_a_whole(void **state)
{
    char request[3][REQUEST], busy[REQUEST];
    gs_service_item item[3];
    gs_service_found found[3];
    (void)state;
    s.options.queue = 3;
    serve("");
    gs_service_found held = occupy(busy, 1);
    for (int i = 0; i < 3; i++) item[i] = item_of(kernel(request[i], 2 + i, "us=10"));
    expect_error(gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = item, .count = 3}, found, &error), GS_ERROR_TIMEOUT, "",
                 "3 candidates are waiting: come back later");
    for (int i = 0; i < 3; i++) assert_true(!found[i].job && !found[i].answer && !in_store(request[i]));
    assert_int_equal(count_open(), 1);
    assert_true(counts()->refused == 3 && counts()->accepted == 1 && counts()->joined == 0);
    CHECK(gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = item, .count = 2}, found, &error));
    assert_int_equal(count_open(), 3);
    assert_int_equal(gs_service_jobs_load(s.jobs, GS_JOBS_DEVICE).waiting, 2);
    release(busy, &held);
    for (int i = 0; i < 2; i++) expect_verdict(&found[i], "pass", false);
}

static void long_requests_are_refused_before_they_fill_the_memory(void **state)
{
    char request[REQUEST], busy[REQUEST];
    gs_service_found found;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1);
    pthread_mutex_lock(&s.jobs->lock);
    const int64_t before = s.jobs->bytes;
    s.jobs->bytes = ((int64_t)256 << 20) - (int64_t)strlen(kernel(request, 2, "us=10")) + 1;
    pthread_mutex_unlock(&s.jobs->lock);
    assert_int_equal(before, strlen(busy));
    expect_error(try_accept(request, 0, &found), GS_ERROR_TIMEOUT, "", "candidates of 256 MiB are waiting: come back later");
    pthread_mutex_lock(&s.jobs->lock);
    s.jobs->bytes--;
    pthread_mutex_unlock(&s.jobs->lock);
    found = accept_one(request);   /* just as much as there may be */
    pthread_mutex_lock(&s.jobs->lock);
    s.jobs->bytes = before + (int64_t)strlen(request);
    pthread_mutex_unlock(&s.jobs->lock);
    release(busy, &held);
    expect_verdict(&found, "pass", false);
    assert_int_equal(s.jobs->bytes, 0);
}

/* ---- nobody wants it any more ---- */

static void what_waits_is_cancelled_at_once(void **state)
{
    char busy[REQUEST], request[REQUEST];
    gs_service_found found;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), waits = accept_one(kernel(request, 2, "us=10"));
    CHECK(cancel(request, &found));
    assert_true(gs_service_jobs_wait(s.jobs, &found, 0));   /* done already */
    expect_answer(&found, "was cancelled before it was begun", true);
    expect_verdict(&waits, "cancelled", true);
    const row kept = row_of(request);
    assert_true(kept.failed && !kept.open && kept.attempts == 0);
    assert_int_equal(counts()->cancelled, 1);
    assert_int_equal(count_open(), 1);
    assert_int_equal(gs_service_jobs_load(s.jobs, GS_JOBS_DEVICE).waiting, 0);
    release(busy, &held);
    assert_int_equal(counts()->cancelled, 2);
    assert_true(counts()->evaluated == 0 && counts()->machine == 0 && counts()->expired == 0);
    assert_int_equal(asked("// 2"), 0);
    expect_error(gs_service_jobs_cancel(s.jobs, UNKNOWN, &found, &error), GS_ERROR_NOT_FOUND, "id", "no such job");
    found = accept_one(request);   /* whoever asks again has it evaluated */
    expect_verdict(&found, "pass", false);
    CHECK(cancel(request, &found));   /* too late: the answer stays */
    assert_null(found.job);
    expect_answer(&found, "\"verdict\":\"pass\"", false);
    assert_int_equal(counts()->cancelled, 2);
}

static void an_evaluation_is_cancelled_and_the_device_goes_on(void **state)
{
    char busy[REQUEST];
    gs_service_device device[DEVICES];
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), next = accept_kernel(2, "us=10");
    gs_service_jobs_devices(s.jobs, device);
    assert_true(device[0].busy && device[0].busy_us > 0);   /* a long job counts as it goes on */
    release(busy, &held);
    const row kept = row_of(busy);
    assert_true(kept.failed && kept.attempts == 1);
    expect_verdict(&next, "pass", false);
    gs_service_jobs_devices(s.jobs, device);
    assert_true(!device[0].failing && device[0].done == 2);
    assert_int_equal(counts()->repeated, 0);
}

static void what_nobody_waits_for_is_not_begun(void **state)
{
    char busy[REQUEST], late[REQUEST], wanted[REQUEST];
    gs_service_found found;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), again;
    CHECK(try_accept(kernel(late, 2, "us=10"), gs_date_ms() - 1, &found));
    CHECK(try_accept(kernel(wanted, 3, "us=10"), gs_date_ms() - 1, &again));
    assert_int_equal(row_of(wanted).expires < gs_date_ms(), 1);
    gs_service_found more;
    CHECK(find(wanted, 60, &more));   /* it is waited for again: the store knows, too */
    gs_service_found_free(s.jobs, &more);
    assert_true(row_of(wanted).expires > gs_date_ms() + 60000);
    release(busy, &held);
    expect_answer(&found, "was not begun before its deadline", true);
    expect_verdict(&again, "pass", false);
    assert_non_null(strstr(row_of(late).answer, "\"verdict\":\"deadline\""));
    assert_true(counts()->expired == 1 && counts()->machine == 0 && counts()->cancelled == 1 && counts()->evaluated == 1);
    assert_int_equal(asked("// 2"), 0);
}

static void somebody_who_asks_again_is_waited_for(void **state)
{
    char busy[REQUEST], request[REQUEST];
    gs_service_found found, more;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1);
    const int64_t now = gs_date_ms();
    CHECK(try_accept(kernel(request, 2, "us=10"), now + 1000, &found));
    CHECK(try_accept(request, now + 9000, &more));   /* a few seconds more are not written down */
    gs_service_found_free(s.jobs, &more);
    assert_int_equal(row_of(request).expires, now + 1000);
    CHECK(try_accept(request, now + 60000, &more));
    gs_service_found_free(s.jobs, &more);
    assert_int_equal(row_of(request).expires, now + 60000);
    CHECK(find(request, 0, &more));                  /* just looking */
    gs_service_found_free(s.jobs, &more);
    assert_int_equal(row_of(request).expires, now + 60000);
    CHECK(try_accept(request, 0, &more));
    gs_service_found_free(s.jobs, &more);
    assert_int_equal(row_of(request).expires, 0);
    release(busy, &held);
    expect_verdict(&found, "pass", false);
    const int64_t expiry = gs_service_jobs_expiry(2.5), at = gs_date_ms();
    assert_true(expiry >= at + 2500 && expiry <= at + 2500 + 15000);
}

static void an_evaluation_that_nobody_wants_gives_way(void **state)
{
    char busy[REQUEST];
    (void)state;
    serve("");
    gs_service_found held;
    CHECK(try_accept(kernel(busy, 1, "hang"), gs_date_ms() + 300, &held));
    WAIT_FOR(asked("\"op\":\"verify\"") > 0);
    WAIT_FOR(gs_date_ms() > held.job->expires);
    gs_clock_sleep_ns(SECOND / 4);
    assert_int_equal(count_running(), 1);   /* nothing else waits: it goes on */
    gs_service_found next = accept_kernel(2, "us=10");
    expect_verdict(&held, "deadline", true);
    expect_verdict(&next, "pass", false);
    assert_true(counts()->expired == 1 && counts()->cancelled == 0);
}

/* ---- the machine fails ---- */

static void a_worker_that_is_killed_is_not_the_candidates_fault(void **state)
{
    (void)state;
    serve("");
    gs_service_found found = accept_kernel(1, "kill");
    expect_answer(&found, "\"verdict\"", false);   /* twice in a row it may be */
    assert_true(counts()->repeated == 1 && counts()->evaluated == 1 && counts()->machine == 0);
    assert_true(said("is run again: its worker was killed"));
    found = accept_kernel(2, "crash");
    expect_verdict(&found, "fault", false);
    assert_int_equal(counts()->repeated, 1);
}

static void a_problem_that_cannot_be_evaluated_is_not_the_machines_fault(void **state)
{
    static const char empty[] = "{\"problem\":\"f16:0x16x16:tn\",\"schedule\":\"simple\"}", nonsense[] = "{\"problem\":\"nonsense\",\"schedule\":\"simple\"}";
    gs_service_device device[DEVICES];
    (void)state;
    serve("");
    gs_service_found found = accept_one(empty), second = accept_one(nonsense);
    expect_verdict(&found, "problem", true);
    expect_verdict(&second, "problem", true);
    assert_non_null(strstr(row_of(empty).answer, "\"problem\":\"f16:0x16x16:tn\""));
    gs_service_jobs_devices(s.jobs, device);
    assert_true(!device[0].failing && device[0].done == 2);
    assert_true(counts()->machine == 0 && counts()->repeated == 0 && counts()->evaluated == 0 && counts()->passed == 0 && counts()->expired == 0);
    assert_int_equal(asked("\"op\""), 0);
}

static void a_device_that_fails_is_said_to(void **state)
{
    gs_service_device device[DEVICES];
    char request[REQUEST];
    (void)state;
    serve("mode=exit");
    gs_service_found found = accept_one(kernel(request, 1, "us=10"));
    expect_verdict(&found, "machine", true);
    gs_service_jobs_devices(s.jobs, device);
    assert_true(device[0].failing);
    assert_true(counts()->machine == 1 && counts()->repeated == 1 && counts()->evaluated == 0 && counts()->cancelled == 0);
    assert_true(said("is run again: WORKER_DIED") || said("is run again: GS_ERROR_WORKER_DIED"));
    assert_true(row_of(request).failed);
    CHECK(find(request, 0, &found));
    assert_true(found.failed);
    gs_service_found_free(s.jobs, &found);
    setenv("FAKE_WORKER", "library_us=20", 1);
    found = accept_one(request);
    assert_null(found.answer);   /* nothing was said of the candidate: it is evaluated again */
    expect_verdict(&found, "pass", false);
    gs_service_jobs_devices(s.jobs, device);
    assert_false(device[0].failing);
    assert_false(row_of(request).failed);
    assert_true(counts()->accepted == 2 && counts()->joined == 0);
}

static void a_store_that_fails_is_waited_for(void **state)
{
    gs_service_device device[DEVICES];
    gs_service_found found, more;
    char request[REQUEST], other[REQUEST], id[GS_HASH_TEXT];
    (void)state;
    serve("delay=100");
    found = accept_one(kernel(request, 1, "us=10"));
    gs_service_found waits = accept_one(kernel(other, 2, "us=10"));
    WAIT_FOR(asked("\"op\":\"bench\"") > 0);
    break_store();
    gs_status status = cancel(other, &more);   /* cannot be kept */
    assert_true(status != GS_OK && error.text[0] && !more.job);
    WAIT_FOR((gs_service_jobs_devices(s.jobs, device), device[0].failing));
    assert_true(said(id_of(id, request)) && said(" waits: "));
    status = try_accept(kernel(other, 3, "us=10"), 0, &more);
    assert_true(status != GS_OK && error.text[0] && !more.job && !more.answer);
    assert_true(find(other, 0, &more) != GS_OK);
    assert_int_equal(count_open(), 2);
    assert_false(gs_service_jobs_wait(s.jobs, &found, gs_clock_ns()));
    mend_store();
    expect_verdict(&found, "pass", false);
    gs_service_jobs_devices(s.jobs, device);
    assert_false(device[0].failing);
    expect_verdict(&waits, "cancelled", true);   /* it was, and whoever took it saw that */
    assert_true(counts()->cancelled == 1 && counts()->refused == 1);
    assert_false(in_store(other));
}

static void an_answer_that_cannot_be_kept_is_made_again(void **state)
{
    (void)state;
    serve("");
    sql("CREATE TRIGGER refuse BEFORE UPDATE OF answer ON job BEGIN SELECT RAISE(ABORT, 'no answers today'); END");
    gs_service_found found = accept_kernel(1, "us=10");
    WAIT_FOR(said("no answers today"));
    sql("DROP TRIGGER refuse");
    expect_verdict(&found, "pass", false);
    assert_int_equal(counts()->evaluated, 1);
}

static void what_somebody_took_out_of_the_store_is_over(void **state)
{
    char busy[REQUEST], request[REQUEST];
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), found = accept_one(kernel(request, 2, "us=10"));
    sql("DELETE FROM job WHERE request LIKE '%// 2%'");
    release(busy, &held);
    expect_answer(&found, "somebody took it out of the store", true);
    assert_false(in_store(request));
    assert_int_equal(count_open(), 0);
}

/* ---- start and end ---- */

static void what_was_left_open_is_gone_on_with(void **state)
{
    char left[REQUEST], often[REQUEST], foreign[REQUEST], id[GS_HASH_TEXT], bad[REQUEST] = "{\"schedule\":\"simple\"}";
    gs_service_found found;
    (void)state;
    put_job(kernel(left, 1, "us=10"));
    put_job(kernel(often, 2, "us=10"));
    put_job(bad);
    for (int i = 0; i < GS_SERVICE_ATTEMPTS; i++) CHECK(gs_store_job_attempt(s.store, id_of(id, often), 1, &error));
    CHECK(gs_store_job_attempt(s.store, id_of(id, left), GS_SERVICE_ATTEMPTS - 1, &error));
    CHECK(gs_store_jobs_put(s.store, &(gs_job){.id = "0123456789ABCDEF0123456789ABCDEF", .device = "nvidia-h200", .request = SCHEDULE}, 1, &error));
    CHECK(gs_store_jobs_put(s.store, &(gs_job){.id = id_of(id, kernel(foreign, 3, "us=10")), .device = "nvidia-b200", .request = foreign}, 1, &error));
    serve("");
    WAIT_FOR(count_open() == 0);
    CHECK(find(left, 0, &found));
    expect_verdict(&found, "pass", false);
    CHECK(find(often, 0, &found));
    expect_answer(&found, "was begun 5 times, and the service ended each time", true);
    CHECK(find(bad, 0, &found));
    expect_answer(&found, "cannot be read", true);
    assert_true(row_of(foreign).open);   /* another device's */
    assert_true(counts()->evaluated == 1 && counts()->machine == 1 && counts()->accepted == 0);
}

static void a_service_that_stops_tells_all_who_wait(void **state)
{
    char busy[REQUEST], request[REQUEST];
    gs_service_found more;
    (void)state;
    serve("delay=200");
    gs_service_found found = accept_one(kernel(busy, 1, "us=10")), waits = accept_one(kernel(request, 2, "us=10"));
    WAIT_FOR(asked("\"op\":\"bench\"") > 0);
    gs_service_jobs_stop(s.jobs);
    assert_true(gs_service_jobs_stopping(s.jobs));
    expect_verdict(&found, "pass", false);   /* what was under way was finished */
    assert_true(gs_service_jobs_wait(s.jobs, &waits, gs_clock_ns() + 10 * SECOND));
    assert_true(!waits.answer && !waits.failed && !waits.running);
    gs_service_found_free(s.jobs, &waits);
    assert_int_equal(count_open(), 1);
    expect_error(try_accept(kernel(busy, 3, "us=10"), 0, &more), GS_ERROR_INTERRUPTED, "", "the service stops");
    assert_true(row_of(request).open && row_of(request).attempts == 0);
    gs_service_jobs_free(&s.jobs);
    assert_null(s.jobs);
    assert_int_equal(s.closed, 1);
    serve("");   /* the next one goes on with it, and waits for nobody's lease */
    CHECK(find(request, 0, &found));
    expect_verdict(&found, "pass", false);
}

static void what_is_killed_with_the_service_is_begun_again(void **state)
{
    char request[REQUEST];
    gs_service_device device[DEVICES];
    (void)state;
    serve("start=200");
    gs_service_found found = accept_one(kernel(request, 1, "kill"));
    WAIT_FOR((gs_service_jobs_devices(s.jobs, device), device[0].busy && row_of(request).attempts == 1));
    gs_service_jobs_stop(s.jobs);
    assert_true(gs_service_jobs_wait(s.jobs, &found, 0));
    assert_null(found.answer);
    gs_service_found_free(s.jobs, &found);
    const row left = row_of(request);
    assert_true(left.open && left.attempts == 0);   /* not counted: the service ended */
    assert_true(counts()->evaluated == 0 && counts()->machine == 0 && counts()->repeated == 0);
}

static void a_service_that_cannot_start_leaves_nothing(void **state)
{
    (void)state;
    s.options.devices = 2;
    s.fails = 2;
    expect_error(try_serve(""), GS_ERROR_NO_DEVICE, "", "there is no device 1");
    assert_null(s.jobs);
    assert_int_equal(s.closed, 1);
    s.fails = 0;
    s.differs = "nvidia-b200";
    expect_error(try_serve(""), GS_ERROR_ARGUMENT, "devices", "cuda:1 is nvidia-b200 and cuda:0 is nvidia-h200; rewards of different GPUs are never mixed");
    assert_null(s.jobs);
    assert_int_equal(s.closed, 3);
    s.differs = NULL;
    break_store();
    assert_true(try_serve("") != GS_OK && error.text[0]);   /* which jobs are open cannot be read */
    assert_null(s.jobs);
    assert_int_equal(s.closed, 5);
    mend_store();
    s.options.store = "/nonexistent/folder/store.db";
    s.options.prepare = 1;
    assert_true(try_serve("") != GS_OK && error.text[0]);
    assert_null(s.jobs);
    assert_int_equal(s.closed, 7);
    s.options.prepare = 0;
    assert_true(try_serve("") != GS_OK && error.text[0]);   /* the keeper's */
    assert_null(s.jobs);
    assert_int_equal(s.closed, 9);
    gs_service_jobs_free(&s.jobs);   /* nothing */
}

static void two_devices_share_the_work(void **state)
{
    char busy[REQUEST];
    gs_service_device device[DEVICES];
    (void)state;
    s.options.devices = 2;
    serve("");
    assert_int_equal(gs_service_jobs_load(s.jobs, GS_JOBS_DEVICE).threads, 2);
    assert_string_equal(gs_service_jobs_slug(s.jobs), "nvidia-h200");
    assert_string_equal(gs_service_jobs_version(s.jobs), VERSION);
    assert_int_equal(gs_service_jobs_caps(s.jobs)->sms, gs_caps_find("h200")->sms);
    gs_service_found held = occupy(busy, 1), found = accept_kernel(2, "us=10");
    expect_verdict(&found, "pass", false);
    assert_int_equal(gs_service_jobs_devices(s.jobs, device), 2);
    assert_string_equal(device[1].name, "cuda:1");
    assert_int_equal(device[0].done + device[1].done, 1);
    assert_int_equal(device[0].busy + device[1].busy, 1);
    release(busy, &held);
}

/* ---- what the store knows ---- */

static void old_answers_are_forgotten(void **state)
{
    (void)state;
    serve("");
    gs_service_found found = accept_one(SCHEDULE);
    expect_verdict(&found, "pass", false);
    gs_service_jobs_free(&s.jobs);
    sql("UPDATE job SET date = '2001-01-01T00:00:00Z'");
    s.options.keep_s = 3600;
    serve("");
    WAIT_FOR(counts()->forgotten == 1);
    assert_false(in_store(SCHEDULE));
    found = accept_one(SCHEDULE);   /* evaluated anew, and not forgotten so soon */
    expect_verdict(&found, "pass", false);
    look_now();
    assert_true(in_store(SCHEDULE));
}

static void the_librarys_time_is_known_once_it_was_measured(void **state)
{
    double us = 7;
    gs_problem problem;
    (void)state;
    serve("");
    CHECK(gs_problem_parse(&problem, PROBLEM, &error));
    assert_int_equal(gs_service_jobs_library(s.jobs, &problem, &us, &error), GS_ERROR_NOT_FOUND);
    gs_service_found found = accept_one(SCHEDULE);
    expect_verdict(&found, "pass", false);
    CHECK(gs_service_jobs_library(s.jobs, &problem, &us, &error));
    assert_true(us > 0.1 && us < 1e6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_kept_and_given_again), TEST(a_verdict_is_an_answer_as_well), TEST(a_request_with_many_gets_each),
        TEST(another_request_with_the_same_id_is_refused), TEST(who_asks_for_an_open_job_waits_with_the_others),
        TEST(a_full_queue_refuses_a_request_as_a_whole), TEST(long_requests_are_refused_before_they_fill_the_memory),
        TEST(what_waits_is_cancelled_at_once), TEST(an_evaluation_is_cancelled_and_the_device_goes_on), TEST(what_nobody_waits_for_is_not_begun),
        TEST(somebody_who_asks_again_is_waited_for), TEST(an_evaluation_that_nobody_wants_gives_way),
        TEST(a_worker_that_is_killed_is_not_the_candidates_fault), TEST(a_problem_that_cannot_be_evaluated_is_not_the_machines_fault),
        TEST(a_device_that_fails_is_said_to), TEST(a_store_that_fails_is_waited_for), TEST(an_answer_that_cannot_be_kept_is_made_again),
        TEST(what_somebody_took_out_of_the_store_is_over), TEST(what_was_left_open_is_gone_on_with), TEST(a_service_that_stops_tells_all_who_wait),
        TEST(what_is_killed_with_the_service_is_begun_again), TEST(a_service_that_cannot_start_leaves_nothing), TEST(two_devices_share_the_work),
        TEST(old_answers_are_forgotten), TEST(the_librarys_time_is_known_once_it_was_measured)};
    return run_without_leaks("jobs/jobs", tests, GS_COUNT(tests));
}

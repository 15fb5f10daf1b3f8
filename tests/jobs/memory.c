/* SPDX-License-Identifier: MIT
 * Proves that a service which runs out of memory says so, promises nothing that it does not keep, and goes on once there is memory again: each
 * allocation of a call fails in turn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "serving.h"
#include "leaks.h"

/* ---- memory that fails on demand: linked with --wrap ---- */

static int  fail_at;      /* the how many-th from now on fails; 0: none */
static bool everywhere;   /* in all threads; else in the caller's and the keeper's: a device at work needs memory at times of its own */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

static bool fails(void)
{
    if (fail_at == 0 || (!everywhere && gettid() != getpid() && !(s.jobs && pthread_equal(pthread_self(), s.jobs->keeper)))) return false;
    return --fail_at == 0;
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return fails() ? NULL : __real_realloc(memory, size); }
char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }

/* ---- the service ---- */

#define MOST 200   /* allocations of a call */

/* Whether the call that follows this failed for want of memory; with n = 1, 2, ... until it does not. */
#define FAILS(n, call) (fail_at = (n), status = (call), over = fail_at > 0, fail_at = 0, !over)

static void a_service_starts_or_says_that_there_is_no_memory(void **state)
{
    gs_status status;
    bool over;
    (void)state;
    everywhere = true;
    setenv("FAKE_WORKER", "", 1);
    fail_at = 1;
    assert_int_equal(gs_service_jobs_start(&s.jobs, &s.options, &error), GS_ERROR_MEMORY);
    fail_at = 0;
    assert_null(s.jobs);
    assert_string_equal(error.text, "no memory for the service");
    int n = 1;
    for (; n < MOST && FAILS(n, gs_service_jobs_start(&s.jobs, &s.options, &error)); n++) {
        if (status != GS_OK) assert_true(status == GS_ERROR_MEMORY && error.text[0] && !s.jobs);
        gs_service_jobs_free(&s.jobs);
    }
    everywhere = false;
    assert_true(n > 1 && n < MOST);
    assert_int_equal(status, GS_OK);
}

static void what_cannot_be_promised_is_refused(void **state)
{
    char busy[REQUEST], request[2][REQUEST];
    gs_service_item item[2];
    gs_service_found found[2];
    gs_status status;
    bool over;
    int n = 1, refused = 0;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1);
    for (int i = 0; i < 2; i++) item[i] = item_of(kernel(request[i], 2 + i, "us=10"));
    look_now();   /* the next one is seconds away, and needs no memory meanwhile */
    const gs_service_request both = {.item = item, .count = 2};
    for (; n < MOST && FAILS(n, gs_service_jobs_accept(s.jobs, &both, found, &error)) && status != GS_OK; n++) {
        assert_int_equal(status, GS_ERROR_MEMORY);
        assert_true(error.text[0] != '\0' && count_open() == 1);
        for (int i = 0; i < 2; i++) assert_true(!found[i].job && !found[i].answer && !in_store(request[i]));
        refused += 2;
    }
    assert_true(refused >= 8 && n < MOST);   /* each job, and what is put into the store */
    assert_int_equal(status, GS_OK);
    assert_int_equal(counts()->refused, refused);
    release(busy, &held);
    for (int i = 0; i < 2; i++) expect_verdict(&found[i], "pass", false);
}

static void an_answer_that_does_not_fit_is_given_later(void **state)
{
    char request[REQUEST], id[GS_HASH_TEXT];
    gs_service_found found;
    gs_status status;
    bool over;
    int n = 1;
    (void)state;
    serve("");
    gs_service_found first = accept_one(kernel(request, 1, "us=10"));
    expect_verdict(&first, "pass", false);
    id_of(id, request);
    look_now();
    for (; n < MOST && FAILS(n, gs_service_jobs_find(s.jobs, id, 0, &found, &error)); n++) {
        assert_int_equal(status, GS_ERROR_MEMORY);
        assert_string_equal(error.text, "no memory for an answer");
        assert_true(!found.job && !found.answer);
    }
    assert_true(n > 1 && n < MOST);
    CHECK(status);
    expect_verdict(&found, "pass", false);
    for (n = 1; n < MOST && FAILS(n, try_accept(request, 0, &found)); n++) assert_true(status == GS_ERROR_MEMORY && !found.answer);
    assert_true(n > 1 && n < MOST);
    CHECK(status);
    expect_verdict(&found, "pass", false);
}

/* The job stays what it is: whoever takes it sees that it was cancelled. */
static void a_job_that_cannot_be_ended_is_cancelled_all_the_same(void **state)
{
    char busy[REQUEST], request[REQUEST], id[GS_HASH_TEXT];
    gs_service_found found;
    (void)state;
    serve("");
    gs_service_found held = occupy(busy, 1), waits = accept_one(kernel(request, 2, "us=10"));
    look_now();
    fail_at = 1;
    CHECK(gs_service_jobs_cancel(s.jobs, id_of(id, request), &found, &error));
    assert_int_equal(fail_at, 0);
    assert_false(gs_service_jobs_wait(s.jobs, &found, 0));
    gs_service_found_free(s.jobs, &found);
    assert_int_equal(counts()->cancelled, 0);
    assert_int_equal(gs_service_jobs_load(s.jobs, GS_JOBS_DEVICE).waiting, 1);
    release(busy, &held);
    expect_verdict(&waits, "cancelled", true);
    assert_int_equal(asked("// 2"), 0);
}

static void a_look_at_other_services_that_fails_is_had_again(void **state)
{
    enum { FOREIGN = 9 };
    char request[FOREIGN][REQUEST];
    gs_service_found found[FOREIGN];
    (void)state;
    s.options.queue = 2 * FOREIGN;
    serve("");
    for (int i = 0; i < FOREIGN; i++) {
        claim(kernel(request[i], i, "us=10"));
        found[i] = accept_one(request[i]);
    }
    for (int n = 1; n < 12; n++) {
        fail_at = n;
        look_now();
        fail_at = 0;
        for (int i = 0; i < FOREIGN; i++) assert_false(gs_service_jobs_wait(s.jobs, &found[i], 0));
    }
    assert_true(said("what other services have done is not known: no memory"));
    for (int i = 0; i < FOREIGN; i++) {
        char id[GS_HASH_TEXT];
        CHECK(gs_store_job_end(s.store, id_of(id, request[i]), "{}", false, &error));
    }
    for (int n = 1; n < 12; n++) {
        fail_at = n;
        look_now();
        fail_at = 0;
    }
    look_now();
    for (int i = 0; i < FOREIGN; i++) expect_answer(&found[i], "{}", false);
    assert_int_equal(counts()->shared, FOREIGN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_service_starts_or_says_that_there_is_no_memory), TEST(what_cannot_be_promised_is_refused),
        TEST(an_answer_that_does_not_fit_is_given_later), TEST(a_job_that_cannot_be_ended_is_cancelled_all_the_same),
        TEST(a_look_at_other_services_that_fails_is_had_again)};
    return run_without_leaks("jobs/memory", tests, GS_COUNT(tests));
}

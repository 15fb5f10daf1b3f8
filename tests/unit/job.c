/* SPDX-License-Identifier: MIT
 * Proves that jobs are put all or none, come back in their order, keep their answer for ever unless it is the machine's failure, and stay out of copies;
 * and that a store from before there were jobs gets them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "store/sql.h"
#include "store/store.h"
#include "store_folder.h"

static gs_store *open_store(const char *name)
{
    char path[GS_PATH];
    gs_store *store;
    CHECK(gs_store_open(&store, path_of(path, name), &error));
    return store;
}

static gs_status put(gs_store *store, const char *id, const char *request)
{
    return gs_store_jobs_put(store, &(gs_job){.id = id, .device = DEVICE, .request = request}, 1, &error);
}

/* "request|attempts|answer|failed" of a job, or the ids that are open. */
typedef struct told {
    char text[512];
} told;

static void tell(void *self, const gs_job *job)
{
    told *const t = self;
    const size_t size = strlen(t->text);
    if (job->request)
        snprintf(t->text + size, sizeof t->text - size, "%s|%d|%s|%d", job->request, job->attempts, job->answer ? job->answer : "-", job->failed);
    else
        snprintf(t->text + size, sizeof t->text - size, "%s ", job->id);
}

static void expect_job(gs_store *store, const char *id, const char *wanted)
{
    told got = {0};
    CHECK(gs_store_job_get(store, id, tell, &got, &error));
    assert_string_equal(got.text, wanted);
}

static void expect_open(gs_store *store, const char *wanted)
{
    told got = {0};
    CHECK(gs_store_jobs_open(store, DEVICE, tell, &got, &error));
    assert_string_equal(got.text, wanted);
}

static void an_answer_stays(void **state)
{
    (void)state;
    gs_store *store = open_store("jobs.db");
    CHECK(put(store, "b", "first"));
    CHECK(put(store, "a", "second"));
    CHECK(put(store, "b", "again"));                       /* is there */
    CHECK(gs_store_jobs_put(store, &(gs_job){.id = "c", .device = "nvidia-b200", .request = "r"}, 1, &error));
    expect_open(store, "b a ");
    expect_job(store, "b", "first|0|-|0");
    CHECK(gs_store_job_attempt(store, "b", 1, &error));
    CHECK(gs_store_job_attempt(store, "b", 1, &error));
    CHECK(gs_store_job_attempt(store, "b", -1, &error));
    CHECK(gs_store_job_attempt(store, "a", -1, &error));   /* not below none */
    expect_job(store, "a", "second|0|-|0");
    CHECK(gs_store_job_end(store, "b", "yes", false, &error));
    CHECK(gs_store_job_end(store, "b", "no", false, &error));
    CHECK(gs_store_job_attempt(store, "b", 1, &error));
    CHECK(put(store, "b", "first"));
    expect_job(store, "b", "first|1|yes|0");
    gs_store_close(&store);
    store = open_store("jobs.db");
    expect_open(store, "a ");
    assert_int_equal(gs_store_job_get(store, "none", tell, &(told){0}, &error), GS_ERROR_NOT_FOUND);
    gs_store_close(&store);
}

static void a_failure_of_the_machine_is_open_again_when_asked_again(void **state)
{
    (void)state;
    gs_store *store = open_store("failed.db");
    CHECK(put(store, "a", "r"));
    CHECK(gs_store_job_attempt(store, "a", 1, &error));
    CHECK(gs_store_job_end(store, "a", "machine", true, &error));
    expect_open(store, "");
    expect_job(store, "a", "r|1|machine|1");
    CHECK(put(store, "a", "another"));                     /* the same id by accident */
    expect_job(store, "a", "r|1|machine|1");
    CHECK(put(store, "a", "r"));
    expect_job(store, "a", "r|0|-|0");
    expect_open(store, "a ");
    gs_store_close(&store);
}

static void all_or_none(void **state)
{
    (void)state;
    gs_store *store = open_store("all.db");
    const gs_job jobs[] = {{.id = "a", .device = DEVICE, .request = "r"}, {.id = "b", .device = DEVICE, .request = "r"}, {.id = "c", .device = DEVICE}};
    assert_int_equal(gs_store_jobs_put(store, jobs, 3, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "request");
    expect_open(store, "");
    assert_int_equal(gs_sql_text_run(store, "CREATE TRIGGER no BEFORE INSERT ON job WHEN new.id = 'b' BEGIN SELECT raise(ABORT, 'no'); END"), SQLITE_OK);
    assert_int_equal(gs_store_jobs_put(store, jobs, 2, &error), GS_ERROR_STORE);
    expect_open(store, "");                                /* not even the first */
    CHECK(gs_store_jobs_put(store, jobs, 1, &error));
    expect_open(store, "a ");
    assert_int_equal(put(store, "", "r"), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_job_end(store, "a", "", false, &error), GS_ERROR_ARGUMENT);
    gs_store_close(&store);
}

static void an_older_store_gets_the_table_and_copies_leave_it(void **state)
{
    (void)state;
    char path[GS_PATH];
    gs_store *store = open_store("older.db");
    int64_t version;
    assert_int_equal(gs_sql_text_run(store, "DROP TABLE job; PRAGMA user_version = 3"), SQLITE_OK);
    gs_store_close(&store);
    store = open_store("older.db");
    assert_int_equal(gs_sql_number(store, "PRAGMA user_version", &version), SQLITE_OK);
    assert_true(version >= 4);
    CHECK(put(store, "a", "r"));
    gs_store *copy = open_store("copy.db");
    CHECK(gs_store_merge(copy, path_of(path, "older.db"), NULL, &error));
    expect_open(copy, "");
    gs_store_close(&copy);
    gs_store_close(&store);
}

static void the_library_s_newest_time(void **state)
{
    (void)state;
    gs_store *store = open_store("library.db");
    gs_session session = {.command = "test", .device = DEVICE};
    double us = 1;
    CHECK(gs_store_begin(store, &session, &error));
    assert_int_equal(gs_store_library_us(store, DEVICE, "f16:64x64x64:tn", &us, &error), GS_ERROR_NOT_FOUND);
    assert_true(us == 0);
    gs_trial trial = {.problem = "f16:64x64x64:tn", .candidate = "simple", .us = 2, .library_us = 3, .date = "2026-01-02T00:00:00Z"};
    CHECK(gs_store_put(store, &session, &trial, &error));
    trial = (gs_trial){.problem = "f16:64x64x64:tn", .candidate = "mma/16x16x64/w1x1/s2/g1", .us = 2, .library_us = 5, .date = "2026-01-01T00:00:00Z"};
    CHECK(gs_store_put(store, &session, &trial, &error));
    trial = (gs_trial){.problem = "f16:64x64x64:tn", .candidate = "source:1", .verdict = "exact", .date = "2026-01-03T00:00:00Z"};
    CHECK(gs_store_put(store, &session, &trial, &error));
    CHECK(gs_store_library_us(store, DEVICE, "f16:64x64x64:tn", &us, &error));
    assert_true(us == 3);
    assert_int_equal(gs_store_library_us(store, "nvidia-b200", "f16:64x64x64:tn", &us, &error), GS_ERROR_NOT_FOUND);
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_stays),
        cmocka_unit_test(a_failure_of_the_machine_is_open_again_when_asked_again),
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(an_older_store_gets_the_table_and_copies_leave_it),
        cmocka_unit_test(the_library_s_newest_time),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

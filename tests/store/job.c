/* SPDX-License-Identifier: MIT
 * Proves that jobs are put all or none, come back in their order, keep their answer for ever unless it is the machine's failure, and stay out of copies;
 * that of services that share a store each job has one, and another one once it is gone; and that a store from before there were jobs gets them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "leaks.h"
#include "store/sql.h"
#include "store/store.h"
#include "store_folder.h"

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
    CHECK(gs_store_jobs_open(store, DEVICE, NULL, tell, &got, &error));
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
    assert_int_equal(gs_sql_text_run(store, store_server() ? "ALTER TABLE job ADD CHECK (id <> 'b')" : "CREATE TRIGGER no BEFORE INSERT ON job WHEN new.id = 'b' BEGIN SELECT raise(ABORT, 'no'); END"), SQLITE_OK);
    assert_int_equal(gs_store_jobs_put(store, jobs, 2, &error), GS_ERROR_STORE);
    expect_open(store, "");                                /* not even the first */
    CHECK(gs_store_jobs_put(store, jobs, 1, &error));
    expect_open(store, "a ");
    assert_int_equal(put(store, "", "r"), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_store_job_end(store, "a", "", false, &error), GS_ERROR_ARGUMENT);
    gs_store_close(&store);
}

static void prune(gs_store *store, const char *before, int most, int64_t *after, int wanted, bool wanted_more)
{
    int removed;
    bool more;
    CHECK(gs_store_jobs_prune(store, before, most, after, &removed, &more, &error));
    assert_int_equal(removed, wanted);
    assert_int_equal(more, wanted_more);
}

static int count_jobs(gs_store *store)
{
    int64_t count;
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM job", &count), SQLITE_OK);
    return (int)count;
}

/* The clock is the test's: dates are written into the rows. */
static void old_answers_are_forgotten_and_open_jobs_never(void **state)
{
    (void)state;
    gs_store *store = open_store("old.db");
    int64_t after = 0;
    int removed;
    bool more;
    prune(store, "2026-06-01T00:00:00Z", 3, &after, 0, false);
    for (int i = 0; i < 10; i++) {
        char id[8];
        snprintf(id, sizeof id, "j%d", i);
        CHECK(put(store, id, "r"));
        if (i != 1) CHECK(gs_store_job_end(store, id, "yes", i == 2, &error));
    }
    int64_t of_today;
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM job WHERE date > '2026-01-01' AND date < '2100'", &of_today), SQLITE_OK);
    assert_int_equal(of_today, 10);
    prune(store, "2000-01-01T00:00:00Z", 3, &after, 0, false);   /* all are younger: it looks no further */
    assert_int_equal(after, 0);
    assert_int_equal(gs_sql_text_run(store, "UPDATE job SET date = '2001-01-0' || number || 'T00:00:00Z' WHERE number < 10;"
                                            "UPDATE job SET date = '2030-01-01T00:00:00Z' WHERE id = 'j3'"), SQLITE_OK);   /* came early, was answered late */
    prune(store, "2001-01-07T00:00:00Z", 3, &after, 2, true);     /* j0, j2; j1 is open */
    assert_int_equal(after, 3);
    prune(store, "2001-01-07T00:00:00Z", 3, &after, 2, true);     /* j4, j5 */
    prune(store, "2001-01-07T00:00:00Z", 3, &after, 0, false);
    after = 0;
    prune(store, "2001-01-07T00:00:00Z", 100, &after, 0, false);
    assert_int_equal(count_jobs(store), 6);
    expect_open(store, "j1 ");
    prune(store, "2100-01-01T00:00:00Z", 100, &(int64_t){0}, 5, false);
    expect_open(store, "j1 ");
    CHECK(put(store, "j0", "r"));                                  /* is new again */
    expect_open(store, "j1 j0 ");
    assert_int_equal(gs_store_jobs_prune(store, "2100", 0, &after, &removed, &more, &error), GS_ERROR_ARGUMENT);
    gs_store_close(&store);
}

static void an_older_store_gets_the_table_and_copies_leave_it(void **state)
{
    FILES_ONLY();
    (void)state;
    char path[GS_PATH];
    gs_store *store = open_store("older.db");
    int64_t version;
    assert_int_equal(gs_sql_text_run(store, DROP_STEP_4 "DROP TABLE job; PRAGMA user_version = 3"), SQLITE_OK);
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

static void the_best_time_is_of_what_passed_with_this_version(void **state)
{
    (void)state;
    gs_store *store = open_store("best.db");
    gs_session now = {.command = "test", .device = DEVICE, .version = "2"}, before = {.command = "test", .device = DEVICE, .version = "1"};
    double us = 1;
    CHECK(gs_store_begin(store, &now, &error));
    CHECK(gs_store_begin(store, &before, &error));
    CHECK(gs_store_best_us(store, DEVICE, "f16:64x64x64:tn", "2", &us, &error));
    assert_true(us == 0);
    const struct {
        gs_session *session;
        gs_trial    trial;
    } put[] = {
        {&now,    {.problem = "f16:64x64x64:tn", .candidate = "simple", .verdict = "pass", .us = 4}},
        {&now,    {.problem = "f16:64x64x64:tn", .candidate = "source:1", .verdict = "pass", .us = 3}},
        {&now,    {.problem = "f16:64x64x64:tn", .candidate = "source:2", .verdict = "exact", .us = 1}},
        {&now,    {.problem = "f16:64x64x64:tn", .candidate = "source:3", .verdict = "pass"}},
        {&now,    {.problem = "f16:128x64x64:tn", .candidate = "simple", .verdict = "pass", .us = 1}},
        {&before, {.problem = "f16:64x64x64:tn", .candidate = "source:4", .verdict = "pass", .us = 2}},
    };
    for (size_t i = 0; i < GS_COUNT(put); i++) CHECK(gs_store_put(store, put[i].session, &put[i].trial, &error));
    CHECK(gs_store_best_us(store, DEVICE, "f16:64x64x64:tn", "2", &us, &error));
    assert_true(us == 3);
    CHECK(gs_store_best_us(store, DEVICE, "f16:64x64x64:tn", "1", &us, &error));
    assert_true(us == 2);
    CHECK(gs_store_best_us(store, "nvidia-b200", "f16:64x64x64:tn", "2", &us, &error));
    assert_true(us == 0);
    gs_store_close(&store);
}

static void tell_size(void *self, const gs_job *job)
{
    told *const t = self;
    snprintf(t->text + strlen(t->text), sizeof t->text - strlen(t->text), "%s:%lld:%lld:%s ", job->id, (long long)job->bytes, (long long)job->expires, job->device);
}

/* Of an open job its size and until when it is wanted, in the order in which they came; of another device none. */
static void what_is_open_is_told(void **state)
{
    (void)state;
    told got = {0};
    gs_store *store = open_store("told.db");
    const gs_job jobs[] = {{.id = "b", .device = DEVICE, .request = "12345", .expires = 7}, {.id = "a", .device = DEVICE, .request = "1", .expires = 0},
                           {.id = "c", .device = "other", .request = "12", .expires = 9}, {.id = "d", .device = DEVICE, .request = "123", .expires = INT64_C(1) << 40}};
    CHECK(gs_store_jobs_put(store, jobs, 4, &error));
    CHECK(gs_store_job_end(store, "a", "answer", false, &error));
    CHECK(gs_store_jobs_open(store, DEVICE, NULL, tell_size, &got, &error));
    assert_string_equal(got.text, "b:5:7:" DEVICE " d:3:1099511627776:" DEVICE " ");
    gs_store_close(&store);
}

/* ---- services that share a store ---- */

static gs_lessee service(const char *run, int64_t pid)
{
    gs_lessee who;
    gs_lessee_of(&who, run, pid);
    return who;
}

typedef struct held {
    char text[256];
} held;

static void tell_held(void *self, const gs_job *job)
{
    held *const h = self;
    snprintf(h->text + strlen(h->text), sizeof h->text - strlen(h->text), "%s%s ", job->id, job->held ? "!" : "");
}

static void expect_held(gs_store *store, const gs_lessee *who, const char *wanted)
{
    held got = {""};
    CHECK(gs_store_jobs_open(store, DEVICE, who, tell_held, &got, &error));
    assert_string_equal(got.text, wanted);
}

static bool claim(gs_store *store, const char *id, const gs_lessee *who, double seconds)
{
    bool mine = false;
    CHECK(gs_store_jobs_claim(store, &(gs_job){.id = id, .device = DEVICE, .request = "r", .expires = 1000}, 1, who, seconds, &mine, &error));
    return mine;
}

static gs_lease begin(gs_store *store, const char *id, const gs_lessee *who)
{
    gs_lease lease;
    CHECK(gs_store_job_begin(store, DEVICE, id, who, 1000, &lease, &error));
    return lease;
}

static void a_job_is_one_service_s(void **state)
{
    (void)state;
    gs_store *store = open_store("claims.db");
    const gs_lessee a = service("a", getpid()), b = service("b", getpid());
    assert_true(claim(store, "x", &a, 1000));
    assert_false(claim(store, "x", &b, 1000));
    assert_true(claim(store, "y", &b, 1000));
    expect_held(store, &a, "x y! ");
    expect_held(store, &b, "x! y ");
    expect_held(store, NULL, "x y ");
    assert_int_equal(begin(store, "x", &b), GS_LEASE_HELD);   /* and no attempt is counted */
    expect_job(store, "x", "r|0|-|0");
    assert_int_equal(begin(store, "x", &a), GS_LEASE_TAKEN);
    assert_int_equal(begin(store, "x", &a), GS_LEASE_TAKEN);
    expect_job(store, "x", "r|2|-|0");
    CHECK(gs_store_job_end(store, "x", "yes", false, &error));   /* nobody's any more */
    assert_true(claim(store, "x", &b, 1000));                    /* it was answered meanwhile: it is left again */
    CHECK(gs_store_job_leave(store, "x", &error));
    expect_job(store, "x", "r|2|yes|0");
    CHECK(gs_store_release_run(store, "b", &error));             /* a service ends */
    expect_held(store, &a, "y ");
    assert_int_equal(begin(store, "y", &a), GS_LEASE_TAKEN);
    int64_t left;
    assert_int_equal(gs_sql_number(store, "SELECT count(*) FROM lease", &left), SQLITE_OK);
    assert_int_equal(left, 1);
    gs_store_close(&store);
}

static void a_service_that_is_gone(void **state)
{
    (void)state;
    gs_store *store = open_store("gone.db");
    const gs_lessee here = service("here", getpid()), self = service("gone", getpid());
    gs_lessee far = self, gone = self;
    gone.born--;   /* an earlier process of that number */
    snprintf(far.host, sizeof far.host, "another machine");
    assert_true(claim(store, "x", &gone, 1000));
    assert_true(claim(store, "y", &far, 1000));
    assert_true(claim(store, "z", &far, -1));   /* not renewed in time */
    expect_held(store, &here, "x y! z ");
    assert_int_equal(begin(store, "x", &here), GS_LEASE_TAKEN);
    assert_int_equal(begin(store, "y", &here), GS_LEASE_HELD);
    assert_int_equal(begin(store, "z", &here), GS_LEASE_TAKEN);
    assert_int_equal(begin(store, "z", &far), GS_LEASE_HELD);   /* it comes back too late */
    gs_store_close(&store);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    char longest[GS_HASH_TEXT + 64];
    gs_store *store = open_store("missing.db");
    const gs_lessee who = service("a", getpid());
    bool mine;
    static const struct { gs_job job; const char *field; } bad[] = {
        {{.device = DEVICE, .request = "r"}, "id"},      {{.id = "", .device = DEVICE, .request = "r"}, "id"},
        {{.id = "a", .request = "r"}, "device"},         {{.id = "a", .device = "", .request = "r"}, "device"},
        {{.id = "a", .device = DEVICE}, "request"},      {{.id = "a", .device = DEVICE, .request = ""}, "request"},
    };
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        assert_int_equal(gs_store_jobs_claim(store, &bad[i].job, 1, &who, 1000, &mine, &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, bad[i].field);
    }
    memset(longest, 'x', sizeof longest);                 /* a lease has "job:" before the name */
    for (size_t length = sizeof longest - 4; length >= sizeof longest - 5; length--) {
        gs_lease lease = GS_LEASE_TAKEN;
        longest[length] = '\0';
        const bool fits = length + 4 < sizeof longest;
        assert_int_equal(gs_store_jobs_claim(store, &(gs_job){.id = longest, .device = DEVICE, .request = "r"}, 1, &who, 1000, &mine, &error),
                         fits ? GS_OK : GS_ERROR_ARGUMENT);
        assert_int_equal(gs_store_job_begin(store, DEVICE, longest, &who, 1000, &lease, &error), fits ? GS_OK : GS_ERROR_ARGUMENT);
        assert_int_equal(lease, fits ? GS_LEASE_TAKEN : GS_LEASE_HELD);
        if (!fits) assert_string_equal(error.field, "id");
        if (!fits) expect_open(store, "");
    }
    gs_store_close(&store);
}

static void a_wish_goes_to_whoever_has_it(void **state)
{
    (void)state;
    gs_store *store = open_store("wish.db");
    const gs_lessee a = service("a", getpid()), b = service("b", getpid());
    bool mine;
    int64_t expires;
    assert_true(claim(store, "x", &a, 1000));
    CHECK(gs_store_jobs_claim(store, &(gs_job){.id = "x", .device = DEVICE, .request = "r", .expires = 5000}, 1, &b, 1000, &mine, &error));
    assert_false(mine);
    assert_int_equal(gs_sql_number(store, "SELECT expires FROM job", &expires), SQLITE_OK);
    assert_int_equal(expires, 5000);
    assert_int_equal(gs_store_jobs_claim(store, &(gs_job){.id = "", .device = DEVICE, .request = "r"}, 1, &b, 1000, &mine, &error), GS_ERROR_ARGUMENT);
    gs_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_stays),
        cmocka_unit_test(what_is_open_is_told),
        cmocka_unit_test(a_job_is_one_service_s),
        cmocka_unit_test(a_service_that_is_gone),
        cmocka_unit_test(what_is_missing_is_named), cmocka_unit_test(a_wish_goes_to_whoever_has_it),
        cmocka_unit_test(a_failure_of_the_machine_is_open_again_when_asked_again),
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(old_answers_are_forgotten_and_open_jobs_never),
        cmocka_unit_test(an_older_store_gets_the_table_and_copies_leave_it),
        cmocka_unit_test(the_library_s_newest_time),
        cmocka_unit_test(the_best_time_is_of_what_passed_with_this_version),
    };
    return run_group_without_leaks("store/job", tests, GS_COUNT(tests), make_folder, remove_folder);
}

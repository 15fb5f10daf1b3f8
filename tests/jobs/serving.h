/* SPDX-License-Identifier: MIT
 * Jobs at scripted workers (tests/fake/worker.c), for tests: a folder with a store, the devices and who opens them, requests whose source says
 * what the worker does with them, and what the store says of a job. Included after cmocka. */
#ifndef TESTS_JOBS_SERVING_H
#define TESTS_JOBS_SERVING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/stop.h"
#include "folder.h"
#include "jobs/internal.h"
#include "patience.h"
#include "store/sql.h"

#define PROGRAM  GS_BINARY_DIR "/tests/fake/fake_worker"
#define PROBLEM  "f16:1024x1024x1024:tn"
#define VERSION  "0+test"
#define MANIFEST "manifest 1\\naccumulator f32\\ndeterminism bitwise\\nalign a=2 b=2 c=2 d=2\\n" \
                 "entry gs_kernel\\ngrid cdiv(n,16) cdiv(m,16) batch\\nblock 16 16 1\\n"
#define SECOND   INT64_C(1000000000)

enum { DEVICES = 3, REQUEST = 1024 };

typedef struct opened {
    gs_worker  worker;
    gs_store  *store;
    gs_session session;
    char       device[32];
} opened;

typedef struct service {
    char             folder[96], path[128], log[128];
    gs_service_jobs *jobs;
    gs_jobs_options  options;
    gs_store        *store;            /* another connection: what others see, and do */
    opened           at[DEVICES];
    const char      *differs;          /* the last device is such a one */
    const gs_caps   *caps;             /* of the devices; NULL: of an H200 */
    int              fails;            /* the device that cannot be opened, from 1 */
    atomic_int       closed;           /* how many were closed */
    char             said[4096];       /* the log */
} service;

static service         s;
static gs_error        error;
static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER;   /* the log, which several threads write */

#define CHECK(call)                                                                  \
    do {                                                                             \
        const gs_status check_ = (call);                                             \
        if (check_ != GS_OK) fail_msg("%s: %s", gs_status_name(check_), error.text); \
    } while (0)

#define WAIT_FOR(what)                                                                             \
    do {                                                                                           \
        const int64_t end_ = gs_clock_ns() + (int64_t)(10 * patience()) * SECOND;                  \
        while (!(what)) {                                                                          \
            if (gs_clock_ns() > end_) fail_msg("did not happen: %s; it said: %s", #what, s.said);  \
            gs_clock_sleep_ns(1000000);                                                            \
        }                                                                                          \
    } while (0)

/* ---- devices ---- */

static gs_status open_one(void *self, int index, gs_service_session *out, gs_error *why)
{
    opened *const o = &s.at[index];
    (void)self;
    if (s.fails == index + 1) return gs_fail(why, GS_ERROR_NO_DEVICE, NULL, "there is no device %d", index);
    snprintf(o->device, sizeof o->device, "%s", s.differs && index == s.options.devices - 1 ? s.differs : "nvidia-h200");
    gs_worker_init(&o->worker, index ? "cuda:1" : "cuda:0", PROGRAM);
    o->session = (gs_session){.command = "test", .version = VERSION, .commit = "", .device = o->device, .cc = 90, .sms = 132, .cublaslt = 130100};
    GS_TRY(gs_store_open(&o->store, s.path, why));
    GS_TRY(gs_store_begin(o->store, &o->session, why));
    *out = (gs_service_session){.self = o, .worker = &o->worker, .caps = s.caps ? s.caps : gs_caps_find("h200"), .store = o->store, .session = &o->session,
                                 .device = o->device, .version = VERSION};
    return GS_OK;
}

static void close_one(gs_service_session *session)
{
    opened *const o = session->self;
    gs_worker_stop(&o->worker);
    gs_store_close(&o->store);
    s.closed++;
}

static char *answer(const char *problem, const gs_evaluation *got)
{
    gs_text text = {0};
    gs_text_addf(&text, "{\"problem\":\"%s\",\"verdict\":\"%s\",\"us\":%g}", problem, gs_verdict_word(got->verdict), got->us);
    char *const out = gs_text_take(&text);
    gs_text_free(&text);
    return out;
}

static void hear(void *self, int level, const char *text)
{
    (void)self, (void)level;
    pthread_mutex_lock(&hearing);
    const size_t size = strlen(s.said);
    snprintf(s.said + size, sizeof s.said - size, "%s\n", text);
    pthread_mutex_unlock(&hearing);
}

static inline bool said(const char *what)
{
    pthread_mutex_lock(&hearing);
    const bool there = strstr(s.said, what) != NULL;
    pthread_mutex_unlock(&hearing);
    return there;
}

static inline void forget_what_was_said(void)
{
    pthread_mutex_lock(&hearing);
    s.said[0] = '\0';
    pthread_mutex_unlock(&hearing);
}

static int prepare_folder(void **state)
{
    const char *const temporary = getenv("TMPDIR");
    (void)state;
    memset(&s, 0, sizeof s);
    snprintf(s.folder, sizeof s.folder, "%.60s/gs-jobs-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(s.folder) || access(PROGRAM, X_OK) != 0) return -1;
    snprintf(s.path, sizeof s.path, "%s/store.db", s.folder);
    snprintf(s.log, sizeof s.log, "%s/log", s.folder);
    setenv("GEMMSMITH_WORKER", PROGRAM, 1);   /* also of those that prepare, which nobody tells what to start */
    gs_stop_requested = 0;
    gs_log_set_sink(&s, hear, NULL, GS_LOG_INFO);
    s.options = (gs_jobs_options){.opener = {.open = open_one, .close = close_one}, .devices = 1, .store = s.path, .queue = 8, .answer = answer,
                                  .environment = {.seed = 5, .cache_path = "", .timeout_s = 20, .without_metrics = true}};
    return gs_store_open(&s.store, s.path, &error) == GS_OK ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    gs_stop_requested = 0;
    gs_service_jobs_free(&s.jobs);
    gs_store_close(&s.store);
    gs_log_drop_sink(&s);
    return remove_all(s.folder);
}

/* rules: of the workers, for all candidates; the first that matches counts. */
static inline gs_status try_serve(const char *rules)
{
    static char script[640];   /* the variable itself: what setenv copies stays for ever */
    snprintf(script, sizeof script, "FAKE_WORKER=%s;library_us=20;log=%s", rules, s.log);
    putenv(script);
    return gs_service_jobs_start(&s.jobs, &s.options, &error);
}

static inline void serve(const char *rules) { CHECK(try_serve(rules)); }

/* ---- requests ---- */

/* A user kernel that differs from others by its number, and does what "fake: RULE" says. */
static inline const char *kernel(char request[REQUEST], int number, const char *rule)
{
    snprintf(request, REQUEST, "{\"problem\":\"%s\",\"source\":\"// %d\\nfake: %s\\n\",\"manifest\":\"%s\"}", PROBLEM, number, rule, MANIFEST);
    return request;
}

static inline const char *id_of(char id[GS_HASH_TEXT], const char *request) { return gs_hash_format(gs_hash_bytes(request, strlen(request)), id); }

static inline gs_service_item item_of(const char *request)
{
    gs_service_item item = {.request = (char *)request, .schedule = strstr(request, "\"schedule\"") != NULL};
    id_of(item.id, request);
    CHECK(gs_problem_parse(&item.problem, PROBLEM, &error));
    return item;
}

static inline gs_status try_accept(const char *request, int64_t expires, gs_service_found *found)
{
    gs_service_item item = item_of(request);
    return gs_service_jobs_accept(s.jobs, &(gs_service_request){.item = &item, .count = 1, .expires = expires}, found, &error);
}

static inline gs_service_found accept_one(const char *request)
{
    gs_service_found found;
    CHECK(try_accept(request, 0, &found));
    return found;
}

static inline gs_service_found accept_kernel(int number, const char *rule)
{
    char request[REQUEST];
    return accept_one(kernel(request, number, rule));
}

/* Waits for the answer, which must have this in it, and lets the job go. */
static inline void expect_answer(gs_service_found *found, const char *part, bool failed)
{
    if (!gs_service_jobs_wait(s.jobs, found, gs_clock_ns() + (int64_t)(10 * patience()) * SECOND)) fail_msg("no answer in time; it said: %s", s.said);
    if (!found->answer || !strstr(found->answer, part)) fail_msg("%s has no %s; it said: %s", found->answer, part, s.said);
    assert_int_equal(found->failed, failed);
    gs_service_found_free(s.jobs, found);
}

static inline void expect_verdict(gs_service_found *found, const char *verdict, bool failed)
{
    char part[64];
    snprintf(part, sizeof part, "\"verdict\":\"%s\"", verdict);
    expect_answer(found, part, failed);
}

static inline int count_open(void)
{
    int running;
    return gs_service_jobs_open(s.jobs, &running);
}

static inline int count_running(void)
{
    int running;
    gs_service_jobs_open(s.jobs, &running);
    return running;
}

/* How often a worker was asked something that has this in it. */
static inline int asked(const char *what)
{
    static char text[1 << 20];
    FILE *const file = fopen(s.log, "r");
    if (!file) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) count++;
    return count;
}

static inline const gs_service_counts *counts(void) { return gs_service_jobs_counts(s.jobs); }

/* A device that is busy until it is released. */
static inline gs_service_found occupy(char request[REQUEST], int number)
{
    const int before = asked("\"op\":\"verify\"");
    gs_service_found found = accept_one(kernel(request, number, "hang"));
    WAIT_FOR(asked("\"op\":\"verify\"") > before);
    return found;
}

static inline void cancel_job(const char *request)
{
    char id[GS_HASH_TEXT];
    gs_service_found found;
    CHECK(gs_service_jobs_cancel(s.jobs, id_of(id, request), &found, &error));
    gs_service_found_free(s.jobs, &found);
}

static inline void release(const char *request, gs_service_found *held)
{
    cancel_job(request);
    expect_verdict(held, "cancelled", true);
}

/* ---- the store ---- */

typedef struct row {
    char    answer[512];
    int     attempts;
    bool    failed, open;
    int64_t expires;
} row;

static inline void read_row(void *self, const gs_job *job)
{
    row *const r = self;
    snprintf(r->answer, sizeof r->answer, "%s", job->answer ? job->answer : "");
    r->attempts = job->attempts;
    r->failed = job->failed;
    r->open = !job->answer;
    r->expires = job->expires;
}

static inline row row_of(const char *request)
{
    char id[GS_HASH_TEXT];
    row r = {0};
    CHECK(gs_store_job_get(s.store, id_of(id, request), read_row, &r, &error));
    return r;
}

static inline bool in_store(const char *request)
{
    char id[GS_HASH_TEXT];
    row r = {0};
    return gs_store_job_get(s.store, id_of(id, request), read_row, &r, NULL) == GS_OK;
}

/* As a service that ran before has left it. */
static inline void put_job(const char *request)
{
    char id[GS_HASH_TEXT];
    CHECK(gs_store_jobs_put(s.store, &(gs_job){.id = id_of(id, request), .device = "nvidia-h200", .request = request}, 1, &error));
}

/* Another service: it lives in this process, too. */
static inline const gs_lessee *another(void)
{
    static gs_lessee who;
    if (!who.run[0]) gs_lessee_of(&who, "another", getpid());
    return &who;
}

static inline void claim(const char *request)
{
    char id[GS_HASH_TEXT];
    bool mine = false;
    CHECK(gs_store_jobs_claim(s.store, &(gs_job){.id = id_of(id, request), .device = "nvidia-h200", .request = request}, 1, another(), 60, &mine, &error));
    assert_true(mine);
}

static inline void sql(const char *text) { assert_int_equal(gs_sql_text_run(s.store, text), 0); }

/* Every use of the jobs' table fails until it is back. */
static inline void break_store(void) { sql("ALTER TABLE job RENAME TO job_away"); }
static inline void mend_store(void) { sql("ALTER TABLE job_away RENAME TO job"); }

/* The keeper looks after other services at once, instead of when it would. */
static inline void look_now(void)
{
    pthread_mutex_lock(&s.jobs->lock);
    const int64_t looks = s.jobs->looks;
    s.jobs->look_at = s.jobs->renew_at = 0;
    pthread_cond_signal(&s.jobs->work);
    pthread_mutex_unlock(&s.jobs->lock);
    const int64_t end = gs_clock_ns() + 10 * SECOND;
    for (bool done = false; !done && gs_clock_ns() < end;) {
        pthread_mutex_lock(&s.jobs->lock);
        done = s.jobs->looks > looks;
        pthread_mutex_unlock(&s.jobs->lock);
        gs_clock_sleep_ns(500000);
    }
    double us;   /* the keeper does one thing after another: once it has answered this, the look is over */
    gs_problem problem;
    CHECK(gs_problem_parse(&problem, PROBLEM, &error));
    (void)gs_service_jobs_library(s.jobs, &problem, &us, &error);
}

/* From now on it looks only when it is told to, however long what comes next takes. */
static inline void look_no_more(void)
{
    look_now();
    pthread_mutex_lock(&s.jobs->lock);
    s.jobs->look_at = s.jobs->renew_at = gs_clock_ns() + 3600 * SECOND;
    pthread_mutex_unlock(&s.jobs->lock);
}

#endif

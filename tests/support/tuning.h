/* SPDX-License-Identifier: MIT
 * A tuner with a scripted worker, for tests: a folder with store and table, the worker and its script, the right answers by the simulated times, and the contents of
 * store and table. Included after cmocka. */
#ifndef TESTS_TUNING_H
#define TESTS_TUNING_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "base/error.h"
#include "base/file.h"
#include "fake/times.h"
#include "texts.h"
#include "tune/tune.h"

#define PROGRAM    GS_BINARY_DIR "/tests/fake/fake_worker"
#define PROBLEM    "f16:1024x1024x1024:tn"
#define CANDIDATES 30

/* Manifest lines of a kernel with one thread for each element. */
#define HEAD            "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\n"
#define BLOCK           "block 16 16 1\n"
#define ENTRY           "entry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\n" BLOCK
#define SIMPLE_MANIFEST HEAD ENTRY

typedef struct bench {
    char       folder[64], store_path[96], table_path[96], log_path[96];
    gs_store  *store;
    gs_session session;
    gs_worker  worker;
} bench;

static inline void open_store(bench *b)
{
    gs_error error = {0};
    const gs_status status = gs_store_open(&b->store, b->store_path, &error);
    if (status != GS_OK) print_error("%s\n", error.text);
    assert_int_equal(status, GS_OK);
    b->session = (gs_session){.command = "test", .version = "0", .commit = "", .device = gs_caps_find("h200")->slug, .cc = 90, .sms = 132,
                              .cublaslt = 130100};
    assert_int_equal(gs_store_begin(b->store, &b->session, &error), GS_OK);
}

static inline int start(void **state)
{
    static bench b;
    const char *const temporary = getenv("TMPDIR");
    b = (bench){0};
    snprintf(b.folder, sizeof b.folder, "%.40s/gs-tune-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(b.folder) || access(PROGRAM, X_OK) != 0) return -1;
    snprintf(b.store_path, sizeof b.store_path, "%s/store.db", b.folder);
    snprintf(b.table_path, sizeof b.table_path, "%s/h200.tuned", b.folder);
    snprintf(b.log_path, sizeof b.log_path, "%s/log", b.folder);
    unsetenv("FAKE_WORKER");
    unsetenv("GEMMSMITH_WORKER");
    gs_stop_requested = 0;
    gs_worker_init(&b.worker, "cuda:0", PROGRAM);
    open_store(&b);
    *state = &b;
    return 0;
}

static inline int finish(void **state)
{
    bench *const b = *state;
    gs_stop_requested = 0;
    gs_worker_stop(&b->worker);
    gs_store_close(&b->store);
    return remove_all(b->folder);
}

static inline gs_tune_options options_of(const bench *b)
{
    return (gs_tune_options){.candidates = CANDIDATES, .seed = 7, .tuned_path = b->table_path, .cache_path = "", .timeout_s = 30};
}

static inline gs_status tune_with(bench *b, const char *problem_text, const char *script, const gs_tune_options *options,
                           gs_tune_result *result)
{
    const gs_problem problem = problem_of(problem_text);
    gs_error error = {0};
    setenv("FAKE_WORKER", script, 1);
    gs_worker_stop(&b->worker);   /* the new script is passed in a new child's environment */
    const gs_status status = gs_tune(b->store, &b->session, &b->worker, gs_caps_find("h200"), &problem, options, result, &error);
    if (status != GS_OK) print_message("%s: %s\n", gs_status_name(status), error.text);
    if (status != GS_OK) assert_true(error.text[0] != '\0');
    return status;
}

/* A schedule that the tuner looks at, with its simulated time. */
typedef struct answer {
    char   text[GS_SCHEDULE_TEXT];
    double us;
} answer;

static inline int by_us(const void *left, const void *right)
{
    const double a = ((const answer *)left)->us, b = ((const answer *)right)->us;
    return (a > b) - (a < b);
}

static inline void right_answers(const char *problem_text, answer list[CANDIDATES])
{
    const gs_problem problem = problem_of(problem_text);
    gs_policy policy;
    gs_schedule schedules[CANDIDATES];
    assert_int_equal(gs_policy_create(&policy, "enumerate", 1, NULL), GS_OK);
    assert_int_equal(policy.propose(&policy, &problem, gs_caps_find("h200"), schedules, CANDIDATES), CANDIDATES);
    policy.destroy(&policy);
    for (int i = 0; i < CANDIDATES; i++) {
        gs_schedule_format(&schedules[i], list[i].text);
        list[i].us = fake_us(&schedules[i], &problem);
    }
    qsort(list, CANDIDATES, sizeof *list, by_us);
}

/* The fastest of all valid schedules of these families (bits by gs_family_id), by the simulated times. */
static inline answer fastest_of(const char *problem_text, uint32_t families)
{
    const gs_problem problem = problem_of(problem_text);
    answer best = {.us = 1e30};
    for (int family = 0; family < GS_FAMILIES; family++) {
        gs_schedule schedule = gs_schedule_first((gs_family_id)family);
        if (!(families >> family & 1)) continue;
        do {
            if (gs_schedule_check(&schedule, &problem, gs_caps_find("h200"), NULL) != GS_OK || fake_us(&schedule, &problem) >= best.us) continue;
            best.us = fake_us(&schedule, &problem);
            gs_schedule_format(&schedule, best.text);
        } while (gs_schedule_next(&schedule));
    }
    return best;
}

/* Stores what a search with this version's kernels would have left. */
static inline void put_found(bench *b, const char *version, const char *problem, const char *schedule)
{
    char key[256], value[128];
    snprintf(key, sizeof key, "search 1 %s %s %s", b->session.device, version, problem);
    snprintf(value, sizeof value, "%s 12.5", schedule);
    assert_int_equal(gs_store_result_put(b->store, &b->session, key, value, NULL), GS_OK);
}

static inline double library_us(const char *problem_text, double factor)
{
    const gs_problem problem = problem_of(problem_text);
    return fake_library_us(&problem, factor);
}

typedef struct finding {
    const char *candidate;
    gs_trial    trial;
    int         count;
} finding;

static inline bool find(void *self, const gs_trial *trial)
{
    finding *const f = self;
    if (!f->candidate || strcmp(trial->candidate, f->candidate) == 0) {
        f->trial = *trial;
        f->count++;
    }
    return true;
}

static inline gs_trial trial_of(bench *b, const char *problem, const char *candidate)
{
    finding f = {.candidate = candidate};
    assert_int_equal(gs_store_trials(b->store, gs_caps_find("h200")->slug, problem, find, &f, NULL), GS_OK);
    if (f.count != 1) print_error("%s: %d trials\n", candidate, f.count);
    assert_int_equal(f.count, 1);
    return f.trial;
}

static inline int trials(bench *b, const char *problem)
{
    finding f = {0};
    assert_int_equal(gs_store_trials(b->store, gs_caps_find("h200")->slug, problem, find, &f, NULL), GS_OK);
    return f.count;
}

static inline int winners(bench *b)
{
    finding f = {0};
    assert_int_equal(gs_store_winners(b->store, gs_caps_find("h200")->slug, find, &f, NULL), GS_OK);
    return f.count;
}

/* Reads the table's row of a problem; false if there is none. */
static inline bool table_row(const bench *b, const char *problem_text, gs_row *row)
{
    gs_table *table;
    const gs_problem problem = problem_of(problem_text);
    assert_int_equal(gs_table_create(&table), GS_OK);
    const gs_status status = gs_table_load(table, b->table_path, NULL, NULL, NULL);
    const gs_row *const found = status == GS_OK ? gs_table_find(table, &problem) : NULL;
    if (found) *row = *found;
    gs_table_destroy(&table);
    return found != NULL;
}

/* How many requests to the worker contain `what`. */
static inline int asked(const bench *b, const char *what)
{
    char *log;
    size_t size;
    int count = 0;
    assert_int_equal(gs_file_read(b->log_path, 1 << 24, &log, &size, NULL), GS_OK);
    for (const char *at = log; (at = strstr(at, what)); at++) count++;
    free(log);
    return count;
}

static inline int files_in(const char *folder)
{
    char command[160], text[32] = "0";
    snprintf(command, sizeof command, "find %s -type f | wc -l", folder);
    FILE *const pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(text, sizeof text, pipe));
    pclose(pipe);
    return atoi(text);
}

#endif

/* SPDX-License-Identifier: MIT
 * Proves that a recorder loses nothing: exact totals from many threads, a file of each process after fork, all counts at the end of a process, every problem of
 * one that is killed, and nothing worse than a line of log where its folder is missing, closed or full. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "record/record.h"
#include "support/folder.h"
#include "support/fork.h"
#include "support/leaks.h"

enum { NOBODY = 65534 };

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gs_record_XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0777) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    return remove_all(folder);
}

static gs_problem problem_of(int64_t m) { return gs_problem_make(GS_BF16, GS_TN, m, 4096, 4096); }

static gs_recorder *open_recorder(void)
{
    gs_recorder *recorder;
    assert_int_equal(gs_recorder_open(&recorder, folder, NULL), GS_OK);
    return recorder;
}

/* ---- what is in the folder ---- */

enum { MOST = 10000 };

typedef struct sums {
    int      files, kinds, damaged;
    uint64_t all, of[MOST];   /* by M */
} sums;

static void add_line(sums *s, char *line)
{
    char *const via = strchr(line, '\t'), *const text = via ? strchr(via + 1, '\t') : NULL, *end;
    gs_problem problem;
    const uint64_t count = strtoull(line, &end, 10);
    if (!text || end != via || count == 0 || gs_problem_parse(&problem, text + 1, NULL) != GS_OK || problem.m >= MOST) {
        s->damaged++;
        return;
    }
    s->kinds += s->of[problem.m] == 0;
    s->of[problem.m] += count;
    s->all += count;
}

static const sums *read_folder(void)
{
    static sums s;
    char **names, path[256];
    int count;
    s = (sums){0};
    if (gs_folder_list(folder, ".txt", &names, &count, NULL) != GS_OK) return &s;
    for (int i = 0; i < count; i++) {
        char *text;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (gs_file_read_text(path, 1 << 26, &text, NULL) != GS_OK) continue;
        s.files++;
        bool first = true;
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, first = false) {
            *end = '\0';
            if (!first) add_line(&s, line);
            else if (strcmp(line, GS_RECORD_MAGIC) != 0) s.damaged++;
        }
        free(text);
    }
    gs_folder_list_free(&names, count);
    return &s;
}

/* ---- the log ---- */

static int  log_lines;
static char last_line[1024];

static void on_line(void *self, int level, const char *text)
{
    (void)self, (void)level;
    log_lines++;
    snprintf(last_line, sizeof last_line, "%s", text);
}

static void listen(void)
{
    log_lines = 0;
    gs_log_set_sink(&log_lines, on_line, NULL, GS_LOG_WARNING);
}

/* ---- tests ---- */

static void test_lines(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    char **names, path[256], *text;
    int count;
    assert_int_equal(read_folder()->files, 0);   /* a process that multiplies nothing leaves no file */
    gs_problem problem = gs_problem_make(GS_F16, GS_NN, 16, 32, 64);
    gs_recorder_count(recorder, &problem, "cublasGemmEx");
    assert_int_equal(read_folder()->all, 1);     /* written before it returns */
    gs_recorder_count(recorder, &problem, "aten::mm");
    problem.alpha = 0.5f;                        /* the same for a table */
    gs_recorder_count(recorder, &problem, "aten::mm");
    problem.beta = -2;
    gs_recorder_count(recorder, &problem, "aten::mm");
    problem.size = 8;
    gs_recorder_count(recorder, &problem, "aten::mm");
    gs_recorder_count(NULL, &problem, "aten::mm");
    gs_recorder_close(&recorder);
    assert_null(recorder);
    assert_int_equal(gs_folder_list(folder, ".txt", &names, &count, NULL), GS_OK);
    assert_int_equal(count, 1);
    assert_memory_equal(names[0], "recorded-", 9);
    const char *const date = names[0] + strlen(names[0]) - strlen("20260131T120000000Z.txt");
    assert_true(date[-1] == '-' && date[8] == 'T' && strspn(date, "0123456789") == 8 && strcmp(date + 9 + strspn(date + 9, "0123456789"), "Z.txt") == 0);
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    assert_int_equal(gs_file_read_text(path, 4096, &text, NULL), GS_OK);
    assert_string_equal(text, "gemmsmith recorded 1\n1\tcublasGemmEx\tf16:16x32x64:nn\n1\taten::mm\tf16:16x32x64:nn\n1\taten::mm\tf16:16x32x64:nn\n"
                              "1\taten::mm\tf16:16x32x64:nn:beta=1\n");
    free(text);
    gs_folder_list_free(&names, count);
}

/* What is written on the way is an eighth behind at most, and takes few lines. */
static void test_written_on_the_way(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    const gs_problem problem = problem_of(16);
    for (uint64_t i = 1; i <= 100000; i++) {
        gs_recorder_count(recorder, &problem, "x");
        if (i % 9973 && i > 200) continue;
        const uint64_t there = read_folder()->of[16];
        if (there > i || i - there > (i < 64 ? i / 2 : i / 8)) fail_msg("%llu of %llu", (unsigned long long)there, (unsigned long long)i);
    }
    gs_recorder_flush(recorder);
    assert_int_equal(read_folder()->of[16], 100000);
    gs_recorder_flush(recorder);
    gs_recorder_close(&recorder);
    assert_int_equal(read_folder()->all, 100000);
}

enum { THREADS = 8, ROUNDS = 200, KINDS = 300 };

static void *count_many(void *recorder)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 1; kind <= KINDS; kind++) {
            const gs_problem problem = problem_of(kind);
            gs_recorder_count(recorder, &problem, "x");
        }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_many, recorder), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    gs_recorder_close(&recorder);
    const sums *const s = read_folder();
    assert_int_equal(s->files, 1);
    assert_int_equal(s->damaged, 0);
    for (int kind = 1; kind <= KINDS; kind++) assert_int_equal(s->of[kind], THREADS * ROUNDS);
    assert_int_equal(s->kinds, KINDS);
}

static void count_times(gs_recorder *recorder, int64_t m, int times)
{
    const gs_problem problem = problem_of(m);
    for (int i = 0; i < times; i++) gs_recorder_count(recorder, &problem, "x");
}

static int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The child's counts are its own, and so is its file; what the parent had not written yet is written once. */
static void test_children(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    count_times(recorder, 16, 999);
    for (int i = 0; i < 3; i++) {
        const pid_t child = test_fork();
        if (child == 0) {
            count_times(recorder, 16, 10);
            count_times(recorder, 17, 5);
            gs_recorder_flush(recorder);
            _exit(0);
        }
        assert_int_equal(end_of(child), 0);
    }
    count_times(recorder, 18, 7);
    gs_recorder_close(&recorder);
    const sums *const s = read_folder();
    assert_int_equal(s->files, 4);
    assert_int_equal(s->damaged, 0);
    assert_int_equal(s->of[16], 999 + 30);
    assert_int_equal(s->of[17], 15);
    assert_int_equal(s->of[18], 7);
}

static _Atomic bool stop_counting;

static void *count_on(void *recorder)
{
    for (int64_t m = 1; !stop_counting; m = m % 50 + 1) count_times(recorder, m, 3);
    return NULL;
}

/* A fork while other threads write: no lock stays behind in the child. */
static void test_fork_while_threads_count(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    pthread_t threads[2];
    stop_counting = false;
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_on, recorder), 0);
    int good = 0;
    for (int i = 0; i < 30; i++) {
        const pid_t child = test_fork();
        if (child == 0) {
            alarm(20);
            count_times(recorder, 77, 100);
            gs_recorder_flush(recorder);
            _exit(0);
        }
        good += child > 0 && end_of(child) == 0;
    }
    stop_counting = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    gs_recorder_close(&recorder);
    assert_int_equal(good, 30);
    assert_int_equal(read_folder()->of[77], 3000);
    assert_int_equal(read_folder()->damaged, 0);
}

static void count_and_end(void (*end)(void))
{
    setenv("GEMMSMITH_RECORD", folder, 1);
    gs_recorder *const recorder = gs_recorder_of_environment();
    if (!recorder || gs_recorder_of_environment() != recorder || chdir("/") != 0) _exit(2);
    for (int64_t m = 1; m <= 40; m++) count_times(recorder, m, 100);
    end();
}

static void leave(void) { exit(0); }
static void be_killed(void) { raise(SIGKILL); }

static void test_end_of_process(void **state)
{
    (void)state;
    const pid_t child = test_fork();
    if (child == 0) count_and_end(leave);
    assert_int_equal(end_of(child), 0);
    assert_int_equal(read_folder()->all, 4000);
}

static void test_killed(void **state)
{
    (void)state;
    const pid_t child = test_fork();
    if (child == 0) count_and_end(be_killed);
    assert_true(WIFSIGNALED(end_of(child)));
    const sums *const s = read_folder();
    assert_int_equal(s->kinds, 40);
    assert_int_equal(s->damaged, 0);
    for (int m = 1; m <= 40; m++) assert_in_range(s->of[m], 88, 100);
}

static void test_bound(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    listen();
    for (int64_t m = 1; m <= GS_RECORD_PROBLEMS + 100; m++) count_times(recorder, m, 1);
    count_times(recorder, 5, 1);
    gs_recorder_close(&recorder);
    gs_log_drop_sink(&log_lines);
    assert_int_equal(log_lines, 1);
    assert_non_null(strstr(last_line, "8192"));
    assert_int_equal(read_folder()->kinds, GS_RECORD_PROBLEMS);
    assert_int_equal(read_folder()->of[5], 2);
}

static gs_status refused(const char *path)
{
    gs_recorder *recorder = NULL;
    gs_error error = {0};
    const gs_status status = gs_recorder_open(&recorder, path, &error);
    assert_null(recorder);
    assert_non_null(strstr(error.text, path));
    assert_null(strchr(error.text, '\n'));
    return status;
}

static void test_folders_that_will_not_do(void **state)
{
    (void)state;
    char missing[128], file[128];
    snprintf(missing, sizeof missing, "%s/none", folder);
    snprintf(file, sizeof file, "%s/file", folder);
    assert_int_equal(gs_file_write(file, "x", 1, NULL), GS_OK);
    assert_int_equal(refused(missing), GS_ERROR_NOT_FOUND);
    assert_int_equal(refused(file), GS_ERROR_IO);
    assert_int_equal(chmod(folder, 0555), 0);
    const pid_t child = test_fork();
    if (child == 0) {   /* as somebody whom rights bind */
        if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)) _exit(99);
        listen();
        setenv("GEMMSMITH_RECORD", folder, 1);
        gs_recorder *const none = gs_recorder_of_environment();
        count_times(none, 16, 3);
        gs_recorder_flush(none);
        _exit(refused(folder) == GS_ERROR_IO && !none && log_lines == 1 && strstr(last_line, "GEMMSMITH_RECORD") ? 0 : 1);
    }
    assert_int_equal(end_of(child), 0);
    assert_int_equal(chmod(folder, 0777), 0);
}

static void test_environment_not_set(void **state)
{
    (void)state;
    const pid_t child = test_fork();
    if (child == 0) {
        listen();
        unsetenv("GEMMSMITH_RECORD");
        _exit(gs_recorder_of_environment() || log_lines);
    }
    assert_int_equal(end_of(child), 0);
}

/* The folder goes away while it is used: one line, and nothing else. */
static void test_folder_goes(void **state)
{
    (void)state;
    gs_recorder *recorder = open_recorder();
    listen();
    assert_int_equal(rmdir(folder), 0);
    for (int64_t m = 1; m <= 20; m++) count_times(recorder, m, 100);
    assert_int_equal(log_lines, 1);
    assert_int_equal(mkdir(folder, 0777), 0);   /* and comes back: nothing was lost */
    gs_recorder_close(&recorder);
    gs_log_drop_sink(&log_lines);
    assert_int_equal(log_lines, 1);
    assert_int_equal(read_folder()->all, 2000);
}

/* A disk that takes so many bytes more, wherever in a line or in the first one that ends, and then has room again. */
static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < 200; room += 7) {
        gs_recorder *recorder = open_recorder();
        const struct rlimit little = {room, before.rlim_max};
        listen();
        setrlimit(RLIMIT_FSIZE, &little);
        for (int64_t m = 1; m <= 10; m++) count_times(recorder, m, 20);
        const sums *s = read_folder();
        assert_int_equal(s->damaged, 0);
        assert_true(s->all < 200);
        assert_int_equal(log_lines, 1);
        setrlimit(RLIMIT_FSIZE, &before);
        gs_recorder_close(&recorder);
        gs_log_drop_sink(&log_lines);
        s = read_folder();
        assert_int_equal(s->damaged, 0);
        assert_int_equal(s->all, 200);
        assert_int_equal(remove_all(folder), 0);
        assert_int_equal(mkdir(folder, 0777), 0);
    }
    signal(SIGXFSZ, SIG_DFL);
}

#ifdef __SANITIZE_THREAD__   /* which watches each atomic operation */
enum { CEILING_NS = 50000 };
#else
enum { CEILING_NS = 5000 };
#endif

/* Counting what is known takes no system call and well under a microsecond: about 0.05. The bound leaves room for a loaded machine and for sanitizers. */
static void test_cost(void **state)
{
    enum { TIMES = 200000 };
    (void)state;
    gs_recorder *recorder = open_recorder();
    for (int64_t m = 1; m <= 1000; m++) count_times(recorder, m, 1);
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        const int64_t began = gs_clock_ns();
        count_times(recorder, 500, TIMES);
        best = GS_MIN(best, (double)(gs_clock_ns() - began) / TIMES);
    }
    gs_recorder_close(&recorder);
    print_message("a known problem: %.1f ns\n", best);
    assert_true(best < CEILING_NS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_lines), TEST(test_written_on_the_way), TEST(test_threads), TEST(test_children), TEST(test_fork_while_threads_count), TEST(test_end_of_process), TEST(test_killed),
        TEST(test_bound), TEST(test_folders_that_will_not_do), TEST(test_environment_not_set), TEST(test_folder_goes), TEST(test_full_disk), TEST(test_cost),
    };
    return run_without_leaks("record/record", tests, GS_COUNT(tests));
}

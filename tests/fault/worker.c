/* SPDX-License-Identifier: MIT
 * Whatever a worker does (dies, hangs, closes its pipe, sends nonsense, does not start) becomes a status within the deadline and leaks nothing, and the next call works
 * with a fresh child. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/client.h"
#include "base/clock.h"
#include "worker/worker.h"
#include "support/fork.h"

#define PROGRAM GS_BINARY_DIR "/tests/fake/fake_worker"
#define HELLO   "{\"op\":\"hello\"}"
#define PLENTY  30.0

static int start(void **state)
{
    static gs_worker worker;
    unsetenv("FAKE_WORKER");
    unsetenv("GEMMSMITH_WORKER");
    gs_stop_requested = 0;
    gs_worker_init(&worker, "cuda:0", PROGRAM);
    *state = &worker;
    return access(PROGRAM, X_OK);
}

static int stop(void **state)
{
    gs_stop_requested = 0;
    gs_worker_stop(*state);
    return 0;
}

static double seconds_since(int64_t start_ns) { return (double)(gs_clock_ns() - start_ns) * 1e-9; }

/* A call to a child with this script must fail with this status and these words, and the next call to a good child must work. */
static void expect_failure(gs_worker *worker, const char *script, double timeout_s, gs_status expected, const char *words)
{
    gs_error error = {0};
    json_t *reply;
    setenv("FAKE_WORKER", script, 1);
    const int before = worker->started;
    const gs_status status = gs_worker_request(worker, HELLO, timeout_s, &reply, &error);
    if (status != expected) print_error("%s: %s: %s\n", script, gs_status_name(status), error.text);
    assert_int_equal(status, expected);
    assert_null(reply);
    if (!strstr(error.text, words)) print_error("%s\n", error.text);
    assert_non_null(strstr(error.text, words));
    assert_int_equal(worker->pid, 0);
    assert_int_equal(worker->started, before + 1);

    unsetenv("FAKE_WORKER");
    assert_int_equal(gs_worker_request(worker, HELLO, PLENTY, &reply, &error), GS_OK);
    assert_int_equal(worker->started, before + 2);
    json_decref(reply);
    gs_worker_stop(worker);
}

static void says_hello(void **state)
{
    gs_caps caps;
    gs_error error;
    int cublaslt = 0, nvrtc = 0;
    assert_int_equal(gs_worker_hello(*state, &caps, &cublaslt, &nvrtc, &error), GS_OK);
    assert_string_equal(caps.slug, gs_caps_find("h200")->slug);
    assert_string_equal(caps.target, "sm_90a");
    assert_int_equal(caps.sms, gs_caps_find("h200")->sms);
    assert_true(caps.memory_bytes == gs_caps_find("h200")->memory_bytes);
    assert_float_equal(caps.memory_gbs, gs_caps_find("h200")->memory_gbs, 1e-6);
    assert_int_equal(cublaslt, 130100);
    assert_int_equal(nvrtc, 13000);
}

static void serves_many_with_one_child(void **state)
{
    gs_worker *const worker = *state;
    for (int i = 0; i < 20; i++) {
        char *reply;
        assert_int_equal(gs_worker_call(worker, HELLO, PLENTY, &reply, NULL), GS_OK);
        assert_non_null(strstr(reply, "\"ok\":true"));
        free(reply);
    }
    assert_int_equal(worker->started, 1);
}

static void exits(void **state)
{
    expect_failure(*state, "mode=exit", PLENTY, GS_ERROR_WORKER_DIED, "exited with code 3: no device left");
}

static void exits_silently(void **state)
{
    expect_failure(*state, "mode=silent-exit", PLENTY, GS_ERROR_WORKER_DIED, "exited with code 0");
}

static void aborts(void **state)
{
    expect_failure(*state, "mode=abort", PLENTY, GS_ERROR_WORKER_DIED, "signal 6 (Aborted): CUDA error: illegal instruction");
}

static void closes_its_pipe(void **state) { expect_failure(*state, "mode=close", PLENTY, GS_ERROR_WORKER_DIED, "closed its pipe"); }
static void writes_garbage(void **state) { expect_failure(*state, "mode=garbage", PLENTY, GS_ERROR_WORKER_DIED, "no reply"); }

static void writes_half_a_line(void **state)
{
    expect_failure(*state, "mode=half", PLENTY, GS_ERROR_WORKER_DIED, "exited with code 0");
}

static void writes_100_mib(void **state) { expect_failure(*state, "mode=long", PLENTY, GS_ERROR_WORKER_DIED, "more than 64 MiB"); }

static void never_answers(void **state)
{
    const int64_t start_ns = gs_clock_ns();
    expect_failure(*state, "mode=mute", 0.3, GS_ERROR_WORKER_HUNG, "did not answer within 0.3 s");
    assert_true(seconds_since(start_ns) >= 0.3);
    assert_true(seconds_since(start_ns) < 10);
}

/* A request larger than a pipe holds must not block the parent when the child does not read. */
static void never_reads(void **state)
{
    gs_worker *const worker = *state;
    gs_error error;
    char *reply;
    char *const request = malloc((1 << 20) + 1);
    assert_non_null(request);
    memset(request, ' ', 1 << 20);
    request[1 << 20] = '\0';
    setenv("FAKE_WORKER", "start=60000", 1);
    assert_int_equal(gs_worker_call(worker, request, 0.3, &reply, &error), GS_ERROR_WORKER_HUNG);
    assert_null(reply);
    free(request);
}

static void slow_start_is_no_fault(void **state)
{
    gs_caps caps;
    setenv("FAKE_WORKER", "start=300", 1);
    assert_int_equal(gs_worker_hello(*state, &caps, NULL, NULL, NULL), GS_OK);
}

static void cannot_be_started(void **state)
{
    gs_worker *const worker = *state;
    gs_error error;
    char *reply;
    gs_worker_init(worker, "cuda:0", "/nonexistent/gemmsmith");
    assert_int_equal(gs_worker_call(worker, HELLO, PLENTY, &reply, &error), GS_ERROR_WORKER_DIED);
    assert_non_null(strstr(error.text, "/nonexistent/gemmsmith cannot be started: No such file"));
    assert_int_equal(worker->pid, 0);
    assert_int_equal(worker->started, 0);
}

static void the_environment_names_another_program(void **state)
{
    gs_worker *const worker = *state;
    gs_caps caps;
    setenv("GEMMSMITH_WORKER", PROGRAM, 1);
    gs_worker_init(worker, "cuda:0", "/nonexistent/gemmsmith");
    unsetenv("GEMMSMITH_WORKER");
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
}

static void dies_between_two_calls(void **state)
{
    gs_worker *const worker = *state;
    gs_caps caps;
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
    assert_int_equal(kill(worker->pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
    assert_int_equal(worker->started, 2);
}

/* A last reply is still delivered, and the next request goes to a fresh child, not to the dying one. */
static void last_reply_ends_the_child(void **state)
{
    gs_worker *const worker = *state;
    gs_caps caps;
    json_t *reply;
    setenv("FAKE_WORKER", "fault=simple", 1);
    assert_int_equal(gs_worker_request(worker, "{\"op\":\"verify\",\"problem\":\"f16:64x64x64:tn\",\"candidate\":\"simple\"}",
                                       PLENTY, &reply, NULL),
                     GS_OK);
    assert_string_equal(json_string_value(json_object_get(reply, "verdict")), "fault");
    json_decref(reply);
    assert_int_equal(worker->pid, 0);
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
    assert_int_equal(worker->started, 2);
}

static void a_request_is_one_line(void **state)
{
    char *reply;
    assert_int_equal(gs_worker_call(*state, "{}\n{}", PLENTY, &reply, NULL), GS_ERROR_ARGUMENT);
}

static void on_alarm(int number)
{
    (void)number;
    gs_stop_requested = 1;
}

static void stop_before_a_call(void **state)
{
    gs_worker *const worker = *state;
    char *reply;
    gs_stop_requested = 1;
    assert_int_equal(gs_worker_call(worker, HELLO, PLENTY, &reply, NULL), GS_ERROR_INTERRUPTED);
    assert_int_equal(worker->started, 0);
}

/* Ctrl-C while the worker measures: the reply in flight is still received. */
static void stop_during_a_call(void **state)
{
    gs_worker *const worker = *state;
    char *reply;
    setenv("FAKE_WORKER", "delay=600", 1);
    signal(SIGALRM, on_alarm);
    const struct itimerval soon = {.it_value = {.tv_usec = 150000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    static const char request[] = "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[\"simple\"],\"rounds\":3}";
    assert_int_equal(gs_worker_call(worker, request, PLENTY, &reply, NULL), GS_OK);
    assert_int_equal(gs_stop_requested, 1);
    assert_non_null(reply);
    free(reply);
    signal(SIGALRM, SIG_DFL);
}

static const char slow[] = "{\"op\":\"bench\",\"problem\":\"f16:64x64x64:tn\",\"contenders\":[\"simple\"],\"rounds\":3}";

/* The deadline of the whole run ends a request in progress, long before the request's own limit. */
static void the_time_limit_of_the_work(void **state)
{
    gs_worker *const worker = *state;
    gs_error error = {0};
    char *reply;
    gs_caps caps;
    setenv("FAKE_WORKER", "delay=60000", 1);
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
    const int64_t began = gs_clock_ns();
    worker->until = began + 300000000;
    assert_int_equal(gs_worker_call(worker, slow, PLENTY, &reply, &error), GS_ERROR_INTERRUPTED);
    assert_non_null(strstr(error.text, "time limit"));
    assert_in_range((int64_t)(1000 * seconds_since(began)), 300, 10000);
    assert_int_equal(worker->pid, 0);   /* the worker was stopped */
    assert_int_equal(gs_worker_call(worker, HELLO, PLENTY, &reply, &error), GS_ERROR_INTERRUPTED);   /* no new request is started */
    assert_int_equal(worker->started, 1);
    worker->until = 0;
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
}

static bool unwanted_at(void *self) { return gs_clock_ns() >= *(const int64_t *)self; }

static void an_answer_that_nobody_wants(void **state)
{
    gs_worker *const worker = *state;
    gs_error error = {0};
    char *reply;
    gs_caps caps;
    setenv("FAKE_WORKER", "delay=60000", 1);
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
    int64_t at = gs_clock_ns() + 300000000;
    worker->unwanted = unwanted_at;
    worker->self = &at;
    assert_int_equal(gs_worker_call(worker, slow, PLENTY, &reply, &error), GS_ERROR_INTERRUPTED);
    assert_non_null(strstr(error.text, "nobody wants"));
    assert_in_range((int64_t)(1000 * seconds_since(at)), 0, 10000);
    assert_int_equal(worker->pid, 0);
    worker->unwanted = NULL;
    assert_int_equal(gs_worker_hello(worker, &caps, NULL, NULL, NULL), GS_OK);
}

/* A worker dies with its killed parent, even if it never looks at its pipe. */
static void dies_with_its_parent(void **state)
{
    gs_worker *const worker = *state;
    int pipe_ends[2];
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t parent = test_fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        gs_caps caps;
        if (gs_worker_hello(worker, &caps, NULL, NULL, NULL) != GS_OK) _exit(1);
        if (kill(worker->pid, SIGSTOP) != 0) _exit(2);   /* stopped, it cannot notice the end of its input */
        if (write(pipe_ends[1], &worker->pid, sizeof worker->pid) != sizeof worker->pid) _exit(3);
        _exit(0);
    }
    pid_t child = 0;
    int code = 0;
    assert_int_equal(read(pipe_ends[0], &child, sizeof child), sizeof child);
    assert_int_equal(waitpid(parent, &code, 0), parent);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGKILL);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static int open_files(void)
{
    DIR *const directory = opendir("/proc/self/fd");
    int count = 0;
    while (directory && readdir(directory)) count++;
    if (directory) closedir(directory);
    return count;
}

static void leaks_no_descriptors(void **state)
{
    gs_worker *const worker = *state;
    const int before = open_files();
    for (int i = 0; i < 10; i++) {
        char *reply;
        setenv("FAKE_WORKER", i % 2 ? "mode=abort" : "mode=half", 1);
        assert_int_equal(gs_worker_call(worker, HELLO, PLENTY, &reply, NULL), GS_ERROR_WORKER_DIED);
    }
    gs_worker_stop(worker);
    assert_int_equal(open_files(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(says_hello), CASE(serves_many_with_one_child), CASE(exits), CASE(exits_silently), CASE(aborts), CASE(closes_its_pipe),
        CASE(writes_garbage), CASE(writes_half_a_line), CASE(writes_100_mib), CASE(never_answers), CASE(never_reads),
        CASE(slow_start_is_no_fault), CASE(cannot_be_started), CASE(the_environment_names_another_program),
        CASE(dies_between_two_calls), CASE(last_reply_ends_the_child), CASE(a_request_is_one_line), CASE(stop_before_a_call),
        CASE(stop_during_a_call), CASE(the_time_limit_of_the_work), CASE(an_answer_that_nobody_wants), CASE(leaks_no_descriptors), CASE(dies_with_its_parent),
    };
    return cmocka_run_group_tests_name("fault/worker", tests, NULL, NULL);
}

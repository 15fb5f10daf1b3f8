/* SPDX-License-Identifier: MIT
 * What a process has given up when gs_restrict returns, looked at from outside, and what comes of it where something of that cannot be done. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "sandbox/restrict.h"
#include "sandbox/sandbox.h"
#include "support/fork.h"
#include "support/interrupted_waits.h"

/* ---- from outside ---- */

/* A child that has restricted itself to so many seconds, after a limit that was there before; it waits. */
static pid_t restricted(int cpu_s, rlim_t before)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = test_fork();
    if (pid == 0) {
        if (before && setrlimit(RLIMIT_CPU, &(struct rlimit){before, before}) != 0) _exit(1);
        if (gs_restrict(ends[1], cpu_s, NULL) != GS_OK || write(GS_RESTRICT_PIPE, "x", 1) != 1) _exit(2);
        for (;;) nanosleep(&(struct timespec){1, 0}, NULL);
    }
    assert_true(pid > 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void limits_of(pid_t pid, const char *name, unsigned long long *soft, unsigned long long *hard)
{
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    FILE *const file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) found = sscanf(line + strlen(name), "%llu %llu", soft, hard) == 2;
    fclose(file);
    if (!found) fail_msg("%s has no limit", name);
}

static void assert_limit(pid_t pid, const char *name, unsigned long long soft, unsigned long long hard)
{
    unsigned long long is_soft, is_hard;
    limits_of(pid, name, &is_soft, &is_hard);
    if (is_soft != soft || is_hard != hard) fail_msg("%s: %llu and %llu, not %llu and %llu", name, is_soft, is_hard, soft, hard);
}

static void what_is_limited(void **state)
{
    (void)state;
    unsigned long long soft, hard;
    pid_t pid = restricted(20, 0);
    assert_limit(pid, "Max cpu time", 20, 21);   /* a signal, and a second later the end */
    assert_limit(pid, "Max stack size", 64 << 20, 64 << 20);
    assert_limit(pid, "Max open files", GS_RESTRICT_PIPE + 1, GS_RESTRICT_PIPE + 1);
    assert_limit(pid, "Max processes", 0, 0);
    assert_limit(pid, "Max file size", 0, 0);
    assert_limit(pid, "Max core file size", 0, 0);
    static const char *const sizes[] = {"Max address space", "Max data size"};
    for (size_t i = 0; i < GS_COUNT(sizes); i++) {
        limits_of(pid, sizes[i], &soft, &hard);
        assert_true(soft == hard && soft > GS_RESTRICT_MEMORY);
    }
    end(pid);
    pid = restricted(20, 7);   /* no more than there was */
    assert_limit(pid, "Max cpu time", 7, 7);
    end(pid);
}

/* ---- where something cannot be done ---- */

typedef struct outcome {
    gs_status status;
    gs_error  error;
    bool      filters;
    bool      done;
} outcome;

static outcome *of_child;   /* shared with it: it has no descriptor left */

static bool refuse_call(int call)
{
    scmp_filter_ctx const filter = seccomp_init(SCMP_ACT_ALLOW);
    const bool done = filter && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), call, 0) == 0 && seccomp_load(filter) == 0;
    if (filter) seccomp_release(filter);
    return done;
}

/* What is done in a child that may not make these calls. */
static outcome without(int call, int other, gs_status (*what)(gs_error *error))
{
    *of_child = (outcome){0};
    const pid_t pid = test_fork();
    if (pid == 0) {
        if (!refuse_call(other) || !refuse_call(call)) _exit(1);
        of_child->status = what(&of_child->error);
        of_child->done = true;
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(of_child->done);
    return *of_child;
}

static gs_status restrict_here(gs_error *error)
{
    int ends[2];
    return pipe2(ends, O_CLOEXEC) == 0 ? gs_restrict(ends[1], 20, error) : GS_ERROR_ARGUMENT;
}

/* A second name for the pipe is not needed where it has its number already. */
static gs_status restrict_in_place(gs_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return GS_ERROR_ARGUMENT;
    for (int i = 3; i < 100; i++)
        if (i != ends[1]) close(i);
    if (ends[1] != GS_RESTRICT_PIPE && (fcntl(ends[1], F_DUPFD, GS_RESTRICT_PIPE) != GS_RESTRICT_PIPE || close(ends[1]) != 0)) return GS_ERROR_ARGUMENT;
    return gs_restrict(GS_RESTRICT_PIPE, 20, error);
}

static gs_status probe(gs_error *error) { return gs_restrict_probe(&of_child->filters, error); }

static gs_status start(gs_error *error)
{
    gs_sandbox sandbox = {.pid = 77};
    const gs_status status = gs_sandbox_start(&sandbox, error);
    return sandbox.pid == 0 && sandbox.socket == -1 ? status : GS_OK;
}

static void nobody_goes_on_without_limits(void **state)
{
    (void)state;
    static const struct {
        int         call, other;
        gs_status (*what)(gs_error *error);
        gs_status   status;
        const char *text;
    } cases[] = {
        {SCMP_SYS(vhangup),     SCMP_SYS(vhangup),     restrict_here,     GS_OK,       ""},
        {SCMP_SYS(dup2),        SCMP_SYS(dup3),        restrict_here,     GS_ERROR_IO, "no descriptor for the pipe"},
        {SCMP_SYS(dup2),        SCMP_SYS(dup3),        restrict_in_place, GS_OK,       ""},
        {SCMP_SYS(close_range), SCMP_SYS(vhangup),     restrict_here,     GS_ERROR_IO, "descriptors cannot be closed"},
        {SCMP_SYS(chdir),       SCMP_SYS(vhangup),     restrict_here,     GS_ERROR_IO, "no folder to be in"},
        {SCMP_SYS(prctl),       SCMP_SYS(vhangup),     restrict_here,     GS_ERROR_IO, "privileges cannot be given up"},
        {SCMP_SYS(open),        SCMP_SYS(openat),      restrict_here,     GS_ERROR_IO, "/proc/self/status does not tell how much memory this process has"},
        {SCMP_SYS(setrlimit),   SCMP_SYS(prlimit64),   restrict_here,     GS_ERROR_IO, "a limit cannot be set"},
        {SCMP_SYS(vhangup),     SCMP_SYS(vhangup),     probe,             GS_OK,       ""},
        {SCMP_SYS(prctl),       SCMP_SYS(vhangup),     probe,             GS_ERROR_IO, "a process cannot be given limits here"},
        {SCMP_SYS(clone),       SCMP_SYS(clone3),      probe,             GS_ERROR_IO, "no process"},
        {SCMP_SYS(clone),       SCMP_SYS(clone3),      start,             GS_ERROR_IO, "no process for the sandbox"},
        {SCMP_SYS(socketpair),  SCMP_SYS(vhangup),     start,             GS_ERROR_IO, "no socket for the sandbox"},
    };
    bool filters = false;
    assert_int_equal(gs_restrict_probe(&filters, NULL), GS_OK);
    if (!filters) {
        print_message("no filter of system calls here: skipped\n");
        skip();
    }
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const outcome got = without(cases[i].call, cases[i].other, cases[i].what);
        if (got.status != cases[i].status || !strstr(got.error.text, cases[i].text))
            fail_msg("case %zu: %s: \"%s\", expected \"%s\"", i, gs_status_name(got.status), got.error.text, cases[i].text);
        assert_int_equal(got.filters, cases[i].what == probe && cases[i].status == GS_OK);
    }
}

/* Limits alone, and it is known. */
static void without_a_filter(void **state)
{
    (void)state;
    bool filters = false;
    assert_int_equal(gs_restrict_probe(&filters, NULL), GS_OK);
    if (!filters) {
        print_message("no filter of system calls here: skipped\n");
        skip();
    }
    *of_child = (outcome){.filters = true};
    const pid_t pid = test_fork();
    if (pid == 0) {   /* both ways to load one */
        scmp_filter_ctx const filter = seccomp_init(SCMP_ACT_ALLOW);
        const struct scmp_arg_cmp loads = SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP);
        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(seccomp), 0) != 0 ||
            seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(prctl), 1, &loads) != 0 || seccomp_load(filter) != 0)
            _exit(1);
        of_child->status = gs_restrict_probe(&of_child->filters, &of_child->error);
        of_child->done = true;
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(of_child->done && !of_child->filters);
    assert_int_equal(of_child->status, GS_OK);
}

static int descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 64; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* A probe leaves nothing, whatever signals come while it waits. */
static void a_probe_leaves_nothing(void **state)
{
    (void)state;
    const int open_ones = descriptors();
    for (int i = 0; i < 3; i++) {
        bool filters;
        interruptions = i;
        assert_int_equal(gs_restrict_probe(&filters, NULL), GS_OK);
        assert_int_equal(interruptions, 0);
        errno = 0;
        assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    }
    assert_int_equal(descriptors(), open_ones);
}

int main(void)
{
    of_child = mmap(NULL, sizeof *of_child, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (of_child == MAP_FAILED) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_limited), cmocka_unit_test(nobody_goes_on_without_limits), cmocka_unit_test(without_a_filter),
        cmocka_unit_test(a_probe_leaves_nothing),
    };
    return cmocka_run_group_tests_name("sandbox/restrict", tests, NULL, NULL);
}

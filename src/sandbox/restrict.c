/* SPDX-License-Identifier: MIT
 * Resource limits and the list of allowed system calls: what computing needs. Every other call, including future ones, fails with EPERM. */
#include "sandbox/restrict.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

#define STACK_MOST ((rlim_t)64 << 20)    /* ends a compiler that recurses without bound */

/* ---- limits ---- */

/* Current sizes in bytes: the address space, and its private writable part (data). Both are limited: a sanitizer reserves terabytes of address space at start
 * and takes memory from it later, which only the data limit covers. */
static bool read_sizes(rlim_t *space, rlim_t *data)
{
    char line[256];
    unsigned long long kb;
    int found = 0;
    FILE *const file = fopen("/proc/self/status", "re");
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmSize: %llu kB", &kb) == 1) *space = (rlim_t)kb << 10, found++;
        if (sscanf(line, "VmData: %llu kB", &kb) == 1) *data = (rlim_t)kb << 10, found++;
    }
    fclose(file);
    return found == 2;
}

/* For CPU time, SIGXCPU comes at the soft limit and SIGKILL at the hard one. */
static bool limit(int resource, rlim_t most, rlim_t more)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return false;
    const rlim_t hard = GS_MIN(now.rlim_max, most + more);
    return setrlimit(resource, &(struct rlimit){GS_MIN(most, hard), hard}) == 0;
}

static gs_status set_limits(int cpu_s, gs_error *error)
{
    rlim_t space = 0, data = 0;
    if (!read_sizes(&space, &data)) return gs_fail(error, GS_ERROR_IO, NULL, "/proc/self/status does not tell how much memory this process has");
    const struct {
        const char *name;
        int         resource;
        rlim_t      most, more;
    } limits[] = {
        {"CPU",    RLIMIT_CPU,    (rlim_t)cpu_s, 1},
        {"AS",     RLIMIT_AS,     space + GS_RESTRICT_MEMORY},
        {"DATA",   RLIMIT_DATA,   data + GS_RESTRICT_MEMORY},
        {"STACK",  RLIMIT_STACK,  STACK_MOST},
        {"NOFILE", RLIMIT_NOFILE, GS_RESTRICT_PIPE + 1},
        {"NPROC",  RLIMIT_NPROC,  0},
        {"FSIZE",  RLIMIT_FSIZE,  0},
        {"CORE",   RLIMIT_CORE,   0},
    };
    for (size_t i = 0; i < GS_COUNT(limits); i++)
        if (!limit(limits[i].resource, limits[i].most, limits[i].more)) return gs_fail_errno(error, errno, limits[i].name, "a limit cannot be set");
    return GS_OK;
}

/* ---- system calls ---- */

/* getcwd: NVRTC reads beyond a buffer if it fails. The folder is "/". */
static const int allowed[] = {
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(getrusage),
    SCMP_SYS(getcwd), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getrandom), SCMP_SYS(sched_getaffinity), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack), SCMP_SYS(rseq), SCMP_SYS(set_robust_list), SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* Allowed without PROT_EXEC. */
static const int mapping[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};

static bool add_rules(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp the_pipe = SCMP_A0(SCMP_CMP_EQ, GS_RESTRICT_PIPE), no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    for (size_t i = 0; i < GS_COUNT(allowed); i++)
        if (seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[i], 0, NULL) != 0) return false;
    for (size_t i = 0; i < GS_COUNT(mapping); i++)
        if (seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, mapping[i], 1, &no_code) != 0) return false;
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, &the_pipe) == 0;
}

/* System calls of another architecture (32-bit on 64-bit) do not bypass the filter: libseccomp kills the process by default. */
static void set_filter(void)
{
    scmp_filter_ctx const filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter && add_rules(filter)) seccomp_load(filter);
    if (filter) seccomp_release(filter);
}

gs_status gs_restrict(int pipe, int cpu_s, gs_error *error)
{
    if (pipe != GS_RESTRICT_PIPE && dup2(pipe, GS_RESTRICT_PIPE) < 0) return gs_fail_errno(error, errno, NULL, "no descriptor for the pipe");
    if (close_range(0, GS_RESTRICT_PIPE - 1, 0) != 0 || close_range(GS_RESTRICT_PIPE + 1, ~0u, 0) != 0)
        return gs_fail_errno(error, errno, NULL, "descriptors cannot be closed");
    if (chdir("/") != 0) return gs_fail_errno(error, errno, "/", "no folder to be in");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return gs_fail_errno(error, errno, NULL, "privileges cannot be given up");
    GS_TRY(set_limits(cpu_s, error));
    set_filter();
    return GS_OK;
}

/* ---- testing the restrictions ---- */

enum { ALL_REFUSED, NOT_FILTERED, NO_LIMITS };

static _Noreturn void try_all(int pipe)
{
    const pid_t parent = getppid();
    if (gs_restrict(pipe, 10, NULL) != GS_OK) _exit(NO_LIMITS);
    if (open("/dev/null", O_RDONLY) >= 0 || errno != EPERM) _exit(NOT_FILTERED);
    if (kill(parent, 0) == 0 || errno != EPERM) _exit(NOT_FILTERED);
    _exit(ALL_REFUSED);
}

gs_status gs_restrict_probe(bool *filters, gs_error *error)
{
    int ends[2], code = 0;
    *filters = false;
    if (pipe2(ends, O_CLOEXEC) != 0) return gs_fail_errno(error, errno, NULL, "no pipe");
    const pid_t pid = fork();
    const int why = errno;
    if (pid == 0) try_all(ends[1]);
    close(ends[0]);
    close(ends[1]);
    if (pid < 0) return gs_fail_errno(error, why, NULL, "no process");
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR) continue;
    *filters = WIFEXITED(code) && WEXITSTATUS(code) == ALL_REFUSED;
    if (*filters || (WIFEXITED(code) && WEXITSTATUS(code) == NOT_FILTERED)) return GS_OK;
    return gs_fail(error, GS_ERROR_IO, NULL, "a process cannot be given limits here");
}

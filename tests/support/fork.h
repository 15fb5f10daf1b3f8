/* SPDX-License-Identifier: MIT
 * Children of tests. A test that fails jumps out of its function and waits for nobody; its children still hold the pipe on which the runner listens, which would wait for
 * them for ever. A child that was started here ends with the test program. */
#ifndef GS_TESTS_FORK_H
#define GS_TESTS_FORK_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

/* As fork; the child is killed when the thread that started it, and so the program, ends. */
static inline pid_t test_fork(void)
{
    const pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);   /* it ended before it could be said */
    return 0;
}

#endif

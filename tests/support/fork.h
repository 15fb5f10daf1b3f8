/* SPDX-License-Identifier: MIT
 * Child processes of tests. A failing test jumps out of its function and waits for no child; a child that goes on holds the runner's output pipe open, so that the
 * runner would wait for ever. A child started here is killed when the test program ends. */
#ifndef GS_TESTS_FORK_H
#define GS_TESTS_FORK_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

/* Like fork; the child is killed when the thread that started it ends, hence also when the program ends. */
static inline pid_t test_fork(void)
{
    const pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);   /* the parent ended before prctl was called */
    return 0;
}

#endif

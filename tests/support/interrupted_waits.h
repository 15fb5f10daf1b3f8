/* SPDX-License-Identifier: MIT
 * waitpid that fails with EINTR as often as the test wants, linked with --wrap. A timer instead would also interrupt fork, which might then never complete. Include in
 * one file of the test. */
#ifndef TESTS_INTERRUPTED_WAITS_H
#define TESTS_INTERRUPTED_WAITS_H

#include <errno.h>
#include <sys/types.h>

static int interruptions;   /* how many of the next blocking calls of waitpid are interrupted */

pid_t __real_waitpid(pid_t pid, int *code, int options);
pid_t __wrap_waitpid(pid_t pid, int *code, int options);

pid_t __wrap_waitpid(pid_t pid, int *code, int options)
{
    if (options != 0 || interruptions == 0) return __real_waitpid(pid, code, options);
    interruptions--;
    errno = EINTR;
    return -1;
}

#endif

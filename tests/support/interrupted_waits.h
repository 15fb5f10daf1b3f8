/* SPDX-License-Identifier: MIT
 * Waits for a child that end by a signal, so many as the test wants: it is linked with --wrap for waitpid. A timer would do the same to fork, which may then
 * never come to its end. Include in one file of the test. */
#ifndef TESTS_INTERRUPTED_WAITS_H
#define TESTS_INTERRUPTED_WAITS_H

#include <errno.h>
#include <sys/types.h>

static int interruptions;   /* of the next waits that wait */

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

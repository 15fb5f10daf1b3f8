/* SPDX-License-Identifier: MIT
 * What a process gives up before it reads a text that somebody else wrote: memory, time, files, processes, the network.
 *
 *     gs_restrict(pipe, 60, &error)     from here on: compute, and write to this pipe
 *
 * Limits (setrlimit) hold everywhere. The filter of system calls (seccomp, by libseccomp) needs a kernel that has it; where it has not, the limits
 * are all there is. */
#ifndef GS_SANDBOX_RESTRICT_H
#define GS_SANDBOX_RESTRICT_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#define GS_RESTRICT_PIPE   3
#define GS_RESTRICT_MEMORY ((size_t)4 << 30)   /* bytes above what the process has */

/* For good, for a process with one thread. Every descriptor is closed but GS_RESTRICT_PIPE, which is what `pipe` was. cpu_s: seconds of computing;
 * SIGXCPU comes after them. Codes: IO: something cannot be set, and the process must not go on. A filter that cannot be is no error: ask before. */
gs_status gs_restrict(int pipe, int cpu_s, gs_error *error);

/* What there is here, found out in a child that tries what is forbidden: whether files and processes are refused. Codes: IO: not even limits can be set. */
gs_status gs_restrict_probe(bool *filters, gs_error *error);

#endif

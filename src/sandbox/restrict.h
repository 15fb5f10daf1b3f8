/* SPDX-License-Identifier: MIT
 * Restricts a process before it reads untrusted text: memory, CPU time, files, processes, network.
 *
 *     gs_restrict(pipe, 60, &error)     afterwards it can only compute, and write to this pipe
 *
 * Resource limits (setrlimit) always work. The system call filter (seccomp, by libseccomp) needs kernel support; without it, the limits
 * are the only restriction. */
#ifndef GS_SANDBOX_RESTRICT_H
#define GS_SANDBOX_RESTRICT_H

#include <stdbool.h>
#include <gemmsmith/status.h>

#define GS_RESTRICT_PIPE   3
#define GS_RESTRICT_MEMORY ((size_t)4 << 30)   /* bytes above the current size */

/* Irrevocable; for a process with one thread. Closes every descriptor except GS_RESTRICT_PIPE, which becomes a copy of `pipe`. cpu_s: limit of CPU seconds,
 * then SIGXCPU. Codes: IO: a limit cannot be set, and the process must exit. A missing filter is not an error: see gs_restrict_probe. */
gs_status gs_restrict(int pipe, int cpu_s, gs_error *error);

/* Tests in a child whether the filter works: *filters: files and processes are refused. Codes: IO: even limits cannot be set. */
gs_status gs_restrict_probe(bool *filters, gs_error *error);

#endif

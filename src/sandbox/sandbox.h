/* SPDX-License-Identifier: MIT
 * Compiles untrusted sources in a separate process, which runs each compilation in a child that can do nothing but
 * compute (sandbox/restrict.h). The process is forked before its parent has anything that a compromised compiler could read or damage: a device, a request, a cache.
 * At the first compilation it loads NVRTC and compiles an empty source, so that children need no files; then it erases its environment.
 *
 *     gs_sandbox sandbox;
 *     gs_sandbox_start(&sandbox, &error);         first thing in main
 *     device->user_compiler = &sandbox.compiler;        compiles user kernels from now on (device/device.h)
 *
 * Any failure of the compiler is COMPILE with a reason: its message, out of memory, too long, crashed. Replies are treated as untrusted. */
#ifndef GS_SANDBOX_SANDBOX_H
#define GS_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "device/device.h"

#define GS_SANDBOX_S     48.0                  /* default time limit of a compilation */
#define GS_SANDBOX_REPLY ((size_t)96 << 20)    /* most bytes of code, PTX and messages together */

typedef struct gs_sandbox {
    gs_compiler compiler;     /* valid while the struct is not moved */
    pid_t       pid;          /* 0: not running */
    int         socket;
    double      limit_s;      /* of the following compilations, wall time; <= 0: GS_SANDBOX_S */
    bool        unfiltered;   /* the last compilation had limits, but no system call filter */
    int         compilations;
} gs_sandbox;

/* Forks; the process must have one thread. The sandbox ends with the thread that started it. Codes: IO, MEMORY. */
gs_status gs_sandbox_start(gs_sandbox *sandbox, gs_error *error);
void      gs_sandbox_stop(gs_sandbox *sandbox);

/* The function behind sandbox->compiler. Codes: COMPILE; NO_COMPILER; MEMORY, IO: on this side, or the sandbox is lost. */
gs_status gs_sandbox_compile(gs_sandbox *sandbox, const char *target, const gs_source *source, gs_image *out, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Where user texts are compiled: a process of its own, which serves one compilation after the other, each in a child that has given up everything but
 * computing (sandbox/restrict.h). The process is forked before its parent has anything that a compiler could read or damage: a device, a request, a cache.
 * It loads NVRTC at the first compilation, and compiles an empty text, so that the children find everything in memory; its environment is erased then.
 *
 *     gs_sandbox sandbox;
 *     gs_sandbox_start(&sandbox, &error);         first thing in main
 *     device->user_compiler = &sandbox.compiler;        sources of user kernels go there (device/device.h)
 *
 * Whatever the compiler does is COMPILE with a reason: a message of its own, out of memory, too long, crashed. What comes back is read like a stranger's. */
#ifndef GS_SANDBOX_SANDBOX_H
#define GS_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "device/device.h"

#define GS_SANDBOX_S     48.0                  /* for one compilation, where nobody says */
#define GS_SANDBOX_REPLY ((size_t)96 << 20)    /* bytes: code, PTX and messages together */

typedef struct gs_sandbox {
    gs_compiler compiler;     /* valid while the struct stays where it is */
    pid_t       pid;          /* 0: not running */
    int         socket;
    double      limit_s;      /* of the next compilations, by the clock; <= 0: GS_SANDBOX_S */
    bool        unfiltered;   /* the last compilation had limits, but no filter of system calls */
    int         compilations;
} gs_sandbox;

/* Forks; the process must have one thread. It ends with the thread that started it. Codes: IO, MEMORY. */
gs_status gs_sandbox_start(gs_sandbox *sandbox, gs_error *error);
void      gs_sandbox_stop(gs_sandbox *sandbox);

/* What sandbox->compiler does. Codes: COMPILE; NO_COMPILER; MEMORY, IO: of this side, or the sandbox itself is lost. */
gs_status gs_sandbox_compile(gs_sandbox *sandbox, const char *target, const gs_source *source, gs_image *out, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Messages between the two sides of the sandbox. Strings are NUL-terminated. Private to this room. */
#ifndef GS_SANDBOX_INTERNAL_H
#define GS_SANDBOX_INTERNAL_H

#include "sandbox/sandbox.h"

/* Followed by `bytes` bytes of strings: target, name, text, options, names of headers, texts of headers. */
typedef struct gs_sandbox_request {
    uint64_t bytes;
    double   limit_s;
    int32_t  options, headers, ptx;
} gs_sandbox_request;

typedef enum gs_sandbox_end {
    GS_SANDBOX_RETURNED,      /* followed by what the child wrote */
    GS_SANDBOX_SIGNALLED,     /* code: the signal */
    GS_SANDBOX_EXITED,        /* code: its exit code, not 0 */
    GS_SANDBOX_LATE,
    GS_SANDBOX_TOO_MUCH,      /* more than GS_SANDBOX_REPLY bytes */
    GS_SANDBOX_UNABLE         /* code: a status that is not due to the source; followed by a message */
} gs_sandbox_end;

typedef struct gs_sandbox_reply {
    int32_t  end, code, filtered, zero;
    uint64_t bytes;
} gs_sandbox_reply;

/* The beginning of what the child writes; followed by code, PTX and messages. */
typedef struct gs_sandbox_result {
    int32_t  status, zero;
    uint64_t code, ptx, log;      /* bytes */
    double   compile_ms;
    char     reason[sizeof((gs_error *)0)->text];
} gs_sandbox_result;

/* Receives exactly `size` bytes, also across signals; false: the other side is gone. */
bool gs_sandbox_receive(int from, void *bytes, size_t size);

/* Main function of the forked process: serves until the socket closes. */
_Noreturn void gs_sandbox_serve(int socket, pid_t parent);

#endif

/* SPDX-License-Identifier: MIT
 * Whoever inspects user kernels. The library has none: it runs its own kernels only. Who loads user kernels gives one to the
 * device (gs_device.inspector); without one they are refused, never run uninspected. */
#ifndef GS_KERNEL_INSPECTOR_H
#define GS_KERNEL_INSPECTOR_H

#include <gemmsmith/problem.h>

#include "kernel/manifest.h"

typedef struct gs_kernel_inspector {
    /* CUDA C before it is compiled. Codes: FORBIDDEN. */
    gs_status (*source)(const char *name, const char *text, gs_error *error);
    /* PTX before it is loaded, against what the manifest declares and the problem asks for. Codes: FORBIDDEN, MEMORY. */
    gs_status (*ptx)(const char *ptx, size_t size, const gs_manifest *manifest, const gs_problem *problem, gs_error *error);
} gs_kernel_inspector;

#endif

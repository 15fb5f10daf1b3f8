/* SPDX-License-Identifier: MIT
 * The inspector of user kernels, as an interface. The library has none, because it runs only its own kernels. A program that loads user kernels sets one in
 * gs_device.inspector; without one user kernels are refused. */
#ifndef GS_KERNEL_INSPECTOR_H
#define GS_KERNEL_INSPECTOR_H

#include <gemmsmith/problem.h>

#include "kernel/manifest.h"

typedef struct gs_kernel_inspector {
    /* Checks CUDA C before it is compiled. FORBIDDEN. */
    gs_status (*source)(const char *name, const char *text, gs_error *error);
    /* Checks PTX before it is loaded, against the manifest and the problem. FORBIDDEN, MEMORY. */
    gs_status (*ptx)(const char *ptx, size_t size, const gs_manifest *manifest, const gs_problem *problem, gs_error *error);
} gs_kernel_inspector;

#endif

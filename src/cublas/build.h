/* SPDX-License-Identifier: MIT
 * Compiles and loads the small kernels that stand beside NVIDIA's products. */
#ifndef GS_CUBLAS_BUILD_H
#define GS_CUBLAS_BUILD_H

#include "device/device.h"

/* A definition of the preprocessor. */
typedef struct gs_definition {
    const char *name;
    int         value;
} gs_definition;

/* Of a file of kernels/ that is part of the program: *module. headers: all that it includes, by their names there. COMPILE, NO_COMPILER, MEMORY, NOT_FOUND. */
gs_status gs_cublas_build(gs_device *device, const char *file, const char *const *headers, int header_count, const gs_definition *definitions, int definition_count, gs_module *module,
                          gs_error *error);

#endif

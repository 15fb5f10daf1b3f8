/* SPDX-License-Identifier: MIT
 * Compiles and loads the small kernels that complement calls of cuBLASLt and torch. */
#ifndef GS_CUBLAS_BUILD_H
#define GS_CUBLAS_BUILD_H

#include "device/device.h"

/* A preprocessor definition. */
typedef struct gs_definition {
    const char *name;
    int         value;
} gs_definition;

/* Builds a file of kernels/ that is embedded in the program; its handle goes to *module. headers: all files that it includes, by their names in kernels/. COMPILE,
 * NO_COMPILER, MEMORY, NOT_FOUND. */
gs_status gs_cublas_build(gs_device *device, const char *file, const char *const *headers, int header_count, const gs_definition *definitions, int definition_count, gs_module *module,
                          gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * The code of a loaded kernel: compiled, inspected where it is a user's, and on the device. For src/loaded alone. */
#ifndef GS_LOADED_CODE_H
#define GS_LOADED_CODE_H

#include "loaded/loaded.h"

struct gs_loaded_code {
    gs_device *device;
    gs_image   image;
    gs_module  module;
    int        users;
};

/* Empty, with one user. NULL, and *error: no memory. */
gs_loaded_code *gs_loaded_code_new(gs_device *device, gs_error *error);

/* Codes as of gs_loaded_create; user: as of gs_loaded_create_user. */
gs_status gs_loaded_code_compile(gs_loaded_code *code, const gs_kernel *kernel, const gs_problem *problem, bool user, gs_error *error);

#endif

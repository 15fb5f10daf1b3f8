/* SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

void *gs_library_open(const char *path, const char **why)
{
    static _Thread_local gs_error irregular;
    *why = NULL;
    if (strchr(path, '/') && gs_file_need_regular(path, &irregular) != GS_OK) {
        *why = irregular.text;
        return NULL;
    }
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) *why = dlerror();
    return library;
}

/* SPDX-License-Identifier: MIT
 * Opens the shared object of the emulated device. Only in libgemmsmith.so: static programs have emu/linked.c instead. */
#include "device/emulator.h"

#include <dlfcn.h>
#include <gemmsmith/gemmsmith.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/library.h"
#include "base/log.h"

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value
#define FILE_NAME    "libgemmsmith-emu.so." TEXT(GS_VERSION_MAJOR)

/* Failures are not remembered: a later call tries again. The object is never closed, since devices may be in use until the process ends. */
static pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
static const gs_emulator *found;

/* The path of the object in this library's folder; "" if that is unknown. */
static void beside_library(char path[GS_PATH])
{
    static const char here = 0;   /* any object of this library */
    Dl_info info = {0};
    path[0] = '\0';
    if (!dladdr(&here, &info) || !info.dli_fname) return;
    const char *const slash = strrchr(info.dli_fname, '/');
    const size_t folder = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
    if (folder + sizeof FILE_NAME <= GS_PATH) snprintf(path, GS_PATH, "%.*s%s", (int)folder, info.dli_fname, FILE_NAME);
}

/* Opens only $GEMMSMITH_EMULATOR if it is set; else the file beside the library, else the loader's. path: the file to name in an error
 * message. */
static void *open_object(char path[GS_PATH], const char **why)
{
    const char *const set = getenv("GEMMSMITH_EMULATOR");
    if (set && *set) {
        snprintf(path, GS_PATH, "%s", set);
        return gs_library_open(set, why);
    }
    beside_library(path);
    void *const object = *path ? gs_library_open(path, why) : NULL;
    return object ? object : gs_library_open(FILE_NAME, why);
}

static gs_status check(const gs_emulator *door, const char *path, gs_error *error)
{
    if (!door) return gs_fail(error, GS_ERROR_NO_DEVICE, "device", "%.300s is no emulated device: it has no " GS_EMULATOR_SYMBOL, path);
    if (strncmp(door->version, gs_version(), sizeof door->version) != 0)
        return gs_fail(error, GS_ERROR_NO_DEVICE, "device", "%.300s is of gemmsmith %.16s, this is %s: install both from one build", path,
                       door->version, gs_version());
    if (door->device_bytes != sizeof(gs_device) || door->ops_bytes != sizeof(gs_device_ops))
        return gs_fail(error, GS_ERROR_NO_DEVICE, "device", "%.300s is of another build of gemmsmith %s: install both from one build", path, gs_version());
    return GS_OK;
}

static void to_log(int level, const char *text) { gs_log(level, "%s", text); }

static gs_status load(gs_error *error)
{
    char path[GS_PATH] = "";
    const char *why = NULL;
    void *const object = open_object(path, &why);
    if (!object)
        return gs_fail(error, GS_ERROR_NO_DEVICE, "device", "emulated devices need " FILE_NAME ", which cannot be opened (%.300s): install it beside the library or name it in GEMMSMITH_EMULATOR",
                       why ? why : path);
    const gs_emulator *const door = dlsym(object, GS_EMULATOR_SYMBOL);
    const gs_status status = check(door, path, error);
    if (status == GS_OK) {
        found = door;
        door->log_to(to_log);
    } else {
        dlclose(object);
    }
    return status;
}

gs_status gs_emulator_find(const gs_emulator **out, gs_error *error)
{
    pthread_mutex_lock(&lock);
    const gs_status status = found ? GS_OK : load(error);
    *out = found;
    pthread_mutex_unlock(&lock);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "device/cuda/driver_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/library.h"

typedef struct entry {
    const char *symbol;
    bool        needed;
    size_t      offset;   /* of the field in gs_cuda_api */
} entry;

static const entry entries[] = {
#define GS_CUDA(symbol, need, parameters) {#symbol, (need) != 0, offsetof(gs_cuda_api, symbol)},
#include "device/cuda/driver_api.def"
#undef GS_CUDA
};

/* Copies the bytes: the field is a function pointer, to which C does not convert a data pointer. */
static void put(gs_cuda_api *api, const entry *e, void *address) { memcpy((char *)api + e->offset, &address, sizeof address); }

static gs_status check_version(gs_cuda_api *api, void *library, const char *path, gs_error *error)
{
    void *const address = dlsym(library, "cuDriverGetVersion");
    if (!address) return gs_fail(error, GS_ERROR_NO_DRIVER, NULL, "%s has no cuDriverGetVersion: it is not NVIDIA's driver", path);
    memcpy(&api->cuDriverGetVersion, &address, sizeof address);
    const gs_cu_result result = api->cuDriverGetVersion(&api->version);
    if (result != GS_CU_SUCCESS)
        return gs_fail(error, GS_ERROR_NO_DRIVER, NULL, "%s: cuDriverGetVersion failed with code %d; reinstall NVIDIA's driver", path,
                       (int)result);
    if (api->version < GS_CUDA_NEEDED)
        return gs_fail(error, GS_ERROR_DRIVER_TOO_OLD, NULL,
                       "the driver supports CUDA %d.%d, needed is %d.%d or newer: install NVIDIA driver 525 or newer", api->version / 1000,
                       api->version % 1000 / 10, GS_CUDA_NEEDED / 1000, GS_CUDA_NEEDED % 1000 / 10);
    return GS_OK;
}

static gs_status fill(gs_cuda_api *api, void *library, const char *path, gs_error *error)
{
    GS_TRY(check_version(api, library, path, error));
    for (size_t i = 0; i < GS_COUNT(entries); i++) {
        void *const address = dlsym(library, entries[i].symbol);
        if (!address && entries[i].needed)
            return gs_fail(error, GS_ERROR_NO_DRIVER, NULL, "%s has no %s: reinstall NVIDIA's driver", path, entries[i].symbol);
        put(api, &entries[i], address);
    }
    return GS_OK;
}

static gs_status open_library(gs_cuda_api *api, gs_error *error)
{
    const char *const set = getenv("GEMMSMITH_LIBCUDA");
    const char *const path = set && *set ? set : "libcuda.so.1";
    const char *reason;
    void *const library = gs_library_open(path, &reason);
    if (!library) {
        return gs_fail(error, GS_ERROR_NO_DRIVER, NULL,
                       "%s; install NVIDIA's driver (525 or newer), in a container start it with access to the GPU", reason ? reason : path);
    }
    const gs_status status = fill(api, library, path, error);
    if (status != GS_OK) dlclose(library);
    return status;
}

gs_status gs_cuda_api_load(const gs_cuda_api **out, gs_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static gs_cuda_api table;
    static bool loaded;

    *out = NULL;
    pthread_mutex_lock(&lock);
    gs_status status = GS_OK;
    if (!loaded) {
        memset(&table, 0, sizeof table);
        status = open_library(&table, error);
        loaded = status == GS_OK;
    }
    pthread_mutex_unlock(&lock);
    if (status == GS_OK) *out = &table;
    return status;
}

/* SPDX-License-Identifier: MIT
 * The driver context that is current in the calling thread, and a gemmsmith context on its device. */
#include "shim/shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "device/cuda/driver_api.h"
#include "plan/made.h"

enum { PLACES = 32 };   /* most driver contexts of a process; calls in further ones are passed on */

struct gs_shim_place {
    gs_cu_context  key;        /* NULL for an emulated device */
    unsigned long long id;     /* id of the driver context: after cudaDeviceReset another one may have the same address; 0: the driver does not support ids */
    gs_device     *device;     /* owned by context */
    gs_context    *context;    /* NULL: not opened; why says the reason */
    gs_shim_reason why;
};

static pthread_mutex_t    opening = PTHREAD_MUTEX_INITIALIZER;
static gs_shim_place      places[PLACES];
static atomic_int         count;
static const gs_cuda_api *_Atomic driver;
static atomic_bool        used, forked;

gs_context *gs_shim_place_context(gs_shim_place *place) { return place->context; }
gs_device  *gs_shim_place_device(gs_shim_place *place) { return place->device; }

/* ---- forks: the driver does not work in the child of a process that used it ---- */

static void in_child(void) { atomic_store(&forked, atomic_load(&used)); }
bool gs_shim_is_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }
__attribute__((constructor)) static void at_start(void) { pthread_atfork(NULL, NULL, in_child); }

/* ---- opening ---- */

static gs_status open_named(gs_shim_place *place, const char *name, gs_error *error)
{
    gs_device *device = NULL;
    GS_TRY(gs_device_open(&device, name, NULL, error));
    GS_TRY(gs_context_open_on(&place->context, NULL, device, error));
    place->device = device;
    return GS_OK;
}

/* The number of the device whose primary context is active and current. -1: none. */
static int ordinal_now(const gs_cuda_api *api)
{
    gs_cu_device wanted, device;
    unsigned int flags;
    int devices = 0, active = 0;
    if (api->cuCtxGetDevice(&wanted) != GS_CU_SUCCESS || api->cuDeviceGetCount(&devices) != GS_CU_SUCCESS) return -1;
    if (api->cuDevicePrimaryCtxGetState(wanted, &flags, &active) != GS_CU_SUCCESS || !active) return -1;
    for (int i = 0; i < devices; i++)
        if (api->cuDeviceGet(&device, i) == GS_CU_SUCCESS && device == wanted) return i;
    return -1;
}

static void tell(const char *name, const gs_error *error)
{
    char line[512];
    gs_log(GS_LOG_WARNING, "blas: %s: %s; all calls are passed on", name, gs_error_format(error, line, sizeof line));
}

static void open_current(gs_shim_place *place, const gs_cuda_api *api)
{
    char name[32];
    gs_error error = {0};
    gs_cu_context after = NULL;
    const int ordinal = ordinal_now(api);
    place->why = GS_SHIM_CONTEXT;
    if (ordinal < 0) return;
    snprintf(name, sizeof name, "cuda:%d", ordinal);
    place->why = GS_SHIM_DEVICE;
    const gs_status status = open_named(place, name, &error);
    if (status != GS_OK) tell(name, &error);
    if (api->cuCtxGetCurrent(&after) == GS_CU_SUCCESS && after == place->key) return;
    gs_close(&place->context);   /* the current context is not the device's primary context */
    place->why = GS_SHIM_CONTEXT;
    api->cuCtxSetCurrent(place->key);
}

static gs_shim_place *find(const gs_cu_context key, unsigned long long id)
{
    const int known = atomic_load_explicit(&count, memory_order_acquire);
    for (int i = 0; i < known; i++)
        if (places[i].key == key && places[i].id == id) return &places[i];
    return NULL;
}

static gs_shim_place *open_place(gs_cu_context key, unsigned long long id, const gs_cuda_api *api, const char *emulated)
{
    gs_error error = {0};
    atomic_store(&used, true);   /* set before the lock is taken: a child that is forked in between passes its calls on and so never waits for the lock */
    if (pthread_mutex_lock(&opening) != 0) return NULL;
    gs_shim_place *place = find(key, id);
    const int at = atomic_load_explicit(&count, memory_order_relaxed);
    if (!place && at < PLACES) {
        place = &places[at];
        *place = (gs_shim_place){.key = key, .id = id, .why = GS_SHIM_DEVICE};
        if (emulated && open_named(place, emulated, &error) != GS_OK) tell(emulated, &error);
        if (!emulated) open_current(place, api);
        atomic_store_explicit(&count, at + 1, memory_order_release);
    }
    pthread_mutex_unlock(&opening);
    return place;
}

static const gs_cuda_api *driver_now(void)
{
    const gs_cuda_api *api = atomic_load_explicit(&driver, memory_order_acquire);
    if (!api && gs_cuda_api_load(&api, NULL) == GS_OK) atomic_store_explicit(&driver, api, memory_order_release);
    return api;
}

gs_shim_place *gs_shim_place_now(const char *emulated, gs_shim_reason *why)
{
    gs_cu_context key = NULL;
    unsigned long long id = 0;
    const gs_cuda_api *const api = emulated ? NULL : driver_now();
    *why = GS_SHIM_DEVICE;
    if (!emulated) {
        if (!api) return NULL;
        if (api->cuCtxGetCurrent(&key) != GS_CU_SUCCESS || !key) return *why = GS_SHIM_CONTEXT, NULL;
        if (api->cuCtxGetId && api->cuCtxGetId(key, &id) != GS_CU_SUCCESS) return *why = GS_SHIM_CONTEXT, NULL;
    }
    gs_shim_place *place = find(key, id);
    if (!place) place = open_place(key, id, api, emulated);
    if (place && place->context) return place;
    *why = place ? place->why : GS_SHIM_FULL;
    return NULL;
}

/* ---- captures ---- */

bool gs_shim_place_captures(gs_shim_place *place, gs_stream stream)
{
    bool captures = false;
    gs_device *const device = place->device;
    return device->ops->capturing && (device->ops->capturing(device, stream, &captures, NULL) != GS_OK || captures);
}

bool gs_shim_place_capture(gs_shim_place *place, gs_stream stream, uint64_t *id)
{
    const gs_cuda_api *const api = place->key ? atomic_load_explicit(&driver, memory_order_acquire) : NULL;
    gs_cu_capture_status status = GS_CU_CAPTURE_NONE;
    *id = 0;
    if (!place->key) {   /* an emulated device captures one queue at a time, so any id will do */
        *id = gs_shim_place_captures(place, stream);
        return true;
    }
    if (!api->cuStreamGetCaptureInfo || !api->cuThreadExchangeStreamCaptureMode) return !gs_shim_place_captures(place, stream);
    if (api->cuStreamGetCaptureInfo(stream, &status, id) != GS_CU_SUCCESS || status == GS_CU_CAPTURE_INVALIDATED) return false;
    if (status == GS_CU_CAPTURE_NONE) *id = 0;
    return true;
}

void gs_shim_place_ease(gs_shim_place *place, int *mode)
{
    const gs_cuda_api *const api = place->key ? atomic_load_explicit(&driver, memory_order_acquire) : NULL;
    gs_cu_capture_mode swapped = (gs_cu_capture_mode)*mode;
    if (!api || !api->cuThreadExchangeStreamCaptureMode || api->cuThreadExchangeStreamCaptureMode(&swapped) != GS_CU_SUCCESS) return;
    *mode = (int)swapped;
}

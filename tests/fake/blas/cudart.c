/* SPDX-License-Identifier: MIT
 * A CUDA runtime without a GPU: memory, streams and graphs of the emulated device h200, shared with a preloaded library that opens the same device. FAKE_CUDART=host:
 * host memory instead, and the primary context of the driver that $GEMMSMITH_LIBCUDA names is made current. */
#include "cudart.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver_api.h"
#include "device/emulator.h"

enum { FAILED = 999 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static gs_device     *device;   /* NULL: host memory */

static void fail(const char *what)
{
    fprintf(stderr, "fake runtime: %s\n", what);
    abort();
}

static void *symbol_of(void *library, const char *name)
{
    void *const address = dlsym(library, name);
    if (!address) fail(name);
    return address;
}

static gs_cu_result (*set_current)(gs_cu_context);
static gs_cu_context  context;

/* Like the real runtime at its first call. */
static void use_driver(const char *path)
{
    void *const library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    gs_cu_result (*retain)(gs_cu_context *, gs_cu_device);
    if (!library) return;   /* no driver on this machine */
    void *const found[] = {symbol_of(library, "cuDevicePrimaryCtxRetain"), symbol_of(library, "cuCtxSetCurrent")};
    memcpy(&retain, &found[0], sizeof retain);
    memcpy(&set_current, &found[1], sizeof set_current);
    if (retain(&context, 0) != GS_CU_SUCCESS || set_current(context) != GS_CU_SUCCESS) fail("the driver's context");
}

static void start(void)
{
    const char *const how = getenv("FAKE_CUDART");
    if (how && strcmp(how, "host") == 0) {
        use_driver(getenv("GEMMSMITH_LIBCUDA"));
        return;
    }
    void *const library = dlopen(EMULATOR, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    const gs_emulator *const door = symbol_of(library, GS_EMULATOR_SYMBOL);
    gs_error error = {0};
    if (door->open(&device, "h200", NULL, &error) != GS_OK) fail(error.text);
}

static gs_device *open_device(void)
{
    pthread_once(&once, start);
    return device;
}

const char *gemmsmith_emulated_device;   /* "emu:h200" or NULL; read by a preloaded library, which finds it because cuBLAS is linked to this library */
__attribute__((constructor)) static void tell(void) { gemmsmith_emulated_device = open_device() ? "emu:h200" : NULL; }

static int code(gs_status status) { return status == GS_OK ? 0 : FAILED; }

bool fake_cudart_captures(void *stream)
{
    bool captures = false;
    gs_device *const d = open_device();
    return d && stream && d->ops->capturing(d, stream, &captures, NULL) == GS_OK && captures;
}

int cudaMalloc(void **pointer, size_t bytes)
{
    gs_device *const d = open_device();
    gs_pointer at = 0;
    if (!d) return (*pointer = aligned_alloc(256, (bytes + 255) / 256 * 256)) ? 0 : 2;
    const int result = code(d->ops->alloc(d, bytes, &at, NULL));
    *pointer = (void *)(uintptr_t)at;
    return result;
}

int cudaFree(void *pointer)
{
    gs_device *const d = open_device();
    if (d) d->ops->free(d, (gs_pointer)(uintptr_t)pointer);
    else free(pointer);
    return 0;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    gs_device *const d = open_device();
    if (!d) return memcpy(to, from, bytes), 0;
    return code(kind == FAKE_TO_HOST ? d->ops->copy_out(d, to, (gs_pointer)(uintptr_t)from, bytes, NULL) : d->ops->copy_in(d, (gs_pointer)(uintptr_t)to, from, bytes, NULL));
}

int cudaStreamCreate(void **stream)
{
    gs_device *const d = open_device();
    *stream = NULL;
    return d ? code(d->ops->queue_create(d, stream, NULL)) : 0;
}

int cudaStreamDestroy(void *stream)
{
    gs_device *const d = open_device();
    if (d) d->ops->queue_destroy(d, stream);
    return 0;
}

int cudaStreamSynchronize(void *stream)
{
    gs_device *const d = open_device();
    return d ? code(d->ops->queue_wait(d, stream, NULL)) : 0;
}

int cudaDeviceSynchronize(void)
{
    if (!open_device() && set_current) set_current(context);   /* needed for a thread's first call */
    return cudaStreamSynchronize(NULL);
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    (void)mode;
    return device ? code(device->ops->capture_begin(device, stream, NULL)) : FAILED;
}

int cudaStreamEndCapture(void *stream, void **graph) { return device ? code(device->ops->capture_end(device, stream, graph, NULL)) : FAILED; }
int cudaGraphLaunch(void *graph, void *stream) { return device ? code(device->ops->graph_launch(device, graph, stream, NULL)) : FAILED; }

int cudaGraphDestroy(void *graph)
{
    if (device) device->ops->graph_destroy(device, graph);
    return 0;
}

const char *cudaGetErrorString(int error) { return error == 0 ? "no error" : "a failure of the fake runtime"; }

/* SPDX-License-Identifier: MIT
 * The few CUDA driver calls that the examples need for memory, streams and graphs, opened with dlopen, so that the examples build without a CUDA toolkit,
 * like the library. Your own program would include <cuda.h> instead. */
#ifndef EXAMPLE_CUDA_MEMORY_H
#define EXAMPLE_CUDA_MEMORY_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cuda {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*alloc)(uint64_t *pointer, size_t bytes);
    int (*release)(uint64_t pointer);
    int (*copy_in)(uint64_t to, const void *from, size_t bytes);
    int (*copy_out)(void *to, uint64_t from, size_t bytes);
    int (*fill)(uint64_t to, unsigned value, size_t words);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*instantiate)(void **executable, void *graph, unsigned long long flags);
    int (*graph_launch)(void *executable, void *stream);
} cuda;

/* Loads the driver and makes the first GPU's primary context current, which gemmsmith uses too (unless $GEMMSMITH_DEVICE names another GPU). 0: no usable
 * GPU. */
static inline int cuda_open(cuda *c)
{
    const struct {
        const char *name;
        void       *to;
    } calls[] = {
        {"cuInit",                     &c->init},
        {"cuDeviceGet",                &c->device_get},
        {"cuDevicePrimaryCtxRetain",   &c->context_retain},
        {"cuCtxSetCurrent",            &c->context_set},
        {"cuMemAlloc_v2",              &c->alloc},
        {"cuMemFree_v2",               &c->release},
        {"cuMemcpyHtoD_v2",            &c->copy_in},
        {"cuMemcpyDtoH_v2",            &c->copy_out},
        {"cuMemsetD32_v2",             &c->fill},
        {"cuStreamCreate",             &c->stream_create},
        {"cuStreamSynchronize",        &c->stream_wait},
        {"cuStreamBeginCapture_v2",    &c->capture_begin},
        {"cuStreamEndCapture",         &c->capture_end},
        {"cuGraphInstantiateWithFlags", &c->instantiate},
        {"cuGraphLaunch",              &c->graph_launch},
    };
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        *(void **)calls[i].to = dlsym(library, calls[i].name);
        if (!*(void **)calls[i].to) return 0;
    }
    int device;
    void *context;
    return c->init(0) == 0 && c->device_get(&device, 0) == 0 && c->context_retain(&context, device) == 0 &&
           c->context_set(context) == 0;
}

#endif

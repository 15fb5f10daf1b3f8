/* SPDX-License-Identifier: MIT
 * Shared by the parts of the fake libcuda: libcuda.c (devices, memory, modules, launches) and streams.c (streams, events, graphs). */
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "device/cuda/driver_api.h"
#include "fake_cuda.h"

#define GS_CUDA(symbol, need, parameters) gs_cu_result symbol parameters;
#include "device/cuda/driver_api.def"
#undef GS_CUDA

/* A node of a captured graph. */
typedef struct fake_node {
    int              place;       /* index in its graph */
    struct fake_node *before;     /* NULL: the first node */
    gs_cu_function   function;    /* NULL: no kernel */
    fake_cuda_launch launch;
} fake_node;

typedef struct object {
    struct object  *context;     /* of a module: its context */
    double          at_us;       /* of an event: its time */
    fake_node     **node;        /* of a capturing stream, a graph or an instantiated graph */
    int             nodes;
    int             launches;    /* kernels among the nodes */
    int             dependent;   /* nodes with a programmatic edge */
    struct object  *graph;       /* of an instantiated graph: its source */
    bool            capturing;
    uint64_t        capture;     /* of a capturing stream: the capture's id */
    bool            spoilt;      /* a call that is not allowed during capture was made */
} object;

extern pthread_mutex_t       fake_lock;
extern double                fake_now_us;
extern fake_cuda_launch      fake_last;
extern _Thread_local object *fake_current;    /* the thread's current context */

long long    fake_setting(const char *name, long long otherwise);
gs_cu_result fake_inject(const char *symbol);  /* counts the call; returns the result that it must fail with */
object      *fake_make(void);
gs_cu_result fake_drop(void *handle);

/* Appends a node; the caller holds the lock. function NULL: no kernel. false: no memory. */
bool fake_append(object *stream, gs_cu_function function, const fake_cuda_launch *launch);

/* Records the launch parameters that tests can see. */
void fake_read_params(fake_cuda_launch *launch, void **params);

#define ENTER()                                               \
    do {                                                      \
        const gs_cu_result injected_ = fake_inject(__func__); \
        if (injected_ != GS_CU_SUCCESS) return injected_;     \
    } while (0)
#define ENTER_CONTEXT()                                        \
    do {                                                       \
        ENTER();                                               \
        if (!fake_current) return GS_CU_ERROR_INVALID_CONTEXT; \
    } while (0)

#endif

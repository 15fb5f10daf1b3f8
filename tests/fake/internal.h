/* SPDX-License-Identifier: MIT
 * What the parts of the fake libcuda share: libcuda.c (devices, memory, code, launches) and streams.c (streams, events, graphs). */
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "device/cuda/driver_api.h"
#include "fake_cuda.h"

#define GS_CUDA(symbol, need, parameters) gs_cu_result symbol parameters;
#include "device/cuda/driver_api.def"
#undef GS_CUDA

/* What was captured. */
typedef struct fake_node {
    int              place;       /* in its graph */
    struct fake_node *before;     /* NULL: it is the first */
    gs_cu_function   function;    /* NULL: no kernel */
    fake_cuda_launch launch;
} fake_node;

typedef struct object {
    struct object  *context;     /* of a module */
    double          at_us;       /* of an event */
    fake_node     **node;        /* of a stream that captures, of a graph, of an instantiated one */
    int             nodes;
    int             launches;    /* of these nodes: kernels */
    int             dependent;   /* of these: with a programmatic edge */
    struct object  *graph;       /* an instantiated graph was made of this one */
    bool            capturing;
    uint64_t        capture;     /* its number */
    bool            spoilt;      /* a call that cannot be captured came between */
} object;

extern pthread_mutex_t       fake_lock;
extern double                fake_now_us;
extern fake_cuda_launch      fake_last;
extern _Thread_local object *fake_current;    /* context */

long long    fake_setting(const char *name, long long otherwise);
gs_cu_result fake_inject(const char *symbol);  /* counts the call; the result that it is to fail with */
object      *fake_make(void);
gs_cu_result fake_drop(void *handle);

/* Puts what was captured behind the others, with the lock held. function NULL: no kernel. false: no memory. */
bool fake_append(object *stream, gs_cu_function function, const fake_cuda_launch *launch);

/* What a test can see of a launch's parameters. */
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

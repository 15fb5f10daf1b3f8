/* SPDX-License-Identifier: MIT */
#include "torch/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

enum { RELAXED = 2, ACTIVE_NONE = 0 };

static struct {
    int (*info)(void *stream, int *status, uint64_t *id);   /* cuStreamGetCaptureInfo */
    int (*exchange)(int *mode);
    int (*get)(void **context);
    int (*set)(void *context);
} driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ISO C does not convert object pointers to function pointers, so the bytes are copied. */
static void look_up(void *object, const char *name, void *out)
{
    void *const found = dlsym(object, name);
    memcpy(out, &found, sizeof found);
}

static void find(void)
{
    const char *const set = getenv("GEMMSMITH_LIBCUDA");   /* the library uses the same variable */
    const char *why;
    void *const object = gs_library_open(set && *set ? set : "libcuda.so.1", &why);
    if (!object) return;
    look_up(object, "cuStreamGetCaptureInfo", &driver.info);
    look_up(object, "cuThreadExchangeStreamCaptureMode", &driver.exchange);
    look_up(object, "cuCtxGetCurrent", &driver.get);
    look_up(object, "cuCtxSetCurrent", &driver.set);
}

uint64_t gs_torch_capture(gs_stream stream)
{
    int status = ACTIVE_NONE;
    uint64_t id = 0;
    pthread_once(&once, find);
    if (!driver.info || driver.info(stream, &status, &id) != 0) return 1;
    return status == ACTIVE_NONE ? 0 : id ? id : 1;
}

void gs_torch_step_aside(gs_torch_aside *state)
{
    state->context = NULL;
    state->mode = RELAXED;
    pthread_once(&once, find);
    if (driver.get) driver.get(&state->context);
    if (driver.exchange) driver.exchange(&state->mode);
}

void gs_torch_step_back(const gs_torch_aside *state)
{
    int mode = state->mode;
    if (driver.exchange) driver.exchange(&mode);
    if (driver.set && driver.get && state->context) driver.set(state->context);
}

/* SPDX-License-Identifier: MIT
 * The fake libcuda opened a second time, by the test: its counters and any of its entry points. Include in one file of the test, after cmocka.h. */
#ifndef FAKE_OPENED_H
#define FAKE_OPENED_H

#include <dlfcn.h>
#include <string.h>

#include "fake/fake_cuda.h"

#define FAKE GS_BINARY_DIR "/tests/fake/libfake_cuda.so"

static fake_cuda_live_function  *live;
static fake_cuda_last_function  *last_launch;
static fake_cuda_calls_function *calls;
static fake_cuda_replayed_function *replayed;

static void put_function(void *library, const char *name, void *field)
{
    void *const address = dlsym(library, name);
    if (!address) fail_msg("the fake driver has no %s", name);
    memcpy(field, &address, sizeof address);
}

/* Sets live, last_launch, calls and replayed. The library stays open. */
static void *open_fake(void)
{
    void *const library = dlopen(FAKE, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    put_function(library, "fake_cuda_live", &live);
    put_function(library, "fake_cuda_last", &last_launch);
    put_function(library, "fake_cuda_calls", &calls);
    put_function(library, "fake_cuda_replayed", &replayed);
    return library;
}

#endif

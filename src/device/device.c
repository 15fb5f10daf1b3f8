/* SPDX-License-Identifier: MIT
 * Devices by name: the table of backends, and what does not depend on one. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cuda/cuda.h"

static gs_status open_emulated(gs_device **out, const char *rest, const char *cache, gs_error *error)
{
    (void)out;
    (void)cache;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "device", "\"emu:%.32s\": this build has no emulated device; use \"cuda:N\"", rest);
}

static const struct {
    const char *prefix;
    gs_status (*open)(gs_device **out, const char *rest, const char *cache, gs_error *error);
} backends[] = {
    /* prefix   open */
    {"cuda:", gs_cuda_open},
    {"emu:",  open_emulated},
};

gs_status gs_device_open(gs_device **out, const char *name, const char *cache, gs_error *error)
{
    *out = NULL;
    if (!name) name = getenv("GEMMSMITH_DEVICE");
    if (!name || !*name) name = "cuda:0";
    for (size_t i = 0; i < GS_COUNT(backends); i++) {
        const size_t size = strlen(backends[i].prefix);
        if (strncmp(name, backends[i].prefix, size) == 0) return backends[i].open(out, name + size, cache, error);
    }
    return gs_fail(error, GS_ERROR_PARSE, "device", "\"%.64s\" names no device; write \"cuda:0\"", name);
}

void gs_device_close(gs_device **device)
{
    if (!device || !*device) return;
    (*device)->ops->close(*device);
    *device = NULL;
}

int gs_device_count(gs_error *error)
{
    int count;
    return gs_cuda_count(&count, error) == GS_OK ? count : 0;
}

void gs_image_free(gs_image *image)
{
    free(image->code);
    free(image->log);
    *image = (gs_image){0};
}

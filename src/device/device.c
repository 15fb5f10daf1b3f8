/* SPDX-License-Identifier: MIT
 * Devices by name: the table of backends, and what does not depend on one. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "device/cuda/cuda.h"
#include "device/emulator.h"
#include "schedule/profile.h"

#define FIRST_GPU "cuda:0"
#define EMULATED  "emu:"

static gs_status open_emulated(gs_device **out, const char *rest, const char *cache, gs_error *error)
{
    const gs_emulator *emulator;
    GS_TRY(gs_emulator_find(&emulator, error));
    return emulator->open(out, rest, cache, error);
}

static const struct {
    const char *prefix;
    gs_status (*open)(gs_device **out, const char *rest, const char *cache, gs_error *error);
} backends[] = {
    /* prefix   open */
    {"cuda:",  gs_cuda_open},
    {EMULATED, open_emulated},
};

static gs_status open_named(gs_device **out, const char *name, const char *cache, gs_error *error)
{
    for (size_t i = 0; i < GS_COUNT(backends); i++) {
        const size_t size = strlen(backends[i].prefix);
        if (strncmp(name, backends[i].prefix, size) == 0) return backends[i].open(out, name + size, cache, error);
    }
    return gs_fail(error, GS_ERROR_PARSE, "device", "\"%.64s\" names no device; write \"cuda:0\" or \"" GS_DEVICE_WITHOUT_GPU "\"", name);
}

static const char *from_environment(void)
{
    const char *const name = getenv("GEMMSMITH_DEVICE");
    return name && *name ? name : NULL;
}

const char *gs_device_gpu(void)
{
    const char *const name = from_environment();
    return name ? name : FIRST_GPU;
}

gs_status gs_device_for_library(const char **name, gs_error *error)
{
    *name = gs_device_gpu();
    if (strncmp(*name, EMULATED, sizeof EMULATED - 1) != 0) return GS_OK;
    return gs_fail(error, GS_ERROR_ARGUMENT, "GEMMSMITH_DEVICE",
                   "\"%.64s\" is an emulated device, which the environment cannot choose for a program: name it in gs_config.device", *name);
}

gs_status gs_device_open(gs_device **out, const char *name, const char *cache, gs_error *error)
{
    *out = NULL;
    if (!name || !*name) name = from_environment();
    if (name) return open_named(out, name, cache, error);
    gs_error why = {0};
    const gs_status status = open_named(out, FIRST_GPU, cache, &why);
    if (gs_device_may_emulate(status)) {
        gs_log(GS_LOG_WARNING, GS_DEVICE_EMULATES, why.text);
        return open_named(out, GS_DEVICE_WITHOUT_GPU, cache, error);
    }
    if (status != GS_OK && error) *error = why;
    return status;
}

gs_status gs_device_dependent(bool *on, gs_error *error)
{
    const char *const text = getenv("GEMMSMITH_DEPENDENT");
    *on = text && strcmp(text, "1") == 0;
    if (*on || !text || !*text || strcmp(text, "0") == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_PARSE, "GEMMSMITH_DEPENDENT", "\"%.32s\" is neither 0 nor 1", text);
}

bool gs_device_may_emulate(gs_status status) { return status == GS_ERROR_NO_DRIVER || status == GS_ERROR_NO_DEVICE; }

const char *gs_device_emulated(int index, char text[GS_DEVICE_NAME])
{
    const char *const name = gs_profile_name(index);
    if (!name) return NULL;
    snprintf(text, GS_DEVICE_NAME, EMULATED "%s", name);
    return text;
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

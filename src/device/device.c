/* SPDX-License-Identifier: MIT
 * Opening devices by name from a table of backends, and functions that do not depend on the backend. */
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

gs_status gs_device_dependent(int *dependent, gs_error *error)
{
    const char *const text = getenv("GEMMSMITH_DEPENDENT");
    *dependent = !text || !*text ? 0 : strcmp(text, "1") == 0 ? 1 : -1;
    if (*dependent >= 0 || strcmp(text, "0") == 0) return GS_OK;
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

gs_status gs_device_build(gs_device *device, const gs_source *source, gs_module *out, gs_error *error)
{
    gs_image image = {0};
    gs_status status = device->ops->compile(device, source, &image, error);
    if (status == GS_OK) status = device->ops->load(device, &image, out, error);
    gs_image_free(&image);
    return status;
}

int gs_device_count(gs_error *error) { return gs_cuda_count(error); }

gs_status gs_device_check(const gs_device *device, const char *name, const gs_function_info *info, const gs_launch *launch, const size_t *bytes, int parameters, gs_error *error)
{
    const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    if (info->parameters >= 0 && info->parameters != parameters)
        return gs_fail(error, GS_ERROR_LAUNCH, "entry", "%.64s takes %s%d parameters, the manifest gives it %d", name, info->parameters > GS_FUNCTION_PARAMETERS ? "more than " : "",
                       GS_MIN(info->parameters, GS_FUNCTION_PARAMETERS), parameters);
    for (int i = 0; i < info->parameters; i++)
        if (info->parameter_bytes[i] != bytes[i])
            return gs_fail(error, GS_ERROR_LAUNCH, "entry", "parameter %d of %.64s has %zu bytes, what the manifest gives it has %zu", i, name, info->parameter_bytes[i], bytes[i]);
    if (threads > (uint32_t)info->max_threads)
        return gs_fail(error, GS_ERROR_LAUNCH, "block", "%u threads, the code of %.64s takes at most %d (__launch_bounds__, registers)", threads, name, info->max_threads);
    if ((int64_t)launch->smem + info->static_smem > device->caps.smem_block)
        return gs_fail(error, GS_ERROR_LAUNCH, "smem", "%u bytes of dynamic and %d of static shared memory: a block of %.64s may have %d together", launch->smem, info->static_smem,
                       name, device->caps.smem_block);
    return GS_OK;
}

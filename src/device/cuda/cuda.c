/* SPDX-License-Identifier: MIT
 * Opening and closing a CUDA device, and its capabilities. */
#include "device/cuda/cuda.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cache.h"

/* ---- capabilities ---- */

/* "NVIDIA H200" -> "nvidia-h200": lower case, with a single '-' for each run of other characters. */
static void make_slug(char *slug, size_t size, const char *name)
{
    size_t used = 0;
    for (; *name && used + 2 < size; name++) {
        if (isalnum((unsigned char)*name))
            slug[used++] = (char)tolower((unsigned char)*name);
        else if (used > 0 && slug[used - 1] != '-')
            slug[used++] = '-';
    }
    if (used > 0 && slug[used - 1] == '-') used--;
    slug[used] = '\0';
}

static void read_uuid(const gs_cuda_device *cuda, char *text, size_t size)
{
    gs_cu_uuid uuid;
    const bool known = (cuda->api->cuDeviceGetUuid_v2 && cuda->api->cuDeviceGetUuid_v2(&uuid, cuda->device) == GS_CU_SUCCESS) ||
                       (cuda->api->cuDeviceGetUuid && cuda->api->cuDeviceGetUuid(&uuid, cuda->device) == GS_CU_SUCCESS);
    text[0] = '\0';
    if (!known) return;
    int used = snprintf(text, size, "GPU-");
    for (int i = 0; i < 16 && used > 0 && (size_t)used + 4 < size; i++) {
        const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        used += snprintf(text + used, size - (size_t)used, "%s%02x", dash ? "-" : "", (unsigned char)uuid.bytes[i]);
    }
}

static gs_status read_attributes(gs_cuda_device *cuda, gs_error *error)
{
    gs_caps *const caps = &cuda->base.caps;
    int major = 0, minor = 0, clock_khz = 0, memory_khz = 0, bus_bits = 0;
    const struct {
        gs_cu_device_attribute attribute;
        int                   *value;
    } wanted[] = {
        {GS_CU_DEVICE_CC_MAJOR,             &major},
        {GS_CU_DEVICE_CC_MINOR,             &minor},
        {GS_CU_DEVICE_SMS,                  &caps->sms},
        {GS_CU_DEVICE_SMEM_PER_BLOCK_OPTIN, &caps->smem_block},
        {GS_CU_DEVICE_SMEM_PER_SM,          &caps->smem_sm},
        {GS_CU_DEVICE_REGISTERS_PER_SM,     &caps->registers_sm},
        {GS_CU_DEVICE_THREADS_PER_SM,       &caps->threads_sm},
        {GS_CU_DEVICE_L2_BYTES,             &caps->l2_bytes},
        {GS_CU_DEVICE_CLOCK_KHZ,            &clock_khz},
        {GS_CU_DEVICE_MEMORY_CLOCK_KHZ,     &memory_khz},
        {GS_CU_DEVICE_MEMORY_BUS_BITS,      &bus_bits},
    };
    for (size_t i = 0; i < GS_COUNT(wanted); i++)
        GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, cuda->device),
                             "cuDeviceGetAttribute", error));
    caps->cc = major * 10 + minor;
    caps->clock_mhz = clock_khz / 1000.0;
    gs_caps_rates(caps, memory_khz / 1000.0, bus_bits);
    return GS_OK;
}

static gs_status read_caps(gs_cuda_device *cuda, gs_error *error)
{
    gs_caps *const caps = &cuda->base.caps;
    const gs_cuda_api *const api = cuda->api;
    GS_TRY(gs_cuda_check(api, api->cuDeviceGetName(caps->name, sizeof caps->name, cuda->device), "cuDeviceGetName", error));
    GS_TRY(gs_cuda_check(api, api->cuDeviceTotalMem_v2(&caps->memory_bytes, cuda->device), "cuDeviceTotalMem", error));
    make_slug(caps->slug, sizeof caps->slug, caps->name);
    read_uuid(cuda, caps->uuid, sizeof caps->uuid);
    caps->driver = api->version;
    GS_TRY(read_attributes(cuda, error));
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_DEVICE_UNKNOWN, NULL, "%s (%s) has compute capability %d.%d; 8.0 (A100) or newer is needed",
                       cuda->base.name, caps->name, caps->cc / 10, caps->cc % 10);
    /* wgmma, setmaxnreg and tcgen05 exist only in the architecture-specific targets. */
    snprintf(caps->target, sizeof caps->target, "sm_%d%s", caps->cc, caps->cc == 90 || caps->cc == 100 ? "a" : "");
    return GS_OK;
}

/* ---- opening and closing ---- */

static gs_status init(const gs_cuda_api **out, int *count, gs_error *error)
{
    GS_TRY(gs_cuda_api_load(out, error));
    const gs_cuda_api *const api = *out;
    const gs_cu_result result = api->cuInit(0);
    if (result == GS_CU_ERROR_NO_DEVICE) return gs_cuda_describe(api, GS_ERROR_NO_DEVICE, result, "cuInit", error);
    if (result == GS_CU_ERROR_STUB_LIBRARY || result == GS_CU_ERROR_SYSTEM_DRIVER_MISMATCH)
        return gs_cuda_describe(api, GS_ERROR_NO_DRIVER, result, "cuInit", error);
    if (result == GS_CU_ERROR_COMPAT_NOT_SUPPORTED) return gs_cuda_describe(api, GS_ERROR_DRIVER_TOO_OLD, result, "cuInit", error);
    GS_TRY(gs_cuda_check(api, result, "cuInit", error));
    return gs_cuda_check(api, api->cuDeviceGetCount(count), "cuDeviceGetCount", error);
}

int gs_cuda_count(gs_error *error)
{
    const gs_cuda_api *api;
    int count;
    if (init(&api, &count, error) != GS_OK) return 0;
    if (count == 0) gs_fail(error, GS_ERROR_NO_DEVICE, NULL, "the driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)");
    return count;
}

static void close_device(gs_device *device)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_nvml_close(&cuda->nvml);
    if (cuda->context) {
        unsigned int flags;
        int active = 1;
        gs_cu_context current = NULL;
        cuda->api->cuDevicePrimaryCtxRelease_v2(cuda->device);
        /* If that was the last reference, the context is gone and must not stay current. */
        if (cuda->api->cuDevicePrimaryCtxGetState(cuda->device, &flags, &active) == GS_CU_SUCCESS && !active &&
            cuda->api->cuCtxGetCurrent(&current) == GS_CU_SUCCESS && current == cuda->context)
            cuda->api->cuCtxSetCurrent(NULL);
    }
    free(cuda);
}

static gs_status compile(gs_device *device, const gs_source *source, gs_image *out, gs_error *error)
{
    return gs_compile_cached(device->caps.target, gs_cuda_of(device)->cache, source, out, error);
}

static const gs_device_ops ops = {
    .close = close_device,
    .alloc = gs_cuda_alloc,
    .free = gs_cuda_free,
    .copy_in = gs_cuda_copy_in,
    .copy_out = gs_cuda_copy_out,
    .fill = gs_cuda_fill,
    .memory_info = gs_cuda_memory_info,
    .compile = compile,
    .load = gs_cuda_load,
    .unload = gs_cuda_unload,
    .function = gs_cuda_function,
    .function_smem = gs_cuda_function_smem,
    .max_clusters = gs_cuda_max_clusters,
    .tensor_map = gs_cuda_tensor_map,
    .prepare = gs_cuda_prepare,
    .launch = gs_cuda_launch,
    .queue_create = gs_cuda_queue_create,
    .queue_destroy = gs_cuda_queue_destroy,
    .queue_wait = gs_cuda_queue_wait,
    .wait = gs_cuda_wait,
    .event_create = gs_cuda_event_create,
    .event_destroy = gs_cuda_event_destroy,
    .event_record = gs_cuda_event_record,
    .queue_follow = gs_cuda_queue_follow,
    .event_us = gs_cuda_event_us,
    .capturing = gs_cuda_capturing,
    .capture_begin = gs_cuda_capture_begin,
    .capture_end = gs_cuda_capture_end,
    .capture_keep = gs_cuda_capture_keep,
    .capture_node = gs_cuda_capture_node,
    .predecessor = gs_cuda_predecessor,
    .triggers = gs_cuda_triggers,
    .capture_free = gs_cuda_capture_free,
    .graph_launch = gs_cuda_graph_launch,
    .graph_change = gs_cuda_graph_change,
    .graph_destroy = gs_cuda_graph_destroy,
    .clocks = gs_cuda_clocks,
};

static gs_status start(gs_cuda_device *cuda, int ordinal, gs_error *error)
{
    int count = 0;
    GS_TRY(init(&cuda->api, &count, error));
    if (ordinal >= count)
        return gs_fail(error, GS_ERROR_NO_DEVICE, NULL, "%s: the driver sees %d device%s", cuda->base.name, count, count == 1 ? "" : "s");
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuDeviceGet(&cuda->device, ordinal), "cuDeviceGet", error));
    GS_TRY(read_caps(cuda, error));
    cuda->programmatic = gs_device_is_programmatic(&cuda->base);
    gs_cu_context context = NULL;
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuDevicePrimaryCtxRetain(&context, cuda->device), "cuDevicePrimaryCtxRetain", error));
    cuda->context = context;
    return gs_cuda_enter(cuda, error);
}

static gs_status read_ordinal(const char *text, int *ordinal, gs_error *error)
{
    gs_scan scan = gs_scan_from(text);
    int64_t value;
    if (!gs_scan_int(&scan, &value) || !gs_scan_end(&scan) || value < 0 || value > 1023)
        return gs_fail(error, GS_ERROR_PARSE, "device", "\"cuda:%.32s\": after \"cuda:\" stands the device's number, as in \"cuda:0\"", text);
    *ordinal = (int)value;
    return GS_OK;
}

gs_status gs_cuda_open(gs_device **out, const char *ordinal, const char *cache, gs_error *error)
{
    int number = 0;
    GS_TRY(read_ordinal(ordinal, &number, error));
    gs_cuda_device *const cuda = calloc(1, sizeof *cuda);
    if (!cuda) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the device's state");
    cuda->base.ops = &ops;
    snprintf(cuda->base.name, sizeof cuda->base.name, "cuda:%d", number);
    gs_cache_choose(cuda->cache, cache);
    const gs_status status = start(cuda, number, error);
    if (status != GS_OK) {
        close_device(&cuda->base);
        return status;
    }
    *out = &cuda->base;
    return GS_OK;
}

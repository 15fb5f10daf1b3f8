/* SPDX-License-Identifier: MIT
 * Modules, functions, tensor maps and launches. */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>
#include <gemmsmith/problem.h>

#include "base/error.h"

/* ---- modules and functions ---- */

gs_status gs_cuda_load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_module module = NULL;
    *out = NULL;
    if (!image->code || image->size == 0) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the image holds no code");
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuModuleLoadDataEx(&module, image->code, 0, NULL, NULL), "cuModuleLoadDataEx", error));
    *out = module;
    return GS_OK;
}

void gs_cuda_unload(gs_device *device, gs_module module)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (module && gs_cuda_enter(cuda, NULL) == GS_OK) cuda->api->cuModuleUnload(module);
}

static gs_status read_info(const gs_cuda_device *cuda, gs_cu_function function, gs_function_info *info, gs_error *error)
{
    const struct {
        gs_cu_function_attribute attribute;
        int                     *value;
    } wanted[] = {
        {GS_CU_FUNCTION_REGISTERS,   &info->registers},
        {GS_CU_FUNCTION_LOCAL_BYTES, &info->local_bytes},
        {GS_CU_FUNCTION_STATIC_SMEM, &info->static_smem},
        {GS_CU_FUNCTION_MAX_THREADS, &info->max_threads},
    };
    for (size_t i = 0; i < GS_COUNT(wanted); i++)
        GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, function),
                             "cuFuncGetAttribute", error));
    info->parameters = -1;   /* unknown: the end of the list shows only in a failing call, which compute-sanitizer would report for every kernel */
    return GS_OK;
}

gs_status gs_cuda_function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_function function = NULL;
    gs_function_info ignored;
    *out = NULL;
    GS_TRY(gs_cuda_enter(cuda, error));
    const gs_cu_result result = cuda->api->cuModuleGetFunction(&function, module, name);
    if (result == GS_CU_ERROR_NOT_FOUND)
        return gs_fail(error, GS_ERROR_NOT_FOUND, "entry", "the code has no kernel named \"%.64s\" (is it extern \"C\" __global__?)", name);
    GS_TRY(gs_cuda_check(cuda->api, result, "cuModuleGetFunction", error));
    /* Drivers load functions lazily at the first launch, which allocates and so cannot be captured: load it now. */
    if (cuda->api->cuFuncLoad) GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuFuncLoad(function), "cuFuncLoad", error));
    GS_TRY(read_info(cuda, function, info ? info : &ignored, error));
    *out = function;
    return GS_OK;
}

gs_status gs_cuda_function_smem(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    char call[96];
    GS_TRY(gs_cuda_enter(cuda, error));
    snprintf(call, sizeof call, "cuFuncSetAttribute for %u bytes of shared memory (the device allows %d)", smem, device->caps.smem_block);
    GS_TRY(gs_cuda_check_launch(cuda->api, cuda->api->cuFuncSetAttribute(function, GS_CU_FUNCTION_MAX_DYNAMIC_SMEM, (int)smem), call, error));
    if (cluster <= 8) return GS_OK;
    snprintf(call, sizeof call, "cuFuncSetAttribute for clusters of %u", cluster);
    return gs_cuda_check_launch(cuda->api, cuda->api->cuFuncSetAttribute(function, GS_CU_FUNCTION_NON_PORTABLE_CLUSTER, 1), call, error);
}

/* ---- launches ---- */

static bool has_cluster(const gs_launch *launch)
{
    return launch->cluster[0] > 1 || launch->cluster[1] > 1 || launch->cluster[2] > 1;
}

static bool is_dependent(const gs_cuda_device *cuda, const gs_launch *launch)
{
    const bool wanted = launch->mode == GS_LAUNCH_DEPENDENT || (launch->mode == GS_LAUNCH_AS_DEVICE && cuda->base.dependent);
    return launch->dependent && wanted && cuda->programmatic;
}

/* Fills config for cuLaunchKernelEx; attributes: room for two. */
static void make_config(const gs_cuda_device *cuda, gs_cu_launch_config *config, gs_cu_launch_attribute *attributes, const gs_launch *launch, gs_queue queue)
{
    memset(config, 0, sizeof *config);
    memset(attributes, 0, 2 * sizeof *attributes);
    memcpy(config->grid, launch->grid, sizeof config->grid);
    memcpy(config->block, launch->block, sizeof config->block);
    config->smem = launch->smem;
    config->stream = queue;
    config->attributes = attributes;
    if (has_cluster(launch)) {
        gs_cu_launch_attribute *const cluster = &attributes[config->attribute_count++];
        cluster->id = GS_CU_LAUNCH_CLUSTER_DIMENSION;
        memcpy(cluster->value.cluster, launch->cluster, sizeof cluster->value.cluster);
    }
    if (is_dependent(cuda, launch)) {
        gs_cu_launch_attribute *const dependent = &attributes[config->attribute_count++];
        dependent->id = GS_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION;
        dependent->value.programmatic = 1;
    }
}

/* A launch's configuration with its attributes; only the stream differs between launches. */
typedef struct __attribute__((may_alias)) prepared {
    gs_cu_launch_config    config;
    gs_cu_launch_attribute attributes[2];
} prepared;
_Static_assert(sizeof(prepared) <= sizeof(gs_launch_ready) && _Alignof(prepared) <= _Alignof(gs_launch_ready), "a prepared launch fits");

void gs_cuda_prepare(gs_device *device, gs_launch *launch, gs_launch_ready *out)
{
    const gs_cuda_device *const cuda = gs_cuda_of(device);
    prepared *const p = (prepared *)(void *)out->bytes;
    launch->ready = NULL;
    if (!cuda->api->cuLaunchKernelEx) return;
    make_config(cuda, &p->config, p->attributes, launch, NULL);
    launch->ready = out;
}

gs_status gs_cuda_max_clusters(gs_device *device, const gs_launch *launch, int *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_launch_config config;
    gs_cu_launch_attribute attributes[2];
    *out = 0;
    if (!cuda->api->cuOccupancyMaxActiveClusters)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the driver cannot count resident clusters (no cuOccupancyMaxActiveClusters)");
    GS_TRY(gs_cuda_enter(cuda, error));
    make_config(cuda, &config, attributes, launch, NULL);
    return gs_cuda_check_launch(cuda->api, cuda->api->cuOccupancyMaxActiveClusters(out, launch->function, &config),
                                "cuOccupancyMaxActiveClusters", error);
}

/* If driver or device do not support dependent launches, the launch is a plain one: it starts after its predecessor has ended,
 * which is always correct. */
static gs_cu_result launch_once(const gs_cuda_device *cuda, const gs_launch *launch, gs_queue queue)
{
    if (!cuda->api->cuLaunchKernelEx)
        return cuda->api->cuLaunchKernel(launch->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                                         launch->block[1], launch->block[2], launch->smem, queue, launch->params, NULL);
    gs_cu_launch_config config;
    gs_cu_launch_attribute attributes[2];
    make_config(cuda, &config, attributes, launch, queue);
    return cuda->api->cuLaunchKernelEx(&config, launch->function, launch->params, NULL);
}

bool gs_cuda_borrow(const gs_cuda_device *cuda, gs_cu_context *before)
{
    *before = NULL;
    if (cuda->api->cuCtxGetCurrent(before) != GS_CU_SUCCESS || *before == cuda->context) return false;
    return cuda->api->cuCtxSetCurrent(cuda->context) == GS_CU_SUCCESS;
}

void gs_cuda_give_back(const gs_cuda_device *cuda, gs_cu_context before)
{
    if (before) cuda->api->cuCtxSetCurrent(before);
}

static gs_cu_result launch_again(const gs_cuda_device *cuda, const gs_launch *launch, gs_queue queue, gs_cu_result first)
{
    gs_cu_context before;
    if (!gs_cuda_borrow(cuda, &before)) return first;
    const gs_cu_result result = launch_once(cuda, launch, queue);
    gs_cuda_give_back(cuda, before);
    return result;
}

gs_status gs_cuda_launch(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    const gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_result result;
    if (launch->ready) {
        prepared *const p = (prepared *)(void *)launch->ready->bytes;
        p->config.stream = queue;
        result = cuda->api->cuLaunchKernelEx(&p->config, launch->function, launch->params, NULL);
        if (result == GS_CU_SUCCESS) return GS_OK;
    } else {
        if (!cuda->api->cuLaunchKernelEx && has_cluster(launch))
            return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the driver cannot launch clusters (no cuLaunchKernelEx): install a newer driver");
        result = launch_once(cuda, launch, queue);
    }
    if (result == GS_CU_ERROR_INVALID_CONTEXT || result == GS_CU_ERROR_INVALID_HANDLE) result = launch_again(cuda, launch, queue, result);
    return gs_cuda_check_launch(cuda->api, result, cuda->api->cuLaunchKernelEx ? "cuLaunchKernelEx" : "cuLaunchKernel", error);
}

/* ---- tensor maps ---- */

static bool tensor_format(const gs_tensor *tensor, gs_cu_tensor_type *type, gs_cu_tensor_swizzle *swizzle)
{
    switch (tensor->element) {
    case GS_F16: *type = GS_CU_TENSOR_F16; break;
    case GS_BF16: *type = GS_CU_TENSOR_BF16; break;
    case GS_F32: *type = GS_CU_TENSOR_F32; break;
    default: return false;
    }
    switch (tensor->swizzle) {
    case 0: *swizzle = GS_CU_TENSOR_SWIZZLE_NONE; return true;
    case 32: *swizzle = GS_CU_TENSOR_SWIZZLE_32; return true;
    case 64: *swizzle = GS_CU_TENSOR_SWIZZLE_64; return true;
    case 128: *swizzle = GS_CU_TENSOR_SWIZZLE_128; return true;
    default: return false;
    }
}

static gs_cu_result encode(const gs_cuda_api *api, gs_cu_tensor_map *map, const gs_tensor *tensor, gs_cu_tensor_type type, gs_cu_tensor_swizzle swizzle)
{
    static const uint32_t element_strides[5] = {1, 1, 1, 1, 1};
    uint64_t extent[5], stride[4];
    uint32_t box[5];
    const int dimensions = gs_tensor_dimensions(tensor, extent, stride, box);
    return api->cuTensorMapEncodeTiled(map, type, (uint32_t)dimensions, (void *)(uintptr_t)tensor->address, extent, stride, box, element_strides,
                                       GS_CU_TENSOR_INTERLEAVE_NONE, swizzle,
                                       tensor->fetch == 128 ? GS_CU_TENSOR_PROMOTION_128 : GS_CU_TENSOR_PROMOTION_256, GS_CU_TENSOR_FILL_ZERO);
}

gs_status gs_cuda_tensor_map(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error)
{
    const gs_cuda_api *const api = gs_cuda_of(device)->api;
    gs_cu_tensor_type type;
    gs_cu_tensor_swizzle swizzle;
    gs_cu_tensor_map map;
    if (!api->cuTensorMapEncodeTiled)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the driver knows no tensor maps (no cuTensorMapEncodeTiled): install a newer driver");
    if (!tensor_format(tensor, &type, &swizzle))
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a tensor map of element type %d and swizzle %d does not exist", tensor->element,
                       tensor->swizzle);
    gs_cu_result result = encode(api, &map, tensor, type, swizzle);
    gs_cu_context before;
    if (result == GS_CU_ERROR_INVALID_CONTEXT && gs_cuda_borrow(gs_cuda_of(device), &before)) {   /* the thread has no context yet */
        result = encode(api, &map, tensor, type, swizzle);
        gs_cuda_give_back(gs_cuda_of(device), before);
    }
    if (result == GS_CU_ERROR_INVALID_VALUE)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL,
                       "cuTensorMapEncodeTiled refuses %llu x %llu elements, row stride %llu bytes, box %u x %u, swizzle %d, address %#llx",
                       (unsigned long long)tensor->extent[1], (unsigned long long)tensor->extent[0], (unsigned long long)tensor->stride,
                       tensor->box[1], tensor->box[0], tensor->swizzle, (unsigned long long)tensor->address);
    GS_TRY(gs_cuda_check(api, result, "cuTensorMapEncodeTiled", error));
    memcpy(out, &map, sizeof *out);
    return GS_OK;
}

/* SPDX-License-Identifier: MIT */
#include "device/paper.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "device/cache.h"

typedef struct paper_device {
    gs_device base;
    char      cache[GS_PATH];
} paper_device;

#define SOMEWHERE ((gs_pointer)1 << 32)   /* a fake address other than 0, which a plan can keep and free */

static void close_device(gs_device *device) { free(device); }

static gs_status nothing_runs(gs_error *error) { return gs_fail(error, GS_ERROR_UNSUPPORTED, "device", "this device only compiles"); }

static gs_status alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)device, (void)error;
    *out = bytes ? SOMEWHERE : 0;
    return GS_OK;
}

static void release(gs_device *device, gs_pointer pointer) { (void)device, (void)pointer; }

static gs_status fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    (void)device, (void)to, (void)pattern, (void)bytes, (void)queue, (void)error;
    return GS_OK;
}

static gs_status copy_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    (void)device, (void)to, (void)from, (void)bytes;
    return nothing_runs(error);
}

static gs_status copy_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    (void)device, (void)to, (void)from, (void)bytes;
    return nothing_runs(error);
}

static gs_status compile(gs_device *device, const gs_source *source, gs_image *out, gs_error *error)
{
    return gs_compile_cached(device->caps.target, ((paper_device *)device)->cache, source, out, error);
}

/* The image itself serves as the module. */
static gs_status load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error)
{
    (void)device;
    *out = NULL;
    if (!image->code || image->size == 0) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the image holds no code");
    *out = (gs_module)(uintptr_t)image;
    return GS_OK;
}

static void unload(gs_device *device, gs_module module) { (void)device, (void)module; }

static gs_status function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error)
{
    const gs_image *const image = module;
    (void)device, (void)name, (void)error;
    *out = module;
    if (info) *info = (gs_function_info){.registers = image->registers, .static_smem = image->static_smem, .max_threads = 1024, .parameters = -1};
    return GS_OK;
}

static gs_status function_smem(gs_device *device, gs_function f, uint32_t smem, uint32_t cluster, gs_error *error)
{
    (void)device, (void)f, (void)smem, (void)cluster, (void)error;
    return GS_OK;
}

static gs_status max_clusters(gs_device *device, const gs_launch *launch, int *out, gs_error *error)
{
    (void)device, (void)launch, (void)error;
    *out = 1;
    return GS_OK;
}

static gs_status tensor_map(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error)
{
    (void)device, (void)tensor, (void)out;
    return nothing_runs(error);
}

static gs_status launch(gs_device *device, const gs_launch *what, gs_queue queue, gs_error *error)
{
    (void)device, (void)what, (void)queue;
    return nothing_runs(error);
}

static gs_status queue_wait(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    return GS_OK;
}

static const gs_device_ops ops = {
    .close = close_device,
    .alloc = alloc,
    .free = release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .fill = fill,
    .compile = compile,
    .load = load,
    .unload = unload,
    .function = function,
    .function_smem = function_smem,
    .max_clusters = max_clusters,
    .tensor_map = tensor_map,
    .launch = launch,
    .queue_wait = queue_wait,
};

gs_status gs_paper_open(gs_device **out, const gs_caps *caps, const char *cache, gs_error *error)
{
    *out = NULL;
    paper_device *const paper = calloc(1, sizeof *paper);
    if (!paper) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the device's state");
    paper->base.ops = &ops;
    paper->base.caps = *caps;
    paper->base.paper = true;
    snprintf(paper->base.name, sizeof paper->base.name, "%s", caps->slug);
    gs_cache_choose(paper->cache, cache);
    *out = &paper->base;
    return GS_OK;
}

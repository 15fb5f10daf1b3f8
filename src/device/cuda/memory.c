/* SPDX-License-Identifier: MIT
 * Device memory: allocation, copies, fills. */
#include "device/cuda/cuda.h"

#include <stdio.h>

#include "base/error.h"

gs_status gs_cuda_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_pointer pointer = 0;
    char call[64];
    *out = 0;
    if (bytes == 0) return GS_OK;
    GS_TRY(gs_cuda_enter(cuda, error));
    snprintf(call, sizeof call, "cuMemAlloc of %zu bytes", bytes);
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuMemAlloc_v2(&pointer, bytes), call, error));
    *out = pointer;
    return GS_OK;
}

void gs_cuda_free(gs_device *device, gs_pointer pointer)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (pointer && gs_cuda_enter(cuda, NULL) == GS_OK) cuda->api->cuMemFree_v2(pointer);
}

gs_status gs_cuda_copy_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (bytes == 0) return GS_OK;
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuMemcpyHtoD_v2(to, from, bytes), "cuMemcpyHtoD", error));
    /* The call returns once pageable memory has been staged; the last part may still be in flight, and non-blocking
     * streams would not wait for it. */
    return gs_cuda_check(cuda->api, cuda->api->cuStreamSynchronize(NULL), "cuStreamSynchronize after cuMemcpyHtoD", error);
}

gs_status gs_cuda_copy_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (bytes == 0) return GS_OK;
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuMemcpyDtoH_v2(to, from, bytes), "cuMemcpyDtoH", error);
}

gs_status gs_cuda_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (bytes % 4 != 0) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a fill of %zu bytes: the size must be a multiple of 4", bytes);
    if (bytes == 0) return GS_OK;
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuMemsetD32Async(to, pattern, bytes / 4, queue), "cuMemsetD32Async", error);
}

gs_status gs_cuda_memory_info(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    *free_bytes = *total_bytes = 0;
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuMemGetInfo_v2(free_bytes, total_bytes), "cuMemGetInfo", error);
}

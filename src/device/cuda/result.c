/* SPDX-License-Identifier: MIT
 * Converting the driver's results to statuses, and making the context current. */
#include "device/cuda/cuda.h"

#include "base/error.h"

static bool is_fault(gs_cu_result result)
{
    switch (result) {
    case GS_CU_ERROR_ECC_UNCORRECTABLE:
    case GS_CU_ERROR_NVLINK_UNCORRECTABLE:
    case GS_CU_ERROR_CONTAINED:
    case GS_CU_ERROR_ILLEGAL_ADDRESS:
    case GS_CU_ERROR_LAUNCH_TIMEOUT:
    case GS_CU_ERROR_CONTEXT_IS_DESTROYED:
    case GS_CU_ERROR_ASSERT:
    case GS_CU_ERROR_HARDWARE_STACK_ERROR:
    case GS_CU_ERROR_ILLEGAL_INSTRUCTION:
    case GS_CU_ERROR_MISALIGNED_ADDRESS:
    case GS_CU_ERROR_INVALID_ADDRESS_SPACE:
    case GS_CU_ERROR_INVALID_PC:
    case GS_CU_ERROR_LAUNCH_FAILED:
    case GS_CU_ERROR_TENSOR_MEMORY_LEAK: return true;
    default: return false;
    }
}

static bool is_refusal(gs_cu_result result)
{
    return result == GS_CU_ERROR_INVALID_VALUE || result == GS_CU_ERROR_INVALID_HANDLE || result == GS_CU_ERROR_LAUNCH_OUT_OF_RESOURCES ||
           result == GS_CU_ERROR_COOPERATIVE_TOO_LARGE || result == GS_CU_ERROR_INVALID_CLUSTER_SIZE;
}

gs_status gs_cuda_describe(const gs_cuda_api *api, gs_status status, gs_cu_result result, const char *call, gs_error *error)
{
    const char *name = NULL, *meaning = NULL;
    if (!error) return status;
    if (api->cuGetErrorName(result, &name) != GS_CU_SUCCESS || !name) name = "unknown result";
    if (api->cuGetErrorString(result, &meaning) != GS_CU_SUCCESS || !meaning) meaning = "no description";
    return gs_fail(error, status, NULL, "%s: %s (%d), %s", call, name, (int)result, meaning);
}

gs_status gs_cuda_check(const gs_cuda_api *api, gs_cu_result result, const char *call, gs_error *error)
{
    if (result == GS_CU_SUCCESS) return GS_OK;
    gs_status status = GS_ERROR_DEVICE;
    if (result == GS_CU_ERROR_OUT_OF_MEMORY) status = GS_ERROR_DEVICE_MEMORY;
    if (is_fault(result)) status = GS_ERROR_FAULT;
    return gs_cuda_describe(api, status, result, call, error);
}

gs_status gs_cuda_check_launch(const gs_cuda_api *api, gs_cu_result result, const char *call, gs_error *error)
{
    if (is_refusal(result)) return gs_cuda_describe(api, GS_ERROR_LAUNCH, result, call, error);
    return gs_cuda_check(api, result, call, error);
}

gs_status gs_cuda_enter(gs_cuda_device *cuda, gs_error *error)
{
    gs_cu_context current = NULL;
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuCtxGetCurrent(&current), "cuCtxGetCurrent", error));
    if (current == cuda->context) return GS_OK;
    return gs_cuda_check(cuda->api, cuda->api->cuCtxSetCurrent(cuda->context), "cuCtxSetCurrent", error);
}

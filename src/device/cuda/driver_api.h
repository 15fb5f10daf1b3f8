/* SPDX-License-Identifier: MIT
 * Our own declaration of the part of libcuda's ABI that gemmsmith uses (values and layouts of CUDA 12.0 and later), and the
 * table of entry points (driver_api.def), filled from libcuda.so.1 (or $GEMMSMITH_LIBCUDA) at first use. */
#ifndef GS_DEVICE_CUDA_DRIVER_API_H
#define GS_DEVICE_CUDA_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#define GS_CUDA_NEEDED 12000   /* oldest supported CUDA version of the driver, as cuDriverGetVersion reports it */

typedef int                      gs_cu_device;
typedef unsigned long long       gs_cu_pointer;
typedef struct gs_cu_context_   *gs_cu_context;
typedef struct gs_cu_module_    *gs_cu_module;
typedef struct gs_cu_function_  *gs_cu_function;
typedef struct gs_cu_stream_    *gs_cu_stream;
typedef struct gs_cu_event_     *gs_cu_event;
typedef struct gs_cu_graph_     *gs_cu_graph;
typedef struct gs_cu_exec_      *gs_cu_graph_exec;
typedef struct gs_cu_graph_node_ *gs_cu_graph_node;

typedef struct gs_cu_uuid {
    char bytes[16];
} gs_cu_uuid;

typedef enum gs_cu_result {
    GS_CU_SUCCESS                       = 0,
    GS_CU_ERROR_INVALID_VALUE           = 1,
    GS_CU_ERROR_OUT_OF_MEMORY           = 2,
    GS_CU_ERROR_STUB_LIBRARY            = 34,
    GS_CU_ERROR_NO_DEVICE               = 100,
    GS_CU_ERROR_INVALID_DEVICE          = 101,
    GS_CU_ERROR_INVALID_CONTEXT         = 201,
    GS_CU_ERROR_ECC_UNCORRECTABLE       = 214,
    GS_CU_ERROR_NVLINK_UNCORRECTABLE    = 220,
    GS_CU_ERROR_CONTAINED               = 226,
    GS_CU_ERROR_INVALID_HANDLE          = 400,
    GS_CU_ERROR_NOT_FOUND               = 500,
    GS_CU_ERROR_ILLEGAL_ADDRESS         = 700,
    GS_CU_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    GS_CU_ERROR_LAUNCH_TIMEOUT          = 702,
    GS_CU_ERROR_CONTEXT_IS_DESTROYED    = 709,
    GS_CU_ERROR_ASSERT                  = 710,
    GS_CU_ERROR_HARDWARE_STACK_ERROR    = 714,
    GS_CU_ERROR_ILLEGAL_INSTRUCTION     = 715,
    GS_CU_ERROR_MISALIGNED_ADDRESS      = 716,
    GS_CU_ERROR_INVALID_ADDRESS_SPACE   = 717,
    GS_CU_ERROR_INVALID_PC              = 718,
    GS_CU_ERROR_LAUNCH_FAILED           = 719,
    GS_CU_ERROR_COOPERATIVE_TOO_LARGE   = 720,
    GS_CU_ERROR_TENSOR_MEMORY_LEAK      = 721,
    GS_CU_ERROR_SYSTEM_DRIVER_MISMATCH  = 803,
    GS_CU_ERROR_COMPAT_NOT_SUPPORTED    = 804,
    GS_CU_ERROR_CAPTURE_UNSUPPORTED     = 900,
    GS_CU_ERROR_CAPTURE_INVALIDATED     = 901,
    GS_CU_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    GS_CU_ERROR_INVALID_CLUSTER_SIZE    = 912,
    GS_CU_ERROR_UNKNOWN                 = 999
} gs_cu_result;

typedef enum gs_cu_device_attribute {
    GS_CU_DEVICE_CLOCK_KHZ            = 13,
    GS_CU_DEVICE_SMS                  = 16,
    GS_CU_DEVICE_MEMORY_CLOCK_KHZ     = 36,
    GS_CU_DEVICE_MEMORY_BUS_BITS      = 37,
    GS_CU_DEVICE_L2_BYTES             = 38,
    GS_CU_DEVICE_THREADS_PER_SM       = 39,
    GS_CU_DEVICE_CC_MAJOR             = 75,
    GS_CU_DEVICE_CC_MINOR             = 76,
    GS_CU_DEVICE_SMEM_PER_SM          = 81,
    GS_CU_DEVICE_REGISTERS_PER_SM     = 82,
    GS_CU_DEVICE_SMEM_PER_BLOCK_OPTIN = 97
} gs_cu_device_attribute;

typedef enum gs_cu_function_attribute {
    GS_CU_FUNCTION_MAX_THREADS          = 0,
    GS_CU_FUNCTION_STATIC_SMEM          = 1,
    GS_CU_FUNCTION_LOCAL_BYTES          = 3,
    GS_CU_FUNCTION_REGISTERS            = 4,
    GS_CU_FUNCTION_MAX_DYNAMIC_SMEM     = 8,
    GS_CU_FUNCTION_NON_PORTABLE_CLUSTER = 14
} gs_cu_function_attribute;

enum { GS_CU_STREAM_NON_BLOCKING = 1, GS_CU_EVENT_DEFAULT = 0 };

typedef enum gs_cu_capture_status { GS_CU_CAPTURE_NONE = 0, GS_CU_CAPTURE_ACTIVE = 1, GS_CU_CAPTURE_INVALIDATED = 2 } gs_cu_capture_status;
typedef enum gs_cu_capture_mode { GS_CU_CAPTURE_GLOBAL = 0, GS_CU_CAPTURE_THREAD_LOCAL = 1, GS_CU_CAPTURE_RELAXED = 2 } gs_cu_capture_mode;

typedef enum gs_cu_launch_attribute_id {
    GS_CU_LAUNCH_CLUSTER_DIMENSION                 = 4,
    GS_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6
} gs_cu_launch_attribute_id;

typedef union gs_cu_launch_value {
    char         pad[64];
    uint64_t     alignment;
    unsigned int cluster[3];
    int          programmatic;
} gs_cu_launch_value;

typedef struct gs_cu_launch_attribute {
    gs_cu_launch_attribute_id id;
    char                      pad[4];
    gs_cu_launch_value        value;
} gs_cu_launch_attribute;

typedef struct gs_cu_launch_config {
    unsigned int            grid[3], block[3];
    unsigned int            smem;
    gs_cu_stream            stream;
    gs_cu_launch_attribute *attributes;
    unsigned int            attribute_count;
} gs_cu_launch_config;

enum { GS_CU_EDGE_FULL = 0, GS_CU_EDGE_PROGRAMMATIC = 1 };   /* CUgraphDependencyType */

typedef struct gs_cu_graph_edge {
    unsigned char from_port, to_port, type, reserved[5];
} gs_cu_graph_edge;

/* A kernel of a graph: CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct gs_cu_kernel_node {
    gs_cu_function function;
    unsigned int   grid[3], block[3];
    unsigned int   smem;
    void         **params, **extra;
    void          *kernel;     /* alternative to function */
    gs_cu_context  context;    /* of kernel; NULL: the current one */
} gs_cu_kernel_node;

typedef struct gs_cu_tensor_map {
    _Alignas(128) uint64_t word[16];
} gs_cu_tensor_map;

typedef enum gs_cu_tensor_type { GS_CU_TENSOR_F16 = 6, GS_CU_TENSOR_F32 = 7, GS_CU_TENSOR_BF16 = 9 } gs_cu_tensor_type;
typedef enum gs_cu_tensor_interleave { GS_CU_TENSOR_INTERLEAVE_NONE = 0 } gs_cu_tensor_interleave;
typedef enum gs_cu_tensor_swizzle {
    GS_CU_TENSOR_SWIZZLE_NONE = 0, GS_CU_TENSOR_SWIZZLE_32 = 1, GS_CU_TENSOR_SWIZZLE_64 = 2, GS_CU_TENSOR_SWIZZLE_128 = 3
} gs_cu_tensor_swizzle;
typedef enum gs_cu_tensor_promotion {
    GS_CU_TENSOR_PROMOTION_NONE = 0, GS_CU_TENSOR_PROMOTION_128 = 2, GS_CU_TENSOR_PROMOTION_256 = 3
} gs_cu_tensor_promotion;
typedef enum gs_cu_tensor_fill { GS_CU_TENSOR_FILL_ZERO = 0 } gs_cu_tensor_fill;

/* The entry points, by symbol. Optional ones may be NULL. */
typedef struct gs_cuda_api {
#define GS_CUDA(symbol, need, parameters) gs_cu_result (*symbol) parameters;
#include "device/cuda/driver_api.def"
#undef GS_CUDA
    int version;   /* CUDA version of the driver: 1000 * major + 10 * minor */
} gs_cuda_api;

/* Loads the table once per process; does not call cuInit. Failures are not remembered: a later call tries again.
 * Codes: NO_DRIVER, DRIVER_TOO_OLD. */
gs_status gs_cuda_api_load(const gs_cuda_api **out, gs_error *error);

#endif

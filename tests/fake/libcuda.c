/* SPDX-License-Identifier: MIT
 * A libcuda without a GPU: enough of the driver to open devices, keep memory (host memory), load modules, launch (nothing
 * happens), capture and time (every launch takes the same time), with failures injected by the environment. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "internal.h"

#define MAX_DEVICES 8

static const char *const symbols[] = {
#define GS_CUDA(symbol, need, parameters) #symbol,
#include "device/cuda/driver_api.def"
#undef GS_CUDA
};
#define SYMBOL_COUNT (sizeof symbols / sizeof symbols[0])

pthread_mutex_t              fake_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int            calls[SYMBOL_COUNT];
static atomic_int            live;
static object                contexts[2 * MAX_DEVICES];   /* primary contexts, then others */
static int                   retained[MAX_DEVICES];
static size_t                used_bytes;
double                       fake_now_us;
fake_cuda_launch             fake_last;
_Thread_local object        *fake_current;

int fake_cuda_live(void) { return atomic_load(&live); }
const fake_cuda_launch *fake_cuda_last(void) { return &fake_last; }

int fake_cuda_calls(const char *symbol)
{
    for (size_t i = 0; i < SYMBOL_COUNT; i++)
        if (strcmp(symbols[i], symbol) == 0) return atomic_load(&calls[i]);
    return -1;
}

long long fake_setting(const char *name, long long otherwise)
{
    const char *const text = getenv(name);
    return text && *text ? atoll(text) : otherwise;
}

/* Counts the call and returns the injected result if it must fail. nth counts calls since FAKE_CUDA_FAIL got its value. */
gs_cu_result fake_inject(const char *symbol)
{
    static char wanted[96];
    static int matched;
    gs_cu_result result = GS_CU_SUCCESS;
    const char *const set = getenv("FAKE_CUDA_FAIL");
    const char *const fail = set ? set : "";
    const size_t length = strcspn(fail, ":");

    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < SYMBOL_COUNT; i++)
        if (strcmp(symbols[i], symbol) == 0) atomic_fetch_add(&calls[i], 1);
    if (strncmp(wanted, fail, sizeof wanted - 1) != 0) {
        snprintf(wanted, sizeof wanted, "%s", fail);
        matched = 0;
    }
    if (length == strlen(symbol) && strncmp(fail, symbol, length) == 0) {
        matched++;
        if (fail[length] != ':' || atoi(fail + length + 1) == matched)
            result = (gs_cu_result)fake_setting("FAKE_CUDA_ERROR", GS_CU_ERROR_UNKNOWN);
    }
    pthread_mutex_unlock(&fake_lock);
    return result;
}

object *fake_make(void)
{
    object *const made = calloc(1, sizeof *made);
    if (made) atomic_fetch_add(&live, 1);
    return made;
}

gs_cu_result fake_drop(void *handle)
{
    if (!handle) return GS_CU_ERROR_INVALID_HANDLE;
    atomic_fetch_sub(&live, 1);
    free(handle);
    return GS_CU_SUCCESS;
}

/* ---- the driver and its devices ---- */

gs_cu_result cuInit(unsigned int flags)
{
    ENTER();
    return flags == 0 ? GS_CU_SUCCESS : GS_CU_ERROR_INVALID_VALUE;
}

gs_cu_result cuDriverGetVersion(int *version)
{
    ENTER();
    *version = (int)fake_setting("FAKE_CUDA_VERSION", 13000);
    return GS_CU_SUCCESS;
}

gs_cu_result cuGetErrorName(gs_cu_result result, const char **text)
{
    *text = result == GS_CU_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return GS_CU_SUCCESS;
}

gs_cu_result cuGetErrorString(gs_cu_result result, const char **text)
{
    *text = result == GS_CU_ERROR_OUT_OF_MEMORY ? "out of memory" : "a failure of the fake driver";
    return GS_CU_SUCCESS;
}

static int device_count(void)
{
    const long long count = fake_setting("FAKE_CUDA_DEVICES", 1);
    return count > MAX_DEVICES ? MAX_DEVICES : (int)count;
}

gs_cu_result cuDeviceGetCount(int *count)
{
    ENTER();
    *count = device_count();
    return GS_CU_SUCCESS;
}

gs_cu_result cuDeviceGet(gs_cu_device *device, int ordinal)
{
    ENTER();
    if (ordinal < 0 || ordinal >= device_count()) return GS_CU_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return GS_CU_SUCCESS;
}

gs_cu_result cuDeviceGetName(char *name, int size, gs_cu_device device)
{
    ENTER();
    (void)device;
    const char *const set = getenv("FAKE_CUDA_NAME");
    snprintf(name, (size_t)size, "%s", set ? set : "NVIDIA H200");
    return GS_CU_SUCCESS;
}

static void make_uuid(gs_cu_uuid *uuid, gs_cu_device device)
{
    for (int i = 0; i < 16; i++) uuid->bytes[i] = (char)(i * 17 + device);
}

#ifndef FAKE_CUDA_OLD
gs_cu_result cuDeviceGetUuid_v2(gs_cu_uuid *uuid, gs_cu_device device)
{
    ENTER();
    make_uuid(uuid, device);
    return GS_CU_SUCCESS;
}
#endif

gs_cu_result cuDeviceGetUuid(gs_cu_uuid *uuid, gs_cu_device device)
{
    ENTER();
    make_uuid(uuid, device);
    return GS_CU_SUCCESS;
}

gs_cu_result cuDeviceGetPCIBusId(char *text, int size, gs_cu_device device)
{
    ENTER();
    snprintf(text, (size_t)size, "FFFF:%02X:00.0", device);
    return GS_CU_SUCCESS;
}

gs_cu_result cuDeviceTotalMem_v2(size_t *bytes, gs_cu_device device)
{
    ENTER();
    (void)device;
    *bytes = (size_t)fake_setting("FAKE_CUDA_MEMORY", 1 << 30);
    return GS_CU_SUCCESS;
}

gs_cu_result cuDeviceGetAttribute(int *value, gs_cu_device_attribute attribute, gs_cu_device device)
{
    ENTER();
    (void)device;
    const int cc = (int)fake_setting("FAKE_CUDA_CC", 90);
    switch (attribute) {
    case GS_CU_DEVICE_CC_MAJOR: *value = cc / 10; break;
    case GS_CU_DEVICE_CC_MINOR: *value = cc % 10; break;
    case GS_CU_DEVICE_SMS: *value = 132; break;
    case GS_CU_DEVICE_CLOCK_KHZ: *value = 1980000; break;
    case GS_CU_DEVICE_MEMORY_CLOCK_KHZ: *value = 3201000; break;
    case GS_CU_DEVICE_MEMORY_BUS_BITS: *value = 6016; break;
    case GS_CU_DEVICE_L2_BYTES: *value = 60 << 20; break;
    case GS_CU_DEVICE_THREADS_PER_SM: *value = 2048; break;
    case GS_CU_DEVICE_SMEM_PER_SM: *value = 233472; break;
    case GS_CU_DEVICE_REGISTERS_PER_SM: *value = 65536; break;
    case GS_CU_DEVICE_SMEM_PER_BLOCK_OPTIN: *value = 232448; break;
    default: return GS_CU_ERROR_INVALID_VALUE;
    }
    return GS_CU_SUCCESS;
}

/* ---- contexts ---- */

gs_cu_result cuDevicePrimaryCtxRetain(gs_cu_context *context, gs_cu_device device)
{
    ENTER();
    retained[device]++;
    atomic_fetch_add(&live, 1);
    *context = (gs_cu_context)&contexts[device];
    return GS_CU_SUCCESS;
}

gs_cu_result cuDevicePrimaryCtxRelease_v2(gs_cu_device device)
{
    ENTER();
    if (retained[device] == 0) return GS_CU_ERROR_INVALID_CONTEXT;
    retained[device]--;
    atomic_fetch_sub(&live, 1);
    return GS_CU_SUCCESS;
}

gs_cu_result cuDevicePrimaryCtxGetState(gs_cu_device device, unsigned int *flags, int *active)
{
    ENTER();
    *flags = 0;
    *active = retained[device] > 0;
    return GS_CU_SUCCESS;
}

/* A context other than the device's primary one. */
gs_cu_result cuCtxCreate_v2(gs_cu_context *context, unsigned int flags, gs_cu_device device);
gs_cu_result cuCtxCreate_v2(gs_cu_context *context, unsigned int flags, gs_cu_device device)
{
    ENTER();
    (void)flags;
    fake_current = &contexts[MAX_DEVICES + device];
    *context = (gs_cu_context)fake_current;
    return GS_CU_SUCCESS;
}

gs_cu_result cuCtxSetCurrent(gs_cu_context context)
{
    ENTER();
    fake_current = (object *)context;
    return GS_CU_SUCCESS;
}

gs_cu_result cuCtxGetCurrent(gs_cu_context *context)
{
    ENTER();
    *context = (gs_cu_context)fake_current;
    return GS_CU_SUCCESS;
}

gs_cu_result cuCtxGetDevice(gs_cu_device *device)
{
    ENTER_CONTEXT();
    *device = (gs_cu_device)((fake_current - contexts) % MAX_DEVICES);
    return GS_CU_SUCCESS;
}

#ifndef FAKE_CUDA_OLD
gs_cu_result cuCtxGetId(gs_cu_context context, unsigned long long *id)
{
    ENTER();
    *id = (unsigned long long)((object *)context - contexts) + 100ull * (unsigned long long)fake_setting("FAKE_CUDA_RESETS", 0);
    return context ? GS_CU_SUCCESS : GS_CU_ERROR_INVALID_CONTEXT;
}
#endif

gs_cu_result cuCtxSynchronize(void)
{
    ENTER_CONTEXT();
    return GS_CU_SUCCESS;
}

/* ---- memory: 256 bytes before each block hold its size ---- */

gs_cu_result cuMemAlloc_v2(gs_cu_pointer *pointer, size_t bytes)
{
    ENTER_CONTEXT();
    if (bytes == 0) return GS_CU_ERROR_INVALID_VALUE;
    const size_t total = (size_t)fake_setting("FAKE_CUDA_MEMORY", 1 << 30);
    gs_cu_result result = GS_CU_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    if (bytes <= total && used_bytes <= total - bytes) {
        char *const base = aligned_alloc(256, 256 + (bytes + 255) / 256 * 256);
        if (base) {
            memcpy(base, &bytes, sizeof bytes);
            memset(base + 256, 0x5a, bytes < 4096 ? bytes : 4096);   /* never zero by chance where tests look */
            *pointer = (gs_cu_pointer)(uintptr_t)(base + 256);
            used_bytes += bytes;
            atomic_fetch_add(&live, 1);
            result = GS_CU_SUCCESS;
        }
    }
    pthread_mutex_unlock(&fake_lock);
    return result;
}

gs_cu_result cuMemFree_v2(gs_cu_pointer pointer)
{
    ENTER_CONTEXT();
    size_t bytes;
    char *const base = (char *)(uintptr_t)pointer - 256;
    memcpy(&bytes, base, sizeof bytes);
    pthread_mutex_lock(&fake_lock);
    used_bytes -= bytes;
    pthread_mutex_unlock(&fake_lock);
    return fake_drop(base);
}

gs_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    ENTER_CONTEXT();
    *total_bytes = (size_t)fake_setting("FAKE_CUDA_MEMORY", 1 << 30);
    *free_bytes = *total_bytes - used_bytes;
    return GS_CU_SUCCESS;
}

gs_cu_result cuMemcpyHtoD_v2(gs_cu_pointer to, const void *from, size_t bytes)
{
    ENTER_CONTEXT();
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GS_CU_SUCCESS;
}

gs_cu_result cuMemcpyDtoH_v2(void *to, gs_cu_pointer from, size_t bytes)
{
    ENTER_CONTEXT();
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return GS_CU_SUCCESS;
}

gs_cu_result cuMemsetD32Async(gs_cu_pointer to, unsigned int pattern, size_t words, gs_cu_stream stream)
{
    ENTER_CONTEXT();
    object *const queue = (object *)stream;
    pthread_mutex_lock(&fake_lock);
    const bool kept = !queue || !queue->capturing || fake_append(queue, NULL, NULL);   /* a captured fill is also done at once */
    pthread_mutex_unlock(&fake_lock);
    if (!kept) return GS_CU_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < words; i++) ((unsigned int *)(uintptr_t)to)[i] = pattern;
    return GS_CU_SUCCESS;
}

/* ---- modules: a function's handle is its module's; no function is named "absent" ---- */

gs_cu_result cuModuleLoadDataEx(gs_cu_module *module, const void *image, unsigned int option_count, int *options, void **values)
{
    ENTER_CONTEXT();
    (void)option_count;
    (void)options;
    (void)values;
    if (!image) return GS_CU_ERROR_INVALID_VALUE;
    object *const made = fake_make();
    if (!made) return GS_CU_ERROR_OUT_OF_MEMORY;
    made->context = fake_current;
    *module = (gs_cu_module)made;
    return GS_CU_SUCCESS;
}

gs_cu_result cuModuleUnload(gs_cu_module module)
{
    ENTER_CONTEXT();
    return fake_drop(module);
}

gs_cu_result cuModuleGetFunction(gs_cu_function *function, gs_cu_module module, const char *name)
{
    ENTER_CONTEXT();
    if (strcmp(name, "absent") == 0) return GS_CU_ERROR_NOT_FOUND;
    *function = (gs_cu_function)module;
    return GS_CU_SUCCESS;
}

gs_cu_result cuFuncGetAttribute(int *value, gs_cu_function_attribute attribute, gs_cu_function function)
{
    ENTER_CONTEXT();
    (void)function;
    *value = attribute == GS_CU_FUNCTION_REGISTERS     ? 32
             : attribute == GS_CU_FUNCTION_MAX_THREADS ? (int)fake_setting("FAKE_CUDA_THREADS", 1024)
             : attribute == GS_CU_FUNCTION_STATIC_SMEM ? (int)fake_setting("FAKE_CUDA_STATIC", 0) : 0;
    return GS_CU_SUCCESS;
}

gs_cu_result cuFuncSetAttribute(gs_cu_function function, gs_cu_function_attribute attribute, int value)
{
    ENTER_CONTEXT();
    (void)function;
    return attribute == GS_CU_FUNCTION_MAX_DYNAMIC_SMEM && (value < 0 || value > 232448) ? GS_CU_ERROR_INVALID_VALUE
                                                                                         : GS_CU_SUCCESS;
}

/* ---- launches ---- */

void fake_read_params(fake_cuda_launch *launch, void **params)
{
    const long long maps = fake_setting("FAKE_CUDA_MAPS", 0);
    for (long long i = 0; i < maps && i < 3; i++) memcpy(&launch->addresses[i], params[i], sizeof launch->addresses[i]);   /* the first word of the map is the address */
    if (!fake_setting("FAKE_CUDA_ARGS", 0)) return;
    const gs_kernel_args *const args = params[maps];
    const void *const pointers[] = {args->a, args->b, args->c, args->d, args->workspace};
    memcpy(launch->pointers, pointers, sizeof pointers);
    launch->alpha = args->alpha;
    launch->early_b = args->early_b;
    launch->beta = args->beta;
}

static gs_cu_result launch(gs_cu_function function, gs_cu_stream stream, const fake_cuda_launch *what)
{
    const object *const module = (const object *)function;
    object *const queue = (object *)stream;
    if (!module || module->context != fake_current) return GS_CU_ERROR_INVALID_HANDLE;
    for (int i = 0; i < 3; i++)
        if (what->grid[i] == 0 || what->block[i] == 0) return GS_CU_ERROR_INVALID_VALUE;
    if (what->block[0] * what->block[1] * what->block[2] > 1024) return GS_CU_ERROR_INVALID_VALUE;
    if (what->dependent && (fake_setting("FAKE_CUDA_CC", 90) < 90 || (queue && queue->capturing && fake_setting("FAKE_CUDA_VERSION", 13000) < 12030)))
        return GS_CU_ERROR_INVALID_VALUE;
    const double each_us = (double)fake_setting("FAKE_CUDA_LAUNCH_US", 10);
    pthread_mutex_lock(&fake_lock);
    const int count = fake_last.count + 1, edges = fake_last.edges;
    fake_last = *what;
    fake_last.count = count;
    fake_last.edges = edges;
    bool kept = true;
    if (queue && queue->capturing) {
        queue->dependent += what->dependent && queue->nodes > 0 && queue->node[queue->nodes - 1]->function;   /* only an edge that follows a kernel can be programmatic */
        kept = fake_append(queue, function, what);
        queue->launches += kept;
    } else {
        fake_now_us += each_us;
    }
    pthread_mutex_unlock(&fake_lock);
    return kept ? GS_CU_SUCCESS : GS_CU_ERROR_OUT_OF_MEMORY;
}

gs_cu_result cuLaunchKernel(gs_cu_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                            unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int smem,
                            gs_cu_stream stream, void **params, void **extra)
{
    ENTER_CONTEXT();
    (void)extra;
    fake_cuda_launch what = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .smem = smem};
    fake_read_params(&what, params);
    return launch(function, stream, &what);
}

#ifndef FAKE_CUDA_OLD
gs_cu_result cuLaunchKernelEx(const gs_cu_launch_config *config, gs_cu_function function, void **params, void **extra)
{
    ENTER_CONTEXT();
    (void)extra;
    fake_cuda_launch what = {.smem = config->smem, .extensible = 1};
    fake_read_params(&what, params);
    memcpy(what.grid, config->grid, sizeof what.grid);
    memcpy(what.block, config->block, sizeof what.block);
    for (unsigned int i = 0; i < config->attribute_count; i++) {
        const gs_cu_launch_attribute *const attribute = &config->attributes[i];
        if (attribute->id == GS_CU_LAUNCH_CLUSTER_DIMENSION)
            memcpy(what.cluster, attribute->value.cluster, sizeof what.cluster);
        else if (attribute->id == GS_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION)
            what.dependent = attribute->value.programmatic;
        else
            return GS_CU_ERROR_INVALID_VALUE;
    }
    return launch(function, config->stream, &what);
}

gs_cu_result cuFuncLoad(gs_cu_function function)
{
    ENTER_CONTEXT();
    return function ? GS_CU_SUCCESS : GS_CU_ERROR_INVALID_HANDLE;
}

gs_cu_result cuOccupancyMaxActiveClusters(int *clusters, gs_cu_function function, const gs_cu_launch_config *config)
{
    ENTER_CONTEXT();
    (void)function;
    unsigned int size = 1;
    for (unsigned int i = 0; i < config->attribute_count; i++) {
        const unsigned int *const cluster = config->attributes[i].value.cluster;
        if (config->attributes[i].id == GS_CU_LAUNCH_CLUSTER_DIMENSION) size = cluster[0] * cluster[1] * cluster[2];
    }
    *clusters = size ? (int)(132 / size) : 0;
    return GS_CU_SUCCESS;
}

gs_cu_result cuTensorMapEncodeTiled(gs_cu_tensor_map *map, gs_cu_tensor_type type, unsigned int rank, void *address,
                                    const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                                    const uint32_t *element_strides, gs_cu_tensor_interleave interleave,
                                    gs_cu_tensor_swizzle swizzle, gs_cu_tensor_promotion promotion, gs_cu_tensor_fill fill)
{
    ENTER();
    if (!fake_current) return GS_CU_ERROR_INVALID_CONTEXT;   /* like the driver in a thread without a context */
    const unsigned int span = swizzle == GS_CU_TENSOR_SWIZZLE_NONE ? 1u << 20 : 16u << swizzle;
    const unsigned int element = type == GS_CU_TENSOR_F32 ? 4 : 2;
    if ((rank != 2 && rank != 3) || interleave != GS_CU_TENSOR_INTERLEAVE_NONE || fill != GS_CU_TENSOR_FILL_ZERO || element_strides[0] != 1 ||
        element_strides[1] != 1)
        return GS_CU_ERROR_INVALID_VALUE;
    if ((uintptr_t)address % 16 || strides[0] % 16 || !extents[0] || !extents[1]) return GS_CU_ERROR_INVALID_VALUE;
    if (!box[0] || !box[1] || box[0] > 256 || box[1] > 256 || box[0] * element > span) return GS_CU_ERROR_INVALID_VALUE;
    if (rank == 3 && (strides[1] % 16 || !extents[2] || box[2] != 1 || element_strides[2] != 1)) return GS_CU_ERROR_INVALID_VALUE;
    memset(map, 0, sizeof *map);
    map->word[0] = (uint64_t)(uintptr_t)address;
    map->word[1] = extents[0];
    map->word[2] = extents[1];
    map->word[3] = strides[0];
    map->word[4] = box[0] | (uint64_t)box[1] << 32;
    if (rank == 3) map->word[6] = extents[2], map->word[7] = strides[1];
    map->word[5] = (uint64_t)type | (uint64_t)swizzle << 8 | (uint64_t)promotion << 16;
    return GS_CU_SUCCESS;
}
#endif

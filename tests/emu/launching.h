/* SPDX-License-Identifier: MIT
 * For tests of launches and graphs: small kernels on an emulated device, and memory that they use. Included after cmocka, by one file of a program. */
#ifndef TESTS_EMU_LAUNCHING_H
#define TESTS_EMU_LAUNCHING_H

#include <stdio.h>
#include <string.h>

#include "emu_device.h"

static const char text[] =
    "__device__ int table[4] = {10, 20, 30, 40};\n"
    "__device__ int counter;\n"
    "extern \"C\" __global__ void add(int *to, const int *from, int count, char more)\n"
    "{\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < count) to[i] = from[i] + more;\n"
    "}\n"
    "extern \"C\" __global__ void look(int *to)\n"
    "{\n"
    "    to[threadIdx.x] = table[threadIdx.x & 3];\n"
    "    if (threadIdx.x == 0) to[32] = atomicAdd(&counter, 1);\n"
    "}\n"
    "extern \"C\" __global__ void wild(int *to) { to[1 << 26] = 1; }\n"
    "extern \"C\" __global__ void turn(int *to)\n"
    "{\n"
    "    extern __shared__ int s[];\n"
    "    s[threadIdx.x] = to[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    to[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void early(int *to)\n"
    "{\n"
    "    __shared__ int s[64];\n"
    "    s[threadIdx.x] = to[threadIdx.x];\n"
    "    to[threadIdx.x] = s[63 - threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void chain(int *to)\n"
    "{\n"
    "    volatile int *const next = to;\n"
    "    if (threadIdx.x == 0) while (*next != (int)blockIdx.x) {}\n"
    "    __threadfence();\n"
    "    __syncthreads();\n"
    "    volatile int *const own = to + 64 + threadIdx.x;\n"
    "    for (int i = 0; i < 500; i++) *own = 3 * *own + i;\n"
    "    __threadfence();\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) __threadfence(), *next = blockIdx.x + 1;\n"
    "}\n"
    "extern \"C\" __global__ void tickets(int *to)\n"
    "{\n"
    "    __shared__ int tile;\n"
    "    for (;;) {\n"
    "        if (threadIdx.x == 0) tile = atomicAdd(to, 1);\n"
    "        __syncthreads();\n"
    "        const int t = tile;\n"
    "        __syncthreads();\n"
    "        if (t >= 32) break;\n"
    "        if (threadIdx.x == 0) to[64 + t] = 2 * to[64 + t];\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ __launch_bounds__(64) void small(int *to) { to[threadIdx.x] = 0; }\n"
    "extern \"C\" __global__ void many(int *to)\n"
    "{\n"
    "    int v[96];\n"
    "    for (int i = 0; i < 96; i++) v[i] = to[1024 * i + threadIdx.x];\n"
    "    __syncthreads();\n"
    "    for (int i = 0; i < 96; i++) to[1024 * (95 - i) + threadIdx.x] = v[i];\n"
    "}\n"
    "extern \"C\" __global__ void read(int *to) { to[threadIdx.x] = table[threadIdx.x & 3]; }\n"
    "extern \"C\" __global__ void write(int *to) { table[threadIdx.x & 3] = to[threadIdx.x]; }\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "extern \"C\" __global__ void copy(int *to)\n"
    "{\n"
    "    __shared__ __align__(16) int s[4];\n"
    "    for (int i = 0; i < 4; i++) s[i] = to[i];\n"
    "    asm volatile(\"fence.proxy.async;\\ncp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\\ncp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;\"\n"
    "                 :: \"l\"(__cvta_generic_to_global(table)), \"r\"((unsigned)__cvta_generic_to_shared(s)) : \"memory\");\n"
    "}\n"
    "#endif\n";

typedef struct work {
    gs_device  *device;
    gs_module   module;
    gs_queue    queue;
    gs_event    start, end;
    gs_pointer  memory;        /* 1024 ints, not written at first */
} work;

static gs_image image;

static work begin(const char *name)
{
    gs_error error = {0};
    work w = {.device = open_device(name)};
    const gs_device_ops *const ops = w.device->ops;
    const gs_source source = {.name = "some.cu", .text = text};
    if (strcmp(w.device->caps.target, "sm_90a") != 0 || !image.ptx) {
        gs_image_free(&image);
        OK(ops->compile(w.device, &source, &image, &error));
    }
    OK(ops->load(w.device, &image, &w.module, &error));
    if (strcmp(w.device->caps.target, "sm_90a") != 0) gs_image_free(&image);
    OK(ops->queue_create(w.device, &w.queue, &error));
    OK(ops->event_create(w.device, &w.start, &error));
    OK(ops->event_create(w.device, &w.end, &error));
    OK(ops->alloc(w.device, 4096, &w.memory, &error));
    return w;
}

static void end(work *w)
{
    const gs_device_ops *const ops = w->device->ops;
    ops->event_destroy(w->device, w->start);
    ops->event_destroy(w->device, w->end);
    ops->queue_destroy(w->device, w->queue);
    ops->unload(w->device, w->module);
    ops->unload(w->device, NULL);
    gs_device_close(&w->device);
}

static gs_function find(const work *w, const char *name, gs_function_info *info)
{
    gs_error error = {0};
    gs_function function;
    OK(w->device->ops->function(w->device, w->module, name, &function, info, &error));
    return function;
}

static void numbers(const work *w)
{
    int values[1024];
    gs_error error = {0};
    for (int i = 0; i < 1024; i++) values[i] = i;
    OK(w->device->ops->copy_in(w->device, w->memory, values, sizeof values, &error));
}

static int number(const work *w, int index)
{
    int value = -1;
    gs_error error = {0};
    OK(w->device->ops->copy_out(w->device, &value, w->memory + 4 * (gs_pointer)index, sizeof value, &error));
    return value;
}

/* A launch of a kernel whose only parameter is the memory. */
static gs_launch plain(const work *w, const char *name, uint32_t threads)
{
    static void *params[1];
    params[0] = (void *)&w->memory;
    return (gs_launch){.function = find(w, name, NULL), .grid = {1, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1}, .params = params};
}

/* Runs the tests and returns the exit code: 77 if NVRTC is missing. */
static int run_launching(const char *name, const struct CMUnitTest *tests, size_t count)
{
    gs_error error = {0};
    const bool compiles = gs_compiler_version(&error) != 0;
    if (!compiles) fprintf(stderr, "NVRTC is missing, what compiles is skipped: %s\n", error.text);
    const int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    gs_image_free(&image);
    return failed ? failed : compiles ? 0 : 77;
}

#endif

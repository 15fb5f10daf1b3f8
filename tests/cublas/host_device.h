/* SPDX-License-Identifier: MIT
 * A device with host memory, for calls of fake NVIDIA libraries: it counts allocations, and records its last launch and which queue waited for which event. For groups.c
 * alone. */
#ifndef TESTS_CUBLAS_HOST_DEVICE_H
#define TESTS_CUBLAS_HOST_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/args.h"
#include "device/device.h"

static int  live;   /* allocations */
static bool lost;   /* no memory is left */

static gs_status memory_info(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *why)
{
    (void)device, (void)why;
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return GS_OK;
}

static gs_status alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *why)
{
    (void)device;
    if (lost) return gs_fail(why, GS_ERROR_DEVICE_MEMORY, NULL, "no memory");
    *out = (gs_pointer)(uintptr_t)malloc(bytes);
    if (!*out) return gs_fail(why, GS_ERROR_DEVICE_MEMORY, NULL, "no memory");
    live++;
    return GS_OK;
}

static void release(gs_device *device, gs_pointer pointer)
{
    (void)device;
    free((void *)(uintptr_t)pointer);
    live--;
}

static gs_status copy_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *why)
{
    (void)device, (void)why;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GS_OK;
}

/* The kernel after a product whose epilogue the library lacks. Without a compiler such suggestions are left out. */
static bool      compiles;
static gs_launch launched;
static int       launches;
static gs_kernel_args kernel_args;

static gs_status compile(gs_device *device, const gs_source *source, gs_image *out, gs_error *why)
{
    (void)device, (void)source;
    *out = (gs_image){0};
    return compiles ? GS_OK : gs_fail(why, GS_ERROR_NO_COMPILER, NULL, "no compiler");
}

static gs_status load(gs_device *device, const gs_image *image, gs_module *out, gs_error *why)
{
    (void)device, (void)image, (void)why;
    *out = &live;
    return GS_OK;
}

static void unload(gs_device *device, gs_module module)
{
    (void)device;
    assert_ptr_equal(module, &live);
}

static gs_status function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *why)
{
    (void)device, (void)module, (void)name, (void)info, (void)why;
    *out = &live;
    return GS_OK;
}

static gs_status launch(gs_device *device, const gs_launch *what, gs_queue queue, gs_error *why)
{
    (void)device, (void)queue, (void)why;
    launched = *what;
    memcpy(&kernel_args, what->params[0], sizeof kernel_args);
    launches++;
    return GS_OK;
}

/* Queues and events are numbered from 1. A wait records the queue in which its event was last recorded. */
static int       handles, opened, waits, records;
static gs_queue  recorded[256];
static struct waiting { gs_queue queue, behind; int calls; } waited[256];
static gs_queue  used[64];   /* the queue of each call of cuBLASLt */
static int       called;

static gs_status queue_create(gs_device *device, gs_queue *out, gs_error *why)
{
    (void)device, (void)why;
    *out = (gs_queue)(uintptr_t)++handles;
    opened++;
    return GS_OK;
}

static void queue_destroy(gs_device *device, gs_queue queue)
{
    (void)device, (void)queue;
    opened--;
}

static gs_status event_create(gs_device *device, gs_event *out, gs_error *why) { return queue_create(device, (gs_queue *)out, why); }
static void event_destroy(gs_device *device, gs_event event) { queue_destroy(device, event); }

static gs_status event_record(gs_device *device, gs_event event, gs_queue queue, gs_error *why)
{
    (void)device, (void)why;
    assert_non_null(event);   /* with a single queue no event is recorded */
    records++;
    recorded[(uintptr_t)event] = queue;
    return GS_OK;
}

static gs_status queue_follow(gs_device *device, gs_queue queue, gs_event event, gs_error *why)
{
    (void)device, (void)why;
    waited[waits++] = (struct waiting){queue, recorded[(uintptr_t)event], called};
    return GS_OK;
}

static const gs_device_ops ops = {.queue_create = queue_create, .queue_destroy = queue_destroy, .event_create = event_create, .event_destroy = event_destroy,
                                  .event_record = event_record, .queue_follow = queue_follow,
                                  .memory_info = memory_info, .alloc = alloc, .free = release, .copy_in = copy_in, .compile = compile,
                                  .load = load, .unload = unload, .function = function, .launch = launch};
static gs_device device = {.ops = &ops, .name = "cuda:0"};

#endif

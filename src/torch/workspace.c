/* SPDX-License-Identifier: MIT */
#include "torch/workspace.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "torch/driver.h"

typedef struct place {
    gs_stream  stream;
    uint64_t   capture;
    gs_pointer memory;   /* 0: the plan's own */
} place;

struct gs_torch_workspaces {
    pthread_mutex_t lock;
    gs_device      *device;
    size_t          bytes;
    int             used, there;   /* places in use, and places with memory: those from used to there - 1 are spare */
    place           places[GS_TORCH_PLACES];
};

/* When this returns the fill has finished, so a call on any stream may use the memory. */
static gs_status add(gs_torch_workspaces *all, gs_error *error)
{
    gs_device *const device = all->device;
    const size_t bytes = (all->bytes + 255) / 256 * 256;
    gs_pointer memory = 0;
    if (all->there == GS_TORCH_PLACES) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "all workspaces of a plan are in use");
    GS_TRY(device->ops->alloc(device, bytes, &memory, error));
    gs_status status = device->ops->fill(device, memory, 0, bytes, NULL, error);
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
    if (status != GS_OK) {
        device->ops->free(device, memory);
        return status;
    }
    all->places[all->there++].memory = memory;
    return GS_OK;
}

static gs_status one_more(gs_torch_workspaces *all, gs_error *error)
{
    gs_torch_aside aside;
    gs_torch_step_aside(&aside);
    const gs_status status = add(all, error);
    gs_torch_step_back(&aside);
    return status;
}

gs_status gs_torch_workspaces_create(gs_torch_workspaces **out, gs_device *device, size_t bytes, gs_error *error)
{
    gs_torch_workspaces *const all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a plan's workspaces");
    pthread_mutex_init(&all->lock, NULL);
    all->device = device;
    all->bytes = bytes;
    all->there = 1;
    const gs_status status = one_more(all, error);
    if (status != GS_OK) {
        pthread_mutex_destroy(&all->lock);
        free(all);
        return status;
    }
    *out = all;
    return GS_OK;
}

bool gs_torch_workspaces_take(gs_torch_workspaces *all, gs_stream stream, uint64_t capture, void **out)
{
    gs_error error;
    pthread_mutex_lock(&all->lock);
    int i = 0;
    while (i < all->used && (all->places[i].stream != stream || all->places[i].capture != capture)) i++;
    if (i == all->used) {
        if (capture == 0 && all->there - all->used < 1) one_more(all, &error);
        if (all->used == all->there) {
            pthread_mutex_unlock(&all->lock);
            return false;
        }
        all->places[i].stream = stream;
        all->places[i].capture = capture;
        all->used++;
    }
    if (capture == 0 && all->used == all->there && all->there < GS_TORCH_PLACES) one_more(all, &error);   /* a spare one for the next capture */
    *out = (void *)(uintptr_t)all->places[i].memory;
    return true;
}

void gs_torch_workspaces_leave(gs_torch_workspaces *all) { pthread_mutex_unlock(&all->lock); }

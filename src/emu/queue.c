/* SPDX-License-Identifier: MIT
 * Queues, events and captured graphs of the emulated device. A queue has a clock of predicted time: work runs synchronously when it is submitted, and advances the
 * queue's clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "emu/emu.h"

typedef struct event {
    bool   recorded;
    double clock_us;
} event;

static gs_emu_queue *queue_of(gs_emu_device *emu, gs_queue queue) { return queue ? queue : &emu->own; }

gs_emu_queue *gs_emu_queue_find(gs_emu_device *emu, gs_queue handle)
{
    gs_emu_queue *queue = handle ? emu->queues : &emu->own;
    while (handle && queue && queue != handle) queue = queue->next;
    return queue;
}

/* ---- lists of work ---- */

void gs_emu_work_free(gs_emu_work *work)
{
    free(work->params);
    *work = (gs_emu_work){0};
}

static void clear(gs_emu_list *list)
{
    for (int i = 0; i < list->count; i++) gs_emu_work_free(&list->work[i]);
    free(list->work);
    *list = (gs_emu_list){0};
}

static gs_status append(gs_emu_list *list, const gs_emu_work *work, gs_error *error)
{
    if (list->count == list->capacity) {
        const int capacity = list->capacity ? 2 * list->capacity : 16;
        gs_emu_work *const larger = realloc(list->work, (size_t)capacity * sizeof *larger);
        if (!larger) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to capture %d launches", capacity);
        list->work = larger;
        list->capacity = capacity;
    }
    list->work[list->count++] = *work;
    return GS_OK;
}

/* ---- running ---- */

gs_status gs_emu_work_run(gs_emu_device *emu, gs_emu_queue *queue, const gs_emu_work *work, gs_error *error)
{
    gs_error local = {0};
    gs_error *const why = error ? error : &local;
    double us = 0;
    const gs_status status = work->function ? gs_emu_launch_now(emu, work, &us, why) : gs_emu_fill_now(emu, work, &us, why);
    queue->clock_us += us;
    if (work->function && status == GS_OK && !queue->untrusted[0]) memcpy(queue->untrusted, emu->last.untrusted, sizeof queue->untrusted);
    if (status == GS_ERROR_FAULT) {
        queue->faulted = true;
        snprintf(queue->fault, sizeof queue->fault, "%s", why->text);
    }
    return status;
}

static gs_status no_queue(gs_queue handle, gs_error *error)
{
    gs_log(GS_LOG_WARNING, "%p is no stream of the emulated device", handle);   /* gs_plan_run returns only a code */
    return gs_fail(error, GS_ERROR_ARGUMENT, "stream", "%p is no stream of the emulated device; NULL is one", handle);
}

gs_status gs_emu_work_submit(gs_emu_device *emu, gs_queue handle, gs_emu_work *work, gs_error *error)
{
    pthread_mutex_lock(&emu->lock);
    gs_emu_queue *const queue = gs_emu_queue_find(emu, handle);
    gs_status status;
    if (!queue) {
        status = no_queue(handle, error);
    } else if (queue->capturing) {
        status = append(&queue->captured, work, error);
        if (status == GS_OK) work->params = NULL;   /* now owned by the capture */
        else queue->broken = status;
    } else {
        status = gs_emu_work_run(emu, queue, work, error);
    }
    pthread_mutex_unlock(&emu->lock);
    gs_emu_work_free(work);
    return status;
}

/* ---- queues ---- */

gs_status gs_emu_queue_create(gs_device *device, gs_queue *out, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    gs_emu_queue *const queue = *out = calloc(1, sizeof *queue);
    if (!queue) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a queue");
    pthread_mutex_lock(&emu->lock);
    queue->next = emu->queues;
    emu->queues = queue;
    pthread_mutex_unlock(&emu->lock);
    return GS_OK;
}

void gs_emu_queue_destroy(gs_device *device, gs_queue handle)
{
    gs_emu_device *const emu = gs_emu_of(device);
    gs_emu_queue *const queue = handle;
    if (!queue) return;
    pthread_mutex_lock(&emu->lock);
    gs_emu_queue **at = &emu->queues;
    while (*at != queue) at = &(*at)->next;
    *at = queue->next;
    pthread_mutex_unlock(&emu->lock);
    clear(&queue->captured);
    free(queue);
}

static gs_status capturing(const char *what, gs_error *error)
{
    return gs_fail(error, GS_ERROR_DEVICE, NULL, "%s: the queue is being captured", what);
}

gs_status gs_emu_queue_wait(gs_device *device, gs_queue handle, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    gs_emu_queue *const queue = queue_of(emu, handle);
    if (queue->capturing) return capturing("waiting", error);
    pthread_mutex_lock(&emu->lock);
    gs_emu_memory_settle(emu->memory);   /* all work has ended */
    pthread_mutex_unlock(&emu->lock);
    if (!queue->faulted) return GS_OK;
    queue->faulted = false;
    return gs_fail(error, GS_ERROR_FAULT, NULL, "%s", queue->fault);
}

/* ---- events ---- */

gs_status gs_emu_event_create(gs_device *device, gs_event *out, gs_error *error)
{
    (void)device;
    *out = calloc(1, sizeof(event));
    return *out ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an event");
}

void gs_emu_event_destroy(gs_device *device, gs_event handle)
{
    (void)device;
    free(handle);
}

gs_status gs_emu_event_record(gs_device *device, gs_event handle, gs_queue queue_handle, gs_error *error)
{
    gs_emu_queue *const queue = queue_of(gs_emu_of(device), queue_handle);
    if (queue->capturing) return capturing("recording an event", error);
    *(event *)handle = (event){true, queue->clock_us};
    return GS_OK;
}

gs_status gs_emu_event_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error)
{
    const event *const from = start, *const to = end;
    (void)device;
    *us = 0;
    if (!from->recorded || !to->recorded) return gs_fail(error, GS_ERROR_DEVICE, NULL, "an event that was never recorded has no time");
    *us = to->clock_us - from->clock_us;
    return GS_OK;
}

void gs_emu_untrusted(gs_device *device, gs_queue handle, char *why, size_t size)
{
    gs_emu_queue *const queue = queue_of(gs_emu_of(device), handle);
    snprintf(why, size, "%s", queue->untrusted);
    queue->untrusted[0] = '\0';
}

/* ---- capture and graphs ---- */

gs_status gs_emu_capturing(gs_device *device, gs_queue handle, bool *out, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    (void)error;
    pthread_mutex_lock(&emu->lock);
    const gs_emu_queue *const queue = gs_emu_queue_find(emu, handle);
    *out = queue && queue->capturing;
    pthread_mutex_unlock(&emu->lock);
    return GS_OK;
}

gs_status gs_emu_capture_begin(gs_device *device, gs_queue handle, gs_error *error)
{
    (void)device;
    gs_emu_queue *const queue = handle;
    if (!queue) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the default queue cannot be captured: create a queue");
    if (queue->capturing) return capturing("beginning a capture", error);
    queue->capturing = true;
    queue->broken = GS_OK;
    return GS_OK;
}

gs_status gs_emu_capture_end(gs_device *device, gs_queue handle, gs_graph *out, gs_error *error)
{
    (void)device;
    gs_emu_queue *const queue = handle;
    *out = NULL;
    if (!queue || !queue->capturing) return gs_fail(error, GS_ERROR_DEVICE, NULL, "ending a capture: the queue is not being captured");
    gs_emu_list *const graph = queue->broken == GS_OK ? malloc(sizeof *graph) : NULL;
    queue->capturing = false;
    if (!graph) {
        clear(&queue->captured);
        return gs_fail(error, queue->broken != GS_OK ? queue->broken : GS_ERROR_MEMORY, NULL, "the capture was not completed");
    }
    *graph = queue->captured;
    queue->captured = (gs_emu_list){0};
    *out = graph;
    return GS_OK;
}

/* A node is an index into the list, from 1. */
gs_status gs_emu_capture_node(gs_device *device, gs_queue handle, gs_node *out, gs_error *error)
{
    const gs_emu_queue *const queue = queue_of(gs_emu_of(device), handle);
    const gs_emu_list *const captured = &queue->captured;
    *out = NULL;
    if (!queue->capturing) return gs_fail(error, GS_ERROR_DEVICE, NULL, "the queue is not being captured");
    if (captured->count == 0 || !captured->work[captured->count - 1].function) return gs_fail(error, GS_ERROR_DEVICE, NULL, "it was no launch that was captured last");
    *out = (void *)(uintptr_t)captured->count;
    return GS_OK;
}

/* The graph contains its nodes, so nothing else is kept. */
gs_status gs_emu_capture_keep(gs_device *device, gs_queue queue, gs_graph *out, gs_capture *capture, gs_error *error)
{
    *capture = NULL;
    return gs_emu_capture_end(device, queue, out, error);
}

void gs_emu_capture_free(gs_device *device, gs_capture capture) { (void)device, (void)capture; }

gs_status gs_emu_graph_launch(gs_device *device, gs_graph handle, gs_queue queue_handle, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    const gs_emu_list *const graph = handle;
    pthread_mutex_lock(&emu->lock);
    gs_emu_queue *const queue = gs_emu_queue_find(emu, queue_handle);
    gs_status status = !queue ? no_queue(queue_handle, error) : queue->capturing ? capturing("launching a graph", error) : GS_OK;
    for (int i = 0; i < graph->count && status == GS_OK; i++) status = gs_emu_work_run(emu, queue, &graph->work[i], error);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

void gs_emu_graph_destroy(gs_device *device, gs_graph handle)
{
    (void)device;
    gs_emu_list *const graph = handle;
    if (graph) clear(graph);
    free(graph);
}

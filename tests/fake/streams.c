/* SPDX-License-Identifier: MIT
 * Streams, events and graphs of the fake libcuda. A graph owns the nodes that were captured; an instantiated graph has copies, and only copies are ever changed. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Nodes of the instantiated graph launched last. */
static fake_cuda_launch replayed[FAKE_CUDA_NODES];
static int              replayed_count;

int fake_cuda_replayed(const fake_cuda_launch **launches)
{
    *launches = replayed;
    return replayed_count;
}

/* ---- nodes ---- */

bool fake_append(object *stream, gs_cu_function function, const fake_cuda_launch *launch)
{
    fake_node **const larger = realloc(stream->node, (size_t)(stream->nodes + 1) * sizeof *larger);
    if (larger) stream->node = larger;
    fake_node *const made = larger ? malloc(sizeof *made) : NULL;
    if (!made) return false;
    *made = (fake_node){.place = stream->nodes, .before = stream->nodes ? stream->node[stream->nodes - 1] : NULL, .function = function};
    if (launch) made->launch = *launch;
    stream->node[stream->nodes++] = made;
    return true;
}

static void free_nodes(object *of)
{
    for (int i = 0; i < of->nodes; i++) free(of->node[i]);
    free(of->node);
    of->node = NULL;
    of->nodes = of->launches = of->dependent = 0;
}

static gs_cu_result drop_with_nodes(void *handle)
{
    if (handle) free_nodes(handle);
    return fake_drop(handle);
}

/* ---- streams ---- */

gs_cu_result cuStreamCreate(gs_cu_stream *stream, unsigned int flags)
{
    ENTER_CONTEXT();
    (void)flags;
    *stream = (gs_cu_stream)fake_make();
    return *stream ? GS_CU_SUCCESS : GS_CU_ERROR_OUT_OF_MEMORY;
}

gs_cu_result cuStreamDestroy_v2(gs_cu_stream stream)
{
    ENTER_CONTEXT();
    return drop_with_nodes(stream);
}

gs_cu_result cuStreamSynchronize(gs_cu_stream stream)
{
    ENTER_CONTEXT();
    object *const queue = (object *)stream;
    if (!queue || !queue->capturing) return GS_CU_SUCCESS;
    queue->spoilt = true;
    return GS_CU_ERROR_CAPTURE_UNSUPPORTED;
}

gs_cu_result cuStreamBeginCapture_v2(gs_cu_stream stream, gs_cu_capture_mode mode)
{
    ENTER_CONTEXT();
    object *const queue = (object *)stream;
    if (!queue || queue->capturing || mode != GS_CU_CAPTURE_THREAD_LOCAL) return GS_CU_ERROR_INVALID_VALUE;
    static _Atomic uint64_t captures;
    queue->capturing = true;
    queue->capture = ++captures;
    queue->spoilt = false;
    free_nodes(queue);
    return GS_CU_SUCCESS;
}

#ifndef FAKE_CUDA_OLD
gs_cu_result cuStreamGetCaptureInfo(gs_cu_stream stream, gs_cu_capture_status *status, uint64_t *id)
{
    ENTER_CONTEXT();
    const object *const queue = (const object *)stream;
    *status = queue && queue->capturing ? GS_CU_CAPTURE_ACTIVE : GS_CU_CAPTURE_NONE;
    *id = (uint64_t)(uintptr_t)queue;
    return queue || !fake_setting("FAKE_CUDA_CAPTURED", 0) ? GS_CU_SUCCESS : GS_CU_ERROR_STREAM_CAPTURE_IMPLICIT;
}

gs_cu_result cuThreadExchangeStreamCaptureMode(gs_cu_capture_mode *mode)
{
    static _Thread_local gs_cu_capture_mode own;
    ENTER();
    const gs_cu_capture_mode before = own;
    own = *mode;
    *mode = before;
    return GS_CU_SUCCESS;
}
#endif

gs_cu_result cuStreamIsCapturing(gs_cu_stream stream, gs_cu_capture_status *status)
{
    ENTER_CONTEXT();
    *status = GS_CU_CAPTURE_NONE;
    if (!stream) return fake_setting("FAKE_CUDA_CAPTURED", 0) ? GS_CU_ERROR_STREAM_CAPTURE_IMPLICIT : GS_CU_SUCCESS;
    *status = ((const object *)stream)->capturing ? GS_CU_CAPTURE_ACTIVE : GS_CU_CAPTURE_NONE;
    return GS_CU_SUCCESS;
}

#ifndef FAKE_CUDA_OLD
static gs_cu_result capture_info(const object *stream, gs_cu_capture_status *status, const gs_cu_graph_node **last, size_t *count)
{
    if (!stream) return GS_CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = !stream->capturing ? GS_CU_CAPTURE_NONE : stream->spoilt ? GS_CU_CAPTURE_INVALIDATED : GS_CU_CAPTURE_ACTIVE;
    *count = *status == GS_CU_CAPTURE_ACTIVE && stream->nodes > 0;
    if (*count) *last = (const gs_cu_graph_node *)(void *)&stream->node[stream->nodes - 1];
    return GS_CU_SUCCESS;
}

gs_cu_result cuStreamGetCaptureInfo_v2(gs_cu_stream stream, gs_cu_capture_status *status, uint64_t *id, gs_cu_graph *graph, const gs_cu_graph_node **last, size_t *count)
{
    ENTER_CONTEXT();
    return id || graph ? GS_CU_ERROR_INVALID_VALUE : capture_info((const object *)stream, status, last, count);
}

/* The edges from the last node to the next node, as plain edges. */
gs_cu_result cuStreamGetCaptureInfo_v3(gs_cu_stream stream, gs_cu_capture_status *status, uint64_t *id, gs_cu_graph *graph, const gs_cu_graph_node **last,
                                       const gs_cu_graph_edge **edges, size_t *count)
{
    static const gs_cu_graph_edge plain;
    ENTER_CONTEXT();
    *edges = &plain;
    if (id && stream) *id = ((const object *)stream)->capture;
    return graph ? GS_CU_ERROR_INVALID_VALUE : capture_info((const object *)stream, status, last, count);
}

/* The edge is programmatic if a kernel precedes a kernel that was launched dependently. */
gs_cu_result cuGraphNodeGetDependencies_v2(gs_cu_graph_node handle, gs_cu_graph_node *dependencies, gs_cu_graph_edge *edges, size_t *count)
{
    ENTER_CONTEXT();
    const fake_node *const node = (const fake_node *)(const void *)handle;
    if (!node || !dependencies || !edges || *count < 1) return GS_CU_ERROR_INVALID_VALUE;
    *count = node->before != NULL;
    dependencies[0] = (gs_cu_graph_node)(void *)node->before;
    edges[0] = (gs_cu_graph_edge){.type = node->before && node->before->function && node->launch.dependent ? GS_CU_EDGE_PROGRAMMATIC : GS_CU_EDGE_FULL};
    return GS_CU_SUCCESS;
}
#endif

gs_cu_result cuStreamEndCapture(gs_cu_stream stream, gs_cu_graph *graph)
{
    const gs_cu_result injected = fake_inject(__func__);
    if (!fake_current) return GS_CU_ERROR_INVALID_CONTEXT;
    object *const queue = (object *)stream;
    if (!queue || !queue->capturing) return injected != GS_CU_SUCCESS ? injected : GS_CU_ERROR_INVALID_VALUE;
    queue->capturing = false;   /* the capture ends even if there is no graph */
    if (injected != GS_CU_SUCCESS) return injected;
    if (queue->spoilt) return GS_CU_ERROR_CAPTURE_INVALIDATED;
    object *const made = fake_make();
    if (!made) return GS_CU_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    fake_last.edges = queue->dependent;
    pthread_mutex_unlock(&fake_lock);
    made->node = queue->node;
    made->nodes = queue->nodes;
    made->launches = queue->launches;
    queue->node = NULL;
    queue->nodes = queue->launches = queue->dependent = 0;
    *graph = (gs_cu_graph)made;
    return GS_CU_SUCCESS;
}

/* ---- events ---- */

gs_cu_result cuEventCreate(gs_cu_event *event, unsigned int flags)
{
    ENTER_CONTEXT();
    (void)flags;
    *event = (gs_cu_event)fake_make();
    return *event ? GS_CU_SUCCESS : GS_CU_ERROR_OUT_OF_MEMORY;
}

gs_cu_result cuEventDestroy_v2(gs_cu_event event)
{
    ENTER_CONTEXT();
    return fake_drop(event);
}

gs_cu_result cuEventRecord(gs_cu_event event, gs_cu_stream stream)
{
    ENTER_CONTEXT();
    (void)stream;
    ((object *)event)->at_us = fake_now_us;
    return GS_CU_SUCCESS;
}

gs_cu_result cuStreamWaitEvent(gs_cu_stream stream, gs_cu_event event, unsigned flags)
{
    ENTER_CONTEXT();
    (void)stream;
    return event && flags == 0 ? GS_CU_SUCCESS : GS_CU_ERROR_INVALID_VALUE;
}

gs_cu_result cuEventSynchronize(gs_cu_event event)
{
    ENTER_CONTEXT();
    (void)event;
    return GS_CU_SUCCESS;
}

gs_cu_result cuEventElapsedTime(float *milliseconds, gs_cu_event start, gs_cu_event end)
{
    ENTER_CONTEXT();
    *milliseconds = (float)((((object *)end)->at_us - ((object *)start)->at_us) / 1000.0);
    return GS_CU_SUCCESS;
}

/* ---- graphs ---- */

gs_cu_result cuGraphInstantiateWithFlags(gs_cu_graph_exec *exec, gs_cu_graph graph, unsigned long long flags)
{
    ENTER_CONTEXT();
    (void)flags;
    object *const from = (object *)graph, *const made = fake_make();
    if (!made) return GS_CU_ERROR_OUT_OF_MEMORY;
    made->graph = from;
    made->launches = from->launches;
    for (int i = 0; i < from->nodes; i++) {
        if (fake_append(made, from->node[i]->function, &from->node[i]->launch)) continue;
        drop_with_nodes(made);
        return GS_CU_ERROR_OUT_OF_MEMORY;
    }
    *exec = (gs_cu_graph_exec)made;
    return GS_CU_SUCCESS;
}

#ifndef FAKE_CUDA_OLD
/* node belongs to the graph from which exec was made, which must still exist. */
gs_cu_result cuGraphExecKernelNodeSetParams_v2(gs_cu_graph_exec exec, gs_cu_graph_node node, const gs_cu_kernel_node *params)
{
    ENTER_CONTEXT();
    object *const changed = (object *)exec;
    const fake_node *const original = (const fake_node *)(const void *)node;
    if (!changed || !original || original->place >= changed->nodes || changed->graph->node[original->place] != original) return GS_CU_ERROR_INVALID_VALUE;
    fake_node *const own = changed->node[original->place];
    fake_cuda_launch *const launch = &own->launch;
    if (!own->function || own->function != params->function || params->kernel || params->extra || params->smem != launch->smem ||
        memcmp(params->grid, launch->grid, sizeof launch->grid) != 0 || memcmp(params->block, launch->block, sizeof launch->block) != 0)
        return GS_CU_ERROR_INVALID_VALUE;
    fake_read_params(launch, params->params);
    return GS_CU_SUCCESS;
}
#endif

gs_cu_result cuGraphLaunch(gs_cu_graph_exec exec, gs_cu_stream stream)
{
    ENTER_CONTEXT();
    const object *const graph = (const object *)exec, *const queue = (const object *)stream;
    if (!graph) return GS_CU_ERROR_INVALID_VALUE;
    if (queue && queue->capturing) return GS_CU_ERROR_CAPTURE_UNSUPPORTED;
    fake_now_us += (double)fake_setting("FAKE_CUDA_LAUNCH_US", 10) * graph->launches;
    replayed_count = graph->nodes < FAKE_CUDA_NODES ? graph->nodes : FAKE_CUDA_NODES;
    for (int i = 0; i < replayed_count; i++) replayed[i] = graph->node[i]->launch;
    return GS_CU_SUCCESS;
}

gs_cu_result cuGraphExecDestroy(gs_cu_graph_exec exec)
{
    ENTER_CONTEXT();
    return drop_with_nodes(exec);
}

gs_cu_result cuGraphDestroy(gs_cu_graph graph)
{
    ENTER_CONTEXT();
    return drop_with_nodes(graph);
}

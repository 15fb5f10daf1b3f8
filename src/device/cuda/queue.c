/* SPDX-License-Identifier: MIT
 * Queues (streams), events, captured graphs. */
#include "device/cuda/cuda.h"

#include <string.h>

#include "base/error.h"

gs_status gs_cuda_queue_create(gs_device *device, gs_queue *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_stream stream = NULL;
    *out = NULL;
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuStreamCreate(&stream, GS_CU_STREAM_NON_BLOCKING), "cuStreamCreate", error));
    *out = stream;
    return GS_OK;
}

void gs_cuda_queue_destroy(gs_device *device, gs_queue queue)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (queue && gs_cuda_enter(cuda, NULL) == GS_OK) cuda->api->cuStreamDestroy_v2(queue);
}

gs_status gs_cuda_queue_wait(gs_device *device, gs_queue queue, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuStreamSynchronize(queue), "cuStreamSynchronize", error);
}

gs_status gs_cuda_wait(gs_device *device, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuCtxSynchronize(), "cuCtxSynchronize", error);
}

gs_status gs_cuda_event_create(gs_device *device, gs_event *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_event event = NULL;
    *out = NULL;
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuEventCreate(&event, GS_CU_EVENT_DEFAULT), "cuEventCreate", error));
    *out = event;
    return GS_OK;
}

void gs_cuda_event_destroy(gs_device *device, gs_event event)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (event && gs_cuda_enter(cuda, NULL) == GS_OK) cuda->api->cuEventDestroy_v2(event);
}

gs_status gs_cuda_event_record(gs_device *device, gs_event event, gs_queue queue, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuEventRecord(event, queue), "cuEventRecord", error);
}

gs_status gs_cuda_queue_follow(gs_device *device, gs_queue queue, gs_event event, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuStreamWaitEvent(queue, event, 0), "cuStreamWaitEvent", error);
}

gs_status gs_cuda_event_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    float milliseconds = 0;
    *us = 0;
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuEventSynchronize(end), "cuEventSynchronize", error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuEventElapsedTime(&milliseconds, start, end), "cuEventElapsedTime", error));
    *us = (double)milliseconds * 1000.0;
    return GS_OK;
}

/* For the default stream the driver returns IMPLICIT while a stream that synchronises with it is captured; this query does not break the capture. */
gs_status gs_cuda_capturing(gs_device *device, gs_queue queue, bool *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_capture_status status = GS_CU_CAPTURE_NONE;
    *out = false;
    GS_TRY(gs_cuda_enter(cuda, error));
    const gs_cu_result result = cuda->api->cuStreamIsCapturing(queue, &status);
    *out = result == GS_CU_ERROR_STREAM_CAPTURE_IMPLICIT || status != GS_CU_CAPTURE_NONE;
    return *out ? GS_OK : gs_cuda_check(cuda->api, result, "cuStreamIsCapturing", error);
}

gs_status gs_cuda_capture_begin(gs_device *device, gs_queue queue, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (!queue) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the default stream cannot be captured: create a queue");
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check(cuda->api, cuda->api->cuStreamBeginCapture_v2(queue, GS_CU_CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", error);
}

gs_status gs_cuda_capture_keep(gs_device *device, gs_queue queue, gs_graph *out, gs_capture *capture, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_graph graph = NULL;
    gs_cu_graph_exec exec = NULL;
    *out = *capture = NULL;
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(gs_cuda_check(cuda->api, cuda->api->cuStreamEndCapture(queue, &graph), "cuStreamEndCapture", error));
    const gs_cu_result result = cuda->api->cuGraphInstantiateWithFlags(&exec, graph, 0);
    if (result != GS_CU_SUCCESS) {
        cuda->api->cuGraphDestroy(graph);
        return gs_cuda_check_launch(cuda->api, result, "cuGraphInstantiateWithFlags", error);
    }
    *out = exec;
    *capture = graph;
    return GS_OK;
}

gs_status gs_cuda_capture_end(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error)
{
    gs_capture capture;
    GS_TRY(gs_cuda_capture_keep(device, queue, out, &capture, error));
    gs_cuda_of(device)->api->cuGraphDestroy(capture);
    return GS_OK;
}

void gs_cuda_capture_free(gs_device *device, gs_capture capture)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (capture && gs_cuda_enter(cuda, NULL) == GS_OK) cuda->api->cuGraphDestroy(capture);
}

static bool tells_edges(const gs_cuda_api *api) { return api->cuStreamGetCaptureInfo_v3 && api->version >= 12030; }

/* The nodes on which the next node of the stream will depend. The older call fails if one of these dependencies is programmatic. */
static gs_status last_nodes(const gs_cuda_device *cuda, gs_cu_stream stream, const gs_cu_graph_node **nodes, size_t *count, gs_error *error)
{
    const gs_cuda_api *const api = cuda->api;
    gs_cu_capture_status status = GS_CU_CAPTURE_NONE;
    const gs_cu_graph_edge *edges;
    *count = 0;
    if (tells_edges(api)) {
        GS_TRY(gs_cuda_check(api, api->cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, nodes, &edges, count), "cuStreamGetCaptureInfo", error));
    } else {
        GS_TRY(gs_cuda_check(api, api->cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, nodes, count), "cuStreamGetCaptureInfo", error));
    }
    if (status == GS_CU_CAPTURE_ACTIVE) return GS_OK;
    return gs_fail(error, GS_ERROR_DEVICE, NULL, status == GS_CU_CAPTURE_NONE ? "the queue is not being captured" : "the capture has been spoilt by a call that cannot be captured");
}

/* ---- predecessors of launches ---- */

/* The last launch that this thread declared as triggering the next one. Capture ids are unique in a process, so a node cannot be mistaken for one of an older capture. */
static _Thread_local struct {
    uint64_t         capture;
    gs_cu_graph_node node;
} triggering;

/* The only node on which the next launch on the stream will depend, by a full edge; NULL: none, several, or not captured. */
static gs_cu_graph_node last_node(const gs_cuda_device *cuda, gs_cu_stream stream, uint64_t *capture)
{
    gs_cu_capture_status status = GS_CU_CAPTURE_NONE;
    const gs_cu_graph_node *nodes = NULL;
    const gs_cu_graph_edge *edges = NULL;
    size_t count = 0;
    if (!tells_edges(cuda->api) || cuda->api->cuStreamGetCaptureInfo_v3(stream, &status, capture, NULL, &nodes, &edges, &count) != GS_CU_SUCCESS) return NULL;
    return status == GS_CU_CAPTURE_ACTIVE && count == 1 && (!edges || edges[0].type == GS_CU_EDGE_FULL) ? nodes[0] : NULL;
}

/* Whether the node is a dependent launch. We assume that such a kernel also lets the next one begin early. */
static bool is_dependent(const gs_cuda_api *api, gs_cu_graph_node node)
{
    gs_cu_graph_node before[2];
    gs_cu_graph_edge edges[2] = {{0}};
    size_t count = 2;
    if (!api->cuGraphNodeGetDependencies_v2 || api->cuGraphNodeGetDependencies_v2(node, before, edges, &count) != GS_CU_SUCCESS) return false;
    return count == 1 && edges[0].type == GS_CU_EDGE_PROGRAMMATIC;
}

gs_predecessor gs_cuda_predecessor(gs_device *device, gs_queue queue)
{
    const gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_capture_status status = GS_CU_CAPTURE_NONE;
    uint64_t capture = 0;
    if (!queue || !cuda->programmatic) return GS_PREDECESSOR_UNKNOWN;
    if (cuda->api->cuStreamIsCapturing(queue, &status) != GS_CU_SUCCESS || status != GS_CU_CAPTURE_ACTIVE) return GS_PREDECESSOR_UNKNOWN;
    const gs_cu_graph_node node = last_node(cuda, queue, &capture);
    if (!node) return GS_PREDECESSOR_ENDS;
    if (triggering.node == node && triggering.capture == capture) return GS_PREDECESSOR_TRIGGERS;
    return is_dependent(cuda->api, node) ? GS_PREDECESSOR_TRIGGERS : GS_PREDECESSOR_ENDS;
}

void gs_cuda_triggers(gs_device *device, gs_queue queue)
{
    const gs_cuda_device *const cuda = gs_cuda_of(device);
    triggering.node = cuda->programmatic ? last_node(cuda, queue, &triggering.capture) : NULL;
}

gs_status gs_cuda_capture_node(gs_device *device, gs_queue queue, gs_node *out, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    const gs_cu_graph_node *nodes = NULL;
    size_t count = 0;
    *out = NULL;
    if (!cuda->api->cuGraphExecKernelNodeSetParams_v2 || (!cuda->api->cuStreamGetCaptureInfo_v2 && !tells_edges(cuda->api)))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the driver cannot change what was captured (no cuGraphExecKernelNodeSetParams or no cuStreamGetCaptureInfo)");
    GS_TRY(gs_cuda_enter(cuda, error));
    GS_TRY(last_nodes(cuda, queue, &nodes, &count, error));
    if (count != 1) return gs_fail(error, GS_ERROR_DEVICE, NULL, "%zu launches were captured last, not one", count);
    *out = nodes[0];
    return GS_OK;
}

gs_status gs_cuda_graph_launch(gs_device *device, gs_graph graph, gs_queue queue, gs_error *error)
{
    const gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_context before;
    const bool borrowed = gs_cuda_borrow(cuda, &before);   /* like launch, this must keep the thread's context */
    const gs_cu_result result = cuda->api->cuGraphLaunch(graph, queue);
    if (borrowed) gs_cuda_give_back(cuda, before);
    return gs_cuda_check_launch(cuda->api, result, "cuGraphLaunch", error);
}

/* Cluster and dependence are attributes of the node, which do not change. */
gs_status gs_cuda_graph_change(gs_device *device, gs_graph graph, gs_node node, const gs_launch *launch, gs_error *error)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    gs_cu_kernel_node node_params = {.function = launch->function, .smem = launch->smem, .params = launch->params};
    memcpy(node_params.grid, launch->grid, sizeof node_params.grid);
    memcpy(node_params.block, launch->block, sizeof node_params.block);
    GS_TRY(gs_cuda_enter(cuda, error));
    return gs_cuda_check_launch(cuda->api, cuda->api->cuGraphExecKernelNodeSetParams_v2(graph, node, &node_params), "cuGraphExecKernelNodeSetParams", error);
}

void gs_cuda_graph_destroy(gs_device *device, gs_graph graph)
{
    gs_cuda_device *const cuda = gs_cuda_of(device);
    if (graph && gs_cuda_enter(cuda, NULL) == GS_OK) cuda->api->cuGraphExecDestroy(graph);
}

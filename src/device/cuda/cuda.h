/* SPDX-License-Identifier: MIT
 * The CUDA device's state and the functions of its table. Files: cuda.c opening, result.c errors, memory.c memory,
 * launch.c code and launches, queue.c queues, events and graphs, nvml.c clocks. Private to src/device/cuda. */
#ifndef GS_DEVICE_CUDA_CUDA_H
#define GS_DEVICE_CUDA_CUDA_H

#include "base/file.h"
#include "device/cuda/driver_api.h"
#include "device/device.h"

typedef struct gs_nvml gs_nvml;

typedef struct gs_cuda_device {
    gs_device          base;
    const gs_cuda_api *api;
    gs_cu_device       device;
    gs_cu_context      context;        /* the primary context, retained */
    bool               programmatic;   /* driver and device support programmatic dependent launches, also in graphs */
    gs_nvml           *nvml;           /* opened at the first request for clocks */
    char               cache[GS_PATH]; /* cubin cache directory; "": none */
} gs_cuda_device;

static inline gs_cuda_device *gs_cuda_of(gs_device *device) { return (gs_cuda_device *)device; }

/* ordinal: the name after "cuda:". cache: as in gs_device_open. */
gs_status gs_cuda_open(gs_device **out, const char *ordinal, const char *cache, gs_error *error);
int       gs_cuda_count(gs_error *error);   /* 0: *error says why */

/* Converts a driver call's result to a status; *error names call, result and its meaning. Refused launches (wrong sizes, too many
 * resources) become LAUNCH only with gs_cuda_check_launch. */
gs_status gs_cuda_check(const gs_cuda_api *api, gs_cu_result result, const char *call, gs_error *error);
gs_status gs_cuda_check_launch(const gs_cuda_api *api, gs_cu_result result, const char *call, gs_error *error);

/* Returns the given status, with the driver's description of the result in *error. */
gs_status gs_cuda_describe(const gs_cuda_api *api, gs_status status, gs_cu_result result, const char *call, gs_error *error);

/* Makes the device's context current in the calling thread. */
gs_status gs_cuda_enter(gs_cuda_device *cuda, gs_error *error);

/* Makes our context current if the thread has none or another device's. True: *before must be restored by gs_cuda_give_back. False: it was current already, or the thread had
 * none (ours stays), or an error. */
bool gs_cuda_borrow(const gs_cuda_device *cuda, gs_cu_context *before);
void gs_cuda_give_back(const gs_cuda_device *cuda, gs_cu_context before);

/* The device's table. */
gs_status gs_cuda_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error);
void      gs_cuda_free(gs_device *device, gs_pointer pointer);
gs_status gs_cuda_copy_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error);
gs_status gs_cuda_copy_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error);
gs_status gs_cuda_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error);
gs_status gs_cuda_memory_info(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error);

gs_status gs_cuda_load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error);
void      gs_cuda_unload(gs_device *device, gs_module module);
gs_status gs_cuda_function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error);
gs_status gs_cuda_function_smem(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error);
gs_status gs_cuda_max_clusters(gs_device *device, const gs_launch *launch, int *out, gs_error *error);
gs_status gs_cuda_tensor_map(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error);
void      gs_cuda_prepare(gs_device *device, gs_launch *launch, gs_launch_ready *ready);
gs_status gs_cuda_launch(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error);

gs_predecessor gs_cuda_predecessor(gs_device *device, gs_queue queue);
void      gs_cuda_triggers(gs_device *device, gs_queue queue);

gs_status gs_cuda_queue_create(gs_device *device, gs_queue *out, gs_error *error);
void      gs_cuda_queue_destroy(gs_device *device, gs_queue queue);
gs_status gs_cuda_queue_wait(gs_device *device, gs_queue queue, gs_error *error);
gs_status gs_cuda_wait(gs_device *device, gs_error *error);
gs_status gs_cuda_event_create(gs_device *device, gs_event *out, gs_error *error);
void      gs_cuda_event_destroy(gs_device *device, gs_event event);
gs_status gs_cuda_queue_follow(gs_device *device, gs_queue queue, gs_event event, gs_error *error);
gs_status gs_cuda_event_record(gs_device *device, gs_event event, gs_queue queue, gs_error *error);
gs_status gs_cuda_event_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error);
gs_status gs_cuda_capturing(gs_device *device, gs_queue queue, bool *out, gs_error *error);
gs_status gs_cuda_capture_begin(gs_device *device, gs_queue queue, gs_error *error);
gs_status gs_cuda_capture_end(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error);
gs_status gs_cuda_capture_keep(gs_device *device, gs_queue queue, gs_graph *out, gs_capture *capture, gs_error *error);
gs_status gs_cuda_capture_node(gs_device *device, gs_queue queue, gs_node *out, gs_error *error);
void      gs_cuda_capture_free(gs_device *device, gs_capture capture);
gs_status gs_cuda_graph_launch(gs_device *device, gs_graph graph, gs_queue queue, gs_error *error);
gs_status gs_cuda_graph_change(gs_device *device, gs_graph graph, gs_node node, const gs_launch *launch, gs_error *error);
void      gs_cuda_graph_destroy(gs_device *device, gs_graph graph);

gs_status gs_cuda_clocks(gs_device *device, gs_clocks *out, gs_error *error);
void      gs_nvml_close(gs_nvml **nvml);

#endif

/* SPDX-License-Identifier: MIT
 * On a fake libcuda: every failing driver call of an open device is reported with the call's name and the right status, nothing leaks, and launches carry their
 * attributes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <gemmsmith/problem.h>

#include "device/cuda/cuda.h"
#include "failing_driver.h"

/* ---- a device at work ---- */

typedef struct work {
    gs_device  *device;
    gs_module   module;
    gs_function function;
    gs_queue    queue;
    gs_event    start, end;
    gs_pointer  memory;
} work;

static gs_launch plain_launch(const work *w)
{
    return (gs_launch){.function = w->function, .grid = {4, 3, 2}, .block = {128, 1, 1}, .cluster = {1, 1, 1}, .smem = 1024};
}

static gs_image some_image(void)
{
    static char code[] = "cubin";
    return (gs_image){.code = code, .size = sizeof code};
}

static int work_setup(void **state)
{
    static work w;
    gs_error error = {0};
    const gs_image image = some_image();
    setup(state);
    w.device = open_device("cuda:0");
    const gs_device_ops *const ops = w.device->ops;
    assert_int_equal(ops->load(w.device, &image, &w.module, &error), GS_OK);
    assert_int_equal(ops->function(w.device, w.module, "k", &w.function, NULL, &error), GS_OK);
    assert_int_equal(ops->queue_create(w.device, &w.queue, &error), GS_OK);
    assert_int_equal(ops->event_create(w.device, &w.start, &error), GS_OK);
    assert_int_equal(ops->event_create(w.device, &w.end, &error), GS_OK);
    assert_int_equal(ops->alloc(w.device, 4096, &w.memory, &error), GS_OK);
    *state = &w;
    return 0;
}

/* Frees everything; nothing may be left alive, and no destroyed context current. */
static int work_teardown(void **state)
{
    work *const w = *state;
    gs_cu_context current;
    setup(NULL);
    const gs_device_ops *const ops = w->device->ops;
    ops->free(w->device, w->memory);
    ops->event_destroy(w->device, w->start);
    ops->event_destroy(w->device, w->end);
    ops->queue_destroy(w->device, w->queue);
    ops->unload(w->device, w->module);
    gs_device_close(&w->device);
    get_current(&current);
    return live() != 0 || current != NULL;
}

static void test_memory(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    gs_error error = {0};
    gs_pointer pointer = 1;
    size_t free_bytes, total_bytes;
    uint32_t words[4] = {1, 2, 3, 4}, back[4] = {0};

    assert_int_equal(w->memory % 256, 0);
    assert_int_equal(ops->copy_in(w->device, w->memory, words, sizeof words, &error), GS_OK);
    assert_int_equal(ops->copy_out(w->device, back, w->memory, sizeof back, &error), GS_OK);
    assert_memory_equal(words, back, sizeof back);
    assert_int_equal(ops->fill(w->device, w->memory + 4, 0x7fff7fffu, 8, w->queue, &error), GS_OK);
    assert_int_equal(ops->copy_out(w->device, back, w->memory, sizeof back, &error), GS_OK);
    assert_true(back[0] == 1 && back[1] == 0x7fff7fffu && back[2] == 0x7fff7fffu && back[3] == 4);
    assert_int_equal(ops->fill(w->device, w->memory, 0, 6, w->queue, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(ops->memory_info(w->device, &free_bytes, &total_bytes, &error), GS_OK);
    assert_int_equal(total_bytes - free_bytes, 4096);

    assert_int_equal(ops->alloc(w->device, 0, &pointer, &error), GS_OK);
    assert_int_equal(pointer, 0);
    ops->free(w->device, pointer);
    setenv("FAKE_CUDA_MEMORY", "8192", 1);
    assert_int_equal(ops->alloc(w->device, 4097, &pointer, &error), GS_ERROR_DEVICE_MEMORY);
    assert_int_equal(pointer, 0);
    assert_mentions(&error, "4097 bytes");
}

/* Host memory must have reached the device when copy_in returns, also for queues that do not synchronise with the default stream. */
static void test_copy_in_waits(void **state)
{
    const work *const w = *state;
    const int before = calls("cuStreamSynchronize");
    assert_int_equal(w->device->ops->copy_in(w->device, w->memory, "abcd", 4, NULL), GS_OK);
    assert_int_equal(calls("cuStreamSynchronize"), before + 1);
}

static void test_launch_attributes(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    gs_launch launch = plain_launch(w);
    gs_error error = {0};
    int clusters;

    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    const fake_cuda_launch *const seen = last_launch();
    assert_true(seen->extensible && !seen->dependent && seen->cluster[0] == 0 && seen->smem == 1024);
    assert_memory_equal(seen->grid, launch.grid, sizeof seen->grid);
    assert_memory_equal(seen->block, launch.block, sizeof seen->block);

    launch.cluster[0] = 2;
    launch.cluster[1] = 3;
    launch.dependent = true;   /* the kernel allows it, but the device's switch is off */
    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    assert_false(seen->dependent);
    w->device->dependent = true;   /* now the switch is on */
    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    assert_true(seen->dependent);
    assert_memory_equal(seen->cluster, launch.cluster, sizeof seen->cluster);
    assert_int_equal(ops->max_clusters(w->device, &launch, &clusters, &error), GS_OK);
    assert_int_equal(clusters, 132 / 6);

    launch.dependent = false;
    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    assert_false(seen->dependent);
    assert_memory_equal(seen->cluster, launch.cluster, sizeof seen->cluster);

    /* The same with a prepared launch, on any queue and in any current context. */
    gs_launch_ready ready;
    gs_cu_context others;
    launch.dependent = true;
    ops->prepare(w->device, &launch, &ready);
    assert_ptr_equal(launch.ready, &ready);
    for (int i = 0; i < 3; i++) {
        const int before = seen->count;
        if (i == 2) setenv("FAKE_CUDA_DEVICES", "2", 1);
        gs_device *other = i == 2 ? open_device("cuda:1") : NULL;
        get_current(&others);
        assert_int_equal(ops->launch(w->device, &launch, i == 1 ? NULL : w->queue, &error), GS_OK);
        assert_int_equal(seen->count, before + 1);
        assert_true(seen->dependent && seen->extensible && seen->smem == 1024);
        assert_memory_equal(seen->cluster, launch.cluster, sizeof seen->cluster);
        assert_memory_equal(seen->grid, launch.grid, sizeof seen->grid);
        gs_device_close(&other);
    }
    launch.ready = NULL;

    launch.grid[1] = 0;
    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_ERROR_LAUNCH);
    assert_mentions(&error, "cuLaunchKernelEx");
}

static void test_function_and_shared_memory(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    gs_function function;
    gs_function_info info;
    gs_error error = {0};

    assert_int_equal(ops->function(w->device, w->module, "k", &function, &info, &error), GS_OK);
    assert_true(info.registers == 32 && info.max_threads == 1024 && info.local_bytes == 0 && info.static_smem == 0);
    assert_int_equal(ops->function(w->device, w->module, "absent", &function, &info, &error), GS_ERROR_NOT_FOUND);
    assert_null(function);
    assert_mentions(&error, "absent");
    const int before = calls("cuFuncSetAttribute");
    assert_int_equal(ops->function_smem(w->device, w->function, 232448, 8, &error), GS_OK);
    assert_int_equal(calls("cuFuncSetAttribute"), before + 1);
    assert_int_equal(ops->function_smem(w->device, w->function, 1000, 16, &error), GS_OK);
    assert_int_equal(calls("cuFuncSetAttribute"), before + 3);
    assert_int_equal(ops->function_smem(w->device, w->function, 232449, 1, &error), GS_ERROR_LAUNCH);
    assert_mentions(&error, "232449");
}

static void test_tensor_map(void **state)
{
    const work *const w = *state;
    gs_tensor tensor = {.address = w->memory, .element = GS_BF16, .extent = {100, 64}, .stride = 208, .box = {64, 128},
                        .swizzle = 128};
    gs_tensor_map map;
    gs_error error = {0};
    assert_int_equal(w->device->ops->tensor_map(w->device, &tensor, &map, &error), GS_OK);
    assert_true(map.word[0] == w->memory && map.word[1] == 100 && map.word[2] == 64 && map.word[3] == 208);
    assert_true(map.word[4] == (64 | (uint64_t)128 << 32) && map.word[5] == (9 | 3 << 8 | 3 << 16));
    assert_true(map.word[6] == 0 && map.word[7] == 0);
    tensor.matrices = 3;
    tensor.step = 208 * 64;
    assert_int_equal(w->device->ops->tensor_map(w->device, &tensor, &map, &error), GS_OK);
    assert_true(map.word[2] == 64 && map.word[6] == 3 && map.word[7] == 208 * 64);
    tensor.matrices = 0;
    tensor.stride = 200;
    assert_int_equal(w->device->ops->tensor_map(w->device, &tensor, &map, &error), GS_ERROR_ARGUMENT);
    assert_mentions(&error, "stride 200");
    tensor.stride = 208;
    tensor.swizzle = 16;
    assert_int_equal(w->device->ops->tensor_map(w->device, &tensor, &map, &error), GS_ERROR_ARGUMENT);
    tensor.swizzle = 128;
    tensor.element = 7;
    assert_int_equal(w->device->ops->tensor_map(w->device, &tensor, &map, &error), GS_ERROR_ARGUMENT);
}

static void test_capture_and_events(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    const gs_launch launch = plain_launch(w);
    gs_graph graph;
    gs_error error = {0};
    double us;

    assert_int_equal(ops->capture_begin(w->device, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(ops->capture_begin(w->device, w->queue, &error), GS_OK);
    for (int i = 0; i < 5; i++) assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    assert_int_equal(ops->capture_end(w->device, w->queue, &graph, &error), GS_OK);
    assert_int_equal(ops->event_record(w->device, w->start, w->queue, &error), GS_OK);
    assert_int_equal(ops->graph_launch(w->device, graph, w->queue, &error), GS_OK);
    assert_int_equal(ops->event_record(w->device, w->end, w->queue, &error), GS_OK);
    assert_int_equal(ops->event_us(w->device, w->start, w->end, &us, &error), GS_OK);
    assert_true(us > 49.9 && us < 50.1);
    ops->graph_destroy(w->device, graph);

    /* The captured graph is freed even if it cannot be instantiated. */
    const int before = live();
    assert_int_equal(ops->capture_begin(w->device, w->queue, &error), GS_OK);
    inject("cuGraphInstantiateWithFlags", 999);
    assert_int_equal(ops->capture_end(w->device, w->queue, &graph, &error), GS_ERROR_DEVICE);
    assert_null(graph);
    assert_int_equal(live(), before);
}

/* New parameters for a launch in a graph change that graph only. */
static void test_change(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    static uint64_t map[3][16] = {{11}, {22}, {33}};
    void *params[] = {map[0]};
    gs_launch launch = plain_launch(w);
    const int before = live();
    const fake_cuda_launch *seen;
    gs_graph graph;
    gs_capture capture;
    gs_node first, second, none;
    gs_error error = {0};
    launch.params = params;
    setenv("FAKE_CUDA_MAPS", "1", 1);
    assert_int_equal(ops->capture_node(w->device, w->queue, &none, &error), GS_ERROR_DEVICE);
    assert_mentions(&error, "not being captured");
    assert_int_equal(ops->capture_begin(w->device, w->queue, &error), GS_OK);
    assert_int_equal(ops->capture_node(w->device, w->queue, &none, &error), GS_ERROR_DEVICE);
    assert_mentions(&error, "0 launches");
    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    assert_int_equal(ops->capture_node(w->device, w->queue, &first, &error), GS_OK);
    params[0] = map[1];
    assert_int_equal(ops->launch(w->device, &launch, w->queue, &error), GS_OK);
    assert_int_equal(ops->capture_node(w->device, w->queue, &second, &error), GS_OK);
    assert_ptr_not_equal(first, second);
    assert_int_equal(ops->capture_keep(w->device, w->queue, &graph, &capture, &error), GS_OK);
    assert_int_equal(ops->graph_launch(w->device, graph, w->queue, &error), GS_OK);
    assert_int_equal(replayed(&seen), 2);
    assert_true(seen[0].addresses[0] == (void *)11 && seen[1].addresses[0] == (void *)22);
    params[0] = map[2];
    assert_int_equal(ops->graph_change(w->device, graph, first, &launch, &error), GS_OK);
    assert_int_equal(ops->graph_launch(w->device, graph, w->queue, &error), GS_OK);
    assert_int_equal(replayed(&seen), 2);
    assert_true(seen[0].addresses[0] == (void *)33 && seen[1].addresses[0] == (void *)22);
    launch.grid[0]++;
    assert_int_equal(ops->graph_change(w->device, graph, first, &launch, &error), GS_ERROR_LAUNCH);
    assert_mentions(&error, "cuGraphExecKernelNodeSetParams");
    ops->graph_destroy(w->device, graph);
    ops->capture_free(w->device, capture);
    ops->capture_free(w->device, NULL);
    unsetenv("FAKE_CUDA_MAPS");
    assert_int_equal(live(), before);
}

/* Changing a graph needs two driver calls; without either of them captured nodes have no handles. */
static void test_change_takes_two_calls(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    gs_cuda_device *const cuda = gs_cuda_of(w->device);
    const gs_cuda_api *const whole = cuda->api;
    const gs_launch launch = plain_launch(w);
    gs_graph graph;
    assert_int_equal(ops->capture_begin(w->device, w->queue, NULL), GS_OK);
    assert_int_equal(ops->launch(w->device, &launch, w->queue, NULL), GS_OK);
    for (int lacking = 0; lacking < 2; lacking++) {
        gs_cuda_api api = *whole;
        gs_node node = &api;
        gs_error error = {0};
        if (lacking) api.cuStreamGetCaptureInfo_v2 = NULL, api.cuStreamGetCaptureInfo_v3 = NULL;
        else api.cuGraphExecKernelNodeSetParams_v2 = NULL;
        cuda->api = &api;
        const gs_status status = ops->capture_node(w->device, w->queue, &node, &error);
        cuda->api = whole;
        assert_int_equal(status, GS_ERROR_UNSUPPORTED);
        assert_null(node);
    }
    assert_int_equal(ops->capture_end(w->device, w->queue, &graph, NULL), GS_OK);
    ops->graph_destroy(w->device, graph);
}

/* A capture that was invalidated by a call gives no graph and no nodes. */
static void test_spoilt_capture(void **state)
{
    const work *const w = *state;
    const gs_device_ops *const ops = w->device->ops;
    gs_graph graph = (gs_graph)1;
    gs_capture capture = (gs_capture)1;
    gs_node node;
    gs_error error = {0};
    const int before = live();
    assert_int_equal(ops->capture_begin(w->device, w->queue, &error), GS_OK);
    assert_int_equal(ops->queue_wait(w->device, w->queue, &error), GS_ERROR_DEVICE);
    assert_int_equal(ops->capture_node(w->device, w->queue, &node, &error), GS_ERROR_DEVICE);
    assert_mentions(&error, "spoilt");
    assert_int_equal(ops->capture_keep(w->device, w->queue, &graph, &capture, &error), GS_ERROR_DEVICE);
    assert_true(!graph && !capture);
    assert_int_equal(live(), before);
}

/* ---- launching from threads and under other contexts ---- */

static void *launch_in_thread(void *argument)
{
    const work *const w = argument;
    const gs_launch launch = plain_launch(w);
    static int failed;
    failed = w->device->ops->launch(w->device, &launch, w->queue, NULL) != GS_OK;
    return failed ? &failed : NULL;
}

static void test_launch_from_another_thread(void **state)
{
    work *const w = *state;
    const int before = last_launch()->count;
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, launch_in_thread, w), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(last_launch()->count, before + 1);
}

static void test_launch_keeps_the_callers_context(void **state)
{
    work *const w = *state;
    const gs_launch launch = plain_launch(w);
    gs_cu_context others, current;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    gs_device *other = open_device("cuda:1");
    get_current(&others);
    assert_int_equal(w->device->ops->launch(w->device, &launch, w->queue, NULL), GS_OK);
    get_current(&current);
    assert_ptr_equal(current, others);
    gs_graph graph;
    assert_int_equal(w->device->ops->capture_begin(w->device, w->queue, NULL), GS_OK);
    assert_int_equal(w->device->ops->launch(w->device, &launch, w->queue, NULL), GS_OK);
    assert_int_equal(w->device->ops->capture_end(w->device, w->queue, &graph, NULL), GS_OK);
    set_current(others);
    assert_int_equal(w->device->ops->graph_launch(w->device, graph, w->queue, NULL), GS_OK);
    get_current(&current);
    assert_ptr_equal(current, others);
    w->device->ops->graph_destroy(w->device, graph);
    set_current(others);
    gs_device_close(&other);
    get_current(&current);
    assert_null(current);
}

/* A launch that fails in another context, or in none, is tried once more in the device's own; one that failed in the device's own is not. If no context was current, the
 * device's own stays current afterwards. */
static void test_launch_is_tried_again(void **state)
{
    work *const w = *state;
    const gs_launch launch = plain_launch(w);
    const gs_tensor tensor = {.address = w->memory, .element = GS_F16, .extent = {64, 64}, .stride = 128, .box = {64, 64}, .swizzle = 128};
    gs_tensor_map map;
    gs_cu_context own, current;
    get_current(&own);
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    gs_device *other = open_device("cuda:1");
    gs_cu_context others;
    get_current(&others);
    const gs_cu_context contexts[] = {own, others, NULL};
    static const int results[] = {GS_CU_ERROR_INVALID_CONTEXT, GS_CU_ERROR_INVALID_HANDLE, GS_CU_ERROR_UNKNOWN};
    for (size_t i = 0; i < GS_COUNT(contexts) * GS_COUNT(results); i++) {
        const gs_cu_context from = contexts[i % GS_COUNT(contexts)];
        const int result = results[i / GS_COUNT(contexts)];
        bool again = from != own && result != GS_CU_ERROR_UNKNOWN;
        inject(NULL, 0);
        setenv("FAKE_CUDA_FAIL", "none", 1);   /* the fake restarts its count when the setting changes */
        set_current(own);
        w->device->ops->launch(w->device, &launch, w->queue, NULL);
        const int before = last_launch()->count;
        set_current(from);
        inject("cuLaunchKernelEx:1", result);
        const gs_status status = w->device->ops->launch(w->device, &launch, w->queue, NULL);
        assert_int_equal(status == GS_OK, again);
        assert_int_equal(last_launch()->count, before + again);
        get_current(&current);
        assert_ptr_equal(current, from || !again ? from : own);
        setenv("FAKE_CUDA_FAIL", "none", 1);
        w->device->ops->tensor_map(w->device, &tensor, &map, NULL);
        set_current(from);
        inject("cuTensorMapEncodeTiled:1", result);
        again = from != own && result == GS_CU_ERROR_INVALID_CONTEXT;
        assert_int_equal(w->device->ops->tensor_map(w->device, &tensor, &map, NULL) == GS_OK, again);
        get_current(&current);
        assert_ptr_equal(current, from || !again ? from : own);
    }
    inject(NULL, 0);
    set_current(others);
    gs_device_close(&other);
    set_current(own);
}

/* ---- failures ---- */

/* Runs the operation that makes the named driver call. */
static gs_status perform(const work *w, const char *call, gs_error *error)
{
    const gs_device_ops *const ops = w->device->ops;
    const gs_launch launch = plain_launch(w);
    const gs_tensor tensor = {.address = w->memory, .element = GS_F16, .extent = {64, 64}, .stride = 128, .box = {64, 64},
                              .swizzle = 128};
    const gs_image image = some_image();
    gs_tensor_map map;
    void *out;
    gs_pointer pointer;
    size_t a, b;
    int number;
    double us;
    bool captured;
    if (strcmp(call, "cuMemAlloc_v2") == 0) return ops->alloc(w->device, 64, &pointer, error);
    if (strcmp(call, "cuMemcpyHtoD_v2") == 0) return ops->copy_in(w->device, w->memory, "abcd", 4, error);
    if (strcmp(call, "cuMemcpyDtoH_v2") == 0) return ops->copy_out(w->device, &number, w->memory, 4, error);
    if (strcmp(call, "cuMemsetD32Async") == 0) return ops->fill(w->device, w->memory, 0, 4, w->queue, error);
    if (strcmp(call, "cuMemGetInfo_v2") == 0) return ops->memory_info(w->device, &a, &b, error);
    if (strcmp(call, "cuModuleLoadDataEx") == 0) return ops->load(w->device, &image, &out, error);
    if (strcmp(call, "cuModuleGetFunction") == 0 || strcmp(call, "cuFuncLoad") == 0 || strcmp(call, "cuFuncGetAttribute") == 0)
        return ops->function(w->device, w->module, "k", &out, NULL, error);
    if (strcmp(call, "cuFuncSetAttribute:1") == 0 || strcmp(call, "cuFuncSetAttribute:2") == 0)
        return ops->function_smem(w->device, w->function, 100, 16, error);
    if (strcmp(call, "cuOccupancyMaxActiveClusters") == 0) return ops->max_clusters(w->device, &launch, &number, error);
    if (strcmp(call, "cuTensorMapEncodeTiled") == 0) return ops->tensor_map(w->device, &tensor, &map, error);
    if (strcmp(call, "cuLaunchKernelEx") == 0) return ops->launch(w->device, &launch, w->queue, error);
    if (strcmp(call, "cuStreamCreate") == 0) return ops->queue_create(w->device, &out, error);
    if (strcmp(call, "cuStreamSynchronize") == 0) return ops->queue_wait(w->device, w->queue, error);
    if (strcmp(call, "cuEventCreate") == 0) return ops->event_create(w->device, &out, error);
    if (strcmp(call, "cuEventRecord") == 0) return ops->event_record(w->device, w->start, w->queue, error);
    if (strcmp(call, "cuStreamWaitEvent") == 0) return ops->queue_follow(w->device, w->queue, w->start, error);
    if (strcmp(call, "cuEventSynchronize") == 0 || strcmp(call, "cuEventElapsedTime") == 0)
        return ops->event_us(w->device, w->start, w->end, &us, error);
    if (strcmp(call, "cuStreamIsCapturing") == 0) return ops->capturing(w->device, w->queue, &captured, error);
    if (strcmp(call, "cuStreamBeginCapture_v2") == 0) return ops->capture_begin(w->device, w->queue, error);
    if (strcmp(call, "cuStreamEndCapture") == 0) return ops->capture_end(w->device, w->queue, &out, error);
    if (strcmp(call, "cuStreamGetCaptureInfo_v3") == 0) return ops->capture_node(w->device, w->queue, &out, error);
    if (strcmp(call, "cuGraphExecKernelNodeSetParams_v2") == 0) return ops->graph_change(w->device, NULL, NULL, &launch, error);
    if (strcmp(call, "cuGraphLaunch") == 0) return ops->graph_launch(w->device, NULL, w->queue, error);
    if (strcmp(call, "cuCtxGetCurrent") == 0) return ops->queue_wait(w->device, w->queue, error);
    fail_msg("no operation makes %s", call);
    return GS_OK;
}

static void test_every_operation_may_fail(void **state)
{
    const work *const w = *state;
    static const char *const failing[] = {
        "cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD32Async", "cuMemGetInfo_v2", "cuModuleLoadDataEx",
        "cuModuleGetFunction", "cuFuncLoad", "cuFuncGetAttribute", "cuFuncSetAttribute:1", "cuFuncSetAttribute:2",
        "cuOccupancyMaxActiveClusters", "cuTensorMapEncodeTiled", "cuLaunchKernelEx", "cuStreamCreate", "cuStreamSynchronize",
        "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize", "cuEventElapsedTime", "cuStreamIsCapturing", "cuStreamBeginCapture_v2",
        "cuStreamEndCapture", "cuStreamGetCaptureInfo_v3", "cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch", "cuCtxGetCurrent",
    };
    const int before = live();
    for (size_t i = 0; i < GS_COUNT(failing); i++) {
        gs_error error = {0};
        char name[48];
        snprintf(name, sizeof name, "%s", failing[i]);
        name[strcspn(name, "_:")] = '\0';
        inject(failing[i], 999);
        gs_status status = perform(w, failing[i], &error);
        if (status != GS_ERROR_DEVICE) fail_msg("%s failing with 999: status %d", failing[i], (int)status);
        assert_mentions(&error, name);
        assert_int_equal(perform(w, failing[i], NULL), strchr(failing[i], ':') ? GS_OK : GS_ERROR_DEVICE);
        inject(failing[i], GS_CU_ERROR_ILLEGAL_ADDRESS);
        /* The fake restarts its count when the setting changes. */
        inject(NULL, 0);
        setenv("FAKE_CUDA_FAIL", "none", 1);
        assert_int_equal(w->device->ops->queue_wait(w->device, w->queue, NULL), GS_OK);
        inject(failing[i], GS_CU_ERROR_ILLEGAL_ADDRESS);
        status = perform(w, failing[i], &error);
        if (status != GS_ERROR_FAULT) fail_msg("%s failing with 700: status %d", failing[i], (int)status);
        inject(NULL, 0);
    }
    assert_int_equal(live(), before);
}

static void test_meaning_of_results(void **state)
{
    const work *const w = *state;
    static const int faults[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721};
    static const struct {
        const char *call;
        int         result;
        gs_status   status;
    } cases[] = {
        {"cuLaunchKernelEx",    1,   GS_ERROR_LAUNCH},
        {"cuLaunchKernelEx",    701, GS_ERROR_LAUNCH},
        {"cuLaunchKernelEx",    720, GS_ERROR_LAUNCH},
        {"cuLaunchKernelEx",    912, GS_ERROR_LAUNCH},
        {"cuLaunchKernelEx",    400, GS_ERROR_LAUNCH},
        {"cuLaunchKernelEx",    2,   GS_ERROR_DEVICE_MEMORY},
        {"cuLaunchKernelEx",    201, GS_ERROR_DEVICE},
        {"cuGraphLaunch",       1,   GS_ERROR_LAUNCH},
        {"cuStreamSynchronize", 1,   GS_ERROR_DEVICE},
        {"cuMemAlloc_v2",       2,   GS_ERROR_DEVICE_MEMORY},
        {"cuModuleLoadDataEx",  209, GS_ERROR_DEVICE},
    };
    for (size_t i = 0; i < GS_COUNT(faults); i++) {
        inject("cuStreamSynchronize", faults[i]);
        if (perform(w, "cuStreamSynchronize", NULL) != GS_ERROR_FAULT) fail_msg("result %d is no fault", faults[i]);
        inject("cuLaunchKernelEx", faults[i]);
        if (perform(w, "cuLaunchKernelEx", NULL) != GS_ERROR_FAULT) fail_msg("result %d is no fault at launch", faults[i]);
    }
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        inject(cases[i].call, cases[i].result);
        const gs_status status = perform(w, cases[i].call, NULL);
        if (status != cases[i].status) fail_msg("%s with %d: status %d", cases[i].call, cases[i].result, (int)status);
    }
}

/* The fake's PCI address does not exist, so the answer is the same with and without NVML. */
static void test_clocks_without_nvml(void **state)
{
    const work *const w = *state;
    gs_clocks clocks = {.sm_mhz = 1};
    gs_error error = {0};
    assert_int_equal(w->device->ops->clocks(w->device, &clocks, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(clocks.sm_mhz, 0);
    inject("cuDeviceGetPCIBusId", 999);
    assert_int_equal(w->device->ops->clocks(w->device, &clocks, &error), GS_ERROR_DEVICE);
}

static void test_empty_image(void **state)
{
    const work *const w = *state;
    gs_module module;
    assert_int_equal(w->device->ops->load(w->device, &(gs_image){0}, &module, NULL), GS_ERROR_ARGUMENT);
    assert_null(module);
}

int main(void)
{
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_copy_in_waits, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_launch_attributes, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_function_and_shared_memory, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_tensor_map, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_capture_and_events, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_change, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_change_takes_two_calls, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_spoilt_capture, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_launch_from_another_thread, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_launch_keeps_the_callers_context, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_launch_is_tried_again, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_every_operation_may_fail, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_meaning_of_results, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_clocks_without_nvml, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(test_empty_image, work_setup, work_teardown),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}

/* SPDX-License-Identifier: MIT
 * Graphs of an emulated device hold what was captured, and nothing if memory is short; and parameters of a captured launch can be changed. Without NVRTC both tests are
 * skipped and the exit code is 77. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "allocations.h"
#include "launching.h"

static void test_graphs(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    work w = begin("emu:h200");
    const gs_device_ops *const ops = w.device->ops;
    gs_graph graph;
    gs_pointer to = w.memory, from = w.memory;
    int count = 1024;
    char more = 1;
    double us, once;
    numbers(&w);
    const gs_launch launch = {.function = find(&w, "add", NULL), .grid = {8, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1},
                              .params = (void *[]){&to, &from, &count, &more}};
    assert_int_equal(ops->capture_begin(w.device, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(ops->capture_end(w.device, w.queue, &graph, &error), GS_ERROR_DEVICE);
    OK(ops->capture_begin(w.device, w.queue, &error));
    assert_int_equal(ops->capture_begin(w.device, w.queue, &error), GS_ERROR_DEVICE);
    assert_int_equal(ops->queue_wait(w.device, w.queue, &error), GS_ERROR_DEVICE);
    OK(ops->launch(w.device, &launch, w.queue, &error));
    more = 10;   /* parameters are copied at the call */
    OK(ops->launch(w.device, &launch, w.queue, &error));
    OK(ops->fill(w.device, w.memory + 4092, 77, 4, w.queue, &error));
    OK(ops->capture_end(w.device, w.queue, &graph, &error));
    more = 100;
    assert_int_equal(number(&w, 5), 5);   /* capturing runs nothing */
    for (int i = 1; i <= 2; i++) {
        OK(ops->event_record(w.device, w.start, w.queue, &error));
        OK(ops->graph_launch(w.device, graph, w.queue, &error));
        OK(ops->event_record(w.device, w.end, w.queue, &error));
        OK(ops->queue_wait(w.device, w.queue, &error));
        assert_int_equal(number(&w, 5), 5 + 11 * i);
        assert_int_equal(number(&w, 1023), 77);
        OK(ops->event_us(w.device, w.start, w.end, &us, &error));
        if (i == 1) once = us;
        assert_true(us > 3 * w.device->caps.launch_us * 0.99 && fabs(us - once) < 1e-9 * us);
    }
    gs_graph other;
    more = 1;
    OK(ops->capture_begin(w.device, w.queue, &error));   /* more launches than fit at first */
    for (int i = 0; i < 40; i++) OK(ops->launch(w.device, &launch, w.queue, &error));
    OK(ops->capture_end(w.device, w.queue, &other, &error));
    OK(ops->graph_launch(w.device, other, w.queue, &error));
    assert_int_equal(number(&w, 5), 5 + 11 * 2 + 40);
    ops->graph_destroy(w.device, other);
    OK(ops->capture_begin(w.device, w.queue, &error));   /* operations that cannot be captured */
    assert_int_equal(ops->graph_launch(w.device, graph, w.queue, &error), GS_ERROR_DEVICE);
    assert_int_equal(ops->event_record(w.device, w.end, w.queue, &error), GS_ERROR_DEVICE);
    OK(ops->capture_end(w.device, w.queue, &other, &error));
    ops->graph_destroy(w.device, other);
    assert_int_equal(number(&w, 5), 5 + 11 * 2 + 40);
    gs_status lacks = GS_OK;
    OK(ops->capture_begin(w.device, w.queue, &error));
    OK(ops->launch(w.device, &launch, w.queue, &error));
    for (int i = 0; i < 100 && lacks == GS_OK; i++) {
        fail_at = 2;   /* the list must grow; the launch's parameters are its first allocation */
        lacks = ops->launch(w.device, &launch, w.queue, &error);
    }
    fail_at = 0;
    assert_int_equal(lacks, GS_ERROR_MEMORY);
    assert_int_equal(ops->capture_end(w.device, w.queue, &other, &error), GS_ERROR_MEMORY);
    assert_null(other);
    OK(ops->capture_begin(w.device, w.queue, &error));   /* nothing of the failed capture is left */
    OK(ops->launch(w.device, &launch, w.queue, &error));
    OK(ops->capture_end(w.device, w.queue, &other, &error));
    OK(ops->graph_launch(w.device, other, w.queue, &error));
    ops->graph_destroy(w.device, other);
    assert_int_equal(number(&w, 5), 5 + 11 * 2 + 40 + 1);
    ops->graph_destroy(w.device, graph);
    ops->graph_destroy(w.device, NULL);

    const gs_launch wild = plain(&w, "wild", 1);
    OK(ops->capture_begin(w.device, w.queue, &error));
    OK(ops->launch(w.device, &wild, w.queue, &error));
    OK(ops->capture_end(w.device, w.queue, &graph, &error));
    assert_int_equal(ops->graph_launch(w.device, graph, w.queue, &error), GS_ERROR_FAULT);
    assert_int_equal(ops->queue_wait(w.device, w.queue, &error), GS_ERROR_FAULT);
    ops->graph_destroy(w.device, graph);
    OK(ops->capture_begin(w.device, w.queue, &error));   /* a queue may be destroyed during its capture */
    OK(ops->launch(w.device, &wild, w.queue, &error));
    end(&w);
}

/* Changes the parameters of a captured launch. */
static void test_graph_change(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    work w = begin("emu:h200");
    const gs_device_ops *const ops = w.device->ops;
    gs_graph graph;
    gs_capture capture;
    gs_node first, second, none;
    gs_pointer to = w.memory, from = w.memory;
    int count = 1024;
    char more = 1;
    numbers(&w);
    const gs_launch launch = {.function = find(&w, "add", NULL), .grid = {8, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}, .params = (void *[]){&to, &from, &count, &more}};
    const gs_launch wild = plain(&w, "wild", 1);
    gs_launch larger = launch;
    larger.grid[0] = 0;
    assert_int_equal(ops->capture_node(w.device, w.queue, &none, &error), GS_ERROR_DEVICE);
    OK(ops->capture_begin(w.device, w.queue, &error));
    assert_int_equal(ops->capture_node(w.device, w.queue, &none, &error), GS_ERROR_DEVICE);
    OK(ops->launch(w.device, &launch, w.queue, &error));
    OK(ops->capture_node(w.device, w.queue, &first, &error));
    more = 10;
    OK(ops->launch(w.device, &launch, w.queue, &error));
    OK(ops->capture_node(w.device, w.queue, &second, &error));
    OK(ops->fill(w.device, w.memory + 4092, 77, 4, w.queue, &error));
    assert_int_equal(ops->capture_node(w.device, w.queue, &none, &error), GS_ERROR_DEVICE);   /* a fill is no launch */
    assert_null(none);
    OK(ops->capture_keep(w.device, w.queue, &graph, &capture, &error));
    OK(ops->graph_launch(w.device, graph, w.queue, &error));
    assert_int_equal(number(&w, 5), 5 + 11);
    more = 50;
    OK(ops->graph_change(w.device, graph, first, &launch, &error));
    more = 100;
    OK(ops->graph_launch(w.device, graph, w.queue, &error));
    assert_int_equal(number(&w, 5), 5 + 11 + 60);
    OK(ops->graph_change(w.device, graph, second, &launch, &error));
    OK(ops->graph_launch(w.device, graph, w.queue, &error));
    assert_int_equal(number(&w, 5), 5 + 11 + 60 + 150);
    assert_int_equal(ops->graph_change(w.device, graph, first, &wild, &error), GS_ERROR_LAUNCH);
    assert_int_equal(ops->graph_change(w.device, graph, first, &larger, &error), GS_ERROR_LAUNCH);
    assert_int_equal(ops->graph_change(w.device, graph, NULL, &launch, &error), GS_ERROR_LAUNCH);
    assert_int_equal(ops->graph_change(w.device, graph, (gs_node)(uintptr_t)3, &launch, &error), GS_ERROR_LAUNCH);
    assert_int_equal(ops->graph_change(w.device, graph, (gs_node)(uintptr_t)4, &launch, &error), GS_ERROR_LAUNCH);
    OK(ops->graph_launch(w.device, graph, w.queue, &error));
    assert_int_equal(number(&w, 5), 5 + 11 + 60 + 150 + 150);
    ops->graph_destroy(w.device, graph);
    ops->capture_free(w.device, capture);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs), cmocka_unit_test(test_graph_change)};
    return run_launching("graphs", tests, GS_COUNT(tests));
}

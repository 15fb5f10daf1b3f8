/* SPDX-License-Identifier: MIT
 * A device on the fake driver whose kernels take the times that a test gives them, also in graphs, and give wrong results where the test says so. Our kernels are
 * numbered from 0 in the order in which they are loaded, cuBLASLt's suggestions from 1. Included after cmocka.h and fake/opened.h. */
#ifndef TESTS_STAGE_CLOCK_H
#define TESTS_STAGE_CLOCK_H

#include <string.h>

#include "base/error.h"
#include "device/device.h"

#define STAGE_KERNELS 64
#define STAGE_THINGS  256

static struct {
    const gs_device_ops *real;
    gs_device_ops        ops;
    double               own_us[STAGE_KERNELS], library_us[16];
    int                  wrong, faulty;         /* numbers of our kernels that give a wrong result, and that fault at launch; -1: none */
    int                  wrong_library;
    double               now_us, captured_us;
    bool                 capturing;
    double               loading_us;            /* added to the first call of each suggestion */
    unsigned             called;                /* bit mask of suggestions that were called */
    int                  library_calls;         /* outside captures */
    int                  loaded, last;          /* our kernels loaded so far; the one launched last, -1: none */
    int                  last_library;
    int                  timed;                 /* replays of graphs */
    int                  known;
    struct {
        void  *handle;
        int    kernel;                          /* number of a function's kernel */
        gs_module module;                       /* module of a function */
        double us;                              /* of an event: its time; of a graph: its duration */
    } thing[STAGE_THINGS];
} stage;

static int stage_thing(void *handle)
{
    for (int i = 0; i < stage.known; i++)
        if (stage.thing[i].handle == handle) return i;
    assert_true(stage.known < STAGE_THINGS);
    stage.thing[stage.known].handle = handle;
    stage.thing[stage.known].kernel = -2;
    return stage.known++;
}

static void stage_pass(double us) { *(stage.capturing ? &stage.captured_us : &stage.now_us) += us; }

static gs_status stage_function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error)
{
    const gs_status status = stage.real->function(device, module, name, out, info, error);
    if (status != GS_OK) return status;
    const int at = stage_thing(*out);
    stage.thing[at].module = module;
    if (strncmp(name, "gs_race_", 8) == 0) stage.thing[at].kernel = -1;
    else if (stage.thing[at].kernel < 0 || stage.thing[at].kernel != stage.loaded - 1) stage.thing[at].kernel = stage.loaded++;
    return GS_OK;
}

/* Another kernel's function may get the same address later. */
static void stage_unload(gs_device *device, gs_module module)
{
    for (int i = 0; i < stage.known; i++)
        if (stage.thing[i].module == module) stage.thing[i].kernel = -2, stage.thing[i].module = NULL;
    stage.real->unload(device, module);
}

static gs_status stage_launch(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    const int kernel = stage.thing[stage_thing(launch->function)].kernel;
    if (kernel >= 0 && kernel == stage.faulty) return gs_fail(error, GS_ERROR_FAULT, NULL, "a fault of the stage");
    if (kernel >= 0) stage.last = kernel, stage.last_library = 0;
    stage_pass(kernel >= 0 && kernel < STAGE_KERNELS ? stage.own_us[kernel] : 1);
    return stage.real->launch(device, launch, queue, error);
}

static void stage_library(int suggestion, void *stream)
{
    (void)stream;
    stage.last = -1;
    stage.last_library = suggestion;
    stage_pass(stage.library_us[suggestion] + (stage.called >> suggestion & 1 ? 0 : stage.loading_us));
    stage.called |= 1u << suggestion;
    stage.library_calls += !stage.capturing;
}

static gs_status stage_copy_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    const gs_status status = stage.real->copy_out(device, to, from, bytes, error);
    const bool wrong = (stage.last >= 0 && stage.last == stage.wrong) || (stage.last_library > 0 && stage.last_library == stage.wrong_library);
    if (status == GS_OK && bytes == 8 && wrong) memcpy(to, &(uint64_t){5}, 8);
    return status;
}

static gs_status stage_record(gs_device *device, gs_event event, gs_queue queue, gs_error *error)
{
    stage.thing[stage_thing(event)].us = stage.now_us;
    return stage.real->event_record(device, event, queue, error);
}

static gs_status stage_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error)
{
    const gs_status status = stage.real->event_us(device, start, end, us, error);
    *us = stage.thing[stage_thing(end)].us - stage.thing[stage_thing(start)].us;
    return status;
}

static gs_status stage_begin(gs_device *device, gs_queue queue, gs_error *error)
{
    const gs_status status = stage.real->capture_begin(device, queue, error);
    stage.capturing = status == GS_OK;
    stage.captured_us = 0;
    return status;
}

static gs_status stage_end(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error)
{
    const gs_status status = stage.real->capture_end(device, queue, out, error);
    stage.capturing = false;
    if (status == GS_OK) stage.thing[stage_thing(*out)].us = stage.captured_us;
    return status;
}

/* Large fills only clear the L2 cache; doing them would take most of the test's time. */
static gs_status stage_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    if (bytes < 1 << 20) return stage.real->fill(device, to, pattern, bytes, queue, error);
    stage_pass(30);
    return stage.real->fill(device, to, pattern, 4, queue, error);
}

static gs_status stage_replay(gs_device *device, gs_graph graph, gs_queue queue, gs_error *error)
{
    stage.now_us += stage.thing[stage_thing(graph)].us;
    stage.timed++;
    return stage.real->graph_launch(device, graph, queue, error);
}

/* All our kernels take 50 us and all suggestions 60 us until the test changes that. */
static void stage_set(gs_device *device)
{
    memset(&stage, 0, sizeof stage);
    stage.real = device->ops;
    stage.wrong = stage.faulty = stage.last = -1;
    for (int i = 0; i < STAGE_KERNELS; i++) stage.own_us[i] = 50;
    for (int i = 0; i < 16; i++) stage.library_us[i] = 60;
    stage.ops = *device->ops;
    stage.ops.function = stage_function;
    stage.ops.unload = stage_unload;
    stage.ops.prepare = NULL;   /* without it every launch goes through stage_launch */
    stage.ops.launch = stage_launch;
    stage.ops.copy_out = stage_copy_out;
    stage.ops.fill = stage_fill;
    stage.ops.event_record = stage_record;
    stage.ops.event_us = stage_us;
    stage.ops.capture_begin = stage_begin;
    stage.ops.capture_end = stage_end;
    stage.ops.graph_launch = stage_replay;
    device->ops = &stage.ops;
}

#endif

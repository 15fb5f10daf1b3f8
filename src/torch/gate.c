/* SPDX-License-Identifier: MIT */
#include "torch/gate.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/log.h"
#include "cublas/gate_gradients.h"
#include "device/device.h"
#include "torch/choice.h"
#include "torch/driver.h"

enum { TYPES = 2, ACTIVATIONS = GS_SILU + 1 };

typedef struct loaded {
    pthread_mutex_t   lock;
    atomic_int        state;   /* 0: not tried; 1: it is there, as long as the process; 2: it cannot be had */
    gs_gate_gradients gates;
} loaded;

static loaded all[GS_TORCH_DEVICES][TYPES][ACTIVATIONS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
    for (int d = 0; d < GS_TORCH_DEVICES; d++)
        for (int t = 0; t < TYPES; t++)
            for (int a = 0; a < ACTIVATIONS; a++) pthread_mutex_init(&all[d][t][a].lock, NULL);
}

/* Others that come while it is compiled do not wait. */
static void load_once(loaded *l, gs_device *device, gs_type type, gs_activation activation)
{
    gs_torch_aside aside;
    gs_error error = {0};
    if (pthread_mutex_trylock(&l->lock) != 0) return;
    if (atomic_load(&l->state) == 0) {
        if (!device->caps.emulated) gs_torch_step_aside(&aside);
        const gs_status status = gs_gate_gradients_open(&l->gates, device, type, activation, &error);
        if (status != GS_OK) gs_gate_gradients_close(&l->gates);
        if (!device->caps.emulated) gs_torch_step_back(&aside);
        if (status != GS_OK) gs_log(GS_LOG_WARNING, "gradients of gates are left to torch: %s", error.text);
        atomic_store_explicit(&l->state, status == GS_OK ? 1 : 2, memory_order_release);
    }
    pthread_mutex_unlock(&l->lock);
}

static bool is_packed(const gs_torch_tensor *t, int64_t rows, int64_t cols) { return t->dim == 2 && t->size[0] == rows && t->size[1] == cols && t->stride[1] == 1 && (rows == 1 || t->stride[0] == cols); }

static gs_torch_reason check(const gs_torch_gate *gate)
{
    const gs_torch_tensor *const operands[] = {gate->gradient, gate->kept, gate->result};
    for (int i = 0; i < 3; i++) {
        if (operands[i]->type != gate->result->type || (operands[i]->type != GS_F16 && operands[i]->type != GS_BF16)) return GS_TORCH_TYPE;
        if (!operands[i]->here) return GS_TORCH_DEVICE;
    }
    if (gate->gradient->dim != 2) return GS_TORCH_SHAPE;
    const int64_t m = gate->gradient->size[0], n = gate->gradient->size[1];
    if (m < 1 || n < 1 || m > GS_MAX_EXTENT || n > GS_MAX_EXTENT / 2) return GS_TORCH_SHAPE;
    for (int i = 0; i < 3; i++) {
        if (!is_packed(operands[i], m, i == 0 ? n : 2 * n)) return GS_TORCH_STRIDES;
        if (i < 2 && gs_torch_overlap(operands[i], gate->result)) return GS_TORCH_OVERLAP;
    }
    return GS_TORCH_FITS;
}

static gs_status launch(const loaded *l, const gs_torch_gate *gate, const void *gradient, const void *kept, void *result, gs_stream stream, gs_error *error)
{
    return gs_gate_gradients_run(&l->gates, gate->gradient->size[0], gate->gradient->size[1], gradient, kept, result, stream, error);
}

/* On the emulated device, whose memory is its own: operands are copied to and fro. */
static gs_status run_staged(gs_device *device, const loaded *l, const gs_torch_gate *gate, gs_error *error)
{
    const gs_torch_tensor *const operands[] = {gate->gradient, gate->kept, gate->result};
    const size_t half = (size_t)(gate->gradient->size[0] * gate->gradient->size[1]) * 2, bytes[] = {half, 2 * half, 2 * half};
    gs_pointer there[3] = {0};
    gs_status status = GS_OK;
    for (int i = 0; i < 3 && status == GS_OK; i++) {
        status = device->ops->alloc(device, bytes[i], &there[i], error);
        if (status == GS_OK && i < 2) status = device->ops->copy_in(device, there[i], operands[i]->data, bytes[i], error);
    }
    if (status == GS_OK) status = launch(l, gate, (void *)(uintptr_t)there[0], (void *)(uintptr_t)there[1], (void *)(uintptr_t)there[2], NULL, error);
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
    if (status == GS_OK) status = device->ops->copy_out(device, operands[2]->data, there[2], bytes[2], error);
    for (int i = 0; i < 3; i++)
        if (there[i]) device->ops->free(device, there[i]);
    return status;
}

gs_torch_reason gs_torch_gate_run(int number, const gs_torch_gate *gate, gs_stream stream, bool emulated)
{
    gs_error error = {0};
    gs_status status;
    const gs_torch_reason reason = check(gate);
    if (reason != GS_TORCH_FITS) return reason;
    if (number < 0 || number >= GS_TORCH_DEVICES) return GS_TORCH_NO_GPU;
    pthread_once(&once, start);
    loaded *const l = &all[number][gate->result->type][gate->activation];
    int state = atomic_load_explicit(&l->state, memory_order_acquire);
    if (state == 0 && !emulated && gs_torch_capture(stream) != 0) return GS_TORCH_NO_PLAN;
    gs_device *const device = gs_torch_device(number);
    if (!device) return GS_TORCH_NO_GPU;
    if (emulated) gs_torch_stage(true);
    if (state == 0) load_once(l, device, (gs_type)gate->result->type, gate->activation);
    state = atomic_load_explicit(&l->state, memory_order_acquire);
    if (state != 1) status = GS_ERROR_NOT_FOUND;
    else if (emulated) status = run_staged(device, l, gate, &error);
    else status = launch(l, gate, gate->gradient->data, gate->kept->data, gate->result->data, stream, &error);
    if (emulated) gs_torch_stage(false);
    if (error.text[0]) gs_log(GS_LOG_WARNING, "gradients of a gate are left to torch: %s", error.text);
    return status == GS_OK ? GS_TORCH_FITS : state == 0 ? GS_TORCH_NO_PLAN : GS_TORCH_RUN;
}

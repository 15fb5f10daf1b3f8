/* SPDX-License-Identifier: MIT */
#include "torch/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "cublas/gate_gradients.h"
#include "device/device.h"
#include "torch/choice.h"
#include "torch/driver.h"

enum { TYPES = 2, ACTIVATIONS = GS_SILU + 1 };

enum { UNTRIED, THERE, MISSING };   /* as long as the process */

typedef struct loaded {
    pthread_mutex_t   lock;
    atomic_int        state;
    atomic_ullong     calls, passed;
    char              why[200];   /* it is missing */
    gs_gate_gradients gates;
} loaded;

static const char *const type_names[TYPES] = {[GS_F16] = "f16", [GS_BF16] = "bf16"};
static const char *const activation_names[ACTIVATIONS] = {[GS_RELU] = "relu", [GS_GELU] = "gelu", [GS_GELU_ERF] = "gelu_erf", [GS_SILU] = "silu"};
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
    if (atomic_load(&l->state) == UNTRIED) {
        if (!device->caps.emulated) gs_torch_step_aside(&aside);
        const gs_status status = gs_gate_gradients_open(&l->gates, device, type, activation, &error);
        if (status != GS_OK) gs_gate_gradients_close(&l->gates);
        if (!device->caps.emulated) gs_torch_step_back(&aside);
        if (status != GS_OK) {
            snprintf(l->why, sizeof l->why, "%.199s", error.text);
            gs_log(GS_LOG_WARNING, "gradients of gates are left to torch: %s", error.text);
        }
        atomic_store_explicit(&l->state, status == GS_OK ? THERE : MISSING, memory_order_release);
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

/* The state that it has then. NO_GPU: the device cannot be opened. */
static gs_torch_reason load(loaded *l, int number, gs_type type, gs_activation activation, gs_device **device)
{
    *device = gs_torch_device(number);
    if (!*device) return GS_TORCH_NO_GPU;
    if (atomic_load_explicit(&l->state, memory_order_acquire) == UNTRIED) load_once(l, *device, type, activation);
    const int state = atomic_load_explicit(&l->state, memory_order_acquire);
    return state == THERE ? GS_TORCH_FITS : state == UNTRIED ? GS_TORCH_NO_PLAN : GS_TORCH_RUN;
}

static gs_torch_reason run(loaded *l, int number, const gs_torch_gate *gate, gs_stream stream, bool emulated)
{
    gs_error error = {0};
    gs_device *device;
    if (!emulated && atomic_load_explicit(&l->state, memory_order_acquire) == UNTRIED && gs_torch_capture(stream) != 0) return GS_TORCH_NO_PLAN;
    if (emulated) gs_torch_stage(true);
    gs_torch_reason reason = load(l, number, (gs_type)gate->result->type, gate->activation, &device);
    if (reason == GS_TORCH_FITS) {
        const gs_status status = emulated ? run_staged(device, l, gate, &error) : launch(l, gate, gate->gradient->data, gate->kept->data, gate->result->data, stream, &error);
        if (status != GS_OK) reason = GS_TORCH_RUN;
    }
    if (emulated) gs_torch_stage(false);
    if (error.text[0]) gs_log(GS_LOG_WARNING, "gradients of a gate are left to torch: %s", error.text);
    return reason;
}

static loaded *loaded_of(int number, gs_type type, gs_activation activation)
{
    pthread_once(&once, start);
    return number >= 0 && number < GS_TORCH_DEVICES ? &all[number][type][activation] : NULL;
}

gs_torch_reason gs_torch_gate_run(int number, const gs_torch_gate *gate, gs_stream stream, bool emulated)
{
    gs_torch_reason reason = check(gate);
    loaded *const l = reason == GS_TORCH_FITS ? loaded_of(number, (gs_type)gate->result->type, gate->activation) : NULL;
    if (!l) {
        if (reason == GS_TORCH_FITS) reason = GS_TORCH_NO_GPU;
        gs_torch_count_passed(reason);
        return reason;
    }
    reason = run(l, number, gate, stream, emulated);
    atomic_fetch_add_explicit(reason == GS_TORCH_FITS ? &l->calls : &l->passed, 1, memory_order_relaxed);
    return reason;
}

/* ---- by name ---- */

static const char WORD[] = ":gate_gradients:";

bool gs_torch_is_gate(const char *text) { return strstr(text, WORD) != NULL; }

static int place_of(const char *name, size_t length, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (names[i] && strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return i;
    return -1;
}

static const char *reason_of(const loaded *l, int state) { return state == THERE ? "one kernel for both gradients" : state == MISSING ? l->why : gs_torch_reason_text(GS_TORCH_NO_PLAN); }

gs_status gs_torch_gate_prepare(int number, const char *gate, bool emulated, char *why, size_t size, gs_error *error)
{
    const char *const word = strstr(gate, WORD);
    const int type = word ? place_of(gate, (size_t)(word - gate), type_names, TYPES) : -1;
    const int activation = word ? place_of(word + strlen(WORD), strlen(word + strlen(WORD)), activation_names, ACTIVATIONS) : -1;
    if (type < 0 || activation < 0) return gs_fail(error, GS_ERROR_PARSE, "problem", "'%.60s': expected f16 or bf16, %s and relu, gelu, gelu_erf or silu", gate, WORD);
    loaded *const l = loaded_of(number, (gs_type)type, (gs_activation)activation);
    if (!l) return gs_fail(error, GS_ERROR_RANGE, "device", "%d: at most %d", number, GS_TORCH_DEVICES - 1);
    gs_device *device;
    if (emulated) gs_torch_stage(true);
    const gs_torch_reason reason = load(l, number, (gs_type)type, (gs_activation)activation, &device);
    if (emulated) gs_torch_stage(false);
    const char *const said = reason == GS_TORCH_NO_GPU ? gs_torch_reason_text(reason) : reason_of(l, atomic_load(&l->state));
    snprintf(why, size, "%s%s", reason == GS_TORCH_FITS ? "" : "torch's own kernels: ", said);
    return GS_OK;
}

static bool report(int number, int type, int activation, int *line, char *text, size_t size)
{
    loaded *const l = &all[number][type][activation];
    const int state = atomic_load_explicit(&l->state, memory_order_acquire);
    const unsigned long long calls = atomic_load(&l->calls), passed = atomic_load(&l->passed);
    if ((state == UNTRIED && passed == 0) || (*line)-- > 0) return false;
    snprintf(text, size, "%d\t%llu\t%llu\t%s%s%s\t%s\t%s\t%s", number, calls, passed, type_names[type], WORD, activation_names[activation], state == THERE ? "default" : "torch",
             state == THERE ? "gate_gradients" : "", reason_of(l, state));
    return true;
}

bool gs_torch_gate_report(int *line, char *text, size_t size)
{
    pthread_once(&once, start);
    for (int number = 0; number < GS_TORCH_DEVICES; number++)
        for (int type = 0; type < TYPES; type++)
            for (int activation = GS_RELU; activation < ACTIVATIONS; activation++)
                if (report(number, type, activation, line, text, size)) return true;
    return false;
}

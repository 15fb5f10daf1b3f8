/* SPDX-License-Identifier: MIT
 * The gradients of the two inputs of a gate, D = activation(gate) * up, from the gradient of D: one kernel of ours (kernels/gate_gradients.cu). */
#ifndef GS_CUBLAS_GATE_GRADIENTS_H
#define GS_CUBLAS_GATE_GRADIENTS_H

#include <gemmsmith/plan.h>

#include "device/device.h"

typedef struct gs_gate_gradients {
    gs_device  *device;
    gs_module   module;
    gs_function function;
} gs_gate_gradients;

/* Compiles and loads the kernel. type: f16, bf16; activation: relu, gelu, gelu_erf, silu. COMPILE, NO_COMPILER, MEMORY. Close it also after a failure. */
gs_status gs_gate_gradients_open(gs_gate_gradients *gates, gs_device *device, gs_type type, gs_activation activation, gs_error *error);
void      gs_gate_gradients_close(gs_gate_gradients *gates);

/* Puts the kernel on the queue. gradient: of D, M x N; kept: gate and up, M x 2N, the gate's N columns first; result: their gradients in the same order, overlapping
 * neither. All packed, in device memory. Any number of threads may call it. */
gs_status gs_gate_gradients_run(const gs_gate_gradients *gates, int64_t m, int64_t n, const void *gradient, const void *kept, void *result, gs_queue queue, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * The gradients of both inputs of a gate, D = activation(gate) * up, by one kernel (kernels/gate_gradients.cu). */
#ifndef GS_TORCH_GATE_H
#define GS_TORCH_GATE_H

#include <gemmsmith/plan.h>

#include "torch/form.h"

/* None may be NULL. All are f16 or all bf16, matrices whose rows have adjacent elements. */
typedef struct gs_torch_gate {
    const gs_torch_tensor *gradient;     /* of D: M x N */
    const gs_torch_tensor *kept;         /* gate and up: M x 2N */
    const gs_torch_tensor *result;       /* their gradients, in the same order: M x 2N; overlaps neither */
    gs_activation          activation;   /* neither NONE nor a gradient */
} gs_torch_gate;

/* Puts the kernel on the stream. emulated: the tensors are in host memory, and it has finished when this returns. GS_TORCH_FITS: done. Anything else: nothing was
 * launched. The kernel for a type and an activation is compiled by the first call that needs it, never while its stream is being captured. */
gs_torch_reason gs_torch_gate_run(int device, const gs_torch_gate *gate, gs_stream stream, bool emulated);

/* Whether the text names the gradients of a gate as in why(): "bf16:gate_gradients:silu". */
bool gs_torch_is_gate(const char *text);

/* Compiles the kernel that such a text names. why: what is used, also if that is torch's own kernels. PARSE, RANGE: no such device. */
gs_status gs_torch_gate_prepare(int device, const char *gate, bool emulated, char *why, size_t size, gs_error *error);

/* As gs_torch_report, with a line for each kernel that was requested. */
bool gs_torch_gate_report(int *line, char *text, size_t size);

#endif

/* SPDX-License-Identifier: MIT
 * Both gradients of a gate, D = activation(gate) * up, by one kernel (kernels/gate_gradients.cu). */
#ifndef GS_TORCH_GATE_H
#define GS_TORCH_GATE_H

#include <gemmsmith/plan.h>

#include "torch/form.h"

/* NULL is no tensor here. All are f16 or all bf16, matrices whose rows have no gaps between their elements. */
typedef struct gs_torch_gate {
    const gs_torch_tensor *gradient;     /* of D: M x N */
    const gs_torch_tensor *kept;         /* gate and up: M x 2N */
    const gs_torch_tensor *result;       /* their gradients, in the same order: M x 2N; it overlaps neither */
    gs_activation          activation;   /* no gradient, and not none */
} gs_torch_gate;

/* Puts it on the stream; emulated: the tensors are on the host, and it is done when this returns. GS_TORCH_FITS: it is there. Anything else: nothing was put there. The
 * kernel of a type and an activation is compiled by the first call that asks for it, never while its stream is being captured. */
gs_torch_reason gs_torch_gate_run(int device, const gs_torch_gate *gate, gs_stream stream, bool emulated);

/* Whether a text names the gradients of a gate, as why() does: "bf16:gate_gradients:silu". */
bool gs_torch_is_gate(const char *text);

/* Compiles the kernel that such a text names, now. why: what is used, also where that is torch's own kernels. PARSE, RANGE: there is no such device. */
gs_status gs_torch_gate_prepare(int device, const char *gate, bool emulated, char *why, size_t size, gs_error *error);

/* As gs_torch_report, a line for each kernel that was asked for. */
bool gs_torch_gate_report(int *line, char *text, size_t size);

#endif

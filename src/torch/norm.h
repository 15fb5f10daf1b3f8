/* SPDX-License-Identifier: MIT
 * RMS norms by one kernel (kernels/rms_norm.cu). */
#ifndef GS_TORCH_NORM_H
#define GS_TORCH_NORM_H

#include <gemmsmith/plan.h>

#include "torch/form.h"

/* All are f16 or all bf16. */
typedef struct gs_torch_norm {
    const gs_torch_tensor *x;        /* M x N; elements of a row are adjacent */
    const gs_torch_tensor *weight;   /* N adjacent elements; NULL: no multiplication */
    const gs_torch_tensor *result;   /* M x N, packed; it is x or overlaps nothing */
    float                  eps, offset;   /* offset: added to the weight */
    bool                   rounds;   /* the quotient is also rounded before it is multiplied by the weight */
} gs_torch_norm;

/* Puts result = x / sqrt(mean(x * x) + eps) * (weight + offset) on the stream; as gs_torch_gate_run. */
gs_torch_reason gs_torch_norm_run(int device, const gs_torch_norm *norm, gs_stream stream, bool emulated);

/* Whether the text names a norm as in why(): "bf16:rms_norm", or "bf16:rms_norm:rounded". */
bool gs_torch_is_norm(const char *text);

/* As gs_torch_gate_prepare and gs_torch_gate_report. */
gs_status gs_torch_norm_prepare(int device, const char *norm, bool emulated, char *why, size_t size, gs_error *error);
bool      gs_torch_norm_report(int *line, char *text, size_t size);

#endif

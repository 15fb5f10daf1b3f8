/* SPDX-License-Identifier: MIT
 * RMS normalisation of rows: one kernel of ours (kernels/rms_norm.cu). A dependent launch after it may load operands that do not depend on it before it has ended. */
#ifndef GS_CUBLAS_RMS_NORM_H
#define GS_CUBLAS_RMS_NORM_H

#include <gemmsmith/plan.h>

#include "device/device.h"

typedef struct gs_rms_norm {
    gs_device  *device;
    gs_module   module;
    gs_function function;
    bool        chains;   /* its launches are dependent after a kernel that lets the next one begin early */
} gs_rms_norm;

/* Compiles and loads the kernel. type: f16, bf16, of all operands; rounds: the quotient is also rounded to that type before it is multiplied by the weight. COMPILE,
 * NO_COMPILER, MEMORY, PARSE of $GEMMSMITH_DEPENDENT. Close it also after a failure. */
gs_status gs_rms_norm_open(gs_rms_norm *norm, gs_device *device, gs_type type, bool rounds, gs_error *error);
void      gs_rms_norm_close(gs_rms_norm *norm);

/* Puts result = x / sqrt(mean(x * x) + eps) * (weight + offset) on the queue, computed in f32, with the mean over a row. x: M x N, rows ldx elements apart; weight: N
 * elements, or NULL for no multiplication; result: M x N, packed; it may be x, and overlaps nothing else. All in device memory. m, n: 1 to 2^31 - 1. Any number of
 * threads may call it. */
gs_status gs_rms_norm_run(const gs_rms_norm *norm, int64_t m, int64_t n, const void *x, int64_t ldx, const void *weight, float offset, float eps, void *result, gs_queue queue, gs_error *error);

#endif

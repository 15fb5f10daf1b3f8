/* SPDX-License-Identifier: MIT
 * An epilogue that cuBLASLt does not support: one kernel (kernels/finish.cu) that runs after cuBLASLt's product, reads it and writes D. */
#ifndef GS_CUBLAS_FINISHING_H
#define GS_CUBLAS_FINISHING_H

#include <gemmsmith/plan.h>

#include "device/device.h"

typedef struct gs_finishing {
    gs_device  *device;
    gs_problem  problem;
    gs_module   module;
    gs_function function, sums;      /* sums: adds up the column sums for the gradient of a bias, after function */
} gs_finishing;

/* The type of the product: D's; with scales f32, because they multiply the sum before it is rounded, except for f16 accumulation. */
static inline gs_type gs_finishing_type(const gs_problem *problem) { return problem->scales && problem->acc == GS_F32 ? GS_F32 : problem->out; }

/* Compiles and loads the kernel for a problem's epilogue. COMPILE, NO_COMPILER, MEMORY. Close it also after a failure. */
gs_status gs_finishing_open(gs_finishing *finishing, gs_device *device, const gs_problem *problem, gs_error *error);
void      gs_finishing_close(gs_finishing *finishing);

/* Bytes of workspace for column sums, beside the product; aligned to 256. */
size_t gs_finishing_bytes(const gs_problem *problem);

/* Puts the kernel on the queue. product: M x N, with a gate M x 2N, rows ld elements and matrices of the batch stride elements apart; may be args->d with ldd. sums:
 * gs_finishing_bytes of workspace. args->beta is used with a residual and with scales; with scales the product is that of A and B alone, so args->alpha is used as
 * well. Any number of threads may call it. */
gs_status gs_finishing_run(const gs_finishing *finishing, const void *product, int64_t ld, int64_t stride, void *sums, const gs_args *args, gs_queue queue, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * What follows a product of cuBLASLt whose epilogue it cannot have: one kernel (kernels/finish.cu), which reads the product and writes D. */
#ifndef GS_CUBLAS_FINISHING_H
#define GS_CUBLAS_FINISHING_H

#include <gemmsmith/plan.h>

#include "device/device.h"

typedef struct gs_finishing {
    gs_device  *device;
    gs_problem  problem;
    gs_module   module;
    gs_function function, sums;      /* sums: of the gradient of a bias, behind it */
} gs_finishing;

/* The type of the product: D's, but with scales f32, which are factors of a sum before it is rounded; f16 sums are f16 anyway. */
static inline gs_type gs_finishing_type(const gs_problem *problem) { return problem->scales && problem->acc == GS_F32 ? GS_F32 : problem->out; }

/* Compiles and loads the kernel for a problem's epilogue. COMPILE, NO_COMPILER, MEMORY. Free it in any case. */
gs_status gs_finishing_open(gs_finishing *finishing, gs_device *device, const gs_problem *problem, gs_error *error);
void      gs_finishing_close(gs_finishing *finishing);

/* Bytes that it needs beside the product, aligned to 256: the sums of D's columns. */
size_t gs_finishing_bytes(const gs_problem *problem);

/* Puts it on the queue. product: M x N, with a gate M x 2N, rows ld elements apart, matrices of the batch stride; it may be args->d with ldd. args->beta counts with a residual and with scales, with which the product is that of A and B alone, and args->alpha counts as well. sums: so many bytes as gs_finishing_bytes says. Any number of
 * threads may call it. */
gs_status gs_finishing_run(const gs_finishing *finishing, const void *product, int64_t ld, int64_t stride, void *sums, const gs_args *args, gs_queue queue, gs_error *error);

#endif

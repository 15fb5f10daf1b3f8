/* SPDX-License-Identifier: MIT
 * The kernels that torch's dispatcher calls. */
#ifndef GS_TORCH_KERNELS_H
#define GS_TORCH_KERNELS_H

#include "torch/shim.h"

typedef struct gs_torch_named { const char *name; gs_torch_kernel kernel; } gs_torch_named;

/* Replacements of torch's own kernels (namespace aten), and our operators (namespace gemmsmith); each list ends with a NULL name. */
extern const gs_torch_named gs_torch_aten[];
extern const gs_torch_named gs_torch_own[];

/* Call it before any kernel runs. shim: borrowed, must stay valid. */
void gs_torch_kernels_use(const gs_torch_shim *shim, bool emulated);

#endif

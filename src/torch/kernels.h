/* SPDX-License-Identifier: MIT
 * The kernels that torch's dispatcher calls. */
#ifndef GS_TORCH_KERNELS_H
#define GS_TORCH_KERNELS_H

#include "torch/shim.h"

typedef struct gs_torch_named { const char *name; gs_torch_kernel kernel; } gs_torch_named;

/* What takes the place of torch's own (space aten), and operators of ours (space gemmsmith); each ends with a name of NULL. */
extern const gs_torch_named gs_torch_aten[];
extern const gs_torch_named gs_torch_own[];

/* Before any kernel is called. shim: stays. */
void gs_torch_kernels_use(const gs_torch_shim *shim, bool emulated);

#endif

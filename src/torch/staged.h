/* SPDX-License-Identifier: MIT
 * A run on an emulated device, whose memory is not torch's: operands are copied there and the result back. For tests on machines without a GPU. */
#ifndef GS_TORCH_STAGED_H
#define GS_TORCH_STAGED_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "torch/form.h"

/* One call at a time. What lies between the rows of the result stays as it is. */
gs_status gs_torch_run_staged(gs_device *device, const gs_plan *plan, const gs_torch_pointers *pointers, float alpha, float beta, gs_error *error);

#endif

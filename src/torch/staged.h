/* SPDX-License-Identifier: MIT
 * Runs on an emulated device, which has its own memory: operands are copied in and out. */
#ifndef GS_TORCH_STAGED_H
#define GS_TORCH_STAGED_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "torch/form.h"

typedef struct gs_torch_staged_operand {
    void      *host;      /* NULL: no such operand */
    size_t     bytes;
    bool       written;   /* copied back after the run */
    gs_pointer there;     /* address on the device; 0 before it is allocated */
} gs_torch_staged_operand;

/* Copies the operands to the device, calls `run` with them, waits, and copies the written ones back. */
gs_status gs_torch_staged(gs_device *device, gs_torch_staged_operand *operands, int count, gs_status (*run)(const void *self, const gs_torch_staged_operand *operands, gs_error *error),
                          const void *self, gs_error *error);

/* Runs the plan on operands in host memory. */
gs_status gs_torch_run_staged(gs_device *device, const gs_plan *plan, const gs_torch_pointers *pointers, float alpha, float beta, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Runs on an emulated device, whose memory is its own: operands are copied to and fro. */
#ifndef GS_TORCH_STAGED_H
#define GS_TORCH_STAGED_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "torch/form.h"

typedef struct gs_torch_staged_operand {
    void      *host;      /* NULL: there is none */
    size_t     bytes;
    bool       written;   /* it is copied back */
    gs_pointer there;     /* 0 before */
} gs_torch_staged_operand;

/* Copies the operands to the device, calls `run` with them, waits, and copies what is written back. */
gs_status gs_torch_staged(gs_device *device, gs_torch_staged_operand *operands, int count, gs_status (*run)(const void *self, const gs_torch_staged_operand *operands, gs_error *error),
                          const void *self, gs_error *error);

/* Runs the plan; the addresses are the host's. */
gs_status gs_torch_run_staged(gs_device *device, const gs_plan *plan, const gs_torch_pointers *pointers, float alpha, float beta, gs_error *error);

#endif

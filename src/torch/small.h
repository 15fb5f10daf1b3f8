/* SPDX-License-Identifier: MIT
 * Kernels of ours that are no product: compiled by the first call that asks for one, counted, and left to torch where they cannot be had. */
#ifndef GS_TORCH_SMALL_H
#define GS_TORCH_SMALL_H

#include <stdatomic.h>
#include <gemmsmith/plan.h>

#include "device/device.h"
#include "torch/form.h"
#include "torch/staged.h"

/* One kernel on one device, as long as the process. All zero: nobody asked for it yet. */
typedef struct gs_torch_small {
    atomic_int    state;
    atomic_ullong calls, passed;   /* run; left to torch although it was asked for */
    gs_device    *device;          /* once it is there */
    char          why[200];        /* it is missing */
} gs_torch_small;

enum { GS_TORCH_SMALL_OPERANDS = 3 };

/* How a kernel is made and launched. `call` is the caller's own, and says which kernel it is. */
typedef struct gs_torch_small_kernel {
    const char *what;   /* is left to torch, for the log: "norms are" */
    gs_status (*open)(void *call, gs_device *device, gs_error *error);   /* compiles and loads it; after a failure nothing of it is left */
    gs_status (*launch)(const void *call, void *const at[GS_TORCH_SMALL_OPERANDS], gs_stream stream, gs_error *error);
} gs_torch_small_kernel;

/* Puts it on the stream, its operands where their `host` says; emulated: these are copied to and fro, and it is done when this returns. FITS: it is there. NO_PLAN: the kernel is not loaded, and
 * the stream is being captured, or another thread compiles it now. NO_GPU, FORKED, RUN: it cannot be had, or failed. number: the device's, below GS_TORCH_DEVICES. Counts the call. */
gs_torch_reason gs_torch_small_run(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, gs_torch_staged_operand operands[GS_TORCH_SMALL_OPERANDS], gs_stream stream,
                                   bool emulated);

/* Compiles and loads it now. text: what is used: `there`, or that it is torch's own kernels, and why. */
void gs_torch_small_prepare(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, bool emulated, const char *there, char *text, size_t size);

/* As gs_torch_report: its line, if somebody asked for it and *line is 0, which is else counted down. `there`: the reason where the kernel is there. */
bool gs_torch_small_report(gs_torch_small *small, int number, const char *name, const char *kernel, const char *there, int *line, char *text, size_t size);

/* The place of a name among `count`; -1: it is none of them. */
int gs_torch_small_place(const char *name, size_t length, const char *const *names, int count);

#endif

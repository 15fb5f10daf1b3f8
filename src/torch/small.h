/* SPDX-License-Identifier: MIT
 * Our kernels other than products: compiled by the first call that needs one, counted, and left to torch if they are not available. */
#ifndef GS_TORCH_SMALL_H
#define GS_TORCH_SMALL_H

#include <stdatomic.h>
#include <gemmsmith/plan.h>

#include "device/device.h"
#include "torch/form.h"
#include "torch/staged.h"

/* One kernel on one device; exists as long as the process. All zero: not requested yet. */
typedef struct gs_torch_small {
    atomic_int    state;
    atomic_ullong calls, passed;   /* calls that it ran; calls left to torch although it was requested */
    gs_device    *device;          /* valid once it is loaded */
    char          why[200];        /* why it is missing */
} gs_torch_small;

enum { GS_TORCH_SMALL_OPERANDS = 3 };

/* How a kernel is compiled and launched. `call` belongs to the caller and says which kernel is meant. */
typedef struct gs_torch_small_kernel {
    const char *what;   /* subject of the log line "... left to torch": "norms are" */
    gs_status (*open)(void *call, gs_device *device, gs_error *error);   /* compiles and loads it; frees everything after a failure */
    gs_status (*launch)(const void *call, void *const at[GS_TORCH_SMALL_OPERANDS], gs_stream stream, gs_error *error);
} gs_torch_small_kernel;

/* Puts the kernel on the stream with operands at their `host` addresses; emulated: the operands are copied in and out, and it has finished when this returns. FITS:
 * done. NO_PLAN: the kernel is not loaded, and the stream is being captured or another thread is compiling it. NO_GPU, FORKED, RUN: not available, or failed. number:
 * the device's, below GS_TORCH_DEVICES. Counts the call. */
gs_torch_reason gs_torch_small_run(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, gs_torch_staged_operand operands[GS_TORCH_SMALL_OPERANDS], gs_stream stream,
                                   bool emulated);

/* Compiles and loads it now. text: what is used: `there`, or torch's own kernels and why. */
void gs_torch_small_prepare(gs_torch_small *small, const gs_torch_small_kernel *kernel, void *call, int number, bool emulated, const char *there, char *text, size_t size);

/* As gs_torch_report: writes this kernel's line if it was requested and *line is 0; otherwise decrements *line if it was requested. `there`: the reason to print if
 * the kernel is loaded. */
bool gs_torch_small_report(gs_torch_small *small, int number, const char *name, const char *kernel, const char *there, int *line, char *text, size_t size);

/* Index of a name in a list of `count` names; -1: not found. */
int gs_torch_small_place(const char *name, size_t length, const char *const *names, int count);

#endif

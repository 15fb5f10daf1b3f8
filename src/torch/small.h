/* SPDX-License-Identifier: MIT
 * Kernels of ours that are no product: compiled by the first call that asks for one, counted, and left to torch where they cannot be had. */
#ifndef GS_TORCH_SMALL_H
#define GS_TORCH_SMALL_H

#include <stdatomic.h>
#include <gemmsmith/plan.h>

#include "device/device.h"
#include "torch/form.h"

/* One kernel on one device, as long as the process. All zero: nobody asked for it yet. */
typedef struct gs_torch_small {
    atomic_int    state;
    atomic_ullong calls, passed;   /* run; left to torch although it was asked for */
    gs_device    *device;          /* once it is there */
    char          why[200];        /* it is missing */
} gs_torch_small;

/* Compiles and loads the kernel into `self`; after a failure nothing of it is left. */
typedef gs_status (*gs_torch_small_open)(void *self, gs_device *device, gs_error *error);

/* FITS: the kernel is there. NO_PLAN: the stream is being captured, or another thread compiles it now. NO_GPU, FORKED, RUN: it cannot be had. number: the device's, below GS_TORCH_DEVICES; stream: NULL
 * where a call may compile in any case; what: what is left to torch, for the log. */
gs_torch_reason gs_torch_small_ready(gs_torch_small *small, void *self, gs_torch_small_open open, int number, const gs_stream *stream, bool emulated, const char *what);

/* Counts a call that had this outcome, which it returns. */
gs_torch_reason gs_torch_small_count(gs_torch_small *small, gs_torch_reason reason);

/* What is used, for whoever prepared it with this outcome: `there`, or that it is torch's own kernels, and why. */
void gs_torch_small_say(const gs_torch_small *small, gs_torch_reason reason, const char *there, char *text, size_t size);

/* As gs_torch_report: its line, if somebody asked for it and *line is 0, which is else counted down. `there`: the reason where the kernel is there. */
bool gs_torch_small_report(gs_torch_small *small, int number, const char *name, const char *kernel, const char *there, int *line, char *text, size_t size);

/* The place of a name among `count`; -1: it is none of them. */
int gs_torch_small_place(const char *name, size_t length, const char *const *names, int count);

#endif

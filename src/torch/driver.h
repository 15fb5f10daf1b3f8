/* SPDX-License-Identifier: MIT
 * The driver functions that the adapter calls itself: whether a stream is being captured, and what a thread may do while another thread captures. */
#ifndef GS_TORCH_DRIVER_H
#define GS_TORCH_DRIVER_H

#include <stdint.h>
#include <gemmsmith/plan.h>

/* 0: the stream is not being captured; else the id of the capture. If that cannot be determined, the stream counts as captured, with id 1. */
uint64_t gs_torch_capture(gs_stream stream);

/* Between gs_torch_step_aside and gs_torch_step_back a plan may be made even if another thread captures; the thread's current context is restored afterwards. */
typedef struct gs_torch_aside { void *context; int mode; } gs_torch_aside;
void gs_torch_step_aside(gs_torch_aside *state);
void gs_torch_step_back(const gs_torch_aside *state);

#endif

/* SPDX-License-Identifier: MIT
 * The few calls of the driver that the adapter makes itself: whether a stream is captured, and what a thread may do while another one captures. */
#ifndef GS_TORCH_DRIVER_H
#define GS_TORCH_DRIVER_H

#include <stdint.h>
#include <gemmsmith/plan.h>

/* 0: the stream is not captured; else the capture's number. What cannot be asked counts as captured, by number 1. */
uint64_t gs_torch_capture(gs_stream stream);

/* Between both a plan may be made although another thread captures, and the thread's current context stays what it was. */
typedef struct gs_torch_aside { void *context; int mode; } gs_torch_aside;
void gs_torch_step_aside(gs_torch_aside *state);
void gs_torch_step_back(const gs_torch_aside *state);

#endif

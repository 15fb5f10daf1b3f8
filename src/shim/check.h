/* SPDX-License-Identifier: MIT
 * Mode check: what a plan gave beside what the real function gives. */
#ifndef GS_SHIM_CHECK_H
#define GS_SHIM_CHECK_H

#include "shim/shim.h"

/* A call that was served, to be made once more: with C and D elsewhere. What cuBLAS says. */
typedef int gs_shim_again(const void *call, const void *c, void *d);

/* gs_shim_run, and the real function's result of the same, in memory of our own, compared with it: a line in the log for each call that differs by more than
 * rounding explains. Waits for the device. While the stream is captured nothing is compared. */
gs_shim_reason gs_shim_check(gs_shim_place *place, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_shim_function via, gs_shim_again *again,
                             const void *call);

#endif

/* SPDX-License-Identifier: MIT
 * Mode check: compares a plan's result with the real function's. */
#ifndef GS_SHIM_CHECK_H
#define GS_SHIM_CHECK_H

#include "shim/shim.h"

/* Calls the real function with the arguments of a served call, but other C and D. Returns cuBLAS's status. */
typedef int gs_shim_again(const void *call, const void *c, void *d);

/* gs_shim_run, then the real function into memory of our own, and a comparison: each call whose results differ by more than rounding explains is logged. Waits for the
 * device. While the stream is being captured nothing is compared. */
gs_shim_reason gs_shim_check(gs_shim_place *place, const gs_problem *problem, const gs_args *args, gs_stream stream, gs_shim_function via, gs_shim_again *again,
                             const void *call);

#endif

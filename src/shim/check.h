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

/* Whether two results of one element differ by no more than the order of its sum explains. added: |beta C|, 0 if there is no C. products: |alpha| |x| |y| (check.c). An
 * infinity beside a finite number is taken for the largest number of D's type, unless the accumulator has 16 bits and a partial sum may have overflowed. */
bool gs_shim_is_near(const gs_problem *problem, double own, double real, double added, double products);

#endif

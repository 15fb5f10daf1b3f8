/* SPDX-License-Identifier: MIT
 * The contenders that are not ours: cublasGemmEx, cuBLASLt by heuristic, cuBLASLt auto-tuned. Each for the problem's own
 * layout; a comparison over both layouts is two problems. Every status is checked; outputs are verified like ours.
 *
 *     cublas                 cublasGemmEx, CUBLAS_GEMM_DEFAULT, 64 MiB workspace
 *     cublaslt-heuristic     the first suggestion
 *     cublaslt-autotuning    every suggestion (up to 100 asked for), the fastest kept by paired, interleaved, cold timing; where a problem has groups
 *                            the fastest of the three below
 *
 * Of groups, whose sizes must be known to the host (gs_contender.expect):
 *
 *     cublas-groups          cublasGemmGroupedBatchedEx
 *     cublaslt-groups        a cublasLtMatmul for each group that has rows, auto-tuned for about its number of rows, one behind the other
 *     cublaslt-groups-8      the same in eight branches that run at once */
#ifndef GS_BASELINE_BASELINE_H
#define GS_BASELINE_BASELINE_H

#include "loaded/contender.h"

#define GS_BASELINES 6
extern const char *const gs_baseline_names[GS_BASELINES];

/* Times the prepared contenders of one problem against each other, for auto-tuning: fills us[] with the median device time.
 * Provided by whoever sits above (src/bench), so that baseline does not depend on its sibling. */
typedef gs_status (*gs_pick_function)(gs_device *device, const gs_problem *problem, gs_contender *list, int count, double *us,
                                      gs_error *error);

/* pick: what cublaslt-autotuning and cublaslt-groups (-8) time with; NULL: they cannot be prepared, the others can. NO_LIBRARY (also: an emulated device),
 * NOT_FOUND (no such name), MEMORY. */
gs_status gs_baseline_create(gs_contender *out, gs_device *device, const char *name, gs_pick_function pick, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT
 * Contenders that call NVIDIA's libraries: cublasGemmEx, cuBLASLt by heuristic, cuBLASLt auto-tuned. Each computes the problem's own layout; a comparison over two
 * layouts is two problems. Every status is checked; outputs are verified like ours.
 *
 *     cublas                 cublasGemmEx, CUBLAS_GEMM_DEFAULT, 64 MiB workspace
 *     cublaslt-heuristic     the first suggestion
 *     cublaslt-autotuning    the fastest of all suggestions (up to 100 requested), by paired, interleaved, cold timing; for a problem with groups
 *                            the fastest of the three below
 *
 * For groups, whose sizes must be known on the host (gs_contender.expect):
 *
 *     cublas-groups          cublasGemmGroupedBatchedEx
 *     cublaslt-groups        a cublasLtMatmul for each group that has rows, one after the other, each auto-tuned for about its number of rows
 *     cublaslt-groups-8      the same in eight concurrent branches */
#ifndef GS_BASELINE_BASELINE_H
#define GS_BASELINE_BASELINE_H

#include "loaded/contender.h"

#define GS_BASELINES 6
extern const char *const gs_baseline_names[GS_BASELINES];

/* Times prepared contenders of one problem against each other, for auto-tuning: fills us[] with median device times. The caller provides it (src/bench), because
 * baseline must not depend on bench. */
typedef gs_status (*gs_pick_function)(gs_device *device, const gs_problem *problem, gs_contender *list, int count, double *us,
                                      gs_error *error);

/* pick: used by cublaslt-autotuning and cublaslt-groups (-8); NULL: these cannot be prepared, the others can. NO_LIBRARY (also: an emulated device), NOT_FOUND (no
 * such name), MEMORY. */
gs_status gs_baseline_create(gs_contender *out, gs_device *device, const char *name, gs_pick_function pick, gs_error *error);

#endif

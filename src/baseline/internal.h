/* SPDX-License-Identifier: MIT
 * Inside src/baseline: the contenders by kind. */
#ifndef GS_BASELINE_INTERNAL_H
#define GS_BASELINE_INTERNAL_H

#include "baseline/baseline.h"

gs_status gs_baseline_cublas(gs_contender *out, gs_device *device, gs_error *error);
gs_status gs_baseline_cublaslt(gs_contender *out, gs_device *device, bool tune, gs_pick_function pick, gs_error *error);

#endif

/* SPDX-License-Identifier: MIT */
#include "baseline/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

const char *const gs_baseline_names[GS_BASELINES] = {"cublas", "cublaslt-heuristic", "cublaslt-autotuning", "cublas-groups", "cublaslt-groups",
                                                    "cublaslt-groups-8"};

gs_status gs_baseline_create(gs_contender *out, gs_device *device, const char *name, gs_pick_function pick, gs_error *error)
{
    *out = (gs_contender){0};
    bool known = false;
    for (int i = 0; i < GS_BASELINES; i++) known = known || !strcmp(name, gs_baseline_names[i]);
    if (known && device->caps.emulated)
        return gs_fail(error, GS_ERROR_NO_LIBRARY, "device", "%s is emulated: NVIDIA's libraries cannot run there", device->name);
    gs_status status;
    if (!strcmp(name, "cublas"))
        status = gs_baseline_cublas(out, device, error);
    else if (!strcmp(name, "cublaslt-heuristic"))
        status = gs_baseline_cublaslt(out, device, false, NULL, error);
    else if (!strcmp(name, "cublaslt-autotuning"))
        status = gs_baseline_reference(out, device, pick, error);
    else if (!strcmp(name, "cublas-groups"))
        status = gs_baseline_cublas_groups(out, device, error);
    else if (!strcmp(name, "cublaslt-groups"))
        status = gs_baseline_cublaslt_groups(out, device, 1, pick, error);
    else if (!strcmp(name, "cublaslt-groups-8"))
        status = gs_baseline_cublaslt_groups(out, device, GS_BRANCHES, pick, error);
    else
        return gs_fail(error, GS_ERROR_NOT_FOUND, NULL,
                       "no baseline is called \"%s\"; there are cublas, cublaslt-heuristic, cublaslt-autotuning, cublas-groups, cublaslt-groups and cublaslt-groups-8", name);
    if (status != GS_OK) return status;
    snprintf(out->name, sizeof out->name, "%s", name);
    out->any_order = out->rounds_products = true;
    out->bitwise = true;   /* NVIDIA documents this for one version, one GPU model and one stream */
    return GS_OK;
}

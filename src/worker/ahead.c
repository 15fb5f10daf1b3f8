/* SPDX-License-Identifier: MIT */
#include "worker/ahead.h"

#include "base/error.h"
#include "loaded/loaded.h"

gs_status gs_compile_ahead(const gs_caps *caps, const gs_problem *problem, const gs_schedule *schedule, const char *cache, gs_error *error)
{
    gs_kernel kernel;
    gs_kernel_source source;
    gs_image image = {0};
    GS_TRY(gs_schedule_check(schedule, problem, caps, error));
    GS_TRY(gs_kernel_build(&kernel, schedule, problem, caps, error));
    gs_kernel_to_source(&kernel, &source);
    source.source.ptx = caps->emulated;   /* part of the cache's key */
    const gs_status status = gs_compile_cached(caps->target, cache, &source.source, &image, error);
    gs_image_free(&image);
    return status;
}

/* SPDX-License-Identifier: MIT
 * Builds a schedule's kernel through its family. */
#include "kernel/kernel.h"

#include "base/error.h"
#include "schedule/family.h"

gs_status gs_kernel_build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                          gs_error *error)
{
    if (schedule->family >= GS_FAMILIES)
        return gs_fail(error, GS_ERROR_RANGE, "family", "no family has number %d", schedule->family);
    *kernel = (gs_kernel){0};
    const gs_family *const family = gs_families[schedule->family];
    GS_TRY(family->build(kernel, schedule, problem, caps, error));
    if (kernel->option_count > GS_MAX_OPTIONS)
        return gs_fail(error, GS_ERROR_RANGE, "options", "%s has an option that does not fit", family->name);
    return gs_manifest_check(&kernel->manifest, error);
}

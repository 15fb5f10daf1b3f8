/* SPDX-License-Identifier: MIT
 * The family "simple": kernels/simple.cu, one thread per element, any problem without an epilogue. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"

gs_status gs_kernel_build_simple(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                                 gs_error *error)
{
    (void)schedule;
    if (problem->epilogue != GS_EPILOGUE_NONE) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "simple has no epilogue");
    kernel->name = "simple.cu";
    kernel->source = gs_embedded_find("simple.cu");
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, "simple.cu", "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);

    const int in = (int)gs_type_size(problem->in), out = (int)gs_type_size(problem->out);
    gs_manifest *const manifest = &kernel->manifest;
    *manifest = (gs_manifest){.accumulator = problem->acc, .bitwise = true, .align = {in, in, out, out}, .entry_count = 1};
    gs_entry *const entry = &manifest->entry[0];
    *entry = (gs_entry){.block = {32, 8, 1}, .cluster = {1, 1, 1}, .dependent = caps->cc >= 90};
    snprintf(entry->name, sizeof entry->name, "gs_simple");
    GS_TRY(gs_formula_set(&entry->grid[0], "cdiv(m,8)", error));   /* only the first dimension may exceed 65535 */
    GS_TRY(gs_formula_set(&entry->grid[1], "min(cdiv(n,32),65535)", error));
    return gs_formula_set(&entry->grid[2], "min(batch,65535)", error);
}

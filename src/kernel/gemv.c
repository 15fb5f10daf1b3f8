/* SPDX-License-Identifier: MIT
 * Family gemv: schedule and problem -> kernels/gemv.cu with its defines and manifest. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

gs_status gs_kernel_build_gemv(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                             gs_error *error)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_GEMV_TILE);
    const int16_t *const ring = gs_schedule_value(schedule, GS_GEMV_RING);
    const int split = gs_schedule_value(schedule, GS_GEMV_SPLIT)[0];
    const gs_resources resources = gs_resources_gemv(schedule, problem, caps);
    const int out_bytes = (int)gs_type_size(problem->out);
    const bool swapped = gs_gemv_swapped(problem);

    kernel->name = "gemv.cu";
    kernel->source = gs_embedded_find(kernel->name);
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, kernel->name, "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_SWAP", swapped);
    gs_kernel_define(kernel, "GS_BATCH", problem->batch > 1);
    gs_kernel_define(kernel, "GS_ROWS", tile[0]);
    gs_kernel_define(kernel, "GS_COLS", tile[1]);
    gs_kernel_define(kernel, "GS_WARPS", gs_schedule_value(schedule, GS_GEMV_WARPS)[0]);
    gs_kernel_define(kernel, "GS_DEPTH", gs_schedule_value(schedule, GS_GEMV_DEPTH)[0]);
    gs_kernel_define(kernel, "GS_PREFETCH", ring[0]);
    gs_kernel_define(kernel, "GS_SHARED", ring[1]);
    gs_kernel_define(kernel, "GS_AHEAD", gs_schedule_value(schedule, GS_GEMV_AHEAD)[0]);
    gs_kernel_define(kernel, "GS_SPLIT", split);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);
    if (gs_schedule_value(schedule, GS_GEMV_SIZES)[0]) gs_kernel_define_sizes(kernel, problem);

    /* f16 accumulation would save nothing: sums are few. The wider accumulator serves both. */
    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = GS_F32;
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = 16;
    manifest->align[2] = manifest->align[3] = out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_gemv");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "cdiv(%c,%d)*%d", swapped ? 'm' : 'n', tile[1], split);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "min(batch,65535)", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "cdiv(batch,65535)", error));
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = split;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    return GS_OK;
}

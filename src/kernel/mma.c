/* SPDX-License-Identifier: MIT
 * Family mma: schedule and problem -> kernels/mma.cu with its defines and manifest. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

/* Elements per store of D: the widest that its rows allow, given an aligned pointer. */
static int store_vector(const gs_problem *problem)
{
    const int64_t size = (int64_t)gs_type_size(problem->out);
    int vector = (int)(16 / size);
    while (problem->ldd % vector) vector /= 2;
    return vector;
}

gs_status gs_kernel_build_mma(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                              gs_error *error)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_MMA_TILE);
    const int16_t *const warps = gs_schedule_value(schedule, GS_MMA_WARPS);
    const int16_t *const raster = gs_schedule_value(schedule, GS_MMA_RASTER);
    const gs_resources resources = gs_resources_mma(schedule, problem, caps);
    const int out_bytes = (int)gs_type_size(problem->out);
    const int vector = gs_problem_vector(problem);
    const int vector_d = store_vector(problem);

    kernel->name = "mma.cu";
    kernel->source = gs_embedded_find("mma.cu");
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, "mma.cu", "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_BK", tile[2]);
    gs_kernel_define(kernel, "GS_WM", warps[0]);
    gs_kernel_define(kernel, "GS_WN", warps[1]);
    gs_kernel_define(kernel, "GS_STAGES", gs_schedule_value(schedule, GS_MMA_STAGES)[0]);
    gs_kernel_define(kernel, "GS_GROUP", raster[0]);
    gs_kernel_define(kernel, "GS_ALONG_N", raster[1]);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);
    gs_kernel_define(kernel, "GS_VEC", vector);
    gs_kernel_define(kernel, "GS_VEC_D", vector_d);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = problem->acc;
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = vector * 2;
    manifest->align[2] = out_bytes;
    manifest->align[3] = vector_d * out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_mma");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "cdiv(m,%d)*cdiv(n,%d)", tile[0], tile[1]);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "min(batch,65535)", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "cdiv(batch,65535)", error));
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    entry->map_count = 0;
    return GS_OK;
}

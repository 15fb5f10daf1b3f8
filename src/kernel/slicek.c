/* SPDX-License-Identifier: MIT
 * Family slicek: schedule and problem -> kernels/slicek.cu with its defines and manifest. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

/* Elements per access of C or D: the widest that its rows allow, given an aligned pointer. */
static int vector_of(const gs_problem *problem, int64_t ld)
{
    int vector = 16 / (int)gs_type_size(problem->out);
    while (ld % vector) vector /= 2;
    return vector;
}

static void define_schedule(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_SLICEK_TILE);
    const int16_t *const warps = gs_schedule_value(schedule, GS_SLICEK_WARPS);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_WM", warps[0]);
    gs_kernel_define(kernel, "GS_WN", warps[1]);
    gs_kernel_define(kernel, "GS_WK", warps[2]);
    gs_kernel_define(kernel, "GS_DEPTH", gs_schedule_value(schedule, GS_SLICEK_DEPTH)[0]);
    gs_kernel_define(kernel, "GS_SPLIT", gs_schedule_value(schedule, GS_SLICEK_SPLIT)[0]);
    gs_kernel_define(kernel, "GS_FETCH", gs_schedule_value(schedule, GS_SLICEK_FETCH)[0]);
    if (gs_schedule_value(schedule, GS_SLICEK_SIZES)[0]) gs_kernel_define_sizes(kernel, problem);
}

static gs_status make_grid(gs_entry *entry, const gs_schedule *schedule, gs_error *error)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_SLICEK_TILE);
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "cdiv(m,%d)*%d", tile[0], gs_schedule_value(schedule, GS_SLICEK_SPLIT)[0]);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    snprintf(text, sizeof text, "cdiv(n,%d)", tile[1]);
    GS_TRY(gs_formula_set(&entry->grid[1], text, error));
    return gs_formula_set(&entry->grid[2], "batch", error);
}

gs_status gs_kernel_build_slicek(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                                 gs_error *error)
{
    const gs_resources resources = gs_resources_slicek(schedule, problem, caps);
    const int out_bytes = (int)gs_type_size(problem->out);
    const int vector_c = vector_of(problem, problem->ldc), vector_d = vector_of(problem, problem->ldd);

    kernel->name = "slicek.cu";
    kernel->source = gs_embedded_find("slicek.cu");
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, "slicek.cu", "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    define_schedule(kernel, schedule, problem);
    gs_kernel_define(kernel, "GS_VEC_C", vector_c);
    gs_kernel_define(kernel, "GS_VEC_D", vector_d);
    gs_kernel_define(kernel, "GS_BATCHED", problem->batch > 1);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = GS_F32;
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = 16;
    manifest->align[2] = problem->beta != 0 ? vector_c * out_bytes : out_bytes;
    manifest->align[3] = vector_d * out_bytes;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_slicek");
    GS_TRY(make_grid(entry, schedule, error));
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "%d", resources.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = resources.cluster;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = caps->cc >= 90;
    entry->map_count = 0;
    return GS_OK;
}

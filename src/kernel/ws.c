/* SPDX-License-Identifier: MIT
 * Family ws: schedule and problem -> kernels/ws.cu with its defines and manifest. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

static gs_map map_of(char operand, int inner, int outer)
{
    return (gs_map){.operand = operand, .inner = inner, .outer = outer, .swizzle = 128};
}

gs_status gs_kernel_build_ws(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                             gs_error *error)
{
    (void)caps;
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const int16_t *const raster = gs_schedule_value(schedule, GS_WS_RASTER);
    const int out_bytes = (int)gs_type_size(problem->out);
    const bool direct = gs_ws_direct(problem);
    const int blocks = cluster[0] * cluster[1];

    kernel->name = "ws.cu";
    kernel->source = gs_embedded_find(kernel->name);
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_STAGES", gs_schedule_value(schedule, GS_WS_STAGES)[0]);
    gs_kernel_define(kernel, "GS_CM", cluster[0]);
    gs_kernel_define(kernel, "GS_CN", cluster[1]);
    gs_kernel_define(kernel, "GS_GROUP", raster[0]);
    gs_kernel_define(kernel, "GS_ALONG_N", raster[1]);
    gs_kernel_define(kernel, "GS_CONSUMERS", gs_ws_consumers(schedule));
    gs_kernel_define(kernel, "GS_DIRECT", direct);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = problem->acc;
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = 16;
    manifest->align[2] = out_bytes;
    manifest->align[3] = direct ? out_bytes : 16;
    manifest->entry_count = 1;

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_ws");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "min(sms/%d,cdiv(cdiv(m,%d),%d)*cdiv(cdiv(n,%d),%d))*%d", blocks, tile[0], cluster[0], tile[1],
             cluster[1], blocks);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "1", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "1", error));
    snprintf(text, sizeof text, "%d", gs_ws_smem(schedule, problem));
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = (gs_ws_consumers(schedule) + 1) * 128;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = blocks;
    entry->cluster[1] = entry->cluster[2] = 1;

    /* Slices of a shared operand follow kernels/ws.cu: A by rows; B by rows (tn) or by k (nn). */
    entry->map[0] = map_of('a', 64, tile[0] / cluster[1]);
    entry->map[1] = problem->layout == GS_TN ? map_of('b', 64, tile[1] / cluster[0]) : map_of('b', 64, 64 / cluster[0]);
    entry->map[2] = map_of('d', 128 / out_bytes, 64);
    entry->map_count = direct ? 2 : 3;
    return GS_OK;
}

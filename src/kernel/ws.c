/* SPDX-License-Identifier: MIT
 * Family ws: schedule and problem -> kernels/ws.cu with its defines and manifest. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

static gs_map map_of(char operand, int inner, int outer, int swizzle)
{
    return (gs_map){.operand = operand, .inner = inner, .outer = outer, .swizzle = swizzle};
}

/* What a warp stores of a part: 16 along X, `wide` along Y. Rows of 32, 64 and 128 bytes are swizzled. */
static gs_map stored_map(const gs_ws_shape *shape, int wide, int out_bytes)
{
    const int columns = shape->swap_ab ? 16 : wide, row_bytes = columns * out_bytes;
    return map_of('d', columns, shape->swap_ab ? wide : 16, row_bytes == 128 || row_bytes == 64 || row_bytes == 32 ? row_bytes : 0);
}

/* Boxes follow kernels/ws.cu. A slice of an operand that a cluster shares: A by rows; B by rows (tn) or by k (nn). */
static void set_maps(gs_entry *entry, const gs_ws_shape *shape, const int16_t *tile, const int16_t *cluster, const gs_problem *problem)
{
    const int b_rows = tile[1] / cluster[0], tail = shape->wy % shape->chunk, out_bytes = (int)gs_type_size(problem->out);
    const int b_columns = shape->swap_ab || shape->wy % 64 == 0 ? 64 : 32;
    entry->map[0] = map_of('a', 64, tile[0] / cluster[1], 128);
    entry->map[1] = problem->layout == GS_TN ? map_of('b', 64, b_rows > 256 ? b_rows / 2 : b_rows, 128)
                                             : map_of('b', b_columns, 64 / cluster[0], 2 * b_columns);
    entry->map_count = 2;
    if (gs_ws_direct(problem)) return;
    entry->map[entry->map_count++] = stored_map(shape, shape->chunk, out_bytes);
    if (tail > 0) entry->map[entry->map_count++] = stored_map(shape, tail, out_bytes);
}

gs_status gs_kernel_build_ws(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                             gs_error *error)
{
    (void)caps;
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const int16_t *const raster = gs_schedule_value(schedule, GS_WS_RASTER);
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    const int out_bytes = (int)gs_type_size(problem->out);
    const bool direct = gs_ws_direct(problem);
    const int blocks = cluster[0] * cluster[1];

    kernel->name = "ws.cu";
    kernel->source = gs_embedded_find(kernel->name);
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", tile[0]);
    gs_kernel_define(kernel, "GS_BN", tile[1]);
    gs_kernel_define(kernel, "GS_SWAP_AB", shape.swap_ab);
    gs_kernel_define(kernel, "GS_WY", shape.wy);
    gs_kernel_define(kernel, "GS_STAGES", gs_schedule_value(schedule, GS_WS_STAGES)[0]);
    gs_kernel_define(kernel, "GS_CM", cluster[0]);
    gs_kernel_define(kernel, "GS_CN", cluster[1]);
    gs_kernel_define(kernel, "GS_GROUP", raster[0]);
    gs_kernel_define(kernel, "GS_ALONG_N", raster[1]);
    gs_kernel_define(kernel, "GS_CONSUMERS", shape.consumers);
    gs_kernel_define(kernel, "GS_MODE", shape.mode);
    gs_kernel_define(kernel, "GS_SLABS", shape.slabs);
    gs_kernel_define(kernel, "GS_FIRST", shape.first);
    gs_kernel_define(kernel, "GS_DIRECT", direct);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = problem->acc;
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = 16;
    manifest->align[2] = out_bytes;
    manifest->align[3] = direct ? out_bytes : 16;
    manifest->entry_count = 1;

    /* Clusters of four do not fill every group of multiprocessors: one that has to wait for another's end would double the time. */
    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_ws");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "min(%s%d%s,cdiv(cdiv(m,%d),%d)*cdiv(cdiv(n,%d),%d))*%d", blocks > 2 ? "max(sms/" : "sms/", blocks,
             blocks > 2 ? "-1,1)" : "", tile[0], cluster[0], tile[1], cluster[1], blocks);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "1", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "1", error));
    snprintf(text, sizeof text, "%d", shape.smem);
    GS_TRY(gs_formula_set(&entry->smem, text, error));
    entry->block[0] = (shape.consumers + 1) * 128;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = blocks;
    entry->cluster[1] = entry->cluster[2] = 1;
    entry->dependent = true;
    set_maps(entry, &shape, tile, cluster, problem);
    return GS_OK;
}

/* SPDX-License-Identifier: MIT
 * Family splitk: schedule and problem -> kernels/splitk.cu with its defines and manifest. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/grammar.h"

static gs_map map_of(char operand, int outer) { return (gs_map){.operand = operand, .inner = 64, .outer = outer, .swizzle = 128}; }

static void define(gs_kernel *kernel, const gs_splitk_shape *s, const gs_problem *problem, const gs_resources *resources)
{
    kernel->name = "splitk.cu";
    kernel->source = gs_embedded_find(kernel->name);
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_BM", s->bm);
    gs_kernel_define(kernel, "GS_BN", s->bn);
    gs_kernel_define(kernel, "GS_BK", s->bk);
    gs_kernel_define(kernel, "GS_STAGES", s->stages);
    gs_kernel_define(kernel, "GS_ORDER", s->swap_ab);
    gs_kernel_define(kernel, "GS_CM", s->cm);
    gs_kernel_define(kernel, "GS_CN", s->cn);
    gs_kernel_define(kernel, "GS_CK", s->ck);
    gs_kernel_define(kernel, "GS_TICKETS", s->tickets);
    gs_kernel_define(kernel, "GS_ROWS_A", s->rows_a);
    gs_kernel_define(kernel, "GS_ROWS_B", s->rows_b);
    gs_kernel_define(kernel, "GS_WALK_N", s->tiles_n < s->tiles_m);
    gs_kernel_define(kernel, "GS_VECTOR", !gs_splitk_direct(problem));
    gs_kernel_define(kernel, "GS_BLOCKS", resources->blocks_sm);
    if (s->fixed) gs_kernel_define_sizes(kernel, problem);
}

/* Slices of the tiles, by tile, ticket and rank along K, behind a counter for each slice of a tile. */
static gs_status set_workspace(gs_manifest *manifest, const gs_splitk_shape *s, gs_error *error)
{
    char text[GS_FORMULA];
    if (s->tickets == 1) return GS_OK;
    snprintf(text, sizeof text, "cdiv(cdiv(m,%d)*cdiv(n,%d)*%d,128)*128", s->bm, s->bn, s->ck * 4);
    GS_TRY(gs_formula_set(&manifest->zeroed, text, error));
    snprintf(text, sizeof text, "cdiv(cdiv(m,%d)*cdiv(n,%d)*%d,128)*128+cdiv(m,%d)*cdiv(n,%d)*%d", s->bm, s->bn, s->ck * 4, s->bm, s->bn,
             s->shares * s->slice_bytes);
    return gs_formula_set(&manifest->workspace, text, error);
}

gs_status gs_kernel_build_splitk(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                             gs_error *error)
{
    const gs_splitk_shape s = gs_splitk_shape_of(schedule, problem);
    const gs_resources resources = gs_resources_splitk(schedule, problem, caps);
    const bool direct = gs_splitk_direct(problem), along_n = s.tiles_n < s.tiles_m;   /* the shorter side runs fastest */
    const int out_bytes = (int)gs_type_size(problem->out);
    define(kernel, &s, problem, &resources);

    gs_manifest *const manifest = &kernel->manifest;
    manifest->accumulator = GS_F32;   /* also where f16 would do: it is as fast, and a tile's accumulators fit */
    manifest->bitwise = true;
    manifest->align[0] = manifest->align[1] = 16;
    manifest->align[2] = out_bytes;
    manifest->align[3] = direct ? out_bytes : problem->out == GS_F32 ? 8 : 16;
    manifest->entry_count = 1;
    GS_TRY(set_workspace(manifest, &s, error));

    gs_entry *const entry = &manifest->entry[0];
    snprintf(entry->name, sizeof entry->name, "gs_splitk");
    char text[3][GS_FORMULA];
    snprintf(text[along_n], sizeof text[0], "cdiv(m,%d)", s.bm);
    snprintf(text[!along_n], sizeof text[0], "cdiv(n,%d)", s.bn);
    snprintf(text[2], sizeof text[0], "%d", s.shares);
    for (int i = 0; i < 3; i++) GS_TRY(gs_formula_set(&entry->grid[i], text[i], error));
    snprintf(text[0], sizeof text[0], "%d", s.smem);
    GS_TRY(gs_formula_set(&entry->smem, text[0], error));
    entry->block[0] = resources.threads;
    entry->block[1] = entry->block[2] = 1;
    entry->cluster[0] = along_n ? s.cn : s.cm;
    entry->cluster[1] = along_n ? s.cm : s.cn;
    entry->cluster[2] = s.ck;
    entry->dependent = true;
    entry->map[0] = map_of('a', s.rows_a);
    entry->map[1] = map_of('b', problem->layout == GS_TN ? s.rows_b : s.bk);
    entry->map_count = 2;
    return GS_OK;
}

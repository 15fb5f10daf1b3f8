/* SPDX-License-Identifier: MIT
 * Copies of A and B in the workspace. */
#include "family/pack.h"

#include <stdio.h>

#include "base/error.h"

const gs_parameter_value gs_rows_values[2] = {{"given", {0}}, {"pack", {1}}};

static bool packs_a(const gs_problem *problem) { return problem->lda % 16 != 0; }
static bool packs_b(const gs_problem *problem) { return problem->ldb % 16 != 0; }

gs_status gs_pack_check(bool pack, const gs_problem *problem, gs_error *error)
{
    if (pack && !packs_a(problem) && !packs_b(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "rows of A and B start at multiples of 32 bytes: nothing is to be copied");
    if (!pack && (problem->lda % 8 || problem->ldb % 8))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, problem->lda % 8 ? "lda" : "ldb",
                       "tensor copies need rows of A and B that start at multiples of 16 bytes, or that are packed first");
    return GS_OK;
}

double gs_pack_feed(bool pack, const gs_problem *problem, char operand, const gs_profile *profile)
{
    return !pack && (operand == 'a' ? packs_a(problem) : packs_b(problem)) ? profile->rates.pitch_feed : 1;
}

double gs_pack_cycles(const gs_problem *problem, const gs_profile *profile)
{
    static const double launch_us = 1.2, share = 0.8;   /* from that launch's end to the next one's start; of the memory's rate [judgement] */
    const double a = packs_a(problem) ? (double)problem->m * (double)problem->k : 0, b = packs_b(problem) ? (double)problem->n * (double)problem->k : 0;
    return (launch_us + (a + b) * 4 / (profile->caps.memory_gbs * 1e3 * share)) * profile->caps.clock_mhz;
}

/* Every row of a copy starts at a multiple of 128 bytes. */
static gs_status set_workspace(gs_manifest *manifest, gs_layout layout, gs_error *error)
{
    const char *const a = manifest->packed[0] ? "m*cdiv(k,64)*128" : "", *const b = !manifest->packed[1] ? "" : layout == GS_TN ? "n*cdiv(k,64)*128" : "k*cdiv(n,64)*128";
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "%s%s%s", a, *a && *b ? "+" : "", b);
    return gs_formula_set(&manifest->workspace, text, error);
}

static gs_status set_entry(gs_entry *entry, gs_error *error)
{
    enum { THREADS = 256, BLOCKS_SM = 8 };   /* as in kernels/common/pack.cuh: all that a multiprocessor holds */
    char text[GS_FORMULA];
    *entry = (gs_entry){.block = {THREADS, 1, 1}, .cluster = {1, 1, 1}, .dependent = true};
    snprintf(entry->name, sizeof entry->name, "gs_pack");
    snprintf(text, sizeof text, "sms*%d", BLOCKS_SM);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "1", error));
    return gs_formula_set(&entry->grid[2], "1", error);
}

gs_status gs_pack_build(gs_kernel *kernel, bool pack, const gs_problem *problem, gs_error *error)
{
    gs_manifest *const manifest = &kernel->manifest;
    manifest->packed[0] = pack && packs_a(problem);
    manifest->packed[1] = pack && packs_b(problem);
    for (int i = 0; i < 2; i++) manifest->align[i] = manifest->packed[i] ? 2 : 16;
    if (!pack) return GS_OK;
    gs_kernel_define(kernel, "GS_PACK_A", manifest->packed[0]);
    gs_kernel_define(kernel, "GS_PACK_B", manifest->packed[1]);
    GS_TRY(set_workspace(manifest, problem->layout, error));
    return set_entry(&manifest->entry[manifest->entry_count++], error);
}

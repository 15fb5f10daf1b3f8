/* SPDX-License-Identifier: MIT
 * Family toy: one block for each row of D, one thread for each column, to show and test how a family is added. Mirrors kernels/toy.cu. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

enum { GS_TOY_THREADS };

static const gs_parameter_value threads_values[] = {{"t32", {32}}, {"t64", {64}}, {"t128", {128}}};   /* threads of a block, which are columns of D */

static const gs_parameter parameters[] = {
    [GS_TOY_THREADS] = {"threads", GS_VALUES(threads_values)},
};

static int threads_of(const gs_schedule *schedule) { return gs_parameter_numbers(parameters, schedule, GS_TOY_THREADS)[0]; }

/* ---- which schedule strings are valid, and their resources ---- */

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)schedule, (void)caps;
    if (problem->batch != 1) return gs_fail(error, GS_ERROR_UNSUPPORTED, "b", "toy computes one product, not a batch");
    if (problem->in != GS_F16 || problem->out != GS_F32 || problem->beta != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "d", "toy multiplies f16 into f32");
    return GS_OK;
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)problem, (void)caps;
    return (gs_resources){.threads = threads_of(schedule), .registers = 64, .blocks_sm = 8, .cluster = 1};
}

/* ---- the time model ---- */

static gs_work work_of(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const double threads = threads_of(schedule);
    return (gs_work){
        .blocks = (double)p->m * gs_ceil_div((double)p->n, threads), .cluster = 1, .resident = 8,
        .steps  = (double)p->k, .chain = profile->rates.simple_step, .port = threads / 32 * profile->rates.simple_port_far, .ahead = 1,
        .start  = profile->rates.mma_start, .finish = profile->rates.mma_finish, .store = threads * 4,
        .memory_bytes = gs_compulsory_bytes(p),
    };
}

/* ---- the kernel: kernels/toy.cu with its defines and manifest ---- */

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)caps;
    kernel->name = "toy.cu";
    kernel->source = gs_embedded_find(kernel->name);
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, kernel->name, "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define(kernel, "GS_THREADS", threads_of(schedule));
    gs_manifest *const manifest = &kernel->manifest;
    *manifest = (gs_manifest){.accumulator = GS_F32, .bitwise = true, .align = {2, 2, 4, 4}, .entry_count = 1};
    gs_entry *const entry = &manifest->entry[0];
    *entry = (gs_entry){.block = {threads_of(schedule), 1, 1}, .cluster = {1, 1, 1}};
    snprintf(entry->name, sizeof entry->name, "gs_toy");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "min(cdiv(n,%d),65535)", threads_of(schedule));
    GS_TRY(gs_formula_set(&entry->grid[0], "m", error));
    GS_TRY(gs_formula_set(&entry->grid[1], text, error));
    return gs_formula_set(&entry->grid[2], "1", error);
}

/* ---- the family ---- */

const gs_family gs_family_toy = {
    .name       = "toy",
    .summary    = "shows how a family is added",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};

/* SPDX-License-Identifier: MIT
 * Family simple: one thread per element. Any problem, any alignment; slow and obviously correct. */
#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- which schedule strings are valid, and their resources ---- */

#define THREADS   256
#define REGISTERS 64   /* upper bound: pointers, indices, one accumulator, a few loads in flight */

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)schedule, (void)problem, (void)caps, (void)error;
    return GS_OK;
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    (void)schedule, (void)problem;
    const int blocks = GS_MIN(caps->threads_sm / THREADS, caps->registers_sm / (THREADS * REGISTERS));
    return (gs_resources){.threads = THREADS, .registers = REGISTERS, .smem = 0, .blocks_sm = GS_MAX(blocks, 1), .cluster = 1};
}

/* ---- the time model ---- */

static gs_work work_of(const gs_schedule *schedule, const gs_problem *given, const gs_profile *profile)
{
    const gs_problem average = gs_problem_average(given), *const p = given->grouping == GS_GROUPS_K ? &average : given;
    const gs_rates *const r = &profile->rates;
    const gs_resources resources = resources_of(schedule, p, &profile->caps);
    const double warps = resources.threads / 32.0;
    return (gs_work){
        .blocks = fmax(1, gs_ceil_div((double)p->m, warps) * gs_ceil_div((double)p->n, 32) * (double)p->batch),
        .cluster = 1, .resident = resources.blocks_sm,
        .steps   = (double)p->k,
        .port    = warps * (gs_is_b_transposed(p->layout) ? r->simple_port_far : r->simple_port),
        .chain   = p->acc == GS_F16 ? r->simple_step_f16 : r->simple_step,
        .latency = 0,
        .ahead   = 1,
        .start   = r->mma_start,
        .finish  = r->mma_finish,
        .store   = 32 * warps * (double)gs_type_size(p->out),
        .memory_bytes = gs_compulsory_bytes(given),
    };
}

/* ---- the kernel: kernels/simple.cu with its defines and manifest ---- */

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    (void)schedule;
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
    GS_TRY(gs_formula_set(&entry->grid[2], "min(batch,65535)", error));
    return problem->bias == GS_DBIAS ? gs_kernel_add_column_sums(kernel, problem, 8, 1, error) : GS_OK;
}

/* ---- the family ---- */

const gs_family gs_family_simple = {
    .name       = "simple",
    .summary    = "one thread per element: any problem, any alignment; slow and obviously right",
    .a_transposed = true,
    .takes      = GS_WANTS_STRIDES | GS_WANTS_SCALARS | GS_WANTS_GATE | GS_WANTS_GROUPS | GS_WANTS_K_GROUPS | GS_WANTS_AUX | GS_WANTS_DBIAS | GS_WANTS_POINTERS | GS_WANTS_SCALES,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};

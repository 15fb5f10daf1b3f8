/* SPDX-License-Identifier: MIT
 * The work (gs_work) of a launch of unknown structure, from its counters. */
#include <math.h>

#include "base/error.h"
#include "schedule/work.h"

enum { LANES = 32, REGISTER_UNIT = 256, RESERVED_SMEM = 1024, MOST_BLOCKS = 32 };

/* Registers that a block allocates: whole units per warp. */
static double registers_of(const gs_launch_shape *shape, const gs_caps *caps)
{
    const int warps = (shape->threads + LANES - 1) / LANES;
    if (shape->registers < 1) return caps->registers_sm / 2.0;
    return (double)((shape->registers * LANES + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT) * warps;
}

int gs_launch_resident(const gs_launch_shape *shape, const gs_profile *profile)
{
    const gs_caps *const caps = &profile->caps;
    if (shape->threads < 1) return 0;
    const double by_registers = caps->registers_sm / registers_of(shape, caps);
    const double by_smem = caps->smem_sm / ((double)shape->smem + RESERVED_SMEM);
    const double by_threads = (double)caps->threads_sm / shape->threads;
    return (int)fmin(fmin(by_registers, by_smem), fmin(by_threads, MOST_BLOCKS));
}

/* Cost of a warp instruction in plain instructions, for issue slots and dependent chains. Per cycle an SM does 64 lanes of f64, 32 of shuffles, 16 of special
 * functions (CUDA's table of arithmetic throughput); a division is a sequence of ten or more instructions. */
#define DOUBLE_SLOTS   2.0
#define SPECIAL_SLOTS  12.0
#define EXCHANGE_SLOTS 4.0

static double beyond_plain(const gs_launch_counts *c)
{
    return (DOUBLE_SLOTS - 1) * c->doubles + (SPECIAL_SLOTS - 1) * c->special + (EXCHANGE_SLOTS - 1) * c->exchange;
}

/* Bytes that wgmma reads from shared memory: per operation 64 rows of A, and as many columns of B as the operations have on average. */
static double wgmma_port(const gs_launch_counts *c)
{
    const double operations = c->wgmma / 4;
    return operations > 0 ? operations * 2048 + 32 * c->wgmma_flops / 2048 : 0;
}

/* Dependent cycles, summed over all warps. Repeated polls of a barrier are left out: their number depends on the emulator's scheduling. */
static double chain_of(const gs_launch_counts *c, const gs_rates *r)
{
    const double plain = c->integer + c->floating + c->doubles + c->special + c->control + c->other + c->copy + c->exchange +
                         beyond_plain(c);
    const double loads = c->global_load + c->global_store > 0 ? c->global * c->global_load / (c->global_load + c->global_store) : 0;
    return plain * r->launch_alu + c->shared * r->launch_shared + c->mma * r->launch_matrix + c->barrier * r->launch_barrier +
           loads * r->launch_request * r->l2_latency;
}

/* How often a block fills its shared memory: if it loads more than fits, not all loads are in flight at once, and each filling takes the latency. Data is used only after a
 * barrier or wait, so there are at most as many fillings as each warp has of those; this limits the count for kernels with little shared memory whose loads bypass it. */
static double fillings(const gs_launch_counts *c, const gs_launch_shape *shape, double blocks, double warps)
{
    const double bytes = (c->global_load + c->multicast) / blocks;
    return fmax(1, fmin(bytes / fmax(shape->smem, RESERVED_SMEM), c->barrier / blocks / warps));
}

static double all_instructions(const gs_launch_counts *c)
{
    return c->integer + c->floating + c->doubles + c->special + c->control + c->global + c->shared + c->other + c->copy + c->matrix +
           c->barrier + c->exchange;
}

gs_work gs_launch_work(const gs_launch_counts *c, const gs_launch_shape *shape, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const double blocks = fmax(shape->grid, 1), warps = fmax(1, ceil(shape->threads / (double)LANES));
    const double mma_flops = fmax(0, c->matrix_flops - c->wgmma_flops);
    const double matrix = (c->wgmma_flops / r->wgmma_share + mma_flops / r->mma_share) / profile->caps.tensor_flops + c->wgmma / 4 * r->wgmma_issue;
    const double port = (c->shared_passes * 128 + wgmma_port(c) + c->distributed) / r->port_bytes + (c->global + c->copy) * r->copy_port +
                        c->other * r->launch_local;
    const double steps = fillings(c, shape, blocks, warps), cut = blocks * steps;
    const bool bulk = c->copy_load > 0;
    return (gs_work){
        .blocks = blocks, .cluster = GS_MAX(shape->cluster, 1), .resident = GS_MAX(gs_launch_resident(shape, profile), 1),
        .steps   = steps,
        .matrix  = matrix / cut,
        .port    = port / cut,
        .issue   = (all_instructions(c) + beyond_plain(c)) / cut,
        .feed    = c->global_load / cut,
        .chain   = chain_of(c, r) / warps / cut,
        .latency = (bulk ? r->ws_latency : r->mma_latency) * r->launch_filling,
        .ahead   = 1,
        .start   = (bulk ? r->ws_start : r->mma_start) * r->launch_start + (shape->cluster > 1 ? r->cluster_start : 0),
        .store   = c->global_store / blocks,
        .memory_bytes = c->footprint_load + c->footprint_store,
        .floor_us = profile->caps.launch_us,
    };
}

double gs_launch_us(const gs_launch_counts *counts, const gs_launch_shape *shape, const gs_profile *profile)
{
    const gs_work work = gs_launch_work(counts, shape, profile);
    return gs_work_us(&work, profile);
}

double gs_launch_bound_us(double us, const gs_launch_peak *peak, const gs_launch_shape *shape, const gs_profile *profile)
{
    gs_launch_shape one = *shape;
    one.grid = GS_MAX(shape->cluster, 1);
    gs_work work = gs_launch_work(&peak->counts, &one, profile);
    work.chain *= peak->share;
    work.memory_bytes = 0;
    return fmax(us, gs_work_us(&work, profile));
}

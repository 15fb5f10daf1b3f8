/* SPDX-License-Identifier: MIT
 * The time model's share of the families whose ring is registers: slicek and gemv. */
#include "base/error.h"
#include "schedule/grammar.h"
#include "schedule/model.h"

/* A block that loads operands straight into fragments. */
typedef struct direct {
    double bm, bn;             /* its tile, as multiplied */
    double rows, columns;      /* warps along them */
    double parts;              /* warps along K */
    double depth;              /* steps of 32 k in flight */
    int    split;              /* blocks of a cluster along K */
    bool   swap_ab;             /* fragments of B are transposed between lanes */
} direct;

enum { STEP = 32 };            /* k of a step of a warp */

/* Adding the parts of K, and storing. */
static double finish(const direct *d, const gs_problem *p, int threads, const gs_rates *r)
{
    const double own = d->bm * d->bn / threads;   /* elements of a thread */
    double cycles = r->direct_finish;
    if (d->parts > 1) cycles += r->direct_sync + d->parts * own * r->direct_part;
    if (d->split > 1) cycles += r->split_sync + d->split * own / d->split * r->direct_part + d->bm * d->bn * 4 / r->split_bytes;
    return cycles + (p->beta != 0 ? r->ws_read_c : 0);
}

static gs_work direct_work(const direct *d, const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const gs_resources resources = gs_schedule_resources(schedule, p, &profile->caps);
    const double warps = d->rows * d->columns * d->parts, wm = d->bm / d->rows, wn = d->bn / d->columns;
    const double loads = wm / 8 + wn / 8;                      /* 16-byte loads of a lane and step */
    const double mmas = fmax(wm / 16, 0.5) * wn / 8 * 2;
    const double turns = d->swap_ab ? wn / 8 * 4 : 0;
    const double chain = loads * r->direct_load + mmas * r->mma_step + turns * r->direct_turn;
    return (gs_work){
        .blocks = gs_ceil_div((double)p->m, d->bm) * gs_ceil_div((double)p->n, d->bn) * (double)p->batch * d->split,
        .cluster = d->split, .resident = resources.blocks_sm,
        .steps   = fmax(1, gs_ceil_div((double)p->k, STEP * d->parts * d->split)),
        .matrix  = 2 * d->bm * d->bn * STEP * d->parts / (profile->caps.tensor_flops * r->mma_share),
        .port    = warps * loads * r->direct_port,
        .issue   = warps * (2 * loads + mmas + turns),
        .feed    = warps * loads * 512,
        .chain   = chain,
        .latency = r->direct_latency,
        .ahead   = d->depth,
        .held    = 1,
        .start   = r->direct_start - r->hbm_latency + (d->split > 1 ? r->split_start : 0),
        .finish  = finish(d, p, resources.threads, r),
        .store   = gs_inside(d->bm, p->m) * gs_inside(d->bn, p->n) * (double)gs_type_size(p->out) / d->split * (p->beta != 0 ? 2 : 1),
        .memory_bytes = gs_compulsory_bytes(p),
    };
}

gs_work gs_work_slicek(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_SLICEK_TILE);
    const int16_t *const warps = gs_schedule_value(schedule, GS_SLICEK_WARPS);
    const direct d = {
        .bm = tile[0], .bn = tile[1], .rows = warps[0], .columns = warps[1], .parts = warps[2],
        .depth = gs_schedule_value(schedule, GS_SLICEK_DEPTH)[0], .split = gs_schedule_value(schedule, GS_SLICEK_SPLIT)[0],
        .swap_ab = problem->layout == GS_NN,
    };
    return direct_work(&d, schedule, problem, profile);
}

gs_work gs_work_gemv(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_GEMV_TILE);
    const bool swapped = gs_gemv_swapped(problem), tn = problem->layout == GS_TN;
    const int columns = tn ? 1 : GS_MAX(tile[1] / 64, 1);     /* warps along them */
    const direct d = {
        .bm = swapped ? tile[1] : tile[0], .bn = swapped ? tile[0] : tile[1], .rows = 1, .columns = columns,
        .parts = gs_schedule_value(schedule, GS_GEMV_WARPS)[0] / columns,
        .depth = gs_schedule_value(schedule, GS_GEMV_DEPTH)[0] * (tn ? 2 : 1), .split = gs_schedule_value(schedule, GS_GEMV_SPLIT)[0],
        .swap_ab = !tn,
    };
    return direct_work(&d, schedule, problem, profile);
}

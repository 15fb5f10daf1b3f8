/* SPDX-License-Identifier: MIT
 * Time model of blocks that load operands directly into fragments. */
#include "family/direct.h"

#include "schedule/model.h"

enum {
    STEP  = 32,    /* k per step of a warp */
    WORDS = 3,     /* cost of the word loads that replace a 16-byte load, in such loads [judgement]: there are five, and one L1 line serves all */
    PASSED = 6,    /* shuffles per 16-byte unit, for words of neighbouring lanes: four, and as many again at the end of a row */
    SHIFTS = 20    /* instructions to assemble 16 bytes from two units */
};

/* Cycles to add the partial sums along K and to store. */
static double finish(const gs_direct *d, const gs_problem *p, int threads, const gs_rates *r)
{
    const double own = d->bm * d->bn / threads;   /* elements per thread */
    double cycles = r->direct_finish;
    if (d->parts > 1) cycles += r->direct_sync + d->parts * own * r->direct_part;
    if (d->split > 1) cycles += r->split_sync + d->split * own / d->split * r->direct_part + d->bm * d->bn * 4 / r->split_bytes;
    return cycles + (p->beta != 0 ? r->ws_read_c : 0);
}

gs_work gs_direct_work(const gs_direct *d, const gs_resources *resources, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const double warps = d->rows * d->columns * d->parts, wm = d->bm / d->rows, wn = d->bn / d->columns;
    const double pieces = wm / 8 + wn / 8;                     /* 16-byte pieces per lane and step */
    const double loads = pieces + (WORDS - 1) * ((d->raw_a ? wm : 0) + (d->raw_b ? wn : 0)) / 8;
    const double shifts = ((d->shift_a ? wm : 0) + (d->shift_b ? wn : 0)) / 8;
    const double mmas = fmax(wm / 16, 0.5) * wn / 8 * 2;
    const double turns = d->swap_ab ? wn / 8 * 4 : 0;
    const double chain = loads * r->direct_load + mmas * r->mma_step + (turns + shifts) * r->direct_turn;
    return (gs_work){
        .blocks = gs_ceil_div((double)p->m, d->bm) * gs_ceil_div((double)p->n, d->bn) * (double)p->batch * d->split,
        .cluster = d->split, .resident = resources->blocks_sm,
        .steps   = fmax(1, gs_ceil_div((double)p->k, STEP * d->parts * d->split)),
        .matrix  = 2 * d->bm * d->bn * STEP * d->parts / (profile->caps.tensor_flops * r->mma_share),
        .port    = warps * (loads * r->direct_port + shifts * PASSED * r->word_port),
        .issue   = warps * (2 * loads + mmas + turns + shifts * (SHIFTS + PASSED)),
        .feed    = warps * pieces * 512,
        .chain   = chain,
        .latency = r->direct_latency,
        .ahead   = d->depth,
        .held    = 1,
        .start   = r->direct_start - r->hbm_latency + (d->split > 1 ? r->split_start : 0),
        .finish  = finish(d, p, resources->threads, r),
        .store   = gs_inside(d->bm, p->m) * gs_inside(d->bn, p->n) * (double)gs_type_size(p->out) / d->split * (p->beta != 0 ? 2 : 1),
        .memory_bytes = gs_compulsory_bytes(p),
    };
}

/* SPDX-License-Identifier: MIT
 * The analytic side of the time model: the floor of a problem, and what a schedule does (gs_work). The time follows in work.c.
 * Everything here is a prediction. It has to rank well, not to be exact; docs/internals/time-model.md has the figures. */
#include <math.h>

#include "base/error.h"
#include "schedule/grammar.h"
#include "schedule/model.h"

static double count(int64_t m, int64_t n, int64_t batch) { return (double)m * (double)n * (double)batch; }

/* ---- the floor ---- */

double gs_compulsory_bytes(const gs_problem *p)
{
    const double in = (double)gs_type_size(p->in), out = (double)gs_type_size(p->out);
    const double d = out * count(p->m, p->n, p->batch);
    return in * (count(p->m, p->k, p->batch) + count(p->n, p->k, p->batch)) + (p->beta != 0 ? 2 * d : d);
}

static double roofline_us(const gs_problem *problem, const gs_caps *caps, const gs_rates *rates)
{
    const double peak = caps->tensor_flops * caps->sms * caps->clock_mhz;
    return fmax(gs_problem_flops(problem) / (rates->sustained * peak), gs_compulsory_bytes(problem) / (caps->memory_gbs * 1e3));
}

double gs_floor_us(const gs_problem *problem, const gs_caps *caps)
{
    return fmax(roofline_us(problem, caps, gs_rates_of(caps)), caps->launch_us);
}

int gs_floor_band(const gs_problem *problem, const gs_caps *caps)
{
    static const double limits_us[] = {1, 5, 20, 100, 1000};
    const double us = roofline_us(problem, caps, gs_rates_of(caps));
    int band = 0;
    while (band < (int)GS_COUNT(limits_us) && us >= limits_us[band]) band++;
    return band;
}

/* ---- device memory ---- */

/* Bytes between device memory and L2. Tiles are walked in groups of tile rows (or columns, the roles of A and B exchanged): the
 * operand across the groups is read once per group unless all of it stays in L2, the group's own panel once unless it does not
 * fit. */
double gs_memory_bytes(const gs_walk *w, const gs_problem *p, const gs_profile *profile)
{
    const double in = (double)gs_type_size(p->in), kept = profile->rates.l2_kept * profile->caps.l2_bytes;
    const double a = in * (double)p->m * (double)p->k, b = in * (double)p->n * (double)p->k;
    const double own = w->along_n ? b : a, across = w->along_n ? a : b;
    const double rows = fmax(1, gs_ceil_div((double)p->m, w->bm)), columns = fmax(1, gs_ceil_div((double)p->n, w->bn));
    const double own_tiles = w->along_n ? columns : rows, across_tiles = w->along_n ? rows : columns;
    const double group = fmin(w->group, own_tiles);
    const double panel = own / own_tiles * group;
    const double groups_at_once = fmax(1, floor(w->resident / (group * across_tiles)));
    const double sweeps = across <= kept ? 1 : gs_ceil_div(own_tiles, group * groups_at_once);
    const double rereads = panel <= kept ? 1 : gs_ceil_div(across_tiles, fmax(1, w->resident / group));
    return gs_compulsory_bytes(p) + (double)p->batch * (across * (sweeps - 1) + own * (rereads - 1));
}

/* ---- L2 ---- */

/* Launches fill one GPC with blocks after the other; clusters go to the GPCs in turn (read off an H200, docs/internals/time-model.md). */
double gs_fresh(const gs_order *o)
{
    const double clusters = fmax(1, fmin(fmin(floor(GS_GPC_SMS / o->cluster), floor(o->clusters / GS_GPCS)), o->lines * o->length));   /* of a GPC */
    const double group = fmin(o->group, o->lines), stride = o->cluster > 1 ? GS_GPCS : 1;
    double across = fmin(clusters, fmax(1, group / stride));
    const double along = fmin(clusters / across, fmax(1, o->length * fmin(1, group / stride)));
    across = clusters / along;
    const double different = across * o->line_blocks * o->line_rows + along * o->along_blocks * o->along_rows;
    return fmin(1, different / (clusters * o->line_blocks * o->along_blocks * (o->line_rows + o->along_rows)));
}

/* ---- what a tile costs, by family ---- */

/* A tile's end, in cycles: what the consumers do, and what of it the next tile's main loop does not hide. */
typedef struct ws_end {
    double finish;   /* that holds the next main loop up */
    double last;     /* more at the end of the launch, where nothing hides it */
    double store;    /* bytes that are stored meanwhile */
} ws_end;

static ws_end ws_end_of(const gs_schedule *schedule, const gs_problem *problem, double loop, const gs_rates *r)
{
    enum { HAND_OVER = 60, ROUNDING = 40 };   /* pp: to the other consumer; lag: per chunk, to registers [judgement] */
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const gs_ws_shape shape = gs_ws_shape_of(schedule, problem);
    const double chunks = shape.wx / 64.0 * shape.wy / shape.chunk;
    const double chunk = r->ws_chunk + (gs_ws_direct(problem) ? r->ws_direct : 0) + (problem->beta != 0 ? r->ws_read_c : 0);
    const double finish = r->ws_finish + chunks * chunk;
    const double store = gs_inside(tile[0], problem->m) * gs_inside(tile[1], problem->n) * (double)gs_type_size(problem->out) * (problem->beta != 0 ? 2 : 1);
    if (shape.mode == GS_WS_COOP) return (ws_end){finish, 0, store};
    const double all = gs_together(finish, store / r->store_bytes);   /* pp: of one consumer, while the other one's loop runs */
    const double shown = shape.mode == GS_WS_PP ? HAND_OVER + fmax(0, all - loop) / 2 : chunks * ROUNDING + fmax(0, all - loop);
    return (ws_end){shown, fmax(0, all - shown), 0};
}

static gs_work ws_work(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const int16_t *const raster = gs_schedule_value(schedule, GS_WS_RASTER);
    const int stages = gs_schedule_value(schedule, GS_WS_STAGES)[0], blocks = cluster[0] * cluster[1];
    const double bm = tile[0], bn = tile[1], bk = tile[2];
    const double rows = fmax(1, gs_ceil_div((double)p->m, bm * cluster[0])) * cluster[0];
    const double columns = fmax(1, gs_ceil_div((double)p->n, bn * cluster[1])) * cluster[1];
    const double ideal = 64.0 * 16 * 2 / profile->caps.tensor_flops;   /* cycles of a wgmma per column */
    const gs_ws_shape shape = gs_ws_shape_of(schedule, p);
    const double wgmmas = shape.bx / 64.0 * (shape.by / (double)shape.wy) * bk / 16;
    const bool alone = shape.consumers == 1 || shape.mode == GS_WS_PP;
    const double sync = (alone ? r->ws_sync_alone : r->ws_sync) + (blocks > 1 ? r->cluster_sync : 0);
    const double a = bm * (1 - (cluster[1] > 1 ? r->multicast / 2 : 0));   /* whole boxes: rows outside the matrix take as long */
    const double b = bn * (1 - (cluster[0] > 1 ? r->multicast / 2 : 0));
    const gs_walk walked = {bm * cluster[0], bn * cluster[1], raster[0], raster[1] != 0, fmax(1, profile->caps.sms / blocks)};
    const bool along_n = raster[1] != 0;
    const double lines_m = rows / cluster[0], lines_n = columns / cluster[1];
    const gs_order order = {along_n ? lines_n : lines_m, along_n ? lines_m : lines_n, fmax(1, raster[0]), along_n ? bn : bm, along_n ? bm : bn,
                            cluster[along_n], cluster[!along_n], blocks, lines_m * lines_n};
    const double steps = fmax(1, gs_ceil_div((double)p->k, bk)), matrix = wgmmas * (shape.wy * ideal / r->wgmma_share + r->wgmma_issue) + sync;
    const ws_end end = ws_end_of(schedule, p, steps * matrix, r);
    return (gs_work){
        .blocks = rows * columns, .cluster = blocks, .resident = 1, .persistent = true,
        .steps   = steps,
        .matrix  = matrix,
        .port    = (wgmmas * (2048 + 32.0 * shape.wy) + (bm + bn) * bk * 2) / r->port_bytes,
        .feed    = (a + b) * bk * 2,
        .fresh   = gs_fresh(&order),
        .outside = gs_outside(bm, p->m) + gs_outside(bn, p->n),
        .latency = r->ws_latency,
        .ahead   = stages,
        .held    = 1 + r->ws_held,
        .start   = r->ws_start + stages * r->ws_stage + (blocks > 1 ? r->cluster_start : 0) + end.last,
        .finish  = end.finish,
        .store   = end.store,
        .memory_bytes = gs_memory_bytes(&walked, p, profile),
    };
}

/* Elements per store of D: the widest that its rows allow. */
static double store_vector(const gs_problem *problem)
{
    const int64_t size = (int64_t)gs_type_size(problem->out);
    int64_t vector = 16 / size;
    while (problem->ldd % vector) vector /= 2;
    return (double)vector;
}

static gs_work mma_work(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const int16_t *const tile = gs_schedule_value(schedule, GS_MMA_TILE);
    const int16_t *const split = gs_schedule_value(schedule, GS_MMA_WARPS);
    const int16_t *const raster = gs_schedule_value(schedule, GS_MMA_RASTER);
    const int resident = gs_mma_resident(schedule, p, &profile->caps);
    const int stages = gs_schedule_value(schedule, GS_MMA_STAGES)[0], vector = gs_problem_vector(p);
    const double bm = tile[0], bn = tile[1], bk = tile[2], warps = split[0] * split[1], k_steps = bk / 16;
    const double wm = bm / split[0], wn = bn / split[1], mmas = wm / 16 * wn / 8;      /* of a warp and k-step */
    const double copies = (bm + bn) * bk / GS_MAX(vector, 2) / 32;                     /* warp instructions, or pairs of loads */
    const double copy_port = vector == 8 ? r->copy_port : vector > 1 ? r->narrow_port : r->pair_port;
    const double reads = warps * (wm + wn) * bk * 2;                                   /* bytes of fragments */
    const double pieces = fmax(1, 16 * wn / store_vector(p) / 32);                     /* stores of a warp's slab */
    const double slabs = ceil(gs_inside(wm, p->m) / 16);                                  /* that lie in D, of a warp */
    const gs_walk walked = {bm, bn, raster[0], raster[1] != 0, (double)profile->caps.sms * resident};
    return (gs_work){
        .blocks = fmax(1, gs_ceil_div((double)p->m, bm) * gs_ceil_div((double)p->n, bn) * (double)p->batch),
        .cluster = 1, .resident = resident,
        .steps   = gs_ceil_div((double)p->k, bk),
        .matrix  = 2 * bm * bn * bk / (profile->caps.tensor_flops * r->mma_share),
        .port    = ((bm + bn) * bk * 2 + reads) / r->port_bytes + copies * copy_port,
        .issue   = warps * k_steps * (mmas + wm / 16 + wn / 16) + copies * r->copy_issue,
        .feed    = (gs_inside(bm, p->m) + gs_inside(bn, p->n)) * gs_inside(bk, p->k) * 2,
        .chain   = r->mma_sync + warps * r->mma_warp_sync + k_steps * gs_together(r->mma_fragment, mmas * r->mma_step) +
                    copies / warps * r->copy_chain + (vector == 1 ? (k_steps - 1) * r->pair_wait : 0),
        .latency = r->mma_latency,
        .ahead   = stages - 1,
        .held    = r->mma_held,
        .start   = r->mma_start,
        .finish  = r->mma_finish + slabs * (r->mma_slab + pieces * r->mma_piece),
        .finish_port = warps * slabs * pieces * r->mma_store_port,
        .store   = gs_inside(bm, p->m) * gs_inside(bn, p->n) * (double)gs_type_size(p->out) * (p->beta != 0 ? 2 : 1),
        .memory_bytes = gs_memory_bytes(&walked, p, profile),
    };
}

static gs_work simple_work(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const gs_resources resources = gs_schedule_resources(schedule, p, &profile->caps);
    const double warps = resources.threads / 32.0;
    return (gs_work){
        .blocks = fmax(1, gs_ceil_div((double)p->m, warps) * gs_ceil_div((double)p->n, 32) * (double)p->batch),
        .cluster = 1, .resident = resources.blocks_sm,
        .steps   = (double)p->k,
        .port    = warps * (p->layout == GS_TN ? r->simple_port_far : r->simple_port),
        .chain   = p->acc == GS_F16 ? r->simple_step_f16 : r->simple_step,
        .latency = 0,
        .ahead   = 1,
        .start   = r->mma_start,
        .finish  = r->mma_finish,
        .store   = 32 * warps * (double)gs_type_size(p->out),
        .memory_bytes = gs_compulsory_bytes(p),
    };
}

gs_work gs_schedule_work(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    static gs_work (*const works[GS_FAMILIES])(const gs_schedule *, const gs_problem *, const gs_profile *) = {
        [GS_FAMILY_SIMPLE] = simple_work,
        [GS_FAMILY_MMA]    = mma_work,
        [GS_FAMILY_WS]     = ws_work,
        [GS_FAMILY_SLICEK] = gs_work_slicek,
        [GS_FAMILY_SPLITK]   = gs_work_splitk,
        [GS_FAMILY_GEMV]    = gs_work_gemv,
    };
    gs_work work = works[schedule->family](schedule, problem, profile);
    work.floor_us = fmax(roofline_us(problem, &profile->caps, &profile->rates), profile->caps.launch_us);
    return work;
}

double gs_schedule_predict(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const gs_profile profile = gs_profile_of(caps);
    const gs_work work = gs_schedule_work(schedule, problem, &profile);
    return gs_work_us(&work, &profile);
}

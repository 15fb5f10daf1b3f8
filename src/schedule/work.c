/* SPDX-License-Identifier: MIT
 * The time of a launch from its work: how its blocks are distributed over the multiprocessors, and which resource is the slowest. */
#include "schedule/work.h"

#include <math.h>

#include "base/error.h"

/* The sixth root of 1 + x for x from 0 to 1: a polynomial accurate to 1e-4, then two Newton steps. Faster than cbrt(sqrt()), and it runs for thousands of schedules. */
static double sixth_root(double x)
{
    if (x < 1e-4) return 1 + x / 6 - 5 * x * x / 72;
    double y = 1.0000637 + x * (0.16444525 + x * (-0.05655282 + x * 0.01455478));
    for (int i = 0; i < 2; i++) {
        const double y2 = y * y;
        y -= (y - (1 + x) / (y2 * y2 * y)) / 6;
    }
    return y;
}

/* The exponent is a fitted value. */
double gs_together(double a, double b)
{
    const double most = GS_MAX(a, b), least = GS_MIN(a, b);
    if (!(most > 0)) return 0;
    const double square = least / most * (least / most);
    return most * sixth_root(square * square * square);
}

/* Keeps predictions above the floor without changing their order: a norm with exponent 16. */
static double above_floor(double us, double floor_us)
{
    const double most = GS_MAX(us, floor_us), x = GS_MIN(us, floor_us) / most;
    const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    return most * sqrt(sqrt(sqrt(sqrt(1 + x8 * x8))));
}

/* How the blocks are distributed over the multiprocessors. */
typedef struct fall {
    double busy;      /* number of multiprocessors that have work */
    double per_sm;    /* blocks that the busiest multiprocessor runs */
    double turns;     /* rounds of resident blocks on it */
} fall;

static fall fall_of(const gs_work *w, const gs_caps *caps, const gs_rates *r)
{
    const double share = w->cluster > 8 ? r->cluster16_share : w->cluster % 3 == 0 ? r->cluster3_share : w->cluster > 2 ? r->cluster4_share : 1;
    const double sms = GS_MAX(floor(caps->sms * share / w->cluster) * w->cluster, 1);
    const double blocks = GS_MAX(w->blocks, 1);
    const double per_sm = ceil(blocks / sms);
    return (fall){GS_MIN(blocks, sms), per_sm, ceil(per_sm / w->resident)};
}

/* Cycles per k-block on resources that the blocks of a multiprocessor share; one block's part. */
static double computing(const gs_work *w, const gs_rates *r)
{
    return gs_together(gs_together(w->matrix, w->port), w->issue / r->issue_width);
}

/* Cycles per k-block from the latency of loads: a stage is requested, filled, computed from and freed, and `ahead` stages take turns. The first
 * ones are all requested at the start. */
static double waiting(const gs_work *w, double feed, double compute, double steps)
{
    return (w->latency + feed + w->held * compute) / w->ahead * GS_MAX(0, 1 - w->ahead / GS_MAX(steps, 1));
}

/* Consumers compute and store while the producer loads on; only the end of the last tile is not overlapped. */
static double persistent_cycles(const gs_work *w, const fall *f, double feed, double store, const gs_rates *r)
{
    const double step = gs_together(computing(w, r), w->chain);
    const double compute = w->steps * step;
    const double load = w->steps * gs_together(feed, waiting(w, feed, step, w->steps * f->per_sm));
    const double finish = gs_together(w->finish + w->finish_port, store);
    return (f->per_sm - 1) * gs_together(compute + finish, load) + gs_together(compute, load) + finish;
}

/* Resident blocks compete for shared resources, each has its own dependent time, and a block that ends makes room for the next. */
static double block_cycles(const gs_work *w, const fall *f, double feed, double store, double head, const gs_rates *r)
{
    const double port = w->steps * w->port + w->finish_port;
    double shared = gs_together(w->steps * w->matrix, port);
    shared = gs_together(shared, w->steps * w->issue / r->issue_width);
    shared = gs_together(shared, gs_together(w->steps * feed, store));
    const double compute = gs_together(computing(w, r), w->chain);
    const double load = gs_together(feed, waiting(w, feed, compute, w->steps));
    const double alone = w->steps * gs_together(compute, load) + w->finish + w->finish_port;
    return gs_together(f->per_sm * (shared + r->block_start), f->turns * alone + (f->turns - 1) * head);
}

/* Cycles per k-block for its bytes from L2. There is a limit per multiprocessor and one per GPC, where bytes that several of its multiprocessors
 * request together count once. */
static double feeding(const gs_work *w, const fall *f, const gs_caps *caps, const gs_rates *r)
{
    if (w->fresh > 0) return gs_together(w->feed / r->feed_bytes, w->feed * w->fresh * GS_MIN(GS_GPC_SMS, f->busy / GS_GPCS) / r->gpc_bytes);
    return w->feed / GS_MIN(r->feed_bytes, caps->l2_gbs * 1e3 / caps->clock_mhz / f->busy);
}

double gs_work_us(const gs_work *w, const gs_profile *profile)
{
    const gs_caps *const caps = &profile->caps;
    const gs_rates *const r = &profile->rates;
    const fall f = fall_of(w, caps, r);
    const double l2_bytes = caps->l2_gbs * 1e3 / caps->clock_mhz / f.busy;   /* per cycle and busy multiprocessor */
    const double feed = gs_together(feeding(w, &f, caps, r), w->outside * f.busy / r->outside_rows);
    const double store = w->store / GS_MIN(r->store_bytes, l2_bytes);
    const double head = w->start + r->hbm_latency;
    const double cycles = w->persistent ? persistent_cycles(w, &f, feed, store, r) : block_cycles(w, &f, feed, store, head, r);
    const double memory_us = w->memory_bytes / (caps->memory_gbs * 1e3);
    const double us = caps->launch_us + head / caps->clock_mhz + gs_together(cycles / caps->clock_mhz, memory_us);
    return above_floor(us, w->floor_us);
}

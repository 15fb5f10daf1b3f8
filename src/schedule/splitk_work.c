/* SPDX-License-Identifier: MIT
 * The time model's share of family splitk. */
#include "base/error.h"
#include "schedule/grammar.h"
#include "schedule/model.h"

/* The exchange of partial tiles, per block: within the cluster, then of its sums between clusters. */
static double exchange(double elements, int blocks, int clusters, const gs_rates *r)
{
    double cycles = 0;
    if (blocks > 1) cycles += blocks * r->split_sync + elements * 4 * (1 - 1.0 / blocks) / r->split_bytes;
    if (clusters > 1) cycles += r->ticket_sync + clusters * elements / blocks * 4 / r->ticket_bytes;
    return cycles;
}

gs_work gs_work_splitk(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const gs_resources resources = gs_schedule_resources(schedule, p, &profile->caps);
    const int16_t *const tile = gs_schedule_value(schedule, GS_SPLITK_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_SPLITK_CLUSTER);
    const int16_t *const split = gs_schedule_value(schedule, GS_SPLITK_SPLIT);
    const bool swap_ab = gs_schedule_value(schedule, GS_SPLITK_ORDER)[0] != 0;
    const int sharing = split[2], meeting = split[0] / split[2];   /* blocks of a cluster along K, clusters that meet by tickets */
    const double bm = tile[0], bn = tile[1], bk = tile[2];
    const double tiles = gs_ceil_div((double)p->m, bm * cluster[0]) * cluster[0] * gs_ceil_div((double)p->n, bn * cluster[1]) * cluster[1];
    const double wide = swap_ab ? bm : bn, blocks64 = (swap_ab ? bn : bm) / 64;   /* of wgmma: its columns; 64-row blocks */
    const double wgmmas = blocks64 * bk / 16, elements = gs_inside(bm, p->m) * gs_inside(bn, p->n);
    const double ideal = 64.0 * 16 * 2 / profile->caps.tensor_flops;
    const double a = gs_inside(bm, p->m) * (1 - (cluster[1] > 1 ? r->multicast * (1 - 1.0 / cluster[1]) : 0));
    const double b = gs_inside(bn, p->n) * (1 - (cluster[0] > 1 ? r->multicast * (1 - 1.0 / cluster[0]) : 0));
    const double stored = elements * (double)gs_type_size(p->out) / sharing;   /* by a block that stores */
    const gs_walk walked = {bm, bn, 1, p->m > p->n, (double)profile->caps.sms * resources.blocks_sm};
    const double clusters_m = gs_ceil_div((double)p->m, bm * cluster[0]), clusters_n = gs_ceil_div((double)p->n, bn * cluster[1]);
    const bool along_n = gs_ceil_div((double)p->n, bn) < gs_ceil_div((double)p->m, bm);   /* launched first: tiles of the shorter side */
    const gs_order order = {along_n ? clusters_n : clusters_m, along_n ? clusters_m : clusters_n, along_n ? clusters_n : clusters_m,
                            along_n ? bn : bm, along_n ? bm : bn, cluster[along_n], cluster[!along_n], resources.cluster,
                            clusters_m * clusters_n * meeting};
    return (gs_work){
        .blocks = tiles * split[0], .cluster = resources.cluster, .resident = resources.blocks_sm,
        .steps   = fmax(1, gs_ceil_div(gs_ceil_div((double)p->k, bk), split[0])),
        .matrix  = wgmmas * (fmax(wide, 32) * ideal / r->wgmma_share + r->wgmma_issue),
        .port    = (wgmmas * (2048 + 32 * wide) + (bm + bn) * bk * 2) / r->port_bytes,
        .feed    = (a + b) * bk * 2,
        .fresh   = gs_fresh(&order),
        .outside = gs_outside(bm, p->m) + gs_outside(bn, p->n),
        .chain   = wgmmas * (wide * ideal + r->wgmma_issue) + r->splitk_sync + (cluster[0] * cluster[1] > 1 ? r->cluster_sync : 0),
        .latency = r->splitk_latency,
        .ahead   = gs_schedule_value(schedule, GS_SPLITK_STAGES)[0],
        .held    = 1,
        .start   = r->splitk_start - r->hbm_latency + (cluster[0] * cluster[1] > 1 ? r->cluster_start : resources.cluster > 1 ? r->split_start : 0),
        .finish  = r->splitk_finish + exchange(elements, sharing, meeting, r) + stored / 16 / resources.threads * r->splitk_element +
                    (p->beta != 0 ? r->ws_read_c : 0),
        .store   = stored * (p->beta != 0 ? 2 : 1) + (meeting > 1 ? elements * 4 / sharing : 0),
        .memory_bytes = gs_memory_bytes(&walked, p, profile),
    };
}

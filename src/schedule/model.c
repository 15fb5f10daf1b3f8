/* SPDX-License-Identifier: MIT
 * The analytic time model: the floor of a problem, the predicted time of a schedule, and the shortlist of the best.
 * A schedule is reduced to what a tile costs (struct work); the time follows from how the tiles fall on the multiprocessors.
 * Everything here is a prediction. It has to rank well, not to be exact. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "schedule/grammar.h"

/* legend: constant, value, what it is; where it comes from
 *   [measured]  on an H200
 *   [published] by the authors of public kernels, or in the hardware documentation
 *   [judgement] chosen so that the order of schedules agrees with published kernels */
#define SUSTAINED         0.74   /* share of peak FLOP that the best kernels keep up: 790 TFLOP/s on an H200      [measured]  */
#define WS_SHARE          0.76   /* of the tensor rate inside a ws main loop                                      [published] */
#define WS_ISSUE          6.0    /* cycles lost per wgmma: short N pays more                                      [judgement] */
#define WS_START          1800.0 /* cycles, on top of the launch: barriers, maps, roles                           [judgement] */
#define WS_SYNC           20.0   /* cycles per k-block that two or more consumers cannot hide                     [judgement] */
#define WS_SYNC_ALONE     60.0   /* the same for a single consumer                                                [judgement] */
#define CLUSTER_SYNC      12.0   /* more cycles per k-block when the slot is freed across blocks                  [judgement] */
#define CLUSTER_START     500.0  /* cycles: cluster launch and barrier                                            [judgement] */
#define MMA_SHARE_HOPPER  0.40   /* of the tensor rate that mma.sync reaches on cc 9.x                            [published] */
#define MMA_SHARE         0.82   /* and where it is the native instruction                                        [published] */
#define MMA_START         400.0  /* cycles, on top of the launch: index arithmetic                                [judgement] */
#define MMA_SYNC          80.0   /* cycles per k-block: wait and barrier                                          [judgement] */
#define MMA_FRAGMENT      36.0   /* cycles from ldmatrix to the first mma of a k-step                             [judgement] */
#define MMA_STEP          8.0    /* cycles per m16n8k16 of one warp                                               [judgement] */
#define SIMPLE_FLOPS      16.0   /* per cycle and multiprocessor, one thread per element                          [judgement] */
#define SIMPLE_STEP       120.0  /* cycles per step along K of one thread                                         [judgement] */
#define STAGE_CYCLES      16.0   /* per stage: set-up and shared memory; keeps useless stages out of the list      [judgement] */
#define LOAD_CYCLES       1300.0 /* from the request of a stage to its data, loaded machine                       [judgement] */
#define PORT_BYTES        128.0  /* shared memory, per cycle and multiprocessor                                   [published] */
#define FEED_BYTES        64.0   /* L2 to one multiprocessor, per cycle                                           [published] */
#define STORE_BYTES       32.0   /* one multiprocessor to L2, per cycle                                           [published] */
#define STORE_CYCLES      500.0  /* fixed part of an epilogue                                                     [judgement] */
#define UNHIDDEN          0.06   /* share of what runs beside the slowest part and still costs time               [judgement] */
#define L2_KEPT           0.5    /* share of L2 in which an operand survives until it is read again               [judgement] */

typedef struct work {
    int    bm, bn, bk;
    int    group;             /* tile rows, or columns, that are walked together */
    bool   along_n;           /* columns */
    int    cluster_m, cluster_n;
    int    blocks_sm;
    bool   persistent;        /* the next tile's loads overlap this tile's end */
    double tensor;            /* cycles of a k-block, tensor cores */
    double port;              /* cycles of a k-block, shared memory and copy instructions */
    double feed;              /* bytes of a k-block from L2 */
    double chain;             /* least cycles of a k-block of one block: dependent instructions */
    double ahead;             /* k-blocks whose loads are under way while one is computed */
    double start;             /* cycles before the first load */
} work;

/* ---- the floor ---- */

static double count(int64_t m, int64_t n, int64_t batch) { return (double)m * (double)n * (double)batch; }

static double compulsory_bytes(const gs_problem *p)
{
    const double in = (double)gs_type_size(p->in), out = (double)gs_type_size(p->out);
    const double d = out * count(p->m, p->n, p->batch);
    return in * (count(p->m, p->k, p->batch) + count(p->n, p->k, p->batch)) + (p->beta != 0 ? 2 * d : d);
}

static double peak_flops_us(const gs_caps *caps) { return caps->tensor_flops * caps->sms * caps->clock_mhz; }

static double roofline_us(const gs_problem *problem, const gs_caps *caps)
{
    return fmax(gs_problem_flops(problem) / (SUSTAINED * peak_flops_us(caps)),
                compulsory_bytes(problem) / (caps->memory_gbs * 1e3));
}

double gs_floor_us(const gs_problem *problem, const gs_caps *caps) { return fmax(roofline_us(problem, caps), caps->launch_us); }

int gs_floor_band(const gs_problem *problem, const gs_caps *caps)
{
    static const double limits_us[] = {1, 5, 20, 100, 1000};
    const double us = roofline_us(problem, caps);
    int band = 0;
    while (band < (int)GS_COUNT(limits_us) && us >= limits_us[band]) band++;
    return band;
}

/* ---- what a tile costs, by family ---- */

static work ws_work(const gs_schedule *schedule, const gs_caps *caps)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_WS_TILE);
    const int16_t *const cluster = gs_schedule_value(schedule, GS_WS_CLUSTER);
    const int16_t *const raster = gs_schedule_value(schedule, GS_WS_RASTER);
    const int stages = gs_schedule_value(schedule, GS_WS_STAGES)[0];
    const bool clustered = cluster[0] * cluster[1] > 1;
    const double wgmmas = tile[0] / 64.0 * tile[2] / 16.0;
    const double ideal = 64.0 * 16 * 2 / caps->tensor_flops;   /* cycles of a wgmma per column */
    const double sync = (gs_ws_consumers(schedule) == 1 ? WS_SYNC_ALONE : WS_SYNC) + (clustered ? CLUSTER_SYNC : 0);
    return (work){
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .group = raster[0], .along_n = raster[1] != 0,
        .cluster_m = cluster[0], .cluster_n = cluster[1], .persistent = true,
        .tensor   = wgmmas * (tile[1] * ideal + WS_ISSUE) / WS_SHARE + sync,
        .port     = wgmmas * (2048 + 32.0 * tile[1]) / PORT_BYTES,
        .feed     = ((double)tile[0] / cluster[1] + (double)tile[1] / cluster[0]) * tile[2] * 2,
        .ahead    = stages - 1.5,   /* one stage is read, another waits to be released half of the time */
        .start    = WS_START + stages * STAGE_CYCLES + (clustered ? CLUSTER_START : 0),
    };
}

static work mma_work(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const int16_t *const tile = gs_schedule_value(schedule, GS_MMA_TILE);
    const int16_t *const warps = gs_schedule_value(schedule, GS_MMA_WARPS);
    const int16_t *const raster = gs_schedule_value(schedule, GS_MMA_RASTER);
    const int stages = gs_schedule_value(schedule, GS_MMA_STAGES)[0];
    const int all_warps = warps[0] * warps[1];
    const double wm = (double)tile[0] / warps[0], wn = (double)tile[1] / warps[1];
    const double share = caps->cc >= 90 && caps->cc < 100 ? MMA_SHARE_HOPPER : MMA_SHARE;
    const double bytes = (tile[0] + tile[1]) * tile[2] * 2.0;
    const double copies = bytes / 2 / gs_problem_vector(problem) / 32;   /* warp-wide copy instructions, one per cycle */
    const double chain = MMA_SYNC + tile[2] / 16.0 * (MMA_FRAGMENT + wm / 16 * wn / 8 * MMA_STEP);
    return (work){
        .bm = tile[0], .bn = tile[1], .bk = tile[2], .group = raster[0], .along_n = raster[1] != 0, .cluster_m = 1, .cluster_n = 1,
        .tensor   = 2.0 * tile[0] * tile[1] * tile[2] / (caps->tensor_flops * share),
        .port     = (bytes + all_warps * (wm + wn) * tile[2] * 2) / PORT_BYTES + copies,
        .feed     = bytes,
        .chain    = chain,
        .ahead    = stages - 1,
        .start    = MMA_START + stages * STAGE_CYCLES,
    };
}

/* ---- how the tiles fall ---- */

/* Parts that overlap: the slowest, and a little of the others, so that spare room still counts. */
static double overlap(double a, double b) { return fmax(a, b) + UNHIDDEN * fmin(a, b); }

static double ceil_div(double a, double b) { return ceil(a / b); }

/* Bytes between device memory and L2. Tiles are walked in groups of tile rows (or columns, the roles of A and B exchanged): the
 * operand across the groups is read once per group unless all of it stays in L2, the group's own panel once unless it does not
 * fit. */
static double memory_bytes(const work *w, const gs_problem *p, const gs_caps *caps)
{
    const double in = (double)gs_type_size(p->in), kept = L2_KEPT * caps->l2_bytes;
    const double a = in * (double)p->m * (double)p->k, b = in * (double)p->n * (double)p->k;
    const double own = w->along_n ? b : a, across = w->along_n ? a : b;
    const double own_tiles = w->along_n ? ceil_div((double)p->n, w->bn) : ceil_div((double)p->m, w->bm);
    const double across_tiles = w->along_n ? ceil_div((double)p->m, w->bm) : ceil_div((double)p->n, w->bn);
    const double group = fmin(w->group, own_tiles);
    const double panel = own / own_tiles * group;
    const double resident = (double)caps->sms * w->blocks_sm;                      /* tiles that run together */
    const double groups_at_once = fmax(1, floor(resident / (group * across_tiles)));
    const double sweeps = across <= kept ? 1 : ceil_div(own_tiles, group * groups_at_once);
    const double rereads = panel <= kept ? 1 : ceil_div(across_tiles, fmax(1, resident / group));
    const double once = compulsory_bytes(p);
    return once + (double)p->batch * (across * (sweeps - 1) + own * (rereads - 1));
}

static double work_us(const work *w, const gs_problem *p, const gs_caps *caps)
{
    const double rows = ceil_div((double)p->m, w->bm * w->cluster_m) * w->cluster_m;
    const double columns = ceil_div((double)p->n, w->bn * w->cluster_n) * w->cluster_n;
    const double tiles = fmax(1, rows * columns * (double)p->batch);
    const int cluster = w->cluster_m * w->cluster_n;
    const double sms = caps->sms / cluster * cluster;
    const double per_sm = ceil_div(tiles, sms);                                    /* tiles of the busiest multiprocessor */
    const double resident = fmin(per_sm, w->blocks_sm);
    const double turns = ceil_div(per_sm, w->blocks_sm);
    const double k_blocks = fmax(1, ceil_div((double)p->k, w->bk));

    const double l2_bytes = caps->l2_gbs * 1e3 / caps->clock_mhz;                  /* per cycle, whole chip */
    const double feed = w->feed / fmin(FEED_BYTES, l2_bytes / fmin(tiles, sms));
    const double load = LOAD_CYCLES / w->ahead * fmax(0, 1 - w->ahead / k_blocks);   /* the first ones are part of the start */
    const double k_block = overlap(overlap(w->tensor, w->port), overlap(feed, fmax(w->chain, load) / resident));
    const double epilogue = STORE_CYCLES +
                            (double)w->bm * w->bn * (double)gs_type_size(p->out) * (p->beta != 0 ? 2 : 1) / STORE_BYTES;
    const double ends = w->persistent ? LOAD_CYCLES + per_sm * epilogue : turns * (LOAD_CYCLES + epilogue);
    const double cycles = per_sm * k_blocks * k_block + ends;
    const double memory_us = memory_bytes(w, p, caps) / (caps->memory_gbs * 1e3);
    return caps->launch_us + w->start / caps->clock_mhz + overlap(cycles / caps->clock_mhz, memory_us);
}

static double simple_us(const gs_problem *p, const gs_caps *caps)
{
    const double cycles = fmax(gs_problem_flops(p) / (SIMPLE_FLOPS * caps->sms), (double)p->k * SIMPLE_STEP);
    return caps->launch_us + fmax(cycles / caps->clock_mhz, compulsory_bytes(p) / (caps->memory_gbs * 1e3));
}

double gs_schedule_predict(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    if (schedule->family == GS_FAMILY_SIMPLE) return simple_us(problem, caps);
    work w = schedule->family == GS_FAMILY_WS ? ws_work(schedule, caps) : mma_work(schedule, problem, caps);
    const gs_resources resources = gs_schedule_resources(schedule, problem, caps);
    w.blocks_sm = GS_MAX(resources.blocks_sm, 1);

    /* the tensor cores are four, one per quarter of the multiprocessor: fewer warps than that leave some idle */
    const double blocks = ceil_div(count(problem->m, problem->n, problem->batch), (double)w.bm * w.bn * caps->sms);
    const double warps = fmin(w.blocks_sm, blocks) * resources.threads / 32;
    if (warps < 4) w.tensor *= 4 / fmax(warps, 1);
    return work_us(&w, problem, caps);
}

/* ---- the shortlist ---- */

/* Same sentence but for the last slot, the raster: the two differ little, so only the better is kept. */
static bool same_but_raster(const gs_schedule *a, const gs_schedule *b)
{
    const int slots = gs_family_slots((gs_family)a->family);
    return a->family == b->family && memcmp(a->word, b->word, (size_t)GS_MAX(slots - 1, 0)) == 0;
}

static bool same_tile(const gs_schedule *a, const gs_schedule *b) { return a->family == b->family && a->word[0] == b->word[0]; }

static void remove_at(gs_schedule *list, int *size, int at)
{
    memmove(list + at, list + at + 1, (size_t)(*size - at - 1) * sizeof *list);
    --*size;
}

/* Keeps list sorted by time, without two that differ only in the raster and with at most `variants` of a tile. */
static void offer(gs_schedule *list, int *size, int most, int variants, const gs_schedule *schedule, double us,
                  const gs_problem *problem, const gs_caps *caps)
{
    if (*size == most && us >= gs_schedule_predict(&list[most - 1], problem, caps)) return;
    int twin = -1, worst_of_tile = -1, of_tile = 0;
    for (int i = 0; i < *size; i++) {
        if (same_but_raster(&list[i], schedule)) twin = i;
        if (!same_tile(&list[i], schedule)) continue;
        worst_of_tile = i;
        of_tile++;
    }
    const int rival = twin >= 0 ? twin : of_tile >= variants ? worst_of_tile : -1;
    if (rival >= 0) {
        if (us >= gs_schedule_predict(&list[rival], problem, caps)) return;
        remove_at(list, size, rival);
    } else if (*size == most) {
        --*size;
    }
    int at = *size;
    while (at > 0 && us < gs_schedule_predict(&list[at - 1], problem, caps)) at--;
    memmove(list + at + 1, list + at, (size_t)(*size - at) * sizeof *list);
    list[at] = *schedule;
    ++*size;
}

int gs_schedule_shortlist(const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most)
{
    if (most < 1) return 0;
    const int variants = GS_MAX(most / 8, 2);
    int size = 0;
    for (int family = 0; family < GS_FAMILIES; family++) {
        if (families != 0 && !(families >> family & 1)) continue;
        gs_schedule schedule = gs_schedule_first((gs_family)family);
        do {
            if (gs_schedule_check(&schedule, problem, caps, NULL) != GS_OK) continue;
            offer(list, &size, most, variants, &schedule, gs_schedule_predict(&schedule, problem, caps), problem, caps);
        } while (gs_schedule_next(&schedule));
    }
    return size;
}

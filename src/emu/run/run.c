/* SPDX-License-Identifier: MIT
 * Running a launch: clusters on host threads, turns of warps and of asynchronous work inside a cluster, all drawn from the launch's seed; the end of warps and blocks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "emu/isa/order.h"
#include "emu/isa/sync.h"
#include "emu/isa/unseen.h"
#include "emu/machine/pool.h"
#include "emu/run/internal.h"

#define MOST_THREADS  256
#define QUIET_LIMIT   (1ull << 28)    /* instructions without a store, a barrier or a copy */
#define STEP_LIMIT    (1ull << 34)
#define MOST_BLOCKS   16              /* per cluster */
#define WARP_SLOTS    64              /* per multiprocessor: %nwarpid */
#define PATIENCE      1024            /* quiet instructions, as of a polling warp, after which asynchronous work advances in any case */
#define LONGEST_DELAY 65536           /* instructions after which asynchronous work advances even if warps are busy */
#define MOST_EXPIRIES 64              /* rounds in which waits give up without effect, before it is a deadlock */
#define TALK_TURN     64              /* instructions of a cluster before another one gets a turn, if blocks may communicate: this many, or 4, 16, 64 times as many */
#define TALK_RESIDENT 256             /* most clusters running at once then, unless all of them wait: one block per multiprocessor */
#define POLLS_TO_GROW 1024            /* polls of a flag without news, after which more clusters are started */
#define POLLS_TO_END  8192            /* and after which the launch is a deadlock */
#define POLLS_TO_BE_LATE 6000         /* polls by all other clusters before a delayed one gets a turn: exposes waits that give up after fewer */
#define UNSEEN_EVERY  4               /* in one of so many launches strong stores become visible late: some of them at the end of one in SHOWN_EVERY slices, */
#define SHOWN_EVERY   32
#define POLLS_TO_SHOW 64              /* or when a cluster has polled so often */
#define LATE_EVERY    2               /* in one of so many launches a cluster is delayed */
#define MOST_BYTES    (512u << 20)    /* most registers, local and shared memory of a cluster, and of all running clusters */

/* ---- a cluster ---- */

static void free_warp(gs_emu_warp *w)
{
    gs_emu_copy_free(w);
    gs_emu_bulk_free(w);
    gs_emu_wgmma_free(w);
    free(w->registers);
    free(w->local);
}

static void destroy_cluster(gs_emu_cluster *cluster)
{
    if (!cluster) return;
    gs_emu_tasks_drop(cluster);
    free(cluster->task);
    for (int b = 0; cluster->block && b < cluster->blocks; b++) {
        gs_emu_block *const block = &cluster->block[b];
        for (int i = 0; block->warp && i < block->warps; i++) free_warp(&block->warp[i]);
        free(block->warp);
        free(block->shared);
        free(block->remote);
        gs_emu_unseen_free(block);
        gs_emu_barriers_free(block);
        gs_emu_mbarriers_free(block);
    }
    free(cluster->block);
    gs_emu_cluster_barrier_free(cluster);
    gs_emu_order_leave(cluster);
    gs_emu_check_destroy(cluster->check);
    free(cluster);
}

/* Adds the block's rank to the addresses of shared variables. */
static void set_shared_addresses(gs_emu_warp *w)
{
    const uint32_t own = ((uint32_t)w->block->rank + 1) << GS_EMU_RANK_SHIFT;
    for (int i = 0; w->cluster->blocks > 1 && i < w->code->shared_addresses; i++) {
        const gs_emu_shared_address *const at = &w->code->shared_address[i];
        for (int l = 0; l < GS_EMU_LANES; l++)
            if (at->wide) gs_emu_u64(w, at->offset)[l] += own;
            else gs_emu_u32(w, at->offset)[l] += own;
    }
}

static bool create_warps(gs_emu_block *block, const gs_emu_launch *launch)
{
    const gs_emu_code *const code = launch->code;
    block->warp = calloc((size_t)block->warps, sizeof *block->warp);
    for (int i = 0; block->warp && i < block->warps; i++) {
        gs_emu_warp *const w = &block->warp[i];
        const uint32_t left = block->threads - (uint32_t)i * GS_EMU_LANES;
        *w = (gs_emu_warp){.block = block, .cluster = block->cluster, .code = code, .index = i, .number = block->rank * block->warps + i};
        w->threads = left >= GS_EMU_LANES ? GS_EMU_FULL : (1u << left) - 1;
        w->registers = aligned_alloc(64, ((size_t)code->register_bytes + 63) / 64 * 64);
        if (code->local_bytes) w->local = malloc((size_t)code->local_bytes * GS_EMU_LANES);
        if (!w->registers || (code->local_bytes && !w->local)) return false;
        memcpy(w->registers, code->image, code->register_bytes);   /* all of it: an instruction with a finding, or with some lanes inactive, may not write its result */
        set_shared_addresses(w);
    }
    return block->warp != NULL;
}

static gs_emu_cluster *create_cluster(gs_emu_launch *launch)
{
    gs_emu_cluster *const cluster = calloc(1, sizeof *cluster);
    if (!cluster) return NULL;
    const gs_emu_pool *const pool = launch->pool;
    cluster->launch = launch;
    cluster->blocks = (int)(launch->cluster[0] * launch->cluster[1] * launch->cluster[2]);
    cluster->block = calloc((size_t)cluster->blocks, sizeof *cluster->block);
    bool fine = cluster->block != NULL;
    if (fine && launch->check) {
        cluster->check = gs_emu_check_create(cluster->blocks, pool->warps, launch->shared_bytes, pool->order != NULL, gs_emu_report_race,
                                             gs_emu_describe_op, cluster);
        fine = cluster->check && (!pool->order || gs_emu_order_join(pool->order, cluster));
    }
    for (int b = 0; fine && b < cluster->blocks; b++) {
        gs_emu_block *const block = &cluster->block[b];
        *block = (gs_emu_block){.cluster = cluster, .rank = b, .warps = pool->warps, .threads = pool->threads};
        block->shared = aligned_alloc(1024, ((size_t)launch->shared_bytes + 2047) / 1024 * 1024);
        if (launch->check && cluster->blocks > 1) {
            block->remote = calloc((size_t)(cluster->blocks * pool->warps), sizeof *block->remote);
            if (!block->remote) fine = false;
        }
        fine = fine && block->shared && create_warps(block, launch) && gs_emu_barriers_create(block) && gs_emu_mbarriers_create(block);
    }
    fine = fine && gs_emu_cluster_barrier_create(cluster);
    if (fine) return cluster;
    destroy_cluster(cluster);
    return NULL;
}

static void set_special(gs_emu_warp *w, gs_emu_special which, uint32_t value)
{
    const uint32_t offset = w->code->special[which];
    for (int lane = 0; offset != GS_EMU_NONE && lane < GS_EMU_LANES; lane++) gs_emu_u32(w, offset)[lane] = value;
}

static void set_thread_specials(gs_emu_warp *w)
{
    const gs_emu_launch *const launch = w->cluster->launch;
    for (uint32_t lane = 0; lane < GS_EMU_LANES; lane++) {
        const uint32_t thread = (uint32_t)w->index * GS_EMU_LANES + lane;
        const uint32_t value[] = {
            thread % launch->block[0], thread / launch->block[0] % launch->block[1], thread / launch->block[0] / launch->block[1],
            lane, 1u << lane, (1u << lane) - 1, (2u << lane) - 1, ~((2u << lane) - 1), ~((1u << lane) - 1),
        };
        static const gs_emu_special which[] = {GS_EMU_TID_X, GS_EMU_TID_Y, GS_EMU_TID_Z, GS_EMU_LANEID, GS_EMU_LANEMASK_EQ,
                                               GS_EMU_LANEMASK_LT, GS_EMU_LANEMASK_LE, GS_EMU_LANEMASK_GT, GS_EMU_LANEMASK_GE};
        for (size_t i = 0; i < GS_COUNT(which); i++) {
            const uint32_t offset = w->code->special[which[i]];
            if (offset != GS_EMU_NONE) gs_emu_u32(w, offset)[lane] = value[i];
        }
    }
}

/* %warpid: any slot, as on a multiprocessor that has other blocks as well, but different for each warp of the block. */
static uint32_t slot_of(const gs_emu_warp *w)
{
    gs_random random = {w->cluster->launch->seed + MOST_BLOCKS * (uint64_t)w->cluster->id + (uint64_t)w->block->rank};
    uint32_t slots[WARP_SLOTS], chosen = 0;
    for (uint32_t i = 0; i < WARP_SLOTS; i++) slots[i] = i;
    for (int i = 0; i <= w->index; i++) {
        const uint64_t at = gs_random_below(&random, (uint64_t)(WARP_SLOTS - i));
        chosen = slots[at];
        slots[at] = slots[WARP_SLOTS - 1 - i];
    }
    return chosen;
}

static void set_specials(gs_emu_warp *w)
{
    const gs_emu_launch *const launch = w->cluster->launch;
    const gs_emu_block *const block = w->block;
    const uint32_t together = gs_random_next(&(gs_random){launch->seed}) & 1;   /* %smid: any free multiprocessor; in some launches two adjacent blocks share one */
    set_thread_specials(w);
    for (int i = 0; i < 3; i++) {
        set_special(w, (gs_emu_special)(GS_EMU_NTID_X + i), launch->block[i]);
        set_special(w, (gs_emu_special)(GS_EMU_CTAID_X + i), block->id[i]);
        set_special(w, (gs_emu_special)(GS_EMU_NCTAID_X + i), launch->grid[i]);
        set_special(w, (gs_emu_special)(GS_EMU_CLUSTER_CTAID_X + i), block->id[i] % launch->cluster[i]);
        set_special(w, (gs_emu_special)(GS_EMU_CLUSTER_NCTAID_X + i), launch->cluster[i]);
        set_special(w, (gs_emu_special)(GS_EMU_CLUSTERID_X + i), block->id[i] / launch->cluster[i]);
        set_special(w, (gs_emu_special)(GS_EMU_NCLUSTERID_X + i), launch->grid[i] / launch->cluster[i]);
    }
    set_special(w, GS_EMU_WARPID, slot_of(w));
    set_special(w, GS_EMU_NWARPID, WARP_SLOTS);
    set_special(w, GS_EMU_SMID, (uint32_t)((w->cluster->id >> together) + (launch->seed * 0x9e3779b97f4a7c15ull >> 40)) % (uint32_t)GS_MAX(launch->sms, 1));
    set_special(w, GS_EMU_NSMID, (uint32_t)GS_MAX(launch->sms, 1));
    set_special(w, GS_EMU_WARP_SIZE, GS_EMU_LANES);
    set_special(w, GS_EMU_CLUSTER_CTARANK, (uint32_t)block->rank);
    set_special(w, GS_EMU_CLUSTER_NCTARANK, (uint32_t)w->cluster->blocks);
    set_special(w, GS_EMU_DYNAMIC_SMEM, launch->smem);
    set_special(w, GS_EMU_TOTAL_SMEM, launch->shared_bytes - launch->code->reserved);
}

static void start_warp(gs_emu_warp *w)
{
    if (w->local) memset(w->local, 0xa5, (size_t)w->code->local_bytes * GS_EMU_LANES);
    gs_emu_copy_free(w);
    gs_emu_bulk_free(w);
    gs_emu_wgmma_free(w);
    for (int i = 0; i < w->code->garbages; i++) memcpy(w->registers + w->code->garbage[i].offset, w->code->image + w->code->garbage[i].offset, w->code->garbage[i].bytes);
    set_specials(w);
    w->early = w->cluster->check && w->cluster->launch->dependent ? w->threads : 0;
    w->waited = 0;
    w->polls = w->polled_next = 0;
    memset(w->polled, 0, sizeof w->polled);
    w->all_polls = w->steps = 0;
    w->writes = w->reads = w->pairs = 0;
    gs_emu_warp_start(w);
}

/* Draws how eagerly this cluster's asynchronous work advances: between at once and at the last moment. */
static void draw_character(gs_emu_cluster *cluster)
{
    static const uint32_t laziness[] = {255, 255, 250, 192, 64, 0};
    cluster->random.state = cluster->launch->seed * 0x9e3779b97f4a7c15ull + cluster->id;
    gs_random_next(&cluster->random);
    cluster->laziness = laziness[gs_random_below(&cluster->random, GS_COUNT(laziness))];
}

static void start_cluster(gs_emu_cluster *cluster, uint32_t id)
{
    const gs_emu_launch *const launch = cluster->launch;
    uint32_t clusters[3], at[3];
    for (int i = 0; i < 3; i++) clusters[i] = launch->grid[i] / launch->cluster[i];
    at[0] = id % clusters[0], at[1] = id / clusters[0] % clusters[1], at[2] = id / clusters[0] / clusters[1];
    cluster->id = id;
    cluster->event = 1;
    cluster->expired = 0;
    cluster->expiries = cluster->told = 0;
    cluster->steps = cluster->work = cluster->quiet_steps = cluster->advanced = cluster->looked = 0;
    gs_emu_peak_start(cluster);
    draw_character(cluster);
    if (cluster->check) gs_emu_check_reset(cluster->check);
    gs_emu_order_start(cluster);
    gs_emu_cluster_barrier_reset(cluster);
    for (int b = 0; b < cluster->blocks; b++) {
        gs_emu_block *const block = &cluster->block[b];
        const uint32_t rank[3] = {(uint32_t)b % launch->cluster[0], (uint32_t)b / launch->cluster[0] % launch->cluster[1],
                                  (uint32_t)b / launch->cluster[0] / launch->cluster[1]};
        for (int i = 0; i < 3; i++) block->id[i] = at[i] * launch->cluster[i] + rank[i];
        block->alive_warps = (uint32_t)block->warps;
        block->exited = false;
        block->copies_in = 0;
        if (block->remote) memset(block->remote, 0, (size_t)(cluster->blocks * block->warps) * sizeof *block->remote);
        memset(block->shared, (int)(gs_random_next(&cluster->random) & 0xff), launch->shared_bytes);   /* as if left by an earlier block */
        gs_emu_barriers_reset(block);
        gs_emu_mbarriers_reset(block);
        for (int i = 0; i < block->warps; i++) start_warp(&block->warp[i]);
    }
    cluster->counters.blocks += (uint64_t)cluster->blocks;
    cluster->counters.clusters++;
}

/* Length of a turn: sometimes a few instructions, for fine interleaving of warps; usually many. */
static uint32_t draw_turn(gs_emu_cluster *cluster)
{
    const uint64_t bits = gs_random_next(&cluster->random);
    static const uint32_t most[] = {8, 64, 512, 2048};
    return 1 + (uint32_t)(bits >> 8 & 0xffff) % most[bits & 3];
}

static gs_emu_warp *choose_warp(gs_emu_cluster *cluster)
{
    const int warps = cluster->block[0].warps, all = warps * cluster->blocks;
    const int first = all > 1 ? (int)gs_random_below(&cluster->random, (uint64_t)all) : 0;
    for (int i = 0; i < all; i++) {
        const int at = first + i < all ? first + i : first + i - all;
        gs_emu_warp *const w = &cluster->block[at / warps].warp[at % warps];
        if (w->fragments && gs_emu_warp_ready(w)) return w;
    }
    return NULL;
}

static bool is_alive(const gs_emu_cluster *cluster)
{
    for (int b = 0; b < cluster->blocks; b++)
        if (cluster->block[b].alive_warps) return true;
    return false;
}

static bool must_end(const gs_emu_cluster *cluster)
{
    const gs_emu_pool *const pool = cluster->launch->pool;
    return cluster->failed || atomic_load_explicit(&pool->failed, memory_order_relaxed) ||
           cluster->id > atomic_load_explicit(&pool->stop, memory_order_relaxed);
}

/* All warps wait. Waits that may give up do so, once each; false: that was tried before. */
static bool expire_waits(gs_emu_cluster *cluster)
{
    cluster->expiries = cluster->event == cluster->expired ? cluster->expiries + 1 : 0;
    if (cluster->expiries > MOST_EXPIRIES) return false;
    gs_emu_happened(cluster);
    cluster->expired = cluster->event;
    return true;
}

/* Whether asynchronous work gets a turn. */
static bool is_time(gs_emu_cluster *cluster, const gs_emu_warp *ready)
{
    return !ready || cluster->quiet_steps > PATIENCE || cluster->steps - cluster->advanced > LONGEST_DELAY ||
           gs_emu_chance(cluster, 255 - cluster->laziness);
}

/* Runs the cluster for about `budget` instructions. true: it has ended, or failed. */
static bool run_cluster(gs_emu_cluster *cluster, uint64_t budget)
{
    const gs_emu_launch *const launch = cluster->launch;
    const uint64_t limit = launch->step_limit ? launch->step_limit : STEP_LIMIT, until = cluster->steps + budget;
    for (cluster->pauses = false; cluster->steps < until && !cluster->pauses && is_alive(cluster);) {
        if (must_end(cluster)) return true;
        gs_emu_warp *const w = choose_warp(cluster);
        if (cluster->tasks && is_time(cluster, w)) gs_emu_task_advance(cluster);
        if (!w) {
            if ((cluster->tasks && cluster->quiet_steps <= QUIET_LIMIT) || choose_warp(cluster) || expire_waits(cluster)) continue;
            gs_emu_report_deadlock(cluster, "nothing is under way and every warp waits:");
            return true;
        }
        const uint64_t before = cluster->steps;
        if (!gs_emu_warp_turn(w, draw_turn(cluster))) {
            gs_emu_stop(cluster);
            return true;
        }
        w->steps += cluster->steps - before;
        if (cluster->steps == before) cluster->quiet_steps++;
        if (cluster->work > limit || cluster->quiet_steps > QUIET_LIMIT) {
            gs_emu_report_endless(cluster, w);
            return true;
        }
    }
    if (is_alive(cluster)) return false;
    while (cluster->tasks && cluster->quiet_steps <= QUIET_LIMIT) gs_emu_task_advance(cluster);
    gs_emu_peak_end(cluster);
    return true;
}

/* ---- the launch ---- */

static void add_counters(gs_emu_launch *launch, const gs_emu_counters *counters)
{
    const uint64_t *const from = (const uint64_t *)(const void *)counters;
    uint64_t *const to = (uint64_t *)(void *)&launch->counters;
    pthread_mutex_lock(&launch->pool->lock);
    for (size_t i = 0; i < sizeof *counters / sizeof *to; i++) to[i] += from[i];
    pthread_mutex_unlock(&launch->pool->lock);
}

static void end_cluster(gs_emu_cluster *cluster)
{
    add_counters(cluster->launch, &cluster->counters);
    destroy_cluster(cluster);
}

static void *run_thread(void *argument)
{
    gs_emu_launch *const launch = argument;
    gs_emu_pool *const pool = launch->pool;
    gs_emu_cluster *const cluster = create_cluster(launch);
    if (!cluster) {
        atomic_store(&pool->failed, true);
        return NULL;
    }
    for (uint64_t id; (id = atomic_fetch_add(&pool->next, 1)) < pool->clusters;) {
        start_cluster(cluster, (uint32_t)id);
        if (must_end(cluster)) break;
        run_cluster(cluster, UINT64_MAX / 2);
    }
    end_cluster(cluster);
    return NULL;
}

/* Launches whose blocks may communicate. Blocks start in waves of as many as the device can hold: CUDA does not guarantee a waiting block that another one, which has
 * not started, will start before it ends. */
typedef struct talk {
    gs_emu_launch  *launch;
    gs_emu_cluster **resident;        /* running clusters */
    gs_emu_cluster *spare;
    uint32_t        next, started;    /* next cluster; number of this wave's clusters that have started */
    uint32_t        room;             /* size of a wave */
    int             count, most;      /* running; currently at most `most` */
    uint64_t        turn, went_on;    /* turns so far; the last turn in which a cluster ended or did more than poll */
    uint64_t        late;             /* id of a delayed cluster, which gets no turn for long; GS_EMU_NOBODY: none */
} talk;

/* Whether every warp of the cluster waits, or has polled without news so many times. */
static bool is_stuck(const gs_emu_cluster *cluster, uint32_t polls)
{
    bool looks = false;
    for (int b = 0; !cluster->tasks && b < cluster->blocks; b++)
        for (int i = 0; i < cluster->block[b].warps; i++) {
            const gs_emu_warp *const w = &cluster->block[b].warp[i];
            if (w->fragments == 0) continue;
            if (w->polls < polls && gs_emu_warp_ready(w)) return false;
            looks = looks || w->polls >= polls;
        }
    return looks;
}

static bool all_stuck(const talk *t, uint32_t polls)
{
    for (int i = 0; i < t->count; i++)
        if (!is_stuck(t->resident[i], polls)) return false;
    return t->count > 0;
}

static void start_next(talk *t)
{
    gs_emu_cluster *const fresh = t->spare ? t->spare : create_cluster(t->launch);
    t->spare = NULL;
    if (!fresh) {
        atomic_store(&t->launch->pool->failed, true);
        return;
    }
    start_cluster(fresh, t->next++);
    t->resident[t->count++] = fresh;
    t->started++;
}

static void report_stuck(const talk *t)
{
    char head[192];
    gs_emu_cluster *first = t->resident[0];
    for (int i = 1; i < t->count; i++)
        if (t->resident[i]->id < first->id) first = t->resident[i];
    if (t->next < t->launch->pool->clusters)
        snprintf(head, sizeof head, "a block waits for one that has not started: the device holds %u of %u %s at once;", t->room, t->launch->pool->clusters,
                 first->blocks > 1 ? "clusters" : "blocks");
    else
        snprintf(head, sizeof head, "all blocks that have not ended wait for another one:");
    gs_emu_report_deadlock(first, head);
}

/* All running clusters may be waiting for another one: starts more of the wave, or reports a deadlock if there is none. */
static void help_stuck(talk *t)
{
    bool looked = true;   /* every cluster has polled since the last one made progress or ended, so what they wait for may be there */
    for (int i = 0; i < t->count; i++) looked = looked && t->resident[i]->looked > t->went_on;
    const gs_emu_pool *const pool = t->launch->pool;
    const bool more = t->next < pool->clusters && t->started < t->room;
    const int limit = (int)GS_MIN((uint32_t)pool->at_once, t->room);
    if (more && t->most < limit && all_stuck(t, POLLS_TO_GROW)) t->most = GS_MIN(2 * t->most, limit);
    if (!more && looked && all_stuck(t, POLLS_TO_END)) report_stuck(t);
}

/* Chooses the cluster that gets a turn. Sometimes one is delayed: it gets no turn until all others have polled so often that waits with a limit have given up. */
static int choose_resident(talk *t, gs_random *random)
{
    const int at = (int)gs_random_below(random, (uint64_t)t->count);
    if (t->late == GS_EMU_NOBODY || t->resident[at]->id != t->late || t->count == 1) return at;
    for (int i = 1, first = (int)gs_random_below(random, (uint64_t)t->count); i <= t->count; i++) {
        const int other = (first + i) % t->count;
        if (other != at && !is_stuck(t->resident[other], POLLS_TO_BE_LATE)) return other;
    }
    t->late = GS_EMU_NOBODY;
    return at;
}

static void talk_on(talk *t)
{
    gs_emu_pool *const pool = t->launch->pool;
    gs_random random = {t->launch->seed ^ 0x5bd1e995};
    gs_random other = {t->launch->seed ^ 0x7f4a7c15};
    t->launch->unseen = t->launch->code->talks && gs_random_below(&other, UNSEEN_EVERY) == 0;
    t->late = gs_random_below(&other, LATE_EVERY) == 0 ? gs_random_below(&other, GS_MIN(pool->clusters, (uint32_t)t->most)) : GS_EMU_NOBODY;
    while ((t->count || t->next < pool->clusters) && !atomic_load(&pool->failed) && atomic_load(&pool->stop) == GS_EMU_NOBODY) {
        if (t->count == 0) t->started = 0;
        if (t->next < pool->clusters && t->started < t->room && t->count < t->most && (t->count == 0 || (gs_random_next(&random) & 1))) start_next(t);
        if (atomic_load(&pool->failed)) break;
        const int at = choose_resident(t, &random);
        t->turn++;
        if (run_cluster(t->resident[at], TALK_TURN << 2 * (gs_random_next(&random) >> 62))) {
            t->went_on = t->turn;
            gs_emu_unseen_leave(t->resident[at]);
            if (t->spare) end_cluster(t->spare);
            t->spare = t->resident[at];
            t->resident[at] = t->resident[--t->count];
            continue;
        }
        if (is_stuck(t->resident[at], POLLS_TO_END)) t->resident[at]->looked = t->turn;
        else t->went_on = t->turn;
        const bool waits = t->launch->unseen && is_stuck(t->resident[at], POLLS_TO_SHOW);
        if ((waits || (t->launch->unseen && gs_random_below(&other, SHOWN_EVERY) == 0)) && gs_emu_unseen_show_some(t->resident[at], &other, waits)) t->went_on = t->turn;
        if (is_stuck(t->resident[at], POLLS_TO_GROW)) help_stuck(t);
    }
    gs_emu_unseen_end(t->launch);
}

/* Blocks may wait for each other or add floating-point numbers: one thread; turns of clusters are drawn from the seed. */
static void run_talking(gs_emu_launch *launch)
{
    gs_emu_pool *const pool = launch->pool;
    const int blocks = (int)(launch->cluster[0] * launch->cluster[1] * launch->cluster[2]);
    talk t = {.launch = launch, .room = launch->resident ? launch->resident : UINT32_MAX};
    t.room = GS_MIN(t.room, pool->clusters);
    t.most = (int)GS_MIN((uint32_t)GS_MAX(GS_MIN(GS_MIN(launch->sms / blocks, pool->at_once), TALK_RESIDENT), 1), t.room);
    t.resident = malloc(GS_MIN(t.room, (uint32_t)GS_MAX(pool->at_once, 1)) * sizeof(gs_emu_cluster *));
    if (t.resident) talk_on(&t);
    else atomic_store(&pool->failed, true);
    if (t.spare) end_cluster(t.spare);
    for (int i = 0; i < t.count; i++) end_cluster(t.resident[i]);
    free(t.resident);
}

static void run_all(gs_emu_launch *launch)
{
    gs_emu_pool *const pool = launch->pool;
    pthread_t thread[MOST_THREADS];
    if (launch->code->talks || pool->order) {
        run_talking(launch);
        return;
    }
    int wanted = launch->threads ? launch->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    wanted = (int)GS_MIN((uint32_t)GS_MAX(wanted, 1), GS_MIN(pool->clusters, (uint32_t)GS_MIN(pool->at_once, MOST_THREADS)));
    int started = 0;
    while (started < wanted - 1 && pthread_create(&thread[started], NULL, run_thread, launch) == 0) started++;
    run_thread(launch);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

/* Limits the memory for virtual registers and local memory of all threads of a cluster. */
static gs_status check_memory(gs_emu_launch *launch, uint64_t blocks, gs_error *error)
{
    const gs_emu_code *const code = launch->code;
    const uint64_t warp = code->register_bytes + (uint64_t)code->local_bytes * GS_EMU_LANES + sizeof(gs_emu_warp);
    const uint64_t bytes = blocks * (launch->shared_bytes + (uint64_t)launch->pool->warps * warp);
    if (bytes > MOST_BYTES)
        return gs_fail(error, GS_ERROR_LAUNCH, "block", "a cluster of it takes %llu MiB for registers, local and shared memory: the emulated device has %u",
                       (unsigned long long)(bytes >> 20), MOST_BYTES >> 20);
    launch->pool->at_once = (int)(MOST_BYTES / bytes);
    return GS_OK;
}

static gs_status check_shape(gs_emu_launch *launch, gs_error *error)
{
    const gs_ptx_entry *const entry = launch->code->entry;
    uint64_t threads = 1, blocks = 1, cluster = 1, most = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->block[i] == 0 || launch->cluster[i] == 0)
            return gs_fail(error, GS_ERROR_LAUNCH, "grid", "an extent of grid, block or cluster is 0");
        if (launch->grid[i] % launch->cluster[i])
            return gs_fail(error, GS_ERROR_LAUNCH, "cluster", "a grid of %u blocks is no multiple of a cluster of %u", launch->grid[i], launch->cluster[i]);
        if (launch->grid[i] > (i == 0 ? 0x7fffffffu : 65535u) || launch->block[i] > 1024 || launch->cluster[i] > MOST_BLOCKS)
            return gs_fail(error, GS_ERROR_LAUNCH, "grid", "grid, block or cluster is too big: %u, %u, %u", launch->grid[i], launch->block[i], launch->cluster[i]);
        threads *= launch->block[i];
        blocks *= launch->grid[i];
        cluster *= launch->cluster[i];
        most *= entry->reqntid[i] ? entry->reqntid[i] : GS_MAX(entry->maxntid[i], 1u);
    }
    for (int i = 0; i < 3; i++) {
        const uint32_t required = GS_MAX(entry->reqntid[i], 1u);
        if (entry->reqntid[0] && launch->block[i] != required)
            return gs_fail(error, GS_ERROR_LAUNCH, "block", "an extent of the block is %u, the kernel requires %u", launch->block[i], required);
    }
    const bool limited = entry->maxntid[0] || entry->reqntid[0];
    if (threads > 1024 || (limited && threads > most))
        return gs_fail(error, GS_ERROR_LAUNCH, "block", "%llu threads in a block, at most %llu", (unsigned long long)threads,
                       (unsigned long long)(limited ? GS_MIN(most, 1024u) : 1024u));
    if (cluster > MOST_BLOCKS || blocks > 0xffffffffu)
        return gs_fail(error, GS_ERROR_LAUNCH, "grid", "%llu blocks in clusters of %llu", (unsigned long long)blocks, (unsigned long long)cluster);
    const uint64_t shared = (uint64_t)launch->code->dynamic_offset + launch->smem;
    if (shared > (uint64_t)launch->code->reserved + launch->smem_limit)
        return gs_fail(error, GS_ERROR_LAUNCH, "smem", "%llu bytes of shared memory, a block may have %u", (unsigned long long)(shared - launch->code->reserved), launch->smem_limit);
    launch->shared_bytes = (uint32_t)shared;
    launch->pool->threads = (uint32_t)threads;
    launch->pool->warps = (int)(threads + GS_EMU_LANES - 1) / GS_EMU_LANES;
    launch->pool->clusters = (uint32_t)(blocks / cluster);
    return check_memory(launch, cluster, error);
}

static gs_status outcome(gs_emu_launch *launch, gs_error *error)
{
    char line[1024];
    gs_emu_sort_findings(launch);
    if (launch->check && launch->dependent && !launch->findings && !atomic_load(&launch->pool->waited)) gs_emu_report_unwaited(launch);
    if (launch->findings) {
        gs_emu_finding_format(&launch->finding[0], line, sizeof line);
        return gs_fail(error, GS_ERROR_FAULT, NULL, "%s", line);
    }
    if (atomic_load(&launch->pool->failed) || atomic_load(&launch->pool->stop) != GS_EMU_NOBODY)
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an emulated launch");
    return GS_OK;
}

gs_status gs_emu_run(gs_emu_launch *launch, gs_error *error)
{
    gs_emu_pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop = GS_EMU_NOBODY};
    launch->pool = &pool;
    launch->finding = NULL;
    launch->findings = 0;
    launch->findings_total = 0;
    launch->counters = (gs_emu_counters){0};
    launch->peak = (gs_emu_peak){.cluster = UINT32_MAX};
    launch->polls = 0;
    gs_status status = check_shape(launch, error);
    if (status == GS_OK && !(launch->finding = calloc(GS_EMU_MOST_FINDINGS, sizeof *launch->finding)))
        status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for findings");
    if (status == GS_OK && launch->check && (launch->code->talks || launch->order) &&
        !(pool.order = gs_emu_order_create(pool.warps * (int)(launch->cluster[0] * launch->cluster[1] * launch->cluster[2]))))
        status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an emulated launch");
    if (status == GS_OK) {
        const gs_emu_span *const constant = &launch->constant;
        if (launch->check && launch->dependent && gs_emu_memory_stored(launch->memory, constant->from, constant->to - constant->from)) gs_emu_report_overwritten(launch);
        gs_emu_memory_settle(launch->memory);
        run_all(launch);
        gs_emu_memory_footprint(launch->memory, &launch->counters.device_load, &launch->counters.device_store);
        status = outcome(launch, error);
    }
    gs_emu_order_destroy(pool.order);
    launch->pool = NULL;
    return status;
}

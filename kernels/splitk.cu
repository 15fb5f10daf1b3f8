/* SPDX-License-Identifier: MIT
 * Family splitk: Hopper, one tile and one share of K per block. A producer warp asks for every stage at once and refills what comes back;
 * consumer warpgroups multiply with wgmma. Blocks that share a tile's K hand their parts to each other: in a cluster through shared
 * memory, across the grid through the workspace, by tickets.
 *
 * wgmma multiplies X (64 rows at a time) by Y (8 to 256 columns). Order ab: X is A, Y is B. Order ba: X is B's columns, Y is A's rows, and
 * the accumulators hold the transposed tile. An operand is K-major (rows of K: A of nn and tn, B of tn and tt) or not.
 *
 * Set by the builder (src/family/splitk.c): GS_BATCHED (1: maps of a batch), GS_IN GS_ACC GS_OUT GS_LAYOUT GS_BETA, GS_FIXED and sizes (kernel.h); GS_BM GS_BN GS_BK (tile),
 * GS_STAGES, GS_ORDER (0 ab, 1 ba), GS_CM GS_CN (blocks of a cluster along M, N, which share operands), GS_CK (blocks of a cluster along
 * K), GS_TICKETS (shares of K that meet in the workspace, each of GS_CK blocks), GS_ROWS_A GS_ROWS_B (rows of a K-major box: fewer than the
 * tile's where the matrix has no more), GS_WALK_N (1: neighbouring blocks are neighbours along N), GS_VECTOR (1: rows of D start and end at
 * multiples of 16 bytes; f32: of 8), GS_UNITS (1: C is read by units of 16 bytes, 2: the aux of a gradient; 0: either by element), GS_BLOCKS (of a multiprocessor), GS_FEED_A GS_FEED_B (who brings an operand, common/feed.cuh:
 * tensor copies, or threads; the producer has four warps then; or tensor copies of eighths of both operands, to the stages, from which consumers shift them to a ring of
 * their own, common/eighths.cuh).
 *
 * GS_GATE: what is multiplied has twice the columns of D, as in ws.cu: eight of the gate, eight of up in turn, as B's map brings them
 * (GS_TURN: 1) or a copy has them. GS_BN counts columns of the product. */
#ifndef GS_EARLY_B   /* in a dependent launch B may be read before the launch before has ended, where p.early_b says so */
#define GS_EARLY_B 0
#endif
#if GS_EARLY_B
#define EARLY_B(p) ((p).early_b != 0)
#else
#define EARLY_B(p) false
#endif
#ifndef GS_BATCHED
#define GS_BATCHED 0
#endif
#ifndef GS_TURN
#define GS_TURN 0
#endif

#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/eighths.cuh"
#include "common/epilogue.cuh"
#include "common/exchange.cuh"
#include "common/feed.cuh"
#include "common/mbarrier.cuh"
#include "common/mma_sync.cuh"
#include "common/rows.cuh"
#include "common/sizes.cuh"
#include "common/strides.cuh"
#include "common/tma.cuh"
#if GS_ORDER == 0
#define GS_WGMMA_N GS_BN
#else
#define GS_WGMMA_N GS_BM
#endif
#include "common/wgmma.cuh"
#ifdef GS_PACK_A
#include "common/pack.cuh"
#endif

#if GS_ORDER == 0
#define BX GS_BM
#define ROWS_X GS_ROWS_A
#define ROWS_Y GS_ROWS_B
#define X_ALONG_K GS_A_ALONG_K
#define Y_ALONG_K GS_B_ALONG_K
#define X_SHARED (GS_CN > 1)
#define Y_SHARED (GS_CM > 1)
#define FEED_X GS_FEED_A
#define SAME_X (GS_SAME & 1)                         /* all matrices of the batch have one */
#define SAME_Y (GS_SAME & 2)
#define FEED_Y GS_FEED_B
#else
#define BX GS_BN
#define ROWS_X GS_ROWS_B
#define ROWS_Y GS_ROWS_A
#define X_ALONG_K GS_B_ALONG_K
#define Y_ALONG_K GS_A_ALONG_K
#define X_SHARED (GS_CM > 1)
#define Y_SHARED (GS_CN > 1)
#define FEED_X GS_FEED_B
#define SAME_X (GS_SAME & 2)
#define SAME_Y (GS_SAME & 1)
#define FEED_Y GS_FEED_A
#endif
#define BY GS_WGMMA_N

#define SHARERS (GS_CM * GS_CN)                      /* blocks that share an operand; along one direction only */
#define CLUSTER (SHARERS * GS_CK)
#define SHARES (GS_CK * GS_TICKETS)                  /* of K */
#define CONSUMERS (BX == 64 ? 1 : BX == 192 ? 3 : 2) /* warpgroups */
#define WORKERS (CONSUMERS * 128)                    /* their threads */
#define SHIFT (FEED_X == 3)                          /* both operands */
#define FEED ((FEED_X || FEED_Y) && !SHIFT)          /* operands are not shared then */
#define THREADS (WORKERS + (FEED ? GS_FEED_THREADS : 32))
#define ROW_BLOCKS (BX / 64 / CONSUMERS)             /* 64-row blocks of a consumer */
#define GROUPS (BY / 8)                              /* of 8 columns: 4 accumulators of a thread */
#if GS_GATE && GS_ORDER == 0
#define SLICE ((GROUPS / 2 + GS_CK - 1) / GS_CK * 2) /* pairs of them */
#else
#define SLICE ((GROUPS + GS_CK - 1) / GS_CK)         /* groups that one block of a cluster along K adds up and stores */
#endif
#define X_BYTES (BX * GS_BK * 2)
#define Y_BYTES (BY * GS_BK * 2)
#if SHIFT
#define STAGE_BYTES (GS_SLOT_BYTES(BX) + GS_SLOT_BYTES(BY))
#define RING_BYTES (GS_SHIFTED * (X_BYTES + Y_BYTES))   /* k-blocks that are multiplied from, in front of the stages */
#define MORE_K GS_MORE_K
#else
#define STAGE_BYTES (X_BYTES + Y_BYTES)
#define RING_BYTES 0
#define MORE_K 0
#endif
#define LANDING_X (FEED_X && !SHIFT ? 0 : X_ALONG_K ? ROWS_X * GS_BK * 2 : X_BYTES)   /* of them, by tensor copies */
#define LANDING_Y (FEED_Y && !SHIFT ? 0 : Y_ALONG_K ? ROWS_Y * GS_BK * 2 : Y_BYTES)
#define LANDING_BYTES (LANDING_X + LANDING_Y)
#define BESIDE_X (FEED_X == 2 ? X_BYTES / 8 : 0)      /* bytes of a stage: ninth units of rows */
#define BESIDE_Y (FEED_Y == 2 ? Y_BYTES / 8 : 0)
#define AHEAD (GS_STAGES > 2 ? GS_STAGES - 2 : 0)    /* stages that threads have under way while the oldest is waited for; consumers hold one, and release it late */
#define REHEARSED (GS_TICKETS == 1 && ROW_BLOCKS * BY / 2 <= 64 && !GS_SCALARS)   /* registers: sums live from pass to pass; scalars may come late */
#define OWN_KEPT (ROW_BLOCKS * SLICE <= (GS_BLOCKS > 1 || CONSUMERS == 3 ? 4 : 8))   /* registers: the last block's own part lives until the others come from the workspace */
#define RAGGED (SLICE * GS_CK != GROUPS)              /* the last slices have fewer groups */
#define SLICE_BYTES (ROW_BLOCKS * SLICE * WORKERS * 16)
#define PARTS_BYTES ((GS_CK - 1) * SLICE_BYTES)      /* what the other blocks of a cluster send */
#define CHUNK (SLICE < 8 ? SLICE : 8)                /* most groups in a warp's buffer for the transposition of f16 and bf16 */
#define BUFFER_BYTES (GS_OUT == 2 ? 0 : CHUNK * 256)

#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)
#define FIRST_COUNT (SLICE >= 8 ? 8 : SLICE >= 4 ? 4 : SLICE >= 2 ? 2 : 1)   /* groups that are stored first */
#define EARLY_BIAS (GS_BIAS && !GS_GATE)
#define BIAS_ALONG_Y ((GS_BIAS == 1) != GS_ORDER)
#define RUNS ((SLICE * 8 + GS_BIAS_RUN - 1) / GS_BIAS_RUN)

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#if GS_IN == 0
#define WGMMA PASTE(gs_wgmma_n, BY, _f32_f16)<1 - Y_ALONG_K, 1 - X_ALONG_K>
#else
#define WGMMA PASTE(gs_wgmma_n, BY, _f32_bf16)<1 - Y_ALONG_K, 1 - X_ALONG_K>
#endif

/* Columns that are compiled in and divisible need no guard. */
#if defined(GS_FIXED) && !GS_GATE
#define GUARD_N (GS_N % GS_BN != 0 || (GS_ORDER == 0 && RAGGED))
#else
#define GUARD_N 1
#endif

/* Which tile and which part of it is this block's. A cluster is neighbours: along M or N, and all along K. */
typedef struct place {
    int m, n;                  /* first row and column of the tile */
    unsigned rank;             /* among those that share an operand */
    unsigned rank_k;           /* among those of the cluster along K */
    unsigned share;            /* which of SHARES */
#if GS_BATCHED
    int index;                 /* of the batch */
#endif
} place;

static __device__ __forceinline__ int index_of(const place &at)
{
#if GS_BATCHED
    return at.index;
#else
    (void)at;
    return 0;
#endif
}

static __device__ __forceinline__ place place_of_block(void)
{
    const unsigned tile_m = GS_WALK_N ? blockIdx.y : blockIdx.x, tile_n = GS_WALK_N ? blockIdx.x : blockIdx.y;
    const unsigned rank = GS_CM > 1 ? tile_m % GS_CM : tile_n % GS_CN;
#if GS_BATCHED
    const unsigned share = blockIdx.z % SHARES;
    return {(int)tile_m * GS_BM, (int)tile_n * GS_BN, rank, share % GS_CK, share, (int)(blockIdx.z / SHARES)};
#else
    const unsigned share = SHARES > 1 ? blockIdx.z : 0;
    return {(int)tile_m * GS_BM, (int)tile_n * GS_BN, rank, share % GS_CK, share};
#endif
}

/* First k-block of the block's share, and how many there are. */
static __device__ __forceinline__ int first_block(unsigned share, unsigned all) { return share * (all / SHARES) + min(share, all % SHARES); }
static __device__ __forceinline__ int count_blocks(unsigned share, unsigned all) { return all / SHARES + (share < all % SHARES); }

/* ---- the producer ---- */

/* What all of a producer's copies have in common. */
typedef struct source {
#if SHIFT
    gs_eighths x, y;
#else
    const gs_tensor_map *x, *y;
#endif
    int row_x, row_y;                /* first rows of the tile */
    unsigned rank;
    unsigned short mask;             /* those that share an operand */
    int index;                       /* of the batch */
} source;

template <bool SHARED>
static __device__ __forceinline__ void load_box(unsigned to, const gs_tensor_map *map, int x, int y, unsigned full, const source &from, bool same)
{
    const int index = same ? 0 : from.index;
#if GS_BATCHED
    if (SHARED)
        gs_tma_load_multicast_of(to, map, x, y, index, full, from.mask);
    else
        gs_tma_load_of(to, map, x, y, index, full);
#else
    if (SHARED)
        gs_tma_load_multicast(to, map, x, y, full, from.mask);
    else
        gs_tma_load(to, map, x, y, full);
#endif
    (void)index;
}

#if GS_TURN
/* The same of B, whose rows the map has in turn. */
template <bool SHARED>
static __device__ __forceinline__ void load_box_in_turn(unsigned to, const gs_tensor_map *map, int k, int row, unsigned full, const source &from, bool same)
{
    const int index = same ? 0 : from.index;
#if GS_BATCHED
    if (SHARED)
        gs_tma_load_turn_multicast_of(to, map, k, row / 16, index, full, from.mask);
    else
        gs_tma_load_turn_of(to, map, k, row / 16, index, full);
#else
    if (SHARED)
        gs_tma_load_turn_multicast(to, map, k, row / 16, full, from.mask);
    else
        gs_tma_load_turn(to, map, k, row / 16, full);
#endif
    (void)index;
}
#endif

/* One k-block of an operand of ROWS rows, from `row` on. same: all matrices of the batch have one. */
template <int ROWS, bool ALONG_K, bool SHARED, bool TURN>
static __device__ __forceinline__ void load_operand(unsigned to, const gs_tensor_map *map, int row, int k, unsigned full, const source &from, bool same)
{
    if (ALONG_K) {
#pragma unroll
        for (int half = 0; half < GS_BK / 64; half++) {
#if GS_TURN
            if (TURN) {
                load_box_in_turn<SHARED>(to + half * ROWS * 128, map, k + half * 64, row, full, from, same);
                continue;
            }
#endif
            load_box<SHARED>(to + half * ROWS * 128, map, k + half * 64, row, full, from, same);
        }
    } else {
#pragma unroll
        for (int box = 0; box < ROWS / 64; box++) load_box<SHARED>(to + box * GS_BK * 128, map, row + box * 64, k, full, from, same);
    }
}

enum { LOAD_A = 1, LOAD_B = 2, LOAD_X = GS_ORDER ? LOAD_B : LOAD_A, LOAD_Y = GS_ORDER ? LOAD_A : LOAD_B, LOAD_BOTH = 3 };

/* What a k-block of this block needs and nobody else. */
template <int OPERANDS = LOAD_BOTH>
static __device__ __forceinline__ void load_own(unsigned to, int k, unsigned full, const source &from)
{
#if SHIFT
    gs_eighths_bring<BX>(to, from.x, k, from.row_x, full);
    gs_eighths_bring<BY>(to + GS_SLOT_BYTES(BX), from.y, k, from.row_y, full);
#else
    if (!X_SHARED && !FEED_X && OPERANDS & LOAD_X) load_operand<BX, X_ALONG_K, false, GS_TURN && GS_ORDER>(to, from.x, from.row_x, k, full, from, SAME_X);
    if (!Y_SHARED && !FEED_Y && OPERANDS & LOAD_Y) load_operand<BY, Y_ALONG_K, false, GS_TURN && !GS_ORDER>(to + X_BYTES, from.y, from.row_y, k, full, from, SAME_Y);
#endif
}

/* What all sharers need: one of them copies it for all, stage by stage another one. */
template <int OPERANDS = LOAD_BOTH>
static __device__ __forceinline__ void load_shared(unsigned to, int k, unsigned full, unsigned stage, const source &from)
{
    if (stage % SHARERS != from.rank) return;
#if !SHIFT
    if (X_SHARED && OPERANDS & LOAD_X) load_operand<BX, X_ALONG_K, true, GS_TURN && GS_ORDER>(to, from.x, from.row_x, k, full, from, SAME_X);
    if (Y_SHARED && OPERANDS & LOAD_Y) load_operand<BY, Y_ALONG_K, true, GS_TURN && !GS_ORDER>(to + X_BYTES, from.y, from.row_y, k, full, from, SAME_Y);
#endif
}

/* The producer warp's begin: barriers, and copies for all stages. The barriers are its own until it says so: copies start before the other
 * warps have come so far. early_b: B's before the launch before has ended, A's when it has. */
static __device__ __forceinline__ void begin(const source &from, unsigned stages, unsigned full, int first, int blocks, const place &at, bool early_b)
{
    const unsigned empty = full + GS_STAGES * 8, parts = empty + GS_STAGES * 8;
    const bool leader = gs_elect();
    const int ahead = min(blocks, GS_STAGES);
    if (leader) {
#if !SHIFT
        if (!FEED_X) gs_tma_prefetch(from.x);
        if (!FEED_Y) gs_tma_prefetch(from.y);
#endif
#pragma unroll
        for (int s = 0; s < GS_STAGES; s++) gs_mbarrier_init(full + s * 8, FEED ? 4 + (LANDING_BYTES > 0) : 1);
        if (blocks > GS_STAGES) {
#pragma unroll
            for (int s = 0; s < GS_STAGES; s++) gs_mbarrier_init(empty + s * 8, CONSUMERS * 4 * SHARERS);
        }
        if (GS_CK > 1) gs_mbarrier_init(parts, 1);
        gs_mbarrier_fence_init();
    }
    __syncwarp();
    gs_named_arrive(1, THREADS);
    if (CLUSTER > 1) gs_cluster_arrive();
    if (leader) {
        if (GS_CK > 1) gs_mbarrier_expect(parts, (GS_CK - 1) * ROW_BLOCKS * max(0, min(SLICE, GROUPS - (int)at.rank_k * SLICE)) * WORKERS * 16);
        if (!early_b) gs_dependent_wait();
#pragma unroll 1
        for (int s = 0; LANDING_BYTES > 0 && s < ahead; s++) {
            gs_mbarrier_expect(full + s * 8, LANDING_BYTES);
            if (early_b) load_own<LOAD_B>(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, from);
            else load_own(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, from);
        }
    }
    if (SHARERS > 1) {
        __syncwarp();
        gs_cluster_wait();
        if (leader) {
#pragma unroll 1
            for (int s = 0; s < ahead; s++) {
                if (early_b) load_shared<LOAD_B>(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, s, from);
                else load_shared(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, s, from);
            }
        }
    }
    if (early_b && leader) {
        gs_dependent_wait();
#pragma unroll 1
        for (int s = 0; s < ahead; s++) {
            load_own<LOAD_A>(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, from);
            if (SHARERS > 1) load_shared<LOAD_A>(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, s, from);
        }
    }
    __syncwarp();
}

#if FEED
/* What the producer's threads need to bring stages. */
typedef struct feeder {
    gs_operand x, y;
    gs_feed_share own_x, own_y;
    int thread;
    unsigned stages, beside;
} feeder;

static __device__ __forceinline__ feeder feeder_of(const gs_kernel_args &p, unsigned stages, unsigned beside)
{
    const int thread = threadIdx.x - WORKERS;
    const gs_operand x = GS_ORDER ? gs_operand_b(p) : gs_operand_a(p), y = GS_ORDER ? gs_operand_a(p) : gs_operand_b(p);
    return {x, y, gs_feed_share_of(x, thread), gs_feed_share_of(y, thread), thread, stages, beside};
}

static __device__ __forceinline__ void feed_stage(const feeder &f, const source &from, unsigned stage, int k)
{
    const unsigned to = f.stages + stage * STAGE_BYTES, beside = f.beside + stage * (BESIDE_X + BESIDE_Y);
    gs_feed_operand<BX, GS_BK, X_ALONG_K, FEED_X>(f.x, f.own_x, to, beside, from.row_x, k, f.thread);
    gs_feed_operand<BY, GS_BK, Y_ALONG_K, FEED_Y>(f.y, f.own_y, to + X_BYTES, beside + BESIDE_X, from.row_y, k, f.thread);
}

/* A stage whose copies have arrived goes to the consumers. */
static __device__ __forceinline__ void hand_over(const feeder &f, unsigned full, unsigned stage)
{
    const unsigned to = f.stages + stage * STAGE_BYTES, beside = f.beside + stage * (BESIDE_X + BESIDE_Y);
    gs_shift_operand<BX, GS_BK, X_ALONG_K, FEED_X>(f.own_x, to, beside);
    gs_shift_operand<BY, GS_BK, Y_ALONG_K, FEED_Y>(f.own_y, to + X_BYTES, beside + BESIDE_X);
    gs_feed_arrive(full + stage * 8);
}

/* The producer's four warps, once the barriers are there. Every k-block is a group of copies; behind the last one groups are empty. */
static __device__ __forceinline__ void feed(const feeder &f, const source &from, unsigned full, int first, int blocks)
{
    const unsigned empty = full + GS_STAGES * 8;
    int stage = 0, oldest = 0;
    unsigned phase = 1;
#pragma unroll 1
    for (int block = 0; block < blocks + AHEAD; block++) {
        if (block < blocks) {
            if (block >= GS_STAGES) {
                gs_mbarrier_wait(empty + stage * 8, phase);
                if (LANDING_BYTES > 0 && f.thread < 32 && gs_elect()) {
                    gs_mbarrier_expect(full + stage * 8, LANDING_BYTES);
                    load_own(f.stages + stage * STAGE_BYTES, (first + block) * GS_BK, full + stage * 8, from);
                }
            }
            feed_stage(f, from, stage, (first + block) * GS_BK);
            if (++stage == GS_STAGES) stage = 0, phase ^= 1;
        } else if (block == blocks) {
            gs_dependent_launch();
        }
        gs_cp_async_commit();
        if (block < AHEAD) continue;
        gs_cp_async_wait<AHEAD>();
        hand_over(f, full, oldest);
        if (++oldest == GS_STAGES) oldest = 0;
    }
    if (CLUSTER > 1) gs_cluster_wait();
}
#endif

/* The producer warp goes on: stages that came back are filled again. */
static __device__ __forceinline__ void refill(const source &from, unsigned stages, unsigned full, int first, int blocks)
{
    const unsigned empty = full + GS_STAGES * 8;
    if (blocks > GS_STAGES && gs_elect()) {
        int stage = 0;
        unsigned phase = 0;
#pragma unroll 1
        for (int block = GS_STAGES; block < blocks; block++) {
            gs_mbarrier_wait(empty + stage * 8, phase);
            gs_mbarrier_expect(full + stage * 8, LANDING_BYTES);
            load_own(stages + stage * STAGE_BYTES, (first + block) * GS_BK, full + stage * 8, from);
            if (SHARERS > 1) load_shared(stages + stage * STAGE_BYTES, (first + block) * GS_BK, full + stage * 8, stage, from);
            if (++stage == GS_STAGES) stage = 0, phase ^= 1;
        }
    }
    if (gs_elect()) gs_dependent_launch();   /* behind the last copy: blocks of the next launch then take nothing from these */
    __syncwarp();
    if (CLUSTER > 1 && SHARERS == 1) gs_cluster_wait();
}

/* ---- the consumers: multiplication ---- */

/* Rows of a tile that the matrix does not have, and no copy brings: zeros, once. Nobody stores what they lead to, but it is computed. */
template <int ROWS, int COPIED>
static __device__ __forceinline__ void clear_rows(unsigned operand, int stages)
{
    constexpr int PIECES = (ROWS - COPIED) * 8;   /* of 16 bytes, in 64 k */
    if constexpr (PIECES > 0)
        for (int s = 0; s < stages; s++)
            for (int half = 0; half < GS_BK / 64; half++)
                for (int piece = threadIdx.x; piece < PIECES; piece += WORKERS)
                    gs_store_shared_zero(operand + s * STAGE_BYTES + half * ROWS * 128 + COPIED * 128 + piece * 16);
}

/* The steps of one k-block for all of this consumer's rows. x, y: low words of the operands' descriptors. */
static __device__ __forceinline__ void multiply_stage(float (&acc)[ROW_BLOCKS][BY / 2], unsigned x, unsigned y, bool first)
{
    gs_wgmma_fence();
#pragma unroll
    for (int step = 0; step < GS_BK / 16; step++) {
        const int x_step = X_ALONG_K ? step / 4 * BX * 128 + step % 4 * 32 : step * 2048;
        const int y_step = Y_ALONG_K ? step / 4 * BY * 128 + step % 4 * 32 : step * 2048;
#pragma unroll
        for (int block = 0; block < ROW_BLOCKS; block++) {
            const int x_block = block * (X_ALONG_K ? 8192 : GS_BK * 128);
            WGMMA(acc[block], gs_wgmma_words<128>(x + (x_step + x_block) / 16), gs_wgmma_words<128>(y + y_step / 16), step > 0 || !first);
        }
    }
    gs_wgmma_commit();
}

#if SHIFT
/* brought: k-blocks that come, of which `blocks` are multiplied. Who multiplies shifts them first, to one of two places: when all meet, all have seen the end of what they issued
 * before, and the other place is free. */
static __device__ __forceinline__ void multiply_shifted(float (&acc)[ROW_BLOCKS][BY / 2], const gs_kernel_args &p, unsigned ring, unsigned stages, unsigned full, int blocks, int brought,
                                                        int consumer)
{
    const unsigned empty = full + GS_STAGES * 8, y_ring = ring + GS_SHIFTED * X_BYTES;
    const gs_shift_share own = gs_shift_share_of<GS_ORDER>(p, threadIdx.x);
    const unsigned x = gs_wgmma_low(ring + consumer * ROW_BLOCKS * 8192, 0), y = gs_wgmma_low(y_ring, 0);
    unsigned slot = 0, phase = 0, to = 0;
#pragma unroll 1
    for (int block = 0; block < blocks; block++) {
        const bool last = block == brought - 1;
        const unsigned next = slot + 1 == GS_STAGES ? 0 : slot + 1, units = stages + slot * STAGE_BYTES, behind = stages + next * STAGE_BYTES;
        gs_mbarrier_wait(full + slot * 8, phase);
        if (!last) gs_mbarrier_wait(full + next * 8, next == 0 ? phase ^ 1 : phase);
        gs_eighths_shift_both<BX, BY, WORKERS>(own, ring + to * X_BYTES, y_ring + to * Y_BYTES, units, behind, last);
        gs_tma_fence();
        gs_wgmma_wait<0>();
        gs_named_barrier(2, WORKERS);
        if (block + GS_STAGES < brought && threadIdx.x % 32 == 0) gs_mbarrier_arrive(empty + slot * 8);
        multiply_stage(acc, x + to * (X_BYTES / 16), y + to * (Y_BYTES / 16), block == 0);
        slot = next;
        if (next == 0) phase ^= 1;
        to ^= 1;
    }
    gs_wgmma_wait<0>();   /* of the last ones */
}
#endif

static __device__ __forceinline__ void multiply(float (&acc)[ROW_BLOCKS][BY / 2], unsigned stages, unsigned full, int blocks, int consumer, const place &at)
{
    const unsigned empty = full + GS_STAGES * 8;
    const int lane = threadIdx.x % 32;
    const unsigned x = gs_wgmma_low(stages + consumer * ROW_BLOCKS * (X_ALONG_K ? 8192 : GS_BK * 128), X_ALONG_K ? 0 : GS_BK * 128);
    const unsigned y = gs_wgmma_low(stages + X_BYTES, Y_ALONG_K ? 0 : GS_BK * 128);
    const unsigned sharer = lane < SHARERS && SHARERS > 1 ? gs_cluster_address(empty, at.rank_k * SHARERS + lane) : empty;
    int stage = 0;
    unsigned phase = 0;
#pragma unroll 1
    for (int block = 0; block < blocks; block++) {
        gs_mbarrier_wait(full + stage * 8, phase);
        multiply_stage(acc, x + stage * (STAGE_BYTES / 16), y + stage * (STAGE_BYTES / 16), block == 0);
        if (blocks > GS_STAGES) {   /* the stage before is free; it goes back if there is something left to bring */
            gs_wgmma_wait<1>();
            const int last = stage == 0 ? GS_STAGES - 1 : stage - 1;
            if (block > 0 && block - 1 + GS_STAGES < blocks && lane < SHARERS) {
                if (SHARERS > 1)
                    gs_mbarrier_arrive_remote(sharer + last * 8);
                else
                    gs_mbarrier_arrive(empty + last * 8);
            }
        }
        if (++stage == GS_STAGES) stage = 0, phase ^= 1;
    }
    gs_wgmma_wait<0>();
}

/* ---- the consumers: parts of K meet ---- */

typedef float slice[ROW_BLOCKS][4 * SLICE];

#if GS_CK > 1
/* A slice of this block's accumulators to the block of that rank; a thread sends to its counterpart there. */
template <int RANK>
static __device__ __forceinline__ void send_slice(const float (&acc)[ROW_BLOCKS][BY / 2], unsigned landing, unsigned parts, const place &at)
{
    const unsigned slot = (at.rank_k + GS_CK - RANK - 1) % GS_CK;
    const unsigned to = gs_cluster_address(landing, RANK * SHARERS + at.rank) + slot * SLICE_BYTES + threadIdx.x * 16;
    const unsigned barrier = gs_cluster_address(parts, RANK * SHARERS + at.rank);
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
#pragma unroll
        for (int i = RANK * SLICE; i < (RANK + 1) * SLICE && i < GROUPS; i++)
            gs_send(to + (block * SLICE + i - RANK * SLICE) * WORKERS * 16, acc[block][4 * i], acc[block][4 * i + 1], acc[block][4 * i + 2], acc[block][4 * i + 3],
                    barrier);
    }
}

/* To the ranks behind the own one, then to those before it: no two blocks send to one at the same time. */
template <int RANK, bool BEHIND>
static __device__ __forceinline__ void send_slices(const float (&acc)[ROW_BLOCKS][BY / 2], unsigned landing, unsigned parts, const place &at)
{
    if constexpr (BEHIND ? RANK > 0 : RANK + 1 < GS_CK)
        if (BEHIND ? RANK > at.rank_k : RANK < at.rank_k) send_slice<RANK>(acc, landing, parts, at);
    if constexpr (RANK + 1 < GS_CK) send_slices<RANK + 1, BEHIND>(acc, landing, parts, at);
}

/* Sends every other block of the cluster along K its slice of this block's accumulators, and adds what they send to the own one, always in
 * the order of ranks behind the own. */
static __device__ __forceinline__ void exchange(slice &sum, const float (&acc)[ROW_BLOCKS][BY / 2], unsigned landing, unsigned parts, const place &at)
{
    if (SHARERS == 1) gs_cluster_wait();
    send_slices<0, true>(acc, landing, parts, at);
    send_slices<0, false>(acc, landing, parts, at);
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++)
            sum[block][i % (4 * SLICE)] = i < 4 * SLICE || i / (4 * SLICE) == at.rank_k ? acc[block][i] : sum[block][i % (4 * SLICE)];
    }
    gs_mbarrier_wait(parts, 0);
    for (int slot = 0; slot < GS_CK - 1; slot++) {
#pragma unroll
        for (int block = 0; block < ROW_BLOCKS; block++) {
#pragma unroll
            for (int i = 0; i < SLICE; i++) {
                if (RAGGED && at.rank_k * SLICE + i >= GROUPS) break;
                const float4 part = gs_load_shared_f32x4(landing + slot * SLICE_BYTES + (block * SLICE + i) * WORKERS * 16 + threadIdx.x * 16);
                sum[block][4 * i] += part.x;
                sum[block][4 * i + 1] += part.y;
                sum[block][4 * i + 2] += part.z;
                sum[block][4 * i + 3] += part.w;
            }
        }
    }
}

#endif

#if GS_TICKETS > 1
/* Leaves the slice in the workspace. The last block of a tile to do so is told where all of them lie, and the others nothing (0).
 * Workspace: a counter per slice of a tile, then the slices by tile, ticket, rank. flag: 4 bytes of shared memory. */
static __device__ __forceinline__ const float4 *leave(const slice &sum, unsigned char *workspace, unsigned *flag, const place &at)
{
    const unsigned matrix = gridDim.x * gridDim.y, tiles = matrix * (GS_BATCHED ? gridDim.z / SHARES : 1);
    const unsigned tile = index_of(at) * matrix + blockIdx.y * gridDim.x + blockIdx.x;
    float4 *const first = (float4 *)(workspace + (tiles * GS_CK * 4 + 127ull) / 128 * 128) +
                          ((unsigned long long)tile * SHARES + at.rank_k) * (SLICE_BYTES / 16) + threadIdx.x;
    float4 *const own = first + at.share / GS_CK * GS_CK * (SLICE_BYTES / 16);
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
#pragma unroll
        for (int i = 0; i < SLICE; i++) {
            const float *const part = &sum[block][4 * i];
            own[(block * SLICE + i) * WORKERS] = make_float4(part[0], part[1], part[2], part[3]);
        }
    }
    gs_named_barrier(2, WORKERS);
    if (threadIdx.x == 0) *flag = gs_ticket((unsigned *)workspace + tile * GS_CK + at.rank_k, GS_TICKETS - 1);
    gs_named_barrier(2, WORKERS);
    return *flag == GS_TICKETS - 1 ? first : 0;
}
#endif

/* The sums of COUNT groups of a 64-row block from group FIRST on: the accumulators, or all parts in the order of shares, from the
 * workspace but for the own one where that is kept. */
template <int FIRST, int COUNT>
static __device__ __forceinline__ void gather(float (&sum)[4 * COUNT], const float (&own)[4 * SLICE], const float4 *parts, unsigned mine, int block)
{
#if GS_TICKETS > 1
#pragma unroll(COUNT >= 8 ? 2 : 16 / COUNT)
    for (unsigned ticket = 0; ticket < GS_TICKETS; ticket++) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int at = 4 * (FIRST + i);
            float4 part = make_float4(own[at], own[at + 1], own[at + 2], own[at + 3]);
            if (!OWN_KEPT || ticket != mine) part = gs_load_part(parts + ticket * GS_CK * (SLICE_BYTES / 16) + (block * SLICE + FIRST + i) * WORKERS);
            sum[4 * i] = ticket ? sum[4 * i] + part.x : part.x;
            sum[4 * i + 1] = ticket ? sum[4 * i + 1] + part.y : part.y;
            sum[4 * i + 2] = ticket ? sum[4 * i + 2] + part.z : part.z;
            sum[4 * i + 3] = ticket ? sum[4 * i + 3] + part.w : part.w;
        }
    }
#else
#pragma unroll
    for (int i = 0; i < 4 * COUNT; i++) sum[i] = own[4 * FIRST + i];
#endif
    (void)own, (void)parts, (void)mine, (void)block;
}

/* ---- the consumers: D ---- */

/* What bounds the stores of a block. */
typedef struct target {
    int m, n;                  /* first row and column behind what it stores */
    long long ldd;
    void *d;
#if GS_BATCHED
    const void *c;             /* of this matrix */
    int index;                 /* of the batch */
#endif
} target;

static __device__ __forceinline__ bool inside_m(const target &to, int row) { return row < to.m; }
static __device__ __forceinline__ bool inside_n(const target &to, int col) { return !GUARD_N || col < to.n; }

static __device__ __forceinline__ int index_of(const target &to)
{
#if GS_BATCHED
    return to.index;
#else
    (void)to;
    return 0;
#endif
}

/* Where C of a matrix of the batch begins, in elements. */
static __device__ __forceinline__ long long begin_of_c(const gs_kernel_args &p, int index)
{
#if GS_STRIDES
    return index * p.stride_c;
#else
    return (long long)index * gs_size_m(p) * gs_size_ldc(p);
#endif
}

/* What is read beside the sums, C or with GS_UNITS 2 aux: its first element in a matrix, and its pitch. */
static __device__ __forceinline__ const gs_raw *beside_of(const gs_kernel_args &p, int index)
{
#if GS_UNITS == 2
    return (const gs_raw *)p.aux + gs_place_in_aux(p, 0, 0, index);
#else
    return (const gs_raw *)p.c + begin_of_c(p, index);
#endif
}
static __device__ __forceinline__ long long pitch_beside(const gs_kernel_args &p)
{
#if GS_UNITS == 2
    return p.ldaux;
#else
    return gs_size_ldc(p);
#endif
}

/* An element of C; 0 outside, and where it is not read. */
static __device__ __forceinline__ float own_c(const gs_kernel_args &p, const target &to, int row, int col)
{
    float own = 0;
#if GS_BETA
#if GS_BATCHED
    const void *const c = to.c;
#else
    const void *const c = p.c;
#endif
    if (row < to.m && col < to.n) {
        const long long at = row * gs_size_ldc(p) + col;
        own = gs_raw_to_f32(((const gs_raw *)c)[at]);
    }
#endif
    (void)p, (void)to, (void)row, (void)col;
    return own;
}

/* What a block's slice needs beside its sums, asked for before they are complete. */
typedef struct early {
#if EARLY_BIAS && BIAS_ALONG_Y
    gs_bias_word run[RUNS];
#elif EARLY_BIAS
    gs_raw of[ROW_BLOCKS][2];   /* of this thread's two elements along X */
#endif
#if GS_UNITS
    uint4 units[(FIRST_COUNT + 1) / 2];   /* of C, or of aux: of the groups that are stored first */
#endif
} early;

/* Groups of a slice whose elements are neighbours in D: which of its 64-row blocks, and the first of its groups. */
typedef struct part {
    const early *asked;
    int block, group;
} part;

#if GS_GATE
/* What is stored is finished before: the sums of a pair come together first. */
static __device__ __forceinline__ float2 output(float first, float second, const gs_kernel_args &, const target &, int, int, const part &, int, int, unsigned) { return make_float2(first, second); }
#else
/* Two sums that are neighbours along Y as they are stored. x, y: place of the first in the tile of wgmma; g: its group in the part; h: half along X; c: of C, or of aux,
 * where either is read by units. */
static __device__ __forceinline__ float2 output(float first, float second, const gs_kernel_args &p, const target &to, int x, int y, const part &in, int g, int h, unsigned c)
{
    const int row = GS_ORDER ? y : x, col = GS_ORDER ? x : y;
    float2 bias = make_float2(0, 0);
#if EARLY_BIAS && BIAS_ALONG_Y
    const int at = (in.group + g) * 8;
    bias = gs_bias_in_run(in.asked->run[at / GS_BIAS_RUN], at % GS_BIAS_RUN + threadIdx.x % 4 * 2);
#elif EARLY_BIAS
    bias.x = bias.y = gs_raw_to_f32(in.asked->of[in.block][h]);
#endif
#if GS_UNITS
    const float2 own = gs_halves_of(c);
#else
    const float2 own = make_float2(own_c(p, to, row, col), own_c(p, to, row + GS_ORDER, col + 1 - GS_ORDER));
#endif
    (void)in, (void)g, (void)h, (void)c;
    return make_float2(gs_finished_with(p, gs_scaled(p, gs_alpha(p) * first, row, col, to.m, to.n, index_of(to)), bias.x, own.x, row, col, to.m, to.n, index_of(to)),
                       gs_finished_with(p, gs_scaled(p, gs_alpha(p) * second, row + GS_ORDER, col + 1 - GS_ORDER, to.m, to.n, index_of(to)), bias.y, own.y, row + GS_ORDER, col + 1 - GS_ORDER, to.m, to.n, index_of(to)));
}
#endif

#if GS_OUT == 2

/* COUNT groups of a warp's 16 rows of X: runs of 32 bytes, straight from the accumulators. */
template <int COUNT>
static __device__ __forceinline__ void store_chunk(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y, const part &in)
{
    const int lane = threadIdx.x % 32;
    (void)buffer;
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
        const int own_x = x + lane / 4 + i % 2 * 8, own_y = y + i / 2 * 8 + lane % 4 * 2;
        const float2 pair = output(sum[2 * i], sum[2 * i + 1], p, to, own_x, own_y, in, i / 2, i % 2, 0);
        const float v0 = pair.x, v1 = pair.y;
        float *const d = (float *)to.d + (GS_ORDER ? own_y : own_x) * to.ldd + (GS_ORDER ? own_x : own_y);
        if (GS_ORDER) {
            if (inside_m(to, own_y) && inside_n(to, own_x)) d[0] = v0;
            if (inside_m(to, own_y + 1) && inside_n(to, own_x)) d[to.ldd] = v1;
        } else if (inside_m(to, own_x)) {
            if (GS_VECTOR) {
                if (inside_n(to, own_y)) *(float2 *)d = make_float2(v0, v1);
            } else {
                if (inside_n(to, own_y)) d[0] = v0;
                if (inside_n(to, own_y + 1)) d[1] = v1;
            }
        }
    }
}

#else

static __device__ __forceinline__ unsigned pack(float lo, float hi) { return GS_OUT == 1 ? gs_pack_bf16x2(lo, hi) : gs_pack_f16x2(lo, hi); }

/* 16-byte piece of a row of PIECES pieces in a warp's buffer: swapped with others, so that 8 rows of a matrix lie in different banks. */
template <int PIECES>
static __device__ __forceinline__ unsigned piece_at(unsigned buffer, int row, int piece)
{
    const int swap = PIECES == 8 ? row : PIECES == 4 ? row / 2 : PIECES == 2 ? row / 4 : 0;
    return buffer + row * PIECES * 16 + (piece ^ (swap & (PIECES - 1))) * 16;
}

#if GS_UNITS
/* Where piece i of this lane's share of COUNT groups lies: its row and its piece of 16 bytes. */
template <int COUNT>
static __device__ __forceinline__ int2 share_at(int i)
{
    constexpr int PIECES = GS_ORDER ? 2 : COUNT, STRIDE = 32 / PIECES;
    const int lane = threadIdx.x % 32;
    return make_int2(lane / PIECES + i * STRIDE, lane % PIECES);
}

/* This lane's share of it, of COUNT groups, whose first element is at (row, col) of a matrix of rows x columns. */
template <int COUNT>
static __device__ __forceinline__ void load_units(uint4 *c, const gs_kernel_args &p, int index, int row, int col, int rows, int columns)
{
    const gs_raw *const from = beside_of(p, index);
#pragma unroll
    for (int i = 0; i < (COUNT + 1) / 2; i++) {
        const int2 at = share_at<COUNT>(i);
        const int own_row = row + at.x, own_col = col + at.y * 8;
        c[i] = make_uint4(0, 0, 0, 0);
        if ((COUNT > 1 || threadIdx.x % 32 < 16) && own_row < rows && own_col < columns) c[i] = *(const uint4 *)(from + own_row * pitch_beside(p) + own_col);
    }
}

/* From there to a warp's buffer. */
template <int COUNT>
static __device__ __forceinline__ void put_units(unsigned buffer, const uint4 *c)
{
#pragma unroll
    for (int i = 0; i < (COUNT + 1) / 2; i++) {
        const int2 at = share_at<COUNT>(i);
        const unsigned v[4] = {c[i].x, c[i].y, c[i].z, c[i].w};
        if (COUNT > 1 || threadIdx.x % 32 < 16) gs_store_shared_u32x4(piece_at<GS_ORDER ? 2 : COUNT>(buffer, at.x, at.y), v);
    }
    __syncwarp();
}

/* From there the words of groups g and g + 1, or of the only one: first half along X and second of each. Lanes meet at ldmatrix, so D may take the
 * buffer next. */
template <int COUNT, int PIECES>
static __device__ __forceinline__ void take_units(unsigned (&c)[4], unsigned buffer, int g)
{
    const int lane = threadIdx.x % 32, group = g + (COUNT > 1 ? lane / 16 : 0);
    const unsigned from = GS_ORDER ? piece_at<PIECES>(buffer, group * 8 + lane % 8, lane / 8 % 2) : piece_at<PIECES>(buffer, lane % 16, group);
    if constexpr (COUNT == 1) {
        unsigned two[2];
        GS_ORDER ? gs_ldmatrix_x2_trans(two, from) : gs_ldmatrix_x2(two, from);
        c[0] = two[0], c[1] = two[1];
    } else {
        GS_ORDER ? gs_ldmatrix_x4_trans(c, from) : gs_ldmatrix_x4(c, from);
    }
}
#endif

/* COUNT groups from a warp's buffer to D, rows and columns from (row, col) on: by whole pieces, all of them read before the first is
 * stored, or where rows of D start at any element. */
template <int COUNT, int PIECES>
static __device__ __forceinline__ void drain(unsigned buffer, const target &to, int row, int col)
{
    const int lane = threadIdx.x % 32;
#if GS_VECTOR
    constexpr int STEPS = COUNT > 1 ? COUNT / 2 : 1, STRIDE = 32 / PIECES;   /* rows from a step to the next */
    uint4 value[STEPS];
    row += lane / PIECES, col += lane % PIECES * 8;
    unsigned short *const d = (unsigned short *)to.d + row * to.ldd + col;
    if (COUNT == 1 && lane >= 16) return;
#pragma unroll
    for (int i = 0; i < STEPS; i++) value[i] = gs_load_shared_u32x4(piece_at<PIECES>(buffer, lane / PIECES + i * STRIDE, lane % PIECES));
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        if (inside_m(to, row + i * STRIDE) && inside_n(to, col)) *(uint4 *)(d + i * STRIDE * to.ldd) = value[i];
#else
    const unsigned char *const pieces = (const unsigned char *)__cvta_shared_to_generic(buffer);
    const auto piece = [pieces](int r, int i) { return pieces + piece_at<PIECES>(0, r, i); };
    gs_store_rows<16 * COUNT / PIECES, PIECES, 2, 1, 1>((unsigned char *)to.d + (row * to.ldd + col) * 2, to.ldd * 2, to.m - row, to.n - col, lane, piece);
#endif
}

/* COUNT groups of a warp's 16 rows of X through its buffer: as stored, rows are 16 bytes times COUNT (ab), or 32 bytes (ba, transposed). */
template <int COUNT>
static __device__ __forceinline__ void store_chunk(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y, const part &in)
{
    constexpr int PIECES = GS_ORDER ? 2 : COUNT;
    const int lane = threadIdx.x % 32;
    unsigned words[2 * COUNT], c[4] = {0};
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
#if GS_UNITS
        if (i % 4 == 0) take_units<COUNT, PIECES>(c, buffer, i / 2);
#endif
        const int own_x = x + lane / 4 + i % 2 * 8, own_y = y + i / 2 * 8 + lane % 4 * 2;
        const float2 pair = output(sum[2 * i], sum[2 * i + 1], p, to, own_x, own_y, in, i / 2, i % 2, c[i % 4]);
        words[i] = pack(pair.x, pair.y);
    }
#pragma unroll
    for (int g = 0; g < COUNT; g += 2) {
        const int group = g + (COUNT > 1 ? lane / 16 : 0);
        const unsigned row = GS_ORDER ? piece_at<PIECES>(buffer, group * 8 + lane % 8, lane / 8 % 2) : piece_at<PIECES>(buffer, lane % 16, group);
        if constexpr (COUNT == 1)
            GS_ORDER ? gs_stmatrix_x2_trans(row, words[0], words[1]) : gs_stmatrix_x2(row, words[0], words[1]);
        else if constexpr (GS_ORDER)
            gs_stmatrix_x4_trans(row, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
        else
            gs_stmatrix_x4(row, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
    }
    __syncwarp();
    drain<COUNT, PIECES>(buffer, to, GS_ORDER ? y : x, GS_ORDER ? x : y);
    __syncwarp();
}

#endif

#if GS_GATE
/* The element of D of a gate's sum and an up's. */
static __device__ __forceinline__ float gated(float gate, float up, const gs_kernel_args &p, const target &to, int row, int col)
{
    return gs_gated(p, gs_alpha(p) * gate, gs_alpha(p) * up, own_c(p, to, row, col), row, col, to.m, gs_size_n(p), index_of(to));
}

#if GS_ORDER
/* COUNT groups of a warp's 16 rows of X, 8 of the gate and 8 of up: 8 columns of D in 8 * COUNT rows. x, y: in the product. */
template <int COUNT>
static __device__ __forceinline__ void store_gated(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y)
{
    const int lane = threadIdx.x % 32, col = x / 2 + lane / 4;
#if GS_OUT == 2
    (void)buffer;
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
        const int row = y + i / 2 * 8 + lane % 4 * 2 + i % 2;
        const float value = gated(sum[i / 2 * 4 + i % 2], sum[i / 2 * 4 + 2 + i % 2], p, to, row, col);
        if (inside_m(to, row) && inside_n(to, col)) ((float *)to.d)[row * to.ldd + col] = value;
    }
#else
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int row = y + i * 8 + lane % 4 * 2;
        const unsigned part = pack(gated(sum[4 * i], sum[4 * i + 2], p, to, row, col), gated(sum[4 * i + 1], sum[4 * i + 3], p, to, row + 1, col));
        gs_stmatrix_x1_trans(buffer + i * 128 + lane % 8 * 16, part);
    }
    __syncwarp();
#if GS_VECTOR
#pragma unroll
    for (int i = 0; i < 8 * COUNT; i += 32)
        if (i + lane < 8 * COUNT && inside_m(to, y + i + lane) && inside_n(to, x / 2))
            *(uint4 *)((unsigned short *)to.d + (y + i + lane) * to.ldd + x / 2) = gs_load_shared_u32x4(buffer + (i + lane) * 16);
#else
    const unsigned char *const pieces = (const unsigned char *)__cvta_shared_to_generic(buffer);
    const auto piece = [pieces](int r, int) { return pieces + r * 16; };
    gs_store_rows<8 * COUNT, 1, 2, 1, 1>((unsigned char *)to.d + (y * to.ldd + x / 2) * 2, to.ldd * 2, to.m - y, to.n - x / 2, lane, piece);
#endif
    __syncwarp();
#endif
}
#else
/* COUNT groups, of the gate and of up in turn: half as many of D, of all 16 rows. */
template <int COUNT>
static __device__ __forceinline__ void store_gated(const float (&sum)[4 * COUNT], unsigned buffer, const gs_kernel_args &p, const target &to, int x, int y)
{
    float value[2 * COUNT];
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2 * COUNT; i++) {
        const int row = x + lane / 4 + i % 4 / 2 * 8, col = y / 2 + i / 4 * 8 + lane % 4 * 2 + i % 2;
        value[i] = gated(sum[i / 4 * 8 + i % 4], sum[i / 4 * 8 + 4 + i % 4], p, to, row, col);
    }
    store_chunk<COUNT / 2>(value, buffer, p, to, x, y / 2, part{});
}
#endif
#endif

/* Groups FIRST and those after it of a warp's 16 rows of a 64-row block. c: this lane's share of C, or of aux, of the first ones. */
template <int FIRST>
static __device__ __forceinline__ void store_groups(const float (&own)[4 * SLICE], const float4 *parts, unsigned mine, int block, unsigned buffer,
                                                    const gs_kernel_args &p, const target &to, int x, int y, const early &asked, const uint4 *c)
{
    constexpr int LEFT = SLICE - FIRST, COUNT = LEFT >= 8 ? 8 : LEFT >= 4 ? 4 : LEFT >= 2 ? 2 : 1;
    float sum[4 * COUNT];
    uint4 next[4];
#if GS_UNITS
    constexpr int THEN = LEFT - COUNT, MORE = THEN >= 8 ? 8 : THEN >= 4 ? 4 : THEN >= 2 ? 2 : 1;
    put_units<COUNT>(buffer, c);
    if (THEN > 0) load_units<MORE>(next, p, index_of(to), GS_ORDER ? y + (FIRST + COUNT) * 8 : x, GS_ORDER ? x : y + (FIRST + COUNT) * 8, to.m, to.n);
#endif
    gather<FIRST, COUNT>(sum, own, parts, mine, block);
#if GS_GATE
    store_gated<COUNT>(sum, buffer, p, to, x, y + FIRST * 8);
    (void)asked;
#else
    store_chunk<COUNT>(sum, buffer, p, to, x, y + FIRST * 8, part{&asked, block, FIRST});
#endif
    (void)c;
    if constexpr (FIRST + COUNT < SLICE) store_groups<FIRST + COUNT>(own, parts, mine, block, buffer, p, to, x, y, asked, next);
}

/* Where this warp's share of the block's slice begins in the product. */
static __device__ __forceinline__ int first_x(const place &at, int consumer) { return (GS_ORDER ? at.n : at.m) + consumer * ROW_BLOCKS * 64 + threadIdx.x / 32 % 4 * 16; }
static __device__ __forceinline__ int first_y(const place &at) { return (GS_ORDER ? at.m : at.n) + at.rank_k * SLICE * 8; }

/* Before the sums are complete: the bias, the first part of C or aux, and the rest of it to L2. What comes from the kernel before is there. */
static __device__ __forceinline__ void ask_early(early *asked, const gs_kernel_args &p, const place &at, int consumer)
{
    const int x = first_x(at, consumer), y = first_y(at);
#if EARLY_BIAS && BIAS_ALONG_Y
#pragma unroll
    for (int i = 0; i < RUNS; i++) asked->run[i] = gs_bias_run(p, y + i * GS_BIAS_RUN, false, index_of(at));
#elif EARLY_BIAS
#pragma unroll
    for (int i = 0; i < 2 * ROW_BLOCKS; i++) asked->of[i / 2][i % 2] = gs_bias_at(p, x + i / 2 * 64 + i % 2 * 8 + threadIdx.x % 32 / 4, false, index_of(at));
#endif
#if GS_UNITS
    load_units<FIRST_COUNT>(asked->units, p, index_of(at), GS_ORDER ? y : x, GS_ORDER ? x : y, gs_size_m(p), gs_size_n(p));
#endif
#if (GS_BETA || GS_UNITS) && !(GS_UNITS && SLICE == FIRST_COUNT && ROW_BLOCKS == 1)   /* else there is no rest */
    constexpr int halves = GS_GATE ? 2 : 1, rows = GS_ORDER ? SLICE * 8 : 16, columns = (GS_ORDER ? 16 : SLICE * 8) / halves, sectors = (columns * OUT_BYTES + 31) / 32;
    const int row = GS_ORDER ? y : x, col = (GS_ORDER ? x : y) / halves;
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
        const int from_row = row + (GS_ORDER ? 0 : block * 64), from_col = col + (GS_ORDER ? block * 64 / halves : 0);
#pragma unroll 1
        for (int i = threadIdx.x % 32; i < rows * sectors; i += 32) {
            const int r = from_row + i / sectors, c = from_col + i % sectors * (32 / OUT_BYTES);
            if (r < gs_size_m(p) && c < gs_size_n(p)) gs_prefetch_l2(beside_of(p, index_of(at)) + r * pitch_beside(p) + c);
        }
    }
#endif
    (void)asked, (void)p, (void)x, (void)y;
}

/* The slice of this block to D; without `on` no row of it. parts: as of leave. */
static __device__ __forceinline__ void store_slice(const slice &sum, const float4 *parts, unsigned buffer, const gs_kernel_args &p, const place &at, int consumer,
                                                   bool on, const early &asked)
{
    const int x = first_x(at, consumer), y = first_y(at);
    target to = {on ? gs_size_m(p) : 0, gs_size_n(p), gs_size_ldd(p), p.d};
#if GS_BATCHED
#if GS_STRIDES
    const long long before_d = at.index * p.stride_d;
#else
    const long long before_d = (long long)at.index * gs_size_m(p) * gs_size_ldd(p);
#endif
    to.index = at.index;
    to.d = (unsigned char *)p.d + before_d * OUT_BYTES;
    to.c = (const unsigned char *)p.c + begin_of_c(p, at.index) * OUT_BYTES;
#endif
    if (RAGGED && GS_ORDER) to.m = min(to.m, at.m + GS_BM);
    if (RAGGED && !GS_ORDER) to.n = min(to.n, GS_GATE ? (at.n + GS_BN) / 2 : at.n + GS_BN);
#pragma unroll
    for (int block = 0; block < ROW_BLOCKS; block++) {
#if GS_UNITS
        uint4 c[4];
        if (block > 0) load_units<FIRST_COUNT>(c, p, index_of(to), GS_ORDER ? y : x + block * 64, GS_ORDER ? x + block * 64 : y, to.m, to.n);
        const uint4 *const own = block > 0 ? c : asked.units;
#else
        const uint4 *const own = 0;
#endif
        store_groups<0>(sum[block], parts, at.share / GS_CK, block, buffer, p, to, x + block * 64, y, asked, own);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, GS_BLOCKS)
gs_splitk(
#if !GS_FEED_A
          const __grid_constant__ gs_tensor_map map_a,
#endif
#if !GS_FEED_B
          const __grid_constant__ gs_tensor_map map_b,
#endif
#if SHIFT
          GS_EIGHT_MAPS(map_a)
          GS_EIGHT_MAPS(map_b)
#endif
          const __grid_constant__ gs_kernel_args p)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned start = gs_shared_address(shared);
    const unsigned ring = (start + 1023) / 1024 * 1024, stages = ring + RING_BYTES;
    const unsigned landing = stages + GS_STAGES * STAGE_BYTES;
    const unsigned buffers = landing + PARTS_BYTES;
    const unsigned full = buffers + CONSUMERS * 4 * BUFFER_BYTES;
    const unsigned parts = full + GS_STAGES * 16;       /* an mbarrier, and 4 bytes for the tickets */
    const place at = place_of_block();
    const int all = (gs_size_k(p) - 1 + MORE_K) / GS_BK + 1;
    const int first = first_block(at.share, all), blocks = count_blocks(at.share, all);
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);   /* the same in all lanes, and the compiler knows it */

    const int brought = blocks + (SHIFT && blocks > 0 && first + blocks < all);   /* with the one behind this share, of which the first units are needed */
#if SHIFT
    const gs_eighths of_a = GS_EIGHTHS(map_a), of_b = GS_EIGHTHS(map_b);
#else
    const gs_tensor_map *const of_a = GS_MAP_A, *const of_b = GS_MAP_B;
#endif
    const source from = {GS_ORDER ? of_b : of_a, GS_ORDER ? of_a : of_b, GS_ORDER ? at.n : at.m, GS_ORDER ? at.m : at.n, at.rank,
                         (unsigned short)(((1u << SHARERS) - 1) << at.rank_k * SHARERS), index_of(at)};

    /* Two branches that the compiler cannot make one: the code of the first lies right here, nothing else is as urgent. */
    if (warp == CONSUMERS * 4) begin(from, stages, full, first, brought, at, EARLY_B(p));
    asm volatile("" : "+r"(warp));
#if FEED
    if (warp >= CONSUMERS * 4) {
        if (warp > CONSUMERS * 4) {
            gs_named_arrive(1, THREADS);
            if (CLUSTER > 1) gs_cluster_arrive();
        }
        gs_named_barrier(3, GS_FEED_THREADS);
        gs_dependent_wait();
        feed(feeder_of(p, stages, (parts + 16 + 15) / 16 * 16), from, full, first, blocks);
        return;
    }
#else
    if (warp == CONSUMERS * 4) {
        refill(from, stages, full, first, brought);
        return;
    }
#endif
    if (CLUSTER > 1) gs_cluster_arrive();
    if (X_ALONG_K) clear_rows<BX, ROWS_X>(stages, min(blocks, GS_STAGES));
    if (Y_ALONG_K) clear_rows<BY, ROWS_Y>(stages + X_BYTES, min(blocks, GS_STAGES));
    if ((X_ALONG_K && ROWS_X < BX) || (Y_ALONG_K && ROWS_Y < BY)) gs_tma_fence();
    gs_named_barrier(1, THREADS);
    if (SHARERS > 1) gs_cluster_wait();

    early asked = {};
    /* The end runs twice: first for no rows, while the operands are under way, so that its code has been fetched when it matters. */
    float acc[ROW_BLOCKS][BY / 2] = {};
#if GS_CK > 1
    slice sum = {};
#else
    slice &sum = acc;
#endif
#pragma unroll 1
    for (int pass = !REHEARSED; pass < 2; pass++) {
        const float4 *others = 0;
        if (REHEARSED) asm volatile("" : "+r"(pass));   /* one copy of the code for both */
        if (pass == 1) {
            gs_dependent_wait();
            ask_early(&asked, p, at, warp / 4);
#if SHIFT
            multiply_shifted(acc, p, ring, stages, full, blocks, brought, warp / 4);
#else
            multiply(acc, stages, full, blocks, warp / 4, at);
#endif
#if GS_CK > 1
            exchange(sum, acc, landing, parts, at);
            if (at.rank_k * SLICE >= GROUPS) return;
#endif
#if GS_TICKETS > 1
            others = leave(sum, (unsigned char *)p.workspace, (unsigned *)(shared + (parts + 8 - start)), at);
            if (!others) return;
#endif
        }
        store_slice(sum, others, buffers + warp * BUFFER_BYTES, p, at, warp / 4, pass == 1, asked);
    }
    (void)landing, (void)parts;
}

/* SPDX-License-Identifier: MIT
 * Family splitk: Hopper, one tile and one share of K per block. A producer warp starts the copies of all stages at once and refills released
 * stages; consumer warpgroups multiply with wgmma. Blocks that share a tile's K add up their partial sums: in a cluster through shared memory,
 * across the grid through the workspace, by tickets.
 *
 * wgmma multiplies X (64 rows at a time) by Y (8 to 256 columns). Order ab: X is A, Y is B. Order ba: X is B's columns, Y is A's rows, and
 * the accumulators hold the transposed tile. An operand is K-major (rows of K: A of nn and tn, B of tn and tt) or not.
 *
 * Set by the builder (src/family/splitk.c): GS_BATCHED (1: maps of a batch), GS_IN GS_ACC GS_OUT GS_LAYOUT GS_BETA, GS_FIXED and sizes (kernel.h); GS_BM GS_BN GS_BK (tile),
 * GS_STAGES, GS_ORDER (0 ab, 1 ba), GS_CM GS_CN (blocks of a cluster along M, N, which share operands), GS_CK (blocks of a cluster along
 * K), GS_TICKETS (shares of K that are added up in the workspace, each of GS_CK blocks), GS_ROWS_A GS_ROWS_B (rows of a K-major box: fewer than
 * the tile's if the matrix has fewer), GS_WALK_N (1: neighbouring blocks are neighbours along N), GS_VECTOR (1: rows of D start and end at
 * multiples of 16 bytes; f32: of 8), GS_UNITS (in units of 16 bytes 1: C is read, 2: the aux of a gradient is read; 0: by element), GS_BLOCKS (per multiprocessor), GS_FEED_A
 * GS_FEED_B (how an operand is copied, common/feed.cuh: by tensor copies; by threads, and the producer then has four warps; or by tensor copies of eighths of both operands to
 * the stages, from which consumers shift them to a second ring, common/eighths.cuh).
 *
 * GS_GATE: the product has twice the columns of D, as in ws.cu: they alternate, eight of the gate and eight of up. B's map reads them in this order
 * (GS_TURN: 1), or a copy has it. GS_BN counts columns of the product. */
#ifndef GS_EARLY_B   /* 1: in a dependent launch B may be read before the previous launch has ended, if p.early_b is set */
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
#define SAME_X (GS_SAME & 1)                         /* all matrices of the batch share one */
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
#define FEED ((FEED_X || FEED_Y) && !SHIFT)          /* threads copy an operand; blocks share none then */
#define THREADS (WORKERS + (FEED ? GS_FEED_THREADS : 32))
#define ROW_BLOCKS (BX / 64 / CONSUMERS)             /* 64-row blocks of a consumer */
#define GROUPS (BY / 8)                              /* of 8 columns: 4 accumulators of a thread */
#if GS_GATE && GS_ORDER == 0
#define SLICE ((GROUPS / 2 + GS_CK - 1) / GS_CK * 2) /* the same; gate and up stay together */
#else
#define SLICE ((GROUPS + GS_CK - 1) / GS_CK)         /* groups that one block of a cluster along K adds up and stores */
#endif
#define X_BYTES (BX * GS_BK * 2)
#define Y_BYTES (BY * GS_BK * 2)
#if SHIFT
#define STAGE_BYTES (GS_SLOT_BYTES(BX) + GS_SLOT_BYTES(BY))
#define RING_BYTES (GS_SHIFTED * (X_BYTES + Y_BYTES))   /* shifted k-blocks that wgmma reads; before the stages */
#define MORE_K GS_MORE_K
#else
#define STAGE_BYTES (X_BYTES + Y_BYTES)
#define RING_BYTES 0
#define MORE_K 0
#endif
#define LANDING_X (FEED_X && !SHIFT ? 0 : X_ALONG_K ? ROWS_X * GS_BK * 2 : X_BYTES)   /* bytes of a stage that tensor copies write */
#define LANDING_Y (FEED_Y && !SHIFT ? 0 : Y_ALONG_K ? ROWS_Y * GS_BK * 2 : Y_BYTES)
#define LANDING_BYTES (LANDING_X + LANDING_Y)
#define BESIDE_X (FEED_X == 2 ? X_BYTES / 8 : 0)      /* bytes per stage for the ninth units of rows */
#define BESIDE_Y (FEED_Y == 2 ? Y_BYTES / 8 : 0)
#define AHEAD (GS_STAGES > 2 ? GS_STAGES - 2 : 0)    /* stages that threads have in flight while they wait for the oldest; consumers hold one, and release it late */
#define REHEARSED (GS_TICKETS == 1 && ROW_BLOCKS * BY / 2 <= 64 && !GS_SCALARS)   /* the end runs twice (see gs_splitk), if sums fit registers; scalars may not be written yet */
#define OWN_KEPT (ROW_BLOCKS * SLICE <= (GS_BLOCKS > 1 || CONSUMERS == 3 ? 4 : 8))   /* the last block keeps its own part in registers while it reads the others from the workspace */
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

/* If N is a constant and divisible, columns need no check. */
#if defined(GS_FIXED) && !GS_GATE
#define GUARD_N (GS_N % GS_BN != 0 || (GS_ORDER == 0 && RAGGED))
#else
#define GUARD_N 1
#endif

/* Which tile and which part of it this block computes. The blocks of a cluster are neighbours along M or N, and along K. */
typedef struct place {
    int m, n;                  /* first row and column of the tile */
    unsigned rank;             /* among the blocks that share an operand */
    unsigned rank_k;           /* among the cluster's blocks along K */
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

#include "splitk/producer.cuh"
#include "splitk/sums.cuh"
#include "splitk/stores.cuh"

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

    const int brought = blocks + (SHIFT && blocks > 0 && first + blocks < all);   /* plus the k-block after this share, whose first units are needed */
#if SHIFT
    const gs_eighths of_a = GS_EIGHTHS(map_a), of_b = GS_EIGHTHS(map_b);
#else
    const gs_tensor_map *const of_a = GS_MAP_A, *const of_b = GS_MAP_B;
#endif
    const source from = {GS_ORDER ? of_b : of_a, GS_ORDER ? of_a : of_b, GS_ORDER ? at.n : at.m, GS_ORDER ? at.m : at.n, at.rank,
                         (unsigned short)(((1u << SHARERS) - 1) << at.rank_k * SHARERS), index_of(at)};

    /* The asm keeps the compiler from merging the two branches: the code of the first, the most urgent one, is then placed right here. */
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
    /* The end runs twice: first for no rows, while the operands are in flight, so that its code is in the instruction cache when it matters. */
    float acc[ROW_BLOCKS][BY / 2] = {};
#if GS_CK > 1
    slice sum = {};
#else
    slice &sum = acc;
#endif
#pragma unroll 1
    for (int pass = !REHEARSED; pass < 2; pass++) {
        const float4 *others = 0;
        if (REHEARSED) asm volatile("" : "+r"(pass));   /* keeps one copy of the code for both passes */
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

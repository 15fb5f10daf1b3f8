/* SPDX-License-Identifier: MIT
 * Family ws: Hopper, warp-specialised, persistent. One producer thread fills a ring of shared-memory stages by tensor copies;
 * consumer warpgroups multiply from it with wgmma, keep the accumulators in registers and store tiles by tensor copies.
 *
 *   producer   wait empty[s] -> announce bytes on full[s] -> copy A and B of one k-block (multicast to the cluster)
 *   consumers  wait full[s] -> 4 wgmma steps of k16 -> one group stays in flight -> release the stage before: empty[s-1]
 *
 * Modes: consumers share a tile (COOP); each has tiles of its own, and one stores while the other multiplies (PP); they share a tile
 * and store it, rounded and kept in registers, while they multiply the next (LAG).
 *
 * X is the operand on wgmma's 64-row side, Y the other one: A and B or, with swap_ab, B and A; wgmma then computes D transposed, for tiles whose
 * number of rows is not a multiple of 64.
 *
 * Set by the builder (src/family/ws.c): GS_BATCHED (1: maps of a batch), GS_GROUPED (number of groups of rows, each with its own B; 0: none), GS_MASKED (1: m / GS_GROUPED rows are
 * reserved for each group), GS_K_GROUPS (1: each matrix of the batch has a range of K), GS_IN GS_ACC GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt), GS_BETA (1: C is
 * read), GS_BM GS_BN (tile), GS_SWAP_AB (1: X is B), GS_WY (extent of a consumer along Y: the tile's, or less if consumers are side by
 * side), GS_STAGES, GS_CM GS_CN (cluster blocks along M, N), GS_GROUP GS_ALONG_N (raster), GS_CONSUMERS (warpgroups), GS_MODE, GS_SLABS
 * (epilogue buffers of a consumer warp), GS_FIRST (1: L2 evicts D first), GS_DIRECT (1: D's rows do not start or end at multiples of 16 bytes:
 * plain stores instead of tensor copies), GS_UNITS (in units of 16 bytes 1: C is read, 2: the aux of a gradient is read, 3: aux is written; 0:
 * all by element). GS_PACK_A GS_PACK_B: the operand is copied first (common/pack.cuh). GS_FEED_A GS_FEED_B: how an operand is copied to shared memory (common/feed.cuh): by tensor
 * copies; by the producer's four warps; or by tensor copies of eighths of both operands to the stages, from which consumers shift them to a second ring (common/eighths.cuh).
 *
 * GS_GATE: the product has twice the columns of D: eight of the gate, then the eight of up that belong to them, and so on, so that a thread has both sums of an element. B's map reads
 * them in this order (GS_TURN: 1), or a copy has it. GS_BN, GS_WY count columns of the product. */
#define GS_WGMMA_N GS_WY
#ifndef GS_BATCHED
#define GS_BATCHED 0
#endif
#ifndef GS_TURN
#define GS_TURN 0
#endif
#ifndef GS_GROUPED
#define GS_GROUPED 0
#endif
#ifndef GS_MASKED
#define GS_MASKED 0
#endif

#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/eighths.cuh"
#include "common/epilogue.cuh"
#include "common/feed.cuh"
#include "common/mbarrier.cuh"
#include "common/mma_sync.cuh"
#include "common/rows.cuh"
#include "common/strides.cuh"
#include "common/tma.cuh"
#include "common/walk.cuh"
#include "common/wgmma.cuh"
#ifdef GS_PACK_A
#include "common/pack.cuh"
#endif

/* Rows of D in a partial sum of its columns: a warp's 16, with swapped operands 8. Tiles begin at multiples of this, counted from a group's first row. */
#define GS_SUM_ROWS (GS_SWAP_AB ? 8 : 16)
#define GS_PARTIALS(p) (((p).m + (GS_SUM_ROWS - 1LL)) / GS_SUM_ROWS)
#define GS_GROUP_PARTIALS(first, end) (((end) - (first) + (GS_SUM_ROWS - 1)) / GS_SUM_ROWS)
#include "common/dbias.cuh"

#define COOP 0
#define PP 1
#define LAG 2

#if GS_SWAP_AB
#define BX GS_BN
#define BY GS_BM
#define CX GS_CN                                     /* cluster blocks along X, Y */
#define CY GS_CM
#define X_ALONG_K GS_B_ALONG_K
#define Y_ALONG_K GS_A_ALONG_K
#define FEED_X GS_FEED_B
#define FEED_Y GS_FEED_A
#define SAME_X (GS_SAME & 2)                         /* all matrices of the batch share one */
#define SAME_Y (GS_SAME & 1)
#else
#define BX GS_BM
#define BY GS_BN
#define CX GS_CM
#define CY GS_CN
#define X_ALONG_K GS_A_ALONG_K
#define Y_ALONG_K GS_B_ALONG_K
#define FEED_X GS_FEED_A
#define FEED_Y GS_FEED_B
#define SAME_X (GS_SAME & 1)
#define SAME_Y (GS_SAME & 2)
#endif
#define BK 64                                        /* halves: one row of the 128-byte swizzle */
#define CLUSTER (CX * CY)
#define PEERS (CX + CY - 1)                          /* blocks that receive what this block's producer copies, itself among them */
#define SHARING (GS_MODE == PP ? 1 : GS_CONSUMERS)   /* consumers of a tile */
#define SIDE (BY / GS_WY)                            /* consumers of a tile side by side along Y */
#define BLOCKS (BX / 64 * SIDE / SHARING)            /* 64-row blocks of a consumer */
#define X_BYTES (BX * BK * 2)
#define Y_BYTES (BY * BK * 2)
#define SHIFT (FEED_X == 3)                          /* both operands */
#define FEED ((FEED_X || FEED_Y) && !SHIFT)          /* threads copy an operand; no cluster then */
#define COPIED_BYTES ((FEED_X && !SHIFT ? 0 : X_BYTES) + (FEED_Y && !SHIFT ? 0 : Y_BYTES))   /* of a stage, written by tensor copies */
#define BESIDE_X (FEED_X == 2 ? BX * 16 : 0)         /* bytes per stage for the ninth units of rows */
#define BESIDE_Y (FEED_Y == 2 ? BY * 16 : 0)
#if SHIFT
#define RING GS_SHIFTED                              /* k-blocks that wgmma reads from */
#define SLOT_BYTES (GS_SLOT_BYTES(BX) + GS_SLOT_BYTES(BY))
#define MORE_K GS_MORE_K
#else
#define RING GS_STAGES
#define SLOT_BYTES 0
#define MORE_K 0
#endif
#define AHEAD (GS_STAGES > 2 ? GS_STAGES - 2 : 0)    /* stages in flight while the oldest is waited for; consumers hold one, and release it late */
#define Y_SPAN (Y_ALONG_K || GS_WY % 64 == 0 ? 128 : 64)   /* Y's swizzle */
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)
#define SLAB_BYTES 2048                              /* what a warp stores of a part: 16 along X */
#define CHUNK (128 / OUT_BYTES)                      /* extent of a part of the epilogue along Y, for all 64 of a block along X */
#if GS_GATE
#define HALF_X (GS_SWAP_AB ? 2 : 1)                  /* columns of the product for each column of D, along X and Y */
#define HALF_Y (GS_SWAP_AB ? 1 : 2)
#else
#define HALF_X 1
#define HALF_Y 1
#endif
#define TAIL (GS_WY / HALF_Y % CHUNK)                /* extent of the last part if it is smaller */
#define CHUNKS ((GS_WY / HALF_Y + CHUNK - 1) / CHUNK)
#define PARTS (BLOCKS * CHUNKS)
#define PART_WORDS 16                                /* of a thread */
#define BIAS_ALONG_Y ((GS_BIAS == 1) != GS_SWAP_AB)
#define READ_UNITS (GS_UNITS == 1 || GS_UNITS == 2)

#if GS_ACC == 2
#define ACC_COUNT (GS_WY / 2)
typedef float accumulator;
#else
#define ACC_COUNT (GS_WY / 4)
typedef unsigned accumulator;
#endif
#if GS_OUT == 2
typedef float word;                                  /* of D: one element, or two */
#else
typedef unsigned word;
#endif

#define PASTE_(a, b, c, d) a##b##c##d
#define PASTE(a, b, c, d) PASTE_(a, b, c, d)
#if GS_ACC == 2 && GS_IN == 0
#define WGMMA PASTE(gs_wgmma_n, GS_WY, _f32, _f16)<1 - Y_ALONG_K, 1 - X_ALONG_K>
#elif GS_ACC == 2
#define WGMMA PASTE(gs_wgmma_n, GS_WY, _f32, _bf16)<1 - Y_ALONG_K, 1 - X_ALONG_K>
#else
#define WGMMA PASTE(gs_wgmma_n, GS_WY, _f16, _f16)<1 - Y_ALONG_K, 1 - X_ALONG_K>
#endif

/* Registers per thread after the roles split: the launch gives every thread the same. */
#if FEED && GS_CONSUMERS > 1
#define PRODUCER_REGISTERS (GS_CONSUMERS == 2 ? 88 : GS_CONSUMERS == 3 ? 80 : 96)
#define CONSUMER_REGISTERS (GS_CONSUMERS == 2 ? 208 : GS_CONSUMERS == 3 ? 144 : 96)
#elif GS_CONSUMERS > 1
#define PRODUCER_REGISTERS (BLOCKS * ACC_COUNT > 200 ? 24 : 40)
#define CONSUMER_REGISTERS (BLOCKS * ACC_COUNT > 200 ? 240 : GS_CONSUMERS == 2 ? 232 : GS_CONSUMERS == 3 ? 152 : 104)
#endif

#include "ws/tiles.cuh"
#include "ws/ring.cuh"
#include "ws/words.cuh"
#include "ws/stores.cuh"

/* ---- the kernel ---- */

extern "C" __global__ void __launch_bounds__((GS_CONSUMERS + 1) * 128, 1)
gs_ws(
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
#if !GS_DIRECT
      const __grid_constant__ gs_tensor_map map_d,
#if TAIL
      const __grid_constant__ gs_tensor_map map_tail,
#endif
#endif
      const __grid_constant__ gs_kernel_args p)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char *const base = shared + (1024 - gs_shared_address(shared) % 1024) % 1024;
    const unsigned x_stages = gs_shared_address(base);
    const unsigned y_stages = x_stages + RING * X_BYTES;
    unsigned char *const slabs = base + RING * (X_BYTES + Y_BYTES) + (SHIFT ? GS_STAGES * SLOT_BYTES : 0);
    const unsigned full = gs_shared_address(slabs + GS_CONSUMERS * 4 * GS_SLABS * SLAB_BYTES);
    const unsigned empty = full + GS_STAGES * 8;
#if GS_MODE == PP
    const unsigned turn = empty + GS_STAGES * 8;          /* of consumer 0, of consumer 1 */
#endif
#if GS_GROUPED
    group_table *const tiles = (group_table *)(slabs + GS_CONSUMERS * 4 * GS_SLABS * SLAB_BYTES + GS_STAGES * 16 + 16);
#else
    const gs_kernel_args *const tiles = &p;
#endif
#if SHIFT
    const unsigned slots = x_stages + RING * (X_BYTES + Y_BYTES);
#else
    const gs_tensor_map *const map_x = GS_SWAP_AB ? GS_MAP_B : GS_MAP_A, *const map_y = GS_SWAP_AB ? GS_MAP_A : GS_MAP_B;
#endif

    const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);   /* the same in all lanes, and the compiler knows it */
    const unsigned rank = CLUSTER > 1 ? gs_cluster_rank() : 0;
    if (warp == 0 && gs_elect()) {
#if !SHIFT
        if (!FEED_X) gs_tma_prefetch(map_x);
        if (!FEED_Y) gs_tma_prefetch(map_y);
#endif
        for (int s = 0; s < GS_STAGES; s++) gs_mbarrier_init(full + s * 8, FEED ? 4 + (COPIED_BYTES > 0) : 1);
        gs_mbarrier_fence_init();
    } else if (warp == 1 && gs_elect()) {
        for (int s = 0; s < GS_STAGES; s++) gs_mbarrier_init(empty + s * 8, SHARING * 4 * PEERS);   /* every warp that reads the stage, in every block that this one copies to */
#if GS_MODE == PP
        gs_mbarrier_init(turn, 4);       /* every warp of the other consumer: so none of its waits is ever two turns late */
        gs_mbarrier_init(turn + 8, 4);
#endif
        gs_mbarrier_fence_init();
#if !GS_DIRECT
        gs_tma_prefetch(&map_d);
#if TAIL
        gs_tma_prefetch(&map_tail);
#endif
#endif
    }
    /* Consumers wait for both warps that initialise barriers. Without a cluster these two wait only for each other, unless all four producer warps copy operands. */
    __syncwarp();
    if (CLUSTER > 1) {
        gs_cluster_barrier_init();
    } else if (FEED) {
        __syncthreads();
    } else if (warp < 2) {
        gs_named_arrive(1, GS_CONSUMERS * 128 + 64);
        gs_named_barrier(2, 64);
    } else if (warp >= 4) {
        gs_named_barrier(1, GS_CONSUMERS * 128 + 64);
    }

#if GS_GROUPED
    if (warp == 2) {
        gs_dependent_wait();
        fill_table(tiles, &p);
    }
    __syncthreads();
#endif

#if !GS_K_GROUPS
    const int k_blocks = (p.k - 1 + MORE_K) / BK + 1, first_k = 0;
#endif
    place tile;

    if (warp < 4) {
#ifdef PRODUCER_REGISTERS
        gs_setmaxnreg_dec<PRODUCER_REGISTERS>();
#endif
#if FEED
        gs_dependent_wait();
        const gs_operand x = GS_SWAP_AB ? gs_operand_b(p) : gs_operand_a(p), y = GS_SWAP_AB ? gs_operand_a(p) : gs_operand_b(p);
        const feeder own = {x, y, gs_feed_share_of(x, threadIdx.x % GS_FEED_THREADS), gs_feed_share_of(y, threadIdx.x % GS_FEED_THREADS),
                            x_stages, y_stages, full + GS_STAGES * 16 + 16, full};
        tile_walk walk = walk_start(tiles, 0, 1);
        ring at = {0, 0}, oldest = {0, 0};
        int under_way = 0;
        bool more = walk_at(&walk, &p, rank, &tile);
        while (more) {
#pragma unroll 1
            for (int block = 0; block < k_blocks; block++) {
                const unsigned stage = at.stage;
                gs_mbarrier_wait(empty + stage * 8, at.phase ^ 1);
                if (COPIED_BYTES > 0 && warp == 0 && gs_elect())
                    load_stage(map_x, map_y, x_stages + stage * X_BYTES, y_stages + stage * Y_BYTES, full + stage * 8, tile, block * BK, rank);
                feed_stage(&own, stage, tile, block * BK);
                ring_next(&at);
                if (under_way < AHEAD) {
                    under_way++;
                } else {
                    gs_cp_async_wait<AHEAD>();
                    hand_over(&own, &oldest);
                }
            }
            walk_step(&walk, &p);
            walk_on(&walk, &p);
            more = walk_at(&walk, &p, rank, &tile);
        }
        gs_dependent_launch();
        gs_cp_async_wait<0>();
        for (; under_way > 0; under_way--) hand_over(&own, &oldest);
#else
        if (warp == 0 && gs_elect()) {
            tile_walk walk = walk_start(tiles, 0, 1);
            ring at = {0, 0};
            gs_dependent_wait();
#if SHIFT
            const gs_eighths of_a = GS_EIGHTHS(map_a), of_b = GS_EIGHTHS(map_b);
#endif
            bool more = walk_at(&walk, &p, rank, &tile);
            while (more) {
#if GS_K_GROUPS
                const int first_k = range_of(&p, tile).first, k_blocks = range_of(&p, tile).blocks;
#endif
#pragma unroll 1
                for (int block = 0; block < k_blocks; block++) {
                    gs_mbarrier_wait(empty + at.stage * 8, at.phase ^ 1);
#if SHIFT
                    const unsigned slot = slots + at.stage * SLOT_BYTES;
                    gs_mbarrier_expect(full + at.stage * 8, COPIED_BYTES);
                    gs_eighths_bring<BX>(slot, GS_SWAP_AB ? of_b : of_a, block * BK, GS_SWAP_AB ? tile.col : tile.row, full + at.stage * 8);
                    gs_eighths_bring<BY>(slot + GS_SLOT_BYTES(BX), GS_SWAP_AB ? of_a : of_b, block * BK, GS_SWAP_AB ? tile.row : tile.col, full + at.stage * 8);
#else
                    load_stage(map_x, map_y, x_stages + at.stage * X_BYTES, y_stages + at.stage * Y_BYTES, full + at.stage * 8, tile, first_k + block * BK, rank);
#endif
                    ring_next(&at);
                }
                walk_step(&walk, &p);   /* of no use after the first time, but costs nothing: the ring is full */
                walk_on(&walk, &p);
                more = walk_at(&walk, &p, rank, &tile);
            }
            gs_dependent_launch();
            /* Peers still arrive on these barriers: wait until every stage has been released. After that they access nothing of this block. */
            for (int s = 0; CLUSTER > 1 && s < GS_STAGES; s++) {
                gs_mbarrier_wait(empty + at.stage * 8, at.phase ^ 1);
                ring_next(&at);
            }
        }
#endif
    } else {
#ifdef CONSUMER_REGISTERS
        gs_setmaxnreg_inc<CONSUMER_REGISTERS>();
#endif
        const int consumer = warp / 4 - 1, lane = threadIdx.x % 32;
        const int own_x = GS_MODE == PP ? 0 : consumer / SIDE * BLOCKS * 64, own_y = GS_MODE == PP ? 0 : consumer % SIDE * GS_WY;
        const stages in = {
            gs_wgmma_low(x_stages + own_x * 128, X_ALONG_K ? 0 : 128 * BK), gs_wgmma_low(y_stages + own_y * 128, Y_ALONG_K ? 0 : Y_SPAN * BK), full,
            CLUSTER > 1 ? gs_cluster_address(empty, rank ^ lane % PEERS) : empty,
        };
        const sink to = {
            slabs + (warp - 4) * GS_SLABS * SLAB_BYTES,
#if !GS_DIRECT
            &map_d,
#if TAIL
            &map_tail,
#else
            0,
#endif
#endif
            &p,
        };
        if (GS_READS_LATE || GS_AUX || GS_DBIAS || GS_DIRECT || GS_GROUPED || GS_K_GROUPS) gs_dependent_wait();   /* else only tensor stores: the producer has waited before its loads */
        ring at = {0, 0};
        tile_walk walk = walk_start(tiles, GS_MODE == PP ? consumer : 0, GS_MODE == PP ? 2 : 1);
        walk_step(&walk, &p);
#if GS_MODE == PP
        /* The ring holds both consumers' tiles in order: skip those of the other one. */
        const unsigned skip = (unsigned)k_blocks % GS_STAGES, turns_over = (unsigned)k_blocks / GS_STAGES & 1;
        unsigned my_turn = 1 - consumer;                 /* parity: consumer 0 starts with a turn */
        if (consumer == 1) ring_skip(&at, skip, turns_over);
#endif
#if GS_MODE == LAG
        lagging late;
        late.next = PARTS;
#endif
#if SHIFT
        shifter shifted = {gs_shift_share_of<GS_SWAP_AB>(p, threadIdx.x - 128), x_stages, y_stages, slots, 0};
#endif
        while (walk_at(&walk, &p, rank, &tile)) {
            walk_on(&walk, &p);   /* here and not after the tile, to save registers */
            accumulator acc[BLOCKS][ACC_COUNT];
#if GS_MODE == PP
            gs_mbarrier_wait(turn + consumer * 8, my_turn);
            my_turn ^= 1;
#endif
#if SHIFT
#if READ_UNITS
            begin_units<0>(&to, corner_of(tile, own_x + warp % 4 * 16, own_y));
#endif
#pragma unroll 1
            for (int block = 0; block < k_blocks; block++) {
                shift_stage(&shifted, in.full, at, block == k_blocks - 1);
                release(&in, at.stage);
                ring_next(&at);
                multiply_stage(acc, &in, shifted.to, block == 0);
                shifted.to ^= 1;
            }
#else
            unsigned last = at.stage;
            gs_mbarrier_wait(in.full + at.stage * 8, at.phase);
#if GS_K_GROUPS
            const int k_blocks = range_of(&p, tile).blocks;
            if (k_blocks == 1 && range_of(&p, tile).last < BK)
                clear_rows(base + at.stage * X_BYTES, base + GS_STAGES * X_BYTES + at.stage * Y_BYTES, range_of(&p, tile).last);
#endif
            multiply_stage(acc, &in, at.stage, true);
            ring_next(&at);
#if READ_UNITS
            begin_units<0>(&to, corner_of(tile, own_x + warp % 4 * 16, own_y));
#endif
#pragma unroll 1
            for (int block = 1; block < k_blocks; block++) {
                gs_mbarrier_wait(in.full + at.stage * 8, at.phase);
#if GS_K_GROUPS
                if (block == k_blocks - 1 && range_of(&p, tile).last < BK)
                    clear_rows(base + at.stage * X_BYTES, base + GS_STAGES * X_BYTES + at.stage * Y_BYTES, range_of(&p, tile).last);
#endif
                multiply_stage(acc, &in, at.stage, false);
                gs_wgmma_wait<1>();
                release(&in, last);
#if GS_MODE == LAG
                if (late.next < PARTS) {
                    store_late<0>(&to, &late);
                    late.next++;
                }
#endif
                last = at.stage;
                ring_next(&at);
            }
#endif
#if GS_MODE == PP
            /* Every stage of this tile has arrived, so the other consumer may wait for those after it. */
            if (lane == 0) gs_mbarrier_arrive(turn + (1 - consumer) * 8);
#endif
#if GS_BIAS
            const place corner = corner_of(tile, own_x + warp % 4 * 16, own_y);
            beside first;
            load_beside<0>(&first, &p, corner);
#endif
            gs_wgmma_wait<0>();
#if !SHIFT
            release(&in, last);
#endif
            scale(acc, gs_alpha(p));
#if !GS_BIAS   /* here and not earlier, to save registers */
            const place corner = corner_of(tile, own_x + warp % 4 * 16, own_y);
            beside first = {};
#endif
#if GS_MODE == LAG
            for (; late.next < PARTS; late.next++) store_late<0>(&to, &late);
            late.at = corner;
            keep_tile<0>(&late, acc, &p, &first);
            late.next = 0;
#else
            store_tile<0>(&to, acc, corner, &first);
            __syncwarp();   /* lanes meet before the next tile: without this the compiler keeps addresses of the main loop per lane */
#endif
#if GS_MODE == PP
            ring_skip(&at, skip, turns_over);
#endif
        }
#if GS_MODE == LAG
        for (; late.next < PARTS; late.next++) store_late<0>(&to, &late);
#endif
        if (gs_elect()) gs_tma_wait_read<0>();
    }
}

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
 * X is the operand whose rows (columns, of B) meet wgmma's 64-row side, Y the other one: A and B, or, swap_ab, B and A; what wgmma computes
 * is then D transposed, for tiles of D with fewer rows than a multiple of 64.
 *
 * Set by the builder (src/family/ws.c): GS_BATCHED (1: maps of a batch), GS_GROUPED (groups of rows, each with a B of its own; 0: none), GS_MASKED (1: each group has m / GS_GROUPED rows), GS_K_GROUPS (1: each matrix of the batch has a range of K), GS_IN GS_ACC GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt), GS_BETA (1: C is read),
 * GS_BM GS_BN (tile), GS_SWAP_AB (1: X is B), GS_WY (extent of a consumer along Y: the tile's, or less where consumers stand side by
 * side), GS_STAGES, GS_CM GS_CN (cluster blocks along M, N), GS_GROUP GS_ALONG_N (raster), GS_CONSUMERS (warpgroups), GS_MODE, GS_SLABS
 * (epilogue buffers of a consumer warp), GS_FIRST (1: what is stored is the first to leave L2), GS_DIRECT (1: D's rows do not start or
 * end at multiples of 16 bytes, plain stores instead of tensor copies), GS_UNITS (1: C's do, and C is read by units of 16 bytes; 2: aux of a
 * gradient is; 3: aux is written so; 0: all by element). GS_PACK_A GS_PACK_B: copies are made first (common/pack.cuh).
 * GS_FEED_A GS_FEED_B: who brings an operand (common/feed.cuh): tensor copies, or the producer's four warps; or tensor copies of eighths of both operands, to the
 * stages, from which consumers shift them to a ring of their own (common/eighths.cuh).
 *
 * GS_GATE: what is multiplied has twice the columns of D: eight of the gate, then the eight of up that belong to them, and so on, as B's map brings them
 * (GS_TURN: 1) or a copy has them. So a
 * thread has both sums of an element. GS_BN, GS_WY count columns of the product, D's are half as many. */
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

/* Sums of D's columns: of a warp's 16 rows, with swapped operands of 8. Tiles, and groups' first tiles, begin at whole numbers of these. */
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
#define SAME_X (GS_SAME & 2)                         /* all matrices of the batch have one */
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
#define SIDE (BY / GS_WY)                            /* of which stand side by side */
#define BLOCKS (BX / 64 * SIDE / SHARING)            /* 64-row blocks of a consumer */
#define X_BYTES (BX * BK * 2)
#define Y_BYTES (BY * BK * 2)
#define SHIFT (FEED_X == 3)                          /* both operands */
#define FEED ((FEED_X || FEED_Y) && !SHIFT)          /* alone in its cluster */
#define COPIED_BYTES ((FEED_X && !SHIFT ? 0 : X_BYTES) + (FEED_Y && !SHIFT ? 0 : Y_BYTES))   /* of a stage, by tensor copies */
#define BESIDE_X (FEED_X == 2 ? BX * 16 : 0)         /* bytes of a stage: ninth units of rows */
#define BESIDE_Y (FEED_Y == 2 ? BY * 16 : 0)
#if SHIFT
#define RING GS_SHIFTED                              /* k-blocks that are multiplied from */
#define SLOT_BYTES (GS_SLOT_BYTES(BX) + GS_SLOT_BYTES(BY))
#define MORE_K GS_MORE_K
#else
#define RING GS_STAGES
#define SLOT_BYTES 0
#define MORE_K 0
#endif
#define AHEAD (GS_STAGES > 2 ? GS_STAGES - 2 : 0)    /* stages that are under way while the oldest is waited for; consumers hold one, and release it late */
#define Y_SPAN (Y_ALONG_K || GS_WY % 64 == 0 ? 128 : 64)   /* Y's swizzle */
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)
#define SLAB_BYTES 2048                              /* what a warp stores of a part: 16 along X */
#define CHUNK (128 / OUT_BYTES)                      /* extent of a part of the epilogue along Y, for all 64 of a block along X */
#if GS_GATE
#define HALF_X (GS_SWAP_AB ? 2 : 1)                  /* extents of the product for one of D */
#define HALF_Y (GS_SWAP_AB ? 1 : 2)
#else
#define HALF_X 1
#define HALF_Y 1
#endif
#define TAIL (GS_WY / HALF_Y % CHUNK)                /* of the last part where it is less */
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

/* ---- which tiles are whose ---- */

/* Tiles are numbered for the cluster; extents are read from the arguments again for each tile, because registers are scarcer than a few
 * instructions between tiles. */
static __device__ __forceinline__ unsigned columns_of(const gs_kernel_args *p) { return GS_GATE ? 2u * p->n : p->n; }   /* of the product */
static __device__ __forceinline__ unsigned lines(const gs_kernel_args *p)
{
    return GS_ALONG_N ? (unsigned)(columns_of(p) - 1) / (GS_BN * GS_CN) + 1 : (unsigned)(p->m - 1) / (GS_BM * GS_CM) + 1;
}
static __device__ __forceinline__ unsigned length(const gs_kernel_args *p)
{
    return GS_ALONG_N ? (unsigned)(p->m - 1) / (GS_BM * GS_CM) + 1 : (unsigned)(columns_of(p) - 1) / (GS_BN * GS_CN) + 1;
}

#if GS_GROUPED
/* Groups one behind the other: the first row of each (masked: how many it has), and of the tiles' numbers the first one of each; behind the last the ends. In shared
 * memory. */
typedef struct group_table {
    int      row[GS_GROUPED + 1];
    unsigned tile[GS_GROUPED + 1];
} group_table;

static __device__ __forceinline__ unsigned lines_m(int rows) { return (unsigned)(rows + GS_BM * GS_CM - 1) / (GS_BM * GS_CM); }

/* One warp. What it reads may come from the kernel before. */
static __device__ __forceinline__ void fill_table(group_table *table, const gs_kernel_args *p)
{
    const unsigned lane = threadIdx.x % 32, columns = (columns_of(p) - 1) / (GS_BN * GS_CN) + 1;
    unsigned before = 0;
#pragma unroll 1
    for (unsigned first = 0; first < GS_GROUPED; first += 32) {
        const unsigned group = first + lane, here = group < GS_GROUPED ? group : GS_GROUPED, next = group < GS_GROUPED ? group + 1 : GS_GROUPED;
#if GS_MASKED
        (void)next;
        const int row = group < GS_GROUPED ? p->offsets[here] : 0;
        const unsigned own = lines_m(row) * columns;
#else
        const int row = p->offsets[here], end = p->offsets[next];
        const unsigned own = lines_m(end - row) * columns;
#endif
        unsigned sum = own;   /* of this lane and those before it */
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(0xffffffff, sum, step);
            if (lane >= step) sum += other;
        }
        if (group < GS_GROUPED) {
            table->row[group] = row;
            table->tile[group] = before + sum - own;
        }
        before += __shfl_sync(0xffffffff, sum, 31);
    }
    if (lane == 0) {
        if (!GS_MASKED) table->row[GS_GROUPED] = p->offsets[GS_GROUPED];
        table->tile[GS_GROUPED] = before;
    }
}
#endif

/* A cluster takes every (gridDim / CLUSTER)-th tile. Where `turns` consumers take turns, this one has every turns-th of those. */
#if GS_GROUPED
typedef struct tile_walk {
    const group_table *table;
    unsigned tile, step;
    int      group;      /* of the tile before, or an earlier one */
} tile_walk;

static __device__ __forceinline__ tile_walk walk_start(const group_table *table, unsigned turn, unsigned turns)
{
    const unsigned clusters = gridDim.x / CLUSTER;
    const tile_walk w = {table, blockIdx.x / CLUSTER + turn * clusters, turns * clusters, 0};
    return w;
}
#else
typedef gs_tile_walk tile_walk;

static __device__ __forceinline__ gs_tile_walk walk_start(const gs_kernel_args *p, unsigned turn, unsigned turns)
{
    const unsigned clusters = gridDim.x / CLUSTER;
    return gs_tile_walk_start(blockIdx.x / CLUSTER + turn * clusters, turns * clusters, GS_GROUP, length(p));
}
#endif

/* Where a tile, or a warp's share of it, lies in D. */
typedef struct place {
    int row, col;
#if GS_BATCHED || GS_GROUPED
    int index;   /* of the batch, or the group */
#endif
#if GS_GROUPED
    int end;     /* of the group's rows */
#endif
} place;

/* A part of a tile of so many rows and columns further. */
static __device__ __forceinline__ place place_in(place tile, int rows, int cols)
{
    tile.row += rows;
    tile.col += cols;
    return tile;
}

static __device__ __forceinline__ int index_of(place at)
{
#if GS_BATCHED || GS_GROUPED
    return at.index;
#else
    (void)at;
    return 0;
#endif
}

#if GS_GROUPED
/* This block's tile. Tiles are walked within their group as those of a matrix; one of the padded grid may begin behind the group's end: nothing of it is stored. */
static __device__ __forceinline__ bool walk_at(tile_walk *w, const gs_kernel_args *p, unsigned rank, place *tile)
{
    const group_table *const table = w->table;
    if (w->tile >= table->tile[GS_GROUPED]) return false;
    int low = w->group, high = GS_GROUPED;   /* the last one that begins at this tile or before: of empty ones none */
    if (w->tile < table->tile[low + 1]) high = low + 1;
#pragma unroll 1
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (table->tile[middle] <= w->tile) low = middle;
        else high = middle;
    }
    w->group = low;
    const int first = GS_MASKED ? low * (p->m / GS_GROUPED) : table->row[low], end = GS_MASKED ? first + table->row[low] : table->row[low + 1];
    const unsigned lines_of_m = lines_m(end - first), lines_of_n = (columns_of(p) - 1) / (GS_BN * GS_CN) + 1;
    const unsigned lines = GS_ALONG_N ? lines_of_n : lines_of_m, length = GS_ALONG_N ? lines_of_m : lines_of_n;
    const unsigned number = w->tile - table->tile[low], size = GS_GROUP * length, before = number / size * GS_GROUP, in = number % size;
    const unsigned wide = lines - before < GS_GROUP ? lines - before : GS_GROUP, line = before + in % wide, along = in / wide;
    tile->index = low;
    tile->end = end;
    tile->row = first + (int)(((GS_ALONG_N ? along : line) * GS_CM + (GS_SWAP_AB ? rank % CY : rank / CY)) * GS_BM);
    tile->col = (int)(((GS_ALONG_N ? line : along) * GS_CN + (GS_SWAP_AB ? rank / CY : rank % CY)) * GS_BN);
    return true;
}

static __device__ __forceinline__ void walk_step(tile_walk *w, const gs_kernel_args *p) { (void)w, (void)p; }
static __device__ __forceinline__ void walk_on(tile_walk *w, const gs_kernel_args *p) { (void)p, w->tile += w->step; }
#else
/* This block's tile. One of the padded grid may lie wholly outside D: its copies are empty. */
static __device__ __forceinline__ bool walk_at(const gs_tile_walk *w, const gs_kernel_args *p, unsigned rank, place *tile)
{
    unsigned line, along;
#if GS_BATCHED
    /* matrices one behind the other: their lines follow each other, and groups do not cross them where a matrix has whole groups */
    if (!gs_tile_walk_at(w, GS_GROUP, lines(p) * (unsigned)p->batch, length(p), &line, &along)) return false;
    tile->index = (int)(line / lines(p));
    line -= (unsigned)tile->index * lines(p);
#else
    if (!gs_tile_walk_at(w, GS_GROUP, lines(p), length(p), &line, &along)) return false;
#endif
    tile->row = (int)(((GS_ALONG_N ? along : line) * GS_CM + (GS_SWAP_AB ? rank % CY : rank / CY)) * GS_BM);
    tile->col = (int)(((GS_ALONG_N ? line : along) * GS_CN + (GS_SWAP_AB ? rank / CY : rank % CY)) * GS_BN);
    return true;
}

static __device__ __forceinline__ void walk_step(gs_tile_walk *w, const gs_kernel_args *p) { gs_tile_walk_step(w, GS_GROUP, length(p)); }
static __device__ __forceinline__ void walk_on(gs_tile_walk *w, const gs_kernel_args *p) { gs_tile_walk_on(w, GS_GROUP, length(p)); }
#endif

/* ---- the ring ---- */

typedef struct ring {
    unsigned stage, phase;
} ring;

static __device__ __forceinline__ void ring_next(ring *r)
{
    if (++r->stage == GS_STAGES) r->stage = 0, r->phase ^= 1;
}

#if GS_MODE == PP
/* Past that many whole rounds and stages. */
static __device__ __forceinline__ void ring_skip(ring *r, unsigned stages, unsigned rounds)
{
    r->stage += stages;
    r->phase ^= rounds;
    if (r->stage >= GS_STAGES) r->stage -= GS_STAGES, r->phase ^= 1;
}
#endif

/* A k-block of an operand of EXTENT rows (columns, of B) from `first` on. SHARERS blocks load a slice each and multicast it to all of
 * mask. */
template <int SHARERS, bool INDEXED>
static __device__ __forceinline__ void load_box(unsigned to, const gs_tensor_map *map, int inner, int outer, int index, unsigned full, unsigned short mask)
{
    if (INDEXED) {
        if (SHARERS > 1)
            gs_tma_load_multicast_of(to, map, inner, outer, index, full, mask);
        else
            gs_tma_load_of(to, map, inner, outer, index, full);
        return;
    }
    (void)index;
    if (SHARERS > 1)
        gs_tma_load_multicast(to, map, inner, outer, full, mask);
    else
        gs_tma_load(to, map, inner, outer, full);
}

#if GS_TURN
/* The same of B, whose rows the map has in turn. */
template <int SHARERS>
static __device__ __forceinline__ void load_box_in_turn(unsigned to, const gs_tensor_map *map, int k, int row, int index, unsigned full, unsigned short mask)
{
#if GS_BATCHED || GS_GROUPED
    if (SHARERS > 1)
        gs_tma_load_turn_multicast_of(to, map, k, row / 16, index, full, mask);
    else
        gs_tma_load_turn_of(to, map, k, row / 16, index, full);
#else
    (void)index;
    if (SHARERS > 1)
        gs_tma_load_turn_multicast(to, map, k, row / 16, full, mask);
    else
        gs_tma_load_turn(to, map, k, row / 16, full);
#endif
}
#endif

template <int EXTENT, bool ALONG_K, int SPAN, int SHARERS, bool TURN, bool INDEXED>
static __device__ __forceinline__ void load_operand(unsigned to, const gs_tensor_map *map, int first, int k, int index, unsigned full, unsigned rank,
                                                    unsigned short mask)
{
    if (ALONG_K) {
        constexpr unsigned slice = EXTENT / SHARERS, rows = slice > 256 ? slice / 2 : slice;
#pragma unroll
        for (unsigned n = 0; n < slice; n += rows) {
#if GS_TURN
            if (TURN) {
                load_box_in_turn<SHARERS>(to + (rank * slice + n) * 128, map, k, first + rank * slice + n, index, full, mask);
                continue;
            }
#endif
            load_box<SHARERS, INDEXED>(to + (rank * slice + n) * 128, map, k, first + rank * slice + n, index, full, mask);
        }
    } else {
        constexpr unsigned k_rows = BK / SHARERS;
#pragma unroll
        for (int n = 0; n < EXTENT; n += SPAN / 2)
            load_box<SHARERS, INDEXED>(to + n * 128 + rank * k_rows * SPAN, map, first + n, k + rank * k_rows, index, full, mask);
    }
}

/* One block's k-block into stage memory at `x` and `y`. Blocks of a cluster that stand along Y share X, those along X share Y. */
static __device__ __forceinline__ void load_stage(const gs_tensor_map *map_x, const gs_tensor_map *map_y, unsigned x, unsigned y, unsigned full,
                                                  place tile, int k, unsigned rank)
{
    const unsigned rank_x = rank / CY, rank_y = rank % CY;
    gs_mbarrier_expect(full, COPIED_BYTES);
    if (!FEED_X)
        load_operand<BX, X_ALONG_K, 128, CY, GS_TURN && GS_SWAP_AB, GS_BATCHED || (GS_GROUPED && GS_SWAP_AB)>(x, map_x, GS_SWAP_AB ? tile.col : tile.row, k, SAME_X ? 0 : index_of(tile), full,
                                                                                                            rank_y, ((1 << CY) - 1) << rank_x * CY);
    if (!FEED_Y)
        load_operand<BY, Y_ALONG_K, Y_SPAN, CX, GS_TURN && !GS_SWAP_AB, GS_BATCHED || (GS_GROUPED && !GS_SWAP_AB)>(y, map_y, GS_SWAP_AB ? tile.row : tile.col, k, SAME_Y ? 0 : index_of(tile),
                                                                                                                 full, rank_x, (1 | 1 << CY) << rank_y);
}

#if SHIFT
/* What consumers need to shift rows; to: the place in their ring of the next k-block. */
typedef struct shifter {
    gs_shift_share own;
    unsigned x_ring, y_ring, slots, to;
} shifter;

/* A k-block from its slot to its place in the ring. When all meet, all have seen the end of what they issued before: the other place is free then, and the slot. */
static __device__ __forceinline__ void shift_stage(shifter *s, unsigned full, ring at, bool last)
{
    const unsigned next = at.stage + 1 == GS_STAGES ? 0 : at.stage + 1, slot = s->slots + at.stage * SLOT_BYTES, behind = s->slots + next * SLOT_BYTES;
    gs_mbarrier_wait(full + at.stage * 8, at.phase);
    if (!last) gs_mbarrier_wait(full + next * 8, next == 0 ? at.phase ^ 1 : at.phase);
    gs_eighths_shift_both<BX, BY, GS_CONSUMERS * 128>(s->own, s->x_ring + s->to * X_BYTES, s->y_ring + s->to * Y_BYTES, slot, behind, last);
    gs_tma_fence();
    gs_wgmma_wait<0>();
    gs_named_barrier(3, GS_CONSUMERS * 128);
}
#endif

#if FEED
/* What the producer's threads need to bring stages. */
typedef struct feeder {
    gs_operand x, y;
    gs_feed_share own_x, own_y;
    unsigned x_stages, y_stages, beside, full;
} feeder;

static __device__ __forceinline__ void feed_stage(const feeder *f, unsigned stage, place tile, int k)
{
    const unsigned beside = f->beside + stage * (BESIDE_X + BESIDE_Y);
    const int thread = threadIdx.x % GS_FEED_THREADS;
    gs_feed_operand<BX, BK, X_ALONG_K, FEED_X>(f->x, f->own_x, f->x_stages + stage * X_BYTES, beside, GS_SWAP_AB ? tile.col : tile.row, k, thread);
    gs_feed_operand<BY, BK, Y_ALONG_K, FEED_Y>(f->y, f->own_y, f->y_stages + stage * Y_BYTES, beside + BESIDE_X, GS_SWAP_AB ? tile.row : tile.col, k, thread);
    gs_cp_async_commit();
}

/* The oldest stage under way, whose copies have arrived, goes to the consumers. */
static __device__ __forceinline__ void hand_over(const feeder *f, ring *oldest)
{
    const unsigned beside = f->beside + oldest->stage * (BESIDE_X + BESIDE_Y);
    gs_shift_operand<BX, BK, X_ALONG_K, FEED_X>(f->own_x, f->x_stages + oldest->stage * X_BYTES, beside);
    gs_shift_operand<BY, BK, Y_ALONG_K, FEED_Y>(f->own_y, f->y_stages + oldest->stage * Y_BYTES, beside + BESIDE_X);
    gs_feed_arrive(f->full + oldest->stage * 8);
    ring_next(oldest);
}
#endif

/* What a consumer warp needs to read stages and to give them back: descriptors' low words of its operands in stage 0 (of shifted rows: in the ring's first place), the first full
 * barrier, and the first empty barrier of the block that this lane tells; lanes from PEERS on tell nobody. */
typedef struct stages {
    unsigned x, y, full, empty;
} stages;

/* The four k16 steps of a k-block for all of this consumer's rows. */
static __device__ __forceinline__ void multiply_stage(accumulator (&acc)[BLOCKS][ACC_COUNT], const stages *at, unsigned stage, bool first)
{
    const unsigned x = at->x + stage * (X_BYTES / 16), y = at->y + stage * (Y_BYTES / 16);
    gs_wgmma_fence();
#pragma unroll
    for (int step = 0; step < BK / 16; step++) {
        const int x_step = X_ALONG_K ? 32 : 16 * 128, y_step = Y_ALONG_K ? 32 : 16 * Y_SPAN;
        const unsigned long long y_words = gs_wgmma_words<Y_SPAN>(y + step * y_step / 16);
#pragma unroll
        for (int block = 0; block < BLOCKS; block++)
            WGMMA(acc[block], gs_wgmma_words<128>(x + (block * 8192 + step * x_step) / 16), y_words, step > 0 || !first);
    }
    gs_wgmma_commit();
}

static __device__ __forceinline__ void release(const stages *at, unsigned stage)
{
    if (threadIdx.x % 32 >= PEERS) return;
    if (CLUSTER > 1)
        gs_mbarrier_arrive_remote(at->empty + stage * 8);
    else
        gs_mbarrier_arrive(at->empty + stage * 8);
}

#if GS_K_GROUPS
/* Where a tile's range of K begins, its k-blocks, and how many rows of the last one are its own. Of an empty range a block, of which nothing is its own. */
typedef struct range_of_k {
    int first, blocks, last;
} range_of_k;

static __device__ __forceinline__ range_of_k range_of(const gs_kernel_args *p, place tile)
{
    const int index = index_of(tile), first = p->offsets[index], count = p->offsets[index + 1] - first;
    const range_of_k r = {first, count > 0 ? (count - 1) / BK + 1 : 1, count > 0 ? (count - 1) % BK + 1 : 0};
    return r;
}

/* Rows of a k-block from `from` on, which belong to another matrix or to none, become zeros: in both operands, for they may be infinite. All consumers. */
static __device__ __forceinline__ void clear_rows(unsigned char *x, unsigned char *y, int from)
{
    const int thread = threadIdx.x - 128, rows = BK - from, units_y = Y_SPAN / 16;
    const uint4 zero = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (int i = thread; i < BX / 64 * rows * 8; i += GS_CONSUMERS * 128) *(uint4 *)(x + i / (rows * 8) * (BK * 128) + from * 128 + i % (rows * 8) * 16) = zero;
#pragma unroll 1
    for (int i = thread; i < BY * 2 / Y_SPAN * rows * units_y; i += GS_CONSUMERS * 128)
        *(uint4 *)(y + i / (rows * units_y) * (BK * Y_SPAN) + from * Y_SPAN + i % (rows * units_y) * 16) = zero;
    gs_tma_fence();
    gs_named_barrier(3, GS_CONSUMERS * 128);
}
#endif

/* ---- from accumulators to words of D ---- */

#if GS_BETA
static __device__ __forceinline__ float load_c(const gs_kernel_args *p, int index, int row, int col)
{
    if (row >= p->m || col >= p->n) return 0;
    const long long at = gs_row_of_c(*p, GS_GROUPED ? 0 : index, row) + col;
    return gs_raw_to_f32(((const gs_raw *)p->c)[at]);
}
#endif

/* alpha times f32 sums; usually it is 1. f16 sums meet alpha on their way to D. */
static __device__ __forceinline__ void scale(accumulator (&acc)[BLOCKS][ACC_COUNT], float alpha)
{
#if GS_ACC == 2
    if (alpha == 1) return;
#pragma unroll
    for (int block = 0; block < BLOCKS; block++) {
#pragma unroll
        for (int i = 0; i < ACC_COUNT; i++) acc[block][i] *= alpha;
    }
#endif
}

#if GS_ACC == 0
static __device__ __forceinline__ float2 scaled_pair(unsigned pair, float alpha)
{
    return make_float2(alpha * gs_f16_to_f32((unsigned short)pair), alpha * gs_f16_to_f32((unsigned short)(pair >> 16)));
}
#endif

/* The pair of sums of neighbours along Y in group g of 8 along Y, half h along X, in f32. */
static __device__ __forceinline__ float2 sum_pair(const accumulator *acc, int g, int h, const gs_kernel_args *p)
{
#if GS_ACC == 2
    return make_float2(acc[4 * g + 2 * h], acc[4 * g + 2 * h + 1]);
#else
    return scaled_pair(acc[2 * g + h], gs_alpha(*p));
#endif
}

template <int PART>
struct part {
    static constexpr int block = PART / CHUNKS, chunk = PART % CHUNKS;
    static constexpr int wide = chunk == CHUNKS - 1 && TAIL ? TAIL : CHUNK;   /* along Y */
    static constexpr int row = GS_SWAP_AB ? chunk * CHUNK : block * 64, col = GS_SWAP_AB ? block * 64 / HALF_X : chunk * CHUNK;   /* in the consumer's share */
    static constexpr int rows = GS_SWAP_AB ? wide : 16, span = (GS_SWAP_AB ? 16 / HALF_X : wide) * OUT_BYTES;   /* of the slab; bytes of a row in it */
};

/* What a part needs beside its sums, asked for while they are not complete or the part before is stored. */
typedef struct beside {
#if GS_BIAS && BIAS_ALONG_Y
    gs_bias_word bias[2];   /* a run along Y; with a gate also that of up */
#elif GS_BIAS
    gs_raw bias[2];         /* of this thread's first element along X and of its second or, with a gate, of up */
#endif
} beside;

/* The end of the rows that a tile may have: of its group, or of D. */
static __device__ __forceinline__ int end_of_rows(const gs_kernel_args *p, place at)
{
#if GS_GROUPED
    (void)p;
    return at.end;
#else
    return p->m;
#endif
}

#if READ_UNITS
/* Where a row of what is read by units begins. */
static __device__ __forceinline__ const gs_raw *row_of_units(const gs_kernel_args *p, int index, int row)
{
#if GS_UNITS == 2
    return (const gs_raw *)p->aux + gs_place_in_aux(*p, row, 0, index);
#else
    return (const gs_raw *)p->c + gs_row_of_c(*p, GS_GROUPED ? 0 : index, row);
#endif
}
#endif

/* at: the warp's share of the tile. */
template <int PART>
static __device__ __forceinline__ void load_beside(beside *of, const gs_kernel_args *p, place at)
{
    const int lane = threadIdx.x % 32, row = at.row + part<PART>::row, col = at.col + part<PART>::col;
#if GS_BIAS
    const int from = GS_BIAS == 1 ? col : row;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (BIAS_ALONG_Y && i > 0 && !GS_GATE) break;
#if BIAS_ALONG_Y
        of->bias[i] = gs_bias_run(*p, from, i, index_of(at));
#else
        of->bias[i] = gs_bias_at(*p, from + lane / 4 + (GS_GATE ? 0 : 8 * i), GS_GATE && i, index_of(at));
#endif
    }
#endif
    (void)of, (void)p, (void)lane, (void)row, (void)col;
}

#if READ_UNITS
/* Asks for the warp's share of what is read by units from part PART on to come to L2, while the tile is multiplied. */
template <int PART>
static __device__ __forceinline__ void prefetch_units(const gs_kernel_args *p, place at)
{
    constexpr int sectors = part<PART>::span / 32 > 0 ? part<PART>::span / 32 : 1;   /* of 32 bytes, in a row */
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col, end = end_of_rows(p, at);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int sector = threadIdx.x % 32 + 32 * i, r = row + sector / sectors, c = col + sector % sectors * (32 / OUT_BYTES);
        if (sector / sectors < part<PART>::rows && r < end && c < p->n) gs_prefetch_l2(row_of_units(p, index_of(at), r) + c);
    }
    if constexpr (PART + 1 < PARTS) prefetch_units<PART + 1>(p, at);
}
#endif

/* The bias of a pair along Y. up: with a gate. All lanes. */
static __device__ __forceinline__ float2 bias_pair(const beside *of, int g, int h, int up)
{
#if GS_BIAS && BIAS_ALONG_Y
    return gs_bias_in_run(of->bias[up], 8 * g + threadIdx.x % 4 * 2);
#elif GS_BIAS
    const float x = gs_raw_to_f32(of->bias[GS_GATE ? up : h]);
    return make_float2(x, x);
#else
    return make_float2(0, 0);
#endif
    (void)of, (void)g, (void)h, (void)up;
}

/* What the activation is applied to. */
static __device__ __forceinline__ float2 with_bias(float2 sum, float2 bias) { return GS_BIAS ? make_float2(__fadd_rn(sum.x, bias.x), __fadd_rn(sum.y, bias.y)) : sum; }

/* 16-byte piece c of row r of a slab stands at piece c ^ swizzled(r): the swizzle of `span` bytes that the store's tensor map undoes. */
template <int SPAN>
static __device__ __forceinline__ int swizzled(int r) { return SPAN == 128 ? r % 8 : SPAN == 64 ? r / 2 % 4 : SPAN == 32 ? r / 4 % 2 : 0; }

#if READ_UNITS
#if GS_OUT == 2
/* From the slab of a part that was read by units the pair in group g, half h; fill_slab puts D's there, by the same lane. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ float2 unit_pair(unsigned slab, int g, int h)
{
    const int lane = threadIdx.x % 32;
#if GS_SWAP_AB
    const int r = lane % 4 * 2;
    const unsigned from = slab + (8 * g + r) * SPAN + ((2 * h + lane / 16) ^ swizzled<SPAN>(r)) * 16 + lane / 4 % 4 * 4;
    return make_float2(gs_load_shared_f32(from), gs_load_shared_f32(from + SPAN));
#else
    const int r = lane / 4, piece = (2 * g + lane % 4 / 2) ^ swizzled<SPAN>(r);
    return gs_load_shared_f32x2(slab + (r + 8 * h) * SPAN + piece * 16 + lane % 2 * 8);
#endif
}
#else
/* From there the words of groups g and g + 1, or of g where it is the last; fill_slab puts D's there, when all lanes have read: lanes meet at ldmatrix. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void take_units(unsigned (&c)[4], unsigned slab, int g)
{
    const int lane = threadIdx.x % 32;
    unsigned two[2];
#if GS_SWAP_AB
    const int r = lane % 8;
    const unsigned from = slab + (lane / 16 * 8 + r) * SPAN + 16 * (lane / 8 % 2 ^ swizzled<SPAN>(r)) + g * 8 * SPAN;
    if (g + 1 < ROWS / 8) return gs_ldmatrix_x4_trans(c, from);
    gs_ldmatrix_x2_trans(two, from);
#else
    const int r = lane % 16;
    if (g + 1 < SPAN / 16) return gs_ldmatrix_x4(c, slab + r * SPAN + 16 * ((g + lane / 16) ^ swizzled<SPAN>(r)));
    gs_ldmatrix_x2(two, slab + r * SPAN + g * 16);   /* such rows are not swizzled */
#endif
    c[0] = two[0], c[1] = two[1];
}
#endif
#endif

#if GS_DBIAS
/* Where the sums of rows from `row` on are left, from column 0 on. */
static __device__ __forceinline__ float *sums_of_rows(const gs_kernel_args *p, place at, int row)
{
#if GS_GROUPED
    const int first = GS_MASKED ? at.index * (p->m / GS_GROUPED) : p->offsets[at.index];
    return gs_partial_sums(*p, 0, gs_first_of_group(first, at.index, GS_SUM_ROWS) + (row - first) / GS_SUM_ROWS);
#else
    return gs_partial_sums(*p, index_of(at), row / GS_SUM_ROWS);
#endif
}

/* The sums of two neighbouring columns of a warp's 16 rows from `first` on. value: of this thread's rows, row and 8 behind it. All lanes. */
static __device__ __forceinline__ void leave_two_columns(const gs_kernel_args *p, place at, const float2 (&value)[2], int first, int row, int col)
{
    const int end = end_of_rows(p, at);
    float2 sum = make_float2(0, 0);
    if (row < end) sum = value[0];
    if (row + 8 < end) sum.x += value[1].x, sum.y += value[1].y;
#pragma unroll
    for (int other = 4; other < 32; other *= 2) {
        sum.x += __shfl_xor_sync(0xffffffffu, sum.x, other);
        sum.y += __shfl_xor_sync(0xffffffffu, sum.y, other);
    }
    if (threadIdx.x % 32 >= 4 || first >= end) return;
    float *const to = sums_of_rows(p, at, first) + col;
    if (col < p->n) to[0] = sum.x;
    if (col + 1 < p->n) to[1] = sum.y;
}

/* The sum of a column of 8 rows from `first` on, of which this thread has two, from `row` on. All lanes. */
static __device__ __forceinline__ void leave_a_column(const gs_kernel_args *p, place at, float2 value, int first, int row, int col)
{
    const int end = end_of_rows(p, at);
    float sum = (row < end ? value.x : 0) + (row + 1 < end ? value.y : 0);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (threadIdx.x % 4 == 0 && first < end && col < p->n) sums_of_rows(p, at, first)[col] = sum;
}
#endif

/* This thread's words of a part of D (WHAT 0), or of what the activation is applied to there: with a gate the gate (1) and up (2). By groups of 8 along Y, the first 8 along X and the others. at: the warp's share of the tile; slab: where the share of the part
 * is that is read by units. All lanes. */
template <int PART, int WHAT = 0>
static __device__ __forceinline__ void words_of(word (&words)[PART_WORDS], const accumulator (&acc)[BLOCKS][ACC_COUNT], const gs_kernel_args *p, place at, const beside *of, unsigned slab)
{
    const accumulator *const own = acc[part<PART>::block] + part<PART>::chunk * CHUNK * HALF_Y * ACC_COUNT / GS_WY;
#if GS_ACC == 0 && GS_OUT == 0 && !GS_BETA && !GS_SCALES && !GS_BIAS && !GS_ACTIVATION && !GS_AUX && !GS_DBIAS
    /* f16 sums that become f16 results need no arithmetic unless alpha does */
#pragma unroll
    for (int i = 0; i < part<PART>::wide / 4; i++) words[i] = own[i];
    if (gs_alpha(*p) == 1) return;
#pragma unroll
    for (int i = 0; i < part<PART>::wide / 4; i++) {
        const float2 value = scaled_pair(words[i], gs_alpha(*p));
        words[i] = gs_pack_f16x2(value.x, value.y);
    }
    (void)at, (void)of, (void)slab;
#else
    const int across = threadIdx.x % 32 / 4, along = threadIdx.x % 4 * 2;
    const int row = at.row + part<PART>::row + (GS_SWAP_AB ? along : across), col = at.col + part<PART>::col + (GS_SWAP_AB ? across : along);
    const int end = end_of_rows(p, at);
#if READ_UNITS && GS_OUT != 2
    unsigned units[4];   /* of two groups */
#endif
#if GS_DBIAS && !GS_SWAP_AB
    float2 both[2];
#endif
#pragma unroll
    for (int g = 0; g < part<PART>::wide / 8; g++) {
#if READ_UNITS && GS_OUT != 2
        if (g % 2 == 0) take_units<part<PART>::rows, part<PART>::span>(units, slab, g);
#endif
#pragma unroll
        for (int h = 0; h < 2 / HALF_X; h++) {
            const int at_row = row + 8 * (GS_SWAP_AB ? g : h), at_col = col + 8 * (GS_SWAP_AB ? h : g);
            (void)at_row, (void)at_col;
#if READ_UNITS && GS_OUT == 2
            const float2 plus = unit_pair<part<PART>::rows, part<PART>::span>(slab, g, h);
#elif READ_UNITS
            const float2 plus = gs_halves_of(units[g % 2 * 2 + h]);
#elif GS_BETA
            const float2 plus = make_float2(load_c(p, index_of(at), at_row, at_col), load_c(p, index_of(at), at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB));
#else
            const float2 plus = make_float2(0, 0);
#endif
            const float2 b = bias_pair(of, g, h, 0);
#if GS_GATE
            /* gate and up: neighbouring groups along Y or, swap_ab, the two halves along X */
            float2 gate = sum_pair(own, GS_SWAP_AB ? g : 2 * g, GS_SWAP_AB ? 0 : h, p), up = sum_pair(own, GS_SWAP_AB ? g : 2 * g + 1, GS_SWAP_AB ? 1 : h, p);
            const float2 b_up = bias_pair(of, g, h, 1);
            gate.x = gs_scaled_half(*p, gate.x, false, at_row, at_col, p->m, p->n, index_of(at));
            gate.y = gs_scaled_half(*p, gate.y, false, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at));
            up.x = gs_scaled_half(*p, up.x, true, at_row, at_col, p->m, p->n, index_of(at));
            up.y = gs_scaled_half(*p, up.y, true, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at));
            const float2 value = WHAT == 1 ? with_bias(gate, b) : WHAT == 2 ? with_bias(up, b_up)
                               : make_float2(gs_gated_with(*p, gate.x, up.x, b.x, b_up.x, plus.x, at_row, at_col, end, p->n, index_of(at)),
                                             gs_gated_with(*p, gate.y, up.y, b.y, b_up.y, plus.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, end, p->n, index_of(at)));
            const int at_word = GS_SWAP_AB ? g : 2 * g + h;
#else
            float2 sum = sum_pair(own, g, h, p);
            sum.x = gs_scaled(*p, sum.x, at_row, at_col, p->m, p->n, index_of(at));
            sum.y = gs_scaled(*p, sum.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at));
            const float2 value = WHAT == 1 ? with_bias(sum, b)
                               : make_float2(gs_finished_with(*p, sum.x, b.x, plus.x, at_row, at_col, end, p->n, index_of(at)),
                                             gs_finished_with(*p, sum.y, b.y, plus.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, end, p->n, index_of(at)));
            const int at_word = 2 * g + h;
#if GS_DBIAS && GS_SWAP_AB
            if (WHAT == 0) leave_a_column(p, at, value, at_row - along, at_row, at_col);
#elif GS_DBIAS
            both[h] = value;
            if (WHAT == 0 && h == 1) leave_two_columns(p, at, both, row - across, row, at_col);
#endif
#endif
#if GS_OUT == 2
            words[2 * at_word] = value.x;
            words[2 * at_word + 1] = value.y;
#elif GS_OUT == 1
            words[at_word] = gs_pack_bf16x2(value.x, value.y);
#else
            words[at_word] = gs_pack_f16x2(value.x, value.y);
#endif
        }
    }
    (void)slab;
#endif
}

/* ---- from words to D ---- */

/* The warp's share of a part into a slab: 16 rows of SPAN bytes or, swap_ab, ROWS rows of 16 columns. */
#if GS_SWAP_AB && GS_GATE
/* Rows of 8 columns. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void fill_slab(unsigned slab, const word (&words)[PART_WORDS])
{
    const int lane = threadIdx.x % 32;
#if GS_OUT == 2
    const int r = lane % 4 * 2;   /* and the next row, which is swizzled alike */
#pragma unroll
    for (int g = 0; g < ROWS / 8; g++) {
        const unsigned to = slab + (8 * g + r) * SPAN + (lane / 16 ^ swizzled<SPAN>(r)) * 16 + lane / 4 % 4 * 4;
        gs_store_shared_f32(to, words[2 * g]);
        gs_store_shared_f32(to + SPAN, words[2 * g + 1]);
    }
#else
    constexpr int whole = ROWS / 32 * 4;   /* groups of 8 rows that are stored four at a time; rows are not swizzled */
#pragma unroll
    for (int g = 0; g < whole; g += 4) gs_stmatrix_x4_trans(slab + (8 * g + lane) * SPAN, words[g], words[g + 1], words[g + 2], words[g + 3]);
    if (ROWS / 16 % 2) gs_stmatrix_x2_trans(slab + (8 * whole + lane % 16) * SPAN, words[whole], words[whole + 1]);
    if (ROWS / 8 % 2) gs_stmatrix_x1_trans(slab + (ROWS - 8 + lane % 8) * SPAN, words[ROWS / 8 - 1]);
#endif
}
#elif GS_SWAP_AB
template <int ROWS, int SPAN>
static __device__ __forceinline__ void fill_slab(unsigned slab, const word (&words)[PART_WORDS])
{
    const int lane = threadIdx.x % 32;
#if GS_OUT == 2
    const int r = lane % 4 * 2;   /* and the next row, which is swizzled alike */
#pragma unroll
    for (int g = 0; g < ROWS / 8; g++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const unsigned to = slab + (8 * g + r) * SPAN + ((2 * h + lane / 16) ^ swizzled<SPAN>(r)) * 16 + lane / 4 % 4 * 4;
            gs_store_shared_f32(to, words[4 * g + 2 * h]);
            gs_store_shared_f32(to + SPAN, words[4 * g + 2 * h + 1]);
        }
    }
#else
    const int r = lane % 8;       /* matrices: (g, first 8 columns), (g, the others), (g + 1, first), (g + 1, others) */
    const unsigned to = slab + (lane / 16 * 8 + r) * SPAN + (lane / 8 % 2 ^ swizzled<SPAN>(r)) * 16;
#pragma unroll
    for (int g = 0; g + 1 < ROWS / 8; g += 2)
        gs_stmatrix_x4_trans(to + g * 8 * SPAN, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
    if (ROWS / 8 % 2) gs_stmatrix_x2_trans(to + (ROWS / 8 - 1) * 8 * SPAN, words[ROWS / 4 - 2], words[ROWS / 4 - 1]);
#endif
}
#else
template <int ROWS, int SPAN>
static __device__ __forceinline__ void fill_slab(unsigned slab, const word (&words)[PART_WORDS])
{
    const int lane = threadIdx.x % 32;
#if GS_OUT == 2
    const int r = lane / 4;   /* and r + 8, which is swizzled alike at 128 and 64 bytes */
#pragma unroll
    for (int g = 0; g < SPAN / 32; g++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int piece = (2 * g + lane % 4 / 2) ^ swizzled<SPAN>(r);
            gs_store_shared_f32x2(slab + (r + 8 * h) * SPAN + piece * 16 + lane % 2 * 8, words[4 * g + 2 * h], words[4 * g + 2 * h + 1]);
        }
    }
#else
    const int r = lane % 16;  /* matrices: (g, upper), (g, lower), (g + 1, upper), (g + 1, lower) */
#pragma unroll
    for (int g = 0; g + 1 < SPAN / 16; g += 2) {
        const int piece = (g + lane / 16) ^ swizzled<SPAN>(r);
        gs_stmatrix_x4(slab + r * SPAN + piece * 16, words[2 * g], words[2 * g + 1], words[2 * g + 2], words[2 * g + 3]);
    }
    if (SPAN / 16 % 2) gs_stmatrix_x2(slab + r * SPAN + (SPAN / 16 - 1) * 16, words[SPAN / 8 - 2], words[SPAN / 8 - 1]);   /* such rows are not swizzled */
#endif
}
#endif

#if GS_DIRECT
/* The warp's rows of a part from its slab to D, whose rows start at any element. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void store_slab_direct(const unsigned char *slab, const gs_kernel_args *p, int index, int end, int row, int col)
{
    unsigned char *const d = (unsigned char *)p->d + (gs_row_of_d(*p, index, row) + col) * OUT_BYTES;
    const auto piece = [slab](int r, int i) { return slab + r * SPAN + (i ^ swizzled<SPAN>(r)) * 16; };
    gs_store_rows<ROWS, SPAN / 16, OUT_BYTES, 1, 2>(d, p->ldd * OUT_BYTES, end - row, p->n - col, threadIdx.x % 32, piece);
}
#else
/* The same to rows of whole units of 16 bytes: of aux, or of D what a tensor copy would store but for rows from `end` on. at: the first element. */
template <int ROWS, int SPAN>
static __device__ __forceinline__ void store_slab_rows(const unsigned char *slab, gs_raw *at, long long pitch, int rows, int cols)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = lane; i < ROWS * (SPAN / 16); i += 32) {
        const int r = i / (SPAN / 16), c = i % (SPAN / 16);
        if (r < rows && c * (16 / OUT_BYTES) < cols) *(uint4 *)(at + r * pitch + c * (16 / OUT_BYTES)) = *(const uint4 *)(slab + r * SPAN + (c ^ swizzled<SPAN>(r)) * 16);
    }
}
#endif

/* What a consumer warp needs to store: its slabs and D. */
typedef struct sink {
    unsigned char *slabs;
#if !GS_DIRECT
    const gs_tensor_map *map, *map_tail;
#endif
    const gs_kernel_args *p;
} sink;

/* A part goes through one of the warp's slabs; they are used in turn, from the first one in each tile. */
template <int PART>
static __device__ __forceinline__ unsigned char *slab_of(const sink *to) { return to->slabs + PART % GS_SLABS * SLAB_BYTES; }

/* Waits until the part's slab is free. */
template <int PART>
static __device__ __forceinline__ void wait_for_slab(void)
{
#if !GS_DIRECT
    /* the stores since this slab's last one, in this tile or in the one before, may still be under way */
    constexpr int pending = PART >= GS_SLABS ? GS_SLABS - 1 : PARTS - 1 - (PARTS - 1 - PART) / GS_SLABS * GS_SLABS;
    if (gs_elect()) gs_tma_wait_read<pending>();
    __syncwarp();
#endif
}

#if READ_UNITS
/* Waits until every slab is free. */
static __device__ __forceinline__ void wait_for_slabs(void)
{
#if !GS_DIRECT
    if (gs_elect()) gs_tma_wait_read<0>();
#endif
    __syncwarp();
}

/* Asks for the warp's share of a part of C, or of aux, by units of 16 bytes, row by row, a unit for each lane in turn: a group of copies into the part's slab, which is free. */
template <int PART>
static __device__ __forceinline__ void load_units(const sink *to, place at)
{
    constexpr int span = part<PART>::span, units = span / 16;
    const unsigned slab = gs_shared_address(slab_of<PART>(to));
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col, end = end_of_rows(to->p, at);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int unit = threadIdx.x % 32 + 32 * i, r = unit / units, c = col + unit % units * (16 / OUT_BYTES);
        const bool there = row + r < end && c < to->p->n;
        gs_cp_async<16>(slab + r * span + (unit % units ^ swizzled<span>(r)) * 16, row_of_units(to->p, index_of(at), row + r) + c, there ? 16 : 0, r < part<PART>::rows);
    }
    gs_cp_async_commit();
}

/* While the tile is multiplied: so many parts as there are slabs, the others to L2. */
template <int PART>
static __device__ __forceinline__ void begin_units(const sink *to, place at)
{
    if constexpr (PART == 0) wait_for_slabs();
    load_units<PART>(to, at);
    if constexpr (PART + 1 < PARTS && PART + 1 < GS_SLABS) begin_units<PART + 1>(to, at);
    else if constexpr (PART + 1 < PARTS) prefetch_units<PART + 1>(to->p, at);
}
#endif

/* Stores a part through its slab, which is free. */
template <int PART>
static __device__ __forceinline__ void store_part(const sink *to, const word (&words)[PART_WORDS], place at)
{
    unsigned char *const slab = slab_of<PART>(to);
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col;
    constexpr int rows = part<PART>::rows, span = part<PART>::span;
    fill_slab<rows, span>(gs_shared_address(slab), words);
#if GS_DIRECT
    __syncwarp();
#if GS_GROUPED
    store_slab_direct<rows, span>(slab, to->p, 0, at.end, row, col);
#else
    store_slab_direct<rows, span>(slab, to->p, index_of(at), to->p->m, row, col);
#endif
    __syncwarp();
#elif GS_GROUPED
    const bool whole = row + rows <= at.end;   /* else rows of the next group lie in its box */
    if (whole) gs_tma_fence();
    __syncwarp();
    if (!whole) {
        store_slab_rows<rows, span>(slab, (gs_raw *)to->p->d + row * to->p->ldd + col, to->p->ldd, at.end - row, to->p->n - col);
        __syncwarp();
    }
    if (gs_elect()) {
        if (whole && col < to->p->n) gs_tma_store(part<PART>::wide < CHUNK ? to->map_tail : to->map, col, row, gs_shared_address(slab));
        gs_tma_commit();
    }
#else
    gs_tma_fence();
    __syncwarp();
    if (gs_elect()) {
        const gs_tensor_map *const map = part<PART>::wide < CHUNK ? to->map_tail : to->map;
        if (row < to->p->m && col < to->p->n) {
#if GS_BATCHED
            gs_tma_store_of(map, col, row, at.index, gs_shared_address(slab));
#elif GS_FIRST
            gs_tma_store_hint(map, col, row, gs_shared_address(slab), gs_policy_evict_first());
#else
            gs_tma_store(map, col, row, gs_shared_address(slab));
#endif
        }
        gs_tma_commit();
    }
#endif
}

#if GS_UNITS == 3
/* A part of aux through D's slab, which is free, and is again then. WHAT: as words_of has it. */
template <int PART, int WHAT>
static __device__ __forceinline__ void store_aux(const sink *to, const accumulator (&acc)[BLOCKS][ACC_COUNT], place at, const beside *of)
{
    const gs_kernel_args *const p = to->p;
    unsigned char *const slab = slab_of<PART>(to);
    const int row = at.row + part<PART>::row, col = at.col + part<PART>::col;
    constexpr int rows = part<PART>::rows, span = part<PART>::span;
    word words[PART_WORDS];
    words_of<PART, WHAT>(words, acc, p, at, of, 0);
    fill_slab<rows, span>(gs_shared_address(slab), words);
    __syncwarp();
    store_slab_rows<rows, span>(slab, (gs_raw *)p->aux + gs_place_in_aux(*p, row, col + (WHAT == 2 ? p->n : 0), index_of(at)), p->ldaux, end_of_rows(p, at) - row, p->n - col);
    __syncwarp();
}
#endif

/* Part PART and those after it. A template, not a loop: a loop of this size is not always unrolled, and accumulators that are indexed
 * at run time would live in local memory. */
template <int PART>
static __device__ __forceinline__ void store_tile(const sink *to, const accumulator (&acc)[BLOCKS][ACC_COUNT], place at, const beside *of)
{
    word words[PART_WORDS];
    beside next;
#if READ_UNITS
    constexpr int more = PART - 1 + GS_SLABS;   /* goes to the slab of the part before */
    if constexpr (PART > 0 && more < PARTS) {
        wait_for_slabs();
        load_units<more>(to, at);
    }
    if constexpr (PART + 1 < PARTS) load_beside<PART + 1>(&next, to->p, at);
    gs_cp_async_wait<(PARTS - 1 < more ? PARTS - 1 : more) - PART>();
    __syncwarp();
    words_of<PART>(words, acc, to->p, at, of, gs_shared_address(slab_of<PART>(to)));
#else
#if GS_UNITS == 3
    wait_for_slab<PART>();
    store_aux<PART, 1>(to, acc, at, of);
    if (GS_GATE) store_aux<PART, 2>(to, acc, at, of);
#endif
    if constexpr (PART + 1 < PARTS) load_beside<PART + 1>(&next, to->p, at);
    words_of<PART>(words, acc, to->p, at, of, 0);
    if (GS_UNITS != 3) wait_for_slab<PART>();   /* here: registers */
#endif
    store_part<PART>(to, words, at);
    if constexpr (PART + 1 < PARTS) store_tile<PART + 1>(to, acc, at, &next);
}

#if GS_MODE == LAG
/* A tile that is multiplied and not yet stored. */
typedef struct lagging {
    word  words[PARTS][PART_WORDS];
    place at;
    int   next;   /* part to store; PARTS: none */
} lagging;

template <int PART>
static __device__ __forceinline__ void keep_tile(lagging *late, const accumulator (&acc)[BLOCKS][ACC_COUNT], const gs_kernel_args *p, const beside *of)
{
    beside next;
    if constexpr (PART + 1 < PARTS) load_beside<PART + 1>(&next, p, late->at);
    words_of<PART>(late->words[PART], acc, p, late->at, of, 0);
    if constexpr (PART + 1 < PARTS) keep_tile<PART + 1>(late, acc, p, &next);
}

template <int PART>
static __device__ __forceinline__ void store_late(const sink *to, lagging *late)
{
    if (late->next == PART) {
        wait_for_slab<PART>();
        store_part<PART>(to, late->words[PART], late->at);
    } else if constexpr (PART + 1 < PARTS) {
        store_late<PART + 1>(to, late);
    }
}
#endif

/* Where a warp's share of a tile begins in D. x, y: in the tile. */
static __device__ __forceinline__ place corner_of(place tile, int x, int y)
{
#if GS_GATE
    tile.col /= 2;
#endif
#if GS_SWAP_AB
    return place_in(tile, y, x / HALF_X);
#else
    return place_in(tile, x, y / HALF_Y);
#endif
}

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
        for (int s = 0; s < GS_STAGES; s++) gs_mbarrier_init(empty + s * 8, SHARING * 4 * PEERS);   /* every warp that reads it, in every block that it feeds */
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
    /* Consumers wait for both warps that initialise; in a block that is alone these wait for each other only, unless all four bring operands. */
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
                walk_step(&walk, &p);   /* of no use but once, and in nobody's way: the ring is full */
                walk_on(&walk, &p);
                more = walk_at(&walk, &p, rank, &tile);
            }
            gs_dependent_launch();
            /* Peers still arrive on these barriers: stay until every stage came back. Nothing else of theirs reaches this block then. */
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
        if (GS_READS_LATE || GS_AUX || GS_DBIAS || GS_DIRECT || GS_GROUPED || GS_K_GROUPS) gs_dependent_wait();   /* what tensor copies store comes after what they loaded */
        ring at = {0, 0};
        tile_walk walk = walk_start(tiles, GS_MODE == PP ? consumer : 0, GS_MODE == PP ? 2 : 1);
        walk_step(&walk, &p);
#if GS_MODE == PP
        /* The ring serves both consumers' tiles in order: past those of the other one. */
        const unsigned skip = (unsigned)k_blocks % GS_STAGES, turns_over = (unsigned)k_blocks / GS_STAGES & 1;
        unsigned my_turn = 1 - consumer;                 /* parity: the first one of consumer 0 has come */
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
            walk_on(&walk, &p);   /* here, not behind the tile: registers */
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
            /* Every stage of this tile has arrived: the other's waits are for what comes after it. */
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
#if !GS_BIAS   /* here, not before: registers */
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

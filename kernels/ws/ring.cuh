/* SPDX-License-Identifier: MIT
 * Part of family ws (ws.cu): the ring of stages. Tensor copies or threads fill them, consumers multiply from them; ranges of K. */
#ifndef GS_WS_RING_CUH
#define GS_WS_RING_CUH

typedef struct ring {
    unsigned stage, phase;
} ring;

static __device__ __forceinline__ void ring_next(ring *r)
{
    if (++r->stage == GS_STAGES) r->stage = 0, r->phase ^= 1;
}

#if GS_MODE == PP
/* Skips `rounds` whole rounds (their parity suffices) and `stages` stages. */
static __device__ __forceinline__ void ring_skip(ring *r, unsigned stages, unsigned rounds)
{
    r->stage += stages;
    r->phase ^= rounds;
    if (r->stage >= GS_STAGES) r->stage -= GS_STAGES, r->phase ^= 1;
}
#endif

/* Loads a box; if there are several SHARERS it is multicast to the blocks in `mask`. INDEXED: the map has a third coordinate, `index`. */
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
/* The same for B's map with a gate, whose rows alternate. */
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

/* Loads a k-block of an operand of EXTENT rows (of B: columns) from `first` on. SHARERS blocks load a slice each and multicast it to all of them. */
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

/* Loads a block's k-block to the stage at `x` and `y`. Blocks of a cluster along Y share X, those along X share Y. */
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

/* Shifts a k-block from its slot to its place in the ring. At the barrier all consumers have read the slot and waited for their previous wgmma: slot and other place are free. */
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
/* What the producer's threads need to copy stages. */
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

/* Hands the oldest stage in flight, whose copies have arrived, to the consumers. */
static __device__ __forceinline__ void hand_over(const feeder *f, ring *oldest)
{
    const unsigned beside = f->beside + oldest->stage * (BESIDE_X + BESIDE_Y);
    gs_shift_operand<BX, BK, X_ALONG_K, FEED_X>(f->own_x, f->x_stages + oldest->stage * X_BYTES, beside);
    gs_shift_operand<BY, BK, Y_ALONG_K, FEED_Y>(f->own_y, f->y_stages + oldest->stage * Y_BYTES, beside + BESIDE_X);
    gs_feed_arrive(f->full + oldest->stage * 8);
    ring_next(oldest);
}
#endif

/* What a consumer warp needs to read and release stages: low words of its operands' descriptors in stage 0 (shifted rows: in the ring's first place), the first full barrier, and
 * the first empty barrier of the block where this lane arrives; lanes from PEERS on arrive nowhere. */
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
/* A tile's range of K: its start, its k-blocks, and how many k of the last one belong to it. An empty range has one k-block, none of which belongs to it. */
typedef struct range_of_k {
    int first, blocks, last;
} range_of_k;

static __device__ __forceinline__ range_of_k range_of(const gs_kernel_args *p, place tile)
{
    const int index = index_of(tile), first = p->offsets[index], count = p->offsets[index + 1] - first;
    const range_of_k r = {first, count > 0 ? (count - 1) / BK + 1 : 1, count > 0 ? (count - 1) % BK + 1 : 0};
    return r;
}

/* Zeroes the rows of a k-block from `from` on, which belong to another matrix or to none: in both operands, because they may be inf or NaN. All consumers. */
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

#endif

/* SPDX-License-Identifier: MIT
 * Part of family splitk (splitk.cu): the producer, which fills the ring of stages. */
#ifndef GS_SPLITK_PRODUCER_CUH
#define GS_SPLITK_PRODUCER_CUH

/* What all of a producer's copies have in common. */
typedef struct source {
#if SHIFT
    gs_eighths x, y;
#else
    const gs_tensor_map *x, *y;
#endif
    int row_x, row_y;                /* first rows of the tile */
    unsigned rank;
    unsigned short mask;             /* blocks that share an operand */
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
/* The same for B's map with a gate, whose rows alternate. */
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

/* Loads a k-block of an operand of ROWS rows, from `row` on. same: all matrices of the batch share one. */
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

/* Loads the operands of a k-block that only this block needs. */
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

/* Loads the operands that all sharers need: one of them copies for all, in each stage another one. */
template <int OPERANDS = LOAD_BOTH>
static __device__ __forceinline__ void load_shared(unsigned to, int k, unsigned full, unsigned stage, const source &from)
{
    if (stage % SHARERS != from.rank) return;
#if !SHIFT
    if (X_SHARED && OPERANDS & LOAD_X) load_operand<BX, X_ALONG_K, true, GS_TURN && GS_ORDER>(to, from.x, from.row_x, k, full, from, SAME_X);
    if (Y_SHARED && OPERANDS & LOAD_Y) load_operand<BY, Y_ALONG_K, true, GS_TURN && !GS_ORDER>(to + X_BYTES, from.y, from.row_y, k, full, from, SAME_Y);
#endif
}

/* The start of the producer warp: initialises the barriers, tells the other warps, and starts the copies for all stages without waiting for them.
 * early_b: B's copies start before the previous launch has ended, A's after it. */
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
/* What the producer's threads need to copy stages. */
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

/* Hands a stage whose copies have arrived to the consumers. */
static __device__ __forceinline__ void hand_over(const feeder &f, unsigned full, unsigned stage)
{
    const unsigned to = f.stages + stage * STAGE_BYTES, beside = f.beside + stage * (BESIDE_X + BESIDE_Y);
    gs_shift_operand<BX, GS_BK, X_ALONG_K, FEED_X>(f.own_x, to, beside);
    gs_shift_operand<BY, GS_BK, Y_ALONG_K, FEED_Y>(f.own_y, to + X_BYTES, beside + BESIDE_X);
    gs_feed_arrive(full + stage * 8);
}

/* The loop of the producer's four warps, once the barriers are initialised. Every k-block is a group of copies; after the last one groups are empty. */
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

/* The loop of the producer warp: refills stages that consumers have released. */
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
    if (gs_elect()) gs_dependent_launch();   /* after the last copy: the next launch's blocks then do not compete with these copies */
    __syncwarp();
    if (CLUSTER > 1 && SHARERS == 1) gs_cluster_wait();
}

#endif

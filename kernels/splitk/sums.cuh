/* SPDX-License-Identifier: MIT
 * Part of family splitk (splitk.cu): the consumers multiply, and add up the sums of the parts of K. */
#ifndef GS_SPLITK_SUMS_CUH
#define GS_SPLITK_SUMS_CUH

/* Zeroes the rows of a tile that are beyond the matrix and that no copy writes, once. Their results are computed, but not stored. */
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
/* brought: k-blocks that are copied, of which `blocks` are multiplied. Consumers first shift each one to one of two places. At the barrier all of them have waited for their
 * previous wgmma, so the other place is free. */
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
        if (blocks > GS_STAGES) {   /* the previous stage is free; it is released if there is more to load */
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

/* ---- the consumers: sums of the parts of K ---- */

typedef float slice[ROW_BLOCKS][4 * SLICE];

#if GS_CK > 1
/* Sends a slice of this block's accumulators to the block of rank RANK; each thread to its counterpart there. */
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

/* Sends to the ranks after this block's (BEHIND) or to those before it; in this order, no two blocks send to the same one at the same time. */
template <int RANK, bool BEHIND>
static __device__ __forceinline__ void send_slices(const float (&acc)[ROW_BLOCKS][BY / 2], unsigned landing, unsigned parts, const place &at)
{
    if constexpr (BEHIND ? RANK > 0 : RANK + 1 < GS_CK)
        if (BEHIND ? RANK > at.rank_k : RANK < at.rank_k) send_slice<RANK>(acc, landing, parts, at);
    if constexpr (RANK + 1 < GS_CK) send_slices<RANK + 1, BEHIND>(acc, landing, parts, at);
}

/* Sends every other block of the cluster along K its slice of this block's accumulators, and adds what they send to this block's slice, always
 * in the order of ranks after its own. */
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
/* Writes the slice to the workspace. Returns to the last block of a tile that does so the address of all of them, to the others 0.
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

/* The sums of COUNT groups of a 64-row block from group FIRST on: the accumulators or, with tickets, all parts added in the order of shares,
 * read from the workspace, except this block's own one if it is kept. */
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

#endif

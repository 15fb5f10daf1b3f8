/* SPDX-License-Identifier: MIT
 * Family ws: Hopper, warp-specialised, persistent. One producer thread fills a ring of shared-memory stages by tensor copies;
 * consumer warpgroups multiply from it with wgmma, keep the accumulators in registers and store tiles by tensor copies.
 *
 *   producer   wait empty[s] -> announce bytes on full[s] -> copy A and B of one k-block (multicast to the cluster)
 *   consumers  wait full[s] -> 4 wgmma steps of k16 -> one group stays in flight -> release the stage before: empty[s-1]
 *
 * Set by the builder (src/kernel/ws.c): GS_IN GS_ACC GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn), GS_BETA (1: C is read),
 * GS_BM GS_BN (tile), GS_STAGES, GS_CM GS_CN (cluster blocks along M, N), GS_GROUP GS_ALONG_N (raster),
 * GS_CONSUMERS (warpgroups), GS_DIRECT (1: D's rows do not start or end at multiples of 16 bytes, plain stores instead of tensor copies). */
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/mbarrier.cuh"
#include "common/raster.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"

#define BK 64                                        /* halves: one row of the 128-byte swizzle */
#define CLUSTER (GS_CM * GS_CN)
#define THREADS ((GS_CONSUMERS + 1) * 128)
#define BLOCKS (GS_BM / 64 / GS_CONSUMERS)           /* 64-row blocks of a consumer */
#define A_BYTES (GS_BM * BK * 2)
#define B_BYTES (GS_BN * BK * 2)
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)
#define CHUNK (128 / OUT_BYTES)                      /* columns of an epilogue buffer: 64 rows of 128 bytes */
#define CHUNK_BYTES 8192
#define CHUNKS (GS_BN / CHUNK)                        /* of 64 rows of the tile */

#if GS_ACC == 2
#define ACC_COUNT (GS_BN / 2)
typedef float accumulator;
#else
#define ACC_COUNT (GS_BN / 4)
typedef unsigned accumulator;
#endif

#define PASTE_(a, b, c, d) a##b##c##d
#define PASTE(a, b, c, d) PASTE_(a, b, c, d)
#if GS_ACC == 2 && GS_IN == 0
#define WGMMA PASTE(gs_wgmma_n, GS_BN, _f32, _f16)<1 - GS_LAYOUT>
#elif GS_ACC == 2
#define WGMMA PASTE(gs_wgmma_n, GS_BN, _f32, _bf16)<1 - GS_LAYOUT>
#else
#define WGMMA PASTE(gs_wgmma_n, GS_BN, _f16, _f16)<1 - GS_LAYOUT>
#endif

/* Registers per thread after the roles split: the launch gives every thread the same. */
#if GS_CONSUMERS == 2
#define PRODUCER_REGISTERS 40
#define CONSUMER_REGISTERS 232
#elif GS_CONSUMERS == 3
#define PRODUCER_REGISTERS 40
#define CONSUMER_REGISTERS 152
#endif

/* Which output tiles are this block's: its cluster takes every gridDim/CLUSTER-th. Extents are read from the arguments again for
 * each tile, because registers are scarcer than a few instructions between tiles. */
typedef struct tile_walk {
    int next;
    int rank_m, rank_n;   /* of this block in its cluster */
} tile_walk;

static __device__ __forceinline__ tile_walk walk_start(void)
{
    const int rank = CLUSTER > 1 ? (int)gs_cluster_rank() : 0;
    const tile_walk start = {(int)blockIdx.x / CLUSTER, GS_CM > 1 ? rank : 0, GS_CN > 1 ? rank : 0};
    return start;
}

/* First row and column of this block's next tile. A tile of the padded grid may lie wholly outside D: its copies are empty. */
static __device__ __forceinline__ bool walk_next(tile_walk *w, const gs_kernel_args *p, int *row, int *col)
{
    const int tiles_m = (p->m - 1) / (GS_BM * GS_CM) + 1;
    const int tiles_n = (p->n - 1) / (GS_BN * GS_CN) + 1;
    if (w->next >= tiles_m * tiles_n) return false;
    int tile_m, tile_n;
    gs_raster(w->next, tiles_m, tiles_n, GS_GROUP, GS_ALONG_N, &tile_m, &tile_n);
    *row = (tile_m * GS_CM + w->rank_m) * GS_BM;
    *col = (tile_n * GS_CN + w->rank_n) * GS_BN;
    w->next += gridDim.x / CLUSTER;
    return true;
}

/* One block's k-block into stage memory at `a` and `b`; blocks that share an operand load a slice each and multicast it. */
static __device__ __forceinline__ void load_stage(const gs_tensor_map *map_a, const gs_tensor_map *map_b, unsigned a, unsigned b, unsigned full,
                                                  int row, int col, int k, const tile_walk *w)
{
    gs_mbarrier_expect(full, A_BYTES + B_BYTES);
    const unsigned short all = (1 << CLUSTER) - 1;
#if GS_CN > 1
    const int a_rows = GS_BM / GS_CN;
    gs_tma_load_multicast(a + w->rank_n * a_rows * 128, map_a, k, row + w->rank_n * a_rows, full, all);
#else
    gs_tma_load(a, map_a, k, row, full);
#endif
#if GS_LAYOUT == 1
#if GS_CM > 1
    const int b_rows = GS_BN / GS_CM;
    gs_tma_load_multicast(b + w->rank_m * b_rows * 128, map_b, k, col + w->rank_m * b_rows, full, all);
#else
    gs_tma_load(b, map_b, k, col, full);
#endif
#else
#pragma unroll
    for (int n = 0; n < GS_BN; n += 64) {
#if GS_CM > 1
        const int k_rows = BK / GS_CM;
        gs_tma_load_multicast(b + n * 128 + w->rank_m * k_rows * 128, map_b, col + n, k + w->rank_m * k_rows, full, all);
#else
        gs_tma_load(b + n * 128, map_b, col + n, k, full);
#endif
    }
#endif
    (void)all;
    (void)w;
}

/* The four k16 steps of a k-block for all of this consumer's rows. */
static __device__ __forceinline__ void multiply_stage(accumulator (&acc)[BLOCKS][ACC_COUNT], unsigned a, unsigned b, bool first)
{
    const unsigned long long a_base = gs_wgmma_descriptor(a, 0, 1024);
    const unsigned long long b_base = gs_wgmma_descriptor(b, GS_LAYOUT == 1 ? 0 : BK * 128, 1024);
    gs_wgmma_fence();
#pragma unroll
    for (int step = 0; step < BK / 16; step++) {
#pragma unroll
        for (int block = 0; block < BLOCKS; block++)
            WGMMA(acc[block], a_base + (block * 8192 + step * 32) / 16, b_base + step * (GS_LAYOUT == 1 ? 32 : 2048) / 16, step > 0 || !first);
    }
    gs_wgmma_commit();
}

/* alpha times the pair of neighbouring accumulators of 8-column group g, half h. */
static __device__ __forceinline__ float2 scaled_pair(const accumulator *acc, int g, int h, float alpha)
{
#if GS_ACC == 2
    return make_float2(alpha * acc[4 * g + 2 * h], alpha * acc[4 * g + 2 * h + 1]);
#else
    const unsigned pair = acc[2 * g + h];
    return make_float2(alpha * gs_f16_to_f32((unsigned short)pair), alpha * gs_f16_to_f32((unsigned short)(pair >> 16)));
#endif
}

#if GS_BETA
static __device__ __forceinline__ float load_c(const gs_kernel_args *p, int row, int col)
{
    if (row >= p->m || col >= p->n) return 0;
    const long long at = row * p->ldc + col;
#if GS_OUT == 2
    return ((const float *)p->c)[at];
#elif GS_OUT == 1
    return gs_bf16_to_f32(((const unsigned short *)p->c)[at]);
#else
    return gs_f16_to_f32(((const unsigned short *)p->c)[at]);
#endif
}
#endif

static __device__ __forceinline__ float2 output_pair(const accumulator *acc, int g, int h, const gs_kernel_args *p, int row, int col)
{
    float2 value = scaled_pair(acc, g, h, p->alpha);
#if GS_BETA
    value.x += p->beta * load_c(p, row, col);
    value.y += p->beta * load_c(p, row, col + 1);
#endif
    return value;
}

#if GS_OUT != 2
static __device__ __forceinline__ unsigned pack(float2 value)
{
#if GS_OUT == 1
    return gs_pack_bf16x2(value.x, value.y);
#else
    return gs_pack_f16x2(value.x, value.y);
#endif
}
#endif

/* This warp's 16 rows of one chunk into its buffer, in the 128-byte swizzle that the store's tensor map undoes:
 * 16-byte piece c of row r stands at piece c ^ (r % 8). row, col: of the chunk in D, for C. */
static __device__ __forceinline__ void fill_chunk(unsigned buffer, const accumulator *acc, int chunk, const gs_kernel_args *p, int row, int col)
{
    const int lane = threadIdx.x % 32;
    const int warp_row = threadIdx.x / 32 % 4 * 16;
#if GS_OUT == 2
    const int r = warp_row + lane / 4;
#pragma unroll
    for (int g = 0; g < CHUNK / 8; g++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float2 value = output_pair(acc, chunk * (CHUNK / 8) + g, h, p, row + r + 8 * h, col + 8 * g + lane % 4 * 2);
            const int piece = (2 * g + lane % 4 / 2) ^ (r % 8);
            gs_store_shared_f32x2(buffer + (r + 8 * h) * 128 + piece * 16 + lane % 2 * 8, value.x, value.y);
        }
    }
#else
    const int r = warp_row + lane % 16;                 /* matrices: (g, upper), (g, lower), (g + 1, upper), (g + 1, lower) */
    const int own_row = row + warp_row + lane / 4;
#pragma unroll
    for (int g = 0; g < CHUNK / 8; g += 2) {
        unsigned part[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            part[i] = pack(output_pair(acc, chunk * (CHUNK / 8) + g + i / 2, i % 2, p, own_row + i % 2 * 8, col + 8 * (g + i / 2) + lane % 4 * 2));
        const int piece = (g + lane / 16) ^ (r % 8);
        gs_stmatrix_x4(buffer + r * 128 + piece * 16, part[0], part[1], part[2], part[3]);
    }
#endif
}

#if GS_DIRECT
/* This warp's rows of a chunk from its buffer to D by element: 32 neighbouring columns at a time. */
static __device__ __forceinline__ void store_chunk_direct(const unsigned char *buffer, const gs_kernel_args *p, int row, int col)
{
    const int lane = threadIdx.x % 32;
    const int warp_row = threadIdx.x / 32 % 4 * 16;
    for (int r = warp_row; r < warp_row + 16; r++) {
        if (row + r >= p->m) break;
#pragma unroll
        for (int c = lane; c < CHUNK; c += 32) {
            const int byte = c * OUT_BYTES;
            const unsigned char *const from = buffer + r * 128 + ((byte / 16) ^ (r % 8)) * 16 + byte % 16;
            if (col + c >= p->n) continue;
            const long long at = (row + r) * p->ldd + col + c;
#if GS_OUT == 2
            ((float *)p->d)[at] = *(const float *)from;
#else
            ((unsigned short *)p->d)[at] = *(const unsigned short *)from;
#endif
        }
    }
}
#endif

/* Stores part PART of this consumer's rows of the tile, and those after it, through two buffers of its own: one is filled while the
 * other is being copied. A template, not a loop: a loop of this size is not always unrolled, and accumulators that are indexed at run
 * time would live in local memory. */
template <int PART>
static __device__ __forceinline__ void store_parts(const gs_tensor_map *map_d, unsigned char *buffers, const accumulator (&acc)[BLOCKS][ACC_COUNT],
                                                   const gs_kernel_args *p, int row, int col, int consumer)
{
    constexpr int block = PART / CHUNKS, chunk = PART % CHUNKS;
    unsigned char *const buffer = buffers + PART % 2 * CHUNK_BYTES;
    const int at_row = row + block * 64, at_col = col + chunk * CHUNK;
#if GS_DIRECT
    fill_chunk(gs_shared_address(buffer), acc[block], chunk, p, at_row, at_col);
    __syncwarp();
    store_chunk_direct(buffer, p, at_row, at_col);
    __syncwarp();
#else
    if (threadIdx.x % 128 == 0) {
        /* the store before last used this buffer; after an odd number of parts, the last one of the tile before did */
        if (BLOCKS * CHUNKS % 2 == 1 && PART == 0)
            gs_tma_wait_read<0>();
        else
            gs_tma_wait_read<1>();
    }
    __syncwarp();
    gs_named_barrier(1 + consumer, 128);
    fill_chunk(gs_shared_address(buffer), acc[block], chunk, p, at_row, at_col);
    gs_tma_fence();
    gs_named_barrier(1 + consumer, 128);
    if (threadIdx.x % 128 == 0) {
        if (at_row < p->m && at_col < p->n) gs_tma_store(map_d, at_col, at_row, gs_shared_address(buffer));
        gs_tma_commit();
    }
#endif
    if constexpr (PART + 1 < BLOCKS * CHUNKS) store_parts<PART + 1>(map_d, buffers, acc, p, row, col, consumer);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gs_ws(const __grid_constant__ gs_tensor_map map_a, const __grid_constant__ gs_tensor_map map_b,
#if !GS_DIRECT
      const __grid_constant__ gs_tensor_map map_d,
#endif
      const __grid_constant__ gs_kernel_args p)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char *const base = shared + (1024 - gs_shared_address(shared) % 1024) % 1024;
    const unsigned a_stages = gs_shared_address(base);
    const unsigned b_stages = a_stages + GS_STAGES * A_BYTES;
    unsigned char *const buffers = base + GS_STAGES * (A_BYTES + B_BYTES);
    const unsigned full = gs_shared_address(buffers + GS_CONSUMERS * 2 * CHUNK_BYTES);
    const unsigned empty = full + GS_STAGES * 8;

    const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);   /* the same in all lanes, and the compiler knows it */
    if (threadIdx.x == 0) {
        gs_tma_prefetch(&map_a);
        gs_tma_prefetch(&map_b);
#if !GS_DIRECT
        gs_tma_prefetch(&map_d);
#endif
        for (int s = 0; s < GS_STAGES; s++) {
            gs_mbarrier_init(full + s * 8, 1);
            gs_mbarrier_init(empty + s * 8, GS_CONSUMERS * 4 * CLUSTER);   /* every consumer warp of every block that it feeds */
        }
        gs_mbarrier_fence_init();
    }
    if (CLUSTER > 1)
        gs_cluster_barrier();
    else
        __syncthreads();

    tile_walk walk = walk_start();
    const int k_blocks = (p.k - 1) / BK + 1;
    int row, col, stage = 0;
    unsigned phase = 0;

    if (group == 0) {
#ifdef PRODUCER_REGISTERS
        gs_setmaxnreg_dec<PRODUCER_REGISTERS>();
#endif
        if (threadIdx.x == 0) {
            while (walk_next(&walk, &p, &row, &col)) {
                for (int block = 0; block < k_blocks; block++) {
                    gs_mbarrier_wait(empty + stage * 8, phase ^ 1);
                    load_stage(&map_a, &map_b, a_stages + stage * A_BYTES, b_stages + stage * B_BYTES, full + stage * 8, row, col, block * BK, &walk);
                    if (++stage == GS_STAGES) stage = 0, phase ^= 1;
                }
            }
            /* Peers still arrive on these barriers: stay until every stage came back. */
            for (int s = 0; CLUSTER > 1 && s < GS_STAGES; s++) {
                gs_mbarrier_wait(empty + stage * 8, phase ^ 1);
                if (++stage == GS_STAGES) stage = 0, phase ^= 1;
            }
        }
    } else {
#ifdef CONSUMER_REGISTERS
        gs_setmaxnreg_inc<CONSUMER_REGISTERS>();
#endif
        const int consumer = group - 1;
        const int lane = threadIdx.x % 32;
        const unsigned a_own = a_stages + consumer * BLOCKS * 64 * 128;
        while (walk_next(&walk, &p, &row, &col)) {
            accumulator acc[BLOCKS][ACC_COUNT];
            int last = 0;
#pragma unroll 1
            for (int block = 0; block < k_blocks; block++) {
                gs_mbarrier_wait(full + stage * 8, phase);
                multiply_stage(acc, a_own + stage * A_BYTES, b_stages + stage * B_BYTES, block == 0);
                gs_wgmma_wait<1>();
                if (block > 0 && lane < CLUSTER) {
                    if (CLUSTER > 1)
                        gs_mbarrier_arrive_cluster(empty + last * 8, lane);
                    else
                        gs_mbarrier_arrive(empty + last * 8);
                }
                last = stage;
                if (++stage == GS_STAGES) stage = 0, phase ^= 1;
            }
            gs_wgmma_wait<0>();
            if (lane < CLUSTER) {
                if (CLUSTER > 1)
                    gs_mbarrier_arrive_cluster(empty + last * 8, lane);
                else
                    gs_mbarrier_arrive(empty + last * 8);
            }
#if GS_DIRECT
            store_parts<0>(0, buffers + consumer * 2 * CHUNK_BYTES, acc, &p, row + consumer * BLOCKS * 64, col, consumer);
#else
            store_parts<0>(&map_d, buffers + consumer * 2 * CHUNK_BYTES, acc, &p, row + consumer * BLOCKS * 64, col, consumer);
#endif
        }
        if (threadIdx.x % 128 == 0) gs_tma_wait_read<0>();
    }
    __syncwarp();
    if (CLUSTER > 1) gs_cluster_barrier();
}

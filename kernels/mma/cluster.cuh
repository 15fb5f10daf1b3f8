/* SPDX-License-Identifier: MIT
 * Part of family mma (mma.cu): the blocks of a cluster, which share K, add up their sums. */
#ifndef GS_MMA_CLUSTER_CUH
#define GS_MMA_CLUSTER_CUH

#if GS_SPLIT > 1

#define SUM_PITCH (GS_BN * 4 + 16)                   /* bytes from row to row of a block's sums, f32 */

__device__ __forceinline__ void leave_sums(const accumulator (&acc)[MT][NT], unsigned sums, int warp_m, int warp_n, int lane)
{
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = warp_m * WARP_M + m * 16 + half * 8 + lane / 4, column = warp_n * WARP_N + n * 8 + lane % 4 * 2;
                const float2 x = accumulated(acc[m][n], half);
                gs_store_shared_f32x2(sums + row * SUM_PITCH + column * 4, x.x, x.y);
            }
}

#define SUM_PAIRS (GS_BN / (GS_GATE ? 4 : 2))        /* pairs of columns of D of a tile */
#define SUM_SHARE (GS_BM / GS_SPLIT)                 /* rows of a block: rank, rank + GS_SPLIT, ... */

/* Stores D = alpha * sums + beta * C for a pair of columns of a row of the tile; the first one must be in D. Returns the values before they are rounded, 0 outside D. */
__device__ __forceinline__ float2 add_pair(const gs_kernel_args &p, const unsigned (&of)[GS_SPLIT], long long index, int m0, int n0, int row, int column)
{
    float2 x = make_float2(0, 0);
#if GS_GATE
    const int place = column / WARP_D * WARP_N + column % WARP_D / 8 * 16 + column % 8;
    float2 up = make_float2(0, 0);
#pragma unroll
    for (int s = 0; s < GS_SPLIT; s++) {
        const float2 part = gs_peer_load_f32x2(of[s] + row * SUM_PITCH + place * 4), part_up = gs_peer_load_f32x2(of[s] + row * SUM_PITCH + place * 4 + 32);
        x.x += part.x;
        x.y += part.y;
        up.x += part_up.x;
        up.y += part_up.y;
    }
#else
#pragma unroll
    for (int s = 0; s < GS_SPLIT; s++) {
        const float2 part = gs_peer_load_f32x2(of[s] + row * SUM_PITCH + column * 4);
        x.x += part.x;
        x.y += part.y;
    }
#endif
    const bool both = n0 + (long long)column + 1 < p.n;
    unsigned char *const d = (unsigned char *)gs_base_d(p, index) + (gs_row_of_d(p, index, m0 + row) + n0 + column) * OUT_BYTES;
#if GS_GATE
    x = gated_pair(p, x, up, index, m0 + row, n0 + column);
#else
    x.x = gs_scaled(p, x.x * gs_alpha(p), m0 + row, n0 + column, p.m, p.n, index);
    x.y = gs_scaled(p, x.y * gs_alpha(p), m0 + row, n0 + column + 1, p.m, p.n, index);
    float2 own = make_float2(0, 0);   /* of a residual */
#if GS_BETA
    const long long at = gs_row_of_c(p, index, m0 + row) + n0 + column;
    add_c(p, gs_base_c(p, index), at, x.x, own.x);
    if (both) add_c(p, gs_base_c(p, index), at + 1, x.y, own.y);
#endif
    x.x = gs_from_bias(p, x.x, gs_bias_of(p, m0 + row, n0 + column, p.m, p.n, index), own.x, m0 + row, n0 + column, p.m, p.n, index);
    x.y = gs_from_bias(p, x.y, gs_bias_of(p, m0 + row, n0 + column + 1, p.m, p.n, index), own.y, m0 + row, n0 + column + 1, p.m, p.n, index);
#endif
    __align__(8) unsigned char bytes[8];
    put_pair(bytes, x);
    if (both && GS_VEC_D > 1) {
        gs_copy_bytes<2 * OUT_BYTES>(d, bytes);
    } else {
        gs_copy_bytes<OUT_BYTES>(d, bytes);
        if (both) gs_copy_bytes<OUT_BYTES>(d + OUT_BYTES, bytes + OUT_BYTES);
    }
    return make_float2(x.x, both ? x.y : 0);
}

#if GS_DBIAS
#define SUM_ACROSS (SUM_PAIRS < THREADS ? SUM_PAIRS : THREADS)   /* threads that share a row */
#define SUM_LANES (THREADS / SUM_ACROSS)
typedef float2 column_sums[SUM_PAIRS / SUM_ACROSS];
static_assert(THREADS % SUM_ACROSS == 0 && SUM_PAIRS % SUM_ACROSS == 0, "threads share the columns evenly");

/* Stores the block's share of the tile. A thread has the same columns in all of its rows, and adds up their sums in `kept`. */
__device__ __forceinline__ void add_up(const gs_kernel_args &p, unsigned sums, unsigned rank, long long index, int m0, int n0, column_sums &kept)
{
    unsigned of[GS_SPLIT];
#pragma unroll
    for (int i = 0; i < GS_SPLIT; i++) of[i] = gs_cluster_address(sums, i);
#pragma unroll 1
    for (int i = (int)threadIdx.x / SUM_ACROSS; i < SUM_SHARE; i += SUM_LANES) {
        const int row = i * GS_SPLIT + (int)rank;
        if (m0 + (long long)row >= p.m) break;
#pragma unroll
        for (int j = 0; j < SUM_PAIRS / SUM_ACROSS; j++) {
            const int column = ((int)threadIdx.x % SUM_ACROSS + j * SUM_ACROSS) * 2;
            if (n0 + (long long)column >= p.n) continue;
            const float2 x = add_pair(p, of, index, m0, n0, row, column);
            kept[j].x += x.x;
            kept[j].y += x.y;
        }
    }
}

/* Writes the column sums of the block's rows, through shared memory that is no longer read. */
__device__ __forceinline__ void leave_block_sums(const gs_kernel_args &p, float *shared, const column_sums &kept, long long index, long long part, int n0)
{
    float2 *const own = (float2 *)shared + (int)threadIdx.x / SUM_ACROSS * SUM_PAIRS + (int)threadIdx.x % SUM_ACROSS;
#pragma unroll
    for (int j = 0; j < SUM_PAIRS / SUM_ACROSS; j++) own[j * SUM_ACROSS] = kept[j];
    __syncthreads();
    for (int c = (int)threadIdx.x; c < 2 * SUM_PAIRS && n0 + (long long)c < p.n; c += THREADS) {
        float sum = shared[c];
        for (int lane = 1; lane < SUM_LANES; lane++) sum += shared[lane * 2 * SUM_PAIRS + c];
        gs_partial_sums(p, index, part)[n0 + c] = sum;
    }
}
#else
/* Stores the block's share of the tile. Neighbouring threads have neighbouring pairs of columns. */
__device__ __forceinline__ void add_up(const gs_kernel_args &p, unsigned sums, unsigned rank, long long index, int m0, int n0)
{
    unsigned of[GS_SPLIT];
#pragma unroll
    for (int i = 0; i < GS_SPLIT; i++) of[i] = gs_cluster_address(sums, i);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < SUM_SHARE * SUM_PAIRS; i += THREADS) {
        const int row = i / SUM_PAIRS * GS_SPLIT + (int)rank, column = i % SUM_PAIRS * 2;
        if (m0 + (long long)row >= p.m || n0 + (long long)column >= p.n) continue;
        add_pair(p, of, index, m0, n0, row, column);
    }
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT
 * The gradient of a bias: the sums of D's columns, before they are rounded. The kernel that computes D leaves sums of a few rows each in the workspace, f32, a row of n for each; this one
 * adds them up, always in the same order. GS_DBIAS: 1: over all matrices of the batch, 2: of each. Set by who includes it: GS_PARTIALS(p), how many rows of sums a matrix has. Needs args.h,
 * block.cuh and epilogue.cuh. */
#ifndef GS_COMMON_DBIAS_CUH
#define GS_COMMON_DBIAS_CUH

#ifndef GS_DBIAS
#define GS_DBIAS 0
#endif

#if GS_DBIAS
enum { GS_SUM_LANES = 8 };   /* threads of a column */

/* Where the sums of so many rows of D's matrix `index` are, from column 0 on. */
static __device__ __forceinline__ float *gs_partial_sums(const gs_kernel_args &p, long long index, long long part)
{
    return (float *)p.workspace + (index * GS_PARTIALS(p) + part) * p.n;
}

/* Block 32 x 8, grid (cdiv(n,32), 1 or min(batch,65535)). */
extern "C" __global__ void __launch_bounds__(32 * GS_SUM_LANES) gs_column_sums(const gs_kernel_args p)
{
    __shared__ float part[GS_SUM_LANES][32];
    const long long col = (long long)blockIdx.x * 32 + threadIdx.x, vectors = GS_DBIAS == 2 ? p.batch : 1, rows = GS_PARTIALS(p) * (GS_DBIAS == 2 ? 1LL : p.batch);
    gs_dependent_wait();
    gs_dependent_launch();
    for (long long vector = blockIdx.y; vector < vectors; vector += gridDim.y) {
        const float *const sums = gs_partial_sums(p, vector, 0);
        float sum = 0;
        for (long long row = threadIdx.y; row < rows && col < p.n; row += GS_SUM_LANES) sum += sums[row * p.n + col];
        part[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && col < p.n) {
            for (int i = 1; i < GS_SUM_LANES; i++) sum += part[i][threadIdx.x];
            ((gs_raw *)p.bias)[vector * p.stride_bias + col] = gs_f32_to_raw(sum);
        }
        __syncthreads();
    }
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 * The gradient of a bias: the sums of D's columns, before D is rounded. The kernel that computes D writes partial sums to the workspace: rows of n f32, each the sum of a few rows of
 * D. gs_column_sums adds them up, always in the same order. GS_DBIAS: 1: one vector for the whole batch, 2: one per matrix, 3: one per group. Defined by the including file:
 * GS_PARTIALS(p), the number of rows of sums of a matrix; with groups GS_SUM_ROWS, the most rows of D in one of them, and GS_GROUP_PARTIALS(first, end), the number of rows of sums
 * of a group with these rows of D. Needs args.h, block.cuh and epilogue.cuh. */
#ifndef GS_COMMON_DBIAS_CUH
#define GS_COMMON_DBIAS_CUH

#ifndef GS_DBIAS
#define GS_DBIAS 0
#endif

#if GS_DBIAS
enum { GS_SUM_LANES = 8, GS_SUM_AHEAD = 16 };   /* threads of a column, as in kernel/kernel.h; loads that each has in flight */

#ifndef GS_MASKED
#define GS_MASKED 0
#endif

/* Row `part` of the partial sums of matrix `index`. */
static __device__ __forceinline__ float *gs_partial_sums(const gs_kernel_args &p, long long index, long long part)
{
    return (float *)p.workspace + (index * GS_PARTIALS(p) + part) * p.n;
}

/* The first row of sums of a group that begins at `row`; rows: of D in one row of sums. Adding the group's number keeps groups apart that begin within the same rows. */
static __device__ __forceinline__ long long gs_first_of_group(long long row, int group, int rows) { return row / rows + group; }

/* Block 32 x 8, grid (cdiv(n,32), 1 or min(batch,65535) or the groups). */
extern "C" __global__ void __launch_bounds__(32 * GS_SUM_LANES) gs_column_sums(const gs_kernel_args p)
{
    __shared__ float part[GS_SUM_LANES][32];
    const long long col = (long long)blockIdx.x * 32 + threadIdx.x;
#if GS_DBIAS == 3
    const long long vectors = GS_GROUPED;
#else
    const long long vectors = GS_DBIAS == 2 ? p.batch : 1, rows = GS_PARTIALS(p) * (GS_DBIAS == 2 ? 1LL : p.batch);
#endif
    gs_dependent_wait();
    gs_dependent_launch();
    for (long long vector = blockIdx.y; vector < vectors; vector += gridDim.y) {
#if GS_DBIAS == 3
        const int first = GS_MASKED ? (int)vector * (p.m / GS_GROUPED) : p.offsets[vector], end = GS_MASKED ? first + p.offsets[vector] : p.offsets[vector + 1];
        const float *const sums = gs_partial_sums(p, 0, gs_first_of_group(first, (int)vector, GS_SUM_ROWS));
        const long long rows = end > first ? GS_GROUP_PARTIALS(first, end) : 0;
#else
        const float *const sums = gs_partial_sums(p, vector, 0);
#endif
        float sum = 0;
        for (long long row = threadIdx.y; row < rows && col < p.n; row += GS_SUM_LANES * GS_SUM_AHEAD) {
            float some[GS_SUM_AHEAD];
            for (int i = 0; i < GS_SUM_AHEAD; i++) some[i] = row + i * GS_SUM_LANES < rows ? sums[(row + i * GS_SUM_LANES) * p.n + col] : 0;
            for (int i = 0; i < GS_SUM_AHEAD; i++) sum += some[i];
        }
        part[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && col < p.n && (GS_DBIAS == 3 || rows > 0)) {   /* if M is 0 nothing is written */
            for (int i = 1; i < GS_SUM_LANES; i++) sum += part[i][threadIdx.x];
            ((gs_raw *)p.bias)[vector * (GS_DBIAS == 3 ? p.n : p.stride_bias) + col] = gs_f32_to_raw(sum);
        }
        __syncthreads();
    }
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 * A kernel of one's own, with tile.manifest: f16, layout tn (B is N x K). A block computes 16 x 16 elements of D.
 *   gemmsmith score f16:64x64x64:tn --source tile.cu --manifest tile.manifest */
#include "common/args.h"
#include "common/convert.cuh"

extern "C" __global__ void tile_gemm(const gs_kernel_args p)
{
    __shared__ float sa[16][17], sb[16][17];
    const int x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * 16, row = blockIdx.y * 16 + y, col = first + x;
    const long long batch = blockIdx.z;   /* its matrices lie one behind the other */
    const unsigned short *const a = (const unsigned short *)p.a + batch * p.m * p.lda, *const b = (const unsigned short *)p.b + batch * p.n * p.ldb;
    float sum = 0;
    for (int k = 0; k < p.k; k += 16) {
        sa[y][x] = row < p.m && k + x < p.k ? gs_f16_to_f32(a[row * p.lda + k + x]) : 0;
        sb[y][x] = first + y < p.n && k + x < p.k ? gs_f16_to_f32(b[(first + y) * p.ldb + k + x]) : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += sa[y][i] * sb[x][i];
        __syncthreads();   /* or the next step overwrites what others still read */
    }
    if (row >= p.m || col >= p.n) return;
    float d = p.alpha * sum;
    if (p.beta != 0) d += p.beta * gs_f16_to_f32(((const unsigned short *)p.c)[(batch * p.m + row) * p.ldc + col]);
    ((unsigned short *)p.d)[(batch * p.m + row) * p.ldd + col] = gs_f32_to_f16(d);
}

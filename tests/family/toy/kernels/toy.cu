/* SPDX-License-Identifier: MIT
 * Family toy: a block per row of D, a thread per column. f16 into f32. Compiled with GS_LAYOUT (0 nn, 1 tn) and GS_THREADS. */
#include "common/args.h"
#include "common/convert.cuh"

extern "C" __global__ void gs_toy(const gs_kernel_args p)
{
    const long long row = blockIdx.x;
    const unsigned short *const a = (const unsigned short *)p.a + row * p.lda, *const b = (const unsigned short *)p.b;
    for (long long col = (long long)blockIdx.y * GS_THREADS + threadIdx.x; col < p.n; col += (long long)gridDim.y * GS_THREADS) {
        float sum = 0.0f;
        for (int k = 0; k < p.k; k++) sum = fmaf(gs_f16_to_f32(a[k]), gs_f16_to_f32(b[GS_LAYOUT == 1 ? col * p.ldb + k : k * (long long)p.ldb + col]), sum);
        ((float *)p.d)[row * p.ldd + col] = p.alpha * sum;
    }
}

/* SPDX-License-Identifier: MIT
 * Rows divided by the root of the mean of their squares: D = A / sqrt(mean(A * A) + alpha) * (B + beta). Compiled with GS_OUT (0 f16, 1 bf16) and NORM_ROUNDS (1: also rounded
 * before the multiplication by B + beta). p.a: M x N; p.b: N, NULL: no such multiplication; p.d: M x N. Rows are p.lda and p.ldd elements apart. A block for each row. */
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/piece.cuh"

typedef unsigned short element;

enum { PIECE = 16 / sizeof(element), MOST_WARPS = 32 };   /* elements of a thread; warps of a block */

typedef gs_piece<element, PIECE> piece;

__device__ __forceinline__ float wide(element x) { return GS_OUT == 1 ? gs_bf16_to_f32(x) : gs_f16_to_f32(x); }
__device__ __forceinline__ element narrow(float x) { return GS_OUT == 1 ? gs_f32_to_bf16(x) : gs_f32_to_f16(x); }

__device__ __forceinline__ float squares(const piece &x)
{
    float sum = 0;
    for (int i = 0; i < PIECE; i++) sum = fmaf(wide(x.at[i]), wide(x.at[i]), sum);
    return sum;
}

/* The sum of x over the block's threads, in all of them. */
__device__ __forceinline__ float sum_of_block(float x)
{
    __shared__ float of_warp[MOST_WARPS];
    const int warps = (int)blockDim.x / 32, lane = (int)threadIdx.x % 32;
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(0xffffffff, x, step);
    if (lane == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    x = lane < warps ? of_warp[lane] : 0;
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(0xffffffff, x, step);
    return x;
}

/* The first pieces of both operands are loaded together, and kept in registers: in most rows each thread has only one. */
extern "C" __global__ void gs_rms_norm(const gs_kernel_args p)
{
    const unsigned long long together = (unsigned long long)p.a | (unsigned long long)p.b | (unsigned long long)p.d | (unsigned long long)((p.lda | p.ldd | p.n) * sizeof(element));
    const bool whole = together % 16 == 0;
    const int first = (int)threadIdx.x * PIECE, step = (int)blockDim.x * PIECE;
    const element *const a = (const element *)p.a + blockIdx.x * p.lda, *const weight = (const element *)p.b;
    element *const d = (element *)p.d + blockIdx.x * p.ldd;
    gs_dependent_launch();   /* the next launch may start its set-up meanwhile */
    gs_dependent_wait();
    piece x = {}, w = {};
    if (first < p.n) x = gs_load_piece<PIECE>(a + first, whole, p.n - first);
    if (first < p.n && weight) w = gs_load_piece<PIECE>(weight + first, whole, p.n - first);
    float sum = squares(x);
    for (long long col = first + (long long)step; col < p.n; col += step) sum += squares(gs_load_piece<PIECE>(a + col, whole, p.n - (int)col));
    const float factor = rsqrtf(sum_of_block(sum) / (float)p.n + p.alpha);
    for (long long col = first; col < p.n; col += step) {
        if (col != first) x = gs_load_piece<PIECE>(a + col, whole, p.n - (int)col);
        if (col != first && weight) w = gs_load_piece<PIECE>(weight + col, whole, p.n - (int)col);
        for (int i = 0; i < PIECE; i++) {
            float y = wide(x.at[i]) * factor;
#if NORM_ROUNDS
            y = wide(narrow(y));
#endif
            x.at[i] = narrow(weight ? y * (wide(w.at[i]) + p.beta) : y);
        }
        gs_store_piece(d + col, x, whole, p.n - (int)col);
    }
}

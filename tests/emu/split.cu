/* SPDX-License-Identifier: MIT
 * K divided among blocks that meet in global memory, for the checker of the order between blocks: two ways to do it right, of which
 * faults.c makes wrong ones. f16, layout tn. Block 16 x 16, a tile of 16 x 16 elements; grid (tiles along N, tiles along M, SLICES).
 * The workspace starts with a word for each tile, zero before and after; TILES_MOST of them. The sums of slices follow. */
#include "common/args.h"
#include "common/convert.cuh"

enum { SIDE = 16, EACH = SIDE * SIDE, SLICES = 4, TILES_MOST = 64 };

__device__ __forceinline__ float sum_of_slice(const gs_kernel_args &p, int row, int col, int slice)
{
    const unsigned short *const a = (const unsigned short *)p.a + row * p.lda, *const b = (const unsigned short *)p.b + col * p.ldb;
    float sum = 0;
    for (int k = p.k * slice / SLICES; k < p.k * (slice + 1) / SLICES; k++) sum = fmaf(gs_f16_to_f32(a[k]), gs_f16_to_f32(b[k]), sum);
    return sum;
}

__device__ __forceinline__ void store(const gs_kernel_args &p, int row, int col, float value)
{
    ((unsigned short *)p.d)[row * p.ldd + col] = gs_f32_to_f16(p.alpha * value);
}

/* Every slice leaves its sums; the block that comes last, as its ticket says, adds them up in the order of slices. */
extern "C" __global__ void __launch_bounds__(EACH) gs_tickets(const gs_kernel_args p)
{
    __shared__ bool last;
    const int tile = blockIdx.y * gridDim.x + blockIdx.x, thread = threadIdx.y * SIDE + threadIdx.x, slice = blockIdx.z;
    const int row = blockIdx.y * SIDE + threadIdx.y, col = blockIdx.x * SIDE + threadIdx.x;
    unsigned *const ticket = (unsigned *)p.workspace + tile;
    float *const sums = (float *)p.workspace + TILES_MOST + tile * SLICES * EACH + thread;
    const bool inside = row < p.m && col < p.n;
    if (inside) sums[slice * EACH] = sum_of_slice(p, row, col, slice);
    __threadfence();   /* the sums */
    __syncthreads();   /* of all threads */
    if (thread == 0) last = atomicAdd(ticket, 1u) == SLICES - 1;
    __syncthreads();   /* the ticket's answer */
    if (!last) return;
    __threadfence();   /* the ticket */
    if (inside) {
        float sum = 0;
        for (int i = 0; i < SLICES; i++) sum += sums[i * EACH];
        store(p, row, col, sum);
    }
    if (thread == 0) *ticket = 0;
}

__device__ __forceinline__ unsigned look(const unsigned *turn)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(turn) : "memory");
    return value;
}

__device__ __forceinline__ void give(unsigned *turn, unsigned value) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(turn), "r"(value) : "memory"); }

/* Slices take turns: each adds its sums to what the one before left. */
extern "C" __global__ void __launch_bounds__(EACH) gs_turns(const gs_kernel_args p)
{
    const int tile = blockIdx.y * gridDim.x + blockIdx.x, thread = threadIdx.y * SIDE + threadIdx.x;
    const unsigned slice = blockIdx.z;
    const int row = blockIdx.y * SIDE + threadIdx.y, col = blockIdx.x * SIDE + threadIdx.x;
    unsigned *const turn = (unsigned *)p.workspace + tile;
    float *const sums = (float *)p.workspace + TILES_MOST + tile * EACH + thread;
    const bool inside = row < p.m && col < p.n;
    float sum = inside ? sum_of_slice(p, row, col, (int)slice) : 0;
    if (thread == 0)
        while (look(turn) != slice) continue;
    __syncthreads();   /* it is our turn */
    if (inside && slice > 0) sum += *sums;
    if (inside && slice < SLICES - 1) *sums = sum;
    if (inside && slice == SLICES - 1) store(p, row, col, sum);
    __syncthreads();   /* all threads are done */
    if (thread == 0) give(turn, (slice + 1) % SLICES);
}

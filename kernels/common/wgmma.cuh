/* SPDX-License-Identifier: MIT
 * Hopper's warpgroup matrix instructions: ordering, shared-memory descriptors, and the shapes (wgmma_shapes.cuh). */
#ifndef GS_COMMON_WGMMA_CUH
#define GS_COMMON_WGMMA_CUH

#include "common/wgmma_shapes.cuh"

/* Before the first wgmma of a sequence and after ordinary code touched its accumulators. All threads of the warpgroup. */
__device__ __forceinline__ void gs_wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/* Closes the group of the wgmmas issued since the last commit. */
__device__ __forceinline__ void gs_wgmma_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Returns when at most PENDING of the latest groups are unfinished: their accumulators and operands are free again. */
template <int PENDING>
__device__ __forceinline__ void gs_wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* Descriptor of a tile written by a 128-byte-swizzled tensor copy; address: shared-state-space bytes, the tile's origin a multiple of 1024.
 * K-major (rows of 64 halves): stride 1024 from 8 rows to the next, leading unused; 16 further k: address + 32.
 * N-major (boxes of 64 n, rows of k): stride 1024 from 8 k to the next, leading from 64 n to the next; 16 further k: address + 2048. */
__device__ __forceinline__ unsigned long long gs_wgmma_descriptor(unsigned address, unsigned leading_bytes, unsigned stride_bytes)
{
    return (unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading_bytes >> 4) << 16 |
           (unsigned long long)(stride_bytes >> 4) << 32 | 1ull << 62;
}

/* The two words of a descriptor, for loops that step through shared memory: `low` moves with the address (add bytes / 16; shared memory ends
 * before that could carry), `high` is a constant of the layout. SWIZZLE: 128, 64 or 32, the bytes of a row of the tensor copy's box.
 * K-major: rows of SWIZZLE bytes, stride 8 rows. N-major: boxes of SWIZZLE / 2 n, stride 8 k, leading from a box to the next.
 * The mask matters in clusters: there a shared address has the block's rank in its bits from 24 up, which would run into the leading bytes. */
__device__ __forceinline__ unsigned gs_wgmma_low(unsigned address, unsigned leading_bytes)
{
    return (address & 0x3ffff) >> 4 | (leading_bytes >> 4) << 16;
}
template <int SWIZZLE>
__device__ __forceinline__ unsigned long long gs_wgmma_words(unsigned low)
{
    constexpr unsigned high = (8 * SWIZZLE) >> 4 | (SWIZZLE == 128 ? 1u : SWIZZLE == 64 ? 2u : 3u) << 30;
    return (unsigned long long)high << 32 | low;
}

/* Gives up or asks for registers: all warps of the warpgroup, REGISTERS a multiple of 8 in 24..256. inc waits until the pool has enough. */
template <int REGISTERS>
__device__ __forceinline__ void gs_setmaxnreg_dec(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void gs_setmaxnreg_inc(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

#endif

/* SPDX-License-Identifier: MIT
 * Blocks, clusters and warps: barriers, ranks, and matrix stores to shared memory. */
#ifndef GS_COMMON_BLOCK_CUH
#define GS_COMMON_BLOCK_CUH

/* Rank of this block in its cluster. */
__device__ __forceinline__ unsigned gs_cluster_rank(void)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* All threads of all blocks of the cluster; orders shared memory of the whole cluster. */
__device__ __forceinline__ void gs_cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Barrier of `threads` threads (whole warps) with hardware barrier `id` (1 to 15; 0 is __syncthreads). */
__device__ __forceinline__ void gs_named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

/* Stores four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned).
 * In matrix i, r_i of lane l holds row l / 4, columns 2 (l % 4) and the next. All lanes of the warp. */
__device__ __forceinline__ void gs_stmatrix_x4(unsigned address, unsigned r0, unsigned r1, unsigned r2, unsigned r3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
}

__device__ __forceinline__ void gs_store_shared_f32x2(unsigned address, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

/* Programmatic dependent launch. wait: before a thread's first access to global memory, unless a barrier orders another thread's wait
 * before it; what earlier launches of the stream wrote is then there, and they are done reading. launch: the next launch may start once
 * every block said so or ended; it orders nothing. Both do nothing in an ordinary launch, nor before compute capability 9.0. Some block of
 * every launch must wait: what comes next waits for this launch alone. Index arithmetic, the set-up of barriers and
 * prefetches of tensor maps belong before wait. */
__device__ __forceinline__ void gs_dependent_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void gs_dependent_launch(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif

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

/* The same, but it orders nothing by itself: for use after gs_mbarrier_fence_init, which orders the initialisation of mbarriers for the whole
 * cluster. It saves the memory barrier of the whole GPU that gs_cluster_barrier costs. */
__device__ __forceinline__ void gs_cluster_barrier_init(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Barrier of `threads` threads (whole warps) with hardware barrier `id` (1 to 15; 0 is __syncthreads). */
__device__ __forceinline__ void gs_named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

/* Arrives at the same barrier without waiting: threads that wait in gs_named_barrier then see what this warp wrote before. All lanes. */
__device__ __forceinline__ void gs_named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

/* True in one lane of the warp. All lanes. Unlike after a comparison of lane numbers, ptxas knows that only one lane runs the code under it, so
 * tensor copies need no loop over lanes. */
__device__ __forceinline__ bool gs_elect(void)
{
    unsigned chosen;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(chosen));
    return chosen != 0;
}

/* Stores four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned).
 * In matrix i, r_i of lane l holds row l / 4, columns 2 (l % 4) and the next. All lanes of the warp. */
__device__ __forceinline__ void gs_stmatrix_x4(unsigned address, unsigned r0, unsigned r1, unsigned r2, unsigned r3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
}

/* The same, each matrix transposed: in matrix i, r_i of lane l holds column l / 4, rows 2 (l % 4) and the next. */
__device__ __forceinline__ void gs_stmatrix_x4_trans(unsigned address, unsigned r0, unsigned r1, unsigned r2, unsigned r3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
}

/* Two matrices; lanes 0 to 15 give their rows. */
__device__ __forceinline__ void gs_stmatrix_x2(unsigned address, unsigned r0, unsigned r1)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1) : "memory");
}
__device__ __forceinline__ void gs_stmatrix_x2_trans(unsigned address, unsigned r0, unsigned r1)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1) : "memory");
}
__device__ __forceinline__ void gs_stmatrix_x1_trans(unsigned address, unsigned r0)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address), "r"(r0) : "memory");
}

__device__ __forceinline__ void gs_store_shared_f32(unsigned address, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory"); }

/* Fetches the line at p into L2, without waiting. */
__device__ __forceinline__ void gs_prefetch_l2(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

__device__ __forceinline__ float gs_load_shared_f32(unsigned address)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
    return x;
}

__device__ __forceinline__ float2 gs_load_shared_f32x2(unsigned address)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}

__device__ __forceinline__ void gs_store_shared_f32x2(unsigned address, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

__device__ __forceinline__ uint4 gs_load_shared_u32x4(unsigned address)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ void gs_store_shared_u32x4(unsigned address, const unsigned (&v)[4])
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
}
__device__ __forceinline__ unsigned short gs_load_shared_u16(unsigned address)
{
    unsigned short v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address) : "memory");
    return v;
}

/* 16 bytes of zeros. */
__device__ __forceinline__ void gs_store_shared_zero(unsigned address)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(0) : "memory");
}

/* Programmatic dependent launch. wait: needed before a thread's first access to global memory, unless a barrier orders another thread's wait
 * before that access. After it, earlier launches of the stream have ended: their writes are visible and their reads done. launch: the next
 * launch may start once every block has called it or ended; it orders nothing. Both do nothing in an ordinary launch or before compute capability
 * 9.0. At least one block of every launch must wait, because the next launch waits for this one only. Index arithmetic, the set-up of barriers
 * and prefetches of tensor maps belong before wait. */
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

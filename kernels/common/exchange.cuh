/* SPDX-License-Identifier: MIT
 * Blocks that share work exchange partial results: inside a cluster through shared memory, across the grid by tickets in global memory. */
#ifndef GS_COMMON_EXCHANGE_CUH
#define GS_COMMON_EXCHANGE_CUH

/* The cluster's barrier in two halves: all threads of all blocks arrive; wait ends when all have. A thread must wait before it arrives
 * again. arrive orders nothing by itself; after gs_mbarrier_fence_init, threads that wait see the initialised mbarriers. */
__device__ __forceinline__ void gs_cluster_arrive(void) { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void gs_cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* Sends 16 bytes to a shared::cluster address (gs_cluster_address); they count on the mbarrier at `barrier`, in the same block. The
 * receiver announces the bytes, and can read them after its wait on that barrier. The sending block may end. */
__device__ __forceinline__ void gs_send(unsigned to, float x, float y, float z, float w, unsigned barrier)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w),
                 "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ float4 gs_load_shared_f32x4(unsigned address)
{
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
    return v;
}

/* Draws a ticket: 0 to `last` in the order of arrival, then 0 again. One thread, after a barrier that orders its block's writes before it.
 * Threads that a barrier orders after it can read everything that the blocks of earlier tickets wrote. */
__device__ __forceinline__ unsigned gs_ticket(unsigned *counter, unsigned last)
{
    unsigned ticket;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(ticket) : "l"(counter), "r"(last) : "memory");
    return ticket;
}

/* Loads partial results that other blocks of this launch wrote to global memory: bypasses L1. */
__device__ __forceinline__ float4 gs_load_part(const float4 *from)
{
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from) : "memory");
    return v;
}

#endif

/* SPDX-License-Identifier: MIT
 * Blocks that share work hand each other parts: inside a cluster through shared memory, across the grid by tickets in global memory. */
#ifndef GS_COMMON_EXCHANGE_CUH
#define GS_COMMON_EXCHANGE_CUH

/* The cluster's barrier in two halves: all threads of all blocks arrive, and who waits knows that all have. Each thread that arrives waits
 * before it arrives again. arrive orders nothing: gs_mbarrier_fence_init before it makes initialised mbarriers known to whoever waits. */
__device__ __forceinline__ void gs_cluster_arrive(void) { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void gs_cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* Sends 16 bytes to a shared::cluster address (gs_cluster_address); they count on the mbarrier at `barrier`, in the same block. The
 * receiver has announced the bytes, and what it waits for on that barrier is then there to read. The sender need not stay. */
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

/* Draws a ticket: 0 .. last in the order of arrival, and starts again at 0 behind `last`. One thread, behind a barrier that orders what its
 * block wrote before it; everything that the blocks of earlier tickets wrote is then there to read for whoever a barrier orders behind it. */
__device__ __forceinline__ unsigned gs_ticket(unsigned *counter, unsigned last)
{
    unsigned ticket;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(ticket) : "l"(counter), "r"(last) : "memory");
    return ticket;
}

/* Parts in global memory, written by other blocks of this launch: past the caches of this multiprocessor. */
__device__ __forceinline__ float4 gs_load_part(const float4 *from)
{
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from) : "memory");
    return v;
}

#endif

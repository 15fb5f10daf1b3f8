/* SPDX-License-Identifier: MIT
 * Stores into the shared memory of the cluster's other blocks that signal the receiver's mbarrier (Hopper, sm_90): who waits on it has the
 * data, and neither side needs a fence or a second barrier of the cluster. mbarriers themselves: mbarrier.cuh.
 *
 *   every block   initialise, expect the bytes of all senders, gs_mbarrier_fence_init; gs_cluster_arrive
 *   senders       gs_cluster_wait, then store
 *   receivers     gs_mbarrier_wait, then read; only then may the block end */
#ifndef GS_COMMON_EXCHANGE_CUH
#define GS_COMMON_EXCHANGE_CUH

/* All threads of all blocks of the cluster, once each, in this order; between the two a block does what it likes. arrive orders nothing
 * but initialised mbarriers. */
__device__ __forceinline__ void gs_cluster_arrive(void) { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void gs_cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* What `address` of this block's shared memory is in block `rank` of the cluster. */
__device__ __forceinline__ unsigned gs_cluster_address(unsigned address, unsigned rank)
{
    unsigned remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}

/* Stores 16 bytes at a cluster address and counts them on the mbarrier at another one of the same block. */
__device__ __forceinline__ void gs_store_async_f32x4(unsigned to, float x, float y, float z, float w, unsigned barrier)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                 ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w), "r"(barrier) : "memory");
}

#endif

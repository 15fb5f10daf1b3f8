/* SPDX-License-Identifier: MIT
 * mbarriers in shared memory: synchronisation between asynchronous copies and warps. A barrier is given by its shared-state-space address. */
#ifndef GS_COMMON_MBARRIER_CUH
#define GS_COMMON_MBARRIER_CUH

/* Address in the shared state space of a pointer into shared memory. */
__device__ __forceinline__ unsigned gs_shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

/* One thread, before anyone uses the barrier: a phase ends after `arrivals` arrivals and all announced bytes. */
__device__ __forceinline__ void gs_mbarrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* After the inits, by the thread that did them, before the cluster (or block) barrier that lets others use them. */
__device__ __forceinline__ void gs_mbarrier_fence_init(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Arrives once and announces bytes of asynchronous copies that the current phase must wait for. */
__device__ __forceinline__ void gs_mbarrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* Arrives once on the barrier of this block. */
__device__ __forceinline__ void gs_mbarrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives once on the barrier at the same offset in block `rank` of the cluster. That block must not have exited.
 * Orders nothing but the barrier itself and what the matrix instructions and tensor copies of this thread did before: release at
 * cluster scope would cost a memory barrier of the whole GPU in every k-block. */
__device__ __forceinline__ void gs_mbarrier_arrive_cluster(unsigned barrier, unsigned rank)
{
    asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier), "r"(rank) : "memory");
}

/* The shared::cluster address of `barrier` (or of any shared address) in block `rank` of the cluster. Offsets within the block may be added. */
__device__ __forceinline__ unsigned gs_cluster_address(unsigned address, unsigned rank)
{
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}

/* gs_mbarrier_arrive_cluster with the address already mapped. */
__device__ __forceinline__ void gs_mbarrier_arrive_remote(unsigned remote)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

/* Waits until the phase of that parity has ended: 0 for the first, 1 for the second. On a fresh barrier parity 1 passes at once.
 * The caller must never be more than one phase behind. It can then read what tensor copies wrote that count on this barrier. */
__device__ __forceinline__ void gs_mbarrier_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni finished;\nbra.uni again;\nfinished:\n}" ::"r"(barrier), "r"(parity) : "memory");
}

#endif

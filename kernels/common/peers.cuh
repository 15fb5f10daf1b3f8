/* SPDX-License-Identifier: MIT
 * The other blocks of a cluster (sm_90): the two halves of the cluster's barrier, and accesses to another block's shared memory.
 *
 * Peers may write a block's shared memory from its start, which the first barrier ensures, until its end; so
 *   all: gs_peers_started; ...; gs_peers_wait; stores into the leader; gs_peers_arrive; the leader alone: gs_peers_wait, reads
 * is safe, and a block that is not the leader may end after its second arrival. */
#ifndef GS_COMMON_PEERS_CUH
#define GS_COMMON_PEERS_CUH

/* All threads of all blocks of the cluster arrive. started: orders nothing. arrive: threads that wait see what the thread wrote before; it
 * costs a memory barrier of the whole GPU. */
__device__ __forceinline__ void gs_peers_started(void) { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void gs_peers_arrive(void) { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }

/* After an arrival of the same thread: waits until every thread of the cluster has arrived or ended. */
__device__ __forceinline__ void gs_peers_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* Stores to the address in block `rank` that corresponds to the shared address `to` of this block. */
__device__ __forceinline__ void gs_peer_store_f32(unsigned to, unsigned rank, float value)
{
    asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nst.shared::cluster.f32 [remote], %2;\n}" ::"r"(to), "r"(rank), "f"(value)
                 : "memory");
}

/* Loads from a shared::cluster address (gs_cluster_address). */
__device__ __forceinline__ float2 gs_peer_load_f32x2(unsigned from)
{
    float2 v;
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
    return v;
}

#endif

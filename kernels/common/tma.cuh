/* SPDX-License-Identifier: MIT
 * Bulk tensor copies between global and shared memory (TMA). x is the inner (contiguous) coordinate in elements, y the row; maps of a batch have a third
 * coordinate z, the matrix.
 * A copy moves the whole box: elements outside the tensor are read as zero (and count in the bytes) and are not written, except that a store
 * writes the last 16-byte unit of a row as a whole. */
#ifndef GS_COMMON_TMA_CUH
#define GS_COMMON_TMA_CUH

/* What cuTensorMapEncodeTiled fills: an opaque kernel parameter, only ever used by address. */
typedef struct __align__(64) gs_tensor_map {
    unsigned long long word[16];
} gs_tensor_map;

/* Fetches the map itself into its cache. One thread, as early as possible. */
__device__ __forceinline__ void gs_tma_prefetch(const gs_tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Loads a box to `to` in this block's shared memory; its bytes count on `barrier`. One thread. */
__device__ __forceinline__ void gs_tma_load(unsigned to, const gs_tensor_map *map, int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map),
                 "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

/* The same into every block of the cluster whose bit is set in `mask`, at the same offset, counting on each block's own barrier. */
__device__ __forceinline__ void gs_tma_load_multicast(unsigned to, const gs_tensor_map *map, int x, int y, unsigned barrier, unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(mask)
                 : "memory");
}

/* The same two for a map of a batch. */
__device__ __forceinline__ void gs_tma_load_of(unsigned to, const gs_tensor_map *map, int x, int y, int z, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(map),
                 "r"(x), "r"(y), "r"(z), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void gs_tma_load_multicast_of(unsigned to, const gs_tensor_map *map, int x, int y, int z, unsigned barrier, unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(mask)
                 : "memory");
}

/* The same for B's map with a gate, whose rows alternate: eight of the gate, eight of up (manifest: turn). group: first row / 16; z: the matrix, of maps of a batch. */
__device__ __forceinline__ void gs_tma_load_turn(unsigned to, const gs_tensor_map *map, int x, int group, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %5, %5, %3}], [%4];" ::"r"(to), "l"(map),
                 "r"(x), "r"(group), "r"(barrier), "r"(0)
                 : "memory");
}
__device__ __forceinline__ void gs_tma_load_turn_multicast(unsigned to, const gs_tensor_map *map, int x, int group, unsigned barrier, unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %6, %6, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(group), "r"(barrier), "h"(mask), "r"(0)
                 : "memory");
}
__device__ __forceinline__ void gs_tma_load_turn_of(unsigned to, const gs_tensor_map *map, int x, int group, int z, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %6, %6, %3, %4}], [%5];" ::"r"(to), "l"(map),
                 "r"(x), "r"(group), "r"(z), "r"(barrier), "r"(0)
                 : "memory");
}
__device__ __forceinline__ void gs_tma_load_turn_multicast_of(unsigned to, const gs_tensor_map *map, int x, int group, int z, unsigned barrier, unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %7, %7, %3, %4}], [%5], %6;" ::"r"(to),
                 "l"(map), "r"(x), "r"(group), "r"(z), "r"(barrier), "h"(mask), "r"(0)
                 : "memory");
}

/* Stores a box from shared memory. The writes to `from` must have been made visible by gs_tma_fence and a barrier. One thread. */
__device__ __forceinline__ void gs_tma_store(const gs_tensor_map *map, int x, int y, unsigned from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y), "r"(from) : "memory");
}

/* The same to a map of a batch. */
__device__ __forceinline__ void gs_tma_store_of(const gs_tensor_map *map, int x, int y, int z, unsigned from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
}

/* For gs_tma_store_hint: L2 evicts what it writes first. */
__device__ __forceinline__ unsigned long long gs_policy_evict_first(void)
{
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* gs_tma_store with a cache policy. */
__device__ __forceinline__ void gs_tma_store_hint(const gs_tensor_map *map, int x, int y, unsigned from, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;" ::"l"(map), "r"(x), "r"(y), "r"(from),
                 "l"(policy)
                 : "memory");
}

/* Makes this thread's ordinary writes to shared memory visible to the asynchronous proxy. Every writing thread, before the barrier. */
__device__ __forceinline__ void gs_tma_fence(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Closes the group of the stores that this thread issued since the last commit. */
__device__ __forceinline__ void gs_tma_commit(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/* Returns when at most PENDING of this thread's latest groups still read shared memory. 0 before the block exits. */
template <int PENDING>
__device__ __forceinline__ void gs_tma_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

#endif

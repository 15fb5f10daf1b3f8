/* SPDX-License-Identifier: MIT
 * Bulk copies of contiguous bytes from global to shared memory (compute capability 9.0). */
#ifndef GS_COMMON_BULK_CUH
#define GS_COMMON_BULK_CUH

/* Copies `bytes`, a multiple of 16; both addresses are multiples of 16. The bytes count on the mbarrier `barrier` of this block, which must have
 * been told to expect them. One thread. */
__device__ __forceinline__ void gs_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

#endif

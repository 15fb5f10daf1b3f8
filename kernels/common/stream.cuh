/* SPDX-License-Identifier: MIT
 * Streaming: 16-byte accesses to an operand that is read once and then not wanted again (sm_80 and later). The first-level cache keeps
 * nothing of it, L2 gives its lines up first, and a miss in L2 fetches PREFETCH (128 or 256) aligned bytes around it.
 * The operand must not change while the kernel runs. All addresses are multiples of 16. */
#ifndef GS_COMMON_STREAM_CUH
#define GS_COMMON_STREAM_CUH

/* The policy that the accesses below take; any thread, any time. */
__device__ __forceinline__ unsigned long long gs_stream_policy(void)
{
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* Loads into registers. Returns at once; the first use of r waits. */
template <int PREFETCH> __device__ __forceinline__ void gs_stream_load(unsigned (&r)[4], const void *from, unsigned long long policy)
{
    static_assert(PREFETCH == 128 || PREFETCH == 256, "sizes that L2 fetches at once");
    if (PREFETCH == 256)
        asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(from), "l"(policy));
    else
        asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(from), "l"(policy));
}

/* Copies into shared memory by cp.async: `bytes` (16, or 0, which reads nothing) from memory, zeros for the rest.
 * `to` must not be a register plus a count that all threads of a warp share: ptxas 13.0 generates an illegal instruction for that. */
template <int PREFETCH> __device__ __forceinline__ void gs_stream_copy(unsigned to, const void *from, int bytes, unsigned long long policy)
{
    static_assert(PREFETCH == 128 || PREFETCH == 256, "sizes that L2 fetches at once");
    if (PREFETCH == 256)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes), "l"(policy) : "memory");
    else
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes), "l"(policy) : "memory");
}

/* Prefetches `bytes` (a multiple of 16) into L2 (sm_90). Harmless before gs_dependent_wait: what earlier launches write goes to L2, too, and
 * no value is read here. One thread for all of the bytes. */
__device__ __forceinline__ void gs_stream_prefetch(const void *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

/* The counterparts for an operand that many blocks read: all caches keep it. */
__device__ __forceinline__ void gs_kept_load(unsigned (&r)[4], const void *from)
{
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(from));
}

__device__ __forceinline__ void gs_kept_copy(unsigned to, const void *from, int bytes)
{
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/* Sixteen bytes from the shared address `from`; after the wait for the copies that wrote them. */
__device__ __forceinline__ void gs_read_shared(unsigned (&r)[4], unsigned from)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}

#endif

/* SPDX-License-Identifier: MIT
 * cp.async: copies from global to shared memory that bypass registers and complete in groups (sm_80 and later).
 *
 * A thread's copies since its last commit form a group; groups complete in order. Waiting makes a thread's own copies
 * visible to itself only: a barrier must follow before other threads read them. */
#ifndef GS_KERNELS_CP_ASYNC_CUH
#define GS_KERNELS_CP_ASYNC_CUH

#include "common/mbarrier.cuh"

/* Copies `bytes` (0 to SIZE) bytes and fills the rest of SIZE with zeros; nothing happens where `on` is false.
 * SIZE is 16, 8 or 4; both addresses are multiples of SIZE. With bytes = 0 `from` is not read and may point anywhere. */
template <int SIZE> __device__ __forceinline__ void gs_cp_async(unsigned to, const void *from, int bytes, bool on)
{
    static_assert(SIZE == 16 || SIZE == 8 || SIZE == 4, "sizes that cp.async has");
    if (SIZE == 16)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n}"
                     ::"r"(to), "l"(from), "r"(bytes), "r"((int)on) : "memory");
    else
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n@p cp.async.ca.shared.global.L2::128B [%0], [%1], %4, %2;\n}"
                     ::"r"(to), "l"(from), "r"(bytes), "r"((int)on), "n"(SIZE) : "memory");
}

/* Loads 4 bytes from a shared address; volatile, so that it is not moved across copies and barriers. */
__device__ __forceinline__ unsigned gs_load_word(unsigned from)
{
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
    return value;
}

/* Closes the group of this thread's copies; an empty group is complete at once. */
__device__ __forceinline__ void gs_cp_async_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits until at most PENDING of this thread's groups are incomplete. */
template <int PENDING> __device__ __forceinline__ void gs_cp_async_wait(void) { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

#endif

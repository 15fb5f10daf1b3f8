/* SPDX-License-Identifier: MIT
 * Loads from global memory straight into the registers of mma.sync fragments (sm_80 and later): no shared memory, no barrier.
 *
 * They are ordinary weak loads, not .nc: with dependent launches an operand may still be written while this kernel runs, before its wait.
 * Being volatile they are issued in the order in which they are written. */
#ifndef GS_COMMON_DIRECT_CUH
#define GS_COMMON_DIRECT_CUH

#include "common/early.cuh"

/* A load in the branches below, with its prefetch size. */
#define GS_DIRECT_LOAD(fetch)                                                                                                          \
    if constexpr (WORDS == 4)                                                                                                          \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"       \
                     "@p ld.global." fetch ".v4.u32 {%0, %1, %2, %3}, [%4];\n}"                                                        \
                     : GS_EARLY(r[0]), GS_EARLY(r[1]), GS_EARLY(r[2]), GS_EARLY(r[3]) : "l"(from), "r"((int)on) : "memory");           \
    else if constexpr (WORDS == 2)                                                                                                     \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\n@p ld.global." fetch                     \
                     ".v2.u32 {%0, %1}, [%2];\n}" : GS_EARLY(r[0]), GS_EARLY(r[1]) : "l"(from), "r"((int)on) : "memory");              \
    else                                                                                                                               \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.b32 %0, 0;\n@p ld.global." fetch ".u32 %0, [%1];\n}"                \
                     : GS_EARLY(r[0]) : "l"(from), "r"((int)on) : "memory")

/* Loads WORDS (4, 2, 1) registers from an address that is a multiple of their bytes; if `on` is false nothing is read and they are zero. A miss
 * fetches FETCH (128 or 256) bytes into L2. */
template <int WORDS, int FETCH> __device__ __forceinline__ void gs_load_direct(unsigned *r, const void *from, bool on)
{
    static_assert((WORDS == 4 || WORDS == 2 || WORDS == 1) && (FETCH == 128 || FETCH == 256), "sizes that loads have");
    if constexpr (FETCH == 256) {
        GS_DIRECT_LOAD("L2::256B");
    } else {
        GS_DIRECT_LOAD("L2::128B");
    }
}

#undef GS_DIRECT_LOAD

/* Loads the WORDS + 1 words that contain WORDS pairs of elements. from: the word (address a multiple of 4) with the first element, in its upper
 * half if the element's own address is not a multiple of 4. room: bytes from there to the end of the matrix. Nothing is read beyond it, or if `on`
 * is false: words are zero then. */
template <int WORDS> __device__ __forceinline__ void gs_load_raw(unsigned *r, const unsigned char *from, int room, bool on)
{
#pragma unroll
    for (int i = 0; i <= WORDS; i++)
        asm volatile("{\n.reg .pred both, one;\nsetp.ge.s32 both, %2, 4;\nsetp.eq.s32 one, %2, 2;\nmov.b32 %0, 0;\n@both ld.global.L2::128B.u32 %0, [%1];\n"
                     "@one ld.global.u16 %0, [%1];\n}" : GS_EARLY(r[i]) : "l"(from + 4 * i), "r"(on ? room - 4 * i : 0) : "memory");
}

/* The selector of __byte_perm that takes a pair of elements from two such words; element: any even-numbered one of the row. */
__device__ __forceinline__ unsigned gs_raw_pair(const unsigned char *element) { return (unsigned long long)element & 2 ? 0x5432 : 0x3210; }

/* A barrier of all threads whose result is 0. NVRTC and ptxas do not know the value, so code that uses it stays after the barrier, and loads stay before
 * it. A fragment or-ed with it thus waits for its loads only after all loads have been issued. */
__device__ __forceinline__ unsigned gs_barrier_zero(void)
{
    unsigned zero;
    asm volatile("{\n.reg .pred none;\nsetp.ne.u32 none, 0, 0;\nbar.red.popc.u32 %0, 0, none;\n}" : "=r"(zero) :: "memory");
    return zero;
}

#endif

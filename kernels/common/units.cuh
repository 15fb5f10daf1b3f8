/* SPDX-License-Identifier: MIT
 * Rows of 16-bit elements that start at any element, read in units: aligned 16 bytes, the first of which begins up to 7 elements before the
 * row does. From a unit and the one after it, 16 bytes of the row are shifted together in registers. */
#ifndef GS_COMMON_UNITS_CUH
#define GS_COMMON_UNITS_CUH

#include "common/direct.cuh"
#include "common/stream.cuh"

/* The unit that an element lies in, and the bytes of it that lie before the element. */
__device__ __forceinline__ const unsigned char *gs_unit_of(const unsigned char *element)
{
    return (const unsigned char *)((unsigned long long)element & ~15ULL);
}
__device__ __forceinline__ unsigned gs_before_in_unit(const unsigned char *element) { return (unsigned)(unsigned long long)element & 15; }

/* Bytes from the start of an element's unit to the end of its row, at most 16; left: elements from this one to the end of the row. */
__device__ __forceinline__ int gs_unit_bytes(const unsigned char *element, int left)
{
    return min(max(min(max(left, -8), 8) * 2 + (int)gs_before_in_unit(element), 0), 16);
}

/* Loads the first `bytes` of a unit, and zeros for the rest: for a unit that reaches beyond the matrix. Such a unit is loaded as words and half
 * words. */
__device__ __forceinline__ void gs_unit_load(unsigned (&r)[4], const unsigned char *unit, int bytes)
{
    if (bytes == 16) gs_kept_load(r, unit);
    else gs_load_raw<3>(r, unit, bytes, true);
}

/* Replaces the unit `first` by the 16 bytes that begin `before` bytes (even, 0 to 14) into it. next: the unit after it, of which `before` bytes
 * are needed. */
__device__ __forceinline__ void gs_unit_shift(unsigned (&first)[4], const unsigned (&next)[4], unsigned before)
{
    unsigned pairs[6], words[5];
#pragma unroll
    for (int i = 0; i < 6; i++) {
        const unsigned near = i < 4 ? first[i % 4] : next[i % 4], far = i < 2 ? first[i + 2] : next[(i + 2) % 4];
        pairs[i] = before & 8 ? far : near;
    }
#pragma unroll
    for (int i = 0; i < 5; i++) words[i] = before & 4 ? pairs[i + 1] : pairs[i];
#pragma unroll
    for (int i = 0; i < 4; i++) first[i] = __funnelshift_r(words[i], words[i + 1], before % 4 * 8);
}

#endif

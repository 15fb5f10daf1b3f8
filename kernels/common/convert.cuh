/* SPDX-License-Identifier: MIT
 * f16, bf16 <-> f32 without CUDA's headers: bits in unsigned short, one PTX instruction each (sm_80 and later).
 *
 * Narrowing rounds to nearest, ties to even; beyond the largest finite value it gives infinity; NaN stays NaN.
 * Widening is exact. Packing puts `lo` into bits 0-15 (the lower address) and `hi` into bits 16-31. */
#ifndef GS_KERNELS_CONVERT_CUH
#define GS_KERNELS_CONVERT_CUH

__device__ __forceinline__ float gs_f16_to_f32(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ unsigned short gs_f32_to_f16(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

/* cvt.f32.bf16 needs sm_90; a bf16 is the upper half of an f32. */
__device__ __forceinline__ float gs_bf16_to_f32(unsigned short bits)
{
    float value;
    asm("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"((unsigned short)0), "h"(bits));
    return value;
}

__device__ __forceinline__ unsigned short gs_f32_to_bf16(float value)
{
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ __forceinline__ unsigned int gs_pack_f16x2(float lo, float hi)
{
    unsigned int pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
}

__device__ __forceinline__ unsigned int gs_pack_bf16x2(float lo, float hi)
{
    unsigned int pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
}

#endif

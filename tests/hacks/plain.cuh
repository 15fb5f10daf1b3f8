/* SPDX-License-Identifier: MIT
 * Stands before every kernel of the other files: the operands of an f16 problem, layout tn, as plain functions. */
#include "common/args.h"
#include "common/convert.cuh"

typedef unsigned short half_bits;

#define KERNEL extern "C" __global__ void
#define INLINE static __device__ __forceinline__

INLINE const half_bits *a_row(const gs_kernel_args &p, long long batch, long long row) { return (const half_bits *)p.a + (batch * p.m + row) * p.lda; }
INLINE const half_bits *b_col(const gs_kernel_args &p, long long batch, long long col) { return (const half_bits *)p.b + (batch * p.n + col) * p.ldb; }
INLINE half_bits *d_at(const gs_kernel_args &p, long long batch, long long row, long long col) { return (half_bits *)p.d + (batch * p.m + row) * p.ldd + col; }

INLINE float dot(const gs_kernel_args &p, long long batch, long long row, long long col)
{
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    return sum;
}

INLINE float scaled(const gs_kernel_args &p, long long batch, long long row, long long col, float sum)
{
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    return value;
}

INLINE void put(const gs_kernel_args &p, long long batch, long long row, long long col, float sum)
{
    *d_at(p, batch, row, col) = gs_f32_to_f16(scaled(p, batch, row, col, sum));
}

/* The same of bf16. products: how many are not 0. */
INLINE float bf16_scaled_dot(const gs_kernel_args &p, long long batch, long long row, long long col, int *products)
{
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    *products = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
        *products += x != 0;
        sum += x;
    }
    return p.alpha * sum + (p.beta != 0 ? p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]) : 0.0f);
}

/* One thread an element, blocks of 16 x 16. */
#define BETA (p.beta_at ? *p.beta_at : 0.0f)   /* of scalars in device memory; NULL where the call has none */
#define EACH_ELEMENT                                               \
    const long long batch = blockIdx.z;                            \
    const long long row = (long long)blockIdx.y * 16 + threadIdx.y; \
    const long long col = (long long)blockIdx.x * 16 + threadIdx.x; \
    if (row >= p.m || col >= p.n) return

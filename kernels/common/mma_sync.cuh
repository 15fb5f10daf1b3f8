/* SPDX-License-Identifier: MIT
 * Warp-wide matrix instructions: ldmatrix and mma.sync m16n8k16 (sm_80 and later). All 32 lanes take part.
 *
 * With g = lane / 4, t = lane % 4 and two 16-bit elements per register (lower address in the lower half):
 *   A 16 x 16   a0 (g, 2t)  a1 (g + 8, 2t)  a2 (g, 2t + 8)  a3 (g + 8, 2t + 8)      (row, column), and the next column
 *   B 16 x 8    b0 (2t, g)  b1 (2t + 8, g)                                          (row, column), and the next row
 *   C 16 x 8    f32: c0 (g, 2t)  c1 (g, 2t + 1)  c2 (g + 8, 2t)  c3 (g + 8, 2t + 1)
 *               f16: c0 (g, 2t)  c1 (g + 8, 2t)                                     and the next column */
#ifndef GS_KERNELS_MMA_SYNC_CUH
#define GS_KERNELS_MMA_SYNC_CUH

/* Four 8 x 8 matrices of 16-bit elements from shared memory: lane l names row l % 8 of matrix l / 8 (16 bytes, aligned).
 * In matrix i, r[i] of lane l holds row l / 4, columns 2 (l % 4) and the next. */
__device__ __forceinline__ void gs_ldmatrix_x4(unsigned (&r)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

/* Two matrices: lanes 0 to 15 name the rows. */
__device__ __forceinline__ void gs_ldmatrix_x2(unsigned (&r)[2], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
}

/* The same, each matrix transposed: r[i] of lane l holds column l / 4, rows 2 (l % 4) and the next. */
__device__ __forceinline__ void gs_ldmatrix_x4_trans(unsigned (&r)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void gs_ldmatrix_x2_trans(unsigned (&r)[2], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
}

/* c += a * b, A row-major 16 x 16, B column-major 16 x 8. */
__device__ __forceinline__ void gs_mma_f16_f32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void gs_mma_bf16_f32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void gs_mma_f16_f16(unsigned (&c)[2], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(c[0]), "+r"(c[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

/* SPDX-License-Identifier: MIT
 * Copies of A and B in the workspace, with rows aligned for tensor copies: a separate kernel (gs_pack), which the manifest runs first.
 *
 * GS_PACK_A, GS_PACK_B: 1: the operand is copied. A copy's rows have the operand's elements and start at multiples of 128 bytes; the padding
 * between them is undefined. A's copy is at the workspace's start, B's after it (see src/loaded/loaded.c).
 *
 * With a gate (GS_GATE) the columns of B's copy alternate: eight of the gate, then the eight of up that belong to them, and so on. N is a multiple of 8. */
#ifndef GS_KERNELS_PACK_CUH
#define GS_KERNELS_PACK_CUH

#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"

#define GS_PACK_THREADS 256

/* Eight elements of a row from `column` on, in order; zeros beyond `inner`. Reads whole 16-byte units if they are inside the operand (`first`
 * to `end`), else single elements. */
static __device__ __forceinline__ uint4 gs_pack_take(const unsigned char *row, int column, int inner, const unsigned char *first, const unsigned char *end)
{
    const unsigned char *const from = row + column * 2LL;
    const unsigned before = (unsigned)((unsigned long long)from & 15), words = before / 4;
    const unsigned char *const unit = from - before;
    if (column + 8 <= inner && unit >= first && unit + (before ? 32 : 16) <= end) {
        const uint4 low = *(const uint4 *)unit, high = before ? *(const uint4 *)(unit + 16) : make_uint4(0, 0, 0, 0);
        const bool two = words & 2, one = words & 1;
        const unsigned a = two ? low.z : low.x, b = two ? low.w : low.y, c = two ? high.x : low.z, d = two ? high.y : low.w;
        const unsigned e = two ? high.z : high.x, f = two ? high.w : high.y;
        const unsigned p = one ? b : a, q = one ? c : b, r = one ? d : c, s = one ? e : d, t = one ? f : e;
        const unsigned pair = before & 2 ? 0x5432 : 0x3210;
        return make_uint4(__byte_perm(p, q, pair), __byte_perm(q, r, pair), __byte_perm(r, s, pair), __byte_perm(s, t, pair));
    }
    unsigned out[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned lower = column + 2 * i < inner ? ((const unsigned short *)from)[2 * i] : 0;
        const unsigned upper = column + 2 * i + 1 < inner ? ((const unsigned short *)from)[2 * i + 1] : 0;
        out[i] = lower | upper << 16;
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

/* Bytes from row to row of a copy. */
static __device__ __forceinline__ long long gs_pack_pitch(int inner) { return (inner + 63LL) / 64 * 128; }

/* Copies the rows of an operand, one warp per row. */
static __device__ __forceinline__ void gs_pack_rows(const void *operand, long long ld, int rows, int inner, unsigned char *to, int warp, int warps, int lane)
{
    const unsigned char *const first = (const unsigned char *)operand, *const end = first + ((rows - 1) * ld + inner) * 2;
    const long long pitch = gs_pack_pitch(inner);
    for (int row = warp; row < rows; row += warps)
#pragma unroll 4
        for (int column = lane * 8; column < inner; column += 256)
            *(uint4 *)(to + row * pitch + column * 2LL) = gs_pack_take(first + row * ld * 2, column, inner, first, end);
}

#if GS_PACK_B && GS_GATE
/* The column of B for a column of the copy. */
static __device__ __forceinline__ int gs_pack_turn(int column, int n)
{
    const int of = column / 16 * 8 + column % 8, up = column / 8 % 2;
    return GS_GATE == 1 ? up * n + of : 2 * of + up;
}

/* Eight elements of the copy from `column` on, from a row of B stored along N. */
static __device__ __forceinline__ uint4 gs_pack_take_turn(const unsigned char *row, int column, int n, const unsigned char *first, const unsigned char *end)
{
    const int from = gs_pack_turn(column, n);
    if (GS_GATE == 1) return gs_pack_take(row, from, 2 * n, first, end);
    const int even = from & ~1;   /* gate and up alternate in B: every second one of sixteen elements */
    const unsigned half = from & 1 ? 0x7632 : 0x5410;
    const uint4 low = gs_pack_take(row, even, 2 * n, first, end), high = gs_pack_take(row, even + 8, 2 * n, first, end);
    return make_uint4(__byte_perm(low.x, low.y, half), __byte_perm(low.z, low.w, half), __byte_perm(high.x, high.y, half), __byte_perm(high.z, high.w, half));
}

/* Copies B so that its columns alternate: whole rows if B is stored along K, else elements within each row. */
static __device__ __forceinline__ void gs_pack_turns(const gs_kernel_args &p, unsigned char *to, int warp, int warps, int lane)
{
    const int rows = GS_B_ALONG_K ? 2 * p.n : p.k, inner = GS_B_ALONG_K ? p.k : 2 * p.n;
    const unsigned char *const first = (const unsigned char *)p.b, *const end = first + ((rows - 1) * p.ldb + inner) * 2;
    const long long pitch = gs_pack_pitch(inner);
    for (int row = warp; row < rows; row += warps) {
        const unsigned char *const from = first + (GS_B_ALONG_K ? gs_pack_turn(row, p.n) : row) * p.ldb * 2;
        for (int column = lane * 8; column < inner; column += 256)
            *(uint4 *)(to + row * pitch + column * 2LL) = GS_B_ALONG_K ? gs_pack_take(from, column, inner, first, end) : gs_pack_take_turn(from, column, p.n, first, end);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(GS_PACK_THREADS) gs_pack(const gs_kernel_args p)
{
    const int warp = (int)(blockIdx.x * (GS_PACK_THREADS / 32) + threadIdx.x / 32), warps = (int)(gridDim.x * (GS_PACK_THREADS / 32)), lane = (int)threadIdx.x % 32;
    unsigned char *to = (unsigned char *)p.workspace;
    gs_dependent_wait();
#if GS_PACK_A
    gs_pack_rows(p.a, p.lda, GS_A_ALONG_K ? p.m : p.k, GS_A_ALONG_K ? p.k : p.m, to, warp, warps, lane);
    to += (GS_A_ALONG_K ? p.m : p.k) * gs_pack_pitch(GS_A_ALONG_K ? p.k : p.m);
#endif
#if GS_PACK_B && GS_GATE
    gs_pack_turns(p, to, warp, warps, lane);
#elif GS_PACK_B
    gs_pack_rows(p.b, p.ldb, GS_B_ALONG_K ? p.n : p.k, GS_B_ALONG_K ? p.k : p.n, to, warp, warps, lane);
#endif
    gs_dependent_launch();
}

#endif

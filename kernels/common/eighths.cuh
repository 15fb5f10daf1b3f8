/* SPDX-License-Identifier: MIT
 * Tensor copies of operands stored along K whose rows start at any element, although tensor copies need rows at multiples of 16 bytes. Rows of a matrix that are 8 apart start at
 * the same offset in a 16-byte unit, whatever the leading dimension. So one tensor map for each such eighth of the rows (manifest: eighth) copies whole units, and the consumers
 * shift the rows to where wgmma reads them, with the 128-byte swizzle.
 *
 * A slot holds the units of a k-block, 64 elements of each of EXTENT rows: part c has rows c, c + 8, c + 16 and so on, as the copy leaves them, and begins at a multiple of
 * 8 rows of 128 bytes. The last elements of a row come from the first unit of the next k-block, in the next slot. Copies count from the start of a row's first unit, where element k
 * is at k to k + 7. So K is extended by 7 elements, and the very last k-block needs nothing from a next one.
 *
 * Eight neighbouring threads take a row of each part, and eight different rows of the swizzle, so that loads and stores have no bank conflicts. For GS_FEED_A, GS_FEED_B 3. */
#ifndef GS_COMMON_EIGHTHS_CUH
#define GS_COMMON_EIGHTHS_CUH

#include "common/block.cuh"
#include "common/direct.cuh"
#include "common/feed.cuh"
#include "common/mbarrier.cuh"
#include "common/tma.cuh"
#include "common/units.cuh"

#define GS_MORE_K 7
#define GS_PART_ROWS(extent) (((extent) / 8 + 7) / 8 * 8)
#define GS_SHIFTED 2   /* k-blocks of shifted rows: one is written while the other is multiplied */
#define GS_SLOT_BYTES(extent) (GS_PART_ROWS(extent) * 8 * 128)

/* The kernel parameters for the eight maps of an operand. */
#define GS_EIGHT_MAPS(name)                                                                                                                                          \
    const __grid_constant__ gs_tensor_map name##0, const __grid_constant__ gs_tensor_map name##1, const __grid_constant__ gs_tensor_map name##2,                     \
    const __grid_constant__ gs_tensor_map name##3, const __grid_constant__ gs_tensor_map name##4, const __grid_constant__ gs_tensor_map name##5,                     \
    const __grid_constant__ gs_tensor_map name##6, const __grid_constant__ gs_tensor_map name##7,
#define GS_EIGHTHS(name) gs_eighths{&name##0, &name##1, &name##2, &name##3, &name##4, &name##5, &name##6, &name##7}

typedef struct gs_eighths {
    const gs_tensor_map *map[8];
} gs_eighths;

/* Starts the copies of a k-block of an operand to a slot: EXTENT * 128 bytes, which count on `barrier`. row: the tile's first one, a multiple of 8. One thread. */
template <int EXTENT>
__device__ __forceinline__ void gs_eighths_bring(unsigned slot, const gs_eighths &from, int k, int row, unsigned barrier)
{
#pragma unroll
    for (int part = 0; part < 8; part++) gs_tma_load(slot + part * GS_PART_ROWS(EXTENT) * 128, from.map[part], k, row / 8, barrier);
}

/* The rows that a thread shifts: row part + 8 * (8 n + row) of each group n of 64 rows that is assigned to it. The groups of X, then those of Y, are assigned to sets of 64
 * threads in turn, from group `first` on. X and Y are A and B or, with SWAP, B and A. */
typedef struct gs_shift_share {
    int part, row, first;
    unsigned before_x, before_y;   /* bytes of a row's first unit before the row, for rows of this part */
} gs_shift_share;

template <bool SWAP>
__device__ __forceinline__ gs_shift_share gs_shift_share_of(const gs_kernel_args &p, int thread)
{
    const int part = thread % 8;
    const unsigned a = gs_before_in_unit((const unsigned char *)p.a + part * gs_size_lda(p) * 2), b = gs_before_in_unit((const unsigned char *)p.b + part * gs_size_ldb(p) * 2);
    return {part, (part + thread / 8) % 8, thread / 64, SWAP ? b : a, SWAP ? a : b};
}

/* Shifts a k-block's rows from a slot to `to`, a multiple of 1024. next: the slot of the next k-block; not read if `last`. Called by THREADS threads, each with its own share;
 * BEFORE: groups of other operands that are assigned before this operand's. */
template <int EXTENT, int THREADS, int BEFORE>
__device__ __forceinline__ void gs_eighths_shift(const gs_shift_share &own, unsigned before, unsigned to, unsigned slot, unsigned next, bool last)
{
    constexpr int groups = GS_PART_ROWS(EXTENT) / 8, sets = THREADS / 64;
#pragma unroll 1
    for (int group = (own.first + sets - BEFORE % sets) % sets; group < groups; group += sets) {
        const int row = group * 8 + own.row;   /* in the part */
        if (EXTENT / 8 % 8 != 0 && row >= EXTENT / 8) continue;
        const unsigned at = (own.part * GS_PART_ROWS(EXTENT) + row) * 128, from = slot + at, end = to + (row * 8 + own.part) * 128;
        uint4 units[9];
#pragma unroll
        for (int i = 0; i < 8; i++) units[i] = gs_load_shared_u32x4(from + (i ^ own.row) * 16);
        units[8] = make_uint4(0, 0, 0, 0);
        if (!last) units[8] = gs_load_shared_u32x4(next + at + own.row * 16);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            unsigned unit[4] = {units[i].x, units[i].y, units[i].z, units[i].w};
            const unsigned after[4] = {units[i + 1].x, units[i + 1].y, units[i + 1].z, units[i + 1].w};
            gs_unit_shift(unit, after, before);
            gs_store_shared_u32x4(end + (i ^ own.part) * 16, unit);
        }
    }
    if (EXTENT / 8 % 8 != 0) __syncwarp();   /* lanes without such a row are ahead */
}

/* The same for X and Y, which are consecutive in a slot. */
template <int X, int Y, int THREADS>
__device__ __forceinline__ void gs_eighths_shift_both(const gs_shift_share &own, unsigned x, unsigned y, unsigned slot, unsigned next, bool last)
{
    gs_eighths_shift<X, THREADS, 0>(own, own.before_x, x, slot, next, last);
    gs_eighths_shift<Y, THREADS, GS_PART_ROWS(X) / 8>(own, own.before_y, y, slot + GS_SLOT_BYTES(X), next + GS_SLOT_BYTES(X), last);
}

#endif

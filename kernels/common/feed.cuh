/* SPDX-License-Identifier: MIT
 * Operands that threads copy to shared memory, in the layout that wgmma reads with the 128-byte swizzle: rows that tensor copies do not support,
 * because they start at any element, or copy slowly, because they start 16 bytes past a multiple of 32. 128 threads, whole warps.
 *
 * A k-block of an operand is BOXES consecutive boxes of ROWS rows of 64 elements. A row is copied in units: aligned 16 bytes (cp.async). If rows
 * start at any element (SHIFTED), the units of a row begin up to 14 bytes before it, and there are nine: eight are copied to where the row
 * belongs, the last one to a separate area with 16 bytes for each row (`beside`). gs_feed_shift then moves every row into its place.
 *
 * Rows 8 apart start at the same offset in their units, and boxes start at multiples of 8 elements and rows, so this offset is the same for
 * everything that a thread copies of an operand.
 *
 * GS_FEED_A, GS_FEED_B: how the operand is copied. 0: tensor copies; 1: by threads, rows that start at multiples of 16 bytes; 2: by threads, rows
 * that start at any element; 3: tensor copies of eighths (eighths.cuh). GS_LAYOUT as everywhere. For an operand that tensor copies load, the
 * kernel has a tensor map, map_a or map_b, for eighths map_a0 to map_a7. */
#ifndef GS_COMMON_FEED_CUH
#define GS_COMMON_FEED_CUH

#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/cp_async.cuh"
#include "common/sizes.cuh"
#include "common/tma.cuh"
#include "common/units.cuh"

#define GS_FEED_THREADS 128

/* The operands' tensor maps; 0 where there is none. */
#if GS_FEED_A
#define GS_MAP_A ((const gs_tensor_map *)0)
#else
#define GS_MAP_A (&map_a)
#endif
#if GS_FEED_B
#define GS_MAP_B ((const gs_tensor_map *)0)
#else
#define GS_MAP_B (&map_b)
#endif

/* An operand in global memory. inner: elements of a row; outer: rows; pitch: bytes from row to row. */
typedef struct gs_operand {
    const unsigned char *base;
    long long pitch;
    int inner, outer;
} gs_operand;

__device__ __forceinline__ gs_operand gs_operand_a(const gs_kernel_args &p)
{
    return {(const unsigned char *)p.a, gs_size_lda(p) * 2, GS_A_ALONG_K ? gs_size_k(p) : gs_size_m(p), GS_A_ALONG_K ? gs_size_m(p) : gs_size_k(p)};
}
__device__ __forceinline__ gs_operand gs_operand_b(const gs_kernel_args &p)
{
    return {(const unsigned char *)p.b, gs_size_ldb(p) * 2, GS_B_ALONG_K ? gs_size_k(p) : gs_size_n(p), GS_B_ALONG_K ? gs_size_n(p) : gs_size_k(p)};
}

/* What a thread copies of a k-block: unit thread % 8 of row thread / 8 in every 16 rows. */
typedef struct gs_feed_share {
    int row, unit;
    unsigned at;       /* bytes from the start of a box to the unit's place */
    unsigned before;   /* bytes of a row's first unit before the row */
} gs_feed_share;

__device__ __forceinline__ gs_feed_share gs_feed_share_of(const gs_operand &from, int thread)
{
    const int row = thread / 8 % 16, unit = thread % 8;   /* % 16 tells the compiler the range */
    return {row, unit, (unsigned)(row * 128 + (unit ^ row % 8) * 16), gs_before_in_unit(from.base + row * from.pitch)};
}

/* Starts copying a unit of each of COUNT rows, every 16th from `row` on, as far as the box has them (ROWS), to `to` and every STEP bytes. corner: the
 * box's start in the operand; left: bytes from there to the end of a row; rows: from there to the last row. Zeros are stored for what is beyond. */
template <int COUNT, int ROWS, int STEP>
__device__ __forceinline__ void gs_feed_units(unsigned to, const unsigned char *corner, long long pitch, int row, int unit, int left, int rows)
{
    const unsigned char *const line = corner + row * pitch;
    const int before = (int)gs_before_in_unit(line), bytes = min(max(left + before - unit * 16, 0), 16);
    const unsigned char *from = line - before + unit * 16;
    long long step = 16 * pitch;
    asm volatile("" : "+l"(step));   /* otherwise the compiler keeps its multiples in registers */
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        gs_cp_async<16>(to + i * STEP, from, row + 16 * i < rows ? bytes : 0, row + 16 * i < ROWS);
        from += step;
    }
}

/* Starts copying a k-block: its copies belong to the thread's next group. to: address of its first box, a multiple of 1024; beside: of the ninth
 * units. inner, outer: its corner in the operand. */
template <int ROWS, int BOXES, bool SHIFTED>
__device__ __forceinline__ void gs_feed_copy(const gs_operand &from, const gs_feed_share &own, unsigned to, unsigned beside, int inner, int outer, int thread)
{
    const int rows = from.outer - outer;
#pragma unroll 1
    for (int box = 0; box < BOXES; box++) {
        const int left = min(from.inner - inner - box * 64, 80) * 2;   /* more are never used */
        const unsigned char *const corner = from.base + outer * from.pitch + (inner + box * 64) * 2LL;
        gs_feed_units<(ROWS + 15) / 16, ROWS, 2048>(to + box * ROWS * 128 + own.at, corner, from.pitch, own.row, own.unit, left, rows);
        if (SHIFTED) {
#pragma unroll
            for (int i = 0; i < (ROWS + 127) / 128; i++) {   /* ninth units of the rows of this warp */
                const int row = thread / 32 * 4 + thread % 4 + (i * 8 + thread % 32 / 4) * 16;
                gs_feed_units<1, ROWS, 0>(beside + (box * ROWS + row) * 16, corner, from.pitch, row, 8, left, rows);
            }
        }
    }
}

/* Moves the rows of a k-block into their places, once the thread's copies of it have arrived (gs_cp_async_wait). */
template <int ROWS, int BOXES>
__device__ __forceinline__ void gs_feed_shift(const gs_feed_share &own, unsigned to, unsigned beside)
{
    enum { BATCH = 4 };   /* units at once; more take too many registers */
    constexpr int count = (ROWS + 15) / 16;
    __syncwarp();         /* eight lanes copied a row's units, and another one the ninth */
#pragma unroll 1
    for (int box = 0; box < BOXES; box++) {
        const unsigned start = to + box * ROWS * 128, next = own.unit < 7 ? start + own.row * 128 + ((own.unit + 1) ^ own.row % 8) * 16
                                                                          : beside + (box * ROWS + own.row) * 16;
        const unsigned step = own.unit < 7 ? 2048 : 256;
#pragma unroll
        for (int first = 0; first < count; first += BATCH) {
            uint4 near[BATCH], far[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                if (first + i >= count || own.row + 16 * (first + i) >= ROWS) continue;
                near[i] = gs_load_shared_u32x4(start + own.at + (first + i) * 2048);
                far[i] = gs_load_shared_u32x4(next + (first + i) * step);
            }
            __syncwarp();   /* all have read what is about to be overwritten */
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                if (first + i >= count || own.row + 16 * (first + i) >= ROWS) continue;
                unsigned unit[4] = {near[i].x, near[i].y, near[i].z, near[i].w};
                const unsigned after[4] = {far[i].x, far[i].y, far[i].z, far[i].w};
                gs_unit_shift(unit, after, own.before);
                gs_store_shared_u32x4(start + own.at + (first + i) * 2048, unit);
            }
        }
    }
}

/* gs_feed_copy and gs_feed_shift for a k-block of K elements of EXTENT rows (of B: columns), from row `first` and `k` on. ALONG_K: K is
 * contiguous. HOW: GS_FEED_A or GS_FEED_B; nothing is done if tensor copies load the operand. */
template <int EXTENT, int K, bool ALONG_K, int HOW>
__device__ __forceinline__ void gs_feed_operand(const gs_operand &from, const gs_feed_share &own, unsigned to, unsigned beside, int first, int k, int thread)
{
    constexpr int rows = ALONG_K ? EXTENT : K, boxes = (ALONG_K ? K : EXTENT) / 64;
    if constexpr (HOW != 0) gs_feed_copy<rows, boxes, HOW == 2>(from, own, to, beside, ALONG_K ? k : first, ALONG_K ? first : k, thread);
}
template <int EXTENT, int K, bool ALONG_K, int HOW>
__device__ __forceinline__ void gs_shift_operand(const gs_feed_share &own, unsigned to, unsigned beside)
{
    if constexpr (HOW == 2) gs_feed_shift<ALONG_K ? EXTENT : K, (ALONG_K ? K : EXTENT) / 64>(own, to, beside);
}

/* Makes what this warp has copied visible to wgmma and arrives on the mbarrier, once for the warp. */
__device__ __forceinline__ void gs_feed_arrive(unsigned barrier)
{
    gs_tma_fence();
    __syncwarp();
    if (gs_elect()) gs_mbarrier_arrive(barrier);
}

#endif

/* SPDX-License-Identifier: MIT
 * Stores rows from shared memory to a matrix whose rows start at any element: in aligned units of 16 bytes, and the two ends of each row as
 * elements or short vectors. One warp. */
#ifndef GS_COMMON_ROWS_CUH
#define GS_COMMON_ROWS_CUH

#include "common/units.cuh"

template <int BYTES> __device__ __forceinline__ void gs_copy_bytes(unsigned char *to, const unsigned char *from)
{
    if constexpr (BYTES == 16) *(uint4 *)to = *(const uint4 *)from;
    else if constexpr (BYTES == 8) *(uint2 *)to = *(const uint2 *)from;
    else if constexpr (BYTES == 4) *(unsigned *)to = *(const unsigned *)from;
    else *(unsigned short *)to = *(const unsigned short *)from;
}

/* Copies `left` elements of SIZE bytes, at most COUNT, and COUNT of them as one vector. */
template <int SIZE, int COUNT> __device__ __forceinline__ void gs_copy_vector(unsigned char *to, const unsigned char *from, int left)
{
    if (left >= COUNT) {
        gs_copy_bytes<SIZE * COUNT>(to, from);
    } else {
        for (int e = 0; e < left; e++) gs_copy_bytes<SIZE>(to + e * SIZE, from + e * SIZE);
    }
}

/* Stores the aligned units of each row after its first 1 to 16 bytes. Each unit is shifted out of two pieces. */
template <int ROWS, int PIECES, int SIZE, int UNROLL, typename PIECE>
__device__ __forceinline__ void gs_store_units(unsigned char *d, long long pitch, int rows, int columns, int lane, const PIECE &piece)
{
    constexpr int units = PIECES - 1;
#pragma unroll UNROLL
    for (int i = 0; i < (ROWS * units + 31) / 32; i++) {
        const int row = (lane + 32 * i) / units, unit = (lane + 32 * i) % units;
        unsigned char *const line = d + row * pitch;
        const int front = 16 - (int)gs_before_in_unit(line);
        const int left = columns - front / SIZE - unit * (16 / SIZE);   /* elements of the row from the unit's first on */
        if (row >= ROWS || row >= rows || left <= 0) continue;
        const uint4 near = *(const uint4 *)piece(row, unit + front / 16), far = *(const uint4 *)piece(row, unit + 1);   /* front = 16: one piece */
        unsigned bytes[4] = {near.x, near.y, near.z, near.w};
        const unsigned next[4] = {far.x, far.y, far.z, far.w};
        gs_unit_shift(bytes, next, front % 16);
        unsigned char *const to = line + front + unit * 16;
        if (left * SIZE >= 16) {
            *(uint4 *)to = make_uint4(bytes[0], bytes[1], bytes[2], bytes[3]);
        } else {
#pragma unroll
            for (int e = 0; e < 16 / SIZE - 1; e++) {
                if (e >= left) break;
                if (SIZE == 4) ((unsigned *)to)[e] = bytes[e % 4];
                else ((unsigned short *)to)[e] = (unsigned short)(bytes[e / 2] >> e % 2 * 16);
            }
        }
    }
}

/* Stores ROWS rows of PIECES * 16 bytes, elements of SIZE bytes, to d and every `pitch` bytes. A row's ends, before its first aligned 16 bytes and
 * after its last, are 16 bytes together; they are stored as vectors of VECTOR elements, the longest that the alignment of d and pitch allows.
 * rows, columns: what is left of the matrix from d. piece(row, i): address of 16 bytes of a row. The loops are unrolled UNROLL times. */
template <int ROWS, int PIECES, int SIZE, int VECTOR, int UNROLL, typename PIECE>
__device__ __forceinline__ void gs_store_rows(unsigned char *d, long long pitch, int rows, int columns, int lane, const PIECE &piece)
{
    constexpr int ends = 16 / SIZE / VECTOR;
    if constexpr (PIECES > 1) gs_store_units<ROWS, PIECES, SIZE, UNROLL>(d, pitch, rows, columns, lane, piece);
#pragma unroll UNROLL
    for (int i = 0; i < (ROWS * ends + 31) / 32; i++) {
        const int row = (lane + 32 * i) / ends, at = (lane + 32 * i) % ends * VECTOR * SIZE;   /* byte within the two ends */
        unsigned char *const line = d + row * pitch;
        const int last = at + (int)gs_before_in_unit(line) < 16 ? 0 : PIECES - 1;   /* the piece that contains it */
        const int column = (last * 16 + at) / SIZE;
        if (row >= ROWS || row >= rows || column >= columns) continue;
        gs_copy_vector<SIZE, VECTOR>(line + column * SIZE, piece(row, last) + at, columns - column);
    }
}

#endif

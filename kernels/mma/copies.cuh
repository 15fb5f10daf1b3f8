/* SPDX-License-Identifier: MIT
 * Part of family mma (mma.cu): copies of tiles to shared memory, where the 16-byte chunks of a row of COLS elements are permuted within 128 bytes. */
#ifndef GS_MMA_COPIES_CUH
#define GS_MMA_COPIES_CUH

/* The number that a row's chunk numbers are xored with, so that eight rows that are read together are in different banks. Linear: rows a, b
 * without common bits have swizzle(a + b) = swizzle(a) ^ swizzle(b). */
template <int COLS> __device__ __forceinline__ unsigned swizzle(unsigned row)
{
    constexpr unsigned chunks = COLS / 8;
    return chunks >= 8 ? row & 7 : row / (8 / (chunks < 8 ? chunks : 8)) & (chunks - 1);
}

template <int COLS> __device__ __forceinline__ unsigned chunk_offset(unsigned row, unsigned chunk)
{
    return row * (COLS * 2) + (chunk ^ swizzle<COLS>(row)) * 16;
}

/* ---- copies: global memory -> a tile of ROWS x COLS, in pieces of 16 bytes; thread t takes pieces t, t + THREADS, ... ---- */

template <int ROWS, int COLS, int RAW> struct tile_copy {
    static constexpr int per_row = COLS / 8;
    static constexpr int pieces = ROWS * per_row / THREADS;
    static constexpr int pitch = COLS * 2 + RAW * 16;
    static constexpr int ends = RAW ? (ROWS + THREADS - 1) / THREADS : 0;   /* copies of the extra unit at the end of raw rows */
    static_assert(ROWS * per_row % THREADS == 0, "threads share the pieces evenly");

    const half_bits *from;   /* this thread's next piece */
    const half_bits *end;    /* element COLS of row threadIdx.x */
    long long        ld;
    int              row, col;   /* of its first piece, elements */
    unsigned         offset;

    static __device__ constexpr int row_of(int i) { return i * THREADS / per_row; }             /* of piece i, relative to the first */
    static __device__ constexpr int col_of(int i) { return i * THREADS % per_row * 8; }
    static __device__ constexpr int first(int slice) { return pieces * slice / SLICES; }         /* first piece of a slice */

    __device__ __forceinline__ void start(const half_bits *tile, long long row_stride)
    {
        row = (int)threadIdx.x / per_row;
        col = (int)threadIdx.x % per_row * 8;
        ld = row_stride;
        from = tile + row * ld + col;
        if (RAW) end = tile + (int)threadIdx.x * ld + COLS;
        offset = RAW ? row * pitch + col * 2 : chunk_offset<COLS>(row, col / 8);
    }

    __device__ __forceinline__ unsigned offset_of(int i) const
    {
        if (RAW) return offset + row_of(i) * pitch + col_of(i) * 2;
        return (offset ^ swizzle<COLS>(row_of(i)) * 16) + row_of(i) * pitch + col_of(i) * 2;
    }

    __device__ __forceinline__ void advance(int i) { from += (row_of(i + 1) - row_of(i)) * ld + (col_of(i + 1) - col_of(i)); }

    /* After the last piece: back to the first and on to the next k-block. */
    __device__ __forceinline__ void next(long long distance)
    {
        from += distance - row_of(pieces) * ld - col_of(pieces);
        if (RAW) end += distance;
    }

    /* Copies the unit of 16 bytes that contains an element, up to the end of its row, `left` elements from there. The rest becomes zero. */
    static __device__ __forceinline__ void copy(unsigned to, const half_bits *element, int left, bool on)
    {
        const int before = RAW ? (int)((unsigned long long)element & 15) : 0;   /* bytes */
        gs_cp_async<16>(to, (const unsigned char *)element - before, min(max(min(max(left, -8), 8) * 2 + before, 0), 16), on);
    }

    /* rows and cols: what is left of the matrix from the tile's corner; the rest of the tile becomes zero. */
    __device__ __forceinline__ void issue(int slice, unsigned stage, int rows, int cols, bool on)
    {
#pragma unroll
        for (int i = first(slice); i < first(slice + 1); i++) {
            copy(stage + offset_of(i), from, row + row_of(i) < rows ? cols - col - col_of(i) : -8, on);
            advance(i);
        }
        if (RAW && slice == 0) {
#pragma unroll
            for (int i = 0; i < ends; i++) {
                const int r = (int)threadIdx.x + i * THREADS;
                const half_bits *const last = end + i * THREADS * ld;
                const bool needed = r < rows && ((unsigned long long)last & 15) != 0;
                copy(stage + r * pitch + COLS * 2, last, needed ? cols - COLS : -8, on && r < ROWS);
            }
        }
    }
};

typedef tile_copy<GS_A_ALONG_K ? GS_BM : GS_BK, A_COLS, GS_RAW_A> copy_a;
typedef tile_copy<GS_B_ALONG_K ? HALF_N : GS_BK, B_COLS, GS_RAW_B> copy_b;

/* Copies of both operands, k-block by k-block. */
typedef struct loader {
    copy_a    a;
    copy_b    b;
#if HALVES == 2
    copy_b    up;
#endif
    long long distance_a, distance_b;   /* elements from one k-block to the next */
    int       rows, columns;    /* of D, left from the tile's corner */
    int       k;                /* left from the next k-block */

    __device__ __forceinline__ int a_rows() const { return GS_A_ALONG_K ? rows : k; }
    __device__ __forceinline__ int a_cols() const { return GS_A_ALONG_K ? k : rows; }
    __device__ __forceinline__ int b_rows() const { return GS_B_ALONG_K ? columns : k; }
    __device__ __forceinline__ int b_cols() const { return GS_B_ALONG_K ? k : columns; }

    __device__ __forceinline__ void issue(int slice, unsigned stage, bool on)
    {
        a.issue(slice, stage, a_rows(), a_cols(), on);
        b.issue(slice, stage + A_BYTES, b_rows(), b_cols(), on);
#if HALVES == 2
        up.issue(slice, stage + A_BYTES + HALF_BYTES, b_rows(), b_cols(), on);
#endif
    }

    __device__ __forceinline__ void next(void)
    {
        gs_cp_async_commit();
        a.next(distance_a);
        b.next(distance_b);
#if HALVES == 2
        up.next(distance_b);
#endif
        k -= GS_BK;
    }
} loader;

#endif

/* SPDX-License-Identifier: MIT
 * Family mma: Ampere and later. One output tile per block; a ring of shared-memory stages filled by cp.async, fragments by
 * ldmatrix one k16 step ahead, mma.sync into registers, and an epilogue through shared memory. Any extents, strides and alignment.
 *
 * Rows that do not start at multiples of 16 bytes (GS_RAW_A, GS_RAW_B) are copied as they lie: whole 16-byte units, from the one that the
 * row's first element lies in, so each row of a stage begins with up to 7 elements too many and is a unit longer. Fragments are then put
 * together from single words. Rows eight apart begin alike, because eight rows are a multiple of 16 bytes: a lane, whose rows are eight
 * apart, has one offset for all of them.
 *
 * GS_SPLIT blocks of a cluster share K: each leaves its sums in its shared memory, and adds up and stores a share of the rows.
 *
 *   step s of k-block t   [last step: wait for k-block t + 1, barrier] -> fragments of step s + 1 -> a slice of the copies of
 *                         k-block t + STAGES - 1 (into the stage that k-block t - 1 left) -> mma of step s
 *
 * Rows beyond M or N and the tail of K are zeros in shared memory, so no step looks at the extents; stores are masked.
 *
 * Set by the builder (src/family/mma.c): GS_IN GS_ACC GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt), GS_BETA (1: C is read),
 * GS_BM GS_BN GS_BK (tile), GS_WM GS_WN (warps along M, N), GS_STAGES, GS_GROUP GS_ALONG_N (raster), GS_BLOCKS (resident blocks that
 * registers must allow), GS_RAW_A GS_RAW_B (1: rows of any alignment), GS_VEC_D (elements per store of D, and of
 * aux), GS_SPLIT.
 *
 * GS_GATE: what is multiplied has twice the columns of D, which GS_BN counts: of a warp's tiles of 8 columns the even ones are of the gate, the odd ones of up.
 * The columns of either are a tile of B of their own; where they alternate in stored rows of K (TURN), one tile has both, and its rows are read by element. */
#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/epilogue.cuh"
#include "common/strides.cuh"
#include "common/cp_async.cuh"
#include "common/mbarrier.cuh"
#include "common/mma_sync.cuh"
#include "common/peers.cuh"
#include "common/raster.cuh"
#include "common/rows.cuh"

#if GS_SPLIT > 1
#define GS_PARTIALS(p) (((p).m + (GS_BM - 1LL)) / GS_BM * GS_SPLIT)          /* a row of sums for each block of a cluster */
#else
#define GS_PARTIALS(p) (((p).m + (GS_BM / GS_WM - 1LL)) / (GS_BM / GS_WM))   /* a row of sums for each row of warps */
#endif
#include "common/dbias.cuh"

#define WARPS (GS_WM * GS_WN)
#define THREADS (32 * WARPS)
#define WARP_M (GS_BM / GS_WM)
#define WARP_N (GS_BN / GS_WN)
#define MT (WARP_M / 16)                             /* mma tiles of a warp */
#define NT (WARP_N / 8)
#define STEPS (GS_BK / 16)
#define SLICES (STEPS - 1)                           /* copies are issued in that many parts: all but the last step */
#define A_COLS (GS_A_ALONG_K ? GS_BK : GS_BM)        /* tiles in shared memory, as stored: contiguous extent in columns */
#define TURN (GS_GATE == 2 && !GS_B_ALONG_K)
#define HALVES (GS_GATE && !TURN ? 2 : 1)            /* tiles of B */
#define HALF_N (GS_BN / HALVES)
#define WARP_D (GS_GATE ? WARP_N / 2 : WARP_N)       /* columns of D of a warp */
#define B_COLS (GS_B_ALONG_K ? GS_BK : HALF_N)
#define A_PITCH (A_COLS * 2 + GS_RAW_A * 16)         /* bytes from row to row */
#define B_PITCH (B_COLS * 2 + GS_RAW_B * 16)
#define A_BYTES ((GS_A_ALONG_K ? GS_BM : GS_BK) * A_PITCH)
#define HALF_BYTES ((GS_B_ALONG_K ? HALF_N : GS_BK) * B_PITCH)
#define B_BYTES (HALVES * HALF_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)
#define SLAB_ROW ((NT | 1) * 8 * OUT_BYTES)          /* epilogue: 16 rows of a warp's tile; an odd number of 8-column units keeps banks apart */
#define SLAB_BYTES (16 * SLAB_ROW)
#define UNIT (16 / OUT_BYTES)                        /* elements of D in aligned 16 bytes */
#define RAGGED (GS_VEC_D < UNIT && WARP_D > UNIT)    /* rows of D start at any element, or at any vector of less */

static_assert(WARP_M % 16 == 0 && NT >= 1 && (NT & (NT - 1)) == 0, "a warp's tile is made of 16 x 8 tiles, a power of two of them along N");
static_assert(STEPS == 2 || STEPS == 4, "fragments alternate between two buffers");

typedef unsigned short half_bits;

#if GS_ACC == 2
typedef float accumulator[4];
#else
typedef unsigned accumulator[2];
#endif

typedef struct fragments {
    unsigned a[MT][4];
    unsigned b[NT][2];
} fragments;

/* ---- shared memory: rows of COLS elements, 16-byte chunks permuted within 128 bytes ---- */

/* What a row's chunk numbers are xored with: eight rows that are read together differ in bank. Linear: rows a, b without common
 * bits have swizzle(a + b) = swizzle(a) ^ swizzle(b). */
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
    static constexpr int ends = RAW ? (ROWS + THREADS - 1) / THREADS : 0;   /* the last units of rows, which are a unit longer */
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

    /* The unit of 16 bytes that an element lies in, as far as its row goes: `left` elements from there. The rest becomes zero. */
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

/* ---- fragments and products ---- */

/* Where this lane reads within a stage. By ldmatrix: rows along K; rows along M or N, transposed while loading. Raw rows: the word
 * of its first pair of k in rows along K; the first element of its two rows along M or N. */
typedef struct reader {
    unsigned a, a_next, b, b_next;
#if GS_GATE
    unsigned up, up_next, pair_up;   /* raw rows of B's second tile */
#endif
    unsigned pair_a, pair_b;   /* how __byte_perm takes a pair from two words: its first element is the lower or the upper half of the first */
} reader;

/* Elements that lie before the first one of a row in its first unit. */
__device__ __forceinline__ unsigned before_row(const half_bits *row) { return (unsigned)((unsigned long long)row & 15) / 2; }
__device__ __forceinline__ unsigned pair_of(unsigned before) { return before % 2 ? 0x5432 : 0x3210; }

/* a, b, up: the tile's corner at the first k-block. */
__device__ __forceinline__ reader reader_of(int warp_m, int warp_n, unsigned lane, const loader &load, const half_bits *a, const half_bits *b, const half_bits *up)
{
    const unsigned g = lane / 4, t = lane % 4;
    reader at = {};
    if (GS_RAW_A && GS_A_ALONG_K) {
        const unsigned row = warp_m * WARP_M + g, before = before_row(a + row * load.a.ld);
        at.a = row * A_PITCH + (2 * t + before) / 2 * 4;
        at.pair_a = pair_of(before);
    } else if (GS_RAW_A) {
        const unsigned row = 2 * t, column = warp_m * WARP_M + g;
        at.a = row * A_PITCH + (column + before_row(a + row * load.a.ld)) * 2;
        at.a_next = (row + 1) * A_PITCH + (column + before_row(a + (row + 1) * load.a.ld)) * 2;
    } else if (!GS_A_ALONG_K) {
        at.a = chunk_offset<A_COLS>(lane % 8 + lane / 16 * 8, warp_m * (WARP_M / 8) + lane / 8 % 2);
    } else {
        at.a = chunk_offset<A_COLS>(warp_m * WARP_M + lane % 16, lane / 16);
    }
#if GS_GATE
    if (GS_RAW_B && GS_B_ALONG_K) {
        const unsigned row = warp_n * WARP_D + g, before = before_row(b + row * load.b.ld), before_up = before_row(up + row * load.b.ld);
        at.b = A_BYTES + row * B_PITCH + (2 * t + before) / 2 * 4;
        at.up = A_BYTES + HALF_BYTES + row * B_PITCH + (2 * t + before_up) / 2 * 4;
        at.pair_b = pair_of(before);
        at.pair_up = pair_of(before_up);
    } else if (GS_RAW_B) {
        const unsigned row = 2 * t, column = TURN ? warp_n * WARP_N + 2 * g : warp_n * WARP_D + g;
        at.b = A_BYTES + row * B_PITCH + (column + before_row(b + row * load.b.ld)) * 2;
        at.b_next = A_BYTES + (row + 1) * B_PITCH + (column + before_row(b + (row + 1) * load.b.ld)) * 2;
        at.up = TURN ? at.b + 2 : A_BYTES + HALF_BYTES + row * B_PITCH + (column + before_row(up + row * load.b.ld)) * 2;
        at.up_next = TURN ? at.b_next + 2 : A_BYTES + HALF_BYTES + (row + 1) * B_PITCH + (column + before_row(up + (row + 1) * load.b.ld)) * 2;
    } else if (GS_B_ALONG_K) {
        at.b = A_BYTES + lane / 16 * HALF_BYTES + chunk_offset<B_COLS>(warp_n * WARP_D + lane % 8, lane / 8 % 2);
    } else {
        at.b = A_BYTES + lane / 16 * HALF_BYTES + chunk_offset<B_COLS>(lane % 16, warp_n * (NT / 2));
    }
#else
    (void)up;
    if (GS_RAW_B && GS_B_ALONG_K) {
        const unsigned row = warp_n * WARP_N + g, before = before_row(b + row * load.b.ld);
        at.b = A_BYTES + row * B_PITCH + (2 * t + before) / 2 * 4;
        at.pair_b = pair_of(before);
    } else if (GS_RAW_B) {
        const unsigned row = 2 * t, column = warp_n * WARP_N + g;
        at.b = A_BYTES + row * B_PITCH + (column + before_row(b + row * load.b.ld)) * 2;
        at.b_next = A_BYTES + (row + 1) * B_PITCH + (column + before_row(b + (row + 1) * load.b.ld)) * 2;
    } else if (GS_B_ALONG_K) {
        const unsigned row = NT > 1 ? lane % 8 + lane / 16 * 8 : lane % 8;
        at.b = A_BYTES + chunk_offset<B_COLS>(warp_n * WARP_N + row, lane / 8 % 2);
    } else {
        at.b = A_BYTES + chunk_offset<B_COLS>(lane % 16, warp_n * NT + (NT > 1 ? lane / 16 : 0));
    }
#endif
    return at;
}

/* Two neighbouring elements of a raw row. */
__device__ __forceinline__ unsigned raw_pair(unsigned word, unsigned pair)
{
    return __byte_perm(gs_load_word(word), gs_load_word(word + 4), pair);
}

__device__ __forceinline__ void read_a(fragments *f, const reader at, unsigned stage, int step)
{
#pragma unroll
    for (int m = 0; m < MT; m++) {
        if (GS_RAW_A && GS_A_ALONG_K) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                f->a[m][i] = raw_pair(stage + at.a + (m * 16 + i % 2 * 8) * A_PITCH + step * 32 + i / 2 * 16, at.pair_a);
        } else if (GS_RAW_A) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned rows = stage + (step * 16 + i / 2 * 8) * A_PITCH + m * 32 + i % 2 * 16;
                f->a[m][i] = gs_load_shared_u16(rows + at.a) | (unsigned)gs_load_shared_u16(rows + at.a_next) << 16;
            }
        } else if (!GS_A_ALONG_K) {
            gs_ldmatrix_x4_trans(f->a[m], ((stage + at.a) ^ (m * 2 % 8 * 16)) + m * 2 / 8 * 128 + step * 16 * A_COLS * 2);
        } else {
            gs_ldmatrix_x4(f->a[m], ((stage + at.a) ^ (step * 32)) + m * 16 * A_PITCH);
        }
    }
}

/* Raw rows of B. */
__device__ __forceinline__ void read_raw_b(fragments *f, const reader at, unsigned stage, int step)
{
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
#if GS_GATE
            if (GS_B_ALONG_K) {
                f->b[n][i] = raw_pair(stage + (n % 2 ? at.up : at.b) + n / 2 * 8 * B_PITCH + step * 32 + i * 16, n % 2 ? at.pair_up : at.pair_b);
            } else {
                const unsigned rows = stage + (step * 16 + i * 8) * B_PITCH + n / 2 * (TURN ? 32 : 16);
                f->b[n][i] = gs_load_shared_u16(rows + (n % 2 ? at.up : at.b)) | (unsigned)gs_load_shared_u16(rows + (n % 2 ? at.up_next : at.b_next)) << 16;
            }
            continue;
#endif
            if (GS_B_ALONG_K) {
                f->b[n][i] = raw_pair(stage + at.b + n * 8 * B_PITCH + step * 32 + i * 16, at.pair_b);
            } else {
                const unsigned rows = stage + (step * 16 + i * 8) * B_PITCH + n * 16;
                f->b[n][i] = gs_load_shared_u16(rows + at.b) | (unsigned)gs_load_shared_u16(rows + at.b_next) << 16;
            }
        }
}

/* Step `step` of the stage at address `stage` (a multiple of 128 but for raw rows). Chunk numbers are xored, so a step or a pair of n-tiles
 * further is an xor of the address where it stays within 128 bytes, and an addition beyond. */
__device__ __forceinline__ void read_fragments(fragments *f, const reader at, unsigned stage, int step)
{
    read_a(f, at, stage, step);
    if (GS_RAW_B) {
        read_raw_b(f, at, stage, step);
        return;
    }
#pragma unroll
    for (int n = 0; n < NT; n += 2) {
        unsigned b, r[4] = {0, 0, 0, 0};
        const int of_tile = GS_GATE ? n / 2 : n;   /* in its tile of B */
        if (GS_B_ALONG_K)
            b = ((stage + at.b) ^ (step * 32)) + of_tile * 8 * B_COLS * 2;
        else
            b = ((stage + at.b) ^ (of_tile % 8 * 16)) + of_tile / 8 * 128 + step * 16 * B_COLS * 2;
        if (NT > 1) {
            if (GS_B_ALONG_K) gs_ldmatrix_x4(r, b);
            else gs_ldmatrix_x4_trans(r, b);
            f->b[n + (NT > 1)][0] = r[2];
            f->b[n + (NT > 1)][1] = r[3];
        } else {
            unsigned (&pair)[2] = *(unsigned (*)[2])r;
            if (GS_B_ALONG_K) gs_ldmatrix_x2(pair, b);
            else gs_ldmatrix_x2_trans(pair, b);
        }
        f->b[n][0] = r[0];
        f->b[n][1] = r[1];
    }
}

__device__ __forceinline__ void multiply(accumulator (&acc)[MT][NT], const fragments *f)
{
#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
        for (int i = 0; i < NT; i++) {
            const int n = m % 2 ? NT - 1 - i : i;   /* there and back: the last B fragment is used again */
#if GS_ACC != 2
            gs_mma_f16_f16(acc[m][n], f->a[m], f->b[n]);
#elif GS_IN == 0
            gs_mma_f16_f32(acc[m][n], f->a[m], f->b[n]);
#else
            gs_mma_bf16_f32(acc[m][n], f->a[m], f->b[n]);
#endif
        }
    }
}

/* ---- epilogue ---- */

/* Columns 2t and 2t + 1 of row g (half 0) or g + 8 (half 1) of an mma tile. */
__device__ __forceinline__ float2 accumulated(const accumulator &acc, int half)
{
#if GS_ACC == 2
    return make_float2(acc[2 * half], acc[2 * half + 1]);
#else
    return make_float2(gs_f16_to_f32((half_bits)acc[half]), gs_f16_to_f32((half_bits)(acc[half] >> 16)));
#endif
}

__device__ __forceinline__ float read_c(const void *c, long long index)
{
#if GS_OUT == 2
    return ((const float *)c)[index];
#elif GS_OUT == 1
    return gs_bf16_to_f32(((const half_bits *)c)[index]);
#else
    return gs_f16_to_f32(((const half_bits *)c)[index]);
#endif
}

__device__ __forceinline__ void put_pair(unsigned char *to, float2 x)
{
#if GS_OUT == 2
    *(float2 *)to = x;
#elif GS_OUT == 1
    *(unsigned *)to = gs_pack_bf16x2(x.x, x.y);
#else
    *(unsigned *)to = gs_pack_f16x2(x.x, x.y);
#endif
}

/* Sixteen rows of WIDE columns of a warp's tile, from its slab of shared memory to D, or aux, in whole vectors; elements at the edge of the matrix.
 * rows, columns: what is left of D from d. */
template <int WIDE = WARP_D> __device__ __forceinline__ void store_slab(unsigned char *d, long long ldd, const unsigned char *slab, int rows, int columns, int lane)
{
#if RAGGED
    const auto piece = [slab](int row, int i) { return slab + row * SLAB_ROW + i * 16; };
    gs_store_rows<16, WIDE / UNIT, OUT_BYTES, GS_VEC_D, 2>(d, ldd * OUT_BYTES, rows, columns, lane, piece);
#else
    constexpr int per_row = WIDE / GS_VEC_D;
#pragma unroll 4
    for (int i = 0; i < (16 * per_row + 31) / 32; i++) {
        const int piece = lane + 32 * i;
        const int row = piece / per_row;
        const int column = piece % per_row * GS_VEC_D;
        if (row >= 16 || row >= rows || column >= columns) continue;
        gs_copy_vector<OUT_BYTES, GS_VEC_D>(d + (row * ldd + column) * OUT_BYTES, slab + row * SLAB_ROW + column * OUT_BYTES, columns - column);
    }
#endif
}

#if GS_BETA
/* An element of C, which is added at once, or as a residual later. */
__device__ __forceinline__ void add_c(const gs_kernel_args &p, const void *c, long long at, float &x, float &residual)
{
    if (GS_RESIDUAL) residual = read_c(c, at);
    else x = gs_plus_c(p, read_c(c, at), x);
}
#endif

#if GS_GATE
/* Two neighbours of a row of D, from the sums of the gate and of up; aux is written where nobody does it in vectors. */
__device__ __forceinline__ float2 gated_pair(const gs_kernel_args &p, float2 gate, float2 up, long long index, long long row, int column)
{
    float2 own = make_float2(0, 0);
#if GS_BETA
    if (row < p.m && column < p.n) own.x = read_c(gs_base_c(p, index), gs_row_of_c(p, index, row) + column);
    if (row < p.m && column + 1 < p.n) own.y = read_c(gs_base_c(p, index), gs_row_of_c(p, index, row) + column + 1);
#endif
    gate.x *= gs_alpha(p), gate.y *= gs_alpha(p), up.x *= gs_alpha(p), up.y *= gs_alpha(p);
#if GS_SPLIT > 1
    return make_float2(gs_gated(p, gate.x, up.x, own.x, row, column, p.m, p.n, index), gs_gated(p, gate.y, up.y, own.y, row, column + 1, p.m, p.n, index));
#else
    gs_biased_halves(p, gate.x, up.x, row, column, p.m, p.n, index);
    gs_biased_halves(p, gate.y, up.y, row, column + 1, p.m, p.n, index);
    return make_float2(gs_behind_halves(p, gate.x, up.x, own.x), gs_behind_halves(p, gate.y, up.y, own.y));
#endif
}

#if GS_AUX && GS_SPLIT == 1
/* Sixteen rows of what is let up, or else of what the activation is applied to, to the slab; where they alternate in aux, of both. */
__device__ __forceinline__ void halves_to_slab(const gs_kernel_args &p, const accumulator (&acc)[NT], unsigned char *slab, bool lets, long long index, long long row, int column, int lane)
{
#pragma unroll
    for (int n = 0; n < NT / 2; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int r = lane / 4 + half * 8, c = n * 8 + lane % 4 * 2;
            unsigned char *const to = slab + r * SLAB_ROW + c * (GS_GATE == 2 ? 2 : 1) * OUT_BYTES;
            float2 gate = accumulated(acc[2 * n], half), up = accumulated(acc[2 * n + 1], half);
            gate.x *= gs_alpha(p), gate.y *= gs_alpha(p), up.x *= gs_alpha(p), up.y *= gs_alpha(p);
            gs_biased_halves(p, gate.x, up.x, row + r, column + c, p.m, p.n, index);
            gs_biased_halves(p, gate.y, up.y, row + r, column + c + 1, p.m, p.n, index);
            if (GS_GATE == 1) {
                put_pair(to, lets ? up : gate);
            } else {
                put_pair(to, make_float2(gate.x, up.x));
                put_pair(to + 2 * OUT_BYTES, make_float2(gate.y, up.y));
            }
        }
    }
}

/* Sixteen rows of aux. */
__device__ __forceinline__ void store_halves(const gs_kernel_args &p, const accumulator (&acc)[NT], unsigned char *slab, long long index, long long row, int column, int lane)
{
#pragma unroll
    for (int lets = 0; lets < (GS_GATE == 1 ? 2 : 1); lets++) {
        const long long from = GS_GATE == 2 ? 2LL * column : lets ? gs_column_of_up(column, p.n) : column;
        halves_to_slab(p, acc, slab, lets, index, row, column, lane);
        __syncwarp();
        store_slab<GS_GATE == 2 ? 2 * WARP_D : WARP_D>((unsigned char *)p.aux + gs_place_in_aux(p, row, from, index) * OUT_BYTES, p.ldaux, slab, (int)min(p.m - row, 16LL),
                                                       (GS_GATE == 2 ? 2 : 1) * (p.n - column), lane);
        __syncwarp();
    }
}
#endif
#endif

#if !GS_GATE
/* Two neighbours of a row of what the activation is applied to, and of C where that is a residual. */
__device__ __forceinline__ float2 biased_pair(const gs_kernel_args &p, float2 x, float2 &own, long long index, long long row, int column)
{
    x.x = gs_scaled(p, x.x * gs_alpha(p), row, column, p.m, p.n, index);
    x.y = gs_scaled(p, x.y * gs_alpha(p), row, column + 1, p.m, p.n, index);
#if GS_BETA
    const long long at = gs_row_of_c(p, index, row) + column;
    if (row < p.m && column < p.n) add_c(p, gs_base_c(p, index), at, x.x, own.x);
    if (row < p.m && column + 1 < p.n) add_c(p, gs_base_c(p, index), at + 1, x.y, own.y);
#endif
#if GS_BIAS
    x.x = __fadd_rn(x.x, gs_bias_of(p, row, column, p.m, p.n, index));
    x.y = __fadd_rn(x.y, gs_bias_of(p, row, column + 1, p.m, p.n, index));
#endif
    return x;
}

/* 16 rows of it, rounded, to the slab. */
__device__ __forceinline__ void before_activation(const gs_kernel_args &p, const accumulator (&acc)[NT], unsigned char *slab, long long index, long long row, int column, int lane)
{
#pragma unroll
    for (int n = 0; n < NT; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int r = lane / 4 + half * 8, c = n * 8 + lane % 4 * 2;
            float2 own = make_float2(0, 0);
            put_pair(slab + r * SLAB_ROW + c * OUT_BYTES, biased_pair(p, accumulated(acc[n], half), own, index, row + r, column + c));
        }
    }
}
#endif

#if GS_DBIAS
/* The sums of a warp's columns, from those of each thread's rows. columns: what is left of D. */
__device__ __forceinline__ void leave_column_sums(float *to, const float2 (&sums)[NT], int columns, int lane)
{
#pragma unroll
    for (int n = 0; n < NT; n++) {
        float2 sum = sums[n];
#pragma unroll
        for (int other = 4; other < 32; other *= 2) {
            sum.x += __shfl_xor_sync(0xffffffffu, sum.x, other);
            sum.y += __shfl_xor_sync(0xffffffffu, sum.y, other);
        }
        const int c = n * 8 + lane % 4 * 2;
        if (lane < 4 && c < columns) to[c] = sum.x;
        if (lane < 4 && c + 1 < columns) to[c + 1] = sum.y;
    }
}
#endif

/* D for the warp's tile, whose corner is (row, column) of matrix `index` of the batch. C may be D: a warp reads
 * its 16 rows of C before it writes them. */
__device__ __forceinline__ void epilogue(const gs_kernel_args &p, const accumulator (&acc)[MT][NT], unsigned char *slab, long long index, long long row,
                                         int column, int lane)
{
    unsigned char *const d = (unsigned char *)gs_base_d(p, index) + (gs_row_of_d(p, index, row) + column) * OUT_BYTES;
    const int columns = p.n - column;
#if GS_DBIAS
    float2 sums[NT] = {};
#endif
#pragma unroll
    for (int m = 0; m < MT; m++) {
        const long long first = row + m * 16;
        if (m) __syncwarp();
#if GS_AUX && GS_GATE && GS_SPLIT == 1
        store_halves(p, acc[m], slab, index, first, column, lane);
#elif GS_AUX && !GS_GATE
        before_activation(p, acc[m], slab, index, first, column, lane);
        __syncwarp();
        store_slab((unsigned char *)p.aux + gs_place_in_aux(p, first, column, index) * OUT_BYTES, p.ldaux, slab, (int)min(p.m - first, 16LL), columns, lane);
        __syncwarp();
#endif
#if GS_GATE
#pragma unroll
        for (int n = 0; n < NT / 2; n++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int r = lane / 4 + half * 8, c = n * 8 + lane % 4 * 2;
                put_pair(slab + r * SLAB_ROW + c * OUT_BYTES,
                         gated_pair(p, accumulated(acc[m][2 * n], half), accumulated(acc[m][2 * n + 1], half), index, first + r, column + c));
            }
        }
#else
#pragma unroll
        for (int n = 0; n < NT; n++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int r = lane / 4 + half * 8;
                const int c = n * 8 + lane % 4 * 2;
                float2 own = make_float2(0, 0);   /* of a residual */
                float2 x = biased_pair(p, accumulated(acc[m][n], half), own, index, first + r, column + c);
                x.x = gs_behind_bias(p, x.x, own.x, first + r, column + c, p.m, p.n, index);
                x.y = gs_behind_bias(p, x.y, own.y, first + r, column + c + 1, p.m, p.n, index);
#if GS_DBIAS
                if (first + r < p.m) sums[n].x += x.x, sums[n].y += x.y;
#endif
                put_pair(slab + r * SLAB_ROW + c * OUT_BYTES, x);
            }
        }
#endif
        __syncwarp();
        store_slab(d + m * 16 * p.ldd * OUT_BYTES, p.ldd, slab, (int)min(p.m - first, 16LL), columns, lane);
    }
#if GS_DBIAS
    if (row < p.m) leave_column_sums(gs_partial_sums(p, index, row / WARP_M) + column, sums, columns, lane);
#endif
}

#if GS_SPLIT > 1
/* ---- the blocks of a cluster add up ---- */

#define SUM_PITCH (GS_BN * 4 + 16)                   /* bytes from row to row of a block's sums, f32 */

__device__ __forceinline__ void leave_sums(const accumulator (&acc)[MT][NT], unsigned sums, int warp_m, int warp_n, int lane)
{
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = warp_m * WARP_M + m * 16 + half * 8 + lane / 4, column = warp_n * WARP_N + n * 8 + lane % 4 * 2;
                const float2 x = accumulated(acc[m][n], half);
                gs_store_shared_f32x2(sums + row * SUM_PITCH + column * 4, x.x, x.y);
            }
}

#define SUM_PAIRS (GS_BN / (GS_GATE ? 4 : 2))        /* pairs of columns of D of a tile */
#define SUM_SHARE (GS_BM / GS_SPLIT)                 /* rows of a block: rank, rank + GS_SPLIT, ... */

/* D = alpha * sums + beta * C for a pair of columns of a row of the tile, of which the first is in D. What is stored, before it is rounded; 0 for what is not in D. */
__device__ __forceinline__ float2 add_pair(const gs_kernel_args &p, const unsigned (&of)[GS_SPLIT], long long index, int m0, int n0, int row, int column)
{
    float2 x = make_float2(0, 0);
#if GS_GATE
    const int place = column / WARP_D * WARP_N + column % WARP_D / 8 * 16 + column % 8;
    float2 up = make_float2(0, 0);
#pragma unroll
    for (int s = 0; s < GS_SPLIT; s++) {
        const float2 part = gs_peer_load_f32x2(of[s] + row * SUM_PITCH + place * 4), part_up = gs_peer_load_f32x2(of[s] + row * SUM_PITCH + place * 4 + 32);
        x.x += part.x;
        x.y += part.y;
        up.x += part_up.x;
        up.y += part_up.y;
    }
#else
#pragma unroll
    for (int s = 0; s < GS_SPLIT; s++) {
        const float2 part = gs_peer_load_f32x2(of[s] + row * SUM_PITCH + column * 4);
        x.x += part.x;
        x.y += part.y;
    }
#endif
    const bool both = n0 + (long long)column + 1 < p.n;
    unsigned char *const d = (unsigned char *)gs_base_d(p, index) + (gs_row_of_d(p, index, m0 + row) + n0 + column) * OUT_BYTES;
#if GS_GATE
    x = gated_pair(p, x, up, index, m0 + row, n0 + column);
#else
    x.x = gs_scaled(p, x.x * gs_alpha(p), m0 + row, n0 + column, p.m, p.n, index);
    x.y = gs_scaled(p, x.y * gs_alpha(p), m0 + row, n0 + column + 1, p.m, p.n, index);
    float2 own = make_float2(0, 0);   /* of a residual */
#if GS_BETA
    const long long at = gs_row_of_c(p, index, m0 + row) + n0 + column;
    add_c(p, gs_base_c(p, index), at, x.x, own.x);
    if (both) add_c(p, gs_base_c(p, index), at + 1, x.y, own.y);
#endif
    x.x = gs_from_bias(p, x.x, gs_bias_of(p, m0 + row, n0 + column, p.m, p.n, index), own.x, m0 + row, n0 + column, p.m, p.n, index);
    x.y = gs_from_bias(p, x.y, gs_bias_of(p, m0 + row, n0 + column + 1, p.m, p.n, index), own.y, m0 + row, n0 + column + 1, p.m, p.n, index);
#endif
    __align__(8) unsigned char bytes[8];
    put_pair(bytes, x);
    if (both && GS_VEC_D > 1) {
        gs_copy_bytes<2 * OUT_BYTES>(d, bytes);
    } else {
        gs_copy_bytes<OUT_BYTES>(d, bytes);
        if (both) gs_copy_bytes<OUT_BYTES>(d + OUT_BYTES, bytes + OUT_BYTES);
    }
    return make_float2(x.x, both ? x.y : 0);
}

#if GS_DBIAS
#define SUM_ACROSS (SUM_PAIRS < THREADS ? SUM_PAIRS : THREADS)   /* threads that have a row together */
#define SUM_LANES (THREADS / SUM_ACROSS)
typedef float2 column_sums[SUM_PAIRS / SUM_ACROSS];
static_assert(THREADS % SUM_ACROSS == 0 && SUM_PAIRS % SUM_ACROSS == 0, "threads share the columns evenly");

/* The block's share of the tile; a thread has the same columns in all of its rows, whose sums it keeps. */
__device__ __forceinline__ void add_up(const gs_kernel_args &p, unsigned sums, unsigned rank, long long index, int m0, int n0, column_sums &kept)
{
    unsigned of[GS_SPLIT];
#pragma unroll
    for (int i = 0; i < GS_SPLIT; i++) of[i] = gs_cluster_address(sums, i);
#pragma unroll 1
    for (int i = (int)threadIdx.x / SUM_ACROSS; i < SUM_SHARE; i += SUM_LANES) {
        const int row = i * GS_SPLIT + (int)rank;
        if (m0 + (long long)row >= p.m) break;
#pragma unroll
        for (int j = 0; j < SUM_PAIRS / SUM_ACROSS; j++) {
            const int column = ((int)threadIdx.x % SUM_ACROSS + j * SUM_ACROSS) * 2;
            if (n0 + (long long)column >= p.n) continue;
            const float2 x = add_pair(p, of, index, m0, n0, row, column);
            kept[j].x += x.x;
            kept[j].y += x.y;
        }
    }
}

/* The sums of the block's rows, through shared memory that nobody reads any more. */
__device__ __forceinline__ void leave_block_sums(const gs_kernel_args &p, float *shared, const column_sums &kept, long long index, long long part, int n0)
{
    float2 *const own = (float2 *)shared + (int)threadIdx.x / SUM_ACROSS * SUM_PAIRS + (int)threadIdx.x % SUM_ACROSS;
#pragma unroll
    for (int j = 0; j < SUM_PAIRS / SUM_ACROSS; j++) own[j * SUM_ACROSS] = kept[j];
    __syncthreads();
    for (int c = (int)threadIdx.x; c < 2 * SUM_PAIRS && n0 + (long long)c < p.n; c += THREADS) {
        float sum = shared[c];
        for (int lane = 1; lane < SUM_LANES; lane++) sum += shared[lane * 2 * SUM_PAIRS + c];
        gs_partial_sums(p, index, part)[n0 + c] = sum;
    }
}
#else
/* The block's share of the tile. Neighbouring threads have neighbouring pairs of columns. */
__device__ __forceinline__ void add_up(const gs_kernel_args &p, unsigned sums, unsigned rank, long long index, int m0, int n0)
{
    unsigned of[GS_SPLIT];
#pragma unroll
    for (int i = 0; i < GS_SPLIT; i++) of[i] = gs_cluster_address(sums, i);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < SUM_SHARE * SUM_PAIRS; i += THREADS) {
        const int row = i / SUM_PAIRS * GS_SPLIT + (int)rank, column = i % SUM_PAIRS * 2;
        if (m0 + (long long)row >= p.m || n0 + (long long)column >= p.n) continue;
        add_pair(p, of, index, m0, n0, row, column);
    }
}
#endif
#endif

/* ---- the kernel ---- */

extern "C" __global__ void __launch_bounds__(THREADS, GS_BLOCKS) gs_mma(const gs_kernel_args p)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const long long index = blockIdx.y + (long long)blockIdx.z * gridDim.y;   /* in the batch */
    if (index >= p.batch || p.m == 0 || p.n == 0) {
        gs_dependent_wait();
        return;
    }
#if GS_POINTERS
    gs_dependent_wait();
#endif

    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int warp_m = warp / GS_WN;
    const int warp_n = warp % GS_WN;

    int tile_m, tile_n;
    const int tiles_m = (int)((p.m + (GS_BM - 1LL)) / GS_BM);
    const int tiles_n = (int)(((GS_GATE ? 2LL * p.n : p.n) + (GS_BN - 1LL)) / GS_BN);
    gs_raster((int)(blockIdx.x / GS_SPLIT), tiles_m, tiles_n, GS_GROUP, GS_ALONG_N, &tile_m, &tile_n);
    const int m0 = tile_m * GS_BM;
    const int n0 = tile_n * (GS_GATE ? GS_BN / 2 : GS_BN);   /* in D */

    const unsigned rank = blockIdx.x % GS_SPLIT;         /* in the cluster */
    const int all = p.k / GS_BK + (p.k % GS_BK != 0);    /* k-blocks */
    const int share = (all + GS_SPLIT - 1) / GS_SPLIT, before = (int)min((long long)rank * share, (long long)all);
    const int blocks = GS_SPLIT > 1 ? min(share, all - before) : all;

    loader load;
    const half_bits *const a = (const half_bits *)gs_base_a(p, index) + gs_begin_a(p, index) + (GS_A_ALONG_K ? m0 * p.lda : m0) +
                               (long long)before * GS_BK * (GS_A_ALONG_K ? 1 : p.lda);
#if GS_GATE
    const half_bits *const matrix = (const half_bits *)gs_base_b(p, index) + gs_begin_b(p, index) + (long long)before * GS_BK * (GS_B_ALONG_K ? 1 : p.ldb);
    const half_bits *const b = matrix + gs_column_of_gate(n0) * (GS_B_ALONG_K ? p.ldb : 1), *const up = matrix + gs_column_of_up(n0, p.n) * (GS_B_ALONG_K ? p.ldb : 1);
    load.b.start(b, GS_B_ALONG_K && GS_GATE == 2 ? 2 * p.ldb : p.ldb);
#if HALVES == 2
    load.up.start(up, GS_B_ALONG_K && GS_GATE == 2 ? 2 * p.ldb : p.ldb);
#endif
#else
    const half_bits *const b = (const half_bits *)gs_base_b(p, index) + gs_begin_b(p, index) + (GS_B_ALONG_K ? n0 * p.ldb : n0) +
                               (long long)before * GS_BK * (GS_B_ALONG_K ? 1 : p.ldb), *const up = b;
    load.b.start(b, p.ldb);
#endif
    load.a.start(a, p.lda);
    load.distance_a = GS_A_ALONG_K ? GS_BK : GS_BK * p.lda;
    load.distance_b = GS_B_ALONG_K ? GS_BK : GS_BK * p.ldb;
    load.rows = p.m - m0;
    load.columns = TURN ? 2 * (p.n - n0) : p.n - n0;
    load.k = p.k - before * GS_BK;

    accumulator acc[MT][NT];
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int i = 0; i < (int)(sizeof(accumulator) / 4); i++) acc[m][n][i] = 0;

    const unsigned base = gs_shared_address(shared);
    gs_dependent_wait();
#pragma unroll 1
    for (int stage = 0; stage < GS_STAGES - 1; stage++) {
#pragma unroll
        for (int slice = 0; slice < SLICES; slice++) load.issue(slice, base + stage * STAGE_BYTES, stage < blocks);
        load.next();
    }
    gs_dependent_launch();
    gs_cp_async_wait<GS_STAGES - 2>();
    __syncthreads();

    const reader at = reader_of(warp_m, warp_n, lane, load, a, b, up);
    unsigned from = 0;                                   /* offset of the stage that is read */
    unsigned to = (GS_STAGES - 1) * STAGE_BYTES;         /* and of the one that is filled */
    fragments f[2];
    if (blocks > 0) read_fragments(&f[0], at, base, 0);

    for (int block = 0; block < blocks; block++) {
        const bool on = block + GS_STAGES - 1 < blocks;
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            if (step == STEPS - 1) {
                gs_cp_async_wait<GS_STAGES - 2>();
                __syncthreads();
                to = from;
                if (block + 1 < blocks) from = from == (GS_STAGES - 1) * STAGE_BYTES ? 0 : from + STAGE_BYTES;
            }
            read_fragments(&f[(step + 1) % 2], at, base + from, (step + 1) % STEPS);   /* after the last k-block: the same again, not used */
            if (step < SLICES) load.issue(step, base + to, on);
            if (step == SLICES - 1) load.next();
            multiply(acc, &f[step % 2]);
        }
    }
    __syncthreads();   /* the slabs lie where fragments were read from */

#if GS_SPLIT > 1
    leave_sums(acc, base, warp_m, warp_n, lane);
    gs_peers_arrive();
    gs_peers_wait();
#if GS_DBIAS
    column_sums kept = {};
    add_up(p, base, rank, index, m0, n0, kept);
#else
    add_up(p, base, rank, index, m0, n0);
#endif
    gs_peers_arrive();   /* a block's sums stay until all have read them */
    gs_peers_wait();
#if GS_DBIAS
    leave_block_sums(p, (float *)shared, kept, index, (long long)tile_m * GS_SPLIT + rank, n0);
#endif
#else
    epilogue(p, acc, shared + warp * SLAB_BYTES, index, m0 + (long long)warp_m * WARP_M, n0 + warp_n * WARP_D, lane);
#endif
}

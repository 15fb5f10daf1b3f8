/* SPDX-License-Identifier: MIT
 * Family tiny: a batch of many matrices, each so small that one warp computes all of it, or a strip of its rows. Only the memory bandwidth limits the
 * speed, so as many bytes as possible are in flight at any time, and a warp does little for each of them.
 *
 * GS_STAGES > 0: the matrices of a batch are at a constant distance. GS_MATRICES of A, and as many of B, are one bulk copy each into a stage of the block's ring, from which
 * warps read fragments of mma.sync; an operand that all matrices share is copied into each stage. GS_STAGES 0: warps load fragments from global memory, those of GS_MATRICES
 * strips at once, wherever matrices are: strides of any kind, pointers.
 *
 * The order along K does not matter if it is the same for A and B, nor does it matter which column of D is which column of mma. So a lane's k are
 * neighbours in a row of A or B, read by one load, and its columns are chosen so that its results are neighbours in D, which it stores itself:
 *
 *     words along K of lane (g, t)      32 k: 8t ... 8t + 7, two steps of mma; the last 16 k: 4t ... 4t + 3
 *     across K                          neighbouring columns of each of those k, put together in pairs of k
 *     tiles of N, in groups of G = 1, 2, 4    lane t has columns 2Gt ... 2Gt + 2G - 1 of a group
 *
 * Lanes exchange no operands, and a block's warps synchronise only by the mbarriers of the ring. Extents are compile-time constants.
 *
 * Set by the builder (src/family/tiny.c): GS_IN GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt), GS_BETA (1: C is read), GS_M ... GS_LDD
 * (sizes.cuh), GS_WARPS, GS_MATRICES, GS_TILES (of 16 rows of D in a strip), GS_STAGES, GS_BLOCKS (resident blocks that registers must allow), GS_VEC_A
 * GS_VEC_B GS_VEC_C GS_VEC_D (elements of an access), GS_SHIFT_A GS_SHIFT_B (1: the operand starts at any element). With a ring also GS_STRIDE_A GS_STRIDE_B (elements from one
 * matrix to the next; 0: all share one; not set: rows * leading dimension). Sums are always f32. */
#include "common/along.h"
#include "common/args.h"
#include "common/block.cuh"
#include "common/bulk.cuh"
#include "common/convert.cuh"
#include "common/epilogue.cuh"
#include "common/mbarrier.cuh"
#include "common/mma_sync.cuh"
#include "common/pieces.cuh"
#include "common/rows.cuh"
#include "common/sizes.cuh"
#include "common/strides.cuh"

#define THREADS (32 * GS_WARPS)
#define STRIP (16 * GS_TILES)                        /* rows of D */
#define STRIPS ((GS_M + STRIP - 1) / STRIP)          /* of a matrix */
#define SLOTS (2 * GS_TILES)                         /* rows of a lane */
#define NT ((GS_N + 7) / 8)                          /* tiles of 8 columns */
#define GROUP (GS_OUT == 2 ? 2 : 4)                  /* most tiles in which a lane's columns are neighbours: 16 bytes of D */
#define NEITHER_ALONG_K (!GS_A_ALONG_K && !GS_B_ALONG_K)
#define PAIRS (NEITHER_ALONG_K ? 0 : GS_K / 32 + (GS_K % 32 > 16))   /* of k16 steps of mma: 32 k */
#define STEPS (NEITHER_ALONG_K ? (GS_K + 15) / 16 : 2 * PAIRS + (GS_K % 32 > 0 && GS_K % 32 <= 16))
#define WORDS (2 * STEPS)                            /* pairs of k of a lane */
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)

/* Matrices as stored, in elements. */
#define A_ROWS (GS_A_ALONG_K ? GS_M : GS_K)
#define A_COLS (GS_A_ALONG_K ? GS_K : GS_M)
#define B_ROWS (GS_B_ALONG_K ? GS_N : GS_K)
#define B_COLS (GS_B_ALONG_K ? GS_K : GS_N)

/* What a fragment is read from: an address in shared or in global memory. */
#if GS_STAGES
typedef unsigned place;
#else
typedef const unsigned char *place;
#endif

#ifndef GS_STRIDE_A
#define GS_STRIDE_A ((long long)A_ROWS * GS_LDA)
#endif
#ifndef GS_STRIDE_B
#define GS_STRIDE_B ((long long)B_ROWS * GS_LDB)
#endif

/* An operand whose matrices are STRIDE elements apart, and of which bulk copies bring GS_MATRICES at once. Bytes. */
template <int ROWS, int COLS, long long LD, long long STRIDE, int SHIFT> struct operand {
    static constexpr long long matrix = STRIDE * 2;                        /* from one to the next */
    static constexpr long long used = ((ROWS - 1) * LD + COLS) * 2;        /* bytes of a matrix: nothing is read after the last matrix's last element */
    static constexpr long long chunk = GS_MATRICES * matrix;               /* from one copy to the next */
    static constexpr long long held = STRIDE ? chunk : (used + 15) / 16 * 16;   /* bytes that are copied into a stage */
    static constexpr bool shift = SHIFT;
    static constexpr int place = (int)((held + SHIFT * 16 + 127) / 128 * 128);    /* in a stage */
    static constexpr bool ends = shift || matrix % 16 || used % 16;        /* the batch may end within 16 bytes */
};
typedef operand<A_ROWS, A_COLS, GS_LDA, GS_STRIDE_A, GS_SHIFT_A> operand_a;
typedef operand<B_ROWS, B_COLS, GS_LDB, GS_STRIDE_B, GS_SHIFT_B> operand_b;

/* ---- groups of tiles ---- */

static __device__ constexpr int group_size(int tile)
{
    constexpr int whole = NT / GROUP * GROUP;
    return tile < whole ? GROUP : NT - whole >= 2 && tile < whole + 2 ? 2 : 1;
}
static __device__ constexpr int group_first(int tile)
{
    constexpr int whole = NT / GROUP * GROUP;
    return tile < whole ? tile / GROUP * GROUP : NT - whole >= 2 && tile < whole + 2 ? whole : tile;
}

/* ---- fragments ---- */

/* The first k of a lane's word; the second is k + NEXT_K. If neither operand is stored along K that is k + 4: rows that are read together are then neighbours. */
static __device__ __forceinline__ int k_of(int word, int t)
{
    if (NEITHER_ALONG_K) return word / 2 * 16 + word % 2 * 8 + t;
    if (word < 4 * PAIRS) return word / 4 * 32 + 8 * t + word % 4 * 2;
    return PAIRS * 32 + (word - 4 * PAIRS) / 2 * 16 + 4 * t + word % 2 * 2;
}
#define NEXT_K (NEITHER_ALONG_K ? 4 : 1)

/* COUNT words of a row along K, from k on. VEC: elements of a load; none crosses the end of the row. */
template <int VEC, int COUNT> static __device__ __forceinline__ void read_along(unsigned *w, place row, int k, bool on)
{
    constexpr int vec = VEC < 2 * COUNT ? VEC : 2 * COUNT;
    const place from = row + k * 2;
    if constexpr (vec >= 2) {
#pragma unroll
        for (int i = 0; i < 2 * COUNT / vec; i++) gs_load_piece<vec * 2>(w + i * vec / 2, from + i * vec * 2, on && k + i * vec < GS_K);
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            unsigned low, high;
            gs_load_piece<2>(&low, from + i * 4, on && k + 2 * i < GS_K);
            gs_load_piece<2>(&high, from + i * 4 + 2, on && k + 2 * i + 1 < GS_K);
            w[i] = __byte_perm(low, high, 0x5410);
        }
    }
}

/* COUNT neighbouring elements of one row across K, two in a word unless COUNT is 1. */
template <int VEC, int COUNT> static __device__ __forceinline__ void read_row(unsigned (&r)[(COUNT + 1) / 2], place row, int column, int columns, bool on)
{
    constexpr int even = COUNT % 8 == 0 ? 8 : COUNT % 4 == 0 ? 4 : COUNT % 2 == 0 ? 2 : 1, vec = VEC < even ? VEC : even;
    const place from = row + column * 2;
    if constexpr (vec >= 2 || COUNT == 1) {
#pragma unroll
        for (int i = 0; i < COUNT / vec; i++) gs_load_piece<vec * 2>(r + i * vec / 2, from + i * vec * 2, on && column + i * vec < columns);
    } else {
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) {
            unsigned low, high;
            gs_load_piece<2>(&low, from + i * 4, on && column + 2 * i < columns);
            gs_load_piece<2>(&high, from + i * 4 + 2, on && column + 2 * i + 1 < columns);
            r[i] = __byte_perm(low, high, 0x5410);
        }
    }
}

/* A word of COUNT neighbouring columns across K, from `column` on: to[i] is that of column i. ROW: bytes from row to row. */
template <int VEC, int COUNT> static __device__ __forceinline__ void read_across(unsigned (&to)[COUNT], place matrix, long long row, int k, int column, int columns)
{
    unsigned first[(COUNT + 1) / 2], second[(COUNT + 1) / 2];
    read_row<VEC, COUNT>(first, matrix + k * row, column, columns, k < GS_K);
    read_row<VEC, COUNT>(second, matrix + (k + NEXT_K) * row, column, columns, k + NEXT_K < GS_K);
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[i] = __byte_perm(first[i / 2], second[i / 2], i % 2 ? 0x7632 : 0x5410);
}

/* A lane's fragments of a strip: pairs of k of its rows of A and of its columns of B. */
typedef struct fragments {
    unsigned a[SLOTS][WORDS];
    unsigned b[NT][WORDS];
} fragments;

/* The row of a strip in slot 2 i + h of a lane, which is row g + 8 h of mma's tile i. */
static __device__ __forceinline__ int row_of(int slot, int g) { return GS_A_ALONG_K ? slot / 2 * 16 + slot % 2 * 8 + g : SLOTS * g + slot; }

/* Words FIRST to FIRST + COUNT - 1 of a strip's rows of A: 4 of 32 k, 2 of 16. */
template <int FIRST, int COUNT> static __device__ __forceinline__ void read_a(fragments *f, place matrix, int strip, int g, int t)
{
    if constexpr (GS_A_ALONG_K) {
#pragma unroll
        for (int slot = 0; slot < SLOTS; slot++) {
            const int row = strip * STRIP + row_of(slot, g);
            read_along<GS_VEC_A, COUNT>(f->a[slot] + FIRST, matrix + row * (GS_LDA * 2), k_of(FIRST, t), GS_M % STRIP == 0 || row < GS_M);
        }
    } else {
#pragma unroll
        for (int word = FIRST; word < FIRST + COUNT; word++) {
            unsigned column[SLOTS];
            read_across<GS_VEC_A, SLOTS>(column, matrix, GS_LDA * 2, k_of(word, t), strip * STRIP + SLOTS * g, GS_M);
#pragma unroll
            for (int slot = 0; slot < SLOTS; slot++) f->a[slot][word] = column[slot];
        }
    }
}

/* The same for B; read_group: for a group of tiles across K and those after it. */
template <int TILE, int FIRST, int COUNT> static __device__ __forceinline__ void read_group(fragments *f, place matrix, int g, int t)
{
    constexpr int size = group_size(TILE);
#pragma unroll
    for (int word = FIRST; word < FIRST + COUNT; word++) {
        unsigned column[size];
        read_across<GS_VEC_B, size>(column, matrix, GS_LDB * 2, k_of(word, t), TILE * 8 + size * g, GS_N);
#pragma unroll
        for (int i = 0; i < size; i++) f->b[TILE + i][word] = column[i];
    }
    if constexpr (TILE + size < NT) read_group<TILE + size, FIRST, COUNT>(f, matrix, g, t);
}
template <int FIRST, int COUNT> static __device__ __forceinline__ void read_b(fragments *f, place matrix, int g, int t)
{
    if constexpr (GS_B_ALONG_K) {
#pragma unroll
        for (int tile = 0; tile < NT; tile++) {
            const int size = group_size(tile), first = group_first(tile);
            const int row = first * 8 + g / 2 * 2 * size + (tile - first) * 2 + g % 2;
            read_along<GS_VEC_B, COUNT>(f->b[tile] + FIRST, matrix + row * (GS_LDB * 2), k_of(FIRST, t), GS_N % 8 == 0 || row < GS_N);
        }
    } else {
        read_group<0, FIRST, COUNT>(f, matrix, g, t);
    }
}

/* ---- products ---- */

typedef float accumulators[GS_TILES][NT][4];

static __device__ __forceinline__ void clear(accumulators &acc)
{
#pragma unroll
    for (int i = 0; i < GS_TILES; i++)
#pragma unroll
        for (int j = 0; j < NT; j++) acc[i][j][0] = acc[i][j][1] = acc[i][j][2] = acc[i][j][3] = 0;
}

template <int FIRST, int COUNT> static __device__ __forceinline__ void multiply(accumulators &acc, const fragments *f)
{
#pragma unroll
    for (int w = FIRST; w < FIRST + COUNT; w += 2)
#pragma unroll
        for (int i = 0; i < GS_TILES; i++) {
            const unsigned a[4] = {f->a[2 * i][w], f->a[2 * i + 1][w], f->a[2 * i][w + 1], f->a[2 * i + 1][w + 1]};
#pragma unroll
            for (int j = 0; j < NT; j++) {
                const unsigned b[2] = {f->b[j][w], f->b[j][w + 1]};
#if GS_IN == 0
                gs_mma_f16_f32(acc[i][j], a, b);
#else
                gs_mma_bf16_f32(acc[i][j], a, b);
#endif
            }
        }
}

/* Words from FIRST on, 32 k at a time while there are pairs of steps. */
template <int FIRST> static __device__ __forceinline__ void read_all(fragments *f, place a, place b, int strip, int g, int t)
{
    constexpr int count = FIRST < 4 * PAIRS ? 4 : 2;
    read_a<FIRST, count>(f, a, strip, g, t);
    read_b<FIRST, count>(f, b, g, t);
    if constexpr (FIRST + count < WORDS) read_all<FIRST + count>(f, a, b, strip, g, t);
}
template <int FIRST> static __device__ __forceinline__ void read_and_multiply(accumulators &acc, fragments *f, place a, place b, int strip, int g, int t)
{
    constexpr int count = FIRST < 4 * PAIRS ? 4 : 2;
    read_a<FIRST, count>(f, a, strip, g, t);
    read_b<FIRST, count>(f, b, g, t);
    multiply<FIRST, count>(acc, f);
    if constexpr (FIRST + count < WORDS) read_and_multiply<FIRST + count>(acc, f, a, b, strip, g, t);
}

/* ---- D ---- */

static __device__ __forceinline__ float read_c(const unsigned *words, int i)
{
#if GS_OUT == 2
    return __uint_as_float(words[i]);
#elif GS_OUT == 1
    return gs_bf16_to_f32((unsigned short)(words[i / 2] >> i % 2 * 16));
#else
    return gs_f16_to_f32((unsigned short)(words[i / 2] >> i % 2 * 16));
#endif
}

/* Where matrix `index` of C and of D begins, in elements from their base. */
static __device__ __forceinline__ long long begin_of_c(const gs_kernel_args &p, long long index)
{
    return GS_STRIDES ? gs_row_of_c(p, index, 0) : GS_POINTERS ? 0 : index * GS_M * GS_LDC;
}
static __device__ __forceinline__ long long begin_of_d(const gs_kernel_args &p, long long index)
{
    return GS_STRIDES ? gs_row_of_d(p, index, 0) : GS_POINTERS ? 0 : index * GS_M * GS_LDD;
}

/* Stores COUNT neighbouring elements of a row of D. v: their sums; row, column: of the first one. Accesses do not cross the end of the row. */
template <int COUNT> static __device__ __forceinline__ void store_run(const gs_kernel_args &p, long long matrix, int row, int column, float (&v)[COUNT])
{
    constexpr int vec = GS_VEC_D < COUNT ? GS_VEC_D : COUNT;
    if ((GS_M % STRIP && row >= GS_M) || (GS_N % 8 && column >= GS_N)) return;
    float c[COUNT] = {};
#if GS_BETA
    constexpr int vec_c = GS_VEC_C < COUNT ? GS_VEC_C : COUNT;
    const unsigned char *const from = (const unsigned char *)gs_base_c(p, matrix) + (begin_of_c(p, matrix) + row * GS_LDC + column) * OUT_BYTES;
#pragma unroll
    for (int i = 0; i < COUNT / vec_c; i++) {
        unsigned words[vec_c * OUT_BYTES < 4 ? 1 : vec_c * OUT_BYTES / 4];
        gs_load_piece<vec_c * OUT_BYTES>(words, from + i * vec_c * OUT_BYTES, column + i * vec_c < GS_N);
#pragma unroll
        for (int e = 0; e < vec_c; e++) c[i * vec_c + e] = read_c(words, e);
    }
#endif
#pragma unroll
    for (int i = 0; i < COUNT; i++) v[i] = gs_finished(p, gs_alpha(p) * v[i], c[i], row, column + i, GS_M, GS_N, matrix);
    __align__(16) unsigned words[COUNT * OUT_BYTES / 4];
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) {
#if GS_OUT == 2
        words[i] = __float_as_uint(v[i]), words[i + 1] = __float_as_uint(v[i + 1]);
#elif GS_OUT == 1
        words[i / 2] = gs_pack_bf16x2(v[i], v[i + 1]);
#else
        words[i / 2] = gs_pack_f16x2(v[i], v[i + 1]);
#endif
    }
    unsigned char *const to = (unsigned char *)gs_base_d(p, matrix) + (begin_of_d(p, matrix) + row * GS_LDD + column) * OUT_BYTES;
#pragma unroll
    for (int i = 0; i < COUNT / vec; i++)
        if (GS_N % 8 == 0 || column + i * vec < GS_N) gs_copy_bytes<vec * OUT_BYTES>(to + i * vec * OUT_BYTES, (const unsigned char *)words + i * vec * OUT_BYTES);
}

/* Stores a row's part of a group of tiles, and of the groups after it. half: row g (0) or g + 8 (1) of mma's tile. */
template <int TILE> static __device__ __forceinline__ void store_groups(const gs_kernel_args &p, const float (&acc)[NT][4], int half, long long matrix, int row, int t)
{
    constexpr int size = group_size(TILE);
    float run[2 * size];
#pragma unroll
    for (int j = 0; j < size; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) run[GS_B_ALONG_K ? 2 * j + e : e * size + j] = acc[TILE + j][2 * half + e];
    store_run<2 * size>(p, matrix, row, TILE * 8 + 2 * size * t, run);
    if constexpr (TILE + size < NT) store_groups<TILE + size>(p, acc, half, matrix, row, t);
}

static __device__ __forceinline__ void store(const gs_kernel_args &p, const accumulators &acc, long long matrix, int strip, int g, int t)
{
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) store_groups<0>(p, acc[slot / 2], slot % 2, matrix, strip * STRIP + row_of(slot, g), t);
}

/* ---- the kernel: a ring of bulk copies ---- */

#if GS_STAGES
#define STAGE_BYTES (operand_a::place + operand_b::place)
#define BARRIERS (GS_STAGES * STAGE_BYTES)           /* offset of the mbarriers: GS_STAGES for full stages, then GS_STAGES for stages that have been read */

/* Bytes between a multiple of 16 and the start of a chunk. */
template <typename OPERAND> static __device__ __forceinline__ unsigned before_of(const void *base, long long chunk)
{
    return OPERAND::shift ? (unsigned)((unsigned long long)base + chunk * OPERAND::chunk) & 15 : 0;
}

/* The copy of a chunk of an operand to `to`, from the multiple of 16 at or before its start. A bulk copy copies `whole` bytes; the few bytes after
 * them, at the end of the batch, are copied here. */
template <typename OPERAND> struct copy_of {
    const unsigned char *from;
    unsigned whole;

    __device__ __forceinline__ copy_of(const void *base, long long chunk, long long matrices, unsigned char *to)
    {
        const unsigned before = before_of<OPERAND>(base, chunk);
        const long long left = (matrices - 1) * OPERAND::matrix + OPERAND::used;   /* bytes to the end of the batch */
        from = (const unsigned char *)base + chunk * OPERAND::chunk - before;
        const unsigned bytes = (unsigned)min((OPERAND::held + before + 15) & ~15LL, left + before);
        whole = bytes & ~15u;
        if (OPERAND::ends)
            for (unsigned i = whole; i < bytes; i += 2) *(unsigned short *)(to + i) = *(const unsigned short *)(from + i);
    }
};

/* Starts the copies of a chunk to a stage. One thread. */
static __device__ __forceinline__ void fill(const gs_kernel_args &p, unsigned char *shared, unsigned base, int stage, unsigned chunk)
{
    const unsigned full = base + BARRIERS + stage * 8;
    unsigned char *const to = shared + stage * STAGE_BYTES;
    const long long matrices = p.batch - (long long)chunk * GS_MATRICES;
    const copy_of<operand_a> a(p.a, chunk, matrices, to);
    const copy_of<operand_b> b(p.b, chunk, matrices, to + operand_a::place);
    gs_mbarrier_expect(full, a.whole + b.whole);
    if (!operand_a::ends || a.whole) gs_bulk_load(base + stage * STAGE_BYTES, a.from, a.whole, full);
    if (!operand_b::ends || b.whole) gs_bulk_load(base + stage * STAGE_BYTES + operand_a::place, b.from, b.whole, full);
}

extern "C" __global__ void __launch_bounds__(THREADS, GS_BLOCKS) gs_tiny(const gs_kernel_args p)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const unsigned base = gs_shared_address(shared);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const unsigned chunks = (p.batch - 1) / GS_MATRICES + 1u;   /* their numbers, plus those of a ring, fit 32 bits */
    if (threadIdx.x == 0) {
        for (int i = 0; i < GS_STAGES; i++) {
            gs_mbarrier_init(base + BARRIERS + i * 8, 1);
            gs_mbarrier_init(base + BARRIERS + (GS_STAGES + i) * 8, GS_WARPS);
        }
        gs_mbarrier_fence_init();
    }
    __syncthreads();
    gs_dependent_wait();
    if (warp == 0 && gs_elect()) {
#pragma unroll 1
        for (int i = 0; i < GS_STAGES && blockIdx.x + i * gridDim.x < chunks; i++) fill(p, shared, base, i, blockIdx.x + i * gridDim.x);
    }
    gs_dependent_launch();

    int stage = 0, last = GS_STAGES - 1;   /* the stage that is read, and the previous one */
    unsigned parity = 0, last_parity = 1;
#pragma unroll 1
    for (unsigned chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const unsigned next = chunk + (GS_STAGES - 1) * gridDim.x;
        if (warp == 0 && chunk != blockIdx.x && next < chunks && gs_elect()) {   /* refills the previous stage once all warps have read it */
            gs_mbarrier_wait(base + BARRIERS + (GS_STAGES + last) * 8, last_parity);
            fill(p, shared, base, last, next);
        }
        gs_mbarrier_wait(base + BARRIERS + stage * 8, parity);
        const unsigned a = base + stage * STAGE_BYTES + before_of<operand_a>(p.a, chunk);
        const unsigned b = base + stage * STAGE_BYTES + operand_a::place + before_of<operand_b>(p.b, chunk);
        const long long first = (long long)chunk * GS_MATRICES;
        const int units = (int)min((long long)GS_MATRICES, p.batch - first) * STRIPS;
#pragma unroll 1
        for (int unit = warp; unit < units; unit += GS_WARPS) {
            const int matrix = unit / STRIPS, strip = unit % STRIPS;
            fragments f;
            accumulators acc;
            clear(acc);
            read_and_multiply<0>(acc, &f, a + matrix * (unsigned)operand_a::matrix, b + matrix * (unsigned)operand_b::matrix, strip, g, t);
            store(p, acc, first + matrix, strip, g, t);
        }
        __syncwarp();
        if (lane == 0) gs_mbarrier_arrive(base + BARRIERS + (GS_STAGES + stage) * 8);
        last = stage;
        last_parity = parity;
        stage = stage + 1 == GS_STAGES ? 0 : stage + 1;
        parity ^= stage == 0;
    }
}
#else
/* ---- the kernel: fragments from global memory ---- */

/* Where matrix `index` of A and of B begins, in bytes from their base. */
static __device__ __forceinline__ long long begin_of_a(const gs_kernel_args &p, long long index)
{
    return GS_STRIDES || GS_POINTERS ? gs_begin_a(p, index) * 2 : index * operand_a::matrix;
}
static __device__ __forceinline__ long long begin_of_b(const gs_kernel_args &p, long long index)
{
    return GS_STRIDES || GS_POINTERS ? gs_begin_b(p, index) * 2 : index * operand_b::matrix;
}

extern "C" __global__ void __launch_bounds__(THREADS, GS_BLOCKS) gs_tiny(const gs_kernel_args p)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const long long units = (long long)p.batch * STRIPS;
    gs_dependent_wait();
    gs_dependent_launch();
#pragma unroll 1
    for (long long first = ((long long)blockIdx.x * GS_WARPS + warp) * GS_MATRICES; first < units; first += (long long)gridDim.x * GS_WARPS * GS_MATRICES) {
        fragments f[GS_MATRICES];
#pragma unroll
        for (int i = 0; i < GS_MATRICES; i++) {
            const long long unit = min(first + i, units - 1), matrix = unit / STRIPS;   /* past the end: the last one again, which is not stored twice */
            const unsigned char *const a = (const unsigned char *)gs_base_a(p, matrix) + begin_of_a(p, matrix), *const b = (const unsigned char *)gs_base_b(p, matrix) + begin_of_b(p, matrix);
            read_all<0>(&f[i], a, b, (int)(unit - matrix * STRIPS), g, t);
        }
#pragma unroll
        for (int i = 0; i < GS_MATRICES; i++) {
            const long long unit = first + i, matrix = unit / STRIPS;
            if (unit >= units) break;
            accumulators acc;
            clear(acc);
            multiply<0, WORDS>(acc, &f[i]);
            store(p, acc, matrix, (int)(unit - matrix * STRIPS), g, t);
        }
    }
}
#endif

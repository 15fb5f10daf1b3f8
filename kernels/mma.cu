/* SPDX-License-Identifier: MIT
 * Family mma: Ampere and later. One output tile per block; a ring of shared-memory stages filled by cp.async, fragments by
 * ldmatrix one k16 step ahead, mma.sync into registers, and an epilogue through shared memory. Any extents, strides and alignment.
 *
 * Rows that do not start at multiples of 16 bytes ("raw" rows: GS_RAW_A, GS_RAW_B) are copied unshifted: whole 16-byte units, from the one that
 * contains the row's first element, so each row of a stage begins with up to 7 extra elements and is a unit longer. Fragments are then
 * assembled from single words. Rows eight apart have the same offset in their units, because eight rows are a multiple of 16 bytes: a lane,
 * whose rows are eight apart, has one offset for all of them.
 *
 * GS_SPLIT blocks of a cluster share K: each leaves its sums in its shared memory, and adds up and stores a share of the rows.
 *
 *   step s of k-block t   [last step: wait for k-block t + 1, barrier] -> fragments of step s + 1 -> a slice of the copies of
 *                         k-block t + STAGES - 1 (into the stage that k-block t - 1 left) -> mma of step s
 *
 * Rows beyond M or N and the tail of K are zeros in shared memory, so no step checks the extents; stores are masked.
 *
 * Set by the builder (src/family/mma.c): GS_IN GS_ACC GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt), GS_BETA (1: C is read),
 * GS_BM GS_BN GS_BK (tile), GS_WM GS_WN (warps along M, N), GS_STAGES, GS_GROUP GS_ALONG_N (raster), GS_BLOCKS (resident blocks that
 * registers must allow), GS_RAW_A GS_RAW_B (1: rows of any alignment), GS_VEC_D (elements per store of D, and of
 * aux), GS_SPLIT.
 *
 * GS_GATE: the product has twice the columns of D, and GS_BN counts them: of a warp's tiles of 8 columns the even ones are of the gate, the odd ones of up. Gate and up have
 * separate tiles of B, unless their columns alternate within B's stored rows (TURN): then one tile has both, and its rows are read by element. */
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
#define SLICES (STEPS - 1)                           /* parts in which copies are issued: one in every step but the last */
#define A_COLS (GS_A_ALONG_K ? GS_BK : GS_BM)        /* tiles are stored like the matrices: columns are contiguous */
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
#define RAGGED (GS_VEC_D < UNIT && WARP_D > UNIT)    /* rows of D start at any element, or at vectors shorter than a unit */

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

#include "mma/copies.cuh"

/* ---- fragments and products ---- */

/* Where this lane reads within a stage. Aligned rows: its address for ldmatrix, which transposes operands stored along M or N. Raw rows: along
 * K the word of its first pair of k; along M or N the first element in each of its two rows. */
typedef struct reader {
    unsigned a, a_next, b, b_next;
#if GS_GATE
    unsigned up, up_next, pair_up;   /* raw rows of B's second tile */
#endif
    unsigned pair_a, pair_b;   /* selectors of __byte_perm for a pair from two words: it begins in the lower or the upper half of the first */
} reader;

/* Elements of a row's first unit before the row. */
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

/* Step `step` of the stage at address `stage` (a multiple of 128 unless rows are raw). Chunk numbers are swizzled by xor, so advancing by a
 * step or a pair of n-tiles is an xor of the address within 128 bytes, and an addition beyond. */
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
            const int n = m % 2 ? NT - 1 - i : i;   /* back and forth, so that the last B fragment is used again */
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

#include "mma/epilogue.cuh"
#include "mma/cluster.cuh"

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
    __syncthreads();   /* the slabs overwrite the stages that fragments were read from */

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

/* SPDX-License-Identifier: MIT
 * Family slicek: problems of a few microseconds. A block computes one tile of D; its warps share the tile and slices of K, and load operands
 * straight into fragments: one round trip to memory, mma.sync, one exchange, one store.
 *
 *   warp    its steps of 32 k, GS_DEPTH of them in flight: 16-byte loads -> fragments -> mma
 *   block   warps along K leave their sums in shared memory; one barrier; every thread adds a few quads (the four sums of a lane in an mma tile)
 *   cluster blocks along K send each other's share of the quads (st.async on the receiver's mbarrier), and add again
 *
 * The order of k within a sum is free, so a lane's 16 bytes along K, k = 8t .. 8t + 7 of the step (t = lane % 4), are used as loaded: the
 * k16 operation s takes elements 4s, 4s + 1 as its low pair and 4s + 2, 4s + 3 as its high pair, in A and in B.
 * The order of rows and columns is free, too. One operand is on the 16-wide side of mma.sync (P), the other on the 8-wide side (Q), whose
 * fragments are the loaded registers themselves. If B is stored along N (nn), B is P: lanes load V neighbouring columns of 8 rows of B, and
 * byte permutations assemble fragments from pairs of rows. Otherwise P is the operand with fewer rows in the warp's tile.
 * Either way a quad is two neighbouring columns of two rows.
 *
 * Rows of any alignment ("raw" rows, GS_RAW_A, GS_RAW_B: their start or length is not a multiple of 16 bytes) are loaded word by word, one word
 * more than pairs, and pairs are assembled before they are multiplied. Rows an even number apart have the same alignment to words, and so have
 * a lane's rows; if B is P, a lane's columns are neighbours, and even and odd ones differ. Elements beyond K belong to another row and are zeroed.
 *
 * Set by the builder (src/family/slicek.c): GS_IN GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn), GS_BETA (1: C is read), GS_BM GS_BN
 * (tile), GS_WM GS_WN GS_WK (warps along M, N, K), GS_DEPTH, GS_SPLIT (blocks of a cluster along K), GS_FETCH (bytes that a miss brings to L2),
 * GS_VEC_C GS_VEC_D (elements per access of C and D), GS_BATCHED, GS_BLOCKS (resident blocks that registers must allow), GS_RAW_A GS_RAW_B, and the sizes where
 * they are fixed (common/sizes.cuh). Sums are f32 whatever the problem's accumulator. */
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/epilogue.cuh"
#include "common/direct.cuh"
#include "common/exchange.cuh"
#include "common/mbarrier.cuh"
#include "common/mma_sync.cuh"
#include "common/runs.cuh"
#include "common/sizes.cuh"

#define STEP 32                                      /* k of a step */
#define WARPS (GS_WM * GS_WN * GS_WK)
#define THREADS (32 * WARPS)
#define WARP_M (GS_BM / GS_WM)
#define WARP_N (GS_BN / GS_WN)
#define SPAN (GS_WK * GS_SPLIT * STEP)               /* k from a warp's step to its next */
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)
#define EXCHANGED (GS_WK > 1 || GS_SPLIT > 1)

/* Sides of mma: P has 16 of its rows (or columns) in a tile, Q has 8. */
#define SWAPPED (!GS_LAYOUT || WARP_M > WARP_N)      /* P is B */
#define PT ((SWAPPED ? WARP_N : WARP_M) / 16)
#define QT ((SWAPPED ? WARP_M : WARP_N) / 8)
#define CHAINS (PT * QT <= 4 ? 2 : 1)                /* 2: separate sums for even and odd operations, if few are independent */

#define RAW_P (SWAPPED ? GS_RAW_B : GS_RAW_A)
#define RAW_Q (SWAPPED ? GS_RAW_A : GS_RAW_B)
#define WORDS_P (4 + RAW_P)                          /* of a lane's 8 elements along K */
#define WORDS_Q (4 + RAW_Q)

/* Columns: in a group of tiles a lane has RUN neighbouring columns of each of its rows, in pairs. If sums are exchanged pairs suffice, and
 * neighbouring lanes then store neighbouring pairs, if the layout allows it (NEAR). */
#define V (WARP_N / 8 < 8 ? WARP_N / 8 : 8)          /* columns of B that a lane loads from a row of it (nn) */
#define WORDS_V (V / 2 + RAW_P)                      /* of V columns (nn) */
#define RUN (SWAPPED ? V : V < 4 ? 2 * V : 8)
#define NEAR (EXCHANGED && GS_LAYOUT && !SHARED_RUNS)
#define COLUMN_GROUPS (WARP_N / (SWAPPED ? 8 * RUN : 4 * RUN))
#define PAIR_STRIDE (SWAPPED ? (NEAR ? 16 : 2) : NEAR ? 8 : 2)   /* columns from a lane's pair to its next in a group */
#define LANE_STRIDE (NEAR ? 2 : RUN)                 /* columns from a lane's first pair to that of the lane beside it */

/* Quads are exchanged. They are numbered by warp, tile and lane. */
#define TILE_BYTES (GS_BM * GS_BN * 4)
#define QUADS (GS_BM * GS_BN / 4)
#define SHARE (QUADS / GS_SPLIT)                     /* quads that a block of the cluster finishes */
#define ROUNDS_OF(count) (((count) + THREADS - 1) / THREADS)
#define ENDS (SHARED_RUNS ? RUN_ROUNDS * 2 * RUN : EXCHANGED ? ROUNDS_OF(SHARE) * 4 : PT * QT * 4)   /* elements that a thread stores */
#define EARLY_C (GS_BETA && ENDS * OUT_BYTES <= 64 && GS_VEC_C * OUT_BYTES >= 4)   /* C is loaded together with the operands */

/* If rows of D start at any element, or at short vectors, lanes whose runs form a piece of a row shift them so that vectors are aligned (RAGGED).
 * Exchanged sums are then finished as runs, too (SHARED_RUNS), if a block's share consists of whole units, the tiles of a run; each warp takes some
 * units. Stores by element write each 32 bytes of D up to eight times (nn) or four times (tn), but shifts take a warp some hundred cycles, which does
 * not pay for few units. */
#define VECTOR (RUN * OUT_BYTES < 16 ? RUN : 16 / OUT_BYTES)   /* elements of an aligned store */
#define RAGGED (VECTOR >= 4 * GS_VEC_D)
#define LEAST_UNITS (GS_LAYOUT ? 4 : 2)
#define ROW_LANES (SWAPPED ? 8 : 4)                  /* that share a piece of a row, and the distance between them */
#define ROW_STRIDE (SWAPPED ? 4 : 1)
#define RUN_TILES (RUN / 2)                          /* tiles of a unit: a run has a pair of each */
#define SHARED_RUNS (EXCHANGED && RAGGED && RUN == 8 && SHARE % (32 * RUN_TILES) == 0 && UNITS >= LEAST_UNITS)
#define UNITS (SHARE / (32 * RUN_TILES))             /* of a block's share */
#define RUN_ROUNDS ((UNITS + WARPS - 1) / WARPS)

/* Checks that constant sizes may make unnecessary. */
#ifdef GS_FIXED
#define EDGE_M (GS_M % GS_BM != 0)
#define EDGE_N (GS_N % GS_BN != 0)
#define ROUNDS ((GS_K + SPAN - 1) / SPAN)            /* steps of a warp */
#define STRAIGHT (ROUNDS <= GS_DEPTH)                /* all loads at once, no loop */
#else
#define EDGE_M 1
#define EDGE_N 1
#define ROUNDS GS_DEPTH
#define STRAIGHT 0
#endif

static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "a warp's tile is made of 16 x 8 tiles either way");
static_assert(V == 2 || V == 4 || V == 8, "vectors that loads have");
static_assert(QUADS % GS_SPLIT == 0, "quads are shared evenly");

typedef float sums[CHAINS][PT][QT][4];

/* One step's operands in registers, as loaded: of A k = 8t .. 8t + 7 of a row; of B tn: the same of a column, nn: V columns of the rows
 * 8t .. 8t + 7. Rows of P: those of lane / 4 in the lower and the upper half of each tile. */
typedef struct operands {
    unsigned p[GS_LAYOUT ? PT * 2 * WORDS_P : WARP_N / V * WORDS_V];
    unsigned q[QT * WORDS_Q];
} operands;

/* Where a lane loads from: its k is 8t of the warp's step. */
typedef struct source {
    const unsigned char *p[GS_LAYOUT ? 2 * PT : WARP_N / (8 * V)];   /* rows (columns of B); nn: a row of B at each group of columns */
    const unsigned char *q[QT];
    int                  ldb;                           /* nn: bytes */
    int                  left;                          /* K - k; a lane's 8 elements are all inside or all outside, unless rows are raw */
    const unsigned char *end_p, *end_q;                 /* of the matrices */
    unsigned             pair_p[2], pair_q;             /* gs_raw_pair of P's even and odd rows (tn, B is P: columns of B; nn: rows of B), and of Q's */
} source;

/* ---- what a lane has ---- */

/* The row (P is A) or column (P is B), in the warp's tile, that a lane has in tile i of P: in its lower half (half 0) or upper half. */
__device__ __forceinline__ constexpr int p_row(int i, int half, unsigned lane) { return i * 16 + half * 8 + (int)(lane / 4); }
__device__ __forceinline__ constexpr int p_column(int i, int half, unsigned lane)
{
    return (unsigned)i / (RUN / 2) * (8 * RUN) + (unsigned)i % (RUN / 2) * PAIR_STRIDE + (int)(lane / 4 * LANE_STRIDE) + half;
}
/* The same for Q, as loaded. */
__device__ __forceinline__ constexpr int q_row(int i, unsigned lane) { return i * 8 + (int)(lane / 4); }
__device__ __forceinline__ constexpr int q_column(int i, unsigned lane)
{
    return (unsigned)i / (RUN / 2) * (4 * RUN) + (unsigned)i % (RUN / 2) * PAIR_STRIDE + (int)(lane / 8 * LANE_STRIDE + lane / 4 % 2);
}

/* First row and column of a quad, and the distance to its other row. */
__device__ __forceinline__ int quad_row(int p, int q, unsigned lane) { return SWAPPED ? q * 8 + (int)(lane % 4 * 2) : p_row(p, 0, lane); }
__device__ __forceinline__ int quad_column(int p, int q, unsigned lane) { return SWAPPED ? p_column(p, 0, lane) : q_column(q, lane % 4 * 8); }
#define QUAD_ROWS (SWAPPED ? 1 : 8)

/* Which sum of a quad is that of column `column` in row `row` (0 or 1 each). */
__device__ __forceinline__ constexpr int in_quad(int row, int column) { return SWAPPED ? column * 2 + row : row * 2 + column; }

/* ---- loads ---- */

/* Byte offset of a row, or of the matrix's last one if the tile extends beyond it. */
template <int EDGE> __device__ __forceinline__ long long row_offset(int first, int further, int rows, int ld_bytes)
{
    if (EDGE) return (long long)min(first + further, rows - 1) * ld_bytes;
    return (long long)first * ld_bytes + (long long)further * ld_bytes;
}

__device__ __forceinline__ source source_of(const gs_kernel_args &p, int m0, int n0, unsigned warp, unsigned lane, unsigned rank, int zero)
{
    const int row = m0 + (int)(warp / GS_WK / GS_WN * WARP_M), column = n0 + (int)(warp / GS_WK % GS_WN * WARP_N);
    const int k = (int)((rank * GS_WK + warp % GS_WK) * STEP + lane % 4 * 8) + zero;
    const int m = gs_size_m(p), n = gs_size_n(p), lda = (int)gs_size_lda(p) * 2, ldb = (int)gs_size_ldb(p) * 2;
    const unsigned char *a = (const unsigned char *)p.a + k * 2, *b = (const unsigned char *)p.b + (GS_LAYOUT ? k * 2 : (long long)k * ldb);
    source from;
    from.left = gs_size_k(p) - k;
    from.ldb = ldb;
#if GS_STRIDES
    a += blockIdx.z * p.stride_a * 2;
    b += blockIdx.z * p.stride_b * 2;
#elif GS_BATCHED
    a += (long long)blockIdx.z * m * lda;
    b += (long long)blockIdx.z * (GS_LAYOUT ? n : gs_size_k(p)) * ldb;
#endif
    const int p0 = SWAPPED ? column + p_column(0, 0, lane) : row + p_row(0, 0, lane), q0 = SWAPPED ? row + q_row(0, lane) : column + q_column(0, lane);
#if GS_LAYOUT
#pragma unroll
    for (int i = 0; i < 2 * PT; i++)
        from.p[i] = SWAPPED ? b + row_offset<EDGE_N>(p0, p_column(i / 2, i % 2, 0), n, ldb) : a + row_offset<EDGE_M>(p0, p_row(i / 2, i % 2, 0), m, lda);
#else
#pragma unroll
    for (int i = 0; i < WARP_N / (8 * V); i++)   /* N % 8 is 0 unless rows are raw; those may extend into the next row */
        from.p[i] = b + (EDGE_N ? min(p0 + i * 8 * V, n - (RAW_P ? 1 : V)) : p0 + i * 8 * V) * 2;
#endif
#pragma unroll
    for (int i = 0; i < QT; i++)
        from.q[i] = SWAPPED ? a + row_offset<EDGE_M>(q0, q_row(i, 0), m, lda) : b + row_offset<EDGE_N>(q0, q_column(i, 0), n, ldb);
#if GS_RAW_A
    const unsigned char *const end_a = a - k * 2 + ((m - 1LL) * lda + gs_size_k(p) * 2);
    *(SWAPPED ? &from.end_q : &from.end_p) = end_a;
#endif
#if GS_RAW_B
    const unsigned char *const first_b = GS_LAYOUT ? b - k * 2 : b - (long long)k * ldb;
    *(SWAPPED ? &from.end_p : &from.end_q) = first_b + (GS_LAYOUT ? (n - 1LL) * ldb + gs_size_k(p) * 2 : (gs_size_k(p) - 1LL) * ldb + n * 2);
#endif
    if (RAW_P) {
        const unsigned char *const first = from.p[0];
        from.pair_p[0] = gs_raw_pair(first);
        from.pair_p[1] = SWAPPED ? gs_raw_pair(first + ldb) : from.pair_p[0];
    }
    if (RAW_Q) from.pair_q = gs_raw_pair(from.q[0]);
    return from;
}

/* Loads eight elements of a row along K (or V of a row of B) from `at`; end: of the matrix. */
template <int WORDS, int RAW> __device__ __forceinline__ void load_piece(unsigned *words, const unsigned char *at, const unsigned char *end, bool on)
{
    if constexpr (RAW) {
        const unsigned char *const word = (const unsigned char *)((unsigned long long)at & ~3ULL);
        gs_load_raw<WORDS>(words, word, (int)min((long long)(end - word), 64LL), on);
    } else {
        gs_load_direct<WORDS, GS_FETCH>(words, at, on);
    }
}

/* Loads the step that is `ahead` k further on. Beyond K nothing is read, and elements are zero. */
__device__ __forceinline__ void load(operands *x, const source &from, int ahead, bool on)
{
#if GS_LAYOUT
#pragma unroll
    for (int i = 0; i < 2 * PT; i++) load_piece<4, RAW_P>(x->p + WORDS_P * i, from.p[i] + ahead * 2, from.end_p, on);
#else
    int ldb = from.ldb;
#ifndef GS_FIXED
    asm volatile("" : "+r"(ldb));   /* row addresses are computed when they are used: one instruction each, but no registers for all of them */
#endif
#pragma unroll
    for (int i = 0; i < WARP_N / (8 * V); i++)
#pragma unroll
        for (int e = 0; e < 8; e++)
            load_piece<V / 2, RAW_P>(x->p + (i * 8 + e) * WORDS_V, from.p[i] + (long long)(ahead + e) * ldb, from.end_p, on && (!(GS_RAW_A || GS_RAW_B) || ahead + e < from.left));
#endif
#pragma unroll
    for (int i = 0; i < QT; i++) load_piece<4, RAW_Q>(x->q + WORDS_Q * i, from.q[i] + ahead * 2, from.end_q, on);
}

__device__ __forceinline__ void advance(source *from, int by)
{
    from->left -= by;
#pragma unroll
    for (int i = 0; i < (GS_LAYOUT ? 2 * PT : WARP_N / (8 * V)); i++) from->p[i] += GS_LAYOUT ? by * 2 : (long long)by * from->ldb;
#pragma unroll
    for (int i = 0; i < QT; i++) from->q[i] += by * 2;
}

/* Whether the lane's elements that are `ahead` k further on are within K. */
__device__ __forceinline__ bool is_inside(int ahead, const source &from)
{
#ifdef GS_FIXED
    if (ahead + SPAN <= GS_K) return true;
#endif
    return ahead < from.left;
}

/* ---- products ---- */

/* The fragment of tile i of P for operation s: low pairs of k of the two halves, then high pairs. zero: 0, which the compiler does not know;
 * otherwise it would copy the fragment for each use. */
__device__ __forceinline__ void fragment(unsigned (&f)[4], const operands &x, const source &from, const unsigned (&inside)[4], int i, int s, unsigned zero)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int half = j % 2, high = j / 2;
#if GS_LAYOUT
        const unsigned *const words = x.p + (i * 2 + half) * WORDS_P + 2 * s + high;
#if RAW_P
        f[j] = (__byte_perm(words[0], words[1], from.pair_p[half]) & inside[2 * s + high]) | zero;
#else
        f[j] = words[0] | zero;
#endif
#else
        const unsigned *const rows = x.p + (i / (V / 2) * 8 + 4 * s + 2 * high) * WORDS_V + i % (V / 2);
#if RAW_P
        const unsigned even = __byte_perm(rows[0], rows[1], from.pair_p[0]), odd = __byte_perm(rows[WORDS_V], rows[WORDS_V + 1], from.pair_p[1]);
#else
        const unsigned even = rows[0], odd = rows[WORDS_V];
#endif
        f[j] = __byte_perm(even, odd, (half ? 0x7632 : 0x5410) | zero);
#endif
    }
}

/* The fragments of Q for operation s. */
__device__ __forceinline__ void fragments_q(unsigned (&g)[QT][2], const operands &x, const source &from, const unsigned (&inside)[4], int s)
{
#pragma unroll
    for (int j = 0; j < QT; j++)
#pragma unroll
        for (int high = 0; high < 2; high++) {
            const unsigned *const words = x.q + WORDS_Q * j + 2 * s + high;
#if RAW_Q
            g[j][high] = __byte_perm(words[0], words[1], from.pair_q) & inside[2 * s + high];
#else
            g[j][high] = words[0];
#endif
        }
}

/* left: what is left of K from the lane's first element of the step on. */
__device__ __forceinline__ void multiply(sums &acc, const operands &x, const source &from, int left, unsigned zero)
{
    unsigned inside[4] = {~0u, ~0u, ~0u, ~0u};           /* masks of pairs along K */
    if (GS_RAW_A || GS_RAW_B) {
#pragma unroll
        for (int i = 0; i < 4; i++) inside[i] = left > 2 * i + 1 ? ~0u : left == 2 * i + 1 ? 0xffffu : 0;
    }
#pragma unroll
    for (int s = 0; s < 2; s++) {
        unsigned g[QT][2];
        fragments_q(g, x, from, inside, s);
#pragma unroll
        for (int i = 0; i < PT; i++) {
            unsigned f[4];
            fragment(f, x, from, inside, i, s, zero);
#pragma unroll
            for (int j = 0; j < QT; j++) {
#if GS_IN == 0
                gs_mma_f16_f32(acc[s % CHAINS][i][j], f, g[j]);
#else
                gs_mma_bf16_f32(acc[s % CHAINS][i][j], f, g[j]);
#endif
            }
        }
    }
}

/* Multiplies a warp's whole share of K; the ring holds its first steps. The compiler does not know k, so every step ends with a branch, and its
 * instructions are not mixed with those of the next step, which wait for later loads. */
__device__ __forceinline__ void multiply_steps(sums &acc, source &from, operands (&ring)[GS_DEPTH], int k, unsigned zero)
{
#if STRAIGHT
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        if (i > 0 && i * SPAN >= k) break;
        multiply(acc, ring[i], from, from.left - i * SPAN, zero);
    }
#else
#pragma unroll 1
    for (int done = 0; done < k; done += GS_DEPTH * SPAN) {
#pragma unroll
        for (int i = 0; i < GS_DEPTH; i++) {
            if (done + i * SPAN >= k) break;
            multiply(acc, ring[i], from, from.left - i * SPAN, zero);
            load(&ring[i], from, (i + GS_DEPTH) * SPAN, (i + GS_DEPTH) * SPAN < from.left);
        }
        advance(&from, GS_DEPTH * SPAN);
    }
#endif
}

#include "slicek/ends.cuh"

/* ---- the kernel ---- */

#if GS_SPLIT > 1
#define CLUSTER __cluster_dims__(GS_SPLIT, 1, 1)
#else
#define CLUSTER
#endif

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, GS_BLOCKS) gs_slicek(const gs_kernel_args p)
{
    extern __shared__ __align__(16) unsigned char shared[];
    const unsigned parts = gs_shared_address(shared), received = parts + (GS_WK > 1 ? GS_WK * TILE_BYTES : 0), barrier = received + TILE_BYTES;
    const unsigned warp = WARPS > 1 ? threadIdx.x / 32 : 0, lane = WARPS > 1 ? threadIdx.x % 32 : threadIdx.x, rank = blockIdx.x % GS_SPLIT;
    const int m0 = (int)(blockIdx.x / GS_SPLIT) * GS_BM, n0 = (int)blockIdx.y * GS_BN;
    const int zero = p.batch & 1 << 30;   /* 0, which the compiler does not know; reading it also fetches the arguments' second cache line before the wait */
    const int k = gs_size_k(p) - zero;
    source from = source_of(p, m0, n0, warp, lane, rank, zero);
#if GS_SPLIT > 1
    if (threadIdx.x == 0) {
        gs_mbarrier_init(barrier, 1);
        gs_mbarrier_expect(barrier, TILE_BYTES);
        gs_mbarrier_fence_init();
    }
    gs_cluster_arrive();
#endif
    gs_dependent_wait();
    gs_dependent_launch();   /* not before the wait: a queue of waiting launches would occupy the multiprocessors */

    /* Steps end with branches, and gs_barrier_zero keeps loads before it: all loads are issued, step by step, before anything waits for the first. */
    operands ring[GS_DEPTH];
#pragma unroll
    for (int i = 0; i < GS_DEPTH && i < ROUNDS; i++) {
        if (i > 0 && i * SPAN >= k) break;
        load(&ring[i], from, i * SPAN, is_inside(i * SPAN, from));
    }
#if SHARED_RUNS
    unit_of_c c[RUN_ROUNDS];
#pragma unroll
    for (int i = 0; i < RUN_ROUNDS; i++)
        if (EARLY_C && is_unit(i)) read_unit(c[i], p, place_of(rank * SHARE + first_quad(i), m0, n0));
#elif EXCHANGED
    quad_of_c c[ROUNDS_OF(SHARE)];
#pragma unroll
    for (int i = 0; i < ROUNDS_OF(SHARE); i++)
        if (EARLY_C && is_shared_quad<SHARE>(i)) read_c(&c[i], p, place_of(rank * SHARE + shared_quad(i), m0, n0));
#else
    runs_of_c c;
    if (EARLY_C) read_runs(c, p, m0, n0, warp, lane);
#endif
    sums acc;
#pragma unroll
    for (int i = 0; i < CHAINS * PT * QT * 4; i++) acc[i / (PT * QT * 4)][i / (QT * 4) % PT][i / 4 % QT][i % 4] = 0;
    multiply_steps(acc, from, ring, k, gs_barrier_zero());

#if EXCHANGED
#if GS_WK > 1
#pragma unroll
    for (int i = 0; i < PT * QT; i++) {
        float x[4];
        own_quad(x, acc, TILE_P(i), TILE_Q(i));
        put_shared(parts + warp % GS_WK * TILE_BYTES + (warp / GS_WK * PT * QT + i) * 512 + lane * 16, x);
    }
    __syncthreads();
#endif
#if GS_SPLIT > 1
    exchange(acc, parts, received, barrier, warp, lane, rank);
#endif
#if SHARED_RUNS
#pragma unroll(EARLY_C ? RUN_ROUNDS : 1)
    for (int i = 0; i < RUN_ROUNDS; i++) {
        if (!is_unit(i)) break;
        store_unit(p, place_of(rank * SHARE + first_quad(i), m0, n0), (GS_SPLIT > 1 ? received : parts) + first_quad(i) * 16, c[EARLY_C ? i : 0]);
    }
#else
#pragma unroll(EARLY_C ? ROUNDS_OF(SHARE) : 1)
    for (int i = 0; i < ROUNDS_OF(SHARE); i++) {
        if (!is_shared_quad<SHARE>(i)) break;
        const place at = place_of(rank * SHARE + shared_quad(i), m0, n0);
        float x[4];
        if (GS_SPLIT > 1) add_quads<GS_SPLIT>(x, received + shared_quad(i) * 16, SHARE * 16);
        else add_quads<GS_WK>(x, parts + shared_quad(i) * 16, TILE_BYTES);
        if (GS_BETA && !EARLY_C) read_c(&c[0], p, at);
        store_quad(p, at, x, c[EARLY_C ? i : 0]);
    }
#endif
#else
    store_runs(p, acc, c, m0, n0, warp, lane);
#endif
}

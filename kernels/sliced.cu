/* SPDX-License-Identifier: MIT
 * Family sliced: problems of a few microseconds. A block computes one tile of D; its warps share the tile and slices of K, and load operands
 * straight into fragments: one round trip to memory, mma.sync, one exchange, one store.
 *
 *   warp    its steps of 32 k, GS_DEPTH of them in flight: 16-byte loads -> fragments -> mma
 *   block   warps along K leave their partial tiles in shared memory; one barrier; every thread adds a few runs of columns
 *   cluster blocks along K send each other's share of the runs (st.async on the receiver's mbarrier), and add again
 *
 * The order of k within a sum is free, so a lane's 16 bytes along K, k = 8t .. 8t + 7 of the step (t = lane % 4), are used as they come: the
 * k16 operation s takes elements 4s, 4s + 1 as its low pair and 4s + 2, 4s + 3 as its high pair, in A and in B. Columns are permuted, too:
 * position c of the V mma tiles of a group is column c * V + i in tile i, so that a lane ends with 2V neighbouring columns of a row; where B
 * is stored along N (nn) its lanes load V neighbouring columns of 8 rows and pair rows up by byte permutations.
 *
 * Set by the builder (src/kernel/sliced.c): GS_IN GS_OUT (0 f16, 1 bf16, 2 f32), GS_LAYOUT (0 nn, 1 tn), GS_BETA (1: C is read), GS_BM GS_BN
 * (tile), GS_WM GS_WN GS_WK (warps along M, N, K), GS_DEPTH, GS_SPLIT (blocks of a cluster along K), GS_FETCH (bytes that a miss brings to L2),
 * GS_VEC_C GS_VEC_D (elements per access of C and D), GS_BATCHED, GS_BLOCKS (resident blocks that registers must allow), and the sizes where
 * they are fixed (common/sizes.cuh). Sums are f32 whatever the problem's accumulator. */
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/direct.cuh"
#include "common/exchange.cuh"
#include "common/mbarrier.cuh"
#include "common/mma_sync.cuh"
#include "common/sizes.cuh"

#define STEP 32                                      /* k of a step */
#define WARPS (GS_WM * GS_WN * GS_WK)
#define THREADS (32 * WARPS)
#define WARP_M (GS_BM / GS_WM)
#define WARP_N (GS_BN / GS_WN)
#define MT (WARP_M / 16)                             /* mma tiles of a warp */
#define NT (WARP_N / 8)
#define V (NT < 8 ? NT : 8)                          /* tiles of a group; columns of a lane in B */
#define GROUPS (NT / V)
#define CHAINS (MT * NT <= 4 ? 2 : 1)                /* sums of their own for even and odd operations, where few are independent */
#define SPAN (GS_WK * GS_SPLIT * STEP)               /* k from a warp's step to its next */
#define TILE_BYTES (GS_BM * GS_BN * 4)               /* of partial sums */
#define OUT_BYTES (GS_OUT == 2 ? 4 : 2)

/* Runs: the neighbouring columns of a row that one lane holds in a group of mma tiles. A group has 64 of them: of each lane, in two rows. */
#define RUN (2 * V)
#define WARP_GROUPS (MT * GROUPS)                    /* of a warp's tile */
#define RUNS (GS_BM * GS_BN / RUN)
#define SHARE (RUNS / GS_SPLIT)                      /* runs that a block of the cluster finishes */
#define EXCHANGED (GS_WK > 1 || GS_SPLIT > 1)
#define FINAL (EXCHANGED ? (SHARE + THREADS - 1) / THREADS : WARP_GROUPS * 2)   /* runs that a thread finishes */
#define RUN_WORDS (RUN * OUT_BYTES / 4)
#define EARLY_C (GS_BETA && FINAL * RUN_WORDS <= 16 && GS_VEC_C * OUT_BYTES >= 4)   /* C travels with the operands */

/* Guards that constants make superfluous. */
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

static_assert(WARP_M % 16 == 0 && (NT == 2 || NT % 4 == 0), "a warp's tile is made of 16 x 8 tiles");
static_assert(RUNS % GS_SPLIT == 0, "runs are shared evenly");
static_assert(V == 2 || V == 4 || V == 8, "vectors that loads have");

typedef unsigned short half_bits;

/* One step's operands in registers, as loaded. */
typedef struct operands {
    unsigned a[MT][2][4];    /* rows lane / 4 and that + 8 of each 16: k = 8t .. 8t + 7 */
    unsigned b[NT * 4];      /* tn: the same of a column of each tile; nn: V columns of the rows 8t .. 8t + 7, for each group */
} operands;

/* Where a lane loads from, in bytes: its k is 8t of the warp's step. */
typedef struct source {
    const unsigned char *a[2 * MT];                     /* rows */
    const unsigned char *b[GS_LAYOUT ? NT : GROUPS];    /* tn: columns; nn: the first row at the columns of each group */
    int                  ldb;                           /* nn: bytes */
    int                  left;                          /* K - k; a lane's 8 elements are inside or outside together */
} source;

/* ---- loads ---- */

/* Byte offset of a row, or of the matrix's last one where the tile may hang over the edge. */
template <int EDGE> __device__ __forceinline__ long long row_offset(int row, int rows, int ld_bytes)
{
    return (long long)(EDGE ? min(row, rows - 1) : row) * ld_bytes;
}

__device__ __forceinline__ source source_of(const gs_kernel_args &p, int m0, int n0, unsigned warp, unsigned lane, unsigned rank)
{
    const unsigned warp_k = warp % GS_WK, warp_mn = warp / GS_WK;
    const int row = m0 + (int)(warp_mn / GS_WN * WARP_M + lane / 4);
    const int column = n0 + (int)(warp_mn % GS_WN * WARP_N + lane / 4 * V);
    const int k = (int)((rank * GS_WK + warp_k) * STEP + lane % 4 * 8);
    const int m = gs_size_m(p), n = gs_size_n(p), lda = (int)gs_size_lda(p) * 2, ldb = (int)gs_size_ldb(p) * 2;
    const unsigned char *a = (const unsigned char *)p.a + k * 2, *b = (const unsigned char *)p.b + (GS_LAYOUT ? k * 2 : 0);
    source from;
    from.left = gs_size_k(p) - k;
    from.ldb = ldb;
#if GS_BATCHED
    a += (long long)blockIdx.z * m * lda;
    b += (long long)blockIdx.z * (GS_LAYOUT ? n : gs_size_k(p)) * ldb;
#endif
#pragma unroll
    for (int i = 0; i < 2 * MT; i++) from.a[i] = EDGE_M ? a + row_offset<EDGE_M>(row + 8 * i, m, lda) : a + row_offset<0>(row, m, lda) + 8LL * i * lda;
#if GS_LAYOUT
#pragma unroll
    for (int i = 0; i < NT; i++) {
        const int further = i / V * 8 * V + i % V;
        from.b[i] = EDGE_N ? b + row_offset<EDGE_N>(column + further, n, ldb) : b + row_offset<0>(column, n, ldb) + (long long)further * ldb;
    }
#else
    b += (long long)k * ldb;
#pragma unroll
    for (int q = 0; q < GROUPS; q++) {
        const int first = column + q * 8 * V;   /* of V columns that are inside or outside together */
        from.b[q] = b + (EDGE_N ? min(first, n - V) : first) * 2;
    }
#endif
    return from;
}

/* The step that is `ahead` k further on; zeros beyond K, and nothing is read there. */
__device__ __forceinline__ void load(operands *x, const source &from, int ahead, bool on)
{
#pragma unroll
    for (int i = 0; i < 2 * MT; i++) gs_load_direct<4, GS_FETCH>(x->a[i / 2][i % 2], from.a[i] + ahead * 2, on);
#if GS_LAYOUT
#pragma unroll
    for (int i = 0; i < NT; i++) gs_load_direct<4, GS_FETCH>(x->b + 4 * i, from.b[i] + ahead * 2, on);
#else
    int ldb = from.ldb;
#ifndef GS_FIXED
    asm volatile("" : "+r"(ldb));   /* rows' addresses are made when they are used: one instruction each, and no registers for all of them */
#endif
#pragma unroll
    for (int q = 0; q < GROUPS; q++)
#pragma unroll
        for (int e = 0; e < 8; e++) gs_load_direct<V / 2, GS_FETCH>(x->b + (q * 8 + e) * (V / 2), from.b[q] + (long long)(ahead + e) * ldb, on);
#endif
}

__device__ __forceinline__ void advance(source *from, int by)
{
    from->left -= by;
#pragma unroll
    for (int i = 0; i < 2 * MT; i++) from->a[i] += by * 2;
#pragma unroll
    for (int i = 0; i < (GS_LAYOUT ? NT : GROUPS); i++) from->b[i] += GS_LAYOUT ? by * 2 : (long long)by * from->ldb;
}

/* Whether the lane's elements so far ahead are within K. */
__device__ __forceinline__ bool is_inside(int ahead, const source &from)
{
#ifdef GS_FIXED
    if (ahead + SPAN <= GS_K) return true;
#endif
    return ahead < from.left;
}

/* ---- products ---- */

/* The B fragment of tile i of group q for operation s. nn: halves i % 2 of the words i / 2 of two rows each. */
__device__ __forceinline__ void fragment(unsigned (&f)[2], const operands &x, int q, int i, int s)
{
#pragma unroll
    for (int high = 0; high < 2; high++) {
#if GS_LAYOUT
        f[high] = x.b[(q * V + i) * 4 + 2 * s + high];
#else
        const int row = 4 * s + 2 * high;
        f[high] = __byte_perm(x.b[(q * 8 + row) * (V / 2) + i / 2], x.b[(q * 8 + row + 1) * (V / 2) + i / 2], i % 2 ? 0x7632 : 0x5410);
#endif
    }
}

__device__ __forceinline__ void multiply(float (&acc)[CHAINS][MT][NT][4], const operands &x)
{
#pragma unroll
    for (int s = 0; s < 2; s++) {
#pragma unroll
        for (int i = 0; i < NT; i++) {
            unsigned f[2];
            fragment(f, x, i / V, i % V, s);
#pragma unroll
            for (int m = 0; m < MT; m++) {
                const unsigned a[4] = {x.a[m][0][2 * s], x.a[m][1][2 * s], x.a[m][0][2 * s + 1], x.a[m][1][2 * s + 1]};
#if GS_IN == 0
                gs_mma_f16_f32(acc[s % CHAINS][m][i], a, f);
#else
                gs_mma_bf16_f32(acc[s % CHAINS][m][i], a, f);
#endif
            }
        }
    }
}

/* ---- runs ---- */

typedef struct run {
    unsigned group, lane, half;   /* group: of the block's tile; half: the upper or lower 8 rows of an mma tile */
} run;

__device__ __forceinline__ run run_of(unsigned number) { return {number / 64, number / 2 % 32, number % 2}; }

__device__ __forceinline__ int row_of_run(run r)
{
    return r.group / WARP_GROUPS / GS_WN * WARP_M + r.group / GROUPS % MT * 16 + r.half * 8 + r.lane / 4;
}

__device__ __forceinline__ int column_of_run(run r)
{
    return r.group / WARP_GROUPS % GS_WN * WARP_N + r.group % GROUPS * (8 * V) + r.lane % 4 * RUN;
}

/* The i-th of a lane's own runs, in its registers. */
__device__ __forceinline__ void own_run(float (&x)[RUN], const float (&acc)[CHAINS][MT][NT][4], int i)
{
#pragma unroll
    for (int e = 0; e < RUN; e++) {
        const int m = i / 2 / GROUPS, n = i / 2 % GROUPS * V + e % V, at = i % 2 * 2 + e / V;
        x[e] = CHAINS == 2 ? acc[0][m][n][at] + acc[CHAINS - 1][m][n][at] : acc[0][m][n][at];
    }
}

__device__ __forceinline__ void put_shared(unsigned to, float x, float y, float z, float w)
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}

__device__ __forceinline__ void get_shared(float (&x)[2], unsigned from)
{
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[0]), "=f"(x[1]) : "r"(from) : "memory");
}

__device__ __forceinline__ void get_shared(float (&x)[4], unsigned from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]) : "r"(from) : "memory");
}

/* Leaves a warp's sums in shared memory: 512 bytes of each mma tile, as they lie in the registers. */
__device__ __forceinline__ void put_part(unsigned to, const float (&acc)[CHAINS][MT][NT][4])
{
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++) {
            const float (&x)[4] = acc[0][m][n], (&y)[4] = acc[CHAINS - 1][m][n];
            if (CHAINS == 2) put_shared(to + (m * NT + n) * 512, x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]);
            else put_shared(to + (m * NT + n) * 512, x[0], x[1], x[2], x[3]);
        }
}

/* Adds PARTS vectors of SIZE, `distance` bytes apart, always in the same order. */
template <int PARTS, int SIZE> __device__ __forceinline__ void add(float (&x)[SIZE], unsigned from, int distance)
{
    float part[PARTS][SIZE];
#pragma unroll
    for (int i = 0; i < PARTS; i++) get_shared(part[i], from + i * distance);
#pragma unroll
    for (int further = 1; further < PARTS; further *= 2)
#pragma unroll
        for (int i = 0; i + further < PARTS; i += 2 * further)
#pragma unroll
            for (int e = 0; e < SIZE; e++) part[i][e] += part[i + further][e];
#pragma unroll
    for (int e = 0; e < SIZE; e++) x[e] = part[0][e];
}

/* A run of the block's sums, from the parts that its warps left. */
__device__ __forceinline__ void add_warps(float (&x)[RUN], unsigned parts, unsigned number)
{
#pragma unroll
    for (int i = 0; i < V; i++) {
        float pair[2];
        add<GS_WK>(pair, parts + (number / 64 * V + i) * 512 + number % 64 * 8, TILE_BYTES);
        x[i] = pair[0];
        x[V + i] = pair[1];
    }
}

/* Where the columns 4j .. 4j + 3 of run `number` of a share are that block `rank` sent. */
__device__ __forceinline__ int received_at(unsigned rank, int j, unsigned number) { return ((rank * (RUN / 4) + j) * SHARE + number) * 16; }

/* A run of the cluster's sums, from what its blocks sent. */
__device__ __forceinline__ void add_blocks(float (&x)[RUN], unsigned received, unsigned number)
{
#pragma unroll
    for (int j = 0; j < RUN / 4; j++) {
        float four[4];
        add<GS_SPLIT>(four, received + received_at(0, j, number), SHARE * RUN * 4);
#pragma unroll
        for (int e = 0; e < 4; e++) x[4 * j + e] = four[e];
    }
}

/* ---- C and D ---- */

/* Where a run lies in D and C, and how many of its columns are inside; none if its row is not. */
typedef struct target {
    int row, column, left;
} target;

__device__ __forceinline__ target target_of(const gs_kernel_args &p, int m0, int n0, run r)
{
    target to;
    to.row = m0 + row_of_run(r);
    to.column = n0 + column_of_run(r);
    to.left = EDGE_N ? gs_size_n(p) - to.column : RUN;
    if (EDGE_M && to.row >= gs_size_m(p)) to.left = 0;
    return to;
}

template <int COUNT> __device__ __forceinline__ void copy_elements(void *to, const void *from)
{
    if constexpr (COUNT * OUT_BYTES == 16) *(uint4 *)to = *(const uint4 *)from;
    else if constexpr (COUNT * OUT_BYTES == 8) *(uint2 *)to = *(const uint2 *)from;
    else if constexpr (COUNT * OUT_BYTES == 4) *(unsigned *)to = *(const unsigned *)from;
    else *(half_bits *)to = *(const half_bits *)from;
}

/* `left` (or all) elements of a run between registers and memory, VEC at a time. */
template <int VEC> __device__ __forceinline__ void copy_run(void *to, const void *from, int left)
{
    constexpr int vec = VEC < RUN ? VEC : RUN;
#pragma unroll
    for (int i = 0; i < RUN; i += vec) {
        unsigned char *const t = (unsigned char *)to + i * OUT_BYTES;
        const unsigned char *const f = (const unsigned char *)from + i * OUT_BYTES;
        if (i + vec <= left) {
            copy_elements<vec>(t, f);
        } else {
#pragma unroll
            for (int e = 0; e < vec; e++)
                if (i + e < left) copy_elements<1>(t + e * OUT_BYTES, f + e * OUT_BYTES);
        }
    }
}

/* Where it starts, in bytes from the start of C or D. */
__device__ __forceinline__ long long offset_of(const gs_kernel_args &p, const target &at, int ld)
{
    long long rows = (long long)at.row * ld;
#if GS_BATCHED
    rows += (long long)blockIdx.z * gs_size_m(p) * ld;
#endif
    return (rows + at.column) * OUT_BYTES;
}

/* A run of C as stored. */
__device__ __forceinline__ void read_c(unsigned (&c)[RUN_WORDS], const gs_kernel_args &p, const target &at)
{
    copy_run<GS_VEC_C>(c, (const unsigned char *)p.c + offset_of(p, at, (int)gs_size_ldc(p)), at.left);
}

__device__ __forceinline__ float element(const unsigned (&c)[RUN_WORDS], int e)
{
#if GS_OUT == 2
    return __uint_as_float(c[e]);
#else
    const half_bits bits = (half_bits)(c[e / 2] >> e % 2 * 16);
    return GS_OUT == 1 ? gs_bf16_to_f32(bits) : gs_f16_to_f32(bits);
#endif
}

/* D = alpha * x + beta * C. */
__device__ __forceinline__ void finish(const gs_kernel_args &p, const target &at, float (&x)[RUN], const unsigned (&c)[RUN_WORDS])
{
    unsigned bits[RUN_WORDS];
#pragma unroll
    for (int e = 0; e < RUN; e++) {
        x[e] *= p.alpha;
        if (GS_BETA) x[e] = fmaf(p.beta, element(c, e), x[e]);
    }
#pragma unroll
    for (int i = 0; i < RUN_WORDS; i++) {
#if GS_OUT == 2
        bits[i] = __float_as_uint(x[i]);
#elif GS_OUT == 1
        bits[i] = gs_pack_bf16x2(x[2 * i], x[2 * i + 1]);
#else
        bits[i] = gs_pack_f16x2(x[2 * i], x[2 * i + 1]);
#endif
    }
    copy_run<GS_VEC_D>((unsigned char *)p.d + offset_of(p, at, (int)gs_size_ldd(p)), bits, at.left);
}

/* ---- the kernel ---- */

/* The i-th run of this thread that the block adds: one of its lane's own, or any; and whether there is one. */
__device__ __forceinline__ run block_run(int i, unsigned warp, unsigned lane)
{
    if (GS_WK > 1) return run_of(i * THREADS + threadIdx.x);
    return {warp * WARP_GROUPS + i / 2, lane, (unsigned)i % 2};
}
__device__ __forceinline__ bool is_block_run(int i) { return GS_WK == 1 || RUNS % THREADS == 0 || i * THREADS + (int)threadIdx.x < RUNS; }

/* The i-th run that it finishes: of these, or of the block's share. */
__device__ __forceinline__ run final_run(int i, unsigned warp, unsigned lane, unsigned rank)
{
    return GS_SPLIT > 1 ? run_of(rank * SHARE + i * THREADS + threadIdx.x) : block_run(i, warp, lane);
}
__device__ __forceinline__ bool is_final_run(int i)
{
    return GS_SPLIT > 1 ? SHARE % THREADS == 0 || i * THREADS + (int)threadIdx.x < SHARE : is_block_run(i);
}

/* A warp's whole share of K, from the ring's first steps on. */
__device__ __forceinline__ void multiply_steps(float (&acc)[CHAINS][MT][NT][4], source &from, operands (&ring)[GS_DEPTH], int k)
{
#if STRAIGHT
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        if (i * SPAN >= k) break;
        multiply(acc, ring[i]);
    }
#else
#pragma unroll 1
    for (int done = 0; done < k; done += GS_DEPTH * SPAN) {
#pragma unroll
        for (int i = 0; i < GS_DEPTH; i++) {
            if (done + i * SPAN >= k) break;
            multiply(acc, ring[i]);
            load(&ring[i], from, (i + GS_DEPTH) * SPAN, (i + GS_DEPTH) * SPAN < from.left);
        }
        advance(&from, GS_DEPTH * SPAN);
    }
#endif
}

#if GS_SPLIT > 1
/* Sends the block's sums to the blocks that finish them, each to its `received`, and waits for this block's share on `barrier`. */
__device__ __forceinline__ void exchange(const float (&acc)[CHAINS][MT][NT][4], unsigned parts, unsigned received, unsigned barrier, unsigned warp,
                                         unsigned lane, unsigned rank)
{
    gs_cluster_wait();
#pragma unroll
    for (int i = 0; i < (GS_WK > 1 ? (RUNS + THREADS - 1) / THREADS : WARP_GROUPS * 2); i++) {
        if (!is_block_run(i)) continue;
        const run r = block_run(i, warp, lane);
        const unsigned number = r.group * 64 + r.lane * 2 + r.half, to = number / SHARE, signal = gs_cluster_address(barrier, to);
        float x[RUN];
        if (GS_WK > 1) add_warps(x, parts, i * THREADS + threadIdx.x);
        else own_run(x, acc, i);
#pragma unroll
        for (int j = 0; j < RUN / 4; j++)
            gs_send(gs_cluster_address(received + received_at(rank, j, number % SHARE), to), x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3],
                                 signal);
    }
    if (is_final_run(0)) gs_mbarrier_wait(barrier, 0);
}
#define CLUSTER __cluster_dims__(GS_SPLIT, 1, 1)
#else
#define CLUSTER
#endif

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, GS_BLOCKS) gs_sliced(const gs_kernel_args p)
{
    extern __shared__ __align__(16) unsigned char shared[];
    const unsigned parts = gs_shared_address(shared), received = parts + (GS_WK > 1 ? GS_WK * TILE_BYTES : 0), barrier = received + TILE_BYTES;
    const unsigned warp = WARPS > 1 ? threadIdx.x / 32 : 0, lane = WARPS > 1 ? threadIdx.x % 32 : threadIdx.x, rank = blockIdx.x % GS_SPLIT;
    const int m0 = (int)(blockIdx.x / GS_SPLIT) * GS_BM, n0 = (int)blockIdx.y * GS_BN;
    source from = source_of(p, m0, n0, warp, lane, rank);
#if GS_SPLIT > 1
    if (threadIdx.x == 0) {
        gs_mbarrier_init(barrier, 1);
        gs_mbarrier_expect(barrier, TILE_BYTES);
        gs_mbarrier_fence_init();
    }
    gs_cluster_arrive();
#endif
#if __CUDA_ARCH__ >= 900
    gs_dependent_launch();   /* the next launch's blocks do no more before its wait than these did */
    gs_dependent_wait();
#endif

    operands ring[GS_DEPTH];
#pragma unroll
    for (int i = 0; i < GS_DEPTH && i < ROUNDS; i++) {
        if (i > 0 && i * SPAN >= p.k) break;
        load(&ring[i], from, i * SPAN, is_inside(i * SPAN, from));
    }
    unsigned c[FINAL][RUN_WORDS];
#if EARLY_C
#pragma unroll
    for (int i = 0; i < FINAL; i++)
        if (is_final_run(i)) read_c(c[i], p, target_of(p, m0, n0, final_run(i, warp, lane, rank)));
#endif

    float acc[CHAINS][MT][NT][4];
#pragma unroll
    for (int i = 0; i < CHAINS * MT * NT * 4; i++) acc[i / (MT * NT * 4)][i / (NT * 4) % MT][i / 4 % NT][i % 4] = 0;
    __syncthreads();
    multiply_steps(acc, from, ring, p.k);

#if GS_WK > 1
    put_part(parts + warp % GS_WK * TILE_BYTES + warp / GS_WK * (WARP_M * WARP_N * 4) + lane * 16, acc);
    __syncthreads();
#endif
#if GS_SPLIT > 1
    exchange(acc, parts, received, barrier, warp, lane, rank);
#endif
#pragma unroll
    for (int i = 0; i < FINAL; i++) {
        if (!is_final_run(i)) continue;
        const run r = final_run(i, warp, lane, rank);
        const target to = target_of(p, m0, n0, r);
        float x[RUN];
        if (GS_SPLIT > 1) add_blocks(x, received, i * THREADS + threadIdx.x);
        else if (GS_WK > 1) add_warps(x, parts, i * THREADS + threadIdx.x);
        else own_run(x, acc, i);
        if (GS_BETA && !EARLY_C) read_c(c[i], p, to);
        finish(p, to, x, c[i]);
    }
}
